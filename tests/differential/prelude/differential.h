/* What the programs of the differential tester share: a digest for each operation, buffers that notice every byte that is
 * written, values whose reductions are exact, and communicators with what a program needs to know of them.
 *
 * A program prints nothing. Each rank writes a file, one line an operation: the part of the program, the operation, its
 * digest. With DIFFERENTIAL_VERBOSE in the environment everything that goes into a digest is a line, too. */
#ifndef DIFFERENTIAL_H
#define DIFFERENTIAL_H

#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

extern int world_rank, world_size;

/* --- Digests. One a thread, so that threads do not mix theirs. --- */

/* What `main` calls: where this process writes, under which library it runs, and that it has come to the end. */
void output_to(const char *directory);
void library_is(const char *version);
void program_ends(void);

void part_begins(long seed);
void operation_begins(int number);
void operation_ends(void);
/* Threads hand their digest to the operation that joins them, in the order of their numbers. */
uint64_t digest_of_thread(void);
void thread_begins(long part, int number);

void note(const char *what, int64_t value);
void note_bytes(const char *what, const void *bytes, size_t count);
void note_text(const char *what, const char *text);
/* The class of what a call returned; MPI_SUCCESS is noted as well. */
void note_class(const char *what, int code);
/* For what may come in any order: the sum of what each item gives. */
uint64_t hash_of(const void *bytes, size_t count, uint64_t key);

/* --- Buffers: every byte between the guards belongs to the digest. --- */

struct buffer {
  char *memory;
  size_t size;
  void *at;
};
/* Room for COUNT elements of TYPE, filled with bytes that follow from KEY. */
struct buffer buffer_of(MPI_Datatype type, int64_t count, unsigned key);
void refill(struct buffer *buffer, unsigned key);
void note_buffer(const char *what, const struct buffer *buffer);
void release(struct buffer *buffer);

/* --- Values of predefined datatypes; what their reductions give is exact in any order. --- */

enum values { SMALL, FACTORS, TRUTHS, BITS };
void fill_values(void *at, int64_t count, MPI_Datatype type, unsigned key, enum values values);
void note_values(const char *what, const void *at, int64_t count, MPI_Datatype type);
/* Composition of affine functions modulo a prime, on pairs of longs: associative, not commutative. */
MPI_User_function compose, add_modulo;
MPI_User_function_c compose_c;

/* --- Statuses --- */

/* Without the number of basic elements. */
void note_envelope(const MPI_Status *status, MPI_Datatype type);
void note_status(const MPI_Status *status, MPI_Datatype type);
MPI_Aint extent_of(MPI_Datatype type);
MPI_Aint lower_of(MPI_Datatype type);
void note_type(MPI_Datatype type);
/* Places the members of a structure one behind the other, on multiples of 16, with gaps before them. */
void follow_each_other(int n, const int *lengths, const int *gaps, const MPI_Datatype *types, MPI_Aint *at);

/* How requests are completed, all of them, by every road there is. */
enum completion { WAITALL, WAIT, WAITANY, WAITSOME, TESTALL, TEST, TESTANY, TESTSOME, STATUS_FIRST };
void complete(enum completion how, int count, MPI_Request *requests, MPI_Status *statuses);

/* --- Callbacks --- */

#define RETURNS(CALL) note_class(#CALL, CALL)
MPI_Comm_errhandler_function count_error;
/* How many errors came to `count_error` since the last question. */
int errors_counted(void);
/* Attributes: what the callbacks saw belongs to the digest, between these two. */
void logged_begin(void);
void logged_end(void);
MPI_Comm_copy_attr_function copy_logged;
MPI_Comm_delete_attr_function delete_logged;
MPI_Type_copy_attr_function copy_logged_type;
MPI_Type_delete_attr_function delete_logged_type;
/* Sets an attribute of MPI_COMM_SELF so many times, deletes it, frees its key. What its callback sees, also in MPI_Finalize, is a
 * digest of its own, which `program_ends` writes; the callback may communicate with all processes. */
void until_finalization(int sets, int deletes, int frees, int communicates);
MPI_Grequest_query_function query_seven;
MPI_Grequest_free_function free_nothing;
MPI_Grequest_cancel_function cancel_nothing;

/* --- Communicators --- */

struct comm {
  MPI_Comm c;
  int r, n;            /* this process, and how many are in its group */
  int inter, side, rn; /* the groups of an intercommunicator are side 0 and 1; rn: how many can be sent to */
  int in, out;         /* neighbours */
  int *from, *to;
};
struct comm known(MPI_Comm comm, int side);
void forget(struct comm *comm);
void note_comm(const struct comm *comm);
/* The number of the part that runs, for names that no other part has. */
long part_number(void);
/* MPI_COMM_WORLD, MPI_COMM_SELF, and the latter with a topology. */
extern struct comm world, self, self_ring;
void communicators_begin(void);
void communicators_end(void);
/* The communicator, where this process is in it and it is of that sort; otherwise one of this process alone. */
enum sort { ANY, INTRA, TOPOLOGY };
struct comm suitable(const struct comm *comm, enum sort sort);
/* What a thread gets and gives. */
struct thread {
  struct comm comm;
  long part;
  int number;
  uint64_t digest;
};
static inline int member(const struct comm *comm) { return comm->c != MPI_COMM_NULL; }
/* Whether this process sends or receives a message between two numbers, which are taken modulo the sizes of the groups. */
static inline int sends(const struct comm *c, int side, int from) {
  return (!c->inter || c->side == side) && c->r == from % c->n;
}
static inline int receives(const struct comm *c, int side, int to) {
  return (!c->inter || c->side != side) && c->r == to % c->n;
}
/* The root of a collective call, as every process has to name it. */
static inline int root_of(const struct comm *c, int side, int root) {
  if (!c->inter) return root % c->n;
  if (c->side != side) return root % c->rn;
  return c->r == root % c->n ? MPI_ROOT : MPI_PROC_NULL;
}
static inline int is_root(const struct comm *c, int side, int root) {
  return (!c->inter || c->side == side) && c->r == root % c->n;
}

/* --- Counts of calls that have one for each process --- */

struct amounts {
  int base, by_sender, by_receiver, modulus;
};
static inline int amount(struct amounts a, int side, int sender, int receiver) {
  return (a.base + a.by_sender * (sender + 3 * side) + a.by_receiver * receiver) % a.modulus;
}
/* Where the blocks lie, with a gap between them, forwards or backwards. Returns how many elements that takes. */
int64_t displace(const int *counts, int n, int gap, int backwards, int *displacements);

#endif
