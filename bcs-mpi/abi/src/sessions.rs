//! Chapter 11: sessions.

use crate::edge::{check_length, object, place, store_string};
use bcs_mpi::environment::session;
use bcs_mpi::object::error_handler::heard_by;

answers! {
    MPI_Session_get_info(session) -> info_used [on session] = session::hints(session);
    MPI_Session_get_num_psets(session, info) -> npset_names [on session] =
        session::process_sets(session, info);
    MPI_Session_get_pset_info(session, pset_name: STRING) -> info [on session] =
        session::process_set_info(session, &pset_name);
    MPI_Group_from_session_pset(session, pset_name: STRING) -> newgroup [on session] =
        session::group(session, &pset_name);
}

calls! {
    MPI_Session_init(info, errhandler, session) [] {
        crate::edge::install_panic_hook();
        heard_by(errhandler, MPI_SESSION_NULL, || {
            place(session, "session")?.set(session::init(info, errhandler)?);
            Ok(())
        })?
    }
    MPI_Session_finalize(session: INOUT) [timed(0)] {
        let named = *session;
        session::finalize(session).map_err(|error| error.of(named))?
    }
    MPI_Session_get_nth_pset(session, info, n, pset_len: INOUT, pset_name) [on session] {
        check_length("pset_len", *pset_len)?;
        let name = session::nth_process_set(session, info, n)?;
        if *pset_len > 0 {
            store_string(name, object(pset_name, "pset_name")?, *pset_len as usize);
        }
        *pset_len = name.len() as c_int + 1
    }
}
