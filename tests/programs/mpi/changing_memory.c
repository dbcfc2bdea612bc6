/* Long messages from and to memory that changes between them: what a library keeps of a buffer must not outlive that buffer. Each rank exchanges
 * messages with its neighbours in a ring; memory is mapped anew at the same address, dropped, moved, grown, given back to the heap, of the program
 * itself, of the stack, of files, and at odd addresses; a child is forked meanwhile. Lengths are at and beside those from which on messages take
 * another way.
 *     changing_memory ROUNDS */
#define _GNU_SOURCE
#include "check.h"
#include <malloc.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

static const size_t lengths[] = {131072, 1, 131071, 0, 131073, 65536, 65537, 262144, 300001, 200000, 1048576, 1048577, 3000000};
enum { LENGTHS = sizeof lengths / sizeof *lengths, MOST = 3000000, ROOM = 4 << 20 };

static unsigned char in_data[MOST] = {1}, in_bss[MOST], other[MOST];
static int salt;

/* A message goes round the ring from this memory to that one. */
static void exchange(unsigned char *from, unsigned char *to, size_t bytes)
{
    int next = (rank + 1) % size, last = (rank + size - 1) % size, count;
    MPI_Request requests[2];
    MPI_Status statuses[2];
    salt++;
    fill(from, bytes, salt + rank);
    if (to != from + bytes) memset(to, 0xee, bytes);
    switch (salt % 4) {
    case 0:
        MPI_Sendrecv(from, (int)bytes, MPI_BYTE, next, 5, to, (int)bytes, MPI_BYTE, last, 5, MPI_COMM_WORLD, &statuses[0]);
        break;
    case 1:
        MPI_Irecv(to, (int)bytes, MPI_BYTE, last, 5, MPI_COMM_WORLD, &requests[0]);
        MPI_Isend(from, (int)bytes, MPI_BYTE, next, 5, MPI_COMM_WORLD, &requests[1]);
        MPI_Waitall(2, requests, statuses);
        break;
    case 2:
        MPI_Isend(from, (int)bytes, MPI_BYTE, next, 5, MPI_COMM_WORLD, &requests[1]);
        MPI_Recv(to, (int)bytes, MPI_BYTE, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &statuses[0]);
        MPI_Wait(&requests[1], MPI_STATUS_IGNORE);
        break;
    default:
        MPI_Irecv(to, (int)bytes, MPI_BYTE, last, 5, MPI_COMM_WORLD, &requests[0]);
        MPI_Send(from, (int)bytes, MPI_BYTE, next, 5, MPI_COMM_WORLD);
        for (int flag = 0; !flag;)
            MPI_Test(&requests[0], &flag, &statuses[0]);
    }
    MPI_Get_count(&statuses[0], MPI_BYTE, &count);
    CHECK(count == (int)bytes && statuses[0].MPI_SOURCE == last);
    CHECK(is_filled(to, bytes, salt + last));
    CHECK(is_filled(from, bytes, salt + rank));
}

static unsigned char *map(void *at, size_t bytes, int flags, int file)
{
    void *mapped = mmap(at, bytes, PROT_READ | PROT_WRITE, flags | (file < 0 ? MAP_ANONYMOUS : 0) | (at ? MAP_FIXED : 0), file, 0);
    CHECK(mapped != MAP_FAILED && (!at || mapped == at));
    return mapped;
}

static unsigned char *a, *b;

/* Memory that was sent from is another one now, at the same address. */
static void anew(size_t bytes)
{
    exchange(a, b, bytes);
    CHECK(munmap(a, ROOM) == 0 && munmap(b, ROOM) == 0);
    map(a, ROOM, MAP_PRIVATE, -1);
    map(b, ROOM, MAP_PRIVATE, -1);
    exchange(a, b, bytes);
}

static void dropped(size_t bytes)
{
    exchange(a, b, bytes);
    CHECK(madvise(a, ROOM, MADV_DONTNEED) == 0 && madvise(b, ROOM, MADV_FREE) == 0);
    exchange(b, a, bytes);
    /* In place of a part of it. */
    map(a + 65536, 65536, MAP_PRIVATE, -1);
    exchange(a, b, bytes);
}

static void moved(size_t bytes)
{
    exchange(a, b, bytes);
    unsigned char *old = a;
    a = mremap(a, ROOM, 2 * ROOM, MREMAP_MAYMOVE);
    CHECK(a != MAP_FAILED);
    if (a != old) map(old, ROOM, MAP_PRIVATE, -1);
    exchange(a + ROOM / 2, b, bytes);
    /* All ranks exchange as often, whether the system has moved theirs or not. */
    exchange(a != old ? old : a + ROOM, a, bytes);
    if (a != old) CHECK(munmap(old, ROOM) == 0);
    CHECK(mremap(a, 2 * ROOM, ROOM, 0) == a);
}

static void of_the_heap(size_t bytes)
{
    unsigned char *from = malloc(bytes + 1), *to = malloc(bytes + 1);
    exchange(from + 1, to, bytes);
    free(from);
    malloc_trim(0);
    from = malloc(bytes + 9);
    to = realloc(to, 3 * bytes + 9);
    exchange(from + 7, to + 3, bytes);
    free(from);
    free(to);
}

static void of_the_program(size_t bytes)
{
    exchange(in_data, in_bss, bytes);
    exchange(in_bss, other, bytes);
    exchange(other, in_data, bytes);
}

static void of_the_stack(size_t bytes)
{
    unsigned char from[300001], to[300001];
    if (bytes <= sizeof from) exchange(from, to, bytes);
}

static void of_files(size_t bytes)
{
    FILE *file = tmpfile();
    int shared = memfd_create("changing_memory", 0);
    CHECK(file && ftruncate(fileno(file), ROOM) == 0 && ftruncate(shared, ROOM) == 0);
    unsigned char *of_file = map(NULL, ROOM, MAP_PRIVATE, fileno(file)), *of_memory = map(NULL, ROOM, MAP_SHARED, shared);
    exchange(of_file, of_memory, bytes);
    CHECK(ftruncate(shared, 0) == 0 && ftruncate(shared, ROOM) == 0);
    exchange(of_memory, of_file, bytes);
    CHECK(munmap(of_file, ROOM) == 0 && munmap(of_memory, ROOM) == 0);
    fclose(file);
    close(shared);
}

static void beside_a_child(size_t bytes)
{
    exchange(a, b, bytes);
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        memset(a, 0x77, ROOM);
        munmap(b, ROOM);
        _exit(0);
    }
    exchange(a, b, bytes);
    int status;
    CHECK(waitpid(child, &status, 0) == child && status == 0);
    exchange(b, a, bytes);
}

static void strided(size_t bytes)
{
    /* Every second block of 1000 bytes. */
    MPI_Datatype blocks;
    int count = (int)(bytes / 2000), next = (rank + 1) % size, last = (rank + size - 1) % size;
    MPI_Type_vector(count, 1000, 2000, MPI_BYTE, &blocks);
    MPI_Type_commit(&blocks);
    salt++;
    fill(a, bytes, salt + rank);
    memset(b, 0xee, bytes);
    MPI_Sendrecv(a, 1, blocks, next, 6, b, 1, blocks, last, 6, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    for (int i = 0; i < count; i++)
        for (int at = 2000 * i; at < 2000 * (i + 1); at++)
            CHECK(b[at] == (at % 2000 < 1000 ? byte_of(at, salt + last) : 0xee));
    MPI_Type_free(&blocks);
}

static void by_collectives(size_t bytes)
{
    int count = (int)(bytes / sizeof(int)), *from = (int *)a, *to = (int *)b, root = salt % size;
    salt++;
    for (int i = 0; i < count; i++)
        from[i] = i * 3 + rank * salt;
    MPI_Allreduce(from, to, count, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    for (int i = 0; i < count; i++)
        CHECK(to[i] == size * i * 3 + salt * (size * (size - 1) / 2));
    MPI_Bcast(from, count, MPI_INT, root, MPI_COMM_WORLD);
    for (int i = 0; i < count; i++)
        CHECK(from[i] == i * 3 + root * salt);
}

int main(int argc, char **argv)
{
    static void (*const changes[])(size_t) = {anew, dropped, moved, of_the_heap, of_the_program, of_the_stack, of_files, beside_a_child, strided, by_collectives};
    start(&argc, &argv);
    int rounds = atoi(argv[1]), number = sizeof changes / sizeof *changes;
    a = map(NULL, ROOM, MAP_PRIVATE, -1);
    b = map(NULL, ROOM, MAP_PRIVATE, -1);
    for (int round = 0; round < rounds; round++)
        for (int i = 0; i < number; i++)
            changes[i](lengths[(round + i * 3) % LENGTHS]);
    MPI_Finalize();
    return 0;
}
