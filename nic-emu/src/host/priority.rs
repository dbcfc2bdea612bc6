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
    use rustix::thread::{CpuSet, sched_getcpu, sched_setaffinity};
    use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
    use std::thread;
    use std::time::{Duration, Instant};

    /// Runs on one processor from now on, at this level. False where that is refused.
    fn settle(level: Level) -> bool {
        let mut one = CpuSet::new();
        one.set(sched_getcpu());
        sched_setaffinity(None, &one).is_ok() && raise(level).is_ok()
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
            lower();
            let (over, spinning, raised) = (AtomicBool::new(false), AtomicU32::new(0), AtomicU32::new(0));
            let looks = [Level::Nic, Level::Daemon].map(|_| AtomicU32::new(0));
            thread::scope(|scope| {
                for (level, looks) in [Level::Nic, Level::Daemon].into_iter().zip(&looks) {
                    let (over, spinning, raised) = (&over, &spinning, &raised);
                    scope.spawn(move || {
                        let _ = raise(level);
                        raised.fetch_add(1, Ordering::Relaxed);
                        while !over.load(Ordering::Relaxed) {
                            thread::sleep(Duration::from_millis(1));
                            if spinning.load(Ordering::Relaxed) > 0 && !over.load(Ordering::Relaxed) {
                                looks.fetch_add(1, Ordering::Relaxed);
                            }
                        }
                    });
                }
                // Beside one that spins, who is not urgent yet would not get on.
                while raised.load(Ordering::Relaxed) < 2 {
                    thread::sleep(Duration::from_millis(1));
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
            bcs_harness::skip("real-time priorities are not allowed here");
            return;
        };
        assert!(
            daemon > 5 * nic.max(1),
            "a daemon looked {daemon} times, who has their priority {nic} times"
        );
    }

    /// The policy of this thread, and how nice it is.
    fn own() -> (libc::c_int, libc::c_int) {
        // SAFETY: asks about this thread, and touches no memory of ours.
        let policy = unsafe { libc::sched_getscheduler(0) } & !libc::SCHED_RESET_ON_FORK;
        (policy, getpriority_process(None).unwrap())
    }

    #[test]
    fn what_a_daemon_starts_has_the_ordinary_priority() {
        // A thread of its own: the priority is its alone.
        let policies = thread::spawn(|| {
            let is_raised = raise(Level::Daemon).is_ok();
            (is_raised, own(), thread::spawn(own).join().unwrap())
        });
        let (is_raised, own, child) = policies.join().unwrap();
        assert_eq!(own.0, if is_raised { libc::SCHED_RR } else { libc::SCHED_OTHER });
        assert_eq!(child.0, libc::SCHED_OTHER);
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
        assert_eq!((raised.0, favoured), (libc::SCHED_RR, (libc::SCHED_OTHER, -20)));
        assert_eq!(child, (libc::SCHED_OTHER, 0), "what it starts is favoured, too");
    }
}
