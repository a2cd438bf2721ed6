/* expiry_log: logs keys and members that expire under a policy with EXPIRED TO, in a stream or a
 * dehydrator.
 *
 * The removal of a key or member is only noted. When the call ends, ordinary mutators write the
 * notes; in background expiry they do so when the transaction ends or there are many notes. A
 * removal and its entry are thus in the same transaction, and no command sees the log's key appear
 * between two of its own look-ups. Entries of a log that expire are not logged again.
 *
 * An entry of a log is an entry of a stream, or an element of a dehydrator.
 *
 *     target        what expired    id or fields
 *     stream        key             key, at, type
 *                   member          key, at, type, member
 *     dehydrator    key             the id is the key
 *                   member          the id is key, zero byte, member
 *
 * With the option VALUE, an entry of a stream stores the value in `value`, `field:<name>`, `score`
 * or `dump`; for a value that is too long it has only `size`. An element of a dehydrator stores the
 * value as its payload, even without that option; the payload is empty if the value is too long. An
 * element replaces an earlier one of the same id. */
#pragma once

#include "store/txn/txn_internal.h"

/* Does a policy log the expiry of this key and its members? O(length of the key). expiry_is_logged
 * is false in a replay, and O(1) if no policy logs. */
bool expiry_log_covers(struct txn *txn, const struct entry *entry);
static inline bool expiry_is_logged(struct txn *txn, const struct entry *entry)
{
    return txn->store->policies.with[POLICY_EXPIRED] > 0 && txn->origin != FROM_REPLAY &&
           expiry_log_covers(txn, entry);
}
/* Notes the expiry of a key for which expiry_is_logged is true. Call before the key is removed. If
 * the log needs the value, returns true: then pass the removed object to expiry_log_keep, which
 * takes ownership, before the next note. */
bool expiry_log_key(struct txn *txn, const struct entry *entry);
void expiry_log_keep(struct txn *txn, struct object object);
/* Notes that a member of a logged key has expired, with its deadline `at`. Call before the member
 * is removed, because the note may copy its value. */
void expiry_log_member(struct txn *txn, const struct entry *entry, struct bytes member, msec at);
/* Writes the notes to the logs. For the end of each call, before policies are applied, because it
 * may create the keys of logs. */
void expiry_log_write(struct txn *txn);
/* Should background expiry write the notes now, because there are many? */
bool expiry_log_full(const struct expiry_log *log);
void expiry_log_free(struct expiry_log *log);
