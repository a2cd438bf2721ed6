/* policy_args: parses the words of a policy, such as "rv:* MAXLEN 30 TTL 7d", for POLICY SET and
 * for the configuration file. */
#ifndef SERVER_CMD_KEY_POLICY_ARGS_H
#define SERVER_CMD_KEY_POLICY_ARGS_H

#include <stdbool.h>
#include <stddef.h>

#include "store/policy.h"

struct policy_fault {
    char text[512]; /* as an error reply: "ERR policy option TTL: ..." */
};

/* Parses the words; words[0] is the name. Options that they do not name are those of the policy of
 * this name in `policies`, if there is one; the keys' names are borrowed from it and from the
 * words. False: the fault says which word is wrong, and why. */
bool policy_args_read(const struct bytes *words, size_t count, const struct policies *policies,
                      struct policy *policy, struct policy_fault *fault);

#endif
