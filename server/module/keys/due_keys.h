/* due_keys: names of the host's keys, each with the instant at which the key must be checked.
 * Depends on store/struct and store/mem; knows neither the host nor clocks.
 *
 * Each database has an agenda of its names. An entry that no longer matches the host's key does no
 * harm: it costs one check. An entry takes about 39 bytes, plus the name. */
#pragma once

#include <string.h>

#include "server/module/keys/name_pages.h"
#include "store/base/bytes.h"
#include "store/base/instant.h"
#include "store/struct/agenda.h"
#include "store/struct/dict.h"

enum { DUE_NAME_MAX = (1 << 30) - 1 };

struct due_key {
    struct deadline deadline; /* idle: the instant is not known yet */
    uint32_t by;              /* the instant in units of 1024 ms, rounded up; UINT32_MAX: unknown */
    uint8_t len;              /* DUE_LEN_LONG: the length is before the name, in 4 bytes */
    char name[];
};

enum { DUE_LEN_LONG = UINT8_MAX };

static inline struct bytes due_key_name(const struct due_key *key)
{
    uint32_t len;
    if (key->len != DUE_LEN_LONG) return bytes_of(key->name, key->len);
    memcpy(&len, key->name, sizeof(len));
    return bytes_of(key->name + sizeof(len), len);
}

struct due_database {
    struct dict dict;
    struct agenda agenda;
    uint32_t id;               /* see due_keys_database */
    struct due_database *next; /* in `flushed` */
};

struct due_keys {
    struct due_database *all;
    unsigned count; /* of databases */
    uint32_t last_id;
    struct name_pages names;
    struct due_database *flushed; /* to be freed in slices */
};

void due_keys_init(struct due_keys *keys);
void due_keys_drop(struct due_keys *keys);

/* Returns the name's entry, or NULL if it has none. O(1) */
struct due_key *due_keys_find(const struct due_keys *keys, unsigned db, struct bytes name);
/* Returns the name's entry, adding it if needed. NULL if the name exceeds DUE_NAME_MAX. O(1) */
struct due_key *due_keys_add(struct due_keys *keys, unsigned db, struct bytes name);
/* Sets the instant of an entry. O(log n) */
void due_keys_set(struct due_keys *keys, unsigned db, struct due_key *key, struct due_at due);
/* As due_keys_set, but never makes the instant later. O(1) if nothing changes */
void due_keys_advance(struct due_keys *keys, unsigned db, struct due_key *key, struct due_at due);
void due_keys_forget(struct due_keys *keys, unsigned db, struct due_key *key); /* O(log n) */

/* Returns the instant of an entry, or DUE_AT_NEVER if unknown. O(1) */
struct due_at due_keys_at(const struct due_keys *keys, unsigned db, const struct due_key *key);
/* Returns the entry that is due first, if it is due by now; or NULL. O(databases) */
struct due_key *due_keys_first(const struct due_keys *keys, msec now, unsigned *db);
struct due_at due_keys_next(const struct due_keys *keys); /* the earliest. O(databases) */

/* Returns the number that identifies a database's present contents. A flush assigns a new number; a
 * swap moves the number together with the data. O(1) */
uint32_t due_keys_database(struct due_keys *keys, unsigned db);
/* Finds the database that now holds the contents with this number. Returns false if they have been
 * flushed. O(databases) */
bool due_keys_has_database(const struct due_keys *keys, uint32_t id, unsigned *db);

/* Prefetching for many names at a time. The steps, called in this order for each name, request the
 * memory that due_keys_find and due_keys_advance will read. Between two steps of one name, do those
 * of the other names, so that each step finds its memory loaded. O(1) */
struct due_hint {
    unsigned db;
    struct bytes name;
    uint64_t hash; /* siphash() of the name */
    const struct due_key *maybe;
};
void due_hint_table(const struct due_keys *keys, struct due_hint *hint);
void due_hint_key(const struct due_keys *keys, struct due_hint *hint);
void due_hint_instant(const struct due_keys *keys, const struct due_hint *hint, struct due_at due);

/* Drops all names of a database, or of all (db < 0); due_keys_reclaim frees them. O(databases) */
void due_keys_flush(struct due_keys *keys, int db);
/* Frees up to `work` flushed names; true while more are left. */
bool due_keys_reclaim(struct due_keys *keys, size_t work);
void due_keys_swap(struct due_keys *keys, unsigned a, unsigned b); /* O(1) */

size_t due_keys_count(const struct due_keys *keys);
size_t due_keys_bytes(const struct due_keys *keys);
void due_keys_check(const struct due_keys *keys); /* O(n) */
