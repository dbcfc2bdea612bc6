/* Reductions combine vectors of any size right: with operations of the library and of the program, in place and not, to all, to a root, of lower ranks and in
 * shares. */
#include "check.h"
#include <stdint.h>

/* Elements: nothing, one, what the NIC combines at most and beside it, several rounds of any length, and many. */
static const int counts[] = {0, 1, 3, 1023, 1024, 1025, 1026, 8191, 8193, 32768, 100003, 1000000};
#define MOST 1000000

static int64_t *given, *got;
static MPI_Op own_sum;
static MPI_Datatype pair;

/* Both halves of a pair: the second is the sum of the ranks that were combined, and the first the number of them. */
struct two {
    int64_t count, sum;
};

static void add_pairs(void *in, void *inout, int *length, MPI_Datatype *type)
{
    (void)type;
    for (int i = 0; i < *length; i++) {
        ((struct two *)inout)[i].count += ((struct two *)in)[i].count;
        ((struct two *)inout)[i].sum += ((struct two *)in)[i].sum;
    }
}

static void give(int64_t *to, int count)
{
    for (int i = 0; i < count; i++)
        to[i] = (int64_t)i * (rank + 1);
}

/* What ranks 0 to `ranks` - 1 together give, from the element `first` on. */
static int has_sum(const int64_t *from, int first, int count, int ranks)
{
    int64_t factor = (int64_t)ranks * (ranks + 1) / 2;
    for (int i = 0; i < count; i++)
        if (from[i] != factor * (first + i))
            return 0;
    return 1;
}

static void clear(int count) { memset(got, 0xee, sizeof *got * (size_t)count); }

static int is_clear(int count)
{
    for (int i = 0; i < count; i++)
        if ((uint64_t)got[i] != 0xeeeeeeeeeeeeeeeeu)
            return 0;
    return 1;
}

static void to_all_and_to_a_root(int count, MPI_Op op)
{
    int root = count % size;
    give(given, count);
    clear(count);
    MPI_Allreduce(given, got, count, MPI_INT64_T, op, MPI_COMM_WORLD);
    CHECK(has_sum(got, 0, count, size));
    give(got, count);
    MPI_Allreduce(MPI_IN_PLACE, got, count, MPI_INT64_T, op, MPI_COMM_WORLD);
    CHECK(has_sum(got, 0, count, size));
    clear(count);
    MPI_Reduce(given, got, count, MPI_INT64_T, op, root, MPI_COMM_WORLD);
    CHECK(rank == root ? has_sum(got, 0, count, size) : is_clear(count));
    give(got, count);
    MPI_Reduce(rank == root ? MPI_IN_PLACE : got, got, count, MPI_INT64_T, op, root, MPI_COMM_WORLD);
    if (rank == root)
        CHECK(has_sum(got, 0, count, size));
}

static void of_lower_ranks(int count, MPI_Op op)
{
    give(given, count);
    clear(count);
    MPI_Scan(given, got, count, MPI_INT64_T, op, MPI_COMM_WORLD);
    CHECK(has_sum(got, 0, count, rank + 1));
    give(got, count);
    MPI_Scan(MPI_IN_PLACE, got, count, MPI_INT64_T, op, MPI_COMM_WORLD);
    CHECK(has_sum(got, 0, count, rank + 1));
    clear(count);
    MPI_Exscan(given, got, count, MPI_INT64_T, op, MPI_COMM_WORLD);
    CHECK(rank == 0 ? is_clear(count) : has_sum(got, 0, count, rank));
    give(got, count);
    MPI_Exscan(MPI_IN_PLACE, got, count, MPI_INT64_T, op, MPI_COMM_WORLD);
    if (rank > 0)
        CHECK(has_sum(got, 0, count, rank));
}

static void in_shares(int count, MPI_Op op)
{
    int shares[64], first = 0, mine = 0, each = count / size;
    /* Shares of different lengths, some of them nothing. */
    for (int member = 0, left = count; member < size; member++) {
        shares[member] = member == size - 1 ? left : member % 3 == 1 ? 0 : left / 3;
        left -= shares[member];
        if (member < rank)
            first += shares[member];
        if (member == rank)
            mine = shares[member];
    }
    give(given, count);
    clear(count);
    MPI_Reduce_scatter(given, got, shares, MPI_INT64_T, op, MPI_COMM_WORLD);
    CHECK(has_sum(got, first, mine, size));
    give(got, count);
    MPI_Reduce_scatter(MPI_IN_PLACE, got, shares, MPI_INT64_T, op, MPI_COMM_WORLD);
    CHECK(has_sum(got, first, mine, size));
    clear(count);
    MPI_Reduce_scatter_block(given, got, each, MPI_INT64_T, op, MPI_COMM_WORLD);
    CHECK(has_sum(got, rank * each, each, size));
    for (int i = each; i < count; i++)
        CHECK((uint64_t)got[i] == 0xeeeeeeeeeeeeeeeeu);
    give(got, count);
    MPI_Reduce_scatter_block(MPI_IN_PLACE, got, each, MPI_INT64_T, op, MPI_COMM_WORLD);
    CHECK(has_sum(got, rank * each, each, size));
}

static void of_the_program(int count)
{
    struct two *from = malloc(sizeof *from * (size_t)count + 1), *to = malloc(sizeof *to * (size_t)count + 1);
    for (int i = 0; i < count; i++)
        from[i] = (struct two){1, (int64_t)i + rank};
    MPI_Allreduce(from, to, count, pair, own_sum, MPI_COMM_WORLD);
    for (int i = 0; i < count; i++)
        CHECK(to[i].count == size && to[i].sum == (int64_t)i * size + (int64_t)size * (size - 1) / 2);
    MPI_Scan(from, to, count, pair, own_sum, MPI_COMM_WORLD);
    for (int i = 0; i < count; i++)
        CHECK(to[i].count == rank + 1 && to[i].sum == (int64_t)i * (rank + 1) + (int64_t)rank * (rank + 1) / 2);
    for (int i = 0; i < count; i++)
        CHECK(from[i].count == 1 && from[i].sum == (int64_t)i + rank);
    free(from);
    free(to);
}

/* Operands that the NIC does not combine. */
static void of_long_doubles(int count)
{
    long double *from = malloc(sizeof *from * (size_t)count + 1), *to = malloc(sizeof *to * (size_t)count + 1);
    for (int i = 0; i < count; i++)
        from[i] = (long double)i * (rank + 1);
    MPI_Allreduce(from, to, count, MPI_LONG_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    for (int i = 0; i < count; i++)
        CHECK(to[i] == (long double)i * size);
    MPI_Reduce(from, to, count, MPI_LONG_DOUBLE, MPI_SUM, size - 1, MPI_COMM_WORLD);
    if (rank == size - 1)
        for (int i = 0; i < count; i++)
            CHECK(to[i] == (long double)i * size * (size + 1) / 2);
    free(from);
    free(to);
}

int main(int argc, char **argv)
{
    start(&argc, &argv);
    CHECK(size <= 64);
    given = malloc(sizeof *given * MOST);
    got = malloc(sizeof *got * MOST);
    MPI_Op_create(add_pairs, 1, &own_sum);
    MPI_Type_contiguous(2, MPI_INT64_T, &pair);
    MPI_Type_commit(&pair);
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        int count = counts[i];
        to_all_and_to_a_root(count, MPI_SUM);
        of_lower_ranks(count, MPI_SUM);
        in_shares(count, MPI_SUM);
        if (count <= 100003) {
            of_the_program(count);
            of_long_doubles(count);
        }
    }
    MPI_Type_free(&pair);
    MPI_Op_free(&own_sum);
    free(given);
    free(got);
    MPI_Finalize();
    return 0;
}
