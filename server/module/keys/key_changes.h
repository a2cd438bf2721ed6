/* key_changes: a queue of the names that keyspace events report, in order of arrival. Depends on
 * store/mem; knows neither the host nor how the names are used.
 *
 * An event happens inside a command, so its handler must be quick: it copies the name here, a few
 * sequential bytes. What needs tables or the host is done later, between two commands, for many
 * names at a time, so that their cache misses overlap. */
#pragma once

#include "store/base/bytes.h"
#include "store/base/instant.h"

enum key_change_kind {
    KEY_MAY_BE_VOLATILE, /* its deadline has to be read from the host */
    KEY_HAS_DEADLINE,    /* at `at` */
    KEY_IS_GONE,         /* or no longer has a deadline */
};

enum { KEY_CHANGE_NAME_MAX = (1 << 30) - 1 };

struct key_change {
    msec at;
    uint32_t database; /* due_keys_database() */
    uint32_t kind : 2;
    uint32_t len : 30;
    char name[];
};

static inline struct bytes key_change_name(const struct key_change *change)
{
    return bytes_of(change->name, change->len);
}

struct change_block;

struct key_changes {
    struct change_block *first, *last;
    size_t count;
};

void key_changes_init(struct key_changes *changes);
void key_changes_drop(struct key_changes *changes);

/* Appends a change. Ignores a name that is longer than KEY_CHANGE_NAME_MAX. Amortized O(length) */
void key_changes_put(struct key_changes *changes, uint32_t database, enum key_change_kind kind,
                     msec at, struct bytes name);
/* Returns up to `most` of the first changes, or 0 if the queue is empty. They are valid until they
 * are taken. */
unsigned key_changes_peek(const struct key_changes *changes, const struct key_change *found[],
                          unsigned most);
/* Removes this many of the changes that key_changes_peek returned. */
void key_changes_take(struct key_changes *changes, unsigned count);

size_t key_changes_bytes(const struct key_changes *changes); /* O(blocks) */
