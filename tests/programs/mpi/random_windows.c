/* Random epochs of one-sided communication, whose results every rank computes by itself.
 *
 *     random_windows FIRST [LAST] [--list]
 *
 * Each seed makes a window of a random kind, unit and size on all ranks, on some, or in another order, and 3
 * to 8 epochs on it: fences, post and start along a random graph, locks and lock_all with flushes. In each
 * epoch ranks put, get, accumulate, fetch and swap random datatypes at random places that do not conflict
 * (random_accesses.h). After each epoch every byte of every window and of every buffer is compared with what
 * it has to be. What differs is told with the seed;
 * --list shows what a seed does. For 1 to 16 ranks; of more, 16 take part. */
#include "random_accesses.h"

enum { MOST_EPOCHS = 8 };

static uint64_t seed;
static struct window window;
static struct epoch epoch;
static int lists;

static void differs(const char *what, const struct access *of, long at, const byte *got,
                    const byte *expected)
{
    char text[600];
    fprintf(stderr,
            "random_windows: seed %llu, %d ranks, %s, epoch %d of %s, rank %d: byte %ld of the %s is "
            "0x%02x, not 0x%02x\n",
            (unsigned long long)seed, world.ranks, window_names[world.kind], epoch.number,
            epoch_names[epoch.kind], window.rank, at, what, got[0], expected[0]);
    for (int i = 0; i < epoch.accesses; i++) {
        const struct access *a = &epoch.access[i];
        long low, high;
        span_of(a->there, items_of(a, a->there), &low, &high);
        if (of ? a != of : a->target != window.rank || at < a->at + low || at >= a->at + high)
            continue;
        describe(text, sizeof text, a);
        fprintf(stderr, "    %s\n", text);
    }
    fprintf(stderr, "random_windows: again with %d ranks: random_windows %llu\n", size,
            (unsigned long long)seed);
    fflush(stderr);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

static void compare(const char *what, const struct access *of, const byte *got, const byte *expected,
                    size_t bytes, long from)
{
    if (memcmp(got, expected, bytes) == 0)
        return;
    for (size_t i = 0; i < bytes; i++)
        if (got[i] != expected[i])
            differs(what, of, (long)i + from, got + i, expected + i);
}

static MPI_Op operation_of(const struct access *a)
{
    return a->operation == O_REPLACE ? MPI_REPLACE
           : a->operation == O_NO_OP ? MPI_NO_OP
                                     : operations[a->operation];
}

#define EITHER(LARGE, NAME, ...)                                                                            \
    do {                                                                                                    \
        if (LARGE)                                                                                          \
            MPI_##NAME##_c(__VA_ARGS__);                                                                    \
        else                                                                                                \
            MPI_##NAME(__VA_ARGS__);                                                                        \
    } while (0)

static void issue(struct access *a)
{
    MPI_Win win = window.win;
    MPI_Datatype there = a->there->type, from = a->from->type, into = a->into->type;
    byte *out = a->out ? start_of(a->out, a, a->from) : NULL,
         *in = a->in ? start_of(a->in, a, a->into) : NULL;
    int n = (int)items_of(a, a->from), m = (int)items_of(a, a->there), k = (int)items_of(a, a->into),
        to = a->target;
    MPI_Aint at = place(&window, to, a->at);
    MPI_Op op = operation_of(a);
    /* What MPI_NO_OP ignores may be anything. */
    if (!has_origin(a) && a->kind >= GET_ACCUMULATE && a->key % 2)
        n = 0, from = MPI_DATATYPE_NULL;
    switch (a->kind) {
    case PUT:
        if (a->with_request)
            EITHER(a->large, Rput, out, n, from, to, at, m, there, win, &a->request);
        else
            EITHER(a->large, Put, out, n, from, to, at, m, there, win);
        break;
    case GET:
        if (a->with_request)
            EITHER(a->large, Rget, in, k, into, to, at, m, there, win, &a->request);
        else
            EITHER(a->large, Get, in, k, into, to, at, m, there, win);
        break;
    case ACCUMULATE:
        if (a->with_request)
            EITHER(a->large, Raccumulate, out, n, from, to, at, m, there, op, win, &a->request);
        else
            EITHER(a->large, Accumulate, out, n, from, to, at, m, there, op, win);
        break;
    case GET_ACCUMULATE:
        if (a->with_request)
            EITHER(a->large, Rget_accumulate, out, n, from, in, k, into, to, at, m, there, op, win,
                   &a->request);
        else
            EITHER(a->large, Get_accumulate, out, n, from, in, k, into, to, at, m, there, op, win);
        break;
    case FETCH_AND_OP: MPI_Fetch_and_op(out, in, there, to, at, op, win); break;
    default: MPI_Compare_and_swap(out, a->compare, in, there, to, at, win); break;
    }
}

/* The access is complete at its origin: results are there, and what was sent may be overwritten. */
static void is_complete_here(struct access *a)
{
    if (a->in)
        compare("result buffer", a, a->in, a->in_image, a->in_bytes, -PAD);
    if (a->out) {
        compare("origin buffer", a, a->out, a->out_image, a->out_bytes, -PAD);
        memset(a->out, 0xdd, a->out_bytes);
        memset(a->out_image, 0xdd, a->out_bytes);
    }
}

static void await(struct access *a)
{
    MPI_Wait(&a->request, MPI_STATUS_IGNORE);
    is_complete_here(a);
}

static void accesses(uint64_t *random)
{
    int held[MOST_RANKS] = {0};
    struct access *mine[MOST_OF_ORIGIN];
    int count = 0;
    for (int i = 0; i < epoch.accesses; i++)
        if (epoch.access[i].origin == window.rank)
            mine[count++] = &epoch.access[i];
    for (int i = 0; epoch.kind == BY_LOCKS && i < count; i++)
        if (!held[mine[i]->target]) {
            held[mine[i]->target] = 1;
            MPI_Win_lock(MPI_LOCK_SHARED, mine[i]->target, 0, window.win);
        }
    for (int i = 0; i < count; i++) {
        struct access *a = mine[i];
        int to = a->target;
        if (epoch.kind == BY_LOCK)
            MPI_Win_lock(below(random, 2) ? MPI_LOCK_EXCLUSIVE : MPI_LOCK_SHARED, to, 0, window.win);
        issue(a);
        if (a->with_request && below(random, 2))
            await(a);
        if (epoch.kind >= BY_LOCK && a->flushed < 2) {
            if (a->flushed)
                MPI_Win_flush(to, window.win);
            else
                MPI_Win_flush_local(to, window.win);
            for (int j = 0; j <= i; j++)
                if (mine[j]->target == to && (epoch.kind != BY_LOCK || j == i) && !mine[j]->with_request)
                    is_complete_here(mine[j]);
        }
        if (epoch.kind == BY_LOCK) {
            if (a->with_request && a->request != MPI_REQUEST_NULL && a->flushed % 2)
                await(a);
            MPI_Win_unlock(to, window.win);
        }
    }
    if (epoch.kind == BY_LOCK_ALL && below(random, 3) == 0)
        MPI_Win_flush_all(window.win);
    for (int i = 0; i < count; i++)
        if (mine[i]->with_request && mine[i]->request != MPI_REQUEST_NULL)
            await(mine[i]);
    for (int to = window.ranks - 1; to >= 0; to--)
        if (held[to])
            MPI_Win_unlock(to, window.win);
}

static void run_epoch(const struct epoch *next)
{
    uint64_t random = key_of(epoch.key, (uint64_t)window.rank, 0, 80);
    int passive = epoch.kind >= BY_LOCK, targets[MOST_RANKS], origins[MOST_RANKS], ins = 0, outs = 0,
        flag = 0;
    MPI_Group from = MPI_GROUP_NULL, to = MPI_GROUP_NULL;
    if (passive)
        begin_own(&window);
    store(&epoch, window.rank, window.base);
    if (passive) {
        end_own(&window);
        MPI_Barrier(window.comm);
    }
    /* What all windows and the own buffers have to be. */
    for (int i = 0; i < window.ranks; i++)
        store(&epoch, i, world.model[i]);
    for (int i = 0; i < epoch.accesses; i++) {
        if (epoch.access[i].origin == window.rank)
            make_buffers(&epoch.access[i]);
        epoch.access[i].request = MPI_REQUEST_NULL;
        apply(&epoch.access[i]);
    }
    switch (epoch.kind) {
    case BY_FENCE: MPI_Win_fence(epoch.chained ? 0 : MPI_MODE_NOPRECEDE, window.win); break;
    case BY_PSCW:
        for (int i = 0; i < window.ranks; i++) {
            if (epoch.edge[i][window.rank])
                origins[ins++] = i;
            if (epoch.edge[window.rank][i])
                targets[outs++] = i;
        }
        from = group_of(&window, ins, origins), to = group_of(&window, outs, targets);
        MPI_Win_post(from, 0, window.win);
        MPI_Win_start(to, 0, window.win);
        break;
    case BY_LOCK_ALL: MPI_Win_lock_all(below(&random, 2) ? MPI_MODE_NOCHECK : 0, window.win); break;
    default: break;
    }
    accesses(&random);
    switch (epoch.kind) {
    case BY_FENCE:
        MPI_Win_fence(MPI_MODE_NOSTORE | (next && next->chained ? 0 : MPI_MODE_NOSUCCEED), window.win);
        break;
    case BY_PSCW:
        MPI_Win_complete(window.win);
        if (below(&random, 2))
            MPI_Win_wait(window.win);
        else
            while (!flag)
                MPI_Win_test(window.win, &flag);
        MPI_Group_free(&from);
        MPI_Group_free(&to);
        if (!is_held("early_posts"))
            MPI_Barrier(window.comm);
        break;
    case BY_LOCK_ALL: MPI_Win_unlock_all(window.win); break;
    default: break;
    }
    if (passive) {
        MPI_Barrier(window.comm);
        begin_own(&window);
    }
    compare("window", NULL, window.base, world.model[window.rank], (size_t)window.bytes, 0);
    if (passive)
        end_own(&window);
    for (int i = 0; i < epoch.accesses; i++)
        if (epoch.access[i].origin == window.rank) {
            is_complete_here(&epoch.access[i]);
            free_buffers(&epoch.access[i]);
        }
}

static void list_epoch(void)
{
    char text[600];
    printf("  epoch %d by %s\n", epoch.number, epoch_names[epoch.kind]);
    for (int i = 0; i < epoch.accesses; i++) {
        describe(text, sizeof text, &epoch.access[i]);
        printf("    %s\n", text);
    }
}

static void run_seed(int shareable)
{
    static const int window_units[] = {1, 2, 4, 8, 16};
    static struct epoch next;
    uint64_t random = key_of(seed, 0, 0, 81);
    int order = below(&random, 3), parts = below(&random, 4) == 0,
        epochs = 3 + below(&random, MOST_EPOCHS - 2);
    world.key = draw(&random);
    world.kind = below(&random, WINDOW_KINDS);
    world.large = below(&random, 5) == 0;
    int same_unit = below(&random, 2), unit = below(&random, 5),
        members = size > MOST_RANKS ? MOST_RANKS : size;
    if (parts)
        members = 1 + below(&random, members);
    if (world.kind == SHARED && !shareable)
        world.kind = ALLOCATED;
    world.ranks = members;
    for (int i = 0; i < members; i++) {
        world.unit[i] = world.kind == DYNAMIC ? 1 : window_units[same_unit ? unit : below(&random, 5)];
        world.bytes[i] = 16 * (long)(world.large ? 500 + below(&random, 3000) : 4 + below(&random, 300));
        if (below(&random, 10) == 0)
            world.bytes[i] = 0;
    }
    MPI_Comm comm;
    MPI_Comm_split(MPI_COMM_WORLD, rank < members ? 0 : MPI_UNDEFINED,
                   order == 1   ? -rank
                   : order == 2 ? rank * 7 % 5
                                : rank,
                   &comm);
    if (comm == MPI_COMM_NULL)
        return;
    int me;
    MPI_Comm_rank(comm, &me);
    window = make_window(world.kind, world.bytes[me], world.unit[me], comm);
    for (int i = 0; i < members; i++) {
        world.model[i] = room((size_t)world.bytes[i]);
        world.uses[i] = room(sizeof(uint32_t) * (size_t)world.bytes[i]);
        fill_stream(world.model[i], (size_t)world.bytes[i], key_of(seed, (uint64_t)i, 0, 82));
    }
    if (lists && me == 0)
        printf("seed %llu: %s, %d ranks, %d epochs\n", (unsigned long long)seed, window_names[world.kind],
               members, epochs);
    memcpy(window.base, world.model[me], (size_t)window.bytes);
    /* The first epoch of any kind finds what is in the windows. */
    begin_own(&window);
    end_own(&window);
    MPI_Barrier(comm);
    draw_epoch(&epoch, 0, -1);
    for (int i = 0; i < epochs; i++) {
        if (lists && me == 0)
            list_epoch();
        if (i + 1 < epochs) {
            struct epoch *after = &next;
            /* Drawing uses nothing but the key: what comes next decides how a fence ends. */
            draw_epoch(after, i + 1, epoch.kind);
            run_epoch(after);
            epoch = *after;
        } else {
            run_epoch(NULL);
        }
    }
    MPI_Barrier(comm);
    free_window(&window);
    for (int i = 0; i < members; i++) {
        free(world.model[i]);
        free(world.uses[i]);
    }
    free_layouts();
    MPI_Comm_free(&comm);
}

int main(int argc, char **argv)
{
    start_windows(&argc, &argv);
    make_units();
    make_operations();
    if (argc > 1 && strcmp(argv[argc - 1], "--list") == 0)
        lists = 1, argc--;
    uint64_t first = argc > 1 ? strtoull(argv[1], NULL, 10) : 1,
             last = argc > 2 ? strtoull(argv[2], NULL, 10) : first;
    int shareable = is_shareable(MPI_COMM_WORLD);
    for (seed = first; seed <= last; seed++)
        run_seed(shareable);
    free_operations();
    free_units();
    return MPI_Finalize();
}
