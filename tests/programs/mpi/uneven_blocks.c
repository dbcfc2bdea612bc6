/* Blocks of a v form that are longer or shorter than all others expect: every rank is told, wherever it is, and
 * told whose block it was. */
#include "check.h"
#include <string.h>

static void uneven(int bytes, int difference, int form)
{
    int rank, size, status, class, counts[16], places[16];
    MPI_Comm comm;
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    for (int i = 0; i < size; i++) {
        counts[i] = bytes;
        places[i] = i * bytes;
    }
    char *send = calloc(1, (size_t)bytes + 1), *receive = calloc((size_t)size, (size_t)bytes);
    int own = bytes + (rank == size - 1 ? difference : 0);
    if (form == 0)
        status = MPI_Allgatherv(send, own, MPI_BYTE, receive, counts, places, MPI_BYTE, comm);
    else {
        status = MPI_Iallgatherv(send, own, MPI_BYTE, receive, counts, places, MPI_BYTE, comm, &request);
        if (status == MPI_SUCCESS)
            status = MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    CHECK(status != MPI_SUCCESS);
    MPI_Error_class(status, &class);
    CHECK(class == MPI_ERR_TRUNCATE || class == MPI_ERR_COUNT);
    char text[MPI_MAX_ERROR_STRING], whose[32];
    int length;
    MPI_Error_string(status, text, &length);
    snprintf(whose, sizeof whose, "rank %d", size - 1);
    CHECK(strstr(text, whose) != NULL);
    free(send);
    free(receive);
    MPI_Comm_free(&comm);
}

int main(int argc, char **argv)
{
    static const int sizes[] = {1, 40, 4000, 65536, 262144};
    MPI_Init(&argc, &argv);
    for (unsigned i = 0; i < sizeof sizes / sizeof *sizes; i++)
        for (int form = 0; form < 2; form++) {
            uneven(sizes[i], 1, form);
            uneven(sizes[i], -1, form);
        }
    MPI_Finalize();
    return 0;
}
