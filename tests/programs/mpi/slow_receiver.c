/* A sender that is ahead of its receiver by more than the receiver keeps: `slow_receiver MESSAGES`, with --unexpected-limit 1MiB. The receiver wants the
 * last of every ten messages first, which its sender can send only into the room that the ten before it have left. */
#include "check.h"
#include <unistd.h>

enum { AT_ONCE = 10, MOST = 65536 };

static int length(int i) { return i % 3 == 0 ? MOST : (int)(i * 7919u % MOST); }

int main(int argc, char **argv)
{
    start(&argc, &argv);
    int messages = atoi(argv[1]) / AT_ONCE * AT_ONCE;
    unsigned char *data = malloc(MOST);
    if (rank == 0) {
        for (int i = 0; i < messages; i++) {
            memset(data, i, length(i));
            MPI_Send(data, length(i), MPI_BYTE, 1, i, MPI_COMM_WORLD);
        }
    } else if (rank == 1) {
        for (int first = 0; first < messages; first += AT_ONCE) {
            if (first % (8 * AT_ONCE) == 0) {
                usleep(20000); /* it computes, and the sender comes to its limit */
            }
            for (int i = first + AT_ONCE - 1; i >= first; i--) {
                int bytes;
                MPI_Status status;
                MPI_Recv(data, MOST, MPI_BYTE, 0, i, MPI_COMM_WORLD, &status);
                MPI_Get_count(&status, MPI_BYTE, &bytes);
                CHECK(bytes == length(i));
                CHECK(bytes == 0 || (data[0] == (unsigned char)i && data[bytes - 1] == (unsigned char)i));
            }
        }
    }
    free(data);
    MPI_Finalize();
    return 0;
}
