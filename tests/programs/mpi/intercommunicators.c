/* Intercommunicators: made, merged, split, duplicated, compared, freed; and messages of every kind between their groups. */
#include "check.h"

/* The job's ranks below `low` are one group, in reverse order; the others are the other one. */
static int low, in_low, others, group_rank;
static MPI_Comm local, inter;

/* What a rank of the other group is in the job. */
static int in_job(int remote)
{
    return in_low ? low + remote : low - 1 - remote;
}

static MPI_Comm between(int tag)
{
    MPI_Comm made;
    int leader = in_low ? low - 1 : 0; /* rank 0 of the job, and rank `low` */
    MPI_Intercomm_create(local, leader, group_rank == leader ? MPI_COMM_WORLD : MPI_COMM_NULL, in_low ? low : 0, tag, &made);
    return made;
}

static void begin(int count)
{
    low = count;
    in_low = rank < low;
    others = in_low ? size - low : low;
    MPI_Comm_split(MPI_COMM_WORLD, in_low, in_low ? -rank : rank, &local);
    MPI_Comm_rank(local, &group_rank);
    inter = between(7);
}

static void end(void)
{
    MPI_Comm_free(&inter);
    CHECK(inter == MPI_COMM_NULL);
    MPI_Comm_free(&local);
}

/* An intercommunicator between the same two groups as `inter`. */
static void is_alike(MPI_Comm comm)
{
    int flag, value;
    MPI_Comm_test_inter(comm, &flag);
    CHECK(flag);
    MPI_Comm_size(comm, &value);
    CHECK_INT(value, size - others);
    MPI_Comm_remote_size(comm, &value);
    CHECK_INT(value, others);
    MPI_Comm_rank(comm, &value);
    CHECK_INT(value, group_rank);
    MPI_Comm_compare(comm, inter, &value);
    CHECK_INT(value, comm == inter ? MPI_IDENT : MPI_CONGRUENT);
}

static void groups(void)
{
    MPI_Group mine, theirs, world;
    int flag, result, to, value;
    is_alike(inter);
    MPI_Comm_test_inter(local, &flag);
    CHECK(!flag);
    MPI_Comm_compare(inter, local, &result);
    CHECK_INT(result, MPI_UNEQUAL);
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Comm_group(inter, &mine);
    MPI_Comm_remote_group(inter, &theirs);
    MPI_Group_rank(mine, &value);
    CHECK_INT(value, group_rank);
    MPI_Group_rank(theirs, &value);
    CHECK_INT(value, MPI_UNDEFINED);
    for (int i = 0; i < others; i++) {
        MPI_Group_translate_ranks(theirs, 1, &i, world, &to);
        CHECK_INT(to, in_job(i));
    }
    MPI_Group_free(&mine);
    MPI_Group_free(&theirs);
    MPI_Group_free(&world);
}

/* To every member of the other group, and from every one, in every form; `comm` is any intercommunicator like `inter`. */
static void messages(MPI_Comm comm)
{
    enum { LARGE = 200000 };
    static char out[LARGE], in[LARGE];
    MPI_Request requests[2 * 64];
    MPI_Status status;
    MPI_Message message;
    int got[64], flag, count, mine = 100 + rank;
    for (int i = 0; i < others; i++)
        MPI_Irecv(&got[i], 1, MPI_INT, i, 1, comm, &requests[i]);
    for (int i = 0; i < others; i++)
        MPI_Isend(&mine, 1, MPI_INT, i, 1, comm, &requests[others + i]);
    MPI_Waitall(2 * others, requests, MPI_STATUSES_IGNORE);
    for (int i = 0; i < others; i++)
        CHECK_INT(got[i], 100 + in_job(i));
    /* Any source says who it was among the others. */
    for (int i = 0; i < others; i++)
        MPI_Send(&mine, 1, MPI_INT, i, 2, comm);
    for (int i = 0; i < others; i++) {
        MPI_Probe(MPI_ANY_SOURCE, 2, comm, &status);
        int from = status.MPI_SOURCE;
        MPI_Recv(got, 1, MPI_INT, from, MPI_ANY_TAG, comm, &status);
        CHECK_INT(status.MPI_SOURCE, from);
        CHECK_INT(got[0], 100 + in_job(from));
    }
    /* Matched, and found without waiting. */
    for (int i = 0; i < others; i++)
        MPI_Send(&mine, 1, MPI_INT, i, 3, comm);
    for (int i = 0; i < others; i++) {
        if (i % 2)
            MPI_Mprobe(MPI_ANY_SOURCE, 3, comm, &message, &status);
        else
            for (flag = 0; !flag;)
                MPI_Improbe(MPI_ANY_SOURCE, 3, comm, &flag, &message, &status);
        int from = status.MPI_SOURCE;
        MPI_Mrecv(got, 1, MPI_INT, &message, &status);
        CHECK_INT(got[0], 100 + in_job(from));
    }
    /* Both at once; with MPI_PROC_NULL for those who have nobody opposite. */
    int opposite = group_rank < others ? group_rank : MPI_PROC_NULL;
    got[0] = -1;
    MPI_Sendrecv(&mine, 1, MPI_INT, opposite, 4, got, 1, MPI_INT, opposite, 4, comm, &status);
    CHECK_INT(status.MPI_SOURCE, opposite);
    CHECK_INT(got[0], opposite == MPI_PROC_NULL ? -1 : 100 + in_job(opposite));
    MPI_Isendrecv_replace(&mine, 1, MPI_INT, opposite, 4, opposite, 4, comm, &requests[0]);
    MPI_Wait(&requests[0], &status);
    CHECK_INT(mine, 100 + (opposite == MPI_PROC_NULL ? rank : in_job(opposite)));
    /* Large, synchronous and persistent. */
    if (opposite != MPI_PROC_NULL) {
        int peer = in_job(opposite);
        fill((unsigned char *)out, LARGE, rank);
        MPI_Recv_init(in, LARGE, MPI_CHAR, opposite, 5, comm, &requests[0]);
        MPI_Ssend_init(out, LARGE, MPI_CHAR, opposite, 5, comm, &requests[1]);
        for (int turn = 0; turn < 3; turn++) {
            memset(in, 0, LARGE);
            MPI_Startall(2, requests);
            MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
            CHECK(is_filled((unsigned char *)in, LARGE, peer));
        }
        MPI_Request_free(&requests[0]);
        MPI_Request_free(&requests[1]);
        if (in_low)
            MPI_Send(out, LARGE, MPI_CHAR, opposite, 6, comm);
        else {
            MPI_Recv(in, LARGE, MPI_CHAR, opposite, 6, comm, &status);
            MPI_Get_count(&status, MPI_CHAR, &count);
            CHECK_INT(count, LARGE);
            CHECK(is_filled((unsigned char *)in, LARGE, peer));
        }
    }
}

/* Messages of one intercommunicator are not those of another, nor of the groups' own. */
static void contexts(void)
{
    MPI_Comm another = between(7), copy;
    int values[3] = {1, 2, 3}, got = 0, opposite = group_rank < others ? group_rank : MPI_PROC_NULL;
    MPI_Comm_dup(inter, &copy);
    is_alike(another);
    is_alike(copy);
    MPI_Send(&values[0], 1, MPI_INT, opposite, 0, inter);
    MPI_Send(&values[1], 1, MPI_INT, opposite, 0, another);
    MPI_Send(&values[2], 1, MPI_INT, opposite, 0, copy);
    MPI_Recv(&got, 1, MPI_INT, opposite, 0, copy, MPI_STATUS_IGNORE);
    CHECK(opposite == MPI_PROC_NULL || got == 3);
    MPI_Recv(&got, 1, MPI_INT, opposite, 0, another, MPI_STATUS_IGNORE);
    CHECK(opposite == MPI_PROC_NULL || got == 2);
    MPI_Recv(&got, 1, MPI_INT, opposite, 0, inter, MPI_STATUS_IGNORE);
    CHECK(opposite == MPI_PROC_NULL || got == 1);
    MPI_Comm_free(&another);
    MPI_Comm_disconnect(&copy);
    CHECK(copy == MPI_COMM_NULL);
}

static int copies, deletes;

static int copy_attribute(MPI_Comm comm, int key, void *extra, void *in, void *out, int *flag)
{
    (void)comm, (void)key, (void)extra;
    copies++;
    *(void **)out = in;
    return *flag = 1, MPI_SUCCESS;
}

static int delete_attribute(MPI_Comm comm, int key, void *value, void *extra)
{
    (void)comm, (void)key, (void)value, (void)extra;
    return deletes++, MPI_SUCCESS;
}

static void belongings(void)
{
    MPI_Comm copy, hinted, later;
    MPI_Errhandler handler;
    MPI_Request request;
    MPI_Info info;
    char name[MPI_MAX_OBJECT_NAME];
    int key, length, flag, value = 3, *found;
    copies = deletes = 0;
    MPI_Comm_create_keyval(copy_attribute, delete_attribute, &key, NULL);
    MPI_Comm_set_attr(inter, key, &value);
    MPI_Comm_set_name(inter, "both");
    MPI_Comm_set_errhandler(inter, MPI_ERRORS_RETURN);
    MPI_Comm_get_name(inter, name, &length);
    CHECK(length == 4 && !strcmp(name, "both"));
    MPI_Comm_dup(inter, &copy);
    MPI_Comm_get_attr(copy, key, &found, &flag);
    CHECK(flag && found == &value && copies == 1);
    MPI_Comm_get_errhandler(copy, &handler);
    CHECK(handler == MPI_ERRORS_RETURN);
    MPI_Comm_get_name(copy, name, &length);
    CHECK_INT(length, 0);
    MPI_Info_create(&info);
    MPI_Info_set(info, "mpi_assert_no_any_tag", "true");
    MPI_Comm_dup_with_info(inter, info, &hinted);
    MPI_Info_free(&info);
    MPI_Comm_get_info(hinted, &info);
    MPI_Info_get(info, "mpi_assert_no_any_tag", 9, name, &flag);
    CHECK(flag && !strcmp(name, "true"));
    MPI_Info_free(&info);
    MPI_Comm_idup(inter, &later, &request);
    messages(inter);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    is_alike(later);
    messages(later);
    messages(copy);
    CHECK_INT(copies, 3);
    MPI_Comm_free(&copy);
    MPI_Comm_free(&hinted);
    MPI_Comm_free(&later);
    CHECK_INT(deletes, 3);
    MPI_Comm_delete_attr(inter, key);
    MPI_Comm_free_keyval(&key);
    MPI_Comm_set_errhandler(inter, MPI_ERRORS_ARE_FATAL);
}

static void merges(void)
{
    MPI_Comm all;
    int value, flag, sum;
    for (int low_first = 0; low_first < 2; low_first++) {
        MPI_Intercomm_merge(inter, low_first ? !in_low : in_low, &all);
        MPI_Comm_test_inter(all, &flag);
        CHECK(!flag);
        MPI_Comm_rank(all, &value);
        CHECK_INT(value, group_rank + (in_low == low_first ? 0 : others));
        MPI_Comm_size(all, &value);
        CHECK_INT(value, size);
        MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, all);
        CHECK_INT(sum, size * (size - 1) / 2);
        MPI_Comm_free(&all);
    }
    MPI_Intercomm_merge(inter, 1, &all);
    MPI_Comm_size(all, &value);
    CHECK_INT(value, size);
    MPI_Barrier(all);
    MPI_Comm_free(&all);
}

/* Rank i of both groups; who has nobody opposite gets none. */
static void parts(void)
{
    MPI_Comm pair, same, none;
    MPI_Group mine, first;
    int value, got, zero = 0;
    MPI_Comm_split(inter, group_rank, 0, &pair);
    CHECK((pair == MPI_COMM_NULL) == (group_rank >= others));
    if (pair != MPI_COMM_NULL) {
        MPI_Comm_remote_size(pair, &value);
        CHECK_INT(value, 1);
        MPI_Sendrecv(&rank, 1, MPI_INT, 0, 0, &got, 1, MPI_INT, 0, 0, pair, MPI_STATUS_IGNORE);
        CHECK_INT(got, in_job(group_rank));
        MPI_Comm_free(&pair);
    }
    MPI_Comm_split(inter, 42, -group_rank, &same); /* all of them, backwards */
    MPI_Comm_rank(same, &value);
    CHECK_INT(value, size - others - 1 - group_rank);
    MPI_Comm_compare(same, inter, &value);
    CHECK_INT(value, size == 2 ? MPI_CONGRUENT : MPI_SIMILAR);
    /* What is sent to number n reaches who was counted backwards to it. */
    MPI_Request sent;
    int own = size - others - 1 - group_rank;
    MPI_Isend(&rank, 1, MPI_INT, group_rank % others, 0, same, &sent);
    for (int sender = 0; sender < others; sender++) {
        if (sender % (size - others) == own) {
            MPI_Recv(&got, 1, MPI_INT, others - 1 - sender, 0, same, MPI_STATUS_IGNORE);
            CHECK_INT(got, in_job(sender));
        }
    }
    MPI_Wait(&sent, MPI_STATUS_IGNORE);
    MPI_Comm_free(&same);
    MPI_Comm_split(inter, in_low ? 1 : MPI_UNDEFINED, 0, &none);
    CHECK(none == MPI_COMM_NULL);
    /* Of ranks of several nodes some have no mate in the other group. */
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_HW_UNGUIDED, 0, MPI_INFO_NULL, &none);
    MPI_Comm_split_type(inter, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &same);
    if (none == MPI_COMM_NULL)
        is_alike(same);
    else
        MPI_Comm_free(&none);
    if (same != MPI_COMM_NULL)
        MPI_Comm_free(&same);
    /* The first of both groups. */
    MPI_Comm_group(inter, &mine);
    MPI_Group_incl(mine, 1, &zero, &first);
    MPI_Comm_create(inter, first, &pair);
    CHECK((pair == MPI_COMM_NULL) == (group_rank != 0));
    if (pair != MPI_COMM_NULL) {
        MPI_Sendrecv(&rank, 1, MPI_INT, 0, 0, &got, 1, MPI_INT, 0, 0, pair, MPI_STATUS_IGNORE);
        CHECK_INT(got, in_job(0));
        MPI_Comm_free(&pair);
    }
    MPI_Comm_create(inter, in_low ? mine : MPI_GROUP_EMPTY, &none);
    CHECK(none == MPI_COMM_NULL);
    MPI_Group_free(&mine);
    MPI_Group_free(&first);
}

static void from_groups(void)
{
    MPI_Group mine, theirs;
    MPI_Errhandler handler;
    MPI_Comm made;
    MPI_Comm_group(inter, &mine);
    MPI_Comm_remote_group(inter, &theirs);
    int leader = size - others - 1;
    MPI_Intercomm_create_from_groups(mine, leader, theirs, others - 1, "test/groups", MPI_INFO_NULL,
                                     MPI_ERRORS_RETURN, &made);
    is_alike(made);
    MPI_Comm_get_errhandler(made, &handler);
    CHECK(handler == MPI_ERRORS_RETURN);
    messages(made);
    MPI_Comm_free(&made);
    MPI_Group_free(&mine);
    MPI_Group_free(&theirs);
}

int main(int argc, char **argv)
{
    start(&argc, &argv);
    for (int count = 1; count < size; count += 2) {
        begin(count);
        groups();
        messages(inter);
        contexts();
        belongings();
        merges();
        parts();
        from_groups();
        end();
    }
    return MPI_Finalize();
}
