//! How a rank waits: it polls, then yields its core, then sleeps on its wait word (design §4); for how long
//! each, [`crate::policy::WAITS`] says.
//!
//! In a job on several nodes a wait ends, as often as not, with what the NIC thread brings, and the NIC
//! thread wants a core for it. So there a rank looks a few times, and then goes on polling only while nobody
//! else wants its core (`crate::host::crowd`); else it sleeps at once.
//!
//! That sleeping is safe is the invariant of [`crate::memory::wait_word`]: announce, look once more, sleep;
//! publish, fence, wake.

use crate::host::wake_pipe;
use crate::memory::status::Activity;
use crate::memory::sync::{Ordering, fence};
use crate::memory::wait_word::WaitWord;
use crate::memory::{LocalRank, NicMemory};
use crate::threads::completer::Touched;
use rustix::fd::BorrowedFd;
use rustix::thread::futex;
use std::sync::Arc;
use std::time::Duration;

/// In a wait word: its owner sleeps on it.
const ON_WAIT_WORD: u32 = 1;

/// What a waiting rank does next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pause {
    /// It has paused a little or yielded; look again.
    LookAgain,
    /// It has waited long; it may sleep.
    MaySleep,
}

/// A rank says that it sleeps from now on. It looks once more at all that it waits for, and then sleeps or
/// drops what this answers. One thread of a rank at a time. `is_woken` says that whoever completes what the
/// rank waits for wakes it: of room that comes back nobody tells it.
pub fn announce_sleep(memory: &Arc<NicMemory>, local_rank: LocalRank, is_woken: bool) -> Asleep {
    if let Ok(block) = memory.rank(local_rank) {
        memory.header().attention.sleepers.fetch_add(1, Ordering::SeqCst);
        block.status.sleep.announce(ON_WAIT_WORD);
    }
    Asleep { memory: memory.clone(), local_rank, is_woken }
}

/// A rank that has said that it sleeps.
#[must_use = "it says that it is awake when this is dropped"]
pub struct Asleep {
    memory: Arc<NicMemory>,
    local_rank: LocalRank,
    is_woken: bool,
}

impl Asleep {
    /// Sleeps on the wait word until somebody wakes it or `longest` has passed; not at all if somebody has
    /// woken it since the announcement.
    pub fn sleep(&self, longest: Duration) {
        let Ok(block) = self.memory.rank(self.local_rank) else { return };
        // Only who has looked after its announcement, and is woken, is taken for asleep by who looks for a
        // deadlock: others have to look again.
        block.status.set_activity(if self.is_woken { Activity::Sleeping } else { Activity::Polling });
        futex_wait(&block.status.sleep, longest);
        block.status.set_activity(Activity::Polling);
    }
}

impl Drop for Asleep {
    fn drop(&mut self) {
        let Ok(block) = self.memory.rank(self.local_rank) else { return };
        block.status.sleep.retract();
        self.memory.header().attention.sleepers.fetch_sub(1, Ordering::SeqCst);
    }
}

fn futex_wait(word: &WaitWord, longest: Duration) {
    let timeout =
        rustix::time::Timespec { tv_sec: longest.as_secs() as i64, tv_nsec: longest.subsec_nanos() as _ };
    // Woken, interrupted, or timed out: the caller looks again in every case.
    let _ = futex::wait(word.futex(), futex::Flags::empty(), ON_WAIT_WORD, Some(&timeout));
}

/// Wakes one rank if it sleeps.
pub fn wake(memory: &NicMemory, local_rank: LocalRank) {
    let Ok(block) = memory.rank(local_rank) else { return };
    let word = &block.status.sleep;
    if word.take() != 0 {
        let _ = futex::wake(word.futex(), futex::Flags::empty(), 1);
    }
}

/// Wakes those whom a slice completed something for, as far as they sleep. The caller has published with a
/// full fence.
#[inline]
pub(crate) fn wake_touched(memory: &NicMemory, touched: &Touched) {
    if touched.is_empty() || memory.header().attention.sleepers.load(Ordering::Relaxed) == 0 {
        return;
    }
    match touched.ranks() {
        Some(ranks) => ranks.iter().for_each(|&rank| wake(memory, rank)),
        None => memory.local_ranks().for_each(|rank| wake(memory, rank)),
    }
}

/// Wakes all ranks of this node that sleep: something has come that one of them may take.
pub(crate) fn wake_all(memory: &NicMemory) {
    fence(Ordering::SeqCst);
    if memory.header().attention.sleepers.load(Ordering::Relaxed) != 0 {
        memory.local_ranks().for_each(|rank| wake(memory, rank));
    }
}

/// Lets the NIC thread sleep until somebody posts what nobody else would run, or `longest` has passed.
/// `ready` is looked at once more after the NIC thread has said that it sleeps.
pub(crate) fn nic_thread_sleep(memory: &NicMemory, longest: Duration, ready: impl FnOnce() -> bool) {
    let word = &memory.header().attention.nic_thread_sleeps;
    word.announce(ON_WAIT_WORD);
    if !ready() {
        futex_wait(word, longest);
    }
    word.retract();
}

/// Wakes the NIC thread if it sleeps. `pipe` is the writing end of its wake pipe, of a job on several nodes:
/// there no wake is missed. On one node, where ranks that wait run the NIC themselves, there is no fence: a
/// wake that is missed is made good when its sleep times out.
#[inline]
pub(crate) fn wake_nic_thread(memory: &NicMemory, pipe: Option<BorrowedFd<'_>>) {
    if pipe.is_some() {
        fence(Ordering::SeqCst);
    }
    let word = &memory.header().attention.nic_thread_sleeps;
    let place = word.take();
    if place == 0 {
        return;
    }
    match pipe {
        Some(pipe) if place == wake_pipe::SLEEPS_IN_POLL => wake_pipe::wake(pipe),
        _ => _ = futex::wake(word.futex(), futex::Flags::empty(), 1),
    }
}
