/* Derived datatypes at both ends of put, get, accumulate and get_accumulate: vectors, indexed blocks,
 * structs, parts of arrays, with gaps, out of order, before their address, interleaved, nested, and resized;
 * another one at the origin than at the target and for the result; a few elements and megabytes. The
 * elements get where the types say, in the order that they say, and no other byte of window or buffer
 * changes. A type may be freed as soon as the call has returned; that of the origin may hold absolute
 * addresses. For any number of ranks. */
#include "windows.h"
#include <stddef.h>

enum { LONGEST = 24 };

/* A type and where its elements are, in bytes. */
struct map {
    const char *name;
    MPI_Datatype type;
    int elements, most_items; /* More items would overlap, if there is a limit. */
    MPI_Aint at[LONGEST], extent;
};

enum {
    PLAIN,
    CONTIGUOUS,
    VECTOR,
    BACKWARD,
    INDEXED,
    HINDEXED,
    BLOCKS,
    STRUCT,
    SUBARRAY,
    SUBARRAY_F,
    RESIZED,
    INTERLEAVED,
    NESTED,
    DUPLICATE,
    MAPS
};

static int right, left;

static void push(struct map *map, MPI_Aint at) { map->at[map->elements++] = at; }

static struct map make_map(int kind, MPI_Datatype base, int s)
{
    static const char *const names[] = {
        "plain",    "contiguous",     "vector", "backward vector", "indexed",
        "hindexed", "indexed blocks", "struct", "subarray",        "Fortran's subarray",
        "resized",  "interleaved",    "nested", "duplicate"};
    struct map map = {.name = names[kind], .type = base, .extent = s};
    MPI_Datatype inner = MPI_DATATYPE_NULL, other = MPI_DATATYPE_NULL;
    MPI_Aint lower = 0;
    switch (kind) {
    case PLAIN: push(&map, 0); return map;
    case CONTIGUOUS:
        MPI_Type_contiguous(3, base, &map.type);
        for (int i = 0; i < 3; i++)
            push(&map, i * s);
        map.extent = 3 * s;
        break;
    case VECTOR:
        MPI_Type_vector(3, 2, 4, base, &map.type);
        for (int i = 0; i < 6; i++)
            push(&map, (i / 2 * 4 + i % 2) * s);
        map.extent = 10 * s;
        break;
    case BACKWARD:
        MPI_Type_create_hvector(4, 1, -3 * s, base, &map.type);
        for (int i = 0; i < 4; i++)
            push(&map, -3 * i * s);
        lower = -9 * s, map.extent = 10 * s;
        break;
    case INDEXED: {
        const int lengths[] = {2, 1, 3}, starts[] = {5, 0, -4};
        MPI_Type_indexed(3, lengths, starts, base, &map.type);
        for (int i = 0; i < 3; i++)
            for (int j = 0; j < lengths[i]; j++)
                push(&map, (starts[i] + j) * s);
        lower = -4 * s, map.extent = 11 * s;
        break;
    }
    case HINDEXED: {
        const int lengths[] = {1, 0, 2};
        const MPI_Aint starts[] = {7 * s, 100 * s, -2 * s};
        MPI_Type_create_hindexed(3, lengths, starts, base, &map.type);
        push(&map, 7 * s), push(&map, -2 * s), push(&map, -s);
        lower = -2 * s, map.extent = 10 * s;
        break;
    }
    case BLOCKS: {
        const int starts[] = {4, 0, 8};
        MPI_Type_create_indexed_block(3, 2, starts, base, &map.type);
        for (int i = 0; i < 6; i++)
            push(&map, (starts[i / 2] + i % 2) * s);
        map.extent = 10 * s;
        break;
    }
    case STRUCT: {
        const int lengths[] = {1, 2, 1};
        const MPI_Aint starts[] = {3 * s, 5 * s, -4 * s};
        MPI_Type_contiguous(2, base, &inner);
        MPI_Type_vector(2, 1, 3, base, &other);
        const MPI_Datatype types[] = {base, inner, other};
        MPI_Type_create_struct(3, lengths, starts, types, &map.type);
        push(&map, 3 * s);
        for (int i = 0; i < 4; i++)
            push(&map, (5 + i) * s);
        push(&map, -4 * s), push(&map, -s);
        lower = -4 * s, map.extent = 13 * s;
        break;
    }
    case SUBARRAY:
    case SUBARRAY_F: {
        const int sizes[] = {4, 5}, part[] = {2, 3}, first[] = {1, 1};
        int is_f = kind == SUBARRAY_F;
        MPI_Type_create_subarray(2, sizes, part, first, is_f ? MPI_ORDER_FORTRAN : MPI_ORDER_C, base,
                                 &map.type);
        for (int i = 0; i < 6; i++)
            push(&map, (is_f ? 1 + i % 2 + 4 * (1 + i / 2) : 5 * (1 + i / 3) + 1 + i % 3) * s);
        map.extent = 20 * s;
        break;
    }
    case RESIZED:
        MPI_Type_vector(2, 1, 2, base, &inner);
        MPI_Type_create_resized(inner, -2 * s, 7 * s, &map.type);
        push(&map, 0), push(&map, 2 * s);
        lower = -2 * s, map.extent = 7 * s;
        break;
    case INTERLEAVED:
        MPI_Type_vector(3, 1, 4, base, &inner);
        MPI_Type_create_resized(inner, 0, s, &map.type);
        for (int i = 0; i < 3; i++)
            push(&map, 4 * i * s);
        map.extent = s, map.most_items = 4;
        break;
    case NESTED: {
        const int starts[] = {3, 0};
        MPI_Type_vector(2, 2, 3, base, &inner); /* 0 1 3 4, 5 long */
        MPI_Type_create_indexed_block(2, 1, starts, inner, &map.type);
        for (int i = 0; i < 8; i++)
            push(&map, (starts[i / 4] * 5 + i % 4 / 2 * 3 + i % 2) * s);
        map.extent = 20 * s;
        break;
    }
    default:
        MPI_Type_vector(2, 1, 5, base, &inner);
        MPI_Type_dup(inner, &map.type);
        push(&map, 0), push(&map, 5 * s);
        map.extent = 6 * s;
        break;
    }
    if (inner != MPI_DATATYPE_NULL)
        MPI_Type_free(&inner);
    if (other != MPI_DATATYPE_NULL)
        MPI_Type_free(&other);
    MPI_Type_commit(&map.type);
    MPI_Aint is_lower, is_extent;
    MPI_Type_get_extent(map.type, &is_lower, &is_extent);
    CHECK_INT(is_lower, lower);
    CHECK_INT(is_extent, map.extent);
    return map;
}

/* Where the k-th element of so many items is. */
static MPI_Aint element(const struct map *map, int k)
{
    return k / map->elements * map->extent + map->at[k % map->elements];
}

static int fits(const struct map *map, int elements)
{
    return elements % map->elements == 0 &&
           (!map->most_items || elements / map->elements <= map->most_items);
}

static void add(unsigned char *to, const unsigned char *from, int s)
{
    uint64_t a = 0, b = 0;
    memcpy(&a, to, (size_t)s);
    memcpy(&b, from, (size_t)s);
    a += b;
    memcpy(to, &a, (size_t)s);
}

/* An area for each operation, with the address of the data in its middle. */
enum { PUT, GET, ACCUMULATE, GET_ACCUMULATE, OPERATIONS };
enum { AREA = 16384, MIDDLE = 4096, WINDOW = OPERATIONS * AREA };

struct buffers {
    unsigned char *origin, *result, *image, *origin_image, *result_image, *theirs, *there;
};

static void same(const unsigned char *got, const unsigned char *expected, size_t bytes, const char *what,
                 const struct map *o, const struct map *t, const struct map *r, int elements, int s)
{
    for (size_t i = 0; i < bytes; i++)
        if (got[i] != expected[i]) {
            fprintf(stderr,
                    "window_types: rank %d of %d: %d elements of %d bytes, %s at the origin, %s at the "
                    "target, result "
                    "%s: byte %ld of area %zu of the %s is 0x%02x, not 0x%02x\n",
                    rank, size, elements, s, o->name, t->name, r->name, (long)(i % AREA) - MIDDLE, i / AREA,
                    what, got[i], expected[i]);
            MPI_Abort(MPI_COMM_WORLD, 99);
        }
}

/* All operations with one type at the origin, one at the target and one for the result. */
static void transfer(struct window *w, struct buffers *b, const struct map *o, const struct map *t,
                     const struct map *r, MPI_Datatype base, int s, int elements, int by_locks, int round)
{
    int os = elements / o->elements, ts = elements / t->elements, rs = elements / r->elements;
    MPI_Datatype types[3] = {o->type, t->type, r->type};
    (void)base;
    if (by_locks)
        begin_own(w);
    fill(w->base, WINDOW, 20 * rank + round % 10);
    memcpy(b->image, w->base, WINDOW);
    fill(b->there, WINDOW, 20 * right + round % 10);
    fill(b->origin, WINDOW, 20 * rank + 10 + round % 10);
    memcpy(b->origin_image, b->origin, WINDOW);
    fill(b->theirs, WINDOW, 20 * left + 10 + round % 10);
    memset(b->result, 0x3c, AREA);
    memset(b->result_image, 0x3c, AREA);
    if (by_locks) {
        end_own(w);
        MPI_Barrier(MPI_COMM_WORLD);
        MPI_Win_lock(MPI_LOCK_SHARED, right, 0, w->win);
    } else {
        MPI_Win_fence(MPI_MODE_NOPRECEDE, w->win);
    }
    /* Duplicates are freed before the operations are complete. */
    for (int i = 0; i < 3; i++)
        MPI_Type_dup(types[i], &types[i]);
    unsigned char *from[OPERATIONS];
    MPI_Aint at[OPERATIONS];
    for (int i = 0; i < OPERATIONS; i++) {
        from[i] = b->origin + i * AREA + MIDDLE;
        at[i] = place(w, right, i * AREA + MIDDLE);
    }
    if (round % 3 == 0) {
        MPI_Put_c(from[0], os, types[0], right, at[0], ts, types[1], w->win);
        MPI_Get_c(from[1], os, types[0], right, at[1], ts, types[1], w->win);
        MPI_Accumulate_c(from[2], os, types[0], right, at[2], ts, types[1], MPI_SUM, w->win);
        MPI_Get_accumulate_c(from[3], os, types[0], b->result + MIDDLE, rs, types[2], right, at[3], ts,
                             types[1], MPI_SUM, w->win);
    } else if (round % 3 == 1 && by_locks) {
        MPI_Request requests[4];
        MPI_Rput(from[0], os, types[0], right, at[0], ts, types[1], w->win, &requests[0]);
        MPI_Rget(from[1], os, types[0], right, at[1], ts, types[1], w->win, &requests[1]);
        MPI_Raccumulate(from[2], os, types[0], right, at[2], ts, types[1], MPI_SUM, w->win, &requests[2]);
        MPI_Rget_accumulate(from[3], os, types[0], b->result + MIDDLE, rs, types[2], right, at[3], ts,
                            types[1], MPI_SUM, w->win, &requests[3]);
        MPI_Waitall(4, requests, MPI_STATUSES_IGNORE);
    } else {
        MPI_Put(from[0], os, types[0], right, at[0], ts, types[1], w->win);
        MPI_Get(from[1], os, types[0], right, at[1], ts, types[1], w->win);
        MPI_Accumulate(from[2], os, types[0], right, at[2], ts, types[1], MPI_SUM, w->win);
        MPI_Get_accumulate(from[3], os, types[0], b->result + MIDDLE, rs, types[2], right, at[3], ts,
                           types[1], MPI_SUM, w->win);
    }
    for (int i = 0; i < 3; i++)
        MPI_Type_free(&types[i]);
    if (by_locks) {
        MPI_Win_unlock(right, w->win);
        MPI_Barrier(MPI_COMM_WORLD);
        begin_own(w);
    } else {
        MPI_Win_fence(MPI_MODE_NOSUCCEED, w->win);
    }
    for (int k = 0; k < elements; k++) {
        MPI_Aint here = MIDDLE + element(t, k), there = MIDDLE + element(o, k),
                 into = MIDDLE + element(r, k);
        CHECK(here >= 0 && here + s <= AREA && there >= 0 && there + s <= AREA && into >= 0 &&
              into + s <= AREA);
        memcpy(b->image + PUT * AREA + here, b->theirs + PUT * AREA + there, (size_t)s);
        memcpy(b->origin_image + GET * AREA + there, b->there + GET * AREA + here, (size_t)s);
        add(b->image + ACCUMULATE * AREA + here, b->theirs + ACCUMULATE * AREA + there, s);
        add(b->image + GET_ACCUMULATE * AREA + here, b->theirs + GET_ACCUMULATE * AREA + there, s);
        memcpy(b->result_image + into, b->there + GET_ACCUMULATE * AREA + here, (size_t)s);
    }
    same(w->base, b->image, WINDOW, "window", o, t, r, elements, s);
    same(b->origin, b->origin_image, WINDOW, "origin buffer", o, t, r, elements, s);
    same(b->result, b->result_image, AREA, "result buffer", o, t, r, elements, s);
    if (by_locks)
        end_own(w);
}

static int common(int a, int b)
{
    int lcm = a;
    while (lcm % b)
        lcm += a;
    return lcm;
}

/* Every type with every other one, or with some. */
static void all_pairs(int kind, MPI_Datatype base, int s, int step)
{
    struct map maps[MAPS];
    struct window w = make_window(kind, WINDOW, s, MPI_COMM_WORLD);
    struct buffers b;
    unsigned char **all[] = {&b.origin,       &b.result, &b.image, &b.origin_image,
                             &b.result_image, &b.theirs, &b.there};
    for (int i = 0; i < 7; i++)
        CHECK((*all[i] = malloc(WINDOW)) != NULL);
    for (int i = 0; i < MAPS; i++)
        maps[i] = make_map(i, base, s);
    for (int pair = 0, round = 0; pair < MAPS * MAPS; pair += step) {
        const struct map *o = &maps[pair / MAPS], *t = &maps[pair % MAPS],
                         *r = &maps[(pair * 5 + pair / MAPS) % MAPS];
        int elements = common(o->elements, t->elements), several = elements * (1 + pair % 3);
        if (fits(o, several) && fits(t, several))
            elements = several;
        if (!fits(o, elements) || !fits(t, elements))
            continue;
        if (!fits(r, elements))
            r = &maps[PLAIN];
        transfer(&w, &b, o, t, r, base, s, elements, pair / 2 % 2, round++);
        if (pair / 2 % 2)
            MPI_Barrier(MPI_COMM_WORLD);
    }
    for (int i = 0; i < MAPS; i++)
        if (i != PLAIN)
            MPI_Type_free(&maps[i].type);
    for (int i = 0; i < 7; i++)
        free(*all[i]);
    free_window(&w);
}

struct particle {
    char kind;
    double place[3];
    int id;
};
struct record {
    int unused, id;
    double place[3];
    char kind;
};

/* Members of different types, which lie differently at the two ends. */
static void structs(int kind, int particles)
{
    const int lengths[] = {1, 3, 1};
    const MPI_Aint at[] = {offsetof(struct particle, kind), offsetof(struct particle, place),
                           offsetof(struct particle, id)};
    const MPI_Aint to[] = {offsetof(struct record, kind), offsetof(struct record, place),
                           offsetof(struct record, id)};
    const MPI_Datatype of[] = {MPI_CHAR, MPI_DOUBLE, MPI_INT};
    MPI_Datatype packed, particle, record;
    MPI_Type_create_struct(3, lengths, at, of, &packed);
    MPI_Type_create_resized(packed, 0, sizeof(struct particle), &particle);
    MPI_Type_free(&packed);
    MPI_Type_create_struct(3, lengths, to, of, &packed);
    MPI_Type_create_resized(packed, 0, sizeof(struct record), &record);
    MPI_Type_free(&packed);
    MPI_Type_commit(&particle);
    MPI_Type_commit(&record);
    struct window w = make_window(kind, (MPI_Aint)sizeof(struct record) * particles * 2, 8, MPI_COMM_WORLD);
    struct record *records = (struct record *)w.base;
    size_t bytes = sizeof(struct particle) * (size_t)particles;
    struct particle *out = malloc(bytes), *in = malloc(bytes);
    memset(out, 0x21, bytes);
    memset(in, 0x22, bytes);
    memset(records, 0x23, sizeof *records * (size_t)particles * 2);
    for (int i = 0; i < particles; i++) {
        out[i].kind = (char)('a' + i % 26), out[i].id = 1000 * rank + i;
        struct record *got = &records[particles + i];
        got->kind = (char)('A' + i % 26), got->id = 2000 * rank + i;
        for (int j = 0; j < 3; j++)
            out[i].place[j] = i + j * rank, got->place[j] = i - j * rank;
    }
    MPI_Win_fence(0, w.win);
    MPI_Put(out, particles, particle, right, place(&w, right, 0), particles, record, w.win);
    MPI_Get(in, particles, particle, right, place(&w, right, (MPI_Aint)sizeof(struct record) * particles),
            particles, record, w.win);
    MPI_Type_free(&particle);
    MPI_Type_free(&record);
    MPI_Win_fence(0, w.win);
    for (int i = 0; i < particles; i++) {
        const struct record *put = &records[i], *kept = &records[particles + i];
        CHECK(put->kind == 'a' + i % 26 && in[i].kind == 'A' + i % 26 && kept->kind == 'A' + i % 26);
        CHECK_INT(put->id, 1000 * left + i);
        CHECK_INT(in[i].id, 2000 * right + i);
        CHECK_INT(kept->id, 2000 * rank + i);
        for (int j = 0; j < 3; j++)
            CHECK(put->place[j] == i + j * left && in[i].place[j] == i - j * right);
        CHECK_INT(put->unused, 0x23232323);
        CHECK_INT(((const char *)put)[offsetof(struct record, kind) + 1], 0x23);
        CHECK_INT(((const char *)&in[i])[1], 0x22);
    }
    free(out);
    free(in);
    free_window(&w);
}

/* A column of the own matrix becomes a column, a row or all of the neighbour's, of up to megabytes. */
static void matrices(int kind, int n)
{
    struct window w = make_window(kind, (MPI_Aint)n * n * 4, 4, MPI_COMM_WORLD);
    int *own = malloc(sizeof(int) * (size_t)n * (size_t)n), *cells = (int *)w.base;
    MPI_Datatype column, columns;
    MPI_Type_vector(n, 1, n, MPI_INT, &column);
    MPI_Type_create_resized(column, 0, 4, &columns);
    MPI_Type_commit(&column);
    MPI_Type_commit(&columns);
    for (int step = 0; step < 4; step++) {
        for (int i = 0; i < n * n; i++)
            own[i] = 7 * i + rank, cells[i] = -i - 10 * rank;
        MPI_Win_fence(0, w.win);
        switch (step) {
        case 0: /* Transposed. */
            MPI_Put(own, n, columns, right, place(&w, right, 0), n * n, MPI_INT, w.win);
            break;
        case 1: MPI_Get(own, n, columns, right, place(&w, right, 0), n * n, MPI_INT, w.win); break;
        case 2: /* The second column. */
            MPI_Accumulate(own + 1, 1, column, right, place(&w, right, 4), 1, column, MPI_SUM, w.win);
            break;
        default: /* The first column becomes the last row, and comes back as the last column. */
            MPI_Get_accumulate(own, 1, column, own + n - 1, 1, column, right,
                               place(&w, right, 4 * (n - 1) * (MPI_Aint)n), n, MPI_INT, MPI_REPLACE, w.win);
            break;
        }
        MPI_Win_fence(0, w.win);
        for (int i = 0; i < n; i++)
            for (int j = 0; j < n; j++) {
                int at = i * n + j, before = -at - 10 * rank, mine = 7 * at + rank;
                int cell = step == 0                 ? 7 * (j * n + i) + left
                           : step == 2 && j == 1     ? before + 7 * at + left
                           : step == 3 && i == n - 1 ? 7 * (j * n) + left
                                                     : before;
                int kept = step == 1                 ? -(j * n + i) - 10 * right
                           : step == 3 && j == n - 1 ? -((n - 1) * n + i) - 10 * right
                                                     : mine;
                CHECK_INT(cells[at], cell);
                CHECK_INT(own[at], kept);
            }
    }
    MPI_Type_free(&column);
    MPI_Type_free(&columns);
    free(own);
    free_window(&w);
}

/* Origins at absolute addresses, and types without elements. */
static void addresses_and_nothing(int kind)
{
    struct window w = make_window(kind, 64, 4, MPI_COMM_WORLD);
    int first = 10 + rank, second[2] = {20 + rank, 30 + rank}, got_first = -1, got_second[2] = {-1, -1};
    const int lengths[] = {1, 2};
    MPI_Aint out[2], in[2];
    MPI_Datatype from, into, empty;
    MPI_Get_address(&first, &out[0]);
    MPI_Get_address(second, &out[1]);
    MPI_Get_address(&got_first, &in[0]);
    MPI_Get_address(got_second, &in[1]);
    MPI_Type_create_hindexed(2, lengths, out, MPI_INT, &from);
    MPI_Type_create_hindexed(2, lengths, in, MPI_INT, &into);
    MPI_Type_contiguous(0, MPI_INT, &empty);
    MPI_Type_commit(&from);
    MPI_Type_commit(&into);
    MPI_Type_commit(&empty);
    int *cells = (int *)w.base;
    for (int i = 0; i < 16; i++)
        cells[i] = 100 * rank + i;
    MPI_Win_fence(0, w.win);
    MPI_Put(MPI_BOTTOM, 1, from, right, place(&w, right, 0), 3, MPI_INT, w.win);
    MPI_Get(MPI_BOTTOM, 1, into, right, place(&w, right, 16), 3, MPI_INT, w.win);
    MPI_Accumulate(MPI_BOTTOM, 1, from, right, place(&w, right, 32), 3, MPI_INT, MPI_SUM, w.win);
    MPI_Put(NULL, 5, empty, right, place(&w, right, 0), 9, empty, w.win);
    MPI_Get(NULL, 5, empty, right, place(&w, right, 0), 0, MPI_INT, w.win);
    MPI_Accumulate(NULL, 5, empty, right, place(&w, right, 0), 3, empty, MPI_SUM, w.win);
    MPI_Win_fence(0, w.win);
    for (int i = 0; i < 16; i++) {
        int sum = i >= 8 && i < 11 ? (i - 7) * 10 + left : 0;
        CHECK_INT(cells[i], i < 3 ? (i + 1) * 10 + left : 100 * rank + i + sum);
    }
    CHECK_INT(got_first, 100 * right + 4);
    CHECK_INT(got_second[0], 100 * right + 5);
    CHECK_INT(got_second[1], 100 * right + 6);
    MPI_Type_free(&from);
    MPI_Type_free(&into);
    MPI_Type_free(&empty);
    free_window(&w);
}

int main(int argc, char **argv)
{
    start_windows(&argc, &argv);
    right = (rank + 1) % size;
    left = (rank + size - 1) % size;
    all_pairs(ALLOCATED, MPI_UINT32_T, 4, 1);
    all_pairs(ON_HEAP, MPI_UINT64_T, 8, 3);
    all_pairs(DYNAMIC, MPI_UINT8_T, 1, 5);
    all_pairs(can_be_made(SHARED, MPI_COMM_WORLD) ? SHARED : ON_ALLOC_MEM, MPI_UINT16_T, 2, 3);
    for (int kind = 0; kind < WINDOW_KINDS; kind++) {
        if (!can_be_made(kind, MPI_COMM_WORLD))
            continue;
        structs(kind, 1);
        structs(kind, 7);
        structs(kind, 5000);
        matrices(kind, 3);
        matrices(kind, 50);
        addresses_and_nothing(kind);
    }
    matrices(ON_HEAP, 700);
    matrices(ALLOCATED, 700);
    return MPI_Finalize();
}
