/* bcs.h: the BCS API for C, the calls that the MPI library maps on.
 *
 * Sizes are in bytes. Communicators, reduction operations, element types and statuses are those of mpi.h, and a BCS request is an
 * MPI request, so programs may mix the two. Call MPI_Init before and MPI_Finalize after. Every call answers MPI_SUCCESS
 * or an error code, after asking the communicator's error handler, as calls of MPI do. */
#ifndef BCS_H_INCLUDED
#define BCS_H_INCLUDED

#include <mpi.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef MPI_Request BCS_Request;

enum { BCS_NON_BLOCKING = 0, BCS_BLOCKING = 1 };

/* A root for bcs_reduce: the result goes to all. */
enum { BCS_ALL = -1 };

/* Sends; a non-blocking send stores a request. */
int bcs_send(const void *data, int64_t bytes, int destination, int tag, MPI_Comm comm, int blocking, BCS_Request *request);

/* Receives at most `bytes` bytes; a blocking receive stores a status (MPI_STATUS_IGNORE: none), a non-blocking one a request. */
int bcs_recv(void *data, int64_t bytes, int source, int tag, MPI_Comm comm, int blocking, BCS_Request *request, MPI_Status *status);

/* Tests for a message that a receive would take; a blocking test waits for one. */
int bcs_probe(int source, int tag, MPI_Comm comm, int blocking, int *flag, MPI_Status *status);

/* Tests for the completion of a request, or of all; a blocking test waits for it. */
int bcs_test(BCS_Request *request, int blocking, int *flag, MPI_Status *status);
int bcs_testall(int count, BCS_Request requests[], int blocking, int *flag, MPI_Status statuses[]);

int bcs_barrier(MPI_Comm comm);
int bcs_bcast(void *data, int64_t bytes, int root, MPI_Comm comm);

/* Combines `count` elements of all members; the result goes to the root, or with BCS_ALL to all. */
int bcs_reduce(const void *data, void *result, int64_t count, MPI_Datatype element, MPI_Op operation, int root, MPI_Comm comm);

/* Scatter, gather, allgather and all-to-all. `counts` and `displacements` are in bytes and have an element a rank: the
 * vectorial forms. Where `counts` is NULL, every rank has `bytes` bytes, one after the other: the non-vectorial forms. */
int bcs_scatter(const void *data, const int64_t counts[], const int64_t displacements[], void *part, int64_t bytes, int root,
                MPI_Comm comm);
int bcs_gather(const void *part, int64_t bytes, void *data, const int64_t counts[], const int64_t displacements[], int root,
               MPI_Comm comm);
int bcs_allgather(const void *part, int64_t bytes, void *data, const int64_t counts[], const int64_t displacements[], MPI_Comm comm);
int bcs_alltoall(const void *out, const int64_t out_counts[], const int64_t out_displacements[], void *in,
                 const int64_t in_counts[], const int64_t in_displacements[], int64_t bytes, MPI_Comm comm);

#ifdef __cplusplus
}
#endif
#endif
