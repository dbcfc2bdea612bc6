/* sweep: a discrete-ordinates particle transport code in the small.
 *
 *     mpiexec -n RANKS sweep DECK [--verify] [--variant blocking|nonblocking] [--grid CxR]
 *
 * Time-independent, one energy group, isotropic scattering, on a Cartesian grid cut into columns over a 2-D
 * grid of ranks. Source iteration: sweep all directions with the scattering source of the last flux, until
 * the flux changes less than the deck's epsilon (an allreduce).
 *
 * The answer is verified: the flux must have the deck's checksum, or be bit-identical to the serial solution
 * (rank 0 solves it; --verify forces this); and particles must be balanced to 1e-11. Exit status: 0 verified,
 * 1 wrong answer, 2 bad deck or command line. */
#include "../common/command_line.h"
#include "../common/deck.h"
#include "../common/grid.h"
#include "transport.h"
#include "wavefront.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const double BALANCE_TOLERANCE = 1e-11;
static const char *const VARIANTS[] = {"blocking", "nonblocking", NULL};

struct deck {
    int nx, ny, nz;
    double dx, dy, dz;
    int order, planes_a_stage, angles_a_stage;
    int iterations;
    double epsilon;
    int variant;
    double sigma_total, sigma_scatter, source;
    struct deck_rows regions; /* x0 x1 y0 y1 z0 z1 sigma_total sigma_scatter source */
    uint64_t checksum;
    int has_checksum;
};

struct answer {
    double *flux; /* the whole, on rank 0 */
    int iterations;
    double change;  /* largest relative change of the flux in the last iteration */
    double balance; /* relative: sources - absorption - leakage */
    long long fixups;
    double seconds;
};

static int read_deck(struct deck *d, const struct command_line *c)
{
    *d = (struct deck){.dx = 1,
                       .dy = 1,
                       .dz = 1,
                       .order = 6,
                       .planes_a_stage = 4,
                       .angles_a_stage = 3,
                       .variant = NONBLOCKING};
    struct quadrature q;
    struct deck_key keys[] = {
        {.name = "nx", .kind = DECK_INT, .into = &d->nx, .least = 1, .most = 4096, .required = 1},
        {.name = "ny", .kind = DECK_INT, .into = &d->ny, .least = 1, .most = 4096, .required = 1},
        {.name = "nz", .kind = DECK_INT, .into = &d->nz, .least = 1, .most = 4096, .required = 1},
        {.name = "dx", .kind = DECK_REAL, .into = &d->dx, .least = 1e-6, .most = 1e6},
        {.name = "dy", .kind = DECK_REAL, .into = &d->dy, .least = 1e-6, .most = 1e6},
        {.name = "dz", .kind = DECK_REAL, .into = &d->dz, .least = 1e-6, .most = 1e6},
        {.name = "sn", .kind = DECK_INT, .into = &d->order, .least = 4, .most = 16},
        {.name = "mk", .kind = DECK_INT, .into = &d->planes_a_stage, .least = 1, .most = 4096},
        {.name = "mmi", .kind = DECK_INT, .into = &d->angles_a_stage, .least = 1, .most = MOST_ANGLES},
        {.name = "iterations",
         .kind = DECK_INT,
         .into = &d->iterations,
         .least = 1,
         .most = 100000,
         .required = 1},
        {.name = "epsilon", .kind = DECK_REAL, .into = &d->epsilon, .least = 0, .most = 1},
        {.name = "variant", .kind = DECK_CHOICE, .into = &d->variant, .choices = VARIANTS},
        {.name = "sigma_total",
         .kind = DECK_REAL,
         .into = &d->sigma_total,
         .least = 1e-9,
         .most = 1e9,
         .required = 1},
        {.name = "sigma_scatter",
         .kind = DECK_REAL,
         .into = &d->sigma_scatter,
         .least = 0,
         .most = 1e9,
         .required = 1},
        {.name = "source", .kind = DECK_REAL, .into = &d->source, .least = 0, .most = 1e9, .required = 1},
        {.name = "region", .kind = DECK_ROWS, .into = &d->regions, .least = 0, .most = 1e9, .columns = 9},
        {.name = "checksum", .kind = DECK_CHECKSUM, .into = &d->checksum},
    };
    int count = (int)(sizeof(keys) / sizeof(keys[0]));
    if (deck_read(MPI_COMM_WORLD, "sweep", c->deck, keys, count))
        return -1;
    d->has_checksum = keys[count - 1].line > 0;
    if (quadrature_create(&q, d->order))
        return command_line_refuse(c, "'sn' must be one of 4, 6, 8, 12, 16");
    if (d->planes_a_stage > d->nz)
        return command_line_refuse(c, "'mk' must not exceed 'nz'");
    if (d->angles_a_stage > q.angles)
        return command_line_refuse(c, "'mmi' must not exceed the angles of an octant, sn * (sn + 2) / 8");
    if (d->sigma_scatter > d->sigma_total)
        return command_line_refuse(c, "'sigma_scatter' must not exceed 'sigma_total'");
    for (int r = 0; r < d->regions.count; r++)
        if (d->regions.value[r][7] > d->regions.value[r][6] || d->regions.value[r][6] <= 0)
            return command_line_refuse(c,
                          "'region' (x0 x1 y0 y1 z0 z1 sigma_total sigma_scatter source) wants "
                          "0 < sigma_total and sigma_scatter <= sigma_total");
    if (c->choice >= 0)
        d->variant = c->choice;
    return 0;
}

/* ---- set up ---- */

static void fill_materials(struct block *b, const struct deck *d, const struct grid *g)
{
    size_t cell = 0;
    for (int k = 0; k < b->nz; k++)
        for (int j = g->y0; j < g->y1; j++)
            for (int i = g->x0; i < g->x1; i++, cell++) {
                double x = (i + 0.5) * d->dx, y = (j + 0.5) * d->dy, z = (k + 0.5) * d->dz;
                b->sigma_total[cell] = d->sigma_total;
                b->sigma_scatter[cell] = d->sigma_scatter;
                b->external[cell] = d->source;
                for (int r = 0; r < d->regions.count; r++) {
                    const double *v = d->regions.value[r];
                    if (x < v[0] || x >= v[1] || y < v[2] || y >= v[3] || z < v[4] || z >= v[5])
                        continue;
                    b->sigma_total[cell] = v[6];
                    b->sigma_scatter[cell] = v[7];
                    b->external[cell] = v[8];
                }
            }
}

static void block_create(struct block *b, const struct deck *d, const struct grid *g)
{
    *b = (struct block){
        .nx = g->x1 - g->x0, .ny = g->y1 - g->y0, .nz = d->nz, .dx = d->dx, .dy = d->dy, .dz = d->dz};
    size_t cells = (size_t)b->nx * (size_t)b->ny * (size_t)b->nz;
    b->sigma_total = allocate(cells, sizeof(double));
    b->sigma_scatter = allocate(cells, sizeof(double));
    b->external = allocate(cells, sizeof(double));
    b->source = allocate(cells, sizeof(double));
    b->flux = allocate(cells, sizeof(double));
    fill_materials(b, d, g);
}

static void block_free(struct block *b)
{
    free(b->sigma_total);
    free(b->sigma_scatter);
    free(b->external);
    free(b->source);
    free(b->flux);
}

/* ---- source iteration ---- */

/* Relative imbalance of the last sweep, whose source is still in the block: what was born must have been
 * absorbed, scattered out of its direction, or leaked. Holds for every sweep, converged or not. */
static double balance(const struct block *b, const struct wavefront *w, MPI_Comm comm)
{
    size_t cells = (size_t)b->nx * (size_t)b->ny * (size_t)b->nz;
    double volume = b->dx * b->dy * b->dz, mine[2] = {0, w->leakage}, all[2];
    for (size_t c = 0; c < cells; c++) {
        mine[0] += b->source[c] * volume;
        mine[1] += b->sigma_total[c] * b->flux[c] * volume;
    }
    MPI_Allreduce(mine, all, 2, MPI_DOUBLE, MPI_SUM, comm);
    return all[0] > 0 ? (all[0] - all[1]) / all[0] : all[1];
}

/* Largest relative change from `old` to the block's flux, over all ranks. */
static double largest_change(const struct block *b, const double *old, MPI_Comm comm)
{
    size_t cells = (size_t)b->nx * (size_t)b->ny * (size_t)b->nz;
    double mine = 0, all = 0;
    for (size_t c = 0; c < cells; c++) {
        double change = fabs(b->flux[c] - old[c]) / (fabs(b->flux[c]) > 1e-30 ? fabs(b->flux[c]) : 1e-30);
        mine = change > mine ? change : mine;
    }
    MPI_Allreduce(&mine, &all, 1, MPI_DOUBLE, MPI_MAX, comm);
    return all;
}

static struct answer solve(const struct deck *d, struct grid *g)
{
    struct answer a = {0};
    struct block b;
    struct quadrature q;
    block_create(&b, d, g);
    quadrature_create(&q, d->order);
    struct wavefront w = {.grid = g,
                          .block = &b,
                          .quadrature = &q,
                          .planes_a_stage = d->planes_a_stage,
                          .angles_a_stage = d->angles_a_stage,
                          .variant = (enum variant)d->variant};
    wavefront_create(&w);
    size_t cells = (size_t)b.nx * (size_t)b.ny * (size_t)b.nz;
    double *old = allocate(cells, sizeof(double));
    MPI_Barrier(g->comm);
    double start = MPI_Wtime();
    do {
        memcpy(old, b.flux, cells * sizeof(double));
        memset(b.flux, 0, cells * sizeof(double));
        for (size_t c = 0; c < cells; c++)
            b.source[c] = b.external[c] + b.sigma_scatter[c] * old[c];
        wavefront_sweep(&w);
        a.change = largest_change(&b, old, g->comm);
        a.iterations++;
    } while (a.iterations < d->iterations && !(a.change < d->epsilon));
    MPI_Barrier(g->comm);
    a.seconds = MPI_Wtime() - start;
    a.balance = balance(&b, &w, g->comm);
    long long fixups = w.fixups;
    MPI_Allreduce(&fixups, &a.fixups, 1, MPI_LONG_LONG, MPI_SUM, g->comm);
    a.flux = grid_gather(g, b.flux, b.nz);
    free(old);
    wavefront_free(&w);
    block_free(&b);
    return a;
}

/* ---- verdict, on rank 0 ---- */

static int same_as_serial(const struct deck *d, const struct answer *a, size_t cells)
{
    struct grid alone;
    if (grid_create(&alone, MPI_COMM_SELF, "sweep", d->nx, d->ny, 1, 1, 1))
        return 0;
    struct answer serial = solve(d, &alone);
    size_t at = first_difference(a->flux, serial.flux, cells);
    int same = at == cells && a->iterations == serial.iterations && a->fixups == serial.fixups;
    if (at < cells)
        fprintf(stderr, "sweep: FAILED: flux of cell (%zu,%zu,%zu) is %.17g, the serial solution has %.17g\n",
                at % (size_t)d->nx, at / (size_t)d->nx % (size_t)d->ny, at / (size_t)d->nx / (size_t)d->ny,
                a->flux[at], serial.flux[at]);
    else if (!same)
        fprintf(stderr, "sweep: FAILED: %d iterations and %lld fixups, the serial solution has %d and %lld\n",
                a->iterations, a->fixups, serial.iterations, serial.fixups);
    else
        printf("serial time: %.4f s\n", serial.seconds);
    free(serial.flux);
    return same;
}

static int verdict(const struct deck *d, const struct answer *a, int verify)
{
    size_t cells = (size_t)d->nx * (size_t)d->ny * (size_t)d->nz;
    uint64_t checksum = field_checksum(a->flux, cells);
    int good = 1, serially = verify || !d->has_checksum;
    printf("iterations: %d, change %.3e, fixups %lld, balance %.1e, checksum %016llx\n", a->iterations,
           a->change, a->fixups, a->balance, (unsigned long long)checksum);
    if (d->epsilon > 0 && !(a->change < d->epsilon)) {
        fprintf(stderr,
                "sweep: FAILED: the flux still changes by %.3e after %d iterations ('epsilon' is %g)\n",
                a->change, a->iterations, d->epsilon);
        good = 0;
    }
    if (!(fabs(a->balance) <= BALANCE_TOLERANCE)) {
        fprintf(stderr,
                "sweep: FAILED: particles are not balanced: %.3e of the source is missing, %.0e allowed\n",
                a->balance, BALANCE_TOLERANCE);
        good = 0;
    }
    if (d->has_checksum && checksum != d->checksum) {
        fprintf(stderr, "sweep: FAILED: the flux has checksum %016llx, the deck says %016llx\n",
                (unsigned long long)checksum, (unsigned long long)d->checksum);
        good = 0;
    }
    if (serially && !same_as_serial(d, a, cells))
        good = 0;
    if (good)
        printf("verified: flux %s, particles balanced to %.0e\n",
               serially ? "bit-identical to the serial solution" : "has the deck's checksum",
               BALANCE_TOLERANCE);
    return good;
}

int main(int argc, char **argv)
{
    struct command_line c = {.program = "sweep", .option = "--variant", .choices = VARIANTS};
    struct deck d;
    struct grid g;
    int rank = 0, ranks = 0, good = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (command_line_read(&c, MPI_COMM_WORLD, argc, argv) || read_deck(&d, &c) ||
        grid_create(&g, MPI_COMM_WORLD, "sweep", d.nx, d.ny, 1, c.columns, c.rows)) {
        MPI_Finalize();
        return 2;
    }
    if (rank == 0)
        printf("sweep: %d x %d x %d cells, S%d, mk %d, mmi %d, %s, %d rank%s as %d x %d\n", d.nx, d.ny, d.nz,
               d.order, d.planes_a_stage, d.angles_a_stage, VARIANTS[d.variant], ranks, ranks == 1 ? "" : "s",
               g.columns, g.rows);
    struct answer a = solve(&d, &g);
    if (rank == 0) {
        good = verdict(&d, &a, c.verify);
        printf("time: %.4f s\n", a.seconds);
        free(a.flux);
    }
    MPI_Bcast(&good, 1, MPI_INT, 0, MPI_COMM_WORLD);
    MPI_Finalize();
    return good ? 0 : 1;
}
