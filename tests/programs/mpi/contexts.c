/* Communicators that are made and freed again and again beside others that stay: more of them than can live at the same time. The arguments: how many, how many
 * may live at the same time (0: no test of that, nor of calls that are refused). */
#include "check.h"

#define LARGE 40000

static int large[LARGE], sums[LARGE];

/* Messages and collectives of a communicator of all ranks, large ones now and then: what each brings is of this round. */
static void use(MPI_Comm comm, int round, int is_large)
{
    int own, members, sum = 0, from = -1;
    MPI_Comm_rank(comm, &own);
    MPI_Comm_size(comm, &members);
    int say = round * 16 + own, next = (own + 1) % members, last = (own + members - 1) % members;
    MPI_Sendrecv(&say, 1, MPI_INT, next, 5, &from, 1, MPI_INT, last, 5, comm, MPI_STATUS_IGNORE);
    CHECK_INT(from, round * 16 + last);
    MPI_Allreduce(&say, &sum, 1, MPI_INT, MPI_SUM, comm);
    CHECK_INT(sum, members * round * 16 + members * (members - 1) / 2);
    if (!is_large)
        return;
    for (int i = 0; i < LARGE; i++)
        large[i] = round + own + i;
    MPI_Allreduce(large, sums, LARGE, MPI_INT, MPI_SUM, comm);
    for (int i = 0; i < LARGE; i += 777)
        CHECK_INT(sums[i], members * (round + i) + members * (members - 1) / 2);
    int root = round / 16 % members;
    MPI_Bcast(large, LARGE, MPI_INT, root, comm);
    for (int i = 0; i < LARGE; i += 777)
        CHECK_INT(large[i], round + root + i);
}

/* An intercommunicator between the even ranks and the odd ones, its duplicates, and what they merge to. */
static void cross(MPI_Comm parent, int round)
{
    MPI_Comm half, inter, copy, all;
    MPI_Request request;
    MPI_Comm_split(parent, rank % 2, 0, &half);
    MPI_Intercomm_create(half, 0, parent, 1 - rank % 2, 9, &inter);
    MPI_Comm_idup(inter, &copy, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Intercomm_merge(copy, rank % 2, &all);
    use(half, round, 0);
    use(all, round, 1);
    int said = 100 + rank % 2, heard = -1;
    MPI_Allreduce(&said, &heard, 1, MPI_INT, MPI_MAX, copy);
    CHECK_INT(heard, 101 - rank % 2);
    MPI_Comm_free(&inter);
    MPI_Comm_free(&all);
    MPI_Comm_free(&half);
    MPI_Comm_free(&copy);
}

/* Every other way to a communicator of all ranks. */
static MPI_Comm make(MPI_Comm parent, int round)
{
    MPI_Comm new;
    MPI_Group group;
    MPI_Request request;
    int dims = size, periods = 0;
    switch (round % 8) {
    case 1:
        MPI_Comm_idup(parent, &new, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        return new;
    case 2:
        MPI_Comm_split(parent, 0, 0, &new);
        return new;
    case 3:
        MPI_Comm_group(parent, &group);
        MPI_Comm_create(parent, group, &new);
        MPI_Group_free(&group);
        return new;
    case 4:
        MPI_Comm_group(parent, &group);
        MPI_Comm_create_group(parent, group, round % 100, &new);
        MPI_Group_free(&group);
        return new;
    case 5:
        MPI_Cart_create(parent, 1, &dims, &periods, 0, &new);
        return new;
    default:
        MPI_Comm_dup(parent, &new);
        return new;
    }
}

/* A message that is received when its communicator has been freed. */
static void free_before_it_comes(MPI_Comm parent, int round)
{
    MPI_Comm new;
    MPI_Request receive;
    int heard = -1, last = (rank + size - 1) % size;
    MPI_Comm_dup(parent, &new);
    MPI_Irecv(&heard, 1, MPI_INT, last, 7, new, &receive);
    MPI_Barrier(parent);
    int say = round + rank;
    MPI_Send(&say, 1, MPI_INT, (rank + 1) % size, 7, new);
    MPI_Comm_free(&new);
    MPI_Comm_dup(parent, &new);
    MPI_Wait(&receive, MPI_STATUS_IGNORE);
    CHECK_INT(heard, round + last);
    MPI_Comm_free(&new);
}

static MPI_Group group_of(int first, int last, int step)
{
    MPI_Group world, group;
    int range[1][3] = {{first, last, step}};
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Group_range_incl(world, 1, range, &group);
    MPI_Group_free(&world);
    return group;
}

/* Members of a group that do not say the same of a merge: all are refused. */
static void merge_mixed(MPI_Comm inter)
{
    MPI_Comm new;
    CHECK_INT(class_of(MPI_Intercomm_merge(inter, rank < 2, &new)), MPI_ERR_ARG);
}

/* The first rank and the last against all others; the last does not know all of these, and is refused alone. */
static void say_another_group(MPI_Group ends, MPI_Group middle)
{
    MPI_Comm new;
    int is_end = rank == 0 || rank == size - 1;
    MPI_Group one = group_of(1, 1, 1), remote = !is_end ? ends : rank == 0 ? middle : one;
    int code = MPI_Intercomm_create_from_groups(is_end ? ends : middle, 0, remote, 0, "refused", MPI_INFO_NULL, MPI_ERRORS_RETURN, &new);
    CHECK_INT(class_of(code), rank == size - 1 ? MPI_ERR_GROUP : MPI_SUCCESS);
    if (code == MPI_SUCCESS)
        MPI_Comm_free(&new);
    MPI_Group_free(&one);
}

/* Two groups that have the last rank in common, which so belongs to neither: all are refused. */
static void share_a_member(MPI_Comm low, MPI_Comm high)
{
    MPI_Comm new;
    if (low != MPI_COMM_NULL)
        CHECK_INT(class_of(MPI_Intercomm_create(low, 0, MPI_COMM_WORLD, 1, 3, &new)), MPI_ERR_COMM);
    if (high != MPI_COMM_NULL)
        CHECK_INT(class_of(MPI_Intercomm_create(high, 0, MPI_COMM_WORLD, 0, 3, &new)), MPI_ERR_COMM);
}

/* Calls that are refused so often, of each kind. */
static void be_refused(int times)
{
    MPI_Comm half, inter, low, high;
    MPI_Group ends = group_of(0, size - 1, size - 1), middle = group_of(1, size - 2, 1);
    MPI_Group others = group_of(1, size - 1, size - 2);
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, 0, &half);
    MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, 1 - rank % 2, 9, &inter);
    MPI_Comm_create(MPI_COMM_WORLD, ends, &low);
    MPI_Comm_create(MPI_COMM_WORLD, others, &high);
    MPI_Comm made[] = {MPI_COMM_SELF, MPI_COMM_WORLD, inter, low, high};
    for (int i = 0; i < 5; i++)
        if (made[i] != MPI_COMM_NULL)
            MPI_Comm_set_errhandler(made[i], MPI_ERRORS_RETURN);
    for (int i = 0; i < times; i++) {
        merge_mixed(inter);
        say_another_group(ends, middle);
        share_a_member(low, high);
        MPI_Barrier(MPI_COMM_WORLD);
    }
    for (int i = 2; i < 5; i++)
        if (made[i] != MPI_COMM_NULL)
            MPI_Comm_free(&made[i]);
    MPI_Comm_free(&half);
    MPI_Group_free(&ends);
    MPI_Group_free(&middle);
    MPI_Group_free(&others);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_ARE_FATAL);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
}

/* As many as can live at the same time, and one more: all ranks are told that there is no more. */
static void fill_up(int most)
{
    MPI_Comm *all = malloc(sizeof(MPI_Comm) * (most + 1)), one_more;
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    int made = 0, code = MPI_SUCCESS;
    while (made <= most && code == MPI_SUCCESS) {
        code = MPI_Comm_dup(MPI_COMM_WORLD, &all[made]);
        made += code == MPI_SUCCESS;
    }
    char text[MPI_MAX_ERROR_STRING];
    int length, least, largest;
    CHECK_INT(class_of(code), MPI_ERR_OTHER);
    MPI_Error_string(code, text, &length);
    CHECK(strstr(text, "context") != NULL);
    MPI_Allreduce(&made, &least, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    MPI_Allreduce(&made, &largest, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    CHECK_INT(least, largest);
    CHECK(made > most / (2 * size));
    if (made > 0)
        use(all[made - 1], 256, 1);
    for (int i = 0; i < made; i++)
        MPI_Comm_free(&all[i]);
    for (int tries = 0; tries < 10000; tries++) {
        MPI_Barrier(MPI_COMM_WORLD);
        code = MPI_Comm_dup(MPI_COMM_WORLD, &one_more);
        if (code == MPI_SUCCESS)
            break;
    }
    CHECK_INT(code, MPI_SUCCESS);
    use(one_more, 384, 1);
    MPI_Comm_free(&one_more);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
    free(all);
}

int main(int argc, char **argv)
{
    start(&argc, &argv);
    int rounds = argc > 1 ? atoi(argv[1]) : 400, most = argc > 2 ? atoi(argv[2]) : 0;
    /* Of all rounds some hundred are used. */
    int step = rounds < 2000 ? 16 : rounds / 125;
    MPI_Comm kept[2], new, other;
    MPI_Comm_dup(MPI_COMM_WORLD, &kept[0]);
    MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &kept[1]);
    for (int round = 1; round <= rounds; round++) {
        MPI_Comm parent = round % 3 == 0 ? MPI_COMM_WORLD : kept[round % 2];
        new = make(parent, round);
        if (round % step == 0) {
            use(new, round, round % (8 * step) == 0);
            use(kept[round / step % 2], round, round % (8 * step) == 0);
            use(MPI_COMM_WORLD, round, 0);
        }
        if (round % (4 * step) == 0) {
            /* One that lives a while longer, so that they do not come back in the order in which they were taken. */
            MPI_Comm_dup(new, &other);
            MPI_Comm_free(&new);
            cross(parent, round);
            free_before_it_comes(parent, round);
            use(other, round, 0);
            new = other;
        }
        MPI_Comm_free(&new);
    }
    /* One node gives less than a third of the contexts, where there are three. */
    if (most > 0 && size > 3)
        be_refused(most / 3);
    if (most > 0)
        fill_up(most);
    use(kept[0], 512, 1);
    use(kept[1], 512, 1);
    MPI_Comm_free(&kept[0]);
    MPI_Comm_disconnect(&kept[1]);
    use(MPI_COMM_WORLD, 640, 1);
    MPI_Finalize();
    return 0;
}
