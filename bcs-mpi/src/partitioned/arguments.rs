//! Arguments of partitioned calls, checked.

use crate::constants::*;
use crate::error::{MpiError, MpiResult};
use crate::object::datatype::buffer::{Elements, NAMES, check_count, layout_of, wrong_count};
use crate::object::datatype::{Datatypes, Layout};
use std::ffi::{c_int, c_void};

/// Partitions of a buffer, as a call has them.
#[derive(Clone, Copy, Debug)]
pub struct Partitions<P> {
    /// How many.
    pub partitions: c_int,
    /// The elements of the first one: its address is that of the buffer.
    pub each: Elements<P>,
}

/// Partitions of a buffer, checked.
pub(super) struct Bound {
    /// How many.
    pub(super) partitions: u64,
    /// Bytes of data in each.
    pub(super) partition_bytes: u64,
    /// The buffer's address.
    pub(super) buffer: *mut u8,
    /// Where the data begins if all of it lies together.
    pub(super) together: Option<*mut u8>,
    /// Bytes from the address of a partition to that of the next one.
    pub(super) distance: isize,
    /// Elements of a partition.
    count: i64,
    /// The type of the elements; none of no elements.
    datatype: MPI_Datatype,
}

impl Bound {
    /// Where the data of so many partitions lies, relative to the address of the first of them.
    ///
    /// # Errors
    /// The datatype is gone.
    pub(super) fn layout(&self, datatypes: &Datatypes, partitions: u64) -> MpiResult<Layout> {
        Ok(datatypes.committed(NAMES[2], self.datatype)?.layout(self.count * partitions as i64))
    }

    /// The address of a partition.
    pub(super) fn address(&self, partition: u64) -> *mut u8 {
        self.buffer.wrapping_offset(self.distance * partition as isize)
    }
}

impl<P> Partitions<P> {
    /// Checks all but the peer; `most` are the bytes that a partition may have, and `action` is what is to be
    /// done with the buffer.
    ///
    /// # Errors
    /// Wrong arguments.
    pub(super) fn check(
        &self,
        datatypes: &Datatypes,
        buffer: *mut c_void,
        (most, action): (usize, &'static str),
        peer: c_int,
    ) -> MpiResult<Bound> {
        let Elements { count, datatype, .. } = self.each;
        let Ok(partitions) = u64::try_from(self.partitions) else {
            let allowed = "it must not be negative";
            return Err(MpiError::argument(MPI_ERR_ARG, "partitions", self.partitions, allowed));
        };
        let mut bound = Bound {
            partitions,
            partition_bytes: 0,
            buffer: buffer.cast(),
            together: Some(buffer.cast()),
            distance: 0,
            count,
            datatype,
        };
        // To and from nobody nothing goes, so programs name no datatype.
        if peer == MPI_PROC_NULL && datatype == MPI_DATATYPE_NULL && count == 0 {
            return Ok(bound);
        }
        let of = datatypes.committed(NAMES[2], datatype)?;
        let each = check_count(NAMES[1], of, count)?;
        let all = (partitions as i64).checked_mul(count).filter(|_| each <= most);
        let all = all.ok_or_else(|| wrong_count(NAMES[1], count))?;
        bound.partition_bytes = each as u64;
        let distance = of.extent().checked_mul(count).ok_or_else(|| wrong_count(NAMES[1], count))?;
        bound.distance = distance as isize;
        // SAFETY: the promise of the caller's elements, which are as many a partition.
        let elements = unsafe { Elements::new(buffer.cast_const(), all, datatype) };
        let (layout, _) = layout_of(datatypes, &NAMES, elements, action)?;
        bound.together = layout.as_block().map(|offset| bound.buffer.wrapping_offset(offset));
        Ok(bound)
    }
}

/// The number of a partition of a request that has so many.
///
/// # Errors
/// It has no such partition.
pub(super) fn partition_of(argument: &'static str, value: c_int, partitions: u64) -> MpiResult<u64> {
    match u64::try_from(value) {
        Ok(partition) if partition < partitions => Ok(partition),
        _ => {
            let allowed = match partitions {
                0 => "the request has no partitions".into(),
                _ => format!("the partitions of the request are 0 to {}", partitions - 1),
            };
            Err(MpiError::argument(MPI_ERR_ARG, argument, value, allowed))
        }
    }
}
