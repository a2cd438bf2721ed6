/* import: Redis' files become the contents of the store: RDB, and AOF with or without an RDB at its
 * beginning. Knows rdb/, requests and the store's types; refuses to know which file is for what.
 *
 * A key is put into the store when all of it has been read and found good: never half a key. The
 * same holds for a transaction of an AOF. What is overdue comes in as it is, to die in the normal
 * way. */
#ifndef SERVER_PERSIST_IMPORT_IMPORT_H
#define SERVER_PERSIST_IMPORT_IMPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "server/persist/format/replay.h"
#include "store/store.h"

enum { IMPORT_KINDS = 16, IMPORT_KIND_NAME = 64, IMPORT_KEY_SHOWN = 64 };

/* Keys of one kind that could not be brought over: "stream", "module graphdata". */
struct import_kind {
    char name[IMPORT_KIND_NAME];
    char first_key[IMPORT_KEY_SHOWN]; /* one of them, printable */
    uint64_t keys;                    /* or, of an AOF, commands about them */
};

struct import {
    struct store *store;
    msec now;
    bool skip_unsupported; /* else the first key that can't be brought over ends the import */
    struct replay_progress progress;
    /* A command of an AOF, which may be any. False: it failed. */
    bool (*command)(void *ctx, unsigned *db, int argc, const struct bytes *argv);
    void *ctx;

    /* What came of it. */
    uint64_t keys, commands;
    uint64_t functions; /* libraries of functions, passed over */
    struct import_kind kinds[IMPORT_KINDS];
    unsigned kind_count;      /* what is of none of so many kinds is of the last one, "other" */
    bool torn;                /* an AOF whose last command, or transaction, is cut short ... */
    uint64_t good, torn_size; /* ... here: all before was taken; and so many bytes were not */
    char why[256];            /* what is wrong, and at which byte */
};

/* False: `why`; the store has what came before. */
bool import_file(struct import *import, const char *path);

#endif
