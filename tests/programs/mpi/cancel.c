/* What MPI_Cancel decided is seen by the very next call: a request is cancelled, or its message can be received. */
#include "check.h"

enum { ROUNDS = 300, LARGE = 300000 };

static unsigned char out[LARGE], in[LARGE];

/* A send to oneself, to be taken back. The program goes by what MPI_Request_get_status says, and receives what was not cancelled. */
static int send_and_cancel(int bytes, int probe)
{
    MPI_Request request;
    MPI_Status status;
    int complete, cancelled = 0;
    MPI_Issend(out, bytes, MPI_BYTE, rank, 5, MPI_COMM_WORLD, &request);
    if (probe)
        MPI_Probe(rank, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Cancel(&request);
    MPI_Request_get_status(request, &complete, &status);
    if (complete)
        MPI_Test_cancelled(&status, &cancelled);
    CHECK(request != MPI_REQUEST_NULL && complete == cancelled);
    if (cancelled) {
        int found;
        MPI_Iprobe(MPI_ANY_SOURCE, 5, MPI_COMM_WORLD, &found, MPI_STATUS_IGNORE);
        CHECK(!found);
        MPI_Request_free(&request);
        return 1;
    }
    MPI_Recv(in, LARGE, MPI_BYTE, rank, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    CHECK(is_filled(in, (size_t)bytes, 1));
    MPI_Wait(&request, &status);
    MPI_Test_cancelled(&status, &cancelled);
    CHECK(!cancelled);
    return 0;
}

/* A receive that nothing matches is cancelled, at once and for good. */
static void receive_and_cancel(int wait)
{
    MPI_Request request;
    MPI_Status status;
    int complete, cancelled;
    MPI_Irecv(in, 8, MPI_BYTE, MPI_ANY_SOURCE, 6, MPI_COMM_WORLD, &request);
    MPI_Cancel(&request);
    if (wait) {
        MPI_Wait(&request, &status);
    } else {
        MPI_Test(&request, &complete, &status);
        CHECK(complete);
    }
    MPI_Test_cancelled(&status, &cancelled);
    CHECK(cancelled && request == MPI_REQUEST_NULL);
}

int main(int argc, char **argv)
{
    start(&argc, &argv);
    int right = (rank + 1) % size, left = (rank + size - 1) % size, cancelled = 0;
    fill(out, LARGE, 1);
    for (int turn = 0; turn < size; turn++) {
        /* One rank cancels, and the others keep the NIC busy meanwhile. */
        MPI_Barrier(MPI_COMM_WORLD);
        for (int i = 0; turn == rank && i < ROUNDS; i++) {
            cancelled += send_and_cancel(i % 4 == 0 ? 0 : i % 4 == 1 ? 8 : i % 4 == 2 ? 5000 : LARGE, i % 3 == 0);
            receive_and_cancel(i % 2);
        }
        for (int to = 0; turn == rank && to < size; to++)
            if (to != rank)
                MPI_Send(&to, 1, MPI_INT, to, 7, MPI_COMM_WORLD);
        int over = turn == rank;
        while (!over)
            MPI_Iprobe(turn, 7, MPI_COMM_WORLD, &over, MPI_STATUS_IGNORE);
        if (turn != rank)
            MPI_Recv(in, 1, MPI_INT, turn, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    CHECK_INT(cancelled, ROUNDS);
    /* A receive that was matched before is not taken back. */
    MPI_Request request;
    MPI_Status status;
    int flag, value = rank;
    MPI_Irecv(&value, 1, MPI_INT, left, 8, MPI_COMM_WORLD, &request);
    MPI_Ssend(&rank, 1, MPI_INT, size > 1 ? right : MPI_PROC_NULL, 8, MPI_COMM_WORLD);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Cancel(&request);
    MPI_Wait(&request, &status);
    MPI_Test_cancelled(&status, &flag);
    CHECK_INT(flag, size == 1);
    CHECK_INT(value, left);
    MPI_Finalize();
    return 0;
}
