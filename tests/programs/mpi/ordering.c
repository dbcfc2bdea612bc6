/* Messages of one sender are received in the order in which they were sent, whatever their sizes and modes, by receives that were
 * posted before and after; 100,000 messages that nobody expects wait in order. */
#include "check.h"

enum { MANY = 2000, FLOOD = 100000 };

int main(int argc, char **argv)
{
    static int out[MANY][3000], in[3000];
    start(&argc, &argv);
    if (rank == 0) {
        MPI_Request requests[MANY];
        for (int i = 0; i < MANY; i++) {
            out[i][0] = i;
            int length = i % 7 == 0 ? 3000 : i % 5 == 0 ? 1000 : 1;
            (i % 11 == 0 ? MPI_Issend : MPI_Isend)(out[i], length, MPI_INT, 1, i % 3, MPI_COMM_WORLD, &requests[i]);
        }
        MPI_Waitall(MANY, requests, MPI_STATUSES_IGNORE);
        for (int i = 0; i < FLOOD; i++)
            MPI_Send(&i, 1, MPI_INT, 1, 5, MPI_COMM_WORLD);
        MPI_Send(&rank, 1, MPI_INT, 1, 6, MPI_COMM_WORLD);
    }
    if (rank == 1) {
        int next[3] = {0, 1, 2};
        for (int i = 0; i < MANY; i++) {
            MPI_Status status;
            int wanted = i % 4 == 0 ? (i / 4) % 3 : MPI_ANY_TAG;
            if (wanted != MPI_ANY_TAG && next[wanted] >= MANY)
                wanted = MPI_ANY_TAG;
            MPI_Recv(in, 3000, MPI_INT, i % 2 ? 0 : MPI_ANY_SOURCE, wanted, MPI_COMM_WORLD, &status);
            CHECK_INT(in[0], next[status.MPI_TAG]);
            if (wanted == MPI_ANY_TAG) /* the oldest of all that are left */
                for (int tag = 0; tag < 3; tag++)
                    CHECK(next[tag] >= in[0]);
            next[status.MPI_TAG] += 3;
        }
        int last;
        MPI_Recv(&last, 1, MPI_INT, 0, 6, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        for (int i = 0; i < FLOOD; i++) {
            int value = -1;
            MPI_Recv(&value, 1, MPI_INT, 0, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            CHECK_INT(value, i);
        }
    }
    MPI_Finalize();
    return 0;
}
