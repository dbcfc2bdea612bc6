/* Receives that are freed while they are active (MPI_Request_free): their messages are in the program's memory as soon as
   a call has told that they must have come: `freed_receives [MOST_BYTES [no-probes]]`. The standard promises the order in
   which messages are matched. That they also come in this order holds on one node, and between nodes up to 8 KB; and a
   probe tells of a message before the end of the slice in which it came, if slices are fixed. */
#include "check.h"

enum { MOST = 1 << 20, MANY = 20, TAG = 1, LATER = 2, READY = 3 };
static unsigned char in[MANY][MOST], out[MOST];
static MPI_Message matched = MPI_MESSAGE_NULL;

/* Calls of rank 1 that tell that a message has come, and what rank 0 does about them. */
#define LATER_MESSAGE MPI_Send(out, 8, MPI_BYTE, 1, LATER, MPI_COMM_WORLD)
#define WAYS(way)                                                                                           \
    way(receive, LATER_MESSAGE,                                                                             \
        MPI_Recv(later, 8, MPI_BYTE, 0, LATER, MPI_COMM_WORLD, MPI_STATUS_IGNORE))                          \
    way(receive_from_any, LATER_MESSAGE,                                                                    \
        MPI_Recv(later, 8, MPI_BYTE, MPI_ANY_SOURCE, LATER, MPI_COMM_WORLD, MPI_STATUS_IGNORE))             \
    way(wait, LATER_MESSAGE, MPI_Irecv(later, 8, MPI_BYTE, 0, LATER, MPI_COMM_WORLD, &request);             \
        MPI_Wait(&request, MPI_STATUS_IGNORE))                                                              \
    way(waitall, LATER_MESSAGE, MPI_Irecv(later, 8, MPI_BYTE, 0, LATER, MPI_COMM_WORLD, &request);          \
        MPI_Waitall(1, &request, MPI_STATUSES_IGNORE))                                                      \
    way(waitany, LATER_MESSAGE, MPI_Irecv(later, 8, MPI_BYTE, 0, LATER, MPI_COMM_WORLD, &request);          \
        MPI_Waitany(1, &request, &flag, MPI_STATUS_IGNORE))                                                 \
    way(test, LATER_MESSAGE, MPI_Irecv(later, 8, MPI_BYTE, 0, LATER, MPI_COMM_WORLD, &request);             \
        do MPI_Test(&request, &flag, MPI_STATUS_IGNORE); while (!flag))                                     \
    way(sendrecv, MPI_Sendrecv(out, 8, MPI_BYTE, 1, LATER, later, 8, MPI_BYTE, 1, LATER, MPI_COMM_WORLD,    \
                               MPI_STATUS_IGNORE),                                                          \
        MPI_Sendrecv(out, 8, MPI_BYTE, 0, LATER, later, 8, MPI_BYTE, 0, LATER, MPI_COMM_WORLD,              \
                     MPI_STATUS_IGNORE))                                                                    \
    way(probe, LATER_MESSAGE, MPI_Probe(0, LATER, MPI_COMM_WORLD, MPI_STATUS_IGNORE))                       \
    way(iprobe, LATER_MESSAGE,                                                                              \
        do MPI_Iprobe(0, LATER, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE); while (!flag))                   \
    way(improbe, LATER_MESSAGE,                                                                             \
        do MPI_Improbe(0, LATER, MPI_COMM_WORLD, &flag, &message, MPI_STATUS_IGNORE); while (!flag))        \
    way(barrier, (void)0, MPI_Barrier(MPI_COMM_WORLD))                                                      \
    way(allreduce, (void)0, MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD))                 \
    way(bcast, (void)0, MPI_Bcast(&one, 1, MPI_INT, 0, MPI_COMM_WORLD))                                     \
    way(ibarrier, (void)0, MPI_Ibarrier(MPI_COMM_WORLD, &request); MPI_Wait(&request, MPI_STATUS_IGNORE))

#define NAME(name, tell, learn) name,
enum { WAYS(NAME) WAYS_OF_LEARNING };

/* What rank 0 does after its message: all ranks take part in collectives. */
static void tell_of(int way)
{
    unsigned char later[8];
    int one = 1, sum;
    MPI_Request request;
    switch (way) {
#define TELL(name, tell, learn) case name: tell; break;
        WAYS(TELL)
    }
    if (way == barrier)
        MPI_Barrier(MPI_COMM_WORLD);
    if (way == allreduce)
        MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (way == bcast)
        MPI_Bcast(&one, 1, MPI_INT, 0, MPI_COMM_WORLD);
    if (way == ibarrier) {
        MPI_Ibarrier(MPI_COMM_WORLD, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    (void)later;
}

static void learn_by(int way)
{
    unsigned char later[8];
    int one = 1, sum, flag;
    MPI_Request request;
    MPI_Message message = MPI_MESSAGE_NULL;
    switch (way) {
#define LEARN(name, tell, learn) case name: learn; break;
        WAYS(LEARN)
    }
    matched = message;
}

static const char *const names[] = {
#define STRING(name, tell, learn) #name,
    WAYS(STRING)
};

/* How the receive is begun that is freed. */
enum { PLAIN, FROM_ANY, PERSISTENT, SPARSE, KINDS };

static void begin_and_free(int kind, unsigned char *to, int bytes)
{
    MPI_Request request;
    MPI_Datatype sparse;
    switch (kind) {
    case PLAIN:
        MPI_Irecv(to, bytes, MPI_BYTE, 0, TAG, MPI_COMM_WORLD, &request);
        break;
    case FROM_ANY:
        MPI_Irecv(to, bytes, MPI_BYTE, MPI_ANY_SOURCE, TAG, MPI_COMM_WORLD, &request);
        break;
    case PERSISTENT:
        MPI_Recv_init(to, bytes, MPI_BYTE, 0, TAG, MPI_COMM_WORLD, &request);
        MPI_Start(&request);
        break;
    default: /* every other byte */
        MPI_Type_vector(bytes / 2, 1, 2, MPI_BYTE, &sparse);
        MPI_Type_commit(&sparse);
        MPI_Irecv(to, 1, sparse, 0, TAG, MPI_COMM_WORLD, &request);
        MPI_Type_free(&sparse);
    }
    MPI_Request_free(&request);
    CHECK(request == MPI_REQUEST_NULL);
}

/* Whether the message is there. */
static int has_come(int kind, const unsigned char *at, int bytes, int salt)
{
    if (kind != SPARSE)
        return is_filled(at, bytes, salt);
    for (int i = 0; i < bytes / 2; i++)
        if (at[2 * i] != byte_of(i, salt))
            return 0;
    return 1;
}

/* `messages` of them. Rank 0 sends when rank 1 has freed them, or before that, as it comes. After a synchronous send a
   collective tells, too. */
static void once(int kind, int way, int bytes, int messages, int is_ordered)
{
    int sent = kind == SPARSE ? bytes / 2 : bytes;
    long nothing = 0;
    if (rank == 0) {
        if (is_ordered)
            MPI_Recv(&nothing, 1, MPI_LONG, 1, READY, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        for (int i = 0; i < messages; i++) {
            fill(out, sent, way + i);
            if (way >= barrier)
                MPI_Ssend(out, sent, MPI_BYTE, 1, TAG, MPI_COMM_WORLD);
            else
                MPI_Send(out, sent, MPI_BYTE, 1, TAG, MPI_COMM_WORLD);
        }
        tell_of(way);
    } else if (rank == 1) {
        for (int i = 0; i < messages; i++) {
            memset(in[i], 0xee, bytes);
            begin_and_free(kind, in[i], bytes);
        }
        if (is_ordered)
            MPI_Send(&nothing, 1, MPI_LONG, 0, READY, MPI_COMM_WORLD);
        learn_by(way);
        for (int i = 0; i < messages; i++)
            if (!has_come(kind, in[i], bytes, way + i)) {
                fprintf(stderr, "message %d of %d bytes, kind %d, learnt by %s\n", i, bytes, kind, names[way]);
                MPI_Abort(MPI_COMM_WORLD, 99);
            }
        if (way == probe || way == iprobe)
            learn_by(receive);
        if (matched != MPI_MESSAGE_NULL)
            MPI_Mrecv(&nothing, 8, MPI_BYTE, &matched, MPI_STATUS_IGNORE);
    } else if (way >= barrier)
        tell_of(way);
}

int main(int argc, char **argv)
{
    static const int sizes[] = {8, 1 << 10, 8 << 10, 64 << 10, 1 << 20};
    start(&argc, &argv);
    int most = argc > 1 ? atoi(argv[1]) : MOST, has_probes = argc <= 2;
    CHECK(size >= 2);
    for (int way = 0; way < WAYS_OF_LEARNING; way++)
        for (int kind = 0; kind < KINDS; kind++)
            for (int i = 0; i < 5 && sizes[i] <= most; i++) {
                if (!has_probes && (way == probe || way == iprobe || way == improbe))
                    continue;
                once(kind, way, sizes[i], 1, 1);
                once(kind, way, sizes[i], 1, 0);
                once(kind, way, sizes[i], sizes[i] <= 64 << 10 ? MANY : 2, 0);
            }
    return MPI_Finalize();
}
