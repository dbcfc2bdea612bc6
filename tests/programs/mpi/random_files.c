/* Random accesses to a file, whose results every rank computes by itself.
 *
 *     random_files FIRST [LAST] [--list]
 *
 * Each seed opens a file with random hints on all ranks or some, and makes 3 to 8 steps: a random view, and
 * accesses of it that read or write, of single ranks, of all together, in two halves, with requests, at
 * offsets, at pointers, at the shared pointer, in any representation. After each step the whole file and
 * every byte of every buffer are compared with a plain array, and so are pointers and statuses. What differs
 * is told with the seed; --list shows what a seed does. For 1 to 8 ranks; of more, 8 take part. */
#include "random_views.h"
#include <unistd.h>

enum { AT, OWN, SHARED };
enum { ALONE, TOGETHER, IN_ORDER };
enum { BLOCKING, REQUEST, SPLIT };
static const char *const position_names[] = {"at offsets", "at pointers", "at the shared pointer"};
static const char *const who_names[] = {"each rank alone", "all together", "one after the other"};
static const char *const form_names[] = {"blocking", "with requests", "in two halves"};

static uint64_t seed;
static int lists, step, me, ranks;
static MPI_Comm comm;
static MPI_File file;
static char name[200];
static byte model[MOST_BYTES];
static long model_bytes;

static void differs(const char *what, long at, int got, int expected)
{
    fprintf(stderr, "random_files: seed %llu, %d ranks, step %d, rank %d: %s %ld is %d, not %d\n",
            (unsigned long long)seed, ranks, step, me, what, at, got, expected);
    fprintf(stderr, "random_files: again with %d ranks: random_files %llu --list\n", size,
            (unsigned long long)seed);
    fflush(stderr);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

static void expect(const char *what, long long got, long long expected)
{
    if (got != expected)
        differs(what, 0, (int)got, (int)expected);
}

static void well(const char *what, int code)
{
    char text[MPI_MAX_ERROR_STRING];
    int length;
    if (code == MPI_SUCCESS)
        return;
    MPI_Error_string(code, text, &length);
    fprintf(stderr, "random_files: seed %llu, %d ranks, step %d, rank %d: %s fails: %s\n",
            (unsigned long long)seed, ranks, step, me, what, text);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

/* A step: what all ranks do. */
struct plan {
    uint64_t key;
    int etype, writes, position, who, form, external, atomic, own_decks;
    long offset[MOST_RANKS], etypes[MOST_RANKS];
    struct deck deck[MOST_RANKS];
    int owner[MOST_RANKS];
};

static void set_hint(MPI_Info info, const char *key, int value)
{
    char text[20];
    snprintf(text, sizeof text, "%d", value);
    MPI_Info_set(info, key, text);
}

static MPI_Info draw_hints(uint64_t *random)
{
    static const char *const choices[] = {"automatic", "enable", "disable"};
    MPI_Info info;
    MPI_Info_create(&info);
    if (below(random, 2))
        set_hint(info, "cb_nodes", 1 + below(random, ranks));
    if (below(random, 4))
        set_hint(info, "cb_buffer_size", 1 << (4 + below(random, 12)));
    if (below(random, 2))
        set_hint(info, "striping_unit", 1 << below(random, 10));
    if (below(random, 2))
        set_hint(info, "ind_rd_buffer_size", 1 + below(random, 3000));
    if (below(random, 2))
        set_hint(info, "ind_wr_buffer_size", 1 + below(random, 3000));
    MPI_Info_set(info, "romio_cb_read", choices[below(random, 3)]);
    MPI_Info_set(info, "romio_cb_write", choices[below(random, 3)]);
    MPI_Info_set(info, "romio_ds_read", choices[below(random, 3)]);
    MPI_Info_set(info, "romio_ds_write", choices[below(random, 3)]);
    return info;
}

static void draw_plan(struct plan *plan, int number)
{
    uint64_t random = plan->key = key_of(seed, (uint64_t)number, 0, 1);
    plan->etype = below(&random, ETYPES);
    plan->writes = number == 0 || below(&random, 2);
    plan->position = below(&random, 3);
    plan->who = plan->position == SHARED ? TOGETHER + below(&random, 2) : below(&random, 2);
    plan->form = below(&random, plan->who == TOGETHER && plan->position == SHARED ? 2 : 3);
    /* There is no call with a request at the shared pointer for all together. */
    if (plan->who == TOGETHER && plan->position == SHARED && plan->form == REQUEST)
        plan->form = SPLIT;
    if (plan->who != TOGETHER && plan->form == SPLIT)
        plan->form = REQUEST;
    plan->external = below(&random, 4) == 0;
    plan->atomic = below(&random, 5) == 0;
    /* What is read may be seen by several ranks, and in different ways. */
    plan->own_decks = !plan->writes && plan->position != SHARED && below(&random, 2);
    int large = below(&random, 3) == 0;
    for (int i = 0; i < ranks; i++) {
        uint64_t key = key_of(plan->key, plan->own_decks ? (uint64_t)i : 0, 0, 2);
        draw_deck(&plan->deck[i], key, plan->etype, ranks);
        plan->owner[i] = plan->position == SHARED ? -1 : i;
        long seen = seen_etypes(&plan->deck[i], plan->owner[i]);
        plan->offset[i] = below(&random, 3) ? below(&random, large ? 300 : 30) : 0;
        plan->etypes[i] = below(&random, large ? MOST_ETYPES : 40);
        if (seen == 0 || below(&random, 8) == 0)
            plan->etypes[i] = 0;
        if (plan->position == SHARED)
            plan->offset[i] = plan->offset[0];
    }
}

static void list_plan(const struct plan *plan, int number)
{
    printf("  step %d: %s %s%s, %s, %s, %s%s\n", number, plan->writes ? "writes" : "reads",
           etype_names[plan->etype], plan->external ? " in external32" : "", who_names[plan->who],
           position_names[plan->position], form_names[plan->form], plan->atomic ? ", atomic" : "");
    for (int i = 0; i < ranks; i++)
        printf("    rank %d: %ld from %ld on, of a view from byte %ld on\n", i, plan->etypes[i], plan->offset[i],
               plan->deck[i].disp);
}

/* A byte that a rank writes. */
static byte written(const struct plan *plan, int of, long at)
{
    return (byte)mixed(plan->key ^ ((uint64_t)of << 40) ^ (uint64_t)at);
}

/* Where byte `at` of a rank's elements is in the file. */
static long file_place(const struct plan *plan, int of, long from, long at)
{
    int whole = etype_bytes[plan->etype], basic = basic_bytes[plan->etype];
    long place = place_of(&plan->deck[of], plan->owner[of], from + at / whole), within = at % whole;
    if (plan->external)
        within = within / basic * basic + (basic - 1 - within % basic);
    return place + within;
}

static void put_in_model(const struct plan *plan, int of, long from)
{
    for (long i = 0; i < plan->etypes[of] * etype_bytes[plan->etype]; i++) {
        long at = file_place(plan, of, from, i);
        CHECK(at < MOST_BYTES);
        model[at] = written(plan, of, i);
        if (at >= model_bytes)
            model_bytes = at + 1;
    }
}

/* How many bytes a rank reads before the file ends: whole basic elements, where they are converted. */
static long readable(const struct plan *plan, int of, long from)
{
    int whole = etype_bytes[plan->etype], basic = basic_bytes[plan->etype];
    for (long i = 0; i < plan->etypes[of] * whole; i++) {
        long at = place_of(&plan->deck[of], plan->owner[of], from + i / whole) + i % whole;
        if (at >= model_bytes)
            return plan->external ? i / basic * basic : i;
    }
    return plan->etypes[of] * whole;
}

typedef struct {
    byte *buffer, *expected;
    struct elements elements;
    MPI_Datatype datatype;
    int count;
    long from, bytes;
} memory;

/* What a rank has in memory before and after. */
static memory make_memory(const struct plan *plan, long from)
{
    uint64_t random = key_of(plan->key, (uint64_t)me, 0, 3);
    memory of = {.elements = draw_elements(&random, plan->etype, plan->etypes[me]), .from = from};
    long all = plan->etypes[me] * etype_bytes[plan->etype];
    of.datatype = make_datatype(&of.elements, &of.count);
    of.buffer = malloc(of.elements.bytes);
    of.expected = malloc(of.elements.bytes);
    for (size_t i = 0; i < of.elements.bytes; i++)
        of.buffer[i] = of.expected[i] = (byte)(i * 7 + 1);
    of.bytes = plan->writes ? all : readable(plan, me, from);
    for (long i = 0; i < of.bytes; i++) {
        byte *to = plan->writes ? of.buffer : of.expected;
        to[memory_place(&of.elements, i)] =
            plan->writes ? written(plan, me, i) : model[file_place(plan, me, from, i)];
    }
    if (plan->writes)
        memcpy(of.expected, of.buffer, of.elements.bytes);
    return of;
}

static void check_memory(memory *of, MPI_Status *status)
{
    MPI_Count bytes;
    MPI_Get_elements_x(status, MPI_BYTE, &bytes);
    expect("the number of bytes", bytes, of->bytes);
    for (size_t i = 0; i < of->elements.bytes; i++)
        if (of->buffer[i] != of->expected[i])
            differs("byte of the buffer", (long)i, of->buffer[i], of->expected[i]);
    free(of->buffer);
    free(of->expected);
    MPI_Type_free(&of->datatype);
}

/* The call of a plan. */
static int make_call(const struct plan *plan, memory *of, MPI_Status *status)
{
    void *b = of->buffer + PAD;
    int n = of->count, w = plan->writes, code;
    MPI_Datatype t = of->datatype;
    MPI_Offset at = of->from;
    MPI_Request request = MPI_REQUEST_NULL;
    int all = plan->who == TOGETHER;
    if (plan->position == AT && plan->form == BLOCKING)
        return all ? w ? MPI_File_write_at_all(file, at, b, n, t, status)
                       : MPI_File_read_at_all(file, at, b, n, t, status)
               : w ? MPI_File_write_at(file, at, b, n, t, status)
                   : MPI_File_read_at(file, at, b, n, t, status);
    if (plan->position == OWN && plan->form == BLOCKING)
        return all ? w ? MPI_File_write_all(file, b, n, t, status) : MPI_File_read_all(file, b, n, t, status)
               : w ? MPI_File_write(file, b, n, t, status)
                   : MPI_File_read(file, b, n, t, status);
    if (plan->position == SHARED && plan->form == BLOCKING)
        return all ? w ? MPI_File_write_ordered(file, b, n, t, status)
                       : MPI_File_read_ordered(file, b, n, t, status)
               : w ? MPI_File_write_shared(file, b, n, t, status)
                   : MPI_File_read_shared(file, b, n, t, status);
    if (plan->form == REQUEST) {
        code = plan->position == AT
                   ? all ? w ? MPI_File_iwrite_at_all(file, at, b, n, t, &request)
                             : MPI_File_iread_at_all(file, at, b, n, t, &request)
                     : w ? MPI_File_iwrite_at(file, at, b, n, t, &request)
                         : MPI_File_iread_at(file, at, b, n, t, &request)
               : plan->position == OWN
                   ? all ? w ? MPI_File_iwrite_all(file, b, n, t, &request)
                             : MPI_File_iread_all(file, b, n, t, &request)
                     : w ? MPI_File_iwrite(file, b, n, t, &request)
                         : MPI_File_iread(file, b, n, t, &request)
               : w ? MPI_File_iwrite_shared(file, b, n, t, &request)
                   : MPI_File_iread_shared(file, b, n, t, &request);
        return code ? code : MPI_Wait(&request, status);
    }
    if (plan->position == AT) {
        code = w ? MPI_File_write_at_all_begin(file, at, b, n, t) : MPI_File_read_at_all_begin(file, at, b, n, t);
        return code ? code : w ? MPI_File_write_at_all_end(file, b, status) : MPI_File_read_at_all_end(file, b, status);
    }
    if (plan->position == OWN) {
        code = w ? MPI_File_write_all_begin(file, b, n, t) : MPI_File_read_all_begin(file, b, n, t);
        return code ? code : w ? MPI_File_write_all_end(file, b, status) : MPI_File_read_all_end(file, b, status);
    }
    code = w ? MPI_File_write_ordered_begin(file, b, n, t) : MPI_File_read_ordered_begin(file, b, n, t);
    return code ? code : w ? MPI_File_write_ordered_end(file, b, status) : MPI_File_read_ordered_end(file, b, status);
}

/* What is in the file, byte for byte. */
static void compare_file(void)
{
    static byte there[MOST_BYTES];
    MPI_Offset bytes;
    well("MPI_File_sync", MPI_File_sync(file));
    MPI_Barrier(comm);
    well("MPI_File_get_size", MPI_File_get_size(file, &bytes));
    expect("the size of the file", bytes, model_bytes);
    if (me == 0) {
        FILE *plain = fopen(name, "rb");
        CHECK(plain);
        expect("what a plain read finds", (long long)fread(there, 1, MOST_BYTES, plain), model_bytes);
        fclose(plain);
        for (long i = 0; i < model_bytes; i++)
            if (there[i] != model[i])
                differs("byte of the file", i, there[i], model[i]);
    }
    MPI_Barrier(comm);
}

static void run_step(const struct plan *plan)
{
    const struct deck *deck = &plan->deck[me];
    MPI_Datatype filetype = make_filetype(deck, plan->owner[me]);
    MPI_Status status;
    well("MPI_File_set_view",
         MPI_File_set_view(file, deck->disp, make_etype(plan->etype), filetype,
                           plan->external ? "external32" : seed % 2 ? "native" : "internal", MPI_INFO_NULL));
    MPI_Type_free(&filetype);
    well("MPI_File_set_atomicity", MPI_File_set_atomicity(file, plan->atomic));
    long from = plan->offset[me], before = 0, all = 0;
    for (int i = 0; i < ranks; i++) {
        before += i < me ? plan->etypes[i] : 0;
        all += plan->etypes[i];
    }
    if (plan->position == OWN)
        well("MPI_File_seek", MPI_File_seek(file, from, MPI_SEEK_SET));
    if (plan->position == SHARED) {
        well("MPI_File_seek_shared", MPI_File_seek_shared(file, from, MPI_SEEK_SET));
        from += before;
    }
    memory of = make_memory(plan, from);
    for (int turn = 0; turn < (plan->who == IN_ORDER ? ranks : 1); turn++) {
        if (plan->who != IN_ORDER || turn == me)
            well("an access", make_call(plan, &of, &status));
        if (plan->who == IN_ORDER)
            MPI_Barrier(comm);
    }
    check_memory(&of, &status);
    MPI_Offset position;
    if (plan->position == OWN) {
        well("MPI_File_get_position", MPI_File_get_position(file, &position));
        expect("the pointer", position, from + plan->etypes[me]);
    }
    if (plan->position == SHARED) {
        MPI_Barrier(comm);
        well("MPI_File_get_position_shared", MPI_File_get_position_shared(file, &position));
        expect("the shared pointer", position, plan->offset[0] + all);
    }
    if (plan->etypes[me]) {
        well("MPI_File_get_byte_offset", MPI_File_get_byte_offset(file, from, &position));
        expect("the byte offset", position, place_of(deck, plan->owner[me], from));
    }
    for (int i = 0, at = 0; plan->writes && i < ranks; at += (int)plan->etypes[i++])
        put_in_model(plan, i, plan->position == SHARED ? plan->offset[0] + at : plan->offset[i]);
    compare_file();
}

static void run_seed(void)
{
    static struct plan plan;
    uint64_t random = key_of(seed, 0, 0, 0);
    int members = size > MOST_RANKS ? MOST_RANKS : size, steps = 3 + below(&random, 6);
    if (below(&random, 4) == 0)
        members = 1 + below(&random, members);
    int backwards = below(&random, 3) == 0;
    MPI_Comm_split(MPI_COMM_WORLD, rank < members ? 0 : MPI_UNDEFINED, backwards ? -rank : rank, &comm);
    if (comm == MPI_COMM_NULL)
        return;
    MPI_Comm_rank(comm, &me);
    MPI_Comm_size(comm, &ranks);
    MPI_Info info = draw_hints(&random);
    step = -1;
    well("MPI_File_open", MPI_File_open(comm, name, MPI_MODE_RDWR | MPI_MODE_CREATE | MPI_MODE_DELETE_ON_CLOSE,
                                        info, &file));
    MPI_Info_free(&info);
    memset(model, 0, (size_t)model_bytes);
    model_bytes = 0;
    well("MPI_File_set_size", MPI_File_set_size(file, 0));
    if (lists && me == 0)
        printf("seed %llu: %d ranks\n", (unsigned long long)seed, ranks);
    for (step = 0; step < steps; step++) {
        draw_plan(&plan, step);
        if (lists && me == 0)
            list_plan(&plan, step);
        fflush(stdout);
        run_step(&plan);
    }
    well("MPI_File_close", MPI_File_close(&file));
    MPI_Comm_free(&comm);
}

int main(int argc, char **argv)
{
    start(&argc, &argv);
    if (argc > 1 && strcmp(argv[argc - 1], "--list") == 0)
        lists = 1, argc--;
    uint64_t first = argc > 1 ? strtoull(argv[1], NULL, 10) : 1,
             last = argc > 2 ? strtoull(argv[2], NULL, 10) : first;
    if (rank == 0)
        snprintf(name, sizeof name, "%s/random_files.%ld", getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp",
                 (long)getpid());
    MPI_Bcast(name, sizeof name, MPI_CHAR, 0, MPI_COMM_WORLD);
    for (seed = first; seed <= last; seed++)
        run_seed();
    free_etypes();
    return MPI_Finalize();
}
