/* Files as objects: opened, asked, resized, closed, deleted; access modes, hints, error handlers, integers
 * (MPI-5.0, §14.2, §14.6.1, §14.7, §20.3). */
#include "files.h"
#include <sys/stat.h>

static int heard;
static MPI_File heard_of;

static void hear(MPI_File *file, int *code, ...)
{
    (void)code;
    heard++;
    heard_of = *file;
}

static void modes(void)
{
    MPI_File file;
    int amode;
    static const int ways[] = {MPI_MODE_RDWR, MPI_MODE_WRONLY, MPI_MODE_RDONLY};
    FAILS(MPI_File_open(MPI_COMM_WORLD, file_name, MPI_MODE_RDONLY, MPI_INFO_NULL, &file), MPI_ERR_NO_SUCH_FILE);
    CHECK(file == MPI_FILE_NULL);
    WELL(MPI_File_open(MPI_COMM_WORLD, file_name, MPI_MODE_WRONLY | MPI_MODE_CREATE | MPI_MODE_EXCL, MPI_INFO_NULL,
                       &file));
    WELL(MPI_File_close(&file));
    CHECK(file == MPI_FILE_NULL);
    if (is_held("modes"))
        FAILS(MPI_File_open(MPI_COMM_WORLD, file_name, MPI_MODE_RDWR | MPI_MODE_CREATE | MPI_MODE_EXCL, MPI_INFO_NULL, &file),
          MPI_ERR_FILE_EXISTS);
    for (int i = 0; i < 3; i++) {
        WELL(MPI_File_open(MPI_COMM_WORLD, file_name, ways[i] | MPI_MODE_UNIQUE_OPEN, MPI_INFO_NULL, &file));
        WELL(MPI_File_get_amode(file, &amode));
        CHECK_INT(amode, ways[i] | MPI_MODE_UNIQUE_OPEN);
        WELL(MPI_File_close(&file));
    }
    /* All have to say the same. */
    if (size > 1 && is_held("modes")) {
        int own = rank == 0 ? MPI_MODE_RDWR : MPI_MODE_RDONLY;
        FAILS(MPI_File_open(MPI_COMM_WORLD, file_name, own, MPI_INFO_NULL, &file), MPI_ERR_NOT_SAME);
        CHECK(file == MPI_FILE_NULL);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    /* Each process may open it by itself. */
    WELL(MPI_File_open(MPI_COMM_SELF, file_name, MPI_MODE_RDONLY, MPI_INFO_NULL, &file));
    WELL(MPI_File_close(&file));
    MPI_Barrier(MPI_COMM_WORLD);
    WELL(MPI_File_open(MPI_COMM_WORLD, file_name, MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL, &file));
    WELL(MPI_File_close(&file));
    CHECK(access(file_name, F_OK) != 0);
    if (rank == 0) {
        write_plainly(name_of("doomed"), "x", 1);
        WELL(MPI_File_delete(name_of("doomed"), MPI_INFO_NULL));
        CHECK(access(name_of("doomed"), F_OK) != 0);
        FAILS(MPI_File_delete(name_of("doomed"), MPI_INFO_NULL), MPI_ERR_NO_SUCH_FILE);
    }
}

static void sizes(void)
{
    MPI_File file = open_new(MPI_COMM_WORLD, MPI_INFO_NULL);
    CHECK_INT(size_of(file), 0);
    WELL(MPI_File_set_size(file, 12345));
    CHECK_INT(size_of(file), 12345);
    WELL(MPI_File_preallocate(file, 1000));
    CHECK_INT(size_of(file), 12345);
    WELL(MPI_File_preallocate(file, 70000));
    CHECK_INT(size_of(file), 70000);
    WELL(MPI_File_set_size(file, 10));
    CHECK_INT(size_of(file), 10);
    /* More than 4 GB, of which there is nothing. */
    WELL(MPI_File_set_size(file, (MPI_Offset)5 << 30));
    CHECK_INT(size_of(file), (MPI_Offset)5 << 30);
    int last = 77, there = 0;
    MPI_Barrier(MPI_COMM_WORLD);
    WELL(MPI_File_write_at(file, ((MPI_Offset)5 << 30) + 4 * rank, &last, 1, MPI_INT, MPI_STATUS_IGNORE));
    meet(file, MPI_COMM_WORLD);
    CHECK_INT(size_of(file), ((MPI_Offset)5 << 30) + 4 * size);
    WELL(MPI_File_read_at(file, ((MPI_Offset)5 << 30) + 4 * ((rank + 1) % size), &there, 1, MPI_INT, MPI_STATUS_IGNORE));
    CHECK_INT(there, 77);
    if (size > 1)
        FAILS(MPI_File_set_size(file, rank), MPI_ERR_NOT_SAME);
    WELL(MPI_File_close(&file));
}

static void groups(void)
{
    MPI_Group world, group;
    MPI_Comm backwards;
    int result, atomic;
    MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &backwards);
    MPI_File file = open_new(backwards, MPI_INFO_NULL);
    MPI_Comm_group(backwards, &world);
    MPI_Comm_free(&backwards);
    WELL(MPI_File_get_group(file, &group));
    MPI_Group_compare(world, group, &result);
    CHECK_INT(result, MPI_IDENT);
    MPI_Group_free(&world);
    MPI_Group_free(&group);
    WELL(MPI_File_get_atomicity(file, &atomic));
    CHECK_INT(atomic, 0);
    WELL(MPI_File_set_atomicity(file, 7));
    WELL(MPI_File_get_atomicity(file, &atomic));
    CHECK(atomic);
    if (size > 1)
        FAILS(MPI_File_set_atomicity(file, rank == 0), MPI_ERR_NOT_SAME);
    WELL(MPI_File_close(&file));
}

static void expect_hint(MPI_File file, const char *key, const char *expected)
{
    MPI_Info info;
    char value[300];
    int room = sizeof value, found;
    WELL(MPI_File_get_info(file, &info));
    MPI_Info_get_string(info, key, &room, value, &found);
    MPI_Info_free(&info);
    CHECK(found);
    if (strcmp(value, expected)) {
        fprintf(stderr, "hint %s is %s, not %s\n", key, value, expected);
        MPI_Abort(MPI_COMM_WORLD, 99);
    }
}

static void hints(void)
{
    MPI_Info info;
    MPI_Info_create(&info);
    MPI_Info_set(info, "cb_nodes", "1");
    MPI_Info_set(info, "cb_buffer_size", "100000");
    MPI_Info_set(info, "unheard_of", "1");
    MPI_File file = open_new(MPI_COMM_WORLD, info);
    expect_hint(file, "cb_nodes", "1");
    expect_hint(file, "cb_buffer_size", "100000");
    if (is_held("hints")) {
        expect_hint(file, "filename", file_name);
        MPI_Info_set(info, "cb_buffer_size", "200000");
        MPI_Info_set(info, "cb_nodes", "none");
        MPI_Info_set(info, "collective_buffering", "false");
        MPI_Info_set(info, "striping_unit", "4096");
        MPI_Info_set(info, "access_style", "read_once, sequential");
        WELL(MPI_File_set_info(file, info));
        expect_hint(file, "cb_nodes", "1");
        expect_hint(file, "cb_buffer_size", "200000");
        expect_hint(file, "collective_buffering", "false");
        expect_hint(file, "striping_unit", "4096");
        expect_hint(file, "access_style", "read_once, sequential");
        MPI_Info_set(info, "cb_buffer_size", "300000");
        WELL(MPI_File_set_view(file, 0, MPI_BYTE, MPI_BYTE, "native", info));
        expect_hint(file, "cb_buffer_size", "300000");
    }
    MPI_Info_free(&info);
    WELL(MPI_File_close(&file));
    if (is_held("hints")) {
        struct stat about;
        MPI_Info_create(&info);
        MPI_Info_set(info, "file_perm", "600");
        file = open_new(MPI_COMM_WORLD, info);
        MPI_Info_free(&info);
        CHECK(stat(file_name, &about) == 0);
        CHECK_INT(about.st_mode & 0777, 0600);
        WELL(MPI_File_close(&file));
    }
}

static void handlers(void)
{
    MPI_Errhandler of_files, got;
    MPI_File_get_errhandler(MPI_FILE_NULL, &got);
    CHECK(got == MPI_ERRORS_RETURN);
    MPI_File file = open_new(MPI_COMM_WORLD, MPI_INFO_NULL);
    MPI_File_get_errhandler(file, &got);
    CHECK(got == MPI_ERRORS_RETURN);
    MPI_File_create_errhandler(hear, &of_files);
    WELL(MPI_File_set_errhandler(file, of_files));
    MPI_File_get_errhandler(file, &got);
    CHECK(got == of_files);
    MPI_Errhandler_free(&got);
    FAILS(MPI_File_seek(file, -1, MPI_SEEK_SET), MPI_ERR_ARG);
    CHECK(heard == 1 && heard_of == file);
    MPI_File_call_errhandler(file, MPI_ERR_IO);
    CHECK(heard == 2 && heard_of == file);
    MPI_File nothing;
    FAILS(MPI_File_open(MPI_COMM_SELF, "/absent/file", MPI_MODE_RDONLY, MPI_INFO_NULL, &nothing), MPI_ERR_NO_SUCH_FILE);
    CHECK_INT(heard, 2);
    /* Files that are opened later have the handler of MPI_FILE_NULL. */
    MPI_File_set_errhandler(MPI_FILE_NULL, of_files);
    FAILS(MPI_File_open(MPI_COMM_SELF, "/absent/file", MPI_MODE_RDONLY, MPI_INFO_NULL, &nothing), MPI_ERR_NO_SUCH_FILE);
    CHECK(heard == 3 && heard_of == MPI_FILE_NULL);
    MPI_File second;
    WELL(MPI_File_open(MPI_COMM_SELF, file_name, MPI_MODE_RDONLY, MPI_INFO_NULL, &second));
    MPI_File_set_errhandler(MPI_FILE_NULL, MPI_ERRORS_RETURN);
    FAILS(MPI_File_seek(second, -1, MPI_SEEK_SET), MPI_ERR_ARG);
    CHECK(heard == 4 && heard_of == second);
    MPI_Errhandler_free(&of_files);
    WELL(MPI_File_close(&second));
    WELL(MPI_File_close(&file));
}

static void integers(void)
{
    MPI_File file = open_new(MPI_COMM_WORLD, MPI_INFO_NULL);
    CHECK(MPI_File_f2c(MPI_File_c2f(file)) == file);
    CHECK(MPI_File_f2c(MPI_File_c2f(MPI_FILE_NULL)) == MPI_FILE_NULL);
    CHECK(MPI_File_c2f(file) != MPI_File_c2f(MPI_FILE_NULL));
#if MPI_VERSION >= 5
    CHECK(MPI_File_fromint(MPI_File_toint(file)) == file);
    CHECK(MPI_File_fromint(MPI_File_toint(MPI_FILE_NULL)) == MPI_FILE_NULL);
#endif
    WELL(MPI_File_close(&file));
}

/* As often as a program likes. */
static void often(void)
{
    for (int i = 0; i < 500; i++) {
        MPI_File file = open_new(MPI_COMM_WORLD, MPI_INFO_NULL);
        WELL(MPI_File_close(&file));
    }
}

int main(int argc, char **argv)
{
    start_files(&argc, &argv);
    modes();
    sizes();
    groups();
    hints();
    if (is_held("handlers"))
        handlers();
    integers();
    often();
    return MPI_Finalize();
}
