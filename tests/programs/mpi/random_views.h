/* Random views of a file, and random accesses in memory: what MPI is told of them, and which bytes they are.
 *
 * A view is a deck of cells, laid down again and again. Each cell has one rank, or none, so that ranks whose
 * views are of one deck see different bytes. Cells are counted in etypes. */
#ifndef RANDOM_VIEWS_H
#define RANDOM_VIEWS_H
#include "check.h"
#include <stdint.h>

typedef unsigned char byte;

enum { MOST_RANKS = 8, MOST_CELLS = 40, MOST_ETYPES = 400, MOST_BYTES = 1 << 21 };
enum { OF_BYTES, OF_SHORTS, OF_INTS, OF_DOUBLES, OF_TRIPLES, ETYPES };
static const int basic_bytes[ETYPES] = {1, 2, 4, 8, 2}, etype_bytes[ETYPES] = {1, 2, 4, 8, 6};
static const char *const etype_names[ETYPES] = {"bytes", "shorts", "ints", "doubles", "three shorts"};

static uint64_t mixed(uint64_t x)
{
    x += 0x9e3779b97f4a7c15u;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

static inline uint64_t key_of(uint64_t a, uint64_t b, uint64_t c, uint64_t d)
{
    return mixed(mixed(mixed(mixed(a) ^ b) ^ c) ^ d);
}

static inline uint64_t draw(uint64_t *random) { return *random = mixed(*random); }

static inline int below(uint64_t *random, int end) { return (int)(draw(random) % (uint64_t)end); }

static inline MPI_Datatype make_etype(int etype)
{
    static MPI_Datatype triple = MPI_DATATYPE_NULL;
    if (triple == MPI_DATATYPE_NULL) {
        MPI_Type_contiguous(3, MPI_SHORT, &triple);
        MPI_Type_commit(&triple);
    }
    return etype == OF_BYTES     ? MPI_BYTE
           : etype == OF_SHORTS  ? MPI_SHORT
           : etype == OF_INTS    ? MPI_INT
           : etype == OF_DOUBLES ? MPI_DOUBLE
                                 : triple;
}

static inline void free_etypes(void)
{
    MPI_Datatype triple = make_etype(OF_TRIPLES);
    MPI_Type_free(&triple);
}

/* Cells of all ranks. */
struct deck {
    int etype, cells, length[MOST_CELLS], owner[MOST_CELLS];
    long disp, extent; /* In bytes, and in etypes. */
};

static inline void draw_deck(struct deck *deck, uint64_t key, int etype, int ranks)
{
    uint64_t random = key;
    int even = below(&random, 3), holes = below(&random, 3) == 0;
    deck->etype = etype;
    deck->cells = 1 + below(&random, even == 0 ? ranks * 3 : MOST_CELLS);
    deck->disp = below(&random, 3) ? below(&random, 200) : 0;
    deck->extent = 0;
    int length = 1 + below(&random, 6);
    for (int i = 0; i < deck->cells; i++) {
        deck->length[i] = even ? length : 1 + below(&random, 9);
        deck->owner[i] = even == 1 ? i % ranks : below(&random, ranks);
        if (holes && below(&random, 4) == 0)
            deck->owner[i] = -1;
        deck->extent += deck->length[i];
    }
    if (below(&random, 4) == 0)
        deck->extent += below(&random, 50);
}

/* What a rank sees of a deck: everything of it where the rank is -1. */
static inline long seen_etypes(const struct deck *deck, int owner)
{
    long etypes = 0;
    for (int i = 0; i < deck->cells; i++)
        if (owner < 0 || deck->owner[i] == owner)
            etypes += deck->length[i];
    return etypes;
}

/* The byte of the file at which the etype with this number begins. */
static inline long place_of(const struct deck *deck, int owner, long number)
{
    long tile = seen_etypes(deck, owner), rest = number % tile, at = number / tile * deck->extent;
    for (int i = 0; i < deck->cells; i++) {
        if (owner < 0 || deck->owner[i] == owner) {
            if (rest < deck->length[i])
                break;
            rest -= deck->length[i];
        }
        at += deck->length[i];
    }
    return deck->disp + (at + rest) * etype_bytes[deck->etype];
}

/* The filetype; it has another shape than the deck where that means the same. */
static inline MPI_Datatype make_filetype(const struct deck *deck, int owner)
{
    int lengths[MOST_CELLS], places[MOST_CELLS], blocks = 0, at = 0;
    MPI_Datatype etype = make_etype(deck->etype), indexed, filetype;
    for (int i = 0; i < deck->cells; at += deck->length[i++])
        if (owner < 0 || deck->owner[i] == owner) {
            lengths[blocks] = deck->length[i];
            places[blocks++] = at;
        }
    MPI_Type_indexed(blocks, lengths, places, etype, &indexed);
    MPI_Type_create_resized(indexed, 0, deck->extent * etype_bytes[deck->etype], &filetype);
    MPI_Type_free(&indexed);
    MPI_Type_commit(&filetype);
    return filetype;
}

/* Elements in memory: etypes, with a gap behind each so many. */
struct elements {
    long etypes, together, gap; /* Gaps in bytes. */
    int etype;
    size_t bytes; /* Of the buffer. */
};

enum { PAD = 24 };

static inline struct elements draw_elements(uint64_t *random, int etype, long etypes)
{
    struct elements of = {etypes, etypes ? etypes : 1, 0, etype, 0};
    if (etypes > 1 && below(random, 2)) {
        of.together = 1 + below(random, (int)(etypes > 9 ? 9 : etypes));
        while (etypes % of.together)
            of.together--;
        of.gap = 8 * below(random, 4);
    }
    long groups = etypes / of.together, group = of.together * etype_bytes[etype] + of.gap;
    of.bytes = (size_t)(groups * group) + 2 * PAD;
    return of;
}

/* Where byte `at` of the elements lies in the buffer. */
static inline size_t memory_place(const struct elements *of, long at)
{
    long whole = of->together * etype_bytes[of->etype];
    return PAD + (size_t)(at / whole * (whole + of->gap) + at % whole);
}

/* The datatype and the count that say the same. */
static inline MPI_Datatype make_datatype(const struct elements *of, int *count)
{
    MPI_Datatype etype = make_etype(of->etype), block, datatype;
    long whole = of->together * etype_bytes[of->etype];
    *count = (int)(of->etypes / of->together);
    MPI_Type_contiguous((int)of->together, etype, &block);
    MPI_Type_create_resized(block, 0, whole + of->gap, &datatype);
    MPI_Type_free(&block);
    MPI_Type_commit(&datatype);
    return datatype;
}
#endif
