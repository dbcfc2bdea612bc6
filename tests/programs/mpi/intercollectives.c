/* Collectives of intercommunicators in all forms: what one group gives, the other one gets, and nobody else. */
#include "check.h"

enum { BLOCKING, IMMEDIATE, PERSISTENT, FORMS, MOST = 20000, RANKS = 16 };

static int low, in_low, mine, others, own;
static MPI_Comm local, inter;
static int form;

/* A call in its three forms; the persistent one is started twice. */
#define DO(name, immediate, ...)                                                                            \
    do {                                                                                                    \
        MPI_Request request_;                                                                               \
        if (form == BLOCKING) {                                                                             \
            CHECK_INT(name(__VA_ARGS__), MPI_SUCCESS);                                                      \
        } else if (form == IMMEDIATE) {                                                                     \
            immediate(__VA_ARGS__, &request_);                                                              \
            MPI_Wait(&request_, MPI_STATUS_IGNORE);                                                         \
        } else {                                                                                            \
            name##_init(__VA_ARGS__, MPI_INFO_NULL, &request_);                                             \
            for (int turn_ = 0; turn_ < 2; turn_++) {                                                       \
                MPI_Start(&request_);                                                                       \
                MPI_Wait(&request_, MPI_STATUS_IGNORE);                                                     \
            }                                                                                               \
            MPI_Request_free(&request_);                                                                    \
        }                                                                                                   \
    } while (0)

static int in_job(int remote)
{
    return in_low ? low + remote : low - 1 - remote;
}

/* What rank `from` of the job gives to rank `to` of the job, at a place. */
static int value(int from, int to, int at)
{
    return from * 1000003 + to * 4099 + at;
}

static int sends[RANKS * MOST], receives[RANKS * MOST];

static void give(int *to, int whom, int count)
{
    for (int i = 0; i < count; i++)
        to[i] = value(rank, whom, i);
}

static int has(const int *in, int from, int whom, int count)
{
    for (int i = 0; i < count; i++)
        if (in[i] != value(from, whom, i))
            return 0;
    return 1;
}

static int has_nothing(const int *in, int count)
{
    for (int i = 0; i < count; i++)
        if (in[i] != -1)
            return 0;
    return 1;
}

static void nothing(int count)
{
    for (int i = 0; i < count; i++)
        receives[i] = -1;
}

/* The root argument of this rank when rank `root` of one of the groups is the root. */
static int argument(int root_in_low, int root)
{
    if (in_low != root_in_low)
        return root;
    return own == root ? MPI_ROOT : MPI_PROC_NULL;
}

static void rooted(int root_in_low, int root, int count)
{
    int at = argument(root_in_low, root), gives = at == MPI_ROOT, takes = at >= 0;
    int root_in_job = takes ? in_job(root) : rank;
    MPI_Datatype vector;
    nothing(RANKS * count);
    if (gives)
        give(receives, 0, count);
    DO(MPI_Bcast, MPI_Ibcast, receives, count, MPI_INT, at, inter);
    CHECK(takes ? has(receives, root_in_job, 0, count) : gives ? has(receives, rank, 0, count) : has_nothing(receives, count));
    /* Every second int. */
    MPI_Type_vector(count, 1, 2, MPI_INT, &vector);
    MPI_Type_commit(&vector);
    nothing(2 * count);
    for (int i = 0; gives && i < count; i++)
        receives[2 * i] = i;
    DO(MPI_Bcast, MPI_Ibcast, receives, 1, vector, at, inter);
    for (int i = 0; i < count; i++) {
        CHECK_INT(receives[2 * i], gives || takes ? i : -1);
        CHECK(i == count - 1 || receives[2 * i + 1] == -1);
    }
    MPI_Type_free(&vector);

    nothing(RANKS * count);
    give(sends, root_in_job, count);
    MPI_Datatype send_type = takes ? MPI_INT : MPI_DATATYPE_NULL, receive_type = gives ? MPI_INT : MPI_DATATYPE_NULL;
    DO(MPI_Gather, MPI_Igather, sends, takes ? count : -1, send_type, receives, gives ? count : -1, receive_type, at, inter);
    for (int i = 0; i < others; i++)
        CHECK(gives ? has(receives + i * count, in_job(i), rank, count) : has_nothing(receives + i * count, count));

    nothing(RANKS * count);
    for (int i = 0; i < others; i++)
        give(sends + i * count, in_job(i), count);
    send_type = gives ? MPI_INT : MPI_DATATYPE_NULL, receive_type = takes ? MPI_INT : MPI_DATATYPE_NULL;
    DO(MPI_Scatter, MPI_Iscatter, sends, gives ? count : -1, send_type, receives, takes ? count : -1, receive_type, at, inter);
    CHECK(takes ? has(receives, root_in_job, rank, count) : has_nothing(receives, count));

    /* Rank i of a group has i + 1 elements more than 3, and the root leaves a gap behind each. */
    int counts[RANKS], places[RANKS];
    for (int i = 0; i < others; i++)
        counts[i] = i % 4, places[i] = 5 * (others - 1 - i);
    nothing(5 * RANKS);
    give(sends, root_in_job, 4);
    DO(MPI_Gatherv, MPI_Igatherv, sends, own % 4, MPI_INT, receives, gives ? counts : NULL, gives ? places : NULL, MPI_INT, at, inter);
    for (int i = 0; i < others; i++) {
        CHECK(!gives || has(receives + places[i], in_job(i), rank, counts[i]));
        CHECK(has_nothing(receives + places[i] + (gives ? counts[i] : 0), 5 - (gives ? counts[i] : 0)));
    }
    nothing(5 * RANKS);
    for (int i = 0; i < others; i++)
        give(sends + places[i], in_job(i), counts[i]);
    DO(MPI_Scatterv, MPI_Iscatterv, sends, counts, places, MPI_INT, receives, own % 4, MPI_INT, at, inter);
    CHECK(takes ? has(receives, root_in_job, rank, own % 4) : has_nothing(receives, 5));

    nothing(count);
    for (int i = 0; i < count; i++)
        sends[i] = rank + i;
    int idle = !gives && !takes; /* its arguments do not matter */
    DO(MPI_Reduce, MPI_Ireduce, sends, receives, count, idle ? MPI_DATATYPE_NULL : MPI_INT, MPI_SUM, at, inter);
    for (int i = 0; i < count; i++) {
        int sum = 0;
        for (int r = 0; r < others; r++)
            sum += in_job(r) + i;
        CHECK_INT(receives[i], gives ? sum : -1);
    }
}

/* Not commutative: keeps the last of both groups' order in the first place, and the first in the second. */
static void ends_of(void *in, void *inout, int *count, MPI_Datatype *type)
{
    (void)type;
    for (int i = 0; i < *count; i++)
        ((int *)inout)[2 * i + 1] = ((int *)in)[2 * i + 1];
}

static void everyone(int count)
{
    /* A group sends as many elements as it has members more: the two directions differ. */
    int out = count + mine, in = count + others, counts[RANKS], places[RANKS], shares[RANKS], sum;
    MPI_Datatype types[RANKS], pair;
    MPI_Op op;
    if (out > MOST || in > MOST)
        out = in = count;
    nothing(RANKS * in);
    give(sends, 0, out);
    DO(MPI_Allgather, MPI_Iallgather, sends, out, MPI_INT, receives, in, MPI_INT, inter);
    for (int i = 0; i < others; i++)
        CHECK(has(receives + i * in, in_job(i), 0, in));

    for (int i = 0; i < others; i++)
        counts[i] = i % 3, places[i] = 4 * i + 1, types[i] = MPI_INT;
    nothing(4 * RANKS);
    DO(MPI_Allgatherv, MPI_Iallgatherv, sends, own % 3, MPI_INT, receives, counts, places, MPI_INT, inter);
    for (int i = 0; i < others; i++) {
        CHECK(has(receives + places[i], in_job(i), 0, counts[i]));
        CHECK(has_nothing(receives + places[i] + counts[i], 3 - counts[i]));
    }

    nothing(RANKS * in);
    for (int i = 0; i < others; i++)
        give(sends + i * out, in_job(i), out);
    DO(MPI_Alltoall, MPI_Ialltoall, sends, out, MPI_INT, receives, in, MPI_INT, inter);
    for (int i = 0; i < others; i++)
        CHECK(has(receives + i * in, in_job(i), rank, in));

    /* From rank i to rank j (i + j) % 3 elements. */
    for (int i = 0; i < others; i++) {
        counts[i] = (i + own) % 3, places[i] = 4 * i;
        give(sends + 4 * i, in_job(i), counts[i]);
    }
    nothing(4 * RANKS);
    DO(MPI_Alltoallv, MPI_Ialltoallv, sends, counts, places, MPI_INT, receives, counts, places, MPI_INT, inter);
    for (int i = 0; i < others; i++)
        CHECK(has(receives + 4 * i, in_job(i), rank, counts[i]) && has_nothing(receives + 4 * i + counts[i], 4 - counts[i]));
    for (int i = 0; i < others; i++)
        places[i] *= (int)sizeof(int);
    nothing(4 * RANKS);
    DO(MPI_Alltoallw, MPI_Ialltoallw, sends, counts, places, types, receives, counts, places, types, inter);
    for (int i = 0; i < others; i++)
        CHECK(has(receives + 4 * i, in_job(i), rank, counts[i]) && has_nothing(receives + 4 * i + counts[i], 4 - counts[i]));

    nothing(count);
    for (int i = 0; i < count; i++)
        sends[i] = rank + i;
    DO(MPI_Allreduce, MPI_Iallreduce, sends, receives, count, MPI_INT, MPI_SUM, inter);
    for (int i = 0; i < count; i++) {
        sum = 0;
        for (int r = 0; r < others; r++)
            sum += in_job(r) + i;
        CHECK_INT(receives[i], sum);
    }
    /* The order of the ranks of a group. */
    MPI_Type_contiguous(2, MPI_INT, &pair);
    MPI_Type_commit(&pair);
    MPI_Op_create(ends_of, 0, &op);
    int ends[2] = {rank, rank}, got[2] = {-1, -1};
    DO(MPI_Allreduce, MPI_Iallreduce, ends, got, 1, pair, op, inter);
    CHECK(got[0] == in_job(others - 1) && got[1] == in_job(0));
    int at = argument(1, low - 1);
    got[0] = got[1] = -1;
    DO(MPI_Reduce, MPI_Ireduce, ends, got, 1, pair, op, at, inter);
    CHECK(at == MPI_ROOT ? got[0] == in_job(others - 1) && got[1] == in_job(0) : got[0] == -1 && got[1] == -1);
    MPI_Op_free(&op);
    MPI_Type_free(&pair);

    /* As many elements in both groups, shared out among the members of each. */
    int total = mine * others * 2, first = 0;
    for (int i = 0; i < mine; i++)
        shares[i] = i == 0 ? total - (mine - 1) : 1;
    for (int i = 0; i < own; i++)
        first += shares[i];
    for (int i = 0; i < total; i++)
        sends[i] = rank * 7 + i;
    nothing(total);
    DO(MPI_Reduce_scatter, MPI_Ireduce_scatter, sends, receives, shares, MPI_INT, MPI_SUM, inter);
    for (int i = 0; i < shares[own]; i++) {
        sum = 0;
        for (int r = 0; r < others; r++)
            sum += in_job(r) * 7 + first + i;
        CHECK_INT(receives[i], sum);
    }
    CHECK(has_nothing(receives + shares[own], total - shares[own]));
    nothing(total);
    DO(MPI_Reduce_scatter_block, MPI_Ireduce_scatter_block, sends, receives, 2 * others, MPI_INT, MPI_SUM, inter);
    for (int i = 0; i < 2 * others; i++) {
        sum = 0;
        for (int r = 0; r < others; r++)
            sum += in_job(r) * 7 + own * 2 * others + i;
        CHECK_INT(receives[i], sum);
    }
}

/* Nobody leaves a barrier before all of the other group have come to it. */
static void barriers(void)
{
    MPI_Request request;
    int flag, late = 1;
    DO(MPI_Barrier, MPI_Ibarrier, inter);
    if (rank == size - 1) {
        /* In the meantime, the others cannot be through: they tell when they are. */
        for (int i = 0; i < others; i++) {
            MPI_Iprobe(i, 1, inter, &flag, MPI_STATUS_IGNORE);
            CHECK(!flag);
        }
        MPI_Send(&late, 1, MPI_INT, 0, 2, inter);
    }
    if (in_low && own == 0) {
        MPI_Recv(&late, 1, MPI_INT, others - 1, 2, inter, MPI_STATUS_IGNORE);
        MPI_Ibarrier(inter, &request);
        for (int i = 0; i < 100; i++) {
            MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
            CHECK(!flag); /* the last rank waits for this one's word */
        }
        for (int i = 0; i < others; i++)
            MPI_Send(&late, 1, MPI_INT, i, 3, inter);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    } else {
        if (!in_low)
            MPI_Recv(&late, 1, MPI_INT, 0, 3, inter, MPI_STATUS_IGNORE);
        MPI_Ibarrier(inter, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    if (in_low)
        MPI_Send(&late, 1, MPI_INT, others - 1, 1, inter);
    if (rank == size - 1)
        for (int i = 0; i < others; i++)
            MPI_Recv(&late, 1, MPI_INT, i, 1, inter, MPI_STATUS_IGNORE);
}

/* Several operations under way at once, completed from the last one to the first, beside messages of the program. */
static void together(void)
{
    MPI_Request requests[6];
    int sum = 0, from[RANKS], got = -1, at = argument(0, 0), seven = 7, root_value = rank, brought = -1;
    MPI_Iallreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, inter, &requests[0]);
    MPI_Iallgather(&rank, 1, MPI_INT, from, 1, MPI_INT, inter, &requests[1]);
    MPI_Ibcast(at == MPI_ROOT ? &root_value : &brought, 1, MPI_INT, at, inter, &requests[2]);
    MPI_Ibarrier(inter, &requests[3]);
    int opposite = own < others ? own : MPI_PROC_NULL;
    MPI_Irecv(&got, 1, MPI_INT, opposite, MPI_ANY_TAG, inter, &requests[4]);
    MPI_Isend(&seven, 1, MPI_INT, opposite, 0, inter, &requests[5]);
    for (int i = 5; i >= 0; i--)
        MPI_Wait(&requests[i], MPI_STATUS_IGNORE);
    int expected = 0;
    for (int i = 0; i < others; i++) {
        expected += in_job(i);
        CHECK_INT(from[i], in_job(i));
    }
    CHECK_INT(sum, expected);
    CHECK_INT(brought, at >= 0 ? in_job(0) : -1);
    CHECK_INT(got, opposite == MPI_PROC_NULL ? -1 : 7);
}

int main(int argc, char **argv)
{
    static const int counts[] = {1, 5, MOST};
    start(&argc, &argv);
    for (low = 1; low < size; low += 2) {
        in_low = rank < low;
        mine = in_low ? low : size - low;
        others = size - mine;
        MPI_Comm_split(MPI_COMM_WORLD, in_low, in_low ? -rank : rank, &local);
        MPI_Comm_rank(local, &own);
        MPI_Intercomm_create(local, 0, MPI_COMM_WORLD, in_low ? low : low - 1, 1, &inter);
        for (form = BLOCKING; form < FORMS; form++) {
            for (int i = 0; i < 3; i++) {
                rooted(1, low - 1, counts[i]);
                rooted(0, 0, counts[i]);
                everyone(counts[i]);
            }
            barriers();
        }
        together();
        MPI_Comm_free(&inter);
        MPI_Comm_free(&local);
    }
    return MPI_Finalize();
}
