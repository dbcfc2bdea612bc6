//! The constructors of parts of arrays: arguments of MPI_Type_create_subarray and MPI_Type_create_darray (MPI-5.0, §5.1.3, §5.1.4).

use super::{component, make, wrong_element};
use crate::constants::*;
use crate::datatype::constructor::Constructor;
use crate::datatype::darray::Darray;
use crate::datatype::subarray::Subarray;
use crate::error::{MpiError, MpiResult};
use crate::process;
use std::ffi::c_int;

/// Whether an array is in the order of Fortran.
fn is_fortran(order: c_int) -> MpiResult<bool> {
    match order {
        MPI_ORDER_C => Ok(false),
        MPI_ORDER_FORTRAN => Ok(true),
        _ => {
            let allowed = "it must be MPI_ORDER_C or MPI_ORDER_FORTRAN";
            Err(MpiError::argument(MPI_ERR_ARG, "order", order, allowed))
        }
    }
}

/// MPI_Type_create_subarray. The three arrays have one length, which is the number of dimensions.
///
/// # Errors
/// Wrong arguments, or a type that is too large.
pub fn create_subarray(
    large: bool,
    sizes: Box<[i64]>,
    subsizes: Box<[i64]>,
    starts: Box<[i64]>,
    order: c_int,
    oldtype: MPI_Datatype,
) -> MpiResult<MPI_Datatype> {
    let mut process = process::enter()?;
    at_least_one("ndims", sizes.len() as i64)?;
    for (i, &size) in sizes.iter().enumerate() {
        if size < 1 {
            return Err(wrong_element("array_of_sizes", i, size, "it must be at least 1"));
        }
        if subsizes[i] < 1 || subsizes[i] > size {
            let allowed = format!("it must be 1 to {size}, the size of that dimension");
            return Err(wrong_element("array_of_subsizes", i, subsizes[i], &allowed));
        }
        if starts[i] < 0 || starts[i] > size - subsizes[i] {
            let allowed =
                format!("it must be 0 to {}, so that the part ends in the array", size - subsizes[i]);
            return Err(wrong_element("array_of_starts", i, starts[i], &allowed));
        }
    }
    let fortran = is_fortran(order)?;
    let of = component(&process, "oldtype", oldtype)?;
    make(&mut process, Constructor::Subarray(Subarray { sizes, subsizes, starts, fortran, of }), large)
}

fn at_least_one(argument: &'static str, value: i64) -> MpiResult {
    if value < 1 {
        return Err(MpiError::argument(MPI_ERR_ARG, argument, value, "it must be at least 1"));
    }
    Ok(())
}

/// How an array is distributed: the arguments of MPI_Type_create_darray, by dimension.
pub struct Distribution<'a> {
    /// Elements of the array.
    pub gsizes: Box<[i64]>,
    /// How each dimension is distributed.
    pub distribs: &'a [c_int],
    /// Elements of a block, or MPI_DISTRIBUTE_DFLT_DARG.
    pub dargs: &'a [c_int],
    /// Processes.
    pub psizes: &'a [c_int],
}

impl Distribution<'_> {
    fn check(&self, size: c_int) -> MpiResult {
        let mut processes = 1i64;
        for (i, &gsize) in self.gsizes.iter().enumerate() {
            let (distrib, darg, psize) = (self.distribs[i], self.dargs[i], self.psizes[i]);
            if gsize < 1 {
                return Err(wrong_element("array_of_gsizes", i, gsize, "it must be at least 1"));
            }
            if psize < 1 {
                return Err(wrong_element("array_of_psizes", i, psize.into(), "it must be at least 1"));
            }
            if darg < 1 && darg != MPI_DISTRIBUTE_DFLT_DARG {
                let allowed = "it must be at least 1, or MPI_DISTRIBUTE_DFLT_DARG";
                return Err(wrong_element("array_of_dargs", i, darg.into(), allowed));
            }
            match distrib {
                MPI_DISTRIBUTE_NONE if psize != 1 => {
                    let allowed = "it must be 1 in a dimension that is not distributed";
                    return Err(wrong_element("array_of_psizes", i, psize.into(), allowed));
                }
                MPI_DISTRIBUTE_BLOCK
                    if darg != MPI_DISTRIBUTE_DFLT_DARG && i64::from(darg) * i64::from(psize) < gsize =>
                {
                    let allowed = format!(
                        "{psize} blocks of it must have room for the {gsize} elements of that dimension"
                    );
                    return Err(wrong_element("array_of_dargs", i, darg.into(), &allowed));
                }
                MPI_DISTRIBUTE_NONE | MPI_DISTRIBUTE_BLOCK | MPI_DISTRIBUTE_CYCLIC => {}
                _ => {
                    let allowed = "it must be MPI_DISTRIBUTE_BLOCK, _CYCLIC or _NONE";
                    return Err(wrong_element("array_of_distribs", i, distrib.into(), allowed));
                }
            }
            processes = processes.saturating_mul(psize.into());
        }
        if processes != i64::from(size) {
            let allowed = format!("the grid of array_of_psizes has {processes} processes");
            return Err(MpiError::argument(MPI_ERR_ARG, "size", size, allowed));
        }
        Ok(())
    }
}

/// MPI_Type_create_darray. The arrays have one length, which is the number of dimensions.
///
/// # Errors
/// Wrong arguments, or a type that is too large.
pub fn create_darray(
    large: bool,
    size: c_int,
    rank: c_int,
    distribution: Distribution<'_>,
    order: c_int,
    oldtype: MPI_Datatype,
) -> MpiResult<MPI_Datatype> {
    let mut process = process::enter()?;
    at_least_one("size", size.into())?;
    if rank < 0 || rank >= size {
        let allowed = format!("it must be 0 to {}", size - 1);
        return Err(MpiError::argument(MPI_ERR_ARG, "rank", rank, allowed));
    }
    at_least_one("ndims", distribution.gsizes.len() as i64)?;
    distribution.check(size)?;
    let fortran = is_fortran(order)?;
    let of = component(&process, "oldtype", oldtype)?;
    let Distribution { gsizes, distribs, dargs, psizes } = distribution;
    let (distribs, dargs, psizes) = (distribs.into(), dargs.into(), psizes.into());
    let darray = Darray { size, rank, gsizes, distribs, dargs, psizes, fortran, of };
    make(&mut process, Constructor::Darray(darray), large)
}
