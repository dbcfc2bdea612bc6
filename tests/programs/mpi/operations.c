/* Operations of the program: applied in the order of ranks, in every reduction, on types of every kind. */
#include "check.h"

/* 2 x 2 matrices modulo 10007: their product does not commute. */
typedef struct {
    long a, b, c, d;
} matrix;

static matrix times(matrix x, matrix y)
{
    matrix r = {(x.a * y.a + x.b * y.c) % 10007, (x.a * y.b + x.b * y.d) % 10007,
                (x.c * y.a + x.d * y.c) % 10007, (x.c * y.b + x.d * y.d) % 10007};
    return r;
}

static matrix of(int r, int i)
{
    matrix m = {r + 2, i + 1, 3, r * 5 + 7};
    return m;
}

static int calls;

static void product(void *in, void *inout, int *len, MPI_Datatype *type)
{
    MPI_Aint lb, extent;
    /* A function may ask about the type: the library does not hold a lock. */
    CHECK_INT(MPI_Type_get_extent(*type, &lb, &extent), MPI_SUCCESS);
    for (int i = 0; i < *len; i++) {
        matrix *x = (matrix *)((char *)in + i * extent), *y = (matrix *)((char *)inout + i * extent);
        *y = times(*x, *y);
    }
    calls++;
}

static void product_c(void *in, void *inout, MPI_Count *len, MPI_Datatype *type)
{
    int count = (int)*len;
    product(in, inout, &count, type);
}

static matrix expected(int first, int last, int i)
{
    matrix r = of(first, i);
    for (int k = first + 1; k <= last; k++)
        r = times(r, of(k, i));
    return r;
}

static int same(matrix x, matrix y)
{
    return x.a == y.a && x.b == y.b && x.c == y.c && x.d == y.d;
}

enum { COUNT = 300 };

static void reduce_all(MPI_Op op, MPI_Datatype type, int stride)
{
    matrix *own = calloc(COUNT * stride, sizeof *own), *got = calloc(COUNT * stride, sizeof *got);
    MPI_Request request;
    for (int i = 0; i < COUNT; i++)
        own[i * stride] = of(rank, i);
    for (int root = 0; root < size; root++) {
        for (int immediate = 0; immediate < 2; immediate++) {
            memset(got, 0xff, COUNT * stride * sizeof *got);
            if (immediate) {
                MPI_Ireduce(own, got, COUNT, type, op, root, MPI_COMM_WORLD, &request);
                MPI_Wait(&request, MPI_STATUS_IGNORE);
            } else {
                MPI_Reduce(own, got, COUNT, type, op, root, MPI_COMM_WORLD);
            }
            for (int i = 0; rank == root && i < COUNT; i++) {
                CHECK(same(got[i * stride], expected(0, size - 1, i)));
                if (stride > 1)
                    CHECK_INT(got[i * stride + 1].a, -1);
            }
        }
    }
    MPI_Allreduce(own, got, COUNT, type, op, MPI_COMM_WORLD);
    for (int i = 0; i < COUNT; i++)
        CHECK(same(got[i * stride], expected(0, size - 1, i)));
    for (int i = 0; i < COUNT; i++)
        got[i * stride] = of(rank, i);
    MPI_Iallreduce(MPI_IN_PLACE, got, COUNT, type, op, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    for (int i = 0; i < COUNT; i++)
        CHECK(same(got[i * stride], expected(0, size - 1, i)));
    MPI_Scan(own, got, COUNT, type, op, MPI_COMM_WORLD);
    for (int i = 0; i < COUNT; i++)
        CHECK(same(got[i * stride], expected(0, rank, i)));
    MPI_Exscan(own, got, COUNT, type, op, MPI_COMM_WORLD);
    for (int i = 0; rank > 0 && i < COUNT; i++)
        CHECK(same(got[i * stride], expected(0, rank - 1, i)));
    int *counts = calloc(size, sizeof *counts), first = 0, total = 0;
    for (int r = 0; r < size; r++) {
        counts[r] = r + 1;
        first += r < rank ? r + 1 : 0;
        total += r + 1;
    }
    CHECK(total <= COUNT);
    MPI_Reduce_scatter(own, got, counts, type, op, MPI_COMM_WORLD);
    for (int i = 0; i < counts[rank]; i++)
        CHECK(same(got[i * stride], expected(0, size - 1, first + i)));
    MPI_Reduce_scatter_block(own, got, 3, type, op, MPI_COMM_WORLD);
    for (int i = 0; i < 3; i++)
        CHECK(same(got[i * stride], expected(0, size - 1, rank * 3 + i)));
    free(counts);
    free(own);
    free(got);
}

int main(int argc, char **argv)
{
    start(&argc, &argv);
    MPI_Datatype plain, apart;
    MPI_Type_contiguous(4, MPI_LONG, &plain);
    MPI_Type_commit(&plain);
    MPI_Type_create_resized(plain, 0, 2 * sizeof(matrix), &apart);
    MPI_Type_commit(&apart);
    for (int large = 0; large < 2; large++) {
        MPI_Op op;
        int commutes = -1;
        if (large)
            MPI_Op_create_c(product_c, 0, &op);
        else
            MPI_Op_create(product, 0, &op);
        MPI_Op_commutative(op, &commutes);
        CHECK_INT(commutes, 0);
        CHECK_INT(MPI_Op_fromint(MPI_Op_toint(op)) == op, 1);
        reduce_all(op, plain, 1);
        reduce_all(op, apart, 2);
        matrix in[2] = {of(1, 0), of(2, 0)}, inout[2] = {of(3, 0), of(4, 0)};
        MPI_Reduce_local(in, inout, 2, plain, op);
        CHECK(same(inout[0], times(of(1, 0), of(3, 0))) && same(inout[1], times(of(2, 0), of(4, 0))));
        /* Operation and type are freed while the reduction is under way. */
        MPI_Datatype own_type;
        MPI_Type_dup(apart, &own_type);
        matrix one[2] = {of(rank, 0), of(0, 0)}, all[2];
        MPI_Request request;
        MPI_Iallreduce(one, all, 1, own_type, op, MPI_COMM_WORLD, &request);
        MPI_Type_free(&own_type);
        MPI_Op_free(&op);
        CHECK(op == MPI_OP_NULL);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        CHECK(same(all[0], expected(0, size - 1, 0)));
    }
    CHECK(calls > 0);
    int a = 5, b = 7, commutes = 0;
    MPI_Reduce_local(&a, &b, 1, MPI_INT, MPI_SUM);
    CHECK_INT(b, 12);
    MPI_Op_commutative(MPI_SUM, &commutes);
    CHECK_INT(commutes, 1);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Op sum = MPI_SUM, none = MPI_OP_NULL;
    CHECK_INT(class_of(MPI_Op_free(&sum)), MPI_ERR_OP);
    CHECK_INT(class_of(MPI_Op_free(&none)), MPI_ERR_OP);
    CHECK_INT(class_of(MPI_Op_create(NULL, 1, &sum)), MPI_ERR_ARG);
    CHECK_INT(class_of(MPI_Allreduce(&a, &b, 1, MPI_INT, MPI_OP_NULL, MPI_COMM_WORLD)), MPI_ERR_OP);
    CHECK_INT(class_of(MPI_Reduce_local(&a, &b, -1, MPI_INT, MPI_SUM)), MPI_ERR_COUNT);
    MPI_Type_free(&plain);
    MPI_Type_free(&apart);
    MPI_Finalize();
    return 0;
}
