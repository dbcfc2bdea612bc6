//! Type signatures: the sequence of basic elements (MPI-5.0, §5.1). Two types match when their signatures are
//! the same, so a hash of it tells most that do not.
//!
//! The hash is a polynomial modulo the Mersenne prime 2^61 - 1, which is composed for a sequence of n times
//! the same in log n steps: no signature is ever written out.

use super::basic::Basic;
use crate::constants::*;

const PRIME: u64 = (1 << 61) - 1;
/// Some number of that size without structure.
const BASE: u64 = 0x0d9f_2a6b_77c1_45e3;

fn times(a: u64, b: u64) -> u64 {
    (u128::from(a) * u128::from(b) % u128::from(PRIME)) as u64
}

fn plus(a: u64, b: u64) -> u64 {
    (a + b) % PRIME
}

/// What all elements are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Elements {
    /// There are none.
    None,
    /// All of this kind: [`kind_of`].
    Alike(u16),
    /// Of several kinds.
    Mixed,
    /// Some are bytes or packed: they stand for anything.
    Anything,
}

/// The tag of a type of bytes or packed data: it matches any other.
pub(super) const ANYTHING: u16 = 0;
/// A tag that is made of a hash.
const HASHED: u16 = 0x8000;

/// A number for elements that programs take for each other, by what they are and how long: integers of all
/// languages, signed and unsigned, are alike; 0 for what matches anything.
const fn kind_of(datatype: &Datatype) -> u16 {
    let kind = match datatype.class {
        Class::CInteger
        | Class::FortranInteger
        | Class::MultiLanguage
        | Class::Logical
        | Class::Character => 1,
        Class::Floating => 2,
        Class::Complex => 3,
        Class::Byte | Class::Packed | Class::Pair | Class::Null => return ANYTHING,
    };
    kind << 8 | datatype.size as u16
}

/// The kind of the elements of every predefined datatype, by handle.
static KINDS: [u16; 256] = by_handle!(DATATYPES, [ANYTHING; 256], |row, _index| kind_of(row));

/// The kind of the elements of the predefined datatype with this number, the low byte of its handle.
pub fn kind_of_number(number: u8) -> u16 {
    KINDS[usize::from(number)]
}

/// The kind of the elements of a predefined datatype.
#[inline]
pub fn kind_of_handle(datatype: MPI_Datatype) -> Option<u16> {
    KINDS.get(datatype.0.wrapping_sub(MPI_DATATYPE_NULL.0)).copied()
}

/// Whether elements with this tag are all of one kind: more or fewer of them have the same tag.
pub fn is_of_one_kind(tag: u16) -> bool {
    tag & HASHED == 0
}

/// Hashes of a signature, with what composing them takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Signature {
    /// Of the basic types.
    pub(super) hash: u64,
    /// Of their kinds.
    pub(super) hash_of_kinds: u64,
    /// The base to the power of the number of elements.
    power: u64,
    elements: Elements,
    /// The number of the first element's basic type: the low byte of its handle; 0 without elements.
    pub(super) first: u8,
    /// All elements are of that type.
    pub(super) one_type: bool,
    /// Some are packed.
    packed: bool,
}

impl Signature {
    /// That of nothing.
    pub const EMPTY: Self = Self {
        hash: 0,
        hash_of_kinds: 0,
        power: 1,
        elements: Elements::None,
        first: 0,
        one_type: true,
        packed: false,
    };

    /// That of one element.
    pub fn of(basic: &Basic) -> Self {
        let kind = predefined_datatype(basic.datatype).map_or(ANYTHING, kind_of);
        Self {
            hash: basic.datatype.0 as u64 % PRIME,
            hash_of_kinds: kind.into(),
            power: BASE,
            elements: if kind == ANYTHING { Elements::Anything } else { Elements::Alike(kind) },
            first: basic.datatype.0 as u8,
            one_type: true,
            packed: basic.datatype == MPI_PACKED,
        }
    }

    /// This one, then the other.
    pub fn then(self, other: Self) -> Self {
        let elements = match (self.elements, other.elements) {
            (Elements::None, elements) | (elements, Elements::None) => elements,
            (Elements::Anything, _) | (_, Elements::Anything) => Elements::Anything,
            (one, another) if one == another => one,
            _ => Elements::Mixed,
        };
        let nothing = (self.elements == Elements::None, other.elements == Elements::None);
        Self {
            hash: plus(times(self.hash, other.power), other.hash),
            hash_of_kinds: plus(times(self.hash_of_kinds, other.power), other.hash_of_kinds),
            power: times(self.power, other.power),
            elements,
            first: if nothing.0 { other.first } else { self.first },
            one_type: self.one_type
                && other.one_type
                && (nothing.0 || nothing.1 || self.first == other.first),
            packed: self.packed || other.packed,
        }
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

    /// What members of a collective compare: types that match have the same tag, or one has 0; of types that
    /// do not match nearly all have different ones.
    pub fn tag(self) -> u16 {
        match self.elements {
            Elements::None | Elements::Anything => ANYTHING,
            Elements::Alike(kind) => kind,
            Elements::Mixed => {
                let hash = self.hash_of_kinds;
                (hash ^ hash >> 16 ^ hash >> 32 ^ hash >> 48) as u16 | HASHED
            }
        }
    }

    /// Whether all elements are of one kind.
    pub fn is_of_one_kind(self) -> bool {
        matches!(self.elements, Elements::Alike(_))
    }

    /// Whether there is nothing that programs would not take for anything else: no elements, or bytes among
    /// them.
    pub fn matches_anything(self) -> bool {
        matches!(self.elements, Elements::None | Elements::Anything)
    }

    /// Whether there is nothing that the standard compares: no elements, or packed ones among them.
    pub fn is_packed(self) -> bool {
        self.packed || self.elements == Elements::None
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::super::Datatypes;
    use super::*;

    pub fn of(datatype: MPI_Datatype) -> Signature {
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

    #[test]
    fn tags_tell_types_apart_that_do_not_match_and_no_others() {
        let types = Datatypes::comparing(bcs_core::TypeCheck::Off);
        let tag = |datatype| types.tag_of(3, datatype);
        assert_ne!(tag(MPI_INT), tag(MPI_FLOAT));
        assert_ne!(tag(MPI_INT), tag(MPI_DOUBLE));
        assert_ne!(tag(MPI_C_FLOAT_COMPLEX), tag(MPI_DOUBLE));
        assert_eq!(tag(MPI_INT), tag(MPI_INTEGER));
        assert_eq!(tag(MPI_BYTE), ANYTHING);
        assert_eq!(of(MPI_INT).repeated(7).tag(), tag(MPI_INT));
        let mixed = of(MPI_INT).then(of(MPI_DOUBLE));
        assert_ne!(mixed.tag(), of(MPI_DOUBLE).then(of(MPI_INT)).tag());
        assert_eq!(mixed.repeated(6).tag(), mixed.then(mixed).repeated(3).tag());
        assert_eq!(mixed.then(of(MPI_BYTE)).tag(), ANYTHING);
        assert_eq!(mixed.tag(), of(MPI_INTEGER).then(of(MPI_DOUBLE_PRECISION)).tag());
    }
}
