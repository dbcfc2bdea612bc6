/* Loops of calls that do not wait, with more ranks than cores: whoever finds nothing gives its core to the rank that
   has to do something first. Without that each turn takes time slices of the system. */
#include "check.h"

enum { TURNS = 300, TAG = 1 };

int main(int argc, char **argv) {
    int rank, size, flag;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    int next = (rank + 1) % size, previous = (rank + size - 1) % size;
    for (int turn = 0; turn < TURNS; turn++) {
        MPI_Request one, both[2];
        int in = -1, out = turn * size + rank;
        MPI_Ibarrier(MPI_COMM_WORLD, &one);
        do MPI_Test(&one, &flag, MPI_STATUS_IGNORE); while (!flag);

        MPI_Irecv(&in, 1, MPI_INT, previous, TAG, MPI_COMM_WORLD, &both[0]);
        MPI_Isend(&out, 1, MPI_INT, next, TAG, MPI_COMM_WORLD, &both[1]);
        do MPI_Testall(2, both, &flag, MPI_STATUSES_IGNORE); while (!flag);
        CHECK(in == turn * size + previous);

        /* A token goes round: all but one rank look in vain. */
        MPI_Message message;
        if (rank == 0) MPI_Send(&turn, 1, MPI_INT, next, TAG, MPI_COMM_WORLD);
        do MPI_Improbe(previous, TAG, MPI_COMM_WORLD, &flag, &message, MPI_STATUS_IGNORE); while (!flag);
        MPI_Mrecv(&in, 1, MPI_INT, &message, MPI_STATUS_IGNORE);
        CHECK(in == turn);
        if (rank != 0) MPI_Send(&turn, 1, MPI_INT, next, TAG, MPI_COMM_WORLD);
    }
    MPI_Finalize();
    return 0;
}
