//! Calls in which blocks go from member to member: gather, scatter, allgather and alltoall, with their v
//! and w forms (MPI-5.0, §6.5 to §6.8). Blocks become addresses and lengths here; how they go, [`policy`]
//! says.

use super::block::{Agreed, Block, Wire};
use super::policy::{self, Situation, Transport};
use super::side::{Side, Wires};
use crate::communicator::meeting::Arrival;
use crate::error::MpiResult;
use crate::progress::members::Members;
use crate::progress::party::Party;
use std::ptr::null;

/// Which members give blocks to which.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pattern {
    /// All to this root.
    Gather(u32),
    /// This root to all, each its own.
    Scatter(u32),
    /// Each the same to all.
    Allgather,
    /// Each to all, each its own.
    Alltoall,
}

impl Pattern {
    /// Whether one member gives another one a block.
    pub fn goes(self, from: u32, to: u32) -> bool {
        from != to
            && match self {
                Self::Gather(root) => to == root,
                Self::Scatter(root) => from == root,
                Self::Allgather | Self::Alltoall => true,
            }
    }

    /// Whether a member gives all others the same.
    pub fn gives_the_same(self) -> bool {
        matches!(self, Self::Gather(_) | Self::Allgather)
    }

    /// The root, or 0.
    pub fn root(self) -> u32 {
        match self {
            Self::Gather(root) | Self::Scatter(root) => root,
            Self::Allgather | Self::Alltoall => 0,
        }
    }
}

/// What a member gives and takes.
pub struct Movement<'a> {
    /// Who gives to whom.
    pub pattern: Pattern,
    /// What members say alike of a block.
    pub agreed: Agreed,
    outgoing: &'a dyn Fn(u32) -> (*const u8, usize),
    incoming: &'a dyn Fn(u32) -> (*mut u8, usize),
}

impl<'a> Movement<'a> {
    /// The first byte and the length of the block that goes to a member, and of that which comes from one.
    ///
    /// # Safety
    /// What is given must be readable, and what is taken writable and used by nobody else, as long as the
    /// operation is under way.
    pub unsafe fn new(
        pattern: Pattern,
        agreed: Agreed,
        outgoing: &'a dyn Fn(u32) -> (*const u8, usize),
        incoming: &'a dyn Fn(u32) -> (*mut u8, usize),
    ) -> Self {
        Self { pattern, agreed, outgoing, incoming }
    }

    /// The block that goes to a member.
    pub fn outgoing(&self, member: u32) -> (*const u8, usize) {
        (self.outgoing)(member)
    }

    /// The place of the block that comes from a member.
    pub fn incoming(&self, member: u32) -> (*mut u8, usize) {
        (self.incoming)(member)
    }

    /// What members say when they meet.
    pub fn arrival(&self) -> Arrival {
        let Agreed { signature, bytes, .. } = self.agreed;
        let root = self.pattern.root();
        Arrival { operation: signature, root, most_bytes: bytes, ..Arrival::default() }
    }

    /// Tells the NIC of it.
    ///
    /// # Errors
    /// The NIC fails.
    pub fn announce(&self, party: &Party) -> MpiResult {
        party.announce(self.pattern.root(), self.agreed.signature, self.agreed.bytes)
    }
}

/// Brings every member's block to the root. `own` is none where it is in place; `all` matters at the root.
///
/// # Errors
/// A block is not as long as its place; the NIC fails.
pub async fn gather(party: Party, own: Option<Block>, all: Side, root: u32, agreed: Agreed) -> MpiResult {
    let is_root = party.rank == root;
    let placed = match &own {
        Some(own) if is_root => all.take_own(root, own, root),
        _ => Ok(()),
    };
    let wire = own.as_ref().filter(|_| !is_root).map(Block::wire).transpose()?;
    let landings = all.landings()?;
    let outgoing = |_| wire.as_ref().map_or((null(), 0), |wire| (wire.data(), wire.bytes()));
    let incoming = |member| (landings.at(member), all.bytes(member));
    // SAFETY: wire and landings live until the operation is over.
    let movement = unsafe { Movement::new(Pattern::Gather(root), agreed, &outgoing, &incoming) };
    let number = policy::gather::choice(party.wanted(), &Situation::of_blocks(&party, agreed.of_all(1)));
    policy::gather::run(number, &party, &movement).await?;
    for member in party.others().filter(|_| is_root) {
        all.land(&landings, member);
    }
    placed
}

/// Brings every member its block of the root's. `own` is none where it is in place; `all` matters at the
/// root.
///
/// # Errors
/// A block is not as long as its place; the NIC fails.
pub async fn scatter(party: Party, all: Side, own: Option<Block>, root: u32, agreed: Agreed) -> MpiResult {
    let (size, is_root) = (party.size, party.rank == root);
    let placed = match &own {
        Some(own) if is_root => all.give_own(root, own, root),
        _ => Ok(()),
    };
    let number = policy::scatter::choice(party.wanted(), &Situation::of_blocks(&party, agreed.of_all(size)));
    let is_row = policy::scatter::ALGORITHMS[number].transport == Transport::Slab;
    let wires = if is_row && is_root { all.row(size)? } else { all.wires()? };
    let landing = own.as_ref().filter(|_| !is_root).map(Block::landing).transpose()?;
    let outgoing = |member| (wires.at(member), all.bytes(member));
    let incoming = |_| landing.as_ref().map_or((std::ptr::null_mut(), 0), |it| (it.data(), it.bytes()));
    // SAFETY: wires and landing live until the operation is over.
    let movement = unsafe { Movement::new(Pattern::Scatter(root), agreed, &outgoing, &incoming) };
    policy::scatter::run(number, &party, &movement).await?;
    if let (Some(own), Some(landing)) = (&own, &landing) {
        own.land(landing);
    }
    placed
}

/// Brings every member's block to all. `own` is none where it is in place: then it is this member's of `all`.
///
/// # Errors
/// A block is not as long as its place; the NIC fails.
pub async fn allgather(party: Party, own: Option<Block>, all: Side, agreed: Agreed) -> MpiResult {
    let rank = party.rank;
    let placed = own.as_ref().map_or(Ok(()), |own| all.take_own(rank, own, rank));
    let wire: Wire = own.as_ref().map_or_else(|| all.wire(rank), Block::wire)?;
    let landings = all.landings()?;
    let outgoing = |_| (wire.data(), wire.bytes());
    let incoming = |member| (landings.at(member), all.bytes(member));
    // SAFETY: wire and landings live until the operation is over.
    let movement = unsafe { Movement::new(Pattern::Allgather, agreed, &outgoing, &incoming) };
    let number = policy::allgather::choice(party.wanted(), &Situation::of_blocks(&party, agreed.of_all(1)));
    policy::allgather::run(number, &party, &movement).await?;
    for member in party.others() {
        all.land(&landings, member);
    }
    placed
}

/// Brings block j of member i to place i at member j. `send` is none where it is in place: then blocks of
/// `receive` are exchanged.
///
/// # Errors
/// A block is not as long as its place; the NIC fails.
pub async fn alltoall(party: Party, send: Option<Side>, receive: Side, agreed: Agreed) -> MpiResult {
    let (rank, size) = (party.rank, party.size);
    let placed = send.as_ref().map_or(Ok(()), |send| send.copy_own(rank, &receive));
    let given = send.as_ref().unwrap_or(&receive);
    let number = policy::alltoall::choice(party.wanted(), &Situation::of_blocks(&party, agreed.of_all(size)));
    // In place, what is sent goes before anything arrives where it was.
    let is_row = policy::alltoall::ALGORITHMS[number].transport == Transport::Slab;
    let wires: Wires = match (is_row, send.is_some()) {
        (true, true) => given.row(size)?,
        (true, false) => given.row_of_snapshots(size)?,
        (false, true) => given.wires()?,
        (false, false) => given.snapshots(size)?,
    };
    let landings = receive.landings()?;
    let outgoing = |member| (wires.at(member), given.bytes(member));
    let incoming = |member| (landings.at(member), receive.bytes(member));
    // SAFETY: wires and landings live until the operation is over.
    let movement = unsafe { Movement::new(Pattern::Alltoall, agreed, &outgoing, &incoming) };
    policy::alltoall::run(number, &party, &movement).await?;
    for member in party.others() {
        receive.land(&landings, member);
    }
    placed
}
