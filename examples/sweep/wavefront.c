/* The order of the stages and the messages between them; see wavefront.h.
 *
 * A stage receives its inflow from the upstream column and row, solves, and sends its outflow downstream:
 * four messages a stage. All ranks walk the same list of stages.
 *
 *  - blocking:    MPI_Recv twice, solve, MPI_Send twice, as the original codes of this kind do.
 *  - nonblocking: the receives of the next stage are posted before this one is solved, sends are started
 *                 after it, and one MPI_Waitall at the head of a stage collects this stage's receives and
 *                 the last one's sends (§6.3 of the paper: the change that removes the blocking calls).
 *
 * Neither can deadlock: a stage waits only for earlier stages, or for the same stage upstream. */
#include "wavefront.h"

#include <stdlib.h>
#include <string.h>

enum { TAG_X = 1, TAG_Y = 2 };

/* A stage with its neighbours. */
struct step {
    struct stage stage;
    int from_x, to_x, from_y, to_y;
    int count_x, count_y; /* doubles in a message */
    int starts, ends;     /* the first, the last stage of its octant and angle block */
};

static int blocks_of(int whole, int part)
{
    return (whole + part - 1) / part;
}

static int step_count(const struct wavefront *w)
{
    return 8 * blocks_of(w->quadrature->angles, w->angles_a_stage) *
           blocks_of(w->block->nz, w->planes_a_stage);
}

static struct step step_at(const struct wavefront *w, int index)
{
    const struct grid *g = w->grid;
    int k_blocks = blocks_of(w->block->nz, w->planes_a_stage);
    int angle_blocks = blocks_of(w->quadrature->angles, w->angles_a_stage);
    int k_block = index % k_blocks, angle_block = index / k_blocks % angle_blocks;
    int octant = index / k_blocks / angle_blocks;
    struct step s;
    /* Octants in pairs that share their corner of the grid of ranks: the pipeline runs on within a pair. */
    s.stage.sz = octant & 1 ? 1 : -1;
    s.stage.sx = octant & 2 ? 1 : -1;
    s.stage.sy = octant & 4 ? 1 : -1;
    s.stage.first_angle = angle_block * w->angles_a_stage;
    s.stage.angles = w->quadrature->angles - s.stage.first_angle;
    if (s.stage.angles > w->angles_a_stage)
        s.stage.angles = w->angles_a_stage;
    s.stage.first_plane = k_block * w->planes_a_stage;
    s.stage.planes = w->block->nz - s.stage.first_plane;
    if (s.stage.planes > w->planes_a_stage)
        s.stage.planes = w->planes_a_stage;
    s.from_x = grid_rank(g, g->column - s.stage.sx, g->row);
    s.to_x = grid_rank(g, g->column + s.stage.sx, g->row);
    s.from_y = grid_rank(g, g->column, g->row - s.stage.sy);
    s.to_y = grid_rank(g, g->column, g->row + s.stage.sy);
    s.count_x = s.stage.planes * w->block->ny * s.stage.angles;
    s.count_y = s.stage.planes * w->block->nx * s.stage.angles;
    s.starts = k_block == 0;
    s.ends = k_block == k_blocks - 1;
    return s;
}

void wavefront_create(struct wavefront *w)
{
    size_t nx = (size_t)w->block->nx, ny = (size_t)w->block->ny;
    size_t planes = (size_t)w->planes_a_stage, angles = (size_t)w->angles_a_stage;
    for (int i = 0; i < 2; i++) {
        w->psi_x[i] = allocate(planes * ny * angles, sizeof(double));
        w->psi_y[i] = allocate(planes * nx * angles, sizeof(double));
    }
    w->psi_z = allocate(nx * ny * angles, sizeof(double));
    w->fixups = 0;
    w->leakage = 0;
}

void wavefront_free(struct wavefront *w)
{
    for (int i = 0; i < 2; i++) {
        free(w->psi_x[i]);
        free(w->psi_y[i]);
    }
    free(w->psi_z);
}

/* Particles a second that cross a face: the sum of weight * cosine * angular flux, times the area. */
static double crossing(const double *psi, int places, const struct stage *s, const double *weight,
                       const double *cosine, double area)
{
    double sum = 0;
    for (int i = 0; i < places; i++)
        for (int m = 0; m < s->angles; m++)
            sum += weight[s->first_angle + m] * cosine[s->first_angle + m] *
                   psi[(size_t)i * (size_t)s->angles + (size_t)m];
    return sum * area;
}

/* Vacuum outside: nothing flows in through the outer faces. */
static void vacuum(struct wavefront *w, const struct step *s, double *psi_x, double *psi_y)
{
    if (s->from_x == MPI_PROC_NULL)
        memset(psi_x, 0, (size_t)s->count_x * sizeof(double));
    if (s->from_y == MPI_PROC_NULL)
        memset(psi_y, 0, (size_t)s->count_y * sizeof(double));
    if (s->starts)
        memset(w->psi_z, 0,
               (size_t)w->block->nx * (size_t)w->block->ny * (size_t)s->stage.angles * sizeof(double));
}

static void solve(struct wavefront *w, const struct step *s, double *psi_x, double *psi_y)
{
    const struct block *b = w->block;
    const struct quadrature *q = w->quadrature;
    vacuum(w, s, psi_x, psi_y);
    w->fixups += stage_solve(b, q, &s->stage, psi_x, psi_y, w->psi_z);
    if (s->to_x == MPI_PROC_NULL)
        w->leakage += crossing(psi_x, s->stage.planes * b->ny, &s->stage, q->weight, q->mu, b->dy * b->dz);
    if (s->to_y == MPI_PROC_NULL)
        w->leakage += crossing(psi_y, s->stage.planes * b->nx, &s->stage, q->weight, q->eta, b->dx * b->dz);
    if (s->ends)
        w->leakage += crossing(w->psi_z, b->nx * b->ny, &s->stage, q->weight, q->xi, b->dx * b->dy);
}

static void sweep_blocking(struct wavefront *w)
{
    MPI_Comm comm = w->grid->comm;
    double *psi_x = w->psi_x[0], *psi_y = w->psi_y[0];
    for (int i = 0; i < step_count(w); i++) {
        struct step s = step_at(w, i);
        if (s.from_x != MPI_PROC_NULL)
            MPI_Recv(psi_x, s.count_x, MPI_DOUBLE, s.from_x, TAG_X, comm, MPI_STATUS_IGNORE);
        if (s.from_y != MPI_PROC_NULL)
            MPI_Recv(psi_y, s.count_y, MPI_DOUBLE, s.from_y, TAG_Y, comm, MPI_STATUS_IGNORE);
        solve(w, &s, psi_x, psi_y);
        if (s.to_x != MPI_PROC_NULL)
            MPI_Send(psi_x, s.count_x, MPI_DOUBLE, s.to_x, TAG_X, comm);
        if (s.to_y != MPI_PROC_NULL)
            MPI_Send(psi_y, s.count_y, MPI_DOUBLE, s.to_y, TAG_Y, comm);
    }
}

/* requests[0..2): receives, requests[2..4): sends; MPI_REQUEST_NULL where there is none. */
static void post_receives(struct wavefront *w, int index, MPI_Request *requests)
{
    if (index == step_count(w))
        return;
    struct step s = step_at(w, index);
    if (s.from_x != MPI_PROC_NULL)
        MPI_Irecv(w->psi_x[index % 2], s.count_x, MPI_DOUBLE, s.from_x, TAG_X, w->grid->comm, &requests[0]);
    if (s.from_y != MPI_PROC_NULL)
        MPI_Irecv(w->psi_y[index % 2], s.count_y, MPI_DOUBLE, s.from_y, TAG_Y, w->grid->comm, &requests[1]);
}

static void sweep_nonblocking(struct wavefront *w)
{
    MPI_Request requests[4] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL, MPI_REQUEST_NULL, MPI_REQUEST_NULL};
    post_receives(w, 0, requests);
    for (int i = 0; i < step_count(w); i++) {
        struct step s = step_at(w, i);
        double *psi_x = w->psi_x[i % 2], *psi_y = w->psi_y[i % 2];
        MPI_Waitall(4, requests, MPI_STATUSES_IGNORE);
        post_receives(w, i + 1, requests);
        solve(w, &s, psi_x, psi_y);
        if (s.to_x != MPI_PROC_NULL)
            MPI_Isend(psi_x, s.count_x, MPI_DOUBLE, s.to_x, TAG_X, w->grid->comm, &requests[2]);
        if (s.to_y != MPI_PROC_NULL)
            MPI_Isend(psi_y, s.count_y, MPI_DOUBLE, s.to_y, TAG_Y, w->grid->comm, &requests[3]);
    }
    MPI_Waitall(4, requests, MPI_STATUSES_IGNORE);
}

void wavefront_sweep(struct wavefront *w)
{
    w->leakage = 0;
    if (w->variant == BLOCKING)
        sweep_blocking(w);
    else
        sweep_nonblocking(w);
}
