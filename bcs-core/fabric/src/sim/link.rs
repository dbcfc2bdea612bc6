//! A reliable lane over a network that loses and reorders packets: what the tree protocol is owed.
//!
//! An engine without I/O, one end for each direction of a lane. The sender numbers messages and keeps them
//! until they are acknowledged; the receiver delivers them in order and acknowledges cumulatively. Invariant:
//! whatever the network does, messages come out once and in the order in which they went in, and as long as
//! something arrives now and then, all of them do.

use std::collections::{BTreeMap, VecDeque};

/// What travels over a link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Packet<T> {
    /// A message with its number.
    Data(u64, T),
    /// Everything below this number has arrived.
    Acknowledge(u64),
}

/// How many packets a retransmission sends again at most; more would come too late to be of use.
const BURST: usize = 32;

/// After a timeout, the next one comes later by this factor, up to [`MAX_BACKOFF`].
const BACKOFF_FACTOR: u64 = 2;
const MAX_BACKOFF: u64 = 256;

/// The sending end.
#[derive(Debug)]
pub struct LinkSender<T> {
    /// The number of the first message in `unacknowledged`.
    first: u64,
    unacknowledged: VecDeque<T>,
    backoff: u64,
}

impl<T> Default for LinkSender<T> {
    fn default() -> Self {
        Self { first: 0, unacknowledged: VecDeque::new(), backoff: 1 }
    }
}

impl<T: Clone> LinkSender<T> {
    /// Takes a message and gives the packet to send.
    pub fn handle_send(&mut self, message: T) -> Packet<T> {
        self.unacknowledged.push_back(message.clone());
        Packet::Data(self.first + self.unacknowledged.len() as u64 - 1, message)
    }

    /// An acknowledgement.
    pub fn handle_acknowledge(&mut self, below: u64) {
        let arrived = below.saturating_sub(self.first).min(self.unacknowledged.len() as u64);
        if arrived > 0 {
            self.unacknowledged.drain(..arrived as usize);
            self.first += arrived;
            self.backoff = 1;
        }
    }

    /// Nothing was acknowledged for a while: the packets to send again.
    pub fn handle_timeout(&mut self) -> Vec<Packet<T>> {
        self.backoff = (self.backoff * BACKOFF_FACTOR).min(MAX_BACKOFF);
        let packets = self.unacknowledged.iter().take(BURST).enumerate();
        packets.map(|(index, message)| Packet::Data(self.first + index as u64, message.clone())).collect()
    }

    /// Whether something still waits for its acknowledgement.
    pub fn is_waiting(&self) -> bool {
        !self.unacknowledged.is_empty()
    }

    /// By how much the next timeout is longer than the first.
    pub fn backoff(&self) -> u64 {
        self.backoff
    }
}

/// The receiving end.
#[derive(Debug)]
pub struct LinkReceiver<T> {
    /// The number of the next message to deliver.
    next: u64,
    early: BTreeMap<u64, T>,
}

impl<T> Default for LinkReceiver<T> {
    fn default() -> Self {
        Self { next: 0, early: BTreeMap::new() }
    }
}

impl<T> LinkReceiver<T> {
    /// A data packet. Afterwards, [`LinkReceiver::poll_deliver`] and then [`LinkReceiver::acknowledgement`].
    pub fn handle_data(&mut self, number: u64, message: T) {
        if number >= self.next {
            self.early.insert(number, message);
        }
    }

    /// The next message in order.
    pub fn poll_deliver(&mut self) -> Option<T> {
        let message = self.early.remove(&self.next)?;
        self.next += 1;
        Some(message)
    }

    /// What to tell the sender: everything below this number has arrived.
    pub fn acknowledgement(&self) -> u64 {
        self.next
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn messages_come_out_once_and_in_order_whatever_the_network_does(
            count in 0..60u32, seed in any::<u64>(), loss in 0.0..0.7f64
        ) {
            let mut random = fastrand::Rng::with_seed(seed);
            let (mut sender, mut receiver) = (LinkSender::default(), LinkReceiver::default());
            let mut network = Vec::new();
            let mut delivered = Vec::new();
            for message in 0..count {
                network.push(sender.handle_send(message));
            }
            while sender.is_waiting() {
                if network.is_empty() {
                    network.extend(sender.handle_timeout());
                }
                let packet = network.swap_remove(random.usize(..network.len()));
                if random.f64() < loss { continue; }
                if random.f64() < 0.1 { network.push(packet.clone()); }
                match packet {
                    Packet::Data(number, message) => {
                        receiver.handle_data(number, message);
                        while let Some(message) = receiver.poll_deliver() { delivered.push(message); }
                        network.push(Packet::Acknowledge(receiver.acknowledgement()));
                    }
                    Packet::Acknowledge(below) => sender.handle_acknowledge(below),
                }
            }
            prop_assert_eq!(delivered, (0..count).collect::<Vec<_>>());
        }
    }

    #[test]
    fn timeouts_grow_and_shrink_again_with_the_next_acknowledgement() {
        let mut sender = LinkSender::default();
        sender.handle_send('a');
        for _ in 0..20 {
            assert_eq!(sender.handle_timeout(), [Packet::Data(0, 'a')]);
        }
        assert_eq!(sender.backoff(), MAX_BACKOFF);
        sender.handle_acknowledge(1);
        assert!(!sender.is_waiting() && sender.backoff() == 1);
    }
}
