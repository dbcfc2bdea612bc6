/* Communicators that are made in one way and freed, one after the other: made_and_freed WAY TIMES. */
#include "check.h"

static MPI_Comm leaders; /* the two halves of the world, as an intercommunicator */

static void make_and_free(const char *way)
{
    MPI_Comm new = MPI_COMM_NULL, half = MPI_COMM_NULL;
    MPI_Group world, some;
    int dims = size, periods = 0, last = size - 1, degrees[1] = {1}, next = (rank + 1) % size;
    if (strcmp(way, "dup") == 0) {
        MPI_Comm_dup(MPI_COMM_WORLD, &new);
    } else if (strcmp(way, "idup") == 0) {
        MPI_Request request;
        MPI_Comm_idup(MPI_COMM_WORLD, &new, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    } else if (strcmp(way, "split") == 0) {
        MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &new);
    } else if (strcmp(way, "split_type") == 0) {
        MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, rank, MPI_INFO_NULL, &new);
    } else if (strcmp(way, "cart") == 0) {
        MPI_Cart_create(MPI_COMM_WORLD, 1, &dims, &periods, 0, &new);
    } else if (strcmp(way, "sub") == 0) {
        int both[2] = {1, 0};
        MPI_Cart_create(MPI_COMM_WORLD, 1, &dims, &periods, 0, &half);
        MPI_Cart_sub(half, both, &new);
    } else if (strcmp(way, "graph") == 0) {
        MPI_Dist_graph_create(MPI_COMM_WORLD, 1, &rank, degrees, &next, MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &new);
    } else if (strcmp(way, "create") == 0 || strcmp(way, "create_group") == 0) {
        MPI_Comm_group(MPI_COMM_WORLD, &world);
        MPI_Group_excl(world, 1, &last, &some);
        if (way[6] == 0)
            MPI_Comm_create(MPI_COMM_WORLD, some, &new);
        else if (rank != last)
            MPI_Comm_create_group(MPI_COMM_WORLD, some, 3, &new);
        MPI_Group_free(&some);
        MPI_Group_free(&world);
    } else if (strcmp(way, "inter") == 0) {
        MPI_Intercomm_create(leaders, 0, MPI_COMM_WORLD, rank % 2 ? 0 : 1, 5, &new);
    } else if (strcmp(way, "merge") == 0) {
        MPI_Intercomm_create(leaders, 0, MPI_COMM_WORLD, rank % 2 ? 0 : 1, 5, &half);
        MPI_Intercomm_merge(half, rank % 2, &new);
    } else {
        CHECK(!"a way");
    }
    if (new != MPI_COMM_NULL)
        MPI_Comm_free(&new);
    if (half != MPI_COMM_NULL)
        MPI_Comm_free(&half);
}

int main(int argc, char **argv)
{
    start(&argc, &argv);
    CHECK(argc > 2);
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &leaders);
    for (int i = 0; i < atoi(argv[2]); i++)
        make_and_free(argv[1]);
    MPI_Comm_free(&leaders);
    MPI_Finalize();
    return 0;
}
