//! Attributes: what libraries keep with an object, by keys of its kind (MPI-5.0, §7.7).

use std::collections::BTreeMap;
use std::ffi::c_int;

/// Attribute values by key, in the order in which they were set.
#[derive(Debug, Default)]
pub struct Attributes {
    pub(crate) values: Vec<(c_int, usize)>,
}

impl Attributes {
    pub(crate) fn get(&self, key: c_int) -> Option<usize> {
        self.values.iter().find(|(of, _)| *of == key).map(|(_, value)| *value)
    }
}

/// A key: what happens to its attributes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Key {
    pub(crate) copy: usize,
    pub(crate) delete: usize,
    pub(crate) extra_state: usize,
    /// Attributes with it, and 1 while the program has not freed it.
    pub(crate) references: u32,
    pub(crate) freed: bool,
}

/// The attribute keys of a kind of object.
#[derive(Debug)]
pub struct Keys {
    pub(crate) keys: BTreeMap<c_int, Key>,
    pub(crate) next: c_int,
}

/// Above all predefined keys.
const FIRST_KEY: c_int = 0x1000;
/// Kinds of objects with attributes: a key of one kind is none of another.
pub(crate) const KINDS: c_int = 4;

impl Keys {
    /// No keys yet, of the kind with this number.
    pub const fn of_kind(kind: c_int) -> Self {
        assert!(kind < KINDS, "no such kind");
        Self { keys: BTreeMap::new(), next: FIRST_KEY + kind }
    }

    pub(crate) fn release(&mut self, key: c_int) {
        if let Some(found) = self.keys.get_mut(&key) {
            found.references -= 1;
            if found.references == 0 {
                self.keys.remove(&key);
            }
        }
    }
}
