//! Topologies: grids and graphs over the ranks of a communicator (MPI-5.0, chapter 8).

mod cached;
mod grid;
mod neighbours;
pub mod wiring;

pub use cached::{Graph, Neighbourhood, Topology};
pub use grid::Grid;
pub use neighbours::{Edge, Neighbours};
