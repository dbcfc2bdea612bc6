/* How jobs end, by the first argument. */
#include "check.h"

int main(int argc, char **argv)
{
    int value = 0, many[10];
    const char *how = argv[1];
    if (!strcmp(how, "before"))
        MPI_Send(&value, 1, MPI_INT, 0, 0, MPI_COMM_WORLD);
    start(&argc, &argv);
    if (!strcmp(how, "abort") && rank == size - 1)
        MPI_Abort(MPI_COMM_WORLD, 42);
    if (!strcmp(how, "fatal") && rank == size - 1)
        MPI_Send(&value, 1, MPI_INT, 12, 0, MPI_COMM_WORLD);
    if (!strcmp(how, "truncated")) {
        if (rank == 0)
            MPI_Send(many, 10, MPI_INT, 1, 7, MPI_COMM_WORLD);
        if (rank == 1)
            MPI_Recv(many, 4, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    if (!strcmp(how, "cycle"))
        MPI_Recv(many, 10, MPI_INT, (rank + 1) % size, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (!strcmp(how, "twice"))
        MPI_Init(NULL, NULL);
    if (!strcmp(how, "odd")) { /* one rank waits for a message, the others in a barrier of another communicator */
        MPI_Comm dup;
        MPI_Comm_dup(MPI_COMM_WORLD, &dup);
        if (rank == 1)
            MPI_Recv(many, 10, MPI_INT, 0, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Barrier(dup);
    }
    if (!strcmp(how, "unwaited")) { /* a freed send of a large message is finished by MPI_Finalize */
        static unsigned char bytes[1000000];
        MPI_Request request;
        if (rank == 0) {
            MPI_Isend(bytes, sizeof bytes, MPI_BYTE, 1, 0, MPI_COMM_WORLD, &request);
            MPI_Request_free(&request);
        }
        if (rank == 1)
            MPI_Recv(bytes, sizeof bytes, MPI_BYTE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else if (strcmp(how, "after"))
        MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    if (!strcmp(how, "after"))
        MPI_Barrier(MPI_COMM_WORLD);
    return 0;
}
