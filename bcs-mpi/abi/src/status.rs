//! Chapters 3, 5 and 13: what statuses say.

use crate::edge::{narrow, object, place, wide};
use bcs_mpi::constants::*;
use bcs_mpi::request::status;
use std::ffi::c_int;

calls! {
    twin MPI_Get_count(status: *const MPI_Status, datatype: MPI_Datatype, count: *mut COUNT) [] {
        let (from, count) = (object(status.cast_mut(), "status")?, place(count, "count")?);
        count.set(narrow(status::count(from, datatype)?))
    }
    twin MPI_Get_elements(status: *const MPI_Status, datatype: MPI_Datatype, count: *mut COUNT) [] {
        let (from, count) = (object(status.cast_mut(), "status")?, place(count, "count")?);
        count.set(narrow(status::elements(from, datatype)?))
    }
    call MPI_Get_elements_x(status: *const MPI_Status, datatype: MPI_Datatype, count: *mut MPI_Count) [] {
        let (from, count) = (object(status.cast_mut(), "status")?, place(count, "count")?);
        count.set(narrow(status::elements(from, datatype)?))
    }
    twin MPI_Status_set_elements(status: *mut MPI_Status, datatype: MPI_Datatype, count: COUNT) [] {
        status::set_elements(object(status, "status")?, datatype, wide(count))?
    }
    call MPI_Status_set_elements_x(status: *mut MPI_Status, datatype: MPI_Datatype, count: MPI_Count) [] {
        status::set_elements(object(status, "status")?, datatype, count)?
    }
    call MPI_Test_cancelled(status: *const MPI_Status, flag: *mut c_int) [] {
        let (from, flag) = (object(status.cast_mut(), "status")?, place(flag, "flag")?);
        flag.set(status::is_cancelled(from).into())
    }
    call MPI_Status_set_cancelled(status: *mut MPI_Status, flag: c_int) [] {
        status::set_cancelled(object(status, "status")?, flag != 0)
    }
    call MPI_Status_get_source(status: *const MPI_Status, source: *mut c_int) [] {
        place(source, "source")?.set(object(status.cast_mut(), "status")?.MPI_SOURCE)
    }
    call MPI_Status_get_tag(status: *const MPI_Status, tag: *mut c_int) [] {
        place(tag, "tag")?.set(object(status.cast_mut(), "status")?.MPI_TAG)
    }
    call MPI_Status_get_error(status: *const MPI_Status, error: *mut c_int) [] {
        place(error, "error")?.set(object(status.cast_mut(), "status")?.MPI_ERROR)
    }
    call MPI_Status_set_source(status: *mut MPI_Status, source: c_int) [] {
        object(status, "status")?.MPI_SOURCE = source
    }
    call MPI_Status_set_tag(status: *mut MPI_Status, tag: c_int) [] {
        object(status, "status")?.MPI_TAG = tag
    }
    call MPI_Status_set_error(status: *mut MPI_Status, error: c_int) [] {
        object(status, "status")?.MPI_ERROR = error
    }
}
