/* Ghost cells: exchange with the eight neighbours, mirrors at walls; see mesh.h.
 *
 * All receives are posted, then all sends; the caller computes what needs no ghosts, and one MPI_Waitall ends
 * it. Halos are packed by hand. A neighbour that is the rank itself (periodic, one column) costs no message.
 */
#include "mesh.h"

#include <stdlib.h>

struct range {
    int x0, x1, y0, y1;
};

static void span(int d, int n, int outside, int *from, int *to)
{
    *from = d == 0 ? 0 : d < 0 ? (outside ? -GHOSTS : 0) : (outside ? n : n - GHOSTS);
    *to = d == 0 ? n : *from + GHOSTS;
}

/* The owned cells that go to a direction's neighbour, or the ghosts that come from it. */
static struct range strip(const struct mesh *m, int direction, int outside)
{
    struct range r;
    span(direction % 3 - 1, m->nx, outside, &r.x0, &r.x1);
    span(direction / 3 - 1, m->ny, outside, &r.y0, &r.y1);
    return r;
}

static int strip_values(const struct mesh *m, int direction)
{
    struct range r = strip(m, direction, 1);
    return (r.x1 - r.x0) * (r.y1 - r.y0) * FIELDS;
}

static int wrapped(int at, int n, enum boundary boundary)
{
    return boundary == PERIODIC ? (at + n) % n : at;
}

void mesh_create(struct mesh *m)
{
    const struct grid *g = m->grid;
    m->nx = g->x1 - g->x0;
    m->ny = g->y1 - g->y0;
    m->request_count = 0;
    for (int d = 0; d < DIRECTIONS; d++) {
        int column = wrapped(g->column + d % 3 - 1, g->columns, m->boundary_x);
        int row = wrapped(g->row + d / 3 - 1, g->rows, m->boundary_y);
        m->neighbour[d] = d == 4 ? MPI_PROC_NULL : grid_rank(g, column, row);
        m->outgoing[d] = allocate((size_t)strip_values(m, d), sizeof(double));
        m->incoming[d] = allocate((size_t)strip_values(m, d), sizeof(double));
    }
}

void mesh_free(struct mesh *m)
{
    for (int d = 0; d < DIRECTIONS; d++) {
        free(m->outgoing[d]);
        free(m->incoming[d]);
    }
}

double *mesh_field(const struct mesh *m)
{
    return allocate(mesh_stride(m) * (size_t)(m->ny + 2 * GHOSTS), sizeof(double));
}

int mesh_wall(const struct mesh *m, int dx, int dy)
{
    return m->neighbour[(dy + 1) * 3 + dx + 1] == MPI_PROC_NULL;
}

static void pack(const struct mesh *m, double *const fields[FIELDS], int direction)
{
    struct range r = strip(m, direction, 0);
    double *to = m->outgoing[direction];
    for (int f = 0; f < FIELDS; f++)
        for (int y = r.y0; y < r.y1; y++)
            for (int x = r.x0; x < r.x1; x++)
                *to++ = fields[f][mesh_at(m, x, y)];
}

static void unpack(const struct mesh *m, double *const fields[FIELDS], int direction, const double *from)
{
    struct range r = strip(m, direction, 1);
    for (int f = 0; f < FIELDS; f++)
        for (int y = r.y0; y < r.y1; y++)
            for (int x = r.x0; x < r.x1; x++)
                fields[f][mesh_at(m, x, y)] = *from++;
}

static int remote(const struct mesh *m, int direction)
{
    return m->neighbour[direction] != MPI_PROC_NULL && m->neighbour[direction] != m->grid->rank;
}

/* A message's tag is the direction it travels, so that two neighbours that are one rank stay apart. */
void mesh_exchange_start(struct mesh *m, double *const fields[FIELDS])
{
    m->request_count = 0;
    for (int d = 0; d < DIRECTIONS; d++)
        if (remote(m, d))
            MPI_Irecv(m->incoming[d], strip_values(m, d), MPI_DOUBLE, m->neighbour[d], DIRECTIONS - 1 - d,
                      m->grid->comm, &m->requests[m->request_count++]);
    for (int d = 0; d < DIRECTIONS; d++) {
        if (m->neighbour[d] != MPI_PROC_NULL)
            pack(m, fields, d);
        if (remote(m, d))
            MPI_Isend(m->outgoing[d], strip_values(m, d), MPI_DOUBLE, m->neighbour[d], d, m->grid->comm,
                      &m->requests[m->request_count++]);
    }
}

/* Mirrors owned cells into the ghosts of a wall; the velocity across the wall changes its sign. */
static void reflect_x(const struct mesh *m, double *const fields[FIELDS], int side)
{
    for (int f = 0; f < FIELDS; f++)
        for (int y = -GHOSTS; y < m->ny + GHOSTS; y++)
            for (int g = 0; g < GHOSTS; g++) {
                int ghost = side < 0 ? -1 - g : m->nx + g, owned = side < 0 ? g : m->nx - 1 - g;
                double v = fields[f][mesh_at(m, owned, y)];
                fields[f][mesh_at(m, ghost, y)] = f == 1 ? -v : v;
            }
}

static void reflect_y(const struct mesh *m, double *const fields[FIELDS], int side)
{
    for (int f = 0; f < FIELDS; f++)
        for (int g = 0; g < GHOSTS; g++) {
            int ghost = side < 0 ? -1 - g : m->ny + g, owned = side < 0 ? g : m->ny - 1 - g;
            for (int x = -GHOSTS; x < m->nx + GHOSTS; x++) {
                double v = fields[f][mesh_at(m, x, owned)];
                fields[f][mesh_at(m, x, ghost)] = f == 2 ? -v : v;
            }
        }
}

void mesh_exchange_finish(struct mesh *m, double *const fields[FIELDS])
{
    MPI_Waitall(m->request_count, m->requests, MPI_STATUSES_IGNORE);
    m->request_count = 0;
    for (int d = 0; d < DIRECTIONS; d++)
        if (m->neighbour[d] != MPI_PROC_NULL)
            unpack(m, fields, d, remote(m, d) ? m->incoming[d] : m->outgoing[DIRECTIONS - 1 - d]);
    for (int side = -1; side <= 1; side += 2)
        if (mesh_wall(m, side, 0))
            reflect_x(m, fields, side);
    for (int side = -1; side <= 1; side += 2)
        if (mesh_wall(m, 0, side))
            reflect_y(m, fields, side);
}
