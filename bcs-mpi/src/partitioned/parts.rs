//! The calls about parts of a message: the sender says that they are ready, and the receiver asks whether
//! they have arrived (MPI-5.0, §4.2.1, §4.2.2).

use super::arguments::partition_of;
use super::receive::Receiving;
use super::send::{Sending, post};
use crate::constants::*;
use crate::error::{MpiError, MpiResult};
use crate::process::{self, Guard, Process};
use crate::request::persistent::starter;
use std::any::Any;
use std::cell::RefCell;
use std::ffi::c_int;
use std::rc::Rc;

/// The partitioned operation of a request, whose kind is `T`, whether it is active, and its communicator;
/// `noun` is what the request has to be.
///
/// # Errors
/// No such request, or one of another kind: MPI_ERR_ARG where it is the other half of a partitioned
/// operation, which `O` is.
fn partitioned<T: Any, O: Any>(
    process: &mut Process,
    handle: MPI_Request,
    noun: &str,
) -> MpiResult<(Rc<RefCell<T>>, bool, MPI_Comm)> {
    let wrong = |class, value| {
        Err(MpiError::argument(class, "request", value, format!("it has to be one of {noun}")))
    };
    let Some((starter, is_active, comm)) = starter(process, handle)? else {
        return wrong(MPI_ERR_REQUEST, "one of another operation");
    };
    let starter = starter as &dyn Any;
    match starter.downcast_ref::<Rc<RefCell<T>>>() {
        Some(found) => Ok((found.clone(), is_active, comm)),
        None if starter.is::<Rc<RefCell<O>>>() => {
            wrong(MPI_ERR_ARG, "one of the other end").map_err(|error| error.of(comm))
        }
        None => wrong(MPI_ERR_REQUEST, "one of another operation").map_err(|error| error.of(comm)),
    }
}

/// Partitions that `choose` chooses from so many, and which `argument` names, are ready. Where one cannot be,
/// none is.
fn make_ready<I: Iterator<Item = c_int> + Clone>(
    handle: MPI_Request,
    argument: &'static str,
    choose: impl FnOnce(u64) -> MpiResult<I>,
) -> MpiResult {
    let mut process = process::enter()?;
    let noun = "MPI_Psend_init";
    let (sending, is_active, comm) = partitioned::<Sending, Receiving>(&mut process, handle, noun)?;
    if !is_active {
        let allowed = "it has to be active: start it with MPI_Start";
        return Err(MpiError::argument(MPI_ERR_ARG, "request", "inactive", allowed).of(comm));
    }
    let partitions = sending.borrow().partitions();
    let chosen = choose(partitions).map_err(|error| error.of(comm))?;
    for (noted, partition) in chosen.clone().enumerate() {
        let marked = sending.borrow_mut().mark_ready(argument, partition);
        if let Err(error) = marked {
            chosen.take(noted).for_each(|partition| sending.borrow_mut().unmark_ready(partition));
            return Err(error.of(comm));
        }
    }
    for partition in chosen {
        let whole = sending.borrow_mut().count_ready(partition);
        if let Some(unit) = whole {
            post(&mut process, &sending, unit)?;
        }
    }
    Ok(())
}

/// MPI_Pready, MPI_Pready_list: these partitions, which `argument` names, are ready. Where one cannot be,
/// none is.
///
/// # Errors
/// No such request, or one that is inactive or no partitioned send; no such partition, or one that is ready
/// already.
pub fn ready(
    handle: MPI_Request,
    argument: &'static str,
    partitions: impl Iterator<Item = c_int> + Clone,
) -> MpiResult {
    make_ready(handle, argument, |_| Ok(partitions))
}

/// MPI_Pready_range: the partitions from one to another, both of them, are ready.
///
/// # Errors
/// As [`ready`]; the last one is before the first one.
pub fn ready_range(handle: MPI_Request, low: c_int, high: c_int) -> MpiResult {
    make_ready(handle, "partition_low", |partitions| {
        partition_of("partition_low", low, partitions)?;
        partition_of("partition_high", high, partitions)?;
        if low > high {
            let allowed = format!("the range begins with partition {low}");
            return Err(MpiError::argument(MPI_ERR_ARG, "partition_high", high, allowed));
        }
        Ok(low..=high)
    })
}

/// MPI_Parrived: whether a partition has arrived. Of a null request, and of one that is inactive, all have.
///
/// # Errors
/// No such request, or no partitioned receive; no such partition.
pub fn has_arrived(handle: MPI_Request, partition: c_int) -> MpiResult<bool> {
    let mut process = process::enter()?;
    if handle == MPI_REQUEST_NULL {
        return Ok(true);
    }
    let noun = "MPI_Precv_init";
    let (receiving, is_active, comm) = partitioned::<Receiving, Sending>(&mut process, handle, noun)?;
    let partitions = receiving.borrow().partitions();
    let partition = partition_of("partition", partition, partitions).map_err(|error| error.of(comm))?;
    if !is_active {
        return Ok(true);
    }
    let look = |process: &mut Guard| {
        let mut receiving = receiving.borrow_mut();
        receiving.look_at_units(&mut process.port)?;
        Ok(receiving.has_arrived(partition).then_some(()))
    };
    Ok(process.look_twice(look)?.is_some())
}
