/* number_text: conversions without allocation; only scores that are not integers go through libc.
 */
#include "proto/rdb/number_text.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_SCORE_TEXT = 128 };

size_t rdb_print_integer(char *to, int64_t value)
{
    char digits[RDB_INTEGER_CHARS];
    size_t count = 0, len = 0;
    uint64_t rest = value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
    do {
        digits[count++] = (char)('0' + rest % 10);
        rest /= 10;
    } while (rest > 0);
    if (value < 0) to[len++] = '-';
    while (count > 0)
        to[len++] = digits[--count];
    return len;
}

bool rdb_parse_integer(struct rdb_bytes text, int64_t *value)
{
    const char *at = text.data, *end = text.data + text.len;
    if (text.len == 0 || text.len > RDB_INTEGER_CHARS) return false;
    bool negative = *at == '-';
    uint64_t limit = negative ? UINT64_C(1) << 63 : INT64_MAX, rest = 0;
    if (negative) at++;
    if (at == end || (*at == '0' && text.len > 1)) return false;
    for (; at < end; at++) {
        if (*at < '0' || *at > '9') return false;
        uint64_t digit = (uint64_t)(*at - '0');
        if (rest > (limit - digit) / 10) return false;
        rest = rest * 10 + digit;
    }
    *value = (int64_t)(negative ? 0 - rest : rest);
    return true;
}

size_t rdb_print_score(char *to, double value)
{
    /* Half the range of int64, so that the conversion cannot overflow. Minus zero would lose its
     * sign as an integer. */
    bool minus_zero = value == 0 && signbit(value);
    if (!minus_zero && value > -4611686018427387904.0 && value < 4611686018427387904.0 &&
        value == trunc(value))
        return rdb_print_integer(to, (int64_t)value);
    if (isinf(value)) {
        const char *word = value > 0 ? "inf" : "-inf";
        memcpy(to, word, strlen(word));
        return strlen(word);
    }
    return (size_t)snprintf(to, RDB_SCORE_CHARS, "%.17g", value);
}

bool rdb_parse_score(struct rdb_bytes text, double *value)
{
    char copy[MAX_SCORE_TEXT + 1], *end;
    if (text.len == 0 || text.len > MAX_SCORE_TEXT) return false;
    memcpy(copy, text.data, text.len);
    copy[text.len] = '\0';
    /* strtod would skip leading spaces. */
    if (strchr("+-.0123456789iI", copy[0]) == NULL || copy[0] == '\0') return false;
    *value = strtod(copy, &end);
    return end == copy + text.len && !isnan(*value);
}
