//! Real-time priority for what must not wait for ranks: the NIC threads of jobs on several nodes, as the
//! network's interrupts do not wait, and the threads of the control network in the daemons. Their heartbeat
//! is not to depend on how many ranks compute or poll on a node: a node that is silent for three heartbeats
//! looks dead, and its jobs are ended.
//!
//! NIC threads have the lowest such priority, and daemons the next: a NIC thread is in a process of its job's
//! user, who may have others run at its priority, and they are not to keep a daemon from running. Who has one
//! sleeps when there is nothing to do. What it executes starts at the ordinary priority again (the kernel
//! resets it at `fork`).
//!
//! A thread with a real-time priority waits for no child, reads nothing of processes in `/proc`, removes no
//! control group, and goes back with [`lower`] before it ends. The kernel takes the entries of a process out
//! of its directory cache then, and looks again and again, without sleeping, until whoever else is at one of
//! them has let it go (`shrink_dcache_parent`). Where the looking thread has the higher priority on that
//! processor, the other is never run: both stay, and keep the processor.

use rustix::process::setpriority_process;
use std::io;

/// Who has a real-time priority, from the lowest on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// A NIC thread. A node manager allows its launchers this level, and no higher one.
    Nic = 1,
    /// The thread of a daemon.
    Daemon = 2,
}

/// Takes a real-time priority for this thread, and for none that it starts: the highest that is allowed, up
/// to this level.
///
/// # Errors
/// None is allowed (`CAP_SYS_NICE`, or a limit on real-time priorities).
pub fn raise(level: Level) -> io::Result<()> {
    let lower = (level > Level::Nic).then_some(Level::Nic);
    take(level).or_else(|error| lower.map_or(Err(error), take))
}

/// Gives this thread back the ordinary priority.
pub fn lower() {
    // Nobody is refused less than what the thread has.
    let _ = set(libc::SCHED_OTHER, 0);
}

/// Puts this thread before others of the ordinary priority, and none that it starts: they still get their
/// part.
///
/// # Errors
/// That is not allowed (`CAP_SYS_NICE`).
pub fn favour() -> io::Result<()> {
    /// The most that there is.
    const NICE: i32 = -20;
    // Both hold for this thread alone.
    set(libc::SCHED_OTHER, 0)?;
    Ok(setpriority_process(None, NICE)?)
}

fn take(level: Level) -> io::Result<()> {
    set(libc::SCHED_RR, level as libc::c_int)
}

fn set(policy: libc::c_int, priority: libc::c_int) -> io::Result<()> {
    // SAFETY: zeroes are a valid sched_param, which is an array of integers.
    let mut parameters: libc::sched_param = unsafe { std::mem::zeroed() };
    parameters.sched_priority = priority;
    // Who has no rights may not take the flag away again, so it stays.
    // SAFETY: the parameters live through the call, which touches no other memory of ours; 0 is this thread.
    match unsafe { libc::sched_setscheduler(0, policy | libc::SCHED_RESET_ON_FORK, &parameters) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::process::getpriority_process;
    use std::thread;

    /// The policy of this thread, its real-time priority, and how nice it is.
    fn own() -> (libc::c_int, libc::c_int, libc::c_int) {
        // SAFETY: zeroes are a valid sched_param; the calls ask about this thread, and touch nothing else.
        let (policy, parameters) = unsafe {
            let mut parameters: libc::sched_param = std::mem::zeroed();
            assert_eq!(libc::sched_getparam(0, &mut parameters), 0);
            (libc::sched_getscheduler(0) & !libc::SCHED_RESET_ON_FORK, parameters)
        };
        (policy, parameters.sched_priority, getpriority_process(None).unwrap())
    }

    #[test]
    fn a_daemon_goes_before_nic_threads_and_what_either_starts_has_the_ordinary_priority() {
        // A thread of its own: the priority is its alone.
        let ran = thread::spawn(|| {
            [Level::Nic, Level::Daemon].map(|level| {
                let is_raised = raise(level).is_ok();
                (is_raised, own(), thread::spawn(own).join().unwrap(), take(level).is_ok())
            })
        });
        let [nic, daemon] = ran.join().unwrap();
        for (is_raised, own, child, _) in [nic, daemon] {
            assert_eq!(own.0, if is_raised { libc::SCHED_RR } else { libc::SCHED_OTHER });
            assert_eq!(child.0, libc::SCHED_OTHER);
        }
        match daemon.3 {
            true => assert!(daemon.1.1 > nic.1.1, "{daemon:?} {nic:?}"),
            false => bcs_harness::skip("the priority of daemons is not allowed here"),
        }
    }

    #[test]
    fn thread_that_is_lowered_has_what_it_had_before_and_one_that_is_favoured_is_ordinary() {
        let ran = thread::spawn(|| {
            let before = own();
            let is_raised = raise(Level::Nic).is_ok();
            let raised = own();
            lower();
            let lowered = own();
            let is_favoured = favour().is_ok();
            (before, is_raised, raised, lowered, is_favoured, own(), thread::spawn(own).join().unwrap())
        });
        let (before, is_raised, raised, lowered, is_favoured, favoured, child) = ran.join().unwrap();
        assert_eq!(lowered, before);
        assert_eq!(before.0, libc::SCHED_OTHER);
        if !is_raised || !is_favoured {
            bcs_harness::skip("priorities are not allowed here");
            return;
        }
        assert_eq!((raised.0, favoured), (libc::SCHED_RR, (libc::SCHED_OTHER, 0, -20)));
        assert_eq!(child, (libc::SCHED_OTHER, 0, 0), "what it starts is favoured, too");
    }
}
