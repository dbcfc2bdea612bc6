//! For tests: a system that refuses cross-memory attach, as many containers do.

/// From now on the kernel refuses this thread, and what it starts, other processes' memory. Only system calls
/// are made: it may be called between fork and exec.
///
/// # Errors
/// The kernel refuses the filter.
pub fn refuse_attach() -> std::io::Result<()> {
    let step = |code: u32, jt: u8, jf: u8, k: u32| libc::sock_filter { code: code as u16, jt, jf, k };
    let (read, write) = (libc::SYS_process_vm_readv as u32, libc::SYS_process_vm_writev as u32);
    let mut filter = [
        // The system call's number is the first word of what a filter sees.
        step(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, 0, 0, 0),
        step(libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K, 1, 0, read),
        step(libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K, 0, 1, write),
        step(libc::BPF_RET | libc::BPF_K, 0, 0, libc::SECCOMP_RET_ERRNO | libc::EPERM as u32),
        step(libc::BPF_RET | libc::BPF_K, 0, 0, libc::SECCOMP_RET_ALLOW),
    ];
    let program = libc::sock_fprog { len: filter.len() as u16, filter: filter.as_mut_ptr() };
    // SAFETY: two system calls, which read their arguments and restrict the caller alone; the program and its
    // filter live through them.
    let refused = unsafe {
        libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0
            || libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, &raw const program) != 0
    };
    if refused { Err(std::io::Error::last_os_error()) } else { Ok(()) }
}
