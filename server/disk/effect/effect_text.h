/* effect_text: converts effects to commands and back, for the journal, snapshots, DUMP, replicas
 * and the module. Depends on the table of kinds (store/txn/effect_row.h), which has the commands,
 * and RESP; record.h and snapshot_file.h define the files.
 *
 * On disk a command is a RESP array of bulk strings; times are absolute. Up to EFFECT_RUN_MAX
 * consecutive effects of the same kind, key, database and deadline become one command, in their
 * order, if they differ only in the words of an element, which are repeated. Numbers are decimal,
 * and scores are read back exactly. SELECT precedes a command of another database.
 *
 * Folder server/disk/effect: effects as canonical commands, and back. The journal, snapshots,
 * replicas and the module all use this text. request parses commands in a file, library_header and
 * policy_words have the words of libraries and policies. Depends on proto/resp and store/; tools
 * link it.
 * Start here; the words of each kind of effect are in store/txn/effect_rows.c. */
#ifndef SERVER_DISK_EFFECT_EFFECT_TEXT_H
#define SERVER_DISK_EFFECT_EFFECT_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "store/mem/outbuf.h"
#include "store/txn/effect_row.h"

enum {
    EFFECT_RUN_MAX = 64,          /* effects in one command */
    EFFECT_RUN_BYTES = 16 * 1024, /* their bytes; a larger element gets its own command */
    EFFECT_PRINT_MAX = 4096,      /* room for a command of effect_writer_print */
    EFFECT_READER_SLOTS = 128,
};

/* Effects that become one command. */
struct effect_run {
    const struct effect_form *form; /* NULL: no run */
    unsigned count;                 /* effects */
    size_t len;                     /* bytes so far */
    struct effect first;            /* the texts of its head stay valid */
};

/* Writes into `out`, which it does not own. Collects a run of elements until another effect comes,
 * or the record ends. */
struct effect_writer {
    struct outbuf *out;
    int64_t db;        /* the database that a reader has selected at this point; -1: unknown */
    uint64_t commands; /* written so far */

    /* private */
    struct effect_run run;
    size_t head; /* bytes of `text` before the first element */
    char text[EFFECT_RUN_BYTES];
};

void effect_writer_init(struct effect_writer *writer, struct outbuf *out);
/* Ignores EFFECT_NONE. Copies everything. */
void effect_writer_put(struct effect_writer *writer, const struct effect *effect);
/* Call at the end of a record: writes the rest into `out`. */
void effect_writer_end(struct effect_writer *writer);
/* Writes the command of an effect to `to` instead, and returns its length. 0: it may be longer than
 * `room` or EFFECT_PRINT_MAX, has to select its database, or could be part of a run. */
size_t effect_writer_print(const struct effect_writer *writer, const struct effect *effect,
                           char *to, size_t room);
/* Does Redis 7.0 know the command of this effect, in the same meaning? */
bool effect_text_is_redis(const struct effect *effect);
/* Call when the next command begins another file (after effect_writer_end): it selects its database
 * again. */
void effect_writer_restart(struct effect_writer *writer);

/* Gives away the same commands as arguments, without RESP. All effects must be of one database. */
struct effect_args {
    /* Takes argument `index` of the current command (0: its name), or replaces it; returns the
     * text, which must stay valid until `end`. */
    struct bytes (*keep)(void *ctx, size_t index, struct bytes text);
    void (*end)(void *ctx, size_t argc); /* the current command has this many arguments */
    void *ctx;

    /* private */
    struct effect_run run;
    size_t argc;       /* so far */
    size_t count_at;   /* which of them is the number of elements */
    struct bytes kept; /* the last one */
};

/* Ignores EFFECT_NONE. */
void effect_args_put(struct effect_args *args, const struct effect *effect);
/* Ends the last command. */
void effect_args_end(struct effect_args *args);

struct effect_reader {
    unsigned db;   /* the current database; 0 at the start of a file */
    unsigned last; /* private: the last command, and a hash table of names */
    uint8_t slots[EFFECT_READER_SLOTS];
};

void effect_reader_init(struct effect_reader *reader);

/* Reads one command and passes its effects to the visitor (none for SELECT); they borrow from argv.
 * False: the writer would not write such a command (some effects may have been visited), or the
 * visitor returned false. */
bool effect_text_read(int argc, const struct bytes *argv, struct effect_reader *reader,
                      bool (*visit)(void *ctx, const struct effect *effect), void *ctx);

#endif
