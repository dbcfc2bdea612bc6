//! What has no function of C, or differs from it: statuses from one form to the other (§19.3.5), MPI_Sizeof,
//! MPI_F_sync_reg, MPI_Pcontrol, the forms with TYPE(C_PTR) of the module mpi, and detached buffers.

use crate::c::*;
use crate::convert::{Handle, handle};
use crate::descriptor::Descriptor;
use crate::edge::answer;
use std::ffi::{c_int, c_void};

/// A status is the same eight integers in all forms.
///
/// # Safety
/// Both must be statuses.
unsafe fn copy_status(from: *const MPI_Status, to: *mut MPI_Status, ierror: *mut c_int) {
    // SAFETY: the caller's promise.
    unsafe {
        to.write(from.read());
        answer(ierror, MPI_SUCCESS);
    }
}

// These call nothing of C: any name of it stands for both.
entries! {
    MPI_Wtime PMPI_Wtime "status_f2f08" (from: *mut MPI_Status, to: *mut MPI_Status, ierror: *mut c_int) {
        copy_status(from, to, ierror)
    }
    MPI_Wtime PMPI_Wtime "status_f082f" (from: *mut MPI_Status, to: *mut MPI_Status, ierror: *mut c_int) {
        copy_status(from, to, ierror)
    }
    MPI_Wtime PMPI_Wtime "f_sync_reg" (_buf: *mut c_void) {}
    MPI_Pcontrol PMPI_Pcontrol "pcontrol" (level: *mut c_int) {
        call(*level);
    }
}

described! {
    MPI_Wtime PMPI_Wtime "f_sync_reg" (_buf: *const Descriptor) {}
}

/// MPI_Sizeof: bytes of an element of what is given (§16.3).
macro_rules! size_of {
    ($($symbol:literal)*) => { $(
        const _: () = {
            #[unsafe(export_name = $symbol)]
            unsafe extern "C" fn entry(x: *const Descriptor, size: *mut c_int, ierror: *mut c_int) {
                // SAFETY: the compiler hands over a descriptor, and places for results.
                unsafe {
                    *size = (*x).element_bytes() as c_int;
                    answer(ierror, MPI_SUCCESS);
                }
            }
        };
    )* };
}
size_of! { "mpi_sizeof_ts_" "pmpi_sizeof_ts_" }

entries! {
    MPI_Alloc_mem PMPI_Alloc_mem "alloc_mem_cptr" (
        size: *mut MPI_Aint, info: *mut c_int, baseptr: *mut c_void, ierror: *mut c_int,
    ) {
        answer(ierror, call(*size, handle(*info), baseptr))
    }
    MPI_Win_shared_query PMPI_Win_shared_query "win_shared_query_cptr" (
        win: *mut c_int, rank: *mut c_int, size: *mut MPI_Aint, disp_unit: *mut c_int, baseptr: *mut c_void,
        ierror: *mut c_int,
    ) {
        answer(ierror, call(handle(*win), *rank, size, disp_unit, baseptr))
    }
}

macro_rules! allocations {
    ($($c:ident $p:ident $short:literal)*) => { entries! { $(
        $c $p $short (
            size: *mut MPI_Aint, disp_unit: *mut c_int, info: *mut c_int, comm: *mut c_int, baseptr: *mut c_void,
            win: *mut c_int, ierror: *mut c_int,
        ) {
            let mut made = MPI_Win::NULL;
            let code = call(*size, *disp_unit, handle(*info), handle(*comm), baseptr, &mut made);
            *win = made.integer();
            answer(ierror, code)
        }
    )* } };
}
allocations! {
    MPI_Win_allocate PMPI_Win_allocate "win_allocate_cptr"
    MPI_Win_allocate_shared PMPI_Win_allocate_shared "win_allocate_shared_cptr"
}

/// Which buffer was detached, the module mpi_f08 alone tells: before, the argument was a buffer, and is not
/// looked at (§3.6).
macro_rules! detached {
    ($($c:ident $p:ident $symbol:literal ($($owner:ident: $type:ty)?);)*) => { $(
        exported! { $c concat!("mpi_", $symbol, "_") (
            $($owner: *mut c_int,)? _buffer: *mut c_void, size: *mut c_int, ierror: *mut c_int
        ) {
            let mut address: *mut c_void = std::ptr::null_mut();
            answer(ierror, call($(handle::<$type>(*$owner),)? (&raw mut address).cast(), size))
        } }
        exported! { $p concat!("pmpi_", $symbol, "_") (
            $($owner: *mut c_int,)? _buffer: *mut c_void, size: *mut c_int, ierror: *mut c_int
        ) {
            let mut address: *mut c_void = std::ptr::null_mut();
            answer(ierror, call($(handle::<$type>(*$owner),)? (&raw mut address).cast(), size))
        } }
        exported! { $c concat!("mpi_", $symbol, "_f08_") (
            $($owner: *mut c_int,)? buffer: *mut c_void, size: *mut c_int, ierror: *mut c_int
        ) {
            answer(ierror, call($(handle::<$type>(*$owner),)? buffer, size))
        } }
        exported! { $p concat!("pmpi_", $symbol, "_f08_") (
            $($owner: *mut c_int,)? buffer: *mut c_void, size: *mut c_int, ierror: *mut c_int
        ) {
            answer(ierror, call($(handle::<$type>(*$owner),)? buffer, size))
        } }
    )* };
}
detached! {
    MPI_Buffer_detach PMPI_Buffer_detach "buffer_detach" ();
    MPI_Comm_detach_buffer PMPI_Comm_detach_buffer "comm_detach_buffer" (comm: MPI_Comm);
    MPI_Session_detach_buffer PMPI_Session_detach_buffer "session_detach_buffer" (session: MPI_Session);
}
