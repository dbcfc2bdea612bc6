//! Registered memory: what a network card may read and write.

use super::abi::{FI_ENABLE, FI_REMOTE_WRITE, FI_WRITE, Fid, FidMr};
use super::domain::{Domain, close};
use super::error::OfiError;
use super::offer::MemoryMode;
use std::ffi::c_void;
use std::ptr::{NonNull, null_mut};
use std::sync::Arc;

/// Who may use registered memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// This process writes from it.
    Source,
    /// Others, who have the key, write into it.
    Target,
    /// Both.
    Both,
}

/// How often another key is tried when one is taken.
const KEY_TRIES: u32 = 8;

/// libfabric's name for a key that is in use.
const FI_ENOKEY: i32 = 266;

/// What registers memory for an endpoint, also while that is at work.
#[derive(Clone, Debug)]
pub struct MemoryRegistrar {
    pub(crate) domain: Arc<Domain>,
    pub(crate) mode: MemoryMode,
    pub(crate) endpoint: NonNull<Fid>,
}

// SAFETY: the endpoint's address is only handed to the library, which the domain's user calls from one thread
// at a time.
unsafe impl Send for MemoryRegistrar {}

impl MemoryRegistrar {
    /// Registers a range.
    ///
    /// # Safety
    /// The range stays mapped as long as the region is used; the endpoint is open, and stays open as long as
    /// the region.
    ///
    /// # Errors
    /// The provider, or the system, refuses so much.
    pub unsafe fn register(
        &self,
        memory: NonNull<u8>,
        bytes: usize,
        access: Access,
    ) -> Result<Region, OfiError> {
        // SAFETY: as the caller vouches.
        unsafe { Region::register(&self.domain, self.mode, self.endpoint, memory, bytes, access) }
    }
}

/// A registration, which ends with this value. The memory stays longer.
#[derive(Debug)]
pub struct Region {
    region: NonNull<FidMr>,
    /// What others add to an offset in the range, to write there.
    pub base: u64,
    /// What others name the range by.
    pub key: u64,
    _domain: Arc<Domain>,
}

// SAFETY: a registration belongs to no thread.
unsafe impl Send for Region {}

impl Region {
    /// Registers a range, for an endpoint where the provider asks for that.
    ///
    /// # Safety
    /// The endpoint is open, and the range stays mapped as long as the region and the endpoint.
    ///
    /// # Errors
    /// The provider, or the system, refuses so much.
    pub(crate) unsafe fn register(
        domain: &Arc<Domain>,
        mode: MemoryMode,
        endpoint: NonNull<Fid>,
        memory: NonNull<u8>,
        bytes: usize,
        access: Access,
    ) -> Result<Self, OfiError> {
        let flags = match access {
            Access::Source => FI_WRITE,
            Access::Target => FI_REMOTE_WRITE,
            Access::Both => FI_WRITE | FI_REMOTE_WRITE,
        };
        let object = format!("{bytes} bytes of memory");
        let mut region = null_mut();
        let own = domain.domain.as_ptr();
        for attempt in 1.. {
            let key = if mode.has_own_keys { 0 } else { random_key(mode.key_bytes) };
            // SAFETY: the domain is open; the range stays, as the caller vouches.
            let result = unsafe {
                let register = (*(*own).mr).reg;
                let memory: *const c_void = memory.as_ptr().cast();
                register(own.cast(), memory, bytes, flags, 0, key, 0, &mut region, null_mut())
            };
            if result != -FI_ENOKEY || attempt == KEY_TRIES {
                domain.library.check(result.into(), "fi_mr_reg", &object)?;
                break;
            }
        }
        let Some(region) = NonNull::new(region) else {
            let reason = "nothing was registered".to_owned();
            return Err(OfiError::Call { call: "fi_mr_reg", object, reason });
        };
        let base = if mode.is_virtual { memory.addr().get() as u64 } else { 0 };
        let mut registered = Self { region, base, key: 0, _domain: domain.clone() };
        if mode.is_of_endpoint {
            let fid = region.cast::<Fid>().as_ptr();
            // SAFETY: the registration and the endpoint are open.
            let results = unsafe {
                let calls = (*fid).ops;
                let bound = ((*calls).bind)(fid, endpoint.as_ptr(), 0);
                (bound, ((*calls).control)(fid, FI_ENABLE, null_mut()))
            };
            domain.library.check(results.0.into(), "fi_mr_bind", &object)?;
            domain.library.check(results.1.into(), "fi_mr_enable", &object)?;
        }
        // SAFETY: the registration is open; its key is there now.
        registered.key = unsafe { (*region.as_ptr()).key };
        Ok(registered)
    }

    /// What a write from this range is posted with.
    pub(crate) fn description(&self) -> *mut c_void {
        // SAFETY: the registration is open.
        unsafe { (*self.region.as_ptr()).mem_desc }
    }
}

impl Drop for Region {
    fn drop(&mut self) {
        // SAFETY: the registration is open, and this is its last use.
        unsafe { close(self.region.cast()) };
    }
}

/// A key that nobody guesses, as far as its length allows; never zero.
fn random_key(key_bytes: usize) -> u64 {
    let mut bytes = [0; 8];
    // Without randomness keys are only as good as the fabric's own protection; the links prove who is who.
    if rustix::rand::getrandom(&mut bytes, rustix::rand::GetRandomFlags::empty()).is_err() {
        bytes = (&raw const bytes).addr().to_le_bytes();
    }
    let bits = 8 * key_bytes.clamp(1, 8) as u32;
    (u64::from_le_bytes(bytes) & (u64::MAX >> (64 - bits))).max(1)
}
