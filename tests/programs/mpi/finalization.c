/* MPI_Finalize deletes the attributes of MPI_COMM_SELF before anything else of it happens (MPI-5.0, section 11.2.4). */
#include "check.h"
#include <unistd.h>

static char order[32];
static MPI_Comm of_world;
static int added, other_key;

/* A callback is called with MPI as it was before MPI_Finalize. */
static void check_that_mpi_works(MPI_Comm comm)
{
    int flag = -1, sum = -1, same = -1;
    MPI_Finalized(&flag);
    CHECK_INT(flag, 0);
    MPI_Comm_compare(comm, MPI_COMM_SELF, &same);
    CHECK_INT(same, MPI_IDENT);
    CHECK_INT(MPI_Allreduce(&(int){1}, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD), MPI_SUCCESS);
    CHECK_INT(sum, size);
    CHECK_INT(MPI_Barrier(of_world), MPI_SUCCESS);
}

static int deleted(MPI_Comm comm, int key, void *value, void *extra)
{
    (void)key;
    check_that_mpi_works(comm);
    CHECK_INT((char *)extra - order, 7);
    strcat(order, value);
    return MPI_SUCCESS;
}

/* One that sets another attribute, which is deleted next. */
static int sets_another(MPI_Comm comm, int key, void *value, void *extra)
{
    strcat(order, value);
    (void)key, (void)extra;
    if (added++ == 0)
        CHECK_INT(MPI_Comm_set_attr(comm, other_key, "x"), MPI_SUCCESS);
    return MPI_SUCCESS;
}

/* One that refuses once: MPI_Finalize says so, and may be called again. */
static int refuses_once(MPI_Comm comm, int key, void *value, void *extra)
{
    static int refused;
    (void)comm, (void)key, (void)value, (void)extra;
    return refused++ == 0 ? MPI_ERR_OTHER : MPI_SUCCESS;
}

static int of_another(MPI_Comm comm, int key, void *value, void *extra)
{
    (void)comm, (void)key, (void)value, (void)extra;
    strcat(order, "!");
    return MPI_SUCCESS;
}

/* A key in use is freed by each name that the program has of it. */
static void free_while_in_use(void)
{
    int key, again, once_more, flag = 0;
    void *value = NULL;
    MPI_Comm copy;
    MPI_Datatype type;
    CHECK_INT(MPI_Comm_create_keyval(MPI_COMM_DUP_FN, MPI_COMM_NULL_DELETE_FN, &key, NULL), MPI_SUCCESS);
    again = once_more = key;
    MPI_Comm_dup(MPI_COMM_SELF, &copy);
    MPI_Comm_set_attr(MPI_COMM_SELF, key, &key);
    MPI_Comm_set_attr(copy, key, NULL);
    CHECK_INT(MPI_Comm_free_keyval(&key), MPI_SUCCESS);
    CHECK_INT(key, MPI_KEYVAL_INVALID);
    CHECK_INT(MPI_Comm_free_keyval(&again), MPI_SUCCESS);
    CHECK_INT(again, MPI_KEYVAL_INVALID);
    again = once_more;
    MPI_Comm_free(&copy);
    CHECK_INT(MPI_Keyval_free(&again), MPI_SUCCESS);
    again = once_more;
    CHECK_INT(MPI_Comm_get_attr(MPI_COMM_SELF, once_more, &value, &flag), MPI_SUCCESS);
    CHECK(flag && value == &key);
    CHECK_INT(MPI_Comm_delete_attr(MPI_COMM_SELF, once_more), MPI_SUCCESS);
    CHECK_INT(class_of(MPI_Comm_get_attr(MPI_COMM_SELF, once_more, &value, &flag)), MPI_ERR_KEYVAL);
    CHECK_INT(class_of(MPI_Comm_free_keyval(&again)), MPI_ERR_KEYVAL);
    MPI_Type_contiguous(2, MPI_INT, &type);
    MPI_Type_create_keyval(MPI_TYPE_NULL_COPY_FN, MPI_TYPE_NULL_DELETE_FN, &key, NULL);
    MPI_Type_set_attr(type, key, NULL);
    again = once_more = key;
    CHECK_INT(MPI_Type_free_keyval(&key), MPI_SUCCESS);
    CHECK_INT(MPI_Type_free_keyval(&again), MPI_SUCCESS);
    CHECK_INT(again, MPI_KEYVAL_INVALID);
    MPI_Type_free(&type);
    CHECK_INT(class_of(MPI_Type_free_keyval(&once_more)), MPI_ERR_KEYVAL);
}

int main(int argc, char **argv)
{
    int first, second, third, replaced, refusing, flag = -1;
    void *extra = order + 7;
    MPI_Session session;
    start(&argc, &argv);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    MPI_Comm_dup(MPI_COMM_WORLD, &of_world);
    free_while_in_use();
    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, deleted, &first, extra);
    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, deleted, &second, extra);
    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, deleted, &third, extra);
    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, sets_another, &replaced, NULL);
    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, sets_another, &other_key, NULL);
    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, refuses_once, &refusing, NULL);
    /* Of keys made in this order, set in another one; the last one is set anew, and freed. */
    MPI_Comm_set_attr(MPI_COMM_SELF, third, "3");
    MPI_Comm_set_attr(MPI_COMM_SELF, replaced, "r");
    MPI_Comm_set_attr(MPI_COMM_SELF, first, "1");
    MPI_Comm_set_attr(MPI_COMM_SELF, second, "2");
    MPI_Comm_set_attr(MPI_COMM_SELF, third, "4");
    CHECK(strcmp(order, "3") == 0);
    MPI_Comm_set_attr(MPI_COMM_SELF, refusing, NULL);
    MPI_Comm_free_keyval(&first);
    MPI_Comm_free_keyval(&third);
    /* Attributes of other communicators are left alone. */
    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, of_another, &first, NULL);
    MPI_Comm_set_attr(of_world, first, NULL);
    MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session);
    CHECK_INT(class_of(MPI_Finalize()), MPI_ERR_OTHER);
    MPI_Finalized(&flag);
    CHECK_INT(flag, 0);
    if (MPI_Finalize() != MPI_SUCCESS || strcmp(order, "3421rx") != 0) {
        fprintf(stderr, "rank %d: %s\n", rank, order);
        return 1;
    }
    MPI_Finalized(&flag);
    /* A session has no MPI_COMM_SELF: its end calls nothing. */
    MPI_Session_finalize(&session);
    return !flag || strcmp(order, "3421rx") != 0;
}
