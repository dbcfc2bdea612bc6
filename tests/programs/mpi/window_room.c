/* Operations whose data is less than there is room for, at the target or at the origin (MPI-5.0, section 12.3.1). */
#include "check.h"

struct pair {
    double value;
    int index;
};

static MPI_Datatype every_other;
static MPI_Win win;

static void fetched(int target)
{
    int room[8], data[] = {1, 2, 3};
    for (int i = 0; i < 8; i++)
        room[i] = -1;
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, target, 0, win);
    /* To the first elements of a larger target: elements 0 and 2, of 0, 2, 4. */
    MPI_Put(data, 2, MPI_INT, target, 0, 1, every_other, win);
    MPI_Accumulate(data, 2, MPI_INT, target, 0, 1, every_other, MPI_SUM, win);
    MPI_Put(data, 3, MPI_INT, target, 8, 6, MPI_INT, win);
    MPI_Put(data, 0, MPI_INT, target, 8, 6, MPI_INT, win);
    MPI_Win_unlock(target, win);
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, target, 0, win);
    /* To a larger origin. */
    MPI_Get(room, 1, every_other, target, 2, 2, MPI_INT, win);
    MPI_Win_flush(target, win);
    CHECK_INT(room[0], 4);
    CHECK_INT(room[1], -1);
    CHECK_INT(room[2], 103);
    CHECK_INT(room[3], -1);
    CHECK_INT(room[4], -1);
    MPI_Get(room, 8, MPI_INT, target, 0, 6, MPI_INT, win);
    MPI_Win_flush(target, win);
    CHECK_INT(room[0], 2);
    CHECK_INT(room[1], 101);
    CHECK_INT(room[2], 4);
    CHECK_INT(room[3], 103);
    CHECK_INT(room[4], 104);
    CHECK_INT(room[5], 105);
    CHECK_INT(room[6], -1);
    MPI_Get(room, 8, MPI_INT, target, 8, 6, MPI_INT, win);
    MPI_Win_flush(target, win);
    CHECK_INT(room[2], 3);
    CHECK_INT(room[3], 111);
    CHECK_INT(room[5], 113);
    /* Both: of three elements at the target two are changed, and room for more gets all three. */
    for (int i = 0; i < 8; i++)
        room[i] = -1;
    MPI_Get_accumulate(data, 2, MPI_INT, room, 4, MPI_INT, target, 0, 1, every_other, MPI_SUM, win);
    MPI_Win_flush(target, win);
    CHECK_INT(room[0], 2);
    CHECK_INT(room[1], 4);
    CHECK_INT(room[2], 104);
    CHECK_INT(room[3], -1);
    MPI_Request request;
    MPI_Rget_accumulate(NULL, 0, MPI_INT, room, 2, every_other, target, 0, 4, MPI_INT, MPI_SUM, win, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    CHECK_INT(room[0], 3);
    CHECK_INT(room[2], 101);
    CHECK_INT(room[4], 6);
    CHECK_INT(room[5], 103);
    CHECK_INT(room[7], -1);
    MPI_Win_unlock(target, win);
}

static void padded(int target)
{
    MPI_Win pairs, wide;
    struct pair *at, data[2] = {{1, 5}, {9, 6}}, room[4];
    long double *of, more[2] = {0.5L, 0.25L}, got[4] = {-1, -1, -1, -1};
    MPI_Win_allocate(3 * sizeof *at, sizeof *at, MPI_INFO_NULL, MPI_COMM_WORLD, &at, &pairs);
    MPI_Win_allocate(3 * sizeof *of, sizeof *of, MPI_INFO_NULL, MPI_COMM_WORLD, &of, &wide);
    for (int i = 0; i < 3; i++) {
        at[i] = (struct pair){4, i};
        of[i] = i;
    }
    for (int i = 0; i < 4; i++)
        room[i] = (struct pair){-1, -1};
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) {
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, target, 0, pairs);
        MPI_Get_accumulate(data, 2, MPI_DOUBLE_INT, room, 4, MPI_DOUBLE_INT, target, 0, 3, MPI_DOUBLE_INT, MPI_MINLOC, pairs);
        MPI_Win_unlock(target, pairs);
        for (int i = 0; i < 3; i++)
            CHECK(room[i].value == 4 && room[i].index == i);
        CHECK(room[3].value == -1 && room[3].index == -1);
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, target, 0, wide);
        MPI_Get_accumulate(more, 2, MPI_LONG_DOUBLE, got, 4, MPI_LONG_DOUBLE, target, 0, 3, MPI_LONG_DOUBLE, MPI_SUM, wide);
        MPI_Win_unlock(target, wide);
        for (int i = 0; i < 3; i++)
            CHECK(got[i] == i);
        CHECK(got[3] == -1);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, pairs);
    MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, wide);
    if (rank == target) {
        CHECK(at[0].value == 1 && at[0].index == 5 && at[1].value == 4 && at[1].index == 1 && at[2].index == 2);
        CHECK(of[0] == 0.5L && of[1] == 1.25L && of[2] == 2);
    }
    MPI_Win_unlock(rank, wide);
    MPI_Win_unlock(rank, pairs);
    MPI_Win_free(&wide);
    MPI_Win_free(&pairs);
}

int main(int argc, char **argv)
{
    start(&argc, &argv);
    static int memory[16];
    MPI_Type_vector(3, 1, 2, MPI_INT, &every_other);
    MPI_Type_commit(&every_other);
    for (int how = 0; how < 2; how++) {
        int *base = memory;
        if (how == 0)
            MPI_Win_create(memory, sizeof memory, 4, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
        else
            MPI_Win_allocate(sizeof memory, 4, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win);
        for (int target = 0; target < size; target++) {
            for (int i = 0; i < 16; i++)
                base[i] = 100 + i;
            MPI_Barrier(MPI_COMM_WORLD);
            if (rank == 0)
                fetched(target);
            MPI_Barrier(MPI_COMM_WORLD);
        }
        MPI_Win_free(&win);
    }
    padded(size - 1);
    MPI_Type_free(&every_other);
    MPI_Finalize();
    return 0;
}
