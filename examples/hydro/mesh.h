/* One rank's part of the mesh: cell fields with a ghost layer two cells wide, and their exchange.
 *
 * A field is an array of (nx + 4) * (ny + 4) doubles; mesh_at(m, x, y) is the index of cell (x, y), where
 * owned cells have 0 <= x < nx, 0 <= y < ny and ghosts lie around them. */
#ifndef HYDRO_MESH_H
#define HYDRO_MESH_H

#include "../common/grid.h"

/* A direction is (dy + 1) * 3 + (dx + 1); 4 is the rank itself. */
enum { GHOSTS = 2, FIELDS = 4, DIRECTIONS = 9 };
enum boundary { PERIODIC, REFLECT };

struct mesh {
    struct grid *grid;
    int nx, ny;
    double dx, dy;
    enum boundary boundary_x, boundary_y;
    int neighbour[DIRECTIONS]; /* MPI_PROC_NULL where a wall is */
    double *outgoing[DIRECTIONS], *incoming[DIRECTIONS];
    MPI_Request requests[2 * DIRECTIONS];
    int request_count;
};

static inline size_t mesh_stride(const struct mesh *m)
{
    return (size_t)(m->nx + 2 * GHOSTS);
}

static inline size_t mesh_at(const struct mesh *m, int x, int y)
{
    return (size_t)(y + GHOSTS) * mesh_stride(m) + (size_t)(x + GHOSTS);
}

/* Takes grid, dx, dy and boundaries from the struct. */
void mesh_create(struct mesh *m);
void mesh_free(struct mesh *m);
double *mesh_field(const struct mesh *m);

/* Is this rank at a wall (not at a periodic edge) on its low or high side? */
int mesh_wall(const struct mesh *m, int dx, int dy);

/* Starts to exchange the ghosts of four fields: density, velocity x, velocity y, pressure. Owned cells may
 * be read, and must not be changed, until mesh_exchange_finish has filled the ghosts, walls included. */
void mesh_exchange_start(struct mesh *m, double *const fields[FIELDS]);
void mesh_exchange_finish(struct mesh *m, double *const fields[FIELDS]);

#endif
