//! Bytes that are no messages: what comes in the records of a link is a message or refused, and the node
//! stays sound.

use super::super::message::{Arrival, Assembly, Parcel};
use bcs_core::damage::{Rng, damage, noise, run};
use bcs_core::event::EventTable;
use bcs_core::ids::NodeId;
use bcs_core::node_set::NodeSet;
use bcs_core::{GlobalAddress, SparseMemory};
use bcs_fabric::conformance::any_message;
use bcs_fabric::tree::{INLINE_BYTES, Lane, Message, OperationId, TreeNode, Work};
use bcs_link::{LinkEnd, LinkLayout, Protection, Side};
use rkyv::util::AlignedVec;
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::sync::Arc;

use super::super::memory::LinkMemory;

/// Two ends of a link without a seal.
struct Ends {
    memory: [super::super::memory::OwnedEnd; 2],
    sockets: [UnixStream; 2],
}

impl Ends {
    fn new(layout: LinkLayout) -> Self {
        let (one, other) = UnixStream::pair().unwrap();
        let memory = LinkMemory::map(2, layout).unwrap();
        let memory = [(0, Side::Dialler), (1, Side::Acceptor)].map(|(index, side)| {
            let mut owned = memory.attach(index);
            owned.end.open(side, Protection::Plain).unwrap();
            owned
        });
        let mut ends = Self { memory, sockets: [one, other] };
        while !ends.memory.iter().all(|owned| owned.end.is_up()) {
            ends.drive();
        }
        ends
    }

    fn drive(&mut self) {
        for (owned, socket) in self.memory.iter_mut().zip(&self.sockets) {
            owned.end.drive(socket.as_fd()).unwrap();
        }
    }

    fn from(&self) -> &LinkEnd {
        &self.memory[0].end
    }

    fn to(&self) -> &LinkEnd {
        &self.memory[1].end
    }
}

/// A message of any kind; some have payloads of many bytes.
fn message(random: &mut Rng) -> Message {
    let mut message = any_message(random);
    let limit = if matches!(message, Message::Prepare { .. }) { INLINE_BYTES } else { 20_000 };
    if let Some(payload) = message.payload_mut() {
        *payload = noise(limit + 1, random).into();
    }
    message
}

#[test]
fn messages_come_out_of_records_as_they_went_in_however_often_they_are_cut() {
    run(|random| {
        let layout = LinkLayout::new(1 << random.u32(12..18)).unwrap();
        let mut ends = Ends::new(layout);
        let messages: Vec<(Lane, Message)> = (0..random.usize(1..8))
            .map(|_| (if random.bool() { Lane::Control } else { Lane::Bulk }, message(random)))
            .collect();
        let (mut waiting, mut parcel, mut assembly) = (messages.iter(), None, Assembly::default());
        let mut found = Vec::new();
        let mut control = 0;
        while found.len() < messages.len() {
            if parcel.is_none()
                && let Some((lane, message)) = waiting.next()
            {
                parcel = Some(Parcel::new(*lane, control, message.clone(), AlignedVec::new()).unwrap());
                control += u64::from(*lane == Lane::Control);
            }
            if let Some(some) = &mut parcel {
                let mut ring = ends.from().appender().unwrap().unwrap();
                if some.append(&mut ring, layout.record_bytes()).unwrap() {
                    parcel = None;
                }
            }
            ends.drive();
            while let Some(mut taker) = ends.to().taker()
                && let Some(arrival) = taker.next(|record| assembly.take(&record)).unwrap()
            {
                match arrival.unwrap() {
                    Arrival::Message(message) => found.push(message),
                    Arrival::Part => {}
                    Arrival::Road => panic!("nobody has sent that"),
                }
            }
        }
        let expected: Vec<Message> = messages.into_iter().map(|(_, message)| message).collect();
        assert_eq!(found, expected);
    });
}

/// The records of messages, as they lie in a link.
fn records(random: &mut Rng) -> Vec<Vec<u8>> {
    let mut ends = Ends::new(LinkLayout::new(64 << 10).unwrap());
    let mut records = Vec::new();
    for number in 0..random.u64(1..8) {
        let lane = if random.bool() { Lane::Control } else { Lane::Bulk };
        let mut parcel = Parcel::new(lane, number % 3, any_message(random), AlignedVec::new()).unwrap();
        assert!(parcel.append(&mut ends.from().appender().unwrap().unwrap(), 2000).unwrap());
        ends.drive();
        let mut taker = ends.to().taker().unwrap();
        while let Some(record) = taker
            .next(|record| {
                let mut bytes = Vec::new();
                record.append_to(0, &mut bytes);
                bytes
            })
            .unwrap()
        {
            records.push(record);
        }
    }
    records
}

#[test]
fn damaged_records_give_messages_to_a_node_which_stays_sound() {
    run(|random| {
        let mut ends = Ends::new(LinkLayout::new(64 << 10).unwrap());
        let members = Arc::new(NodeSet::all(4));
        let mut node = TreeNode::new(NodeId(1), members, 2, SparseMemory::new(4096), EventTable::new(4));
        let mut assembly = Assembly::default();
        for mut record in records(random) {
            if random.bool() {
                damage(&mut record, random);
            }
            assert!(ends.from().append(&[&record]).unwrap());
            ends.drive();
            let mut taker = ends.to().taker().unwrap();
            match taker.next(|record| assembly.take(&record)).unwrap() {
                Some(Ok(Arrival::Message(message))) => {
                    if node.handle_message(NodeId(random.u32(..5)), message).is_err() {
                        return;
                    }
                    while let Some((to, _, _)) = node.poll_transmit() {
                        assert!(to.0 < 4 && to != NodeId(1));
                    }
                }
                Some(Ok(_)) => {}
                Some(Err(_)) => return,
                None => panic!("a record was sent"),
            }
        }
    });
}

#[test]
fn what_is_longer_than_any_message_is_refused_before_it_is_kept() {
    let mut ends = Ends::new(LinkLayout::default());
    let mut assembly = Assembly::default();
    let part = [&[1, 1, 0, 0][..], &[0; 12], &[7; 60_000]].concat();
    let refused = loop {
        assert!(ends.from().append(&[&part]).unwrap());
        let taken = loop {
            ends.drive();
            let Some(mut taker) = ends.to().taker() else { continue };
            if let Some(taken) = taker.next(|record| assembly.take(&record)).unwrap() {
                break taken;
            }
        };
        match taken {
            Ok(arrival) => assert!(matches!(arrival, Arrival::Part)),
            Err(refused) => break refused.to_string(),
        }
    };
    assert!(refused.contains("too long"), "{refused}");
}

#[test]
fn bulk_that_overtakes_and_a_payload_where_none_belongs_are_refused() {
    let operation = OperationId { initiator: NodeId(3), sequence: 1 };
    let fragment = Message::Fragment { operation, payload: bytes::Bytes::from_static(b"x") };
    let put = Message::Prepare {
        operation,
        work: Work::Put { at: GlobalAddress(0), bytes: 0, remote_event: None },
        base: 0,
        settled_below: 0,
        sole: true,
        awaited: true,
        below: NodeSet::new(),
        payload: vec![0; INLINE_BYTES + 1].into(),
    };
    for (lane, stamp, message, expected) in
        [(Lane::Bulk, 1, fragment, "overtaken"), (Lane::Control, 0, put, "too long")]
    {
        let mut ends = Ends::new(LinkLayout::default());
        let mut parcel = Parcel::new(lane, stamp, message, AlignedVec::new()).unwrap();
        let limit = ends.from().layout().record_bytes();
        assert!(parcel.append(&mut ends.from().appender().unwrap().unwrap(), limit).unwrap());
        ends.drive();
        let mut assembly = Assembly::default();
        let taken = ends.to().taker().unwrap().next(|record| assembly.take(&record)).unwrap().unwrap();
        let refused = taken.unwrap_err().to_string();
        assert!(refused.contains(expected), "{refused}");
    }
}
