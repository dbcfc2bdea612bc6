//! Buffers of collectives, as calls describe them: an address, a count and a datatype for each block
//! (MPI-5.0, §6.2).

use super::block::{Agreed, Block, Places};
use super::side::Side;
use crate::constants::*;
use crate::datatype::buffer::{Names, RECEIVE_NAMES, SEND_NAMES};
use crate::error::{MpiError, MpiResult, Problem};
use crate::process::Process;
use std::ffi::{c_int, c_void};

/// The address of a buffer: its type says which way blocks go.
pub trait Buffer: Copy {
    /// Whether they are sent.
    const SENDS: bool;
    /// What its arguments are called.
    const NAMES: Names = if Self::SENDS { SEND_NAMES } else { RECEIVE_NAMES };
    /// What is to be done with them.
    const ACTION: &'static str = if Self::SENDS { "sent" } else { "received" };

    /// The address itself.
    fn address(self) -> *const c_void;
}

impl Buffer for *const c_void {
    const SENDS: bool = true;

    #[inline]
    fn address(self) -> *const c_void {
        self
    }
}

impl Buffer for *mut c_void {
    const SENDS: bool = false;

    #[inline]
    fn address(self) -> *const c_void {
        self.cast_const()
    }
}

/// A member's own buffer in a gather, an allgather, a scatter or a broadcast.
#[derive(Clone, Copy, Debug)]
pub struct Own<P> {
    /// Its address, or MPI_IN_PLACE.
    pub buffer: P,
    /// Its elements.
    pub count: i64,
    /// Their type.
    pub datatype: MPI_Datatype,
}

impl<P: Buffer> Own<P> {
    /// Whether it is MPI_IN_PLACE.
    pub fn is_in_place(&self) -> bool {
        self.buffer.address() == MPI_IN_PLACE.cast_const()
    }

    /// The same as the blocks of one member.
    pub fn alone(&self) -> Everyone<P> {
        Everyone::of(self.buffer, Blocks::Equal(self.count), self.datatype)
    }

    /// The block.
    ///
    /// # Safety
    /// As [`Block::new`].
    ///
    /// # Errors
    /// As there.
    pub unsafe fn block(&self, process: &Process) -> MpiResult<Block> {
        let buffer = self.buffer.address();
        // SAFETY: the caller's promise.
        unsafe { Block::new(process, &P::NAMES, buffer, self.count, self.datatype, P::ACTION) }
    }
}

/// The blocks of all members in a buffer.
#[derive(Clone, Copy, Debug)]
pub struct Everyone<P> {
    /// The address that blocks are placed from.
    pub buffer: P,
    /// Where they lie.
    pub places: Places,
}

impl<P> Everyone<P> {
    /// Blocks of one type.
    pub fn of(buffer: P, blocks: Blocks, datatype: MPI_Datatype) -> Self {
        Self { buffer, places: Places::Of(blocks, datatype) }
    }

    /// The elements of each block and their type, if these are alike: not in the v and w forms.
    pub fn each(&self) -> Option<(i64, MPI_Datatype)> {
        match self.places {
            Places::Of(Blocks::Equal(count), datatype) => Some((count, datatype)),
            _ => None,
        }
    }
}

impl<P: Buffer> Everyone<P> {
    /// The blocks, so many.
    ///
    /// # Safety
    /// As [`Side::new`].
    ///
    /// # Errors
    /// As there.
    pub unsafe fn side(&self, process: &Process, count: usize) -> MpiResult<Side> {
        let buffer = self.buffer.address();
        // SAFETY: the caller's promise.
        unsafe { Side::new(process, &P::NAMES, buffer, &self.places, count, P::ACTION) }
    }

    /// What members have to say alike of these blocks, of which this process gives or takes this one: in the
    /// forms where each has its own bytes, only what their elements are.
    pub fn agreed(&self, own: Agreed) -> Agreed {
        match self.places {
            Places::Of(Blocks::Equal(_), _) => own,
            Places::Of(..) => Agreed { signature: own.kind_of_elements(), ..Agreed::EACH_ITS_OWN },
            _ => Agreed::EACH_ITS_OWN,
        }
    }
}

/// Counts and displacements of the v forms: of `int`, or large (MPI_Count and MPI_Aint).
#[derive(Clone, Copy, Debug)]
pub enum Numbers {
    /// An array of `int`.
    Small(*const c_int),
    /// An array of MPI_Count or MPI_Aint.
    Large(*const i64),
}

impl Numbers {
    /// The number at an index.
    ///
    /// # Safety
    /// The array must have it.
    pub(super) unsafe fn at(self, index: usize) -> i64 {
        // SAFETY: the caller's promise.
        unsafe {
            match self {
                Numbers::Small(array) => *array.add(index) as i64,
                Numbers::Large(array) => *array.add(index),
            }
        }
    }

    pub(super) fn is_null(self) -> bool {
        match self {
            Numbers::Small(array) => array.is_null(),
            Numbers::Large(array) => array.is_null(),
        }
    }
}

/// Where a call's blocks lie.
#[derive(Clone, Copy, Debug)]
pub enum Blocks {
    /// `count` elements each, one block after the other.
    Equal(i64),
    /// As counts and displacements say; displacements in extents of the datatype.
    Vector(Numbers, Numbers),
}

#[cold]
pub(super) fn null_array(argument: &'static str) -> MpiError {
    MpiError::new(Problem::NullResult { argument })
}

/// A block that is not as long as its place.
#[cold]
pub fn misfit(sent: usize, room: usize, from: u32) -> MpiError {
    MpiError::new(Problem::BlockMisfit { sent: sent as u64, room: room as u64, from })
}
