//! Chapter 15: the tool interface, of a library that offers no variables, categories and events.

use bcs_mpi::constants::*;
use bcs_mpi::environment::tools;
use std::ffi::c_int;

/// Functions that tell of how many things there are: none.
macro_rules! none {
    ($($name:ident($number:ident))*) => { calls! { $(
        plain $name($number: *mut c_int) -> c_int {
            // SAFETY: null, or a place of the program's.
            tools::none(unsafe { $number.as_mut() })
        }
    )* } };
}

none! {
    MPI_T_cvar_get_num(num_cvar)
    MPI_T_pvar_get_num(num_pvar)
    MPI_T_category_get_num(num_cat)
    MPI_T_event_get_num(num_events)
    MPI_T_source_get_num(num_sources)
    MPI_T_category_changed(update_number)
}

calls! {
    plain MPI_T_init_thread(required: c_int, provided: *mut c_int) -> c_int {
        // SAFETY: null, or a place of the program's.
        tools::init(required, unsafe { provided.as_mut() })
    }
    plain MPI_T_finalize() -> c_int {
        tools::finalize()
    }
    plain MPI_T_pvar_session_create(session: *mut MPI_T_pvar_session) -> c_int {
        // SAFETY: null, or a place of the program's.
        tools::create_session(unsafe { session.as_mut() })
    }
    plain MPI_T_pvar_session_free(session: *mut MPI_T_pvar_session) -> c_int {
        // SAFETY: null, or the program's session.
        tools::free_session(unsafe { session.as_mut() })
    }
}
