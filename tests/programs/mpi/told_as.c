/* What the report of a collective that does not fit says, and to whom: told_as WHAT HOW. Rank 1 differs. HOW is "fatal" or "returned". */
#include "check.h"

static int ones[64], others[64];

static void algorithms(MPI_Info *info, const char *what)
{
    MPI_Info_create(info);
    MPI_Info_set(*info, "bcs_collective", what);
}

int main(int argc, char **argv)
{
    MPI_Comm comm, second = MPI_COMM_NULL;
    MPI_Info info;
    MPI_Request requests[3] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL, MPI_REQUEST_NULL};
    int error = MPI_SUCCESS;
    start(&argc, &argv);
    CHECK(argc == 3);
    const char *what = argv[1];
    int odd = rank == 1, returned = !strcmp(argv[2], "returned");
    const char *wanted = odd ? "allreduce=shares" : "allreduce=tree";
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    if (returned)
        MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    if (!strcmp(what, "set_info")) {
        algorithms(&info, wanted);
        error = MPI_Comm_set_info(comm, info);
    } else if (!strcmp(what, "set_info_alone")) {
        algorithms(&info, wanted);
        if (odd)
            error = MPI_Comm_set_info(comm, info);
    } else if (!strcmp(what, "dup_with_info")) {
        algorithms(&info, wanted);
        MPI_Comm_dup_with_info(comm, info, &second);
    } else if (!strcmp(what, "dist_graph_create")) {
        algorithms(&info, wanted);
        MPI_Dist_graph_create(comm, 0, NULL, NULL, NULL, MPI_UNWEIGHTED, info, 0, &second);
    } else if (!strcmp(what, "dist_graph_create_adjacent")) {
        algorithms(&info, wanted);
        MPI_Dist_graph_create_adjacent(comm, 0, NULL, MPI_UNWEIGHTED, 0, NULL, MPI_UNWEIGHTED, info, 0, &second);
    } else if (!strcmp(what, "idup_with_info")) {
        algorithms(&info, wanted);
        error = MPI_Comm_idup_with_info(comm, info, &second, &requests[0]);
        if (!error)
            error = MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
    } else if (!strcmp(what, "init")) {
        if (odd)
            error = MPI_Barrier_init(comm, MPI_INFO_NULL, &requests[0]);
        else
            error = MPI_Bcast_init(ones, 4, MPI_INT, 2, comm, MPI_INFO_NULL, &requests[0]);
        if (!error)
            error = MPI_Start(&requests[0]);
        if (!error)
            error = MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
    } else if (!strcmp(what, "waitall")) {
        MPI_Status statuses[3];
        MPI_Irecv(others, 1, MPI_INT, (rank + 1) % size, 0, MPI_COMM_WORLD, &requests[0]);
        MPI_Isend(ones, 1, MPI_INT, (rank + size - 1) % size, 0, MPI_COMM_WORLD, &requests[2]);
        error = MPI_Iallreduce(ones, others + 1, 4 + odd, MPI_INT, MPI_SUM, comm, &requests[1]);
        if (!error)
            error = MPI_Waitall(3, requests, statuses);
        if (returned && error == MPI_ERR_IN_STATUS) {
            char text[MPI_MAX_ERROR_STRING];
            int length;
            CHECK_INT(class_of(statuses[1].MPI_ERROR), MPI_ERR_OTHER);
            MPI_Error_string(statuses[1].MPI_ERROR, text, &length);
            CHECK(strstr(text, "collective calls of"));
        }
    } else if (!strcmp(what, "waitsome")) {
        /* The first request stays pending, the second one has too little room. */
        int completed, indices[2];
        if (odd)
            MPI_Send(ones, 2, MPI_INT, 0, 1, MPI_COMM_WORLD);
        if (!rank) {
            MPI_Irecv(others, 1, MPI_INT, 1, 0, MPI_COMM_WORLD, &requests[0]);
            MPI_Irecv(others + 1, 1, MPI_INT, 1, 1, MPI_COMM_WORLD, &requests[1]);
            MPI_Waitsome(2, requests, &completed, indices, MPI_STATUSES_IGNORE);
        }
        MPI_Barrier(MPI_COMM_WORLD);
    } else {
        CHECK(!strcmp(what, "allgatherv"));
        int counts[8], places[8];
        for (int i = 0; i < 8; i++)
            counts[i] = 2, places[i] = 2 * i;
        MPI_Datatype type = odd ? MPI_FLOAT : MPI_INT;
        error = MPI_Allgatherv(ones, 2, type, others, counts, places, type, comm);
    }
    /* Whoever was not told yet is so by the next collective: a new communicator has hints of its own to agree on. */
    if (!error)
        error = MPI_Barrier(second != MPI_COMM_NULL ? second : comm);
    CHECK(error != MPI_SUCCESS);
    printf("rank %d was told\n", rank);
    return MPI_Finalize();
}
