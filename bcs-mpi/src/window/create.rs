//! Windows are made, and freed (MPI-5.0, §12.2).

use super::completion::{Extent, Whom, complete};
use crate::attributes;
use crate::communicator::free::remove;
use crate::communicator::new::{Kin, part_of};
use crate::constants::*;
use crate::error::{MpiError, MpiResult, Problem};
use crate::info::{self, Pairs};
use crate::object::attributes::Attributes;
use crate::object::error_handler::release;
use crate::object::window::{Access, AttributeValues, Locks, Part, Place, Window};
use crate::process::{self, Guard};
use crate::progress::Arrival;
use crate::progress::meeting::{gather_all, meet};
use bcs_core::LocalRank;
use mds::Primitive;
use nic_emu::host::shared_segment::{SharedSegment, number_of};
use nic_emu::memory::numbers::CommRank;
use std::ffi::{c_int, c_void};

/// What a member says of its part.
#[derive(Clone, Copy, Debug, Default)]
struct Said {
    /// The address, or, of shared memory, the offset in the segment.
    base: u64,
    size: u64,
    disp_unit: i64,
    /// Of the segment: the process that has made it, its descriptor there, and its bytes.
    pid: u32,
    descriptor: i32,
    segment_bytes: u64,
    door: u16,
    /// Not everything could be had.
    has_failed: bool,
    /// The member's NIC reaches its memory.
    is_reached: bool,
}

const SAID_BYTES: usize = 48;

impl Said {
    fn encode(&self) -> [u8; SAID_BYTES] {
        let mut bytes = [0; SAID_BYTES];
        bytes[..8].copy_from_slice(&self.base.to_le_bytes());
        bytes[8..16].copy_from_slice(&self.size.to_le_bytes());
        bytes[16..24].copy_from_slice(&self.disp_unit.to_le_bytes());
        bytes[24..28].copy_from_slice(&self.pid.to_le_bytes());
        bytes[28..32].copy_from_slice(&self.descriptor.to_le_bytes());
        bytes[32..40].copy_from_slice(&self.segment_bytes.to_le_bytes());
        bytes[40..42].copy_from_slice(&self.door.to_le_bytes());
        bytes[42] = self.has_failed.into();
        bytes[43] = self.is_reached.into();
        bytes
    }

    fn decode(bytes: &[u8; SAID_BYTES]) -> Self {
        let word = |at: usize| u64::from_le_bytes(std::array::from_fn(|i| bytes[at + i]));
        Self {
            base: word(0),
            size: word(8),
            disp_unit: word(16) as i64,
            pid: word(24) as u32,
            descriptor: (word(24) >> 32) as i32,
            segment_bytes: word(32),
            door: word(40) as u16,
            has_failed: bytes[42] != 0,
            is_reached: bytes[43] != 0,
        }
    }
}

/// The memory of this process's part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Memory {
    /// The program's.
    Given(*mut c_void),
    /// Its own segment.
    Own,
    /// A piece of the first member's segment, in which the parts lie one behind the other.
    Together,
    /// Whatever the program attaches.
    Attached,
}

/// What a call that makes a window says of this process's part.
#[derive(Clone, Copy, Debug)]
pub struct PartOf {
    /// Bytes.
    pub size: MPI_Aint,
    /// What displacements are counted in.
    pub disp_unit: i64,
}

impl PartOf {
    fn check(&self) -> MpiResult {
        if self.size < 0 {
            return Err(MpiError::argument(MPI_ERR_SIZE, "size", self.size, "it must be 0 or more"));
        }
        if self.disp_unit <= 0 {
            return Err(MpiError::argument(
                MPI_ERR_DISP,
                "disp_unit",
                self.disp_unit,
                "it must be 1 or more",
            ));
        }
        Ok(())
    }
}

/// MPI_Win_create: of memory of the program.
///
/// # Errors
/// No such communicator, wrong memory, or no room for another window.
pub fn create(base: *mut c_void, part: PartOf, info: MPI_Info, comm: MPI_Comm) -> MpiResult<MPI_Win> {
    let process = &mut process::enter()?;
    process.intracommunicator("comm", comm)?;
    part.check()?;
    if base.is_null() && part.size > 0 {
        let allowed = format!("it has to be the address of {} bytes", part.size);
        return Err(MpiError::argument(MPI_ERR_BASE, "base", "NULL", allowed));
    }
    let hints = info::pairs(info)?;
    let how = (Primitive::WinCreate, MPI_WIN_FLAVOR_CREATE, Memory::Given(base));
    Ok(make(process, how, part, comm, hints)?.0)
}

/// MPI_Win_allocate: of memory that is allocated with it; answers its address, too.
///
/// # Errors
/// As [`create`], or the system has not so much memory.
pub fn allocate(part: PartOf, info: MPI_Info, comm: MPI_Comm) -> MpiResult<(MPI_Win, *mut c_void)> {
    let process = &mut process::enter()?;
    process.intracommunicator("comm", comm)?;
    part.check()?;
    let hints = info::pairs(info)?;
    make(process, (Primitive::WinAllocate, MPI_WIN_FLAVOR_ALLOCATE, Memory::Own), part, comm, hints)
}

/// MPI_Win_allocate_shared: of memory that all members can load and store; they are on one node.
///
/// # Errors
/// As [`allocate`], or members are on several nodes, or may not share memory.
pub fn allocate_shared(part: PartOf, info: MPI_Info, comm: MPI_Comm) -> MpiResult<(MPI_Win, *mut c_void)> {
    let process = &mut process::enter()?;
    let communicator = process.intracommunicator("comm", comm)?;
    part.check()?;
    if communicator.spans_nodes() {
        let allowed = "its members have to be on one node: MPI_Comm_split_type with MPI_COMM_TYPE_SHARED makes such a one";
        let value = format!("{}, which spans nodes", communicator.title());
        return Err(MpiError::argument(MPI_ERR_RMA_SHARED, "comm", value, allowed));
    }
    let hints = info::pairs(info)?;
    let is_apart = hints.iter().any(|(key, value)| key == "alloc_shared_noncontig" && value == "true");
    let memory = if is_apart { Memory::Own } else { Memory::Together };
    make(process, (Primitive::WinAllocateShared, MPI_WIN_FLAVOR_SHARED, memory), part, comm, hints)
}

/// MPI_Win_create_dynamic: of memory that is attached later.
///
/// # Errors
/// As [`create`].
pub fn create_dynamic(info: MPI_Info, comm: MPI_Comm) -> MpiResult<MPI_Win> {
    let process = &mut process::enter()?;
    process.intracommunicator("comm", comm)?;
    let hints = info::pairs(info)?;
    let how = (Primitive::WinCreateDynamic, MPI_WIN_FLAVOR_DYNAMIC, Memory::Attached);
    Ok(make(process, how, PartOf { size: 0, disp_unit: 1 }, comm, hints)?.0)
}

#[cold]
fn exhausted(text: &str) -> MpiError {
    MpiError::new(Problem::Exhausted(text.to_owned()))
}

/// The bytes of several parts; more than there can be where they are.
fn bytes_of(sizes: &[u64]) -> u64 {
    sizes.iter().fold(0, |bytes, size| bytes.saturating_add(*size))
}

/// Makes a window on a duplicate of the communicator; answers the address of this process's part, too.
fn make(
    process: &mut Guard,
    (call, flavor, memory): (Primitive, c_int, Memory),
    part: PartOf,
    comm: MPI_Comm,
    hints: Pairs,
) -> MpiResult<(MPI_Win, *mut c_void)> {
    let group = process.communicator(comm)?.group.clone();
    let own = part_of(process, call, comm, group, Kin::default())?;
    let made = fill(process, (call, flavor, memory), part, own, hints);
    if made.is_err() {
        remove(process, own)?;
    }
    made
}

/// Makes the window of this communicator, which is its own.
fn fill(
    process: &mut Guard,
    (call, flavor, memory): (Primitive, c_int, Memory),
    part: PartOf,
    comm: MPI_Comm,
    hints: Pairs,
) -> MpiResult<(MPI_Win, *mut c_void)> {
    let communicator = process.communicator(comm)?;
    let rank = communicator.rank;
    let door = process.port.take_door()?;
    let mut said = Said {
        size: part.size as u64,
        disp_unit: part.disp_unit,
        door: door.unwrap_or_default(),
        has_failed: door.is_none(),
        pid: std::process::id(),
        is_reached: process.port.reaches_memory(),
        ..Said::default()
    };
    let (mut segments, mut descriptor, mut why) = (Vec::new(), None, None);
    if door.is_none() {
        why =
            Some(exhausted("this process has as many windows as it may have; free some before making more"));
    }
    // Of memory together the first member has to know how much there is.
    let mut offset = 0;
    let wanted = match memory {
        Memory::Given(base) => {
            said.base = base as u64;
            None
        }
        Memory::Attached => None,
        Memory::Own => Some(part.size as u64),
        Memory::Together => {
            let sizes = gather_all(process, call, comm, (part.size as u64).to_le_bytes())?;
            let sizes: Vec<u64> = sizes.into_iter().map(u64::from_le_bytes).collect();
            offset = bytes_of(&sizes[..rank.index()]);
            (rank == CommRank(0)).then(|| bytes_of(&sizes))
        }
    };
    if let Some(bytes) = wanted {
        match SharedSegment::create((bytes as usize).max(1)) {
            Ok((segment, fd)) => {
                (said.descriptor, said.segment_bytes) = (number_of(&fd), bytes.max(1));
                said.base = segment.base().as_ptr() as u64;
                segments.push(segment);
                descriptor = Some(fd);
            }
            Err(error) => {
                said.has_failed = true;
                why = Some(if error.raw_os_error() == libc::EMFILE {
                    exhausted(
                        "memory of a window needs a descriptor, of which this process has as many as it may: close some, or raise the limit (ulimit -n)",
                    )
                } else {
                    let allowed = format!("the system has to have {bytes} bytes for the window: {error}");
                    MpiError::argument(MPI_ERR_NO_MEM, "size", part.size, allowed)
                });
            }
        }
    }
    let all = gather_all(process, call, comm, said.encode())?;
    let all: Vec<Said> = all.iter().map(Said::decode).collect();
    let mut mapped = Ok((Vec::new(), 0));
    if all.iter().all(|said| !said.has_failed) {
        mapped = map_all(process, comm, flavor, memory, (&all, offset), &mut segments);
    }
    // Nobody closes what another one is about to open; and all make the window, or none.
    let is_there = all.iter().all(|said| !said.has_failed) && mapped.is_ok();
    let agreed = gather_all(process, call, comm, [is_there.into()])?;
    drop(descriptor);
    if agreed.iter().any(|[there]| *there == 0) {
        if let Some(door) = door {
            process.port.give_back_door(door);
        }
        mapped?;
        return Err(
            why.unwrap_or_else(|| exhausted("another member has no memory for its part of the window"))
        );
    }
    let (parts, base) = mapped?;
    let spans_nodes = process.communicator(comm)?.spans_nodes();
    let values = Box::new(AttributeValues {
        size: part.size,
        disp_unit: part.disp_unit.min(c_int::MAX.into()) as c_int,
        flavor,
        model: MPI_WIN_UNIFIED,
    });
    let window = Window {
        handle: MPI_WIN_NULL,
        comm,
        rank,
        flavor,
        parts,
        values,
        _segments: segments,
        attached: Default::default(),
        spans_nodes,
        access: Access::None,
        locks: Locks::default(),
        exposed_to: None,
        completions: Vec::new(),
        asked: Default::default(),
        next_reply: 0,
        name: String::new(),
        // Not that of the communicator (§9.3).
        error_handler: MPI_ERRORS_ARE_FATAL,
        attributes: Attributes::default(),
        hints,
    };
    let win = MPI_Win(process.windows.table.insert(window));
    process.windows.named_mut(win)?.handle = win;
    Ok((win, base as *mut c_void))
}

/// The parts of all members, and the address of this process's; what is mapped for them.
fn map_all(
    process: &Guard,
    comm: MPI_Comm,
    flavor: c_int,
    memory: Memory,
    (all, offset): (&[Said], u64),
    segments: &mut Vec<SharedSegment>,
) -> MpiResult<(Vec<Part>, usize)> {
    let communicator = process.communicator(comm)?;
    let nic = process.port.memory();
    let here = nic.node().0;
    let own = communicator.rank;
    let is_together = memory == Memory::Together;
    let refused = |error: rustix::io::Errno| {
        let allowed = "processes of the node have to be allowed to share memory (/proc/PID/fd)";
        MpiError::argument(MPI_ERR_RMA_SHARED, "comm", format!("a member's memory: {error}"), allowed)
    };
    // The first member's segment, in this process.
    let mut first = None;
    if is_together {
        first = Some(match segments.first() {
            Some(segment) => segment.base().as_ptr() as usize,
            None => {
                let Said { pid, descriptor, segment_bytes, .. } = all[0];
                let segment =
                    SharedSegment::open(pid, descriptor, segment_bytes as usize).map_err(refused)?;
                let base = segment.base().as_ptr() as usize;
                segments.push(segment);
                base
            }
        });
    }
    let (mut parts, mut behind, mut base) = (Vec::with_capacity(all.len()), 0, 0);
    for (member, said) in (0..).map(CommRank).zip(all) {
        let (node, local_rank) = nic.place(communicator.job_rank(member))?;
        let mut part = Part {
            base: said.base,
            size: said.size,
            disp_unit: said.disp_unit,
            door: said.door,
            local_rank: if node == here { local_rank } else { LocalRank::ELSEWHERE },
            place: if node == here { Place::Here } else { Place::There },
            is_reached: said.is_reached,
        };
        if let Some(first) = first {
            let at = first + behind as usize;
            (part.base, part.place) = (at as u64, Place::Mapped(at));
            behind += said.size;
        } else if member == own {
            part.place = Place::Mapped(said.base as usize);
        } else if node == here && memory == Memory::Own {
            match SharedSegment::open(said.pid, said.descriptor, said.segment_bytes as usize) {
                Ok(segment) => {
                    part.place = Place::Mapped(segment.base().as_ptr() as usize);
                    segments.push(segment);
                }
                Err(error) if flavor == MPI_WIN_FLAVOR_SHARED => return Err(refused(error)),
                // Then it is reached by cross-memory attach.
                Err(_) => {}
            }
        }
        if member == own {
            base = part.base as usize;
        }
        parts.push(part);
    }
    debug_assert!(!is_together || base == first.unwrap_or_default() + offset as usize);
    Ok((parts, base))
}

/// MPI_Win_free: when all members call it, and what they have asked is done.
///
/// # Errors
/// No such window, an epoch that has not ended, or a delete callback that refuses.
pub fn free(win: &mut MPI_Win) -> MpiResult {
    {
        let process = process::enter()?;
        let window = process.windows.named(*win)?;
        let is_over = matches!(window.access, Access::None | Access::Fence { is_used: false });
        if !is_over || window.exposed_to.is_some() {
            let allowed = "the epoch that has begun has to end before MPI_Win_free";
            return Err(window.out_of_order("win", window.title(), allowed));
        }
    }
    attributes::delete_all(*win)?;
    let process = &mut process::enter()?;
    let comm = process.windows.named(*win)?.comm;
    // No message of this window comes to a door that the next one has.
    complete(process, Primitive::WinFree, *win, &Whom::All, Extent::There)?;
    meet(process, Primitive::WinFree, comm, &Arrival::BARRIER, &[])?;
    let handle = std::mem::replace(win, MPI_WIN_NULL);
    if let Ok(window) = process.windows.table.remove(handle.0) {
        process.port.give_back_door(window.own().door);
        release(window.error_handler)?;
    }
    remove(process, comm)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_member_says_the_others_read() {
        let said = Said {
            base: 1 << 63 | 5,
            size: 7,
            disp_unit: -3,
            pid: 0xffff_fffe,
            descriptor: -1,
            segment_bytes: u64::MAX,
            door: 0xabcd,
            is_reached: true,
            has_failed: true,
        };
        assert_eq!(format!("{:?}", Said::decode(&said.encode())), format!("{said:?}"));
    }
}
