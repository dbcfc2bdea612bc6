//! Chapter 7: communicators.

use crate::edge::{place, result_string, string};
use bcs_mpi::collective::disconnect::disconnect;
use bcs_mpi::communicator::idup::idup;
use bcs_mpi::communicator::{self, by_group, create, free, hints, inter, split};
use bcs_mpi::object::error_handler::heard_by;
use mds::Primitive;

answers! {
    MPI_Comm_rank(comm) -> rank [on comm] = communicator::rank(comm);
    MPI_Comm_size(comm) -> size [on comm] = communicator::size(comm);
    MPI_Comm_test_inter(comm) -> flag [on comm] = communicator::is_inter(comm);
    MPI_Comm_remote_size(comm) -> size [on comm] = communicator::remote_size(comm);
    MPI_Comm_remote_group(comm) -> group [on comm] = communicator::remote_group(comm);
    MPI_Intercomm_merge(intercomm, high) -> newintracomm [timed(0) on intercomm] =
        inter::merge(intercomm, high != 0);
    MPI_Intercomm_create(local_comm, local_leader, peer_comm, remote_leader, tag) -> newintercomm
        [timed(0) on local_comm] = inter::create(local_comm, local_leader, peer_comm, remote_leader, tag);
    MPI_Comm_compare(comm1, comm2) -> result [on comm1] = communicator::compare(comm1, comm2);
    MPI_Comm_group(comm) -> group [on comm] = communicator::group(comm);
    MPI_Comm_dup(comm) -> newcomm [timed(0) on comm] = create::dup(Primitive::CommDup, comm, MPI_INFO_NULL);
    MPI_Comm_dup_with_info(comm, info) -> newcomm [timed(0) on comm] =
        create::dup(Primitive::CommDupWithInfo, comm, info);
    MPI_Comm_set_info(comm, info) [timed(0) on comm] = hints::set_info(comm, info);
    MPI_Comm_get_info(comm) -> info_used [on comm] = hints::get_info(comm);
    MPI_Comm_split(comm, color, key) -> newcomm [timed(0) on comm] =
        split::split(Primitive::CommSplit, comm, color, key);
    MPI_Comm_split_type(comm, split_type, key, info) -> newcomm [timed(0) on comm] =
        split::split_type(comm, split_type, key, info);
    MPI_Comm_create(comm, group) -> newcomm [timed(0) on comm] = create::create(comm, group);
    MPI_Comm_create_group(comm, group, tag) -> newcomm [timed(0) on comm] =
        by_group::create_group(comm, group, tag);
    MPI_Comm_free(comm: INOUT) [timed(0)] = free::free(comm).map_err(|error| error.of(*comm));
    MPI_Comm_disconnect(comm: INOUT) [timed(0)] = disconnect(comm).map_err(|error| error.of(*comm));
    MPI_Comm_set_name(comm, comm_name: STRING) [on comm] = communicator::set_name(comm, comm_name);
    MPI_Comm_get_name(comm, comm_name, resultlen) [on comm] =
        result_string(comm_name, "comm_name", MPI_MAX_OBJECT_NAME, resultlen, || {
            communicator::get_name(comm)
        });
}

calls! {
    MPI_Intercomm_create_from_groups(
        local_group, local_leader, remote_group, remote_leader, stringtag, info, errhandler, newintercomm,
    ) [timed(0)] {
        heard_by(errhandler, MPI_COMM_NULL, || {
            let newintercomm = place(newintercomm, "newintercomm")?;
            let stringtag = string(stringtag, "stringtag", MPI_ERR_ARG)?;
            let (local, remote) = ((local_group, local_leader), (remote_group, remote_leader));
            newintercomm.set(inter::create_from_groups(local, remote, &stringtag, info, errhandler)?);
            Ok(())
        })?
    }
    MPI_Comm_idup(comm, newcomm: OUT, request: OUT) [timed(0) on comm] {
        let (new, started) = idup(Primitive::CommIdup, comm, MPI_INFO_NULL)?;
        newcomm.set(new);
        request.set(started)
    }
    MPI_Comm_idup_with_info(comm, info, newcomm: OUT, request: OUT) [timed(0) on comm] {
        let (new, started) = idup(Primitive::CommIdupWithInfo, comm, info)?;
        newcomm.set(new);
        request.set(started)
    }
    MPI_Comm_create_from_group(group, stringtag, info, errhandler, newcomm) [timed(0)] {
        heard_by(errhandler, MPI_COMM_NULL, || {
            let newcomm = place(newcomm, "newcomm")?;
            let stringtag = string(stringtag, "stringtag", MPI_ERR_ARG)?;
            newcomm.set(by_group::create_from_group(group, &stringtag, info, errhandler)?);
            Ok(())
        })?
    }
}
