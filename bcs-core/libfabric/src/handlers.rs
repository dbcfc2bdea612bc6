//! The program's handlers of signals, kept while libfabric and its providers are loaded: some of the
//! libraries that these load (`libpsm2`, `libinfinipath`) put handlers of their own in place of a program's,
//! which print where the program was and leave by `exit`. A process that crashes in the allocator then never
//! ends.

use std::mem::MaybeUninit;

/// One more than the last signal.
const SIGNALS: usize = 65;

/// The handlers as they were when this was made, and will be again when it is dropped.
pub(crate) struct KeptHandlers([Option<libc::sigaction>; SIGNALS]);

impl KeptHandlers {
    pub fn keep() -> Self {
        let handler = |signal: usize| {
            let mut handler = MaybeUninit::zeroed();
            // SAFETY: the place is for one handler; nothing is changed.
            let asked = unsafe { libc::sigaction(signal as i32, std::ptr::null(), handler.as_mut_ptr()) };
            // SAFETY: it was written.
            (asked == 0).then(|| unsafe { handler.assume_init() })
        };
        Self(std::array::from_fn(handler))
    }
}

impl Drop for KeptHandlers {
    fn drop(&mut self) {
        for (signal, handler) in self.0.iter().enumerate() {
            let Some(handler) = handler else { continue };
            // SAFETY: it is the handler that the program had; the system refuses those that nobody changes.
            unsafe { libc::sigaction(signal as i32, handler, std::ptr::null_mut()) };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn handler() -> usize {
        let mut handler = MaybeUninit::<libc::sigaction>::zeroed();
        // SAFETY: as above.
        unsafe {
            assert_eq!(libc::sigaction(libc::SIGUSR2, std::ptr::null(), handler.as_mut_ptr()), 0);
            handler.assume_init().sa_sigaction
        }
    }

    /// First what one library changes, then all providers that this machine has. One test: handlers are the
    /// process's, and tests are its threads.
    #[test]
    fn a_programs_handlers_are_left_alone() {
        let before = handler();
        {
            let _kept = KeptHandlers::keep();
            // SAFETY: a signal that nobody sends is ignored.
            unsafe { libc::signal(libc::SIGUSR2, libc::SIG_IGN) };
            assert_eq!(handler(), libc::SIG_IGN);
        }
        assert_eq!(handler(), before);

        let all = || KeptHandlers::keep().0.map(|handler| handler.map(|handler| handler.sa_sigaction));
        let before = all();
        let _ = crate::Offer::choose(Some("tcp;ofi_rxm"), None, std::net::Ipv4Addr::LOCALHOST.into());
        assert_eq!(all(), before);
    }
}
