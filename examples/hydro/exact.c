/* Exact Riemann solution and the cylindrical Sedov blast; see exact.h. */
#include "exact.h"

#include <math.h>

static double sound(struct gas s, double gamma)
{
    return sqrt(gamma * s.pressure / s.density);
}

/* Change of velocity across the wave that takes state `s` to pressure p, and its derivative. */
static double wave(struct gas s, double gamma, double p, double *derivative)
{
    double a = 2 / ((gamma + 1) * s.density), b = (gamma - 1) / (gamma + 1) * s.pressure, c = sound(s, gamma);
    if (p > s.pressure) {
        double root = sqrt(a / (p + b));
        *derivative = root * (1 - 0.5 * (p - s.pressure) / (p + b));
        return (p - s.pressure) * root;
    }
    double ratio = p / s.pressure;
    *derivative = pow(ratio, -(gamma + 1) / (2 * gamma)) / (s.density * c);
    return 2 * c / (gamma - 1) * (pow(ratio, (gamma - 1) / (2 * gamma)) - 1);
}

/* Density on one side of the contact; for the right side the problem is mirrored. */
static double one_side(struct gas s, double gamma, double p, double u, double speed)
{
    double c = sound(s, gamma), ratio = p / s.pressure, g = (gamma - 1) / (gamma + 1);
    if (p > s.pressure) {
        double shock = s.velocity - c * sqrt((gamma + 1) / (2 * gamma) * ratio + (gamma - 1) / (2 * gamma));
        return speed < shock ? s.density : s.density * (ratio + g) / (g * ratio + 1);
    }
    double head = s.velocity - c, tail = u - c * pow(ratio, (gamma - 1) / (2 * gamma));
    if (speed < head)
        return s.density;
    if (speed > tail)
        return s.density * pow(ratio, 1 / gamma);
    return s.density * pow(2 / (gamma + 1) + g / c * (s.velocity - speed), 2 / (gamma - 1));
}

double riemann_density(struct gas left, struct gas right, double gamma, double speed)
{
    double p = 0.5 * (left.pressure + right.pressure), fl = 0, fr = 0, dl = 0, dr = 0;
    for (int i = 0; i < 100; i++) {
        fl = wave(left, gamma, p, &dl);
        fr = wave(right, gamma, p, &dr);
        double next = p - (fl + fr + right.velocity - left.velocity) / (dl + dr);
        next = next > 1e-6 * p ? next : 1e-6 * p;
        double change = fabs(next - p) / (0.5 * (next + p));
        p = next;
        if (change < 1e-14)
            break;
    }
    fl = wave(left, gamma, p, &dl);
    fr = wave(right, gamma, p, &dr);
    double u = 0.5 * (left.velocity + right.velocity) + 0.5 * (fr - fl);
    if (speed <= u)
        return one_side(left, gamma, p, u, speed);
    right.velocity = -right.velocity;
    return one_side(right, gamma, p, -u, -speed);
}

/* The self-similar solution gives energy = alpha * density * radius^4 / time^2; for cylindrical symmetry and
 * gamma 1.4 alpha is 0.984 (Kamm and Timmes 2007: 0.311357 for a radius of 0.75 at time 1). */
double sedov_radius(double energy, double density, double time)
{
    const double alpha = 0.311357 / (0.75 * 0.75 * 0.75 * 0.75);
    return pow(energy * time * time / (alpha * density), 0.25);
}
