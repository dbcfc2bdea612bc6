/* Discrete-ordinates transport on one block of cells: quadrature, material, and the solution of one
 * (octant, angle block, k block) by diamond differencing. No communication in here. */
#ifndef SWEEP_TRANSPORT_H
#define SWEEP_TRANSPORT_H

enum { MOST_ANGLES = 36 };

/* Level-symmetric directions of one octant; the weights of all eight octants add up to 1. */
struct quadrature {
    int angles;
    double mu[MOST_ANGLES], eta[MOST_ANGLES], xi[MOST_ANGLES], weight[MOST_ANGLES];
};

/* The cells of one rank; every array is [k][j][i]. */
struct block {
    int nx, ny, nz;
    double dx, dy, dz;
    double *sigma_total, *sigma_scatter, *external; /* 1/cm, 1/cm, particles/(cm3 s) */
    double *source;                                 /* external + scattered, of this iteration */
    double *flux;                                   /* scalar flux being summed up */
};

/* A direction of travel and what is solved at once. */
struct stage {
    int sx, sy, sz;          /* +1 or -1 a direction */
    int first_angle, angles; /* of the quadrature */
    int first_plane, planes; /* in order of travel: plane 0 is the first that is swept */
};

/* Fills `q` for S_order (4, 6, 8, 12 or 16); -1 for any other order. */
int quadrature_create(struct quadrature *q, int order);

/* Solves one stage in place: `psi_x` [plane][j][angle] and `psi_y` [plane][i][angle] hold the inflow before
 * and the outflow after, `psi_z` [j][i][angle] is carried from stage to stage. Adds to block->flux, always in
 * the order of the angles, so that the sum in a cell does not depend on how the grid is cut. Returns how many
 * (cell, angle) pairs needed a negative-flux fixup. */
long stage_solve(const struct block *b, const struct quadrature *q, const struct stage *s, double *psi_x,
                 double *psi_y, double *psi_z);

#endif
