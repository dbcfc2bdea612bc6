/* A rank that is stopped while it waits for room, and goes on a second later: it has not seen that the others have given the room back, and that is no
 * deadlock. */
#include "check.h"
#include <signal.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

/* More than the root has slabs for. */
enum { TIMES = 600, BYTES = 100 };

static long pid;

static void resume(int signal)
{
    (void)signal;
    kill((pid_t)pid, SIGCONT);
}

int main(int argc, char **argv)
{
    start(&argc, &argv);
    char bytes[BYTES] = {0};
    pid = getpid();
    if (rank == 0)
        MPI_Send(&pid, 1, MPI_LONG, 1, 1, MPI_COMM_WORLD);
    if (rank == 1)
        MPI_Recv(&pid, 1, MPI_LONG, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (rank == 1) { /* the root is asleep by then */
        nanosleep(&(struct timespec){0, 300000000}, NULL);
        signal(SIGALRM, resume);
        kill((pid_t)pid, SIGSTOP);
        setitimer(ITIMER_REAL, &(struct itimerval){.it_value = {1, 0}}, NULL);
        MPI_Send(&rank, 1, MPI_INT, 2, 2, MPI_COMM_WORLD);
    }
    if (rank == 2)
        MPI_Recv(bytes, 1, MPI_INT, 1, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    for (int i = 0; i < TIMES; i++)
        MPI_Bcast(bytes, BYTES, MPI_BYTE, 0, MPI_COMM_WORLD);
    MPI_Finalize();
    return 0;
}
