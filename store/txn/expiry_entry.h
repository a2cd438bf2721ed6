/* expiry_entry: one entry of an expiry log: an entry of a stream, or an element of a dehydrator.
 *
 *     target       what expired     id or fields
 *     stream       key              key, at, type
 *                  member           key, at, type, member
 *     dehydrator   key              the id is the key
 *                  member           the id is key, zero byte, member
 *
 * A stream's entry stores the value in `value`, `field:<name>`, `score` or `dump`, or only its
 * `size` if the value is too long. A dehydrator's element stores the value as its payload, which is
 * empty if the value is too long. */
#ifndef STORE_TXN_EXPIRY_ENTRY_H
#define STORE_TXN_EXPIRY_ENTRY_H

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
 * the entry that this policy logs to in database db. All zero at first. */
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
/* Does the policy's target in the database store values even without the option VALUE? True for a
 * dehydrator, where they become payloads. A missing target will be a stream. */
bool expiry_target_wants_value(struct txn *txn, const struct policy *policy, unsigned db);
/* Returns 0 if the value may be logged. Otherwise returns its size, at least 1: the length of a
 * string, the memory of any other value. */
uint64_t expiry_size_of(const struct object *object, uint64_t most);
/* Adds the entry to the policy's target in txn->ks; counts an error if the target can't hold it. */
void expiry_entry_write(struct txn *txn, struct expiry_writer *writer, const struct policy *policy,
                        const struct expired_item *item);
/* Call before the next entry if the target may have changed. */
void expiry_writer_forget(struct expiry_writer *writer);
void expiry_writer_drop(struct expiry_writer *writer);

#endif
