//! Type matching of point-to-point messages (MPI-5.0, §3.3.1), where the user asks for it ([`TypeCheck`]): a
//! message carries 16 bits of its type, and who receives it compares them with those of the receive's.
//!
//! ```text
//!  0                                nothing is known, or all matches: packed data; bytes, where kinds are compared
//!  0 | exact:1 | number             elements of one basic type (of one kind), by the number of its handle: however many there are
//!  1 | exact:1 | hash:14            elements of several types: compared where message and receive are as long as each other
//! ```
//!
//! A receive may be longer than its message, whose elements then have to be its first ones. That is compared
//! where all elements are alike.

use super::signature::{Signature, kind_of_number};
use super::table::Datatypes;
use crate::constants::*;
use bcs_core::TypeCheck;

const SEVERAL: u16 = 0x8000;
/// Of [`TypeCheck::Strict`]. What a sender tells who compares otherwise than its receiver tells nothing.
const EXACT: u16 = 0x4000;
const HASH: u16 = EXACT - 1;

impl Datatypes {
    /// Whether types of messages are compared at all.
    #[inline(always)]
    pub fn are_compared(&self) -> bool {
        self.check != TypeCheck::Off
    }

    /// What a message, or a receive, of so many elements tells of its type; 0 where types are not compared,
    /// or where there is nothing to tell. Calls whose every instruction counts come in two versions, one for
    /// where `COMPARED` is known to be false.
    #[inline(always)]
    pub fn told<const COMPARED: bool>(&self, count: i64, datatype: MPI_Datatype) -> u16 {
        if COMPARED && self.are_compared() { self.told_of(count, datatype) } else { 0 }
    }

    #[cold]
    fn told_of(&self, count: i64, datatype: MPI_Datatype) -> u16 {
        // What is no datatype is refused where the rest of the call's arguments is.
        let signature = self.committed("datatype", datatype).map_or(Signature::EMPTY, |of| of.signature);
        tell(self.check, signature, count)
    }
}

fn tell(check: TypeCheck, signature: Signature, count: i64) -> u16 {
    let number = u16::from(signature.first);
    match check {
        TypeCheck::Off => 0,
        TypeCheck::Kinds if signature.matches_anything() => 0,
        TypeCheck::Kinds if signature.is_of_one_kind() => number,
        TypeCheck::Kinds => SEVERAL | folded(signature.repeated(count).hash_of_kinds),
        TypeCheck::Strict if signature.is_packed() => 0,
        TypeCheck::Strict if signature.one_type => EXACT | number,
        TypeCheck::Strict => SEVERAL | EXACT | folded(signature.repeated(count).hash),
    }
}

fn folded(hash: u64) -> u16 {
    (hash ^ hash >> 14 ^ hash >> 28 ^ hash >> 42) as u16 & HASH
}

/// Whether a message that tells this cannot be meant for a receive that tells that; each after its bytes,
/// those of the message and those that the receive has room for.
pub fn differ((bytes, sent): (u64, u16), (room, wanted): (u64, u16)) -> bool {
    let comparable = sent != 0 && wanted != 0 && (sent ^ wanted) & EXACT == 0;
    if !comparable || sent == wanted || bytes == 0 {
        return false;
    }
    if (sent | wanted) & SEVERAL != 0 {
        return bytes == room;
    }
    sent & EXACT != 0 || kind_of_number(sent as u8) != kind_of_number(wanted as u8)
}

/// What is told, as people read it: "MPI_INT".
pub fn told_name(told: u16) -> &'static str {
    let number = usize::from(told & !(SEVERAL | EXACT));
    let known = predefined_datatype(MPI_Datatype(MPI_DATATYPE_NULL.0 + number));
    known.filter(|_| told & SEVERAL == 0).map_or("several types", |datatype| datatype.name)
}

#[cfg(test)]
mod tests {
    use super::super::signature::tests::of;
    use super::*;

    /// Whether 12 bytes of one signature are refused where there is room for that many of another.
    fn refused(check: TypeCheck, sent: Signature, wanted: Signature, room: u64) -> bool {
        differ((12, tell(check, sent, 1)), (room, tell(check, wanted, 1)))
    }

    #[test]
    fn the_standard_s_rule_wants_the_same_types_and_that_of_kinds_refuses_only_what_cannot_be_meant() {
        // The types, and whether messages of one are refused by receives of the other: by the standard's
        // rule, and where kinds are compared.
        for (one, other, strict, kinds) in [
            (MPI_INT, MPI_FLOAT, true, true),
            (MPI_FLOAT, MPI_DOUBLE, true, true),
            (MPI_C_COMPLEX, MPI_DOUBLE, true, true),
            (MPI_INT, MPI_UNSIGNED, true, false),
            (MPI_INT, MPI_INTEGER, true, false),
            (MPI_BYTE, MPI_INT, true, false),
            (MPI_BYTE, MPI_DOUBLE, true, false),
            (MPI_CHAR, MPI_BYTE, true, false),
            (MPI_CHAR, MPI_CHARACTER, true, false),
            (MPI_INT, MPI_INT, false, false),
            (MPI_BYTE, MPI_BYTE, false, false),
            (MPI_PACKED, MPI_INT, false, false),
            (MPI_PACKED, MPI_BYTE, false, false),
        ] {
            for (check, expected) in [(TypeCheck::Strict, strict), (TypeCheck::Kinds, kinds)] {
                let told = [refused(check, of(one), of(other), 100), refused(check, of(other), of(one), 100)];
                assert_eq!(told, [expected; 2], "{one:?} {other:?} {check:?}");
            }
        }
    }

    #[test]
    fn mixed_types_are_compared_where_their_lengths_are_the_same() {
        let (one, other) = (of(MPI_INT).then(of(MPI_DOUBLE)), of(MPI_DOUBLE).then(of(MPI_INT)));
        for check in [TypeCheck::Kinds, TypeCheck::Strict] {
            assert!(refused(check, one, other, 12) && refused(check, one, of(MPI_INT), 12));
            assert!(!refused(check, one, other, 24) && !refused(check, one, one, 12));
            assert!(!refused(check, one.then(of(MPI_PACKED)), other, 12));
        }
        let fortran = of(MPI_INTEGER).then(of(MPI_DOUBLE_PRECISION));
        assert!(!refused(TypeCheck::Kinds, one, fortran, 12));
        assert!(refused(TypeCheck::Strict, one, fortran, 12));
        assert!(refused(TypeCheck::Strict, one.then(of(MPI_BYTE)), other, 12));
        assert!(!refused(TypeCheck::Kinds, one.then(of(MPI_BYTE)), other, 12));
        let twice = (tell(TypeCheck::Strict, one, 2), tell(TypeCheck::Strict, one.then(one), 1));
        assert_eq!(twice.0, twice.1);
    }

    #[test]
    fn nothing_is_compared_of_empty_messages_and_between_who_compares_otherwise() {
        let (int, float) = (of(MPI_INT), of(MPI_FLOAT));
        let told = |check, signature| tell(check, signature, 1);
        assert!(!differ((0, told(TypeCheck::Strict, int)), (0, told(TypeCheck::Strict, float))));
        assert!(!differ((4, told(TypeCheck::Strict, int)), (4, told(TypeCheck::Kinds, float))));
        assert_eq!(told(TypeCheck::Off, int), 0);
    }
}
