//! Driving: a rank that waits drives the links to other nodes, between two looks at what it waits for
//! ([`pass_over_links`]), and a rank that sends passes over them once, now and then. What it cannot do
//! itself it wakes the NIC thread for, unless nobody waits for it. A rank that waits for its own node alone
//! leaves the links to others.

use super::error::PortError;
use super::lending::Waiting;
use super::outstanding::Purpose;
use super::rank_port::Port;
use crate::global::{BufferWrites, Left, Own, go_on_with_writes, pass_over_links};
use crate::host::buffer_writes::CardWrites;
use crate::host::cross_memory::CrossMemoryAttach;
use crate::host::crowd::Crowd;
use crate::memory::Rank;
use crate::memory::doorbell::RingKind;
use crate::memory::token::Holder;
use crate::policy::PASSES_BESIDE_PEERS;
use std::sync::atomic::{Ordering, fence};

impl Port {
    /// Whether this rank drives the links when it waits: not in a crowd, where it sleeps soon; nor with a
    /// collective under way, which is the NIC thread's: that would leave the links to this rank until it
    /// knows of the collective, and to a rank that does not get a processor.
    #[inline]
    pub(super) fn drives(&self) -> bool {
        self.links.as_ref().is_some_and(|driving| driving.away_until_ns == 0)
            && self.memory.header().remote.thread_drives.get() == 0
            && self.outstanding.collectives() == 0
            && self.crowd.as_ref().is_some_and(|crowd| !crowd.stays_crowded())
    }

    /// Says that this rank drives the links, also before it has something to do: the NIC thread leaves them
    /// to it for a while.
    #[inline]
    pub(super) fn say_that_it_drives(&self) {
        if self.drives() {
            self.memory.header().remote.driven_ns.set((self.clock)());
        }
    }

    /// Whether a rank that waits leaves the links to others, and its processor, too: it waits for messages of
    /// its own node alone, whose senders wake it, and one of those may want the processor. First it sends
    /// what has not left, if that goes at once.
    #[inline]
    pub(super) fn leaves_links(&self, waiting: &Waiting) -> bool {
        self.wake_pipe.is_some()
            && self.outstanding.are_of_this_node()
            && waiting.is_for_requests()
            && self.crowd.as_ref().is_some_and(Crowd::shares_its_processor)
            && (waiting.passes_since(self.heads) >= PASSES_BESIDE_PEERS || !self.has_unsent())
    }

    /// Whether the NIC thread moves the bytes of the links on this processor just now, so that to sleep is
    /// the quickest way to let it do so: it wakes who sleeps here when something has come.
    pub(super) fn is_carried_here(&self) -> bool {
        self.drives()
            && self.memory.header().remote.carrier.get() == rustix::thread::sched_getcpu() as u32 + 1
    }

    /// Whether this rank of the job is one of this node's.
    pub(super) fn is_of_this_node(&self, rank: Rank) -> bool {
        self.memory.local_rank(rank).is_ok_and(|local| local.is_some())
    }

    /// This rank is about to sleep, or leaves something to the NIC thread, which has the links from now on.
    pub(super) fn hand_over_links(&self) {
        let driven_ns = &self.memory.header().remote.driven_ns;
        if self.links.is_some() && driven_ns.get() != 0 {
            driven_ns.set(0);
            self.wake_nic_thread();
        }
    }

    /// Whether the NIC thread, which has left the links to ranks, looks soon by itself, also for what this
    /// rank has posted and nobody has sent.
    pub(super) fn is_stood_by(&self) -> bool {
        // What was posted before the look: a NIC thread that does not stand by any more looks after it has
        // said so.
        fence(Ordering::SeqCst);
        self.drives() && self.memory.header().remote.stands_by.get() != 0
    }

    /// A message of so many bytes was posted for another node, and the rank goes on. If that is the first
    /// send since it last waited it leaves at once, and so does what has gathered since, when that is much.
    /// The rest leaves when a rank waits; or when the NIC thread looks, which is woken unless it stands by.
    pub(super) fn push_out(&mut self, bytes: usize) -> Result<(), PortError> {
        let is_first = self.heads.ahead_of(self.offered, RingKind::Send) == 1;
        if self.drives()
            && let Some(driving) = &mut self.links
            && (driving.note_posted(bytes) || is_first)
        {
            // What the slice leaves for other nodes is not the NIC thread's, as in a wait.
            self.waiters += 1;
            let lent = self.lend_after_posting();
            self.waiters -= 1;
            lent?;
            // Who sends much goes on with it soon; a rank that sends one message may compute, and leaves what
            // comes to the NIC thread.
            if !is_first {
                self.say_that_it_drives();
            }
            self.pass_over_links()?;
            let taken = self.memory.taken()[self.local_rank.index()].peek();
            if self.heads.ahead_of(taken, RingKind::Send) == 0 && !self.has_unsent() {
                return Ok(());
            }
        }
        if !self.is_stood_by() {
            self.wake_nic_thread();
        }
        Ok(())
    }

    /// Whether something for other nodes has not left: descriptors, matches, records in a link, or a part of
    /// a frame.
    fn has_unsent(&self) -> bool {
        let remote = &self.memory.header().remote;
        remote.outbound.get() != 0
            || !remote.matches.is_empty()
            || self.links.as_ref().is_some_and(|driving| driving.links.has_unsent())
    }

    /// Sends what is for other nodes and takes what has come from them, if it is for this rank to do that,
    /// and nobody else is the processor. True if something has moved.
    pub(super) fn drive_links(&mut self) -> Result<bool, PortError> {
        self.say_that_it_drives();
        self.pass_over_links()
    }

    /// [`Self::drive_links`] of a rank that may not go on with that: it does not say that it drives them. Who
    /// does not drive them goes on with what it has begun to write, or has opened, all the same: nobody else
    /// can, and the other end waits for it.
    pub(super) fn pass_over_links(&mut self) -> Result<bool, PortError> {
        let Some(driving) = &mut self.links else { return Ok(false) };
        if driving.away_until_ns != 0 && (self.clock)() >= driving.away_until_ns {
            driving.away_until_ns = 0;
        }
        let drives = self.drives();
        if !drives && !self.is_writing() {
            return Ok(false);
        }
        let Some(driving) = &mut self.links else { return Ok(false) };
        let token = self.memory.token();
        if !token.looks_free() || !token.try_take(Holder::rank(self.local_rank)) {
            return Ok(false);
        }
        let awaited = self.memory.header().remote.awaited.get();
        let outstanding = &self.outstanding;
        let (staying, stays_for_all) = self.stays_for;
        let waits = self.waiters != 0;
        let own = Own {
            rank: self.local_rank,
            processes: &CrossMemoryAttach,
            stays_for: &|request| waits && (stays_for_all || request == staying),
            sent_from: &|request, _| outstanding.buffer_of(Purpose::Send, request),
            received_in: &|request, _| outstanding.buffer_of(Purpose::Receive, request),
        };
        if drives {
            driving.note_driven();
        }
        let writes = driving.writes.as_mut().map(|writes| writes as &mut dyn BufferWrites);
        let passed = match (drives, writes) {
            (false, Some(writes)) => go_on_with_writes(&self.memory, &mut driving.links, writes, &own),
            (_, writes) => pass_over_links(&self.memory, &mut driving.links, writes, &own),
        };
        let told = &self.memory.header().remote.told_refusal;
        let refusal = driving.writes.as_mut().and_then(CardWrites::take_refusal);
        let refusal = refusal.filter(|_| told.get() == 0).inspect(|_| told.set(1));
        // Orders completions against the look at who sleeps: see `waiting`.
        token.release_and_fence();
        let passed = passed?;
        if let Some(error) = driving.writes.as_ref().and_then(CardWrites::failure) {
            return Err(PortError::Card {
                rank: self.memory.job_rank(self.local_rank),
                error: error.clone(),
            });
        }
        if let Some(refusal) = refusal {
            let rank = self.memory.job_rank(self.local_rank);
            // At once: ranks of other nodes say the same just now.
            let told = format!("rank {rank}: long messages are copied on their way: {refusal}\n");
            eprint!("{told}");
        }
        if passed.left.in_the_way {
            driving.leave((self.clock)());
            self.memory.header().remote.driven_ns.set(0);
        }
        self.wake(&passed.touched);
        let Left { in_the_way, for_thread } = passed.left;
        if in_the_way || for_thread || awaited != self.awaited.replace(awaited) {
            self.wake_nic_thread();
        }
        Ok(passed.moved)
    }

    /// Whether this rank may write long messages from buffer to buffer: then it matters what it stays in its
    /// call for.
    #[inline]
    pub fn has_writes(&self) -> bool {
        self.links.as_ref().is_some_and(|driving| driving.writes.is_some())
    }

    /// Says whether this rank stays in its call until all of its requests are complete, and not only the one
    /// that it waits for.
    #[inline]
    pub fn stay_for_all(&mut self, stays: bool) {
        self.stays_for.1 = stays;
    }

    /// Whether messages go from buffer to buffer just now that this rank has to go on with.
    pub(super) fn is_writing(&self) -> bool {
        let writes = self.links.as_ref().and_then(|driving| driving.writes.as_ref());
        writes.is_some_and(|writes| !writes.is_idle())
    }

    /// This rank, or a thread of it, goes on or sleeps: what has not left, answers that wait for company say,
    /// is the NIC thread's from now on.
    #[inline]
    pub(super) fn leave_unsent(&self) {
        if self.links.is_some() && self.has_unsent() && !self.is_stood_by() {
            self.wake_nic_thread();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::channel::Buffer;
    use crate::global::Invitation;
    use crate::host::clock::now_ns;
    use crate::host::endpoint_place::EndpointPlace;
    use crate::host::mapping::create_private;
    use crate::host::shared_links::SharedLinks;
    use crate::memory::status::WaitingFor;
    use crate::memory::{Layout, LocalRank, RequestId};
    use crate::port::link_driver::LinkDriver;
    use std::net::Ipv4Addr;
    use std::sync::Arc;

    const BYTES: u64 = 3 << 20;

    /// A writer over a provider that is nearly everywhere; none, and the test counts as skipped, elsewhere.
    fn writer() -> Option<CardWrites> {
        let provider = "tcp;ofi_rxm".to_owned();
        let mut writes = CardWrites::new(EndpointPlace { address: Ipv4Addr::LOCALHOST.into(), provider });
        let some = [0_u8; 1];
        let is_open = writes.open(0, Buffer { address: some.as_ptr() as u64, bytes: 1 }).is_some();
        writes.close_unless(&mut |_| false);
        if let Some(error) = writes.take_refusal() {
            bcs_harness::skip(error);
        }
        is_open.then_some(writes)
    }

    /// A rank in a crowd, for which the NIC thread drives the links: the sender of a message to it can only
    /// write while the rank polls its own endpoint.
    #[test]
    fn a_rank_that_leaves_the_links_to_others_goes_on_with_what_it_has_opened() {
        let Some([mut sender, mut receiver]) = writer().zip(writer()).map(<[_; 2]>::from) else { return };
        let memory = create_private(Layout::new(1, 2, [0; 2]).unwrap(), 0, 2).unwrap();
        let id = memory.landings().take().unwrap().id.get();
        let (from, to) = (vec![7_u8; BYTES as usize], vec![0_u8; BYTES as usize]);
        let buffer = |bytes: &[u8]| Buffer { address: bytes.as_ptr() as u64, bytes: BYTES };
        let opened = receiver.open(id, buffer(&to)).unwrap();
        let (at, key, address) = (opened.at, opened.key, opened.address.to_vec());
        let (node, rank, request) = (1, Rank(1), RequestId(3));
        let invited = Invitation { node, rank, request, from: 0, landing: id, bytes: BYTES, at, key };
        assert!(sender.begin(&invited, buffer(&from), &address));
        let mut port = Port::open(Arc::new(memory), LocalRank(0)).unwrap();
        port.links = Some(Box::new(LinkDriver::new(SharedLinks::to_nobody(), Some(receiver))));
        assert!(!port.drives() && port.is_writing() && !port.may_stay_asleep());
        let mut waiting = port.begin_wait(None);
        let (began_ns, mut is_delivered) = (now_ns(), None);
        while is_delivered.is_none() {
            assert!(now_ns() - began_ns < 60_000_000_000, "nothing of the message comes");
            port.wait_step(&mut waiting, |_| WaitingFor::default()).unwrap();
            sender.go_on();
            sender.take_over(&mut |_, delivered| is_delivered.replace(delivered).is_none());
        }
        port.end_wait();
        assert_eq!((is_delivered, to == from), (Some(true), true));
        // The message is over: the next step closes the buffer, and the rank may sleep.
        let landing = port.memory.landings().named(id).unwrap();
        port.memory.landings().free(landing);
        let mut waiting = port.begin_wait(None);
        port.wait_step(&mut waiting, |_| WaitingFor::default()).unwrap();
        port.end_wait();
        assert!(!port.is_writing());
    }
}
