/* txn_token: see txn_token.h. Tokens belong to no key and no database. */
#include "store/txn/txn_token.h"

#include "store/base/ensure.h"
#include "store/txn/txn_internal.h"

static void record_last(struct txn *txn)
{
    const struct tokens *tokens = &txn->store->tokens;
    struct effect effect = { .kind = EFFECT_TOKEN, .from = tokens->last, .to = tokens->closed };
    txn_record_each(txn, bytes_of("", 0), &effect);
}

bool txn_token_reserve(struct txn *txn, int64_t count)
{
    struct tokens *tokens = &txn->store->tokens;
    if (tokens_leap(tokens, txn->now)) record_last(txn);
    return count <= TOKEN_MAX - tokens->last;
}

int64_t txn_token_next(struct txn *txn)
{
    struct tokens *tokens = &txn->store->tokens;
    tokens->closed = false;
    ensure(!tokens->leaps && tokens->last < TOKEN_MAX, "token after %lld is not reserved",
           (long long)tokens->last);
    return ++tokens->last;
}

void txn_token_raise(struct txn *txn, int64_t token)
{
    tokens_raise(&txn->store->tokens, token);
}

void txn_token_set(struct txn *txn, int64_t token, bool closed)
{
    txn_token_raise(txn, token);
    txn->store->tokens.closed = closed;
    record_last(txn);
}
