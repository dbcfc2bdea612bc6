/* Input decks: lines of `key value...`, `#` starts a comment.
 *
 * Rank 0 reads the file and broadcasts its text; every rank parses the same text against a table of keys,
 * so all agree on whether the deck is good. Rank 0 prints the one line that names what is wrong. */
#ifndef EXAMPLES_DECK_H
#define EXAMPLES_DECK_H

#include <mpi.h>
#include <stdint.h>

enum deck_kind {
    DECK_INT,      /* into: int; from least to most */
    DECK_REAL,     /* into: double; from least to most */
    DECK_CHOICE,   /* into: int, the index in `choices` */
    DECK_CHECKSUM, /* into: uint64_t; 16 hexadecimal digits */
    DECK_ROWS      /* into: struct deck_rows; the key may come several times, `columns` reals each */
};

enum { DECK_MOST_ROWS = 16, DECK_MOST_COLUMNS = 12 };

struct deck_rows {
    int count;
    double value[DECK_MOST_ROWS][DECK_MOST_COLUMNS];
};

struct deck_key {
    const char *name;
    enum deck_kind kind;
    void *into;         /* holds the default before, the deck's value after */
    double least, most; /* DECK_INT, DECK_REAL, and every column of DECK_ROWS */
    int required;
    const char *const *choices; /* DECK_CHOICE: names, ends with NULL */
    int columns;                /* DECK_ROWS */
    int line;                   /* set by deck_read: where the key stood, 0 when it did not */
};

/* Reads `path` on rank 0 of `comm` and fills the table's variables on all ranks. Returns 0, or -1 after
 * rank 0 has printed one line, `program: path:line: what is wrong`. */
int deck_read(MPI_Comm comm, const char *program, const char *path, struct deck_key *keys, int key_count);

#endif
