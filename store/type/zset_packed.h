/* zset_packed: the small form of a sorted set: packed records in (score, member) order.
 *
 * A record's value is the score. An integer is stored in the fewest bytes of two's complement, 1 to
 * 7, little endian. Anything else (fractions, larger numbers, infinities, -0) is stored as the 8
 * bytes of the double, little endian. */
#ifndef STORE_TYPE_ZSET_PACKED_H
#define STORE_TYPE_ZSET_PACKED_H

#include <stdbool.h>
#include <stddef.h>

#include "store/base/bytes.h"
#include "store/struct/packed.h"

/* Without a loop: integers of 4 to 7 bytes are read as two overlapping halves, shorter ones as
 * three bytes, some of which may be the same. Never reads outside the value. */
static inline double zset_packed_score(const struct packed_record *record)
{
    const char *p = record->value.data;
    unsigned len = (unsigned)record->value.len;
    if (len == sizeof(double)) {
        uint64_t bits;
        double score;
        memcpy(&bits, p, sizeof(bits));
        bits = le64toh(bits);
        memcpy(&score, &bits, sizeof(score));
        return score;
    }
    if (len >= sizeof(uint32_t)) {
        uint32_t low, high;
        memcpy(&low, p, sizeof(low));
        memcpy(&high, p + len - sizeof(high), sizeof(high));
        return (double)((int64_t)(int32_t)le32toh(high) * (1 << 8 * (len - sizeof(high))) |
                        le32toh(low));
    }
    return (double)((int8_t)p[len - 1] * (1 << 8 * (len - 1)) |
                    (unsigned char)p[len / 2] << 8 * (len / 2) | (unsigned char)p[0]);
}

/* As zset_put, zset_rank and zset_below_score or _member. zset_packed_put returns false, and
 * changes nothing, if the record does not fit. */
bool zset_packed_put(struct packed *packed, struct bytes member, double score, msec at);
bool zset_packed_rank(const struct packed *packed, struct bytes member, size_t *rank);
size_t zset_packed_below_score(const struct packed *packed, double score, bool or_equal);
size_t zset_packed_below_member(const struct packed *packed, struct bytes member, bool or_equal);
/* The same as put for a member that must be absent. */
bool zset_packed_add(struct packed *packed, struct bytes member, double score, msec at);
void zset_packed_check(const struct packed *packed);

#endif
