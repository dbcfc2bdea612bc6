//! Shared libraries that are opened when they are needed: neither a build nor an install needs anything of
//! QsNet.
//!
//! Invariant: a library that was opened stays open. What it has started (interrupt handlers, mappings of the
//! card) lives as long as the process.

use std::ffi::{CStr, CString, c_void};
use std::ptr::NonNull;

/// Why a library cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LoadError {
    /// It cannot be opened.
    #[error(
        "cannot open {library}: {reason}; install Quadrics' qsnetlibs on this host, or name the library's path"
    )]
    Open {
        /// Its name or path.
        library: String,
        /// What the dynamic linker says.
        reason: String,
    },
    /// It lacks a function.
    #[error("{library} has no function {symbol}: {reason}; it is not the library that is meant, or too old")]
    Symbol {
        /// The name or path of the library.
        library: String,
        /// The function.
        symbol: &'static str,
        /// What the dynamic linker says.
        reason: String,
    },
}

/// A library that is open.
#[derive(Debug)]
pub(crate) struct Library {
    name: String,
    handle: NonNull<c_void>,
}

/// What the dynamic linker has to say of its last failure.
fn last_error() -> String {
    // SAFETY: the text belongs to the linker, and is copied before this thread calls it again.
    let text = unsafe { libc::dlerror() };
    if text.is_null() {
        return "the dynamic linker does not say why".to_owned();
    }
    // SAFETY: not null, so a text that ends with a zero.
    unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned()
}

impl Library {
    /// Opens a library: a name for the dynamic linker to look for, or a path.
    ///
    /// # Errors
    /// There is none, or it cannot be loaded.
    pub fn open(name: &str) -> Result<Self, LoadError> {
        let failed = |reason: String| LoadError::Open { library: name.to_owned(), reason };
        let path = CString::new(name).map_err(|error| failed(error.to_string()))?;
        // SAFETY: the path is a text; whoever named the library trusts what it does when it is loaded.
        let handle = unsafe { libc::dlopen(path.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL) };
        match NonNull::new(handle) {
            Some(handle) => Ok(Self { name: name.to_owned(), handle }),
            None => Err(failed(last_error())),
        }
    }

    /// The address of a function.
    ///
    /// # Errors
    /// The library has none of this name.
    pub fn function(&self, symbol: &'static str) -> Result<NonNull<c_void>, LoadError> {
        let missing = |reason| LoadError::Symbol { library: self.name.clone(), symbol, reason };
        let name = CString::new(symbol).map_err(|error| missing(error.to_string()))?;
        // SAFETY: the library is open, and the name is a text.
        let address = unsafe { libc::dlsym(self.handle.as_ptr(), name.as_ptr()) };
        NonNull::new(address).ok_or_else(|| missing(last_error()))
    }
}

/// Declares a table of functions that is loaded by their names.
macro_rules! functions {
    (
        $(#[$doc:meta])* $table:ident {
            $($(#[$function_doc:meta])* $name:ident: fn($($argument:ident: $type:ty),*) $(-> $result:ty)?;)*
        }
    ) => {
        $(#[$doc])*
        // The names are those of the library.
        #[allow(non_snake_case)]
        #[derive(Clone, Copy, Debug)]
        pub(crate) struct $table {
            $($(#[$function_doc])* pub $name: unsafe extern "C" fn($($argument: $type),*) $(-> $result)?,)*
        }

        impl $table {
            /// Finds all functions in a library.
            ///
            /// # Errors
            /// The library lacks one; the error names it.
            pub fn load(library: &$crate::library::Library) -> Result<Self, $crate::library::LoadError> {
                Ok(Self {
                    $($name: {
                        let address = library.function(stringify!($name))?.as_ptr();
                        // SAFETY: the address is that of a function of this name, whose prototype is the
                        // one declared here, with its source.
                        unsafe {
                            std::mem::transmute::<
                                *mut std::ffi::c_void,
                                unsafe extern "C" fn($($argument: $type),*) $(-> $result)?,
                            >(address)
                        }
                    },)*
                })
            }
        }
    };
}
pub(crate) use functions;

#[cfg(test)]
mod tests {
    use super::*;

    functions! {
        /// Two functions of the C library, and one that it has not.
        Absent {
            /// The length of a text.
            strlen: fn(text: *const std::ffi::c_char) -> usize;
            /// Nothing.
            bcs_no_such_function: fn();
        }
    }

    #[test]
    fn a_library_that_is_not_there_is_named_with_what_to_do() {
        let refused = Library::open("libbcs-no-such-library.so").unwrap_err().to_string();
        assert!(refused.contains("libbcs-no-such-library.so") && refused.contains("qsnetlibs"), "{refused}");
        assert!(matches!(Library::open("with\0zero"), Err(LoadError::Open { .. })));
    }

    #[test]
    fn a_function_that_is_not_there_is_named_with_its_library() {
        let library = Library::open("libc.so.6").unwrap();
        let refused = Absent::load(&library).map(|absent| (absent.strlen, absent.bcs_no_such_function));
        let refused = refused.unwrap_err();
        assert!(
            matches!(&refused, LoadError::Symbol { library, symbol: "bcs_no_such_function", .. } if library == "libc.so.6"),
            "{refused}"
        );
        assert!(refused.to_string().contains("bcs_no_such_function"), "{refused}");
    }
}
