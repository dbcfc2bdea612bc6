//! One QUIC connection: its streams, read and written in frames.
//!
//! Each end opens two one-way streams, the first for the control lane, the second for the bulk lane; more are
//! not allowed. QUIC sends what is in the first before what is in the second. The end that accepts begins
//! with a [`Hello`]; before that, the end that dials sends nothing, because its dial may not be the one that
//! counts. Invariant: nothing is handed on before the peer has proved who it is.

use super::frame::{FrameBatch, FrameReader, Taken};
use super::host::Inquiry;
use super::link::Link;
use bcs_core::ids::NodeId;
use bcs_core::wire::{WireError, WireMessage};
use bcs_fabric::tree::{Backlog, Lane, LaneReceiver, Message, ProtocolError};
use bytes::Bytes;
use quinn_proto::{Dir, FinishError, ReadError, ReadableError, StreamId, VarInt, WriteError};
use rkyv::{Archive, Deserialize, Serialize};
use std::time::Instant;

/// Why a connection is closed, as its other end is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum CloseCode {
    /// The node leaves in order: all that it sent was acknowledged.
    Orderly = 0,
    /// The peer is not a member of this network.
    Stranger = 1,
    /// The peer does not keep the protocol.
    Protocol = 2,
    /// There is another connection for this link.
    Crossed = 3,
    /// The peer has been declared dead: it takes no further part.
    DeclaredDead = 4,
    /// The node itself takes no further part.
    Resigned = 5,
    /// The peer took too long.
    Late = 6,
}

impl CloseCode {
    pub fn is(self, code: VarInt) -> bool {
        code.into_inner() == self as u64
    }
}

/// What the end that accepts says first: who both are. An end whose roster says otherwise goes no further.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Archive, Serialize, Deserialize)]
pub struct Hello {
    /// The network.
    pub network: u128,
    /// The end that accepts.
    pub from: NodeId,
    /// The end that dials.
    pub to: NodeId,
}

impl WireMessage for Hello {
    const NAME: &'static str = "hello";
    const MAX_BYTES: usize = 256;
}

/// Where a connection stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// Until both have proved who they are, or until a time.
    Shaking(Instant),
    /// The dial is answered; until the other end says hello, or until a time.
    Greeting(Instant),
    /// It carries the messages of a link.
    Up,
    /// It is closed, and lingers until the other end has surely heard so.
    Over,
}

/// Why a peer is not heard any longer.
#[derive(Debug, thiserror::Error)]
pub enum PeerFault {
    #[error(transparent)]
    Wire(#[from] WireError),
    #[error(transparent)]
    Protocol(#[from] ProtocolError),
    #[error("it reset a stream")]
    Reset,
    #[error("it stopped a stream")]
    Stopped,
    #[error("it does not take the answers that it asks for, of which {answers} wait")]
    Deaf { answers: usize },
    #[error("it greets {greeted:?}, where {expected:?} was expected; the rosters differ")]
    Greeting { greeted: Hello, expected: Hello },
}

/// When the other end of a connection was heard last.
#[derive(Clone, Copy, Debug)]
pub struct Heard {
    /// Frames that came then, of those that QUIC's other end sends when it is driven.
    frames: u64,
    pub at: Instant,
}

/// A connection.
#[derive(Debug)]
pub struct Connection {
    pub quic: quinn_proto::Connection,
    pub stage: Stage,
    /// The node at the other end: the one that was dialled, or that has proved to be it.
    pub peer: Option<NodeId>,
    /// When it wants to be driven next; as it stands in the driver's table.
    pub timer: Option<Instant>,
    /// It is in the driver's list of connections to be driven.
    pub is_marked: bool,
    /// As [`Self::note_heard`] has found it, where hosts are asked.
    pub heard: Heard,
    /// What is asked about the node's host, while the node is silent.
    pub inquiry: Option<Box<Inquiry>>,
    /// The node is silent, and its host answers.
    pub is_stopped: bool,
    /// The other end has said that nothing more will come.
    pub is_departing: bool,
    /// This end has, and so much of it has been acknowledged.
    pub finished: [bool; 2],
    pub acknowledged: [bool; 2],
    outgoing: Option<[StreamId; 2]>,
    /// Frames that the stream has not taken yet.
    pending: [FrameBatch; 2],
    incoming: [Option<StreamId>; 2],
    readers: [FrameReader; 2],
    lanes: LaneReceiver,
    /// A frame that came in the bulk lane, but may not be delivered yet.
    held: Option<Taken>,
    /// By lane: what was read of its stream, but not yet looked at.
    rest: [Bytes; 2],
}

impl Connection {
    pub fn new(quic: quinn_proto::Connection, peer: Option<NodeId>, now: Instant, until: Instant) -> Self {
        Self {
            quic,
            stage: Stage::Shaking(until),
            peer,
            timer: None,
            is_marked: false,
            heard: Heard { frames: 0, at: now },
            inquiry: None,
            is_stopped: false,
            is_departing: false,
            finished: [false; 2],
            acknowledged: [false; 2],
            outgoing: None,
            pending: Default::default(),
            incoming: [None; 2],
            readers: Default::default(),
            lanes: LaneReceiver::default(),
            held: None,
            rest: Default::default(),
        }
    }

    /// When the connection is given up, if nothing happens.
    pub fn deadline(&self) -> Option<Instant> {
        match self.stage {
            Stage::Shaking(until) | Stage::Greeting(until) => Some(until),
            Stage::Up | Stage::Over => None,
        }
    }

    /// Looks whether something has come since it was called last. What counts has been authenticated.
    pub fn note_heard(&mut self, now: Instant) {
        let stats = self.quic.stats().frame_rx;
        let frames = stats.acks + stats.ping + stats.stream;
        if frames != self.heard.frames {
            self.heard = Heard { frames, at: now };
        }
    }

    /// The other end has opened streams.
    pub fn accept_streams(&mut self) {
        while let Some(id) = self.quic.streams().accept(Dir::Uni) {
            // The transport allows two, so there are no others.
            if let Some(incoming) = self.incoming.get_mut(id.index() as usize) {
                *incoming = Some(id);
            }
        }
    }

    /// Opens this end's streams, if that has not been done.
    pub fn open_streams(&mut self) {
        if self.outgoing.is_some() {
            return;
        }
        let streams = [self.quic.streams().open(Dir::Uni), self.quic.streams().open(Dir::Uni)];
        let [Some(control), Some(bulk)] = streams else { return };
        // A stream that was just opened has a priority to set.
        let _ = self.quic.send_stream(control).set_priority(1);
        self.outgoing = Some([control, bulk]);
    }

    /// Says hello, before anything else.
    ///
    /// # Errors
    /// A greeting is never too long.
    pub fn greet(&mut self, hello: &Hello) -> Result<(), WireError> {
        self.pending[Lane::Control as usize].push_head(0, hello, 0)
    }

    /// A stream of this end is acknowledged to its end.
    pub fn count_acknowledged(&mut self, id: StreamId) {
        for (lane, stream) in self.outgoing.iter().flatten().enumerate() {
            self.acknowledged[lane] |= *stream == id;
        }
    }

    /// Whether all that was sent, to the end of both streams, has been acknowledged.
    pub fn is_acknowledged(&self) -> bool {
        self.acknowledged == [true; 2]
    }

    /// Whether frames wait that the streams did not take.
    pub fn has_pending(&self) -> bool {
        self.pending.iter().any(|pending| pending.bytes() > 0)
    }

    /// Writes as much as the streams take.
    ///
    /// # Errors
    /// The peer has broken the protocol of the streams, or a message cannot travel.
    pub fn write(&mut self, node: NodeId, link: &mut Link, backlog: &mut Backlog) -> Result<(), PeerFault> {
        let Some(streams) = self.outgoing else { return Ok(()) };
        for lane in [Lane::Control, Lane::Bulk] {
            let pending = &mut self.pending[lane as usize];
            let mut stream = self.quic.send_stream(streams[lane as usize]);
            loop {
                link.pop_frames(node, lane, backlog, pending)?;
                if pending.bytes() == 0 {
                    break;
                }
                match stream.write_chunks(pending.pieces()) {
                    Ok(written) => pending.count_written(written.bytes, written.chunks),
                    Err(WriteError::Blocked | WriteError::ClosedStream) => break,
                    Err(WriteError::Stopped(_)) => return Err(PeerFault::Stopped),
                }
            }
        }
        link.untaken_answers().map_or(Ok(()), |answers| Err(PeerFault::Deaf { answers }))
    }

    /// Ends this end's streams, once nothing waits to be written.
    ///
    /// # Errors
    /// The peer has broken the protocol of the streams.
    pub fn finish(&mut self) -> Result<(), PeerFault> {
        let Some(streams) = self.outgoing else { return Ok(()) };
        for (lane, id) in streams.into_iter().enumerate() {
            if self.finished[lane] || self.pending[lane].bytes() > 0 {
                continue;
            }
            match self.quic.send_stream(id).finish() {
                Ok(()) | Err(FinishError::ClosedStream) => self.finished[lane] = true,
                Err(FinishError::Stopped(_)) => return Err(PeerFault::Stopped),
            }
        }
        Ok(())
    }

    /// Reads the other end's hello, when it is there.
    ///
    /// # Errors
    /// What came is none.
    pub fn read_hello(&mut self) -> Result<Option<Hello>, PeerFault> {
        let control = Lane::Control as usize;
        let Some(id) = self.incoming[control] else { return Ok(None) };
        let (reader, rest) = (&mut self.readers[control], &mut self.rest[control]);
        let mut hello = None;
        self.is_departing |= read_stream(&mut self.quic, id, |mut bytes| {
            if let Some((_, greeted)) = reader.take_plain(&mut bytes)? {
                hello = Some(greeted);
                // Behind it come the first messages.
                *rest = bytes;
            }
            Ok(hello.is_none())
        })?;
        Ok(hello)
    }

    /// Reads what has come, and hands on its messages, with whether each ends its frame. `may_read_bulk` is
    /// asked before each piece of bulk. False when it refused and something may be left.
    ///
    /// # Errors
    /// The peer does not keep the protocol; nothing more of it is to be read.
    pub fn read(
        &mut self,
        mut deliver: impl FnMut(Message, bool) -> Result<(), ProtocolError>,
        may_read_bulk: impl Fn() -> bool,
    ) -> Result<bool, PeerFault> {
        let control = Lane::Control as usize;
        if let Some(id) = self.incoming[control] {
            let (reader, lanes) = (&mut self.readers[control], &mut self.lanes);
            let mut take = |mut bytes: Bytes| {
                while let Some(Taken { message, is_last, .. }) = reader.take(&mut bytes)? {
                    if is_last {
                        lanes.count_control();
                    }
                    deliver(message, is_last)?;
                }
                Ok(true)
            };
            take(std::mem::take(&mut self.rest[control]))?;
            self.is_departing |= read_stream(&mut self.quic, id, take)?;
        }
        let bulk = Lane::Bulk as usize;
        let Some(id) = self.incoming[bulk] else { return Ok(true) };
        let (reader, lanes, rest) = (&mut self.readers[bulk], self.lanes, &mut self.rest[bulk]);
        let left = std::mem::take(rest);
        let mut is_refused = false;
        let held = &mut self.held;
        let mut take = |mut bytes: Bytes| {
            loop {
                let taken = match held.take() {
                    Some(held) => held,
                    None => match reader.take(&mut bytes)? {
                        Some(taken) => taken,
                        None => return Ok(true),
                    },
                };
                is_refused = !may_read_bulk();
                if is_refused || !lanes.may_deliver(taken.stamp) {
                    *held = Some(taken);
                    *rest = bytes;
                    return Ok(false);
                }
                deliver(taken.message, taken.is_last)?;
            }
        };
        if take(left)? {
            read_stream(&mut self.quic, id, take)?;
        }
        Ok(!is_refused)
    }
}

/// Hands over what a stream has, piece by piece, while `take` wants more. True when the stream has ended.
fn read_stream(
    quic: &mut quinn_proto::Connection,
    id: StreamId,
    mut take: impl FnMut(Bytes) -> Result<bool, PeerFault>,
) -> Result<bool, PeerFault> {
    let mut stream = quic.recv_stream(id);
    let mut chunks = match stream.read(true) {
        Ok(chunks) => chunks,
        // It has ended, and that has been read.
        Err(ReadableError::ClosedStream | ReadableError::IllegalOrderedRead) => return Ok(false),
    };
    let result = loop {
        match chunks.next(usize::MAX) {
            Ok(Some(chunk)) => match take(chunk.bytes) {
                Ok(true) => {}
                Ok(false) => break Ok(false),
                Err(fault) => break Err(fault),
            },
            Ok(None) => break Ok(true),
            Err(ReadError::Blocked) => break Ok(false),
            Err(ReadError::Reset(_)) => break Err(PeerFault::Reset),
        }
    };
    // The connection is polled for what to send after every read anyway.
    let _ = chunks.finalize();
    result
}
