//! The NIC thread: the program launcher's share in running the NIC (design §4, "Who is the processor").
//!
//! Ranks that wait run the NIC themselves. The NIC thread is for when they do not: it ticks at the slice period while the job has work that nobody runs,
//! so that ranks that compute get their overlap; moves bytes whose both ends compute; looks for deadlocks; and sleeps when there is nothing
//! to do.
//!
//! With fixed slices it is awake for every beat on which a slice is planned, and sleeps while the NIC rests ([`crate::strobe_sender`]). Where a
//! rank polls on a core of its own, that rank starts the slice, and the NIC thread comes later, so as not to take the core away from it
//! at the very moment.

use crate::buffer_sender::BufferSender;
use crate::channel::{self, Policy, Step};
use crate::dma_helper::DmaHelper;
use crate::hang::{HangDetector, HangReport};
use crate::memory::{NicMemory, TRANSFERS};
use crate::pool::NONE;
use crate::port::now_ns;
use crate::processor::{Lent, Processor};
use crate::status::Activity;
use crate::strobe_receiver::SliceError;
use crate::strobe_sender::StrobeSender;
use crate::token::Holder;
use crate::transfer::MOVING;
use crate::{dma_helper, waiting};
use rustix::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

/// Period of the ticks with elastic slices while there is work.
const ELASTIC_TICK: Duration = Duration::from_micros(500);
/// With fixed slices: how long after the beat the thread looks when some rank polls, which then has run the slice; at most a
/// quarter of the period.
const GRACE_NS: u64 = 100_000;
/// Sleep to a far beat in pieces of this length, so that the end of the job need not wait for the beat.
const LONGEST_PIECE_NS: u64 = 20_000_000;
/// How long the thread sleeps when there is no work: also how often it looks for a deadlock.
const IDLE_SLEEP: Duration = Duration::from_millis(100);
/// Bytes moved from outside in one piece.
const BOUNCE_BYTES: usize = 256 << 10;

/// What the NIC thread found that ends the job.
#[derive(Clone, Debug)]
pub enum Finding {
    /// All ranks wait, and nothing pending can match.
    Deadlock(HangReport),
    /// A slice failed: NIC memory is corrupt.
    Slice(SliceError),
    /// The ranks ask for what cannot be done, as mismatched collectives: what the NIC says of it, in lines.
    Told(String),
}

struct Shared {
    memory: Arc<NicMemory>,
    alarm: Arc<OwnedFd>,
    stop: AtomicBool,
    finding: Mutex<Option<Finding>>,
}

/// The running thread.
pub struct NicThread {
    shared: Arc<Shared>,
    thread: JoinHandle<()>,
}

impl NicThread {
    /// Starts the thread; with `core`, on that core for good, where it polls instead of ticking.
    pub fn start(memory: Arc<NicMemory>, core: Option<usize>, alarm: Arc<OwnedFd>) -> std::io::Result<Self> {
        let shared =
            Arc::new(Shared { memory, alarm, stop: AtomicBool::new(false), finding: Mutex::new(None) });
        let of_thread = shared.clone();
        let thread =
            std::thread::Builder::new().name("bcs-nic".into()).stack_size(256 << 10).spawn(move || {
                if let Some(core) = core {
                    let mut set = rustix::thread::CpuSet::new();
                    set.set(core);
                    // Refused (no such core in this cpuset): the thread runs where it may, and ticks are as good as before.
                    let _ = rustix::thread::sched_setaffinity(None, &set);
                }
                Ticker::new(&of_thread, core.is_some()).run();
            })?;
        Ok(Self { shared, thread })
    }

    /// What it found.
    pub fn finding(&self) -> Option<Finding> {
        self.shared.finding.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).clone()
    }

    /// Ends it.
    pub fn stop(self) {
        self.shared.stop.store(true, Ordering::Release);
        waiting::wake_nic_thread(&self.shared.memory);
        // A thread that panicked has said so on standard error; there is nothing to add when the job is over.
        let _ = self.thread.join();
    }
}

struct Ticker<'a> {
    shared: &'a Shared,
    memory: &'a NicMemory,
    polls: bool,
    bounce: Vec<u8>,
    policy: Policy,
    hang: HangDetector,
}

impl<'a> Ticker<'a> {
    fn new(shared: &'a Shared, polls: bool) -> Self {
        let memory = &*shared.memory;
        Self {
            shared,
            memory,
            polls,
            bounce: Vec::new(),
            policy: Policy::measured(memory.layout().local_ranks, memory.header().cores.get()),
            hang: HangDetector::new(),
        }
    }

    fn run(mut self) {
        let period = self.memory.header().slice_period_ns.get();
        if period != 0 {
            // A beat is to be met within microseconds. Refused: beats are as late as the system's timers are.
            let _ = rustix::thread::set_current_timer_slack(std::num::NonZeroU64::new(1));
        }
        let mut last_check = now_ns();
        while !self.shared.stop.load(Ordering::Acquire) {
            match self.tick() {
                Ok(_) => {}
                Err(error) => return self.report(Finding::Slice(error)),
            }
            let now = now_ns();
            if now.saturating_sub(last_check) >= IDLE_SLEEP.as_nanos() as u64 {
                last_check = now;
                if let Some(report) = self.hang.look(self.memory) {
                    return self.report(Finding::Deadlock(report));
                }
            }
            self.pause(period, now);
        }
    }

    fn pause(&self, period: u64, now: u64) {
        if self.polls {
            std::thread::yield_now();
        } else if period != 0 {
            let next = self.memory.header().slice.next_ns.get();
            if next == 0 {
                let ready =
                    || StrobeSender::is_wanted(self.memory, now_ns) || !StrobeSender::rests(self.memory);
                return waiting::nic_thread_sleep(self.memory, IDLE_SLEEP, ready);
            }
            let grace = if self.some_rank_polls() { GRACE_NS.min(period / 4) } else { 0 };
            // After a beat that was not served, because somebody else has the token: soon again.
            let left = (next + grace).saturating_sub(now).clamp(5_000, LONGEST_PIECE_NS);
            std::thread::sleep(Duration::from_nanos(left));
        } else if self.has_work() {
            std::thread::sleep(ELASTIC_TICK);
        } else {
            waiting::nic_thread_sleep(self.memory, IDLE_SLEEP, || self.has_work());
            if !self.shared.stop.load(Ordering::Acquire) {
                // Woken by a rank that goes on computing: give those it talks to a slice's time to do it themselves.
                std::thread::sleep(ELASTIC_TICK);
            }
        }
    }

    /// True when some rank waits in MPI on a core that it need not share.
    fn some_rank_polls(&self) -> bool {
        let ranks = self.memory.layout().local_ranks;
        ranks <= self.memory.header().cores.get()
            && (0..ranks)
                .filter_map(|rank| self.memory.rank(rank).ok())
                .any(|block| block.status.activity() == Activity::Polling)
    }

    fn has_work(&self) -> bool {
        BufferSender::has_work(self.memory) || self.memory.header().slice.transfers.get() != 0
    }

    fn tick(&mut self) -> Result<(), SliceError> {
        let processor = Processor::new(self.memory, Holder::NIC_THREAD);
        if let Lent::Slice(touched) = processor.lend(now_ns)? {
            waiting::wake_touched(self.memory, &touched);
        }
        if self.memory.header().slice.transfers.get() != 0 {
            self.move_bytes(&processor)?;
        }
        Ok(())
    }

    /// Moves bytes of transfers whose both ends compute.
    fn move_bytes(&mut self, processor: &Processor<'_>) -> Result<(), SliceError> {
        let mut active = Vec::new();
        let listed = processor.with_token(
            || {
                std::thread::yield_now();
                !self.shared.stop.load(Ordering::Acquire)
            },
            |memory| list_active(memory, &mut active),
        );
        if let Some(listed) = listed {
            listed?;
        }
        for transfer in active {
            loop {
                if !self.both_compute(transfer)? || self.shared.stop.load(Ordering::Acquire) {
                    break;
                }
                if self.bounce.is_empty() {
                    self.bounce = vec![0; BOUNCE_BYTES];
                }
                match channel::advance_from_outside(self.memory, transfer, &mut self.bounce, &self.policy) {
                    Ok(Step::Progress) => {}
                    Ok(Step::Finished) => {
                        if let Some(ranks) = dma_helper::finish(self.memory, transfer)?
                            && processor.somebody_sleeps()
                        {
                            ranks.iter().for_each(|&rank| waiting::wake(self.memory, rank));
                        }
                        break;
                    }
                    Ok(Step::Granted) => {
                        let more = || !self.shared.stop.load(Ordering::Acquire);
                        match processor.with_token(more, |memory| DmaHelper::new(memory).grant_more(transfer))
                        {
                            Some(granted) => granted?,
                            None => break,
                        }
                    }
                    // A dead peer is the launcher's to notice: it sees the process end, and says how it did.
                    Ok(_) | Err(_) => break,
                }
            }
        }
        Ok(())
    }

    fn both_compute(&self, transfer: u32) -> Result<bool, SliceError> {
        let record = self.memory.transfer(transfer)?;
        for rank in [record.source.get(), record.destination.get()] {
            if self.memory.rank(rank)?.status.activity() != Activity::Computing {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn report(&self, finding: Finding) {
        *self.shared.finding.lock().unwrap_or_else(|poisoned| poisoned.into_inner()) = Some(finding);
        // The launcher has the alarm in its poll set; a counter at its limit is as good as one more.
        let _ = rustix::io::write(&*self.shared.alarm, &1u64.to_ne_bytes());
    }
}

/// The transfers under way. The caller holds the token.
fn list_active(memory: &NicMemory, active: &mut Vec<u32>) -> Result<(), SliceError> {
    let mut at = memory.header().pools.active_transfers[0].get();
    while at != NONE && active.len() < TRANSFERS {
        let transfer = memory.transfer(at - 1)?;
        if transfer.finished.load(crate::sync::Ordering::Acquire) == MOVING {
            active.push(at - 1);
        }
        at = transfer.next.get();
    }
    Ok(())
}
