//! Two lanes a link: small messages never wait behind large payloads.
//!
//! All messages travel in the *control* lane, except the fragments of payloads, and what an initiator must
//! keep behind them: they travel in the *bulk* lane. Each lane is in order. Invariant: what is in the bulk
//! lane never overtakes what was sent before it in the control lane; the reverse may happen. So every bulk
//! message says how many control messages were sent before it, and a receiver that has fewer lets it wait.
//!
//! A link sender stamps with [`LaneSender`], a link receiver asks [`LaneReceiver`].

/// One of the two lanes of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Lane {
    /// Small messages.
    Control,
    /// Fragments of payloads, and what must stay behind them.
    Bulk,
}

/// The sending end of a link: counts what goes into the control lane.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LaneSender {
    control: u64,
}

impl LaneSender {
    /// A message goes into a lane now: how many control messages went before it.
    pub fn stamp(&mut self, lane: Lane) -> u64 {
        let before = self.control;
        self.control += u64::from(lane == Lane::Control);
        before
    }
}

/// The receiving end of a link: counts what has come out of the control lane.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LaneReceiver {
    control: u64,
}

impl LaneReceiver {
    /// A control message was delivered.
    pub fn count_control(&mut self) {
        self.control += 1;
    }

    /// Whether a bulk message may be delivered that has this stamp.
    pub fn may_deliver(&self, stamp: u64) -> bool {
        self.control >= stamp
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bulk_waits_for_the_control_messages_before_it_and_for_no_others() {
        let (mut sender, mut receiver) = (LaneSender::default(), LaneReceiver::default());
        assert_eq!(sender.stamp(Lane::Bulk), 0);
        assert_eq!([sender.stamp(Lane::Control), sender.stamp(Lane::Control)], [0, 1]);
        let bulk = sender.stamp(Lane::Bulk);
        sender.stamp(Lane::Control);
        assert!(receiver.may_deliver(0) && !receiver.may_deliver(bulk));
        receiver.count_control();
        assert!(!receiver.may_deliver(bulk));
        receiver.count_control();
        assert!(receiver.may_deliver(bulk));
    }
}
