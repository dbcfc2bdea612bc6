//! The algorithms of collectives on intercommunicators, as futures: one a file.

mod allreduce;
mod broadcast;
mod exchange;
mod idle;
mod reduce;
mod reduce_scatter;

pub use allreduce::allreduce;
pub use broadcast::broadcast;
pub use exchange::{Alike, Ends, exchange};
pub use idle::idle;
pub use reduce::reduce;
pub use reduce_scatter::reduce_scatter;
