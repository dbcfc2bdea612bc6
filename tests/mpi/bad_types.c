/* Wrong arguments of every call about datatypes: each has its class and a message with call, argument and value; nothing crashes.
 *
 * Prints a line an error: class name, then the error string; the runner knows the texts. Not portable: other implementations crash on some
 * of these. */
#include "check.h"

static int failures;

static void expect(const char *what, int code, int class)
{
    char text[MPI_MAX_ERROR_STRING];
    int length;
    MPI_Error_string(code, text, &length);
    if (class_of(code) != class) {
        fprintf(stderr, "%s: class %d, not %d: %s\n", what, class_of(code), class, text);
        failures++;
    }
    printf("%s\n", text);
}

#define WRONG(class, call) expect(#call, call, class)

int main(int argc, char **argv)
{
    int one[4] = {1, 1, 1, 1}, two[4] = {2, 2, 2, 2}, minus[4] = {1, -1, 1, 1}, numbers[8], n, flag, key = 77, position;
    int block[] = {MPI_DISTRIBUTE_BLOCK, MPI_DISTRIBUTE_BLOCK}, none[] = {MPI_DISTRIBUTE_NONE, 5};
    MPI_Aint places[4] = {0, 8, 16, 24}, a, b;
    MPI_Count c, d, e, f, large[2] = {1, 1};
    MPI_Datatype ints[] = {MPI_INT, MPI_INT}, type = MPI_DATATYPE_NULL, bad[] = {MPI_INT, MPI_DATATYPE_NULL}, freed, plain, got[2];
    char buffer[64], name[MPI_MAX_OBJECT_NAME];
    void *value;
    MPI_Status status = {0};
    start(&argc, &argv);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    MPI_Type_contiguous(2, MPI_INT, &freed);
    type = freed;
    MPI_Type_free(&type);
    MPI_Type_vector(2, 1, 3, MPI_INT, &plain);
    /* Constructors. */
    WRONG(MPI_ERR_COUNT, MPI_Type_contiguous(-1, MPI_INT, &type));
    WRONG(MPI_ERR_TYPE, MPI_Type_contiguous(1, MPI_DATATYPE_NULL, &type));
    WRONG(MPI_ERR_TYPE, MPI_Type_contiguous(1, freed, &type));
    WRONG(MPI_ERR_TYPE, MPI_Type_contiguous(1, (MPI_Datatype)(size_t)0x123456789, &type));
    WRONG(MPI_ERR_ARG, MPI_Type_contiguous(1, MPI_INT, NULL));
    WRONG(MPI_ERR_ARG, MPI_Type_contiguous_c((MPI_Count)1 << 62, MPI_INT, &type));
    WRONG(MPI_ERR_COUNT, MPI_Type_vector(-2, 1, 1, MPI_INT, &type));
    WRONG(MPI_ERR_COUNT, MPI_Type_vector(2, -1, 1, MPI_INT, &type));
    WRONG(MPI_ERR_TYPE, MPI_Type_vector(2, 1, 1, freed, &type));
    WRONG(MPI_ERR_COUNT, MPI_Type_create_hvector(2, -1, 1, MPI_INT, &type));
    WRONG(MPI_ERR_ARG, MPI_Type_create_hvector(3, 1, (MPI_Aint)1 << 62, MPI_INT, &type));
    WRONG(MPI_ERR_ARG, MPI_Type_indexed(4, minus, one, MPI_INT, &type));
    WRONG(MPI_ERR_ARG, MPI_Type_indexed(4, NULL, one, MPI_INT, &type));
    WRONG(MPI_ERR_COUNT, MPI_Type_indexed(-4, one, one, MPI_INT, &type));
    WRONG(MPI_ERR_ARG, MPI_Type_create_hindexed(4, one, NULL, MPI_INT, &type));
    WRONG(MPI_ERR_COUNT, MPI_Type_create_indexed_block(4, -2, one, MPI_INT, &type));
    WRONG(MPI_ERR_TYPE, MPI_Type_create_hindexed_block(4, 2, places, MPI_DATATYPE_NULL, &type));
    WRONG(MPI_ERR_TYPE, MPI_Type_create_struct(2, one, places, bad, &type));
    WRONG(MPI_ERR_ARG, MPI_Type_create_struct(2, one, places, NULL, &type));
    WRONG(MPI_ERR_ARG, MPI_Type_create_struct(2, minus, places, ints, &type));
    WRONG(MPI_ERR_ARG, MPI_Type_create_subarray(0, two, one, one, MPI_ORDER_C, MPI_INT, &type));
    WRONG(MPI_ERR_ARG, MPI_Type_create_subarray(2, two, one, two, MPI_ORDER_C, MPI_INT, &type));
    WRONG(MPI_ERR_ARG, MPI_Type_create_subarray(2, one, two, one, MPI_ORDER_C, MPI_INT, &type));
    WRONG(MPI_ERR_ARG, MPI_Type_create_subarray(2, two, one, one, 99, MPI_INT, &type));
    WRONG(MPI_ERR_ARG, MPI_Type_create_darray(4, 4, 2, two, block, one, two, MPI_ORDER_C, MPI_INT, &type));
    WRONG(MPI_ERR_ARG, MPI_Type_create_darray(5, 0, 2, two, block, one, two, MPI_ORDER_C, MPI_INT, &type));
    WRONG(MPI_ERR_ARG, MPI_Type_create_darray(4, 0, 2, (int[]){5, 2}, block, two, two, MPI_ORDER_C, MPI_INT, &type));
    WRONG(MPI_ERR_ARG, MPI_Type_create_darray(2, 0, 2, two, none, one, (int[]){1, 2}, MPI_ORDER_C, MPI_INT, &type));
    WRONG(MPI_ERR_ARG, MPI_Type_create_darray(4, 0, 2, two, none, one, two, MPI_ORDER_C, MPI_INT, &type));
    WRONG(MPI_ERR_TYPE, MPI_Type_create_resized(freed, 0, 4, &type));
    WRONG(MPI_ERR_ARG, MPI_Type_create_resized(MPI_INT, (MPI_Aint)1 << 62, (MPI_Aint)1 << 62, &type));
    WRONG(MPI_ERR_TYPE, MPI_Type_dup(MPI_DATATYPE_NULL, &type));
    WRONG(MPI_ERR_ARG, MPI_Type_create_f90_real(34, 10, &type));
    WRONG(MPI_ERR_ARG, MPI_Type_create_f90_complex(MPI_UNDEFINED, MPI_UNDEFINED, &type));
    WRONG(MPI_ERR_ARG, MPI_Type_create_f90_integer(39, &type));
    WRONG(MPI_ERR_ARG, MPI_Type_match_size(MPI_TYPECLASS_REAL, 3, &type));
    WRONG(MPI_ERR_ARG, MPI_Type_match_size(17, 4, &type));
    WRONG(MPI_ERR_TYPE, MPI_Type_get_value_index(MPI_INT, freed, &type));
    CHECK(type == MPI_DATATYPE_NULL);
    /* Handles and queries. */
    WRONG(MPI_ERR_TYPE, MPI_Type_commit(&freed));
    WRONG(MPI_ERR_ARG, MPI_Type_commit(NULL));
    WRONG(MPI_ERR_TYPE, MPI_Type_free(&freed));
    type = MPI_INT;
    WRONG(MPI_ERR_TYPE, MPI_Type_free(&type));
    type = MPI_DATATYPE_NULL;
    WRONG(MPI_ERR_TYPE, MPI_Type_free(&type));
    WRONG(MPI_ERR_TYPE, MPI_Type_size(freed, &n));
    WRONG(MPI_ERR_ARG, MPI_Type_size(MPI_INT, NULL));
    WRONG(MPI_ERR_TYPE, MPI_Type_size_x(MPI_DATATYPE_NULL, &c));
    WRONG(MPI_ERR_TYPE, MPI_Type_get_extent(freed, &a, &b));
    WRONG(MPI_ERR_TYPE, MPI_Type_get_true_extent_x(freed, &c, &d));
    WRONG(MPI_ERR_TYPE, MPI_Type_get_envelope(freed, &n, &n, &n, &n));
    WRONG(MPI_ERR_ARG, MPI_Type_get_envelope_c(plain, &c, &d, &e, &f, NULL));
    WRONG(MPI_ERR_TYPE, MPI_Type_get_contents(MPI_INT, 8, 0, 1, numbers, NULL, got));
    WRONG(MPI_ERR_ARG, MPI_Type_get_contents(plain, 2, 0, 1, numbers, NULL, got));
    WRONG(MPI_ERR_ARG, MPI_Type_get_contents(plain, 3, 0, 1, numbers, NULL, NULL));
    WRONG(MPI_ERR_ARG, MPI_Type_get_contents_c(plain, 3, 0, 0, 0, numbers, NULL, large, got));
    WRONG(MPI_ERR_TYPE, MPI_Type_get_name(freed, name, &n));
    WRONG(MPI_ERR_TYPE, MPI_Type_set_name(freed, "x"));
    WRONG(MPI_ERR_ARG, MPI_Type_set_name(plain, NULL));
    WRONG(MPI_ERR_KEYVAL, MPI_Type_set_attr(plain, key, NULL));
    WRONG(MPI_ERR_KEYVAL, MPI_Type_get_attr(plain, key, &value, &flag));
    WRONG(MPI_ERR_KEYVAL, MPI_Type_delete_attr(plain, key));
    WRONG(MPI_ERR_KEYVAL, MPI_Type_free_keyval(&key));
    WRONG(MPI_ERR_ARG, MPI_Type_create_keyval(MPI_TYPE_NULL_COPY_FN, MPI_TYPE_NULL_DELETE_FN, NULL, NULL));
    WRONG(MPI_ERR_ARG, MPI_Get_address(buffer, NULL));
    WRONG(MPI_ERR_TYPE, MPI_Get_elements(&status, freed, &n));
    WRONG(MPI_ERR_COUNT, MPI_Status_set_elements(&status, MPI_INT, -3));
    /* Types that are not committed. */
    WRONG(MPI_ERR_TYPE, MPI_Send(buffer, 1, plain, 0, 0, MPI_COMM_SELF));
    WRONG(MPI_ERR_TYPE, MPI_Recv(buffer, 1, plain, 0, 0, MPI_COMM_SELF, &status));
    WRONG(MPI_ERR_TYPE, MPI_Bcast(buffer, 1, plain, 0, MPI_COMM_SELF));
    WRONG(MPI_ERR_TYPE, MPI_Pack(buffer, 1, plain, buffer, 64, &(int){0}, MPI_COMM_SELF));
    MPI_Type_commit(&plain);
    WRONG(MPI_ERR_BUFFER, MPI_Send(NULL, 1, plain, 0, 0, MPI_COMM_SELF));
    WRONG(MPI_ERR_COUNT, MPI_Send(buffer, -1, plain, 0, 0, MPI_COMM_SELF));
    WRONG(MPI_ERR_COUNT, MPI_Send_c(buffer, (MPI_Count)1 << 60, plain, 0, 0, MPI_COMM_SELF));
    WRONG(MPI_ERR_TYPE, MPI_Send(buffer, 1, freed, 0, 0, MPI_COMM_SELF));
    /* Packing. */
    position = 0;
    WRONG(MPI_ERR_COMM, MPI_Pack(buffer, 1, plain, buffer, 64, &position, MPI_COMM_NULL));
    WRONG(MPI_ERR_TRUNCATE, MPI_Pack(buffer, 1, plain, buffer, 7, &position, MPI_COMM_SELF));
    WRONG(MPI_ERR_ARG, MPI_Pack(buffer, 1, plain, buffer, -7, &position, MPI_COMM_SELF));
    WRONG(MPI_ERR_BUFFER, MPI_Pack(buffer, 1, plain, NULL, 64, &position, MPI_COMM_SELF));
    WRONG(MPI_ERR_ARG, MPI_Pack(buffer, 1, plain, buffer, 64, NULL, MPI_COMM_SELF));
    position = 70;
    WRONG(MPI_ERR_ARG, MPI_Unpack(buffer, 64, &position, buffer, 1, MPI_INT, MPI_COMM_SELF));
    position = 62;
    WRONG(MPI_ERR_TRUNCATE, MPI_Unpack(buffer, 64, &position, buffer, 1, MPI_INT, MPI_COMM_SELF));
    CHECK_INT(position, 62);
    WRONG(MPI_ERR_COUNT, MPI_Pack_size(-1, MPI_INT, MPI_COMM_SELF, &n));
    WRONG(MPI_ERR_ARG, MPI_Pack_external_size("native", 1, MPI_INT, &a));
    WRONG(MPI_ERR_ARG, MPI_Pack_external_size(NULL, 1, MPI_INT, &a));
    a = 0;
    WRONG(MPI_ERR_CONVERSION, MPI_Pack_external("external32", &(long){1L << 40}, 1, MPI_LONG, buffer, 64, &a));
    WRONG(MPI_ERR_TRUNCATE, MPI_Unpack_external("external32", buffer, 3, &a, buffer, 1, MPI_INT));
    CHECK_INT(a, 0);
    /* Still well. */
    MPI_Sendrecv(numbers, 1, plain, (rank + 1) % size, 5, one, 2, MPI_INT, MPI_ANY_SOURCE, 5, MPI_COMM_WORLD, &status);
    MPI_Type_free(&plain);
    CHECK_INT(failures, 0);
    printf("unharmed\n");
    return MPI_Finalize();
}
