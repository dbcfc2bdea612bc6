//! Topologies: grids and graphs over the ranks of a communicator (MPI-5.0, chapter 8).

mod cached;
mod graph;
mod grid;
mod neighbourhood;
mod neighbours;
pub mod wiring;

pub use cached::Topology;
pub use graph::Graph;
pub use grid::Grid;
pub use neighbourhood::{Neighbourhood, Weights};
pub use neighbours::{Edge, Neighbours};
