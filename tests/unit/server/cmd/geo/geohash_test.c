/* geohash: encoding and decoding, distances, and the cells that cover a shape. */
#include "server/cmd/geo/geohash.h"

#include <check.h>
#include <math.h>

#include "tests/support/rng.h"
#include "tests/support/suite.h"

static const struct geo_point palermo = { 13.361389, 38.115556 };
static const struct geo_point catania = { 15.087269, 37.502669 };

static double uniform(struct rng *rng, double low, double high)
{
    return low + (high - low) * (double)(rng_next(rng) >> 11) / (double)(UINT64_C(1) << 53);
}

static struct geo_point random_point(struct rng *rng)
{
    return (struct geo_point){ uniform(rng, -180, 180), uniform(rng, -85.05, 85.05) };
}

/* ---- numbers --------------------------------------------------------------------------------- */

/* The numbers of Redis' own documentation (redis.io/commands/geoadd). */
START_TEST(documented_places_have_their_documented_numbers)
{
    ck_assert_uint_eq(geohash_encode(palermo), UINT64_C(3479099956230698));
    ck_assert_uint_eq(geohash_encode(catania), UINT64_C(3479447370796909));
    ck_assert_double_eq(geohash_decode(3479099956230698.).longitude, 13.36138933897018433);
    ck_assert_double_eq(geohash_decode(3479099956230698.).latitude, 38.11555639549629859);
}
END_TEST

START_TEST(longitude_has_the_higher_bit_of_each_pair)
{
    ck_assert_uint_eq(geohash_encode((struct geo_point){ -180, -85.05112878 }), 0);
    ck_assert_uint_eq(geohash_encode((struct geo_point){ 0, -85.05112878 }), UINT64_C(1) << 51);
    ck_assert_uint_eq(geohash_encode((struct geo_point){ -180, 0 }), UINT64_C(1) << 50);
}
END_TEST

START_TEST(a_position_is_decoded_within_its_cell)
{
    struct rng rng;
    rng_init(&rng, test_seed());
    for (int i = 0; i < 20000; i++) {
        struct geo_point point = random_point(&rng);
        struct geo_point back = geohash_decode((double)geohash_encode(point));
        ck_assert_double_le(fabs(back.longitude - point.longitude), 360 / 67108864.);
        ck_assert_double_le(fabs(back.latitude - point.latitude), 171 / 67108864.);
    }
}
END_TEST

START_TEST(the_middle_of_a_cell_has_the_cells_number)
{
    struct rng rng;
    rng_init(&rng, test_seed());
    for (int i = 0; i < 20000; i++) {
        uint64_t number = rng_below(&rng, UINT64_C(1) << 52);
        ck_assert_uint_eq(geohash_encode(geohash_decode((double)number)), number);
    }
}
END_TEST

START_TEST(the_limits_are_those_of_web_mercator)
{
    ck_assert(geohash_has((struct geo_point){ 180, 85.05112878 }));
    ck_assert(geohash_has((struct geo_point){ -180, -85.05112878 }));
    ck_assert(!geohash_has((struct geo_point){ 180.000001, 0 }));
    ck_assert(!geohash_has((struct geo_point){ -180.000001, 0 }));
    ck_assert(!geohash_has((struct geo_point){ 0, 85.051129 }));
    ck_assert(!geohash_has((struct geo_point){ 0, -85.051129 }));
    ck_assert(!geohash_has((struct geo_point){ NAN, 0 }));
    ck_assert(!geohash_has((struct geo_point){ 0, NAN }));
}
END_TEST

START_TEST(any_score_decodes_to_a_place_within_the_limits)
{
    const double scores[] = {
        -1, -INFINITY, INFINITY, 1e300, -1e300, 1.5, 9e18, 1e19, 1e20, -9e18
    };
    for (size_t i = 0; i < sizeof(scores) / sizeof(scores[0]); i++)
        ck_assert_msg(geohash_has(geohash_decode(scores[i])), "%g", scores[i]);
}
END_TEST

/* ---- texts ----------------------------------------------------------------------------------- */

static void has_text(struct geo_point point, const char *wanted)
{
    char text[GEOHASH_TEXT_LEN + 1] = "";
    geohash_text((double)geohash_encode(point), text);
    ck_assert_str_eq(text, wanted);
}

/* redis.io/commands/geohash; and en.wikipedia.org/wiki/Geohash, whose u4pruydqqvj ends with the
 * letter that 52 bits can't hold. */
START_TEST(texts_are_standard_geohashes)
{
    has_text(palermo, "sqc8b49rny0");
    has_text(catania, "sqdtr74hyu0");
    has_text((struct geo_point){ 10.40744, 57.64911 }, "u4pruydqqv0");
    has_text((struct geo_point){ 0, 0 }, "s0000000000");
}
END_TEST

/* ---- distances ------------------------------------------------------------------------------- */

START_TEST(documented_distances_are_met)
{
    struct geo_point from = geohash_decode((double)geohash_encode(palermo));
    struct geo_point to = geohash_decode((double)geohash_encode(catania));
    ck_assert_double_eq_tol(geohash_distance(from, to), 166274.1516, 0.00005);
}
END_TEST

START_TEST(a_degree_of_a_meridian_is_its_part_of_the_circumference)
{
    double degree = 6372797.560856 * M_PI / 180;
    for (int latitude = -80; latitude < 80; latitude++) {
        struct geo_point a = { 7, latitude }, b = { 7, latitude + 1 };
        ck_assert_double_eq_tol(geohash_distance(a, b), degree, 1e-6);
        ck_assert_double_eq(geohash_distance(a, b), geohash_distance(b, a));
        ck_assert_double_eq(geohash_distance(a, a), 0);
    }
}
END_TEST

/* ---- shapes ---------------------------------------------------------------------------------- */

static struct geo_shape random_shape(struct rng *rng)
{
    struct geo_shape shape = { .center = { uniform(rng, -180, 180), uniform(rng, -60, 60) },
                               .is_box = rng_chance(rng, 50),
                               .unit = rng_chance(rng, 50) ? 1 : 0.3048 };
    shape.radius = pow(10, uniform(rng, 0, 6));
    shape.width = pow(10, uniform(rng, 0, 6));
    shape.height = pow(10, uniform(rng, 0, 6));
    return shape;
}

/* Returns a random point in or near the shape, wrapped around the earth. */
static struct geo_point point_near(struct rng *rng, const struct geo_shape *shape)
{
    double span = shape->is_box ? fmax(shape->width, shape->height) : 2 * shape->radius;
    double degrees = span * shape->unit / 111000;
    struct geo_point point = shape->center;
    point.latitude = fmax(-85, fmin(85, point.latitude + uniform(rng, -degrees, degrees)));
    point.longitude += uniform(rng, -2 * degrees, 2 * degrees);
    point.longitude = remainder(point.longitude, 360);
    return geohash_decode((double)geohash_encode(point));
}

static int cells_with(const struct score_range *cells, size_t count, double score)
{
    int with = 0;
    for (size_t i = 0; i < count; i++)
        with += score >= cells[i].min && score < cells[i].max;
    return with;
}

START_TEST(the_cells_have_every_place_of_the_shape_once)
{
    struct rng rng;
    size_t inside = 0;
    rng_init(&rng, test_seed());
    for (int i = 0; i < 2000; i++) {
        struct score_range cells[GEO_CELLS_MAX];
        struct geo_shape shape = random_shape(&rng);
        size_t count = geo_shape_cells(&shape, cells);
        ck_assert_uint_ge(count, 1);
        ck_assert_uint_le(count, GEO_CELLS_MAX);
        for (int j = 0; j < 20; j++) {
            struct geo_point point = point_near(&rng, &shape);
            double distance;
            int with = cells_with(cells, count, (double)geohash_encode(point));
            bool has = geo_shape_has(&shape, point, &distance);
            inside += has;
            ck_assert_msg(with == 1 || (with == 0 && !has),
                          "(%.17g, %.17g) in %d cells of (%.17g, %.17g)", point.longitude,
                          point.latitude, with, shape.center.longitude, shape.center.latitude);
        }
    }
    ck_assert_uint_gt(inside, 2000);
}
END_TEST

START_TEST(the_cell_of_the_centre_comes_first)
{
    struct rng rng;
    rng_init(&rng, test_seed());
    for (int i = 0; i < 2000; i++) {
        struct score_range cells[GEO_CELLS_MAX];
        struct geo_shape shape = random_shape(&rng);
        geo_shape_cells(&shape, cells);
        ck_assert_int_eq(cells_with(cells, 1, (double)geohash_encode(shape.center)), 1);
    }
}
END_TEST

START_TEST(the_whole_earth_is_four_cells)
{
    struct score_range cells[GEO_CELLS_MAX];
    struct geo_shape shape = { .center = palermo, .radius = INFINITY, .unit = 1 };
    struct rng rng;
    rng_init(&rng, test_seed());
    ck_assert_uint_eq(geo_shape_cells(&shape, cells), 4);
    for (int i = 0; i < 1000; i++) {
        double score = (double)geohash_encode(random_point(&rng));
        ck_assert_int_eq(cells_with(cells, 4, score), 1);
    }
}
END_TEST

START_TEST(a_point_is_a_shape_that_has_itself)
{
    struct score_range cells[GEO_CELLS_MAX];
    double score = (double)geohash_encode(palermo), distance = -1;
    struct geo_shape shape = { .center = geohash_decode(score), .unit = 1 };
    size_t count = geo_shape_cells(&shape, cells);
    ck_assert_int_eq(cells_with(cells, count, score), 1);
    ck_assert(geo_shape_has(&shape, shape.center, &distance));
    ck_assert_double_eq(distance, 0);
}
END_TEST

START_TEST(a_box_has_the_given_width_and_height)
{
    double degree = 6372797.560856 * M_PI / 180, distance;
    struct geo_shape shape = {
        .center = { 0, 0 }, .is_box = true, .width = 4 * degree, .height = 2 * degree, .unit = 1
    };
    ck_assert(geo_shape_has(&shape, (struct geo_point){ 1.99, 0.99 }, &distance));
    ck_assert(geo_shape_has(&shape, (struct geo_point){ -1.99, -0.99 }, &distance));
    ck_assert(!geo_shape_has(&shape, (struct geo_point){ 2.01, 0 }, &distance));
    ck_assert(!geo_shape_has(&shape, (struct geo_point){ 0, -1.01 }, &distance));
}
END_TEST

Suite *test_suite(void)
{
    const TTest *const tests[] = {
        documented_places_have_their_documented_numbers,
        longitude_has_the_higher_bit_of_each_pair,
        a_position_is_decoded_within_its_cell,
        the_middle_of_a_cell_has_the_cells_number,
        the_limits_are_those_of_web_mercator,
        any_score_decodes_to_a_place_within_the_limits,
        texts_are_standard_geohashes,
        documented_distances_are_met,
        a_degree_of_a_meridian_is_its_part_of_the_circumference,
        the_cells_have_every_place_of_the_shape_once,
        the_cell_of_the_centre_comes_first,
        the_whole_earth_is_four_cells,
        a_point_is_a_shape_that_has_itself,
        a_box_has_the_given_width_and_height,
        NULL,
    };
    return suite_of("geohash", tests);
}
