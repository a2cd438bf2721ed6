/* policy_args: parses the words of a policy, such as "rv:* MAXLEN 30 TTL 7d", for POLICY SET, the
 * configuration file and the module. It also puts the errors of store/policy into words. */
#pragma once

#include "store/policy/policies.h"

struct policy_refusal {
    char text[512]; /* as an error reply: "ERR TTL: 'x' is not a duration..." */
};

/* As policy_read. Returns false after setting the refusal's error. */
bool policy_args_read(const struct bytes *words, size_t count, const struct policies *policies,
                      struct policy *policy, struct policy_refusal *refusal);
