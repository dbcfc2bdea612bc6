/*
 * Two pairs of ranks on different nodes: 0 and 2, 1 and 3. One pair sends messages to and fro without end, so that it
 * drives the links; of the other each rank broadcasts as the root, which waits for nobody. That it does not fit is
 * told by a later call all the same, soon, and then the first pair ends.
 */
#include "check.h"

static void to_and_fro(MPI_Comm pair, int other)
{
    int stop = 0, own = 0;
    while (!stop) {
        if (!own)
            MPI_Iprobe(rank + 1, 7, MPI_COMM_WORLD, &own, MPI_STATUS_IGNORE);
        int theirs = 0;
        MPI_Sendrecv(&own, 1, MPI_INT, other, 0, &theirs, 1, MPI_INT, other, 0, pair, MPI_STATUS_IGNORE);
        stop = own && theirs;
    }
    MPI_Recv(NULL, 0, MPI_BYTE, rank + 1, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

int main(int argc, char **argv)
{
    MPI_Comm pair;
    start(&argc, &argv);
    CHECK(size == 4);
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &pair);
    int at;
    MPI_Comm_rank(pair, &at);
    if (rank % 2 == 0) {
        to_and_fro(pair, !at);
    } else {
        MPI_Comm_set_errhandler(pair, MPI_ERRORS_RETURN);
        int value = rank, error = MPI_Bcast(&value, 1, MPI_INT, at, pair);
        double begun = MPI_Wtime();
        /* Calls that fit, and in which nobody waits for the NIC. */
        for (int i = 0; error == MPI_SUCCESS && MPI_Wtime() - begun < 20; i++)
            error = MPI_Bcast(&value, 1, MPI_INT, i % 2, pair);
        int class;
        MPI_Error_class(error, &class);
        CHECK_INT(class, MPI_ERR_OTHER);
        MPI_Send(NULL, 0, MPI_BYTE, rank - 1, 7, MPI_COMM_WORLD);
        printf("rank %d was told\n", rank);
    }
    return MPI_Finalize();
}
