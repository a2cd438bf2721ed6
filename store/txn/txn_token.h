/* txn_token: grants fencing tokens (store/tokens.h). */
#pragma once

#include "store/txn/txn.h"

/* Can this many tokens be granted? If a leap is due (store/tokens.h), leaps first and records that:
 * the replies to all later changes wait until the record is synced, whatever appendfsync says. For
 * calls of clients, before the first mutator. */
bool txn_token_reserve(struct txn *txn, int64_t count);
/* Returns the next token, which must have been reserved. So that a replay and replicas know it, the
 * effect of the grant must contain the token, and its applier must call txn_token_raise. */
int64_t txn_token_next(struct txn *txn);
/* Notes a token that was granted elsewhere and arrives in an effect or a value. The token must be
 * between 0 and TOKEN_MAX. Records no effect. */
void txn_token_raise(struct txn *txn, int64_t token);
/* As txn_token_raise, and also records the token; for `closed` see struct tokens. */
void txn_token_set(struct txn *txn, int64_t token, bool closed);
