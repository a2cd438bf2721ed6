/* policy_args: parses the words of a policy, such as "rv:* MAXLEN 30 TTL 7d", for POLICY SET and
 * for the configuration file.
 *
 * Folder server/cmd/key: commands on keys of any type: DEL, RENAME, TYPE (key), EXPIRE and TTL
 * (key_expire), SCAN, KEYS, DBSIZE (key_scan), COPY, MOVE, SWAPDB (key_copy), DUMP and RESTORE
 * (dump), SORT, OBJECT and POLICY. policy_args is shared with the configuration file and the
 * module. Start with key.c. */
#ifndef SERVER_CMD_KEY_POLICY_ARGS_H
#define SERVER_CMD_KEY_POLICY_ARGS_H

#include <stdbool.h>
#include <stddef.h>

#include "store/policy/policy.h"

struct policy_fault {
    char text[512]; /* as an error reply: "ERR policy option TTL: ..." */
};

/* Parses the words; words[0] is the name. Options that they do not name are those of the policy of
 * this name in `policies`, if there is one; the keys' names are borrowed from it and from the
 * words. False: the fault says which word is wrong, and why. */
bool policy_args_read(const struct bytes *words, size_t count, const struct policies *policies,
                      struct policy *policy, struct policy_fault *fault);

#endif
