//! The receiving end (MPI-5.0, §4.2.1).

use super::arguments::{Bound, Partitions};
use super::units::{MOST_UNITS, Units};
use crate::constants::*;
use crate::error::{MpiError, MpiResult, Problem};
use crate::object::datatype::Layout;
use crate::object::datatype::buffer::MOST_ROOM;
use crate::object::partitioned::{Incoming, NOTICE, Notice};
use crate::object::request::{Begun, Finished, Parts, Several, Starter, State, Status, Steps};
use crate::point_to_point::{Peer, send_tag};
use crate::process::{self, Guard, cannot_go_on, ready, with};
use crate::progress::{misfit, partitioned_tag};
use crate::request::persistent;
use bcs_core::Rank;
use mds::Primitive;
use nic_emu::contexts::Context;
use nic_emu::descriptor::Check;
use nic_emu::doorbell::RingKind;
use nic_emu::matching::Envelope;
use nic_emu::memory::numbers::{CommRank, RequestId};
use nic_emu::port::Port;
use nic_emu::status::WaitingFor;
use std::cell::RefCell;
use std::ffi::{c_int, c_void};
use std::future::poll_fn;
use std::mem::MaybeUninit;
use std::ops::Range;
use std::rc::Rc;
use std::sync::Arc;

/// A partitioned receive.
pub(super) struct Receiving {
    bound: Bound,
    /// Of data that does not lie together: how a partition lies, and where it is before it is unpacked.
    staged: Option<(Layout, Box<[MaybeUninit<u8>]>)>,
    /// Where it comes from; none for MPI_PROC_NULL.
    from: Option<Origin>,
    comm: MPI_Comm,
    /// Once the sender has told of the units.
    told: Option<Told>,
    round: Round,
}

/// Where a partitioned receive comes from.
#[derive(Clone)]
struct Origin {
    context: Context,
    source: CommRank,
    peer_in_job: Rank,
    tag: i32,
    incoming: Rc<RefCell<Incoming>>,
    number: u64,
    what: WaitingFor,
}

/// What the sender has told, and what follows.
struct Told {
    /// The number of the first unit's tag.
    first: u32,
    units: Units,
    /// Of each partition, the units that hold bytes of it.
    covering: Vec<usize>,
}

/// What has become of the last start.
#[derive(Default)]
struct Round {
    /// Messages that are under way, each of a unit.
    under_way: Vec<(RequestId, usize)>,
    /// Of each partition, the units that have not come; empty as long as it is not known which there are.
    missing: Vec<usize>,
    /// While it is active.
    in_use: Option<Arc<()>>,
}

impl Receiving {
    /// Partitions.
    pub(super) fn partitions(&self) -> u64 {
        self.bound.partitions
    }

    /// The bytes of a partition.
    fn range(&self, partition: u64) -> Range<u64> {
        partition * self.bound.partition_bytes..(partition + 1) * self.bound.partition_bytes
    }

    /// Bytes that there is room for.
    fn room(&self) -> u64 {
        self.bound.partitions * self.bound.partition_bytes
    }

    /// Its status when it has ended well.
    fn status(&self, from: &Origin) -> Status {
        Status { source: from.source.0 as c_int, tag: from.tag, bytes: self.room(), cancelled: false }
    }

    /// The sender has told of the units.
    fn learn(&mut self, (first, units): (u32, Units)) {
        let covering = (0..self.bound.partitions).map(|of| units.covering(self.range(of)).count()).collect();
        self.told = Some(Told { first, units, covering });
    }

    /// How many units there are, of none of which anything has come.
    fn begin_units(&mut self) -> usize {
        let Some(told) = &self.told else { return 0 };
        self.round.missing.extend_from_slice(&told.covering);
        told.units.count()
    }

    /// Posts the receive of a unit, for which there is room.
    fn post(&mut self, port: &mut Port, unit: usize) -> MpiResult {
        let (Some(from), Some(Told { first, units, .. })) = (&self.from, &self.told) else { return Ok(()) };
        let (range, room) = (units.range(unit), self.room());
        let (start, end) = (range.start.min(room), range.end.min(room));
        let data = match (&mut self.staged, self.bound.together) {
            (Some((_, staged)), _) => staged.as_mut_ptr().cast(),
            (None, Some(data)) => data,
            (None, None) => std::ptr::null_mut(),
        };
        let place = (data.wrapping_add(start as usize), (end - start) as usize);
        // SAFETY: the program leaves its buffer alone until the partition has arrived, and a staged one is
        // kept.
        let nic = unsafe { post_receive(port, (from, self.comm), first + unit as u32, place)? };
        self.round.under_way.push((nic, unit));
        Ok(())
    }

    /// Looks which units have come; what they bring is put in its place. True if all have.
    pub(super) fn look_at_units(&mut self, port: &mut Port) -> MpiResult<bool> {
        let mut at = 0;
        while let Some(&(nic, unit)) = self.round.under_way.get(at) {
            if port.test(nic)?.is_some() {
                self.round.under_way.remove(at);
                self.note(unit);
            } else {
                at += 1;
            }
        }
        Ok(self.round.under_way.is_empty())
    }

    /// A unit has come: whatever partitions are whole now are put in their places.
    fn note(&mut self, unit: usize) {
        let Some(Told { units, .. }) = self.told else { return };
        let (range, each) = (units.range(unit), self.bound.partition_bytes);
        let last = self.bound.partitions.saturating_sub(1);
        // Those that may hold bytes of it: of nothing, all do.
        let partitions = match range.start.checked_div(each) {
            Some(start) if !range.is_empty() => start.min(last)..=((range.end - 1) / each).min(last),
            _ => 0..=last,
        };
        for partition in partitions {
            if self.bound.partitions == 0 || !units.covering(self.range(partition)).contains(&unit) {
                continue;
            }
            let missing = &mut self.round.missing[partition as usize];
            *missing -= 1;
            if *missing == 0 {
                self.unpack(partition);
            }
        }
    }

    /// Puts a partition in its place that has arrived elsewhere.
    fn unpack(&self, partition: u64) {
        let Some((layout, staged)) = &self.staged else { return };
        let from = staged.as_ptr().cast::<u8>().wrapping_add(self.range(partition).start as usize);
        let (to, bytes) = (self.bound.address(partition), self.bound.partition_bytes as usize);
        // SAFETY: the partition's bytes are in the staged buffer; the program leaves its own alone until the
        // partition has arrived.
        unsafe { layout.cursor().unpack(from, bytes, to) };
    }

    /// Whether a partition has arrived, as far as was looked.
    pub(super) fn has_arrived(&self, partition: u64) -> bool {
        self.from.is_none() || self.round.missing.get(partition as usize) == Some(&0)
    }
}

impl Starter for Rc<RefCell<Receiving>> {
    /// Of the first start the sender tells; a later one is but the receives of the units.
    fn start(&mut self, parts: &mut Parts<'_>) -> MpiResult<Begun> {
        let receiving = &mut *self.borrow_mut();
        let Some(from) = &receiving.from else {
            return Ok(Begun::Messages(State::Complete(Finished::well(Status::PROC_NULL))));
        };
        receiving.round.missing.clear();
        // The program may have freed the communicator.
        receiving.round.in_use = parts.communicators.get(receiving.comm).ok().map(|comm| comm.in_use.clone());
        if let Some(Told { units, .. }) = &receiving.told
            && parts.port.has_cells_for_receives(units.count())
        {
            for unit in 0..receiving.begin_units() {
                receiving.post(parts.port, unit).map_err(cannot_go_on)?;
            }
            return Ok(Begun::Messages(State::Several(self.clone())));
        }
        let (from, receiving) = (from.clone(), self.clone());
        Ok(Begun::Steps(Steps::of_parts(from.what, async move {
            if receiving.borrow().told.is_none() {
                let told = poll_fn(|_| ready(with(|process| be_told(process, &receiving, &from)))).await?;
                receiving.borrow_mut().learn(told);
            }
            with(|process| post_all(process, &receiving, &from))?;
            poll_fn(|_| ready(with(|process| receiving.borrow_mut().look(&mut process.port)))).await
        })))
    }

    /// The notice of one that was never started may still come.
    fn close(&mut self) -> Option<Steps> {
        let receiving = self.borrow();
        if let (Some(from), None) = (&receiving.from, &receiving.told) {
            from.incoming.borrow_mut().forget(from.tag, from.number);
        }
        None
    }
}

impl Several for Receiving {
    fn look(&mut self, port: &mut Port) -> MpiResult<Option<Status>> {
        if !self.look_at_units(port)? {
            return Ok(None);
        }
        self.round.in_use = None;
        let (Some(from), Some(told)) = (&self.from, &self.told) else { return Ok(Some(Status::EMPTY)) };
        match self.room() {
            room if room == told.units.bytes => Ok(Some(self.status(from))),
            room => Err(misfit(told.units.bytes as usize, room as usize, from.source)),
        }
    }

    fn under_way(&self) -> Option<RequestId> {
        self.round.under_way.first().map(|(nic, _)| *nic)
    }

    fn what(&self) -> WaitingFor {
        self.from.as_ref().map_or(WaitingFor::SOMETHING, |from| from.what)
    }
}

/// Waits until there is room for a receive. Other threads may go on meanwhile.
fn make_room(process: &mut Guard, from: &Origin) -> MpiResult {
    process.make_room(|| from.what, |port| port.lacks_cell(RingKind::Receive))
}

/// Posts a receive of a message of the sender, for which there is room.
///
/// # Safety
/// The place must be writable, and used by nobody else, until the message has come.
unsafe fn post_receive(
    port: &mut Port,
    (from, comm): (&Origin, MPI_Comm),
    number: u32,
    place: (*mut u8, usize),
) -> MpiResult<RequestId> {
    let envelope = Envelope { context: from.context, source: from.source, tag: partitioned_tag(number) };
    let whose = (from.peer_in_job, comm.0 as u64);
    // SAFETY: the caller's promise.
    Ok(unsafe { port.begin_receive(&envelope, Check::NONE, whose, 0, place)? })
}

/// Looks whether the sender has told of the units; answers these, and the number of the first one's tag.
fn be_told(
    process: &mut Guard,
    receiving: &RefCell<Receiving>,
    from: &Origin,
) -> MpiResult<Option<(u32, Units)>> {
    loop {
        if let Some(told) = from.incoming.borrow_mut().take(from.tag, from.number) {
            return told_units(&told, from).map(Some);
        }
        if from.incoming.borrow().awaited.is_none() {
            make_room(process, from)?;
        }
        let mut incoming = from.incoming.borrow_mut();
        match &incoming.awaited {
            None => {
                let mut text = Box::new([0; Notice::BYTES]);
                let (place, comm) = ((text.as_mut_ptr(), text.len()), receiving.borrow().comm);
                // SAFETY: the bytes are kept until the message has come.
                let nic = unsafe { post_receive(&mut process.port, (from, comm), NOTICE, place)? };
                process.progress.has_posted = true;
                incoming.awaited = Some((nic, text));
                return Ok(None);
            }
            Some((nic, _)) if process.port.test(*nic)?.is_none() => return Ok(None),
            Some((_, text)) => {
                let told = Notice::decode(text);
                incoming.awaited = None;
                incoming.keep(told);
            }
        }
    }
}

/// The units of a notice.
///
/// # Errors
/// There cannot be such: it is none.
fn told_units(told: &Notice, from: &Origin) -> MpiResult<(u32, Units)> {
    let units = Units { bytes: told.bytes, unit_bytes: told.unit_bytes };
    if units.count() as u64 > MOST_UNITS {
        let problem =
            format!("rank {} gave notice of a partitioned send of {} units", from.source, units.count());
        return Err(MpiError::new(Problem::Nic(problem)));
    }
    Ok((told.first, units))
}

/// Posts the receives of all units, and waits for room where there is none.
fn post_all(process: &mut Guard, receiving: &RefCell<Receiving>, from: &Origin) -> MpiResult {
    let units = receiving.borrow_mut().begin_units();
    for unit in 0..units {
        make_room(process, from)?;
        receiving.borrow_mut().post(&mut process.port, unit)?;
        process.progress.has_posted = true;
    }
    Ok(())
}

/// MPI_Precv_init.
///
/// # Errors
/// Wrong arguments: wildcards, too.
pub fn receive_init(room: Partitions<*mut c_void>, from: Peer) -> MpiResult<MPI_Request> {
    let mut process = process::enter()?;
    let (source, tag, comm) = from;
    let bound = room.check(&process.datatypes, room.each.buffer, (MOST_ROOM, "received"), source)?;
    let staged = match bound.together {
        Some(_) => None,
        None => {
            let bytes = (bound.partitions * bound.partition_bytes) as usize;
            Some((bound.layout(&process.datatypes, 1)?, Box::new_uninit_slice(bytes)))
        }
    };
    let communicator = process.communicator_mut(comm)?;
    let tag = send_tag("tag", tag)?;
    // So the source is called in the standard's binding.
    let from = match communicator.peer("dest", source)? {
        None => None,
        Some(source) => {
            let incoming = communicator.partitioned.incoming(source);
            let number = incoming.borrow_mut().add(tag);
            let peer_in_job = communicator.job_rank(source);
            let what = WaitingFor {
                call: Primitive::PrecvInit.index() as u32,
                context: communicator.context,
                peer: source,
                tag,
                bytes: bound.partitions * bound.partition_bytes,
                peer_in_job,
                ..WaitingFor::SOMETHING
            };
            let context = communicator.context.of_collectives();
            Some(Origin { context, source, peer_in_job, tag, incoming, number, what })
        }
    };
    let receiving = Receiving { bound, staged, from, comm, told: None, round: Round::default() };
    Ok(persistent::create(&mut process, Box::new(Rc::new(RefCell::new(receiving))), comm))
}
