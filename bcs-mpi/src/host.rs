//! The host that this process is on: its name, and the resource that its processes share.

use crate::constants::MPI_MAX_PROCESSOR_NAME;

/// The name of this host, as far as MPI_MAX_PROCESSOR_NAME allows.
pub fn name() -> String {
    let system = rustix::system::uname();
    let mut name = system.nodename().to_string_lossy().into_owned();
    name.truncate(name.floor_char_boundary(MPI_MAX_PROCESSOR_NAME as usize - 1));
    name
}

/// The key of a hint that names a hardware resource (MPI-5.0, §7.4.2).
pub const RESOURCE_TYPE: &str = "mpi_hw_resource_type";

/// The hardware resource whose processes share memory: a node (§7.4.2).
pub const SHARED_MEMORY: &str = "mpi_shared_memory";
