/* Point-to-point kernels: latency, rate, bandwidth, the cost of a blocking call, persistent requests, rings in
 * which all send at once, and messages that wait.
 *
 * Ranks 0 and 1 talk; further ranks take no part and wait in the harness's synchronisation. With persistent requests every
 * pair of ranks talks, and in `sendrecv` and `exchange` all ranks of a ring do. */
#include "bench.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { TAG_PING = 1, TAG_PONG, TAG_WINDOW, TAG_ACK, TAG_EXCHANGE, TAG_PERSISTENT, TAG_RING };

static unsigned char pattern(size_t at, int salt)
{
    return (unsigned char)(at * 7 + (at >> 8) * 13 + (size_t)salt * 101 + 1);
}

static void fill(unsigned char *buffer, size_t bytes, int salt)
{
    for (size_t i = 0; i < bytes; i++)
        buffer[i] = pattern(i, salt);
}

static void verify(const struct context *c, const char *kernel, const unsigned char *buffer, int salt)
{
    for (size_t i = 0; i < c->bytes; i++)
        if (buffer[i] != pattern(i, salt))
            wrong_data(c, kernel, i, buffer[i], pattern(i, salt));
}

static size_t one_message(const struct context *c)
{
    return c->bytes;
}

static size_t one_window(const struct context *c)
{
    return c->bytes * (size_t)c->window;
}

/* ---- latency: ping-pong; the value is half a round trip ---- */

static double latency_run(struct context *c, long iterations)
{
    int count = (int)c->bytes;
    double start = MPI_Wtime();
    if (c->rank == 0) {
        for (long i = 0; i < iterations; i++) {
            MPI_Send(c->send, count, MPI_BYTE, 1, TAG_PING, MPI_COMM_WORLD);
            MPI_Recv(c->receive, count, MPI_BYTE, 1, TAG_PONG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        }
    } else if (c->rank == 1) {
        for (long i = 0; i < iterations; i++) {
            MPI_Recv(c->receive, count, MPI_BYTE, 0, TAG_PING, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            MPI_Send(c->send, count, MPI_BYTE, 0, TAG_PONG, MPI_COMM_WORLD);
        }
    }
    return MPI_Wtime() - start;
}

static void latency_check(struct context *c)
{
    for (int round = 0; round < 3 && c->rank < 2; round++) {
        fill(c->send, c->bytes, round * 2 + c->rank);
        memset(c->receive, 0, c->bytes);
        latency_run(c, 1);
        verify(c, "latency", c->receive, round * 2 + 1 - c->rank);
    }
}

static double one_way_microseconds(const struct context *c, long iterations, double seconds)
{
    (void)c;
    return seconds / (double)iterations / 2 * 1e6;
}

/* ---- rate and bandwidth: windows of non-blocking messages from rank 0 to rank 1 ---- */

static void send_window(struct context *c)
{
    MPI_Request requests[WINDOW];
    for (int i = 0; i < c->window; i++)
        MPI_Isend(c->send, (int)c->bytes, MPI_BYTE, 1, TAG_WINDOW, MPI_COMM_WORLD, &requests[i]);
    MPI_Waitall(c->window, requests, MPI_STATUSES_IGNORE);
}

static void receive_window(struct context *c)
{
    MPI_Request requests[WINDOW];
    for (int i = 0; i < c->window; i++)
        MPI_Irecv(c->receive + (size_t)i * c->bytes, (int)c->bytes, MPI_BYTE, 0, TAG_WINDOW, MPI_COMM_WORLD,
                  &requests[i]);
    MPI_Waitall(c->window, requests, MPI_STATUSES_IGNORE);
}

/* One iteration is one window. */
static double windows_run(struct context *c, long iterations)
{
    double start = MPI_Wtime();
    if (c->rank < 2) {
        int ack = 0;
        for (long i = 1; i <= iterations; i++) {
            int acknowledge = i % WINDOWS_PER_ACK == 0 || i == iterations;
            if (c->rank == 0) {
                send_window(c);
                if (acknowledge)
                    MPI_Recv(&ack, 1, MPI_INT, 1, TAG_ACK, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            } else {
                receive_window(c);
                if (acknowledge)
                    MPI_Send(&ack, 1, MPI_INT, 0, TAG_ACK, MPI_COMM_WORLD);
            }
        }
    }
    return MPI_Wtime() - start;
}

static void windows_check(struct context *c)
{
    if (c->rank > 1)
        return;
    fill(c->send, c->bytes, 3);
    memset(c->receive, 0, one_window(c));
    windows_run(c, 2);
    if (c->rank == 1)
        for (int i = 0; i < c->window; i++)
            verify(c, "windowed send", c->receive + (size_t)i * c->bytes, 3);
}

static double million_messages_a_second(const struct context *c, long iterations, double seconds)
{
    return (double)iterations * c->window / seconds / 1e6;
}

static double gigabytes_a_second(const struct context *c, long iterations, double seconds)
{
    return (double)iterations * c->window * (double)c->bytes / seconds / 1e9;
}

/* ---- processor: what a message of such windows takes of the machine's processors, whoever uses them: ranks, daemons, the kernel ---- */

/* Seconds that all processors have been busy since the machine was started; 0 where that is not told. */
static double busy_seconds(void)
{
    FILE *file = fopen("/proc/stat", "r");
    long long user, nice, system, idle, waiting, interrupts, late;
    int found = file ? fscanf(file, "cpu %lld %lld %lld %lld %lld %lld %lld", &user, &nice, &system, &idle, &waiting,
                              &interrupts, &late)
                     : 0;
    if (file)
        fclose(file);
    return found == 7 ? (double)(user + nice + system + interrupts + late) / (double)sysconf(_SC_CLK_TCK) : 0;
}

static double processor_run(struct context *c, long iterations)
{
    double before = busy_seconds();
    windows_run(c, iterations);
    return busy_seconds() - before;
}

/* The same of a ping-pong's message. */
static double turns_run(struct context *c, long iterations)
{
    double before = busy_seconds();
    latency_run(c, iterations);
    return busy_seconds() - before;
}

static double microseconds_a_message(const struct context *c, long iterations, double seconds)
{
    return seconds / (double)iterations / c->window * 1e6;
}

/* ---- blocking: mean time in one blocking exchange that starts at a random moment ----
 *
 * Both ranks compute for the same random time, so that their calls fall anywhere in a time slice, then
 * exchange with one blocking call. With fixed slices the paper expects 1.5 slices a call (§3.1, §6.3). */

static double blocking_run(struct context *c, long iterations)
{
    double in_calls = 0;
    unsigned long long state = 0x9E3779B97F4A7C15ull;
    if (c->rank > 1)
        return 0;
    for (long i = 0; i < iterations; i++) {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        double until = MPI_Wtime() + c->phase_seconds * ((double)(state >> 11) / 9007199254740992.0);
        while (MPI_Wtime() < until) {
        }
        double start = MPI_Wtime();
        MPI_Sendrecv(c->send, (int)c->bytes, MPI_BYTE, 1 - c->rank, TAG_EXCHANGE, c->receive, (int)c->bytes,
                     MPI_BYTE, 1 - c->rank, TAG_EXCHANGE, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        in_calls += MPI_Wtime() - start;
    }
    return in_calls;
}

static void blocking_check(struct context *c)
{
    if (c->rank > 1)
        return;
    fill(c->send, c->bytes, 10 + c->rank);
    memset(c->receive, 0, c->bytes);
    blocking_run(c, 1);
    verify(c, "blocking", c->receive, 11 - c->rank);
}

/* ---- persistent: both ranks start a receive and a send made once, and wait for both ---- */

static double persistent_run(struct context *c, long iterations)
{
    MPI_Request requests[2];
    int count = (int)c->bytes, other = partner(c);
    MPI_Recv_init(c->receive, count, MPI_BYTE, other, TAG_PERSISTENT, MPI_COMM_WORLD, &requests[0]);
    MPI_Send_init(c->send, count, MPI_BYTE, other, TAG_PERSISTENT, MPI_COMM_WORLD, &requests[1]);
    double start = MPI_Wtime();
    for (long i = 0; i < iterations; i++) {
        MPI_Startall(2, requests);
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    }
    double seconds = MPI_Wtime() - start;
    MPI_Request_free(&requests[0]);
    MPI_Request_free(&requests[1]);
    return seconds;
}

static void persistent_check(struct context *c)
{
    fill(c->send, c->bytes, 20 + c->rank);
    memset(c->receive, 0, c->bytes);
    persistent_run(c, 2);
    if (partner(c) != MPI_PROC_NULL)
        verify(c, "persistent", c->receive, 20 + partner(c));
}

/* ---- sendrecv: every rank sends to the next of a ring and receives from the one before, at the same time ---- */

static int next_rank(const struct context *c)
{
    return (c->rank + 1) % c->ranks;
}

static int rank_before(const struct context *c)
{
    return (c->rank + c->ranks - 1) % c->ranks;
}

static double sendrecv_run(struct context *c, long iterations)
{
    int count = (int)c->bytes, to = next_rank(c), from = rank_before(c);
    double start = MPI_Wtime();
    for (long i = 0; i < iterations; i++)
        MPI_Sendrecv(c->send, count, MPI_BYTE, to, TAG_RING, c->receive, count, MPI_BYTE, from, TAG_RING,
                     MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    return MPI_Wtime() - start;
}

static void sendrecv_check(struct context *c)
{
    fill(c->send, c->bytes, 30 + c->rank);
    memset(c->receive, 0, c->bytes);
    sendrecv_run(c, 1);
    verify(c, "sendrecv", c->receive, 30 + rank_before(c));
}

/* ---- exchange: every rank with both its neighbours of a ring: two receives, two sends, MPI_Waitall ---- */

static size_t two_messages(const struct context *c)
{
    return 2 * c->bytes;
}

static double exchange_run(struct context *c, long iterations)
{
    int count = (int)c->bytes, next = next_rank(c), before = rank_before(c);
    double start = MPI_Wtime();
    for (long i = 0; i < iterations; i++) {
        MPI_Request requests[4];
        MPI_Irecv(c->receive, count, MPI_BYTE, before, TAG_RING, MPI_COMM_WORLD, &requests[0]);
        MPI_Irecv(c->receive + c->bytes, count, MPI_BYTE, next, TAG_RING + 1, MPI_COMM_WORLD, &requests[1]);
        MPI_Isend(c->send, count, MPI_BYTE, next, TAG_RING, MPI_COMM_WORLD, &requests[2]);
        MPI_Isend(c->send + c->bytes, count, MPI_BYTE, before, TAG_RING + 1, MPI_COMM_WORLD, &requests[3]);
        MPI_Waitall(4, requests, MPI_STATUSES_IGNORE);
    }
    return MPI_Wtime() - start;
}

static void exchange_check(struct context *c)
{
    fill(c->send, c->bytes, 40 + c->rank);
    fill(c->send + c->bytes, c->bytes, 140 + c->rank);
    memset(c->receive, 0, 2 * c->bytes);
    exchange_run(c, 1);
    verify(c, "exchange", c->receive, 40 + rank_before(c));
    verify(c, "exchange", c->receive + c->bytes, 140 + next_rank(c));
}

/* ---- waiting: rank 0 sends so many messages of 8 bytes that nobody expects, each with its own tag; rank 1 takes them in
 * reverse order. The size is the number of messages; the value is the time of one, from its send to its receive ---- */

static double waiting_run(struct context *c, long iterations)
{
    int messages = (int)c->bytes, token = 0;
    long long value = 0;
    double start = MPI_Wtime();
    for (long i = 0; i < iterations && c->rank < 2; i++) {
        if (c->rank == 0) {
            for (int tag = 0; tag < messages; tag++) {
                value = tag;
                MPI_Send(&value, 1, MPI_LONG_LONG, 1, tag, MPI_COMM_WORLD);
            }
            MPI_Send(&token, 1, MPI_INT, 1, messages, MPI_COMM_WORLD);
            MPI_Recv(&token, 1, MPI_INT, 1, messages, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        } else {
            MPI_Recv(&token, 1, MPI_INT, 0, messages, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            for (int tag = messages - 1; tag >= 0; tag--) {
                MPI_Recv(&value, 1, MPI_LONG_LONG, 0, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
                if (value != tag)
                    wrong_data(c, "waiting", (size_t)tag, (double)value, tag);
            }
            MPI_Send(&token, 1, MPI_INT, 0, messages, MPI_COMM_WORLD);
        }
    }
    return MPI_Wtime() - start;
}

static void waiting_check(struct context *c)
{
    waiting_run(c, 1);
}

static double microseconds_a_waiting_message(const struct context *c, long iterations, double seconds)
{
    return c->bytes ? seconds / (double)iterations / (double)c->bytes * 1e6 : 0;
}

/* ---- expecting: the same with receives that wait: rank 1 posts them all, rank 0 sends in reverse order ---- */

static double expecting_run(struct context *c, long iterations)
{
    int messages = (int)c->bytes, token = 0;
    MPI_Request *requests = malloc(((size_t)messages + 1) * sizeof *requests);
    long long *values = malloc(((size_t)messages + 1) * sizeof *values);
    if (!requests || !values) {
        fputs("microbench: expecting: no memory for its requests\n", stderr);
        MPI_Abort(MPI_COMM_WORLD, 3);
    }
    double start = MPI_Wtime();
    for (long i = 0; i < iterations && c->rank < 2; i++) {
        if (c->rank == 0) {
            MPI_Recv(&token, 1, MPI_INT, 1, messages, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            for (int tag = messages - 1; tag >= 0; tag--) {
                long long value = tag;
                MPI_Send(&value, 1, MPI_LONG_LONG, 1, tag, MPI_COMM_WORLD);
            }
            MPI_Recv(&token, 1, MPI_INT, 1, messages, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        } else {
            for (int tag = 0; tag < messages; tag++)
                MPI_Irecv(&values[tag], 1, MPI_LONG_LONG, 0, tag, MPI_COMM_WORLD, &requests[tag]);
            MPI_Send(&token, 1, MPI_INT, 0, messages, MPI_COMM_WORLD);
            MPI_Waitall(messages, requests, MPI_STATUSES_IGNORE);
            for (int tag = 0; tag < messages; tag++)
                if (values[tag] != tag)
                    wrong_data(c, "expecting", (size_t)tag, (double)values[tag], tag);
            MPI_Send(&token, 1, MPI_INT, 0, messages, MPI_COMM_WORLD);
        }
    }
    double seconds = MPI_Wtime() - start;
    free(values);
    free(requests);
    return seconds;
}

static void expecting_check(struct context *c)
{
    expecting_run(c, 1);
}

static size_t no_bytes(const struct context *c)
{
    (void)c;
    return 0;
}

static const size_t ring_sizes[] = {0, 8, 64, 512, 1024, 4096, 16384, 65536, 262144, 1048576};
static const size_t waiting_counts[] = {1, 100, 1000, 10000, 100000};
static const size_t persistent_sizes[] = {8, 1024, 16384, 65536, 1048576};
static const size_t latency_sizes[] = {0,    1,     8,     64,    512,    1024,    4096,
                                       8192, 16384, 32768, 65536, 262144, 1048576, 4194304};
static const size_t bandwidth_sizes[] = {1024, 4096, 16384, 65536, 262144, 1048576, 4194304};
static const size_t eight_bytes[] = {8};

#define COUNT(a) (int)(sizeof(a) / sizeof((a)[0]))

const struct kernel point_to_point_kernels[] = {
    {"latency", "ping-pong with blocking calls; half a round trip", "us", 2, latency_sizes,
     COUNT(latency_sizes), 1, one_message, one_message, latency_check, latency_run, one_way_microseconds},
    {"rate", "8-byte non-blocking messages in windows of 64", "Mmsg/s", 2, eight_bytes, COUNT(eight_bytes), 1,
     one_message, one_window, windows_check, windows_run, million_messages_a_second},
    {"bandwidth", "non-blocking messages in windows (64 up to 64 KB, then 4 MB in flight, at least 2)",
     "GB/s", 2, bandwidth_sizes, COUNT(bandwidth_sizes), 1, one_message, one_window, windows_check,
     windows_run, gigabytes_a_second},
    {"processor", "as rate and bandwidth: processor time that the whole machine spends on a message; wants --repetition 1",
     "us", 2, eight_bytes, COUNT(eight_bytes), 1, one_message, one_window, windows_check, processor_run,
     microseconds_a_message},
    {"turns", "as latency: processor time that the whole machine spends on a message; wants --repetition 1", "us", 2,
     eight_bytes, COUNT(eight_bytes), 1, one_message, one_message, latency_check, turns_run, one_way_microseconds},
    {"blocking", "one blocking exchange that starts at a random moment (--phase); mean time in the call",
     "us", 2, eight_bytes, COUNT(eight_bytes), 1, one_message, one_message, blocking_check, blocking_run,
     microseconds_each},
    {"persistent", "an exchange between the ranks of each pair by persistent requests", "us", 2, persistent_sizes,
     COUNT(persistent_sizes), 1, one_message, one_message, persistent_check, persistent_run, microseconds_each},
    {"sendrecv", "MPI_Sendrecv round a ring of all ranks", "us", 2, ring_sizes, COUNT(ring_sizes), 1, one_message,
     one_message, sendrecv_check, sendrecv_run, microseconds_each},
    {"exchange", "non-blocking messages with both neighbours of a ring of all ranks", "us", 2, ring_sizes,
     COUNT(ring_sizes), 1, two_messages, two_messages, exchange_check, exchange_run, microseconds_each},
    {"waiting", "as many messages of 8 bytes as --sizes says wait for their receives, which come in reverse order", "us",
     2, waiting_counts, COUNT(waiting_counts), 1, no_bytes, no_bytes, waiting_check, waiting_run,
     microseconds_a_waiting_message},
    {"expecting", "as many receives as --sizes says wait for their messages, which come in reverse order", "us", 2,
     waiting_counts, COUNT(waiting_counts), 1, no_bytes, no_bytes, expecting_check, expecting_run,
     microseconds_a_waiting_message},
};
const int point_to_point_kernel_count = COUNT(point_to_point_kernels);
