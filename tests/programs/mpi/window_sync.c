/* Synchronisation of windows. What an epoch has written is there when the call that ends or awaits it has
 * returned: fences with every assertion that holds; general active target synchronisation along graphs that
 * change, with groups that differ from rank to rank and may be empty, tested or awaited; a post that waits
 * for nobody; exclusive locks under contention, which nobody else enters; shared locks, which several hold
 * at once; locks that guard loads and stores of the owner; locks without checks; flushes of one target and
 * of all, here and there; what one rank has flushed, a third one sees; a target that computes, calls no MPI,
 * and sees what others write into its memory; epochs of several windows at the same time, and of windows
 * whose members are a part of the ranks; requests, any number of them, awaited in any way, beside messages.
 *
 *     window_sync [KIND]     only that kind of windows (0 to 4)
 *
 * For any number of ranks. */
#include "windows.h"
#include "random_types.h"
#include <time.h>

static int right, left;

static double seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

/* Fences; assertions are true: of the first one, of those around an epoch without stores or without puts, of
 * the last. */
static void fences(int kind)
{
    struct window w = make_window(kind, 64, 4, MPI_COMM_WORLD);
    int *cells = (int *)w.base, got;
    for (int i = 0; i < 16; i++)
        cells[i] = -1;
    for (int round = 0; round < 40; round++) {
        int put = 1000 * round + rank;
        MPI_Win_fence(MPI_MODE_NOPRECEDE, w.win);
        /* An epoch of puts. */
        MPI_Put(&put, 1, MPI_INT, right, place(&w, right, 4 * (round % 4)), 1, MPI_INT, w.win);
        MPI_Win_fence(round % 2 ? MPI_MODE_NOSTORE : 0, w.win);
        CHECK_INT(cells[round % 4], 1000 * round + left);
        /* One of stores; nothing has been issued before the next fence. */
        cells[4 + round % 4] = 2000 * round + rank;
        MPI_Win_fence(round % 2 ? MPI_MODE_NOPUT | MPI_MODE_NOPRECEDE : MPI_MODE_NOPUT, w.win);
        /* One of gets: nobody's window is updated, and nobody stores. */
        got = -1;
        MPI_Get(&got, 1, MPI_INT, left, place(&w, left, 4 * (4 + round % 4)), 1, MPI_INT, w.win);
        MPI_Win_fence(MPI_MODE_NOSTORE | MPI_MODE_NOSUCCEED, w.win);
        CHECK_INT(got, 2000 * round + left);
        /* One in which only rank 0 does anything, to all. */
        MPI_Win_fence(MPI_MODE_NOPRECEDE | MPI_MODE_NOSTORE, w.win);
        for (int target = 0; rank == 0 && target < size; target++) {
            static int values[64];
            int *value = &values[target % 64];
            *value = 3000 * round + target % 64;
            MPI_Put(value, 1, MPI_INT, target, place(&w, target, 32), 1, MPI_INT, w.win);
        }
        MPI_Win_fence(MPI_MODE_NOSTORE | MPI_MODE_NOPUT | MPI_MODE_NOSUCCEED, w.win);
        CHECK_INT(cells[8], 3000 * round + rank % 64);
        /* One of nothing. */
        MPI_Win_fence(MPI_MODE_NOSTORE | MPI_MODE_NOPUT | MPI_MODE_NOPRECEDE | MPI_MODE_NOSUCCEED, w.win);
    }
    free_window(&w);
}

/* Whether rank `from` accesses rank `to` in a round. */
static int is_edge(int from, int to, int round)
{
    switch (round % 5) {
    case 0: return to == (from + 1) % size;
    case 1: return to == 0;
    case 2: return from == size - 1;
    case 3: return key_of((uint64_t)from, (uint64_t)to, (uint64_t)round, 1) % 2 == 0;
    default: return key_of((uint64_t)from, (uint64_t)to, (uint64_t)round, 1) % 5 == 0;
    }
}

/* Post, start, complete and wait along another graph in each round; groups may be empty, in any order, with
 * oneself. */
static void graphs(int kind, int rounds)
{
    struct window w = make_window(kind, (MPI_Aint)8 * size, 8, MPI_COMM_WORLD);
    int64_t *cells = (int64_t *)w.base, *values = malloc(sizeof(int64_t) * (size_t)size), before = -1;
    int *origins = malloc(sizeof(int) * (size_t)size), *targets = malloc(sizeof(int) * (size_t)size);
    for (int round = 0; round < rounds; round++) {
        int ins = 0, outs = 0, flag = 0;
        for (int i = 0; i < size; i++) {
            int other = round % 2 ? size - 1 - i : i;
            cells[i] = before;
            if (is_edge(other, rank, round))
                origins[ins++] = other;
            if (is_edge(rank, other, round))
                targets[outs++] = other;
        }
        MPI_Group from = group_of(&w, ins, origins), to = group_of(&w, outs, targets);
        /* A call with an empty group does nothing, and may be left out. */
        int posts = ins || round % 3, starts = outs || round % 3;
        if (posts)
            MPI_Win_post(from, ins ? 0 : MPI_MODE_NOPUT, w.win);
        if (starts)
            MPI_Win_start(to, 0, w.win);
        MPI_Group_free(&from);
        MPI_Group_free(&to);
        for (int i = 0; i < outs; i++) {
            values[i] = 1000000 * (int64_t)round + 1000 * rank + targets[i];
            MPI_Aint at = place(&w, targets[i], 8 * rank);
            if (round % 3 == 0)
                MPI_Accumulate(&values[i], 1, MPI_INT64_T, targets[i], at, 1, MPI_INT64_T, MPI_REPLACE,
                               w.win);
            else
                MPI_Put(&values[i], 1, MPI_INT64_T, targets[i], at, 1, MPI_INT64_T, w.win);
        }
        if (starts)
            MPI_Win_complete(w.win);
        if (posts && round % 2)
            MPI_Win_wait(w.win);
        else if (posts)
            while (!flag)
                MPI_Win_test(w.win, &flag);
        for (int i = 0; i < size; i++)
            CHECK_INT(cells[i],
                      is_edge(i, rank, round) ? 1000000 * (int64_t)round + 1000 * i + rank : before);
        before = -1 - round;
        /* One may post for the next round while another one is in this one. */
        if (!is_held("early_posts"))
            MPI_Barrier(MPI_COMM_WORLD);
    }
    free(values);
    free(origins);
    free(targets);
    free_window(&w);
}

/* A post that comes early is for a later start: neither one of other ranks nor one of none takes it for its
 * own. */
static void early_posts(int kind)
{
    struct window w = make_window(kind, 8, 4, MPI_COMM_WORLD);
    int *cells = (int *)w.base, token = 0, value = 7, flag, early = size > 2 ? 2 : 1, zero = 0, one = 1;
    MPI_Group origin = group_of(&w, 1, &zero), late = group_of(&w, size > 2, &one),
              to = group_of(&w, 1, &early);
    cells[0] = -1;
    if (rank == early) {
        MPI_Win_post(origin, 0, w.win);
        MPI_Send(&token, 1, MPI_INT, 0, 6, MPI_COMM_WORLD);
        MPI_Win_wait(w.win);
    } else if (rank == 0) {
        MPI_Recv(&token, 1, MPI_INT, early, 6, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Win_start(late, 0, w.win);
        if (size > 2)
            MPI_Put(&value, 1, MPI_INT, 1, place(&w, 1, 0), 1, MPI_INT, w.win);
        MPI_Win_complete(w.win);
        MPI_Win_start(to, 0, w.win);
        MPI_Put(&value, 1, MPI_INT, early, place(&w, early, 0), 1, MPI_INT, w.win);
        MPI_Win_complete(w.win);
    } else if (rank == 1) {
        for (double begun = seconds(); seconds() - begun < 0.05;)
            MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
        cells[0] = 1;
        MPI_Win_post(origin, 0, w.win);
        MPI_Win_wait(w.win);
    }
    CHECK_INT(cells[0], rank == 1 || rank == early ? 7 : -1);
    MPI_Group_free(&origin);
    MPI_Group_free(&late);
    MPI_Group_free(&to);
    free_window(&w);
}

/* MPI_Win_test is false as long as the origin has not completed, and has no effect then. */
static void tests(int kind)
{
    struct window w = make_window(kind, 8, 4, MPI_COMM_WORLD);
    int *cells = (int *)w.base, flag = -1, token = 0, value = 70 + rank;
    MPI_Group from = group_of(&w, 1, &left), to = group_of(&w, 1, &right);
    for (int round = 0; round < 10; round++) {
        cells[0] = -1;
        MPI_Win_post(from, MPI_MODE_NOCHECK, w.win);
        for (int i = 0; i < 3; i++) {
            MPI_Win_test(w.win, &flag);
            CHECK_INT(flag, 0);
        }
        /* The origin begins when it has this message: one may post, and send after that. */
        MPI_Sendrecv(&rank, 1, MPI_INT, left, 1, &token, 1, MPI_INT, right, 1, MPI_COMM_WORLD,
                     MPI_STATUS_IGNORE);
        MPI_Win_start(to, MPI_MODE_NOCHECK, w.win);
        MPI_Put(&value, 1, MPI_INT, right, place(&w, right, 0), 1, MPI_INT, w.win);
        /* Nobody completes before all have tested. */
        MPI_Win_test(w.win, &flag);
        CHECK_INT(flag, 0);
        MPI_Barrier(MPI_COMM_WORLD);
        MPI_Win_complete(w.win);
        for (flag = 0; !flag;)
            MPI_Win_test(w.win, &flag);
        CHECK_INT(cells[0], 100 * round + 70 + left);
        value += 100;
        MPI_Barrier(MPI_COMM_WORLD);
    }
    MPI_Group_free(&from);
    MPI_Group_free(&to);
    free_window(&w);
}

/* After the post, start and complete need nothing more of the target, which waits elsewhere in MPI. */
static void target_waits_elsewhere(int kind)
{
    struct window w = make_window(kind, 1 << 20, 1, MPI_COMM_WORLD);
    unsigned char *out = malloc(1 << 20);
    int token = 0;
    if (size > 1) {
        MPI_Group from = group_of(&w, 1, &left), to = group_of(&w, 1, &right);
        for (size_t bytes = 1; bytes <= 1 << 20; bytes *= 32) {
            memset(w.base, 0, bytes);
            fill(out, bytes, rank);
            if (rank % 2) {
                MPI_Win_post(from, 0, w.win);
                MPI_Recv(&token, 1, MPI_INT, left, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
                MPI_Win_wait(w.win);
                CHECK(is_filled(w.base, bytes, left));
            } else if (right % 2) {
                MPI_Win_start(to, 0, w.win);
                MPI_Put(out, (int)bytes, MPI_BYTE, right, place(&w, right, 0), (int)bytes, MPI_BYTE, w.win);
                MPI_Win_complete(w.win);
                MPI_Send(&token, 1, MPI_INT, right, 2, MPI_COMM_WORLD);
            }
        }
        MPI_Group_free(&from);
        MPI_Group_free(&to);
    }
    free(out);
    free_window(&w);
}

/* A counter that is read, and written with one more: each rank so often, under exclusive locks. And an array
 * beside it which is written whole, and found whole under shared locks. */
static void exclusive(int kind, int times)
{
    enum { WORDS = 200 };
    struct window w = make_window(kind, 8 * (WORDS + 1), 8, MPI_COMM_WORLD);
    int64_t words[WORDS], *own = (int64_t *)w.base;
    int owner = size / 2;
    begin_own(&w);
    memset(w.base, 0, 8 * (WORDS + 1));
    end_own(&w);
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < times; i++) {
        int64_t count = -1;
        if (rank == owner && i % 2) {
            /* The owner's loads and stores are guarded by a lock of its own window. */
            begin_own(&w);
            count = own[0];
            for (int j = 0; j < WORDS; j++)
                CHECK_INT(own[1 + j], count);
            own[0]++;
            for (int j = 0; j < WORDS; j++)
                own[1 + j]++;
            end_own(&w);
            continue;
        }
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, owner, 0, w.win);
        MPI_Get(&count, 1, MPI_INT64_T, owner, place(&w, owner, 0), 1, MPI_INT64_T, w.win);
        MPI_Win_flush(owner, w.win);
        count++;
        MPI_Put(&count, 1, MPI_INT64_T, owner, place(&w, owner, 0), 1, MPI_INT64_T, w.win);
        for (int j = 0; j < WORDS; j++)
            words[j] = count;
        MPI_Put(words, WORDS, MPI_INT64_T, owner, place(&w, owner, 8), WORDS, MPI_INT64_T, w.win);
        MPI_Win_unlock(owner, w.win);
        if (i % 4)
            continue;
        MPI_Win_lock(MPI_LOCK_SHARED, owner, 0, w.win);
        MPI_Get(&count, 1, MPI_INT64_T, owner, place(&w, owner, 0), 1, MPI_INT64_T, w.win);
        MPI_Get(words, WORDS, MPI_INT64_T, owner, place(&w, owner, 8), WORDS, MPI_INT64_T, w.win);
        MPI_Win_unlock(owner, w.win);
        for (int j = 0; j < WORDS; j++)
            CHECK_INT(words[j], count);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == owner) {
        begin_own(&w);
        CHECK_INT(own[0], (int64_t)times * size);
        end_own(&w);
    }
    free_window(&w);
}

/* All hold shared locks of all at the same time: each waits within for the others. */
static void shared_at_once(int kind)
{
    struct window w = make_window(kind, 64, 1, MPI_COMM_WORLD);
    for (int all = 0; all < 2; all++) {
        if (all)
            MPI_Win_lock_all(0, w.win);
        for (int target = 0; !all && target < size; target++)
            MPI_Win_lock(MPI_LOCK_SHARED, target, 0, w.win);
        /* The locks are really there: they could be taken late, but not after this. */
        unsigned char byte = 0, got;
        for (int target = 0; target < size; target++)
            MPI_Get_accumulate(&byte, 1, MPI_BYTE, &got, 1, MPI_BYTE, target, place(&w, target, 0), 1,
                               MPI_BYTE, MPI_NO_OP, w.win);
        MPI_Win_flush_all(w.win);
        MPI_Barrier(MPI_COMM_WORLD);
        for (int target = size - 1; !all && target >= 0; target--)
            MPI_Win_unlock(target, w.win);
        if (all)
            MPI_Win_unlock_all(w.win);
    }
    free_window(&w);
}

/* Without checks, where messages order the epochs: a token goes round, and who has it locks the next rank.
 */
static void without_checks(int kind)
{
    struct window w = make_window(kind, 64, 4, MPI_COMM_WORLD);
    int token = 0, *cells = (int *)w.base;
    begin_own(&w);
    memset(w.base, 0, 64);
    end_own(&w);
    MPI_Barrier(MPI_COMM_WORLD);
    for (int round = 0; round < 50; round++) {
        if (size > 1 && (rank > 0 || round > 0))
            MPI_Recv(&token, 1, MPI_INT, left, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        /* Nobody else may lock the own window before the token has gone on. */
        MPI_Win_lock(MPI_LOCK_SHARED, rank, MPI_MODE_NOCHECK, w.win);
        if (rank > 0 || round > 0)
            CHECK_INT(cells[1], 100 * (rank > 0 ? round : round - 1) + left);
        MPI_Win_unlock(rank, w.win);
        int value = 100 * round + rank;
        MPI_Win_lock(round % 2 ? MPI_LOCK_SHARED : MPI_LOCK_EXCLUSIVE, right, MPI_MODE_NOCHECK, w.win);
        MPI_Put(&value, 1, MPI_INT, right, place(&w, right, 4), 1, MPI_INT, w.win);
        MPI_Win_unlock(right, w.win);
        if (size > 1 && (rank < size - 1 || round < 49))
            MPI_Send(&token, 1, MPI_INT, right, 3, MPI_COMM_WORLD);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_lock_all(MPI_MODE_NOCHECK, w.win);
    MPI_Put(&rank, 1, MPI_INT, right, place(&w, right, 12), 1, MPI_INT, w.win);
    MPI_Win_unlock_all(w.win);
    MPI_Barrier(MPI_COMM_WORLD);
    begin_own(&w);
    CHECK_INT(cells[3], left);
    end_own(&w);
    MPI_Barrier(MPI_COMM_WORLD);
    /* And posts that are known to have been made before. */
    MPI_Group from = group_of(&w, 1, &left), to = group_of(&w, 1, &right);
    for (int round = 0; round < 20; round++) {
        MPI_Win_post(from, MPI_MODE_NOCHECK, w.win);
        MPI_Barrier(MPI_COMM_WORLD);
        MPI_Win_start(to, MPI_MODE_NOCHECK, w.win);
        MPI_Put(&round, 1, MPI_INT, right, place(&w, right, 8), 1, MPI_INT, w.win);
        MPI_Win_complete(w.win);
        MPI_Win_wait(w.win);
        CHECK_INT(cells[2], round);
    }
    MPI_Group_free(&from);
    MPI_Group_free(&to);
    free_window(&w);
}

/* What is flushed is at the target: rank r writes to the right, tells the rank to its left, and that one
 * reads it. */
static void flushes(int kind)
{
    enum { BYTES = 20000 };
    struct window w = make_window(kind, 2 * BYTES, 1, MPI_COMM_WORLD);
    unsigned char *out = malloc(BYTES), *in = malloc(BYTES);
    int token = 0, third = (right + 1) % size;
    MPI_Win_lock_all(0, w.win);
    for (int round = 0; round < 12; round++) {
        size_t bytes = round % 3 == 0 ? 8 : round % 3 == 1 ? 3000 : BYTES;
        fill(out, bytes, rank + round);
        MPI_Put(out, (int)bytes, MPI_BYTE, right, place(&w, right, 0), (int)bytes, MPI_BYTE, w.win);
        switch (round / 3) {
        case 0: MPI_Win_flush(right, w.win); break;
        case 1: MPI_Win_flush_all(w.win); break;
        case 2:
            /* The buffer may be used again after a local flush; the bytes are there after the other one. */
            MPI_Win_flush_local(right, w.win);
            memset(out, 0xff, bytes);
            MPI_Win_flush(right, w.win);
            break;
        default:
            MPI_Win_flush_local_all(w.win);
            memset(out, 0xff, bytes);
            MPI_Win_flush_all(w.win);
        }
        MPI_Sendrecv(&rank, 1, MPI_INT, left, 4, &token, 1, MPI_INT, right, 4, MPI_COMM_WORLD,
                     MPI_STATUS_IGNORE);
        /* The right one has written to the rank after it. */
        memset(in, 0, bytes);
        MPI_Get(in, (int)bytes, MPI_BYTE, third, place(&w, third, 0), (int)bytes, MPI_BYTE, w.win);
        if (round % 2)
            MPI_Win_flush_local(third, w.win);
        else
            MPI_Win_flush_all(w.win);
        CHECK(is_filled(in, bytes, right + round));
        MPI_Barrier(MPI_COMM_WORLD);
    }
    /* Flushes without anything to flush. */
    for (int target = 0; target < size; target++) {
        MPI_Win_flush(target, w.win);
        MPI_Win_flush_local(target, w.win);
    }
    MPI_Win_flush_all(w.win);
    MPI_Win_flush_local_all(w.win);
    MPI_Win_unlock_all(w.win);
    free(out);
    free(in);
    free_window(&w);
}

static void await_cell(const volatile int64_t *cell, int64_t value)
{
    double begun = seconds();
    int flag, progresses = is_held("progress");
    while (*cell != value) {
        if (!progresses)
            MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
        if (seconds() - begun > 30) {
            fprintf(stderr, "window_sync: rank %d has computed for 30 s, and nothing came: %lld, not %lld\n",
                    rank, (long long)*cell, (long long)value);
            MPI_Abort(MPI_COMM_WORLD, 99);
        }
    }
}

/* Odd ranks compute, and call no MPI until they see a value in their windows. All calls of the ranks to
 * their left end all the same: puts, gets, accumulates, fetches, of any size, with flushes and with locks.
 */
static void computing_target(int kind, int with_locks)
{
    enum { WORDS = 10000, BEHIND = WORDS + 8 };
    struct window w = make_window(kind, 8 * (BEHIND + 8), 8, MPI_COMM_WORLD);
    int64_t *cells = (int64_t *)w.base, *out = malloc(8 * WORDS), *in = malloc(8 * WORDS), one = 1, got = -1;
    int *model, flag;
    MPI_Win_get_attr(w.win, MPI_WIN_MODEL, &model, &flag);
    begin_own(&w);
    for (int i = 0; i < BEHIND + 8; i++)
        cells[i] = i;
    end_own(&w);
    MPI_Barrier(MPI_COMM_WORLD);
    if (*model == MPI_WIN_UNIFIED && size > 1 && (rank % 2 ? 1 : right % 2)) {
        if (rank % 2) {
            if (!with_locks)
                MPI_Win_lock_all(0, w.win);
            for (int round = 1; round <= 3; round++) {
                await_cell(&cells[BEHIND], -round);
                if (!with_locks)
                    MPI_Win_sync(w.win);
                for (int i = 0; i < WORDS; i++)
                    CHECK_INT(cells[i], 1000 * round + i);
                CHECK_INT(cells[WORDS], WORDS + 2 * round);
                CHECK_INT(cells[WORDS + 1], round % 2 ? 77 : WORDS + 1);
                /* The answer is a store, which the origin gets. */
                *(volatile int64_t *)&cells[BEHIND + 1] = -round;
                if (!with_locks)
                    MPI_Win_sync(w.win);
            }
            await_cell(&cells[BEHIND], -4);
            if (!with_locks)
                MPI_Win_unlock_all(w.win);
        } else {
            if (!with_locks)
                MPI_Win_lock_all(0, w.win);
            for (int round = 1; round <= 4; round++) {
                if (with_locks)
                    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, right, 0, w.win);
                for (int i = 0; i < WORDS; i++)
                    out[i] = 1000 * round + i;
                if (round < 4) {
                    int64_t from = round % 2 ? WORDS + 1 : 77, to = round % 2 ? 77 : WORDS + 1;
                    MPI_Get(in, WORDS, MPI_INT64_T, right, place(&w, right, 0), WORDS, MPI_INT64_T, w.win);
                    MPI_Win_flush(right, w.win);
                    for (int i = 0; i < WORDS; i++)
                        CHECK_INT(in[i], (round > 1 ? 1000 * (round - 1) : 0) + i);
                    MPI_Put(out, WORDS, MPI_INT64_T, right, place(&w, right, 0), WORDS, MPI_INT64_T, w.win);
                    MPI_Accumulate(&one, 1, MPI_INT64_T, right, place(&w, right, 8 * WORDS), 1, MPI_INT64_T,
                                   MPI_SUM, w.win);
                    MPI_Fetch_and_op(&one, &got, MPI_INT64_T, right, place(&w, right, 8 * WORDS), MPI_SUM,
                                     w.win);
                    MPI_Win_flush(right, w.win);
                    CHECK_INT(got, WORDS + 2 * round - 1);
                    MPI_Compare_and_swap(&to, &from, &got, MPI_INT64_T, right,
                                         place(&w, right, 8 * (WORDS + 1)), w.win);
                    MPI_Win_flush(right, w.win);
                    CHECK_INT(got, from);
                }
                int64_t signal = -round;
                MPI_Accumulate(&signal, 1, MPI_INT64_T, right, place(&w, right, 8 * BEHIND), 1, MPI_INT64_T,
                               MPI_REPLACE, w.win);
                MPI_Win_flush(right, w.win);
                double begun = seconds();
                for (got = 0; round < 4 && got != -round;) {
                    MPI_Get(&got, 1, MPI_INT64_T, right, place(&w, right, 8 * (BEHIND + 1)), 1, MPI_INT64_T,
                            w.win);
                    MPI_Win_flush(right, w.win);
                    CHECK(seconds() - begun < 30);
                }
                if (with_locks)
                    MPI_Win_unlock(right, w.win);
            }
            if (!with_locks)
                MPI_Win_unlock_all(w.win);
        }
    }
    free(out);
    free(in);
    free_window(&w);
}

/* Epochs of different kinds overlap, each on a window of its own. */
static void several_windows(void)
{
    enum { WINDOWS = 6 };
    struct window w[WINDOWS];
    int value[WINDOWS], got = -1;
    MPI_Group from, to;
    for (int i = 0; i < WINDOWS; i++) {
        w[i] = make_window(i % 2 ? ALLOCATED : ON_HEAP, 64, 4, MPI_COMM_WORLD);
        memset(w[i].base, 0xff, 64);
    }
    from = group_of(&w[1], 1, &left), to = group_of(&w[1], 1, &right);
    for (int round = 0; round < 30; round++) {
        for (int i = 0; i < WINDOWS; i++)
            value[i] = 10000 * i + 100 * round + rank % 100;
        MPI_Win_post(from, 0, w[1].win);
        MPI_Win_fence(0, w[0].win);
        MPI_Win_lock_all(0, w[2].win);
        MPI_Win_post(from, 0, w[4].win);
        MPI_Win_start(to, 0, w[4].win);
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, right, 0, w[3].win);
        MPI_Win_start(to, 0, w[1].win);
        MPI_Win_fence(0, w[5].win);
        for (int i = WINDOWS - 1; i >= 0; i--)
            MPI_Put(&value[i], 1, MPI_INT, right, place(&w[i], right, 4 * (round % 16)), 1, MPI_INT,
                    w[i].win);
        MPI_Win_complete(w[1].win);
        MPI_Win_unlock(right, w[3].win);
        MPI_Win_fence(0, w[0].win);
        MPI_Win_wait(w[1].win);
        MPI_Win_flush(right, w[2].win);
        MPI_Win_fence(0, w[5].win);
        MPI_Win_unlock_all(w[2].win);
        MPI_Win_complete(w[4].win);
        MPI_Win_wait(w[4].win);
        MPI_Barrier(MPI_COMM_WORLD);
        for (int i = 0; i < WINDOWS; i++) {
            if (i == 2 || i == 3)
                begin_own(&w[i]);
            memcpy(&got, w[i].base + 4 * (round % 16), 4);
            CHECK_INT(got, 10000 * i + 100 * round + left % 100);
            if (i == 2 || i == 3)
                end_own(&w[i]);
        }
        MPI_Barrier(MPI_COMM_WORLD);
    }
    MPI_Group_free(&from);
    MPI_Group_free(&to);
    for (int i = 0; i < WINDOWS; i++)
        free_window(&w[i]);
}

/* Windows of a part of the ranks, of which each has epochs of its own number, beside a window of all. */
static void parts(int kind)
{
    MPI_Comm part;
    struct window all = make_window(kind == SHARED ? ALLOCATED : kind, 64, 4, MPI_COMM_WORLD);
    MPI_Comm_split(MPI_COMM_WORLD, rank % 3 == 1, -rank, &part);
    if (can_be_made(kind, part)) {
        struct window w = make_window(kind, 64, 4, part);
        int next = (w.rank + 1) % w.ranks, previous = (w.rank + w.ranks - 1) % w.ranks,
            *cells = (int *)w.base;
        for (int i = 0; i < 10 + 15 * (rank % 3 == 1); i++) {
            int value = 100 * i + w.rank;
            MPI_Win_fence(0, w.win);
            MPI_Put(&value, 1, MPI_INT, next, place(&w, next, 4 * (i % 16)), 1, MPI_INT, w.win);
            MPI_Win_fence(MPI_MODE_NOSUCCEED, w.win);
            CHECK_INT(cells[i % 16], 100 * i + previous);
        }
        MPI_Barrier(part);
        for (int i = 0; i < 10 + 5 * (rank % 3 == 1); i++) {
            int one = 1;
            MPI_Win_lock(i % 2 ? MPI_LOCK_SHARED : MPI_LOCK_EXCLUSIVE, 0, 0, w.win);
            MPI_Accumulate(&one, 1, MPI_INT, 0, place(&w, 0, 60), 1, MPI_INT, MPI_SUM, w.win);
            MPI_Win_unlock(0, w.win);
        }
        free_window(&w);
    }
    MPI_Comm_free(&part);
    MPI_Win_fence(0, all.win);
    MPI_Put(&rank, 1, MPI_INT, right, place(&all, right, 0), 1, MPI_INT, all.win);
    MPI_Win_fence(0, all.win);
    int got;
    memcpy(&got, all.base, 4);
    CHECK_INT(got, left);
    free_window(&all);
}

/* Many requests at a time, awaited in every way, beside a message; and some after the epoch's end. */
static void requests(int kind)
{
    enum { COUNT = 300 };
    struct window w = make_window(kind, 8 * 4 * COUNT, 8, MPI_COMM_WORLD);
    MPI_Request all[COUNT + 2];
    MPI_Status statuses[COUNT + 2];
    int64_t *cells = (int64_t *)w.base, out[COUNT], in[COUNT], one = 1, got = -1;
    static int indices[COUNT + 2];
    for (int way = 0; way < 7; way++) {
        begin_own(&w);
        for (int i = 0; i < 4 * COUNT; i++)
            cells[i] = 10000 * rank + i;
        end_own(&w);
        MPI_Barrier(MPI_COMM_WORLD);
        MPI_Win_lock_all(0, w.win);
        for (int i = 0; i < COUNT; i++) {
            int k = i % 3;
            out[i] = 1000000 * way + 1000 * rank + i, in[i] = -1;
            MPI_Aint at = place(&w, right, 8 * (k * COUNT + i));
            if (k == 0)
                MPI_Rput(&out[i], 1, MPI_INT64_T, right, at, 1, MPI_INT64_T, w.win, &all[i]);
            else if (k == 1)
                MPI_Rget(&in[i], 1, MPI_INT64_T, right, at, 1, MPI_INT64_T, w.win, &all[i]);
            else
                MPI_Rget_accumulate(&one, 1, MPI_INT64_T, &in[i], 1, MPI_INT64_T, right, at, 1, MPI_INT64_T,
                                    MPI_SUM, w.win, &all[i]);
        }
        MPI_Irecv(&got, 1, MPI_INT64_T, left, 5, MPI_COMM_WORLD, &all[COUNT]);
        MPI_Isend(&out[1], 1, MPI_INT64_T, right, 5, MPI_COMM_WORLD, &all[COUNT + 1]);
        int total = COUNT + 2, done = 0, flag = 0, count, index;
        for (int i = 0; i < total; i++)
            statuses[i].MPI_ERROR = MPI_SUCCESS;
        switch (way) {
        case 0: MPI_Waitall(total, all, MPI_STATUSES_IGNORE); break;
        case 1:
            while (done < total) {
                MPI_Waitsome(total, all, &count, indices, statuses);
                CHECK(count > 0);
                done += count;
            }
            break;
        case 2:
            for (; done < total; done++)
                MPI_Waitany(total, all, &index, statuses);
            break;
        case 3:
            while (!flag)
                MPI_Testall(total, all, &flag, statuses);
            break;
        case 4:
            for (int i = total - 1; i >= 0; i--)
                for (flag = 0; !flag;)
                    MPI_Test(&all[i], &flag, MPI_STATUS_IGNORE);
            break;
        case 5:
            /* The flush completes the operations; their requests are left to be waited for. */
            MPI_Win_flush_all(w.win);
            for (int i = 0; i < COUNT; i++)
                CHECK(i % 3 == 0 || in[i] == 10000 * right + i % 3 * COUNT + i);
            MPI_Waitall(total, all, statuses);
            break;
        default:
            MPI_Win_unlock_all(w.win);
            MPI_Waitall(total, all, statuses);
            break;
        }
        for (int i = 0; i < total; i++)
            CHECK(all[i] == MPI_REQUEST_NULL);
        for (int i = 0; i < COUNT; i++)
            CHECK(i % 3 == 0 || in[i] == 10000 * right + i % 3 * COUNT + i);
        CHECK_INT(got, 1000000 * way + 1000 * left + 1);
        if (way != 6)
            MPI_Win_unlock_all(w.win);
        MPI_Barrier(MPI_COMM_WORLD);
        begin_own(&w);
        for (int k = 0; k < 4; k++)
            for (int i = 0; i < COUNT; i++) {
                int64_t before = 10000 * rank + k * COUNT + i;
                CHECK_INT(cells[k * COUNT + i], k == 0 && i % 3 == 0   ? 1000000 * way + 1000 * left + i
                                                : k == 2 && i % 3 == 2 ? before + 1
                                                                       : before);
            }
        end_own(&w);
        MPI_Barrier(MPI_COMM_WORLD);
    }
    free_window(&w);
}

int main(int argc, char **argv)
{
    start_windows(&argc, &argv);
    right = (rank + 1) % size;
    left = (rank + size - 1) % size;
    for (int kind = 0; kind < WINDOW_KINDS; kind++) {
        if (!can_be_made(kind, MPI_COMM_WORLD) || (argc > 1 && kind != atoi(argv[1])))
            continue;
        fences(kind);
        graphs(kind, 60);
        if (size > 1 && is_held("early_posts"))
            early_posts(kind);
        tests(kind);
        target_waits_elsewhere(kind);
        exclusive(kind, kind == ALLOCATED ? 1000 : 100);
        shared_at_once(kind);
        without_checks(kind);
        flushes(kind);
        computing_target(kind, 0);
        computing_target(kind, 1);
        parts(kind);
        requests(kind);
    }
    several_windows();
    return MPI_Finalize();
}
