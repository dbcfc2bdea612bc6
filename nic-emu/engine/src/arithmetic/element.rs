//! The element types that the NIC can combine (MPI-5.0, §6.9.2 and §6.9.4).
//!
//! Logical types of C and Fortran are combined as the integers of their size. A type travels in
//! descriptors as its discriminant, so discriminants never change their meaning.

numbered! {
    /// Type of the elements of an operand vector.
    pub enum ElementType {
        /// Signed integer of 1 byte.
        I8 = 0 "i8",
        /// Signed integer of 2 bytes.
        I16 = 1 "i16",
        /// Signed integer of 4 bytes.
        I32 = 2 "i32",
        /// Signed integer of 8 bytes.
        I64 = 3 "i64",
        /// Unsigned integer of 1 byte.
        U8 = 4 "u8",
        /// Unsigned integer of 2 bytes.
        U16 = 5 "u16",
        /// Unsigned integer of 4 bytes.
        U32 = 6 "u32",
        /// Unsigned integer of 8 bytes.
        U64 = 7 "u64",
        /// IEEE 754 binary16.
        F16 = 8 "f16",
        /// bfloat16: the upper half of an IEEE 754 binary32.
        Bf16 = 9 "bf16",
        /// IEEE 754 binary32.
        F32 = 10 "f32",
        /// IEEE 754 binary64.
        F64 = 11 "f64",
        /// Complex of two [`ElementType::F32`]: real part, imaginary part.
        ComplexF32 = 12 "complexf32",
        /// Complex of two [`ElementType::F64`]: real part, imaginary part.
        ComplexF64 = 13 "complexf64",
        /// Uninterpreted byte (`MPI_BYTE`).
        Byte = 14 "byte",
        /// `MPI_FLOAT_INT`: `struct { float value; int index; }`, 8 bytes.
        F32I32 = 15 "f32i32",
        /// `MPI_DOUBLE_INT`: `struct { double value; int index; }`, 16 bytes, the last 4 padding.
        F64I32 = 16 "f64i32",
        /// `MPI_LONG_INT`: `struct { long value; int index; }`, 16 bytes, the last 4 padding.
        I64I32 = 17 "i64i32",
        /// `MPI_2INT`: `struct { int value; int index; }`, 8 bytes.
        I32I32 = 18 "i32i32",
        /// `MPI_SHORT_INT`: `struct { short value; int index; }`, 8 bytes, bytes 2 and 3 padding.
        I16I32 = 19 "i16i32",
        /// `MPI_2REAL` of Fortran: value and index are both [`ElementType::F32`].
        F32F32 = 20 "f32f32",
        /// `MPI_2DOUBLE_PRECISION` of Fortran: value and index are both [`ElementType::F64`].
        F64F64 = 21 "f64f64",
    }
}

impl ElementType {
    /// Extent of one element in memory, padding included, in bytes.
    #[inline]
    pub const fn size(self) -> usize {
        1 << self.size_log2()
    }

    /// Base-2 logarithm of [`ElementType::size`]: every extent is a power of two.
    #[inline]
    pub(super) const fn size_log2(self) -> u32 {
        match self {
            Self::I8 | Self::U8 | Self::Byte => 0,
            Self::I16 | Self::U16 | Self::F16 | Self::Bf16 => 1,
            Self::I32 | Self::U32 | Self::F32 => 2,
            Self::I64
            | Self::U64
            | Self::F64
            | Self::ComplexF32
            | Self::F32I32
            | Self::I32I32
            | Self::I16I32
            | Self::F32F32 => 3,
            Self::ComplexF64 | Self::F64I32 | Self::I64I32 | Self::F64F64 => 4,
        }
    }

    /// The bytes of an element that are no padding: where they begin, and how many.
    #[inline]
    pub const fn parts(self) -> &'static [(usize, usize)] {
        match self {
            Self::F64I32 | Self::I64I32 => &[(0, 12)],
            Self::I16I32 => &[(0, 2), (4, 4)],
            _ => &[(0, usize::MAX)],
        }
    }

    /// Whether this is a value with an index, for MAXLOC and MINLOC.
    #[inline]
    pub const fn is_pair(self) -> bool {
        self as u8 >= Self::F32I32 as u8
    }
}
