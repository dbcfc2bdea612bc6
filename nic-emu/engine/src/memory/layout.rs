//! Where everything is in NIC memory: structs, capacities, offsets. The only file that knows.

use crate::memory::abort_record::AbortRecord;
use crate::memory::breaches::Breaches;
use crate::memory::claims::Claims;
use crate::memory::contexts::{ContextCounters, SLOTS};
use crate::memory::descriptor::INLINE_BYTES;
use crate::memory::door::{DOORS, Door};
use crate::memory::doorbell::{COUNTER_BITS, RingKind};
use crate::memory::edge::{EDGES, Edge};
use crate::memory::hang_news::HangNews;
use crate::memory::instance::{INSTANCE_BYTES, MEMBER_BYTES};
use crate::memory::landing::Landings;
use crate::memory::lane::LANE_BYTES;
use crate::memory::node_state::NodeState;
use crate::memory::pool::FreeList;
use crate::memory::queue::{ChainLinks, MatchChains, MatchQueues, Queue};
use crate::memory::request::RequestSlot;
use crate::memory::ring::{Cell, Ring};
use crate::memory::slab::{Departed, Filled, ReturnedSlabs, SLAB_BYTES, SLABS};
use crate::memory::status::RankStatus;
use crate::memory::sync::{AtomicU32, AtomicU64};
use crate::memory::token::RunToken;
use crate::memory::transfer::{Transfer, WINDOW_BYTES};
use crate::memory::unexpected::{
    CHUNK_BYTES, DEFAULT_LIMIT_BYTES, MOST_LIMIT_BYTES, PoolChunk, PoolState, RoomNews,
};
use crate::memory::wait_word::WaitWord;
use crate::memory::{Word, Word64};
use std::mem::offset_of;

/// Cells of a send ring: as many sends as a rank posts before somebody runs a slice.
pub const SEND_RING: usize = 512;
/// Cells of a receive ring.
pub const RECEIVE_RING: usize = 512;
/// Cells of a collective ring: one blocking collective, or a window of non-blocking ones.
pub const COLLECTIVE_RING: usize = 64;
/// Request slots of a rank: outstanding receives, rendezvous sends and collectives.
pub const REQUESTS: usize = 1 << 20;
/// Queued descriptors of all ranks of the node: posted receives and unexpected messages.
pub const ENTRIES: usize = 1 << 22;
/// Of these, so many hold messages at most. The rest is for receives that wait: a receive that finds an entry
/// meets its message in the sender's ring, so messages that nobody receives yet keep nobody else's from
/// arriving.
pub(crate) const MESSAGE_ENTRIES: usize = ENTRIES - ENTRIES / 4;
/// Rendezvous transfers under way; more matched pairs than this wait their turn.
pub const TRANSFERS: usize = 1 << 14;
/// Collectives under way on the node.
pub const INSTANCES: usize = 1 << 12;
/// Chains in which collectives under way are found, by a hash of what they are.
pub(super) const INSTANCE_CHAINS: usize = INSTANCES;
/// Windows for pipelined copies: ranks whose numbers differ by a multiple of this share one. Where
/// there are other nodes, there are as many again, through which the ranks get what comes from there.
pub(crate) const WINDOWS: usize = 1 << 9;

/// With so many ranks on a node or fewer, every doorbell has a cache line to itself: ranks that post at the
/// same time do not take a line from each other. With more, who looks for work reads fewer lines.
pub(crate) const LONE_DOORBELLS: usize = 8;

/// Bytes that other nodes bring an instance at most, beside the few of each rank that ride in descriptors: a
/// board.
pub const BROUGHT_BYTES: usize = 64 << 10;
/// Bytes of a board's entry that rides in a descriptor, with its place in the board's table.
const ENTRY_BYTES: usize = 16 + INLINE_BYTES;

const PAGE: usize = 4096;

/// Marks a file as NIC memory of this layout: a launcher and a library that were not built together have
/// another one as soon as what they share has moved.
pub(super) const MAGIC: u64 = {
    let places = [
        size_of::<RankBlock>(),
        size_of::<Control>(),
        size_of::<Breaches>(),
        size_of::<RemoteState>(),
        size_of::<NodeState>(),
        size_of::<Transfer>(),
        size_of::<Edge>(),
        size_of::<Door>(),
        offset_of!(Header, slice),
        offset_of!(Header, pools),
        offset_of!(Pools, departed_instances),
        offset_of!(Header, attention),
        offset_of!(Header, remote),
        offset_of!(Header, contexts),
        offset_of!(Header, abort),
        offset_of!(Header, hang_news),
        offset_of!(RankBlock, status),
        offset_of!(RankBlock, queues),
        offset_of!(RankBlock, claims),
        offset_of!(RankBlock, unexpected),
        size_of::<PoolChunk>(),
        ENTRIES,
        REQUESTS,
        TRANSFERS,
        SLOTS as usize,
        BROUGHT_BYTES,
    ];
    let mut mark = u64::from_le_bytes(*b"BCS-NIC\x02");
    let mut at = 0;
    while at < places.len() {
        mark = (mark ^ places[at] as u64).wrapping_mul(0x0100_0000_01b3);
        at += 1;
    }
    mark
};

const _: () = {
    assert!(
        SEND_RING.is_power_of_two() && RECEIVE_RING.is_power_of_two() && COLLECTIVE_RING.is_power_of_two()
    );
    // A full ring must be told from an empty one by its counters alone.
    assert!(SEND_RING < 1 << (COUNTER_BITS - 1) && RECEIVE_RING < 1 << (COUNTER_BITS - 1));
    assert!(size_of::<Cell>() == 64 && size_of::<RequestSlot>() == 64);
    assert!(size_of::<Header>() == PAGE);
    assert!(size_of::<RankBlock>().is_multiple_of(PAGE));
};

/// The first page.
#[repr(C, align(4096))]
pub struct Header {
    pub(super) magic: Word64,
    /// Bytes of the whole mapping.
    pub(super) bytes: Word64,
    /// Ranks of the job on this node.
    pub(super) local_ranks: Word,
    /// Ranks of the job.
    pub(super) job_ranks: Word,
    /// This node's number in the job.
    pub(super) node: Word,
    /// Nodes of the job.
    pub(super) nodes: Word,
    /// Words of the local and of the global EMDS ring; 0 when EMDS is off.
    pub(super) emds_words: [Word64; 2],
    /// The job's number.
    pub job: Word64,
    /// Length of a fixed slice in nanoseconds; 0 for elastic slices.
    pub slice_period_ns: Word64,
    /// Arithmetic of the Reduce Helper: 0 native, 1 SoftFloat.
    pub arithmetic: Word,
    /// Whether cross-memory attach may be used, and is wanted ([`crate::channel`]): 0, 1 or 2.
    pub cross_memory: Word,
    /// Cores that the ranks of this node share: what the waiting policy goes by.
    pub cores: Word,
    /// Not 0 where the node's cores are slow to take written lines from each other: one word, so that all
    /// ranks choose alike.
    pub slow_lines: Word,
    /// The pid namespace that ranks' numbers are of: the launcher's; 0 when it is not known.
    pub pid_namespace: Word,

    /// What only the processor writes.
    pub slice: SliceState,
    /// Free lists of the pools.
    pub pools: Pools,
    /// Requests for locks of windows that wait, the oldest first; processor only.
    pub lock_requests: Queue,
    /// Who has to be woken when something is posted.
    pub attention: Attention,
    /// What waits for a global slice; all zeros on one node.
    pub remote: RemoteState,
    /// How far this node is in its share of the contexts.
    pub contexts: ContextCounters,
    /// Slots of contexts that the job has, on all its nodes: `crate::memory::contexts::SLOTS`, or fewer.
    pub context_slots: Word,
    /// Bytes of a rank's pool for messages that come before their receives, at most.
    pub(super) unexpected_bytes: Word64,
    /// Room that came back in the pools of messages that came before their receives.
    pub room: RoomNews,
    /// Who ended the job, and why.
    pub abort: AbortRecord,
    /// That there is a hang, for ranks that want to know it.
    pub hang_news: HangNews,
}

/// What the processor keeps for global slices (`crate::global`).
#[repr(C, align(64))]
pub struct RemoteState {
    /// Descriptors in the ranks' outbound queues.
    pub outbound: Word,
    /// Collectives that span nodes and at which all local members have arrived, so far.
    pub arrived: Word,
    /// Of `arrived`, those for which the NIC thread is woken: all but announcements, for which nobody waits,
    /// as long as few of them lie; and communicators that broke.
    pub awaited: Word,
    /// Receives matched with messages of other nodes: of each pair, the message, then the receive.
    pub matches: Queue,
    /// Those of `arrived` that are published to the other nodes. Of this and the next two, only the driver of
    /// global slices writes them.
    pub published: Word,
    /// Whether anything of this node is under way between nodes: 0 when something may be, else one more than
    /// the number of the global slice that this node has last taken part in.
    pub rest: Word64,
    /// Changes with everything that this node does in global slices: what it sends, takes, schedules and
    /// completes.
    pub moves: Word64,
    /// Records that this node has sent to others, since the start.
    pub sent: Word64,
    /// Records of others that this node has taken, since the start.
    pub taken: Word64,
    /// Descriptors that this node has sent to others, and messages of others that it has matched, since a
    /// slice was recorded last.
    pub descriptors: Word64,
    /// As `descriptors`.
    pub matched: Word64,
    /// Of `moves`, `sent` and `taken`, what ranks have done that wait: not counted there.
    pub by_ranks: ByRanks,
    /// When a rank drove the links last, in nanoseconds of the driver's clock.
    pub driven_ns: Word64,
    /// Whether something is under way that only the NIC thread can go on with, as it may be until that has
    /// looked for the first time: it drives the links then.
    pub thread_drives: Word,
    /// Whether the NIC thread stands by: it has left the links to ranks, and looks soon whether one drives
    /// them.
    pub stands_by: Word,
    /// One more than the processor on which the NIC thread moves the bytes of links, while it stands by for
    /// ranks that cannot; 0 at other times.
    pub carrier: Word,
    /// Not 0: it was told why long messages do not go from buffer to buffer on this node.
    pub told_refusal: Word,
}

/// What ranks that wait have done of a node's part between nodes, since the start.
#[repr(C)]
#[derive(Default)]
pub struct ByRanks {
    /// As [`RemoteState::moves`].
    pub moves: Word64,
    /// As [`RemoteState::sent`].
    pub sent: Word64,
    /// As [`RemoteState::taken`].
    pub taken: Word64,
    /// Messages that they have written into their receivers' buffers.
    pub written: Word64,
}

/// Who sleeps: one line, as posters look at both words.
#[repr(C, align(64))]
pub struct Attention {
    /// Ranks that sleep on their wait words.
    pub sleepers: AtomicU32,
    /// The NIC thread's wait word (`crate::host::waiting`, `crate::host::wake_pipe`).
    pub nic_thread_sleeps: WaitWord,
}

/// The state of slices; processor only.
#[repr(C, align(64))]
pub struct SliceState {
    /// Elastic slices on several nodes: what had been posted when a slice took nothing for want of room
    /// ([`crate::threads::buffer_sender::BufferSender::is_stalled`]); 0 where the last one took something.
    pub stalled: Word64,
    /// When the slice that ran last started, in nanoseconds of the driver's clock.
    pub started_ns: Word64,
    /// Fixed slices: when the next one starts; 0 while the NIC rests, which is until somebody posts.
    pub next_ns: Word64,
    /// Descriptors taken since the job began.
    pub descriptors: Word64,
    /// Messages matched since the job began.
    pub matched: Word64,
    _pad1: [u32; 2],
    /// Transfers under way.
    pub transfers: Word,
    _pad2: [u32; 2],
    /// Slices that found descriptors and took none, for want of room.
    pub in_vain: Word,
    /// Completions held back until the next fixed slice.
    pub held: Queue,
    /// Fixed slices: the beat of the slice that ran last, in periods of the driver's clock.
    pub beat: Word64,
    _pad: [u64; 6],
}

/// What every holder of the run token touches, in the line that the token is in: who takes the token has it
/// all. The taken words follow it.
#[repr(C)]
pub struct Control {
    /// The run token.
    pub token: RunToken,
    /// The slice that ran last.
    pub slice: Word64,
    /// Free list of queued descriptors.
    pub entries: FreeList,
    /// Collectives at which some members have been taken note of, and not all.
    pub gathering: Word,
}

const _: () = assert!(size_of::<Control>() == 32, "with the taken words of four ranks it fills a cache line");

/// Free lists; processor only.
#[repr(C, align(64))]
pub struct Pools {
    /// Of transfers.
    pub transfers: FreeList,
    /// Of collective instances.
    pub instances: FreeList,
    /// Ends of the list of transfers under way.
    pub active_transfers: AtomicU64,
    /// First of the collectives that span nodes, that all local members have reached, and that no global
    /// slice knows of, plus one: a stack.
    pub reached_instances: Word,
    _pad0: Word,
    _pad: [u64; 3],
    /// First instance that all have departed from and no slice has freed, plus one: a stack that departing
    /// ranks push on, in a line of its own.
    pub departed_instances: AtomicU32,
    _pad1: [u32; 15],
}

const _: () = assert!(size_of::<SliceState>() == 128 && size_of::<Pools>() == 128);

/// What a rank has in NIC memory.
#[repr(C, align(4096))]
pub struct RankBlock {
    /// What the rank says of itself.
    pub status: RankStatus,
    /// Matching queues; processor only.
    pub queues: MatchQueues,
    /// Slabs of this rank that were read by others.
    pub returned: ReturnedSlabs,
    /// The pool of messages that this rank has not received.
    pub unexpected: PoolState,
    /// Collectives under way that this rank's arrival began; processor only.
    pub begun: Word,
    _pad0: Word,
    /// Sends of this rank to ranks on other nodes, until a global slice takes them; processor only.
    pub outbound: Queue,
    _pad: [u64; (PAGE
        - size_of::<RankStatus>()
        - size_of::<MatchQueues>()
        - size_of::<ReturnedSlabs>()
        - size_of::<PoolState>())
        / 8
        - 2],
    /// Chains of long matching queues; processor only.
    pub(crate) chains: MatchChains,
    _pad1: [u64; PAGE / 8 - 1],
    /// Messages of ranks of this node that this rank takes itself.
    pub claims: Claims,
    /// Send ring.
    pub send: [Cell; SEND_RING],
    /// Receive ring.
    pub receive: [Cell; RECEIVE_RING],
    /// Collective ring.
    pub collective: [Cell; COLLECTIVE_RING],
    /// How far the runs are filled that begin with each slab.
    pub filled: [Filled; SLABS],
    /// Slabs.
    pub slabs: [[AtomicU64; SLAB_BYTES / 8]; SLABS],
    /// Of each slab, the message that begins in it and has left for another node ([`Departed`]); processor
    /// only.
    pub departed: [Departed; SLABS],
    /// Request slots.
    pub requests: [RequestSlot; REQUESTS],
}

impl RankBlock {
    /// One of the rank's rings.
    #[inline]
    pub fn ring(&self, kind: RingKind) -> Ring<'_> {
        Ring::new(match kind {
            RingKind::Send => &self.send,
            RingKind::Receive => &self.receive,
            RingKind::Collective => &self.collective,
        })
    }
}

/// Why a layout cannot be made.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error(
    "a job of {job_ranks} ranks with {local_ranks} on this node cannot have a NIC: 1 to {} ranks are possible",
    Layout::MAX_LOCAL_RANKS
)]
pub struct LayoutError {
    /// Ranks on this node: none, or more than can be addressed.
    local_ranks: u32,
    /// Ranks of the job.
    job_ranks: u32,
}

/// Offsets of all regions for a number of ranks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    /// Ranks of the job on this node.
    pub local_ranks: u32,
    /// Ranks of the job.
    pub job_ranks: u32,
    /// Words of the local and of the global EMDS ring (`mds::EmdsRing::words_needed`); 0 when EMDS is off.
    pub emds_words: [usize; 2],
    pub(super) control: usize,
    pub(super) breaches: usize,
    pub(super) landings: usize,
    pub(super) doorbells: usize,
    /// Bytes from one doorbell to the next.
    pub(super) doorbell_stride: usize,
    pub(super) places: usize,
    pub(super) ranks: usize,
    pub(super) entries: usize,
    pub(super) chain_links: usize,
    pub(super) transfers: usize,
    pub(super) instances: usize,
    pub(super) instance_stride: usize,
    pub(super) instance_chains: usize,
    pub(super) windows: usize,
    pub(super) window_count: usize,
    pub(super) lanes: usize,
    pub(super) edges: usize,
    pub(super) doors: usize,
    pub(super) nodes: usize,
    pub(super) node_count: usize,
    pub(super) groups: usize,
    pub(super) group_stride: usize,
    pub(super) context_slots: usize,
    pub(super) brought: usize,
    pub(super) brought_stride: usize,
    pub(super) emds: [usize; 2],
    pub(super) unexpected_chunks_at: usize,
    pub(super) unexpected_bytes_at: usize,
    /// Chunks of a rank's pool of unexpected messages.
    pub(crate) unexpected_chunks: u32,
    /// Bytes of the whole mapping.
    pub bytes: usize,
}

impl Layout {
    /// Ranks that a NIC can serve on one node: a member index of a collective has 16 bits.
    pub(crate) const MAX_LOCAL_RANKS: u32 = 1 << 14;
    /// Ranks that a job can have.
    pub(crate) const MAX_JOB_RANKS: u32 = 1 << 24;

    /// The layout for a job.
    pub fn new(local_ranks: u32, job_ranks: u32, emds_words: [usize; 2]) -> Result<Self, LayoutError> {
        if local_ranks == 0
            || local_ranks > job_ranks
            || local_ranks > Self::MAX_LOCAL_RANKS
            || job_ranks > Self::MAX_JOB_RANKS
        {
            return Err(LayoutError { local_ranks, job_ranks });
        }
        let mut end = size_of::<Header>();
        let mut region = |bytes: usize| {
            let start = end;
            end = (start + bytes).next_multiple_of(PAGE);
            start
        };
        let local = local_ranks as usize;
        // Every node has a rank, so there are at most so many others.
        let other_nodes = (job_ranks - local_ranks) as usize;
        let instance_stride = INSTANCE_BYTES + local * MEMBER_BYTES;
        let doorbell_stride = if local <= LONE_DOORBELLS { 64 } else { 8 };
        let window_count = if other_nodes == 0 { WINDOWS } else { 2 * WINDOWS };
        // What only jobs of several nodes have.
        let node_count = if other_nodes == 0 { 0 } else { other_nodes + 1 };
        let group_stride = if other_nodes == 0 { 0 } else { (1 + (other_nodes + 1).div_ceil(64)) * 8 };
        let context_slots = if other_nodes == 0 { 0 } else { SLOTS as usize };
        let brought_stride = match other_nodes {
            0 => 0,
            _ => (8 + BROUGHT_BYTES + job_ranks as usize * ENTRY_BYTES).next_multiple_of(PAGE),
        };
        // The regions lie in the order in which they stand here.
        let layout = Self {
            local_ranks,
            job_ranks,
            emds_words,
            control: region(size_of::<Control>() + local * 8),
            breaches: region(size_of::<Breaches>()),
            landings: region(size_of::<Landings>()),
            doorbells: region(local * doorbell_stride),
            doorbell_stride,
            places: region(job_ranks as usize * 8),
            ranks: region(local * size_of::<RankBlock>()),
            entries: region(ENTRIES * size_of::<Cell>()),
            chain_links: region(ENTRIES * size_of::<ChainLinks>()),
            transfers: region(TRANSFERS * size_of::<Transfer>()),
            instances: region(INSTANCES * instance_stride),
            instance_stride,
            instance_chains: region(INSTANCE_CHAINS * size_of::<AtomicU64>()),
            windows: region(window_count * WINDOW_BYTES),
            window_count,
            lanes: region(local * LANE_BYTES),
            edges: region(local * EDGES * size_of::<Edge>()),
            doors: region(local * DOORS * size_of::<Door>()),
            nodes: region(node_count * size_of::<NodeState>()),
            node_count,
            groups: region(SLOTS as usize * group_stride),
            group_stride,
            context_slots: region(context_slots * size_of::<AtomicU32>()),
            brought: region(INSTANCES * brought_stride),
            brought_stride,
            emds: [region(emds_words[0] * 8), region(emds_words[1] * 8)],
            unexpected_chunks_at: end,
            unexpected_bytes_at: end,
            unexpected_chunks: 0,
            bytes: end,
        };
        Ok(layout.with_unexpected_bytes(DEFAULT_LIMIT_BYTES))
    }

    /// The same with another limit for what each rank can leave unreceived: whole chunks,
    /// `MOST_LIMIT_BYTES` at most.
    pub fn with_unexpected_bytes(self, limit: u64) -> Self {
        let chunks = (limit.min(MOST_LIMIT_BYTES) / CHUNK_BYTES as u64) as u32;
        let all = self.local_ranks as usize * chunks as usize;
        let unexpected_bytes_at =
            (self.unexpected_chunks_at + all * size_of::<PoolChunk>()).next_multiple_of(PAGE);
        let bytes = unexpected_bytes_at + all * CHUNK_BYTES;
        Self { unexpected_bytes_at, unexpected_chunks: chunks, bytes, ..self }
    }

    /// Bytes of a rank's pool of unexpected messages at most.
    pub fn unexpected_bytes(&self) -> u64 {
        self.unexpected_chunks as u64 * CHUNK_BYTES as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn regions_are_page_aligned_disjoint_and_inside(local in 1u32..600, remote in 0u32..5000, emds in 0usize..100_000) {
            let layout = Layout::new(local, local + remote, [emds, emds / 2]).unwrap();
            let starts = [layout.control, layout.breaches, layout.landings, layout.doorbells, layout.places, layout.ranks, layout.entries, layout.chain_links, layout.transfers, layout.instances, layout.instance_chains, layout.windows, layout.lanes, layout.edges, layout.doors, layout.groups, layout.context_slots, layout.brought, layout.emds[0], layout.emds[1], layout.unexpected_chunks_at, layout.unexpected_bytes_at, layout.bytes];
            for pair in starts.windows(2) {
                prop_assert!(pair[0] <= pair[1] && pair[0] % PAGE == 0);
            }
            prop_assert!(layout.emds[1] + emds / 2 * 8 <= layout.unexpected_chunks_at);
            let smaller = layout.with_unexpected_bytes(emds as u64);
            prop_assert_eq!(smaller.unexpected_bytes(), emds as u64 / CHUNK_BYTES as u64 * CHUNK_BYTES as u64);
            prop_assert_eq!(smaller.with_unexpected_bytes(DEFAULT_LIMIT_BYTES), layout);
            prop_assert!(layout.instances + INSTANCES * layout.instance_stride <= layout.instance_chains);
            prop_assert!(layout.brought + INSTANCES * layout.brought_stride <= layout.emds[0]);
        }
    }

    #[test]
    fn impossible_jobs_are_refused() {
        assert!(Layout::new(0, 4, [0; 2]).is_err());
        assert!(Layout::new(5, 4, [0; 2]).is_err());
        assert!(Layout::new(Layout::MAX_LOCAL_RANKS + 1, Layout::MAX_JOB_RANKS, [0; 2]).is_err());
    }
}
