/* Wrong uses of windows, with MPI_ERRORS_RETURN: each is told by the class that the standard has for it, by
 * one of several where it leaves that open, and changes nothing: the call has not happened, and the window
 * is as good as before. Null windows; arguments of creation; ranks, displacements, counts, types and
 * operations; calls out of their epoch; asserts and types of locks; flavors; attributes and error handlers
 * of other objects. For any number of ranks. */
#include "windows.h"

enum { WORDS = 16, BYTES = 4 * WORDS };

static int right, left;

static void answered(int line, const char *check, const char *call, int code, const int *classes)
{
    char text[MPI_MAX_ERROR_STRING];
    int got = class_of(code), length = 0;
    for (int i = 0; classes[i] >= 0; i++)
        if (got == classes[i])
            return;
    MPI_Error_string(code, text, &length);
    fprintf(stderr, "window_errors.c:%d: %s (%s): class %d (%s), not %d\n", line, call, check, got, text,
            classes[0]);
    MPI_Abort(MPI_COMM_WORLD, 99);
}

/* The name of the check, the call, and the classes of errors that it may answer. */
#define WRONG(CHECK_NAME, CALL, ...)                                                                        \
    do {                                                                                                    \
        if (is_held(CHECK_NAME))                                                                            \
            answered(__LINE__, CHECK_NAME, #CALL, CALL, (const int[]){__VA_ARGS__, -1});                    \
    } while (0)
#define WELL(CALL) answered(__LINE__, "", #CALL, CALL, (const int[]){MPI_SUCCESS, -1})

static struct window make(int kind, int unit)
{
    struct window w = make_window(kind, BYTES, unit, MPI_COMM_WORLD);
    WELL(MPI_Win_set_errhandler(w.win, MPI_ERRORS_RETURN));
    fill(w.base, BYTES, rank);
    MPI_Barrier(MPI_COMM_WORLD);
    return w;
}

/* Nobody has written anything, and the window can be used. */
static void close_unchanged(struct window *w)
{
    int value = 1000 + rank, got = -1;
    MPI_Barrier(MPI_COMM_WORLD);
    begin_own(w);
    CHECK(is_filled(w->base, BYTES, rank));
    end_own(w);
    MPI_Barrier(MPI_COMM_WORLD);
    WELL(MPI_Win_fence(MPI_MODE_NOPRECEDE, w->win));
    WELL(MPI_Put(&value, 1, MPI_INT, right, place(w, right, 8), 1, MPI_INT, w->win));
    WELL(MPI_Win_fence(MPI_MODE_NOSUCCEED, w->win));
    memcpy(&got, w->base + 8, 4);
    CHECK_INT(got, 1000 + left);
    MPI_Barrier(MPI_COMM_WORLD);
    WELL(MPI_Win_lock(MPI_LOCK_SHARED, right, 0, w->win));
    WELL(MPI_Get(&got, 1, MPI_INT, right, place(w, right, 8), 1, MPI_INT, w->win));
    WELL(MPI_Win_unlock(right, w->win));
    CHECK_INT(got, 1000 + rank);
    free_window(w);
}

/* All calls that move data, with one argument after the other wrong. */
struct call {
    const void *from;
    void *into;
    int count, target, target_count;
    MPI_Datatype type, target_type;
    MPI_Aint at;
    MPI_Op op;
    MPI_Win win;
};

enum {
    PUT,
    GET,
    ACCUMULATE,
    GET_ACCUMULATE,
    FETCH_AND_OP,
    COMPARE_AND_SWAP,
    PUT_C,
    GET_C,
    ACCUMULATE_C,
    GET_ACCUMULATE_C,
    RPUT,
    RGET,
    RACCUMULATE,
    RGET_ACCUMULATE,
    RPUT_C,
    RGET_C,
    RACCUMULATE_C,
    RGET_ACCUMULATE_C,
    CALLS
};
static const char *const names[] = {"MPI_Put",           "MPI_Get",
                                    "MPI_Accumulate",    "MPI_Get_accumulate",
                                    "MPI_Fetch_and_op",  "MPI_Compare_and_swap",
                                    "MPI_Put_c",         "MPI_Get_c",
                                    "MPI_Accumulate_c",  "MPI_Get_accumulate_c",
                                    "MPI_Rput",          "MPI_Rget",
                                    "MPI_Raccumulate",   "MPI_Rget_accumulate",
                                    "MPI_Rput_c",        "MPI_Rget_c",
                                    "MPI_Raccumulate_c", "MPI_Rget_accumulate_c"};

static int make_call(int which, struct call c)
{
    MPI_Request request = MPI_REQUEST_NULL;
    int64_t compare = 0;
    int code;
    switch (which) {
    case PUT: return MPI_Put(c.from, c.count, c.type, c.target, c.at, c.target_count, c.target_type, c.win);
    case GET: return MPI_Get(c.into, c.count, c.type, c.target, c.at, c.target_count, c.target_type, c.win);
    case ACCUMULATE:
        return MPI_Accumulate(c.from, c.count, c.type, c.target, c.at, c.target_count, c.target_type, c.op,
                              c.win);
    case GET_ACCUMULATE:
        return MPI_Get_accumulate(c.from, c.count, c.type, c.into, c.count, c.type, c.target, c.at,
                                  c.target_count, c.target_type, c.op, c.win);
    case FETCH_AND_OP: return MPI_Fetch_and_op(c.from, c.into, c.type, c.target, c.at, c.op, c.win);
    case COMPARE_AND_SWAP:
        return MPI_Compare_and_swap(c.from, &compare, c.into, c.type, c.target, c.at, c.win);
    case PUT_C:
        return MPI_Put_c(c.from, c.count, c.type, c.target, c.at, c.target_count, c.target_type, c.win);
    case GET_C:
        return MPI_Get_c(c.into, c.count, c.type, c.target, c.at, c.target_count, c.target_type, c.win);
    case ACCUMULATE_C:
        return MPI_Accumulate_c(c.from, c.count, c.type, c.target, c.at, c.target_count, c.target_type, c.op,
                                c.win);
    case GET_ACCUMULATE_C:
        return MPI_Get_accumulate_c(c.from, c.count, c.type, c.into, c.count, c.type, c.target, c.at,
                                    c.target_count, c.target_type, c.op, c.win);
    case RPUT:
        code = MPI_Rput(c.from, c.count, c.type, c.target, c.at, c.target_count, c.target_type, c.win,
                        &request);
        break;
    case RGET:
        code = MPI_Rget(c.into, c.count, c.type, c.target, c.at, c.target_count, c.target_type, c.win,
                        &request);
        break;
    case RACCUMULATE:
        code = MPI_Raccumulate(c.from, c.count, c.type, c.target, c.at, c.target_count, c.target_type, c.op,
                               c.win, &request);
        break;
    case RGET_ACCUMULATE:
        code = MPI_Rget_accumulate(c.from, c.count, c.type, c.into, c.count, c.type, c.target, c.at,
                                   c.target_count, c.target_type, c.op, c.win, &request);
        break;
    case RPUT_C:
        code = MPI_Rput_c(c.from, c.count, c.type, c.target, c.at, c.target_count, c.target_type, c.win,
                          &request);
        break;
    case RGET_C:
        code = MPI_Rget_c(c.into, c.count, c.type, c.target, c.at, c.target_count, c.target_type, c.win,
                          &request);
        break;
    case RACCUMULATE_C:
        code = MPI_Raccumulate_c(c.from, c.count, c.type, c.target, c.at, c.target_count, c.target_type,
                                 c.op, c.win, &request);
        break;
    default:
        code = MPI_Rget_accumulate_c(c.from, c.count, c.type, c.into, c.count, c.type, c.target, c.at,
                                     c.target_count, c.target_type, c.op, c.win, &request);
        break;
    }
    if (code == MPI_SUCCESS)
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    return code;
}

enum {
    ALL_CALLS = (1 << CALLS) - 1,
    SINGLE = 1 << FETCH_AND_OP | 1 << COMPARE_AND_SWAP,
    COUNTED = ALL_CALLS & ~SINGLE
};
enum { WITH_REQUESTS = ALL_CALLS & ~((1 << RPUT) - 1), WITHOUT_REQUESTS = (1 << RPUT) - 1 };
enum {
    COMBINING = 1 << ACCUMULATE | 1 << GET_ACCUMULATE | 1 << ACCUMULATE_C | 1 << GET_ACCUMULATE_C |
    1 << RACCUMULATE | 1 << RGET_ACCUMULATE | 1 << RACCUMULATE_C | 1 << RGET_ACCUMULATE_C
};

static void all_wrong(int line, const char *check, unsigned calls, struct call call, const int *classes)
{
    for (int which = 0; which < CALLS && is_held(check); which++)
        if (calls >> which & 1)
            answered(line, check, names[which], make_call(which, call), classes);
}

/* As WRONG, for all calls of a set. */
#define ALL_WRONG(CHECK_NAME, CALLS_OF_SET, CALL, ...)                                                      \
    all_wrong(__LINE__, CHECK_NAME, CALLS_OF_SET, CALL, (const int[]){__VA_ARGS__, -1})

static int words[4], got_words[4];

/* One word to the right. */
static struct call right_call(const struct window *w)
{
    return (struct call){words,   got_words,          1,       right, 1, MPI_INT,
                         MPI_INT, place(w, right, 0), MPI_SUM, w->win};
}

static void null_windows(void)
{
    MPI_Win none = MPI_WIN_NULL;
    MPI_Group group = MPI_GROUP_EMPTY;
    MPI_Info info;
    MPI_Errhandler handler;
    MPI_Aint bytes;
    int flag, unit, key;
    void *base;
    MPI_Win_create_keyval(MPI_WIN_NULL_COPY_FN, MPI_WIN_NULL_DELETE_FN, &key, NULL);
    struct call call = {words, got_words, 1, 0, 1, MPI_INT, MPI_INT, 0, MPI_SUM, none};
    ALL_WRONG("null", ALL_CALLS, call, MPI_ERR_WIN);
    WRONG("null", MPI_Win_fence(0, none), MPI_ERR_WIN);
    WRONG("null", MPI_Win_post(group, 0, none), MPI_ERR_WIN);
    WRONG("null", MPI_Win_start(group, 0, none), MPI_ERR_WIN);
    WRONG("null", MPI_Win_complete(none), MPI_ERR_WIN);
    WRONG("null", MPI_Win_wait(none), MPI_ERR_WIN);
    WRONG("null", MPI_Win_test(none, &flag), MPI_ERR_WIN);
    WRONG("null", MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, none), MPI_ERR_WIN);
    WRONG("null", MPI_Win_lock_all(0, none), MPI_ERR_WIN);
    WRONG("null", MPI_Win_unlock(0, none), MPI_ERR_WIN);
    WRONG("null", MPI_Win_unlock_all(none), MPI_ERR_WIN);
    WRONG("null", MPI_Win_flush(0, none), MPI_ERR_WIN);
    WRONG("null", MPI_Win_flush_local(0, none), MPI_ERR_WIN);
    WRONG("null", MPI_Win_flush_all(none), MPI_ERR_WIN);
    WRONG("null", MPI_Win_flush_local_all(none), MPI_ERR_WIN);
    WRONG("null", MPI_Win_sync(none), MPI_ERR_WIN);
    WRONG("null", MPI_Win_free(&none), MPI_ERR_WIN);
    WRONG("null", MPI_Win_get_group(none, &group), MPI_ERR_WIN);
    WRONG("null", MPI_Win_get_info(none, &info), MPI_ERR_WIN);
    MPI_Info_create(&info);
    WRONG("null", MPI_Win_set_info(none, info), MPI_ERR_WIN);
    MPI_Info_free(&info);
    WRONG("null", MPI_Win_set_name(none, "none"), MPI_ERR_WIN);
    WRONG("null", MPI_Win_attach(none, words, 4), MPI_ERR_WIN);
    WRONG("null", MPI_Win_detach(none, words), MPI_ERR_WIN);
    WRONG("null", MPI_Win_shared_query(none, 0, &bytes, &unit, &base), MPI_ERR_WIN);
    WRONG("null", MPI_Win_get_errhandler(none, &handler), MPI_ERR_WIN);
    WRONG("null", MPI_Win_set_errhandler(none, MPI_ERRORS_RETURN), MPI_ERR_WIN);
    WRONG("null", MPI_Win_call_errhandler(none, MPI_ERR_OTHER), MPI_ERR_WIN);
    WRONG("null", MPI_Win_get_attr(none, MPI_WIN_BASE, &base, &flag), MPI_ERR_WIN);
    WRONG("null", MPI_Win_set_attr(none, key, NULL), MPI_ERR_WIN);
    WRONG("null", MPI_Win_delete_attr(none, key), MPI_ERR_WIN);
    MPI_Win_free_keyval(&key);
}

/* All ranks make the same mistake. */
static void creation(void)
{
    MPI_Win win = MPI_WIN_NULL;
    MPI_Comm comm = MPI_COMM_WORLD, half, inter;
    void *base;
    WRONG("size", MPI_Win_create(words, -1, 1, MPI_INFO_NULL, comm, &win), MPI_ERR_SIZE);
    WRONG("size", MPI_Win_create_c(words, -1, 1, MPI_INFO_NULL, comm, &win), MPI_ERR_SIZE);
    WRONG("size", MPI_Win_allocate(-8, 1, MPI_INFO_NULL, comm, &base, &win), MPI_ERR_SIZE);
    WRONG("size", MPI_Win_allocate_c(-8, 1, MPI_INFO_NULL, comm, &base, &win), MPI_ERR_SIZE);
    WRONG("size", MPI_Win_allocate_shared(-8, 1, MPI_INFO_NULL, MPI_COMM_SELF, &base, &win), MPI_ERR_SIZE);
    WRONG("size", MPI_Win_allocate_shared_c(-8, 1, MPI_INFO_NULL, MPI_COMM_SELF, &base, &win), MPI_ERR_SIZE);
    for (int unit = -4; unit <= 0; unit += 4) {
        WRONG("unit", MPI_Win_create(words, 4, unit, MPI_INFO_NULL, comm, &win), MPI_ERR_DISP, MPI_ERR_ARG);
        WRONG("unit", MPI_Win_create_c(words, 4, unit, MPI_INFO_NULL, comm, &win), MPI_ERR_DISP,
              MPI_ERR_ARG);
        WRONG("unit", MPI_Win_allocate(8, unit, MPI_INFO_NULL, comm, &base, &win), MPI_ERR_DISP,
              MPI_ERR_ARG);
        WRONG("unit", MPI_Win_allocate_c(8, unit, MPI_INFO_NULL, comm, &base, &win), MPI_ERR_DISP,
              MPI_ERR_ARG);
        WRONG("unit", MPI_Win_allocate_shared(8, unit, MPI_INFO_NULL, MPI_COMM_SELF, &base, &win),
              MPI_ERR_DISP, MPI_ERR_ARG);
    }
    WRONG("base", MPI_Win_create(NULL, 8, 1, MPI_INFO_NULL, comm, &win), MPI_ERR_BASE, MPI_ERR_ARG,
          MPI_ERR_BUFFER);
    WRONG("comm", MPI_Win_create(words, 4, 1, MPI_INFO_NULL, MPI_COMM_NULL, &win), MPI_ERR_COMM);
    WRONG("comm", MPI_Win_allocate(4, 1, MPI_INFO_NULL, MPI_COMM_NULL, &base, &win), MPI_ERR_COMM);
    WRONG("comm", MPI_Win_allocate_shared(4, 1, MPI_INFO_NULL, MPI_COMM_NULL, &base, &win), MPI_ERR_COMM);
    WRONG("comm", MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_NULL, &win), MPI_ERR_COMM);
    if (size > 1) {
        MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half);
        MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, 1 - rank % 2, 0, &inter);
        MPI_Comm_set_errhandler(inter, MPI_ERRORS_RETURN);
        WRONG("intercommunicator", MPI_Win_create(words, 4, 1, MPI_INFO_NULL, inter, &win), MPI_ERR_COMM);
        WRONG("intercommunicator", MPI_Win_allocate(4, 1, MPI_INFO_NULL, inter, &base, &win), MPI_ERR_COMM);
        WRONG("intercommunicator", MPI_Win_create_dynamic(MPI_INFO_NULL, inter, &win), MPI_ERR_COMM);
        MPI_Comm_free(&inter);
        MPI_Comm_free(&half);
    }
    /* Ranks of several nodes share no memory. */
    if (!is_shareable(comm)) {
        int code = MPI_Win_allocate_shared(64, 1, MPI_INFO_NULL, comm, &base, &win);
        CHECK_INT(class_of(code), MPI_ERR_RMA_SHARED);
    }
    CHECK(win == MPI_WIN_NULL);
}

static void ranks_and_places(int kind, int by_fence)
{
    struct window w = make(kind, 4);
    unsigned calls = by_fence ? WITHOUT_REQUESTS : ALL_CALLS;
    struct call call = right_call(&w);
    MPI_Aint bytes;
    int unit;
    void *base;
    WELL(by_fence ? MPI_Win_fence(0, w.win) : MPI_Win_lock_all(0, w.win));
    const int wrong_ranks[] = {size, -5, MPI_ANY_SOURCE, MPI_ROOT, 1 << 30};
    for (int i = 0; i < 5; i++) {
        call.target = wrong_ranks[i];
        ALL_WRONG("rank", calls, call, MPI_ERR_RANK);
    }
    call = right_call(&w);
    if (!by_fence) {
        WRONG("rank", MPI_Win_flush(size, w.win), MPI_ERR_RANK);
        WRONG("rank", MPI_Win_flush(-5, w.win), MPI_ERR_RANK);
        WRONG("rank", MPI_Win_flush_local(size, w.win), MPI_ERR_RANK);
        WRONG("rank", MPI_Win_flush_local(-5, w.win), MPI_ERR_RANK);
    }
    if (kind == SHARED) {
        WRONG("rank", MPI_Win_shared_query(w.win, size, &bytes, &unit, &base), MPI_ERR_RANK);
        WRONG("rank", MPI_Win_shared_query(w.win, -5, &bytes, &unit, &base), MPI_ERR_RANK);
    }
    if (kind != DYNAMIC) {
        call.at = -1;
        ALL_WRONG("negative_place", calls, call, MPI_ERR_RMA_RANGE, MPI_ERR_DISP);
        call.at = WORDS;
        ALL_WRONG("place", calls, call, MPI_ERR_RMA_RANGE);
        call.at = (MPI_Aint)1 << 61;
        ALL_WRONG("place", calls, call, MPI_ERR_RMA_RANGE);
        call.at = WORDS - 1, call.count = call.target_count = 2;
        ALL_WRONG("place", calls & COUNTED, call, MPI_ERR_RMA_RANGE);
        /* The first element is in the window, the second one is not. */
        MPI_Datatype apart;
        MPI_Type_vector(2, 1, -3, MPI_INT, &apart);
        MPI_Type_commit(&apart);
        call.at = 2, call.target_type = apart, call.target_count = 1;
        ALL_WRONG("place", calls & COUNTED, call, MPI_ERR_RMA_RANGE);
        MPI_Type_free(&apart);
    }
    WELL(by_fence ? MPI_Win_fence(MPI_MODE_NOSUCCEED, w.win) : MPI_Win_unlock_all(w.win));
    MPI_Barrier(MPI_COMM_WORLD);
    WRONG("rank", MPI_Win_lock(MPI_LOCK_SHARED, size, 0, w.win), MPI_ERR_RANK);
    WRONG("rank", MPI_Win_lock(MPI_LOCK_SHARED, -5, 0, w.win), MPI_ERR_RANK);
    WRONG("rank", MPI_Win_unlock(size, w.win), MPI_ERR_RANK, MPI_ERR_RMA_SYNC);
    WRONG("lock_type", MPI_Win_lock(0, right, 0, w.win), MPI_ERR_LOCKTYPE);
    WRONG("lock_type", MPI_Win_lock(MPI_LOCK_SHARED + 100, right, 0, w.win), MPI_ERR_LOCKTYPE);
    WRONG("lock_type", MPI_Win_lock(-1, right, 0, w.win), MPI_ERR_LOCKTYPE);
    MPI_Group self = group_of(&w, 1, &rank);
    for (int i = 0; i < 2; i++) {
        int assert = i ? -1 : 1 << 29;
        WRONG("assert", MPI_Win_fence(assert, w.win), MPI_ERR_ASSERT);
        WRONG("assert", MPI_Win_post(self, assert, w.win), MPI_ERR_ASSERT);
        WRONG("assert", MPI_Win_start(self, assert, w.win), MPI_ERR_ASSERT);
        WRONG("assert", MPI_Win_lock(MPI_LOCK_SHARED, right, assert, w.win), MPI_ERR_ASSERT);
        WRONG("assert", MPI_Win_lock_all(assert, w.win), MPI_ERR_ASSERT);
    }
    MPI_Group_free(&self);
    close_unchanged(&w);
}

static void user_operation(void *in, void *inout, int *count, MPI_Datatype *type)
{
    (void)in, (void)inout, (void)count, (void)type;
}

static void counts_types_operations(int kind)
{
    struct window w = make(kind, 1);
    MPI_Datatype uncommitted, pair, mixed;
    MPI_Op own;
    const int lengths[] = {1, 1};
    const MPI_Aint places[] = {0, 4};
    const MPI_Datatype of[] = {MPI_INT, MPI_FLOAT};
    MPI_Type_contiguous(2, MPI_INT, &uncommitted);
    MPI_Type_contiguous(2, MPI_INT, &pair);
    MPI_Type_create_struct(2, lengths, places, of, &mixed);
    MPI_Type_commit(&pair);
    MPI_Type_commit(&mixed);
    MPI_Op_create(user_operation, 1, &own);
    static unsigned char from[256], into[256];
    WELL(MPI_Win_lock_all(0, w.win));
    struct call call = right_call(&w);
    call.from = from, call.into = into;
    call.count = -1;
    ALL_WRONG("count", COUNTED, call, MPI_ERR_COUNT);
    call.count = 1, call.target_count = -1;
    ALL_WRONG("count", COUNTED, call, MPI_ERR_COUNT);
    call.target_count = 1, call.type = MPI_DATATYPE_NULL;
    ALL_WRONG("type", ALL_CALLS, call, MPI_ERR_TYPE);
    call.type = MPI_INT, call.target_type = MPI_DATATYPE_NULL;
    ALL_WRONG("type", COUNTED, call, MPI_ERR_TYPE);
    call.target_type = uncommitted, call.count = 2;
    ALL_WRONG("type", COUNTED, call, MPI_ERR_TYPE);
    call.target_type = MPI_INT, call.count = 1, call.target_count = 2, call.type = uncommitted;
    ALL_WRONG("type", COUNTED, call, MPI_ERR_TYPE);
    /* The data do not fit into the target. */
    call = right_call(&w);
    call.from = from, call.into = into, call.count = 4, call.target_count = 2;
    ALL_WRONG("truncation", 1 << PUT | 1 << ACCUMULATE | 1 << PUT_C | 1 << RPUT, call, MPI_ERR_TRUNCATE,
              MPI_ERR_ARG, MPI_ERR_COUNT, MPI_ERR_TYPE, MPI_ERR_SIZE);
    call.count = 2, call.target_count = 4;
    ALL_WRONG("truncation", 1 << GET | 1 << GET_C | 1 << RGET, call, MPI_ERR_TRUNCATE, MPI_ERR_ARG,
              MPI_ERR_COUNT, MPI_ERR_TYPE, MPI_ERR_SIZE);
    /* Operations. */
    call = right_call(&w);
    call.from = from, call.into = into, call.op = MPI_OP_NULL;
    ALL_WRONG("operation", COMBINING | 1 << FETCH_AND_OP, call, MPI_ERR_OP);
    call.op = own;
    ALL_WRONG("user_operation", COMBINING | 1 << FETCH_AND_OP, call, MPI_ERR_OP);
    call.op = MPI_NO_OP;
    ALL_WRONG("no_op", 1 << ACCUMULATE | 1 << ACCUMULATE_C | 1 << RACCUMULATE | 1 << RACCUMULATE_C, call,
              MPI_ERR_OP);
    const struct {
        MPI_Op op;
        MPI_Datatype type;
    } misfits[] = {{MPI_SUM, MPI_BYTE},
                   {MPI_MAX, MPI_BYTE},
                   {MPI_BAND, MPI_DOUBLE},
                   {MPI_LAND, MPI_FLOAT},
                   {MPI_MINLOC, MPI_INT},
                   {MPI_MAXLOC, MPI_LONG},
                   {MPI_MAX, MPI_C_FLOAT_COMPLEX},
                   {MPI_SUM, MPI_2INT},
                   {MPI_SUM, MPI_C_BOOL},
                   {MPI_LXOR, MPI_DOUBLE},
                   {MPI_BXOR, MPI_C_DOUBLE_COMPLEX}};
    for (size_t i = 0; i < sizeof misfits / sizeof *misfits; i++) {
        call.op = misfits[i].op, call.type = call.target_type = misfits[i].type;
        ALL_WRONG("misfit", COMBINING | 1 << FETCH_AND_OP, call, MPI_ERR_OP, MPI_ERR_TYPE);
    }
    /* Types: of several predefined ones; another one at the target; derived where only predefined ones are.
     */
    call.op = MPI_SUM, call.type = call.target_type = mixed;
    ALL_WRONG("mixed", COMBINING, call, MPI_ERR_TYPE, MPI_ERR_OP, MPI_ERR_ARG);
    call.op = MPI_REPLACE;
    ALL_WRONG("mixed", COMBINING, call, MPI_ERR_TYPE, MPI_ERR_OP, MPI_ERR_ARG);
    call.op = MPI_SUM, call.type = MPI_INT, call.target_type = MPI_FLOAT;
    ALL_WRONG("other_type", COMBINING, call, MPI_ERR_TYPE, MPI_ERR_OP, MPI_ERR_ARG);
    call.type = pair, call.target_type = MPI_UNSIGNED, call.target_count = 2;
    ALL_WRONG("other_type", COMBINING, call, MPI_ERR_TYPE, MPI_ERR_OP, MPI_ERR_ARG);
    call.op = MPI_SUM, call.type = pair;
    ALL_WRONG("derived", SINGLE, call, MPI_ERR_TYPE, MPI_ERR_OP, MPI_ERR_ARG);
    const MPI_Datatype not_swapped[] = {MPI_DOUBLE, MPI_FLOAT, MPI_2INT, MPI_C_FLOAT_COMPLEX};
    for (int i = 0; i < 4; i++) {
        call.type = not_swapped[i];
        ALL_WRONG("swapped", 1 << COMPARE_AND_SWAP, call, MPI_ERR_TYPE, MPI_ERR_OP, MPI_ERR_ARG);
    }
    call.type = MPI_CHAR; /* A character, not an integer. */
    ALL_WRONG("swapped_char", 1 << COMPARE_AND_SWAP, call, MPI_ERR_TYPE, MPI_ERR_OP, MPI_ERR_ARG);
    WELL(MPI_Win_unlock_all(w.win));
    /* MPI_REPLACE and MPI_NO_OP are for windows only. */
    int value = 1, sum;
    WRONG("reduction", MPI_Allreduce(&value, &sum, 1, MPI_INT, MPI_REPLACE, MPI_COMM_WORLD), MPI_ERR_OP);
    WRONG("reduction", MPI_Allreduce(&value, &sum, 1, MPI_INT, MPI_NO_OP, MPI_COMM_WORLD), MPI_ERR_OP);
    MPI_Type_free(&uncommitted);
    MPI_Type_free(&pair);
    MPI_Type_free(&mixed);
    MPI_Op_free(&own);
    close_unchanged(&w);
}

static void no_epoch(const struct window *w)
{
    int flag = -1;
    ALL_WRONG("no_epoch", ALL_CALLS, right_call(w), MPI_ERR_RMA_SYNC);
    WRONG("no_epoch", MPI_Win_complete(w->win), MPI_ERR_RMA_SYNC);
    WRONG("no_epoch", MPI_Win_wait(w->win), MPI_ERR_RMA_SYNC);
    WRONG("no_epoch", MPI_Win_test(w->win, &flag), MPI_ERR_RMA_SYNC);
    WRONG("no_epoch", MPI_Win_unlock(right, w->win), MPI_ERR_RMA_SYNC);
    WRONG("no_epoch", MPI_Win_unlock(rank, w->win), MPI_ERR_RMA_SYNC);
    WRONG("no_epoch", MPI_Win_unlock_all(w->win), MPI_ERR_RMA_SYNC);
    WRONG("no_epoch", MPI_Win_flush(right, w->win), MPI_ERR_RMA_SYNC);
    WRONG("no_epoch", MPI_Win_flush_local(right, w->win), MPI_ERR_RMA_SYNC);
    WRONG("no_epoch", MPI_Win_flush_all(w->win), MPI_ERR_RMA_SYNC);
    WRONG("no_epoch", MPI_Win_flush_local_all(w->win), MPI_ERR_RMA_SYNC);
}

static void epochs(int kind)
{
    struct window w = make(kind, 4);
    MPI_Win win = w.win;
    int flag, other = size > 1 ? left == right ? rank : left : rank;
    MPI_Group to = group_of(&w, 1, &right), from = group_of(&w, 1, &left);
    struct call call = right_call(&w), elsewhere = call;
    elsewhere.target = other, elsewhere.at = place(&w, other, 0);
    no_epoch(&w);
    /* Under a lock of the right rank. */
    WELL(MPI_Win_lock(MPI_LOCK_SHARED, right, 0, win));
    WRONG("in_lock", MPI_Win_lock(MPI_LOCK_SHARED, right, 0, win), MPI_ERR_RMA_SYNC);
    WRONG("in_lock", MPI_Win_lock(MPI_LOCK_EXCLUSIVE, right, 0, win), MPI_ERR_RMA_SYNC);
    WRONG("in_lock", MPI_Win_lock_all(0, win), MPI_ERR_RMA_SYNC);
    WRONG("in_lock", MPI_Win_unlock_all(win), MPI_ERR_RMA_SYNC);
    WRONG("in_lock", MPI_Win_fence(0, win), MPI_ERR_RMA_SYNC);
    WRONG("in_lock", MPI_Win_start(to, 0, win), MPI_ERR_RMA_SYNC);
    WRONG("in_lock", MPI_Win_complete(win), MPI_ERR_RMA_SYNC);
    if (size > 1) {
        ALL_WRONG("elsewhere", ALL_CALLS, elsewhere, MPI_ERR_RMA_SYNC);
        WRONG("elsewhere", MPI_Win_unlock(other, win), MPI_ERR_RMA_SYNC);
        WRONG("elsewhere", MPI_Win_flush(other, win), MPI_ERR_RMA_SYNC);
        WRONG("elsewhere", MPI_Win_flush_local(other, win), MPI_ERR_RMA_SYNC);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win kept = win;
    WRONG("free", MPI_Win_free(&kept), MPI_ERR_RMA_SYNC);
    CHECK(kept == win);
    WELL(MPI_Win_unlock(right, win));
    no_epoch(&w);
    /* Under a lock of all. */
    WELL(MPI_Win_lock_all(0, win));
    WRONG("in_lock_all", MPI_Win_lock_all(0, win), MPI_ERR_RMA_SYNC);
    WRONG("in_lock_all", MPI_Win_lock(MPI_LOCK_SHARED, right, 0, win), MPI_ERR_RMA_SYNC);
    WRONG("in_lock_all", MPI_Win_unlock(right, win), MPI_ERR_RMA_SYNC);
    WRONG("in_lock_all", MPI_Win_fence(0, win), MPI_ERR_RMA_SYNC);
    WRONG("in_lock_all", MPI_Win_start(to, 0, win), MPI_ERR_RMA_SYNC);
    WRONG("in_lock_all", MPI_Win_complete(win), MPI_ERR_RMA_SYNC);
    MPI_Barrier(MPI_COMM_WORLD);
    WRONG("free", MPI_Win_free(&kept), MPI_ERR_RMA_SYNC);
    CHECK(kept == win);
    WELL(MPI_Win_unlock_all(win));
    MPI_Barrier(MPI_COMM_WORLD);
    no_epoch(&w);
    MPI_Barrier(MPI_COMM_WORLD);
    /* Posted, and started. */
    WELL(MPI_Win_post(from, 0, win));
    WRONG("in_post", MPI_Win_post(from, 0, win), MPI_ERR_RMA_SYNC);
    WRONG("in_post", MPI_Win_complete(win), MPI_ERR_RMA_SYNC);
    ALL_WRONG("in_post", ALL_CALLS, call, MPI_ERR_RMA_SYNC);
    WELL(MPI_Win_start(to, 0, win));
    WRONG("in_start", MPI_Win_start(to, 0, win), MPI_ERR_RMA_SYNC);
    WRONG("in_start", MPI_Win_lock_all(0, win), MPI_ERR_RMA_SYNC);
    WRONG("in_start", MPI_Win_lock(MPI_LOCK_SHARED, right, 0, win), MPI_ERR_RMA_SYNC);
    WRONG("in_start", MPI_Win_fence(0, win), MPI_ERR_RMA_SYNC);
    WRONG("in_start", MPI_Win_unlock(right, win), MPI_ERR_RMA_SYNC);
    WRONG("in_start", MPI_Win_flush(right, win), MPI_ERR_RMA_SYNC);
    WRONG("in_start", MPI_Win_flush_all(win), MPI_ERR_RMA_SYNC);
    ALL_WRONG("active_requests", WITH_REQUESTS, call, MPI_ERR_RMA_SYNC);
    if (size > 1)
        ALL_WRONG("elsewhere", WITHOUT_REQUESTS, elsewhere, MPI_ERR_RMA_SYNC, MPI_ERR_RANK);
    MPI_Barrier(MPI_COMM_WORLD);
    WRONG("free", MPI_Win_free(&kept), MPI_ERR_RMA_SYNC);
    CHECK(kept == win);
    WELL(MPI_Win_complete(win));
    WRONG("in_post", MPI_Win_complete(win), MPI_ERR_RMA_SYNC);
    WELL(MPI_Win_wait(win));
    no_epoch(&w);
    WRONG("no_epoch", MPI_Win_test(win, &flag), MPI_ERR_RMA_SYNC);
    MPI_Barrier(MPI_COMM_WORLD);
    /* Between fences. */
    WELL(MPI_Win_fence(0, win));
    ALL_WRONG("active_requests", WITH_REQUESTS, call, MPI_ERR_RMA_SYNC);
    WRONG("in_fence", MPI_Win_flush(right, win), MPI_ERR_RMA_SYNC);
    WRONG("in_fence", MPI_Win_flush_all(win), MPI_ERR_RMA_SYNC);
    WRONG("in_fence", MPI_Win_unlock(right, win), MPI_ERR_RMA_SYNC);
    WRONG("in_fence", MPI_Win_unlock_all(win), MPI_ERR_RMA_SYNC);
    WRONG("in_fence", MPI_Win_complete(win), MPI_ERR_RMA_SYNC);
    WRONG("in_fence", MPI_Win_wait(win), MPI_ERR_RMA_SYNC);
    WELL(MPI_Win_fence(MPI_MODE_NOSUCCEED, win));
    /* Groups. */
    WRONG("group", MPI_Win_post(MPI_GROUP_NULL, 0, win), MPI_ERR_GROUP);
    WRONG("group", MPI_Win_start(MPI_GROUP_NULL, 0, win), MPI_ERR_GROUP);
    MPI_Group_free(&to);
    MPI_Group_free(&from);
    close_unchanged(&w);
}

/* A group with members that the window does not have. */
static void strange_groups(void)
{
    struct window w = make_window(ALLOCATED, BYTES, 1, MPI_COMM_SELF);
    MPI_Group world;
    MPI_Win_set_errhandler(w.win, MPI_ERRORS_RETURN);
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    if (size > 1) {
        WRONG("strange_group", MPI_Win_post(world, 0, w.win), MPI_ERR_GROUP, MPI_ERR_RANK, MPI_ERR_ARG);
        WRONG("strange_group", MPI_Win_start(world, 0, w.win), MPI_ERR_GROUP, MPI_ERR_RANK, MPI_ERR_ARG);
    }
    MPI_Group_free(&world);
    free_window(&w);
}

static void flavors(void)
{
    int unit;
    MPI_Aint bytes;
    void *base;
    for (int kind = 0; kind < WINDOW_KINDS; kind++) {
        if (!can_be_made(kind, MPI_COMM_WORLD))
            continue;
        struct window w = make(kind, 1);
        if (kind == DYNAMIC) {
            WRONG("dynamic_query", MPI_Win_shared_query(w.win, rank, &bytes, &unit, &base),
                  MPI_ERR_RMA_FLAVOR, MPI_ERR_WIN);
            WRONG("dynamic_query", MPI_Win_shared_query(w.win, MPI_PROC_NULL, &bytes, &unit, &base),
                  MPI_ERR_RMA_FLAVOR, MPI_ERR_WIN);
            static char memory[64];
            WRONG("attach_size", MPI_Win_attach(w.win, memory, -1), MPI_ERR_SIZE, MPI_ERR_ARG);
            WRONG("attach_base", MPI_Win_attach(w.win, NULL, 8), MPI_ERR_BASE, MPI_ERR_ARG,
                  MPI_ERR_RMA_ATTACH, MPI_ERR_BUFFER);
            WRONG("attach_twice", MPI_Win_attach(w.win, w.base, BYTES), MPI_ERR_RMA_ATTACH, MPI_ERR_BASE,
                  MPI_ERR_ARG);
            WRONG("attach_twice", MPI_Win_attach(w.win, w.base + BYTES - 1, 1), MPI_ERR_RMA_ATTACH,
                  MPI_ERR_BASE, MPI_ERR_ARG);
            WRONG("detach", MPI_Win_detach(w.win, memory), MPI_ERR_BASE, MPI_ERR_ARG, MPI_ERR_RMA_ATTACH,
                  MPI_ERR_RMA_RANGE);
            WRONG("detach", MPI_Win_detach(w.win, w.base + 8), MPI_ERR_BASE, MPI_ERR_ARG, MPI_ERR_RMA_ATTACH,
                  MPI_ERR_RMA_RANGE);
        } else {
            WRONG("attach", MPI_Win_attach(w.win, words, 4), MPI_ERR_RMA_FLAVOR);
            WRONG("attach", MPI_Win_detach(w.win, words), MPI_ERR_RMA_FLAVOR);
        }
        close_unchanged(&w);
    }
}

/* Memory that was never attached, or is not any more: told by the call or by the one that completes it. */
static void unattached(void)
{
    static int64_t memory[3 * 512]; /* Of which the middle is attached at times. */
    MPI_Win win;
    MPI_Aint at, *places = malloc(sizeof(MPI_Aint) * (size_t)size);
    MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
    MPI_Get_address(memory, &at);
    MPI_Allgather(&at, 1, MPI_AINT, places, 1, MPI_AINT, MPI_COMM_WORLD);
    for (int state = 0; state < 3; state++) {
        if (state == 1)
            WELL(MPI_Win_attach(win, memory + 512, 512 * 8));
        if (state == 2)
            WELL(MPI_Win_detach(win, memory + 512));
        MPI_Barrier(MPI_COMM_WORLD);
        for (int part = 0; part < 5; part++) {
            static const int first[] = {0, 512, 1024, 511, 1023};
            int64_t two[2] = {7, 8};
            int is_attached = state == 1 && part == 1;
            MPI_Aint place = MPI_Aint_add(places[right], 8 * first[part]);
            MPI_Win_lock(MPI_LOCK_EXCLUSIVE, right, 0, win);
            int put = MPI_Put(two, 2, MPI_INT64_T, right, place, 2, MPI_INT64_T, win);
            int unlock = MPI_Win_unlock(right, win);
            if (is_attached) {
                CHECK_INT(put, MPI_SUCCESS);
                CHECK_INT(unlock, MPI_SUCCESS);
            } else if (is_held("unattached")) {
                CHECK(class_of(put) == MPI_ERR_RMA_RANGE || class_of(unlock) == MPI_ERR_RMA_RANGE);
            }
        }
        MPI_Barrier(MPI_COMM_WORLD);
        for (int i = 0; i < 3 * 512 && is_held("unattached"); i++)
            CHECK_INT(memory[i], state && (i == 512 || i == 513) ? 7 + i - 512 : 0);
        MPI_Barrier(MPI_COMM_WORLD);
    }
    MPI_Win_free(&win);
    free(places);
}

static void comm_handler(MPI_Comm *comm, int *code, ...) { (void)comm, (void)code; }

static void objects(void)
{
    struct window w = make(ALLOCATED, 1);
    int key, freed, comm_key, type_key, flag, length, predefined = MPI_WIN_SIZE, none = MPI_KEYVAL_INVALID;
    void *value;
    MPI_Errhandler of_comm;
    MPI_Win_create_keyval(MPI_WIN_NULL_COPY_FN, MPI_WIN_NULL_DELETE_FN, &key, NULL);
    MPI_Win_create_keyval(MPI_WIN_NULL_COPY_FN, MPI_WIN_NULL_DELETE_FN, &freed, NULL);
    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, MPI_COMM_NULL_DELETE_FN, &comm_key, NULL);
    MPI_Type_create_keyval(MPI_TYPE_NULL_COPY_FN, MPI_TYPE_NULL_DELETE_FN, &type_key, NULL);
    int old = freed;
    MPI_Win_free_keyval(&freed);
    const int wrong_keys[] = {MPI_KEYVAL_INVALID, comm_key, type_key, old, MPI_TAG_UB};
    for (int i = 0; i < 5; i++) {
        WRONG(i < 3    ? "key"
              : i == 3 ? "freed_key"
                       : "comm_key",
              MPI_Win_set_attr(w.win, wrong_keys[i], NULL), MPI_ERR_KEYVAL, MPI_ERR_ARG);
        WRONG(i < 3    ? "key"
              : i == 3 ? "freed_key"
                       : "comm_key",
              MPI_Win_get_attr(w.win, wrong_keys[i], &value, &flag), MPI_ERR_KEYVAL, MPI_ERR_ARG);
        WRONG(i < 3    ? "key"
              : i == 3 ? "freed_key"
                       : "comm_key",
              MPI_Win_delete_attr(w.win, wrong_keys[i]), MPI_ERR_KEYVAL, MPI_ERR_ARG);
    }
    const int given[] = {MPI_WIN_BASE, MPI_WIN_SIZE, MPI_WIN_DISP_UNIT, MPI_WIN_CREATE_FLAVOR,
                         MPI_WIN_MODEL};
    for (int i = 0; i < 5; i++) {
        WRONG("predefined", MPI_Win_set_attr(w.win, given[i], NULL), MPI_ERR_KEYVAL, MPI_ERR_ARG);
        WRONG("predefined", MPI_Win_delete_attr(w.win, given[i]), MPI_ERR_KEYVAL, MPI_ERR_ARG);
    }
    WRONG("predefined", MPI_Win_free_keyval(&predefined), MPI_ERR_KEYVAL, MPI_ERR_ARG);
    WRONG("key", MPI_Win_free_keyval(&none), MPI_ERR_KEYVAL, MPI_ERR_ARG);
    WRONG("other_key", MPI_Win_free_keyval(&comm_key), MPI_ERR_KEYVAL, MPI_ERR_ARG);
    WRONG("other_key", MPI_Comm_set_attr(MPI_COMM_WORLD, key, NULL), MPI_ERR_KEYVAL, MPI_ERR_ARG);
    WRONG("other_key", MPI_Comm_get_attr(MPI_COMM_WORLD, key, &value, &flag), MPI_ERR_KEYVAL, MPI_ERR_ARG);
    MPI_Win_get_attr(w.win, MPI_WIN_SIZE, &value, &flag);
    CHECK(flag);
    CHECK_INT(*(MPI_Aint *)value, BYTES);
    MPI_Win_free_keyval(&key);
    MPI_Type_free_keyval(&type_key);
    if (comm_key != MPI_KEYVAL_INVALID)
        MPI_Comm_free_keyval(&comm_key);
    MPI_Comm_create_errhandler(comm_handler, &of_comm);
    WRONG("handler", MPI_Win_set_errhandler(w.win, of_comm), MPI_ERR_ERRHANDLER, MPI_ERR_ARG);
    WRONG("handler", MPI_Win_set_errhandler(w.win, MPI_ERRHANDLER_NULL), MPI_ERR_ERRHANDLER, MPI_ERR_ARG);
    MPI_Errhandler_free(&of_comm);
    WRONG("name", MPI_Win_set_name(w.win, NULL), MPI_ERR_ARG);
    WRONG("name", MPI_Win_get_name(w.win, NULL, &length), MPI_ERR_ARG);
    close_unchanged(&w);
}

int main(int argc, char **argv)
{
    start_windows(&argc, &argv);
    right = (rank + 1) % size;
    left = (rank + size - 1) % size;
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    null_windows();
    creation();
    for (int kind = 0; kind < WINDOW_KINDS; kind++) {
        if (!can_be_made(kind, MPI_COMM_WORLD))
            continue;
        ranks_and_places(kind, 0);
        ranks_and_places(kind, 1);
        counts_types_operations(kind);
        epochs(kind);
    }
    strange_groups();
    flavors();
    unattached();
    objects();
    return MPI_Finalize();
}
