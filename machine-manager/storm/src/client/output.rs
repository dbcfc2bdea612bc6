//! What the ranks have written, on its way to the standard output and the standard error.
//!
//! Invariants: what comes from one node for one descriptor is written in its order, and nothing is lost; the
//! manager is told of bytes when they are written, so that no more than its credit waits here; with labels,
//! lines are whole, from whatever node they come.

use super::descriptor::Descriptor;
use super::error::ClientError;
use program_launcher::output::{is_same_place, standard};
use rustix::io::Errno;
use std::collections::{BTreeMap, VecDeque};
use std::io;
use tokio::io::Interest;

/// What is written at once. A pipe that is ready to be written has room for a page.
const WRITE_AT_ONCE: usize = 4096;

/// A labelled line is shorter than this (`program_launcher::output::LONGEST_LINE`, with its label); what has
/// no end before it is written as it is.
const LONGEST_HELD: usize = 128 << 10;

const _: () = assert!(
    LONGEST_HELD < bcs_protocol::node::OUTPUT_CREDIT as usize
        && program_launcher::output::LONGEST_LINE < LONGEST_HELD,
    "a line has to end, or to be given up, before its node has no credit left"
);

/// Bytes of a node that were written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Written {
    pub(super) node: u32,
    pub(super) bytes: u32,
}

struct Chunk {
    node: u32,
    bytes: Vec<u8>,
    written: usize,
}

/// One of the two outputs, or both where they lead to the same place.
struct Sink {
    descriptor: Descriptor,
    waiting: VecDeque<Chunk>,
}

/// The job's output.
pub(super) struct Output {
    sinks: Vec<Sink>,
    /// With labels: unfinished lines, by node and by whether they are for the standard error.
    lines: Option<BTreeMap<(u32, bool), Vec<u8>>>,
}

impl Output {
    pub(super) fn new(has_labels: bool) -> io::Result<Self> {
        let sink = |number| {
            let descriptor = Descriptor::new(number, Interest::WRITABLE)?;
            Ok::<_, io::Error>(Sink { descriptor, waiting: VecDeque::new() })
        };
        let mut sinks = vec![sink(1)?];
        if !is_same_place(standard(1), standard(2)) {
            sinks.push(sink(2)?);
        }
        Ok(Self { sinks, lines: has_labels.then(BTreeMap::new) })
    }

    /// Takes what has come from a node.
    pub(super) fn push(&mut self, node: u32, is_error: bool, mut bytes: Vec<u8>) {
        if let Some(lines) = &mut self.lines {
            let held = lines.entry((node, is_error)).or_default();
            held.append(&mut bytes);
            let end = match held.iter().rposition(|byte| *byte == b'\n') {
                Some(last) => last + 1,
                None if held.len() > LONGEST_HELD => held.len(),
                None => 0,
            };
            bytes = held.drain(..end).collect();
        }
        self.queue(node, is_error, bytes);
    }

    /// Nothing more comes: unfinished lines are written too.
    pub(super) fn end(&mut self) {
        for ((node, is_error), bytes) in self.lines.take().into_iter().flatten() {
            self.queue(node, is_error, bytes);
        }
    }

    fn queue(&mut self, node: u32, is_error: bool, bytes: Vec<u8>) {
        let sink = usize::from(is_error).min(self.sinks.len() - 1);
        if !bytes.is_empty() {
            self.sinks[sink].waiting.push_back(Chunk { node, bytes, written: 0 });
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.sinks.iter().all(|sink| sink.waiting.is_empty())
    }

    /// Writes some of what waits, and tells what was written to its end. Never comes back while nothing
    /// waits. Cancel safe.
    pub(super) async fn progress(&mut self) -> Result<Written, ClientError> {
        match &mut self.sinks[..] {
            [first, second] => tokio::select! {
                written = first.progress() => written,
                written = second.progress() => written,
            },
            sinks => sinks[0].progress().await,
        }
    }
}

impl Sink {
    async fn progress(&mut self) -> Result<Written, ClientError> {
        loop {
            let Some(chunk) = self.waiting.front_mut() else { return std::future::pending().await };
            self.descriptor.ready().await;
            while chunk.written < chunk.bytes.len() && self.descriptor.is_ready() {
                let rest = &chunk.bytes[chunk.written..];
                let limit = if self.descriptor.is_always_ready() { rest.len() } else { WRITE_AT_ONCE };
                match rustix::io::write(self.descriptor.fd(), &rest[..rest.len().min(limit)]) {
                    Ok(length) => chunk.written += length,
                    Err(Errno::INTR | Errno::AGAIN) => break,
                    Err(Errno::PIPE) => return Err(ClientError::OutputGone),
                    Err(error) => return Err(ClientError::Output(error.into())),
                }
            }
            if chunk.written == chunk.bytes.len() {
                let written = Written { node: chunk.node, bytes: chunk.bytes.len() as u32 };
                self.waiting.pop_front();
                return Ok(written);
            }
        }
    }
}
