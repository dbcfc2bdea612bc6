/* A program as one wrote it in 1995, with what MPI-3.0 has removed. */
#define MPI1_COMPATIBILITY
#include "check.h"

struct particle {
    char kind;
    double place[3];
    int number;
};

static int told;

static void tell(MPI_Comm *comm, int *code, ...)
{
    (void)comm, (void)code;
    told++;
}

/* The type of a structure, which ends where the compiler says. */
static void structures(void)
{
    struct particle particles[3], got[3];
    int lengths[4], i, k;
    MPI_Aint displacements[4], start, extent, bound;
    MPI_Datatype types[4], particle;
    MPI_Status status;
    MPI_Request request;
    memset(particles, 0, sizeof particles);
    memset(got, 0, sizeof got);
    MPI_Address(&particles[0], &start);
    MPI_Address(&particles[0].kind, &displacements[0]);
    MPI_Address(particles[0].place, &displacements[1]);
    MPI_Address(&particles[0].number, &displacements[2]);
    MPI_Address(&particles[1], &displacements[3]);
    for (i = 0; i < 4; i++)
        displacements[i] -= start;
    lengths[0] = 1, lengths[1] = 3, lengths[2] = 1, lengths[3] = 1;
    types[0] = MPI_CHAR, types[1] = MPI_DOUBLE, types[2] = MPI_INT, types[3] = MPI_UB;
    MPI_Type_struct(4, lengths, displacements, types, &particle);
    MPI_Type_commit(&particle);
    MPI_Type_extent(particle, &extent);
    CHECK_INT(extent, sizeof(struct particle));
    MPI_Type_lb(particle, &bound);
    CHECK_INT(bound, 0);
    MPI_Type_ub(particle, &bound);
    CHECK_INT(bound, sizeof(struct particle));
    for (i = 0; i < 3; i++) {
        particles[i].kind = (char)('a' + rank);
        particles[i].number = 10 * rank + i;
        for (k = 0; k < 3; k++)
            particles[i].place[k] = rank + 0.25 * i + k;
    }
    MPI_Isend(particles, 3, particle, (rank + 1) % size, 1, MPI_COMM_WORLD, &request);
    MPI_Recv(got, 3, particle, MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, &status);
    MPI_Wait(&request, &status);
    for (i = 0; i < 3; i++) {
        int before = (rank + size - 1) % size;
        CHECK_INT(got[i].kind, 'a' + before);
        CHECK_INT(got[i].number, 10 * before + i);
        for (k = 0; k < 3; k++)
            CHECK(got[i].place[k] == before + 0.25 * i + k);
    }
    MPI_Type_free(&particle);
}

/* Where markers are, the type begins and ends, and what is made of it. */
static void markers(void)
{
    int lengths[3] = {1, 1, 1};
    MPI_Aint displacements[3] = {-3, 0, 6}, bound, extent;
    MPI_Datatype types[3], marked, outer;
    types[0] = MPI_LB, types[1] = MPI_INT, types[2] = MPI_UB;
    MPI_Type_struct(3, lengths, displacements, types, &marked);
    MPI_Type_lb(marked, &bound);
    CHECK_INT(bound, -3);
    MPI_Type_ub(marked, &bound);
    CHECK_INT(bound, 6);
    MPI_Type_extent(marked, &extent);
    CHECK_INT(extent, 9);
    MPI_Type_contiguous(2, marked, &outer);
    MPI_Type_extent(outer, &extent);
    CHECK_INT(extent, 18);
    MPI_Type_free(&outer);
    /* A marker further in than a component's does not move it. */
    displacements[0] = -1, displacements[1] = 0, displacements[2] = 2;
    types[1] = marked;
    MPI_Type_struct(3, lengths, displacements, types, &outer);
    MPI_Type_lb(outer, &bound);
    CHECK_INT(bound, -3);
    MPI_Type_ub(outer, &bound);
    CHECK_INT(bound, 6);
    MPI_Type_free(&outer);
    MPI_Type_free(&marked);
    /* No markers: as MPI_Type_create_struct. */
    displacements[0] = 4, displacements[1] = 8;
    types[0] = types[1] = MPI_INT;
    MPI_Type_struct(2, lengths, displacements, types, &marked);
    MPI_Type_lb(marked, &bound);
    CHECK_INT(bound, 4);
    MPI_Type_extent(marked, &extent);
    CHECK_INT(extent, 8);
    MPI_Type_free(&marked);
    /* Markers alone. */
    types[0] = MPI_LB, types[1] = MPI_UB;
    MPI_Type_struct(2, lengths, displacements, types, &marked);
    MPI_Type_extent(marked, &extent);
    CHECK_INT(extent, 4);
    MPI_Type_free(&marked);
}

/* Columns of a matrix, and pieces of it. */
static void strides(void)
{
    int matrix[4][5], column[4], i, lengths[2];
    MPI_Aint displacements[2];
    MPI_Datatype columns, pieces;
    MPI_Status status;
    for (i = 0; i < 20; i++)
        matrix[i / 5][i % 5] = i;
    MPI_Type_hvector(4, 1, (MPI_Aint)(5 * sizeof(int)), MPI_INT, &columns);
    MPI_Type_commit(&columns);
    MPI_Sendrecv(&matrix[0][2], 1, columns, rank, 2, column, 4, MPI_INT, rank, 2, MPI_COMM_WORLD, &status);
    for (i = 0; i < 4; i++)
        CHECK_INT(column[i], 5 * i + 2);
    lengths[0] = 3, lengths[1] = 1;
    displacements[0] = 5 * sizeof(int), displacements[1] = 0;
    MPI_Type_hindexed(2, lengths, displacements, MPI_INT, &pieces);
    MPI_Type_commit(&pieces);
    MPI_Sendrecv(matrix, 1, pieces, rank, 2, column, 4, MPI_INT, rank, 2, MPI_COMM_WORLD, &status);
    CHECK(column[0] == 5 && column[1] == 6 && column[2] == 7 && column[3] == 0);
    MPI_Type_free(&columns);
    MPI_Type_free(&pieces);
}

static void handlers(void)
{
    MPI_Errhandler own, was, now;
    MPI_Handler_function *function = tell;
    int there;
    MPI_Errhandler_get(MPI_COMM_WORLD, &was);
    CHECK(was == MPI_ERRORS_ARE_FATAL);
    MPI_Errhandler_create(function, &own);
    MPI_Errhandler_set(MPI_COMM_WORLD, own);
    MPI_Errhandler_get(MPI_COMM_WORLD, &now);
    CHECK(now == own);
    MPI_Errhandler_free(&now);
    MPI_Errhandler_free(&own);
    MPI_Send(&there, 1, MPI_INT, size, 1, MPI_COMM_WORLD);
    CHECK_INT(told, 1);
    MPI_Errhandler_set(MPI_COMM_WORLD, was);
}

int main(int argc, char **argv)
{
    start(&argc, &argv);
    structures();
    markers();
    strides();
    handlers();
    CHECK(MPI_COMBINER_HVECTOR_INTEGER != MPI_COMBINER_HVECTOR && MPI_COMBINER_STRUCT_INTEGER != MPI_COMBINER_HINDEXED_INTEGER);
    MPI_Finalize();
    return 0;
}
