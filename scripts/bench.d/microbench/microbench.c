/* MPI microbenchmarks: one program, a list of kernels, one line of JSON a (kernel, size, buffers).
 *
 *     mpiexec -n 2 microbench latency --sizes 0,8,1048576
 *     mpiexec -n 8 microbench allreduce,alltoall --sizes 8,64K --buffers both
 *
 * Uses MPI_COMM_WORLD, predefined types and contiguous buffers only, so that it builds with any MPI.
 *
 * How a figure comes about: a check of the data; then the number of iterations is doubled (or more) until
 * one repetition lasts --repetition seconds, which is the warm-up; then repetitions run until there are
 * --repetitions of them or --limit seconds have passed, at least 3. Time is the slowest rank's. All
 * ranks see the same times (an allreduce after each repetition), so all take the same decisions. The printed
 * value is the median; `least` and `most` are the extremes. A collective that costs 40 ms therefore ends
 * as surely as one that costs 100 ns. With --least 1 one iteration that by itself takes longer than --limit
 * is the figure. */
#include "bench.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_REPETITIONS = 101, LEAST_REPETITIONS = 3, MOST_SIZES = 64, MOST_KERNELS = 32 };

/* From one buffer of a ring to the next: whole pages, so that no two share one, and a cache line, so that
 * they do not all fall on the same sets of a cache. */
enum { PAGE = 4096, CACHE_LINE = 64 };

/* What --buffers says: the same ones for every call, those of a ring in turn, or first the one, then the
 * other. */
enum { SAME = 1, RING = 2, BOTH = SAME | RING };

struct options {
    const struct kernel *kernels[MOST_KERNELS];
    int kernel_count;
    size_t sizes[MOST_SIZES];
    int size_count; /* 0: each kernel has its own */
    int buffers;
    size_t ring_bytes;
    int repetitions;
    int least_repetitions;
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
    {communicator_kernels, &communicator_kernel_count},     {one_sided_kernels, &one_sided_kernel_count},
    {partitioned_kernels, &partitioned_kernel_count},       {file_kernels, &file_kernel_count},
};
enum { GROUPS = sizeof(groups) / sizeof(groups[0]) };

/* The kernel whose name these characters are, or NULL. */
static const struct kernel *kernel_named(const char *name, size_t length)
{
    for (int g = 0; g < GROUPS; g++)
        for (int i = 0; i < *groups[g].count; i++) {
            const struct kernel *k = &groups[g].kernels[i];
            if (strlen(k->name) == length && strncmp(k->name, name, length) == 0)
                return k;
        }
    return NULL;
}

/* Whether it takes other buffers with every call: the collectives do, except the barrier, which has none. */
static int changes_buffers(const struct kernel *k)
{
    for (int i = 0; i < collective_kernel_count; i++)
        if (k == &collective_kernels[i])
            return k->sizes != NULL;
    return 0;
}

static void print_kernels(FILE *to)
{
    for (int g = 0; g < GROUPS; g++)
        for (int i = 0; i < *groups[g].count; i++)
            fprintf(to, "  %-20s %s\n", groups[g].kernels[i].name, groups[g].kernels[i].what);
    fputs("  empty                nothing but MPI_Init and MPI_Finalize, to be timed from outside\n", to);
}

static void usage(FILE *to)
{
    fprintf(to, "usage: mpiexec -n RANKS microbench KERNEL,... [options]\n\nkernels:\n");
    print_kernels(to);
    fprintf(
        to,
        "\noptions:\n"
        "  --sizes B,B,...      message sizes in bytes (K and M suffixes; each kernel has its own default)\n"
        "  --buffers WHICH      same (default), ring (others with every call) or both; ring: collectives "
        "only\n"
        "  --ring BYTES         size of a rank's ring of buffers, at least two pairs (default 64M)\n"
        "  --repetitions N      repetitions of which the median is printed (default 9, 1 to 101)\n"
        "  --least N            repetitions at least where one is a single call (default 3)\n"
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

static void parse_kernels(struct options *o, const char *list)
{
    for (const char *p = list;; p++) {
        size_t length = strcspn(p, ",");
        const struct kernel *k = kernel_named(p, length);
        if (!k)
            refuse("unknown kernel", p);
        if (o->kernel_count == MOST_KERNELS)
            refuse("at most 32 kernels", list);
        o->kernels[o->kernel_count++] = k;
        p += length;
        if (*p == '\0')
            return;
    }
}

/* A number of bytes, at most 1024M, and where it ends. */
static size_t parse_bytes(const char *option, const char *text, const char **after)
{
    char *end = NULL;
    errno = 0;
    unsigned long long v = strtoull(text, &end, 10);
    if (end == text || *text == '-' || errno || v > (1u << 30))
        refuse(option, text);
    if (*end == 'K' || *end == 'M')
        v <<= *end++ == 'K' ? 10 : 20;
    if (v > (1u << 30))
        refuse(option, text);
    *after = end;
    return (size_t)v;
}

static void parse_sizes(struct options *o, const char *list)
{
    const char *wanted = "--sizes wants a comma-separated list of at most 64 sizes of at most 1024M";
    const char *p = list;
    int sized = 0;
    for (int k = 0; k < o->kernel_count; k++)
        sized |= o->kernels[k]->sizes != NULL;
    if (!sized)
        refuse("--sizes has no meaning for this kernel", o->kernels[0]->name);
    o->size_count = 0;
    while (*p) {
        size_t v = parse_bytes(wanted, p, &p);
        if ((*p != ',' && *p != '\0') || o->size_count == MOST_SIZES)
            refuse(wanted, list);
        for (int k = 0; k < o->kernel_count; k++)
            if (v % o->kernels[k]->multiple_of)
                refuse("--sizes: wants other multiples for this kernel", o->kernels[k]->name);
        o->sizes[o->size_count++] = v;
        p += *p == ',';
    }
    if (o->size_count == 0)
        refuse(wanted, list);
}

static void parse_buffers(struct options *o, const char *value)
{
    if (strcmp(value, "same") != 0 && strcmp(value, "ring") != 0 && strcmp(value, "both") != 0)
        refuse("--buffers wants 'same', 'ring' or 'both'", value);
    o->buffers = value[0] == 's' ? SAME : value[0] == 'r' ? RING : BOTH;
    for (int k = 0; k < o->kernel_count; k++)
        if (o->buffers != SAME && o->kernels[k]->sizes && !changes_buffers(o->kernels[k]))
            refuse("--buffers: this kernel has no ring of buffers", o->kernels[k]->name);
}

static int parse_repetitions(const char *wanted, const char *value, int least)
{
    char *end = NULL;
    long n = strtol(value, &end, 10);
    if (*end != '\0' || n < least || n > MOST_REPETITIONS)
        refuse(wanted, value);
    return (int)n;
}

static void parse_option(struct options *o, const char *option, const char *value)
{
    if (!value)
        refuse("this option wants a value", option);
    if (strcmp(option, "--sizes") == 0) {
        parse_sizes(o, value);
    } else if (strcmp(option, "--buffers") == 0) {
        parse_buffers(o, value);
    } else if (strcmp(option, "--ring") == 0) {
        const char *end = NULL;
        o->ring_bytes = parse_bytes("--ring wants bytes, at most 1024M", value, &end);
        if (*end != '\0')
            refuse("--ring wants bytes, at most 1024M", value);
    } else if (strcmp(option, "--repetitions") == 0) {
        o->repetitions = parse_repetitions("--repetitions wants a number from 1 to 101", value, 1);
    } else if (strcmp(option, "--least") == 0) {
        o->least_repetitions = parse_repetitions("--least wants a number from 1 to 101", value, 1);
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
    struct options o = {.buffers = SAME,
                        .ring_bytes = (size_t)64 << 20,
                        .repetitions = 9,
                        .least_repetitions = LEAST_REPETITIONS,
                        .repetition_seconds = 0.02,
                        .limit_seconds = 1,
                        .phase_seconds = 1e-3,
                        .thread_level = MPI_THREAD_SINGLE};
    if (argc < 2) {
        usage(stderr);
        exit(2);
    }
    parse_kernels(&o, argv[1]);
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
 * `seconds` is what so many took here. A run that is much too long is tried again with fewer: either the
 * shorter ones were lucky, as where calls overlap until there is no room left, or the system stopped a rank.
 */
static long calibrate(const struct options *o, const struct kernel *k, struct context *c, double *seconds)
{
    long n = 1;
    int tried_again = 0;
    double total = 0;
    for (;;) {
        double s = repetition(k, c, n);
        *seconds = s;
        if (s > 3 * o->repetition_seconds) {
            long fewer = (long)((double)n * o->repetition_seconds / s);
            fewer = fewer < 1 ? 1 : fewer;
            if (tried_again) {
                *seconds = s / (double)n * (double)fewer;
                return fewer;
            }
            tried_again = 1;
            n = fewer;
            continue;
        }
        total += s;
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

static void measure(const struct options *o, const struct kernel *k, struct context *c, const char *buffers)
{
    double values[MOST_REPETITIONS];
    double spent = 0, calibration = 0;
    int done = 0;
    long iterations = calibrate(o, k, c, &calibration);
    if (o->least_repetitions == 1 && iterations == 1 && calibration > o->limit_seconds) {
        spent = calibration;
        values[done++] = k->value(c, iterations, calibration);
    }
    int least = iterations > 1 ? LEAST_REPETITIONS : o->least_repetitions;
    /* More of them than asked for where the calibration was misled and they are short. */
    while (done < MOST_REPETITIONS && (done < o->repetitions || spent < o->repetition_seconds) &&
           (done < least || spent < o->limit_seconds)) {
        double s = repetition(k, c, iterations);
        spent += s;
        values[done++] = k->value(c, iterations, s);
    }
    if (c->rank != 0)
        return;
    qsort(values, (size_t)done, sizeof(values[0]), by_value);
    double median = done % 2 ? values[done / 2] : (values[done / 2 - 1] + values[done / 2]) / 2;
    printf("{\"kernel\":\"%s\",\"buffers\":\"%s\",\"ranks\":%d,\"bytes\":%zu,\"unit\":\"%s\","
           "\"value\":%.6g,\"least\":%.6g,\"most\":%.6g,\"repetitions\":%d,\"iterations\":%ld}\n",
           k->name, buffers, c->ranks, c->bytes, k->unit, median, values[0], values[done - 1], done,
           iterations);
    fflush(stdout);
}

static void *pages(size_t bytes)
{
    size_t rounded = (bytes + PAGE) / PAGE * PAGE;
    void *p = aligned_alloc(PAGE, rounded);
    if (!p) {
        fprintf(stderr, "microbench: no memory for a buffer of %zu bytes\n", bytes);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    memset(p, 0, rounded);
    return p;
}

/* One pair of buffers, for this size alone. */
static void measure_same(const struct options *o, const struct kernel *k, struct context *c)
{
    c->first_send = c->send = pages(k->send_bytes(c));
    c->first_receive = c->receive = pages(k->receive_bytes(c));
    c->send_stride = c->receive_stride = 0;
    c->pairs = 1;
    c->pair = 0;
    k->check(c);
    measure(o, k, c, "same");
    free(c->first_send);
    free(c->first_receive);
}

/* What is sent from a ring is the same number everywhere, so that sums of it are ordinary numbers. */
static void fill_ordinary(unsigned char *at, size_t bytes)
{
    const double ordinary = 1.5;
    for (size_t i = 0; i + sizeof(ordinary) <= bytes; i += sizeof(ordinary))
        memcpy(at + i, &ordinary, sizeof(ordinary));
}

/* Memory that is kept from size to size, because new memory costs more than the measurement. */
struct arena {
    unsigned char *at;
    size_t bytes;
};

/* At least so much memory, filled with ordinary numbers when it was made. */
static unsigned char *reserve(struct arena *arena, size_t bytes)
{
    if (arena->at && arena->bytes >= bytes)
        return arena->at;
    free(arena->at);
    arena->at = pages(bytes);
    arena->bytes = bytes;
    fill_ordinary(arena->at, bytes);
    return arena->at;
}

static size_t stride(size_t bytes)
{
    return bytes ? (bytes + PAGE - 1) / PAGE * PAGE + CACHE_LINE : 0;
}

/* As many pairs of buffers as fill the ring, at least two; the first two are checked. */
static void measure_ring(const struct options *o, const struct kernel *k, struct context *c)
{
    static struct arena sends, receives;
    c->send_stride = stride(k->send_bytes(c));
    c->receive_stride = stride(k->receive_bytes(c));
    size_t pair_bytes = c->send_stride + c->receive_stride;
    size_t fit = pair_bytes ? o->ring_bytes / pair_bytes : 1;
    c->pairs = fit < 2 && pair_bytes ? 2 : (long)fit;
    c->first_send = c->send = reserve(&sends, (size_t)c->pairs * c->send_stride);
    c->first_receive = c->receive = reserve(&receives, (size_t)c->pairs * c->receive_stride);
    c->pair = 0;
    /* As many on all ranks, also where one of them has no buffers. */
    for (int checked = 0; checked < 2; checked++) {
        k->check(c);
        fill_ordinary(c->send, k->send_bytes(c));
        next_buffers(c);
    }
    measure(o, k, c, "ring");
}

static void measure_size(const struct options *o, const struct kernel *k, struct context *c)
{
    const size_t in_flight = (size_t)4 << 20;
    size_t fits = c->bytes ? in_flight / c->bytes : WINDOW;
    c->window = fits > WINDOW ? WINDOW : fits < 2 ? 2 : (int)fits;
    c->phase_seconds = o->phase_seconds;
    if (o->buffers & SAME || !changes_buffers(k))
        measure_same(o, k, c);
    if (o->buffers & RING && changes_buffers(k))
        measure_ring(o, k, c);
}

static void measure_kernel(const struct options *o, const struct kernel *k, struct context *c)
{
    const size_t *sizes = o->size_count ? o->sizes : k->sizes;
    int count = o->size_count ? o->size_count : k->size_count;
    c->bytes = 0;
    if (!k->sizes)
        measure_size(o, k, c);
    for (int i = 0; k->sizes && i < count; i++) {
        c->bytes = sizes[i];
        measure_size(o, k, c);
    }
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
    int too_few = 0;
    for (int i = 0; i < o.kernel_count; i++) {
        const struct kernel *k = o.kernels[i];
        if (c.ranks >= k->least_ranks) {
            measure_kernel(&o, k, &c);
            continue;
        }
        too_few = 1;
        if (c.rank == 0)
            fprintf(stderr, "microbench: %s needs %d ranks, started with %d\n", k->name, k->least_ranks,
                    c.ranks);
    }
    MPI_Finalize();
    return too_few ? 2 : 0;
}
