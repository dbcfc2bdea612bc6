/* Every collective brings every block where it belongs: all roots, in place and not, with counts that differ and gaps between blocks, with
 * vectors that ride in a descriptor, in a slab, and that stay in memory. */
#include "check.h"

enum { MOST = 30000, MOST_RANKS = 8, GAP = 3 };

static int mine[MOST * MOST_RANKS], theirs[(MOST + GAP) * MOST_RANKS];

/* Element i of the block that goes from one rank to another. */
static int element(int from, int to, int i)
{
    return from * 1000003 + to * 10007 + i;
}

static void put(int *block, int count, int from, int to)
{
    for (int i = 0; i < count; i++)
        block[i] = element(from, to, i);
}

static void expect(const int *block, int count, int from, int to)
{
    for (int i = 0; i < count; i++)
        CHECK_INT(block[i], element(from, to, i));
}

static void clear(void)
{
    memset(theirs, 0x5a, sizeof theirs);
}

/* Blocks of unequal length with gaps between them: of rank r, r + n elements, the last one's none. */
static int counts[MOST_RANKS], places[MOST_RANKS];

static void lay_out(int n)
{
    for (int r = 0, at = 0; r < size; r++) {
        counts[r] = r == size - 1 ? 0 : n - r % 2;
        places[r] = at;
        at += counts[r] + GAP;
    }
}

static void expect_gaps(void)
{
    for (int r = 0; r < size; r++)
        for (int i = 0; i < GAP; i++)
            CHECK_INT(theirs[places[r] + counts[r] + i], 0x5a5a5a5a);
}

static void rooted(int n, int root)
{
    const MPI_Comm comm = MPI_COMM_WORLD;
    put(mine, n, rank == root ? root : 99, 0);
    MPI_Bcast(mine, n, MPI_INT, root, comm);
    expect(mine, n, root, 0);

    put(mine, n, rank, 1);
    clear();
    MPI_Gather(mine, n, MPI_INT, theirs, n, MPI_INT, root, comm);
    for (int r = 0; rank == root && r < size; r++)
        expect(theirs + r * n, n, r, 1);
    if (rank == root) {
        memset(theirs, 0, sizeof(int) * n * size);
        put(theirs + rank * n, n, rank, 1);
        MPI_Gather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, theirs, n, MPI_INT, root, comm);
    } else {
        MPI_Gather(mine, n, MPI_INT, NULL, 0, MPI_DATATYPE_NULL, root, comm);
    }
    for (int r = 0; rank == root && r < size; r++)
        expect(theirs + r * n, n, r, 1);

    for (int r = 0; r < size; r++)
        put(mine + r * n, n, root, r);
    clear();
    if (rank == root) {
        MPI_Scatter(mine, n, MPI_INT, MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, root, comm);
    } else {
        MPI_Scatter(NULL, 0, MPI_DATATYPE_NULL, theirs, n, MPI_INT, root, comm);
        expect(theirs, n, root, rank);
    }

    lay_out(n);
    put(mine, n, rank, 2);
    clear();
    MPI_Gatherv(mine, counts[rank], MPI_INT, theirs, counts, places, MPI_INT, root, comm);
    for (int r = 0; rank == root && r < size; r++)
        expect(theirs + places[r], counts[r], r, 2);
    if (rank == root)
        expect_gaps();
    for (int r = 0; r < size; r++)
        put(mine + places[r], counts[r], root, r);
    clear();
    MPI_Scatterv(mine, counts, places, MPI_INT, theirs, counts[rank], MPI_INT, root, comm);
    expect(theirs, counts[rank], root, rank);

    for (int i = 0; i < n; i++)
        mine[i] = theirs[i] = rank + i;
    int in_place = rank == root && n % 2;
    MPI_Reduce(in_place ? MPI_IN_PLACE : mine, theirs, n, MPI_INT, MPI_SUM, root, comm);
    for (int i = 0; rank == root && i < n; i++)
        CHECK_INT(theirs[i], size * (size - 1) / 2 + size * i);
}

static void unrooted(int n)
{
    const MPI_Comm comm = MPI_COMM_WORLD;
    put(mine, n, rank, 3);
    clear();
    MPI_Allgather(mine, n, MPI_INT, theirs, n, MPI_INT, comm);
    for (int r = 0; r < size; r++)
        expect(theirs + r * n, n, r, 3);
    clear();
    put(theirs + rank * n, n, rank, 4);
    MPI_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, theirs, n, MPI_INT, comm);
    for (int r = 0; r < size; r++)
        expect(theirs + r * n, n, r, 4);
    lay_out(n);
    clear();
    MPI_Allgatherv(mine, counts[rank], MPI_INT, theirs, counts, places, MPI_INT, comm);
    for (int r = 0; r < size; r++)
        expect(theirs + places[r], counts[r], r, 3);
    expect_gaps();

    for (int r = 0; r < size; r++)
        put(mine + r * n, n, rank, r);
    clear();
    MPI_Alltoall(mine, n, MPI_INT, theirs, n, MPI_INT, comm);
    for (int r = 0; r < size; r++)
        expect(theirs + r * n, n, r, rank);
    MPI_Alltoall(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, mine, n, MPI_INT, comm);
    for (int r = 0; r < size; r++)
        expect(mine + r * n, n, r, rank);
    /* To every rank a block of the length that it has: everybody receives blocks of its own length, where the layout puts them. */
    int own[MOST_RANKS], at[MOST_RANKS];
    for (int r = 0; r < size; r++) {
        put(mine + places[r], counts[r], rank, r);
        own[r] = counts[rank];
        at[r] = r * (n + GAP);
    }
    clear();
    MPI_Alltoallv(mine, counts, places, MPI_INT, theirs, own, at, MPI_INT, comm);
    for (int r = 0; r < size; r++) {
        expect(theirs + at[r], own[r], r, rank);
        CHECK_INT(theirs[at[r] + own[r]], 0x5a5a5a5a);
    }

    for (int i = 0; i < n; i++)
        mine[i] = theirs[i] = rank + i;
    MPI_Allreduce(n % 2 ? MPI_IN_PLACE : mine, theirs, n, MPI_INT, MPI_SUM, comm);
    for (int i = 0; i < n; i++)
        CHECK_INT(theirs[i], size * (size - 1) / 2 + size * i);
    memcpy(theirs, mine, sizeof(int) * n);
    MPI_Scan(n % 2 ? mine : MPI_IN_PLACE, theirs, n, MPI_INT, MPI_MAX, comm);
    for (int i = 0; i < n; i++)
        CHECK_INT(theirs[i], rank + i);
    memcpy(theirs, mine, sizeof(int) * n);
    MPI_Exscan(n % 2 ? mine : MPI_IN_PLACE, theirs, n, MPI_INT, MPI_SUM, comm);
    for (int i = 0; i < n; i++)
        CHECK_INT(theirs[i], rank ? rank * (rank - 1) / 2 + rank * i : mine[i]);

    for (int i = 0; i < n * size; i++)
        mine[i] = theirs[i] = rank * i;
    MPI_Reduce_scatter_block(mine, theirs, n, MPI_INT, MPI_SUM, comm);
    for (int i = 0; i < n; i++)
        CHECK_INT(theirs[i], size * (size - 1) / 2 * (rank * n + i));
    int first = 0;
    for (int r = 0; r < rank; r++)
        first += counts[r];
    memcpy(theirs, mine, sizeof(int) * n * size);
    MPI_Reduce_scatter(MPI_IN_PLACE, theirs, counts, MPI_INT, MPI_SUM, comm);
    for (int i = 0; i < counts[rank]; i++)
        CHECK_INT(theirs[i], size * (size - 1) / 2 * (first + i));
}

/* Every rank for itself, at its own pace and with other lengths: collectives of MPI_COMM_SELF have nothing to do with each other. */
static void alone(void)
{
    enum { LONGEST = 40 };
    int give[LONGEST], take[LONGEST], count = 1 + rank % LONGEST;
    for (int i = 0; i < 500; i++) {
        for (int j = 0; j < count; j++)
            give[j] = rank + i + j, take[j] = -1;
        MPI_Exscan(give, take, count, MPI_INT, MPI_SUM, MPI_COMM_SELF);
        CHECK_INT(take[0], -1);
        MPI_Scan(give, take, count, MPI_INT, MPI_SUM, MPI_COMM_SELF);
        CHECK_INT(take[count - 1], give[count - 1]);
        MPI_Barrier(MPI_COMM_SELF);
        take[0] = -1;
        MPI_Reduce_scatter_block(give, take, count, MPI_INT, MPI_MAX, MPI_COMM_SELF);
        CHECK_INT(take[0], give[0]);
        take[0] = -1;
        MPI_Alltoall(give, count, MPI_INT, take, count, MPI_INT, MPI_COMM_SELF);
        CHECK_INT(take[count - 1], give[count - 1]);
        MPI_Bcast(take, count, MPI_INT, 0, MPI_COMM_SELF);
        MPI_Gather(give, count, MPI_INT, take, count, MPI_INT, 0, MPI_COMM_SELF);
        CHECK_INT(take[0], give[0]);
    }
}

int main(int argc, char **argv)
{
    const int lengths[] = {1, 2, 7, 500, 4500, MOST};
    start(&argc, &argv);
    CHECK(size <= MOST_RANKS);
    alone();
    for (int l = 0; l < 6; l++) {
        for (int root = 0; root < (lengths[l] > 4500 ? 1 : size); root++)
            rooted(lengths[l], root);
        unrooted(lengths[l]);
    }
    /* Nothing at all, from nowhere to nowhere. */
    MPI_Bcast(NULL, 0, MPI_INT, 0, MPI_COMM_WORLD);
    MPI_Allreduce(NULL, NULL, 0, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Allgather(NULL, 0, MPI_INT, NULL, 0, MPI_INT, MPI_COMM_WORLD);
    MPI_Alltoall(NULL, 0, MPI_INT, NULL, 0, MPI_INT, MPI_COMM_WORLD);
    MPI_Finalize();
    return 0;
}
