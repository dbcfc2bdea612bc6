//! The environment: versions, names, clocks, the end of the job (MPI-5.0, chapters 9, 11 and 20).

pub mod error_handlers;
pub mod finalize;
pub mod fortran;
pub mod init;
pub mod integers;
pub mod life;
pub mod session;

use crate::constants::*;
use crate::error::{MpiError, MpiResult};
use crate::host::SHARED_MEMORY;
use crate::info;
use crate::object::Communicator;
use crate::process::{self, exit};
use nic_emu::port::now_ns;
use std::ffi::{c_int, c_void};

/// MPI_Get_library_version.
pub fn library_version() -> String {
    format!(
        "BCS-MPI {}: MPI-{MPI_VERSION}.{MPI_SUBVERSION}, standard ABI {MPI_ABI_VERSION}.{MPI_ABI_SUBVERSION}; buffered coscheduling in time slices",
        env!("CARGO_PKG_VERSION")
    )
}

/// MPI_Wtime: seconds of the monotonic clock, which all processes of a node share.
#[inline]
pub fn wtime() -> f64 {
    now_ns() as f64 * 1e-9
}

/// MPI_Wtick: the clock's resolution.
pub fn wtick() -> f64 {
    let resolution = rustix::time::clock_getres(rustix::time::ClockId::Monotonic);
    resolution.tv_sec as f64 + resolution.tv_nsec as f64 * 1e-9
}

/// MPI_Abort: ends the job, whatever the communicator.
///
/// # Errors
/// Before MPI_Init and after MPI_Finalize.
pub fn abort(comm: MPI_Comm, code: c_int) -> MpiResult {
    let title = process::enter()?
        .communicators
        .get(comm)
        .map_or("an invalid communicator".into(), Communicator::title);
    exit::abort_job(code, &format!("MPI_Abort({title}, {code})"))
}

/// MPI_Get_hw_resource_info: the resources that MPI_Comm_split_type can be guided by, each with whether this
/// process stays within one of them.
///
/// # Errors
/// Before MPI_Init and after MPI_Finalize.
pub fn hardware() -> MpiResult<MPI_Info> {
    process::enter()?;
    Ok(info::of_pairs(vec![(SHARED_MEMORY.to_owned(), "true".to_owned())]))
}

/// The boundary that memory of MPI_Alloc_mem has: a cache line, which suits every type.
const ALIGNMENT: usize = 64;

/// MPI_Alloc_mem.
///
/// # Errors
/// A negative size, or no memory.
pub fn alloc_mem(size: MPI_Aint, info: MPI_Info) -> MpiResult<*mut c_void> {
    let pairs = info::pairs(info)?;
    let said = pairs.iter().find(|(key, _)| key == "mpi_minimum_memory_alignment");
    let said =
        said.and_then(|(_, value)| value.parse::<usize>().ok()).filter(|least| least.is_power_of_two());
    let Ok(bytes) = usize::try_from(size) else {
        return Err(MpiError::argument(MPI_ERR_ARG, "size", size, "it must not be negative"));
    };
    let mut memory = std::ptr::null_mut();
    // SAFETY: asks the C library for memory; `free` gives it back in `free_mem`.
    let refused =
        unsafe { libc::posix_memalign(&mut memory, said.unwrap_or(0).max(ALIGNMENT), bytes.max(1)) };
    if refused != 0 {
        return Err(MpiError::argument(MPI_ERR_NO_MEM, "size", size, "no memory of so many bytes is left"));
    }
    Ok(memory)
}

/// MPI_Free_mem.
///
/// # Safety
/// `base` must be null or what [`alloc_mem`] gave, not freed since.
pub unsafe fn free_mem(base: *mut c_void) {
    // SAFETY: the caller's promise.
    unsafe { libc::free(base) };
}
