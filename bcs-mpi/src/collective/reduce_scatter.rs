//! MPI_Reduce_scatter and MPI_Reduce_scatter_block (MPI-5.0, §6.10): the shares of the members.

use super::buffers::Numbers;
use crate::datatype::buffer::Names;
use crate::error::{MpiError, MpiResult, Problem};

pub(super) const SEND: Names = ["sendbuf", "recvcounts", "datatype"];
pub(super) const RECEIVE: Names = ["recvbuf", "recvcount", "datatype"];

/// Elements that each member gets.
#[derive(Clone, Copy, Debug)]
pub enum Shares {
    /// MPI_Reduce_scatter_block: as many for each.
    Equal(i64),
    /// MPI_Reduce_scatter: an array of as many numbers as there are members.
    Each(Numbers),
}

/// The elements that each of `members` gets, and all of them.
///
/// # Safety
/// An array must be null or have as many numbers.
///
/// # Errors
/// No array, or a negative number.
pub(super) unsafe fn shares_of(shares: &Shares, members: usize) -> MpiResult<(Vec<usize>, i64)> {
    let counts: Vec<i64> = match *shares {
        Shares::Equal(count) => vec![count; members],
        Shares::Each(numbers) if numbers.is_null() => {
            return Err(MpiError::new(Problem::NullResult { argument: "recvcounts" }));
        }
        // SAFETY: the caller's promise.
        Shares::Each(numbers) => (0..members).map(|i| unsafe { numbers.at(i) }).collect(),
    };
    if let Some(&value) = counts.iter().find(|count| **count < 0) {
        let allowed = "it must not be negative";
        return Err(MpiError::new(Problem::Count { argument: "recvcounts", value, allowed }));
    }
    let total = counts.iter().fold(0i64, |total, count| total.saturating_add(*count));
    Ok((counts.into_iter().map(|count| count as usize).collect(), total))
}
