//! Native floating-point operations, made bit-equal to the reference.
//!
//! The processor computes sums and products; what it, or the compiler, leaves open is settled here: which NaN
//! comes out (see the rules in the parent module). A block is computed as if there were no NaN, and once
//! more, element by element, in the rare case that one shows up. Maximum and minimum compare bit patterns as
//! integers, so they do not depend on the floating-point environment.
//!
//! f16 and bf16 are computed in f32 and rounded again. The second rounding does no harm: binary32 has at
//! least 2p + 2 bits for p = 11 and p = 8 (Figueroa, "When is double rounding innocuous?", 1995), products of
//! two such operands are exact where the narrow result is subnormal, and so are sums.

use std::marker::PhantomData;
use std::ops::{Add, Mul, Sub};

use super::kernel::Operation;

/// A floating-point format, as its bit pattern.
pub(super) trait Format: Copy {
    /// The type in which the processor computes.
    type Work: Copy + Add<Output = Self::Work> + Sub<Output = Self::Work> + Mul<Output = Self::Work>;
    /// Bit pattern as an integer in the order of values, from −NaN over −∞, −0, +0, +∞ to +NaN.
    type Key: Ord;

    /// Result of an invalid operation.
    const DEFAULT_NAN: Self;

    fn widen(self) -> Self::Work;
    /// Rounds to nearest, ties to even. The argument is no NaN.
    fn narrow(work: Self::Work) -> Self;
    fn key(self) -> Self::Key;
    fn is_nan(self) -> bool;
    fn gives_nan(work: Self::Work) -> bool;
    /// Of either sign.
    fn is_zero(self) -> bool;
    /// The same NaN, quiet.
    fn quiet(self) -> Self;
}

macro_rules! formats {
    ($($(#[$doc:meta])* $name:ident, $bits:ty, $signed:ty, $work:ty, infinity $infinity:literal, quiet $quiet:literal,
        widen $widen:expr, narrow $narrow:expr;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[repr(transparent)]
        pub(super) struct $name(pub $bits);

        impl Format for $name {
            type Work = $work;
            type Key = $signed;

            const DEFAULT_NAN: Self = Self(!(<$bits>::MAX >> 1) | $infinity | $quiet);

            #[inline(always)]
            fn widen(self) -> $work {
                $widen(self.0)
            }

            #[inline(always)]
            fn narrow(work: $work) -> Self {
                Self($narrow(work))
            }

            #[inline(always)]
            fn key(self) -> $signed {
                let bits = self.0 as $signed;
                // A negative number has all its bits but the sign inverted: more magnitude is less value.
                bits ^ ((bits >> (<$bits>::BITS - 1)) & <$signed>::MAX)
            }

            #[inline(always)]
            fn is_nan(self) -> bool {
                self.0 & (<$bits>::MAX >> 1) > $infinity
            }

            #[inline(always)]
            fn gives_nan(work: $work) -> bool {
                work.is_nan()
            }

            #[inline(always)]
            fn is_zero(self) -> bool {
                self.0 & (<$bits>::MAX >> 1) == 0
            }

            #[inline(always)]
            fn quiet(self) -> Self {
                Self(self.0 | $quiet)
            }
        }
    )*};
}
formats! {
    /// IEEE 754 binary16.
    F16, u16, i16, f32, infinity 0x7c00, quiet 0x0200, widen f16_to_f32, narrow f32_to_f16;
    /// bfloat16.
    Bf16, u16, i16, f32, infinity 0x7f80, quiet 0x0040, widen bf16_to_f32, narrow f32_to_bf16;
    /// IEEE 754 binary32.
    F32, u32, i32, f32, infinity 0x7f80_0000, quiet 0x0040_0000, widen f32::from_bits, narrow f32::to_bits;
    /// IEEE 754 binary64.
    F64, u64, i64, f64, infinity 0x7ff0_0000_0000_0000, quiet 0x0008_0000_0000_0000,
        widen f64::from_bits, narrow f64::to_bits;
}

/// Exact; a NaN gives a NaN.
#[inline(always)]
fn f16_to_f32(half: u16) -> f32 {
    let sign = u32::from(half & 0x8000) << 16;
    let magnitude = u32::from(half & 0x7fff) << 13;
    // Read as binary32 the magnitude is too small by 2^112, the difference of the biases; the product is
    // exact, for subnormals too.
    let scaled = (f32::from_bits(magnitude) * f32::from_bits(0x7780_0000)).to_bits();
    let special = if magnitude >= 0x0f80_0000 { 0x7f80_0000 } else { 0 };
    f32::from_bits(scaled | special | sign)
}

/// Rounds to nearest, ties to even; infinity from half a unit above the largest finite value on.
#[inline(always)]
fn f32_to_f16(single: f32) -> u16 {
    let bits = single.to_bits();
    let sign = (bits >> 16) & 0x8000;
    let magnitude = bits & 0x7fff_ffff;
    // Below 2^-14 the result is subnormal: its unit, 2^-24, is the unit of binary32 in [0.5, 1).
    let subnormal = (f32::from_bits(magnitude) + 0.5).to_bits().wrapping_sub(0x3f00_0000);
    // Above, re-bias the exponent and round 13 bits away; a carry out of the significand is right as it is.
    let odd = (magnitude >> 13) & 1;
    let normal = magnitude.wrapping_sub(112 << 23).wrapping_add(0x0fff + odd) >> 13;
    let finite = if magnitude < 0x3880_0000 { subnormal } else { normal };
    let rounded = if magnitude >= 0x477f_f000 { 0x7c00 } else { finite };
    (sign | rounded) as u16
}

/// Exact; a NaN gives a NaN.
#[inline(always)]
fn bf16_to_f32(half: u16) -> f32 {
    f32::from_bits(u32::from(half) << 16)
}

/// Rounds to nearest, ties to even.
#[inline(always)]
pub(super) fn f32_to_bf16(single: f32) -> u16 {
    let bits = single.to_bits();
    (bits.wrapping_add(0x7fff + ((bits >> 16) & 1)) >> 16) as u16
}

/// What comes out of an operation whose result is a NaN.
#[inline(always)]
fn propagate<F: Format>(left: F, right: F) -> F {
    if left.is_nan() {
        left.quiet()
    } else if right.is_nan() {
        right.quiet()
    } else {
        F::DEFAULT_NAN
    }
}

/// A sum, difference or product with the NaN rule kept.
#[inline(always)]
fn settled<F: Format>(left: F, right: F, compute: impl Fn(F::Work, F::Work) -> F::Work) -> F {
    let result = compute(left.widen(), right.widen());
    if F::gives_nan(result) { propagate(left, right) } else { F::narrow(result) }
}

#[inline(always)]
fn settled_block<F: Format, const LANES: usize>(
    left: &[F; LANES],
    right: &[F; LANES],
    compute: impl Fn(F::Work, F::Work) -> F::Work,
) -> [F; LANES] {
    let mut out = *right;
    let mut nan = false;
    for i in 0..LANES {
        let result = compute(left[i].widen(), right[i].widen());
        nan |= F::gives_nan(result);
        out[i] = F::narrow(result);
    }
    if nan {
        for i in 0..LANES {
            out[i] = settled(left[i], right[i], &compute);
        }
    }
    out
}

/// `MPI_PROD` of complex numbers: (a + bi)(c + di) = (ac − bd) + (ad + bc)i, every operation rounded.
pub(super) struct ComplexProd<F>(PhantomData<F>);

impl<F: Format> Operation for ComplexProd<F> {
    type Item = [F; 2];

    #[inline(always)]
    fn combine([a, b]: [F; 2], [c, d]: [F; 2]) -> [F; 2] {
        let product = |x, y| settled(x, y, Mul::mul);
        let real = settled(product(a, c), product(b, d), Sub::sub);
        let imaginary = settled(product(a, d), product(b, c), Add::add);
        [real, imaginary]
    }

    #[inline(always)]
    fn combine_block<const LANES: usize>(left: &[[F; 2]; LANES], right: &[[F; 2]; LANES]) -> [[F; 2]; LANES] {
        // Parts in arrays of their own, so that each step is one vector operation.
        let [a, b] = [0, 1].map(|part| left.map(|value| value[part].widen()));
        let [c, d] = [0, 1].map(|part| right.map(|value| value[part].widen()));
        let mut real = a;
        let mut imaginary = b;
        let mut nan = false;
        for i in 0..LANES {
            // A NaN in a product shows in the result.
            real[i] = a[i] * c[i] - b[i] * d[i];
            imaginary[i] = a[i] * d[i] + b[i] * c[i];
            nan |= F::gives_nan(real[i]) | F::gives_nan(imaginary[i]);
        }
        let mut out = *right;
        for i in 0..LANES {
            out[i] = [F::narrow(real[i]), F::narrow(imaginary[i])];
        }
        if nan {
            for i in 0..LANES {
                out[i] = Self::combine(left[i], right[i]);
            }
        }
        out
    }
}

#[inline(always)]
fn extremum_block<F: Format, const LANES: usize>(
    left: &[F; LANES],
    right: &[F; LANES],
    takes_left: impl Fn(F::Key, F::Key) -> bool,
) -> [F; LANES] {
    let mut out = *right;
    let mut nan = false;
    for i in 0..LANES {
        nan |= left[i].is_nan() | right[i].is_nan();
        out[i] = if takes_left(left[i].key(), right[i].key()) { left[i] } else { right[i] };
    }
    if nan {
        for i in 0..LANES {
            if left[i].is_nan() | right[i].is_nan() {
                out[i] = propagate(left[i], right[i]);
            }
        }
    }
    out
}

macro_rules! operations {
    ($($(#[$doc:meta])* $name:ident = $block:ident, |$left:ident, $right:ident| $result:expr;)*) => {$(
        $(#[$doc])*
        pub(super) struct $name<F>(PhantomData<F>);

        impl<F: Format> Operation for $name<F> {
            type Item = F;

            #[inline(always)]
            fn combine(left: F, right: F) -> F {
                let [result] = Self::combine_block(&[left], &[right]);
                result
            }

            #[inline(always)]
            fn combine_block<const LANES: usize>(left: &[F; LANES], right: &[F; LANES]) -> [F; LANES] {
                $block(left, right, |$left, $right| $result)
            }
        }
    )*};
}
operations! {
    /// `MPI_SUM`.
    Sum = settled_block, |left, right| left + right;
    /// `MPI_PROD`.
    Prod = settled_block, |left, right| left * right;
    /// `MPI_MAX`.
    Max = extremum_block, |left, right| left > right;
    /// `MPI_MIN`.
    Min = extremum_block, |left, right| left < right;
}
