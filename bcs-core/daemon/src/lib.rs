//! What every daemon does: it keeps its secrets out of core dumps, tells systemd how it is, and waits for
//! several things at once.

pub mod notify;
pub mod secrecy;
pub mod wait;
