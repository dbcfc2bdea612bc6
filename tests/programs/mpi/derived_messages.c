/* Messages of derived datatypes: sent with one type and received with another that has the same elements; every size from a few bytes to
 * megabytes, so that every way through the library is taken. */
#include "check.h"
#include <stddef.h>

static int left, right;

static void vector_to_contiguous(int rows)
{
    int *matrix = malloc(sizeof(int) * 3 * rows), *column = malloc(sizeof(int) * rows);
    MPI_Datatype type, back;
    MPI_Status status;
    int count;
    MPI_Type_vector(rows, 1, 3, MPI_INT, &type);
    MPI_Type_commit(&type);
    MPI_Type_create_hvector(rows, 1, -12, MPI_INT, &back);
    MPI_Type_commit(&back);
    for (int i = 0; i < rows; i++)
        matrix[3 * i] = -1, matrix[3 * i + 1] = 1000 * rank + i, matrix[3 * i + 2] = -2;
    MPI_Sendrecv(matrix + 1, 1, type, right, 1, column, rows, MPI_INT, left, 1, MPI_COMM_WORLD, &status);
    MPI_Get_count(&status, MPI_INT, &count);
    CHECK_INT(count, rows);
    for (int i = 0; i < rows; i++)
        CHECK_INT(column[i], 1000 * left + i);
    /* Back, from the last row to the first, and without blocking; types are freed while under way. */
    MPI_Request requests[2];
    MPI_Irecv(matrix + 3 * (rows - 1), 1, back, right, 2, MPI_COMM_WORLD, &requests[0]);
    MPI_Isend(column, rows, MPI_INT, left, 2, MPI_COMM_WORLD, &requests[1]);
    MPI_Type_free(&back);
    MPI_Type_free(&type);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    for (int i = 0; i < rows; i++) {
        CHECK_INT(matrix[3 * i], 1000 * rank + rows - 1 - i);
        CHECK_INT(matrix[3 * i + 1], 1000 * rank + i);
        CHECK_INT(matrix[3 * i + 2], -2);
    }
    free(matrix);
    free(column);
}

struct particle {
    char kind;
    double place[3];
    int id;
};

static void structs(int particles)
{
    struct particle *out = calloc(particles, sizeof *out), *in = malloc(sizeof *in * particles);
    int lengths[] = {1, 3, 1}, elements;
    MPI_Aint at[] = {offsetof(struct particle, kind), offsetof(struct particle, place), offsetof(struct particle, id)};
    MPI_Datatype of[] = {MPI_CHAR, MPI_DOUBLE, MPI_INT}, packed, type;
    MPI_Status status;
    MPI_Type_create_struct(3, lengths, at, of, &packed);
    MPI_Type_create_resized(packed, 0, sizeof(struct particle), &type);
    MPI_Type_commit(&type);
    MPI_Type_free(&packed);
    memset(in, 0x77, sizeof *in * particles);
    for (int i = 0; i < particles; i++)
        out[i] = (struct particle){'a' + i % 26, {i, rank, -i}, i};
    MPI_Sendrecv(out, particles, type, right, 3, in, particles, type, left, 3, MPI_COMM_WORLD, &status);
    MPI_Get_elements(&status, type, &elements);
    CHECK_INT(elements, 5 * particles);
    for (int i = 0; i < particles; i++) {
        CHECK(in[i].kind == 'a' + i % 26 && in[i].place[0] == i && in[i].place[1] == left && in[i].id == i);
        /* Padding is not touched. */
        CHECK_INT(((char *)&in[i])[1], 0x77);
    }
    /* A part of an element: its first four. */
    MPI_Type_free(&type);
    MPI_Type_create_struct(2, lengths, at, of, &packed);
    MPI_Type_commit(&packed);
    MPI_Type_create_struct(3, lengths, at, of, &type);
    MPI_Type_commit(&type);
    MPI_Sendrecv(out, 1, packed, right, 4, in, 1, type, left, 4, MPI_COMM_WORLD, &status);
    MPI_Get_elements(&status, type, &elements);
    CHECK_INT(elements, 4);
    MPI_Get_count(&status, type, &elements);
    CHECK_INT(elements, MPI_UNDEFINED);
    MPI_Type_free(&packed);
    MPI_Type_free(&type);
    free(out);
    free(in);
}

/* Columns of a matrix, one after the other, become rows of another: a transposition. */
static void resized_columns(int n)
{
    int *matrix = malloc(sizeof(int) * n * n), *other = malloc(sizeof(int) * n * n);
    MPI_Datatype column, type;
    MPI_Type_vector(n, 1, n, MPI_INT, &column);
    MPI_Type_create_resized(column, 0, sizeof(int), &type);
    MPI_Type_commit(&type);
    for (int i = 0; i < n * n; i++)
        matrix[i] = i + rank;
    MPI_Sendrecv(matrix, n, type, right, 5, other, n * n, MPI_INT, left, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            CHECK_INT(other[i * n + j], j * n + i + left);
    /* And within one memory. */
    MPI_Sendrecv(matrix, n, type, rank, 6, other, n * n, MPI_INT, rank, 6, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            CHECK_INT(other[i * n + j], j * n + i + rank);
    MPI_Type_free(&column);
    MPI_Type_free(&type);
    free(matrix);
    free(other);
}

/* A block of three dimensions with a halo: the last inner layer of each goes to the first outer one of the next. */
static void halo(int n)
{
    int sizes[] = {n + 2, n + 2, n + 2}, total = sizes[0] * sizes[1] * sizes[2];
    double *block = malloc(sizeof(double) * total);
    for (int dimension = 0; dimension < 3; dimension++) {
        int part[] = {n, n, n}, inner[] = {1, 1, 1}, outer[] = {1, 1, 1};
        MPI_Datatype from, to;
        MPI_Request request;
        part[dimension] = 1, inner[dimension] = n, outer[dimension] = 0;
        MPI_Type_create_subarray(3, sizes, part, inner, MPI_ORDER_C, MPI_DOUBLE, &from);
        MPI_Type_create_subarray(3, sizes, part, outer, MPI_ORDER_C, MPI_DOUBLE, &to);
        MPI_Type_commit(&from);
        MPI_Type_commit(&to);
        for (int i = 0; i < total; i++)
            block[i] = rank * 1e6 + i;
        MPI_Irecv(block, 1, to, left, 7, MPI_COMM_WORLD, &request);
        MPI_Send(block, 1, from, right, 7, MPI_COMM_WORLD);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        int step = dimension == 0 ? sizes[1] * sizes[2] : dimension == 1 ? sizes[2] : 1;
        for (int i = 0; i < total; i++) {
            int index[] = {i / (sizes[1] * sizes[2]), i / sizes[2] % sizes[1], i % sizes[2]}, is_halo = index[dimension] == 0;
            for (int d = 0; d < 3; d++)
                is_halo &= d == dimension || (index[d] >= 1 && index[d] <= n);
            CHECK(block[i] == (is_halo ? left * 1e6 + i + n * step : rank * 1e6 + i));
        }
        MPI_Type_free(&from);
        MPI_Type_free(&to);
    }
    free(block);
}

static void bottom(void)
{
    int a = 10 + rank, lengths[] = {1, 2};
    double b[2] = {rank + 0.5, rank + 0.25};
    MPI_Aint at[2];
    MPI_Datatype of[] = {MPI_INT, MPI_DOUBLE}, type;
    MPI_Get_address(&a, &at[0]);
    MPI_Get_address(b, &at[1]);
    MPI_Type_create_struct(2, lengths, at, of, &type);
    MPI_Type_commit(&type);
    MPI_Sendrecv_replace(MPI_BOTTOM, 1, type, right, 8, left, 8, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    CHECK(a == 10 + left && b[0] == left + 0.5 && b[1] == left + 0.25);
    MPI_Type_free(&type);
}

/* Types that are contiguous in memory are used where they are; a type of nothing sends nothing. */
static void contiguous_and_nothing(void)
{
    double values[64], got[64];
    MPI_Datatype row, type, nothing;
    MPI_Status status;
    int count;
    MPI_Type_contiguous(8, MPI_DOUBLE, &row);
    MPI_Type_create_resized(row, 0, 100, &type);
    MPI_Type_commit(&type);
    MPI_Type_contiguous(0, type, &nothing);
    MPI_Type_commit(&nothing);
    for (int i = 0; i < 64; i++)
        values[i] = rank + i, got[i] = -1;
    MPI_Sendrecv(values + 8, 1, type, right, 9, got, 8, MPI_DOUBLE, left, 9, MPI_COMM_WORLD, &status);
    for (int i = 0; i < 9; i++)
        CHECK(got[i] == (i < 8 ? left + 8 + i : -1));
    MPI_Sendrecv(NULL, 7, nothing, right, 9, got, 8, MPI_DOUBLE, left, 9, MPI_COMM_WORLD, &status);
    MPI_Get_count(&status, MPI_DOUBLE, &count);
    CHECK_INT(count, 0);
    MPI_Get_count(&status, nothing, &count);
    CHECK_INT(count, 0);
    MPI_Type_free(&row);
    MPI_Type_free(&type);
    MPI_Type_free(&nothing);
}

int main(int argc, char **argv)
{
    int rows[] = {1, 2, 5, 7, 100, 900, 3000, 5000, 40000, 300000};
    start(&argc, &argv);
    right = (rank + 1) % size, left = (rank + size - 1) % size;
    for (int i = 0; i < 10; i++) {
        vector_to_contiguous(rows[i]);
        structs(rows[i] % 50000 + 1);
    }
    resized_columns(5);
    resized_columns(150);
    halo(3);
    halo(30);
    bottom();
    contiguous_and_nothing();
    return MPI_Finalize();
}
