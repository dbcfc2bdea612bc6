//! The stream: large contributions flow through NIC memory, chunk by chunk, from every member that gives to all that take.
//!
//! All members meet once and agree on this way; then each fills its lane ([`nic_emu::lane`]) and takes what the others' lanes bring, whichever can be done. A chunk is
//! used where it lies: copied to its place, or combined. Nobody waits for anybody at the end.

use super::exchange::{Call, Contribution, Flow};
use crate::communicator::meeting::{Arrival, arrive, released, waiting_in};
use crate::error::MpiResult;
use crate::process::Guard;
use nic_emu::board::Board;
use nic_emu::lane::{Chunk, LaneKey, LaneReader};
use nic_emu::policy;
use nic_emu::port::{PortError, Release};
use nic_emu::slab::SLAB_BYTES;
use nic_emu::status::{Room, WaitingFor};
use std::ops::Range;

/// A member that this one takes from.
struct Source {
    member: u32,
    local_index: u32,
    reader: LaneReader,
}

/// What a round brought: the member, and where its bytes of this round are, and how many.
pub(super) type Brought = (u32, (*const u8, usize));

/// Whether a call's contributions go as a stream. The same for all members.
pub(super) fn applies(process: &Guard, call: &Call) -> MpiResult<bool> {
    let communicator = process.communicator(call.comm)?;
    let on_this_node = communicator.local.1 as u32 == communicator.size;
    Ok(on_this_node && call.most_bytes > SLAB_BYTES && policy::streams(communicator.size))
}

/// The members meet and agree on the way: none when one of them would rather have contributions read by cross-memory attach.
pub(super) fn agree(process: &mut Guard, call: &Call) -> MpiResult<Option<LaneKey>> {
    let communicator = process.communicator(call.comm)?;
    let (key, size) = (LaneKey(communicator.context + 1, communicator.sequence), communicator.size as usize);
    let own = [process.port.prefers_attach() as u8];
    let what = waiting_in(process.communicator(call.comm)?, call.primitive, call.root, call.most_bytes);
    let arrival = Arrival {
        operation: call.operation,
        root: call.root.unwrap_or(0),
        most_bytes: call.most_bytes,
        ..Arrival::default()
    };
    // SAFETY: a byte is buffered when it is posted.
    let waiter = unsafe { arrive(process, call.primitive, call.comm, &arrival, own.as_ptr(), 1, true)? };
    let Some(waiter) = waiter else { return Ok(Some(key)) };
    let attach = match released(process, &what, waiter)? {
        Release::Result(payload) => payload.iter().take(size).any(|wish| *wish != 0),
        Release::Instance(instance) => {
            let memory = process.port.memory().clone();
            let board = Board::new(&memory, instance).map_err(PortError::from)?;
            let mut attach = false;
            for member in 0..board.len() {
                let mut wish = 0;
                // SAFETY: one byte is read to one.
                unsafe { board.read(member, 0, &mut wish, 1) }.map_err(PortError::from)?;
                attach |= wish != 0;
            }
            board.depart(instance).map_err(PortError::from)?;
            attach
        }
    };
    Ok((!attach).then_some(key))
}

/// After [`agree`]: gives `own`, of which the bytes in `skip` matter to nobody else, and takes from the others: `take` is called for every round, in order,
/// with where in the contributions it begins, how many bytes it has at most, and what each member gave, which can be read during the call. Rounds begin at multiples of `granule`.
///
/// # Safety
/// `own` must be readable.
///
/// # Errors
/// What `take` fails with, a process that died, or the NIC fails.
pub(super) unsafe fn stream(
    process: &mut Guard,
    call: &Call,
    key: LaneKey,
    own: Contribution,
    skip: Range<usize>,
    granule: usize,
    mut take: impl FnMut(usize, usize, &[Brought]) -> MpiResult<()>,
) -> MpiResult<()> {
    let communicator = process.communicator(call.comm)?;
    let (rank, size) = (communicator.rank, communicator.size);
    let what = waiting_in(communicator, call.primitive, call.root, own.bytes);
    let memory = process.port.memory().clone();
    let gives = |member: u32| match call.flow {
        Flow::Between => true,
        Flow::FromRoot => Some(member) == call.root,
        Flow::ToRoot => Some(member) != call.root,
    };
    let takes = call.flow != Flow::ToRoot || Some(rank) == call.root;
    let readers = match call.flow {
        _ if !gives(rank) => 0,
        Flow::ToRoot => 1,
        _ => size - 1,
    };
    let mut sources = Vec::new();
    for member in (0..size).filter(|&member| takes && member != rank && gives(member)) {
        let local = memory.local_index(communicator.job_rank(member)).map_err(PortError::from)?;
        if let Some(local_index) = local {
            let reader = process.port.lane_reader(local_index);
            sources.push(Source { member, local_index, reader });
        }
    }
    let chunk = policy::stream_chunk_bytes(process.port.is_crowded(), call.most_bytes);
    let chunk = (chunk - chunk % granule).max(granule);
    let rounds = call.most_bytes.div_ceil(chunk);
    let mut given = if readers == 0 { rounds } else { 0 };
    // A member alone takes too: what it has itself.
    let mut taken = if takes { 0 } else { rounds };
    let mut chunks: Vec<Chunk<'_>> = Vec::with_capacity(sources.len());
    while given < rounds || taken < rounds {
        let mut moved = false;
        if taken < rounds {
            while chunks.len() < sources.len() {
                let source = &mut sources[chunks.len()];
                let found = source.reader.find(&memory, source.local_index, key, taken as u64);
                match found.map_err(PortError::from)? {
                    Some(found) => chunks.push(found),
                    None => break,
                }
            }
            if chunks.len() == sources.len() {
                let brought: Vec<Brought> = sources
                    .iter()
                    .zip(&chunks)
                    .map(|(source, chunk)| (source.member, chunk.bytes()))
                    .collect();
                let start = taken * chunk;
                take(start, chunk.min(call.most_bytes - start), &brought)?;
                chunks.drain(..).for_each(Chunk::done);
                sources.iter_mut().for_each(|source| source.reader.advance());
                taken += 1;
                moved = true;
            }
        }
        if given < rounds {
            let start = given * chunk;
            let bytes = own.bytes.saturating_sub(start).min(chunk);
            let skip = skip.start.saturating_sub(start)..skip.end.saturating_sub(start);
            let data = own.data.wrapping_add(start.min(own.bytes));
            // SAFETY: the caller's promise.
            if unsafe { process.port.lay((key, given as u64), data, bytes, skip, readers)? } {
                given += 1;
                moved = true;
            }
        }
        if !moved {
            let next = chunks.len();
            let awaited = sources.get_mut(next).filter(|_| taken < rounds);
            let bytes = own.bytes.saturating_sub(given * chunk).min(chunk);
            let mut awaited = awaited.map(|source| (source.local_index, &mut source.reader));
            let looks = if process.port.is_crowded() { 0 } else { policy::STREAM_POLLS };
            let mut ready = |process: &mut crate::process::Process| -> MpiResult<Option<()>> {
                if let Some((local_index, reader)) = &mut awaited {
                    let found = reader.find(&memory, *local_index, key, taken as u64);
                    if found.map_err(PortError::from)?.is_some() {
                        return Ok(Some(()));
                    }
                }
                Ok((given < rounds && process.port.lane_has_room(bytes)?).then_some(()))
            };
            let mut is_ready = false;
            for _ in 0..looks {
                is_ready = ready(process)?.is_some();
                if is_ready {
                    break;
                }
                std::hint::spin_loop();
            }
            if !is_ready {
                // Who has taken all and cannot give waits for room alone.
                let room = if taken < rounds { Room::Enough } else { Room::Lane };
                process.wait(&WaitingFor { room, ..what }, ready)?;
            }
        }
    }
    for source in sources {
        process.port.note_lane_reader(source.local_index, source.reader);
    }
    Ok(())
}
