//! The ranks' ports: messages that are buffered, claimed, or come before their receives.

mod buffering;
mod claiming;
mod ports;
mod unexpected;
