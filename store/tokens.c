/* tokens: see tokens.h. */
#include "store/tokens.h"

#include "store/base/ensure.h"

enum { MSEC_PER_SEC = 1000 };

void tokens_init(struct tokens *tokens)
{
    *tokens = (struct tokens){ .leap = TOKEN_LEAP_START };
}

void tokens_distrust(struct tokens *tokens, int64_t leap)
{
    if (leap > tokens->leap) tokens->leap = leap;
}

void tokens_replace(struct tokens *tokens, const struct tokens *other)
{
    tokens->last = other->last;
    tokens->closed = other->closed;
    tokens_distrust(tokens, TOKEN_LEAP_START);
}

/* What the clock says; 0 if it is out of range, because a clock that is centuries ahead must not
 * use up all tokens. */
static int64_t token_of(msec now)
{
    int64_t seconds = now / MSEC_PER_SEC - TOKEN_EPOCH_SEC;
    return seconds > 0 && seconds < TOKEN_MAX / TOKENS_PER_SEC ? seconds * TOKENS_PER_SEC : 0;
}

bool tokens_leap(struct tokens *tokens, msec now)
{
    int64_t from = tokens->last, leap = tokens->leap;
    tokens->leap = 0;
    if (leap == 0) return false;
    int64_t by_distance = from < TOKEN_MAX - leap ? from + leap : TOKEN_MAX;
    int64_t by_clock = token_of(now);
    tokens_raise(tokens, by_clock - from >= TOKEN_MARGIN ? by_clock : by_distance);
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
