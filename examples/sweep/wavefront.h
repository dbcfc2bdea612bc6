/* The wavefront over the grid of ranks (KBA): eight octants, each in angle blocks and k blocks, swept
 * from the corner where the particles come in to the one where they leave. */
#ifndef SWEEP_WAVEFRONT_H
#define SWEEP_WAVEFRONT_H

#include "../common/grid.h"
#include "transport.h"

enum variant { BLOCKING, NONBLOCKING };

struct wavefront {
    struct grid *grid;
    struct block *block;
    struct quadrature *quadrature;
    int planes_a_stage; /* mk */
    int angles_a_stage; /* mmi */
    enum variant variant;
    double *psi_x[2], *psi_y[2]; /* two of each: one computes while the other travels */
    double *psi_z;
    long fixups;    /* of all sweeps so far */
    double leakage; /* particles a second through this rank's part of the outer faces, last sweep */
};

/* Takes block sizes and variant from the struct, allocates the angular flux of a stage. */
void wavefront_create(struct wavefront *w);
void wavefront_free(struct wavefront *w);

/* One sweep of all octants: adds up block->flux, which the caller has set to zero. Collective. */
void wavefront_sweep(struct wavefront *w);

#endif
