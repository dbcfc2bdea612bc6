//! The short way of blocking calls: what the NIC does at once, as barriers, broadcasts, reductions and blocks
//! of up to a slab, and what a member does alone. The member arrives and waits in the call itself, without a
//! future.
//!
//! The Reduce Helper combines in the order of the reduction tree, and a member that gets no result goes on
//! at once.

use super::super::policy;
use super::call::{Call, Form};
use crate::collective::{Agreed, Block, Pattern, Reduction, Side};
use crate::constants::MPI_Comm;
use crate::error::MpiResult;
use crate::object::collective::Collective;
use crate::process::Guard;
use crate::process::monitor::note_algorithm;
use crate::progress::meeting::{attend, meet};
use crate::progress::{Arrival, Memory, take_board, take_result};
use nic_emu::descriptor::CollectiveKind;
use nic_emu::memory::numbers::CommRank;
use nic_emu::slab::SLAB_BYTES;
use std::ptr::null;

/// Combines the vectors of the `members` of the call's communicator, if that can be done at once; answers
/// whether it is. `root` is the only one that gets the result, if there is one; `to` is null elsewhere.
///
/// # Safety
/// The operands must be what `reduction` has found to be `bytes` bytes.
///
/// # Errors
/// The NIC fails.
#[inline(always)]
pub(super) unsafe fn combine(
    process: &mut Guard,
    call: Call,
    (members, root): (u32, Option<CommRank>),
    reduction: &Reduction,
    (from, to, bytes): (*const u8, *mut u8, usize),
) -> MpiResult<bool> {
    if call.form != Form::Blocking {
        return Ok(false);
    }
    if members == 1 && reduction.travels_as_it_lies() {
        if bytes > 0 && from != to.cast_const() {
            // SAFETY: the caller's promise.
            unsafe { std::ptr::copy(from, to, bytes) };
        }
        return Ok(true);
    }
    let collective = if root.is_some() { Collective::reduce } else { Collective::allreduce };
    match (reduction.on_nic(), bytes) {
        (Some(operation), 1..=SLAB_BYTES) if meets_on_nic(process, call.comm, collective, bytes)? => {
            note_algorithm(collective, policy::ON_NIC);
            // SAFETY: as above.
            unsafe { on_nic(process, call, operation, root, (from, to, bytes))? };
            Ok(true)
        }
        _ => Ok(false),
    }
}

/// Broadcasts a block that lies together, if the NIC does that in one go; answers whether it is done.
///
/// # Errors
/// The NIC fails.
#[inline]
pub(super) fn broadcast(
    process: &mut Guard,
    Call { primitive, comm, form }: Call,
    block: &Block,
    root: CommRank,
) -> MpiResult<bool> {
    let Some(memory) = block.together() else { return Ok(false) };
    let communicator = process.communicator(comm)?;
    let (bytes, is_root) = (block.bytes, communicator.rank == root);
    if form != Form::Blocking
        || communicator.size == 1
        || !(1..=SLAB_BYTES).contains(&bytes)
        || policy::spreads_by_messages(communicator.spans_nodes(), process.port.sends_at_once())
        || !wants_nic(process, comm, Collective::bcast)?
    {
        return Ok(false);
    }
    note_algorithm(Collective::bcast, policy::ON_NIC);
    let Agreed { signature: operation, .. } = block.agreed();
    let arrival = Arrival { kind: CollectiveKind::Broadcast, ..Arrival::board(root, operation, bytes) };
    let data = (if is_root { memory.first().cast_const() } else { null() }, bytes);
    let waits = (Some(root), bytes, None);
    // SAFETY: the block is readable; up to a slab nothing is read after this.
    let release = unsafe { attend(process, (primitive, comm), waits, &arrival, data, !is_root)? };
    if let Some(release) = release {
        take_result(process, release, 0, memory)?;
    }
    Ok(true)
}

/// Moves blocks through slabs, if they lie one behind the other and that can be done at once; answers whether
/// it is.
///
/// # Errors
/// The NIC fails.
#[inline]
pub(super) fn bring(
    process: &mut Guard,
    call: Call,
    pattern: Pattern,
    (given, taken): &(Side, Side),
    is_in_place: bool,
    agreed: Agreed,
) -> MpiResult<bool> {
    let Call { primitive, comm, form } = call;
    let communicator = process.communicator(comm)?;
    let (rank, size, each) = (communicator.rank, communicator.size, agreed.bytes);
    let bytes = each.saturating_mul(if pattern.gives_the_same() { 1 } else { size as usize });
    if form != Form::Blocking
        || agreed.differs
        || size == 1
        || communicator.spans_nodes()
        || !(1..=SLAB_BYTES).contains(&bytes)
        || !wants_nic(process, comm, pattern.collective())?
    {
        return Ok(false);
    }
    let (gives, takes) = (pattern.gives(rank), pattern.takes(rank));
    let has_own = pattern.has_own(rank) && !is_in_place;
    let row = |side: &Side, matters| if matters { side.row(each) } else { Some((Memory::NOTHING, 0)) };
    let (Some(from), Some(to)) = (row(given, gives || has_own), row(taken, takes || has_own)) else {
        return Ok(false);
    };
    let of = |(first, apart): (Memory, usize), member: CommRank| {
        // SAFETY: the promise of `Side::new`, of every member's block.
        unsafe { Memory::new(first.first().wrapping_add(member.index() * apart), each) }
    };
    if has_own {
        of(from, rank).copy_to(of(to, rank));
    }
    note_algorithm(pattern.collective(), policy::ON_NIC);
    let (operation, root, is_row) =
        (agreed.signature, pattern.root(), matches!(pattern, Pattern::Scatter(_)));
    let arrival = match is_row {
        true => Arrival { kind: CollectiveKind::Broadcast, ..Arrival::board(root, operation, bytes) },
        false => Arrival::board(root, operation, each),
    };
    let data = match gives {
        true => (from.0.first().cast_const(), bytes),
        false => (null(), if is_row { bytes } else { 0 }),
    };
    // SAFETY: the blocks are readable; up to a slab nothing is read after this.
    let release = unsafe { attend(process, (primitive, comm), (None, bytes, None), &arrival, data, takes)? };
    let Some(release) = release else { return Ok(true) };
    let (skip, gives_all) = (rank.index() * each, pattern.gives_the_same());
    match is_row {
        true => take_result(process, release, skip, of(to, CommRank(0)))?,
        false => {
            let (start, put_up) = if gives_all { (0, each) } else { (skip, each * size as usize) };
            let givers = CommRank::all(size).filter(|member| pattern.goes(*member, rank));
            take_board(process, release, put_up, givers.map(|member| (member, start, of(to, member))))?;
        }
    }
    Ok(true)
}

/// Ends a barrier on the NIC, if that is to do it; answers whether it is done.
///
/// # Errors
/// The NIC fails.
#[inline(always)]
pub(super) fn barrier(process: &mut Guard, Call { primitive, comm, .. }: Call) -> MpiResult<bool> {
    if !meets_on_nic(process, comm, Collective::barrier, 0)? {
        return Ok(false);
    }
    note_algorithm(Collective::barrier, policy::ON_NIC);
    meet(process, primitive, comm, &Arrival::BARRIER, &[])?;
    Ok(true)
}

/// Whether a collective in which everybody waits for everybody, of so many bytes, is the NIC's for certain.
#[inline(always)]
fn meets_on_nic(
    process: &mut Guard,
    comm: MPI_Comm,
    collective: Collective,
    bytes: usize,
) -> MpiResult<bool> {
    let communicator = process.communicator(comm)?;
    let (size, spans_nodes) = (communicator.size, communicator.spans_nodes());
    let sends_at_once = process.port.sends_at_once();
    Ok(!policy::meets_by_messages(size, spans_nodes, sends_at_once)
        && (collective == Collective::reduce
            || !policy::may_meet_by_nodes(size, bytes, spans_nodes, sends_at_once))
        && wants_nic(process, comm, collective)?)
}

/// Whether the user wants nothing else.
#[inline(always)]
fn wants_nic(process: &Guard, comm: MPI_Comm, collective: Collective) -> MpiResult<bool> {
    let wanted = process.communicator(comm)?.hints.wanted.algorithm(collective);
    Ok(wanted
        .or_else(|| process.communicators.wanted.algorithm(collective))
        .is_none_or(|number| number == policy::ON_NIC))
}

/// The NIC combines; the members with a place for the result wait for it.
unsafe fn on_nic(
    process: &mut Guard,
    Call { primitive, comm, .. }: Call,
    operation: (u8, u8),
    root: Option<CommRank>,
    (from, to, bytes): (*const u8, *mut u8, usize),
) -> MpiResult {
    let kind = if root.is_some() { CollectiveKind::Reduce } else { CollectiveKind::Allreduce };
    let arrival = Arrival { kind, ..Arrival::board(root.unwrap_or_default(), operation, 0) };
    let (data, waits) = ((from, bytes), (root, bytes, None));
    // SAFETY: the caller's promise; up to a slab nothing is read after this.
    match unsafe { attend(process, (primitive, comm), waits, &arrival, data, !to.is_null())? } {
        // SAFETY: as above; who waits has a place for the result.
        Some(release) => take_result(process, release, 0, unsafe { Memory::new(to, bytes) }),
        None => Ok(()),
    }
}
