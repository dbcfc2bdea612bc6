/* A random program: its operations, the buffers of each, and what is to be in them. */
#ifndef RANDOM_PROGRAM_H
#define RANDOM_PROGRAM_H
#include "random_communicators.h"
#include "random_reductions.h"

enum { OPERATIONS_OF_SEED = 48, COMMUNICATORS = 5, PAD = 64 };

enum {
    BARRIER, BCAST, GATHER, GATHERV, SCATTER, SCATTERV, ALLGATHER, ALLGATHERV, ALLTOALL, ALLTOALLV, ALLTOALLW,
    REDUCE, ALLREDUCE, REDUCE_SCATTER, REDUCE_SCATTER_BLOCK, SCAN, EXSCAN, KINDS_OF_ALL,
    NEIGHBOR_ALLGATHER = KINDS_OF_ALL, NEIGHBOR_ALLGATHERV, NEIGHBOR_ALLTOALL, NEIGHBOR_ALLTOALLV,
    NEIGHBOR_ALLTOALLW, EXCHANGE, KINDS
};
static const char *const kind_names[] = {
    "barrier", "bcast", "gather", "gatherv", "scatter", "scatterv", "allgather", "allgatherv", "alltoall",
    "alltoallv", "alltoallw", "reduce", "allreduce", "reduce_scatter", "reduce_scatter_block", "scan",
    "exscan", "neighbor_allgather", "neighbor_allgatherv", "neighbor_alltoall", "neighbor_alltoallv",
    "neighbor_alltoallw", "sendrecv",
};

enum { BLOCKING, NONBLOCKING, PERSISTENT };
static const char *const form_names[] = {"blocking", "non-blocking", "persistent"};

/* One side of a call: a buffer of blocks, one after the other or in any order, with gaps. */
struct side {
    int blocks;
    byte *memory, *image;
    size_t bytes, base; /* The call gets the address of `base`. */
    struct layout *layouts[RANKS + 1];
    size_t units[RANKS + 1];
    MPI_Aint places[RANKS + 1];  /* In bytes from the base. */
    uint64_t content[RANKS + 1]; /* The keys of what is sent, or comes, in each; 0 if nothing comes. */
    int counts[RANKS + 1], displacements[RANKS + 1];
    MPI_Count large_counts[RANKS + 1];
    MPI_Aint large_displacements[RANKS + 1];
    MPI_Datatype types[RANKS + 1];
};

struct operation {
    int number, kind, form, rounds;
    int large, in_place, vector, wide; /* Wide: a datatype for every block. */
    uint64_t key;
    struct communicator *on;
    int unit, step, operation; /* Counts are multiples of `step` units. */
    size_t most;               /* Units of a block. */
    struct layout layouts[3];
    uint64_t root_draw;
    int root, root_group, is_root; /* The root's rank in the world. */
    struct side send, receive;
    /* At this rank. */
    MPI_Request request;
    int round, is_pending;
};

static struct communicator communicators[COMMUNICATORS];
static int communicator_count;
static size_t largest = 1 << 20;
static uint64_t checksum;

/* Beside thresholds, or of any magnitude, and at times nothing at all. */
static inline size_t random_bytes(uint64_t *state, int unit_bytes, size_t most)
{
    static const int thresholds[] = {16, 24, 48, 64, 512, 4096, 8192, 65536};
    static const double octave[] = {1, 1.19, 1.41, 1.68};
    int way = below(state, 12), magnitudes = 0;
    size_t bytes;
    while (most >> magnitudes > 1)
        magnitudes++;
    double random = octave[below(state, 4)];
    int magnitude = below(state, magnitudes + 1);
    int threshold = thresholds[below(state, 8)] + (below(state, 3) - 1) * unit_bytes;
    if (way == 0)
        bytes = 0;
    else if (way == 1)
        bytes = (size_t)unit_bytes;
    else if (way < 7)
        bytes = threshold < 0 ? 0 : (size_t)threshold;
    else
        bytes = (size_t)((double)((size_t)1 << magnitude) * random);
    return bytes > most ? most : bytes;
}

static inline int is_vector(int kind)
{
    return kind == GATHERV || kind == SCATTERV || kind == ALLGATHERV || kind == ALLTOALLV ||
           kind == ALLTOALLW || kind == NEIGHBOR_ALLGATHERV || kind == NEIGHBOR_ALLTOALLV ||
           kind == NEIGHBOR_ALLTOALLW;
}
static inline int is_reduction(int kind) { return kind >= REDUCE && kind <= EXSCAN; }
static inline int is_rooted(int kind) { return (kind >= BCAST && kind <= SCATTERV) || kind == REDUCE; }

static inline void make_operation(struct operation *op, int number, uint64_t *state)
{
    static const int moved[] = {U_BYTE,  U_BYTE,           U_INT,        U_INT,  U_DOUBLE,
                                U_FLOAT, U_DOUBLE_COMPLEX, U_DOUBLE_INT, U_MIXED};
    memset(op, 0, sizeof *op);
    op->number = number;
    op->request = MPI_REQUEST_NULL;
    op->on = &communicators[below(state, communicator_count)];
    op->key = draw(state);
    op->form = below(state, 3);
    op->rounds = below(state, 4);
    if (op->form != PERSISTENT)
        op->rounds = 1;
    op->large = below(state, 4) == 0;
    int is_topology = op->on->kind >= CARTESIAN;
    /* Barriers are seldom, and there are no scans between groups. */
    do
        op->kind = below(state, KINDS_OF_ALL);
    while (op->kind == BARRIER && below(state, 3));
    int neighbourly = NEIGHBOR_ALLGATHER + below(state, EXCHANGE - NEIGHBOR_ALLGATHER);
    if (is_inter(op->on) && op->kind >= SCAN)
        op->kind = op->kind == SCAN ? ALLREDUCE : REDUCE_SCATTER;
    if (is_topology && below(state, 4))
        op->kind = neighbourly;
    /* Messages go round now and then. */
    if (below(state, 16) == 0 && !is_inter(op->on)) {
        op->kind = EXCHANGE;
        if (op->form == PERSISTENT)
            op->form = NONBLOCKING, op->rounds = 1;
    }
    op->in_place = below(state, 4) == 0 && !is_inter(op->on) && op->kind != BCAST && op->kind != BARRIER &&
                   op->kind < KINDS_OF_ALL;
    op->vector = is_vector(op->kind);
    op->wide = op->kind == ALLTOALLW || op->kind == NEIGHBOR_ALLTOALLW;
    int of = below(state, REDUCIBLE), is_derived = below(state, 3) == 0;
    op->unit = is_reduction(op->kind) ? reducible[of].unit : moved[below(state, 9)];
    op->operation = reducible[of].first + below(state, reducible[of].last - reducible[of].first + 1);
    /* Two thirds of the calls are of predefined datatypes alone. */
    op->step = 1;
    for (int i = 0; i < 3; i++) {
        int kind = below(state, LAYOUTS);
        uint64_t key = draw(state);
        kind = is_reduction(op->kind) || !is_derived ? PLAIN : kind;
        op->layouts[i] = make_layout(kind, op->unit, key);
        if (kind != PLAIN)
            op->step = 24;
    }
    /* What all blocks have together is bounded, too. */
    int has_blocks = op->kind >= GATHER && op->kind != REDUCE && op->kind != ALLREDUCE && op->kind < SCAN;
    size_t most = has_blocks ? largest / (size_t)size : largest;
    int of_all = below(state, 2), extent = units[op->unit].extent;
    size_t bytes = random_bytes(state, extent, most);
    if (has_blocks && of_all)
        bytes /= (size_t)size;
    op->most = bytes / (size_t)extent;
    op->most = (op->most + (size_t)op->step - 1) / (size_t)op->step * (size_t)op->step;
    for (int i = 0; i < 3 && op->most == 0 && is_derived && !is_reduction(op->kind); i++) {
        if (op->layouts[i].kind == VECTOR) {
            free_layout(&op->layouts[i]);
            op->layouts[i] = make_empty(op->unit);
        }
    }
    op->root_draw = draw(state);
    op->root = -1;
}

/* Who the root is, as the communicator has members now. */
static inline void set_root(struct operation *op)
{
    const struct communicator *on = op->on;
    if (is_rooted(op->kind)) {
        op->root_group = is_inter(on) ? (int)(op->root_draw & 1) : 0;
        int is_here = on->group == op->root_group;
        const int *members = is_here ? on->members : on->remote;
        op->root = members[(op->root_draw >> 1) % (uint64_t)(is_here ? on->size : on->remote_size)];
        op->is_root = op->root == rank;
        /* With a root, in place is there alone. */
        op->in_place = op->in_place && op->is_root;
    }
}

/* The rank that is so many further on, or behind. */
static inline int rank_at(const struct operation *op, int direction)
{
    int shift = (int)(op->key % (uint64_t)op->on->size) * direction;
    return op->on->members[(op->on->rank + shift + op->on->size) % op->on->size];
}

/* Units that go from one rank to another; between groups each direction has its own. */
static inline size_t units_between(const struct operation *op, int from, int to)
{
    int is_here = !is_inter(op->on);
    for (int i = 0; i < op->on->size; i++)
        is_here |= op->on->members[i] == from;
    int from_group = is_here ? op->on->group : !op->on->group;
    int alltoall = op->kind == ALLTOALLV || op->kind == ALLTOALLW || op->kind == NEIGHBOR_ALLTOALLV ||
                   op->kind == NEIGHBOR_ALLTOALLW;
    size_t most = op->most;
    if (!is_rooted(op->kind) && from_group == 1)
        most /= 2;
    if (op->vector) {
        int low = from < to ? from : to, high = from < to ? to : from;
        uint64_t key = key_of(op->key, 11, (uint64_t)(op->kind == SCATTERV ? to : from), 0);
        if (alltoall)
            key = op->in_place ? key_of(op->key, 11, (uint64_t)low, (uint64_t)high)
                               : key_of(op->key, 12, (uint64_t)from, (uint64_t)to);
        switch (key % 5) {
        case 0: most = 0; break;
        case 1: break;
        default: most = (size_t)((double)most * (double)(key >> 32) * 0x1p-32); break;
        }
    }
    return most / (size_t)op->step * (size_t)op->step;
}

static inline uint64_t content_key(const struct operation *op, int from, int block)
{
    return key_of(op->key, 100 + (uint64_t)op->round, (uint64_t)from, (uint64_t)(block + 1)) | 1;
}

static inline void add_block(struct side *side, size_t units_of_block)
{
    CHECK(side->blocks <= RANKS);
    side->units[side->blocks++] = units_of_block;
}

/* One block goes to every destination. */
static inline int sends_one(int kind)
{
    return kind == BCAST || kind == GATHER || kind == GATHERV || kind == ALLGATHER || kind == ALLGATHERV ||
           kind == NEIGHBOR_ALLGATHER || kind == NEIGHBOR_ALLGATHERV || kind == EXCHANGE;
}

/* The layouts of the blocks, their places, and the counts that the call gets. */
static inline void place_blocks(struct operation *op, struct side *side, int is_receive)
{
    uint64_t state = key_of(op->key, 20 + (uint64_t)is_receive, (uint64_t)rank, 0);
    struct layout *layout = &op->layouts[below(&state, 3)];
    int order[RANKS + 1], gaps = below(&state, 2);
    int has_one = is_receive ? op->kind == SCATTERV : sends_one(op->kind);
    int is_displaced = op->vector && !has_one;
    MPI_Aint at = 0, lowest = 0, end = 0;
    for (int i = 0; i < side->blocks; i++) {
        side->layouts[i] = op->wide ? &op->layouts[below(&state, 3)] : layout;
        order[i] = i;
    }
    side->layouts[side->blocks] = layout;
    for (int i = side->blocks - 1; is_displaced && i > 0; i--) {
        int j = below(&state, i + 1), other = order[i];
        order[i] = order[j], order[j] = other;
    }
    for (int i = 0; i < side->blocks; i++) {
        int block = order[i];
        const struct layout *of = side->layouts[block];
        size_t count = of->kind == EMPTY ? 3 : side->units[block] / (size_t)of->per;
        if (is_displaced && gaps && below(&state, 2))
            at += (1 + below(&state, 3)) * (MPI_Aint)of->extent;
        if (op->wide)
            at = (at + 15) / 16 * 16 - of->lower;
        side->counts[block] = (int)count, side->large_counts[block] = (MPI_Count)count;
        side->places[block] = at;
        side->displacements[block] = (int)(op->wide || of->extent == 0 ? at : at / of->extent);
        side->large_displacements[block] = side->displacements[block];
        side->types[block] = of->type;
        if (at + of->lower < lowest)
            lowest = at + of->lower;
        at += (MPI_Aint)count * of->extent;
        if (at + of->lower > end)
            end = at + of->lower;
        if (op->wide)
            at += of->lower;
    }
    side->base = PAD + (size_t)-lowest;
    side->bytes = side->base + (size_t)end + PAD;
    side->memory = room(side->bytes);
    side->image = room(side->bytes);
}

/* A reduction's buffer: one block of predefined items. */
static inline void place_vector(struct operation *op, struct side *side, size_t count)
{
    side->blocks = 1;
    side->units[0] = count;
    side->layouts[0] = side->layouts[1] = &op->layouts[0];
    side->counts[0] = (int)count;
    side->base = PAD;
    side->bytes = 2 * PAD + count * (size_t)op->layouts[0].extent;
    side->memory = room(side->bytes);
    side->image = room(side->bytes);
}

/* Counts of reduce_scatter: those of a group add up to `most` units for every rank of either group. */
static inline size_t share_of(const struct operation *op, int member)
{
    size_t all = op->most * (size_t)(is_inter(op->on) ? op->on->remote_size * op->on->size : op->on->size);
    if (op->kind == REDUCE_SCATTER_BLOCK)
        return all / (size_t)op->on->size;
    size_t left = all;
    for (int i = 0; i < op->on->size - 1; i++) {
        uint64_t key = key_of(op->key, 30, (uint64_t)op->on->members[i], 0);
        size_t share = key % 4 == 0 ? 0 : (size_t)((double)left * (double)(key >> 32) * 0x1p-32);
        if (i == member)
            return share;
        left -= share;
    }
    return left;
}

/* What this rank contributes to, and gets of, a reduction. */
static inline size_t contributed(const struct operation *op)
{
    if (op->kind != REDUCE_SCATTER && op->kind != REDUCE_SCATTER_BLOCK)
        return op->most;
    return op->most * (size_t)(is_inter(op->on) ? op->on->remote_size * op->on->size : op->on->size);
}

static inline void make_reduction(struct operation *op)
{
    struct side *receive = &op->receive;
    size_t all = contributed(op), got = op->most;
    if (op->kind == REDUCE_SCATTER || op->kind == REDUCE_SCATTER_BLOCK)
        got = share_of(op, op->on->rank);
    place_vector(op, &op->send, all);
    place_vector(op, receive, op->in_place ? all : got);
    if (op->kind == REDUCE_SCATTER) {
        for (int i = 0; i < op->on->size; i++) {
            receive->counts[i] = (int)share_of(op, i);
            receive->large_counts[i] = receive->counts[i];
        }
    } else {
        receive->counts[0] = (int)got;
    }
}

static inline void make_movement(struct operation *op)
{
    const struct communicator *on = op->on;
    int takes_part = !is_rooted(op->kind) || on->group != op->root_group || !is_inter(on);
    switch (op->kind) {
    case BCAST:
        if (op->is_root)
            add_block(&op->send, op->most);
        else if (takes_part)
            add_block(&op->receive, op->most);
        break;
    case GATHER:
    case GATHERV:
        if (takes_part)
            add_block(&op->send, units_between(op, rank, op->root));
        for (int i = 0; op->is_root && i < on->remote_size; i++)
            add_block(&op->receive, units_between(op, on->remote[i], rank));
        break;
    case SCATTER:
    case SCATTERV:
        if (takes_part)
            add_block(&op->receive, units_between(op, op->root, rank));
        for (int i = 0; op->is_root && i < on->remote_size; i++)
            add_block(&op->send, units_between(op, rank, on->remote[i]));
        break;
    case ALLGATHER:
    case ALLGATHERV:
        add_block(&op->send, units_between(op, rank, rank));
        for (int i = 0; i < on->remote_size; i++)
            add_block(&op->receive, units_between(op, on->remote[i], on->remote[i]));
        break;
    case ALLTOALL:
    case ALLTOALLV:
    case ALLTOALLW:
        for (int i = 0; i < on->remote_size; i++) {
            add_block(&op->send, units_between(op, rank, on->remote[i]));
            add_block(&op->receive, units_between(op, on->remote[i], rank));
        }
        break;
    case NEIGHBOR_ALLGATHER:
    case NEIGHBOR_ALLGATHERV:
        add_block(&op->send, units_between(op, rank, rank));
        for (int i = 0; i < on->ins; i++)
            add_block(&op->receive, units_between(op, on->sources[i], on->sources[i]));
        break;
    case EXCHANGE:
        add_block(&op->send, op->most);
        add_block(&op->receive, op->most);
        break;
    default:
        for (int i = 0; i < on->outs; i++)
            add_block(&op->send, units_between(op, rank, on->destinations[i]));
        for (int i = 0; i < on->ins; i++)
            add_block(&op->receive, units_between(op, on->sources[i], rank));
        break;
    }
    /* Every block of such a receive has the place that the count of the call gives it. */
    place_blocks(op, &op->send, 0);
    place_blocks(op, &op->receive, 1);
}

/* The keys of what this rank sends in its blocks, and of what it gets. */
static inline void key_blocks(struct operation *op)
{
    const struct communicator *on = op->on;
    int k = op->kind, neighbourly = k >= NEIGHBOR_ALLGATHER && k < EXCHANGE, has_one = sends_one(k);
    for (int i = 0; i < op->send.blocks; i++) {
        int to = neighbourly ? on->destinations[i] : on->remote[i];
        if (neighbourly && is_cartesian(on))
            to = i;
        op->send.content[i] = content_key(op, rank, has_one ? 0 : to + 1);
    }
    for (int i = 0; i < op->receive.blocks; i++) {
        int is_from_root = k == BCAST || k == SCATTER || k == SCATTERV;
        int from = is_from_root ? op->root : neighbourly ? on->sources[i] : on->remote[i];
        if (k == EXCHANGE)
            from = rank_at(op, -1);
        /* What comes from one side was sent to the other one. */
        int block = neighbourly && is_cartesian(on) ? i ^ 1 : rank;
        op->receive.content[i] = from == MPI_PROC_NULL ? 0 : content_key(op, from, has_one ? 0 : block + 1);
    }
}

static inline void write_blocks(struct operation *op, const struct side *side, byte *memory,
                                const uint64_t *content)
{
    for (int i = 0; i < side->blocks; i++) {
        const struct layout *layout = side->layouts[i];
        size_t bytes = side->units[i] * (size_t)units[op->unit].bytes;
        if (content[i] == 0)
            continue;
        byte *stream = room(bytes);
        fill_stream(stream, bytes, content[i]);
        spread(memory + side->base + side->places[i], layout, side->units[i] / (size_t)layout->per, stream);
        free(stream);
    }
}

static inline void write_reduction(struct operation *op)
{
    const struct communicator *on = op->on;
    struct layout *layout = &op->layouts[0];
    uint64_t keys[RANKS];
    size_t all = contributed(op), unit_bytes = (size_t)units[op->unit].bytes;
    struct reduction reduction = {op->unit, op->operation, all, keys};
    byte *stream = room(all * unit_bytes);
    contribute(stream, op->unit, op->operation, all, content_key(op, rank, 0));
    spread(op->send.memory + PAD, layout, all, stream);
    if (op->in_place)
        spread(op->receive.memory + PAD, layout, all, stream);
    memcpy(op->receive.image, op->receive.memory, op->receive.bytes);
    for (int i = 0; i < on->remote_size; i++)
        keys[i] = content_key(op, on->remote[i], 0);
    int end = op->kind == SCAN ? on->rank + 1 : op->kind == EXSCAN ? on->rank : on->remote_size;
    if (end > 0 && (op->kind != REDUCE || op->is_root)) {
        size_t skipped = 0, got = op->most;
        reduce_block(&reduction, 0, end, stream);
        if (op->kind == REDUCE_SCATTER || op->kind == REDUCE_SCATTER_BLOCK) {
            got = share_of(op, on->rank);
            for (int i = 0; i < on->rank; i++)
                skipped += share_of(op, i);
        }
        spread(op->receive.image + PAD, layout, got, stream + skipped * unit_bytes);
        if (is_floating(op->unit) && !is_of_nodes(on)) {
            uint64_t of = key_of(op->key, (uint64_t)rank, (uint64_t)op->round, 5);
            for (size_t i = skipped * unit_bytes; i + 4 <= (skipped + got) * unit_bytes; i += 4) {
                uint32_t word;
                memcpy(&word, stream + i, 4);
                of = (of ^ word) * 0x100000001b3u;
            }
            checksum ^= mix(of);
        }
    }
    free(stream);
}

/* Everything about this rank's part that does not change from round to round. */
static inline void prepare(struct operation *op)
{
    set_root(op);
    if (op->kind == BARRIER)
        return;
    if (is_reduction(op->kind))
        make_reduction(op);
    else
        make_movement(op);
}

/* The buffers before a round, and what they have to be after it. */
static inline void write_buffers(struct operation *op)
{
    struct side *send = &op->send, *receive = &op->receive;
    if (op->kind == BARRIER)
        return;
    fill_stream(send->memory, send->bytes, key_of(op->key, (uint64_t)op->round, (uint64_t)rank, 40));
    fill_stream(receive->memory, receive->bytes, key_of(op->key, (uint64_t)op->round, (uint64_t)rank, 41));
    if (is_reduction(op->kind)) {
        write_reduction(op);
    } else {
        key_blocks(op);
        write_blocks(op, send, send->memory, send->content);
        if (op->in_place && op->kind >= ALLTOALL)
            write_blocks(op, receive, receive->memory, send->content);
        /* In place, a rank's own block is there already. */
        uint64_t own[RANKS + 1] = {0};
        for (int i = 0; op->in_place && op->kind < ALLTOALL && i < receive->blocks; i++)
            own[i] = op->on->remote[i] == rank ? receive->content[i] : 0;
        if (op->in_place && op->kind != SCATTER && op->kind != SCATTERV)
            write_blocks(op, receive, receive->memory, own);
        memcpy(receive->image, receive->memory, receive->bytes);
        if (!op->in_place || (op->kind != SCATTER && op->kind != SCATTERV))
            write_blocks(op, receive, receive->image, receive->content);
    }
    memcpy(send->image, send->memory, send->bytes);
}
#endif
