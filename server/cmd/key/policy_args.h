/* policy_args: parses the words of a policy, such as "rv:* MAXLEN 30 TTL 7d", for POLICY SET, the
 * configuration file and the module. It also puts the errors of store/policy into words. */
#pragma once

#include "store/policy/policies.h"

struct policy_refusal {
    char text[512]; /* as an error reply: "ERR TTL: 'x' is not a duration..." */
};

/* Parses the words, the first of which is the policy's name, as policy_read does (store/policy).
 * Returns false with the error in `refusal`. */
bool policy_args_read(const struct bytes *words, size_t count, const struct policies *policies,
                      struct policy *policy, struct policy_refusal *refusal);
