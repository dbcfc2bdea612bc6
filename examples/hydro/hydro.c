/* hydro: two-dimensional compressible gas dynamics in the small.
 *
 *     mpiexec -n RANKS hydro DECK [--verify] [--grid CxR]
 *
 * Every step: an allreduce finds the time step; halos of the eight neighbours travel by non-blocking messages
 * while the inner cells are advanced; then the edge cells.
 *
 * The answer is verified: mass, momentum (less what went into the walls) and energy are conserved to 1e-12;
 * the field has the deck's checksum, or the bits of the serial solution (rank 0 solves it; --verify forces
 * this); and it stays within the deck's tolerance of the exact solution. Exit status: 0 verified, 1 wrong
 * answer, 2 bad deck or command line. */
#include "../common/command_line.h"
#include "../common/deck.h"
#include "../common/grid.h"
#include "euler.h"
#include "exact.h"
#include "mesh.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const double CONSERVATION_TOLERANCE = 1e-12;
static const char *const PROBLEMS[] = {"sedov", "sod", NULL};
static const char *const BOUNDARIES[] = {"periodic", "reflect", NULL};
enum { SEDOV, SOD };

struct deck {
    int problem, nx, ny, steps, boundary_x, boundary_y;
    double width, height, gamma, courant, end_time;
    double density, pressure;     /* sedov: the gas before the blast */
    double energy, radius;        /* sedov: of the blast, and of the disc where it starts */
    struct deck_rows left, right; /* sod: density, velocity x, pressure */
    double tolerance;
    uint64_t checksum;
    int has_checksum;
};

/* Sums over the domain: mass, momentum x, momentum y, energy. */
struct totals {
    double value[FIELDS];
};

struct answer {
    double *field; /* the whole, conserved values by field, on rank 0 */
    int steps;
    double time;
    struct totals before, after;
    double wall_impulse[2];
    int physical; /* density and pressure stayed positive */
    double seconds;
};

static double centre_distance(const struct deck *d, int x, int y)
{
    double ax = (x + 0.5) * d->width / d->nx - 0.5 * d->width,
           ay = (y + 0.5) * d->height / d->ny - 0.5 * d->height;
    return sqrt(ax * ax + ay * ay);
}

/* Cells of the whole mesh in the disc where the blast starts. */
static long blast_cells(const struct deck *d)
{
    long cells = 0;
    for (int y = 0; y < d->ny; y++)
        for (int x = 0; x < d->nx; x++)
            cells += centre_distance(d, x, y) < d->radius;
    return cells;
}

static double blast_pressure(const struct deck *d)
{
    return (d->gamma - 1) * d->energy / ((double)blast_cells(d) * (d->width / d->nx) * (d->height / d->ny));
}

static int read_deck(struct deck *d, const struct command_line *c)
{
    *d = (struct deck){.steps = 1000000,
                       .boundary_x = REFLECT,
                       .boundary_y = REFLECT,
                       .width = 1,
                       .height = 1,
                       .gamma = 1.4,
                       .courant = 0.8,
                       .density = 1,
                       .pressure = 1e-5,
                       .energy = 1,
                       .radius = 0};
    struct deck_key keys[] = {
        {.name = "problem", .kind = DECK_CHOICE, .into = &d->problem, .choices = PROBLEMS, .required = 1},
        {.name = "nx", .kind = DECK_INT, .into = &d->nx, .least = 4, .most = 32768, .required = 1},
        {.name = "ny", .kind = DECK_INT, .into = &d->ny, .least = 4, .most = 32768, .required = 1},
        {.name = "width", .kind = DECK_REAL, .into = &d->width, .least = 1e-6, .most = 1e6},
        {.name = "height", .kind = DECK_REAL, .into = &d->height, .least = 1e-6, .most = 1e6},
        {.name = "steps", .kind = DECK_INT, .into = &d->steps, .least = 1, .most = 1e6},
        {.name = "end_time",
         .kind = DECK_REAL,
         .into = &d->end_time,
         .least = 1e-9,
         .most = 1e6,
         .required = 1},
        {.name = "gamma", .kind = DECK_REAL, .into = &d->gamma, .least = 1.01, .most = 5},
        {.name = "courant", .kind = DECK_REAL, .into = &d->courant, .least = 0.01, .most = 1},
        {.name = "boundary_x", .kind = DECK_CHOICE, .into = &d->boundary_x, .choices = BOUNDARIES},
        {.name = "boundary_y", .kind = DECK_CHOICE, .into = &d->boundary_y, .choices = BOUNDARIES},
        {.name = "density", .kind = DECK_REAL, .into = &d->density, .least = 1e-9, .most = 1e9},
        {.name = "pressure", .kind = DECK_REAL, .into = &d->pressure, .least = 1e-12, .most = 1e9},
        {.name = "energy", .kind = DECK_REAL, .into = &d->energy, .least = 1e-9, .most = 1e9},
        {.name = "radius", .kind = DECK_REAL, .into = &d->radius, .least = 1e-9, .most = 1e6},
        {.name = "left", .kind = DECK_ROWS, .into = &d->left, .least = -1e6, .most = 1e6, .columns = 3},
        {.name = "right", .kind = DECK_ROWS, .into = &d->right, .least = -1e6, .most = 1e6, .columns = 3},
        {.name = "tolerance",
         .kind = DECK_REAL,
         .into = &d->tolerance,
         .least = 1e-9,
         .most = 1,
         .required = 1},
        {.name = "checksum", .kind = DECK_CHECKSUM, .into = &d->checksum},
    };
    int count = (int)(sizeof(keys) / sizeof(keys[0]));
    if (deck_read(MPI_COMM_WORLD, "hydro", c->deck, keys, count))
        return -1;
    d->has_checksum = keys[count - 1].line > 0;
    if (d->problem == SOD && (d->left.count != 1 || d->right.count != 1))
        return command_line_refuse(c,
                      "problem sod wants one 'left' and one 'right' (density, velocity, pressure)");
    if (d->problem == SOD && (d->left.value[0][0] <= 0 || d->left.value[0][2] <= 0 ||
                              d->right.value[0][0] <= 0 || d->right.value[0][2] <= 0))
        return command_line_refuse(c, "'left' and 'right' want a density and a pressure above 0");
    if (d->problem == SOD && d->boundary_x != REFLECT)
        return command_line_refuse(c, "problem sod wants 'boundary_x reflect'");
    if (d->problem == SEDOV && d->gamma != 1.4)
        return command_line_refuse(c, "problem sedov knows its exact solution for 'gamma 1.4' only");
    if (d->problem == SEDOV && blast_cells(d) == 0)
        return command_line_refuse(c, "problem sedov wants a 'radius' that holds the centre of a cell");
    if (d->problem == SEDOV && d->left.count + d->right.count > 0)
        return command_line_refuse(c, "'left' and 'right' belong to problem sod");
    return 0;
}

/* ---- initial state ---- */

static struct gas gas_of(const struct deck_rows *rows)
{
    return (struct gas){rows->value[0][0], rows->value[0][1], rows->value[0][2]};
}

static void fill(struct fluid *f, const struct deck *d)
{
    const struct grid *g = f->mesh->grid;
    double blast = d->problem == SEDOV ? blast_pressure(d) : 0;
    for (int y = g->y0; y < g->y1; y++)
        for (int x = g->x0; x < g->x1; x++) {
            size_t c = mesh_at(f->mesh, x - g->x0, y - g->y0);
            struct gas s = {d->density, 0, d->pressure};
            if (d->problem == SOD)
                s = gas_of(2 * x + 1 < d->nx ? &d->left : &d->right);
            else if (centre_distance(d, x, y) < d->radius)
                s.pressure = blast;
            f->primitive[0][c] = s.density;
            f->primitive[1][c] = s.velocity;
            f->primitive[2][c] = 0;
            f->primitive[3][c] = s.pressure;
        }
    fluid_conserve(f);
}

/* ---- solution ---- */

/* Sums of the owned cells with Neumaier's compensation, then over the ranks. */
static struct totals totals_of(const struct fluid *f)
{
    const struct mesh *m = f->mesh;
    struct totals mine, all;
    for (int i = 0; i < FIELDS; i++) {
        double sum = 0, lost = 0;
        for (int y = 0; y < m->ny; y++)
            for (int x = 0; x < m->nx; x++) {
                double v = f->conserved[i][mesh_at(m, x, y)], next = sum + v;
                lost += fabs(sum) >= fabs(v) ? (sum - next) + v : (v - next) + sum;
                sum = next;
            }
        mine.value[i] = (sum + lost) * m->dx * m->dy;
    }
    MPI_Allreduce(mine.value, all.value, FIELDS, MPI_DOUBLE, MPI_SUM, m->grid->comm);
    return all;
}

static double *gather_field(const struct fluid *f)
{
    const struct mesh *m = f->mesh;
    double *block = allocate((size_t)m->nx * (size_t)m->ny * FIELDS, sizeof(double)), *to = block;
    for (int i = 0; i < FIELDS; i++)
        for (int y = 0; y < m->ny; y++)
            for (int x = 0; x < m->nx; x++)
                *to++ = f->conserved[i][mesh_at(m, x, y)];
    double *whole = grid_gather(m->grid, block, FIELDS);
    free(block);
    return whole;
}

/* One step; returns its length, or -1 where the state is not physical. */
static double step(struct fluid *f, double courant, double left)
{
    double mine, dt;
    fluid_primitive(f);
    mine = fluid_step(f);
    MPI_Allreduce(&mine, &dt, 1, MPI_DOUBLE, MPI_MIN, f->mesh->grid->comm);
    if (dt <= 0)
        return -1;
    dt = courant * dt < left ? courant * dt : left;
    mesh_exchange_start(f->mesh, f->primitive);
    fluid_advance_inner(f, dt);
    mesh_exchange_finish(f->mesh, f->primitive);
    fluid_advance_outer(f, dt);
    return dt;
}

static struct answer solve(const struct deck *d, struct grid *g)
{
    struct answer a = {.physical = 1};
    struct mesh m = {.grid = g,
                     .dx = d->width / d->nx,
                     .dy = d->height / d->ny,
                     .boundary_x = (enum boundary)d->boundary_x,
                     .boundary_y = (enum boundary)d->boundary_y};
    struct fluid f;
    mesh_create(&m);
    fluid_create(&f, &m, d->gamma);
    fill(&f, d);
    a.before = totals_of(&f);
    MPI_Barrier(g->comm);
    double start = MPI_Wtime();
    while (a.physical && a.steps < d->steps && a.time < d->end_time) {
        double dt = step(&f, d->courant, d->end_time - a.time);
        a.physical = dt > 0;
        if (!a.physical)
            break;
        a.time = dt == d->end_time - a.time ? d->end_time : a.time + dt;
        a.steps++;
    }
    MPI_Barrier(g->comm);
    a.seconds = MPI_Wtime() - start;
    a.after = totals_of(&f);
    MPI_Allreduce(f.wall_impulse, a.wall_impulse, 2, MPI_DOUBLE, MPI_SUM, g->comm);
    a.field = gather_field(&f);
    fluid_free(&f);
    mesh_free(&m);
    return a;
}

/* ---- verdict, on rank 0 ---- */

/* Largest relative loss of mass, momentum and energy; momentum is measured in sqrt(2 mass energy). */
static double loss(const struct answer *a)
{
    double mass = a->before.value[0], energy = a->before.value[3], momentum = sqrt(2 * mass * energy);
    double worst = fmax(fabs(a->after.value[0] - mass) / mass, fabs(a->after.value[3] - energy) / energy);
    for (int i = 0; i < 2; i++)
        worst =
            fmax(worst, fabs(a->after.value[1 + i] + a->wall_impulse[i] - a->before.value[1 + i]) / momentum);
    return worst;
}

/* sod: mean relative deviation of the density. sedov: relative deviation of the shock's radius, which is
 * taken where the density is largest to the right of the centre. */
static double deviation(const struct deck *d, const struct answer *a)
{
    double dx = d->width / d->nx, sum = 0;
    if (d->problem == SOD) {
        for (int y = 0; y < d->ny; y++)
            for (int x = 0; x < d->nx; x++) {
                double speed = ((x + 0.5) * dx - (d->nx + 1) / 2 * dx) / a->time;
                double exact = riemann_density(gas_of(&d->left), gas_of(&d->right), d->gamma, speed);
                sum += fabs(a->field[(size_t)y * (size_t)d->nx + (size_t)x] - exact) / exact;
            }
        return sum / d->nx / d->ny;
    }
    const double *row = a->field + (size_t)(d->ny / 2) * (size_t)d->nx;
    int peak = d->nx / 2;
    for (int x = d->nx / 2; x < d->nx; x++)
        peak = row[x] > row[peak] ? x : peak;
    double radius = centre_distance(d, peak, d->ny / 2), exact = sedov_radius(d->energy, d->density, a->time);
    return fabs(radius - exact) / exact;
}

static int same_as_serial(const struct deck *d, const struct answer *a, size_t values)
{
    struct grid alone;
    if (grid_create(&alone, MPI_COMM_SELF, "hydro", d->nx, d->ny, 2 * GHOSTS, 1, 1))
        return 0;
    struct answer serial = solve(d, &alone);
    size_t cells = values / FIELDS, at = first_difference(a->field, serial.field, values);
    int same = at == values && a->steps == serial.steps;
    if (!same && at < values)
        fprintf(
            stderr,
            "hydro: FAILED: conserved value %zu of cell (%zu,%zu) is %.17g, the serial solution has %.17g\n",
            at / cells, at % cells % (size_t)d->nx, at % cells / (size_t)d->nx, a->field[at],
            serial.field[at]);
    else if (!same)
        fprintf(stderr, "hydro: FAILED: %d steps, the serial solution took %d\n", a->steps, serial.steps);
    else
        printf("serial time: %.4f s\n", serial.seconds);
    free(serial.field);
    return same;
}

static int verdict(const struct deck *d, const struct answer *a, int verify)
{
    size_t values = (size_t)d->nx * (size_t)d->ny * FIELDS;
    uint64_t checksum = field_checksum(a->field, values);
    int good = 1, serially = verify || !d->has_checksum;
    if (!a->physical) {
        fprintf(stderr, "hydro: FAILED: density or pressure is not positive after step %d (time %g)\n",
                a->steps, a->time);
        return 0;
    }
    double lost = loss(a), off = deviation(d, a);
    printf("steps: %d to time %.6g, loss %.1e, deviation from the exact solution %.2e, checksum %016llx\n",
           a->steps, a->time, lost, off, (unsigned long long)checksum);
    if (!(lost <= CONSERVATION_TOLERANCE)) {
        fprintf(stderr,
                "hydro: FAILED: mass, momentum or energy is not conserved: %.3e is missing, %.0e allowed\n",
                lost, CONSERVATION_TOLERANCE);
        good = 0;
    }
    if (!(off <= d->tolerance)) {
        fprintf(stderr,
                "hydro: FAILED: the solution deviates by %.3e from the exact one, 'tolerance' is %g\n", off,
                d->tolerance);
        good = 0;
    }
    if (d->has_checksum && checksum != d->checksum) {
        fprintf(stderr, "hydro: FAILED: the field has checksum %016llx, the deck says %016llx\n",
                (unsigned long long)checksum, (unsigned long long)d->checksum);
        good = 0;
    }
    if (serially && !same_as_serial(d, a, values))
        good = 0;
    if (good)
        printf("verified: field %s, mass, momentum and energy conserved to %.0e\n",
               serially ? "bit-identical to the serial solution" : "has the deck's checksum",
               CONSERVATION_TOLERANCE);
    return good;
}

int main(int argc, char **argv)
{
    struct command_line c = {.program = "hydro"};
    struct deck d;
    struct grid g;
    int rank = 0, ranks = 0, good = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (command_line_read(&c, MPI_COMM_WORLD, argc, argv) || read_deck(&d, &c) ||
        grid_create(&g, MPI_COMM_WORLD, "hydro", d.nx, d.ny, 2 * GHOSTS, c.columns, c.rows)) {
        MPI_Finalize();
        return 2;
    }
    if (rank == 0)
        printf("hydro: %s, %d x %d cells, %d rank%s as %d x %d\n", PROBLEMS[d.problem], d.nx, d.ny, ranks,
               ranks == 1 ? "" : "s", g.columns, g.rows);
    struct answer a = solve(&d, &g);
    if (rank == 0) {
        good = verdict(&d, &a, c.verify);
        printf("time: %.4f s\n", a.seconds);
        free(a.field);
    }
    MPI_Bcast(&good, 1, MPI_INT, 0, MPI_COMM_WORLD);
    MPI_Finalize();
    return good ? 0 : 1;
}
