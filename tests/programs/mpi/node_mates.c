/* What MPI_Comm_split_type tells apart: the ranks of a node share memory, those of different ones do not, and no clock either.

       node_mates [NODES]

   Ranks are dealt to so many nodes in turn; without a number, a node is all ranks of one processor name. */
#include "check.h"

static int nodes;
static char (*names)[MPI_MAX_PROCESSOR_NAME];

static int is_mate(int other)
{
    return nodes > 0 ? other % nodes == rank % nodes : strcmp(names[other], names[rank]) == 0;
}

/* A communicator of this rank's node, in the order of ranks, or from the last to the first. */
static void check_mates(MPI_Comm mates, int backwards)
{
    int mates_size, mates_rank, expected_size = 0, expected_rank = 0;
    CHECK(mates != MPI_COMM_NULL);
    MPI_Comm_size(mates, &mates_size);
    MPI_Comm_rank(mates, &mates_rank);
    for (int other = 0; other < size; other++) {
        expected_size += is_mate(other);
        expected_rank += is_mate(other) && (backwards ? other > rank : other < rank);
    }
    CHECK_INT(mates_size, expected_size);
    CHECK_INT(mates_rank, expected_rank);
    int sum = 0, expected = 0;
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, mates);
    for (int other = 0; other < size; other++)
        expected += is_mate(other) ? other : 0;
    CHECK_INT(sum, expected);
}

/* The same of a part of the ranks. */
static void check_part(MPI_Comm world)
{
    MPI_Comm part, mates;
    int part_size, mates_size, expected = 0;
    MPI_Comm_split(world, rank == 0, rank, &part);
    MPI_Comm_size(part, &part_size);
    MPI_Comm_split_type(part, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &mates);
    MPI_Comm_size(mates, &mates_size);
    for (int other = rank == 0 ? 0 : 1; other < (rank == 0 ? 1 : size); other++)
        expected += is_mate(other);
    CHECK_INT(mates_size, expected);
    MPI_Comm_free(&mates);
    /* Of one node nothing less is known. */
    MPI_Comm_split_type(part, MPI_COMM_TYPE_HW_UNGUIDED, 0, MPI_INFO_NULL, &mates);
    CHECK_INT(mates == MPI_COMM_NULL, expected == part_size);
    if (mates != MPI_COMM_NULL)
        MPI_Comm_free(&mates);
    MPI_Comm_free(&part);
}

int main(int argc, char **argv)
{
    int length, flag, *is_global, are_all_mates = 1;
    char value[MPI_MAX_INFO_VAL];
    MPI_Comm mates;
    MPI_Info info;
    start(&argc, &argv);
    if (argc > 1)
        nodes = atoi(argv[1]);
    names = calloc((size_t)size, sizeof *names);
    MPI_Get_processor_name(names[rank], &length);
    MPI_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, names, sizeof *names, MPI_CHAR, MPI_COMM_WORLD);
    for (int other = 0; other < size; other++)
        are_all_mates &= is_mate(other);

    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &mates);
    check_mates(mates, 0);
    MPI_Comm_free(&mates);
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, -rank, MPI_INFO_NULL, &mates);
    check_mates(mates, 1);
    MPI_Comm_free(&mates);
    MPI_Comm_split_type(MPI_COMM_WORLD, rank == 0 ? MPI_UNDEFINED : MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &mates);
    CHECK_INT(mates == MPI_COMM_NULL, rank == 0);
    if (mates != MPI_COMM_NULL)
        MPI_Comm_free(&mates);

    MPI_Info_create(&info);
    MPI_Info_set(info, "mpi_hw_resource_type", "mpi_shared_memory");
    int guided[] = {MPI_COMM_TYPE_HW_GUIDED, MPI_COMM_TYPE_RESOURCE_GUIDED};
    for (int i = 0; i < 2; i++) {
        MPI_Comm_split_type(MPI_COMM_WORLD, guided[i], 0, info, &mates);
        check_mates(mates, 0);
        MPI_Comm_free(&mates);
    }
    MPI_Info_free(&info);

    /* What is less than all, if that is known, and its name. */
    MPI_Info_create(&info);
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_HW_UNGUIDED, 0, info, &mates);
    CHECK_INT(mates == MPI_COMM_NULL, are_all_mates);
    length = sizeof value;
    MPI_Info_get_string(info, "mpi_hw_resource_type", &length, value, &flag);
    CHECK_INT(flag, !are_all_mates);
    if (mates != MPI_COMM_NULL) {
        CHECK(strcmp(value, "mpi_shared_memory") == 0);
        check_mates(mates, 0);
        MPI_Comm_free(&mates);
    }
    MPI_Info_free(&info);
    check_part(MPI_COMM_WORLD);
    MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_WTIME_IS_GLOBAL, &is_global, &flag);
    CHECK(flag);
    CHECK_INT(*is_global, are_all_mates);
    free(names);
    MPI_Finalize();
    return 0;
}
