/* txn_aside: hides expired members from one call without removing them, for reads on a replica:
 * only its master may remove them, whose clock may differ.
 *
 * The members are moved to an object of the transaction and put back when the call ends, so that
 * commands never see them. A stream hides its expired entries itself. O(log n) for each expired
 * member, in each call, or for each that the call names (txn_names_members): a master that is away
 * removes none, so many may be there. */
#ifndef STORE_TXN_TXN_ASIDE_H
#define STORE_TXN_TXN_ASIDE_H

#include "store/txn/txn.h"

/* For a set, hash or sorted set with members that have expired and others that have not, and for a
 * stream. */
void txn_aside_take(struct txn *txn, struct entry *entry);
void txn_aside_return(struct txn *txn); /* at the end of the call; does nothing without any */

#endif
