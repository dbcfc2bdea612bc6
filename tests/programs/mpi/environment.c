/* The environment: start and end, thread levels, clocks, versions, error codes and error handlers. */
#include "check.h"
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>

static int handled, last_class;

static void handler(MPI_Comm *comm, int *code, ...)
{
    int comm_rank;
    handled++;
    last_class = class_of(*code);
    MPI_Comm_rank(*comm, &comm_rank); /* a handler may call MPI */
    CHECK_INT(comm_rank, rank);
}

/* What the program executes inherits nothing of the NIC. */
static void check_closed(const char *name)
{
    const char *value = getenv(name);
    int flags = value ? fcntl(atoi(value), F_GETFD) : -1;
    CHECK(flags == -1 || flags & FD_CLOEXEC);
}

int main(int argc, char **argv)
{
    int flag, provided = -1, version, sub, length, class, code;
    char text[MPI_MAX_LIBRARY_VERSION_STRING];
    MPI_Initialized(&flag);
    CHECK(!flag);
    MPI_Get_version(&version, &sub);
    MPI_Init_thread(&argc, &argv, MPI_THREAD_SERIALIZED, &provided);
    double before = MPI_Wtime();
    check_closed("BCS_NIC_FD");
    check_closed("BCS_WAKE_FD");
    CHECK_INT(provided, MPI_THREAD_SERIALIZED);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Query_thread(&provided);
    CHECK_INT(provided, MPI_THREAD_SERIALIZED);
    MPI_Is_thread_main(&flag);
    CHECK(flag);
    MPI_Initialized(&flag);
    CHECK(flag);
    MPI_Finalized(&flag);
    CHECK(!flag);
    CHECK(MPI_Wtime() >= before && MPI_Wtick() > 0 && MPI_Wtick() < 1e-3);
    MPI_Get_library_version(text, &length);
    CHECK_INT(strlen(text), length);
    MPI_Get_processor_name(text, &length);
    CHECK(length > 0 && length < MPI_MAX_PROCESSOR_NAME);

    MPI_Error_string(MPI_ERR_TAG, text, &length);
    CHECK(length > 0);
    MPI_Add_error_class(&class);
    MPI_Add_error_code(class, &code);
    MPI_Add_error_string(code, "out of fuel");
    CHECK(class > MPI_ERR_LASTCODE && class_of(code) == class);
    MPI_Error_string(code, text, &length);
    CHECK(!strcmp(text, "out of fuel"));

    MPI_Errhandler own, got, returned;
    MPI_Comm dup;
    MPI_Comm_get_errhandler(MPI_COMM_WORLD, &got);
    CHECK(got == MPI_ERRORS_ARE_FATAL);
    MPI_Comm_create_errhandler(handler, &own);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, own);
    MPI_Comm_get_errhandler(MPI_COMM_WORLD, &got);
    CHECK(got == own);
    MPI_Errhandler_free(&got);
    MPI_Errhandler_free(&own); /* the communicator keeps it */
    CHECK(own == MPI_ERRHANDLER_NULL);
    MPI_Comm_dup(MPI_COMM_WORLD, &dup); /* which has it too */
    CHECK_INT(class_of(MPI_Send(text, 1, MPI_CHAR, size + 3, 0, dup)), MPI_ERR_RANK);
    CHECK(handled == 1 && last_class == MPI_ERR_RANK);
    MPI_Comm_call_errhandler(MPI_COMM_WORLD, code);
    CHECK(handled == 2 && last_class == class);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_get_errhandler(MPI_COMM_WORLD, &returned);
    CHECK(returned == MPI_ERRORS_RETURN);
    CHECK_INT(class_of(MPI_Send(text, 1, MPI_CHAR, 0, -1, MPI_COMM_WORLD)), MPI_ERR_TAG);
    CHECK_INT(class_of(MPI_Send(text, 1, MPI_CHAR, 0, -1, dup)), MPI_ERR_TAG);
    CHECK_INT(handled, 3);
    MPI_Comm_free(&dup);
    void *memory;
    MPI_Comm parent;
    MPI_Comm_get_parent(&parent);
    CHECK(parent == MPI_COMM_NULL); /* nobody spawned this process */
    MPI_Info hardware;
    MPI_Get_hw_resource_info(&hardware);
    length = sizeof text;
    MPI_Info_get_string(hardware, "mpi_shared_memory", &length, text, &flag);
    CHECK(flag && !strcmp(text, "true"));
    /* The library has settled what Fortran's types are; nobody can set it otherwise. */
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    int truth = -1, falsehood = 0;
    CHECK_INT(class_of(MPI_Abi_set_fortran_info(hardware)), MPI_ERR_ABI);
    CHECK_INT(class_of(MPI_Abi_set_fortran_booleans(4, &truth, &falsehood)), MPI_ERR_ABI);
    CHECK_INT(class_of(MPI_Abi_set_fortran_booleans(3, &truth, &falsehood)), MPI_ERR_ARG);
    CHECK_INT(class_of(MPI_Abi_get_fortran_booleans(0, &truth, &falsehood, &flag)), MPI_ERR_ARG);
    MPI_Info_free(&hardware);
    MPI_Alloc_mem(1000, MPI_INFO_NULL, &memory);
    memset(memory, 1, 1000);
    MPI_Free_mem(memory);
    MPI_Finalize();
    MPI_Finalized(&flag);
    CHECK(flag);
    MPI_Initialized(&flag);
    CHECK(flag);
    return 0;
}
