/* Every call that reads or writes files, with every size: contiguous and scattered in the file and in memory,
 * with int and with large counts; what is read is what was written, and statuses and pointers say so
 * (MPI-5.0, §14.4).
 *
 *     file_data [few | large] */
#include "files.h"

enum { AT, OWN, SHARED, ORDERED };
enum { BLOCKING, REQUEST, SPLIT, LARGE_COUNT, LARGE_REQUEST, LARGE_SPLIT, FORMS };
static const char *const forms[] = {"blocking", "request", "split", "large", "large request", "large split"};
static const char *const positions[] = {"at an offset", "at the pointer", "at the shared pointer", "in order"};

struct call {
    int position, together, form, writes;
};

/* There is no such call. */
static int is_missing(const struct call *call)
{
    int kind = call->form % 3;
    return (kind == SPLIT && !call->together) || (kind == REQUEST && call->position == ORDERED) ||
           (call->position == SHARED && call->together) || (call->position == ORDERED && !call->together);
}

#define FOR_DIRECTION(w, r) (call->writes ? (w) : (r))

static void make(const struct call *call, MPI_File file, MPI_Offset at, void *b, int n, MPI_Datatype t, MPI_Status *s)
{
    MPI_Request q = MPI_REQUEST_NULL;
    int all = call->together;
    switch (call->form * 4 + call->position) {
    case BLOCKING * 4 + AT:
        WELL(all ? FOR_DIRECTION(MPI_File_write_at_all(file, at, b, n, t, s), MPI_File_read_at_all(file, at, b, n, t, s))
                 : FOR_DIRECTION(MPI_File_write_at(file, at, b, n, t, s), MPI_File_read_at(file, at, b, n, t, s)));
        break;
    case BLOCKING * 4 + OWN:
        WELL(all ? FOR_DIRECTION(MPI_File_write_all(file, b, n, t, s), MPI_File_read_all(file, b, n, t, s))
                 : FOR_DIRECTION(MPI_File_write(file, b, n, t, s), MPI_File_read(file, b, n, t, s)));
        break;
    case BLOCKING * 4 + SHARED:
        WELL(FOR_DIRECTION(MPI_File_write_shared(file, b, n, t, s), MPI_File_read_shared(file, b, n, t, s)));
        break;
    case BLOCKING * 4 + ORDERED:
        WELL(FOR_DIRECTION(MPI_File_write_ordered(file, b, n, t, s), MPI_File_read_ordered(file, b, n, t, s)));
        break;
    case REQUEST * 4 + AT:
        WELL(all ? FOR_DIRECTION(MPI_File_iwrite_at_all(file, at, b, n, t, &q), MPI_File_iread_at_all(file, at, b, n, t, &q))
                 : FOR_DIRECTION(MPI_File_iwrite_at(file, at, b, n, t, &q), MPI_File_iread_at(file, at, b, n, t, &q)));
        break;
    case REQUEST * 4 + OWN:
        WELL(all ? FOR_DIRECTION(MPI_File_iwrite_all(file, b, n, t, &q), MPI_File_iread_all(file, b, n, t, &q))
                 : FOR_DIRECTION(MPI_File_iwrite(file, b, n, t, &q), MPI_File_iread(file, b, n, t, &q)));
        break;
    case REQUEST * 4 + SHARED:
        WELL(FOR_DIRECTION(MPI_File_iwrite_shared(file, b, n, t, &q), MPI_File_iread_shared(file, b, n, t, &q)));
        break;
    case SPLIT * 4 + AT:
        WELL(FOR_DIRECTION(MPI_File_write_at_all_begin(file, at, b, n, t), MPI_File_read_at_all_begin(file, at, b, n, t)));
        WELL(FOR_DIRECTION(MPI_File_write_at_all_end(file, b, s), MPI_File_read_at_all_end(file, b, s)));
        break;
    case SPLIT * 4 + OWN:
        WELL(FOR_DIRECTION(MPI_File_write_all_begin(file, b, n, t), MPI_File_read_all_begin(file, b, n, t)));
        WELL(FOR_DIRECTION(MPI_File_write_all_end(file, b, s), MPI_File_read_all_end(file, b, s)));
        break;
    case SPLIT * 4 + ORDERED:
        WELL(FOR_DIRECTION(MPI_File_write_ordered_begin(file, b, n, t), MPI_File_read_ordered_begin(file, b, n, t)));
        WELL(FOR_DIRECTION(MPI_File_write_ordered_end(file, b, s), MPI_File_read_ordered_end(file, b, s)));
        break;
    case LARGE_COUNT * 4 + AT:
        WELL(all ? FOR_DIRECTION(MPI_File_write_at_all_c(file, at, b, n, t, s), MPI_File_read_at_all_c(file, at, b, n, t, s))
                 : FOR_DIRECTION(MPI_File_write_at_c(file, at, b, n, t, s), MPI_File_read_at_c(file, at, b, n, t, s)));
        break;
    case LARGE_COUNT * 4 + OWN:
        WELL(all ? FOR_DIRECTION(MPI_File_write_all_c(file, b, n, t, s), MPI_File_read_all_c(file, b, n, t, s))
                 : FOR_DIRECTION(MPI_File_write_c(file, b, n, t, s), MPI_File_read_c(file, b, n, t, s)));
        break;
    case LARGE_COUNT * 4 + SHARED:
        WELL(FOR_DIRECTION(MPI_File_write_shared_c(file, b, n, t, s), MPI_File_read_shared_c(file, b, n, t, s)));
        break;
    case LARGE_COUNT * 4 + ORDERED:
        WELL(FOR_DIRECTION(MPI_File_write_ordered_c(file, b, n, t, s), MPI_File_read_ordered_c(file, b, n, t, s)));
        break;
    case LARGE_REQUEST * 4 + AT:
        WELL(all ? FOR_DIRECTION(MPI_File_iwrite_at_all_c(file, at, b, n, t, &q), MPI_File_iread_at_all_c(file, at, b, n, t, &q))
                 : FOR_DIRECTION(MPI_File_iwrite_at_c(file, at, b, n, t, &q), MPI_File_iread_at_c(file, at, b, n, t, &q)));
        break;
    case LARGE_REQUEST * 4 + OWN:
        WELL(all ? FOR_DIRECTION(MPI_File_iwrite_all_c(file, b, n, t, &q), MPI_File_iread_all_c(file, b, n, t, &q))
                 : FOR_DIRECTION(MPI_File_iwrite_c(file, b, n, t, &q), MPI_File_iread_c(file, b, n, t, &q)));
        break;
    case LARGE_REQUEST * 4 + SHARED:
        WELL(FOR_DIRECTION(MPI_File_iwrite_shared_c(file, b, n, t, &q), MPI_File_iread_shared_c(file, b, n, t, &q)));
        break;
    case LARGE_SPLIT * 4 + AT:
        WELL(FOR_DIRECTION(MPI_File_write_at_all_begin_c(file, at, b, n, t), MPI_File_read_at_all_begin_c(file, at, b, n, t)));
        WELL(FOR_DIRECTION(MPI_File_write_at_all_end(file, b, s), MPI_File_read_at_all_end(file, b, s)));
        break;
    case LARGE_SPLIT * 4 + OWN:
        WELL(FOR_DIRECTION(MPI_File_write_all_begin_c(file, b, n, t), MPI_File_read_all_begin_c(file, b, n, t)));
        WELL(FOR_DIRECTION(MPI_File_write_all_end(file, b, s), MPI_File_read_all_end(file, b, s)));
        break;
    case LARGE_SPLIT * 4 + ORDERED:
        WELL(FOR_DIRECTION(MPI_File_write_ordered_begin_c(file, b, n, t), MPI_File_read_ordered_begin_c(file, b, n, t)));
        WELL(FOR_DIRECTION(MPI_File_write_ordered_end(file, b, s), MPI_File_read_ordered_end(file, b, s)));
        break;
    }
    if (q != MPI_REQUEST_NULL)
        WELL(MPI_Wait(&q, s));
}

/* Elements of each kind of file view and memory: so many, of four bytes. */
struct shape {
    int in_file, in_memory; /* Elements together, with as many between them; 0 for all. */
};

static MPI_Datatype scattered(int together, int elements, int all)
{
    MPI_Datatype vector, type;
    if (!together)
        MPI_Type_contiguous(elements, MPI_INT, &type);
    else {
        MPI_Type_vector((elements + together - 1) / together, together, together * all, MPI_INT, &vector);
        MPI_Type_create_resized(vector, 0, (MPI_Aint)4 * ((elements + together - 1) / together) * together * all, &type);
        MPI_Type_free(&vector);
    }
    MPI_Type_commit(&type);
    return type;
}

static void run(MPI_File file, const struct call *call, struct shape shape, int elements, int salt)
{
    int in_view = call->position >= SHARED ? 0 : shape.in_file;
    if (shape.in_memory)
        elements = elements / shape.in_memory * shape.in_memory;
    MPI_Datatype filetype = in_view && elements ? scattered(in_view, elements, size) : MPI_INT;
    MPI_Datatype memtype = elements ? scattered(shape.in_memory, elements, 2) : MPI_INT;
    MPI_Offset disp = in_view ? (MPI_Offset)4 * in_view * rank : 0, first = in_view ? 0 : (MPI_Offset)rank * elements;
    if (in_view && !elements)
        disp = 0;
    WELL(MPI_File_set_view(file, disp, MPI_INT, filetype, "native", MPI_INFO_NULL));
    size_t spread = (size_t)elements * (shape.in_memory ? 2 : 1) + 4;
    int *buffer = malloc(spread * sizeof *buffer), count = elements ? 1 : 0;
    MPI_Offset before = 0, after;
    MPI_Status status;
    for (int writes = 1; writes >= 0; writes--) {
        struct call now = *call;
        now.writes = writes;
        for (size_t i = 0; i < spread; i++)
            buffer[i] = -1;
        for (int i = 0; writes && i < elements; i++)
            buffer[shape.in_memory ? i / shape.in_memory * 2 * shape.in_memory + i % shape.in_memory : i] =
                salt + rank * elements + i;
        if (call->position == OWN)
            WELL(MPI_File_seek(file, first, MPI_SEEK_SET));
        if (call->position >= SHARED)
            WELL(MPI_File_seek_shared(file, 0, MPI_SEEK_SET));
        before = first;
        for (int turn = 0; turn < (call->position == SHARED ? size : 1); turn++) {
            if (call->position != SHARED || turn == rank)
                make(&now, file, first, buffer, count, memtype, &status);
            if (call->position == SHARED)
                MPI_Barrier(MPI_COMM_WORLD);
        }
        check_count(&status, MPI_INT, elements);
        if (count)
            check_count(&status, memtype, 1);
        if (call->position == OWN) {
            WELL(MPI_File_get_position(file, &after));
            CHECK_INT(after, before + elements);
        }
        if (call->position >= SHARED) {
            MPI_Barrier(MPI_COMM_WORLD);
            WELL(MPI_File_get_position_shared(file, &after));
            CHECK_INT(after, (MPI_Offset)size * elements);
        }
        for (int i = 0; i < elements; i++) {
            int at = shape.in_memory ? i / shape.in_memory * 2 * shape.in_memory + i % shape.in_memory : i;
            if (buffer[at] != salt + rank * elements + i) {
                fprintf(stderr, "%s %s%s: element %d of %d is %d, not %d\n", positions[call->position],
                        call->together ? "together, " : "", forms[call->form], i, elements, buffer[at],
                        salt + rank * elements + i);
                MPI_Abort(MPI_COMM_WORLD, 99);
            }
            if (shape.in_memory)
                CHECK_INT(buffer[at + shape.in_memory], -1);
        }
        for (size_t i = spread - 4; i < spread; i++)
            CHECK_INT(buffer[i], -1);
        /* What others have written is there before anybody reads. */
        meet(file, MPI_COMM_WORLD);
    }
    free(buffer);
    if (elements)
        MPI_Type_free(&memtype);
    if (filetype != MPI_INT)
        MPI_Type_free(&filetype);
}

static void all_calls(MPI_Info info, const int *lengths, int count)
{
    static const struct shape shapes[] = {{0, 0}, {4, 0}, {0, 2}, {3, 5}};
    MPI_File file = open_new(MPI_COMM_WORLD, info);
    int salt = 1;
    for (int position = AT; position <= ORDERED; position++)
        for (int together = 0; together < 2; together++)
            for (int form = 0; form < FORMS; form++) {
                struct call call = {position, together, form, 0};
                if (is_missing(&call))
                    continue;
                for (int i = 0; i < count; i++)
                    for (int shape = 0; shape < 4; shape++)
                        run(file, &call, shapes[shape], lengths[i], salt++ * 1000);
            }
    WELL(MPI_File_close(&file));
}

/* Sizes around every buffer, which are small here. */
static void thresholds(int few)
{
    static const int lengths[] = {0, 1, 15, 16, 17, 1023, 1024, 1025, 5000};
    static const char *const sizes[][2] = {{"64", "1"}, {"4096", "2"}, {"100", "99"}};
    if (few) {
        all_calls(MPI_INFO_NULL, (int[]){0, 17, 1025}, 3);
        return;
    }
    all_calls(MPI_INFO_NULL, lengths, 9);
    for (int i = 0; i < 3; i++) {
        MPI_Info info;
        MPI_Info_create(&info);
        MPI_Info_set(info, "cb_buffer_size", sizes[i][0]);
        MPI_Info_set(info, "cb_nodes", sizes[i][1]);
        MPI_Info_set(info, "ind_rd_buffer_size", sizes[i][0]);
        MPI_Info_set(info, "ind_wr_buffer_size", sizes[i][0]);
        MPI_Info_set(info, "romio_cb_write", "enable");
        MPI_Info_set(info, "romio_cb_read", "enable");
        all_calls(info, lengths + 2, 5);
        MPI_Info_free(&info);
    }
}

/* More than any buffer, in few calls. */
static void large(int elements)
{
    MPI_File file = open_new(MPI_COMM_WORLD, MPI_INFO_NULL);
    struct call call = {AT, 1, BLOCKING, 0};
    run(file, &call, (struct shape){4, 0}, elements, 7);
    call.form = REQUEST;
    run(file, &call, (struct shape){1 << 14, 0}, elements, 8);
    call.together = 0;
    run(file, &call, (struct shape){0, 1 << 12}, elements, 9);
    WELL(MPI_File_close(&file));
}

/* Requests of many accesses, completed in another order. */
static void many_requests(void)
{
    enum { MANY = 40 };
    MPI_File file = open_new(MPI_COMM_WORLD, MPI_INFO_NULL);
    int given[MANY][100], taken[MANY][100];
    MPI_Request requests[MANY];
    MPI_Status statuses[MANY];
    for (int i = 0; i < MANY; i++) {
        for (int j = 0; j < 100; j++)
            given[i][j] = rank * MANY * 100 + i * 100 + j;
        WELL(MPI_File_iwrite_at(file, (MPI_Offset)400 * (rank * MANY + i), given[i], 100, MPI_INT, &requests[MANY - 1 - i]));
    }
    WELL(MPI_Waitall(MANY, requests, statuses));
    for (int i = 0; i < MANY; i++)
        check_count(&statuses[i], MPI_INT, 100);
    meet(file, MPI_COMM_WORLD);
    int from = (rank + 1) % size;
    for (int i = 0; i < MANY; i++)
        WELL(MPI_File_iread_at(file, (MPI_Offset)400 * (from * MANY + i), taken[i], 100, MPI_INT, &requests[i]));
    for (int done = 0, index, flag; done < MANY; done += flag && index != MPI_UNDEFINED)
        WELL(MPI_Testany(MANY, requests, &index, &flag, statuses));
    for (int i = 0; i < MANY; i++)
        for (int j = 0; j < 100; j++)
            CHECK_INT(taken[i][j], from * MANY * 100 + i * 100 + j);
    WELL(MPI_File_close(&file));
}

/* Blocks so far apart that what lies between them is not read: batches of them, up to the end of the file. */
static void far_apart(void)
{
    static const int counts[] = {1, 3, 4, 63, 64, 65, 500};
    for (int i = 0; i < 7; i++) {
        enum { WIDE = 3, FAR = 5003 };
        int blocks = counts[i], given[500 * WIDE], taken[500 * WIDE + 1];
        MPI_File file = open_new(MPI_COMM_WORLD, MPI_INFO_NULL);
        MPI_Datatype far, items;
        MPI_Status status;
        for (int j = 0; j < blocks * WIDE; j++)
            given[j] = rank * 10000 + j;
        MPI_Type_vector(blocks, WIDE, FAR, MPI_INT, &far);
        MPI_Type_commit(&far);
        MPI_Type_vector(blocks * WIDE, 1, 1, MPI_INT, &items);
        MPI_Type_commit(&items);
        WELL(MPI_File_set_view(file, 4 * WIDE * rank, MPI_INT, far, "native", MPI_INFO_NULL));
        WELL(MPI_File_write_at(file, 0, given, blocks * WIDE, MPI_INT, &status));
        check_count(&status, MPI_INT, blocks * WIDE);
        meet(file, MPI_COMM_WORLD);
        CHECK_INT(size_of(file), 4 * ((MPI_Offset)FAR * (blocks - 1) + WIDE * size));
        for (int ends = 0; ends < 2; ends++) {
            int there = blocks * WIDE - (ends ? (blocks - blocks / 2) * WIDE - 1 : 0);
            memset(taken, -1, sizeof taken);
            WELL(MPI_File_read_at(file, 0, taken, 1, items, &status));
            check_count(&status, MPI_INT, there);
            CHECK(memcmp(given, taken, (size_t)there * sizeof *given) == 0);
            for (int j = there; j <= blocks * WIDE; j++)
                CHECK_INT(taken[j], -1);
            /* The file ends within a block of the last rank, and before those of others there. */
            meet(file, MPI_COMM_WORLD);
            if (!ends && size == 1)
                WELL(MPI_File_set_size(file, 4 * ((MPI_Offset)FAR * (blocks / 2) + 1)));
            if (size > 1)
                break;
        }
        MPI_Type_free(&far);
        MPI_Type_free(&items);
        WELL(MPI_File_close(&file));
    }
}

/* Members may make one collective access at offsets and at their pointers: libraries have the one where there is
 * something to access, and the other where there is nothing. */
static void offsets_beside_pointers(void)
{
    for (int form = BLOCKING; form <= SPLIT; form++)
        for (int nothing = 0; nothing <= 1; nothing++) {
            MPI_File file = open_new(MPI_COMM_WORLD, MPI_INFO_NULL);
            int at_pointer = rank % 2, count = at_pointer && nothing ? 0 : 3, done, numbers[3], there[3] = {-1, -1, -1};
            struct call call = {at_pointer ? OWN : AT, 1, form, 1};
            MPI_Status status;
            for (int i = 0; i < 3; i++)
                numbers[i] = 100 * rank + i;
            /* Every third number is this member's: their blocks lie between each other's. */
            MPI_Datatype third;
            WELL(MPI_Type_create_resized(MPI_INT, 0, size * (MPI_Aint)sizeof(int), &third));
            WELL(MPI_Type_commit(&third));
            WELL(MPI_File_set_view(file, rank * (MPI_Offset)sizeof(int), MPI_INT, third, "native", MPI_INFO_NULL));
            make(&call, file, 0, numbers, count, MPI_INT, &status);
            WELL(MPI_Get_count(&status, MPI_INT, &done));
            CHECK_INT(done, count);
            WELL(MPI_File_sync(file));
            MPI_Barrier(MPI_COMM_WORLD);
            WELL(MPI_File_sync(file));
            WELL(MPI_File_seek(file, 0, MPI_SEEK_SET));
            call.writes = 0;
            make(&call, file, 0, there, count, MPI_INT, &status);
            WELL(MPI_Get_count(&status, MPI_INT, &done));
            CHECK_INT(done, count);
            for (int i = 0; i < count; i++)
                CHECK_INT(there[i], numbers[i]);
            MPI_Type_free(&third);
            WELL(MPI_File_close(&file));
        }
}

/* A request may be freed: what it is of is done all the same. */
static void freed_request(void)
{
    MPI_File file = open_new(MPI_COMM_WORLD, MPI_INFO_NULL);
    MPI_Request request;
    int number = 1000 + rank, there = 0;
    WELL(MPI_File_iwrite_at(file, 4 * rank, &number, 1, MPI_INT, &request));
    WELL(MPI_Request_free(&request));
    CHECK(request == MPI_REQUEST_NULL);
    while (there != number)
        WELL(MPI_File_read_at(file, 4 * rank, &there, 1, MPI_INT, MPI_STATUS_IGNORE));
    WELL(MPI_File_close(&file));
}

int main(int argc, char **argv)
{
    start_files(&argc, &argv);
    /* `few`: fewer sizes, where each call takes long; `large`: more than any buffer holds. */
    if (argc > 1 && strcmp(argv[1], "large") == 0) {
        large(1 << 26);
        return MPI_Finalize();
    }
    thresholds(argc > 1 && strcmp(argv[1], "few") == 0);
    large(1 << 21);
    many_requests();
    freed_request();
    offsets_beside_pointers();
    far_apart();
    return MPI_Finalize();
}
