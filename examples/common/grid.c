/* Rank grids and gathered fields; see grid.h. */
#include "grid.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void *allocate(size_t count, size_t size)
{
    void *p = calloc(count ? count : 1, size);
    if (!p) {
        fprintf(stderr, "no memory for %zu values of %zu bytes\n", count, size);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    return p;
}

static int block_start(int cells, int parts, int part)
{
    return (int)((long long)cells * part / parts);
}

/* Halo cells of the largest block, or -1 when a block would be too small. */
static long halo(int nx, int ny, int least, int columns, int rows)
{
    if (nx / columns < least || ny / rows < least)
        return -1;
    long width = (nx + columns - 1) / columns, height = (ny + rows - 1) / rows;
    return (columns > 1 ? height : 0) + (rows > 1 ? width : 0);
}

static int choose(int ranks, int nx, int ny, int least, int *columns, int *rows)
{
    long best = -1;
    for (int c = 1; c <= ranks; c++) {
        long h = ranks % c == 0 ? halo(nx, ny, least, c, ranks / c) : -1;
        if (h >= 0 && (best < 0 || h < best)) {
            best = h;
            *columns = c;
            *rows = ranks / c;
        }
    }
    return best < 0 ? -1 : 0;
}

static void place(struct grid *g, int rank, int *x0, int *x1, int *y0, int *y1)
{
    int column = rank % g->columns, row = rank / g->columns;
    *x0 = block_start(g->nx, g->columns, column);
    *x1 = block_start(g->nx, g->columns, column + 1);
    *y0 = block_start(g->ny, g->rows, row);
    *y1 = block_start(g->ny, g->rows, row + 1);
}

int grid_create(struct grid *g, MPI_Comm comm, const char *program, int nx, int ny, int least, int columns,
                int rows)
{
    memset(g, 0, sizeof(*g));
    g->comm = comm;
    MPI_Comm_rank(comm, &g->rank);
    MPI_Comm_size(comm, &g->ranks);
    g->nx = nx;
    g->ny = ny;
    if (columns == 0 && choose(g->ranks, nx, ny, least, &columns, &rows)) {
        if (g->rank == 0)
            fprintf(stderr,
                    "%s: %d x %d cells cannot be cut into %d blocks of at least %d cells a side; use fewer "
                    "ranks\n",
                    program, nx, ny, g->ranks, least);
        return -1;
    }
    if (columns * rows != g->ranks || halo(nx, ny, least, columns, rows) < 0) {
        if (g->rank == 0)
            fprintf(stderr,
                    "%s: --grid %dx%d does not fit %d ranks over %d x %d cells (at least %d cells a side)\n",
                    program, columns, rows, g->ranks, nx, ny, least);
        return -1;
    }
    g->columns = columns;
    g->rows = rows;
    g->column = g->rank % columns;
    g->row = g->rank / columns;
    place(g, g->rank, &g->x0, &g->x1, &g->y0, &g->y1);
    return 0;
}

int grid_rank(const struct grid *g, int column, int row)
{
    if (column < 0 || column >= g->columns || row < 0 || row >= g->rows)
        return MPI_PROC_NULL;
    return row * g->columns + column;
}

int grid_parse(const char *text, int *columns, int *rows)
{
    char *end = NULL;
    long c = strtol(text, &end, 10);
    if (end == text || *end != 'x')
        return -1;
    const char *second = end + 1;
    long r = strtol(second, &end, 10);
    if (end == second || *end != '\0' || c < 1 || r < 1 || c > 100000 || r > 100000)
        return -1;
    *columns = (int)c;
    *rows = (int)r;
    return 0;
}

double *grid_gather(const struct grid *g, const double *block, int depth)
{
    struct grid any = *g;
    int mine = (g->x1 - g->x0) * (g->y1 - g->y0) * depth;
    if (g->rank != 0) {
        MPI_Gatherv(block, mine, MPI_DOUBLE, NULL, NULL, NULL, MPI_DOUBLE, 0, g->comm);
        return NULL;
    }
    int *counts = allocate((size_t)g->ranks, sizeof(int)), *starts = allocate((size_t)g->ranks, sizeof(int));
    int x0, x1, y0, y1;
    size_t cells = (size_t)g->nx * (size_t)g->ny * (size_t)depth;
    for (int r = 0, at = 0; r < g->ranks; r++) {
        place(&any, r, &x0, &x1, &y0, &y1);
        counts[r] = (x1 - x0) * (y1 - y0) * depth;
        starts[r] = at;
        at += counts[r];
    }
    double *blocks = allocate(cells, sizeof(double)), *whole = allocate(cells, sizeof(double));
    MPI_Gatherv(block, mine, MPI_DOUBLE, blocks, counts, starts, MPI_DOUBLE, 0, g->comm);
    for (int r = 0; r < g->ranks; r++) {
        place(&any, r, &x0, &x1, &y0, &y1);
        const double *from = blocks + starts[r];
        for (int d = 0; d < depth; d++)
            for (int y = y0; y < y1; y++, from += x1 - x0)
                memcpy(whole + ((size_t)d * (size_t)g->ny + (size_t)y) * (size_t)g->nx + (size_t)x0, from,
                       (size_t)(x1 - x0) * sizeof(double));
    }
    free(blocks);
    free(starts);
    free(counts);
    return whole;
}

uint64_t field_checksum(const double *values, size_t count)
{
    uint64_t hash = 0xCBF29CE484222325u;
    for (size_t i = 0; i < count; i++) {
        uint64_t bits;
        memcpy(&bits, &values[i], sizeof(bits));
        for (int b = 0; b < 64; b += 8) {
            hash ^= (bits >> b) & 0xFF;
            hash *= 0x100000001B3u;
        }
    }
    return hash;
}

size_t first_difference(const double *a, const double *b, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (memcmp(&a[i], &b[i], sizeof(double)) != 0)
            return i;
    return count;
}
