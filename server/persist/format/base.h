/* base: the store's contents in a snapshot file, written and read.
 * Knows walk, effects' text and blocks; refuses to know which file is for what, and when. */
#ifndef SERVER_PERSIST_FORMAT_BASE_H
#define SERVER_PERSIST_FORMAT_BASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "server/persist/format/replay.h"
#include "server/persist/format/snapshot_file.h"
#include "store/store.h"

struct base_size {
    uint64_t keys, bytes;
};

/* The file is there, whole and on the medium; or there's an errno, and what was there. O(n) */
int base_write(const struct store *store, const char *path, const struct snapshot_options *options,
               struct base_size *size);

struct base_load {
    struct replay_progress progress; /* bytes of the file; tell may be NULL */
    struct base_size size;
    uint64_t commands, effects; /* good ones */
    uint64_t bad;               /* the byte of the file where it goes wrong */
    bool unreadable;            /* and the system says so, not the file */
    char why[256];              /* what is wrong, with the offset */
};

/* Into a store; NULL: is only read and judged. False: `why`; the store has what came before. O(n)
 */
bool base_load(struct store *store, const char *path, msec now, struct base_load *load);

#endif
