/* A program that is started without a launcher is a job of one process: messages to itself, collectives, sessions, threads, buffers, communicators. The
 * argument is a thread level, or `sessions`: then there is no world model, or `looks`: then the program looks for ever for a message, to be killed. */
#include "check.h"
#include <dirent.h>
#include <errno.h>
#include <pthread.h>
#include <sys/wait.h>

enum { LARGE = 3000000 };

static unsigned char out[LARGE], in[LARGE];

static void messages(MPI_Comm comm)
{
    static const int sizes[] = {0, 8, 24, 25, 5000, 65536, 65537, LARGE};
    MPI_Request requests[2];
    MPI_Message message;
    MPI_Status status;
    int count, flag;
    for (int i = 0; i < (int)(sizeof sizes / sizeof *sizes); i++) {
        int bytes = sizes[i];
        fill(out, (size_t)bytes, i);
        MPI_Irecv(in, LARGE, MPI_BYTE, MPI_ANY_SOURCE, i, comm, &requests[0]);
        MPI_Issend(out, bytes, MPI_BYTE, 0, i, comm, &requests[1]);
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
        CHECK(is_filled(in, (size_t)bytes, i));
        memset(in, 0, (size_t)bytes);
        MPI_Isend(out, bytes, MPI_BYTE, 0, i, comm, &requests[1]);
        MPI_Mprobe(0, MPI_ANY_TAG, comm, &message, &status);
        MPI_Mrecv(in, LARGE, MPI_BYTE, &message, &status);
        MPI_Get_count(&status, MPI_BYTE, &count);
        CHECK(count == bytes && status.MPI_TAG == i && status.MPI_SOURCE == 0);
        MPI_Wait(&requests[1], MPI_STATUS_IGNORE);
        CHECK(is_filled(in, (size_t)bytes, i));
        MPI_Sendrecv_replace(in, bytes, MPI_BYTE, 0, i, 0, i, comm, MPI_STATUS_IGNORE);
        CHECK(is_filled(in, (size_t)bytes, i));
    }
    MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, comm, &flag, MPI_STATUS_IGNORE);
    CHECK(!flag);
}

static void collectives(MPI_Comm comm)
{
    int sum = 0, value = 7, gathered = 0;
    MPI_Request request;
    MPI_Comm dup, part;
    MPI_Barrier(comm);
    MPI_Allreduce(&value, &sum, 1, MPI_INT, MPI_SUM, comm);
    MPI_Iallgather(&value, 1, MPI_INT, &gathered, 1, MPI_INT, comm, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    CHECK(sum == 7 && gathered == 7);
    MPI_Bcast(out, LARGE, MPI_BYTE, 0, comm);
    MPI_Comm_dup(comm, &dup);
    MPI_Comm_split(dup, 3, 0, &part);
    MPI_Barrier(part);
    messages(part);
    MPI_Comm_free(&part);
    MPI_Comm_free(&dup);
}

/* One thread waits for what another one sends later. */
static void *receive(void *comm)
{
    int value = 0;
    MPI_Recv(&value, 1, MPI_INT, 0, 99, *(MPI_Comm *)comm, MPI_STATUS_IGNORE);
    CHECK_INT(value, 42);
    return NULL;
}

static void threads(MPI_Comm comm)
{
    int value = 42;
    pthread_t thread;
    pthread_create(&thread, NULL, receive, &comm);
    messages(MPI_COMM_SELF);
    MPI_Send(&value, 1, MPI_INT, 0, 99, comm);
    pthread_join(thread, NULL);
}

static void in_session(void)
{
    MPI_Session session;
    MPI_Group group;
    MPI_Comm comm;
    int members;
    MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &session);
    for (int i = 0; i < 2; i++) {
        MPI_Group_from_session_pset(session, i ? "mpi://SELF" : "mpi://WORLD", &group);
        MPI_Group_size(group, &members);
        CHECK_INT(members, 1);
        MPI_Comm_create_from_group(group, "alone", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &comm);
        MPI_Group_free(&group);
        messages(comm);
        collectives(comm);
        MPI_Comm_attach_buffer(comm, MPI_BUFFER_AUTOMATIC, 0);
        MPI_Bsend(out, LARGE, MPI_BYTE, 0, 1, comm);
        MPI_Recv(in, LARGE, MPI_BYTE, 0, 1, comm, MPI_STATUS_IGNORE);
        MPI_Comm_free(&comm);
    }
    MPI_Session_finalize(&session);
}

static int entries(const char *directory)
{
    int found = 0;
    DIR *entries = opendir(directory);
    for (struct dirent *entry; (entry = readdir(entries)) != NULL;)
        found += entry->d_name[0] != '.';
    closedir(entries);
    return found;
}

/* Neither threads nor processes nor descriptors of the library's are left. */
static void nothing_is_left(int descriptors)
{
    int threads = entries("/proc/self/task"), open = entries("/proc/self/fd");
    int child = waitpid(-1, NULL, WNOHANG), why = errno;
    if (threads != 1 || open != descriptors || child != -1 || why != ECHILD) {
        fprintf(stderr, "left: %d threads, %d descriptors of %d, child %d\n", threads, open, descriptors, child);
        exit(4);
    }
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        int level;
    } levels[] = {{"single", MPI_THREAD_SINGLE}, {"multiple", MPI_THREAD_MULTIPLE}};
    int provided, open = entries("/proc/self/fd");
    if (argc < 2)
        return 3;
    /* A session asks for more than a single thread. */
    if (strcmp(argv[1], "single"))
        in_session();
    for (int i = 0; i < 2; i++) {
        if (strcmp(argv[1], levels[i].name))
            continue;
        MPI_Init_thread(&argc, &argv, levels[i].level, &provided);
        MPI_Comm_rank(MPI_COMM_WORLD, &rank);
        MPI_Comm_size(MPI_COMM_WORLD, &size);
        CHECK(rank == 0 && size == 1 && provided >= levels[i].level);
        messages(MPI_COMM_WORLD);
        collectives(MPI_COMM_SELF);
        if (levels[i].level == MPI_THREAD_MULTIPLE)
            threads(MPI_COMM_WORLD);
        in_session();
        MPI_Finalize();
    }
    if (!strcmp(argv[1], "looks")) {
        int found;
        start(&argc, &argv);
        puts("looks");
        fflush(stdout);
        for (;;)
            MPI_Iprobe(0, 0, MPI_COMM_WORLD, &found, MPI_STATUS_IGNORE);
    }
    in_session();
    nothing_is_left(open);
    puts("alone");
    return 0;
}
