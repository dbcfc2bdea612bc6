//! Operations on integers: wrapping arithmetic, C's truth values, bits.

use std::marker::PhantomData;

use super::kernel::Operation;

/// What the operations need of an integer type.
pub(super) trait Integer: Copy + Ord {
    fn sum(self, other: Self) -> Self;
    fn product(self, other: Self) -> Self;
    fn and(self, other: Self) -> Self;
    fn or(self, other: Self) -> Self;
    fn xor(self, other: Self) -> Self;
    fn is_true(self) -> bool;
    fn from_truth(truth: bool) -> Self;
}

macro_rules! integers {
    ($($type:ty),*) => {$(
        impl Integer for $type {
            #[inline(always)]
            fn sum(self, other: Self) -> Self {
                self.wrapping_add(other)
            }
            #[inline(always)]
            fn product(self, other: Self) -> Self {
                self.wrapping_mul(other)
            }
            #[inline(always)]
            fn and(self, other: Self) -> Self {
                self & other
            }
            #[inline(always)]
            fn or(self, other: Self) -> Self {
                self | other
            }
            #[inline(always)]
            fn xor(self, other: Self) -> Self {
                self ^ other
            }
            #[inline(always)]
            fn is_true(self) -> bool {
                self != 0
            }
            #[inline(always)]
            fn from_truth(truth: bool) -> Self {
                <$type>::from(truth)
            }
        }
    )*};
}
integers!(i8, i16, i32, i64, u8, u16, u32, u64);

macro_rules! operations {
    ($($(#[$doc:meta])* $name:ident = |$left:ident, $right:ident| $result:expr;)*) => {$(
        $(#[$doc])*
        pub(super) struct $name<T>(PhantomData<T>);

        impl<T: Integer> Operation for $name<T> {
            type Item = T;

            #[inline(always)]
            fn combine($left: T, $right: T) -> T {
                $result
            }
        }
    )*};
}
operations! {
    /// `MPI_MAX`.
    Max = |left, right| if left > right { left } else { right };
    /// `MPI_MIN`.
    Min = |left, right| if left < right { left } else { right };
    /// `MPI_SUM`, modulo the type's range.
    Sum = |left, right| left.sum(right);
    /// `MPI_PROD`, modulo the type's range.
    Prod = |left, right| left.product(right);
    /// `MPI_LAND`.
    Land = |left, right| T::from_truth(left.is_true() & right.is_true());
    /// `MPI_LOR`.
    Lor = |left, right| T::from_truth(left.is_true() | right.is_true());
    /// `MPI_LXOR`.
    Lxor = |left, right| T::from_truth(left.is_true() ^ right.is_true());
    /// `MPI_BAND`.
    Band = |left, right| left.and(right);
    /// `MPI_BOR`.
    Bor = |left, right| left.or(right);
    /// `MPI_BXOR`.
    Bxor = |left, right| left.xor(right);
}
