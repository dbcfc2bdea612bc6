//! Chapter 15: the tool interface, of a library that offers no variables, categories and events.

use bcs_mpi::environment::tools;

/// Functions that tell of how many things there are: none.
macro_rules! none {
    ($($name:ident($number:ident))*) => { calls! { $(
        $name($number) [plain] {
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
    MPI_T_init_thread(required, provided) [plain] {
        // SAFETY: null, or a place of the program's.
        tools::init(required, unsafe { provided.as_mut() })
    }
    MPI_T_finalize() [plain] {
        tools::finalize()
    }
    MPI_T_pvar_session_create(session) [plain] {
        // SAFETY: null, or a place of the program's.
        tools::create_session(unsafe { session.as_mut() })
    }
    MPI_T_pvar_session_free(session) [plain] {
        // SAFETY: null, or the program's session.
        tools::free_session(unsafe { session.as_mut() })
    }
}
