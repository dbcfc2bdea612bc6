/* Partitioned communication: one message of 16 parts, each of which is given as soon as it is ready. */
#include "bench.h"

#include <string.h>

enum { PARTS = 16 };

static size_t all_parts(const struct context *c)
{
    return PARTS * c->bytes + 1;
}

/* Rank 0 sends, rank 1 sends as much back; half of that is the time of a message. */
static double partitioned_run(struct context *c, long iterations)
{
    if (c->rank > 1)
        return 0;
    MPI_Request requests[2];
    int other = 1 - c->rank, sends = c->rank == 0;
    MPI_Psend_init(c->send, PARTS, (MPI_Count)c->bytes, MPI_BYTE, other, 5, MPI_COMM_WORLD, MPI_INFO_NULL,
                   &requests[0]);
    MPI_Precv_init(c->receive, PARTS, (MPI_Count)c->bytes, MPI_BYTE, other, 5, MPI_COMM_WORLD, MPI_INFO_NULL,
                   &requests[1]);
    double start = MPI_Wtime();
    for (long i = 0; i < 2 * iterations; i++, sends = !sends) {
        if (sends) {
            MPI_Start(&requests[0]);
            for (int part = 0; part < PARTS; part++)
                MPI_Pready(part, requests[0]);
            MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
        } else {
            MPI_Start(&requests[1]);
            MPI_Wait(&requests[1], MPI_STATUS_IGNORE);
        }
    }
    double seconds = MPI_Wtime() - start;
    MPI_Request_free(&requests[0]);
    MPI_Request_free(&requests[1]);
    return seconds / 2;
}

static void partitioned_check(struct context *c)
{
    for (size_t i = 0; i < PARTS * c->bytes; i++)
        c->send[i] = (unsigned char)(i % 251 + (size_t)c->rank);
    memset(c->receive, 0, PARTS * c->bytes);
    partitioned_run(c, 2);
    for (size_t i = 0; c->rank < 2 && i < PARTS * c->bytes; i++) {
        unsigned char expected = (unsigned char)(i % 251 + (size_t)(1 - c->rank));
        if (c->receive[i] != expected)
            wrong_data(c, "partitioned", i, c->receive[i], expected);
    }
}

static const size_t sizes[] = {1024, 64 << 10};

const struct kernel partitioned_kernels[] = {
    {"partitioned", "16 parts of this size: MPI_Start, MPI_Pready of each, MPI_Wait; there and back, halved", "us", 2,
     sizes, 2, 1, all_parts, all_parts, partitioned_check, partitioned_run, microseconds_each},
};
const int partitioned_kernel_count = sizeof partitioned_kernels / sizeof partitioned_kernels[0];
