/* Topologies: grids, graphs and distributed graphs; duplicates in the background, and hints. */
#include "check.h"

static MPI_Comm world; /* whose errors return */

static void grids(void)
{
    int dims[2] = {0, 0}, periods[2] = {1, 0}, got_dims[2], got_periods[2], coords[2], at, from, to, kind, n;
    MPI_Comm grid, dup, row, none;
    MPI_Dims_create(size, 2, dims);
    CHECK(dims[0] >= dims[1] && dims[0] * dims[1] == size);
    MPI_Cart_create(world, 2, dims, periods, 1, &grid);
    MPI_Comm_dup(grid, &dup);
    MPI_Topo_test(dup, &kind);
    CHECK_INT(kind, MPI_CART);
    MPI_Cartdim_get(dup, &n);
    CHECK_INT(n, 2);
    MPI_Cart_get(dup, 2, got_dims, got_periods, coords);
    CHECK(got_dims[0] == dims[0] && got_dims[1] == dims[1] && got_periods[0] == 1 && got_periods[1] == 0);
    CHECK(coords[0] == rank / dims[1] && coords[1] == rank % dims[1]);
    for (int i = 0; i < size; i++) {
        MPI_Cart_coords(dup, i, 2, coords);
        coords[0] -= 3 * dims[0]; /* a ring */
        MPI_Cart_rank(dup, coords, &at);
        CHECK_INT(at, i);
    }
    MPI_Cart_shift(dup, 0, 1, &from, &to);
    CHECK_INT(to, (rank + dims[1]) % size);
    CHECK_INT(from, (rank + size - dims[1]) % size);
    MPI_Sendrecv(&rank, 1, MPI_INT, to, 0, &at, 1, MPI_INT, from, 0, dup, MPI_STATUS_IGNORE);
    CHECK_INT(at, from);
    MPI_Cart_shift(dup, 1, 1, &from, &to);
    CHECK_INT(to, rank % dims[1] == dims[1] - 1 ? MPI_PROC_NULL : rank + 1);
    CHECK_INT(from, rank % dims[1] == 0 ? MPI_PROC_NULL : rank - 1);
    int keep[2] = {0, 1}, row_size, row_rank, sum;
    MPI_Cart_sub(dup, keep, &row);
    MPI_Comm_size(row, &row_size);
    MPI_Comm_rank(row, &row_rank);
    CHECK(row_size == dims[1] && row_rank == rank % dims[1]);
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, row);
    CHECK_INT(sum, rank / dims[1] * dims[1] * dims[1] + dims[1] * (dims[1] - 1) / 2);
    MPI_Comm_free(&row);
    keep[1] = 0;
    MPI_Cart_sub(dup, keep, &row);
    MPI_Comm_size(row, &row_size);
    MPI_Cartdim_get(row, &n);
    CHECK(row_size == 1 && n == 0);
    MPI_Comm_free(&row);
    /* a grid of fewer processes */
    int one = 1, map;
    MPI_Cart_map(world, 1, &one, &one, &map);
    CHECK_INT(map, rank == 0 ? 0 : MPI_UNDEFINED);
    MPI_Cart_create(world, 0, NULL, NULL, 0, &none);
    CHECK((none == MPI_COMM_NULL) == (rank != 0));
    if (none != MPI_COMM_NULL)
        MPI_Comm_free(&none);
    int flat[2] = {size, 0};
    MPI_Cart_map(world, 2, flat, periods, &map);
    CHECK_INT(map, MPI_UNDEFINED);
    MPI_Cart_create(world, 2, flat, periods, 0, &none);
    CHECK(none == MPI_COMM_NULL);
    int large = size + 1, bad = -1;
    CHECK_INT(class_of(MPI_Cart_create(world, 1, &large, &one, 0, &none)), MPI_ERR_DIMS);
    CHECK_INT(class_of(MPI_Cart_create(world, 1, &bad, &one, 0, &none)), MPI_ERR_DIMS);
    CHECK_INT(class_of(MPI_Cart_create(world, -1, &one, &one, 0, &none)), MPI_ERR_DIMS);
    CHECK_INT(class_of(MPI_Cart_create(world, 1, NULL, &one, 0, &none)), MPI_ERR_ARG);
    CHECK_INT(class_of(MPI_Cart_create(MPI_COMM_NULL, 1, &one, &one, 0, &none)), MPI_ERR_COMM);
    CHECK_INT(class_of(MPI_Cart_coords(dup, size, 2, coords)), MPI_ERR_RANK);
    CHECK_INT(class_of(MPI_Cart_coords(dup, 0, 1, coords)), MPI_ERR_DIMS);
    CHECK_INT(class_of(MPI_Cart_shift(dup, 2, 1, &from, &to)), MPI_ERR_DIMS);
    coords[0] = 0, coords[1] = dims[1];
    CHECK_INT(class_of(MPI_Cart_rank(dup, coords, &at)), MPI_ERR_ARG);
    CHECK_INT(class_of(MPI_Cartdim_get(world, &n)), MPI_ERR_TOPOLOGY);
    CHECK_INT(class_of(MPI_Graph_neighbors_count(dup, 0, &n)), MPI_ERR_TOPOLOGY);
    MPI_Topo_test(world, &kind);
    CHECK_INT(kind, MPI_UNDEFINED);
    MPI_Comm_free(&dup);
    MPI_Comm_free(&grid);
}

/* a star: node 0 with all others */
static void graphs(void)
{
    int index[16], edges[32], neighbours[32], n, m, kind;
    MPI_Comm graph;
    for (int i = 0; i < size; i++) {
        index[i] = size - 1 + i;
        if (i < size - 1)
            edges[i] = i + 1, edges[size - 1 + i] = 0; /* of node 0, and of the others: one each */
    }
    MPI_Graph_create(world, size, index, edges, 0, &graph);
    MPI_Topo_test(graph, &kind);
    CHECK_INT(kind, MPI_GRAPH);
    MPI_Graphdims_get(graph, &n, &m);
    CHECK(n == size && m == 2 * (size - 1));
    MPI_Graph_neighbors_count(graph, rank, &n);
    CHECK_INT(n, rank == 0 ? size - 1 : 1);
    MPI_Graph_neighbors(graph, rank, 32, neighbours);
    for (int i = 0; i < n; i++)
        CHECK_INT(neighbours[i], rank == 0 ? i + 1 : 0);
    neighbours[0] = neighbours[1] = -5;
    MPI_Graph_get(graph, 1, 0, neighbours, neighbours + 1);
    CHECK(neighbours[0] == size - 1 && neighbours[1] == -5);
    CHECK_INT(class_of(MPI_Graph_neighbors_count(graph, -1, &n)), MPI_ERR_RANK);
    int wrong[2] = {0, -1}, far = 99, one = 1;
    CHECK_INT(class_of(MPI_Graph_create(world, 17 + size, index, edges, 0, &graph)), MPI_ERR_TOPOLOGY);
    CHECK_INT(class_of(MPI_Graph_create(world, 1, &wrong[1], edges, 0, &graph)), MPI_ERR_ARG);
    CHECK_INT(class_of(MPI_Graph_create(world, 1, &one, &far, 0, &graph)), MPI_ERR_ARG);
    MPI_Comm_free(&graph);
}

/* The hints of the call that makes it are those of the communicator. */
static void hinted(void)
{
    MPI_Comm graphs[2];
    MPI_Info info, found;
    int length = MPI_MAX_INFO_VAL, flag;
    char value[MPI_MAX_INFO_VAL];
    MPI_Info_create(&info);
    MPI_Info_set(info, "bcs_collective", "allreduce=tree");
    MPI_Dist_graph_create(world, 0, NULL, NULL, NULL, MPI_UNWEIGHTED, info, 0, &graphs[0]);
    MPI_Dist_graph_create_adjacent(world, 0, NULL, MPI_UNWEIGHTED, 0, NULL, MPI_UNWEIGHTED, info, 0, &graphs[1]);
    MPI_Info_free(&info);
    for (int i = 0; i < 2; i++) {
        int one = 1, sum = 0;
        MPI_Comm_get_info(graphs[i], &found);
        MPI_Info_get_string(found, "bcs_collective", &length, value, &flag);
        CHECK(flag && !strcmp(value, "allreduce=tree"));
        MPI_Info_free(&found);
        length = MPI_MAX_INFO_VAL;
        MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, graphs[i]);
        CHECK_INT(sum, size);
        MPI_Comm_free(&graphs[i]);
    }
}

static void distributed(void)
{
    int from = (rank + size - 1) % size, to = (rank + 1) % size, in = 3 * rank, out = 3 * to, n, m, weighted;
    int sources[16], destinations[16], source_weights[16], dest_weights[16], kind;
    MPI_Comm graph;
    MPI_Dist_graph_create_adjacent(world, 1, &from, &in, 1, &to, &out, MPI_INFO_NULL, 0, &graph);
    MPI_Topo_test(graph, &kind);
    CHECK_INT(kind, MPI_DIST_GRAPH);
    MPI_Dist_graph_neighbors_count(graph, &n, &m, &weighted);
    CHECK(n == 1 && m == 1 && weighted);
    MPI_Dist_graph_neighbors(graph, 1, sources, source_weights, 1, destinations, dest_weights);
    CHECK(sources[0] == from && destinations[0] == to && source_weights[0] == in && dest_weights[0] == out);
    MPI_Comm_free(&graph);
    /* rank 0 says all edges: everybody to the next, and to itself */
    int starts[16], degrees[16], ends[32], weights[32];
    for (int i = 0; i < size; i++) {
        starts[i] = i, degrees[i] = 2;
        ends[2 * i] = (i + 1) % size, ends[2 * i + 1] = i;
        weights[2 * i] = i, weights[2 * i + 1] = 100 + i;
    }
    MPI_Dist_graph_create(world, rank == 0 ? size : 0, starts, degrees, ends, rank == 0 ? weights : MPI_WEIGHTS_EMPTY,
                          MPI_INFO_NULL, 1, &graph);
    MPI_Dist_graph_neighbors_count(graph, &n, &m, &weighted);
    CHECK(n == 2 && m == 2 && weighted);
    MPI_Dist_graph_neighbors(graph, 2, sources, source_weights, 2, destinations, dest_weights);
    CHECK(destinations[0] == to && destinations[1] == rank && dest_weights[0] == rank && dest_weights[1] == 100 + rank);
    CHECK((sources[0] == from && source_weights[0] == from) || (sources[1] == from && source_weights[1] == from) || size == 1);
    CHECK_INT(sources[0] + sources[1], from + rank);
    CHECK_INT(source_weights[0] + source_weights[1], from + 100 + rank);
    MPI_Comm_free(&graph);
    MPI_Dist_graph_create(world, 1, &rank, degrees, ends, MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &graph);
    MPI_Dist_graph_neighbors_count(graph, &n, &m, &weighted);
    CHECK(m == 2 && !weighted);
    MPI_Comm_free(&graph);
    int bad = -1, far = size;
    CHECK_INT(class_of(MPI_Dist_graph_create(world, 1, &far, degrees, ends, weights, MPI_INFO_NULL, 0, &graph)),
              MPI_ERR_RANK);
    CHECK_INT(class_of(MPI_Dist_graph_create(world, 1, &rank, &bad, ends, weights, MPI_INFO_NULL, 0, &graph)),
              MPI_ERR_ARG);
    CHECK_INT(class_of(MPI_Dist_graph_create_adjacent(world, 1, &from, &bad, 0, NULL, MPI_WEIGHTS_EMPTY,
                                                      MPI_INFO_NULL, 0, &graph)),
              MPI_ERR_ARG);
    CHECK_INT(class_of(MPI_Dist_graph_create_adjacent(world, -1, &from, &in, 0, NULL, MPI_WEIGHTS_EMPTY, MPI_INFO_NULL,
                                                      0, &graph)),
              MPI_ERR_ARG);
    CHECK_INT(class_of(MPI_Dist_graph_neighbors_count(world, &n, &m, &weighted)), MPI_ERR_TOPOLOGY);
}

static void background(void)
{
    MPI_Comm first, second;
    MPI_Request requests[2];
    MPI_Info info, used;
    int sum, flag, length = 8;
    char value[8];
    MPI_Info_create(&info);
    MPI_Info_set(info, "mpi_assert_no_any_tag", "true");
    MPI_Comm_idup(world, &first, &requests[0]);
    MPI_Comm_idup_with_info(world, info, &second, &requests[1]);
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, world); /* another collective meanwhile */
    CHECK_INT(sum, size * (size - 1) / 2);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    int to = (rank + 1) % size, from = (rank + size - 1) % size, one = 1, two = 2, got;
    MPI_Send(&one, 1, MPI_INT, to, 0, first);
    MPI_Send(&two, 1, MPI_INT, to, 0, second);
    MPI_Recv(&got, 1, MPI_INT, from, 0, second, MPI_STATUS_IGNORE);
    CHECK_INT(got, 2);
    MPI_Recv(&got, 1, MPI_INT, from, 0, first, MPI_STATUS_IGNORE);
    CHECK_INT(got, 1);
    MPI_Barrier(first);
    MPI_Comm_get_info(second, &used);
    MPI_Info_get_string(used, "mpi_assert_no_any_tag", &length, value, &flag);
    CHECK(flag && !strcmp(value, "true"));
    MPI_Info_free(&used);
    MPI_Comm_get_info(first, &used);
    length = 8;
    MPI_Info_get_string(used, "mpi_assert_no_any_tag", &length, value, &flag);
    CHECK(flag && !strcmp(value, "false"));
    MPI_Info_free(&used);
    MPI_Comm_set_info(first, info);
    MPI_Comm_get_info(first, &used);
    length = 8;
    MPI_Info_get_string(used, "mpi_assert_no_any_tag", &length, value, &flag);
    CHECK(flag && !strcmp(value, "true"));
    MPI_Info_free(&used);
    MPI_Comm_free(&first);
    MPI_Comm_free(&second);
    /* what processes share */
    MPI_Info_set(info, "mpi_hw_resource_type", "mpi_shared_memory");
    MPI_Comm_split_type(world, MPI_COMM_TYPE_HW_GUIDED, 0, info, &first);
    MPI_Comm_split_type(world, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &second);
    MPI_Comm_compare(first, second, &flag);
    CHECK_INT(flag, MPI_CONGRUENT);
    MPI_Comm_free(&first);
    MPI_Comm_free(&second);
    MPI_Info_set(info, "mpi_hw_resource_type", "hyperdrive");
    MPI_Info_set(info, "mpi_pset_name", "mpi://SELF");
    MPI_Comm_split_type(world, MPI_COMM_TYPE_HW_GUIDED, 0, info, &first);
    CHECK(first == MPI_COMM_NULL);
    MPI_Comm_split_type(world, MPI_COMM_TYPE_RESOURCE_GUIDED, 0, info, &first);
    MPI_Comm_compare(first, MPI_COMM_SELF, &flag);
    CHECK_INT(flag, MPI_CONGRUENT);
    MPI_Comm_free(&first);
    MPI_Info_free(&info);
    CHECK_INT(class_of(MPI_Comm_split_type(world, 12345, 0, MPI_INFO_NULL, &first)), MPI_ERR_ARG);
    CHECK_INT(class_of(MPI_Comm_set_info(world, (MPI_Info)(size_t)0x777777)), MPI_ERR_INFO);
    CHECK_INT(class_of(MPI_Comm_idup(world, NULL, requests)), MPI_ERR_ARG);
}

/* A communicator of a group alone, without a parent; two of them with tags that tell them apart. */
static void from_groups(void)
{
    MPI_Group all, part, back, end;
    MPI_Comm first, second;
    int ranges[1][3] = {{size - 1, 0, -1}}, own, sum, compared;
    MPI_Comm_group(MPI_COMM_WORLD, &all);
    MPI_Group_range_incl(all, 1, ranges, &back);
    MPI_Comm_create_from_group(back, "one", MPI_INFO_NULL, MPI_ERRORS_RETURN, &first);
    MPI_Comm_create_from_group(back, "two", MPI_INFO_NULL, MPI_ERRORS_RETURN, &second);
    MPI_Comm_rank(first, &own);
    CHECK_INT(own, size - 1 - rank);
    MPI_Comm_compare(first, second, &compared);
    CHECK_INT(compared, MPI_CONGRUENT);
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, first);
    CHECK_INT(sum, size * (size - 1) / 2);
    MPI_Barrier(second);
    CHECK_INT(class_of(MPI_Send(&own, 1, MPI_INT, size, 0, first)), MPI_ERR_RANK); /* its own error handler */
    MPI_Comm_free(&first);
    MPI_Comm_free(&second);
    MPI_Comm_create_from_group(MPI_GROUP_EMPTY, "none", MPI_INFO_NULL, MPI_ERRORS_RETURN, &first);
    CHECK(first == MPI_COMM_NULL);
    MPI_Group_excl(all, 1, &rank, &part);
    if (size > 1) {
        CHECK_INT(class_of(MPI_Comm_create_from_group(part, "out", MPI_INFO_NULL, MPI_ERRORS_RETURN, &first)), MPI_ERR_GROUP);
        MPI_Group_free(&part);
    }
    CHECK_INT(class_of(MPI_Comm_create_from_group(all, NULL, MPI_INFO_NULL, MPI_ERRORS_RETURN, &first)), MPI_ERR_ARG);
    CHECK_INT(class_of(MPI_Comm_create_from_group(all, "x", MPI_INFO_NULL, MPI_ERRHANDLER_NULL, &first)), MPI_ERR_ERRHANDLER);
    ranges[0][1] = size, ranges[0][2] = 1;
    CHECK_INT(class_of(MPI_Group_range_incl(all, 1, ranges, &end)), MPI_ERR_RANK);
    ranges[0][2] = 0;
    CHECK_INT(class_of(MPI_Group_range_excl(all, 1, ranges, &end)), MPI_ERR_ARG);
    MPI_Group_free(&back);
    MPI_Group_free(&all);
}

int main(int argc, char **argv)
{
    start(&argc, &argv);
    MPI_Comm_dup(MPI_COMM_WORLD, &world);
    MPI_Comm_set_errhandler(world, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN); /* of a null communicator's errors */
    grids();
    graphs();
    distributed();
    hinted();
    background();
    from_groups();
    MPI_Comm_free(&world);
    MPI_Finalize();
    return 0;
}
