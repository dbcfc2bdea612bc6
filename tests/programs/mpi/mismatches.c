/* Collective calls in which one rank differs: mismatches COLLECTIVE FORM HOW CASE..., each case WHAT:RANK:COUNT.
 * HOW is "fatal" or "returned". If fatal, the job ends with the first report. Else each case has a communicator of its own, which returns
 * errors, and a case of which nobody is told is printed. */
#include "check.h"

enum { MOST = 8 * 70000 };
static double sent[MOST], received[MOST];

static int call_it(const char *call, int form, const char *what, int odd, int n, MPI_Comm comm)
{
    MPI_Info none = MPI_INFO_NULL;
    MPI_Request q = MPI_REQUEST_NULL;
    int root = 0, shares[8], places[8], bytes[8], others, error = MPI_SUCCESS;
    MPI_Datatype types[8];
    MPI_Op op = MPI_SUM;
    MPI_Datatype type = MPI_INT, own = MPI_DATATYPE_NULL;
    others = n;
    if (odd && !strcmp(what, "none"))
        n = others = 0;
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
    /* By 8 KB, which is a slab. */
    if (odd && !strcmp(what, "longer_by_a_slab"))
        n = others = n + 2048;
    if (odd && !strcmp(what, "shorter_by_a_slab"))
        n = others = n - 2048;
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
    for (int i = 0; i < 8; i++) {
        shares[i] = others;
        places[i] = i * 70000;
        bytes[i] = i * 280000;
        types[i] = type;
    }
    /* What this rank sends itself is as long as its place. */
    if (!strncmp(what, "own_", 4))
        shares[rank] = n;
    /* As many together, but not for each. */
    if (odd && !strcmp(what, "shares")) {
        shares[0]++;
        shares[1]--;
    }
#define FORMS(blocking, immediate, persistent) \
    do { \
        if (form == 'b') \
            error = blocking; \
        else if (form == 'i') \
            error = immediate; \
        else \
            error = persistent; \
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
    /* With an array of counts, or of types, the blocks of all; own ones are sent from there. */
    if (!strcmp(call, "gatherv"))
        FORMS(MPI_Gatherv(sent, n, own, received, shares, places, type, root, comm),
              MPI_Igatherv(sent, n, own, received, shares, places, type, root, comm, &q),
              MPI_Gatherv_init(sent, n, own, received, shares, places, type, root, comm, none, &q));
    if (!strcmp(call, "scatterv"))
        FORMS(MPI_Scatterv(sent, shares, places, type, received, n, own, root, comm),
              MPI_Iscatterv(sent, shares, places, type, received, n, own, root, comm, &q),
              MPI_Scatterv_init(sent, shares, places, type, received, n, own, root, comm, none, &q));
    if (!strcmp(call, "allgatherv"))
        FORMS(MPI_Allgatherv(sent, n, own, received, shares, places, type, comm),
              MPI_Iallgatherv(sent, n, own, received, shares, places, type, comm, &q),
              MPI_Allgatherv_init(sent, n, own, received, shares, places, type, comm, none, &q));
    int lengths[8];
    for (int i = 0; i < 8; i++)
        lengths[i] = i == rank ? shares[i] : n;
    if (!strcmp(call, "alltoallv"))
        FORMS(MPI_Alltoallv(sent, lengths, places, own, received, shares, places, type, comm),
              MPI_Ialltoallv(sent, lengths, places, own, received, shares, places, type, comm, &q),
              MPI_Alltoallv_init(sent, lengths, places, own, received, shares, places, type, comm, none, &q));
    if (!strcmp(call, "alltoallw"))
        FORMS(MPI_Alltoallw(sent, lengths, bytes, types, received, shares, bytes, types, comm),
              MPI_Ialltoallw(sent, lengths, bytes, types, received, shares, bytes, types, comm, &q),
              MPI_Alltoallw_init(sent, lengths, bytes, types, received, shares, bytes, types, comm, none, &q));
    /* Who only gives may be ahead of the others, and be told by a later start. */
    for (int again = 0; form == 'p' && !error && again < 20000; again++)
        if (!(error = MPI_Start(&q)))
            error = MPI_Wait(&q, MPI_STATUS_IGNORE);
    if (form == 'i' && !error)
        error = MPI_Wait(&q, MPI_STATUS_IGNORE);
    if (form == 'p' && q != MPI_REQUEST_NULL)
        MPI_Request_free(&q);
    return error;
}

int main(int argc, char **argv)
{
    start(&argc, &argv);
    CHECK(argc > 4);
    int form = argv[2][0], returned = !strcmp(argv[3], "returned");
    for (int i = 4; i < argc; i++) {
        char what[40];
        int odd, count, told;
        MPI_Comm comm = MPI_COMM_WORLD;
        CHECK_INT(sscanf(argv[i], "%39[a-z_]:%d:%d", what, &odd, &count), 3);
        if (returned) {
            MPI_Comm_dup(MPI_COMM_WORLD, &comm);
            MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
        }
        int error = call_it(argv[1], form, what, rank == odd, count, comm);
        /* Where everybody waits for everybody, nobody gets on to the next call. */
        int waits = !strcmp(argv[1], "allreduce") || !strcmp(argv[1], "allgather") || !strcmp(argv[1], "alltoall");
        if (!error && waits && strstr(what, "by_a_slab"))
            printf("rank %d is not told by the call: %s %s\n", rank, argv[1], argv[i]);
        if (!error && form != 'p')
            error = MPI_Barrier(comm);
        int own = error != MPI_SUCCESS;
        MPI_Allreduce(&own, &told, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
        if (!rank && told < size)
            printf("%d are told: %s %s %s\n", told, argv[1], argv[2], argv[i]);
        if (returned)
            MPI_Comm_free(&comm);
    }
    return MPI_Finalize();
}
