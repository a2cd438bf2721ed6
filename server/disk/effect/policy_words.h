/* policy_words: converts the options of a policy to the words of POLICY SET and back, for
 * effect_text. Writes only options that differ from the defaults, in a fixed order, with plain
 * decimal numbers, so that equal policies have equal words. */
#ifndef SERVER_DISK_EFFECT_POLICY_WORDS_H
#define SERVER_DISK_EFFECT_POLICY_WORDS_H

#include <stdbool.h>
#include <stddef.h>

#include "store/base/bytes.h"
#include "store/policy/policy.h"

enum { POLICY_WORDS_MAX = 40, POLICY_NUMBERS_MAX = 16 };

struct policy_words {
    struct bytes words[POLICY_WORDS_MAX]; /* borrowed from the policy and from this struct */
    size_t count;
    /* private */
    char numbers[POLICY_NUMBERS_MAX][24];
    size_t number_count;
};

void policy_words_write(struct policy_words *to, const struct policy *policy);
/* False: policy_words_write would not write these words. Key names are borrowed from `words`. */
bool policy_words_parse(const struct bytes *words, size_t count, struct policy *policy);

#endif
