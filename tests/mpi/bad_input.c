/* Every wrong argument has its error class and a message with call, argument and value; nothing crashes, and the other ranks are unharmed.
 *
 * Prints a line an error: class name, then the error string; the runner knows the texts. Not portable: other implementations crash on some of
 * these. */
#include "check.h"

static int failures;

static void expect(const char *what, int code, int class)
{
    char text[MPI_MAX_ERROR_STRING];
    int length;
    MPI_Error_string(code, text, &length);
    if (class_of(code) != class) {
        fprintf(stderr, "%s: class %d, not %d: %s\n", what, class_of(code), class, text);
        failures++;
    }
    printf("%s\n", text);
}

#define WRONG(class, call) expect(#call, call, class)

int main(int argc, char **argv)
{
    int value = 1, values[4] = {0}, flag, index, key = 12345, indices[2], peer, got;
    void *pointer;
    MPI_Request request = MPI_REQUEST_NULL, freed, requests[2];
    MPI_Status status, statuses[2];
    MPI_Comm comm, freed_comm;
    MPI_Group group, freed_group;
    start(&argc, &argv);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    peer = (rank + 1) % size;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    freed_comm = comm;
    MPI_Comm_free(&comm);
    MPI_Comm_group(MPI_COMM_WORLD, &group);
    freed_group = group;
    MPI_Group_free(&group);
    MPI_Irecv(&value, 1, MPI_INT, rank, 5, MPI_COMM_WORLD, &request);
    MPI_Send(&value, 1, MPI_INT, rank, 5, MPI_COMM_WORLD);
    freed = request;
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    if (rank == 0) {
        WRONG(MPI_ERR_COUNT, MPI_Send(&value, -3, MPI_INT, peer, 0, MPI_COMM_WORLD));
        WRONG(MPI_ERR_BUFFER, MPI_Send(NULL, 3, MPI_INT, peer, 0, MPI_COMM_WORLD));
        WRONG(MPI_ERR_TYPE, MPI_Send(&value, 1, MPI_DATATYPE_NULL, peer, 0, MPI_COMM_WORLD));
        WRONG(MPI_ERR_TYPE, MPI_Send(&value, 1, (MPI_Datatype)0x2ff, peer, 0, MPI_COMM_WORLD));
        WRONG(MPI_ERR_RANK, MPI_Send(&value, 1, MPI_INT, size, 0, MPI_COMM_WORLD));
        WRONG(MPI_ERR_RANK, MPI_Send(&value, 1, MPI_INT, -7, 0, MPI_COMM_WORLD));
        WRONG(MPI_ERR_RANK, MPI_Send(&value, 1, MPI_INT, MPI_ANY_SOURCE, 0, MPI_COMM_WORLD));
        WRONG(MPI_ERR_TAG, MPI_Send(&value, 1, MPI_INT, peer, -5, MPI_COMM_WORLD));
        WRONG(MPI_ERR_TAG, MPI_Send(&value, 1, MPI_INT, peer, MPI_ANY_TAG, MPI_COMM_WORLD));
        WRONG(MPI_ERR_COMM, MPI_Send(&value, 1, MPI_INT, peer, 0, MPI_COMM_NULL));
        WRONG(MPI_ERR_COMM, MPI_Send(&value, 1, MPI_INT, peer, 0, freed_comm));
        WRONG(MPI_ERR_COMM, MPI_Send(&value, 1, MPI_INT, peer, 0, (MPI_Comm)(size_t)0x12345678));
        WRONG(MPI_ERR_COUNT, MPI_Isend(&value, -1, MPI_INT, peer, 0, MPI_COMM_WORLD, &request));
        WRONG(MPI_ERR_ARG, MPI_Isend(&value, 1, MPI_INT, peer, 0, MPI_COMM_WORLD, NULL));
        WRONG(MPI_ERR_RANK, MPI_Ssend(&value, 1, MPI_INT, 99, 0, MPI_COMM_WORLD));
        WRONG(MPI_ERR_RANK, MPI_Rsend(&value, 1, MPI_INT, 99, 0, MPI_COMM_WORLD));
        WRONG(MPI_ERR_BUFFER, MPI_Bsend(&value, 1, MPI_INT, peer, 0, MPI_COMM_WORLD));
        WRONG(MPI_ERR_RANK, MPI_Recv(&value, 1, MPI_INT, size, 0, MPI_COMM_WORLD, &status));
        WRONG(MPI_ERR_TAG, MPI_Recv(&value, 1, MPI_INT, peer, -9, MPI_COMM_WORLD, &status));
        WRONG(MPI_ERR_BUFFER, MPI_Recv(NULL, 1, MPI_INT, peer, 0, MPI_COMM_WORLD, &status));
        WRONG(MPI_ERR_COUNT, MPI_Irecv(&value, -2, MPI_INT, peer, 0, MPI_COMM_WORLD, &request));
        WRONG(MPI_ERR_COUNT, MPI_Recv_c(&value, (MPI_Count)1 << 62, MPI_INT, peer, 0, MPI_COMM_WORLD, &status));
        WRONG(MPI_ERR_RANK, MPI_Probe(size, 0, MPI_COMM_WORLD, &status));
        WRONG(MPI_ERR_ARG, MPI_Iprobe(peer, 0, MPI_COMM_WORLD, NULL, &status));
        WRONG(MPI_ERR_RANK, MPI_Sendrecv(&value, 1, MPI_INT, peer, 0, values, 1, MPI_INT, 77, 0, MPI_COMM_WORLD, &status));
        WRONG(MPI_ERR_TAG, MPI_Sendrecv(&value, 1, MPI_INT, peer, -4, values, 1, MPI_INT, peer, 0, MPI_COMM_WORLD, &status));
        WRONG(MPI_ERR_ARG, MPI_Wait(NULL, &status));
        WRONG(MPI_ERR_REQUEST, MPI_Wait(&freed, &status));
        WRONG(MPI_ERR_REQUEST, MPI_Test(&freed, &flag, &status));
        request = (MPI_Request)(size_t)0xabcdef;
        WRONG(MPI_ERR_REQUEST, MPI_Wait(&request, &status));
        WRONG(MPI_ERR_REQUEST, MPI_Cancel(&freed));
        WRONG(MPI_ERR_REQUEST, MPI_Request_free(&freed));
        WRONG(MPI_ERR_REQUEST, MPI_Request_get_status(freed, &flag, &status));
        requests[0] = MPI_REQUEST_NULL, requests[1] = freed;
        WRONG(MPI_ERR_REQUEST, MPI_Waitall(2, requests, statuses));
        requests[0] = MPI_REQUEST_NULL, requests[1] = freed;
        WRONG(MPI_ERR_REQUEST, MPI_Waitany(2, requests, &index, &status));
        WRONG(MPI_ERR_REQUEST, MPI_Testsome(2, requests, &index, indices, statuses));
        WRONG(MPI_ERR_COUNT, MPI_Waitall(-1, requests, statuses));
        WRONG(MPI_ERR_ARG, MPI_Waitall(2, NULL, statuses));
        WRONG(MPI_ERR_COMM, MPI_Comm_rank(MPI_COMM_NULL, &value));
        WRONG(MPI_ERR_ARG, MPI_Comm_rank(MPI_COMM_WORLD, NULL));
        WRONG(MPI_ERR_COMM, MPI_Comm_size(freed_comm, &value));
        comm = MPI_COMM_WORLD;
        WRONG(MPI_ERR_COMM, MPI_Comm_free(&comm));
        comm = freed_comm;
        WRONG(MPI_ERR_COMM, MPI_Comm_free(&comm));
        WRONG(MPI_ERR_ARG, MPI_Comm_split(MPI_COMM_WORLD, -3, 0, &comm));
        WRONG(MPI_ERR_GROUP, MPI_Group_size(freed_group, &value));
        WRONG(MPI_ERR_GROUP, MPI_Group_size(MPI_GROUP_NULL, &value));
        MPI_Comm_group(MPI_COMM_WORLD, &group);
        int ranks[2] = {0, 0};
        WRONG(MPI_ERR_RANK, MPI_Group_incl(group, 2, ranks, &freed_group));
        ranks[1] = 88;
        WRONG(MPI_ERR_RANK, MPI_Group_excl(group, 2, ranks, &freed_group));
        WRONG(MPI_ERR_KEYVAL, MPI_Comm_get_attr(MPI_COMM_WORLD, key, &pointer, &flag));
        WRONG(MPI_ERR_KEYVAL, MPI_Comm_set_attr(MPI_COMM_WORLD, key, NULL));
        WRONG(MPI_ERR_ERRHANDLER, MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRHANDLER_NULL));
        WRONG(MPI_ERR_ARG, MPI_Error_class(-77, &value));
        WRONG(MPI_ERR_BUFFER, MPI_Buffer_detach(&pointer, &value));
        WRONG(MPI_ERR_INFO, MPI_Info_set(MPI_INFO_NULL, "a", "b"));
        WRONG(MPI_ERR_TYPE, MPI_Type_size(MPI_DATATYPE_NULL, &value));
        WRONG(MPI_ERR_ARG, MPI_Type_size(MPI_INT, NULL));
    }
    MPI_Barrier(MPI_COMM_WORLD);
    /* Truncation: blocking, and one of several. */
    for (int i = 0; i < 4; i++)
        values[i] = i + 1;
    int length = rank == 0 ? 4 : 1;
    int large[5000] = {0};
    MPI_Irecv(&got, 1, MPI_INT, (rank + size - 1) % size, 1, MPI_COMM_WORLD, &requests[0]);
    MPI_Irecv(large, 5000, MPI_INT, (rank + size - 1) % size, 2, MPI_COMM_WORLD, &requests[1]);
    MPI_Send(values, length, MPI_INT, peer, 1, MPI_COMM_WORLD);
    MPI_Request sending;
    MPI_Isend(large, 5000, MPI_INT, peer, 2, MPI_COMM_WORLD, &sending);
    int code = MPI_Waitall(2, requests, statuses);
    if (rank == 1 % size) {
        CHECK_INT(class_of(code), MPI_ERR_IN_STATUS);
        CHECK_INT(class_of(statuses[0].MPI_ERROR), MPI_ERR_TRUNCATE);
        CHECK_INT(statuses[1].MPI_ERROR, MPI_SUCCESS);
        expect("truncated", statuses[0].MPI_ERROR, MPI_ERR_TRUNCATE);
    } else {
        CHECK_INT(code, MPI_SUCCESS);
    }
    MPI_Wait(&sending, MPI_STATUS_IGNORE);
    /* A large message, truncated on the way. */
    memset(large, rank, sizeof large);
    MPI_Isend(large, 5000, MPI_INT, peer, 3, MPI_COMM_WORLD, &sending);
    int few[100];
    memset(few, 0x7f, sizeof few);
    code = MPI_Recv(few, 99, MPI_INT, MPI_ANY_SOURCE, 3, MPI_COMM_WORLD, &status);
    CHECK_INT(class_of(code), MPI_ERR_TRUNCATE);
    CHECK_INT(few[99], 0x7f7f7f7f);
    MPI_Wait(&sending, MPI_STATUS_IGNORE);
    CHECK_INT(failures, 0);
    if (rank != 0)
        printf("unharmed\n");
    MPI_Finalize();
    return 0;
}
