//! What a process knows of a distributed graph: its own edges (MPI-5.0, §8.5.4).

use std::ffi::c_int;

/// Weights of the edges that come in, and of those that go out.
pub type Weights = (Box<[c_int]>, Box<[c_int]>);

/// The edges of one process.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Neighbourhood {
    /// Where edges come from.
    pub sources: Box<[u32]>,
    /// Where edges lead to.
    pub destinations: Box<[u32]>,
    /// The weights of both, where the graph has weights.
    pub weights: Option<Weights>,
}
