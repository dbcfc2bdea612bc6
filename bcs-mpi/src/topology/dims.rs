//! MPI_Dims_create: a balanced grid for so many processes (MPI-5.0, §8.5.2): dimensions as close to each
//! other as possible.
//!
//! Of all grids the one whose largest and smallest dimension differ least; of those, the one whose largest
//! dimension is smallest, then the next largest, and so on. For each smallest dimension in turn, from the
//! root downwards, the best grid is found by trying divisors from the root upwards, until no smaller one can
//! differ less; what cannot be divided so is remembered, so nothing is tried twice.

use crate::constants::*;
use crate::error::{MpiError, MpiResult};
use std::collections::HashMap;
use std::ffi::c_int;
use std::ops::RangeInclusive;

/// The divisors of a number, in order.
fn divisors(number: u32) -> Vec<u32> {
    let small: Vec<u32> =
        (1..).take_while(|d| d * d <= number).filter(|&d| number.is_multiple_of(d)).collect();
    let large = small.iter().rev().map(|d| number / d).filter(|&d| d > number / d);
    small.iter().copied().chain(large).collect()
}

/// Grids of dimensions that are all at least so large.
struct Search<'a> {
    divisors: &'a [u32],
    least: u32,
    /// What is known to have no grid: by number and dimensions, with none above this.
    failed: HashMap<(u32, usize), u32>,
}

/// Whether numbers that lie in the range can have this product, if any numbers can.
fn may_be_product(number: u32, count: usize, range: RangeInclusive<u32>) -> bool {
    let power = |of: u32| (of as u64).checked_pow(count as u32).unwrap_or(u64::MAX);
    (power(*range.start())..=power(*range.end())).contains(&(number as u64))
}

impl Search<'_> {
    /// Appends `count` factors of `number`, none above `most`, largest first.
    fn factors(&mut self, number: u32, count: usize, most: u32, into: &mut Vec<u32>) -> bool {
        if count == 0 {
            return number == 1;
        }
        let known = self.failed.get(&(number, count)).is_some_and(|&failed| most <= failed);
        if known || !may_be_product(number, count, self.least..=most) {
            return false;
        }
        for &d in self.divisors {
            if d > most {
                break;
            }
            if d < self.least || !number.is_multiple_of(d) || !may_be_product(number, count, 1..=d) {
                continue;
            }
            let before = into.len();
            into.push(d);
            if self.factors(number / d, count - 1, d, into) {
                return true;
            }
            into.truncate(before);
        }
        self.failed.insert((number, count), most);
        false
    }
}

/// `count` dimensions for so many processes, largest first.
fn balanced(number: u32, count: usize) -> Vec<u32> {
    if count == 0 {
        return Vec::new();
    }
    let divisors = divisors(number);
    let mut best: Option<(u32, Vec<u32>)> = None;
    for &least in divisors.iter().rev().filter(|&&d| may_be_product(number, count, d..=number)) {
        // A grid that differs as little is better still if its largest dimension is smaller, as it is with a
        // smaller smallest one.
        let most = best.as_ref().map_or(number, |(spread, _)| least.saturating_add(*spread));
        if !may_be_product(number, count, least..=most) {
            break;
        }
        let mut dims = Vec::with_capacity(count);
        let mut search = Search { divisors: &divisors, least, failed: HashMap::new() };
        if search.factors(number, count, most, &mut dims) {
            let spread = dims[0] - dims[count - 1];
            if best.as_ref().is_none_or(|(known, of)| (spread, dims[0]) < (*known, of[0])) {
                best = Some((spread, dims));
            }
        }
    }
    best.map_or_else(Vec::new, |(_, dims)| dims)
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

    /// All grids, largest dimension first.
    fn grids(number: u32, count: usize, most: u32) -> Vec<Vec<u32>> {
        if count == 0 {
            return if number == 1 { vec![Vec::new()] } else { Vec::new() };
        }
        let divisors = (1..=number.min(most)).filter(|&d| number.is_multiple_of(d));
        let with = |d| grids(number / d, count - 1, d).into_iter().map(move |rest| [vec![d], rest].concat());
        divisors.flat_map(with).collect()
    }

    /// The best grid, found by trying all.
    fn by_trying(number: u32, count: usize) -> Option<Vec<u32>> {
        grids(number, count, number).into_iter().min_by_key(|dims| (dims[0] - dims[count - 1], dims.clone()))
    }

    const HARD: [u32; 6] =
        [2_095_133_040, 1 << 30, 1_396_755_360, 2_147_483_647, 1_162_261_467, 2_147_395_600];

    proptest! {
        #[test]
        fn no_grid_is_better_balanced(number in 1u32..800, count in 1usize..6) {
            prop_assert_eq!(Some(balanced(number, count)), by_trying(number, count));
        }

        // Numbers with many divisors, and with few, are the hard ones.
        #[test]
        fn large_numbers_have_a_grid_of_their_size(
            number in prop_oneof![1u32..=i32::MAX as u32, prop::sample::select(&HARD[..])],
            count in 1usize..=20,
        ) {
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
        assert_eq!(create(7488, [0, 0, 0]), Ok([26, 18, 16]));
        assert_eq!(create(12, [0, 3, 0]), Ok([2, 3, 2]));
        assert_eq!(create(7, [0, 0, 0]), Ok([7, 1, 1]));
        assert_eq!(create(6, [1, 2, 3]), Ok([1, 2, 3]));
        assert_eq!(create(7, [1, 2, 3]), Err(MPI_ERR_DIMS));
        assert_eq!(create(7, [0, 2, 0]), Err(MPI_ERR_DIMS));
        assert_eq!(create(7, [0, -2, 0]), Err(MPI_ERR_DIMS));
        assert_eq!(create(0, [0, 0, 0]), Err(MPI_ERR_ARG));
    }
}
