/* MPI_THREAD_MULTIPLE: threads of all ranks use windows at the same time. On one window under one
 * MPI_Win_lock_all: puts and gets to different targets and to the same one, of several sizes, with flushes
 * of one target and of all, and with requests; one counter for all threads of all ranks. Locks of different
 * targets by different threads. A window and a way to synchronise for each thread. None waits for another
 * one that it does not depend on. For any number of ranks. */
#include "windows.h"
#include <pthread.h>

enum { THREADS = 4, ROUNDS = 60, LONGEST = 40000 };

static int right, left;
static struct window shared, own[THREADS];
static int64_t values[THREADS][ROUNDS];
static int turn;

static size_t bytes_of(int thread, int round)
{
    static const size_t sizes[] = {8, 24, 25, 1000, 8193, LONGEST, 1};
    return sizes[(round + thread) % 7];
}

/* Each thread has an area in the window of each rank, for each rank. */
static MPI_Aint area(int origin, int thread) { return ((MPI_Aint)origin * THREADS + thread) * LONGEST + 64; }

static void *put_and_get(void *argument)
{
    int thread = (int)(size_t)argument;
    unsigned char *out = malloc(LONGEST), *in = malloc(LONGEST);
    for (int round = 0; round < ROUNDS; round++) {
        /* In even rounds all threads have the same target. */
        int target = (rank + 1 + (round % 2 ? thread : 0)) % size;
        size_t n = bytes_of(thread, round);
        MPI_Aint at = place(&shared, target, area(rank, thread));
        MPI_Request request;
        fill(out, n, thread * 100 + round + rank);
        memset(in, 0, n);
        if (round % 3 == 2) {
            MPI_Rput(out, (int)n, MPI_BYTE, target, at, (int)n, MPI_BYTE, shared.win, &request);
            MPI_Wait(&request, MPI_STATUS_IGNORE);
            memset(out, 0xff, n);
        } else {
            MPI_Put(out, (int)n, MPI_BYTE, target, at, (int)n, MPI_BYTE, shared.win);
        }
        if (round % 4 == 3)
            MPI_Win_flush_all(shared.win);
        else
            MPI_Win_flush(target, shared.win);
        if (round % 3 == 1) {
            MPI_Rget(in, (int)n, MPI_BYTE, target, at, (int)n, MPI_BYTE, shared.win, &request);
            MPI_Wait(&request, MPI_STATUS_IGNORE);
        } else {
            MPI_Get(in, (int)n, MPI_BYTE, target, at, (int)n, MPI_BYTE, shared.win);
            MPI_Win_flush_local(target, shared.win);
        }
        CHECK(is_filled(in, n, thread * 100 + round + rank));
    }
    free(out);
    free(in);
    return NULL;
}

static void *count(void *argument)
{
    int thread = (int)(size_t)argument;
    int64_t one = 1;
    for (int round = 0; round < ROUNDS; round++) {
        MPI_Fetch_and_op(&one, &values[thread][round], MPI_INT64_T, size - 1, place(&shared, size - 1, 8),
                         MPI_SUM, shared.win);
        MPI_Win_flush_local(size - 1, shared.win);
    }
    return NULL;
}

static void run(void *(*function)(void *), int threads)
{
    pthread_t started[THREADS];
    for (size_t i = 0; i < (size_t)threads; i++)
        CHECK(pthread_create(&started[i], NULL, function, (void *)i) == 0);
    for (int i = 0; i < threads; i++)
        pthread_join(started[i], NULL);
}

static void one_window(int kind)
{
    int64_t *all = malloc(sizeof values * (size_t)size);
    char *seen = calloc(THREADS * ROUNDS, (size_t)size);
    shared = make_window(kind, area(size, 0), 8, MPI_COMM_WORLD);
    begin_own(&shared);
    memset(shared.base, 0, 64);
    end_own(&shared);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_lock_all(0, shared.win);
    run(put_and_get, THREADS);
    run(count, THREADS);
    MPI_Win_unlock_all(shared.win);
    MPI_Gather(values, THREADS * ROUNDS, MPI_INT64_T, all, THREADS * ROUNDS, MPI_INT64_T, 0, MPI_COMM_WORLD);
    for (int i = 0; rank == 0 && i < size * THREADS * ROUNDS; i++) {
        CHECK(all[i] >= 0 && all[i] < (int64_t)size * THREADS * ROUNDS);
        CHECK_INT(seen[all[i]]++, 0);
        CHECK(i % ROUNDS == 0 || all[i] > all[i - 1]);
    }
    free(all);
    free(seen);
    free_window(&shared);
}

/* Each thread locks other targets than the others do at that time. */
static pthread_barrier_t together;

static void *lock_targets(void *argument)
{
    int thread = (int)(size_t)argument, threads = size < THREADS ? size : THREADS;
    for (int round = 0; round < ROUNDS; round++) {
        int target = (thread + round + rank) % size;
        int64_t count;
        MPI_Aint at = place(&shared, target, 8);
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, target, 0, shared.win);
        MPI_Get(&count, 1, MPI_INT64_T, target, at, 1, MPI_INT64_T, shared.win);
        MPI_Win_flush(target, shared.win);
        count++;
        MPI_Put(&count, 1, MPI_INT64_T, target, at, 1, MPI_INT64_T, shared.win);
        MPI_Win_unlock(target, shared.win);
        if (threads > 1)
            pthread_barrier_wait(&together);
    }
    return NULL;
}

static void locks(int kind)
{
    int threads = size < THREADS ? size : THREADS;
    shared = make_window(kind, 64, 8, MPI_COMM_WORLD);
    begin_own(&shared);
    memset(shared.base, 0, 64);
    end_own(&shared);
    MPI_Barrier(MPI_COMM_WORLD);
    pthread_barrier_init(&together, NULL, (unsigned)threads);
    run(lock_targets, threads);
    pthread_barrier_destroy(&together);
    MPI_Barrier(MPI_COMM_WORLD);
    int64_t mine, sum, expected = (int64_t)size * threads * ROUNDS;
    begin_own(&shared);
    memcpy(&mine, shared.base + 8, 8);
    end_own(&shared);
    MPI_Allreduce(&mine, &sum, 1, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD);
    CHECK_INT(sum, expected);
    free_window(&shared);
}

/* Each thread has a window; each synchronises in another way, and at its own pace. */
static void *own_window(void *argument)
{
    int thread = (int)(size_t)argument, way = (thread + turn) % THREADS;
    struct window *w = &own[thread];
    int *cells = (int *)w->base, got;
    MPI_Group from = group_of(w, 1, &left), to = group_of(w, 1, &right);
    for (int round = 0; round < ROUNDS * (1 + thread % 2); round++) {
        int value = 1000 * thread + round;
        MPI_Aint at = place(w, right, 4);
        switch (way) {
        case 0:
            MPI_Win_fence(0, w->win);
            MPI_Put(&value, 1, MPI_INT, right, at, 1, MPI_INT, w->win);
            MPI_Win_fence(0, w->win);
            CHECK_INT(cells[1], value);
            break;
        case 1:
            MPI_Win_post(from, 0, w->win);
            MPI_Win_start(to, 0, w->win);
            MPI_Put(&value, 1, MPI_INT, right, at, 1, MPI_INT, w->win);
            MPI_Win_complete(w->win);
            MPI_Win_wait(w->win);
            CHECK_INT(cells[1], value);
            break;
        default:
            if (way == 2)
                MPI_Win_lock(MPI_LOCK_EXCLUSIVE, right, 0, w->win);
            else
                MPI_Win_lock_all(0, w->win);
            MPI_Put(&value, 1, MPI_INT, right, at, 1, MPI_INT, w->win);
            MPI_Win_flush(right, w->win);
            MPI_Get(&got, 1, MPI_INT, right, at, 1, MPI_INT, w->win);
            if (way == 2)
                MPI_Win_unlock(right, w->win);
            else
                MPI_Win_unlock_all(w->win);
            CHECK_INT(got, value);
        }
    }
    MPI_Group_free(&from);
    MPI_Group_free(&to);
    return NULL;
}

int main(int argc, char **argv)
{
    start_threaded(&argc, &argv);
    leave_out(&argc, &argv);
    right = (rank + 1) % size;
    left = (rank + size - 1) % size;
    for (int kind = 0; kind < WINDOW_KINDS; kind++) {
        if (!can_be_made(kind, MPI_COMM_WORLD))
            continue;
        one_window(kind);
        locks(kind);
    }
    for (; turn < THREADS; turn++) {
        for (int i = 0; i < THREADS; i++) {
            own[i] = make_window((i + turn) % 2 ? ALLOCATED : ON_HEAP, 64, 4, MPI_COMM_WORLD);
            memset(own[i].base, 0, 64);
        }
        MPI_Barrier(MPI_COMM_WORLD);
        run(own_window, THREADS);
        MPI_Barrier(MPI_COMM_WORLD);
        for (int i = 0; i < THREADS; i++)
            free_window(&own[i]);
    }
    return MPI_Finalize();
}
