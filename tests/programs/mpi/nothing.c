/* Collectives of nothing, in place at the root, whose members name different datatypes: of no bytes every signature fits every other. */
#include "check.h"

static void finish(MPI_Request *q, int persistent)
{
    if (persistent)
        CHECK_INT(MPI_Start(q), MPI_SUCCESS);
    CHECK_INT(MPI_Wait(q, MPI_STATUS_IGNORE), MPI_SUCCESS);
    if (persistent)
        MPI_Request_free(q);
}

int main(int argc, char **argv)
{
    double send[8] = {0}, receive[8] = {0};
    int none[16] = {0};
    MPI_Comm comm = MPI_COMM_WORLD;
    MPI_Info info = MPI_INFO_NULL;
    MPI_Datatype pair;
    MPI_Request q;
    start(&argc, &argv);
    MPI_Type_contiguous(2, MPI_INT, &pair);
    MPI_Type_commit(&pair);
    for (int root = 0; root < size; root++) {
        int at = rank == root;
        void *to = at ? MPI_IN_PLACE : receive;
        const void *from = at ? MPI_IN_PLACE : send;
        MPI_Scatter(send, 0, MPI_DOUBLE, to, 0, pair, root, comm);
        MPI_Iscatter(send, 0, MPI_DOUBLE, to, 0, pair, root, comm, &q);
        finish(&q, 0);
        MPI_Scatter_init(send, 0, MPI_DOUBLE, to, 0, pair, root, comm, info, &q);
        finish(&q, 1);
        MPI_Iscatterv(send, none, none, MPI_DOUBLE, to, 0, pair, root, comm, &q);
        finish(&q, 0);
        MPI_Gather(from, 0, pair, receive, 0, MPI_DOUBLE, root, comm);
        MPI_Igather(from, 0, pair, receive, 0, MPI_DOUBLE, root, comm, &q);
        finish(&q, 0);
        MPI_Gather_init(from, 0, pair, receive, 0, MPI_DOUBLE, root, comm, info, &q);
        finish(&q, 1);
        MPI_Bcast(send, 0, at ? pair : MPI_DOUBLE, root, comm);
        MPI_Ibcast(send, 0, at ? pair : MPI_DOUBLE, root, comm, &q);
        finish(&q, 0);
        MPI_Reduce(send, receive, 0, MPI_DOUBLE, MPI_SUM, root, comm);
        MPI_Ireduce(send, receive, 0, MPI_DOUBLE, MPI_SUM, root, comm, &q);
        finish(&q, 0);
        MPI_Iallreduce(send, receive, 0, MPI_DOUBLE, MPI_SUM, comm, &q);
        finish(&q, 0);
        MPI_Exscan(send, receive, 0, MPI_DOUBLE, MPI_SUM, comm);
        MPI_Iscan(send, receive, 0, MPI_DOUBLE, MPI_SUM, comm, &q);
        finish(&q, 0);
    }
    MPI_Type_free(&pair);
    return MPI_Finalize();
}
