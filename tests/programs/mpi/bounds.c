/* Bounds of random types: prints, for each, how it was made, and its size, bounds and true bounds.
 *
 *   bounds SEED COUNT DEPTH UNIT
 *
 * DEPTH constructors lie over each other; displacements in bytes are multiples of UNIT. The same arguments make
 * the same types on every implementation: what two of them print can be compared line by line. bounds.txt is what MPICH 5.0.2 prints with
 * 1 400 2 8; where displacements are not aligned, it pads less than the standard asks for (5.1.6), and Open MPI as we do. */
#include "check.h"
#include <stdint.h>

static uint64_t state;
static int unit;

/* A number from low to high. */
static int number(int low, int high)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return low + (int)(state % (uint64_t)(high - low + 1));
}

static char said[4096];

#define SAY(...) snprintf(said + strlen(said), sizeof said - strlen(said), __VA_ARGS__)

enum { MOST = 3 };

/* So many numbers, and their text. */
static void numbers(int count, int *values, int low, int high)
{
    SAY("[");
    for (int i = 0; i < count; i++) {
        values[i] = number(low, high);
        SAY("%s%d", i ? " " : "", values[i]);
    }
    SAY("] ");
}

static void addresses(int count, MPI_Aint *values, int low, int high)
{
    int small[MOST];
    numbers(count, small, low, high);
    SAY("/%d ", unit);
    for (int i = 0; i < count; i++)
        values[i] = small[i] / unit * unit;
}

static MPI_Datatype basic(void)
{
    static const struct {
        MPI_Datatype type;
        const char *name;
    } basics[] = {
        {MPI_CHAR, "char"},     {MPI_SHORT, "short"},           {MPI_INT, "int"},           {MPI_FLOAT, "float"},
        {MPI_DOUBLE, "double"}, {MPI_DOUBLE_INT, "double_int"}, {MPI_SHORT_INT, "short_int"},
    };
    int which = number(0, 6);
    MPI_Datatype type;
    SAY("%s", basics[which].name);
    MPI_Type_dup(basics[which].type, &type);
    return type;
}

static MPI_Datatype made(int depth);

static MPI_Datatype array(int depth)
{
    int dimensions = number(1, MOST), sizes[MOST], parts[MOST], starts[MOST];
    MPI_Datatype old, type;
    SAY("subarray(");
    numbers(dimensions, sizes, 1, 4);
    for (int i = 0; i < dimensions; i++) {
        parts[i] = number(1, sizes[i]);
        starts[i] = number(0, sizes[i] - parts[i]);
        SAY("%d+%d ", starts[i], parts[i]);
    }
    int order = number(0, 1) ? MPI_ORDER_C : MPI_ORDER_FORTRAN;
    SAY("%s ", order == MPI_ORDER_C ? "C" : "Fortran");
    old = made(depth);
    MPI_Type_create_subarray(dimensions, sizes, parts, starts, order, old, &type);
    MPI_Type_free(&old);
    return type;
}

static MPI_Datatype share(int depth)
{
    int dimensions = number(1, MOST), elements[MOST], distributions[MOST], blocks[MOST], processes[MOST], all = 1;
    MPI_Datatype old, type;
    SAY("darray(");
    numbers(dimensions, elements, 1, 7);
    for (int i = 0; i < dimensions; i++) {
        static const int kinds[] = {MPI_DISTRIBUTE_NONE, MPI_DISTRIBUTE_BLOCK, MPI_DISTRIBUTE_CYCLIC};
        int kind = number(0, depth > 0 ? 1 : 2);
        distributions[i] = kinds[kind];
        processes[i] = kind == 0 ? 1 : number(1, 3);
        blocks[i] = kind == 2 && number(0, 1) ? number(1, 3) : MPI_DISTRIBUTE_DFLT_DARG;
        all *= processes[i];
        SAY("%s of %d ", kind == 0 ? "none" : kind == 1 ? "block" : "cyclic", processes[i]);
        if (blocks[i] != MPI_DISTRIBUTE_DFLT_DARG)
            SAY("by %d ", blocks[i]);
    }
    int whose = number(0, all - 1), order = number(0, 1) ? MPI_ORDER_C : MPI_ORDER_FORTRAN;
    SAY("share %d %s ", whose, order == MPI_ORDER_C ? "C" : "Fortran");
    old = made(depth);
    MPI_Type_create_darray(all, whose, dimensions, elements, distributions, blocks, processes, order, old, &type);
    MPI_Type_free(&old);
    return type;
}

/* Of basic types: a struct of types with bounds that were set and of others has those that were set alone (MPI-5.0, 5.1.6), which
 * not every implementation sees so. */
static MPI_Datatype structure(void)
{
    int count = number(1, MOST), lengths[MOST];
    MPI_Aint places[MOST];
    MPI_Datatype types[MOST], type;
    SAY("struct(");
    numbers(count, lengths, 0, 3);
    addresses(count, places, -20, 40);
    for (int i = 0; i < count; i++) {
        SAY(i ? " " : "");
        types[i] = basic();
    }
    MPI_Type_create_struct(count, lengths, places, types, &type);
    for (int i = 0; i < count; i++)
        MPI_Type_free(&types[i]);
    return type;
}

static MPI_Datatype constructed(int depth);

/* A type that has data, made by so many constructors, one over the other. */
static MPI_Datatype made(int depth)
{
    size_t before = strlen(said);
    for (;;) {
        MPI_Datatype type = depth > 0 ? constructed(depth) : basic();
        int bytes;
        MPI_Type_size(type, &bytes);
        if (bytes > 0)
            return type;
        MPI_Type_free(&type);
        said[before] = 0;
    }
}

static MPI_Datatype constructed(int depth)
{
    int count = number(1, MOST), length = number(1, MOST), stride, lengths[MOST], places[MOST];
    MPI_Aint distance, bytes[MOST];
    MPI_Datatype old, type;
    int which = number(0, 11);
    switch (which) {
    case 0:
        SAY("dup(");
        old = made(depth - 1);
        MPI_Type_dup(old, &type);
        break;
    case 1:
        SAY("contiguous(%d ", count);
        old = made(depth - 1);
        MPI_Type_contiguous(count, old, &type);
        break;
    case 2:
        stride = number(-4, 6);
        SAY("vector(%d %d %d ", count, length, stride);
        old = made(depth - 1);
        MPI_Type_vector(count, length, stride, old, &type);
        break;
    case 3:
        distance = number(-30, 60) / unit * unit;
        SAY("hvector(%d %d %ld ", count, length, (long)distance);
        old = made(depth - 1);
        MPI_Type_create_hvector(count, length, distance, old, &type);
        break;
    case 4:
        SAY("indexed(");
        numbers(count, lengths, 0, 3);
        numbers(count, places, -4, 8);
        old = made(depth - 1);
        MPI_Type_indexed(count, lengths, places, old, &type);
        break;
    case 5:
        SAY("hindexed(");
        numbers(count, lengths, 0, 3);
        addresses(count, bytes, -30, 60);
        old = made(depth - 1);
        MPI_Type_create_hindexed(count, lengths, bytes, old, &type);
        break;
    case 6:
        SAY("indexed_block(%d ", length);
        numbers(count, places, -4, 8);
        old = made(depth - 1);
        MPI_Type_create_indexed_block(count, length, places, old, &type);
        break;
    case 7:
        SAY("hindexed_block(%d ", length);
        addresses(count, bytes, -30, 60);
        old = made(depth - 1);
        MPI_Type_create_hindexed_block(count, length, bytes, old, &type);
        break;
    case 8:
        bytes[0] = number(-20, 20) / unit * unit;
        distance = number(0, 60) / unit * unit;
        SAY("resized(%ld %ld ", (long)bytes[0], (long)distance);
        old = made(depth - 1);
        MPI_Type_create_resized(old, bytes[0], distance, &type);
        break;
    case 9:
        type = array(depth - 1);
        SAY(")");
        return type;
    case 10:
        type = share(depth - 1);
        SAY(")");
        return type;
    default:
        type = structure();
        SAY(")");
        return type;
    }
    SAY(")");
    MPI_Type_free(&old);
    return type;
}

int main(int argc, char **argv)
{
    start(&argc, &argv);
    CHECK_INT(argc, 5);
    int count = atoi(argv[2]), depth = atoi(argv[3]);
    unit = atoi(argv[4]);
    for (int i = 0; i < count; i++) {
        MPI_Aint lb, extent, true_lb, true_extent;
        int bytes;
        /* Odd, so never 0; and far from the last one's. */
        state = (strtoull(argv[1], NULL, 10) * 1000003 + (uint64_t)i) * 2862933555777941757u | 1;
        for (int j = 0; j < 30; j++)
            number(0, 1);
        said[0] = 0;
        MPI_Datatype type = made(depth);
        MPI_Type_size(type, &bytes);
        MPI_Type_get_extent(type, &lb, &extent);
        MPI_Type_get_true_extent(type, &true_lb, &true_extent);
        printf("%s: %d bytes, %ld to %ld, data %ld to %ld\n", said, bytes, (long)lb, (long)(lb + extent),
               (long)true_lb, (long)(true_lb + true_extent));
        MPI_Type_free(&type);
    }
    return MPI_Finalize();
}
