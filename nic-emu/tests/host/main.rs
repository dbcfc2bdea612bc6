//! The NIC's host side: the ports of ranks, channels across processes, fixed slices, a token that is
//! held for long, memory that is written where it should not be, and what global slices take. One
//! program, so that it is linked once.

mod buffering;
mod channel;
mod claiming;
mod corrupt_memory;
mod fixed_slices;
mod held_token;
mod ports;
mod slice_curve;
mod unexpected;
