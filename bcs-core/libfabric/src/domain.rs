//! A domain of libfabric, which endpoints and registrations belong to.
//!
//! Invariant: it stays open as long as one of them.

use super::abi::{Fid, FidDomain, FidFabric};
use super::library::Library;
use std::ptr::NonNull;

/// A domain, and the fabric that it is of: registrations keep it.
#[derive(Debug)]
pub(crate) struct Domain {
    pub library: &'static Library,
    pub fabric: NonNull<FidFabric>,
    pub domain: NonNull<FidDomain>,
}

// SAFETY: the objects belong to no thread; who has them calls the library from one thread at a time.
unsafe impl Send for Domain {}
// SAFETY: shared, it is only asked for its addresses, except by the owner of the endpoint.
unsafe impl Sync for Domain {}

impl Drop for Domain {
    fn drop(&mut self) {
        // SAFETY: all that was opened in them has been closed, or it would keep them.
        unsafe {
            close(self.domain.cast());
            close(self.fabric.cast());
        }
    }
}

/// Closes an object. What the library says to that helps nobody any more.
///
/// # Safety
/// The object is open, and not used any more.
pub(crate) unsafe fn close(object: NonNull<Fid>) {
    // SAFETY: every object begins with the table that has this function.
    let _ = unsafe { ((*(*object.as_ptr()).ops).close)(object.as_ptr()) };
}
