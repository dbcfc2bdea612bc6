//! Reductions of `long double` and what contains it, which the NIC's arithmetic does not have: computed
//! by the host, in the same order as on the NIC, so that results are the same in every run.
//!
//! A `long double` is the 80-bit format of the x87 unit in 16 bytes; the last six are padding and stay as
//! they are.

use nic_emu::arith::ReduceOp;

/// Bytes of a `long double` with its padding.
const BYTES: usize = 16;
/// Bytes that hold its value.
const VALUE: usize = 10;

/// A type that contains `long double`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExtendedType {
    /// `long double`.
    Real,
    /// `long double _Complex`.
    Complex,
    /// `struct { long double; int; }` of MPI_LONG_DOUBLE_INT.
    WithIndex,
}

/// An operation on such a type.
#[derive(Clone, Copy, Debug)]
pub struct Extended {
    /// The operation.
    pub op: ReduceOp,
    /// The type.
    pub element: ExtendedType,
}

type Real = [u8; VALUE];

#[cfg(target_arch = "x86_64")]
mod x87 {
    use super::Real;
    use std::arch::asm;

    macro_rules! binary {
        ($name:ident, $instruction:literal) => {
            pub fn $name(left: &Real, right: &Real) -> Real {
                let mut result = [0; super::VALUE];
                // SAFETY: loads two ten-byte values and stores one; the x87 stack is left as it was found.
                unsafe {
                    asm!(
                        "fld tbyte ptr [{left}]",
                        "fld tbyte ptr [{right}]",
                        $instruction,
                        "fstp tbyte ptr [{result}]",
                        left = in(reg) left.as_ptr(),
                        right = in(reg) right.as_ptr(),
                        result = in(reg) result.as_mut_ptr(),
                        out("st(0)") _, out("st(1)") _, out("st(2)") _, out("st(3)") _,
                        out("st(4)") _, out("st(5)") _, out("st(6)") _, out("st(7)") _,
                    );
                }
                result
            }
        };
    }

    binary!(add, "faddp st(1), st(0)");
    binary!(subtract, "fsubp st(1), st(0)");
    binary!(multiply, "fmulp st(1), st(0)");

    /// Whether `left < right`; false when they are not comparable.
    pub fn less(left: &Real, right: &Real) -> bool {
        let (above, parity): (u8, u8);
        // SAFETY: loads two ten-byte values, compares and pops them.
        unsafe {
            asm!(
                "fld tbyte ptr [{left}]",
                "fld tbyte ptr [{right}]",
                "fcomip st(0), st(1)",
                "fstp st(0)",
                "seta {above}",
                "setp {parity}",
                left = in(reg) left.as_ptr(),
                right = in(reg) right.as_ptr(),
                above = out(reg_byte) above,
                parity = out(reg_byte) parity,
                out("st(0)") _, out("st(1)") _, out("st(2)") _, out("st(3)") _,
                out("st(4)") _, out("st(5)") _, out("st(6)") _, out("st(7)") _,
            );
        }
        above != 0 && parity == 0
    }
}

/// Elsewhere `long double` is `double` or binary128, and no predefined datatype is that long: see
/// [`super::operand`].
#[cfg(not(target_arch = "x86_64"))]
mod x87 {
    compile_error!("reductions of long double are written for x86-64");
}

fn real(bytes: &[u8]) -> Real {
    bytes[..VALUE].try_into().expect("a slice of VALUE bytes")
}

impl Extended {
    /// `inout = left op inout`, element by element. Bytes of an incomplete last element stay as they are.
    pub fn combine(&self, left: &[u8], inout: &mut [u8]) {
        let bytes = if self.element == ExtendedType::Real { BYTES } else { 2 * BYTES };
        for (left, inout) in left.chunks_exact(bytes).zip(inout.chunks_exact_mut(bytes)) {
            match self.element {
                ExtendedType::Real => {
                    let result = self.real(&real(left), &real(inout));
                    inout[..VALUE].copy_from_slice(&result);
                }
                ExtendedType::Complex => self.complex(left, inout),
                ExtendedType::WithIndex => self.with_index(left, inout),
            }
        }
    }

    fn real(&self, left: &Real, right: &Real) -> Real {
        match self.op {
            ReduceOp::Sum => x87::add(left, right),
            ReduceOp::Prod => x87::multiply(left, right),
            ReduceOp::Max if x87::less(left, right) => *right,
            ReduceOp::Max => *left,
            ReduceOp::Min if x87::less(right, left) => *right,
            ReduceOp::Min => *left,
            _ => *right,
        }
    }

    fn complex(&self, left: &[u8], inout: &mut [u8]) {
        let (a, b) = (real(left), real(&left[BYTES..]));
        let (c, d) = (real(inout), real(&inout[BYTES..]));
        let (re, im) = match self.op {
            ReduceOp::Prod => (
                x87::subtract(&x87::multiply(&a, &c), &x87::multiply(&b, &d)),
                x87::add(&x87::multiply(&a, &d), &x87::multiply(&b, &c)),
            ),
            _ => (x87::add(&a, &c), x87::add(&b, &d)),
        };
        inout[..VALUE].copy_from_slice(&re);
        inout[BYTES..BYTES + VALUE].copy_from_slice(&im);
    }

    fn with_index(&self, left: &[u8], inout: &mut [u8]) {
        let index =
            |bytes: &[u8]| i32::from_ne_bytes(bytes[BYTES..BYTES + 4].try_into().expect("four bytes"));
        let (a, b) = (real(left), real(inout));
        let (above, below) = (x87::less(&b, &a), x87::less(&a, &b));
        let (left_wins, right_wins) =
            if self.op == ReduceOp::Maxloc { (above, below) } else { (below, above) };
        if left_wins || !right_wins && index(left) < index(inout) {
            inout[..VALUE].copy_from_slice(&a);
            inout[BYTES..BYTES + 4].copy_from_slice(&left[BYTES..BYTES + 4]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Small integers as `long double`: 1.5 * 2^k and the like are exact in every format.
    fn of(value: f64) -> [u8; BYTES] {
        let mut bytes = [0xeeu8; BYTES];
        // SAFETY: loads a double and stores ten bytes.
        unsafe {
            std::arch::asm!("fld qword ptr [{0}]", "fstp tbyte ptr [{1}]", in(reg) &value, in(reg) bytes.as_mut_ptr(),
                out("st(0)") _, out("st(1)") _, out("st(2)") _, out("st(3)") _,
                out("st(4)") _, out("st(5)") _, out("st(6)") _, out("st(7)") _);
        }
        bytes
    }

    fn combined(op: ReduceOp, left: f64, right: f64) -> [u8; BYTES] {
        let mut inout = of(right);
        Extended { op, element: ExtendedType::Real }.combine(&of(left), &mut inout);
        inout
    }

    #[test]
    fn reals_are_combined_and_padding_stays() {
        assert_eq!(combined(ReduceOp::Sum, 1.5, 2.25), of(3.75));
        assert_eq!(combined(ReduceOp::Prod, 1.5, -2.0), of(-3.0));
        assert_eq!(combined(ReduceOp::Max, 1.5, -2.0), of(1.5));
        assert_eq!(combined(ReduceOp::Max, -2.0, 1.5), of(1.5));
        assert_eq!(combined(ReduceOp::Min, 1.5, -2.0), of(-2.0));
        assert_eq!(combined(ReduceOp::Min, -2.0, 1.5), of(-2.0));
    }

    #[test]
    fn a_sum_keeps_the_bits_that_double_would_lose() {
        let tiny = combined(ReduceOp::Sum, 1.0, f64::EPSILON / 4.0);
        assert_ne!(tiny, of(1.0));
    }

    #[test]
    fn complex_products_and_indexed_maxima_follow_the_standard() {
        let pair = |a: f64, b: f64| [of(a), of(b)].concat();
        let mut product = pair(3.0, 4.0);
        Extended { op: ReduceOp::Prod, element: ExtendedType::Complex }
            .combine(&pair(1.0, 2.0), &mut product);
        assert_eq!(product, pair(-5.0, 10.0));
        let indexed = |value: f64, index: i32| {
            let mut bytes = pair(value, 0.0);
            bytes[BYTES..BYTES + 4].copy_from_slice(&index.to_ne_bytes());
            bytes
        };
        let maxloc = Extended { op: ReduceOp::Maxloc, element: ExtendedType::WithIndex };
        let mut at = indexed(2.0, 7);
        maxloc.combine(&indexed(2.0, 3), &mut at);
        assert_eq!(at, indexed(2.0, 3), "the smaller index on a tie");
        maxloc.combine(&indexed(5.0, 9), &mut at);
        assert_eq!(at[..VALUE], of(5.0)[..VALUE]);
    }
}
