/* import: loads Redis' files into the store: RDB, and AOF with or without an RDB preamble. Depends
 * on proto/rdb/, requests and the store's types.
 *
 * A key is added only after it was read completely and found valid. Likewise, a transaction of an
 * AOF is run only after it was read completely. Expired keys are added too, and then expire as
 * usual.
 *
 * Folder server/disk/import: converts Redis' files to our data. Start here. proto/rdb parses the
 * bytes and calls visitors; rdb_object builds the values, and import adds the keys; import_aof runs
 * the commands of an AOF. In the other direction, rdb_object writes a value for DUMP, and rdb_store
 * a whole store for a replica that is a Redis server.
 *
 * May use: proto/rdb server/disk/effect server/disk/format store/. */
#pragma once

#include <sys/types.h>

#include "server/disk/format/replay.h"
#include "store/store.h"

enum { IMPORT_KINDS = 16, IMPORT_KIND_NAME = 64, IMPORT_KEY_SHOWN = 64, IMPORT_WHY = 384 };

/* Keys of a type that can't be imported: "module graphdata". */
struct import_kind {
    char name[IMPORT_KIND_NAME];
    char word[IMPORT_KIND_NAME];      /* for import-skip: "graphdata" */
    bool skipped;                     /* false if the first key ended the import */
    char first_key[IMPORT_KEY_SHOWN]; /* the first of them, printable */
    uint64_t keys;                    /* in an AOF: commands on such keys */
};

struct import {
    struct store *store;
    msec now;
    const char *skip;      /* the types of which keys are skipped: "array graphdata", or NULL */
    bool skip_unsupported; /* skips keys of all types that can't be imported */
    /* After a key that ends the import, read the rest of an RDB to count all such keys. */
    bool counts_all;
    struct replay_progress progress;
    void (*between)(void *ctx); /* called after each few keys of an RDB; may be NULL */
    /* Runs a command of an AOF, which may be any command. Returns false if it failed. */
    bool (*command)(void *ctx, unsigned *db, int argc, const struct bytes *argv);
    void *ctx;

    /* Results. */
    uint64_t keys, commands;
    uint64_t libraries; /* number of function libraries in an RDB */
    unsigned stream_db; /* the database selected in the stream after an RDB: repl-stream-db */
    uint64_t end;       /* the offset after an RDB */
    struct import_kind kinds[IMPORT_KINDS];
    unsigned kind_count;      /* further types are counted in the last one, "other" */
    bool torn;                /* the last command or transaction of an AOF is incomplete */
    uint64_t good, torn_size; /* of an AOF: bytes imported, and bytes of an incomplete end */
    uint64_t refused_at;      /* the offset after the first key that is not skipped */
    char why[IMPORT_WHY];     /* the error, with its offset if it has one */
};

/* Reads 1 to `size` bytes. Returns 0 at the end, -1 on failure. */
typedef ssize_t import_read_fn(void *ctx, void *to, size_t size);
/* Imports one RDB that `read` returns, and sets import->end to the offset of its end; may read
 * beyond that. Returns false as import_file does. */
bool import_rdb(struct import *import, import_read_fn *read, void *ctx);

/* Prints the versions of RDB that can be imported: see rdb_versions. */
void import_show_versions(char *to, size_t size);

/* Imports an RDB or AOF. On failure returns false with the error in `why`; the store then contains
 * the data that precedes the error. An incomplete end of an AOF is no failure: see `torn`. */
bool import_file(struct import *import, const char *path);
