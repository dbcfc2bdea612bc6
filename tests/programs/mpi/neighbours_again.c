/* Topologies that are made, used once and freed, again and again: neighbours_again TIMES BYTES. Nobody waits for anybody between them. */
#include "check.h"

int main(int argc, char **argv)
{
    start(&argc, &argv);
    int times = atoi(argv[1]), periodic = 1, left, right;
    size_t bytes = (size_t)atoi(argv[2]);
    unsigned char *given = malloc(bytes), *got = malloc(2 * bytes);
    for (int i = 0; i < times; i++) {
        MPI_Comm ring;
        MPI_Cart_create(MPI_COMM_WORLD, 1, &size, &periodic, 0, &ring);
        MPI_Cart_shift(ring, 0, 1, &left, &right);
        fill(given, bytes, rank + i);
        MPI_Neighbor_allgather(given, (int)bytes, MPI_BYTE, got, (int)bytes, MPI_BYTE, ring);
        CHECK(is_filled(got, bytes, left + i));
        CHECK(is_filled(got + bytes, bytes, right + i));
        MPI_Comm_free(&ring);
    }
    free(given);
    free(got);
    MPI_Finalize();
    return 0;
}
