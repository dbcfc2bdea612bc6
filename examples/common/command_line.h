/* Command lines of the example programs: PROGRAM DECK [--verify] [--grid COLUMNSxROWS], and one choice of a program's own. */
#ifndef EXAMPLES_COMMAND_LINE_H
#define EXAMPLES_COMMAND_LINE_H

#include <mpi.h>

struct command_line {
    const char *program;
    const char *option;         /* a program's own, "--variant"; NULL for none */
    const char *const *choices; /* its values, ends with NULL */

    int speaks; /* this rank prints: rank 0 */
    const char *deck;
    int verify;
    int columns, rows; /* of --grid; 0 when it was not given */
    int choice;        /* index in `choices`; -1 when the option was not given */
};

/* Reads a command line into `c`, whose first three fields the program has set. Returns 0, or -1 after rank 0 of `comm` has printed what
 * is wrong and how the program is used. */
int command_line_read(struct command_line *c, MPI_Comm comm, int argc, char **argv);

/* Says on rank 0 what is wrong with the deck as a whole, as `program: path: what`. Returns -1. */
int command_line_refuse(const struct command_line *c, const char *what);

#endif
