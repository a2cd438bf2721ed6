/* expiry_entry: one entry of an expiry log: an entry of a stream, or an element of a dehydrator.
 *
 *     target        what expired    id or fields
 *     stream        key             key, at, type
 *                   member          key, at, type, member
 *     dehydrator    key             the id is the key
 *                   member          the id is key, zero byte, member
 *
 * An entry of a stream stores the value in `value`, `field:<name>`, `score` or `dump`; for a value
 * that is too long it has only `size`. An element of a dehydrator stores the value as its payload,
 * which is empty if the value is too long. */
#pragma once

#include "store/txn/txn.h"

/* A key or a member that expired, with the parts of its value that are logged. */
struct expired_item {
    struct bytes key;
    msec at; /* its deadline */
    enum type type;
    bool is_member, has_value, has_score;
    struct bytes member, value;  /* the member; its value, if it is a field (has_value) */
    double score;                /* the member's, if has_score */
    const struct object *object; /* the value of an expired key; NULL if it is not logged */
    uint64_t size;               /* size of a value too large to log, otherwise 0 */
};

/* The largest hash that is logged field by field. */
enum { EXPIRY_FIELDS_MAX = 262144 };

/* Memory for building entries, and a cache of the last target: if `policy` is not NULL, `target` is
 * the entry to which this policy logs in database db. All zero at first. */
struct expiry_writer {
    const struct policy *policy;
    unsigned db;
    struct entry *target; /* NULL if the key there can't be written to */
    struct bytes *texts;
    size_t count, cap;
    char *names;
    size_t names_cap;
};

/* Can a key of this type be the target of EXPIRED TO? */
bool expiry_type_is_target(enum type type);
/* Returns true if the policy's target in the database stores values even without the option VALUE.
 * A dehydrator does, as payloads. A missing target will be a stream. */
bool expiry_target_wants_value(struct txn *txn, const struct policy *policy, unsigned db);
/* Returns 0 if the value may fit into `most` bytes. That is exact for a string and for the fields
 * of a hash; a value of another type is excluded only if no payload of it could fit. A hash of more
 * than EXPIRY_FIELDS_MAX fields never fits. If the value does not fit, returns its size: the length
 * of a string, or the bytes of another value in memory. */
uint64_t expiry_size_of(const struct object *object, uint64_t most);
/* Adds the entry to the policy's target in txn->ks. Counts an error if the target can't take it. */
void expiry_entry_write(struct txn *txn, struct expiry_writer *writer, const struct policy *policy,
                        const struct expired_item *item);
/* Makes the next entry look its target up again. Needed if the target's key may have been replaced,
 * dropped or created since the last entry. */
void expiry_writer_forget(struct expiry_writer *writer);
void expiry_writer_drop(struct expiry_writer *writer);
