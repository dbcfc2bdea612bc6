//! Attributes of communicators (MPI-5.0, §7.7.2), and the predefined ones (§9.1.2). The rules are those
//! of all objects: [`crate::attributes`].

use crate::attributes::Attributed;
use crate::constants::*;
use crate::error::MpiResult;
use crate::error::codes::codes;
use crate::object::attributes::{Attributes, Keys};
use crate::process::Process;
use std::ffi::{c_int, c_void};

impl Attributed for MPI_Comm {
    const KEYVAL: &'static str = "comm_keyval";
    const MAKER: &'static str = "MPI_Comm_create_keyval";

    fn attributes(self, process: &mut Process) -> MpiResult<&mut Attributes> {
        Ok(&mut process.communicator_mut(self)?.attributes)
    }

    fn keys(process: &mut Process) -> &mut Keys {
        &mut process.communicators.keys
    }

    fn predefined(self, process: &Process, key: c_int) -> Option<Option<*mut c_void>> {
        static TAG_UB: c_int = c_int::MAX;
        static ANYBODY: c_int = MPI_ANY_SOURCE;
        static NOBODY: c_int = MPI_PROC_NULL;
        static NO: c_int = 0;
        static YES: c_int = 1;
        let of = |int: &c_int| Some(std::ptr::from_ref(int).cast_mut().cast());
        Some(match key {
            MPI_TAG_UB => of(&TAG_UB),
            MPI_IO => of(&ANYBODY),
            MPI_HOST => of(&NOBODY),
            // One node, one clock.
            MPI_WTIME_IS_GLOBAL if process.port.memory().node().1 > 1 => of(&NO),
            MPI_WTIME_IS_GLOBAL => of(&YES),
            MPI_APPNUM => process.place.appnum.as_ref().and_then(of),
            MPI_UNIVERSE_SIZE => process.place.universe_size.as_ref().and_then(of),
            MPI_LASTUSEDCODE => of(&codes().last_used),
            _ => return None,
        })
    }
}
