//! The sending end (MPI-5.0, §4.2.1).

use super::arguments::{Bound, Partitions, partition_of};
use super::units::{Cut, Units};
use crate::api::{Mode, bcs_send};
use crate::constants::*;
use crate::error::{MpiError, MpiResult, Problem};
use crate::object::datatype::Layout;
use crate::object::partitioned::{NOTICE, Notice, Outgoing, TagsInUse};
use crate::object::request::{Begun, Parts, Several, Starter, State, Status, Steps};
use crate::point_to_point::{Peer, send_tag};
use crate::process::{self, Guard, ready as ready_when, with};
use crate::progress::{PARTITIONED_TAGS, partitioned_tag};
use crate::request::persistent;
use mds::Primitive;
use nic_emu::descriptor::{Check, INLINE_BYTES, MESSAGE_LIMIT};
use nic_emu::doorbell::RingKind;
use nic_emu::memory::numbers::{CommRank, RequestId};
use nic_emu::port::{Port, Send};
use nic_emu::status::WaitingFor;
use std::cell::RefCell;
use std::ffi::{c_int, c_void};
use std::future::poll_fn;
use std::rc::Rc;
use std::sync::Arc;

const _: () = assert!(Notice::BYTES <= INLINE_BYTES, "a notice is complete when it is posted");

/// A partitioned send.
pub(super) struct Sending {
    bound: Bound,
    cut: Cut,
    /// Of data that does not lie together: how a unit lies, and how the last one does.
    layouts: Option<[Layout; 2]>,
    /// Where it goes; none for MPI_PROC_NULL.
    to: Option<Destination>,
    comm: MPI_Comm,
    round: Round,
}

/// Where a partitioned send goes.
#[derive(Clone)]
struct Destination {
    /// A message there, whose tag is still to be set.
    send: Send,
    peer: CommRank,
    /// The units' tags.
    tags: Rc<TagsInUse>,
    /// Its place among those whose notices have to go.
    outgoing: Rc<RefCell<Outgoing>>,
    number: u64,
    what: WaitingFor,
}

/// What has become of the last start.
#[derive(Default)]
struct Round {
    /// Partitions that are ready.
    ready: Vec<bool>,
    /// Of each unit, the partitions that are not.
    unready: Vec<u64>,
    /// Units that were not posted yet.
    unsent: usize,
    /// Messages that are under way, with their bytes where these were packed.
    under_way: Vec<(RequestId, Box<[u8]>)>,
    /// While it is active.
    in_use: Option<Arc<()>>,
}

impl Sending {
    /// Partitions.
    pub(super) fn partitions(&self) -> u64 {
        self.bound.partitions
    }

    /// No partition is ready.
    fn begin(&mut self) {
        let Self { round: Round { ready, unready, unsent, .. }, cut, bound, .. } = self;
        ready.clear();
        ready.resize(bound.partitions as usize, false);
        *unsent = cut.units.count();
        unready.clear();
        unready.extend((0..*unsent).map(|unit| cut.partitions(unit)).map(|of| of.end - of.start));
    }

    /// The bytes of a unit: where they are, how many, and where they were packed, if they were.
    ///
    /// # Safety
    /// The buffer must be readable.
    unsafe fn unit(&self, unit: usize) -> (*const u8, usize, Box<[u8]>) {
        let range = self.cut.units.range(unit);
        let bytes = (range.end - range.start) as usize;
        match (&self.layouts, self.bound.together) {
            (_, Some(data)) => (data.wrapping_add(range.start as usize), bytes, Box::default()),
            (Some([each, last]), None) => {
                let layout = if unit + 1 == self.cut.units.count() { last } else { each };
                let from = self.bound.address(self.cut.partitions(unit).start);
                // SAFETY: the caller's promise.
                let packed = unsafe { layout.pack(from) }.into_boxed_slice();
                (packed.as_ptr(), bytes, packed)
            }
            (None, None) => (std::ptr::null(), 0, Box::default()),
        }
    }

    /// Notes that a partition, which `argument` names, is ready.
    ///
    /// # Errors
    /// There is no such partition, or it is ready already.
    pub(super) fn mark_ready(&mut self, argument: &'static str, value: c_int) -> MpiResult {
        let partition = partition_of(argument, value, self.bound.partitions)?;
        if std::mem::replace(&mut self.round.ready[partition as usize], true) {
            let allowed = "that partition is ready already; each is made ready once after a start";
            return Err(MpiError::argument(MPI_ERR_ARG, argument, value, allowed));
        }
        Ok(())
    }

    /// Takes back what [`Self::mark_ready`] has noted.
    pub(super) fn unmark_ready(&mut self, value: c_int) {
        self.round.ready[value as usize] = false;
    }

    /// Counts a partition that was noted; answers its unit if that is whole now.
    pub(super) fn count_ready(&mut self, value: c_int) -> Option<usize> {
        let unit = self.cut.unit_of(value as u64);
        self.round.unready[unit] -= 1;
        (self.round.unready[unit] == 0).then_some(unit)
    }
}

impl Starter for Rc<RefCell<Sending>> {
    /// With the first start the receiver is told of the units; a later one is but the messages of the units,
    /// which go as they get ready.
    fn start(&mut self, parts: &mut Parts<'_>) -> MpiResult<Begun> {
        let sending = &mut *self.borrow_mut();
        sending.begin();
        let Some(to) = &sending.to else { return Ok(Begun::Messages(State::nothing())) };
        // The program may have freed the communicator.
        sending.round.in_use = parts.communicators.get(sending.comm).ok().map(|comm| comm.in_use.clone());
        if sending.bound.partitions > 0 && !to.outgoing.borrow().waits_up_to(to.number) {
            return Ok(Begun::Messages(State::Several(self.clone())));
        }
        let (to, sending) = (to.clone(), self.clone());
        Ok(Begun::Steps(Steps::of_parts(to.what, async move {
            with(|process| give_notice(process, &sending, &to))?;
            if sending.borrow().bound.partitions == 0 {
                with(|process| post(process, &sending, 0))?;
            }
            poll_fn(|_| ready_when(with(|process| sending.borrow_mut().look(&mut process.port)))).await
        })))
    }
}

impl Several for Sending {
    fn look(&mut self, port: &mut Port) -> MpiResult<Option<Status>> {
        let round = &mut self.round;
        let mut at = 0;
        while let Some((nic, _)) = round.under_way.get(at) {
            if port.test(*nic)?.is_some() {
                round.under_way.remove(at);
            } else {
                at += 1;
            }
        }
        if round.unsent > 0 || !round.under_way.is_empty() {
            return Ok(None);
        }
        round.in_use = None;
        Ok(Some(Status::EMPTY))
    }

    fn under_way(&self) -> Option<RequestId> {
        self.round.under_way.first().map(|(nic, _)| *nic)
    }

    fn what(&self) -> WaitingFor {
        self.to.as_ref().map_or(WaitingFor::SOMETHING, |to| to.what)
    }
}

/// Tells the peer of this send, and of those before it, if that was not done yet.
fn give_notice(process: &mut Guard, sending: &RefCell<Sending>, to: &Destination) -> MpiResult {
    while to.outgoing.borrow().waits_up_to(to.number) {
        // Other threads may go on in here, and give the next notice.
        process.make_room(|| to.what, |port| port.lacks_cell(RingKind::Send))?;
        let Some(next) = to.outgoing.borrow_mut().next_up_to(to.number) else { break };
        let text: Box<[u8]> = next.encode().into();
        let (send, peer) =
            (Send { tag: partitioned_tag(NOTICE), ..to.send }, (to.peer, sending.borrow().comm));
        let (data, bytes) = (text.as_ptr(), text.len());
        // SAFETY: the bytes are kept until they have gone.
        let posted =
            unsafe { bcs_send(process, Primitive::PsendInit, &send, peer, data, bytes, Mode::NonBlocking)? };
        sending.borrow_mut().round.under_way.extend(posted.map(|nic| (nic, text)));
    }
    if let Ok(communicator) = process.communicator_mut(sending.borrow().comm) {
        communicator.partitioned.forget_told(to.peer, to.what.tag);
    }
    Ok(())
}

/// Posts a unit all of whose partitions are ready.
pub(super) fn post(process: &mut Guard, sending: &RefCell<Sending>, unit: usize) -> MpiResult {
    let (send, peer, (data, bytes, packed)) = {
        let sending = sending.borrow();
        let Some(to) = &sending.to else { return Ok(()) };
        let send = Send { tag: partitioned_tag(to.tags.first + unit as u32), ..to.send };
        // SAFETY: the promise of `Elements::new`, and the program has said that the partitions are ready.
        (send, (to.peer, sending.comm), unsafe { sending.unit(unit) })
    };
    // Other threads may go on in here, so nothing is borrowed.
    // SAFETY: the program leaves a partition alone that it has said to be ready, and packed bytes are kept.
    let posted =
        unsafe { bcs_send(process, Primitive::Pready, &send, peer, data, bytes, Mode::NonBlocking)? };
    let round = &mut sending.borrow_mut().round;
    round.under_way.extend(posted.map(|nic| (nic, packed)));
    round.unsent -= 1;
    // A thread that waits for the send may sleep: nobody else wakes it.
    if round.unsent == 0 && process.is_shared() {
        process.port.wake_own();
    }
    Ok(())
}

/// All tags have a request that lives: there are hundreds of millions.
#[cold]
fn too_many_requests() -> MpiError {
    MpiError::new(Problem::Exhausted("there are too many partitioned sends of this communicator".into()))
}

/// MPI_Psend_init.
///
/// # Errors
/// Wrong arguments.
pub fn send_init(message: Partitions<*const c_void>, to: Peer) -> MpiResult<MPI_Request> {
    let mut process = process::enter()?;
    let (dest, tag, comm) = to;
    let most = (MESSAGE_LIMIT as usize - 1, "sent");
    let bound = message.check(&process.datatypes, message.each.buffer.cast_mut(), most, dest)?;
    let cut = Cut::of(bound.partitions, bound.partition_bytes);
    let layouts = match bound.together {
        Some(_) => None,
        None => {
            let lengths =
                [0, cut.units.count() - 1].map(|unit| cut.partitions(unit)).map(|of| of.end - of.start);
            Some([
                bound.layout(&process.datatypes, lengths[0])?,
                bound.layout(&process.datatypes, lengths[1])?,
            ])
        }
    };
    let communicator = process.communicator_mut(comm)?;
    let tag = send_tag("tag", tag)?;
    let to = match communicator.peer("dest", dest)? {
        None => None,
        Some(peer) => {
            let Units { bytes, unit_bytes } = cut.units;
            let tags = communicator.partitioned.take_tags(cut.units.count() as u32, PARTITIONED_TAGS);
            let tags = Rc::new(tags.ok_or_else(too_many_requests)?);
            let outgoing = communicator.partitioned.outgoing(peer, tag);
            let number = outgoing.borrow_mut().add(Notice { tag, first: tags.first, bytes, unit_bytes });
            let destination = communicator.job_rank(peer);
            let send = Send {
                context: communicator.context.of_collectives(),
                source: communicator.rank,
                tag: 0,
                destination,
                synchronous: false,
                check: Check::NONE,
                signature: 0,
            };
            let what = WaitingFor {
                call: Primitive::PsendInit.index() as u32,
                context: communicator.context,
                peer,
                tag,
                bytes,
                peer_in_job: destination,
                sends: true,
                ..WaitingFor::SOMETHING
            };
            Some(Destination { send, peer, tags, outgoing, number, what })
        }
    };
    let sending = Sending { bound, cut, layouts, to, comm, round: Round::default() };
    Ok(persistent::create(&mut process, Box::new(Rc::new(RefCell::new(sending))), comm))
}
