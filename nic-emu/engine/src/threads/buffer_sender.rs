//! BS, the Buffer Sender (paper, §4.1, §4.3): takes what ranks posted and brings it to where it is matched.
//!
//! Descriptor exchange microphase: the BS fixes, rank by rank, up to where the rings are eligible; what is
//! posted later waits for the next slice. A descriptor for a rank of this node stays where it is, in its ring
//! cell, and is read there by the Buffer Receiver; "delivery" on one node is knowing how far to read.

use crate::memory::doorbell::{Heads, HeadsWord, RingKind};
use crate::memory::prefetch;
use crate::memory::{Corrupt, LocalRank, NicMemory};
use crate::policy::RANKS_A_SLICE;
use crate::threads::eligible::{Eligible, Exchange};
use crate::threads::nic_thread::NicThread;
use crate::threads::slice_work::SliceWork;

/// Ranks of a node whose next cells a rank that waits fetches ahead, at most.
const RANKS_AHEAD: usize = 4;

/// Fetches the cells of a rank's next receive and send, where they are wanted.
#[inline(always)]
fn fetch(memory: &NicMemory, local_rank: LocalRank, taken: Heads, is_wanted: impl Fn(RingKind) -> bool) {
    let Ok(block) = memory.rank(local_rank) else { return };
    let fetch = |kind| {
        if is_wanted(kind) {
            prefetch::to_read(block.ring(kind).cell(taken.get(kind)));
        }
    };
    fetch(RingKind::Receive);
    fetch(RingKind::Send);
}

/// The Buffer Sender.
pub struct BufferSender;

/// Descriptor exchange microphase: publishes what the last slice completed, and fixes what this one
/// schedules.
impl NicThread for BufferSender {
    #[inline]
    fn is_idle(_: &SliceWork<'_>) -> bool {
        false
    }

    #[inline]
    fn run(work: &mut SliceWork<'_>) -> Result<(), Corrupt> {
        if work.pacing.holds_completions() {
            work.completer.publish_held()?;
        }
        // Also those slices count that take nothing: of very many ranks, others have their turn.
        let in_vain = work.memory.header().slice.in_vain.get();
        let first = (work.memory.control().slice.get() as u32).wrapping_add(in_vain);
        Self::exchange(work.memory, first, &mut work.exchange);
        Ok(())
    }
}

impl BufferSender {
    /// True when some rank has posted what no slice has taken yet. The question that everybody who waits asks
    /// all the time: it reads doorbells and taken words, and nothing else.
    #[inline]
    pub fn has_work(memory: &NicMemory) -> bool {
        memory.doorbells().zip(memory.taken()).any(|(doorbell, taken)| doorbell.peek() != taken.peek())
    }

    /// On several nodes, with elastic slices: true when the last slice took nothing, because there was no
    /// room for what that slice found, and nobody has posted since. Room mostly comes from other nodes then:
    /// the NIC thread runs another slice when it has done something else, and now and then
    /// ([`crate::global`]). Ranks run none, because they would keep the token from the NIC thread.
    #[inline]
    pub fn is_stalled(memory: &NicMemory) -> bool {
        let stalled = memory.header().slice.stalled.get();
        stalled != 0 && stalled == Self::posted(memory.doorbells().map(HeadsWord::peek))
    }

    /// A slice has taken nothing of what it found.
    pub fn stall(memory: &NicMemory, exchange: &Exchange) {
        // As the doorbells were when the slice began: what was posted since is news.
        let heads = memory.local_ranks().zip(memory.taken()).map(|(rank, taken)| {
            let found = exchange.iter().find(|eligible| eligible.local_rank == rank);
            found.map_or_else(|| taken.peek(), |eligible| eligible.heads)
        });
        memory.header().slice.stalled.set(Self::posted(heads));
    }

    /// A number, not 0, that changes with every post.
    fn posted(heads: impl Iterator<Item = Heads>) -> u64 {
        heads.fold(0u64, |sum, heads| sum.wrapping_add(heads.0)).max(1)
    }

    /// Descriptor exchange microphase: which descriptors this slice schedules. `first` is the rank to begin
    /// with, so that with very many ranks none is always last.
    #[inline]
    pub fn exchange(memory: &NicMemory, first: u32, exchange: &mut Exchange) {
        let all = || memory.local_ranks().zip(memory.doorbells().zip(memory.taken()));
        let mut take = |local_rank: LocalRank, doorbell: &HeadsWord, taken: &HeadsWord| {
            let (heads, taken) = (doorbell.read(), taken.peek());
            if heads != taken {
                // The cells that the slice is about to read: those of several rings come in the time of one.
                fetch(memory, local_rank, taken, |kind| heads.ahead_of(taken, kind) != 0);
                exchange.push(Eligible { local_rank, taken, heads });
            }
            exchange.len()
        };
        let ranks = memory.layout().local_ranks;
        if ranks as usize <= RANKS_A_SLICE {
            // There is room for all ranks.
            for (rank, (doorbell, taken)) in all() {
                take(rank, doorbell, taken);
            }
            return;
        }
        let first = (first % ranks) as usize;
        for (rank, (doorbell, taken)) in all().skip(first).chain(all().take(first)) {
            if take(rank, doorbell, taken) == RANKS_A_SLICE {
                break;
            }
        }
    }

    /// Fetches the cells that other ranks will post in next, while there is nothing to do: a doorbell and its
    /// cell then come in the time of one. Only of few ranks, since that is done at every look.
    #[inline]
    pub fn fetch_next(memory: &NicMemory, own: LocalRank) {
        let all = memory.taken();
        if all.len() > RANKS_AHEAD {
            return;
        }
        for (rank, taken) in memory.local_ranks().zip(all).filter(|(rank, _)| *rank != own) {
            fetch(memory, rank, taken.peek(), |_| true);
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::memory::Layout;

    #[test]
    fn whatever_is_posted_ends_a_stall() {
        let memory = NicMemory::create_private(Layout::new(2, 2, [0; 2]).unwrap(), 0, 2).unwrap();
        let post = |rank: u32| {
            let doorbell = memory.doorbell(LocalRank(rank)).unwrap();
            doorbell.publish(doorbell.read().advanced(RingKind::Collective));
        };
        let exchanged = || {
            let mut exchange = Exchange::new();
            BufferSender::exchange(&memory, 0, &mut exchange);
            exchange
        };
        assert!(!BufferSender::is_stalled(&memory));
        post(0);
        BufferSender::stall(&memory, &exchanged());
        assert!(BufferSender::is_stalled(&memory) && BufferSender::has_work(&memory));
        post(1);
        assert!(!BufferSender::is_stalled(&memory));
        // Posted while the slice ran that found no room for what was there before.
        for late in [0, 1] {
            let exchange = exchanged();
            post(late);
            BufferSender::stall(&memory, &exchange);
            assert!(!BufferSender::is_stalled(&memory));
        }
        BufferSender::stall(&memory, &exchanged());
        assert!(BufferSender::is_stalled(&memory));
    }
}
