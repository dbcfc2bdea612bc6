/* Every mode of sending, blocking and not, brings every size from each rank to the next, byte for byte. */
#include "check.h"

enum { LONGEST = 3000001 };
static const int sizes[] = {0, 1, 8, 24, 25, 32, 33, 4096, 8192, 8193, 65537, 1 << 20, LONGEST};
static unsigned char *out, *in;

typedef int sender(const void *, int, MPI_Datatype, int, int, MPI_Comm);
typedef int immediate(const void *, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request *);

static void verify(const MPI_Status *status, int from, int bytes, int salt)
{
    int count = -1;
    MPI_Get_count(status, MPI_BYTE, &count);
    CHECK_INT(count, bytes);
    CHECK_INT(status->MPI_SOURCE, from);
    CHECK_INT(status->MPI_TAG, salt);
    CHECK(is_filled(in, (size_t)bytes, salt));
    memset(in, 0xee, (size_t)bytes);
}

int main(int argc, char **argv)
{
    sender *blocking[] = {MPI_Send, MPI_Ssend, MPI_Bsend};
    immediate *immediates[] = {MPI_Isend, MPI_Issend, MPI_Ibsend, MPI_Irsend};
    start(&argc, &argv);
    MPI_Comm apart;
    MPI_Comm_dup(MPI_COMM_WORLD, &apart);
    out = malloc(LONGEST + 1);
    in = malloc(LONGEST + 1);
    int room = LONGEST + MPI_BSEND_OVERHEAD;
    void *buffer = malloc((size_t)room);
    MPI_Buffer_attach(buffer, room);
    int to = (rank + 1) % size, from = (rank + size - 1) % size;
    for (int s = 0; s < (int)(sizeof sizes / sizeof *sizes); s++) {
        int bytes = sizes[s];
        for (int mode = 0; mode < 4; mode++) { /* the receive is there before any ready send */
            MPI_Request requests[2];
            MPI_Status statuses[2];
            int salt = 10 * s + mode, token = 0;
            fill(out, (size_t)bytes, salt);
            MPI_Irecv(in, bytes, MPI_BYTE, mode & 1 ? MPI_ANY_SOURCE : from, mode & 2 ? MPI_ANY_TAG : salt, MPI_COMM_WORLD,
                      &requests[0]);
            MPI_Sendrecv(&token, 1, MPI_INT, from, 999, &token, 1, MPI_INT, to, 999, apart, MPI_STATUS_IGNORE);
            immediates[mode](out, bytes, MPI_BYTE, to, salt, MPI_COMM_WORLD, &requests[1]);
            MPI_Waitall(2, requests, statuses);
            CHECK(requests[0] == MPI_REQUEST_NULL && requests[1] == MPI_REQUEST_NULL);
            verify(&statuses[0], from, bytes, salt);
        }
        for (int mode = 0; mode < 3 && size > 1; mode++) {
            int salt = 10 * s + 5 + mode;
            MPI_Status status;
            fill(out, (size_t)bytes, salt);
            if (rank % 2 == 0 && to != 0)
                blocking[mode](out, bytes, MPI_BYTE, to, salt, MPI_COMM_WORLD);
            if (rank % 2 == 1) {
                MPI_Recv(in, LONGEST, MPI_BYTE, from, salt, MPI_COMM_WORLD, &status);
                verify(&status, from, bytes, salt);
            }
        }
        MPI_Barrier(MPI_COMM_WORLD);
    }
    MPI_Comm_free(&apart);
    void *detached;
    int detached_size;
    MPI_Buffer_detach(&detached, &detached_size);
    CHECK(detached == buffer);
    CHECK_INT(detached_size, room);
    MPI_Finalize();
    return 0;
}
