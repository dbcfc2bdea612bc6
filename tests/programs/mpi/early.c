/* Messages that come before their receives: every rank but the last sends all of its messages to the last, in every form of a standard send, which
 * then receives them in another order, in every form of a receive.
 *     early MESSAGES MOST_BYTES [TAGS [SEED]]     most lengths are small; without TAGS every message has a tag of its own */
#include "check.h"
#include <stdint.h>

enum { DONE_TAG = 1 << 20 };

static uint64_t mix(uint64_t x)
{
    x = (x ^ x >> 31) * 0x9e3779b97f4a7c15u;
    x = (x ^ x >> 29) * 0xbf58476d1ce4e5b9u;
    return x ^ x >> 32;
}

static uint64_t seed;
static int messages, most, tags;

static uint64_t about(int source, int i) { return mix(seed ^ mix((uint64_t)source << 32 | (unsigned)i)); }

static int length(int source, int i)
{
    uint64_t x = about(source, i);
    int one = (int)(x % 17), other = (int)(x / 17 % 17), bits = one < other ? one : other;
    int bytes = (1 << bits) - 1 + (int)(x >> 33 & ((1u << bits) - 1));
    return bytes < most ? bytes : most;
}

static int tag(int source, int i) { return tags == 0 ? i : (int)(about(source, i) >> 40) % tags; }

static void write_message(unsigned char *data, int source, int i, int bytes)
{
    uint64_t x = about(source, i);
    for (int at = 0; at < bytes; at++) {
        data[at] = (unsigned char)(x >> at % 8 * 8) + (unsigned char)(at / 8);
    }
}

static void send_all(int to)
{
    unsigned char *data = malloc(2 * most + 2), *apart = malloc(2 * most + 2);
    MPI_Datatype odd;
    MPI_Type_vector(1, 1, 2, MPI_BYTE, &odd);
    MPI_Type_create_resized(odd, 0, 2, &odd);
    MPI_Type_commit(&odd);
    for (int i = 0; i < messages; i++) {
        int bytes = length(rank, i), under = tag(rank, i);
        MPI_Request request;
        write_message(data, rank, i, bytes);
        switch (about(rank, i) >> 32 & 7) {
        case 0:
            MPI_Isend(data, bytes, MPI_BYTE, to, under, MPI_COMM_WORLD, &request);
            MPI_Wait(&request, MPI_STATUS_IGNORE);
            break;
        case 1:
            MPI_Send_init(data, bytes, MPI_BYTE, to, under, MPI_COMM_WORLD, &request);
            MPI_Start(&request);
            for (int done = 0; !done;) {
                MPI_Test(&request, &done, MPI_STATUS_IGNORE);
            }
            MPI_Request_free(&request);
            break;
        case 2:
            for (int at = 0; at < bytes; at++) {
                apart[2 * at] = data[at];
            }
            MPI_Send(apart, bytes, odd, to, under, MPI_COMM_WORLD);
            break;
        default: MPI_Send(data, bytes, MPI_BYTE, to, under, MPI_COMM_WORLD);
        }
        memset(data, 0, bytes);
    }
    MPI_Type_free(&odd);
    free(data);
    free(apart);
}

static void receive_all(int senders)
{
    int kinds = tags == 0 ? messages : tags, left = 0;
    /* By sender and tag: the message that comes next, and how many do. */
    int *next = calloc((size_t)senders * kinds, sizeof *next), *count = calloc((size_t)senders * kinds, sizeof *count);
    int *open = malloc(sizeof *open * senders * kinds);
    unsigned char *data = malloc(most + 1), *expected = malloc(most + 1);
    for (int s = 0; s < senders; s++) {
        for (int i = 0; i < messages; i++) {
            count[s * kinds + tag(s, i)]++;
        }
        for (int t = 0; t < kinds; t++) {
            int i = 0;
            while (i < messages && tag(s, i) != t) {
                i = tags == 0 ? t : i + 1;
            }
            next[s * kinds + t] = i;
            if (count[s * kinds + t] > 0) {
                open[left++] = s * kinds + t;
            }
        }
    }
    for (uint64_t step = 0; left > 0; step++) {
        uint64_t random = mix(seed + step * 77);
        int at = (int)(random % left), s = open[at] / kinds, t = open[at] % kinds, bytes_told;
        MPI_Status status;
        MPI_Message message;
        MPI_Request request;
        int from = random >> 40 & 1 ? MPI_ANY_SOURCE : s;
        switch (random >> 48 & 7) {
        case 0:
            MPI_Probe(from, t, MPI_COMM_WORLD, &status);
            from = status.MPI_SOURCE;
            MPI_Get_count(&status, MPI_BYTE, &bytes_told);
            CHECK(bytes_told == length(from, next[from * kinds + t]));
            MPI_Recv(data, bytes_told, MPI_BYTE, from, t, MPI_COMM_WORLD, &status);
            break;
        case 1:
            MPI_Mprobe(from, t, MPI_COMM_WORLD, &message, &status);
            MPI_Mrecv(data, most, MPI_BYTE, &message, &status);
            break;
        case 2:
            MPI_Irecv(data, most, MPI_BYTE, from, t, MPI_COMM_WORLD, &request);
            MPI_Wait(&request, &status);
            break;
        default: MPI_Recv(data, most, MPI_BYTE, from, t, MPI_COMM_WORLD, &status);
        }
        s = status.MPI_SOURCE;
        int kind = s * kinds + t, i = next[kind], bytes = length(s, i);
        MPI_Get_count(&status, MPI_BYTE, &bytes_told);
        CHECK(status.MPI_TAG == t && bytes_told == bytes);
        write_message(expected, s, i, bytes);
        CHECK(memcmp(data, expected, bytes) == 0);
        do {
            i++;
        } while (tags != 0 && i < messages && tag(s, i) != t);
        next[kind] = i;
        if (--count[kind] == 0) {
            for (at = 0; open[at] != kind; at++) {
            }
            open[at] = open[--left];
        }
    }
    free(next);
    free(count);
    free(open);
    free(data);
    free(expected);
}

int main(int argc, char **argv)
{
    int flag;
    start(&argc, &argv);
    messages = atoi(argv[1]);
    most = atoi(argv[2]);
    tags = argc > 3 ? atoi(argv[3]) : 0;
    seed = argc > 4 ? (uint64_t)atoi(argv[4]) : 1;
    int last = size - 1;
    if (rank != last) {
        send_all(last);
        MPI_Send(NULL, 0, MPI_BYTE, last, DONE_TAG, MPI_COMM_WORLD);
    } else {
        for (int s = 0; s < last; s++) {
            MPI_Recv(NULL, 0, MPI_BYTE, s, DONE_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        }
        receive_all(last);
        MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
        CHECK(!flag);
    }
    MPI_Finalize();
    return 0;
}
