/* Partitioned communication: what is sent part by part arrives part by part, however both ends cut it. */
#include "check.h"
#include <pthread.h>

enum { MOST = 4 << 20, LARGE = 256 << 20, THREADS = 4 };
static unsigned char *out, *in;
static int next, before;

static void init(int sent, int received, int bytes, int tag, MPI_Comm comm, MPI_Request both[2])
{
    MPI_Precv_init(in, received, bytes / (received ? received : 1), MPI_BYTE, before, tag, comm, MPI_INFO_NULL, &both[0]);
    MPI_Psend_init(out, sent, bytes / (sent ? sent : 1), MPI_BYTE, next, tag, comm, MPI_INFO_NULL, &both[1]);
}

static void forget(int count, MPI_Request *requests)
{
    for (int i = 0; i < count; i++) {
        MPI_Request_free(&requests[i]);
        CHECK(requests[i] == MPI_REQUEST_NULL);
    }
}

/* So many bytes in parts, which become ready in an order of their own in each round. */
static void cut(int sent, int received, int bytes, int rounds)
{
    MPI_Request both[2];
    init(sent, received, bytes, 3, MPI_COMM_WORLD, both);
    for (int round = 0; round < rounds; round++) {
        MPI_Status statuses[2];
        int flag, count;
        fill(out, bytes, rank + round);
        memset(in, 0xee, bytes);
        MPI_Startall(2, both);
        int step = 1 + round % 3 * 2;
        while (sent && sent % step == 0 && step > 1)
            step += 2;
        for (int i = 0; i < sent; i++)
            MPI_Pready((int)((long long)i * step % sent), both[1]);
        if (round % 2) {
            /* Each part is there as soon as it is said to have arrived. */
            int each = received ? bytes / received : 0;
            for (int part = received - 1; part >= 0; part--) {
                do
                    MPI_Parrived(both[0], part, &flag);
                while (!flag);
                for (int at = part * each; at < (part + 1) * each; at++)
                    if (in[at] != byte_of(at, before + round))
                        CHECK_INT(in[at], byte_of(at, before + round));
            }
        }
        MPI_Waitall(2, both, statuses);
        CHECK(is_filled(in, bytes, before + round));
        CHECK_INT(statuses[0].MPI_SOURCE, before);
        CHECK_INT(statuses[0].MPI_TAG, 3);
        MPI_Get_count(&statuses[0], MPI_BYTE, &count);
        CHECK_INT(count, bytes);
        if (received) {
            MPI_Parrived(both[0], 0, &flag); /* of an inactive request all have arrived */
            CHECK(flag);
        }
    }
    forget(2, both);
}

static void sizes(void)
{
    static const int counts[][2] = {{1, 1}, {1, 8}, {8, 1}, {4, 4}, {3, 7}, {7, 3}, {16, 5}, {129, 128}, {1000, 1}, {1, 1000}, {1000, 999}};
    static const int each[] = {0, 1, 24, 25, 127, 128, 1024};
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
        for (size_t k = 0; k < sizeof each / sizeof *each; k++) {
            long long bytes = (long long)counts[i][0] * counts[i][1] * each[k];
            if (bytes <= MOST)
                cut(counts[i][0], counts[i][1], (int)bytes, bytes < 1 << 16 ? 4 : 2);
        }
    /* Around the size from which a part goes by itself, and those from which bytes go in other ways. */
    static const int parts[] = {8191, 8192, 8193, 16383, 16384, 16385, 65535, 65536, 65537, 262144, 262145};
    for (size_t k = 0; k < sizeof parts / sizeof *parts; k++) {
        cut(3, 1, 3 * parts[k], 2);
        cut(1, 3, 3 * parts[k], 2);
        cut(15, 5, 15 * parts[k] <= MOST ? 15 * parts[k] : 15, 2);
    }
    cut(16, 16, 16 << 16, 6);
    cut(0, 0, 0, 3);
    cut(0, 5, 0, 3);
    cut(5, 0, 0, 3);
}

/* A part that is ready goes although others are not. */
static void goes_at_once(void)
{
    enum { PARTS = 4, EACH = 1 << 16 };
    MPI_Request both[2];
    int flag;
    init(PARTS, 2, PARTS * EACH, 0, MPI_COMM_WORLD, both);
    fill(out, PARTS * EACH, rank);
    memset(in, 0, PARTS * EACH);
    MPI_Startall(2, both);
    MPI_Parrived(both[0], 0, &flag);
    CHECK(!flag);
    MPI_Pready_range(2, 3, both[1]);
    do
        MPI_Parrived(both[0], 1, &flag);
    while (!flag);
    for (int at = 2 * EACH; at < 4 * EACH; at++)
        if (in[at] != byte_of(at, before))
            CHECK_INT(in[at], byte_of(at, before));
    MPI_Parrived(both[0], 0, &flag);
    CHECK(!flag);
    MPI_Request_get_status(both[0], &flag, MPI_STATUS_IGNORE);
    CHECK(!flag);
    MPI_Test(&both[1], &flag, MPI_STATUS_IGNORE);
    CHECK(!flag);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Pready_list(2, (int[]){1, 0}, both[1]);
    do
        MPI_Request_get_status(both[0], &flag, MPI_STATUS_IGNORE);
    while (!flag);
    MPI_Parrived(both[0], 0, &flag);
    CHECK(flag);
    MPI_Waitall(2, both, MPI_STATUSES_IGNORE);
    CHECK(is_filled(in, PARTS * EACH, before));
    forget(2, both);
}

/* Those of the same tag belong together in the order of their initialisation, whatever is started first; some
 * are never started. Nothing of them is seen by receives and probes of the program. */
static void in_order(void)
{
    enum { MANY = 5, EACH = 6 };
    static int sent[MANY][EACH], got[MANY][EACH];
    MPI_Request sends[MANY], receives[MANY], other[2];
    MPI_Comm comm;
    int flag, value = rank, mine = -1;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    for (int i = 0; i < MANY; i++) {
        MPI_Psend_init(sent[i], 2, EACH / 2, MPI_INT, next, 7, comm, MPI_INFO_NULL, &sends[i]);
        MPI_Precv_init(got[i], 3, EACH / 3, MPI_INT, before, 7, comm, MPI_INFO_NULL, &receives[i]);
    }
    MPI_Request_free(&sends[1]);
    MPI_Request_free(&receives[1]);
    static const int send_order[] = {4, 0, 3, 2}, receive_order[] = {2, 3, 0, 4};
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < 4; i++) {
            int which = send_order[i];
            for (int k = 0; k < EACH; k++)
                sent[which][k] = 1000 * rank + 100 * round + 10 * which + k;
            MPI_Start(&sends[which]);
            MPI_Pready_range(0, 1, sends[which]);
        }
        MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, comm, &flag, MPI_STATUS_IGNORE);
        CHECK(!flag);
        MPI_Irecv(&mine, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, comm, &other[0]);
        for (int i = 0; i < 4; i++)
            MPI_Start(&receives[receive_order[i]]);
        for (int i = 0; i < 4; i++)
            MPI_Wait(&receives[send_order[i]], MPI_STATUS_IGNORE);
        for (int i = 0; i < 4; i++) {
            MPI_Wait(&sends[send_order[i]], MPI_STATUS_IGNORE);
            for (int k = 0; k < EACH; k++)
                CHECK_INT(got[send_order[i]][k], 1000 * before + 100 * round + 10 * send_order[i] + k);
        }
        MPI_Test(&other[0], &flag, MPI_STATUS_IGNORE);
        CHECK(!flag);
        /* Nobody sends before all have seen that. */
        MPI_Barrier(MPI_COMM_WORLD);
        MPI_Isend(&value, 1, MPI_INT, next, 7, comm, &other[1]);
        MPI_Waitall(2, other, MPI_STATUSES_IGNORE);
        CHECK_INT(mine, before);
    }
    for (int i = 0; i < MANY; i++)
        if (i != 1)
            forget(1, &sends[i]), forget(1, &receives[i]);
    MPI_Comm_free(&comm);
}

/* Data that does not lie together; the handles of the datatype and of the communicator may go first. */
static void scattered(int parts_out, int parts_in, int each)
{
    enum { BLOCK = 3, STRIDE = 5 };
    int elements = parts_out * parts_in * each, bytes = elements * STRIDE;
    MPI_Datatype blocks;
    MPI_Comm comm;
    MPI_Request both[2];
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Type_vector(1, BLOCK, STRIDE, MPI_BYTE, &blocks);
    MPI_Type_create_resized(blocks, 0, STRIDE, &blocks);
    MPI_Type_commit(&blocks);
    MPI_Psend_init(out, parts_out, parts_in * each, blocks, next, 1, comm, MPI_INFO_NULL, &both[1]);
    MPI_Precv_init(in, parts_in, parts_out * each, blocks, before, 1, comm, MPI_INFO_NULL, &both[0]);
    MPI_Type_free(&blocks);
    for (int round = 0; round < 3; round++) {
        fill(out, bytes, rank + round);
        memset(in, 0xee, bytes);
        MPI_Startall(2, both);
        for (int part = parts_out - 1; part >= 0; part--)
            MPI_Pready(part, both[1]);
        MPI_Waitall(2, both, MPI_STATUSES_IGNORE);
        for (int at = 0; at < bytes; at++)
            if (in[at] != (at % STRIDE < BLOCK ? byte_of(at, before + round) : 0xee))
                CHECK_INT(in[at], at % STRIDE < BLOCK ? byte_of(at, before + round) : 0xee);
    }
    forget(2, both);
    MPI_Comm_free(&comm);
}

/* Sends what lies in one place and receives it elsewhere: only the bytes are the same. */
static void other_types(void)
{
    enum { INTS = 24 };
    static int sent[INTS], got[2 * INTS];
    MPI_Datatype every_other;
    MPI_Request both[2];
    MPI_Type_create_resized(MPI_INT, 0, 2 * sizeof(int), &every_other);
    MPI_Type_commit(&every_other);
    MPI_Psend_init(sent, 4, INTS / 4, MPI_INT, next, 1, MPI_COMM_WORLD, MPI_INFO_NULL, &both[1]);
    MPI_Precv_init(got, 3, INTS / 3, every_other, before, 1, MPI_COMM_WORLD, MPI_INFO_NULL, &both[0]);
    for (int i = 0; i < INTS; i++)
        sent[i] = 100 * rank + i;
    memset(got, 0xff, sizeof got);
    MPI_Startall(2, both);
    MPI_Pready_range(0, 3, both[1]);
    MPI_Waitall(2, both, MPI_STATUSES_IGNORE);
    for (int i = 0; i < 2 * INTS; i++)
        CHECK_INT(got[i], i % 2 ? -1 : 100 * before + i / 2);
    forget(2, both);
    MPI_Type_free(&every_other);
}

/* Many rounds, in which senders run ahead; in some the receiver looks at each part until it is there. */
static void rounds(int parts, int each, int count)
{
    MPI_Request both[2];
    int taken = parts > 1 ? parts / 2 : 1, flag;
    init(parts, taken, parts * each, 5, MPI_COMM_WORLD, both);
    for (int round = 0; round < count; round++) {
        /* What is small is buffered. */
        int buffered = round % 5 && parts * each <= 1 << 13;
        for (int part = 0; part < parts; part++)
            out[part * each] = out[(part + 1) * each - 1] = (unsigned char)(round + part);
        MPI_Start(&both[1]);
        MPI_Pready_range(0, parts - 1, both[1]);
        if (buffered)
            MPI_Wait(&both[1], MPI_STATUS_IGNORE);
        MPI_Start(&both[0]);
        for (int part = taken - 1; round % 3 == 0 && part >= 0; part--)
            do
                MPI_Parrived(both[0], part, &flag);
            while (!flag);
        MPI_Wait(&both[0], MPI_STATUS_IGNORE);
        if (!buffered)
            MPI_Wait(&both[1], MPI_STATUS_IGNORE);
        for (int part = 0; part < parts; part++) {
            CHECK_INT(in[part * each], (unsigned char)(round + part));
            CHECK_INT(in[(part + 1) * each - 1], (unsigned char)(round + part));
        }
    }
    forget(2, both);
}

/* Requests that are made, used once or never, and freed, all with the same tag; and such that their sender has
 * freed long before their receiver starts his, the last one first. */
static void made_and_freed(int count)
{
    enum { MANY = 40 };
    static int sent[MANY], got[MANY];
    MPI_Request both[2], receives[MANY];
    for (int i = 0; i < count; i++) {
        int bytes = i % 5 ? 24 : 40000;
        init(i % 4 + 1, i % 3 + 1, bytes - bytes % 12, 6, MPI_COMM_WORLD, both);
        if (i % 3) {
            fill(out, bytes, rank + i);
            MPI_Startall(2, both);
            MPI_Pready_range(0, i % 4, both[1]);
            MPI_Waitall(2, both, MPI_STATUSES_IGNORE);
            CHECK(is_filled(in, bytes - bytes % 12, before + i));
        }
        forget(2, both);
    }
    for (int i = 0; i < MANY; i++)
        MPI_Precv_init(&got[i], 2, 2, MPI_BYTE, before, 6, MPI_COMM_WORLD, MPI_INFO_NULL, &receives[i]);
    for (int i = 0; i < MANY; i++) {
        sent[i] = 100 * rank + i;
        MPI_Psend_init(&sent[i], 1, 1, MPI_INT, next, 6, MPI_COMM_WORLD, MPI_INFO_NULL, &both[1]);
        if (i % 5) {
            MPI_Start(&both[1]);
            MPI_Pready(0, both[1]);
            MPI_Wait(&both[1], MPI_STATUS_IGNORE);
        }
        forget(1, &both[1]);
    }
    for (int i = MANY - 1; i >= 0; i--)
        if (i % 5)
            MPI_Start(&receives[i]);
    for (int i = 0; i < MANY; i++) {
        if (i % 5)
            MPI_Wait(&receives[i], MPI_STATUS_IGNORE);
        CHECK_INT(got[i], i % 5 ? 100 * before + i : 0);
    }
    forget(MANY, receives);
}

static void nobody(void)
{
    MPI_Request both[2];
    MPI_Status status;
    int flag;
    MPI_Psend_init(out, 4, 8, MPI_BYTE, MPI_PROC_NULL, 1, MPI_COMM_WORLD, MPI_INFO_NULL, &both[1]);
    MPI_Precv_init(in, 4, 8, MPI_BYTE, MPI_PROC_NULL, 1, MPI_COMM_WORLD, MPI_INFO_NULL, &both[0]);
    memset(in, 0xee, 32);
    for (int round = 0; round < 2; round++) {
        MPI_Startall(2, both);
        MPI_Pready_range(0, 3, both[1]);
        MPI_Parrived(both[0], 3, &flag);
        CHECK(flag);
        MPI_Wait(&both[1], MPI_STATUS_IGNORE);
        MPI_Wait(&both[0], &status);
        CHECK_INT(status.MPI_SOURCE, MPI_PROC_NULL);
        CHECK_INT(in[0], 0xee);
    }
    forget(2, both);
    MPI_Parrived(MPI_REQUEST_NULL, 3, &flag);
    CHECK(flag);
}

/* With this rank itself, and between groups. */
static void others(void)
{
    MPI_Request both[2];
    MPI_Psend_init(out, 4, 1024, MPI_INT, 0, 1, MPI_COMM_SELF, MPI_INFO_NULL, &both[1]);
    MPI_Precv_init(in, 2, 2048, MPI_INT, 0, 1, MPI_COMM_SELF, MPI_INFO_NULL, &both[0]);
    fill(out, 16384, rank);
    MPI_Startall(2, both);
    MPI_Pready_range(0, 3, both[1]);
    MPI_Waitall(2, both, MPI_STATUSES_IGNORE);
    CHECK(is_filled(in, 16384, rank));
    forget(2, both);
    if (size < 2)
        return;
    MPI_Comm half, inter;
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half);
    MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, 1 - rank % 2, 9, &inter);
    int of_half, there;
    MPI_Comm_rank(half, &of_half);
    MPI_Comm_remote_size(inter, &there);
    if (of_half < there) {
        int mate = rank % 2 ? rank - 1 : rank + 1;
        if (mate < size) {
            MPI_Psend_init(out, 3, 1000, MPI_BYTE, of_half, 1, inter, MPI_INFO_NULL, &both[1]);
            MPI_Precv_init(in, 1, 3000, MPI_BYTE, of_half, 1, inter, MPI_INFO_NULL, &both[0]);
            MPI_Startall(2, both);
            MPI_Pready_list(3, (int[]){2, 0, 1}, both[1]);
            MPI_Waitall(2, both, MPI_STATUSES_IGNORE);
            CHECK(is_filled(in, 3000, mate));
            forget(2, both);
        }
    }
    MPI_Comm_free(&inter);
    MPI_Comm_free(&half);
}

/* Errors that the other end makes, or that come of the state of a request. */
static void mistakes(void)
{
    MPI_Request both[2], other;
    int flag, code;
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    init(4, 4, 64, 2, MPI_COMM_WORLD, both);
    CHECK_INT(class_of(MPI_Pready(0, both[1])), MPI_ERR_ARG); /* inactive */
    CHECK_INT(MPI_Parrived(both[0], 0, &flag), MPI_SUCCESS);
    MPI_Startall(2, both);
    CHECK_INT(class_of(MPI_Pready(4, both[1])), MPI_ERR_ARG);
    CHECK_INT(class_of(MPI_Pready(-1, both[1])), MPI_ERR_ARG);
    CHECK_INT(class_of(MPI_Pready(0, both[0])), MPI_ERR_ARG); /* a receive */
    CHECK_INT(class_of(MPI_Parrived(both[1], 0, &flag)), MPI_ERR_ARG); /* a send */
    CHECK_INT(class_of(MPI_Parrived(both[0], 4, &flag)), MPI_ERR_ARG);
    CHECK_INT(MPI_Pready(2, both[1]), MPI_SUCCESS);
    CHECK_INT(class_of(MPI_Pready(2, both[1])), MPI_ERR_ARG); /* twice */
    CHECK_INT(class_of(MPI_Pready_range(1, 3, both[1])), MPI_ERR_ARG);
    CHECK_INT(class_of(MPI_Pready_range(1, 0, both[1])), MPI_ERR_ARG);
    CHECK_INT(class_of(MPI_Pready_list(3, (int[]){0, 1, 0}, both[1])), MPI_ERR_ARG);
    CHECK_INT(class_of(MPI_Pready(0, MPI_REQUEST_NULL)), MPI_ERR_REQUEST);
    CHECK_INT(class_of(MPI_Start(&both[1])), MPI_ERR_REQUEST);
    CHECK_INT(class_of(MPI_Cancel(&both[0])), MPI_ERR_REQUEST);
    CHECK_INT(class_of(MPI_Request_free(&both[1])), MPI_ERR_REQUEST);
    /* Where one of several is wrong, none is ready. */
    CHECK_INT(MPI_Pready_list(3, (int[]){0, 1, 3}, both[1]), MPI_SUCCESS);
    CHECK_INT(MPI_Waitall(2, both, MPI_STATUSES_IGNORE), MPI_SUCCESS);
    forget(2, both);
    MPI_Send_init(out, 1, MPI_BYTE, MPI_PROC_NULL, 0, MPI_COMM_WORLD, &other);
    CHECK_INT(class_of(MPI_Pready(0, other)), MPI_ERR_REQUEST);
    CHECK_INT(class_of(MPI_Parrived(other, 0, &flag)), MPI_ERR_REQUEST);
    MPI_Request_free(&other);
    /* Both ends have to say the same of the bytes in all. */
    for (int more = 0; more < 2; more++) {
        MPI_Precv_init(in, 2, more ? 40000 : 20000, MPI_BYTE, before, 2, MPI_COMM_WORLD, MPI_INFO_NULL, &both[0]);
        MPI_Psend_init(out, 2, more ? 20000 : 40000, MPI_BYTE, next, 2, MPI_COMM_WORLD, MPI_INFO_NULL, &both[1]);
        for (int round = 0; round < 2; round++) {
            MPI_Startall(2, both);
            MPI_Pready_range(0, 1, both[1]);
            code = MPI_Wait(&both[0], MPI_STATUS_IGNORE);
            CHECK_INT(class_of(code), more ? MPI_ERR_COUNT : MPI_ERR_TRUNCATE);
            CHECK_INT(MPI_Wait(&both[1], MPI_STATUS_IGNORE), MPI_SUCCESS);
        }
        forget(2, both);
    }
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
}

static struct {
    MPI_Request send, receive;
    int parts, each, round;
} shared;

static void *make_ready(void *number)
{
    for (int part = (int)(size_t)number; part < shared.parts; part += THREADS) {
        fill(out + (size_t)part * shared.each, shared.each, rank + shared.round + part);
        MPI_Pready(part, shared.send);
    }
    return NULL;
}

static void *see_arrive(void *number)
{
    for (int part = (int)(size_t)number; part < shared.parts; part += THREADS) {
        int flag = 0;
        while (!flag)
            MPI_Parrived(shared.receive, part, &flag);
        CHECK(is_filled(in + (size_t)part * shared.each, shared.each, before + shared.round + part));
    }
    return NULL;
}

/* Threads make parts ready, while others see them arrive and this one waits. */
static void threads(int parts, int each, int rounds)
{
    shared.parts = parts, shared.each = each;
    MPI_Precv_init(in, parts, each, MPI_BYTE, before, 4, MPI_COMM_WORLD, MPI_INFO_NULL, &shared.receive);
    MPI_Psend_init(out, parts, each, MPI_BYTE, next, 4, MPI_COMM_WORLD, MPI_INFO_NULL, &shared.send);
    for (shared.round = 0; shared.round < rounds; shared.round++) {
        pthread_t makers[THREADS], seers[THREADS];
        memset(in, 0xee, (size_t)parts * each);
        MPI_Start(&shared.receive);
        MPI_Start(&shared.send);
        for (size_t i = 0; i < THREADS; i++) {
            pthread_create(&makers[i], NULL, make_ready, (void *)i);
            pthread_create(&seers[i], NULL, see_arrive, (void *)i);
        }
        MPI_Wait(&shared.send, MPI_STATUS_IGNORE);
        for (size_t i = 0; i < THREADS; i++) {
            pthread_join(makers[i], NULL);
            pthread_join(seers[i], NULL);
        }
        MPI_Wait(&shared.receive, MPI_STATUS_IGNORE);
    }
    forget(1, &shared.send);
    forget(1, &shared.receive);
}

int main(int argc, char **argv)
{
    const char *how = argc > 1 ? argv[1] : "";
    int threaded = strcmp(how, "threads") == 0, large = strcmp(how, "large") == 0;
    size_t most = large ? LARGE : MOST;
    if (threaded)
        start_threaded(&argc, &argv);
    else
        start(&argc, &argv);
    next = (rank + 1) % size, before = (rank + size - 1) % size;
    out = malloc(most), in = malloc(most);
    CHECK(out && in);
    memset(out, 0, most);
    if (threaded) {
        threads(64, 100, 20);
        threads(16, 1 << 16, 10);
        threads(1, 5000, 10);
        threads(200, 3000, 5);
    } else if (large) {
        cut(16, 16, LARGE, 2);
        cut(16, 1, LARGE, 1);
        cut(1, 16, LARGE, 1);
    } else if (strcmp(how, "often") == 0) {
        int count = atoi(argv[2]);
        rounds(8, 8, count);
        rounds(1, 8, count);
        rounds(64, 1024, count / 10);
        made_and_freed(count / 10);
    } else {
        sizes();
        goes_at_once();
        in_order();
        scattered(4, 3, 100);
        scattered(3, 4, 2500);
        scattered(1, 7, 5);
        scattered(200, 1, 30);
        other_types();
        rounds(1, 8, 1000);
        rounds(8, 1024, 1000);
        rounds(4, 1 << 15, 1000);
        made_and_freed(60);
        nobody();
        others();
        mistakes();
    }
    free(out), free(in);
    MPI_Finalize();
    return 0;
}
