/* Nothing is of any type: collective calls of 0 elements, whose datatypes differ from rank to rank. */
#include "check.h"

static double sent[64], received[64];

int main(int argc, char **argv)
{
    MPI_Request q;
    MPI_Comm inter, half;
    start(&argc, &argv);
    MPI_Datatype type = rank % 2 ? MPI_DOUBLE : MPI_INT;
    int none[64] = {0}, places[64] = {0};
    for (int again = 0; again < 3; again++) {
        MPI_Bcast(sent, 0, type, 0, MPI_COMM_WORLD);
        MPI_Gather(sent, 0, type, received, 0, type, 0, MPI_COMM_WORLD);
        MPI_Scatter(sent, 0, type, received, 0, type, 0, MPI_COMM_WORLD);
        MPI_Allgather(sent, 0, type, received, 0, type, MPI_COMM_WORLD);
        MPI_Alltoall(sent, 0, type, received, 0, type, MPI_COMM_WORLD);
        MPI_Gatherv(sent, 0, type, received, none, places, type, 0, MPI_COMM_WORLD);
        MPI_Scatterv(sent, none, places, type, received, 0, type, 0, MPI_COMM_WORLD);
        MPI_Allgatherv(sent, 0, type, received, none, places, type, MPI_COMM_WORLD);
        MPI_Alltoallv(sent, none, places, type, received, none, places, type, MPI_COMM_WORLD);
        MPI_Iscatter(sent, 0, type, received, 0, type, 0, MPI_COMM_WORLD, &q);
        MPI_Wait(&q, MPI_STATUS_IGNORE);
        MPI_Iallgather(sent, 0, type, received, 0, type, MPI_COMM_WORLD, &q);
        MPI_Wait(&q, MPI_STATUS_IGNORE);
        MPI_Barrier(MPI_COMM_WORLD);
    }
    /* Counts of some only: those without elements may name any type. */
    for (int i = 0; i < size; i++)
        none[i] = i == 0 ? 2 : 0;
    MPI_Gatherv(sent, rank ? 0 : 2, rank ? type : MPI_CHAR, received, none, places, MPI_CHAR, 0, MPI_COMM_WORLD);
    MPI_Allgatherv(sent, rank ? 0 : 2, rank ? type : MPI_CHAR, received, none, places, MPI_CHAR, MPI_COMM_WORLD);
    if (size > 1) {
        int first = rank < (size + 1) / 2;
        MPI_Comm_split(MPI_COMM_WORLD, first, rank, &half);
        MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, first ? (size + 1) / 2 : 0, 5, &inter);
        MPI_Datatype to = rank % 2 ? MPI_SHORT : MPI_CHAR;
        /* The first group gives nothing to the second one, of whatever type. */
        MPI_Allgather(sent, first ? 0 : 2, first ? to : MPI_INT, received, first ? 2 : 0, first ? MPI_INT : to, inter);
        MPI_Alltoall(sent, first ? 0 : 2, first ? to : MPI_INT, received, first ? 2 : 0, first ? MPI_INT : to, inter);
        MPI_Barrier(inter);
        MPI_Comm_free(&inter);
        MPI_Comm_free(&half);
    }
    return MPI_Finalize();
}
