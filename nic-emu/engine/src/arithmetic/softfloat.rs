//! The reference arithmetic: Berkeley SoftFloat specialised for SSE (paper, §4.4, reference 27).
//!
//! Every floating-point operation of the NIC has its definition here; native arithmetic has to agree with it
//! bit for bit. SoftFloat computes with integers, so the floating-point environment has no influence.
//!
//! bf16: the wrapper crate cuts a result off instead of rounding it. So operands are widened (which is
//! exact), SoftFloat computes in binary32, and the result is rounded to nearest, ties to even, here. A NaN
//! keeps sign, quiet bit and the upper bits of its payload, which is all that a bf16 operand had.

use std::cmp::Ordering;

use softfloat_wrapper::{F16 as Soft16, F32 as Soft32, F64 as Soft64, Float, RoundingMode};

use super::float::{Bf16, ComplexProd, F16, F32, F64, Format, Max, Min, Prod, Sum};
use super::kernel::Reference;

const NEAREST: RoundingMode = RoundingMode::TiesToEven;

/// A format that SoftFloat computes with.
pub(super) trait Soft: Format {
    /// SoftFloat's type.
    type Float: Float;

    /// Exact.
    fn unpack(self) -> Self::Float;
    /// Rounds to nearest, ties to even, if the format is narrower than SoftFloat's type.
    fn pack(value: Self::Float) -> Self;
}

macro_rules! soft {
    ($($name:ident, $float:ty;)*) => {$(
        impl Soft for $name {
            type Float = $float;

            #[inline(always)]
            fn unpack(self) -> $float {
                <$float>::from_bits(self.0)
            }

            #[inline(always)]
            fn pack(value: $float) -> Self {
                Self(value.to_bits())
            }
        }
    )*};
}
soft! {
    F16, Soft16;
    F32, Soft32;
    F64, Soft64;
}

impl Soft for Bf16 {
    type Float = Soft32;

    #[inline(always)]
    fn unpack(self) -> Soft32 {
        Soft32::from_bits(u32::from(self.0) << 16)
    }

    #[inline(always)]
    fn pack(value: Soft32) -> Self {
        let bits = value.to_bits();
        let kept = (bits >> 16) as u16;
        if Float::is_nan(&value) {
            return Self(kept);
        }
        let up = match (bits & 0xffff).cmp(&0x8000) {
            Ordering::Less => false,
            Ordering::Equal => kept & 1 == 1,
            Ordering::Greater => true,
        };
        // A carry out of the significand raises the exponent, from the largest finite value to infinity.
        Self(kept + u16::from(up))
    }
}

#[inline(always)]
fn sum<F: Soft>(left: F, right: F) -> F {
    F::pack(left.unpack().add(right.unpack(), NEAREST))
}

#[inline(always)]
fn difference<F: Soft>(left: F, right: F) -> F {
    F::pack(left.unpack().sub(right.unpack(), NEAREST))
}

#[inline(always)]
fn product<F: Soft>(left: F, right: F) -> F {
    F::pack(left.unpack().mul(right.unpack(), NEAREST))
}

impl<F: Soft> Reference for ComplexProd<F> {
    fn reference([a, b]: [F; 2], [c, d]: [F; 2]) -> [F; 2] {
        [difference(product(a, c), product(b, d)), sum(product(a, d), product(b, c))]
    }
}

/// How they compare; none for a NaN. Zeros of both signs are equal.
#[inline(always)]
pub(super) fn order<F: Soft>(left: F, right: F) -> Option<Ordering> {
    left.unpack().compare(right.unpack())
}

/// The left value if it compares so with the right one: of zeros of both signs the negative one is less.
fn extremum<F: Soft>(left: F, right: F, wins: Ordering) -> F {
    let takes_left = match order(left, right) {
        None => return sum(left, right),
        Some(Ordering::Equal) => left.unpack().is_negative() == (wins == Ordering::Less),
        Some(order) => order == wins,
    };
    if takes_left { left } else { right }
}

macro_rules! references {
    ($($operation:ident = |$left:ident, $right:ident| $result:expr;)*) => {$(
        impl<F: Soft> Reference for $operation<F> {
            fn reference($left: F, $right: F) -> F {
                $result
            }
        }
    )*};
}
references! {
    Sum = |left, right| sum(left, right);
    Prod = |left, right| product(left, right);
    Max = |left, right| extremum(left, right, Ordering::Greater);
    Min = |left, right| extremum(left, right, Ordering::Less);
}
