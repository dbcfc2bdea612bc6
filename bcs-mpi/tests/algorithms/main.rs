//! Collective algorithms by messages, on simulated nodes: what they bring, and what that costs.

mod costs;
mod random;
mod simulated;
