//! Type signatures: the sequence of basic elements (MPI-5.0, §5.1). Two types match when their signatures are the same, so a hash of it
//! tells most that do not.
//!
//! The hash is a polynomial modulo the Mersenne prime 2^61 - 1, which is composed for a sequence of n times the same in log n steps: no
//! signature is ever written out.

use super::basic::Basic;

const PRIME: u64 = (1 << 61) - 1;
/// Some number of that size without structure.
const BASE: u64 = 0x0d9f_2a6b_77c1_45e3;

fn times(a: u64, b: u64) -> u64 {
    (u128::from(a) * u128::from(b) % u128::from(PRIME)) as u64
}

fn plus(a: u64, b: u64) -> u64 {
    (a + b) % PRIME
}

/// The hash of a signature, with what composing it takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Signature {
    hash: u64,
    /// The base to the power of the number of elements.
    power: u64,
}

impl Signature {
    /// That of nothing.
    pub const EMPTY: Self = Self { hash: 0, power: 1 };

    /// That of one element.
    pub fn of(basic: &Basic) -> Self {
        Self { hash: basic.datatype.0 as u64 % PRIME, power: BASE }
    }

    /// This one, then the other.
    pub fn then(self, other: Self) -> Self {
        Self { hash: plus(times(self.hash, other.power), other.hash), power: times(self.power, other.power) }
    }

    /// `count` times this one.
    pub fn repeated(self, mut count: i64) -> Self {
        let (mut result, mut doubled) = (Self::EMPTY, self);
        while count > 0 {
            if count & 1 == 1 {
                result = result.then(doubled);
            }
            doubled = doubled.then(doubled);
            count >>= 1;
        }
        result
    }

    /// The hash.
    pub fn hash(self) -> u64 {
        self.hash
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::constants::*;

    fn of(datatype: MPI_Datatype) -> Signature {
        Signature::of(&Basic { datatype, bytes: 4, offset: 0 })
    }

    #[test]
    fn a_repetition_is_the_same_as_one_after_the_other() {
        let pair = of(MPI_INT).then(of(MPI_DOUBLE));
        let mut long = Signature::EMPTY;
        for count in 0..70 {
            assert_eq!(pair.repeated(count), long);
            long = long.then(pair);
        }
        assert_ne!(of(MPI_INT).then(of(MPI_DOUBLE)), of(MPI_DOUBLE).then(of(MPI_INT)));
        assert_ne!(of(MPI_INT).repeated(3), of(MPI_INT).repeated(4));
    }
}
