//! Where this process's mappings begin and end.
//!
//! The kernel is asked for one mapping by its address (`PROCMAP_QUERY`, of Linux 6.11). A kernel that does
//! not know the question tells all of them as text. Nothing is allocated for either: the watcher asks, too.

use crate::fork::{self, ClosedInChildren};
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use rustix::ioctl::{Opcode, Updater, ioctl, opcode};
use std::ops::Range;
use std::os::fd::{AsFd, OwnedFd};

/// A mapping of this process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Mapping {
    pub range: Range<usize>,
    /// Whether it is the heap of brk(2), or the stack of the first thread. These grow in place, and nobody
    /// calls mremap(2) for them.
    pub is_of_system: bool,
}

/// `struct procmap_query`, as `include/uapi/linux/fs.h` of Linux has it.
#[derive(Default)]
#[repr(C)]
struct Query {
    bytes: u64,
    flags: u64,
    address: u64,
    start: u64,
    end: u64,
    mapping_flags: u64,
    page_bytes: u64,
    offset: u64,
    inode: u64,
    device: [u32; 2],
    name_bytes: u32,
    build_id_bytes: u32,
    name: u64,
    build_id: u64,
}

const _: () = assert!(size_of::<Query>() == 104);

const PROCMAP_QUERY: Opcode = opcode::read_write::<Query>(b'f', 17);

/// `PROCMAP_QUERY_COVERING_OR_NEXT_VMA`.
const COVERING_OR_NEXT: u64 = 0x10;

const PATH: &str = "/proc/self/maps";

/// What a line of the text begins with, up to the name, and more.
const LINE_HEAD: usize = 128;

/// The mappings of this process.
#[derive(Debug)]
pub(crate) struct Mappings {
    /// Goes first: children do not close a descriptor that is closed.
    _in_children: ClosedInChildren,
    maps: OwnedFd,
}

fn open() -> Result<OwnedFd, Errno> {
    rustix::fs::open(PATH, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())
}

impl Mappings {
    /// None when there are too many descriptors that children close.
    pub fn open() -> Result<Option<Self>, Errno> {
        let maps = open()?;
        let in_children = fork::close_in_children(maps.as_fd());
        Ok(in_children.map(|in_children| Self { _in_children: in_children, maps }))
    }

    /// The mapping at an address, or the first one behind it.
    pub fn at_or_behind(&self, address: usize) -> Option<Mapping> {
        match self.ask(address) {
            Ok(mapping) => Some(mapping),
            Err(Errno::NOENT) => None,
            Err(_) => read(address).map(|(mapping, _)| mapping),
        }
    }

    /// The same, and the end of the free addresses behind it. A mapping that grows in place meanwhile does
    /// not grow beyond.
    pub fn with_room(&self, address: usize) -> Option<(Mapping, usize)> {
        const TRIES: usize = 8;
        for _ in 0..TRIES {
            let mapping = match self.ask(address) {
                Ok(mapping) => mapping,
                Err(Errno::NOENT) => return None,
                Err(_) => return read(address),
            };
            let end = mapping.range.end;
            let room = self.ask(end).map_or(end, |behind| behind.range.start);
            // Otherwise it has grown between the questions.
            if room >= end {
                return Some((mapping, room));
            }
        }
        None
    }

    fn ask(&self, address: usize) -> Result<Mapping, Errno> {
        // The names that matter fit. A mapping with a longer one is asked for again without it.
        let mut name = [0_u8; 8];
        let asked = self.query(address, &mut name);
        let query = if asked.as_ref().err() == Some(&Errno::NAMETOOLONG) {
            self.query(address, &mut [])?
        } else {
            asked?
        };
        let name = name.split(|byte| *byte == 0).next().unwrap_or_default();
        Ok(Mapping { range: query.start as usize..query.end as usize, is_of_system: is_of_system(name) })
    }

    fn query(&self, address: usize, name: &mut [u8]) -> Result<Query, Errno> {
        let mut query = Query {
            bytes: size_of::<Query>() as u64,
            flags: COVERING_OR_NEXT,
            address: address as u64,
            name_bytes: name.len() as u32,
            name: if name.is_empty() { 0 } else { name.as_mut_ptr().expose_provenance() as u64 },
            ..Query::default()
        };
        // SAFETY: the operation reads and writes such a structure, and writes a name into so many bytes.
        unsafe { ioctl(&self.maps, Updater::<PROCMAP_QUERY, Query>::new(&mut query))? };
        Ok(query)
    }
}

fn is_of_system(name: &[u8]) -> bool {
    name == b"[heap]" || name == b"[stack]"
}

/// The same from the text. It is opened for each reading, which then goes on where it was even if mappings
/// change meanwhile.
fn read(address: usize) -> Option<(Mapping, usize)> {
    let maps = open().ok()?;
    let mut found: Option<Mapping> = None;
    let mut bytes = [0_u8; 4096];
    let (mut line, mut length) = ([0_u8; LINE_HEAD], 0);
    loop {
        let read = rustix::io::read(&maps, &mut bytes[..]).ok()?;
        if read == 0 {
            return found.map(|mapping| (mapping.clone(), mapping.range.end));
        }
        for byte in &bytes[..read] {
            if *byte != b'\n' {
                if let Some(place) = line.get_mut(length) {
                    *place = *byte;
                    length += 1;
                }
                continue;
            }
            let mapping = parse(&line[..length])?;
            if let Some(found) = found {
                return Some((found, mapping.range.start));
            }
            found = (mapping.range.end > address).then_some(mapping);
            length = 0;
        }
    }
}

/// `start-end rights offset device inode name`.
fn parse(line: &[u8]) -> Option<Mapping> {
    let mut fields = line.split(|byte| *byte == b' ').filter(|field| !field.is_empty());
    let (start, end) = std::str::from_utf8(fields.next()?).ok()?.split_once('-')?;
    let address = |digits| usize::from_str_radix(digits, 16).ok();
    let is_of_system = fields.nth(4).is_some_and(is_of_system);
    Some(Mapping { range: address(start)?..address(end)?, is_of_system })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_has_a_range_and_perhaps_a_name() {
        let of = |line: &str| parse(line.as_bytes()).map(|mapping| (mapping.range, mapping.is_of_system));
        let heap = "55d0c0000000-55d0c0021000 rw-p 00000000 00:00 0                          [heap]";
        assert_eq!(of(heap), Some((0x55d0_c000_0000..0x55d0_c002_1000, true)));
        assert_eq!(
            of("7ffc0000-7ffd0000 rw-p 00000000 00:00 0     [stack]"),
            Some((0x7ffc_0000..0x7ffd_0000, true))
        );
        assert_eq!(of("1000-2000 rw-p 00000000 00:00 0 "), Some((0x1000..0x2000, false)));
        assert_eq!(of("1000-2000 rw-p 00000000 08:01 77     /a [heap]"), Some((0x1000..0x2000, false)));
        assert_eq!(of(""), None);
        assert_eq!(of("1000 rw-p"), None);
    }

    #[test]
    fn the_kernel_tells_and_writes_the_same() {
        let mappings = Mappings::open().unwrap().unwrap();
        let on_stack = 0;
        let addresses = [0, (&raw const on_stack).addr(), parse as fn(_) -> _ as usize, LINE_HEAD];
        let is_known = mappings.query(0, &mut []).is_ok();
        // The text of the whole process may change meanwhile, the mappings of these addresses do not.
        for address in addresses {
            let (told, room) = read(address).unwrap();
            assert!(room >= told.range.end);
            assert!(told.range.end > address);
            assert_eq!(mappings.at_or_behind(address), Some(told.clone()));
            assert!(!is_known || mappings.ask(address) == Ok(told));
        }
        assert_eq!(mappings.at_or_behind(usize::MAX), None);
    }
}
