/* policy_words: the options of a policy as the words of POLICY SET, for effect_text. Only options
 * that differ from the defaults, in one order, with numbers in plain decimal. */
#ifndef SERVER_DISK_EFFECT_POLICY_WORDS_H
#define SERVER_DISK_EFFECT_POLICY_WORDS_H

#include <stdbool.h>
#include <stddef.h>

#include "store/base/bytes.h"
#include "store/policy/policy.h"

enum { POLICY_WORDS_MAX = 32, POLICY_NUMBERS_MAX = 10 };

struct policy_words {
    struct bytes words[POLICY_WORDS_MAX]; /* borrowed from the policy and from this struct */
    size_t count;
    /* private */
    char numbers[POLICY_NUMBERS_MAX][24];
    size_t number_count;
};

void policy_words_write(struct policy_words *to, const struct policy *policy);
/* False: policy_words_write would not write these words. The names of keys borrow from them. */
bool policy_words_parse(const struct bytes *words, size_t count, struct policy *policy);

#endif
