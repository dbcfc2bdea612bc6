/* Drift: members call the same collectives, or send one way, thousands of times with nothing else between them, so that the quick ones run ahead
   until they lack room. Now and then one of them is slow: "root" computes, "leaf" sleeps. Nothing may stop, and every byte is checked.

       drift [TIMES [LOOP [FORM BYTES SLOW]]]

   TIMES is for loops of small messages; those of large ones go round less often. LOOP names one loop. With FORM (blocking, nonblocking, persistent),
   BYTES and SLOW (nobody, root, leaf) one loop goes round in this way alone, TIMES times however large its messages are. */
#include "check.h"
#include <time.h>

enum { MOST = 65537, MEMBERS = 64 };

static unsigned char *given, *got;
static int times = 200;
static const char *only;
/* One loop goes round, in one form, with messages of one size. */
static int alone;

/* Times that a loop goes round with messages of so many bytes. */
static int rounds(int bytes)
{
    if (alone)
        return times;
    int many = bytes <= 25 ? times : bytes <= 8193 ? times / 2 : times / 20;
    return many < 8 ? 8 : many;
}

static int member(int of, int bytes, int round, int at) { return (of * 7 + bytes + round * 3 + at) & 127; }

static void give(int bytes, int round)
{
    given[0] = (unsigned char)member(rank, bytes, round, 0);
    given[bytes - 1] = (unsigned char)member(rank, bytes, round, bytes - 1);
}

static void check_block(const unsigned char *block, int of, int bytes, int round)
{
    CHECK_INT(block[0], member(of, bytes, round, 0));
    CHECK_INT(block[bytes - 1], member(of, bytes, round, bytes - 1));
}

/* What is greatest of all members up to, and without, `end`. */
static int greatest(int end, int bytes, int round)
{
    int most = 0;
    for (int of = 0; of < end; of++)
        if (member(of, bytes, round, 0) > most)
            most = member(of, bytes, round, 0);
    return most;
}

/* The slow one: it computes, or it sleeps, every fiftieth time. */
static void dawdle(int slow, int round)
{
    if (rank != slow || round % 50 != 49)
        return;
    struct timespec nap = {0, 300000};
    if (round % 100 == 99) {
        nanosleep(&nap, NULL);
        return;
    }
    struct timespec from, now;
    clock_gettime(CLOCK_MONOTONIC, &from);
    do
        clock_gettime(CLOCK_MONOTONIC, &now);
    while ((now.tv_sec - from.tv_sec) * 1000000000L + now.tv_nsec - from.tv_nsec < nap.tv_nsec);
}

enum { BLOCKING, NONBLOCKING, PERSISTENT, FORMS };

/* A collective: `start` calls it in a form, `check` looks at what came. */
struct collective {
    const char *name;
    void (*start)(int form, int bytes, int root, MPI_Request *request);
    void (*check)(int bytes, int root, int round);
    int scales; /* It gives or takes a block for each member. */
};

#define IN_FORM(NAME, ...)                                                                                  \
    do {                                                                                                    \
        if (form == BLOCKING)                                                                               \
            MPI_##NAME(__VA_ARGS__);                                                                        \
        else if (form == NONBLOCKING)                                                                       \
            MPI_I_##NAME(__VA_ARGS__, request);                                                             \
        else                                                                                                \
            MPI_##NAME##_init(__VA_ARGS__, MPI_INFO_NULL, request);                                         \
    } while (0)
#define MPI_I_Barrier MPI_Ibarrier
#define MPI_I_Bcast MPI_Ibcast
#define MPI_I_Reduce MPI_Ireduce
#define MPI_I_Allreduce MPI_Iallreduce
#define MPI_I_Scan MPI_Iscan
#define MPI_I_Exscan MPI_Iexscan
#define MPI_I_Gather MPI_Igather
#define MPI_I_Scatter MPI_Iscatter
#define MPI_I_Allgather MPI_Iallgather
#define MPI_I_Alltoall MPI_Ialltoall
#define MPI_I_Reduce_scatter_block MPI_Ireduce_scatter_block

#define WORLD MPI_COMM_WORLD
#define BYTES given, bytes, MPI_BYTE

static void barrier(int form, int bytes, int root, MPI_Request *request)
{
    (void)bytes, (void)root;
    IN_FORM(Barrier, WORLD);
}
static void no_check(int bytes, int root, int round) { (void)bytes, (void)root, (void)round; }

static void bcast(int form, int bytes, int root, MPI_Request *request)
{
    IN_FORM(Bcast, rank == root ? given : got, bytes, MPI_BYTE, root, WORLD);
}
static void check_bcast(int bytes, int root, int round)
{
    if (rank != root)
        check_block(got, root, bytes, round);
}

static void reduce(int form, int bytes, int root, MPI_Request *request)
{
    IN_FORM(Reduce, given, got, bytes, MPI_UINT8_T, MPI_MAX, root, WORLD);
}
static void check_reduce(int bytes, int root, int round)
{
    if (rank == root)
        CHECK_INT(got[0], greatest(size, bytes, round));
}

static void allreduce(int form, int bytes, int root, MPI_Request *request)
{
    (void)root;
    IN_FORM(Allreduce, given, got, bytes, MPI_UINT8_T, MPI_MAX, WORLD);
}
static void check_allreduce(int bytes, int root, int round)
{
    (void)root;
    CHECK_INT(got[0], greatest(size, bytes, round));
}

static void scan(int form, int bytes, int root, MPI_Request *request)
{
    (void)root;
    IN_FORM(Scan, given, got, bytes, MPI_UINT8_T, MPI_MAX, WORLD);
}
static void check_scan(int bytes, int root, int round)
{
    (void)root;
    CHECK_INT(got[0], greatest(rank + 1, bytes, round));
}

static void exscan(int form, int bytes, int root, MPI_Request *request)
{
    (void)root;
    IN_FORM(Exscan, given, got, bytes, MPI_UINT8_T, MPI_MAX, WORLD);
}
static void check_exscan(int bytes, int root, int round)
{
    (void)root;
    if (rank > 0)
        CHECK_INT(got[0], greatest(rank, bytes, round));
}

static void gather(int form, int bytes, int root, MPI_Request *request)
{
    IN_FORM(Gather, BYTES, got, bytes, MPI_BYTE, root, WORLD);
}
static void check_gather(int bytes, int root, int round)
{
    for (int of = 0; rank == root && of < size; of++)
        check_block(got + (size_t)of * bytes, of, bytes, round);
}

static void scatter(int form, int bytes, int root, MPI_Request *request)
{
    IN_FORM(Scatter, BYTES, got, bytes, MPI_BYTE, root, WORLD);
}
static void check_scatter(int bytes, int root, int round)
{
    /* Every block but the first is what lies there at the root: zeros. */
    if (rank == 0)
        check_block(got, root, bytes, round);
}

static void allgather(int form, int bytes, int root, MPI_Request *request)
{
    (void)root;
    IN_FORM(Allgather, BYTES, got, bytes, MPI_BYTE, WORLD);
}
static void check_allgather(int bytes, int root, int round)
{
    (void)root;
    for (int of = 0; of < size; of++)
        check_block(got + (size_t)of * bytes, of, bytes, round);
}

static void alltoall(int form, int bytes, int root, MPI_Request *request)
{
    (void)root;
    IN_FORM(Alltoall, BYTES, got, bytes, MPI_BYTE, WORLD);
}
static void check_alltoall(int bytes, int root, int round)
{
    (void)root;
    for (int of = 0; rank == 0 && of < size; of++)
        check_block(got + (size_t)of * bytes, of, bytes, round);
}

static void reduce_scatter(int form, int bytes, int root, MPI_Request *request)
{
    (void)root;
    IN_FORM(Reduce_scatter_block, given, got, bytes, MPI_UINT8_T, MPI_MAX, WORLD);
}
static void check_reduce_scatter(int bytes, int root, int round)
{
    (void)root;
    if (rank == 0)
        CHECK_INT(got[0], greatest(size, bytes, round));
}

static const struct collective collectives[] = {
    {"barrier", barrier, no_check, 0},
    {"bcast", bcast, check_bcast, 0},
    {"reduce", reduce, check_reduce, 0},
    {"allreduce", allreduce, check_allreduce, 0},
    {"scan", scan, check_scan, 0},
    {"exscan", exscan, check_exscan, 0},
    {"gather", gather, check_gather, 1},
    {"scatter", scatter, check_scatter, 1},
    {"allgather", allgather, check_allgather, 1},
    {"alltoall", alltoall, check_alltoall, 1},
    {"reduce_scatter", reduce_scatter, check_reduce_scatter, 1},
};

static void drift(const struct collective *collective, int form, int bytes, int root, int slow)
{
    MPI_Request request = MPI_REQUEST_NULL;
    memset(given, 0, (size_t)MOST * size);
    int count = rounds(bytes);
    if (form == PERSISTENT)
        collective->start(form, bytes, root, &request);
    for (int round = 0; round < count; round++) {
        give(bytes, round);
        if (form == PERSISTENT)
            MPI_Start(&request);
        else
            collective->start(form, bytes, root, &request);
        if (form != BLOCKING)
            MPI_Wait(&request, MPI_STATUS_IGNORE);
        collective->check(bytes, root, round);
        dawdle(slow, round);
    }
    if (form == PERSISTENT)
        MPI_Request_free(&request);
}

/* Many of a non-blocking collective at a time, and a message now and then that a member is late for. */
static void window(int slow)
{
    enum { AT_ONCE = 32 };
    MPI_Request requests[AT_ONCE];
    static unsigned char lines[AT_ONCE][25];
    for (int round = 0; round < times / 10 + 4; round++) {
        for (int i = 0; i < AT_ONCE; i++) {
            if (rank == 0)
                memset(lines[i], (round + i) & 127, sizeof lines[i]);
            MPI_Ibcast(lines[i], i % 2 ? 25 : 24, MPI_BYTE, 0, WORLD, &requests[i]);
        }
        dawdle(slow, round + 45);
        MPI_Waitall(AT_ONCE, requests, MPI_STATUSES_IGNORE);
        for (int i = 0; i < AT_ONCE; i++)
            CHECK_INT(lines[i][0], (round + i) & 127);
    }
}

/* A non-blocking operation of messages that a rank has begun goes on while it waits for room in another call: the others wait for the operation first. */
static void beside(int bytes)
{
    MPI_Request request;
    int *all = malloc(sizeof(int) * 2048 * (size_t)size), *own = malloc(sizeof(int) * 2048);
    for (int i = 0; i < 2048; i++)
        own[i] = rank;
    MPI_Iallgather(own, 2048, MPI_INT, all, 2048, MPI_INT, WORLD, &request);
    if (rank != 0)
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    for (int round = 0; round < 600; round++) {
        give(bytes, round);
        MPI_Bcast(rank == 0 ? given : got, bytes, MPI_BYTE, 0, WORLD);
        check_bcast(bytes, 0, round);
    }
    if (rank == 0)
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    for (int of = 0; of < size; of++)
        CHECK_INT(all[2048 * (size_t)of + 2047], of);
    free(all);
    free(own);
}

/* One is far ahead in a communicator of all, while two others meet in one of their own first. */
static void apart(void)
{
    if (size < 3)
        return;
    MPI_Comm pair;
    MPI_Comm_split(WORLD, rank == 0 ? MPI_UNDEFINED : 0, rank, &pair);
    for (int again = 0; again < 3; again++) {
        if (rank != 0) {
            struct timespec nap = {0, 20000000};
            nanosleep(&nap, NULL);
            MPI_Allgather(given, 100, MPI_BYTE, got, 100, MPI_BYTE, pair);
        }
        for (int round = 0; round < (alone ? times : times * 10); round++)
            MPI_Bcast(given, 8, MPI_BYTE, 0, WORLD);
    }
    if (pair != MPI_COMM_NULL)
        MPI_Comm_free(&pair);
}

/* The root of collectives for which only it waits comes late, so that the others have no room long before. */
static void late(int bytes)
{
    MPI_Request unused;
    for (size_t i = 0; i < sizeof collectives / sizeof *collectives; i++) {
        const struct collective *collective = &collectives[i];
        if (collective->start != reduce && collective->start != gather)
            continue;
        struct timespec nap = {0, 300000000};
        if (rank == 0)
            nanosleep(&nap, NULL);
        for (int round = 0; round < 5000; round++) {
            give(bytes, round);
            collective->start(BLOCKING, bytes, 0, &unused);
            collective->check(bytes, 0, round);
        }
    }
}

/* Messages one way along the chain of ranks: nobody answers. */
static void one_way(int bytes, int slow)
{
    for (int round = 0; round < rounds(bytes); round++) {
        give(bytes, round);
        if (rank > 0) {
            MPI_Recv(got, bytes, MPI_BYTE, rank - 1, 5, WORLD, MPI_STATUS_IGNORE);
            check_block(got, rank - 1, bytes, round);
        }
        if (rank + 1 < size)
            MPI_Send(given, bytes, MPI_BYTE, rank + 1, 5, WORLD);
        dawdle(slow, round);
    }
}

/* Along the edges of a ring, to the left and to the right. */
static void neighbours(int bytes, int slow)
{
    int periodic = 1, left, right;
    MPI_Comm ring;
    MPI_Cart_create(WORLD, 1, &size, &periodic, 0, &ring);
    MPI_Cart_shift(ring, 0, 1, &left, &right);
    for (int round = 0; round < rounds(bytes); round++) {
        give(bytes, round);
        MPI_Neighbor_allgather(BYTES, got, bytes, MPI_BYTE, ring);
        check_block(got, left, bytes, round);
        check_block(got + bytes, right, bytes, round);
        dawdle(slow, round);
    }
    MPI_Comm_free(&ring);
}

/* Between two groups: one gives and goes ahead, the other one takes; then each gives to the other. */
static void between(int bytes, int slow)
{
    if (size < 2)
        return;
    MPI_Comm group, inter;
    int low = (size + 1) / 2, in_low = rank < low;
    int root = !in_low ? 0 : rank ? MPI_PROC_NULL : MPI_ROOT;
    MPI_Comm_split(WORLD, in_low, rank, &group);
    MPI_Intercomm_create(group, 0, WORLD, in_low ? low : 0, 6, &inter);
    for (int round = 0; round < rounds(bytes); round++) {
        give(bytes, round);
        MPI_Bcast(in_low ? given : got, bytes, MPI_BYTE, root, inter);
        if (!in_low)
            check_block(got, 0, bytes, round);
        dawdle(slow, round);
    }
    for (int round = 0; round < rounds(bytes); round++) {
        give(bytes, round);
        MPI_Reduce(given, got, bytes, MPI_UINT8_T, MPI_MAX, root, inter);
        if (rank == 0)
            CHECK(got[0] <= greatest(size, bytes, round) && got[0] >= member(low, bytes, round, 0));
        dawdle(slow, round);
    }
    for (int round = 0; round < rounds(bytes); round++) {
        give(bytes, round);
        MPI_Allgather(BYTES, got, bytes, MPI_BYTE, inter);
        check_block(got, in_low ? low : 0, bytes, round);
        dawdle(slow, round);
    }
    MPI_Comm_free(&inter);
    MPI_Comm_free(&group);
}

static int loops;

static int runs(const char *name)
{
    int wanted = !only || strcmp(only, name) == 0;
    loops += wanted;
    return wanted;
}

/* Which of `names` this is. */
static int index_of(const char *name, const char *const *names, int count)
{
    int at = 0;
    while (at < count && strcmp(name, names[at]) != 0)
        at++;
    CHECK(at < count);
    return at;
}

/* Collectives in a form, of so many bytes, with one slow rank or none. */
static void collective_loops(int form, int bytes, int slow)
{
    for (size_t i = 0; i < sizeof collectives / sizeof *collectives; i++) {
        const struct collective *collective = &collectives[i];
        if (!runs(collective->name) || (collective->start == barrier && bytes > 1 && !alone))
            continue;
        /* Blocks of all members together are beside the threshold, too. */
        drift(collective, form, collective->scales && bytes > 8193 ? bytes / size : bytes, 0, slow);
    }
}

static void loops_of_messages(int bytes, int slow)
{
    if (runs("one_way"))
        one_way(bytes, slow);
    if (runs("neighbours"))
        neighbours(bytes, slow);
    if (runs("between"))
        between(bytes, slow);
}

int main(int argc, char **argv)
{
    static const int sizes[] = {1, 8, 24, 25, 64, 8191, 8192, 8193, 65536, 65537};
    static const char *const forms[] = {"blocking", "nonblocking", "persistent"}, *const slows[] = {"nobody", "root", "leaf"};
    start(&argc, &argv);
    if (argc > 1)
        times = atoi(argv[1]);
    if (argc > 2)
        only = argv[2];
    CHECK(argc <= 3 || argc == 6);
    alone = argc == 6;
    CHECK(size <= MEMBERS);
    given = calloc((size_t)size + 2, MOST);
    got = calloc((size_t)size + 2, MOST);
    if (alone) {
        int form = index_of(argv[3], forms, FORMS), bytes = atoi(argv[4]), slow = index_of(argv[5], slows, 3) - 1;
        CHECK(bytes > 0 && bytes <= MOST);
        collective_loops(form, bytes, slow);
        loops_of_messages(bytes, slow);
        if (runs("window"))
            window(slow);
    }
    for (int slow = -1; !alone && slow < 2 && slow < size; slow++) {
        for (size_t j = 0; j < sizeof sizes / sizeof *sizes; j++) {
            for (int form = 0; form < FORMS; form++)
                collective_loops(form, sizes[j], slow);
            loops_of_messages(sizes[j], slow);
        }
        if (runs("window"))
            window(slow);
    }
    if (runs("beside")) {
        beside(64);
        beside(8192);
    }
    if (runs("apart"))
        apart();
    if (runs("late")) {
        late(4);
        late(25);
    }
    CHECK(loops > 0); /* LOOP is one of them. */
    if (rank == 0)
        printf("%d ranks went round\n", size);
    MPI_Finalize();
    return 0;
}
