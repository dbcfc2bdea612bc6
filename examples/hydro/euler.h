/* The compressible Euler equations on one rank's mesh: MUSCL-Hancock, second order in space and time, with
 * the HLLC Riemann solver. Every cell's new value depends on old values only, by the same operations in the
 * same order whoever computes it: the field has the same bits for every number of ranks. */
#ifndef HYDRO_EULER_H
#define HYDRO_EULER_H

#include "mesh.h"

/* Conserved: mass, momentum x, momentum y, energy. Primitive: density, velocity x, velocity y, pressure. */
struct fluid {
    struct mesh *mesh;
    double gamma;
    double *conserved[FIELDS];
    double *primitive[FIELDS];
    double *middle[FIELDS];  /* primitives advanced by half a step */
    double *slope_x[FIELDS]; /* limited differences across a cell */
    double *slope_y[FIELDS];
    double *flux_x;         /* scratch: one row of faces */
    double *flux_y[2];      /* scratch: the faces below and above a row */
    double wall_impulse[2]; /* momentum that left through walls so far, x and y */
};

void fluid_create(struct fluid *f, struct mesh *m, double gamma);
void fluid_free(struct fluid *f);

/* Owned cells: conserved from primitive values (at the start), primitive from conserved (each step). */
void fluid_conserve(struct fluid *f);
void fluid_primitive(struct fluid *f);

/* The longest stable step of the owned cells at Courant number 1; -1 where the state is not physical. */
double fluid_step(const struct fluid *f);

/* Advances by dt what needs no ghosts; the rest, once the ghosts are there. */
void fluid_advance_inner(struct fluid *f, double dt);
void fluid_advance_outer(struct fluid *f, double dt);

#endif
