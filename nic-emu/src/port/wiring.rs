//! Edges of topologies, by which neighbours give to each other without a slice ([`crate::memory::edge`]).

use super::error::PortError;
use super::rank_port::Port;
use crate::host::waiting;
use crate::memory::LocalRank;
use crate::memory::descriptor::Check;
use crate::memory::edge::{Arrived, EDGE_INLINE_BYTES, EdgeReader, EdgeWriter, Place};
use crate::memory::slab::SLAB_BYTES;
use crate::memory::sync::Ordering;

/// What came of putting a message on an edge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Put {
    /// It is buffered: the program may use its buffer again.
    Buffered,
    /// The receiver knows of it, and expects its bytes as a message.
    AsMessage,
    /// There is no room: nothing was put.
    Full,
}

/// What came of taking a message from an edge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Take {
    /// It is there.
    Whole,
    /// Its sender still fills its slabs: take it again.
    Partly,
    /// It comes as a message.
    AsMessage,
}

impl Port {
    /// Whether neighbours may give to each other along edges. Not with fixed slices, in which all goes by the
    /// beat, and not while EMDS records what the NIC does.
    pub fn uses_edges(&self) -> bool {
        self.pacing.allows_edges() && self.memory.emds_local().is_empty()
    }

    /// Opens an edge from a rank of the node to this one; none when all are in use.
    pub fn open_edge(&mut self, sender: LocalRank) -> Result<Option<EdgeReader>, PortError> {
        let Some(edge) = self.edges.take() else { return Ok(None) };
        Ok(Some(EdgeReader::open(&self.memory, self.local_rank, edge, sender)?))
    }

    /// Closes an edge, along which nothing comes any more.
    pub fn close_edge(&mut self, edge: &EdgeReader) {
        self.edges.give_back(edge.edge);
    }

    /// Whether another message can be put on an edge.
    pub fn edge_has_room(&self, edge: &mut EdgeWriter) -> Result<bool, PortError> {
        Ok(edge.has_room(&self.memory)?)
    }

    /// Puts a message on an edge.
    ///
    /// # Safety
    /// `data` must be readable for `bytes` bytes.
    #[inline]
    pub unsafe fn put_along(
        &mut self,
        edge: &mut EdgeWriter,
        check: Check,
        data: *const u8,
        bytes: usize,
    ) -> Result<Put, PortError> {
        if !edge.has_room(&self.memory)? {
            return Ok(Put::Full);
        }
        let is_short = bytes <= EDGE_INLINE_BYTES;
        let run = if is_short { None } else { self.run_for(self.memory.job_rank(edge.receiver), bytes)? };
        let place = match run {
            _ if is_short => Place::Cell,
            Some(first) => Place::Slab(first),
            None if bytes > SLAB_BYTES => Place::Message,
            // SAFETY: the caller's promise; the length was compared.
            None => unsafe { self.one_slab_with(data, bytes)? }.map_or(Place::Message, Place::Slab),
        };
        // SAFETY: the caller's promise; in the cell lies no more than was compared.
        unsafe { edge.put(&self.memory, &Arrived { check, bytes: bytes as u64, place }, data)? };
        self.wake_other_end(edge.receiver);
        if let Some(first) = run {
            // SAFETY: the caller's promise.
            unsafe { self.fill_run(first, data, bytes)? };
        }
        Ok(if place == Place::Message { Put::AsMessage } else { Put::Buffered })
    }

    /// Without a fence: a wake that is missed is made good when the sleep times out.
    #[inline]
    fn wake_other_end(&self, local_rank: LocalRank) {
        if self.memory.header().attention.sleepers.load(Ordering::Relaxed) != 0 {
            waiting::wake(&self.memory, local_rank);
        }
    }

    /// The next message of an edge, if there is one.
    #[inline]
    pub fn arrived_along(&self, edge: &EdgeReader) -> Result<Option<Arrived>, PortError> {
        Ok(edge.next(&self.memory)?)
    }

    /// Waits a little for the next message of an edge; then wait as for anything else. `shared` says that
    /// other threads of the process wait for the port.
    pub fn watch_edge(&mut self, edge: &EdgeReader, shared: bool) -> Result<(), PortError> {
        if shared || !self.moving.is_empty() {
            return Ok(());
        }
        let started = &self.status().transfers_started;
        let crowded = self.is_crowded();
        for _ in 0..self.waiting.meeting_looks {
            if edge.next(&self.memory)?.is_some() || started.load(Ordering::Relaxed) != self.transfers_seen {
                break;
            }
            if crowded {
                rustix::thread::sched_yield();
            } else {
                std::hint::spin_loop();
            }
        }
        Ok(())
    }

    /// Takes the next message of an edge, which is this one.
    ///
    /// # Safety
    /// `to` must be writable for its bytes.
    #[inline]
    pub unsafe fn take_along(
        &mut self,
        edge: &mut EdgeReader,
        message: &Arrived,
        to: *mut u8,
    ) -> Result<Take, PortError> {
        match message.place {
            // SAFETY: the caller's promise.
            Place::Cell => unsafe { edge.copy(&self.memory, to, message.bytes as usize)? },
            Place::Slab(first) => {
                let (sender, bytes) = (edge.sender, message.bytes);
                // SAFETY: the caller's promise.
                if !unsafe { self.copy_run(sender, first, bytes, Some((to, bytes)), &mut edge.copied)? } {
                    return Ok(Take::Partly);
                }
            }
            Place::Message => {
                edge.done(&self.memory)?;
                return Ok(Take::AsMessage);
            }
        }
        edge.done(&self.memory)?;
        Ok(Take::Whole)
    }
}
