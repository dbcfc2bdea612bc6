//! Streams: where ranks have a core each, a rank that has posted many sends, and waits, leaves slices to its
//! receivers for a while. They have all that a slice needs but the descriptors themselves.

use super::rank_port::Port;
use crate::memory::doorbell::RingKind;
use crate::policy::{STREAM_LIMIT_NS, STREAM_PATIENCE_NS, STREAM_SENDS};

/// The patience of a rank that streams with others, who run slices.
#[derive(Clone, Copy)]
pub(super) struct Stream {
    /// The slice that was the last one when it looked.
    slice: u64,
    /// The time until which it waits for the next.
    until_ns: u64,
    /// The time until which it waits in all.
    at_most_ns: u64,
}

impl Stream {
    #[inline(never)]
    pub(super) fn begin(port: &Port, patience_ns: u64) -> Self {
        let (slice, now) = (port.memory.control().slice.get(), (port.clock)());
        Self { slice, until_ns: now + patience_ns, at_most_ns: now + STREAM_LIMIT_NS }
    }

    /// Whether others run slices, or have lately.
    #[inline(never)]
    pub(super) fn goes_on(&mut self, port: &Port) -> bool {
        let (slice, now) = (port.memory.control().slice.get(), (port.clock)());
        if slice != self.slice || !port.memory.token().looks_free() {
            (self.slice, self.until_ns) = (slice, now + STREAM_PATIENCE_NS);
        }
        now < self.until_ns.min(self.at_most_ns)
    }
}

impl Port {
    /// Whether this rank leaves streams to their receivers.
    #[inline]
    pub(super) fn leaves_streams(&self) -> bool {
        self.waiting.patience > 0 && self.pacing.starts_on_work()
    }

    /// The ring into which this rank has posted a stream, of sends or of receives, since it last went for the
    /// token, or refrained from it; none if it has not.
    #[inline]
    pub(super) fn take_stream(&mut self) -> Option<RingKind> {
        let sends = self.heads.ahead_of(self.offered, RingKind::Send);
        let receives = self.heads.ahead_of(self.offered, RingKind::Receive);
        self.offered = self.heads;
        let many = STREAM_SENDS * sends.min(receives).max(1);
        let streams = sends.max(receives) > many && self.leaves_streams();
        streams.then_some(if sends > receives { RingKind::Send } else { RingKind::Receive })
    }
}
