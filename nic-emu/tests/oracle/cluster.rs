//! Random programs on many simulated nodes: the real NICs of 1 to 32 nodes, 1 to 4 ranks on each, over a
//! network in virtual time with random delays. The same oracle as on one node.

use crate::buffer_writes;
use crate::links::{RankLinks, SharedRoad, share};
use crate::program::{Program, Shape};
use crate::random::Random;
use crate::rank::RankRun;
use crate::rules::Log;
use crate::run::{Machine, Run, clock, set_clock};
use crate::watch::Watch;
use bcs_core::{LocalRank, NodeId, NodeSet, Rank};
use bcs_fabric::sim::{Happened, NetworkModel, SimCluster, SimOptions};
use nic_emu::arithmetic::{ElementType, ReduceOp};
use nic_emu::channel::OwnProcess;
use nic_emu::contexts::Context;
use nic_emu::descriptor::Check;
use nic_emu::global::layout::EVENTS;
use nic_emu::global::{GlobalError, GlobalLayout, GlobalNic, Polled};
use nic_emu::host::mapping::create_private;
use nic_emu::matching::Envelope;
use nic_emu::memory::descriptor::CollectiveKind;
use nic_emu::memory::groups;
use nic_emu::memory::numbers::CommRank;
use nic_emu::memory::status::{Activity, Phase, WaitingFor};
use nic_emu::memory::unexpected::CHUNK_BYTES;
use nic_emu::memory::{Layout, NicMemory};
use nic_emu::port::{Collective, Port, PortError, Posted, Send};
use proptest::prelude::*;
use std::sync::Arc;
use std::time::Duration;

/// What a simulated cluster is made from, beside the program.
#[derive(Clone, Debug)]
pub struct ClusterShape {
    pub program: Shape,
    /// Node by rank.
    pub places: Vec<u32>,
    pub network: NetworkModel,
    pub seed: u64,
    pub link_bytes: u64,
}

impl ClusterShape {
    pub fn nodes(&self) -> u32 {
        self.places.iter().max().map_or(1, |last| last + 1)
    }
}

pub struct Cluster {
    pub sim: SimCluster,
    nics: Vec<GlobalNic<SharedRoad>>,
    /// The links of each node, as its ranks drive them that wait: with elastic slices, and where a number
    /// says so.
    links: Vec<RankLinks>,
    driving: Option<Random>,
    memories: Vec<Arc<NicMemory>>,
    period_ns: u64,
    /// What happened in the network so far.
    pub events: u64,
    /// Nodes that are lost: the others may say so.
    pub doomed: NodeSet,
    /// Nodes that are dead, or have said that one is.
    ended: NodeSet,
    /// A node that does what it has to only now and then.
    pub slow: Option<usize>,
    missed: u64,
    /// When each node wants to be polled, whatever happens.
    timers: Vec<u64>,
    /// Slice, microphase and time of every microstrobe, as each node saw it.
    trace: Vec<(u32, u64, u8, u64)>,
}

impl Cluster {
    fn new(shape: &ClusterShape, emds: Option<&mds::EmdsConfig>) -> Self {
        let nodes = shape.nodes();
        let layout = GlobalLayout::new(nodes);
        let options = SimOptions {
            memory_bytes: layout.memory_bytes(),
            events: EVENTS,
            road_bytes: shape.link_bytes as usize,
            network: shape.network.clone(),
            time_limit: Duration::from_secs(1_000_000),
            ..SimOptions::new(nodes, shape.seed)
        };
        let sim = SimCluster::new(options);
        let memories: Vec<_> = (0..nodes).map(|node| nic_memory(shape, node, nodes, emds)).collect();
        let (mut nics, mut links) = (Vec::new(), Vec::new());
        for (node, memory) in (0..nodes).map(NodeId).zip(&memories) {
            let (road, of_ranks) = share(sim.fabric(node));
            nics.push(GlobalNic::new(memory.clone(), Box::new(road), layout, &OwnProcess));
            links.push(of_ranks);
        }
        // Of two thirds of all seeds.
        let ranks_drive = shape.program.period_ns == 0 && !shape.seed.is_multiple_of(3);
        Self {
            sim,
            nics,
            links,
            driving: ranks_drive.then(|| Random::new(shape.seed ^ 0xd21e)),
            memories,
            period_ns: shape.program.period_ns,
            events: 0,
            doomed: NodeSet::new(),
            ended: NodeSet::new(),
            slow: None,
            missed: 0,
            timers: vec![0; nodes as usize],
            trace: Vec::new(),
        }
    }

    /// Whether a node is dead, or has said that one is.
    pub fn has_ended(&self, node: NodeId) -> bool {
        self.ended.contains(node)
    }

    /// Ends a node.
    pub fn kill(&mut self, node: NodeId) {
        self.sim.kill(node);
        self.ended.insert(node);
    }

    /// A node's part has ended: with the name of one that is lost, or it is a bug.
    fn end(&mut self, node: usize, error: GlobalError) {
        match error {
            GlobalError::NodeDied { node } if self.doomed.contains(node) => {}
            other => panic!("node {node}: {other}, and lost are {}", self.doomed),
        }
        self.ended.insert(NodeId(node as u32));
    }

    /// A slow node gets its turn once in eight times.
    fn is_its_turn(&mut self, node: usize) -> bool {
        let slow = self.slow == Some(node);
        self.missed += u64::from(slow);
        !self.has_ended(NodeId(node as u32)) && (!slow || self.missed.is_multiple_of(8))
    }

    /// Polls a node until it has nothing more to do now. True if it had something to do.
    fn poll(&mut self, node: usize) -> bool {
        let mut moved_ever = false;
        if !self.is_its_turn(node) {
            return false;
        }
        if let Some(random) = &mut self.driving {
            moved_ever |= self.links[node].drive(&self.memories[node], random);
        }
        for _ in 0..1000 {
            let before = self.nics[node].now_in();
            let moved = match self.nics[node].poll(clock()) {
                Ok(Polled::Done { moved, .. }) => moved,
                Ok(Polled::Busy) => panic!("nobody else holds the token between steps"),
                Err(error) => {
                    self.end(node, error);
                    return true;
                }
            };
            let now = self.nics[node].now_in();
            if now != before {
                let microphase = now.1.map_or(u8::MAX, |microphase| microphase as u8);
                self.trace.push((node as u32, now.0.0, microphase, clock()));
            }
            if !moved {
                self.set_timer(node);
                return moved_ever;
            }
            moved_ever = true;
        }
        panic!("node {node} never stops moving");
    }

    /// A node wants to be polled at a time, whatever happens. (Fixed slices have time passing by itself.)
    fn set_timer(&mut self, node: usize) {
        let due = self.nics[node].next_ns().filter(|_| self.period_ns == 0);
        if let Some(due) = due.filter(|&due| std::mem::replace(&mut self.timers[node], due) != due) {
            self.sim.wake_at(Duration::from_nanos(due), NodeId(node as u32));
        }
    }

    /// Has every node do all that it can, and one thing more happen; false when nothing happens any more.
    fn turn(&mut self) -> bool {
        for node in &mut self.nics {
            while match node.poll(clock()) {
                Ok(Polled::Done { moved, .. }) => moved,
                Ok(Polled::Busy) => panic!("nobody else holds the token between steps"),
                Err(error) => panic!("{error}"),
            } {}
        }
        let happens = self.sim.step().is_some();
        set_clock(1 + self.sim.now().as_nanos() as u64);
        happens
    }

    /// Something has reached a node: its NIC thread looks, or only a rank that waits.
    fn attend(&mut self, node: usize) {
        let by_rank = self.driving.as_mut().is_some_and(|random| random.once_in(2));
        match &mut self.driving {
            Some(random)
                if by_rank && self.slow != Some(node) && !self.ended.contains(NodeId(node as u32)) =>
            {
                self.links[node].drive(&self.memories[node], random);
            }
            _ => _ = self.poll(node),
        }
    }

    fn happen(&mut self) -> bool {
        self.events += 1;
        let Some(happened) = self.sim.step() else { return false };
        set_clock(1 + self.sim.now().as_nanos() as u64);
        match happened {
            Happened::On(node) => self.attend(node.0 as usize),
            Happened::Everywhere => (0..self.nics.len()).for_each(|node| _ = self.poll(node)),
        }
        true
    }
}

impl Machine for Cluster {
    fn step(&mut self, random: &mut Random) -> bool {
        let mut moved = false;
        for node in 0..self.nics.len() {
            moved |= self.poll(node);
        }
        if self.period_ns == 0 {
            for _ in 0..1 + random.below(60) {
                moved |= self.happen();
            }
            return moved;
        }
        // Fixed slices never rest: what changes is seen in the ranks alone.
        let until = clock() + 1 + random.next() % (self.period_ns / 4);
        self.sim.wake_at(Duration::from_nanos(until), NodeId(0));
        while clock() < until && self.happen() {}
        set_clock(clock().max(until));
        false
    }

    fn memories(&self) -> Vec<Arc<NicMemory>> {
        self.memories.clone()
    }

    fn describe(&self) -> String {
        self.nics.iter().map(|nic| nic.describe() + "\n").collect()
    }
}

fn nic_memory(shape: &ClusterShape, node: u32, nodes: u32, emds: Option<&mds::EmdsConfig>) -> Arc<NicMemory> {
    let here: Vec<u32> = local_ranks(&shape.places, node);
    let words = emds.map_or([0; 2], |emds| {
        [
            mds::EmdsRing::<mds::LocalRecord>::words_needed(emds),
            mds::EmdsRing::<mds::GlobalRecord>::words_needed(emds),
        ]
    });
    let layout = Layout::new(here.len() as u32, shape.places.len() as u32, words).unwrap();
    let layout = layout.with_unexpected_bytes(shape.program.unexpected_bytes());
    let memory = create_private(layout, node, nodes).unwrap();
    let header = memory.header();
    header.slice_period_ns.set(shape.program.period_ns);
    header.cross_memory.set(shape.program.attach as u32);
    for (local, &rank) in here.iter().enumerate() {
        let status = &memory.rank(LocalRank(local as u32)).unwrap().status;
        status.set_job_rank(Rank(rank));
        status.set_phase(Phase::Attached);
    }
    for (rank, &node) in shape.places.iter().enumerate() {
        let local = local_ranks(&shape.places, node).iter().position(|&r| r == rank as u32).unwrap();
        memory.set_place(Rank(rank as u32), node, LocalRank(local as u32));
    }
    if let Some(emds) = emds {
        mds::EmdsRing::<mds::LocalRecord>::format(memory.emds_local(), emds).unwrap();
        mds::EmdsRing::<mds::GlobalRecord>::format(memory.emds_global(), emds).unwrap();
    }
    Arc::new(memory)
}

fn local_ranks(places: &[u32], node: u32) -> Vec<u32> {
    (0..places.len() as u32).filter(|rank| places[*rank as usize] == node).collect()
}

/// A program on a cluster, before anything has happened.
pub fn prepare<'a>(
    shape: &ClusterShape,
    program: &'a Program,
    emds: Option<&mds::EmdsConfig>,
) -> Run<'a, Cluster> {
    set_clock(1);
    let cluster = Cluster::new(shape, emds);
    let ranks = (0..shape.places.len())
        .map(|rank| {
            let node = shape.places[rank];
            let memory = cluster.memories[node as usize].clone();
            let own = local_ranks(&shape.places, node).iter().position(|&r| r as usize == rank).unwrap();
            for comm in &program.comms {
                groups::register(
                    &memory,
                    comm.context.of_collectives(),
                    comm.members.iter().map(|&m| Rank(m as u32)),
                )
                .unwrap();
            }
            let local = |members: &[usize]| {
                (0..members.len()).filter(|&m| shape.places[members[m]] == node).collect()
            };
            let local = program.comms.iter().map(|comm| local(&comm.members)).collect();
            let port = Port::open(memory, LocalRank(own as u32)).unwrap().with_clock(clock);
            RankRun::new(rank, port, local, program.calls[rank].clone())
        })
        .collect();
    let random = Random::new(shape.program.seed ^ 0xface);
    Run { program, machine: cluster, ranks, log: Log::default(), random, watch: Watch::default() }
}

fn run(shape: &ClusterShape, emds: Option<&mds::EmdsConfig>) -> Cluster {
    let program = Program::random(&shape.program);
    let mut run = prepare(shape, &program, emds);
    run.complete();
    for nic in &run.machine.nics {
        assert!(nic.is_idle(), "something is under way after the end");
    }
    run.machine
}

/// Nodes with 1 to 4 ranks each, in an order that has nothing to do with ranks.
pub fn places(nodes: usize, seed: u64) -> Vec<u32> {
    let mut random = Random::new(seed);
    let mut places: Vec<u32> = (0..nodes).flat_map(|node| vec![node as u32; 1 + random.below(4)]).collect();
    random.shuffle(&mut places);
    places
}

fn networks() -> impl Strategy<Value = NetworkModel> {
    let scattered = NetworkModel {
        jitter: Duration::from_micros(20),
        delay_spread: Duration::from_micros(40),
        ..NetworkModel::default()
    };
    let late = NetworkModel { jitter: Duration::from_secs(3), ..NetworkModel::default() };
    prop_oneof![4 => Just(NetworkModel::default()), 2 => Just(scattered), 2 => Just(NetworkModel::rough()), 1 => Just(late)]
}

fn shape(
    nodes: impl Strategy<Value = usize>,
    events: std::ops::Range<usize>,
    period_ns: u64,
) -> impl Strategy<Value = ClusterShape> {
    let largest = prop_oneof![4 => Just(20_000usize), 1 => Just(100_000)];
    // In fixed slices, small grants would take longer than the runner waits before it takes a program to be
    // stuck.
    let smallest = if period_ns == 0 { 2048 } else { 16_384 };
    let sizes = prop_oneof![Just(smallest), Just(16_384), Just(256 << 10)];
    (any::<u64>(), nodes, events, networks(), any::<bool>(), largest, sizes).prop_map(
        move |(seed, nodes, events, mut network, attach, largest, link_bytes)| {
            // Fixed slices are made for networks that are faster than they are long.
            network.jitter =
                if period_ns == 0 { network.jitter } else { network.jitter.min(Duration::from_micros(30)) };
            let places = places(nodes, seed);
            let program = Shape { seed, ranks: places.len(), events, period_ns, attach, largest };
            ClusterShape { program, places, network, seed, link_bytes }
        },
    )
}

fn example(seed: u64, nodes: usize) -> ClusterShape {
    let places = places(nodes, seed);
    let program =
        Shape { seed, ranks: places.len(), events: 25, period_ns: 0, attach: true, largest: 20_000 };
    ClusterShape { program, places, network: NetworkModel::rough(), seed, link_bytes: 16_384 }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 150, max_shrink_iters: 30, ..ProptestConfig::default() })]
    #[test]
    fn random_programs_on_a_few_nodes_keep_the_rules_of_mpi(shape in shape(1usize..6, 1..40, 0)) {
        run(&shape, None);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, max_shrink_iters: 10, ..ProptestConfig::default() })]
    #[test]
    fn random_programs_on_many_nodes_keep_the_rules_of_mpi(shape in shape(6usize..33, 1..20, 0)) {
        run(&shape, None);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, max_shrink_iters: 10, ..ProptestConfig::default() })]
    #[test]
    fn random_programs_in_fixed_slices_keep_the_rules_of_mpi(shape in shape(1usize..6, 1..25, 500_000)) {
        run(&shape, None);
    }
}

#[test]
fn long_messages_go_from_buffer_to_buffer_where_ranks_wait() {
    for seed in 0..100 {
        let mut shape = example(seed, 2);
        shape.places = vec![0, 1];
        (shape.program.ranks, shape.program.events, shape.program.largest) = (2, 60, 400_000);
        run(&shape, None);
    }
    // Two thirds of them let ranks drive, and of the longest messages some find their receives posted.
    assert!(buffer_writes::delivered() > 0, "{}", buffer_writes::delivered());
}

#[test]
fn the_same_seed_gives_the_same_slices() {
    let trace = |seed| run(&example(seed, 4), None).trace;
    assert!(trace(7) == trace(7));
    assert!(trace(7) != trace(8));
}

#[test]
fn the_strobe_sender_records_every_slice_and_its_retries() {
    let emds = mds::EmdsConfig::default();
    let cluster = run(&example(3, 5), Some(&emds));
    let last = cluster.nics[0].now_in().0.0;
    let global =
        mds::EmdsRing::<mds::GlobalRecord>::open(cluster.memories[0].emds_global()).unwrap().read().unwrap();
    assert_eq!(global.slices, (1..=last).collect::<Vec<_>>(), "each slice has a record, in order");
    let column = |metric| global.column(metric).unwrap();
    assert!(column(mds::Metric::Usrts).iter().sum::<u64>() > 0, "on a rough network some node is late");
    let (dem, msm, all) = (column(mds::Metric::Gtdem), column(mds::Metric::Gtmsm), column(mds::Metric::Gtts));
    for i in 0..all.len() {
        assert!(dem[i] + msm[i] <= all[i], "microphases lie within their slice");
        assert!(all[i] > 0, "no slice on several nodes takes no time");
    }
    for memory in &cluster.memories {
        let local = mds::EmdsRing::<mds::LocalRecord>::open(memory.emds_local()).unwrap().read().unwrap();
        assert!(local.slices.iter().all(|slice| *slice <= last) && local.slices.len() as u64 >= last - 1);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, max_shrink_iters: 10, ..ProptestConfig::default() })]
    #[test]
    fn a_node_that_calls_another_collective_is_named(
        nodes in 2u32..12, odd in 0u32..12, kinds in (1u32..6, 1u32..6), before in 0u32..3, network in networks(), seed: u64,
    ) {
        let (kind, other) = (kind(kinds.0), kind(if kinds.0 == kinds.1 { kinds.1 % 5 + 1 } else { kinds.1 }));
        let odd = odd % nodes;
        let places: Vec<u32> = (0..nodes).collect();
        let program = Shape { seed, ranks: places.len(), events: 0, period_ns: 0, attach: true, largest: 0 };
        let shape = ClusterShape { program, places, network, seed, link_bytes: 4096 };
        set_clock(1);
        let mut cluster = Cluster::new(&shape, None);
        let members = || 0..nodes;
        let mut ports: Vec<Port> = cluster.memories.iter().map(|memory| {
            groups::register(memory, Context(3), members().map(Rank)).unwrap();
            Port::open(memory.clone(), LocalRank(0)).unwrap().with_clock(clock)
        }).collect();
        let data = [0u8; 8];
        let mut last = Vec::new();
        for sequence in 0..=before {
            for (rank, port) in ports.iter_mut().enumerate() {
                let kind = if sequence < before { CollectiveKind::Barrier } else if rank as u32 == odd { other } else { kind };
                let reduces = matches!(kind, CollectiveKind::Reduce | CollectiveKind::Allreduce);
                let operation = if reduces { (ReduceOp::Sum as u8, ElementType::I64 as u8) } else { (0, 0) };
                let collective = Collective {
                    kind, operation, context: Context(3), comm: (CommRank(rank as u32).into(), nodes), root: CommRank(0).into(), call: 0, most_bytes: 0, sequence, local: (0, 1),
                };
                let bytes = if kind == CollectiveKind::Barrier { 0 } else { 8 };
                // SAFETY: the buffer outlives the job.
                let request = unsafe { port.post_collective(&collective, data.as_ptr(), bytes, true, None) }.unwrap();
                if sequence == before {
                    last.push(request.unwrap());
                }
                port.progress().unwrap();
            }
        }
        while !cluster.memories.iter().all(|memory| memory.breaches().find(Context(3)).is_some()) {
            prop_assert!(cluster.turn(), "a node is not told:\n{}", cluster.describe());
        }
        let name = format!("ranks of {}:", NodeId(odd));
        for (memory, port) in cluster.memories.iter().zip(&mut ports) {
            let report = memory.breaches().report(memory.breaches().find(Context(3)).unwrap()).unwrap();
            prop_assert!(report.contains(&name), "{name} not in {report}");
            prop_assert!(port.check_whole(Context(3)).is_err());
        }
        // Whoever waits is told, and nothing of the communicator's collectives is left under way.
        for _ in 0..200 {
            cluster.turn();
        }
        for (port, request) in ports.iter_mut().zip(&last) {
            let told = port.test_collective(*request);
            prop_assert!(matches!(told, Err(PortError::Broken(_))), "{told:?}");
        }
        prop_assert!(cluster.nics.iter().all(|nic| nic.is_idle()));
    }
}

fn kind(number: u32) -> CollectiveKind {
    use CollectiveKind::*;
    [Barrier, Broadcast, Reduce, Allreduce, Board][number as usize - 1]
}

#[test]
fn a_message_that_has_come_is_delivered_to_a_later_receive_without_another_slice() {
    let shape = example(1, 2);
    let program = Program::random(&shape.program);
    let mut run = prepare(&shape, &program, None);
    let on = |node| shape.places.iter().position(|&place| place == node).unwrap();
    let (from, to) = (on(1), on(0));
    let (data, context) = ([7u8; 2000], program.comms[0].context);
    let send = Send {
        context,
        source: CommRank(from as u32),
        tag: 5,
        destination: Rank(to as u32),
        synchronous: false,
        check: Check::NONE,
        signature: 0,
    };
    // SAFETY: buffered, or else the test fails.
    let sent = unsafe { run.ranks[from].port().post_send(&send, data.as_ptr(), data.len()) }.unwrap();
    assert_eq!(sent, Posted::Complete);
    run.ranks[from].port().progress().unwrap();
    let mut random = Random::new(1);
    let mut quiet = 0;
    while quiet < 40 {
        quiet = if run.machine.step(&mut random) { 0 } else { quiet + 1 };
    }
    let (slice, events) = (run.machine.nics[0].now_in(), run.machine.events);
    let mut into = [0u8; 2000];
    let envelope = Envelope { context, source: CommRank(from as u32), tag: 5 };
    // SAFETY: the buffer outlives the request.
    let request =
        unsafe { run.ranks[to].port().post_receive(&envelope, into.as_mut_ptr(), into.len()) }.unwrap();
    run.ranks[to].port().progress().unwrap();
    run.machine.poll(0);
    assert!(run.ranks[to].port().test(request).unwrap().is_some(), "it waits for a slice");
    assert_eq!((run.machine.nics[0].now_in(), run.machine.events), (slice, events));
    assert!(into == data);
}

#[test]
fn a_send_that_waits_for_room_on_another_node_is_reported_with_the_limit_and_who_does_not_receive() {
    let mut shape = example(1, 2);
    shape.places = vec![0, 1];
    shape.program.ranks = 2;
    let limit = shape.program.unexpected_bytes();
    assert_eq!(limit, CHUNK_BYTES as u64, "of this seed");
    for period_ns in [0, 500_000] {
        shape.program.period_ns = period_ns;
        set_clock(1);
        let mut cluster = Cluster::new(&shape, None);
        let mut ports: Vec<Port> = cluster
            .memories()
            .iter()
            .map(|nic| Port::open(nic.clone(), LocalRank(0)).unwrap().with_clock(clock))
            .collect();
        let data = vec![7u8; CHUNK_BYTES];
        let send = Send {
            context: Context(2),
            source: CommRank(0),
            tag: 5,
            destination: Rank(1),
            synchronous: false,
            check: Check::NONE,
            signature: 0,
        };
        for _ in 0..2 {
            // SAFETY: the data outlives the cluster.
            unsafe { ports[0].post_send(&send, data.as_ptr(), data.len()) }.unwrap();
        }
        let waits = |peer_in_job, sends| WaitingFor {
            peer_in_job,
            sends,
            bytes: data.len() as u64,
            ..WaitingFor::SOMETHING
        };
        for (nic, what) in cluster.memories().iter().zip([waits(Rank(1), true), waits(Rank(0), false)]) {
            let status = &nic.rank(LocalRank(0)).unwrap().status;
            status.set_activity(Activity::Polling);
            status.set_waiting_for(&what);
        }
        let (mut random, mut watch) = (Random::new(1), Watch::default());
        let mut looks = 0..20_000;
        let report = loop {
            assert!(looks.next().is_some(), "no deadlock is stated:\n{}", cluster.describe());
            cluster.step(&mut random);
            ports.iter_mut().for_each(|port| {
                port.progress().unwrap();
                port.count_look();
            });
            if let Some(report) = watch.look(&cluster.memories(), &mut random) {
                break report.to_string();
            }
        };
        let expected = "no room: rank 1 has not received 64KiB of messages, of at most 64KiB (--unexpected-limit); rank 0 waits";
        assert!(report.contains(expected), "{report}");
    }
}

#[test]
fn a_dead_node_is_named_to_all_others() {
    let shape = example(1, 4);
    let mut cluster = Cluster::new(&shape, None);
    set_clock(1);
    cluster.sim.kill(NodeId(2));
    while cluster.sim.step().is_some() {}
    for node in [0, 1, 3] {
        match cluster.nics[node].poll(clock()) {
            Err(GlobalError::NodeDied { node }) => assert_eq!(node, NodeId(2)),
            _ => panic!("node {node} does not know"),
        }
    }
}
