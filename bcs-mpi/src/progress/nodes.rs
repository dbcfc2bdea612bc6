//! Where the members of a party are: which of them share a node, so that what all of a node want crosses the
//! network once.

use nic_emu::memory::numbers::CommRank;
use std::collections::BTreeMap;

/// The members of a party, node by node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Nodes {
    /// Those of each node, by rank; nodes in the order of their first members.
    members: Vec<Vec<CommRank>>,
    /// By rank: the node's number in that order, and the member's there.
    places: Vec<(usize, usize)>,
}

impl Nodes {
    /// Members of which each says which node it is on.
    pub fn of(nodes: impl IntoIterator<Item = u32>) -> Self {
        let mut numbers = BTreeMap::new();
        let (mut members, mut places) = (Vec::<Vec<CommRank>>::new(), Vec::new());
        for (member, node) in (0..).map(CommRank).zip(nodes) {
            let number = *numbers.entry(node).or_insert(members.len());
            if number == members.len() {
                members.push(Vec::new());
            }
            places.push((number, members[number].len()));
            members[number].push(member);
        }
        Self { members, places }
    }

    /// How many nodes there are.
    pub fn count(&self) -> usize {
        self.members.len()
    }

    /// The number of a member's node, and the member's number there.
    pub fn place(&self, member: CommRank) -> (usize, usize) {
        self.places[member.index()]
    }

    /// The members of a node.
    pub fn members(&self, node: usize) -> &[CommRank] {
        &self.members[node]
    }

    /// The others of a member's node.
    pub fn beside(&self, member: CommRank) -> impl Iterator<Item = CommRank> {
        let others = self.members[self.place(member).0].iter().copied();
        others.filter(move |other| *other != member)
    }

    /// How many members each node has, if they are all as many, consecutive, and a whole part of the
    /// reduction tree.
    pub fn parts_of_the_tree(&self) -> Option<usize> {
        let each = self.members.first()?.len();
        let is_part = |(rank, place): (usize, &(usize, usize))| *place == (rank / each, rank % each);
        let is_even = self.places.len() == each * self.members.len();
        (each.is_power_of_two() && is_even && self.places.iter().enumerate().all(is_part)).then_some(each)
    }

    /// Who of a node takes what this member of another node has for all of them, and hands it on: members
    /// take turns.
    pub fn carrier(&self, of: CommRank, node: usize) -> CommRank {
        let members = &self.members[node];
        members[self.place(of).1 % members.len()]
    }

    /// For whom a member is the carrier of its node: itself, then some of the other nodes, from the next one
    /// on.
    pub fn wards(&self, carrier: CommRank) -> impl Iterator<Item = CommRank> {
        let (here, size) = (self.place(carrier).0, self.places.len() as u32);
        let from_itself_on = (0..size).map(move |step| carrier.after(step, size));
        from_itself_on.filter(move |member| self.carrier(*member, here) == carrier)
    }

    /// The other nodes, from the next one on.
    pub fn elsewhere(&self, here: usize) -> impl Iterator<Item = usize> + use<> {
        let count = self.count();
        (1..count).map(move |step| (here + step) % count)
    }
}

/// A binomial tree over places 0 to `size`, of which 0 is the root: the parent of a place and its children,
/// that with the most places below it first.
pub fn binomial(place: usize, size: usize) -> (Option<usize>, Vec<usize>) {
    // A parent is the place without its lowest bit; children are the places with one bit more below that.
    let lowest = if place == 0 { size.next_power_of_two() } else { place & place.wrapping_neg() };
    let bits = (0..lowest.trailing_zeros()).rev().map(|bit| place + (1 << bit));
    ((place != 0).then(|| place - lowest), bits.filter(|child| *child < size).collect())
}

/// How many places there are from a place of such a tree down, itself included.
fn subtree(place: usize, size: usize) -> usize {
    if place == 0 { size } else { (place & place.wrapping_neg()).min(size - place) }
}

/// A member's branch of a binomial tree over all members, from the root on: whose places follow each other.
pub struct Branch {
    /// The member above; none of the root.
    pub parent: Option<CommRank>,
    /// Members below, each with its first place counted from this member's, and how many there are from it
    /// down.
    pub children: Vec<(CommRank, usize, usize)>,
    /// Places from this member down, itself included.
    pub size: usize,
}

impl Branch {
    /// The branch of the member of this rank.
    pub fn new(rank: CommRank, members: u32, root: CommRank) -> Self {
        let (place, size) = (rank.steps_from(root, members) as usize, members as usize);
        let member = |place: usize| root.after(place as u32, members);
        let (parent, children) = binomial(place, size);
        let child = |child| (member(child), child - place, subtree(child, size));
        Self {
            parent: parent.map(member),
            children: children.into_iter().map(child).collect(),
            size: subtree(place, size),
        }
    }
}
