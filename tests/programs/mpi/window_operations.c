/* Every predefined operation on every predefined type that the standard allows it for: by accumulate,
 * get_accumulate, fetch_and_op and the forms with requests, with int and with large counts, on one element
 * and on many, and with operands that tell signed from unsigned, and a number from a truth value.
 * MPI_REPLACE and MPI_NO_OP on every type. compare_and_swap on each type of integers, truth values and
 * bytes. What was there before is returned, and nothing beside the elements changes, also between the
 * elements of types with gaps. For any number of ranks. */
#include "windows.h"
#include "random_types.h"
#include <complex.h>
#include <stdbool.h>
#include <stddef.h>
#include <wchar.h>

enum { MAX, MIN, SUM, PROD, LAND, LOR, LXOR, BAND, BOR, BXOR, MAXLOC, MINLOC, REPLACE, NO_OP, OPERATIONS };
static const char *const names[] = {"MAX",  "MIN", "SUM",  "PROD",   "LAND",   "LOR",     "LXOR",
                                    "BAND", "BOR", "BXOR", "MAXLOC", "MINLOC", "REPLACE", "NO_OP"};
static MPI_Op operations[OPERATIONS];

/* Operations of a class of types, as bits. */
#define BIT(OP) (1u << (OP))
enum {
    ANY_TYPE = BIT(REPLACE) | BIT(NO_OP),
    ORDERED = BIT(MAX) | BIT(MIN),
    ADDED = BIT(SUM) | BIT(PROD),
    LOGICAL = BIT(LAND) | BIT(LOR) | BIT(LXOR),
    BITS = BIT(BAND) | BIT(BOR) | BIT(BXOR),
    INTEGERS = ANY_TYPE | ORDERED | ADDED | LOGICAL | BITS,
    OTHER_INTEGERS = INTEGERS & ~LOGICAL, /* Those of Fortran and of MPI itself. */
    FLOATS = ANY_TYPE | ORDERED | ADDED,
    COMPLEXES = ANY_TYPE | ADDED,
    TRUTH = ANY_TYPE | LOGICAL,
    BYTES = ANY_TYPE | BITS,
    PLACED = ANY_TYPE | BIT(MAXLOC) | BIT(MINLOC),
};

/* A type of C: makes an operand, applies an operation as inout = in op inout, and compares. */
struct ctype {
    size_t bytes, gap, gap_end; /* Bytes that belong to no value. */
    void (*make)(void *to, int op, uint64_t *random);
    void (*apply)(int op, const void *in, void *inout);
    int (*same)(const void *a, const void *b);
};

#define LOGIC_CASES(IN, INOUT)                                                                              \
    case LAND: *INOUT = *IN && *INOUT; break;                                                               \
    case LOR: *INOUT = *IN || *INOUT; break;                                                                \
    case LXOR: *INOUT = !*IN != !*INOUT; break;
#define SUM_CASES(IN, INOUT, T)                                                                             \
    case SUM: *INOUT = (T)(*IN + *INOUT); break;                                                            \
    case PROD: *INOUT = (T)(*IN * *INOUT); break;
#define ORDER_CASES(IN, INOUT)                                                                              \
    case MAX: *INOUT = *IN > *INOUT ? *IN : *INOUT; break;                                                  \
    case MIN: *INOUT = *IN < *INOUT ? *IN : *INOUT; break;
#define BIT_CASES(IN, INOUT, T)                                                                             \
    case BAND: *INOUT = (T)(*IN & *INOUT); break;                                                           \
    case BOR: *INOUT = (T)(*IN | *INOUT); break;                                                            \
    case BXOR: *INOUT = (T)(*IN ^ *INOUT); break;
#define FUNCTIONS(NAME, T, CASES, MAKE)                                                                     \
    static void make_##NAME(void *to, int op, uint64_t *random)                                             \
    {                                                                                                       \
        T *value = to;                                                                                      \
        MAKE;                                                                                               \
    }                                                                                                       \
    static void apply_##NAME(int op, const void *from, void *to)                                            \
    {                                                                                                       \
        const T *in = from;                                                                                 \
        T *inout = to;                                                                                      \
        switch (op) {                                                                                       \
            CASES                                                                                           \
        case REPLACE: *inout = *in; break;                                                                  \
        default: break;                                                                                     \
        }                                                                                                   \
    }                                                                                                       \
    static int same_##NAME(const void *a, const void *b) { return *(const T *)a == *(const T *)b; }         \
    static const struct ctype NAME = {sizeof(T), 0, 0, make_##NAME, apply_##NAME, same_##NAME};

/* Integers: all bits where nothing can overflow, small ones for sums and products, often zero for truth. */
#define INTEGER(NAME, T)                                                                                    \
    FUNCTIONS(                                                                                              \
        NAME, T,                                                                                            \
        ORDER_CASES(in, inout) SUM_CASES(in, inout, T) LOGIC_CASES(in, inout) BIT_CASES(in, inout, T),      \
        *value = (T)(op == SUM || op == PROD                 ? draw(random) % 11                            \
                     : op == LAND || op == LOR || op == LXOR ? draw(random) % 2 * (draw(random) & 126)      \
                                                             : draw(random));                               \
        if ((op == SUM || op == PROD) && (T)(0 - 1) < (T)1 && draw(random) % 2) *value = (T)(0 - *value))
/* Numbers of which sums and products are exact. */
#define FLOATING(NAME, T)                                                                                   \
    FUNCTIONS(NAME, T, ORDER_CASES(in, inout) SUM_CASES(in, inout, T), (void)op;                            \
              *value = (T)((int)(draw(random) % 2001) - 1000) / 8)
#define COMPLEX(NAME, T)                                                                                    \
    FUNCTIONS(NAME, T, SUM_CASES(in, inout, T), (void)op;                                                   \
              *value = (T)((int)(draw(random) % 201) - 100) + (T)I * (T)((int)(draw(random) % 201) - 100))

INTEGER(c_schar, signed char)
INTEGER(c_uchar, unsigned char)
INTEGER(c_short, short)
INTEGER(c_ushort, unsigned short)
INTEGER(c_int, int)
INTEGER(c_uint, unsigned)
INTEGER(c_long, long)
INTEGER(c_ulong, unsigned long)
INTEGER(c_wchar, wchar_t)
FLOATING(c_float, float)
FLOATING(c_double, double)
FLOATING(c_long_double, long double)
COMPLEX(c_float_complex, float _Complex)
COMPLEX(c_double_complex, double _Complex)
COMPLEX(c_long_double_complex, long double _Complex)
FUNCTIONS(c_bool, bool, LOGIC_CASES(in, inout), (void)op; *value = draw(random) % 2)

/* A value and an index; equal values are frequent. */
#define PAIR(NAME, T)                                                                                       \
    struct NAME##_pair {                                                                                    \
        T value;                                                                                            \
        int index;                                                                                          \
    };                                                                                                      \
    static void make_##NAME(void *to, int op, uint64_t *random)                                             \
    {                                                                                                       \
        struct NAME##_pair *pair = to;                                                                      \
        (void)op;                                                                                           \
        pair->value = (T)((int)(draw(random) % 5) - 2);                                                     \
        pair->index = (int)(draw(random) % 100);                                                            \
    }                                                                                                       \
    static void apply_##NAME(int op, const void *from, void *to)                                            \
    {                                                                                                       \
        const struct NAME##_pair *in = from;                                                                \
        struct NAME##_pair *inout = to;                                                                     \
        int wins = op == MAXLOC ? in->value > inout->value : in->value < inout->value;                      \
        if (op == REPLACE)                                                                                  \
            inout->value = in->value, inout->index = in->index;                                             \
        else if (op != NO_OP && wins)                                                                       \
            inout->value = in->value, inout->index = in->index;                                             \
        else if (op != NO_OP && in->value == inout->value && in->index < inout->index)                      \
            inout->index = in->index;                                                                       \
    }                                                                                                       \
    static int same_##NAME(const void *a, const void *b)                                                    \
    {                                                                                                       \
        const struct NAME##_pair *x = a, *y = b;                                                            \
        return x->value == y->value && x->index == y->index;                                                \
    }                                                                                                       \
    static const struct ctype NAME = {                                                                      \
        sizeof(struct NAME##_pair),                                                                         \
        sizeof(T) < sizeof(int) ? sizeof(T) : offsetof(struct NAME##_pair, index) + sizeof(int),            \
        sizeof(T) < sizeof(int) ? sizeof(int) : sizeof(struct NAME##_pair),                                 \
        make_##NAME,                                                                                        \
        apply_##NAME,                                                                                       \
        same_##NAME};

PAIR(c_float_int, float)
PAIR(c_double_int, double)
PAIR(c_long_int, long)
PAIR(c_2int, int)
PAIR(c_short_int, short)
PAIR(c_long_double_int, long double)

/* For compare_and_swap; types of other languages, which need not be there. */
enum { SWAPS = 1, IF_THERE = 2 };

struct element {
    const char *name;
    MPI_Datatype type;
    const struct ctype *as;
    unsigned operations, flags;
};

#define E(TYPE, AS, OPERATIONS, FLAGS) {#TYPE, TYPE, &AS, OPERATIONS, FLAGS}

static void with_all_types(void (*check)(const struct element *))
{
    const struct element elements[] = {
        E(MPI_SIGNED_CHAR, c_schar, INTEGERS, SWAPS),
        E(MPI_UNSIGNED_CHAR, c_uchar, INTEGERS, SWAPS),
        E(MPI_SHORT, c_short, INTEGERS, SWAPS),
        E(MPI_UNSIGNED_SHORT, c_ushort, INTEGERS, SWAPS),
        E(MPI_INT, c_int, INTEGERS, SWAPS),
        E(MPI_UNSIGNED, c_uint, INTEGERS, SWAPS),
        E(MPI_LONG, c_long, INTEGERS, SWAPS),
        E(MPI_UNSIGNED_LONG, c_ulong, INTEGERS, SWAPS),
        E(MPI_LONG_LONG, c_long, INTEGERS, SWAPS),
        E(MPI_UNSIGNED_LONG_LONG, c_ulong, INTEGERS, SWAPS),
        E(MPI_INT8_T, c_schar, INTEGERS, SWAPS),
        E(MPI_UINT8_T, c_uchar, INTEGERS, SWAPS),
        E(MPI_INT16_T, c_short, INTEGERS, SWAPS),
        E(MPI_UINT16_T, c_ushort, INTEGERS, SWAPS),
        E(MPI_INT32_T, c_int, INTEGERS, SWAPS),
        E(MPI_UINT32_T, c_uint, INTEGERS, SWAPS),
        E(MPI_INT64_T, c_long, INTEGERS, SWAPS),
        E(MPI_UINT64_T, c_ulong, INTEGERS, SWAPS),
        E(MPI_AINT, c_long, OTHER_INTEGERS, SWAPS),
        E(MPI_OFFSET, c_long, OTHER_INTEGERS, SWAPS),
        E(MPI_COUNT, c_long, OTHER_INTEGERS, SWAPS),
        E(MPI_FLOAT, c_float, FLOATS, 0),
        E(MPI_DOUBLE, c_double, FLOATS, 0),
        E(MPI_LONG_DOUBLE, c_long_double, FLOATS, 0),
        E(MPI_C_FLOAT_COMPLEX, c_float_complex, COMPLEXES, 0),
        E(MPI_C_DOUBLE_COMPLEX, c_double_complex, COMPLEXES, 0),
        E(MPI_C_LONG_DOUBLE_COMPLEX, c_long_double_complex, COMPLEXES, 0),
        E(MPI_C_BOOL, c_bool, TRUTH, SWAPS),
        E(MPI_BYTE, c_uchar, BYTES, SWAPS),
        E(MPI_CHAR, c_schar, ANY_TYPE, 0),
        E(MPI_WCHAR, c_wchar, ANY_TYPE, 0),
        E(MPI_FLOAT_INT, c_float_int, PLACED, 0),
        E(MPI_DOUBLE_INT, c_double_int, PLACED, 0),
        E(MPI_LONG_INT, c_long_int, PLACED, 0),
        E(MPI_2INT, c_2int, PLACED, 0),
        E(MPI_SHORT_INT, c_short_int, PLACED, 0),
        E(MPI_LONG_DOUBLE_INT, c_long_double_int, PLACED, 0),
        E(MPI_CXX_BOOL, c_bool, TRUTH, SWAPS | IF_THERE),
        E(MPI_CXX_FLOAT_COMPLEX, c_float_complex, COMPLEXES, IF_THERE),
        E(MPI_CXX_DOUBLE_COMPLEX, c_double_complex, COMPLEXES, IF_THERE),
        E(MPI_CXX_LONG_DOUBLE_COMPLEX, c_long_double_complex, COMPLEXES, IF_THERE),
        E(MPI_INTEGER, c_int, OTHER_INTEGERS, SWAPS | IF_THERE),
        E(MPI_REAL, c_float, FLOATS, IF_THERE),
        E(MPI_DOUBLE_PRECISION, c_double, FLOATS, IF_THERE),
        E(MPI_COMPLEX, c_float_complex, COMPLEXES, IF_THERE),
        E(MPI_DOUBLE_COMPLEX, c_double_complex, COMPLEXES, IF_THERE),
        E(MPI_CHARACTER, c_schar, ANY_TYPE, IF_THERE),
        E(MPI_INTEGER1, c_schar, OTHER_INTEGERS, SWAPS | IF_THERE),
        E(MPI_INTEGER2, c_short, OTHER_INTEGERS, SWAPS | IF_THERE),
        E(MPI_INTEGER4, c_int, OTHER_INTEGERS, SWAPS | IF_THERE),
        E(MPI_INTEGER8, c_long, OTHER_INTEGERS, SWAPS | IF_THERE),
        E(MPI_REAL4, c_float, FLOATS, IF_THERE),
        E(MPI_REAL8, c_double, FLOATS, IF_THERE),
        E(MPI_COMPLEX8, c_float_complex, COMPLEXES, IF_THERE),
        E(MPI_COMPLEX16, c_double_complex, COMPLEXES, IF_THERE),
        E(MPI_2INTEGER, c_2int, PLACED, IF_THERE),
    };
    for (size_t i = 0; i < sizeof elements / sizeof *elements; i++) {
        int bytes = 0;
        MPI_Aint lower, extent = 0;
        if (elements[i].type == MPI_DATATYPE_NULL)
            continue;
        MPI_Type_size(elements[i].type, &bytes);
        if (bytes > 0)
            MPI_Type_get_extent(elements[i].type, &lower, &extent);
        if (elements[i].flags & IF_THERE && extent != (MPI_Aint)elements[i].as->bytes)
            continue;
        CHECK_INT(extent, elements[i].as->bytes);
        check(&elements[i]);
    }
}

/* Elements of an operation, of which the last is never a target; then the place of the next one. */
enum { MOST = 9, CELLS = MOST + 1, WIDEST = 32, FORMS = 4, GAP = 0x5a };
enum { BY_ACCUMULATE, BY_GET_ACCUMULATE, BY_FETCH_AND_OP, BY_REQUESTS };
enum { ROOM = OPERATIONS * CELLS * WIDEST };

static struct window window;
static int right, left, epochs;

static uint64_t key_of_name(const char *name)
{
    uint64_t key = 0;
    for (; *name; name++)
        key = mix(key + (uint64_t)*name);
    return key;
}

/* Operands that a rank has for a form: those in its window, or those that it brings. */
static void operands(const struct element *e, unsigned char *to, int who, int form, int brought)
{
    memset(to, brought ? ~GAP : GAP, ROOM);
    for (int op = 0; op < OPERATIONS; op++) {
        uint64_t random =
            key_of(key_of_name(e->name), (uint64_t)who, (uint64_t)(form * 2 + brought), (uint64_t)op);
        for (int i = 0; i < CELLS; i++)
            e->as->make(to + (size_t)(op * CELLS + i) * e->as->bytes, op, &random);
    }
}

static void wrong(const struct element *e, int op, int form, int cell, const char *what)
{
    static const char *const forms[] = {"accumulate", "get_accumulate", "fetch_and_op", "requests"};
    fprintf(stderr, "window_operations: rank %d of %d: MPI_%s on %s by %s: element %d %s\n", rank, size,
            names[op], e->name, forms[form], cell, what);
    MPI_Abort(MPI_COMM_WORLD, 99);
}

static int is_done(const struct element *e, int op, int form)
{
    if (form == BY_FETCH_AND_OP && e->type == MPI_SHORT_INT && !is_held("fetched_short_int"))
        return 0;
    return (e->operations & BIT(op)) && !(op == NO_OP && form == BY_ACCUMULATE);
}

static void all_operations(const struct element *e)
{
    static _Alignas(32) unsigned char mine[ROOM], brought[ROOM], theirs[ROOM], results[ROOM], there[ROOM];
    size_t bytes = e->as->bytes;
    MPI_Win win = window.win;
    for (int form = 0; form < FORMS; form++, epochs++) {
        MPI_Request requests[OPERATIONS];
        int count = 0, large = epochs % 2, n = epochs % 3 == 0 ? MOST : epochs % 3 == 1 ? 1 : 4;
        operands(e, mine, rank, form, 0);
        operands(e, brought, rank, form, 1);
        operands(e, theirs, left, form, 1);
        operands(e, there, right, form, 0);
        memset(results, GAP, ROOM);
        begin_own(&window);
        memcpy(window.base, mine, ROOM);
        end_own(&window);
        MPI_Barrier(MPI_COMM_WORLD);
        MPI_Win_lock(MPI_LOCK_SHARED, right, 0, win);
        for (int op = 0; op < OPERATIONS; op++) {
            unsigned char *from = brought + (size_t)op * CELLS * bytes,
                          *into = results + (size_t)op * CELLS * bytes;
            MPI_Aint at = place(&window, right, (MPI_Aint)((size_t)op * CELLS * bytes));
            MPI_Op operation = operations[op];
            if (!is_done(e, op, form))
                continue;
            if (form == BY_ACCUMULATE && large)
                MPI_Accumulate_c(from, n, e->type, right, at, n, e->type, operation, win);
            else if (form == BY_ACCUMULATE)
                MPI_Accumulate(from, n, e->type, right, at, n, e->type, operation, win);
            else if (form == BY_FETCH_AND_OP)
                for (int i = 0; i < n; i++)
                    MPI_Fetch_and_op(from + (size_t)i * bytes, into + (size_t)i * bytes, e->type, right,
                                     MPI_Aint_add(at, (MPI_Aint)((size_t)i * bytes)), operation, win);
            else if (form == BY_GET_ACCUMULATE && large)
                MPI_Get_accumulate_c(from, n, e->type, into, n, e->type, right, at, n, e->type, operation,
                                     win);
            else if (form == BY_GET_ACCUMULATE)
                MPI_Get_accumulate(from, n, e->type, into, n, e->type, right, at, n, e->type, operation,
                                   win);
            else if (op % 2 && op != NO_OP && large)
                MPI_Raccumulate_c(from, n, e->type, right, at, n, e->type, operation, win,
                                  &requests[count++]);
            else if (op % 2 && op != NO_OP)
                MPI_Raccumulate(from, n, e->type, right, at, n, e->type, operation, win, &requests[count++]);
            else if (large)
                MPI_Rget_accumulate_c(from, n, e->type, into, n, e->type, right, at, n, e->type, operation,
                                      win, &requests[count++]);
            else
                MPI_Rget_accumulate(from, n, e->type, into, n, e->type, right, at, n, e->type, operation,
                                    win, &requests[count++]);
        }
        if (count)
            MPI_Waitall(count, requests, MPI_STATUSES_IGNORE);
        MPI_Win_unlock(right, win);
        MPI_Barrier(MPI_COMM_WORLD);
        begin_own(&window);
        for (int op = 0; op < OPERATIONS; op++) {
            int done = is_done(e, op, form);
            int is_fetched =
                done && form != BY_ACCUMULATE && !(form == BY_REQUESTS && op % 2 && op != NO_OP);
            for (int i = 0; i < CELLS; i++) {
                size_t at = (size_t)(op * CELLS + i) * bytes;
                if (done && i < n)
                    e->as->apply(op, theirs + at, mine + at);
                if (!e->as->same(mine + at, window.base + at))
                    wrong(e, op, form, i, done && i < n ? "is not what it has to be" : "has changed");
                int is_result = is_fetched && i < n;
                if (is_result && !e->as->same(there + at, results + at))
                    wrong(e, op, form, i, "was not returned as it had been");
                for (size_t j = 0; !is_result && j < bytes; j++)
                    if (results[at + j] != GAP)
                        wrong(e, op, form, i, "of the result buffer has changed");
            }
        }
        /* What is not part of an element is as it was. */
        for (size_t at = 0; at < (size_t)OPERATIONS * CELLS * bytes; at += bytes)
            for (size_t j = e->as->gap; j < e->as->gap_end; j++)
                CHECK_INT(window.base[at + j], GAP);
        for (size_t at = (size_t)OPERATIONS * CELLS * bytes; at < ROOM; at++)
            CHECK_INT(window.base[at], GAP);
        end_own(&window);
        MPI_Barrier(MPI_COMM_WORLD);
    }
}

static void swaps(const struct element *e)
{
    enum { COUNT = 8 };
    static _Alignas(32) unsigned char mine[WIDEST * COUNT], theirs[WIDEST * COUNT], there[WIDEST * COUNT],
        compares[WIDEST * COUNT], swaps_in[WIDEST * COUNT], results[WIDEST * COUNT];
    size_t bytes = e->as->bytes;
    if (!(e->flags & SWAPS))
        return;
    for (int who = 0; who < 3; who++) {
        unsigned char *to = who == 0 ? mine : who == 1 ? theirs : there;
        int of = who == 0 ? rank : who == 1 ? left : right;
        uint64_t random = key_of(key_of_name(e->name), (uint64_t)of, who == 1, 77);
        for (int i = 0; i < COUNT; i++)
            e->as->make(to + (size_t)i * bytes, MAX, &random);
    }
    uint64_t random = key_of(key_of_name(e->name), (uint64_t)rank, 1, 77);
    for (int i = 0; i < COUNT; i++)
        e->as->make(swaps_in + (size_t)i * bytes, MAX, &random);
    begin_own(&window);
    memset(window.base, GAP, ROOM);
    memcpy(window.base, mine, bytes * COUNT);
    end_own(&window);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_lock_all(0, window.win);
    memset(results, GAP, sizeof results);
    memcpy(compares, there, bytes * COUNT);
    for (int i = 0; i < COUNT; i++) {
        size_t at = (size_t)i * bytes;
        /* Every second one differs in its last byte. */
        if (i % 2)
            compares[at + bytes - 1] ^= 1;
        MPI_Compare_and_swap(swaps_in + at, compares + at, results + at, e->type, right,
                             place(&window, right, (MPI_Aint)at), window.win);
    }
    MPI_Win_unlock_all(window.win);
    MPI_Barrier(MPI_COMM_WORLD);
    begin_own(&window);
    for (int i = 0; i < COUNT; i++) {
        size_t at = (size_t)i * bytes;
        const unsigned char *expected = i % 2 ? mine : theirs;
        if (memcmp(results + at, there + at, bytes) != 0 ||
            memcmp(window.base + at, expected + at, bytes) != 0) {
            fprintf(stderr, "window_operations: rank %d of %d: compare_and_swap %d on %s is wrong\n", rank,
                    size, i, e->name);
            MPI_Abort(MPI_COMM_WORLD, 99);
        }
    }
    for (size_t at = bytes * COUNT; at < ROOM; at++)
        CHECK_INT(window.base[at], GAP);
    end_own(&window);
    MPI_Barrier(MPI_COMM_WORLD);
}

int main(int argc, char **argv)
{
    start_windows(&argc, &argv);
    const MPI_Op predefined[] = {MPI_MAX,    MPI_MIN,    MPI_SUM,     MPI_PROD, MPI_LAND,
                                 MPI_LOR,    MPI_LXOR,   MPI_BAND,    MPI_BOR,  MPI_BXOR,
                                 MPI_MAXLOC, MPI_MINLOC, MPI_REPLACE, MPI_NO_OP};
    memcpy(operations, predefined, sizeof predefined);
    right = (rank + 1) % size;
    left = (rank + size - 1) % size;
    static const int kinds[] = {ALLOCATED, ON_HEAP, DYNAMIC};
    for (int i = 0; i < 3; i++) {
        window = make_window(kinds[i], ROOM, 1, MPI_COMM_WORLD);
        epochs = i;
        with_all_types(all_operations);
        with_all_types(swaps);
        free_window(&window);
    }
    return MPI_Finalize();
}
