//! Links: records from one node to another, never more than the receiver has room for, and in order, but for
//! those of data, which stand behind all others.
//!
//! Each node has, for every other, a ring in its global memory that only that other writes. The sender puts
//! records into the ring, then its tail; the receiver reads up to the tail and now and then says how much it
//! has read. A record that does not fit waits at its sender. So a node can be slow, but it cannot be flooded.
//! A record for which nobody waits goes with the next one that somebody does wait for, or by itself in a
//! while.
//!
//! Invariant: a record is never longer than a quarter of the ring, and a receiver says what it has read at
//! the latest after a quarter: so a record that waits gets its room.

use super::error::{GlobalError, strange};
use super::layout::{ARRIVED, GlobalLayout, LINKED, SENT};
use super::record::{self, HEADER_BYTES, Kind, Record};
use super::record_buffers::RecordBuffers;
use bcs_core::{GlobalAddress, NodeId, NodeSet};
use bcs_fabric::{Bytes, Fabric, FabricError, Source};
use bytes::BytesMut;
use std::collections::{BTreeMap, VecDeque};
use std::convert::Infallible;

/// A record up to this long is copied to those beside it, so that they are put together; a longer one is put
/// as it is, and the receiver is told of it at once, so that it reads while the next one is on its way.
const JOINED_BYTES: usize = 16 << 10;

/// How long a record for which nobody waits may wait for another one, in nanoseconds, and how many may wait
/// for each other. It brings back slabs, of which each rank has many more ([`crate::memory::slab::SLABS`]).
const PATIENCE_NS: u64 = 5_000_000;
const PATIENT_RECORDS: u32 = 16;

/// What this node sends to another.
#[derive(Debug, Default)]
struct Outbound {
    /// Somebody waits for something of it.
    is_urgent: bool,
    /// Records for which nobody waits, and until when they may wait.
    patient: u32,
    due_ns: u64,
    /// Encoded records that wait.
    waiting: VecDeque<Bytes>,
    /// Records of data that wait: behind all others, for whom somebody may be waiting.
    data: VecDeque<Bytes>,
    /// Bytes of those.
    data_bytes: u64,
    /// Bytes written to the ring since the start, padding included.
    written: u64,
}

/// Records that are put together, and of which the receiver is told together.
#[derive(Debug, Default)]
struct Batch {
    /// Where in the ring what goes.
    puts: Vec<(u64, Bytes)>,
    /// What goes behind them, and grows.
    open: Option<(u64, BytesMut)>,
    /// Of those that wait.
    records: usize,
    /// Of data: one at most.
    data: Option<u64>,
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

    /// Adds bytes that are put as they are.
    fn share(&mut self, at: u64, bytes: &Bytes) {
        self.close();
        self.puts.push((at, bytes.clone()));
    }

    fn close(&mut self) {
        self.puts.extend(self.open.take().map(|(at, run)| (at, run.freeze())));
    }
}

/// A record that has arrived. The payload of data is where it came to, in this node's ring, until it is
/// acknowledged; every other is with its record.
#[derive(Debug)]
pub struct ArrivedRecord {
    /// The node that sent it.
    pub from: u32,
    /// The record.
    pub record: Record,
    /// Where its payload lies in global memory.
    pub at: GlobalAddress,
    /// The length of its payload.
    pub bytes: u64,
}

/// What this node reads from another.
#[derive(Debug, Default)]
struct Inbound {
    read: u64,
    acknowledged: u64,
}

/// All links of a node.
#[derive(Debug, Default)]
pub struct Links {
    layout: GlobalLayout,
    node: u32,
    buffers: RecordBuffers,
    outgoing: BTreeMap<u32, Outbound>,
    incoming: BTreeMap<u32, Inbound>,
    /// What is sent is to say when it is there; of data nothing does.
    pub confirm: bool,
    /// Transfers that have not said that they are complete, of those that were to.
    in_flight: u64,
    /// Somebody has to be told what was read, and the network was too busy for it.
    acknowledgement_due: bool,
    /// Records sent, and records taken, since the start.
    pub sent: u64,
    /// As `sent`.
    pub taken: u64,
}

impl Links {
    /// The links of a node before anything was sent.
    pub fn new(layout: GlobalLayout, node: u32) -> Self {
        let buffers = RecordBuffers::new(layout.record_bytes() as usize);
        Self { layout, node, buffers, ..Self::default() }
    }

    /// Sends a record to another node, as soon as there is room.
    pub fn send(&mut self, to: u32, record: &Record) {
        let Ok(()) = self.send_with::<Infallible>(to, record, record.payload.len(), |payload| {
            payload.extend_from_slice(&record.payload);
            Ok(())
        });
    }

    /// Sends a record along with the next one to that node, or by itself in a while.
    pub fn send_patiently(&mut self, to: u32, record: &Record, now_ns: u64) {
        let was_urgent = self.outgoing.get(&to).is_some_and(|link| link.is_urgent);
        self.send(to, record);
        let Some(link) = self.outgoing.get_mut(&to) else { return };
        if link.patient == 0 {
            link.due_ns = now_ns + PATIENCE_NS;
        }
        link.patient += 1;
        link.is_urgent = was_urgent || link.patient == PATIENT_RECORDS;
    }

    /// When [`Links::flush`] has something to do, whatever else happens.
    pub fn next_ns(&self) -> Option<u64> {
        self.outgoing.values().filter(|link| link.patient > 0).map(|link| link.due_ns).min()
    }

    /// Sends a record whose payload of so many bytes is appended to a buffer, from which it goes without
    /// another copy.
    ///
    /// # Errors
    /// The payload cannot be had: nothing is sent.
    pub fn send_with<E>(
        &mut self,
        to: u32,
        record: &Record,
        payload_bytes: usize,
        append: impl FnOnce(&mut BytesMut) -> Result<(), E>,
    ) -> Result<(), E> {
        let length = record::record_bytes(payload_bytes);
        debug_assert!(length as u64 <= self.layout.record_bytes());
        let mut buffer = self.buffers.take(length);
        buffer.extend_from_slice(&record.header(payload_bytes));
        append(&mut buffer)?;
        debug_assert_eq!(buffer.len(), HEADER_BYTES + payload_bytes, "as long as the header says");
        buffer.resize(length, 0);
        let (link, encoded) = (self.outgoing.entry(to).or_default(), self.buffers.lend(buffer));
        link.is_urgent = true;
        if record.kind == Kind::Data {
            link.data_bytes += encoded.len() as u64;
            link.data.push_back(encoded);
        } else {
            link.waiting.push_back(encoded);
        }
        self.sent += 1;
        Ok(())
    }

    /// Changes with everything that is sent or taken.
    pub fn moves(&self) -> u64 {
        self.sent.wrapping_add(self.taken)
    }

    /// Records that wait to be sent to a node, but for those of data.
    pub fn waiting_records(&self, to: u32) -> usize {
        self.outgoing.get(&to).map_or(0, |link| link.waiting.len())
    }

    /// Bytes of data that wait to be sent to a node.
    pub fn waiting_data_bytes(&self, to: u32) -> u64 {
        self.outgoing.get(&to).map_or(0, |link| link.data_bytes)
    }

    /// True when no record waits to be sent, but of data and those that may wait.
    pub fn has_left_but_data(&self) -> bool {
        self.outgoing.values().all(|link| link.waiting.is_empty() || !link.is_urgent)
    }

    /// True when nothing waits to be sent but what may wait.
    pub fn has_left(&self) -> bool {
        self.outgoing.values().all(|link| link.is_empty() || !link.is_urgent)
    }

    /// True when everything that was sent is there, but for data, as far as it was to be confirmed: who gets
    /// data knows what is still to come.
    pub fn is_delivered(&self) -> bool {
        self.in_flight == 0 && self.has_left_but_data()
    }

    /// [`Links::is_delivered`], and no data waits to be sent either.
    pub fn is_quiet(&self) -> bool {
        self.in_flight == 0 && self.has_left()
    }

    /// Sends what waits and fits. True if that was anything.
    ///
    /// # Errors
    /// A transfer failed: a node died.
    pub fn flush(&mut self, fabric: &mut (impl Fabric + ?Sized), now_ns: u64) -> Result<bool, GlobalError> {
        self.in_flight -= u64::from(fabric.test_event(SENT)?).min(self.in_flight);
        let nodes: Vec<u32> =
            self.outgoing.iter().filter(|(_, link)| link.is_due(now_ns)).map(|(node, _)| *node).collect();
        let mut flushed = false;
        for to in nodes {
            match self.flush_one(fabric, to) {
                // Too much is under way: the rest goes with the next flush.
                Err(FabricError::Busy { .. }) => break,
                other => flushed |= other?,
            }
        }
        Ok(flushed)
    }

    fn flush_one(&mut self, fabric: &mut (impl Fabric + ?Sized), to: u32) -> Result<bool, FabricError> {
        let read = fabric.load(self.layout.consumed(to))?;
        let Some(link) = self.outgoing.get_mut(&to) else { return Ok(false) };
        let before = link.written;
        let destination = NodeSet::single(NodeId(to));
        let base = self.layout.ring(self.node);
        // Operations of a node take effect in order: who sees the tail sees the records.
        let tail = self.layout.tail(self.node).address();
        while let Some((batch, written)) = link.next_batch(self.layout.link_bytes, read) {
            for (at, bytes) in &batch.puts {
                let at = GlobalAddress(base.0 + at);
                fabric.xfer_and_signal(Source::Shared(bytes), &destination, at, None, None)?;
            }
            let source = Source::Bytes(&written.to_le_bytes());
            let local_event = (self.confirm && batch.records > 0).then_some(SENT);
            fabric.xfer_and_signal(source, &destination, tail, local_event, Some(LINKED))?;
            self.in_flight += u64::from(local_event.is_some());
            link.waiting.drain(..batch.records);
            if let Some(bytes) = batch.data {
                link.data.pop_front();
                link.data_bytes -= bytes;
            }
            link.written = written;
        }
        link.patient = 0;
        link.is_urgent = !link.is_empty();
        Ok(link.written != before)
    }

    /// Takes the records that have arrived, from all nodes in their order. When they have been dealt with,
    /// [`Links::acknowledge`] says so.
    ///
    /// # Errors
    /// What is in a ring is no record.
    pub fn poll(&mut self, fabric: &mut (impl Fabric + ?Sized)) -> Result<Vec<ArrivedRecord>, GlobalError> {
        let mut records = Vec::new();
        if fabric.test_event(LINKED)? == 0 {
            return Ok(records);
        }
        for from in (0..self.layout.nodes).filter(|from| *from != self.node) {
            let tail = fabric.load(self.layout.tail(from))?;
            let link = match self.incoming.get_mut(&from) {
                Some(link) => link,
                None if tail == 0 => continue,
                None => self.incoming.entry(from).or_default(),
            };
            while link.read < tail {
                link.read += read_record(&self.layout, fabric, from, link.read, &mut records)?;
            }
            self.acknowledgement_due |= link.is_due(&self.layout);
        }
        self.taken += records.len() as u64;
        Ok(records)
    }

    /// Says how much was read, where that is enough to be told: the records that [`Links::poll`] gave are not
    /// looked at any more.
    ///
    /// # Errors
    /// A node has died.
    pub fn acknowledge(&mut self, fabric: &mut (impl Fabric + ?Sized)) -> Result<(), GlobalError> {
        if !std::mem::take(&mut self.acknowledgement_due) {
            return Ok(());
        }
        let at = self.layout.consumed(self.node).address();
        for (from, link) in self.incoming.iter_mut().filter(|(_, link)| link.is_due(&self.layout)) {
            let node = NodeSet::single(NodeId(*from));
            let source = Source::Bytes(&link.read.to_le_bytes());
            match fabric.xfer_and_signal(source, &node, at, None, Some(ARRIVED)) {
                Ok(()) => link.acknowledged = link.read,
                // Too much is under way: it is told with the next look.
                Err(FabricError::Busy { .. }) => self.acknowledgement_due = true,
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }
}

impl Inbound {
    /// Whether the sender is to be told how much was read.
    fn is_due(&self, layout: &GlobalLayout) -> bool {
        self.read - self.acknowledged >= layout.record_bytes()
    }
}

impl Outbound {
    fn is_empty(&self) -> bool {
        self.waiting.is_empty() && self.data.is_empty()
    }

    /// Whether what waits is to be sent now.
    fn is_due(&self, now_ns: u64) -> bool {
        !self.is_empty() && (self.is_urgent || now_ns >= self.due_ns)
    }

    /// What is put next, and how much has been written then; none when nothing waits that fits.
    fn next_batch(&self, ring: u64, read: u64) -> Option<(Batch, u64)> {
        let (mut batch, mut written) = (Batch::default(), self.written);
        let waiting = self.waiting.iter().map(|record| (record, false));
        for (record, is_data) in waiting.chain(self.data.front().map(|record| (record, true))) {
            let length = record.len() as u64;
            let to_end = ring - written % ring;
            let padding = if length > to_end { to_end } else { 0 };
            if written + padding + length > read + ring {
                break;
            }
            if padding > 0 {
                batch.join(written % ring, &(Kind::Pad as u64).to_le_bytes());
                written += padding;
            }
            let at = written % ring;
            written += length;
            match is_data {
                true => batch.data = Some(length),
                false => batch.records += 1,
            }
            if record.len() > JOINED_BYTES {
                batch.share(at, record);
                break;
            }
            batch.join(at, record);
        }
        batch.close();
        (batch.records > 0 || batch.data.is_some()).then_some((batch, written))
    }
}

/// Reads the record at a position; answers how many bytes to go on.
fn read_record(
    layout: &GlobalLayout,
    fabric: &(impl Fabric + ?Sized),
    from: u32,
    position: u64,
    records: &mut Vec<ArrivedRecord>,
) -> Result<u64, GlobalError> {
    let corrupt = |value| strange(from, "record", value);
    let at = position % layout.link_bytes;
    let address = GlobalAddress(layout.ring(from).0 + at);
    let mut first = [0; 8];
    fabric.read(address, &mut first)?;
    let first = u64::from_le_bytes(first);
    let (kind, payload_bytes) = Record::length(first).ok_or_else(|| corrupt(first))?;
    if kind == Kind::Pad {
        return Ok(layout.link_bytes - at);
    }
    let length = record::record_bytes(payload_bytes) as u64;
    if length > layout.link_bytes - at {
        return Err(corrupt(first));
    }
    let mut header = [0; HEADER_BYTES];
    fabric.read(address, &mut header)?;
    let mut record = Record::decode(&header).ok_or_else(|| corrupt(first))?;
    let payload = GlobalAddress(address.0 + HEADER_BYTES as u64);
    if kind != Kind::Data && payload_bytes > 0 {
        record.payload = vec![0; payload_bytes];
        fabric.read(payload, &mut record.payload)?;
    }
    records.push(ArrivedRecord { from, record, at: payload, bytes: payload_bytes as u64 });
    Ok(length)
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::global::layout::EVENTS;
    use bcs_core::Rank;
    use bcs_fabric::sim::{SimCluster, SimFabric, SimOptions};

    fn first_of_two() -> (Links, SimFabric) {
        let layout = GlobalLayout::sized(2, 16_384);
        let options =
            SimOptions { memory_bytes: layout.memory_bytes(), events: EVENTS, ..SimOptions::new(2, 1) };
        (Links::new(layout, 0), SimCluster::new(options).fabric(NodeId(0)))
    }

    #[test]
    fn a_record_for_which_nobody_waits_goes_when_it_is_due_or_with_the_next_one() {
        let (mut links, mut fabric) = first_of_two();
        let record = Record::new(Kind::Matched, Rank(0), &[1, 2]);
        links.send_patiently(1, &record, 1000);
        let due = links.next_ns().unwrap();
        assert!(due > 1000 && links.has_left());
        assert!(!links.flush(&mut fabric, due - 1).unwrap());
        assert!(links.flush(&mut fabric, due).unwrap());
        assert_eq!(links.next_ns(), None);
        // Somebody waits for the other one, whichever was sent first.
        links.send_patiently(1, &record, due);
        links.send(1, &record);
        assert!(!links.has_left());
        assert!(links.flush(&mut fabric, due).unwrap());
        links.send(1, &record);
        links.send_patiently(1, &record, due);
        assert!(!links.has_left());
        assert!(links.flush(&mut fabric, due).unwrap());
        assert!(links.has_left() && links.next_ns().is_none());
    }

    #[test]
    fn records_for_which_nobody_waits_do_not_pile_up() {
        let (mut links, mut fabric) = first_of_two();
        let record = Record::new(Kind::Matched, Rank(0), &[1, 2]);
        for _ in 1..PATIENT_RECORDS {
            links.send_patiently(1, &record, 1000);
            assert!(!links.flush(&mut fabric, 1000).unwrap());
        }
        links.send_patiently(1, &record, 1000);
        assert!(links.flush(&mut fabric, 1000).unwrap());
    }
}
