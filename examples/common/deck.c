/* Reads and validates input decks; see deck.h. */
#include "deck.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_DECK_BYTES = 1 << 20 };

struct reader {
    const char *program;
    const char *path;
    int line;
    int speaks; /* this rank prints */
};

static int complain(const struct reader *r, const char *format, ...)
{
    if (r->speaks) {
        va_list arguments;
        va_start(arguments, format);
        fprintf(stderr, "%s: %s:", r->program, r->path);
        if (r->line > 0)
            fprintf(stderr, "%d:", r->line);
        fputc(' ', stderr);
        vfprintf(stderr, format, arguments);
        fputc('\n', stderr);
        va_end(arguments);
    }
    return -1;
}

static int parse_real(const char *word, double *value)
{
    char *end = NULL;
    *value = strtod(word, &end);
    return end != word && *end == '\0' && isfinite(*value) ? 0 : -1;
}

static int set_number(const struct reader *r, const struct deck_key *key, const char *word)
{
    double value = 0;
    if (parse_real(word, &value) || (key->kind == DECK_INT && value != floor(value)))
        return complain(r, "'%s' wants %s, got '%s'", key->name,
                        key->kind == DECK_INT ? "a whole number" : "a number", word);
    if (value < key->least || value > key->most)
        return complain(r, "'%s' must be from %g to %g, got '%s'", key->name, key->least, key->most, word);
    if (key->kind == DECK_INT)
        *(int *)key->into = (int)value;
    else
        *(double *)key->into = value;
    return 0;
}

static int set_choice(const struct reader *r, const struct deck_key *key, const char *word)
{
    char list[256] = "";
    for (int i = 0; key->choices[i]; i++) {
        if (strcmp(key->choices[i], word) == 0) {
            *(int *)key->into = i;
            return 0;
        }
        size_t used = strlen(list);
        snprintf(list + used, sizeof(list) - used, "%s%s", i ? ", " : "", key->choices[i]);
    }
    return complain(r, "'%s' must be one of %s, got '%s'", key->name, list, word);
}

static int set_checksum(const struct reader *r, const struct deck_key *key, const char *word)
{
    if (strlen(word) != 16 || strspn(word, "0123456789abcdefABCDEF") != 16)
        return complain(r, "'%s' wants 16 hexadecimal digits, got '%s'", key->name, word);
    *(uint64_t *)key->into = strtoull(word, NULL, 16);
    return 0;
}

static int add_row(const struct reader *r, const struct deck_key *key, char **words, int count)
{
    struct deck_rows *rows = key->into;
    if (count != key->columns)
        return complain(r, "'%s' wants %d numbers, got %d", key->name, key->columns, count);
    if (rows->count == DECK_MOST_ROWS)
        return complain(r, "more than %d lines of '%s'", DECK_MOST_ROWS, key->name);
    for (int i = 0; i < count; i++) {
        double value = 0;
        if (parse_real(words[i], &value) || value < key->least || value > key->most)
            return complain(r, "'%s' wants numbers from %g to %g, got '%s'", key->name, key->least, key->most,
                            words[i]);
        rows->value[rows->count][i] = value;
    }
    rows->count++;
    return 0;
}

static int set_value(const struct reader *r, struct deck_key *key, char **words, int count)
{
    if (key->kind == DECK_ROWS) {
        key->line = r->line;
        return add_row(r, key, words, count);
    }
    if (key->line)
        return complain(r, "'%s' was given before, in line %d", key->name, key->line);
    if (count != 1)
        return complain(r, "'%s' wants one value, got %d", key->name, count);
    key->line = r->line;
    switch (key->kind) {
    case DECK_INT:
    case DECK_REAL:
        return set_number(r, key, words[0]);
    case DECK_CHOICE:
        return set_choice(r, key, words[0]);
    case DECK_CHECKSUM:
        return set_checksum(r, key, words[0]);
    case DECK_ROWS:
        break;
    }
    return -1;
}

static int parse_line(const struct reader *r, char *text, struct deck_key *keys, int key_count)
{
    char *words[DECK_MOST_COLUMNS + 2];
    int count = 0;
    text[strcspn(text, "#")] = '\0';
    for (char *word = strtok(text, " \t\r"); word; word = strtok(NULL, " \t\r")) {
        if (count == DECK_MOST_COLUMNS + 2)
            return complain(r, "too many words after '%s'", words[0]);
        words[count++] = word;
    }
    if (count == 0)
        return 0;
    for (int i = 0; i < key_count; i++)
        if (strcmp(keys[i].name, words[0]) == 0)
            return set_value(r, &keys[i], words + 1, count - 1);
    return complain(r, "unknown key '%s'", words[0]);
}

static int parse_text(struct reader *r, char *text, struct deck_key *keys, int key_count)
{
    char *next = text;
    while (next) {
        char *line = next;
        next = strchr(line, '\n');
        if (next)
            *next++ = '\0';
        r->line++;
        if (parse_line(r, line, keys, key_count))
            return -1;
    }
    r->line = 0;
    for (int i = 0; i < key_count; i++)
        if (keys[i].required && !keys[i].line)
            return complain(r, "the deck gives no '%s'", keys[i].name);
    return 0;
}

/* The whole file as a string, or NULL with errno set. */
static char *slurp(const char *path)
{
    FILE *file = fopen(path, "r");
    if (!file)
        return NULL;
    char *text = malloc(MOST_DECK_BYTES + 1);
    size_t length = text ? fread(text, 1, MOST_DECK_BYTES, file) : 0;
    int failed = !text || ferror(file);
    int why = errno;
    if (!failed && length == MOST_DECK_BYTES) {
        failed = 1;
        why = EFBIG;
    }
    fclose(file);
    if (failed) {
        free(text);
        errno = why;
        return NULL;
    }
    text[length] = '\0';
    return text;
}

int deck_read(MPI_Comm comm, const char *program, const char *path, struct deck_key *keys, int key_count)
{
    int rank = 0, bytes = -1;
    char *text = NULL;
    MPI_Comm_rank(comm, &rank);
    struct reader r = {.program = program, .path = path, .speaks = rank == 0};
    if (rank == 0) {
        text = slurp(path);
        bytes = text ? (int)strlen(text) + 1 : -1;
        if (!text)
            complain(&r, "cannot read this input deck: %s", strerror(errno));
    }
    MPI_Bcast(&bytes, 1, MPI_INT, 0, comm);
    if (bytes < 0)
        return -1;
    if (rank != 0)
        text = malloc((size_t)bytes);
    if (!text) {
        fprintf(stderr, "%s: no memory for the input deck (%d bytes)\n", program, bytes);
        MPI_Abort(comm, 1);
    }
    MPI_Bcast(text, bytes, MPI_CHAR, 0, comm);
    int failed = parse_text(&r, text, keys, key_count);
    free(text);
    return failed;
}
