/* The half in C of languages.f90: handles, statuses and attributes go from one language to the other (MPI-5.0, 19.3). */
#include <mpi.h>

static int key = MPI_KEYVAL_INVALID;
static int number = 1234;
static MPI_Aint seen_in_c;

/* A communicator of Fortran, as C knows it: its size. */
int c_size(MPI_Fint *comm)
{
    int size = -1;
    MPI_Comm_size(MPI_Comm_f2c(*comm), &size);
    return size;
}

MPI_Fint c_duplicate(void)
{
    MPI_Comm copy;
    MPI_Comm_dup(MPI_COMM_WORLD, &copy);
    return MPI_Comm_c2f(copy);
}

MPI_Fint c_vector(void)
{
    MPI_Datatype type;
    MPI_Type_vector(3, 1, 2, MPI_INT, &type);
    MPI_Type_commit(&type);
    return MPI_Type_c2f(type);
}

/* Fills a status of Fortran. */
void c_status(MPI_Fint *f_status)
{
    MPI_Status status;
    MPI_Status_f2c(f_status, &status);
    status.MPI_TAG += 1;
    MPI_Status_set_elements(&status, MPI_INT, 9);
    MPI_Status_c2f(&status, f_status);
}

/* A key of C with an address as attribute; its value in Fortran is that address. */
int c_key(void)
{
    MPI_Comm_create_keyval(MPI_COMM_DUP_FN, MPI_COMM_NULL_DELETE_FN, &key, 0);
    return key;
}

void c_set(MPI_Fint *comm, MPI_Aint *address)
{
    MPI_Comm_set_attr(MPI_Comm_f2c(*comm), key, &number);
    *address = (MPI_Aint)&number;
}

/* What Fortran has set, C gets as an address of it. */
MPI_Aint c_get(MPI_Fint *comm, int *of)
{
    MPI_Aint *value = 0;
    int flag = 0;
    MPI_Comm_get_attr(MPI_Comm_f2c(*comm), *of, &value, &flag);
    return flag ? *value : -1;
}

int c_get_int(MPI_Fint *comm, int *of)
{
    int *value = 0, flag = 0;
    MPI_Comm_get_attr(MPI_Comm_f2c(*comm), *of, &value, &flag);
    return flag ? *value : -1;
}

/* A reduction that was made in Fortran. */
int c_reduce(MPI_Fint *op)
{
    int mine = 3, all = 0;
    MPI_Allreduce(&mine, &all, 1, MPI_INT, MPI_Op_f2c(*op), MPI_COMM_SELF);
    all = 10;
    MPI_Reduce_local(&mine, &all, 1, MPI_INT, MPI_Op_f2c(*op));
    return all;
}
