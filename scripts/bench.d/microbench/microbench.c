/* MPI microbenchmarks: one program, one subcommand a kernel, one line of JSON a (kernel, size).
 *
 *     mpiexec -n 2 microbench latency --sizes 0,8,1048576
 *
 * Uses MPI_COMM_WORLD, predefined types and contiguous buffers only, so that it builds with any MPI.
 *
 * How a figure comes about: a check of the data; then the number of iterations is doubled (or more) until
 * one repetition lasts --repetition seconds, which is the warm-up; then repetitions run until there are
 * --repetitions of them or --limit seconds have passed, at least 3. Time is the slowest rank's. All ranks
 * see the same times (an allreduce after each repetition), so all take the same decisions. The printed
 * value is the median; `least` and `most` are the extremes. A collective that costs 40 ms therefore ends
 * as surely as one that costs 100 ns. */
#include "bench.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_REPETITIONS = 101, LEAST_REPETITIONS = 3, MOST_SIZES = 64 };

struct options {
    const struct kernel *kernel;
    size_t sizes[MOST_SIZES];
    int size_count;
    int repetitions;
    double repetition_seconds;
    double limit_seconds;
    double phase_seconds;
    int thread_level;
};

void wrong_data(const struct context *c, const char *kernel, size_t at, double found, double expected)
{
    fprintf(stderr,
            "microbench: %s delivered wrong data on rank %d of %d: at byte %zu of %zu found %.9g, expected "
            "%.9g\n",
            kernel, c->rank, c->ranks, at, c->bytes, found, expected);
    fflush(stderr);
    MPI_Abort(MPI_COMM_WORLD, 3);
}

double microseconds_each(const struct context *c, long iterations, double seconds)
{
    (void)c;
    return seconds / (double)iterations * 1e6;
}

/* ---- options: read before MPI_Init, so that every rank refuses a bad one by itself ---- */

static const struct {
    const struct kernel *kernels;
    const int *count;
} groups[] = {
    {point_to_point_kernels, &point_to_point_kernel_count}, {datatype_kernels, &datatype_kernel_count},
    {collective_kernels, &collective_kernel_count},         {nonblocking_kernels, &nonblocking_kernel_count},
    {communicator_kernels, &communicator_kernel_count},
};
enum { GROUPS = sizeof(groups) / sizeof(groups[0]) };

static const struct kernel *kernel_named(const char *name)
{
    for (int g = 0; g < GROUPS; g++)
        for (int i = 0; i < *groups[g].count; i++)
            if (strcmp(groups[g].kernels[i].name, name) == 0)
                return &groups[g].kernels[i];
    return NULL;
}

static void print_kernels(FILE *to)
{
    for (int g = 0; g < GROUPS; g++)
        for (int i = 0; i < *groups[g].count; i++)
            fprintf(to, "  %-10s %s\n", groups[g].kernels[i].name, groups[g].kernels[i].what);
    fputs("  empty      nothing but MPI_Init and MPI_Finalize, to be timed from outside\n", to);
}

static void usage(FILE *to)
{
    fprintf(to, "usage: mpiexec -n RANKS microbench KERNEL [options]\n\nkernels:\n");
    print_kernels(to);
    fprintf(
        to,
        "\noptions:\n"
        "  --sizes B,B,...      message sizes in bytes (K and M suffixes; each kernel has its own default)\n"
        "  --repetitions N      repetitions of which the median is printed (default 9, 3 to 101)\n"
        "  --repetition SECONDS length of a repetition (default 0.02)\n"
        "  --limit SECONDS      for all repetitions of one size (default 1)\n"
        "  --phase SECONDS      blocking: computation before a call is random below this (default 0.001)\n"
        "  --threads LEVEL      single (default) or multiple: what the program asks MPI_Init_thread for\n");
}

static void refuse(const char *what, const char *value)
{
    fprintf(stderr, "microbench: %s: '%s' (try --help)\n", what, value);
    exit(2);
}

static double positive_seconds(const char *option, const char *text)
{
    char *end = NULL;
    double v = strtod(text, &end);
    if (end == text || *end != '\0' || !(v > 0) || v > 3600)
        refuse(option, text);
    return v;
}

static void parse_sizes(struct options *o, const char *list)
{
    const char *p = list;
    o->size_count = 0;
    while (*p) {
        char *end = NULL;
        errno = 0;
        unsigned long long v = strtoull(p, &end, 10);
        if (end == p || *p == '-' || errno)
            refuse("--sizes wants a comma-separated list of bytes", list);
        if (*end == 'K' || *end == 'M')
            v <<= *end++ == 'K' ? 10 : 20;
        if ((*end != ',' && *end != '\0') || v > (1u << 30) || o->size_count == MOST_SIZES)
            refuse("--sizes wants at most 64 sizes of at most 1024M", list);
        if (v % o->kernel->multiple_of)
            refuse("--sizes: this kernel wants multiples of 8", list);
        o->sizes[o->size_count++] = (size_t)v;
        p = *end == ',' ? end + 1 : end;
    }
    if (o->size_count == 0)
        refuse("--sizes wants a comma-separated list of bytes", list);
}

static void parse_option(struct options *o, const char *option, const char *value)
{
    if (!value)
        refuse("this option wants a value", option);
    if (strcmp(option, "--sizes") == 0 && o->kernel->sizes) {
        parse_sizes(o, value);
    } else if (strcmp(option, "--sizes") == 0) {
        refuse("--sizes has no meaning for this kernel", o->kernel->name);
    } else if (strcmp(option, "--repetitions") == 0) {
        char *end = NULL;
        long n = strtol(value, &end, 10);
        if (*end != '\0' || n < LEAST_REPETITIONS || n > MOST_REPETITIONS)
            refuse("--repetitions wants a number from 3 to 101", value);
        o->repetitions = (int)n;
    } else if (strcmp(option, "--repetition") == 0) {
        o->repetition_seconds = positive_seconds("--repetition wants seconds", value);
    } else if (strcmp(option, "--limit") == 0) {
        o->limit_seconds = positive_seconds("--limit wants seconds", value);
    } else if (strcmp(option, "--phase") == 0) {
        o->phase_seconds = positive_seconds("--phase wants seconds", value);
    } else if (strcmp(option, "--threads") == 0) {
        if (strcmp(value, "single") != 0 && strcmp(value, "multiple") != 0)
            refuse("--threads wants 'single' or 'multiple'", value);
        o->thread_level = strcmp(value, "single") == 0 ? MPI_THREAD_SINGLE : MPI_THREAD_MULTIPLE;
    } else {
        refuse("unknown option", option);
    }
}

static struct options parse(int argc, char **argv)
{
    struct options o = {
        .repetitions = 9, .repetition_seconds = 0.02, .limit_seconds = 1, .phase_seconds = 1e-3, .thread_level = MPI_THREAD_SINGLE};
    if (argc < 2) {
        usage(stderr);
        exit(2);
    }
    o.kernel = kernel_named(argv[1]);
    if (!o.kernel)
        refuse("unknown kernel", argv[1]);
    o.size_count = o.kernel->sizes ? o.kernel->size_count : 1;
    for (int i = 0; o.kernel->sizes && i < o.size_count; i++)
        o.sizes[i] = o.kernel->sizes[i];
    for (int i = 2; i < argc; i += 2)
        parse_option(&o, argv[i], argv[i + 1]);
    return o;
}

/* ---- measuring ---- */

/* One repetition; every rank returns the slowest rank's seconds. */
static double repetition(const struct kernel *k, struct context *c, long iterations)
{
    double slowest = 0;
    MPI_Barrier(MPI_COMM_WORLD);
    double mine = k->run(c, iterations);
    MPI_Allreduce(&mine, &slowest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    return slowest;
}

/* Iterations that fill one repetition: found by running ever more of them, never more than tenfold at once.
 */
static long calibrate(const struct options *o, struct context *c)
{
    long n = 1;
    double total = 0;
    for (;;) {
        double s = repetition(o->kernel, c, n);
        total += s;
        if (n > 1 && s > 3 * o->repetition_seconds) { /* the shorter runs were lucky */
            n = (long)((double)n * o->repetition_seconds / s);
            return n < 1 ? 1 : n;
        }
        if (s >= o->repetition_seconds || total > o->limit_seconds || n > 1000000000L)
            return n;
        double growth = s > 0 ? 1.2 * o->repetition_seconds / s : 10;
        growth = growth > 10 ? 10 : growth < 1.5 ? 1.5 : growth;
        n = (long)((double)n * growth) + 1;
    }
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void measure(const struct options *o, struct context *c)
{
    double values[MOST_REPETITIONS];
    double spent = 0;
    int done = 0;
    o->kernel->check(c);
    long iterations = calibrate(o, c);
    while (done < o->repetitions && (done < LEAST_REPETITIONS || spent < o->limit_seconds)) {
        double s = repetition(o->kernel, c, iterations);
        spent += s;
        values[done++] = o->kernel->value(c, iterations, s);
    }
    if (c->rank != 0)
        return;
    qsort(values, (size_t)done, sizeof(values[0]), by_value);
    double median = done % 2 ? values[done / 2] : (values[done / 2 - 1] + values[done / 2]) / 2;
    printf("{\"kernel\":\"%s\",\"ranks\":%d,\"bytes\":%zu,\"unit\":\"%s\",\"value\":%.6g,\"least\":%.6g,"
           "\"most\":%.6g,"
           "\"repetitions\":%d,\"iterations\":%ld}\n",
           o->kernel->name, c->ranks, c->bytes, o->kernel->unit, median, values[0], values[done - 1], done,
           iterations);
    fflush(stdout);
}

static void *pages(size_t bytes)
{
    size_t rounded = (bytes + 4096) / 4096 * 4096;
    void *p = aligned_alloc(4096, rounded);
    if (!p) {
        fprintf(stderr, "microbench: no memory for a buffer of %zu bytes\n", bytes);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    memset(p, 0, rounded);
    return p;
}

static void measure_size(const struct options *o, struct context *c)
{
    const size_t in_flight = (size_t)4 << 20;
    size_t fits = c->bytes ? in_flight / c->bytes : WINDOW;
    c->window = fits > WINDOW ? WINDOW : fits < 2 ? 2 : (int)fits;
    c->phase_seconds = o->phase_seconds;
    c->send = pages(o->kernel->send_bytes(c));
    c->receive = pages(o->kernel->receive_bytes(c));
    measure(o, c);
    free(c->send);
    free(c->receive);
}

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "empty") == 0) {
        MPI_Init(&argc, &argv);
        MPI_Finalize();
        return 0;
    }
    if (argc > 1 && (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0)) {
        usage(stdout);
        return 0;
    }
    struct options o = parse(argc, argv);
    struct context c = {0};
    int provided = MPI_THREAD_SINGLE;
    MPI_Init_thread(&argc, &argv, o.thread_level, &provided);
    if (provided < o.thread_level) {
        fprintf(stderr, "microbench: this MPI does not provide MPI_THREAD_MULTIPLE\n");
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    MPI_Comm_rank(MPI_COMM_WORLD, &c.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &c.ranks);
    int too_few = c.ranks < o.kernel->least_ranks;
    if (too_few && c.rank == 0)
        fprintf(stderr, "microbench: %s needs %d ranks, started with %d\n", o.kernel->name,
                o.kernel->least_ranks, c.ranks);
    for (int i = 0; !too_few && i < o.size_count; i++) {
        c.bytes = o.sizes[i];
        measure_size(&o, &c);
    }
    MPI_Finalize();
    return too_few ? 2 : 0;
}
