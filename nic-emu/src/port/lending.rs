//! Lending: a rank that waits lends its core to the NIC (design §4). Here are the steps of a wait; their loop
//! is in [`super::waits`].

use super::error::PortError;
use super::rank_port::Port;
use super::stream::Stream;
use crate::host::waiting::{self, Asleep, Pause};
use crate::memory::doorbell::{Heads, RingKind};
use crate::memory::status::{Activity, WaitingFor};
use crate::memory::sync::{Ordering, fence};
use crate::memory::{Corrupt, Rank, RequestId};
use crate::policy::{self, WaitPolicy};
use crate::threads::buffer_sender::BufferSender;
use crate::threads::processor::Lent;
use crate::threads::strobe_sender::StrobeSender;
use rustix::fd::AsFd;
use std::time::Duration;

/// Of what a rank waits for: requests, one or several, which wake it. For a wait that names none.
pub const SOME_REQUESTS: RequestId = RequestId(RequestId::NONE.0 - 1);

impl Port {
    /// One step of whatever there is to do: a transfer of this rank's, or a slice. True if something was
    /// done.
    #[inline]
    pub fn progress(&mut self) -> Result<bool, PortError> {
        if self.holds() && self.claim_held()? {
            return Ok(true);
        }
        self.post_held()?;
        let moved = self.move_bytes()?;
        self.keep_when_waiting()?;
        let lent = self.lend()?;
        let driven = self.drive_links()?;
        self.leave_unsent();
        Ok(driven || lent || moved)
    }

    /// Lends the core for a slice, if one is wanted.
    #[inline]
    pub fn lend(&self) -> Result<bool, PortError> {
        self.lent(self.processor().lend(self.clock))
    }

    /// The same when this rank has just posted, and has nothing else to do.
    #[inline]
    pub(super) fn lend_after_posting(&self) -> Result<bool, PortError> {
        self.lent(self.processor().lend_after_posting(self.clock))
    }

    #[inline]
    fn lent(&self, lent: Result<Lent, Corrupt>) -> Result<bool, PortError> {
        match lent {
            Ok(Lent::Nothing) => Ok(false),
            Ok(Lent::BeatSet) => {
                self.wake_nic_thread();
                Ok(false)
            }
            Ok(Lent::Slice(touched)) => {
                self.wake(&touched);
                if self.wake_pipe.is_some() {
                    self.pass_on();
                }
                Ok(true)
            }
            Err(error) => Err(error.into()),
        }
    }

    /// After a slice of this node: what it has left for other nodes is the NIC thread's business.
    #[cold]
    fn pass_on(&self) {
        let remote = &self.memory.header().remote;
        let awaited = remote.awaited.get();
        let has_messages = remote.outbound.get() != 0 || !remote.matches.is_empty();
        // A rank that waits goes on with messages itself.
        let goes_on = self.waiters > 0 && self.drives();
        if has_messages && !goes_on || awaited != self.awaited.get() {
            self.awaited.set(awaited);
            self.wake_nic_thread();
        }
    }

    /// Wakes the thread of this rank that sleeps: another one has completed what it waits for.
    #[cold]
    pub fn wake_own(&self) {
        waiting::wake(&self.memory, self.local_rank);
    }

    pub(super) fn wake_nic_thread(&self) {
        waiting::wake_nic_thread(&self.memory, self.wake_pipe.as_ref().map(|pipe| pipe.as_fd()));
    }

    /// Begins a wait, which the loop of [`super::Waits`] drives, and [`Port::end_wait`] ends. Where waits lie
    /// in each other, or threads wait at the same time, the first begins and the last ends. `request` is what
    /// is waited for, if that is one request (then a step ends as soon as that is no more pending), or
    /// [`SOME_REQUESTS`]. None is for what nobody wakes a rank for.
    #[inline]
    pub fn begin_wait(&mut self, request: Option<RequestId>) -> Waiting {
        self.status().set_activity(Activity::Polling);
        let waiting = Waiting {
            policy: self.waiting,
            polls: 0,
            yields: 0,
            request: request.unwrap_or(RequestId::NONE),
            told: None,
            unscheduled: false,
            trusting: 0,
            stream: None,
            looks: 0,
            passes: (self.heads, 0),
            slept: Duration::ZERO,
        };
        if !self.leaves_links(&waiting) {
            self.say_that_it_drives();
        }
        self.waiters += 1;
        self.stays_for.0 = waiting.request;
        self.has_run = None;
        waiting
    }

    /// One step of a wait: progress, and what others are told of it. True after some progress: then look
    /// again at once.
    #[inline]
    pub(super) fn wait_step(
        &mut self,
        waiting: &mut Waiting,
        what: impl FnOnce(&Port) -> WaitingFor,
    ) -> Result<bool, PortError> {
        if self.holds()
            && let Some(stepped) = self.step_held(waiting)?
        {
            return Ok(stepped);
        }
        let moved = self.progress_in(waiting)?;
        let drives = !self.leaves_links(waiting);
        if drives && self.outstanding.are_of_this_node() {
            waiting.note_pass(self.heads);
        }
        let passed = match drives {
            true => self.drive_links()?,
            false => self.is_writing() && self.pass_over_links()?,
        };
        if passed || moved {
            waiting.restart();
            return Ok(true);
        }
        if waiting.is_about_to_yield() {
            self.tell(waiting, what)?;
        } else if self.served > 0
            && (!waiting.unscheduled || waiting.trusting > 0)
            && self.watch(waiting.request)
        {
            return Ok(true);
        }
        Ok(false)
    }

    /// Looks at one request alone for a while: a line that nobody writes before it is complete, whereas
    /// looking for work takes lines from those who are at work. True once it is not pending any more.
    #[inline]
    fn watch(&self, request: RequestId) -> bool {
        if !self.moving.is_empty() {
            return false;
        }
        let Some(slot) = self.block().requests.get(request.index()) else { return false };
        // One that is not pending any more, and has just been looked at in vain, waits for something else.
        let pending = slot.is_pending();
        for _ in 0..self.waiting.watches {
            if !slot.is_pending() {
                return pending;
            }
            self.ahead.fetch();
            std::hint::spin_loop();
        }
        false
    }

    #[cold]
    fn tell(
        &mut self,
        waiting: &mut Waiting,
        what: impl FnOnce(&Port) -> WaitingFor,
    ) -> Result<(), PortError> {
        // Another wait within this one has told of itself.
        if waiting.told != Some(self.status().waits.get()) {
            self.status().set_waiting_for(&what(self));
            waiting.told = Some(self.status().waits.get());
        }
        self.keep_when_waiting()?;
        self.give_back_transfers()?;
        self.count_look();
        if self.memory.header().abort.is_said() {
            return Err(PortError::Aborted);
        }
        Ok(())
    }

    /// Progress of a rank that waits. Of ranks that wait at the same time one is best the processor all the
    /// time, so that the NIC's state does not go from core to core. Which one it is they learn by themselves:
    /// a rank that ran slices in its last wait goes for the token at once when it has just posted, and
    /// whenever it finds something posted; a rank whose waits were ended by others' slices begins the next
    /// one by looking at its own request alone, for the longer the more often that was so, and leaves others
    /// some time with what they have posted. So it is with a stream of sends, whose receiver has all that a
    /// slice needs but the descriptors themselves.
    #[inline]
    pub(super) fn progress_in(&mut self, waiting: &mut Waiting) -> Result<bool, PortError> {
        let moved = self.move_bytes()?;
        if waiting.looks == 0 {
            waiting.looks = 1;
            self.has_run.get_or_insert(false);
            let streams = self.take_stream();
            if streams == Some(RingKind::Send) {
                waiting.stream = Some(Stream::begin(self, policy::STREAM_PATIENCE_NS));
                return Ok(moved);
            }
            waiting.stream = self.patience_with_reader(waiting.request)?;
            if waiting.stream.is_some() {
                return Ok(moved);
            }
            if streams == Some(RingKind::Receive) {
                self.served = 0;
            }
            if self.served > 0 && self.pacing.starts_on_work() {
                (waiting.trusting, waiting.unscheduled) = (self.served, true);
                return Ok(moved);
            }
            let lent = self.lend_after_posting()?;
            *self.has_run.get_or_insert(false) |= lent;
            waiting.unscheduled = !lent;
            return Ok(lent || moved);
        }
        waiting.trusting = waiting.trusting.saturating_sub(1);
        if waiting.trusting > 0 {
            return Ok(moved);
        }
        if let Some(stream) = &mut waiting.stream {
            if stream.goes_on(self) {
                return Ok(moved);
            }
            waiting.stream = None;
        }
        if self.pacing.starts_on_work() {
            if !BufferSender::has_work(&self.memory) {
                self.look_ahead();
                waiting.unscheduled = false;
                return Ok(moved);
            }
            // Nobody else is about to run what this rank has posted itself.
            waiting.unscheduled &= self.memory.taken()[self.local_rank.index()].peek() != self.heads;
            waiting.looks += 1;
            let (patience, bystanding) = (self.waiting.patience, self.waiting.bystanding);
            let leaves_some = if self.served > 0 { patience } else { 0 };
            let leaves_more = if self.outstanding.has_no_message() { bystanding } else { 0 };
            if waiting.looks <= leaves_some.max(leaves_more) && !waiting.unscheduled {
                return Ok(moved);
            }
            waiting.looks = 1;
        }
        let lent = self.lend()?;
        *self.has_run.get_or_insert(false) |= lent;
        Ok(lent || moved)
    }

    /// Nothing is posted: fetches what may be posted next, where ranks have a core each.
    #[inline]
    fn look_ahead(&self) {
        if self.waiting.watches > 0 {
            self.ahead.fetch();
            BufferSender::fetch_next(&self.memory, self.local_rank);
        }
    }

    /// Ends a wait.
    #[inline]
    pub fn end_wait(&mut self) {
        self.waiters -= 1;
        self.leave_unsent();
        if self.waiters > 0 {
            return;
        }
        self.status().set_activity(Activity::Computing);
        self.status().end_looking();
        match self.has_run {
            // Who waits for many has a stream to receive, which is left to it.
            Some(false) if self.outstanding.len() > policy::STREAM_SENDS => self.served = 0,
            Some(true) => self.served = 0,
            Some(false) => self.served = (self.served + 1).min(self.waiting.trust),
            None => {}
        }
    }

    /// Says that a thread of this rank computes while another one may wait in MPI, whose waiting is no
    /// evidence of a deadlock then.
    pub fn begin_thread(&mut self) {
        let threads = &self.status().concurrent;
        threads.set(threads.get() + 1);
    }

    /// Such a thread has done its work.
    pub fn end_thread(&mut self) {
        let threads = &self.status().concurrent;
        threads.set(threads.get().saturating_sub(1));
    }

    /// Whether a rank that may sleep should, or else yield and look again. `is_woken` says that nothing is
    /// waited for beside requests.
    #[cold]
    pub fn should_sleep(&mut self, waiting: &Waiting, is_woken: bool) -> bool {
        if !self.may_stay_asleep() {
            // Whether this rank drives the links again is to be known while it only writes, too.
            let writes = self.is_writing();
            if let Some(crowd) = self.crowd.as_mut().filter(|_| writes) {
                crowd.is_crowded((self.clock)());
            }
            return false;
        }
        if waiting.is_for_requests() && self.is_carried_here() {
            return true;
        }
        let (drives, leaves_links) = (self.drives(), self.leaves_links(waiting));
        let Some(crowd) = &mut self.crowd else { return true };
        let is_crowded = crowd.is_crowded((self.clock)());
        // Who drives the links gets on by itself.
        let gives_way = if drives { crowd.stays_crowded() } else { is_crowded };
        let patience = match crowd.shares_its_processor() {
            true if leaves_links && is_woken => policy::YIELDS_BESIDE_PEERS,
            true => policy::YIELDS_AMONG_MANY,
            false => policy::YIELDS_OF_SEVERAL,
        };
        waiting.yields > patience || waiting.is_for_requests() && gives_way
    }

    /// Whether there is nothing that this rank should do rather than sleep.
    #[cold]
    pub fn may_stay_asleep(&self) -> bool {
        self.moving.is_empty()
            && self.draining.is_empty()
            && self.keeping.is_settled(&self.memory)
            && !self.is_writing()
            && !if self.pacing.starts_on_work() {
                BufferSender::has_work(&self.memory)
            } else {
                StrobeSender::is_wanted(&self.memory, self.clock)
            }
    }

    /// Says that this rank sleeps from now on. Part of a wait that the caller drives; by one thread of the
    /// rank at a time. `is_woken` says that nothing is waited for beside requests.
    #[cold]
    pub fn announce_sleep(&self, waiting: &Waiting, is_woken: bool) -> Asleep {
        let is_woken = is_woken && waiting.is_for_requests();
        waiting::announce_sleep(&self.memory, self.local_rank, is_woken)
    }

    /// [`Self::nudge`] after a message of so many bytes that is buffered: a receiver that is awake looks for
    /// it itself.
    #[inline]
    pub fn nudge_receiver(&mut self, destination: Rank, bytes: usize) -> Result<(), PortError> {
        if self.wake_pipe.is_some() {
            return match self.memory.local_rank(destination)? {
                None => self.push_out(bytes),
                Some(_) if self.pacing.starts_on_work() => self.nudge_peer(),
                Some(_) => self.nudge(false),
            };
        }
        let some_sleep = self.memory.header().attention.sleepers.load(Ordering::Relaxed) != 0;
        if some_sleep
            && self.pacing.lets_ranks_claim()
            && let Some(local) = self.memory.local_rank(destination)?
            && self.memory.rank(local)?.status.sleep.peek() == 0
        {
            return Ok(());
        }
        self.nudge(false)
    }

    /// After a message for a rank of this node, of several: nothing of it is the NIC thread's, unless a rank
    /// sleeps and no slice has taken the message, or slices find no room.
    fn nudge_peer(&mut self) -> Result<(), PortError> {
        // A rank that falls asleep looks after it has said so, and this one after it has posted.
        fence(Ordering::SeqCst);
        let some_sleep = self.memory.header().attention.sleepers.load(Ordering::Relaxed) != 0;
        if some_sleep {
            self.lend()?;
        }
        // Somebody else is the processor, or there is no room.
        if some_sleep && BufferSender::has_work(&self.memory) || BufferSender::is_stalled(&self.memory) {
            self.wake_nic_thread();
        }
        Ok(())
    }

    /// Called after posting when the rank goes on computing: sees to it that somebody runs the NIC. `overlap`
    /// says that there is something for the NIC thread to do meanwhile.
    #[inline]
    pub fn nudge(&mut self, overlap: bool) -> Result<(), PortError> {
        // Ranks that sleep run no slice; and with fixed slices nobody plans one while the NIC rests.
        let rests = !self.pacing.starts_on_work() && StrobeSender::rests(&self.memory);
        if rests || self.memory.header().attention.sleepers.load(Ordering::Relaxed) != 0 {
            self.lend()?;
        }
        // What is posted may be for another node, where it goes at once, or soon.
        if overlap || self.wake_pipe.is_some() && !self.is_stood_by() {
            self.wake_nic_thread();
        }
        Ok(())
    }
}

/// A wait: it counts polls and yields.
pub struct Waiting {
    policy: WaitPolicy,
    polls: u32,
    /// Yields so far, those included that were to be something longer.
    yields: u32,
    /// What is waited for, if it is one request; [`SOME_REQUESTS`]; or else [`RequestId::NONE`].
    pub(super) request: RequestId,
    /// The number of the wait, once others have been told of it.
    told: Option<u32>,
    /// What this rank has posted may still be in its rings.
    unscheduled: bool,
    /// Steps for which it leaves that to others.
    trusting: u32,
    /// After a stream of sends, while the rank leaves slices to others.
    stream: Option<Stream>,
    /// Looks that found work since this rank last went for the token; 0 before it has done so for the first
    /// time.
    looks: u32,
    /// Passes over the links since these heads, for what this rank has posted: it waits for its node alone.
    passes: (Heads, u32),
    /// How long it has slept, at most, since something came.
    slept: Duration,
}

impl Waiting {
    /// How many passes over the links there were since these heads.
    #[inline]
    pub(super) fn passes_since(&self, heads: Heads) -> u32 {
        if self.passes.0 == heads { self.passes.1 } else { 0 }
    }

    /// Counts one.
    #[inline]
    fn note_pass(&mut self, heads: Heads) {
        self.passes = (heads, self.passes_since(heads).saturating_add(1));
    }

    /// Whether it is for requests, which wake the rank.
    #[inline]
    pub(super) fn is_for_requests(&self) -> bool {
        self.request != RequestId::NONE
    }

    /// True when the next pause gives the core away.
    #[inline]
    fn is_about_to_yield(&self) -> bool {
        self.polls >= self.policy.polls
    }

    /// Whether a message that has not come by now is better left to a slice.
    #[inline]
    pub(super) fn has_claimed_long(&self) -> bool {
        self.is_about_to_yield() && self.yields >= self.policy.claim_yields
    }

    /// Whether the next pause may be a sleep.
    #[inline]
    pub fn may_sleep(&self) -> bool {
        self.is_about_to_yield() && self.yields >= self.policy.yields
    }

    /// Something of what is waited for has come: begins again with polling.
    #[inline]
    pub fn restart(&mut self) {
        self.polls = 0;
        self.yields = 0;
        self.slept = Duration::ZERO;
    }

    /// How long the rank, which goes to sleep, sleeps if nobody wakes it.
    pub(super) fn longest_sleep(&mut self) -> Duration {
        let longest = policy::longest_sleep(self.slept);
        self.slept += longest;
        longest
    }

    /// Pauses between two looks, without the port.
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
