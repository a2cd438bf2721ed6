/* txn_settle: removes overdue members of one key in slices. Finding a key removes all its expired
 * members, which may take long. A caller that can wait asks with txn_settles_slowly first, and then
 * removes them by txn_settle_some. */
#pragma once

#include "store/txn/txn.h"

enum { SETTLE_AT_ONCE = 1000 }; /* members: well under a millisecond */

/* Returns true if finding the entry, in txn's database, would take about SETTLE_AT_ONCE steps or
 * more. Each expired member is a step, each expired entry of a stream one step more for each group,
 * and each member beyond the policy's MAXLEN one, or of a sorted set each member that stays, if
 * those are fewer. A key that is dropped as a whole takes one step. O(SETTLE_AT_ONCE); O(1) if
 * nothing in the database is overdue and no policy has a MAXLEN. */
bool txn_settles_slowly(struct txn *txn, const struct entry *entry);
/* Removes about `limit` of these members, or up to SETTLE_AT_ONCE at once if few remain in the
 * value. Returns the amount of work, 0 when done. *entry becomes NULL when the key is dropped. Does
 * not cut lists to MAXLEN, because the older end of a list is unknown until a push. With
 * txn->no_expiry, still removes expired members, but cuts nothing. */
size_t txn_settle_some(struct txn *txn, struct entry **entry, size_t limit);
