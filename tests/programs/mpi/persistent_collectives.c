/* Persistent collectives: every call, started many times, with what the buffers then have. */
#include "check.h"

enum { COUNT = 700, KINDS = 17, STARTS = 12 };

static int in[KINDS][COUNT * 8], out[KINDS][COUNT * 8];

/* More requests than have slabs of their own, of these bytes, started in another order at each rank. */
static void of_bytes(MPI_Comm comm, int bytes, int requests)
{
    MPI_Request q[64];
    unsigned char *given = malloc(bytes * requests + 1), *taken = malloc(bytes * requests * size + 1);
    CHECK(requests <= 64);
    for (int k = 0; k < requests; k++) {
        unsigned char *from = given + bytes * k, *to = taken + bytes * size * k;
        int root = k % size;
        if (k % 4 == 0)
            MPI_Bcast_init(from, bytes, MPI_BYTE, root, comm, MPI_INFO_NULL, &q[k]);
        else if (k % 4 == 1)
            MPI_Allgather_init(from, bytes, MPI_BYTE, to, bytes, MPI_BYTE, comm, MPI_INFO_NULL, &q[k]);
        else if (k % 4 == 2)
            MPI_Gather_init(from, bytes, MPI_BYTE, to, bytes, MPI_BYTE, root, comm, MPI_INFO_NULL, &q[k]);
        else
            MPI_Allreduce_init(from, to, bytes, MPI_BYTE, MPI_BXOR, comm, MPI_INFO_NULL, &q[k]);
    }
    for (int s = 0; s < 3; s++) {
        for (int k = 0; k < requests; k++)
            fill(given + bytes * k, bytes, k % 4 ? 100 * s + k + rank : rank == k % size ? s + k : -1);
        for (int k = 0; k < requests; k++)
            MPI_Start(&q[(k + rank * 5 + s) % requests]);
        MPI_Waitall(requests, q, MPI_STATUSES_IGNORE);
        for (int k = 0; k < requests; k++) {
            unsigned char *to = taken + bytes * size * k;
            if (k % 4 == 0)
                CHECK(is_filled(given + bytes * k, bytes, s + k));
            else if (k % 4 < 3)
                for (int r = 0; r < size && (k % 4 == 1 || rank == k % size); r++)
                    CHECK(is_filled(to + bytes * r, bytes, 100 * s + k + r));
            else
                for (int i = 0; i < bytes; i++) {
                    unsigned char all = 0;
                    for (int r = 0; r < size; r++)
                        all ^= byte_of(i, 100 * s + k + r);
                    CHECK_INT(to[i], all);
                }
        }
    }
    for (int k = 0; k < requests; k++)
        MPI_Request_free(&q[k]);
    free(given);
    free(taken);
}

/* A root that need not wait for anybody, and one whose place all take in turn, again and again. */
static void again_and_again(int starts)
{
    enum { FEW = 64 };
    MPI_Request q[2];
    int told[FEW] = {0}, own[FEW], sums[FEW];
    MPI_Bcast_init(told, FEW, MPI_INT, 0, MPI_COMM_WORLD, MPI_INFO_NULL, &q[0]);
    MPI_Allreduce_init(own, sums, FEW, MPI_INT, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, &q[1]);
    for (int s = 0; s < starts; s++) {
        told[FEW - 1] = rank == 0 ? s : -1;
        MPI_Start(&q[0]);
        MPI_Wait(&q[0], MPI_STATUS_IGNORE);
        CHECK_INT(told[FEW - 1], s);
    }
    for (int s = 0; s < starts; s++) {
        int first = (s + rank) % 2;
        told[FEW - 1] = rank == 0 ? s : -1;
        own[FEW - 1] = s + rank;
        MPI_Start(&q[first]);
        MPI_Start(&q[1 - first]);
        MPI_Waitall(2, q, MPI_STATUSES_IGNORE);
        CHECK_INT(told[FEW - 1], s);
        CHECK_INT(sums[FEW - 1], size * s + size * (size - 1) / 2);
    }
    MPI_Request_free(&q[0]);
    MPI_Request_free(&q[1]);
}

/* As many requests have slabs of their own as there were before, when they are made again; and the algorithm that
 * a communicator wants is that of its requests. */
static void of_any_bytes(void)
{
    static const int bytes[] = {0, 1, 24, 25, 8192, 8193, 1 << 20};
    MPI_Info info;
    MPI_Comm comm;
    for (int again = 0; again < 2; again++)
        for (int i = 0; i < 7; i++)
            of_bytes(MPI_COMM_WORLD, bytes[i], bytes[i] > 10000 ? 4 : 64);
    MPI_Info_create(&info);
    MPI_Info_set(info, "bcs_collective", "allreduce=tree,bcast=binomial,allgather=nodes,gather=direct");
    MPI_Comm_dup_with_info(MPI_COMM_WORLD, info, &comm);
    MPI_Info_free(&info);
    for (int i = 0; i < 7; i++)
        of_bytes(comm, bytes[i], 4);
    MPI_Comm_free(&comm);
}

int main(int argc, char **argv)
{
    start(&argc, &argv);
    CHECK(size <= 8);
    of_any_bytes();
    again_and_again(argc > 1 ? atoi(argv[1]) : size > 3 ? 1000 : 10000);
    MPI_Comm w = MPI_COMM_WORLD;
    MPI_Info none = MPI_INFO_NULL;
    MPI_Request q[KINDS];
    int n = COUNT, counts[8], places[8], bytes[8], shares[8], last = size - 1;
    MPI_Datatype ints[8];
    for (int r = 0; r < size; r++) {
        counts[r] = n;
        shares[r] = n;
        places[r] = r * n;
        bytes[r] = r * n * (int)sizeof(int);
        ints[r] = MPI_INT;
    }
    MPI_Barrier_init(w, none, &q[0]);
    MPI_Bcast_init(out[1], n, MPI_INT, last, w, none, &q[1]);
    MPI_Reduce_init(in[2], out[2], n, MPI_INT, MPI_SUM, last, w, none, &q[2]);
    MPI_Allreduce_init(in[3], out[3], n, MPI_INT, MPI_SUM, w, none, &q[3]);
    MPI_Scan_init(in[4], out[4], n, MPI_INT, MPI_SUM, w, none, &q[4]);
    MPI_Exscan_init(in[5], out[5], n, MPI_INT, MPI_SUM, w, none, &q[5]);
    MPI_Reduce_scatter_block_init(in[6], out[6], n, MPI_INT, MPI_SUM, w, none, &q[6]);
    MPI_Reduce_scatter_init(in[7], out[7], shares, MPI_INT, MPI_SUM, w, none, &q[7]);
    MPI_Gather_init(in[8], n, MPI_INT, out[8], n, MPI_INT, last, w, none, &q[8]);
    MPI_Gatherv_init(in[9], n, MPI_INT, out[9], counts, places, MPI_INT, last, w, none, &q[9]);
    MPI_Scatter_init(in[10], n, MPI_INT, out[10], n, MPI_INT, last, w, none, &q[10]);
    MPI_Scatterv_init(in[11], counts, places, MPI_INT, out[11], n, MPI_INT, last, w, none, &q[11]);
    MPI_Allgather_init(in[12], n, MPI_INT, out[12], n, MPI_INT, w, none, &q[12]);
    MPI_Allgatherv_init(in[13], n, MPI_INT, out[13], counts, places, MPI_INT, w, none, &q[13]);
    MPI_Alltoall_init(in[14], n, MPI_INT, out[14], n, MPI_INT, w, none, &q[14]);
    MPI_Alltoallv_init(in[15], counts, places, MPI_INT, out[15], counts, places, MPI_INT, w, none, &q[15]);
    MPI_Alltoallw_init(in[16], counts, bytes, ints, out[16], counts, bytes, ints, w, none, &q[16]);
    for (int s = 0; s < STARTS; s++) {
        for (int k = 0; k < KINDS; k++)
            for (int i = 0; i < n * size; i++) {
                in[k][i] = rank * 10000 + i + s;
                out[k][i] = k == 1 && rank == last ? i + s : -1;
            }
        int sum = size * (size - 1) / 2 * 10000 + size * s, upto = rank * (rank + 1) / 2 * 10000;
        MPI_Startall(KINDS, q);
        if (s % 3 == 0) {
            MPI_Waitall(KINDS, q, MPI_STATUSES_IGNORE);
        } else {
            for (int k = KINDS - 1; k >= 0; k--)
                for (int done = 0; !done;) {
                    if (s % 3 == 1)
                        MPI_Test(&q[k], &done, MPI_STATUS_IGNORE);
                    else
                        done = MPI_Wait(&q[k], MPI_STATUS_IGNORE) == MPI_SUCCESS;
                }
        }
        for (int i = 0; i < n; i++) {
            CHECK_INT(out[1][i], i + s);
            CHECK_INT(out[3][i], sum + size * i);
            CHECK_INT(out[4][i], upto + (rank + 1) * (i + s));
            if (rank > 0)
                CHECK_INT(out[5][i], upto - rank * 10000 + rank * (i + s));
            CHECK_INT(out[6][i], sum + size * (rank * n + i));
            CHECK_INT(out[7][i], out[6][i]);
            CHECK_INT(out[10][i], last * 10000 + rank * n + i + s);
            CHECK_INT(out[11][i], out[10][i]);
            if (rank == last)
                CHECK_INT(out[2][i], out[3][i]);
        }
        for (int i = 0; i < n * size; i++) {
            int from = i / n * 10000 + s, at = i % n;
            CHECK_INT(out[8][i], rank == last ? from + at : -1);
            CHECK_INT(out[9][i], out[8][i]);
            CHECK_INT(out[12][i], from + at);
            CHECK_INT(out[13][i], from + at);
            CHECK_INT(out[14][i], from + rank * n + at);
            CHECK_INT(out[15][i], out[14][i]);
            CHECK_INT(out[16][i], out[14][i]);
        }
    }
    for (int k = 0; k < KINDS; k++) {
        CHECK(q[k] != MPI_REQUEST_NULL);
        CHECK_INT(MPI_Request_free(&q[k]), MPI_SUCCESS);
        CHECK(q[k] == MPI_REQUEST_NULL);
    }
    MPI_Finalize();
    return 0;
}
