//! Chapter 5: datatypes.

use crate::edge::{narrow, place, result_string};
use bcs_mpi::constants::*;
use bcs_mpi::datatype;
use std::ffi::{c_char, c_int, c_void};

calls! {
    twin MPI_Type_size(datatype: MPI_Datatype, size: *mut COUNT) [] {
        place(size, "size")?.set(narrow(Some(datatype::size(datatype)? as u64)))
    }
    call MPI_Type_size_x(datatype: MPI_Datatype, size: *mut MPI_Count) [] {
        place(size, "size")?.set(datatype::size(datatype)? as MPI_Count)
    }
    twin MPI_Type_get_extent(datatype: MPI_Datatype, lb: *mut ADDR, extent: *mut ADDR) [] {
        let (to_lb, to_extent) = (place(lb, "lb")?, place(extent, "extent")?);
        let (lb, extent) = datatype::extent(datatype)?;
        to_lb.set(lb as ADDR);
        to_extent.set(extent as ADDR)
    }
    call MPI_Type_get_extent_x(datatype: MPI_Datatype, lb: *mut MPI_Count, extent: *mut MPI_Count) [] {
        let (to_lb, to_extent) = (place(lb, "lb")?, place(extent, "extent")?);
        let (lb, extent) = datatype::extent(datatype)?;
        to_lb.set(lb);
        to_extent.set(extent)
    }
    twin MPI_Type_get_true_extent(datatype: MPI_Datatype, true_lb: *mut ADDR, true_extent: *mut ADDR) [] {
        let (to_lb, to_extent) = (place(true_lb, "true_lb")?, place(true_extent, "true_extent")?);
        let (lb, extent) = datatype::true_extent(datatype)?;
        to_lb.set(lb as ADDR);
        to_extent.set(extent as ADDR)
    }
    call MPI_Type_get_true_extent_x(datatype: MPI_Datatype, true_lb: *mut MPI_Count, true_extent: *mut MPI_Count) [] {
        let (to_lb, to_extent) = (place(true_lb, "true_lb")?, place(true_extent, "true_extent")?);
        let (lb, extent) = datatype::true_extent(datatype)?;
        to_lb.set(lb);
        to_extent.set(extent)
    }
    call MPI_Type_get_name(datatype: MPI_Datatype, type_name: *mut c_char, resultlen: *mut c_int) [] {
        let name = || Ok(datatype::name(datatype)?.to_owned());
        result_string(type_name, "type_name", MPI_MAX_OBJECT_NAME, resultlen, name)?
    }
    call MPI_Get_address(location: *const c_void, address: *mut MPI_Aint) [] {
        place(address, "address")?.set(location.addr() as MPI_Aint)
    }
    plain MPI_Aint_add(base: MPI_Aint, disp: MPI_Aint) -> MPI_Aint {
        base.wrapping_add(disp)
    }
    plain MPI_Aint_diff(addr1: MPI_Aint, addr2: MPI_Aint) -> MPI_Aint {
        addr1.wrapping_sub(addr2)
    }
}
