//! Placement: what stands for a type can be repeated, shifted and put in sequence.
//!
//! A constructor ([`Constructor::place`](super::constructor::Constructor::place)) places bounds when a type
//! is made, which checks that nothing overflows, and loop programs when it is committed.

use super::flat::{Builder, Node};

/// The type would reach further than a 64-bit address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooLarge;

/// Something that stands for a type and can be placed.
pub trait Placement: Clone {
    /// What collects placements that follow each other.
    type Series: Default;

    /// `count` copies, each `stride` bytes after the other.
    ///
    /// # Errors
    /// It reaches too far.
    fn repeated(self, count: i64, stride: i64) -> Result<Self, TooLarge>;

    /// The same, `by` bytes further.
    ///
    /// # Errors
    /// It reaches too far.
    fn shifted(self, by: i64) -> Result<Self, TooLarge>;

    /// The same with lower and upper bound set by markers.
    fn bounded(self, lb: i64, ub: i64) -> Self;

    /// Adds it at the end of a series.
    ///
    /// # Errors
    /// It all becomes too large.
    fn follow(self, series: &mut Self::Series) -> Result<(), TooLarge>;

    /// What a series is.
    fn of_series(series: Self::Series) -> Self;
}

/// A program, none where there are no bytes. It is made only of types whose bounds have been checked.
impl Placement for Option<Node> {
    type Series = Builder;

    fn repeated(self, count: i64, stride: i64) -> Result<Self, TooLarge> {
        Ok(self.filter(|_| count > 0).map(|node| node.repeated(count, stride)))
    }

    fn shifted(self, by: i64) -> Result<Self, TooLarge> {
        Ok(self.map(|node| node.shifted(by)))
    }

    fn bounded(self, _lb: i64, _ub: i64) -> Self {
        self
    }

    fn follow(self, series: &mut Builder) -> Result<(), TooLarge> {
        if let Some(node) = self {
            series.push(node);
        }
        Ok(())
    }

    fn of_series(series: Builder) -> Self {
        series.finish()
    }
}

/// A product that must fit.
pub(super) fn product(a: i64, b: i64) -> Result<i64, TooLarge> {
    a.checked_mul(b).ok_or(TooLarge)
}

/// A sum that must fit.
pub(super) fn sum(a: i64, b: i64) -> Result<i64, TooLarge> {
    a.checked_add(b).ok_or(TooLarge)
}
