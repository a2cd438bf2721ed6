/* txn_settle: removes overdue members of one key in slices. Finding a key removes its expired
 * members, which may take long, so a caller that can wait asks first, and removes them in
 * slices. */
#ifndef STORE_TXN_TXN_SETTLE_H
#define STORE_TXN_TXN_SETTLE_H

#include "store/txn/txn.h"

enum { SETTLE_AT_ONCE = 1000 }; /* members: well under a millisecond */

/* Would finding the entry, in txn's database, remove more than SETTLE_AT_ONCE members? Counts
 * expired members (and entries of a stream) and those beyond the policy's MAXLEN.
 * O(SETTLE_AT_ONCE); O(1) if nothing in the database is overdue and no policy has a MAXLEN. */
bool txn_settles_slowly(struct txn *txn, const struct entry *entry);
/* Removes about `limit` of these members (or SETTLE_AT_ONCE if few remain). Returns the amount of
 * work, 0 when done. *entry becomes NULL when the key is dropped. Cuts only sorted sets and streams
 * to MAXLEN, because the older end of a list is unknown until a push. With txn->no_expiry, still
 * removes expired members, but cuts nothing. */
size_t txn_settle_some(struct txn *txn, struct entry **entry, size_t limit);

#endif
