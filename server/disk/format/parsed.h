/* parsed: parses the commands of a file into an array of effects, for replay_parsed. Depends on
 * effect_text.h. Allocates nothing and changes no globals, so that a thread can parse ahead of the
 * main thread, which applies the effects (ahead.h). */
#pragma once

#include "server/disk/effect/effect_text.h"
#include "server/disk/format/instant_mark.h"

enum { PARSED_MAX = 1024, PARSED_WORDS = 4096 };

/* An effect, or a piece of text that replay must parse itself:
 * - a line that begins with #;
 * - a command whose effects need memory outside the batch, or that effect_text_read refuses;
 * - the rest of the text, if it begins with a command that can't be parsed. */
struct parsed {
    struct effect effect; /* for a piece of text, only the database in which it begins is set */
    struct bytes text;    /* the piece of text, or the name of the effect's command */
    size_t at;            /* offset of the command or piece in the text being parsed */
    bool is_text;
    bool is_hashed[2]; /* `hashes` are known: of the key, of the member */
    uint64_t hashes[2];
};

/* An offset in a journal between two records, with the state that its reader needs. */
struct parsed_place {
    uint64_t good; /* bytes before it */
    uint32_t sum;  /* checksum of these bytes */
    unsigned db;   /* the database that is selected there */
    bool is_brief; /* effects in brief form may follow */
    struct instant_marks instants;
};

/* A record of a journal. */
struct parsed_record {
    unsigned end;      /* index after that of its last item */
    uint64_t commands; /* number of its commands, without pieces of text */
    struct parsed_place next;
};

/* The effects point into the text and into the words. */
struct parsed_batch {
    uint64_t commands; /* number of commands, without pieces of text */
    unsigned count, word_count, record_count;
    struct parsed items[PARSED_MAX];
    struct parsed_record records[PARSED_MAX];
    struct bytes words[PARSED_WORDS];
};

struct parser {
    struct effect_reader reader;
    struct parsed_batch *batch;  /* private, while parser_fill runs */
    struct bytes name, last_key; /* of the last brief effect in the record */
    size_t at;
    bool is_full, reads_brief;
};

void parser_init(struct parser *parser);

/* Replaces the contents of the batch with the complete commands at the beginning of data. Returns
 * the number of bytes parsed. *is_full says that the batch is full: complete commands may be
 * left. */
size_t parser_fill(struct parser *parser, const char *data, size_t len, struct parsed_batch *batch,
                   bool *is_full);

enum parsed_end {
    PARSED_FULL,    /* the batch is full: more records may be complete */
    PARSED_PARTIAL, /* the next record does not end here, or has a malformed command */
    PARSED_STOP,    /* the next record is damaged, made after `until`, or too large for a batch */
};

/* Parses a journal's records until the batch is full, or up to a record that is incomplete,
 * damaged, too large or made after `until`; *why says which. Accepts only whole records with
 * correct checksums. *place describes the start of the data and is moved to the end of what was
 * parsed. */
size_t parser_fill_records(struct parser *parser, struct parsed_place *place, msec until,
                           const char *data, size_t len, struct parsed_batch *batch,
                           enum parsed_end *why);
