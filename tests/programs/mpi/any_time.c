/* What the standard makes available at any time (MPI-5.0, section 11.4.1) works before MPI_Init, between it and MPI_Finalize and after that, in
 * several threads at once, and what was made in one phase is there in the next. */
#include "check.h"
#include <pthread.h>

static MPI_Info kept;
static MPI_Errhandler handler;
static int class, code, handled;

static void handle(MPI_Comm *comm, int *error, ...)
{
    (void)comm;
    handled += *error == code;
}

/* That an info object has this value for a key. */
static void has(MPI_Info info, const char *key, const char *expected)
{
    char value[20];
    int length = sizeof value, flag;
    MPI_Info_get_string(info, key, &length, value, &flag);
    CHECK(flag && !strcmp(value, expected));
}

static void *ask(void *key)
{
    for (int i = 0; i < 200; i++) {
        MPI_Info info, copy, environment;
        char text[MPI_MAX_ERROR_STRING];
        int length, flag, keys, number, version, sub;
        MPI_Initialized(&flag);
        MPI_Finalized(&flag);
        MPI_Get_version(&version, &sub);
        CHECK_INT(version, MPI_VERSION);
        MPI_Get_library_version(text, &length);
        CHECK_INT(strlen(text), length);
        MPI_Abi_get_version(&version, &sub);
        CHECK_INT(version, MPI_ABI_VERSION);
        MPI_Abi_get_info(&info);
        MPI_Info_get_nkeys(info, &keys);
        CHECK(keys >= 3);
        MPI_Info_free(&info);

        int truth = -1, falsehood = -1;
        MPI_Abi_get_fortran_info(&info);
        has(info, "mpi_integer_size", "4");
        has(info, "mpi_double_complex_supported", "true");
        MPI_Info_free(&info);
        MPI_Abi_get_fortran_booleans(sizeof truth, &truth, &falsehood, &flag);
        CHECK(flag && truth == 1 && falsehood == 0);
        MPI_Abi_get_fortran_booleans(64, NULL, NULL, &flag);
        CHECK(!flag);

        MPI_Info_create(&info);
        MPI_Info_set(info, key, "1");
        MPI_Info_set(info, "other", "2");
        MPI_Info_dup(info, &copy);
        MPI_Info_delete(info, "other");
        MPI_Info_get_nkeys(info, &keys);
        CHECK_INT(keys, 1);
        MPI_Info_get_nthkey(info, 0, text);
        CHECK(!strcmp(text, key));
        has(copy, "other", "2");
        has(kept, "since", "before");
        CHECK(MPI_Info_fromint(MPI_Info_toint(copy)) == copy);
        MPI_Info_free(&info);
        MPI_Info_free(&copy);
        CHECK(info == MPI_INFO_NULL);
        MPI_Info_create_env(0, NULL, &environment);
        MPI_Info_get_nkeys(environment, &keys);
        CHECK(keys > 0);
        MPI_Info_free(&environment);

        CHECK_INT(class_of(MPI_ERR_TAG), MPI_ERR_TAG);
        CHECK_INT(class_of(code), class);
        MPI_Error_string(code, text, &length);
        CHECK(!strcmp(text, "of this program"));
        MPI_Add_error_class(&number);
        MPI_Add_error_code(number, &version);
        CHECK(number > MPI_ERR_LASTCODE && class_of(version) == number);
        MPI_Add_error_string(version, key);
        MPI_Error_string(version, text, &length);
        CHECK(!strcmp(text, key));
        MPI_Remove_error_string(version);
        MPI_Remove_error_code(version);
        MPI_Remove_error_class(number);

        MPI_Errhandler own;
        MPI_Comm_create_errhandler(handle, &own);
        CHECK(MPI_Errhandler_fromint(MPI_Errhandler_toint(own)) == own);
        MPI_Errhandler_free(&own);
        CHECK(own == MPI_ERRHANDLER_NULL);
    }
    return NULL;
}

static void ask_in_threads(void)
{
    pthread_t threads[3];
    char *keys[] = {"red", "green", "blue"};
    for (int i = 0; i < 3; i++)
        pthread_create(&threads[i], NULL, ask, keys[i]);
    for (int i = 0; i < 3; i++)
        pthread_join(threads[i], NULL);
}

int main(void)
{
    MPI_Info_create(&kept);
    MPI_Info_set(kept, "since", "before");
    MPI_Add_error_class(&class);
    MPI_Add_error_code(class, &code);
    MPI_Add_error_string(code, "of this program");
    MPI_Comm_create_errhandler(handle, &handler);
    ask_in_threads();
    MPI_Init(NULL, NULL);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler);
    MPI_Errhandler_free(&handler);
    MPI_Comm_call_errhandler(MPI_COMM_WORLD, code);
    CHECK_INT(handled, 1);
    ask_in_threads();
    MPI_Finalize();
    ask_in_threads();
    MPI_Info_free(&kept);
    return 0;
}
