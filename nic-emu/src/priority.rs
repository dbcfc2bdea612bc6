//! Real-time priority for what must not wait for ranks: the NIC threads of jobs on several nodes, as the network's interrupts do not wait, and the daemons, whose
//! heartbeat is not to depend on how many ranks compute or poll on a node: one that is not run for three heartbeats looks dead, and its jobs are ended.
//!
//! The lowest such priority will do, and who has it sleeps when there is nothing to do. What it executes starts at the ordinary priority again (the kernel resets it at `fork`).

use std::io;

/// Takes the lowest real-time priority for this thread, and for none that it starts.
///
/// # Errors
/// It is not allowed (`CAP_SYS_NICE`, or a limit on real-time priorities).
pub fn raise() -> io::Result<()> {
    // SAFETY: zeroes are a valid sched_param, which is an array of integers.
    let mut parameters: libc::sched_param = unsafe { std::mem::zeroed() };
    parameters.sched_priority = 1;
    // SAFETY: the parameters live through the call, which touches no other memory of ours; 0 is this thread.
    match unsafe { libc::sched_setscheduler(0, libc::SCHED_RR | libc::SCHED_RESET_ON_FORK, &parameters) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_daemon_starts_has_the_ordinary_priority() {
        // A thread of its own: the priority is its alone.
        let policies = std::thread::spawn(|| {
            let raised = raise();
            // SAFETY: asks for the policy of this thread.
            let own = unsafe { libc::sched_getscheduler(0) };
            // SAFETY: the same, in the thread that this one starts.
            let child = std::thread::spawn(|| unsafe { libc::sched_getscheduler(0) }).join().unwrap();
            (raised.is_ok(), own & !libc::SCHED_RESET_ON_FORK, child)
        });
        let (is_raised, own, child) = policies.join().unwrap();
        assert_eq!(own, if is_raised { libc::SCHED_RR } else { libc::SCHED_OTHER });
        assert_eq!(child, libc::SCHED_OTHER);
    }
}
