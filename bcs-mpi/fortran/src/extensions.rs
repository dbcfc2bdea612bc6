//! Chapter 13: generalized requests; chapter 14: data representations. Their procedures have an extra state,
//! so each is found by it.

use crate::c::*;
use crate::convert::Handle;
use crate::edge::answer;
use std::ffi::{c_char, c_int, c_void};

/// Fills a status: extra state, status, error.
type Query = unsafe extern "C" fn(*mut MPI_Aint, *mut MPI_Status, *mut c_int);
/// Frees what a request holds: extra state, error.
type Free = unsafe extern "C" fn(*mut MPI_Aint, *mut c_int);
/// Is told of a cancellation: extra state, whether the request is complete, error.
type Cancel = unsafe extern "C" fn(*mut MPI_Aint, *mut c_int, *mut c_int);
/// Tells an extent: datatype, extent, extra state, error.
type Extent = unsafe extern "C" fn(*mut c_int, *mut MPI_Aint, *mut MPI_Aint, *mut c_int);

/// The procedures of a generalized request, and their extra state (§13.2).
struct Request {
    query: Query,
    free: Free,
    cancel: Cancel,
    extra: MPI_Aint,
}

unsafe extern "C" fn query(request: *mut c_void, status: *mut MPI_Status) -> c_int {
    // SAFETY: the extra state in C is what `MPI_Grequest_start` made below.
    unsafe {
        let request = &mut *request.cast::<Request>();
        let mut code = MPI_SUCCESS;
        (request.query)(&mut request.extra, status, &mut code);
        code
    }
}

unsafe extern "C" fn free(request: *mut c_void) -> c_int {
    // SAFETY: as above; this is the last call for the request.
    unsafe {
        let mut request = Box::from_raw(request.cast::<Request>());
        let mut code = MPI_SUCCESS;
        (request.free)(&mut request.extra, &mut code);
        code
    }
}

unsafe extern "C" fn cancel(request: *mut c_void, mut complete: c_int) -> c_int {
    // SAFETY: as above.
    unsafe {
        let request = &mut *request.cast::<Request>();
        let mut code = MPI_SUCCESS;
        (request.cancel)(&mut request.extra, &mut complete, &mut code);
        code
    }
}

/// The procedures of a data representation, and their extra state (§14.5.3).
struct Representation<N> {
    read: Option<Conversion<N>>,
    write: Option<Conversion<N>>,
    extent: Extent,
    extra: MPI_Aint,
}

/// A conversion in Fortran: buffer, datatype, count, buffer of the file, position, extra state, error.
type Conversion<N> = unsafe extern "C" fn(
    *mut c_void,
    *mut c_int,
    *mut N,
    *mut c_void,
    *mut MPI_Offset,
    *mut MPI_Aint,
    *mut c_int,
);

unsafe extern "C" fn extent<N>(datatype: MPI_Datatype, extent: *mut MPI_Aint, of: *mut c_void) -> c_int {
    // SAFETY: the extra state in C is what `MPI_Register_datarep` made below.
    unsafe {
        let of = &mut *of.cast::<Representation<N>>();
        let (mut datatype, mut code) = (datatype.integer(), MPI_SUCCESS);
        (of.extent)(&mut datatype, extent, &mut of.extra, &mut code);
        code
    }
}

/// The two directions of a conversion.
macro_rules! conversions {
    ($($name:ident)*) => { $(
        unsafe extern "C" fn $name<N>(
            buffer: *mut c_void, datatype: MPI_Datatype, mut count: N, file: *mut c_void, mut position: MPI_Offset,
            of: *mut c_void,
        ) -> c_int {
            // SAFETY: as above.
            unsafe {
                let of = &mut *of.cast::<Representation<N>>();
                let (mut datatype, mut code) = (datatype.integer(), MPI_SUCCESS);
                if let Some(convert) = of.$name {
                    convert(buffer, &mut datatype, &mut count, file, &mut position, &mut of.extra, &mut code);
                }
                code
            }
        }
    )* };
}
conversions! { read write }

/// MPI_CONVERSION_FN_NULL and its large form: no conversion (§14.5.3). They are compared with, and never
/// called.
#[unsafe(export_name = "mpi_conversion_fn_null_")]
unsafe extern "C" fn no_conversion() {}

/// As above, with another address.
#[unsafe(export_name = "mpi_conversion_fn_null_c_")]
unsafe extern "C" fn no_large_conversion() {
    std::hint::black_box(0);
}

/// The address that a program has of a procedure of this library: the dynamic linker tells, as the program
/// may have an entry of its own for it.
macro_rules! address_in_program {
    ($symbol:literal) => {{
        let address: usize;
        // SAFETY: the instruction reads an entry of the global offset table, which the dynamic linker has
        // filled.
        unsafe {
            std::arch::asm!(concat!("mov {}, qword ptr [rip + ", $symbol, "@GOTPCREL]"), out(reg) address,
                options(pure, readonly, nostack, preserves_flags));
        }
        address
    }};
}

/// A conversion of the program; none for the predefined one.
///
/// # Safety
/// The address must be that of a conversion.
unsafe fn conversion<N>(address: *mut c_void) -> Option<Conversion<N>> {
    let none =
        [address_in_program!("mpi_conversion_fn_null_"), address_in_program!("mpi_conversion_fn_null_c_")];
    if none.contains(&(address as usize)) {
        return None;
    }
    // SAFETY: the caller's promise.
    Some(unsafe { std::mem::transmute::<*mut c_void, Conversion<N>>(address) })
}

entries! {
    MPI_Grequest_start PMPI_Grequest_start "grequest_start" (
        query_fn: *mut c_void, free_fn: *mut c_void, cancel_fn: *mut c_void, extra_state: *mut MPI_Aint,
        request: *mut c_int, ierror: *mut c_int,
    ) {
        let of = Box::into_raw(Box::new(Request {
            query: std::mem::transmute::<*mut c_void, Query>(query_fn),
            free: std::mem::transmute::<*mut c_void, Free>(free_fn),
            cancel: std::mem::transmute::<*mut c_void, Cancel>(cancel_fn),
            extra: *extra_state,
        }));
        let mut made = MPI_Request::NULL;
        let functions = (query as *mut c_void, free as *mut c_void, cancel as *mut c_void);
        let code = call(functions.0, functions.1, functions.2, of.cast(), &mut made);
        if code != MPI_SUCCESS {
            drop(Box::from_raw(of));
        }
        *request = made.integer();
        answer(ierror, code)
    }
}

macro_rules! representations {
    ($($number:ty: $c:ident $p:ident $short:literal)*) => { entries! { $(
        $c $p $short (
            datarep: *mut c_char, read_fn: *mut c_void, write_fn: *mut c_void, extent_fn: *mut c_void,
            extra_state: *mut MPI_Aint, ierror: *mut c_int, length: usize,
        ) {
            let name = crate::text::trimmed(datarep, length);
            // It is there until the process ends.
            let of = Box::into_raw(Box::new(Representation::<$number> {
                read: conversion(read_fn),
                write: conversion(write_fn),
                extent: std::mem::transmute::<*mut c_void, Extent>(extent_fn),
                extra: *extra_state,
            }));
            let function = |there: bool, function: *mut c_void| if there { function } else { std::ptr::null_mut() };
            let code = call(
                name.as_ptr().cast_mut(),
                function((*of).read.is_some(), read::<$number> as *mut c_void),
                function((*of).write.is_some(), write::<$number> as *mut c_void),
                extent::<$number> as *mut c_void,
                of.cast(),
            );
            if code != MPI_SUCCESS {
                drop(Box::from_raw(of));
            }
            answer(ierror, code)
        }
    )* } };
}
representations! {
    c_int: MPI_Register_datarep PMPI_Register_datarep "register_datarep"
    MPI_Count: MPI_Register_datarep_c PMPI_Register_datarep_c "register_datarep_c"
}
