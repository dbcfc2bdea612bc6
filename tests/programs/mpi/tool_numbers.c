/* Prints what performance variables say of a run that is counted elsewhere, too: "RANK NAME VALUE" a line, all variables of calls and of EMDS that are not 0. */
#include "tools.h"

enum { MOST = 4096 };

static int data[1000], other[1000];

static void work(void)
{
    double one = 1, sum;
    for (int i = 0; i < 30; i++)
        MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < 10; i++)
        MPI_Allreduce(&one, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    for (int i = 0; i < 20; i++) {
        MPI_Request requests[2];
        MPI_Irecv(other, 1000, MPI_INT, (rank + size - 1) % size, 3, MPI_COMM_WORLD, &requests[0]);
        MPI_Isend(data, 1000, MPI_INT, (rank + 1) % size, 3, MPI_COMM_WORLD, &requests[1]);
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    }
    MPI_Bcast(data, 1000, MPI_INT, 0, MPI_COMM_WORLD);
}

int main(int argc, char **argv)
{
    static MPI_T_pvar_handle handles[MOST];
    static char names[MOST][128];
    int provided, count, used = 0;
    MPI_T_pvar_session session;
    CHECK_INT(MPI_T_init_thread(MPI_THREAD_SINGLE, &provided), MPI_SUCCESS);
    CHECK_INT(MPI_T_pvar_session_create(&session), MPI_SUCCESS);
    CHECK_INT(MPI_T_pvar_get_num(&count), MPI_SUCCESS);
    CHECK(count <= MOST);
    for (int i = 0; i < count; i++) {
        int length = sizeof names[used], class, bind;
        CHECK_INT(MPI_T_pvar_get_info(i, names[used], &length, NULL, &class, NULL, NULL, NULL, NULL, &bind, NULL, NULL, NULL), MPI_SUCCESS);
        if (class != MPI_T_PVAR_CLASS_COUNTER && class != MPI_T_PVAR_CLASS_AGGREGATE && class != MPI_T_PVAR_CLASS_TIMER)
            continue;
        if (bind == MPI_T_BIND_NO_OBJECT)
            CHECK_INT(MPI_T_pvar_handle_alloc(session, i, NULL, &handles[used++], NULL), MPI_SUCCESS);
    }
    CHECK_INT(MPI_T_pvar_start(session, MPI_T_PVAR_ALL_HANDLES), MPI_SUCCESS);
    start(&argc, &argv);
    work();
    MPI_Finalize();
    for (int i = 0; i < used; i++) {
        unsigned long long value = value_of(session, handles[i]);
        if (value != 0)
            printf("%d %s %llu\n", rank, names[i], value);
    }
    CHECK_INT(MPI_T_finalize(), MPI_SUCCESS);
    return 0;
}
