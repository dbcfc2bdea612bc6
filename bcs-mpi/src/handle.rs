//! Handles: how objects are named to programs (MPI-5.0, chapter 20), and the tables of objects.
//!
//! Predefined objects have the ABI's small numbers. Every other handle is `kind:8 | generation:24 | index:32`
//! of a pointer (the kind is never 0, so it is no predefined number). A slot's generation moves on when it is
//! freed, so a handle that was freed, is of another kind, or was made up is recognised, and not followed.

use crate::error::{MpiError, MpiResult};
use crate::kind::{Kind, Stale};

const GENERATION_BITS: u32 = 24;
const GENERATION_MASK: u32 = (1 << GENERATION_BITS) - 1;
const _: () =
    assert!(GENERATION_BITS == nic_emu::outstanding::GENERATION_BITS, "the NIC's requests have handles too");

/// The handle of an object.
#[inline(always)]
pub(crate) const fn pack(kind: Kind, generation: u32, index: u32) -> usize {
    (kind as usize) << 56 | (generation as usize) << 32 | index as usize
}

/// Index and generation of a handle of this kind; none if it is of another.
#[inline(always)]
pub(crate) const fn unpack(kind: Kind, handle: usize) -> Option<(u32, u32)> {
    if handle >> 56 == kind as usize {
        Some((handle as u32, (handle >> 32) as u32 & GENERATION_MASK))
    } else {
        None
    }
}

struct Slot<T> {
    generation: u32,
    value: Option<T>,
}

/// The objects of one kind. Slots freed last are used first: they are the ones in a cache.
pub struct Table<T> {
    kind: Kind,
    /// The number of the first slot.
    first: u32,
    slots: Vec<Slot<T>>,
    free: Vec<u32>,
}

impl<T> Table<T> {
    /// An empty table.
    pub const fn new(kind: Kind) -> Self {
        Self::from_index(kind, 0)
    }

    /// An empty table that counts from `first`: smaller numbers of this kind are somebody else's.
    pub const fn from_index(kind: Kind, first: u32) -> Self {
        Self { kind, first, slots: Vec::new(), free: Vec::new() }
    }

    /// The place of a number that this table may have given out.
    #[inline]
    const fn place(&self, index: u32) -> usize {
        index.wrapping_sub(self.first) as usize
    }

    /// Adds an object; answers its handle.
    #[inline]
    pub fn insert(&mut self, value: T) -> usize {
        let place = match self.free.pop() {
            Some(place) => place,
            None => self.grow(),
        };
        let slot = &mut self.slots[place as usize];
        slot.value = Some(value);
        pack(self.kind, slot.generation, self.first + place)
    }

    #[cold]
    #[inline(never)]
    fn grow(&mut self) -> u32 {
        self.slots.push(Slot { generation: 1, value: None });
        self.slots.len() as u32 - 1
    }

    /// The place of a live handle.
    ///
    /// # Errors
    /// [`Stale`] for every other number.
    #[inline]
    fn index(&self, handle: usize) -> Result<usize, Stale> {
        let place = self.place(handle as u32);
        match self.slots.get(place) {
            Some(slot)
                if handle == pack(self.kind, slot.generation, handle as u32) && slot.value.is_some() =>
            {
                Ok(place)
            }
            _ => Err(self.why(handle)),
        }
    }

    #[cold]
    fn why(&self, handle: usize) -> Stale {
        if handle == self.kind.about().1.0 {
            return Stale::Null;
        }
        let Some((index, generation)) = unpack(self.kind, handle) else { return Stale::Foreign };
        match self.slots.get(self.place(index)) {
            Some(slot) if generation <= slot.generation => Stale::Freed,
            _ => Stale::Foreign,
        }
    }

    /// The object of a handle.
    ///
    /// # Errors
    /// [`Stale`] when it names none.
    #[inline]
    pub fn get(&self, handle: usize) -> Result<&T, Stale> {
        let index = self.index(handle)?;
        self.slots[index].value.as_ref().ok_or(Stale::Freed)
    }

    /// The object of the handle that an argument is.
    ///
    /// # Errors
    /// It names none.
    pub fn named(&self, argument: &'static str, handle: usize) -> MpiResult<&T> {
        self.get(handle).map_err(|why| MpiError::handle(argument, handle, self.kind, why))
    }

    /// The same, to be changed.
    ///
    /// # Errors
    /// It names none.
    pub fn named_mut(&mut self, argument: &'static str, handle: usize) -> MpiResult<&mut T> {
        let kind = self.kind;
        self.get_mut(handle).map_err(|why| MpiError::handle(argument, handle, kind, why))
    }

    /// The object of a handle, to be changed.
    ///
    /// # Errors
    /// [`Stale`] when it names none.
    #[inline]
    pub fn get_mut(&mut self, handle: usize) -> Result<&mut T, Stale> {
        let index = self.index(handle)?;
        self.slots[index].value.as_mut().ok_or(Stale::Freed)
    }

    /// Takes the object of a handle out: the handle is stale from now on.
    ///
    /// # Errors
    /// [`Stale`] when it names none.
    #[inline]
    pub fn remove(&mut self, handle: usize) -> Result<T, Stale> {
        let index = self.index(handle)?;
        let slot = &mut self.slots[index];
        let value = slot.value.take().ok_or(Stale::Freed)?;
        slot.generation = (slot.generation + 1) & GENERATION_MASK;
        self.free.push(index as u32);
        Ok(value)
    }

    /// A handle of this kind that names no slot: for an object that is the same for all who hold it.
    pub const fn shared(kind: Kind) -> usize {
        pack(kind, GENERATION_MASK, u32::MAX)
    }

    /// All of them.
    pub fn iter(&self) -> impl Iterator<Item = &T> {
        self.slots.iter().filter_map(|slot| slot.value.as_ref())
    }
}

/// Objects that are known by integers.
pub trait Numbered {
    /// A handle as an `int` of Fortran: its index, above all predefined numbers; none when it names no
    /// object.
    fn to_int(&self, handle: usize) -> Option<i32>;

    /// The handle of an `int` that [`Self::to_int`] gave; none when no object has it now.
    fn handle_of(&self, int: i32) -> Option<usize>;
}

impl<T> Numbered for Table<T> {
    fn to_int(&self, handle: usize) -> Option<i32> {
        Some(self.index(handle).ok()? as i32 + self.first as i32 + FIRST_INT)
    }

    fn handle_of(&self, int: i32) -> Option<usize> {
        let index = u32::try_from(int.checked_sub(FIRST_INT)?).ok()?;
        let slot = self.slots.get(self.place(index))?;
        slot.value.is_some().then(|| pack(self.kind, slot.generation, index))
    }
}

/// Predefined handles are smaller than this in all kinds (chapter 20: ten bits), with room to spare.
pub const FIRST_INT: i32 = 0x1000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_handle_is_good_until_its_object_is_freed_and_never_again() {
        let mut table = Table::new(Kind::Group);
        let first = table.insert("a");
        assert_eq!(table.get(first), Ok(&"a"));
        assert_eq!(table.remove(first), Ok("a"));
        let second = table.insert("b");
        assert_ne!(first, second);
        assert_eq!(table.get(first), Err(Stale::Freed));
        assert_eq!(table.remove(first), Err(Stale::Freed));
        assert_eq!(table.get(second), Ok(&"b"));
        assert_eq!(table.iter().count(), 1);
    }

    #[test]
    fn tables_of_one_kind_that_share_its_numbers_know_their_own_handles_alone() {
        let (mut low, mut high) = (Table::new(Kind::Request), Table::from_index(Kind::Request, 1 << 20));
        let (first, second) = (low.insert("a"), high.insert("b"));
        assert_eq!((low.get(first), high.get(second)), (Ok(&"a"), Ok(&"b")));
        assert_eq!((low.get(second), high.get(first)), (Err(Stale::Foreign), Err(Stale::Foreign)));
        assert_eq!(high.to_int(second), Some(FIRST_INT + (1 << 20)));
        for (table, handle) in [(&low, first), (&high, second)] {
            assert_eq!(table.handle_of(table.to_int(handle).unwrap()), Some(handle));
            assert_eq!(table.handle_of(FIRST_INT + 1), None);
            assert_eq!(table.handle_of(i32::MIN), None);
        }
    }
}
