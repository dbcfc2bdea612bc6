//! Links that both the NIC thread and ranks that wait drive, over the simulated network: what has come and is
//! not taken lies where both see it, as in memory that processes share.

use crate::buffer_writes::WritesInProcess;
use crate::random::Random;
use bcs_core::{EventId, GlobalAddress, GlobalVariable, NodeId, NodeSet};
use bcs_fabric::sim::SimFabric;
use bcs_fabric::{Assignment, Comparison, Fabric, FabricError, Road, Source, Ticket};
use nic_emu::channel::OwnProcess;
use nic_emu::global::{
    Appended, Carried, HEADER_BYTES, Left, NodeLinks, Opening, Own, Place, RawBytes, Shown, Take, Taken,
    go_on_with_writes, pass_over_links,
};
use nic_emu::memory::token::Holder;
use nic_emu::memory::{Corrupt, LocalRank, NicMemory};
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::rc::Rc;

/// Records that have come to a node and that nobody has taken.
type Arrived = Rc<RefCell<VecDeque<(NodeId, Vec<u8>)>>>;

/// The network, as the NIC thread of a node has it.
pub struct SharedRoad {
    sim: SimFabric,
    arrived: Arrived,
}

/// The same links, as the ranks of the node drive them.
pub struct RankLinks {
    sim: SimFabric,
    arrived: Arrived,
    /// Answers for which the simulated road has no room: a link in memory has it always.
    owed: VecDeque<(u32, Vec<u8>)>,
    /// By rank: what writes from its buffers into those of others.
    writes: BTreeMap<LocalRank, WritesInProcess>,
    /// Looks at what has come, and records that came in them.
    looks: usize,
}

/// Both ends of a node's links.
pub fn share(sim: SimFabric) -> (SharedRoad, RankLinks) {
    let arrived = Arrived::default();
    let links = RankLinks {
        sim: sim.clone(),
        arrived: arrived.clone(),
        owed: VecDeque::new(),
        writes: BTreeMap::new(),
        looks: 0,
    };
    (SharedRoad { sim, arrived }, links)
}

fn hear(sim: &mut SimFabric, arrived: &Arrived) -> Result<usize, FabricError> {
    sim.poll(&mut |from, record| arrived.borrow_mut().push_back((from, record.to_vec())))
}

impl RankLinks {
    /// A rank that waits drives the links, for as long as the random numbers say. True if something has
    /// moved.
    pub fn drive(&mut self, memory: &NicMemory, random: &mut Random) -> bool {
        let mut moved = false;
        while !random.once_in(4) {
            let token = memory.token();
            assert!(token.try_take(Holder::rank(LocalRank(0))), "nobody else has the token");
            // Ranks are threads of this process, and their buffers where they have said.
            let rank = LocalRank(random.below(memory.layout().local_ranks as usize) as u32);
            let stays = !random.once_in(3);
            let own = Own {
                rank,
                processes: &OwnProcess,
                sent_from: &|_, buffer| Some(buffer),
                received_in: &|_, buffer| Some(buffer),
                stays_for: &|_| stays,
            };
            let mut writes = self.writes.remove(&rank).unwrap_or_default();
            writes.shuffle(random);
            // As a rank that leaves the links to others.
            let passed = match random.once_in(4) {
                true => go_on_with_writes(memory, self, &mut writes, &own),
                false => pass_over_links(memory, self, Some(&mut writes), &own),
            };
            self.writes.insert(rank, writes);
            token.release();
            moved |= passed.expect("the NIC is healthy").moved;
        }
        moved
    }
}

impl NodeLinks for RankLinks {
    fn record_bytes(&self) -> usize {
        self.sim.record_bytes()
    }

    unsafe fn receive(&mut self, place: &mut Place<'_>) -> bool {
        let Self { sim, arrived, looks, .. } = self;
        self.owed.retain(|(to, answer)| sim.send(NodeId(*to), &[answer]).is_err());
        let before = arrived.borrow().len();
        let mut waiting: BTreeSet<NodeId> = arrived.borrow().iter().map(|(from, _)| *from).collect();
        let received = hear(sim, arrived).is_ok_and(|records| records > 0);
        for (from, record) in arrived.borrow_mut().range_mut(before..) {
            *looks += 1;
            let Some((header, payload)) = record.split_first_chunk_mut::<HEADER_BYTES>() else { continue };
            // Now and then a payload stays with its header.
            let (payload_bytes, is_next) = (payload.len(), waiting.insert(*from));
            let opening = Opening { from: from.0, header, payload_bytes, is_next };
            let to = if looks.is_multiple_of(4) { None } else { place(opening) };
            if let Some(to) = to {
                // SAFETY: there is room for the payload, as whoever says where promises.
                unsafe { to.as_ptr().copy_from_nonoverlapping(payload.as_ptr(), payload.len()) };
                record.truncate(HEADER_BYTES);
            }
        }
        received
    }

    fn take(&mut self, take: &mut Take<'_>) -> Result<Left, Corrupt> {
        let Self { sim, arrived, owed, looks, .. } = self;
        let (mut left, mut stays) = (Left::default(), BTreeSet::new());
        *looks += 1;
        if looks.is_multiple_of(7) {
            // As if the NIC thread were at it just now.
            return Ok(Left { for_thread: true, ..left });
        }
        let records = std::mem::take(&mut *arrived.borrow_mut());
        for (from, record) in records {
            let mut answer = |header: &[u8], payload: RawBytes<'_>| {
                let mut bytes = Vec::new();
                payload.append_to(&mut bytes);
                let is_sent = sim.send(from, &[header, &bytes]).is_ok();
                if !is_sent && payload.is_empty() {
                    owed.push_back((from.0, header.to_vec()));
                }
                is_sent || payload.is_empty()
            };
            let taken = if stays.contains(&from) {
                Taken::Stays
            } else {
                take(from.0, &Plain(&record), &mut answer)?
            };
            match taken {
                Taken::Here => continue,
                Taken::ByThread => left.for_thread = true,
                Taken::ByThreadInTime | Taken::StaysForNow => {}
                Taken::Stays => {
                    left.in_the_way = true;
                    stays.insert(from);
                }
            }
            arrived.borrow_mut().push_back((from, record));
        }
        Ok(left)
    }

    fn append(&mut self, to: u32, header: &[u8; HEADER_BYTES], payload: RawBytes<'_>, _: bool) -> Appended {
        let mut bytes = Vec::new();
        payload.append_to(&mut bytes);
        match self.sim.send(NodeId(to), &[header, &bytes]) {
            Ok(_) => Appended::Done,
            Err(_) => Appended::NotByRank,
        }
    }

    fn append_all(&mut self, to: u32, headers: &[[u8; HEADER_BYTES]]) -> bool {
        for header in headers {
            if self.sim.send(NodeId(to), &[header]).is_err() {
                self.owed.push_back((to, header.to_vec()));
            }
        }
        true
    }

    fn send(&mut self, _: u32) {}
}

/// A record.
struct Plain<'a>(&'a [u8]);

impl Shown for Plain<'_> {
    fn header(&self) -> Option<[u8; HEADER_BYTES]> {
        self.0.first_chunk().copied()
    }
}

impl Carried for Plain<'_> {
    fn payload_bytes(&self) -> usize {
        self.0.len().saturating_sub(HEADER_BYTES)
    }

    unsafe fn copy_payload(&self, to: *mut u8, room: usize) {
        // SAFETY: the caller's promise.
        unsafe { (&self.0[HEADER_BYTES..]).copy_payload(to, room) };
    }
}

impl Fabric for SharedRoad {
    fn xfer_and_signal(
        &mut self,
        source: Source<'_>,
        destinations: &NodeSet,
        at: GlobalAddress,
        local_event: Option<EventId>,
        remote_event: Option<EventId>,
    ) -> Result<(), FabricError> {
        self.sim.xfer_and_signal(source, destinations, at, local_event, remote_event)
    }

    fn test_event(&mut self, event: EventId) -> Result<u32, FabricError> {
        self.sim.test_event(event)
    }

    fn compare_and_write(
        &mut self,
        nodes: &NodeSet,
        comparison: Comparison,
        assignment: Option<Assignment>,
    ) -> Result<Ticket, FabricError> {
        self.sim.compare_and_write(nodes, comparison, assignment)
    }

    fn test_query(&mut self, ticket: Ticket) -> Option<Result<bool, FabricError>> {
        self.sim.test_query(ticket)
    }

    fn read(&self, at: GlobalAddress, into: &mut [u8]) -> Result<(), FabricError> {
        self.sim.read(at, into)
    }

    fn load(&self, variable: GlobalVariable) -> Result<u64, FabricError> {
        self.sim.load(variable)
    }

    fn progress(&mut self) -> Result<(), FabricError> {
        self.sim.progress()
    }

    fn wait(&mut self) -> Result<(), FabricError> {
        self.sim.wait()
    }

    fn take_failure(&mut self) -> Option<FabricError> {
        self.sim.take_failure()
    }

    fn node(&self) -> NodeId {
        self.sim.node()
    }

    fn members(&self) -> NodeSet {
        self.sim.members()
    }

    fn dead(&self) -> NodeSet {
        self.sim.dead()
    }

    fn declare_dead(&mut self, node: NodeId) -> Result<(), FabricError> {
        self.sim.declare_dead(node)
    }
}

impl Road for SharedRoad {
    fn record_bytes(&self) -> usize {
        self.sim.record_bytes()
    }

    fn send(&mut self, to: NodeId, parts: &[&[u8]]) -> Result<(), FabricError> {
        self.sim.send(to, parts)
    }

    fn poll(&mut self, handle: &mut dyn FnMut(NodeId, &[u8])) -> Result<usize, FabricError> {
        hear(&mut self.sim, &self.arrived)?;
        let records = std::mem::take(&mut *self.arrived.borrow_mut());
        records.iter().for_each(|(from, record)| handle(*from, record));
        Ok(records.len())
    }
}
