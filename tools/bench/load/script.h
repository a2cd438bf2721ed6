/* script: a text of commands as the bytes that are sent, made once.
 * Sending a batch again means writing new digits over the old ones. Knows RESP's requests and
 * where numbers stand in them; refuses to know sockets. */
#ifndef TOOLS_BENCH_LOAD_SCRIPT_H
#define TOOLS_BENCH_LOAD_SCRIPT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct field {
    uint32_t at;
    uint8_t width;
    char kind; /* a letter of mix.h */
};

/* A batch is `pipeline` commands. The batches go round a ring in which the text stands as often as
 * it takes for both to end together. */
struct batch {
    uint32_t begin, end; /* bytes */
    uint32_t field_begin, field_end;
};

struct script {
    char *bytes;
    size_t len;
    struct field *fields;
    struct batch *batches;
    uint32_t field_count, batch_count;
    unsigned pipeline, commands; /* commands of the text */
};

/* Where numbers come from; all connections share one. */
struct numbers {
    uint64_t next, keys, behind, random;
    bool in_turn; /* keys and members one after the other */
};

/* The numbers of a round, which may go on from one batch to the next. */
struct draw {
    uint64_t n, k, m;
};

/* Ends the program with a message when the text is wrong. */
void script_compile(struct script *script, const char *text, unsigned pipeline, size_t value_size);
void script_drop(struct script *script);

/* Writes a batch's numbers into a copy of the script's bytes. */
void script_patch(const struct script *script, uint32_t batch, char *bytes, struct numbers *numbers,
                  struct draw *draw);

#endif
