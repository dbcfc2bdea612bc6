/* Kernels that make communicators over all ranks and free them again: MPI_Comm_dup, MPI_Comm_split. */
#include "bench.h"

static size_t none(const struct context *c)
{
    (void)c;
    return 0;
}

static double dup_run(struct context *c, long iterations)
{
    (void)c;
    double start = MPI_Wtime();
    for (long i = 0; i < iterations; i++) {
        MPI_Comm made;
        MPI_Comm_dup(MPI_COMM_WORLD, &made);
        MPI_Comm_free(&made);
    }
    return MPI_Wtime() - start;
}

static void dup_check(struct context *c)
{
    MPI_Comm made;
    int result = MPI_UNEQUAL, sum = 0, one = 1;
    MPI_Comm_dup(MPI_COMM_WORLD, &made);
    MPI_Comm_compare(MPI_COMM_WORLD, made, &result);
    if (result != MPI_CONGRUENT)
        wrong_data(c, "dup (comparison with its original)", 0, result, MPI_CONGRUENT);
    MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, made);
    if (sum != c->ranks)
        wrong_data(c, "dup (ranks that take part)", 0, sum, c->ranks);
    MPI_Comm_free(&made);
}

/* Even and odd ranks, each in reverse order. */
static MPI_Comm split(const struct context *c)
{
    MPI_Comm made;
    MPI_Comm_split(MPI_COMM_WORLD, c->rank % 2, -c->rank, &made);
    return made;
}

static double split_run(struct context *c, long iterations)
{
    double start = MPI_Wtime();
    for (long i = 0; i < iterations; i++) {
        MPI_Comm made = split(c);
        MPI_Comm_free(&made);
    }
    return MPI_Wtime() - start;
}

static void split_check(struct context *c)
{
    MPI_Comm made = split(c);
    int size = 0, rank = -1, mine = c->rank, first = -1;
    int last = c->ranks - 1;
    MPI_Comm_size(made, &size);
    MPI_Comm_rank(made, &rank);
    int expected_first = last % 2 == c->rank % 2 ? last : last - 1;
    if (rank != (expected_first - c->rank) / 2)
        wrong_data(c, "split (rank)", 0, rank, (expected_first - c->rank) / 2);
    first = mine;
    MPI_Bcast(&first, 1, MPI_INT, 0, made);
    if (first != expected_first)
        wrong_data(c, "split (its first rank)", 0, first, expected_first);
    MPI_Comm_free(&made);
}

const struct kernel communicator_kernels[] = {
    {"dup", "MPI_Comm_dup and MPI_Comm_free", "us", 1, NULL, 0, 1, none, none, dup_check, dup_run, microseconds_each},
    {"split", "MPI_Comm_split in two, and MPI_Comm_free", "us", 1, NULL, 0, 1, none, none, split_check, split_run,
     microseconds_each},
};
const int communicator_kernel_count = (int)(sizeof(communicator_kernels) / sizeof(communicator_kernels[0]));
