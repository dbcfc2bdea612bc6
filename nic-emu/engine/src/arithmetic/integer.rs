//! Operations on integers: wrapping arithmetic, C's truth values, bits.

use std::marker::PhantomData;
use std::ops::{BitAnd, BitOr, BitXor};

use super::kernel::{Operation, Reference};

/// What the operations need of an integer type.
pub(super) trait Integer:
    Copy + Ord + From<bool> + BitAnd<Output = Self> + BitOr<Output = Self> + BitXor<Output = Self>
{
    fn sum(self, other: Self) -> Self;
    fn product(self, other: Self) -> Self;
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
        }
    )*};
}
integers!(i8, i16, i32, i64, u8, u16, u32, u64);

#[inline(always)]
fn is_true<T: Integer>(value: T) -> bool {
    value != T::from(false)
}

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

        impl<T: Integer> Reference for $name<T> {
            fn reference(left: T, right: T) -> T {
                Self::combine(left, right)
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
    Land = |left, right| T::from(is_true(left) & is_true(right));
    /// `MPI_LOR`.
    Lor = |left, right| T::from(is_true(left) | is_true(right));
    /// `MPI_LXOR`.
    Lxor = |left, right| T::from(is_true(left) ^ is_true(right));
    /// `MPI_BAND`.
    Band = |left, right| left & right;
    /// `MPI_BOR`.
    Bor = |left, right| left | right;
    /// `MPI_BXOR`.
    Bxor = |left, right| left ^ right;
}
