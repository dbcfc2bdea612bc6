/* What random programs move: units, layouts of them in memory, and bytes that are a function of a key. */
#ifndef RANDOM_TYPES_H
#define RANDOM_TYPES_H
#include "check.h"
#include <stdint.h>

typedef unsigned char byte;

static inline uint64_t mix(uint64_t x)
{
    x += 0x9e3779b97f4a7c15u;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

static inline uint64_t key_of(uint64_t a, uint64_t b, uint64_t c, uint64_t d)
{
    return mix(mix(mix(mix(a) + b) + c) + d);
}

static inline uint64_t draw(uint64_t *state)
{
    *state += 0x9e3779b97f4a7c15u;
    return mix(*state);
}

/* A number from 0 to `end` - 1. */
static inline int below(uint64_t *state, int end) { return (int)(draw(state) % (uint64_t)end); }

static inline void *room(size_t bytes)
{
    void *memory = malloc(bytes + 1);
    CHECK(memory != NULL);
    return memory;
}

static inline void fill_stream(byte *to, size_t bytes, uint64_t key)
{
    size_t at = 0;
    for (; at + 8 <= bytes; at += 8) {
        uint64_t word = mix(key + at);
        memcpy(to + at, &word, 8);
    }
    uint64_t word = mix(key + at);
    memcpy(to + at, &word, bytes - at);
}

/* A unit is what counts are counted in: a predefined datatype, or a small type of the program. */
enum {
    U_BYTE, U_UINT8, U_INT, U_INT64, U_FLOAT, U_DOUBLE, U_FLOAT_COMPLEX, U_DOUBLE_COMPLEX, U_2INT,
    U_FLOAT_INT, U_DOUBLE_INT, U_MIXED, U_MATRIX, U_GAPPED_MATRIX, UNITS
};

struct piece {
    int at, bytes;
};

struct unit {
    const char *name;
    int bytes, extent, pieces; /* Bytes are those of the pieces. */
    struct piece piece[2];
    MPI_Datatype type;
};

static struct unit units[UNITS] = {
    [U_BYTE] = {"MPI_BYTE", 1, 1, 1, {{0, 1}}, 0},
    [U_UINT8] = {"MPI_UINT8_T", 1, 1, 1, {{0, 1}}, 0},
    [U_INT] = {"MPI_INT", 4, 4, 1, {{0, 4}}, 0},
    [U_INT64] = {"MPI_INT64_T", 8, 8, 1, {{0, 8}}, 0},
    [U_FLOAT] = {"MPI_FLOAT", 4, 4, 1, {{0, 4}}, 0},
    [U_DOUBLE] = {"MPI_DOUBLE", 8, 8, 1, {{0, 8}}, 0},
    [U_FLOAT_COMPLEX] = {"MPI_C_FLOAT_COMPLEX", 8, 8, 1, {{0, 8}}, 0},
    [U_DOUBLE_COMPLEX] = {"MPI_C_DOUBLE_COMPLEX", 16, 16, 1, {{0, 16}}, 0},
    [U_2INT] = {"MPI_2INT", 8, 8, 1, {{0, 8}}, 0},
    [U_FLOAT_INT] = {"MPI_FLOAT_INT", 8, 8, 1, {{0, 8}}, 0},
    [U_DOUBLE_INT] = {"MPI_DOUBLE_INT", 12, 16, 1, {{0, 12}}, 0},
    [U_MIXED] = {"struct of int and double", 12, 16, 2, {{0, 4}, {8, 8}}, 0},
    [U_MATRIX] = {"matrix", 16, 16, 1, {{0, 16}}, 0},
    [U_GAPPED_MATRIX] = {"matrix with a gap", 16, 24, 1, {{0, 16}}, 0},
};

static inline void make_units(void)
{
    static const int lengths[] = {1, 1};
    static const MPI_Aint places[] = {0, 8};
    const MPI_Datatype mixed[] = {MPI_INT, MPI_DOUBLE};
    units[U_BYTE].type = MPI_BYTE, units[U_UINT8].type = MPI_UINT8_T, units[U_INT].type = MPI_INT;
    units[U_INT64].type = MPI_INT64_T, units[U_FLOAT].type = MPI_FLOAT, units[U_DOUBLE].type = MPI_DOUBLE;
    units[U_FLOAT_COMPLEX].type = MPI_C_FLOAT_COMPLEX, units[U_DOUBLE_COMPLEX].type = MPI_C_DOUBLE_COMPLEX;
    units[U_2INT].type = MPI_2INT, units[U_FLOAT_INT].type = MPI_FLOAT_INT;
    units[U_DOUBLE_INT].type = MPI_DOUBLE_INT;
    MPI_Type_create_struct(2, lengths, places, mixed, &units[U_MIXED].type);
    MPI_Type_contiguous(4, MPI_INT, &units[U_MATRIX].type);
    MPI_Type_create_resized(units[U_MATRIX].type, 0, 24, &units[U_GAPPED_MATRIX].type);
    for (int i = U_MIXED; i < UNITS; i++)
        MPI_Type_commit(&units[i].type);
}

static inline void free_units(void)
{
    for (int i = U_MIXED; i < UNITS; i++)
        MPI_Type_free(&units[i].type);
}

/* A layout is a datatype of some units. Its bytes lie from its lower bound on, within its extent. */
enum { PLAIN, CONTIGUOUS, VECTOR, INDEXED, RESIZED, NESTED, LAYOUTS, EMPTY = LAYOUTS };
static const char *const layout_names[] = {"plain", "contiguous", "vector", "indexed", "resized", "nested",
                                           "empty"};

struct layout {
    int kind, unit, per; /* Units. */
    int lower, extent, bytes, pieces;
    struct piece piece[24];
    MPI_Datatype type;
};

static inline void set_places(struct layout *layout, const int *places)
{
    const struct unit *unit = &units[layout->unit];
    int low = places[0], high = places[0];
    layout->pieces = 0;
    for (int i = 0; i < layout->per; i++) {
        for (int j = 0; j < unit->pieces; j++) {
            struct piece piece = {places[i] * unit->extent + unit->piece[j].at, unit->piece[j].bytes};
            layout->piece[layout->pieces++] = piece;
        }
        low = places[i] < low ? places[i] : low;
        high = places[i] > high ? places[i] : high;
    }
    layout->bytes = layout->per * unit->bytes;
    layout->lower = low * unit->extent;
    layout->extent = (high + 1 - low) * unit->extent;
}

/* A layout has 1, 2, 3, 4, 6, 8 or 12 units, so that 24 units are whole items of each. */
static inline struct layout make_layout(int kind, int unit, uint64_t key)
{
    struct layout layout = {.kind = kind, .unit = unit, .per = 1, .type = units[unit].type};
    MPI_Datatype of = units[unit].type, inner;
    int places[12] = {0}, lengths[3], starts[3];
    int blocks = 1 + below(&key, 3), length = 1 + below(&key, 2), stride = length + 1 + below(&key, 3);
    switch (kind) {
    case PLAIN:
        break;
    case CONTIGUOUS:
        layout.per = 1 + below(&key, 4);
        for (int i = 0; i < layout.per; i++)
            places[i] = i;
        MPI_Type_contiguous(layout.per, of, &layout.type);
        break;
    case INDEXED:
        /* Three blocks out of order, and below the address at times. */
        for (int i = 0, shift = below(&key, 3) * 2 - 2; i < 3; i++) {
            lengths[i] = length;
            starts[i] = (i + 2) % 3 * stride + shift;
            for (int j = 0; j < length; j++)
                places[i * length + j] = starts[i] + j;
        }
        layout.per = 3 * length;
        MPI_Type_indexed(3, lengths, starts, of, &layout.type);
        break;
    default:
        layout.per = blocks * length;
        for (int i = 0; i < layout.per; i++)
            places[i] = i / length * stride + i % length;
        MPI_Type_vector(blocks, length, stride, of, &layout.type);
        break;
    }
    if (kind == NESTED) {
        int span = (blocks - 1) * stride + length;
        for (int i = 0; i < layout.per; i++)
            places[layout.per + i] = places[i] + span;
        layout.per *= 2;
        inner = layout.type;
        MPI_Type_contiguous(2, inner, &layout.type);
        MPI_Type_free(&inner);
    }
    set_places(&layout, places);
    if (kind == RESIZED) {
        layout.lower -= units[unit].extent;
        layout.extent += 3 * units[unit].extent;
        inner = layout.type;
        MPI_Type_create_resized(inner, layout.lower, layout.extent, &layout.type);
        MPI_Type_free(&inner);
    }
    if (kind != PLAIN)
        MPI_Type_commit(&layout.type);
    MPI_Aint lower, extent;
    MPI_Type_get_extent(layout.type, &lower, &extent);
    CHECK_INT(lower, layout.lower);
    CHECK_INT(extent, layout.extent);
    return layout;
}

static inline void free_layout(struct layout *layout)
{
    if (layout->kind != PLAIN && layout->type != MPI_DATATYPE_NULL)
        MPI_Type_free(&layout->type);
}

/* A layout without bytes, of which there may be any number. */
static inline struct layout make_empty(int unit)
{
    struct layout layout = {.kind = EMPTY, .unit = unit, .per = 1};
    MPI_Type_contiguous(0, units[unit].type, &layout.type);
    MPI_Type_commit(&layout.type);
    return layout;
}

/* Lays a stream out as so many items. */
static inline void spread(byte *to, const struct layout *layout, size_t items, const byte *stream)
{
    if (layout->pieces == 1 && layout->piece[0].at == 0 && layout->bytes == layout->extent) {
        memcpy(to, stream, items * (size_t)layout->bytes);
        return;
    }
    for (size_t item = 0; item < items; item++, to += layout->extent)
        for (int i = 0; i < layout->pieces; i++) {
            memcpy(to + layout->piece[i].at, stream, (size_t)layout->piece[i].bytes);
            stream += layout->piece[i].bytes;
        }
}
#endif
