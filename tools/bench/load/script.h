/* script: compiles a template (mix.h) into the bytes of RESP requests. To send a batch again, only
 * the digits of its numbers are overwritten. */
#pragma once

#include "tools/bench/load/replies.h"

struct field {
    uint32_t at;
    uint8_t width;
    char kind; /* letter of the placeholder */
};

/* A batch is `pipeline` commands. The script repeats the template until a batch and the template
 * end together; then the script begins again. */
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
    bool by_command; /* a batch repeats one command, because the next one needs replies */
};

/* The source of numbers, shared by all connections. */
struct numbers {
    uint64_t next, keys, behind, random;
    bool in_turn; /* keys and members in ascending order instead of random */
};

/* The numbers of a round, which may span several batches. */
struct draw {
    uint64_t n, k, m;
    struct reply_numbers reply; /* to the previous command */
};

/* Ends the program with a message if the template is wrong. */
void script_compile(struct script *script, const char *text, unsigned pipeline, size_t value_size);
void script_drop(struct script *script);

/* Returns the number of rounds under way at a time. */
static inline unsigned script_draws(const struct script *script)
{
    return script->by_command ? script->pipeline : 1;
}
/* Writes a batch's numbers into a copy of the script's bytes. `draws` has script_draws elements. */
void script_patch(const struct script *script, uint32_t batch, char *bytes, struct numbers *numbers,
                  struct draw *draws);
