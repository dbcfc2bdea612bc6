/* Bytes that an access does not ask for are left alone, whatever lies between those that it does, and whoever
 * writes there at the same time; atomic accesses are whole (MPI-5.0, §14.4, §14.6.1). */
#define _GNU_SOURCE
#include "files.h"
#include <fcntl.h>
#include <sys/wait.h>

enum { ROUNDS = 30, ITEMS = 3000 };

/* All write at the same time, each its own items of few bytes, which lie beside those of others: scattered,
 * one by one, or at once; into a file that has something already. */
static void beside(MPI_Info info, int bytes, int kinds)
{
    MPI_File file = open_new(MPI_COMM_WORLD, info);
    MPI_Datatype item, vector, own;
    int stride = bytes * (size + 1);
    size_t length = (size_t)ITEMS * (size_t)stride;
    unsigned char *all = malloc(length), *mine = malloc((size_t)(ITEMS * bytes));
    memset(all, 0xee, length);
    if (rank == 0)
        WELL(MPI_File_write_at(file, 0, all, (int)length, MPI_BYTE, MPI_STATUS_IGNORE));
    meet(file, MPI_COMM_WORLD);
    MPI_Type_contiguous(bytes, MPI_BYTE, &item);
    MPI_Type_vector(ITEMS, 1, size + 1, item, &vector);
    MPI_Type_create_resized(vector, 0, stride, &own);
    MPI_Type_commit(&item);
    MPI_Type_commit(&vector);
    WELL(MPI_File_set_view(file, bytes * rank, item, vector, "native", MPI_INFO_NULL));
    for (int round = 0; round < ROUNDS; round++) {
        for (int i = 0; i < ITEMS * bytes; i++)
            mine[i] = byte_of((size_t)i, rank + round * size);
        MPI_Request requests[2];
        MPI_Barrier(MPI_COMM_WORLD);
        switch ((rank + round) % kinds) {
        case 0:
            WELL(MPI_File_write_at(file, 0, mine, ITEMS, item, MPI_STATUS_IGNORE));
            break;
        case 1:
            WELL(MPI_File_iwrite_at(file, 0, mine, ITEMS / 2, item, &requests[0]));
            WELL(MPI_File_iwrite_at(file, ITEMS / 2, mine + ITEMS / 2 * bytes, ITEMS - ITEMS / 2, item, &requests[1]));
            WELL(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
            break;
        default:
            for (int i = 0; i < ITEMS; i++)
                WELL(MPI_File_write_at(file, i, mine + i * bytes, 1, item, MPI_STATUS_IGNORE));
        }
        meet(file, MPI_COMM_WORLD);
        CHECK_INT(read_plainly(file_name, 0, all, length), length);
        for (int i = 0; i < ITEMS; i++)
            for (int of = 0; of <= size; of++)
                for (int j = 0; j < bytes; j++) {
                    int expected = of == size ? 0xee : byte_of((size_t)(i * bytes + j), of + round * size);
                    int got = all[i * stride + of * bytes + j];
                    if (got != expected) {
                        fprintf(stderr, "round %d, %d bytes: item %d of rank %d is %d, not %d\n", round, bytes, i, of, got,
                                expected);
                        MPI_Abort(MPI_COMM_WORLD, 99);
                    }
                }
        MPI_Barrier(MPI_COMM_WORLD);
    }
    free(all);
    free(mine);
    MPI_Type_free(&item);
    MPI_Type_free(&vector);
    MPI_Type_free(&own);
    WELL(MPI_File_close(&file));
}

/* All write and read the same bytes at the same time: what is there is of one of them. */
static void atomic_accesses(int scattered)
{
    enum { WIDE = 5000 };
    MPI_File file = open_new(MPI_COMM_WORLD, MPI_INFO_NULL);
    MPI_Datatype vector;
    static int numbers[WIDE], got[WIDE];
    MPI_Type_vector(WIDE / 5, 5, 7, MPI_INT, &vector);
    MPI_Type_commit(&vector);
    WELL(MPI_File_set_view(file, 0, MPI_INT, scattered ? vector : MPI_INT, "native", MPI_INFO_NULL));
    WELL(MPI_File_set_atomicity(file, 1));
    if (rank == 0)
        WELL(MPI_File_write_at(file, 0, numbers, WIDE, MPI_INT, MPI_STATUS_IGNORE));
    MPI_Barrier(MPI_COMM_WORLD);
    for (int round = 0; round < ROUNDS; round++) {
        MPI_Request request;
        for (int i = 0; i < WIDE; i++)
            numbers[i] = round * size + rank;
        if (round % 3 == 2)
            WELL(MPI_File_write_at_all(file, 0, numbers, WIDE, MPI_INT, MPI_STATUS_IGNORE));
        else if ((rank + round) % 2)
            WELL(MPI_File_write_at(file, 0, numbers, WIDE, MPI_INT, MPI_STATUS_IGNORE));
        else {
            WELL(MPI_File_iwrite_at(file, 0, numbers, WIDE, MPI_INT, &request));
            WELL(MPI_Wait(&request, MPI_STATUS_IGNORE));
        }
        WELL(MPI_File_read_at(file, 0, got, WIDE, MPI_INT, MPI_STATUS_IGNORE));
        for (int i = 1; i < WIDE; i++)
            CHECK_INT(got[i], got[0]);
    }
    MPI_Type_free(&vector);
    WELL(MPI_File_close(&file));
}

/* Another program has locked bytes for a while: who wants to write there waits, as if it computed. That is no
 * deadlock, although all ranks are in MPI. */
static void locked_by_another(int form)
{
    MPI_File file = open_new(MPI_COMM_WORLD, MPI_INFO_NULL);
    int number = 5 + rank, there = 0, pipe_of_lock[2];
    pid_t other = 0;
    MPI_Request request;
    if (rank == 0) {
        char locked;
        CHECK(pipe(pipe_of_lock) == 0);
        other = fork();
        if (other == 0) {
            struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = 0, .l_len = 0};
            int own = open(file_name, O_RDWR);
            locked = own >= 0 && fcntl(own, F_OFD_SETLKW, &lock) == 0;
            if (write(pipe_of_lock[1], &locked, 1) == 1)
                usleep(1500000);
            _exit(0);
        }
        CHECK(read(pipe_of_lock[0], &locked, 1) == 1 && locked);
        close(pipe_of_lock[0]);
        close(pipe_of_lock[1]);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (form == 2)
        WELL(MPI_File_write_at_all(file, 4 * rank, &number, 1, MPI_INT, MPI_STATUS_IGNORE));
    else if (rank == 0 && form == 1) {
        WELL(MPI_File_iwrite_at(file, 0, &number, 1, MPI_INT, &request));
        WELL(MPI_Wait(&request, MPI_STATUS_IGNORE));
    } else if (rank == 0)
        WELL(MPI_File_write_at(file, 0, &number, 1, MPI_INT, MPI_STATUS_IGNORE));
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0)
        CHECK(waitpid(other, NULL, 0) == other);
    WELL(MPI_File_read_at(file, 0, &there, 1, MPI_INT, MPI_STATUS_IGNORE));
    CHECK_INT(there, 5);
    WELL(MPI_File_close(&file));
}

int main(int argc, char **argv)
{
    start_files(&argc, &argv);
    static const char *const sieves[] = {"automatic", "enable", "disable"};
    for (int sieve = 0; sieve < 3; sieve++) {
        MPI_Info info;
        MPI_Info_create(&info);
        MPI_Info_set(info, "romio_ds_write", sieves[sieve]);
        MPI_Info_set(info, "ind_wr_buffer_size", sieve ? "1000" : "100000");
        /* One access for each item is for those who sieve, and for those who lock. */
        beside(info, 3, sieve ? 3 : 2);
        MPI_Info_free(&info);
    }
    atomic_accesses(0);
    atomic_accesses(1);
    for (int form = 0; form < 3; form++)
        locked_by_another(form);
    return MPI_Finalize();
}
