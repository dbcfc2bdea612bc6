//! What the recorders of MMDS and the rings of EMDS promise.

mod granularity;
mod ring;
