/* txn_settle: removes overdue members of one key, and those beyond MAXLEN, in slices. Finding a key
 * removes all its expired members, which may take long. A caller that can wait asks with
 * txn_settles_slowly first, and then removes them by txn_settle_some. */
#pragma once

#include "store/txn/txn.h"

enum { SETTLE_AT_ONCE = 1000 }; /* members: well under a millisecond */

/* Returns true if finding the entry, in txn's database, would take about SETTLE_AT_ONCE steps or
 * more:
 *
 *     expired members              one step each; in a stream one more for each group
 *     members beyond MAXLEN        one step each; in a sorted set one for each member that stays,
 *                                  if those are fewer
 *     a key that is dropped whole  one step
 *
 * O(SETTLE_AT_ONCE); O(1) if nothing in the database is overdue and no policy has a MAXLEN. */
bool txn_settles_slowly(struct txn *txn, const struct entry *entry);
/* Removes about `limit` of these members, or up to SETTLE_AT_ONCE at once if few remain in the
 * value. Returns the amount of work, 0 when done. *entry becomes NULL when the key is dropped. Does
 * not cut lists to MAXLEN, because the older end of a list is unknown until a push. With
 * txn->no_expiry, still removes expired members, but cuts nothing. */
size_t txn_settle_some(struct txn *txn, struct entry **entry, size_t limit);
