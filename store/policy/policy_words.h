/* policy_words: reads policies from words, and writes them as words. There are two forms: users
 * write the first in POLICY SET and the configuration; the server writes the second to data files
 * and replicas. The rows of policy_rows.h define the options of both. The first form also has NONE
 * and units, the second PENDING. */
#pragma once

#include "store/base/bytes.h"
#include "store/policy/policies.h"

/* ---- words of users -------------------------------------------------------------------------- */

enum policy_error {
    POLICY_BAD_NAME, /* policy_name_ok refuses `word` */
    POLICY_EMPTY,    /* no option would be left; `text` lists those of which one is needed */
    POLICY_UNKNOWN,  /* `word` is no option */
    POLICY_TWICE,    /* `name` is there twice */
    POLICY_NEEDS,    /* `name` needs `text` */
    POLICY_BAD,      /* `word`, the value of `name`, is not `text` */
    POLICY_BAD_KEY,  /* the key of `name` has no bytes or more than POLICY_NAME_MAX */
    POLICY_OWN_KEY,  /* a policy of one key would write to that key */
    POLICY_ALONE,    /* `name` requires the option or one of the options `text` */
    POLICY_TTL_LONG, /* TTL is longer than MAXTTL */
};

struct policy_fault {
    enum policy_error error;
    const char *name;  /* name of an option or a part */
    struct bytes word; /* borrowed from the words */
    char text[256];
};

/* Parses the words of POLICY SET; words[0] is the name. Options that the words leave out are copied
 * from the policy of this name in `policies`, if there is one. Names of keys are borrowed from that
 * policy and from the words. Returns false if a word is invalid, or if the options do not agree
 * with one another; `fault` then contains the reason, and the word if there is one. */
bool policy_read(const struct bytes *words, size_t count, const struct policies *policies,
                 struct policy *policy, struct policy_fault *fault);

/* ---- words of the server ----------------------------------------------------------------------
 *
 * These are the words of POLICY SET for all options of the policy, in the order of the rows and
 * with plain decimal numbers, so that equal policies have equal words. PENDING 1 follows if the
 * policy is pending. An example:
 *
 *     TTL 60000 JITTER 10 PENDING 1 */

enum { POLICY_WORDS_MAX = 64, POLICY_NUMBERS_MAX = 32 };

struct policy_words {
    struct bytes words[POLICY_WORDS_MAX]; /* borrowed from the policy and from this struct */
    size_t count;
    /* private */
    char numbers[POLICY_NUMBERS_MAX][24];
    size_t number_count;
};

void policy_words_write(struct policy_words *to, const struct policy *policy);
/* Parses words that policy_words_write wrote, and returns false for all others. Names of keys are
 * borrowed from `words`. */
bool policy_words_parse(const struct bytes *words, size_t count, struct policy *policy);
