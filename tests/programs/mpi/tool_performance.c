/* Performance variables: what the interface says of each; sessions that measure for themselves; what they measure. */
#include "tools.h"

#define COUNTER MPI_T_PVAR_CLASS_COUNTER
#define TIMER MPI_T_PVAR_CLASS_TIMER

static int grows(int class)
{
    return class == MPI_T_PVAR_CLASS_COUNTER || class == MPI_T_PVAR_CLASS_AGGREGATE || class == MPI_T_PVAR_CLASS_TIMER;
}

/* The types that §15.3.7 allows for a class. */
static int is_allowed(int class, MPI_Datatype type)
{
    int is_unsigned = type == MPI_UNSIGNED || type == MPI_UNSIGNED_LONG || type == MPI_UNSIGNED_LONG_LONG || type == MPI_COUNT;
    switch (class) {
    case MPI_T_PVAR_CLASS_STATE:
        return type == MPI_INT;
    case MPI_T_PVAR_CLASS_PERCENTAGE:
        return type == MPI_DOUBLE;
    case MPI_T_PVAR_CLASS_COUNTER:
        return is_unsigned;
    case MPI_T_PVAR_CLASS_GENERIC:
        return 1;
    default:
        return is_unsigned || type == MPI_DOUBLE;
    }
}

static void check_all(void)
{
    int count = -1, index;
    MPI_T_pvar_session session;
    CHECK_INT(MPI_T_pvar_get_num(&count), MPI_SUCCESS);
    CHECK_INT(MPI_T_pvar_session_create(&session), MPI_SUCCESS);
    CHECK(session != MPI_T_PVAR_SESSION_NULL);
    for (int i = 0; i < count; i++) {
        char name[256], text[1024];
        int length = sizeof name, text_length = sizeof text, verbosity, class, bind, readonly, continuous, atomic, elements;
        MPI_Datatype type;
        MPI_T_enum names;
        CHECK_INT(MPI_T_pvar_get_info(i, name, &length, &verbosity, &class, &type, &names, text, &text_length, &bind, &readonly, &continuous, &atomic), MPI_SUCCESS);
        CHECK_INT(strlen(name) + 1, length);
        CHECK(is_allowed(class, type));
        CHECK(class != MPI_T_PVAR_CLASS_STATE || names != MPI_T_ENUM_NULL);
        CHECK_INT(MPI_T_pvar_get_index(name, class, &index), MPI_SUCCESS);
        CHECK_INT(index, i);
        CHECK(MPI_T_pvar_get_index(name, class == COUNTER ? TIMER : COUNTER, &index) != MPI_SUCCESS || index != i);
        if (bind != MPI_T_BIND_NO_OBJECT)
            continue;
        MPI_T_pvar_handle handle;
        CHECK_INT(MPI_T_pvar_handle_alloc(session, i, NULL, &handle, &elements), MPI_SUCCESS);
        char value[1 << 14] = {0};
        CHECK(elements * 8 <= (int)sizeof value);
        if (continuous) {
            CHECK_INT(MPI_T_pvar_start(session, handle), MPI_T_ERR_PVAR_NO_STARTSTOP);
            CHECK_INT(MPI_T_pvar_stop(session, handle), MPI_T_ERR_PVAR_NO_STARTSTOP);
        } else {
            CHECK_INT(MPI_T_pvar_start(session, handle), MPI_SUCCESS);
        }
        CHECK_INT(MPI_T_pvar_read(session, handle, value), MPI_SUCCESS);
        if (readonly) {
            CHECK_INT(MPI_T_pvar_write(session, handle, value), MPI_T_ERR_PVAR_NO_WRITE);
            CHECK_INT(MPI_T_pvar_reset(session, handle), MPI_T_ERR_PVAR_NO_WRITE);
        } else {
            CHECK_INT(MPI_T_pvar_reset(session, handle), MPI_SUCCESS);
        }
        CHECK_INT(MPI_T_pvar_readreset(session, handle, value), atomic ? MPI_SUCCESS : MPI_T_ERR_PVAR_NO_ATOMIC);
        if (grows(class) && is_ours())
            CHECK(!readonly && !continuous && atomic);
        CHECK_INT(MPI_T_pvar_handle_free(session, &handle), MPI_SUCCESS);
        CHECK(handle == MPI_T_PVAR_HANDLE_NULL);
    }
    CHECK_INT(MPI_T_pvar_session_free(&session), MPI_SUCCESS);
    CHECK(session == MPI_T_PVAR_SESSION_NULL);
}

/* Sends so many messages of so many bytes to the next process, and gets as many. */
static void go_round(int messages, int bytes)
{
    static char out[1 << 16], in[1 << 16];
    for (int i = 0; i < messages; i++) {
        MPI_Request request;
        MPI_Irecv(in, sizeof in, MPI_BYTE, (rank + size - 1) % size, 1, MPI_COMM_WORLD, &request);
        MPI_Send(out, bytes, MPI_BYTE, (rank + 1) % size, 1, MPI_COMM_WORLD);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
}

static void count_calls(void)
{
    MPI_T_pvar_session first, second;
    unsigned long long value, ten = 10;
    CHECK_INT(MPI_T_pvar_session_create(&first), MPI_SUCCESS);
    CHECK_INT(MPI_T_pvar_session_create(&second), MPI_SUCCESS);
    MPI_T_pvar_handle sends = measured(first, "calls_MPI_Send", COUNTER, NULL), again = measured(second, "calls_MPI_Send", COUNTER, NULL);
    MPI_T_pvar_handle bytes = measured(first, "bytes_MPI_Send", MPI_T_PVAR_CLASS_AGGREGATE, NULL), time = measured(first, "time_ns_MPI_Send", TIMER, NULL);
    MPI_T_pvar_handle receives = measured(first, "calls_MPI_Recv", COUNTER, NULL);
    go_round(2, 8);
    CHECK_INT(value_of(first, sends), 0);
    CHECK_INT(MPI_T_pvar_start(first, MPI_T_PVAR_ALL_HANDLES), MPI_SUCCESS);
    CHECK_INT(MPI_T_pvar_start(first, sends), MPI_SUCCESS);
    go_round(5, 100);
    CHECK_INT(value_of(first, sends), 5);
    CHECK_INT(value_of(first, bytes), 500);
    CHECK(value_of(first, time) > 0);
    CHECK_INT(value_of(first, receives), 0);
    /* The other session sees what comes after its own start, and is not disturbed by what the first one does. */
    CHECK_INT(value_of(second, again), 0);
    CHECK_INT(MPI_T_pvar_start(second, again), MPI_SUCCESS);
    go_round(3, 1);
    CHECK_INT(value_of(first, sends), 8);
    CHECK_INT(MPI_T_pvar_reset(first, sends), MPI_SUCCESS);
    CHECK_INT(value_of(first, sends), 0);
    CHECK_INT(value_of(second, again), 3);
    /* Stopped, it stays as it is; started again, it goes on. */
    CHECK_INT(MPI_T_pvar_stop(second, again), MPI_SUCCESS);
    go_round(4, 1);
    CHECK_INT(value_of(second, again), 3);
    CHECK_INT(MPI_T_pvar_start(second, again), MPI_SUCCESS);
    go_round(1, 1);
    CHECK_INT(value_of(second, again), 4);
    CHECK_INT(MPI_T_pvar_write(second, again, &ten), MPI_SUCCESS);
    go_round(1, 1);
    CHECK_INT(MPI_T_pvar_readreset(second, again, &value), MPI_SUCCESS);
    CHECK_INT(value, 11);
    CHECK_INT(value_of(second, again), 0);
    CHECK_INT(value_of(first, sends), 6);
    CHECK_INT(MPI_T_pvar_stop(first, MPI_T_PVAR_ALL_HANDLES), MPI_SUCCESS);
    CHECK_INT(MPI_T_pvar_reset(first, MPI_T_PVAR_ALL_HANDLES), MPI_SUCCESS);
    CHECK_INT(value_of(first, bytes), 0);
    /* A handle is of one session. */
    CHECK_INT(MPI_T_pvar_read(second, sends, &value), MPI_T_ERR_INVALID_HANDLE);
    CHECK_INT(MPI_T_pvar_start(second, sends), MPI_T_ERR_INVALID_HANDLE);
    CHECK_INT(MPI_T_pvar_read(first, MPI_T_PVAR_ALL_HANDLES, &value), MPI_T_ERR_INVALID_HANDLE);
    CHECK_INT(MPI_T_pvar_handle_free(second, &sends), MPI_T_ERR_INVALID_HANDLE);
    CHECK_INT(MPI_T_pvar_handle_free(first, &sends), MPI_SUCCESS);
    CHECK_INT(MPI_T_pvar_session_free(&first), MPI_SUCCESS);
    CHECK_INT(MPI_T_pvar_read(first, time, &value), MPI_T_ERR_INVALID_SESSION);
    CHECK_INT(MPI_T_pvar_session_free(&second), MPI_SUCCESS);
}

/* Messages that nobody receives yet: their number, their bytes, and the most of these, which each session sees from its own start on. */
static void watch_the_pool(void)
{
    enum { MESSAGES = 40, BYTES = 4000 };
    static char out[BYTES], in[BYTES];
    MPI_T_pvar_session first, second;
    CHECK_INT(MPI_T_pvar_session_create(&first), MPI_SUCCESS);
    CHECK_INT(MPI_T_pvar_session_create(&second), MPI_SUCCESS);
    int class = MPI_T_PVAR_CLASS_HIGHWATERMARK;
    MPI_T_pvar_handle most = measured(first, "unexpected_most_bytes", class, NULL), later = measured(second, "unexpected_most_bytes", class, NULL);
    MPI_T_pvar_handle now = measured(first, "unexpected_messages", MPI_T_PVAR_CLASS_LEVEL, NULL), all = measured(first, "unexpected_all", COUNTER, NULL);
    MPI_T_pvar_handle share = measured(first, "unexpected_share", MPI_T_PVAR_CLASS_PERCENTAGE, NULL);
    CHECK_INT(MPI_T_pvar_start(first, MPI_T_PVAR_ALL_HANDLES), MPI_SUCCESS);
    unsigned long long before = value_of(first, most);
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < MESSAGES; i++)
        MPI_Send(out, BYTES, MPI_BYTE, (rank + 1) % size, 1, MPI_COMM_WORLD);
    /* All of them are there, and wait: the last one is seen before the others are received. */
    MPI_Send(out, 0, MPI_BYTE, (rank + 1) % size, 2, MPI_COMM_WORLD);
    MPI_Probe((rank + size - 1) % size, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Recv(in, 0, MPI_BYTE, (rank + size - 1) % size, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    unsigned long long waiting = value_of(first, now), peak = value_of(first, most);
    double part = -1;
    CHECK_INT(MPI_T_pvar_read(first, share, &part), MPI_SUCCESS);
    CHECK(part >= 0 && part <= 1);
    if (waiting > 0) {
        CHECK(peak > before && part > 0);
        CHECK(value_of(first, all) >= waiting);
    }
    for (int i = 0; i < MESSAGES; i++)
        MPI_Recv(in, BYTES, MPI_BYTE, (rank + size - 1) % size, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Barrier(MPI_COMM_WORLD);
    peak = value_of(first, most);
    /* Who starts now has seen none of that; who has started before still has. */
    CHECK_INT(MPI_T_pvar_start(second, later), MPI_SUCCESS);
    CHECK(value_of(second, later) <= peak);
    CHECK_INT(value_of(first, most), peak);
    CHECK_INT(MPI_T_pvar_reset(first, most), MPI_SUCCESS);
    CHECK(value_of(first, most) <= peak);
    CHECK_INT(MPI_T_pvar_session_free(&first), MPI_SUCCESS);
    CHECK_INT(MPI_T_pvar_session_free(&second), MPI_SUCCESS);
}

static void ask_objects(void)
{
    MPI_T_pvar_session session;
    MPI_Comm dup;
    MPI_Win win;
    int memory[4] = {0}, state = -1;
    MPI_T_pvar_handle handle;
    CHECK_INT(MPI_T_pvar_session_create(&session), MPI_SUCCESS);
    MPI_Comm_dup(MPI_COMM_WORLD, &dup);
    MPI_T_pvar_handle in_dup = measured(session, "comm_collectives", COUNTER, &dup), is_whole = measured(session, "comm_state", MPI_T_PVAR_CLASS_STATE, &dup);
    CHECK_INT(MPI_T_pvar_start(session, in_dup), MPI_SUCCESS);
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK_INT(value_of(session, in_dup), 0);
    for (int i = 0; i < 3; i++)
        MPI_Bcast(memory, 1, MPI_INT, 0, dup);
    CHECK_INT(value_of(session, in_dup), size > 1 ? 3 : value_of(session, in_dup));
    CHECK_INT(MPI_T_pvar_read(session, is_whole, &state), MPI_SUCCESS);
    CHECK_INT(state, 0);
    MPI_Win_create(memory, sizeof memory, sizeof *memory, MPI_INFO_NULL, dup, &win);
    MPI_T_pvar_handle waiting = measured(session, "win_operations", MPI_T_PVAR_CLASS_LEVEL, &win);
    MPI_Win_fence(0, win);
    int one = rank + 1;
    MPI_Put(&one, 1, MPI_INT, (rank + 1) % size, 0, 1, MPI_INT, win);
    CHECK(value_of(session, waiting) <= 1);
    MPI_Win_fence(0, win);
    CHECK_INT(value_of(session, waiting), 0);
    CHECK_INT(memory[0], (rank + size - 1) % size + 1);
    MPI_Win_free(&win);
    unsigned long long value;
    CHECK_INT(MPI_T_pvar_read(session, waiting, &value), MPI_T_ERR_INVALID_HANDLE);
    MPI_Comm gone = dup;
    MPI_Comm_free(&dup);
    CHECK_INT(MPI_T_pvar_read(session, in_dup, &value), MPI_T_ERR_INVALID_HANDLE);
    int index = pvar("comm_state", MPI_T_PVAR_CLASS_STATE);
    CHECK_INT(MPI_T_pvar_handle_alloc(session, index, &gone, &handle, NULL), MPI_T_ERR_INVALID_HANDLE);
    CHECK_INT(MPI_T_pvar_handle_alloc(session, index, NULL, &handle, NULL), MPI_T_ERR_INVALID);
    CHECK_INT(MPI_T_pvar_session_free(&session), MPI_SUCCESS);
}

/* The NIC, requests and rings of this rank. */
static void ask_the_nic(void)
{
    MPI_T_pvar_session session;
    MPI_Request requests[7];
    int got[7];
    CHECK_INT(MPI_T_pvar_session_create(&session), MPI_SUCCESS);
    MPI_T_pvar_handle slices = measured(session, "slices", COUNTER, NULL), under_way = measured(session, "requests", MPI_T_PVAR_CLASS_LEVEL, NULL);
    MPI_T_pvar_handle room = measured(session, "nic_memory_bytes", MPI_T_PVAR_CLASS_SIZE, NULL);
    CHECK_INT(MPI_T_pvar_start(session, slices), MPI_SUCCESS);
    CHECK(value_of(session, room) > 1 << 20);
    MPI_Barrier(MPI_COMM_WORLD);
    unsigned long long before = value_of(session, under_way);
    for (int i = 0; i < 7; i++)
        MPI_Irecv(&got[i], 1, MPI_INT, (rank + size - 1) % size, 3, MPI_COMM_WORLD, &requests[i]);
    CHECK_INT(value_of(session, under_way), before + 7);
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < 7; i++)
        MPI_Send(&i, 1, MPI_INT, (rank + 1) % size, 3, MPI_COMM_WORLD);
    MPI_Waitall(7, requests, MPI_STATUSES_IGNORE);
    for (int i = 0; i < 7; i++)
        CHECK_INT(got[i], i);
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK_INT(value_of(session, under_way), before);
    if (size > 1)
        CHECK(value_of(session, slices) > 0);
    CHECK_INT(MPI_T_pvar_session_free(&session), MPI_SUCCESS);
}

int main(int argc, char **argv)
{
    int provided, ours;
    unsigned long long value = 0;
    MPI_T_pvar_session session = MPI_T_PVAR_SESSION_NULL;
    MPI_T_pvar_handle inits = MPI_T_PVAR_HANDLE_NULL, finalizes = MPI_T_PVAR_HANDLE_NULL;
    CHECK_INT(MPI_T_init_thread(MPI_THREAD_SINGLE, &provided), MPI_SUCCESS);
    ours = is_ours();
    if (ours && argc > 1) {
        /* What is started before MPI_Init counts that, too. */
        CHECK_INT(MPI_T_pvar_session_create(&session), MPI_SUCCESS);
        inits = measured(session, "calls_MPI_Init", COUNTER, NULL), finalizes = measured(session, "calls_MPI_Barrier", COUNTER, NULL);
        CHECK_INT(MPI_T_pvar_start(session, MPI_T_PVAR_ALL_HANDLES), MPI_SUCCESS);
        CHECK_INT(value_of(session, inits), 0);
    }
    start(&argc, &argv);
    if (inits != MPI_T_PVAR_HANDLE_NULL) {
        MPI_Barrier(MPI_COMM_WORLD);
        CHECK_INT(value_of(session, inits), 1);
        CHECK_INT(value_of(session, finalizes), 1);
    }
    if (ours)
        count_calls();
    check_all();
    if (ours) {
        watch_the_pool();
        ask_objects();
        ask_the_nic();
    }
    MPI_Finalize();
    if (inits != MPI_T_PVAR_HANDLE_NULL) {
        CHECK_INT(MPI_T_pvar_read(session, inits, &value), MPI_SUCCESS);
        CHECK_INT(value, 1);
    }
    CHECK_INT(MPI_T_finalize(), MPI_SUCCESS);
    return 0;
}
