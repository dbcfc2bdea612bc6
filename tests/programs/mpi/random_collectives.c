/* Random programs of collective calls, whose results every rank computes by itself.
 *
 *     random_collectives SEED [COUNT] [--largest BYTES] [--only N[,N]...] [--list] [--loose]
 *
 * Each seed is a program of 6 to 12 operations, some of up to 48, the same at all ranks: calls, forms,
 * datatypes, sizes, communicators. Every byte of every buffer is checked, and reductions bit by bit; with
 * --loose, for other implementations, floating results within a tolerance. COUNT seeds are run one after the
 * other. A seed's checksum is one of its floating results, and the same wherever the ranks are. --list says
 * what a seed calls, --only leaves out the other operations. */
#include "random_program.h"
#include <sched.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

enum { PATIENCE_SECONDS = 120 };

static int lists, loose, only[OPERATIONS_OF_SEED], only_count;
static struct operation program[OPERATIONS_OF_SEED];
static int program_length;
static struct operation *deferred[OPERATIONS_OF_SEED]; /* Not started yet. */
static int deferred_count;
static uint64_t seed, local_state;
static const char *doing = "starting";

static void describe(char *text, size_t room_of_text, const struct operation *op)
{
    const struct side *sides[] = {&op->send, &op->receive};
    const struct communicator *on = op->on;
    const char *large = op->large && op->kind != BARRIER ? " large-count" : "";
    const char *group = !is_inter(on) ? "" : on->group ? " of group 1" : " of group 0";
    int at = snprintf(text, room_of_text, "%s%s %s on %s of %d (rank %d%s)", form_names[op->form], large,
                      kind_names[op->kind], communicator_names[on->kind], on->size, on->rank, group);
    if (op->kind != BARRIER)
        at += snprintf(text + at, room_of_text - (size_t)at, ", %zu x %s", op->most, units[op->unit].name);
    if (op->kind >= REDUCE && op->kind <= EXSCAN)
        at += snprintf(text + at, room_of_text - (size_t)at, ", %s", operation_names[op->operation]);
    if (op->root >= 0)
        at += snprintf(text + at, room_of_text - (size_t)at, ", root is rank %d of the world", op->root);
    if (op->in_place)
        at += snprintf(text + at, room_of_text - (size_t)at, ", in place");
    for (int s = 0; s < 2; s++)
        for (int i = 0; i < sides[s]->blocks && at + 100 < (int)room_of_text; i++)
            if (op->vector || i == 0)
                at += snprintf(text + at, room_of_text - (size_t)at, "%s%d %s at byte %ld",
                               i ? ", " : s ? "; takes " : "; gives ", sides[s]->counts[i],
                               layout_names[sides[s]->layouts[i]->kind], (long)sides[s]->places[i]);
}

static void differs(const struct operation *op, int is_receive, size_t at)
{
    char text[2000];
    const struct side *side = is_receive ? &op->receive : &op->send;
    describe(text, sizeof text, op);
    fprintf(stderr,
            "random_collectives: seed %llu, operation %d, round %d: %s: byte %ld of %zu of the %s buffer of "
            "rank %d is 0x%02x, not 0x%02x; again with %d ranks: random_collectives %llu 1 --largest %zu\n",
            (unsigned long long)seed, op->number, op->round, text, (long)at - (long)side->base,
            side->bytes - side->base - PAD, is_receive ? "receive" : "send", rank, side->memory[at],
            side->image[at], size, (unsigned long long)seed, largest);
    fflush(stderr);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

static void out_of_patience(int signal)
{
    static char text[300];
    (void)signal;
    int length = snprintf(text, sizeof text, "random_collectives: seed %llu does not go on at rank %d: %s\n",
                          (unsigned long long)seed, rank, doing);
    if (write(2, text, (size_t)length) < 0)
        _exit(2);
    _exit(1);
}

#define ARGUMENTS(...) __VA_ARGS__
#define FORM(BLOCKING_CALL, NONBLOCKING_CALL, PERSISTENT_CALL, ...)                                         \
    do {                                                                                                    \
        if (op->form == BLOCKING)                                                                           \
            BLOCKING_CALL(__VA_ARGS__);                                                                     \
        else if (op->form == NONBLOCKING)                                                                   \
            NONBLOCKING_CALL(__VA_ARGS__, &op->request);                                                    \
        else                                                                                                \
            PERSISTENT_CALL(__VA_ARGS__, MPI_INFO_NULL, &op->request);                                      \
    } while (0)
/* With arguments in parentheses: those of int, and those of MPI_Count. */
#define CALL_EITHER(NAME, IMMEDIATE, SMALL, LARGE)                                                          \
    do {                                                                                                    \
        if (op->large)                                                                                      \
            FORM(MPI_##NAME##_c, MPI_I##IMMEDIATE##_c, MPI_##NAME##_init_c, ARGUMENTS LARGE);               \
        else                                                                                                \
            FORM(MPI_##NAME, MPI_I##IMMEDIATE, MPI_##NAME##_init, ARGUMENTS SMALL);                         \
    } while (0)
#define CALL(NAME, IMMEDIATE, ...) CALL_EITHER(NAME, IMMEDIATE, (__VA_ARGS__), (__VA_ARGS__))

#define COUNTS(SIDE) (SIDE)->counts, (SIDE)->displacements
#define LARGE_COUNTS(SIDE) (SIDE)->large_counts, (SIDE)->large_displacements

static int rank_of(const struct communicator *in, int member)
{
    int at = 0;
    while (in->members[at] != member)
        at++;
    return at;
}

static void exchange(struct operation *op, const void *from, int sent, MPI_Datatype gives, void *to,
                     int received, MPI_Datatype takes)
{
    MPI_Comm comm = op->on->comm;
    MPI_Status status;
    int next = rank_of(op->on, rank_at(op, 1)), previous = rank_of(op->on, rank_at(op, -1)), tag = op->number;
    if (op->form == NONBLOCKING)
        MPI_Isendrecv(from, sent, gives, next, tag, to, received, takes, previous, tag, comm, &op->request);
    else
        MPI_Sendrecv(from, sent, gives, next, tag, to, received, takes, previous, tag, comm, &status);
}

/* The same layout at an absolute address. */
static MPI_Datatype from_bottom(const struct layout *layout, void *base)
{
    static const int one[] = {1};
    MPI_Aint address;
    MPI_Datatype placed, type;
    MPI_Get_address(base, &address);
    MPI_Type_create_hindexed(1, one, &address, layout->type, &placed);
    MPI_Type_create_resized(placed, address + layout->lower, layout->extent, &type);
    MPI_Type_free(&placed);
    MPI_Type_commit(&type);
    return type;
}

static int has_empty(const struct side *side)
{
    for (int i = 0; i < side->blocks; i++)
        if (side->layouts[i]->kind == EMPTY)
            return 1;
    return 0;
}

/* An extent of one byte would put the second block where MPI_IN_PLACE is. */
static int is_absolute(const struct operation *op, const struct side *side, uint64_t salt)
{
    return side->layouts[side->blocks]->extent > 0 && key_of(op->key, salt, (uint64_t)rank, 0) % 8 == 0;
}

static void call(struct operation *op)
{
    struct side *s = &op->send, *r = &op->receive;
    MPI_Comm comm = op->on->comm;
    MPI_Op how = op->large && op->operation == O_PRODUCT_MODULO ? large_modulo : operations[op->operation];
    int root = -1, junk = (int)(key_of(op->key, 50, (uint64_t)rank, 0) & 1);
    if (op->kind == BARRIER) {
        if (op->form == BLOCKING)
            MPI_Barrier(comm);
        else if (op->form == NONBLOCKING)
            MPI_Ibarrier(comm, &op->request);
        else
            MPI_Barrier_init(comm, MPI_INFO_NULL, &op->request);
        return;
    }
    void *to = r->memory + r->base;
    const void *from = op->in_place ? MPI_IN_PLACE : s->memory + s->base;
    MPI_Datatype type = units[op->unit].type;
    MPI_Datatype gives = s->layouts[s->blocks]->type, takes = r->layouts[r->blocks]->type;
    int sent = s->counts[0], received = r->counts[0];
    if (is_rooted(op->kind)) {
        const struct communicator *on = op->on;
        const int *members = on->group == op->root_group ? on->members : on->remote;
        if (is_inter(on) && on->group == op->root_group)
            root = op->is_root ? MPI_ROOT : MPI_PROC_NULL;
        else
            for (root = 0; members[root] != op->root; root++)
                ;
    }
    /* What is not significant may be anything. */
    int is_moved = !is_reduction(op->kind);
    if (is_moved && s->blocks == 0 && junk && is_rooted(op->kind) && op->kind != BCAST)
        from = NULL, sent = -1, gives = MPI_DATATYPE_NULL;
    if (is_moved && r->blocks == 0 && junk && is_rooted(op->kind) && op->kind != BCAST)
        to = NULL, received = -1, takes = MPI_DATATYPE_NULL;
    if (is_moved && op->in_place && junk)
        sent = -1, gives = MPI_DATATYPE_NULL;
    if (op->in_place && (op->kind == SCATTER || op->kind == SCATTERV)) {
        from = s->memory + s->base, to = MPI_IN_PLACE;
        sent = s->counts[0], gives = s->layouts[s->blocks]->type;
        if (junk)
            received = -1, takes = MPI_DATATYPE_NULL;
    }
    if (op->kind == REDUCE && !op->is_root && junk)
        to = NULL;
    /* A buffer of no items need not be one. */
    if (junk && !op->in_place && r->bytes == r->base + PAD && !has_empty(r))
        to = NULL;
    if (junk && !op->in_place && s->bytes == s->base + PAD && !has_empty(s))
        from = NULL;
    if (op->kind == BCAST && op->is_root)
        to = s->memory + s->base, received = sent, takes = gives;
    /* Other buffers may be given as absolute addresses. */
    MPI_Datatype placed[2] = {MPI_DATATYPE_NULL, MPI_DATATYPE_NULL};
    int may_be_absolute = is_moved && !op->in_place && !op->wide;
    if (may_be_absolute && op->kind != BCAST && from && is_absolute(op, s, 51)) {
        placed[0] = gives = from_bottom(s->layouts[s->blocks], s->memory + s->base);
        from = MPI_BOTTOM;
    }
    if (may_be_absolute && !(op->kind == BCAST && op->is_root) && to && is_absolute(op, r, 52)) {
        placed[1] = takes = from_bottom(r->layouts[r->blocks], r->memory + r->base);
        to = MPI_BOTTOM;
    }
    switch (op->kind) {
    case BCAST: CALL(Bcast, bcast, to, received, takes, root, comm); break;
    case GATHER: CALL(Gather, gather, from, sent, gives, to, received, takes, root, comm); break;
    case GATHERV:
        CALL_EITHER(Gatherv, gatherv, (from, sent, gives, to, COUNTS(r), takes, root, comm),
                    (from, sent, gives, to, LARGE_COUNTS(r), takes, root, comm));
        break;
    case SCATTER: CALL(Scatter, scatter, from, sent, gives, to, received, takes, root, comm); break;
    case SCATTERV:
        CALL_EITHER(Scatterv, scatterv, (from, COUNTS(s), gives, to, received, takes, root, comm),
                    (from, LARGE_COUNTS(s), gives, to, received, takes, root, comm));
        break;
    case ALLGATHER: CALL(Allgather, allgather, from, sent, gives, to, received, takes, comm); break;
    case ALLGATHERV:
        CALL_EITHER(Allgatherv, allgatherv, (from, sent, gives, to, COUNTS(r), takes, comm),
                    (from, sent, gives, to, LARGE_COUNTS(r), takes, comm));
        break;
    case ALLTOALL: CALL(Alltoall, alltoall, from, sent, gives, to, received, takes, comm); break;
    case ALLTOALLV:
        CALL_EITHER(Alltoallv, alltoallv, (from, COUNTS(s), gives, to, COUNTS(r), takes, comm),
                    (from, LARGE_COUNTS(s), gives, to, LARGE_COUNTS(r), takes, comm));
        break;
    case ALLTOALLW:
        CALL_EITHER(Alltoallw, alltoallw, (from, COUNTS(s), s->types, to, COUNTS(r), r->types, comm),
                    (from, LARGE_COUNTS(s), s->types, to, LARGE_COUNTS(r), r->types, comm));
        break;
    case REDUCE: CALL(Reduce, reduce, from, to, sent, type, how, root, comm); break;
    case ALLREDUCE: CALL(Allreduce, allreduce, from, to, sent, type, how, comm); break;
    case REDUCE_SCATTER:
        CALL_EITHER(Reduce_scatter, reduce_scatter, (from, to, r->counts, type, how, comm),
                    (from, to, r->large_counts, type, how, comm));
        break;
    case REDUCE_SCATTER_BLOCK:
        CALL(Reduce_scatter_block, reduce_scatter_block, from, to, received, type, how, comm);
        break;
    case SCAN: CALL(Scan, scan, from, to, sent, type, how, comm); break;
    case EXSCAN: CALL(Exscan, exscan, from, to, sent, type, how, comm); break;
    case NEIGHBOR_ALLGATHER:
        CALL(Neighbor_allgather, neighbor_allgather, from, sent, gives, to, received, takes, comm);
        break;
    case NEIGHBOR_ALLGATHERV:
        CALL_EITHER(Neighbor_allgatherv, neighbor_allgatherv, (from, sent, gives, to, COUNTS(r), takes, comm),
                    (from, sent, gives, to, LARGE_COUNTS(r), takes, comm));
        break;
    case NEIGHBOR_ALLTOALL:
        CALL(Neighbor_alltoall, neighbor_alltoall, from, sent, gives, to, received, takes, comm);
        break;
    case NEIGHBOR_ALLTOALLV:
        CALL_EITHER(Neighbor_alltoallv, neighbor_alltoallv,
                    (from, COUNTS(s), gives, to, COUNTS(r), takes, comm),
                    (from, LARGE_COUNTS(s), gives, to, LARGE_COUNTS(r), takes, comm));
        break;
    case EXCHANGE: exchange(op, from, sent, gives, to, received, takes); break;
    default:
        /* Here displacements are addresses in either form. */
        CALL_EITHER(Neighbor_alltoallw, neighbor_alltoallw,
                    (from, s->counts, s->large_displacements, s->types, to, r->counts, r->large_displacements,
                     r->types, comm),
                    (from, LARGE_COUNTS(s), s->types, to, LARGE_COUNTS(r), r->types, comm));
        break;
    }
    for (int i = 0; i < 2; i++)
        if (placed[i] != MPI_DATATYPE_NULL)
            MPI_Type_free(&placed[i]);
}

/* Floating results that are almost what they should be become it. */
static void forgive(struct operation *op)
{
    struct side *r = &op->receive;
    int is_float = op->unit == U_FLOAT || op->unit == U_FLOAT_COMPLEX;
    for (size_t at = PAD; at + (is_float ? 4 : 8) + PAD <= r->bytes; at += is_float ? 4 : 8) {
        float got_float, want_float;
        double got, want;
        if (is_float) {
            memcpy(&got_float, r->memory + at, 4), memcpy(&want_float, r->image + at, 4);
            got = got_float, want = want_float;
        } else {
            memcpy(&got, r->memory + at, 8), memcpy(&want, r->image + at, 8);
        }
        double off = got > want ? got - want : want - got, tolerance = 1e-3 * (1 + (want < 0 ? -want : want));
        if (off <= tolerance)
            memcpy(r->image + at, r->memory + at, is_float ? 4 : 8);
    }
}

static void compare(const struct operation *op, int is_receive)
{
    const struct side *side = is_receive ? &op->receive : &op->send;
    if (side->bytes == 0 || memcmp(side->memory, side->image, side->bytes) == 0)
        return;
    size_t at = 0;
    while (side->memory[at] == side->image[at])
        at++;
    differs(op, is_receive, at);
}

static void free_operation(struct operation *op)
{
    free(op->send.memory), free(op->send.image);
    free(op->receive.memory), free(op->receive.image);
    op->send.memory = op->send.image = op->receive.memory = op->receive.image = NULL;
    for (int i = 0; i < 3; i++)
        free_layout(&op->layouts[i]);
}

static void check(struct operation *op)
{
    struct side *r = &op->receive;
    op->is_pending = 0;
    if (op->kind != BARRIER) {
        size_t skipped = 0, extent = (size_t)op->layouts[0].extent;
        /* Undefined are what exscan leaves at the first rank, and in place what is not a rank's share. */
        int is_undefined = op->kind == EXSCAN && op->on->rank == 0;
        if (op->in_place && (op->kind == REDUCE_SCATTER || op->kind == REDUCE_SCATTER_BLOCK))
            is_undefined = 1, skipped = share_of(op, op->on->rank) * extent;
        if (is_undefined)
            memcpy(r->image + PAD + skipped, r->memory + PAD + skipped, r->bytes - 2 * PAD - skipped);
        /* A pair is a struct of C, whose assignment may write the padding, too. */
        int has_padding = is_reduction(op->kind) && op->unit == U_DOUBLE_INT;
        for (size_t at = PAD + 12; has_padding && at + PAD < r->bytes; at += 16)
            memcpy(r->image + at, r->memory + at, 4);
        if (loose && is_reduction(op->kind) && is_floating(op->unit))
            forgive(op);
        compare(op, 0);
        compare(op, 1);
    }
    op->round++;
    if (op->round == op->rounds) {
        if (op->form == PERSISTENT)
            MPI_Request_free(&op->request);
        free_operation(op);
    }
}

/* Completes some of what is under way, in one of the ways that there are. */
static void complete(int all)
{
    MPI_Request requests[OPERATIONS_OF_SEED];
    struct operation *of[OPERATIONS_OF_SEED];
    int done[OPERATIONS_OF_SEED] = {0}, indices[OPERATIONS_OF_SEED];
    int pending = 0, count = 0, flag = 0, index = MPI_UNDEFINED;
    for (int i = 0; i < program_length; i++)
        if (program[i].is_pending) {
            of[pending] = &program[i];
            requests[pending++] = program[i].request;
        }
    if (pending == 0)
        return;
    int one = below(&local_state, pending), way = below(&local_state, all ? 7 : 6);
    doing = kind_names[of[one]->kind];
    switch (way) {
    case 0:
        MPI_Wait(&requests[one], MPI_STATUS_IGNORE);
        done[one] = 1;
        break;
    case 1:
        while (!done[one]) {
            MPI_Test(&requests[one], &done[one], MPI_STATUS_IGNORE);
            sched_yield();
        }
        break;
    case 2:
        MPI_Waitany(pending, requests, &index, MPI_STATUS_IGNORE);
        done[index] = 1;
        break;
    case 3:
        MPI_Waitsome(pending, requests, &count, indices, MPI_STATUSES_IGNORE);
        break;
    case 4:
        MPI_Testany(pending, requests, &index, &flag, MPI_STATUS_IGNORE);
        if (flag)
            done[index] = 1;
        break;
    case 5:
        MPI_Testsome(pending, requests, &count, indices, MPI_STATUSES_IGNORE);
        break;
    default:
        MPI_Waitall(pending, requests, MPI_STATUSES_IGNORE);
        for (int i = 0; i < pending; i++)
            done[i] = 1;
        break;
    }
    for (int i = 0; i < count; i++)
        done[indices[i]] = 1;
    for (int i = 0; i < pending; i++) {
        of[i]->request = requests[i];
        if (done[i])
            check(of[i]);
    }
}

static int is_deferred(const struct operation *op)
{
    for (int i = 0; i < deferred_count; i++)
        if (deferred[i] == op)
            return 1;
    return 0;
}

/* Starts what is to be started, in any order: persistent operations need no order among the ranks. */
static void start_deferred(void)
{
    MPI_Request requests[OPERATIONS_OF_SEED];
    doing = "starts";
    for (int i = deferred_count - 1; i > 0; i--) {
        int j = below(&local_state, i + 1);
        struct operation *other = deferred[i];
        deferred[i] = deferred[j], deferred[j] = other;
    }
    for (int i = 0; i < deferred_count; i++)
        requests[i] = deferred[i]->request;
    if (below(&local_state, 2))
        MPI_Startall(deferred_count, requests);
    else
        for (int i = 0; i < deferred_count; i++)
            MPI_Start(&requests[i]);
    for (int i = 0; i < deferred_count; i++) {
        deferred[i]->request = requests[i];
        deferred[i]->is_pending = 1;
    }
    deferred_count = 0;
}

/* A round of an operation begins; one before it is over then. */
static void begin(struct operation *op)
{
    int makes_communicator = !op->on->is_made, is_again = op->form == PERSISTENT && op->round > 0;
    /* What others may wait for is started before this rank waits for them. */
    if (makes_communicator || (op->form != NONBLOCKING && !is_again) || is_deferred(op) || op->is_pending)
        start_deferred();
    doing = "a communicator";
    if (makes_communicator)
        make_communicator(op->on);
    if (op->on->comm == MPI_COMM_NULL) {
        if (op->round++ == 0)
            free_operation(op);
        return;
    }
    doing = kind_names[op->kind];
    if (op->is_pending) {
        MPI_Wait(&op->request, MPI_STATUS_IGNORE);
        check(op);
    }
    if (op->round == 0)
        prepare(op);
    write_buffers(op);
    if (op->round == 0)
        call(op);
    /* Datatypes may be freed while they are in use. */
    if (op->round == 0 && key_of(op->key, 60, 0, 0) % 3 == 0)
        for (int i = 0; i < 3; i++)
            free_layout(&op->layouts[i]);
    if (op->form == PERSISTENT && op->rounds == 0) {
        MPI_Request_free(&op->request);
        free_operation(op);
        return;
    }
    if (op->form == PERSISTENT) {
        deferred[deferred_count++] = op;
        if (below(&local_state, 2))
            start_deferred();
        return;
    }
    op->is_pending = 1;
    if (op->form == BLOCKING)
        check(op);
}

static int is_wanted(int number)
{
    for (int i = 0; i < only_count; i++)
        if (only[i] == number)
            return 1;
    return only_count == 0;
}

static void run(void)
{
    uint64_t state = mix(seed);
    int events[3 * OPERATIONS_OF_SEED], count = 0;
    checksum = 0;
    local_state = key_of(seed, 70, (uint64_t)rank, 0);
    doing = "communicators";
    make_operations();
    communicator_count = 2 + below(&state, COMMUNICATORS - 1);
    for (int i = 0; i < communicator_count; i++) {
        struct communicator *to = &communicators[i];
        memset(to, 0, sizeof *to);
        to->kind = i == 0 ? WORLD : below(&state, COMMUNICATOR_KINDS);
        to->key = draw(&state);
        if (size < 2 && (is_inter(to) || to->kind == MERGED))
            to->kind = REVERSED;
        /* The others are made when an operation wants them. */
        if (below(&state, 2) || lists)
            make_communicator(to);
    }
    program_length = below(&state, 16) ? 6 + below(&state, 7) : OPERATIONS_OF_SEED - below(&state, 20);
    int slow = below(&state, 10 * size);
    for (int i = 0; i < program_length; i++)
        make_operation(&program[i], i, &state);
    /* Later rounds of persistent operations are among the other operations. */
    for (int i = 0; i < program_length; i++)
        events[count++] = i;
    for (int i = 0; i < program_length; i++)
        for (int round = 1, at = i; round < program[i].rounds; round++) {
            while (events[at] != i)
                at++;
            at += 1 + below(&state, count - at);
            memmove(&events[at + 1], &events[at], sizeof *events * (size_t)(count - at));
            events[at] = i;
            count++;
        }
    for (int i = 0; lists && i < program_length; i++) {
        struct operation copy = program[i];
        if (!is_wanted(i) || copy.on->comm == MPI_COMM_NULL)
            continue;
        char text[2000];
        prepare(&copy);
        describe(text, sizeof text, &copy);
        free(copy.send.memory), free(copy.send.image), free(copy.receive.memory), free(copy.receive.image);
        printf("rank %d, operation %d: %s\n", rank, i, text);
    }
    fflush(stdout);
    for (int i = 0; i < count; i++) {
        if (!is_wanted(events[i]))
            continue;
        begin(&program[events[i]]);
        if (rank == slow || below(&local_state, 40) == 0) {
            struct timespec nap = {0, 200000};
            nanosleep(&nap, NULL);
        }
        for (int times = below(&local_state, 6) - 3; times > 0; times--) {
            start_deferred();
            complete(0);
        }
    }
    start_deferred();
    /* Communicators may be freed while operations of theirs are under way. */
    int frees_early = below(&state, 3) == 0;
    doing = "the end";
    if (frees_early) {
        free_communicators(communicators, communicator_count);
        free_operations();
    }
    for (int i = 0; i < program_length; i++)
        while (program[i].is_pending)
            complete(1);
    for (int i = 0; i < program_length; i++)
        if (!is_wanted(i))
            free_operation(&program[i]);
    if (!frees_early) {
        free_communicators(communicators, communicator_count);
        free_operations();
    }
    uint64_t of_all = 0;
    doing = "the checksum";
    MPI_Reduce(&checksum, &of_all, 1, MPI_UINT64_T, MPI_BXOR, 0, MPI_COMM_WORLD);
    if (rank == 0)
        printf("seed %llu checksum %016llx\n", (unsigned long long)seed, (unsigned long long)of_all);
    fflush(stdout);
}

int main(int argc, char **argv)
{
    uint64_t first = 1, count = 1;
    int numbers = 0;
    start(&argc, &argv);
    CHECK(size <= RANKS);
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--largest") == 0 && i + 1 < argc)
            largest = strtoull(argv[++i], NULL, 0);
        else if (strcmp(argv[i], "--only") == 0 && i + 1 < argc)
            for (char *at = argv[++i]; *at && only_count < OPERATIONS_OF_SEED; at += *at == ',')
                only[only_count++] = (int)strtol(at, &at, 10);
        else if (strcmp(argv[i], "--list") == 0)
            lists = 1;
        else if (strcmp(argv[i], "--loose") == 0)
            loose = 1;
        else if (numbers++ == 0)
            first = strtoull(argv[i], NULL, 0);
        else
            count = strtoull(argv[i], NULL, 0);
    }
    signal(SIGALRM, out_of_patience);
    make_units();
    for (seed = first; seed < first + count; seed++) {
        alarm(PATIENCE_SECONDS);
        run();
    }
    alarm(0);
    free_units();
    return MPI_Finalize();
}
