//! A buffer for buffered sends: its places, and the messages that are under way from it.
//!
//! A message that does not ride in a descriptor is copied into the buffer, first fit, and sent from there;
//! its place is free again when the NIC has taken it.

use crate::constants::*;
use crate::error::{MpiError, MpiResult, Problem};
use nic_emu::descriptor::INLINE_BYTES;
use nic_emu::memory::numbers::RequestId;
use nic_emu::port::{Port, Posted, Send};

/// A message that is under way from the buffer.
#[derive(Debug)]
struct Segment {
    offset: usize,
    bytes: usize,
    nic: RequestId,
    /// Which message of this process's buffers it is.
    number: u64,
    /// Of an automatic buffer, the message itself: kept here until it has been sent.
    _own: Option<Box<[u8]>>,
}

/// A buffer.
#[derive(Debug)]
pub struct AttachedBuffer {
    address: usize,
    /// None of MPI_BUFFER_AUTOMATIC, which has no limit.
    size: Option<usize>,
    /// In order of their offsets.
    segments: Vec<Segment>,
}

impl AttachedBuffer {
    /// A buffer of the program, or, without a size, MPI_BUFFER_AUTOMATIC.
    pub(crate) fn new(address: usize, size: Option<usize>) -> Self {
        Self { address, size, segments: Vec::new() }
    }

    /// Where it is, and its size: 0 of MPI_BUFFER_AUTOMATIC.
    pub(crate) fn region(&self) -> (usize, usize) {
        (self.address, self.size.unwrap_or(0))
    }

    /// Messages that are under way.
    pub(crate) fn under_way(&self) -> u32 {
        self.segments.len() as u32
    }

    /// Whether a message with a smaller number than this is under way.
    pub(crate) fn has_before(&self, number: u64) -> bool {
        self.segments.iter().any(|segment| segment.number < number)
    }

    /// Frees the places of messages that are gone.
    ///
    /// # Errors
    /// The NIC fails.
    pub(crate) fn reap(&mut self, port: &mut Port) -> MpiResult {
        let mut result = Ok(());
        self.segments.retain(|segment| match port.test(segment.nic) {
            Ok(outcome) => outcome.is_none(),
            Err(error) => {
                result = Err(error.into());
                true
            }
        });
        result
    }

    /// The first free place of this many bytes, and where in the list it is.
    fn place(&self, bytes: usize, size: usize) -> Option<(usize, usize)> {
        let mut offset = 0;
        for (i, segment) in self.segments.iter().enumerate() {
            if segment.offset - offset >= bytes {
                return Some((offset, i));
            }
            offset = segment.offset + segment.bytes;
        }
        (size - offset >= bytes).then_some((offset, self.segments.len()))
    }

    fn no_room(&self, wanted: usize, size: usize) -> MpiError {
        let free = size - self.segments.iter().map(|segment| segment.bytes).sum::<usize>();
        MpiError::new(Problem::NoBufferSpace { wanted, size, free })
    }

    /// Sends the message of this number from here, and it must fit in the whole buffer with its overhead even
    /// when it would not need it, so that whether a program is right does not depend on timing.
    ///
    /// # Safety
    /// The message must be readable.
    ///
    /// # Errors
    /// No room.
    pub(super) unsafe fn send(
        &mut self,
        port: &mut Port,
        number: u64,
        send: &Send,
        (data, bytes): (*const u8, usize),
    ) -> MpiResult {
        let wanted = bytes.saturating_add(MPI_BSEND_OVERHEAD as usize);
        if let Some(size) = self.size.filter(|&size| wanted > size) {
            return Err(self.no_room(wanted, size));
        }
        if bytes <= INLINE_BYTES {
            // SAFETY: the caller's promise; the NIC copies these few bytes when they are posted.
            unsafe { port.post_send(send, data, bytes)? };
            return Ok(port.nudge(false)?);
        }
        let nic = RequestId::NONE;
        let (position, from, segment) = match self.size {
            None => {
                // SAFETY: the caller's promise.
                let own: Box<[u8]> = unsafe { std::slice::from_raw_parts(data, bytes) }.into();
                self.reap(port)?;
                let from = own.as_ptr();
                (self.segments.len(), from, Segment { offset: 0, bytes: 0, nic, number, _own: Some(own) })
            }
            Some(size) => {
                let mut place = self.place(wanted, size);
                if place.is_none() {
                    port.progress()?;
                    self.reap(port)?;
                    place = self.place(wanted, size);
                }
                let Some((offset, position)) = place else { return Err(self.no_room(wanted, size)) };
                let to: *mut u8 = std::ptr::with_exposed_provenance_mut(self.address + offset);
                // SAFETY: `data` by the caller's promise; the place is inside the attached buffer, which the
                // program gave to the library, and no other message is there.
                unsafe { std::ptr::copy_nonoverlapping(data, to, bytes) };
                (position, to.cast_const(), Segment { offset, bytes: wanted, nic, number, _own: None })
            }
        };
        // SAFETY: the place, or the copy that the segment keeps, is this message's until the send is
        // complete.
        if let Posted::Request(nic) = unsafe { port.post_send(send, from, bytes)? } {
            self.segments.insert(position, Segment { nic, ..segment });
        }
        Ok(port.nudge(true)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn segment(offset: usize, bytes: usize, number: u64) -> Segment {
        Segment { offset, bytes, nic: RequestId::NONE, number, _own: None }
    }

    #[test]
    fn a_message_takes_the_first_place_that_it_fits_in() {
        let mut buffer = AttachedBuffer::new(0, Some(100));
        assert_eq!(buffer.place(100, 100), Some((0, 0)));
        assert_eq!(buffer.place(101, 100), None);
        buffer.segments = vec![segment(10, 20, 7), segment(60, 30, 5)];
        assert_eq!(buffer.place(10, 100), Some((0, 0)));
        assert_eq!(buffer.place(30, 100), Some((30, 1)));
        assert_eq!(buffer.place(31, 130), Some((90, 2)));
        assert_eq!(buffer.place(11, 95), Some((30, 1)));
        assert_eq!(buffer.place(41, 100), None);
        assert!(matches!(buffer.no_room(41, 100).problem(), Problem::NoBufferSpace { free: 50, .. }));
    }
}
