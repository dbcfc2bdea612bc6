/* A thread reads variables all the time, while another one is in MPI: below MPI_THREAD_MULTIPLE those of the NIC alone. */
#include "tools.h"
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

static atomic_int begun, over;
static int level;
static unsigned long reads;

static void *sample(void *unused)
{
    MPI_T_pvar_session session;
    unsigned long long last = 0, value, got;
    CHECK_INT(MPI_T_pvar_session_create(&session), MPI_SUCCESS);
    MPI_T_pvar_handle slices = measured(session, "slices", MPI_T_PVAR_CLASS_COUNTER, NULL), calls = measured(session, "calls_MPI_Sendrecv", MPI_T_PVAR_CLASS_COUNTER, NULL);
    CHECK_INT(MPI_T_pvar_start(session, MPI_T_PVAR_ALL_HANDLES), MPI_SUCCESS);
    MPI_T_pvar_handle requests = MPI_T_PVAR_HANDLE_NULL;
    int index = pvar("requests", MPI_T_PVAR_CLASS_LEVEL), is_refused = level < MPI_THREAD_MULTIPLE;
    CHECK_INT(MPI_T_pvar_handle_alloc(session, index, NULL, &requests, NULL), is_refused ? MPI_T_ERR_NOT_ACCESSIBLE : MPI_SUCCESS);
    MPI_T_cvar_handle yields = control("wait_yields", NULL);
    while (!over) {
        value = value_of(session, slices);
        CHECK(value >= last);
        last = value;
        if (!is_refused)
            CHECK(value_of(session, requests) < 100);
        CHECK_INT(MPI_T_cvar_read(yields, &got), is_refused ? MPI_T_ERR_NOT_ACCESSIBLE : MPI_SUCCESS);
        reads++;
        begun = 1;
    }
    value = value_of(session, calls);
    CHECK(value <= 20000);
    CHECK_INT(MPI_T_pvar_session_free(&session), MPI_SUCCESS);
    return unused;
}

int main(int argc, char **argv)
{
    int provided, wanted = argc > 1 ? MPI_THREAD_MULTIPLE : MPI_THREAD_FUNNELED;
    pthread_t thread;
    CHECK_INT(MPI_T_init_thread(MPI_THREAD_MULTIPLE, &provided), MPI_SUCCESS);
    MPI_Init_thread(&argc, &argv, wanted, &level);
    CHECK_INT(level, wanted);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    CHECK_INT(pthread_create(&thread, NULL, sample, NULL), 0);
    while (!begun)
        sched_yield();
    for (int i = 0; i < 20000; i++) {
        int got = -1;
        MPI_Sendrecv(&i, 1, MPI_INT, (rank + 1) % size, 1, &got, 1, MPI_INT, (rank + size - 1) % size, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        CHECK_INT(got, i);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    over = 1;
    CHECK_INT(pthread_join(thread, NULL), 0);
    CHECK(reads > 0);
    MPI_Finalize();
    CHECK_INT(MPI_T_finalize(), MPI_SUCCESS);
    return 0;
}
