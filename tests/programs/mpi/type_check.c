/* Types of messages are compared where the user asks for it (argument 1: off, kinds or strict): every kind of send to every kind of receive. What arrives
 * arrives in any case; a receive of another type says which types, who sent the message, with which tag, and in which communicator. */
#include "check.h"

enum { MOST = 40000 };
static int sent[2 * MOST], got[2 * MOST];
static const char *compared;
static MPI_Comm comm;
static MPI_Datatype pair, reversed, spread;

/* Whether a comparison at this level is made. */
static int compares(const char *level)
{
    return strcmp(compared, "strict") == 0 || strcmp(compared, level) == 0;
}

/* That a call ended well, or told what it has to. */
static void told(int code, const char *call, int differ, const char *of, const char *as, int tag)
{
    char text[MPI_MAX_ERROR_STRING], want[300];
    int length;
    if (!differ) {
        CHECK_INT(code, MPI_SUCCESS);
        return;
    }
    CHECK_INT(class_of(code), MPI_ERR_TYPE);
    MPI_Error_string(code, text, &length);
    snprintf(want, sizeof want, "MPI_ERR_TYPE: %s: types do not match: the message from rank 1 with tag %d in pairs is of %s, but the receive is of %s;", call,
             tag, of, as);
    if (strncmp(text, want, strlen(want)) != 0) {
        fprintf(stderr, "\"%s\"\nis not\n\"%s\"\n", text, want);
        MPI_Abort(MPI_COMM_WORLD, 98);
    }
}

enum { SEND, SSEND, BSEND, ISEND, PERSISTENT_SEND, SENDRECV_SEND, SEND_WAYS };
enum { RECV, IRECV, PERSISTENT_RECV, MRECV, IMRECV, PROBED, SENDRECV, WAITALL, TESTED, ISENDRECV, RECV_WAYS };

static void send_by(int way, int count, MPI_Datatype type, int tag)
{
    MPI_Request request;
    switch (way) {
    case SEND: MPI_Send(sent, count, type, 0, tag, comm); break;
    case SSEND: MPI_Ssend(sent, count, type, 0, tag, comm); break;
    case BSEND: MPI_Bsend(sent, count, type, 0, tag, comm); break;
    case ISEND:
        MPI_Isend(sent, count, type, 0, tag, comm, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        break;
    case PERSISTENT_SEND:
        MPI_Send_init(sent, count, type, 0, tag, comm, &request);
        MPI_Start(&request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        MPI_Request_free(&request);
        break;
    case SENDRECV_SEND:
        MPI_Sendrecv(sent, count, type, 0, tag, NULL, 0, MPI_INT, MPI_PROC_NULL, 0, comm, MPI_STATUS_IGNORE);
        break;
    }
}

static void receive_by(int way, int count, MPI_Datatype type, int differ, const char *of, const char *as, int tag)
{
    MPI_Request requests[2];
    MPI_Status status, statuses[2];
    MPI_Message message;
    int flag = 0, code = MPI_SUCCESS;
    switch (way) {
    case RECV: told(MPI_Recv(got, count, type, 1, tag, comm, &status), "MPI_Recv", differ, of, as, tag); break;
    case IRECV:
        MPI_Irecv(got, count, type, MPI_ANY_SOURCE, tag, comm, requests);
        told(MPI_Wait(requests, &status), "MPI_Wait", differ, of, as, tag);
        break;
    case PERSISTENT_RECV:
        MPI_Recv_init(got, count, type, 1, tag, comm, requests);
        MPI_Start(requests);
        told(MPI_Wait(requests, &status), "MPI_Wait", differ, of, as, tag);
        MPI_Request_free(requests);
        break;
    case MRECV:
        MPI_Mprobe(1, tag, comm, &message, &status);
        told(MPI_Mrecv(got, count, type, &message, &status), "MPI_Mrecv", differ, of, as, tag);
        break;
    case IMRECV:
        MPI_Mprobe(1, tag, comm, &message, &status);
        MPI_Imrecv(got, count, type, &message, requests);
        told(MPI_Wait(requests, &status), "MPI_Wait", differ, of, as, tag);
        break;
    case PROBED:
        MPI_Probe(1, tag, comm, &status);
        told(MPI_Recv(got, count, type, status.MPI_SOURCE, status.MPI_TAG, comm, &status), "MPI_Recv", differ, of, as, tag);
        break;
    case SENDRECV:
        told(MPI_Sendrecv(NULL, 0, MPI_INT, MPI_PROC_NULL, 0, got, count, type, 1, tag, comm, &status), "MPI_Sendrecv", differ, of, as, tag);
        break;
    case WAITALL:
        requests[0] = MPI_REQUEST_NULL;
        MPI_Irecv(got, count, type, 1, tag, comm, &requests[1]);
        code = MPI_Waitall(2, requests, statuses);
        CHECK_INT(class_of(code), differ ? MPI_ERR_IN_STATUS : MPI_SUCCESS);
        told(differ ? statuses[1].MPI_ERROR : code, "MPI_Waitall", differ, of, as, tag);
        status = statuses[1];
        break;
    case TESTED:
        MPI_Irecv(got, count, type, 1, tag, comm, requests);
        while (!flag)
            code = MPI_Test(requests, &flag, &status);
        told(code, "MPI_Test", differ, of, as, tag);
        break;
    case ISENDRECV:
        MPI_Isendrecv(NULL, 0, MPI_INT, MPI_PROC_NULL, 0, got, count, type, 1, tag, comm, requests);
        told(MPI_Wait(requests, &status), "MPI_Wait", differ, of, as, tag);
        break;
    }
    /* After an error too: the message has come. */
    if (way != ISENDRECV || !differ)
        CHECK_INT(status.MPI_TAG, tag);
}

/* Rank 1 sends so many elements, rank 0 has room for `room` of another type; the names are as messages have them. */
static void goes(MPI_Datatype type, int count, MPI_Datatype other, int room, int differ, const char *of, const char *as)
{
    static int tag;
    for (int way = 0; way < RECV_WAYS; way++, tag++)
        if (rank == 1)
            send_by(tag % SEND_WAYS, count, type, tag);
        else if (rank == 0)
            receive_by(way, room, other, differ, of, as, tag);
}

int main(int argc, char **argv)
{
    static char buffer[8 * MOST + MPI_BSEND_OVERHEAD];
    int lengths[2] = {1, 1};
    MPI_Aint places[2] = {0, 8};
    MPI_Datatype forward[2] = {MPI_INT, MPI_DOUBLE}, backward[2] = {MPI_DOUBLE, MPI_INT};
    start(&argc, &argv);
    compared = argv[1];
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_set_name(comm, "pairs");
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    MPI_Buffer_attach(buffer, sizeof buffer);
    MPI_Type_create_struct(2, lengths, places, forward, &pair);
    MPI_Type_create_struct(2, lengths, places, backward, &reversed);
    MPI_Type_vector(100, 1, 2, MPI_INT, &spread);
    MPI_Type_commit(&pair);
    MPI_Type_commit(&reversed);
    MPI_Type_commit(&spread);
    /* In the descriptor, in a slab, in a run of slabs, from memory to memory. */
    for (int i = 0; i < 4; i++) {
        int count = (int[]){1, 100, 4000, MOST}[i];
        goes(MPI_INT, count, MPI_INT, count, 0, "", "");
        goes(MPI_INT, count, MPI_FLOAT, count, compares("kinds"), "MPI_INT", "MPI_FLOAT");
        goes(MPI_INT, count, MPI_UNSIGNED, count + 1, compares("strict"), "MPI_INT", "MPI_UNSIGNED");
        goes(MPI_BYTE, 4 * count, MPI_INT, count, compares("strict"), "MPI_BYTE", "MPI_INT");
        goes(MPI_INT, count, MPI_PACKED, 4 * count, 0, "", "");
    }
    /* However the elements lie, they are the same; and a receive may want more than comes. */
    goes(spread, 1, MPI_INT, 100, 0, "", "");
    goes(MPI_INT, 50, spread, 1, 0, "", "");
    goes(MPI_FLOAT, 50, spread, 1, compares("kinds"), "MPI_FLOAT", "MPI_INT");
    goes(spread, 3, MPI_FLOAT, 300, compares("kinds"), "MPI_INT", "MPI_FLOAT");
    /* Several types: compared where the lengths are the same. */
    goes(pair, 5, pair, 5, 0, "", "");
    goes(pair, 5, pair, 9, 0, "", "");
    goes(pair, 5, reversed, 5, compares("kinds"), "several types", "several types");
    goes(pair, 1, MPI_INT, 3, compares("kinds"), "several types", "MPI_INT");
    /* Nothing is of any type. */
    goes(MPI_INT, 0, MPI_FLOAT, 0, 0, "", "");
    MPI_Type_free(&pair);
    MPI_Type_free(&reversed);
    MPI_Type_free(&spread);
    MPI_Buffer_detach(&places[0], lengths);
    MPI_Comm_free(&comm);
    return MPI_Finalize();
}
