//! Wiring: the edges of a topology's communicator in NIC memory ([`nic_emu::edge`]), where all members are on
//! one node.

use nic_emu::edge::{EdgeReader, EdgeWriter};
use nic_emu::port::Port;

/// The edges of a communicator, as this process knows them.
#[derive(Debug, Default)]
pub enum Wiring {
    /// Nobody has asked for them yet.
    #[default]
    Unmade,
    /// A call uses them.
    InUse,
    /// They are there.
    Made(Box<EdgeEnds>),
}

/// Both ends' edges, in the order of [`Neighbours`](super::Neighbours); none where what goes along them goes
/// as messages.
#[derive(Debug)]
pub struct EdgeEnds {
    /// Those that this process receives along.
    pub incoming: Box<[Option<EdgeReader>]>,
    /// Those that it sends along.
    pub outgoing: Box<[Option<EdgeWriter>]>,
}

impl EdgeEnds {
    /// Closes the edges: all that came along them was taken.
    pub fn close(&self, port: &mut Port) {
        self.incoming.iter().flatten().for_each(|edge| port.close_edge(edge));
    }
}
