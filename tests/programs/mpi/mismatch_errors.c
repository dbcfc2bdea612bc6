/* One collective call that does not fit what other ranks call, as an error: mismatch_errors WHAT FORM HANDLER WHERE.
 * Rank 1 differs. Every rank is told by the call that completes what it has called, or by its next one; then what can still be done is done. */
#include "check.h"

enum { MOST = 70000 };
static double sent[MOST], received[MOST];
static int called;
static char report[MPI_MAX_ERROR_STRING];

static void note(MPI_Comm *comm, int *code, ...)
{
    int length;
    CHECK(*comm != MPI_COMM_NULL);
    MPI_Error_string(*code, report, &length);
    called++;
}

static int complete(int form, MPI_Request *q)
{
    int error = MPI_SUCCESS;
    if (form != 't')
        return MPI_Wait(q, MPI_STATUS_IGNORE);
    for (int flag = 0; !flag && !error;)
        error = MPI_Test(q, &flag, MPI_STATUS_IGNORE);
    return error;
}

static int run(int form, int error, MPI_Request *q)
{
    if (error || form == 'b')
        return error;
    if (form != 'p')
        return complete(form, q);
    /* Who only gives may be ahead of the others. */
    while (!error && !(error = MPI_Start(q)))
        error = complete(form, q);
    MPI_Request_free(q);
    return error;
}

#define FORMS(blocking, immediate, persistent) run(form, form == 'b' ? (blocking) : form == 'p' ? (persistent) : (immediate), &q)

static int call(const char *what, int form, int odd, MPI_Comm comm)
{
    MPI_Request q = MPI_REQUEST_NULL;
    MPI_Info none = MPI_INFO_NULL;
    int large = 20000, n = 2 + odd;
    if (!strcmp(what, "call") && odd)
        return FORMS(MPI_Barrier(comm), MPI_Ibarrier(comm, &q), MPI_Barrier_init(comm, none, &q));
    if (!strcmp(what, "call"))
        return FORMS(MPI_Allreduce(sent, received, n, MPI_INT, MPI_SUM, comm),
                     MPI_Iallreduce(sent, received, n, MPI_INT, MPI_SUM, comm, &q),
                     MPI_Allreduce_init(sent, received, n, MPI_INT, MPI_SUM, comm, none, &q));
    if (!strcmp(what, "root"))
        return FORMS(MPI_Bcast(sent, 8, MPI_INT, odd, comm), MPI_Ibcast(sent, 8, MPI_INT, odd, comm, &q),
                     MPI_Bcast_init(sent, 8, MPI_INT, odd, comm, none, &q));
    if (!strcmp(what, "slab"))
        return FORMS(MPI_Bcast(sent, 1000 + odd, MPI_INT, 0, comm), MPI_Ibcast(sent, 1000 + odd, MPI_INT, 0, comm, &q),
                     MPI_Bcast_init(sent, 1000 + odd, MPI_INT, 0, comm, none, &q));
    if (!strcmp(what, "operation"))
        return FORMS(MPI_Allreduce(sent, received, large, MPI_INT, odd ? MPI_MAX : MPI_SUM, comm),
                     MPI_Iallreduce(sent, received, large, MPI_INT, odd ? MPI_MAX : MPI_SUM, comm, &q),
                     MPI_Allreduce_init(sent, received, large, MPI_INT, odd ? MPI_MAX : MPI_SUM, comm, none, &q));
    if (!strcmp(what, "large"))
        return FORMS(MPI_Alltoall(sent, large + odd, MPI_INT, received, large + odd, MPI_INT, comm),
                     MPI_Ialltoall(sent, large + odd, MPI_INT, received, large + odd, MPI_INT, comm, &q),
                     MPI_Alltoall_init(sent, large + odd, MPI_INT, received, large + odd, MPI_INT, comm, none, &q));
    if (!strcmp(what, "gather"))
        return FORMS(MPI_Gather(sent, n, MPI_INT, received, n, MPI_INT, 0, comm),
                     MPI_Igather(sent, n, MPI_INT, received, n, MPI_INT, 0, comm, &q),
                     MPI_Gather_init(sent, n, MPI_INT, received, n, MPI_INT, 0, comm, none, &q));
    CHECK(!strncmp(what, "neighbour", 9));
    large = !strcmp(what, "neighbours") ? n : large + odd;
    return FORMS(MPI_Neighbor_alltoall(sent, large, MPI_INT, received, large, MPI_INT, comm),
                 MPI_Ineighbor_alltoall(sent, large, MPI_INT, received, large, MPI_INT, comm, &q),
                 MPI_Neighbor_alltoall_init(sent, large, MPI_INT, received, large, MPI_INT, comm, none, &q));
}

int main(int argc, char **argv)
{
    MPI_Comm comm, other;
    MPI_Errhandler handler = MPI_ERRORS_RETURN;
    int round = 1, length, value = 7, got = 0, sum = 0, rounds = 0, error;
    start(&argc, &argv);
    CHECK(argc == 5 && size == 3);
    const char *what = argv[1], *where = argv[4];
    int form = argv[2][0], persistent = form == 'p', world = !strcmp(where, "world");
    if (!strcmp(argv[3], "user"))
        MPI_Comm_create_errhandler(note, &handler);
    if (!strcmp(argv[3], "abort"))
        handler = MPI_ERRORS_ABORT;
    if (!strcmp(argv[3], "fatal"))
        handler = MPI_ERRORS_ARE_FATAL;
    /* Communicators that are broken and freed: as many as one likes. */
    int most = !strcmp(where, "often") ? 150 : 1;
    for (rounds = 0; rounds < most; rounds++) {
        comm = MPI_COMM_WORLD;
        if (!strncmp(what, "neighbour", 9))
            MPI_Cart_create(MPI_COMM_WORLD, 1, &size, &round, 0, &comm);
        else if (!world)
            MPI_Comm_dup(MPI_COMM_WORLD, &comm);
        MPI_Comm_set_errhandler(comm, handler);
        error = call(what, form, rank == 1, comm);
        if (!error) {
            /* Whose contribution was buffered learns it later. */
            CHECK(!persistent);
            error = MPI_Barrier(comm);
        }
        /* Between nodes a block that is too long or too short may come before the word that it does not fit. */
        if (class_of(error) != MPI_ERR_TRUNCATE && class_of(error) != MPI_ERR_COUNT)
            CHECK_INT(class_of(error), MPI_ERR_OTHER);
        if (handler == MPI_ERRORS_RETURN)
            MPI_Error_string(error, report, &length);
        else
            CHECK_INT(called, rounds + 1);
        if (!rounds)
            printf("rank %d was told %s\n", rank, report);
        /* Collectives of a broken communicator fail, all of them. A persistent request has a communicator for itself. */
        CHECK(persistent || MPI_Barrier(comm) != MPI_SUCCESS);
        called = rounds + 1;
        /* Messages go on, in this communicator and in others. */
        error = MPI_Sendrecv(&value, 1, MPI_INT, (rank + 1) % size, 3, &got, 1, MPI_INT, (rank + 2) % size, 3, comm,
                             MPI_STATUS_IGNORE);
        CHECK_INT(error, MPI_SUCCESS);
        CHECK_INT(got, 7);
        if (!world) {
            CHECK_INT(MPI_Comm_free(&comm), MPI_SUCCESS);
            MPI_Allreduce(&value, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
            CHECK_INT(sum, 7 * size);
        }
    }
    if (!world) {
        MPI_Comm_dup(MPI_COMM_WORLD, &other);
        MPI_Barrier(other);
        MPI_Comm_free(&other);
    }
    if (!strcmp(where, "abort") && rank == 2)
        MPI_Abort(MPI_COMM_WORLD, 42);
    if (!strcmp(where, "abort"))
        MPI_Recv(&value, 1, MPI_INT, 2, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    return MPI_Finalize();
}
