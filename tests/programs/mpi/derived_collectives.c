/* Collectives with derived datatypes: columns and padded structs at one end, contiguous elements or other types at the other, in place too;
 * arrays distributed over the ranks and put together again. */
#include "check.h"
#include <stddef.h>

static MPI_Datatype column_of(int rows, int columns)
{
    MPI_Datatype column, type;
    MPI_Type_vector(rows, 1, columns, MPI_INT, &column);
    MPI_Type_create_resized(column, 0, sizeof(int), &type);
    MPI_Type_commit(&type);
    MPI_Type_free(&column);
    return type;
}

static void columns(int rows)
{
    int n = size, *matrix = malloc(sizeof(int) * rows * n), *mine = malloc(sizeof(int) * rows);
    MPI_Datatype column = column_of(rows, n);
    for (int root = 0; root < size; root++) {
        /* Column i of the root's matrix to rank i, and back with the sign turned. */
        for (int i = 0; i < rows * n; i++)
            matrix[i] = rank == root ? i : -7;
        MPI_Scatter(matrix, 1, column, mine, rows, MPI_INT, root, MPI_COMM_WORLD);
        for (int i = 0; i < rows; i++) {
            CHECK_INT(mine[i], i * n + rank);
            mine[i] = -mine[i];
        }
        MPI_Gather(mine, rows, MPI_INT, matrix, 1, column, root, MPI_COMM_WORLD);
        for (int i = 0; i < rows * n; i++)
            CHECK_INT(matrix[i], rank == root ? -i : -7);
        /* In place: the root's column stays where it is. */
        for (int i = 0; i < rows; i++)
            mine[i] = 5 * i + rank;
        if (rank == root) {
            for (int i = 0; i < rows; i++)
                matrix[i * n + rank] = mine[i];
            MPI_Gather(MPI_IN_PLACE, 1, column, matrix, 1, column, root, MPI_COMM_WORLD);
            for (int i = 0; i < rows * n; i++)
                CHECK_INT(matrix[i], 5 * (i / n) + i % n);
        } else {
            MPI_Gather(mine, rows, MPI_INT, NULL, 0, MPI_INT, root, MPI_COMM_WORLD);
        }
        /* One column of the root's to all. */
        for (int i = 0; i < rows * n; i++)
            matrix[i] = rank == root ? 3 * i : -1;
        MPI_Bcast(matrix + n - 1, 1, column, root, MPI_COMM_WORLD);
        for (int i = 0; i < rows * n; i++)
            CHECK_INT(matrix[i], rank == root || i % n == n - 1 ? 3 * i : -1);
    }
    for (int i = 0; i < rows; i++)
        mine[i] = i * 100 + rank;
    for (int in_place = 0; in_place < 2; in_place++) {
        for (int i = 0; i < rows * n; i++)
            matrix[i] = in_place && i % n == rank ? i / n * 100 + rank : -1;
        MPI_Allgather(in_place ? MPI_IN_PLACE : mine, rows, MPI_INT, matrix, 1, column, MPI_COMM_WORLD);
        for (int i = 0; i < rows * n; i++)
            CHECK_INT(matrix[i], i / n * 100 + i % n);
    }
    /* A transposition over all ranks: column j of rank i becomes row block i of rank j. */
    int *other = malloc(sizeof(int) * rows * n);
    for (int i = 0; i < rows * n; i++)
        matrix[i] = rank * 1000000 + i;
    MPI_Alltoall(matrix, 1, column, other, rows, MPI_INT, MPI_COMM_WORLD);
    for (int from = 0; from < n; from++)
        for (int i = 0; i < rows; i++)
            CHECK_INT(other[from * rows + i], from * 1000000 + i * n + rank);
    MPI_Alltoall(MPI_IN_PLACE, 0, MPI_INT, matrix, 1, column, MPI_COMM_WORLD);
    for (int from = 0; from < n; from++)
        for (int i = 0; i < rows; i++)
            CHECK_INT(matrix[i * n + from], from * 1000000 + i * n + rank);
    /* Counts and displacements in columns: the other way round, one column each. */
    int counts[size], displacements[size];
    for (int i = 0; i < n; i++)
        counts[i] = 1, displacements[i] = n - 1 - i;
    MPI_Allgatherv(mine, rows, MPI_INT, matrix, counts, displacements, column, MPI_COMM_WORLD);
    for (int i = 0; i < rows * n; i++)
        CHECK_INT(matrix[i], i / n * 100 + n - 1 - i % n);
    MPI_Type_free(&column);
    free(matrix);
    free(mine);
    free(other);
}

struct padded {
    char tag;
    double value;
};

static void structs(int count)
{
    struct padded *in = malloc(sizeof *in * count * size), *out = calloc(count, sizeof *out);
    int lengths[] = {1, 1};
    MPI_Aint at[] = {offsetof(struct padded, tag), offsetof(struct padded, value)};
    MPI_Datatype of[] = {MPI_CHAR, MPI_DOUBLE}, type;
    MPI_Type_create_struct(2, lengths, at, of, &type);
    MPI_Type_commit(&type);
    memset(in, 0x33, sizeof *in * count * size);
    for (int i = 0; i < count; i++)
        out[i].tag = i % 50, out[i].value = rank + i * 0.5;
    MPI_Allgather(out, count, type, in, count, type, MPI_COMM_WORLD);
    for (int i = 0; i < count * size; i++) {
        CHECK(in[i].tag == i % count % 50 && in[i].value == i / count + i % count * 0.5);
        CHECK_INT(((char *)&in[i])[3], 0x33);
    }
    MPI_Type_free(&type);
    free(in);
    free(out);
}

/* A matrix distributed over all ranks: each takes its share out of it, and the shares make up the matrix. */
static void distributed(int rows, int columns, const int *distribs, const int *dargs, int order)
{
    int gsizes[] = {rows, columns}, psizes[] = {0, 0}, share, all = rows * columns;
    MPI_Datatype type;
    for (psizes[0] = 1; psizes[0] * psizes[0] < size || size % psizes[0]; psizes[0]++)
        ;
    psizes[1] = size / psizes[0];
    if (distribs[1] == MPI_DISTRIBUTE_NONE)
        psizes[0] = size, psizes[1] = 1;
    int *matrix = malloc(sizeof(int) * all), *mine = malloc(sizeof(int) * all), *again = malloc(sizeof(int) * all);
    for (int i = 0; i < all; i++)
        matrix[i] = i, again[i] = -1;
    MPI_Type_create_darray(size, rank, 2, gsizes, distribs, dargs, psizes, order, MPI_INT, &type);
    MPI_Type_commit(&type);
    MPI_Type_size(type, &share);
    MPI_Sendrecv(matrix, 1, type, rank, 1, mine, share / 4, MPI_INT, rank, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    /* All shares to rank 0, which puts each where it belongs. */
    MPI_Request request;
    MPI_Isend(mine, share / 4, MPI_INT, 0, 2, MPI_COMM_WORLD, &request);
    if (rank == 0) {
        int total = 0;
        for (int i = 0; i < size; i++) {
            MPI_Datatype theirs;
            int bytes;
            MPI_Type_create_darray(size, i, 2, gsizes, distribs, dargs, psizes, order, MPI_INT, &theirs);
            MPI_Type_commit(&theirs);
            MPI_Type_size(theirs, &bytes);
            total += bytes;
            MPI_Recv(again, 1, theirs, i, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            MPI_Type_free(&theirs);
        }
        CHECK_INT(total, all * 4);
        CHECK(memcmp(again, matrix, sizeof(int) * all) == 0);
    }
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Type_free(&type);
    free(matrix);
    free(mine);
    free(again);
}

static void reductions(void)
{
    MPI_Datatype pair, real;
    double values[2] = {1, 2}, sums[2];
    MPI_Type_contiguous(2, MPI_DOUBLE, &pair);
    MPI_Type_commit(&pair);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    CHECK_INT(class_of(MPI_Allreduce(values, sums, 1, pair, MPI_SUM, MPI_COMM_WORLD)), MPI_ERR_OP);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
    MPI_Type_free(&pair);
    MPI_Type_create_f90_real(15, MPI_UNDEFINED, &real);
    MPI_Allreduce(values, sums, 2, real, MPI_SUM, MPI_COMM_WORLD);
    CHECK(sums[0] == size && sums[1] == 2 * size);
}

int main(int argc, char **argv)
{
    start(&argc, &argv);
    int rows[] = {1, 7, 300, 5000, 60000};
    for (int i = 0; i < 5; i++) {
        columns(rows[i]);
        structs(rows[i]);
    }
    int blocks[] = {MPI_DISTRIBUTE_BLOCK, MPI_DISTRIBUTE_BLOCK}, plain[] = {MPI_DISTRIBUTE_DFLT_DARG, MPI_DISTRIBUTE_DFLT_DARG};
    int cycles[] = {MPI_DISTRIBUTE_CYCLIC, MPI_DISTRIBUTE_CYCLIC}, some[] = {3, 2};
    int mixed[] = {MPI_DISTRIBUTE_CYCLIC, MPI_DISTRIBUTE_NONE};
    for (int order = 0; order < 2; order++) {
        distributed(17, 23, blocks, plain, order ? MPI_ORDER_C : MPI_ORDER_FORTRAN);
        distributed(17, 23, cycles, plain, order ? MPI_ORDER_C : MPI_ORDER_FORTRAN);
        distributed(170, 231, cycles, some, order ? MPI_ORDER_C : MPI_ORDER_FORTRAN);
        distributed(40, 9, mixed, plain, order ? MPI_ORDER_C : MPI_ORDER_FORTRAN);
    }
    reductions();
    return MPI_Finalize();
}
