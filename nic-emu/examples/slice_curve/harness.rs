//! What global slices take in virtual time: the real NICs of many nodes, one rank on each, over the simulated
//! network.

use bcs_core::{LocalRank, NodeId, Rank};
use bcs_fabric::sim::{Happened, NetworkModel, SimCluster, SimFabric, SimOptions};
use nic_emu::arithmetic::{ElementType, ReduceOp};
use nic_emu::channel::OwnProcess;
use nic_emu::contexts::Context;
use nic_emu::descriptor::Check;
use nic_emu::global::layout::EVENTS;
use nic_emu::global::{GlobalLayout, GlobalNic, Polled};
use nic_emu::host::mapping::create_private;
use nic_emu::matching::Envelope;
use nic_emu::memory::descriptor::CollectiveKind;
use nic_emu::memory::groups;
use nic_emu::memory::numbers::{CommRank, RequestId};
use nic_emu::memory::status::Phase;
use nic_emu::memory::{Layout, NicMemory};
use nic_emu::port::{Collective, Port, Posted, Send};
use std::sync::Arc;
use std::time::Duration;

/// What all ranks do at the same time, from rest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Load {
    /// Every rank sends 8 bytes to the next and receives from the one before.
    Exchange,
    /// The same with more bytes than ride in a descriptor or go with it: they are granted before they travel.
    LargeExchange,
    /// A barrier.
    Barrier,
    /// The sum of 8 bytes of each.
    Allreduce,
}

impl Load {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Exchange, Self::LargeExchange, Self::Barrier, Self::Allreduce];

    /// Those by which slices are measured: messages wait for none.
    pub fn of_slices() -> impl Iterator<Item = Self> {
        Self::ALL.into_iter().filter(|load| !load.is_exchange())
    }

    const fn is_exchange(self) -> bool {
        matches!(self, Self::Exchange | Self::LargeExchange)
    }

    /// Bytes of each rank.
    const fn bytes(self) -> usize {
        match self {
            Self::Exchange | Self::Allreduce => 8,
            Self::LargeExchange => 70_000,
            Self::Barrier => 0,
        }
    }

    /// Its name in tables.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Exchange => "exchange",
            Self::LargeExchange => "large exchange",
            Self::Barrier => "barrier",
            Self::Allreduce => "allreduce",
        }
    }
}

/// What it took, in virtual time.
#[derive(Clone, Copy, Debug)]
pub struct Taken {
    /// From the first microstrobe of the slice with the work to that of the next slice, or to rest; zero for
    /// messages, which wait for none.
    pub slice: Duration,
    /// From posting until the last rank has what it waited for.
    pub done: Duration,
}

/// A simulated cluster with one rank a node.
pub struct Cluster {
    sim: SimCluster,
    nics: Vec<GlobalNic<SimFabric>>,
    ports: Vec<Port>,
    barriers: u32,
}

/// The context of all messages; collectives have the next.
const CONTEXT: Context = Context(2);
/// How long anything may take.
const LIMIT: Duration = Duration::from_secs(10);

impl Cluster {
    /// A cluster of so many nodes, at least 2, whose links take `latency`.
    pub fn new(nodes: u32, latency: Duration) -> Self {
        let layout = GlobalLayout::new(nodes);
        let sim = SimCluster::new(SimOptions {
            memory_bytes: layout.memory_bytes(),
            events: EVENTS,
            network: NetworkModel { delay: latency, ..NetworkModel::default() },
            time_limit: Duration::from_secs(1_000_000),
            ..SimOptions::new(nodes, 1)
        });
        let mut nics = Vec::new();
        let mut ports = Vec::new();
        for node in 0..nodes {
            let memory = Arc::new(memory(node, nodes));
            ports
                .push(Port::open(memory.clone(), LocalRank(0)).expect("a fresh NIC has a port for its rank"));
            nics.push(GlobalNic::new(memory, Box::new(sim.fabric(NodeId(node))), layout, &OwnProcess));
        }
        let mut cluster = Self { sim, nics, ports, barriers: 0 };
        (0..nodes as usize).for_each(|node| cluster.poll(node));
        cluster
    }

    /// What a load takes from rest.
    pub fn measure(&mut self, load: Load) -> Taken {
        // All rest, and not even an acknowledgement is under way.
        while self.step() {}
        let start = self.sim.now();
        let slice_before = self.nics[0].now_in().0;
        let nodes = self.ports.len() as u32;
        let bytes = load.bytes();
        let image = |rank: u32| (rank + 1).to_le_bytes().into_iter().cycle().take(bytes).collect::<Vec<u8>>();
        let mut data: Vec<[Vec<u8>; 2]> = (0..nodes).map(|rank| [image(rank), vec![0; bytes]]).collect();
        let mut requests = Vec::new();
        for (rank, data) in (0..nodes).zip(&mut data) {
            let port = &mut self.ports[rank as usize];
            let [out, into] = data;
            let request = match load {
                Load::Exchange | Load::LargeExchange => {
                    let (to, from) = ((rank + 1) % nodes, (rank + nodes - 1) % nodes);
                    let send = Send {
                        context: CONTEXT,
                        source: CommRank(rank),
                        tag: 1,
                        destination: Rank(to),
                        synchronous: false,
                        check: Check::NONE,
                        signature: 0,
                    };
                    // SAFETY: `data` lives until all requests are complete.
                    let sent =
                        unsafe { port.post_send(&send, out.as_ptr(), bytes) }.expect("the send is right");
                    let is_short = load == Load::Exchange;
                    assert_eq!(sent == Posted::Complete, is_short, "short messages ride in their descriptor");
                    let envelope = Envelope { context: CONTEXT, source: CommRank(from), tag: 1 };
                    // SAFETY: as above.
                    unsafe { port.post_receive(&envelope, into.as_mut_ptr(), bytes) }
                        .expect("the receive is right")
                }
                Load::Barrier | Load::Allreduce => {
                    let (kind, operation) = match load {
                        Load::Barrier => (CollectiveKind::Barrier, (0, 0)),
                        _ => {
                            let sum = (ReduceOp::Sum as u8, ElementType::I64 as u8);
                            (CollectiveKind::Allreduce, sum)
                        }
                    };
                    let collective = Collective {
                        kind,
                        operation,
                        context: CONTEXT.of_collectives(),
                        comm: (CommRank(rank).into(), nodes),
                        root: CommRank(0).into(),
                        call: 0,
                        most_bytes: bytes as u64,
                        sequence: self.barriers,
                        local: (0, 1),
                    };
                    // SAFETY: as above.
                    unsafe { port.post_collective(&collective, out.as_ptr(), bytes, true, None) }
                        .expect("the collective is right")
                        .expect("its result is wanted")
                }
            };
            port.progress().expect("the NIC is healthy");
            requests.push(request);
        }
        self.barriers += u32::from(!load.is_exchange());
        (0..nodes as usize).for_each(|node| self.poll(node));
        let (mut waiting, mut began, mut over, mut done) = (nodes, None, None, None);
        while done.is_none() || over.is_none() && !load.is_exchange() {
            assert!(self.sim.now() < start + LIMIT, "{load:?} on {nodes} nodes never ends");
            let (slice, microphase) = self.nics[0].now_in();
            if slice > slice_before {
                let now = self.sim.now();
                let first = *began.get_or_insert((slice, now));
                if slice > first.0 || microphase.is_none() {
                    over.get_or_insert(now - first.1);
                }
            }
            let Some(happened) = self.sim.step() else { panic!("{load:?} on {nodes} nodes is stuck") };
            let Happened::On(node) = happened else { continue };
            self.poll(node.index());
            let port = &mut self.ports[node.index()];
            let is_complete = match load {
                _ if requests[node.index()] == RequestId::NONE => false,
                Load::Exchange | Load::LargeExchange => {
                    port.test(requests[node.index()]).expect("the request is known").is_some()
                }
                _ => {
                    let release = port.test_collective(requests[node.index()]).expect("the request is known");
                    release.is_some()
                }
            };
            if is_complete {
                requests[node.index()] = RequestId::NONE;
                waiting -= 1;
                if waiting == 0 {
                    done = Some(self.sim.now() - start);
                }
            }
        }
        if load.is_exchange() {
            for (rank, [_, into]) in (0..nodes).zip(&data) {
                let from = (rank + nodes - 1) % nodes;
                assert!(*into == image(from), "what rank {rank} got");
            }
        }
        Taken { slice: over.unwrap_or_default(), done: done.unwrap_or_default() }
    }

    fn step(&mut self) -> bool {
        match self.sim.step() {
            None => false,
            Some(Happened::On(node)) => {
                self.poll(node.index());
                true
            }
            Some(Happened::Everywhere) => true,
        }
    }

    fn poll(&mut self, node: usize) {
        let now = 1 + self.sim.now().as_nanos() as u64;
        while match self.nics[node].poll(now) {
            Ok(Polled::Done { moved, .. }) => moved,
            Ok(Polled::Busy) => panic!("nobody else holds the token between steps"),
            Err(error) => panic!("node {node}: {error}"),
        } {}
    }
}

fn memory(node: u32, nodes: u32) -> NicMemory {
    let layout = Layout::new(1, nodes, [0; 2]).expect("one rank a node is a possible job");
    let memory = create_private(layout, node, nodes).expect("there is address space for all NICs");
    let header = memory.header();
    header.cross_memory.set(1);
    let status = &memory.rank(LocalRank(0)).expect("there is one rank").status;
    status.set_job_rank(Rank(node));
    status.set_phase(Phase::Attached);
    (0..nodes).for_each(|rank| memory.set_place(Rank(rank), rank, LocalRank(0)));
    groups::register(&memory, CONTEXT.of_collectives(), (0..nodes).map(Rank))
        .expect("all ranks are of the job");
    memory
}
