/*
 * Two ranks on two nodes. What a rank has sent gets there while it computes and calls MPI no more, whatever it did
 * before: waited for long (it drove the links), or computed; and whether the other rank takes it at once, or is late.
 * The other rank says by a file that it has come.
 */
#include "mark.h"

#define MOST (40 << 10)
/* More than a link holds, and than may be on its way. */
#define MESSAGES 40

static char buffer[MESSAGES][MOST];

/* Both ranks wait for each other for so long. */
static void drive(double seconds)
{
    int own = 1, other = 1;
    for (double begun = MPI_Wtime(); own && other;) {
        own = MPI_Wtime() - begun < seconds;
        MPI_Sendrecv(&own, 1, MPI_INT, !rank, 9, &other, 1, MPI_INT, !rank, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
}

static void compute(double seconds)
{
    volatile unsigned sum = 0;
    for (double begun = MPI_Wtime(); MPI_Wtime() - begun < seconds;)
        sum += 1;
}

/* So many messages of so many bytes, by MPI_Send or MPI_Isend. */
static void once(int messages, int bytes, int blocks, double before)
{
    MPI_Request requests[MESSAGES];
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) {
        compute(before);
        for (int i = 0; i < messages; i++) {
            memset(buffer[i], i + 1, bytes);
            if (blocks)
                MPI_Send(buffer[i], bytes, MPI_BYTE, 1, i, MPI_COMM_WORLD);
            else
                MPI_Isend(buffer[i], bytes, MPI_BYTE, 1, i, MPI_COMM_WORLD, &requests[i]);
        }
        await_mark();
        if (!blocks)
            MPI_Waitall(messages, requests, MPI_STATUSES_IGNORE);
    } else {
        if (messages == MESSAGES)
            compute(0.005);
        for (int i = 0; i < messages; i++) {
            MPI_Recv(buffer[i], bytes, MPI_BYTE, 0, i, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            CHECK(bytes == 0 || (buffer[i][0] == i + 1 && buffer[i][bytes - 1] == i + 1));
        }
        set_mark();
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0)
        unlink(mark);
    MPI_Barrier(MPI_COMM_WORLD);
}

int main(int argc, char **argv)
{
    static const int sizes[] = { 0, 8, 24, 25, 1000, 8192, 8193, MOST }, counts[] = { 1, 2, 5, MESSAGES };
    start(&argc, &argv);
    CHECK(size == 2);
    name_mark();
    for (unsigned i = 0; i < sizeof sizes / sizeof *sizes; i++)
        for (unsigned j = 0; j < sizeof counts / sizeof *counts; j++)
            for (int blocks = 0; blocks <= 1; blocks++) {
                drive(0.01);
                once(counts[j], sizes[i], blocks, 0);
                once(counts[j], sizes[i], blocks, 0.005);
            }
    if (rank == 0)
        printf("all had come\n");
    return MPI_Finalize();
}
