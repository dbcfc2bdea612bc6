/* Windows of every kind, made alike and addressed alike: by bytes of the target's window.
 *
 * Checks may be left out (left_out.h). */
#ifndef WINDOWS_H
#define WINDOWS_H
#include "check.h"
#include "left_out.h"
#include <stdint.h>

enum { ON_HEAP, ON_ALLOC_MEM, ALLOCATED, SHARED, DYNAMIC, WINDOW_KINDS };
static const char *const window_names[] = {
    "MPI_Win_create on malloc", "MPI_Win_create on MPI_Alloc_mem", "MPI_Win_allocate",
    "MPI_Win_allocate_shared",  "MPI_Win_create_dynamic",
};

static inline void start_windows(int *argc, char ***argv)
{
    start(argc, argv);
    leave_out(argc, argv);
}

/* Bytes around a window whose memory is the program's. */
enum { GUARD = 64, GUARD_BYTE = 0xa5 };

struct window {
    MPI_Win win;
    MPI_Comm comm; /* The program's: for barriers. */
    int kind, unit, rank, ranks;
    MPI_Aint bytes;
    unsigned char *base, *memory; /* Memory holds the guards, too. */
    MPI_Aint *starts;             /* By rank: where a window starts in displacements, */
    int *units;                   /* and how many bytes one is. */
};

/* Whether all members can share memory. */
static inline int is_shareable(MPI_Comm comm)
{
    MPI_Comm node;
    int all, near;
    MPI_Comm_size(comm, &all);
    MPI_Comm_split_type(comm, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
    MPI_Comm_size(node, &near);
    MPI_Comm_free(&node);
    return all == near;
}

static inline int can_be_made(int kind, MPI_Comm comm) { return kind != SHARED || is_shareable(comm); }

/* Collective; size and unit may differ. Displacements of dynamic windows are addresses. */
static inline struct window make_window_with(int kind, MPI_Aint bytes, int unit, MPI_Comm comm,
                                             MPI_Info info)
{
    struct window w = {.comm = comm, .kind = kind, .unit = unit, .bytes = bytes};
    size_t room = (size_t)bytes + 2 * GUARD;
    MPI_Aint start = 0;
    MPI_Comm_rank(comm, &w.rank);
    MPI_Comm_size(comm, &w.ranks);
    if (kind == ON_ALLOC_MEM)
        MPI_Alloc_mem((MPI_Aint)room, MPI_INFO_NULL, &w.memory);
    else if (kind == ON_HEAP || kind == DYNAMIC)
        w.memory = malloc(room);
    if (kind == ON_HEAP || kind == ON_ALLOC_MEM || kind == DYNAMIC) {
        CHECK(w.memory != NULL);
        memset(w.memory, GUARD_BYTE, room);
        w.base = w.memory + GUARD;
    }
    switch (kind) {
    case ALLOCATED: MPI_Win_allocate(bytes, unit, info, comm, &w.base, &w.win); break;
    case SHARED: MPI_Win_allocate_shared(bytes, unit, info, comm, &w.base, &w.win); break;
    case DYNAMIC:
        w.unit = 1;
        MPI_Win_create_dynamic(info, comm, &w.win);
        MPI_Win_attach(w.win, w.base, bytes);
        MPI_Get_address(w.base, &start);
        break;
    default: MPI_Win_create(w.base, bytes, unit, info, comm, &w.win); break;
    }
    w.starts = malloc(sizeof(MPI_Aint) * (size_t)w.ranks);
    w.units = malloc(sizeof(int) * (size_t)w.ranks);
    CHECK(w.starts && w.units);
    MPI_Allgather(&start, 1, MPI_AINT, w.starts, 1, MPI_AINT, comm);
    MPI_Allgather(&w.unit, 1, MPI_INT, w.units, 1, MPI_INT, comm);
    return w;
}

static inline struct window make_window(int kind, MPI_Aint bytes, int unit, MPI_Comm comm)
{
    return make_window_with(kind, bytes, unit, comm, MPI_INFO_NULL);
}

/* The displacement of a byte of a rank's window. */
static inline MPI_Aint place(const struct window *w, int target, MPI_Aint byte)
{
    CHECK(byte % w->units[target] == 0);
    return MPI_Aint_add(w->starts[target], byte / w->units[target]);
}

/* Collective. Nothing was written beside the window. */
static inline void free_window(struct window *w)
{
    MPI_Win_free(&w->win);
    CHECK(w->win == MPI_WIN_NULL);
    for (int i = 0; w->memory && i < GUARD; i++) {
        CHECK_INT(w->memory[i], GUARD_BYTE);
        CHECK_INT(w->base[w->bytes + i], GUARD_BYTE);
    }
    if (w->kind == ON_ALLOC_MEM)
        MPI_Free_mem(w->memory);
    else
        free(w->memory);
    free(w->starts);
    free(w->units);
}

/* Loads and stores of the own memory, where windows are accessed under locks. */
static inline void begin_own(const struct window *w)
{
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, w->rank, 0, w->win);
}
static inline void end_own(const struct window *w) { MPI_Win_unlock(w->rank, w->win); }

static inline MPI_Group group_of(const struct window *w, int count, const int *ranks)
{
    MPI_Group all, some;
    MPI_Win_get_group(w->win, &all);
    MPI_Group_incl(all, count, ranks, &some);
    MPI_Group_free(&all);
    return some;
}
#endif
