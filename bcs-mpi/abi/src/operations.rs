//! Chapter 6: operations of the program.

use crate::edge::{callback, handle, object, place};
use crate::forms::vectors;
use bcs_mpi::collective::forms;
use bcs_mpi::collective::operation::{self, Function};
use bcs_mpi::constants::*;
use std::ffi::{c_int, c_void};

calls! {
    call MPI_Op_create(user_fn: Option<MPI_User_function>, commute: c_int, op: *mut MPI_Op) [] {
        handle(op, "op")?.set(operation::create(Function::Small(callback(user_fn, "user_fn")?), commute != 0)?)
    }
    call MPI_Op_create_c(user_fn: Option<MPI_User_function_c>, commute: c_int, op: *mut MPI_Op) [] {
        handle(op, "op")?.set(operation::create(Function::Large(callback(user_fn, "user_fn")?), commute != 0)?)
    }
    call MPI_Op_free(op: *mut MPI_Op) [] {
        operation::free(object(op, "op")?)?
    }
    call MPI_Op_commutative(op: MPI_Op, commute: *mut c_int) [] {
        place(commute, "commute")?.set(operation::commutes(op)?.into())
    }
    twin MPI_Reduce_local(
        inbuf: *const c_void, inoutbuf: *mut c_void, count: COUNT, datatype: MPI_Datatype, op: MPI_Op,
    ) [] {
        forms::reduce_local(&vectors(inbuf, inoutbuf, count, datatype, op))?
    }
}
