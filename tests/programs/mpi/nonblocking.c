/* Non-blocking collectives: every call, several under way at once, completed in any order, beside point-to-point messages. */
#include "check.h"

enum { MOST = 5000 };

static int *numbers(int count, int salt)
{
    int *a = malloc((count + 1) * sizeof *a);
    for (int i = 0; i < count; i++)
        a[i] = salt * 100000 + i;
    return a;
}

static void all_calls(int n)
{
    MPI_Request q;
    MPI_Comm w = MPI_COMM_WORLD;
    int *own = numbers(n * size, rank), *got = numbers(n * size, 77), *counts = malloc(size * sizeof(int)),
        *places = malloc(size * sizeof(int));
    MPI_Ibarrier(w, &q);
    MPI_Wait(&q, MPI_STATUS_IGNORE);
    CHECK(q == MPI_REQUEST_NULL);
    for (int root = 0; root < size; root++) {
        int *b = numbers(n, rank == root ? root : 999);
        MPI_Ibcast(b, n, MPI_INT, root, w, &q);
        MPI_Wait(&q, MPI_STATUS_IGNORE);
        for (int i = 0; i < n; i++)
            CHECK_INT(b[i], root * 100000 + i);
        free(b);
        MPI_Ireduce(own, got, n, MPI_INT, MPI_SUM, root, w, &q);
        MPI_Wait(&q, MPI_STATUS_IGNORE);
        for (int i = 0; rank == root && i < n; i++)
            CHECK_INT(got[i], size * (size - 1) / 2 * 100000 + size * i);
        MPI_Igather(own, n, MPI_INT, got, n, MPI_INT, root, w, &q);
        MPI_Wait(&q, MPI_STATUS_IGNORE);
        for (int i = 0; rank == root && i < n * size; i++)
            CHECK_INT(got[i], i / n * 100000 + i % n);
        MPI_Iscatter(own, n, MPI_INT, rank == root ? MPI_IN_PLACE : got, n, MPI_INT, root, w, &q);
        MPI_Wait(&q, MPI_STATUS_IGNORE);
        for (int i = 0; rank != root && i < n; i++)
            CHECK_INT(got[i], root * 100000 + rank * n + i);
        /* Blocks of different lengths, the last first. */
        for (int r = 0; r < size; r++) {
            counts[r] = (n + r) / 2;
            places[r] = (size - 1 - r) * n;
            counts[r] = counts[r] > n ? n : counts[r];
        }
        MPI_Igatherv(own, counts[rank], MPI_INT, got, counts, places, MPI_INT, root, w, &q);
        MPI_Wait(&q, MPI_STATUS_IGNORE);
        for (int r = 0; rank == root && r < size; r++)
            for (int i = 0; i < counts[r]; i++)
                CHECK_INT(got[places[r] + i], r * 100000 + i);
        MPI_Iscatterv(own, counts, places, MPI_INT, got, counts[rank], MPI_INT, root, w, &q);
        MPI_Wait(&q, MPI_STATUS_IGNORE);
        for (int i = 0; i < counts[rank]; i++)
            CHECK_INT(got[i], root * 100000 + places[rank] + i);
    }
    MPI_Iallreduce(own, got, n, MPI_INT, MPI_MAX, w, &q);
    MPI_Wait(&q, MPI_STATUS_IGNORE);
    for (int i = 0; i < n; i++)
        CHECK_INT(got[i], (size - 1) * 100000 + i);
    MPI_Iscan(own, got, n, MPI_INT, MPI_SUM, w, &q);
    MPI_Wait(&q, MPI_STATUS_IGNORE);
    for (int i = 0; i < n; i++)
        CHECK_INT(got[i], rank * (rank + 1) / 2 * 100000 + (rank + 1) * i);
    MPI_Iexscan(own, got, n, MPI_INT, MPI_SUM, w, &q);
    MPI_Wait(&q, MPI_STATUS_IGNORE);
    for (int i = 0; rank > 0 && i < n; i++)
        CHECK_INT(got[i], rank * (rank - 1) / 2 * 100000 + rank * i);
    MPI_Ireduce_scatter_block(own, got, n, MPI_INT, MPI_SUM, w, &q);
    MPI_Wait(&q, MPI_STATUS_IGNORE);
    for (int i = 0; i < n; i++)
        CHECK_INT(got[i], size * (size - 1) / 2 * 100000 + size * (rank * n + i));
    int before = 0;
    for (int r = 0; r < size; r++) {
        counts[r] = r % 2 ? 0 : n;
        before += r < rank ? counts[r] : 0;
    }
    MPI_Ireduce_scatter(own, got, counts, MPI_INT, MPI_SUM, w, &q);
    MPI_Wait(&q, MPI_STATUS_IGNORE);
    for (int i = 0; i < counts[rank]; i++)
        CHECK_INT(got[i], size * (size - 1) / 2 * 100000 + size * (before + i));
    MPI_Iallgather(own, n, MPI_INT, got, n, MPI_INT, w, &q);
    MPI_Wait(&q, MPI_STATUS_IGNORE);
    for (int i = 0; i < n * size; i++)
        CHECK_INT(got[i], i / n * 100000 + i % n);
    for (int r = 0; r < size; r++)
        counts[r] = (n + r) / 2 > n ? n : (n + r) / 2;
    memcpy(got + places[rank], own, counts[rank] * sizeof(int));
    MPI_Iallgatherv(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, got, counts, places, MPI_INT, w, &q);
    MPI_Wait(&q, MPI_STATUS_IGNORE);
    for (int r = 0; r < size; r++)
        for (int i = 0; i < counts[r]; i++)
            CHECK_INT(got[places[r] + i], r * 100000 + i);
    MPI_Ialltoall(own, n, MPI_INT, got, n, MPI_INT, w, &q);
    MPI_Wait(&q, MPI_STATUS_IGNORE);
    for (int i = 0; i < n * size; i++)
        CHECK_INT(got[i], i / n * 100000 + rank * n + i % n);
    memcpy(got, own, n * size * sizeof(int));
    MPI_Ialltoall(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, got, n, MPI_INT, w, &q);
    MPI_Wait(&q, MPI_STATUS_IGNORE);
    for (int i = 0; i < n * size; i++)
        CHECK_INT(got[i], i / n * 100000 + rank * n + i % n);
    for (int r = 0; r < size; r++) {
        counts[r] = n;
        places[r] = r * n;
    }
    MPI_Ialltoallv(own, counts, places, MPI_INT, got, counts, places, MPI_INT, w, &q);
    MPI_Wait(&q, MPI_STATUS_IGNORE);
    for (int i = 0; i < n * size; i++)
        CHECK_INT(got[i], i / n * 100000 + rank * n + i % n);
    free(own);
    free(got);
    free(counts);
    free(places);
}

/* Each block of a type of its own: every second number is sent, and received together. */
static void with_types(int n)
{
    int *own = numbers(2 * n * size, rank), *got = numbers(n * size, 77);
    int counts[64], ones[64], from[64], to[64];
    MPI_Datatype sparse, types[64], plain[64];
    MPI_Type_vector(n, 1, 2, MPI_INT, &sparse);
    MPI_Type_commit(&sparse);
    for (int r = 0; r < size; r++) {
        ones[r] = 1;
        counts[r] = n;
        from[r] = (int)(2 * n * r * sizeof(int));
        to[r] = (int)(n * r * sizeof(int));
        types[r] = sparse;
        plain[r] = MPI_INT;
    }
    for (int immediate = 0; immediate < 2; immediate++) {
        memset(got, 0xff, n * size * sizeof(int));
        if (immediate) {
            MPI_Request q;
            MPI_Ialltoallw(own, ones, from, types, got, counts, to, plain, MPI_COMM_WORLD, &q);
            MPI_Wait(&q, MPI_STATUS_IGNORE);
        } else {
            MPI_Alltoallw(own, ones, from, types, got, counts, to, plain, MPI_COMM_WORLD);
        }
        for (int i = 0; i < n * size; i++)
            CHECK_INT(got[i], i / n * 100000 + 2 * n * rank + 2 * (i % n));
    }
    MPI_Alltoallw(MPI_IN_PLACE, NULL, NULL, NULL, got, counts, to, plain, MPI_COMM_WORLD);
    for (int i = 0; i < n * size; i++)
        CHECK_INT(got[i], rank * 100000 + 2 * n * (i / n) + 2 * (i % n));
    int *line = numbers(2 * n, rank == 0 ? 3 : 8);
    MPI_Request q;
    MPI_Ibcast(line, 1, sparse, 0, MPI_COMM_WORLD, &q);
    MPI_Type_free(&sparse);
    MPI_Wait(&q, MPI_STATUS_IGNORE);
    for (int i = 0; i < 2 * n - 1; i++)
        CHECK_INT(line[i], (i % 2 && rank ? 8 : 3) * 100000 + i);
    free(line);
    free(own);
    free(got);
}

/* Many at once, of two communicators; each rank completes them in an order of its own, with messages in between. */
static void many_at_once(void)
{
    enum { MANY = 24 };
    MPI_Comm other;
    MPI_Comm_dup(MPI_COMM_WORLD, &other);
    for (int round = 0; round < 3; round++) {
        MPI_Request q[2 * MANY], messages[2];
        int *in[2 * MANY], *out[2 * MANY], token = rank, arrived = -1;
        MPI_Irecv(&arrived, 1, MPI_INT, (rank + 1) % size, 5, MPI_COMM_WORLD, &messages[0]);
        for (int k = 0; k < 2 * MANY; k++) {
            int n = k % 4 == 0 ? 1 : k % 4 == 1 ? 20 : 3000;
            MPI_Comm comm = k % 2 ? other : MPI_COMM_WORLD;
            in[k] = numbers(n, rank + k);
            out[k] = numbers(n * size, 0);
            if (k % 6 < 3)
                MPI_Iallreduce(in[k], out[k], n, MPI_INT, MPI_SUM, comm, &q[k]);
            else
                MPI_Iallgather(in[k], n, MPI_INT, out[k], n, MPI_INT, comm, &q[k]);
        }
        MPI_Isend(&token, 1, MPI_INT, (rank + size - 1) % size, 5, MPI_COMM_WORLD, &messages[1]);
        if (rank % 2) {
            MPI_Waitall(2, messages, MPI_STATUSES_IGNORE);
            MPI_Waitall(2 * MANY, q, MPI_STATUSES_IGNORE);
        } else {
            for (int left = 2 * MANY; left > 0; left--) {
                int at;
                if (left % 2) {
                    MPI_Waitany(2 * MANY, q, &at, MPI_STATUS_IGNORE);
                } else {
                    for (at = 2 * MANY - 1; q[at] == MPI_REQUEST_NULL; at--) {
                    }
                    for (int done = 0; !done;)
                        MPI_Test(&q[at], &done, MPI_STATUS_IGNORE);
                }
                CHECK(q[at] == MPI_REQUEST_NULL);
            }
            MPI_Waitall(2, messages, MPI_STATUSES_IGNORE);
        }
        CHECK_INT(arrived, (rank + 1) % size);
        for (int k = 0; k < 2 * MANY; k++) {
            int n = k % 4 == 0 ? 1 : k % 4 == 1 ? 20 : 3000;
            if (k % 6 < 3) {
                for (int i = 0; i < n; i++)
                    CHECK_INT(out[k][i], (size * k + size * (size - 1) / 2) * 100000 + size * i);
            } else {
                for (int i = 0; i < n * size; i++)
                    CHECK_INT(out[k][i], (i / n + k) * 100000 + i % n);
            }
            free(in[k]);
            free(out[k]);
        }
    }
    /* One that is under way goes on while the rank is in another call. */
    MPI_Request q;
    int *big = numbers(MOST, rank == 0 ? 6 : 1);
    MPI_Ibcast(big, MOST, MPI_INT, 0, MPI_COMM_WORLD, &q);
    MPI_Barrier(other);
    MPI_Wait(&q, MPI_STATUS_IGNORE);
    CHECK_INT(big[MOST - 1], 600000 + MOST - 1);
    free(big);
    MPI_Comm_free(&other);
}

/* The bits of a sum are those of the blocking form. */
static void same_bits(int n)
{
    double *own = malloc(n * sizeof *own), *one = malloc(n * sizeof *one), *other = malloc(n * sizeof *other);
    MPI_Request q;
    for (int i = 0; i < n; i++)
        own[i] = 1.0 / (rank * 7 + i + 3) * (i % 3 ? 1e9 : 1e-9);
    MPI_Allreduce(own, one, n, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    MPI_Iallreduce(own, other, n, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, &q);
    MPI_Wait(&q, MPI_STATUS_IGNORE);
    CHECK(memcmp(one, other, n * sizeof *one) == 0);
    MPI_Scan(own, one, n, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    MPI_Iscan(own, other, n, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, &q);
    MPI_Wait(&q, MPI_STATUS_IGNORE);
    CHECK(memcmp(one, other, n * sizeof *one) == 0);
    free(own);
    free(one);
    free(other);
}

static void wrong_arguments(void)
{
    MPI_Request q = MPI_REQUEST_NULL;
    int a = 0, b = 0;
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    CHECK_INT(class_of(MPI_Ibcast(&a, 1, MPI_INT, size, MPI_COMM_WORLD, &q)), MPI_ERR_ROOT);
    CHECK_INT(class_of(MPI_Ibcast(&a, -1, MPI_INT, 0, MPI_COMM_WORLD, &q)), MPI_ERR_COUNT);
    CHECK_INT(class_of(MPI_Ibcast(NULL, 1, MPI_INT, 0, MPI_COMM_WORLD, &q)), MPI_ERR_BUFFER);
    CHECK_INT(class_of(MPI_Iallreduce(&a, &b, 1, MPI_INT, MPI_OP_NULL, MPI_COMM_WORLD, &q)), MPI_ERR_OP);
    CHECK_INT(class_of(MPI_Ibarrier(MPI_COMM_WORLD, NULL)), MPI_ERR_ARG);
    CHECK_INT(class_of(MPI_Ialltoallw(&a, NULL, NULL, NULL, &b, NULL, NULL, NULL, MPI_COMM_WORLD, &q)),
              MPI_ERR_ARG);
    CHECK(q == MPI_REQUEST_NULL);
    if (size > 1) {
        MPI_Barrier(MPI_COMM_WORLD);
        MPI_Request gate;
        /* The last rank calls it after a message from rank 0, so it is under way until then. */
        if (rank == size - 1)
            MPI_Recv(&b, 1, MPI_INT, 0, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Ibarrier(MPI_COMM_WORLD, &gate);
        if (rank == 0) {
            CHECK_INT(class_of(MPI_Request_free(&gate)), MPI_ERR_REQUEST);
            CHECK_INT(class_of(MPI_Cancel(&gate)), MPI_ERR_REQUEST);
            MPI_Send(&a, 1, MPI_INT, size - 1, 9, MPI_COMM_WORLD);
        }
        CHECK_INT(MPI_Wait(&gate, MPI_STATUS_IGNORE), MPI_SUCCESS);
    }
}

/* More of a slab each under way than there are slabs, beside messages of that size that nobody has received yet. */
static void more_than_slabs(void)
{
    enum { OPERATIONS = 300, COUNT = 2048 };
    MPI_Request q[OPERATIONS], messages[OPERATIONS];
    MPI_Comm w = MPI_COMM_WORLD;
    int *own = malloc(sizeof(int[OPERATIONS][COUNT])), *sum = malloc(sizeof(int[OPERATIONS][COUNT])), one = 1, all;
    int next = (rank + 1) % size, last = (rank + size - 1) % size;
    for (int i = 0; i < OPERATIONS * COUNT; i++)
        own[i] = rank + i;
    for (int i = 0; i < OPERATIONS; i++)
        MPI_Isend(own + i * COUNT, COUNT, MPI_INT, next, i, w, &messages[i]);
    for (int i = 0; i < OPERATIONS; i++)
        MPI_Iallreduce(own + i * COUNT, sum + i * COUNT, COUNT, MPI_INT, MPI_SUM, w, &q[i]);
    MPI_Allreduce(&one, &all, 1, MPI_INT, MPI_SUM, w);
    CHECK_INT(all, size);
    int *more = malloc(sizeof(int[COUNT]));
    MPI_Allreduce(own, more, COUNT, MPI_INT, MPI_SUM, w);
    for (int i = 0; i < COUNT; i++)
        CHECK_INT(more[i], size * (size - 1) / 2 + size * i);
    MPI_Waitall(OPERATIONS, q, MPI_STATUSES_IGNORE);
    for (int i = 0; i < OPERATIONS * COUNT; i++)
        CHECK_INT(sum[i], size * (size - 1) / 2 + size * i);
    for (int i = 0; i < OPERATIONS; i++) {
        MPI_Recv(more, COUNT, MPI_INT, last, i, w, MPI_STATUS_IGNORE);
        CHECK_INT(more[COUNT - 1], last + i * COUNT + COUNT - 1);
    }
    MPI_Waitall(OPERATIONS, messages, MPI_STATUSES_IGNORE);
    free(more);
    free(own);
    free(sum);
}

int main(int argc, char **argv)
{
    start(&argc, &argv);
    all_calls(1);
    all_calls(4);
    all_calls(MOST);
    with_types(3);
    with_types(2000);
    many_at_once();
    same_bits(1);
    same_bits(2500);
    more_than_slabs();
    wrong_arguments();
    MPI_Finalize();
    return 0;
}
