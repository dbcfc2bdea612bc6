/* Random epochs of accesses to windows: who accesses what, where and how, the same at all ranks; and what
 * comes of it.
 *
 * The accesses of an epoch conflict nowhere. A byte of a window is written by one of them, or only read, or
 * updated with the same operation on the same elements: by several origins, none of which gets the result,
 * or by one origin, whose accumulates come in order. So each rank can compute all windows. */
#ifndef RANDOM_ACCESSES_H
#define RANDOM_ACCESSES_H
#include "random_reductions.h"
#include "windows.h"

enum { MOST_RANKS = 16, MOST_OF_ORIGIN = 8, MOST_ACCESSES = MOST_RANKS * MOST_OF_ORIGIN, MOST_STORES = 4 };
enum { PUT, GET, ACCUMULATE, GET_ACCUMULATE, FETCH_AND_OP, COMPARE_AND_SWAP, ACCESSES };
enum { BY_FENCE, BY_PSCW, BY_LOCK, BY_LOCKS, BY_LOCK_ALL, EPOCH_KINDS };
enum { O_REPLACE = OPERATIONS, O_NO_OP };
static const char *const access_names[] = {
    "put", "get", "accumulate", "get_accumulate", "fetch_and_op", "compare_and_swap"};
static const char *const epoch_names[] = {"fences", "post and start", "a lock each", "locks", "lock_all"};

/* What an access may share its bytes with. */
enum { FREE, ALONE, READ, FIRST_CLASS };

struct access {
    int number, kind, origin, target, unit, operation, with_request, large, flushed;
    int is_swapped; /* The comparison holds. */
    const struct layout *from, *there, *into;
    size_t count; /* Units. */
    long at;      /* Byte of the target's window. */
    uint64_t key;
    /* At the origin: the buffers, and what they have to be. */
    byte *out, *in, *out_image, *in_image, compare[16];
    size_t out_bytes, in_bytes;
    MPI_Request request;
};

struct epoch {
    int number, kind, accesses, chained;
    uint64_t key;
    struct access access[MOST_ACCESSES];
    char edge[MOST_RANKS][MOST_RANKS]; /* Post and start: from, to. */
};

/* A seed's: the windows of its ranks, and what they hold. */
static struct {
    int ranks, kind, unit[MOST_RANKS], large;
    long bytes[MOST_RANKS];
    byte *model[MOST_RANKS];
    uint32_t *uses[MOST_RANKS]; /* By byte, in an epoch. */
    struct layout layouts[UNITS][LAYOUTS];
    char is_made[UNITS][LAYOUTS];
    uint64_t key;
} world;

enum { PAD = 32 }; /* Bytes around buffers. */

static inline const struct layout *layout_of(int unit, int kind)
{
    if (!world.is_made[unit][kind]) {
        world.layouts[unit][kind] =
            make_layout(kind, unit, key_of(world.key, (uint64_t)unit, (uint64_t)kind, 70));
        world.is_made[unit][kind] = 1;
    }
    return &world.layouts[unit][kind];
}

static inline void free_layouts(void)
{
    for (int unit = 0; unit < UNITS; unit++)
        for (int kind = 0; kind < LAYOUTS; kind++)
            if (world.is_made[unit][kind])
                free_layout(&world.layouts[unit][kind]);
    memset(world.is_made, 0, sizeof world.is_made);
}

/* Brings together what `spread` lays out. */
static inline void collect(byte *stream, const struct layout *layout, size_t items, const byte *from)
{
    for (size_t item = 0; item < items; item++, from += layout->extent)
        for (int i = 0; i < layout->pieces; i++) {
            memcpy(stream, from + layout->piece[i].at, (size_t)layout->piece[i].bytes);
            stream += layout->piece[i].bytes;
        }
}

static inline size_t items_of(const struct access *a, const struct layout *layout)
{
    return a->count / (size_t)layout->per;
}

static inline int is_accumulate(const struct access *a) { return a->kind >= ACCUMULATE; }
static inline int has_result(const struct access *a) { return a->kind != PUT && a->kind != ACCUMULATE; }
static inline int has_origin(const struct access *a) { return a->kind != GET && a->operation != O_NO_OP; }

/* The first and the last byte, from the place of the access. */
static inline void span_of(const struct layout *layout, size_t items, long *low, long *high)
{
    *low = 0, *high = 0;
    for (int i = 0; i < layout->pieces && items; i++) {
        long first = layout->piece[i].at, last = first + (long)(items - 1) * layout->extent;
        long end = (last > first ? last : first) + layout->piece[i].bytes;
        first = last < first ? last : first;
        *low = (i == 0 || first < *low) ? first : *low;
        *high = (i == 0 || end > *high) ? end : *high;
    }
}

static inline int may_be_used(const uint32_t *uses, const struct access *a, uint32_t as)
{
    for (size_t item = 0; item < items_of(a, a->there); item++)
        for (int i = 0; i < a->there->pieces; i++) {
            long at = a->at + (long)item * a->there->extent + a->there->piece[i].at;
            for (int j = 0; j < a->there->piece[i].bytes; j++)
                if (uses[at + j] != FREE && (as == ALONE || uses[at + j] != as))
                    return 0;
        }
    return 1;
}

static inline void use(uint32_t *uses, const struct access *a, uint32_t as)
{
    for (size_t item = 0; item < items_of(a, a->there); item++)
        for (int i = 0; i < a->there->pieces; i++) {
            long at = a->at + (long)item * a->there->extent + a->there->piece[i].at;
            for (int j = 0; j < a->there->piece[i].bytes; j++)
                uses[at + j] = as;
        }
}

/* Finds bytes of the target that go with this use. */
static inline int find_place(struct access *a, uint32_t as, uint64_t *random)
{
    long low, high, bytes = world.bytes[a->target], step = world.unit[a->target];
    span_of(a->there, items_of(a, a->there), &low, &high);
    /* Elements that are combined lie where elements of their type do. */
    int natural = units[a->unit].extent % 16 == 0  ? 16
                  : units[a->unit].extent % 8 == 0 ? 8
                                                   : units[a->unit].extent;
    while (is_accumulate(a) && step % natural)
        step *= 2;
    long first = low < 0 ? (-low + step - 1) / step * step : 0, places = (bytes - high - first) / step + 1;
    if (bytes < high - low || bytes - high < first)
        return 0;
    for (int tries = 0; tries < 6; tries++) {
        a->at = first + below(random, (int)places) * step;
        if (may_be_used(world.uses[a->target], a, as)) {
            use(world.uses[a->target], a, as);
            return 1;
        }
    }
    return 0;
}

static inline int common_multiple(int a, int b)
{
    int multiple = a;
    while (multiple % b)
        multiple += a;
    return multiple;
}

/* An operation for an accumulate, and the unit that it has. */
static inline void draw_operation(struct access *a, int overlapping, uint64_t *random)
{
    static const int exact[] = {U_UINT8, U_INT, U_INT64},
                     commutes[] = {O_SUM, O_MIN, O_MAX, O_BAND, O_BOR, O_BXOR};
    if (overlapping) {
        a->unit = exact[below(random, 3)];
        a->operation = commutes[below(random, 6)];
        return;
    }
    if (below(random, 4) == 0) {
        do
            a->unit = below(random, UNITS);
        while (a->unit == U_MIXED);
        a->operation = O_REPLACE;
        return;
    }
    do {
        int row = below(random, REDUCIBLE);
        a->unit = reducible[row].unit;
        a->operation = reducible[row].first + below(random, reducible[row].last - reducible[row].first + 1);
        /* No operations of the program; and products of complex numbers may be rounded differently. */
    } while (a->operation >= O_PRODUCT_MODULO || (a->operation == O_PROD && a->unit >= U_FLOAT_COMPLEX));
}

/* Whether there was a place for it. */
static inline int draw_access(const struct epoch *epoch, struct access *a, int origin, uint64_t *random)
{
    static const int swapped[] = {U_BYTE, U_UINT8, U_INT, U_INT64};
    a->origin = origin;
    a->kind = below(random, ACCESSES);
    a->key = draw(random);
    a->large = below(random, 2);
    a->with_request = epoch->kind >= BY_LOCK && a->kind <= GET_ACCUMULATE && below(random, 3) == 0;
    a->flushed = below(random, 4);
    a->operation = O_REPLACE;
    a->target = below(random, world.ranks);
    if (epoch->kind == BY_PSCW && !epoch->edge[origin][a->target])
        return 0;
    int overlapping = a->kind == ACCUMULATE && below(random, 3) == 0;
    int owned = a->kind >= ACCUMULATE && a->kind <= FETCH_AND_OP && !overlapping && below(random, 3) == 0;
    if (is_accumulate(a))
        draw_operation(a, overlapping || owned, random);
    else
        a->unit = below(random, UNITS);
    if (a->kind == COMPARE_AND_SWAP)
        a->unit = swapped[below(random, 4)], a->operation = O_REPLACE, a->is_swapped = below(random, 2);
    int is_single = a->kind >= FETCH_AND_OP;
    while (a->kind == FETCH_AND_OP && a->unit >= U_MIXED)
        draw_operation(a, 0, random);
    int plain = is_single || overlapping || owned;
    a->from = layout_of(a->unit, is_single ? PLAIN : below(random, LAYOUTS));
    a->there = layout_of(a->unit, plain ? PLAIN : below(random, LAYOUTS));
    a->into = layout_of(a->unit, is_single ? PLAIN : below(random, LAYOUTS));
    int least = common_multiple(common_multiple(a->from->per, a->there->per), a->into->per);
    int most = world.large && below(random, 3) == 0 ? 60 : 5;
    a->count = is_single ? 1 : (size_t)(least * (1 + below(random, most)));
    uint32_t as = ALONE;
    if (a->kind == GET)
        as = READ;
    if (overlapping)
        as = FIRST_CLASS + (uint32_t)(a->unit * 64 + a->operation);
    if (owned)
        as = FIRST_CLASS + (uint32_t)((1 + origin) * 4096 + a->unit * 64 + a->operation);
    if ((a->kind == GET_ACCUMULATE || a->kind == FETCH_AND_OP) && below(random, 4) == 0) {
        /* Reads atomically; what others must not update, but for the origin itself. */
        a->operation = O_NO_OP;
        as = owned ? as : READ;
    }
    return find_place(a, as, random);
}

static inline void draw_epoch(struct epoch *epoch, int number, int previous)
{
    uint64_t random = key_of(world.key, (uint64_t)number, 0, 71);
    memset(epoch, 0, sizeof *epoch);
    epoch->number = number;
    epoch->kind = below(&random, EPOCH_KINDS);
    epoch->chained = previous == BY_FENCE && epoch->kind == BY_FENCE;
    epoch->key = draw(&random);
    for (int i = 0; i < world.ranks; i++)
        memset(world.uses[i], 0, sizeof(uint32_t) * (size_t)world.bytes[i]);
    int density = 1 + below(&random, 3);
    for (int i = 0; i < world.ranks; i++)
        for (int j = 0; j < world.ranks; j++)
            epoch->edge[i][j] = below(&random, 4) < density;
    /* Ranks take turns, so that none has the best places. */
    for (int i = 0; i < MOST_OF_ORIGIN; i++)
        for (int origin = 0; origin < world.ranks; origin++) {
            struct access *a = &epoch->access[epoch->accesses];
            if (below(&random, 4) == 0)
                continue;
            memset(a, 0, sizeof *a);
            if (draw_access(epoch, a, origin, &random))
                a->number = epoch->accesses++;
        }
}

/* What an owner stores before an epoch: anything at some places, and numbers where numbers are needed. */
static inline void store(const struct epoch *epoch, int owner, byte *memory)
{
    uint64_t random = key_of(epoch->key, (uint64_t)owner, 0, 72);
    for (int i = below(&random, MOST_STORES); i > 0 && world.bytes[owner] > 0; i--) {
        long first = below(&random, (int)world.bytes[owner]), length = 1 + below(&random, 200);
        length = first + length > world.bytes[owner] ? world.bytes[owner] - first : length;
        fill_stream(memory + first, (size_t)length, draw(&random));
    }
    for (int i = 0; i < epoch->accesses; i++) {
        const struct access *a = &epoch->access[i];
        if (a->target != owner || !is_accumulate(a) || a->operation >= O_REPLACE)
            continue;
        if (!is_floating(a->unit) && a->unit < U_2INT)
            continue;
        byte *stream = room(a->count * (size_t)units[a->unit].bytes);
        contribute(stream, a->unit, a->operation, a->count, key_of(a->key, 0, 0, 73));
        spread(memory + a->at, a->there, items_of(a, a->there), stream);
        free(stream);
    }
}

/* What an origin brings, one unit after the other. */
static inline void bring(const struct access *a, byte *stream)
{
    if (is_accumulate(a) && a->operation < O_PRODUCT_MODULO)
        contribute(stream, a->unit, a->operation, a->count, key_of(a->key, 0, 0, 74));
    else
        fill_stream(stream, a->count * (size_t)units[a->unit].bytes, key_of(a->key, 0, 0, 74));
}

/* Applies an access to the model, and to what the buffers of the origin have to be. */
static inline void apply(struct access *a)
{
    size_t bytes = a->count * (size_t)units[a->unit].bytes;
    byte *brought = room(bytes), *found = room(bytes), *place = world.model[a->target] + a->at;
    bring(a, brought);
    collect(found, a->there, items_of(a, a->there), place);
    if (a->in_image) {
        long low, high;
        span_of(a->into, items_of(a, a->into), &low, &high);
        spread(a->in_image + PAD - low, a->into, items_of(a, a->into), found);
    }
    if (a->kind == COMPARE_AND_SWAP) {
        memcpy(a->compare, found, bytes);
        if (!a->is_swapped)
            a->compare[bytes - 1] ^= 0x40;
    }
    if (a->kind == PUT || (a->kind != GET && a->operation == O_REPLACE)) {
        if (a->kind != COMPARE_AND_SWAP || a->is_swapped)
            spread(place, a->there, items_of(a, a->there), brought);
    } else if (is_accumulate(a) && a->operation != O_NO_OP) {
        combine(a->unit, a->operation, brought, found, a->count);
        spread(place, a->there, items_of(a, a->there), found);
    }
    free(brought);
    free(found);
}

/* Buffers with the data in layouts, and gaps and surroundings of any bytes. */
static inline void make_buffers(struct access *a)
{
    long low, high;
    if (has_origin(a)) {
        span_of(a->from, items_of(a, a->from), &low, &high);
        byte *stream = room(a->count * (size_t)units[a->unit].bytes);
        a->out_bytes = (size_t)(high - low) + 2 * PAD;
        a->out = room(a->out_bytes), a->out_image = room(a->out_bytes);
        fill_stream(a->out, a->out_bytes, key_of(a->key, 0, 0, 75));
        bring(a, stream);
        spread(a->out + PAD - low, a->from, items_of(a, a->from), stream);
        memcpy(a->out_image, a->out, a->out_bytes);
        free(stream);
    }
    if (has_result(a)) {
        span_of(a->into, items_of(a, a->into), &low, &high);
        a->in_bytes = (size_t)(high - low) + 2 * PAD;
        a->in = room(a->in_bytes), a->in_image = room(a->in_bytes);
        fill_stream(a->in, a->in_bytes, key_of(a->key, 0, 0, 76));
        memcpy(a->in_image, a->in, a->in_bytes);
    }
}

static inline void free_buffers(struct access *a)
{
    free(a->out), free(a->in), free(a->out_image), free(a->in_image);
    a->out = a->in = a->out_image = a->in_image = NULL;
}

static inline byte *start_of(byte *buffer, const struct access *a, const struct layout *layout)
{
    long low, high;
    span_of(layout, items_of(a, layout), &low, &high);
    return buffer + PAD - low;
}

static inline void describe(char *text, size_t room_of_text, const struct access *a)
{
    int at =
        snprintf(text, room_of_text, "access %d: rank %d: %s%s%s to rank %d at byte %ld, %zu x %s (%s), ",
                 a->number, a->origin, a->with_request ? "R" : "", access_names[a->kind],
                 a->large && a->kind <= GET_ACCUMULATE ? "_c" : "", a->target, a->at, a->count,
                 units[a->unit].name, layout_names[a->there->kind]);
    if (has_origin(a))
        at += snprintf(text + at, room_of_text - (size_t)at, "from %s ", layout_names[a->from->kind]);
    if (has_result(a))
        at += snprintf(text + at, room_of_text - (size_t)at, "into %s ", layout_names[a->into->kind]);
    if (is_accumulate(a) && a->kind != COMPARE_AND_SWAP)
        snprintf(text + at, room_of_text - (size_t)at, "%s",
                 a->operation == O_REPLACE ? "MPI_REPLACE"
                 : a->operation == O_NO_OP ? "MPI_NO_OP"
                                           : operation_names[a->operation]);
}
#endif
