/* The wait and test families, freed and cancelled requests, probes, MPI_PROC_NULL, and what statuses say. */
#include "check.h"

enum { N = 8 };

static void families(void)
{
    int in[N], out[N], indices[N], done, flag, index;
    MPI_Request requests[N];
    MPI_Status statuses[N];
    for (int family = 0; family < 6; family++) {
        if (rank == 0) {
            for (int i = 0; i < N; i++) {
                in[i] = -1;
                MPI_Irecv(&in[i], 1, MPI_INT, 1, i, MPI_COMM_WORLD, &requests[i]);
            }
            MPI_Send(&family, 1, MPI_INT, 1, 100, MPI_COMM_WORLD);
            int left = N;
            while (left > 0) {
                done = 0;
                switch (family) {
                case 0:
                    for (int i = 0; i < N; i++)
                        MPI_Wait(&requests[i], &statuses[i]);
                    left = 0;
                    break;
                case 1:
                    MPI_Testall(N, requests, &flag, statuses);
                    left = flag ? 0 : N;
                    break;
                case 2:
                    MPI_Waitany(N, requests, &index, statuses);
                    CHECK_INT(statuses[0].MPI_TAG, index);
                    CHECK(requests[index] == MPI_REQUEST_NULL);
                    left--;
                    break;
                case 3:
                    MPI_Testany(N, requests, &index, &flag, statuses);
                    CHECK(flag || index == MPI_UNDEFINED);
                    left -= flag;
                    break;
                case 4:
                    MPI_Waitsome(N, requests, &done, indices, statuses);
                    CHECK(done > 0);
                    break;
                default:
                    MPI_Testsome(N, requests, &done, indices, statuses);
                    CHECK(done >= 0);
                }
                for (int i = 0; i < done; i++)
                    CHECK_INT(statuses[i].MPI_TAG, indices[i]);
                left -= done;
            }
            for (int i = 0; i < N; i++) {
                CHECK_INT(in[i], 1000 * family + i);
                CHECK(requests[i] == MPI_REQUEST_NULL);
            }
        } else if (rank == 1) {
            MPI_Recv(&done, 1, MPI_INT, 0, 100, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            for (int i = N - 1; i >= 0; i--) {
                out[i] = 1000 * family + i;
                MPI_Isend(&out[i], 1, MPI_INT, 0, i, MPI_COMM_WORLD, &requests[i]);
            }
            MPI_Waitall(N, requests, MPI_STATUSES_IGNORE);
        }
    }
}

static void nothing_to_wait_for(void)
{
    MPI_Request nulls[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL}, request;
    MPI_Status status, statuses[2];
    int flag = 0, index = 0, count = 7, indices[2];
    status.MPI_ERROR = 1234;
    MPI_Wait(&nulls[0], &status);
    CHECK_INT(status.MPI_ERROR, MPI_SUCCESS); /* of an empty status */
    MPI_Get_count(&status, MPI_INT, &count);
    CHECK(status.MPI_SOURCE == MPI_ANY_SOURCE && status.MPI_TAG == MPI_ANY_TAG && count == 0);
    MPI_Waitany(2, nulls, &index, &status);
    CHECK_INT(index, MPI_UNDEFINED);
    MPI_Testany(2, nulls, &index, &flag, &status);
    CHECK(flag && index == MPI_UNDEFINED);
    MPI_Waitsome(2, nulls, &count, indices, statuses);
    CHECK_INT(count, MPI_UNDEFINED);
    MPI_Testall(0, NULL, &flag, MPI_STATUSES_IGNORE);
    CHECK(flag);
    status.MPI_ERROR = statuses[1].MPI_ERROR = 1234;
    MPI_Request_get_status(MPI_REQUEST_NULL, &flag, &status);
    CHECK(flag && status.MPI_ERROR == MPI_SUCCESS);
    status.MPI_ERROR = 1234;
    MPI_Request_get_status_any(2, nulls, &index, &flag, &status);
    CHECK(flag && index == MPI_UNDEFINED && status.MPI_ERROR == MPI_SUCCESS && status.MPI_SOURCE == MPI_ANY_SOURCE);
    MPI_Request_get_status_all(2, nulls, &flag, statuses);
    CHECK(flag && statuses[1].MPI_ERROR == MPI_SUCCESS && statuses[1].MPI_TAG == MPI_ANY_TAG);
    MPI_Recv(NULL, 0, MPI_INT, MPI_PROC_NULL, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
    MPI_Get_count(&status, MPI_INT, &count);
    CHECK(status.MPI_SOURCE == MPI_PROC_NULL && status.MPI_TAG == MPI_ANY_TAG && count == 0);
    MPI_Irecv(&index, 1, MPI_INT, MPI_PROC_NULL, 3, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, &status);
    CHECK(status.MPI_SOURCE == MPI_PROC_NULL);
    MPI_Send(&index, 1, MPI_INT, MPI_PROC_NULL, 3, MPI_COMM_WORLD);
    MPI_Ssend(&index, 1, MPI_INT, MPI_PROC_NULL, 3, MPI_COMM_WORLD);
    MPI_Probe(MPI_PROC_NULL, 3, MPI_COMM_WORLD, &status);
    CHECK(status.MPI_SOURCE == MPI_PROC_NULL);
    MPI_Iprobe(MPI_PROC_NULL, 3, MPI_COMM_WORLD, &flag, &status);
    CHECK(flag && status.MPI_SOURCE == MPI_PROC_NULL);
    MPI_Sendrecv(&index, 1, MPI_INT, MPI_PROC_NULL, 0, &index, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD, &status);
    CHECK(status.MPI_SOURCE == MPI_PROC_NULL);
}

static void cancelled_and_freed(void)
{
    static unsigned char big[500000];
    int value = 0, flag = 0;
    MPI_Request request, kept;
    MPI_Status status;
    MPI_Irecv(&value, 1, MPI_INT, rank, 77, MPI_COMM_WORLD, &request);
    MPI_Cancel(&request);
    MPI_Wait(&request, &status);
    MPI_Test_cancelled(&status, &flag);
    CHECK(flag);
    MPI_Irecv(&value, 1, MPI_INT, rank, 78, MPI_COMM_WORLD, &request);
    kept = request;
    int sent = 5;
    MPI_Send(&sent, 1, MPI_INT, rank, 78, MPI_COMM_WORLD);
    do {
        MPI_Request_get_status(request, &flag, &status);
    } while (!flag);
    CHECK(request == kept && status.MPI_SOURCE == rank);
    MPI_Cancel(&request); /* too late */
    MPI_Wait(&request, &status);
    MPI_Test_cancelled(&status, &flag);
    CHECK(!flag && value == 5);
    if (rank == 0) {
        fill(big, sizeof big, 9);
        MPI_Isend(big, sizeof big, MPI_BYTE, 1, 79, MPI_COMM_WORLD, &request);
        MPI_Request_free(&request);
        CHECK(request == MPI_REQUEST_NULL);
    } else if (rank == 1) {
        MPI_Recv(big, sizeof big, MPI_BYTE, 0, 79, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        CHECK(is_filled(big, sizeof big, 9));
    }
}

static void probes(void)
{
    MPI_Status status;
    int flag = 1, count;
    double values[300] = {0};
    MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &flag, &status);
    CHECK(!flag);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 1) {
        MPI_Send(values, 300, MPI_DOUBLE, 0, 41, MPI_COMM_WORLD);
        MPI_Send(values, 3, MPI_DOUBLE, 0, 42, MPI_COMM_WORLD);
        MPI_Send(values, 300, MPI_DOUBLE, 0, 43, MPI_COMM_WORLD);
    } else if (rank == 0) {
        MPI_Probe(1, 42, MPI_COMM_WORLD, &status);
        MPI_Get_count(&status, MPI_DOUBLE, &count);
        CHECK(status.MPI_TAG == 42 && count == 3);
        MPI_Get_count(&status, MPI_LONG_DOUBLE, &count);
        CHECK_INT(count, MPI_UNDEFINED); /* 24 bytes are no whole number of 16 */
        do
            MPI_Iprobe(1, MPI_ANY_TAG, MPI_COMM_WORLD, &flag, &status);
        while (!flag);
        MPI_Get_count(&status, MPI_DOUBLE, &count);
        CHECK(status.MPI_TAG == 41 && count == 300); /* the oldest */
        for (int tag = 41; tag <= 43; tag++)
            MPI_Recv(values, 300, MPI_DOUBLE, 1, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
}

static void statuses(void)
{
    MPI_Status status;
    int value, flag;
    MPI_Count large;
    memset(&status, 0x55, sizeof status);
    MPI_Status_set_source(&status, 3);
    MPI_Status_set_tag(&status, 4);
    MPI_Status_set_error(&status, 5);
    MPI_Status_get_source(&status, &value);
    CHECK_INT(value, 3);
    MPI_Status_get_tag(&status, &value);
    CHECK_INT(value, 4);
    MPI_Status_get_error(&status, &value);
    CHECK_INT(value, 5);
    MPI_Status_set_cancelled(&status, 1);
    MPI_Test_cancelled(&status, &flag);
    CHECK(flag);
    MPI_Status_set_elements_c(&status, MPI_DOUBLE, 1LL << 33);
    MPI_Get_count_c(&status, MPI_DOUBLE, &large);
    CHECK_INT(large, 1LL << 33);
    MPI_Get_count(&status, MPI_DOUBLE, &value);
    CHECK_INT(value, MPI_UNDEFINED); /* more than an int holds */
    MPI_Status_set_elements(&status, MPI_DOUBLE_INT, 5);
    MPI_Get_elements(&status, MPI_DOUBLE_INT, &value);
    CHECK_INT(value, 5);
    MPI_Get_count(&status, MPI_DOUBLE_INT, &value);
    CHECK_INT(value, MPI_UNDEFINED);
}

static void pairs(void)
{
    struct pair { double value; int index; } out[100], in[100];
    memset(in, 0x77, sizeof in);
    for (int i = 0; i < 100; i++)
        out[i].value = i + rank * 0.5, out[i].index = -i;
    MPI_Status status;
    int count, peer = rank ^ 1, guard;
    if (peer < size) {
        MPI_Sendrecv(out, 99, MPI_DOUBLE_INT, peer, 1, in, 100, MPI_DOUBLE_INT, peer, 1, MPI_COMM_WORLD, &status);
        MPI_Get_count(&status, MPI_DOUBLE_INT, &count);
        CHECK_INT(count, 99);
        for (int i = 0; i < 99; i++)
            CHECK(in[i].value == i + peer * 0.5 && in[i].index == -i);
        memcpy(&guard, &in[99].index, sizeof guard);
        CHECK_INT(guard, 0x77777777);
        memcpy(&guard, (char *)&in[5] + 12, sizeof guard);
        CHECK_INT(guard, 0x77777777); /* padding is not written */
        MPI_Request requests[2];
        MPI_Irecv(in, 100, MPI_DOUBLE_INT, peer, 2, MPI_COMM_WORLD, &requests[0]);
        MPI_Isend(out, 100, MPI_DOUBLE_INT, peer, 2, MPI_COMM_WORLD, &requests[1]);
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
        CHECK(in[99].value == 99 + peer * 0.5 && in[99].index == -99);
    }
}

static void replaced(void)
{
    static unsigned char bytes[70000];
    for (int length = 0; length <= 70000; length = length * 9 + 5) {
        MPI_Status status;
        fill(bytes, (size_t)length, rank);
        int to = (rank + 1) % size, from = (rank + size - 1) % size;
        MPI_Sendrecv_replace(bytes, length, MPI_BYTE, to, 8, from, 8, MPI_COMM_WORLD, &status);
        CHECK(is_filled(bytes, (size_t)length, from) && status.MPI_SOURCE == from);
    }
}

int main(int argc, char **argv)
{
    start(&argc, &argv);
    families();
    nothing_to_wait_for();
    cancelled_and_freed();
    MPI_Barrier(MPI_COMM_WORLD);
    probes();
    statuses();
    pairs();
    replaced();
    MPI_Finalize();
    return 0;
}
