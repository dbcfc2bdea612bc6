//! How a rank waits: it polls, then yields its core, then sleeps on its wait word (design §4).
//!
//! Invariant that makes sleeping safe: a sleeper first says that it sleeps, then looks once more; a waker first publishes, then looks
//! who sleeps; both with a full fence between. One of the two sees the other.

use crate::completer::Touched;
use crate::memory::NicMemory;
use crate::status::Activity;
use crate::sync::{Ordering, fence};
use crate::wake_pipe;
use rustix::fd::BorrowedFd;
use rustix::thread::futex;
use std::time::Duration;

/// When to poll, yield and sleep. Measured defaults; see `docs/performance.md`.
#[derive(Clone, Copy, Debug)]
pub struct WaitPolicy {
    /// Looks before the core is yielded for the first time.
    pub polls: u32,
    /// Yields before the rank goes to sleep.
    pub yields: u32,
    /// Looks that find another rank's work before this one runs it.
    pub patience: u32,
    /// Looks at the awaited request alone between two looks at everything.
    pub watches: u32,
    /// Times `watches` for which a rank that has just posted leaves the NIC to others at most, after as many waits that others' slices ended.
    pub trust: u32,
}

impl WaitPolicy {
    /// The policy for a node: with more ranks than cores a rank that waits gives way at once, else it polls.
    pub fn for_node(memory: &NicMemory) -> Self {
        let ranks = memory.layout().local_ranks;
        let cores = memory.header().cores.get().max(1);
        if ranks > cores {
            Self { polls: 0, yields: 2_000, patience: 0, watches: 0, trust: 0 }
        } else {
            Self { polls: 100, yields: 20_000, patience: 3, watches: 40, trust: 3 }
        }
    }
}

/// One wait: counts polls and yields, and says what to do next.
pub struct Wait {
    policy: WaitPolicy,
    polls: u32,
    yields: u32,
}

/// What a waiting rank does next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pause {
    /// It has paused a little or yielded; look again.
    LookAgain,
    /// It has waited long; it may sleep.
    MaySleep,
}

impl Wait {
    /// A wait that begins.
    #[inline]
    pub fn new(policy: WaitPolicy) -> Self {
        Self { policy, polls: 0, yields: 0 }
    }

    /// True when the next pause gives the core away.
    #[inline]
    pub fn is_about_to_yield(&self) -> bool {
        self.polls >= self.policy.polls
    }

    /// Something happened: begin again with polling.
    #[inline]
    pub fn restart(&mut self) {
        self.polls = 0;
        self.yields = 0;
    }

    /// Pauses between two looks.
    #[inline]
    pub fn pause(&mut self) -> Pause {
        if self.polls < self.policy.polls {
            self.polls += 1;
            std::hint::spin_loop();
            return Pause::LookAgain;
        }
        self.yields += 1;
        if self.yields > self.policy.yields {
            return Pause::MaySleep;
        }
        rustix::thread::sched_yield();
        Pause::LookAgain
    }
}

/// Sleeps on a rank's wait word until somebody wakes it or `longest` has passed. `ready` is looked at once more after the rank has said that it
/// sleeps.
pub fn sleep(memory: &NicMemory, local_index: u32, longest: Duration, ready: impl FnOnce() -> bool) {
    let Ok(block) = memory.rank(local_index) else { return };
    let word = &block.status.sleep;
    word.store(1, Ordering::Relaxed);
    memory.header().attention.sleepers.fetch_add(1, Ordering::SeqCst);
    block.status.set_activity(Activity::Sleeping);
    fence(Ordering::SeqCst);
    if !ready() {
        let timeout =
            rustix::time::Timespec { tv_sec: longest.as_secs() as i64, tv_nsec: longest.subsec_nanos() as _ };
        // Woken, interrupted, or timed out: the caller looks again in every case.
        let _ = futex::wait(word, futex::Flags::empty(), 1, Some(&timeout));
    }
    block.status.set_activity(Activity::Polling);
    word.store(0, Ordering::Relaxed);
    memory.header().attention.sleepers.fetch_sub(1, Ordering::SeqCst);
}

/// Wakes one rank if it sleeps.
pub fn wake(memory: &NicMemory, local_index: u32) {
    let Ok(block) = memory.rank(local_index) else { return };
    let word = &block.status.sleep;
    if word.load(Ordering::Relaxed) == 1 {
        word.store(0, Ordering::Relaxed);
        let _ = futex::wake(word, futex::Flags::empty(), 1);
    }
}

/// Wakes those whom a slice completed something for, as far as they sleep. The caller has published with a full fence.
#[inline]
pub fn wake_touched(memory: &NicMemory, touched: &Touched) {
    if touched.is_empty() || memory.header().attention.sleepers.load(Ordering::Relaxed) == 0 {
        return;
    }
    match touched.ranks() {
        Some(ranks) => ranks.iter().for_each(|&rank| wake(memory, rank)),
        None => (0..memory.layout().local_ranks).for_each(|rank| wake(memory, rank)),
    }
}

/// Lets the NIC thread sleep until somebody posts what nobody else would run, or `longest` has passed. `ready` is looked at once more after
/// the NIC thread has said that it sleeps.
pub fn nic_thread_sleep(memory: &NicMemory, longest: Duration, ready: impl FnOnce() -> bool) {
    let word = &memory.header().attention.nic_thread_sleeps;
    word.store(1, Ordering::SeqCst);
    fence(Ordering::SeqCst);
    if !ready() {
        let timeout =
            rustix::time::Timespec { tv_sec: longest.as_secs() as i64, tv_nsec: longest.subsec_nanos() as _ };
        // Woken, interrupted, or timed out: the caller looks again in every case.
        let _ = futex::wait(word, futex::Flags::empty(), 1, Some(&timeout));
    }
    word.store(0, Ordering::Relaxed);
}

/// Wakes the NIC thread if it sleeps. `pipe` is the writing end of its wake pipe, of a job on several nodes. Without a fence: a wake that is missed
/// is made good when its sleep times out.
#[inline]
pub fn wake_nic_thread(memory: &NicMemory, pipe: Option<BorrowedFd<'_>>) {
    let word = &memory.header().attention.nic_thread_sleeps;
    let sleeps = word.load(Ordering::Relaxed);
    if sleeps == 0 {
        return;
    }
    word.store(0, Ordering::Relaxed);
    match pipe {
        Some(pipe) if sleeps == wake_pipe::SLEEPS_IN_POLL => wake_pipe::wake(pipe),
        _ => _ = futex::wake(word, futex::Flags::empty(), 1),
    }
}
