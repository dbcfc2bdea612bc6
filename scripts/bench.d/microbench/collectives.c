/* Collective kernels over MPI_COMM_WORLD.
 *
 * `bytes` is everywhere the call's count times the size of its datatype: a rank's vector, or one block. A
 * buffer that holds a block for every rank is larger by their number.
 *
 * Bcast and reduce rotate their root, so that no rank can run ahead of the others and the value is the
 * cost of the operation, not of the cheapest rank's share of it; the kernels with 0 in their name have rank 0
 * as their root, which shows how far calls overlap. Reductions add doubles. */
#define _POSIX_C_SOURCE 200809L
#include "bench.h"

#include <math.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static size_t none(const struct context *c)
{
    (void)c;
    return 0;
}

static size_t one_vector(const struct context *c)
{
    return c->bytes;
}

static size_t one_block_a_rank(const struct context *c)
{
    return c->bytes * (size_t)c->ranks;
}

static size_t one_block_a_rank_at_root(const struct context *c)
{
    return c->rank == 0 ? one_block_a_rank(c) : 0;
}

static int elements(const struct context *c)
{
    return (int)(c->bytes / sizeof(double));
}

/* One call with the present buffers. */
typedef void (*one_call)(const struct context *c, int root);

/* Calls on end, each with the next buffers, and with the next root where it rotates. */
static inline double repeat(struct context *c, long iterations, one_call call, int rotate)
{
    int root = 0;
    double start = MPI_Wtime();
    for (long i = 0; i < iterations; i++) {
        call(c, root);
        next_buffers(c);
        if (rotate && ++root == c->ranks)
            root = 0;
    }
    return MPI_Wtime() - start;
}

/* ---- barrier ---- */

static void barrier(const struct context *c, int root)
{
    (void)c, (void)root;
    MPI_Barrier(MPI_COMM_WORLD);
}

static double barrier_run(struct context *c, long iterations)
{
    return repeat(c, iterations, barrier, 0);
}

static double host_clock(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static int all_on_one_host(void)
{
    char name[256] = {0};
    double hash = 0, least = 0, most = 0;
    gethostname(name, sizeof(name) - 1);
    for (const char *p = name; *p; p++)
        hash = fmod(hash * 31 + (unsigned char)*p, 1e9);
    MPI_Allreduce(&hash, &least, 1, MPI_DOUBLE, MPI_MIN, MPI_COMM_WORLD);
    MPI_Allreduce(&hash, &most, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    return least == most;
}

/* Nobody may leave a barrier before the last has entered it. Each rank in turn enters late; the host's
 * clock, which all ranks share, tells who was first out and who last in. Ranks on several hosts have no
 * such clock, and the check does not apply. */
static void barrier_check(struct context *c)
{
    const double hold_back = 200e-6;
    if (!all_on_one_host())
        return;
    for (int late = 0; late < c->ranks && late < 4; late++) {
        double start = host_clock(), last_in = 0, first_out = 0;
        while (c->rank == late && host_clock() < start + hold_back) {
        }
        double in = host_clock();
        MPI_Barrier(MPI_COMM_WORLD);
        double out = host_clock();
        MPI_Allreduce(&in, &last_in, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
        MPI_Allreduce(&out, &first_out, 1, MPI_DOUBLE, MPI_MIN, MPI_COMM_WORLD);
        if (first_out < last_in)
            wrong_data(c, "barrier (clock of the first rank out, of the last rank in)", 0, first_out,
                       last_in);
    }
}

/* ---- allreduce, reduce, reduce_scatter_block and scan ---- */

static double contribution(int rank, int i)
{
    return (double)((rank + 1) * (i % 97 + 1));
}

/* The contributions of the ranks 0 to `last`, added up. */
static double sum_of_contributions(int last, int i)
{
    return (double)(last + 1) * (last + 2) / 2 * (i % 97 + 1);
}

static void fill_contribution(struct context *c, int count)
{
    double *v = (double *)(void *)c->send;
    for (int i = 0; i < count; i++)
        v[i] = contribution(c->rank, i);
    memset(c->receive, 0, c->bytes);
}

/* The result is the sum over the ranks 0 to `last` of the elements from `first` on. */
static void verify_sum(const struct context *c, const char *kernel, int last, int first)
{
    const double *v = (const double *)(const void *)c->receive;
    for (int i = 0; i < elements(c); i++)
        if (v[i] != sum_of_contributions(last, first + i))
            wrong_data(c, kernel, (size_t)i * sizeof(double), v[i], sum_of_contributions(last, first + i));
}

static void allreduce(const struct context *c, int root)
{
    (void)root;
    MPI_Allreduce(c->send, c->receive, elements(c), MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
}

static double allreduce_run(struct context *c, long iterations)
{
    return repeat(c, iterations, allreduce, 0);
}

static void allreduce_check(struct context *c)
{
    fill_contribution(c, elements(c));
    allreduce(c, 0);
    verify_sum(c, "allreduce", c->ranks - 1, 0);
}

static void reduce(const struct context *c, int root)
{
    MPI_Reduce(c->send, c->receive, elements(c), MPI_DOUBLE, MPI_SUM, root, MPI_COMM_WORLD);
}

static double reduce_run(struct context *c, long iterations)
{
    return repeat(c, iterations, reduce, 1);
}

static double reduce_0_run(struct context *c, long iterations)
{
    return repeat(c, iterations, reduce, 0);
}

/* The roots that a check tries: with many ranks on few cores one operation can cost 100 ms. */
static const int CHECKED_ROOTS = 3;

static int checked_root(const struct context *c, int i)
{
    return i * (c->ranks - 1) / (CHECKED_ROOTS - 1);
}

static void reduce_check_at(struct context *c, int root)
{
    fill_contribution(c, elements(c));
    reduce(c, root);
    if (c->rank == root)
        verify_sum(c, "reduce", c->ranks - 1, 0);
}

static void reduce_check(struct context *c)
{
    for (int i = 0; i < CHECKED_ROOTS; i++)
        reduce_check_at(c, checked_root(c, i));
}

static void reduce_0_check(struct context *c)
{
    reduce_check_at(c, 0);
}

static void reduce_scatter_block(const struct context *c, int root)
{
    (void)root;
    MPI_Reduce_scatter_block(c->send, c->receive, elements(c), MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
}

static double reduce_scatter_block_run(struct context *c, long iterations)
{
    return repeat(c, iterations, reduce_scatter_block, 0);
}

static void reduce_scatter_block_check(struct context *c)
{
    fill_contribution(c, elements(c) * c->ranks);
    reduce_scatter_block(c, 0);
    verify_sum(c, "reduce_scatter_block", c->ranks - 1, elements(c) * c->rank);
}

static void scan(const struct context *c, int root)
{
    (void)root;
    MPI_Scan(c->send, c->receive, elements(c), MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
}

static double scan_run(struct context *c, long iterations)
{
    return repeat(c, iterations, scan, 0);
}

static void scan_check(struct context *c)
{
    fill_contribution(c, elements(c));
    scan(c, 0);
    verify_sum(c, "scan", c->rank, 0);
}

/* ---- bcast ---- */

static void bcast(const struct context *c, int root)
{
    MPI_Bcast(c->send, (int)c->bytes, MPI_BYTE, root, MPI_COMM_WORLD);
}

static double bcast_run(struct context *c, long iterations)
{
    return repeat(c, iterations, bcast, 1);
}

static double bcast_0_run(struct context *c, long iterations)
{
    return repeat(c, iterations, bcast, 0);
}

static unsigned char broadcast_byte(size_t at, int root)
{
    return (unsigned char)(at * 5 + (size_t)root * 29 + 3);
}

static void bcast_check_from(struct context *c, int root)
{
    for (size_t i = 0; i < c->bytes; i++)
        c->send[i] = c->rank == root ? broadcast_byte(i, root) : 0;
    bcast(c, root);
    for (size_t i = 0; i < c->bytes; i++)
        if (c->send[i] != broadcast_byte(i, root))
            wrong_data(c, "bcast", i, c->send[i], broadcast_byte(i, root));
}

static void bcast_check(struct context *c)
{
    for (int i = 0; i < CHECKED_ROOTS; i++)
        bcast_check_from(c, checked_root(c, i));
}

static void bcast_0_check(struct context *c)
{
    bcast_check_from(c, 0);
}

/* ---- gather, scatter, allgather and alltoall: blocks of `bytes` ---- */

static unsigned char exchanged_byte(size_t at, int from, int to)
{
    return (unsigned char)(at + (size_t)from * 41 + (size_t)to * 59 + 7);
}

static void fill_block(const struct context *c, size_t block, int to)
{
    for (size_t i = 0; i < c->bytes; i++)
        c->send[block * c->bytes + i] = exchanged_byte(i, c->rank, to);
}

static void verify_block(const struct context *c, const char *kernel, size_t block, int from, int to)
{
    for (size_t i = block * c->bytes; i < (block + 1) * c->bytes; i++)
        if (c->receive[i] != exchanged_byte(i - block * c->bytes, from, to))
            wrong_data(c, kernel, i, c->receive[i], exchanged_byte(i - block * c->bytes, from, to));
}

static void gather(const struct context *c, int root)
{
    int count = (int)c->bytes;
    MPI_Gather(c->send, count, MPI_BYTE, c->receive, count, MPI_BYTE, root, MPI_COMM_WORLD);
}

static double gather_0_run(struct context *c, long iterations)
{
    return repeat(c, iterations, gather, 0);
}

static void gather_0_check(struct context *c)
{
    fill_block(c, 0, 0);
    memset(c->receive, 0, one_block_a_rank_at_root(c));
    gather(c, 0);
    for (int from = 0; c->rank == 0 && from < c->ranks; from++)
        verify_block(c, "gather", (size_t)from, from, 0);
}

static void scatter(const struct context *c, int root)
{
    int count = (int)c->bytes;
    MPI_Scatter(c->send, count, MPI_BYTE, c->receive, count, MPI_BYTE, root, MPI_COMM_WORLD);
}

static double scatter_0_run(struct context *c, long iterations)
{
    return repeat(c, iterations, scatter, 0);
}

static void scatter_0_check(struct context *c)
{
    for (int to = 0; c->rank == 0 && to < c->ranks; to++)
        fill_block(c, (size_t)to, to);
    memset(c->receive, 0, c->bytes);
    scatter(c, 0);
    verify_block(c, "scatter", 0, 0, c->rank);
}

static void allgather(const struct context *c, int root)
{
    int count = (int)c->bytes;
    (void)root;
    MPI_Allgather(c->send, count, MPI_BYTE, c->receive, count, MPI_BYTE, MPI_COMM_WORLD);
}

static double allgather_run(struct context *c, long iterations)
{
    return repeat(c, iterations, allgather, 0);
}

static void allgather_check(struct context *c)
{
    fill_block(c, 0, 0);
    memset(c->receive, 0, one_block_a_rank(c));
    allgather(c, 0);
    for (int from = 0; from < c->ranks; from++)
        verify_block(c, "allgather", (size_t)from, from, 0);
}

static void alltoall(const struct context *c, int root)
{
    int count = (int)c->bytes;
    (void)root;
    MPI_Alltoall(c->send, count, MPI_BYTE, c->receive, count, MPI_BYTE, MPI_COMM_WORLD);
}

static double alltoall_run(struct context *c, long iterations)
{
    return repeat(c, iterations, alltoall, 0);
}

static void alltoall_check(struct context *c)
{
    for (int to = 0; to < c->ranks; to++)
        fill_block(c, (size_t)to, to);
    memset(c->receive, 0, one_block_a_rank(c));
    alltoall(c, 0);
    for (int from = 0; from < c->ranks; from++)
        verify_block(c, "alltoall", (size_t)from, from, c->rank);
}

static const size_t vector_sizes[] = {8, 1024, 16384, 262144, 1048576};
static const size_t block_sizes[] = {8, 1024, 16384};

#define COUNT(a) (int)(sizeof(a) / sizeof((a)[0]))

/* The size is a rank's vector, of bytes or of doubles. */
#define VECTOR(name, what, multiple, receive, kernel)                                                        \
    {name, what, "us", 1, vector_sizes, COUNT(vector_sizes), multiple, one_vector, receive, kernel##_check,  \
     kernel##_run, microseconds_each}

/* The size is a block. */
#define BLOCK(name, what, multiple, send, receive, kernel)                                                   \
    {name, what ", size is the block", "us", 1, block_sizes, COUNT(block_sizes), multiple, send, receive,    \
     kernel##_check, kernel##_run, microseconds_each}

const struct kernel collective_kernels[] = {
    {"barrier", "MPI_Barrier", "us", 1, NULL, 0, 1, none, none, barrier_check, barrier_run,
     microseconds_each},
    VECTOR("allreduce", "MPI_Allreduce, sum of doubles", sizeof(double), one_vector, allreduce),
    VECTOR("bcast", "MPI_Bcast, root rotates", 1, none, bcast),
    VECTOR("bcast0", "MPI_Bcast, root 0", 1, none, bcast_0),
    VECTOR("reduce", "MPI_Reduce, sum of doubles, root rotates", sizeof(double), one_vector, reduce),
    VECTOR("reduce0", "MPI_Reduce, sum of doubles, root 0", sizeof(double), one_vector, reduce_0),
    VECTOR("scan", "MPI_Scan, sum of doubles", sizeof(double), one_vector, scan),
    BLOCK("gather0", "MPI_Gather, root 0", 1, one_vector, one_block_a_rank_at_root, gather_0),
    BLOCK("scatter0", "MPI_Scatter, root 0", 1, one_block_a_rank_at_root, one_vector, scatter_0),
    BLOCK("allgather", "MPI_Allgather", 1, one_vector, one_block_a_rank, allgather),
    BLOCK("alltoall", "MPI_Alltoall", 1, one_block_a_rank, one_block_a_rank, alltoall),
    BLOCK("reduce_scatter_block", "MPI_Reduce_scatter_block, sum of doubles", sizeof(double),
          one_block_a_rank, one_vector, reduce_scatter_block),
};
const int collective_kernel_count = COUNT(collective_kernels);
