/* Control variables: what the interface says of each; reading, writing, and what cannot be written. */
#include "tools.h"

static int is_text(const char *text, int length)
{
    return (int)strlen(text) == length - 1;
}

/* The names and values of an enumeration. */
static void check_enumeration(MPI_T_enum names)
{
    int items, length = 0, value;
    char name[256];
    CHECK_INT(MPI_T_enum_get_info(names, &items, NULL, &length), MPI_SUCCESS);
    CHECK(items > 0 && length > 1 && length <= (int)sizeof name);
    CHECK_INT(MPI_T_enum_get_info(names, NULL, name, &length), MPI_SUCCESS);
    CHECK(is_text(name, length));
    for (int i = 0; i < items; i++) {
        length = sizeof name;
        CHECK_INT(MPI_T_enum_get_item(names, i, &value, name, &length), MPI_SUCCESS);
        CHECK(length > 1 && is_text(name, length));
    }
    length = sizeof name;
    CHECK(MPI_T_enum_get_item(names, items, &value, name, &length) != MPI_SUCCESS);
    CHECK(MPI_T_enum_get_item(names, -1, &value, name, &length) != MPI_SUCCESS);
}

/* What the standard says of all variables. */
static void check_all(int is_initialised)
{
    int count = -1, verbosity, bind, scope, index, elements;
    CHECK_INT(MPI_T_cvar_get_num(&count), MPI_SUCCESS);
    for (int i = 0; i < count; i++) {
        char name[256], begin[4], text[1024];
        int name_length = 0, text_length = 0;
        MPI_Datatype type;
        MPI_T_enum names;
        CHECK_INT(MPI_T_cvar_get_info(i, NULL, &name_length, NULL, NULL, NULL, NULL, &text_length, NULL, NULL), MPI_SUCCESS);
        CHECK(name_length > 1 && name_length <= (int)sizeof name);
        int whole = name_length;
        text_length = sizeof text;
        CHECK_INT(MPI_T_cvar_get_info(i, name, &name_length, &verbosity, &type, &names, text, &text_length, &bind, &scope), MPI_SUCCESS);
        CHECK(is_text(name, whole));
        CHECK(verbosity >= MPI_T_VERBOSITY_USER_BASIC && verbosity <= MPI_T_VERBOSITY_MPIDEV_ALL);
        CHECK(scope >= MPI_T_SCOPE_CONSTANT && scope <= MPI_T_SCOPE_ALL_EQ);
        /* A name that is too long for its place is cut, and its whole length is told. */
        int room = sizeof begin;
        CHECK_INT(MPI_T_cvar_get_info(i, begin, &room, NULL, NULL, NULL, NULL, NULL, NULL, NULL), MPI_SUCCESS);
        CHECK(strncmp(begin, name, strlen(begin)) == 0 && strlen(begin) < sizeof begin);
        CHECK_INT(MPI_T_cvar_get_index(name, &index), MPI_SUCCESS);
        CHECK_INT(index, i);
        if (names != MPI_T_ENUM_NULL)
            check_enumeration(names);
        if (bind != MPI_T_BIND_NO_OBJECT || !is_initialised)
            continue;
        MPI_T_cvar_handle handle;
        CHECK_INT(MPI_T_cvar_handle_alloc(i, NULL, &handle, &elements), MPI_SUCCESS);
        char value[1 << 16];
        if (elements * 8 <= (int)sizeof value)
            CHECK_INT(MPI_T_cvar_read(handle, value), MPI_SUCCESS);
        CHECK_INT(MPI_T_cvar_handle_free(&handle), MPI_SUCCESS);
        CHECK(handle == MPI_T_CVAR_HANDLE_NULL);
    }
    /* MPICH built without checks of arguments crashes here. */
    if (is_ours())
        CHECK_INT(MPI_T_cvar_get_info(count, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL), MPI_T_ERR_INVALID_INDEX);
}

static unsigned long long number_of(MPI_T_cvar_handle handle)
{
    unsigned long long value = 77;
    CHECK_INT(MPI_T_cvar_read(handle, &value), MPI_SUCCESS);
    return value;
}

static void write_those_of_this_rank(void)
{
    const char *names[] = {"wait_polls", "wait_watches", "wait_patience", "wait_trust", "wait_bystanding", "wait_claim_yields",
                           "wait_yields", "wait_meeting_looks", "wait_lane_looks", "left_bytes", "event_room"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        MPI_T_cvar_handle handle = control(names[i], NULL);
        unsigned long long before = number_of(handle), new = before / 2 + 3, far = 1ULL << 40;
        CHECK_INT(MPI_T_cvar_write(handle, &new), MPI_SUCCESS);
        CHECK_INT(number_of(handle), new);
        CHECK_INT(MPI_T_cvar_write(handle, &far), MPI_T_ERR_INVALID);
        CHECK_INT(number_of(handle), new);
        /* Messages go all the same. */
        int sent = rank, got = -1;
        MPI_Sendrecv(&sent, 1, MPI_INT, (rank + 1) % size, 1, &got, 1, MPI_INT, (rank + size - 1) % size, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        CHECK_INT(got, (rank + size - 1) % size);
        CHECK_INT(MPI_T_cvar_write(handle, &before), MPI_SUCCESS);
        CHECK_INT(MPI_T_cvar_handle_free(&handle), MPI_SUCCESS);
    }
    /* Long messages, in the smallest steps that there are. */
    const char *steps[] = {"attach_bytes", "step_bytes"};
    for (int i = 0; i < 2; i++) {
        MPI_T_cvar_handle handle = control(steps[i], NULL);
        unsigned long long before = number_of(handle), least = 4096, none = 0;
        CHECK_INT(MPI_T_cvar_write(handle, &none), MPI_T_ERR_INVALID);
        CHECK_INT(MPI_T_cvar_write(handle, &least), MPI_SUCCESS);
        static unsigned char out[3 << 20], in[3 << 20];
        fill(out, sizeof out, rank);
        MPI_Sendrecv(out, sizeof out, MPI_BYTE, (rank + 1) % size, 1, in, sizeof in, MPI_BYTE, (rank + size - 1) % size, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        CHECK(is_filled(in, sizeof in, (rank + size - 1) % size));
        CHECK_INT(MPI_T_cvar_write(handle, &before), MPI_SUCCESS);
        CHECK_INT(MPI_T_cvar_handle_free(&handle), MPI_SUCCESS);
    }
}

static void refuse_those_of_the_job(void)
{
    const char *names[] = {"slice_period_ns", "cores", "slab_bytes"};
    for (int i = 0; i < 3; i++) {
        MPI_T_cvar_handle handle = control(names[i], NULL);
        unsigned long long before = number_of(handle), new = before + 1;
        CHECK_INT(MPI_T_cvar_write(handle, &new), MPI_T_ERR_CVAR_SET_NEVER);
        CHECK_INT(number_of(handle), before);
        CHECK_INT(MPI_T_cvar_handle_free(&handle), MPI_SUCCESS);
    }
    MPI_T_cvar_handle mode = control("slice_mode", NULL), period = control("slice_period_ns", NULL);
    int is_fixed = -1;
    CHECK_INT(MPI_T_cvar_read(mode, &is_fixed), MPI_SUCCESS);
    CHECK_INT(is_fixed, number_of(period) != 0);
}

/* The number of an algorithm. */
static int algorithm_named(const char *variable, const char *wanted)
{
    int index, items, value = -2, length;
    MPI_T_enum names;
    char name[256];
    CHECK_INT(MPI_T_cvar_get_index(variable, &index), MPI_SUCCESS);
    CHECK_INT(MPI_T_cvar_get_info(index, NULL, NULL, NULL, NULL, &names, NULL, NULL, NULL, NULL), MPI_SUCCESS);
    CHECK_INT(MPI_T_enum_get_info(names, &items, NULL, NULL), MPI_SUCCESS);
    for (int i = 0; i < items; i++) {
        length = sizeof name;
        CHECK_INT(MPI_T_enum_get_item(names, i, &value, name, &length), MPI_SUCCESS);
        if (strcmp(name, wanted) == 0)
            return value;
    }
    CHECK(!"there is such an algorithm");
    return -2;
}

/* A communicator goes by the algorithm that is wanted, and another one does not. */
static void want_algorithms(void)
{
    MPI_Comm dup, freed;
    MPI_T_pvar_session session;
    int tree = algorithm_named("comm_allreduce_algorithm", "tree"), automatic = algorithm_named("comm_allreduce_algorithm", "automatic");
    int value = -2, one = 1, sum = 0, wrong = 1000;
    CHECK_INT(automatic, -1);
    MPI_Comm_dup(MPI_COMM_WORLD, &dup);
    MPI_T_cvar_handle handle = control("comm_allreduce_algorithm", &dup);
    CHECK_INT(MPI_T_cvar_read(handle, &value), MPI_SUCCESS);
    CHECK_INT(value, automatic);
    CHECK_INT(MPI_T_cvar_write(handle, &wrong), MPI_T_ERR_INVALID);
    CHECK_INT(MPI_T_cvar_write(handle, &tree), MPI_SUCCESS);
    CHECK_INT(MPI_T_cvar_read(handle, &value), MPI_SUCCESS);
    CHECK_INT(value, tree);
    CHECK_INT(MPI_T_pvar_session_create(&session), MPI_SUCCESS);
    MPI_T_pvar_handle by_tree = measured(session, "allreduce_by_tree", MPI_T_PVAR_CLASS_COUNTER, NULL);
    CHECK_INT(MPI_T_pvar_start(session, by_tree), MPI_SUCCESS);
    for (int i = 0; i < 3; i++)
        MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, dup);
    CHECK_INT(sum, size);
    CHECK_INT(value_of(session, by_tree), size > 1 ? 3 : 0);
    /* The hint says the same. */
    MPI_Info info;
    char text[64] = "";
    int length = sizeof text, flag = 0;
    MPI_Comm_get_info(dup, &info);
    MPI_Info_get_string(info, "bcs_collective", &length, text, &flag);
    CHECK(flag && strcmp(text, "allreduce=tree") == 0);
    MPI_Info_free(&info);
    CHECK_INT(MPI_T_cvar_write(handle, &automatic), MPI_SUCCESS);
    MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, dup);
    CHECK_INT(sum, size);
    CHECK_INT(MPI_T_pvar_session_free(&session), MPI_SUCCESS);
    /* The communicator goes, and the handle is of nothing. */
    freed = dup;
    MPI_Comm_free(&dup);
    CHECK_INT(MPI_T_cvar_read(handle, &value), MPI_T_ERR_INVALID_HANDLE);
    CHECK_INT(MPI_T_cvar_write(handle, &tree), MPI_T_ERR_INVALID_HANDLE);
    CHECK_INT(MPI_T_cvar_handle_free(&handle), MPI_SUCCESS);
    int index;
    CHECK_INT(MPI_T_cvar_get_index("comm_allreduce_algorithm", &index), MPI_SUCCESS);
    CHECK_INT(MPI_T_cvar_handle_alloc(index, &freed, &handle, NULL), MPI_T_ERR_INVALID_HANDLE);
    CHECK_INT(MPI_T_cvar_handle_alloc(index, NULL, &handle, NULL), MPI_T_ERR_INVALID);
}

int main(int argc, char **argv)
{
    int provided, value = -2, ours, board = 0, binomial = -2;
    MPI_T_cvar_handle gather = MPI_T_CVAR_HANDLE_NULL, polls = MPI_T_CVAR_HANDLE_NULL;
    unsigned long long number = 0;
    CHECK_INT(MPI_T_init_thread(MPI_THREAD_SINGLE, &provided), MPI_SUCCESS);
    ours = is_ours();
    check_all(0);
    if (ours) {
        /* What the job is to go by is said before it begins. */
        gather = control("bcast_algorithm", NULL), polls = control("wait_polls", NULL);
        binomial = algorithm_named("bcast_algorithm", "binomial");
        CHECK_INT(MPI_T_cvar_write(gather, &binomial), MPI_SUCCESS);
        CHECK_INT(MPI_T_cvar_read(polls, &number), MPI_T_ERR_NOT_ACCESSIBLE);
        CHECK_INT(MPI_T_cvar_write(polls, &number), MPI_T_ERR_CVAR_SET_NOT_NOW);
    }
    start(&argc, &argv);
    check_all(1);
    if (ours) {
        CHECK_INT(MPI_T_cvar_read(gather, &value), MPI_SUCCESS);
        CHECK_INT(value, binomial);
        CHECK_INT(MPI_T_cvar_write(gather, &board), MPI_T_ERR_CVAR_SET_NEVER);
        MPI_T_pvar_session session;
        CHECK_INT(MPI_T_pvar_session_create(&session), MPI_SUCCESS);
        MPI_T_pvar_handle by_binomial = measured(session, "bcast_by_binomial", MPI_T_PVAR_CLASS_COUNTER, NULL);
        CHECK_INT(MPI_T_pvar_start(session, by_binomial), MPI_SUCCESS);
        MPI_Bcast(&value, 1, MPI_INT, 0, MPI_COMM_WORLD);
        CHECK_INT(value_of(session, by_binomial), size > 1);
        write_those_of_this_rank();
        refuse_those_of_the_job();
        want_algorithms();
    }
    MPI_Finalize();
    if (ours) {
        CHECK_INT(MPI_T_cvar_read(polls, &number), MPI_T_ERR_NOT_ACCESSIBLE);
        CHECK_INT(MPI_T_cvar_write(polls, &number), MPI_T_ERR_CVAR_SET_NEVER);
    }
    CHECK_INT(MPI_T_finalize(), MPI_SUCCESS);
    return 0;
}
