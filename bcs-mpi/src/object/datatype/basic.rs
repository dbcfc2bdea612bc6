//! Basic elements: what predefined datatypes consist of (MPI-5.0, §3.2.2, §6.9.4).
//!
//! Most are one element. The pairs of MPI_MINLOC are two: a value, and an index that lies after it as in a
//! struct of C.

use crate::constants::*;

/// A basic element of a predefined datatype.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Basic {
    /// The datatype that it is an element of.
    pub datatype: MPI_Datatype,
    /// Its bytes.
    pub bytes: i64,
    /// Where it lies in the datatype.
    pub offset: i64,
}

/// The value and the index of a pair.
fn halves(pair: MPI_Datatype) -> Option<(MPI_Datatype, MPI_Datatype)> {
    Some(match pair {
        MPI_FLOAT_INT => (MPI_FLOAT, MPI_INT),
        MPI_DOUBLE_INT => (MPI_DOUBLE, MPI_INT),
        MPI_LONG_INT => (MPI_LONG, MPI_INT),
        MPI_2INT => (MPI_INT, MPI_INT),
        MPI_SHORT_INT => (MPI_SHORT, MPI_INT),
        MPI_LONG_DOUBLE_INT => (MPI_LONG_DOUBLE, MPI_INT),
        MPI_2REAL => (MPI_REAL, MPI_REAL),
        MPI_2DOUBLE_PRECISION => (MPI_DOUBLE_PRECISION, MPI_DOUBLE_PRECISION),
        MPI_2INTEGER => (MPI_INTEGER, MPI_INTEGER),
        _ => return None,
    })
}

fn one(datatype: MPI_Datatype, offset: i64) -> Basic {
    let bytes = predefined_datatype(datatype).map_or(0, |known| known.size as i64);
    Basic { datatype, bytes, offset }
}

/// The pair of a value and an index (MPI_Type_get_value_index); none when there is no such predefined
/// datatype.
pub fn pair_of(value: MPI_Datatype, index: MPI_Datatype) -> Option<MPI_Datatype> {
    let is_it = |known: &&Datatype| halves(known.handle) == Some((value, index));
    DATATYPES.iter().find(is_it).map(|known| known.handle)
}

/// The elements of a predefined datatype, in order.
pub fn basics(datatype: &Datatype) -> ([Basic; 2], usize) {
    let none = Basic { datatype: datatype.handle, bytes: datatype.size as i64, offset: 0 };
    match halves(datatype.handle) {
        None => ([none, none], usize::from(datatype.size > 0)),
        Some((value, index)) => {
            let value = one(value, 0);
            let align = alignment(predefined_datatype(index).unwrap_or(datatype));
            ([value, one(index, (value.bytes + align - 1) / align * align)], 2)
        }
    }
}

/// The alignment of an element in memory.
pub fn alignment(datatype: &Datatype) -> i64 {
    let halves = halves(datatype.handle);
    if let Some((value, index)) = halves {
        let of = |handle| predefined_datatype(handle).map_or(1, alignment);
        return of(value).max(of(index));
    }
    match datatype.class {
        // Two numbers, aligned as one.
        Class::Complex => datatype.size as i64 / 2,
        Class::Null => 1,
        _ => datatype.size as i64,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_make_up_the_size_and_fit_in_the_extent() {
        for datatype in &DATATYPES {
            let (elements, count) = basics(datatype);
            let bytes: i64 = elements[..count].iter().map(|element| element.bytes).sum();
            assert_eq!(bytes, datatype.size as i64, "{}", datatype.name);
            let end =
                elements[..count].iter().map(|element| element.offset + element.bytes).max().unwrap_or(0);
            let align = alignment(datatype);
            assert_eq!((end + align - 1) / align * align, datatype.extent as i64, "{}", datatype.name);
        }
    }
}
