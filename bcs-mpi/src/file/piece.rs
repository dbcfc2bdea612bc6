//! Some of a member's bytes on their way in a collective access.

use super::memory::Bytes;
use crate::progress::Memory;
use std::mem::MaybeUninit;
use std::ops::Range;

/// Pieces by the number of a pattern, or, of this member's own bytes, by the first of them.
pub(super) type Pieces = Vec<(usize, Piece)>;

/// Some of a member's bytes on their way.
pub(super) enum Piece {
    /// Where they are.
    There(Memory),
    /// Packed, or to be unpacked: initialised once they have come.
    Packed(Box<[MaybeUninit<u8>]>),
}

// SAFETY: the bytes are the access's own until it is over, whichever thread moves them.
unsafe impl Send for Piece {}

impl Piece {
    /// Room for so many.
    pub fn room(bytes: usize) -> Self {
        Piece::Packed(Box::new_uninit_slice(bytes))
    }

    /// The bytes, or the room for them, as long as the piece is kept.
    pub fn memory(&mut self) -> Memory {
        match self {
            Piece::There(memory) => *memory,
            // SAFETY: who asks keeps the piece until they have been moved.
            Piece::Packed(packed) => unsafe { Memory::new(packed.as_mut_ptr().cast(), packed.len()) },
        }
    }
}

impl Bytes {
    /// Some of the bytes, to be sent: where they are, if they lie together.
    pub fn given(&self, range: &Range<usize>) -> Piece {
        let mut piece = self.taken(range);
        if let Piece::Packed(packed) = &mut piece {
            let to = packed.as_mut_ptr().cast();
            // SAFETY: the promise of `Bytes`; there is room for as many.
            unsafe { self.layout.cursor_at(range.start).pack(self.at, to, range.len()) };
        }
        piece
    }

    /// Room for some of the bytes: where they are to be, if they lie together there.
    pub fn taken(&self, range: &Range<usize>) -> Piece {
        match self.block(range.start) {
            // SAFETY: the promise of `Bytes`.
            Some(first) => Piece::There(unsafe { Memory::new(first, range.len()) }),
            None => Piece::room(range.len()),
        }
    }

    /// Puts bytes that have all come in their places, from the one with this number on, if they are not
    /// there.
    ///
    /// # Safety
    /// They have.
    pub unsafe fn put(&self, from: usize, piece: Piece) {
        if let Piece::Packed(packed) = piece {
            // SAFETY: the promise of `Bytes`, and the caller's.
            unsafe { self.layout.cursor_at(from).unpack(packed.as_ptr().cast(), packed.len(), self.at) };
        }
    }
}
