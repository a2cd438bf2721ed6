/* geo_found: the members that a search finds, and their order. */
#include "server/cmd/geo/geo_found.h"

#include <check.h>
#include <math.h>
#include <stdlib.h>

#include "store/mem/mem.h"
#include "tests/support/rng.h"
#include "tests/support/suite.h"

/* ---- order ----------------------------------------------------------------------------------- */

static struct geo_found distances(const double *values, size_t count)
{
    struct geo_found found = { .matches = mem_zalloc(count * sizeof(*found.matches)),
                               .count = count,
                               .cap = count };
    for (size_t i = 0; i < count; i++) {
        found.matches[i].distance = values[i];
        found.matches[i].turn = i;
    }
    return found;
}

static int ascending(const void *a, const void *b)
{
    const double *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

static void has_each_turn_once(const struct geo_found *found)
{
    bool *seen = mem_zalloc(found->count * sizeof(*seen));
    for (size_t i = 0; i < found->count; i++) {
        ck_assert(!seen[found->matches[i].turn]);
        seen[found->matches[i].turn] = true;
    }
    mem_free(seen);
}

/* Sorts matches with these distances, and the distances themselves. */
static void check_sort(double *values, size_t count, size_t wanted, bool farthest_first)
{
    struct geo_found found = distances(values, count);
    geo_found_sort(&found, wanted, farthest_first);
    qsort(values, count, sizeof(*values), ascending);
    for (size_t i = 0; i < wanted; i++)
        ck_assert_double_eq(found.matches[i].distance, values[farthest_first ? count - 1 - i : i]);
    has_each_turn_once(&found);
    geo_found_drop(&found);
}

START_TEST(the_first_few_are_the_first_of_all_in_order)
{
    struct rng rng;
    double values[300];
    rng_init(&rng, test_seed());
    for (int round = 0; round < 3000; round++) {
        size_t count = 1 + rng_below(&rng, sizeof(values) / sizeof(values[0]));
        uint64_t different = 1 + rng_below(&rng, rng_chance(&rng, 50) ? 5 : 1000);
        for (size_t i = 0; i < count; i++)
            values[i] = (double)rng_below(&rng, different);
        check_sort(values, count, 1 + rng_below(&rng, count), rng_chance(&rng, 50));
    }
}
END_TEST

START_TEST(sorted_and_reversed_input_is_sorted_fast)
{
    enum { COUNT = 20000 };
    double *values = mem_alloc(COUNT * sizeof(*values));
    for (int shape = 0; shape < 4; shape++) {
        for (int i = 0; i < COUNT; i++) {
            int pipe = i < COUNT / 2 ? i : COUNT - i;
            values[i] = (double)(int[]){ i, -i, pipe, 7 }[shape];
        }
        check_sort(values, COUNT, COUNT / 2, false);
        check_sort(values, COUNT, COUNT / 3, true);
    }
    mem_free(values);
}
END_TEST

START_TEST(equal_distances_stay_as_found_when_all_are_wanted)
{
    double values[100];
    for (int i = 0; i < 100; i++)
        values[i] = i % 3;
    for (int farthest = 0; farthest < 2; farthest++) {
        struct geo_found found = distances(values, 100);
        geo_found_sort(&found, 100, farthest != 0);
        for (size_t i = 1; i < 100; i++)
            if (found.matches[i - 1].distance == found.matches[i].distance)
                ck_assert_uint_lt(found.matches[i - 1].turn, found.matches[i].turn);
        geo_found_drop(&found);
    }
}
END_TEST

/* ---- finding --------------------------------------------------------------------------------- */

enum { PLACES = 500 };

static double uniform(struct rng *rng, double low, double high)
{
    return low + (high - low) * (double)rng_below(rng, UINT64_C(1) << 40) / 0x1p40;
}

static struct zset *points_around(struct rng *rng, struct geo_point center)
{
    struct zset *zset = zset_new();
    for (size_t i = 0; i < PLACES; i++) {
        struct geo_point point = { remainder(center.longitude + uniform(rng, -9, 9), 360),
                                   center.latitude + uniform(rng, -5, 5) };
        zset_put(zset, bytes_of((const char *)&i, sizeof(i)), (double)geohash_encode(point), NEVER);
    }
    return zset;
}

static size_t count_within(const struct zset *zset, const struct geo_shape *shape)
{
    struct zset_iter iter;
    struct bytes member;
    double score, distance;
    size_t count = 0;
    zset_iter_at(&iter, zset, 0);
    while (zset_iter_next(&iter, &member, &score))
        count += geo_shape_has(shape, geohash_decode(score), &distance);
    return count;
}

static void check_find(const struct zset *zset, const struct geo_shape *shape, size_t limit)
{
    struct geo_found found;
    size_t within = count_within(zset, shape);
    ck_assert(geo_find(&found, zset, shape, limit));
    ck_assert_uint_eq(found.count, limit > 0 && limit < within ? limit : within);
    for (size_t i = 0; i < found.count; i++) {
        double score, distance;
        ck_assert(zset_score(zset, found.matches[i].member, &score));
        ck_assert_double_eq(score, found.matches[i].score);
        ck_assert(geo_shape_has(shape, found.matches[i].point, &distance));
        ck_assert_double_eq(distance, found.matches[i].distance);
        ck_assert_uint_eq(found.matches[i].turn, i);
    }
    geo_found_drop(&found);
}

START_TEST(every_member_within_the_shape_is_found_up_to_the_limit)
{
    struct rng rng;
    rng_init(&rng, test_seed());
    for (int round = 0; round < 40; round++) {
        struct geo_shape shape = { .center = { uniform(&rng, -180, 180), uniform(&rng, -60, 60) },
                                   .is_box = rng_chance(&rng, 50),
                                   .radius = uniform(&rng, 0, 400),
                                   .width = uniform(&rng, 0, 800),
                                   .height = uniform(&rng, 0, 800),
                                   .unit = 1000 };
        struct zset *zset = points_around(&rng, shape.center);
        check_find(zset, &shape, 0);
        check_find(zset, &shape, 1);
        check_find(zset, &shape, 1 + rng_below(&rng, PLACES));
        zset_free(zset);
    }
}
END_TEST

START_TEST(an_empty_area_has_no_members)
{
    struct zset *zset = zset_new();
    struct geo_shape shape = { .radius = 1000, .unit = 1 };
    check_find(zset, &shape, 0);
    zset_free(zset);
}
END_TEST

Suite *test_suite(void)
{
    const TTest *const tests[] = {
        the_first_few_are_the_first_of_all_in_order,
        sorted_and_reversed_input_is_sorted_fast,
        equal_distances_stay_as_found_when_all_are_wanted,
        every_member_within_the_shape_is_found_up_to_the_limit,
        an_empty_area_has_no_members,
        NULL,
    };
    return suite_of("geo_found", tests);
}
