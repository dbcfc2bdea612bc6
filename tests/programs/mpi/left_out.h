/* Checks that another implementation does not pass: the last two arguments of a program that uses this may be
 * `without NAME[,NAME]...`. Each check is named where it is made: `is_held("name")`. */
#ifndef LEFT_OUT_H
#define LEFT_OUT_H
#include <string.h>

static const char *left_out = "";

static inline void leave_out(int *argc, char ***argv)
{
    if (*argc > 2 && strcmp((*argv)[*argc - 2], "without") == 0) {
        left_out = (*argv)[*argc - 1];
        *argc -= 2;
    }
}

static inline int is_held(const char *check)
{
    size_t length = strlen(check);
    for (const char *at = left_out; (at = strstr(at, check)); at += length)
        if ((at == left_out || at[-1] == ',') && (at[length] == 0 || at[length] == ','))
            return 0;
    return 1;
}
#endif
