//! Buffered sends and the buffer that a program attaches for them (MPI-5.0, §3.6).
//!
//! What rides in a descriptor needs no buffer. Anything longer is copied into the attached buffer, first fit, and sent from
//! there; its place is free again when the NIC has taken it. A message with its overhead must fit in the whole buffer even when
//! it would not need it, so that whether a program is right does not depend on timing.

use crate::constants::*;
use crate::error::{MpiError, MpiResult, Problem};
use crate::process::{self, Guard, Process};
use mds::Primitive;
use nic_emu::descriptor::INLINE_BYTES;
use nic_emu::port::{Port, Posted, Send};
use nic_emu::status::{NOBODY, WaitingFor};
use std::ffi::c_void;

/// A message that is under way from the buffer.
#[derive(Debug)]
struct Segment {
    offset: usize,
    bytes: usize,
    nic: u32,
    /// Of an automatic buffer, the message itself: kept here until it has been sent.
    _own: Option<Box<[u8]>>,
}

/// The buffer of buffered sends.
#[derive(Debug, Default)]
pub struct AttachedBuffer {
    /// Address and size; MPI_BUFFER_AUTOMATIC has the size 0 and no limit.
    attached: Option<(usize, usize)>,
    /// In order of their offsets.
    segments: Vec<Segment>,
}

impl AttachedBuffer {
    fn is_automatic(&self) -> bool {
        self.attached.is_some_and(|(address, _)| address == MPI_BUFFER_AUTOMATIC.addr())
    }

    /// Frees the places of messages that are gone; answers whether none is left.
    pub(crate) fn reap(&mut self, port: &mut Port) -> MpiResult<bool> {
        let mut result = Ok(());
        self.segments.retain(|segment| match port.test(segment.nic) {
            Ok(outcome) => outcome.is_none(),
            Err(error) => {
                result = Err(error.into());
                true
            }
        });
        result.map(|()| self.segments.is_empty())
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

    fn free(&self, size: usize) -> usize {
        size - self.segments.iter().map(|segment| segment.bytes).sum::<usize>()
    }
}

/// Sends buffered.
///
/// # Safety
/// `data` must be readable for `bytes` bytes.
///
/// # Errors
/// No buffer is attached, or the message does not fit.
pub(super) unsafe fn send(process: &mut Process, send: &Send, data: *const u8, bytes: usize) -> MpiResult {
    let wanted = bytes.saturating_add(MPI_BSEND_OVERHEAD as usize);
    let automatic = process.attached.is_automatic();
    let (address, size) = process.attached.attached.unwrap_or((0, 0));
    if !automatic && wanted > size {
        return Err(MpiError::new(Problem::NoBufferSpace {
            wanted,
            size,
            free: process.attached.free(size),
        }));
    }
    let Process { port, attached, .. } = process;
    if bytes <= INLINE_BYTES {
        // SAFETY: the caller's promise; the NIC copies these few bytes when they are posted.
        unsafe { port.post_send(send, data, bytes)? };
        return Ok(port.nudge(false)?);
    }
    if automatic {
        // SAFETY: the caller's promise.
        let own: Box<[u8]> = unsafe { std::slice::from_raw_parts(data, bytes) }.into();
        attached.reap(port)?;
        // SAFETY: the segment keeps the copy until the send is complete.
        if let Posted::Request(nic) = unsafe { port.post_send(send, own.as_ptr(), bytes)? } {
            attached.segments.push(Segment { offset: 0, bytes: 0, nic, _own: Some(own) });
        }
        return Ok(port.nudge(true)?);
    }
    let place = match attached.place(wanted, size) {
        Some(place) => place,
        None => {
            port.progress()?;
            attached.reap(port)?;
            match attached.place(wanted, size) {
                Some(place) => place,
                None => {
                    return Err(MpiError::new(Problem::NoBufferSpace {
                        wanted,
                        size,
                        free: attached.free(size),
                    }));
                }
            }
        }
    };
    let to: *mut u8 = std::ptr::with_exposed_provenance_mut(address + place.0);
    // SAFETY: `data` by the caller's promise; the place is inside the attached buffer, which the program gave to the library, and no
    // other message is there.
    unsafe { std::ptr::copy_nonoverlapping(data, to, bytes) };
    // SAFETY: the place is this message's until the send is complete.
    if let Posted::Request(nic) = unsafe { port.post_send(send, to, bytes)? } {
        attached.segments.insert(place.1, Segment { offset: place.0, bytes: wanted, nic, _own: None });
    }
    Ok(port.nudge(true)?)
}

/// MPI_Buffer_attach. The buffer is the library's until it is detached.
///
/// # Errors
/// A buffer is attached already, the size is negative, or there is no buffer of that size.
pub fn attach(buffer: *mut c_void, size: i64) -> MpiResult {
    let mut process = process::enter()?;
    let automatic = buffer == MPI_BUFFER_AUTOMATIC;
    let Ok(size) = usize::try_from(size) else {
        return Err(MpiError::argument(MPI_ERR_ARG, "size", size, "it must not be negative"));
    };
    if buffer.is_null() && size != 0 {
        return Err(MpiError::new(Problem::NullBuffer {
            argument: "buffer",
            bytes: size,
            action: "attached",
        }));
    }
    if process.attached.attached.is_some() {
        let allowed = "one is attached already; detach it first with MPI_Buffer_detach";
        return Err(MpiError::argument(MPI_ERR_BUFFER, "buffer", "a second buffer", allowed));
    }
    process.attached.attached = Some((buffer.expose_provenance(), if automatic { 0 } else { size }));
    Ok(())
}

/// Waits until no message is under way from the buffer: MPI_Buffer_flush.
///
/// # Errors
/// The NIC fails.
pub fn flush(call: Primitive) -> MpiResult {
    drain(&mut process::enter()?, call)
}

fn drain(process: &mut Guard, call: Primitive) -> MpiResult {
    let what = WaitingFor {
        call: call.index() as u32,
        context: u32::MAX,
        peer: NOBODY,
        peer_in_job: NOBODY,
        requests: process.attached.segments.len() as u32,
        ..WaitingFor::default()
    };
    process.wait(&what, |process| {
        let Process { port, attached, .. } = process;
        Ok(attached.reap(port)?.then_some(()))
    })
}

/// MPI_Buffer_detach: waits as [`flush`], then answers the buffer's address and size.
///
/// # Errors
/// None is attached.
pub fn detach() -> MpiResult<(*mut c_void, usize)> {
    let mut process = process::enter()?;
    if process.attached.attached.is_none() {
        let allowed = "no buffer is attached; attach one with MPI_Buffer_attach";
        return Err(MpiError::argument(MPI_ERR_BUFFER, "buffer_addr", "of no buffer", allowed));
    }
    drain(&mut process, Primitive::BufferDetach)?;
    let (address, size) = process.attached.attached.take().unwrap_or((0, 0));
    Ok((std::ptr::with_exposed_provenance_mut(address), size))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn segment(offset: usize, bytes: usize) -> Segment {
        Segment { offset, bytes, nic: 0, _own: None }
    }

    #[test]
    fn a_message_takes_the_first_place_that_it_fits_in() {
        let mut buffer = AttachedBuffer::default();
        assert_eq!(buffer.place(100, 100), Some((0, 0)));
        assert_eq!(buffer.place(101, 100), None);
        buffer.segments = vec![segment(10, 20), segment(60, 30)];
        assert_eq!(buffer.place(10, 100), Some((0, 0)));
        assert_eq!(buffer.place(30, 100), Some((30, 1)));
        assert_eq!(buffer.place(31, 130), Some((90, 2)));
        assert_eq!(buffer.place(11, 95), Some((30, 1)));
        assert_eq!(buffer.place(41, 100), None);
        assert_eq!(buffer.free(100), 50);
    }
}
