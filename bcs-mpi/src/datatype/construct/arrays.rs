//! Arguments of MPI_Type_create_subarray and MPI_Type_create_darray, checked (MPI-5.0, §5.1.3, §5.1.4). The
//! arrays of a call have one length, which is the number of dimensions.

use super::wrong_element;
use crate::constants::*;
use crate::error::{MpiError, MpiResult};
use crate::object::datatype::darray::Darray;
use crate::object::datatype::subarray::Subarray;
use std::ffi::c_int;

fn check_order(order: c_int) -> MpiResult {
    match order {
        MPI_ORDER_C | MPI_ORDER_FORTRAN => Ok(()),
        _ => {
            let allowed = "it must be MPI_ORDER_C or MPI_ORDER_FORTRAN";
            Err(MpiError::argument(MPI_ERR_ARG, "order", order, allowed))
        }
    }
}

fn at_least_one(argument: &'static str, value: i64) -> MpiResult {
    if value < 1 {
        return Err(MpiError::argument(MPI_ERR_ARG, argument, value, "it must be at least 1"));
    }
    Ok(())
}

impl Subarray {
    pub(super) fn check(&self) -> MpiResult {
        let Self { sizes, subsizes, starts, order } = self;
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
        check_order(*order)
    }
}

impl Darray {
    pub(super) fn check(&self) -> MpiResult {
        let Self { size, rank, gsizes, distribs, dargs, psizes, order } = self;
        at_least_one("size", i64::from(*size))?;
        if !(0..*size).contains(rank) {
            let allowed = format!("it must be 0 to {}", size - 1);
            return Err(MpiError::argument(MPI_ERR_ARG, "rank", *rank, allowed));
        }
        at_least_one("ndims", gsizes.len() as i64)?;
        let mut processes = 1i64;
        for (i, &gsize) in gsizes.iter().enumerate() {
            let (distrib, darg, psize) = (distribs[i], dargs[i], psizes[i]);
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
        if processes != i64::from(*size) {
            let allowed = format!("the grid of array_of_psizes has {processes} processes");
            return Err(MpiError::argument(MPI_ERR_ARG, "size", *size, allowed));
        }
        check_order(*order)
    }
}
