//! SR between nodes: microstrobes go down a tree of the job's nodes, reports come up it (paper, §4.2).
//!
//! The lead is the root. A node hands a microstrobe on to its children, does its own part, and reports to its
//! parent when that and all that is below it is done: one delay a level down, and one up. With the report
//! comes what the nodes need of the rest of the slice, and what they want of the next, so nobody has to ask.
//! Who gets something to do after its report rings ([`StrobeTree::ring`]); the bell names the slice, and so
//! is good until the next one has begun, whether the slice is still under way or all rest.
//!
//! Invariant: a parent strobes again only after the report, and a child reports only once for each
//! microstrobe: so neither word is written again before it was read, and each is a put to one node.
//!
//! ```text
//!  strobe   slice << 3 | microphase + 1
//!  report   slice << 9 | microphase << 6 | first microphase needed in this slice << 3 | first one wanted of the next (5 for none)
//!  bell     as a strobe: the first microphase wanted of the slice after that
//! ```

use super::layout::{ARRIVED, GlobalLayout, RUNG};
use super::tree::{FANOUT, Tree};
use crate::threads::microphase::Microphase;
use bcs_core::{EventId, GlobalVariable, NodeId, NodeSet};
use bcs_fabric::{Fabric, FabricError, Source};

/// "No microphase" where a microphase's number is meant.
const END: u64 = Microphase::ALL.len() as u64;

/// The word of a microstrobe.
pub fn strobe(slice: u64, microphase: Microphase) -> u64 {
    slice << 3 | (microphase as u64 + 1)
}

/// A strobe word's slice and microphase; no microphase before the first strobe.
pub fn read_strobe(word: u64) -> (u64, Option<Microphase>) {
    (word >> 3, (word & 7).checked_sub(1).and_then(microphase))
}

fn microphase(number: u64) -> Option<Microphase> {
    Microphase::ALL.get(number as usize).copied()
}

fn number(microphase: Option<Microphase>) -> u64 {
    microphase.map_or(END, |microphase| microphase as u64)
}

/// The earlier of two microphases, if one is wanted at all.
pub fn earlier(one: Option<Microphase>, other: Option<Microphase>) -> Option<Microphase> {
    [one, other].into_iter().flatten().min()
}

/// What a node and all below it say when they are done with a microphase.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Report {
    /// The slice.
    pub slice: u64,
    /// The microphase that is done.
    pub done: Microphase,
    /// The first microphase that one of them needs after it in this slice.
    pub need: Option<Microphase>,
    /// The first microphase that one of them wants of the next slice.
    pub wants: Option<Microphase>,
}

impl Report {
    fn word(&self) -> u64 {
        self.slice << 9 | (self.done as u64) << 6 | number(self.need) << 3 | number(self.wants)
    }

    fn read(word: u64) -> Option<Self> {
        Some(Self {
            slice: word >> 9,
            done: microphase(word >> 6 & 7)?,
            need: microphase(word >> 3 & 7),
            wants: microphase(word & 7),
        })
    }
}

/// A node's place in the tree, and what it has handed on.
#[derive(Debug, Default)]
pub struct StrobeTree {
    layout: GlobalLayout,
    node: u32,
    tree: Tree,
    /// The last microstrobe.
    strobe: u64,
    /// Children that have got it.
    strobed: usize,
    /// This node is done with it, and needs this next.
    pub(super) done: Option<Option<Microphase>>,
    reported: bool,
    /// What this node has rung for in this slice.
    rung: Option<Microphase>,
    /// What it has said it wants of the next slice, with bells and with the last report. A report makes the
    /// one before it void.
    told: Option<Microphase>,
    /// What a node of this one's block has rung for, in a slice that this node may not have come to yet.
    handed: Option<(u64, Microphase)>,
}

impl StrobeTree {
    /// The place of a node, before the first strobe.
    pub fn new(layout: GlobalLayout, node: u32) -> Self {
        let tree = Tree::new(&NodeSet::all(layout.nodes), NodeId(node)).unwrap_or_default();
        Self { layout, node, tree, strobed: FANOUT, reported: true, ..Self::default() }
    }

    /// A microstrobe has come: it goes on to the children.
    ///
    /// # Errors
    /// A child is dead.
    pub fn strobe(&mut self, fabric: &mut (impl Fabric + ?Sized), word: u64) -> Result<(), FabricError> {
        if read_strobe(word).0 != read_strobe(self.strobe).0 {
            self.rung = None;
            self.told = None;
        }
        self.strobe = word;
        self.strobed = 0;
        self.done = None;
        self.reported = false;
        self.flush(fabric)
    }

    /// This node's own part of the microphase is done; it needs this next in the slice.
    pub fn complete(&mut self, need: Option<Microphase>) {
        self.done = Some(need);
    }

    /// Hands the microstrobe on to children that the network had no room for before.
    ///
    /// # Errors
    /// A child is dead.
    pub fn flush(&mut self, fabric: &mut (impl Fabric + ?Sized)) -> Result<(), FabricError> {
        while let Some(child) = self.tree.children.get(self.strobed) {
            if !put(fabric, child.0, self.layout.strobe(), self.strobe, ARRIVED)? {
                break;
            }
            self.strobed += 1;
        }
        Ok(())
    }

    /// What this node and all below it say of the last microstrobe, once they are done. `wants` is what this
    /// node wants of the next slice.
    ///
    /// # Errors
    /// What a child wrote is no report.
    pub fn report(
        &self,
        fabric: &(impl Fabric + ?Sized),
        wants: Option<Microphase>,
    ) -> Result<Option<Report>, FabricError> {
        let (slice, Some(done)) = read_strobe(self.strobe) else { return Ok(None) };
        let Some(need) = self.done else { return Ok(None) };
        let mut report = Report { slice, done, need, wants };
        for place in 0..self.tree.children.len() as u32 {
            match Report::read(fabric.load(self.layout.report(place))?) {
                Some(child) if (child.slice, child.done) == (slice, done) => {
                    report.need = earlier(report.need, child.need);
                    report.wants = earlier(report.wants, child.wants);
                }
                _ => return Ok(None),
            }
        }
        Ok(Some(report))
    }

    /// Reports to the parent, once. True if it did.
    ///
    /// # Errors
    /// The parent is dead.
    pub fn send_report(
        &mut self,
        fabric: &mut (impl Fabric + ?Sized),
        wants: Option<Microphase>,
    ) -> Result<bool, FabricError> {
        let Some(parent) = self.tree.parent.filter(|_| !self.reported) else { return Ok(false) };
        let Some(report) = self.report(fabric, wants)? else { return Ok(false) };
        let place = self.layout.report((self.node - 1) % FANOUT as u32);
        self.reported = put(fabric, parent.0, place, report.word(), ARRIVED)?;
        if self.reported {
            self.told = earlier(self.rung, report.wants);
        }
        Ok(self.reported)
    }

    /// Rings, if this node wants something of the next slice that it has not said before; and hands on what
    /// others have rung for here, if `rung`. True if it did.
    ///
    /// # Errors
    /// The node where it rings is dead.
    pub fn ring(
        &mut self,
        fabric: &mut (impl Fabric + ?Sized),
        wants: Option<Microphase>,
        rung: bool,
    ) -> Result<bool, FabricError> {
        let (slice, _) = read_strobe(self.strobe);
        if rung {
            // Those who ring may be a slice ahead of this node, and are not behind it for long.
            let bells = read_bells(&self.layout, fabric, self.node)?;
            self.handed = latest(self.handed, bells.filter(|(after, _)| *after >= slice));
        }
        let own =
            wants.filter(|_| self.reported && number(wants) < number(self.told)).map(|own| (slice, own));
        let Some((after, first)) = latest(self.handed, own) else { return Ok(false) };
        let bell = self.layout.bell(self.node);
        if !put(fabric, self.layout.rings_at(self.node), bell, strobe(after, first), RUNG)? {
            return Ok(false);
        }
        if after == slice {
            self.rung = earlier(self.rung, Some(first));
            self.told = earlier(self.told, Some(first));
        }
        self.handed = None;
        Ok(true)
    }
}

/// Of two bells the one for the later slice; for the same, the one for the earlier microphase.
fn latest(one: Option<(u64, Microphase)>, other: Option<(u64, Microphase)>) -> Option<(u64, Microphase)> {
    [one, other].into_iter().flatten().max_by_key(|(after, first)| (*after, std::cmp::Reverse(*first)))
}

/// What was rung for here: after which slice, the latest that somebody rang for, and the first microphase
/// wanted of the next.
pub fn read_bells(
    layout: &GlobalLayout,
    fabric: &(impl Fabric + ?Sized),
    here: u32,
) -> Result<Option<(u64, Microphase)>, FabricError> {
    let mut best = None;
    for node in layout.ringers(here) {
        if let (after, Some(first)) = read_strobe(fabric.load(layout.bell(node))?) {
            best = latest(best, Some((after, first)));
        }
    }
    Ok(best)
}

/// Puts a word to one node. False when too much is under way: to be tried again at the next poll.
fn put(
    fabric: &mut (impl Fabric + ?Sized),
    to: u32,
    variable: GlobalVariable,
    value: u64,
    event: EventId,
) -> Result<bool, FabricError> {
    let to = NodeSet::single(NodeId(to));
    match fabric.xfer_and_signal(
        Source::Bytes(&value.to_le_bytes()),
        &to,
        variable.address(),
        None,
        Some(event),
    ) {
        Ok(()) => Ok(true),
        Err(FabricError::Busy { .. }) => Ok(false),
        Err(error) => Err(error),
    }
}

/// The nodes of a job to which one of them has links from the start, as it has something to say to them in
/// every job: its parent, its children, where it rings and who rings there. Others come up when ranks talk to
/// each other.
pub fn neighbours(layout: GlobalLayout, node: NodeId) -> NodeSet {
    let tree = StrobeTree::new(layout, node.0).tree;
    let ringers = layout.ringers(node.0).chain([layout.rings_at(node.0)]).map(NodeId);
    tree.children.into_iter().chain(tree.parent).chain(ringers).filter(|other| *other != node).collect()
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn some_microphase() -> impl Strategy<Value = Option<Microphase>> {
        (0..=END).prop_map(microphase)
    }

    proptest! {
        #[test]
        fn a_report_survives_its_word(slice in 0u64..1 << 55, done in some_microphase(), need in some_microphase(), wants in some_microphase()) {
            let report = Report { slice, done: done.unwrap_or(Microphase::Reduce), need, wants };
            prop_assert_eq!(Report::read(report.word()), Some(report));
        }

        #[test]
        fn neighbours_are_neighbours_of_each_other_and_reach_everybody(nodes in 1u32..300) {
            let layout = GlobalLayout::new(nodes);
            let of_all: Vec<NodeSet> = (0..nodes).map(|node| neighbours(layout, NodeId(node))).collect();
            let mut reached = NodeSet::single(NodeId(0));
            for (node, those) in (0..).map(NodeId).zip(&of_all) {
                prop_assert!(reached.contains(node) && !those.contains(node));
                those.iter().for_each(|other| _ = reached.insert(other));
                for other in those {
                    prop_assert!(of_all[other.index()].contains(node));
                }
            }
        }

        #[test]
        fn every_node_but_the_lead_is_the_child_of_one_node(nodes in 1u32..600) {
            let layout = GlobalLayout::new(nodes);
            let mut children: Vec<u32> = Vec::new();
            for node in 0..nodes {
                let tree = StrobeTree::new(layout, node);
                for (place, child) in (0..).zip(&tree.tree.children) {
                    let of_child = StrobeTree::new(layout, child.0);
                    prop_assert_eq!((of_child.tree.parent, (child.0 - 1) % FANOUT as u32), (Some(NodeId(node)), place));
                    children.push(child.0);
                }
            }
            prop_assert_eq!(children, (1..nodes).collect::<Vec<_>>());
        }
    }
}
