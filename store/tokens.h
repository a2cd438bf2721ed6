/* tokens: the fencing tokens of the data set, one counter for everything that is granted. Each
 * token is larger than all that the data set has granted before. Storage that refuses tokens
 * smaller than the largest it has seen is therefore safe from a holder that was paused.
 *
 * The counter may lag behind tokens that were granted: a loss of power loses the end of the
 * journal, and a replica that is promoted may not have received all of its master's stream. The
 * first grant after a start or a promotion therefore leaps ahead, to the token of the clock: the
 * Unix time in milliseconds times TOKENS_PER_MSEC. As long as fewer than TOKENS_PER_MSEC tokens are
 * granted per millisecond, all earlier tokens are below the leap. That holds even for tokens of a
 * promotion that this server never learnt of, or of a run after which an older copy of the files
 * was restored. A master also leaps when the first replica asks for its stream, so that a replica
 * knows this leap before anything is granted.
 *
 * If the clock is behind the last token, because it was set back or is behind that of the former
 * master, the leap is TOKEN_DISTANCE instead: more tokens than are granted in 30 s, the time for
 * which the kernel may hold a write back. It is not longer, because a server that never learns of
 * this leap relies on its clock being ahead of all tokens.
 *
 * Tokens stay below 2^53, so that a double holds them exactly. The clock reaches that in 2248. */
#pragma once

#include "store/base/instant.h"

#define TOKEN_MAX       (((int64_t)1 << 53) - 1)
#define TOKENS_PER_MSEC 1024
#define TOKEN_DISTANCE  ((int64_t)1 << 25)

struct tokens {
    int64_t last; /* the largest token so far, or 0 */
    bool leaps;   /* the next grant leaps; else its token is last + 1 */
    /* A server stopped with all its grants in the journal, and none was made since. */
    bool closed;
};

void tokens_init(struct tokens *tokens); /* empty; the first grant leaps */
/* Makes the store grant no tokens, because its counter is not kept. */
void tokens_disable(struct tokens *tokens);
/* Makes the next grant leap, because grants may exist that the data does not contain. */
void tokens_distrust(struct tokens *tokens);
/* Takes over the counter of a data set that replaces this one; the next grant leaps. */
void tokens_replace(struct tokens *tokens, const struct tokens *other);
/* Leaps now, at most to TOKEN_MAX, if the next grant must. Returns whether `last` has changed. */
bool tokens_leap(struct tokens *tokens, msec now);
/* Notes that no more tokens will be granted before the stop. Returns true if that is new, and must
 * be recorded in the journal. */
bool tokens_close(struct tokens *tokens);
/* Notes a granted token, between 0 and TOKEN_MAX, unless a larger one is known. */
void tokens_raise(struct tokens *tokens, int64_t token);
