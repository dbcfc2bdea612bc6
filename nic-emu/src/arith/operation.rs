//! The operations of a reduction, and on which types the MPI standard defines them (MPI-5.0, §6.9.2).
//!
//! An operation travels in descriptors as its discriminant, so discriminants never change their meaning.

use super::{ArithError, ElementType};

numbered! {
    /// Predefined operation of MPI.
    pub enum ReduceOp, else UnknownReduceOp {
        /// Maximum (`MPI_MAX`).
        Max = 0,
        /// Minimum (`MPI_MIN`).
        Min = 1,
        /// Sum (`MPI_SUM`).
        Sum = 2,
        /// Product (`MPI_PROD`).
        Prod = 3,
        /// Logical and (`MPI_LAND`).
        Land = 4,
        /// Bitwise and (`MPI_BAND`).
        Band = 5,
        /// Logical or (`MPI_LOR`).
        Lor = 6,
        /// Bitwise or (`MPI_BOR`).
        Bor = 7,
        /// Logical exclusive or (`MPI_LXOR`).
        Lxor = 8,
        /// Bitwise exclusive or (`MPI_BXOR`).
        Bxor = 9,
        /// Minimum and where it is (`MPI_MINLOC`).
        Minloc = 10,
        /// Maximum and where it is (`MPI_MAXLOC`).
        Maxloc = 11,
        /// The incoming (left) operand replaces the other (`MPI_REPLACE` of one-sided communication).
        Replace = 12,
        /// The incoming (left) operand is dropped (`MPI_NO_OP` of one-sided communication).
        NoOp = 13,
    }
}

impl ReduceOp {
    /// Its name in the MPI standard.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Max => "MPI_MAX",
            Self::Min => "MPI_MIN",
            Self::Sum => "MPI_SUM",
            Self::Prod => "MPI_PROD",
            Self::Land => "MPI_LAND",
            Self::Band => "MPI_BAND",
            Self::Lor => "MPI_LOR",
            Self::Bor => "MPI_BOR",
            Self::Lxor => "MPI_LXOR",
            Self::Bxor => "MPI_BXOR",
            Self::Minloc => "MPI_MINLOC",
            Self::Maxloc => "MPI_MAXLOC",
            Self::Replace => "MPI_REPLACE",
            Self::NoOp => "MPI_NO_OP",
        }
    }
}

/// Whether the MPI standard defines `op` on `element` (MPI-5.0, §6.9.2; `Replace` and `NoOp` take every type).
///
/// Classes that this level cannot tell apart, such as a Fortran `LOGICAL` from an integer of its size, are
/// the MPI library's to check.
pub const fn supports(op: ReduceOp, element: ElementType) -> bool {
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
