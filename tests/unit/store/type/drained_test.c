/* drained: counts of dehydrators that have become empty. */
#include "store/type/drained.h"

#include <stdio.h>

#include "tests/support/rng.h"
#include "tests/support/suite.h"

enum { KEYS = 2 * DRAINED_MOST };

/* What the table must have: `pushed` of each key, 0 for none; and the order in which they came. */
static uint64_t model[KEYS], order[KEYS];
static msec until[KEYS];
static size_t model_count;

static struct bytes key_of(char name[32], unsigned number)
{
    return bytes_of(name, (size_t)snprintf(name, 32, "key %u", number));
}

static void forget(unsigned number)
{
    model_count -= model[number] > 0;
    model[number] = 0;
}

static void forget_oldest(void)
{
    unsigned oldest = KEYS;
    for (unsigned i = 0; i < KEYS; i++)
        if (model[i] > 0 && (oldest == KEYS || order[i] < order[oldest])) oldest = i;
    forget(oldest);
}

static void keep(struct drained *drained, unsigned number, uint64_t pushed, uint64_t turn, msec now)
{
    char name[32];
    struct delivery_tally tally = { .pushed = pushed };
    if (pushed % 2 == 0) {
        tally.deliveries = delivery_counts_new();
        delivery_counts_add(tally.deliveries, (msec)pushed);
    }
    drained_keep(drained, key_of(name, number), tally, now);
    for (unsigned i = 0; i < KEYS; i++)
        if (model[i] > 0 && until[i] <= now) forget(i);
    if (model_count == DRAINED_MOST) forget_oldest();
    model[number] = pushed;
    until[number] = now + DRAINED_SPAN;
    order[number] = turn;
    model_count++;
}

static void count_visit(void *ctx, struct bytes key, const struct delivery_tally *tally)
{
    size_t *count = ctx;
    unsigned number;
    char name[32] = "";
    memcpy(name, key.data, key.len);
    ck_assert_int_eq(sscanf(name, "key %u", &number), 1);
    ck_assert_uint_eq(tally->pushed, model[number]);
    ++*count;
}

static void assert_same(const struct drained *drained, msec now)
{
    size_t alive = 0, found = 0;
    uint64_t cursor = 0;
    drained_check(drained);
    for (unsigned i = 0; i < KEYS; i++) {
        char name[32];
        uint64_t wanted = until[i] > now ? model[i] : 0;
        struct delivery_tally tally = drained_find(drained, key_of(name, i), now);
        ck_assert_uint_eq(tally.pushed, wanted);
        ck_assert_int_eq(tally.deliveries != NULL, wanted > 0 && wanted % 2 == 0);
        alive += wanted > 0;
    }
    do {
        cursor = drained_scan(drained, cursor, now, count_visit, &found);
    } while (cursor != 0);
    ck_assert_uint_eq(found, alive);
}

START_TEST(random_counts_match_model)
{
    enum { STEPS = 20000 };
    struct rng rng;
    rng_init(&rng, test_seed());
    struct drained *drained = drained_new();
    msec now = 1000000;
    for (uint64_t step = 1; step <= STEPS; step++) {
        char name[32];
        unsigned number = (unsigned)rng_below(&rng, KEYS);
        now += (msec)rng_below(&rng, DRAINED_SPAN / DRAINED_MOST);
        if (model[number] == 0) {
            keep(drained, number, 1 + rng_below(&rng, 1000), step, now);
        } else {
            struct delivery_tally tally = drained_take(drained, key_of(name, number), now);
            ck_assert_uint_eq(tally.pushed, until[number] > now ? model[number] : 0);
            delivery_counts_free(tally.deliveries);
            forget(number);
        }
        if (step % 500 == 0) assert_same(drained, now);
    }
    ck_assert_uint_gt(model_count, 0);
    drained_free(drained);
}
END_TEST

START_TEST(keeps_no_counts_of_a_very_long_key)
{
    static char name[DRAINED_NAME_MAX + 1];
    struct drained *drained = drained_new();
    for (size_t len = DRAINED_NAME_MAX; len <= sizeof(name); len++) {
        struct delivery_tally tally = { .pushed = 1, .deliveries = delivery_counts_new() };
        drained_keep(drained, bytes_of(name, len), tally, 0);
        tally = drained_find(drained, bytes_of(name, len), 1);
        ck_assert_uint_eq(tally.pushed, len == DRAINED_NAME_MAX);
    }
    drained_check(drained);
    drained_free(drained);
}
END_TEST

Suite *test_suite(void)
{
    const TTest *const tests[] = {
        random_counts_match_model,
        keeps_no_counts_of_a_very_long_key,
        NULL,
    };
    return suite_of("drained", tests);
}
