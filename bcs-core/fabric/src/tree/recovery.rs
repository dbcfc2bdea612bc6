//! Agreement about the operations that dead nodes began.
//!
//! The lowest living node is the arbiter. When it learns of a death it asks all living nodes (`Inquire`) what
//! they know to be decided about operations that dead nodes began, collects the answers (`Testify`), and
//! tells all (`Resolve`): what anybody knows to be decided happens, all else does not. Every further death
//! begins a new round; when the arbiter dies, the next lowest node begins one.
//!
//! Why all survivors agree: a node that has testified takes nothing more of a dead initiator's operations (it
//! ignores them from the moment it knows of the death, and the inquiry tells it). So when all living nodes
//! have testified, no decision is known to any of them that is not in a testimony. Decisions are remembered,
//! so a later round finds the same ones; what one round let happen, the next lets happen too; and what it
//! aborted nobody knew to be decided, nor can learn it later.

use super::agreement::{Lead, Part, PartStage, take_answer};
use super::message::{Commit, Message, OperationId, Round, Verdict};
use super::node::TreeNode;
use bcs_core::global_memory::GlobalMemory;
use bcs_core::ids::NodeId;
use bcs_core::node_set::NodeSet;
use std::collections::BTreeSet;

impl<M: GlobalMemory> TreeNode<M> {
    /// A death has become known.
    pub(super) fn recover(&mut self) {
        let living = self.members.difference(&self.dead);
        let Some(arbiter) = living.first() else { return };
        if arbiter != self.node {
            if !self.recovery.declared.is_empty() {
                let dead = self.recovery.declared.clone();
                self.transmit(arbiter, Message::Obituary { dead });
            }
            return;
        }
        self.recovery.last_number += 1;
        let round = Round { arbiter, number: self.recovery.last_number };
        let dead = self.dead.clone();
        let awaiting = self.descend(&living, |below| Message::Inquire { round, dead: dead.clone(), below });
        self.recovery.lead = Some(Lead { round, awaiting, commits: BTreeSet::new() });
    }

    pub(super) fn handle_obituary(&mut self, dead: &NodeSet) {
        for node in dead {
            self.learn_death(node);
        }
    }

    pub(super) fn handle_inquire(&mut self, from: NodeId, round: Round, dead: NodeSet, below: &NodeSet) {
        if self.dead.contains(round.arbiter) || self.is_stale(round) {
            return;
        }
        self.handle_obituary(&dead);
        if self.cut_off {
            return;
        }
        let awaiting = self.descend(below, |below| Message::Inquire { round, dead: dead.clone(), below });
        let commits = self
            .participations
            .iter()
            .filter(|(operation, _)| dead.contains(operation.initiator))
            .filter_map(|(operation, participation)| {
                Some(Commit { operation: *operation, verdict: participation.commit()? })
            })
            .collect();
        self.recovery.part =
            Some(Part { round, dead, parent: from, awaiting, commits, stage: PartStage::Inquired });
        self.testify_when_complete();
    }

    pub(super) fn handle_testify(&mut self, from: NodeId, round: Round, commits: Vec<Commit>) {
        if round.arbiter == self.node {
            let Some(lead) = self.recovery.lead.as_mut().filter(|lead| lead.round == round) else { return };
            if take_answer(&mut lead.awaiting, from) {
                lead.commits.extend(commits);
            }
            self.resolve_when_complete();
        } else {
            let Some(part) = self.recovery.part.as_mut().filter(|part| part.round == round) else { return };
            if take_answer(&mut part.awaiting, from) {
                part.commits.extend(commits);
            }
            self.testify_when_complete();
        }
    }

    pub(super) fn handle_resolve(&mut self, round: Round, commits: Vec<Commit>, below: &NodeSet) {
        if self.dead.contains(round.arbiter) {
            return;
        }
        let Some(part) = self.recovery.part.as_mut().filter(|part| part.round == round) else { return };
        if part.stage == PartStage::Resolved {
            return;
        }
        part.stage = PartStage::Resolved;
        let dead = part.dead.clone();
        self.descend(below, |below| Message::Resolve { round, commits: commits.clone(), below });
        let undecided: Vec<OperationId> = self
            .participations
            .iter()
            .filter(|(operation, participation)| {
                dead.contains(operation.initiator) && participation.is_undecided()
            })
            .map(|(operation, _)| *operation)
            .collect();
        for operation in undecided {
            let commit = commits.iter().find(|commit| commit.operation == operation);
            let verdict = commit.map_or(Verdict::Abort, |commit| commit.verdict);
            self.apply_verdict(operation, verdict);
        }
        self.advance();
    }

    fn is_stale(&self, round: Round) -> bool {
        self.recovery.part.as_ref().is_some_and(|part| part.round >= round)
    }

    fn testify_when_complete(&mut self) {
        let Some(part) = self.recovery.part.as_mut() else { return };
        if part.stage != PartStage::Inquired || !part.awaiting.is_empty() {
            return;
        }
        part.stage = PartStage::Testified;
        let (parent, round) = (part.parent, part.round);
        let commits = part.commits.iter().copied().collect();
        self.transmit(parent, Message::Testify { round, commits });
    }

    fn resolve_when_complete(&mut self) {
        let Some(lead) = self.recovery.lead.take_if(|lead| lead.awaiting.is_empty()) else { return };
        let commits: Vec<Commit> = lead.commits.into_iter().collect();
        let round = lead.round;
        let living = self.members.difference(&self.dead);
        self.descend(&living, |below| Message::Resolve { round, commits: commits.clone(), below });
    }
}
