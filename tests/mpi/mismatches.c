/* One collective call in which one rank differs: mismatches COLLECTIVE FORM WHAT ODD COUNT.
 * The job ends with a report; a program that gets to its end says so. */
#include "check.h"

enum { MOST = 8 * 70000 };
static double sent[MOST], received[MOST];

int main(int argc, char **argv)
{
    MPI_Comm comm = MPI_COMM_WORLD;
    MPI_Info none = MPI_INFO_NULL;
    MPI_Request q = MPI_REQUEST_NULL;
    start(&argc, &argv);
    CHECK(argc == 6);
    const char *call = argv[1], *what = argv[3];
    int odd = rank == atoi(argv[4]), n = atoi(argv[5]), form = argv[2][0], root = 0, shares[8], others;
    MPI_Op op = MPI_SUM;
    MPI_Datatype type = MPI_INT, own = MPI_DATATYPE_NULL;
    others = n;
    if (odd && !strcmp(what, "root"))
        root = 1;
    if (odd && !strcmp(what, "operation"))
        op = MPI_MAX;
    if (odd && !strcmp(what, "type"))
        type = MPI_FLOAT;
    if (odd && !strcmp(what, "longer"))
        n = others = n + 1;
    if (odd && !strcmp(what, "shorter"))
        n = others = n - 1;
    if (odd && !strcmp(what, "own_type"))
        own = MPI_FLOAT;
    /* Of the two counts of a call only one. */
    if (odd && !strcmp(what, "own_longer"))
        n = n + 1;
    if (odd && !strcmp(what, "own_shorter"))
        n = n - 1;
    if (odd && !strcmp(what, "others_longer"))
        others = others + 1;
    if (odd && !strcmp(what, "others_shorter"))
        others = others - 1;
    if (odd && !strcmp(what, "call"))
        call = !strcmp(call, "barrier") ? "bcast" : "barrier";
    if (own == MPI_DATATYPE_NULL)
        own = type;
    for (int i = 0; i < 8; i++)
        shares[i] = n;
#define FORMS(blocking, immediate, persistent) \
    do { \
        if (form == 'b') \
            blocking; \
        else if (form == 'i') \
            immediate; \
        else \
            persistent; \
    } while (0)
    if (!strcmp(call, "barrier"))
        FORMS(MPI_Barrier(comm), MPI_Ibarrier(comm, &q), MPI_Barrier_init(comm, none, &q));
    if (!strcmp(call, "bcast"))
        FORMS(MPI_Bcast(sent, n, type, root, comm), MPI_Ibcast(sent, n, type, root, comm, &q),
              MPI_Bcast_init(sent, n, type, root, comm, none, &q));
    if (!strcmp(call, "reduce"))
        FORMS(MPI_Reduce(sent, received, n, type, op, root, comm), MPI_Ireduce(sent, received, n, type, op, root, comm, &q),
              MPI_Reduce_init(sent, received, n, type, op, root, comm, none, &q));
    if (!strcmp(call, "allreduce"))
        FORMS(MPI_Allreduce(sent, received, n, type, op, comm), MPI_Iallreduce(sent, received, n, type, op, comm, &q),
              MPI_Allreduce_init(sent, received, n, type, op, comm, none, &q));
    if (!strcmp(call, "scan"))
        FORMS(MPI_Scan(sent, received, n, type, op, comm), MPI_Iscan(sent, received, n, type, op, comm, &q),
              MPI_Scan_init(sent, received, n, type, op, comm, none, &q));
    if (!strcmp(call, "exscan"))
        FORMS(MPI_Exscan(sent, received, n, type, op, comm), MPI_Iexscan(sent, received, n, type, op, comm, &q),
              MPI_Exscan_init(sent, received, n, type, op, comm, none, &q));
    if (!strcmp(call, "reduce_scatter"))
        FORMS(MPI_Reduce_scatter(sent, received, shares, type, op, comm),
              MPI_Ireduce_scatter(sent, received, shares, type, op, comm, &q),
              MPI_Reduce_scatter_init(sent, received, shares, type, op, comm, none, &q));
    if (!strcmp(call, "reduce_scatter_block"))
        FORMS(MPI_Reduce_scatter_block(sent, received, n, type, op, comm),
              MPI_Ireduce_scatter_block(sent, received, n, type, op, comm, &q),
              MPI_Reduce_scatter_block_init(sent, received, n, type, op, comm, none, &q));
    if (!strcmp(call, "gather"))
        FORMS(MPI_Gather(sent, n, own, received, others, type, root, comm),
              MPI_Igather(sent, n, own, received, others, type, root, comm, &q),
              MPI_Gather_init(sent, n, own, received, others, type, root, comm, none, &q));
    if (!strcmp(call, "scatter"))
        FORMS(MPI_Scatter(sent, others, type, received, n, own, root, comm),
              MPI_Iscatter(sent, others, type, received, n, own, root, comm, &q),
              MPI_Scatter_init(sent, others, type, received, n, own, root, comm, none, &q));
    if (!strcmp(call, "allgather"))
        FORMS(MPI_Allgather(sent, n, own, received, others, type, comm),
              MPI_Iallgather(sent, n, own, received, others, type, comm, &q),
              MPI_Allgather_init(sent, n, own, received, others, type, comm, none, &q));
    if (!strcmp(call, "alltoall"))
        FORMS(MPI_Alltoall(sent, n, own, received, others, type, comm),
              MPI_Ialltoall(sent, n, own, received, others, type, comm, &q),
              MPI_Alltoall_init(sent, n, own, received, others, type, comm, none, &q));
    if (form == 'p')
        MPI_Start(&q);
    MPI_Wait(&q, MPI_STATUS_IGNORE);
    MPI_Barrier(comm);
    printf("nobody told\n");
    return MPI_Finalize();
}
