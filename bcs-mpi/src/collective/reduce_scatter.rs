//! MPI_Reduce_scatter and MPI_Reduce_scatter_block (MPI-5.0, §6.10): the shares of the members.

use super::places::{Numbers, check_array};
use crate::error::MpiResult;
use crate::object::datatype::buffer::{Names, wrong_count};
use std::ops::Range;
use std::sync::Arc;

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

/// Which elements each of `members` gets, and how many they are together.
///
/// # Safety
/// An array must be null or have as many numbers.
///
/// # Errors
/// No array, or a negative number.
pub(super) unsafe fn shares_of(shares: &Shares, members: usize) -> MpiResult<(Arc<[Range<usize>]>, i64)> {
    check_array(matches!(shares, Shares::Each(numbers) if numbers.is_null()), "recvcounts")?;
    let mut total = 0i64;
    let share = |member| {
        let value = match *shares {
            Shares::Equal(count) => count,
            // SAFETY: the caller's promise.
            Shares::Each(numbers) => unsafe { numbers.at(member) },
        };
        if value < 0 {
            return Err(wrong_count("recvcounts", value));
        }
        let start = total;
        total = total.saturating_add(value);
        Ok(start as usize..total as usize)
    };
    let shares = (0..members).map(share).collect::<MpiResult<_>>()?;
    Ok((shares, total))
}
