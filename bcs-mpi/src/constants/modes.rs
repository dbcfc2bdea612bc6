//! Thread levels, comparisons, assertions and other choices.
//!
//! Made by `mpi-abi-table write` from the tables in `bcs-mpi/abi/table` (MPI-5.0, chapter 20 and
//! appendix A.1); change those, not this file.

use std::ffi::c_int;

// Threads: §11.6, levels in ascending order.

/// One thread (MPI-2.0).
pub const MPI_THREAD_SINGLE: c_int = 0;
/// Many threads, the main one calls MPI (MPI-2.0).
pub const MPI_THREAD_FUNNELED: c_int = 1024;
/// Many threads, one at a time calls MPI (MPI-2.0).
pub const MPI_THREAD_SERIALIZED: c_int = 2048;
/// Many threads, all may call MPI at any time (MPI-2.0).
pub const MPI_THREAD_MULTIPLE: c_int = 4096;

// Comparisons: §7.3.1 and §7.4.1.

/// The same object (MPI-1.0).
pub const MPI_IDENT: c_int = 201;
/// Same members in the same order, another context (MPI-1.0).
pub const MPI_CONGRUENT: c_int = 202;
/// Same members in another order (MPI-1.0).
pub const MPI_SIMILAR: c_int = 203;
/// Different members (MPI-1.0).
pub const MPI_UNEQUAL: c_int = 204;

// Topologies: §8.5.5.

/// Cartesian grid (MPI-1.0).
pub const MPI_CART: c_int = 211;
/// Graph (MPI-1.0).
pub const MPI_GRAPH: c_int = 212;
/// Distributed graph (MPI-2.2).
pub const MPI_DIST_GRAPH: c_int = 213;

// Communicators split by hardware: §7.4.2.

/// Processes that can share memory (MPI-3.0).
pub const MPI_COMM_TYPE_SHARED: c_int = 221;
/// One level down in the hardware (MPI-4.0).
pub const MPI_COMM_TYPE_HW_UNGUIDED: c_int = 222;
/// The hardware level that the info names (MPI-4.0).
pub const MPI_COMM_TYPE_HW_GUIDED: c_int = 223;
/// The resource that the info names (MPI-4.1).
pub const MPI_COMM_TYPE_RESOURCE_GUIDED: c_int = 224;

// Order of arrays: §5.1.3.

/// Last index fastest (MPI-2.0).
pub const MPI_ORDER_C: c_int = 12;
/// First index fastest (MPI-2.0).
pub const MPI_ORDER_FORTRAN: c_int = 15;

// Distribution of arrays: §5.1.4.

/// Not distributed (MPI-2.0).
pub const MPI_DISTRIBUTE_NONE: c_int = 16;
/// In blocks (MPI-2.0).
pub const MPI_DISTRIBUTE_BLOCK: c_int = 17;
/// Round robin (MPI-2.0).
pub const MPI_DISTRIBUTE_CYCLIC: c_int = 18;
/// The usual argument of the distribution (MPI-2.0).
pub const MPI_DISTRIBUTE_DFLT_DARG: c_int = 19;

// Constructors of datatypes: §5.1.13.

/// Predefined (MPI-2.0).
pub const MPI_COMBINER_NAMED: c_int = 101;
/// MPI_Type_dup (MPI-2.0).
pub const MPI_COMBINER_DUP: c_int = 102;
/// MPI_Type_contiguous (MPI-2.0).
pub const MPI_COMBINER_CONTIGUOUS: c_int = 103;
/// MPI_Type_vector (MPI-2.0).
pub const MPI_COMBINER_VECTOR: c_int = 104;
/// MPI_Type_create_hvector (MPI-2.0).
pub const MPI_COMBINER_HVECTOR: c_int = 105;
/// MPI_Type_indexed (MPI-2.0).
pub const MPI_COMBINER_INDEXED: c_int = 106;
/// MPI_Type_create_hindexed (MPI-2.0).
pub const MPI_COMBINER_HINDEXED: c_int = 107;
/// MPI_Type_create_indexed_block (MPI-2.0).
pub const MPI_COMBINER_INDEXED_BLOCK: c_int = 108;
/// MPI_Type_create_hindexed_block (MPI-3.0).
pub const MPI_COMBINER_HINDEXED_BLOCK: c_int = 109;
/// MPI_Type_create_struct (MPI-2.0).
pub const MPI_COMBINER_STRUCT: c_int = 110;
/// MPI_Type_create_subarray (MPI-2.0).
pub const MPI_COMBINER_SUBARRAY: c_int = 111;
/// MPI_Type_create_darray (MPI-2.0).
pub const MPI_COMBINER_DARRAY: c_int = 112;
/// MPI_Type_create_f90_real (MPI-2.0).
pub const MPI_COMBINER_F90_REAL: c_int = 113;
/// MPI_Type_create_f90_complex (MPI-2.0).
pub const MPI_COMBINER_F90_COMPLEX: c_int = 114;
/// MPI_Type_create_f90_integer (MPI-2.0).
pub const MPI_COMBINER_F90_INTEGER: c_int = 115;
/// MPI_Type_create_resized (MPI-2.0).
pub const MPI_COMBINER_RESIZED: c_int = 116;
/// MPI_Type_get_value_index (MPI-4.1).
pub const MPI_COMBINER_VALUE_INDEX: c_int = 117;

// Classes of Fortran types: §19.1.9.

/// INTEGER (MPI-2.0).
pub const MPI_TYPECLASS_INTEGER: c_int = 192;
/// REAL (MPI-2.0).
pub const MPI_TYPECLASS_REAL: c_int = 193;
/// COMPLEX (MPI-2.0).
pub const MPI_TYPECLASS_COMPLEX: c_int = 194;
