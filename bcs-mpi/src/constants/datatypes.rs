//! Predefined datatypes: handles, sizes and classes.
//!
//! Made by `mpi-abi-table write` from the tables in `bcs-mpi/abi/table` (MPI-5.0, chapter 20 and appendix A.1);
//! change those, not this file.

use super::{Class, Datatype, MPI_Datatype};

/// `none` (MPI-1.0).
pub const MPI_DATATYPE_NULL: MPI_Datatype = MPI_Datatype(0x200);
/// `MPI_Aint` (MPI-2.2).
pub const MPI_AINT: MPI_Datatype = MPI_Datatype(0x201);
/// `MPI_Count` (MPI-3.0).
pub const MPI_COUNT: MPI_Datatype = MPI_Datatype(0x202);
/// `MPI_Offset` (MPI-2.2).
pub const MPI_OFFSET: MPI_Datatype = MPI_Datatype(0x203);
/// `bytes made by MPI_Pack` (MPI-1.0).
pub const MPI_PACKED: MPI_Datatype = MPI_Datatype(0x207);
/// `short` (MPI-1.0).
pub const MPI_SHORT: MPI_Datatype = MPI_Datatype(0x208);
/// `int` (MPI-1.0).
pub const MPI_INT: MPI_Datatype = MPI_Datatype(0x209);
/// `long` (MPI-1.0).
pub const MPI_LONG: MPI_Datatype = MPI_Datatype(0x20a);
/// `long long` (MPI-2.0).
pub const MPI_LONG_LONG: MPI_Datatype = MPI_Datatype(0x20b);
/// `long long` (MPI-1.0).
pub const MPI_LONG_LONG_INT: MPI_Datatype = MPI_LONG_LONG;
/// `unsigned short` (MPI-1.0).
pub const MPI_UNSIGNED_SHORT: MPI_Datatype = MPI_Datatype(0x20c);
/// `unsigned int` (MPI-1.0).
pub const MPI_UNSIGNED: MPI_Datatype = MPI_Datatype(0x20d);
/// `unsigned long` (MPI-1.0).
pub const MPI_UNSIGNED_LONG: MPI_Datatype = MPI_Datatype(0x20e);
/// `unsigned long long` (MPI-2.0).
pub const MPI_UNSIGNED_LONG_LONG: MPI_Datatype = MPI_Datatype(0x20f);
/// `float` (MPI-1.0).
pub const MPI_FLOAT: MPI_Datatype = MPI_Datatype(0x210);
/// `float _Complex` (MPI-2.2).
pub const MPI_C_FLOAT_COMPLEX: MPI_Datatype = MPI_Datatype(0x212);
/// `float _Complex` (MPI-2.2).
pub const MPI_C_COMPLEX: MPI_Datatype = MPI_C_FLOAT_COMPLEX;
/// `C++: std::complex<float>` (MPI-3.0).
pub const MPI_CXX_FLOAT_COMPLEX: MPI_Datatype = MPI_Datatype(0x213);
/// `double` (MPI-1.0).
pub const MPI_DOUBLE: MPI_Datatype = MPI_Datatype(0x214);
/// `double _Complex` (MPI-2.2).
pub const MPI_C_DOUBLE_COMPLEX: MPI_Datatype = MPI_Datatype(0x216);
/// `C++: std::complex<double>` (MPI-3.0).
pub const MPI_CXX_DOUBLE_COMPLEX: MPI_Datatype = MPI_Datatype(0x217);
/// `F: LOGICAL` (MPI-1.0).
pub const MPI_LOGICAL: MPI_Datatype = MPI_Datatype(0x218);
/// `F: INTEGER` (MPI-1.0).
pub const MPI_INTEGER: MPI_Datatype = MPI_Datatype(0x219);
/// `F: REAL` (MPI-1.0).
pub const MPI_REAL: MPI_Datatype = MPI_Datatype(0x21a);
/// `F: COMPLEX` (MPI-1.0).
pub const MPI_COMPLEX: MPI_Datatype = MPI_Datatype(0x21b);
/// `F: DOUBLE PRECISION` (MPI-1.0).
pub const MPI_DOUBLE_PRECISION: MPI_Datatype = MPI_Datatype(0x21c);
/// `F: DOUBLE COMPLEX` (MPI-1.0).
pub const MPI_DOUBLE_COMPLEX: MPI_Datatype = MPI_Datatype(0x21d);
/// `F: CHARACTER(1)` (MPI-1.0).
pub const MPI_CHARACTER: MPI_Datatype = MPI_Datatype(0x21e);
/// `long double` (MPI-1.0).
pub const MPI_LONG_DOUBLE: MPI_Datatype = MPI_Datatype(0x220);
/// `long double _Complex` (MPI-2.2).
pub const MPI_C_LONG_DOUBLE_COMPLEX: MPI_Datatype = MPI_Datatype(0x224);
/// `C++: std::complex<long double>` (MPI-3.0).
pub const MPI_CXX_LONG_DOUBLE_COMPLEX: MPI_Datatype = MPI_Datatype(0x225);
/// `struct { float; int; }` (MPI-1.0).
pub const MPI_FLOAT_INT: MPI_Datatype = MPI_Datatype(0x228);
/// `struct { double; int; }` (MPI-1.0).
pub const MPI_DOUBLE_INT: MPI_Datatype = MPI_Datatype(0x229);
/// `struct { long; int; }` (MPI-1.0).
pub const MPI_LONG_INT: MPI_Datatype = MPI_Datatype(0x22a);
/// `struct { int; int; }` (MPI-1.0).
pub const MPI_2INT: MPI_Datatype = MPI_Datatype(0x22b);
/// `struct { short; int; }` (MPI-1.0).
pub const MPI_SHORT_INT: MPI_Datatype = MPI_Datatype(0x22c);
/// `struct { long double; int; }` (MPI-1.0).
pub const MPI_LONG_DOUBLE_INT: MPI_Datatype = MPI_Datatype(0x22d);
/// `F: two REAL` (MPI-1.0).
pub const MPI_2REAL: MPI_Datatype = MPI_Datatype(0x230);
/// `F: two DOUBLE PRECISION` (MPI-1.0).
pub const MPI_2DOUBLE_PRECISION: MPI_Datatype = MPI_Datatype(0x231);
/// `F: two INTEGER` (MPI-1.0).
pub const MPI_2INTEGER: MPI_Datatype = MPI_Datatype(0x232);
/// `_Bool` (MPI-2.2).
pub const MPI_C_BOOL: MPI_Datatype = MPI_Datatype(0x238);
/// `C++: bool` (MPI-3.0).
pub const MPI_CXX_BOOL: MPI_Datatype = MPI_Datatype(0x239);
/// `wchar_t` (MPI-2.0).
pub const MPI_WCHAR: MPI_Datatype = MPI_Datatype(0x23c);
/// `int8_t` (MPI-2.2).
pub const MPI_INT8_T: MPI_Datatype = MPI_Datatype(0x240);
/// `uint8_t` (MPI-2.2).
pub const MPI_UINT8_T: MPI_Datatype = MPI_Datatype(0x241);
/// `char` (MPI-1.0).
pub const MPI_CHAR: MPI_Datatype = MPI_Datatype(0x243);
/// `signed char` (MPI-2.0).
pub const MPI_SIGNED_CHAR: MPI_Datatype = MPI_Datatype(0x244);
/// `unsigned char` (MPI-1.0).
pub const MPI_UNSIGNED_CHAR: MPI_Datatype = MPI_Datatype(0x245);
/// `eight bits without meaning` (MPI-1.0).
pub const MPI_BYTE: MPI_Datatype = MPI_Datatype(0x247);
/// `int16_t` (MPI-2.2).
pub const MPI_INT16_T: MPI_Datatype = MPI_Datatype(0x248);
/// `uint16_t` (MPI-2.2).
pub const MPI_UINT16_T: MPI_Datatype = MPI_Datatype(0x249);
/// `int32_t` (MPI-2.2).
pub const MPI_INT32_T: MPI_Datatype = MPI_Datatype(0x250);
/// `uint32_t` (MPI-2.2).
pub const MPI_UINT32_T: MPI_Datatype = MPI_Datatype(0x251);
/// `int64_t` (MPI-2.2).
pub const MPI_INT64_T: MPI_Datatype = MPI_Datatype(0x258);
/// `uint64_t` (MPI-2.2).
pub const MPI_UINT64_T: MPI_Datatype = MPI_Datatype(0x259);
/// `F: LOGICAL*1` (MPI-5.0).
pub const MPI_LOGICAL1: MPI_Datatype = MPI_Datatype(0x2c0);
/// `F: INTEGER*1` (MPI-1.0).
pub const MPI_INTEGER1: MPI_Datatype = MPI_Datatype(0x2c1);
/// `F: LOGICAL*2` (MPI-5.0).
pub const MPI_LOGICAL2: MPI_Datatype = MPI_Datatype(0x2c8);
/// `F: INTEGER*2` (MPI-1.0).
pub const MPI_INTEGER2: MPI_Datatype = MPI_Datatype(0x2c9);
/// `F: REAL*2` (MPI-1.0).
pub const MPI_REAL2: MPI_Datatype = MPI_Datatype(0x2ca);
/// `F: LOGICAL*4` (MPI-5.0).
pub const MPI_LOGICAL4: MPI_Datatype = MPI_Datatype(0x2d0);
/// `F: INTEGER*4` (MPI-1.0).
pub const MPI_INTEGER4: MPI_Datatype = MPI_Datatype(0x2d1);
/// `F: REAL*4` (MPI-1.0).
pub const MPI_REAL4: MPI_Datatype = MPI_Datatype(0x2d2);
/// `F: COMPLEX*4` (MPI-2.2).
pub const MPI_COMPLEX4: MPI_Datatype = MPI_Datatype(0x2d3);
/// `F: LOGICAL*8` (MPI-5.0).
pub const MPI_LOGICAL8: MPI_Datatype = MPI_Datatype(0x2d8);
/// `F: INTEGER*8` (MPI-2.0).
pub const MPI_INTEGER8: MPI_Datatype = MPI_Datatype(0x2d9);
/// `F: REAL*8` (MPI-1.0).
pub const MPI_REAL8: MPI_Datatype = MPI_Datatype(0x2da);
/// `F: COMPLEX*8` (MPI-2.0).
pub const MPI_COMPLEX8: MPI_Datatype = MPI_Datatype(0x2db);
/// `F: LOGICAL*16` (MPI-5.0).
pub const MPI_LOGICAL16: MPI_Datatype = MPI_Datatype(0x2e0);
/// `F: INTEGER*16` (MPI-2.0).
pub const MPI_INTEGER16: MPI_Datatype = MPI_Datatype(0x2e1);
/// `F: REAL*16` (MPI-2.0).
pub const MPI_REAL16: MPI_Datatype = MPI_Datatype(0x2e2);
/// `F: COMPLEX*16` (MPI-2.0).
pub const MPI_COMPLEX16: MPI_Datatype = MPI_Datatype(0x2e3);
/// `F: COMPLEX*32` (MPI-2.0).
pub const MPI_COMPLEX32: MPI_Datatype = MPI_Datatype(0x2eb);

/// All predefined datatypes in order of their handles; a name that is an alias is not repeated.
#[rustfmt::skip]
pub static DATATYPES: [Datatype; 71] = [
    Datatype { name: "MPI_DATATYPE_NULL", handle: MPI_DATATYPE_NULL, class: Class::Null, size: 0, extent: 0, element: "none" },
    Datatype { name: "MPI_AINT", handle: MPI_AINT, class: Class::MultiLanguage, size: 8, extent: 8, element: "MPI_Aint" },
    Datatype { name: "MPI_COUNT", handle: MPI_COUNT, class: Class::MultiLanguage, size: 8, extent: 8, element: "MPI_Count" },
    Datatype { name: "MPI_OFFSET", handle: MPI_OFFSET, class: Class::MultiLanguage, size: 8, extent: 8, element: "MPI_Offset" },
    Datatype { name: "MPI_PACKED", handle: MPI_PACKED, class: Class::Packed, size: 1, extent: 1, element: "bytes made by MPI_Pack" },
    Datatype { name: "MPI_SHORT", handle: MPI_SHORT, class: Class::CInteger, size: 2, extent: 2, element: "short" },
    Datatype { name: "MPI_INT", handle: MPI_INT, class: Class::CInteger, size: 4, extent: 4, element: "int" },
    Datatype { name: "MPI_LONG", handle: MPI_LONG, class: Class::CInteger, size: 8, extent: 8, element: "long" },
    Datatype { name: "MPI_LONG_LONG", handle: MPI_LONG_LONG, class: Class::CInteger, size: 8, extent: 8, element: "long long" },
    Datatype { name: "MPI_UNSIGNED_SHORT", handle: MPI_UNSIGNED_SHORT, class: Class::CInteger, size: 2, extent: 2, element: "unsigned short" },
    Datatype { name: "MPI_UNSIGNED", handle: MPI_UNSIGNED, class: Class::CInteger, size: 4, extent: 4, element: "unsigned int" },
    Datatype { name: "MPI_UNSIGNED_LONG", handle: MPI_UNSIGNED_LONG, class: Class::CInteger, size: 8, extent: 8, element: "unsigned long" },
    Datatype { name: "MPI_UNSIGNED_LONG_LONG", handle: MPI_UNSIGNED_LONG_LONG, class: Class::CInteger, size: 8, extent: 8, element: "unsigned long long" },
    Datatype { name: "MPI_FLOAT", handle: MPI_FLOAT, class: Class::Floating, size: 4, extent: 4, element: "float" },
    Datatype { name: "MPI_C_FLOAT_COMPLEX", handle: MPI_C_FLOAT_COMPLEX, class: Class::Complex, size: 8, extent: 8, element: "float _Complex" },
    Datatype { name: "MPI_CXX_FLOAT_COMPLEX", handle: MPI_CXX_FLOAT_COMPLEX, class: Class::Complex, size: 8, extent: 8, element: "C++: std::complex<float>" },
    Datatype { name: "MPI_DOUBLE", handle: MPI_DOUBLE, class: Class::Floating, size: 8, extent: 8, element: "double" },
    Datatype { name: "MPI_C_DOUBLE_COMPLEX", handle: MPI_C_DOUBLE_COMPLEX, class: Class::Complex, size: 16, extent: 16, element: "double _Complex" },
    Datatype { name: "MPI_CXX_DOUBLE_COMPLEX", handle: MPI_CXX_DOUBLE_COMPLEX, class: Class::Complex, size: 16, extent: 16, element: "C++: std::complex<double>" },
    Datatype { name: "MPI_LOGICAL", handle: MPI_LOGICAL, class: Class::Logical, size: 4, extent: 4, element: "F: LOGICAL" },
    Datatype { name: "MPI_INTEGER", handle: MPI_INTEGER, class: Class::FortranInteger, size: 4, extent: 4, element: "F: INTEGER" },
    Datatype { name: "MPI_REAL", handle: MPI_REAL, class: Class::Floating, size: 4, extent: 4, element: "F: REAL" },
    Datatype { name: "MPI_COMPLEX", handle: MPI_COMPLEX, class: Class::Complex, size: 8, extent: 8, element: "F: COMPLEX" },
    Datatype { name: "MPI_DOUBLE_PRECISION", handle: MPI_DOUBLE_PRECISION, class: Class::Floating, size: 8, extent: 8, element: "F: DOUBLE PRECISION" },
    Datatype { name: "MPI_DOUBLE_COMPLEX", handle: MPI_DOUBLE_COMPLEX, class: Class::Complex, size: 16, extent: 16, element: "F: DOUBLE COMPLEX" },
    Datatype { name: "MPI_CHARACTER", handle: MPI_CHARACTER, class: Class::Character, size: 1, extent: 1, element: "F: CHARACTER(1)" },
    Datatype { name: "MPI_LONG_DOUBLE", handle: MPI_LONG_DOUBLE, class: Class::Floating, size: 16, extent: 16, element: "long double" },
    Datatype { name: "MPI_C_LONG_DOUBLE_COMPLEX", handle: MPI_C_LONG_DOUBLE_COMPLEX, class: Class::Complex, size: 32, extent: 32, element: "long double _Complex" },
    Datatype { name: "MPI_CXX_LONG_DOUBLE_COMPLEX", handle: MPI_CXX_LONG_DOUBLE_COMPLEX, class: Class::Complex, size: 32, extent: 32, element: "C++: std::complex<long double>" },
    Datatype { name: "MPI_FLOAT_INT", handle: MPI_FLOAT_INT, class: Class::Pair, size: 8, extent: 8, element: "struct { float; int; }" },
    Datatype { name: "MPI_DOUBLE_INT", handle: MPI_DOUBLE_INT, class: Class::Pair, size: 12, extent: 16, element: "struct { double; int; }" },
    Datatype { name: "MPI_LONG_INT", handle: MPI_LONG_INT, class: Class::Pair, size: 12, extent: 16, element: "struct { long; int; }" },
    Datatype { name: "MPI_2INT", handle: MPI_2INT, class: Class::Pair, size: 8, extent: 8, element: "struct { int; int; }" },
    Datatype { name: "MPI_SHORT_INT", handle: MPI_SHORT_INT, class: Class::Pair, size: 6, extent: 8, element: "struct { short; int; }" },
    Datatype { name: "MPI_LONG_DOUBLE_INT", handle: MPI_LONG_DOUBLE_INT, class: Class::Pair, size: 20, extent: 32, element: "struct { long double; int; }" },
    Datatype { name: "MPI_2REAL", handle: MPI_2REAL, class: Class::Pair, size: 8, extent: 8, element: "F: two REAL" },
    Datatype { name: "MPI_2DOUBLE_PRECISION", handle: MPI_2DOUBLE_PRECISION, class: Class::Pair, size: 16, extent: 16, element: "F: two DOUBLE PRECISION" },
    Datatype { name: "MPI_2INTEGER", handle: MPI_2INTEGER, class: Class::Pair, size: 8, extent: 8, element: "F: two INTEGER" },
    Datatype { name: "MPI_C_BOOL", handle: MPI_C_BOOL, class: Class::Logical, size: 1, extent: 1, element: "_Bool" },
    Datatype { name: "MPI_CXX_BOOL", handle: MPI_CXX_BOOL, class: Class::Logical, size: 1, extent: 1, element: "C++: bool" },
    Datatype { name: "MPI_WCHAR", handle: MPI_WCHAR, class: Class::Character, size: 4, extent: 4, element: "wchar_t" },
    Datatype { name: "MPI_INT8_T", handle: MPI_INT8_T, class: Class::CInteger, size: 1, extent: 1, element: "int8_t" },
    Datatype { name: "MPI_UINT8_T", handle: MPI_UINT8_T, class: Class::CInteger, size: 1, extent: 1, element: "uint8_t" },
    Datatype { name: "MPI_CHAR", handle: MPI_CHAR, class: Class::Character, size: 1, extent: 1, element: "char" },
    Datatype { name: "MPI_SIGNED_CHAR", handle: MPI_SIGNED_CHAR, class: Class::CInteger, size: 1, extent: 1, element: "signed char" },
    Datatype { name: "MPI_UNSIGNED_CHAR", handle: MPI_UNSIGNED_CHAR, class: Class::CInteger, size: 1, extent: 1, element: "unsigned char" },
    Datatype { name: "MPI_BYTE", handle: MPI_BYTE, class: Class::Byte, size: 1, extent: 1, element: "eight bits without meaning" },
    Datatype { name: "MPI_INT16_T", handle: MPI_INT16_T, class: Class::CInteger, size: 2, extent: 2, element: "int16_t" },
    Datatype { name: "MPI_UINT16_T", handle: MPI_UINT16_T, class: Class::CInteger, size: 2, extent: 2, element: "uint16_t" },
    Datatype { name: "MPI_INT32_T", handle: MPI_INT32_T, class: Class::CInteger, size: 4, extent: 4, element: "int32_t" },
    Datatype { name: "MPI_UINT32_T", handle: MPI_UINT32_T, class: Class::CInteger, size: 4, extent: 4, element: "uint32_t" },
    Datatype { name: "MPI_INT64_T", handle: MPI_INT64_T, class: Class::CInteger, size: 8, extent: 8, element: "int64_t" },
    Datatype { name: "MPI_UINT64_T", handle: MPI_UINT64_T, class: Class::CInteger, size: 8, extent: 8, element: "uint64_t" },
    Datatype { name: "MPI_LOGICAL1", handle: MPI_LOGICAL1, class: Class::Logical, size: 1, extent: 1, element: "F: LOGICAL*1" },
    Datatype { name: "MPI_INTEGER1", handle: MPI_INTEGER1, class: Class::FortranInteger, size: 1, extent: 1, element: "F: INTEGER*1" },
    Datatype { name: "MPI_LOGICAL2", handle: MPI_LOGICAL2, class: Class::Logical, size: 2, extent: 2, element: "F: LOGICAL*2" },
    Datatype { name: "MPI_INTEGER2", handle: MPI_INTEGER2, class: Class::FortranInteger, size: 2, extent: 2, element: "F: INTEGER*2" },
    Datatype { name: "MPI_REAL2", handle: MPI_REAL2, class: Class::Floating, size: 2, extent: 2, element: "F: REAL*2" },
    Datatype { name: "MPI_LOGICAL4", handle: MPI_LOGICAL4, class: Class::Logical, size: 4, extent: 4, element: "F: LOGICAL*4" },
    Datatype { name: "MPI_INTEGER4", handle: MPI_INTEGER4, class: Class::FortranInteger, size: 4, extent: 4, element: "F: INTEGER*4" },
    Datatype { name: "MPI_REAL4", handle: MPI_REAL4, class: Class::Floating, size: 4, extent: 4, element: "F: REAL*4" },
    Datatype { name: "MPI_COMPLEX4", handle: MPI_COMPLEX4, class: Class::Complex, size: 4, extent: 4, element: "F: COMPLEX*4" },
    Datatype { name: "MPI_LOGICAL8", handle: MPI_LOGICAL8, class: Class::Logical, size: 8, extent: 8, element: "F: LOGICAL*8" },
    Datatype { name: "MPI_INTEGER8", handle: MPI_INTEGER8, class: Class::FortranInteger, size: 8, extent: 8, element: "F: INTEGER*8" },
    Datatype { name: "MPI_REAL8", handle: MPI_REAL8, class: Class::Floating, size: 8, extent: 8, element: "F: REAL*8" },
    Datatype { name: "MPI_COMPLEX8", handle: MPI_COMPLEX8, class: Class::Complex, size: 8, extent: 8, element: "F: COMPLEX*8" },
    Datatype { name: "MPI_LOGICAL16", handle: MPI_LOGICAL16, class: Class::Logical, size: 16, extent: 16, element: "F: LOGICAL*16" },
    Datatype { name: "MPI_INTEGER16", handle: MPI_INTEGER16, class: Class::FortranInteger, size: 16, extent: 16, element: "F: INTEGER*16" },
    Datatype { name: "MPI_REAL16", handle: MPI_REAL16, class: Class::Floating, size: 16, extent: 16, element: "F: REAL*16" },
    Datatype { name: "MPI_COMPLEX16", handle: MPI_COMPLEX16, class: Class::Complex, size: 16, extent: 16, element: "F: COMPLEX*16" },
    Datatype { name: "MPI_COMPLEX32", handle: MPI_COMPLEX32, class: Class::Complex, size: 32, extent: 32, element: "F: COMPLEX*32" },
];
