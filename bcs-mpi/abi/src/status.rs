//! Chapters 3, 5 and 13: what statuses say.

use crate::edge::{narrow, wide};
use bcs_mpi::request::status;

calls! {
    MPI_Get_count(status: IN, datatype, count: OUT) [] {
        count.set(narrow(status::count(status, datatype)?))
    }
    MPI_Get_elements MPI_Get_elements_x(status: IN, datatype, count: OUT) [] {
        count.set(narrow(status::elements(status, datatype)?))
    }
    MPI_Status_set_elements MPI_Status_set_elements_x(status: INOUT, datatype, count) [] {
        status::set_elements(status, datatype, wide(count))?
    }
    MPI_Test_cancelled(status: IN, flag: OUT) [] {
        flag.set(status::is_cancelled(status).into())
    }
    MPI_Status_set_cancelled(status: INOUT, flag) [] {
        status::set_cancelled(status, flag != 0)
    }
    MPI_Status_get_source(status: IN, source: OUT) [] {
        source.set(status.MPI_SOURCE)
    }
    MPI_Status_get_tag(status: IN, tag: OUT) [] {
        tag.set(status.MPI_TAG)
    }
    MPI_Status_get_error(status: IN, error: OUT) [] {
        error.set(status.MPI_ERROR)
    }
    MPI_Status_set_source(status: INOUT, source) [] {
        status.MPI_SOURCE = source
    }
    MPI_Status_set_tag(status: INOUT, tag) [] {
        status.MPI_TAG = tag
    }
    MPI_Status_set_error(status: INOUT, error) [] {
        status.MPI_ERROR = error
    }
}
