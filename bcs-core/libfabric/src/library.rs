//! libfabric, found at run time: neither a build nor an installation needs anything of it.
//!
//! Functions are looked up by name and ABI version (`dlvsym`), so that a newer library hands out structures
//! as [`super::abi`] has them. Invariant: the library is loaded at most once and stays: its providers have
//! threads.

use super::abi::{FiFabricAttr, FiInfo, FidFabric};
use super::error::{LibraryVersion, OfiError};
use super::handlers::KeptHandlers;
use std::ffi::{CStr, c_char, c_int, c_void};
use std::sync::OnceLock;

/// The name by which the loader finds all versions from 1.0 to 2.x.
const NAME: &CStr = c"libfabric.so.1";

/// The oldest library that can be used.
const OLDEST: LibraryVersion = LibraryVersion { major: 1, minor: 11 };

/// The version of the interface that this package is written for: what a library behaves as towards it.
const INTERFACE: LibraryVersion = LibraryVersion { major: 1, minor: 17 };

type GetInfo =
    unsafe extern "C" fn(u32, *const c_char, *const c_char, u64, *const FiInfo, *mut *mut FiInfo) -> c_int;
type FreeInfo = unsafe extern "C" fn(*mut FiInfo);
type DuplicateInfo = unsafe extern "C" fn(*const FiInfo) -> *mut FiInfo;
type OpenFabric = unsafe extern "C" fn(*mut FiFabricAttr, *mut *mut FidFabric, *mut c_void) -> c_int;
type ErrorText = unsafe extern "C" fn(c_int) -> *const c_char;

/// The exported functions.
#[derive(Debug)]
pub(crate) struct Library {
    pub getinfo: GetInfo,
    pub freeinfo: FreeInfo,
    pub dupinfo: DuplicateInfo,
    pub fabric: OpenFabric,
    strerror: ErrorText,
    pub version: LibraryVersion,
}

impl Library {
    /// The library of this process.
    ///
    /// # Errors
    /// It is not installed, or too old.
    pub fn get() -> Result<&'static Self, OfiError> {
        static LIBRARY: OnceLock<Result<Library, OfiError>> = OnceLock::new();
        LIBRARY.get_or_init(Self::load).as_ref().map_err(Clone::clone)
    }

    fn load() -> Result<Self, OfiError> {
        let _kept = KeptHandlers::keep();
        // SAFETY: the name is a string. The library's initialisation is its own affair: it is the system's.
        let handle = unsafe { libc::dlopen(NAME.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL) };
        if handle.is_null() {
            return Err(OfiError::Missing { reason: loader_says() });
        }
        let symbol = |name: &CStr, version: &CStr| {
            // SAFETY: the handle is of a loaded library, and both names are strings.
            let found = unsafe { libc::dlvsym(handle, name.as_ptr(), version.as_ptr()) };
            (!found.is_null()).then_some(found)
        };
        let found = symbol(c"fi_version", c"FABRIC_1.0").ok_or_else(|| {
            let reason = "the library of this name has no function fi_version".to_owned();
            OfiError::Missing { reason }
        })?;
        // SAFETY: the function of this name and version has this type.
        let version = unsafe { std::mem::transmute::<*mut c_void, unsafe extern "C" fn() -> u32>(found) };
        // SAFETY: it takes nothing, and may be called at any time.
        let number = unsafe { version() };
        let version = LibraryVersion { major: (number >> 16) as u16, minor: number as u16 };
        let too_old = OfiError::TooOld { found: version, wanted: OLDEST };
        if version < OLDEST {
            return Err(too_old);
        }
        let names = [
            (c"fi_getinfo", c"FABRIC_1.3"),
            (c"fi_freeinfo", c"FABRIC_1.3"),
            (c"fi_dupinfo", c"FABRIC_1.3"),
            (c"fi_fabric", c"FABRIC_1.1"),
            (c"fi_strerror", c"FABRIC_1.0"),
        ];
        let found = names.map(|(name, version)| symbol(name, version));
        let [Some(getinfo), Some(freeinfo), Some(dupinfo), Some(fabric), Some(strerror)] = found else {
            return Err(too_old);
        };
        // SAFETY: the functions of these names and versions have the types of these fields.
        unsafe {
            Ok(Self {
                getinfo: std::mem::transmute::<*mut c_void, GetInfo>(getinfo),
                freeinfo: std::mem::transmute::<*mut c_void, FreeInfo>(freeinfo),
                dupinfo: std::mem::transmute::<*mut c_void, DuplicateInfo>(dupinfo),
                fabric: std::mem::transmute::<*mut c_void, OpenFabric>(fabric),
                strerror: std::mem::transmute::<*mut c_void, ErrorText>(strerror),
                version,
            })
        }
    }

    /// The version of the interface to ask for, as the library numbers it.
    pub fn interface(&self) -> u32 {
        let LibraryVersion { major, minor } = self.version.min(INTERFACE);
        u32::from(major) << 16 | u32::from(minor)
    }

    /// What the library calls an error, positive or negative.
    pub fn error_text(&self, error: i64) -> String {
        let number = i32::try_from(error.unsigned_abs()).unwrap_or(i32::MAX);
        // SAFETY: it takes any number.
        let text = unsafe { text_at((self.strerror)(number)) };
        text.map_or_else(|| format!("error {number}"), |text| format!("{text} (error {number})"))
    }

    /// A call's result; errors are negative.
    ///
    /// # Errors
    /// The error of the call.
    pub fn check(&self, result: i64, call: &'static str, object: &str) -> Result<(), OfiError> {
        match result {
            0.. => Ok(()),
            error => Err(OfiError::Call { call, object: object.to_owned(), reason: self.error_text(error) }),
        }
    }
}

/// What the loader says of its last failure.
fn loader_says() -> String {
    // SAFETY: it may be called at any time; the text is copied before anybody else calls the loader from this
    // thread.
    let text = unsafe { text_at(libc::dlerror()) };
    text.unwrap_or_else(|| format!("{} cannot be loaded", NAME.to_string_lossy()))
}

/// The text at an address; none when that is null.
///
/// # Safety
/// The address is null, or one of a string that stays as it is for the time of the call.
pub(crate) unsafe fn text_at(text: *const c_char) -> Option<String> {
    // SAFETY: as the caller vouches.
    (!text.is_null()).then(|| unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned())
}
