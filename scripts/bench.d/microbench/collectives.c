/* Collective kernels over MPI_COMM_WORLD: barrier, allreduce, bcast, reduce, alltoall.
 *
 * Bcast and reduce rotate their root, so that no rank can run ahead of the others and the value is the
 * cost of the operation, not of the cheapest rank's share of it. Reductions add doubles. */
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

static int elements(const struct context *c)
{
    return (int)(c->bytes / sizeof(double));
}

/* ---- barrier ---- */

static double barrier_run(struct context *c, long iterations)
{
    (void)c;
    double start = MPI_Wtime();
    for (long i = 0; i < iterations; i++)
        MPI_Barrier(MPI_COMM_WORLD);
    return MPI_Wtime() - start;
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

/* ---- allreduce and reduce ---- */

static double contribution(int rank, int i)
{
    return (double)((rank + 1) * (i % 97 + 1));
}

static void fill_contribution(struct context *c)
{
    double *v = (double *)(void *)c->send;
    for (int i = 0; i < elements(c); i++)
        v[i] = contribution(c->rank, i);
    memset(c->receive, 0, c->bytes);
}

static void verify_sum(const struct context *c, const char *kernel)
{
    const double *v = (const double *)(const void *)c->receive;
    double of_ranks = (double)c->ranks * (c->ranks + 1) / 2;
    for (int i = 0; i < elements(c); i++)
        if (v[i] != of_ranks * (i % 97 + 1))
            wrong_data(c, kernel, (size_t)i * sizeof(double), v[i], of_ranks * (i % 97 + 1));
}

static double allreduce_run(struct context *c, long iterations)
{
    double start = MPI_Wtime();
    for (long i = 0; i < iterations; i++)
        MPI_Allreduce(c->send, c->receive, elements(c), MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    return MPI_Wtime() - start;
}

static void allreduce_check(struct context *c)
{
    fill_contribution(c);
    allreduce_run(c, 1);
    verify_sum(c, "allreduce");
}

static double reduce_run(struct context *c, long iterations)
{
    double start = MPI_Wtime();
    for (long i = 0; i < iterations; i++)
        MPI_Reduce(c->send, c->receive, elements(c), MPI_DOUBLE, MPI_SUM, (int)(i % c->ranks),
                   MPI_COMM_WORLD);
    return MPI_Wtime() - start;
}

/* The roots that a check tries: with many ranks on few cores one operation can cost 100 ms. */
static const int CHECKED_ROOTS = 3;

static int checked_root(const struct context *c, int i)
{
    return i * (c->ranks - 1) / (CHECKED_ROOTS - 1);
}

static void reduce_check(struct context *c)
{
    for (int i = 0; i < CHECKED_ROOTS; i++) {
        int root = checked_root(c, i);
        fill_contribution(c);
        MPI_Reduce(c->send, c->receive, elements(c), MPI_DOUBLE, MPI_SUM, root, MPI_COMM_WORLD);
        if (c->rank == root)
            verify_sum(c, "reduce");
    }
}

/* ---- bcast ---- */

static double bcast_run(struct context *c, long iterations)
{
    double start = MPI_Wtime();
    for (long i = 0; i < iterations; i++)
        MPI_Bcast(c->send, (int)c->bytes, MPI_BYTE, (int)(i % c->ranks), MPI_COMM_WORLD);
    return MPI_Wtime() - start;
}

static unsigned char broadcast_byte(size_t at, int root)
{
    return (unsigned char)(at * 5 + (size_t)root * 29 + 3);
}

static void bcast_check(struct context *c)
{
    for (int r = 0; r < CHECKED_ROOTS; r++) {
        int root = checked_root(c, r);
        for (size_t i = 0; i < c->bytes; i++)
            c->send[i] = c->rank == root ? broadcast_byte(i, root) : 0;
        MPI_Bcast(c->send, (int)c->bytes, MPI_BYTE, root, MPI_COMM_WORLD);
        for (size_t i = 0; i < c->bytes; i++)
            if (c->send[i] != broadcast_byte(i, root))
                wrong_data(c, "bcast", i, c->send[i], broadcast_byte(i, root));
    }
}

/* ---- alltoall: `bytes` to each rank ---- */

static double alltoall_run(struct context *c, long iterations)
{
    int count = (int)c->bytes;
    double start = MPI_Wtime();
    for (long i = 0; i < iterations; i++)
        MPI_Alltoall(c->send, count, MPI_BYTE, c->receive, count, MPI_BYTE, MPI_COMM_WORLD);
    return MPI_Wtime() - start;
}

static unsigned char exchanged_byte(size_t at, int from, int to)
{
    return (unsigned char)(at + (size_t)from * 41 + (size_t)to * 59 + 7);
}

static void alltoall_check(struct context *c)
{
    for (int to = 0; to < c->ranks; to++)
        for (size_t i = 0; i < c->bytes; i++)
            c->send[(size_t)to * c->bytes + i] = exchanged_byte(i, c->rank, to);
    memset(c->receive, 0, one_block_a_rank(c));
    alltoall_run(c, 1);
    for (int from = 0; from < c->ranks; from++)
        for (size_t i = 0; i < c->bytes; i++)
            if (c->receive[(size_t)from * c->bytes + i] != exchanged_byte(i, from, c->rank))
                wrong_data(c, "alltoall", (size_t)from * c->bytes + i,
                           c->receive[(size_t)from * c->bytes + i], exchanged_byte(i, from, c->rank));
}

static const size_t vector_sizes[] = {8, 1024, 16384, 262144, 1048576};
static const size_t block_sizes[] = {8, 1024, 16384};

#define COUNT(a) (int)(sizeof(a) / sizeof((a)[0]))

const struct kernel collective_kernels[] = {
    {"barrier", "MPI_Barrier", "us", 1, NULL, 0, 1, none, none, barrier_check, barrier_run,
     microseconds_each},
    {"allreduce", "MPI_Allreduce, sum of doubles", "us", 1, vector_sizes, COUNT(vector_sizes), sizeof(double),
     one_vector, one_vector, allreduce_check, allreduce_run, microseconds_each},
    {"bcast", "MPI_Bcast, root rotates", "us", 1, vector_sizes, COUNT(vector_sizes), 1, one_vector, none,
     bcast_check, bcast_run, microseconds_each},
    {"reduce", "MPI_Reduce, sum of doubles, root rotates", "us", 1, vector_sizes, COUNT(vector_sizes),
     sizeof(double), one_vector, one_vector, reduce_check, reduce_run, microseconds_each},
    {"alltoall", "MPI_Alltoall, size is the block for each rank", "us", 1, block_sizes, COUNT(block_sizes), 1,
     one_block_a_rank, one_block_a_rank, alltoall_check, alltoall_run, microseconds_each},
};
const int collective_kernel_count = COUNT(collective_kernels);
