//! Other nodes of the job that are stopped, and what the user is told of that.

use super::network::SILENCE;
use bcs_core::{NodeId, NodeSet};
use std::collections::BTreeMap;

/// What is known of the other nodes.
#[derive(Debug, Default)]
pub(super) struct Stops {
    stopped: NodeSet,
    /// How often each was.
    counts: BTreeMap<NodeId, u32>,
}

impl Stops {
    /// What to tell the user when these nodes are stopped now: a line for each that was not before, or is not
    /// any more. All nodes of the job use the same words, which the user mostly reads once then.
    pub(super) fn handle<'a>(&mut self, now: NodeSet, host_of: impl Fn(NodeId) -> &'a str) -> Vec<String> {
        let mut remarks = Vec::new();
        for node in self.stopped.difference(&now).iter() {
            let again = self.again(node);
            remarks.push(format!("node {} answers again{again}: the job goes on", host_of(node)));
        }
        for node in now.difference(&self.stopped).iter() {
            *self.counts.entry(node).or_default() += 1;
            let again = self.again(node);
            remarks.push(format!(
                "node {} has not answered for {} s{again}, but its host is up: the program launcher there is \
                 stopped, or very busy; the job waits",
                host_of(node),
                SILENCE.as_secs()
            ));
        }
        self.stopped = now;
        remarks
    }

    /// Tells the second stop of a node from the first.
    fn again(&self, node: NodeId) -> String {
        match self.counts.get(&node) {
            Some(count @ 2..) => format!(" (stop {count})"),
            _ => String::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_stop_and_each_end_of_one_is_told_once() {
        let (mut stops, hosts) = (Stops::default(), ["c0", "c1"]);
        let mut told = |nodes: &[u32]| {
            let now = nodes.iter().copied().map(NodeId).collect();
            stops.handle(now, |node| hosts[node.index()])
        };
        let has = |told: Vec<String>, words: &[&str]| {
            assert_eq!(told.len(), words.len(), "{told:?}");
            assert!(told.iter().zip(words).all(|(told, words)| told.contains(words)), "{told:?}");
        };
        has(told(&[]), &[]);
        has(told(&[1]), &["node c1 has not answered for 10 s, but its host is up"]);
        has(told(&[1]), &[]);
        has(told(&[0]), &["node c1 answers again: the job goes on", "node c0 has not answered"]);
        has(told(&[0, 1]), &["node c1 has not answered for 10 s (stop 2)"]);
        has(told(&[]), &["node c0 answers again: ", "node c1 answers again (stop 2)"]);
    }
}
