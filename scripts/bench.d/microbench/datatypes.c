/* Kernels of derived datatypes: a ping-pong of one element that has gaps, at both ends; the size is that of the data.
 * With more than two ranks every pair plays at once.
 *
 * vector: every second double. indexed: doubles at irregular distances. struct: an int, a double and an int with their padding. */
#include "bench.h"

#include <stdlib.h>
#include <string.h>

enum { TAG = 40 };

/* The datatype of the size that is measured: made by the check, which comes before every size. */
static MPI_Datatype element = MPI_DATATYPE_NULL;

static void make_vector(size_t bytes)
{
    MPI_Type_vector((int)(bytes / 8), 1, 2, MPI_DOUBLE, &element);
}

static void make_indexed(size_t bytes)
{
    int count = (int)(bytes / 8), *at = malloc(sizeof(int) * (size_t)count);
    for (int i = 0; i < count; i++)
        at[i] = 3 * i + i * 7 % 5 % 2;
    MPI_Type_create_indexed_block(count, 1, at, MPI_DOUBLE, &element);
    free(at);
}

static void make_struct(size_t bytes)
{
    int lengths[] = {1, 1, 1};
    MPI_Aint at[] = {0, 8, 16};
    MPI_Datatype of[] = {MPI_INT, MPI_DOUBLE, MPI_INT}, one;
    MPI_Type_create_struct(3, lengths, at, of, &one);
    MPI_Type_contiguous((int)(bytes / 16), one, &element);
    MPI_Type_free(&one);
}

/* Room for the element with its gaps. */
static size_t with_gaps(const struct context *c)
{
    return 4 * c->bytes;
}

static double run(struct context *c, long iterations)
{
    int other = partner(c);
    double start = MPI_Wtime();
    if (c->rank % 2 == 0) {
        for (long i = 0; i < iterations; i++) {
            MPI_Send(c->send, 1, element, other, TAG, MPI_COMM_WORLD);
            MPI_Recv(c->receive, 1, element, other, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        }
    } else {
        for (long i = 0; i < iterations; i++) {
            MPI_Recv(c->receive, 1, element, other, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            MPI_Send(c->send, 1, element, other, TAG, MPI_COMM_WORLD);
        }
    }
    return MPI_Wtime() - start;
}

static unsigned char *packed(const struct context *c, const unsigned char *from, int *bytes)
{
    int room = 0;
    MPI_Pack_size(1, element, MPI_COMM_WORLD, &room);
    unsigned char *to = calloc(1, (size_t)room);
    *bytes = 0;
    MPI_Pack(from, 1, element, to, room, bytes, MPI_COMM_WORLD);
    (void)c;
    return to;
}

static void check(struct context *c, const char *kernel, void (*make)(size_t))
{
    if (element != MPI_DATATYPE_NULL)
        MPI_Type_free(&element);
    make(c->bytes);
    MPI_Type_commit(&element);
    if (partner(c) == MPI_PROC_NULL)
        return;
    size_t all = with_gaps(c);
    for (size_t i = 0; i < all; i++)
        c->send[i] = (unsigned char)(i * 11 + (i >> 8) + (size_t)c->rank * 50);
    memset(c->receive, 0, all);
    run(c, 1);
    int sent = 0, received = 0;
    /* The partner's pattern is this one's, shifted. */
    for (size_t i = 0; i < all; i++)
        c->send[i] = (unsigned char)(i * 11 + (i >> 8) + (size_t)partner(c) * 50);
    unsigned char *expected = packed(c, c->send, &sent), *found = packed(c, c->receive, &received);
    for (int i = 0; i < sent; i++)
        if (found[i] != expected[i])
            wrong_data(c, kernel, (size_t)i, found[i], expected[i]);
    free(expected);
    free(found);
}

static void vector_check(struct context *c)
{
    check(c, "vector", make_vector);
}

static void indexed_check(struct context *c)
{
    check(c, "indexed", make_indexed);
}

static void struct_check(struct context *c)
{
    check(c, "struct", make_struct);
}

static double one_way_microseconds(const struct context *c, long iterations, double seconds)
{
    (void)c;
    return seconds / (double)iterations / 2 * 1e6;
}

static const size_t sizes[] = {512, 16384, 65536, 1048576};

#define KERNEL(name, what, check)                                                                                  \
    {name, what, "us", 2, sizes, (int)(sizeof(sizes) / sizeof(sizes[0])), 16, with_gaps, with_gaps, check, run, \
     one_way_microseconds}

const struct kernel datatype_kernels[] = {
    KERNEL("vector", "ping-pong of every second double", vector_check),
    KERNEL("indexed", "ping-pong of doubles at irregular distances", indexed_check),
    KERNEL("struct", "ping-pong of structs with padding", struct_check),
};
const int datatype_kernel_count = (int)(sizeof(datatype_kernels) / sizeof(datatype_kernels[0]));
