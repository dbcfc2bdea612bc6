/* How jobs end, by the first argument. */
#include "check.h"
#include <time.h>

static void add(void *in, void *inout, int *count, MPI_Datatype *type)
{
    (void)type;
    for (int i = 0; i < *count; i++)
        ((int *)inout)[i] += ((int *)in)[i];
}

/* The same with a request. */
static void mismatch_under_way(const char *how, int odd, int *sent, int *received)
{
    MPI_Comm comm = MPI_COMM_WORLD;
    MPI_Request request;
    int counts[64] = {0};
    if (!strcmp(how, "call_i")) {
        if (odd)
            MPI_Ibcast(sent, 100000, MPI_INT, 0, comm, &request);
        else
            MPI_Igatherv(sent, 0, MPI_INT, received, counts, counts, MPI_INT, 0, comm, &request);
    } else if (!strcmp(how, "root_i"))
        MPI_Ibcast(sent, 100000, MPI_INT, odd, comm, &request);
    else if (!strcmp(how, "operation_i"))
        MPI_Iallreduce(sent, received, 100000, MPI_INT, odd ? MPI_MAX : MPI_SUM, comm, &request);
    else if (!strcmp(how, "user_i")) {
        MPI_Op own;
        MPI_Op_create(add, 1, &own);
        MPI_Ireduce(sent, received, 1, MPI_INT, odd ? own : MPI_SUM, 0, comm, &request);
    } else if (!strcmp(how, "type_i"))
        MPI_Iallgather(sent, 1, odd ? MPI_FLOAT : MPI_INT, received, 1, odd ? MPI_FLOAT : MPI_INT, comm, &request);
    else if (!strcmp(how, "count_i"))
        MPI_Ialltoall(sent, odd ? 2 : 1, MPI_INT, received, odd ? 2 : 1, MPI_INT, comm, &request);
    else if (!strcmp(how, "count_scan"))
        MPI_Iscan(sent, received, odd ? 2 : 1, MPI_INT, MPI_SUM, comm, &request);
    else if (!strcmp(how, "root_init")) {
        MPI_Scatter_init(sent, 1, MPI_INT, received, 1, MPI_INT, odd, comm, MPI_INFO_NULL, &request);
        MPI_Start(&request);
    } else
        return;
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

/* A collective of neighbours on a ring, of which rank 1 calls something else than the others. */
static void neighbour_mismatch(const char *how, int odd, int *sent, int *received)
{
    MPI_Comm ring;
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Datatype types[2] = {odd ? MPI_FLOAT : MPI_INT, odd ? MPI_FLOAT : MPI_INT}, type = types[0];
    int round = 1, counts[2] = {odd ? 2 : 1, odd ? 2 : 1}, two[2] = {2, 2}, places[2] = {0, 2}, large = odd ? 100000 : 200000;
    MPI_Aint bytes[2] = {0, 8};
    MPI_Cart_create(MPI_COMM_WORLD, 1, &size, &round, 0, &ring);
    /* Once as it should be. */
    MPI_Neighbor_alltoall(sent, 1, MPI_INT, received, 1, MPI_INT, ring);
    if (!strcmp(how, "edge_call") && odd)
        MPI_Neighbor_allgather(sent, 1, MPI_INT, received, 1, MPI_INT, ring);
    else if (!strcmp(how, "edge_call"))
        MPI_Neighbor_alltoall(sent, 1, MPI_INT, received, 1, MPI_INT, ring);
    else if (!strcmp(how, "edge_count"))
        MPI_Neighbor_alltoall(sent, counts[0], MPI_INT, received, counts[0], MPI_INT, ring);
    else if (!strcmp(how, "edge_type"))
        MPI_Neighbor_allgather(sent, 1, type, received, 1, type, ring);
    else if (!strcmp(how, "edge_large"))
        MPI_Neighbor_alltoall(sent, large, MPI_INT, received, large, MPI_INT, ring);
    else if (!strcmp(how, "edge_v"))
        MPI_Neighbor_alltoallv(sent, counts, places, MPI_INT, received, counts, places, MPI_INT, ring);
    else if (!strcmp(how, "edge_w"))
        MPI_Neighbor_alltoallw(sent, two, bytes, types, received, two, bytes, types, ring);
    else if (!strcmp(how, "edge_call_i") && odd)
        MPI_Ineighbor_allgather(sent, 1, MPI_INT, received, 1, MPI_INT, ring, &request);
    else if (!strcmp(how, "edge_call_i"))
        MPI_Ineighbor_alltoall(sent, 1, MPI_INT, received, 1, MPI_INT, ring, &request);
    else if (!strcmp(how, "edge_count_i"))
        MPI_Ineighbor_allgatherv(sent, counts[0], MPI_INT, received, counts, places, MPI_INT, ring, &request);
    else if (!strcmp(how, "edge_large_i"))
        MPI_Ineighbor_alltoall(sent, large, MPI_INT, received, large, MPI_INT, ring, &request);
    else if (!strcmp(how, "edge_type_init")) {
        MPI_Neighbor_alltoall_init(sent, 1, type, received, 1, type, ring, MPI_INFO_NULL, &request);
        MPI_Start(&request);
    }
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

/* A collective of which rank 1 calls something else than the others. */
static void mismatch(const char *how)
{
    static int sent[200000], received[200000];
    MPI_Comm comm = MPI_COMM_WORLD;
    int odd = rank == 1;
    if (!strncmp(how, "edge_", 5))
        neighbour_mismatch(how, odd, sent, received);
    else if (!strcmp(how, "call")) {
        if (odd)
            MPI_Bcast(sent, 1, MPI_INT, 0, comm);
        else
            MPI_Barrier(comm);
    } else if (!strcmp(how, "root"))
        MPI_Gather(sent, 1, MPI_INT, received, 1, MPI_INT, odd, comm);
    else if (!strcmp(how, "operation"))
        MPI_Allreduce(sent, received, 1, MPI_INT, odd ? MPI_MAX : MPI_SUM, comm);
    else if (!strcmp(how, "type"))
        MPI_Reduce(sent, received, 1, odd ? MPI_FLOAT : MPI_INT, MPI_SUM, 0, comm);
    else if (!strcmp(how, "count"))
        MPI_Bcast(sent, odd ? 2 : 1, MPI_INT, 0, comm);
    else if (!strcmp(how, "block"))
        MPI_Gather(sent, odd ? 2 : 1, MPI_INT, received, 1, MPI_INT, 0, comm);
    else if (!strcmp(how, "kind"))
        (odd ? MPI_Exscan : MPI_Scan)(sent, received, 1, MPI_INT, MPI_SUM, comm);
    else if (!strcmp(how, "large"))
        MPI_Allreduce(sent, received, odd ? 200000 : 100000, MPI_INT, MPI_SUM, comm);
    else if (!strcmp(how, "large_bcast"))
        MPI_Bcast(sent, odd ? 200000 : 100000, MPI_INT, 0, comm);
    else if (!strcmp(how, "derived")) {
        MPI_Datatype pair, type = MPI_DOUBLE;
        MPI_Type_contiguous(2, MPI_INT, &pair);
        MPI_Type_commit(&pair);
        MPI_Bcast(sent, 1, odd ? type : pair, 0, comm);
    } else if (!strcmp(how, "gathered"))
        MPI_Allgather(sent, 1, odd ? MPI_FLOAT : MPI_INT, received, 1, odd ? MPI_FLOAT : MPI_INT, comm);
    else if (strstr(how, "_i") || !strcmp(how, "count_scan"))
        mismatch_under_way(how, odd, sent, received);
    else if (!strcmp(how, "missing") && odd) {
        MPI_Finalize();
        exit(0);
    }
}

/* An error of the last rank that ends the job, while the others are in calls of all kinds. */
static void among_others(MPI_Errhandler handler)
{
    int value = 0, found;
    MPI_Comm dup;
    MPI_Request request;
    MPI_Comm_dup(MPI_COMM_WORLD, &dup);
    MPI_Comm_set_errhandler(dup, handler);
    switch (rank) {
    case 0:
        MPI_Recv(&value, 1, MPI_INT, size - 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        break;
    case 1:
        MPI_Irecv(&value, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, dup, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        break;
    case 2:
        MPI_Allreduce(&rank, &value, 1, MPI_INT, MPI_SUM, dup);
        break;
    case 3:
        for (;;)
            MPI_Iprobe(0, 9, dup, &found, MPI_STATUS_IGNORE);
        break;
    default:
        MPI_Send(&value, 1, MPI_INT, 12, 0, dup);
    }
}

/* A rank alone waits for what never comes. */
static void alone(const char *how)
{
    int many[10] = {0};
    MPI_Request requests[2];
    if (!strcmp(how, "receives"))
        MPI_Recv(many, 10, MPI_INT, 0, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (!strcmp(how, "probes"))
        MPI_Probe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (!strcmp(how, "sends"))
        MPI_Ssend(many, 1, MPI_BYTE, 0, 4, MPI_COMM_WORLD);
    if (!strcmp(how, "completes")) {
        MPI_Irecv(many, 1, MPI_INT, 0, 5, MPI_COMM_WORLD, &requests[0]);
        MPI_Irecv(many + 1, 1, MPI_INT, 0, 6, MPI_COMM_WORLD, &requests[1]);
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    }
}

/* Fills both pipes, standard error first. */
static void talk(void)
{
    static char line[1000];
    memset(line, '.', sizeof line);
    for (int i = 0; i < 300; i++)
        fwrite(line, 1, sizeof line, stderr);
    for (int i = 0; i < 300; i++)
        fwrite(line, 1, sizeof line, stdout);
}

/* Errors of one rank that are returned: the others go on, and so does it. */
static void returned(void)
{
    int value = rank, sum, got;
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    for (int round = 0; round < 100; round++) {
        if (rank == round % size) {
            CHECK_INT(class_of(MPI_Send(&value, 1, MPI_INT, 12, 0, MPI_COMM_WORLD)), MPI_ERR_RANK);
            CHECK_INT(class_of(MPI_Bcast(&value, -1, MPI_INT, 0, MPI_COMM_WORLD)), MPI_ERR_COUNT);
            CHECK_INT(class_of(MPI_Recv(&value, 1, MPI_DATATYPE_NULL, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE)), MPI_ERR_TYPE);
        }
        MPI_Sendrecv(&rank, 1, MPI_INT, (rank + 1) % size, 0, &got, 1, MPI_INT, (rank + size - 1) % size, 0, MPI_COMM_WORLD,
                     MPI_STATUS_IGNORE);
        CHECK_INT(got, (rank + size - 1) % size);
        MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
        CHECK_INT(sum, size * (size - 1) / 2);
    }
}

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
    if (!strcmp(how, "fatal_among_others"))
        among_others(MPI_ERRORS_ARE_FATAL);
    if (!strcmp(how, "abort_among_others"))
        among_others(MPI_ERRORS_ABORT);
    if (!strcmp(how, "returned"))
        returned();
    if (!strcmp(how, "talks"))
        talk();
    if (!strcmp(how, "all_give")) {
        /* Each rank is the root, and waits for nobody. */
        MPI_Comm comm;
        MPI_Comm_dup(MPI_COMM_WORLD, &comm);
        MPI_Bcast(many, 2, MPI_INT, rank, comm);
    }
    if (!strncmp(how, "all_give_and_free", 17)) { /* the same, of a communicator that is gone when it is found */
        MPI_Comm comm;
        MPI_Comm_dup(MPI_COMM_WORLD, &comm);
        if (!strcmp(how, "all_give_and_free_returned"))
            MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
        MPI_Bcast(many, 2, MPI_INT, rank, comm);
        MPI_Comm_free(&comm);
    }
    if (!strcmp(how, "broken_and_kept")) { /* until there are too many of them */
        char text[MPI_MAX_ERROR_STRING];
        int error, length, made = 0;
        MPI_Comm comm;
        MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
        while ((error = MPI_Comm_dup(MPI_COMM_WORLD, &comm)) == MPI_SUCCESS && made++ < 1000) {
            MPI_Bcast(many, 2, MPI_INT, rank, comm);
            CHECK_INT(class_of(MPI_Barrier(comm)), MPI_ERR_OTHER);
        }
        CHECK_INT(class_of(error), MPI_ERR_OTHER);
        CHECK(comm == MPI_COMM_NULL);
        MPI_Error_string(error, text, &length);
        printf("%d: %s\n", made, text);
    }
    alone(how);
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
    if (!strcmp(how, "parts")) { /* half of a message is never ready */
        static unsigned char parts[200000];
        MPI_Request request;
        if (rank == 0)
            MPI_Psend_init(parts, 2, 100000, MPI_BYTE, 1, 4, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
        else
            MPI_Precv_init(parts, 2, 100000, MPI_BYTE, 0, 4, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
        MPI_Start(&request);
        if (rank == 0)
            MPI_Pready(1, request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    if (!strcmp(how, "never_received")) { /* more messages than anybody keeps */
        static unsigned char bytes[8000];
        while (rank == 0)
            MPI_Send(bytes, sizeof bytes, MPI_BYTE, 1, 5, MPI_COMM_WORLD);
    }
    if (!strcmp(how, "no_memory")) { /* the last rank receives where there is none */
        enum { MANY = 8 << 20 };
        char *given = calloc(MANY, 1);
        if (rank == 0)
            MPI_Send(given, MANY, MPI_BYTE, size - 1, 5, MPI_COMM_WORLD);
        if (rank == size - 1)
            MPI_Recv((void *)0x10000, MANY, MPI_BYTE, 0, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Barrier(MPI_COMM_WORLD);
        free(given);
    }
    if (!strcmp(how, "groups")) { /* the two groups of an intercommunicator call different collectives */
        MPI_Comm local, inter;
        MPI_Comm_split(MPI_COMM_WORLD, rank > 0, 0, &local);
        MPI_Intercomm_create(local, 0, MPI_COMM_WORLD, rank == 0, 0, &inter);
        if (rank == 0)
            MPI_Barrier(inter);
        else
            MPI_Allreduce(&rank, &value, 1, MPI_INT, MPI_SUM, inter);
    }
    if (!strncmp(how, "ahead_", 6)) { /* the root is far ahead of members that wait for each other */
        if (rank == 0)
            for (int i = 0; i < 10000; i++)
                MPI_Bcast(many, strcmp(how, "ahead_ring") ? 10 : 2, MPI_INT, 0, MPI_COMM_WORLD);
        if (rank == 1 && !strcmp(how, "ahead_abort")) {
            nanosleep(&(struct timespec){0, 300000000}, NULL);
            MPI_Abort(MPI_COMM_WORLD, 42);
        }
        MPI_Recv(many, 10, MPI_INT, rank % (size - 1) + 1, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    if (!strcmp(how, "apart")) { /* the root is ahead of members that it keeps waiting in another communicator */
        MPI_Comm other;
        MPI_Comm_dup(MPI_COMM_WORLD, &other);
        if (rank != 0)
            MPI_Barrier(other);
        for (int i = 0; i < 3000; i++)
            MPI_Bcast(many, 2, MPI_INT, 0, MPI_COMM_WORLD);
        if (rank == 0)
            MPI_Barrier(other);
    }
    mismatch(how);
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
