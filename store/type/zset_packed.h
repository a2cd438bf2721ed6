/* zset_packed: the small form of a sorted set: packed records in (score, member) order.
 *
 * A record's value is the score minus the base of the front (0 without a front):
 *
 *     bytes     content
 *     1 to 7    an integer, in the fewest bytes of two's complement, little endian
 *     8         any other score (a fraction, a larger number, an infinity, -0): the score itself,
 *               not the difference, as a double, little endian
 *
 * A front (zset_front.h) is added with the fourth member, if no member has a deadline and that
 * saves memory; for fewer members it rarely does. With a front, a list of the 30 latest ids, with
 * times as scores, takes about 60% of the memory. If a new member does not suit the front, all are
 * stored as text, and without the prefix if the new member lacks it. Setting a deadline removes the
 * front, because code that visits deadlines reads members from the records. */
#pragma once

#include "store/base/bytes.h"
#include "store/struct/packed.h"
#include "store/type/zset_front.h"

/* Returns a record's score without a loop: integers of 4 to 7 bytes are read as two overlapping
 * halves, shorter ones as three bytes, some of which may be the same. Never reads outside the
 * value. */
static inline double zset_packed_score(const struct packed_record *record, int64_t base)
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
        int64_t above = (int64_t)(int32_t)le32toh(high) * (1 << 8 * (len - sizeof(high)));
        return (double)(base + (above | le32toh(low)));
    }
    return (double)(base + ((int8_t)p[len - 1] * (1 << 8 * (len - 1)) |
                            (unsigned char)p[len / 2] << 8 * (len / 2) | (unsigned char)p[0]));
}

/* Returns the member that a record stores; a view of the record, or of `text`. */
static inline struct bytes zset_packed_member(const struct packed *packed,
                                              const struct zset_front *front, struct bytes stored,
                                              char text[ZSET_TEXT_SIZE])
{
    return packed->has_front ? zset_front_spell(front, stored, packed->data + packed->len, text)
                             : stored;
}

struct zset_member {
    struct bytes member; /* a view of the records, or of `text` */
    double score;
    msec at;
};

/* Reads the record at an offset, and returns the next offset. `front` is that of the records
 * (zset_front_of). */
uint32_t zset_packed_get(const struct packed *packed, const struct zset_front *front,
                         uint32_t offset, char text[ZSET_TEXT_SIZE], struct zset_member *found);
/* Returns the member's offset, or len if it is absent. O(bytes) */
uint32_t zset_packed_find(const struct packed *packed, struct bytes member);

/* As zset_put, zset_expire, zset_rank, zset_below_score and zset_below_member. Put, add and expire
 * return false if the result does not fit; the members then are as before, but the front may have
 * changed. */
bool zset_packed_put(struct packed *packed, struct bytes member, double score, msec at);
/* The member must be there. */
bool zset_packed_expire(struct packed *packed, struct bytes member, msec at);
bool zset_packed_rank(const struct packed *packed, struct bytes member, size_t *rank);
size_t zset_packed_below_score(const struct packed *packed, double score, bool or_equal);
size_t zset_packed_below_member(const struct packed *packed, struct bytes member, bool or_equal);
/* As zset_packed_put, for a member that must be absent. */
bool zset_packed_add(struct packed *packed, struct bytes member, double score, msec at);
void zset_packed_check(const struct packed *packed);
