//! What the constructors mean (MPI-5.0, §5.1.2 to §5.1.7): copies of component types, placed.
//!
//! Written once, over anything that can be repeated, shifted and put in sequence: over [`Bounds`](super::bounds::Bounds) when a type is made, which
//! checks that nothing overflows, and over loop programs when it is committed.

use super::constructor::{Constructor, Unit};
use super::darray::place_darray;
use super::flat::{Builder, Node};
use super::subarray::place_subarray;
use super::typemap::Type;
use std::sync::Arc;

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

/// Puts the copies of the components in their places.
///
/// # Errors
/// They reach too far.
pub fn place<P: Placement>(of: &Type, component: &mut dyn FnMut(&Arc<Type>) -> P) -> Result<P, TooLarge> {
    use Constructor as C;
    if let C::Struct { blocklengths, displacements } = of.constructor() {
        let mut series = P::Series::default();
        for ((count, at), of) in blocklengths.iter().zip(displacements).zip(of.components()) {
            if *count > 0 {
                component(of).repeated(*count, of.extent())?.shifted(*at)?.follow(&mut series)?;
            }
        }
        return Ok(P::of_series(series));
    }
    let [only] = of.components() else { unreachable!("a type without components is not placed") };
    let (placed, extent) = (component(only), only.extent());
    let bytes = |unit: &Unit| if *unit == Unit::Bytes { 1 } else { extent };
    match of.constructor() {
        C::Named(_) | C::F90 { .. } | C::Struct { .. } | C::Dup => Ok(placed),
        C::Contiguous { count } => placed.repeated(*count, extent),
        C::Vector { count, blocklength, stride, unit } => {
            // A stride between fewer than two blocks does not matter.
            let stride = if *count > 1 && *blocklength > 0 { product(*stride, bytes(unit))? } else { 0 };
            placed.repeated(*blocklength, extent)?.repeated(*count, stride)
        }
        C::Indexed { blocklengths, displacements, unit } => {
            indexed(&placed, extent, blocklengths.iter().zip(displacements), bytes(unit))
        }
        C::IndexedBlock { blocklength, displacements, unit } => {
            indexed(&placed, extent, displacements.iter().map(|at| (blocklength, at)), bytes(unit))
        }
        C::Subarray(subarray) => place_subarray(subarray, placed, extent),
        C::Darray(darray) => place_darray(darray, placed, extent),
        C::Resized { lb, extent } => Ok(placed.bounded(*lb, sum(*lb, *extent)?)),
    }
}

fn indexed<'a, P: Placement>(
    of: &P,
    extent: i64,
    blocks: impl Iterator<Item = (&'a i64, &'a i64)>,
    unit: i64,
) -> Result<P, TooLarge> {
    let mut series = P::Series::default();
    for (&count, &at) in blocks {
        if count > 0 {
            of.clone().repeated(count, extent)?.shifted(product(at, unit)?)?.follow(&mut series)?;
        }
    }
    Ok(P::of_series(series))
}
