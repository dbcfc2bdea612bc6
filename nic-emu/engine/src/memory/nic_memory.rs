//! Checked access to the regions of NIC memory, wherever its host has mapped it.

use super::layout::{Control, Header, INSTANCE_CHAINS, Layout, LayoutError, MAGIC, RankBlock};
use crate::memory::breaches::Breaches;
use crate::memory::contexts::{self, Context};
use crate::memory::door::{DOORS, Door};
use crate::memory::doorbell::HeadsWord;
use crate::memory::edge::{EDGES, Edge};
use crate::memory::instance::{Instance, Member};
use crate::memory::landing::Landings;
use crate::memory::linked::{LinkWord, List};
use crate::memory::node_state::NodeState;
use crate::memory::queue::ChainLinks;
use crate::memory::request::RequestSlot;
use crate::memory::ring::Cell;
use crate::memory::slab::{Filled, RUN_BYTES, SLAB_BYTES, SLABS};
use crate::memory::sync::{AtomicU32, AtomicU64, Ordering};
use crate::memory::token::RunToken;
use crate::memory::transfer::{Transfer, WINDOW_BYTES};
use crate::memory::unexpected::{CHUNK_BYTES, PoolChunk};
use crate::memory::{
    Corrupt, ENTRIES, INSTANCES, LocalRank, REQUESTS, Rank, RequestId, SlabId, TRANSFERS, checked, within,
};
use std::ptr::NonNull;

/// Where NIC memory is, and what keeps it there: its host's business.
///
/// # Safety
/// `bytes` bytes from `base` on are readable and writable, and stay so until the value is dropped. They were
/// zeros when they were made, `base` is the start of a page, and other processes and threads use them only as
/// [`NicMemory`] does.
pub unsafe trait Mapping: Send + Sync {
    /// The first byte.
    fn base(&self) -> NonNull<u8>;

    /// How many there are.
    fn bytes(&self) -> usize;

    /// Gives the pages of a range back to the system, where that can be done.
    ///
    /// # Safety
    /// The range lies inside, begins and ends with a page, and nobody reads its bytes before somebody has
    /// written them again.
    unsafe fn forget(&self, offset: usize, bytes: usize);
}

/// Why what lies somewhere is not NIC memory of this version.
#[derive(Debug, PartialEq, Eq)]
pub enum NotOurs {
    /// Its ranks do not fit.
    Layout(LayoutError),
    /// Something else.
    Because(&'static str),
}

/// A job's NIC memory on a node, as one of its processes has mapped it.
pub struct NicMemory {
    base: NonNull<u8>,
    layout: Layout,
    mapping: Box<dyn Mapping>,
}

// SAFETY: the mapping is shared memory made of atomics (and of byte regions that the protocol hands from one
// owner to the next with release/acquire pairs); its address stays valid until drop, from any thread.
unsafe impl Send for NicMemory {}
// SAFETY: as above.
unsafe impl Sync for NicMemory {}

impl Header {
    /// The layout of the memory that begins with this header, and has so many bytes.
    ///
    /// # Errors
    /// It is not NIC memory of this version.
    pub fn layout(&self, bytes: usize) -> Result<Layout, NotOurs> {
        if self.magic.get() != MAGIC {
            return Err(NotOurs::Because(
                "its mark is another; the launcher and the library are of different builds, install both together",
            ));
        }
        let emds = [self.emds_words[0].get() as usize, self.emds_words[1].get() as usize];
        let layout =
            Layout::new(self.local_ranks.get(), self.job_ranks.get(), emds).map_err(NotOurs::Layout)?;
        let layout = layout.with_unexpected_bytes(self.unexpected_bytes.get());
        if layout.bytes as u64 != self.bytes.get() || layout.bytes > bytes {
            return Err(NotOurs::Because("its size does not fit its ranks"));
        }
        Ok(layout)
    }
}

impl NicMemory {
    /// The NIC memory of this layout that lies in a mapping.
    ///
    /// # Panics
    /// If the mapping is shorter.
    pub fn new(layout: Layout, mapping: Box<dyn Mapping>) -> Self {
        assert!(layout.bytes <= mapping.bytes(), "NIC memory of {} bytes lies in a mapping", layout.bytes);
        Self { base: mapping.base(), layout, mapping }
    }

    /// Identifies it: who makes it does so first.
    pub fn write_identity(&self, node: u32, nodes: u32) {
        let header = self.header();
        header.bytes.set(self.layout.bytes as u64);
        header.local_ranks.set(self.layout.local_ranks);
        header.job_ranks.set(self.layout.job_ranks);
        header.emds_words[0].set(self.layout.emds_words[0] as u64);
        header.emds_words[1].set(self.layout.emds_words[1] as u64);
        header.unexpected_bytes.set(self.layout.unexpected_bytes());
        header.node.set(node);
        header.nodes.set(nodes);
        header.magic.set(MAGIC);
    }

    /// Where everything is.
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// Reference to a `T` at a byte offset.
    ///
    /// # Safety
    /// `offset + size_of::<T>()` must lie within the mapping, `offset` be aligned for `T`, and `T` be valid
    /// for every bit pattern and consist of atomics, as other processes write it.
    #[inline]
    unsafe fn at<T>(&self, offset: usize) -> &T {
        debug_assert!(offset + size_of::<T>() <= self.layout.bytes && offset.is_multiple_of(align_of::<T>()));
        // SAFETY: the caller's promise.
        unsafe { &*self.base.as_ptr().add(offset).cast::<T>() }
    }

    /// A slice of `count` `T`s at a byte offset; the same promises as [`Self::at`].
    #[inline]
    unsafe fn many<T>(&self, offset: usize, count: usize) -> &[T] {
        debug_assert!(
            offset + count * size_of::<T>() <= self.layout.bytes && offset.is_multiple_of(align_of::<T>())
        );
        // SAFETY: the caller's promise.
        unsafe { std::slice::from_raw_parts(self.base.as_ptr().add(offset).cast::<T>(), count) }
    }

    /// The first page.
    #[inline]
    pub fn header(&self) -> &Header {
        // SAFETY: the mapping is longer than the header, page-aligned, and the header is atomics.
        unsafe { self.at(0) }
    }

    /// The line that every holder of the run token touches.
    #[inline]
    pub fn control(&self) -> &Control {
        // SAFETY: the control region begins with it.
        unsafe { self.at(self.layout.control) }
    }

    /// The broken communicators.
    #[inline]
    pub fn breaches(&self) -> &Breaches {
        // SAFETY: the region holds them.
        unsafe { self.at(self.layout.breaches) }
    }

    /// Messages on their way into the memory of this node's ranks.
    #[inline]
    pub fn landings(&self) -> &Landings {
        // SAFETY: the region holds them.
        unsafe { self.at(self.layout.landings) }
    }

    /// The run token.
    #[inline]
    pub fn token(&self) -> &RunToken {
        &self.control().token
    }

    /// What the processor has taken of each rank.
    #[inline]
    pub fn taken(&self) -> &[HeadsWord] {
        // SAFETY: the words after `Control` in the control region, one per local rank.
        unsafe { self.many(self.layout.control + size_of::<Control>(), self.layout.local_ranks as usize) }
    }

    /// The doorbells of the ranks, in their order.
    #[inline]
    pub fn doorbells(&self) -> impl ExactSizeIterator<Item = &HeadsWord> {
        let (first, stride) = (self.layout.doorbells, self.layout.doorbell_stride);
        // SAFETY: the region holds a word at this distance for every local rank.
        (0..self.layout.local_ranks as usize).map(move |i| unsafe { self.at(first + i * stride) })
    }

    /// The doorbell of a local rank.
    #[inline]
    pub fn doorbell(&self, local_rank: LocalRank) -> Result<&HeadsWord, Corrupt> {
        let i = self.checked(local_rank)?;
        // SAFETY: as above, and the index was checked.
        Ok(unsafe { self.at(self.layout.doorbells + i * self.layout.doorbell_stride) })
    }

    /// Node (high half) and local rank (low half) of every rank of the job.
    #[inline]
    pub fn places(&self) -> &[AtomicU64] {
        // SAFETY: the region holds one word per rank of the job.
        unsafe { self.many(self.layout.places, self.layout.job_ranks as usize) }
    }

    /// Which rank of this node a rank of the job is; none when it is on another node.
    #[inline]
    pub fn local_rank(&self, rank: Rank) -> Result<Option<LocalRank>, Corrupt> {
        let i = checked("rank", rank.0, self.layout.job_ranks as usize)?;
        if self.layout.local_ranks == self.layout.job_ranks {
            return Ok(Some(LocalRank(rank.0)));
        }
        let place = self.places()[i].load(Ordering::Relaxed) ^ one_a_node(rank);
        Ok(((place >> 32) as u32 == self.header().node.get()).then_some(LocalRank(place as u32)))
    }

    /// The rank in the job of a local rank.
    #[inline]
    pub fn job_rank(&self, local_rank: LocalRank) -> Rank {
        if self.layout.local_ranks == self.layout.job_ranks {
            return Rank(local_rank.0);
        }
        self.rank(local_rank).map_or(Rank(0), |block| block.status.job_rank())
    }

    /// All ranks of this node.
    #[inline]
    pub fn local_ranks(&self) -> impl Iterator<Item = LocalRank> + use<> {
        (0..self.layout.local_ranks).map(LocalRank)
    }

    #[inline]
    fn checked(&self, local_rank: LocalRank) -> Result<usize, Corrupt> {
        checked("local rank", local_rank.0, self.layout.local_ranks as usize)
    }

    /// The block of a local rank.
    #[inline]
    pub fn rank(&self, local_rank: LocalRank) -> Result<&RankBlock, Corrupt> {
        let i = self.checked(local_rank)?;
        // SAFETY: the region holds `local_ranks` blocks and the index was checked.
        Ok(unsafe { self.at(self.layout.ranks + i * size_of::<RankBlock>()) })
    }

    /// A request slot of a local rank.
    #[inline]
    pub fn request(&self, local_rank: LocalRank, request: RequestId) -> Result<&RequestSlot, Corrupt> {
        let i = checked("request slot", request.0, REQUESTS)?;
        Ok(&self.rank(local_rank)?.requests[i])
    }

    /// The first byte of a slab of a local rank; it has [`SLAB_BYTES`].
    #[inline]
    pub fn slab(&self, local_rank: LocalRank, slab: SlabId) -> Result<NonNull<u8>, Corrupt> {
        let i = checked("slab", slab.0, SLABS)?;
        Ok(NonNull::from(&self.rank(local_rank)?.slabs[i]).cast())
    }

    /// The first byte of the slabs of a local rank that a payload of so many bytes lies in.
    #[inline]
    pub fn run(&self, local_rank: LocalRank, first: SlabId, bytes: u64) -> Result<NonNull<u8>, Corrupt> {
        checked("end of a payload in its slabs", bytes, RUN_BYTES + 1)?;
        let slabs = bytes.div_ceil(SLAB_BYTES as u64).max(1) as usize;
        let first = checked("first slab of a payload", first.0, SLABS + 1 - slabs)?;
        // SAFETY: the slabs lie one behind the other, and those of the run were checked to be among them.
        Ok(unsafe { NonNull::from(&self.rank(local_rank)?.slabs).cast::<u8>().add(first * SLAB_BYTES) })
    }

    /// How far the run that begins with a slab is filled.
    #[inline]
    pub fn filled(&self, local_rank: LocalRank, first: SlabId) -> Result<&Filled, Corrupt> {
        let i = checked("slab", first.0, SLABS)?;
        Ok(&self.rank(local_rank)?.filled[i])
    }

    /// A queued descriptor.
    #[inline]
    pub fn entry(&self, entry: u32) -> Result<&Cell, Corrupt> {
        let i = checked("queue entry", entry, ENTRIES)?;
        // SAFETY: the region holds `ENTRIES` cells and the index was checked.
        Ok(unsafe { self.at(self.layout.entries + i * size_of::<Cell>()) })
    }

    /// The links of a queued descriptor in its chains.
    #[inline]
    pub fn chain_links(&self, entry: u32) -> Result<&ChainLinks, Corrupt> {
        let i = checked("queue entry", entry, ENTRIES)?;
        // SAFETY: the region holds `ENTRIES` of them and the index was checked.
        Ok(unsafe { self.at(self.layout.chain_links + i * size_of::<ChainLinks>()) })
    }

    /// A transfer.
    #[inline]
    pub fn transfer(&self, transfer: u32) -> Result<&Transfer, Corrupt> {
        let i = checked("transfer", transfer, TRANSFERS)?;
        // SAFETY: the region holds `TRANSFERS` transfers and the index was checked.
        Ok(unsafe { self.at(self.layout.transfers + i * size_of::<Transfer>()) })
    }

    /// A collective instance.
    #[inline]
    pub fn instance(&self, instance: u32) -> Result<&Instance, Corrupt> {
        let i = checked("collective instance", instance, INSTANCES)?;
        // SAFETY: the region holds `INSTANCES` instances of this stride and the index was checked.
        Ok(unsafe { self.at(self.layout.instances + i * self.layout.instance_stride) })
    }

    /// The chain that a collective under way is in. Collectives of a communicator that follow each other are
    /// in chains of their own.
    #[inline]
    pub(crate) fn instance_chain<'m>(
        &'m self,
        context: Context,
        sequence: u32,
    ) -> List<'m, impl Fn(u32) -> Result<LinkWord<'m>, Corrupt>> {
        let hash = context.0.wrapping_mul(0x9e37_79b1).wrapping_add(sequence) as usize;
        let at = self.layout.instance_chains + hash % INSTANCE_CHAINS * size_of::<AtomicU64>();
        // SAFETY: the region holds `INSTANCE_CHAINS` words, and the number is below that.
        let ends = LinkWord(unsafe { self.at(at) });
        List { ends, links: |entry| Ok(self.instance(entry)?.links()), limit: INSTANCES }
    }

    /// The members of a collective instance, one per local rank at most.
    #[inline]
    pub fn members(&self, instance: u32) -> Result<&[Member], Corrupt> {
        let i = checked("collective instance", instance, INSTANCES)?;
        let start =
            self.layout.instances + i * self.layout.instance_stride + crate::memory::instance::INSTANCE_BYTES;
        // SAFETY: every instance is followed by one member per local rank; the index was checked.
        Ok(unsafe { self.many(start, self.layout.local_ranks as usize) })
    }

    /// The first byte of a window; it has [`WINDOW_BYTES`].
    #[inline]
    pub fn window(&self, window: u32) -> Result<NonNull<u8>, Corrupt> {
        let i = checked("window", window, self.layout.window_count)?;
        // SAFETY: the region holds so many windows and the index was checked, so the sum stays inside the
        // mapping.
        Ok(unsafe { self.base.add(self.layout.windows + i * WINDOW_BYTES) })
    }

    /// The first byte of a rank's lane; it has `crate::memory::lane::LANE_BYTES`.
    #[inline]
    pub fn lane(&self, local_rank: LocalRank) -> Result<NonNull<u8>, Corrupt> {
        let i = self.checked(local_rank)?;
        // SAFETY: the region holds a lane per local rank and the index was checked.
        Ok(unsafe { self.base.add(self.layout.lanes + i * crate::memory::lane::LANE_BYTES) })
    }

    /// An edge along which a local rank receives.
    #[inline]
    pub fn edge(&self, local_rank: LocalRank, edge: u32) -> Result<&Edge, Corrupt> {
        let rank = self.checked(local_rank)?;
        let i = rank * EDGES + checked("edge", edge, EDGES)?;
        // SAFETY: the region holds `EDGES` edges per local rank and both indices were checked.
        Ok(unsafe { self.at(self.layout.edges + i * size_of::<Edge>()) })
    }

    /// A door of a local rank.
    #[inline]
    pub fn door(&self, local_rank: LocalRank, door: u32) -> Result<&Door, Corrupt> {
        let rank = self.checked(local_rank)?;
        let i = rank * DOORS + checked("door", door, DOORS)?;
        // SAFETY: the region holds `DOORS` doors per local rank and both indices were checked.
        Ok(unsafe { self.at(self.layout.doors + i * size_of::<Door>()) })
    }

    /// The words of a context's group: its context plus one, then a bit per node. None on one node.
    #[inline]
    pub fn group(&self, context: Context) -> &[AtomicU64] {
        let stride = self.layout.group_stride;
        // SAFETY: the region holds a group of this stride for each slot.
        unsafe { self.many(self.layout.groups + context.slot() as usize * stride, stride / 8) }
    }

    /// The words of the slots of contexts (`crate::memory::contexts`). None on one node.
    pub fn context_slots(&self) -> &[AtomicU32] {
        let slots = if self.layout.group_stride == 0 { 0 } else { contexts::SLOTS as usize };
        // SAFETY: the region holds a word for each slot where there are groups.
        unsafe { self.many(self.layout.context_slots, slots) }
    }

    /// Part of what other nodes have brought an instance. None on one node.
    pub fn brought(&self, instance: u32, offset: u64, bytes: u64) -> Result<NonNull<u8>, Corrupt> {
        let i = checked("collective instance", instance, INSTANCES)?;
        let (stride, first) = (self.layout.brought_stride, self.layout.brought);
        within("end of what was brought", offset, bytes, stride as u64)?;
        // SAFETY: the region holds `stride` bytes of each instance; index and range were checked.
        Ok(unsafe { self.base.add(first + i * stride + offset as usize) })
    }

    /// A word of what other nodes have brought an instance.
    pub fn brought_word(&self, instance: u32, offset: u64) -> Result<&AtomicU64, Corrupt> {
        if !offset.is_multiple_of(8) {
            return Err(Corrupt { what: "misaligned word of what was brought", value: offset, limit: 0 });
        }
        // SAFETY: eight bytes, checked, of what begins on a page, so they are aligned; the word is atomic.
        Ok(unsafe { self.brought(instance, offset, 8)?.cast().as_ref() })
    }

    /// The node of a rank of the job, and which rank it is there.
    #[inline]
    pub fn place(&self, rank: Rank) -> Result<(u32, LocalRank), Corrupt> {
        let i = checked("rank", rank.0, self.layout.job_ranks as usize)?;
        if self.layout.local_ranks == self.layout.job_ranks {
            return Ok((self.header().node.get(), LocalRank(rank.0)));
        }
        let place = self.places()[i].load(Ordering::Relaxed) ^ one_a_node(rank);
        Ok(((place >> 32) as u32, LocalRank(place as u32)))
    }

    /// Says where a rank of the job is: its node, and which rank it is there. When NIC memory is made.
    pub fn set_place(&self, rank: Rank, node: u32, local_rank: LocalRank) {
        if let Some(place) = self.places().get(rank.index()) {
            let word = ((node as u64) << 32 | local_rank.0 as u64) ^ one_a_node(rank);
            // Untouched pages take up nothing.
            if place.load(Ordering::Relaxed) != word {
                place.store(word, Ordering::Relaxed);
            }
        }
    }

    /// This node's number in the job, and the number of nodes.
    pub fn node(&self) -> (u32, u32) {
        (self.header().node.get(), self.header().nodes.get())
    }

    /// What this node knows of another one. A job on one node has none.
    #[inline]
    pub fn node_state(&self, node: u32) -> Result<&NodeState, Corrupt> {
        let i = checked("node", node, self.layout.node_count.min(self.header().nodes.get() as usize))?;
        // SAFETY: the region holds `node_count` of them and the index was checked.
        Ok(unsafe { self.at(self.layout.nodes + i * size_of::<NodeState>()) })
    }

    /// A chunk of a local rank's pool of unexpected messages.
    pub(crate) fn unexpected_chunk(&self, local_rank: LocalRank, chunk: u32) -> Result<&PoolChunk, Corrupt> {
        let rank = self.checked(local_rank)?;
        let chunks = self.layout.unexpected_chunks as usize;
        let i = rank * chunks + checked("chunk of a pool", chunk, chunks)?;
        // SAFETY: the region holds `chunks` of them for each local rank and both indices were checked.
        Ok(unsafe { self.at(self.layout.unexpected_chunks_at + i * size_of::<PoolChunk>()) })
    }

    /// The first of so many bytes at an offset in a local rank's pool of unexpected messages.
    pub(crate) fn unexpected_bytes(
        &self,
        local_rank: LocalRank,
        offset: u64,
        bytes: u64,
    ) -> Result<NonNull<u8>, Corrupt> {
        let rank = self.checked(local_rank)?;
        let size = self.layout.unexpected_chunks as usize * CHUNK_BYTES;
        within("end of a message in a pool", offset, bytes, size as u64)?;
        let at = self.layout.unexpected_bytes_at + rank * size + offset as usize;
        // SAFETY: the region holds `size` bytes for each local rank, and rank and range were checked.
        Ok(unsafe { self.base.add(at) })
    }

    /// Gives the pages of a range of a local rank's pool of unexpected messages back to the system, in which
    /// nothing is any more. Where the system does not do so, they stay.
    pub(crate) fn forget_unexpected(
        &self,
        local_rank: LocalRank,
        offset: u64,
        bytes: u64,
    ) -> Result<(), Corrupt> {
        let first = self.unexpected_bytes(local_rank, offset, bytes)?;
        let offset = first.as_ptr() as usize - self.base.as_ptr() as usize;
        // SAFETY: checked to lie inside; whole chunks begin and end with a page, and by this function's
        // contract nothing is in them.
        unsafe { self.mapping.forget(offset, bytes as usize) };
        Ok(())
    }

    /// The words of the local EMDS ring; none when EMDS is off.
    #[inline]
    pub fn emds_local(&self) -> &[AtomicU64] {
        // SAFETY: the region holds that many words.
        unsafe { self.many(self.layout.emds[0], self.layout.emds_words[0]) }
    }

    /// The words of the global EMDS ring (on the job's lead node); none when EMDS is off.
    #[inline]
    pub fn emds_global(&self) -> &[AtomicU64] {
        // SAFETY: the region holds that many words.
        unsafe { self.many(self.layout.emds[1], self.layout.emds_words[1]) }
    }
}

/// The place of a rank with one rank a node, in order. Places are kept as what they differ by from it: so the
/// table of a very large job is empty.
fn one_a_node(rank: Rank) -> u64 {
    (rank.0 as u64) << 32
}
