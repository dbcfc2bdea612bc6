//! Enumerations (MPI-5.0, §15.3.5): names of values, and names of the elements of events.

use super::{Told, at};
use crate::constants::*;
use crate::object::collective::Collective;
use std::ffi::c_int;
use std::sync::LazyLock;

/// An enumeration.
#[derive(Debug)]
pub struct Enumeration {
    /// Its name.
    pub name: String,
    /// The names of its items, and their values.
    pub items: Vec<(&'static str, c_int)>,
}

/// Which enumeration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Names {
    /// How slices are paced.
    SliceModes,
    /// What computes reductions.
    Arithmetics,
    /// Whether a communicator can still do collectives.
    CommunicatorStates,
    /// Elements of the event of this index.
    Elements(usize),
    /// Algorithms of a collective.
    Algorithms(Collective),
}

/// The value of an algorithm that the library is to choose.
pub const AUTOMATIC: c_int = -1;

/// The names of the elements of events, by their indices.
pub(super) const ELEMENTS: [(&str, &[&str]); 4] = [
    ("elements_of_slice_begun", &["slice", "passed"]),
    ("elements_of_message_matched", &["source", "tag", "bytes"]),
    ("elements_of_collective_complete", &["call"]),
    ("elements_of_hang_found", &["slice"]),
];

/// All enumerations.
static TABLE: LazyLock<Vec<Enumeration>> = LazyLock::new(|| {
    let counted = |name: &str, items: &[&'static str]| Enumeration {
        name: name.to_owned(),
        items: items.iter().copied().zip(0..).collect(),
    };
    let mut all = vec![
        counted("slice_modes", &["elastic", "fixed"]),
        counted("arithmetics", &["native", "softfloat"]),
        counted("communicator_states", &["whole", "broken"]),
    ];
    all.extend(ELEMENTS.iter().map(|(name, items)| counted(name, items)));
    all.extend(Collective::ALL.iter().map(|collective| {
        Enumeration {
            name: format!("algorithms_of_{}", collective.name()),
            items: std::iter::once(("automatic", AUTOMATIC))
                .chain(collective.algorithm_names().iter().copied().zip(0..))
                .collect(),
        }
    }));
    all
});

/// Enumerations before those of the elements of events.
const OTHERS: usize = 3;

impl Names {
    /// Its place in the table.
    fn place(self) -> usize {
        match self {
            Self::SliceModes => 0,
            Self::Arithmetics => 1,
            Self::CommunicatorStates => 2,
            Self::Elements(event) => OTHERS + event,
            Self::Algorithms(collective) => OTHERS + ELEMENTS.len() + collective as usize,
        }
    }

    /// The enumeration.
    pub fn enumeration(self) -> &'static Enumeration {
        &TABLE[self.place()]
    }

    /// Its handle.
    pub fn handle(self) -> MPI_T_enum {
        MPI_T_enum(self.place() + 1)
    }

    /// The handle of one that there may be.
    pub fn handle_of(names: Option<Self>) -> MPI_T_enum {
        names.map_or(MPI_T_ENUM_NULL, Self::handle)
    }
}

/// MPI_T_enum_get_info.
///
/// # Errors
/// No such enumeration.
pub fn get(handle: MPI_T_enum) -> Told<&'static Enumeration> {
    handle.0.checked_sub(1).and_then(|place| TABLE.get(place)).ok_or(MPI_T_ERR_INVALID_HANDLE)
}

/// MPI_T_enum_get_item: an item's name and value.
///
/// # Errors
/// No such enumeration, or no such item.
pub fn item(handle: MPI_T_enum, index: c_int) -> Told<(&'static str, c_int)> {
    at(&get(handle)?.items, index).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_enumeration_is_found_in_its_place() {
        for &collective in Collective::ALL {
            let Enumeration { name, items } = Names::Algorithms(collective).enumeration();
            assert_eq!(*name, format!("algorithms_of_{}", collective.name()));
            assert_eq!(items[0], ("automatic", AUTOMATIC));
            assert_eq!(items.len(), collective.algorithm_names().len() + 1);
        }
        assert_eq!(Names::Elements(0).enumeration().name, "elements_of_slice_begun");
        assert_eq!(get(Names::CommunicatorStates.handle()).map(|of| &*of.name), Ok("communicator_states"));
        assert!(get(MPI_T_ENUM_NULL).is_err() && get(MPI_T_enum(TABLE.len() + 1)).is_err());
    }
}
