/* Threads that access the same file at the same time, and one that makes collective accesses meanwhile
 * (MPI-5.0, §11.6, §14.4). */
#include "files.h"
#include <pthread.h>

enum { THREADS = 4, TIMES = 60, WIDE = 700 };

static MPI_File file, other;
static MPI_Comm comm;

static MPI_Offset place(int of, int thread, int time) { return 4 * (MPI_Offset)WIDE * ((of * THREADS + thread) * TIMES + time); }

static void *accesses(void *argument)
{
    int thread = *(int *)argument, given[WIDE], taken[WIDE];
    MPI_Status status;
    MPI_Request request;
    for (int time = 0; time < TIMES; time++) {
        MPI_Offset at = place(rank, thread, time);
        for (int i = 0; i < WIDE; i++)
            given[i] = (int)at + i;
        if (time % 2)
            WELL(MPI_File_write_at(file, at, given, WIDE, MPI_INT, &status));
        else {
            WELL(MPI_File_iwrite_at(file, at, given, WIDE, MPI_INT, &request));
            WELL(MPI_Wait(&request, &status));
        }
        check_count(&status, MPI_INT, WIDE);
        memset(taken, 0, sizeof taken);
        WELL(MPI_File_iread_at(file, at, taken, WIDE, MPI_INT, &request));
        int done = 0;
        while (!done)
            WELL(MPI_Test(&request, &done, &status));
        check_count(&status, MPI_INT, WIDE);
        CHECK(memcmp(given, taken, sizeof given) == 0);
        WELL(MPI_File_write_shared(other, &given[0], 1, MPI_INT, &status));
    }
    return NULL;
}

static void *collectives(void *argument)
{
    (void)argument;
    int numbers[10], got[10];
    for (int time = 0; time < TIMES; time++) {
        MPI_Offset at = place(size, 0, 0) + 40 * rank;
        for (int i = 0; i < 10; i++)
            numbers[i] = time * 100 + rank * 10 + i;
        WELL(MPI_File_write_at_all(file, at, numbers, 10, MPI_INT, MPI_STATUS_IGNORE));
        WELL(MPI_File_read_at_all(file, at, got, 10, MPI_INT, MPI_STATUS_IGNORE));
        CHECK(memcmp(got, numbers, sizeof got) == 0);
        MPI_Barrier(comm);
    }
    return NULL;
}

int main(int argc, char **argv)
{
    start_threaded(&argc, &argv);
    name_file(&argc, &argv);
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    file = open_new(MPI_COMM_WORLD, MPI_INFO_NULL);
    WELL(MPI_File_open(MPI_COMM_WORLD, name_of("shared"), MPI_MODE_RDWR | MPI_MODE_CREATE | MPI_MODE_DELETE_ON_CLOSE,
                       MPI_INFO_NULL, &other));
    WELL(MPI_File_set_view(other, 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL));
    pthread_t threads[THREADS + 1];
    int numbers[THREADS];
    for (int i = 0; i < THREADS; i++) {
        numbers[i] = i;
        CHECK(pthread_create(&threads[i], NULL, accesses, &numbers[i]) == 0);
    }
    CHECK(pthread_create(&threads[THREADS], NULL, collectives, NULL) == 0);
    for (int i = 0; i <= THREADS; i++)
        pthread_join(threads[i], NULL);
    MPI_Barrier(comm);
    /* Each write has its own place. */
    MPI_Offset position;
    WELL(MPI_File_get_position_shared(other, &position));
    CHECK_INT(position, size * THREADS * TIMES);
    CHECK_INT(size_of(other), 4 * size * THREADS * TIMES);
    for (int of = 0; of < size; of++)
        for (int thread = 0; thread < THREADS; thread++) {
            int first;
            WELL(MPI_File_read_at(file, place(of, thread, TIMES - 1), &first, 1, MPI_INT, MPI_STATUS_IGNORE));
            CHECK_INT(first, place(of, thread, TIMES - 1));
        }
    WELL(MPI_File_close(&other));
    WELL(MPI_File_close(&file));
    MPI_Comm_free(&comm);
    return MPI_Finalize();
}
