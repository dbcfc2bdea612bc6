//! The gatherings under way on a node.

use super::gather::Gather;
use crate::memory::contexts::Context;
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

/// Gatherings by communicator and number. How many of them somebody waits for is counted.
#[derive(Debug, Default)]
pub struct Gathers {
    under_way: BTreeMap<(Context, u64), Gather>,
    awaited: usize,
}

impl Gathers {
    /// The gathering of a collective, which begins if it is not under way; whether somebody waits for it.
    pub fn of(&mut self, key: (Context, u64), is_awaited: bool) -> &mut Gather {
        match self.under_way.entry(key) {
            Entry::Occupied(entry) => entry.into_mut(),
            Entry::Vacant(entry) => {
                self.awaited += usize::from(is_awaited);
                let gather = entry.insert(Gather::default());
                gather.is_awaited = is_awaited;
                gather
            }
        }
    }

    /// The gathering of a collective, if it is under way.
    pub fn get(&self, key: &(Context, u64)) -> Option<&Gather> {
        self.under_way.get(key)
    }

    /// Ends it.
    pub fn remove(&mut self, key: &(Context, u64)) -> Option<Gather> {
        let gather = self.under_way.remove(key)?;
        self.awaited -= usize::from(gather.is_awaited);
        Some(gather)
    }

    /// Ends those of a communicator.
    pub fn forget(&mut self, context: Context) {
        self.under_way.retain(|(of, _), _| *of != context);
        self.awaited = self.under_way.values().filter(|gather| gather.is_awaited).count();
    }

    /// Whether somebody waits for one.
    pub fn are_awaited(&self) -> bool {
        self.awaited != 0
    }
}
