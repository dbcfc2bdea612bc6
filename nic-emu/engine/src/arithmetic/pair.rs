//! MAXLOC and MINLOC: an extreme value and the smallest index at which it is (MPI-5.0, §6.9.4).
//!
//! Pairs are laid out as C structs. Fields are read and written one by one, so that padding is untouched.

use std::cmp::Ordering;
use std::marker::PhantomData;
use std::mem::offset_of;

use super::float::{self, Format};
use super::integer::{self, Integer};
use super::kernel::{ByReference, Operands, Operation};
use super::softfloat::{self, Soft};

/// A value with its index, as C lays it out.
#[repr(C)]
struct IndexedValue<V, I> {
    value: V,
    index: I,
}

/// Bytes of a pair, and where its index is.
const fn layout<V, I>() -> (usize, usize) {
    (size_of::<IndexedValue<V, I>>(), offset_of!(IndexedValue<V, I>, index))
}

// The layouts that `ElementType` documents.
const _: () = {
    assert!(matches!(layout::<float::F32, i32>(), (8, 4)) && matches!(layout::<float::F64, i32>(), (16, 8)));
    assert!(matches!(layout::<i64, i32>(), (16, 8)) && matches!(layout::<i32, i32>(), (8, 4)));
    assert!(matches!(layout::<i16, i32>(), (8, 4)) && matches!(layout::<float::F32, float::F32>(), (8, 4)));
    assert!(matches!(layout::<float::F64, float::F64>(), (16, 8)));
};

/// A maximum or a minimum.
pub(super) trait Extremum: Operation {
    /// How the values compare: `Greater` if the left one is more extreme; none if one is a NaN.
    fn order(left: Self::Item, right: Self::Item) -> Option<Ordering>;
}

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

macro_rules! extrema {
    ($($operation:ty, $item:ident: $bound:ident, |$left:ident, $right:ident| $order:expr;)*) => {$(
        impl<$item: $bound> Extremum for $operation {
            #[inline(always)]
            fn order($left: $item, $right: $item) -> Option<Ordering> {
                $order
            }
        }
    )*};
}
extrema! {
    float::Max<F>, F: Format, |left, right| native_order(left, right);
    float::Min<F>, F: Format, |left, right| native_order(right, left);
    ByReference<float::Max<F>>, F: Soft, |left, right| softfloat::order(left, right);
    ByReference<float::Min<F>>, F: Soft, |left, right| softfloat::order(right, left);
    integer::Max<T>, T: Integer, |left, right| Some(left.cmp(&right));
    integer::Min<T>, T: Integer, |left, right| Some(right.cmp(&left));
    ByReference<integer::Max<T>>, T: Integer, |left, right| Some(left.cmp(&right));
    ByReference<integer::Min<T>>, T: Integer, |left, right| Some(right.cmp(&left));
}

/// Whose index goes with the extreme value: the left one's (`Greater`), the right one's, or the smaller of
/// both.
#[inline(always)]
fn winner<E: Extremum>(left: E::Item, right: E::Item) -> Ordering {
    // A NaN has no order, not even with itself.
    let is_nan = |value| E::order(value, value).is_none();
    E::order(left, right).unwrap_or_else(|| is_nan(left).cmp(&is_nan(right)))
}

/// How pairs are combined: `E` chooses the value, `M`, a minimum, among indices.
pub(super) struct Locate<E, M>(PhantomData<(E, M)>);

impl<E: Extremum, M: Operation> Locate<E, M> {
    /// Combines pair by pair.
    ///
    /// # Safety
    /// The invariant of [`Operands`] for C structs of a value and an index.
    pub(super) unsafe fn run(operands: Operands) {
        for i in 0..operands.count {
            let value_at = i * size_of::<IndexedValue<E::Item, M::Item>>();
            let index_at = value_at + offset_of!(IndexedValue<E::Item, M::Item>, index);
            // SAFETY: both fields lie in element `i`, below the count for which all vectors are valid;
            // accesses are unaligned.
            unsafe {
                let left = operands.left.add(value_at).cast::<E::Item>().read_unaligned();
                let right = operands.right.add(value_at).cast::<E::Item>().read_unaligned();
                let left_index = operands.left.add(index_at).cast::<M::Item>().read_unaligned();
                let right_index = operands.right.add(index_at).cast::<M::Item>().read_unaligned();
                let index = match winner::<E>(left, right) {
                    Ordering::Greater => left_index,
                    Ordering::Less => right_index,
                    Ordering::Equal => M::combine(left_index, right_index),
                };
                operands.out.add(value_at).cast::<E::Item>().write_unaligned(E::combine(left, right));
                operands.out.add(index_at).cast::<M::Item>().write_unaligned(index);
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
