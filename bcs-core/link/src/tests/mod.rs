//! Two ends in one process, and what lies between them: a wire that the test holds in its hands.
//!
//! | file | holds |
//! |---|---|
//! | `records` | what is appended comes out, however the stream is cut and whoever drives |
//! | `damage` | what was changed on the wire or in shared memory is never taken for a record |

mod damage;
mod records;

use super::*;
use std::alloc::{Layout, alloc_zeroed, dealloc};
use std::io::{Read, Write};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::ptr::NonNull;

/// Memory of a link, as a process shares it with others: here with other ends in this process.
pub struct Memory {
    base: NonNull<u8>,
    layout: LinkLayout,
}

impl Memory {
    pub fn new(layout: LinkLayout) -> Self {
        // SAFETY: a layout has some bytes.
        let base = NonNull::new(unsafe { alloc_zeroed(Self::pages(layout)) }).unwrap();
        Self { base, layout }
    }

    fn pages(layout: LinkLayout) -> Layout {
        Layout::from_size_align(layout.bytes(), 4096).unwrap()
    }

    pub fn attach(&self) -> LinkEnd {
        // SAFETY: the memory is of this layout, began as zeros, and outlives the ends of a test.
        unsafe { LinkEnd::attach(self.base, self.layout) }
    }

    /// Overwrites a word of it, as a process does that has gone wild.
    pub fn spoil(&self, word: usize, value: u64) {
        let words = self.layout.bytes() / 8;
        // SAFETY: the word lies in the memory, and no end is at work.
        unsafe { self.base.cast::<u64>().add(word % words).write_volatile(value) };
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        // SAFETY: as it was made; the ends that were attached are not used any more.
        unsafe { dealloc(self.base.as_ptr(), Self::pages(self.layout)) };
    }
}

pub fn secrets(side: Side) -> LinkSecrets {
    let (one, other) = ([1; 32], [2; 32]);
    match side {
        Side::Dialler => LinkSecrets::new(one, other),
        Side::Acceptor => LinkSecrets::new(other, one),
    }
}

pub fn protection(side: Side, is_sealed: bool) -> Protection {
    if is_sealed { Protection::Sealed(secrets(side)) } else { Protection::Plain }
}

/// One node: its end, its memory and its end of the connection; and what the wire has of it, when the test is
/// the wire.
pub struct Node {
    pub end: LinkEnd,
    pub memory: Memory,
    pub socket: UnixStream,
}

impl Node {
    pub fn new(side: Side, is_sealed: bool, layout: LinkLayout, socket: UnixStream) -> Self {
        let memory = Memory::new(layout);
        let mut end = memory.attach();
        end.open(side, protection(side, is_sealed)).unwrap();
        socket.set_nonblocking(true).unwrap();
        Self { end, memory, socket }
    }

    pub fn drive(&mut self) -> Result<bool, LinkFault> {
        self.end.drive(self.socket.as_fd())
    }

    /// Takes all records that are there.
    pub fn take(&self) -> Vec<Vec<u8>> {
        let mut records = Vec::new();
        let Some(mut taker) = self.end.taker() else { return records };
        while let Some(record) = taker.next(|record| copied(&record)).unwrap() {
            records.push(record);
        }
        records
    }
}

pub fn copied(record: &Record<'_>) -> Vec<u8> {
    let mut copied = Vec::new();
    record.append_to(0, &mut copied);
    copied
}

/// Two nodes that talk to each other.
pub fn pair(is_sealed: bool, layout: LinkLayout) -> [Node; 2] {
    let (one, other) = UnixStream::pair().unwrap();
    [Node::new(Side::Dialler, is_sealed, layout, one), Node::new(Side::Acceptor, is_sealed, layout, other)]
}

/// Drives both until nothing moves any more.
pub fn settle(nodes: &mut [Node; 2]) {
    while nodes.each_mut().map(|node| node.drive().unwrap()).contains(&true) {}
}

/// Two nodes, up, whose bytes the test carries; and its ends of the two connections.
pub fn apart(is_sealed: bool, layout: LinkLayout) -> ([Node; 2], [UnixStream; 2]) {
    let ((one, wire_one), (other, wire_other)) = (UnixStream::pair().unwrap(), UnixStream::pair().unwrap());
    let mut nodes = [
        Node::new(Side::Dialler, is_sealed, layout, one),
        Node::new(Side::Acceptor, is_sealed, layout, other),
    ];
    let mut wires = [wire_one, wire_other];
    wires.iter().for_each(|wire| wire.set_nonblocking(true).unwrap());
    for _ in 0..2 {
        for node in [1, 0] {
            nodes[node].drive().unwrap();
            let said = hear(&mut wires[node]);
            wires[1 - node].write_all(&said).unwrap();
            nodes[1 - node].drive().unwrap();
        }
    }
    assert!(nodes.iter().all(|node| node.end.is_up()));
    (nodes, wires)
}

/// What has come over a wire.
pub fn hear(wire: &mut UnixStream) -> Vec<u8> {
    let mut said = Vec::new();
    let ended = wire.read_to_end(&mut said);
    assert!(ended.map_or_else(|error| error.kind() == std::io::ErrorKind::WouldBlock, |_| true));
    said
}

/// The frames that a node sends for these records, each record in a frame of its own.
pub fn frames_of(node: &mut Node, wire: &mut UnixStream, records: &[&[u8]]) -> Vec<Vec<u8>> {
    let frame = |record: &&[u8]| {
        assert_eq!(node.end.append(&[record]), Ok(true));
        while node.end.drive_sending(node.socket.as_fd()).unwrap() {}
        hear(wire)
    };
    records.iter().map(frame).collect()
}
