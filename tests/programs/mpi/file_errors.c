/* What the system refuses or cannot do about files: a full disk, a limit, a file that another truncates or
 * that may not be read or written. Each is told with its class, the file and the cause, to all members of a
 * collective call; the file can be used after that (MPI-5.0, §14.7, §14.8). */
#include "files.h"
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>

static void says(int code, int class, const char *file, const char *cause)
{
    char said[MPI_MAX_ERROR_STRING];
    int length;
    MPI_Error_string(code, said, &length);
    if (class_of(code) != class || !strstr(said, file) || !strstr(said, cause)) {
        fprintf(stderr, "class %d, not %d, of %s, for %s: %s\n", class_of(code), class, file, cause, said);
        MPI_Abort(MPI_COMM_WORLD, 99);
    }
}

/* A device that is always full. */
static void full_disk(void)
{
    static char bytes[100000];
    MPI_File file;
    MPI_Request request;
    MPI_Status status;
    WELL(MPI_File_open(MPI_COMM_WORLD, "/dev/full", MPI_MODE_WRONLY, MPI_INFO_NULL, &file));
    says(MPI_File_write_at(file, 4096, bytes, 10, MPI_BYTE, &status), MPI_ERR_NO_SPACE, "/dev/full: at byte 4096",
         "No space left on device");
    says(MPI_File_write_at_all(file, 10 * rank, bytes, 10, MPI_BYTE, &status), MPI_ERR_NO_SPACE, "/dev/full",
         "cannot be written");
    WELL(MPI_File_iwrite_at(file, 0, bytes, 10, MPI_BYTE, &request));
    says(MPI_Wait(&request, &status), MPI_ERR_NO_SPACE, "/dev/full: at byte 0", "No space left on device");
    CHECK(request == MPI_REQUEST_NULL);
    WELL(MPI_File_iwrite_at_all(file, 10 * rank, bytes, 10, MPI_BYTE, &request));
    says(MPI_Wait(&request, &status), MPI_ERR_NO_SPACE, "/dev/full", "No space left on device");
    WELL(MPI_File_write_at_all_begin(file, 10 * rank, bytes, 10, MPI_BYTE));
    says(MPI_File_write_at_all_end(file, bytes, &status), MPI_ERR_NO_SPACE, "/dev/full", "No space left on device");
    /* Interleaved, by two phases: all are told what went wrong at one. */
    MPI_Datatype vector;
    MPI_Type_vector(1000, 4, 4 * size, MPI_BYTE, &vector);
    MPI_Type_commit(&vector);
    WELL(MPI_File_set_view(file, 4 * rank, MPI_BYTE, vector, "native", MPI_INFO_NULL));
    says(MPI_File_write_all(file, bytes, 4000, MPI_BYTE, &status), MPI_ERR_NO_SPACE, "/dev/full", "No space left on device");
    MPI_Type_free(&vector);
    WELL(MPI_File_close(&file));
}

/* A limit of the process. */
static void limit(void)
{
    struct rlimit before, less;
    MPI_File file = open_new(MPI_COMM_WORLD, MPI_INFO_NULL);
    char bytes[100] = "text";
    signal(SIGXFSZ, SIG_IGN);
    getrlimit(RLIMIT_FSIZE, &before);
    less = before;
    less.rlim_cur = 1 << 20;
    setrlimit(RLIMIT_FSIZE, &less);
    MPI_Barrier(MPI_COMM_WORLD);
    says(MPI_File_write_at(file, (1 << 20) - 50 + 0 * rank, bytes, 100, MPI_BYTE, MPI_STATUS_IGNORE), MPI_ERR_IO, file_name,
         "at byte 1048576: cannot be written: File too large");
    says(MPI_File_set_size(file, 1 << 21), MPI_ERR_IO, file_name, "File too large");
    setrlimit(RLIMIT_FSIZE, &before);
    MPI_Barrier(MPI_COMM_WORLD);
    WELL(MPI_File_set_size(file, 1 << 21));
    WELL(MPI_File_write_at(file, 1 << 20, bytes, 100, MPI_BYTE, MPI_STATUS_IGNORE));
    WELL(MPI_File_close(&file));
}

/* Another truncates the file: there is less to be read, and no more than that is said. */
static void truncated(void)
{
    enum { WIDE = 1000 };
    int numbers[WIDE], got[WIDE + 1];
    MPI_Status status;
    MPI_Datatype vector;
    MPI_File file = open_new(MPI_COMM_WORLD, MPI_INFO_NULL);
    for (int i = 0; i < WIDE; i++)
        numbers[i] = i;
    MPI_Type_vector(WIDE, 1, size, MPI_INT, &vector);
    MPI_Type_commit(&vector);
    WELL(MPI_File_set_view(file, 4 * rank, MPI_INT, vector, "native", MPI_INFO_NULL));
    WELL(MPI_File_write_all(file, numbers, WIDE, MPI_INT, &status));
    meet(file, MPI_COMM_WORLD);
    if (rank == 0)
        CHECK(truncate(file_name, 4 * size * 10) == 0);
    MPI_Barrier(MPI_COMM_WORLD);
    for (int way = 0; way < 3; way++) {
        MPI_Request request;
        memset(got, -1, sizeof got);
        if (way == 0)
            WELL(MPI_File_read_at(file, 0, got, WIDE, MPI_INT, &status));
        else if (way == 1)
            WELL(MPI_File_read_at_all(file, 0, got, WIDE, MPI_INT, &status));
        else {
            WELL(MPI_File_iread_at_all(file, 0, got, WIDE, MPI_INT, &request));
            WELL(MPI_Wait(&request, &status));
        }
        check_count(&status, MPI_INT, 10);
        for (int i = 0; i <= WIDE; i++)
            CHECK_INT(got[i], i < 10 ? i : -1);
    }
    MPI_Type_free(&vector);
    WELL(MPI_File_close(&file));
}

/* What the owner of a file does not allow; root may do all that. */
static void forbidden(void)
{
    MPI_File file;
    char byte = 'x';
    if (rank == 0) {
        write_plainly(file_name, "abc", 3);
        CHECK(chmod(file_name, 0444) == 0);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (geteuid() != 0)
        says(MPI_File_open(MPI_COMM_WORLD, file_name, MPI_MODE_RDWR, MPI_INFO_NULL, &file), MPI_ERR_ACCESS, file_name,
             "Permission denied");
    WELL(MPI_File_open(MPI_COMM_WORLD, file_name, MPI_MODE_RDONLY | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL, &file));
    says(MPI_File_write_at(file, 0, &byte, 1, MPI_BYTE, MPI_STATUS_IGNORE), MPI_ERR_READ_ONLY, file_name, "MPI_MODE_RDONLY");
    says(MPI_File_write_at_all(file, 0, &byte, 1, MPI_BYTE, MPI_STATUS_IGNORE), MPI_ERR_READ_ONLY, file_name, "MPI_MODE_RDONLY");
    says(MPI_File_set_size(file, 1), MPI_ERR_READ_ONLY, file_name, "MPI_MODE_RDONLY");
    WELL(MPI_File_read_at_all(file, 1, &byte, 1, MPI_BYTE, MPI_STATUS_IGNORE));
    CHECK_INT(byte, 'b');
    WELL(MPI_File_close(&file));
}

/* One member cannot open what the others can. */
static void refused_to_one(void)
{
    MPI_File file;
    if (size == 1)
        return;
    const char *name = rank == size - 1 ? "/absent/file" : file_name;
    if (rank == 0)
        write_plainly(file_name, "abc", 3);
    MPI_Barrier(MPI_COMM_WORLD);
    says(MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_RDWR, MPI_INFO_NULL, &file), MPI_ERR_NO_SUCH_FILE, name,
         "No such file or directory");
    CHECK(file == MPI_FILE_NULL);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0)
        WELL(MPI_File_delete(file_name, MPI_INFO_NULL));
}

/* Names are bytes: those that are no UTF-8 are names, too, and two that differ are two files. In front of one may
 * stand what ROMIO calls a type of file system. */
static void names(void)
{
    char first[320], second[320], typed[340];
    snprintf(first, sizeof first, "%s.nu_\xff", file_name);
    snprintf(second, sizeof second, "%s.nu_\xfe", file_name);
    snprintf(typed, sizeof typed, "ufs:%s", first);
    MPI_File file;
    char text[8] = "", byte = '1';
    for (int i = 0; i < 2; i++, byte++) {
        WELL(MPI_File_open(MPI_COMM_WORLD, i ? second : first, MPI_MODE_RDWR | MPI_MODE_CREATE, MPI_INFO_NULL, &file));
        WELL(MPI_File_write_at_all(file, 0, &byte, 1, MPI_BYTE, MPI_STATUS_IGNORE));
        WELL(MPI_File_close(&file));
    }
    if (rank == 0) {
        CHECK(access(first, R_OK) == 0 && access(second, R_OK) == 0);
        WELL(MPI_File_delete(second, MPI_INFO_NULL));
        CHECK(access(second, R_OK) != 0);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    WELL(MPI_File_open(MPI_COMM_WORLD, typed, MPI_MODE_RDONLY | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL, &file));
    WELL(MPI_File_read_at_all(file, 0, text, 1, MPI_BYTE, MPI_STATUS_IGNORE));
    CHECK_INT(text[0], '1');
    WELL(MPI_File_close(&file));
    CHECK(access(first, R_OK) != 0);
    says(MPI_File_delete(first, MPI_INFO_NULL), MPI_ERR_NO_SUCH_FILE, file_name, "No such file or directory");
}

/* Who closes descriptors that it does not know is told. */
static void closed_by_the_program(void)
{
    int before = dup(0), after;
    close(before);
    MPI_File file = open_new(MPI_COMM_SELF, MPI_INFO_NULL);
    char byte = 'x', linked[64], name[512];
    for (after = before; after < before + 20; after++) {
        ssize_t length;
        snprintf(linked, sizeof linked, "/proc/self/fd/%d", after);
        if ((length = readlink(linked, name, sizeof name - 1)) > 0) {
            name[length] = 0;
            if (strstr(name, "file_errors"))
                break;
        }
    }
    CHECK(after < before + 20);
    close(after);
    says(MPI_File_write_at(file, 0, &byte, 1, MPI_BYTE, MPI_STATUS_IGNORE), MPI_ERR_IO, file_name, "Bad file descriptor");
    says(MPI_File_close(&file), MPI_ERR_IO, file_name, "cannot be closed: Bad file descriptor");
    CHECK(file == MPI_FILE_NULL);
    MPI_Barrier(MPI_COMM_WORLD);
}

/* Members call what does not fit: the file can be closed all the same, and the job goes on. */
static void closed_after_a_mismatch(void)
{
    if (size == 1)
        return;
    char bytes[8] = "";
    MPI_File file = open_new(MPI_COMM_WORLD, MPI_INFO_NULL);
    int code = rank == 0 ? MPI_File_set_size(file, 10) : MPI_File_sync(file);
    CHECK_INT(class_of(code), MPI_ERR_OTHER);
    CHECK_INT(class_of(MPI_File_write_at_all(file, 0, bytes, 1, MPI_BYTE, MPI_STATUS_IGNORE)), MPI_ERR_OTHER);
    WELL(MPI_File_close(&file));
    CHECK(file == MPI_FILE_NULL);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0)
        MPI_File_delete(file_name, MPI_INFO_NULL);
    MPI_Barrier(MPI_COMM_WORLD);
}

/* What has no offsets is read and written in order. */
static void pipes(void)
{
    MPI_File file;
    char bytes[6] = "";
    const char *name = name_of("pipe");
    if (rank == 0)
        CHECK(mkfifo(name, 0600) == 0);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) {
        WELL(MPI_File_open(MPI_COMM_SELF, name, MPI_MODE_WRONLY | MPI_MODE_SEQUENTIAL, MPI_INFO_NULL, &file));
        WELL(MPI_File_write_shared(file, "one", 3, MPI_BYTE, MPI_STATUS_IGNORE));
        WELL(MPI_File_write_shared(file, "two", 3, MPI_BYTE, MPI_STATUS_IGNORE));
        MPI_File again;
        WELL(MPI_File_open(MPI_COMM_SELF, name, MPI_MODE_RDONLY | MPI_MODE_SEQUENTIAL, MPI_INFO_NULL, &again));
        WELL(MPI_File_read_shared(again, bytes, 2, MPI_BYTE, MPI_STATUS_IGNORE));
        WELL(MPI_File_read_shared(again, bytes + 2, 4, MPI_BYTE, MPI_STATUS_IGNORE));
        CHECK(memcmp(bytes, "onetwo", 6) == 0);
        WELL(MPI_File_close(&again));
        WELL(MPI_File_close(&file));
        unlink(name);
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

int main(int argc, char **argv)
{
    start_files(&argc, &argv);
    names();
    closed_by_the_program();
    closed_after_a_mismatch();
    pipes();
    full_disk();
    limit();
    truncated();
    forbidden();
    refused_to_one();
    return MPI_Finalize();
}
