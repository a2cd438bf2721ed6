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

#include "store/base/bytes.h"
#include "store/base/instant.h"

enum policy_refresh { REFRESH_NEVER, REFRESH_WRITE, REFRESH_ACCESS };

/* Spans of 0: no such rule. */
struct policy {
    msec ttl, max_ttl, member_ttl;
    uint64_t max_len; /* members or elements; 0: no limit */
    enum policy_refresh refresh;
    unsigned jitter; /* percent, 0 to 100 */
    bool keep_low;   /* of a sorted set that is cut, the lowest scores stay */
    bool pending; /* not yet applied to all keys that were there when it was set: policy_walk.h */
};

enum { POLICY_NAME_MAX = 16384 };       /* bytes in a name */
#define POLICY_SPAN_MAX (INT64_MAX / 2) /* the longest span: from any likely now no overflow */

struct policy_node;
struct rule;

/* Zeroed: empty. */
struct policies {
    struct policy_node *root;
    size_t count;
    size_t limits; /* of them, those with a max_len */
    size_t bytes;  /* memory */
    /* The pending ones, in the order in which they were set. A pass over the keys is for those that
     * were set before it began: for the first ones of the list. */
    struct rule *first_pending, *last_pending;
    size_t pending;
    uint64_t pass;
};

void policies_drop(struct policies *policies);

/* '*' only at the end, not empty, not too long. */
bool policy_name_ok(struct bytes name);
/* The same options, whether pending or not. */
bool policy_equal(const struct policy *a, const struct policy *b);
/* Does setting it change keys that are there already? `old`: what it replaces, or NULL. */
bool policy_changes_keys(const struct policy *policy, const struct policy *old);
/* Replaces one of the same name, which must be ok; a pending one goes to the end of the list.
 * O(length of the name) */
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

/* A pass over the keys begins, for all that are pending by now. O(1) */
void policies_begin_pass(struct policies *policies);
/* Is this one, of the table, pending and of the pass? O(1) */
bool policies_in_pass(const struct policies *policies, const struct policy *policy);
/* The first pending one of the pass, or NULL; *name (if not NULL) is its name. O(1) */
const struct policy *policies_first_in_pass(const struct policies *policies, struct bytes *name);

void policies_check(const struct policies *policies);

#endif
