/* heat: the heat equation on a square plate, by Jacobi's explicit steps.
 *
 *     mpiexec -n RANKS heat DECK [--verify] [--grid CxR]
 *
 * Edges are held at zero, the start is a product of sine waves. Every step exchanges the four edges of a
 * rank's block with blocking MPI_Sendrecv and applies the five-point stencil; every `report` steps an
 * allreduce finds the largest temperature.
 *
 * The answer is verified: the start is an eigenvector of the scheme, so after n steps the exact discrete
 * solution is the start times a known factor to the n; every cell must have it to 1e-11. With --verify it
 * must also be bit-identical to the solution of rank 0 alone. Exit status: 0 verified, 1 wrong answer, 2 bad
 * deck or command line. */
#include "../common/command_line.h"
#include "../common/deck.h"
#include "../common/grid.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const double TOLERANCE = 1e-11;
static const double PI = 3.14159265358979323846;

enum { TAG_LEFT = 1, TAG_RIGHT, TAG_DOWN, TAG_UP };

struct deck {
    int nx, ny, steps, report, waves_x, waves_y;
    double diffusion; /* time step times diffusivity over cell width squared */
};

/* A rank's block with one layer of ghosts: (nx + 2) * (ny + 2), cell (x, y) at (y + 1) * (nx + 2) + x + 1. */
struct plate {
    struct grid *grid;
    int nx, ny;
    int left, right, down, up; /* neighbours */
    double *now, *next;
    double *send_column, *receive_column;
};

struct answer {
    double *temperature; /* the whole, on rank 0 */
    double seconds;
};

static int read_deck(struct deck *d, const struct command_line *c)
{
    *d = (struct deck){.report = 100, .waves_x = 1, .waves_y = 1, .diffusion = 0.2};
    struct deck_key keys[] = {
        {.name = "nx", .kind = DECK_INT, .into = &d->nx, .least = 1, .most = 32768, .required = 1},
        {.name = "ny", .kind = DECK_INT, .into = &d->ny, .least = 1, .most = 32768, .required = 1},
        {.name = "steps", .kind = DECK_INT, .into = &d->steps, .least = 1, .most = 1e8, .required = 1},
        {.name = "report", .kind = DECK_INT, .into = &d->report, .least = 1, .most = 1e8},
        {.name = "waves_x", .kind = DECK_INT, .into = &d->waves_x, .least = 1, .most = 32768},
        {.name = "waves_y", .kind = DECK_INT, .into = &d->waves_y, .least = 1, .most = 32768},
        {.name = "diffusion", .kind = DECK_REAL, .into = &d->diffusion, .least = 1e-6, .most = 0.25},
    };
    if (deck_read(MPI_COMM_WORLD, "heat", c->deck, keys, (int)(sizeof(keys) / sizeof(keys[0]))))
        return -1;
    if (d->waves_x > d->nx || d->waves_y > d->ny)
        return command_line_refuse(c, "'waves_x' and 'waves_y' must not exceed 'nx' and 'ny'");
    return 0;
}

/* The start, at cells counted from 0; the edges, where it is zero, are at -1 and nx. */
static double start_at(const struct deck *d, int x, int y)
{
    return sin(PI * d->waves_x * (x + 1) / (d->nx + 1)) * sin(PI * d->waves_y * (y + 1) / (d->ny + 1));
}

/* What one step multiplies the start with. */
static double decay(const struct deck *d)
{
    double sx = sin(0.5 * PI * d->waves_x / (d->nx + 1)), sy = sin(0.5 * PI * d->waves_y / (d->ny + 1));
    return 1 - 4 * d->diffusion * (sx * sx + sy * sy);
}

/* ---- solution ---- */

static size_t at(const struct plate *p, int x, int y)
{
    return (size_t)(y + 1) * (size_t)(p->nx + 2) + (size_t)(x + 1);
}

static void plate_create(struct plate *p, struct grid *g, const struct deck *d)
{
    *p = (struct plate){.grid = g, .nx = g->x1 - g->x0, .ny = g->y1 - g->y0};
    size_t cells = (size_t)(p->nx + 2) * (size_t)(p->ny + 2);
    p->left = grid_rank(g, g->column - 1, g->row);
    p->right = grid_rank(g, g->column + 1, g->row);
    p->down = grid_rank(g, g->column, g->row - 1);
    p->up = grid_rank(g, g->column, g->row + 1);
    p->now = allocate(cells, sizeof(double));
    p->next = allocate(cells, sizeof(double));
    p->send_column = allocate((size_t)p->ny, sizeof(double));
    p->receive_column = allocate((size_t)p->ny, sizeof(double));
    for (int y = 0; y < p->ny; y++)
        for (int x = 0; x < p->nx; x++)
            p->now[at(p, x, y)] = start_at(d, g->x0 + x, g->y0 + y);
}

static void plate_free(struct plate *p)
{
    free(p->now);
    free(p->next);
    free(p->send_column);
    free(p->receive_column);
}

/* Sends the owned column `from` one way and receives the ghost column `into` from the other. */
static void shift_column(struct plate *p, int from, int to_rank, int into, int from_rank, int tag)
{
    for (int y = 0; y < p->ny; y++)
        p->send_column[y] = p->now[at(p, from, y)];
    MPI_Sendrecv(p->send_column, p->ny, MPI_DOUBLE, to_rank, tag, p->receive_column, p->ny, MPI_DOUBLE,
                 from_rank, tag, p->grid->comm, MPI_STATUS_IGNORE);
    for (int y = 0; from_rank != MPI_PROC_NULL && y < p->ny; y++)
        p->now[at(p, into, y)] = p->receive_column[y];
}

static void shift_row(struct plate *p, int from, int to_rank, int into, int from_rank, int tag)
{
    MPI_Sendrecv(&p->now[at(p, 0, from)], p->nx, MPI_DOUBLE, to_rank, tag, &p->now[at(p, 0, into)], p->nx,
                 MPI_DOUBLE, from_rank, tag, p->grid->comm, MPI_STATUS_IGNORE);
}

static void exchange(struct plate *p)
{
    shift_column(p, 0, p->left, p->nx, p->right, TAG_LEFT);
    shift_column(p, p->nx - 1, p->right, -1, p->left, TAG_RIGHT);
    shift_row(p, 0, p->down, p->ny, p->up, TAG_DOWN);
    shift_row(p, p->ny - 1, p->up, -1, p->down, TAG_UP);
}

static void step(struct plate *p, double diffusion)
{
    size_t stride = (size_t)(p->nx + 2);
    for (int y = 0; y < p->ny; y++) {
        const double *row = &p->now[at(p, 0, y)];
        double *out = &p->next[at(p, 0, y)];
        for (int x = 0; x < p->nx; x++) {
            const double *c = row + x;
            out[x] = c[0] + diffusion * (((c[-1] + c[1]) + (c[-(ptrdiff_t)stride] + c[stride])) - 4 * c[0]);
        }
    }
    double *old = p->now;
    p->now = p->next;
    p->next = old;
}

static double hottest(const struct plate *p)
{
    double mine = 0, all = 0;
    for (int y = 0; y < p->ny; y++)
        for (int x = 0; x < p->nx; x++)
            mine = fmax(mine, fabs(p->now[at(p, x, y)]));
    MPI_Allreduce(&mine, &all, 1, MPI_DOUBLE, MPI_MAX, p->grid->comm);
    return all;
}

static double *gather(const struct plate *p)
{
    double *block = allocate((size_t)p->nx * (size_t)p->ny, sizeof(double));
    for (int y = 0; y < p->ny; y++)
        memcpy(block + (size_t)y * (size_t)p->nx, &p->now[at(p, 0, y)], (size_t)p->nx * sizeof(double));
    double *whole = grid_gather(p->grid, block, 1);
    free(block);
    return whole;
}

static struct answer solve(const struct deck *d, struct grid *g, int speaks)
{
    struct answer a = {0};
    struct plate p;
    plate_create(&p, g, d);
    MPI_Barrier(g->comm);
    double start = MPI_Wtime();
    for (int n = 1; n <= d->steps; n++) {
        exchange(&p);
        step(&p, d->diffusion);
        if (n % d->report == 0 || n == d->steps) {
            double most = hottest(&p);
            if (speaks && n == d->steps)
                printf("steps: %d, hottest %.6e\n", n, most);
        }
    }
    MPI_Barrier(g->comm);
    a.seconds = MPI_Wtime() - start;
    a.temperature = gather(&p);
    plate_free(&p);
    return a;
}

/* ---- verdict, on rank 0 ---- */

static int as_predicted(const struct deck *d, const struct answer *a)
{
    double factor = pow(decay(d), d->steps), worst = 0;
    int worst_x = 0, worst_y = 0;
    for (int y = 0; y < d->ny; y++)
        for (int x = 0; x < d->nx; x++) {
            double found = a->temperature[(size_t)y * (size_t)d->nx + (size_t)x];
            double error = fabs(found - factor * start_at(d, x, y));
            if (!(error <= worst)) {
                worst = error;
                worst_x = x;
                worst_y = y;
            }
        }
    if (worst <= TOLERANCE)
        return 1;
    fprintf(stderr, "heat: FAILED: cell (%d,%d) is %.3e off the exact discrete solution, %.0e allowed\n",
            worst_x, worst_y, worst, TOLERANCE);
    return 0;
}

static int same_as_serial(const struct deck *d, const struct answer *a)
{
    struct grid alone;
    size_t cells = (size_t)d->nx * (size_t)d->ny;
    if (grid_create(&alone, MPI_COMM_SELF, "heat", d->nx, d->ny, 1, 1, 1))
        return 0;
    struct answer serial = solve(d, &alone, 0);
    size_t where = first_difference(a->temperature, serial.temperature, cells);
    if (where < cells)
        fprintf(stderr, "heat: FAILED: cell (%zu,%zu) is %.17g, the serial solution has %.17g\n",
                where % (size_t)d->nx, where / (size_t)d->nx, a->temperature[where],
                serial.temperature[where]);
    free(serial.temperature);
    return where == cells;
}

int main(int argc, char **argv)
{
    struct command_line c = {.program = "heat"};
    struct deck d;
    struct grid g;
    int rank = 0, ranks = 0, good = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (command_line_read(&c, MPI_COMM_WORLD, argc, argv) || read_deck(&d, &c) ||
        grid_create(&g, MPI_COMM_WORLD, "heat", d.nx, d.ny, 1, c.columns, c.rows)) {
        MPI_Finalize();
        return 2;
    }
    if (rank == 0)
        printf("heat: %d x %d cells, %d rank%s as %d x %d\n", d.nx, d.ny, ranks, ranks == 1 ? "" : "s",
               g.columns, g.rows);
    struct answer a = solve(&d, &g, rank == 0);
    if (rank == 0) {
        good = as_predicted(&d, &a) && (!c.verify || same_as_serial(&d, &a));
        if (good)
            printf("verified: the exact discrete solution to %.0e%s\n", TOLERANCE,
                   c.verify ? ", bit-identical to the serial solution" : "");
        printf("checksum: %016llx\ntime: %.4f s\n",
               (unsigned long long)field_checksum(a.temperature, (size_t)d.nx * (size_t)d.ny), a.seconds);
        free(a.temperature);
    }
    MPI_Bcast(&good, 1, MPI_INT, 0, MPI_COMM_WORLD);
    MPI_Finalize();
    return good ? 0 : 1;
}
