/* zset_packed: see zset_packed.h. */
#include "store/type/zset_packed.h"

#include <math.h>
#include <string.h>

#include "store/base/ensure.h"

/* Smaller integers take at most 7 bytes. */
#define FIRST_TOO_LARGE ((double)(INT64_C(1) << 55))

/* ---- scores --------------------------------------------------------------------------------- */

struct score_text {
    char data[sizeof(double)];
    uint32_t len;
};

static struct score_text text_of(double score)
{
    struct score_text text = { .len = sizeof(score) };
    uint64_t bits;
    memcpy(&bits, &score, sizeof(bits));
    bool is_small = score >= -FIRST_TOO_LARGE && score < FIRST_TOO_LARGE;
    int64_t whole = is_small ? (int64_t)score : 0;
    if (is_small && (double)whole == score && !(whole == 0 && signbit(score))) {
        uint64_t size = (uint64_t)(whole < 0 ? ~whole : whole);
        bits = (uint64_t)whole;
        /* the bytes that hold the bits of the number and its sign */
        text.len = size < 0x80 ? 1 : (64 - (uint32_t)__builtin_clzll(size) + 1 + 7) / 8;
    }
    bits = htole64(bits);
    memcpy(text.data, &bits, sizeof(bits));
    return text;
}

/* ---- order ---------------------------------------------------------------------------------- */

/* The target of a search: a (score, member) pair, or only one of the two. */
struct probe {
    enum { BY_BOTH, BY_SCORE, BY_MEMBER } by;
    bool or_equal;
    double score;
    struct bytes member;
};

/* Is the record below the probe (or equal, if or_equal)? */
static inline bool is_below(const struct packed_record *record, const struct probe *probe)
{
    if (probe->by != BY_MEMBER) {
        double score = zset_packed_score(record);
        if (score != probe->score) return score < probe->score;
        if (probe->by == BY_SCORE) return probe->or_equal;
    }
    int order = bytes_compare(record->member, probe->member);
    return order < 0 || (order == 0 && probe->or_equal);
}

/* The number of records below the probe, and the place of the first that is not. */
static inline unsigned records_below(const struct packed *packed, const struct probe *probe,
                                     uint32_t *place)
{
    struct packed_record record;
    unsigned below = 0;
    *place = packed->len;
    if (packed->count == 0) return 0;
    /* Check the last record first: often all are below, as with a new highest score. */
    packed_get(packed, packed->last, &record);
    if (is_below(&record, probe)) return packed->count;
    for (uint32_t next = 0;; below++) {
        *place = next;
        next = packed_get(packed, next, &record);
        if (!is_below(&record, probe)) return below;
    }
}

size_t zset_packed_below_score(const struct packed *packed, double score, bool or_equal)
{
    uint32_t place;
    const struct probe probe = { .by = BY_SCORE, .or_equal = or_equal, .score = score };
    return records_below(packed, &probe, &place);
}

size_t zset_packed_below_member(const struct packed *packed, struct bytes member, bool or_equal)
{
    uint32_t place;
    const struct probe probe = { .by = BY_MEMBER, .or_equal = or_equal, .member = member };
    return records_below(packed, &probe, &place);
}

bool zset_packed_rank(const struct packed *packed, struct bytes member, size_t *rank)
{
    struct packed_record record;
    uint32_t place = packed_find(packed, member);
    if (place == packed->len) return false;
    *rank = 0;
    for (uint32_t at = 0; at < place; ++*rank)
        at = packed_get(packed, at, &record);
    return true;
}

/* ---- changes -------------------------------------------------------------------------------- */

static void insert_in_order(struct packed *packed, const struct packed_record *record, double score)
{
    uint32_t place;
    const struct probe probe = { .by = BY_BOTH, .score = score, .member = record->member };
    records_below(packed, &probe, &place);
    packed_insert(packed, place, record);
}

bool zset_packed_add(struct packed *packed, struct bytes member, double score, msec at)
{
    struct score_text text = text_of(score);
    const struct packed_record record = { member, bytes_of(text.data, text.len), at };
    if (!packed_fits(packed, &record)) return false;
    insert_in_order(packed, &record, score);
    return true;
}

/* Moves a record to the place of its new score. `member` may point into the packed records. */
static bool move_record(struct packed *packed, uint32_t place, struct bytes member, double score,
                        msec at)
{
    char kept[PACKED_MAX_PART];
    struct score_text text = text_of(score);
    struct packed_record record = { member, bytes_of(text.data, text.len), at };
    if (!packed_fits_instead(packed, place, &record)) return false;
    if (member.len > 0) record.member.data = memcpy(kept, member.data, member.len);
    packed_remove(packed, place);
    insert_in_order(packed, &record, score);
    return true;
}

bool zset_packed_put(struct packed *packed, struct bytes member, double score, msec at)
{
    struct packed_record old;
    uint32_t place = packed_find(packed, member);
    if (place == packed->len) return zset_packed_add(packed, member, score, at);
    packed_get(packed, place, &old);
    if (zset_packed_score(&old) != score) return move_record(packed, place, member, score, at);
    return packed_expire(packed, place, at); /* equal scores: 0 stays 0 if -0 is put, as in Redis */
}

/* ---- self-check ----------------------------------------------------------------------------- */

void zset_packed_check(const struct packed *packed)
{
    struct packed_record record, last = { .at = NEVER };
    packed_check(packed);
    for (uint32_t place = 0, next; place < packed->len; place = next, last = record) {
        next = packed_get(packed, place, &record);
        ensure(record.value.len >= 1 && record.value.len <= sizeof(double), "score of %zu bytes",
               record.value.len);
        double score = zset_packed_score(&record);
        struct score_text text = text_of(score);
        ensure(!isnan(score), "score of %zu bytes is NaN", record.value.len);
        ensure(bytes_equal(record.value, bytes_of(text.data, text.len)),
               "score %g is not canonical in %zu bytes", score, record.value.len);
        if (place == 0) continue;
        double below = zset_packed_score(&last);
        ensure(below < score || (below == score && bytes_compare(last.member, record.member) < 0),
               "score %g comes after %g at %u", score, below, place);
    }
}
