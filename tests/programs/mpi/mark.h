/* A file by which ranks tell each other something beside MPI: it is there, or not. */
#ifndef MARK_H
#define MARK_H
#include "check.h"
#include <unistd.h>

/* Seconds after which it is not expected any more. */
#define LONGEST 30.0

static char mark[] = "/tmp/bcs-mpi-mark.XXXXXX";

/* All ranks learn a name that nothing has. */
static inline void name_mark(void)
{
    if (rank == 0) {
        int file = mkstemp(mark);
        CHECK(file >= 0);
        close(file);
        unlink(mark);
    }
    MPI_Bcast(mark, sizeof mark, MPI_CHAR, 0, MPI_COMM_WORLD);
}

static inline void set_mark(void)
{
    FILE *file = fopen(mark, "w");
    CHECK(file != NULL);
    fclose(file);
}

/* Looks, and calls no MPI but for the time, until the mark is set. */
static inline void await_mark(void)
{
    double begun = MPI_Wtime();
    while (access(mark, F_OK) != 0 && MPI_Wtime() - begun < LONGEST)
        continue;
    CHECK(access(mark, F_OK) == 0);
}
#endif
