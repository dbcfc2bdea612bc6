//! A lock between processes that is only ever tried.
//!
//! Its word is the process id of the holder, zero when it is free. Nobody waits for it: who does not get it
//! has something else to look at, and comes back. A holder that died leaves its id there, and whoever looks
//! after the job finds it ([`is_process_alive`]); the lock is never taken from it, because what it guards may
//! be half done.

use std::sync::atomic::{AtomicU32, Ordering};

/// The word.
#[derive(Debug, Default)]
#[repr(transparent)]
pub(crate) struct Lock(AtomicU32);

impl Lock {
    /// Takes the lock for this process, if it is free.
    #[inline]
    pub fn try_lock(&self, process: u32) -> bool {
        // The look keeps the line shared while somebody else holds the lock.
        self.0.load(Ordering::Relaxed) == 0
            && self.0.compare_exchange(0, process, Ordering::Acquire, Ordering::Relaxed).is_ok()
    }

    /// Gives it back. False when it was not this process's: then memory is damaged.
    #[inline]
    pub fn unlock(&self, process: u32) -> bool {
        let held = self.0.load(Ordering::Relaxed) == process;
        if held {
            self.0.store(0, Ordering::Release);
        }
        held
    }

    /// The process that holds it.
    pub fn holder(&self) -> Option<u32> {
        Some(self.0.load(Ordering::Relaxed)).filter(|process| *process != 0)
    }
}

/// Whether a process lives: one that has died and not been waited for does not. It says yes where the system
/// does not tell.
pub fn is_process_alive(process: u32) -> bool {
    let stat = match std::fs::read(format!("/proc/{process}/stat")) {
        Ok(stat) => stat,
        Err(error) => return error.kind() != std::io::ErrorKind::NotFound,
    };
    // The state stands behind the name, which is in parentheses and may hold any others.
    let after_name = stat.iter().rposition(|byte| *byte == b')');
    let state = after_name.and_then(|at| stat.get(at + 2));
    !matches!(state, Some(b'Z' | b'X' | b'x'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lock_has_one_holder_and_says_who_it_is() {
        let lock = Lock::default();
        assert!(lock.try_lock(7) && !lock.try_lock(8) && !lock.try_lock(7));
        assert_eq!(lock.holder(), Some(7));
        assert!(!lock.unlock(8) && lock.unlock(7));
        assert_eq!(lock.holder(), None);
        assert!(lock.try_lock(8));
    }

    #[test]
    fn threads_that_try_exclude_each_other() {
        const ROUNDS: u64 = 20_000;
        let (lock, counter) = (Lock::default(), std::sync::atomic::AtomicU64::new(0));
        std::thread::scope(|scope| {
            for thread in 1..=3 {
                let (lock, counter) = (&lock, &counter);
                scope.spawn(move || {
                    let mut done = 0;
                    while done < ROUNDS {
                        if lock.try_lock(thread) {
                            // Not one atomic step: only the lock makes it one.
                            let before = counter.load(Ordering::Relaxed);
                            counter.store(before + 1, Ordering::Relaxed);
                            assert!(lock.unlock(thread));
                            done += 1;
                        }
                    }
                });
            }
        });
        assert_eq!(counter.into_inner(), 3 * ROUNDS);
    }

    #[test]
    fn this_process_lives_and_one_that_was_never_there_does_not() {
        assert!(is_process_alive(std::process::id()));
        assert!(!is_process_alive(u32::MAX));
        let mut child = std::process::Command::new("true").spawn().unwrap();
        let process = child.id();
        while is_process_alive(process) {
            std::thread::yield_now();
        }
        child.wait().unwrap();
        assert!(!is_process_alive(process));
    }
}
