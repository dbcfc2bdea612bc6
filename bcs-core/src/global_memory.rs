//! Global memory: data at the same address on all nodes (paper, §2).
//!
//! An address is an offset, never a pointer: the same offset names the same variable on every node.
//! Invariant: no access reaches beyond the memory; one that would is refused whole, before a byte moves. A
//! node's memory is *flat* (in one piece, as a network card wants it registered; `bcs-quic` maps one as large
//! as address space allows) or *sparse* (small pages come with the first write, so that thousands of
//! simulated nodes fit in one process).

use rkyv::{Archive, Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering};

/// An offset in bytes into global memory.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Archive, Serialize, Deserialize,
)]
#[repr(transparent)]
pub struct GlobalAddress(pub u64);

impl GlobalAddress {
    /// The address `bytes` further on; `None` when there is no such address.
    pub fn offset(self, bytes: u64) -> Option<Self> {
        self.0.checked_add(bytes).map(Self)
    }

    /// Where slot `index` of an array of slots of `slot_bytes` begins: how several senders share a
    /// destination without overwriting each other (each has the slot of its own node number).
    pub fn slot(self, index: u32, slot_bytes: u64) -> Option<Self> {
        self.offset(slot_bytes.checked_mul(u64::from(index))?)
    }
}

impl fmt::Display for GlobalAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "global address {:#x}", self.0)
    }
}

/// A global variable: 8 bytes at an 8-byte boundary, read and written as one, little-endian in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct GlobalVariable(GlobalAddress);

impl GlobalVariable {
    /// The size of a variable in bytes.
    pub const BYTES: u64 = 8;

    /// The variable at an address.
    ///
    /// # Errors
    /// [`MemoryError::Misaligned`] when the address is not a multiple of 8.
    pub const fn at(address: GlobalAddress) -> Result<Self, MemoryError> {
        if address.0.is_multiple_of(Self::BYTES) {
            Ok(Self(address))
        } else {
            Err(MemoryError::Misaligned(address))
        }
    }

    /// The variable's address.
    pub const fn address(self) -> GlobalAddress {
        self.0
    }
}

impl fmt::Display for GlobalVariable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the variable at {}", self.0)
    }
}

/// Why an access to global memory is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MemoryError {
    /// The range does not lie in the memory.
    #[error("{bytes} bytes at {at} reach beyond the {size_bytes} bytes of global memory")]
    OutOfBounds {
        /// Where the range begins.
        at: GlobalAddress,
        /// Its length.
        bytes: u64,
        /// The size of the memory.
        size_bytes: u64,
    },
    /// A variable's address that is not at an 8-byte boundary.
    #[error("a global variable lies at a multiple of 8, which {0} is not")]
    Misaligned(GlobalAddress),
}

/// One node's global memory, as a backend sees it. It is registered once, with the backend's constructor.
pub trait GlobalMemory {
    /// The size of the memory in bytes.
    fn size_bytes(&self) -> u64;

    /// Copies `into.len()` bytes from the memory.
    ///
    /// # Errors
    /// [`MemoryError::OutOfBounds`].
    fn read(&self, at: GlobalAddress, into: &mut [u8]) -> Result<(), MemoryError>;

    /// Copies bytes into the memory.
    ///
    /// # Errors
    /// [`MemoryError::OutOfBounds`]; nothing has been written then.
    fn write(&mut self, at: GlobalAddress, from: &[u8]) -> Result<(), MemoryError>;

    /// Reads a variable as one.
    ///
    /// # Errors
    /// [`MemoryError::OutOfBounds`].
    fn load(&self, variable: GlobalVariable) -> Result<u64, MemoryError> {
        let mut bytes = [0; 8];
        self.read(variable.address(), &mut bytes)?;
        Ok(u64::from_le_bytes(bytes))
    }

    /// Writes a variable as one.
    ///
    /// # Errors
    /// [`MemoryError::OutOfBounds`].
    fn store(&mut self, variable: GlobalVariable, value: u64) -> Result<(), MemoryError> {
        self.write(variable.address(), &value.to_le_bytes())
    }

    /// Whether a range lies in the memory.
    ///
    /// # Errors
    /// [`MemoryError::OutOfBounds`] when it does not.
    fn check(&self, at: GlobalAddress, bytes: u64) -> Result<(), MemoryError> {
        match at.offset(bytes) {
            Some(end) if end.0 <= self.size_bytes() => Ok(()),
            _ => Err(MemoryError::OutOfBounds { at, bytes, size_bytes: self.size_bytes() }),
        }
    }
}

/// Memory in one piece, which its owner keeps: that of a mapping, for example.
#[derive(Debug)]
pub struct FlatMemory<O> {
    base: NonNull<u8>,
    size_bytes: u64,
    _owner: O,
}

// SAFETY: by the contract of `from_raw`, the memory is valid from any thread of the process.
unsafe impl<O: Send> Send for FlatMemory<O> {}

impl<O> FlatMemory<O> {
    /// The memory that an owner keeps.
    ///
    /// # Safety
    /// `base` must point to `size_bytes` bytes, readable, writable, initialised and aligned to 8, that stay
    /// mapped for as long as the owner lives and are only accessed through raw pointers or atomics. Who
    /// shares the mapping orders its accesses by events, as the protocol does.
    pub unsafe fn from_raw(base: NonNull<u8>, size_bytes: u64, owner: O) -> Self {
        Self { base, size_bytes, _owner: owner }
    }

    /// The address in this process of a range that has been checked.
    fn pointer(&self, at: GlobalAddress) -> *mut u8 {
        // SAFETY: callers have checked that the address lies in the memory, or one past its end.
        unsafe { self.base.as_ptr().add(at.0 as usize) }
    }

    fn word(&self, variable: GlobalVariable) -> Result<&AtomicU64, MemoryError> {
        self.check(variable.address(), GlobalVariable::BYTES)?;
        // SAFETY: in bounds, aligned by the type's invariant and the alignment of the base, and only
        // accessed atomically or by raw copies for as long as `self` lives.
        Ok(unsafe { AtomicU64::from_ptr(self.pointer(variable.address()).cast()) })
    }
}

impl<O> GlobalMemory for FlatMemory<O> {
    fn size_bytes(&self) -> u64 {
        self.size_bytes
    }

    fn read(&self, at: GlobalAddress, into: &mut [u8]) -> Result<(), MemoryError> {
        self.check(at, into.len() as u64)?;
        // SAFETY: the source was just checked; an exclusive destination cannot overlap it.
        unsafe { std::ptr::copy_nonoverlapping(self.pointer(at), into.as_mut_ptr(), into.len()) };
        Ok(())
    }

    fn write(&mut self, at: GlobalAddress, from: &[u8]) -> Result<(), MemoryError> {
        self.check(at, from.len() as u64)?;
        // SAFETY: the destination was just checked; `copy` allows a source that lies in a shared mapping
        // of the same memory.
        unsafe { std::ptr::copy(from.as_ptr(), self.pointer(at), from.len()) };
        Ok(())
    }

    fn load(&self, variable: GlobalVariable) -> Result<u64, MemoryError> {
        Ok(u64::from_le(self.word(variable)?.load(Ordering::Acquire)))
    }

    fn store(&mut self, variable: GlobalVariable, value: u64) -> Result<(), MemoryError> {
        self.word(variable)?.store(value.to_le(), Ordering::Release);
        Ok(())
    }
}

/// Bytes in a page of [`SparseMemory`]. Small, because a simulated node touches few bytes in few places.
const PAGE_BYTES: u64 = 1024;

/// Memory whose pages come with the first write; what was never written reads as zero.
#[derive(Clone, Debug, Default)]
pub struct SparseMemory {
    size_bytes: u64,
    pages: BTreeMap<u64, Box<[u8; PAGE_BYTES as usize]>>,
}

impl SparseMemory {
    /// Zeroed memory of `size_bytes` that takes up nothing yet.
    pub fn new(size_bytes: u64) -> Self {
        Self { size_bytes, pages: BTreeMap::new() }
    }

    /// Cuts a checked range at page boundaries: page, offset in the page, range in the caller's buffer.
    fn pieces(at: GlobalAddress, bytes: usize) -> impl Iterator<Item = (u64, usize, std::ops::Range<usize>)> {
        let mut done = 0;
        std::iter::from_fn(move || {
            let position = at.0 + done as u64;
            let offset = (position % PAGE_BYTES) as usize;
            let piece = (bytes - done).min(PAGE_BYTES as usize - offset);
            let range = done..done + piece;
            done += piece;
            (piece > 0).then_some((position / PAGE_BYTES, offset, range))
        })
    }
}

impl GlobalMemory for SparseMemory {
    fn size_bytes(&self) -> u64 {
        self.size_bytes
    }

    fn read(&self, at: GlobalAddress, into: &mut [u8]) -> Result<(), MemoryError> {
        self.check(at, into.len() as u64)?;
        for (page, offset, range) in Self::pieces(at, into.len()) {
            let piece = range.len();
            match self.pages.get(&page) {
                Some(page) => into[range].copy_from_slice(&page[offset..offset + piece]),
                None => into[range].fill(0),
            }
        }
        Ok(())
    }

    fn write(&mut self, at: GlobalAddress, from: &[u8]) -> Result<(), MemoryError> {
        self.check(at, from.len() as u64)?;
        for (page, offset, range) in Self::pieces(at, from.len()) {
            let page = self.pages.entry(page).or_insert_with(|| Box::new([0; PAGE_BYTES as usize]));
            page[offset..offset + range.len()].copy_from_slice(&from[range]);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const SIZE_BYTES: u64 = 4096;

    #[derive(Clone, Debug)]
    enum Access {
        Write(u64, Vec<u8>),
        Store(u64, u64),
        Read(u64, usize),
        Load(u64),
    }

    fn access() -> impl Strategy<Value = Access> {
        // Some addresses lie at, across and far beyond the end.
        let at = prop_oneof![8 => 0..SIZE_BYTES + 64, 1 => (u64::MAX - 16)..=u64::MAX];
        prop_oneof![
            (at.clone(), proptest::collection::vec(any::<u8>(), 0..2500))
                .prop_map(|(at, data)| Access::Write(at, data)),
            (at.clone(), any::<u64>()).prop_map(|(at, value)| Access::Store(at, value)),
            (at.clone(), 0..2500usize).prop_map(|(at, bytes)| Access::Read(at, bytes)),
            at.prop_map(Access::Load),
        ]
    }

    /// What any memory must do, in its simplest form: a vector of bytes.
    fn run(memory: &mut dyn GlobalMemory, model: &mut [u8], access: &Access) {
        let inside =
            |at: u64, bytes: usize| at.checked_add(bytes as u64).is_some_and(|end| end <= SIZE_BYTES);
        match access {
            Access::Write(at, data) => {
                assert_eq!(memory.write(GlobalAddress(*at), data).is_ok(), inside(*at, data.len()));
                if inside(*at, data.len()) {
                    model[*at as usize..][..data.len()].copy_from_slice(data);
                }
            }
            Access::Store(at, value) => match GlobalVariable::at(GlobalAddress(*at)) {
                Ok(variable) => {
                    assert_eq!(memory.store(variable, *value).is_ok(), inside(*at, 8));
                    if inside(*at, 8) {
                        model[*at as usize..][..8].copy_from_slice(&value.to_le_bytes());
                    }
                }
                Err(error) => assert_eq!(error, MemoryError::Misaligned(GlobalAddress(*at))),
            },
            Access::Read(at, bytes) => {
                let mut data = vec![0xa5; *bytes];
                assert_eq!(memory.read(GlobalAddress(*at), &mut data).is_ok(), inside(*at, *bytes));
                match inside(*at, *bytes) {
                    true => assert_eq!(data, model[*at as usize..][..*bytes]),
                    false => assert!(data.iter().all(|byte| *byte == 0xa5), "a refused read wrote"),
                }
            }
            Access::Load(at) => {
                let Ok(variable) = GlobalVariable::at(GlobalAddress(*at)) else { return };
                let expected = inside(*at, 8)
                    .then(|| u64::from_le_bytes(model[*at as usize..][..8].try_into().unwrap()));
                assert_eq!(memory.load(variable).ok(), expected);
            }
        }
    }

    proptest! {
        #[test]
        fn every_memory_holds_what_was_written_and_refuses_what_is_outside(
            accesses in proptest::collection::vec(access(), 1..40)
        ) {
            let elsewhere: Vec<AtomicU64> = (0..SIZE_BYTES / 8).map(|_| AtomicU64::new(0)).collect();
            let base = NonNull::from(&*elsewhere).cast();
            // SAFETY: the vector has so many bytes, made of atomics, and goes with the memory over it.
            let flat = unsafe { FlatMemory::from_raw(base, SIZE_BYTES, elsewhere) };
            let mut memories: [Box<dyn GlobalMemory>; 2] =
                [Box::new(flat), Box::new(SparseMemory::new(SIZE_BYTES))];
            for memory in &mut memories {
                let mut model = vec![0; SIZE_BYTES as usize];
                for access in &accesses {
                    run(&mut **memory, &mut model, access);
                }
                let mut all = vec![0; SIZE_BYTES as usize];
                memory.read(GlobalAddress(0), &mut all).unwrap();
                prop_assert_eq!(&all, &model);
            }
        }
    }

    #[test]
    fn untouched_sparse_memory_takes_up_no_pages() {
        let mut memory = SparseMemory::new(1 << 40);
        memory.write(GlobalAddress((1 << 40) - 1), &[7]).unwrap();
        assert_eq!(memory.pages.len(), 1);
    }

    #[test]
    fn slots_of_senders_do_not_overlap_or_wrap_around() {
        let base = GlobalAddress(128);
        assert_eq!(base.slot(3, 4096), Some(GlobalAddress(128 + 3 * 4096)));
        assert_eq!(base.slot(2, u64::MAX), None);
    }
}
