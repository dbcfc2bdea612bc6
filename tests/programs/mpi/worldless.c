/* Where there are sessions alone, there is no MPI_COMM_WORLD: what names it ends the job with a message. The argument says where: before the world model, or
 * after it. */
#include "check.h"

int main(int argc, char **argv)
{
    MPI_Session session;
    MPI_Group group;
    MPI_Comm comm;
    int own, sum = 0;
    if (argc < 2)
        return 3;
    MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session);
    if (!strcmp(argv[1], "after")) {
        start(&argc, &argv);
        MPI_Comm_rank(MPI_COMM_WORLD, &own);
        MPI_Finalize();
    }
    /* The session's own communicators are there all the time. */
    MPI_Group_from_session_pset(session, "mpi://WORLD", &group);
    CHECK_INT(MPI_Comm_create_from_group(group, "a", MPI_INFO_NULL, MPI_ERRORS_RETURN, &comm), MPI_SUCCESS);
    MPI_Group_free(&group);
    MPI_Comm_rank(comm, &own);
    MPI_Allreduce(&own, &sum, 1, MPI_INT, MPI_MAX, comm);
    MPI_Comm_size(comm, &own);
    CHECK_INT(sum, own - 1);
    MPI_Barrier(comm);
    MPI_Comm_rank(!strcmp(argv[1], "self") ? MPI_COMM_SELF : MPI_COMM_WORLD, &own);
    return 0; /* not reached */
}
