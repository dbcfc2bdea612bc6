//! This process, as the kernel knows it: who may read its memory, and by which numbers it knows others.

/// Lets the other ranks of the job read and write this process's buffers where the system allows that to
/// ancestors only (Yama, ptrace_scope 1). The kernel still asks for the same user.
pub(crate) fn allow_attach() {
    // SAFETY: a system call without pointers. Where Yama is not there it is refused, and not needed.
    unsafe { libc::prctl(libc::PR_SET_PTRACER, libc::PR_SET_PTRACER_ANY, 0, 0, 0) };
}

/// The pid namespace of this process, as the kernel numbers it; 0 where it does not say.
pub(crate) fn pid_namespace() -> u32 {
    rustix::fs::stat("/proc/self/ns/pid").map_or(0, |namespace| namespace.st_ino as u32)
}
