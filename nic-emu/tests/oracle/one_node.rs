//! Random programs on one NIC: ranks of one process, stepped in random order.

use crate::program::{Program, Shape};
use crate::random::Random;
use crate::rank::RankRun;
use crate::rules::Log;
use crate::run::{Machine, Run, clock, set_clock};
use crate::watch::Watch;
use bcs_core::{LocalRank, Rank};
use nic_emu::host::mapping::create_private;
use nic_emu::memory::status::Phase;
use nic_emu::memory::token::Holder;
use nic_emu::memory::{Layout, NicMemory};
use nic_emu::port::Port;
use nic_emu::threads::processor::Processor;
use proptest::prelude::*;
use std::sync::Arc;

struct OneNic {
    memory: Arc<NicMemory>,
    period_ns: u64,
}

impl Machine for OneNic {
    /// Time passes, and now and then the NIC thread runs a slice.
    fn step(&mut self, random: &mut Random) -> bool {
        set_clock(clock() + random.next() % (1 + self.period_ns / 2));
        if random.once_in(4) {
            Processor::new(&self.memory, Holder::NIC_THREAD).lend(clock).expect("the NIC is healthy");
        }
        false
    }

    fn memories(&self) -> Vec<Arc<NicMemory>> {
        vec![self.memory.clone()]
    }
}

fn nic_memory(shape: &Shape) -> Arc<NicMemory> {
    let ranks = shape.ranks as u32;
    let layout = Layout::new(ranks, ranks, [0; 2]).unwrap().with_unexpected_bytes(shape.unexpected_bytes());
    let memory = create_private(layout, 0, 1).unwrap();
    let header = memory.header();
    header.slice_period_ns.set(shape.period_ns);
    header.cross_memory.set(shape.attach as u32);
    for rank in 0..ranks {
        let status = &memory.rank(LocalRank(rank)).unwrap().status;
        status.set_job_rank(Rank(rank));
        status.set_phase(Phase::Attached);
    }
    Arc::new(memory)
}

fn run(shape: &Shape) {
    set_clock(1);
    let program = Program::random(shape);
    let memory = nic_memory(shape);
    let ranks = (0..shape.ranks)
        .map(|rank| {
            let port = Port::open(memory.clone(), LocalRank(rank as u32)).unwrap().with_clock(clock);
            let local = program.comms.iter().map(|comm| (0..comm.members.len()).collect()).collect();
            RankRun::new(rank, port, local, program.calls[rank].clone())
        })
        .collect();
    let machine = OneNic { memory, period_ns: shape.period_ns };
    let random = Random::new(shape.seed ^ 0xface);
    Run { program: &program, machine, ranks, log: Log::default(), random, watch: Watch::default() }
        .complete();
}

fn shape() -> impl Strategy<Value = Shape> {
    let period = prop_oneof![3 => Just(0u64), 1 => Just(20_000), 1 => Just(500_000)];
    let largest = prop_oneof![6 => Just(30_000usize), 3 => Just(400_000), 1 => Just(3_000_000)];
    (any::<u64>(), 1usize..9, 1usize..60, period, any::<bool>(), largest).prop_map(
        |(seed, ranks, events, period_ns, attach, largest)| Shape {
            seed,
            ranks,
            events,
            period_ns,
            attach,
            largest,
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, max_shrink_iters: 200, ..ProptestConfig::default() })]
    #[test]
    fn random_programs_on_one_node_keep_the_rules_of_mpi(shape in shape()) {
        run(&shape);
    }
}
