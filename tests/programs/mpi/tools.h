/* What the test programs of the tool interface share. */
#ifndef TOOLS_H
#define TOOLS_H
#include "check.h"

/* Whether the library is the one whose variables these programs know. With others they check what the standard says of all. */
static inline int is_ours(void)
{
    int index, is_there = MPI_T_cvar_get_index("slice_period_ns", &index) == MPI_SUCCESS;
    CHECK(is_there || getenv("BCS_RANK") == NULL);
    return is_there;
}

static inline int pvar(const char *name, int class)
{
    int index = -1;
    CHECK_INT(MPI_T_pvar_get_index(name, class, &index), MPI_SUCCESS);
    return index;
}

static inline MPI_T_pvar_handle measured(MPI_T_pvar_session session, const char *name, int class, void *object)
{
    MPI_T_pvar_handle handle = MPI_T_PVAR_HANDLE_NULL;
    int count = -1;
    CHECK_INT(MPI_T_pvar_handle_alloc(session, pvar(name, class), object, &handle, &count), MPI_SUCCESS);
    CHECK(handle != MPI_T_PVAR_HANDLE_NULL && handle != MPI_T_PVAR_ALL_HANDLES);
    CHECK_INT(count, 1);
    return handle;
}

static inline unsigned long long value_of(MPI_T_pvar_session session, MPI_T_pvar_handle handle)
{
    unsigned long long value = 12345678901234567ULL;
    CHECK_INT(MPI_T_pvar_read(session, handle, &value), MPI_SUCCESS);
    return value;
}

static inline MPI_T_cvar_handle control(const char *name, void *object)
{
    MPI_T_cvar_handle handle = MPI_T_CVAR_HANDLE_NULL;
    int index = -1, count = -1;
    CHECK_INT(MPI_T_cvar_get_index(name, &index), MPI_SUCCESS);
    CHECK_INT(MPI_T_cvar_handle_alloc(index, object, &handle, &count), MPI_SUCCESS);
    CHECK(handle != MPI_T_CVAR_HANDLE_NULL);
    CHECK_INT(count, 1);
    return handle;
}

static inline int event_named(const char *name)
{
    int index = -1;
    CHECK_INT(MPI_T_event_get_index(name, &index), MPI_SUCCESS);
    return index;
}
#endif
