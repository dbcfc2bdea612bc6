//! Chapter 5: packing.

use crate::edge::{narrow, wide};
use bcs_mpi::datatype::pack::{self, Packed, Representation};

answers! {
    MPI_Pack_size(incount, datatype, comm) -> size [on comm] =
        pack::size(Representation::Native(comm), wide(incount), datatype)
            .map(|bytes| narrow::<COUNT>(Some(bytes as u64)));
    MPI_Pack_external_size(datarep: STRING, incount, datatype) -> size [] =
        pack::size(Representation::Named(&datarep), wide(incount), datatype).map(|bytes| bytes as ADDR);
}

calls! {
    MPI_Pack(inbuf, incount, datatype, outbuf, outsize, position: INOUT, comm) [on comm] {
        let to = Packed { buffer: outbuf, size: wide(outsize), position: wide(*position) };
        *position = pack::pack(Representation::Native(comm), inbuf, wide(incount), datatype, to)? as COUNT
    }
    MPI_Unpack(inbuf, insize, position: INOUT, outbuf, outcount, datatype, comm) [on comm] {
        let from = Packed { buffer: inbuf.cast_mut(), size: wide(insize), position: wide(*position) };
        let form = Representation::Native(comm);
        *position = pack::unpack(form, from, outbuf, wide(outcount), datatype)? as COUNT
    }
    MPI_Pack_external(datarep: STRING, inbuf, incount, datatype, outbuf, outsize, position: INOUT) [] {
        let to = Packed { buffer: outbuf, size: wide(outsize), position: wide(*position) };
        *position = pack::pack(Representation::Named(&datarep), inbuf, wide(incount), datatype, to)? as ADDR
    }
    MPI_Unpack_external(datarep: STRING, inbuf, insize, position: INOUT, outbuf, outcount, datatype) [] {
        let from = Packed { buffer: inbuf.cast_mut(), size: wide(insize), position: wide(*position) };
        let form = Representation::Named(&datarep);
        *position = pack::unpack(form, from, outbuf, wide(outcount), datatype)? as ADDR
    }
}
