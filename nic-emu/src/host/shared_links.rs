//! Links to other nodes in shared memory, as a rank drives them ([`bcs_link`]).
//!
//! The program launcher owns them: it has made their memory, brought them up, and sees to them while ranks
//! compute. A rank has the same memory, and the same sockets. What says which, a launcher puts into the
//! environment of its ranks: [`LinkPlaces`].
//!
//! Invariant: a rank drives links only while it holds the run token, so a rank that dies while it does is
//! found as a dead holder of the token is.

use crate::global::{HEADER_BYTES, Left, NodeLinks, Take, Taken, may_be_taken};
use crate::host::mapping::Mapped;
use crate::host::process::pid_namespace;
use crate::memory::{Corrupt, NicMemory};
use bcs_fabric::SHARED_MEMORY_NAME;
use bcs_link::{LinkEnd, LinkLayout, ROAD_HEADER, ROAD_HEADER_BYTES, Record, Verdict};
use rustix::fd::{AsFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};
use rustix::fs::{FileType, fstat};
use rustix::io::{FdFlags, fcntl_setfd};
use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mmap};
use std::fmt;
use std::io;
use std::ptr::NonNull;
use std::str::FromStr;

/// Answers to which one look at a link may come: there is room for so many before it begins.
const ANSWERS: usize = 64;
/// Bytes of an answer.
const ANSWER_BYTES: usize = ROAD_HEADER_BYTES + 64;
/// Frames that one pass sends over a link.
const FRAMES_A_PASS: usize = 8;

/// Which descriptors of a process are those of the links, as text: `MEMORY:RING_BYTES:NODES` and then
/// `,NODE:SOCKET:INODE` for each link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LinkPlaces {
    /// The descriptor of their memory.
    pub memory: RawFd,
    /// Bytes of each of a link's two rings.
    pub ring_bytes: usize,
    /// Nodes of the job.
    pub nodes: u32,
    /// Of each link that is up, the node, the descriptor of its socket, and the inode of that.
    pub sockets: Vec<(u32, RawFd, u64)>,
}

impl fmt::Display for LinkPlaces {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}", self.memory, self.ring_bytes, self.nodes)?;
        self.sockets.iter().try_for_each(|(node, socket, inode)| write!(f, ",{node}:{socket}:{inode}"))
    }
}

impl FromStr for LinkPlaces {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        fn numbers(text: &str) -> Option<[u64; 3]> {
            let numbers: Option<Vec<u64>> = text.split(':').map(|number| number.parse().ok()).collect();
            numbers?.try_into().ok()
        }
        let mut parts = text.split(',');
        let [memory, ring_bytes, nodes] = parts.next().and_then(numbers).ok_or(())?;
        let socket = |part| {
            let [node, socket, inode] = numbers(part)?;
            Some((u32::try_from(node).ok()?, RawFd::try_from(socket).ok()?, inode))
        };
        Ok(Self {
            memory: memory.try_into().map_err(drop)?,
            ring_bytes: ring_bytes.try_into().map_err(drop)?,
            nodes: nodes.try_into().map_err(drop)?,
            sockets: parts.map(socket).collect::<Option<_>>().ok_or(())?,
        })
    }
}

/// The inode of a socket; none if it is none.
pub fn socket_inode(socket: BorrowedFd<'_>) -> Option<u64> {
    let stat = fstat(socket).ok()?;
    (FileType::from_raw_mode(stat.st_mode) == FileType::Socket).then_some(stat.st_ino)
}

/// A link, and its socket.
struct Link {
    node: u32,
    end: LinkEnd,
    socket: OwnedFd,
    /// Up to where this rank has gone past what it left.
    past: u64,
}

/// Links to other nodes, as a rank drives them.
pub struct SharedLinks {
    // Before the mapping, in which they lie.
    links: Vec<Link>,
    /// By node: which of `links`, plus one.
    numbers: Vec<u32>,
    record_bytes: usize,
    /// Where records are shown.
    shown: Vec<u8>,
    _mapping: Mapped,
}

impl fmt::Debug for SharedLinks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SharedLinks").field("links", &self.links.len()).finish_non_exhaustive()
    }
}

impl SharedLinks {
    /// The links of a job with this NIC memory, where its launcher has put them; none where this process has
    /// not inherited them, or counts processes in another way than the launcher, which could not tell then
    /// whether a process that holds one of their locks is alive.
    ///
    /// # Errors
    /// Their memory cannot be mapped.
    pub fn attach(places: &LinkPlaces, memory: &NicMemory) -> io::Result<Option<Self>> {
        let (theirs, own) = (memory.header().pid_namespace.get(), pid_namespace());
        let Ok(layout) = LinkLayout::new(places.ring_bytes) else { return Ok(None) };
        if theirs != own || places.nodes != memory.node().1 || !is_memory(places.memory) {
            return Ok(None);
        }
        // SAFETY: the descriptor is open, and is the memory of links, which nobody but this library knows of
        // in this process.
        let file = unsafe { OwnedFd::from_raw_fd(places.memory) };
        let bytes = places.nodes as usize * layout.bytes();
        if fstat(&file)?.st_size as u64 != bytes as u64 {
            return Ok(None);
        }
        let flags = (ProtFlags::READ | ProtFlags::WRITE, MapFlags::SHARED | MapFlags::NORESERVE);
        // SAFETY: a new mapping at an address of the system's choice, which nothing else uses.
        let base = unsafe { mmap(std::ptr::null_mut(), bytes, flags.0, flags.1, &file, 0) }?;
        let base = NonNull::new(base.cast()).ok_or(io::ErrorKind::OutOfMemory)?;
        let mapping = Mapped { base, bytes };
        // It holds secrets: no core dump is to hold it, and no child is to have it.
        // SAFETY: the whole of the mapping that was just made, of whose contents the advice changes nothing.
        unsafe {
            madvise(base.as_ptr().cast(), bytes, Advice::LinuxDontDump)?;
            madvise(base.as_ptr().cast(), bytes, Advice::LinuxDontFork)?;
        }
        let (mut links, mut numbers) = (Vec::new(), vec![0; places.nodes as usize]);
        for &(node, socket, inode) in &places.sockets {
            let Some(number) = numbers.get_mut(node as usize) else { continue };
            // SAFETY: looked at alone, by the system.
            if socket_inode(unsafe { BorrowedFd::borrow_raw(socket) }) != Some(inode) {
                continue;
            }
            // SAFETY: the descriptor is open, and the socket that the launcher means.
            let socket = unsafe { OwnedFd::from_raw_fd(socket) };
            // What this process executes later has no use for it.
            fcntl_setfd(&socket, FdFlags::CLOEXEC)?;
            // SAFETY: the range lies in the mapping, which stays longer than the links, and is that of a link
            // of this layout.
            let end = unsafe { LinkEnd::attach(base.add(node as usize * layout.bytes()), layout) };
            links.push(Link { node, end, socket, past: 0 });
            *number = links.len() as u32;
        }
        let record_bytes = layout.record_bytes() - ROAD_HEADER_BYTES;
        Ok(Some(Self { links, numbers, record_bytes, shown: Vec::new(), _mapping: mapping }))
    }

    fn link(&mut self, node: u32) -> Option<&mut Link> {
        let number = self.numbers.get(node as usize)?.checked_sub(1)?;
        self.links.get_mut(number as usize)
    }
}

/// Whether a descriptor of this process is the memory of links.
fn is_memory(fd: RawFd) -> bool {
    let name = std::fs::read_link(format!("/proc/self/fd/{fd}"));
    name.is_ok_and(|name| name.to_string_lossy().starts_with(&format!("/memfd:{SHARED_MEMORY_NAME}")))
}

impl NodeLinks for SharedLinks {
    fn record_bytes(&self) -> usize {
        self.record_bytes
    }

    fn receive(&mut self) -> bool {
        let mut moved = false;
        for link in &mut self.links {
            moved |= link.end.drive_receiving(link.socket.as_fd()).unwrap_or(false);
        }
        moved
    }

    fn take(&mut self, take: &mut Take<'_>) -> Result<Left, Corrupt> {
        let Self { links, shown, .. } = self;
        let mut left = Left::default();
        for Link { node, end, past, .. } in links {
            if end.received_to() == *past || !end.has_records() {
                continue;
            }
            // The NIC thread is at it just now, and may have looked before the last of it came.
            let (Some(mut taker), Ok(Some(mut appender))) = (end.taker(), end.appender()) else {
                left.for_thread = true;
                continue;
            };
            if !appender.has_room(ANSWERS, ANSWER_BYTES).unwrap_or(false) {
                left.in_the_way = true;
                continue;
            }
            let (mut failed, mut looks) = (None, 0);
            let gone_past = taker.go_past(*past, |record| {
                looks += 1;
                if looks > ANSWERS {
                    // More than one look takes: somebody is to go on, also if this rank does not.
                    left.for_thread = true;
                    return Verdict::Stop;
                }
                if !show(&record, shown) {
                    left.for_thread = true;
                    return Verdict::Leave;
                }
                let mut answer = |answer: &[u8]| {
                    let appended = appender.push(&[&ROAD_HEADER, answer]);
                    debug_assert!(appended != Ok(false), "there is room for answers");
                };
                match take(*node, shown, &mut answer) {
                    Ok(Taken::Here) => return Verdict::Take,
                    Ok(Taken::ByThread) => {
                        left.for_thread = true;
                        return Verdict::Leave;
                    }
                    Ok(Taken::Stays) => left.in_the_way = true,
                    Err(error) => failed = Some(error),
                }
                Verdict::Stop
            });
            if let Some(error) = failed {
                return Err(error);
            }
            // A link that has ended is the NIC thread's.
            let Ok(gone_past) = gone_past else { continue };
            *past = gone_past;
        }
        Ok(left)
    }

    fn append(&mut self, to: u32, record: &[u8]) -> bool {
        let Some(link) = self.link(to) else { return false };
        link.end.is_up() && link.end.append(&[&ROAD_HEADER, record]).unwrap_or(false)
    }

    fn send(&mut self, to: u32) {
        let Some(link) = self.link(to) else { return };
        for _ in 0..FRAMES_A_PASS {
            if !matches!(link.end.drive_sending(link.socket.as_fd()), Ok(true)) {
                break;
            }
        }
    }
}

/// Copies a record of the road without what stands before it, of one that is no rank's to take the header
/// alone. False if it is none.
fn show(record: &Record<'_>, shown: &mut Vec<u8>) -> bool {
    let mut front = [0; ROAD_HEADER_BYTES];
    if record.copy(0, &mut front) < ROAD_HEADER_BYTES || front != ROAD_HEADER {
        return false;
    }
    shown.clear();
    let mut header = [0; HEADER_BYTES];
    if record.copy(ROAD_HEADER_BYTES, &mut header) == HEADER_BYTES && !may_be_taken(&header) {
        shown.extend_from_slice(&header);
    } else {
        record.append_to(ROAD_HEADER_BYTES, shown);
    }
    true
}

/// The places of links, for who starts a process that inherits them.
///
/// # Errors
/// The system has no more descriptors.
pub fn places_of(
    links: &bcs_fabric::LinkDescriptors<'_>,
    nodes: u32,
    mut inherit: impl FnMut(BorrowedFd<'_>) -> io::Result<RawFd>,
) -> io::Result<LinkPlaces> {
    let memory = inherit(links.memory)?;
    let mut sockets = Vec::with_capacity(links.sockets.len());
    for (node, socket) in &links.sockets {
        if let Some(inode) = socket_inode(*socket) {
            sockets.push((node.0, inherit(*socket)?, inode));
        }
    }
    Ok(LinkPlaces { memory, ring_bytes: links.ring_bytes, nodes, sockets })
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::fd::AsRawFd;

    #[test]
    fn places_are_read_as_they_are_written_and_nothing_else_is() {
        let sockets = vec![(1, 130, 77), (2, 131, 1 << 40)];
        for sockets in [Vec::new(), sockets] {
            let places = LinkPlaces { memory: 129, ring_bytes: 4096, nodes: 3, sockets };
            assert_eq!(places.to_string().parse(), Ok(places));
        }
        for text in ["", "1", "1:2", "1:2:3:4", "a:2:3", "1:2:3,", "1:2:3,4", "1:2:-3", "1:2:99999999999"] {
            assert_eq!(text.parse::<LinkPlaces>(), Err(()), "{text}");
        }
    }

    #[test]
    fn a_file_is_no_socket() {
        let file = std::fs::File::open("/dev/null").unwrap();
        assert_eq!(socket_inode(file.as_fd()), None);
        assert!(!is_memory(file.as_raw_fd()));
    }
}
