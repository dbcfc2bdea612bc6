/* Kernels of collectives that do not block, and of neighbourhoods: iallreduce, allreduce_init, overlap, neighbor.
 *
 * overlap: the share of a non-blocking allreduce's time that a computation beside it hides. Every repetition takes three times over
 * the same number of iterations: the allreduce alone, a computation that lasts about as long alone, and both, the computation
 * between the start of the allreduce and the wait for it. Nothing calls MPI while it computes. All that both together take less
 * than one after the other is hidden: 100 % if the allreduce costs nothing more, 0 % if it all happens in the wait. */
#include "bench.h"

#include <string.h>

static size_t one_vector(const struct context *c)
{
    return c->bytes;
}

static int elements(const struct context *c)
{
    return (int)(c->bytes / sizeof(double));
}

static double contribution(int rank, int i)
{
    return (double)((rank + 1) * (i % 89 + 1));
}

static void start_allreduce(struct context *c, MPI_Request *request)
{
    MPI_Iallreduce(c->send, c->receive, elements(c), MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, request);
}

static double slowest(double seconds)
{
    double most = 0;
    MPI_Allreduce(&seconds, &most, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    return most;
}

/* ---- iallreduce: started and waited for at once ---- */

static double iallreduce_run(struct context *c, long iterations)
{
    double start = MPI_Wtime();
    for (long i = 0; i < iterations; i++) {
        MPI_Request request;
        start_allreduce(c, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    return MPI_Wtime() - start;
}

/* ---- allreduce_init: made once, started and waited for at once ---- */

static double allreduce_init_run(struct context *c, long iterations)
{
    MPI_Request request;
    MPI_Allreduce_init(c->send, c->receive, elements(c), MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
    MPI_Start(&request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    double start = MPI_Wtime();
    for (long i = 0; i < iterations; i++) {
        MPI_Start(&request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    double seconds = MPI_Wtime() - start;
    MPI_Request_free(&request);
    return seconds;
}

static void sum_check(struct context *c, const char *kernel, double (*run)(struct context *, long))
{
    double *mine = (double *)(void *)c->send;
    const double *sum = (const double *)(const void *)c->receive;
    double of_ranks = (double)c->ranks * (c->ranks + 1) / 2;
    for (int i = 0; i < elements(c); i++)
        mine[i] = contribution(c->rank, i);
    memset(c->receive, 0, c->bytes);
    run(c, 1);
    for (int i = 0; i < elements(c); i++)
        if (sum[i] != of_ranks * (i % 89 + 1))
            wrong_data(c, kernel, (size_t)i * sizeof(double), sum[i], of_ranks * (i % 89 + 1));
}

static void iallreduce_check(struct context *c)
{
    sum_check(c, "iallreduce", iallreduce_run);
}

static void allreduce_init_check(struct context *c)
{
    sum_check(c, "allreduce_init", allreduce_init_run);
}

/* ---- overlap ---- */

static double seconds_of_step; /* of the computation, all ranks at it */
static double hidden;          /* share of the last repetition, the same on all ranks */

static void compute(long steps)
{
    volatile double value = 1;
    for (long i = 0; i < steps; i++)
        value = value * 0.999999 + 1e-6;
}

static double computation(long iterations, long steps)
{
    MPI_Barrier(MPI_COMM_WORLD);
    double start = MPI_Wtime();
    for (long i = 0; i < iterations; i++)
        compute(steps);
    return slowest(MPI_Wtime() - start);
}

static void overlap_check(struct context *c)
{
    const long steps = 1000000;
    iallreduce_check(c);
    seconds_of_step = computation(1, steps) / (double)steps;
}

static double overlap_run(struct context *c, long iterations)
{
    double communication = slowest(iallreduce_run(c, iterations));
    long steps = (long)(communication / (double)iterations / seconds_of_step) + 1;
    double computing = computation(iterations, steps);
    MPI_Barrier(MPI_COMM_WORLD);
    double start = MPI_Wtime();
    for (long i = 0; i < iterations; i++) {
        MPI_Request request;
        start_allreduce(c, &request);
        compute(steps);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    double both = slowest(MPI_Wtime() - start);
    double shorter = communication < computing ? communication : computing;
    hidden = (communication + computing - both) / shorter;
    hidden = hidden < 0 ? 0 : hidden > 1 ? 1 : hidden;
    return both;
}

static double percent_hidden(const struct context *c, long iterations, double seconds)
{
    (void)c, (void)iterations, (void)seconds;
    return 100 * hidden;
}

/* ---- neighbor: `bytes` to each of the two neighbours on a ring ---- */

static MPI_Comm ring = MPI_COMM_NULL;

static size_t two_blocks(const struct context *c)
{
    return 2 * c->bytes;
}

static double neighbor_run(struct context *c, long iterations)
{
    int count = (int)c->bytes;
    double start = MPI_Wtime();
    for (long i = 0; i < iterations; i++)
        MPI_Neighbor_alltoall(c->send, count, MPI_BYTE, c->receive, count, MPI_BYTE, ring);
    return MPI_Wtime() - start;
}

static unsigned char exchanged_byte(size_t at, int from, int direction)
{
    return (unsigned char)(at * 3 + (size_t)from * 43 + (size_t)direction * 61 + 5);
}

static void neighbor_check(struct context *c)
{
    enum { DOWN, UP };
    int periodic = 1;
    if (ring == MPI_COMM_NULL)
        MPI_Cart_create(MPI_COMM_WORLD, 1, &c->ranks, &periodic, 0, &ring);
    for (int to = DOWN; to <= UP; to++)
        for (size_t i = 0; i < c->bytes; i++)
            c->send[(size_t)to * c->bytes + i] = exchanged_byte(i, c->rank, to);
    memset(c->receive, 0, two_blocks(c));
    neighbor_run(c, 1);
    /* What comes from below was sent upwards. */
    for (int side = DOWN; side <= UP; side++) {
        int from = (c->rank + (side == DOWN ? c->ranks - 1 : 1)) % c->ranks;
        const unsigned char *block = c->receive + (size_t)side * c->bytes;
        for (size_t i = 0; i < c->bytes; i++)
            if (block[i] != exchanged_byte(i, from, 1 - side))
                wrong_data(c, "neighbor", (size_t)side * c->bytes + i, block[i], exchanged_byte(i, from, 1 - side));
    }
}

static const size_t vector_sizes[] = {8, 65536, 1048576};
static const size_t start_sizes[] = {8, 1024, 8192, 65536};
static const size_t block_sizes[] = {8, 1024, 65536};

#define COUNT(a) (int)(sizeof(a) / sizeof((a)[0]))

const struct kernel nonblocking_kernels[] = {
    {"iallreduce", "MPI_Iallreduce, sum of doubles, and MPI_Wait at once", "us", 1, vector_sizes, COUNT(vector_sizes),
     sizeof(double), one_vector, one_vector, iallreduce_check, iallreduce_run, microseconds_each},
    {"allreduce_init", "a start of MPI_Allreduce_init, sum of doubles, and MPI_Wait at once", "us", 1, start_sizes,
     COUNT(start_sizes), sizeof(double), one_vector, one_vector, allreduce_init_check, allreduce_init_run,
     microseconds_each},
    {"overlap", "share of MPI_Iallreduce's time that a computation of its length hides", "%", 2, vector_sizes,
     COUNT(vector_sizes), sizeof(double), one_vector, one_vector, overlap_check, overlap_run, percent_hidden},
    {"neighbor", "MPI_Neighbor_alltoall on a ring, size is the block for each neighbour", "us", 1, block_sizes,
     COUNT(block_sizes), 1, two_blocks, two_blocks, neighbor_check, neighbor_run, microseconds_each},
};
const int nonblocking_kernel_count = COUNT(nonblocking_kernels);
