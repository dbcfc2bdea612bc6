//! Chapter 12: one-sided communication; chapter 7: names of windows.

use crate::edge::{Number, moved, result_string, wide};
use crate::forms::own;
use bcs_mpi::window::create::{self, PartOf};
use bcs_mpi::window::{
    TargetElements, accumulate, active, compare_and_swap, dynamic, fence, movement, passive, query, shared,
};

/// A part of a window.
fn part(size: MPI_Aint, disp_unit: impl Number) -> PartOf {
    PartOf { size, disp_unit: wide(disp_unit) }
}

/// Elements of a target.
fn at(rank: c_int, disp: MPI_Aint, count: impl Number, datatype: MPI_Datatype) -> TargetElements {
    TargetElements { rank, disp, count: wide(count), datatype }
}

use bcs_mpi::constants::*;
use std::ffi::c_int;

answers! {
    MPI_Win_create(base, size, disp_unit, info, comm) -> win [timed(0) on comm] =
        create::create(base, part(size, disp_unit), info, comm);
    MPI_Win_create_dynamic(info, comm) -> win [timed(0) on comm] = create::create_dynamic(info, comm);
    MPI_Win_free(win: INOUT) [timed(0)] = create::free(win).map_err(|error| error.of(*win));
    MPI_Win_attach(win, base, size) [on win] = dynamic::attach(win, base, size);
    MPI_Win_detach(win, base) [on win] = dynamic::detach(win, base);
    MPI_Win_get_group(win) -> group [on win] = query::group(win);
    MPI_Win_get_info(win) -> info_used [on win] = query::get_info(win);
    MPI_Win_set_info(win, info) [on win] = query::set_info(win, info);
    MPI_Win_set_name(win, win_name: STRING) [on win] = query::set_name(win, win_name);
    MPI_Win_get_name(win, win_name, resultlen) [on win] =
        result_string(win_name, "win_name", MPI_MAX_OBJECT_NAME, resultlen, || query::get_name(win));
    MPI_Win_fence(assert, win) [timed(0) on win] = fence::fence(assert, win);
    MPI_Win_post(group, assert, win) [timed(0) on win] = active::post(group, assert, win);
    MPI_Win_start(group, assert, win) [timed(0) on win] = active::start(group, assert, win);
    MPI_Win_complete(win) [timed(0) on win] = active::complete(win);
    MPI_Win_wait(win) [timed(0) on win] = active::wait(win);
    MPI_Win_test(win) -> flag [timed(0) on win] = active::test(win);
    MPI_Win_lock(lock_type, rank, assert, win) [timed(0) on win] =
        passive::lock(lock_type, rank, assert, win);
    MPI_Win_lock_all(assert, win) [timed(0) on win] = passive::lock_all(assert, win);
    MPI_Win_unlock(rank, win) [timed(0) on win] = passive::unlock(rank, win);
    MPI_Win_unlock_all(win) [timed(0) on win] = passive::unlock_all(win);
    MPI_Win_flush(rank, win) [timed(0) on win] = passive::flush(rank, win);
    MPI_Win_flush_all(win) [timed(0) on win] = passive::flush_all(win);
    MPI_Win_flush_local(rank, win) [timed(0) on win] = passive::flush_local(rank, win);
    MPI_Win_flush_local_all(win) [timed(0) on win] = passive::flush_local_all(win);
    MPI_Win_sync(win) [on win] = passive::sync(win);
    MPI_Put(
        origin_addr, origin_count, origin_datatype, target_rank, target_disp, target_count, target_datatype, win,
    ) [timed(moved(origin_count, origin_datatype)) on win] = movement::put(
        own(origin_addr, origin_count, origin_datatype),
        &at(target_rank, target_disp, target_count, target_datatype),
        win,
    );
    MPI_Rput(
        origin_addr, origin_count, origin_datatype, target_rank, target_disp, target_count, target_datatype, win,
    ) -> request [timed(moved(origin_count, origin_datatype)) on win] = movement::rput(
        own(origin_addr, origin_count, origin_datatype),
        &at(target_rank, target_disp, target_count, target_datatype),
        win,
    );
    MPI_Get(
        origin_addr, origin_count, origin_datatype, target_rank, target_disp, target_count, target_datatype, win,
    ) [timed(moved(origin_count, origin_datatype)) on win] = movement::get(
        own(origin_addr, origin_count, origin_datatype),
        &at(target_rank, target_disp, target_count, target_datatype),
        win,
    );
    MPI_Rget(
        origin_addr, origin_count, origin_datatype, target_rank, target_disp, target_count, target_datatype, win,
    ) -> request [timed(moved(origin_count, origin_datatype)) on win] = movement::rget(
        own(origin_addr, origin_count, origin_datatype),
        &at(target_rank, target_disp, target_count, target_datatype),
        win,
    );
    MPI_Accumulate(
        origin_addr, origin_count, origin_datatype, target_rank, target_disp, target_count, target_datatype, op,
        win,
    ) [timed(moved(origin_count, origin_datatype)) on win] = accumulate::accumulate(
        own(origin_addr, origin_count, origin_datatype),
        &at(target_rank, target_disp, target_count, target_datatype),
        op,
        win,
    );
    MPI_Raccumulate(
        origin_addr, origin_count, origin_datatype, target_rank, target_disp, target_count, target_datatype, op,
        win,
    ) -> request [timed(moved(origin_count, origin_datatype)) on win] = accumulate::raccumulate(
        own(origin_addr, origin_count, origin_datatype),
        &at(target_rank, target_disp, target_count, target_datatype),
        op,
        win,
    );
    MPI_Get_accumulate(
        origin_addr, origin_count, origin_datatype, result_addr, result_count, result_datatype, target_rank,
        target_disp, target_count, target_datatype, op, win,
    ) [timed(moved(result_count, result_datatype)) on win] = accumulate::get_accumulate(
        own(origin_addr, origin_count, origin_datatype),
        own(result_addr, result_count, result_datatype),
        &at(target_rank, target_disp, target_count, target_datatype),
        op,
        win,
    );
    MPI_Rget_accumulate(
        origin_addr, origin_count, origin_datatype, result_addr, result_count, result_datatype, target_rank,
        target_disp, target_count, target_datatype, op, win,
    ) -> request [timed(moved(result_count, result_datatype)) on win] = accumulate::rget_accumulate(
        own(origin_addr, origin_count, origin_datatype),
        own(result_addr, result_count, result_datatype),
        &at(target_rank, target_disp, target_count, target_datatype),
        op,
        win,
    );
    MPI_Fetch_and_op(origin_addr, result_addr, datatype, target_rank, target_disp, op, win)
    [timed(0) on win] = accumulate::fetch_and_op(
        own(origin_addr, 1, datatype),
        own(result_addr, 1, datatype),
        &at(target_rank, target_disp, 1, datatype),
        op,
        win,
    );
    MPI_Compare_and_swap(origin_addr, compare_addr, result_addr, datatype, target_rank, target_disp, win)
    [timed(0) on win] = compare_and_swap::compare_and_swap(
        own(origin_addr, 1, datatype),
        own(compare_addr, 1, datatype),
        own(result_addr, 1, datatype),
        &at(target_rank, target_disp, 1, datatype),
        win,
    );
}

calls! {
    MPI_Win_allocate(size, disp_unit, info, comm, baseptr: POINTER, win: OUT) [timed(0) on comm] {
        let (window, base) = create::allocate(part(size, disp_unit), info, comm)?;
        baseptr.set(base);
        win.set(window)
    }
    MPI_Win_allocate_shared(size, disp_unit, info, comm, baseptr: POINTER, win: OUT) [timed(0) on comm] {
        let (window, base) = create::allocate_shared(part(size, disp_unit), info, comm)?;
        baseptr.set(base);
        win.set(window)
    }
    MPI_Win_shared_query(win, rank, size: OUT, disp_unit: OUT, baseptr: POINTER) [on win] {
        let (bytes, unit, base) = shared::query(win, rank)?;
        size.set(bytes);
        disp_unit.set(unit as DISPL);
        baseptr.set(base)
    }
}
