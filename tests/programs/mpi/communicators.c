/* Communicators and groups: made, compared, split, named, freed; their attributes; and that their messages never meet. */
#include "check.h"

static int copies, deletes;

static int copy(MPI_Comm comm, int key, void *extra, void *in, void *out, int *flag)
{
    int comm_size;
    MPI_Comm_size(comm, &comm_size); /* a callback may call MPI */
    copies++;
    CHECK(*(int *)extra == 5);
    *(void **)out = (char *)in + 1;
    *flag = 1;
    (void)key;
    return MPI_SUCCESS;
}

static int delete(MPI_Comm comm, int key, void *value, void *extra)
{
    (void)comm, (void)key, (void)value, (void)extra;
    deletes++;
    return MPI_SUCCESS;
}

static void contexts(void)
{
    MPI_Comm other;
    int a = 1, b = 2, got, result, compared;
    MPI_Comm_dup(MPI_COMM_WORLD, &other);
    MPI_Comm_compare(MPI_COMM_WORLD, other, &compared);
    CHECK_INT(compared, MPI_CONGRUENT);
    MPI_Comm_compare(other, other, &compared);
    CHECK_INT(compared, MPI_IDENT);
    int to = (rank + 1) % size, from = (rank + size - 1) % size;
    MPI_Send(&a, 1, MPI_INT, to, 0, MPI_COMM_WORLD);
    MPI_Send(&b, 1, MPI_INT, to, 0, other);
    MPI_Recv(&got, 1, MPI_INT, from, MPI_ANY_TAG, other, MPI_STATUS_IGNORE);
    CHECK_INT(got, 2);
    MPI_Recv(&got, 1, MPI_INT, MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    CHECK_INT(got, 1);
    MPI_Allreduce(&rank, &result, 1, MPI_INT, MPI_SUM, other);
    CHECK_INT(result, size * (size - 1) / 2);
    MPI_Comm_free(&other);
    CHECK(other == MPI_COMM_NULL);
}

static void splits(void)
{
    MPI_Comm part, self, none;
    int part_rank, part_size, got = -1, compared;
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, -rank, &part); /* the other way round */
    MPI_Comm_rank(part, &part_rank);
    MPI_Comm_size(part, &part_size);
    CHECK_INT(part_size, (size + 1 - rank % 2) / 2);
    CHECK_INT(part_rank, part_size - 1 - rank / 2);
    int last = part_size - 1;
    MPI_Bcast(part_rank == last ? (got = rank, &got) : &got, 1, MPI_INT, last, part);
    CHECK_INT(got, rank % 2);
    if (part_size > 1) {
        if (part_rank == 0)
            MPI_Send(&rank, 1, MPI_INT, last, 3, part);
        if (part_rank == last) {
            MPI_Recv(&got, 1, MPI_INT, 0, 3, part, MPI_STATUS_IGNORE);
            CHECK_INT(got, 2 * last + rank % 2);
        }
    }
    MPI_Comm_split(MPI_COMM_WORLD, rank == 0 ? MPI_UNDEFINED : 4, 0, &none);
    CHECK((none == MPI_COMM_NULL) == (rank == 0));
    if (none != MPI_COMM_NULL)
        MPI_Comm_free(&none);
    MPI_Comm_split(part, part_rank, 0, &self);
    MPI_Comm_compare(self, MPI_COMM_SELF, &compared);
    CHECK_INT(compared, MPI_CONGRUENT);
    MPI_Comm_compare(part, MPI_COMM_WORLD, &compared);
    CHECK_INT(compared, size == 1 ? MPI_CONGRUENT : MPI_UNEQUAL);
    MPI_Comm_free(&self);
    MPI_Comm_free(&part);
}

static void groups(void)
{
    MPI_Group world, odd, even, both, none, rest;
    MPI_Comm comm;
    int ranges[1][3] = {{1, size - 1, 2}}, group_rank, group_size, result;
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    if (size > 1)
        MPI_Group_range_incl(world, 1, ranges, &odd);
    else
        odd = MPI_GROUP_EMPTY;
    MPI_Group_difference(world, odd, &even);
    MPI_Group_size(even, &group_size);
    CHECK_INT(group_size, (size + 1) / 2);
    MPI_Group_rank(even, &group_rank);
    CHECK_INT(group_rank, rank % 2 ? MPI_UNDEFINED : rank / 2);
    MPI_Group_union(odd, even, &both);
    MPI_Group_compare(world, both, &result);
    CHECK_INT(result, size == 1 ? MPI_IDENT : MPI_SIMILAR);
    MPI_Group_intersection(odd, even, &none);
    CHECK(none == MPI_GROUP_EMPTY);
    MPI_Group_free(&none); /* as any group that a call gave */
    CHECK(none == MPI_GROUP_NULL);
    int from[2] = {0, MPI_PROC_NULL}, to[2] = {-9, -9};
    MPI_Group_translate_ranks(world, 2, from, even, to);
    CHECK(to[0] == 0 && to[1] == MPI_PROC_NULL);
    MPI_Group_translate_ranks(world, 1, from, odd, to);
    CHECK_INT(to[0], MPI_UNDEFINED);
    int zero = 0;
    MPI_Group_excl(world, 1, &zero, &rest);
    MPI_Group_size(rest, &group_size);
    CHECK_INT(group_size, size - 1);
    MPI_Comm_create(MPI_COMM_WORLD, rank % 2 ? odd : even, &comm);
    MPI_Comm_size(comm, &group_size);
    CHECK_INT(group_size, (size + 1 - rank % 2) / 2);
    MPI_Barrier(comm);
    MPI_Comm_free(&comm);
    if (rank % 2 == 0) {
        MPI_Comm_create_group(MPI_COMM_WORLD, even, 12, &comm);
        MPI_Allreduce(&rank, &result, 1, MPI_INT, MPI_MAX, comm);
        CHECK_INT(result, (size - 1) / 2 * 2);
        MPI_Comm_free(&comm);
    }
    MPI_Group all[] = {world, both};
    for (int i = 0; i < 2; i++)
        MPI_Group_free(&all[i]);
    CHECK(all[0] == MPI_GROUP_NULL);
}

static void attributes(void)
{
    int key, other, five = 5, flag, *tag_ub, here, *global;
    void *value;
    MPI_Comm dup;
    MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, &tag_ub, &flag);
    CHECK(flag && *tag_ub >= 32767);
    MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_WTIME_IS_GLOBAL, &global, &flag);
    CHECK(flag);
    MPI_Comm_create_keyval(copy, delete, &key, &five);
    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, MPI_COMM_NULL_DELETE_FN, &other, NULL);
    MPI_Comm_get_attr(MPI_COMM_WORLD, key, &value, &flag);
    CHECK(!flag);
    MPI_Comm_set_attr(MPI_COMM_WORLD, key, &here);
    MPI_Comm_set_attr(MPI_COMM_WORLD, other, &flag);
    MPI_Comm_dup(MPI_COMM_WORLD, &dup);
    MPI_Comm_get_attr(dup, key, &value, &flag);
    CHECK(flag && value == (char *)&here + 1 && copies == 1);
    MPI_Comm_get_attr(dup, other, &value, &flag);
    CHECK(!flag);
    MPI_Comm_free(&dup);
    CHECK_INT(deletes, 1);
    MPI_Comm_set_attr(MPI_COMM_WORLD, key, &five);
    CHECK_INT(deletes, 2); /* the value before */
    MPI_Comm_delete_attr(MPI_COMM_WORLD, key);
    MPI_Comm_delete_attr(MPI_COMM_WORLD, other);
    CHECK_INT(deletes, 3);
    MPI_Comm_free_keyval(&key);
    MPI_Comm_free_keyval(&other);
    CHECK_INT(key, MPI_KEYVAL_INVALID);
}

static void names(void)
{
    char name[MPI_MAX_OBJECT_NAME];
    int length;
    MPI_Comm dup;
    MPI_Comm_get_name(MPI_COMM_WORLD, name, &length);
    CHECK(!strcmp(name, "MPI_COMM_WORLD") && length == 14);
    MPI_Comm_dup(MPI_COMM_WORLD, &dup);
    MPI_Comm_get_name(dup, name, &length);
    CHECK_INT(length, 0);
    char longer[300];
    memset(longer, 'x', 299);
    longer[299] = 0;
    MPI_Comm_set_name(dup, longer);
    MPI_Comm_get_name(dup, name, &length);
    CHECK_INT(length, MPI_MAX_OBJECT_NAME - 1);
    CHECK_INT(strlen(name), length);
    MPI_Comm_free(&dup);
    MPI_Type_get_name(MPI_DOUBLE, name, &length);
    CHECK(!strcmp(name, "MPI_DOUBLE"));
}

static void integers(void)
{
    MPI_Comm dup;
    MPI_Comm_dup(MPI_COMM_WORLD, &dup);
    CHECK(MPI_Comm_f2c(MPI_Comm_c2f(dup)) == dup);
    CHECK(MPI_Comm_f2c(MPI_Comm_c2f(MPI_COMM_WORLD)) == MPI_COMM_WORLD);
    CHECK(MPI_Type_f2c(MPI_Type_c2f(MPI_DOUBLE)) == MPI_DOUBLE);
    MPI_Comm_free(&dup);
}

static void infos(void)
{
    MPI_Info info, copy_of;
    char value[64];
    int flag, keys, length = sizeof value;
    MPI_Info_create(&info);
    MPI_Info_set(info, "colour", "blue");
    MPI_Info_set(info, "size", "12");
    MPI_Info_set(info, "colour", "red");
    MPI_Info_dup(info, &copy_of);
    MPI_Info_delete(info, "size");
    MPI_Info_get_nkeys(info, &keys);
    CHECK_INT(keys, 1);
    MPI_Info_get_string(copy_of, "colour", &length, value, &flag);
    CHECK(flag && length == 4 && !strcmp(value, "red"));
    length = 3;
    MPI_Info_get_string(copy_of, "colour", &length, value, &flag);
    CHECK(flag && length == 4 && !strcmp(value, "re"));
    MPI_Info_get_string(copy_of, "weight", &length, value, &flag);
    CHECK(!flag);
    MPI_Info_get_nthkey(copy_of, 1, value);
    CHECK(!strcmp(value, "size"));
    MPI_Info_free(&info);
    MPI_Info_free(&copy_of);
    CHECK(info == MPI_INFO_NULL);
}

int main(int argc, char **argv)
{
    start(&argc, &argv);
    contexts();
    splits();
    groups();
    attributes();
    names();
    integers();
    infos();
    MPI_Finalize();
    return 0;
}
