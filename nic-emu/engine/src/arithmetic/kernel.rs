//! The loops over operand vectors: one generic loop, compiled once for the baseline and once for AVX2.
//!
//! A vector is taken in blocks of a fixed number of lanes that are loaded whole, combined, and stored whole,
//! so the compiler keeps a block in vector registers, and the result may overwrite an operand.

use std::marker::PhantomData;

/// Vectors of a combine.
///
/// Invariant of the kernels: all are valid for `count` elements of the kernel's type, of any alignment. The
/// result may go where an operand is; otherwise it overlaps none.
#[derive(Clone, Copy)]
pub(super) struct Operands {
    pub left: *const u8,
    pub right: *const u8,
    pub out: *mut u8,
    /// Number of elements.
    pub count: usize,
}

/// A monomorphic loop. Unsafe to call: the operands must keep the invariant of [`Operands`].
pub(super) type Kernel = unsafe fn(Operands);

/// A binary operation on one type. `Item` has no padding and every bit pattern is valid.
pub(super) trait Operation {
    /// What a vector holds.
    type Item: Copy;

    /// The result for one element.
    fn combine(left: Self::Item, right: Self::Item) -> Self::Item;

    /// The result for a block, equal to `combine` of every lane.
    #[inline(always)]
    fn combine_block<const LANES: usize>(
        left: &[Self::Item; LANES],
        right: &[Self::Item; LANES],
    ) -> [Self::Item; LANES] {
        let mut out = *right;
        for i in 0..LANES {
            out[i] = Self::combine(left[i], right[i]);
        }
        out
    }
}

/// The same operation, carried out by the reference arithmetic.
pub(super) trait Reference: Operation {
    /// The result for one element, computed by SoftFloat.
    fn reference(left: Self::Item, right: Self::Item) -> Self::Item;
}

/// An operation whose items are combined by its reference.
pub(super) struct ByReference<O>(PhantomData<O>);

impl<O: Reference> Operation for ByReference<O> {
    type Item = O::Item;

    #[inline(always)]
    fn combine(left: O::Item, right: O::Item) -> O::Item {
        O::reference(left, right)
    }
}

/// One element after the other.
///
/// # Safety
/// The invariant of [`Operands`] for `O::Item`.
#[inline(always)]
pub(super) unsafe fn one_by_one<O: Operation>(operands: Operands) {
    // SAFETY: passed on.
    unsafe { elements::<O>(operands, 0) }
}

/// # Safety
/// The invariant of [`Operands`] for `O::Item`.
#[inline(always)]
unsafe fn elements<O: Operation>(operands: Operands, first: usize) {
    let (left, right) = (operands.left.cast::<O::Item>(), operands.right.cast::<O::Item>());
    let out = operands.out.cast::<O::Item>();
    for i in first..operands.count {
        // SAFETY: `i` is below the count for which all vectors are valid; accesses are unaligned.
        unsafe {
            let result = O::combine(left.add(i).read_unaligned(), right.add(i).read_unaligned());
            out.add(i).write_unaligned(result);
        }
    }
}

/// # Safety
/// The invariant of [`Operands`] for `O::Item`.
#[inline(always)]
unsafe fn blocks<O: Operation, const LANES: usize>(operands: Operands) {
    let (left, right) = (operands.left.cast::<O::Item>(), operands.right.cast::<O::Item>());
    let out = operands.out.cast::<O::Item>();
    let whole = operands.count - operands.count % LANES;
    let mut first = 0;
    while first < whole {
        // SAFETY: `first + LANES <= count`, for which all vectors are valid; accesses are unaligned, and
        // both operands of the block are read before it is written.
        unsafe {
            let left = left.add(first).cast::<[O::Item; LANES]>().read_unaligned();
            let right = right.add(first).cast::<[O::Item; LANES]>().read_unaligned();
            let out = out.add(first).cast::<[O::Item; LANES]>();
            out.write_unaligned(O::combine_block(&left, &right));
        }
        first += LANES;
    }
    // SAFETY: the invariant is passed on.
    unsafe { elements::<O>(operands, whole) };
}

/// # Safety
/// The processor has AVX2, and the invariant of [`Operands`] for `O::Item`.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
unsafe fn blocks_avx2<O: Operation, const LANES: usize>(operands: Operands) {
    // SAFETY: the invariant is passed on.
    unsafe { blocks::<O, LANES>(operands) };
}

/// The loop over blocks, with the widest vectors that this processor has.
///
/// # Safety
/// The invariant of [`Operands`] for `O::Item`.
#[inline(always)]
pub(super) unsafe fn vectors<O: Operation, const LANES: usize>(operands: Operands) {
    if operands.count < LANES {
        // SAFETY: the invariant is passed on.
        return unsafe { elements::<O>(operands, 0) };
    }
    #[cfg(target_arch = "x86_64")]
    if std::arch::is_x86_feature_detected!("avx2") {
        // SAFETY: AVX2 was just detected; the invariant is passed on.
        return unsafe { blocks_avx2::<O, LANES>(operands) };
    }
    // SAFETY: the invariant is passed on.
    unsafe { blocks::<O, LANES>(operands) };
}

#[cfg(test)]
mod tests {
    use super::super::float::{Bf16, ComplexProd, F16, F32, F64, Max, Min, Prod, Sum};
    use super::*;

    /// Random bits, every third element's exponent all ones: infinities and NaNs.
    fn material(seed: u64, bytes: usize) -> Vec<u8> {
        let words = (0..bytes as u64 / 8).map(|i| {
            let bits = (i + seed).wrapping_mul(0x9e37_79b9_7f4a_7c15);
            let bits = bits ^ bits >> 31;
            if i % 3 == 0 { bits | 0x7ff0_7c00_7f80_7c00 } else { bits }
        });
        words.flat_map(u64::to_le_bytes).collect()
    }

    fn same<O: Reference, const LANES: usize>() {
        let count = 8 * LANES + 3;
        let bytes = (count * size_of::<O::Item>()).next_multiple_of(8);
        let (left, right) = (material(1, bytes), material(77, bytes));
        let [mut baseline, mut in_place, mut reference] = [vec![0; bytes], left.clone(), right.clone()];
        let whole = count * size_of::<O::Item>();
        let operands = |left, right, out| Operands { left, right, out, count };
        // SAFETY: all vectors hold `count` elements; the result has a place of its own, or an operand's.
        unsafe {
            blocks::<O, LANES>(operands(left.as_ptr(), right.as_ptr(), baseline.as_mut_ptr()));
            let out = in_place.as_mut_ptr();
            blocks::<O, LANES>(operands(out, right.as_ptr(), out));
            let out = reference.as_mut_ptr();
            one_by_one::<ByReference<O>>(operands(left.as_ptr(), out, out));
        }
        assert!(baseline[..whole] == reference[..whole], "{}", std::any::type_name::<O>());
        assert!(in_place[..whole] == reference[..whole], "{}", std::any::type_name::<O>());
    }

    /// The dispatch takes AVX2 where it can, so the baseline loop would go untested on most machines.
    #[test]
    fn a_processor_without_avx2_gets_the_same_bits() {
        macro_rules! formats {
            ($($format:ty),*) => {$(
                same::<Sum<$format>, 16>();
                same::<Prod<$format>, 16>();
                same::<Max<$format>, 16>();
                same::<Min<$format>, 16>();
                same::<ComplexProd<$format>, 8>();
            )*};
        }
        formats!(F16, Bf16, F32, F64);
    }
}
