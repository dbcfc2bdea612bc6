/* Files: written and read by all ranks together through views that interleave, and scattered bytes that each rank
 * reads by itself.
 *
 * The file is made in $TMPDIR, or /tmp, for each run and deleted after it. Opening it and what a reader writes before
 * is not timed. Nothing is forced to a disk: what is measured is the library and the system's cache. */
#include "bench.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    BLOCK = 1024,      /* bytes of a rank, between those of the others */
    SCATTERED = 128,   /* bytes of a block that is read by itself */
    BLOCKS = 16384     /* such blocks of a rank in a call */
};

static MPI_File open_file(void)
{
    char name[512];
    const char *directory = getenv("TMPDIR");
    snprintf(name, sizeof name, "%s/microbench.%ld", directory ? directory : "/tmp", (long)getpid());
    MPI_Bcast(name, sizeof name, MPI_CHAR, 0, MPI_COMM_WORLD);
    MPI_File file;
    int mode = MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE;
    if (MPI_File_open(MPI_COMM_WORLD, name, mode, MPI_INFO_NULL, &file) != MPI_SUCCESS) {
        fprintf(stderr, "microbench: no file %s can be made; TMPDIR names another directory\n", name);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    return file;
}

/* A view of blocks of so many bytes, the next of which is so many bytes further. */
static void set_view(MPI_File file, MPI_Offset first, int block, int distance)
{
    MPI_Datatype blocks, view;
    MPI_Type_contiguous(block, MPI_BYTE, &blocks);
    MPI_Type_create_resized(blocks, 0, distance, &view);
    MPI_Type_commit(&view);
    MPI_File_set_view(file, first, MPI_BYTE, view, "native", MPI_INFO_NULL);
    MPI_Type_free(&blocks);
    MPI_Type_free(&view);
}

/* ---- write_all, read_all: a file of `bytes`, in blocks that go round the ranks ---- */

static size_t part(const struct context *c)
{
    return c->bytes / (size_t)c->ranks / BLOCK * BLOCK;
}

static size_t part_and_more(const struct context *c)
{
    return part(c) + BLOCK;
}

typedef int collective_access(MPI_File, MPI_Offset, void *, int, MPI_Datatype, MPI_Status *);

static int write_all(MPI_File file, MPI_Offset at, void *data, int bytes, MPI_Datatype type, MPI_Status *status)
{
    return MPI_File_write_at_all(file, at, data, bytes, type, status);
}

static double timed(struct context *c, long iterations, collective_access *access, void *data, int written)
{
    MPI_File file = open_file();
    int bytes = (int)part(c);
    set_view(file, (MPI_Offset)c->rank * BLOCK, BLOCK, c->ranks * BLOCK);
    if (written)
        MPI_File_write_at_all(file, 0, c->send, bytes, MPI_BYTE, MPI_STATUS_IGNORE);
    MPI_Barrier(MPI_COMM_WORLD);
    double start = MPI_Wtime();
    for (long i = 0; i < iterations; i++) {
        MPI_Status status;
        int moved = 0;
        access(file, 0, data, bytes, MPI_BYTE, &status);
        MPI_Get_count(&status, MPI_BYTE, &moved);
        if (moved != bytes)
            wrong_data(c, "an access of a file", 0, moved, bytes);
    }
    double seconds = MPI_Wtime() - start;
    MPI_File_close(&file);
    return seconds;
}

static double write_run(struct context *c, long iterations)
{
    return timed(c, iterations, write_all, c->send, 0);
}

static double read_run(struct context *c, long iterations)
{
    return timed(c, iterations, MPI_File_read_at_all, c->receive, 1);
}

/* Each rank's blocks have its number; a rank reads those of all in a row. */
static void collective_check(struct context *c)
{
    memset(c->send, c->rank + 1, part(c));
    MPI_File file = open_file();
    set_view(file, (MPI_Offset)c->rank * BLOCK, BLOCK, c->ranks * BLOCK);
    MPI_File_write_at_all(file, 0, c->send, (int)part(c), MPI_BYTE, MPI_STATUS_IGNORE);
    MPI_File_read_at_all(file, 0, c->receive, (int)part(c), MPI_BYTE, MPI_STATUS_IGNORE);
    for (size_t i = 0; i < part(c); i++)
        if (c->receive[i] != c->rank + 1)
            wrong_data(c, "read_all", i, c->receive[i], c->rank + 1);
    MPI_File_sync(file);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_File_sync(file);
    MPI_File_set_view(file, 0, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL);
    MPI_File_read_at(file, (MPI_Offset)part(c) * c->rank, c->receive, (int)part(c), MPI_BYTE, MPI_STATUS_IGNORE);
    for (size_t i = 0; i < part(c); i++) {
        int owner = (int)((part(c) * (size_t)c->rank + i) / BLOCK % (size_t)c->ranks);
        if (c->receive[i] != owner + 1)
            wrong_data(c, "write_all", i, c->receive[i], owner + 1);
    }
    MPI_File_close(&file);
}

/* ---- read_scattered: blocks of SCATTERED bytes, `bytes` from each to the next ---- */

static size_t scattered_bytes(const struct context *c)
{
    (void)c;
    return (size_t)SCATTERED * BLOCKS;
}

static double scattered_run(struct context *c, long iterations)
{
    MPI_File file = open_file();
    if (c->rank == 0) {
        /* The file lies in the cache, all of it. */
        unsigned char *data = malloc(1 << 20);
        for (size_t at = 0; at < c->bytes * BLOCKS; at += 1 << 20) {
            for (size_t i = 0; i < 1 << 20; i++)
                data[i] = (unsigned char)((at + i) / c->bytes % 251);
            MPI_File_write_at(file, (MPI_Offset)at, data, 1 << 20, MPI_BYTE, MPI_STATUS_IGNORE);
        }
        free(data);
    }
    MPI_File_sync(file);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_File_sync(file);
    set_view(file, (MPI_Offset)c->rank * SCATTERED, SCATTERED, (int)c->bytes);
    MPI_Barrier(MPI_COMM_WORLD);
    double start = MPI_Wtime();
    for (long i = 0; i < iterations; i++)
        MPI_File_read_at(file, 0, c->receive, SCATTERED * BLOCKS, MPI_BYTE, MPI_STATUS_IGNORE);
    double seconds = MPI_Wtime() - start;
    for (size_t i = 0; i < (size_t)SCATTERED * BLOCKS; i++)
        if (c->receive[i] != i / SCATTERED % 251)
            wrong_data(c, "read_scattered", i, c->receive[i], (double)(i / SCATTERED % 251));
    MPI_File_close(&file);
    return seconds;
}

static void scattered_check(struct context *c)
{
    scattered_run(c, 1);
}

static double milliseconds(const struct context *c, long iterations, double seconds)
{
    (void)c;
    return seconds / (double)iterations * 1e3;
}

static const size_t sizes[] = {1 << 20, 256 << 20};
static const size_t distances[] = {4096, 16384};

const struct kernel file_kernels[] = {
    {"write_all", "a file of this size by MPI_File_write_at_all, blocks of 1 KB that interleave", "ms", 1, sizes, 2, 1,
     part_and_more, part_and_more, collective_check, write_run, milliseconds},
    {"read_all", "the same by MPI_File_read_at_all", "ms", 1, sizes, 2, 1, part_and_more, part_and_more,
     collective_check, read_run, milliseconds},
    {"read_scattered", "16384 blocks of 128 bytes so far apart, by MPI_File_read_at", "ms", 1, distances, 2, 4096,
     scattered_bytes, scattered_bytes, scattered_check, scattered_run, milliseconds},
};
const int file_kernel_count = sizeof file_kernels / sizeof file_kernels[0];
