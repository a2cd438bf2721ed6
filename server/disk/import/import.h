/* import: loads Redis' files into the store: RDB, and AOF with or without an RDB preamble. Depends
 * on proto/rdb/, requests and the store's types.
 *
 * A key is added to the store only when it was read completely and is valid, and so is a
 * transaction of an AOF. Expired keys are added, too, and then expire in the normal way.
 *
 * Folder server/disk/import: Redis' files become our data. proto/rdb parses the bytes and calls
 * visitors; rdb_object and rdb_stream make a value of what it finds and import adds the keys;
 * import_aof runs the commands of an AOF. In the other direction rdb_object writes a value for
 * DUMP, and rdb_store a whole store for a replica that is a Redis. Depends on proto/rdb,
 * server/disk/effect, server/disk/format and store/.
 * Start here. */
#ifndef SERVER_DISK_IMPORT_IMPORT_H
#define SERVER_DISK_IMPORT_IMPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "server/disk/format/replay.h"
#include "store/store.h"

enum { IMPORT_KINDS = 16, IMPORT_KIND_NAME = 64, IMPORT_KEY_SHOWN = 64 };

/* Keys of a type that can't be imported: "module graphdata". */
struct import_kind {
    char name[IMPORT_KIND_NAME];
    char first_key[IMPORT_KEY_SHOWN]; /* the first of them, printable */
    uint64_t keys;                    /* in an AOF: commands on such keys */
};

struct import {
    struct store *store;
    msec now;
    bool skip_unsupported; /* skips such keys; else the first one ends the import */
    struct replay_progress progress;
    void (*between)(
        void *ctx); /* called with ctx after each few keys of an RDB; NULL: not called */
    /* Runs a command of an AOF, which may be any command. False: it failed. */
    bool (*command)(void *ctx, unsigned *db, int argc, const struct bytes *argv);
    void *ctx;

    /* Results. */
    uint64_t keys, commands;
    uint64_t libraries; /* of functions, in an RDB */
    unsigned stream_db; /* repl-stream-db of an RDB: what the stream behind it has selected; 0 */
    uint64_t end;       /* of an RDB: the offset behind it */
    struct import_kind kinds[IMPORT_KINDS];
    unsigned kind_count;      /* further types are counted in the last one, "other" */
    bool torn;                /* an AOF whose last command or transaction is incomplete ... */
    uint64_t good, torn_size; /* ... after this many good bytes; and the number of bytes left out */
    char why[256];            /* the error, with its byte */
};

/* Reads 1 to `size` bytes. 0: the end; -1: failed. */
typedef ssize_t import_read_fn(void *ctx, void *to, size_t size);
/* Imports one RDB, up to its end, from a function. False: as below. */
/* Sets import->end. It may have read more than that. */
bool import_rdb(struct import *import, import_read_fn *read, void *ctx);

/* False: `why`; the store has the data before the error. */
bool import_file(struct import *import, const char *path);

#endif
