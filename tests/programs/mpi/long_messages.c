/* Messages of lengths at and beside those from which on they take another way: through slabs, through slabs while there are many, by transfers. Each
 * rank sends a window of them round the ring of ranks, in every form of a send that does not wait, before it receives any, in another order; and
 * one against one.
 *     long_messages ROUNDS */
#include "check.h"

enum { WINDOW = 24 };

static const int lengths[] = {0, 24, 25, 2047, 2048, 8192, 8193, 65535, 65536, 65537, 98304, 131072, 262143, 262144, 262145, 300000};
enum { LENGTHS = sizeof lengths / sizeof *lengths, MOST = 300000 };

int main(int argc, char **argv)
{
    start(&argc, &argv);
    int rounds = atoi(argv[1]), to = (rank + 1) % size, from = (rank + size - 1) % size;
    unsigned char *sent = malloc((size_t)WINDOW * MOST), *got = malloc(MOST + 1);
    for (int round = 0; round < rounds; round++) {
        MPI_Request requests[WINDOW];
        for (int i = 0; i < WINDOW; i++) {
            int bytes = lengths[(round * 5 + i * 7) % LENGTHS];
            unsigned char *data = sent + (size_t)i * MOST;
            fill(data, bytes, round + i + rank);
            if ((round + i) % 5 == 0) {
                MPI_Issend(data, bytes, MPI_BYTE, to, i, MPI_COMM_WORLD, &requests[i]);
            } else {
                MPI_Isend(data, bytes, MPI_BYTE, to, i, MPI_COMM_WORLD, &requests[i]);
            }
        }
        for (int j = 0; j < WINDOW; j++) {
            int i = round % 2 ? WINDOW - 1 - j : (j * 11 + round) % WINDOW, bytes = lengths[(round * 5 + i * 7) % LENGTHS], count;
            MPI_Status status;
            MPI_Request request;
            got[bytes] = 0xee;
            if (j % 3 == 0) {
                MPI_Irecv(got, MOST, MPI_BYTE, from, i, MPI_COMM_WORLD, &request);
                MPI_Wait(&request, &status);
            } else {
                MPI_Recv(got, MOST, MPI_BYTE, j % 3 == 1 ? from : MPI_ANY_SOURCE, i, MPI_COMM_WORLD, &status);
            }
            MPI_Get_count(&status, MPI_BYTE, &count);
            CHECK(count == bytes && status.MPI_SOURCE == from && status.MPI_TAG == i);
            CHECK(is_filled(got, bytes, round + i + from) && got[bytes] == 0xee);
        }
        MPI_Waitall(WINDOW, requests, MPI_STATUSES_IGNORE);
        for (int i = 0; i < LENGTHS; i++) {
            int bytes = lengths[i];
            fill(sent, bytes, round + i + rank);
            got[bytes] = 0xee;
            MPI_Sendrecv(sent, bytes, MPI_BYTE, to, 99, got, bytes, MPI_BYTE, from, 99, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            CHECK(is_filled(got, bytes, round + i + from) && got[bytes] == 0xee);
        }
    }
    free(got);
    free(sent);
    MPI_Finalize();
    return 0;
}
