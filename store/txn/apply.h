/* apply: turns an effect into a change, by the same mutators that recorded it.
 * For replay. Nothing expires on access: the journal has a record of each removal. */
#ifndef STORE_TXN_APPLY_H
#define STORE_TXN_APPLY_H

#include <stdbool.h>

#include "store/effect.h"
#include "store/txn/txn.h"

/* Applies one effect as a call of its own in txn (FROM_REPLAY or FROM_MASTER). False if it does not
 * fit the data (wrong type, missing key): the record is damaged. */
bool apply_effect(struct txn *txn, const struct effect *effect);

#endif
