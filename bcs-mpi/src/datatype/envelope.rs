//! What a type was made of: MPI_Type_get_envelope and MPI_Type_get_contents (MPI-5.0, §5.1.13).
//!
//! Arguments come back in four arrays: integers, addresses, large counts and datatypes. In the forms with
//! large counts everything that was a count or a displacement is a large count.

use crate::constants::*;
use crate::error::{MpiError, MpiResult, Problem};
use crate::object::datatype::constructor::{Constructor, Unit};
use crate::object::datatype::typemap::Type;
use crate::process;
use std::ffi::c_int;
use std::sync::Arc;

/// The arguments of the call that made a type.
#[derive(Debug, Default)]
pub struct Contents {
    /// Which call it was: MPI_COMBINER_*.
    pub combiner: c_int,
    /// Integers.
    pub integers: Vec<c_int>,
    /// Addresses.
    pub addresses: Vec<MPI_Aint>,
    /// Large counts.
    pub counts: Vec<MPI_Count>,
    /// Datatypes.
    pub types: Vec<Arc<Type>>,
}

/// Where an argument goes that is one thing in the usual form and a large count in the other.
struct Sorter {
    large: bool,
    contents: Contents,
}

impl Sorter {
    /// Counts, blocklengths and displacements in extents: `int`.
    fn counts(&mut self, values: &[i64]) {
        self.placed(Unit::Extents, values, [0; 2]);
    }

    /// Displacements and extents in bytes: MPI_Aint.
    fn addresses(&mut self, values: &[i64]) {
        self.placed(Unit::Bytes, values, [0; 2]);
    }

    /// Strides or displacements; answers the combiner that goes with their unit.
    fn placed(&mut self, unit: Unit, values: &[i64], combiners: [c_int; 2]) -> c_int {
        let Contents { integers, addresses, counts, .. } = &mut self.contents;
        match unit {
            _ if self.large => counts.extend_from_slice(values),
            // They came as `int`.
            Unit::Extents => integers.extend(values.iter().map(|value| *value as c_int)),
            Unit::Bytes => addresses.extend(values.iter().map(|value| *value as MPI_Aint)),
        }
        combiners[usize::from(unit == Unit::Bytes)]
    }

    /// What is an `int` in both forms.
    fn integers(&mut self, values: &[c_int]) {
        self.contents.integers.extend_from_slice(values);
    }
}

impl Contents {
    /// Those of a type.
    pub fn of(of: &Type) -> Self {
        use Constructor as C;
        let types = of.components.to_vec();
        let mut sorter = Sorter { large: of.large, contents: Contents { types, ..Contents::default() } };
        sorter.contents.combiner = match &of.constructor {
            C::Named(_) => MPI_COMBINER_NAMED,
            C::F90 { combiner, arguments, .. } => {
                sorter.integers(arguments);
                *combiner
            }
            C::Dup => MPI_COMBINER_DUP,
            C::Contiguous { count } => {
                sorter.counts(&[*count]);
                MPI_COMBINER_CONTIGUOUS
            }
            C::Vector { count, blocklength, stride, unit } => {
                sorter.counts(&[*count, *blocklength]);
                sorter.placed(*unit, &[*stride], [MPI_COMBINER_VECTOR, MPI_COMBINER_HVECTOR])
            }
            C::Indexed { blocklengths, displacements, unit } => {
                sorter.counts(&[blocklengths.len() as i64]);
                sorter.counts(blocklengths);
                sorter.placed(*unit, displacements, [MPI_COMBINER_INDEXED, MPI_COMBINER_HINDEXED])
            }
            C::IndexedBlock { blocklength, displacements, unit } => {
                sorter.counts(&[displacements.len() as i64, *blocklength]);
                let combiners = [MPI_COMBINER_INDEXED_BLOCK, MPI_COMBINER_HINDEXED_BLOCK];
                sorter.placed(*unit, displacements, combiners)
            }
            C::Struct { blocklengths, displacements } => {
                sorter.counts(&[blocklengths.len() as i64]);
                sorter.counts(blocklengths);
                sorter.addresses(displacements);
                MPI_COMBINER_STRUCT
            }
            C::Subarray(of) => {
                sorter.integers(&[of.sizes.len() as c_int]);
                sorter.counts(&of.sizes);
                sorter.counts(&of.subsizes);
                sorter.counts(&of.starts);
                sorter.integers(&[of.order]);
                MPI_COMBINER_SUBARRAY
            }
            C::Darray(of) => {
                sorter.integers(&[of.size, of.rank, of.gsizes.len() as c_int]);
                sorter.counts(&of.gsizes);
                sorter.integers(&of.distribs);
                sorter.integers(&of.dargs);
                sorter.integers(&of.psizes);
                sorter.integers(&[of.order]);
                MPI_COMBINER_DARRAY
            }
            C::Resized { lb, extent } => {
                sorter.addresses(&[*lb, *extent]);
                MPI_COMBINER_RESIZED
            }
        };
        sorter.contents
    }
}

/// MPI_Type_get_envelope; `large` for the form with large counts, the only one that can tell of types made
/// with such.
///
/// # Errors
/// No such datatype, or one that needs the other form.
pub fn get_envelope(large: bool, datatype: MPI_Datatype) -> MpiResult<Contents> {
    let process = process::enter()?;
    let of = process.datatypes.find("datatype", datatype)?;
    if of.large && !large {
        let value = format!("{:#x}, made by a call with large counts", datatype.0);
        let allowed = "only MPI_Type_get_envelope_c and MPI_Type_get_contents_c can tell its arguments";
        return Err(MpiError::argument(MPI_ERR_TYPE, "datatype", value, allowed));
    }
    Ok(Contents::of(of))
}

/// MPI_Type_get_contents: the arguments, and handles of the datatypes: new ones, which the program frees,
/// unless they are predefined. `room` says of the program's arrays (integers, addresses, large counts,
/// datatypes) how many elements each has, and whether there is one.
///
/// # Errors
/// As [`get_envelope`]; a predefined datatype, or too little room.
pub fn get_contents(
    large: bool,
    datatype: MPI_Datatype,
    room: [(i64, bool); 4],
) -> MpiResult<(Contents, Vec<MPI_Datatype>)> {
    let contents = get_envelope(large, datatype)?;
    if contents.combiner == MPI_COMBINER_NAMED {
        let name = predefined_datatype(datatype).map_or("predefined", |known| known.name);
        let allowed = "predefined datatypes have no contents";
        return Err(MpiError::argument(MPI_ERR_TYPE, "datatype", name, allowed));
    }
    let needs = [
        ("max_integers", "array_of_integers", contents.integers.len()),
        ("max_addresses", "array_of_addresses", contents.addresses.len()),
        ("max_large_counts", "array_of_large_counts", contents.counts.len()),
        ("max_datatypes", "array_of_datatypes", contents.types.len()),
    ];
    for ((argument, array, needed), (most, is_array)) in needs.into_iter().zip(room) {
        if most < needed as i64 {
            let allowed = format!("the type has {needed} (MPI_Type_get_envelope tells)");
            return Err(MpiError::argument(MPI_ERR_ARG, argument, most, allowed));
        }
        if !is_array && needed > 0 {
            return Err(MpiError::new(Problem::NullResult { argument: array }));
        }
    }
    let mut process = process::enter()?;
    let handles = contents.types.iter().map(|of| process.datatypes.handle_of(of)).collect();
    Ok((contents, handles))
}
