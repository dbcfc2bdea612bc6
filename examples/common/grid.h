/* A 2-D grid of ranks over a 2-D index space of nx * ny cells, and fields that are spread over it.
 *
 * Rank r stands at column r % columns, row r / columns. Blocks differ by at most one cell a direction, and
 * every number of ranks has a grid (a prime number has a row or a column). */
#ifndef EXAMPLES_GRID_H
#define EXAMPLES_GRID_H

#include <mpi.h>
#include <stddef.h>
#include <stdint.h>

struct grid {
    MPI_Comm comm;
    int rank, ranks;
    int columns, rows; /* of ranks */
    int column, row;   /* where this rank stands */
    int nx, ny;        /* cells of the whole */
    int x0, x1;        /* this rank's cells: x0 <= x < x1, y0 <= y < y1 */
    int y0, y1;
};

/* Lays a grid of comm's ranks over nx * ny cells. `columns` = `rows` = 0 chooses the pair with the least
 * halo; others must multiply to the number of ranks. Every block gets at least `least` cells a direction.
 * Returns 0, or -1 after rank 0 has printed one line that says why there is no such grid. */
int grid_create(struct grid *g, MPI_Comm comm, const char *program, int nx, int ny, int least, int columns,
                int rows);

/* The rank at a column and row, or MPI_PROC_NULL outside the grid. */
int grid_rank(const struct grid *g, int column, int row);

/* Reads "4x2" into columns and rows; 0, or -1 when it is no such thing. */
int grid_parse(const char *text, int *columns, int *rows);

/* Gathers blocks of [depth][y][x] doubles to rank 0, which returns the whole in the same order (free it);
 * other ranks return NULL. Collective. */
double *grid_gather(const struct grid *g, const double *block, int depth);

/* FNV-1a over the bit patterns of the values, least significant byte first, whatever the machine's order. */
uint64_t field_checksum(const double *values, size_t count);

/* Index of the first value whose bits differ, or `count`. */
size_t first_difference(const double *a, const double *b, size_t count);

/* malloc that ends the job with a message instead of returning NULL. Zero-filled. */
void *allocate(size_t count, size_t size);

#endif
