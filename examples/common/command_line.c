/* Command lines of the example programs; see command_line.h. */
#include "command_line.h"

#include "grid.h"

#include <stdio.h>
#include <string.h>

static int usage(const struct command_line *c)
{
    if (!c->speaks)
        return -1;
    fprintf(stderr, "usage: %s DECK [--verify]", c->program);
    if (c->option) {
        fprintf(stderr, " [%s ", c->option);
        for (int i = 0; c->choices[i]; i++)
            fprintf(stderr, "%s%s", i ? "|" : "", c->choices[i]);
        fprintf(stderr, "]");
    }
    fprintf(stderr, " [--grid COLUMNSxROWS]\n");
    return -1;
}

static int find(const char *const *choices, const char *value)
{
    for (int i = 0; choices[i]; i++)
        if (strcmp(choices[i], value) == 0)
            return i;
    return -1;
}

int command_line_read(struct command_line *c, MPI_Comm comm, int argc, char **argv)
{
    int rank = 0;
    MPI_Comm_rank(comm, &rank);
    *c = (struct command_line){
        .program = c->program, .option = c->option, .choices = c->choices, .speaks = rank == 0, .choice = -1};
    for (int i = 1; i < argc; i++) {
        const char *value = i + 1 < argc ? argv[i + 1] : "";
        if (strcmp(argv[i], "--verify") == 0) {
            c->verify = 1;
        } else if (c->option && strcmp(argv[i], c->option) == 0 && find(c->choices, value) >= 0) {
            c->choice = find(c->choices, value);
            i++;
        } else if (strcmp(argv[i], "--grid") == 0 && grid_parse(value, &c->columns, &c->rows) == 0) {
            i++;
        } else if (argv[i][0] == '-' || c->deck) {
            if (c->speaks)
                fprintf(stderr, "%s: cannot use '%s%s%s'\n", c->program, argv[i], *value ? " " : "", value);
            return usage(c);
        } else {
            c->deck = argv[i];
        }
    }
    return c->deck ? 0 : usage(c);
}

int command_line_refuse(const struct command_line *c, const char *what)
{
    if (c->speaks)
        fprintf(stderr, "%s: %s: %s\n", c->program, c->deck, what);
    return -1;
}
