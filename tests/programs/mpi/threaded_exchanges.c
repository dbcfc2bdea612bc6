/* Large collectives of many more threads at once than a lane has slots for, each on a communicator of its own. */
#include "check.h"
#include <pthread.h>

enum { THREADS = 40, ROUNDS = 10, MOST = 6000, KINDS = 5 };

static MPI_Comm comms[THREADS];

static double value(int from, int thread, int i)
{
    return from * 3 + thread * 5 + i % 1000;
}

/* What values of so many first ranks come to. */
static double sum(int ranks, int thread, int i)
{
    return ranks * value(0, thread, i) + 3.0 * ranks * (ranks - 1) / 2;
}

static void call(int kind, int thread, int count, double *own, double *got)
{
    MPI_Comm comm = comms[thread];
    int each = count / size, root = thread % size;
    for (int i = 0; i < count; i++)
        own[i] = value(rank, thread, i);
    switch (kind) {
    case 0:
        MPI_Allreduce(own, got, count, MPI_DOUBLE, MPI_SUM, comm);
        for (int i = 0; i < count; i++)
            CHECK_INT(got[i], sum(size, thread, i));
        break;
    case 1:
        MPI_Scan(own, got, count, MPI_DOUBLE, MPI_SUM, comm);
        for (int i = 0; i < count; i++)
            CHECK_INT(got[i], sum(rank + 1, thread, i));
        break;
    case 2:
        MPI_Reduce_scatter_block(own, got, each, MPI_DOUBLE, MPI_SUM, comm);
        for (int i = 0; i < each; i++)
            CHECK_INT(got[i], sum(size, thread, rank * each + i));
        break;
    case 3:
        MPI_Alltoall(own, each, MPI_DOUBLE, got, each, MPI_DOUBLE, comm);
        for (int i = 0; i < each * size; i++)
            CHECK_INT(got[i], value(i / each, thread, rank * each + i % each));
        break;
    case 4:
        MPI_Bcast(own, count, MPI_DOUBLE, root, comm);
        for (int i = 0; i < count; i++)
            CHECK_INT(own[i], value(root, thread, i));
    }
}

static void *work(void *argument)
{
    int thread = (int)(size_t)argument;
    double *own = malloc(MOST * sizeof *own), *got = malloc(MOST * sizeof *got);
    for (int round = 0; round < ROUNDS; round++)
        call((thread + round) % KINDS, thread, round % 2 ? MOST : MOST / 3, own, got);
    free(own);
    free(got);
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_t threads[THREADS];
    start_threaded(&argc, &argv);
    for (int i = 0; i < THREADS; i++)
        MPI_Comm_dup(MPI_COMM_WORLD, &comms[i]);
    for (int i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, work, (void *)(size_t)i);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    for (int i = 0; i < THREADS; i++)
        MPI_Comm_free(&comms[i]);
    MPI_Finalize();
    return 0;
}
