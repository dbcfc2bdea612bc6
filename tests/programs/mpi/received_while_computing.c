/*
 * Two ranks. What is sent gets into a receive that was begun, and its sender goes on, while the receiver computes and
 * calls MPI no more (MPI-5.0, §3.7.4). The sender tells of it by a file. Both have just been in MPI: what begins to
 * move while the receiver is still there does not stay behind when it goes.
 */
#include "mark.h"

enum how { ISEND, SEND, PERSISTENT, HOWS };
enum { MOST = 4 << 20, OFTEN = 100000 };

static char *buffer;

static void once(int messages, int bytes, enum how how)
{
    MPI_Request requests[32];
    if (rank == 1)
        for (int i = 0; i < messages; i++) {
            memset(buffer + i * bytes, 0, bytes);
            MPI_Irecv(buffer + i * bytes, bytes, MPI_BYTE, 0, i, MPI_COMM_WORLD, &requests[i]);
        }
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) {
        for (int i = 0; i < messages; i++) {
            char *message = buffer + i * bytes;
            memset(message, i + 1, bytes);
            if (how == SEND)
                MPI_Send(message, bytes, MPI_BYTE, 1, i, MPI_COMM_WORLD);
            else if (how == ISEND)
                MPI_Isend(message, bytes, MPI_BYTE, 1, i, MPI_COMM_WORLD, &requests[i]);
            else {
                /* Shorter receives may stay with their rank while it computes (docs/decisions.md). */
                if (bytes > 1 << 16)
                    MPI_Ssend_init(message, bytes, MPI_BYTE, 1, i, MPI_COMM_WORLD, &requests[i]);
                else
                    MPI_Send_init(message, bytes, MPI_BYTE, 1, i, MPI_COMM_WORLD, &requests[i]);
                MPI_Start(&requests[i]);
            }
        }
        if (how != SEND)
            MPI_Waitall(messages, requests, MPI_STATUSES_IGNORE);
        for (int i = 0; how == PERSISTENT && i < messages; i++)
            MPI_Request_free(&requests[i]);
        set_mark();
    } else {
        await_mark();
        MPI_Waitall(messages, requests, MPI_STATUSES_IGNORE);
        for (int i = 0; i < messages; i++)
            for (int at = 0; at < bytes; at += 1 + bytes / 1000)
                if (buffer[i * bytes + at] != i + 1)
                    CHECK_INT(buffer[i * bytes + at], i + 1);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0)
        unlink(mark);
    MPI_Barrier(MPI_COMM_WORLD);
}

int main(int argc, char **argv)
{
    static const int sizes[] = {0, 8, 25, 8192, 8193, 16384, 65536, 65537, OFTEN, 300000, 1 << 20};
    start(&argc, &argv);
    CHECK_INT(size, 2);
    buffer = malloc(MOST);
    name_mark();
    for (unsigned i = 0; i < sizeof sizes / sizeof *sizes; i++)
        for (int messages = 1; messages <= 4; messages += 3)
            for (int again = 0; again < (sizes[i] == OFTEN ? 1000 : 20); again++)
                once(messages, sizes[i], again % HOWS);
    for (int again = 0; again < 10; again++)
        once(32, 65537, again % HOWS);
    free(buffer);
    if (rank == 0)
        printf("all had come\n");
    return MPI_Finalize();
}
