//! What this node knows of another one, as far as messages between them go: whoever holds the run token
//! sends and takes them, the NIC thread or a rank that waits.

use crate::memory::{Word, Word64};

/// What this node knows of another one; processor only.
#[repr(C, align(64))]
pub struct NodeState {
    /// Bytes of slabs that travelled there with their descriptors, of messages that are not matched.
    pub ahead: Word64,
    /// Records for it that the NIC thread has not handed to the link: no descriptor goes past them.
    pub waiting: Word,
    /// Descriptors of it that the NIC thread has not found room for: none that came later goes past them.
    pub inbox: Word,
    /// The weight of records that ranks have put into the link, and for which nobody waits, since one for
    /// which somebody does.
    pub patient: Word,
    /// Grants of it that the NIC thread has not carried out: a rank carries out none that came later.
    pub grants: Word,
    /// Records of data for it that the NIC thread has not handed to the link: no data goes past them.
    pub data: Word,
    /// Bytes that it was asked for, of landings, and that have not come.
    pub granted: Word64,
    _pad: [u32; 6],
}

const _: () = assert!(size_of::<NodeState>() == 64);
