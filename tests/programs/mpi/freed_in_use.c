/* Communicators that are freed while collectives of theirs are under way, in a communicator of all and between two groups: the collectives complete as if it lived,
 * and what is wrong with them is told to the error handler that it had. */
#include "check.h"

static int told;

static void note(MPI_Comm *comm, int *code, ...)
{
    (void)comm;
    CHECK_INT(class_of(*code), MPI_ERR_OTHER);
    told++;
}

int main(int argc, char **argv)
{
    MPI_Comm group, inter, comm;
    MPI_Errhandler handler;
    MPI_Request requests[3];
    int value, sum, all[64], own;
    start(&argc, &argv);
    CHECK(size > 1 && size <= 64);
    int low = size / 2, in_low = rank < low, root = !in_low ? 0 : rank ? MPI_PROC_NULL : MPI_ROOT;
    MPI_Comm_create_errhandler(note, &handler);
    MPI_Comm_split(MPI_COMM_WORLD, in_low, rank, &group);
    MPI_Intercomm_create(group, 0, MPI_COMM_WORLD, in_low ? low : 0, 1, &inter);
    for (int round = 0; round < 200; round++) {
        int is_inter = round % 2, of_inter = is_inter ? root : 0;
        MPI_Comm_dup(is_inter ? inter : MPI_COMM_WORLD, &comm);
        value = rank ? -1 : round;
        own = rank + round;
        MPI_Ibcast(&value, 1, MPI_INT, of_inter, comm, &requests[0]);
        MPI_Iallreduce(&own, &sum, 1, MPI_INT, MPI_SUM, comm, &requests[1]);
        MPI_Iallgather(&own, 1, MPI_INT, all, 1, MPI_INT, comm, &requests[2]);
        MPI_Comm_free(&comm);
        CHECK_INT(MPI_Waitall(3, requests, MPI_STATUSES_IGNORE), MPI_SUCCESS);
        int first = !is_inter || !in_low ? 0 : low, end = !is_inter || in_low ? size : low, expected = 0;
        for (int of = first; of < end; of++) {
            expected += of + round;
            CHECK_INT(all[of - first], of + round);
        }
        CHECK_INT(sum, expected);
        if (!is_inter || !in_low)
            CHECK_INT(value, round);
    }
    for (int round = 0; round < 200; round++) {
        MPI_Comm_dup(round % 2 ? inter : MPI_COMM_WORLD, &comm);
        MPI_Comm_set_errhandler(comm, round % 4 < 2 ? MPI_ERRORS_RETURN : handler);
        MPI_Barrier(MPI_COMM_WORLD);
        if (rank)
            MPI_Iallreduce(&own, &sum, 1, MPI_INT, MPI_SUM, comm, &requests[0]);
        else
            MPI_Ibarrier(comm, &requests[0]);
        MPI_Comm_free(&comm);
        if (requests[0] == MPI_REQUEST_NULL) {
            /* Told by the call that began it. */
            continue;
        }
        CHECK_INT(class_of(MPI_Wait(&requests[0], MPI_STATUS_IGNORE)), MPI_ERR_OTHER);
    }
    CHECK_INT(told, 100);
    MPI_Errhandler_free(&handler);
    MPI_Comm_free(&inter);
    MPI_Comm_free(&group);
    return MPI_Finalize();
}
