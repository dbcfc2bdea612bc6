/* Bytes through windows: put, get, accumulate and get_accumulate of every size at which something may
 * change, to another rank, to oneself and to MPI_PROC_NULL, on windows of every kind, in every kind of
 * epoch, with int and with large counts. Exactly the bytes of the target change; a buffer may be used again,
 * and a result is there, when the call that says so has returned. fetch_and_op and compare_and_swap do the
 * same with one element.
 *
 *     window_data             sizes of 0 to 1 MB
 *     window_data BYTES       one size, with fences and with locks; meant for 256 MB
 *
 * For any number of ranks. */
#include "windows.h"

enum { FENCE, PSCW, LOCK, LOCK_ALL, REQUESTS, EPOCHS };
/* Places in a window; each there twice: for the rank to the left, and for the rank itself. */
enum { PUT_HERE, GET_HERE, ADD_HERE, XOR_HERE, PLACES };

static int right, left;

static int is_passive(int epoch) { return epoch >= LOCK; }

/* The calls with int counts, or those with large ones. */
static void put(int large, const void *from, size_t n, MPI_Datatype type, int to, MPI_Aint at, MPI_Win win)
{
    if (large)
        MPI_Put_c(from, (MPI_Count)n, type, to, at, (MPI_Count)n, type, win);
    else
        MPI_Put(from, (int)n, type, to, at, (int)n, type, win);
}

static void get(int large, void *into, size_t n, MPI_Datatype type, int from, MPI_Aint at, MPI_Win win)
{
    if (large)
        MPI_Get_c(into, (MPI_Count)n, type, from, at, (MPI_Count)n, type, win);
    else
        MPI_Get(into, (int)n, type, from, at, (int)n, type, win);
}

static void add(int large, const void *from, size_t n, MPI_Datatype type, int to, MPI_Aint at, MPI_Win win)
{
    if (large)
        MPI_Accumulate_c(from, (MPI_Count)n, type, to, at, (MPI_Count)n, type, MPI_SUM, win);
    else
        MPI_Accumulate(from, (int)n, type, to, at, (int)n, type, MPI_SUM, win);
}

static void get_xor(int large, const void *from, void *into, size_t n, MPI_Datatype type, int to,
                    MPI_Aint at, MPI_Win win)
{
    MPI_Count count = (MPI_Count)n;
    if (large)
        MPI_Get_accumulate_c(from, count, type, into, count, type, to, at, count, type, MPI_BXOR, win);
    else
        MPI_Get_accumulate(from, (int)n, type, into, (int)n, type, to, at, (int)n, type, MPI_BXOR, win);
}

/* The same with requests. */
static void start_all(int large, unsigned char *const *from, unsigned char *const *into, size_t n,
                      MPI_Datatype type, int to, const MPI_Aint *at, MPI_Win win, MPI_Request *requests)
{
    MPI_Count c = (MPI_Count)n;
    int i = (int)n;
    if (large) {
        MPI_Rput_c(from[0], c, type, to, at[0], c, type, win, &requests[0]);
        MPI_Rget_c(into[0], c, type, to, at[1], c, type, win, &requests[1]);
        MPI_Raccumulate_c(from[1], c, type, to, at[2], c, type, MPI_SUM, win, &requests[2]);
        MPI_Rget_accumulate_c(from[2], c, type, into[1], c, type, to, at[3], c, type, MPI_BXOR, win,
                              &requests[3]);
    } else {
        MPI_Rput(from[0], i, type, to, at[0], i, type, win, &requests[0]);
        MPI_Rget(into[0], i, type, to, at[1], i, type, win, &requests[1]);
        MPI_Raccumulate(from[1], i, type, to, at[2], i, type, MPI_SUM, win, &requests[2]);
        MPI_Rget_accumulate(from[2], i, type, into[1], i, type, to, at[3], i, type, MPI_BXOR, win,
                            &requests[3]);
    }
}

/* Adds or combines element by element what is in memory. */
static void combine(unsigned char *to, const unsigned char *from, size_t bytes, int element, int is_xor)
{
    for (size_t i = 0; i < bytes; i += (size_t)element) {
        uint64_t a = 0, b = 0;
        memcpy(&a, from + i, (size_t)element);
        memcpy(&b, to + i, (size_t)element);
        b = is_xor ? a ^ b : a + b;
        memcpy(to + i, &b, (size_t)element);
    }
}

/* What one rank brings to one of its two targets, and gets from there. */
struct transfer {
    int target, from_whom; /* And who does the same here. */
    unsigned char *from[3], *into[2];
};

static int salt_of(int who, int what, int to_itself, int round)
{
    return who * 64 + what * 8 + to_itself * 4 + round;
}

static void begin(int epoch, const struct window *w, MPI_Group targets, MPI_Group origins)
{
    switch (epoch) {
    case FENCE: MPI_Win_fence(0, w->win); break;
    case PSCW:
        MPI_Win_post(origins, 0, w->win);
        MPI_Win_start(targets, 0, w->win);
        break;
    case LOCK:
        end_own(w);
        MPI_Barrier(w->comm);
        MPI_Win_lock(MPI_LOCK_SHARED, right, 0, w->win);
        if (right != rank)
            MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, w->win);
        break;
    default:
        end_own(w);
        MPI_Barrier(w->comm);
        MPI_Win_lock_all(0, w->win);
        break;
    }
}

static void end(int epoch, const struct window *w)
{
    switch (epoch) {
    case FENCE: MPI_Win_fence(0, w->win); return;
    case PSCW:
        MPI_Win_complete(w->win);
        MPI_Win_wait(w->win);
        return;
    case LOCK:
        MPI_Win_unlock(right, w->win);
        if (right != rank)
            MPI_Win_unlock(rank, w->win);
        break;
    default: MPI_Win_unlock_all(w->win); break;
    }
    MPI_Barrier(w->comm);
    begin_own(w);
}

/* One epoch of all operations on all places with one size. */
static void exchange(const struct window *w, int epoch, size_t bytes, int round, struct transfer *transfers,
                     MPI_Group targets, MPI_Group origins)
{
    int large = round % 2, element = bytes % 8 == 0 && round / 2 % 2 ? 8 : 1;
    MPI_Datatype type = element == 8 ? MPI_UINT64_T : MPI_UINT8_T;
    size_t n = bytes / (size_t)element;
    MPI_Aint stride = (MPI_Aint)(bytes + 127) / 64 * 64;
    MPI_Request requests[8];
    for (int t = 0; t < 2; t++) {
        struct transfer *of = &transfers[t];
        for (int i = 0; i < 3; i++)
            fill(of->from[i], bytes, salt_of(rank, 4 + i, t, round));
        for (int i = 0; i < 2; i++)
            memset(of->into[i], 0x11, bytes + 1);
        for (int i = 0; i < PLACES; i++) {
            unsigned char *here = w->base + (t * PLACES + i) * stride;
            fill(here, bytes, salt_of(rank, i, t, round));
            memset(here + bytes, 0x77, (size_t)stride - bytes);
        }
    }
    begin(epoch, w, targets, origins);
    for (int t = 0; t < 2; t++) {
        struct transfer *of = &transfers[t];
        MPI_Aint at[PLACES];
        int to = of->target;
        for (int i = 0; i < PLACES; i++)
            at[i] = place(w, to, (t * PLACES + i) * stride);
        if (epoch == REQUESTS) {
            start_all(large, of->from, of->into, n, type, to, at, w->win, &requests[4 * t]);
            continue;
        }
        put(large, of->from[0], n, type, to, at[PUT_HERE], w->win);
        get(large, of->into[0], n, type, to, at[GET_HERE], w->win);
        add(large, of->from[1], n, type, to, at[ADD_HERE], w->win);
        get_xor(large, of->from[2], of->into[1], n, type, to, at[XOR_HERE], w->win);
        put(large, of->from[0], n, type, MPI_PROC_NULL, 0, w->win);
        get(large, of->into[0], n, type, MPI_PROC_NULL, 0, w->win);
        add(large, of->from[0], n, type, MPI_PROC_NULL, 0, w->win);
        get_xor(large, of->from[2], of->into[0], n, type, MPI_PROC_NULL, 0, w->win);
    }
    /* In a passive epoch all is complete here before its end. */
    if (epoch == REQUESTS && round % 3 == 0)
        MPI_Waitall(8, requests, MPI_STATUSES_IGNORE);
    else if (epoch == REQUESTS)
        for (int i = 0, at; i < 8; i++) {
            MPI_Waitany(8, requests, &at, MPI_STATUS_IGNORE);
            CHECK(at >= 0 && at < 8 && requests[at] == MPI_REQUEST_NULL);
        }
    else if (epoch == LOCK)
        for (int t = 0; t < 2; t++)
            MPI_Win_flush_local(transfers[t].target, w->win);
    else if (epoch == LOCK_ALL)
        MPI_Win_flush_local_all(w->win);
    for (int t = 0; t < 2 && is_passive(epoch); t++) {
        struct transfer *of = &transfers[t];
        CHECK(is_filled(of->into[0], bytes, salt_of(of->target, GET_HERE, t, round)));
        CHECK(is_filled(of->into[1], bytes, salt_of(of->target, XOR_HERE, t, round)));
        for (int i = 0; i < 3; i++)
            memset(of->from[i], 0xee, bytes);
    }
    end(epoch, w);
    unsigned char *expected = malloc(bytes + 1), *theirs = malloc(bytes + 1);
    for (int t = 0; t < 2; t++) {
        struct transfer *of = &transfers[t];
        int who = of->from_whom;
        CHECK(is_filled(of->into[0], bytes, salt_of(of->target, GET_HERE, t, round)));
        CHECK(is_filled(of->into[1], bytes, salt_of(of->target, XOR_HERE, t, round)));
        CHECK(of->into[0][bytes] == 0x11 && of->into[1][bytes] == 0x11);
        for (int i = 0; i < PLACES; i++) {
            unsigned char *here = w->base + (t * PLACES + i) * stride;
            fill(expected, bytes, salt_of(rank, i, t, round));
            if (i == PUT_HERE)
                fill(expected, bytes, salt_of(who, 4, t, round));
            if (i >= ADD_HERE) {
                fill(theirs, bytes, salt_of(who, i == ADD_HERE ? 5 : 6, t, round));
                combine(expected, theirs, bytes, element, i == XOR_HERE);
            }
            CHECK(memcmp(here, expected, bytes) == 0);
            for (size_t j = bytes; j < (size_t)stride; j++)
                CHECK_INT(here[j], 0x77);
        }
    }
    free(expected);
    free(theirs);
}

static void all_sizes(int kind, int epoch)
{
    static const size_t sizes[] = {0,    1,    8,    24,    25,    100,   2047,    2048,        2049,
                                   8191, 8192, 8193, 65535, 65536, 65537, 1048576, 1048576 + 1, 0};
    size_t largest = 1048576 + 1;
    struct window w =
        make_window(kind, (MPI_Aint)(largest + 127) / 64 * 64 * 2 * PLACES, 1 << rank % 4, MPI_COMM_WORLD);
    struct transfer transfers[2] = {{right, left, {0}, {0}}, {rank, rank, {0}, {0}}};
    int targets[] = {right, rank}, origins[] = {left, rank};
    MPI_Group to = group_of(&w, size > 1 ? 2 : 1, targets), from = group_of(&w, size > 1 ? 2 : 1, origins);
    for (int t = 0; t < 2; t++) {
        for (int i = 0; i < 3; i++)
            CHECK((transfers[t].from[i] = malloc(largest + 1)) != NULL);
        for (int i = 0; i < 2; i++)
            CHECK((transfers[t].into[i] = malloc(largest + 1)) != NULL);
    }
    if (is_passive(epoch))
        begin_own(&w);
    for (int i = 0; i < (int)(sizeof sizes / sizeof *sizes); i++)
        for (int round = 0; round < (sizes[i] > 2049 ? 1 : 4); round++)
            /* Large ones take turns. */
            if (sizes[i] <= 65537 || (kind + epoch + i) % 6 == 0)
                exchange(&w, epoch, sizes[i], sizes[i] > 2049 ? (kind + epoch + i) % 4 : round, transfers,
                         to, from);
    if (is_passive(epoch))
        end_own(&w);
    for (int t = 0; t < 2; t++) {
        for (int i = 0; i < 3; i++)
            free(transfers[t].from[i]);
        for (int i = 0; i < 2; i++)
            free(transfers[t].into[i]);
    }
    MPI_Group_free(&to);
    MPI_Group_free(&from);
    free_window(&w);
}

/* Buffers of no bytes need not be there; nor what MPI_NO_OP and MPI_PROC_NULL ignore. */
static void nothing(int kind)
{
    struct window w = make_window(kind, 64, 1, MPI_COMM_WORLD);
    int64_t result = -7, one = 1, compare = 0;
    fill(w.base, 64, rank);
    MPI_Win_fence(0, w.win);
    MPI_Aint at = place(&w, right, 0);
    MPI_Put(NULL, 0, MPI_BYTE, right, at, 0, MPI_BYTE, w.win);
    MPI_Get(NULL, 0, MPI_BYTE, right, at, 0, MPI_BYTE, w.win);
    MPI_Accumulate(NULL, 0, MPI_INT, right, at, 0, MPI_INT, MPI_SUM, w.win);
    MPI_Get_accumulate(NULL, 0, MPI_INT, NULL, 0, MPI_INT, right, at, 0, MPI_INT, MPI_SUM, w.win);
    MPI_Get_accumulate(NULL, 0, MPI_DATATYPE_NULL, &result, 8, MPI_BYTE, right, at, 8, MPI_BYTE, MPI_NO_OP,
                       w.win);
    MPI_Win_fence(0, w.win);
    CHECK(is_filled((unsigned char *)&result, 8, right));
    result = -7;
    MPI_Fetch_and_op(&one, &result, MPI_INT64_T, MPI_PROC_NULL, 0, MPI_SUM, w.win);
    MPI_Compare_and_swap(&one, &compare, &result, MPI_INT64_T, MPI_PROC_NULL, 0, w.win);
    MPI_Win_fence(MPI_MODE_NOSUCCEED, w.win);
    CHECK_INT(result, -7);
    CHECK(is_filled(w.base, 64, rank));
    MPI_Request requests[4];
    MPI_Win_lock_all(0, w.win);
    MPI_Rput(&one, 1, MPI_INT64_T, MPI_PROC_NULL, 0, 1, MPI_INT64_T, w.win, &requests[0]);
    MPI_Rget(&result, 1, MPI_INT64_T, MPI_PROC_NULL, 0, 1, MPI_INT64_T, w.win, &requests[1]);
    MPI_Raccumulate(&one, 1, MPI_INT64_T, MPI_PROC_NULL, 0, 1, MPI_INT64_T, MPI_SUM, w.win, &requests[2]);
    MPI_Rget_accumulate(&one, 1, MPI_INT64_T, &result, 1, MPI_INT64_T, MPI_PROC_NULL, 0, 1, MPI_INT64_T,
                        MPI_SUM, w.win, &requests[3]);
    MPI_Waitall(4, requests, MPI_STATUSES_IGNORE);
    MPI_Win_unlock_all(w.win);
    CHECK_INT(result, -7);
    free_window(&w);
}

/* One element at a time, in each kind of epoch; more of them are with the operations and the atomics. */
static void single_elements(int kind, int epoch)
{
    struct window w = make_window(kind, 64, 8, MPI_COMM_WORLD);
    int targets[] = {right, rank}, origins[] = {left, rank};
    MPI_Group to = group_of(&w, size > 1 ? 2 : 1, targets), from = group_of(&w, size > 1 ? 2 : 1, origins);
    int64_t *cells = (int64_t *)w.base, add[4], got[4] = {-9, -9, -9, -9}, compare[2], swap[2];
    if (is_passive(epoch))
        begin_own(&w);
    for (int i = 0; i < 8; i++)
        cells[i] = 100 * rank + i;
    begin(epoch, &w, to, from);
    for (int i = 0; i < 2; i++)
        add[i] = 1000 + rank + 10 * i;
    MPI_Fetch_and_op(&add[0], &got[0], MPI_INT64_T, right, place(&w, right, 8), MPI_SUM, w.win);
    MPI_Fetch_and_op(&add[1], &got[1], MPI_INT64_T, right, place(&w, right, 16), MPI_REPLACE, w.win);
    compare[0] = 100 * right + 3, compare[1] = 100 * right + 5;
    swap[0] = 5000 + rank, swap[1] = 6000 + rank;
    MPI_Compare_and_swap(&swap[0], &compare[0], &got[2], MPI_INT64_T, right, place(&w, right, 24), w.win);
    MPI_Compare_and_swap(&swap[1], &compare[1], &got[3], MPI_INT64_T, right, place(&w, right, 32), w.win);
    end(epoch, &w);
    for (int i = 0; i < 4; i++)
        CHECK_INT(got[i], 100 * right + 1 + i);
    const int64_t expected[] = {100 * rank,     1000 + left + 100 * rank + 1,
                                1010 + left,    5000 + left,
                                100 * rank + 4, 100 * rank + 5,
                                100 * rank + 6, 100 * rank + 7};
    for (int i = 0; i < 8; i++)
        CHECK_INT(cells[i], expected[i]);
    if (is_passive(epoch))
        end_own(&w);
    MPI_Group_free(&to);
    MPI_Group_free(&from);
    free_window(&w);
}

/* One size, one operation after the other, with as little memory as goes. */
static void one_size(size_t bytes, int kind, int by_locks)
{
    struct window w = make_window(kind, (MPI_Aint)bytes + 64, 1, MPI_COMM_WORLD);
    unsigned char *buffer = malloc(bytes + 1);
    size_t n = bytes / 8 * 8;
    CHECK(buffer != NULL);
    for (int step = 0; step < 4; step++) {
        if (by_locks)
            begin_own(&w);
        fill(w.base, bytes, rank);
        memset(w.base + bytes, 0x77, 64);
        fill(buffer, bytes, 50 + rank);
        if (by_locks) {
            end_own(&w);
            MPI_Barrier(MPI_COMM_WORLD);
            MPI_Win_lock(MPI_LOCK_EXCLUSIVE, right, 0, w.win);
        } else {
            MPI_Win_fence(0, w.win);
        }
        MPI_Aint at = place(&w, right, 0);
        switch (step) {
        case 0: put(1, buffer, bytes, MPI_BYTE, right, at, w.win); break;
        case 1: get(0, buffer, bytes, MPI_BYTE, right, at, w.win); break;
        case 2: add(0, buffer, n / 8, MPI_UINT64_T, right, at, w.win); break;
        default:
            MPI_Get_accumulate(NULL, 0, MPI_BYTE, buffer, (int)bytes, MPI_BYTE, right, at, (int)bytes,
                               MPI_BYTE, MPI_NO_OP, w.win);
        }
        if (by_locks) {
            MPI_Win_unlock(right, w.win);
            MPI_Barrier(MPI_COMM_WORLD);
            begin_own(&w);
        } else {
            MPI_Win_fence(0, w.win);
        }
        if (step == 2) {
            fill(buffer, bytes, 50 + left);
            for (size_t i = 0; i < n; i += 8) {
                unsigned char mine[8];
                for (size_t j = 0; j < 8; j++)
                    mine[j] = byte_of(i + j, rank);
                combine(buffer + i, mine, 8, 8, 0);
            }
            CHECK(memcmp(w.base, buffer, n) == 0);
        } else {
            CHECK(is_filled(w.base, bytes, step == 0 ? 50 + left : rank));
            CHECK(is_filled(buffer, bytes, step % 2 ? right : 50 + rank));
        }
        for (int i = 0; i < 64; i++)
            CHECK_INT(w.base[bytes + (size_t)i], 0x77);
        if (by_locks)
            end_own(&w);
    }
    free(buffer);
    free_window(&w);
}

int main(int argc, char **argv)
{
    start_windows(&argc, &argv);
    right = (rank + 1) % size;
    left = (rank + size - 1) % size;
    if (argc > 1) {
        size_t bytes = strtoull(argv[1], NULL, 10);
        one_size(bytes, ON_HEAP, 0);
        one_size(bytes, ALLOCATED, 1);
        return MPI_Finalize();
    }
    for (int kind = 0; kind < WINDOW_KINDS; kind++) {
        if (!can_be_made(kind, MPI_COMM_WORLD))
            continue;
        nothing(kind);
        for (int epoch = 0; epoch < EPOCHS; epoch++) {
            single_elements(kind, epoch);
            all_sizes(kind, epoch);
        }
    }
    one_size(65544, ON_ALLOC_MEM, 1);
    return MPI_Finalize();
}
