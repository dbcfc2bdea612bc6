//! Chapter 11: sessions.

use crate::edge::{check_length, handle, object, place, store_string, string};
use bcs_mpi::constants::*;
use bcs_mpi::environment::session;
use bcs_mpi::object::error_handler::heard_by;
use std::ffi::{c_char, c_int};

calls! {
    call MPI_Session_init(info: MPI_Info, errhandler: MPI_Errhandler, session: *mut MPI_Session) [] {
        crate::edge::install_panic_hook();
        heard_by(errhandler, MPI_SESSION_NULL, || {
            handle(session, "session")?.set(session::init(info, errhandler)?);
            Ok(())
        })?
    }
    call MPI_Session_finalize(session: *mut MPI_Session) [time SessionFinalize(0)] {
        let session = object(session, "session")?;
        let named = *session;
        session::finalize(session).map_err(|error| error.of(named))?
    }
    call MPI_Session_get_info(session: MPI_Session, info_used: *mut MPI_Info) [on session] {
        handle(info_used, "info_used")?.set(session::hints(session)?)
    }
    call MPI_Session_get_num_psets(
        session: MPI_Session, info: MPI_Info, npset_names: *mut c_int,
    ) [on session] {
        place(npset_names, "npset_names")?.set(session::process_sets(session, info)?)
    }
    call MPI_Session_get_nth_pset(
        session: MPI_Session, info: MPI_Info, n: c_int, pset_len: *mut c_int, pset_name: *mut c_char,
    ) [on session] {
        let length = object(pset_len, "pset_len")?;
        check_length("pset_len", *length)?;
        let name = session::nth_process_set(session, info, n)?;
        if *length > 0 {
            object(pset_name, "pset_name")?;
            store_string(name, pset_name, *length as usize);
        }
        *length = name.len() as c_int + 1
    }
    call MPI_Session_get_pset_info(
        session: MPI_Session, pset_name: *const c_char, info: *mut MPI_Info,
    ) [on session] {
        let info = handle(info, "info")?;
        info.set(session::process_set_info(session, &string(pset_name, "pset_name", MPI_ERR_ARG)?)?)
    }
    call MPI_Group_from_session_pset(
        session: MPI_Session, pset_name: *const c_char, newgroup: *mut MPI_Group,
    ) [on session] {
        let newgroup = handle(newgroup, "newgroup")?;
        newgroup.set(session::group(session, &string(pset_name, "pset_name", MPI_ERR_ARG)?)?)
    }
}
