//! The operations of a reduction (MPI-5.0, §6.9.2).
//!
//! An operation travels in descriptors as its discriminant, so discriminants never change their meaning.

numbered! {
    /// Predefined operation of MPI.
    pub enum ReduceOp {
        /// Maximum (`MPI_MAX`).
        Max = 0 "MPI_MAX",
        /// Minimum (`MPI_MIN`).
        Min = 1 "MPI_MIN",
        /// Sum (`MPI_SUM`).
        Sum = 2 "MPI_SUM",
        /// Product (`MPI_PROD`).
        Prod = 3 "MPI_PROD",
        /// Logical and (`MPI_LAND`).
        Land = 4 "MPI_LAND",
        /// Bitwise and (`MPI_BAND`).
        Band = 5 "MPI_BAND",
        /// Logical or (`MPI_LOR`).
        Lor = 6 "MPI_LOR",
        /// Bitwise or (`MPI_BOR`).
        Bor = 7 "MPI_BOR",
        /// Logical exclusive or (`MPI_LXOR`).
        Lxor = 8 "MPI_LXOR",
        /// Bitwise exclusive or (`MPI_BXOR`).
        Bxor = 9 "MPI_BXOR",
        /// Minimum and where it is (`MPI_MINLOC`).
        Minloc = 10 "MPI_MINLOC",
        /// Maximum and where it is (`MPI_MAXLOC`).
        Maxloc = 11 "MPI_MAXLOC",
        /// The incoming (left) operand replaces the other (`MPI_REPLACE` of one-sided communication).
        Replace = 12 "MPI_REPLACE",
        /// The incoming (left) operand is dropped (`MPI_NO_OP` of one-sided communication).
        NoOp = 13 "MPI_NO_OP",
    }
}
