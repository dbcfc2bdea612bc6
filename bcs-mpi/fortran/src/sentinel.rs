//! Names that stand for no data: MPI_BOTTOM, MPI_IN_PLACE, MPI_STATUS_IGNORE and others (MPI-5.0, §2.5.4).
//!
//! Fortran hands over addresses, so each is a place in a common block, `bcsmpi`, that module and `mpif.h`
//! declare. The library and every program that uses one have that block, and the dynamic linker makes it the
//! same for all: the program's. So the library must look for it by name, as for another library's data.

use crate::c::{
    MPI_BOTTOM, MPI_BUFFER_AUTOMATIC, MPI_IN_PLACE, MPI_Status, MPI_UNWEIGHTED, MPI_WEIGHTS_EMPTY,
    SENTINEL_BYTES, SENTINEL_PLACES,
};
use std::ffi::{c_int, c_void};

/// The block, where nothing else of the program has it.
#[repr(C, align(32))]
pub struct Block([u8; SENTINEL_BYTES]);

#[unsafe(export_name = "bcsmpi_")]
#[used]
static BLOCK: Block = Block([0; SENTINEL_BYTES]);

/// The address of the block: of the program's, if it has one.
#[inline(always)]
fn block() -> usize {
    let address: usize;
    // SAFETY: the instruction reads an entry of the global offset table, which the dynamic linker has filled.
    unsafe {
        std::arch::asm!("mov {}, qword ptr [rip + bcsmpi_@GOTPCREL]", out(reg) address,
            options(pure, readonly, nostack, preserves_flags));
    }
    address
}

/// What a place in the block stands for in C.
#[cold]
fn meaning(offset: usize) -> usize {
    let place = SENTINEL_PLACES.iter().rposition(|(_, begin)| *begin <= offset);
    match place.map(|place| SENTINEL_PLACES[place].0) {
        Some("MPI_IN_PLACE") => MPI_IN_PLACE as usize,
        Some("MPI_BUFFER_AUTOMATIC") => MPI_BUFFER_AUTOMATIC as usize,
        Some("MPI_UNWEIGHTED") => MPI_UNWEIGHTED as usize,
        Some("MPI_WEIGHTS_EMPTY") => MPI_WEIGHTS_EMPTY as usize,
        // Statuses, error codes and arguments that are not wanted are null, as MPI_BOTTOM is.
        _ => MPI_BOTTOM as usize,
    }
}

/// An address of C for one of Fortran.
#[inline(always)]
fn translated<T>(address: *mut T) -> *mut T {
    let offset = (address as usize).wrapping_sub(block());
    if offset < SENTINEL_BYTES { std::ptr::without_provenance_mut(meaning(offset)) } else { address }
}

/// Whether an address is one of those names.
#[inline(always)]
pub fn is_sentinel<T>(address: *mut T) -> bool {
    (address as usize).wrapping_sub(block()) < SENTINEL_BYTES
}

/// A choice buffer.
#[inline(always)]
pub fn choice(buffer: *mut c_void) -> *mut c_void {
    translated(buffer)
}

/// Whether a choice buffer is MPI_IN_PLACE.
#[inline]
pub fn is_in_place(buffer: *mut c_void) -> bool {
    is_sentinel(buffer) && choice(buffer) as usize == MPI_IN_PLACE as usize
}

/// A status, or several of them: the names that stand for none are null in C.
#[inline(always)]
pub fn statuses(status: *mut MPI_Status) -> *mut MPI_Status {
    if is_sentinel(status) { std::ptr::null_mut() } else { status }
}

/// Error codes of started processes.
pub fn error_codes(codes: *mut c_int) -> *mut c_int {
    translated(codes)
}

/// Weights of edges.
pub fn weights_of(weights: *mut c_int) -> *mut c_int {
    translated(weights)
}
