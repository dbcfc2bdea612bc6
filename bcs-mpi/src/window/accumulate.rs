//! Accumulate and its kin (MPI-5.0, §12.3.3 to §12.3.5): data is combined with memory of others, atomically
//! for each element.
//!
//! Of a window that spans nodes all of it is done by the holder of the run token of the target's node: this
//! process, or, on another node, whoever takes the message. Of any other window it is done under a lock of
//! the target's door. Elements are those of the one predefined datatype that the target's type is made of;
//! they lie as they do in memory, padding included, where they are combined.

use super::access::{locate, mapped};
use super::asking::{ask, ask_for_answer, note_answer};
use super::combination::{Combination, Combining, sole_element};
use super::completion::confirm;
use super::movement::{Awaited, copy_block, passive_only, request_for, request_of, slice};
use super::target::{Bytes, ORIGIN_NAMES, RESULT_NAMES, Target, TargetElements, check_reached, truncated};
use crate::api::bcs_test;
use crate::collective::extended::Extended;
use crate::collective::operand::Operand;
use crate::constants::*;
use crate::error::{MpiError, MpiResult};
use crate::object::datatype::Incoming;
use crate::object::datatype::buffer::{Elements, Staged, contiguous_bytes, is_no_buffer};
use crate::object::datatype::table::predefined_type;
use crate::object::request::State;
use crate::object::window::{AnswerEnd, Extents, Place};
use crate::process::{self, Guard, Process};
use mds::Primitive;
use nic_emu::one_sided::{Act, Piece, Request};
use nic_emu::port::{Port, PortError, Reached};
use std::ffi::c_void;

/// Where elements with padding lie: the first byte of each, from the target's place on.
fn elements_of(bytes: &Bytes, of: &'static Datatype) -> Vec<i64> {
    let mut starts = Vec::with_capacity(bytes.len() / of.size.max(1));
    let mut at = 0;
    let _ = bytes.for_each(|offset, length| {
        // A block may hold several values, and a value several blocks.
        let mut within = (at as usize).next_multiple_of(of.size) - at as usize;
        while within < length {
            starts.push(offset + within as i64);
            within += of.size;
        }
        at += length as i64;
        Ok(())
    });
    starts
}

/// The block that is combined, if it is one, in memory that is mapped: most often a few elements.
#[inline]
fn block_here(target: &Target, combination: &Combination, bytes: &Bytes) -> Option<(i64, usize)> {
    match (bytes, target.part.place) {
        (&Bytes::Block(offset, length), Place::Mapped(_)) if !combination.has_padding() => {
            Some((offset, length))
        }
        _ => None,
    }
}

/// Blocks of a target: offset and bytes.
type Blocks = Vec<(i64, usize)>;

/// Those that are combined, in the order of the data.
fn blocks_of(combination: &Combination, bytes: &Bytes) -> MpiResult<Blocks> {
    let mut blocks = Vec::new();
    if combination.has_padding() {
        let extent = combination.of.extent;
        blocks.extend(elements_of(bytes, combination.of).into_iter().map(|offset| (offset, extent)));
    } else {
        bytes.for_each(|offset, length| {
            blocks.push((offset, length));
            Ok(())
        })?;
    }
    Ok(blocks)
}

/// Packed values as elements with their padding.
fn with_padding(of: &'static Datatype, packed: &[u8]) -> Vec<u8> {
    let count = packed.len() / of.size;
    let mut elements = vec![0; count * of.extent];
    if let Some(of) = predefined_type(of.handle) {
        // SAFETY: there is room for so many elements.
        unsafe { of.layout(count as i64).unpack(packed, elements.as_mut_ptr()) };
    }
    elements
}

/// Combines data with memory of a target that this process reaches; `old`, if it is not null, gets what was
/// there, and has room for it.
fn combine_here(
    process: &Guard,
    target: &Target,
    combination: &Combination,
    blocks: &[(i64, usize)],
    data: Option<&[u8]>,
    old: *mut u8,
) -> MpiResult {
    let each = |port: &Port, arithmetic| -> Result<Reached, PortError> {
        let (mut at, mut scratch) = (0, Vec::new());
        for &(offset, length) in blocks {
            let part = data.map(|data| &data[at..at + length]);
            let place = match target.part.place {
                Place::Mapped(base) => target.here(base, offset),
                _ => {
                    scratch.resize(length, 0);
                    let address = target.address(offset);
                    let reached = port.read_memory(target.part.local_rank, address, &mut scratch)?;
                    if reached != Reached::Done {
                        return Ok(reached);
                    }
                    scratch.as_mut_ptr()
                }
            };
            // SAFETY: within the part, as `Target::bytes` has checked, or a copy of it; `old` has room for
            // all.
            unsafe {
                if !old.is_null() {
                    std::ptr::copy(place, old.add(at), length);
                }
                if let Some(part) = part {
                    combination.combine(part, place, arithmetic);
                }
            }
            let is_copy = !matches!(target.part.place, Place::Mapped(_));
            if is_copy && part.is_some() && combination.changes() {
                // What is padding here may be somebody else's.
                for (start, bytes) in combination.parts(length) {
                    let address = target.address(offset + start as i64);
                    let values = &scratch[start..start + bytes];
                    let reached = port.write_memory(target.part.local_rank, address, values)?;
                    if reached != Reached::Done {
                        return Ok(reached);
                    }
                }
            }
            at += length;
        }
        Ok(Reached::Done)
    };
    check_reached(target, process.port.combining(target.door(), target.spans_nodes, each)??)
}

/// MPI_Accumulate.
///
/// # Errors
/// Wrong arguments, or no epoch.
pub fn accumulate(
    origin: Elements<*const c_void>,
    to: &TargetElements,
    op: MPI_Op,
    win: MPI_Win,
) -> MpiResult {
    let process = &mut process::enter()?;
    if op != MPI_NO_OP && combined_at_once(process, origin, None, to, op, win)? {
        return Ok(());
    }
    accumulate_in(process, Primitive::Accumulate, origin, to, op, win)
}

/// Combines elements with a block of the target that is mapped here, if it is one, and the datatypes are one
/// predefined datatype. What is wrong is for those to find that take the long way.
///
/// # Errors
/// The job is being ended.
#[inline]
fn combined_at_once(
    process: &mut Guard,
    origin: Elements<*const c_void>,
    result: Option<Elements<*mut c_void>>,
    at: &TargetElements,
    op: MPI_Op,
    win: MPI_Win,
) -> MpiResult<bool> {
    let is_same = |count, datatype| (count, datatype) == (at.count, at.datatype);
    let (given, is_given) =
        (origin.buffer, is_same(origin.count, origin.datatype) && !is_no_buffer(origin.buffer));
    let takes = result.is_none_or(|to| is_same(to.count, to.datatype) && !is_no_buffer(to.buffer));
    let (Some(element), Some(of)) = (contiguous_bytes(at.datatype), predefined_datatype(at.datatype)) else {
        return Ok(false);
    };
    let bytes = usize::try_from(at.count).ok().and_then(|count| count.checked_mul(element));
    let Some(bytes) = bytes.filter(|_| takes && (is_given || op == MPI_NO_OP)) else { return Ok(false) };
    let Ok(combination) = Combination::of_elements(op, of) else { return Ok(false) };
    let Some(place) = mapped(process, win, (at.rank, at.disp), bytes) else { return Ok(false) };
    process.port.combining(place.door, place.spans_nodes, |_, arithmetic| {
        // SAFETY: the bytes are in the part, which is mapped; the promise of `Elements::new`.
        unsafe {
            if let Some(to) = result {
                copy_block(place.at, to.buffer.cast(), bytes);
            }
            let data = if is_given { slice(given.cast(), bytes) } else { &[] };
            combination.combine(data, place.at, arithmetic);
        }
    })?;
    Ok(true)
}

/// MPI_Raccumulate: the request is complete when the origin's buffer may be used again.
///
/// # Errors
/// Wrong arguments, or no epoch.
pub fn raccumulate(
    origin: Elements<*const c_void>,
    to: &TargetElements,
    op: MPI_Op,
    win: MPI_Win,
) -> MpiResult<MPI_Request> {
    let process = &mut process::enter()?;
    passive_only(process, win)?;
    accumulate_in(process, Primitive::Raccumulate, origin, to, op, win)?;
    Ok(request_of(process, win, State::nothing()))
}

fn accumulate_in(
    process: &mut Guard,
    call: Primitive,
    origin: Elements<*const c_void>,
    to: &TargetElements,
    op: MPI_Op,
    win: MPI_Win,
) -> MpiResult {
    let Some(target) = locate(process, win, (to.rank, to.disp))? else { return Ok(()) };
    if op == MPI_NO_OP {
        let allowed = "MPI_NO_OP is for MPI_Get_accumulate and MPI_Fetch_and_op (MPI-5.0, section 12.3.4)";
        return Err(MpiError::argument(MPI_ERR_OP, "op", "MPI_NO_OP", allowed));
    }
    let combination = Combination::new(process, op, to)?;
    let mut message = origin.message(&process.datatypes, &ORIGIN_NAMES)?;
    let bytes = target.bytes(process, to)?.first("origin_count", message.bytes)?;
    check_elements(process, "origin_datatype", origin.datatype, &combination)?;
    // SAFETY: the promise of `Elements::new`; the call is not over.
    let data = unsafe {
        message.put_together();
        slice(message.data, message.bytes)
    };
    change(process, call, &target, &combination, &bytes, data)
}

/// Checks that the origin's elements are those of the target.
fn check_elements(
    process: &Process,
    argument: &'static str,
    datatype: MPI_Datatype,
    combination: &Combination,
) -> MpiResult {
    if combination.of.handle == datatype {
        return Ok(());
    }
    let of = sole_element(process, argument, datatype)?;
    let same = match combination.how {
        Combining::Bytes(_) => true,
        // By another name.
        _ => Operand::element_of(of) == Operand::element_of(combination.of),
    };
    if same {
        return Ok(());
    }
    let value = format!("of {}", of.name);
    let allowed = format!("the elements at the target are {}", combination.of.name);
    Err(MpiError::argument(MPI_ERR_TYPE, argument, value, allowed))
}

/// Combines packed data with the bytes of a target.
fn change(
    process: &mut Guard,
    call: Primitive,
    target: &Target,
    combination: &Combination,
    bytes: &Bytes,
    packed: &[u8],
) -> MpiResult {
    if let Some(block) = block_here(target, combination, bytes) {
        return combine_here(process, target, combination, &[block], Some(packed), std::ptr::null_mut());
    }
    let blocks = blocks_of(combination, bytes)?;
    let padded;
    let data = if combination.has_padding() {
        padded = with_padding(combination.of, packed);
        padded.as_slice()
    } else {
        packed
    };
    if target.part.place != Place::There {
        return combine_here(process, target, combination, &blocks, Some(data), std::ptr::null_mut());
    }
    if let Combining::Host(extended) = combination.how {
        return swap_in(
            process,
            call,
            target,
            &extended,
            combination,
            &blocks,
            Some(data),
            std::ptr::null_mut(),
        );
    }
    let request = combination.request(Act::Accumulate, target);
    ask(process, call, target, request, (pieces_of(target, &blocks), data, combination.element_bytes()))
}

fn pieces_of(target: &Target, blocks: &[(i64, usize)]) -> Vec<Piece> {
    let piece =
        |&(offset, length): &(i64, usize)| Piece { address: target.address(offset), bytes: length as u64 };
    blocks.iter().filter(|block| block.1 != 0).map(piece).collect()
}

/// MPI_Get_accumulate.
///
/// # Errors
/// Wrong arguments, or no epoch.
pub fn get_accumulate(
    origin: Elements<*const c_void>,
    result: Elements<*mut c_void>,
    at: &TargetElements,
    op: MPI_Op,
    win: MPI_Win,
) -> MpiResult {
    let process = &mut process::enter()?;
    if combined_at_once(process, origin, Some(result), at, op, win)? {
        return Ok(());
    }
    let call = Primitive::GetAccumulate;
    let Some((target, got)) = get_accumulate_in(process, call, (origin, result), at, op, win)? else {
        return Ok(());
    };
    if let Some((requests, end)) = got {
        note_answer(process, &target, requests, end)?;
    }
    Ok(())
}

/// MPI_Rget_accumulate: the request is complete when the result is there.
///
/// # Errors
/// Wrong arguments, or no epoch.
pub fn rget_accumulate(
    origin: Elements<*const c_void>,
    result: Elements<*mut c_void>,
    at: &TargetElements,
    op: MPI_Op,
    win: MPI_Win,
) -> MpiResult<MPI_Request> {
    let process = &mut process::enter()?;
    passive_only(process, win)?;
    let call = Primitive::RgetAccumulate;
    let got = get_accumulate_in(process, call, (origin, result), at, op, win)?;
    request_for(process, call, win, got)
}

fn get_accumulate_in(
    process: &mut Guard,
    call: Primitive,
    (origin, result): (Elements<*const c_void>, Elements<*mut c_void>),
    at: &TargetElements,
    op: MPI_Op,
    win: MPI_Win,
) -> MpiResult<Option<(Target, Awaited)>> {
    let Some(target) = locate(process, win, (at.rank, at.disp))? else { return Ok(None) };
    let combination = Combination::new(process, op, at)?;
    let bytes = target.bytes(process, at)?;
    let room = bytes.room_in("result_count", result.room(&process.datatypes, &RESULT_NAMES)?)?;
    check_elements(process, "result_datatype", result.datatype, &combination)?;
    // Of an origin that gives nothing nothing is looked at (§12.3.4).
    if op == MPI_NO_OP {
        let awaited = exchange(process, call, &target, &combination, &bytes, None, room)?;
        return Ok(Some((target, awaited)));
    }
    let mut message = origin.message(&process.datatypes, &ORIGIN_NAMES)?;
    if message.bytes > bytes.len() {
        return Err(truncated("origin_count", message.bytes, bytes.len()));
    }
    check_elements(process, "origin_datatype", origin.datatype, &combination)?;
    // SAFETY: the promise of `Elements::new`; the call is not over.
    let data = unsafe {
        message.put_together();
        slice(message.data, message.bytes)
    };
    let awaited = exchange(process, call, &target, &combination, &bytes, Some(data), room)?;
    Ok(Some((target, awaited)))
}

/// MPI_Fetch_and_op: one element of a predefined datatype.
///
/// # Errors
/// Wrong arguments, or no epoch.
pub fn fetch_and_op(
    origin: Elements<*const c_void>,
    result: Elements<*mut c_void>,
    at: &TargetElements,
    op: MPI_Op,
    win: MPI_Win,
) -> MpiResult {
    let process = &mut process::enter()?;
    if combined_at_once(process, origin, Some(result), at, op, win)? {
        return Ok(());
    }
    check_predefined(process, at.datatype)?;
    let call = Primitive::FetchAndOp;
    let got = get_accumulate_in(process, call, (origin, result), at, op, win)?;
    if let Some((target, Some((requests, end)))) = got {
        note_answer(process, &target, requests, end)?;
    }
    Ok(())
}

pub(super) fn check_predefined(process: &Process, datatype: MPI_Datatype) -> MpiResult<&'static Datatype> {
    let of = process.datatypes.committed("datatype", datatype)?;
    of.as_predefined().ok_or_else(|| {
        let value = format!("{:#x}, a derived datatype", datatype.0);
        MpiError::argument(MPI_ERR_TYPE, "datatype", value, "it has to be a predefined datatype")
    })
}

/// Fetches the bytes of a target, and combines packed data with them.
fn exchange(
    process: &mut Guard,
    call: Primitive,
    target: &Target,
    combination: &Combination,
    bytes: &Bytes,
    packed: Option<&[u8]>,
    room: Incoming,
) -> MpiResult<Awaited> {
    if let Some(block) = block_here(target, combination, bytes)
        && room.staged.is_none()
        && packed.is_none_or(|packed| packed.len() == block.1)
    {
        combine_here(process, target, combination, &[block], packed, room.data)?;
        return Ok(None);
    }
    let blocks = blocks_of(combination, bytes)?;
    let Incoming { data: to, bytes: length, staged } = room;
    let end = |staged: Option<Box<Staged>>| match staged {
        Some(staged) => AnswerEnd::Unpack(staged),
        None => AnswerEnd::InPlace,
    };
    // Padding comes with the elements, and stays here.
    let (padded, mut extents);
    let (data, old) = if combination.has_padding() {
        let (size, extent) = (combination.of.size, combination.of.extent);
        padded = packed.map(|packed| with_padding(combination.of, packed));
        extents = vec![0; length / size * extent].into_boxed_slice();
        (padded.as_deref(), extents.as_mut_ptr())
    } else {
        extents = Box::default();
        (packed, to)
    };
    let end = match combination.has_padding() {
        true => {
            let datatype = combination.of.handle;
            AnswerEnd::Extents(Box::new(Extents { elements: extents, datatype, to, staged }))
        }
        false => end(staged),
    };
    // The data may be for the first elements alone: the others are only fetched.
    let combined = data.map_or(0, <[u8]>::len);
    let (changed, kept) = divided(blocks, combined);
    let mut requests = Vec::new();
    for (blocks, data, old) in [(changed, data, old), (kept, None, old.wrapping_add(combined))] {
        if blocks.is_empty() {
            continue;
        }
        match (target.part.place, combination.how) {
            (Place::There, Combining::Host(extended)) => {
                swap_in(process, call, target, &extended, combination, &blocks, data, old)?;
            }
            (Place::There, _) => {
                let (act, data) = match data {
                    Some(data) => (Act::GetAccumulate, data),
                    None => (Act::Get, &[][..]),
                };
                let asked = (pieces_of(target, &blocks), data, combination.element_bytes());
                let request = combination.request(act, target);
                // SAFETY: there is room for all, in the result's buffer or in what `end` keeps.
                requests.extend(unsafe { ask_for_answer(process, call, target, request, asked, old)? });
            }
            _ => combine_here(process, target, combination, &blocks, data, old)?,
        }
    }
    if !requests.is_empty() {
        return Ok(Some((requests, end)));
    }
    end.put();
    Ok(None)
}

/// Blocks of so many bytes, and those behind them.
fn divided(mut blocks: Blocks, bytes: usize) -> (Blocks, Blocks) {
    let (mut at, mut left) = (0, bytes);
    while at < blocks.len() && left >= blocks[at].1 {
        left -= blocks[at].1;
        at += 1;
    }
    let mut rest = blocks.split_off(at);
    if left != 0
        && let Some((offset, length)) = rest.first_mut()
    {
        blocks.push((*offset, left));
        (*offset, *length) = (*offset + left as i64, *length - left);
    }
    (blocks, rest)
}

/// Combines `long double` on another node, whose NIC cannot: element by element, until nobody else has
/// changed it meanwhile. `old`, if it is not null, gets what was there.
#[allow(clippy::too_many_arguments, reason = "each is one of the operation's")]
fn swap_in(
    process: &mut Guard,
    call: Primitive,
    target: &Target,
    extended: &Extended,
    combination: &Combination,
    blocks: &[(i64, usize)],
    data: Option<&[u8]>,
    old: *mut u8,
) -> MpiResult {
    confirm(process, call, target)?;
    let element = combination.element_bytes();
    // Padding behind the values may be somebody else's.
    let values = if combination.has_padding() { combination.of.size } else { element };
    let get = Request { is_unbounded: target.is_unbounded, ..Request::of(Act::Get) };
    let swap = Request { act: Act::CompareAndSwap, ..get };
    let mut at = 0;
    for &(offset, length) in blocks {
        for within in (0..length).step_by(element) {
            let address = target.address(offset + within as i64);
            let piece = vec![Piece { address, bytes: values as u64 }];
            let mut seen = vec![0; element];
            // SAFETY: the answer is awaited here, below as well.
            let asked = unsafe {
                ask_for_answer(process, call, target, get, (piece.clone(), &[], values), seen.as_mut_ptr())?
            };
            await_all(process, call, &asked)?;
            while let Some(data) = data {
                let mut new = seen.clone();
                extended.combine(&data[at..at + element], &mut new);
                let both = [&seen[..values], &new[..values]].concat();
                let mut found = vec![0; element];
                // SAFETY: as above.
                let asked = unsafe {
                    ask_for_answer(
                        process,
                        call,
                        target,
                        swap,
                        (piece.clone(), &both, values),
                        found.as_mut_ptr(),
                    )?
                };
                await_all(process, call, &asked)?;
                if found == seen {
                    break;
                }
                seen = found;
            }
            if !old.is_null() {
                // SAFETY: there is room for all elements.
                unsafe { std::ptr::copy_nonoverlapping(seen.as_ptr(), old.add(at), element) };
            }
            at += element;
        }
    }
    Ok(())
}

fn await_all(
    process: &mut Guard,
    call: Primitive,
    requests: &[nic_emu::memory::numbers::RequestId],
) -> MpiResult {
    requests.iter().try_for_each(|request| bcs_test(process, call, *request).map(drop))
}
