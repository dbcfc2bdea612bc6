/* What is wrong with calls of intercommunicators: told with the standard's class, whatever the other ranks do. */
#include "check.h"

static int low, in_low, others, group_rank;
static MPI_Comm local, inter;

#define FAILS(call, class)                                                                                  \
    do {                                                                                                    \
        int code_ = (call);                                                                                 \
        CHECK_INT(class_of(code_), class);                                                                  \
    } while (0)

/* The root argument of this rank when rank `root` of one of the groups is the root. */
static int argument(int root_in_low, int root)
{
    if (in_low != root_in_low)
        return root;
    return group_rank == root ? MPI_ROOT : MPI_PROC_NULL;
}

static void of_communicators(void)
{
    MPI_Comm made, self = MPI_COMM_SELF;
    MPI_Group group;
    MPI_Status status;
    int value, dims = 1, periods = 0;
    MPI_Comm_set_errhandler(inter, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(local, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(self, MPI_ERRORS_RETURN);
    FAILS(MPI_Comm_remote_size(local, &value), MPI_ERR_COMM);
    FAILS(MPI_Comm_remote_group(local, &group), MPI_ERR_COMM);
    FAILS(MPI_Comm_remote_size(MPI_COMM_NULL, &value), MPI_ERR_COMM);
    FAILS(MPI_Comm_remote_size(inter, NULL), MPI_ERR_ARG);
    FAILS(MPI_Intercomm_merge(local, 0, &made), MPI_ERR_COMM);
    FAILS(MPI_Send(&value, 1, MPI_INT, others, 0, inter), MPI_ERR_RANK);
    FAILS(MPI_Recv(&value, 1, MPI_INT, others, 0, inter, &status), MPI_ERR_RANK);
    FAILS(MPI_Intercomm_create(inter, 0, MPI_COMM_WORLD, 0, 0, &made), MPI_ERR_COMM);
    FAILS(MPI_Intercomm_create(local, size, MPI_COMM_WORLD, 0, 0, &made), MPI_ERR_RANK);
    FAILS(MPI_Intercomm_create(local, 0, MPI_COMM_WORLD, 0, -3, &made), MPI_ERR_TAG);
    /* What is wrong at the leader alone, its group hears of. */
    FAILS(MPI_Intercomm_create(local, 0, MPI_COMM_NULL, 0, 0, &made), MPI_ERR_COMM);
    FAILS(MPI_Intercomm_create(local, 0, MPI_COMM_WORLD, size, 0, &made), MPI_ERR_RANK);
    FAILS(MPI_Intercomm_create(local, 0, local, 0, 0, &made), MPI_ERR_RANK);
    FAILS(MPI_Comm_create_group(inter, MPI_GROUP_EMPTY, 0, &made), MPI_ERR_COMM);
    FAILS(MPI_Cart_create(inter, 1, &dims, &periods, 0, &made), MPI_ERR_COMM);
    FAILS(MPI_Comm_split(inter, -5, 0, &made), MPI_ERR_ARG);
    MPI_Topo_test(inter, &value);
    CHECK_INT(value, MPI_UNDEFINED);
    FAILS(MPI_Neighbor_allgather(&value, 1, MPI_INT, &dims, 1, MPI_INT, inter), MPI_ERR_TOPOLOGY);
    FAILS(MPI_Dist_graph_create_adjacent(inter, 0, NULL, MPI_UNWEIGHTED, 0, NULL, MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &made), MPI_ERR_COMM);
    MPI_Comm_remote_group(inter, &group);
    FAILS(MPI_Comm_create(inter, group, &made), MPI_ERR_GROUP);
    FAILS(MPI_Intercomm_create_from_groups(group, 0, group, 0, "x", MPI_INFO_NULL, MPI_ERRORS_RETURN, &made), MPI_ERR_GROUP);
    MPI_Group_free(&group);
    MPI_Comm_group(inter, &group);
    FAILS(MPI_Intercomm_create_from_groups(group, 0, group, 0, "x", MPI_INFO_NULL, MPI_ERRORS_RETURN, &made), MPI_ERR_GROUP);
    FAILS(MPI_Intercomm_create_from_groups(group, size, group, 0, "x", MPI_INFO_NULL, MPI_ERRORS_RETURN, &made), MPI_ERR_RANK);
    MPI_Group_free(&group);
    /* Members of a group that say different things. */
    int merged = MPI_Intercomm_merge(inter, group_rank == 0, &made);
    CHECK_INT(class_of(merged), size == 2 ? MPI_SUCCESS : MPI_ERR_ARG);
    if (merged == MPI_SUCCESS)
        MPI_Comm_free(&made);
    MPI_Comm_set_errhandler(self, MPI_ERRORS_ARE_FATAL);
}

static void of_collectives(void)
{
    MPI_Request request;
    int a[16] = {0}, b[16], at = argument(1, 0);
    MPI_Comm_set_errhandler(inter, MPI_ERRORS_RETURN);
    FAILS(MPI_Scan(a, b, 1, MPI_INT, MPI_SUM, inter), MPI_ERR_COMM);
    FAILS(MPI_Exscan(a, b, 1, MPI_INT, MPI_SUM, inter), MPI_ERR_COMM);
    FAILS(MPI_Iscan(a, b, 1, MPI_INT, MPI_SUM, inter, &request), MPI_ERR_COMM);
    FAILS(MPI_Iexscan(a, b, 1, MPI_INT, MPI_SUM, inter, &request), MPI_ERR_COMM);
    FAILS(MPI_Scan_init(a, b, 1, MPI_INT, MPI_SUM, inter, MPI_INFO_NULL, &request), MPI_ERR_COMM);
    FAILS(MPI_Bcast(a, 1, MPI_INT, others, inter), MPI_ERR_ROOT);
    FAILS(MPI_Bcast(a, 1, MPI_INT, -77, inter), MPI_ERR_ROOT);
    FAILS(MPI_Ireduce(a, b, 1, MPI_INT, MPI_SUM, others, inter, &request), MPI_ERR_ROOT);
    FAILS(MPI_Bcast(a, -1, MPI_INT, MPI_ROOT, inter), MPI_ERR_COUNT);
    FAILS(MPI_Bcast(NULL, 1, MPI_INT, 0, inter), MPI_ERR_BUFFER);
    FAILS(MPI_Bcast(a, 1, MPI_DATATYPE_NULL, 0, inter), MPI_ERR_TYPE);
    FAILS(MPI_Allreduce(a, b, 1, MPI_INT, MPI_OP_NULL, inter), MPI_ERR_OP);
    FAILS(MPI_Allgather(MPI_IN_PLACE, 1, MPI_INT, b, 1, MPI_INT, inter), MPI_ERR_BUFFER);
    FAILS(MPI_Alltoall(MPI_IN_PLACE, 1, MPI_INT, b, 1, MPI_INT, inter), MPI_ERR_BUFFER);
    FAILS(MPI_Iallreduce(MPI_IN_PLACE, b, 1, MPI_INT, MPI_SUM, inter, &request), MPI_ERR_BUFFER);
    FAILS(MPI_Reduce_scatter_block(MPI_IN_PLACE, b, 1, MPI_INT, MPI_SUM, inter), MPI_ERR_BUFFER);
    if (at >= 0) {
        FAILS(MPI_Gather(MPI_IN_PLACE, 1, MPI_INT, NULL, 0, MPI_INT, at, inter), MPI_ERR_BUFFER);
        FAILS(MPI_Scatter(NULL, 0, MPI_INT, MPI_IN_PLACE, 1, MPI_INT, at, inter), MPI_ERR_BUFFER);
        FAILS(MPI_Reduce(MPI_IN_PLACE, NULL, 1, MPI_INT, MPI_SUM, at, inter), MPI_ERR_BUFFER);
    }
    /* What is longer or shorter than its place is said by who sees it; nobody waits for it. */
    int ones[16], places[16];
    for (int i = 0; i < 16; i++) {
        ones[i] = 1;
        places[i] = i;
    }
    FAILS(MPI_Allgatherv(a, in_low ? 2 : 1, MPI_INT, b, ones, places, MPI_INT, inter), in_low ? MPI_SUCCESS : MPI_ERR_TRUNCATE);
    FAILS(MPI_Allgatherv(a, in_low ? 0 : 1, MPI_INT, b, ones, places, MPI_INT, inter), in_low ? MPI_SUCCESS : MPI_ERR_COUNT);
    FAILS(MPI_Barrier(inter), MPI_SUCCESS);
    MPI_Comm_set_errhandler(inter, MPI_ERRORS_ARE_FATAL);
}

int main(int argc, char **argv)
{
    start(&argc, &argv);
    for (low = 1; low < size; low += 2) {
        in_low = rank < low;
        others = in_low ? size - low : low;
        MPI_Comm_split(MPI_COMM_WORLD, in_low, rank, &local);
        MPI_Comm_rank(local, &group_rank);
        MPI_Intercomm_create(local, 0, MPI_COMM_WORLD, in_low ? low : 0, 1, &inter);
        of_communicators();
        of_collectives();
        MPI_Comm_free(&inter);
        MPI_Comm_free(&local);
    }
    return MPI_Finalize();
}
