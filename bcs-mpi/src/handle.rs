//! Handles: how objects are named to programs (MPI-5.0, chapter 20).
//!
//! Predefined objects have the ABI's small numbers. Every other handle is `kind:8 | generation:24 | index:32` of a pointer
//! (the kind is never 0, so it is no predefined number). A slot's generation moves on when it is freed, so a
//! handle that was freed, is of another kind, or was made up is recognised, and not followed.

use std::fmt;

/// What a handle names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Kind {
    /// A communicator.
    Communicator = 1,
    /// A group.
    Group = 2,
    /// A request.
    Request = 3,
    /// A datatype.
    Datatype = 4,
    /// An error handler.
    ErrorHandler = 5,
    /// A reduction operation.
    Operation = 6,
    /// A set of hints.
    Info = 7,
}

impl Kind {
    /// What such an object is called in messages.
    pub const fn noun(self) -> &'static str {
        match self {
            Kind::Communicator => "a communicator",
            Kind::Group => "a group",
            Kind::Request => "a request",
            Kind::Datatype => "a datatype",
            Kind::ErrorHandler => "an error handler",
            Kind::Operation => "an operation",
            Kind::Info => "an info object",
        }
    }
}

/// Why a handle names no object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stale {
    /// It is the null handle of its kind.
    Null,
    /// Its object was freed (or completed, for a request).
    Freed,
    /// It never was a handle of this kind.
    Foreign,
}

impl fmt::Display for Stale {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Stale::Null => "the null handle",
            Stale::Freed => "the handle of one that was freed",
            Stale::Foreign => "no handle of one",
        })
    }
}

const GENERATION_BITS: u32 = 24;
const GENERATION_MASK: u32 = (1 << GENERATION_BITS) - 1;

const fn pack(kind: Kind, generation: u32, index: u32) -> usize {
    (kind as usize) << 56 | (generation as usize) << 32 | index as usize
}

struct Slot<T> {
    generation: u32,
    value: Option<T>,
}

/// The objects of one kind. Slots freed last are used first: they are the ones in a cache.
pub struct Table<T> {
    kind: Kind,
    slots: Vec<Slot<T>>,
    free: Vec<u32>,
}

impl<T> Table<T> {
    /// An empty table.
    pub const fn new(kind: Kind) -> Self {
        Self { kind, slots: Vec::new(), free: Vec::new() }
    }

    /// Adds an object; answers its handle.
    #[inline]
    pub fn insert(&mut self, value: T) -> usize {
        self.insert_with(|| value)
    }

    /// Adds an object that is made where it is to stay; answers its handle. On the way through the stack an object of some words costs more
    /// than all else: it is written there in pieces and read as a whole.
    #[inline(always)]
    pub fn insert_with(&mut self, make: impl FnOnce() -> T) -> usize {
        let index = match self.free.pop() {
            Some(index) => index,
            None => self.grow(),
        };
        let slot = &mut self.slots[index as usize];
        let handle = pack(self.kind, slot.generation, index);
        debug_assert!(slot.value.is_none());
        // Nothing between making and writing may panic, or the object needs a place on the stack to be dropped from.
        // SAFETY: a place of this type; it holds none (free slots do), so nothing is lost.
        unsafe { (&raw mut slot.value).write(Some(make())) };
        handle
    }

    #[cold]
    #[inline(never)]
    fn grow(&mut self) -> u32 {
        self.slots.push(Slot { generation: 1, value: None });
        self.slots.len() as u32 - 1
    }

    /// The index of a live handle.
    ///
    /// # Errors
    /// [`Stale`] for every other number.
    #[inline]
    pub fn index(&self, handle: usize) -> Result<usize, Stale> {
        let index = handle as u32 as usize;
        match self.slots.get(index) {
            Some(slot)
                if handle == pack(self.kind, slot.generation, index as u32) && slot.value.is_some() =>
            {
                Ok(index)
            }
            _ => Err(self.why(handle)),
        }
    }

    #[cold]
    fn why(&self, handle: usize) -> Stale {
        let index = handle as u32;
        let of_kind = handle >> 56 == self.kind as usize;
        match self.slots.get(index as usize) {
            Some(slot) if of_kind && (handle >> 32) as u32 & GENERATION_MASK <= slot.generation => {
                Stale::Freed
            }
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

    /// Looks at an object and removes it if `look` finds that it has ended: one look-up for both.
    ///
    /// # Errors
    /// [`Stale`] when the handle names none.
    #[inline]
    pub fn take_if<R>(
        &mut self,
        handle: usize,
        look: impl FnOnce(&mut T) -> Option<R>,
    ) -> Result<Option<R>, Stale> {
        let index = self.index(handle)?;
        let slot = &mut self.slots[index];
        let Some(found) = slot.value.as_mut().and_then(look) else { return Ok(None) };
        slot.value = None;
        slot.generation = (slot.generation + 1) & GENERATION_MASK;
        self.free.push(index as u32);
        Ok(Some(found))
    }

    /// Objects in the table.
    pub fn len(&self) -> usize {
        self.slots.len() - self.free.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// A handle as an `int` of Fortran: its index, above all predefined numbers.
    ///
    /// # Errors
    /// [`Stale`] when it names no object.
    pub fn to_int(&self, handle: usize) -> Result<i32, Stale> {
        Ok(self.index(handle)? as i32 + FIRST_INT)
    }

    /// The handle of an `int` that [`Self::to_int`] gave; none when no object has it now.
    pub fn from_int(&self, int: i32) -> Option<usize> {
        let index = u32::try_from(int.checked_sub(FIRST_INT)?).ok()?;
        let slot = self.slots.get(index as usize)?;
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
        assert_eq!(table.len(), 1);
    }

    #[test]
    fn made_up_handles_and_those_of_other_kinds_are_foreign() {
        let mut groups = Table::new(Kind::Group);
        let mut requests = Table::new(Kind::Request);
        let (group, request) = (groups.insert(1), requests.insert(2));
        assert_eq!(groups.get(request), Err(Stale::Foreign));
        assert_eq!(requests.get(group), Err(Stale::Foreign));
        for made_up in [0, 1, 0x101, 42, usize::MAX, group + 1, group | 1 << 40] {
            assert_eq!(groups.get(made_up), Err(Stale::Foreign), "{made_up:#x}");
        }
    }

    #[test]
    fn a_handle_survives_being_an_int() {
        let mut table = Table::new(Kind::Communicator);
        let handles: Vec<_> = (0..5).map(|i| table.insert(i)).collect();
        for handle in handles {
            assert_eq!(table.from_int(table.to_int(handle).unwrap()), Some(handle));
        }
        assert_eq!(table.from_int(5 + FIRST_INT), None);
        assert_eq!(table.from_int(i32::MIN), None);
    }
}
