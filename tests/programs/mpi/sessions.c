/* Sessions: before, beside and after the world model, several at once; process sets, hints, error handlers. */
#include "check.h"
#include <stdarg.h>

static int handled;

static void handler(MPI_Session *session, int *code, ...)
{
    (void)session;
    CHECK(class_of(*code) == MPI_ERR_ARG || class_of(*code) == MPI_ERR_INFO_VALUE);
    handled++;
}

/* Uses a session; answers how many processes the job has. */
static int use(MPI_Session session)
{
    char name[MPI_MAX_PSET_NAME_LEN], value[MPI_MAX_INFO_VAL];
    int sets, length, found, members, own;
    MPI_Info info;
    MPI_Group group, self;
    MPI_Session_get_num_psets(session, MPI_INFO_NULL, &sets);
    CHECK_INT(sets, 2);
    const char *expected[] = {"mpi://WORLD", "mpi://SELF"};
    for (int n = 0; n < sets; n++) {
        length = 0;
        MPI_Session_get_nth_pset(session, MPI_INFO_NULL, n, &length, NULL);
        CHECK_INT(length, strlen(expected[n]) + 1);
        MPI_Session_get_nth_pset(session, MPI_INFO_NULL, n, &length, name);
        CHECK(!strcmp(name, expected[n]));
        length = 4;
        MPI_Session_get_nth_pset(session, MPI_INFO_NULL, n, &length, name);
        CHECK(!strcmp(name, "mpi"));
    }
    MPI_Group_from_session_pset(session, "mpi://WORLD", &group);
    MPI_Group_from_session_pset(session, "mpi://SELF", &self);
    MPI_Group_size(group, &members);
    MPI_Group_size(self, &own);
    CHECK_INT(own, 1);
    MPI_Session_get_pset_info(session, "mpi://WORLD", &info);
    MPI_Info_get(info, "mpi_size", sizeof value - 1, value, &found);
    CHECK(found && atoi(value) == members);
    MPI_Info_free(&info);
    MPI_Session_get_info(session, &info);
    MPI_Info_get(info, "thread_level", sizeof value - 1, value, &found);
    CHECK(found && !strncmp(value, "MPI_THREAD_", 11));
    MPI_Info_free(&info);
    MPI_Group_free(&group);
    MPI_Group_free(&self);
    CHECK(MPI_Session_fromint(MPI_Session_toint(session)) == session);
    return members;
}

/* Errors of MPI_Session_init are for the handler that it is given. */
static void wrong_beginnings(MPI_Errhandler own)
{
    MPI_Session session = MPI_SESSION_NULL;
    MPI_Info hints;
    int before = handled;
    MPI_Info_create(&hints);
    MPI_Info_set(hints, "thread_level", "many");
    CHECK_INT(class_of(MPI_Session_init(hints, MPI_ERRORS_RETURN, &session)), MPI_ERR_INFO_VALUE);
    CHECK_INT(handled, before);
    CHECK_INT(class_of(MPI_Session_init(hints, own, &session)), MPI_ERR_INFO_VALUE);
    CHECK_INT(handled, before + 1);
    CHECK_INT(class_of(MPI_Session_init(MPI_INFO_NULL, own, NULL)), MPI_ERR_ARG);
    CHECK_INT(handled, before + 2);
    CHECK(session == MPI_SESSION_NULL);
    MPI_Info_free(&hints);
}

int main(int argc, char **argv)
{
    MPI_Session first, second, third, null = MPI_SESSION_NULL;
    MPI_Errhandler own, got;
    MPI_Group group;
    int flag, members, code;
    /* Alone, without the world model. */
    MPI_Session_create_errhandler(handler, &own);
    wrong_beginnings(own);
    handled = 0;
    MPI_Session_init(MPI_INFO_NULL, own, &first);
    MPI_Initialized(&flag);
    CHECK(!flag);
    members = use(first);
    code = MPI_Group_from_session_pset(first, "mpi://nowhere", &group);
    CHECK_INT(class_of(code), MPI_ERR_ARG);
    CHECK_INT(handled, 1);
    wrong_beginnings(own);
    handled = 1;
    MPI_Session_call_errhandler(first, MPI_ERR_ARG);
    CHECK_INT(handled, 2);
    MPI_Session_get_errhandler(first, &got);
    CHECK(got == own);
    MPI_Errhandler_free(&got);
    MPI_Errhandler_free(&own);
    MPI_Session_set_errhandler(first, MPI_ERRORS_RETURN);
    CHECK_INT(class_of(MPI_Group_from_session_pset(first, "", &group)), MPI_ERR_ARG);
    CHECK_INT(handled, 2);
    MPI_Session_finalize(&first);
    CHECK(first == MPI_SESSION_NULL);
    /* Beside the world model, and two of them. */
    MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &first);
    start(&argc, &argv);
    CHECK_INT(size, members);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &second);
    CHECK(first != second);
    CHECK_INT(use(first), size);
    CHECK_INT(use(second), size);
    CHECK_INT(class_of(MPI_Session_finalize(&null)), MPI_ERR_SESSION);
    MPI_Info hints;
    MPI_Info_create(&hints);
    MPI_Info_set(hints, "thread_level", "many");
    CHECK_INT(class_of(MPI_Session_init(hints, MPI_ERRORS_RETURN, &third)), MPI_ERR_INFO_VALUE);
    MPI_Info_set(hints, "thread_level", "MPI_THREAD_SINGLE");
    CHECK_INT(MPI_Session_init(hints, MPI_ERRORS_RETURN, &third), MPI_SUCCESS);
    MPI_Info_free(&hints);
    MPI_Session_finalize(&third);
    MPI_Session stale = second;
    MPI_Session_finalize(&second);
    CHECK_INT(class_of(MPI_Session_finalize(&stale)), MPI_ERR_SESSION);
    int sum = 0, one = 1;
    MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    CHECK_INT(sum, size);
    MPI_Finalize();
    MPI_Finalized(&flag);
    CHECK(flag);
    /* A session outlives it, and another begins after everything has ended. */
    CHECK_INT(use(first), size);
    MPI_Session_finalize(&first);
    MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &first);
    CHECK_INT(use(first), size);
    MPI_Session_finalize(&first);
    return 0;
}
