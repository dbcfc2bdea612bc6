//! Collectives under way on a node: an instance per operation, a member per local rank (paper, §4.4).
//!
//! Arrivals meet here. Nothing of it is shared with point-to-point traffic. The processor makes an instance
//! at the first arrival, keyed by context and sequence number, and releases members through their request
//! slots. A member that still has to read other members' contributions reads them and departs; the last to
//! depart hands slabs and instance back ([`crate::memory::departure`]).

use crate::memory::descriptor::{CollectiveKind, INLINE_BYTES};
use crate::memory::linked::LinkWord;
use crate::memory::sync::{AtomicU32, AtomicU64};
use crate::memory::{Context, LocalRank, RequestId, Word, Word64};

/// State of an instance.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum InstanceState {
    /// Not in use.
    Free = 0,
    /// Members are still to arrive.
    Gathering = 1,
    /// All have arrived; some have still to read and depart.
    Released = 2,
    /// All members of this node have arrived, and global slices know it.
    Announced = 3,
}

/// A collective under way.
#[repr(C, align(64))]
pub struct Instance {
    /// An [`InstanceState`].
    pub state: Word,
    /// Context of the communicator.
    pub context: Word<Context>,
    /// Which collective of the communicator.
    pub sequence: Word,
    /// A `CollectiveKind`.
    pub kind: Word,
    /// Operation and element type of a reduction (low and second byte).
    pub operation: Word,
    /// The root ([`SidedRank`](crate::memory::root::SidedRank)).
    pub root: Word,
    /// Members of the communicator on this node.
    pub expected: Word,
    /// Members that have arrived.
    pub arrived: Word,
    /// Bytes of a contribution; for a board the most of any member.
    pub bytes: Word64,
    links: AtomicU64,
    /// Position of the root among the local members plus one; 0 until it arrives.
    pub root_member: Word,
    /// Members that will read from the instance after their release.
    pub readers: Word,
    /// The member whose slab holds the result of a reduction, plus one.
    pub result_member: Word,
    /// The call that the members make, as `mds::Primitive` numbers it.
    pub call: Word,

    /// Members that have read what they need and left.
    pub departed: AtomicU32,
    /// Members of the communicator on all nodes.
    pub comm_size: Word,
    /// 1 when other nodes have brought what the members read ([`crate::memory::NicMemory::brought`]); 0 when
    /// that is in the members' contributions.
    pub is_brought: Word64,
    /// The next one of the stack that it is on, plus one: of departed instances
    /// ([`crate::memory::departure`]), or, where members are on several nodes, of those that all local
    /// members have reached.
    pub next_stacked: AtomicU32,
    /// The rank whose arrival began it.
    pub begun_by: Word<LocalRank>,
    /// Members that have left the communicator since this began
    /// (`threads::collective_list::Arrival::Left`).
    pub left: Word,
    _pad1: [u32; 9],
}

impl Instance {
    /// Its links in its chain, or to the next free one.
    #[inline]
    pub fn links(&self) -> LinkWord<'_> {
        LinkWord(&self.links)
    }

    /// Whether members of the communicator are on other nodes.
    #[inline]
    pub fn spans_nodes(&self) -> bool {
        self.comm_size.get() != self.expected.get()
    }

    /// Whether it is of this kind.
    #[inline]
    pub fn is(&self, kind: CollectiveKind) -> bool {
        self.kind.get() == kind as u32
    }

    /// Whether members give nothing.
    #[inline]
    pub fn is_without_bytes(&self) -> bool {
        self.is(CollectiveKind::Barrier) || self.is(CollectiveKind::Announcement)
    }

    /// Whether contributions are combined.
    #[inline]
    pub fn reduces(&self) -> bool {
        self.is(CollectiveKind::Reduce) || self.is(CollectiveKind::Allreduce)
    }
}

/// Bytes of an instance without its members.
pub const INSTANCE_BYTES: usize = size_of::<Instance>();

/// A local member of a collective under way: its contribution, as its descriptor said.
#[repr(C, align(64))]
pub struct Member {
    /// 1 once it has arrived.
    pub arrived: Word,
    /// Its rank on the node.
    pub local_rank: Word<LocalRank>,
    /// Its rank in the communicator.
    pub comm_rank: Word,
    /// Its request slot, or [`RequestId::NONE`].
    pub request: Word<RequestId>,
    /// Bytes of its contribution.
    pub bytes: Word64,
    /// Where its contribution is: 0 in `payload`, 1 in the slab that `payload[0]` numbers.
    pub place: Word,
    _pad0: u32,
    /// The contribution, or its slab.
    pub payload: [Word64; 3],
    _pad1: u64,
}

impl Member {
    /// Writes a contribution that is in the record itself.
    #[inline]
    pub(crate) fn set_payload(&self, bytes: &[u8; INLINE_BYTES]) {
        for (word, chunk) in self.payload.iter().zip(bytes.as_chunks().0) {
            word.set(u64::from_ne_bytes(*chunk));
        }
    }
}

/// Bytes of a member.
pub const MEMBER_BYTES: usize = size_of::<Member>();

const _: () = assert!(MEMBER_BYTES == 64 && INSTANCE_BYTES == 128);
