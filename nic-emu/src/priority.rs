//! Real-time priority for what must not wait for ranks: the NIC threads of jobs on several nodes, as the network's interrupts do not wait, and the daemons, whose
//! heartbeat is not to depend on how many ranks compute or poll on a node: one that is not run for three heartbeats looks dead, and its jobs are ended.
//!
//! NIC threads have the lowest such priority, and daemons the next: a NIC thread is in a process of its job's user, who may have others run at its priority, and they
//! are not to keep a daemon from running. Who has one sleeps when there is nothing to do. What it executes starts at the ordinary priority again (the kernel
//! resets it at `fork`).

use std::io;

/// Who has a real-time priority, from the lowest on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// A NIC thread. A node manager allows its launchers this level, and no higher one.
    Nic = 1,
    /// The thread of a daemon.
    Daemon = 2,
}

/// Takes a real-time priority for this thread, and for none that it starts: the highest that is allowed, up to this level.
///
/// # Errors
/// None is allowed (`CAP_SYS_NICE`, or a limit on real-time priorities).
pub fn raise(level: Level) -> io::Result<()> {
    let lower = (level > Level::Nic).then_some(Level::Nic);
    take(level).or_else(|error| lower.map_or(Err(error), take))
}

fn take(level: Level) -> io::Result<()> {
    // SAFETY: zeroes are a valid sched_param, which is an array of integers.
    let mut parameters: libc::sched_param = unsafe { std::mem::zeroed() };
    parameters.sched_priority = level as libc::c_int;
    // SAFETY: the parameters live through the call, which touches no other memory of ours; 0 is this thread.
    match unsafe { libc::sched_setscheduler(0, libc::SCHED_RR | libc::SCHED_RESET_ON_FORK, &parameters) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
    use std::thread;
    use std::time::{Duration, Instant};

    /// Runs on one processor from now on, at this level. False where that is refused.
    fn settle(level: Level) -> bool {
        // SAFETY: zeroes are a valid set of processors, which lives through the call.
        let is_pinned = unsafe {
            let mut one: libc::cpu_set_t = std::mem::zeroed();
            let allowed = libc::sched_getcpu();
            libc::CPU_SET(allowed as usize, &mut one);
            libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), &one) == 0
        };
        is_pinned && raise(level).is_ok()
    }

    #[test]
    #[expect(clippy::disallowed_methods, reason = "the spinners end by the clock")]
    fn daemon_runs_beside_processes_that_spin_at_the_priority_of_nic_threads() {
        const SPINNERS: usize = 4;
        // A thread of its own, on one processor: those that it starts stay on it.
        let run = || {
            if !settle(Level::Nic) {
                return None;
            }
            // SAFETY: sets this thread back to the ordinary priority; the parameters live through the call.
            unsafe {
                let ordinary: libc::sched_param = std::mem::zeroed();
                libc::sched_setscheduler(0, libc::SCHED_OTHER, &ordinary);
            }
            let (over, spinning) = (AtomicBool::new(false), AtomicU32::new(0));
            let looks = [Level::Nic, Level::Daemon].map(|_| AtomicU32::new(0));
            thread::scope(|scope| {
                for (level, looks) in [Level::Nic, Level::Daemon].into_iter().zip(&looks) {
                    let (over, spinning) = (&over, &spinning);
                    scope.spawn(move || {
                        let _ = raise(level);
                        while !over.load(Ordering::Relaxed) {
                            thread::sleep(Duration::from_millis(1));
                            if spinning.load(Ordering::Relaxed) > 0 && !over.load(Ordering::Relaxed) {
                                looks.fetch_add(1, Ordering::Relaxed);
                            }
                        }
                    });
                }
                for _ in 0..SPINNERS {
                    scope.spawn(|| {
                        let _ = raise(Level::Nic);
                        spinning.fetch_add(1, Ordering::Relaxed);
                        let begun = Instant::now();
                        while begun.elapsed() < Duration::from_millis(300) {
                            std::hint::spin_loop();
                        }
                        over.store(true, Ordering::Relaxed);
                    });
                }
            });
            Some(looks.map(AtomicU32::into_inner))
        };
        let Some([nic, daemon]) = thread::spawn(run).join().unwrap() else {
            eprintln!("skipped: real-time priorities are not allowed here");
            return;
        };
        assert!(
            daemon > 5 * nic.max(1),
            "a daemon looked {daemon} times, who has their priority {nic} times"
        );
    }

    #[test]
    fn what_a_daemon_starts_has_the_ordinary_priority() {
        // A thread of its own: the priority is its alone.
        let policies = thread::spawn(|| {
            let raised = raise(Level::Daemon);
            // SAFETY: asks for the policy of this thread.
            let own = unsafe { libc::sched_getscheduler(0) };
            // SAFETY: the same, in the thread that this one starts.
            let child = thread::spawn(|| unsafe { libc::sched_getscheduler(0) }).join().unwrap();
            (raised.is_ok(), own & !libc::SCHED_RESET_ON_FORK, child)
        });
        let (is_raised, own, child) = policies.join().unwrap();
        assert_eq!(own, if is_raised { libc::SCHED_RR } else { libc::SCHED_OTHER });
        assert_eq!(child, libc::SCHED_OTHER);
    }
}
