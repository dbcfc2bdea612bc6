/* Files of the test programs: a name that all ranks know, and calls that have to be well.
 *
 * Checks may be left out (left_out.h). */
#ifndef FILES_H
#define FILES_H
#include "check.h"
#include "left_out.h"
#include <stdint.h>
#include <unistd.h>

#define WELL(call)                                                                                          \
    do {                                                                                                    \
        int code_ = (call);                                                                                 \
        if (code_ != MPI_SUCCESS) {                                                                         \
            char said_[MPI_MAX_ERROR_STRING];                                                               \
            int length_;                                                                                    \
            MPI_Error_string(code_, said_, &length_);                                                       \
            fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #call, said_);                           \
            MPI_Abort(MPI_COMM_WORLD, 99);                                                                  \
        }                                                                                                   \
    } while (0)
#define FAILS(call, class) CHECK_INT(class_of(call), class)

static char file_name[256];

/* A name for each program and job, told to all ranks. */
static inline void name_file(int *argc, char ***argv)
{
    const char *directory = getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp", *own = strrchr((*argv)[0], '/');
    leave_out(argc, argv);
    if (rank == 0)
        snprintf(file_name, sizeof file_name, "%s/%s.%ld", directory, own ? own + 1 : (*argv)[0], (long)getpid());
    MPI_Bcast(file_name, sizeof file_name, MPI_CHAR, 0, MPI_COMM_WORLD);
}

static inline void start_files(int *argc, char ***argv)
{
    start(argc, argv);
    name_file(argc, argv);
}

/* Another name beside that of the job. */
static inline const char *name_of(const char *what)
{
    static char name[300];
    snprintf(name, sizeof name, "%s.%s", file_name, what);
    return name;
}

/* A file that is new, of all ranks, and goes when it is closed. */
static inline MPI_File open_new(MPI_Comm comm, MPI_Info info)
{
    MPI_File file;
    WELL(MPI_File_open(comm, file_name, MPI_MODE_RDWR | MPI_MODE_CREATE | MPI_MODE_DELETE_ON_CLOSE, info, &file));
    WELL(MPI_File_set_size(file, 0));
    return file;
}

static inline MPI_Offset size_of(MPI_File file)
{
    MPI_Offset bytes;
    WELL(MPI_File_get_size(file, &bytes));
    return bytes;
}

/* What is in a file from a byte on, by a plain read; what is behind its end stays. */
static inline size_t read_plainly(const char *name, long from, void *to, size_t bytes)
{
    FILE *plain = fopen(name, "rb");
    CHECK(plain);
    CHECK(fseek(plain, from, SEEK_SET) == 0);
    size_t read = fread(to, 1, bytes, plain);
    fclose(plain);
    return read;
}

static inline void write_plainly(const char *name, const void *from, size_t bytes)
{
    FILE *plain = fopen(name, "wb");
    CHECK(plain);
    CHECK(fwrite(from, 1, bytes, plain) == bytes);
    CHECK(fclose(plain) == 0);
}

/* What was written is there for everybody. */
static inline void meet(MPI_File file, MPI_Comm comm)
{
    WELL(MPI_File_sync(file));
    MPI_Barrier(comm);
    WELL(MPI_File_sync(file));
}

static inline void check_count(const MPI_Status *status, MPI_Datatype datatype, int expected)
{
    int count;
    MPI_Get_count(status, datatype, &count);
    CHECK_INT(count, expected);
}
#endif
