//! Links: what this node sends to the others, and what has come from them, as records.
//!
//! The road between two nodes ([`bcs_fabric::Road`]) is ordered, and takes no more than the other node has
//! room for: what it does not take waits here, in order, but for records of data, which stand behind all
//! others. A record for which nobody waits goes with the next one that somebody does wait for, or by itself
//! in a while.
//!
//! Who has to know that what was sent is there sends a *Confirm* behind it, which is answered at once.

use super::error::{GlobalError, strange};
use super::message::RawBytes;
use super::record::{HEADER_BYTES, Kind, Record};
use crate::memory::{Corrupt, NicMemory};
use bcs_core::{NodeId, Rank};
use bcs_fabric::{FabricError, Road};
use std::collections::{BTreeMap, VecDeque};
use std::convert::Infallible;

/// How long a record for which nobody waits may wait for another one, in nanoseconds, and how many of weight
/// 1 may wait for each other. It brings back slabs, of which each rank has many more
/// ([`crate::memory::slab::SLABS`]); one that brings back many, or much of what may travel ahead, weighs
/// more.
const PATIENCE_NS: u64 = 5_000_000;
pub(super) const PATIENT_RECORDS: u32 = 16;

/// Buffers of records that are kept to be used again, and from which size on: while an end is slow there are
/// more, which go back to the system.
const KEPT_BUFFERS: usize = 16;
const KEPT_BYTES: usize = 8 << 10;

/// What this node sends to another.
#[derive(Debug, Default)]
struct Outbound {
    /// Somebody waits for something of it.
    is_urgent: bool,
    /// The weight of records for which nobody waits, and until when they may wait.
    patient: u32,
    due_ns: u64,
    /// Encoded records that wait.
    waiting: VecDeque<Vec<u8>>,
    /// Records of data that wait: behind all others, for whom somebody may be waiting.
    data: VecDeque<Vec<u8>>,
    /// Bytes of those.
    data_bytes: u64,
    /// Records other than data have left since the other node was last asked whether they are there.
    is_unconfirmed: bool,
}

/// All links of a node.
#[derive(Debug, Default)]
pub struct Links {
    outgoing: BTreeMap<u32, Outbound>,
    /// Buffers that are used again.
    spare: Vec<Vec<u8>>,
    /// What is sent is to say when it is there; of data nothing does.
    pub confirm: bool,
    /// Nodes that were asked whether what was sent is there, and have not answered.
    unanswered: u64,
    /// Records sent, and records taken, since the start.
    pub sent: u64,
    /// As `sent`.
    pub taken: u64,
}

impl Links {
    /// Sends a record to another node, as soon as there is room.
    pub fn send(&mut self, to: u32, record: &Record) {
        let Ok(()) = self.send_with::<Infallible>(to, record, record.payload.len(), |payload| {
            payload.extend_from_slice(&record.payload);
            Ok(())
        });
    }

    /// Sends a record whose payload lies in slabs.
    pub(super) fn send_in_slabs(&mut self, to: u32, record: &Record, bytes: RawBytes<'_>) {
        let Ok(()) = self.send_with::<Infallible>(to, record, bytes.len(), |payload| {
            bytes.append_to(payload);
            Ok(())
        });
    }

    /// Sends a record of this weight along with the next one to that node, by itself in a while, or when
    /// records of [`PATIENT_RECORDS`] in all wait.
    pub fn send_patiently(&mut self, to: u32, record: &Record, weight: u32, now_ns: u64) {
        let was_urgent = self.outgoing.get(&to).is_some_and(|link| link.is_urgent);
        self.send(to, record);
        let Some(link) = self.outgoing.get_mut(&to) else { return };
        if link.patient == 0 {
            link.due_ns = now_ns + PATIENCE_NS;
        }
        link.patient = link.patient.saturating_add(weight);
        link.is_urgent = was_urgent || link.patient >= PATIENT_RECORDS;
    }

    /// When [`Links::flush`] has something to do, whatever else happens.
    pub fn next_ns(&self) -> Option<u64> {
        self.outgoing.values().filter(|link| link.patient > 0).map(|link| link.due_ns).min()
    }

    /// Sends a record whose payload of so many bytes is appended to its buffer.
    ///
    /// # Errors
    /// The payload cannot be had: nothing is sent.
    pub fn send_with<E>(
        &mut self,
        to: u32,
        record: &Record,
        payload_bytes: usize,
        append: impl FnOnce(&mut Vec<u8>) -> Result<(), E>,
    ) -> Result<(), E> {
        let length = HEADER_BYTES + payload_bytes;
        let spare = if length >= KEPT_BYTES { self.spare.pop() } else { None };
        let mut encoded = spare.unwrap_or_default();
        encoded.reserve(length);
        encoded.extend_from_slice(&record.header(payload_bytes));
        append(&mut encoded)?;
        debug_assert_eq!(encoded.len(), length, "as long as the header says");
        let link = self.outgoing.entry(to).or_default();
        link.is_urgent = true;
        if record.kind == Kind::Data {
            link.data_bytes += length as u64;
            link.data.push_back(encoded);
        } else {
            link.is_unconfirmed |= !matches!(record.kind, Kind::Confirm | Kind::Confirmed);
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
        self.unanswered == 0 && self.has_left_but_data()
    }

    /// [`Links::is_delivered`], and no data waits to be sent either.
    pub fn is_quiet(&self) -> bool {
        self.unanswered == 0 && self.has_left()
    }

    /// Sends what waits and the road takes. True if that was anything.
    ///
    /// # Errors
    /// A node is dead, or the network fails.
    pub fn flush(&mut self, road: &mut (impl Road + ?Sized), now_ns: u64) -> Result<bool, GlobalError> {
        if self.confirm {
            self.ask();
        }
        let mut moved = false;
        for (to, link) in self.outgoing.iter_mut().filter(|(_, link)| link.is_due(now_ns)) {
            moved |= link.flush(road, NodeId(*to), &mut self.spare)?;
        }
        Ok(moved)
    }

    /// Says in NIC memory to which nodes records wait that no descriptor, or no data, may go past.
    pub fn tell_waiting(&self, memory: &NicMemory) -> Result<(), Corrupt> {
        for (to, link) in &self.outgoing {
            let waiting = if link.is_urgent { link.waiting.len() as u32 } else { 0 };
            let state = memory.node_state(*to)?;
            state.waiting.set(waiting);
            state.data.set(link.data.len() as u32);
        }
        Ok(())
    }

    /// Asks every node to which something has been sent since it was last asked whether it is there.
    fn ask(&mut self) {
        let is_asked =
            |(node, link): (&u32, &mut Outbound)| std::mem::take(&mut link.is_unconfirmed).then_some(*node);
        let asked: Vec<u32> = self.outgoing.iter_mut().filter_map(is_asked).collect();
        for node in asked {
            self.send(node, &Record::new(Kind::Confirm, Rank(0), &[]));
            self.unanswered += 1;
        }
    }

    /// A record has come, as bytes: what it is, and its payload. None for those that links send each other.
    ///
    /// # Errors
    /// It is no record, or answers what nobody has asked.
    pub fn take<'a>(
        &mut self,
        from: u32,
        bytes: &'a [u8],
    ) -> Result<Option<(Record, &'a [u8])>, GlobalError> {
        let (header, payload) = bytes
            .split_first_chunk()
            .ok_or_else(|| strange(from, "length of a record", bytes.len() as u64))?;
        let record = Record::decode(header, payload.len())
            .ok_or_else(|| strange(from, "record", u64::from(header[0])))?;
        self.taken += 1;
        match record.kind {
            Kind::Confirm => self.send(from, &Record::new(Kind::Confirmed, Rank(0), &[])),
            Kind::Confirmed => {
                let left = self.unanswered.checked_sub(1);
                self.unanswered = left.ok_or_else(|| strange(from, "confirmation", 0))?;
            }
            _ => return Ok(Some((record, payload))),
        }
        Ok(None)
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

    fn flush(
        &mut self,
        road: &mut (impl Road + ?Sized),
        to: NodeId,
        spare: &mut Vec<Vec<u8>>,
    ) -> Result<bool, GlobalError> {
        let mut moved = false;
        while let Some(record) = self.waiting.front().or(self.data.front()) {
            match road.send(to, &[record]) {
                Ok(()) => {}
                // What is left goes when the other node has taken some.
                Err(FabricError::Busy { .. }) => return Ok(moved),
                Err(error) => return Err(error.into()),
            }
            moved = true;
            let sent = self.waiting.pop_front().or_else(|| {
                let data = self.data.pop_front();
                self.data_bytes -= data.as_ref().map_or(0, |data| data.len() as u64);
                data
            });
            if let Some(mut buffer) = sent
                && buffer.capacity() >= KEPT_BYTES
                && spare.len() < KEPT_BUFFERS
            {
                buffer.clear();
                spare.push(buffer);
            }
        }
        self.patient = 0;
        self.is_urgent = false;
        Ok(moved)
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::global::GlobalLayout;
    use crate::global::layout::EVENTS;
    use bcs_fabric::sim::{SimCluster, SimFabric, SimOptions};

    fn first_of_two() -> (Links, SimFabric) {
        let layout = GlobalLayout::new(2);
        let options =
            SimOptions { memory_bytes: layout.memory_bytes(), events: EVENTS, ..SimOptions::new(2, 1) };
        (Links::default(), SimCluster::new(options).fabric(NodeId(0)))
    }

    #[test]
    fn a_record_for_which_nobody_waits_goes_when_it_is_due_or_with_the_next_one() {
        let (mut links, mut fabric) = first_of_two();
        let record = Record::new(Kind::Matched, Rank(0), &[1, 2]);
        links.send_patiently(1, &record, 1, 1000);
        let due = links.next_ns().unwrap();
        assert!(due > 1000 && links.has_left());
        assert!(!links.flush(&mut fabric, due - 1).unwrap());
        assert!(links.flush(&mut fabric, due).unwrap());
        assert_eq!(links.next_ns(), None);
        // Somebody waits for the other one, whichever was sent first.
        links.send_patiently(1, &record, 1, due);
        links.send(1, &record);
        assert!(!links.has_left());
        assert!(links.flush(&mut fabric, due).unwrap());
        links.send(1, &record);
        links.send_patiently(1, &record, 1, due);
        assert!(!links.has_left());
        assert!(links.flush(&mut fabric, due).unwrap());
        assert!(links.has_left() && links.next_ns().is_none());
    }

    #[test]
    fn records_for_which_nobody_waits_do_not_pile_up() {
        let (mut links, mut fabric) = first_of_two();
        let record = Record::new(Kind::Matched, Rank(0), &[1, 2]);
        for weight in [1, 5, 16, u32::MAX] {
            for _ in 1..PATIENT_RECORDS.div_ceil(weight) {
                links.send_patiently(1, &record, weight, 1000);
                assert!(!links.flush(&mut fabric, 1000).unwrap());
            }
            links.send_patiently(1, &record, weight, 1000);
            assert!(links.flush(&mut fabric, 1000).unwrap());
        }
    }

    #[test]
    fn what_was_sent_is_delivered_when_the_other_node_has_answered_and_not_before() {
        let (mut links, mut fabric) = first_of_two();
        let mut other = Links::default();
        links.confirm = true;
        links.send(1, &Record::new(Kind::Matched, Rank(0), &[1, 2]));
        links.flush(&mut fabric, 0).unwrap();
        assert!(!links.is_delivered());
        let ask = Record::new(Kind::Confirm, Rank(0), &[]).header(0);
        assert!(other.take(0, &ask).unwrap().is_none());
        assert_eq!((other.waiting_records(0), other.unanswered), (1, 0));
        let answer = Record::new(Kind::Confirmed, Rank(0), &[]).header(0);
        assert!(links.take(1, &answer).unwrap().is_none());
        assert!(links.is_delivered());
        links.flush(&mut fabric, 0).unwrap();
        assert!(links.is_delivered(), "answers are not asked for");
        let again = links.take(1, &answer).unwrap_err().to_string();
        assert!(again.contains("confirmation"), "{again}");
    }

    #[test]
    fn bytes_that_are_no_record_are_an_error() {
        let mut links = Links::default();
        let record = Record::new(Kind::Matched, Rank(0), &[1, 2]);
        for bytes in [&[][..], &record.header(0)[..HEADER_BYTES - 1], &[0; HEADER_BYTES], &record.header(8)] {
            assert!(links.take(3, bytes).is_err());
        }
    }
}
