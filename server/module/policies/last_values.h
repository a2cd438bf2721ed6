/* last_values: copies of the values of keys that are about to expire, by database and name. Depends
 * on store/struct and store/mem; knows neither the host nor clocks.
 *
 * A copy is a list of parts, which become the names and values of the fields of a log entry. */
#pragma once

#include "store/base/bytes.h"
#include "store/base/instant.h"
#include "store/mem/buffer.h"
#include "store/struct/dict.h"

/* A copy that is being made; all zero if empty. */
struct last_value_draft {
    struct buffer text;
    uint32_t parts;
    bool left_out; /* the parts lack the value, because memory was short */
};

void last_value_add(struct last_value_draft *draft, struct bytes part);
/* Adds one part: `begin`, then `end`. */
void last_value_add_joined(struct last_value_draft *draft, struct bytes begin, struct bytes end);
void last_value_add_number(struct last_value_draft *draft, uint64_t number);
/* Empties the draft, and frees its memory if that is large. */
void last_value_clear(struct last_value_draft *draft);

struct last_value {
    msec at; /* the key's deadline */
    size_t name_len;
    uint32_t parts;
    bool left_out;
    char bytes[]; /* the name, then each part after its length */
};

/* Returns the part at *position, and moves *position to the next part. Begin with 0, and call this
 * at most `parts` times. */
struct bytes last_value_next(const struct last_value *value, size_t *position);

struct last_values {
    struct dict *all; /* of databases */
    unsigned count;
    size_t bytes;         /* of the copies, including those that were taken but not freed yet */
    struct dict *flushed; /* to be freed in slices */
    size_t flushes;
};

void last_values_init(struct last_values *values);
void last_values_drop(struct last_values *values);

/* Finds the copy of a key, borrowed until the next change; NULL if there is none. O(1) */
const struct last_value *last_values_find(const struct last_values *values, unsigned db,
                                          struct bytes name);
/* Stores the draft as the copy of a key, which must have none. O(length) */
void last_values_put(struct last_values *values, unsigned db, struct bytes name, msec at,
                     const struct last_value_draft *draft);
/* Removes the copy of a key, or returns NULL. The caller frees it. O(1) */
struct last_value *last_values_take(struct last_values *values, unsigned db, struct bytes name);
void last_values_free(struct last_values *values, struct last_value *value); /* may be NULL */

/* Drops the copies of a database, or of all databases (db < 0). last_values_reclaim frees them.
 * O(databases) */
void last_values_flush(struct last_values *values, int db);
/* Frees up to `work` flushed copies; true while more are left. */
bool last_values_reclaim(struct last_values *values, size_t work);
void last_values_swap(struct last_values *values, unsigned a, unsigned b); /* O(1) */
