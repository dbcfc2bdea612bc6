/* The buffers of buffered sends: of the process, of a communicator, of a session; which of them a message goes through, and what flushes wait for. */
#include "check.h"

enum { LARGE = 300000, ROOM = LARGE + MPI_BSEND_OVERHEAD };

static unsigned char out[LARGE], in[LARGE];

static void handler(MPI_Comm *comm, int *code, ...)
{
    (void)comm;
    (void)code;
}

/* Whether a message of LARGE bytes to oneself goes through some buffer with room, which is then free again. */
static int has_room(MPI_Comm comm)
{
    int self, code;
    MPI_Comm_rank(comm, &self);
    code = MPI_Bsend(out, LARGE, MPI_BYTE, self, 3, comm);
    if (code != MPI_SUCCESS) {
        CHECK_INT(class_of(code), MPI_ERR_BUFFER);
        return 0;
    }
    memset(in, 0, LARGE);
    MPI_Recv(in, LARGE, MPI_BYTE, self, 3, comm, MPI_STATUS_IGNORE);
    CHECK(is_filled(in, LARGE, 9));
    return 1;
}

typedef struct {
    MPI_Comm comm;       /* of a communicator; or */
    MPI_Session session; /* of a session; or of the process */
} owner;

static int attach(owner of, void *buffer, int size)
{
    if (of.comm != MPI_COMM_NULL)
        return MPI_Comm_attach_buffer(of.comm, buffer, size);
    if (of.session != MPI_SESSION_NULL)
        return MPI_Session_attach_buffer(of.session, buffer, size);
    return MPI_Buffer_attach(buffer, size);
}

static int detach(owner of, void *buffer, int *size)
{
    MPI_Count large = -7;
    int code;
    /* The forms with large counts tell the same. */
    if (of.comm != MPI_COMM_NULL)
        code = MPI_Comm_detach_buffer_c(of.comm, buffer, &large);
    else if (of.session != MPI_SESSION_NULL)
        code = MPI_Session_detach_buffer_c(of.session, buffer, &large);
    else
        code = MPI_Buffer_detach_c(buffer, &large);
    *size = (int)large;
    return code;
}

static int flush(owner of)
{
    if (of.comm != MPI_COMM_NULL)
        return MPI_Comm_flush_buffer(of.comm);
    return of.session != MPI_SESSION_NULL ? MPI_Session_flush_buffer(of.session) : MPI_Buffer_flush();
}

static int iflush(owner of, MPI_Request *request)
{
    if (of.comm != MPI_COMM_NULL)
        return MPI_Comm_iflush_buffer(of.comm, request);
    return of.session != MPI_SESSION_NULL ? MPI_Session_iflush_buffer(of.session, request) : MPI_Buffer_iflush(request);
}

/* Everything that a buffer of this owner does, for messages of a communicator that goes through it. */
static void of_owner(owner of, MPI_Comm comm)
{
    static unsigned char memory[2 * ROOM];
    void *detached = NULL;
    int bytes = -1, flag, self;
    MPI_Request requests[2];
    MPI_Comm_rank(comm, &self);
    CHECK(!has_room(comm));
    CHECK_INT(class_of(flush(of)), MPI_ERR_BUFFER);
    CHECK_INT(class_of(iflush(of, &requests[0])), MPI_ERR_BUFFER);
    CHECK_INT(class_of(detach(of, &detached, &bytes)), MPI_ERR_BUFFER);
    CHECK_INT(class_of(attach(of, memory, -1)), MPI_ERR_ARG);
    CHECK_INT(class_of(attach(of, NULL, 5)), MPI_ERR_BUFFER);
    CHECK_INT(attach(of, memory, ROOM), MPI_SUCCESS);
    CHECK_INT(class_of(attach(of, memory, ROOM)), MPI_ERR_BUFFER);
    CHECK_INT(class_of(attach(of, MPI_BUFFER_AUTOMATIC, 0)), MPI_ERR_BUFFER);
    CHECK(has_room(comm));
    CHECK_INT(flush(of), MPI_SUCCESS);
    /* There is room for one; once it has been received, for another. */
    MPI_Bsend(out, LARGE, MPI_BYTE, self, 3, comm);
    CHECK_INT(class_of(MPI_Bsend(out, LARGE, MPI_BYTE, self, 3, comm)), MPI_ERR_BUFFER);
    iflush(of, &requests[0]);
    MPI_Test(&requests[0], &flag, MPI_STATUS_IGNORE);
    CHECK(!flag);
    MPI_Recv(in, LARGE, MPI_BYTE, self, 3, comm, MPI_STATUS_IGNORE);
    MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
    CHECK(has_room(comm));
    CHECK_INT(detach(of, &detached, &bytes), MPI_SUCCESS);
    CHECK(detached == memory);
    CHECK_INT(bytes, ROOM);
    /* A flush does not wait for what is sent after it. */
    attach(of, memory, 2 * ROOM);
    MPI_Bsend(out, LARGE, MPI_BYTE, self, 3, comm);
    iflush(of, &requests[0]);
    MPI_Bsend(out, LARGE, MPI_BYTE, self, 4, comm);
    iflush(of, &requests[1]);
    MPI_Recv(in, LARGE, MPI_BYTE, self, 3, comm, MPI_STATUS_IGNORE);
    MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
    MPI_Test(&requests[1], &flag, MPI_STATUS_IGNORE);
    CHECK(!flag);
    MPI_Recv(in, LARGE, MPI_BYTE, self, 4, comm, MPI_STATUS_IGNORE);
    MPI_Wait(&requests[1], MPI_STATUS_IGNORE);
    detach(of, &detached, &bytes);
    CHECK_INT(bytes, 2 * ROOM);
    /* Automatic buffering has no limit. */
    CHECK_INT(attach(of, MPI_BUFFER_AUTOMATIC, -1), MPI_SUCCESS);
    for (int i = 0; i < 10; i++)
        MPI_Bsend(out, LARGE, MPI_BYTE, self, 5, comm);
    for (int i = 0; i < 10; i++) {
        memset(in, 0, LARGE);
        MPI_Recv(in, LARGE, MPI_BYTE, self, 5, comm, MPI_STATUS_IGNORE);
        CHECK(is_filled(in, LARGE, 9));
    }
    CHECK_INT(flush(of), MPI_SUCCESS);
    CHECK_INT(detach(of, &detached, &bytes), MPI_SUCCESS);
    CHECK(detached == MPI_BUFFER_AUTOMATIC);
    CHECK(!has_room(comm));
}

int main(int argc, char **argv)
{
    static unsigned char small[100], own[ROOM];
    MPI_Session session, null = MPI_SESSION_NULL;
    MPI_Errhandler returns;
    MPI_Group group, part;
    MPI_Comm world, of_session, derived;
    void *detached;
    int bytes;
    start(&argc, &argv);
    fill(out, LARGE, 9);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    MPI_Comm_dup(MPI_COMM_WORLD, &world);
    MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session);
    MPI_Group_from_session_pset(session, "mpi://WORLD", &group);
    MPI_Group_incl(group, 1, &rank, &part);
    MPI_Comm_create_errhandler(handler, &returns);
    MPI_Comm_create_from_group(group, "buffers", MPI_INFO_NULL, returns, &of_session);
    MPI_Comm_split(of_session, rank, 0, &derived);
    MPI_Group_free(&group);

    of_owner((owner){MPI_COMM_NULL, MPI_SESSION_NULL}, world);
    of_owner((owner){world, MPI_SESSION_NULL}, world);
    of_owner((owner){MPI_COMM_NULL, session}, of_session);
    of_owner((owner){of_session, MPI_SESSION_NULL}, of_session);

    /* One buffer serves a message: its communicator's before its session's before the process's, even where it is too small. */
    MPI_Buffer_attach(own, ROOM);
    CHECK(has_room(world) && has_room(of_session) && has_room(MPI_COMM_SELF));
    MPI_Session_attach_buffer(session, small, sizeof small);
    CHECK(has_room(world) && !has_room(of_session) && !has_room(derived) && has_room(MPI_COMM_SELF));
    MPI_Comm_attach_buffer_c(of_session, MPI_BUFFER_AUTOMATIC, 0);
    CHECK(has_room(of_session) && !has_room(derived));
    MPI_Comm_attach_buffer(world, small + 50, 50);
    CHECK(!has_room(world) && has_room(MPI_COMM_WORLD));
    /* A group that was made of a session's is of that session, too; and a communicator's group of the communicator's. */
    MPI_Comm of_part, again;
    MPI_Comm_create_from_group(part, "part", MPI_INFO_NULL, returns, &of_part);
    CHECK(!has_room(of_part));
    MPI_Comm_group(derived, &group);
    MPI_Comm_create_from_group(group, "again", MPI_INFO_NULL, returns, &again);
    CHECK(!has_room(again));
    MPI_Group_free(&group);
    MPI_Group_free(&part);
    MPI_Comm_free(&of_part);
    MPI_Comm_free(&again);
    MPI_Comm_detach_buffer(of_session, &detached, &bytes);
    CHECK(detached == MPI_BUFFER_AUTOMATIC);
    MPI_Session_detach_buffer(session, &detached, &bytes);
    CHECK(detached == small);
    CHECK_INT(bytes, sizeof small);
    CHECK(has_room(of_session) && has_room(derived));

    /* A freed communicator's buffer is detached, when its messages are gone. */
    MPI_Comm gone;
    MPI_Request request;
    MPI_Comm_dup(MPI_COMM_WORLD, &gone);
    static unsigned char kept[ROOM];
    MPI_Comm_attach_buffer(gone, kept, ROOM);
    MPI_Irecv(in, LARGE, MPI_BYTE, (rank + size - 1) % size, 6, gone, &request);
    MPI_Bsend(out, LARGE, MPI_BYTE, (rank + 1) % size, 6, gone);
    MPI_Comm_free(&gone);
    memset(kept, 0, ROOM);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    CHECK(is_filled(in, LARGE, 9));

    CHECK_INT(class_of(MPI_Comm_attach_buffer(MPI_COMM_NULL, own, 5)), MPI_ERR_COMM);
    CHECK_INT(class_of(MPI_Comm_flush_buffer(MPI_COMM_NULL)), MPI_ERR_COMM);
    CHECK_INT(class_of(MPI_Session_attach_buffer_c(null, own, 5)), MPI_ERR_SESSION);
    CHECK_INT(class_of(MPI_Session_iflush_buffer(null, &request)), MPI_ERR_SESSION);

    MPI_Buffer_detach(&detached, &bytes);
    CHECK(detached == own);
    MPI_Errhandler_free(&returns);
    MPI_Comm_free(&derived);
    MPI_Comm_free(&of_session);
    MPI_Comm_free(&world); /* with its buffer */
    MPI_Session_attach_buffer(session, small, sizeof small);
    MPI_Session_finalize(&session); /* with its buffer */
    MPI_Finalize();
    return 0;
}
