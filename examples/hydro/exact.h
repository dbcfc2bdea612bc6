/* Exact solutions that the computed fields are held against. */
#ifndef HYDRO_EXACT_H
#define HYDRO_EXACT_H

struct gas {
    double density, velocity, pressure;
};

/* Density at x / t = `speed` of the Riemann problem with these states left and right of x = 0 (Toro, chapter
 * 4). */
double riemann_density(struct gas left, struct gas right, double gamma, double speed);

/* Radius at time t of a cylindrical blast wave of `energy` per unit length in a cold gas of gamma = 1.4. */
double sedov_radius(double energy, double density, double time);

#endif
