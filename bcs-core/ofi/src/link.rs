//! The link to one other node: where it stands, and what moves its bytes.
//!
//! ```text
//!        needed, or greeted        greeted by the other end              it leaves, all that it sent was taken
//!  Idle ────────────────────► Greeting ────────────────────────► Up ────────────────────────────► Departed
//!                                 │ a wrong greeting, a dead node  │ a write fails, a wrong signal    │ still needed
//!                                 └────────────► Broken ◄──────────┴──────────────────────────────────┘
//! ```
//!
//! Invariant: a broken link stays broken, and its node is dead.

use super::letter::Greeting;
use super::operation::{Operation, Purpose};
use super::receiver::{Receiver, SignalError};
use super::sender::{CreditError, Sender, Windows, Write};
use super::window::{Which, Window};
use bcs_core::ids::NodeId;
use bcs_libfabric::{Endpoint, FiAddr, Means, OfiError, Piece, Region, RemoteWrite, SignalOrder};
use bcs_link::{LinkFault, PROVEN_BYTES, SIGNAL_BYTES, digest};
use bcs_tcp::memory::OwnedEnd;
use bcs_tcp::message::Assembly;
use bcs_tcp::outbox::Outbox;
use std::collections::VecDeque;
use std::ptr::NonNull;
use std::time::Instant;

/// Where a link stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum LinkState {
    /// Nobody needed it yet.
    Idle,
    /// This end greets, and has not been greeted.
    Greeting,
    /// It carries messages.
    Up,
    /// The other end has left in order.
    Departed,
    /// It carries no more; why.
    Broken(String),
}

/// Messages of the tree protocol that have gone over a link, and records of the road.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LinkStatistics {
    /// Messages that were handed to the link.
    pub sent: u64,
    /// Messages that came out of it.
    pub received: u64,
    /// Records of the road that were handed to the link.
    pub records_sent: u64,
    /// Records of the road that came out of it.
    pub records_received: u64,
    /// Remote writes of data, of signals and of credit.
    pub writes: u64,
}

/// Why a link's writes cannot go on.
#[derive(Debug, thiserror::Error)]
pub(crate) enum WireFault {
    #[error(transparent)]
    Ofi(#[from] OfiError),
    #[error(transparent)]
    Link(#[from] LinkFault),
    #[error(transparent)]
    Credit(#[from] CreditError),
    #[error(transparent)]
    Signal(#[from] SignalError),
}

/// What moves the bytes of a link that is up.
#[derive(Debug)]
pub(crate) struct Wire {
    pub owned: OwnedEnd,
    pub assembly: Assembly,
    to: NodeId,
    address: FiAddr,
    remote: Greeting,
    order: SignalOrder,
    sender: Sender,
    receiver: Receiver,
    /// Since when writes wait without one that completes; none while none wait.
    pub waits_since: Option<Instant>,
}

impl Wire {
    /// The wire of a link whose ends have greeted each other.
    pub fn new(
        owned: OwnedEnd,
        to: NodeId,
        address: FiAddr,
        remote: Greeting,
        window: &Window,
        endpoint: &Endpoint<Operation>,
    ) -> Self {
        let windows = Windows {
            ring: remote.ring_bytes,
            slab: window.outgoing_slab().map(|bytes| bytes as u64),
            remote: remote.window_bytes,
            write: endpoint.promises().write_bytes as u64,
            proven: if endpoint.promises().has_pairs && remote.is_of_ring() { PROVEN_BYTES } else { 0 },
        };
        let order = endpoint.promises().order;
        Self {
            owned,
            assembly: Assembly::default(),
            to,
            address,
            remote,
            order,
            sender: Sender::new(order, windows),
            receiver: Receiver::new(window.bytes() as u64),
            waits_since: None,
        }
    }

    /// Posts what is to be written, as far as the provider takes it. How many writes it took.
    pub fn post(&mut self, window: &Window, endpoint: &mut Endpoint<Operation>) -> Result<u64, WireFault> {
        let mut posted = 0;
        if let Some(credit) = self.receiver.poll_credit(self.not_needed_to(window)) {
            let (signal, from, local) = window.outgoing_signal(Which::Credit);
            signal.write(credit);
            let write = self.write_of(self.signal(Which::Credit, from, local));
            let operation = Operation { to: self.to, purpose: Purpose::Credit };
            // SAFETY: the signal is written again only when the write is complete, and stays with the window,
            // which outlives the endpoint.
            if unsafe { endpoint.post(&write, operation) }? {
                self.receiver.handle_posted(credit);
                posted += 1;
            }
        }
        while let Some(next) = self.sender.poll_write(self.owned.end.appended_to()) {
            let (signal, signal_from, signal_local) = window.outgoing_signal(Which::Data);
            let signal_piece = self.signal(Which::Data, signal_from, signal_local);
            let write = match next {
                Write::Data { position, bytes } => self.write_of(self.data(window, position, bytes)),
                Write::Signal { position } => {
                    signal.write(position);
                    self.write_of(signal_piece)
                }
                Write::Proven { position, bytes } => {
                    let data = self.data(window, position, bytes);
                    // SAFETY: so many bytes lie there, from a multiple of 8 on.
                    let digest = unsafe { digest(data.from, data.bytes) };
                    signal.write_with(position + bytes, position, digest);
                    RemoteWrite { second: Some(signal_piece), ..self.write_of(data) }
                }
            };
            let operation = Operation { to: self.to, purpose: Purpose::Send(next) };
            // SAFETY: the sender's invariants; the memory stays with the window, which outlives the endpoint.
            if !unsafe { endpoint.post(&write, operation) }? {
                break;
            }
            self.sender.handle_posted(next);
            posted += 1;
        }
        self.owned.end.note_written(self.sender.written());
        Ok(posted)
    }

    /// What the completion of a write has to say.
    fn completion(&self) -> Means {
        match self.order {
            // The memory may be used again; that the write has arrived, the other end's credit says.
            SignalOrder::WriteAfterWrite => Means::Free,
            SignalOrder::Completion => Means::Delivered,
        }
    }

    /// Bytes of the ring, which the sender has named: they were appended, are not free, and no write is under
    /// way for their place.
    fn data<'a>(&self, window: &'a Window, position: u64, bytes: u64) -> Piece<'a> {
        // SAFETY: the sender's invariants.
        let (from, local) = unsafe { window.outgoing(position, bytes as usize) };
        let at = self.remote.window_at + position % self.remote.window_bytes;
        Piece { from, bytes: bytes as usize, local, at }
    }

    fn signal<'a>(&self, which: Which, from: NonNull<u8>, local: Option<&'a Region>) -> Piece<'a> {
        let at = self.remote.signals_at + which.offset() as u64;
        Piece { from, bytes: SIGNAL_BYTES, local, at }
    }

    fn write_of<'a>(&self, piece: Piece<'a>) -> RemoteWrite<'a> {
        RemoteWrite { to: self.address, piece, second: None, key: self.remote.key, means: self.completion() }
    }

    /// A write is complete.
    pub fn handle_complete(&mut self, purpose: Purpose) -> Result<(), WireFault> {
        match purpose {
            Purpose::Send(write) => self.sender.handle_complete(write),
            Purpose::Credit => self.receiver.handle_complete(),
        }
        self.waits_since = None;
        self.free()
    }

    fn free(&mut self) -> Result<(), WireFault> {
        Ok(self.owned.end.free_to(self.sender.free_to())?)
    }

    /// Looks at the signals: publishes records that have come, and frees what was taken at the other end.
    /// True when something has come.
    pub fn look(&mut self, window: &Window) -> Result<bool, WireFault> {
        let mut moved = false;
        if let Some(credit) = window.incoming_signal(Which::Credit).read()
            && credit != self.sender.acknowledged()
        {
            self.sender.handle_credit(credit)?;
            self.free()?;
            moved = true;
        }
        match window.slab {
            None => {
                let end = &self.owned.end;
                end.publish_signalled()?;
                // Another process may have published what has come.
                moved |= self.receiver.handle_signal(end.received_to())?.is_some();
            }
            Some(slab) => {
                if let Some(signal) = window.incoming_signal(Which::Data).read() {
                    moved |= self.receiver.handle_signal(signal)?.is_some();
                }
                let end = &self.owned.end;
                let (from, ring) = (end.received_to(), end.layout().ring_bytes() as u64);
                let to = self.receiver.signalled().min(end.taken_to() + ring);
                if to > from {
                    // SAFETY: all up to the signal has come, and is no more than a slab, or the signal would
                    // not have been taken. The ring has room up to what was taken.
                    unsafe { window.copy_incoming(slab, from, to) };
                    end.publish_to(to)?;
                    moved = true;
                }
            }
        }
        Ok(moved)
    }

    /// Up to where the window is not needed any more.
    fn not_needed_to(&self, window: &Window) -> u64 {
        match window.slab {
            None => self.owned.end.taken_to(),
            Some(_) => self.owned.end.received_to(),
        }
    }

    /// Whether writes are under way.
    pub fn is_under_way(&self) -> bool {
        self.sender.is_under_way() || self.receiver.is_under_way()
    }

    /// Whether there is something to write, or under way.
    pub fn has_work(&self) -> bool {
        self.is_under_way() || self.sender.poll_write(self.owned.end.appended_to()).is_some()
    }

    /// Whether the other end has seen all signals of this one, and this one all credit of the other.
    #[cfg(test)]
    pub fn is_level_with(&self, other: &Self) -> bool {
        self.sender.signalled() == other.receiver.signalled()
            && self.sender.acknowledged() == other.receiver.credited()
    }

    /// Whether all that was appended has been written, signalled and is complete.
    pub fn is_sent(&self) -> bool {
        self.sender.is_sent(self.owned.end.appended_to())
    }
}

/// A link.
#[derive(Debug)]
pub(crate) struct Link {
    pub state: LinkState,
    pub wire: Option<Box<Wire>>,
    /// The registered memory; from the greeting to the end of the fabric.
    pub window: Option<Window>,
    pub outbox: Outbox,
    pub statistics: LinkStatistics,
    /// Bytes of records that have come by the road and were not polled.
    pub unpolled: usize,
    /// Letters that wait for the links over which they go.
    pub letters: VecDeque<Vec<u8>>,
    /// The other end leaves, and has sent all up to this position.
    pub farewell: Option<u64>,
    /// This end has said that it leaves, and whether the other one has answered.
    pub is_leaving: bool,
    pub is_answered: bool,
    /// A write has failed, and it is not known yet whether the other end has left in order.
    pub failure: Option<(String, Instant)>,
}

impl Link {
    /// A link in a network of so many members.
    pub fn new(members: usize) -> Self {
        Self {
            state: LinkState::Idle,
            wire: None,
            window: None,
            outbox: Outbox::new(members),
            statistics: LinkStatistics::default(),
            unpolled: 0,
            letters: VecDeque::new(),
            farewell: None,
            is_leaving: false,
            is_answered: false,
            failure: None,
        }
    }

    /// It carries nothing any more, for any process of the node.
    pub fn take_down(&mut self, state: LinkState) {
        if let Some(mut wire) = self.wire.take() {
            wire.owned.end.wipe();
        }
        self.state = state;
    }

    /// Whether it is up.
    pub fn is_up(&self) -> bool {
        self.state == LinkState::Up
    }

    /// Whether it will carry nothing more.
    pub fn is_over(&self) -> bool {
        matches!(self.state, LinkState::Departed | LinkState::Broken(_))
    }
}
