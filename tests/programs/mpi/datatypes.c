/* Datatypes by themselves: every constructor's bounds, what it tells of its arguments, names, attributes, packing and external32. */
#include "check.h"
#include <limits.h>
#include <stddef.h>

static void bounds(MPI_Datatype type, MPI_Count size, MPI_Aint lb, MPI_Aint extent, MPI_Aint true_lb, MPI_Aint true_extent)
{
    MPI_Aint a, b;
    MPI_Count c, d, e;
    int i;
    MPI_Type_size(type, &i);
    CHECK_INT(i, size);
    MPI_Type_size_c(type, &c);
    CHECK_INT(c, size);
    MPI_Type_get_extent(type, &a, &b);
    CHECK_INT(a, lb);
    CHECK_INT(b, extent);
    MPI_Type_get_true_extent(type, &a, &b);
    CHECK_INT(a, true_lb);
    CHECK_INT(b, true_extent);
    MPI_Type_get_true_extent_c(type, &d, &e);
    CHECK_INT(d, true_lb);
    CHECK_INT(e, true_extent);
}

static void envelope(MPI_Datatype type, int integers, int addresses, int datatypes, int combiner)
{
    int i, a, d, c;
    MPI_Type_get_envelope(type, &i, &a, &d, &c);
    CHECK_INT(i, integers);
    CHECK_INT(a, addresses);
    CHECK_INT(d, datatypes);
    CHECK_INT(c, combiner);
}

static void envelope_c(MPI_Datatype type, int integers, int addresses, int counts, int datatypes, int combiner)
{
    MPI_Count i, a, n, d;
    int c;
    MPI_Type_get_envelope_c(type, &i, &a, &n, &d, &c);
    CHECK_INT(i, integers);
    CHECK_INT(a, addresses);
    CHECK_INT(n, counts);
    CHECK_INT(d, datatypes);
    CHECK_INT(c, combiner);
}

static void constructors(void)
{
    MPI_Datatype type, part;
    MPI_Type_contiguous(5, MPI_DOUBLE_INT, &type);
    bounds(type, 60, 0, 80, 0, 76);
    envelope(type, 1, 0, 1, MPI_COMBINER_CONTIGUOUS);
    MPI_Type_free(&type);
    CHECK(type == MPI_DATATYPE_NULL);
    MPI_Type_contiguous(0, MPI_INT, &type);
    bounds(type, 0, 0, 0, 0, 0);
    MPI_Type_free(&type);
    MPI_Type_vector(3, 2, 4, MPI_INT, &type);
    bounds(type, 24, 0, 40, 0, 40);
    envelope(type, 3, 0, 1, MPI_COMBINER_VECTOR);
    MPI_Type_free(&type);
    MPI_Type_vector(3, 2, -4, MPI_INT, &type);
    bounds(type, 24, -32, 40, -32, 40);
    MPI_Type_free(&type);
    MPI_Type_create_hvector(2, 1, 100, MPI_SHORT, &type);
    bounds(type, 4, 0, 102, 0, 102);
    envelope(type, 2, 1, 1, MPI_COMBINER_HVECTOR);
    MPI_Type_free(&type);
    int lengths[] = {1, 0, 3}, displacements[] = {4, 100, -2};
    MPI_Aint places[] = {16, 400, -8};
    MPI_Type_indexed(3, lengths, displacements, MPI_INT, &type);
    bounds(type, 16, -8, 28, -8, 28);
    envelope(type, 7, 0, 1, MPI_COMBINER_INDEXED);
    MPI_Type_free(&type);
    MPI_Type_create_hindexed(3, lengths, places, MPI_INT, &type);
    bounds(type, 16, -8, 28, -8, 28);
    envelope(type, 4, 3, 1, MPI_COMBINER_HINDEXED);
    MPI_Type_free(&type);
    MPI_Type_create_indexed_block(3, 2, displacements, MPI_INT, &type);
    bounds(type, 24, -8, 416, -8, 416);
    envelope(type, 5, 0, 1, MPI_COMBINER_INDEXED_BLOCK);
    MPI_Type_free(&type);
    MPI_Type_create_hindexed_block(3, 2, places, MPI_INT, &type);
    bounds(type, 24, -8, 416, -8, 416);
    envelope(type, 2, 3, 1, MPI_COMBINER_HINDEXED_BLOCK);
    MPI_Type_free(&type);
    /* The standard's own example of padding at the end: a double and a char. */
    MPI_Datatype types[] = {MPI_DOUBLE, MPI_CHAR};
    int ones[] = {1, 1};
    MPI_Aint at[] = {0, 8};
    MPI_Type_create_struct(2, ones, at, types, &type);
    bounds(type, 9, 0, 16, 0, 9);
    envelope(type, 3, 2, 2, MPI_COMBINER_STRUCT);
    MPI_Type_create_resized(type, -3, 11, &part);
    bounds(part, 9, -3, 11, 0, 9);
    envelope(part, 0, 2, 1, MPI_COMBINER_RESIZED);
    MPI_Type_free(&type);
    /* Set bounds stay the bounds of what is made of them. */
    MPI_Type_contiguous(2, part, &type);
    bounds(type, 18, -3, 22, 0, 20);
    MPI_Type_free(&type);
    MPI_Type_free(&part);
    int sizes[] = {6, 8}, parts[] = {2, 3}, starts[] = {1, 4};
    MPI_Type_create_subarray(2, sizes, parts, starts, MPI_ORDER_C, MPI_INT, &type);
    bounds(type, 24, 0, 192, 48, 44);
    envelope(type, 8, 0, 1, MPI_COMBINER_SUBARRAY);
    MPI_Type_free(&type);
    MPI_Type_create_subarray(2, sizes, parts, starts, MPI_ORDER_FORTRAN, MPI_INT, &type);
    bounds(type, 24, 0, 192, 100, 56);
    MPI_Type_free(&type);
    int gsizes[] = {10}, distribs[] = {MPI_DISTRIBUTE_CYCLIC}, dargs[] = {2}, psizes[] = {3};
    MPI_Type_create_darray(3, 1, 1, gsizes, distribs, dargs, psizes, MPI_ORDER_C, MPI_INT, &type);
    /* Elements 2, 3, 8 and 9. */
    bounds(type, 16, 0, 40, 8, 32);
    envelope(type, 8, 0, 1, MPI_COMBINER_DARRAY);
    MPI_Type_dup(type, &part);
    bounds(part, 16, 0, 40, 8, 32);
    envelope(part, 0, 0, 1, MPI_COMBINER_DUP);
    MPI_Type_free(&type);
    MPI_Type_free(&part);
    envelope(MPI_INT, 0, 0, 0, MPI_COMBINER_NAMED);
}

static void large_counts(void)
{
    MPI_Datatype type, of[2] = {MPI_CHAR, MPI_INT}, got[2];
    MPI_Count lengths[] = {3, 1}, at[] = {0, (MPI_Count)5 << 32}, size, lb, extent, counts[8];
    int integers[8], small;
    MPI_Aint addresses[2];
    MPI_Type_contiguous_c((MPI_Count)3 << 32, MPI_INT, &type);
    MPI_Type_size_c(type, &size);
    CHECK_INT(size, (MPI_Count)12 << 32);
    MPI_Type_size_x(type, &size);
    CHECK_INT(size, (MPI_Count)12 << 32);
    MPI_Type_size(type, &small);
    CHECK_INT(small, MPI_UNDEFINED);
    envelope_c(type, 0, 0, 1, 1, MPI_COMBINER_CONTIGUOUS);
    CHECK_INT(class_of(MPI_Type_get_envelope(type, &small, &small, &small, &small)), MPI_ERR_TYPE);
    MPI_Type_free(&type);
    MPI_Type_create_struct_c(2, lengths, at, of, &type);
    MPI_Type_get_extent_c(type, &lb, &extent);
    CHECK_INT(extent, ((MPI_Count)5 << 32) + 4);
    MPI_Type_get_extent_x(type, &lb, &extent);
    CHECK_INT(extent, ((MPI_Count)5 << 32) + 4);
    MPI_Type_get_true_extent_x(type, &lb, &extent);
    CHECK_INT(extent, ((MPI_Count)5 << 32) + 4);
    envelope_c(type, 0, 0, 5, 2, MPI_COMBINER_STRUCT);
    MPI_Type_get_contents_c(type, 0, 0, 5, 2, integers, addresses, counts, got);
    CHECK(counts[0] == 2 && counts[1] == 3 && counts[2] == 1 && counts[3] == 0 && counts[4] == at[1]);
    CHECK(got[0] == MPI_CHAR && got[1] == MPI_INT);
    MPI_Type_free(&type);
    MPI_Count sizes[] = {6, 8}, parts[] = {2, 3}, starts[] = {1, 4};
    MPI_Type_create_subarray_c(2, sizes, parts, starts, MPI_ORDER_C, MPI_INT, &type);
    envelope_c(type, 2, 0, 6, 1, MPI_COMBINER_SUBARRAY);
    MPI_Type_free(&type);
    MPI_Count gsizes[] = {10};
    int distribs[] = {MPI_DISTRIBUTE_BLOCK}, dargs[] = {MPI_DISTRIBUTE_DFLT_DARG}, psizes[] = {3};
    MPI_Type_create_darray_c(3, 2, 1, gsizes, distribs, dargs, psizes, MPI_ORDER_C, MPI_INT, &type);
    MPI_Type_size_c(type, &size);
    CHECK_INT(size, 8);
    envelope_c(type, 7, 0, 1, 1, MPI_COMBINER_DARRAY);
    MPI_Type_free(&type);
    MPI_Type_create_resized_c(MPI_INT, -4, (MPI_Count)1 << 40, &type);
    envelope_c(type, 0, 0, 2, 1, MPI_COMBINER_RESIZED);
    MPI_Type_free(&type);
    /* The small form has no large counts, also when it is asked with the large one. */
    MPI_Type_vector(3, 2, 4, MPI_INT, &type);
    envelope_c(type, 3, 0, 0, 1, MPI_COMBINER_VECTOR);
    MPI_Type_free(&type);
}

static void contents(void)
{
    MPI_Datatype column, pair, of[2], again;
    int integers[8], lengths[] = {1, 2};
    MPI_Aint addresses[4], at[] = {0, 32};
    MPI_Type_vector(4, 1, 5, MPI_SHORT, &column);
    of[0] = column, of[1] = MPI_DOUBLE;
    MPI_Type_create_struct(2, lengths, at, of, &pair);
    /* The component lives on without its handle, and comes back with a new one. */
    MPI_Type_free(&column);
    MPI_Type_get_contents(pair, 3, 2, 2, integers, addresses, of);
    CHECK(integers[0] == 2 && integers[1] == 1 && integers[2] == 2 && addresses[0] == 0 && addresses[1] == 32);
    CHECK(of[1] == MPI_DOUBLE);
    envelope(of[0], 3, 0, 1, MPI_COMBINER_VECTOR);
    MPI_Type_get_contents(of[0], 3, 0, 1, integers, NULL, &again);
    CHECK(integers[0] == 4 && integers[1] == 1 && integers[2] == 5 && again == MPI_SHORT);
    MPI_Type_free(&of[0]);
    MPI_Type_free(&pair);
}

static void fortran_types(void)
{
    MPI_Datatype type, same, of;
    int integers[2], size;
    struct { int p, r, size; } reals[] = {{6, MPI_UNDEFINED, 4}, {MPI_UNDEFINED, 300, 8}, {15, 307, 8}, {18, 10, 16}, {33, 4931, 16}};
    for (int i = 0; i < 5; i++) {
        MPI_Type_create_f90_real(reals[i].p, reals[i].r, &type);
        MPI_Type_size(type, &size);
        CHECK_INT(size, reals[i].size);
        MPI_Type_create_f90_real(reals[i].p, reals[i].r, &same);
        CHECK(type == same);
        envelope(type, 2, 0, 0, MPI_COMBINER_F90_REAL);
        MPI_Type_get_contents(type, 2, 0, 0, integers, NULL, NULL);
        CHECK(integers[0] == reals[i].p && integers[1] == reals[i].r);
        MPI_Type_create_f90_complex(reals[i].p, reals[i].r, &type);
        MPI_Type_size(type, &size);
        CHECK_INT(size, 2 * reals[i].size);
    }
    int digits[] = {2, 4, 9, 18, 38};
    for (int i = 0; i < 5; i++) {
        MPI_Type_create_f90_integer(digits[i], &type);
        MPI_Type_size(type, &size);
        CHECK_INT(size, 1 << i);
        envelope(type, 1, 0, 0, MPI_COMBINER_F90_INTEGER);
    }
    MPI_Type_contiguous(3, type, &of);
    MPI_Type_get_contents(of, 1, 0, 1, integers, NULL, &same);
    CHECK(same == type);
    MPI_Type_free(&of);
    CHECK_INT(class_of(MPI_Type_free(&same)), MPI_ERR_TYPE);
    MPI_Type_match_size(MPI_TYPECLASS_REAL, 8, &type);
    CHECK(type == MPI_REAL8);
    MPI_Type_match_size(MPI_TYPECLASS_INTEGER, 2, &type);
    CHECK(type == MPI_INTEGER2);
    MPI_Type_match_size(MPI_TYPECLASS_COMPLEX, 16, &type);
    CHECK(type == MPI_COMPLEX16);
    MPI_Type_get_value_index(MPI_DOUBLE, MPI_INT, &type);
    CHECK(type == MPI_DOUBLE_INT);
    MPI_Type_get_value_index(MPI_DOUBLE, MPI_CHAR, &type);
    CHECK(type == MPI_DATATYPE_NULL);
}

static int copied, deleted;

static int copy(MPI_Datatype type, int key, void *extra, void *in, void *out, int *flag)
{
    (void)type, (void)key;
    copied++;
    *(void **)out = (char *)in + *(int *)extra;
    *flag = 1;
    return MPI_SUCCESS;
}

static int destroy(MPI_Datatype type, int key, void *value, void *extra)
{
    (void)type, (void)key, (void)extra;
    deleted++;
    return value == NULL ? MPI_ERR_OTHER : MPI_SUCCESS;
}

static void names_and_attributes(void)
{
    char name[MPI_MAX_OBJECT_NAME];
    int length, key, plain, comm_key, flag, step = 3;
    char values[8];
    void *value;
    MPI_Datatype type, dup;
    MPI_Type_get_name(MPI_DOUBLE_INT, name, &length);
    CHECK(strcmp(name, "MPI_DOUBLE_INT") == 0 && length == 14);
    MPI_Type_contiguous(2, MPI_INT, &type);
    MPI_Type_get_name(type, name, &length);
    CHECK(length == 0 && name[0] == 0);
    MPI_Type_set_name(type, "two of them");
    MPI_Type_get_name(type, name, &length);
    CHECK(strcmp(name, "two of them") == 0);
    MPI_Type_create_keyval(copy, destroy, &key, &step);
    MPI_Type_create_keyval(MPI_TYPE_DUP_FN, MPI_TYPE_NULL_DELETE_FN, &plain, NULL);
    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, MPI_COMM_NULL_DELETE_FN, &comm_key, NULL);
    CHECK_INT(class_of(MPI_Type_set_attr(type, comm_key, values)), MPI_ERR_KEYVAL);
    MPI_Type_get_attr(type, key, &value, &flag);
    CHECK(!flag);
    MPI_Type_set_attr(type, key, values);
    MPI_Type_set_attr(type, plain, values + 1);
    MPI_Type_set_attr(type, key, values + 2);
    CHECK_INT(deleted, 1);
    MPI_Type_dup(type, &dup);
    CHECK_INT(copied, 1);
    MPI_Type_get_attr(dup, key, &value, &flag);
    CHECK(flag && value == values + 5);
    MPI_Type_get_attr(dup, plain, &value, &flag);
    CHECK(flag && value == values + 1);
    MPI_Type_delete_attr(dup, key);
    CHECK_INT(deleted, 2);
    MPI_Type_get_attr(dup, key, &value, &flag);
    CHECK(!flag);
    MPI_Type_free(&type);
    CHECK_INT(deleted, 3);
    /* A delete callback that refuses keeps the object. */
    MPI_Type_set_attr(dup, key, NULL);
    CHECK_INT(class_of(MPI_Type_free(&dup)), MPI_ERR_OTHER);
    CHECK(dup != MPI_DATATYPE_NULL);
    MPI_Type_free_keyval(&key);
    CHECK_INT(key, MPI_KEYVAL_INVALID);
    MPI_Type_set_attr(MPI_INT, plain, values + 7);
    MPI_Type_get_attr(MPI_INT, plain, &value, &flag);
    CHECK(flag && value == values + 7);
    MPI_Type_delete_attr(MPI_INT, plain);
    MPI_Type_free_keyval(&plain);
    MPI_Comm_free_keyval(&comm_key);
}

static void packing(void)
{
    int matrix[6][6], back[6][6], size, position = 0;
    char packed[200];
    MPI_Datatype column;
    for (int i = 0; i < 36; i++)
        matrix[i / 6][i % 6] = i, back[i / 6][i % 6] = -1;
    MPI_Type_vector(6, 1, 6, MPI_INT, &column);
    MPI_Type_commit(&column);
    MPI_Pack_size(1, column, MPI_COMM_WORLD, &size);
    CHECK(size >= 24);
    MPI_Pack(&matrix[0][2], 1, column, packed, sizeof packed, &position, MPI_COMM_WORLD);
    MPI_Pack(&matrix[3][0], 6, MPI_INT, packed, sizeof packed, &position, MPI_COMM_WORLD);
    CHECK(position >= 48);
    position = 0;
    MPI_Unpack(packed, sizeof packed, &position, &back[3][0], 6, MPI_INT, MPI_COMM_SELF);
    MPI_Unpack(packed, sizeof packed, &position, &back[0][5], 1, column, MPI_COMM_SELF);
    for (int i = 0; i < 6; i++) {
        CHECK_INT(back[i][5], 18 + i);
        if (i != 3)
            CHECK_INT(back[i][0], -1);
    }
    CHECK(back[3][0] == 2 && back[3][1] == 8 && back[3][4] == 26);
    CHECK_INT(class_of(MPI_Pack(matrix, 36, MPI_INT, packed, 100, &(int){0}, MPI_COMM_SELF)), MPI_ERR_TRUNCATE);
    MPI_Type_free(&column);
}

struct mixed {
    short s;
    long double x;
    char c;
    long l;
    double z[2];
};

static void external32(void)
{
    struct mixed from[2] = {{1, 1.5L, 'a', -2, {1, -1}}, {-3, -0.1L, 'b', 70000, {0.5, 2}}}, to[2];
    int lengths[] = {1, 1, 1, 1, 1};
    MPI_Aint at[] = {offsetof(struct mixed, s), offsetof(struct mixed, x), offsetof(struct mixed, c), offsetof(struct mixed, l), offsetof(struct mixed, z)}, size, position = 0;
    MPI_Datatype of[] = {MPI_SHORT, MPI_LONG_DOUBLE, MPI_CHAR, MPI_LONG, MPI_C_DOUBLE_COMPLEX}, type;
    unsigned char packed[100];
    const unsigned char expected[39] = {0, 1, 0x3f, 0xff, 0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 'a', 0xff, 0xff, 0xff, 0xfe, 0x3f, 0xf0, 0, 0, 0, 0, 0, 0, 0xbf, 0xf0};
    MPI_Type_create_struct(5, lengths, at, of, &type);
    MPI_Type_commit(&type);
    MPI_Pack_external_size("external32", 2, type, &size);
    CHECK_INT(size, 78);
    MPI_Pack_external("external32", from, 2, type, packed, 78, &position);
    CHECK_INT(position, 78);
    CHECK(memcmp(packed, expected, 39) == 0);
    CHECK(packed[39] == 0xff && packed[40] == 0xfd && packed[41] == 0xbf && packed[42] == 0xfb && packed[43] == 0x99);
    memset(to, 0x55, sizeof to);
    position = 0;
    MPI_Unpack_external("external32", packed, 78, &position, to, 2, type);
    for (int i = 0; i < 2; i++)
        CHECK(to[i].s == from[i].s && to[i].x == from[i].x && to[i].c == from[i].c && to[i].l == from[i].l && to[i].z[0] == from[i].z[0] && to[i].z[1] == from[i].z[1]);
    MPI_Type_free(&type);
    CHECK_INT(class_of(MPI_Pack_external_size("internal", 2, MPI_INT, &size)), MPI_ERR_ARG);
}

static void elements(void)
{
    MPI_Status status;
    MPI_Datatype pair, of[] = {MPI_INT, MPI_DOUBLE};
    int lengths[] = {1, 1}, count;
    MPI_Count large;
    MPI_Aint at[] = {0, 8};
    MPI_Type_create_struct(2, lengths, at, of, &pair);
    MPI_Type_commit(&pair);
    for (int i = 0; i < 7; i++) {
        MPI_Status_set_elements(&status, pair, i);
        MPI_Get_elements(&status, pair, &count);
        CHECK_INT(count, i);
        MPI_Get_elements_x(&status, pair, &large);
        CHECK_INT(large, i);
        MPI_Get_elements_c(&status, pair, &large);
        CHECK_INT(large, i);
        MPI_Get_count(&status, pair, &count);
        CHECK_INT(count, i % 2 ? MPI_UNDEFINED : i / 2);
    }
    MPI_Status_set_elements_x(&status, pair, (MPI_Count)1 << 33);
    MPI_Get_elements(&status, pair, &count);
    CHECK_INT(count, MPI_UNDEFINED);
    MPI_Get_count_c(&status, pair, &large);
    CHECK_INT(large, (MPI_Count)1 << 32);
    MPI_Status_set_elements_c(&status, MPI_INT, 5);
    MPI_Get_elements(&status, pair, &count);
    CHECK_INT(count, MPI_UNDEFINED);
    MPI_Type_free(&pair);
}

int main(int argc, char **argv)
{
    MPI_Aint a;
    int x[3];
    start(&argc, &argv);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    constructors();
    large_counts();
    contents();
    fortran_types();
    names_and_attributes();
    packing();
    external32();
    elements();
    MPI_Get_address(&x[1], &a);
    CHECK(MPI_Aint_add(a, 4) == MPI_Aint_add((MPI_Aint)x, 8) && MPI_Aint_diff(a, (MPI_Aint)x) == 4);
    MPI_Datatype type = MPI_INT;
    MPI_Type_dup(MPI_INT, &type);
    CHECK(MPI_Type_fromint(MPI_Type_toint(type)) == type && MPI_Type_fromint(MPI_Type_toint(MPI_INT)) == MPI_INT);
    MPI_Type_free(&type);
    return MPI_Finalize();
}
