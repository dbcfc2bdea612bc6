/* What random programs reduce: contributions, operations, and the order in which they are combined. */
#ifndef RANDOM_REDUCTIONS_H
#define RANDOM_REDUCTIONS_H
#include "random_types.h"

enum {
    O_SUM, O_PROD, O_MIN, O_MAX, O_BAND, O_BOR, O_BXOR, O_LAND, O_LOR, O_LXOR, O_MAXLOC, O_MINLOC,
    O_PRODUCT_MODULO, O_MATRIX, O_GAPPED_MATRIX, OPERATIONS
};
static const char *const operation_names[] = {
    "MPI_SUM", "MPI_PROD", "MPI_MIN", "MPI_MAX", "MPI_BAND", "MPI_BOR", "MPI_BXOR", "MPI_LAND", "MPI_LOR",
    "MPI_LXOR", "MPI_MAXLOC", "MPI_MINLOC", "product modulo a prime", "matrix product",
    "product of matrices with gaps",
};
static MPI_Op operations[OPERATIONS], large_modulo;

/* Units, and the operations that they have. */
static const struct {
    int unit, first, last;
} reducible[] = {
    {U_INT, O_SUM, O_LXOR}, {U_INT64, O_SUM, O_LXOR}, {U_UINT8, O_SUM, O_LXOR}, {U_BYTE, O_BAND, O_BXOR},
    {U_FLOAT, O_SUM, O_MAX}, {U_DOUBLE, O_SUM, O_MAX}, {U_DOUBLE, O_SUM, O_PROD}, {U_FLOAT, O_SUM, O_SUM},
    {U_FLOAT_COMPLEX, O_SUM, O_PROD}, {U_DOUBLE_COMPLEX, O_SUM, O_PROD}, {U_2INT, O_MAXLOC, O_MINLOC},
    {U_FLOAT_INT, O_MAXLOC, O_MINLOC}, {U_DOUBLE_INT, O_MAXLOC, O_MINLOC},
    {U_INT, O_PRODUCT_MODULO, O_PRODUCT_MODULO}, {U_MATRIX, O_MATRIX, O_MATRIX},
    {U_GAPPED_MATRIX, O_GAPPED_MATRIX, O_GAPPED_MATRIX},
};
enum { REDUCIBLE = sizeof reducible / sizeof *reducible, PRIME = 65521 };

static inline void multiply_modulo(const void *left, void *right, size_t count)
{
    const uint32_t *a = left;
    uint32_t *b = right;
    for (size_t i = 0; i < count; i++)
        b[i] = (uint32_t)((uint64_t)a[i] * b[i] % PRIME);
}

/* Matrices of two rows, `stride` ints apart. */
static inline void multiply_matrices(const void *left, void *right, size_t count, size_t stride)
{
    const uint32_t *a = left;
    uint32_t *b = right;
    for (size_t i = 0; i < count; i++, a += stride, b += stride) {
        uint64_t product[4];
        for (int j = 0; j < 4; j++)
            product[j] = ((uint64_t)a[j & 2] * b[j & 1] + (uint64_t)a[(j & 2) + 1] * b[2 + (j & 1)]) % PRIME;
        for (int j = 0; j < 4; j++)
            b[j] = (uint32_t)product[j];
    }
}

static void user_modulo(void *in, void *inout, int *count, MPI_Datatype *type)
{
    (void)type;
    multiply_modulo(in, inout, (size_t)*count);
}
static void user_matrix(void *in, void *inout, int *count, MPI_Datatype *type)
{
    (void)type;
    multiply_matrices(in, inout, (size_t)*count, 4);
}
static void user_gapped_matrix(void *in, void *inout, int *count, MPI_Datatype *type)
{
    (void)type;
    multiply_matrices(in, inout, (size_t)*count, 6);
}
/* The same with a large count. */
static void user_modulo_c(void *in, void *inout, MPI_Count *count, MPI_Datatype *type)
{
    (void)type;
    multiply_modulo(in, inout, (size_t)*count);
}

static inline void make_operations(void)
{
    const MPI_Op predefined[] = {MPI_SUM, MPI_PROD, MPI_MIN, MPI_MAX, MPI_BAND, MPI_BOR,
                                 MPI_BXOR, MPI_LAND, MPI_LOR, MPI_LXOR, MPI_MAXLOC, MPI_MINLOC};
    memcpy(operations, predefined, sizeof predefined);
    MPI_Op_create_c(user_modulo_c, 1, &large_modulo);
    MPI_Op_create(user_modulo, 1, &operations[O_PRODUCT_MODULO]);
    MPI_Op_create(user_matrix, 0, &operations[O_MATRIX]);
    MPI_Op_create(user_gapped_matrix, 0, &operations[O_GAPPED_MATRIX]);
}

static inline void free_operations(void)
{
    for (int i = O_PRODUCT_MODULO; i < OPERATIONS; i++)
        MPI_Op_free(&operations[i]);
    MPI_Op_free(&large_modulo);
}

static inline int is_floating(int unit) { return unit >= U_FLOAT && unit <= U_DOUBLE_COMPLEX; }

/* Numbers whose sums and products are rounded, and neither zero nor infinite. */
static inline double number(uint64_t *state, int operation)
{
    uint64_t random = draw(state);
    double value = 0.5 + (double)(random >> 12) * 0x1p-52;
    if (operation != O_PROD)
        value *= (double)(1 << (random & 7));
    return random & 8 ? -value : value;
}

/* What a rank contributes, one unit after the other without gaps. */
static inline void contribute(byte *to, int unit, int operation, size_t count, uint64_t key)
{
    size_t bytes = count * (size_t)units[unit].bytes;
    int32_t *ints = (int32_t *)to;
    if (is_floating(unit)) {
        int is_float = unit == U_FLOAT || unit == U_FLOAT_COMPLEX;
        for (size_t i = 0; i < bytes / (is_float ? 4 : 8); i++)
            if (is_float)
                ((float *)to)[i] = (float)number(&key, operation);
            else
                ((double *)to)[i] = number(&key, operation);
        return;
    }
    fill_stream(to, bytes, key);
    if (operation >= O_PRODUCT_MODULO)
        for (size_t i = 0; i < bytes / 4; i++)
            ints[i] = (int32_t)((uint32_t)ints[i] % PRIME);
    if (operation >= O_LAND && operation <= O_LXOR)
        for (size_t i = 0; i < count; i++)
            if (draw(&key) % 4 == 0)
                memset(to + i * (size_t)units[unit].bytes, 0, (size_t)units[unit].bytes);
    /* Few values, so that there are equal ones. */
    for (size_t i = 0; (operation == O_MAXLOC || operation == O_MINLOC) && i < count; i++) {
        int value = below(&key, 5) - 2;
        float real = (float)value;
        double wide = value;
        if (unit == U_DOUBLE_INT)
            memcpy(to + 12 * i, &wide, 8);
        else if (unit == U_FLOAT_INT)
            memcpy(to + 8 * i, &real, 4);
        else
            memcpy(to + 8 * i, &value, 4);
    }
}

#define EACH(TYPE, EXPRESSION)                                                                              \
    do {                                                                                                    \
        const TYPE *left_ = (const TYPE *)left;                                                             \
        TYPE *right_ = (TYPE *)right;                                                                       \
        for (size_t i = 0; i < count; i++) {                                                                \
            TYPE a = left_[i], b = right_[i];                                                               \
            right_[i] = (TYPE)(EXPRESSION);                                                                 \
        }                                                                                                   \
    } while (0)
#define INTEGERS(SIGNED, UNSIGNED)                                                                          \
    switch (operation) {                                                                                    \
    case O_SUM: EACH(UNSIGNED, a + b); break;                                                               \
    case O_PROD: EACH(UNSIGNED, a * b); break;                                                              \
    case O_MIN: EACH(SIGNED, a < b ? a : b); break;                                                         \
    case O_MAX: EACH(SIGNED, a > b ? a : b); break;                                                         \
    case O_BAND: EACH(UNSIGNED, a & b); break;                                                              \
    case O_BOR: EACH(UNSIGNED, a | b); break;                                                               \
    case O_BXOR: EACH(UNSIGNED, a ^ b); break;                                                              \
    case O_LAND: EACH(UNSIGNED, a && b); break;                                                             \
    case O_LOR: EACH(UNSIGNED, a || b); break;                                                              \
    case O_LXOR: EACH(UNSIGNED, !a != !b); break;                                                           \
    }
#define REALS(TYPE)                                                                                         \
    switch (operation) {                                                                                    \
    case O_SUM: EACH(TYPE, a + b); break;                                                                   \
    case O_PROD: EACH(TYPE, a * b); break;                                                                  \
    case O_MIN: EACH(TYPE, a < b ? a : b); break;                                                           \
    case O_MAX: EACH(TYPE, a > b ? a : b); break;                                                           \
    }
/* Every product, difference and sum is rounded. */
#define COMPLEXES(TYPE)                                                                                     \
    do {                                                                                                    \
        const TYPE *a = (const TYPE *)left;                                                                 \
        TYPE *b = (TYPE *)right;                                                                            \
        for (size_t i = 0; i < 2 * count; i += 2) {                                                         \
            TYPE real = b[i], imaginary = b[i + 1];                                                         \
            if (operation == O_SUM) {                                                                       \
                b[i] = a[i] + real, b[i + 1] = a[i + 1] + imaginary;                                        \
                continue;                                                                                   \
            }                                                                                               \
            TYPE both = a[i] * real, neither = a[i + 1] * imaginary;                                        \
            TYPE outer = a[i] * imaginary, inner = a[i + 1] * real;                                         \
            b[i] = both - neither, b[i + 1] = outer + inner;                                                \
        }                                                                                                   \
    } while (0)
#define PAIRS(TYPE)                                                                                         \
    for (size_t i = 0; i < count; i++) {                                                                    \
        const byte *from = left + i * (sizeof(TYPE) + 4);                                                   \
        byte *to = right + i * (sizeof(TYPE) + 4);                                                          \
        TYPE a, b;                                                                                          \
        int at_a, at_b;                                                                                     \
        memcpy(&a, from, sizeof a), memcpy(&at_a, from + sizeof a, 4);                                      \
        memcpy(&b, to, sizeof b), memcpy(&at_b, to + sizeof b, 4);                                          \
        if ((operation == O_MAXLOC ? a > b : a < b) || (a == b && at_a < at_b))                             \
            memcpy(to, from, sizeof(TYPE) + 4);                                                             \
    }

/* Combines what the left one has with what the right one has, and leaves the result there. */
static inline void combine(int unit, int operation, const byte *left, byte *right, size_t count)
{
    if (operation == O_PRODUCT_MODULO) {
        multiply_modulo(left, right, count);
        return;
    }
    switch (unit) {
    case U_BYTE:
    case U_UINT8: INTEGERS(uint8_t, uint8_t) break;
    case U_INT: INTEGERS(int32_t, uint32_t) break;
    case U_INT64: INTEGERS(int64_t, uint64_t) break;
    case U_FLOAT: REALS(float) break;
    case U_DOUBLE: REALS(double) break;
    case U_FLOAT_COMPLEX: COMPLEXES(float); break;
    case U_DOUBLE_COMPLEX: COMPLEXES(double); break;
    case U_2INT: PAIRS(int) break;
    case U_FLOAT_INT: PAIRS(float) break;
    case U_DOUBLE_INT: PAIRS(double) break;
    default: multiply_matrices(left, right, count, 4); break;
    }
}

/* What is reduced: key `i` is that of the contribution of the rank with this number. */
struct reduction {
    int unit, operation;
    size_t count;
    const uint64_t *keys;
};

/* The order of combination: blocks of ranks, aligned at powers of two, each the left half combined with the
 * right one (nic-emu/engine/src/arithmetic/reduction_tree.rs). */
static inline void reduce_block(const struct reduction *reduction, int first, int end, byte *result)
{
    int half = 1;
    if (end - first == 1) {
        contribute(result, reduction->unit, reduction->operation, reduction->count, reduction->keys[first]);
        return;
    }
    while (2 * half < end - first)
        half *= 2;
    byte *left = room(reduction->count * (size_t)units[reduction->unit].bytes);
    reduce_block(reduction, first, first + half, left);
    reduce_block(reduction, first + half, end, result);
    combine(reduction->unit, reduction->operation, left, result, reduction->count);
    free(left);
}
#endif
