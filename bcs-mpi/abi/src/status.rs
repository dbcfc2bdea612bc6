//! Chapters 3, 5 and 13: what statuses say.

use crate::edge::{narrow, wide};
use bcs_mpi::request::status;

answers! {
    MPI_Test_cancelled(status: IN) -> flag [] = Ok(status::is_cancelled(status));
    MPI_Get_count(status: IN, datatype) -> count [] = status::count(status, datatype).map(narrow::<COUNT>);
}

calls! {
    MPI_Get_elements MPI_Get_elements_x(status: IN, datatype, count: OUT) [] {
        count.set(narrow(status::elements(status, datatype)?))
    }
    MPI_Status_set_elements MPI_Status_set_elements_x(status: INOUT, datatype, count) [] {
        status::set_elements(status, datatype, wide(count))?
    }
    MPI_Status_set_cancelled(status: INOUT, flag) [] {
        status::set_cancelled(status, flag != 0)
    }
}

/// What a status shows: the field, its name as an argument, and the two calls.
macro_rules! fields {
    ($($field:ident $argument:ident $get:ident $set:ident)*) => { calls! { $(
        $get(status: IN, $argument: OUT) [] {
            $argument.set(status.$field)
        }
        $set(status: INOUT, $argument) [] {
            status.$field = $argument
        }
    )* } };
}

fields! {
    MPI_SOURCE source MPI_Status_get_source MPI_Status_set_source
    MPI_TAG tag MPI_Status_get_tag MPI_Status_set_tag
    MPI_ERROR error MPI_Status_get_error MPI_Status_set_error
}
