//! MPI_Alltoall and MPI_Alltoallv (MPI-5.0, §6.8): every member puts up all its blocks and takes its own block from each. One exchange; the v
//! form begins with one in which members tell where blocks lie in their contributions.

use super::block::Agreed;
use super::buffers::{Blocks, ENTRY_BYTES, ReceiveBlocks, SendBlocks, bytes_of, misfit, place_own};
use super::coherence::check_all;
use super::exchange::{Call, Contribution, Flow, Piece, exchange, exchange_but};
use super::forms;
use super::gather::{All, most, others};
use super::policy;
use crate::constants::*;
use crate::datatype::buffer::{RECEIVE_NAMES, SEND_NAMES};
use crate::datatype::tag_of;
use crate::error::MpiResult;
use crate::process::{self, Guard};
use mds::Primitive;
use std::ffi::c_void;

/// Brings block j of member i to place i at member j.
///
/// # Safety
/// Buffers must be valid for what their counts say.
///
/// # Errors
/// Wrong arguments, or the NIC fails.
pub unsafe fn alltoall(
    primitive: Primitive,
    send: &All<*const c_void>,
    receive: &All<*mut c_void>,
    comm: MPI_Comm,
) -> MpiResult<()> {
    let mut process = process::enter()?;
    let communicator = process.communicator(comm)?;
    let each = match receive.blocks {
        Blocks::Vector(..) => None,
        Blocks::Equal(count) => {
            let block = bytes_of(&process.datatypes, count, receive.datatype);
            Some(block.saturating_mul(communicator.size as usize))
        }
    };
    if communicator.is_inter() || policy::leaves_board(communicator, each) {
        drop(process);
        // SAFETY: the caller's promise.
        return unsafe {
            forms::alltoall(forms::Call::blocking(primitive, comm), &send.into(), &receive.into()).map(drop)
        };
    }
    let (rank, size) = (communicator.rank, communicator.size);
    // SAFETY: the caller's promise.
    let mut incoming = unsafe {
        ReceiveBlocks::new(
            &process.datatypes,
            &RECEIVE_NAMES,
            receive.buffer,
            &receive.blocks,
            size as usize,
            receive.datatype,
        )?
    };
    let in_place = send.buffer == MPI_IN_PLACE.cast_const();
    let mut outgoing = if in_place {
        let (buffer, blocks, datatype) = (receive.buffer.cast_const(), &receive.blocks, receive.datatype);
        // SAFETY: as above.
        unsafe {
            SendBlocks::new(&process.datatypes, &RECEIVE_NAMES, buffer, blocks, size as usize, datatype)?
        }
    } else {
        // SAFETY: as above.
        unsafe { check_all(&process.datatypes, &send.into(), &receive.into(), size as usize)? };
        // SAFETY: as above.
        unsafe {
            SendBlocks::new(
                &process.datatypes,
                &SEND_NAMES,
                send.buffer,
                &send.blocks,
                size as usize,
                send.datatype,
            )?
        }
    };
    let copy: Vec<u8>;
    if in_place {
        // Blocks are overwritten while others still read them: what is put up is a copy.
        // SAFETY: the contribution is readable.
        copy = unsafe { std::slice::from_raw_parts(outgoing.data, outgoing.bytes) }.to_vec();
        outgoing.data = copy.as_ptr();
    }
    let (offset, bytes) = outgoing.blocks[rank as usize];
    let mine = &mut incoming.blocks[rank as usize];
    if bytes != mine.bytes {
        return Err(misfit(bytes, mine.bytes, rank));
    }
    if in_place {
        // This member's block is where it goes.
        mine.staged = None;
    } else {
        // SAFETY: as above.
        unsafe { place_own(outgoing.data.wrapping_add(offset), bytes, mine) };
    }
    let mut cut = Ok(());
    if size > 1 {
        let told = match receive.blocks {
            Blocks::Vector(..) => {
                let told = tell_blocks(&mut process, primitive, comm, &outgoing)?;
                cut = others(rank, size).try_for_each(|member| {
                    let (sent, room) = (told[member as usize].1, incoming.blocks[member as usize].bytes);
                    if sent != room { Err(misfit(sent, room, member)) } else { Ok(()) }
                });
                told
            }
            Blocks::Equal(_) => {
                let each = incoming.blocks[0].bytes;
                vec![(rank as usize * each, each); size as usize]
            }
        };
        let most_bytes = match receive.blocks {
            Blocks::Vector(..) => most(&mut process, primitive, comm, outgoing.bytes)?,
            Blocks::Equal(_) => outgoing.bytes,
        };
        let mut pieces: Vec<Piece> = others(rank, size)
            .map(|member| {
                let (block, (offset, sent)) = (&incoming.blocks[member as usize], told[member as usize]);
                Piece::of(member, (offset, sent.min(block.bytes)), block.data)
            })
            .filter(|piece| piece.bytes > 0)
            .collect();
        if most_bytes > 0 {
            let tag = match receive.blocks {
                Blocks::Vector(..) => 0,
                Blocks::Equal(count) => tag_of(&process.datatypes, count, receive.datatype),
            };
            let operation = Agreed::new(0, tag).signature;
            let call = Call { primitive, comm, root: None, flow: Flow::Between, most_bytes, operation };
            let contribution = Contribution { data: outgoing.data, bytes: outgoing.bytes };
            // In the v form the blocks for several members may be the same bytes.
            let skip = match receive.blocks {
                Blocks::Vector(..) => 0..0,
                Blocks::Equal(_) => offset..offset + bytes,
            };
            // SAFETY: as above.
            unsafe { exchange_but(&mut process, &call, contribution, skip, &mut pieces)? };
        }
    }
    // SAFETY: as above.
    unsafe { incoming.unpack() };
    // Others count on this member's part in the exchange, so the error comes last.
    cut
}

/// Where this member's block begins in every other's contribution, and its bytes.
fn tell_blocks(
    process: &mut Guard,
    primitive: Primitive,
    comm: MPI_Comm,
    outgoing: &SendBlocks,
) -> MpiResult<Vec<(usize, usize)>> {
    let communicator = process.communicator(comm)?;
    let (rank, size) = (communicator.rank, communicator.size);
    let table = outgoing.table();
    let mut told = vec![[0u64; 2]; size as usize];
    let places: Vec<*mut u8> = told.iter_mut().map(|entry| entry.as_mut_ptr().cast()).collect();
    let own_entry = (rank as usize * ENTRY_BYTES, ENTRY_BYTES);
    let mut pieces: Vec<Piece> =
        others(rank, size).map(|member| Piece::of(member, own_entry, places[member as usize])).collect();
    let call =
        Call { primitive, comm, root: None, flow: Flow::Between, most_bytes: table.len(), operation: (0, 0) };
    // SAFETY: the table and the entries live until the exchange is over; each entry has its bytes.
    unsafe {
        exchange(process, &call, Contribution { data: table.as_ptr(), bytes: table.len() }, &mut pieces)?
    };
    Ok(told.into_iter().map(|[offset, bytes]| (offset as usize, bytes as usize)).collect())
}
