/* MUSCL-Hancock with HLLC; see euler.h. */
#include "euler.h"

#include <math.h>
#include <stdlib.h>

enum { DENSITY, VELOCITY_X, VELOCITY_Y, PRESSURE };

void fluid_create(struct fluid *f, struct mesh *m, double gamma)
{
    *f = (struct fluid){.mesh = m, .gamma = gamma};
    for (int i = 0; i < FIELDS; i++) {
        f->conserved[i] = mesh_field(m);
        f->primitive[i] = mesh_field(m);
        f->middle[i] = mesh_field(m);
        f->slope_x[i] = mesh_field(m);
        f->slope_y[i] = mesh_field(m);
    }
    f->flux_x = allocate((size_t)(m->nx + 1) * FIELDS, sizeof(double));
    f->flux_y[0] = allocate((size_t)m->nx * FIELDS, sizeof(double));
    f->flux_y[1] = allocate((size_t)m->nx * FIELDS, sizeof(double));
}

void fluid_free(struct fluid *f)
{
    for (int i = 0; i < FIELDS; i++) {
        free(f->conserved[i]);
        free(f->primitive[i]);
        free(f->middle[i]);
        free(f->slope_x[i]);
        free(f->slope_y[i]);
    }
    free(f->flux_x);
    free(f->flux_y[0]);
    free(f->flux_y[1]);
}

void fluid_conserve(struct fluid *f)
{
    for (int y = 0; y < f->mesh->ny; y++)
        for (int x = 0; x < f->mesh->nx; x++) {
            size_t c = mesh_at(f->mesh, x, y);
            double d = f->primitive[0][c], u = f->primitive[1][c], v = f->primitive[2][c],
                   p = f->primitive[3][c];
            f->conserved[0][c] = d;
            f->conserved[1][c] = d * u;
            f->conserved[2][c] = d * v;
            f->conserved[3][c] = p / (f->gamma - 1) + 0.5 * d * (u * u + v * v);
        }
}

void fluid_primitive(struct fluid *f)
{
    for (int y = 0; y < f->mesh->ny; y++)
        for (int x = 0; x < f->mesh->nx; x++) {
            size_t c = mesh_at(f->mesh, x, y);
            double d = f->conserved[0][c], u = f->conserved[1][c] / d, v = f->conserved[2][c] / d;
            f->primitive[0][c] = d;
            f->primitive[1][c] = u;
            f->primitive[2][c] = v;
            f->primitive[3][c] = (f->gamma - 1) * (f->conserved[3][c] - 0.5 * d * (u * u + v * v));
        }
}

double fluid_step(const struct fluid *f)
{
    const struct mesh *m = f->mesh;
    double fastest = 0;
    for (int y = 0; y < m->ny; y++)
        for (int x = 0; x < m->nx; x++) {
            size_t c = mesh_at(m, x, y);
            double d = f->primitive[DENSITY][c], p = f->primitive[PRESSURE][c];
            if (!(d > 0) || !(p > 0))
                return -1;
            double sound = sqrt(f->gamma * p / d);
            double speed = (fabs(f->primitive[VELOCITY_X][c]) + sound) / m->dx +
                           (fabs(f->primitive[VELOCITY_Y][c]) + sound) / m->dy;
            if (!isfinite(speed))
                return -1;
            fastest = speed > fastest ? speed : fastest;
        }
    return 1 / fastest;
}

/* Monotonised central difference: zero at an extremum, never steeper than twice a one-sided difference. */
static double limited(double left, double middle, double right)
{
    double l = middle - left, r = right - middle;
    if (l * r <= 0)
        return 0;
    double magnitude = fmin(0.5 * fabs(l + r), 2 * fmin(fabs(l), fabs(r)));
    return l > 0 ? magnitude : -magnitude;
}

/* Slopes of one cell and its primitives half a step later. Where a face would get a negative density or
 * pressure the cell falls back to first order. */
static void predict_cell(struct fluid *f, size_t c, size_t stride, double half_x, double half_y)
{
    double w[FIELDS], sx[FIELDS], sy[FIELDS], mid[FIELDS];
    for (int i = 0; i < FIELDS; i++) {
        const double *q = f->primitive[i];
        w[i] = q[c];
        sx[i] = limited(q[c - 1], q[c], q[c + 1]);
        sy[i] = limited(q[c - stride], q[c], q[c + stride]);
    }
    double d = w[0], u = w[1], v = w[2], gp = f->gamma * w[3];
    mid[0] = d - half_x * (u * sx[0] + d * sx[1]) - half_y * (v * sy[0] + d * sy[2]);
    mid[1] = u - half_x * (u * sx[1] + sx[3] / d) - half_y * (v * sy[1]);
    mid[2] = v - half_x * (u * sx[2]) - half_y * (v * sy[2] + sy[3] / d);
    mid[3] = w[3] - half_x * (u * sx[3] + gp * sx[1]) - half_y * (v * sy[3] + gp * sy[2]);
    int sound = 1;
    for (int i = 0; i < FIELDS; i += PRESSURE - DENSITY)
        sound = sound && mid[i] - 0.5 * fabs(sx[i]) > 0 && mid[i] - 0.5 * fabs(sy[i]) > 0;
    for (int i = 0; i < FIELDS; i++) {
        f->middle[i][c] = sound ? mid[i] : w[i];
        f->slope_x[i][c] = sound ? sx[i] : 0;
        f->slope_y[i][c] = sound ? sy[i] : 0;
    }
}

static void predict(struct fluid *f, double dt, int x0, int x1, int y0, int y1)
{
    const struct mesh *m = f->mesh;
    for (int y = y0; y < y1; y++)
        for (int x = x0; x < x1; x++)
            predict_cell(f, mesh_at(m, x, y), mesh_stride(m), 0.5 * dt / m->dx, 0.5 * dt / m->dy);
}

/* HLLC flux through a face (Toro, chapter 10; wave speeds by Davis' estimate): `n` is the index of the
 * velocity across the face, `t` of the one along it; both also index the momenta. */
static void hllc(double gamma, int n, int t, const double left[FIELDS], const double right[FIELDS],
                 double flux[FIELDS])
{
    double cl = sqrt(gamma * left[3] / left[0]), cr = sqrt(gamma * right[3] / right[0]);
    double sl = fmin(left[n] - cl, right[n] - cr), sr = fmax(left[n] + cl, right[n] + cr);
    double ml = left[0] * (sl - left[n]), mr = right[0] * (sr - right[n]);
    double contact = (right[3] - left[3] + ml * left[n] - mr * right[n]) / (ml - mr);
    const double *w = contact >= 0 ? left : right;
    double outer = contact >= 0 ? sl : sr;
    double energy = w[3] / (gamma - 1) + 0.5 * w[0] * (w[n] * w[n] + w[t] * w[t]);
    flux[0] = w[0] * w[n];
    flux[n] = w[0] * w[n] * w[n] + w[3];
    flux[t] = w[0] * w[n] * w[t];
    flux[3] = (energy + w[3]) * w[n];
    if ((contact >= 0 && sl >= 0) || (contact < 0 && sr <= 0))
        return; /* all waves go one way */
    double star = w[0] * (outer - w[n]) / (outer - contact);
    double star_energy =
        star * (energy / w[0] + (contact - w[n]) * (contact + w[3] / (w[0] * (outer - w[n]))));
    flux[0] += outer * (star - w[0]);
    flux[n] += outer * (star * contact - w[0] * w[n]);
    flux[t] += outer * (star * w[t] - w[0] * w[t]);
    flux[3] += outer * (star_energy - energy);
}

/* Flux through the face between cells `low` and `high`, which are neighbours along the slopes' direction. */
static void face(const struct fluid *f, double *const slope[FIELDS], int n, int t, size_t low, size_t high,
                 double *flux)
{
    double left[FIELDS], right[FIELDS];
    for (int i = 0; i < FIELDS; i++) {
        left[i] = f->middle[i][low] + 0.5 * slope[i][low];
        right[i] = f->middle[i][high] - 0.5 * slope[i][high];
    }
    hllc(f->gamma, n, t, left, right, flux);
}

static void row_of_faces(struct fluid *f, int x0, int x1, int y, double *flux)
{
    size_t stride = mesh_stride(f->mesh);
    for (int x = x0; x < x1; x++) {
        size_t c = mesh_at(f->mesh, x, y);
        face(f, f->slope_y, VELOCITY_Y, VELOCITY_X, c - stride, c, flux + (size_t)(x - x0) * FIELDS);
    }
}

/* New conserved values of a rectangle of owned cells, whose predicted values are known one cell beyond. */
static void update(struct fluid *f, double dt, int x0, int x1, int y0, int y1)
{
    const struct mesh *m = f->mesh;
    double rx = dt / m->dx, ry = dt / m->dy;
    int low_x = x0 == 0 && mesh_wall(m, -1, 0), high_x = x1 == m->nx && mesh_wall(m, 1, 0);
    int low_y = y0 == 0 && mesh_wall(m, 0, -1), high_y = y1 == m->ny && mesh_wall(m, 0, 1);
    if (x1 <= x0 || y1 <= y0)
        return;
    row_of_faces(f, x0, x1, y0, f->flux_y[0]);
    for (int y = y0; y < y1; y++) {
        double *below = f->flux_y[(y - y0) % 2], *above = f->flux_y[(y - y0 + 1) % 2];
        row_of_faces(f, x0, x1, y + 1, above);
        for (int x = x0; x <= x1; x++) {
            size_t c = mesh_at(m, x, y);
            face(f, f->slope_x, VELOCITY_X, VELOCITY_Y, c - 1, c, f->flux_x + (size_t)(x - x0) * FIELDS);
        }
        for (int x = x0; x < x1; x++) {
            size_t c = mesh_at(m, x, y), k = (size_t)(x - x0) * FIELDS;
            for (int i = 0; i < FIELDS; i++)
                f->conserved[i][c] -= rx * (f->flux_x[k + FIELDS + (size_t)i] - f->flux_x[k + (size_t)i]) +
                                      ry * (above[k + (size_t)i] - below[k + (size_t)i]);
            if (high_y && y == y1 - 1)
                f->wall_impulse[1] += above[k + VELOCITY_Y] * dt * m->dx;
            if (low_y && y == y0)
                f->wall_impulse[1] -= below[k + VELOCITY_Y] * dt * m->dx;
        }
        if (high_x)
            f->wall_impulse[0] += f->flux_x[(size_t)(x1 - x0) * FIELDS + VELOCITY_X] * dt * m->dy;
        if (low_x)
            f->wall_impulse[0] -= f->flux_x[VELOCITY_X] * dt * m->dy;
    }
}

/* A cell's update needs predictions one cell around it, and these need values two cells around it. So cells
 * two or more from the block's edge are advanced while the ghosts travel. */
void fluid_advance_inner(struct fluid *f, double dt)
{
    int nx = f->mesh->nx, ny = f->mesh->ny;
    predict(f, dt, 1, nx - 1, 1, ny - 1);
    update(f, dt, 2, nx - 2, 2, ny - 2);
}

void fluid_advance_outer(struct fluid *f, double dt)
{
    int nx = f->mesh->nx, ny = f->mesh->ny;
    predict(f, dt, -1, nx + 1, -1, 1);
    predict(f, dt, -1, nx + 1, ny - 1, ny + 1);
    predict(f, dt, -1, 1, 1, ny - 1);
    predict(f, dt, nx - 1, nx + 1, 1, ny - 1);
    update(f, dt, 0, nx, 0, 2);
    update(f, dt, 0, nx, ny - 2, ny);
    update(f, dt, 0, 2, 2, ny - 2);
    update(f, dt, nx - 2, nx, 2, ny - 2);
}
