/* A message that is longer than its receive: every kind of receive says how long both are, who sent it and with which tag; the receiver gets what
 * fits, nothing beyond it, and other messages are not touched. */
#include "check.h"

enum { MOST = 200000 };
static int sent[MOST], got[MOST];

/* That a code is of a truncation, and says so. */
static void told(int code, const char *call, long bytes, long room, int from, int tag)
{
    char text[MPI_MAX_ERROR_STRING], want[200];
    int length;
    CHECK_INT(class_of(code), MPI_ERR_TRUNCATE);
    MPI_Error_string(code, text, &length);
    snprintf(want, sizeof want, "MPI_ERR_TRUNCATE: %s: message truncated: %ld bytes came from rank %d with tag %d, but the receive has room for %ld;",
             call, bytes, from, tag, room);
    if (strncmp(text, want, strlen(want)) != 0) {
        fprintf(stderr, "\"%s\"\nis not\n\"%s\"\n", text, want);
        MPI_Abort(MPI_COMM_WORLD, 98);
    }
}

/* That nothing was written beyond the room. */
static void untouched(int room)
{
    CHECK_INT(got[room], -1);
}

static void receives(int count, int room)
{
    MPI_Request request, requests[2];
    MPI_Status status, statuses[2];
    MPI_Message message;
    long bytes = 4L * count, place = 4L * room;
    int small = 7;
    /* The peer sends one message a receive, with the tags in order, and after each a short one that has to arrive. */
    for (int tag = 0; rank == 1 && tag < 9; tag++) {
        MPI_Send(sent, count, MPI_INT, 0, tag, MPI_COMM_WORLD);
        MPI_Send(&small, 1, MPI_INT, 0, 100 + tag, MPI_COMM_WORLD);
    }
    for (int tag = 0; rank == 0 && tag < 9; tag++) {
        MPI_Datatype vector;
        memset(got, -1, sizeof got);
        switch (tag) {
        case 0:
            told(MPI_Recv(got, room, MPI_INT, 1, tag, MPI_COMM_WORLD, &status), "MPI_Recv", bytes, place, 1, tag);
            break;
        case 1:
            told(MPI_Recv(got, room, MPI_INT, MPI_ANY_SOURCE, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE), "MPI_Recv", bytes, place, 1, tag);
            break;
        case 2:
            MPI_Irecv(got, room, MPI_INT, 1, tag, MPI_COMM_WORLD, &request);
            told(MPI_Wait(&request, &status), "MPI_Wait", bytes, place, 1, tag);
            CHECK(request == MPI_REQUEST_NULL);
            break;
        case 3:
            MPI_Recv_init(got, room, MPI_INT, 1, tag, MPI_COMM_WORLD, &request);
            MPI_Start(&request);
            told(MPI_Wait(&request, &status), "MPI_Wait", bytes, place, 1, tag);
            MPI_Request_free(&request);
            break;
        case 4:
            MPI_Mprobe(1, tag, MPI_COMM_WORLD, &message, &status);
            told(MPI_Mrecv(got, room, MPI_INT, &message, &status), "MPI_Mrecv", bytes, place, 1, tag);
            CHECK(message == MPI_MESSAGE_NULL);
            break;
        case 5:
            MPI_Mprobe(1, tag, MPI_COMM_WORLD, &message, &status);
            MPI_Imrecv(got, room, MPI_INT, &message, &request);
            told(MPI_Wait(&request, &status), "MPI_Wait", bytes, place, 1, tag);
            break;
        case 6: /* every other int, so that it is unpacked */
            MPI_Type_vector(room, 1, 2, MPI_INT, &vector);
            MPI_Type_commit(&vector);
            told(MPI_Recv(got, 1, vector, 1, tag, MPI_COMM_WORLD, &status), "MPI_Recv", bytes, place, 1, tag);
            MPI_Type_free(&vector);
            CHECK_INT(got[1], -1);
            CHECK_INT(got[2 * room], -1);
            break;
        case 7: /* one of two: the other is well */
            MPI_Irecv(got, room, MPI_INT, 1, tag, MPI_COMM_WORLD, &requests[0]);
            MPI_Irecv(&small, 1, MPI_INT, 1, 100 + tag, MPI_COMM_WORLD, &requests[1]);
            CHECK_INT(class_of(MPI_Waitall(2, requests, statuses)), MPI_ERR_IN_STATUS);
            told(statuses[0].MPI_ERROR, "MPI_Waitall", bytes, place, 1, tag);
            CHECK_INT(statuses[1].MPI_ERROR, MPI_SUCCESS);
            break;
        case 8:
            told(MPI_Sendrecv(&small, 1, MPI_INT, MPI_PROC_NULL, 0, got, room, MPI_INT, MPI_ANY_SOURCE, tag, MPI_COMM_WORLD, &status),
                 "MPI_Sendrecv", bytes, place, 1, tag);
            break;
        }
        if (tag != 6)
            untouched(room);
        small = 0;
        if (tag != 7)
            MPI_Recv(&small, 1, MPI_INT, 1, 100 + tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        CHECK_INT(small, tag == 7 ? 0 : 7);
    }
}

/* That a collective tells rank 0 of a block that is too long, or too short, and nobody else. */
static void block_told(int code, const char *call, int bytes, int room, int from)
{
    char text[MPI_MAX_ERROR_STRING], want[200];
    int length;
    if (rank != 0) {
        CHECK_INT(code, MPI_SUCCESS);
        return;
    }
    CHECK_INT(class_of(code), bytes > room ? MPI_ERR_TRUNCATE : MPI_ERR_COUNT);
    MPI_Error_string(code, text, &length);
    snprintf(want, sizeof want, "%s: %s: block %s: %d bytes came from rank %d, but there is room for %d;",
             bytes > room ? "MPI_ERR_TRUNCATE" : "MPI_ERR_COUNT", call, bytes > room ? "truncated" : "too short", bytes, from, room);
    if (strncmp(text, want, strlen(want)) != 0) {
        fprintf(stderr, "\"%s\"\nis not\n\"%s\"\n", text, want);
        MPI_Abort(MPI_COMM_WORLD, 98);
    }
}

/* Rank 0 has room for `room` ints of rank 1's block, which fits if these are 2 `n`; every other block is 2 `n` ints, and fits. What
 * there is room for has come, and nothing beyond it. */
static void blocks(int n, int room)
{
    int full[2] = {2 * n, 2 * n}, few[2] = {2 * n, room}, places[2] = {0, 2 * n + 10}, at[2] = {0, 4 * (2 * n + 10)};
    int *expected = rank == 0 ? few : full, *place = got + places[1], code = 0, wrong = room != 2 * n;
    MPI_Datatype types[2] = {MPI_INT, MPI_INT};
    MPI_Request request;
    for (int call = 0; call < 12; call++) {
        const char *name = "MPI_Wait";
        request = MPI_REQUEST_NULL;
        memset(got, -1, sizeof got);
        /* A message of which nothing is wanted is not looked for: only a call in which members meet finds it. */
        if (room == 0 && call > 3)
            break;
        /* All have to know how much there is at most (who does not is told so, and the job ended). */
        if (room > 2 * n && call == 1)
            continue;
        switch (call) {
        case 0:
            name = "MPI_Gatherv";
            code = MPI_Gatherv(sent, 2 * n, MPI_INT, got, expected, places, MPI_INT, 0, MPI_COMM_WORLD);
            break;
        case 1:
            name = "MPI_Allgatherv";
            code = MPI_Allgatherv(sent, 2 * n, MPI_INT, got, expected, places, MPI_INT, MPI_COMM_WORLD);
            break;
        case 2:
            name = "MPI_Alltoallv";
            code = MPI_Alltoallv(sent, full, (int[2]){0, 0}, MPI_INT, got, expected, places, MPI_INT, MPI_COMM_WORLD);
            break;
        case 3: /* rank 1 is the root */
            name = "MPI_Scatterv";
            code = MPI_Scatterv(sent, full, places, MPI_INT, place, rank == 0 ? room : 2 * n, MPI_INT, 1, MPI_COMM_WORLD);
            break;
        case 4:
            name = "MPI_Alltoallw";
            code = MPI_Alltoallw(sent, full, at, types, got, expected, at, types, MPI_COMM_WORLD);
            break;
        case 5:
            MPI_Igatherv(sent, 2 * n, MPI_INT, got, expected, places, MPI_INT, 0, MPI_COMM_WORLD, &request);
            break;
        case 6:
            MPI_Iallgatherv(sent, 2 * n, MPI_INT, got, expected, places, MPI_INT, MPI_COMM_WORLD, &request);
            break;
        case 7:
            MPI_Ialltoallv(sent, full, places, MPI_INT, got, expected, places, MPI_INT, MPI_COMM_WORLD, &request);
            break;
        case 8:
            MPI_Ialltoallw(sent, full, at, types, got, expected, at, types, MPI_COMM_WORLD, &request);
            break;
        case 9:
            MPI_Iscatterv(sent, full, places, MPI_INT, place, rank == 0 ? room : 2 * n, MPI_INT, 1, MPI_COMM_WORLD, &request);
            break;
        case 10:
            MPI_Gatherv_init(sent, 2 * n, MPI_INT, got, expected, places, MPI_INT, 0, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
            MPI_Start(&request);
            break;
        case 11:
            MPI_Alltoallv_init(sent, full, places, MPI_INT, got, expected, places, MPI_INT, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
            MPI_Start(&request);
            break;
        }
        if (request != MPI_REQUEST_NULL)
            code = MPI_Wait(&request, MPI_STATUS_IGNORE);
        if (request != MPI_REQUEST_NULL)
            MPI_Request_free(&request);
        if (wrong)
            block_told(code, name, 8 * n, 4 * room, 1);
        else
            CHECK_INT(code, MPI_SUCCESS);
        int there = room < 2 * n ? room : 2 * n;
        if (rank == 0 && there > 0)
            CHECK(memcmp(place, sent, 4 * there) == 0);
        if (rank == 0)
            CHECK_INT(place[there], -1);
        /* Still well. */
        code = MPI_Allgather(&rank, 1, MPI_INT, got, 1, MPI_INT, MPI_COMM_WORLD);
        CHECK_INT(code, MPI_SUCCESS);
        CHECK_INT(got[1], 1);
    }
}

static void collectives(void)
{
    static const int sizes[] = {1, 5, 3000, 40000};
    for (int i = 0; i < 4; i++) {
        int n = sizes[i];
        blocks(n, 2 * n - 1);
        blocks(n, n);
        blocks(n, 2 * n);
        blocks(n, 2 * n + 3);
        blocks(n, 0);
    }
}

int main(int argc, char **argv)
{
    start(&argc, &argv);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    memset(sent, 1, sizeof sent);
    receives(4, 1);
    receives(2000, 1999);
    receives(MOST, 70000);
    collectives();
    return MPI_Finalize();
}
