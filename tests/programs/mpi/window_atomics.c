/* Accumulates of many origins to the same place are as if one came after the other, element by element;
 * those of one origin come in the order of the program: fetch_and_op and compare_and_swap on one counter by
 * all ranks show each value exactly once, to each rank in order; a ticket lock and the lock of
 * Mellor-Crummey and Scott that are built of them let one rank in at a time; sums, products, extremes and
 * bits of all ranks on ranges that overlap, of one element and of many, are complete; a write is seen by a
 * later read of the same origin, not by an earlier one, and the last one stays, whatever the sizes; an
 * element is read whole by MPI_NO_OP while others replace it, also one of 16 bytes and one of a value and an
 * index.
 *
 *     window_atomics [TIMES [KIND]]     so many rounds of each rank (300), on that kind of windows only (0
 * to 4)
 *
 * For any number of ranks. */
#include "windows.h"
#include <complex.h>

static int times = 300;

static void clear(struct window *w)
{
    begin_own(w);
    memset(w->base, 0, (size_t)w->bytes);
    end_own(w);
    MPI_Barrier(MPI_COMM_WORLD);
}

/* All values of all ranks: each from 0 to `size` times `count` once, and those of a rank in order. */
static void once_each(const int64_t *mine, int count, const char *what)
{
    int64_t *all = malloc(sizeof(int64_t) * (size_t)count * (size_t)size);
    char *seen = calloc((size_t)count, (size_t)size);
    MPI_Gather(mine, count, MPI_INT64_T, all, count, MPI_INT64_T, 0, MPI_COMM_WORLD);
    for (int i = 0; rank == 0 && i < size * count; i++) {
        if (all[i] < 0 || all[i] >= (int64_t)size * count || seen[all[i]]++ ||
            (i % count && all[i] <= all[i - 1])) {
            fprintf(stderr, "window_atomics: %s: value %d of rank %d is %lld\n", what, i % count, i / count,
                    (long long)all[i]);
            MPI_Abort(MPI_COMM_WORLD, 99);
        }
    }
    free(all);
    free(seen);
    MPI_Barrier(MPI_COMM_WORLD);
}

static void counters(int kind)
{
    struct window w = make_window(kind, 64, 8, MPI_COMM_WORLD);
    int64_t *values = malloc(sizeof(int64_t) * (size_t)times), one = 1, got;
    int owners[2] = {0, size - 1};
    for (int way = 0; way < 6; way++) {
        int owner = owners[way % 2];
        MPI_Aint at = place(&w, owner, 8 * way);
        clear(&w);
        MPI_Win_lock_all(0, w.win);
        for (int i = 0; i < times; i++) {
            MPI_Request request;
            switch (way) {
            case 0:
                MPI_Fetch_and_op(&one, &values[i], MPI_INT64_T, owner, at, MPI_SUM, w.win);
                MPI_Win_flush(owner, w.win);
                break;
            case 1: /* Nothing is awaited in between: the order of one origin is enough. */
                MPI_Fetch_and_op(&one, &values[i], MPI_INT64_T, owner, at, MPI_SUM, w.win);
                break;
            case 2:
                MPI_Get_accumulate(&one, 1, MPI_INT64_T, &values[i], 1, MPI_INT64_T, owner, at, 1,
                                   MPI_INT64_T, MPI_SUM, w.win);
                MPI_Win_flush_local(owner, w.win);
                break;
            case 3:
                MPI_Rget_accumulate(&one, 1, MPI_INT64_T, &values[i], 1, MPI_INT64_T, owner, at, 1,
                                    MPI_INT64_T, MPI_SUM, w.win, &request);
                MPI_Wait(&request, MPI_STATUS_IGNORE);
                break;
            default: {
                /* Tries until nobody was faster; the first guess is old. */
                int64_t expected = i ? values[i - 1] + 1 : 0, next;
                for (;; expected = got) {
                    next = expected + 1;
                    MPI_Compare_and_swap(&next, &expected, &got, MPI_INT64_T, owner, at, w.win);
                    MPI_Win_flush(owner, w.win);
                    if (got == expected)
                        break;
                    CHECK(got > expected);
                }
                values[i] = got;
            }
            }
        }
        MPI_Win_unlock_all(w.win);
        static const char *const names[] = {"fetch_and_op",     "fetch_and_op without flush",
                                            "get_accumulate",   "Rget_accumulate",
                                            "compare_and_swap", "compare_and_swap"};
        once_each(values, times, names[way]);
        begin_own(&w);
        int64_t now;
        memcpy(&now, w.base + 8 * way, 8);
        CHECK_INT(now, rank == owner ? (int64_t)size * times : 0);
        end_own(&w);
        MPI_Barrier(MPI_COMM_WORLD);
    }
    free(values);
    free_window(&w);
}

static int64_t read_word(const struct window *w, int owner, int word)
{
    int64_t got;
    MPI_Fetch_and_op(NULL, &got, MPI_INT64_T, owner, place(w, owner, 8 * word), MPI_NO_OP, w->win);
    MPI_Win_flush(owner, w->win);
    return got;
}

/* What only one may do at a time: reads and writes that are not atomic, in several places. */
static void critical(const struct window *w, int owner, int first)
{
    int64_t words[3], same;
    MPI_Get(words, 3, MPI_INT64_T, owner, place(w, owner, 8 * first), 3, MPI_INT64_T, w->win);
    MPI_Win_flush(owner, w->win);
    same = words[0];
    for (int i = 0; i < 3; i++) {
        CHECK_INT(words[i], same);
        words[i]++;
    }
    for (int i = 2; i >= 0; i--)
        MPI_Put(&words[i], 1, MPI_INT64_T, owner, place(w, owner, 8 * (first + i)), 1, MPI_INT64_T, w->win);
    MPI_Win_flush(owner, w->win);
}

static void is_counted(const struct window *w, int owner, int first, int count)
{
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == owner) {
        const int64_t *words = (const int64_t *)w->base;
        begin_own(w);
        for (int i = 0; i < 3; i++)
            CHECK_INT(words[first + i], (int64_t)size * count);
        end_own(w);
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

static void ticket_lock(int kind, int count)
{
    enum { TICKET, SERVED, GUARDED };
    struct window w = make_window(kind, 64, 8, MPI_COMM_WORLD);
    int owner = size / 2;
    int64_t one = 1, ticket;
    clear(&w);
    MPI_Win_lock_all(0, w.win);
    for (int i = 0; i < count; i++) {
        MPI_Fetch_and_op(&one, &ticket, MPI_INT64_T, owner, place(&w, owner, 8 * TICKET), MPI_SUM, w.win);
        MPI_Win_flush(owner, w.win);
        while (read_word(&w, owner, SERVED) != ticket)
            continue;
        critical(&w, owner, GUARDED);
        MPI_Accumulate(&one, 1, MPI_INT64_T, owner, place(&w, owner, 8 * SERVED), 1, MPI_INT64_T, MPI_SUM,
                       w.win);
        MPI_Win_flush(owner, w.win);
    }
    MPI_Win_unlock_all(w.win);
    is_counted(&w, owner, GUARDED, count);
    free_window(&w);
}

/* A rank queues behind the one that was last, and waits for a word of its own. */
static void queue_lock(int kind, int count)
{
    enum { TAIL, NEXT, BLOCKED, GUARDED };
    struct window w = make_window(kind, 64, 8, MPI_COMM_WORLD);
    int owner = 0;
    int64_t own = rank + 1, nobody = 0, one = 1, previous, next, last;
    clear(&w);
    MPI_Win_lock_all(0, w.win);
    for (int i = 0; i < count; i++) {
        MPI_Accumulate(&nobody, 1, MPI_INT64_T, rank, place(&w, rank, 8 * NEXT), 1, MPI_INT64_T, MPI_REPLACE,
                       w.win);
        MPI_Accumulate(&one, 1, MPI_INT64_T, rank, place(&w, rank, 8 * BLOCKED), 1, MPI_INT64_T, MPI_REPLACE,
                       w.win);
        MPI_Win_flush(rank, w.win);
        MPI_Fetch_and_op(&own, &previous, MPI_INT64_T, owner, place(&w, owner, 8 * TAIL), MPI_REPLACE,
                         w.win);
        MPI_Win_flush(owner, w.win);
        if (previous) {
            int before = (int)previous - 1;
            MPI_Accumulate(&own, 1, MPI_INT64_T, before, place(&w, before, 8 * NEXT), 1, MPI_INT64_T,
                           MPI_REPLACE, w.win);
            MPI_Win_flush(before, w.win);
            while (read_word(&w, rank, BLOCKED))
                continue;
        }
        critical(&w, owner, GUARDED);
        next = read_word(&w, rank, NEXT);
        if (!next) {
            MPI_Compare_and_swap(&nobody, &own, &last, MPI_INT64_T, owner, place(&w, owner, 8 * TAIL),
                                 w.win);
            MPI_Win_flush(owner, w.win);
            if (last == own)
                continue;
            while (!(next = read_word(&w, rank, NEXT)))
                continue;
        }
        int after = (int)next - 1;
        MPI_Accumulate(&nobody, 1, MPI_INT64_T, after, place(&w, after, 8 * BLOCKED), 1, MPI_INT64_T,
                       MPI_REPLACE, w.win);
        MPI_Win_flush(after, w.win);
    }
    MPI_Win_unlock_all(w.win);
    is_counted(&w, owner, GUARDED, count);
    free_window(&w);
}

/* Ranges of all ranks overlap; every rank knows what comes of it. */
enum { CELLS = 3000, LARGE_CELLS = 40000 };

static int start_of(int who, int i, int cells, int length)
{
    return (who * 37 + i * 101) % (cells - length + 1);
}
static int length_of(int who, int i, int cells)
{
    static const int lengths[] = {1, 3, 1, 25, 200, 1, 1025, 7};
    int length = lengths[(who + i) % 8];
    return cells == LARGE_CELLS && (who + i) % 8 == 4 ? 30000 : length;
}

static void overlapping(int kind, int cells, int count)
{
    struct window w = make_window(kind, (MPI_Aint)cells * 8, 8, MPI_COMM_WORLD);
    static const char *const names[] = {"sum", "maximum", "exclusive or", "sum of doubles", "product"};
    const MPI_Op operations[] = {MPI_SUM, MPI_MAX, MPI_BXOR, MPI_SUM, MPI_PROD};
    int64_t *expected = malloc(sizeof(int64_t) * (size_t)cells),
            *out = malloc(sizeof(int64_t) * (size_t)cells);
    int64_t *in = malloc(sizeof(int64_t) * (size_t)cells);
    double *doubles = malloc(sizeof(double) * (size_t)cells);
    int owner = size - 1;
    for (int op = 0; op < 5; op++) {
        int is_double = op == 3;
        MPI_Datatype type = is_double ? MPI_DOUBLE : op == 4 ? MPI_UINT64_T : MPI_INT64_T;
        begin_own(&w);
        for (int i = 0; i < cells; i++)
            ((int64_t *)w.base)[i] = op == 4;
        end_own(&w);
        MPI_Barrier(MPI_COMM_WORLD);
        MPI_Win_lock_all(0, w.win);
        for (int i = 0; i < count; i++) {
            int length = length_of(rank, i, cells), first = start_of(rank, i, cells, length);
            MPI_Aint at = place(&w, owner, 8 * (MPI_Aint)first);
            for (int j = 0; j < length; j++) {
                out[j] = op == 4 ? 2 * ((rank + i + j) % 50) + 1 : 1000 * rank + i + j;
                doubles[j] = (double)(1000 * rank + i + j) / 4;
            }
            const void *from = is_double ? (const void *)doubles : out;
            if (i % 3 == 2)
                MPI_Get_accumulate(from, length, type, in, length, type, owner, at, length, type,
                                   operations[op], w.win);
            else
                MPI_Accumulate(from, length, type, owner, at, length, type, operations[op], w.win);
            MPI_Win_flush_local(owner, w.win);
        }
        MPI_Win_unlock_all(w.win);
        MPI_Barrier(MPI_COMM_WORLD);
        for (int i = 0; i < cells; i++)
            expected[i] = op == 4, doubles[i] = 0;
        for (int who = 0; rank == owner && who < size; who++)
            for (int i = 0; i < count; i++) {
                int length = length_of(who, i, cells), first = start_of(who, i, cells, length);
                for (int j = 0; j < length; j++) {
                    int64_t *to = &expected[first + j], value = 1000 * who + i + j;
                    switch (op) {
                    case 0: *to += value; break;
                    case 1: *to = *to > value ? *to : value; break;
                    case 2: *to ^= value; break;
                    case 3: doubles[first + j] += (double)value / 4; break;
                    default:
                        *to = (int64_t)((uint64_t)*to * (uint64_t)(2 * ((who + i + j) % 50) + 1));
                        break;
                    }
                }
            }
        begin_own(&w);
        for (int i = 0; rank == owner && i < cells; i++) {
            int is_right =
                is_double ? ((double *)w.base)[i] == doubles[i] : ((int64_t *)w.base)[i] == expected[i];
            if (!is_right) {
                fprintf(stderr, "window_atomics: element %d of the %s is wrong\n", i, names[op]);
                MPI_Abort(MPI_COMM_WORLD, 99);
            }
        }
        end_own(&w);
        MPI_Barrier(MPI_COMM_WORLD);
    }
    free(expected);
    free(out);
    free(in);
    free(doubles);
    free_window(&w);
}

/* Accumulates of one origin, none awaited: what each reads, and what stays. */
static void ordered(int kind, const char *ordering)
{
    enum { LONG = 100000, STEPS = 60 };
    MPI_Info info;
    MPI_Info_create(&info);
    if (ordering)
        MPI_Info_set(info, "accumulate_ordering", ordering);
    struct window w = make_window_with(kind, 8 * LONG, 8, MPI_COMM_WORLD, info);
    MPI_Info_free(&info);
    int target = (rank + 1) % size, left = (rank + size - 1) % size;
    static int64_t writes[STEPS][LONG / 8], reads[STEPS][LONG / 8], fetched[STEPS];
    int64_t *all = malloc(8 * LONG), *cells = (int64_t *)w.base;
    int writes_stay = !ordering || strstr(ordering, "waw"), reads_see = !ordering || strstr(ordering, "raw");
    int reads_wait = !ordering || strstr(ordering, "war");
    clear(&w);
    MPI_Win_lock_all(0, w.win);
    /* One element: replaced, read, replaced and read in one. */
    MPI_Aint at = place(&w, target, 8);
    for (int i = 0; i < STEPS; i++) {
        writes[i][0] = 1000 * (i + 1) + rank;
        if (i % 3 == 0)
            MPI_Accumulate(&writes[i][0], 1, MPI_INT64_T, target, at, 1, MPI_INT64_T, MPI_REPLACE, w.win);
        else if (i % 3 == 1)
            MPI_Get_accumulate(&writes[i][0], 1, MPI_INT64_T, &fetched[i], 1, MPI_INT64_T, target, at, 1,
                               MPI_INT64_T, MPI_REPLACE, w.win);
        else
            MPI_Fetch_and_op(&writes[i][0], &fetched[i], MPI_INT64_T, target, at, MPI_REPLACE, w.win);
        reads[i][0] = -1;
        MPI_Get_accumulate(NULL, 0, MPI_INT64_T, &reads[i][0], 1, MPI_INT64_T, target, at, 1, MPI_INT64_T,
                           MPI_NO_OP, w.win);
    }
    MPI_Win_flush(target, w.win);
    for (int i = 0; i < STEPS; i++) {
        if (reads_see && reads_wait)
            CHECK_INT(reads[i][0], 1000 * (i + 1) + rank);
        if (i % 3 && reads_see && reads_wait && writes_stay)
            CHECK_INT(fetched[i], i ? 1000 * i + rank : 0);
    }
    /* Few and many elements, over each other. */
    for (int i = 0; i < STEPS; i++) {
        int length = i % 4 == 0   ? LONG / 8
                     : i % 4 == 1 ? 1
                     : i % 4 == 2 ? 700
                                  : 3,
            first = i % 4 == 0 ? 100 : 100 + 3 * i;
        for (int j = 0; j < length; j++)
            writes[i][j] = 100000 * (int64_t)(i + 1) + 10 * rank + j % 7;
        MPI_Accumulate(writes[i], length, MPI_INT64_T, target, place(&w, target, 8 * first), length,
                       MPI_INT64_T, MPI_REPLACE, w.win);
        if (i % 5 == 0)
            MPI_Get_accumulate(NULL, 0, MPI_INT64_T, reads[i], length, MPI_INT64_T, target,
                               place(&w, target, 8 * first), length, MPI_INT64_T, MPI_NO_OP, w.win);
    }
    MPI_Win_flush(target, w.win);
    for (int i = 0; i < STEPS; i += 5) {
        int length = i % 4 == 0 ? LONG / 8 : i % 4 == 1 ? 1 : i % 4 == 2 ? 700 : 3;
        for (int j = 0; reads_see && reads_wait && j < length; j++)
            CHECK_INT(reads[i][j], writes[i][j]);
    }
    MPI_Win_unlock_all(w.win);
    MPI_Barrier(MPI_COMM_WORLD);
    memset(all, 0, 8 * LONG);
    all[1] = 1000 * STEPS + left;
    for (int i = 0; i < STEPS; i++) {
        int length = i % 4 == 0   ? LONG / 8
                     : i % 4 == 1 ? 1
                     : i % 4 == 2 ? 700
                                  : 3,
            first = i % 4 == 0 ? 100 : 100 + 3 * i;
        for (int j = 0; j < length; j++)
            all[first + j] = 100000 * (int64_t)(i + 1) + 10 * left + j % 7;
    }
    begin_own(&w);
    for (int i = 0; writes_stay && i < LONG; i++)
        CHECK_INT(cells[i], all[i]);
    end_own(&w);
    free(all);
    free_window(&w);
}

struct indexed {
    double value;
    int index;
};

/* Ranks replace elements with others of which both halves agree, and read them meanwhile. */
static void whole_elements(int kind, int count)
{
    enum { N = 40 };
    struct window w = make_window(kind, 16 * N, 16, MPI_COMM_WORLD);
    double _Complex pairs[N], read_pairs[N];
    struct indexed indexed[N], read_indexed[N];
    int64_t words[2 * N], read_words[2 * N];
    int owner = 0;
    for (int type = 0; type < 3; type++) {
        MPI_Aint at = place(&w, owner, 0);
        clear(&w);
        MPI_Win_lock_all(0, w.win);
        for (int i = 0; i < count; i++) {
            int n = i % 4 ? N : 1, value = 1 + rank + size * i, is_writer = (rank + i) % 2;
            for (int j = 0; j < N; j++) {
                pairs[j] = value + I * value;
                indexed[j] = (struct indexed){value, value};
            }
            for (int j = 0; j < 2 * N; j++)
                words[j] = (int64_t)value << 32 | value;
            if (type == 0 && is_writer)
                MPI_Accumulate(words, 2 * n, MPI_INT64_T, owner, at, 2 * n, MPI_INT64_T, MPI_REPLACE, w.win);
            else if (type == 0)
                MPI_Get_accumulate(NULL, 0, MPI_BYTE, read_words, 2 * n, MPI_INT64_T, owner, at, 2 * n,
                                   MPI_INT64_T, MPI_NO_OP, w.win);
            else if (type == 1 && is_writer)
                MPI_Accumulate(pairs, n, MPI_C_DOUBLE_COMPLEX, owner, at, n, MPI_C_DOUBLE_COMPLEX,
                               MPI_REPLACE, w.win);
            else if (type == 1)
                MPI_Get_accumulate(NULL, 0, MPI_BYTE, read_pairs, n, MPI_C_DOUBLE_COMPLEX, owner, at, n,
                                   MPI_C_DOUBLE_COMPLEX, MPI_NO_OP, w.win);
            else if (is_writer)
                MPI_Accumulate(indexed, n, MPI_DOUBLE_INT, owner, at, n, MPI_DOUBLE_INT, MPI_MAXLOC, w.win);
            else
                MPI_Get_accumulate(NULL, 0, MPI_BYTE, read_indexed, n, MPI_DOUBLE_INT, owner, at, n,
                                   MPI_DOUBLE_INT, MPI_NO_OP, w.win);
            MPI_Win_flush(owner, w.win);
            for (int j = 0; !is_writer && j < n; j++)
                if (type == 0)
                    CHECK(read_words[2 * j] >> 32 == (read_words[2 * j] & 0xffffffff));
                else if (type == 1)
                    CHECK(creal(read_pairs[j]) == cimag(read_pairs[j]));
                else
                    CHECK(read_indexed[j].value == read_indexed[j].index);
        }
        MPI_Win_unlock_all(w.win);
        MPI_Barrier(MPI_COMM_WORLD);
        begin_own(&w);
        if (rank == owner && type == 2 && size > 1) {
            /* The largest of all. */
            int largest = 0;
            for (int who = 0; who < size; who++)
                for (int i = 0; i < count; i++)
                    if ((who + i) % 2 && 1 + who + size * i > largest)
                        largest = 1 + who + size * i;
            const struct indexed *first = (const struct indexed *)w.base;
            CHECK(first->value == largest && first->index == largest);
        }
        end_own(&w);
        MPI_Barrier(MPI_COMM_WORLD);
    }
    free_window(&w);
}

/* In fences and in post and start, too, all may accumulate at one place. */
static void active(int kind)
{
    struct window w = make_window(kind, 64, 8, MPI_COMM_WORLD);
    int *everyone = malloc(sizeof(int) * (size_t)size);
    int64_t *cells = (int64_t *)w.base, one = 1, *got = malloc(sizeof(int64_t) * 20 * (size_t)size);
    for (int i = 0; i < size; i++)
        everyone[i] = i;
    MPI_Group all = group_of(&w, size, everyone);
    memset(w.base, 0, 64);
    for (int pscw = 0; pscw < 2; pscw++) {
        if (pscw) {
            MPI_Win_post(all, 0, w.win);
            MPI_Win_start(all, 0, w.win);
        } else {
            MPI_Win_fence(0, w.win);
        }
        for (int target = 0; target < size; target++)
            for (int i = 0; i < 20; i++) {
                MPI_Accumulate(&one, 1, MPI_INT64_T, target, place(&w, target, 8), 1, MPI_INT64_T, MPI_SUM,
                               w.win);
                MPI_Fetch_and_op(&one, &got[20 * target + i], MPI_INT64_T, target, place(&w, target, 16),
                                 MPI_SUM, w.win);
            }
        if (pscw) {
            MPI_Win_complete(w.win);
            MPI_Win_wait(w.win);
        } else {
            MPI_Win_fence(MPI_MODE_NOSUCCEED, w.win);
        }
        for (int i = 0; i < 20 * size; i++)
            CHECK(got[i] >= 20 * pscw * size && (i % 20 == 0 || got[i] > got[i - 1]));
        CHECK_INT(cells[0], 0);
        CHECK_INT(cells[1], 20 * (int64_t)size * (pscw + 1));
        CHECK_INT(cells[2], 20 * (int64_t)size * (pscw + 1));
        CHECK_INT(cells[3], 0);
    }
    MPI_Group_free(&all);
    free(everyone);
    free(got);
    free_window(&w);
}

int main(int argc, char **argv)
{
    start_windows(&argc, &argv);
    if (argc > 1)
        times = atoi(argv[1]);
    for (int kind = 0; kind < WINDOW_KINDS; kind++) {
        if (!can_be_made(kind, MPI_COMM_WORLD) || (argc > 2 && kind != atoi(argv[2])))
            continue;
        counters(kind);
        ticket_lock(kind, times / 10);
        queue_lock(kind, times / 10);
        overlapping(kind, CELLS, times / 2);
        ordered(kind, NULL);
        ordered(kind, "rar,raw,war,waw");
        ordered(kind, "waw");
        ordered(kind, "raw,war");
        whole_elements(kind, times);
        active(kind);
    }
    overlapping(ALLOCATED, LARGE_CELLS, 20);
    overlapping(ON_HEAP, LARGE_CELLS, 20);
    return MPI_Finalize();
}
