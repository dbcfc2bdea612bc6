/* The microbenchmark's common types: what a kernel is, and what it is given.
 *
 * A kernel measures one kind of communication. Its `check` proves, before anything is timed, that the
 * library moves the right bytes at this size; its `run` performs a number of iterations and returns the
 * seconds that they took on the calling rank. The harness (microbench.c) decides how many iterations.
 *
 * A collective takes the next pair of buffers of a ring with every call, by next_buffers(). The ring has one
 * pair, or as many as `--ring` bytes hold (`--buffers`). */
#ifndef BENCH_H
#define BENCH_H

#include <mpi.h>
#include <stddef.h>

/* Messages in flight at once in the windowed kernels, at most. */
enum { WINDOW = 64 };

/* Windows between two acknowledgements in `rate`: bounds how far the sender can run ahead
 * (WINDOW * WINDOWS_PER_ACK messages) while the acknowledgement itself costs nothing. */
enum { WINDOWS_PER_ACK = 64 };

/* What one measurement is given. Buffers are large enough for `bytes` in the kernel's own sense. */
struct context {
    int rank;
    int ranks;
    size_t bytes;
    int window;             /* messages in flight: WINDOW, or fewer where the messages are large */
    unsigned char *send;    /* kernel->send_bytes(context) bytes, of the present pair */
    unsigned char *receive; /* kernel->receive_bytes(context) bytes, of the present pair */
    unsigned char *first_send;
    unsigned char *first_receive;
    size_t send_stride; /* from pair to pair; 0 where there is one pair */
    size_t receive_stride;
    long pairs;
    long pair;            /* the present one */
    double phase_seconds; /* `blocking`: computation before a call is uniform in [0, phase_seconds) */
};

struct kernel {
    const char *name;
    const char *what; /* one line for --help */
    const char *unit; /* of the printed value */
    int least_ranks;
    const size_t *sizes; /* default sizes, or NULL where size has no meaning */
    int size_count;
    size_t multiple_of; /* sizes must be a multiple of this */
    size_t (*send_bytes)(const struct context *);
    size_t (*receive_bytes)(const struct context *);
    void (*check)(struct context *);
    double (*run)(struct context *, long iterations);
    double (*value)(const struct context *, long iterations, double seconds);
};

/* Goes on to the next pair of buffers of the ring. */
static inline void next_buffers(struct context *c)
{
    c->send += c->send_stride;
    c->receive += c->receive_stride;
    if (++c->pair == c->pairs) {
        c->pair = 0;
        c->send = c->first_send;
        c->receive = c->first_receive;
    }
}

extern const struct kernel point_to_point_kernels[];
extern const int point_to_point_kernel_count;
extern const struct kernel datatype_kernels[];
extern const int datatype_kernel_count;
extern const struct kernel collective_kernels[];
extern const int collective_kernel_count;
extern const struct kernel nonblocking_kernels[];
extern const int nonblocking_kernel_count;
extern const struct kernel communicator_kernels[];
extern const int communicator_kernel_count;
extern const struct kernel one_sided_kernels[];
extern const int one_sided_kernel_count;
extern const struct kernel partitioned_kernels[];
extern const int partitioned_kernel_count;
extern const struct kernel file_kernels[];
extern const int file_kernel_count;

/* The rank that this one exchanges with where all ranks do in pairs; MPI_PROC_NULL for the last of an odd number. */
static inline int partner(const struct context *c)
{
    int other = c->rank ^ 1;
    return other < c->ranks ? other : MPI_PROC_NULL;
}

/* Ends the whole job with a message: the library under test delivered wrong data. */
void wrong_data(const struct context *c, const char *kernel, size_t at, double found, double expected);

/* Reported value of a latency-like kernel: microseconds an iteration. */
double microseconds_each(const struct context *c, long iterations, double seconds);

#endif
