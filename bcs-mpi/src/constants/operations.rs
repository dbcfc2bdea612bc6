//! Predefined reduction operations: handles, names and the datatypes that they take.
//!
//! Made by `mpi-abi-table write` from the tables in `bcs-mpi/abi/table` (MPI-5.0, chapter 20 and appendix A.1);
//! change those, not this file.

use super::{Class, ClassSet, MPI_Op, Operation};

/// No operation (MPI-1.0).
pub const MPI_OP_NULL: MPI_Op = MPI_Op(0x20);
/// Sum (MPI-1.0).
pub const MPI_SUM: MPI_Op = MPI_Op(0x21);
/// Smallest (MPI-1.0).
pub const MPI_MIN: MPI_Op = MPI_Op(0x22);
/// Largest (MPI-1.0).
pub const MPI_MAX: MPI_Op = MPI_Op(0x23);
/// Product (MPI-1.0).
pub const MPI_PROD: MPI_Op = MPI_Op(0x24);
/// And of bits (MPI-1.0).
pub const MPI_BAND: MPI_Op = MPI_Op(0x28);
/// Or of bits (MPI-1.0).
pub const MPI_BOR: MPI_Op = MPI_Op(0x29);
/// Exclusive or of bits (MPI-1.0).
pub const MPI_BXOR: MPI_Op = MPI_Op(0x2a);
/// And of truth values (MPI-1.0).
pub const MPI_LAND: MPI_Op = MPI_Op(0x30);
/// Or of truth values (MPI-1.0).
pub const MPI_LOR: MPI_Op = MPI_Op(0x31);
/// Exclusive or of truth values (MPI-1.0).
pub const MPI_LXOR: MPI_Op = MPI_Op(0x32);
/// Smallest, and where it is (MPI-1.0).
pub const MPI_MINLOC: MPI_Op = MPI_Op(0x38);
/// Largest, and where it is (MPI-1.0).
pub const MPI_MAXLOC: MPI_Op = MPI_Op(0x39);
/// The origin's value (one-sided accumulate only) (MPI-2.0).
pub const MPI_REPLACE: MPI_Op = MPI_Op(0x3c);
/// The target's value (one-sided fetch only) (MPI-3.0).
pub const MPI_NO_OP: MPI_Op = MPI_Op(0x3d);

/// All predefined operations in order of their handles.
#[rustfmt::skip]
pub static OPERATIONS: [Operation; 15] = [
    Operation { name: "MPI_OP_NULL", handle: MPI_OP_NULL, classes: ClassSet::of(&[]) },
    Operation { name: "MPI_SUM", handle: MPI_SUM, classes: ClassSet::of(&[Class::CInteger, Class::FortranInteger, Class::Floating, Class::Complex, Class::MultiLanguage]) },
    Operation { name: "MPI_MIN", handle: MPI_MIN, classes: ClassSet::of(&[Class::CInteger, Class::FortranInteger, Class::Floating, Class::MultiLanguage]) },
    Operation { name: "MPI_MAX", handle: MPI_MAX, classes: ClassSet::of(&[Class::CInteger, Class::FortranInteger, Class::Floating, Class::MultiLanguage]) },
    Operation { name: "MPI_PROD", handle: MPI_PROD, classes: ClassSet::of(&[Class::CInteger, Class::FortranInteger, Class::Floating, Class::Complex, Class::MultiLanguage]) },
    Operation { name: "MPI_BAND", handle: MPI_BAND, classes: ClassSet::of(&[Class::CInteger, Class::FortranInteger, Class::Byte, Class::MultiLanguage]) },
    Operation { name: "MPI_BOR", handle: MPI_BOR, classes: ClassSet::of(&[Class::CInteger, Class::FortranInteger, Class::Byte, Class::MultiLanguage]) },
    Operation { name: "MPI_BXOR", handle: MPI_BXOR, classes: ClassSet::of(&[Class::CInteger, Class::FortranInteger, Class::Byte, Class::MultiLanguage]) },
    Operation { name: "MPI_LAND", handle: MPI_LAND, classes: ClassSet::of(&[Class::CInteger, Class::Logical, Class::MultiLanguage]) },
    Operation { name: "MPI_LOR", handle: MPI_LOR, classes: ClassSet::of(&[Class::CInteger, Class::Logical, Class::MultiLanguage]) },
    Operation { name: "MPI_LXOR", handle: MPI_LXOR, classes: ClassSet::of(&[Class::CInteger, Class::Logical, Class::MultiLanguage]) },
    Operation { name: "MPI_MINLOC", handle: MPI_MINLOC, classes: ClassSet::of(&[Class::Pair]) },
    Operation { name: "MPI_MAXLOC", handle: MPI_MAXLOC, classes: ClassSet::of(&[Class::Pair]) },
    Operation { name: "MPI_REPLACE", handle: MPI_REPLACE, classes: ClassSet::of(&[Class::CInteger, Class::FortranInteger, Class::Floating, Class::Logical, Class::Complex, Class::Byte, Class::MultiLanguage, Class::Pair, Class::Character, Class::Packed]) },
    Operation { name: "MPI_NO_OP", handle: MPI_NO_OP, classes: ClassSet::of(&[Class::CInteger, Class::FortranInteger, Class::Floating, Class::Logical, Class::Complex, Class::Byte, Class::MultiLanguage, Class::Pair, Class::Character, Class::Packed]) },
];
