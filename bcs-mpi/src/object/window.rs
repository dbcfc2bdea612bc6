//! Windows: memory that the members of a communicator open to each other (MPI-5.0, chapter 12).
//!
//! A member knows of every other one where its part is, and how to reach it ([`Place`]). What it has asked of
//! a member on another node, and has not been told to be done, is noted here ([`Asked`]).

use super::attributes::{Attributes, Keys};
use crate::constants::*;
use crate::error::{MpiError, MpiResult, Problem};
use crate::handle::Table;
use crate::info::Pairs;
use crate::kind::Kind;
use crate::object::datatype::buffer::Staged;
use bcs_core::LocalRank;
use nic_emu::door::Mode;
use nic_emu::host::shared_segment::SharedSegment;
use nic_emu::memory::numbers::{CommRank, RequestId};
use std::collections::BTreeMap;
use std::ffi::c_int;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// Where a member's memory is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// In this process, or mapped into it: the part begins at this address of this process.
    Mapped(usize),
    /// In another process of the node.
    Here,
    /// On another node.
    There,
}

/// A member's part of a window.
#[derive(Clone, Copy, Debug)]
pub struct Part {
    /// The address of the first byte, in the member's process.
    pub base: u64,
    /// Bytes.
    pub size: u64,
    /// What displacements are counted in.
    pub disp_unit: i64,
    /// The member's door.
    pub door: u16,
    /// Which rank of its node the member is.
    pub local_rank: LocalRank,
    /// Where it is.
    pub place: Place,
    /// The NIC of its node reaches it: long blocks come and go without the member.
    pub is_reached: bool,
}

/// Whom this process may access at the moment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Access {
    /// Nobody.
    #[default]
    None,
    /// Everybody, since a fence; the first operation makes that an epoch.
    Fence {
        /// There was an operation since.
        is_used: bool,
    },
    /// Those who have posted, since MPI_Win_start.
    Started(Vec<CommRank>),
    /// Those whose locks are held.
    Locked,
    /// Everybody, since MPI_Win_lock_all: the locks are taken when they are needed.
    LockedAll {
        /// The program vouches that nobody wants another lock.
        no_check: bool,
    },
}

impl Access {
    /// Whether locks open the window.
    pub(crate) fn is_passive(&self) -> bool {
        matches!(self, Access::Locked | Access::LockedAll { .. })
    }
}

/// The locks that this process holds, by member; no mode where the program vouches that nobody else wants
/// the lock. They are few most of the time, and come and go: the room for them stays.
#[derive(Debug, Default)]
pub struct Locks(Vec<(CommRank, Option<Mode>)>);

impl Locks {
    fn find(&self, member: CommRank) -> Result<usize, usize> {
        self.0.binary_search_by_key(&member, |(member, _)| *member)
    }

    /// How a member's lock is held, if it is.
    #[inline]
    pub fn get(&self, member: CommRank) -> Option<Option<Mode>> {
        self.find(member).ok().map(|at| self.0[at].1)
    }

    /// A member's lock is held from now on.
    #[inline]
    pub fn insert(&mut self, member: CommRank, mode: Option<Mode>) {
        match self.find(member) {
            Ok(at) => self.0[at].1 = mode,
            Err(at) => self.0.insert(at, (member, mode)),
        }
    }

    /// A member's lock is not held any more.
    #[inline]
    pub fn remove(&mut self, member: CommRank) {
        if let Ok(at) = self.find(member) {
            self.0.remove(at);
        }
    }

    /// Whether none is held.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Takes the last one, if there is one.
    pub fn pop(&mut self) -> Option<(CommRank, Option<Mode>)> {
        self.0.pop()
    }
}

/// What this process has asked of a member on another node.
#[derive(Default)]
pub struct Asked {
    /// Operations that have not left: a payload of them.
    pub(crate) batch: Vec<u8>,
    /// How many.
    pub(crate) count: usize,
    /// Some have left, and it is not known that they are carried out.
    pub(crate) is_under_way: bool,
    /// Answers that are to come.
    pub(crate) answers: Vec<Answer>,
    /// What others wait for, and whether it is over: answers for which the program has requests, and what
    /// other threads complete. A flush waits for that, too.
    pub(crate) awaited: Vec<Arc<AtomicBool>>,
}

/// An answer that is to come: receives of its parts, and where it goes then.
pub struct Answer {
    /// The NIC's requests.
    pub(crate) requests: Vec<RequestId>,
    /// How to put it where the program wants it.
    pub(crate) end: AnswerEnd,
}

/// Where an answer goes that has come.
pub enum AnswerEnd {
    /// It is there.
    InPlace,
    /// Nothing comes: this packed copy has gone.
    Gone(Box<[u8]>),
    /// From a packed copy to the program's buffer.
    Unpack(Box<Staged>),
    /// From elements at their extent, which these are, through the packed copy.
    Extents(Box<Extents>),
}

/// Elements with padding, as the NIC combines them, and where their values go.
pub struct Extents {
    /// The elements, one behind the other.
    pub(crate) elements: Box<[u8]>,
    /// The predefined type.
    pub(crate) datatype: MPI_Datatype,
    /// Where the packed values go.
    pub(crate) to: *mut u8,
    /// How these get to the program's buffer, if they are not there.
    pub(crate) staged: Option<Box<Staged>>,
}

/// What the predefined attributes of a window point to.
pub struct AttributeValues {
    pub(crate) size: MPI_Aint,
    pub(crate) disp_unit: c_int,
    pub(crate) flavor: c_int,
    pub(crate) model: c_int,
}

/// A window.
pub struct Window {
    /// Its handle.
    pub handle: MPI_Win,
    /// A communicator of its own.
    pub comm: MPI_Comm,
    /// This process's rank in it.
    pub rank: CommRank,
    /// How it was made: MPI_WIN_FLAVOR_CREATE and others.
    pub flavor: c_int,
    /// The parts, by rank.
    pub parts: Vec<Part>,
    /// The values of the predefined attributes.
    pub(crate) values: Box<AttributeValues>,
    /// What keeps memory mapped that is shared.
    pub(crate) _segments: Vec<SharedSegment>,
    /// Memory that MPI_Win_attach has been told of: address and bytes.
    pub(crate) attached: BTreeMap<usize, usize>,
    /// It has members on several nodes.
    pub(crate) spans_nodes: bool,
    /// Whom this process may access.
    pub(crate) access: Access,
    /// The locks that it holds.
    pub(crate) locks: Locks,
    /// Those whom it has posted to, and that have not completed.
    pub(crate) exposed_to: Option<Vec<CommRank>>,
    /// The receives of what these tell when they have completed.
    pub(crate) completions: Vec<RequestId>,
    /// What has been asked of members on other nodes.
    pub(crate) asked: BTreeMap<CommRank, Asked>,
    /// The tag of the next answer.
    pub(crate) next_reply: u32,
    /// Its name; empty when it has none.
    pub name: String,
    /// Its error handler.
    pub error_handler: MPI_Errhandler,
    /// Attributes.
    pub attributes: Attributes,
    /// The hints that the program has given.
    pub hints: Pairs,
}

impl Window {
    /// What messages call it.
    pub fn title(&self) -> String {
        if self.name.is_empty() { format!("window {:#x}", self.handle.0) } else { self.name.clone() }
    }

    /// This process's part.
    pub fn own(&self) -> &Part {
        &self.parts[self.rank.index()]
    }

    /// The address of this process's part, as MPI_WIN_BASE has it.
    pub fn base(&self) -> usize {
        if self.flavor == MPI_WIN_FLAVOR_DYNAMIC { 0 } else { self.own().base as usize }
    }

    /// Whether addresses are the displacements, and nobody but their process knows what is there.
    pub fn is_dynamic(&self) -> bool {
        self.flavor == MPI_WIN_FLAVOR_DYNAMIC
    }

    /// The error of a call that comes at the wrong time.
    #[cold]
    pub(crate) fn out_of_order(
        &self,
        argument: &'static str,
        value: impl ToString,
        allowed: &str,
    ) -> MpiError {
        MpiError::argument(MPI_ERR_RMA_SYNC, argument, value.to_string(), allowed)
    }

    /// The member that an argument names, which has to be one.
    ///
    /// # Errors
    /// Another rank than members have.
    pub fn member(&self, argument: &'static str, value: c_int) -> MpiResult<CommRank> {
        if (value as u32 as usize) < self.parts.len() && value >= 0 {
            return Ok(CommRank(value as u32));
        }
        let (comm, size) = (self.title(), self.parts.len() as u32);
        Err(MpiError::new(Problem::Rank { argument, value, comm, size, also: " (or MPI_PROC_NULL)" }))
    }

    /// Whether bytes of a dynamic window are attached here, by one call or by several.
    pub(crate) fn is_attached(&self, first: usize, bytes: usize) -> bool {
        let Some(end) = first.checked_add(bytes) else { return false };
        let mut at = first;
        while at < end {
            match self.attached.range(..=at).rfind(|(_, length)| **length != 0) {
                Some((start, length)) if start + length > at => at = start + length,
                _ => return false,
            }
        }
        true
    }
}

/// The windows of this process.
pub struct Windows {
    pub(crate) table: Table<Window>,
    /// Attribute keys.
    pub keys: Keys,
}

impl Windows {
    /// None.
    pub const fn new() -> Self {
        Self { table: Table::new(Kind::Window), keys: Keys::of_kind(3) }
    }

    /// The window of an argument `win`.
    ///
    /// # Errors
    /// It names none.
    #[inline]
    pub fn named(&self, win: MPI_Win) -> MpiResult<&Window> {
        self.table.named("win", win.0)
    }

    /// The same, to be changed.
    ///
    /// # Errors
    /// It names none.
    #[inline]
    pub fn named_mut(&mut self, win: MPI_Win) -> MpiResult<&mut Window> {
        self.table.named_mut("win", win.0)
    }
}

impl Default for Windows {
    fn default() -> Self {
        Self::new()
    }
}
