//! The blocks of one side of a call: all that a process sends to the members of a communicator or along its
//! edges, or all that it receives (MPI-5.0, §6.5 to §6.8, §8.6).
//!
//! Blocks of one contiguous type, the commonest by far, are an address and a length. What does not lie
//! together is packed when the operation starts, the same block once for all.

use super::block::{Agreed, Block, Wire};
use super::vector::Vector;
use crate::error::MpiResult;
use crate::progress::Memory;

/// Blocks of a side, one for each member or edge.
#[derive(Clone, Debug)]
pub enum Side {
    /// One behind the other, or the same for all.
    Alike {
        /// The first.
        first: Block,
        /// Bytes from one to the next: as many as one has, or none where all are the same.
        apart: usize,
    },
    /// Each somewhere.
    Each(Vec<Block>),
}

impl Side {
    /// None, where the argument does not matter.
    pub const NOTHING: Self = Side::Each(Vec::new());

    /// The same block for all.
    pub fn same(first: Block) -> Self {
        Side::Alike { first, apart: 0 }
    }

    /// A block.
    pub fn block(&self, block: u32) -> Block {
        match self {
            Side::Alike { first, apart } => first.further(block as usize * apart),
            Side::Each(each) => each[block as usize].clone(),
        }
    }

    /// The first block, and how far it is from one to the next, if each has so many bytes that lie together.
    #[inline]
    pub fn row(&self, bytes: usize) -> Option<(Memory, usize)> {
        match self {
            Side::Alike { first, apart } if first.bytes == bytes => Some((first.together()?, *apart)),
            _ => None,
        }
    }

    /// Bytes of a block, and the tag of its signature.
    #[inline]
    pub fn about(&self, block: u32) -> (usize, u16) {
        let block = match self {
            Side::Alike { first, .. } => first,
            Side::Each(each) => &each[block as usize],
        };
        (block.bytes, block.tag)
    }

    /// Bytes of a block.
    #[inline]
    pub fn bytes(&self, block: u32) -> usize {
        self.about(block).0
    }

    /// The tag of a block's signature: what both ends of an edge compare. Nothing matches nothing, whatever
    /// it is nothing of.
    #[inline]
    pub fn signature(&self, block: u32) -> u16 {
        let (bytes, tag) = self.about(block);
        if bytes == 0 { 0 } else { tag }
    }

    /// What members have to say alike of these blocks, if all are like this one.
    pub fn agreed(&self, block: u32) -> Agreed {
        Agreed::new(self.bytes(block), self.signature(block))
    }

    /// What the elements of blocks of one datatype are: as [`Agreed::kind_of_elements`] of one with some.
    pub fn kind_of_elements(&self) -> (u8, u8) {
        let blocks = if let Side::Each(each) = self { each.as_slice() } else { &[] };
        let some = blocks.iter().find(|block| block.bytes > 0);
        some.map_or((0, 0), |block| block.agreed().kind_of_elements())
    }

    /// Copies of what is sent now: the blocks, so many, may change before they have gone.
    ///
    /// # Errors
    /// There is no memory for them.
    pub fn snapshots(&self, count: u32) -> MpiResult<Wires> {
        Ok(match self {
            Side::Alike { first, apart } => {
                let mut all = first.clone();
                all.bytes = first.bytes.max(count as usize * apart);
                Wires::Alike(all.snapshot()?, *apart)
            }
            Side::Each(each) => Wires::Each(each.iter().map(Block::snapshot).collect::<MpiResult<_>>()?),
        })
    }

    /// As they are sent now.
    ///
    /// # Errors
    /// There is no memory for what does not lie together.
    #[inline]
    pub fn wires(&self) -> MpiResult<Wires> {
        self.on_their_way(Block::wire)
    }

    /// Where they arrive.
    ///
    /// # Errors
    /// There is no memory for them.
    #[inline]
    pub fn landings(&self) -> MpiResult<Wires> {
        self.on_their_way(Block::landing)
    }

    #[inline]
    fn on_their_way(&self, wire: fn(&Block) -> MpiResult<Wire>) -> MpiResult<Wires> {
        Ok(match self {
            Side::Alike { first, apart } => Wires::Alike(wire(first)?, *apart),
            Side::Each(each) => Wires::Each(each.iter().map(wire).collect::<MpiResult<_>>()?),
        })
    }

    /// Puts a block that has arrived where the program wants it.
    #[inline]
    pub fn land(&self, landings: &Wires, block: u32) {
        match (self, landings) {
            (Side::Alike { first, .. }, Wires::Alike(landing, _)) => first.land(landing),
            (Side::Each(each), Wires::Each(landings)) => each[block as usize].land(&landings[block as usize]),
            _ => {}
        }
    }
}

/// The blocks of a side on their way.
pub enum Wires {
    /// So many bytes from one to the next.
    Alike(Wire, usize),
    /// Each somewhere.
    Each(Vec<Wire>),
}

impl Wires {
    /// Copies of these blocks, all of the same length, one behind the other.
    ///
    /// # Errors
    /// There is no memory for them.
    pub fn row_of(blocks: &[Block]) -> MpiResult<Self> {
        let bytes = blocks.first().map_or(0, |first| first.bytes);
        let mut packed = Vector::new(bytes * blocks.len())?;
        for (block, place) in blocks.iter().zip(packed.chunks_exact_mut(bytes.max(1))) {
            block.read(place);
        }
        Ok(Wires::Alike(Wire::of(packed), bytes))
    }

    /// A block's bytes, or the room for them.
    #[inline]
    pub fn at(&self, block: u32) -> Memory {
        match self {
            Wires::Alike(all, 0) => all.memory,
            // SAFETY: the promise of `Everyone::new`: as many blocks as are asked for lie there.
            Wires::Alike(first, apart) => unsafe {
                Memory::new(first.memory.first().wrapping_add(block as usize * apart), *apart)
            },
            Wires::Each(each) => each[block as usize].memory,
        }
    }
}
