//! The calls that read and write files (MPI-5.0, §14.4).
//!
//! They differ in where they access the file ([`Position`]), whether all members make them together, in how
//! they end ([`Form`]), and in the direction of the bytes. All of them are made here.

use super::check::{check_no_split, check_written, sequential_only, too_far};
use super::collective::{Joint, access as access_together, by_itself};
use super::direction::Direction;
use super::independent::{self, Manner};
use super::memory::{Side, etypes};
use super::shared_pointer;
use crate::constants::*;
use crate::error::{MpiError, MpiResult};
use crate::object::datatype::buffer::Elements;
use crate::object::file::view::{Region, TooFar};
use crate::object::file::{File, Split};
use crate::object::request::{State, Status, Statuses};
use crate::process::{self, Guard, drive, with};
use crate::progress::{Joins, Party};
use mds::Primitive;
use nic_emu::status::WaitingFor;
use std::ffi::c_void;

/// Where a call accesses a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Position {
    /// At this etype of the view.
    At(MPI_Offset),
    /// At the process's pointer.
    Own,
    /// At the pointer of all members.
    Shared,
}

/// How a call ends.
#[derive(Clone, Copy)]
pub enum Form {
    /// When the access has been made; the status says how much it was.
    Blocking(Statuses),
    /// At once, with a request.
    NonBlocking,
    /// At once; another call waits for the access that this one, of this name, has begun.
    Begin(&'static str),
}

/// A call that accesses a file.
#[derive(Clone, Copy)]
pub struct Call {
    /// Which it is, as hang reports name it.
    pub primitive: Primitive,
    /// The file.
    pub file: MPI_File,
    /// Where.
    pub position: Position,
    /// All members make it together.
    pub is_collective: bool,
    /// How it ends.
    pub form: Form,
}

impl Call {
    /// Whether the file is open for it.
    fn check(&self, open: &File, direction: Direction) -> MpiResult {
        sequential_only(open, self.position == Position::Shared)?;
        if self.is_collective {
            check_no_split(open)?;
        }
        if let Position::At(offset @ ..0) = self.position {
            return Err(MpiError::argument(MPI_ERR_ARG, "offset", offset, "it must be 0 or more"));
        }
        match direction {
            Direction::Write => check_written(open),
            Direction::Read if open.has(MPI_MODE_WRONLY) => {
                let allowed = "it was opened with MPI_MODE_WRONLY, and so is not read";
                Err(open.out_of_order(MPI_ERR_ACCESS, allowed))
            }
            Direction::Read => Ok(()),
        }
    }

    /// The call by which members meet. One member may access the file at an offset while others do at their
    /// pointers: libraries have the one where there is something to access, the other where there is not.
    fn meets(&self) -> Primitive {
        match self.primitive {
            Primitive::FileReadAtAll => Primitive::FileReadAll,
            Primitive::FileIreadAtAll => Primitive::FileIreadAll,
            Primitive::FileReadAtAllBegin => Primitive::FileReadAllBegin,
            Primitive::FileWriteAtAll => Primitive::FileWriteAll,
            Primitive::FileIwriteAtAll => Primitive::FileIwriteAll,
            Primitive::FileWriteAtAllBegin => Primitive::FileWriteAllBegin,
            other => other,
        }
    }

    /// The first etype of the access; the pointer, if there is one, is behind it from now on.
    fn take(&self, process: &mut Guard, etypes: i64) -> MpiResult<i64> {
        match self.position {
            Position::At(offset) => Ok(offset),
            Position::Own => {
                let position = &mut process.files.named_mut(self.file)?.position;
                let after = position.checked_add(etypes).ok_or_else(|| too_far(*position))?;
                Ok(std::mem::replace(position, after))
            }
            Position::Shared if self.is_collective => {
                shared_pointer::take_in_order(process, self.primitive, self.file, etypes)
            }
            Position::Shared => shared_pointer::take(process, self.file, etypes),
        }
    }
}

/// Reads or writes elements; answers the request of a call that does not block.
///
/// # Errors
/// Wrong arguments, the system or the NIC fails; in a call that does not block the request tells of that.
pub fn access(call: &Call, direction: Direction, elements: Elements<*mut c_void>) -> MpiResult<MPI_Request> {
    let process = &mut process::enter()?;
    let open = process.files.named(call.file)?;
    call.check(open, direction)?;
    let view = open.view.clone();
    // A value that cannot be converted is an error of this member; the others go on with theirs.
    let (side, own) = match Side::new(process, elements, direction, &view.representation) {
        Err(error) if call.is_collective && error.class() == MPI_ERR_CONVERSION => {
            (Side::nothing(), Err(error))
        }
        Err(error) => return Err(error),
        Ok(side) => (side, Ok(())),
    };
    let etypes = etypes(side.length, view.etype_bytes, elements.datatype)?;
    let position = call.take(process, etypes)?;
    let from = position.checked_mul(view.etype_bytes).ok_or(TooFar);
    let region =
        from.and_then(|from| view.region(from, side.length as i64)).map_err(|_| too_far(position))?;
    if call.is_collective {
        return together(process, call, direction, (side, own, region), elements.buffer);
    }
    alone(process, call, direction, (side, region))
}

/// How a file is accessed.
fn manner_of(open: &File, direction: Direction) -> Manner {
    let (sieve, buffer_bytes) = match direction {
        Direction::Read => (open.hints.sieve_read, open.hints.read_buffer_bytes),
        Direction::Write => (open.hints.sieve_write, open.hints.write_buffer_bytes),
    };
    Manner { is_atomic: open.is_atomic, sieve, buffer_bytes }
}

/// The access of one member.
fn alone(
    process: &mut Guard,
    call: &Call,
    direction: Direction,
    (side, region): (Side, Region),
) -> MpiResult<MPI_Request> {
    let (file, open) = (call.file, process.files.named(call.file)?);
    let (opened, comm, manner) = (open.opened.clone(), open.comm, manner_of(open, direction));
    let Form::Blocking(statuses) = call.form else {
        let what = WaitingFor { call: call.primitive.index() as u32, ..WaitingFor::SOMETHING };
        let future = async move {
            let bytes = side.bytes.clone();
            let done = by_itself(false, opened, (region, bytes), manner, direction).await;
            let concluded = match done {
                Ok(done) => with(|process| side.conclude(process, direction, done)),
                Err(error) => Err(error),
            };
            concluded.map(Status::accessed).map_err(|error| error.of(file))
        };
        let state = process.start(what, future)?.alone();
        return Ok(process.requests.insert(state, comm));
    };
    let done = process.without_lock(|| match direction {
        Direction::Read => independent::read(&opened, &region, &side.bytes, manner),
        Direction::Write => independent::write(&opened, &region, &side.bytes, manner).map(|()| region.bytes),
    });
    let done = done.map_err(|failed| failed.of(&opened))?;
    statuses.set(0, &Status::accessed(side.conclude(process, direction, done)?));
    Ok(MPI_REQUEST_NULL)
}

/// The access of all members.
fn together(
    process: &mut Guard,
    call: &Call,
    direction: Direction,
    (side, own, region): (Side, MpiResult, Region),
    buffer: *mut c_void,
) -> MpiResult<MPI_Request> {
    let (file, open) = (call.file, process.files.named(call.file)?);
    let (comm, opened, hints) = (open.comm, open.opened.clone(), open.hints.clone());
    let manner = manner_of(open, direction);
    let blocks = matches!(call.form, Form::Blocking(_));
    let mut join = || Party::join(&mut process.communicators, comm, call.meets(), blocks);
    let parties = [join()?, join()?, join()?];
    let what = WaitingFor { call: call.primitive.index() as u32, ..parties[0].waiting() };
    let future = async move {
        let memory = side.bytes.clone();
        let joint = Joint { parties, opened, region, memory, hints, manner, direction };
        let done = access_together(joint).await.map_err(|error| error.of(file))?;
        let bytes = with(|process| side.conclude(process, direction, done));
        own.and(bytes).map(Status::accessed).map_err(|error| error.of(file))
    };
    match call.form {
        Form::Blocking(statuses) => {
            let status = drive(process, &what, future)?;
            statuses.set(0, &status);
            Ok(MPI_REQUEST_NULL)
        }
        Form::NonBlocking => process.start_request(comm, what, future),
        Form::Begin(begin) => {
            let state: State = process.start(what, future)?;
            let split = Split { begin, buffer: buffer as usize, state };
            process.files.named_mut(file)?.split = Some(split);
            Ok(MPI_REQUEST_NULL)
        }
    }
}
