/* What the library does not have: told by its error class, through the right error handler, under the name of the call. */
#include "check.h"
#include <stdarg.h>

static int handled, last;

static void comm_handler(MPI_Comm *comm, int *code, ...)
{
    (void)comm;
    handled++;
    last = *code;
}

static void file_handler(MPI_File *file, int *code, ...)
{
    CHECK(*file == MPI_FILE_NULL);
    handled += 100;
    last = *code;
}

static void names(int code, const char *call)
{
    char text[MPI_MAX_ERROR_STRING];
    int length;
    CHECK_INT(class_of(code), MPI_ERR_UNSUPPORTED_OPERATION);
    MPI_Error_string(code, text, &length);
    CHECK(strstr(text, call));
}

static void handlers(void)
{
    MPI_Errhandler of_comm, of_file, got;
    MPI_Comm_create_errhandler(comm_handler, &of_comm);
    MPI_File_create_errhandler(file_handler, &of_file);
    /* The communicator's own handler, not MPI_COMM_WORLD's. */
    MPI_Comm dup, got_comm;
    MPI_Comm_dup(MPI_COMM_WORLD, &dup);
    MPI_Comm_set_errhandler(dup, of_comm);
    names(MPI_Comm_accept("port", MPI_INFO_NULL, 0, dup, &got_comm), "MPI_Comm_accept");
    CHECK_INT(handled, 1);
    names(last, "MPI_Comm_accept");
    names(MPI_Publish_name("a", MPI_INFO_NULL, "b"), "MPI_Publish_name");
    CHECK_INT(handled, 1);
    MPI_Comm_free(&dup);
    /* Files that are not open return errors unless the program says otherwise. */
    MPI_File_get_errhandler(MPI_FILE_NULL, &got);
    CHECK(got == MPI_ERRORS_RETURN);
    MPI_File_set_errhandler(MPI_FILE_NULL, of_file);
    MPI_Errhandler_free(&of_file);
    CHECK_INT(class_of(MPI_File_delete("/absent/file", MPI_INFO_NULL)), MPI_ERR_NO_SUCH_FILE);
    CHECK_INT(handled, 101);
    MPI_File_call_errhandler(MPI_FILE_NULL, MPI_ERR_IO);
    CHECK_INT(handled, 201);
    CHECK_INT(class_of(last), MPI_ERR_IO);
    MPI_File_set_errhandler(MPI_FILE_NULL, MPI_ERRORS_RETURN);
    /* A handler is for one kind of object. */
    CHECK_INT(class_of(MPI_File_set_errhandler(MPI_FILE_NULL, of_comm)), MPI_ERR_ERRHANDLER);
    CHECK_INT(class_of(MPI_Win_set_errhandler(MPI_WIN_NULL, MPI_ERRORS_RETURN)), MPI_ERR_WIN);
    MPI_Errhandler_free(&of_comm);
}

int main(int argc, char **argv)
{
    start(&argc, &argv);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    handlers();
    MPI_Finalize();
    return 0;
}
