//! Buffers that a program attaches for buffered sends (MPI-5.0, §3.6).

mod buffer;
mod buffers;

pub use buffer::AttachedBuffer;
pub use buffers::{AttachedBuffers, Level};
