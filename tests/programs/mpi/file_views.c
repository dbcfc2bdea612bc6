/* Views of files: displacements, etypes, filetypes of every constructor, positions and the end of the file in
 * them, files in sequence and at their end, data representations (MPI-5.0, §14.3, §14.4.3, §14.5). */
#include "files.h"

static void see(MPI_File file, MPI_Offset disp, MPI_Datatype etype, MPI_Datatype filetype, const char *form)
{
    WELL(MPI_File_set_view(file, disp, etype, filetype, form, MPI_INFO_NULL));
}

/* What is answered is what was set. */
static void asked(void)
{
    MPI_File file = open_new(MPI_COMM_WORLD, MPI_INFO_NULL);
    MPI_Datatype etype, filetype, vector;
    MPI_Offset disp, position;
    char form[MPI_MAX_DATAREP_STRING];
    int integers, addresses, types, combiner;
    WELL(MPI_File_get_view(file, &disp, &etype, &filetype, form));
    CHECK(disp == 0 && etype == MPI_BYTE && filetype == MPI_BYTE && strcmp(form, "native") == 0);
    MPI_Type_vector(3, 2, 5, MPI_INT, &vector);
    MPI_Type_commit(&vector);
    see(file, 12, MPI_INT, vector, "native");
    MPI_Type_free(&vector);
    WELL(MPI_File_get_view(file, &disp, &etype, &filetype, form));
    CHECK(disp == 12 && etype == MPI_INT && strcmp(form, "native") == 0);
    if (is_held("contents")) {
        int arguments[3];
        MPI_Type_get_envelope(filetype, &integers, &addresses, &types, &combiner);
        CHECK_INT(combiner, MPI_COMBINER_VECTOR);
        MPI_Type_get_contents(filetype, 3, 0, 1, arguments, NULL, &etype);
        CHECK(arguments[0] == 3 && arguments[1] == 2 && arguments[2] == 5);
    }
    MPI_Type_free(&filetype);
    /* Two ints, a hole of three, and so on; the next one begins where the last block ends. */
    static const int places[] = {0, 1, 5, 6, 10, 11, 12, 13, 17, 18, 22, 23};
    for (int i = 0; i < 12; i++) {
        WELL(MPI_File_get_byte_offset(file, i, &position));
        CHECK_INT(position, 12 + 4 * places[i]);
    }
    WELL(MPI_File_get_byte_offset(file, 6000000001, &position));
    CHECK_INT(position, 12 + 4 * (1000000000 * (MPI_Offset)12 + 1));
    WELL(MPI_File_close(&file));
}

/* Where the end of the file is in a view: the first etype that begins behind it. */
static void ends(void)
{
    MPI_File file = open_new(MPI_COMM_WORLD, MPI_INFO_NULL);
    MPI_Datatype vector;
    MPI_Offset position;
    MPI_Type_vector(2, 2, 5, MPI_INT, &vector);
    MPI_Type_commit(&vector);
    see(file, 8, MPI_INT, vector, "native");
    /* Etypes at 8, 12, 28, 32, 36, 40, 56, 60, 64 ... */
    static const int sizes[] = {0, 8, 9, 12, 13, 20, 28, 29, 33, 40, 41, 60, 61, 1000};
    static const int positions[] = {0, 0, 1, 1, 2, 2, 2, 3, 4, 5, 6, 7, 8, 142};
    for (int i = 0; i < 14; i++) {
        WELL(MPI_File_set_size(file, sizes[i]));
        WELL(MPI_File_seek(file, 0, MPI_SEEK_END));
        WELL(MPI_File_get_position(file, &position));
        CHECK_INT(position, positions[i]);
        WELL(MPI_File_seek_shared(file, 1, MPI_SEEK_END));
        WELL(MPI_File_get_position_shared(file, &position));
        CHECK_INT(position, positions[i] + 1);
        MPI_Barrier(MPI_COMM_WORLD);
    }
    WELL(MPI_File_seek(file, -100, MPI_SEEK_END));
    WELL(MPI_File_seek(file, 3, MPI_SEEK_CUR));
    WELL(MPI_File_get_position(file, &position));
    CHECK_INT(position, 45);
    /* What is read at the end is what is there. */
    WELL(MPI_File_set_size(file, 30));
    int got[8];
    MPI_Status status;
    for (int together = 0; is_held("end") && together < 2; together++) {
        memset(got, -1, sizeof got);
        if (together)
            WELL(MPI_File_read_at_all(file, 1, got, 8, MPI_INT, &status));
        else
            WELL(MPI_File_read_at(file, 1, got, 8, MPI_INT, &status));
        int bytes;
        MPI_Get_count(&status, MPI_BYTE, &bytes);
        CHECK_INT(bytes, 6);
        MPI_Get_count(&status, MPI_INT, &bytes);
        CHECK_INT(bytes, MPI_UNDEFINED);
        CHECK_INT(got[0], 0);
        CHECK_INT(got[2], -1);
    }
    MPI_Type_free(&vector);
    WELL(MPI_File_close(&file));
}

/* A matrix in a file, of which each rank sees a block of columns, by whatever constructor. */
static MPI_Datatype columns(int kind, int rows, int width)
{
    MPI_Datatype vector, type;
    int sizes[] = {rows, width * size}, parts[] = {rows, width}, starts[] = {0, width * rank};
    if (kind == 0) {
        MPI_Type_create_subarray(2, sizes, parts, starts, MPI_ORDER_C, MPI_INT, &type);
    } else if (kind == 1) {
        int spread[] = {MPI_DISTRIBUTE_NONE, MPI_DISTRIBUTE_BLOCK}, arguments[] = {MPI_DISTRIBUTE_DFLT_DARG, width},
            grid[] = {1, size};
        MPI_Type_create_darray(size, rank, 2, sizes, spread, arguments, grid, MPI_ORDER_C, MPI_INT, &type);
    } else {
        int *lengths = malloc(sizeof *lengths * rows);
        MPI_Aint *places = malloc(sizeof *places * rows);
        for (int i = 0; i < rows; i++) {
            lengths[i] = width;
            places[i] = (MPI_Aint)4 * (width * size * i + width * rank);
        }
        MPI_Type_create_hindexed(rows, lengths, places, MPI_INT, &vector);
        MPI_Type_create_resized(vector, 0, (MPI_Aint)4 * width * size * rows, &type);
        MPI_Type_free(&vector);
        free(lengths);
        free(places);
    }
    MPI_Type_commit(&type);
    return type;
}

static void matrices(void)
{
    enum { ROWS = 37, WIDTH = 5 };
    int block[ROWS * WIDTH], line[ROWS * WIDTH];
    MPI_File file = open_new(MPI_COMM_WORLD, MPI_INFO_NULL);
    for (int kind = 0; kind < 3; kind++) {
        MPI_Datatype type = columns(kind, ROWS, WIDTH);
        see(file, 0, MPI_INT, type, "native");
        for (int again = 0; again < 2; again++) {
            for (int i = 0; i < ROWS * WIDTH; i++)
                block[i] = kind * 1000000 + ((again * ROWS + i / WIDTH) * WIDTH * size) + WIDTH * rank + i % WIDTH;
            WELL(MPI_File_write_all(file, block, ROWS * WIDTH, MPI_INT, MPI_STATUS_IGNORE));
        }
        MPI_Type_free(&type);
        /* In the file all is in order. */
        meet(file, MPI_COMM_WORLD);
        see(file, 0, MPI_INT, MPI_INT, "native");
        WELL(MPI_File_read_at(file, ROWS * WIDTH * rank, line, ROWS * WIDTH, MPI_INT, MPI_STATUS_IGNORE));
        for (int i = 0; i < ROWS * WIDTH; i++)
            CHECK_INT(line[i], kind * 1000000 + ROWS * WIDTH * rank + i);
        meet(file, MPI_COMM_WORLD);
    }
    WELL(MPI_File_close(&file));
}

/* A rank may see nothing; of a file that is only read, several may see the same, and bytes twice. */
static void odd_views(void)
{
    MPI_Datatype nothing, twice;
    MPI_Status status;
    int number = rank, got[6];
    MPI_File file = open_new(MPI_COMM_WORLD, MPI_INFO_NULL);
    MPI_Type_contiguous(0, MPI_INT, &nothing);
    MPI_Type_commit(&nothing);
    see(file, 0, MPI_INT, rank % 2 ? nothing : MPI_INT, "native");
    WELL(MPI_File_write_at_all(file, rank, &number, rank % 2 ? 0 : 1, MPI_INT, &status));
    check_count(&status, MPI_INT, rank % 2 ? 0 : 1);
    WELL(MPI_File_close(&file));
    if (rank == 0)
        write_plainly(file_name, (int[]){1, 2, 3, 4, 5, 6}, 24);
    MPI_Barrier(MPI_COMM_WORLD);
    WELL(MPI_File_open(MPI_COMM_WORLD, file_name, MPI_MODE_RDONLY | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL, &file));
    if (is_held("twice")) {
        /* 1 2, 2 3, 3 4 ... */
        MPI_Type_create_hvector(3, 2, 4, MPI_INT, &twice);
        MPI_Type_commit(&twice);
        see(file, 0, MPI_INT, twice, "native");
        MPI_Type_free(&twice);
        WELL(MPI_File_read_all(file, got, 6, MPI_INT, &status));
        for (int i = 0; i < 6; i++)
            CHECK_INT(got[i], 1 + i / 2 + i % 2);
    }
    MPI_Type_free(&nothing);
    WELL(MPI_File_close(&file));
}

static void in_sequence(void)
{
    MPI_File file;
    MPI_Offset disp;
    MPI_Datatype etype, filetype;
    char form[MPI_MAX_DATAREP_STRING];
    int number = rank, got = -1;
    WELL(MPI_File_open(MPI_COMM_WORLD, file_name, MPI_MODE_WRONLY | MPI_MODE_CREATE | MPI_MODE_SEQUENTIAL, MPI_INFO_NULL,
                       &file));
    WELL(MPI_File_write_ordered(file, &number, 1, MPI_INT, MPI_STATUS_IGNORE));
    see(file, MPI_DISPLACEMENT_CURRENT, MPI_INT, MPI_INT, "native");
    WELL(MPI_File_get_view(file, &disp, &etype, &filetype, form));
    CHECK_INT(disp, 4 * size);
    number += 100;
    WELL(MPI_File_write_ordered(file, &number, 1, MPI_INT, MPI_STATUS_IGNORE));
    FAILS(MPI_File_write_at(file, 0, &number, 1, MPI_INT, MPI_STATUS_IGNORE), MPI_ERR_UNSUPPORTED_OPERATION);
    WELL(MPI_File_close(&file));
    /* At the end of what is there. */
    WELL(MPI_File_open(MPI_COMM_WORLD, file_name, MPI_MODE_RDWR | MPI_MODE_APPEND | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL,
                       &file));
    WELL(MPI_File_get_position(file, &disp));
    CHECK_INT(disp, 8 * size);
    WELL(MPI_File_get_position_shared(file, &disp));
    CHECK_INT(disp, 8 * size);
    MPI_Barrier(MPI_COMM_WORLD);
    number += 100;
    WELL(MPI_File_write_ordered(file, &number, 1, MPI_INT, MPI_STATUS_IGNORE));
    meet(file, MPI_COMM_WORLD);
    for (int i = 0; i < 3; i++) {
        WELL(MPI_File_read_at(file, 4 * (i * size + rank), &got, 1, MPI_INT, MPI_STATUS_IGNORE));
        CHECK_INT(got, rank + 100 * i);
    }
    WELL(MPI_File_close(&file));
}

/* external32: big-endian, with sizes of its own. */
static void portable(void)
{
    MPI_File file = open_new(MPI_COMM_WORLD, MPI_INFO_NULL);
    unsigned char bytes[8];
    MPI_Aint extent;
    MPI_Count large;
    MPI_Status status;
    see(file, 0, MPI_INT, MPI_INT, "external32");
    int number = 0x01020304 + rank, got;
    WELL(MPI_File_write_at_all(file, rank, &number, 1, MPI_INT, &status));
    check_count(&status, MPI_INT, 1);
    meet(file, MPI_COMM_WORLD);
    CHECK_INT(read_plainly(file_name, 4 * rank, bytes, 4), 4);
    CHECK(bytes[0] == 1 && bytes[1] == 2 && bytes[2] == 3 && bytes[3] == 4 + rank);
    WELL(MPI_File_read_at_all(file, (rank + 1) % size, &got, 1, MPI_INT, &status));
    CHECK_INT(got, 0x01020304 + (rank + 1) % size);
    if (!is_held("longs")) {
        WELL(MPI_File_close(&file));
        return;
    }
    WELL(MPI_File_get_type_extent(file, MPI_LONG, &extent));
    CHECK_INT(extent, 4);
    WELL(MPI_File_get_type_extent_c(file, MPI_LONG, &large));
    CHECK_INT(large, 4);
    MPI_Datatype pairs;
    MPI_Type_vector(2, 1, 2, MPI_LONG, &pairs);
    MPI_Type_commit(&pairs);
    WELL(MPI_File_get_type_extent(file, pairs, &extent));
    CHECK_INT(extent, 12);
    /* Longs have four bytes there, and so have the holes between them. */
    meet(file, MPI_COMM_WORLD);
    WELL(MPI_File_set_size(file, 0));
    see(file, 12 * rank, MPI_LONG, pairs, "external32");
    long longs[2] = {-5 - rank, 6 + rank}, back[2] = {0, 0};
    WELL(MPI_File_write_all(file, longs, 2, MPI_LONG, &status));
    check_count(&status, MPI_LONG, 2);
    meet(file, MPI_COMM_WORLD);
    CHECK_INT(size_of(file), 12 * size);
    CHECK_INT(read_plainly(file_name, 12 * rank, bytes, 4), 4);
    CHECK(bytes[0] == 255 && bytes[3] == 256 - 5 - rank);
    WELL(MPI_File_read_at(file, 0, back, 2, MPI_LONG, &status));
    check_count(&status, MPI_LONG, 2);
    CHECK(back[0] == longs[0] && back[1] == longs[1]);
    /* The file ends within what is asked: of the last rank. */
    WELL(MPI_File_read_at(file, 2 * (size - rank) - 1, back, 2, MPI_LONG, &status));
    check_count(&status, MPI_LONG, 1);
    MPI_Type_free(&pairs);
    WELL(MPI_File_close(&file));
}

/* A representation of the program: each int as twice as many bytes, the second half its complement. */
static int state;

static int extent_of(MPI_Datatype datatype, MPI_Aint *extent, void *extra)
{
    MPI_Aint lb;
    CHECK(extra == &state);
    MPI_Type_get_extent(datatype, &lb, extent);
    *extent *= 2;
    return MPI_SUCCESS;
}

static int convert(int writes, int *user, MPI_Datatype datatype, MPI_Count count, int *file, MPI_Offset position, void *extra)
{
    CHECK(extra == &state && datatype == MPI_INT);
    user += position;
    for (MPI_Count i = 0; i < count; i++)
        if (writes)
            file[2 * i] = user[i], file[2 * i + 1] = ~user[i];
        else if (file[2 * i + 1] == ~file[2 * i])
            user[i] = file[2 * i];
        else
            return MPI_ERR_CONVERSION;
    return MPI_SUCCESS;
}

static int read_small(void *user, MPI_Datatype datatype, int count, void *file, MPI_Offset position, void *extra)
{
    return convert(0, user, datatype, count, file, position, extra);
}

static int write_small(void *user, MPI_Datatype datatype, int count, void *file, MPI_Offset position, void *extra)
{
    return convert(1, user, datatype, count, file, position, extra);
}

static int read_large(void *user, MPI_Datatype datatype, MPI_Count count, void *file, MPI_Offset position, void *extra)
{
    return convert(0, user, datatype, count, file, position, extra);
}

static int write_large(void *user, MPI_Datatype datatype, MPI_Count count, void *file, MPI_Offset position, void *extra)
{
    return convert(1, user, datatype, count, file, position, extra);
}

static void of_the_program(void)
{
    static const char *const names[] = {"doubled", "doubled, large"};
    WELL(MPI_Register_datarep(names[0], read_small, write_small, extent_of, &state));
    WELL(MPI_Register_datarep_c(names[1], read_large, write_large, extent_of, &state));
    FAILS(MPI_Register_datarep(names[0], read_small, write_small, extent_of, &state), MPI_ERR_DUP_DATAREP);
    WELL(MPI_Register_datarep("plain", MPI_CONVERSION_FN_NULL, MPI_CONVERSION_FN_NULL, extent_of, &state));
    for (int i = 0; i < 2; i++) {
        MPI_File file = open_new(MPI_COMM_WORLD, MPI_INFO_NULL);
        int numbers[5], got[5], there[10];
        MPI_Aint extent;
        MPI_Request request;
        MPI_Status status;
        for (int j = 0; j < 5; j++)
            numbers[j] = rank * 10 + j;
        see(file, 0, MPI_INT, MPI_INT, names[i]);
        WELL(MPI_File_get_type_extent(file, MPI_INT, &extent));
        CHECK_INT(extent, 8);
        WELL(MPI_File_write_at_all(file, 5 * rank, numbers, 5, MPI_INT, &status));
        check_count(&status, MPI_INT, 5);
        meet(file, MPI_COMM_WORLD);
        CHECK_INT(size_of(file), 40 * size);
        CHECK_INT(read_plainly(file_name, 40 * rank, there, 40), 40);
        for (int j = 0; j < 5; j++)
            CHECK(there[2 * j] == numbers[j] && there[2 * j + 1] == ~numbers[j]);
        WELL(MPI_File_iread_at(file, 5 * rank, got, 5, MPI_INT, &request));
        WELL(MPI_Wait(&request, &status));
        check_count(&status, MPI_INT, 5);
        CHECK(memcmp(got, numbers, sizeof got) == 0);
        /* What is not of this representation its function refuses. */
        meet(file, MPI_COMM_WORLD);
        see(file, 0, MPI_INT, MPI_INT, "native");
        WELL(MPI_File_write_at(file, 10 * rank + 1, &numbers[0], 1, MPI_INT, MPI_STATUS_IGNORE));
        see(file, 0, MPI_INT, MPI_INT, names[i]);
        FAILS(MPI_File_read_at_all(file, 5 * rank, got, 5, MPI_INT, &status), MPI_ERR_CONVERSION);
        WELL(MPI_File_close(&file));
    }
    MPI_File file = open_new(MPI_COMM_WORLD, MPI_INFO_NULL);
    int number = rank, got = -1;
    see(file, 0, MPI_INT, MPI_INT, "plain");
    WELL(MPI_File_write_at_all(file, rank, &number, 1, MPI_INT, MPI_STATUS_IGNORE));
    WELL(MPI_File_read_at_all(file, rank, &got, 1, MPI_INT, MPI_STATUS_IGNORE));
    CHECK_INT(got, rank);
    CHECK_INT(size_of(file), 4 * size);
    WELL(MPI_File_close(&file));
}

/* Members have to say the same of what is common to them. */
static void disagreements(void)
{
    MPI_File file = open_new(MPI_COMM_WORLD, MPI_INFO_NULL);
    if (size > 1) {
        FAILS(MPI_File_set_view(file, 0, rank ? MPI_INT : MPI_DOUBLE, rank ? MPI_INT : MPI_DOUBLE, "native", MPI_INFO_NULL),
              MPI_ERR_NOT_SAME);
        FAILS(MPI_File_set_view(file, 0, MPI_INT, MPI_INT, rank ? "native" : "external32", MPI_INFO_NULL), MPI_ERR_NOT_SAME);
        FAILS(MPI_File_seek_shared(file, rank, MPI_SEEK_SET), MPI_ERR_NOT_SAME);
        FAILS(MPI_File_seek_shared(file, 0, rank ? MPI_SEEK_SET : MPI_SEEK_END), MPI_ERR_NOT_SAME);
    }
    WELL(MPI_File_close(&file));
}

int main(int argc, char **argv)
{
    start_files(&argc, &argv);
    asked();
    ends();
    matrices();
    odd_views();
    if (is_held("sequence"))
        in_sequence();
    portable();
    if (is_held("representations"))
        of_the_program();
    if (is_held("disagreements"))
        disagreements();
    return MPI_Finalize();
}
