/* Events: who registers is told of what happens, in order, once, and of how much was lost; functions may call what the program may. */
#include "tools.h"

enum { MOST = 4096 };

/* What was heard of the registration that a test has made. */
static struct {
    int events, dropped_calls, freed;
    long long dropped;
    int source[MOST], tag[MOST];
    unsigned long long bytes[MOST];
    MPI_Count time[MOST];
    MPI_T_event_registration registration;
    int safety;
    MPI_T_event_instance last;
} heard;

static char mark; /* the user's data */

static void forget(void) { memset(&heard, 0, sizeof heard); }

struct message {
    int source, tag;
    unsigned long long bytes;
};

static void hear_message(MPI_T_event_instance event, MPI_T_event_registration registration, MPI_T_cb_safety safety, void *user_data)
{
    struct message copy = {-9, -9, 9};
    int source = -9, index = -9, element = -9;
    unsigned long long bytes = 9;
    MPI_Count time = -1, now = -1;
    CHECK(user_data == &mark && heard.events < MOST);
    CHECK_INT(MPI_T_event_read(event, 0, &source), MPI_SUCCESS);
    CHECK_INT(MPI_T_event_read(event, 2, &bytes), MPI_SUCCESS);
    CHECK_INT(MPI_T_event_read(event, 3, &element), MPI_T_ERR_INVALID_INDEX);
    CHECK_INT(MPI_T_event_read(event, -1, &element), MPI_T_ERR_INVALID_INDEX);
    CHECK_INT(MPI_T_event_copy(event, &copy), MPI_SUCCESS);
    CHECK_INT(copy.source, source);
    CHECK_INT(copy.bytes, bytes);
    CHECK_INT(MPI_T_event_get_timestamp(event, &time), MPI_SUCCESS);
    CHECK_INT(MPI_T_event_get_source(event, &index), MPI_SUCCESS);
    CHECK_INT(index, 0);
    CHECK_INT(MPI_T_source_get_timestamp(index, &now), MPI_SUCCESS);
    CHECK(time > 0 && time <= now);
    heard.source[heard.events] = source, heard.tag[heard.events] = copy.tag, heard.bytes[heard.events] = bytes, heard.time[heard.events] = time;
    heard.registration = registration, heard.safety = safety, heard.last = event;
    heard.events++;
}

static void hear_stricter(MPI_T_event_instance event, MPI_T_event_registration registration, MPI_T_cb_safety safety, void *user_data)
{
    (void)event, (void)registration, (void)user_data;
    CHECK_INT(safety, MPI_T_CB_REQUIRE_THREAD_SAFE);
    heard.safety = safety;
    heard.events++;
}

static void hear_dropped(MPI_Count count, MPI_T_event_registration registration, int source, MPI_T_cb_safety safety, void *user_data)
{
    CHECK(user_data == &mark && registration == heard.registration);
    CHECK_INT(source, 0);
    CHECK_INT(safety, MPI_T_CB_REQUIRE_NONE);
    heard.dropped_calls++;
    heard.dropped += count;
}

static void hear_freed(MPI_T_event_registration registration, MPI_T_cb_safety safety, void *user_data)
{
    (void)registration, (void)safety;
    CHECK(user_data == &heard);
    heard.freed++;
}

/* Sends so many messages to the next process, with tags that count, and gets as many in all ways. */
static void go_round(MPI_Comm comm, int messages)
{
    for (int i = 0; i < messages; i++) {
        char out[64] = {0}, in[64];
        MPI_Request request;
        int from = (rank + size - 1) % size, to = (rank + 1) % size;
        switch (i % 4) {
        case 0:
            MPI_Sendrecv(out, i % 50, MPI_BYTE, to, i, in, 64, MPI_BYTE, from, i, comm, MPI_STATUS_IGNORE);
            break;
        case 1:
            MPI_Irecv(in, 64, MPI_BYTE, from, i, comm, &request);
            MPI_Send(out, i % 50, MPI_BYTE, to, i, comm);
            MPI_Wait(&request, MPI_STATUS_IGNORE);
            break;
        case 2:
            MPI_Isend(out, i % 50, MPI_BYTE, to, i, comm, &request);
            MPI_Recv(in, 64, MPI_BYTE, MPI_ANY_SOURCE, i, comm, MPI_STATUS_IGNORE);
            MPI_Wait(&request, MPI_STATUS_IGNORE);
            break;
        default: {
            MPI_Message message;
            int flag = 0;
            MPI_Isend(out, i % 50, MPI_BYTE, to, i, comm, &request);
            MPI_Mprobe(from, i, comm, &message, MPI_STATUS_IGNORE);
            MPI_Mrecv(in, 64, MPI_BYTE, &message, MPI_STATUS_IGNORE);
            while (!flag)
                MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
        }
        }
    }
}

static void check_table(void)
{
    int count = -1, sources = -1, index;
    CHECK_INT(MPI_T_event_get_num(&count), MPI_SUCCESS);
    CHECK_INT(MPI_T_source_get_num(&sources), MPI_SUCCESS);
    for (int i = 0; i < count; i++) {
        char name[256], text[1024];
        int length = sizeof name, text_length = sizeof text, verbosity, elements = 0, bind, items, wanted;
        MPI_Datatype types[16];
        MPI_Aint displacements[16];
        MPI_T_enum names;
        MPI_Info info;
        CHECK_INT(MPI_T_event_get_info(i, NULL, NULL, NULL, NULL, NULL, &elements, NULL, NULL, NULL, NULL, NULL), MPI_SUCCESS);
        CHECK(elements > 0 && elements <= 16);
        wanted = elements;
        CHECK_INT(MPI_T_event_get_info(i, name, &length, &verbosity, types, displacements, &elements, &names, &info, text, &text_length, &bind), MPI_SUCCESS);
        CHECK_INT(elements, wanted);
        CHECK_INT(strlen(name) + 1, length);
        CHECK_INT(MPI_T_event_get_index(name, &index), MPI_SUCCESS);
        CHECK_INT(index, i);
        MPI_Info_free(&info);
        if (names != MPI_T_ENUM_NULL) {
            CHECK_INT(MPI_T_enum_get_info(names, &items, NULL, NULL), MPI_SUCCESS);
            CHECK_INT(items, elements);
        }
        for (int e = 1; e < elements; e++)
            CHECK(displacements[e] > displacements[e - 1] && types[e] != MPI_DATATYPE_NULL);
    }
    for (int i = 0; i < sources; i++) {
        char name[256], text[1024];
        int length = sizeof name, text_length = sizeof text;
        MPI_T_source_order order;
        MPI_Count ticks = 0, most = 0, first = 0, second = 0;
        MPI_Info info;
        CHECK_INT(MPI_T_source_get_info(i, name, &length, text, &text_length, &order, &ticks, &most, &info), MPI_SUCCESS);
        CHECK(ticks > 0 && most > 0 && (order == MPI_T_SOURCE_ORDERED || order == MPI_T_SOURCE_UNORDERED));
        MPI_Info_free(&info);
        CHECK_INT(MPI_T_source_get_timestamp(i, &first), MPI_SUCCESS);
        CHECK_INT(MPI_T_source_get_timestamp(i, &second), MPI_SUCCESS);
        CHECK(second >= first);
    }
    CHECK(MPI_T_source_get_timestamp(sources, &(MPI_Count){0}) == MPI_T_ERR_INVALID_INDEX);
    CHECK(MPI_T_event_get_index("no event has this name", &index) == MPI_T_ERR_INVALID_NAME);
}

static MPI_T_event_registration registered(const char *name, void *object, MPI_T_event_cb_function function)
{
    MPI_T_event_registration registration;
    CHECK_INT(MPI_T_event_handle_alloc(event_named(name), object, MPI_INFO_NULL, &registration), MPI_SUCCESS);
    CHECK_INT(MPI_T_event_register_callback(registration, MPI_T_CB_REQUIRE_NONE, MPI_INFO_NULL, &mark, function), MPI_SUCCESS);
    return registration;
}

static void free_of(MPI_T_event_registration registration)
{
    int before = heard.freed;
    CHECK_INT(MPI_T_event_handle_free(registration, &heard, hear_freed), MPI_SUCCESS);
    CHECK_INT(heard.freed, before + 1);
    CHECK_INT(MPI_T_event_handle_free(registration, &heard, hear_freed), MPI_T_ERR_INVALID_HANDLE);
    CHECK_INT(heard.freed, before + 1);
}

static void hear_messages(void)
{
    enum { MESSAGES = 200 };
    MPI_Comm dup;
    int source = -1;
    MPI_Comm_dup(MPI_COMM_WORLD, &dup);
    forget();
    MPI_T_event_registration registration = registered("message_matched", &dup, hear_message);
    go_round(dup, MESSAGES);
    go_round(MPI_COMM_WORLD, 40);
    MPI_Barrier(dup);
    CHECK_INT(heard.events, MESSAGES);
    CHECK(heard.registration == registration && heard.safety == MPI_T_CB_REQUIRE_NONE);
    for (int i = 0; i < MESSAGES; i++) {
        CHECK_INT(heard.source[i], (rank + size - 1) % size);
        CHECK_INT(heard.tag[i], i);
        CHECK_INT(heard.bytes[i], i % 50);
        CHECK(i == 0 || heard.time[i] >= heard.time[i - 1]);
    }
    /* An event is gone when the function that was told of it has returned. */
    CHECK_INT(MPI_T_event_read(heard.last, 0, &source), MPI_T_ERR_INVALID_HANDLE);
    CHECK_INT(MPI_T_event_get_source(heard.last, &source), MPI_T_ERR_INVALID_HANDLE);
    /* The function that promises least is told; without it the next one. */
    CHECK_INT(MPI_T_event_register_callback(registration, MPI_T_CB_REQUIRE_THREAD_SAFE, MPI_INFO_NULL, &mark, hear_stricter), MPI_SUCCESS);
    go_round(dup, 1);
    CHECK_INT(heard.safety, MPI_T_CB_REQUIRE_NONE);
    CHECK_INT(MPI_T_event_register_callback(registration, MPI_T_CB_REQUIRE_NONE, MPI_INFO_NULL, &mark, NULL), MPI_SUCCESS);
    go_round(dup, 1);
    CHECK_INT(heard.safety, MPI_T_CB_REQUIRE_THREAD_SAFE);
    CHECK_INT(heard.events, MESSAGES + 2);
    free_of(registration);
    go_round(dup, 5);
    CHECK_INT(heard.events, MESSAGES + 2);
    MPI_Comm_free(&dup);
}

static void hear_of_losses(void)
{
    unsigned long long room = 3, before, none = 0;
    MPI_T_cvar_handle of_room = control("event_room", NULL);
    MPI_Request requests[10];
    int got[10];
    forget();
    MPI_T_event_registration registration = registered("message_matched", &(MPI_Comm){MPI_COMM_WORLD}, hear_message);
    heard.registration = registration;
    CHECK_INT(MPI_T_event_set_dropped_handler(registration, hear_dropped), MPI_SUCCESS);
    CHECK_INT(MPI_T_cvar_read(of_room, &before), MPI_SUCCESS);
    CHECK_INT(MPI_T_cvar_write(of_room, &room), MPI_SUCCESS);
    for (int i = 0; i < 10; i++)
        MPI_Irecv(&got[i], 1, MPI_INT, (rank + size - 1) % size, i, MPI_COMM_WORLD, &requests[i]);
    for (int i = 0; i < 10; i++)
        MPI_Send(&i, 1, MPI_INT, (rank + 1) % size, i, MPI_COMM_WORLD);
    /* One call completes them all, and is over before anything is delivered. */
    MPI_Waitall(10, requests, MPI_STATUSES_IGNORE);
    CHECK_INT(heard.events, 3);
    CHECK_INT(heard.dropped_calls, 1);
    CHECK_INT(heard.dropped, 7);
    /* Losses are told as soon as there are some, each once. */
    CHECK_INT(MPI_T_cvar_write(of_room, &none), MPI_SUCCESS);
    go_round(MPI_COMM_WORLD, 2);
    CHECK_INT(heard.events, 3);
    CHECK_INT(heard.dropped, 9);
    CHECK_INT(MPI_T_cvar_write(of_room, &before), MPI_SUCCESS);
    CHECK_INT(MPI_T_event_set_dropped_handler(registration, NULL), MPI_SUCCESS);
    go_round(MPI_COMM_WORLD, 1);
    CHECK_INT(heard.events, 4);
    CHECK_INT(heard.dropped, 9);
    free_of(registration);
    CHECK_INT(MPI_T_cvar_handle_free(&of_room), MPI_SUCCESS);
}

static int collectives[16], collective_count;

/* A function may call MPI: what that brings about is heard after it. */
static void hear_collective(MPI_T_event_instance event, MPI_T_event_registration registration, MPI_T_cb_safety safety, void *user_data)
{
    int index = -1, class = -1, flag = 0, ranks = 0;
    (void)registration, (void)safety, (void)user_data;
    CHECK_INT(MPI_T_event_read(event, 0, &index), MPI_SUCCESS);
    CHECK_INT(MPI_T_pvar_get_info(index, NULL, NULL, NULL, &class, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL), MPI_SUCCESS);
    CHECK_INT(class, MPI_T_PVAR_CLASS_COUNTER);
    CHECK(collective_count < 16);
    collectives[collective_count++] = index;
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    MPI_Iprobe(MPI_ANY_SOURCE, 12345, MPI_COMM_SELF, &flag, MPI_STATUS_IGNORE);
    CHECK(ranks == size && !flag);
    if (collective_count == 1) {
        int one = 1, sum = 0;
        MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_SELF);
        CHECK_INT(sum, 1);
    }
}

static void hear_collectives(void)
{
    static int long_vector[1 << 18], long_sum[1 << 18];
    MPI_Comm dup;
    MPI_Request request;
    int one = 1, sum;
    MPI_Comm_dup(MPI_COMM_WORLD, &dup);
    MPI_T_event_registration registration = registered("collective_complete", &dup, hear_collective);
    MPI_T_event_registration self = registered("collective_complete", &(MPI_Comm){MPI_COMM_SELF}, hear_collective);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, dup);
    CHECK_INT(sum, size);
    MPI_Allreduce(long_vector, long_sum, 1 << 18, MPI_INT, MPI_SUM, dup);
    MPI_Ibarrier(dup, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Bcast_init(&one, 1, MPI_INT, 0, dup, MPI_INFO_NULL, &request);
    for (int i = 0; i < 2; i++) {
        MPI_Start(&request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    MPI_Request_free(&request);
    int expected[] = {pvar("calls_MPI_Allreduce", MPI_T_PVAR_CLASS_COUNTER), pvar("calls_MPI_Allreduce", MPI_T_PVAR_CLASS_COUNTER),
                      pvar("calls_MPI_Allreduce", MPI_T_PVAR_CLASS_COUNTER), pvar("calls_MPI_Ibarrier", MPI_T_PVAR_CLASS_COUNTER),
                      pvar("calls_MPI_Bcast_init", MPI_T_PVAR_CLASS_COUNTER), pvar("calls_MPI_Bcast_init", MPI_T_PVAR_CLASS_COUNTER)};
    CHECK_INT(collective_count, 6);
    for (int i = 0; i < 6; i++)
        CHECK_INT(collectives[i], expected[i]);
    free_of(registration);
    free_of(self);
    MPI_Comm_free(&dup);
}

static unsigned long long last_slice, slices, slice_events;

static void hear_slices(MPI_T_event_instance event, MPI_T_event_registration registration, MPI_T_cb_safety safety, void *user_data)
{
    unsigned long long both[2] = {0, 0};
    (void)registration, (void)safety, (void)user_data;
    CHECK_INT(MPI_T_event_copy(event, both), MPI_SUCCESS);
    CHECK(both[0] > last_slice && both[1] > 0);
    /* No slice is missed, and none is told twice. */
    CHECK(last_slice == 0 || both[0] - both[1] == last_slice);
    last_slice = both[0], slices += both[1];
    slice_events++;
}

static void count_slices(void)
{
    MPI_T_pvar_session session;
    CHECK_INT(MPI_T_pvar_session_create(&session), MPI_SUCCESS);
    MPI_T_pvar_handle handle = measured(session, "slices", MPI_T_PVAR_CLASS_COUNTER, NULL);
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK_INT(MPI_T_pvar_start(session, handle), MPI_SUCCESS);
    MPI_T_event_registration registration = registered("slice_begun", NULL, hear_slices);
    for (int i = 0; i < 20; i++)
        MPI_Barrier(MPI_COMM_WORLD);
    unsigned long long value = value_of(session, handle);
    if (size > 1)
        CHECK(slice_events > 0 && slices > 0);
    /* What began since the last call that looked is not told yet; between start and registration some may have begun. */
    CHECK(slices <= value);
    free_of(registration);
    CHECK_INT(MPI_T_pvar_session_free(&session), MPI_SUCCESS);
}

/* A function frees its own registration: the end is told when it has returned. */
static void free_itself(MPI_T_event_instance event, MPI_T_event_registration registration, MPI_T_cb_safety safety, void *user_data)
{
    int source;
    (void)safety, (void)user_data;
    CHECK_INT(MPI_T_event_handle_free(registration, &heard, hear_freed), MPI_SUCCESS);
    CHECK_INT(heard.freed, 0);
    CHECK_INT(MPI_T_event_get_source(event, &source), MPI_SUCCESS);
    heard.events++;
}

static void free_in_a_function(void)
{
    forget();
    registered("message_matched", &(MPI_Comm){MPI_COMM_WORLD}, free_itself);
    go_round(MPI_COMM_WORLD, 8);
    CHECK_INT(heard.events, 1);
    CHECK_INT(heard.freed, 1);
}

static void keep_hints(void)
{
    MPI_T_event_registration registration;
    MPI_Info info, used;
    char value[16];
    int length = sizeof value, flag = 0;
    MPI_Info_create(&info);
    MPI_Info_set(info, "key", "value");
    CHECK_INT(MPI_T_event_handle_alloc(event_named("hang_found"), NULL, MPI_INFO_NULL, &registration), MPI_SUCCESS);
    CHECK_INT(MPI_T_event_handle_set_info(registration, info), MPI_SUCCESS);
    CHECK_INT(MPI_T_event_handle_get_info(registration, &used), MPI_SUCCESS);
    MPI_Info_get_string(used, "key", &length, value, &flag);
    CHECK(!flag || strcmp(value, "value") == 0);
    MPI_Info_free(&used);
    CHECK_INT(MPI_T_event_callback_get_info(registration, MPI_T_CB_REQUIRE_NONE, &used), MPI_T_ERR_INVALID_HANDLE);
    CHECK_INT(MPI_T_event_register_callback(registration, MPI_T_CB_REQUIRE_NONE, info, NULL, hear_message), MPI_SUCCESS);
    CHECK_INT(MPI_T_event_callback_set_info(registration, MPI_T_CB_REQUIRE_NONE, info), MPI_SUCCESS);
    CHECK_INT(MPI_T_event_callback_get_info(registration, MPI_T_CB_REQUIRE_NONE, &used), MPI_SUCCESS);
    MPI_Info_free(&used);
    CHECK_INT(MPI_T_event_register_callback(registration, 0x77, info, NULL, hear_message), MPI_T_ERR_INVALID);
    CHECK_INT(MPI_T_event_handle_free(registration, NULL, NULL), MPI_SUCCESS);
    MPI_Info_free(&info);
}

int main(int argc, char **argv)
{
    int provided, ours;
    CHECK_INT(MPI_T_init_thread(MPI_THREAD_SINGLE, &provided), MPI_SUCCESS);
    ours = is_ours();
    if (argc > 1)
        start_threaded(&argc, &argv);
    else
        start(&argc, &argv);
    check_table();
    if (ours) {
        hear_messages();
        hear_of_losses();
        hear_collectives();
        count_slices();
        free_in_a_function();
        keep_hints();
    }
    MPI_Finalize();
    CHECK_INT(MPI_T_finalize(), MPI_SUCCESS);
    return 0;
}
