/* MPI_THREAD_MULTIPLE: threads that wait do not keep others from posting and making progress, and messages find the thread
 * that waits for them. */
#include "check.h"
#include <pthread.h>
#include <time.h>

enum { THREADS = 4, ROUNDS = 300 };

static void *talk(void *argument)
{
    int thread = (int)(size_t)argument, peer = rank ^ 1;
    static unsigned char buffers[THREADS][2][40000];
    unsigned char *out = buffers[thread][0], *in = buffers[thread][1];
    for (int i = 0; i < ROUNDS; i++) {
        int bytes = i % 50 == 0 ? 40000 : i % 7 == 0 ? 5000 : 16;
        fill(out, (size_t)bytes, thread + i);
        if ((rank + thread) % 2) {
            MPI_Send(out, bytes, MPI_BYTE, peer, thread, MPI_COMM_WORLD);
            MPI_Recv(in, bytes, MPI_BYTE, peer, thread, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        } else {
            MPI_Request requests[2];
            MPI_Irecv(in, bytes, MPI_BYTE, peer, thread, MPI_COMM_WORLD, &requests[0]);
            MPI_Isend(out, bytes, MPI_BYTE, peer, thread, MPI_COMM_WORLD, &requests[1]);
            MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
        }
        CHECK(is_filled(in, (size_t)bytes, thread + i));
    }
    return NULL;
}

/* One thread waits for a message that another one of the same rank sends only later. */
static void *wait_for_own(void *argument)
{
    int value = 0;
    (void)argument;
    MPI_Recv(&value, 1, MPI_INT, rank, 1000, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    CHECK_INT(value, 31);
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_t threads[THREADS];
    start_threaded(&argc, &argv);
    if ((rank ^ 1) < size) {
        for (size_t i = 0; i < THREADS; i++)
            pthread_create(&threads[i], NULL, talk, (void *)i);
        for (int i = 0; i < THREADS; i++)
            pthread_join(threads[i], NULL);
    }
    pthread_create(&threads[0], NULL, wait_for_own, NULL);
    struct timespec pause = {0, 700000000}; /* longer than a deadlock takes to be found */
    nanosleep(&pause, NULL);
    int value = 31;
    MPI_Send(&value, 1, MPI_INT, rank, 1000, MPI_COMM_WORLD);
    pthread_join(threads[0], NULL);
    MPI_Finalize();
    return 0;
}
