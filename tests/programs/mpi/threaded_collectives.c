/* Non-blocking collectives of several threads at once, with an operation whose function wants a lock that other threads hold while they are
 * in MPI. */
#include "check.h"
#include <pthread.h>

enum { THREADS = 3, ROUNDS = 40, COUNT = 50 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static MPI_Comm comms[THREADS];
static MPI_Op op;

static void add(void *in, void *inout, int *len, MPI_Datatype *type)
{
    (void)type;
    pthread_mutex_lock(&lock);
    for (int i = 0; i < *len; i++)
        ((int *)inout)[i] += ((int *)in)[i];
    pthread_mutex_unlock(&lock);
}

static void *reduce(void *argument)
{
    int thread = (int)(size_t)argument, own[COUNT], got[2][COUNT];
    for (int round = 0; round < ROUNDS; round++) {
        MPI_Request q[2];
        for (int i = 0; i < COUNT; i++)
            own[i] = rank + thread + i + round;
        /* The call itself may run the function of another thread's operation. */
        MPI_Iallreduce(own, got[0], COUNT, MPI_INT, op, comms[thread], &q[0]);
        MPI_Iallreduce(own, got[1], COUNT, MPI_INT, MPI_SUM, comms[thread], &q[1]);
        int done = 0;
        while (thread == 0 && !done) {
            pthread_mutex_lock(&lock);
            MPI_Comm_test_inter(comms[thread], &done);
            pthread_mutex_unlock(&lock);
            MPI_Testall(2, q, &done, MPI_STATUSES_IGNORE);
        }
        MPI_Waitall(2, q, MPI_STATUSES_IGNORE);
        for (int i = 0; i < COUNT; i++) {
            CHECK_INT(got[0][i], size * (thread + i + round) + size * (size - 1) / 2);
            CHECK_INT(got[1][i], got[0][i]);
        }
    }
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_t threads[THREADS];
    start_threaded(&argc, &argv);
    MPI_Op_create(add, 1, &op);
    for (int i = 0; i < THREADS; i++)
        MPI_Comm_dup(MPI_COMM_WORLD, &comms[i]);
    for (int i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, reduce, (void *)(size_t)i);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    for (int i = 0; i < THREADS; i++)
        MPI_Comm_free(&comms[i]);
    MPI_Op_free(&op);
    MPI_Finalize();
    return 0;
}
