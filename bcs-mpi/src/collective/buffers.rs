//! Buffers of collectives, as calls describe them: an address, a count and a datatype for each block
//! (MPI-5.0, §6.2).

use super::places::Places;
use crate::collective::{Agreed, Block, Combination, Reduction, Results, Side};
use crate::constants::*;
use crate::error::MpiResult;
use crate::object::datatype::buffer::{
    Elements, Names, RECEIVE_NAMES, SEND_NAMES, check_not_in_place, contiguous_bytes,
};
use crate::process::Process;
use std::ffi::c_void;

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

/// A member's own buffer in a gather, an allgather, a scatter or a broadcast; its address may be
/// MPI_IN_PLACE.
impl<P: Buffer> Elements<P> {
    /// Whether it is MPI_IN_PLACE.
    pub fn is_in_place(&self) -> bool {
        self.buffer.address() == MPI_IN_PLACE.cast_const()
    }

    /// The same as the blocks of one member.
    pub fn alone(&self) -> Everyone<P> {
        Everyone { buffer: self.buffer, places: Places::Equal(self.count, self.datatype) }
    }

    /// The block, of arguments with these names; `action` is what is to be done with it.
    ///
    /// # Errors
    /// As [`Block::new`].
    pub(super) fn block(&self, process: &Process, names: &Names, action: &'static str) -> MpiResult<Block> {
        let Self { count, datatype, .. } = *self;
        Block::new(process, names, Elements { buffer: self.buffer.address(), count, datatype }, action)
    }
}

/// The blocks of all members in a buffer.
#[derive(Clone, Copy, Debug)]
pub struct Everyone<P> {
    /// The address that blocks are placed from, or MPI_IN_PLACE.
    pub(super) buffer: P,
    /// Where they lie.
    pub(super) places: Places,
}

impl<P> Everyone<P> {
    /// Blocks that lie there.
    ///
    /// # Safety
    /// If they matter to this member, the address must be valid, as [`Elements::new`] says, for a block of
    /// each that the call has one for, and arrays be null or have as many elements.
    pub unsafe fn new(buffer: P, places: Places) -> Self {
        Self { buffer, places }
    }

    /// The elements of each block and their type, if these are alike: not in the v and w forms.
    pub fn each(&self) -> Option<(i64, MPI_Datatype)> {
        match self.places {
            Places::Equal(count, datatype) => Some((count, datatype)),
            _ => None,
        }
    }
}

impl<P: Buffer> Everyone<P> {
    /// The blocks, as many as the call has.
    ///
    /// # Errors
    /// A null buffer for something, a null array, a count or a datatype that cannot be.
    pub(super) fn side(&self, process: &Process, count: usize) -> MpiResult<Side> {
        let (names, buffer) = (&P::NAMES, self.buffer.address());
        check_not_in_place(names[0], buffer)?;
        if let Places::Equal(each, datatype) = self.places
            && count > 0
            && contiguous_bytes(datatype).is_some()
        {
            let first = Block::new(process, names, Elements { buffer, count: each, datatype }, P::ACTION)?;
            let apart = first.bytes;
            return Ok(Side::Alike { first, apart });
        }
        // SAFETY: the promise of `new`.
        let list = unsafe { self.places.read(&process.datatypes, names, count)? };
        let names = self.places.names(names);
        let block = |(count, at, datatype)| {
            // With MPI_BOTTOM a type is made of addresses; without a displacement it stays null, and is found
            // so if it is not.
            let buffer = buffer.wrapping_byte_offset(at);
            Block::displaced(process, &names, Elements { buffer, count, datatype }, P::ACTION)
        };
        Ok(Side::Each(list.into_iter().map(block).collect::<MpiResult<_>>()?))
    }

    /// What members have to say alike of these blocks, of which this process gives or takes this one: in the
    /// forms where each has its own bytes, only what their elements are.
    pub fn agreed(&self, own: Agreed) -> Agreed {
        match self.places {
            Places::Equal(..) => own,
            Places::Vector(..) => Agreed { signature: own.kind_of_elements(), ..Agreed::EACH_ITS_OWN },
            Places::Typed(..) => Agreed::EACH_ITS_OWN,
        }
    }
}

/// The two vectors of a reduction.
#[derive(Clone, Copy, Debug)]
pub struct Vectors {
    /// This member's operands, or MPI_IN_PLACE.
    pub(super) send: *const c_void,
    /// Where the result goes.
    pub(super) receive: *mut c_void,
    /// Elements; of a reduce-scatter the shares say how many.
    pub(super) count: i64,
    pub(super) datatype: MPI_Datatype,
    pub(super) op: MPI_Op,
}

impl Vectors {
    /// So many elements of this type, with which that is done.
    ///
    /// # Safety
    /// The operands must be readable, and the result's place writable for what this member gets, as far as
    /// they matter to it, until the operation of the call, and every later start of it, is over.
    #[inline(always)]
    pub unsafe fn new(
        send: *const c_void,
        receive: *mut c_void,
        count: i64,
        datatype: MPI_Datatype,
        op: MPI_Op,
    ) -> Self {
        Self { send, receive, count, datatype, op }
    }

    pub(super) fn source(&self) -> *const c_void {
        if self.send == MPI_IN_PLACE.cast_const() { self.receive.cast_const() } else { self.send }
    }

    /// So many elements at `from`, with which that is done, and who gets what of it.
    pub(super) fn combined(
        &self,
        reduction: Reduction,
        results: Results,
        (from, count): (*const c_void, i64),
    ) -> Combination {
        let places = (from.cast(), self.receive.cast());
        // SAFETY: the promise of `new`.
        unsafe { Combination::new(reduction, results, places, count as usize) }
    }
}
