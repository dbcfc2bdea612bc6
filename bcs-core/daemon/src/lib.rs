//! What every daemon does: it keeps its secrets out of core dumps, and tells systemd how it is.

pub mod notify;
pub mod secrecy;
