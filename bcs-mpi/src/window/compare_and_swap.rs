//! Compare and swap (MPI-5.0, §12.3.4): an element is replaced if it is what is expected.

use super::access::{locate, mapped};
use super::accumulate::check_predefined;
use super::asking::{ask_for_answer, note_answer};
use super::movement::{copy_block, slice};
use super::target::{TargetElements, check_reached};
use crate::constants::*;
use crate::error::{MpiError, MpiResult};
use crate::object::datatype::buffer::{Elements, contiguous_bytes, is_no_buffer};
use crate::object::window::{AnswerEnd, Place};
use crate::process::{self, Guard};
use mds::Primitive;
use nic_emu::one_sided::{Act, Request};
use nic_emu::port::{Port, PortError, Reached};
use std::ffi::c_void;

/// Bytes of an element at most that can be compared and swapped.
const MOST_COMPARED: usize = 16;

/// Whether elements of a predefined datatype can be compared and swapped.
fn is_compared(of: &Datatype) -> bool {
    of.size <= MOST_COMPARED
        && matches!(
            of.class,
            Class::CInteger | Class::FortranInteger | Class::Logical | Class::MultiLanguage | Class::Byte
        )
}

/// Compares and swaps an element of a target that is mapped here, if it is such a one; as
/// [`combined_at_once`].
///
/// # Errors
/// The job is being ended.
#[inline]
fn swapped_at_once(
    process: &mut Guard,
    (origin, compare): (*const c_void, *const c_void),
    result: *mut c_void,
    at: &TargetElements,
    win: MPI_Win,
) -> MpiResult<bool> {
    let (Some(bytes), Some(of)) = (contiguous_bytes(at.datatype), predefined_datatype(at.datatype)) else {
        return Ok(false);
    };
    if [origin, compare, result].into_iter().any(is_no_buffer) || !is_compared(of) {
        return Ok(false);
    }
    let Some(place) = mapped(process, win, (at.rank, at.disp), bytes) else { return Ok(false) };
    process.port.combining(place.door, place.spans_nodes, |_, _| {
        // SAFETY: as in `combined_at_once`. The result may lie where the others do.
        unsafe {
            let (mut found, mut new) = ([0_u8; MOST_COMPARED], [0_u8; MOST_COMPARED]);
            copy_block(place.at, found.as_mut_ptr(), bytes);
            copy_block(origin.cast(), new.as_mut_ptr(), bytes);
            if found[..bytes] == *slice(compare.cast(), bytes) {
                copy_block(new.as_ptr(), place.at, bytes);
            }
            copy_block(found.as_ptr(), result.cast(), bytes);
        }
    })?;
    Ok(true)
}

/// MPI_Compare_and_swap: one element of an integer, logical or byte datatype.
///
/// # Errors
/// Wrong arguments, or no epoch.
pub fn compare_and_swap(
    origin: Elements<*const c_void>,
    compare: Elements<*const c_void>,
    result: Elements<*mut c_void>,
    at: &TargetElements,
    win: MPI_Win,
) -> MpiResult {
    let process = &mut process::enter()?;
    if swapped_at_once(process, (origin.buffer, compare.buffer), result.buffer, at, win)? {
        return Ok(());
    }
    let call = Primitive::CompareAndSwap;
    let Some(target) = locate(process, win, (at.rank, at.disp))? else { return Ok(()) };
    let of = check_predefined(process, at.datatype)?;
    if !is_compared(of) {
        let allowed = "it has to be an integer, a logical or MPI_BYTE (MPI-5.0, section 12.3.4)";
        return Err(MpiError::argument(MPI_ERR_TYPE, "datatype", of.name, allowed));
    }
    let message = origin.message(&process.datatypes, &["origin_addr", "count", "datatype"])?;
    let compared = compare.message(&process.datatypes, &["compare_addr", "count", "datatype"])?;
    let room = result.room(&process.datatypes, &["result_addr", "count", "datatype"])?;
    let bytes = target.bytes(process, at)?;
    let length = bytes.len();
    // SAFETY: the promise of `Elements::new`; elements of predefined types of these classes lie together.
    let (new, expected) = unsafe { (slice(message.data, length), slice(compared.data, length)) };
    if target.part.place == Place::There {
        let both = [expected, new].concat();
        let request = Request { is_unbounded: target.is_unbounded, ..Request::of(Act::CompareAndSwap) };
        let asked = (target.pieces(&bytes)?, both.as_slice(), length);
        // SAFETY: there is room for the result until the operation is over.
        let requests = unsafe { ask_for_answer(process, call, &target, request, asked, room.data)? };
        return note_answer(process, &target, requests, AnswerEnd::InPlace);
    }
    let mut found = vec![0; length];
    let swap = |port: &Port, _| -> Result<Reached, PortError> {
        match target.part.place {
            Place::Mapped(base) => {
                let place = target.here(base, 0);
                // SAFETY: within the part, which is mapped, as `Target::bytes` has checked.
                unsafe {
                    std::ptr::copy(place, found.as_mut_ptr(), length);
                    if found == expected {
                        std::ptr::copy(new.as_ptr(), place, length);
                    }
                }
                Ok(Reached::Done)
            }
            _ => {
                let (rank, address) = (target.part.local_rank, target.address(0));
                let reached = port.read_memory(rank, address, &mut found)?;
                if reached != Reached::Done || found != expected {
                    return Ok(reached);
                }
                port.write_memory(rank, address, new)
            }
        }
    };
    check_reached(&target, process.port.combining(target.door(), target.spans_nodes, swap)??)?;
    // SAFETY: there is room for the element, by the promise of `Elements::new`.
    unsafe { std::ptr::copy_nonoverlapping(found.as_ptr(), room.data, length) };
    Ok(())
}
