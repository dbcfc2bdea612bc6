//! The C edge of the MPI library: handles in, call, error out. No logic here.
