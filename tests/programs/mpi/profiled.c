/* A tool between the program and the library: its MPI_Send counts and calls PMPI_Send; what the library does itself, and PMPI_Send, do not
 * come through it. */
#include "check.h"

static int calls;

int MPI_Send(const void *buf, int count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm)
{
    calls++;
    return PMPI_Send(buf, count, datatype, dest, tag, comm);
}

int main(int argc, char **argv)
{
    start(&argc, &argv);
    int value = rank;
    MPI_Send(&value, 1, MPI_INT, rank, 0, MPI_COMM_WORLD);
    PMPI_Send(&value, 1, MPI_INT, rank, 0, MPI_COMM_WORLD);
    MPI_Recv(&value, 1, MPI_INT, rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    PMPI_Recv(&value, 1, MPI_INT, rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK_INT(calls, 1);
    MPI_Finalize();
    return 0;
}
