/* policy_args: parses the words of a policy, such as "rv:* MAXLEN 30 TTL 7d", for POLICY SET and
 * for the configuration file. */
#ifndef SERVER_CMD_KEY_POLICY_ARGS_H
#define SERVER_CMD_KEY_POLICY_ARGS_H

#include <stdbool.h>
#include <stddef.h>

#include "store/policy/policy.h"

struct policy_fault {
    char text[512]; /* as an error reply: "ERR TTL: 'x' is not a duration..." */
};

/* Parses the words; words[0] is the name. If `policies` has a policy of this name, it provides the
 * options that the words leave out. Names of keys are borrowed from that policy and from the words.
 * False: the fault says which word is invalid, and why. */
bool policy_args_read(const struct bytes *words, size_t count, const struct policies *policies,
                      struct policy *policy, struct policy_fault *fault);

#endif
