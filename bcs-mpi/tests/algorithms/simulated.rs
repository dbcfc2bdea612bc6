//! Members without processes: all in one thread, on as many nodes as one likes. Their messages come in an
//! order that a seed decides, and are counted.

use bcs_mpi::error::Problem;
use bcs_mpi::progress::{Members, Membership, Memory, Message, Nodes};
use bcs_mpi::{MpiError, MpiResult};
use fastrand::Rng;
use nic_emu::memory::numbers::CommRank;
use std::cell::RefCell;
use std::collections::{HashMap, VecDeque};
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

/// A send or a receive.
struct Posted {
    member: CommRank,
    memory: Memory,
    /// Messages, one after the other, that this one comes after.
    depth: u32,
    is_exact: bool,
    end: Option<Result<(), (usize, usize, CommRank)>>,
}

/// Messages from one member to another, in order: sends or receives that have not met.
#[derive(Default)]
struct Channel {
    sends: VecDeque<usize>,
    receives: VecDeque<usize>,
}

/// What a member has sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sent {
    /// Messages.
    pub messages: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Those of the bytes that have gone to other nodes.
    pub bytes_abroad: u64,
    /// Messages, one after the other, that the member has waited for.
    pub steps: u32,
}

#[derive(Default)]
struct World {
    nodes: Vec<u32>,
    posted: Vec<Posted>,
    channels: HashMap<(CommRank, CommRank), Channel>,
    /// A send and a receive that have met.
    under_way: Vec<(usize, usize)>,
    sent: Vec<Sent>,
}

impl World {
    fn post(&mut self, channel: (CommRank, CommRank), is_send: bool, posted: Posted) -> usize {
        let number = self.posted.len();
        self.posted.push(posted);
        let Channel { sends, receives } = self.channels.entry(channel).or_default();
        let (own, other) = if is_send { (sends, receives) } else { (receives, sends) };
        match other.pop_front() {
            Some(met) if is_send => self.under_way.push((number, met)),
            Some(met) => self.under_way.push((met, number)),
            None => own.push_back(number),
        }
        number
    }

    fn deliver(&mut self, (send, receive): (usize, usize)) {
        let (from, to) = (&self.posted[send], &self.posted[receive]);
        let (sent, room) = (from.memory.bytes(), to.memory.bytes());
        let (depth, sender) = (from.depth, from.member);
        let fits = sent == room || sent < room && !to.is_exact;
        from.memory.copy_to(to.memory);
        self.posted[send].end = Some(Ok(()));
        self.posted[receive].depth = depth;
        self.posted[receive].end = Some(if fits { Ok(()) } else { Err((sent, room, sender)) });
    }
}

/// A member of a simulated communicator.
#[derive(Clone)]
pub struct Member {
    rank: CommRank,
    world: Rc<RefCell<World>>,
}

/// A message of a simulated member.
pub struct Simulated {
    number: usize,
    member: Member,
    is_receive: bool,
    giver: Option<CommRank>,
}

impl Message for Simulated {
    fn exactly(self) -> Self {
        self.member.world.borrow_mut().posted[self.number].is_exact = true;
        self
    }

    fn given_by(self, member: CommRank) -> Self {
        Self { giver: Some(member), ..self }
    }

    fn is_over(&self) -> bool {
        false
    }
}

impl Future for Simulated {
    type Output = MpiResult;

    fn poll(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<MpiResult> {
        let world = &mut *self.member.world.borrow_mut();
        let posted = &world.posted[self.number];
        let Some(end) = posted.end else { return Poll::Pending };
        if self.is_receive {
            let steps = &mut world.sent[self.member.rank.index()].steps;
            *steps = (*steps).max(posted.depth);
        }
        Poll::Ready(end.map_err(|(sent, room, from)| {
            let from = self.giver.unwrap_or(from);
            MpiError::new(Problem::BlockMisfit { sent: sent as u64, room: room as u64, from })
        }))
    }
}

impl Membership for Member {
    fn rank(&self) -> CommRank {
        self.rank
    }

    fn size(&self) -> u32 {
        self.world.borrow().nodes.len() as u32
    }

    fn nodes(&self) -> MpiResult<Rc<Nodes>> {
        Ok(Rc::new(Nodes::of(self.world.borrow().nodes.iter().copied())))
    }
}

impl Members for Member {
    type Message = Simulated;

    fn post_send(&self, to: CommRank, memory: Memory) -> MpiResult<Simulated> {
        let world = &mut *self.world.borrow_mut();
        let is_abroad = world.nodes[self.rank.index()] != world.nodes[to.index()];
        let sent = &mut world.sent[self.rank.index()];
        sent.messages += 1;
        sent.bytes += memory.bytes() as u64;
        sent.bytes_abroad += if is_abroad { memory.bytes() as u64 } else { 0 };
        let depth = sent.steps + 1;
        let posted = Posted { member: self.rank, memory, depth, is_exact: false, end: None };
        let number = world.post((self.rank, to), true, posted);
        Ok(Simulated { number, member: self.clone(), is_receive: false, giver: None })
    }

    fn post_receive(&self, from: CommRank, memory: Memory) -> MpiResult<Simulated> {
        let posted = Posted { member: self.rank, memory, depth: 0, is_exact: false, end: None };
        let number = self.world.borrow_mut().post((from, self.rank), false, posted);
        Ok(Simulated { number, member: self.clone(), is_receive: true, giver: None })
    }
}

/// The first of members that are on these nodes.
pub fn members_on(nodes: &[u32]) -> Member {
    let world = World { nodes: nodes.to_vec(), ..World::default() };
    Member { rank: CommRank(0), world: Rc::new(RefCell::new(world)) }
}

/// Runs what each member does, to the end: whose turn it is, and which message comes next, is random. Answers
/// what came of it, and what was sent.
///
/// # Panics
/// Nobody can go on; a message is left over.
pub fn run<'a, F>(
    nodes: &[u32],
    random: &mut Rng,
    mut act: impl FnMut(Member) -> F,
) -> (Vec<MpiResult>, Vec<Sent>)
where
    F: Future<Output = MpiResult> + 'a,
{
    let sent = vec![Sent::default(); nodes.len()];
    let world = Rc::new(RefCell::new(World { nodes: nodes.to_vec(), sent, ..World::default() }));
    let member = |rank| Member { rank, world: world.clone() };
    let mut tasks: Vec<(usize, Pin<Box<F>>)> =
        (0..nodes.len()).map(|rank| (rank, Box::pin(act(member(CommRank(rank as u32)))))).collect();
    let mut results: Vec<Option<MpiResult>> = nodes.iter().map(|_| None).collect();
    let mut context = Context::from_waker(Waker::noop());
    while !tasks.is_empty() {
        // Some members go on, then some messages come.
        let left = tasks.len();
        for _ in 0..left {
            let Some(place) = (!tasks.is_empty()).then(|| random.usize(0..tasks.len())) else { break };
            let (rank, future) = &mut tasks[place];
            if let Poll::Ready(result) = future.as_mut().poll(&mut context) {
                results[*rank] = Some(result);
                tasks.swap_remove(place);
            }
        }
        let waiting = world.borrow().under_way.len();
        if waiting == 0 {
            // Perhaps somebody's turn has not come.
            tasks.retain_mut(|(rank, future)| match future.as_mut().poll(&mut context) {
                Poll::Ready(result) => {
                    results[*rank] = Some(result);
                    false
                }
                Poll::Pending => true,
            });
            assert!(
                tasks.is_empty() || tasks.len() < left || !world.borrow().under_way.is_empty(),
                "{} members wait for messages that nobody sends",
                tasks.len()
            );
        }
        for _ in 0..random.usize(1..=waiting.max(1)) {
            let mut world = world.borrow_mut();
            if world.under_way.is_empty() {
                break;
            }
            let place = random.usize(0..world.under_way.len());
            let pair = world.under_way.swap_remove(place);
            world.deliver(pair);
        }
    }
    let world = world.borrow();
    let is_over = |channel: &Channel| channel.sends.is_empty() && channel.receives.is_empty();
    assert!(world.under_way.is_empty() && world.channels.values().all(is_over), "a message is left over");
    (results.into_iter().map(|result| result.expect("all are over")).collect(), world.sent.clone())
}
