/* Collective calls of intercommunicators in which one rank differs: inter_mismatches FORM HANDLER [CALL WHAT]. Every rank of both groups is told by the call that
 * completes what it has called, or by its next one; then what can still be done is done. Each case has an intercommunicator of its own. */
#include "check.h"

enum { MOST = 8 * 3000 };
static int sent[MOST], received[MOST];
static int low, in_low, others, group_rank, group_size, form;

static int run(int error, MPI_Request *q)
{
    if (error || form == 'b')
        return error;
    if (form == 'i')
        return MPI_Wait(q, MPI_STATUS_IGNORE);
    /* Who only gives may be ahead of the others. */
    while (!error && !(error = MPI_Start(q)))
        error = MPI_Wait(q, MPI_STATUS_IGNORE);
    MPI_Request_free(q);
    return error;
}

#define FORMS(blocking, immediate, persistent) run(form == 'b' ? (blocking) : form == 'i' ? (immediate) : (persistent), &q)
#define ROOTED 1
#define COMBINES 2
#define SIZED 4
#define MAKES 8

static const struct {
    const char *name;
    int is;
} calls[] = {{"barrier", 0}, {"bcast", ROOTED | SIZED}, {"gather", ROOTED | SIZED}, {"scatter", ROOTED | SIZED},
             {"gatherv", ROOTED}, {"scatterv", ROOTED}, {"reduce", ROOTED | SIZED | COMBINES}, {"allreduce", SIZED | COMBINES},
             {"reduce_scatter_block", SIZED | COMBINES}, {"allgather", SIZED}, {"alltoall", SIZED}, {"alltoallv", 0}, {"alltoallw", 0},
             {"dup", MAKES}, {"split", MAKES}, {"create", MAKES}, {"merge", MAKES}, {"idup", MAKES}};

static const struct {
    const char *name;
    int of;
} differences[] = {{"call", 0}, {"side", ROOTED}, {"root", ROOTED}, {"no_root", ROOTED}, {"two_roots", ROOTED}, {"longer", SIZED},
                   {"none", SIZED}, {"type", SIZED}, {"operation", COMBINES}};

static int is(const char *what, const char *name) { return !strcmp(what, name); }

static int made(const char *call, MPI_Comm comm)
{
    MPI_Comm new = MPI_COMM_NULL;
    MPI_Group group;
    MPI_Request q;
    int error = MPI_SUCCESS;
    if (is(call, "dup"))
        error = MPI_Comm_dup(comm, &new);
    if (is(call, "idup") && !(error = MPI_Comm_idup(comm, &new, &q)))
        error = MPI_Wait(&q, MPI_STATUS_IGNORE);
    if (is(call, "split"))
        error = MPI_Comm_split(comm, group_rank % 2, 0, &new);
    if (is(call, "merge"))
        error = MPI_Intercomm_merge(comm, in_low, &new);
    if (is(call, "create")) {
        MPI_Comm_group(comm, &group);
        error = MPI_Comm_create(comm, group, &new);
        MPI_Group_free(&group);
    }
    return error;
}

/* The root argument of this rank; rank 0 of the lower group is the root. `odd` says what this rank has wrong. */
static int root_of(const char *odd)
{
    if (is(odd, "side"))
        return in_low ? 0 : MPI_PROC_NULL;
    if (!in_low)
        return is(odd, "root");
    return (group_rank == 0 && !is(odd, "no_root")) || is(odd, "two_roots") ? MPI_ROOT : MPI_PROC_NULL;
}

static int call_it(const char *call, const char *odd, int n, MPI_Comm comm)
{
    MPI_Request q = MPI_REQUEST_NULL;
    MPI_Info none = MPI_INFO_NULL;
    MPI_Datatype type = is(odd, "type") ? MPI_FLOAT : MPI_INT, types[8];
    MPI_Op op = is(odd, "operation") ? MPI_MAX : MPI_SUM;
    int root = root_of(odd), counts[8], places[8], bytes[8];
    if (is(odd, "call"))
        call = is(call, "barrier") ? "bcast" : "barrier";
    n = is(odd, "none") ? 0 : n + is(odd, "longer");
    for (int i = 0; i < 8; i++) {
        counts[i] = n;
        places[i] = i * 3000;
        bytes[i] = i * 3000 * (int)sizeof(int);
        types[i] = type;
    }
    if (is(call, "barrier"))
        return FORMS(MPI_Barrier(comm), MPI_Ibarrier(comm, &q), MPI_Barrier_init(comm, none, &q));
#define OF(name, Name, ...) \
    if (is(call, #name)) \
        return FORMS(MPI_##Name(__VA_ARGS__, comm), MPI_I##name(__VA_ARGS__, comm, &q), MPI_##Name##_init(__VA_ARGS__, comm, none, &q));
    OF(bcast, Bcast, sent, n, type, root)
    OF(gather, Gather, sent, n, type, received, n, type, root)
    OF(scatter, Scatter, sent, n, type, received, n, type, root)
    OF(gatherv, Gatherv, sent, n, type, received, counts, places, type, root)
    OF(scatterv, Scatterv, sent, counts, places, type, received, n, type, root)
    OF(reduce, Reduce, sent, received, n, type, op, root)
    OF(allreduce, Allreduce, sent, received, n, type, op)
    OF(allgather, Allgather, sent, n, type, received, n, type)
    OF(alltoall, Alltoall, sent, n, type, received, n, type)
    OF(alltoallv, Alltoallv, sent, counts, places, type, received, counts, places, type)
    OF(alltoallw, Alltoallw, sent, counts, bytes, types, received, counts, bytes, types)
    /* The vectors of both groups are as long as each other. */
    n = n * others;
    if (is(call, "reduce_scatter_block"))
        return FORMS(MPI_Reduce_scatter_block(sent, received, n, type, op, comm),
                     MPI_Ireduce_scatter_block(sent, received, n, type, op, comm, &q),
                     MPI_Reduce_scatter_block_init(sent, received, n, type, op, comm, none, &q));
    return made(call, comm);
}

/* Whether this rank is the one that differs. */
static int is_odd(int is_rooted, const char *what, int turn)
{
    int at = group_rank + (in_low ? 0 : low);
    if (is(what, "root"))
        return !in_low && group_rank == turn % group_size;
    if (is(what, "no_root"))
        return in_low && group_rank == 0;
    if (is(what, "two_roots"))
        return in_low && group_rank == 1;
    /* The others of the root's group have nothing to say but that they are. */
    if (is_rooted && !is(what, "call") && !is(what, "side"))
        return at == (turn % (size - low + 1) ? low + turn % (size - low + 1) - 1 : 0);
    return at == turn % size;
}

static int is_possible(int call, int difference, int several_low, int several_high)
{
    const char *what = differences[difference].name;
    if ((differences[difference].of & calls[call].is) != differences[difference].of || (calls[call].is & MAKES && form != 'b'))
        return 0;
    return is(what, "root") || is(what, "two_roots") ? several_low && several_high : 1;
}

static void one_case(const char *call, const char *what, int turn, int is_rooted, MPI_Comm local, MPI_Errhandler handler)
{
    static char report[MPI_MAX_ERROR_STRING];
    static const int counts[] = {2, 1000, 2999};
    MPI_Comm inter;
    int value = 7, got = 0, sum = 0, length, idle, error, reduces_shares = is(call, "reduce_scatter_block");
    MPI_Intercomm_create(local, 0, MPI_COMM_WORLD, in_low ? low : 0, 1, &inter);
    MPI_Comm_set_errhandler(inter, handler);
    /* What is well before is not taken for what differs. */
    MPI_Barrier(inter);
    if (turn % 2)
        MPI_Allreduce(&value, &sum, 1, MPI_INT, MPI_SUM, inter);
    error = call_it(call, is_odd(is_rooted, what, turn) ? what : "", reduces_shares ? 2 : counts[turn % 3], inter);
    if (!error)
        error = MPI_Barrier(inter);
    if (class_of(error) != MPI_ERR_TRUNCATE && class_of(error) != MPI_ERR_COUNT && class_of(error) != MPI_ERR_OTHER) {
        MPI_Error_string(error, report, &length);
        printf("rank %d of %d and %d was not told: %s %s: %s\n", rank, low, size - low, call, what, report);
    }
    /* A persistent request has a communicator for itself. */
    if (form != 'p')
        CHECK(MPI_Barrier(inter) != MPI_SUCCESS);
    /* Messages go on. */
    idle = group_rank >= others;
    error = MPI_Sendrecv(&value, 1, MPI_INT, idle ? MPI_PROC_NULL : group_rank, 3, &got, 1, MPI_INT,
                         idle ? MPI_PROC_NULL : group_rank, 3, inter, MPI_STATUS_IGNORE);
    CHECK_INT(error, MPI_SUCCESS);
    CHECK_INT(got, idle ? 0 : 7);
    CHECK_INT(MPI_Comm_free(&inter), MPI_SUCCESS);
    MPI_Allreduce(&value, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    CHECK_INT(sum, 7 * size);
}

int main(int argc, char **argv)
{
    MPI_Comm local;
    int turn = 0;
    start(&argc, &argv);
    CHECK(argc == 3 || argc == 5);
    form = argv[1][0];
    MPI_Errhandler handler = is(argv[2], "fatal") ? MPI_ERRORS_ARE_FATAL : MPI_ERRORS_RETURN;
    for (low = 1; low < size; low++) {
        in_low = rank < low;
        others = in_low ? size - low : low;
        group_size = size - others;
        MPI_Comm_split(MPI_COMM_WORLD, in_low, rank, &local);
        MPI_Comm_rank(local, &group_rank);
        for (int call = 0; call < (int)(sizeof calls / sizeof *calls); call++)
            for (int difference = 0; difference < (int)(sizeof differences / sizeof *differences); difference++) {
                const char *name = calls[call].name, *what = differences[difference].name;
                if (!is_possible(call, difference, low > 1, size - low > 1))
                    continue;
                if (argc == 5 && (strcmp(argv[3], name) || strcmp(argv[4], what)))
                    continue;
                one_case(name, what, turn++, calls[call].is & ROOTED, local, handler);
            }
        MPI_Comm_free(&local);
    }
    return MPI_Finalize();
}
