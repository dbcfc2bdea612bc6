//! What a request waits for that is more than a slot of the NIC, and what it is made of: a pair of messages,
//! a flush of an attached buffer, an operation of several steps, one that is started many times.
//!
//! A persistent request (MPI-5.0, §3.9; of collectives §6.13) has its arguments bound once. It is inactive,
//! then a start makes it active, then the call that completes it makes it inactive again; its handle stays
//! until MPI_Request_free. What is started is an ordinary [`State`], which a [`Starter`] makes anew each
//! time.

use super::finished::Finished;
use super::generalized::Generalized;
use super::status::Status;
use super::steps::{self, Steps, UnderWay};
use crate::constants::MPI_Comm;
use crate::error::MpiResult;
use crate::object::attached_buffer::{AttachedBuffers, Level};
use crate::object::communicators::Communicators;
use crate::object::datatype::buffer::Staged;
use nic_emu::memory::numbers::RequestId;
use nic_emu::outstanding::About;
use nic_emu::port::Port;
use nic_emu::status::WaitingFor;
use std::any::Any;
use std::cell::RefCell;
use std::rc::Rc;

/// The parts of the process that operations of requests work with.
pub struct Parts<'a> {
    /// The port to the NIC.
    pub port: &'a mut Port,
    /// The communicators.
    pub communicators: &'a mut Communicators,
    /// The buffers of buffered sends.
    pub attached: &'a mut AttachedBuffers,
}

/// What a request that is more than a slot of the NIC waits for.
pub enum State {
    /// Nothing: it completed when it was posted, or its end was seen before.
    Complete(Finished),
    /// A send, by the NIC's request, and its bytes, packed.
    Send(RequestId, Box<[u8]>),
    /// A receive, by the NIC's request, and where it is unpacked from, if it must be.
    Receive(RequestId, Option<Box<Staged>>),
    /// A send and a receive.
    Pair(Box<Pair>),
    /// Messages of an attached buffer.
    Flush(Box<Flush>),
    /// Several messages of one operation.
    Several(Rc<RefCell<dyn Several>>),
    /// An operation of several steps.
    Steps(Box<UnderWay>),
    /// An operation that is started many times.
    Persistent(Box<Persistent>),
    /// An operation of the program.
    Generalized(Box<Generalized>),
}

impl State {
    /// The same of an operation that nobody else takes part in.
    pub(crate) fn alone(mut self) -> Self {
        if let State::Steps(steps) = &mut self {
            steps.lasting = None;
        }
        self
    }

    /// What a hang report says of a rank that waits for it; none where it has nothing of its own to say.
    pub(crate) fn waits_for(&self) -> Option<WaitingFor> {
        match self {
            State::Flush(flush) => Some(flush.what),
            State::Several(messages) => Some(messages.borrow().what()),
            State::Steps(steps) => Some(steps.what),
            State::Persistent(persistent) => persistent.active.as_ref()?.waits_for(),
            _ => None,
        }
    }

    /// What is under way and can be neither freed nor cancelled: a collective operation (§6.12), or a
    /// partitioned one (§4.2); none if nothing of these is.
    pub(crate) fn lasting(&self) -> Option<&'static str> {
        match self {
            State::Several(_) => Some(steps::PARTITIONED),
            State::Steps(steps) => steps.lasting,
            State::Persistent(persistent) => persistent.active.as_ref().and_then(State::lasting),
            _ => None,
        }
    }

    /// The NIC's request, where there is one.
    #[inline]
    pub(crate) fn nic(&self) -> Option<RequestId> {
        match self {
            State::Send(nic, _) | State::Receive(nic, _) => Some(*nic),
            State::Persistent(persistent) => persistent.active.as_ref().and_then(State::nic),
            _ => None,
        }
    }

    /// Of several messages, one that is under way; none where there is none, or it is another operation.
    pub(crate) fn one_of_several(&self) -> Option<RequestId> {
        match self {
            State::Several(messages) => messages.borrow().under_way(),
            State::Persistent(persistent) => persistent.active.as_ref()?.one_of_several(),
            _ => None,
        }
    }

    /// Of an operation that is complete and has nothing to tell.
    pub const fn nothing() -> Self {
        State::Complete(Finished::well(Status::EMPTY))
    }

    /// Looks whether what it waits for is complete; after that it has nothing to tell any more.
    ///
    /// # Errors
    /// What ends the job.
    #[inline]
    pub(crate) fn look(&mut self, parts: &mut Parts<'_>) -> MpiResult<Option<Finished>> {
        match self {
            State::Complete(finished) => Ok(Some(std::mem::replace(finished, Finished::well(Status::EMPTY)))),
            State::Send(nic, _) => Ok(parts.port.test(*nic)?.as_ref().map(Finished::sent)),
            State::Receive(nic, staged) => {
                let about = parts.port.requests().about(*nic).copied().unwrap_or(About::NOTHING);
                let Some(outcome) = parts.port.test(*nic)? else { return Ok(None) };
                let (comm, room) = (MPI_Comm(about.owner as usize), (about.bytes, about.signature));
                let finished = Finished::received(parts.communicators, comm, &outcome, room);
                finished.status.note(comm);
                if let Some(staged) = staged {
                    // SAFETY: the request is complete only now, so its buffer is still the library's to
                    // write.
                    unsafe { staged.unpack(finished.status.bytes as usize) };
                }
                Ok(Some(finished))
            }
            State::Persistent(persistent) => match &mut persistent.active {
                Some(active) => active.look(parts),
                None => Ok(Some(Finished::well(Status::EMPTY))),
            },
            State::Pair(pair) => pair.look(parts),
            State::Flush(flush) => ended(flush.look(parts)),
            State::Several(messages) => ended(messages.borrow_mut().look(parts.port)),
            State::Steps(steps) => ended(steps.take_end()),
            State::Generalized(generalized) => {
                let callbacks = generalized.complete.then(|| Box::new(generalized.callbacks));
                Ok(callbacks
                    .is_some()
                    .then(|| Finished { generalized: callbacks, ..Finished::well(Status::EMPTY) }))
            }
        }
    }
}

/// The end of an operation that answers this.
fn ended(result: MpiResult<Option<Status>>) -> MpiResult<Option<Finished>> {
    match result {
        Ok(status) => Ok(status.map(Finished::well)),
        Err(error) if error.problem().ends_job() => Err(error),
        Err(error) => Ok(Some(Finished::failed(error))),
    }
}

/// A send and a receive that are under way under one request (MPI-5.0, §3.10): it is complete when both are,
/// and its status is the receive's.
pub struct Pair {
    /// The send.
    pub send: State,
    /// The receive.
    pub receive: State,
}

impl Pair {
    fn look(&mut self, parts: &mut Parts<'_>) -> MpiResult<Option<Finished>> {
        for state in [&mut self.send, &mut self.receive] {
            if let Some(finished) = state.look(parts)? {
                *state = State::Complete(finished);
            }
        }
        let is_over = |state: &State| matches!(state, State::Complete(_));
        if is_over(&self.send) && is_over(&self.receive) { self.receive.look(parts) } else { Ok(None) }
    }
}

/// Several messages of one operation. All of them were posted, or are the program's to post: nobody has to do
/// anything for the operation but look.
pub trait Several {
    /// Looks whether it is over; after that it has nothing to tell any more.
    ///
    /// # Errors
    /// What it has failed with, and what the NIC does.
    fn look(&mut self, port: &mut Port) -> MpiResult<Option<Status>>;

    /// One of the messages that are under way, if there are some.
    fn under_way(&self) -> Option<RequestId>;

    /// What a hang report says of a rank that waits for it.
    fn what(&self) -> WaitingFor;
}

/// A flush of an attached buffer that is under way.
pub struct Flush {
    /// Whose buffer.
    pub(crate) level: Level,
    /// The number of the first message that it does not wait for.
    pub(crate) before: u64,
    /// What a hang report says of a rank that waits for it.
    pub(crate) what: WaitingFor,
}

impl Flush {
    fn look(&mut self, parts: &mut Parts<'_>) -> MpiResult<Option<Status>> {
        let Some(buffer) = parts.attached.get(self.level) else { return Ok(Some(Status::EMPTY)) };
        buffer.reap(parts.port)?;
        Ok((!buffer.has_before(self.before)).then_some(Status::EMPTY))
    }
}

/// What starting a persistent request has begun.
pub enum Begun {
    /// What waits for the NIC alone, or for nothing.
    Messages(State),
    /// An operation of several steps, which is still to be advanced.
    Steps(Steps),
}

/// Makes the operation of a persistent request, each time that it is started. Calls about requests of one
/// kind find out by [`Any`] whether one is of theirs.
pub trait Starter: Any {
    /// Starts the operation. Nothing is started where it fails.
    ///
    /// # Errors
    /// What the operation cannot be started for.
    fn start(&mut self, parts: &mut Parts<'_>) -> MpiResult<Begun>;

    /// Takes back what [`Self::start`] gave away, once the operation is complete: a buffer, to be used again.
    fn take_back(&mut self, _state: State) {}

    /// The request is freed: answers what is still to be done about that.
    fn close(&mut self) -> Option<Steps> {
        None
    }
}

/// What a persistent request is.
pub struct Persistent {
    /// What starts it.
    pub(crate) starter: Box<dyn Starter>,
    /// What was started and is not completed.
    pub(crate) active: Option<State>,
}

impl Persistent {
    /// Makes the request inactive: its operation was completed by a call of the program.
    pub(crate) fn end(&mut self) {
        if let Some(state) = self.active.take() {
            self.starter.take_back(state);
        }
    }
}
