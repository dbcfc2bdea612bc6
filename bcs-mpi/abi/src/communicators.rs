//! Chapter 7: communicators.

use crate::edge::{handle, object, place, result_string, string};
use bcs_mpi::collective::disconnect::disconnect;
use bcs_mpi::communicator::idup::idup;
use bcs_mpi::communicator::{self, by_group, create, free, hints, inter, split};
use bcs_mpi::constants::*;
use bcs_mpi::object::error_handler::heard_by;
use mds::Primitive;
use std::ffi::{c_char, c_int};

calls! {
    call MPI_Comm_rank(comm: MPI_Comm, rank: *mut c_int) [on comm] {
        place(rank, "rank")?.set(communicator::rank(comm)?)
    }
    call MPI_Comm_size(comm: MPI_Comm, size: *mut c_int) [on comm] {
        place(size, "size")?.set(communicator::size(comm)?)
    }
    call MPI_Comm_test_inter(comm: MPI_Comm, flag: *mut c_int) [on comm] {
        place(flag, "flag")?.set(communicator::is_inter(comm)?.into())
    }
    call MPI_Comm_remote_size(comm: MPI_Comm, size: *mut c_int) [on comm] {
        place(size, "size")?.set(communicator::remote_size(comm)?)
    }
    call MPI_Comm_remote_group(comm: MPI_Comm, group: *mut MPI_Group) [on comm] {
        handle(group, "group")?.set(communicator::remote_group(comm)?)
    }
    call MPI_Intercomm_create(
        local_comm: MPI_Comm, local_leader: c_int, peer_comm: MPI_Comm, remote_leader: c_int, tag: c_int,
        newintercomm: *mut MPI_Comm,
    ) [time IntercommCreate(0) on local_comm] {
        let newintercomm = handle(newintercomm, "newintercomm")?;
        newintercomm.set(inter::create(local_comm, local_leader, peer_comm, remote_leader, tag)?)
    }
    call MPI_Intercomm_create_from_groups(
        local_group: MPI_Group, local_leader: c_int, remote_group: MPI_Group, remote_leader: c_int,
        stringtag: *const c_char, info: MPI_Info, errhandler: MPI_Errhandler, newintercomm: *mut MPI_Comm,
    ) [time IntercommCreateFromGroups(0)] {
        heard_by(errhandler, MPI_COMM_NULL, || {
            let newintercomm = handle(newintercomm, "newintercomm")?;
            let stringtag = string(stringtag, "stringtag", MPI_ERR_ARG)?;
            let (local, remote) = ((local_group, local_leader), (remote_group, remote_leader));
            newintercomm.set(inter::create_from_groups(local, remote, &stringtag, info, errhandler)?);
            Ok(())
        })?
    }
    call MPI_Intercomm_merge(intercomm: MPI_Comm, high: c_int, newintracomm: *mut MPI_Comm)
    [time IntercommMerge(0) on intercomm] {
        handle(newintracomm, "newintracomm")?.set(inter::merge(intercomm, high != 0)?)
    }
    call MPI_Comm_compare(comm1: MPI_Comm, comm2: MPI_Comm, result: *mut c_int) [on comm1] {
        place(result, "result")?.set(communicator::compare(comm1, comm2)?)
    }
    call MPI_Comm_group(comm: MPI_Comm, group: *mut MPI_Group) [on comm] {
        handle(group, "group")?.set(communicator::group(comm)?)
    }
    call MPI_Comm_dup(comm: MPI_Comm, newcomm: *mut MPI_Comm) [time CommDup(0) on comm] {
        handle(newcomm, "newcomm")?.set(create::dup(Primitive::CommDup, comm, MPI_INFO_NULL)?)
    }
    call MPI_Comm_dup_with_info(comm: MPI_Comm, info: MPI_Info, newcomm: *mut MPI_Comm)
    [time CommDupWithInfo(0) on comm] {
        let newcomm = handle(newcomm, "newcomm")?;
        newcomm.set(create::dup(Primitive::CommDupWithInfo, comm, info)?)
    }
    call MPI_Comm_idup(comm: MPI_Comm, newcomm: *mut MPI_Comm, request: *mut MPI_Request)
    [time CommIdup(0) on comm] {
        let (newcomm, request) = (handle(newcomm, "newcomm"), handle(request, "request"));
        let (newcomm, request) = (newcomm?, request?);
        let (new, started) = idup(Primitive::CommIdup, comm, MPI_INFO_NULL)?;
        newcomm.set(new);
        request.set(started)
    }
    call MPI_Comm_idup_with_info(
        comm: MPI_Comm, info: MPI_Info, newcomm: *mut MPI_Comm, request: *mut MPI_Request,
    )
    [time CommIdupWithInfo(0) on comm] {
        let (newcomm, request) = (handle(newcomm, "newcomm"), handle(request, "request"));
        let (newcomm, request) = (newcomm?, request?);
        let (new, started) = idup(Primitive::CommIdupWithInfo, comm, info)?;
        newcomm.set(new);
        request.set(started)
    }
    call MPI_Comm_set_info(comm: MPI_Comm, info: MPI_Info) [time CommSetInfo(0) on comm] {
        hints::set_info(comm, info)?
    }
    call MPI_Comm_get_info(comm: MPI_Comm, info_used: *mut MPI_Info) [on comm] {
        handle(info_used, "info_used")?.set(hints::get_info(comm)?)
    }
    call MPI_Comm_split(
        comm: MPI_Comm, color: c_int, key: c_int, newcomm: *mut MPI_Comm,
    ) [time CommSplit(0) on comm] {
        handle(newcomm, "newcomm")?.set(split::split(Primitive::CommSplit, comm, color, key)?)
    }
    call MPI_Comm_split_type(
        comm: MPI_Comm, split_type: c_int, key: c_int, info: MPI_Info, newcomm: *mut MPI_Comm,
    )
    [time CommSplitType(0) on comm] {
        let newcomm = handle(newcomm, "newcomm")?;
        newcomm.set(split::split_type(comm, split_type, key, info)?)
    }
    call MPI_Comm_create(
        comm: MPI_Comm, group: MPI_Group, newcomm: *mut MPI_Comm,
    ) [time CommCreate(0) on comm] {
        handle(newcomm, "newcomm")?.set(create::create(comm, group)?)
    }
    call MPI_Comm_create_group(comm: MPI_Comm, group: MPI_Group, tag: c_int, newcomm: *mut MPI_Comm)
    [time CommCreateGroup(0) on comm] {
        handle(newcomm, "newcomm")?.set(by_group::create_group(comm, group, tag)?)
    }
    call MPI_Comm_create_from_group(
        group: MPI_Group, stringtag: *const c_char, info: MPI_Info, errhandler: MPI_Errhandler, newcomm: *mut MPI_Comm,
    ) [time CommCreateFromGroup(0)] {
        heard_by(errhandler, MPI_COMM_NULL, || {
            let newcomm = handle(newcomm, "newcomm")?;
            let stringtag = string(stringtag, "stringtag", MPI_ERR_ARG)?;
            newcomm.set(by_group::create_from_group(group, &stringtag, info, errhandler)?);
            Ok(())
        })?
    }
    call MPI_Comm_free(comm: *mut MPI_Comm) [time CommFree(0)] {
        let comm = object(comm, "comm")?;
        free::free(comm).map_err(|error| error.of(*comm))?
    }
    call MPI_Comm_disconnect(comm: *mut MPI_Comm) [time CommDisconnect(0)] {
        let comm = object(comm, "comm")?;
        disconnect(comm).map_err(|error| error.of(*comm))?
    }
    call MPI_Comm_get_name(comm: MPI_Comm, comm_name: *mut c_char, resultlen: *mut c_int) [on comm] {
        let name = || communicator::get_name(comm);
        result_string(comm_name, "comm_name", MPI_MAX_OBJECT_NAME, resultlen, name)?
    }
    call MPI_Comm_set_name(comm: MPI_Comm, comm_name: *const c_char) [on comm] {
        communicator::set_name(comm, string(comm_name, "comm_name", MPI_ERR_ARG)?)?
    }
}
