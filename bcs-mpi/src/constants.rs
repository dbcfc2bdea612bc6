//! The types and constants of the MPI-5.0 standard ABI (chapter 20 and appendix A.1 of the standard).
//!
//! Handles are integers of pointer size; the predefined ones are small and fixed, so that a program carries
//! them in its binary from one MPI library to another. Values and most types come from the tables in
//! `bcs-mpi/abi/table`, by `build.rs`; this file holds the other types and the lookups. Invariant: every
//! layout here is the ABI's, asserted below and checked against a C compiler in `tests/abi`.
#![allow(non_camel_case_types, non_snake_case)]

use std::ffi::{c_int, c_void};

macro_rules! handle {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[repr(transparent)]
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(pub usize);

        const _: () = assert!(size_of::<$name>() == size_of::<*const ()>());
    };
}

include!(concat!(env!("OUT_DIR"), "/constants.rs"));

/// A default INTEGER of Fortran (§19.3.4); 4 bytes unless the Fortran compiler is told otherwise.
pub type MPI_Fint = c_int;
/// What an event callback may do (§15.3.8): `MPI_T_CB_REQUIRE_*`.
pub type MPI_T_cb_safety = c_int;
/// In which order a source reports events (§15.3.8): `MPI_T_SOURCE_*`.
pub type MPI_T_source_order = c_int;

/// What became of a receive (§3.2.5).
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct MPI_Status {
    /// Rank of the sender.
    pub MPI_SOURCE: c_int,
    /// Tag of the message.
    pub MPI_TAG: c_int,
    /// Error of this operation; written only by calls that complete several.
    pub MPI_ERROR: c_int,
    /// The library's own: how many bytes, whether cancelled.
    pub MPI_internal: [c_int; 5],
}

const _: () = {
    assert!(size_of::<MPI_Status>() == 32 && align_of::<MPI_Status>() == 4);
    assert!(size_of::<MPI_Status>() == MPI_F_STATUS_SIZE as usize * size_of::<MPI_Fint>());
    assert!(std::mem::offset_of!(MPI_Status, MPI_internal) == 12);
    assert!(size_of::<MPI_Count>() >= size_of::<MPI_Aint>());
};

/// A set of classes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClassSet(u16);

impl ClassSet {
    /// The set of these classes.
    #[must_use]
    pub const fn of(classes: &[Class]) -> Self {
        let mut bits = 0;
        let mut index = 0;
        while index < classes.len() {
            bits |= 1 << classes[index] as u16;
            index += 1;
        }
        Self(bits)
    }

    /// Whether the class is in the set.
    #[must_use]
    pub const fn contains(self, class: Class) -> bool {
        self.0 & 1 << class as u16 != 0
    }
}

/// A predefined datatype.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Datatype {
    /// Its name, which is what MPI_Type_get_name gives.
    pub name: &'static str,
    /// Its handle.
    pub handle: MPI_Datatype,
    /// How predefined operations take it.
    pub class: Class,
    /// Bytes of data in one element.
    pub size: usize,
    /// Bytes from one element of an array to the next; more than `size` where there is padding.
    pub extent: usize,
}

/// A predefined reduction operation; all are commutative and associative as far as arithmetic is (§6.9.2).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Operation {
    /// Its name.
    pub name: &'static str,
    /// Its handle.
    pub handle: MPI_Op,
    /// The classes of datatypes that it takes.
    pub classes: ClassSet,
}

/// An error class.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ErrorClass {
    /// Its value.
    pub value: c_int,
    /// Its name, as `MPI_ERR_TAG`.
    pub name: &'static str,
    /// What went wrong, in a few words.
    pub meaning: &'static str,
}

/// A table with an entry for every handle that a predefined object of a kind may have: what `value` says of a
/// row, and the rest. The null handle, that of the first row, is the lowest.
macro_rules! by_handle {
    ($rows:ident, [$rest:expr; $handles:literal], |$row:ident, $index:ident| $value:expr) => {{
        let mut table = [$rest; $handles];
        let mut $index = 0;
        while $index < $rows.len() {
            let $row = &$rows[$index];
            table[$row.handle.0 - $rows[0].handle.0] = $value;
            $index += 1;
        }
        table
    }};
}
pub(crate) use by_handle;

/// No entry.
const NONE: u8 = u8::MAX;
/// The index of a predefined datatype in [`DATATYPES`]; the ABI keeps the handles of all in 256 values.
static DATATYPE_INDEX: [u8; 256] = by_handle!(DATATYPES, [NONE; 256], |_row, index| index as u8);
/// The index of a predefined operation in [`OPERATIONS`]; the ABI keeps the handles of all in 32 values.
static OPERATION_INDEX: [u8; 32] = by_handle!(OPERATIONS, [NONE; 32], |_row, index| index as u8);

/// The predefined datatype with this handle (MPI_DATATYPE_NULL is one), `None` when the handle is not
/// predefined. One table access, for use on every call.
#[must_use]
pub fn predefined_datatype(handle: MPI_Datatype) -> Option<&'static Datatype> {
    let index = *DATATYPE_INDEX.get(handle.0.wrapping_sub(MPI_DATATYPE_NULL.0))?;
    DATATYPES.get(usize::from(index))
}

/// The predefined operation with this handle (MPI_OP_NULL is one), `None` when the handle is not predefined.
#[must_use]
pub fn predefined_operation(handle: MPI_Op) -> Option<&'static Operation> {
    let index = *OPERATION_INDEX.get(handle.0.wrapping_sub(MPI_OP_NULL.0))?;
    OPERATIONS.get(usize::from(index))
}

/// What the class with this value means; `None` when the standard defines none with it.
#[must_use]
pub fn error_class(value: c_int) -> Option<&'static ErrorClass> {
    ERROR_CLASSES.binary_search_by_key(&value, |class| class.value).ok().map(|index| &ERROR_CLASSES[index])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_predefined_handle_is_found_and_no_other() {
        for handle in 0..0x1000 {
            let expected = DATATYPES.iter().find(|d| d.handle.0 == handle);
            assert_eq!(predefined_datatype(MPI_Datatype(handle)), expected);
            let expected = OPERATIONS.iter().find(|o| o.handle.0 == handle);
            assert_eq!(predefined_operation(MPI_Op(handle)), expected);
        }
        assert_eq!(predefined_datatype(MPI_Datatype(usize::MAX)), None);
        assert_eq!(predefined_operation(MPI_Op(0)), None);
    }

    #[test]
    fn a_handle_of_fixed_size_tells_its_size() {
        // The ABI encodes the size of these types in bits 3 to 5 of the handle (chapter 20).
        for datatype in &DATATYPES {
            if datatype.handle.0 & 0x340 == 0x240 {
                assert_eq!(1 << (datatype.handle.0 >> 3 & 7), datatype.size, "{}", datatype.name);
            }
        }
    }

    #[test]
    fn operations_take_the_classes_that_the_standard_names() {
        let takes = |op, ty| {
            let class = predefined_datatype(ty).unwrap().class;
            predefined_operation(op).unwrap().classes.contains(class)
        };
        assert!(takes(MPI_SUM, MPI_COMPLEX) && !takes(MPI_MAX, MPI_COMPLEX));
        assert!(takes(MPI_BOR, MPI_BYTE) && !takes(MPI_SUM, MPI_BYTE));
        assert!(takes(MPI_LAND, MPI_C_BOOL) && takes(MPI_LAND, MPI_INT) && !takes(MPI_LAND, MPI_DOUBLE));
        assert!(takes(MPI_MAXLOC, MPI_DOUBLE_INT) && !takes(MPI_MAXLOC, MPI_DOUBLE));
        assert!(takes(MPI_MIN, MPI_AINT) && !takes(MPI_SUM, MPI_CHAR));
        assert!(takes(MPI_REPLACE, MPI_PACKED) && !takes(MPI_OP_NULL, MPI_INT));
    }
}
