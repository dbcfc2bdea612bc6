/* Communicators of random programs: all kinds of groups, overlapping, in any order, and pairs of groups. */
#ifndef RANDOM_COMMUNICATORS_H
#define RANDOM_COMMUNICATORS_H
#include "random_types.h"

enum { RANKS = 64 };
enum {
    WORLD, DUPLICATE, REVERSED, SPLIT, SPLIT_AGAIN, CREATED, NODE, LEADERS, MERGED, INTER, INTER_DUPLICATE,
    CARTESIAN, SUB_CARTESIAN, GRAPH, COMMUNICATOR_KINDS
};
static const char *const communicator_names[] = {
    "world", "duplicate", "reversed", "split", "split of a split", "created from a group", "node",
    "leaders of nodes", "merged", "inter", "duplicate of inter", "cartesian", "part of cartesian", "graph",
};

struct communicator {
    int kind, is_made;
    uint64_t key;
    int rank, size, remote_size;       /* Within a group, the remote group is the local one. */
    int group;                         /* Of the two of an intercommunicator. */
    int members[RANKS], remote[RANKS]; /* Their ranks in the world. */
    int ins, outs, sources[RANKS], destinations[RANKS];
    MPI_Comm comm;
};

static inline int is_inter(const struct communicator *of)
{
    return of->kind == INTER || of->kind == INTER_DUPLICATE;
}
static inline int is_cartesian(const struct communicator *of)
{
    return of->kind == CARTESIAN || of->kind == SUB_CARTESIAN;
}
/* Its members depend on the places of ranks. */
static inline int is_of_nodes(const struct communicator *of)
{
    return of->kind == NODE || of->kind == LEADERS;
}

static inline void members_of(MPI_Comm comm, int is_remote, int *count, int *in_world)
{
    MPI_Group group, world;
    int ranks[RANKS];
    if (is_remote)
        MPI_Comm_remote_group(comm, &group);
    else
        MPI_Comm_group(comm, &group);
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Group_size(group, count);
    for (int i = 0; i < *count; i++)
        ranks[i] = i;
    MPI_Group_translate_ranks(group, *count, ranks, world, in_world);
    MPI_Group_free(&group);
    MPI_Group_free(&world);
}

/* Two groups, neither of them empty; the second one may be in reversed order. */
static inline MPI_Comm make_inter(uint64_t *state, int *group)
{
    int colours[RANKS], leaders[2] = {-1, -1}, reverses = below(state, 2);
    MPI_Comm local, inter;
    for (int i = 0; i < size; i++)
        colours[i] = below(state, 2);
    int first = below(state, size);
    colours[first] = 0;
    colours[(first + 1) % size] = 1;
    for (int i = 0; i < size; i++)
        if (leaders[colours[i]] < 0 || (colours[i] && reverses))
            leaders[colours[i]] = i;
    *group = colours[rank];
    MPI_Comm_split(MPI_COMM_WORLD, *group, *group && reverses ? -rank : rank, &local);
    MPI_Intercomm_create(local, 0, MPI_COMM_WORLD, leaders[!*group], 3, &inter);
    MPI_Comm_free(&local);
    return inter;
}

/* Edges between any two ranks, loops too; each rank has its own order of them. */
static inline MPI_Comm make_graph(struct communicator *to, uint64_t *state)
{
    uint64_t key = draw(state), density = 1 + draw(state) % 4;
    MPI_Comm graph;
    for (int i = 0, first = (int)(mix(key + (uint64_t)rank) % (uint64_t)size); i < size; i++) {
        int other = (first + i) % size;
        if (key_of(key, (uint64_t)other, (uint64_t)rank, 0) % 4 < density)
            to->sources[to->ins++] = other;
        if (key_of(key, (uint64_t)rank, (uint64_t)other, 0) % 4 < density)
            to->destinations[to->outs++] = other;
    }
    MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, to->ins, to->sources, MPI_UNWEIGHTED, to->outs,
                                   to->destinations, MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &graph);
    return graph;
}

static inline MPI_Comm make_cartesian(struct communicator *to, uint64_t *state)
{
    int extents[2] = {0, 0}, periods[2], kept[2], dimensions = 1 + below(state, 2);
    MPI_Comm cartesian, part;
    periods[0] = below(state, 2), periods[1] = below(state, 2);
    kept[0] = below(state, 2), kept[1] = !kept[0];
    if (to->kind == SUB_CARTESIAN)
        dimensions = 2;
    MPI_Dims_create(size, dimensions, extents);
    MPI_Cart_create(MPI_COMM_WORLD, dimensions, extents, periods, 0, &cartesian);
    if (to->kind == SUB_CARTESIAN) {
        MPI_Cart_sub(cartesian, kept, &part);
        MPI_Comm_free(&cartesian);
        cartesian = part, dimensions = 1;
    }
    for (int d = 0; d < dimensions; d++) {
        int before, after;
        MPI_Cart_shift(cartesian, d, 1, &before, &after);
        to->sources[2 * d] = to->destinations[2 * d] = before;
        to->sources[2 * d + 1] = to->destinations[2 * d + 1] = after;
    }
    to->ins = to->outs = 2 * dimensions;
    return cartesian;
}

/* Some of the ranks, in any order. */
static inline MPI_Comm make_from_group(uint64_t *state)
{
    int ranks[RANKS], count = 1 + below(state, size);
    MPI_Group world, group;
    MPI_Comm comm;
    for (int i = 0; i < size; i++) {
        int j = below(state, i + 1);
        ranks[i] = ranks[j], ranks[j] = i;
    }
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Group_incl(world, count, ranks, &group);
    MPI_Comm_create(MPI_COMM_WORLD, group, &comm);
    MPI_Group_free(&world);
    MPI_Group_free(&group);
    return comm;
}

/* One of a few ranks is in none of them. */
static inline MPI_Comm make_split(MPI_Comm of, uint64_t *state)
{
    uint64_t colours = 1 + draw(state) % 3, mine = key_of(draw(state), (uint64_t)rank, 0, 0);
    MPI_Comm comm;
    int colour = mine % 7 == 0 ? MPI_UNDEFINED : (int)((mine >> 8) % colours);
    MPI_Comm_split(of, colour, (int)((mine >> 40) % 5), &comm);
    return comm;
}

static inline void make_communicator(struct communicator *to)
{
    uint64_t *state = &to->key;
    int order = (int)(key_of(draw(state), (uint64_t)rank, 0, 0) % 5), of_node;
    MPI_Comm other, *comm = &to->comm, world = MPI_COMM_WORLD;
    MPI_Request request;
    to->is_made = 1;
    switch (to->kind) {
    case WORLD: *comm = world; break;
    case DUPLICATE:
        if (below(state, 2)) {
            MPI_Comm_dup(world, comm);
        } else {
            MPI_Comm_idup(world, comm, &request);
            MPI_Wait(&request, MPI_STATUS_IGNORE);
        }
        break;
    case REVERSED: MPI_Comm_split(world, 0, -rank, comm); break;
    case SPLIT: *comm = make_split(world, state); break;
    case SPLIT_AGAIN:
        *comm = other = make_split(world, state);
        if (other != MPI_COMM_NULL) {
            *comm = make_split(other, state);
            MPI_Comm_free(&other);
        }
        break;
    case CREATED: *comm = make_from_group(state); break;
    case NODE: MPI_Comm_split_type(world, MPI_COMM_TYPE_SHARED, order, MPI_INFO_NULL, comm); break;
    case LEADERS:
        MPI_Comm_split_type(world, MPI_COMM_TYPE_SHARED, rank, MPI_INFO_NULL, &other);
        MPI_Comm_rank(other, &of_node);
        MPI_Comm_split(world, of_node ? MPI_UNDEFINED : 0, order, comm);
        MPI_Comm_free(&other);
        break;
    case MERGED:
        other = make_inter(state, &to->group);
        MPI_Intercomm_merge(other, to->group ^ below(state, 2), comm);
        MPI_Comm_free(&other);
        to->group = 0;
        break;
    case INTER: *comm = make_inter(state, &to->group); break;
    case INTER_DUPLICATE:
        other = make_inter(state, &to->group);
        MPI_Comm_dup(other, comm);
        MPI_Comm_free(&other);
        break;
    case GRAPH: *comm = make_graph(to, state); break;
    default: *comm = make_cartesian(to, state); break;
    }
    if (*comm == MPI_COMM_NULL)
        return;
    MPI_Comm_rank(*comm, &to->rank);
    members_of(*comm, 0, &to->size, to->members);
    members_of(*comm, is_inter(to), &to->remote_size, to->remote);
    for (int i = 0; i < to->ins; i++)
        if (to->sources[i] != MPI_PROC_NULL)
            to->sources[i] = to->members[to->sources[i]];
    for (int i = 0; i < to->outs; i++)
        if (to->destinations[i] != MPI_PROC_NULL)
            to->destinations[i] = to->members[to->destinations[i]];
}

static inline void free_communicators(struct communicator *first, int count)
{
    for (int i = 0; i < count; i++)
        if (first[i].is_made && first[i].kind != WORLD && first[i].comm != MPI_COMM_NULL)
            MPI_Comm_free(&first[i].comm);
}
#endif
