//! A subgroup of the members of a communicator, as if they were all: those of a node, or one of each node.

use super::members::{Members, Membership};
use super::memory::Memory;
use super::nodes::Nodes;
use crate::error::MpiResult;
use nic_emu::memory::numbers::CommRank;
use std::rc::Rc;

/// Members that this one is one of, in their order.
pub struct Subgroup<'a, M> {
    members: &'a M,
    ranks: Vec<CommRank>,
    rank: CommRank,
}

impl<'a, M: Members> Subgroup<'a, M> {
    /// The members of these ranks; this one is the `rank`-th.
    pub fn new(members: &'a M, ranks: Vec<CommRank>, rank: usize) -> Self {
        Self { members, ranks, rank: CommRank(rank as u32) }
    }
}

impl<M: Members> Membership for Subgroup<'_, M> {
    fn rank(&self) -> CommRank {
        self.rank
    }

    fn size(&self) -> u32 {
        self.ranks.len() as u32
    }

    fn nodes(&self) -> MpiResult<Rc<Nodes>> {
        let all = self.members.nodes()?;
        Ok(Rc::new(Nodes::of(self.ranks.iter().map(|rank| all.place(*rank).0 as u32))))
    }
}

impl<M: Members> Members for Subgroup<'_, M> {
    type Message = M::Message;

    fn post_send(&self, to: CommRank, data: Memory) -> MpiResult<Self::Message> {
        self.members.post_send(self.ranks[to.index()], data)
    }

    fn post_receive(&self, from: CommRank, place: Memory) -> MpiResult<Self::Message> {
        self.members.post_receive(self.ranks[from.index()], place)
    }
}
