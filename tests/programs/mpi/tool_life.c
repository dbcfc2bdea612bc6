/* The tool interface begins and ends as often as a program likes, before MPI_Init and after MPI_Finalize; its errors are codes, and ask no error handler. */
#include "tools.h"

static int handled;

static void handler(MPI_Comm *comm, int *code, ...)
{
    (void)comm, (void)code;
    handled++;
}

static void nothing_without_it(void)
{
    int number = 7, index = 7;
    MPI_T_pvar_session session;
    int (*counts[])(int *) = {MPI_T_cvar_get_num, MPI_T_pvar_get_num, MPI_T_category_get_num, MPI_T_event_get_num,
                              MPI_T_source_get_num, MPI_T_category_changed};
    for (int i = 0; i < 6; i++)
        CHECK_INT(counts[i](&number), MPI_T_ERR_NOT_INITIALIZED);
    CHECK_INT(number, 7);
    CHECK_INT(MPI_T_cvar_get_index("x", &index), MPI_T_ERR_NOT_INITIALIZED);
    CHECK_INT(MPI_T_pvar_session_create(&session), MPI_T_ERR_NOT_INITIALIZED);
    CHECK_INT(MPI_T_event_get_index("x", &index), MPI_T_ERR_NOT_INITIALIZED);
    CHECK_INT(MPI_T_finalize(), MPI_T_ERR_NOT_INITIALIZED);
    CHECK_INT(index, 7);
}

static void nests(void)
{
    int provided = -1, number = -1, changed = -1;
    CHECK_INT(MPI_T_init_thread(MPI_THREAD_MULTIPLE, &provided), MPI_SUCCESS);
    CHECK(provided >= MPI_THREAD_SINGLE && provided <= MPI_THREAD_MULTIPLE);
    CHECK_INT(MPI_T_init_thread(MPI_THREAD_SINGLE, &provided), MPI_SUCCESS);
    CHECK_INT(MPI_T_finalize(), MPI_SUCCESS);
    CHECK_INT(MPI_T_cvar_get_num(&number), MPI_SUCCESS);
    CHECK(number >= 0);
    CHECK_INT(MPI_T_category_changed(&changed), MPI_SUCCESS);
    CHECK_INT(MPI_T_finalize(), MPI_SUCCESS);
}

/* A handle is none after the last end of the interface. */
static void handles_end_with_it(void)
{
    int provided;
    unsigned long long value;
    CHECK_INT(MPI_T_init_thread(MPI_THREAD_SINGLE, &provided), MPI_SUCCESS);
    if (is_ours()) {
        MPI_T_cvar_handle handle = control("event_room", NULL);
        MPI_T_pvar_session session;
        CHECK_INT(MPI_T_pvar_session_create(&session), MPI_SUCCESS);
        MPI_T_pvar_handle slices = measured(session, "slices", MPI_T_PVAR_CLASS_COUNTER, NULL);
        CHECK_INT(MPI_T_finalize(), MPI_SUCCESS);
        CHECK_INT(MPI_T_init_thread(MPI_THREAD_SINGLE, &provided), MPI_SUCCESS);
        CHECK_INT(MPI_T_cvar_read(handle, &value), MPI_T_ERR_INVALID_HANDLE);
        CHECK_INT(MPI_T_pvar_read(session, slices, &value), MPI_T_ERR_INVALID_SESSION);
    }
    CHECK_INT(MPI_T_finalize(), MPI_SUCCESS);
}

int main(int argc, char **argv)
{
    int provided, index;
    MPI_Errhandler errhandler;
    nothing_without_it();
    nests();
    nothing_without_it();
    handles_end_with_it();
    CHECK_INT(MPI_T_init_thread(MPI_THREAD_SINGLE, &provided), MPI_SUCCESS);
    MPI_T_cvar_handle room = MPI_T_CVAR_HANDLE_NULL;
    int ours = is_ours();
    if (ours)
        room = control("event_room", NULL);
    start(&argc, &argv);
    /* Tools that are linked before the library may give levels a meaning; it has none itself. */
    CHECK_INT(MPI_Pcontrol(1), MPI_SUCCESS);
    MPI_Comm_create_errhandler(handler, &errhandler);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, errhandler);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, errhandler);
    int code = MPI_T_cvar_get_index("no variable has this name", &index);
    CHECK(code == MPI_T_ERR_INVALID_NAME);
    CHECK(MPI_T_cvar_get_info(-1, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL) == MPI_T_ERR_INVALID_INDEX);
    CHECK_INT(handled, 0);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
    MPI_Errhandler_free(&errhandler);
    MPI_Finalize();
    if (ours) {
        unsigned long long value = 0;
        CHECK_INT(MPI_T_cvar_read(room, &value), MPI_SUCCESS);
        CHECK_INT(value, 1024);
    }
    CHECK_INT(MPI_T_finalize(), MPI_SUCCESS);
    nothing_without_it();
    return 0;
}
