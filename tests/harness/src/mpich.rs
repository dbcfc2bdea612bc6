//! The other implementation of the MPI-5.0 standard ABI that tests compare with: MPICH 5 of PyPI.

use crate::skip;
use std::path::PathBuf;

/// Where it is: the virtual environment that `BCS_MPICH_PREFIX` names. None, when the test has said so, where
/// there is none.
pub fn prefix() -> Option<PathBuf> {
    let Some(prefix) = std::env::var_os("BCS_MPICH_PREFIX").map(PathBuf::from) else {
        skip("BCS_MPICH_PREFIX is not set to an environment with the PyPI package mpich");
        return None;
    };
    assert!(
        prefix.join("include/mpi_abi.h").is_file(),
        "BCS_MPICH_PREFIX is set, but there is no MPICH in {}: pip install mpich",
        prefix.display()
    );
    Some(prefix)
}
