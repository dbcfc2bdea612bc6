/* The BCS API: every call in both of its forms. Runs on our library alone. */
#include "check.h"
#include <bcs.h>

int main(int argc, char **argv)
{
    static unsigned char out[100000], in[100000];
    MPI_Status status;
    BCS_Request requests[2];
    int flag = 0;
    start(&argc, &argv);
    int to = (rank + 1) % size, from = (rank + size - 1) % size;
    fill(out, sizeof out, rank);
    bcs_recv(in, sizeof in, from, 4, MPI_COMM_WORLD, BCS_NON_BLOCKING, &requests[0], MPI_STATUS_IGNORE);
    bcs_send(out, sizeof out, to, 4, MPI_COMM_WORLD, BCS_NON_BLOCKING, &requests[1]);
    while (!flag)
        bcs_testall(2, requests, BCS_NON_BLOCKING, &flag, MPI_STATUSES_IGNORE);
    CHECK(is_filled(in, sizeof in, from));
    bcs_send(&rank, sizeof rank, to, 5, MPI_COMM_WORLD, BCS_BLOCKING, NULL);
    bcs_probe(from, MPI_ANY_TAG, MPI_COMM_WORLD, BCS_BLOCKING, NULL, &status);
    CHECK_INT(status.MPI_TAG, 5);
    bcs_probe(from, 77, MPI_COMM_WORLD, BCS_NON_BLOCKING, &flag, &status);
    CHECK(!flag);
    int got = -1;
    bcs_recv(&got, sizeof got, from, 5, MPI_COMM_WORLD, BCS_BLOCKING, NULL, &status);
    CHECK_INT(got, from);
    bcs_recv(&got, sizeof got, from, 6, MPI_COMM_WORLD, BCS_NON_BLOCKING, &requests[0], NULL);
    bcs_send(&size, sizeof size, to, 6, MPI_COMM_WORLD, BCS_BLOCKING, NULL);
    bcs_test(&requests[0], BCS_BLOCKING, NULL, &status);
    CHECK(got == size && requests[0] == MPI_REQUEST_NULL);

    int root = size - 1, value = rank == root ? 31 : 0;
    bcs_barrier(MPI_COMM_WORLD);
    bcs_bcast(&value, sizeof value, root, MPI_COMM_WORLD);
    CHECK_INT(value, 31);
    int sum = -1;
    bcs_reduce(&rank, &sum, 1, MPI_INT, MPI_SUM, BCS_ALL, MPI_COMM_WORLD);
    CHECK_INT(sum, size * (size - 1) / 2);
    sum = -1;
    bcs_reduce(&rank, &sum, 1, MPI_INT, MPI_MAX, root, MPI_COMM_WORLD);
    CHECK_INT(sum, rank == root ? root : -1);

    int all[64], part = 100 + rank;
    int64_t counts[64], displacements[64];
    CHECK(size <= 64);
    for (int i = 0; i < size; i++)
        counts[i] = sizeof(int), displacements[i] = (int64_t)sizeof(int) * (size - 1 - i);
    bcs_allgather(&part, sizeof part, all, NULL, NULL, MPI_COMM_WORLD);
    for (int i = 0; i < size; i++)
        CHECK_INT(all[i], 100 + i);
    bcs_gather(&part, sizeof part, all, counts, displacements, root, MPI_COMM_WORLD);
    for (int i = 0; i < size && rank == root; i++)
        CHECK_INT(all[size - 1 - i], 100 + i);
    bcs_scatter(all, counts, displacements, &part, sizeof part, root, MPI_COMM_WORLD);
    CHECK_INT(part, 100 + rank);
    int outs[64], ins[64];
    for (int i = 0; i < size; i++)
        outs[i] = 1000 * rank + i;
    bcs_alltoall(outs, NULL, NULL, ins, NULL, NULL, sizeof(int), MPI_COMM_WORLD);
    for (int i = 0; i < size; i++)
        CHECK_INT(ins[i], 1000 * i + rank);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    CHECK_INT(class_of(bcs_send(&rank, -1, to, 0, MPI_COMM_WORLD, BCS_BLOCKING, NULL)), MPI_ERR_COUNT);
    CHECK_INT(class_of(bcs_send(&rank, 4, size, 0, MPI_COMM_WORLD, BCS_BLOCKING, NULL)), MPI_ERR_RANK);
    MPI_Finalize();
    return 0;
}
