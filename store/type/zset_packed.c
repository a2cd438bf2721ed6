/* zset_packed: see zset_packed.h. */
#include "store/type/zset_packed.h"

#include <math.h>

#include "store/base/ensure.h"

/* Smaller integers take at most 7 bytes. */
#define FIRST_TOO_LARGE ((double)(INT64_C(1) << 55))

enum { FRONT_FROM = 4 /* members */ };

struct score_text {
    char data[sizeof(double)];
    uint32_t len;
};

static bool is_whole(double score)
{
    bool is_small = score >= -FIRST_TOO_LARGE && score < FIRST_TOO_LARGE;
    return is_small && (double)(int64_t)score == score && !(score == 0 && signbit(score));
}

/* Returns how many bytes the integer takes, its sign bit included: 1 to 8. With 8 it is no shorter
 * than a double. */
static uint32_t bytes_of_whole(int64_t whole)
{
    uint64_t size = (uint64_t)(whole < 0 ? ~whole : whole);
    return size < 0x80 ? 1 : (64 - (uint32_t)__builtin_clzll(size) + 1 + 7) / 8;
}

static struct score_text text_of(double score, int64_t base)
{
    struct score_text text = { .len = sizeof(score) };
    uint64_t bits;
    memcpy(&bits, &score, sizeof(bits));
    if (is_whole(score)) {
        int64_t difference = (int64_t)score - base;
        uint32_t len = bytes_of_whole(difference);
        if (len < sizeof(score)) {
            bits = (uint64_t)difference;
            text.len = len;
        }
    }
    bits = htole64(bits);
    memcpy(text.data, &bits, sizeof(bits));
    return text;
}

uint32_t zset_packed_get(const struct packed *packed, const struct zset_front *front,
                         uint32_t offset, char text[ZSET_TEXT_SIZE], struct zset_member *found)
{
    struct packed_record record;
    uint32_t next = packed_get(packed, offset, &record);
    found->member = zset_packed_member(packed, front, record.member, text);
    found->score = zset_packed_score(&record, front->base);
    found->at = record.at;
    return next;
}

/* Finds the stored form of a member. Returns false if the front does not suit the member, which is
 * then absent. */
static bool stored_form(const struct packed *packed, struct bytes member, char text[ZSET_TEXT_SIZE],
                        struct bytes *stored)
{
    *stored = member;
    if (!packed->has_front) return true;
    const struct zset_front front = zset_front_of(packed);
    return zset_front_store(&front, member, text, stored);
}

uint32_t zset_packed_find(const struct packed *packed, struct bytes member)
{
    char text[ZSET_TEXT_SIZE];
    struct bytes stored;
    return stored_form(packed, member, text, &stored) ? packed_find(packed, stored) : packed->len;
}

/* The target of a search: a score, or a score and a stored member. */
struct probe {
    bool with_member;
    bool or_equal;
    double score;
    struct bytes member;
};

static inline bool is_below(const struct packed_record *record, int64_t base,
                            const struct probe *probe)
{
    double score = zset_packed_score(record, base);
    if (score != probe->score) return score < probe->score;
    if (!probe->with_member) return probe->or_equal;
    return bytes_compare(record->member, probe->member) < 0;
}

/* Returns the number of records below the probe. *offset becomes the offset of the first record
 * that is not below it, or the end. */
static inline unsigned records_below(const struct packed *packed, const struct probe *probe,
                                     uint32_t *offset)
{
    struct packed_record record;
    unsigned below = 0;
    *offset = packed->len;
    if (packed->count == 0) return 0;
    int64_t base = zset_front_base(packed);
    /* Check the last record first: often all records are below, as for a new highest score. */
    packed_get(packed, packed->last, &record);
    if (is_below(&record, base, probe)) return packed->count;
    for (uint32_t next = 0;; below++) {
        *offset = next;
        next = packed_get(packed, next, &record);
        if (!is_below(&record, base, probe)) return below;
    }
}

size_t zset_packed_below_score(const struct packed *packed, double score, bool or_equal)
{
    uint32_t offset;
    const struct probe probe = { .or_equal = or_equal, .score = score };
    return records_below(packed, &probe, &offset);
}

/* Spells the members, because the one that is sought need not exist, and may not suit the front. */
size_t zset_packed_below_member(const struct packed *packed, struct bytes member, bool or_equal)
{
    char text[ZSET_TEXT_SIZE];
    const struct zset_front front = zset_front_of(packed);
    struct zset_member found;
    size_t below = 0;
    for (uint32_t offset = 0; offset < packed->len; below++) {
        offset = zset_packed_get(packed, &front, offset, text, &found);
        int order = bytes_compare(found.member, member);
        if (order > 0 || (order == 0 && !or_equal)) return below;
    }
    return below;
}

bool zset_packed_rank(const struct packed *packed, struct bytes member, size_t *rank)
{
    struct packed_record record;
    uint32_t offset = zset_packed_find(packed, member);
    if (offset == packed->len) return false;
    *rank = 0;
    for (uint32_t at = 0; at < offset; ++*rank)
        at = packed_get(packed, at, &record);
    return true;
}

/* Makes a copy of the set with another front, which all members must suit. Returns false if the
 * copy does not fit. */
static bool make_with_front(const struct packed *packed, const struct zset_front *front,
                            struct packed *made)
{
    char text[ZSET_TEXT_SIZE], stored[ZSET_TEXT_SIZE];
    const struct zset_front old = zset_front_of(packed);
    struct zset_member found;
    packed_init(made);
    zset_front_begin(made, front, packed->len);
    for (uint32_t offset = 0; offset < packed->len;) {
        offset = zset_packed_get(packed, &old, offset, text, &found);
        struct score_text score = text_of(found.score, front->base);
        struct packed_record record = { .value = bytes_of(score.data, score.len), .at = found.at };
        bool suits = zset_front_store(front, found.member, stored, &record.member);
        ensure(suits, "a member of %zu bytes does not suit the front", found.member.len);
        if (!packed_fits(made, &record)) {
            packed_drop(made);
            return false;
        }
        packed_insert(made, made->len, &record);
    }
    return true;
}

static void replace(struct packed *packed, struct packed *made)
{
    packed_drop(packed);
    *packed = *made;
}

/* Moves what the members have in common into a front, if they take less memory then. */
static void add_front(struct packed *packed)
{
    static const enum zset_letters from_shortest[] = { ZSET_DECIMAL, ZSET_HEX, ZSET_TEXT };
    char text[ZSET_TEXT_SIZE];
    struct packed_record first, last, record;
    struct packed made;
    packed_get(packed, 0, &first);
    packed_get(packed, packed->last, &last);
    double highest = zset_packed_score(&last, 0);
    struct zset_front front = { .base = is_whole(highest) ? (int64_t)highest : 0 };
    for (size_t i = 0; i < sizeof(from_shortest) / sizeof(from_shortest[0]); i++) {
        front.letters = from_shortest[i];
        front.prefix = zset_front_prefix(first.member, front.letters);
        bool suits = true;
        for (uint32_t offset = 0; suits && offset < packed->len;) {
            offset = packed_get(packed, offset, &record);
            suits = zset_front_store(&front, record.member, text, &record.member);
        }
        if (suits) break;
        front.prefix.len = 0;
    }
    if (!make_with_front(packed, &front, &made)) return;
    bool is_smaller = made.has_front && made.len + packed_front(&made).len + 1 < packed->len;
    if (is_smaller)
        replace(packed, &made);
    else
        packed_drop(&made);
}

/* Finds the stored form of a member with this deadline. A front that does not suit them is changed
 * first; if the records then do not fit, returns false. */
static bool suit_member(struct packed *packed, struct bytes member, msec at,
                        char text[ZSET_TEXT_SIZE], struct bytes *stored)
{
    bool suits = stored_form(packed, member, text, stored);
    if (suits && (at == NEVER || !packed->has_front)) return true;
    struct zset_front front = zset_front_of(packed);
    front.letters = ZSET_TEXT;
    if (at != NEVER) front = (struct zset_front){ .letters = ZSET_TEXT };
    if (!zset_front_store(&front, member, text, stored)) front.prefix.len = 0;
    struct packed made;
    if (!make_with_front(packed, &front, &made)) return false;
    replace(packed, &made);
    return stored_form(packed, member, text, stored);
}

/* Keeps the base near the scores. When a list receives ever higher scores and drops the lowest, its
 * scores move away from the base and take more bytes. A new score becomes the base once its
 * distance from the lowest score takes fewer bytes than that from the base. This is rare, because
 * all scores must then be above the old base. The old base stays if the records, with the one to be
 * inserted, would not fit. */
static void suit_base(struct packed *packed, struct bytes stored, double score, msec at)
{
    struct packed made;
    struct packed_record first;
    struct zset_front front = zset_front_of(packed);
    if (!is_whole(score)) return;
    int64_t whole = (int64_t)score;
    packed_get(packed, 0, &first);
    double lowest = zset_packed_score(&first, front.base);
    if (whole <= front.base || !is_whole(lowest)) return;
    if (bytes_of_whole(whole - (int64_t)lowest) >= bytes_of_whole(whole - front.base)) return;
    front.base = whole;
    if (!make_with_front(packed, &front, &made)) return;
    struct score_text value = text_of(score, whole);
    const struct packed_record record = { stored, bytes_of(value.data, value.len), at };
    if (packed_fits(&made, &record))
        replace(packed, &made);
    else
        packed_drop(&made);
}

static bool insert(struct packed *packed, struct bytes stored, double score, msec at)
{
    uint32_t offset;
    if (packed->has_front) suit_base(packed, stored, score, at);
    struct score_text value = text_of(score, zset_front_base(packed));
    const struct packed_record record = { stored, bytes_of(value.data, value.len), at };
    if (!packed_fits(packed, &record)) return false;
    const struct probe probe = { .with_member = true, .score = score, .member = stored };
    records_below(packed, &probe, &offset);
    packed_insert(packed, offset, &record);
    if (packed->count == FRONT_FROM && !packed->has_front && packed->count_expiring == 0)
        add_front(packed);
    return true;
}

bool zset_packed_add(struct packed *packed, struct bytes member, double score, msec at)
{
    char text[ZSET_TEXT_SIZE];
    struct bytes stored;
    return suit_member(packed, member, at, text, &stored) && insert(packed, stored, score, at);
}

bool zset_packed_put(struct packed *packed, struct bytes member, double score, msec at)
{
    char text[ZSET_TEXT_SIZE];
    struct bytes stored;
    struct packed_record record;
    if (!suit_member(packed, member, at, text, &stored)) return false;
    uint32_t offset = packed_find(packed, stored);
    if (offset == packed->len) return insert(packed, stored, score, at);
    packed_get(packed, offset, &record);
    /* Equal scores: 0 stays 0 if -0 is put, as in Redis. */
    if (zset_packed_score(&record, zset_front_base(packed)) == score)
        return packed_expire(packed, offset, at);

    /* Move the record to where its new score belongs. The member, which may be a view of the
     * record, is stored anew, because removing the only record also removes the front. */
    struct score_text value = text_of(score, zset_front_base(packed));
    record.value = bytes_of(value.data, value.len);
    record.at = at;
    if (!packed_fits_instead(packed, offset, &record)) return false;
    char copy[PACKED_MAX_TEXT];
    if (member.len > 0) member.data = memcpy(copy, member.data, member.len);
    packed_remove(packed, offset);
    bool fits = zset_packed_add(packed, member, score, at);
    ensure(fits, "a member of %zu bytes no longer fits", member.len);
    return true;
}

bool zset_packed_expire(struct packed *packed, struct bytes member, msec at)
{
    char text[ZSET_TEXT_SIZE];
    struct bytes stored;
    return suit_member(packed, member, at, text, &stored) &&
           packed_expire(packed, packed_find(packed, stored), at);
}

void zset_packed_check(const struct packed *packed)
{
    const struct zset_front front = zset_front_of(packed);
    char texts[2][ZSET_TEXT_SIZE];
    struct packed_record record;
    struct zset_member found, last = { .at = NEVER };
    packed_check(packed);
    ensure(!packed->has_front || packed->count_expiring == 0, "%u deadlines behind a front",
           packed->count_expiring);
    for (uint32_t offset = 0, next; offset < packed->len; offset = next, last = found) {
        bool is_odd = offset > 0 && last.member.data == texts[0];
        packed_get(packed, offset, &record);
        next = zset_packed_get(packed, &front, offset, texts[is_odd], &found);

        struct score_text score = text_of(found.score, front.base);
        char text[ZSET_TEXT_SIZE];
        struct bytes stored;
        ensure(record.value.len >= 1 && record.value.len <= sizeof(double), "score of %zu bytes",
               record.value.len);
        ensure(!isnan(found.score), "score of %zu bytes is NaN", record.value.len);
        ensure(bytes_equal(record.value, bytes_of(score.data, score.len)),
               "score %g is not canonical in %zu bytes", found.score, record.value.len);
        ensure(zset_front_store(&front, found.member, text, &stored) &&
                   bytes_equal(stored, record.member),
               "a member of %zu bytes is not canonical", found.member.len);
        if (offset == 0) continue;
        ensure(last.score < found.score ||
                   (last.score == found.score && bytes_compare(last.member, found.member) < 0),
               "score %g comes after %g at %u", found.score, last.score, offset);
    }
}
