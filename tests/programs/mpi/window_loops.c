/* So many epochs of each kind, one right after the other, without any other synchronisation: fences, post
 * and start, exclusive and shared locks, lock_all, flushes, local flushes, requests. Each epoch's values are
 * there at its end. Windows are freed right after locks of theirs, and made anew.
 *
 *     window_loops [EPOCHS [KIND]]     10000 epochs; on that kind of windows only (0 to 4)
 *
 * For any number of ranks. */
#include "windows.h"

static int right, left, epochs = 10000;

/* Epochs of one kind, one after the other. */
enum { BY_FENCE, BY_PSCW, BY_LOCK, BY_SHARED_LOCK, BY_LOCK_ALL, BY_FLUSH, BY_FLUSH_LOCAL, BY_REQUEST, WAYS };

static void loop(int kind, int way)
{
    struct window w = make_window(kind, 64, 8, MPI_COMM_WORLD);
    int64_t *cells = (int64_t *)w.base, one = 1, got = -1;
    MPI_Group from = group_of(&w, 1, &left), to = group_of(&w, 1, &right);
    MPI_Aint at = place(&w, right, 0), second = place(&w, right, 8);
    MPI_Win win = w.win;
    begin_own(&w);
    cells[0] = cells[1] = 0;
    end_own(&w);
    MPI_Barrier(MPI_COMM_WORLD);
    if (way >= BY_FLUSH)
        MPI_Win_lock_all(0, win);
    for (int64_t i = 1; i <= epochs; i++) {
        switch (way) {
        case BY_FENCE:
            MPI_Win_fence(0, win);
            MPI_Put(&i, 1, MPI_INT64_T, right, at, 1, MPI_INT64_T, win);
            MPI_Win_fence(0, win);
            CHECK_INT(cells[0], i);
            continue;
        case BY_PSCW:
            MPI_Win_post(from, 0, win);
            MPI_Win_start(to, 0, win);
            MPI_Put(&i, 1, MPI_INT64_T, right, at, 1, MPI_INT64_T, win);
            MPI_Win_complete(win);
            MPI_Win_wait(win);
            CHECK_INT(cells[0], i);
            continue;
        case BY_LOCK: MPI_Win_lock(MPI_LOCK_EXCLUSIVE, right, 0, win); break;
        case BY_SHARED_LOCK: MPI_Win_lock(MPI_LOCK_SHARED, right, 0, win); break;
        case BY_LOCK_ALL: MPI_Win_lock_all(0, win); break;
        default: break;
        }
        MPI_Request request;
        if (way == BY_REQUEST) {
            MPI_Rget_accumulate(&one, 1, MPI_INT64_T, &got, 1, MPI_INT64_T, right, second, 1, MPI_INT64_T,
                                MPI_SUM, win, &request);
            MPI_Wait(&request, MPI_STATUS_IGNORE);
        } else {
            MPI_Fetch_and_op(&one, &got, MPI_INT64_T, right, second, MPI_SUM, win);
            MPI_Put(&i, 1, MPI_INT64_T, right, at, 1, MPI_INT64_T, win);
        }
        switch (way) {
        case BY_LOCK:
        case BY_SHARED_LOCK: MPI_Win_unlock(right, win); break;
        case BY_LOCK_ALL: MPI_Win_unlock_all(win); break;
        case BY_FLUSH: MPI_Win_flush(right, win); break;
        case BY_FLUSH_LOCAL: MPI_Win_flush_local(right, win); break;
        default: break;
        }
        CHECK_INT(got, i - 1);
        /* A put is not ordered after another one without a flush. */
        if (way == BY_FLUSH_LOCAL)
            MPI_Win_flush(right, win);
    }
    if (way >= BY_FLUSH)
        MPI_Win_unlock_all(win);
    MPI_Barrier(MPI_COMM_WORLD);
    begin_own(&w);
    CHECK_INT(cells[0], way == BY_REQUEST ? 0 : epochs);
    CHECK_INT(cells[1], way <= BY_PSCW ? 0 : epochs);
    end_own(&w);
    MPI_Group_free(&from);
    MPI_Group_free(&to);
    free_window(&w);
}

/* The last thing that is done with a window is that a lock is given back; the next window may have its place. */
static void freed_after_locks(void)
{
    for (int64_t i = 1; i <= epochs / 20; i++) {
        int64_t *cell, nothing = 0, got;
        MPI_Win win;
        MPI_Win_allocate(8, 8, MPI_INFO_NULL, MPI_COMM_WORLD, &cell, &win);
        *cell = 0;
        MPI_Barrier(MPI_COMM_WORLD);
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win);
        MPI_Get(&got, 1, MPI_INT64_T, 0, 0, 1, MPI_INT64_T, win);
        MPI_Win_flush(0, win);
        got++;
        MPI_Put(&got, 1, MPI_INT64_T, 0, 0, 1, MPI_INT64_T, win);
        MPI_Win_flush(0, win);
        MPI_Win_unlock(0, win);
        MPI_Win_lock(i % 2 ? MPI_LOCK_EXCLUSIVE : MPI_LOCK_SHARED, right, 0, win);
        if (i % 3 == 0) {
            MPI_Accumulate(&nothing, 1, MPI_INT64_T, right, 0, 1, MPI_INT64_T, MPI_SUM, win);
            MPI_Win_flush(right, win);
        }
        MPI_Win_unlock(right, win);
        if (i % 5 == 0) {
            MPI_Barrier(MPI_COMM_WORLD);
            CHECK_INT(*cell, rank == 0 ? size : 0);
        }
        MPI_Win_free(&win);
    }
}

int main(int argc, char **argv)
{
    start_windows(&argc, &argv);
    right = (rank + 1) % size;
    left = (rank + size - 1) % size;
    if (argc > 1)
        epochs = atoi(argv[1]);
    for (int way = 0; way < WAYS; way++)
        loop(argc > 2 ? atoi(argv[2]) : way % 2 ? ON_HEAP : ALLOCATED, way);
    freed_after_locks();
    return MPI_Finalize();
}
