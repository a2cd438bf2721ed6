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
    char text[512]; /* as an error reply: "ERR TTL: 'x' is not a duration..." */
};

/* Parses the words; words[0] is the name. If `policies` has a policy of this name, it provides the
 * options that the words leave out. Names of keys are borrowed from that policy and from the words.
 * False: the fault says which word is invalid, and why. */
bool policy_args_read(const struct bytes *words, size_t count, const struct policies *policies,
                      struct policy *policy, struct policy_fault *fault);

#endif
