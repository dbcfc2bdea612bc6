/* Large messages of every size between ranks, whatever their owners do meanwhile: staged [BYTES]. With BYTES one message of that size to and fro, and no more.
 * Ranks are dealt to two nodes in turn, where there are two: with four ranks 0 and 2 send to 1 and 3. */
#include "check.h"
#include <unistd.h>

/* In a descriptor, in a slab, in a slot of a window, in a granted chunk, what is granted to a rank and to a node at once. */
static const int thresholds[] = {24, 8192, 65536, 124 << 10, 1 << 20, 2 << 20, 4 << 20};
enum { THRESHOLDS = sizeof thresholds / sizeof *thresholds, MANY = 40, HELD = 8 << 20 };

static void bring(int to, int from, int bytes, int room)
{
    unsigned char *out = malloc((size_t)bytes + 1), *in = malloc((size_t)bytes + 1);
    MPI_Request requests[2];
    MPI_Status statuses[2];
    fill(out, (size_t)bytes, rank);
    memset(in, 0xee, (size_t)bytes + 1);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Irecv(in, room, MPI_BYTE, from, bytes, MPI_COMM_WORLD, &requests[0]);
    MPI_Isend(out, bytes, MPI_BYTE, to, bytes, MPI_COMM_WORLD, &requests[1]);
    statuses[0].MPI_ERROR = MPI_SUCCESS;
    int code = MPI_Waitall(2, requests, statuses);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
    CHECK_INT(class_of(code), room < bytes ? MPI_ERR_IN_STATUS : MPI_SUCCESS);
    CHECK_INT(class_of(statuses[0].MPI_ERROR), room < bytes ? MPI_ERR_TRUNCATE : MPI_SUCCESS);
    CHECK(is_filled(in, (size_t)room, from) && in[room] == 0xee);
    free(out);
    free(in);
}

/* Many at a time, received in the other order, by a rank that comes late. */
static void many(int to, int from)
{
    static unsigned char out[MANY][70000], in[MANY][70000];
    MPI_Request requests[2 * MANY];
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < MANY; i++) {
        fill(out[i], (size_t)(1000 * i + 30001), rank + i);
        MPI_Isend(out[i], 1000 * i + 30001, MPI_BYTE, to, i, MPI_COMM_WORLD, &requests[i]);
    }
    if (rank == 1)
        usleep(20000);
    for (int i = MANY - 1; i >= 0; i--)
        MPI_Irecv(in[i], 70000, MPI_BYTE, from, i, MPI_COMM_WORLD, &requests[MANY + i]);
    MPI_Waitall(2 * MANY, requests, MPI_STATUSES_IGNORE);
    for (int i = 0; i < MANY; i++)
        CHECK(is_filled(in[i], (size_t)(1000 * i + 30001), from + i));
}

/* Rank 1 computes until rank 3, beside it, has had its message. */
static void apart(void)
{
    unsigned char *data = malloc(HELD);
    char path[64];
    MPI_Request request;
    snprintf(path, sizeof path, "/tmp/bcs-staged-%d", (int)getppid());
    unlink(path);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank % 2 == 0) {
        fill(data, HELD, rank);
        MPI_Send(data, HELD, MPI_BYTE, rank + 1, 7, MPI_COMM_WORLD);
    } else if (rank == 1) {
        MPI_Irecv(data, HELD, MPI_BYTE, 0, 7, MPI_COMM_WORLD, &request);
        while (access(path, F_OK) != 0)
            usleep(1000);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        CHECK(is_filled(data, HELD, 0));
        unlink(path);
    } else {
        usleep(100000);
        MPI_Recv(data, HELD, MPI_BYTE, 2, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        CHECK(is_filled(data, HELD, 2));
        fclose(fopen(path, "w"));
    }
    free(data);
}

int main(int argc, char **argv)
{
    start(&argc, &argv);
    int to = (rank + 1) % size, from = (rank + size - 1) % size;
    if (argc > 1) {
        bring(to, from, atoi(argv[1]), atoi(argv[1]));
    } else {
        for (int i = 0; i < THRESHOLDS; i++)
            for (int beside = -1; beside <= 1; beside++)
                bring(to, from, thresholds[i] + beside, thresholds[i] + beside);
        bring(to, from, 300000, 0);
        bring(to, from, 300000, 100);
        bring(to, from, 300000, 299999);
        many(to, from);
        if (size == 4)
            apart();
    }
    MPI_Finalize();
    return 0;
}
