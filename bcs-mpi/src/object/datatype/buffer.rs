//! Buffers of messages: address, count and datatype of a call, checked, and seen as bytes.
//!
//! What lies in one block, whatever its datatype is called, goes from and to where it is. Anything else is
//! packed once by a [`Cursor`](super::Cursor) of its [`Layout`]. An operation keeps the layout, not the
//! datatype's handle, which may be freed meanwhile.

use super::cursor::Layout;
use super::table::Datatypes;
use super::typemap::Type;
use crate::constants::*;
use crate::error::{MpiError, MpiResult, Problem};
use nic_emu::descriptor::MESSAGE_LIMIT;
use std::ffi::c_void;
use std::mem::MaybeUninit;

/// Bytes of one element of every predefined datatype whose elements are contiguous, by handle; 0 for the
/// others.
static CONTIGUOUS: [u8; 256] = by_handle!(DATATYPES, [0; 256], |row, index| {
    if row.size == row.extent && row.size < 256 { row.size as u8 } else { 0 }
});

/// Bytes of an element whose elements are contiguous in arrays: the fast path, a look-up without a branch on
/// the kind.
#[inline(always)]
pub fn contiguous_bytes(datatype: MPI_Datatype) -> Option<usize> {
    match CONTIGUOUS.get(datatype.0.wrapping_sub(MPI_DATATYPE_NULL.0)) {
        Some(&bytes) if bytes != 0 => Some(bytes as usize),
        _ => None,
    }
}

/// The names of a buffer's arguments in the standard: address, count, datatype.
pub type Names = [&'static str; 3];

/// The usual ones.
pub const NAMES: Names = ["buf", "count", "datatype"];
/// Those of the sending half of calls with two buffers.
pub const SEND_NAMES: Names = ["sendbuf", "sendcount", "sendtype"];
/// Those of the receiving half.
pub const RECEIVE_NAMES: Names = ["recvbuf", "recvcount", "recvtype"];

#[cold]
pub(crate) fn wrong_count(argument: &'static str, value: i64) -> MpiError {
    let allowed =
        if value < 0 { "it must not be negative" } else { "so many elements are more than memory can be" };
    MpiError::argument(MPI_ERR_COUNT, argument, value, allowed)
}

/// Whether an address is that of no buffer: null, or MPI_IN_PLACE in a call that has handled it where it is
/// allowed.
#[inline(always)]
pub fn is_no_buffer(address: *const c_void) -> bool {
    const { assert!(IN_PLACE == 1, "null is below it, and every buffer above") };
    address.addr() <= IN_PLACE
}

/// MPI_IN_PLACE as a number.
const IN_PLACE: usize = 1;

/// No buffer for something.
#[cold]
pub fn no_buffer(
    argument: &'static str,
    address: *const c_void,
    bytes: usize,
    action: &'static str,
) -> MpiError {
    match address.is_null() {
        true => MpiError::new(Problem::NullBuffer { argument, bytes, action }),
        false => MpiError::new(Problem::InPlace { argument }),
    }
}

/// Checks the address that blocks are placed from, of which a displacement would make another.
///
/// # Errors
/// It is MPI_IN_PLACE.
pub fn check_not_in_place(argument: &'static str, address: *const c_void) -> MpiResult {
    if address.addr() == IN_PLACE {
        return Err(MpiError::new(Problem::InPlace { argument }));
    }
    Ok(())
}

/// Bytes of a message at most.
const MOST_SENT: usize = MESSAGE_LIMIT as usize - 1;
/// Bytes of room for one at most.
pub const MOST_ROOM: usize = isize::MAX as usize;

/// Addresses below this are no program's: with a null buffer (MPI_BOTTOM) a datatype's displacements have to
/// lead above it.
const FIRST_ADDRESS: i64 = 0x1000;

/// Checks a count of elements of any type; answers their bytes.
///
/// # Errors
/// A negative count, or one that memory cannot hold.
pub fn check_count(argument: &'static str, of: &Type, count: i64) -> MpiResult<usize> {
    if count < 0 || of.span(count).is_err() || of.size().checked_mul(count).is_none() {
        return Err(wrong_count(argument, count));
    }
    Ok((of.size() * count) as usize)
}

/// Checks the address of a buffer of `count` elements, which [`check_count`] has found well. Null is
/// MPI_BOTTOM: good for a type that is made of addresses.
///
/// # Errors
/// A null buffer for something.
pub fn check_address(
    argument: &'static str,
    address: *const c_void,
    of: &Type,
    count: i64,
    action: &'static str,
) -> MpiResult {
    match of.span(count) {
        Ok(Some((first, _))) if is_no_buffer(address) && (!address.is_null() || first < FIRST_ADDRESS) => {
            Err(no_buffer(argument, address, (of.size() * count) as usize, action))
        }
        _ => Ok(()),
    }
}

/// The bytes of a buffer whose elements lie one behind the other, if its type says so without a look at it:
/// `MOST` at most. `action` is what is to be done with it.
///
/// # Errors
/// A null buffer for something, a count that cannot be.
#[inline(always)]
pub fn bytes_together<const MOST: usize>(
    names: &Names,
    of: Elements<*const c_void>,
    action: &'static str,
) -> MpiResult<Option<usize>> {
    let Some(element) = contiguous_bytes(of.datatype) else { return Ok(None) };
    bytes_of::<MOST>(names, of.buffer, of.count, element, action).map(Some)
}

/// The bytes of elements of so many, one behind the other: `MOST` at most.
///
/// # Errors
/// A null buffer for something, a count that cannot be.
#[inline(always)]
pub fn bytes_of<const MOST: usize>(
    names: &Names,
    buffer: *const c_void,
    count: i64,
    element: usize,
    action: &'static str,
) -> MpiResult<usize> {
    let bytes = match usize::try_from(count).ok().and_then(|count| count.checked_mul(element)) {
        Some(bytes) if bytes <= MOST => bytes,
        _ => return Err(wrong_count(names[1], count)),
    };
    match is_no_buffer(buffer) && bytes != 0 {
        true => Err(no_buffer(names[0], buffer, bytes, action)),
        false => Ok(bytes),
    }
}

/// The layout of a buffer of any type, and its bytes; `action` is what is to be done with it.
///
/// # Errors
/// A null buffer for something, a count or a datatype that cannot be.
pub fn layout_of(
    datatypes: &Datatypes,
    names: &Names,
    Elements { buffer, count, datatype }: Elements<*const c_void>,
    action: &'static str,
) -> MpiResult<(Layout, usize)> {
    let of = datatypes.committed(names[2], datatype)?;
    let bytes = check_count(names[1], of, count)?;
    check_address(names[0], buffer, of, count, action)?;
    Ok((of.layout(count), bytes))
}

/// Elements of a buffer, as a call has them: to be sent (`*const`), or for what is received (`*mut`).
#[derive(Clone, Copy, Debug)]
pub struct Elements<P> {
    pub(crate) buffer: P,
    pub(crate) count: i64,
    pub(crate) datatype: MPI_Datatype,
}

impl<P> Elements<P> {
    /// So many elements of this type.
    ///
    /// # Safety
    /// Unless it is null, or MPI_IN_PLACE, or does not matter to this process, the address must be readable,
    /// or writable and used by nobody else, for them until the operation of the call, and every later start
    /// of it, is over.
    #[inline(always)]
    pub const unsafe fn new(buffer: P, count: i64, datatype: MPI_Datatype) -> Self {
        Self { buffer, count, datatype }
    }
}

/// A message to be sent: its bytes, where they are.
pub struct Outgoing {
    /// The first byte.
    pub data: *const u8,
    /// How many.
    pub bytes: usize,
    /// Where they were packed, if they were.
    pub packed: Option<Box<[u8]>>,
    /// How they lie, if they do not lie together and were not packed yet; then there is no first byte.
    pub scattered: Option<Box<Scattered>>,
}

/// The bytes of a message that do not lie together.
pub struct Scattered {
    buffer: *const u8,
    layout: Layout,
}

impl Scattered {
    /// Calls `send` with a function that writes the message piece by piece, in order: each time so many bytes
    /// to an address.
    ///
    /// # Safety
    /// The buffer must still be readable, and what is written to writable.
    pub unsafe fn fill<R>(&self, send: impl FnOnce(&mut dyn FnMut(*mut u8, usize)) -> R) -> R {
        let mut cursor = self.layout.cursor();
        // SAFETY: the promise of `Elements::new`, and the caller's.
        send(&mut |to, bytes| _ = unsafe { cursor.pack(self.buffer, to, bytes) })
    }
}

impl Outgoing {
    /// A message without bytes.
    pub const NOTHING: Self = Self { data: std::ptr::null(), bytes: 0, packed: None, scattered: None };

    /// The same, word by word. Without that the compiler joins a rare way to make a message with the usual
    /// one in memory, and copies it there in longer pieces than it was stored in. Such a copy waits for all
    /// stores before.
    #[inline(always)]
    pub(crate) fn in_words(self) -> Self {
        let Self { data, bytes, packed, scattered } = self;
        Self { data, bytes, packed, scattered }
    }

    /// Packs the message if it is scattered.
    ///
    /// # Safety
    /// The buffer must still be readable.
    #[inline(always)]
    pub unsafe fn put_together(&mut self) {
        // SAFETY: the caller's promise.
        if let Some(packed) = unsafe { self.packed_copy() } {
            self.data = packed.as_ptr();
            self.packed = Some(packed);
            self.scattered = None;
        }
    }

    /// The message packed anew, if it is scattered; it stays so.
    ///
    /// # Safety
    /// The buffer must still be readable.
    #[inline(always)]
    pub unsafe fn packed_copy(&self) -> Option<Box<[u8]>> {
        let scattered = self.scattered.as_ref()?;
        // SAFETY: the caller's promise.
        Some(unsafe { scattered.layout.pack(scattered.buffer) }.into_boxed_slice())
    }
}

impl Elements<*const c_void> {
    /// The bytes of the message that they are, if they lie one behind the other, and their type says so
    /// without a look at it.
    ///
    /// # Errors
    /// A null buffer for something, a count that cannot be.
    #[inline(always)]
    pub fn bytes_to_send(&self, names: &Names) -> MpiResult<Option<usize>> {
        bytes_together::<MOST_SENT>(names, *self, "sent")
    }

    /// The message that they are, as it lies in memory: perhaps scattered.
    ///
    /// # Errors
    /// A null buffer for something, a count or a datatype that cannot be.
    #[inline(always)]
    pub fn message(&self, datatypes: &Datatypes, names: &Names) -> MpiResult<Outgoing> {
        if let Some(bytes) = self.bytes_to_send(names)? {
            return Ok(Outgoing { data: self.buffer.cast(), bytes, ..Outgoing::NOTHING });
        }
        self.message_of_layout(datatypes, names).map(Outgoing::in_words)
    }

    #[inline(never)]
    fn message_of_layout(&self, datatypes: &Datatypes, names: &Names) -> MpiResult<Outgoing> {
        let (layout, bytes) = layout_of(datatypes, names, *self, "sent")?;
        if bytes > MOST_SENT {
            return Err(wrong_count(names[1], self.count));
        }
        let buffer = self.buffer.cast::<u8>();
        if let Some(offset) = layout.as_block() {
            return Ok(Outgoing { data: buffer.wrapping_offset(offset), bytes, ..Outgoing::NOTHING });
        }
        let scattered = Some(Box::new(Scattered { buffer, layout }));
        Ok(Outgoing { bytes, scattered, ..Outgoing::NOTHING })
    }
}

impl Elements<*mut c_void> {
    /// The same, to be read.
    #[inline(always)]
    pub fn as_const(&self) -> Elements<*const c_void> {
        Elements { buffer: self.buffer.cast_const(), count: self.count, datatype: self.datatype }
    }

    /// Where a message is to go that they have room for.
    ///
    /// # Errors
    /// A null buffer for something, a count or a datatype that cannot be.
    #[inline(always)]
    pub fn room(&self, datatypes: &Datatypes, names: &Names) -> MpiResult<Incoming> {
        if let Some(bytes) = bytes_together::<MOST_ROOM>(names, self.as_const(), "received")? {
            return Ok(Incoming { data: self.buffer.cast(), bytes, staged: None });
        }
        self.room_of_layout(datatypes, names).map(Incoming::in_words)
    }

    #[inline(never)]
    fn room_of_layout(&self, datatypes: &Datatypes, names: &Names) -> MpiResult<Incoming> {
        let (layout, bytes) = layout_of(datatypes, names, self.as_const(), "received")?;
        let buffer = self.buffer.cast::<u8>();
        if let Some(offset) = layout.as_block() {
            return Ok(Incoming { data: buffer.wrapping_offset(offset), bytes, staged: None });
        }
        let mut message = Box::new_uninit_slice(bytes);
        let data = message.as_mut_ptr().cast();
        Ok(Incoming { data, bytes, staged: Some(Box::new(Staged { message, buffer, layout })) })
    }
}

/// Where a message is to go.
pub struct Incoming {
    /// The first byte that the NIC writes.
    pub data: *mut u8,
    /// Room for so many.
    pub bytes: usize,
    /// Where it is unpacked from, if it must be.
    pub staged: Option<Box<Staged>>,
}

/// A message that is received packed and then unpacked.
pub struct Staged {
    message: Box<[MaybeUninit<u8>]>,
    buffer: *mut u8,
    layout: Layout,
}

impl Incoming {
    /// Room for no bytes.
    pub const NOTHING: Self = Self { data: std::ptr::null_mut(), bytes: 0, staged: None };

    /// The same, word by word ([`Outgoing::in_words`]).
    #[inline(always)]
    pub(crate) fn in_words(self) -> Self {
        let Self { data, bytes, staged } = self;
        Self { data, bytes, staged }
    }

    /// The room for the first `bytes` bytes, where there is room for more.
    pub fn first(mut self, bytes: usize) -> Self {
        self.bytes = self.bytes.min(bytes);
        if let Some(staged) = &mut self.staged {
            let mut message = std::mem::take(&mut staged.message).into_vec();
            message.truncate(self.bytes);
            staged.message = message.into_boxed_slice();
            self.data = staged.message.as_mut_ptr().cast();
        }
        self
    }

    /// Where the NIC puts the message, the room there, and this, which the receive tells of its type.
    #[inline(always)]
    pub fn place(&self, told: u16) -> (*mut u8, usize, u16) {
        (self.data, self.bytes, told)
    }
}

impl Staged {
    /// Puts the first `bytes` bytes, which have arrived, where the program wants them.
    ///
    /// # Safety
    /// The buffer of the receive must still be writable.
    pub unsafe fn unpack(&self, bytes: usize) {
        let (from, bytes) = (self.message.as_ptr().cast(), bytes.min(self.message.len()));
        // SAFETY: the buffer has room for `message`'s elements, by the promise of `Elements::new`, and still
        // is one; the bytes arrived.
        unsafe { self.layout.cursor().unpack(from, bytes, self.buffer) };
    }
}
