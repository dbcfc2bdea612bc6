//! A party: the members of a communicator in one collective operation.
//!
//! It takes its number when the operation is called, which is the order in which operations of a communicator match. Messages of the operation
//! are in the communicator's odd context; their tag is made of the operation's number and of the call, so that those of two operations under
//! way never meet, and an operation that some members do not call waits for them rather than take another's messages. Between two
//! members messages keep their order (§3.5).

use super::task::with;
use crate::api::{Mode, Received, bcs_recv, bcs_send};
use crate::communicator::meeting::Arrival;
use crate::constants::MPI_Comm;
use crate::error::{MpiError, MpiResult, Problem};
use crate::group::Group;
use crate::process::Process;
use mds::Primitive;
use nic_emu::board::Board;
use nic_emu::matching::Envelope;
use nic_emu::port::{Collective, PortError, Release, Send};
use nic_emu::status::{NOBODY, WaitingFor};
use std::pin::Pin;
use std::task::{Context, Poll};

/// Bits of a tag that name the call.
const CALL_BITS: u32 = 8;
const _: () = assert!(Primitive::COUNT <= 1 << CALL_BITS, "a tag has no room for more calls");

/// The members of a communicator in one collective operation.
#[derive(Clone, Debug)]
pub struct Party {
    /// The communicator.
    pub comm: MPI_Comm,
    /// This process's rank.
    pub rank: u32,
    /// Members.
    pub size: u32,
    context: u32,
    sequence: u32,
    call: Primitive,
    group: Group,
    local: (u16, u16),
}

impl Party {
    /// This process in the next collective operation of a communicator, called by `call`.
    ///
    /// # Errors
    /// No such communicator.
    pub fn join(process: &mut Process, comm: MPI_Comm, call: Primitive) -> MpiResult<Self> {
        let communicator = process.communicator_mut(comm)?;
        let sequence = communicator.sequence;
        communicator.sequence = sequence.wrapping_add(1);
        Ok(Self {
            comm,
            rank: communicator.rank,
            size: communicator.size,
            context: communicator.context + 1,
            sequence,
            call,
            group: communicator.group.clone(),
            local: communicator.local,
        })
    }

    /// What a hang report says of a rank that waits for the operation.
    pub fn waiting(&self) -> WaitingFor {
        WaitingFor {
            call: self.call.index() as u32,
            context: self.context,
            peer: NOBODY,
            peer_in_job: NOBODY,
            requests: 1,
            ..WaitingFor::default()
        }
    }

    fn tag(&self) -> i32 {
        ((self.sequence << CALL_BITS | self.call.index() as u32) & i32::MAX as u32) as i32
    }

    /// The other members, from the next one on.
    pub fn others(&self) -> impl Iterator<Item = u32> + use<> {
        let (rank, size) = (self.rank, self.size);
        (1..size).map(move |step| (rank + step) % size)
    }

    /// Posts a send to a member.
    ///
    /// # Safety
    /// `data` must be readable for `bytes` bytes until the answer is ready.
    ///
    /// # Errors
    /// The NIC fails.
    pub unsafe fn post_send(&self, to: u32, data: *const u8, bytes: usize) -> MpiResult<Pending> {
        with(|process| {
            let send = Send {
                context: self.context,
                source: self.rank,
                tag: self.tag(),
                destination: self.group.job_rank(to),
                synchronous: false,
            };
            // SAFETY: the caller's promise.
            let posted = unsafe {
                bcs_send(process, self.call, &send, (to, self.comm), data, bytes, Mode::NonBlocking)?
            };
            Ok(Pending { nic: posted.map(|request| request.0), room: None })
        })
    }

    /// Posts a receive from a member.
    ///
    /// # Safety
    /// `data` must be writable for `bytes` bytes, and used by nobody else, until the answer is ready.
    ///
    /// # Errors
    /// The NIC fails.
    pub unsafe fn post_receive(&self, from: u32, data: *mut u8, bytes: usize) -> MpiResult<Pending> {
        with(|process| {
            let envelope = Envelope { context: self.context, source: from, tag: self.tag() };
            let peer = self.group.job_rank(from);
            // SAFETY: the caller's promise.
            let received = unsafe {
                bcs_recv(process, self.call, &envelope, (peer, self.comm), data, bytes, Mode::NonBlocking)?
            };
            let nic = match received {
                Received::Request(request) => Some(request.0),
                Received::Complete(_) => None,
            };
            Ok(Pending { nic, room: Some(bytes as u64) })
        })
    }

    /// Sends bytes to a member.
    ///
    /// # Errors
    /// The NIC fails.
    pub async fn send(&self, to: u32, bytes: &[u8]) -> MpiResult {
        // SAFETY: the bytes are borrowed until the send is complete.
        unsafe { self.post_send(to, bytes.as_ptr(), bytes.len())? }.await
    }

    /// Receives bytes from a member.
    ///
    /// # Errors
    /// It sent more; the NIC fails.
    pub async fn receive(&self, from: u32, bytes: &mut [u8]) -> MpiResult {
        // SAFETY: the bytes are borrowed until the receive is complete.
        unsafe { self.post_receive(from, bytes.as_mut_ptr(), bytes.len())? }.await
    }

    /// Has the NIC carry out the whole operation with a contribution that rides in the descriptor; answers the first bytes of the result,
    /// as far as there is room in `result`.
    ///
    /// # Errors
    /// The NIC fails.
    pub async fn on_nic(&self, arrival: Arrival, contribution: &[u8], result: &mut [u8]) -> MpiResult {
        let wanted = !result.is_empty() || arrival.kind == nic_emu::descriptor::CollectiveKind::Barrier;
        let request = with(|process| {
            let collective = Collective {
                kind: arrival.kind,
                operation: arrival.operation,
                context: self.context,
                comm: (self.rank, self.size),
                root: arrival.root,
                call: self.call.index() as u8,
                most_bytes: arrival.most_bytes as u64,
                sequence: self.sequence,
                local: self.local,
            };
            let (data, bytes) = (contribution.as_ptr(), contribution.len());
            // SAFETY: a slice is readable, and borrowed until the release.
            let request = unsafe { process.port.post_collective(&collective, data, bytes, wanted)? };
            process.port.nudge(true)?;
            Ok(request)
        })?;
        let Some(request) = request else { return Ok(()) };
        let release =
            std::future::poll_fn(|_| match with(|process| Ok(process.port.test_collective(request)?)) {
                Ok(None) => Poll::Pending,
                Ok(Some(release)) => Poll::Ready(Ok(release)),
                Err(error) => Poll::Ready(Err(error)),
            })
            .await?;
        match release {
            Release::Result(payload) => {
                let bytes = result.len().min(payload.len());
                result[..bytes].copy_from_slice(&payload[..bytes]);
                Ok(())
            }
            Release::Instance(instance) => with(|process| {
                let memory = process.port.memory().clone();
                let board = Board::new(&memory, instance).map_err(PortError::from)?;
                let (to, bytes) = (result.as_mut_ptr(), result.len());
                // SAFETY: the result is a slice of so many bytes.
                unsafe { board.read(board.result().unwrap_or(0), 0, to, bytes) }.map_err(PortError::from)?;
                board.depart(instance);
                Ok(())
            }),
        }
    }
}

/// A message that is under way.
#[must_use = "its memory is in use until it is ready"]
#[derive(Debug)]
pub struct Pending {
    /// The NIC's request; none once it is complete.
    nic: Option<u32>,
    /// Room for it, if it is received.
    room: Option<u64>,
}

impl Pending {
    fn look(&mut self) -> Poll<MpiResult> {
        let Some(request) = self.nic else { return Poll::Ready(Ok(())) };
        let outcome = match with(|process| Ok(process.port.test(request)?)) {
            Ok(None) => return Poll::Pending,
            Ok(Some(outcome)) => outcome,
            Err(error) => return Poll::Ready(Err(error)),
        };
        self.nic = None;
        match self.room {
            Some(room) if outcome.bytes > room => Poll::Ready(Err(MpiError::new(Problem::Truncated {
                sent: outcome.bytes,
                room,
                from: outcome.source as i32,
                tag: 0,
            }))),
            _ => Poll::Ready(Ok(())),
        }
    }
}

impl Future for Pending {
    type Output = MpiResult;

    fn poll(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<MpiResult> {
        self.look()
    }
}

/// Messages that are under way together.
#[derive(Debug, Default)]
pub struct Join {
    pending: Vec<Pending>,
}

impl Join {
    /// None yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// One more.
    pub fn add(&mut self, message: Pending) {
        if message.nic.is_some() {
            self.pending.push(message);
        }
    }

    /// Waits for all; answers the first error once none is under way any more.
    ///
    /// # Errors
    /// Any of theirs.
    pub async fn all(mut self) -> MpiResult {
        let mut result = Ok(());
        std::future::poll_fn(|_| {
            self.pending.retain_mut(|message| match message.look() {
                Poll::Pending => true,
                Poll::Ready(Ok(())) => false,
                Poll::Ready(Err(error)) => {
                    if result.is_ok() {
                        result = Err(error);
                    }
                    false
                }
            });
            if self.pending.is_empty() { Poll::Ready(()) } else { Poll::Pending }
        })
        .await;
        result
    }
}
