//! The memory of a link as a network card sees it: what the other end writes, and what this end writes from.
//!
//! ```text
//!  link's memory (`bcs-link`)           behind it
//!  ┌───────┬───────────────┬───────────────┬─────────┬──────────┬─────────┬──────────┐
//!  │ state │ outgoing ring │ incoming ring │ signals │ slab for │ signals │ slab for │
//!  │       │               │               │ that    │ incoming │ that go │ outgoing │
//!  │       │               │               │ come    │ bytes    │         │ bytes    │
//!  └───────┴───────────────┴───────────────┴─────────┴──────────┴─────────┴──────────┘
//!           └ registered  ┘ └ registered to be written ┘          └ registered, too: both only where the
//!                                                                   provider asks for local registration
//! ```
//!
//! As a rule the rings are registered themselves. Where the system refuses to pin so much memory, small
//! *slabs* are, and bytes are copied between them and the rings; then the registered ranges are the signals
//! and their slab. The other end can never write the state, nor what goes out.

use super::operation::Operation;
use bcs_libfabric::{Access, Endpoint, OfiError, Region};
use bcs_link::{LinkLayout, SIGNAL_STRIDE, SignalWords};
use bcs_tcp::memory::LinkMemory;
use std::ptr::NonNull;

const PAGE_BYTES: usize = 4096;

/// The largest slab.
const SLAB_BYTES: usize = 64 << 10;

/// The smallest one.
const LEAST_SLAB_BYTES: usize = 4 << 10;

/// What lies behind the rings of a link.
pub(crate) const BEHIND_BYTES: usize = 2 * (PAGE_BYTES + SLAB_BYTES);

/// Which of the two signals of a direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(usize)]
pub(crate) enum Which {
    /// How far data has come.
    Data = 0,
    /// How far it was taken.
    Credit = 1,
}

impl Which {
    /// Where the signal stands behind the first one.
    pub fn offset(self) -> usize {
        self as usize * SIGNAL_STRIDE
    }
}

/// The registered memory of a link.
#[derive(Debug)]
pub(crate) struct Window {
    base: NonNull<u8>,
    layout: LinkLayout,
    /// What the other end writes.
    target: Region,
    /// The outgoing ring or slab, and the signals that go; none where that needs no registration.
    source: Option<Region>,
    signals: Option<Region>,
    /// The bytes of the slabs; none where the rings are registered.
    pub slab: Option<usize>,
}

// SAFETY: the memory is that of a link, which is made for many processes; the window itself has one owner.
unsafe impl Send for Window {}

impl Window {
    /// Registers the memory of a link: its rings, at most so many bytes of each, or else slabs that are as
    /// large as the system allows. What the system said when it refused the first time is put into
    /// `refusal`.
    ///
    /// # Errors
    /// The system refuses even the smallest slab.
    pub fn open(
        endpoint: &Endpoint<Operation>,
        memory: &LinkMemory,
        index: usize,
        limit: usize,
        refusal: &mut Option<OfiError>,
    ) -> Result<Self, OfiError> {
        let (base, layout) = (memory.address(index), memory.layout());
        let ring = layout.ring_bytes();
        if ring <= limit {
            match Self::register(endpoint, base, layout, None) {
                Ok(window) => return Ok(window),
                Err(error) => *refusal = Some(error),
            }
        }
        let mut slab = limit.clamp(LEAST_SLAB_BYTES, SLAB_BYTES).min(ring);
        slab = if slab.is_power_of_two() { slab } else { slab.next_power_of_two() / 2 };
        loop {
            match Self::register(endpoint, base, layout, Some(slab)) {
                Ok(window) => return Ok(window),
                Err(error) if slab / 2 < LEAST_SLAB_BYTES => return Err(error),
                Err(error) => {
                    refusal.get_or_insert(error);
                    slab /= 2;
                }
            }
        }
    }

    fn register(
        endpoint: &Endpoint<Operation>,
        base: NonNull<u8>,
        layout: LinkLayout,
        slab: Option<usize>,
    ) -> Result<Self, OfiError> {
        let register = |offset: usize, bytes: usize, access| {
            #[cfg(test)]
            if bytes > tests::REFUSED_ABOVE.get() {
                return Err(OfiError::Call {
                    call: "fi_mr_reg",
                    object: format!("{bytes} bytes of memory"),
                    reason: "the test allows no more".into(),
                });
            }
            // SAFETY: the range lies in the memory of the link, which stays longer than the endpoint.
            unsafe { endpoint.register(base.add(offset), bytes, access) }
        };
        let ring = layout.ring_bytes();
        let target = match slab {
            None => register(layout.incoming_at(), ring + PAGE_BYTES, Access::Target)?,
            Some(slab) => register(signals_that_come(layout), PAGE_BYTES + slab, Access::Target)?,
        };
        let (mut source, mut signals) = (None, None);
        if endpoint.promises().memory_mode.is_local {
            source = Some(match slab {
                None => register(layout.outgoing_at(), ring, Access::Source)?,
                Some(slab) => register(slab_that_goes(layout), slab, Access::Source)?,
            });
            signals = Some(register(signals_that_go(layout), PAGE_BYTES, Access::Source)?);
        }
        Ok(Self { base, layout, target, source, signals, slab })
    }

    fn at(&self, offset: usize) -> NonNull<u8> {
        // SAFETY: offsets of the layout, and behind it, lie in the memory of the link.
        unsafe { self.base.add(offset) }
    }

    /// How many bytes the other end can write before they are taken.
    pub fn bytes(&self) -> usize {
        self.slab.unwrap_or(self.layout.ring_bytes())
    }

    /// The bytes of the slab from which this end writes; none where it writes from the ring.
    pub fn outgoing_slab(&self) -> Option<usize> {
        self.slab.filter(|_| self.source.is_some())
    }

    /// The key for remote writes.
    pub fn key(&self) -> u64 {
        self.target.key
    }

    /// Where the other end writes its signals, and its bytes.
    pub fn targets(&self) -> (u64, u64) {
        let (base, ring) = (self.target.base, self.layout.ring_bytes() as u64);
        match self.slab {
            None => (base + ring, base),
            Some(_) => (base, base + PAGE_BYTES as u64),
        }
    }

    /// A signal that the other end writes.
    pub fn incoming_signal(&self, which: Which) -> &SignalWords {
        let at = self.at(signals_that_come(self.layout) + which.offset());
        // SAFETY: signals lie there, at a multiple of 64, which are atomics: any bytes are some.
        unsafe { at.cast().as_ref() }
    }

    /// A signal from which this end writes.
    pub fn outgoing_signal(&self, which: Which) -> (&SignalWords, NonNull<u8>, Option<&Region>) {
        let at = self.at(signals_that_go(self.layout) + which.offset());
        // SAFETY: as above.
        (unsafe { at.cast().as_ref() }, at, self.signals.as_ref())
    }

    /// From where bytes of the outgoing ring are written: its place in the ring, or in the slab, into which
    /// they are copied. They lie in one piece in both.
    ///
    /// # Safety
    /// The bytes were appended, and are not free; no write is under way from their place in the slab.
    pub unsafe fn outgoing(&self, position: u64, bytes: usize) -> (NonNull<u8>, Option<&Region>) {
        let ring = self.layout.ring_bytes();
        let from = self.at(self.layout.outgoing_at() + position as usize % ring);
        let Some(slab) = self.outgoing_slab() else { return (from, self.source.as_ref()) };
        let to = self.at(slab_that_goes(self.layout) + position as usize % slab);
        // SAFETY: both ranges lie in the link's memory and do not overlap; nobody writes the first one, and
        // nobody reads the other one, as the caller vouches.
        unsafe { std::ptr::copy_nonoverlapping(from.as_ptr(), to.as_ptr(), bytes) };
        (to, self.source.as_ref())
    }

    /// Copies bytes that have come in the slab into the incoming ring: from one position to another.
    ///
    /// # Safety
    /// They have come, and are no more than a slab; the ring has room for them, and nobody reads there.
    pub unsafe fn copy_incoming(&self, slab: usize, from: u64, to: u64) {
        let ring = self.layout.ring_bytes();
        let mut at = from;
        while at < to {
            let (in_ring, in_slab) = (at as usize % ring, at as usize % slab);
            let bytes = ((to - at) as usize).min(slab - in_slab).min(ring - in_ring);
            let source = self.at(signals_that_come(self.layout) + PAGE_BYTES + in_slab);
            let target = self.at(self.layout.incoming_at() + in_ring);
            // SAFETY: both ranges lie in the link's memory and do not overlap; as the caller vouches.
            unsafe { std::ptr::copy_nonoverlapping(source.as_ptr(), target.as_ptr(), bytes) };
            at += bytes as u64;
        }
    }
}

fn signals_that_come(layout: LinkLayout) -> usize {
    layout.signal_at()
}

fn signals_that_go(layout: LinkLayout) -> usize {
    layout.bytes() + PAGE_BYTES + SLAB_BYTES
}

fn slab_that_goes(layout: LinkLayout) -> usize {
    signals_that_go(layout) + PAGE_BYTES
}

#[cfg(test)]
pub(crate) mod tests {
    use std::cell::Cell;

    thread_local! {
        /// Registrations of more than that are refused, as `ulimit -l` does it to a real card.
        pub static REFUSED_ABOVE: Cell<usize> = const { Cell::new(usize::MAX) };
    }
}
