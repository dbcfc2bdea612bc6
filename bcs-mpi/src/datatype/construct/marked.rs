//! MPI_Type_struct of MPI-1, with the markers MPI_LB and MPI_UB among its types (MPI-5.0, §17.1; MPI-1.3,
//! §3.12.3).
//!
//! A marker has no data; where it stands is the lower or upper bound of what is made, and of what is made of
//! that. MPI_Type_create_resized came in their place, so a structure with markers becomes a resized structure
//! without: MPI_Type_get_envelope says so. Where there is a marker for one bound only, the other bound is
//! where it would be without, and from then on stays there, too.

use super::{Constructor, check, make};
use crate::constants::*;
use crate::error::{MpiError, MpiResult, Problem};
use crate::object::datatype::typemap::Type;
use crate::process;

/// MPI_LB and MPI_UB in `mpi.h` (`bcs-mpi/abi/table/src/header.rs`): above all constants of the standard ABI,
/// which have ten bits, and below all handles.
const LB: MPI_Datatype = MPI_Datatype(0x401);
const UB: MPI_Datatype = MPI_Datatype(0x402);

/// MPI_Type_struct.
///
/// # Errors
/// Wrong arguments, or a type that is too large.
pub fn create_marked_struct(
    blocklengths: Box<[i64]>,
    displacements: Box<[i64]>,
    (argument, types): (&'static str, &[MPI_Datatype]),
) -> MpiResult<MPI_Datatype> {
    let mut process = process::enter()?;
    let all =
        Constructor::Struct { blocklengths: blocklengths.clone(), displacements: displacements.clone() };
    check(&all)?;
    let (mut lb, mut ub) = (None, None);
    let mut others = (Vec::new(), Vec::new(), Vec::new());
    for ((&of, &length), &displacement) in types.iter().zip(&blocklengths).zip(&displacements) {
        let displacement = Some(displacement);
        match of {
            // Nothing of a marker marks nothing.
            LB | UB if length == 0 => {}
            LB => lb = lb.map_or(displacement, |lb| displacement.min(Some(lb))),
            UB => ub = ub.max(displacement),
            _ => {
                others.0.push(length);
                others.1.extend(displacement);
                others.2.push(process.datatypes.find(argument, of)?.clone());
            }
        }
    }
    let without = Constructor::Struct { blocklengths: others.0.into(), displacements: others.1.into() };
    if lb.is_none() && ub.is_none() {
        return make(&mut process, without, others.2.into(), false);
    }
    let large = |_| MpiError::new(Problem::TypeTooLarge);
    let inner = Type::new(without, others.2.into(), false).map_err(large)?;
    let (own, has_bounds) = ((inner.lb, inner.lb + inner.extent()), inner.has_markers());
    // Bounds that a component has set count as markers do.
    let lb = lb.map_or(own.0, |lb: i64| if has_bounds { lb.min(own.0) } else { lb });
    let ub = ub.map_or(own.1, |ub: i64| if has_bounds { ub.max(own.1) } else { ub });
    let extent = ub.checked_sub(lb).ok_or_else(|| MpiError::new(Problem::TypeTooLarge))?;
    make(&mut process, Constructor::Resized { lb, extent }, [inner].into(), false)
}
