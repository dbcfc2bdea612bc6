/* Persistent collectives are started in any order at each rank: what belongs together is said by the calls that made the requests, which all ranks make in
 * the same order (MPI-5.0, section 6.13). */
#include "check.h"

enum { KINDS = 9, ROUNDS = 12, COUNT = 3000 };

static int small[KINDS][4], large[KINDS][COUNT], sums[KINDS][COUNT], blocks[KINDS][64];
static unsigned state;

static int below(int limit)
{
    state = state * 1664525u + 1013904223u;
    return (int)((state >> 16) % (unsigned)limit);
}

/* Two of each kind, small ones and large ones, on this communicator. */
static void make(MPI_Comm comm, int last, MPI_Request *q)
{
    MPI_Info none = MPI_INFO_NULL;
    MPI_Bcast_init(small[0], 4, MPI_INT, 0, comm, none, &q[0]);
    MPI_Bcast_init(small[1], 4, MPI_INT, 0, comm, none, &q[1]);
    MPI_Bcast_init(large[2], COUNT, MPI_INT, last, comm, none, &q[2]);
    MPI_Bcast_init(large[3], COUNT, MPI_INT, last, comm, none, &q[3]);
    MPI_Allreduce_init(small[4], sums[4], 4, MPI_INT, MPI_SUM, comm, none, &q[4]);
    MPI_Allreduce_init(large[5], sums[5], COUNT, MPI_INT, MPI_SUM, comm, none, &q[5]);
    MPI_Allreduce_init(large[6], sums[6], COUNT, MPI_INT, MPI_SUM, comm, none, &q[6]);
    MPI_Allgather_init(small[7], 1, MPI_INT, blocks[7], 1, MPI_INT, comm, none, &q[7]);
    MPI_Barrier_init(comm, none, &q[8]);
}

static void set(int round, int own, int last, int k)
{
    for (int i = 0; i < 4; i++)
        small[k][i] = k < 2 && own != 0 ? -1 : round * 100 + k * 10 + (k < 2 ? 0 : own);
    for (int i = 0; i < COUNT; i++)
        large[k][i] = k < 4 && own != last ? -1 : round * 1000 + k * 10 + i + (k < 4 ? 0 : own);
}

static void check(int round, int members, int k)
{
    int before = members * (members - 1) / 2;
    if (k < 2)
        CHECK_INT(small[k][3], round * 100 + k * 10);
    else if (k < 4)
        CHECK_INT(large[k][COUNT - 1], round * 1000 + k * 10 + COUNT - 1);
    else if (k == 4)
        CHECK_INT(sums[k][3], members * (round * 100 + k * 10) + before);
    else if (k < 7)
        CHECK_INT(sums[k][COUNT - 1], members * (round * 1000 + k * 10 + COUNT - 1) + before);
    else if (k == 7)
        for (int r = 0; r < members; r++)
            CHECK_INT(blocks[7][r], round * 100 + k * 10 + r);
}

/* Starts all in an order of this rank's own, with other collectives in between, and completes them in another one. */
static void rounds(MPI_Comm comm, int own, int members, MPI_Request *q)
{
    for (int round = 0; round < ROUNDS; round++) {
        int order[KINDS], sum = -1, got = own == 0 ? round : -1;
        MPI_Request between;
        for (int k = 0; k < KINDS; k++) {
            int at = below(k + 1);
            order[k] = order[at];
            order[at] = k;
            set(round, own, members - 1, k);
        }
        for (int k = 0; k < KINDS; k++) {
            MPI_Start(&q[order[k]]);
            if (k == 3)
                MPI_Ibcast(&got, 1, MPI_INT, 0, comm, &between);
            if (k == 5)
                MPI_Allreduce(&(int){own}, &sum, 1, MPI_INT, MPI_SUM, comm);
        }
        CHECK_INT(sum, members * (members - 1) / 2);
        MPI_Wait(&between, MPI_STATUS_IGNORE);
        CHECK_INT(got, round);
        if (round % 2 == 0)
            MPI_Waitall(KINDS, q, MPI_STATUSES_IGNORE);
        else
            for (int k = 0; k < KINDS; k++)
                MPI_Wait(&q[order[k]], MPI_STATUS_IGNORE);
        for (int k = 0; k < KINDS; k++)
            check(round, members, k);
    }
}

/* Two requests, of which each rank starts one twice before it starts the other, and one that some members free before it was ever started. */
static void one_after_the_other(void)
{
    int a = -1, b = -1, twice[2] = {0, 1};
    MPI_Request q[2], unused;
    MPI_Bcast_init(&a, 1, MPI_INT, 0, MPI_COMM_WORLD, MPI_INFO_NULL, &q[0]);
    MPI_Allreduce_init(&unused, &unused, 0, MPI_INT, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, &unused);
    MPI_Bcast_init(&b, 1, MPI_INT, size - 1, MPI_COMM_WORLD, MPI_INFO_NULL, &q[1]);
    MPI_Request_free(&unused);
    CHECK(unused == MPI_REQUEST_NULL);
    /* The root of a small broadcast waits for nobody, so each rank may finish one request before it starts the other. */
    for (int i = 0; i < 2; i++) {
        int first = rank == 0 ? 0 : rank == size - 1 ? 1 : 0;
        if (rank == 0)
            a = 10 + twice[i];
        if (rank == size - 1)
            b = 20 + twice[i];
        MPI_Start(&q[first]);
        MPI_Start(&q[1 - first]);
        MPI_Wait(&q[first], MPI_STATUS_IGNORE);
        MPI_Wait(&q[1 - first], MPI_STATUS_IGNORE);
        CHECK_INT(a, 10 + i);
        CHECK_INT(b, 20 + i);
    }
    MPI_Request_free(&q[1]);
    MPI_Request_free(&q[0]);
}

/* Messages along edges, too. */
static void neighbours(void)
{
    MPI_Comm ring;
    MPI_Request q[2];
    int out[2][2], in[2][2], left = (rank + size - 1) % size, right = (rank + 1) % size;
    MPI_Cart_create(MPI_COMM_WORLD, 1, &size, (int[]){1}, 0, &ring);
    for (int k = 0; k < 2; k++)
        MPI_Neighbor_alltoall_init(out[k], 1, MPI_INT, in[k], 1, MPI_INT, ring, MPI_INFO_NULL, &q[k]);
    for (int round = 0; round < 4; round++) {
        for (int k = 0; k < 2; k++)
            out[k][0] = out[k][1] = round * 100 + k * 10 + rank;
        MPI_Start(&q[rank % 2]);
        MPI_Start(&q[1 - rank % 2]);
        MPI_Waitall(2, q, MPI_STATUSES_IGNORE);
        for (int k = 0; k < 2; k++) {
            CHECK_INT(in[k][0], round * 100 + k * 10 + left);
            CHECK_INT(in[k][1], round * 100 + k * 10 + right);
        }
    }
    MPI_Request_free(&q[0]);
    MPI_Request_free(&q[1]);
    MPI_Comm_free(&ring);
}

/* Between two groups. */
static void between_groups(void)
{
    MPI_Comm half, inter;
    MPI_Request q[2];
    int sums_of[2] = {-1, -1}, own[2], ranks_of_other = 0, others = 0;
    if (size == 1)
        return;
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half);
    MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, rank % 2 ? 0 : 1, 5, &inter);
    for (int r = 0; r < size; r++)
        if (r % 2 != rank % 2)
            ranks_of_other += r, others++;
    for (int k = 0; k < 2; k++)
        MPI_Allreduce_init(&own[k], &sums_of[k], 1, MPI_INT, MPI_SUM, inter, MPI_INFO_NULL, &q[k]);
    for (int round = 0; round < 3; round++) {
        for (int k = 0; k < 2; k++)
            own[k] = rank + 100 * k;
        MPI_Start(&q[(rank + round) % 2]);
        MPI_Start(&q[(rank + round + 1) % 2]);
        MPI_Waitall(2, q, MPI_STATUSES_IGNORE);
        for (int k = 0; k < 2; k++)
            CHECK_INT(sums_of[k], ranks_of_other + 100 * k * others);
    }
    MPI_Request_free(&q[0]);
    MPI_Request_free(&q[1]);
    MPI_Comm_free(&inter);
    MPI_Comm_free(&half);
}

int main(int argc, char **argv)
{
    MPI_Request q[KINDS];
    MPI_Comm dup, strict;
    MPI_Info info;
    start(&argc, &argv);
    CHECK(size <= 8);
    state = (unsigned)rank * 977u + 5u;
    for (int again = 0; again < 2; again++) {
        make(MPI_COMM_WORLD, size - 1, q);
        rounds(MPI_COMM_WORLD, rank, size, q);
        for (int k = 0; k < KINDS; k++)
            MPI_Request_free(&q[k]);
    }
    one_after_the_other();
    neighbours();
    between_groups();
    /* The communicator may be freed while requests of it live. */
    MPI_Comm_dup(MPI_COMM_WORLD, &dup);
    make(dup, size - 1, q);
    rounds(dup, rank, size, q);
    for (int k = KINDS - 1; k >= 0; k--)
        MPI_Request_free(&q[k]);
    MPI_Comm_free(&dup);
    /* Where the order of starts is promised to be that of all, starts go by it. */
    MPI_Info_create(&info);
    MPI_Info_set(info, "mpi_assert_strict_persistent_collective_ordering", "true");
    MPI_Comm_dup_with_info(MPI_COMM_WORLD, info, &strict);
    MPI_Info_free(&info);
    make(strict, size - 1, q);
    state = 1;
    rounds(strict, rank, size, q);
    for (int k = 0; k < KINDS; k++)
        MPI_Request_free(&q[k]);
    MPI_Comm_free(&strict);
    /* One that is never started, nor freed. */
    MPI_Barrier_init(MPI_COMM_WORLD, MPI_INFO_NULL, &q[0]);
    return MPI_Finalize();
}
