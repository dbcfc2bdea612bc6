//! The functions of C that the library calls, their types and constants (MPI-5.0, appendix A.1, A.3).
#![allow(non_camel_case_types, missing_docs, reason = "the names of the standard, which says what they are")]
#![allow(dead_code, reason = "not every one is called by name")]

use std::ffi::{c_char, c_int, c_void};

/// An address, or a distance in memory.
pub type MPI_Aint = i64;
/// A number of elements.
pub type MPI_Count = i64;
/// A position in a file.
pub type MPI_Offset = i64;

/// What became of an operation: the same eight integers in C, `use mpi` and `use mpi_f08`.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct MPI_Status {
    pub source: c_int,
    pub tag: c_int,
    pub error: c_int,
    pub internal: [c_int; 5],
}

macro_rules! handles {
    ($($name:ident)*) => { $(
        /// A handle.
        #[repr(transparent)]
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub struct $name(pub usize);
    )* };
}

handles! {
    MPI_Comm MPI_Datatype MPI_Errhandler MPI_File MPI_Group MPI_Info MPI_Message MPI_Op MPI_Request MPI_Session
    MPI_Win
}

macro_rules! integers {
    ($($handle:ident $to:ident $from:ident)*) => {
        unsafe extern "C" { $(
            pub fn $to(handle: $handle) -> c_int;
            pub fn $from(integer: c_int) -> $handle;
        )* }
    };
}

integers! {
    MPI_Comm MPI_Comm_toint MPI_Comm_fromint
    MPI_Datatype MPI_Type_toint MPI_Type_fromint
    MPI_Errhandler MPI_Errhandler_toint MPI_Errhandler_fromint
    MPI_File MPI_File_toint MPI_File_fromint
    MPI_Group MPI_Group_toint MPI_Group_fromint
    MPI_Info MPI_Info_toint MPI_Info_fromint
    MPI_Message MPI_Message_toint MPI_Message_fromint
    MPI_Op MPI_Op_toint MPI_Op_fromint
    MPI_Request MPI_Request_toint MPI_Request_fromint
    MPI_Session MPI_Session_toint MPI_Session_fromint
    MPI_Win MPI_Win_toint MPI_Win_fromint
}

include!(concat!(env!("OUT_DIR"), "/prototypes.rs"));
include!(concat!(env!("OUT_DIR"), "/constants.rs"));
