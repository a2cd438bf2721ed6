/* policies: the table of policies, which finds the policy that applies to a key.
 *
 * A policy's name is a key, or a prefix followed by '*'. If several names match a key, an exact
 * name wins over a prefix, and a longer prefix over a shorter one. */
#pragma once

#include "store/base/bytes.h"
#include "store/policy/policy.h"

/* Statistics of a policy in a table. Code that may only read the table counts here too, so the
 * counts are behind a pointer. They are not part of the data: all are 0 when the policy is added,
 * and a change of its options keeps them. */
struct policy_stats {
    uint64_t set;            /* keys that a client created, or whose value it replaced as a whole */
    uint64_t expired_unread; /* keys that expired and had not been read since they were set */
    uint64_t expired_read;   /* keys that expired and had been read since they were set */
    uint64_t expired_misses; /* reads of keys that the trail knows to have expired */
};

struct policy_node;
struct policy_target;
struct rule;

/* The names that policies write to (EXPIRED TO or MAXDELIVERIES), each with the number of policies
 * that do so. They are sorted, so a look-up costs O(log n). All zero if empty. */
struct policy_targets {
    struct policy_target *names;
    size_t count, cap;
};

/* A table of policies. All zero if empty. */
struct policies {
    struct policy_node *root;
    size_t count;
    size_t with[POLICY_OPTIONS];                     /* policies that have the option */
    struct policy_targets log_targets, dead_targets; /* the names in expired_to and in dead_to */
    /* The pending policies, in the order in which they were set. A pass over the keys applies those
     * that were set before it began; they are first in the list. */
    struct rule *first_pending, *last_pending;
    size_t pending;
    uint64_t pass;
};

void policies_drop(struct policies *policies);

/* Adds a copy of the policy, or replaces the policy of that name. `name` must satisfy
 * policy_name_ok. A pending policy goes to the end of the pending list. O(length of the names), and
 * O(policies) for one that writes to a key. */
void policies_set(struct policies *policies, struct bytes name, const struct policy *policy);
/* Returns the policy of exactly this name, or NULL. Borrowed until the next change. */
const struct policy *policies_get(const struct policies *policies, struct bytes name);
bool policies_remove(struct policies *policies, struct bytes name); /* false if there is none */
/* Returns the policy that applies to a key, or NULL, and sets *name (unless NULL) to its name. Both
 * are borrowed until the next change. O(length of the key) */
const struct policy *policies_of(const struct policies *policies, struct bytes key,
                                 struct bytes *name);
/* As policies_of, but returns NULL at once if no policy has the option. */
static inline const struct policy *policies_with(const struct policies *policies, struct bytes key,
                                                 enum policy_option option)
{
    return policies->with[option] == 0 ? NULL : policies_of(policies, key, NULL);
}
bool policy_targets_have(const struct policy_targets *targets, struct bytes name); /* O(log n) */
/* Is the key the target of some policy's EXPIRED TO? O(log policies) */
static inline bool policies_log_to(const struct policies *policies, struct bytes key)
{
    return policies->log_targets.count > 0 && policy_targets_have(&policies->log_targets, key);
}
/* Is it the target of some policy's EXPIRED TO or MAXDELIVERIES? O(log policies) */
static inline bool policies_write_to(const struct policies *policies, struct bytes key)
{
    return policies_log_to(policies, key) ||
           (policies->dead_targets.count > 0 && policy_targets_have(&policies->dead_targets, key));
}
void policies_reset_stats(const struct policies *policies); /* O(n) */
/* Visits all policies in the order of their names; the table must not change meanwhile. O(n) */
void policies_each(const struct policies *policies,
                   void (*visit)(void *ctx, struct bytes name, const struct policy *policy),
                   void *ctx);

/* Begins a pass over the keys for all policies that are now pending. O(1) */
void policies_begin_pass(struct policies *policies);
/* Is this policy of the table pending and part of the current pass? O(1) */
bool policies_in_pass(const struct policies *policies, const struct policy *policy);
/* Returns the first pending policy of the current pass, or NULL, and sets *name (unless NULL) to
 * its name. O(1) */
const struct policy *policies_first_in_pass(const struct policies *policies, struct bytes *name);

void policies_check(const struct policies *policies);
