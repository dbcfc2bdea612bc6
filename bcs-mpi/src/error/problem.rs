//! What can be wrong with a call: one variant a kind of mistake, with the values that a message names.

use crate::constants::*;
use crate::kind::{Kind, Stale};
use nic_emu::breaches::BREACHES;
use nic_emu::memory::numbers::CommRank;
use std::ffi::c_int;

/// What is wrong with a call. Its text completes "MPI_X: …".
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Problem {
    /// No MPI before MPI_Init.
    #[error("called before MPI_Init; call MPI_Init first")]
    NotInitialised,
    /// No MPI after MPI_Finalize.
    #[error("called after MPI_Finalize; no communication is possible any more")]
    Finalised,
    /// MPI_Init twice.
    #[error("called twice in one process; MPI is initialised once")]
    InitialisedTwice,
    /// The process cannot become a rank.
    #[error("{0}")]
    Launch(String),
    /// A rank, or a root, out of range.
    #[error("argument '{argument}' is {}, but {comm} has ranks 0..{}{also}", named(*.value, RANKS), .size.saturating_sub(1))]
    Rank {
        /// The argument's name in the standard.
        argument: &'static str,
        /// Its value.
        value: c_int,
        /// The communicator's name.
        comm: String,
        /// Its size.
        size: u32,
        /// What else is allowed, in parentheses.
        also: &'static str,
    },
    /// A tag out of range.
    #[error("argument '{argument}' is {}, but tags are 0..{}{also}", named(*.value, TAGS), i32::MAX)]
    Tag {
        /// The argument's name.
        argument: &'static str,
        /// Its value.
        value: c_int,
        /// What else is allowed.
        also: &'static str,
    },
    /// A null buffer for something.
    #[error(
        "argument '{argument}' is NULL, but {bytes} bytes are to be {action}; give the address of as many, or a count of 0"
    )]
    NullBuffer {
        /// The argument's name.
        argument: &'static str,
        /// Bytes that it should have.
        bytes: usize,
        /// "sent" or "received".
        action: &'static str,
    },
    /// MPI_IN_PLACE where a buffer is needed.
    #[error(
        "argument '{argument}' is MPI_IN_PLACE, which this call does not take there; give the address of a buffer"
    )]
    InPlace {
        /// The argument's name.
        argument: &'static str,
    },
    /// One buffer where there must be two.
    #[error(
        "arguments '{argument}' and '{other}' are the same memory, which may not be; to use one buffer for both, pass MPI_IN_PLACE as '{argument}'"
    )]
    Aliased {
        /// The argument that may be MPI_IN_PLACE.
        argument: &'static str,
        /// The other one.
        other: &'static str,
    },
    /// A null pointer where a result is to be stored.
    #[error("argument '{argument}' is NULL, but it has to point to where the result goes")]
    NullResult {
        /// The argument's name.
        argument: &'static str,
    },
    /// A handle that names no object.
    #[error("argument '{argument}' is {}, which is {why}; it has to be {}", handle(*.value, *.kind, *.why), .kind.about().0)]
    Handle {
        /// The argument's name.
        argument: &'static str,
        /// Its value.
        value: usize,
        /// What it should name.
        kind: Kind,
        /// Why it does not.
        why: Stale,
    },
    /// A message that is longer than the buffer.
    #[error(
        "message truncated: {sent} bytes came from rank {from} with tag {tag}, but the receive has room for {room}; receive with a larger count"
    )]
    Truncated {
        /// Bytes of the message.
        sent: u64,
        /// Bytes of the buffer.
        room: u64,
        /// The sender's rank in the communicator.
        from: c_int,
        /// The message's tag.
        tag: c_int,
    },
    /// A message of another type than its receive.
    #[error(
        "types do not match: the message from rank {from} with tag {tag} in {comm} is of {sent}, but the receive is of {wanted}; send and receive with the same datatype (--check-types off, or BCS_CHECK_TYPES=off, leaves them uncompared)"
    )]
    TypesDiffer {
        /// What was sent.
        sent: &'static str,
        /// What was to be received.
        wanted: &'static str,
        /// The sender's rank in the communicator.
        from: c_int,
        /// The message's tag.
        tag: c_int,
        /// The communicator's name.
        comm: String,
    },
    /// A block of a collective operation that is not as long as its place.
    #[error(
        "{}: {sent} bytes came from rank {from}, but there is room for {room}; receive with as large a count as is sent", if .sent > .room { "block truncated" } else { "block too short" }
    )]
    BlockMisfit {
        /// Bytes of the block.
        sent: u64,
        /// Bytes of its place.
        room: u64,
        /// The sender's rank in the communicator.
        from: CommRank,
    },
    /// A member's own block that is not like its place among those of all.
    #[error(
        "{sent} bytes are sent of this rank's own block, but its place among the blocks of all has {room}; both have to be as long, and of the same types: give counts and datatypes that say the same"
    )]
    BlocksDiffer {
        /// Bytes that are sent.
        sent: i64,
        /// Bytes of the place for them.
        room: i64,
    },
    /// No room in the attached buffer.
    #[error(
        "{wanted} bytes (MPI_BSEND_OVERHEAD included) do not fit in the attached buffer, of whose {size} bytes {free} are free; attach a larger one with MPI_Buffer_attach, MPI_Comm_attach_buffer or MPI_Session_attach_buffer"
    )]
    NoBufferSpace {
        /// Bytes needed.
        wanted: usize,
        /// Bytes attached.
        size: usize,
        /// Bytes free.
        free: usize,
    },
    /// A datatype that would not fit in an address space.
    #[error(
        "the datatype would have more bytes, or reach further, than 64 bits can count; use smaller counts, displacements or extents"
    )]
    TypeTooLarge,
    /// Some other argument.
    #[error("argument '{argument}' is {value}, but {allowed}")]
    Argument {
        /// Its class.
        class: c_int,
        /// The argument's name.
        argument: &'static str,
        /// Its value, as text.
        value: String,
        /// What is allowed.
        allowed: String,
    },
    /// Errors of several requests, which their statuses tell.
    #[error(
        "{failed} of {count} requests failed; MPI_ERROR of each status says how. The first is request {position}: {first}"
    )]
    InStatus {
        /// Requests in error.
        failed: usize,
        /// Requests.
        count: usize,
        /// Where the first of them is.
        position: usize,
        /// What is wrong with that.
        first: Box<Problem>,
    },
    /// The system refuses something about a file, or could not do it.
    #[error("{name}: {}cannot be {action}: {cause}", .at.map_or(String::new(), |at| format!("at byte {at}: ")))]
    File {
        /// Its class.
        class: c_int,
        /// The file's name.
        name: Box<str>,
        /// The byte of the file at which it happened, where there is one.
        at: Option<u64>,
        /// What was to be done: "opened", "read", "written" …
        action: &'static str,
        /// Why not, and what to do about it.
        cause: Box<str>,
    },
    /// A function of the standard that the library does not have.
    #[error("this library does not have this function yet; see docs/conformance.md for what it has")]
    Unsupported,
    /// The NIC has no room.
    #[error("{0}")]
    Exhausted(String),
    /// There are as many communicators as the job can tell apart, or so many broken ones that of no other one
    /// it could be told that it is.
    #[error(
        "no context is left for another communicator: the job has as many at the same time as it can tell apart, or {BREACHES} communicators are broken, by collective calls that do not fit; free those that it needs no more"
    )]
    NoContext,
    /// An error that the program raises itself (MPI_Comm_call_errhandler).
    #[error("{text}")]
    Raised {
        /// The code that its handler is told.
        code: c_int,
        /// The code's class.
        class: c_int,
        /// The code's string.
        text: String,
    },
    /// What a callback of the program answered.
    #[error("error code {0}")]
    Code(c_int),
    /// Members of a communicator called collectives that do not fit each other: the report, in lines.
    #[error("{}", .0.replace("\n  ", "; "))]
    Mismatch(Box<str>),
    /// What the NIC cannot go on from.
    #[error("{0}")]
    Nic(String),
    /// The job is being ended by another.
    #[error("the job is being ended")]
    JobEnds,
}

/// Constants with their names.
macro_rules! names {
    ($($name:ident)*) => {
        &[$(($name, stringify!($name))),*]
    };
}
pub(crate) use names;

const RANKS: &[(c_int, &str)] = names![MPI_ANY_SOURCE MPI_PROC_NULL MPI_ROOT MPI_UNDEFINED];
const TAGS: &[(c_int, &str)] = names![MPI_ANY_TAG MPI_UNDEFINED];

/// A number, with its name where it has one.
pub(crate) fn named(value: c_int, names: &[(c_int, &str)]) -> String {
    match names.iter().find(|(of, _)| *of == value) {
        Some((_, name)) => format!("{name} ({value})"),
        None => value.to_string(),
    }
}

/// A handle's number, with its name where it has one.
fn handle(value: usize, kind: Kind, why: Stale) -> String {
    match why {
        Stale::Null => format!("{} ({value:#x})", kind.about().1.1),
        Stale::NoWorld => format!("MPI_COMM_WORLD or MPI_COMM_SELF ({value:#x})"),
        Stale::Freed | Stale::Foreign => format!("{value:#x}"),
    }
}

impl Problem {
    /// Its error class.
    pub fn class(&self) -> c_int {
        match self {
            Problem::NotInitialised
            | Problem::Finalised
            | Problem::InitialisedTwice
            | Problem::Launch(_)
            | Problem::Mismatch(_)
            | Problem::JobEnds => MPI_ERR_OTHER,
            Problem::Rank { argument: "root", .. } => MPI_ERR_ROOT,
            Problem::Rank { .. } => MPI_ERR_RANK,
            Problem::Tag { .. } => MPI_ERR_TAG,
            Problem::BlocksDiffer { sent, room } if sent == room => MPI_ERR_TYPE,
            Problem::BlocksDiffer { .. } => MPI_ERR_COUNT,
            Problem::NullBuffer { .. }
            | Problem::InPlace { .. }
            | Problem::Aliased { .. }
            | Problem::NoBufferSpace { .. } => MPI_ERR_BUFFER,
            Problem::NullResult { .. } | Problem::TypeTooLarge => MPI_ERR_ARG,
            Problem::Handle { kind, .. } => kind.about().2,
            Problem::BlockMisfit { sent, room, .. } if sent < room => MPI_ERR_COUNT,
            Problem::Truncated { .. } | Problem::BlockMisfit { .. } => MPI_ERR_TRUNCATE,
            Problem::TypesDiffer { .. } => MPI_ERR_TYPE,
            Problem::Argument { class, .. } | Problem::File { class, .. } => *class,
            Problem::InStatus { .. } => MPI_ERR_IN_STATUS,
            Problem::Unsupported => MPI_ERR_UNSUPPORTED_OPERATION,
            Problem::Exhausted(_) => MPI_ERR_NO_MEM,
            Problem::NoContext => MPI_ERR_OTHER,
            Problem::Raised { class, .. } => *class,
            Problem::Code(code) => *code,
            Problem::Nic(_) => MPI_ERR_INTERN,
        }
    }

    /// The report of collectives that do not fit, if it is this, or the first of several requests', that is
    /// wrong.
    pub fn report(&self) -> Option<&str> {
        match self {
            Problem::Mismatch(report) => Some(report),
            Problem::InStatus { first, .. } => first.report(),
            _ => None,
        }
    }

    /// Whether the job cannot go on, whatever the error handler says.
    pub fn ends_job(&self) -> bool {
        matches!(
            self,
            Problem::NotInitialised
                | Problem::Finalised
                | Problem::Launch(_)
                | Problem::Nic(_)
                | Problem::JobEnds
        )
    }
}
