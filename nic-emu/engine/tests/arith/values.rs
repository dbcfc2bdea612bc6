//! Operands that are worth trying: special values often, ordinary ones too.

use nic_engine::arithmetic::{ElementType, ReduceOp};
use proptest::prelude::*;

/// What an element is made of: the kinds and offsets of its fields.
pub fn fields(element: ElementType) -> &'static [(usize, Kind)] {
    use ElementType as E;
    use Kind::*;
    match element {
        E::I8 | E::U8 | E::Byte => &[(0, Integer(1))],
        E::I16 | E::U16 => &[(0, Integer(2))],
        E::I32 | E::U32 => &[(0, Integer(4))],
        E::I64 | E::U64 => &[(0, Integer(8))],
        E::F16 => &[(0, F16)],
        E::Bf16 => &[(0, Bf16)],
        E::F32 => &[(0, F32)],
        E::F64 => &[(0, F64)],
        E::ComplexF32 | E::F32F32 => &[(0, F32), (4, F32)],
        E::ComplexF64 | E::F64F64 => &[(0, F64), (8, F64)],
        E::F32I32 => &[(0, F32), (4, Integer(4))],
        E::F64I32 => &[(0, F64), (8, Integer(4))],
        E::I64I32 => &[(0, Integer(8)), (8, Integer(4))],
        E::I32I32 => &[(0, Integer(4)), (4, Integer(4))],
        E::I16I32 => &[(0, Integer(2)), (4, Integer(4))],
    }
}

/// How the bytes of a field are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Integer of so many bytes.
    Integer(usize),
    F16,
    Bf16,
    F32,
    F64,
}

impl Kind {
    pub fn size(self) -> usize {
        match self {
            Self::Integer(size) => size,
            Self::F16 | Self::Bf16 => 2,
            Self::F32 => 4,
            Self::F64 => 8,
        }
    }

    /// Width of the significand field and of the exponent field, in bits.
    fn format(self) -> (u32, u32) {
        match self {
            Self::Integer(_) => (0, 0),
            Self::F16 => (10, 5),
            Self::Bf16 => (7, 8),
            Self::F32 => (23, 8),
            Self::F64 => (52, 11),
        }
    }

    /// Every kind of special value, as bit patterns.
    pub fn specials(self) -> Vec<u64> {
        let bits = 8 * self.size() as u32;
        if let Self::Integer(_) = self {
            let max = u64::MAX >> (64 - bits);
            return vec![0, 1, 2, 3, max, max - 1, max >> 1, (max >> 1) + 1, (max >> 1) - 1, 0x55];
        }
        let (significand, exponent) = self.format();
        let one = 1_u64 << significand;
        let infinity = ((1 << exponent) - 1) << significand;
        let bias = ((1_u64 << (exponent - 1)) - 1) << significand;
        let quiet = one >> 1;
        let positive = [
            0,
            1,
            2,
            3,
            one >> 1,
            one - 1,
            one,
            one + 1,
            2 * one - 1,
            bias,
            bias + 1,
            bias - 1,
            bias + one,
            bias + one / 2,
            // The square root of the least normal value: products around the subnormal limit.
            bias / 2,
            bias / 2 + 1,
            // Half a unit of one and its neighbours: ties.
            bias - (u64::from(significand) + 1) * one,
            bias - (u64::from(significand) + 1) * one + 1,
            bias - u64::from(significand) * one,
            infinity - 1,
            infinity - 2,
            infinity - one,
            infinity,
            infinity | 1,
            infinity | (quiet - 1),
            infinity | quiet,
            infinity | quiet | 1,
            infinity | (one - 1),
        ];
        positive.iter().flat_map(|&value| [value, value | 1 << (bits - 1)]).collect()
    }

    /// A value of this kind out of random bits: special, near one, or anything.
    fn value(self, choice: u8, bits: u64) -> u64 {
        let specials = self.specials();
        let (significand, exponent) = self.format();
        match choice {
            0..100 => specials[bits as usize % specials.len()],
            100..160 if exponent > 0 => {
                // Exponents close to each other, few significant bits: cancellation, ties.
                let bias = (1_u64 << (exponent - 1)) - 1;
                let near = bias + bits % (u64::from(significand) + 4);
                let sign = (bits >> 20 & 1) << (significand + exponent);
                let mask = u64::MAX << (bits >> 24 & 63).min(u64::from(significand));
                sign | near << significand | (bits >> 11) & ((1 << significand) - 1) & mask
            }
            _ => bits,
        }
    }
}

/// Random material for one field: what to choose, and bits.
pub type Seed = (u8, u64);

/// Material for vectors of up to `count` elements of any type, 2 fields each.
pub fn seeds(count: usize) -> impl Strategy<Value = Vec<Seed>> {
    proptest::collection::vec(any::<Seed>(), 0..=2 * count)
}

/// The vector that `seeds` make, as bytes. Padding is random.
pub fn vector(element: ElementType, seeds: &[Seed]) -> Vec<u8> {
    let fields = fields(element);
    let mut bytes = Vec::new();
    for chunk in seeds.chunks_exact(2) {
        let at = bytes.len();
        bytes.extend(chunk[0].1.to_le_bytes().into_iter().cycle().take(element.size()));
        for (&(offset, kind), &(choice, bits)) in fields.iter().zip(chunk) {
            let value = kind.value(choice, bits).to_le_bytes();
            bytes[at + offset..at + offset + kind.size()].copy_from_slice(&value[..kind.size()]);
        }
    }
    bytes
}

/// Whether the MPI standard defines `op` on `element` (MPI-5.0, §6.9.2; `Replace` and `NoOp` take every
/// type).
///
/// Classes that this level cannot tell apart, such as a Fortran `LOGICAL` from an integer of its size, are
/// the MPI library's to check.
pub fn supports(op: ReduceOp, element: ElementType) -> bool {
    use ElementType as E;
    let integer = matches!(element, E::I8 | E::I16 | E::I32 | E::I64 | E::U8 | E::U16 | E::U32 | E::U64);
    let floating = matches!(element, E::F16 | E::Bf16 | E::F32 | E::F64);
    let complex = matches!(element, E::ComplexF32 | E::ComplexF64);
    match op {
        ReduceOp::Max | ReduceOp::Min => integer || floating,
        ReduceOp::Sum | ReduceOp::Prod => integer || floating || complex,
        ReduceOp::Land | ReduceOp::Lor | ReduceOp::Lxor => integer,
        ReduceOp::Band | ReduceOp::Bor | ReduceOp::Bxor => integer || matches!(element, E::Byte),
        ReduceOp::Minloc | ReduceOp::Maxloc => element.is_pair(),
        ReduceOp::Replace | ReduceOp::NoOp => true,
    }
}
