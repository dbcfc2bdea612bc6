//! A machine: processes, and the operations that are under way between them.

use crate::card::{Arena, copy, fault, load};
use crate::events;
use std::collections::{HashMap, HashSet};
use std::ffi::c_int;
use std::ops::RangeInclusive;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// What a capability says of a process and its network.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Capability {
    /// This node.
    pub node: u32,
    /// The nodes of the network.
    pub nodes: RangeInclusive<u32>,
    /// The hardware context.
    pub context: u32,
}

impl Capability {
    /// Reads `N3C17-17-17N0-15R1b`: a node, contexts (lowest, own, highest), nodes, rails, and that processes
    /// lie in blocks. One context a node is all there is here.
    pub fn parse(text: &str) -> Option<Self> {
        let text = text.strip_prefix('N')?.strip_suffix('b')?;
        let (node, text) = text.split_once('C')?;
        let (contexts, text) = text.split_once('N')?;
        let (nodes, _rails) = text.split_once('R')?;
        let contexts: Vec<u32> = contexts.split('-').map(str::parse).collect::<Result<_, _>>().ok()?;
        let (low, high) = nodes.split_once('-')?;
        let (node, nodes) = (node.parse().ok()?, low.parse().ok()?..=high.parse().ok()?);
        match contexts[..] {
            [lowest, own, highest] if lowest == own && own == highest && nodes.contains(&node) => {
                Some(Self { node, nodes, context: own })
            }
            _ => None,
        }
    }
}

/// An operation of the card.
#[derive(Clone, Debug)]
pub enum Work {
    /// Memory of one process is copied to another: of a put, or of a get.
    Copy {
        /// Whose memory is read, and where.
        from: (u32, u64),
        /// Whose memory is written, and where.
        to: (u32, u64),
        /// Packets that are under way: where in the range each begins, and its length in bytes.
        packets: Vec<(usize, usize)>,
    },
    /// Memory of the initiator is copied to a range of processes.
    Broadcast {
        /// Where it is read.
        source: u64,
        /// Where it is written in all.
        destination: u64,
        /// Its length in bytes.
        bytes: usize,
        /// The processes.
        range: RangeInclusive<u32>,
    },
    /// A word of a range of processes is compared.
    Conditional {
        /// Where the word is.
        variable: u64,
        /// How it is compared.
        condition: c_int,
        /// With what.
        value: u64,
        /// The processes.
        range: RangeInclusive<u32>,
        /// Where the answer goes, in the host's memory.
        answer: usize,
    },
}

/// Bytes of a packet.
const PACKET_BYTES: usize = 4096;

impl Work {
    /// A copy, cut into packets.
    pub fn copy(from: (u32, u64), to: (u32, u64), bytes: usize) -> Self {
        let packets = (0..bytes).step_by(PACKET_BYTES).map(|at| (at, PACKET_BYTES.min(bytes - at)));
        Self::Copy { from, to, packets: packets.collect() }
    }
}

/// An operation under way.
#[derive(Debug)]
struct Operation {
    event: usize,
    initiator: u32,
    work: Work,
}

/// What has been done, counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct Counts {
    /// Puts that were begun.
    pub puts: u64,
    /// Gets that were begun.
    pub gets: u64,
    /// Broadcasts that were begun.
    pub broadcasts: u64,
    /// Conditionals that were begun.
    pub conditionals: u64,
}

/// The processes of a network, and what is under way between them.
#[derive(Debug)]
pub struct Machine {
    processes: HashMap<u32, Arena>,
    /// Those that let packets in.
    enabled: HashSet<u32>,
    dead: HashSet<u32>,
    operations: Vec<Operation>,
    random: fastrand::Rng,
    is_forgotten: bool,
    /// What has been done.
    pub counts: Counts,
}

/// A machine that several processes, and threads, share.
pub type Shared = Arc<Mutex<Machine>>;

/// Locks a machine; one whose thread has panicked is as good as any.
pub fn lock(machine: &Shared) -> MutexGuard<'_, Machine> {
    machine.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Machine {
    /// A machine without processes, whose chances follow from a seed.
    pub fn new(seed: u64) -> Self {
        Self {
            processes: HashMap::new(),
            enabled: HashSet::new(),
            dead: HashSet::new(),
            operations: Vec::new(),
            random: fastrand::Rng::with_seed(seed),
            is_forgotten: false,
            counts: Counts::default(),
        }
    }

    /// Its processes have ended, and their memory with them.
    pub fn forget(&mut self) {
        self.is_forgotten = true;
        self.operations.clear();
        self.processes.clear();
    }

    /// Whether its processes have ended.
    pub fn is_forgotten(&self) -> bool {
        self.is_forgotten
    }

    /// Begins again from a seed.
    pub fn seed(&mut self, seed: u64) {
        self.random = fastrand::Rng::with_seed(seed);
    }

    /// A process attaches. False when there is no memory, or when there is one of its number.
    pub fn attach(&mut self, process: u32) -> bool {
        match Arena::new() {
            Some(arena) if !self.processes.contains_key(&process) => {
                self.processes.insert(process, arena);
                true
            }
            _ => false,
        }
    }

    /// A process lets packets in.
    pub fn enable(&mut self, process: u32) {
        self.enabled.insert(process);
    }

    /// The memory of a process.
    pub fn arena(&mut self, process: u32) -> &mut Arena {
        match self.processes.get_mut(&process) {
            Some(arena) => arena,
            None => fault(&format!("process {process} is not attached")),
        }
    }

    /// A process dies: what it has begun goes no further, and nobody hears of it again.
    pub fn kill(&mut self, process: u32) {
        self.dead.insert(process);
        self.operations.retain(|operation| operation.initiator != process);
    }

    /// Begins an operation: the number of its event.
    pub fn begin(&mut self, initiator: u32, work: Work) -> usize {
        let event = events::begin();
        if !self.dead.contains(&initiator) {
            self.operations.push(Operation { event, initiator, work });
        }
        event
    }

    fn answers(&self, process: u32) -> bool {
        self.enabled.contains(&process) && !self.dead.contains(&process)
    }

    /// Whether an operation can go on: all that it needs answer, and it is a broadcast's turn.
    fn can_go_on(&self, index: usize) -> bool {
        let Operation { initiator, work, .. } = &self.operations[index];
        match work {
            Work::Copy { from, to, .. } => self.answers(from.0) && self.answers(to.0),
            Work::Conditional { range, .. } => range.clone().all(|process| self.answers(process)),
            Work::Broadcast { range, .. } => {
                let is_first = self.operations[..index].iter().enumerate().all(|(before, other)| {
                    let is_broadcast = matches!(other.work, Work::Broadcast { .. });
                    // One that waits for the dead holds up nobody.
                    !(is_broadcast && other.initiator == *initiator && self.is_answered(before))
                });
                is_first && self.is_answered(index) && !range.is_empty()
            }
        }
    }

    fn is_answered(&self, index: usize) -> bool {
        match &self.operations[index].work {
            Work::Broadcast { range, .. } => range.clone().all(|process| self.answers(process)),
            _ => true,
        }
    }

    /// The operations that can go on.
    pub fn ready(&self) -> Vec<usize> {
        (0..self.operations.len()).filter(|index| self.can_go_on(*index)).collect()
    }

    /// Does a piece of an operation, whichever chance picks. How many operations could go on.
    pub fn step(&mut self) -> usize {
        let ready = self.ready();
        if ready.is_empty() {
            return 0;
        }
        let index = ready[self.random.usize(..ready.len())];
        let Operation { event, initiator, mut work } = self.operations.remove(index);
        if self.go_on(initiator, &mut work) {
            events::complete(event);
        } else {
            // Its place among the broadcasts of its process is kept.
            self.operations.insert(index, Operation { event, initiator, work });
        }
        ready.len()
    }

    /// Does a piece of an operation. True when that was all.
    fn go_on(&mut self, initiator: u32, work: &mut Work) -> bool {
        match work {
            Work::Copy { from, to, packets } => {
                if !packets.is_empty() {
                    let (at, bytes) = packets.swap_remove(self.random.usize(..packets.len()));
                    let source = self.arena(from.0).reach(from.1 + at as u64, bytes);
                    let destination = self.arena(to.0).reach(to.1 + at as u64, bytes);
                    // SAFETY: both ranges were just reached, and the machine holds the arenas.
                    unsafe { copy(source, destination, bytes) };
                }
                packets.is_empty()
            }
            Work::Broadcast { source, destination, bytes, range } => {
                let source = self.arena(initiator).reach(*source, *bytes);
                for process in range.clone() {
                    let destination = self.arena(process).reach(*destination, *bytes);
                    // SAFETY: as above.
                    unsafe { copy(source, destination, *bytes) };
                }
                true
            }
            Work::Conditional { variable, condition, value, range, answer } => {
                let holds = range.clone().all(|process| {
                    let word = self.arena(process).reach(*variable, 8);
                    // SAFETY: as above; words lie at their boundaries, or the caller has not kept the
                    // interface.
                    let word = unsafe { load(word) };
                    match *condition {
                        0 => word >= *value,
                        1 => word < *value,
                        2 => word == *value,
                        3 => word != *value,
                        other => fault(&format!("there is no condition {other}")),
                    }
                });
                // SAFETY: whoever asked keeps the place of the answer until the event is complete.
                unsafe { (*answer as *mut c_int).write_volatile(c_int::from(holds)) };
                true
            }
        }
    }
}
