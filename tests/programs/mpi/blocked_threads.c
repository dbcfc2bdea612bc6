/* MPI_THREAD_MULTIPLE: nine threads of each rank are blocked at once, each in another call. Each is let go by what it waits for, and by nothing else, in
 * whatever order that comes. */
#include "check.h"
#include <pthread.h>

enum { RECV, PROBE, MPROBE, WAIT, WAITALL, WAITANY, SSEND, BARRIER, ALLREDUCE, KINDS };
enum { ROUNDS = 9, LARGE = 100000 };

static int right, left;
/* Of this rank and the one to its right, and of the one to its left and this one; for barriers and for reductions. */
static MPI_Comm with_right[2], with_left[2];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int round_now;
static int begun[KINDS], over[KINDS];

static void set(int *flag, int value)
{
    pthread_mutex_lock(&lock);
    *flag = value;
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&lock);
}

static void await(const int *flag, int value)
{
    pthread_mutex_lock(&lock);
    while (*flag < value)
        pthread_cond_wait(&changed, &lock);
    pthread_mutex_unlock(&lock);
}

static int has_come(const int *flag, int value)
{
    pthread_mutex_lock(&lock);
    int come = *flag >= value;
    pthread_mutex_unlock(&lock);
    return come;
}

/* What rank `from` sends in a round. */
static int value_of(int from, int kind, int round)
{
    return 10000 * from + 100 * kind + round;
}

static void block(int kind, int round)
{
    int got[2] = {-1, -1}, index, flag, expected = value_of(left, kind, round);
    MPI_Request requests[2];
    MPI_Status status;
    MPI_Message message;
    static unsigned char large[LARGE];
    switch (kind) {
    case RECV:
        MPI_Recv(got, 1, MPI_INT, left, kind, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        break;
    case PROBE:
        MPI_Probe(left, kind, MPI_COMM_WORLD, &status);
        MPI_Recv(got, 1, MPI_INT, status.MPI_SOURCE, status.MPI_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        break;
    case MPROBE:
        MPI_Mprobe(MPI_ANY_SOURCE, kind, MPI_COMM_WORLD, &message, &status);
        CHECK_INT(status.MPI_SOURCE, left);
        MPI_Mrecv(got, 1, MPI_INT, &message, MPI_STATUS_IGNORE);
        break;
    case WAIT:
        MPI_Irecv(got, 1, MPI_INT, left, kind, MPI_COMM_WORLD, &requests[0]);
        MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
        break;
    case WAITALL:
        for (int i = 0; i < 2; i++)
            MPI_Irecv(&got[i], 1, MPI_INT, left, kind + 100 * i, MPI_COMM_WORLD, &requests[i]);
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
        CHECK_INT(got[1], expected);
        break;
    case WAITANY:
        MPI_Irecv(&got[1], 1, MPI_INT, left, kind + 100, MPI_COMM_WORLD, &requests[0]);
        MPI_Irecv(&got[0], 1, MPI_INT, left, kind, MPI_COMM_WORLD, &requests[1]);
        MPI_Waitany(2, requests, &index, MPI_STATUS_IGNORE);
        CHECK_INT(index, 1);
        MPI_Cancel(&requests[0]);
        MPI_Wait(&requests[0], &status);
        MPI_Test_cancelled(&status, &flag);
        CHECK(flag);
        break;
    case SSEND:
        fill(large, LARGE, round);
        MPI_Ssend(large, round % 2 ? LARGE : 4, MPI_BYTE, right, kind, MPI_COMM_WORLD);
        got[0] = expected;
        break;
    case BARRIER:
        MPI_Barrier(with_right[0]);
        got[0] = expected;
        break;
    default:
        index = value_of(rank, kind, round);
        MPI_Allreduce(&index, got, 1, MPI_INT, MPI_SUM, with_right[1]);
        CHECK_INT(got[0], index + value_of(right, kind, round));
        got[0] = expected;
    }
    CHECK_INT(got[0], expected);
}

static void *thread(void *argument)
{
    int kind = (int)(size_t)argument;
    for (int round = 1; round <= ROUNDS; round++) {
        await(&round_now, round);
        set(&begun[kind], round);
        block(kind, round);
        set(&over[kind], round);
    }
    return NULL;
}

/* Lets the thread go that is in a call of this kind: a neighbour's. */
static void let_go(int kind, int round)
{
    static unsigned char large[LARGE];
    int value = value_of(rank, kind, round), sum, bytes;
    MPI_Status status;
    switch (kind) {
    case SSEND:
        MPI_Recv(large, LARGE, MPI_BYTE, left, kind, MPI_COMM_WORLD, &status);
        MPI_Get_count(&status, MPI_BYTE, &bytes);
        CHECK(is_filled(large, (size_t)bytes, round));
        break;
    case BARRIER:
        MPI_Barrier(with_left[0]);
        break;
    case ALLREDUCE:
        MPI_Allreduce(&value, &sum, 1, MPI_INT, MPI_SUM, with_left[1]);
        break;
    case WAITALL:
        MPI_Send(&value, 1, MPI_INT, right, kind + 100, MPI_COMM_WORLD); /* and the other one */
        /* fall through */
    default:
        MPI_Send(&value, 1, MPI_INT, right, kind, MPI_COMM_WORLD);
    }
}

int main(int argc, char **argv)
{
    int token = 0;
    pthread_t threads[KINDS];
    MPI_Group world, pair;
    start_threaded(&argc, &argv);
    CHECK(size > 1);
    right = (rank + 1) % size;
    left = (rank + size - 1) % size;
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    for (int first = 0; first < size; first++) {
        int members[2] = {first, (first + 1) % size};
        if (rank != members[0] && rank != members[1])
            continue;
        MPI_Comm *of = rank == first ? with_right : with_left;
        MPI_Group_incl(world, 2, members, &pair);
        MPI_Comm_create_group(MPI_COMM_WORLD, pair, first, &of[0]);
        MPI_Comm_dup(of[0], &of[1]);
        MPI_Group_free(&pair);
    }
    MPI_Group_free(&world);
    for (size_t kind = 0; kind < KINDS; kind++)
        pthread_create(&threads[kind], NULL, thread, (void *)kind);
    for (int round = 1; round <= ROUNDS; round++) {
        set(&round_now, round);
        for (int kind = 0; kind < KINDS; kind++)
            await(&begun[kind], round);
        /* All threads of all ranks are on their way into MPI, or there. A tenth thread goes on meanwhile. */
        for (int i = 0; i < 20; i++)
            MPI_Sendrecv_replace(&token, 1, MPI_INT, right, 200, left, 200, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        for (int i = 0; i < KINDS; i++) {
            for (int j = i; j < KINDS; j++)
                CHECK(!has_come(&over[(j + round) % KINDS], round));
            MPI_Barrier(MPI_COMM_WORLD); /* all have seen that theirs are blocked */
            int kind = (i + round) % KINDS;
            let_go(kind, round);
            await(&over[kind], round);
        }
    }
    for (int kind = 0; kind < KINDS; kind++)
        pthread_join(threads[kind], NULL);
    for (int i = 0; i < 2; i++) {
        MPI_Comm_free(&with_right[i]);
        MPI_Comm_free(&with_left[i]);
    }
    MPI_Finalize();
    return 0;
}
