//! Constructors: the call that a type was made by, with its arguments (MPI-5.0, §5.1.13).

use super::darray::Darray;
use super::subarray::Subarray;
use super::typemap::Type;
use crate::constants::Datatype;
use std::ffi::c_int;
use std::sync::Arc;

/// A constructor call. Displacements of the forms with an H are bytes, of the others extents of the component.
#[derive(Debug)]
#[allow(missing_docs)]
pub enum Constructor {
    /// None: a predefined type.
    Named(&'static Datatype),
    /// MPI_Type_create_f90_real, _complex or _integer: a predefined type by another name.
    F90 { combiner: c_int, arguments: Vec<c_int>, of: &'static Datatype },
    /// MPI_Type_dup.
    Dup(Arc<Type>),
    /// MPI_Type_contiguous.
    Contiguous { count: i64, of: Arc<Type> },
    /// MPI_Type_vector.
    Vector { count: i64, blocklength: i64, stride: i64, of: Arc<Type> },
    /// MPI_Type_create_hvector.
    Hvector { count: i64, blocklength: i64, stride: i64, of: Arc<Type> },
    /// MPI_Type_indexed.
    Indexed { blocklengths: Box<[i64]>, displacements: Box<[i64]>, of: Arc<Type> },
    /// MPI_Type_create_hindexed.
    Hindexed { blocklengths: Box<[i64]>, displacements: Box<[i64]>, of: Arc<Type> },
    /// MPI_Type_create_indexed_block.
    IndexedBlock { blocklength: i64, displacements: Box<[i64]>, of: Arc<Type> },
    /// MPI_Type_create_hindexed_block.
    HindexedBlock { blocklength: i64, displacements: Box<[i64]>, of: Arc<Type> },
    /// MPI_Type_create_struct.
    Struct { blocklengths: Box<[i64]>, displacements: Box<[i64]>, types: Box<[Arc<Type>]> },
    /// MPI_Type_create_subarray.
    Subarray(Subarray),
    /// MPI_Type_create_darray.
    Darray(Darray),
    /// MPI_Type_create_resized.
    Resized { lb: i64, extent: i64, of: Arc<Type> },
}

impl Constructor {
    /// The component types, in the order of the arguments.
    pub fn components(&self) -> &[Arc<Type>] {
        use Constructor as C;
        match self {
            C::Named(_) | C::F90 { .. } => &[],
            C::Dup(of)
            | C::Contiguous { of, .. }
            | C::Vector { of, .. }
            | C::Hvector { of, .. }
            | C::Indexed { of, .. }
            | C::Hindexed { of, .. }
            | C::IndexedBlock { of, .. }
            | C::HindexedBlock { of, .. }
            | C::Subarray(Subarray { of, .. })
            | C::Darray(Darray { of, .. })
            | C::Resized { of, .. } => std::slice::from_ref(of),
            C::Struct { types, .. } => types,
        }
    }

    /// Takes the component types out, for a type that is dropped.
    pub(super) fn take_components(&mut self) -> Vec<Arc<Type>> {
        use Constructor as C;
        let nothing = C::Struct { blocklengths: [].into(), displacements: [].into(), types: [].into() };
        match std::mem::replace(self, nothing) {
            C::Named(_) | C::F90 { .. } => Vec::new(),
            C::Dup(of)
            | C::Contiguous { of, .. }
            | C::Vector { of, .. }
            | C::Hvector { of, .. }
            | C::Indexed { of, .. }
            | C::Hindexed { of, .. }
            | C::IndexedBlock { of, .. }
            | C::HindexedBlock { of, .. }
            | C::Subarray(Subarray { of, .. })
            | C::Darray(Darray { of, .. })
            | C::Resized { of, .. } => vec![of],
            C::Struct { types, .. } => types.into_vec(),
        }
    }
}
