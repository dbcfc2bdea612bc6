//! Data representations: the form of elements in a file (MPI-5.0, §14.5).

use crate::constants::*;
use crate::lasting::Lasting;
use std::ffi::{c_int, c_void};
use std::sync::Arc;

/// A conversion function of the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Convert {
    /// MPI_CONVERSION_FN_NULL: elements are in the file as they are in memory.
    None,
    /// The address of one of MPI_Register_datarep.
    Small(usize),
    /// That of one of MPI_Register_datarep_c, with large counts.
    Large(usize),
}

/// A data representation of the program.
#[derive(Debug)]
pub struct Registered {
    /// Its name.
    pub name: Box<str>,
    /// From the file to memory.
    pub read: Convert,
    /// From memory to the file.
    pub write: Convert,
    /// Bytes of an element in the file.
    pub extent: MPI_Datarep_extent_function,
    /// The last argument of all three.
    pub extra_state: usize,
}

impl Registered {
    /// The last argument of its functions.
    pub fn state(&self) -> *mut c_void {
        self.extra_state as *mut c_void
    }

    /// Elements are in the file as they are in memory.
    pub fn is_plain(&self) -> bool {
        matches!((self.read, self.write), (Convert::None, Convert::None))
    }
}

/// Those of the program; they stay until the process ends.
pub static REGISTERED: Lasting<Vec<Arc<Registered>>> = Lasting::new(Vec::new());

/// The form of elements in a file.
#[derive(Clone, Debug)]
pub enum Representation {
    /// As in memory: "native", and "internal", as all processes of a job are of one kind.
    Native(&'static str),
    /// "external32".
    External32,
    /// One of the program.
    Registered(Arc<Registered>),
}

impl Representation {
    /// That of a name, if there is one.
    pub fn named(name: &str) -> Option<Self> {
        match name {
            "native" => Some(Self::Native("native")),
            "internal" => Some(Self::Native("internal")),
            "external32" => Some(Self::External32),
            _ => {
                let registered = REGISTERED.lock();
                let found = registered.iter().find(|one| &*one.name == name);
                found.map(|found| Self::Registered(found.clone()))
            }
        }
    }

    /// Its name.
    pub fn name(&self) -> &str {
        match self {
            Self::Native(name) => name,
            Self::External32 => "external32",
            Self::Registered(one) => &one.name,
        }
    }

    /// Elements are in the file as they are in memory.
    pub fn is_native(&self) -> bool {
        matches!(self, Self::Native(_))
    }
}

/// The largest name of a representation, its end mark included.
pub const MOST_NAME: c_int = MPI_MAX_DATAREP_STRING;
