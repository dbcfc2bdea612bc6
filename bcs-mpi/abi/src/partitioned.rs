//! Chapter 4: partitioned communication.

use crate::forms::own;
use bcs_mpi::info;
use bcs_mpi::partitioned::{self, Partitions};

calls! {
    MPI_Psend_init(buf, partitions, count, datatype, dest, tag, comm, info, request: OUT)
    [timed(0) on comm] {
        info::check(info)?;
        let message = Partitions { partitions, each: own(buf, count, datatype) };
        request.set(partitioned::send_init(message, (dest, tag, comm))?)
    }
    MPI_Precv_init(buf, partitions, count, datatype, dest, tag, comm, info, request: OUT)
    [timed(0) on comm] {
        info::check(info)?;
        let room = Partitions { partitions, each: own(buf, count, datatype) };
        request.set(partitioned::receive_init(room, (dest, tag, comm))?)
    }
    MPI_Pready_range(partition_low, partition_high, request) [timed(0)] {
        partitioned::ready_range(request, partition_low, partition_high)?
    }
    MPI_Parrived(request, partition, flag: OUT) [timed(0)] {
        flag.set(partitioned::has_arrived(request, partition)?.into())
    }
}

answers! {
    MPI_Pready(partition, request) [timed(0)] =
        partitioned::ready(request, "partition", std::iter::once(partition));
    MPI_Pready_list(length, array_of_partitions: [length], request) [timed(0)] =
        partitioned::ready(request, "array_of_partitions", array_of_partitions.iter().copied());
}
