/* Communicators that rank 0 has freed before the others call what does not fit what it has called: as many as one likes. */
#include "check.h"

int main(int argc, char **argv)
{
    MPI_Comm comm;
    int value = 1, token = 0;
    start(&argc, &argv);
    CHECK(size == 3);
    for (int round = 0; round < 200; round++) {
        MPI_Comm_dup(MPI_COMM_WORLD, &comm);
        MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
        if (rank == 0) {
            CHECK_INT(MPI_Bcast(&value, 1, MPI_INT, 0, comm), MPI_SUCCESS);
            MPI_Comm_free(&comm);
            MPI_Send(&token, 1, MPI_INT, 1, 0, MPI_COMM_WORLD);
            MPI_Send(&token, 1, MPI_INT, 2, 0, MPI_COMM_WORLD);
        } else {
            MPI_Recv(&token, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            CHECK_INT(class_of(MPI_Barrier(comm)), MPI_ERR_OTHER);
            MPI_Comm_free(&comm);
        }
    }
    return MPI_Finalize();
}
