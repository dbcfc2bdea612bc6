//! The NIC thread of a job on one node: it ticks at the slice period while there is work that nobody runs.
//!
//! With fixed slices it is awake for every beat on which a slice is planned, and sleeps while the NIC rests
//! ([`crate::threads::strobe_sender`]). Where a rank polls on a core of its own, that rank starts the slice,
//! and the NIC thread comes later, so as not to take the core away from it at the very moment.

use super::finding::Finding;
use super::mover::Mover;
use super::shared::{IDLE_SLEEP, Shared};
use crate::hang::HangDetector;
use crate::host::clock::now_ns;
use crate::host::{time_slice, waiting};
use crate::memory::NicMemory;
use crate::policy::Pacing;
use crate::threads::buffer_sender::BufferSender;
use crate::threads::processor::Lent;
use crate::threads::strobe_sender::StrobeSender;
use std::time::Duration;

/// Period of the ticks with elastic slices while there is work.
const ELASTIC_TICK: Duration = Duration::from_micros(500);
/// With fixed slices: how long after the beat the thread looks when some rank polls, which then has run the
/// slice; at most a quarter of the period.
const GRACE_NS: u64 = 100_000;
/// Sleep to a far beat in pieces of this length, so that the end of the job need not wait for the beat.
const LONGEST_PIECE_NS: u64 = 20_000_000;

/// How long ranks that want to know of a hang have at most to take note of it: they look every 20 ms, and a
/// tool's function may write what it knows.
const NOTING_NS: u64 = 2_000_000_000;

/// The loop of the thread.
pub(super) struct Ticker<'a> {
    shared: &'a Shared,
    memory: &'a NicMemory,
    polls: bool,
    mover: Mover<'a>,
    hang: HangDetector,
}

impl<'a> Ticker<'a> {
    pub(super) fn new(shared: &'a Shared, polls: bool) -> Self {
        let memory = &*shared.memory;
        Self { shared, memory, polls, mover: Mover::new(shared), hang: HangDetector::default() }
    }

    /// Ticks until the job is over, or it finds something that ends it.
    pub(super) fn run(mut self) -> Result<(), Finding> {
        let pacing = Pacing::of(self.memory);
        // Refused: it waits as long for others as any program.
        let _ = time_slice::shorten();
        if !pacing.starts_on_work() {
            // A beat is to be met within microseconds. Refused: beats are as late as the system's timers are.
            let _ = rustix::thread::set_current_timer_slack(std::num::NonZeroU64::new(1));
        }
        let mut trimmed_ns = now_ns();
        while !self.shared.is_over() {
            self.tick()?;
            let now = now_ns();
            if self.shared.trim(&mut trimmed_ns, now)?
                && let Some(report) = self.hang.look(self.memory)
            {
                self.tell_of_hang();
                return Err(Finding::Deadlock(report));
            }
            self.pause(pacing, now);
        }
        Ok(())
    }

    fn pause(&self, pacing: Pacing, now: u64) {
        if self.polls {
            std::thread::yield_now();
        } else if !pacing.starts_on_work() {
            let next = self.memory.header().slice.next_ns.get();
            if next == 0 {
                let ready =
                    || StrobeSender::is_wanted(self.memory, now_ns) || !StrobeSender::rests(self.memory);
                return waiting::nic_thread_sleep(self.memory, IDLE_SLEEP, ready);
            }
            let grace = if self.has_cores() && self.shared.some_rank_polls() {
                GRACE_NS.min(pacing.period_ns() / 4)
            } else {
                0
            };
            // After a beat that was not served, because somebody else has the token: soon again.
            let left = (next + grace).saturating_sub(now).clamp(5_000, LONGEST_PIECE_NS);
            std::thread::sleep(Duration::from_nanos(left));
        } else if self.has_work() {
            std::thread::sleep(ELASTIC_TICK);
        } else {
            waiting::nic_thread_sleep(self.memory, IDLE_SLEEP, || self.has_work());
            if !self.shared.is_over() {
                // Woken by a rank that goes on computing: give those it talks to a slice's time to do it
                // themselves.
                std::thread::sleep(ELASTIC_TICK);
            }
        }
    }

    /// Gives ranks that want to know of a hang the time to take note of it.
    fn tell_of_hang(&self) {
        let until = now_ns() + NOTING_NS;
        while self.memory.header().hang_news.announce() && now_ns() < until && !self.shared.is_over() {
            std::thread::sleep(ELASTIC_TICK);
        }
    }

    /// Whether each rank has a core that it need not share.
    fn has_cores(&self) -> bool {
        self.memory.layout().local_ranks <= self.memory.header().cores.get()
    }

    fn has_work(&self) -> bool {
        BufferSender::has_work(self.memory) || self.memory.header().slice.transfers.get() != 0
    }

    fn tick(&mut self) -> Result<(), Finding> {
        if let Lent::Slice(touched) = self.shared.processor().lend(now_ns).map_err(Finding::Slice)? {
            waiting::wake_touched(self.memory, &touched);
        }
        self.mover.move_bytes(None).map(drop)
    }
}
