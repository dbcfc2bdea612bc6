//! Random programs: what every rank calls, in which order. Communicators are subsets of the ranks;
//! collectives of all communicators come in one global order, so that a program can only be stuck in
//! point-to-point calls, which the runner can cancel.

use crate::random::Random;
use nic_emu::arithmetic::{ElementType, ReduceOp};
use nic_emu::contexts::Context;
use nic_emu::memory::BROUGHT_BYTES;
use nic_emu::memory::descriptor::CollectiveKind;
use nic_emu::memory::descriptor::INLINE_BYTES;
use nic_emu::memory::slab::SLABS;
use nic_emu::memory::unexpected::{CHUNK_BYTES, DEFAULT_LIMIT_BYTES};

/// What a random program is made from; printed when a case fails.
#[derive(Clone, Debug)]
pub struct Shape {
    pub seed: u64,
    pub ranks: usize,
    /// Global events: messages and collectives.
    pub events: usize,
    /// Length of fixed slices in nanoseconds; 0 for elastic ones.
    pub period_ns: u64,
    /// Whether cross-memory attach may be used.
    pub attach: bool,
    /// The largest message.
    pub largest: usize,
}

impl Shape {
    /// Bytes that a rank may leave unreceived: often so few that senders come to wait.
    pub fn unexpected_bytes(&self) -> u64 {
        let few = [0, CHUNK_BYTES as u64, 3 * CHUNK_BYTES as u64];
        few.get(self.seed as usize % 8).copied().unwrap_or(DEFAULT_LIMIT_BYTES)
    }
}

/// A communicator.
#[derive(Clone, Debug)]
pub struct Comm {
    /// Context of its messages; its collectives have the next one.
    pub context: Context,
    /// Ranks of the job, by rank in the communicator.
    pub members: Vec<usize>,
    pub collectives: Vec<CollectiveCall>,
}

#[derive(Clone, Debug)]
pub struct CollectiveCall {
    pub kind: CollectiveKind,
    pub op: ReduceOp,
    pub element: ElementType,
    pub root: usize,
    /// Contribution by rank in the communicator; of a broadcast, the root's alone.
    pub data: Vec<Vec<u8>>,
    /// Whether members that only give may wait for its end all the same.
    pub waits: bool,
}

#[derive(Clone, Debug)]
pub enum Call {
    Send {
        comm: usize,
        to: usize,
        tag: i32,
        bytes: usize,
        synchronous: bool,
    },
    Receive {
        comm: usize,
        from: Option<usize>,
        tag: Option<i32>,
        capacity: usize,
    },
    /// Probe, and receive exactly what was found.
    Probe {
        comm: usize,
        from: Option<usize>,
        tag: Option<i32>,
    },
    /// Cancel the request posted last, if it is outstanding.
    Cancel,
    /// Collective number `index` of the communicator.
    Collective {
        comm: usize,
        index: usize,
        blocking: bool,
    },
    /// Wait for the oldest outstanding request.
    WaitOldest,
    WaitAll,
}

#[derive(Clone, Debug)]
pub struct Program {
    pub comms: Vec<Comm>,
    /// Calls by rank of the job.
    pub calls: Vec<Vec<Call>>,
}

const WORLD: u32 = 2;
const FIRST_CONTEXT: u32 = 16;

impl Program {
    pub fn random(shape: &Shape) -> Self {
        let mut random = Random::new(shape.seed);
        let mut comms =
            vec![Comm { context: Context(WORLD), members: (0..shape.ranks).collect(), collectives: vec![] }];
        for i in 0..random.below(4) {
            let mut members: Vec<usize> = (0..shape.ranks).collect();
            random.shuffle(&mut members);
            members.truncate(1 + random.below(shape.ranks));
            comms.push(Comm { context: Context(FIRST_CONTEXT + 2 * i as u32), members, collectives: vec![] });
        }
        let mut program = Self { comms, calls: vec![Vec::new(); shape.ranks] };
        let mut held_back: Vec<(usize, Call)> = Vec::new();
        for _ in 0..shape.events {
            let comm = random.below(program.comms.len());
            if random.once_in(400) {
                program.add_loop(comm, &mut random);
            } else if random.once_in(4) {
                program.add_collective(comm, &mut random);
            } else {
                program.add_message(comm, shape.largest, &mut random, &mut held_back);
            }
            let rank = random.below(shape.ranks);
            match random.below(12) {
                0 => program.calls[rank].push(Call::WaitAll),
                1 => program.calls[rank].push(Call::WaitOldest),
                2 => program.calls[rank].push(Call::Cancel),
                3 | 4 => {
                    random.shuffle(&mut held_back);
                    held_back.drain(..).for_each(|(rank, call)| program.calls[rank].push(call));
                }
                _ => {}
            }
        }
        held_back.drain(..).for_each(|(rank, call)| program.calls[rank].push(call));
        program.calls.iter_mut().for_each(|calls| calls.push(Call::WaitAll));
        program.add_barrier(0);
        program
    }

    /// A loop in which some members only give. The others come to it late: they meet each other first, some
    /// times, or, where `all_meet`, those who give: these come to the meeting after the loop.
    pub fn apart(shape: &Shape, all_meet: bool) -> Self {
        let mut random = Random::new(shape.seed);
        let comm = |i: u32| Comm {
            context: Context(WORLD + i * FIRST_CONTEXT),
            members: (0..shape.ranks).collect(),
            collectives: vec![],
        };
        let mut program =
            Self { comms: vec![comm(0), comm(1), comm(2)], calls: vec![Vec::new(); shape.ranks] };
        program.add_loop(0, &mut random);
        let call = &program.comms[0].collectives[0];
        let gives = |rank: &usize| (*rank == call.root) == (call.kind == CollectiveKind::Broadcast);
        let (ahead, behind): (Vec<usize>, Vec<usize>) = (0..shape.ranks).partition(gives);
        program.comms[2].members = behind.clone();
        let of_all = program.add_barrier(1);
        let among_behind: Vec<Call> = (0..random.below(20)).map(|_| program.add_barrier(2)).collect();
        for rank in ahead {
            program.calls[rank].push(of_all.clone());
        }
        for rank in behind {
            let first = if all_meet { vec![of_all.clone()] } else { among_behind.clone() };
            let last = if all_meet { among_behind.clone() } else { vec![of_all.clone()] };
            program.calls[rank].splice(0..0, first);
            program.calls[rank].extend(last);
        }
        program.calls.iter_mut().for_each(|calls| calls.push(Call::WaitAll));
        program.add_barrier(0);
        program
    }

    /// Whether members of the loop of [`Program::apart`] that are ahead find no room before its end.
    pub fn loop_lacks_room(&self) -> bool {
        let collectives = &self.comms[0].collectives;
        collectives[0].data[0].len() > INLINE_BYTES && collectives.len() - 1 > SLABS
    }

    /// A barrier of a communicator, which no rank calls yet: the call.
    fn add_barrier(&mut self, comm: usize) -> Call {
        let Comm { collectives, members, .. } = &mut self.comms[comm];
        let data = vec![Vec::new(); members.len()];
        let (kind, op, element) = (CollectiveKind::Barrier, ReduceOp::Sum, ElementType::U8);
        collectives.push(CollectiveCall { kind, op, element, root: 0, data, waits: true });
        Call::Collective { comm, index: collectives.len() - 1, blocking: true }
    }

    /// The call of the last barrier, which no rank's calls contain.
    pub fn closing_barrier(&self) -> Call {
        Call::Collective { comm: 0, index: self.comms[0].collectives.len() - 1, blocking: true }
    }

    fn add_message(
        &mut self,
        comm: usize,
        largest: usize,
        random: &mut Random,
        later: &mut Vec<(usize, Call)>,
    ) {
        let members = &self.comms[comm].members;
        let (from, to) = (random.below(members.len()), random.below(members.len()));
        let (source, destination) = (members[from], members[to]);
        let tag = random.below(3) as i32;
        let bytes = size(largest, random);
        let synchronous = random.once_in(6);
        // Now and then one of the two is missing.
        if !random.once_in(20) {
            self.calls[source].push(Call::Send { comm, to, tag, bytes, synchronous });
        }
        if random.once_in(20) {
            return;
        }
        let from = (!random.once_in(4)).then_some(from);
        let tag = (!random.once_in(4)).then_some(tag);
        let receive = if random.once_in(10) {
            Call::Probe { comm, from, tag }
        } else {
            let capacity = match random.below(10) {
                0 => bytes / 2,
                1 => 0,
                // A wildcard may take a longer one than was meant for it.
                _ => bytes.max(size(largest, random)),
            };
            Call::Receive { comm, from, tag, capacity }
        };
        if random.once_in(3) {
            later.push((destination, receive))
        } else {
            self.calls[destination].push(receive)
        }
    }

    fn add_collective(&mut self, comm: usize, random: &mut Random) {
        let size = self.comms[comm].members.len();
        let kind = *random.pick(&[
            CollectiveKind::Barrier,
            CollectiveKind::Broadcast,
            CollectiveKind::Reduce,
            CollectiveKind::Allreduce,
            CollectiveKind::Board,
            CollectiveKind::Announcement,
        ]);
        let (op, element) = *random.pick(&[
            (ReduceOp::Sum, ElementType::F64),
            (ReduceOp::Prod, ElementType::F32),
            (ReduceOp::Sum, ElementType::F16),
            (ReduceOp::Max, ElementType::I32),
            (ReduceOp::Bxor, ElementType::U8),
            (ReduceOp::Minloc, ElementType::I32I32),
        ]);
        let root = random.below(size);
        let small = |random: &mut Random| *random.pick(&[0, 1, 8, 24, 25, 200, 4096, 8192]);
        let data = match kind {
            CollectiveKind::Barrier | CollectiveKind::Announcement => vec![Vec::new(); size],
            CollectiveKind::Broadcast => {
                let bytes = small(random);
                (0..size).map(|i| if i == root { random.bytes(bytes) } else { vec![0; bytes] }).collect()
            }
            CollectiveKind::Board => (0..size)
                .map(|_| {
                    // Between nodes all together have only so much room.
                    let bytes = small(random).min(BROUGHT_BYTES / size);
                    random.bytes(bytes)
                })
                .collect(),
            _ => {
                let bytes = (small(random) / element.size()).max(1) * element.size();
                (0..size).map(|_| values(element, bytes, random)).collect()
            }
        };
        let index = self.comms[comm].collectives.len();
        self.comms[comm].collectives.push(CollectiveCall { kind, op, element, root, data, waits: true });
        for member in self.comms[comm].members.clone() {
            let blocking = random.once_in(2);
            self.calls[member].push(Call::Collective { comm, index, blocking });
        }
    }
}

impl Program {
    /// One collective, more often than there is room for it at a time: who only gives waits for nobody, and
    /// is ahead of the others.
    fn add_loop(&mut self, comm: usize, random: &mut Random) {
        let size = self.comms[comm].members.len();
        let kind =
            *random.pick(&[CollectiveKind::Broadcast, CollectiveKind::Reduce, CollectiveKind::Announcement]);
        let (op, element, root) = (ReduceOp::Max, ElementType::I32, random.below(size));
        let bytes = *random.pick(&[8, 24, 28, 64, 8192]);
        let data: Vec<Vec<u8>> = match kind {
            CollectiveKind::Announcement => vec![Vec::new(); size],
            _ => (0..size).map(|_| values(element, bytes, random)).collect(),
        };
        for _ in 0..SLABS + random.below(SLABS) {
            let index = self.comms[comm].collectives.len();
            let call = CollectiveCall { kind, op, element, root, data: data.clone(), waits: false };
            self.comms[comm].collectives.push(call);
            for &member in &self.comms[comm].members {
                self.calls[member].push(Call::Collective { comm, index, blocking: true });
            }
        }
    }
}

/// Sizes on both sides of every border: inline, slab, rendezvous, chunks.
fn size(largest: usize, random: &mut Random) -> usize {
    let size = match random.below(12) {
        0 => 0,
        1 => 7,
        2..5 => 8,
        5 => 24,
        6 => 25,
        7 => 1000 + random.below(7000),
        8 => 8192,
        9 => 8193,
        10 => 9000 + random.below(100_000),
        _ => random.below(largest + 1),
    };
    size.min(largest)
}

/// Contributions whose combination depends on its order: numbers of very different magnitude.
fn values(element: ElementType, bytes: usize, random: &mut Random) -> Vec<u8> {
    let mut data = random.bytes(bytes);
    match element {
        ElementType::F64 => data.as_chunks_mut::<8>().0.iter_mut().for_each(|chunk| {
            let value = (random.next() as i64 as f64) * 10f64.powi(random.below(30) as i32 - 15);
            *chunk = value.to_le_bytes();
        }),
        ElementType::F32 => data.as_chunks_mut::<4>().0.iter_mut().for_each(|chunk| {
            *chunk = (0.5 + random.below(1 << 20) as f32 / (1 << 20) as f32).to_le_bytes();
        }),
        _ => {}
    }
    data
}
