/* Neighbourhood collectives on a ring, a bordered line and a directed graph with double edges. */
#include "check.h"

enum { COUNT = 300 };

static int own[8 * COUNT], got[8 * COUNT];

/* `from[i]` is the sender of edge i and `at[i]` the position of that edge among the sender's destinations; -1 for none. */
static void exchange(MPI_Comm comm, int in, int out, const int *from, const int *at)
{
    int me, counts[8], places[8];
    MPI_Aint bytes[8];
    MPI_Datatype types[8];
    MPI_Comm_rank(comm, &me);
    for (int i = 0; i < 8; i++) {
        counts[i] = COUNT;
        places[i] = i * COUNT;
        bytes[i] = (MPI_Aint)(i * COUNT * sizeof(int));
        types[i] = MPI_INT;
    }
    for (int i = 0; i < out * COUNT; i++)
        own[i] = me * 10000 + i;
    for (int way = 0; way < 15; way++) {
        MPI_Request q = MPI_REQUEST_NULL;
        MPI_Info none = MPI_INFO_NULL;
        for (int i = 0; i < in * COUNT; i++)
            got[i] = -7;
        switch (way) {
        case 0: MPI_Neighbor_alltoall(own, COUNT, MPI_INT, got, COUNT, MPI_INT, comm); break;
        case 1: MPI_Ineighbor_alltoall(own, COUNT, MPI_INT, got, COUNT, MPI_INT, comm, &q); break;
        case 2: MPI_Neighbor_alltoall_init(own, COUNT, MPI_INT, got, COUNT, MPI_INT, comm, none, &q); break;
        case 3: MPI_Neighbor_alltoallv(own, counts, places, MPI_INT, got, counts, places, MPI_INT, comm); break;
        case 4: MPI_Ineighbor_alltoallv(own, counts, places, MPI_INT, got, counts, places, MPI_INT, comm, &q); break;
        case 5: MPI_Neighbor_alltoallv_init(own, counts, places, MPI_INT, got, counts, places, MPI_INT, comm, none, &q); break;
        case 6: MPI_Neighbor_alltoallw(own, counts, bytes, types, got, counts, bytes, types, comm); break;
        case 7: MPI_Ineighbor_alltoallw(own, counts, bytes, types, got, counts, bytes, types, comm, &q); break;
        case 8: MPI_Neighbor_alltoallw_init(own, counts, bytes, types, got, counts, bytes, types, comm, none, &q); break;
        case 9: MPI_Neighbor_allgather(own, COUNT, MPI_INT, got, COUNT, MPI_INT, comm); break;
        case 10: MPI_Ineighbor_allgather(own, COUNT, MPI_INT, got, COUNT, MPI_INT, comm, &q); break;
        case 11: MPI_Neighbor_allgather_init(own, COUNT, MPI_INT, got, COUNT, MPI_INT, comm, none, &q); break;
        case 12: MPI_Neighbor_allgatherv(own, COUNT, MPI_INT, got, counts, places, MPI_INT, comm); break;
        case 13: MPI_Ineighbor_allgatherv(own, COUNT, MPI_INT, got, counts, places, MPI_INT, comm, &q); break;
        default: MPI_Neighbor_allgatherv_init(own, COUNT, MPI_INT, got, counts, places, MPI_INT, comm, none, &q);
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
            for (int i = 0; i < COUNT; i++)
                CHECK_INT(got[e * COUNT + i], from[e] < 0 ? -7 : from[e] * 10000 + (way < 9 ? at[e] * COUNT : 0) + i);
    }
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
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    CHECK_INT(class_of(MPI_Neighbor_alltoall(own, 1, MPI_INT, got, 1, MPI_INT, MPI_COMM_WORLD)), MPI_ERR_TOPOLOGY);
    MPI_Finalize();
    return 0;
}
