/* Matched probes and receives, and sends with receives under one request. */
#include "check.h"

enum { MOST = 1 << 20 };
static unsigned char out[MOST], in[MOST];

/* Each message is matched before any is received; then they are received from the last to the first. */
static void matched(int bytes)
{
    enum { MESSAGES = 5 };
    int next = (rank + 1) % size, before = (rank + size - 1) % size, count, flag;
    MPI_Request sends[MESSAGES], received;
    MPI_Message messages[MESSAGES];
    MPI_Status status;
    static unsigned char each[MESSAGES][MOST / 4];
    for (int m = 0; m < MESSAGES; m++) {
        fill(each[m], bytes, rank * 10 + m);
        MPI_Isend(each[m], bytes, MPI_BYTE, next, m % 2, MPI_COMM_WORLD, &sends[m]);
    }
    for (int m = 0; m < MESSAGES; m++) {
        if (m % 2) {
            MPI_Mprobe(before, m % 2, MPI_COMM_WORLD, &messages[m], &status);
        } else {
            do
                MPI_Improbe(MPI_ANY_SOURCE, m % 2, MPI_COMM_WORLD, &flag, &messages[m], &status);
            while (!flag);
        }
        MPI_Get_count(&status, MPI_BYTE, &count);
        CHECK_INT(count, bytes);
        CHECK_INT(status.MPI_SOURCE, before);
        CHECK_INT(status.MPI_TAG, m % 2);
    }
    /* Nobody else finds them; what comes next is sent after this. */
    MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
    CHECK(!flag);
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK(MPI_Message_fromint(MPI_Message_toint(messages[0])) == messages[0]);
    for (int m = MESSAGES - 1; m >= 0; m--) {
        memset(in, 0, bytes);
        if (m % 3) {
            MPI_Mrecv(in, bytes, MPI_BYTE, &messages[m], &status);
        } else {
            MPI_Imrecv(in, bytes, MPI_BYTE, &messages[m], &received);
            MPI_Wait(&received, &status);
        }
        CHECK(messages[m] == MPI_MESSAGE_NULL);
        CHECK_INT(status.MPI_SOURCE, before);
        CHECK_INT(status.MPI_TAG, m % 2);
        CHECK(is_filled(in, bytes, before * 10 + m));
    }
    MPI_Waitall(MESSAGES, sends, MPI_STATUSES_IGNORE);
}

static void edges(void)
{
    MPI_Message message;
    MPI_Request request;
    MPI_Status status;
    int flag, code;
    MPI_Mprobe(MPI_PROC_NULL, 0, MPI_COMM_WORLD, &message, &status);
    CHECK(message == MPI_MESSAGE_NO_PROC);
    MPI_Mrecv(in, 1, MPI_BYTE, &message, &status);
    CHECK(message == MPI_MESSAGE_NULL && status.MPI_SOURCE == MPI_PROC_NULL);
    MPI_Improbe(MPI_PROC_NULL, 0, MPI_COMM_WORLD, &flag, &message, &status);
    CHECK(flag);
    MPI_Imrecv(in, 1, MPI_BYTE, &message, &request);
    MPI_Wait(&request, &status);
    CHECK_INT(status.MPI_SOURCE, MPI_PROC_NULL);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    CHECK_INT(class_of(MPI_Mrecv(in, 1, MPI_BYTE, &message, &status)), MPI_ERR_REQUEST);
    /* A receive that was posted before a matched probe comes first. */
    for (int i = 0; i < 50; i++) {
        out[0] = 1;
        MPI_Send(out, 1, MPI_BYTE, rank, 4, MPI_COMM_WORLD);
        MPI_Irecv(in, 1, MPI_BYTE, rank, 4, MPI_COMM_WORLD, &request);
        out[0] = 2;
        MPI_Send(out, 1, MPI_BYTE, rank, 4, MPI_COMM_WORLD);
        MPI_Mprobe(rank, 4, MPI_COMM_WORLD, &message, MPI_STATUS_IGNORE);
        MPI_Mrecv(in + 1, 1, MPI_BYTE, &message, MPI_STATUS_IGNORE);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        CHECK_INT(in[0] * 10 + in[1], 12);
    }
    /* What is matched cannot be taken back. */
    MPI_Issend(out, 8, MPI_BYTE, rank, 5, MPI_COMM_WORLD, &request);
    MPI_Mprobe(rank, 5, MPI_COMM_WORLD, &message, MPI_STATUS_IGNORE);
    MPI_Cancel(&request);
    code = MPI_Mrecv(in, 4, MPI_BYTE, &message, MPI_STATUS_IGNORE);
    CHECK_INT(class_of(code), MPI_ERR_TRUNCATE);
    MPI_Wait(&request, &status);
    MPI_Test_cancelled(&status, &flag);
    CHECK(!flag);
}

static void exchanges(int bytes)
{
    int next = (rank + 1) % size, before = (rank + size - 1) % size;
    MPI_Request requests[2];
    MPI_Status statuses[2];
    fill(out, bytes, rank);
    memset(in, 0, bytes);
    MPI_Isendrecv(out, bytes, MPI_BYTE, next, 1, in, bytes, MPI_BYTE, before, 1, MPI_COMM_WORLD, &requests[0]);
    MPI_Isendrecv(out, 1, MPI_BYTE, MPI_PROC_NULL, 1, in, 1, MPI_BYTE, MPI_PROC_NULL, 1, MPI_COMM_WORLD, &requests[1]);
    MPI_Waitall(2, requests, statuses);
    CHECK_INT(statuses[0].MPI_SOURCE, before);
    CHECK_INT(statuses[1].MPI_SOURCE, MPI_PROC_NULL);
    CHECK(is_filled(in, bytes, before));
    MPI_Isendrecv_replace(in, bytes, MPI_BYTE, next, 2, before, 2, MPI_COMM_WORLD, &requests[0]);
    MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
    CHECK(is_filled(in, bytes, (before + size - 1) % size));
}

/* A message that a receive posted before takes is no probe's, also while no slice has met the two yet. */
static void taken_before(void)
{
    enum { ROUNDS = 300, ONE = 8, TWO = 9 };
    int next = (rank + 1) % size, before = (rank + size - 1) % size;
    for (int round = 0; round < ROUNDS; round++) {
        int out = round, in = -1, flag = 0, done = 0, pair[2] = {round, ~round}, got[2] = {0, 0}, count;
        MPI_Request receive, sends[3];
        MPI_Status status;
        MPI_Irecv(&in, 1, MPI_INT, round % 2 ? before : MPI_ANY_SOURCE, ONE, MPI_COMM_WORLD, &receive);
        MPI_Isend(&out, 1, MPI_INT, next, ONE, MPI_COMM_WORLD, &sends[0]);
        while (!done) {
            MPI_Iprobe(before, ONE, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
            CHECK(!flag);
            MPI_Test(&receive, &done, MPI_STATUS_IGNORE);
        }
        CHECK_INT(in, round);
        MPI_Isend(&out, 1, MPI_INT, next, TWO, MPI_COMM_WORLD, &sends[1]);
        MPI_Isend(pair, 2, MPI_INT, next, TWO, MPI_COMM_WORLD, &sends[2]);
        MPI_Probe(before, TWO, MPI_COMM_WORLD, &status);
        MPI_Get_count(&status, MPI_INT, &count);
        CHECK_INT(count, 1);
        MPI_Irecv(&in, 1, MPI_INT, before, TWO, MPI_COMM_WORLD, &receive);
        if (round % 3)
            MPI_Probe(before, TWO, MPI_COMM_WORLD, &status);
        else
            do
                MPI_Iprobe(before, TWO, MPI_COMM_WORLD, &flag, &status);
            while (!flag);
        MPI_Get_count(&status, MPI_INT, &count);
        CHECK_INT(count, 2);
        MPI_Recv(got, 2, MPI_INT, before, TWO, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        CHECK(got[0] == round && got[1] == ~round);
        MPI_Wait(&receive, MPI_STATUS_IGNORE);
        MPI_Waitall(3, sends, MPI_STATUSES_IGNORE);
        MPI_Barrier(MPI_COMM_WORLD);
    }
}

int main(int argc, char **argv)
{
    start(&argc, &argv);
    taken_before();
    for (int bytes = 1; bytes <= MOST / 4; bytes *= 64) {
        matched(bytes);
        exchanges(bytes);
    }
    edges();
    MPI_Finalize();
    return 0;
}
