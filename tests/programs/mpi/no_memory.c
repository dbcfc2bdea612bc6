/* Collectives for which there is no memory answer MPI_ERR_NO_MEM, and say how much they wanted; the program goes on,
 * and so does the communicator. Operands and blocks with gaps travel packed. */
#include "check.h"

#include <sys/mman.h>
#include <sys/resource.h>

enum { ELEMENTS = 8 << 20 };

static void add(void *left, void *inout, int *count, MPI_Datatype *datatype)
{
    (void)datatype;
    for (long i = 0; i < *count; i++)
        ((double *)inout)[2 * i] += ((double *)left)[2 * i];
}

/* Memory that takes up no more than its addresses until it is used. */
static double *untouched(size_t bytes)
{
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    CHECK(memory != MAP_FAILED);
    return memory;
}

/* What this process has of addresses now, and so many bytes more. */
static void leave(size_t bytes)
{
    unsigned long pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    CHECK(file != NULL && fscanf(file, "%lu", &pages) == 1);
    fclose(file);
    struct rlimit limit = {pages * 4096 + bytes, RLIM_INFINITY};
    CHECK_INT(setrlimit(RLIMIT_AS, &limit), 0);
}

static void is_no_memory(int code)
{
    char text[MPI_MAX_ERROR_STRING];
    int length = 0;
    CHECK_INT(class_of(code), MPI_ERR_NO_MEM);
    MPI_Error_string(code, text, &length);
    CHECK(length > 0);
}

int main(int argc, char **argv)
{
    MPI_Datatype gaps, with_gaps;
    MPI_Op op;
    start(&argc, &argv);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Type_vector(1, 1, 2, MPI_DOUBLE, &gaps);
    MPI_Type_create_resized(gaps, 0, 2 * sizeof(double), &with_gaps);
    MPI_Type_commit(&with_gaps);
    MPI_Op_create(add, 1, &op);
    size_t bytes = (size_t)ELEMENTS * 2 * sizeof(double);
    double *one = untouched(bytes * (size_t)size), *other = untouched(bytes * (size_t)size);
    leave(24 << 20);
    is_no_memory(MPI_Allreduce(one, other, ELEMENTS, with_gaps, op, MPI_COMM_WORLD));
    is_no_memory(MPI_Scan(one, other, ELEMENTS, with_gaps, op, MPI_COMM_WORLD));
    is_no_memory(MPI_Alltoall(one, ELEMENTS, with_gaps, other, ELEMENTS, with_gaps, MPI_COMM_WORLD));
    is_no_memory(MPI_Allgather(one, ELEMENTS, with_gaps, other, ELEMENTS, with_gaps, MPI_COMM_WORLD));
    one[0] = rank + 1;
    other[0] = 0;
    CHECK_INT(MPI_Allreduce(one, other, 1, with_gaps, op, MPI_COMM_WORLD), MPI_SUCCESS);
    CHECK(other[0] == size * (size + 1) / 2);
    MPI_Op_free(&op);
    MPI_Type_free(&gaps);
    MPI_Type_free(&with_gaps);
    MPI_Finalize();
    printf("no_memory\n");
    return 0;
}
