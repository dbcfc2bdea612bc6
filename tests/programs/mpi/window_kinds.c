/* Windows of every kind: each way to make one, of any size (none, too), unit and memory, different from rank
 * to rank; memory that is attached and detached; segments of shared memory, one after the other or not, as
 * all ranks see them; alignment; what the predefined attributes and the group say; and that a window needs
 * neither its communicator nor others that are freed before it. For any number of ranks. */
#include "windows.h"
#include <stddef.h>

static int right, left;
static MPI_Comm node; /* Ranks that can share memory. */

static void *attribute(MPI_Win win, int key)
{
    void *value;
    int flag = 0;
    MPI_Win_get_attr(win, key, &value, &flag);
    CHECK(flag);
    return value;
}

static void is_described(MPI_Win win, const void *base, MPI_Aint bytes, int unit, int flavor)
{
    CHECK(attribute(win, MPI_WIN_BASE) == base);
    CHECK_INT(*(MPI_Aint *)attribute(win, MPI_WIN_SIZE), bytes);
    CHECK_INT(*(int *)attribute(win, MPI_WIN_DISP_UNIT), unit);
    CHECK_INT(*(int *)attribute(win, MPI_WIN_CREATE_FLAVOR), flavor);
    int model = *(int *)attribute(win, MPI_WIN_MODEL);
    CHECK(model == MPI_WIN_UNIFIED || model == MPI_WIN_SEPARATE);
}

/* Every rank puts a byte at displacement 1 of its right neighbour, and gets what lies at displacement 2. */
static void uses_units_of_targets(MPI_Win win, unsigned char *base, const int *units)
{
    unsigned char mine = (unsigned char)(100 + rank), got = 0;
    base[2 * units[rank]] = (unsigned char)(50 + rank);
    MPI_Win_fence(0, win);
    MPI_Put(&mine, 1, MPI_BYTE, right, 1, 1, MPI_BYTE, win);
    MPI_Get(&got, 1, MPI_BYTE, right, 2, 1, MPI_BYTE, win);
    MPI_Win_fence(0, win);
    CHECK_INT(base[units[rank]], 100 + left);
    CHECK_INT(got, 50 + right);
    for (int i = 0; i < 3 * units[rank]; i++)
        CHECK(i == units[rank] || i == 2 * units[rank] || base[i] == 0);
}

/* Sizes, units and places differ from rank to rank. */
static void made_of_memory(int large, int by_mpi)
{
    MPI_Win win;
    MPI_Comm comm;
    unsigned char *memory;
    int *units = malloc(sizeof(int) * (size_t)size), unit = 1 + rank * 3;
    MPI_Aint bytes = 3 * unit + rank;
    MPI_Allgather(&unit, 1, MPI_INT, units, 1, MPI_INT, MPI_COMM_WORLD);
    if (by_mpi)
        MPI_Alloc_mem(bytes + 5, MPI_INFO_NULL, &memory);
    else
        memory = malloc((size_t)bytes + 5);
    CHECK(memory != NULL);
    memset(memory, 0, (size_t)bytes + 5);
    unsigned char *base = memory + rank % 4; /* At any address. */
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    if (large)
        MPI_Win_create_c(base, bytes, unit, MPI_INFO_NULL, comm, &win);
    else
        MPI_Win_create(base, bytes, unit, MPI_INFO_NULL, comm, &win);
    /* A window lives on without the communicator. */
    MPI_Comm_free(&comm);
    is_described(win, base, bytes, unit, MPI_WIN_FLAVOR_CREATE);
    uses_units_of_targets(win, base, units);
    MPI_Win_free(&win);
    CHECK(win == MPI_WIN_NULL);
    /* The memory is the program's again. */
    for (int i = 0; i < bytes + 5; i++)
        memory[i] = (unsigned char)i;
    if (by_mpi)
        MPI_Free_mem(memory);
    else
        free(memory);
    free(units);
}

static void allocated(int large)
{
    MPI_Win win;
    unsigned char *base = NULL;
    int *units = malloc(sizeof(int) * (size_t)size), unit = 8 >> rank % 4;
    MPI_Aint bytes = 3 * unit + 1000 * rank;
    MPI_Allgather(&unit, 1, MPI_INT, units, 1, MPI_INT, MPI_COMM_WORLD);
    if (large)
        MPI_Win_allocate_c(bytes, unit, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win);
    else
        MPI_Win_allocate(bytes, unit, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win);
    CHECK(base != NULL);
    if (is_held("alignment"))
        CHECK_INT((uintptr_t)base % _Alignof(max_align_t), 0);
    memset(base, 0, (size_t)bytes);
    is_described(win, base, bytes, unit, MPI_WIN_FLAVOR_ALLOCATE);
    uses_units_of_targets(win, base, units);
    MPI_Win_free(&win);
    free(units);
}

/* Memory is aligned for every type of C, and for more if one asks. */
static void aligned(int kind)
{
    MPI_Info info = MPI_INFO_NULL;
    for (uintptr_t least = _Alignof(max_align_t); least <= 4096; least *= 16) {
        if (least > _Alignof(max_align_t)) {
            char text[16];
            snprintf(text, sizeof text, "%d", (int)least);
            MPI_Info_create(&info);
            MPI_Info_set(info, "mpi_minimum_memory_alignment", text);
        }
        for (MPI_Aint bytes = 1; bytes < 5000; bytes = bytes * 7 + rank) {
            void *memory;
            MPI_Alloc_mem(bytes, info, &memory);
            CHECK_INT((uintptr_t)memory % least, 0);
            MPI_Free_mem(memory);
            MPI_Win win;
            if (kind == SHARED)
                MPI_Win_allocate_shared(bytes, 1, info, MPI_COMM_SELF, &memory, &win);
            else
                MPI_Win_allocate(bytes, 1, info, MPI_COMM_SELF, &memory, &win);
            CHECK_INT((uintptr_t)memory % least, 0);
            MPI_Win_free(&win);
        }
        if (info != MPI_INFO_NULL)
            MPI_Info_free(&info);
    }
}

/* Windows of no bytes at some ranks or at all; a null base is one of no bytes. */
static void without_memory(void)
{
    MPI_Win win;
    int mine = 10 + rank, word = -1, *base = NULL;
    int has = rank % 2 == 0, next = (rank + 2) % size % 2 ? 0 : (rank + 2) % size;
    for (int which = 0; which < 3; which++) {
        MPI_Aint bytes = which == 2 || !has ? 0 : 4;
        MPI_Win_create(bytes ? &word : NULL, bytes, 4, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
        is_described(win, bytes ? &word : NULL, bytes, 4, MPI_WIN_FLAVOR_CREATE);
        word = -1;
        MPI_Win_fence(0, win);
        if (which == 1 && has)
            MPI_Put(&mine, 1, MPI_INT, next, 0, 1, MPI_INT, win);
        /* Nothing can be accessed where there is nothing. */
        MPI_Put(&mine, 0, MPI_INT, right, 0, 0, MPI_INT, win);
        MPI_Get(NULL, 0, MPI_INT, right, 0, 0, MPI_INT, win);
        MPI_Win_fence(0, win);
        int last = (size - 1) / 2 * 2;
        CHECK_INT(word, which != 1 || !has ? -1 : 10 + (rank == 0 ? last : rank - 2));
        MPI_Win_free(&win);
    }
    MPI_Win_allocate(0, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win);
    CHECK_INT(*(MPI_Aint *)attribute(win, MPI_WIN_SIZE), 0);
    CHECK_INT(*(int *)attribute(win, MPI_WIN_DISP_UNIT), 1);
    MPI_Win_fence(0, win);
    MPI_Win_fence(MPI_MODE_NOSUCCEED, win);
    MPI_Win_free(&win);
}

/* A unit of more bytes than an int counts; and one that is larger than its window. */
static void large_units(void)
{
    MPI_Win win;
    int word = -1;
    if (is_held("large_units")) {
        MPI_Win_create_c(&word, 4, ((MPI_Aint)1 << 33) + rank, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
        MPI_Win_fence(0, win);
        MPI_Put(&rank, 1, MPI_INT, right, 0, 1, MPI_INT, win);
        MPI_Win_fence(0, win);
        CHECK_INT(word, left);
        MPI_Win_free(&win);
    }
    MPI_Win_create(&word, 4, 1 << 30, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    CHECK_INT(*(int *)attribute(win, MPI_WIN_DISP_UNIT), 1 << 30);
    MPI_Win_fence(0, win);
    MPI_Put(&left, 1, MPI_INT, right, 0, 1, MPI_INT, win);
    MPI_Win_fence(0, win);
    CHECK_INT(word, (rank + 2 * size - 2) % size);
    MPI_Win_free(&win);
}

/* Several windows of the same memory, one after the other used. */
static void overlapping(void)
{
    int words[4] = {-1, -1, -1, -1};
    MPI_Win first, second;
    MPI_Win_create(words, 12, 4, MPI_INFO_NULL, MPI_COMM_WORLD, &first);
    MPI_Win_create(words + 1, 12, 4, MPI_INFO_NULL, MPI_COMM_WORLD, &second);
    MPI_Win_fence(0, first);
    MPI_Put(&rank, 1, MPI_INT, right, 2, 1, MPI_INT, first);
    MPI_Win_fence(MPI_MODE_NOSUCCEED, first);
    int got = -1;
    MPI_Win_fence(0, second);
    MPI_Get(&got, 1, MPI_INT, right, 1, 1, MPI_INT, second);
    MPI_Put(&left, 1, MPI_INT, left, 2, 1, MPI_INT, second);
    MPI_Win_fence(0, second);
    CHECK_INT(got, rank);
    CHECK_INT(words[2], left);
    CHECK_INT(words[3], rank);
    CHECK_INT(words[0], -1);
    CHECK_INT(words[1], -1);
    MPI_Win_free(&first);
    MPI_Win_free(&second);
}

/* What every rank of the node sees of every segment: bytes and unit of its owner, and the memory itself. */
static void sees_segments(MPI_Win win, unsigned char *base, const MPI_Aint *sizes, const int *units,
                          int contiguous)
{
    int own, ranks, lowest = -1;
    MPI_Comm_rank(node, &own);
    MPI_Comm_size(node, &ranks);
    unsigned char *end = NULL, *at;
    for (int owner = 0; owner < ranks; owner++) {
        MPI_Aint bytes = -1, large_unit = -1;
        int unit = -1;
        at = NULL;
        MPI_Win_shared_query(win, owner, &bytes, &unit, &at);
        CHECK_INT(bytes, sizes[owner]);
        if (sizes[owner] || is_held("units_of_empty"))
            CHECK_INT(unit, units[owner]);
        unsigned char *again = NULL;
        MPI_Win_shared_query_c(win, owner, &bytes, &large_unit, &again);
        CHECK_INT(large_unit, unit);
        CHECK_INT(bytes, sizes[owner]);
        CHECK(again == at);
        if (sizes[owner] == 0)
            continue;
        lowest = lowest < 0 ? owner : lowest;
        CHECK(at != NULL);
        if (owner == own)
            CHECK(at == base);
        if (contiguous && end)
            CHECK(at == end);
        end = at + sizes[owner];
    }
    MPI_Aint bytes = -1;
    int unit = -1;
    MPI_Win_shared_query(win, MPI_PROC_NULL, &bytes, &unit, &at);
    CHECK_INT(bytes, lowest < 0 ? 0 : sizes[lowest]);
    if (lowest >= 0) {
        unsigned char *of_lowest;
        CHECK_INT(unit, units[lowest]);
        MPI_Win_shared_query(win, lowest, &bytes, &unit, &of_lowest);
        CHECK(at == of_lowest);
    }
    /* Each rank stores into all segments, each its own bytes, and all see them: rank r writes bytes r, r +
     * ranks, ... */
    MPI_Win_fence(0, win);
    for (int owner = 0; owner < ranks; owner++) {
        MPI_Win_shared_query(win, owner, &bytes, &unit, &at);
        for (MPI_Aint i = own; i < sizes[owner]; i += ranks)
            at[i] = byte_of((size_t)i, owner);
    }
    MPI_Win_fence(0, win);
    for (int owner = 0; owner < ranks; owner++) {
        MPI_Win_shared_query(win, owner, &bytes, &unit, &at);
        CHECK(is_filled(at, (size_t)sizes[owner], owner));
    }
    MPI_Win_fence(0, win);
    /* And a get sees what was stored. */
    int next = (own + 1) % ranks;
    unsigned char *got = malloc((size_t)sizes[next] + 1);
    MPI_Get(got, (int)sizes[next], MPI_BYTE, next, 0, (int)sizes[next], MPI_BYTE, win);
    MPI_Win_fence(0, win);
    CHECK(is_filled(got, (size_t)sizes[next], next));
    free(got);
}

enum { SOME_BYTES, ALL_EMPTY, FIRST_EMPTY, ONLY_LAST, ODD_BYTES, PAGES, SHAPES };

static void shared(int shape, int noncontiguous, int large)
{
    MPI_Win win;
    MPI_Info info = MPI_INFO_NULL;
    unsigned char *base = NULL;
    int own, ranks;
    MPI_Comm_rank(node, &own);
    MPI_Comm_size(node, &ranks);
    const MPI_Aint by_shape[SHAPES] = {
        64 * (own + 1), 0, own ? 48 : 0, own == ranks - 1 ? 100 : 0, 5 + 2 * own, own % 2 ? 4096 : 10000};
    MPI_Aint *sizes = malloc(sizeof(MPI_Aint) * (size_t)ranks), bytes = by_shape[shape];
    int *units = malloc(sizeof(int) * (size_t)ranks), unit = 1 + own;
    MPI_Allgather(&bytes, 1, MPI_AINT, sizes, 1, MPI_AINT, node);
    MPI_Allgather(&unit, 1, MPI_INT, units, 1, MPI_INT, node);
    if (noncontiguous) {
        MPI_Info_create(&info);
        MPI_Info_set(info, "alloc_shared_noncontig", "true");
    }
    if (large)
        MPI_Win_allocate_shared_c(bytes, unit, info, node, &base, &win);
    else
        MPI_Win_allocate_shared(bytes, unit, info, node, &base, &win);
    if (noncontiguous)
        MPI_Info_free(&info);
    CHECK_INT(*(MPI_Aint *)attribute(win, MPI_WIN_SIZE), bytes);
    CHECK_INT(*(int *)attribute(win, MPI_WIN_DISP_UNIT), unit);
    CHECK_INT(*(int *)attribute(win, MPI_WIN_CREATE_FLAVOR), MPI_WIN_FLAVOR_SHARED);
    if (bytes)
        CHECK(attribute(win, MPI_WIN_BASE) == base);
    sees_segments(win, base, sizes, units, !noncontiguous);
    MPI_Win_free(&win);
    free(sizes);
    free(units);
}

/* Windows of other flavors may be in shared memory, too. If they are, the memory is that of the owner. */
static void perhaps_shared(int kind)
{
    struct window w = make_window(kind, 64, 4, node);
    int *words = (int *)w.base;
    words[0] = 1000 + w.rank;
    MPI_Win_fence(0, w.win);
    for (int owner = 0; owner < w.ranks; owner++) {
        MPI_Aint bytes = -1;
        int unit = -1, *at = NULL;
        MPI_Win_set_errhandler(w.win, MPI_ERRORS_RETURN);
        int code = MPI_Win_shared_query(w.win, owner, &bytes, &unit, &at);
        if (code != MPI_SUCCESS) {
            /* Before MPI-4.1 no other flavor could be asked. */
            CHECK_INT(class_of(code), MPI_ERR_RMA_FLAVOR);
            continue;
        }
        CHECK(bytes == 0 || bytes == 64);
        if (bytes) {
            CHECK_INT(unit, 4);
            CHECK_INT(at[0], 1000 + owner);
            if (owner == w.rank)
                CHECK(at == words);
        }
    }
    MPI_Win_fence(0, w.win);
    free_window(&w);
}

/* Memory is attached piece by piece, used, detached and attached anew, without the other ranks' doing. */
static void dynamic(void)
{
    enum { PIECES = 5, WORDS = 100 };
    MPI_Win win;
    MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    is_described(win, MPI_BOTTOM, 0, 1, MPI_WIN_FLAVOR_DYNAMIC);
    int *pieces = malloc(sizeof(int) * PIECES * WORDS);
    MPI_Aint addresses[PIECES], *all = malloc(sizeof(MPI_Aint) * PIECES * (size_t)size);
    MPI_Win_lock_all(0, win);
    for (int round = 0; round < 3; round++) {
        /* Pieces lie beside each other; the third stays away; the last round attaches them the other way
         * round. */
        for (int i = 0; i < PIECES; i++) {
            int p = round == 2 ? PIECES - 1 - i : i;
            MPI_Get_address(pieces + p * WORDS, &addresses[p]);
            if (p != 2)
                MPI_Win_attach(win, pieces + p * WORDS, sizeof(int) * WORDS);
        }
        for (int i = 0; i < PIECES * WORDS; i++)
            pieces[i] = -1 - round;
        MPI_Win_sync(win);
        MPI_Allgather(addresses, PIECES, MPI_AINT, all, PIECES, MPI_AINT, MPI_COMM_WORLD);
        for (int p = 0; p < PIECES; p++) {
            int values[2] = {1000 * rank + p, 2000 * rank + p}, got = -9;
            MPI_Aint at = all[PIECES * right + p];
            if (p == 2)
                continue;
            MPI_Put(values, 2, MPI_INT, right, MPI_Aint_add(at, 8), 2, MPI_INT, win);
            MPI_Get(&got, 1, MPI_INT, right, MPI_Aint_add(at, 4 * (WORDS - 1)), 1, MPI_INT, win);
            MPI_Win_flush(right, win);
            CHECK_INT(got, -1 - round);
        }
        MPI_Barrier(MPI_COMM_WORLD);
        MPI_Win_sync(win);
        for (int p = 0; p < PIECES; p++)
            for (int i = 0; i < WORDS; i++) {
                int is_put = p != 2 && (i == 2 || i == 3);
                CHECK_INT(pieces[p * WORDS + i], is_put ? (i - 1) * 1000 * left + p : -1 - round);
            }
        MPI_Barrier(MPI_COMM_WORLD);
        /* The last round's are detached by MPI_Win_free. */
        for (int p = 0; round < 2 && p < PIECES; p++)
            if (p != 2)
                MPI_Win_detach(win, pieces + p * WORDS);
    }
    MPI_Win_unlock_all(win);
    MPI_Win_free(&win);
    CHECK(win == MPI_WIN_NULL);
    memset(pieces, 0, sizeof(int) * PIECES * WORDS);
    free(pieces);
    free(all);
}

static void groups(void)
{
    struct window w;
    MPI_Comm backward, half;
    MPI_Group of_window, of_comm;
    int compared;
    MPI_Comm_split(MPI_COMM_WORLD, 0, size - rank, &backward);
    MPI_Comm_split(backward, rank % 2, 0, &half);
    MPI_Comm comms[] = {backward, half, MPI_COMM_SELF};
    for (int i = 0; i < 3; i++) {
        w = make_window(i % 2 ? ALLOCATED : ON_HEAP, 16, 1, comms[i]);
        MPI_Win_get_group(w.win, &of_window);
        MPI_Comm_group(comms[i], &of_comm);
        MPI_Group_compare(of_window, of_comm, &compared);
        CHECK_INT(compared, MPI_IDENT);
        MPI_Group_free(&of_comm);
        MPI_Group_free(&of_window);
        /* Ranks are those of the group. */
        memset(w.base, 0, 16);
        MPI_Win_fence(0, w.win);
        MPI_Put(&w.rank, 4, MPI_BYTE, (w.rank + 1) % w.ranks, 4, 4, MPI_BYTE, w.win);
        MPI_Win_fence(0, w.win);
        int got;
        memcpy(&got, w.base + 4, 4);
        CHECK_INT(got, (w.rank + w.ranks - 1) % w.ranks);
        free_window(&w);
    }
    MPI_Comm_free(&half);
    MPI_Comm_free(&backward);
}

/* Many at the same time, of all kinds, freed in another order than made; and many one after the other. */
static void many(void)
{
    enum { AT_ONCE = 40, AFTER_EACH_OTHER = 100 };
    struct window windows[AT_ONCE];
    int count = 0, got;
    int shareable = is_shareable(MPI_COMM_WORLD);
    for (int i = 0; i < AT_ONCE; i++) {
        int kind = i % WINDOW_KINDS == SHARED && !shareable ? ALLOCATED : i % WINDOW_KINDS;
        windows[count++] = make_window(kind, 16, 1, MPI_COMM_WORLD);
        CHECK(MPI_Win_fromint(MPI_Win_toint(windows[i].win)) == windows[i].win);
        CHECK(MPI_Win_f2c(MPI_Win_c2f(windows[i].win)) == windows[i].win);
        for (int j = 0; j < i; j++)
            CHECK(windows[j].win != windows[i].win);
    }
    for (int i = 0; i < count; i++)
        MPI_Win_fence(0, windows[i].win);
    for (int i = 0; i < count; i++) {
        int value = 1000 * i + rank;
        MPI_Accumulate(&value, 1, MPI_INT, right, place(&windows[i], right, 8), 1, MPI_INT, MPI_REPLACE,
                       windows[i].win);
        MPI_Win_fence(0, windows[i].win);
        memcpy(&got, windows[i].base + 8, 4);
        CHECK_INT(got, 1000 * i + left);
    }
    for (int i = 0; i < count; i++)
        free_window(&windows[i * 7 % count]);
    for (int i = 0; i < AFTER_EACH_OTHER; i++) {
        struct window w = make_window(i % 2 ? ALLOCATED : ON_HEAP, 8 + 100 * (i % 7), 1, MPI_COMM_WORLD);
        memset(w.base, 0, 8);
        MPI_Win_fence(0, w.win);
        MPI_Put(&i, 1, MPI_INT, left, 4, 1, MPI_INT, w.win);
        MPI_Win_fence(0, w.win);
        memcpy(&got, w.base + 4, 4);
        CHECK_INT(got, i);
        free_window(&w);
    }
}

int main(int argc, char **argv)
{
    start_windows(&argc, &argv);
    right = (rank + 1) % size;
    left = (rank + size - 1) % size;
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
    for (int i = 0; i < 4; i++)
        made_of_memory(i / 2, i % 2);
    allocated(0);
    allocated(1);
    if (is_held("alignment")) {
        aligned(ALLOCATED);
        aligned(SHARED);
    }
    without_memory();
    large_units();
    overlapping();
    for (int shape = 0; shape < SHAPES; shape++)
        for (int i = 0; i < 4; i++)
            shared(shape, i / 2, i % 2);
    perhaps_shared(ON_HEAP);
    perhaps_shared(ON_ALLOC_MEM);
    perhaps_shared(ALLOCATED);
    dynamic();
    groups();
    many();
    MPI_Comm_free(&node);
    return MPI_Finalize();
}
