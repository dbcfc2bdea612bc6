//! Keeping what a daemon knows to itself: the keys of its host, of the control network, and of users' jobs.

/// Leaves no image of this process behind when it fails, and lets nobody but root look into it while it runs,
/// whatever limits it was started with. What it executes is not concerned.
pub fn keep_memory() {
    // SAFETY: touches no memory of ours. That it could be refused is not known of any kernel.
    unsafe { libc::prctl(libc::PR_SET_DUMPABLE, 0) };
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::CommandExt;
    use std::process::Command;

    #[test]
    fn image_of_a_daemon_is_not_written_and_what_it_executes_is_as_ever() {
        // SAFETY: asks for a number of this process.
        let dumpable = || unsafe { libc::prctl(libc::PR_GET_DUMPABLE) };
        let before = dumpable();
        let mut shell = Command::new("/bin/true");
        // SAFETY: the child only makes system calls.
        unsafe {
            shell.pre_exec(move || {
                super::keep_memory();
                if libc::prctl(libc::PR_GET_DUMPABLE) == 0 {
                    Ok(())
                } else {
                    Err(std::io::Error::last_os_error())
                }
            });
        }
        assert!(shell.status().unwrap().success());
        assert_eq!(dumpable(), before, "it was the child's alone");
    }
}
