/* policy_targets: the keys that policies write to (EXPIRED TO or MAXDELIVERIES), each with the
 * number of policies that do so. The names are sorted, so a look-up costs O(log n). */
#pragma once

#include "store/base/bytes.h"

struct policy_target;

/* The sorted names. All zero if empty. */
struct policy_targets {
    struct policy_target *names;
    size_t count, cap;
    size_t bytes; /* memory */
};

void policy_targets_drop(struct policy_targets *targets);
void policy_targets_add(struct policy_targets *targets, struct bytes name); /* O(n) */
/* Subtracts one from the number of policies of a name, which must be there. The last one removes
 * the name. O(n) */
void policy_targets_remove(struct policy_targets *targets, struct bytes name);
bool policy_targets_have(const struct policy_targets *targets, struct bytes name); /* O(log n) */
void policy_targets_check(const struct policy_targets *targets);
