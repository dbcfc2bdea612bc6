//! MPI_Dims_create: a balanced grid for so many processes (MPI-5.0, §8.5.2).
//!
//! Of all grids the one whose largest dimension is smallest, then the next largest, and so on. It is found by trying divisors from the root upwards; what
//! cannot be divided so is remembered, so nothing is tried twice.

use crate::constants::*;
use crate::error::{MpiError, MpiResult};
use std::collections::HashSet;
use std::ffi::c_int;

/// The divisors of a number, in order.
fn divisors(number: u32) -> Vec<u32> {
    let small: Vec<u32> =
        (1..).take_while(|d| d * d <= number).filter(|&d| number.is_multiple_of(d)).collect();
    let large = small.iter().rev().map(|d| number / d).filter(|&d| d > number / d);
    small.iter().copied().chain(large).collect()
}

/// Appends `count` factors of `number`, none above `most`, largest first.
fn factors(
    number: u32,
    count: usize,
    most: u32,
    divisors: &[u32],
    into: &mut Vec<u32>,
    failed: &mut HashSet<(u32, usize, u32)>,
) -> bool {
    if count == 0 {
        return number == 1;
    }
    if number == 1 {
        into.extend(std::iter::repeat_n(1, count));
        return true;
    }
    if failed.contains(&(number, count, most)) {
        return false;
    }
    let enough = |d: u32| (d as u64).checked_pow(count as u32).is_none_or(|all| all >= number as u64);
    let fits = divisors.iter().copied().filter(|&d| d <= most && number.is_multiple_of(d) && enough(d));
    for d in fits {
        let before = into.len();
        into.push(d);
        if factors(number / d, count - 1, d, divisors, into, failed) {
            return true;
        }
        into.truncate(before);
    }
    failed.insert((number, count, most));
    false
}

/// `count` dimensions for so many processes, largest first.
fn balanced(number: u32, count: usize) -> Vec<u32> {
    let mut dims = Vec::with_capacity(count);
    factors(number, count, number, &divisors(number), &mut dims, &mut HashSet::new());
    dims
}

/// MPI_Dims_create: fills in the dimensions that are 0.
///
/// # Errors
/// No processes, a negative dimension, or given dimensions that do not divide the number of processes.
pub fn dims_create(nnodes: c_int, dims: &mut [c_int]) -> MpiResult {
    if nnodes <= 0 {
        return Err(MpiError::argument(MPI_ERR_ARG, "nnodes", nnodes, "it must be 1 or more"));
    }
    let mut given: i64 = 1;
    for &dim in &*dims {
        if dim < 0 {
            return Err(MpiError::argument(MPI_ERR_DIMS, "dims", dim, "dimensions must not be negative"));
        }
        given = given.saturating_mul(dim.max(1) as i64);
    }
    let free = dims.iter().filter(|&&dim| dim == 0).count();
    if dims.is_empty() {
        return Ok(());
    }
    if nnodes as i64 % given != 0 || (free == 0 && given != nnodes as i64) {
        let allowed = format!("their product has to divide 'nnodes' ({nnodes}), or be it where none is 0");
        return Err(MpiError::argument(MPI_ERR_DIMS, "dims", format!("{given} in all"), allowed));
    }
    let mut balanced = balanced((nnodes as i64 / given) as u32, free).into_iter();
    for (dim, new) in dims.iter_mut().filter(|dim| **dim == 0).zip(&mut balanced) {
        *dim = new as c_int;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The best grid, found by trying all.
    fn by_trying(number: u32, count: usize, most: u32) -> Option<Vec<u32>> {
        if count == 0 {
            return (number == 1).then(Vec::new);
        }
        (1..=number.min(most)).filter(|&d| number.is_multiple_of(d)).find_map(|d| {
            let mut rest = by_trying(number / d, count - 1, d)?;
            rest.insert(0, d);
            Some(rest)
        })
    }

    proptest! {
        #[test]
        fn no_grid_is_better_balanced(number in 1u32..400, count in 1usize..5) {
            prop_assert_eq!(balanced(number, count), by_trying(number, count, number).unwrap());
        }

        #[test]
        fn large_numbers_have_a_grid_of_their_size(number in 1u32..=i32::MAX as u32, count in 1usize..12) {
            let dims = balanced(number, count);
            prop_assert_eq!(dims.iter().map(|&d| d as u64).product::<u64>(), number as u64);
            prop_assert!(dims.is_sorted_by(|a, b| a >= b) && dims.len() == count);
        }
    }

    #[test]
    fn given_dimensions_stay_and_wrong_ones_are_told() {
        let create = |nnodes, mut dims: [c_int; 3]| {
            dims_create(nnodes, &mut dims).map(|()| dims).map_err(|e| e.class())
        };
        assert_eq!(create(12, [0, 3, 0]), Ok([2, 3, 2]));
        assert_eq!(create(7, [0, 0, 0]), Ok([7, 1, 1]));
        assert_eq!(create(6, [1, 2, 3]), Ok([1, 2, 3]));
        assert_eq!(create(7, [1, 2, 3]), Err(MPI_ERR_DIMS));
        assert_eq!(create(7, [0, 2, 0]), Err(MPI_ERR_DIMS));
        assert_eq!(create(7, [0, -2, 0]), Err(MPI_ERR_DIMS));
        assert_eq!(create(0, [0, 0, 0]), Err(MPI_ERR_ARG));
    }
}
