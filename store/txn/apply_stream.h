/* apply_stream: the effects of streams, for apply.c. */
#ifndef STORE_TXN_APPLY_STREAM_H
#define STORE_TXN_APPLY_STREAM_H

#include <stdbool.h>

#include "store/effect.h"
#include "store/txn/txn.h"

/* Applies an effect_is_of_stream; `entry` is at its key, or NULL. False: it does not fit. */
bool apply_to_stream(struct txn *txn, struct entry *entry, const struct effect *effect);

#endif
