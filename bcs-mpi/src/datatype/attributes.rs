//! Attributes of datatypes (MPI-5.0, §7.7.4). The rules are those of all objects: [`crate::attributes`].

use crate::attributes::Attributed;
use crate::constants::*;
use crate::error::MpiResult;
use crate::object::attributes::{Attributes, Keys};
use crate::process::Process;

impl Attributed for MPI_Datatype {
    const KEYVAL: &'static str = "type_keyval";
    const MAKER: &'static str = "MPI_Type_create_keyval";

    fn attributes(self, process: &mut Process) -> MpiResult<&mut Attributes> {
        Ok(&mut process.datatypes.labels_mut("datatype", self)?.attributes)
    }

    fn keys(process: &mut Process) -> &mut Keys {
        &mut process.datatypes.keys
    }
}
