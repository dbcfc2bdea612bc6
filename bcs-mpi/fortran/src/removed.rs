//! Chapter 17: what MPI-1 had and MPI-3.0 has removed, for programs that were written for it. Addresses are
//! default INTEGERs there: what does not fit is an error.

use crate::c::*;
use crate::convert::{Handle, handle, handles, room};
use crate::edge::{Owner, Wrong, answer, raise};
use crate::sentinel::choice;
use std::ffi::{c_int, c_void};

/// Stores an address as a default INTEGER.
///
/// # Safety
/// `to` must be one.
unsafe fn narrow(name: &str, argument: &str, instead: &str, value: MPI_Aint, to: *mut c_int) -> c_int {
    match c_int::try_from(value) {
        Ok(value) => {
            // SAFETY: the caller's promise.
            unsafe { to.write(value) };
            MPI_SUCCESS
        }
        Err(_) => {
            let what = format!(
                "{argument} would be {value:#x}, which no default INTEGER holds: call {instead}, \
                 or link with -no-pie where it is the address of a variable"
            );
            raise(Owner::Nobody, name, &Wrong { class: MPI_ERR_ARG, what })
        }
    }
}

/// Numbers as addresses.
///
/// # Safety
/// `numbers` must have as many elements as a positive `count` says.
unsafe fn wide(numbers: *const c_int, count: c_int) -> Vec<MPI_Aint> {
    // SAFETY: the caller's promise.
    (0..room(i64::from(count))).map(|at| MPI_Aint::from(unsafe { *numbers.add(at) })).collect()
}

entries! {
    MPI_Address PMPI_Address "address" (location: *mut c_void, address: *mut c_int, ierror: *mut c_int) {
        let mut value = 0;
        let code = call(choice(location), &mut value);
        answer(ierror, match code {
            MPI_SUCCESS => narrow("MPI_Address", "address", "MPI_GET_ADDRESS", value, address),
            code => code,
        })
    }
    MPI_Type_hvector PMPI_Type_hvector "type_hvector" (
        count: *mut c_int, blocklength: *mut c_int, stride: *mut c_int, oldtype: *mut c_int, newtype: *mut c_int,
        ierror: *mut c_int,
    ) {
        let mut made = MPI_Datatype::NULL;
        let code = call(*count, *blocklength, MPI_Aint::from(*stride), handle(*oldtype), &mut made);
        *newtype = made.integer();
        answer(ierror, code)
    }
    MPI_Type_hindexed PMPI_Type_hindexed "type_hindexed" (
        count: *mut c_int, blocklengths: *mut c_int, displacements: *mut c_int, oldtype: *mut c_int,
        newtype: *mut c_int, ierror: *mut c_int,
    ) {
        let mut places = wide(displacements, *count);
        let mut made = MPI_Datatype::NULL;
        let code = call(*count, blocklengths, places.as_mut_ptr(), handle(*oldtype), &mut made);
        *newtype = made.integer();
        answer(ierror, code)
    }
    MPI_Type_struct PMPI_Type_struct "type_struct" (
        count: *mut c_int, blocklengths: *mut c_int, displacements: *mut c_int, types: *mut c_int,
        newtype: *mut c_int, ierror: *mut c_int,
    ) {
        let mut places = wide(displacements, *count);
        let mut types = handles::<MPI_Datatype>(types, i64::from(*count));
        let mut made = MPI_Datatype::NULL;
        let code = call(*count, blocklengths, places.as_mut_ptr(), types.as_mut_ptr(), &mut made);
        *newtype = made.integer();
        answer(ierror, code)
    }
}

macro_rules! extents {
    ($($c:ident $p:ident $short:literal $argument:literal)*) => { entries! { $(
        $c $p $short (datatype: *mut c_int, result: *mut c_int, ierror: *mut c_int) {
            let mut value = 0;
            let code = call(handle(*datatype), &mut value);
            answer(ierror, match code {
                MPI_SUCCESS => narrow(stringify!($c), $argument, "MPI_TYPE_GET_EXTENT", value, result),
                code => code,
            })
        }
    )* } };
}
extents! {
    MPI_Type_extent PMPI_Type_extent "type_extent" "extent"
    MPI_Type_lb PMPI_Type_lb "type_lb" "displacement"
    MPI_Type_ub PMPI_Type_ub "type_ub" "displacement"
}
