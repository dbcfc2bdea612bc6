//! Fixed slices: what is posted between two beats moves in the slice of the second, and its ranks resume at
//! the third (paper, §3.1), whether or not the NIC rested before.

use bcs_core::{LocalRank, Rank};
use nic_emu::contexts::Context;
use nic_emu::descriptor::Check;
use nic_emu::host::mapping::create_private;
use nic_emu::matching::Envelope;
use nic_emu::memory::numbers::{CommRank, RequestId};
use nic_emu::memory::token::Holder;
use nic_emu::memory::{Layout, NicMemory};
use nic_emu::port::{Port, Send};
use nic_emu::threads::processor::{Lent, Processor};
use nic_emu::threads::strobe_sender::StrobeSender;
use std::cell::Cell;
use std::sync::Arc;

const PERIOD: u64 = 1_000;
const CONTEXT: Context = Context(2);

thread_local! {
    static CLOCK: Cell<u64> = const { Cell::new(0) };
}

fn clock() -> u64 {
    CLOCK.get()
}

struct Job {
    memory: Arc<NicMemory>,
    ports: [Port; 2],
}

impl Job {
    fn new() -> Self {
        let memory = create_private(Layout::new(2, 2, [0; 2]).unwrap(), 0, 1).unwrap();
        memory.header().slice_period_ns.set(PERIOD);
        let memory = Arc::new(memory);
        let port = |rank| {
            memory.rank(LocalRank(rank)).unwrap().status.set_job_rank(Rank(rank));
            Port::open(memory.clone(), LocalRank(rank)).unwrap().with_clock(clock)
        };
        Self { ports: [port(0), port(1)], memory: memory.clone() }
    }

    /// The NIC thread looks at this moment; true if it ran a slice.
    fn look_at(&self, now: u64) -> bool {
        CLOCK.set(now);
        matches!(Processor::new(&self.memory, Holder::NIC_THREAD).lend(clock).unwrap(), Lent::Slice(_))
    }

    fn slice(&self) -> u64 {
        self.memory.control().slice.get()
    }

    /// Posts a message of 8 bytes at this moment; answers the receive's request.
    fn post_at(&mut self, now: u64, buffer: &mut [u8; 8]) -> RequestId {
        CLOCK.set(now);
        let send = Send {
            context: CONTEXT,
            source: CommRank(0),
            tag: 5,
            destination: Rank(1),
            synchronous: false,
            check: Check::NONE,
            signature: 0,
        };
        let envelope = Envelope { context: CONTEXT, source: CommRank(0), tag: 5 };
        // SAFETY: the tests keep the buffer until the request is complete, and the payload is copied at once.
        unsafe {
            self.ports[0].post_send(&send, [7u8; 8].as_ptr(), 8).unwrap();
            self.ports[1].post_receive(&envelope, buffer.as_mut_ptr(), 8).unwrap()
        }
    }
}

#[test]
fn a_rank_resumes_at_the_second_beat_after_it_posted_and_not_before() {
    let mut job = Job::new();
    let mut buffer = [0; 8];
    // The second message is posted when the NIC has rested for a while, just before a beat.
    for posted in [1_300, 25_999] {
        let request = job.post_at(posted, &mut buffer);
        let first = posted / PERIOD * PERIOD + PERIOD;
        assert!(!job.look_at(posted), "posted between two beats, it waits for the next");
        assert!(!job.look_at(first - 1));
        assert!(job.look_at(first), "a slice starts on its beat");
        assert!(!job.look_at(first + PERIOD - 1), "one slice a beat");
        assert_eq!(job.ports[1].test(request).unwrap(), None, "matched, and held back to the next beat");
        assert!(job.look_at(first + PERIOD));
        assert_eq!(job.ports[1].test(request).unwrap().map(|outcome| outcome.length.bytes()), Some(8));
        assert_eq!(buffer, [7; 8]);
        buffer = [0; 8];
    }
}

#[test]
fn the_nic_rests_when_a_slice_leaves_nothing_to_do_and_slices_keep_the_number_of_their_beat() {
    let mut job = Job::new();
    let mut buffer = [0; 8];
    assert!(StrobeSender::rests(&job.memory) && !job.look_at(700), "nothing was ever posted");
    job.post_at(1_100, &mut buffer);
    assert!(!job.look_at(1_100));
    assert!(!StrobeSender::rests(&job.memory));
    assert!(job.look_at(2_000) && !StrobeSender::rests(&job.memory), "a completion is held back");
    assert!(job.look_at(3_010) && StrobeSender::rests(&job.memory));
    assert_eq!(job.slice(), 2);
    assert!(!job.look_at(4_000) && !job.look_at(9_500), "at rest no slice runs");
    job.post_at(9_600, &mut buffer);
    assert!(!job.look_at(9_600));
    assert!(job.look_at(10_700), "late, but not left out");
    assert_eq!(job.slice(), 9, "beat 2 was the first slice, so beat 10 is the ninth");
    assert!(job.look_at(11_000), "a slice that was late does not put off the next");
}
