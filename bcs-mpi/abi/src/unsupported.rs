//! Functions of the standard that the library does not have yet. Which these are is found when it is built
//! (`build.rs`).

use bcs_mpi::error::{MpiError, Problem};

include!(concat!(env!("OUT_DIR"), "/unsupported.rs"));
