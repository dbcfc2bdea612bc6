//! Predefined datatypes: handles, sizes and classes.
//!
//! Made by `mpi-abi-table write` from the tables in `bcs-mpi/abi/table` (MPI-5.0, chapter 20 and
//! appendix A.1); change those, not this file.

use super::{Class, Datatype, MPI_Datatype};

datatypes! { 71;
    MPI_DATATYPE_NULL = 0x200 Null 0 0 "none" "MPI-1.0";
    MPI_AINT = 0x201 MultiLanguage 8 8 "MPI_Aint" "MPI-2.2";
    MPI_COUNT = 0x202 MultiLanguage 8 8 "MPI_Count" "MPI-3.0";
    MPI_OFFSET = 0x203 MultiLanguage 8 8 "MPI_Offset" "MPI-2.2";
    MPI_PACKED = 0x207 Packed 1 1 "bytes made by MPI_Pack" "MPI-1.0";
    MPI_SHORT = 0x208 CInteger 2 2 "short" "MPI-1.0";
    MPI_INT = 0x209 CInteger 4 4 "int" "MPI-1.0";
    MPI_LONG = 0x20a CInteger 8 8 "long" "MPI-1.0";
    MPI_LONG_LONG = 0x20b CInteger 8 8 "long long" "MPI-2.0";
    MPI_UNSIGNED_SHORT = 0x20c CInteger 2 2 "unsigned short" "MPI-1.0";
    MPI_UNSIGNED = 0x20d CInteger 4 4 "unsigned int" "MPI-1.0";
    MPI_UNSIGNED_LONG = 0x20e CInteger 8 8 "unsigned long" "MPI-1.0";
    MPI_UNSIGNED_LONG_LONG = 0x20f CInteger 8 8 "unsigned long long" "MPI-2.0";
    MPI_FLOAT = 0x210 Floating 4 4 "float" "MPI-1.0";
    MPI_C_FLOAT_COMPLEX = 0x212 Complex 8 8 "float _Complex" "MPI-2.2";
    MPI_CXX_FLOAT_COMPLEX = 0x213 Complex 8 8 "C++: std::complex<float>" "MPI-3.0";
    MPI_DOUBLE = 0x214 Floating 8 8 "double" "MPI-1.0";
    MPI_C_DOUBLE_COMPLEX = 0x216 Complex 16 16 "double _Complex" "MPI-2.2";
    MPI_CXX_DOUBLE_COMPLEX = 0x217 Complex 16 16 "C++: std::complex<double>" "MPI-3.0";
    MPI_LOGICAL = 0x218 Logical 4 4 "F: LOGICAL" "MPI-1.0";
    MPI_INTEGER = 0x219 FortranInteger 4 4 "F: INTEGER" "MPI-1.0";
    MPI_REAL = 0x21a Floating 4 4 "F: REAL" "MPI-1.0";
    MPI_COMPLEX = 0x21b Complex 8 8 "F: COMPLEX" "MPI-1.0";
    MPI_DOUBLE_PRECISION = 0x21c Floating 8 8 "F: DOUBLE PRECISION" "MPI-1.0";
    MPI_DOUBLE_COMPLEX = 0x21d Complex 16 16 "F: DOUBLE COMPLEX" "MPI-1.0";
    MPI_CHARACTER = 0x21e Character 1 1 "F: CHARACTER(1)" "MPI-1.0";
    MPI_LONG_DOUBLE = 0x220 Floating 16 16 "long double" "MPI-1.0";
    MPI_C_LONG_DOUBLE_COMPLEX = 0x224 Complex 32 32 "long double _Complex" "MPI-2.2";
    MPI_CXX_LONG_DOUBLE_COMPLEX = 0x225 Complex 32 32 "C++: std::complex<long double>" "MPI-3.0";
    MPI_FLOAT_INT = 0x228 Pair 8 8 "struct { float; int; }" "MPI-1.0";
    MPI_DOUBLE_INT = 0x229 Pair 12 16 "struct { double; int; }" "MPI-1.0";
    MPI_LONG_INT = 0x22a Pair 12 16 "struct { long; int; }" "MPI-1.0";
    MPI_2INT = 0x22b Pair 8 8 "struct { int; int; }" "MPI-1.0";
    MPI_SHORT_INT = 0x22c Pair 6 8 "struct { short; int; }" "MPI-1.0";
    MPI_LONG_DOUBLE_INT = 0x22d Pair 20 32 "struct { long double; int; }" "MPI-1.0";
    MPI_2REAL = 0x230 Pair 8 8 "F: two REAL" "MPI-1.0";
    MPI_2DOUBLE_PRECISION = 0x231 Pair 16 16 "F: two DOUBLE PRECISION" "MPI-1.0";
    MPI_2INTEGER = 0x232 Pair 8 8 "F: two INTEGER" "MPI-1.0";
    MPI_C_BOOL = 0x238 Logical 1 1 "_Bool" "MPI-2.2";
    MPI_CXX_BOOL = 0x239 Logical 1 1 "C++: bool" "MPI-3.0";
    MPI_WCHAR = 0x23c Character 4 4 "wchar_t" "MPI-2.0";
    MPI_INT8_T = 0x240 CInteger 1 1 "int8_t" "MPI-2.2";
    MPI_UINT8_T = 0x241 CInteger 1 1 "uint8_t" "MPI-2.2";
    MPI_CHAR = 0x243 Character 1 1 "char" "MPI-1.0";
    MPI_SIGNED_CHAR = 0x244 CInteger 1 1 "signed char" "MPI-2.0";
    MPI_UNSIGNED_CHAR = 0x245 CInteger 1 1 "unsigned char" "MPI-1.0";
    MPI_BYTE = 0x247 Byte 1 1 "eight bits without meaning" "MPI-1.0";
    MPI_INT16_T = 0x248 CInteger 2 2 "int16_t" "MPI-2.2";
    MPI_UINT16_T = 0x249 CInteger 2 2 "uint16_t" "MPI-2.2";
    MPI_INT32_T = 0x250 CInteger 4 4 "int32_t" "MPI-2.2";
    MPI_UINT32_T = 0x251 CInteger 4 4 "uint32_t" "MPI-2.2";
    MPI_INT64_T = 0x258 CInteger 8 8 "int64_t" "MPI-2.2";
    MPI_UINT64_T = 0x259 CInteger 8 8 "uint64_t" "MPI-2.2";
    MPI_LOGICAL1 = 0x2c0 Logical 1 1 "F: LOGICAL*1" "MPI-5.0";
    MPI_INTEGER1 = 0x2c1 FortranInteger 1 1 "F: INTEGER*1" "MPI-1.0";
    MPI_LOGICAL2 = 0x2c8 Logical 2 2 "F: LOGICAL*2" "MPI-5.0";
    MPI_INTEGER2 = 0x2c9 FortranInteger 2 2 "F: INTEGER*2" "MPI-1.0";
    MPI_REAL2 = 0x2ca Floating 2 2 "F: REAL*2" "MPI-1.0";
    MPI_LOGICAL4 = 0x2d0 Logical 4 4 "F: LOGICAL*4" "MPI-5.0";
    MPI_INTEGER4 = 0x2d1 FortranInteger 4 4 "F: INTEGER*4" "MPI-1.0";
    MPI_REAL4 = 0x2d2 Floating 4 4 "F: REAL*4" "MPI-1.0";
    MPI_COMPLEX4 = 0x2d3 Complex 4 4 "F: COMPLEX*4" "MPI-2.2";
    MPI_LOGICAL8 = 0x2d8 Logical 8 8 "F: LOGICAL*8" "MPI-5.0";
    MPI_INTEGER8 = 0x2d9 FortranInteger 8 8 "F: INTEGER*8" "MPI-2.0";
    MPI_REAL8 = 0x2da Floating 8 8 "F: REAL*8" "MPI-1.0";
    MPI_COMPLEX8 = 0x2db Complex 8 8 "F: COMPLEX*8" "MPI-2.0";
    MPI_LOGICAL16 = 0x2e0 Logical 16 16 "F: LOGICAL*16" "MPI-5.0";
    MPI_INTEGER16 = 0x2e1 FortranInteger 16 16 "F: INTEGER*16" "MPI-2.0";
    MPI_REAL16 = 0x2e2 Floating 16 16 "F: REAL*16" "MPI-2.0";
    MPI_COMPLEX16 = 0x2e3 Complex 16 16 "F: COMPLEX*16" "MPI-2.0";
    MPI_COMPLEX32 = 0x2eb Complex 32 32 "F: COMPLEX*32" "MPI-2.0";
}

/// `long long` (MPI-1.0).
pub const MPI_LONG_LONG_INT: MPI_Datatype = MPI_LONG_LONG;

/// `float _Complex` (MPI-2.2).
pub const MPI_C_COMPLEX: MPI_Datatype = MPI_C_FLOAT_COMPLEX;
