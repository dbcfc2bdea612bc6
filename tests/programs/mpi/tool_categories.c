/* Categories: every variable and every event is in one, and all are found from the first one. */
#include "tools.h"

enum { MOST = 4096 };

static int seen_cvars[MOST], seen_pvars[MOST], seen_events[MOST], seen_categories[MOST];

static void mark(int *seen, const int *indices, int count)
{
    for (int i = 0; i < count; i++) {
        CHECK(indices[i] >= 0 && indices[i] < MOST);
        seen[indices[i]]++;
    }
}

static void visit(int category)
{
    static int indices[MOST];
    char name[256], text[1024];
    int name_length = sizeof name, text_length = sizeof text, cvars, pvars, categories, events = 0, index, one = -7;
    CHECK_INT(MPI_T_category_get_info(category, name, &name_length, text, &text_length, &cvars, &pvars, &categories), MPI_SUCCESS);
    CHECK_INT(strlen(name) + 1, name_length);
    CHECK_INT(MPI_T_category_get_index(name, &index), MPI_SUCCESS);
    CHECK_INT(index, category);
    CHECK_INT(MPI_T_category_get_num_events(category, &events), MPI_SUCCESS);
    CHECK(cvars < MOST && pvars < MOST && categories < MOST && events < MOST);
    CHECK_INT(MPI_T_category_get_cvars(category, MOST, indices), MPI_SUCCESS);
    mark(seen_cvars, indices, cvars);
    CHECK_INT(MPI_T_category_get_pvars(category, MOST, indices), MPI_SUCCESS);
    mark(seen_pvars, indices, pvars);
    if (pvars > 1) {
        /* No more than there is room for. */
        int two[2] = {-7, -7};
        CHECK_INT(MPI_T_category_get_pvars(category, 1, two), MPI_SUCCESS);
        CHECK_INT(two[0], indices[0]);
        CHECK_INT(two[1], -7);
    }
    CHECK_INT(MPI_T_category_get_events(category, MOST, indices), MPI_SUCCESS);
    mark(seen_events, indices, events);
    CHECK_INT(MPI_T_category_get_categories(category, 0, &one), MPI_SUCCESS);
    CHECK_INT(one, -7);
    CHECK_INT(MPI_T_category_get_categories(category, MOST, indices), MPI_SUCCESS);
    mark(seen_categories, indices, categories);
}

int main(int argc, char **argv)
{
    int provided, count, index, before = -1, after = -1, ours;
    CHECK_INT(MPI_T_init_thread(MPI_THREAD_SINGLE, &provided), MPI_SUCCESS);
    start(&argc, &argv);
    ours = is_ours();
    CHECK_INT(MPI_T_category_changed(&before), MPI_SUCCESS);
    CHECK_INT(MPI_T_category_get_num(&count), MPI_SUCCESS);
    CHECK(count < MOST);
    for (int i = 0; i < count; i++)
        visit(i);
    CHECK_INT(MPI_T_category_changed(&after), MPI_SUCCESS);
    CHECK_INT(before, after);
    CHECK(MPI_T_category_get_index("no category has this name", &index) == MPI_T_ERR_INVALID_NAME);
    if (ours) {
        int cvars, pvars, events;
        CHECK_INT(MPI_T_cvar_get_num(&cvars), MPI_SUCCESS);
        CHECK_INT(MPI_T_pvar_get_num(&pvars), MPI_SUCCESS);
        CHECK_INT(MPI_T_event_get_num(&events), MPI_SUCCESS);
        CHECK(cvars > 30 && pvars > 300 && events == 4 && count > 5);
        for (int i = 0; i < cvars; i++)
            CHECK_INT(seen_cvars[i], 1);
        for (int i = 0; i < pvars; i++)
            CHECK_INT(seen_pvars[i], 1);
        for (int i = 0; i < events; i++)
            CHECK_INT(seen_events[i], 1);
        CHECK_INT(seen_categories[0], 0);
        for (int i = 1; i < count; i++)
            CHECK_INT(seen_categories[i], 1);
    }
    MPI_Finalize();
    CHECK_INT(MPI_T_finalize(), MPI_SUCCESS);
    return 0;
}
