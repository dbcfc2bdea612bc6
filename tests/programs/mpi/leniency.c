/* What programs rely on although the standard does not promise it, and what looks like a mistake but is none. */
#include "check.h"

/* To and from nobody nothing goes, so it needs no datatype. */
static void nothing_to_nobody(void)
{
    MPI_Status status;
    MPI_Request request = MPI_REQUEST_NULL;
    char room[MPI_BSEND_OVERHEAD + 64];
#define NOTHING NULL, 0, MPI_DATATYPE_NULL, MPI_PROC_NULL, 3, MPI_COMM_WORLD
    CHECK_INT(MPI_Send(NOTHING), MPI_SUCCESS);
    CHECK_INT(MPI_Ssend(NOTHING), MPI_SUCCESS);
    CHECK_INT(MPI_Rsend(NOTHING), MPI_SUCCESS);
    MPI_Buffer_attach(room, sizeof room);
    CHECK_INT(MPI_Bsend(NOTHING), MPI_SUCCESS);
    CHECK_INT(MPI_Send_c(NOTHING), MPI_SUCCESS);
    CHECK_INT(MPI_Recv(NOTHING, &status), MPI_SUCCESS);
    CHECK_INT(status.MPI_SOURCE, MPI_PROC_NULL);
    int (*const sends[])(const void *, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request *) = {
        MPI_Isend, MPI_Issend, MPI_Irsend, MPI_Ibsend,
    };
    for (size_t i = 0; i < sizeof sends / sizeof *sends; i++) {
        CHECK_INT(sends[i](NOTHING, &request), MPI_SUCCESS);
        CHECK_INT(MPI_Wait(&request, MPI_STATUS_IGNORE), MPI_SUCCESS);
    }
    CHECK_INT(MPI_Irecv(NOTHING, &request), MPI_SUCCESS);
    CHECK_INT(MPI_Wait(&request, &status), MPI_SUCCESS);
    CHECK_INT(status.MPI_SOURCE, MPI_PROC_NULL);
    int (*const persistent[])(const void *, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request *) = {
        MPI_Send_init, MPI_Ssend_init, MPI_Rsend_init, MPI_Bsend_init,
    };
    for (size_t i = 0; i <= sizeof persistent / sizeof *persistent; i++) {
        if (i < sizeof persistent / sizeof *persistent)
            CHECK_INT(persistent[i](NOTHING, &request), MPI_SUCCESS);
        else
            CHECK_INT(MPI_Recv_init(NOTHING, &request), MPI_SUCCESS);
        for (int times = 0; times < 2; times++) {
            CHECK_INT(MPI_Start(&request), MPI_SUCCESS);
            CHECK_INT(MPI_Wait(&request, MPI_STATUS_IGNORE), MPI_SUCCESS);
        }
        MPI_Request_free(&request);
    }
    CHECK_INT(MPI_Sendrecv(NULL, 0, MPI_DATATYPE_NULL, MPI_PROC_NULL, 1, NULL, 0, MPI_DATATYPE_NULL, MPI_PROC_NULL, 1, MPI_COMM_WORLD, &status), MPI_SUCCESS);
    MPI_Buffer_detach(&(void *){0}, &(int){0});
    /* Where there is somebody, or something, a datatype it has to be. */
    CHECK_INT(class_of(MPI_Send(NULL, 0, MPI_DATATYPE_NULL, rank, 3, MPI_COMM_WORLD)), MPI_ERR_TYPE);
    CHECK_INT(class_of(MPI_Send(room, 1, MPI_DATATYPE_NULL, MPI_PROC_NULL, 3, MPI_COMM_WORLD)), MPI_ERR_TYPE);
    CHECK_INT(class_of(MPI_Irecv(NULL, 0, MPI_DATATYPE_NULL, MPI_ANY_SOURCE, 3, MPI_COMM_WORLD, &request)), MPI_ERR_TYPE);
    CHECK_INT(class_of(MPI_Recv(room, 1, MPI_DATATYPE_NULL, MPI_PROC_NULL, 3, MPI_COMM_WORLD, &status)), MPI_ERR_TYPE);
    CHECK_INT(class_of(MPI_Send(NULL, 0, MPI_DATATYPE_NULL, MPI_PROC_NULL, -3, MPI_COMM_WORLD)), MPI_ERR_TAG);
}

/* Truth values in integers that hold addresses, offsets and counts. */
static void logical_operations(void)
{
    const MPI_Datatype types[] = {MPI_AINT, MPI_OFFSET, MPI_COUNT};
    const MPI_Op ops[] = {MPI_LAND, MPI_LOR, MPI_LXOR};
    const long long expected[] = {0, 1, 1};
    for (int t = 0; t < 3; t++)
        for (int o = 0; o < 3; o++) {
            long long from[2] = {rank == 0 ? 77 : 0, 1}, to[2] = {-1, -1};
            CHECK_INT(MPI_Allreduce(from, to, 2, types[t], ops[o], MPI_COMM_WORLD), MPI_SUCCESS);
            /* One operand alone is not combined, and stays as it is. */
            CHECK_INT(to[0], size == 1 ? 77 : expected[o]);
            CHECK_INT(to[1], o == 2 ? size % 2 : 1);
        }
}

/* One address twice where nothing is there, or where it is not looked at, or where each has its own bytes. */
static void one_address_without_harm(void)
{
    int data[64] = {0}, counts[8] = {0}, displs[8] = {0}, lengths[] = {1}, ones[8], others[8];
    MPI_Aint at;
    MPI_Datatype left, right;
    CHECK_INT(MPI_Allreduce(data, data, 0, MPI_INT, MPI_SUM, MPI_COMM_WORLD), MPI_SUCCESS);
    CHECK_INT(MPI_Allreduce(NULL, NULL, 0, MPI_INT, MPI_SUM, MPI_COMM_WORLD), MPI_SUCCESS);
    CHECK_INT(MPI_Scan(data, data, 0, MPI_INT, MPI_SUM, MPI_COMM_WORLD), MPI_SUCCESS);
    CHECK_INT(MPI_Allgather(data, 0, MPI_INT, data, 0, MPI_INT, MPI_COMM_WORLD), MPI_SUCCESS);
    CHECK_INT(MPI_Alltoallv(data, counts, displs, MPI_INT, data, counts, displs, MPI_INT, MPI_COMM_WORLD), MPI_SUCCESS);
    CHECK_INT(MPI_Reduce_local(data, data, 0, MPI_INT, MPI_SUM), MPI_SUCCESS);
    /* The receiving side of others than the root is not looked at. */
    data[0] = 1;
    CHECK_INT(MPI_Reduce(data, rank == 0 ? data + 1 : data, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD), MPI_SUCCESS);
    CHECK_INT(data[1], rank == 0 ? size : 0);
    CHECK_INT(MPI_Gather(data, 1, MPI_INT, rank == 0 ? data + 1 : data, 1, MPI_INT, 0, MPI_COMM_WORLD), MPI_SUCCESS);
    CHECK_INT(MPI_Scatter(rank == 0 ? data + 1 : data, 1, MPI_INT, data, 1, MPI_INT, 0, MPI_COMM_WORLD), MPI_SUCCESS);
    CHECK_INT(data[0], 1);
    /* A member of rank 0 gets nothing of MPI_Exscan. */
    CHECK_INT(MPI_Exscan(data, rank == 0 ? data : data + 1, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD), MPI_SUCCESS);
    /* One array, of which each block has its own half. */
    for (int i = 0; i < size; i++)
        ones[i] = 1, displs[i] = i, others[i] = size + i, data[i] = rank;
    CHECK_INT(MPI_Alltoallv(data, ones, displs, MPI_INT, data, ones, others, MPI_INT, MPI_COMM_WORLD), MPI_SUCCESS);
    for (int i = 0; i < size; i++)
        CHECK_INT(data[size + i], i);
    /* MPI_BOTTOM on both sides: the types say where. */
    MPI_Get_address(data, &at);
    MPI_Type_create_hindexed(1, lengths, &at, MPI_INT, &left);
    MPI_Get_address(data + 8, &at);
    MPI_Type_create_hindexed(1, lengths, &at, MPI_INT, &right);
    MPI_Type_commit(&left);
    MPI_Type_commit(&right);
    data[0] = rank, data[8] = -1;
    for (int i = 0; i < size; i++)
        displs[i] = 0;
    if (size == 1)
        CHECK_INT(MPI_Allgather(MPI_BOTTOM, 1, left, MPI_BOTTOM, 1, right, MPI_COMM_WORLD), MPI_SUCCESS);
    else
        data[8] = rank;
    CHECK_INT(data[8], rank);
    CHECK_INT(class_of(MPI_Alltoall(MPI_BOTTOM, 1, left, MPI_BOTTOM, 1, left, MPI_COMM_SELF)), MPI_ERR_BUFFER);
    MPI_Type_free(&left);
    MPI_Type_free(&right);
}

int main(int argc, char **argv)
{
    start(&argc, &argv);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    nothing_to_nobody();
    logical_operations();
    one_address_without_harm();
    return MPI_Finalize();
}
