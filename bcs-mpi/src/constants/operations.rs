//! Predefined reduction operations: handles, names and the datatypes that they take.
//!
//! Made by `mpi-abi-table write` from the tables in `bcs-mpi/abi/table` (MPI-5.0, chapter 20 and
//! appendix A.1); change those, not this file.

use super::{Class, ClassSet, MPI_Op, Operation};

operations! { 15;
    MPI_OP_NULL = 0x20 [] "no operation" "MPI-1.0";
    MPI_SUM = 0x21 [CInteger FortranInteger Floating Complex MultiLanguage] "sum" "MPI-1.0";
    MPI_MIN = 0x22 [CInteger FortranInteger Floating MultiLanguage] "smallest" "MPI-1.0";
    MPI_MAX = 0x23 [CInteger FortranInteger Floating MultiLanguage] "largest" "MPI-1.0";
    MPI_PROD = 0x24 [CInteger FortranInteger Floating Complex MultiLanguage] "product" "MPI-1.0";
    MPI_BAND = 0x28 [CInteger FortranInteger Byte MultiLanguage] "and of bits" "MPI-1.0";
    MPI_BOR = 0x29 [CInteger FortranInteger Byte MultiLanguage] "or of bits" "MPI-1.0";
    MPI_BXOR = 0x2a [CInteger FortranInteger Byte MultiLanguage] "exclusive or of bits" "MPI-1.0";
    MPI_LAND = 0x30 [CInteger Logical MultiLanguage] "and of truth values" "MPI-1.0";
    MPI_LOR = 0x31 [CInteger Logical MultiLanguage] "or of truth values" "MPI-1.0";
    MPI_LXOR = 0x32 [CInteger Logical MultiLanguage] "exclusive or of truth values" "MPI-1.0";
    MPI_MINLOC = 0x38 [Pair] "smallest, and where it is" "MPI-1.0";
    MPI_MAXLOC = 0x39 [Pair] "largest, and where it is" "MPI-1.0";
    MPI_REPLACE = 0x3c [CInteger FortranInteger Floating Logical Complex Byte MultiLanguage Pair Character Packed] "the origin's value (one-sided accumulate only)" "MPI-2.0";
    MPI_NO_OP = 0x3d [CInteger FortranInteger Floating Logical Complex Byte MultiLanguage Pair Character Packed] "the target's value (one-sided fetch only)" "MPI-3.0";
}
