/* tokens: see tokens.h. */
#include "store/tokens.h"

#include "store/base/ensure.h"

void tokens_init(struct tokens *tokens)
{
    *tokens = (struct tokens){ .leaps = true };
}

void tokens_disable(struct tokens *tokens)
{
    *tokens = (struct tokens){ .last = TOKEN_MAX };
}

void tokens_distrust(struct tokens *tokens)
{
    tokens->leaps = true;
    tokens->closed = false;
}

void tokens_replace(struct tokens *tokens, const struct tokens *other)
{
    *tokens = *other;
    tokens_distrust(tokens);
}

bool tokens_leap(struct tokens *tokens, msec now)
{
    if (!tokens->leaps) return false;
    tokens->leaps = false;
    /* A clock that is centuries ahead must not use up all tokens. */
    bool fits = now > 0 && now < TOKEN_MAX / TOKENS_PER_MSEC;
    int64_t from = tokens->last, by_clock = fits ? now * TOKENS_PER_MSEC : 0;
    int64_t by_distance = from < TOKEN_MAX - TOKEN_DISTANCE ? from + TOKEN_DISTANCE : TOKEN_MAX;
    tokens_raise(tokens, by_clock > from ? by_clock : by_distance);
    return tokens->last > from;
}

bool tokens_close(struct tokens *tokens)
{
    if (tokens->closed || tokens->last == 0) return false;
    tokens->closed = true;
    return true;
}

void tokens_raise(struct tokens *tokens, int64_t token)
{
    ensure(token >= 0 && token <= TOKEN_MAX, "token %lld", (long long)token);
    if (token <= tokens->last) return;
    tokens->last = token;
    tokens->closed = false;
}
