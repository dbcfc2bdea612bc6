/* What windows carry: names, hints, error handlers, and attributes of the program with their callbacks, on
 * windows of every kind. Each window has its own; a handler and a key may be freed while windows use them;
 * with a window go its attributes; what goes wrong is told to the window's handler, or to the communicator's
 * before there is a window. For any number of ranks. */
#include "windows.h"

static int right, left;

static void *attribute(MPI_Win win, int key)
{
    void *value;
    int flag = 0;
    MPI_Win_get_attr(win, key, &value, &flag);
    CHECK(flag);
    return value;
}

static void names(void)
{
    char name[MPI_MAX_OBJECT_NAME], long_name[2 * MPI_MAX_OBJECT_NAME];
    int length = -1;
    struct window w = make_window(ALLOCATED, 8, 1, MPI_COMM_WORLD),
                  other = make_window(ON_HEAP, 8, 1, MPI_COMM_WORLD);
    memset(name, 'x', sizeof name);
    MPI_Win_get_name(w.win, name, &length);
    CHECK_INT(length, 0);
    CHECK(name[0] == 0);
    MPI_Win_set_name(w.win, rank % 2 ? "odd" : "even window");
    MPI_Win_get_name(w.win, name, &length);
    CHECK(strcmp(name, rank % 2 ? "odd" : "even window") == 0);
    CHECK_INT(length, strlen(name));
    MPI_Win_get_name(other.win, name, &length);
    CHECK_INT(length, 0);
    memset(long_name, 'n', sizeof long_name);
    long_name[MPI_MAX_OBJECT_NAME - 1] = 0;
    MPI_Win_set_name(w.win, long_name);
    MPI_Win_get_name(w.win, name, &length);
    CHECK_INT(length, MPI_MAX_OBJECT_NAME - 1);
    CHECK(strcmp(name, long_name) == 0);
    MPI_Win_get_name(MPI_WIN_NULL, name, &length);
    CHECK(strcmp(name, "MPI_WIN_NULL") == 0);
    CHECK_INT(length, strlen(name));
    MPI_Win_set_name(w.win, "");
    MPI_Win_get_name(w.win, name, &length);
    CHECK_INT(length, 0);
    free_window(&other);
    free_window(&w);
}

/* A hint that is told has either the value that was asked for or another valid one; what is unknown does no
 * harm. */
static void hints(void)
{
    static const char *const asked[][2] = {{"no_locks", "false"},         {"accumulate_ordering", "rar,waw"},
                                           {"accumulate_ops", "same_op"}, {"same_size", "true"},
                                           {"same_disp_unit", "true"},    {"unknown_to_all", "7"}};
    MPI_Info info, used;
    char value[MPI_MAX_INFO_VAL];
    int flag, keys = -1, length;
    MPI_Info_create(&info);
    for (size_t i = 0; i < sizeof asked / sizeof *asked; i++)
        MPI_Info_set(info, asked[i][0], asked[i][1]);
    for (int kind = 0; kind < WINDOW_KINDS; kind++) {
        if (!can_be_made(kind, MPI_COMM_WORLD))
            continue;
        struct window w = make_window_with(kind, 8, 1, MPI_COMM_WORLD, info);
        for (int again = 0; again < 2; again++) {
            used = MPI_INFO_NULL;
            MPI_Win_get_info(w.win, &used);
            CHECK(used != MPI_INFO_NULL && used != info);
            MPI_Info_get_nkeys(used, &keys);
            CHECK(keys >= 0);
            length = sizeof value;
            MPI_Info_get_string(used, "no_locks", &length, value, &flag);
            if (flag)
                CHECK(strcmp(value, "false") == 0);
            length = sizeof value;
            MPI_Info_get_string(used, "accumulate_ops", &length, value, &flag);
            if (flag)
                CHECK(strcmp(value, "same_op") == 0 || strcmp(value, "same_op_no_op") == 0);
            length = sizeof value;
            MPI_Info_get_string(used, "accumulate_ordering", &length, value, &flag);
            if (flag)
                CHECK(strstr(value, "rar") && strstr(value, "waw"));
            MPI_Info_free(&used);
            /* Hints may be given again. */
            MPI_Win_set_info(w.win, info);
        }
        /* The window is as good as without. */
        memset(w.base, 0, 8);
        MPI_Win_fence(0, w.win);
        MPI_Put(&rank, 4, MPI_BYTE, right, place(&w, right, 0), 4, MPI_BYTE, w.win);
        MPI_Win_fence(0, w.win);
        int got;
        memcpy(&got, w.base, 4);
        CHECK_INT(got, left);
        free_window(&w);
    }
    MPI_Info_free(&info);
}

static int handled, handled_code;
static MPI_Win handled_window;

static void handler(MPI_Win *win, int *code, ...)
{
    handled++;
    handled_code = *code;
    handled_window = *win;
}

static void comm_handler(MPI_Comm *comm, int *code, ...)
{
    (void)comm;
    handled += 100;
    handled_code = *code;
}

static void error_handlers(void)
{
    MPI_Errhandler own, got, of_comm;
    MPI_Comm comm;
    MPI_Win none = MPI_WIN_NULL;
    int word;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_create_errhandler(comm_handler, &of_comm);
    MPI_Comm_set_errhandler(comm, of_comm);
    MPI_Errhandler_free(&of_comm);
    struct window w = make_window(ALLOCATED, 8, 1, comm), other = make_window(ON_HEAP, 8, 1, comm);
    /* A window does not take its handler from the communicator. */
    MPI_Win_get_errhandler(w.win, &got);
    CHECK(got == MPI_ERRORS_ARE_FATAL);
    MPI_Errhandler_free(&got);
    MPI_Win_create_errhandler(handler, &own);
    MPI_Win_set_errhandler(w.win, own);
    MPI_Win_get_errhandler(w.win, &got);
    CHECK(got == own);
    MPI_Errhandler_free(&got);
    MPI_Errhandler_free(&own);
    CHECK(own == MPI_ERRHANDLER_NULL);
    MPI_Win_get_errhandler(other.win, &got);
    CHECK(got == MPI_ERRORS_ARE_FATAL);
    MPI_Errhandler_free(&got);
    /* It is called by MPI_Win_call_errhandler, and by a call that goes wrong. */
    handled = 0;
    CHECK_INT(MPI_Win_call_errhandler(w.win, MPI_ERR_RMA_CONFLICT), MPI_SUCCESS);
    CHECK_INT(handled, 1);
    CHECK_INT(class_of(handled_code), MPI_ERR_RMA_CONFLICT);
    CHECK(handled_window == w.win);
    int code = MPI_Win_lock(MPI_LOCK_SHARED, w.ranks, 0, w.win);
    CHECK_INT(handled, 2);
    CHECK_INT(class_of(handled_code), MPI_ERR_RANK);
    if (is_held("code_after_handler"))
        CHECK_INT(code, handled_code);
    CHECK(handled_window == w.win);
    /* What goes wrong before there is a window is told to the communicator. */
    code = MPI_Win_create(&word, -1, 1, MPI_INFO_NULL, comm, &none);
    CHECK_INT(handled, 102);
    CHECK_INT(class_of(handled_code), MPI_ERR_SIZE);
    if (is_held("code_after_handler"))
        CHECK_INT(code, handled_code);
    MPI_Win_set_errhandler(w.win, MPI_ERRORS_RETURN);
    CHECK_INT(class_of(MPI_Win_lock(MPI_LOCK_SHARED, -7, 0, w.win)), MPI_ERR_RANK);
    CHECK_INT(handled, 102);
    free_window(&w);
    free_window(&other);
    MPI_Comm_free(&comm);
}

static int copied, deleted, deletion_code;
static void *last_deleted;
static MPI_Win last_window;

static int copy(MPI_Win win, int key, void *extra, void *in, void *out, int *flag)
{
    (void)win, (void)key, (void)extra, (void)in, (void)out;
    *flag = 1;
    copied++;
    return MPI_SUCCESS;
}

static int delete(MPI_Win win, int key, void *value, void *extra)
{
    MPI_Group group;
    MPI_Win_get_group(win, &group); /* a callback may call MPI */
    MPI_Group_free(&group);
    (void)key;
    CHECK(*(int *)extra == 5);
    deleted++;
    last_deleted = value;
    last_window = win;
    return deletion_code;
}

static void attributes(void)
{
    int extra = 5, key, plain, freed, flag = -1, values[4];
    void *got;
    MPI_Win_create_keyval(copy, delete, &key, &extra);
    MPI_Win_create_keyval(MPI_WIN_NULL_COPY_FN, MPI_WIN_NULL_DELETE_FN, &plain, NULL);
    MPI_Win_create_keyval(MPI_WIN_DUP_FN, delete, &freed, &extra);
    CHECK(key != plain && key != freed && plain != freed);
    for (int kind = 0; kind < WINDOW_KINDS; kind++) {
        if (!can_be_made(kind, MPI_COMM_WORLD))
            continue;
        struct window w = make_window(kind, 8, 1, MPI_COMM_WORLD),
                      other = make_window(kind, 8, 1, MPI_COMM_WORLD);
        copied = deleted = 0;
        MPI_Win_get_attr(w.win, key, &got, &flag);
        CHECK(!flag);
        MPI_Win_set_attr(w.win, key, &values[0]);
        CHECK(attribute(w.win, key) == &values[0]);
        MPI_Win_get_attr(other.win, key, &got, &flag);
        CHECK(!flag);
        MPI_Win_get_attr(w.win, plain, &got, &flag);
        CHECK(!flag);
        /* Another value: the first one is deleted. */
        MPI_Win_set_attr(w.win, key, &values[1]);
        CHECK_INT(deleted, 1);
        CHECK(last_deleted == &values[0] && last_window == w.win);
        CHECK(attribute(w.win, key) == &values[1]);
        MPI_Win_set_attr(w.win, plain, NULL);
        CHECK(attribute(w.win, plain) == NULL);
        MPI_Win_delete_attr(w.win, key);
        CHECK_INT(deleted, 2);
        CHECK(last_deleted == &values[1]);
        MPI_Win_get_attr(w.win, key, &got, &flag);
        CHECK(!flag);
        /* A callback that fails makes the call fail; the attribute may stay. */
        MPI_Win_set_attr(w.win, key, &values[2]);
        MPI_Win_set_errhandler(w.win, MPI_ERRORS_RETURN);
        deletion_code = MPI_ERR_OTHER;
        CHECK(MPI_Win_delete_attr(w.win, key) != MPI_SUCCESS);
        deletion_code = MPI_SUCCESS;
        CHECK_INT(deleted, 3);
        MPI_Win_get_attr(w.win, key, &got, &flag);
        if (!flag)
            MPI_Win_set_attr(w.win, key, &values[2]);
        CHECK(attribute(w.win, key) == &values[2]);
        /* With the window go the attributes. */
        MPI_Win_set_attr(other.win, key, &values[3]);
        free_window(&w);
        CHECK_INT(deleted, 4);
        CHECK(last_deleted == &values[2]);
        free_window(&other);
        CHECK_INT(deleted, 5);
        CHECK(last_deleted == &values[3]);
        CHECK_INT(copied, 0); /* nothing makes a window of a window */
    }
    /* A key that is freed lives on in attributes. */
    struct window w = make_window(ALLOCATED, 8, 1, MPI_COMM_WORLD);
    deleted = 0;
    MPI_Win_set_attr(w.win, freed, &values[0]);
    MPI_Win_free_keyval(&freed);
    CHECK_INT(freed, MPI_KEYVAL_INVALID);
    CHECK_INT(deleted, 0);
    free_window(&w);
    CHECK_INT(deleted, 1);
    CHECK(last_deleted == &values[0]);
    MPI_Win_free_keyval(&key);
    MPI_Win_free_keyval(&plain);
}

int main(int argc, char **argv)
{
    start_windows(&argc, &argv);
    right = (rank + 1) % size;
    left = (rank + size - 1) % size;
    names();
    hints();
    error_handlers();
    attributes();
    return MPI_Finalize();
}
