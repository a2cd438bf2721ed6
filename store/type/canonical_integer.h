/* canonical_integer: tests whether a text is the canonical form of an integer. Redis' encodings
 * "int" and "intset" exist only for such texts, because the text must be recoverable from the
 * number. */
#pragma once

#include "store/base/bytes.h"

/* Is it the canonical decimal of an int64: no plus, no leading zeros, no "-0"? */
static inline bool is_canonical_integer(struct bytes text)
{
    bool negative = text.len > 0 && text.data[0] == '-';
    size_t i = negative ? 1 : 0;
    if (text.len == i || text.len > sizeof("-9223372036854775808") - 1) return false;
    if (text.data[i] == '0') return text.len == 1;
    uint64_t value = 0;
    for (; i < text.len; i++) {
        if (text.data[i] < '0' || text.data[i] > '9') return false;
        if (__builtin_mul_overflow(value, (uint64_t)10, &value)) return false;
        if (__builtin_add_overflow(value, (uint64_t)(text.data[i] - '0'), &value)) return false;
    }
    return value <= (uint64_t)INT64_MAX + (negative ? 1 : 0);
}
