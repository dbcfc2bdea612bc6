/* One-sided kernels: put, get and fetch-and-op of rank 0 on the memory of rank 1, accumulates in a stream, locks, and
 * fences of all ranks.
 *
 * Each run makes a window by MPI_Win_allocate, which is not timed. All but `fence` are under MPI_Win_lock_all or a lock
 * of their own, and rank 1 waits in a barrier meanwhile. */
#include "bench.h"

#include <stdlib.h>
#include <string.h>

enum { LEAST_BYTES = 64 };

static MPI_Win make_window(const struct context *c, unsigned char **memory)
{
    MPI_Win win;
    size_t bytes = c->bytes < LEAST_BYTES ? LEAST_BYTES : c->bytes;
    MPI_Win_allocate((MPI_Aint)bytes, 1, MPI_INFO_NULL, MPI_COMM_WORLD, memory, &win);
    memset(*memory, c->rank + 1, bytes);
    MPI_Barrier(MPI_COMM_WORLD);
    return win;
}

static size_t one_part(const struct context *c)
{
    return c->bytes < LEAST_BYTES ? LEAST_BYTES : c->bytes;
}

static void verify(const struct context *c, const char *kernel, const unsigned char *buffer, int expected)
{
    for (size_t i = 0; i < c->bytes; i++)
        if (buffer[i] != expected)
            wrong_data(c, kernel, i, buffer[i], expected);
}

/* What rank 0 does `iterations` times; ends with all of it complete at rank 1. */
typedef void operation(struct context *c, MPI_Win win, long iterations);

/* Answers the window's memory, if that is wanted, with the window still there. */
static double timed(struct context *c, long iterations, operation *run, int locks, unsigned char *after)
{
    unsigned char *memory;
    MPI_Win win = make_window(c, &memory);
    double seconds = 0;
    if (c->rank == 0) {
        if (locks)
            MPI_Win_lock_all(0, win);
        double start = MPI_Wtime();
        run(c, win, iterations);
        seconds = MPI_Wtime() - start;
        if (locks)
            MPI_Win_unlock_all(win);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (after)
        memcpy(after, memory, c->bytes);
    MPI_Win_free(&win);
    return seconds;
}

/* ---- put, get: one at a time, complete at the target ---- */

static void put_some(struct context *c, MPI_Win win, long iterations)
{
    for (long i = 0; i < iterations; i++) {
        MPI_Put(c->send, (int)c->bytes, MPI_BYTE, 1, 0, (int)c->bytes, MPI_BYTE, win);
        MPI_Win_flush(1, win);
    }
}

static double put_run(struct context *c, long iterations)
{
    return timed(c, iterations, put_some, 1, NULL);
}

static void put_check(struct context *c)
{
    memset(c->send, 7, c->bytes);
    timed(c, 1, put_some, 1, c->receive);
    if (c->rank == 1)
        verify(c, "put", c->receive, 7);
}

static void get_some(struct context *c, MPI_Win win, long iterations)
{
    for (long i = 0; i < iterations; i++) {
        MPI_Get(c->receive, (int)c->bytes, MPI_BYTE, 1, 0, (int)c->bytes, MPI_BYTE, win);
        MPI_Win_flush(1, win);
    }
}

static double get_run(struct context *c, long iterations)
{
    return timed(c, iterations, get_some, 1, NULL);
}

static void get_check(struct context *c)
{
    memset(c->receive, 0, c->bytes);
    timed(c, 1, get_some, 1, NULL);
    if (c->rank == 0)
        verify(c, "get", c->receive, 2);
}

/* ---- fetch_and_op: a counter; accumulate: a stream of sums of 8 bytes ---- */

static long fetched;

static void fetch_some(struct context *c, MPI_Win win, long iterations)
{
    long one = 1;
    (void)c;
    for (long i = 0; i < iterations; i++) {
        MPI_Fetch_and_op(&one, &fetched, MPI_LONG, 1, 0, MPI_SUM, win);
        MPI_Win_flush(1, win);
    }
}

static double fetch_run(struct context *c, long iterations)
{
    return timed(c, iterations, fetch_some, 1, NULL);
}

static const long twos = 0x0202020202020202;

static void fetch_check(struct context *c)
{
    timed(c, 3, fetch_some, 1, NULL);
    if (c->rank == 0 && fetched != twos + 2)
        wrong_data(c, "fetch_and_op", 0, (double)fetched, (double)(twos + 2));
}

static void accumulate_some(struct context *c, MPI_Win win, long iterations)
{
    long one = 1;
    (void)c;
    for (long i = 0; i < iterations; i++)
        MPI_Accumulate(&one, 1, MPI_LONG, 1, 0, 1, MPI_LONG, MPI_SUM, win);
    MPI_Win_flush(1, win);
}

static double accumulate_run(struct context *c, long iterations)
{
    return timed(c, iterations, accumulate_some, 1, NULL);
}

static void accumulate_check(struct context *c)
{
    long sum;
    struct context eight = *c;
    eight.bytes = sizeof sum;
    timed(&eight, 1000, accumulate_some, 1, (unsigned char *)&sum);
    if (c->rank == 1 && sum != twos + 1000)
        wrong_data(c, "accumulate", 0, (double)sum, (double)(twos + 1000));
}

/* ---- locks and fences ---- */

static void lock_some(struct context *c, MPI_Win win, long iterations)
{
    (void)c;
    for (long i = 0; i < iterations; i++) {
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 1, 0, win);
        MPI_Win_unlock(1, win);
    }
}

static double lock_run(struct context *c, long iterations)
{
    return timed(c, iterations, lock_some, 0, NULL);
}

static double fence_run(struct context *c, long iterations)
{
    unsigned char *memory;
    MPI_Win win = make_window(c, &memory);
    MPI_Win_fence(0, win);
    double start = MPI_Wtime();
    for (long i = 0; i < iterations; i++)
        MPI_Win_fence(0, win);
    double seconds = MPI_Wtime() - start;
    MPI_Win_fence(MPI_MODE_NOSUCCEED, win);
    MPI_Win_free(&win);
    return seconds;
}

static void lock_check(struct context *c)
{
    lock_run(c, 3);
}

static void fence_check(struct context *c)
{
    fence_run(c, 3);
}

static const size_t sizes[] = {8, 1024, 16384, 1048576};

const struct kernel one_sided_kernels[] = {
    {"put", "MPI_Put and MPI_Win_flush, rank 0 to rank 1", "us", 2, sizes, 4, 1, one_part, one_part, put_check, put_run,
     microseconds_each},
    {"get", "MPI_Get and MPI_Win_flush, rank 0 from rank 1", "us", 2, sizes, 4, 1, one_part, one_part, get_check,
     get_run, microseconds_each},
    {"fetch_and_op", "MPI_Fetch_and_op of 8 bytes and MPI_Win_flush", "us", 2, NULL, 0, 1, one_part, one_part,
     fetch_check, fetch_run, microseconds_each},
    {"accumulate", "a stream of MPI_Accumulate of 8 bytes", "us", 2, NULL, 0, 1, one_part, one_part, accumulate_check,
     accumulate_run, microseconds_each},
    {"locks", "MPI_Win_lock, exclusive, and MPI_Win_unlock of rank 1", "us", 2, NULL, 0, 1, one_part, one_part,
     lock_check, lock_run, microseconds_each},
    {"fence", "MPI_Win_fence of all ranks", "us", 2, NULL, 0, 1, one_part, one_part, fence_check, fence_run,
     microseconds_each},
};
const int one_sided_kernel_count = sizeof one_sided_kernels / sizeof one_sided_kernels[0];
