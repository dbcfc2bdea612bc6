/*
 * Four ranks on two nodes. Rank 0 sends to the other node and then waits for a message of rank 1, which is on its own
 * node: rank 1 sends that when it learns, by a file, that all has come there, and calls MPI no more meanwhile. On the
 * other node rank 2 waits for rank 3, which receives, or has posted its receives and computes.
 */
#include "mark.h"

#define MOST (40 << 10)
#define MESSAGES 40

enum how { SEND, ISEND, SSEND, HOWS };

static char buffer[MESSAGES][MOST];

/* Rank 0 sends so many messages of so many bytes to rank 3. */
static void once(int messages, int bytes, enum how how)
{
    MPI_Request requests[MESSAGES];
    int done = 0;
    MPI_Barrier(MPI_COMM_WORLD);
    switch (rank) {
    case 0:
        for (int i = 0; i < messages; i++) {
            memset(buffer[i], i + 1, bytes);
            if (how == SEND)
                MPI_Send(buffer[i], bytes, MPI_BYTE, 3, i, MPI_COMM_WORLD);
            else if (how == ISEND)
                MPI_Isend(buffer[i], bytes, MPI_BYTE, 3, i, MPI_COMM_WORLD, &requests[i]);
            else
                MPI_Ssend(buffer[i], bytes, MPI_BYTE, 3, i, MPI_COMM_WORLD);
        }
        MPI_Recv(&done, 1, MPI_INT, 1, 50, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        CHECK(done == messages);
        if (how == ISEND)
            MPI_Waitall(messages, requests, MPI_STATUSES_IGNORE);
        break;
    case 1:
        await_mark();
        MPI_Send(&messages, 1, MPI_INT, 0, 50, MPI_COMM_WORLD);
        break;
    case 2:
        MPI_Recv(&done, 1, MPI_INT, 3, 50, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        CHECK(done == messages);
        break;
    default:
        for (int i = 0; i < messages; i++)
            MPI_Irecv(buffer[i], bytes, MPI_BYTE, 0, i, MPI_COMM_WORLD, &requests[i]);
        MPI_Waitall(messages, requests, MPI_STATUSES_IGNORE);
        for (int i = 0; i < messages; i++)
            CHECK(bytes == 0 || (buffer[i][0] == i + 1 && buffer[i][bytes - 1] == i + 1));
        set_mark();
        MPI_Send(&messages, 1, MPI_INT, 2, 50, MPI_COMM_WORLD);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0)
        unlink(mark);
}

/* Rank 0 waits until rank 3 has posted its receive, which computes since, while rank 2 waits for rank 3. */
static void matched_beside_a_peer_that_waits(int bytes)
{
    MPI_Request request;
    int done = 0;
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) {
        memset(buffer[0], 7, bytes);
        MPI_Ssend(buffer[0], bytes, MPI_BYTE, 3, 1, MPI_COMM_WORLD);
        set_mark();
    } else if (rank == 2) {
        MPI_Recv(&done, 1, MPI_INT, 3, 50, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        CHECK(done == bytes);
    } else if (rank == 3) {
        MPI_Status status;
        MPI_Probe(0, 1, MPI_COMM_WORLD, &status);
        MPI_Irecv(buffer[0], bytes, MPI_BYTE, 0, 1, MPI_COMM_WORLD, &request);
        await_mark();
        MPI_Send(&bytes, 1, MPI_INT, 2, 50, MPI_COMM_WORLD);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        CHECK(bytes == 0 || (buffer[0][0] == 7 && buffer[0][bytes - 1] == 7));
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0)
        unlink(mark);
}

int main(int argc, char **argv)
{
    static const int sizes[] = { 0, 24, 25, 8192, 8193, MOST }, counts[] = { 1, 3, MESSAGES };
    start(&argc, &argv);
    CHECK(size == 4);
    name_mark();
    for (unsigned i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        for (unsigned j = 0; j < sizeof counts / sizeof *counts; j++)
            for (enum how how = SEND; how < HOWS; how++)
                for (int again = 0; again < 3; again++)
                    once(counts[j], sizes[i], how);
        for (int again = 0; again < 10; again++)
            matched_beside_a_peer_that_waits(sizes[i]);
    }
    if (rank == 0)
        printf("all had come\n");
    return MPI_Finalize();
}
