/* dict: content, shape, the scan's guarantee and the fairness of random picks. */
#include <stdio.h>
#include <stdlib.h>

#include "store/base/siphash.h"
#include "store/mem/mem.h"
#include "store/struct/dict.h"
#include "tests/support/rng.h"
#include "tests/support/suite.h"

struct thing {
    char key[12];
    uint8_t len;
    bool in;
    uint32_t seen;
};

static struct bytes thing_key(const void *element)
{
    const struct thing *thing = element;
    return bytes_of(thing->key, thing->len);
}

static const struct dict_type thing_type = { .key = thing_key };

static struct bytes key_of(const struct thing *thing)
{
    return thing_key(thing);
}

/* Another hash key per seed, so that the shapes differ. */
static void begin(struct rng *rng, struct dict *dict)
{
    uint8_t key[16];
    rng_init(rng, test_seed());
    for (size_t i = 0; i < sizeof(key); i++)
        key[i] = (uint8_t)rng_next(rng);
    siphash_seed(key);
    dict_init(dict, &thing_type);
}

static struct thing *things_new(size_t count)
{
    struct thing *things = calloc(count, sizeof(*things));
    for (size_t i = 0; i < count; i++)
        things[i].len = (uint8_t)snprintf(things[i].key, sizeof(things[i].key), "%zu", i);
    return things;
}

static void thing_add(struct dict *dict, struct thing *thing)
{
    dict_add(dict, thing);
    thing->in = true;
}

static void thing_remove(struct dict *dict, struct thing *thing)
{
    ck_assert_ptr_eq(dict_remove(dict, key_of(thing)), thing);
    thing->in = false;
}

static void thing_toggle(struct dict *dict, struct thing *thing)
{
    if (thing->in)
        thing_remove(dict, thing);
    else
        thing_add(dict, thing);
}

START_TEST(empty_dict_has_no_memory)
{
    struct dict dict;
    struct rng rng;
    struct dict_iter iter;
    begin(&rng, &dict);
    ck_assert_ptr_null(dict_find(&dict, LIT("x")));
    ck_assert_ptr_null(dict_remove(&dict, LIT("x")));
    ck_assert_ptr_null(dict_take(&dict));
    ck_assert_ptr_null(dict_random(&dict, rng_draw, &rng));
    ck_assert_uint_eq(dict_scan(&dict, 0, NULL, NULL), 0);
    ck_assert_uint_eq(dict_scan(&dict, 12345, NULL, NULL), 0);
    dict_iter_begin(&iter, &dict);
    ck_assert_ptr_null(dict_iter_next(&iter));
    dict_check(&dict);
    ck_assert_uint_eq(dict_bytes(&dict), 0);
    ck_assert_uint_eq(mem_used(), 0);
    dict_drop(&dict);
}
END_TEST

START_TEST(keys_are_bytes_and_may_be_empty)
{
    struct thing empty = { .len = 0 }, nul = { .key = "\0", .len = 1 };
    struct dict dict;
    struct rng rng;
    begin(&rng, &dict);
    dict_add(&dict, &empty);
    dict_add(&dict, &nul);
    ck_assert_ptr_eq(dict_find(&dict, LIT("")), &empty);
    ck_assert_ptr_eq(dict_find(&dict, LIT("\0")), &nul);
    ck_assert_ptr_null(dict_find(&dict, LIT("\0\0")));
    dict_drop(&dict);
}
END_TEST

START_TEST(random_programs_match_model)
{
    enum { COUNT = 400, STEPS = 20000 };
    struct thing *things = things_new(COUNT);
    struct dict dict;
    struct rng rng;
    size_t in = 0;
    begin(&rng, &dict);
    for (int i = 0; i < STEPS; i++) {
        /* Alternate between filling and emptying. */
        struct thing *thing = &things[rng_below(&rng, COUNT)];
        bool growing = (i / 2000) % 2 == 0;
        ck_assert_ptr_eq(dict_find(&dict, key_of(thing)), thing->in ? thing : NULL);
        if (!thing->in) ck_assert_ptr_null(dict_remove(&dict, key_of(thing)));
        if (thing->in != growing || rng_chance(&rng, 10)) {
            thing_toggle(&dict, thing);
            in = thing->in ? in + 1 : in - 1;
        }
        ck_assert_uint_eq(dict_count(&dict), in);
        dict_check(&dict);
    }
    dict_drop(&dict);
    ck_assert_uint_eq(mem_used(), 0);
    free(things);
}
END_TEST

START_TEST(large_random_programs_keep_invariants)
{
    enum { COUNT = 20000, STEPS = SANITIZED_TENTH(300000), CHECKS = 100 };
    struct thing *things = things_new(COUNT);
    struct dict dict;
    struct rng rng;
    begin(&rng, &dict);
    for (int i = 0; i < STEPS; i++) {
        struct thing *thing = &things[rng_below(&rng, COUNT)];
        bool growing = (i / (STEPS / 4)) % 2 == 0;
        if (thing->in != growing || rng_chance(&rng, 10)) thing_toggle(&dict, thing);
        if (i % (STEPS / CHECKS) == 0) dict_check(&dict);
    }
    for (size_t i = 0; i < COUNT; i++)
        ck_assert_ptr_eq(dict_find(&dict, key_of(&things[i])), things[i].in ? &things[i] : NULL);
    dict_drop(&dict);
    ck_assert_uint_eq(mem_used(), 0);
    free(things);
}
END_TEST

START_TEST(a_step_splits_or_merges_at_most_one_bucket)
{
    enum { COUNT = 10000 };
    struct thing *things = things_new(COUNT);
    struct dict dict;
    struct rng rng;
    begin(&rng, &dict);
    size_t buckets = 1;
    for (size_t i = 0; i < COUNT; i++, buckets = dict.buckets) {
        dict_add(&dict, &things[i]);
        ck_assert(dict.buckets == buckets || dict.buckets == buckets + 1);
        ck_assert_uint_le(2 * dict.count, dict.buckets * 15);
    }
    for (size_t i = 0; i < COUNT - 1; i++, buckets = dict.buckets) {
        thing_remove(&dict, &things[i]);
        ck_assert(dict.buckets == buckets || dict.buckets + 1 == buckets);
        ck_assert(dict.count >= (dict.buckets - 1) * 6 || dict.buckets == 1);
    }
    dict_drop(&dict);
    free(things);
}
END_TEST

START_TEST(memory_is_proportional_to_count)
{
    enum { COUNT = 20000 };
    struct thing *things = things_new(COUNT);
    struct dict dict;
    struct rng rng;
    begin(&rng, &dict);
    for (size_t i = 0; i < COUNT; i++) {
        dict_add(&dict, &things[i]);
        size_t most = 40 * (i + 1) + 64 + 8;
        ck_assert_uint_le(dict_bytes(&dict), most + (i > 2500 ? 32768 : 0));
        ck_assert_uint_ge(mem_used(), dict_bytes(&dict));
    }
    ck_assert_uint_le(dict_bytes(&dict), 12 * COUNT);
    for (size_t i = COUNT; i > 0; i--) {
        ck_assert_uint_le(dict_bytes(&dict), 20 * i + 2 * 32768);
        thing_remove(&dict, &things[i - 1]);
    }
    ck_assert_uint_eq(dict_bytes(&dict), 0);
    ck_assert_uint_eq(mem_used(), 0);
    free(things);
}
END_TEST

START_TEST(moved_element_is_found_at_new_address)
{
    enum { COUNT = 3000 };
    struct thing *things = things_new(COUNT), *others = things_new(COUNT);
    struct dict dict;
    struct rng rng;
    begin(&rng, &dict);
    for (size_t i = 0; i < COUNT; i++)
        dict_add(&dict, &things[i]);
    /* The old elements must not be read. */
    for (size_t i = 0; i < COUNT; i++) {
        memset(&things[i], 0xff, sizeof(things[i]));
        dict_moved(&dict, &things[i], &others[i]);
    }
    dict_check(&dict);
    for (size_t i = 0; i < COUNT; i++)
        ck_assert_ptr_eq(dict_find(&dict, key_of(&others[i])), &others[i]);
    dict_drop(&dict);
    free(things);
    free(others);
}
END_TEST

START_TEST(hashed_find_and_add_equal_plain_ones)
{
    enum { COUNT = 3000 };
    struct thing *things = things_new(COUNT);
    struct dict dict;
    struct rng rng;
    begin(&rng, &dict);
    ck_assert_ptr_null(dict_find_hashed(&dict, LIT("x"), siphash("x", 1)));
    for (size_t i = 0; i < COUNT; i++) {
        struct bytes key = key_of(&things[i]);
        uint64_t hash = siphash(key.data, key.len);
        ck_assert_ptr_null(dict_find_hashed(&dict, key, hash));
        dict_add_hashed(&dict, &things[i], hash);
        ck_assert_uint_eq(dict_hint_bucket(&dict, key), hash);
        ck_assert_ptr_eq(dict_find_hashed(&dict, key, hash), &things[i]);
        ck_assert_ptr_eq(dict_find(&dict, key), &things[i]);
    }
    dict_check(&dict);
    dict_drop(&dict);
    free(things);
}
END_TEST

struct text {
    size_t len;
    char data[48];
};

static struct bytes text_key(const void *element)
{
    const struct text *text = element;
    return bytes_of(text->data, text->len);
}

/* Keys that are equal but for one byte, at any place and of any length up to some words. */
START_TEST(keys_are_compared_to_their_last_byte)
{
    const struct dict_type type = { .key = text_key };
    struct dict dict;
    struct rng rng;
    begin(&rng, &dict);
    dict_init(&dict, &type);
    for (size_t len = 1; len <= 48; len++) {
        struct text text = { .len = len };
        memset(text.data, 'x', len);
        dict_add(&dict, &text);
        uint64_t hash = siphash(text.data, len);
        for (size_t i = 0; i < len; i++) {
            struct text other = text;
            other.data[i] = 'y';
            ck_assert_ptr_null(dict_find_hashed(&dict, bytes_of(other.data, len), hash));
            other.data[i] = 'x';
            ck_assert_ptr_eq(dict_find_hashed(&dict, bytes_of(other.data, len), hash), &text);
        }
        ck_assert_ptr_null(dict_find_hashed(&dict, bytes_of(text.data, len - 1), hash));
        ck_assert_ptr_eq(dict_take(&dict), &text);
    }
}
END_TEST

START_TEST(iteration_visits_every_element_once)
{
    struct thing *things = things_new(5000);
    for (size_t count = 1; count <= 5000; count = count * 3 / 2 + 1) {
        struct dict dict;
        struct rng rng;
        struct dict_iter iter;
        struct thing *thing;
        begin(&rng, &dict);
        for (size_t i = 0; i < count; i++) {
            dict_add(&dict, &things[i]);
            things[i].seen = 0;
        }
        dict_iter_begin(&iter, &dict);
        while ((thing = dict_iter_next(&iter)) != NULL)
            thing->seen++;
        ck_assert_ptr_null(dict_iter_next(&iter));
        for (size_t i = 0; i < count; i++)
            ck_assert_uint_eq(things[i].seen, 1);
        dict_drop(&dict);
    }
    free(things);
}
END_TEST

START_TEST(take_returns_every_element_once)
{
    enum { COUNT = 6000 };
    struct thing *things = things_new(COUNT);
    struct dict dict;
    struct rng rng;
    struct thing *thing;
    begin(&rng, &dict);
    for (size_t i = 0; i < COUNT; i++)
        thing_add(&dict, &things[i]);
    for (size_t left = COUNT; (thing = dict_take(&dict)) != NULL;) {
        ck_assert(thing->in);
        thing->in = false;
        ck_assert_uint_eq(dict_count(&dict), --left);
        if (left % 50 == 0) dict_check(&dict);
        if (left % 1000 == 500) { /* other uses in between */
            thing_add(&dict, thing);
            ck_assert_ptr_eq(dict_find(&dict, key_of(thing)), thing);
            thing_remove(&dict, thing);
            dict_check(&dict);
        }
    }
    for (size_t i = 0; i < COUNT; i++)
        ck_assert(!things[i].in);
    ck_assert_uint_eq(mem_used(), 0);
    free(things);
}
END_TEST

/* --- scan --- */

static void count_seen(void *ctx, void *element)
{
    (void)ctx;
    ((struct thing *)element)->seen++;
}

START_TEST(scan_of_unchanged_table_visits_all_once)
{
    struct thing *things = things_new(3000);
    for (size_t count = 1; count <= 3000; count += 1 + count / 7) {
        struct dict dict;
        struct rng rng;
        begin(&rng, &dict);
        for (size_t i = 0; i < count; i++) {
            dict_add(&dict, &things[i]);
            things[i].seen = 0;
        }
        uint64_t cursor = 0;
        do
            cursor = dict_scan(&dict, cursor, count_seen, NULL);
        while (cursor != 0);
        for (size_t i = 0; i < count; i++)
            ck_assert_uint_eq(things[i].seen, 1);
        dict_drop(&dict);
    }
    free(things);
}
END_TEST

enum { LASTING = 60, PASSING = 3000 };

/* Adds and removes some of the passing elements; `drift` percent of the steps add. */
static void churn(struct dict *dict, struct thing *passing, struct rng *rng, unsigned drift)
{
    for (uint64_t steps = rng_below(rng, 400); steps > 0; steps--) {
        struct thing *thing = &passing[rng_below(rng, PASSING)];
        if (thing->in != rng_chance(rng, drift)) thing_toggle(dict, thing);
    }
}

static void scan_under_churn(struct dict *dict, struct thing *things, struct rng *rng)
{
    unsigned drift = (unsigned)rng_below(rng, 101);
    uint64_t cursor = 0;
    size_t calls = 0;
    for (size_t i = 0; i < LASTING; i++)
        things[i].seen = 0;
    do {
        cursor = dict_scan(dict, cursor, count_seen, NULL);
        ck_assert_uint_le(++calls, 2 * PASSING);
        if (rng_chance(rng, 5)) drift = (unsigned)rng_below(rng, 101);
        if (rng_chance(rng, 50)) churn(dict, things + LASTING, rng, drift);
    } while (cursor != 0);
    for (size_t i = 0; i < LASTING; i++)
        ck_assert_msg(things[i].seen > 0, "thing %zu was missed", i);
}

START_TEST(scan_misses_no_lasting_element)
{
    struct thing *things = things_new(LASTING + PASSING);
    struct dict dict;
    struct rng rng;
    begin(&rng, &dict);
    for (size_t i = 0; i < LASTING; i++)
        thing_add(&dict, &things[i]);
    for (int round = 0; round < 50; round++) {
        scan_under_churn(&dict, things, &rng);
        churn(&dict, things + LASTING, &rng, 0);
        dict_check(&dict);
    }
    dict_drop(&dict);
    free(things);
}
END_TEST

/* Between two calls the table grows or shrinks as far as possible. */
START_TEST(scan_misses_nothing_when_table_size_jumps)
{
    struct thing *things = things_new(LASTING + PASSING);
    struct dict dict;
    struct rng rng;
    begin(&rng, &dict);
    for (size_t i = 0; i < LASTING; i++) {
        thing_add(&dict, &things[i]);
        things[i].seen = 0;
    }
    uint64_t cursor = 0;
    size_t calls = 0;
    do {
        cursor = dict_scan(&dict, cursor, count_seen, NULL);
        size_t wanted = rng_chance(&rng, 50) ? PASSING : rng_below(&rng, 100);
        for (size_t i = 0; i < PASSING; i++)
            if (things[LASTING + i].in != (i < wanted)) thing_toggle(&dict, &things[LASTING + i]);
        ck_assert_uint_le(++calls, PASSING);
    } while (cursor != 0);
    for (size_t i = 0; i < LASTING; i++)
        ck_assert_msg(things[i].seen > 0, "thing %zu was missed", i);
    dict_drop(&dict);
    free(things);
}
END_TEST

/* --- random --- */

/* The chi-square statistic has a mean of count - 1 and a deviation of sqrt(2 (count - 1)). */
static void assert_fair(const struct dict *dict, struct thing *things, size_t count,
                        struct rng *rng)
{
    size_t draws = 100 * count;
    for (size_t i = 0; i < count; i++)
        things[i].seen = 0;
    for (size_t i = 0; i < draws; i++)
        ((struct thing *)dict_random(dict, rng_draw, rng))->seen++;
    double chi_square = 0, mean = (double)count - 1;
    for (size_t i = 0; i < count; i++)
        chi_square += ((double)things[i].seen - 100) * ((double)things[i].seen - 100) / 100;
    double off = (chi_square - mean) * (chi_square - mean);
    ck_assert_msg(off <= 7 * 7 * 2 * mean + 100, "chi-square %g of %zu", chi_square, count);
}

START_TEST(random_elements_are_uniform)
{
    static const size_t counts[] = { 1, 2, 7, 12, 100, 161, 240, 1000, 1700, 2500 };
    struct thing *things = things_new(2500);
    for (size_t c = 0; c < sizeof(counts) / sizeof(*counts); c++) {
        struct dict dict;
        struct rng rng;
        begin(&rng, &dict);
        for (size_t i = 0; i < counts[c]; i++)
            dict_add(&dict, &things[i]);
        assert_fair(&dict, things, counts[c], &rng);
        dict_drop(&dict);
    }
    free(things);
}
END_TEST

START_TEST(random_elements_are_uniform_after_shrinking)
{
    struct thing *things = things_new(5000);
    struct dict dict;
    struct rng rng;
    begin(&rng, &dict);
    for (size_t i = 0; i < 5000; i++)
        dict_add(&dict, &things[i]);
    for (size_t i = 700; i < 5000; i++)
        thing_remove(&dict, &things[i]);
    assert_fair(&dict, things, 700, &rng);
    dict_drop(&dict);
    free(things);
}
END_TEST

START_TEST(million_elements_are_added_and_removed)
{
    enum { COUNT = 1000000 };
    struct thing *things = things_new(COUNT);
    struct dict dict;
    struct rng rng;
    begin(&rng, &dict);
    for (size_t i = 0; i < COUNT; i++)
        dict_add(&dict, &things[i]);
    dict_check(&dict);
    for (size_t i = 0; i < COUNT; i++)
        ck_assert_ptr_eq(dict_remove(&dict, key_of(&things[i])), &things[i]);
    ck_assert_uint_eq(mem_used(), 0);
    free(things);
}
END_TEST

/* Things in the order of a scan, in which the hashes of neighbours end in the same bits. */
struct order {
    struct thing **things;
    size_t count;
};

static void note_thing(void *ctx, void *element)
{
    struct order *order = ctx;
    order->things[order->count++] = element;
}

static struct order scan_order(const struct dict *dict)
{
    struct order order = { malloc(dict_count(dict) * sizeof(*order.things)), 0 };
    uint64_t cursor = 0;
    do
        cursor = dict_scan(dict, cursor, note_thing, &order);
    while (cursor != 0);
    return order;
}

START_TEST(removals_in_the_order_of_a_scan_keep_buckets_short)
{
    enum { COUNT = 300000, STAY = 1000, LONG = 100 };
    struct thing *things = things_new(COUNT);
    struct dict dict;
    struct rng rng;
    begin(&rng, &dict);
    for (size_t i = 0; i < COUNT; i++)
        dict_add(&dict, &things[i]);
    struct order order = scan_order(&dict);
    for (size_t i = 0; i < COUNT - STAY; i++) {
        dict_remove(&dict, key_of(order.things[i]));
        if (i % 20000 == 0) dict_check(&dict);
    }
    dict_check(&dict);
    ck_assert_uint_lt(dict.longest, LONG);
    for (size_t i = COUNT - STAY; i < COUNT - 1; i++)
        dict_remove(&dict, key_of(order.things[i]));
    dict_check(&dict);
    for (size_t i = 0; i < STAY; i++) { /* the table shrinks with further changes */
        dict_add(&dict, order.things[i]);
        dict_remove(&dict, key_of(order.things[i]));
    }
    ck_assert_uint_lt(dict_bytes(&dict), 1000);
    dict_drop(&dict);
    free(order.things);
    free(things);
}
END_TEST

struct counted {
    struct rng *rng;
    size_t calls;
};

static uint64_t draw_counted(void *ctx)
{
    struct counted *counted = ctx;
    counted->calls++;
    return rng_draw(counted->rng);
}

/* The buckets that a scan has emptied stay for a time. */
START_TEST(random_elements_are_found_among_empty_buckets)
{
    enum { COUNT = 300000, STAY = 50, EACH = 200, CALLS = 1000 };
    struct thing *things = things_new(COUNT);
    struct dict dict;
    struct rng rng;
    begin(&rng, &dict);
    for (size_t i = 0; i < COUNT; i++)
        dict_add(&dict, &things[i]);
    struct order order = scan_order(&dict);
    for (size_t i = 0; i < COUNT - STAY; i++)
        dict_remove(&dict, key_of(order.things[i]));
    struct counted counted = { &rng, 0 };
    for (size_t i = 0; i < STAY * EACH; i++)
        ((struct thing *)dict_random(&dict, draw_counted, &counted))->seen++;
    ck_assert_uint_le(counted.calls, STAY * EACH * CALLS);
    for (size_t i = COUNT - STAY; i < COUNT; i++) {
        ck_assert_int_gt((int)order.things[i]->seen, EACH / 2);
        ck_assert_int_lt((int)order.things[i]->seen, EACH * 3 / 2);
    }
    dict_drop(&dict);
    free(order.things);
    free(things);
}
END_TEST

START_TEST(elements_may_be_added_in_the_order_of_a_scan)
{
    enum { COUNT = 300000 };
    struct thing *things = things_new(COUNT);
    struct dict dict, other;
    struct rng rng;
    begin(&rng, &dict);
    dict_init(&other, &thing_type);
    for (size_t i = 0; i < COUNT; i++)
        dict_add(&dict, &things[i]);
    struct order order = scan_order(&dict);
    for (size_t i = 0; i < COUNT; i++) {
        ck_assert_ptr_eq(dict_remove(&dict, key_of(order.things[i])), order.things[i]);
        dict_add(&other, order.things[i]);
    }
    dict_check(&other);
    ck_assert_uint_eq(dict_count(&other), COUNT);
    dict_drop(&other);
    ck_assert_uint_eq(mem_used(), 0);
    free(order.things);
    free(things);
}
END_TEST

/* From an empty table, and from one that has elements. */
START_TEST(a_reserved_table_takes_its_elements_as_it_is)
{
    enum { COUNT = 5000 };
    struct thing *things = things_new(COUNT);
    for (size_t first = 0; first <= 40; first += 20) {
        struct rng rng;
        struct dict dict, grown;
        begin(&rng, &dict);
        dict_init(&grown, &thing_type);
        for (size_t i = 0; i < first; i++)
            dict_add(&dict, &things[i]);
        dict_reserve(&dict, COUNT);
        dict_check(&dict);
        size_t buckets = dict.buckets;
        for (size_t i = first; i < COUNT; i++) {
            dict_add(&dict, &things[i]);
            ck_assert_uint_eq(dict.buckets, buckets);
        }
        dict_check(&dict);
        for (size_t i = 0; i < COUNT; i++) {
            dict_add(&grown, &things[i]);
            ck_assert_ptr_eq(dict_find(&dict, key_of(&things[i])), &things[i]);
        }
        ck_assert_uint_eq(dict.buckets, grown.buckets);
        ck_assert_uint_le(dict_bytes(&dict), dict_bytes(&grown));
        dict_reserve(&dict, COUNT / 2); /* it is large enough */
        ck_assert_uint_eq(dict.buckets, buckets);
        dict_drop(&dict);
        dict_drop(&grown);
    }
    free(things);
}
END_TEST

/* More elements were announced than came. */
START_TEST(a_reserved_table_shrinks_once_something_is_removed)
{
    enum { COUNT = 100000, ADDED = 100 };
    struct rng rng;
    struct dict dict;
    struct thing *things = things_new(ADDED);
    begin(&rng, &dict);
    dict_reserve(&dict, COUNT);
    size_t reserved = dict.buckets;
    for (size_t i = 0; i < ADDED; i++)
        dict_add(&dict, &things[i]);
    ck_assert_uint_eq(dict.buckets, reserved);
    for (size_t i = 0; i < ADDED; i++) {
        ck_assert_ptr_eq(dict_remove(&dict, key_of(&things[i])), &things[i]);
        dict_check(&dict);
        ck_assert_uint_lt(dict.buckets, reserved);
    }
    ck_assert_uint_eq(dict_bytes(&dict), 0);
    dict_reserve(&dict, COUNT);
    dict_check(&dict);
    dict_drop(&dict);
    ck_assert_uint_eq(dict_bytes(&dict), 0);
    free(things);
}
END_TEST

Suite *test_suite(void)
{
    const TTest *const tests[] = {
        empty_dict_has_no_memory,
        keys_are_bytes_and_may_be_empty,
        random_programs_match_model,
        large_random_programs_keep_invariants,
        a_step_splits_or_merges_at_most_one_bucket,
        memory_is_proportional_to_count,
        moved_element_is_found_at_new_address,
        hashed_find_and_add_equal_plain_ones,
        keys_are_compared_to_their_last_byte,
        iteration_visits_every_element_once,
        take_returns_every_element_once,
        scan_of_unchanged_table_visits_all_once,
        scan_misses_no_lasting_element,
        scan_misses_nothing_when_table_size_jumps,
        random_elements_are_uniform,
        random_elements_are_uniform_after_shrinking,
        million_elements_are_added_and_removed,
        removals_in_the_order_of_a_scan_keep_buckets_short,
        random_elements_are_found_among_empty_buckets,
        elements_may_be_added_in_the_order_of_a_scan,
        a_reserved_table_takes_its_elements_as_it_is,
        a_reserved_table_shrinks_once_something_is_removed,
        NULL,
    };
    return suite_of("dict", tests);
}
