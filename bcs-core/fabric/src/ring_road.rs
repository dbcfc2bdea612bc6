//! A road over rings: for a fabric that has none of its own.
//!
//! Each node has, for every other, a ring in its global memory that only that other writes. The sender puts
//! records into the ring, then its tail; the receiver reads up to the tail and now and then says how much it
//! has read.
//!
//! ```text
//!  0        tails       a word per node: bytes it has written to its ring   written by that node
//!           taken       a word per node: bytes it has read of ours          written by that node
//!           rings       a ring per node: the records that it sends here     written by that node
//! ```
//!
//! A record is a word with its length, and then its bytes, padded to a multiple of 8; it never wraps. It is
//! never longer than a quarter of the ring, and a receiver says what it has read at the latest after a
//! quarter: so a record that waits gets its room. Memory that no pair of nodes uses is never touched.

use super::{
    Assignment, Comparison, Driven, Fabric, FabricError, Operation, Polling, Road, Source, Ticket,
    check_nodes, check_record,
};
use bcs_core::event::EventId;
use bcs_core::global_memory::{GlobalAddress, GlobalVariable};
use bcs_core::ids::NodeId;
use bcs_core::node_set::NodeSet;
use bytes::{Bytes, BytesMut};
use std::collections::VecDeque;
use std::os::fd::{AsFd, BorrowedFd};
use std::time::Duration;

/// Bytes of a ring: some long records, so that one is read while others are on their way, and no more, so
/// that what follows them does not wait for long; with very many nodes less, as each node has a ring from
/// each.
const RING_BYTES: u64 = 512 << 10;
const SMALL_RING_BYTES: u64 = 256 << 10;
/// From more nodes than this on, rings are small.
const MANY_NODES: u32 = 256;

/// A record up to this long is copied to those beside it, so that they are put together; a longer one is put
/// as it is, and the receiver is told of it at once, so that it reads while the next one is on its way.
const JOINED_BYTES: usize = 16 << 10;

/// Bytes of the length before a record.
const HEAD_BYTES: usize = 8;
/// In place of a length: the rest of the ring is not used.
const PAD: u64 = u64::MAX;

/// A fabric with a road of rings in the last bytes of its global memory.
#[derive(Debug)]
pub struct RingRoad<F> {
    fabric: F,
    /// Where the road begins in global memory.
    base: u64,
    nodes: u32,
    ring_bytes: u64,
    /// Signalled with the tail of a ring: there are records to read.
    written: EventId,
    /// Signalled when a receiver has said how much it has read.
    read: EventId,
    outgoing: Vec<Outgoing>,
    incoming: Vec<Incoming>,
    /// Somebody has to be told what was read, and the network was too busy for it.
    is_due: bool,
    record: Vec<u8>,
}

/// What this node sends to another.
#[derive(Clone, Debug, Default)]
struct Outgoing {
    /// Records that wait, as they stand in the ring, and their bytes.
    waiting: VecDeque<Bytes>,
    waiting_bytes: u64,
    /// Bytes written to the ring since the start, padding included.
    written: u64,
}

/// What this node reads from another.
#[derive(Clone, Copy, Debug, Default)]
struct Incoming {
    read: u64,
    told: u64,
}

/// Events that a road needs.
pub const ROAD_EVENTS: u32 = 2;

const fn ring_bytes(nodes: u32) -> u64 {
    if nodes <= MANY_NODES { RING_BYTES } else { SMALL_RING_BYTES }
}

/// Bytes of global memory that a road between so many nodes needs, at a multiple of 64.
pub const fn road_bytes(nodes: u32) -> u64 {
    rings(nodes) + nodes as u64 * ring_bytes(nodes)
}

const fn rings(nodes: u32) -> u64 {
    (2 * nodes as u64 * 8).next_multiple_of(64)
}

impl<F: Fabric> RingRoad<F> {
    /// The fabric with a road in its global memory from this address on, which takes [`road_bytes`] of it,
    /// and with the [`ROAD_EVENTS`] events from this one on.
    pub fn new(fabric: F, base: GlobalAddress, first_event: EventId) -> Self {
        let nodes = fabric.members().iter().count() as u32;
        Self {
            base: base.0,
            nodes,
            ring_bytes: ring_bytes(nodes),
            written: first_event,
            read: EventId(first_event.0 + 1),
            outgoing: vec![Outgoing::default(); nodes as usize],
            incoming: vec![Incoming::default(); nodes as usize],
            is_due: false,
            record: Vec::new(),
            fabric,
        }
    }

    /// A word of a row: of the tails, and of what was taken.
    fn word(&self, row: u64, node: NodeId) -> GlobalVariable {
        let at = self.base + (row * u64::from(self.nodes) + u64::from(node.0)) * 8;
        GlobalVariable::at(GlobalAddress(at)).expect("the road begins at a multiple of 64")
    }

    /// Where the ring of the records from a node is.
    fn ring(&self, from: NodeId) -> u64 {
        self.base + rings(self.nodes) + u64::from(from.0) * self.ring_bytes
    }

    /// Puts what waits and fits.
    fn flush(&mut self) -> Result<(), FabricError> {
        for to in (0..self.nodes).map(NodeId) {
            let link = &mut self.outgoing[to.index()];
            if link.waiting.is_empty() {
                continue;
            }
            if self.fabric.dead().contains(to) {
                (link.waiting, link.waiting_bytes) = (VecDeque::new(), 0);
                continue;
            }
            match self.flush_one(to) {
                // Too much is under way: the rest goes later.
                Err(FabricError::Busy { .. }) => break,
                other => other?,
            }
        }
        self.tell_read()
    }

    fn flush_one(&mut self, to: NodeId) -> Result<(), FabricError> {
        let own = self.fabric.node();
        let (destination, base, tail) = (NodeSet::single(to), self.ring(own), self.word(0, own).address());
        let read = self.fabric.load(self.word(1, to))?;
        let link = &mut self.outgoing[to.index()];
        // Operations of a node take effect in order: who sees the tail sees the records.
        while let Some((batch, written)) = link.next_batch(self.ring_bytes, read) {
            for (at, bytes) in &batch.puts {
                let at = GlobalAddress(base + at);
                self.fabric.xfer_and_signal(Source::Shared(bytes), &destination, at, None, None)?;
            }
            let source = Source::Bytes(&written.to_le_bytes());
            self.fabric.xfer_and_signal(source, &destination, tail, None, Some(self.written))?;
            link.waiting.drain(..batch.records).for_each(|record| link.waiting_bytes -= record.len() as u64);
            link.written = written;
        }
        Ok(())
    }

    /// Says how much was read, where that is enough to be told.
    fn tell_read(&mut self) -> Result<(), FabricError> {
        if !std::mem::take(&mut self.is_due) {
            return Ok(());
        }
        let at = self.word(1, self.fabric.node()).address();
        for (from, link) in self.incoming.iter_mut().enumerate() {
            if link.read - link.told < self.ring_bytes / 4 {
                continue;
            }
            let (node, source) = (NodeSet::single(NodeId(from as u32)), link.read.to_le_bytes());
            match self.fabric.xfer_and_signal(Source::Bytes(&source), &node, at, None, Some(self.read)) {
                Ok(()) => link.told = link.read,
                Err(FabricError::Busy { .. }) => self.is_due = true,
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Reads a record at a position of a ring into `record`. How far to go on, and the record's length; no
    /// length where there is none.
    fn read_record(&mut self, from: NodeId, position: u64) -> Result<(u64, Option<usize>), FabricError> {
        let at = position % self.ring_bytes;
        let address = self.ring(from) + at;
        let mut head = [0; HEAD_BYTES];
        self.fabric.read(GlobalAddress(address), &mut head)?;
        let length = u64::from_le_bytes(head);
        if length == PAD {
            return Ok((self.ring_bytes - at, None));
        }
        let to_end = self.ring_bytes - at - HEAD_BYTES as u64;
        if length > to_end {
            let reason = format!("what {from} has written to its ring is no record: a length of {length}");
            return Err(FabricError::Network { node: self.fabric.node(), reason });
        }
        self.record.resize(length as usize, 0);
        self.fabric.read(GlobalAddress(address + HEAD_BYTES as u64), &mut self.record)?;
        Ok((HEAD_BYTES as u64 + length.next_multiple_of(8), Some(length as usize)))
    }
}

/// Records that are put together, and of which the receiver is told together.
#[derive(Debug, Default)]
struct Batch {
    /// Where in the ring what goes.
    puts: Vec<(u64, Bytes)>,
    /// What goes behind them, and grows.
    open: Option<(u64, BytesMut)>,
    records: usize,
}

impl Batch {
    /// Adds bytes that go behind what was added before them, or to another place.
    fn join(&mut self, at: u64, bytes: &[u8]) {
        match &mut self.open {
            Some((start, run)) if *start + run.len() as u64 == at => run.extend_from_slice(bytes),
            _ => {
                self.close();
                self.open = Some((at, BytesMut::from(bytes)));
            }
        }
    }

    fn close(&mut self) {
        self.puts.extend(self.open.take().map(|(at, run)| (at, run.freeze())));
    }
}

impl Outgoing {
    /// What is put next, and how much has been written then; none when nothing waits that fits.
    fn next_batch(&self, ring: u64, read: u64) -> Option<(Batch, u64)> {
        let (mut batch, mut written) = (Batch::default(), self.written);
        for record in &self.waiting {
            let length = record.len() as u64;
            let to_end = ring - written % ring;
            let padding = if length > to_end { to_end } else { 0 };
            if written + padding + length > read + ring {
                break;
            }
            if padding > 0 {
                batch.join(written % ring, &PAD.to_le_bytes());
                written += padding;
            }
            let at = written % ring;
            written += length;
            batch.records += 1;
            if record.len() > JOINED_BYTES {
                batch.close();
                batch.puts.push((at, record.clone()));
                break;
            }
            batch.join(at, record);
        }
        batch.close();
        (batch.records > 0).then_some((batch, written))
    }
}

impl<F: Fabric> Road for RingRoad<F> {
    fn record_bytes(&self) -> usize {
        (self.ring_bytes / 4) as usize - HEAD_BYTES
    }

    fn send(&mut self, to: NodeId, parts: &[&[u8]]) -> Result<(), FabricError> {
        const OPERATION: Operation = Operation::Send;
        check_record(self, to, parts)?;
        check_nodes(OPERATION, &NodeSet::single(to), &self.fabric.members(), &self.fabric.dead())?;
        let bytes: usize = parts.iter().map(|part| part.len()).sum();
        let length = HEAD_BYTES + bytes.next_multiple_of(8);
        let link = &mut self.outgoing[to.index()];
        if link.waiting_bytes + length as u64 > self.ring_bytes {
            let limit = self.ring_bytes as usize;
            return Err(FabricError::Busy { operation: OPERATION, limit, unit: "bytes of records" });
        }
        let mut record = BytesMut::with_capacity(length);
        record.extend_from_slice(&(bytes as u64).to_le_bytes());
        parts.iter().for_each(|part| record.extend_from_slice(part));
        record.resize(length, 0);
        link.waiting_bytes += length as u64;
        link.waiting.push_back(record.freeze());
        Ok(())
    }

    fn poll(&mut self, handle: &mut dyn FnMut(NodeId, &[u8])) -> Result<usize, FabricError> {
        self.progress()?;
        let mut records = 0;
        if self.fabric.test_event(self.written)? > 0 {
            let own = self.fabric.node();
            for from in (0..self.nodes).map(NodeId).filter(|from| *from != own) {
                let tail = self.fabric.load(self.word(0, from))?;
                while self.incoming[from.index()].read < tail {
                    let (step, record) = self.read_record(from, self.incoming[from.index()].read)?;
                    self.incoming[from.index()].read += step;
                    if record.is_some() {
                        handle(from, &self.record);
                        records += 1;
                    }
                }
            }
            self.is_due = true;
            self.tell_read()?;
        }
        // Whoever is told of room for what waits sends it with the next poll.
        self.fabric.test_event(self.read)?;
        Ok(records)
    }
}

impl<F: Fabric> Fabric for RingRoad<F> {
    fn xfer_and_signal(
        &mut self,
        source: Source<'_>,
        destinations: &NodeSet,
        at: GlobalAddress,
        local_event: Option<EventId>,
        remote_event: Option<EventId>,
    ) -> Result<(), FabricError> {
        self.fabric.xfer_and_signal(source, destinations, at, local_event, remote_event)
    }

    fn test_event(&mut self, event: EventId) -> Result<u32, FabricError> {
        self.fabric.test_event(event)
    }

    fn compare_and_write(
        &mut self,
        nodes: &NodeSet,
        comparison: Comparison,
        assignment: Option<Assignment>,
    ) -> Result<Ticket, FabricError> {
        self.fabric.compare_and_write(nodes, comparison, assignment)
    }

    fn test_query(&mut self, ticket: Ticket) -> Option<Result<bool, FabricError>> {
        self.fabric.test_query(ticket)
    }

    fn read(&self, at: GlobalAddress, into: &mut [u8]) -> Result<(), FabricError> {
        self.fabric.read(at, into)
    }

    fn load(&self, variable: GlobalVariable) -> Result<u64, FabricError> {
        self.fabric.load(variable)
    }

    fn progress(&mut self) -> Result<(), FabricError> {
        self.flush()?;
        self.fabric.progress()
    }

    fn wait(&mut self) -> Result<(), FabricError> {
        self.flush()?;
        self.fabric.wait()
    }

    fn take_failure(&mut self) -> Option<FabricError> {
        self.fabric.take_failure()
    }

    fn node(&self) -> NodeId {
        self.fabric.node()
    }

    fn members(&self) -> NodeSet {
        self.fabric.members()
    }

    fn dead(&self) -> NodeSet {
        self.fabric.dead()
    }

    fn declare_dead(&mut self, node: NodeId) -> Result<(), FabricError> {
        self.fabric.declare_dead(node)
    }
}

impl<F: AsFd> AsFd for RingRoad<F> {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fabric.as_fd()
    }
}

impl<F: Driven> Driven for RingRoad<F> {
    fn timeout(&self) -> Option<Duration> {
        self.fabric.timeout()
    }

    fn why_lost(&self, node: NodeId) -> Option<String> {
        self.fabric.why_lost(node)
    }

    fn stopped(&self) -> NodeSet {
        self.fabric.stopped()
    }

    fn polling(&self) -> Polling {
        self.fabric.polling()
    }

    fn take_remark(&mut self) -> Option<String> {
        self.fabric.take_remark()
    }

    fn begin_connect(&mut self, nodes: &NodeSet) {
        self.fabric.begin_connect(nodes);
    }

    fn unconnected(&self) -> NodeSet {
        self.fabric.unconnected()
    }

    fn leave(&mut self, patience: Duration) {
        // Who leaves has nothing left that others wait for, or they know that it is lost.
        let _ = self.flush();
        self.fabric.leave(patience);
    }
}
