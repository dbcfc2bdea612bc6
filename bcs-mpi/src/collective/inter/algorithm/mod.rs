//! The algorithms of collectives on intercommunicators, as futures.

mod broadcast;
mod combine;
mod exchange;

pub use broadcast::broadcast;
pub use combine::{combine, reduce};
pub use exchange::{Alike, Ends, exchange};
