/* tokens: the fencing tokens of the data set, one counter for everything that is granted. Each
 * token is larger than every one that the data set has granted before, so storage that refuses
 * smaller tokens than the largest it has seen is safe from a holder that was paused.
 *
 * The counter may lag behind tokens that were granted: a loss of power loses the end of the
 * journal, and a replica that is promoted may not have received all of its master's stream. So the
 * first grant after a start or a promotion leaps ahead, by more tokens than can have been lost, and
 * at least to what follows from the clock: TOKENS_PER_SEC for each second since TOKEN_EPOCH_SEC.
 * The clock covers what a fixed distance can't: two promotions of which the second did not learn of
 * the first, and an older copy of the files.
 *
 * Tokens stay below 2^53, so that a double holds them exactly. Without leaps that is enough for 285
 * years of a million tokens a second. The clock gets there in 2162. A start that leaps further than
 * the clock uses up a part in 8 million, a promotion a part in 131,072. */
#ifndef STORE_TOKENS_H
#define STORE_TOKENS_H

#include <stdbool.h>
#include <stdint.h>

#include "store/base/instant.h"

#define TOKEN_MAX       (((int64_t)1 << 53) - 1)
#define TOKENS_PER_SEC  ((int64_t)1 << 21)
#define TOKEN_EPOCH_SEC ((int64_t)1767225600) /* 2026-01-01 */

/* Further than the tokens of 30 seconds, for which the kernel may hold a write back. */
#define TOKEN_LEAP_START ((int64_t)1 << 30)
/* Further than many starts of the former master, if it continues alone. */
#define TOKEN_LEAP_PROMOTION ((int64_t)1 << 36)

struct tokens {
    int64_t last; /* the largest token so far; 0: none */
    int64_t leap; /* how far the next grant leaps; 0: it is last + 1 */
};

/* Empty, and the first grant leaps as after a start. */
void tokens_init(struct tokens *tokens);
/* `last` may lag: the next grant leaps at least this far. */
void tokens_distrust(struct tokens *tokens, int64_t leap);
/* Takes the counter of a data set that replaces this one. */
void tokens_replace(struct tokens *tokens, const struct tokens *other);
/* Leaps now, if the next grant has to. Returns whether `last` has changed: by as many tokens as are
 * left, at most. */
bool tokens_leap(struct tokens *tokens, msec now);
/* Notes a token that was granted, unless a larger one was. It is between 0 and TOKEN_MAX. */
void tokens_raise(struct tokens *tokens, int64_t token);

#endif
