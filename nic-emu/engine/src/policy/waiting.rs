//! How ranks wait: all numbers of a wait, as one table.
//!
//! A rank that waits looks, again and again (it *polls*), then gives its core away between two looks (it
//! *yields*), then sleeps. Meanwhile it runs slices, or leaves them to others. [`WAITS`] has a row for each
//! situation of a rank; what is the same in all of them follows below.
//!
//! What the numbers are worth, where that was measured: times in µs with the number here and with another one
//! put into the same library, in alternating rounds, on two cores that share an L3.
//!
//! | number | here | other value | command |
//! |---|---|---|---|
//! | `polls`, a core each | 0.09 | 1: 0.24 | `storm run -n 2 microbench sendrecv --sizes 8` |
//! | | 0.23 | 1: 0.32 | `storm run -n 2 microbench latency --sizes 4K` |
//! | `polls`, shared cores | 13 | 100: 86 | `storm run -n 8 microbench allreduce --sizes 8` |
//! | `polls`, several nodes | 104 | 20: 143 | `storm run -n 4 --ppn 1 microbench barrier`, four hosts |
//! | `meeting_looks`, a core each | 0.58 | 1: 0.74 | `storm run -n 2 microbench allreduce --sizes 4K` |
//! | [`MEETING_LOOKS_A_SLICE`] | 0.189 | 4: 0.209 | `storm run -n 2 microbench barrier` |
//! | [`MEETING_LOOKS_A_RETRY`] | 0.189 | 32: 0.198 | the same |
//! | `trust` | 0.54 | 0: 0.59 | `storm run --emds -n 2 microbench neighbor --sizes 8` |
//! | `patience`, `watches` | 0.54 | 0: 0.54 to 0.55 | the same |
//! | `yields`, shared cores | 11 | 50: 6 | `storm run -n 8 microbench exchange --sizes 8` |
//! | `bystanding`, shared cores | 1.9 | 0: 2.2 | `storm run -n 8 microbench latency --sizes 8` |
//! | | 13 | 0: 7.3 million messages a second | `storm run -n 8 microbench rate` |
//! | `claim_yields`, shared cores | 4.5 | 0: 6.3 | `storm run -n 8 microbench exchange --sizes 8` |
//! | `meeting_looks`, shared cores | 13 | 1: 11; 64: 12 | `storm run -n 8 microbench allreduce --sizes 8` |
//!
//! `patience`, `watches` and `trust` are for what slices bring, as the messages of that command were then.
//! With far cores all three made an exchange of 8 bytes by slices take 0.74 µs instead of 1.09. Where cores
//! are shared, times differ twofold from run to run: a fifth tells nothing. Eight ranks that sleep soon are
//! quicker on a machine that is theirs alone; where others compute, a wake takes 28 µs and more, and a yield
//! that switches 1.3. Not measured alone are `lane_looks`, [`STREAM_SENDS`], [`KEEPING_LOOKS`], and the
//! numbers of several nodes.

use crate::memory::NicMemory;
use crate::memory::slab::BUFFERED_BYTES;
use std::ops::RangeInclusive;
use std::time::Duration;

/// How a rank waits in one situation: a row of [`WAITS`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WaitPolicy {
    /// Looks before the core is yielded for the first time; none where ranks share cores.
    pub polls: u32,
    /// Looks at the awaited request alone between two looks at everything.
    pub watches: u32,
    /// Looks that find another rank's work before this one runs it.
    pub patience: u32,
    /// Times `watches` for which a rank that has just posted leaves the NIC to others at most, after as many
    /// waits that others' slices ended.
    pub trust: u32,
    /// `patience` of a rank that waits for no message, and all of whose posts have been taken: what it finds
    /// are mostly messages, which their receivers take out of rings themselves, unless a slice does.
    pub bystanding: u32,
    /// Yields after which a rank that waits for a message of one other posts a receive for it.
    pub claim_yields: u32,
    /// Yields before the rank may sleep.
    pub yields: u32,
    /// Looks at its own request that a rank takes after it has arrived at a collective, before it waits as
    /// for anything else. It yields between two of them where ranks share cores.
    pub meeting_looks: u32,
    /// Looks at lanes that a member of a large collective takes before it waits as for anything else.
    pub lane_looks: u32,
}

impl WaitPolicy {
    /// How ranks of this node wait.
    pub fn of(memory: &NicMemory, several_nodes: bool) -> Self {
        let has_cores = memory.layout().local_ranks <= memory.header().cores.get().max(1);
        WAITS[several_nodes as usize][!has_cores as usize]
    }

    /// Whether ranks of the node share cores.
    #[inline]
    pub const fn shares_cores(&self) -> bool {
        self.polls == 0
    }
}

const fn row(numbers: [u32; 9]) -> WaitPolicy {
    let [polls, watches, patience, trust, bystanding, claim_yields, yields, meeting_looks, lane_looks] =
        numbers;
    WaitPolicy {
        polls,
        watches,
        patience,
        trust,
        bystanding,
        claim_yields,
        yields,
        meeting_looks,
        lane_looks,
    }
}

/// How ranks wait: on one node, and on one of several; each with a core for each rank, and with more ranks
/// than cores, where a rank that waits gives way at once. Of several nodes, what a rank has posted may be for
/// another one, so the rank leaves it to nobody; and it soon asks whether the NIC thread, or anybody else,
/// wants its core, and takes no turns (`nic_emu::host::crowd`, which has the numbers of that).
#[rustfmt::skip]
pub const WAITS: [[WaitPolicy; 2]; 2] = [[
    //  polls  watches  patience  trust  bystanding  claim_yields  yields  meeting_looks  lane_looks
    row([100,    40,        3,      3,       0,           64,      20_000,      400,         200]),
    row([  0,     0,        0,      0,       8,           64,       2_000,       16,           0]),
], [
    row([  4,     0,        0,      0,       0,            0,           0,      400,         200]),
    row([  0,     0,        0,      0,       0,            0,           0,       16,           0]),
]];

/// Looks at its own request between two looks at what others have posted, of a rank that has arrived at a
/// collective.
pub const MEETING_LOOKS_A_SLICE: u32 = 32;

/// The same when a slice is wanted that somebody else kept it from running.
pub const MEETING_LOOKS_A_RETRY: u32 = 4;

/// Times that a rank that does not wait for its collective tries for the token, where its arrival may
/// complete the collective and somebody else is the processor.
pub const MEETING_TRIES: u32 = 12;

/// A rank has posted a stream, since it last waited, if it has posted more sends than this, and for each
/// receive more than so many; or so many more receives than sends. A stream of sends makes it leave slices to
/// its receivers, as long as these run some; one of receives makes it run them itself.
pub const STREAM_SENDS: u32 = 8;

/// How long it waits for the next slice, in nanoseconds: longer than a receiver takes to post 64 receives
/// (`microbench rate`: 1 µs 10 million messages a second, 3 to 20 µs 15).
pub const STREAM_PATIENCE_NS: u64 = 5_000;

/// Bytes of a message from which on it is left in the memory of a sender that goes on, or receives meanwhile,
/// although it could go through slabs, where stores are not quick: its receiver reads it there.
pub const LEAST_LEFT_BYTES: usize = BUFFERED_BYTES / 2 + 1;

/// So much longer waits the sender of a message that its receiver is to read.
pub const READING_NS_A_KB: u64 = 100;

/// And in all.
pub const STREAM_LIMIT_NS: u64 = 100_000;

/// How long a rank sleeps at a time without being woken, at first and at most: not all that it may wait for
/// wakes it.
pub const SLEEPS: RangeInclusive<Duration> = Duration::from_millis(2)..=Duration::from_millis(20);

/// How long a rank sleeps next, that has slept so long in its wait: a quarter of that, so that what nobody
/// wakes it for is late by no more than that, and hundreds of ranks that wait leave the cores to others.
pub fn longest_sleep(slept: Duration) -> Duration {
    (slept / 4).clamp(*SLEEPS.start(), *SLEEPS.end())
}

/// In a job on several nodes: yields before a rank sleeps though nobody wants its core, or though nobody will
/// wake it.
pub const YIELDS_OF_SEVERAL: u32 = 20_000;

/// The same where others want the rank's processor, and have it in turns: 10 to 20 ms where a turn comes
/// after 38 to 84 µs, as with four and eight ranks on two processors.
pub const YIELDS_AMONG_MANY: u32 = 256;

/// The same where a rank waits for ranks of its own node alone, which may want the processor that it yields.
pub const YIELDS_BESIDE_PEERS: u32 = 2;

/// Passes over the links of such a rank, at most, so that what it has posted leaves.
pub const PASSES_BESIDE_PEERS: u32 = 4;

/// How long the NIC thread leaves the links to other nodes to ranks, after one has driven them, in
/// nanoseconds.
pub const DRIVING_NS: u64 = 200_000;

/// How long the NIC thread naps beside ranks that drive the links, in nanoseconds: at first, and at most. A
/// nap takes its rank some 10 to 25 µs, as they are on one processor.
pub const NAPS_NS: RangeInclusive<u64> = DRIVING_NS..=4 * DRIVING_NS;

/// How long the NIC thread naps next, which has found that ranks still drive the links after a whole nap of
/// so long. So it sees that they have stopped at most as long afterwards as they had driven them before, or
/// somewhat later than after a first nap.
pub fn next_nap_ns(napped_ns: u64) -> u64 {
    (2 * napped_ns).clamp(*NAPS_NS.start(), *NAPS_NS.end())
}

/// Messages for other nodes that a rank posts from which on it sends them itself before it goes on. Fewer
/// leave together with what follows.
pub const PUSHED_SENDS: u32 = 32;

/// The same in bytes: half a frame.
pub const PUSHED_BYTES: usize = 32 << 10;

/// The shortest message, in bytes, that a network card writes from buffer to buffer where it can: shorter
/// ones travel with their descriptors, or are copied sooner than both ends have agreed.
pub const BUFFER_WRITE_BYTES: u64 = 128 << 10;

/// How long a rank that has left something to the NIC thread leaves the links to it, too, in nanoseconds: at
/// first, and, twice as long each time that it soon has to do so again, at most. Two who drive the links in
/// turns are slower than either.
pub const AWAY_NS: RangeInclusive<u64> = 100_000..=4_000_000;

/// How long an announcement of a collective lies at most beside ranks that drive the links while the NIC
/// thread stands by, in nanoseconds: so often it sees to all of them together.
pub const ANNOUNCING_NS: u64 = 2_000_000;

/// How many announcements may lie before the NIC thread is woken for them.
pub const LYING_ANNOUNCEMENTS: u32 = 256;

/// How long the answer is good for whether others want the core, in nanoseconds: asking takes some 1.5 µs.
pub const CROWD_GOOD_FOR_NS: u64 = 20_000;

/// Looks of a rank that waits from one attempt to keep its messages (`nic_emu::port`) to the next: the first
/// comes when other ranks have had the core a while.
pub const KEEPING_LOOKS: u32 = 32;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_has_waited_long_looks_less_often_and_is_late_by_a_quarter_at_most() {
        let (mut slept, mut looks) = (Duration::ZERO, 0);
        while slept < Duration::from_secs(30) {
            let next = longest_sleep(slept);
            assert!(next == *SLEEPS.start() || next <= slept / 4, "{next:?} after {slept:?}");
            assert!(SLEEPS.contains(&next), "{next:?}");
            slept += next;
            looks += 1;
        }
        assert!(looks < 1600, "{looks}");
        assert_eq!(longest_sleep(Duration::MAX), *SLEEPS.end());
    }

    #[test]
    fn naps_grow_as_long_as_ranks_have_driven_and_no_longer_than_the_longest() {
        let (mut nap, mut driven) = (*NAPS_NS.start(), 0);
        for _ in 0..10 {
            assert!(NAPS_NS.contains(&nap) && nap <= driven + *NAPS_NS.start(), "{nap} after {driven}");
            driven += nap;
            nap = next_nap_ns(nap);
        }
        assert_eq!(nap, *NAPS_NS.end());
    }
}
