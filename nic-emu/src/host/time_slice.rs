//! The time slice of the system that a thread asks for which waits for others, and is waited for.
//!
//! Where others compute on the same processor, Linux lets a thread that yields come back after a slice
//! of theirs and of its own, and lets one that is woken wait for theirs: 0.7 to 3 ms, which is long for
//! who waits for a message of a microsecond. A thread may ask for shorter slices of its own (sched(7),
//! `sched_setattr(2)`, Linux 6.12 and later): it gets as much of the processor as before, in smaller
//! pieces and sooner. That needs no right.

use std::io;

/// The shortest slice that Linux gives, in nanoseconds.
const SHORTEST_NS: u64 = 100_000;

/// Asks for the shortest slices for this thread, and for the threads and processes that it starts later.
/// A thread that has no ordinary policy keeps what it has, and so does each one where the system's
/// slices are all the same.
///
/// # Errors
/// The system refuses, as a container's filter of system calls may.
pub fn shorten() -> io::Result<()> {
    let mut attributes = own()?;
    let is_ordinary = attributes.sched_policy == libc::SCHED_OTHER as u32;
    // Before Linux 6.12 there is none: the field is 0.
    if !is_ordinary || attributes.sched_runtime <= SHORTEST_NS {
        return Ok(());
    }
    attributes.sched_runtime = SHORTEST_NS;
    // SAFETY: the attributes live through the call, which reads no more than their size; 0 is this thread.
    let set = unsafe { libc::syscall(libc::SYS_sched_setattr, 0, &raw const attributes, 0) };
    if set == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// What the system says of this thread's scheduling.
fn own() -> io::Result<libc::sched_attr> {
    const SIZE: u32 = size_of::<libc::sched_attr>() as u32;
    // SAFETY: zeroes are valid attributes: they are integers.
    let mut attributes: libc::sched_attr = unsafe { std::mem::zeroed() };
    // SAFETY: the system writes no more than that size; 0 is this thread.
    let got = unsafe { libc::syscall(libc::SYS_sched_getattr, 0, &raw mut attributes, SIZE, 0) };
    if got == 0 { Ok(attributes) } else { Err(io::Error::last_os_error()) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::process::{getpriority_process, setpriority_process};
    use std::thread;

    #[test]
    fn slices_are_short_for_a_thread_and_those_that_it_starts_and_nothing_else_changes() {
        let ran = thread::spawn(|| {
            setpriority_process(None, 3).unwrap();
            let before = own().unwrap();
            shorten().unwrap();
            (before, own().unwrap(), thread::spawn(|| own().unwrap()).join().unwrap())
        });
        let (before, short, child) = ran.join().unwrap();
        if before.sched_runtime == 0 {
            bcs_harness::skip("this system has no slices that a thread may ask for");
            return;
        }
        for attributes in [short, child] {
            assert_eq!(attributes.sched_runtime, SHORTEST_NS);
            assert_eq!(attributes.sched_policy, before.sched_policy);
            assert_eq!((attributes.sched_nice, attributes.sched_flags), (3, before.sched_flags));
        }
        assert!(
            own().unwrap().sched_runtime > SHORTEST_NS,
            "other threads of the process have short slices, too"
        );
        assert_eq!(getpriority_process(None).unwrap(), 0);
    }

    #[test]
    fn a_thread_with_a_policy_of_its_own_keeps_its_slices() {
        let ran = thread::spawn(|| {
            // SAFETY: zeroes are a valid sched_param, which is an array of integers.
            let parameters: libc::sched_param = unsafe { std::mem::zeroed() };
            // SAFETY: the parameters live through the call; 0 is this thread.
            assert_eq!(unsafe { libc::sched_setscheduler(0, libc::SCHED_BATCH, &parameters) }, 0);
            let before = own().unwrap();
            shorten().unwrap();
            (before.sched_runtime, own().unwrap())
        });
        let (before, after) = ran.join().unwrap();
        assert_eq!((after.sched_runtime, after.sched_policy), (before, libc::SCHED_BATCH as u32));
    }
}
