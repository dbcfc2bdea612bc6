//! The other nodes, as the card names them.

use crate::window::Window;
use bcs_core::ids::NodeId;

/// Where the window of a node is, for the card.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Far {
    /// The virtual process number.
    pub process: u32,
    /// The address in this process that stands for the start of its window.
    base: *mut u8,
}

// SAFETY: the address is never followed here; it is a name for the card.
unsafe impl Send for Far {}

impl Far {
    /// The window that begins at this address.
    pub fn new(process: u32, base: *mut u8) -> Self {
        Self { process, base }
    }

    /// The address of a place in the window.
    pub fn at(&self, place: usize) -> *mut u8 {
        self.base.wrapping_add(place)
    }
}

/// This node's window and the windows of all nodes.
#[derive(Debug)]
pub(crate) struct Windows {
    /// This node.
    pub node: NodeId,
    /// Its window.
    pub own: Window,
    /// The windows of all nodes, by number.
    pub far: Vec<Far>,
}
