/* Neighbourhood collectives on a ring, a bordered line and a directed graph with double edges. */
#include "check.h"

enum { MOST = 40000 };

/* Numbers of a block: one that rides in a cell or a descriptor, in a slab, in several, or comes by itself. */
static const int counts_of_blocks[] = {1, 12, 300, 5000, MOST};
static int own[8 * MOST], got[8 * MOST];

/* `from[i]` is the sender of edge i and `at[i]` the position of that edge among the sender's destinations; -1 for none. */
static void exchange_blocks(MPI_Comm comm, int count, int in, int out, const int *from, const int *at)
{
    int me, counts[8], places[8];
    MPI_Aint bytes[8];
    MPI_Datatype types[8];
    MPI_Comm_rank(comm, &me);
    for (int i = 0; i < 8; i++) {
        counts[i] = count;
        places[i] = i * count;
        bytes[i] = (MPI_Aint)(i * count * sizeof(int));
        types[i] = MPI_INT;
    }
    for (int i = 0; i < out * count; i++)
        own[i] = me * 10000 + i;
    for (int way = 0; way < 15; way++) {
        MPI_Request q = MPI_REQUEST_NULL;
        MPI_Info none = MPI_INFO_NULL;
        for (int i = 0; i < in * count; i++)
            got[i] = -7;
        switch (way) {
        case 0: MPI_Neighbor_alltoall(own, count, MPI_INT, got, count, MPI_INT, comm); break;
        case 1: MPI_Ineighbor_alltoall(own, count, MPI_INT, got, count, MPI_INT, comm, &q); break;
        case 2: MPI_Neighbor_alltoall_init(own, count, MPI_INT, got, count, MPI_INT, comm, none, &q); break;
        case 3: MPI_Neighbor_alltoallv(own, counts, places, MPI_INT, got, counts, places, MPI_INT, comm); break;
        case 4: MPI_Ineighbor_alltoallv(own, counts, places, MPI_INT, got, counts, places, MPI_INT, comm, &q); break;
        case 5: MPI_Neighbor_alltoallv_init(own, counts, places, MPI_INT, got, counts, places, MPI_INT, comm, none, &q); break;
        case 6: MPI_Neighbor_alltoallw(own, counts, bytes, types, got, counts, bytes, types, comm); break;
        case 7: MPI_Ineighbor_alltoallw(own, counts, bytes, types, got, counts, bytes, types, comm, &q); break;
        case 8: MPI_Neighbor_alltoallw_init(own, counts, bytes, types, got, counts, bytes, types, comm, none, &q); break;
        case 9: MPI_Neighbor_allgather(own, count, MPI_INT, got, count, MPI_INT, comm); break;
        case 10: MPI_Ineighbor_allgather(own, count, MPI_INT, got, count, MPI_INT, comm, &q); break;
        case 11: MPI_Neighbor_allgather_init(own, count, MPI_INT, got, count, MPI_INT, comm, none, &q); break;
        case 12: MPI_Neighbor_allgatherv(own, count, MPI_INT, got, counts, places, MPI_INT, comm); break;
        case 13: MPI_Ineighbor_allgatherv(own, count, MPI_INT, got, counts, places, MPI_INT, comm, &q); break;
        default: MPI_Neighbor_allgatherv_init(own, count, MPI_INT, got, counts, places, MPI_INT, comm, none, &q);
        }
        if (way % 3 == 2) {
            for (int again = 0; again < 3; again++) {
                MPI_Start(&q);
                MPI_Wait(&q, MPI_STATUS_IGNORE);
            }
            MPI_Request_free(&q);
        } else if (way % 3 == 1) {
            MPI_Wait(&q, MPI_STATUS_IGNORE);
        }
        for (int e = 0; e < in; e++)
            for (int i = 0; i < count; i++)
                CHECK_INT(got[e * count + i], from[e] < 0 ? -7 : from[e] * 10000 + (way < 9 ? at[e] * count : 0) + i);
    }
}

static void exchange(MPI_Comm comm, int in, int out, const int *from, const int *at)
{
    for (size_t i = 0; i < sizeof counts_of_blocks / sizeof *counts_of_blocks; i++)
        exchange_blocks(comm, counts_of_blocks[i], in, out, from, at);
}

/* Numbers go from each rank to the next ones of a line, which nobody holds up; sizes go up and down. */
static void run_ahead(void)
{
    MPI_Comm line;
    int here = rank > 0, on = rank + 1 < size, last = -1;
    MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, here, (int[]){rank - 1}, MPI_UNWEIGHTED, on, (int[]){rank + 1},
                                   MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &line);
    for (int i = 0; i < 200; i++) {
        int n = 1 + i * 37 % 23 * (i % 23) * (i % 7);
        for (int j = 0; j < n; j++)
            own[j] = i * 1000 + j;
        MPI_Neighbor_alltoall(own, n, MPI_INT, got, n, MPI_INT, line);
        if (here)
            for (int j = 0; j < n; j++)
                CHECK_INT(got[j], i * 1000 + j);
        if (i % 50 == 49) /* whoever is ahead waits here */
            MPI_Allreduce(&i, &last, 1, MPI_INT, MPI_MAX, line);
    }
    MPI_Comm_free(&line);
}

/* Calls of several communicators, and of several forms of one, in turn; columns of a matrix, which do not lie together. */
static void interleave(void)
{
    enum { ROWS = 50 };
    int round = 1, back = (rank + size - 1) % size, next = (rank + 1) % size;
    MPI_Comm ring, other;
    MPI_Datatype column, resized;
    MPI_Type_vector(ROWS, 1, 2, MPI_INT, &column);
    MPI_Type_create_resized(column, 0, sizeof(int), &resized);
    MPI_Type_commit(&resized);
    for (int again = 0; again < 5; again++) {
        MPI_Cart_create(MPI_COMM_WORLD, 1, &size, &round, 0, &ring);
        MPI_Comm_dup(ring, &other);
        for (int i = 0; i < 30; i++) {
            MPI_Request under_way;
            int mine[2] = {rank * 100 + i, rank * 100 + i + 50}, there[2], early[2], theirs[2];
            MPI_Ineighbor_alltoall(mine, 1, MPI_INT, early, 1, MPI_INT, ring, &under_way);
            MPI_Neighbor_alltoall(mine, 1, MPI_INT, there, 1, MPI_INT, ring);
            MPI_Neighbor_allgather(mine, 1, MPI_INT, theirs, 1, MPI_INT, other);
            for (int j = 0; j < 2 * ROWS; j++) {
                own[j] = rank * 1000 + i + j;
                got[j] = -1;
            }
            MPI_Neighbor_alltoall(own, 1, resized, got, 1, resized, other);
            MPI_Wait(&under_way, MPI_STATUS_IGNORE);
            CHECK_INT(there[0], back * 100 + i + 50);
            CHECK_INT(there[1], next * 100 + i);
            CHECK_INT(early[0], there[0]);
            CHECK_INT(early[1], there[1]);
            CHECK_INT(theirs[0], back * 100 + i);
            CHECK_INT(theirs[1], next * 100 + i);
            for (int j = 0; j < ROWS; j++) {
                CHECK_INT(got[2 * j], back * 1000 + i + 2 * j + 1);
                CHECK_INT(got[2 * j + 1], next * 1000 + i + 2 * j);
            }
        }
        MPI_Comm_free(&ring);
        MPI_Comm_free(&other);
    }
    MPI_Type_free(&column);
    MPI_Type_free(&resized);
}

int main(int argc, char **argv)
{
    start(&argc, &argv);
    MPI_Comm comm;
    int round[1] = {1}, line[1] = {0}, back = (rank + size - 1) % size, next = (rank + 1) % size;
    MPI_Cart_create(MPI_COMM_WORLD, 1, &size, round, 0, &comm);
    exchange(comm, 2, 2, (int[]){back, next}, (int[]){1, 0});
    MPI_Comm_free(&comm);
    MPI_Cart_create(MPI_COMM_WORLD, 1, &size, line, 0, &comm);
    exchange(comm, 2, 2, (int[]){rank - 1, rank + 1 < size ? rank + 1 : -1}, (int[]){1, 0});
    MPI_Comm_free(&comm);
    /* Two edges to the next member, one to itself. */
    MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 3, (int[]){back, rank, back}, MPI_UNWEIGHTED, 3,
                                   (int[]){next, next, rank}, MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &comm);
    if (size > 1)
        exchange(comm, 3, 3, (int[]){back, rank, back}, (int[]){0, 2, 1});
    MPI_Comm_free(&comm);
    run_ahead();
    interleave();
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    CHECK_INT(class_of(MPI_Neighbor_alltoall(own, 1, MPI_INT, got, 1, MPI_INT, MPI_COMM_WORLD)), MPI_ERR_TOPOLOGY);
    MPI_Finalize();
    return 0;
}
