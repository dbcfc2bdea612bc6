//! Chapter 17: functions of MPI-1 that MPI-3.0 has removed, for programs that were written for them.

use crate::edge::{callback, numbers, wide};
use bcs_mpi::datatype;
use bcs_mpi::datatype::construct::{Constructor, Unit, create, create_marked_struct};
use bcs_mpi::environment::error_handlers;
use bcs_mpi::error::Owner;
use bcs_mpi::object::error_handler::{self, HandlerFunction};

answers! {
    MPI_Address(location) -> address [] = Ok(location.addr() as MPI_Aint);
    MPI_Type_hvector(count, blocklength, stride, oldtype) -> newtype [] = create(
        false,
        Constructor::Vector {
            count: wide(count), blocklength: wide(blocklength), stride: wide(stride), unit: Unit::Bytes,
        },
        ("oldtype", &[oldtype]),
    );
    MPI_Type_hindexed(
        count, array_of_blocklengths: [mut count], array_of_displacements: [mut count], oldtype
    ) -> newtype [] = create(
        false,
        Constructor::Indexed {
            blocklengths: numbers(array_of_blocklengths),
            displacements: numbers(array_of_displacements),
            unit: Unit::Bytes,
        },
        ("oldtype", &[oldtype]),
    );
    MPI_Type_struct(
        count, array_of_blocklengths: [mut count], array_of_displacements: [mut count],
        array_of_types: [mut count]
    ) -> newtype [] = create_marked_struct(
        numbers(array_of_blocklengths),
        numbers(array_of_displacements),
        ("array_of_types", array_of_types),
    );
    MPI_Type_extent(datatype) -> extent [] =
        datatype::extent(datatype).map(|(_, extent)| extent as MPI_Aint);
    MPI_Type_lb(datatype) -> displacement [] = datatype::extent(datatype).map(|(lb, _)| lb as MPI_Aint);
    MPI_Type_ub(datatype) -> displacement [] =
        datatype::extent(datatype).map(|(lb, extent)| (lb + extent) as MPI_Aint);
    MPI_Errhandler_set(comm, errhandler) [on comm] =
        error_handlers::set(Owner::Communicator(comm), errhandler);
    MPI_Errhandler_get(comm) -> errhandler [on comm] = error_handlers::get(Owner::Communicator(comm));
}

calls! {
    MPI_Errhandler_create(function, errhandler: OUT) [] {
        let function = HandlerFunction::Communicator(callback(function, "function")?);
        errhandler.set(error_handler::create(function))
    }
}
