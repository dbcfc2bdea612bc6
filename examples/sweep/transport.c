/* Quadrature and diamond differencing with flux fixup; see transport.h. */
#include "transport.h"

#include <stddef.h>
#include <stdlib.h>

/* Level-symmetric (LQn) sets: levels of the direction cosines, and one weight for each set of points that
 * are permutations of each other. Levels are counted from 1, and a point (i,j,k) has i + j + k = n/2 + 2. */
struct level_symmetric {
    int order;
    double level[8];
    double weight[8];
    int class_of[8][3]; /* the sorted levels of each weight's points */
};

static const struct level_symmetric sets[] = {
    {4, {0.3500212, 0.8688903}, {0.3333333}, {{1, 1, 2}}},
    {6, {0.2666355, 0.6815076, 0.9261808}, {0.1761263, 0.1572071}, {{1, 1, 3}, {1, 2, 2}}},
    {8,
     {0.2182179, 0.5773503, 0.7867958, 0.9511897},
     {0.1209877, 0.0907407, 0.0925926},
     {{1, 1, 4}, {1, 2, 3}, {2, 2, 2}}},
    {12,
     {0.1672126, 0.4595476, 0.6280191, 0.7600210, 0.8722706, 0.9716377},
     {0.0707626, 0.0558811, 0.0373377, 0.0502819, 0.0258513},
     {{1, 1, 6}, {1, 2, 5}, {1, 3, 4}, {2, 2, 4}, {2, 3, 3}}},
    {16,
     {0.1389568, 0.3922893, 0.5370966, 0.6504264, 0.7467506, 0.8319966, 0.9092855, 0.9805009},
     {0.0489872, 0.0413296, 0.0212326, 0.0256207, 0.0360486, 0.0144589, 0.0344958, 0.0085179},
     {{1, 1, 8}, {1, 2, 7}, {1, 3, 6}, {1, 4, 5}, {2, 2, 6}, {2, 3, 5}, {2, 4, 4}, {3, 3, 4}}},
};

static double weight_of(const struct level_symmetric *set, int i, int j, int k)
{
    int low = i < j ? i : j, high = i < j ? j : i, middle;
    middle = k < low ? low : k > high ? high : k;
    low = k < low ? k : low;
    high = k > high ? k : high;
    for (int c = 0; c < 8; c++)
        if (set->class_of[c][0] == low && set->class_of[c][1] == middle && set->class_of[c][2] == high)
            return set->weight[c];
    return 0;
}

int quadrature_create(struct quadrature *q, int order)
{
    const struct level_symmetric *set = NULL;
    double sum = 0;
    for (size_t s = 0; s < sizeof(sets) / sizeof(sets[0]); s++)
        if (sets[s].order == order)
            set = &sets[s];
    if (!set)
        return -1;
    q->angles = 0;
    int levels = order / 2;
    for (int k = 1; k <= levels; k++)
        for (int j = 1; j <= levels + 1 - k; j++) {
            int i = levels + 2 - j - k, m = q->angles++;
            q->mu[m] = set->level[i - 1];
            q->eta[m] = set->level[j - 1];
            q->xi[m] = set->level[k - 1];
            q->weight[m] = weight_of(set, i, j, k);
            sum += q->weight[m];
        }
    for (int m = 0; m < q->angles; m++)
        q->weight[m] /= 8 * sum;
    return 0;
}

/* Solves one cell and angle where the diamond relation gave a negative outflow: such an outflow is set to
 * zero and the cell balanced anew, until none is negative. `a` is twice the cosine over the cell's width. */
static double fixed_up(double source, double sigma, const double a[3], const double in[3], double out[3])
{
    int zeroed[3] = {0, 0, 0};
    for (;;) {
        double numerator = source, denominator = sigma;
        for (int d = 0; d < 3; d++) {
            numerator += zeroed[d] ? 0.5 * a[d] * in[d] : a[d] * in[d];
            denominator += zeroed[d] ? 0 : a[d];
        }
        double psi = numerator / denominator;
        int again = 0;
        for (int d = 0; d < 3; d++) {
            if (zeroed[d])
                continue;
            out[d] = 2 * psi - in[d];
            if (out[d] < 0) {
                out[d] = 0;
                zeroed[d] = again = 1;
            }
        }
        if (!again)
            return psi;
    }
}

struct coefficients {
    double x[MOST_ANGLES], y[MOST_ANGLES], z[MOST_ANGLES], sum[MOST_ANGLES], weight[MOST_ANGLES];
};

/* One cell, all angles of the stage. Returns the number of fixups. */
static long cell_solve(const struct coefficients *c, int angles, double source, double sigma,
                       double *restrict px, double *restrict py, double *restrict pz, double *flux)
{
    double psi[MOST_ANGLES], ox[MOST_ANGLES], oy[MOST_ANGLES], oz[MOST_ANGLES];
    int negative = 0;
    long fixups = 0;
    for (int m = 0; m < angles; m++) {
        psi[m] = (source + c->x[m] * px[m] + c->y[m] * py[m] + c->z[m] * pz[m]) / (sigma + c->sum[m]);
        ox[m] = 2 * psi[m] - px[m];
        oy[m] = 2 * psi[m] - py[m];
        oz[m] = 2 * psi[m] - pz[m];
        negative |= (ox[m] < 0) | (oy[m] < 0) | (oz[m] < 0);
    }
    for (int m = 0; negative && m < angles; m++) {
        if (ox[m] >= 0 && oy[m] >= 0 && oz[m] >= 0)
            continue;
        const double a[3] = {c->x[m], c->y[m], c->z[m]}, in[3] = {px[m], py[m], pz[m]};
        double out[3];
        psi[m] = fixed_up(source, sigma, a, in, out);
        ox[m] = out[0];
        oy[m] = out[1];
        oz[m] = out[2];
        fixups++;
    }
    for (int m = 0; m < angles; m++) {
        px[m] = ox[m];
        py[m] = oy[m];
        pz[m] = oz[m];
        *flux += c->weight[m] * psi[m];
    }
    return fixups;
}

long stage_solve(const struct block *b, const struct quadrature *q, const struct stage *s, double *psi_x,
                 double *psi_y, double *psi_z)
{
    struct coefficients c;
    long fixups = 0;
    size_t angles = (size_t)s->angles;
    for (int m = 0; m < s->angles; m++) {
        c.x[m] = 2 * q->mu[s->first_angle + m] / b->dx;
        c.y[m] = 2 * q->eta[s->first_angle + m] / b->dy;
        c.z[m] = 2 * q->xi[s->first_angle + m] / b->dz;
        c.sum[m] = c.x[m] + c.y[m] + c.z[m];
        c.weight[m] = q->weight[s->first_angle + m];
    }
    for (int p = 0; p < s->planes; p++) {
        int k = s->sz > 0 ? s->first_plane + p : b->nz - 1 - s->first_plane - p;
        for (int jj = 0; jj < b->ny; jj++) {
            int j = s->sy > 0 ? jj : b->ny - 1 - jj;
            double *px = psi_x + ((size_t)p * (size_t)b->ny + (size_t)j) * angles;
            for (int ii = 0; ii < b->nx; ii++) {
                int i = s->sx > 0 ? ii : b->nx - 1 - ii;
                size_t cell = ((size_t)k * (size_t)b->ny + (size_t)j) * (size_t)b->nx + (size_t)i;
                fixups +=
                    cell_solve(&c, s->angles, b->source[cell], b->sigma_total[cell], px,
                               psi_y + ((size_t)p * (size_t)b->nx + (size_t)i) * angles,
                               psi_z + ((size_t)j * (size_t)b->nx + (size_t)i) * angles, &b->flux[cell]);
            }
        }
    }
    return fixups;
}
