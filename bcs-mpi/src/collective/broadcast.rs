//! MPI_Bcast and its forms (MPI-5.0, §6.4).

use crate::progress::meeting::Arrival;

/// A block that goes from one member to all others: what it looks like on its way.
pub struct Broadcast {
    /// Who has it.
    pub root: u32,
    /// As a descriptor's operation carries it.
    pub signature: (u8, u8),
    /// Its bytes.
    pub bytes: usize,
    /// Where it is, and where it goes.
    place: *mut u8,
}

impl Broadcast {
    /// A block of so many bytes.
    ///
    /// # Safety
    /// The place must be readable, and writable unless this member is the root, and used by nobody else, as
    /// long as the operation is under way.
    pub unsafe fn new(root: u32, signature: (u8, u8), (place, bytes): (*mut u8, usize)) -> Self {
        Self { root, signature, bytes, place }
    }

    /// Its first byte.
    pub fn place(&self) -> *mut u8 {
        self.place
    }

    /// What members say when they meet.
    pub fn arrival(&self) -> Arrival {
        Arrival { operation: self.signature, root: self.root, most_bytes: self.bytes, ..Arrival::default() }
    }
}
