//! Which memory an operation means.

use crate::constants::*;
use crate::error::{MpiError, MpiResult};
use crate::object::datatype::buffer::{check_count, contiguous_bytes, wrong_count};
use crate::object::datatype::{Incoming, Layout};
use crate::object::window::{Part, Place};
use crate::process::Guard;
use bcs_core::{LocalRank, Rank};
use mds::Primitive;
use nic_emu::contexts::Context;
use nic_emu::memory::numbers::CommRank;
use nic_emu::one_sided::{LONG_BYTES, Piece};
use nic_emu::port::Reached;
use nic_emu::status::WaitingFor;
use std::ffi::c_int;

/// The names of an origin's arguments.
pub(super) const ORIGIN_NAMES: [&str; 3] = ["origin_addr", "origin_count", "origin_datatype"];
/// The names of the arguments of a result.
pub(super) const RESULT_NAMES: [&str; 3] = ["result_addr", "result_count", "result_datatype"];

/// Elements in a target's part, as a call has them.
#[derive(Clone, Copy, Debug)]
pub struct TargetElements {
    /// Whose.
    pub rank: c_int,
    /// Where, in the target's units.
    pub disp: MPI_Aint,
    /// How many.
    pub count: i64,
    /// Of which type.
    pub datatype: MPI_Datatype,
}

/// A place in a member's part that may be accessed.
#[derive(Clone, Copy, Debug)]
pub(super) struct Target {
    /// The window.
    pub win: MPI_Win,
    /// The member.
    pub rank: CommRank,
    /// Its rank in the job.
    pub job_rank: Rank,
    /// The context of the window's communicator.
    pub context: Context,
    /// Its part.
    pub part: Part,
    /// The place, from the first byte of the part on.
    pub offset: i64,
    /// The bounds of the part are not known here.
    pub is_unbounded: bool,
    /// The window has members on several nodes.
    pub spans_nodes: bool,
}

/// Where the bytes of an operation are, from the place of the target on.
pub(super) enum Bytes {
    /// Together.
    Block(i64, usize),
    /// As a datatype has them: so many of it, from the first on.
    Scattered(Layout, usize),
}

impl Bytes {
    /// How many.
    pub fn len(&self) -> usize {
        match self {
            Bytes::Block(_, bytes) | Bytes::Scattered(_, bytes) => *bytes,
        }
    }

    /// Those that data of so many bytes goes to: there may be room for more, as for a message (§12.3.1).
    ///
    /// # Errors
    /// There is room for less; the argument is that of the data.
    pub fn first(self, argument: &'static str, data: usize) -> MpiResult<Self> {
        if data > self.len() {
            return Err(truncated(argument, data, self.len()));
        }
        Ok(match self {
            Bytes::Block(offset, _) => Bytes::Block(offset, data),
            Bytes::Scattered(layout, _) => Bytes::Scattered(layout, data),
        })
    }

    /// The part of the room that these go to: there may be more, as for a message.
    ///
    /// # Errors
    /// There is less; the argument is that of the room.
    pub fn room_in(&self, argument: &'static str, room: Incoming) -> MpiResult<Incoming> {
        if room.bytes < self.len() {
            return Err(truncated(argument, room.bytes, self.len()));
        }
        Ok(if room.bytes == self.len() { room } else { room.first(self.len()) })
    }

    /// Calls for each block, in the order of the packed bytes.
    ///
    /// # Errors
    /// Those of `each`.
    pub fn for_each(&self, mut each: impl FnMut(i64, usize) -> MpiResult) -> MpiResult {
        match self {
            Bytes::Block(_, 0) => Ok(()),
            Bytes::Block(offset, bytes) => each(*offset, *bytes),
            Bytes::Scattered(layout, bytes) => {
                let (mut cursor, mut left) = (layout.cursor(), *bytes);
                while left != 0
                    && let Some((offset, bytes)) = cursor.take_block(left)
                {
                    each(offset as i64, bytes)?;
                    left -= bytes;
                }
                Ok(())
            }
        }
    }
}

impl Target {
    /// Whose door it is, and which.
    pub fn door(&self) -> (LocalRank, u16) {
        (self.part.local_rank, self.part.door)
    }

    /// The address of a byte at the target.
    pub fn address(&self, offset: i64) -> u64 {
        self.part.base.wrapping_add_signed(self.offset.wrapping_add(offset))
    }

    /// The address of a byte in this process, where the part is mapped.
    pub fn here(&self, base: usize, offset: i64) -> *mut u8 {
        (base as *mut u8).wrapping_offset(self.offset.wrapping_add(offset) as isize)
    }

    /// The address of these bytes, if they are a long block on another node, whose NIC reaches it.
    pub fn long_block(&self, bytes: &Bytes) -> Option<u64> {
        match *bytes {
            Bytes::Block(offset, length) if length as u64 > LONG_BYTES && self.has_long_blocks() => {
                Some(self.address(offset))
            }
            _ => None,
        }
    }

    /// Whether long blocks come from there, and go there, by themselves.
    pub fn has_long_blocks(&self) -> bool {
        self.part.place == Place::There && self.part.is_reached && !self.is_unbounded
    }

    /// The pieces that these bytes are, as another node is told.
    pub fn pieces(&self, bytes: &Bytes) -> MpiResult<Vec<Piece>> {
        let mut pieces = Vec::new();
        bytes.for_each(|offset, bytes| {
            pieces.push(Piece { address: self.address(offset), bytes: bytes as u64 });
            Ok(())
        })?;
        Ok(pieces)
    }

    /// What a hang report says of who waits for this target.
    pub fn waiting(&self, call: Primitive) -> WaitingFor {
        WaitingFor {
            call: call.index() as u32,
            context: self.context,
            peer: self.rank,
            peer_in_job: self.job_rank,
            ..WaitingFor::SOMETHING
        }
    }

    /// Where these elements are, which have to be in the part.
    ///
    /// # Errors
    /// A count or a datatype that cannot be, or elements outside of the part.
    pub fn bytes(&self, process: &Guard, elements: &TargetElements) -> MpiResult<Bytes> {
        let TargetElements { count, datatype, .. } = *elements;
        if let Some(element) = contiguous_bytes(datatype) {
            let bytes = usize::try_from(count).ok().and_then(|count| count.checked_mul(element));
            let bytes = bytes.filter(|bytes| *bytes <= isize::MAX as usize);
            let bytes = bytes.ok_or_else(|| wrong_count("target_count", count))?;
            self.check_range((bytes != 0).then_some((0, bytes as i64)), elements)?;
            let bytes = Bytes::Block(0, bytes);
            self.check_attached(process, &bytes, elements)?;
            return Ok(bytes);
        }
        let of = process.datatypes.committed("target_datatype", datatype)?;
        let bytes = check_count("target_count", of, count)?;
        let span = of.span(count).map_err(|_| wrong_count("target_count", count))?;
        self.check_range(span, elements)?;
        let layout = of.layout(count);
        let bytes = match layout.as_block() {
            Some(offset) => Bytes::Block(offset as i64, bytes),
            None => Bytes::Scattered(layout, bytes),
        };
        self.check_attached(process, &bytes, elements)?;
        Ok(bytes)
    }

    /// Checks that bytes of a dynamic window are attached, where that is known: in this process.
    fn check_attached(&self, process: &Guard, bytes: &Bytes, elements: &TargetElements) -> MpiResult {
        if !self.is_unbounded || !matches!(self.part.place, Place::Mapped(_)) {
            return Ok(());
        }
        let window = process.windows.named(self.win)?;
        bytes.for_each(|offset, length| {
            let first = self.address(offset) as usize;
            let value = || format!("{} ({length} bytes at {first:#x} of rank {})", elements.disp, self.rank);
            let allowed = "memory there has to be attached by MPI_Win_attach";
            match window.is_attached(first, length) {
                true => Ok(()),
                false => Err(MpiError::argument(MPI_ERR_RMA_RANGE, "target_disp", value(), allowed)),
            }
        })
    }

    /// Checks that bytes from the first to behind the second are in the part.
    fn check_range(&self, span: Option<(i64, i64)>, elements: &TargetElements) -> MpiResult {
        let Some((first, end)) = span.filter(|_| !self.is_unbounded) else { return Ok(()) };
        let (first, end) = (self.offset.checked_add(first), self.offset.checked_add(end));
        if first.is_some_and(|first| first >= 0) && end.is_some_and(|end| end as u64 <= self.part.size) {
            return Ok(());
        }
        let value = format!(
            "{} ({} elements, bytes {} to {} of the part of rank {})",
            elements.disp,
            elements.count,
            first.unwrap_or(i64::MAX),
            end.unwrap_or(i64::MAX),
            self.rank
        );
        let allowed = format!("the part has {} bytes", self.part.size);
        Err(MpiError::argument(MPI_ERR_RMA_RANGE, "target_disp", value, allowed))
    }
}

/// The error of data that is more than there is room for.
#[cold]
pub(super) fn truncated(argument: &'static str, here: usize, there: usize) -> MpiError {
    let value = format!("of {here} bytes in all");
    let allowed = format!("the elements at the target have {there}");
    MpiError::argument(MPI_ERR_TRUNCATE, argument, value, allowed)
}

/// Checks what came of reaching for the memory of another process of the node.
///
/// # Errors
/// The system does not let this process do so, or there is no such memory.
pub(super) fn check_reached(target: &Target, reached: Reached) -> MpiResult {
    if reached == Reached::Done { Ok(()) } else { Err(unreached(target, reached)) }
}

#[cold]
fn unreached(target: &Target, reached: Reached) -> MpiError {
    if reached == Reached::Absent {
        let place = target.address(0);
        let value = format!("{place:#x} (address in the process of rank {})", target.rank);
        let allowed =
            "the rank has no such memory, or may not access it itself; it has to be attached to the window";
        return MpiError::argument(MPI_ERR_RMA_RANGE, "target_disp", value, allowed);
    }
    let value = format!("rank {}, whose memory this process may not reach", target.rank);
    let allowed = "cross-memory attach is refused here: allocate the window by MPI_Win_allocate, or allow \
                   ptrace (kernel.yama.ptrace_scope, capabilities of the container)";
    MpiError::argument(MPI_ERR_RMA_ATTACH, "target_rank", value, allowed)
}
