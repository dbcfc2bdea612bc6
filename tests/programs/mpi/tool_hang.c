/* A tool is told of a hang before its job is ended: every process waits for what never comes. */
#include "tools.h"

static int told;

static void hear(MPI_T_event_instance event, MPI_T_event_registration registration, MPI_T_cb_safety safety, void *user_data)
{
    int ranks = 0;
    (void)event, (void)registration, (void)safety, (void)user_data;
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    CHECK_INT(++told, 1);
    printf("told of a hang of %d ranks\n", ranks);
    fflush(stdout);
}

static void listen_to_hangs(void)
{
    MPI_T_event_registration registration;
    CHECK_INT(MPI_T_event_handle_alloc(event_named("hang_found"), NULL, MPI_INFO_NULL, &registration), MPI_SUCCESS);
    CHECK_INT(MPI_T_event_register_callback(registration, MPI_T_CB_REQUIRE_NONE, MPI_INFO_NULL, NULL, hear), MPI_SUCCESS);
}

int main(int argc, char **argv)
{
    int provided, got, after = argc > 1 && strcmp(argv[1], "after") == 0;
    CHECK_INT(MPI_T_init_thread(MPI_THREAD_SINGLE, &provided), MPI_SUCCESS);
    if (!after)
        listen_to_hangs();
    start(&argc, &argv);
    if (after)
        listen_to_hangs();
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK_INT(told, 0);
    MPI_Recv(&got, 1, MPI_INT, MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    return 0;
}
