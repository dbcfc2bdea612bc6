/* Collectives and messages of any size bring what they are to: large_vectors BYTES [NAME...]. BYTES is the vector of each member, or the blocks of
 * all members together; NAMEs are those of the calls below, all of them where none is given. */
#include "check.h"
#include <stdint.h>

#define MOST_MEMBERS 64

static int chosen_count;
static char **chosen;
static size_t words;       /* of a vector, or of all blocks together */
static uint64_t *out, *in; /* room for both */

static int is_chosen(const char *name)
{
    for (int i = 0; i < chosen_count; i++)
        if (strcmp(chosen[i], name) == 0)
            return 1;
    return chosen_count == 0;
}

static uint64_t word_of(size_t at, uint64_t member)
{
    return at * 0x9e3779b97f4a7c15u + member * 0xd1342543de82ef95u;
}

/* The sum of the words of so many members, from rank 0 on. */
static uint64_t sum_of(size_t at, uint64_t members)
{
    return members * (at * 0x9e3779b97f4a7c15u) + members * (members - 1) / 2 * 0xd1342543de82ef95u;
}

static void give(uint64_t *to, size_t count, size_t first, int member)
{
    for (size_t i = 0; i < count; i++)
        to[i] = word_of(first + i, (uint64_t)member);
}

static int has(const uint64_t *from, size_t count, size_t first, int member)
{
    for (size_t i = 0; i < count; i++)
        if (from[i] != word_of(first + i, (uint64_t)member))
            return 0;
    return 1;
}

static int has_sum(const uint64_t *from, size_t count, size_t first, int members)
{
    for (size_t i = 0; i < count; i++)
        if (from[i] != sum_of(first + i, (uint64_t)members))
            return 0;
    return 1;
}

/* What is in a vector before a call; nothing that a member gives. */
static void clear(uint64_t *vector, size_t count)
{
    memset(vector, 0xee, count * sizeof *vector);
}

static void vectors(void)
{
    MPI_Count count = (MPI_Count)words;
    int root = size - 1;
    if (is_chosen("bcast")) {
        clear(in, words);
        if (rank == root)
            give(in, words, 0, root);
        MPI_Bcast_c(in, count, MPI_UINT64_T, root, MPI_COMM_WORLD);
        CHECK(has(in, words, 0, root));
    }
    give(out, words, 0, rank);
    if (is_chosen("allreduce")) {
        clear(in, words);
        MPI_Allreduce_c(out, in, count, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
        CHECK(has_sum(in, words, 0, size));
        give(in, words, 0, rank);
        MPI_Allreduce_c(MPI_IN_PLACE, in, count, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
        CHECK(has_sum(in, words, 0, size));
    }
    if (is_chosen("reduce")) {
        clear(in, words);
        MPI_Reduce_c(out, in, count, MPI_UINT64_T, MPI_SUM, root, MPI_COMM_WORLD);
        CHECK(rank != root || has_sum(in, words, 0, size));
    }
    if (is_chosen("scan")) {
        clear(in, words);
        MPI_Scan_c(out, in, count, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
        CHECK(has_sum(in, words, 0, rank + 1));
        give(in, words, 0, rank);
        MPI_Exscan_c(MPI_IN_PLACE, in, count, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
        CHECK(rank == 0 ? has(in, words, 0, 0) : has_sum(in, words, 0, rank));
    }
    if (is_chosen("message")) {
        int to = (rank + 1) % size, from = (rank + size - 1) % size;
        clear(in, words);
        MPI_Sendrecv_c(out, count, MPI_UINT64_T, to, 5, in, count, MPI_UINT64_T, from, 5, MPI_COMM_WORLD,
                       MPI_STATUS_IGNORE);
        CHECK(has(in, words, 0, from));
    }
    CHECK(has(out, words, 0, rank));
}

static void blocks(void)
{
    size_t each = words / (size_t)size, all = each * (size_t)size;
    MPI_Count count = (MPI_Count)each;
    int root = size / 2;
    /* In the v forms, and those of the two parts of a reduction, blocks differ: the first ones have a word more than the last. */
    MPI_Count counts[MOST_MEMBERS];
    MPI_Aint places[MOST_MEMBERS], bytes[MOST_MEMBERS];
    MPI_Datatype types[MOST_MEMBERS];
    MPI_Aint next = 0;
    for (int i = 0; i < size; i++) {
        counts[i] = count - (each > 0 && i >= (size + 1) / 2);
        places[i] = next;
        bytes[i] = next * (MPI_Aint)sizeof(uint64_t);
        types[i] = MPI_UINT64_T;
        next += counts[i];
    }
    size_t mine = (size_t)counts[rank], before = (size_t)places[rank];
    give(out, all, 0, rank);
    if (is_chosen("gather")) {
        clear(in, all);
        MPI_Gather_c(out, count, MPI_UINT64_T, in, count, MPI_UINT64_T, root, MPI_COMM_WORLD);
        for (int i = 0; i < size && rank == root; i++)
            CHECK(has(in + (size_t)i * each, each, 0, i));
        clear(in, all);
        MPI_Gatherv_c(out, counts[rank], MPI_UINT64_T, in, counts, places, MPI_UINT64_T, root, MPI_COMM_WORLD);
        for (int i = 0; i < size && rank == root; i++)
            CHECK(has(in + places[i], (size_t)counts[i], 0, i));
    }
    if (is_chosen("scatter")) {
        clear(in, each);
        MPI_Scatter_c(out, count, MPI_UINT64_T, in, count, MPI_UINT64_T, root, MPI_COMM_WORLD);
        CHECK(has(in, each, (size_t)rank * each, root));
        clear(in, each);
        MPI_Scatterv_c(out, counts, places, MPI_UINT64_T, in, counts[rank], MPI_UINT64_T, root, MPI_COMM_WORLD);
        CHECK(has(in, mine, before, root));
    }
    if (is_chosen("allgather")) {
        clear(in, all);
        MPI_Allgather_c(out, count, MPI_UINT64_T, in, count, MPI_UINT64_T, MPI_COMM_WORLD);
        for (int i = 0; i < size; i++)
            CHECK(has(in + (size_t)i * each, each, 0, i));
        clear(in, all);
        MPI_Allgatherv_c(out, counts[rank], MPI_UINT64_T, in, counts, places, MPI_UINT64_T, MPI_COMM_WORLD);
        for (int i = 0; i < size; i++)
            CHECK(has(in + places[i], (size_t)counts[i], 0, i));
    }
    if (is_chosen("alltoall")) {
        clear(in, all);
        MPI_Alltoall_c(out, count, MPI_UINT64_T, in, count, MPI_UINT64_T, MPI_COMM_WORLD);
        for (int i = 0; i < size; i++)
            CHECK(has(in + (size_t)i * each, each, (size_t)rank * each, i));
        /* Everybody sends its first words again and again, as many as the other one takes. */
        MPI_Count takes[MOST_MEMBERS];
        MPI_Aint starts[MOST_MEMBERS] = {0}, rows[MOST_MEMBERS], row_bytes[MOST_MEMBERS];
        for (int i = 0; i < size; i++) {
            takes[i] = counts[rank];
            rows[i] = (MPI_Aint)((size_t)i * each);
            row_bytes[i] = rows[i] * (MPI_Aint)sizeof(uint64_t);
        }
        clear(in, all);
        MPI_Alltoallv_c(out, counts, starts, MPI_UINT64_T, in, takes, rows, MPI_UINT64_T, MPI_COMM_WORLD);
        for (int i = 0; i < size; i++)
            CHECK(has(in + (size_t)i * each, mine, 0, i));
        clear(in, all);
        MPI_Alltoallw_c(out, counts, bytes, types, in, takes, row_bytes, types, MPI_COMM_WORLD);
        for (int i = 0; i < size; i++)
            CHECK(has(in + (size_t)i * each, mine, before, i));
    }
    if (is_chosen("reduce_scatter")) {
        clear(in, each);
        MPI_Reduce_scatter_block_c(out, in, count, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
        CHECK(has_sum(in, each, (size_t)rank * each, size));
        clear(in, each);
        MPI_Reduce_scatter_c(out, in, counts, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
        CHECK(has_sum(in, mine, before, size));
        give(in, all, 0, rank);
        MPI_Reduce_scatter_c(MPI_IN_PLACE, in, counts, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
        CHECK(has_sum(in, mine, before, size));
    }
    CHECK(has(out, all, 0, rank));
}

int main(int argc, char **argv)
{
    start(&argc, &argv);
    CHECK(argc > 1 && size <= MOST_MEMBERS);
    size_t bytes = strtoull(argv[1], NULL, 0);
    words = bytes / sizeof(uint64_t);
    chosen_count = argc - 2;
    chosen = argv + 2;
    out = malloc(bytes + 8);
    in = malloc(bytes + 8);
    CHECK(out && in);
    vectors();
    blocks();
    free(out);
    free(in);
    if (rank == 0)
        printf("%d members, vectors of %zu bytes\n", size, bytes);
    return MPI_Finalize();
}
