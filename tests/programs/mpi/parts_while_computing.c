/*
 * Two ranks. Parts that are ready get there while the sender computes and calls MPI no more; and into the receive of a
 * request that was used before, while the receiver does. The one that is in MPI tells the other by a file.
 */
#include "mark.h"

enum { MOST = 4 << 20 };
static unsigned char *buffer;

static void meet(void)
{
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0)
        unlink(mark);
    MPI_Barrier(MPI_COMM_WORLD);
}

/* All parts but `late` get there while the sender computes. */
static void sender_computes(MPI_Request request, int parts, int each, int late, int salt)
{
    if (rank == 0) {
        fill(buffer, (size_t)parts * each, salt);
        MPI_Start(&request);
        for (int part = parts - 1; part >= 0; part--)
            if (part != late)
                MPI_Pready(part, request);
        await_mark();
        if (late >= 0)
            MPI_Pready(late, request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    } else {
        int flag;
        memset(buffer, 0xee, (size_t)parts * each);
        MPI_Start(&request);
        for (int part = 0; part < parts; part++)
            if (part != late) {
                do
                    MPI_Parrived(request, part, &flag);
                while (!flag);
                for (int at = part * each; at < (part + 1) * each; at++)
                    if (buffer[at] != byte_of(at, salt))
                        CHECK_INT(buffer[at], byte_of(at, salt));
            }
        set_mark();
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        CHECK(is_filled(buffer, (size_t)parts * each, salt));
    }
    meet();
}

/* All parts get there while the receiver computes, who has started the request. */
static void receiver_computes(MPI_Request request, int parts, int each, int salt)
{
    if (rank == 0)
        fill(buffer, (size_t)parts * each, salt);
    else {
        memset(buffer, 0xee, (size_t)parts * each);
        MPI_Start(&request);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) {
        MPI_Start(&request);
        MPI_Pready_range(0, parts - 1, request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        set_mark();
    } else {
        await_mark();
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        CHECK(is_filled(buffer, (size_t)parts * each, salt));
    }
    meet();
}

static void both(int parts, int each)
{
    MPI_Request request;
    /* A part that is late holds up those that travel with it: only where each travels alone there is one. */
    int late = each >= 16 << 10 ? parts / 2 : -1;
    if (rank == 0)
        MPI_Psend_init(buffer, parts, each, MPI_BYTE, 1, 0, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
    else
        MPI_Precv_init(buffer, parts, each, MPI_BYTE, 0, 0, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
    for (int round = 0; round < 4; round++) {
        sender_computes(request, parts, each, late, 3 * round);
        sender_computes(request, parts, each, -1, 3 * round + 1);
        receiver_computes(request, parts, each, 3 * round + 2);
    }
    MPI_Request_free(&request);
}

int main(int argc, char **argv)
{
    start(&argc, &argv);
    CHECK_INT(size, 2);
    buffer = malloc(MOST);
    name_mark();
    both(1, 0);
    both(8, 8);
    both(16, 1024);
    both(4, 16 << 10);
    both(16, 64 << 10);
    both(3, (64 << 10) + 1);
    both(4, 1 << 20);
    both(128, 16 << 10);
    free(buffer);
    if (rank == 0)
        printf("all parts had come\n");
    return MPI_Finalize();
}
