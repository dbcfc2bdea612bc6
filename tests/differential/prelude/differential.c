/* See differential.h. */
#include "differential.h"

#include <complex.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdbool.h>
#include <unistd.h>

int world_rank, world_size;

static FILE *out;
static int verbose;
static __thread long part;
static __thread int operation;
static __thread uint64_t digest;

static uint64_t mix(uint64_t a, uint64_t b) {
  a ^= b + 0x9e3779b97f4a7c15u + (a << 6) + (a >> 2);
  a *= 0xff51afd7ed558ccdu;
  return a ^ (a >> 33);
}

static void detail(const char *format, const char *what, ...) {
  va_list values;
  flockfile(out);
  fprintf(out, "# %ld %d %s ", part, operation, what);
  va_start(values, what);
  vfprintf(out, format, values);
  va_end(values);
  fputc('\n', out);
  fflush(out);
  funlockfile(out);
}

/* The file of this process. Its rank in MPI_COMM_WORLD may not be known yet, so launchers' variables are not asked either: the
 * name is given when the rank is. */
void output_to(const char *directory) {
  char name[4096];
  snprintf(name, sizeof name, "%s/%d", directory, world_rank);
  out = fopen(name, "a");
  if (!out) {
    perror(name);
    exit(3);
  }
  verbose = getenv("DIFFERENTIAL_VERBOSE") != NULL;
  /* A program that hangs ends by itself, whoever started it. */
  const char *limit = getenv("DIFFERENTIAL_SECONDS");
  if (limit) alarm((unsigned)atoi(limit));
}

void library_is(const char *version) {
  fprintf(out, "library %.*s\n", (int)strcspn(version, "\r\n"), version);
  fflush(out);
}

/* An attribute that may live until finalization, and the digest of what its callback saw. */
struct last {
  long part;
  int operation, communicates;
  uint64_t digest;
  struct last *next;
};
static struct last *lasts;

void program_ends(void) {
  for (struct last *last; (last = lasts); free(last)) {
    fprintf(out, "%ld %d %016" PRIx64 "\n", last->part, last->operation, last->digest);
    lasts = last->next;
  }
  fprintf(out, "ends\n");
  fclose(out);
}

void part_begins(long seed) { part = seed; }

void operation_begins(int number) {
  operation = number;
  digest = 0;
}

void operation_ends(void) {
  fprintf(out, "%ld %d %016" PRIx64 "\n", part, operation, digest);
  fflush(out);
}

void thread_begins(long seed, int number) {
  part = seed;
  operation_begins(number);
}

uint64_t digest_of_thread(void) { return digest; }

void note(const char *what, int64_t value) {
  digest = mix(digest, (uint64_t)value);
  if (verbose) detail("%" PRId64, what, value);
}

uint64_t hash_of(const void *bytes, size_t count, uint64_t key) {
  const unsigned char *at = bytes;
  uint64_t hash = mix(key, count);
  size_t i = 0;
  for (; i + 8 <= count; i += 8) {
    uint64_t word;
    memcpy(&word, at + i, 8);
    hash = mix(hash, word);
  }
  for (; i < count; i++) hash = mix(hash, at[i]);
  return hash;
}

void note_bytes(const char *what, const void *bytes, size_t count) {
  uint64_t hash = hash_of(bytes, count, 0);
  digest = mix(digest, hash);
  if (verbose) detail("%zu bytes %016" PRIx64, what, count, hash);
}

void note_text(const char *what, const char *text) {
  digest = mix(digest, hash_of(text, strlen(text), 1));
  if (verbose) detail("\"%s\"", what, text);
}

void note_class(const char *what, int code) {
  int class = -1;
  if (code != MPI_SUCCESS) MPI_Error_class(code, &class);
  else class = MPI_SUCCESS;
  digest = mix(digest, (uint64_t)class);
  if (verbose) detail("class %d", what, class);
}

/* --- Buffers --- */

enum { GUARD = 32 };

MPI_Aint extent_of(MPI_Datatype type) {
  MPI_Aint lower, extent;
  MPI_Type_get_extent(type, &lower, &extent);
  return extent;
}

MPI_Aint lower_of(MPI_Datatype type) {
  MPI_Aint lower, extent;
  MPI_Type_get_extent(type, &lower, &extent);
  return lower;
}

void refill(struct buffer *buffer, unsigned key) {
  uint64_t state = mix(key + 1, 77);
  for (size_t i = 0; i < buffer->size; i++) {
    if (i % 8 == 0) state = mix(state, i);
    buffer->memory[i] = (char)(state >> (8 * (i % 8)));
  }
}

struct buffer buffer_of(MPI_Datatype type, int64_t count, unsigned key) {
  MPI_Aint lower, extent, true_lower, true_extent;
  MPI_Type_get_extent(type, &lower, &extent);
  MPI_Type_get_true_extent(type, &true_lower, &true_extent);
  int64_t low = true_lower < 0 ? true_lower : 0;
  int64_t high = count > 0 ? (count - 1) * extent + true_lower + true_extent : 0;
  struct buffer buffer;
  if (high < 0) high = 0;
  low = -((-low + 15) / 16 * 16);
  buffer.size = (size_t)(high - low) + 2 * GUARD;
  buffer.memory = malloc(buffer.size);
  if (!buffer.memory) {
    fprintf(stderr, "no memory for %zu bytes\n", buffer.size);
    exit(3);
  }
  buffer.at = buffer.memory + GUARD - low;
  refill(&buffer, key);
  return buffer;
}

void note_buffer(const char *what, const struct buffer *buffer) {
  note_bytes(what, buffer->memory, buffer->size);
}

void release(struct buffer *buffer) {
  free(buffer->memory);
  buffer->memory = NULL;
}

/* --- Values --- */

#define FOR_EACH_NUMBER(DO) \
  DO(MPI_SIGNED_CHAR, signed char) DO(MPI_UNSIGNED_CHAR, unsigned char) DO(MPI_SHORT, short) \
  DO(MPI_UNSIGNED_SHORT, unsigned short) DO(MPI_INT, int) DO(MPI_UNSIGNED, unsigned) DO(MPI_LONG, long) \
  DO(MPI_UNSIGNED_LONG, unsigned long) DO(MPI_LONG_LONG, long long) \
  DO(MPI_UNSIGNED_LONG_LONG, unsigned long long) DO(MPI_INT8_T, int8_t) DO(MPI_INT16_T, int16_t) \
  DO(MPI_INT32_T, int32_t) DO(MPI_INT64_T, int64_t) DO(MPI_UINT8_T, uint8_t) DO(MPI_UINT16_T, uint16_t) \
  DO(MPI_UINT32_T, uint32_t) DO(MPI_UINT64_T, uint64_t) DO(MPI_AINT, MPI_Aint) DO(MPI_OFFSET, MPI_Offset) \
  DO(MPI_COUNT, MPI_Count) DO(MPI_FLOAT, float) DO(MPI_DOUBLE, double) DO(MPI_LONG_DOUBLE, long double) \
  DO(MPI_BYTE, unsigned char) DO(MPI_C_BOOL, bool)
#define FOR_EACH_COMPLEX(DO) \
  DO(MPI_C_FLOAT_COMPLEX, float complex) DO(MPI_C_DOUBLE_COMPLEX, double complex) \
  DO(MPI_C_LONG_DOUBLE_COMPLEX, long double complex)
#define FOR_EACH_PAIR(DO) \
  DO(MPI_FLOAT_INT, float) DO(MPI_DOUBLE_INT, double) DO(MPI_LONG_INT, long) DO(MPI_2INT, int) DO(MPI_SHORT_INT, short) \
  DO(MPI_LONG_DOUBLE_INT, long double)

/* At most two of eight processes have a factor that is not one. */
static int value_of(int64_t i, unsigned key, enum values values) {
  uint64_t hash = mix(mix(key, (uint64_t)i), 5);
  switch (values) {
    case FACTORS: return (i + world_rank) % 4 == 0 ? 2 : 1;
    case TRUTHS: return hash % 4 != 0;
    case BITS: return (int)(hash % 128);
    default: return (int)(hash % 11);
  }
}

void fill_values(void *at, int64_t count, MPI_Datatype type, unsigned key, enum values values) {
#define NUMBERS(TYPE, C) \
  if (type == TYPE) { \
    C *v = at; \
    for (int64_t i = 0; i < count; i++) v[i] = (C)value_of(i, key, values); \
    return; \
  }
#define PAIRS(TYPE, C) \
  if (type == TYPE) { \
    struct { C value; int index; } *v = at; \
    for (int64_t i = 0; i < count; i++) { \
      v[i].value = (C)(value_of(i, key, values) % 4); \
      v[i].index = (int)((world_rank * 7 + i) % 13); \
    } \
    return; \
  }
  FOR_EACH_NUMBER(NUMBERS)
  FOR_EACH_COMPLEX(NUMBERS)
  FOR_EACH_PAIR(PAIRS)
  /* Pairs of longs, for the program's own operations. */
  for (int64_t i = 0; i < 2 * count; i++) ((long *)at)[i] = 1 + value_of(i, key, SMALL);
}

void note_values(const char *what, const void *at, int64_t count, MPI_Datatype type) {
  uint64_t hash = 0;
#define NOTE_NUMBERS(TYPE, C) \
  if (type == TYPE) { \
    const C *v = at; \
    for (int64_t i = 0; i < count; i++) { \
      double d = (double)v[i]; \
      hash = mix(hash, hash_of(&d, sizeof d, 0)); \
      if (verbose && i < 8) detail("[%d] %.17g", what, (int)i, d); \
    } \
  }
#define NOTE_COMPLEX(TYPE, C) \
  if (type == TYPE) { \
    const C *v = at; \
    for (int64_t i = 0; i < count; i++) { \
      double d[2] = {(double)creall(v[i]), (double)cimagl(v[i])}; \
      hash = mix(hash, hash_of(d, sizeof d, 0)); \
      if (verbose && i < 8) detail("[%d] %.17g + %.17g i", what, (int)i, d[0], d[1]); \
    } \
  }
#define NOTE_PAIRS(TYPE, C) \
  if (type == TYPE) { \
    const struct { C value; int index; } *v = at; \
    for (int64_t i = 0; i < count; i++) { \
      double d[2] = {(double)v[i].value, (double)v[i].index}; \
      hash = mix(hash, hash_of(d, sizeof d, 0)); \
      if (verbose && i < 8) detail("[%d] (%.17g, %.17g)", what, (int)i, d[0], d[1]); \
    } \
  }
  FOR_EACH_NUMBER(NOTE_NUMBERS)
  FOR_EACH_COMPLEX(NOTE_COMPLEX)
  FOR_EACH_PAIR(NOTE_PAIRS)
  if (hash == 0 && count > 0) hash = hash_of(at, (size_t)count * 2 * sizeof(long), 0);
  digest = mix(digest, hash);
  if (verbose) detail("values %016" PRIx64, what, hash);
}

enum { PRIME = 65521 };

/* in-out = in ∘ in-out, each (a, b) standing for x ↦ a x + b; the operand of the lower rank comes first. */
static void compose_pairs(const long *in, long *inout, int64_t count) {
  for (int64_t i = 0; i < 2 * count; i += 2) {
    long a = in[i] * inout[i] % PRIME, b = (in[i] * inout[i + 1] + in[i + 1]) % PRIME;
    inout[i] = a;
    inout[i + 1] = b;
  }
}

void compose(void *in, void *inout, int *count, MPI_Datatype *type) {
  (void)type;
  compose_pairs(in, inout, *count);
}

void compose_c(void *in, void *inout, MPI_Count *count, MPI_Datatype *type) {
  (void)type;
  compose_pairs(in, inout, *count);
}

void add_modulo(void *in, void *inout, int *count, MPI_Datatype *type) {
  (void)type;
  for (int64_t i = 0; i < 2 * (int64_t)*count; i++)
    ((long *)inout)[i] = (((long *)in)[i] + ((long *)inout)[i]) % PRIME;
}

/* --- Statuses and datatypes --- */

void note_envelope(const MPI_Status *status, MPI_Datatype type) {
  int count = -7, cancelled = -7;
  note("source", status->MPI_SOURCE);
  note("tag", status->MPI_TAG);
  MPI_Get_count(status, type, &count);
  note("count", count);
  MPI_Test_cancelled(status, &cancelled);
  note("cancelled", cancelled != 0);
}

void note_status(const MPI_Status *status, MPI_Datatype type) {
  int elements = -7;
  note_envelope(status, type);
  MPI_Get_elements(status, type, &elements);
  note("elements", elements);
}

void note_type(MPI_Datatype type) {
  int size = -7;
  MPI_Aint lower = -7, extent = -7, true_lower = -7, true_extent = -7;
  MPI_Type_size(type, &size);
  MPI_Type_get_extent(type, &lower, &extent);
  MPI_Type_get_true_extent(type, &true_lower, &true_extent);
  note("size", size);
  note("lower bound", lower);
  note("extent", extent);
  note("true lower bound", true_lower);
  note("true extent", true_extent);
}

void follow_each_other(int n, const int *lengths, const int *gaps, const MPI_Datatype *types, MPI_Aint *at) {
  MPI_Aint next = 0;
  for (int i = 0; i < n; i++) {
    MPI_Aint lower, extent, true_lower, true_extent, low, high;
    MPI_Type_get_extent(types[i], &lower, &extent);
    MPI_Type_get_true_extent(types[i], &true_lower, &true_extent);
    low = lower < true_lower ? lower : true_lower;
    high = lower + extent > true_lower + true_extent ? lower + extent : true_lower + true_extent;
    at[i] = (next + gaps[i] - low + 15) / 16 * 16;
    if (lengths[i] > 0) next = at[i] + (lengths[i] - 1) * extent + high;
  }
}

static void keep(MPI_Status *statuses, int i, const MPI_Status *status) {
  if (statuses != MPI_STATUSES_IGNORE) statuses[i] = *status;
}

void complete(enum completion how, int count, MPI_Request *requests, MPI_Status *statuses) {
  MPI_Status status;
  int flag = 0, some, index, indices[64];
  MPI_Status several[64];
  switch (how) {
    case WAITALL: MPI_Waitall(count, requests, statuses); return;
    case TESTALL:
      while (!flag) MPI_Testall(count, requests, &flag, statuses);
      return;
    case WAIT:
      for (int i = count - 1; i >= 0; i--) {
        MPI_Wait(&requests[i], &status);
        keep(statuses, i, &status);
      }
      return;
    case TEST:
      for (int i = 0; i < count; i++) {
        for (flag = 0; !flag;) MPI_Test(&requests[i], &flag, &status);
        keep(statuses, i, &status);
      }
      return;
    case STATUS_FIRST:
      for (int i = 0; i < count; i++) {
        for (flag = 0; !flag;) MPI_Request_get_status(requests[i], &flag, &status);
        keep(statuses, i, &status);
        MPI_Wait(&requests[i], MPI_STATUS_IGNORE);
      }
      return;
    case WAITANY:
    case TESTANY:
      for (int done = 0; done < count; done++) {
        if (how == WAITANY) MPI_Waitany(count, requests, &index, &status);
        else
          for (flag = 0; !flag;) MPI_Testany(count, requests, &index, &flag, &status);
        if (index == MPI_UNDEFINED) {
          note("completed too early", done);
          return;
        }
        keep(statuses, index, &status);
      }
      return;
    default:
      for (int done = 0; done < count;) {
        if (how == WAITSOME) MPI_Waitsome(count, requests, &some, indices, several);
        else
          MPI_Testsome(count, requests, &some, indices, several);
        if (some == MPI_UNDEFINED) {
          note("completed too early", done);
          return;
        }
        for (int i = 0; i < some; i++) keep(statuses, indices[i], &several[i]);
        done += some;
      }
  }
}

/* --- Communicators --- */

struct comm known(MPI_Comm comm, int side) {
  struct comm c = {.c = comm, .side = side};
  int topology = MPI_UNDEFINED;
  if (comm == MPI_COMM_NULL) return c;
  MPI_Comm_rank(comm, &c.r);
  MPI_Comm_size(comm, &c.n);
  MPI_Comm_test_inter(comm, &c.inter);
  c.rn = c.n;
  if (c.inter) MPI_Comm_remote_size(comm, &c.rn);
  MPI_Topo_test(comm, &topology);
  if (topology == MPI_CART) {
    int dimensions;
    MPI_Cartdim_get(comm, &dimensions);
    c.in = c.out = 2 * dimensions;
    c.from = malloc(sizeof(int) * (size_t)(c.in + 1));
    c.to = malloc(sizeof(int) * (size_t)(c.in + 1));
    for (int d = 0; d < dimensions; d++) MPI_Cart_shift(comm, d, 1, &c.from[2 * d], &c.from[2 * d + 1]);
    memcpy(c.to, c.from, sizeof(int) * (size_t)c.in);
  } else if (topology == MPI_GRAPH) {
    MPI_Graph_neighbors_count(comm, c.r, &c.in);
    c.out = c.in;
    c.from = malloc(sizeof(int) * (size_t)(c.in + 1));
    c.to = malloc(sizeof(int) * (size_t)(c.in + 1));
    MPI_Graph_neighbors(comm, c.r, c.in, c.from);
    memcpy(c.to, c.from, sizeof(int) * (size_t)c.in);
  } else if (topology == MPI_DIST_GRAPH) {
    int weighted;
    MPI_Dist_graph_neighbors_count(comm, &c.in, &c.out, &weighted);
    c.from = malloc(sizeof(int) * (size_t)(c.in + 1));
    c.to = malloc(sizeof(int) * (size_t)(c.out + 1));
    MPI_Dist_graph_neighbors(comm, c.in, c.from, MPI_UNWEIGHTED, c.out, c.to, MPI_UNWEIGHTED);
  }
  return c;
}

void forget(struct comm *comm) {
  free(comm->from);
  free(comm->to);
  comm->from = comm->to = NULL;
  if (comm->c != MPI_COMM_NULL) MPI_Comm_free(&comm->c);
}

int64_t displace(const int *counts, int n, int gap, int backwards, int *displacements) {
  int64_t at = 0;
  for (int k = 0; k < n; k++) {
    int i = backwards ? n - 1 - k : k;
    displacements[i] = (int)at;
    at += counts[i] + gap;
  }
  return at;
}

struct comm world, self, self_ring;

void communicators_begin(void) {
  MPI_Comm ring;
  world = known(MPI_COMM_WORLD, 0);
  self = known(MPI_COMM_SELF, 0);
  MPI_Cart_create(MPI_COMM_SELF, 1, (int[]){1}, (int[]){1}, 0, &ring);
  self_ring = known(ring, 0);
}

void communicators_end(void) { forget(&self_ring); }

struct comm suitable(const struct comm *comm, enum sort sort) {
  if (sort == TOPOLOGY) return member(comm) && comm->from ? *comm : self_ring;
  return member(comm) && !(sort == INTRA && comm->inter) ? *comm : self;
}

void note_comm(const struct comm *comm) {
  note("member", member(comm));
  if (!member(comm)) return;
  note("rank", comm->r);
  note("size", comm->n);
  note("inter", comm->inter != 0);
  note("remote size", comm->rn);
  for (int i = 0; i < comm->in; i++) note("from", comm->from[i]);
  for (int i = 0; i < comm->out; i++) note("to", comm->to[i]);
}

long part_number(void) { return part; }

/* --- Callbacks --- */

static int errors;

void count_error(MPI_Comm *comm, int *code, ...) {
  int class;
  (void)comm;
  MPI_Error_class(*code, &class);
  note("handled", class);
  errors++;
}

int errors_counted(void) {
  int counted = errors;
  errors = 0;
  return counted;
}

static int logging;

void logged_begin(void) { logging = 1; }
void logged_end(void) { logging = 0; }

static int copied(const char *what, void *extra, void *in, void *out, int *flag) {
  if (logging) note(what, (intptr_t)extra * 1000 + (intptr_t)in);
  *(void **)out = (void *)((intptr_t)in + 1);
  *flag = 1;
  return MPI_SUCCESS;
}

int copy_logged(MPI_Comm comm, int key, void *extra, void *in, void *out, int *flag) {
  (void)comm, (void)key;
  return copied("copied", extra, in, out, flag);
}

int copy_logged_type(MPI_Datatype type, int key, void *extra, void *in, void *out, int *flag) {
  (void)type, (void)key;
  return copied("copied", extra, in, out, flag);
}

int delete_logged(MPI_Comm comm, int key, void *value, void *extra) {
  (void)comm, (void)key;
  if (logging) note("deleted", (intptr_t)extra * 1000 + (intptr_t)value);
  return MPI_SUCCESS;
}

int delete_logged_type(MPI_Datatype type, int key, void *value, void *extra) {
  (void)type, (void)key;
  if (logging) note("deleted", (intptr_t)extra * 1000 + (intptr_t)value);
  return MPI_SUCCESS;
}

static int delete_last(MPI_Comm comm, int key, void *value, void *extra) {
  static int calls;
  struct last *last = extra;
  int finalized = -1, sum = 0, call = ++calls;
  (void)key;
  MPI_Finalized(&finalized);
  if (last->communicates) MPI_Allreduce(&call, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  const int64_t seen[] = {call, finalized != 0, sum, comm == MPI_COMM_SELF, (intptr_t)value};
  last->digest = mix(last->digest, hash_of(seen, sizeof seen, 2));
  return MPI_SUCCESS;
}

void until_finalization(int sets, int deletes, int frees, int communicates) {
  static int number = 5000; /* beyond those of all operations */
  struct last *last = calloc(1, sizeof *last);
  int key;
  *last = (struct last){part, number++, communicates, 0, lasts};
  lasts = last;
  MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, delete_last, &key, last);
  for (int i = 1; i <= sets; i++) MPI_Comm_set_attr(MPI_COMM_SELF, key, (void *)(intptr_t)i);
  if (deletes) MPI_Comm_delete_attr(MPI_COMM_SELF, key);
  if (frees) MPI_Comm_free_keyval(&key);
}

int query_seven(void *extra, MPI_Status *status) {
  (void)extra;
  status->MPI_SOURCE = MPI_UNDEFINED;
  status->MPI_TAG = 77;
  MPI_Status_set_elements(status, MPI_INT, 7);
  MPI_Status_set_cancelled(status, 0);
  return MPI_SUCCESS;
}

int free_nothing(void *extra) {
  (void)extra;
  return MPI_SUCCESS;
}

int cancel_nothing(void *extra, int complete) {
  (void)extra, (void)complete;
  return MPI_SUCCESS;
}
