//! Chapter 5: packing.

use crate::edge::{narrow, object, place, string, wide};
use bcs_mpi::constants::*;
use bcs_mpi::datatype::pack::{self, Packed, Representation};
use std::ffi::{c_char, c_void};

calls! {
    twin MPI_Pack(
        inbuf: *const c_void, incount: COUNT, datatype: MPI_Datatype, outbuf: *mut c_void, outsize: COUNT,
        position: *mut COUNT, comm: MPI_Comm,
    ) [on comm] {
        let position = object(position, "position")?;
        let to = Packed { buffer: outbuf, size: wide(outsize), position: wide(*position) };
        *position = pack::pack(Representation::Native(comm), inbuf, wide(incount), datatype, to)? as COUNT
    }
    twin MPI_Unpack(
        inbuf: *const c_void, insize: COUNT, position: *mut COUNT, outbuf: *mut c_void, outcount: COUNT,
        datatype: MPI_Datatype, comm: MPI_Comm,
    ) [on comm] {
        let position = object(position, "position")?;
        let from = Packed { buffer: inbuf.cast_mut(), size: wide(insize), position: wide(*position) };
        *position = pack::unpack(Representation::Native(comm), from, outbuf, wide(outcount), datatype)? as COUNT
    }
    twin MPI_Pack_size(incount: COUNT, datatype: MPI_Datatype, comm: MPI_Comm, size: *mut COUNT) [on comm] {
        let size = place(size, "size")?;
        size.set(narrow(Some(pack::size(Representation::Native(comm), wide(incount), datatype)? as u64)))
    }
    twin MPI_Pack_external(
        datarep: *const c_char, inbuf: *const c_void, incount: COUNT, datatype: MPI_Datatype, outbuf: *mut c_void,
        outsize: ADDR, position: *mut ADDR,
    ) [] {
        let (datarep, position) = (string(datarep, "datarep", MPI_ERR_ARG)?, object(position, "position")?);
        let to = Packed { buffer: outbuf, size: wide(outsize), position: wide(*position) };
        *position = pack::pack(Representation::Named(&datarep), inbuf, wide(incount), datatype, to)? as ADDR
    }
    twin MPI_Unpack_external(
        datarep: *const c_char, inbuf: *const c_void, insize: ADDR, position: *mut ADDR, outbuf: *mut c_void,
        outcount: COUNT, datatype: MPI_Datatype,
    ) [] {
        let (datarep, position) = (string(datarep, "datarep", MPI_ERR_ARG)?, object(position, "position")?);
        let from = Packed { buffer: inbuf.cast_mut(), size: wide(insize), position: wide(*position) };
        *position = pack::unpack(Representation::Named(&datarep), from, outbuf, wide(outcount), datatype)? as ADDR
    }
    twin MPI_Pack_external_size(
        datarep: *const c_char, incount: COUNT, datatype: MPI_Datatype, size: *mut ADDR,
    ) [] {
        let (datarep, size) = (string(datarep, "datarep", MPI_ERR_ARG)?, place(size, "size")?);
        size.set(pack::size(Representation::Named(&datarep), wide(incount), datatype)? as ADDR)
    }
}
