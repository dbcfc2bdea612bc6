//! Thread levels, comparisons, assertions and other choices.
//!
//! Made by `mpi-abi-table write` from the tables in `bcs-mpi/abi/table` (MPI-5.0, chapter 20 and appendix A.1);
//! change those, not this file.

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

// Window locks: §12.5.3.

/// No other lock at the same time (MPI-2.0).
pub const MPI_LOCK_EXCLUSIVE: c_int = 301;
/// With other shared locks (MPI-2.0).
pub const MPI_LOCK_SHARED: c_int = 302;

// Window flavors: §12.2.6.

/// MPI_Win_create (MPI-3.0).
pub const MPI_WIN_FLAVOR_CREATE: c_int = 311;
/// MPI_Win_allocate (MPI-3.0).
pub const MPI_WIN_FLAVOR_ALLOCATE: c_int = 312;
/// MPI_Win_create_dynamic (MPI-3.0).
pub const MPI_WIN_FLAVOR_DYNAMIC: c_int = 313;
/// MPI_Win_allocate_shared (MPI-3.0).
pub const MPI_WIN_FLAVOR_SHARED: c_int = 314;

// Window memory models: §12.4.

/// Public and private copy are one (MPI-3.0).
pub const MPI_WIN_UNIFIED: c_int = 321;
/// Public and private copy are two (MPI-3.0).
pub const MPI_WIN_SEPARATE: c_int = 322;

// Window assertions, to be or-ed: §12.5.5.

/// The matching call is known to be made (MPI-2.0).
pub const MPI_MODE_NOCHECK: c_int = 1024;
/// The fence ends no accesses by this process (MPI-2.0).
pub const MPI_MODE_NOPRECEDE: c_int = 2048;
/// Nobody will update the window here (MPI-2.0).
pub const MPI_MODE_NOPUT: c_int = 4096;
/// No local stores since the last synchronisation (MPI-2.0).
pub const MPI_MODE_NOSTORE: c_int = 8192;
/// The fence starts no accesses by this process (MPI-2.0).
pub const MPI_MODE_NOSUCCEED: c_int = 16384;

// File access, to be or-ed: §14.2.1.

/// File pointers start at the end (MPI-2.0).
pub const MPI_MODE_APPEND: c_int = 1;
/// Create the file if it is not there (MPI-2.0).
pub const MPI_MODE_CREATE: c_int = 2;
/// Delete the file when it is closed (MPI-2.0).
pub const MPI_MODE_DELETE_ON_CLOSE: c_int = 4;
/// Fail if the file to be created is there (MPI-2.0).
pub const MPI_MODE_EXCL: c_int = 8;
/// Read only (MPI-2.0).
pub const MPI_MODE_RDONLY: c_int = 16;
/// Read and write (MPI-2.0).
pub const MPI_MODE_RDWR: c_int = 32;
/// Only in sequence (MPI-2.0).
pub const MPI_MODE_SEQUENTIAL: c_int = 64;
/// Nobody else has the file open (MPI-2.0).
pub const MPI_MODE_UNIQUE_OPEN: c_int = 128;
/// Write only (MPI-2.0).
pub const MPI_MODE_WRONLY: c_int = 256;

// File positions: §14.4.3.

/// From the current position (MPI-2.0).
pub const MPI_SEEK_CUR: c_int = 401;
/// From the end (MPI-2.0).
pub const MPI_SEEK_END: c_int = 402;
/// From the start (MPI-2.0).
pub const MPI_SEEK_SET: c_int = 403;
