/* Long blocks between nodes, which move from memory to memory, not with what asks for them: of every size around
 * the limit and of some megabytes, put and got while the target waits, computes, or puts and gets itself; more of
 * them at once than a node has places for; from and to memory that is scattered here; with requests; among
 * small operations. What is beside a block stays. The buffer may be used again when the call returns that says so.
 *
 *     window_long             sizes of up to 3 MB
 *     window_long BYTES       one size
 *
 * For 2 ranks and more. */
#include "windows.h"
#include <unistd.h>

enum { LIMIT = 32768, MANY = 150, EDGE = 64 };
enum { WAITING, COMPUTING, BUSY, STATES };

static int salt(int origin, int round) { return origin * 31 + round; }

static void check(const unsigned char *bytes, size_t n, int origin, int round, const char *what)
{
    if (!is_filled(bytes, n, salt(origin, round))) {
        fprintf(stderr, "window_long: %s of %zu bytes has brought others to rank %d\n", what, n, rank);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
}

/* Rank 0 puts to the last rank and gets from it what it has put, while that one is in this state. */
static void pass(size_t n, int state, int with_requests, int round)
{
    int target = size - 1;
    unsigned char *memory, *out = malloc(n), *in = malloc(n);
    MPI_Win win;
    MPI_Win_allocate((MPI_Aint)(2 * (n + 2 * EDGE)), 1, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win);
    memset(memory, 0xee, 2 * (n + 2 * EDGE));
    MPI_Barrier(MPI_COMM_WORLD);
    int acts = rank == 0 || (state == BUSY && rank == target);
    if (acts) {
        int to = rank == 0 ? target : 0;
        /* Each has a place of its own. */
        MPI_Aint at = EDGE + (rank == 0 ? 0 : (MPI_Aint)(n + 2 * EDGE));
        fill(out, n, salt(rank, round));
        MPI_Win_lock(MPI_LOCK_SHARED, to, 0, win);
        if (with_requests) {
            MPI_Request request;
            MPI_Rput(out, (int)n, MPI_BYTE, to, at, (int)n, MPI_BYTE, win, &request);
            MPI_Wait(&request, MPI_STATUS_IGNORE);
            memset(out, 0x55, n);
            MPI_Win_flush(to, win);
            MPI_Rget(in, (int)n, MPI_BYTE, to, at, (int)n, MPI_BYTE, win, &request);
            MPI_Wait(&request, MPI_STATUS_IGNORE);
        } else {
            MPI_Put(out, (int)n, MPI_BYTE, to, at, (int)n, MPI_BYTE, win);
            MPI_Win_flush_local(to, win);
            memset(out, 0x55, n);
            MPI_Win_flush(to, win);
            MPI_Get(in, (int)n, MPI_BYTE, to, at, (int)n, MPI_BYTE, win);
            MPI_Win_flush_local(to, win);
        }
        check(in, n, rank, round, "a get");
        MPI_Win_unlock(to, win);
    } else if (state == COMPUTING && rank == target) {
        /* The byte behind the block says that rank 0 is done; nobody calls MPI here. */
        volatile unsigned char *end = memory + n + EDGE;
        for (int i = 0; i < 20000 && *end != 0x77; i++)
            usleep(500);
        CHECK_INT(*end, 0x77);
    }
    if (state == COMPUTING && rank == 0) {
        unsigned char done = 0x77;
        MPI_Win_lock(MPI_LOCK_SHARED, target, 0, win);
        MPI_Put(&done, 1, MPI_BYTE, target, (MPI_Aint)n + EDGE, 1, MPI_BYTE, win);
        MPI_Win_unlock(target, win);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, win);
    for (int i = 0; i < EDGE; i++) {
        CHECK_INT(memory[i], 0xee);
        CHECK_INT(memory[2 * (n + 2 * EDGE) - 1 - (size_t)i], 0xee);
        CHECK_INT(memory[n + 2 * EDGE + (size_t)i], 0xee);
        if (state != COMPUTING)
            CHECK_INT(memory[n + EDGE + (size_t)i], 0xee);
    }
    if (rank == target)
        check(memory + EDGE, n, 0, round, "a put");
    MPI_Win_unlock(rank, win);
    MPI_Win_free(&win);
    free(out);
    free(in);
}

/* All ranks put to all others and get from them, all at once, in one epoch of fences. */
static void all_at_once(size_t n, int round)
{
    size_t place = n + 3;
    unsigned char *memory = malloc(place * (size_t)size), *out = malloc(n), *in = malloc(place * (size_t)size);
    MPI_Win win;
    MPI_Win_create(memory, (MPI_Aint)(place * (size_t)size), 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    memset(memory, 0xee, place * (size_t)size);
    fill(out, n, salt(rank, round));
    MPI_Win_fence(0, win);
    for (int to = 0; to < size; to++)
        MPI_Put(out, (int)n, MPI_BYTE, to, (MPI_Aint)place * rank, (int)n, MPI_BYTE, win);
    MPI_Win_fence(0, win);
    for (int from = 0; from < size; from++)
        MPI_Get(in + place * (size_t)from, (int)n, MPI_BYTE, from, (MPI_Aint)place * rank, (int)n, MPI_BYTE, win);
    MPI_Win_fence(0, win);
    for (int other = 0; other < size; other++) {
        check(memory + place * (size_t)other, n, other, round, "a put of all");
        check(in + place * (size_t)other, n, rank, round, "a get of all");
        for (int i = 0; i < 3; i++)
            CHECK_INT(memory[place * (size_t)other + n + (size_t)i], 0xee);
    }
    MPI_Win_free(&win);
    free(memory);
    free(out);
    free(in);
}

/* More blocks than there are places for, with small ones between; their memory here is scattered. */
static void many(void)
{
    enum { BYTES = LIMIT + 8, INTS = BYTES / 4 };
    int *memory = calloc((size_t)MANY * INTS, 4), *out = malloc((size_t)MANY * INTS * 8);
    MPI_Win win;
    MPI_Datatype gaps;
    MPI_Type_vector(INTS, 1, 2, MPI_INT, &gaps);
    MPI_Type_commit(&gaps);
    MPI_Win_create(memory, (MPI_Aint)MANY * BYTES, 4, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    for (long i = 0; i < (long)MANY * INTS * 2; i++)
        out[i] = i % 2 ? -1 : (int)(i / 2);
    MPI_Win_fence(0, win);
    if (rank == 0)
        for (int i = 0; i < MANY; i++) {
            MPI_Put(out + (size_t)i * INTS * 2, 1, gaps, size - 1, (MPI_Aint)i * INTS, INTS, MPI_INT, win);
            MPI_Put(out + (size_t)i * INTS * 2, 1, MPI_INT, size - 1, (MPI_Aint)i * INTS, 1, MPI_INT, win);
        }
    MPI_Win_fence(0, win);
    if (rank == size - 1)
        for (int i = 0; i < MANY * INTS; i++)
            CHECK_INT(memory[i], i);
    for (long i = 0; i < (long)MANY * INTS * 2; i++)
        out[i] = -1;
    if (rank == 0)
        for (int i = 0; i < MANY; i++)
            MPI_Get(out + (size_t)i * INTS * 2, 1, gaps, size - 1, (MPI_Aint)i * INTS, INTS, MPI_INT, win);
    MPI_Win_fence(0, win);
    if (rank == 0)
        for (long i = 0; i < (long)MANY * INTS * 2; i++)
            CHECK_INT(out[i], i % 2 ? -1 : (int)(i / 2));
    MPI_Win_free(&win);
    MPI_Type_free(&gaps);
    free(memory);
    free(out);
}

int main(int argc, char **argv)
{
    static const size_t sizes[] = {LIMIT - 1, LIMIT, LIMIT + 1, 61440, 61441, 126976, 126977, 1 << 20, 3000001};
    start_windows(&argc, &argv);
    if (argc > 1) {
        size_t n = (size_t)strtoull(argv[1], NULL, 10);
        for (int state = 0; state < STATES; state++)
            pass(n, state, 0, state);
        MPI_Finalize();
        return 0;
    }
    int round = 0;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        for (int state = 0; state < STATES; state++)
            for (int with_requests = 0; with_requests < 2; with_requests++)
                pass(sizes[i], state, with_requests, ++round);
        all_at_once(sizes[i], ++round);
    }
    many();
    MPI_Finalize();
    return 0;
}
