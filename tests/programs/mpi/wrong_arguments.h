/* What the program that tests/mpi/wrong_arguments.rs makes stands on: objects that are right, objects that were freed, error handlers that
 * listen, and the judgement of an answer. */
#ifndef WRONG_ARGUMENTS_H
#define WRONG_ARGUMENTS_H
#define MPI1_COMPATIBILITY
#include "check.h"
#include <signal.h>
#include <unistd.h>

/* Right arguments. */
static MPI_Comm own, cart, graph, dist, inter;
static MPI_Group group, group_of_all, group_of_next;
static MPI_Info info;
static MPI_Session session;
static MPI_Datatype derived, derived_small, derived_large, open_type, mixed, below;
static MPI_Op own_op;
static MPI_Win window, dynamic, shared;
static MPI_File file, read_only, write_only, sequential;
static MPI_Datatype backwards, twice, still, nothing;
static MPI_Errhandler of_comms, of_sessions, of_files, of_wins;
static MPI_Status status;
static MPI_T_pvar_session tool_session, tool_kept;
static MPI_T_enum tool_enum;
static MPI_T_cvar_handle tool_cvar, tool_new_cvar;
static MPI_T_pvar_handle tool_pvar, tool_new_pvar;
static MPI_T_event_registration tool_registration, tool_new_registration;
static char tool_text[1024];
static int comm_key, type_key, win_key, own_class, own_code;
static char data[4096], room[4096], attached[65536], text[MPI_MAX_LIBRARY_VERSION_STRING], long_text[4096];
static char exposed[4096], attachable[256];
static void *allocated;
static char file_name[200], opened_name[220], doomed_name[220];

/* One of each kind. */
struct objects {
    MPI_Comm comm;
    MPI_Group group;
    MPI_Info info;
    MPI_Session session;
    MPI_Datatype type;
    MPI_Op op;
    MPI_Request request;
    MPI_Message message;
    MPI_Win win;
    MPI_File file;
    MPI_Errhandler handler;
    int keyval, type_keyval, win_keyval, class, code;
    void *memory;
};

/* Objects that were freed, what a call makes or frees, and a number that never was a handle. */
static struct objects freed, made;
static void *const made_up = (void *)0x123456789;
static MPI_Request parted, arriving, idle;
static MPI_Request active, started, inactive, receiving, sending, generalized, expected, another, requests[2];

/* A handle in memory, as calls that change it want it. */
static void *slot;
static void *at(const void *handle)
{
    slot = (void *)handle;
    return &slot;
}

/* Two requests, the second of which is this one. */
static MPI_Request *requests_with(void *second)
{
    requests[0] = another;
    requests[1] = second;
    return requests;
}

/* Who was told of an error. */
static struct {
    const void *object;
    int code, times, allowed;
} heard;

static void hear(const void *object, int code)
{
    heard.object = object;
    heard.code = code;
    heard.times++;
}

static void hear_comm(MPI_Comm *comm, int *code, ...) { hear(*comm, *code); }
static void hear_session(MPI_Session *of, int *code, ...) { hear(*of, *code); }
static void hear_file(MPI_File *file, int *code, ...) { hear(*file, *code); }
static void hear_win(MPI_Win *win, int *code, ...) { hear(*win, *code); }

static void may_call_handler(void) { heard.allowed = 1; }

/* Callbacks. */
static void add(void *in, void *inout, int *length, MPI_Datatype *type)
{
    (void)type;
    for (int i = 0; i < *length; i++)
        ((int *)inout)[i] += ((int *)in)[i];
}

static void add_large(void *in, void *inout, MPI_Count *length, MPI_Datatype *type)
{
    (void)in, (void)inout, (void)length, (void)type;
}

static int query(void *state, MPI_Status *of)
{
    (void)state;
    MPI_Status_set_elements(of, MPI_BYTE, 0);
    MPI_Status_set_cancelled(of, 0);
    return MPI_SUCCESS;
}

static int release(void *state)
{
    (void)state;
    return MPI_SUCCESS;
}

static int cancel(void *state, int complete)
{
    (void)state, (void)complete;
    return MPI_SUCCESS;
}

/* States that calls need. */
static void deliver(void) { MPI_Send(data, 1, MPI_INT, 0, 5, own); }

static void expect(void) { MPI_Irecv(room + 2048, 8, MPI_INT, 0, 5, own, &expected); }

static void match(void)
{
    deliver();
    MPI_Mprobe(0, 5, own, &made.message, MPI_STATUS_IGNORE);
}

static void have_requests(void)
{
    MPI_Isend(data, 1, MPI_INT, 0, 6, own, &active);
    MPI_Isend(data, 1, MPI_INT, 0, 6, own, &sending);
    MPI_Irecv(room, 1, MPI_INT, 0, 7, own, &receiving);
    MPI_Send_init(data, 1, MPI_INT, 0, 6, own, &inactive);
    MPI_Send_init(data, 1, MPI_INT, 0, 6, own, &another);
    MPI_Send_init(data, 1, MPI_INT, 0, 6, own, &started);
    MPI_Start(&started);
    MPI_Grequest_start(query, release, cancel, NULL, &generalized);
}

/* Partitioned requests of the two ends of a message, both active, and one that is not. */
static void have_parts(void)
{
    have_requests();
    MPI_Psend_init(data, 2, 1, MPI_INT, 0, 8, own, MPI_INFO_NULL, &parted);
    MPI_Precv_init(room, 2, 1, MPI_INT, 0, 8, own, MPI_INFO_NULL, &arriving);
    MPI_Psend_init(data, 2, 1, MPI_INT, 0, 9, own, MPI_INFO_NULL, &idle);
    MPI_Start(&parted);
    MPI_Start(&arriving);
}

static void end_parts(void)
{
    for (int part = 0; part < 2; part++)
        MPI_Pready(part, parted);
    MPI_Wait(&parted, MPI_STATUS_IGNORE);
    MPI_Wait(&arriving, MPI_STATUS_IGNORE);
    MPI_Request_free(&parted);
    MPI_Request_free(&arriving);
    MPI_Request_free(&idle);
}

static void renew_buffer(void)
{
    void *was;
    int bytes;
    MPI_Buffer_detach(&was, &bytes);
    MPI_Buffer_attach(attached, sizeof attached);
}

static void lock_window(void) { MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, window); }

static void access_window(void)
{
    MPI_Win_post(group, 0, window);
    MPI_Win_start(group, 0, window);
    MPI_Win_complete(window);
}

/* Ends the access to the window; where there is none, the calls are wrong, and do no harm. */
static void close_window(void)
{
    MPI_Win_unlock(0, window);
    MPI_Win_unlock_all(window);
    MPI_Win_complete(window);
    MPI_Win_fence(MPI_MODE_NOSUCCEED, window);
}

/* The same after MPI_Win_start, of a window that was posted. */
static void end_access(void)
{
    MPI_Win_complete(window);
    MPI_Win_wait(window);
}

/* The same of a window that was posted, if it was: MPI_Win_complete was not called. */
static void end_exposure(void)
{
    int done = 1;
    if (MPI_Win_test(window, &done) == MPI_SUCCESS && !done) {
        MPI_Win_start(group, 0, window);
        end_access();
    }
}

/* A file that is there. */
static void make_named(const char *name)
{
    FILE *made_here = fopen(name, "w");
    if (made_here)
        fclose(made_here);
}

static void make_doomed(void) { make_named(doomed_name); }

static void make_opened(void) { make_named(opened_name); }

static void view_of_ints(void) { MPI_File_set_view(file, 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL); }

static int extent_of(MPI_Datatype datatype, MPI_Aint *extent, void *state)
{
    MPI_Aint lb;
    (void)state;
    return MPI_Type_get_extent(datatype, &lb, extent);
}

/* Files that are open in every way; they go when they are closed. */
static void open_files(void)
{
    const char *directory = getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp";
    snprintf(file_name, sizeof file_name, "%s/wrong_arguments.%ld", directory, (long)getpid());
    snprintf(opened_name, sizeof opened_name, "%s.opened", file_name);
    snprintf(doomed_name, sizeof doomed_name, "%s.doomed", file_name);
    MPI_File_open(own, file_name, MPI_MODE_RDWR | MPI_MODE_CREATE | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL, &file);
    MPI_File_open(own, file_name, MPI_MODE_RDONLY, MPI_INFO_NULL, &read_only);
    MPI_File_open(own, file_name, MPI_MODE_WRONLY, MPI_INFO_NULL, &write_only);
    MPI_File_open(own, file_name, MPI_MODE_RDONLY | MPI_MODE_SEQUENTIAL, MPI_INFO_NULL, &sequential);
    MPI_File_open(own, file_name, MPI_MODE_RDONLY, MPI_INFO_NULL, &made.file);
    freed.file = made.file;
    MPI_File_close(&made.file);
    MPI_Type_create_hindexed(2, (int[]){1, 1}, (MPI_Aint[]){8, 0}, MPI_INT, &backwards);
    MPI_Type_create_hindexed(2, (int[]){2, 2}, (MPI_Aint[]){0, 4}, MPI_INT, &twice);
    MPI_Type_create_resized(MPI_INT, 0, 0, &still);
    MPI_Type_contiguous(0, MPI_INT, &nothing);
    MPI_Datatype *types[] = {&backwards, &twice, &still, &nothing};
    for (int i = 0; i < 4; i++)
        MPI_Type_commit(types[i]);
    view_of_ints();
}

static void close_files(void)
{
    MPI_File *files[] = {&read_only, &write_only, &sequential, &file};
    MPI_File_set_errhandler(MPI_FILE_NULL, MPI_ERRORS_RETURN);
    for (int i = 0; i < 4; i++)
        MPI_File_close(files[i]);
    unlink(opened_name);
    unlink(doomed_name);
}

static void have_codes(void)
{
    MPI_Add_error_class(&own_class);
    MPI_Add_error_class(&own_code);
    MPI_Add_error_code(own_code, &own_code);
}

static void forget_codes(void)
{
    int of = own_code;
    MPI_Error_class(own_code, &of);
    if (made.code != 0)
        MPI_Remove_error_code(made.code);
    MPI_Remove_error_string(own_code);
    MPI_Remove_error_code(own_code);
    MPI_Remove_error_class(of);
    MPI_Remove_error_class(own_class);
}

/* Ends a request, whatever it is of; a handle that names none any more does no harm. */
static void end_request(MPI_Request *request)
{
    int done = 0;
    if (*request == NULL || *request == MPI_REQUEST_NULL)
        return;
    MPI_Test(request, &done, MPI_STATUS_IGNORE);
    if (!done) {
        MPI_Cancel(request);
        MPI_Wait(request, MPI_STATUS_IGNORE);
    }
    if (*request != MPI_REQUEST_NULL)
        MPI_Request_free(request);
    *request = NULL;
}

/* Leaves nothing of a call behind: neither objects, nor requests, nor messages. */
static void settle(void)
{
    int found = 1;
    if (generalized != NULL)
        MPI_Grequest_complete(generalized);
    MPI_Request *all[] = {&made.request, &active, &started, &inactive, &receiving, &sending, &generalized, &expected, &another};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        end_request(all[i]);
    if (made.message != NULL && made.message != MPI_MESSAGE_NULL)
        MPI_Mrecv(room, 64, MPI_INT, &made.message, MPI_STATUS_IGNORE);
    while (found) {
        found = 0;
        MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, own, &found, MPI_STATUS_IGNORE);
        if (found)
            MPI_Recv(room, 64, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, own, MPI_STATUS_IGNORE);
    }
    if (made.comm != NULL && made.comm != MPI_COMM_NULL)
        MPI_Comm_free(&made.comm);
    if (made.group != NULL && made.group != MPI_GROUP_NULL)
        MPI_Group_free(&made.group);
    if (made.info != NULL && made.info != MPI_INFO_NULL)
        MPI_Info_free(&made.info);
    if (made.session != NULL && made.session != MPI_SESSION_NULL)
        MPI_Session_finalize(&made.session);
    if (made.type != NULL && made.type != MPI_DATATYPE_NULL)
        MPI_Type_free(&made.type);
    if (made.op != NULL && made.op != MPI_OP_NULL)
        MPI_Op_free(&made.op);
    if (made.handler != NULL && made.handler != MPI_ERRHANDLER_NULL)
        MPI_Errhandler_free(&made.handler);
    if (made.keyval != 0 && made.keyval != MPI_KEYVAL_INVALID)
        MPI_Comm_free_keyval(&made.keyval);
    if (made.type_keyval != 0 && made.type_keyval != MPI_KEYVAL_INVALID)
        MPI_Type_free_keyval(&made.type_keyval);
    if (made.win_keyval != 0 && made.win_keyval != MPI_KEYVAL_INVALID)
        MPI_Win_free_keyval(&made.win_keyval);
    if (made.win != NULL && made.win != MPI_WIN_NULL)
        MPI_Win_free(&made.win);
    if (made.file != NULL && made.file != MPI_FILE_NULL)
        MPI_File_close(&made.file);
    if (made.class != 0)
        MPI_Remove_error_class(made.class);
    if (made.memory != NULL)
        MPI_Free_mem(made.memory);
}

/* The call under test. */
static const char *call_, *argument_, *kind_;
static int calls, failures, quiet_;

static void failed(const char *what)
{
    printf("%s, %s %s: %s\n", call_, argument_, kind_, what);
    fflush(stdout);
    failures++;
}

/* A crash may leave the library locked, so it ends the job; after it there is nothing more to learn. */
static void crashed(int number)
{
    failed(number == SIGALRM ? "does not come back" : "crashes");
    _exit(97);
}

static void before(const char *call, const char *argument, const char *kind)
{
    call_ = call, argument_ = argument, kind_ = kind;
    calls++;
    memset(&made, 0, sizeof made);
    heard.allowed = 0;
    alarm(20);
}

static void listen_(void) { heard.times = 0, heard.object = NULL, heard.code = 0; }

/* A call that is right: no error. */
static void right(int code)
{
    char said[MPI_MAX_ERROR_STRING], line[8 * MPI_MAX_ERROR_STRING];
    int length, times = heard.times;
    if (code == MPI_SUCCESS && (times == 0 || heard.allowed))
        return;
    MPI_Error_string(code, said, &length);
    snprintf(line, sizeof line, "should be well: %s (%d handlers called)", said, times);
    failed(line);
}

/* A call that is wrong: its class, its message, and who was told. */
static void wrong(int class, const char *says, const void *owner, int code)
{
    char said[MPI_MAX_ERROR_STRING], quoted[80], line[8 * MPI_MAX_ERROR_STRING], begins[2 * MPI_MAX_ERROR_STRING], name[MPI_MAX_ERROR_STRING];
    int length, times = heard.times, got, handed = heard.code;
    const void *object = heard.object;
    if (strncmp(call_, "MPI_T_", 6) == 0) {
        /* No error handler is asked. */
        if (code != class || times != 0) {
            snprintf(line, sizeof line, "answers %d, not %d (%d handlers called)", code, class, times);
            failed(line);
        }
        return;
    }
    got = class_of(code);
    MPI_Error_string(code, said, &length);
    MPI_Error_string(class, name, &length);
    name[strcspn(name, ":")] = 0;
    if (got != class) {
        snprintf(line, sizeof line, "is class %d, not %s: %s", got, name, said);
        failed(line);
        return;
    }
    snprintf(begins, sizeof begins, "%s: %s: ", name, call_);
    snprintf(quoted, sizeof quoted, "'%s'", argument_);
    if (strncmp(said, begins, strlen(begins)) != 0 || (kind_[0] != '(' && !strstr(said, quoted)) || (says && !strstr(said, says))) {
        snprintf(line, sizeof line, "does not say \"%s\", %s and \"%s\": %s", begins, quoted, says ? says : "", said);
        failed(line);
    }
    if (quiet_)
        return;
    if (times != 1 || object != owner || handed != code) {
        snprintf(line, sizeof line, "%d handlers called, the last of object %p, not %p, with code %d, not %d", times, object, owner, handed, code);
        failed(line);
    }
}

/* What a call that is wrong would have made. */
static void is_null(int holds, const char *name)
{
    char line[MPI_MAX_ERROR_STRING];
    snprintf(line, sizeof line, "leaves '%s' without the null handle", name);
    if (!holds)
        failed(line);
}

#define TRY(set_up, clean_up, name, argument, kind, judge)                                                  \
    do {                                                                                                    \
        before(name, argument, kind);                                                                       \
        set_up;                                                                                             \
        listen_();                                                                                          \
        judge;                                                                                              \
        clean_up;                                                                                           \
        settle();                                                                                           \
    } while (0)

/* A message goes round: all processes are still well. */
static void go_round(void)
{
    int got = -1;
    MPI_Sendrecv(&rank, 1, MPI_INT, (rank + 1) % size, 9, &got, 1, MPI_INT, (rank + size - 1) % size, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    CHECK_INT(got, (rank + size - 1) % size);
}

static void tool_hear(MPI_T_event_instance event, MPI_T_event_registration of, MPI_T_cb_safety safety, void *user_data)
{
    (void)event, (void)of, (void)safety, (void)user_data;
}

static void hear_tools(MPI_T_event_cb_function hear)
{
    MPI_T_event_register_callback(tool_registration, MPI_T_CB_REQUIRE_NONE, MPI_INFO_NULL, NULL, hear);
}

static void have_tools(void)
{
    int index;
    MPI_T_cvar_get_index("event_room", &index);
    MPI_T_cvar_handle_alloc(index, NULL, &tool_cvar, NULL);
    MPI_T_pvar_session_create(&tool_kept);
    MPI_T_pvar_get_index("slices", MPI_T_PVAR_CLASS_COUNTER, &index);
    MPI_T_pvar_handle_alloc(tool_kept, index, NULL, &tool_pvar, NULL);
    MPI_T_event_get_index("hang_found", &index);
    MPI_T_event_handle_alloc(index, NULL, MPI_INFO_NULL, &tool_registration);
    MPI_T_event_get_info(index, NULL, NULL, NULL, NULL, NULL, NULL, &tool_enum, NULL, NULL, NULL, NULL);
}

static void prepare(int *argc, char ***argv)
{
    int index[] = {1}, edges[] = {0}, one[] = {1}, zero[] = {0};
    MPI_Request request;
    MPI_Message message;
    start(argc, argv);
    struct sigaction action = {.sa_handler = crashed};
    sigaction(SIGSEGV, &action, NULL);
    sigaction(SIGBUS, &action, NULL);
    sigaction(SIGALRM, &action, NULL);
    MPI_Comm_create_errhandler(hear_comm, &of_comms);
    MPI_Session_create_errhandler(hear_session, &of_sessions);
    MPI_File_create_errhandler(hear_file, &of_files);
    MPI_Win_create_errhandler(hear_win, &of_wins);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, of_comms);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, of_comms);
    MPI_File_set_errhandler(MPI_FILE_NULL, of_files);
    MPI_Comm_dup(MPI_COMM_SELF, &own);
    MPI_Cart_create(own, 1, one, one, 0, &cart);
    MPI_Graph_create(own, 1, index, edges, 0, &graph);
    MPI_Dist_graph_create_adjacent(own, 1, zero, one, 1, zero, one, MPI_INFO_NULL, 0, &dist);
    MPI_Comm_group(own, &group);
    MPI_Comm_group(MPI_COMM_WORLD, &group_of_all);
    MPI_Group_incl(group_of_all, 1, (int[]){(rank + 1) % size}, &group_of_next);
    MPI_Comm_split(MPI_COMM_WORLD, rank == 0, rank, &made.comm);
    MPI_Intercomm_create(made.comm, 0, MPI_COMM_WORLD, rank == 0, 8, &inter);
    MPI_Comm_free(&made.comm);
    MPI_Info_create(&info);
    MPI_Info_set(info, "key", "value");
    MPI_Session_init(MPI_INFO_NULL, of_sessions, &session);
    MPI_Type_vector(2, 1, 3, MPI_INT, &derived_small);
    MPI_Type_vector_c(2, 1, 3, MPI_INT, &derived_large);
    MPI_Type_commit(&derived_small);
    MPI_Type_commit(&derived_large);
    derived = derived_small;
    MPI_Type_contiguous(2, MPI_INT, &open_type);
    MPI_Type_create_struct(2, (int[]){1, 1}, (MPI_Aint[]){0, 8}, (MPI_Datatype[]){MPI_INT, MPI_DOUBLE}, &mixed);
    MPI_Type_create_hindexed(1, one, (MPI_Aint[]){-8}, MPI_INT, &below);
    MPI_Type_commit(&mixed);
    MPI_Type_commit(&below);
    MPI_Op_create(add, 1, &own_op);
    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, MPI_COMM_NULL_DELETE_FN, &comm_key, NULL);
    for (int i = 0; i < 3; i++)
        MPI_Type_create_keyval(MPI_TYPE_NULL_COPY_FN, MPI_TYPE_NULL_DELETE_FN, &type_key, NULL);
    MPI_Win_create_keyval(MPI_WIN_NULL_COPY_FN, MPI_WIN_NULL_DELETE_FN, &win_key, NULL);
    MPI_Win_create(exposed, sizeof exposed, 4, MPI_INFO_NULL, own, &window);
    MPI_Win_create_dynamic(MPI_INFO_NULL, own, &dynamic);
    MPI_Win_allocate_shared(64, 4, MPI_INFO_NULL, own, &allocated, &shared);
    MPI_Win *windows[] = {&window, &dynamic, &shared};
    for (int i = 0; i < 3; i++)
        MPI_Win_set_errhandler(*windows[i], of_wins);
    open_files();
    MPI_Buffer_attach(attached, sizeof attached);
    memset(long_text, 'x', sizeof long_text - 1);
    MPI_T_init_thread(MPI_THREAD_SINGLE, &(int){0});
    have_tools();
    /* What was freed. */
    MPI_Comm_dup(own, &made.comm);
    freed.comm = made.comm;
    MPI_Comm_free(&made.comm);
    MPI_Comm_group(own, &made.group);
    freed.group = made.group;
    MPI_Group_free(&made.group);
    MPI_Info_create(&made.info);
    freed.info = made.info;
    MPI_Info_free(&made.info);
    MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &made.session);
    freed.session = made.session;
    MPI_Session_finalize(&made.session);
    MPI_Type_contiguous(2, MPI_INT, &made.type);
    freed.type = made.type;
    MPI_Type_free(&made.type);
    MPI_Op_create(add, 1, &made.op);
    freed.op = made.op;
    MPI_Op_free(&made.op);
    MPI_Comm_create_errhandler(hear_comm, &made.handler);
    freed.handler = made.handler;
    MPI_Errhandler_free(&made.handler);
    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, MPI_COMM_NULL_DELETE_FN, &made.keyval, NULL);
    freed.keyval = made.keyval;
    MPI_Comm_free_keyval(&made.keyval);
    MPI_Win_create(exposed, sizeof exposed, 4, MPI_INFO_NULL, own, &made.win);
    freed.win = made.win;
    MPI_Win_free(&made.win);
    deliver();
    MPI_Irecv(room, 1, MPI_INT, 0, 5, own, &request);
    freed.request = request;
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    deliver();
    MPI_Mprobe(0, 5, own, &message, MPI_STATUS_IGNORE);
    freed.message = message;
    MPI_Mrecv(room, 1, MPI_INT, &message, &status);
    CHECK_INT(heard.times, 0);
}
#endif
