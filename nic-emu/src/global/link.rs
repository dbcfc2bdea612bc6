//! Links: records from one node to another, in order and never more than the receiver has room for.
//!
//! Each node has, for every other, a ring in its global memory that only that other writes. The sender puts records into
//! the ring, then its tail; the receiver reads up to the tail and now and then says how much it has read. A record that does not
//! fit waits at its sender. So a node can be slow, but it cannot be flooded.
//!
//! Invariant: a record is never longer than a quarter of the ring, and a receiver says what it has read at the latest after a
//! quarter: so a record that waits gets its room.

use super::error::GlobalError;
use super::layout::{ARRIVED, GlobalLayout, LINKED, SENT};
use super::record::{Kind, PAD, Record};
use bcs_core::{Fabric, FabricError, GlobalAddress, NodeId, NodeSet, Source};
use std::collections::{BTreeMap, VecDeque};

/// What this node sends to another.
#[derive(Debug, Default)]
struct Outgoing {
    /// Encoded records that wait.
    waiting: VecDeque<Vec<u8>>,
    /// Bytes written to the ring since the start, padding included.
    written: u64,
}

/// What this node reads from another.
#[derive(Debug, Default)]
struct Incoming {
    read: u64,
    acknowledged: u64,
}

/// All links of a node.
#[derive(Debug)]
pub struct Links {
    layout: GlobalLayout,
    node: u32,
    outgoing: BTreeMap<u32, Outgoing>,
    incoming: BTreeMap<u32, Incoming>,
    /// Transfers that have not said that they are complete.
    in_flight: u64,
    /// Somebody has to be told what was read, and the network was too busy for it.
    acknowledgement_due: bool,
    /// Records sent, and records taken, since the start.
    pub sent: u64,
    /// As `sent`.
    pub taken: u64,
    /// Puts beside the records, since the start.
    puts: u64,
}

impl Links {
    /// The links of a node before anything was sent.
    pub fn new(layout: GlobalLayout, node: u32) -> Self {
        Self {
            layout,
            node,
            outgoing: BTreeMap::new(),
            incoming: BTreeMap::new(),
            in_flight: 0,
            acknowledgement_due: false,
            sent: 0,
            taken: 0,
            puts: 0,
        }
    }

    /// Sends a record to another node, as soon as there is room.
    pub fn send(&mut self, to: u32, record: &Record) {
        let mut bytes = Vec::with_capacity(super::record::HEADER_BYTES + record.payload.len());
        record.encode(&mut bytes);
        debug_assert!(bytes.len() as u64 <= self.layout.record_bytes());
        self.outgoing.entry(to).or_default().waiting.push_back(bytes);
        self.sent += 1;
    }

    /// Puts something to a set of nodes and counts it as in flight.
    ///
    /// # Errors
    /// The fabric refuses.
    pub fn put(
        &mut self,
        fabric: &mut impl Fabric,
        bytes: &[u8],
        to: &NodeSet,
        at: GlobalAddress,
    ) -> Result<(), FabricError> {
        fabric.xfer_and_signal(Source::Bytes(bytes), to, at, Some(SENT), Some(ARRIVED))?;
        self.in_flight += 1;
        self.puts += 1;
        Ok(())
    }

    /// Changes with everything that is sent or taken.
    pub fn moves(&self) -> u64 {
        self.sent.wrapping_add(self.taken).wrapping_add(self.puts)
    }

    /// True when nothing waits to be sent.
    pub fn has_left(&self) -> bool {
        self.outgoing.values().all(|link| link.waiting.is_empty())
    }

    /// True when everything that was sent is there.
    pub fn is_delivered(&self) -> bool {
        self.in_flight == 0 && self.has_left()
    }

    /// Sends what waits and fits.
    ///
    /// # Errors
    /// A transfer failed: a node died.
    pub fn flush(&mut self, fabric: &mut impl Fabric) -> Result<(), GlobalError> {
        self.in_flight -= u64::from(fabric.test_event(SENT)?).min(self.in_flight);
        let nodes: Vec<u32> = self
            .outgoing
            .iter()
            .filter(|(_, link)| !link.waiting.is_empty())
            .map(|(node, _)| *node)
            .collect();
        for to in nodes {
            match self.flush_one(fabric, to) {
                // Too much is under way: the rest goes with the next flush.
                Err(FabricError::Busy { .. }) => break,
                other => other?,
            }
        }
        Ok(())
    }

    fn flush_one(&mut self, fabric: &mut impl Fabric, to: u32) -> Result<(), FabricError> {
        let ring = self.layout.link_bytes;
        let read = fabric.load(self.layout.consumed(to))?;
        let Some(link) = self.outgoing.get_mut(&to) else { return Ok(()) };
        let mut written = link.written;
        // At most two runs: up to the end of the ring, and from its start.
        let mut runs: Vec<(u64, Vec<u8>)> = Vec::new();
        let mut taken = 0;
        for record in &link.waiting {
            let length = record.len() as u64;
            let to_end = ring - written % ring;
            let padding = if length > to_end { to_end } else { 0 };
            if written + padding + length > read + ring {
                break;
            }
            if padding > 0 {
                push(&mut runs, written % ring, &PAD.to_le_bytes());
                written += padding;
            }
            push(&mut runs, written % ring, record);
            written += length;
            taken += 1;
        }
        if taken == 0 {
            return Ok(());
        }
        let destination = NodeSet::single(NodeId(to));
        let base = self.layout.ring(self.node);
        for (at, bytes) in &runs {
            fabric.xfer_and_signal(
                Source::Bytes(bytes),
                &destination,
                GlobalAddress(base.0 + at),
                None,
                None,
            )?;
        }
        // Operations of a node take effect in order: who sees the tail sees the records.
        let tail = self.layout.tail(self.node).address();
        fabric.xfer_and_signal(
            Source::Bytes(&written.to_le_bytes()),
            &destination,
            tail,
            Some(SENT),
            Some(LINKED),
        )?;
        link.waiting.drain(..taken);
        link.written = written;
        self.in_flight += 1;
        Ok(())
    }

    /// Takes the records that have arrived, from all nodes in their order.
    ///
    /// # Errors
    /// What is in a ring is no record.
    pub fn poll(&mut self, fabric: &mut impl Fabric) -> Result<Vec<(u32, Record)>, GlobalError> {
        let mut records = Vec::new();
        if fabric.test_event(LINKED)? == 0 && !self.acknowledgement_due {
            return Ok(records);
        }
        self.acknowledgement_due = false;
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
            if link.read - link.acknowledged >= self.layout.record_bytes() {
                let at = self.layout.consumed(self.node).address();
                let source = NodeSet::single(NodeId(from));
                match fabric.xfer_and_signal(
                    Source::Bytes(&link.read.to_le_bytes()),
                    &source,
                    at,
                    None,
                    Some(ARRIVED),
                ) {
                    Ok(()) => link.acknowledged = link.read,
                    Err(FabricError::Busy { .. }) => self.acknowledgement_due = true,
                    Err(error) => return Err(error.into()),
                }
            }
        }
        self.taken += records.len() as u64;
        Ok(records)
    }
}

/// Adds bytes to the run that ends where they go, or begins another.
fn push(runs: &mut Vec<(u64, Vec<u8>)>, at: u64, bytes: &[u8]) {
    match runs.last_mut() {
        Some((start, run)) if *start + run.len() as u64 == at => run.extend_from_slice(bytes),
        _ => runs.push((at, bytes.to_vec())),
    }
}

/// Reads the record at a position; answers how many bytes to go on.
fn read_record(
    layout: &GlobalLayout,
    fabric: &impl Fabric,
    from: u32,
    position: u64,
    records: &mut Vec<(u32, Record)>,
) -> Result<u64, GlobalError> {
    let corrupt = |value| GlobalError::Record { node: NodeId(from), what: "record", value };
    let at = position % layout.link_bytes;
    let address = GlobalAddress(layout.ring(from).0 + at);
    let mut first = [0; 8];
    fabric.read(address, &mut first)?;
    let first = u64::from_le_bytes(first);
    let (kind, length) = Record::length(first).ok_or_else(|| corrupt(first))?;
    if kind == Kind::Pad {
        return Ok(layout.link_bytes - at);
    }
    if length as u64 > layout.link_bytes - at {
        return Err(corrupt(first));
    }
    let mut bytes = vec![0; length];
    fabric.read(address, &mut bytes)?;
    records.push((from, Record::decode(&bytes).ok_or_else(|| corrupt(first))?));
    Ok(length as u64)
}
