/* zset_packed: scores take as few bytes as possible and keep their exact values. */
#include "store/type/zset_packed.h"

#include <math.h>
#include <stdio.h>

#include "tests/support/rng.h"
#include "tests/support/suite.h"

static void add(struct packed *packed, int n, double score)
{
    char text[16];
    int len = snprintf(text, sizeof(text), "%d", n);
    ck_assert(zset_packed_add(packed, bytes_of(text, (size_t)len), score, NEVER));
}

static void assert_same_double(double found, double score)
{
    ck_assert_msg(memcmp(&found, &score, sizeof(score)) == 0, "%.17g became %.17g", score, found);
}

/* The number of bytes that this score takes. Checks that it is read back exactly. */
static size_t bytes_of_score(double score)
{
    struct packed packed;
    struct packed_record record;
    packed_init(&packed);
    ck_assert(zset_packed_put(&packed, LIT("m"), score, NEVER));
    zset_packed_check(&packed);
    packed_get(&packed, 0, &record);
    assert_same_double(zset_packed_score(&record, 0), score);
    size_t len = record.value.len;
    packed_drop(&packed);
    return len;
}

START_TEST(integer_score_takes_fewest_bytes)
{
    ck_assert_uint_eq(bytes_of_score(0), 1);
    ck_assert_uint_eq(bytes_of_score(1), 1);
    ck_assert_uint_eq(bytes_of_score(-1), 1);
    for (unsigned size = 1; size <= 7; size++) {
        double first_wider = ldexp(1, (int)(8 * size - 1)), one = size == 7 ? 4 : 1;
        ck_assert_uint_eq(bytes_of_score(first_wider - one), size);
        ck_assert_uint_eq(bytes_of_score(first_wider), size + 1);
        ck_assert_uint_eq(bytes_of_score(-first_wider), size);
        ck_assert_uint_eq(bytes_of_score(-first_wider - 2 * one), size + 1);
    }
    ck_assert_uint_eq(bytes_of_score(1700000000), 4);
    ck_assert_uint_eq(bytes_of_score(1700000000123), 6);
    ck_assert_uint_eq(bytes_of_score(0x1p53), 7);
    ck_assert_uint_eq(bytes_of_score(-0x1p53), 7);
}
END_TEST

START_TEST(other_scores_take_eight_bytes)
{
    static const double others[] = {
        -0.0,    0.5,    -0.5,  5e-324, 1700000000.5,     0x1p53 / 3,       0x1p63,
        -0x1p63, 0x1p64, 1e300, -1e300, (double)INFINITY, -(double)INFINITY
    };
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
        ck_assert_uint_eq(bytes_of_score(others[i]), 8);
}
END_TEST

static double draw_score(struct rng *rng)
{
    double whole = (double)((int64_t)rng_next(rng) >> rng_below(rng, 64));
    switch (rng_below(rng, 4)) {
    case 0: return whole / 8;
    case 1: return rng_chance(rng, 50) ? 0.0 : -0.0;
    default: return whole;
    }
}

/* Scores of all widths beside each other. */
START_TEST(scores_of_all_widths_round_trip_in_order)
{
    struct rng rng;
    rng_init(&rng, test_seed());
    for (int round = 0; round < 200; round++) {
        struct packed packed;
        double scores[PACKED_MAX_COUNT];
        packed_init(&packed);
        for (int n = 0; n < PACKED_MAX_COUNT; n++) {
            scores[n] = draw_score(&rng);
            add(&packed, n, scores[n]);
        }
        zset_packed_check(&packed);
        for (int n = 0; n < PACKED_MAX_COUNT; n++) {
            char text[16];
            char spelled[ZSET_TEXT_SIZE];
            const struct zset_front front = zset_front_of(&packed);
            struct zset_member found;
            size_t below = 0, rank;
            struct bytes member = bytes_of(text, (size_t)snprintf(text, sizeof(text), "%d", n));
            zset_packed_get(&packed, &front, zset_packed_find(&packed, member), spelled, &found);
            ck_assert(bytes_equal(found.member, member));
            assert_same_double(found.score, scores[n]);
            for (int other = 0; other < PACKED_MAX_COUNT; other++)
                below += scores[other] < scores[n];
            ck_assert_uint_eq(zset_packed_below_score(&packed, scores[n], false), below);
            ck_assert(zset_packed_rank(&packed, member, &rank));
            ck_assert_uint_ge(rank, below);
        }
        packed_drop(&packed);
    }
}
END_TEST

START_TEST(failed_put_changes_no_member)
{
    static const char text[PACKED_MAX_TEXT + 1];
    struct packed packed;
    packed_init(&packed);
    for (int n = 0; n < PACKED_MAX_COUNT; n++)
        add(&packed, n, n);
    ck_assert(!zset_packed_add(&packed, LIT("more"), 1, NEVER));
    ck_assert(!zset_packed_put(&packed, LIT("more"), 1, NEVER));
    ck_assert(!zset_packed_put(&packed, bytes_of(text, sizeof(text)), 1, NEVER));
    ck_assert_uint_eq(packed.count, PACKED_MAX_COUNT);
    for (int n = 0; n < PACKED_MAX_COUNT; n++) {
        char name[16];
        size_t rank;
        struct bytes member = bytes_of(name, (size_t)snprintf(name, sizeof(name), "%d", n));
        ck_assert(zset_packed_rank(&packed, member, &rank));
        ck_assert_uint_eq(rank, (size_t)n);
    }
    ck_assert(zset_packed_put(&packed, LIT("7"), 100, NEVER));
    ck_assert_uint_eq(zset_packed_find(&packed, LIT("7")), packed.last);
    zset_packed_check(&packed);
    packed_drop(&packed);
}
END_TEST

static struct bytes long_name(char text[128], int n, size_t len)
{
    memset(text, 'q', len);
    snprintf(text, 128, "prefix:z%03d", n);
    text[strlen("prefix:z000")] = 'q';
    return bytes_of(text, len);
}

/* The scores move from the base to one above it, so that a score far from it makes a new base. That
 * adds a byte to each other member: some records then fit only with the old base. */
START_TEST(moved_member_fits_with_old_or_new_base)
{
    enum { FULL = 50, SHORT = 43 };
    for (size_t more = 1; more < 64; more++) {
        struct packed packed;
        char text[128];
        packed_init(&packed);
        for (int n = 0; n < 4; n++)
            ck_assert(zset_packed_put(&packed, long_name(text, n, SHORT), 0, NEVER));
        for (int n = 0; n < FULL; n++)
            ck_assert(zset_packed_put(&packed, long_name(text, n, SHORT), 1, NEVER));
        struct bytes moved = long_name(text, FULL, SHORT + more);
        bool fits = zset_packed_put(&packed, moved, 1, NEVER);
        if (fits && zset_packed_put(&packed, moved, 32768, NEVER))
            ck_assert_uint_eq(zset_packed_find(&packed, moved), packed.last);
        ck_assert_uint_eq(packed.count, FULL + fits);
        zset_packed_check(&packed);
        packed_drop(&packed);
    }
}
END_TEST

/* Bytes of the records of a list of the 30 latest: one is added and the oldest removed, often. */
static uint32_t bytes_of_list(const char *format, double first_time, double between)
{
    struct packed packed;
    uint32_t most = 0;
    packed_init(&packed);
    for (int n = 0; n < 3000; n++) {
        char text[32];
        int len =
            snprintf(text, sizeof(text), format, (unsigned)n * 2654435761u % 900000000 + 100000000);
        ck_assert(
            zset_packed_add(&packed, bytes_of(text, (size_t)len), first_time + n * between, NEVER));
        if (packed.count > 30) packed_remove(&packed, 0);
        if (packed.count == 30 && packed.len > most) most = packed.len;
        if (n % 100 == 0) zset_packed_check(&packed);
    }
    packed_drop(&packed);
    return most;
}

START_TEST(recent_ids_take_half_bytes_and_distances_in_time)
{
    /* a head, five bytes of digits, the time since the base in milliseconds or seconds */
    ck_assert_uint_le(bytes_of_list("%u", 1790000000000, 20000), 30 * (1 + 5 + 3));
    ck_assert_uint_le(bytes_of_list("%u", 1790000000, 20), 30 * (1 + 5 + 2));
    ck_assert_uint_le(bytes_of_list("item:%u", 1790000000000, 20000), 30 * (1 + 5 + 3));
    ck_assert_uint_le(bytes_of_list("%08x", 1790000000000, 20000), 30 * (1 + 4 + 3));
    ck_assert_uint_le(bytes_of_list("name %u of it", 1790000000000, 20000), 30 * (2 + 20 + 3));
}
END_TEST

Suite *test_suite(void)
{
    const TTest *const tests[] = {
        integer_score_takes_fewest_bytes,
        other_scores_take_eight_bytes,
        scores_of_all_widths_round_trip_in_order,
        failed_put_changes_no_member,
        moved_member_fits_with_old_or_new_base,
        recent_ids_take_half_bytes_and_distances_in_time,
        NULL,
    };
    return suite_of("zset_packed", tests);
}
