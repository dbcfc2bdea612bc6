//! MAXLOC and MINLOC: an extreme value and the smallest index at which it is (MPI-5.0, §6.9.4).
//!
//! Pairs are laid out as C structs. Fields are read and written one by one, so that padding is untouched.

use std::cmp::Ordering;
use std::marker::PhantomData;
use std::mem::offset_of;

use super::float::{self, Format};
use super::kernel::{Operands, Operation, Reference};
use super::softfloat::{self, Soft};

/// A value with its index, as C lays it out.
#[repr(C)]
struct IndexedValue<V, I> {
    value: V,
    index: I,
}

// The layouts that `ElementType` documents.
const _: () = {
    assert!(
        size_of::<IndexedValue<float::F32, i32>>() == 8
            && offset_of!(IndexedValue<float::F32, i32>, index) == 4
    );
    assert!(
        size_of::<IndexedValue<float::F64, i32>>() == 16
            && offset_of!(IndexedValue<float::F64, i32>, index) == 8
    );
    assert!(size_of::<IndexedValue<i64, i32>>() == 16 && offset_of!(IndexedValue<i64, i32>, index) == 8);
    assert!(size_of::<IndexedValue<i32, i32>>() == 8 && offset_of!(IndexedValue<i32, i32>, index) == 4);
    assert!(size_of::<IndexedValue<i16, i32>>() == 8 && offset_of!(IndexedValue<i16, i32>, index) == 4);
    assert!(size_of::<IndexedValue<float::F32, float::F32>>() == 8);
    assert!(size_of::<IndexedValue<float::F64, float::F64>>() == 16);
};

/// One of maximum and minimum, on values of type `V`.
pub(super) trait Extremum<V> {
    /// The extreme value.
    fn value(left: V, right: V) -> V;
    /// How the values compare: `Greater` if the left one is more extreme; none if one is a NaN.
    fn order(left: V, right: V) -> Option<Ordering>;
}

/// The maximum, natively.
pub(super) struct Maximum;
/// The minimum, natively.
pub(super) struct Minimum;
/// The maximum by the reference.
pub(super) struct SoftMaximum;
/// The minimum by the reference.
pub(super) struct SoftMinimum;

/// IEEE 754's order of values that are no NaN: zeros of both signs are equal.
#[inline(always)]
fn native_order<F: Format>(left: F, right: F) -> Option<Ordering> {
    if left.is_nan() | right.is_nan() {
        None
    } else if left.is_zero() & right.is_zero() {
        Some(Ordering::Equal)
    } else {
        Some(left.key().cmp(&right.key()))
    }
}

impl<F: Format> Extremum<F> for Maximum {
    #[inline(always)]
    fn value(left: F, right: F) -> F {
        float::Max::combine(left, right)
    }
    #[inline(always)]
    fn order(left: F, right: F) -> Option<Ordering> {
        native_order(left, right)
    }
}

impl<F: Format> Extremum<F> for Minimum {
    #[inline(always)]
    fn value(left: F, right: F) -> F {
        float::Min::combine(left, right)
    }
    #[inline(always)]
    fn order(left: F, right: F) -> Option<Ordering> {
        native_order(right, left)
    }
}

impl<F: Soft> Extremum<F> for SoftMaximum {
    fn value(left: F, right: F) -> F {
        float::Max::reference(left, right)
    }
    fn order(left: F, right: F) -> Option<Ordering> {
        softfloat::order(left, right)
    }
}

impl<F: Soft> Extremum<F> for SoftMinimum {
    fn value(left: F, right: F) -> F {
        float::Min::reference(left, right)
    }
    fn order(left: F, right: F) -> Option<Ordering> {
        softfloat::order(right, left)
    }
}

macro_rules! integer_extrema {
    ($($type:ty),*) => {$(
        integer_extrema!(@ $type, Maximum, max, |left: $type, right| left.cmp(&right));
        integer_extrema!(@ $type, SoftMaximum, max, |left: $type, right| left.cmp(&right));
        integer_extrema!(@ $type, Minimum, min, |left: $type, right: $type| right.cmp(&left));
        integer_extrema!(@ $type, SoftMinimum, min, |left: $type, right: $type| right.cmp(&left));
    )*};
    (@ $type:ty, $extremum:ty, $choose:ident, $order:expr) => {
        impl Extremum<$type> for $extremum {
            #[inline(always)]
            fn value(left: $type, right: $type) -> $type {
                left.$choose(right)
            }
            #[inline(always)]
            fn order(left: $type, right: $type) -> Option<Ordering> {
                Some($order(left, right))
            }
        }
    };
}
integer_extrema!(i16, i32, i64);

/// Whose index goes with the extreme value: the left one's (`Greater`), the right one's, or the smaller of
/// both.
#[inline(always)]
fn winner<V: Copy, E: Extremum<V>>(left: V, right: V) -> Ordering {
    // A NaN has no order, not even with itself.
    let is_nan = |value| E::order(value, value).is_none();
    E::order(left, right).unwrap_or_else(|| is_nan(left).cmp(&is_nan(right)))
}

/// How pairs of value `V` and index `I` are combined: `E` chooses the value, `M`, a minimum, among indices.
pub(super) struct Locate<V, I, E, M>(PhantomData<(V, I, E, M)>);

impl<V: Copy, I: Copy, E: Extremum<V>, M: Extremum<I>> Locate<V, I, E, M> {
    /// Combines pair by pair.
    ///
    /// # Safety
    /// The invariant of [`Operands`] for C structs of `V` and `I`.
    pub(super) unsafe fn run(operands: Operands) {
        for i in 0..operands.count {
            let value_at = i * size_of::<IndexedValue<V, I>>();
            let index_at = value_at + offset_of!(IndexedValue<V, I>, index);
            // SAFETY: both fields lie in element `i`, below the count for which all vectors are valid;
            // accesses are unaligned.
            unsafe {
                let left = operands.left.add(value_at).cast::<V>().read_unaligned();
                let right = operands.right.add(value_at).cast::<V>().read_unaligned();
                let left_index = operands.left.add(index_at).cast::<I>().read_unaligned();
                let right_index = operands.right.add(index_at).cast::<I>().read_unaligned();
                let index = match winner::<V, E>(left, right) {
                    Ordering::Greater => left_index,
                    Ordering::Less => right_index,
                    Ordering::Equal => M::value(left_index, right_index),
                };
                operands.out.add(value_at).cast::<V>().write_unaligned(E::value(left, right));
                operands.out.add(index_at).cast::<I>().write_unaligned(index);
            }
        }
    }
}

/// Copies pairs, without their padding.
///
/// # Safety
/// `source` and `out` are valid for `count` C structs of `V` and `I`, and are the same or do not overlap.
pub(super) unsafe fn copy<V: Copy, I: Copy>(source: *const u8, out: *mut u8, count: usize) {
    for i in 0..count {
        let value_at = i * size_of::<IndexedValue<V, I>>();
        let index_at = value_at + offset_of!(IndexedValue<V, I>, index);
        // SAFETY: both fields lie in element `i`, below the count for which both are valid; accesses are
        // unaligned.
        unsafe {
            let value = source.add(value_at).cast::<V>().read_unaligned();
            let index = source.add(index_at).cast::<I>().read_unaligned();
            out.add(value_at).cast::<V>().write_unaligned(value);
            out.add(index_at).cast::<I>().write_unaligned(index);
        }
    }
}
