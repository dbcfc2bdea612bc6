/* Persistent and generalized requests, and looking at requests that stay: every call of the wait and test families. */
#include "check.h"

enum { MOST = 1 << 18 };
static unsigned char out[MOST], in[MOST];

static void rounds(int bytes, MPI_Comm comm)
{
    int next = (rank + 1) % size, before = (rank + size - 1) % size;
    static char attached[4 * MOST + 64 * MPI_BSEND_OVERHEAD];
    MPI_Datatype sparse;
    MPI_Type_vector(bytes / 2, 1, 2, MPI_BYTE, &sparse);
    MPI_Type_commit(&sparse);
    MPI_Buffer_attach(attached, sizeof attached);
    MPI_Request requests[4];
    MPI_Recv_init(in, bytes, MPI_BYTE, before, 3, comm, &requests[0]);
    MPI_Send_init(out, bytes, MPI_BYTE, next, 3, comm, &requests[1]);
    /* What a request needs of its datatype outlives the handle. */
    MPI_Recv_init(in, 1, sparse, before, 4, comm, &requests[2]);
    MPI_Ssend_init(out, 1, sparse, next, 4, comm, &requests[3]);
    MPI_Type_free(&sparse);
    MPI_Status statuses[4];
    for (int round = 0; round < 5; round++) {
        fill(out, bytes, rank + round);
        memset(in, 0, bytes);
        MPI_Startall(2, requests);
        MPI_Waitall(4, requests, statuses); /* two of them are inactive */
        CHECK(is_filled(in, bytes, before + round));
        CHECK_INT(statuses[0].MPI_SOURCE, before);
        CHECK_INT(statuses[2].MPI_SOURCE, MPI_ANY_SOURCE);
        int received;
        MPI_Get_count(&statuses[0], MPI_BYTE, &received);
        CHECK_INT(received, bytes);
        memset(in, 0xee, bytes);
        MPI_Start(&requests[2]);
        MPI_Start(&requests[3]);
        MPI_Wait(&requests[2], &statuses[2]);
        MPI_Wait(&requests[3], MPI_STATUS_IGNORE);
        for (int i = 0; i < bytes; i++)
            CHECK_INT(in[i], i % 2 ? 0xee : byte_of(i, before + round));
    }
    for (int i = 0; i < 4; i++) {
        CHECK(requests[i] != MPI_REQUEST_NULL);
        MPI_Request_free(&requests[i]);
        CHECK(requests[i] == MPI_REQUEST_NULL);
    }
    MPI_Recv_init(in, bytes, MPI_BYTE, before, 5, comm, &requests[0]);
    MPI_Bsend_init(out, bytes, MPI_BYTE, next, 5, comm, &requests[1]);
    MPI_Startall(2, requests);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    CHECK(is_filled(in, bytes, before + 4));
    /* Freed while it is active: it is carried out all the same. */
    memset(in, 0, bytes);
    MPI_Startall(2, requests);
    MPI_Request_free(&requests[1]);
    MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
    CHECK(is_filled(in, bytes, before + 4));
    MPI_Request_free(&requests[0]);
    void *detached;
    int room;
    MPI_Buffer_detach(&detached, &room);
}

/* Inactive requests are as null ones to the calls for any and some, and complete to the others. */
static void inactive(void)
{
    MPI_Request requests[3] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL, MPI_REQUEST_NULL};
    MPI_Status status;
    int number, flag, indices[3], code;
    MPI_Recv_init(in, 4, MPI_BYTE, MPI_PROC_NULL, 0, MPI_COMM_WORLD, &requests[0]);
    MPI_Send_init(out, 4, MPI_BYTE, rank, 0, MPI_COMM_WORLD, &requests[1]);
    MPI_Request kept = requests[1];
    MPI_Wait(&requests[1], &status);
    CHECK_INT(status.MPI_SOURCE, MPI_ANY_SOURCE);
    MPI_Test(&requests[1], &flag, &status);
    CHECK(flag && requests[1] == kept);
    MPI_Waitany(3, requests, &number, &status);
    CHECK_INT(number, MPI_UNDEFINED);
    MPI_Testany(3, requests, &number, &flag, &status);
    CHECK(flag && number == MPI_UNDEFINED);
    MPI_Waitsome(3, requests, &number, indices, MPI_STATUSES_IGNORE);
    CHECK_INT(number, MPI_UNDEFINED);
    MPI_Testsome(3, requests, &number, indices, MPI_STATUSES_IGNORE);
    CHECK_INT(number, MPI_UNDEFINED);
    MPI_Testall(3, requests, &flag, MPI_STATUSES_IGNORE);
    CHECK(flag);
    MPI_Request_get_status(requests[1], &flag, &status);
    CHECK(flag);
    MPI_Request_get_status_any(3, requests, &number, &flag, &status);
    CHECK(flag && number == MPI_UNDEFINED);
    MPI_Request_get_status_some(3, requests, &number, indices, MPI_STATUSES_IGNORE);
    CHECK_INT(number, MPI_UNDEFINED);
    MPI_Start(&requests[0]);
    MPI_Waitany(3, requests, &number, &status);
    CHECK_INT(number, 0);
    CHECK_INT(status.MPI_SOURCE, MPI_PROC_NULL);
    /* Errors come back through the communicator's handler. */
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    code = MPI_Cancel(&requests[0]);
    CHECK_INT(class_of(code), MPI_ERR_REQUEST);
    MPI_Request other;
    MPI_Isend(out, 4, MPI_BYTE, rank, 0, MPI_COMM_WORLD, &other);
    CHECK_INT(class_of(MPI_Start(&other)), MPI_ERR_REQUEST);
    MPI_Request null = MPI_REQUEST_NULL;
    CHECK_INT(class_of(MPI_Start(&null)), MPI_ERR_REQUEST);
    MPI_Request_free(&requests[0]);
    MPI_Recv_init(in, 4, MPI_BYTE, rank, 9, MPI_COMM_WORLD, &requests[0]);
    MPI_Start(&requests[0]);
    CHECK_INT(class_of(MPI_Start(&requests[0])), MPI_ERR_REQUEST);
    MPI_Request_get_status_all(2, requests, &flag, MPI_STATUSES_IGNORE);
    CHECK(!flag);
    MPI_Cancel(&requests[0]);
    MPI_Wait(&requests[0], &status);
    MPI_Test_cancelled(&status, &flag);
    CHECK(flag);
    /* A message that is too long is an error of this start alone. */
    MPI_Request_free(&requests[0]);
    MPI_Recv(in, 4, MPI_BYTE, rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Wait(&other, MPI_STATUS_IGNORE);
    MPI_Recv_init(in, 4, MPI_BYTE, rank, 9, MPI_COMM_WORLD, &requests[0]);
    for (int bytes = 8; bytes >= 4; bytes -= 4) {
        MPI_Start(&requests[0]);
        MPI_Send(out, bytes, MPI_BYTE, rank, 9, MPI_COMM_WORLD);
        do
            MPI_Request_get_status(requests[0], &flag, &status);
        while (!flag);
        CHECK_INT(class_of(MPI_Wait(&requests[0], &status)), bytes > 4 ? MPI_ERR_TRUNCATE : MPI_SUCCESS);
    }
    MPI_Request_free(&requests[0]);
    MPI_Request_free(&requests[1]);
}

static int queried, freed, cancelled;

static int query(void *extra, MPI_Status *status)
{
    int me;
    MPI_Comm_rank(MPI_COMM_WORLD, &me); /* a callback may call MPI */
    queried++;
    MPI_Status_set_elements(status, MPI_INT, *(int *)extra);
    MPI_Status_set_cancelled(status, 0);
    MPI_Status_set_source(status, me);
    MPI_Status_set_tag(status, 77);
    return *(int *)extra == 13 ? MPI_ERR_OTHER : MPI_SUCCESS;
}

static int release(void *extra)
{
    (void)extra;
    freed++;
    return MPI_SUCCESS;
}

static int cancel(void *extra, int complete)
{
    (void)extra;
    cancelled += complete ? 10 : 1;
    return MPI_SUCCESS;
}

static void expect_ends(int queries, int frees)
{
    CHECK_INT(queried, queries);
    CHECK_INT(freed, frees);
    queried = freed = 0;
}

static void generalized(void)
{
    int extra = 5, bad = 13, flag, number, indices[3];
    MPI_Request requests[3];
    MPI_Status status, statuses[3];
    MPI_Grequest_start(query, release, cancel, &extra, &requests[0]);
    MPI_Test(&requests[0], &flag, &status);
    CHECK(!flag);
    MPI_Cancel(&requests[0]);
    MPI_Grequest_complete(requests[0]);
    MPI_Cancel(&requests[0]);
    CHECK_INT(cancelled, 11);
    MPI_Request_get_status(requests[0], &flag, &status);
    CHECK(flag);
    expect_ends(1, 0);
    MPI_Wait(&requests[0], &status);
    CHECK(requests[0] == MPI_REQUEST_NULL);
    MPI_Get_count(&status, MPI_INT, &number);
    CHECK_INT(number, 5);
    CHECK_INT(status.MPI_SOURCE, rank);
    CHECK_INT(status.MPI_TAG, 77);
    expect_ends(1, 1);
    /* Every form of completion, among others. */
    for (int form = 0; form < 6; form++) {
        MPI_Isend(out, 1, MPI_BYTE, rank, 1, MPI_COMM_WORLD, &requests[0]);
        MPI_Grequest_start(query, release, cancel, &extra, &requests[1]);
        requests[2] = MPI_REQUEST_NULL;
        MPI_Recv(in, 1, MPI_BYTE, rank, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (form >= 2)
            MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
        MPI_Grequest_complete(requests[1]);
        memset(statuses, 0, sizeof statuses);
        if (form == 0)
            MPI_Waitall(3, requests, statuses);
        else if (form == 1)
            MPI_Testall(3, requests, &flag, statuses);
        else if (form == 2)
            MPI_Waitany(3, requests, &number, &statuses[1]);
        else if (form == 3)
            MPI_Testany(3, requests, &number, &flag, &statuses[1]);
        else if (form == 4)
            MPI_Waitsome(3, requests, &number, indices, &statuses[1]);
        else
            MPI_Testsome(3, requests, &number, indices, &statuses[1]);
        CHECK_INT(statuses[1].MPI_TAG, 77);
        CHECK(requests[0] == MPI_REQUEST_NULL && requests[1] == MPI_REQUEST_NULL);
        expect_ends(1, 1);
    }
    /* Freed: the end is that of the operation. */
    MPI_Grequest_start(query, release, cancel, &extra, &requests[0]);
    requests[1] = requests[0];
    MPI_Request_free(&requests[1]);
    expect_ends(0, 0);
    MPI_Grequest_complete(requests[0]);
    expect_ends(0, 1);
    /* What the query function answers is the error of the operation. */
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    MPI_Grequest_start(query, release, cancel, &bad, &requests[0]);
    CHECK_INT(class_of(MPI_Grequest_complete(MPI_REQUEST_NULL)), MPI_ERR_REQUEST);
    MPI_Grequest_complete(requests[0]);
    CHECK_INT(class_of(MPI_Waitall(1, requests, statuses)), MPI_ERR_IN_STATUS);
    CHECK_INT(class_of(statuses[0].MPI_ERROR), MPI_ERR_OTHER);
    expect_ends(1, 1);
}

int main(int argc, char **argv)
{
    start(&argc, &argv);
    for (int bytes = 2; bytes <= MOST; bytes *= 16)
        rounds(bytes, MPI_COMM_WORLD);
    inactive();
    generalized();
    MPI_Finalize();
    return 0;
}
