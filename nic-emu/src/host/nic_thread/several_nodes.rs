//! The NIC thread of a job on several nodes: it drives this node's part in the global slices
//! (`crate::global`).
//!
//! Where ranks can drive the links to other nodes, it leaves them to ranks that wait, and sees to what these
//! cannot do; otherwise it is the only one with a hand on the network. While something is under way it
//! polls, giving its core away between two looks, as long as no more want to run than the machine has
//! processors ([`crate::host::crowd`]). When all has been quiet for a while, or somebody else wants the
//! core, it sleeps until a packet arrives, a rank wakes it ([`crate::host::wake_pipe`]), or something is
//! due. A network that it alone drives it may poll while ranks wait, or have just waited, however many want
//! to run ([`Polling`]): those give it their cores, and nobody has to be woken on the way of a message.

use super::backoff;
use super::finding::{Finding, caught};
use super::mover::Mover;
use super::shared::{IDLE_SLEEP, Shared};
use crate::channel::ChannelError;
use crate::global::{GlobalError, GlobalLayout, GlobalNic, Polled};
use crate::host::clock::now_ns;
use crate::host::cross_memory::CrossMemoryAttach;
use crate::host::crowd::Crowd;
use crate::host::priority::{self, Level};
use crate::host::time_slice;
use crate::host::waiting;
use crate::host::wake_pipe::{AsleepInPoll, WakePipe};
use crate::memory::NicMemory;
use crate::policy::{ANNOUNCING_NS, DRIVING_NS, NAPS_NS, next_nap_ns};
use bcs_fabric::{Carried, DrivenRoad, Polling};
use rustix::fd::AsFd;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// How long all is quiet before the thread sleeps, in nanoseconds: some round trips of a near network, so
/// that it seldom sleeps while an answer is on its way.
const QUIET_NS: u64 = 200_000;
/// The same where nothing wakes it: so much later comes what follows a pause.
const LONG_QUIET_NS: u64 = 2_000_000;
/// How long ago a rank may have waited for which this thread polls: what a rank does between two calls.
const LATELY_NS: u64 = 50_000;
/// How long leaving the network may take: others answer at once, unless they are lost, and then the end of
/// the job is not to wait for them.
const PATIENCE: Duration = Duration::from_millis(500);

/// How many pieces of bytes between this node's ranks are moved at most before the network has its turn
/// again: some milliseconds. The other nodes take one for stopped from which they hear nothing for seconds.
const PIECES_A_LOOK: u32 = 16;

/// What came of a look.
enum Looked {
    /// Something was done.
    Moved,
    /// There was nothing to do.
    Nothing,
    /// Somebody else has the run token.
    Busy,
}

/// The loop of the thread.
pub(super) struct NodeDriver<'a> {
    shared: &'a Shared,
    memory: &'a NicMemory,
    nic: GlobalNic<dyn DrivenRoad>,
    mover: Mover<'a>,
    pipe: &'a WakePipe,
    polls: bool,
    /// Before all ranks of this machine, as the network's interrupts are: whatever they compute, packets are
    /// seen to at once. Who is so urgent never polls.
    is_urgent: bool,
    /// It is allowed to be.
    may_be_urgent: bool,
    /// When a rank was last seen to wait.
    wanted_ns: u64,
    crowd: Crowd,
    /// How long the next nap is beside ranks that drive the links.
    nap_ns: u64,
}

/// How long an urgent thread waits at first for a rank that has the run token, which may have to run on the
/// same processor.
const TOKEN_HELD: Duration = Duration::from_micros(10);

impl<'a> NodeDriver<'a> {
    pub(super) fn new(
        shared: &'a Shared,
        polls: bool,
        fabric: Box<dyn DrivenRoad>,
        pipe: &'a WakePipe,
    ) -> Self {
        let memory = &*shared.memory;
        let (_, nodes) = memory.node();
        let nic = GlobalNic::new(shared.memory.clone(), fabric, GlobalLayout::new(nodes), &CrossMemoryAttach);
        let crowd = Crowd::new(memory.layout().local_ranks, memory.header().cores.get());
        let (mover, nap_ns) = (Mover::new(shared), *NAPS_NS.start());
        Self {
            shared,
            memory,
            nic,
            mover,
            pipe,
            polls,
            is_urgent: false,
            may_be_urgent: false,
            wanted_ns: 0,
            crowd,
            nap_ns,
        }
    }

    pub(super) fn run(mut self) {
        // Not allowed: it is one of many, and as quick as the system's scheduler is fair.
        self.set_urgent(!self.polls && self.nic.fabric.polling() != Polling::Always);
        if let Err(finding) = caught(|| self.drive()).unwrap_or_else(Err) {
            self.shared.report(finding);
            self.linger();
        }
        self.nic.finish_recording();
        self.nic.fabric.leave(PATIENCE);
        // What the kernel does at its end is not urgent.
        drop(self.nic);
        priority::lower();
    }

    /// Is before all ranks of this machine, or one of many again.
    fn set_urgent(&mut self, is_urgent: bool) {
        match is_urgent {
            true => {
                self.is_urgent = priority::raise(Level::Nic).is_ok();
                self.may_be_urgent = self.is_urgent;
            }
            false if self.is_urgent => {
                priority::lower();
                self.is_urgent = false;
            }
            false => {}
        }
        if !self.is_urgent {
            let _ = time_slice::shorten();
        }
        self.mover.token_held = if self.is_urgent { TOKEN_HELD } else { Duration::ZERO };
    }

    /// Drives this node's part, until the launcher ends it.
    fn drive(&mut self) -> Result<(), Finding> {
        let mut moved_at = now_ns();
        let mut trimmed_ns = moved_at;
        let mut busy = TOKEN_HELD;
        while !self.shared.is_over() {
            let now = now_ns();
            if self.shared.trim(&mut trimmed_ns, now)? {
                self.shared.note_stopped(self.nic.fabric.stopped());
            }
            let is_quiet = now.saturating_sub(moved_at) >= QUIET_NS;
            let polls_for_ranks = self.polls_for_ranks(now, moved_at);
            if self.may_be_urgent && self.is_urgent == polls_for_ranks {
                self.set_urgent(!polls_for_ranks);
            }
            let stays_awake =
                self.polls || polls_for_ranks || !self.is_urgent && !is_quiet && !self.crowd.is_crowded(now);
            let looked = if self.leaves_links_to_ranks(now) {
                self.stand_by()?
            } else if stays_awake {
                self.look()?
            } else {
                self.sleep()?
            };
            if !matches!(looked, Looked::Busy) {
                busy = TOKEN_HELD;
            }
            match looked {
                Looked::Moved => moved_at = now,
                Looked::Nothing if !stays_awake => {}
                Looked::Busy if self.is_urgent => std::thread::sleep(backoff::next(&mut busy)),
                // Whoever has the token may be waiting for this core.
                Looked::Nothing | Looked::Busy => rustix::thread::sched_yield(),
            }
        }
        Ok(())
    }

    /// Whether this thread polls because ranks wait, or have waited lately: they give it their processors.
    fn polls_for_ranks(&mut self, now: u64, moved_at: u64) -> bool {
        let (polls, quiet_ns) = match self.nic.fabric.polling() {
            Polling::Never => return false,
            Polling::Short => (!self.nic.moves_pieces(), QUIET_NS),
            Polling::Always => (true, LONG_QUIET_NS),
        };
        if !polls || now.saturating_sub(moved_at) >= quiet_ns {
            return false;
        }
        if self.shared.some_rank_polls() {
            self.wanted_ns = now;
        }
        now.saturating_sub(self.wanted_ns) < LATELY_NS
    }

    /// Slices are over for this node, but not its part in the network: the others are to hear from it who is
    /// dead, and not to take it for dead, too.
    fn linger(&mut self) {
        while !self.shared.is_over() {
            // Who cannot take part any more has nothing left to do but to wait for its end.
            let _ = self.nic.fabric.progress();
            let asleep = self.pipe.announce_sleep(self.memory);
            let timeout = self.nic.fabric.timeout().unwrap_or(IDLE_SLEEP).min(IDLE_SLEEP);
            if self.shared.is_over() || asleep.wait(self.nic.fabric.as_fd(), timeout).is_err() {
                return;
            }
        }
    }

    /// Does what can be done now.
    fn look(&mut self) -> Result<Looked, Finding> {
        let mut moved = match self.nic.poll(now_ns()) {
            Err(error) => return Err(self.found(&error)),
            Ok(Polled::Busy) => return Ok(Looked::Busy),
            Ok(Polled::Done { moved, touched }) => {
                touched.iter().for_each(|touched| waiting::wake_touched(self.memory, touched));
                moved
            }
        };
        moved |= self.mover.move_bytes(Some(PIECES_A_LOOK))?;
        Ok(if moved { Looked::Moved } else { Looked::Nothing })
    }

    /// What an error of the global slices is to the launcher.
    fn found(&self, error: &GlobalError) -> Finding {
        let fabric = &self.nic.fabric;
        match *error {
            // A node that the others hold for dead has lost them all.
            GlobalError::NodeDied { node: died } => {
                let dead = fabric.dead();
                let mut lost = [died].into_iter().chain(dead.iter());
                let node = lost.find(|node| *node != fabric.node()).unwrap_or(died);
                let reason =
                    fabric.why_lost(node).unwrap_or_else(|| "other nodes hold it for dead".to_owned());
                Finding::Unreachable { node, reason }
            }
            GlobalError::Channel(ref error @ ChannelError::Gone { .. }) => {
                Finding::RankGone(error.to_string())
            }
            ref error => Finding::Told(error.to_string()),
        }
    }

    /// Whether a rank that waits has driven the links lately. This thread then leaves them to it: a packet
    /// would wake both, and one would find nothing.
    fn leaves_links_to_ranks(&self, now: u64) -> bool {
        let remote = &self.memory.header().remote;
        let driven_ns = remote.driven_ns.get();
        !self.polls && remote.thread_drives.get() == 0 && now < driven_ns.saturating_add(DRIVING_NS)
    }

    /// Leaves the links to the ranks that drive them, until one of them finds what it cannot do itself,
    /// something is due, no rank drives them any more, or announcements may have lain for long enough. If
    /// there is something to do already, does that and says so.
    fn stand_by(&mut self) -> Result<Looked, Finding> {
        let asleep = self.pipe.announce_sleep(self.memory);
        // What was left to this thread before the announcement nobody rings for.
        match self.look()? {
            Looked::Nothing => {}
            looked => return Ok(looked),
        }
        let remote = &self.memory.header().remote;
        remote.stands_by.set(1);
        let napped = self.nap(&asleep);
        remote.stands_by.set(0);
        remote.carrier.set(0);
        napped.map(|carried| if carried { Looked::Moved } else { Looked::Nothing })
    }

    /// Naps, until it is to look: see [`Self::stand_by`]. Bytes that only this thread can move it moves
    /// meanwhile; whether it has.
    fn nap(&mut self, asleep: &AsleepInPoll<'_>) -> Result<bool, Finding> {
        let begun = now_ns();
        let carries = self.nic.fabric.polling() == Polling::Always;
        let mut carried = false;
        loop {
            let (due, nap) = (self.due(), Duration::from_nanos(self.nap_ns));
            let is_called = match carries {
                true => self.carry(asleep, due.min(nap), &mut carried)?,
                false => asleep.nap(due.min(nap)).map_err(cannot_wait)?,
            };
            let now = now_ns();
            let (is_driven, is_short) = (self.leaves_links_to_ranks(now), is_called || due <= nap);
            self.nap_ns = match is_driven {
                true if is_short => self.nap_ns,
                true => next_nap_ns(self.nap_ns),
                false => *NAPS_NS.start(),
            };
            let is_long = now.saturating_sub(begun) >= ANNOUNCING_NS;
            if is_short || is_long || !is_driven {
                return Ok(carried);
            }
        }
    }

    /// Moves the bytes of links that ranks alone use, for so long or until somebody calls. Whether somebody
    /// has. Ranks that wait give this thread their processors.
    fn carry(
        &mut self,
        asleep: &AsleepInPoll<'_>,
        longest: Duration,
        carried: &mut bool,
    ) -> Result<bool, Finding> {
        let until = now_ns().saturating_add(longest.as_nanos() as u64);
        let header = self.memory.header();
        loop {
            header.remote.carrier.set(rustix::thread::sched_getcpu() as u32 + 1);
            let Carried { moved, has_come } = match self.nic.fabric.carry() {
                Ok(carried) => carried,
                Err(error) => return Err(self.found(&GlobalError::Fabric(error))),
            };
            *carried |= moved;
            if has_come {
                waiting::wake_all(self.memory);
            }
            if asleep.is_woken() {
                return Ok(true);
            }
            let now = now_ns();
            if now >= until || self.shared.is_over() {
                return Ok(false);
            }
            // Ranks that nap here want this processor when something has come for them.
            let nap_here = header.attention.sleepers.load(Ordering::Relaxed) != 0;
            if has_come || !nap_here || self.crowd.is_crowded(now) {
                rustix::thread::sched_yield();
            }
        }
    }

    /// How long nothing is due, as far as is known.
    fn due(&self) -> Duration {
        let due = self.nic.next_ns().map(|due| Duration::from_nanos(due.saturating_sub(now_ns())));
        [due, self.nic.fabric.timeout()].into_iter().flatten().fold(IDLE_SLEEP, Duration::min)
    }

    /// Sleeps until there may be something to do. If there is already, does it instead and says so.
    fn sleep(&mut self) -> Result<Looked, Finding> {
        self.nap_ns = *NAPS_NS.start();
        let asleep = self.pipe.announce_sleep(self.memory);
        // What was posted before the announcement nobody rings for.
        match self.look()? {
            Looked::Nothing => {}
            looked => return Ok(looked),
        }
        asleep.wait(self.nic.fabric.as_fd(), self.due()).map_err(cannot_wait)?;
        Ok(Looked::Nothing)
    }
}

fn cannot_wait(error: std::io::Error) -> Finding {
    Finding::Told(format!("the NIC thread cannot wait for the job's network: {error}; start the job again"))
}
