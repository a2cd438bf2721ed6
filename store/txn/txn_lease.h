/* txn_lease: the mutators of leases. txn.h has the part of the contract that all mutators share. To
 * extend a lease, call txn_member_expire with the owner as member. */
#pragma once

#include "store/txn/txn.h"

/* Adds or changes the holder, which must fit (lease_fits). Event "lease.take". */
void txn_lease_take(struct txn *txn, struct entry *entry, const struct holder *holder,
                    uint32_t permits);
/* Removes the holder, with event "lease.drop". Returns false if there is none. `owner` may point
 * into the lease. */
bool txn_lease_drop(struct txn *txn, struct entry *entry, struct bytes owner);
/* Moves the ends of all leases by as much as the server's clock was set, so that the time left of
 * each stays the same. Calls txn_call itself. O(holders + keys that are due before the last lease
 * ends) */
void txn_lease_shift(struct txn *txn, msec by);

/* Returns when a lease with this end is over: at `end`, or at an earlier deadline of the key, set
 * by EXPIRE or a policy. To know that deadline, applies the policies of the keys that the call has
 * changed; entries may move. */
msec txn_lease_end(struct txn *txn, struct bytes key, msec end);
