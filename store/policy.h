/* policy: what holds for every key whose name begins with a prefix, and the table that finds it.
 * Knows names and rules; refuses to know keys' values and when a rule is applied (txn_policy.c).
 *
 * A name is an exact key, or a prefix when it ends in '*'. The longest prefix wins, an exact name
 * over any. */
#ifndef STORE_POLICY_H
#define STORE_POLICY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "store/bytes.h"
#include "store/instant.h"

enum policy_refresh { REFRESH_NEVER, REFRESH_WRITE, REFRESH_ACCESS };

/* Spans of 0: no such rule. */
struct policy {
    msec ttl, max_ttl, member_ttl;
    uint64_t max_len; /* members or elements; 0: no limit */
    enum policy_refresh refresh;
    unsigned jitter; /* percent, 0 to 100 */
    bool keep_low;   /* of a sorted set that is cut, the lowest scores stay */
};

enum { POLICY_NAME_MAX = 16384 };       /* bytes in a name */
#define POLICY_SPAN_MAX (INT64_MAX / 2) /* the longest span: from any likely now no overflow */

struct policy_node;

/* Zeroed: empty. */
struct policies {
    struct policy_node *root;
    size_t count;
    size_t bytes; /* memory */
};

void policies_drop(struct policies *policies);

/* '*' only at the end, not empty, not too long. */
bool policy_name_ok(struct bytes name);
/* Replaces one of the same name, which must be ok. O(length of the name) */
void policies_set(struct policies *policies, struct bytes name, const struct policy *policy);
const struct policy *policies_get(const struct policies *policies, struct bytes name); /* or NULL */
bool policies_remove(struct policies *policies, struct bytes name); /* false: there is none */
/* The one that holds for a key, or NULL; *name (if not NULL) is its name, borrowed until the next
 * change. O(length of the key) */
const struct policy *policies_of(const struct policies *policies, struct bytes key,
                                 struct bytes *name);
/* In the order of names; the table must not change meanwhile. */
void policies_each(const struct policies *policies,
                   void (*visit)(void *ctx, struct bytes name, const struct policy *policy),
                   void *ctx);
void policies_check(const struct policies *policies);

#endif
