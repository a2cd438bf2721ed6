/* sample: random elements of a set or a hash, for SRANDMEMBER and HRANDFIELD. ZRANDMEMBER has its
 * own way to draw, and uses only sample_read_count and SAMPLE_DRAWS_MAX. */
#pragma once

#include "server/cmd/call/call.h"

/* Parses the count at argument i. Returns false after sending an error. */
bool sample_read_count(struct call *call, int i, int64_t *count);

/* DIFFERS: Redis sets no limit, and draws until it is out of memory. (doc/differs.md) */
enum { SAMPLE_DRAWS_MAX = 1 << 24 };

/* Replies with `count` distinct elements, each combination equally likely, or with all if there are
 * fewer. A negative count asks for -count independent draws; the caller refuses more than
 * SAMPLE_DRAWS_MAX. with_values, for hashes, replies with pairs of name and value. The object must
 * not be empty. Expected O(|count|). */
void sample_reply(struct call *call, const struct object *object, int64_t count, bool with_values);
