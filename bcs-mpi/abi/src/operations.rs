//! Chapter 6: operations of the program.

use crate::edge::{callback, wide};
use bcs_mpi::collective::buffers::Vectors;
use bcs_mpi::collective::forms;
use bcs_mpi::collective::operation::{self, Function};

answers! {
    MPI_Op_create(user_fn, commute) -> op [] =
        operation::create(Function::Small(callback(user_fn, "user_fn")?), commute != 0);
    MPI_Op_create_c(user_fn, commute) -> op [] =
        operation::create(Function::Large(callback(user_fn, "user_fn")?), commute != 0);
    MPI_Op_free(op: INOUT) [] = operation::free(op);
    MPI_Op_commutative(op) -> commute [] = operation::commutes(op);
    MPI_Reduce_local(inbuf, inoutbuf, count, datatype, op) [] =
        forms::reduce_local(&Vectors::new(inbuf, inoutbuf, wide(count), datatype, op));
}
