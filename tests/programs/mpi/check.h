/* Checks of the test programs: what does not hold is printed with its place, and ends the job. */
#ifndef CHECK_H
#define CHECK_H
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHECK(condition)                                                                                    \
    do {                                                                                                    \
        if (!(condition)) {                                                                                 \
            fprintf(stderr, "%s:%d: %s does not hold\n", __FILE__, __LINE__, #condition);                   \
            MPI_Abort(MPI_COMM_WORLD, 99);                                                                  \
        }                                                                                                   \
    } while (0)
#define CHECK_INT(value, expected)                                                                          \
    do {                                                                                                    \
        long long got_ = (long long)(value), want_ = (long long)(expected);                                 \
        if (got_ != want_) {                                                                                \
            fprintf(stderr, "%s:%d: %s is %lld, not %lld\n", __FILE__, __LINE__, #value, got_, want_);      \
            MPI_Abort(MPI_COMM_WORLD, 99);                                                                  \
        }                                                                                                   \
    } while (0)

static inline int class_of(int code)
{
    int class = -1;
    MPI_Error_class(code, &class);
    return class;
}

static inline unsigned char byte_of(size_t at, int salt)
{
    return (unsigned char)(at * 31 + (at >> 8) * 17 + (size_t)salt * 7 + 3);
}

static inline void fill(unsigned char *bytes, size_t count, int salt)
{
    for (size_t i = 0; i < count; i++)
        bytes[i] = byte_of(i, salt);
}

static inline int is_filled(const unsigned char *bytes, size_t count, int salt)
{
    for (size_t i = 0; i < count; i++)
        if (bytes[i] != byte_of(i, salt))
            return 0;
    return 1;
}

static int rank, size;

static inline void start(int *argc, char ***argv)
{
    MPI_Init(argc, argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
}

/* The same where threads call MPI at the same time. */
static inline void start_threaded(int *argc, char ***argv)
{
    int provided;
    MPI_Init_thread(argc, argv, MPI_THREAD_MULTIPLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    CHECK_INT(provided, MPI_THREAD_MULTIPLE);
}
#endif
