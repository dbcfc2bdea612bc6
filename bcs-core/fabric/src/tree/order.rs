//! The order of operations on one node: Lamport's clock and Skeen's queue.
//!
//! A node proposes a stamp for every operation that reaches it; the final stamp is the highest that any node
//! of the set proposed. Operations take effect in the order of final stamps (ties: by operation). An
//! operation at the head of the queue with a final stamp may take effect: what is still to come gets higher
//! ones. Invariant: the clock is at or above every stamp in the queue and every final stamp that was learned.
//!
//! Sources: L. Lamport, Time, clocks, and the ordering of events in a distributed system (1978); D. Skeen's
//! two-phase total order multicast, as described by K. Birman and T. Joseph, Reliable communication in the
//! presence of failures (1987).

use super::message::{OperationId, Stamp};
use std::collections::BTreeSet;

/// A place in the order.
pub type Place = (Stamp, OperationId);

/// The operations that have reached this node and have not yet taken effect.
#[derive(Clone, Debug, Default)]
pub struct OrderQueue {
    clock: Stamp,
    places: BTreeSet<Place>,
}

impl OrderQueue {
    /// The lowest stamp that an operation which begins here now may get.
    pub fn base(&self) -> Stamp {
        self.clock + 1
    }

    /// Learns of a stamp: later proposals are higher.
    pub fn observe(&mut self, stamp: Stamp) {
        self.clock = self.clock.max(stamp);
    }

    /// Proposes a stamp of at least `base`, and queues the operation there.
    pub fn propose(&mut self, operation: OperationId, base: Stamp) -> Place {
        self.clock = base.max(self.clock + 1);
        let place = (self.clock, operation);
        self.places.insert(place);
        place
    }

    /// Moves an operation to its final place.
    pub fn fix(&mut self, place: Place, stamp: Stamp) -> Place {
        self.observe(stamp);
        self.places.remove(&place);
        let place = (stamp, place.1);
        self.places.insert(place);
        place
    }

    /// Takes an operation out: it has taken effect, or never will.
    pub fn remove(&mut self, place: Place) {
        self.places.remove(&place);
    }

    /// The operation that comes first.
    pub fn head(&self) -> Option<Place> {
        self.places.first().copied()
    }

    /// Whether everything before a place has taken effect here.
    pub fn has_reached(&self, place: Place) -> bool {
        self.head().is_none_or(|head| head >= place)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bcs_core::ids::NodeId;

    fn operation(sequence: u64) -> OperationId {
        OperationId { initiator: NodeId(0), sequence }
    }

    #[test]
    fn what_is_proposed_later_comes_after_everything_that_is_known() {
        let mut queue = OrderQueue::default();
        let first = queue.propose(operation(1), 5);
        assert_eq!(first.0, 5);
        assert_eq!(queue.propose(operation(2), 5).0, 6);
        let fixed = queue.fix(first, 10);
        assert_eq!(queue.head().unwrap().1, operation(2));
        assert!(queue.propose(operation(3), 1) > fixed);
        assert!(queue.base() > 10);
    }

    #[test]
    fn a_place_is_reached_when_nothing_is_before_it() {
        let mut queue = OrderQueue::default();
        let place = queue.propose(operation(1), 3);
        assert!(queue.has_reached(place) && queue.has_reached((3, operation(0))));
        assert!(!queue.has_reached((3, operation(2))));
        queue.remove(place);
        assert!(queue.has_reached((9, operation(2))));
    }
}
