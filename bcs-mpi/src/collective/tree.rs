//! Combining contributions of several members at one of them, in the order of the reduction tree (design §4,
//! "Arithmetic"): what blocks of reductions and scans have in common.

use super::exchange::{Call, Came, Contribution, Piece, Taken, board_with, exchange};
use super::operand::Operand;
use super::stream::{self, Brought, stream};
use crate::error::{MpiError, MpiResult, Problem};
use crate::process::Guard;
use nic_emu::arith::Arithmetic;
use nic_emu::arith::reduction_tree::ReductionTree;
use std::num::NonZeroU32;
use std::ops::Range;

/// Bytes of working memory that are kept from call to call.
const SCRATCH_BYTES: usize = 64 << 20;

/// Exchanges contributions and combines the bytes of those of `members`, as many as `result` has, from `offset` on; the result is that
/// of the tree over as many ranks. Members that combine nothing take part with an empty range. The result may lie where this member's own
/// contribution does: so it is an address and its bytes, and no reference.
///
/// # Safety
/// `own` must be readable and `result` writable; at `offset` in every member's contribution there must be as many bytes as `result` has.
///
/// # Errors
/// What the exchange fails with.
pub(super) unsafe fn combine_members(
    process: &mut Guard,
    call: &Call,
    operand: &Operand,
    own: Contribution,
    offset: usize,
    members: Range<u32>,
    result: (*mut u8, usize),
) -> MpiResult<()> {
    let call = Call { operation: operand.said(), ..*call };
    if stream::applies(process, &call)? {
        // SAFETY: the caller's promise.
        return unsafe { combine_large(process, &call, operand, own, offset, members, result) };
    }
    let (result, bytes) = result;
    let count = members.len();
    // One piece of memory for all vectors, kept from call to call: large fresh ones cost more in page faults than the combining.
    let mut scratch = std::mem::take(&mut process.scratch);
    if scratch.len() < count * bytes {
        scratch.resize(count * bytes, 0);
    }
    let mut pieces: Vec<Piece> = if bytes == 0 {
        Vec::new()
    } else {
        let places = scratch.chunks_exact_mut(bytes).map(<[u8]>::as_mut_ptr);
        members.clone().zip(places).map(|(member, to)| Piece::of(member, (offset, bytes), to)).collect()
    };
    // SAFETY: the caller's promise; each place has as many bytes as its piece.
    let combined = unsafe { exchange(process, &call, own, &mut pieces) }.and_then(|()| {
        let Some(ranks) = NonZeroU32::new(count as u32).filter(|_| bytes > 0) else { return Ok(()) };
        let software = process.port.memory().header().arithmetic.get() == 1;
        let arithmetic = if software { Arithmetic::SoftFloat } else { Arithmetic::Native };
        for step in ReductionTree::new(ranks).steps(0..ranks.get()) {
            let (left, right) = scratch.split_at_mut(step.right as usize * bytes);
            let left = &left[step.left as usize * bytes..][..bytes];
            operand.combine(left, &mut right[..bytes], arithmetic)?;
        }
        let combined = &scratch[(count - 1) * bytes..][..bytes];
        // SAFETY: the caller's promise; the scratch memory is this process's own.
        unsafe { std::ptr::copy_nonoverlapping(combined.as_ptr(), result, bytes) };
        Ok(())
    });
    scratch.truncate(SCRATCH_BYTES);
    process.scratch = scratch;
    combined
}

/// Bytes that are combined at once where contributions are read by cross-memory attach: what a cache holds of several members.
const PART_BYTES: usize = 96 << 10;

/// Combines part by part, as contributions come.
struct Combiner<'a> {
    operand: &'a Operand,
    arithmetic: Arithmetic,
    own: Contribution,
    rank: u32,
    members: Range<u32>,
    /// Where in the contributions the result begins.
    offset: usize,
    result: *mut u8,
    scratch: Vec<u8>,
}

impl Combiner<'_> {
    /// Combines what lies between these bytes of the contributions; `fetch` fills a place with another member's part.
    ///
    /// # Safety
    /// The own contribution must be readable between these bytes, and the result writable; nobody else uses either meanwhile.
    unsafe fn part<E>(
        &mut self,
        part: Range<usize>,
        mut fetch: impl FnMut(u32, &mut [u8]) -> Result<(), E>,
    ) -> Result<MpiResult<()>, E> {
        let (count, bytes) = (self.members.len(), part.len());
        let Some(ranks) = NonZeroU32::new(count as u32).filter(|_| bytes > 0) else { return Ok(Ok(())) };
        if self.scratch.len() < count * bytes {
            self.scratch.resize(count * bytes, 0);
        }
        let own = self.own.data.wrapping_add(part.start);
        let result = self.result.wrapping_add(part.start - self.offset);
        let own_place = self.members.clone().position(|member| member == self.rank);
        // The last member's place is that of the result, unless that would overwrite this member's own part before its turn.
        let apart = own.addr().abs_diff(result.addr()) >= bytes;
        let in_result = apart || own_place.is_none() || own_place == Some(count - 1);
        // A left operand is only read: this member's own part is used where it lies.
        let in_own = own_place.filter(|place| place % 2 == 0 && place + 1 < count);
        let scratch = self.scratch.as_mut_ptr();
        let place_of = |place: usize| match place {
            place if Some(place) == in_own => own.cast_mut(),
            place if in_result && place == count - 1 => result,
            place => scratch.wrapping_add(place * bytes),
        };
        for (place, member) in self.members.clone().enumerate() {
            let to = place_of(place);
            if member == self.rank {
                if to.cast_const() != own {
                    // SAFETY: the own part is readable (the caller's promise) and apart from its place, which has so many bytes.
                    unsafe { std::ptr::copy_nonoverlapping(own, to, bytes) };
                }
            } else {
                // SAFETY: as above; nobody else refers to this place now.
                fetch(member, unsafe { std::slice::from_raw_parts_mut(to, bytes) })?;
            }
        }
        for step in ReductionTree::new(ranks).steps(0..ranks.get()) {
            // SAFETY: the two places are different ones, of `bytes` bytes each, and the right one is never the own part, which is not
            // written.
            let (left, right) = unsafe {
                (
                    std::slice::from_raw_parts(place_of(step.left as usize).cast_const(), bytes),
                    std::slice::from_raw_parts_mut(place_of(step.right as usize), bytes),
                )
            };
            if let Err(error) = self.operand.combine(left, right, self.arithmetic) {
                return Ok(Err(error));
            }
        }
        if !in_result {
            // SAFETY: the result is apart from the scratch memory.
            unsafe { std::ptr::copy_nonoverlapping(place_of(count - 1), result, bytes) };
        }
        Ok(Ok(()))
    }
}

/// The same for large contributions of members on one node: combined part by part, while a part is in a cache.
///
/// # Safety
/// As [`combine_members`].
unsafe fn combine_large(
    process: &mut Guard,
    call: &Call,
    operand: &Operand,
    own: Contribution,
    offset: usize,
    members: Range<u32>,
    (result, bytes): (*mut u8, usize),
) -> MpiResult<()> {
    let rank = process.communicator(call.comm)?.rank;
    let software = process.port.memory().header().arithmetic.get() == 1;
    let arithmetic = if software { Arithmetic::SoftFloat } else { Arithmetic::Native };
    let end = offset + bytes;
    // What this member combines itself the others do not, unless all combine the same (a scan).
    let skip = if bytes < own.bytes { offset..end } else { 0..0 };
    let takes = bytes != 0 && !members.is_empty();
    let scratch = std::mem::take(&mut process.scratch);
    let mut combiner = Combiner { operand, arithmetic, own, rank, members, offset, result, scratch };
    let done = loop {
        if let Some(key) = stream::agree(process, call)? {
            let take = |start: usize, most: usize, brought: &[Brought]| {
                let part = start.max(offset)..(start + most).min(end);
                if part.is_empty() {
                    return Ok(());
                }
                let fetch = |member: u32, place: &mut [u8]| {
                    let from = brought.iter().find(|(from, _)| *from == member);
                    let from = from.filter(|(_, (_, came))| part.end - start <= *came);
                    let (_, (from, _)) = from.ok_or_else(|| missing(member))?;
                    // SAFETY: so many bytes came, from where on they can be read; the place is this process's own, and as long as the part.
                    unsafe {
                        let from = from.add(part.start - start);
                        std::ptr::copy_nonoverlapping(from, place.as_mut_ptr(), place.len());
                    }
                    Ok::<(), MpiError>(())
                };
                // SAFETY: the part is within the result (the caller's promise).
                unsafe { combiner.part(part.clone(), fetch)? }
            };
            // SAFETY: the caller's promise.
            break unsafe { stream(process, call, key, own, skip, operand.extent, take) };
        }
        let take = |came: Came<'_>| {
            // Large contributions never come whole.
            let Came::Board(board) = came else { return Ok(Ok(())) };
            let each = (PART_BYTES - PART_BYTES % operand.extent).max(operand.extent);
            for start in (offset..end).step_by(each) {
                let part = start..(start + each).min(end);
                let fetch = |member: u32, place: &mut [u8]| {
                    // SAFETY: the place has so many bytes.
                    unsafe { board.read(member as usize, start, place.as_mut_ptr(), place.len()) }
                };
                // SAFETY: as above.
                if let Err(error) = unsafe { combiner.part(part, fetch)? } {
                    return Ok(Err(error));
                }
            }
            Ok(Ok(()))
        };
        // SAFETY: the caller's promise.
        match unsafe { board_with(process, call, own, takes, take) } {
            Ok(Taken::All) => break Ok(()),
            // Then nobody prefers attach any more.
            Ok(Taken::Refused) => {}
            Err(error) => break Err(error),
        }
    };
    let mut scratch = combiner.scratch;
    scratch.truncate(SCRATCH_BYTES);
    process.scratch = scratch;
    done
}

#[cold]
fn missing(member: u32) -> MpiError {
    MpiError::new(Problem::Nic(format!(
        "rank {member} gave fewer elements to a reduction than others: pass the same count everywhere"
    )))
}
