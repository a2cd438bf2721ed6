/* effect_text: converts effects to commands and back, for the journal, snapshots, DUMP, replicas
 * and the module. Depends on RESP and on the table of effect kinds (store/txn/effect_row.h), which
 * defines the commands; record.h and snapshot_file.h define the files.
 *
 * On disk a command is a RESP array of bulk strings, because replicas, tools and people can read
 * commands. Times are absolute, so a replay at any later time produces the same data. Numbers are
 * decimal, and scores read back exactly. SELECT precedes a command for another database. There are
 * two exceptions, which are shorter and faster: journals write the most frequent effects in a
 * binary form (store/brief.h), and bases and copies contain the entries of streams as packed
 * blocks, each the argument of a command.
 *
 * Consecutive effects, at most EFFECT_RUN_MAX, become one command if they are of one kind and
 * database and differ only in the words of their element (effect_row.h). The command repeats these
 * words in order. Three fields of a hash, for example:
 *
 *     HSET k f1 v1 f2 v2 f3 v3
 *
 * This makes the journal smaller and its replay faster. */
#pragma once

#include "server/disk/effect/effect_args.h"
#include "store/brief.h"
#include "store/txn/effect_row.h"

enum {
    EFFECT_RUN_MAX = 64,          /* effects in one command */
    EFFECT_RUN_BYTES = 16 * 1024, /* bytes of these; a larger element gets its own command */
    EFFECT_PRINT_MAX = 4096,      /* room for a command of effect_writer_print */
    EFFECT_READER_SLOTS = 256,
};

/* Where the parts of a command are. */
struct effect_layout {
    const char *start, *head, *head_end, *elements, *elements_end, *end;
};

/* Writes commands to `out`, which belongs to the caller. Collects effects into a run until an
 * effect can't be added to it or the record ends. */
struct effect_writer {
    struct outbuf *out;
    int64_t db;        /* the database that a reader has selected here, or -1 if unknown */
    uint64_t commands; /* written so far; effects in brief form do not count */
    bool is_brief;     /* writes the brief form of effects that have one. At first false */

    /* Where mutators append brief effects themselves. Effects of `db` may be appended after one
     * that was written in brief form, until a command other than SET is written. */
    struct brief_tail brief;

    /* private */
    struct effect_run run;
    bool is_gathered;           /* the run is in `text`: its head, then its elements, ... */
    struct effect_layout alone; /* ... or it has one effect, whose command ends `out` */
    size_t head;                /* bytes of `text` before the first element */
    char text[EFFECT_RUN_BYTES];
};

void effect_writer_init(struct effect_writer *writer, struct outbuf *out);
/* Writes an effect, or adds it to the current run. Copies its texts, or shares big blobs. Ignores
 * EFFECT_NONE. */
void effect_writer_put(struct effect_writer *writer, const struct effect *effect);
/* Ends the run, so that later effects begin a new command. Call at the end of a record, and before
 * anyone else appends to `out` or consumes its bytes: until then the next effect may remove the
 * last command from `out` to extend it. */
void effect_writer_end(struct effect_writer *writer);
/* Ends the run and the record: brief effects of the next record state their keys again. Needed only
 * by a writer of brief effects. */
void effect_writer_end_record(struct effect_writer *writer);
/* A shortcut for a single effect: writes its command to `to` and returns the length. Returns 0 and
 * writes nothing if the command could exceed `room` or EFFECT_PRINT_MAX, needs a SELECT, or could
 * be part of a run, or if the writer has an open run. */
size_t effect_writer_print(const struct effect_writer *writer, const struct effect *effect,
                           char *to, size_t room);
/* Does Redis 7.0 have this effect's command, with the same meaning? */
bool effect_text_is_redis(const struct effect *effect);
/* Makes the next effect of a database write a SELECT, which each file needs before its first such
 * effect. Ends the run and the record. */
void effect_writer_restart(struct effect_writer *writer);

struct effect_reader {
    unsigned db;   /* the current database; 0 at the start of a file */
    unsigned last; /* private: the last command, and a hash table of names */
    uint8_t slots[EFFECT_READER_SLOTS];
};

void effect_reader_init(struct effect_reader *reader);

/* Do the effects of this command borrow only from argv? True for all commands but those of policies
 * and libraries; false for a name that is no command. */
bool effect_text_is_plain(struct effect_reader *reader, struct bytes name);
/* Parses one command and passes its effects, which borrow from argv, to `visit`. SELECT has no
 * effects and sets the reader's database. Returns false if `visit` does, or if the command is not
 * one that effect_writer writes; some effects may have been visited by then. */
bool effect_text_read(int argc, const struct bytes *argv, struct effect_reader *reader,
                      bool (*visit)(void *ctx, const struct effect *effect), void *ctx);
