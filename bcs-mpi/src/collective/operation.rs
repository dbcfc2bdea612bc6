//! Operations of the program (MPI-5.0, §6.9.5): made, asked, freed.
//!
//! All operations, commutative or not, are applied in the order of the reduction tree, in which operands
//! of lower ranks are on the left; so a result does not depend on whether an operation says that it
//! commutes.

use crate::constants::*;
use crate::error::{MpiError, MpiResult};
use crate::handle::Table;
use crate::kind::{Kind, Stale};
use crate::lasting::Lasting;
use crate::process;

/// The function of an operation.
#[derive(Clone, Copy, Debug)]
pub enum Function {
    /// With a count of `int`.
    Small(MPI_User_function),
    /// With a large count.
    Large(MPI_User_function_c),
}

/// An operation of the program.
#[derive(Clone, Copy, Debug)]
pub struct UserOperation {
    /// Its function.
    pub function: Function,
    /// Whether it says that it commutes.
    pub commutes: bool,
}

/// Operations of the program.
pub(crate) static OPERATIONS: Lasting<Table<UserOperation>> = Lasting::new(Table::new(Kind::Operation));

/// The operation of a handle.
///
/// # Errors
/// It names none of the program.
pub fn find(op: MPI_Op) -> MpiResult<UserOperation> {
    OPERATIONS.lock().get(op.0).copied().map_err(|why| wrong(op, why))
}

#[cold]
fn wrong(op: MPI_Op, why: Stale) -> MpiError {
    MpiError::handle("op", op.0, Kind::Operation, if op == MPI_OP_NULL { Stale::Null } else { why })
}

/// MPI_Op_create and MPI_Op_create_c.
///
/// # Errors
/// Before MPI_Init and after MPI_Finalize.
pub fn create(function: Function, commutes: bool) -> MpiResult<MPI_Op> {
    process::enter()?;
    Ok(MPI_Op(OPERATIONS.lock().insert(UserOperation { function, commutes })))
}

/// MPI_Op_free: operations under way keep its function.
///
/// # Errors
/// No such operation, or a predefined one.
pub fn free(op: &mut MPI_Op) -> MpiResult {
    process::enter()?;
    if *op != MPI_OP_NULL
        && let Some(predefined) = predefined_operation(*op)
    {
        let allowed = "a predefined operation cannot be freed";
        return Err(MpiError::argument(MPI_ERR_OP, "op", predefined.name, allowed));
    }
    OPERATIONS.lock().remove(op.0).map_err(|why| wrong(*op, why))?;
    *op = MPI_OP_NULL;
    Ok(())
}

/// MPI_Op_commutative: all predefined operations commute but those that take one operand alone.
///
/// # Errors
/// No such operation.
pub fn commutes(op: MPI_Op) -> MpiResult<bool> {
    process::enter()?;
    if op == MPI_OP_NULL {
        return Err(wrong(op, Stale::Null));
    }
    match predefined_operation(op) {
        Some(_) => Ok(op != MPI_REPLACE && op != MPI_NO_OP),
        None => Ok(find(op)?.commutes),
    }
}
