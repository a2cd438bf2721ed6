/* hash: random steps, compared with an array of the value and deadline of each field. */
#include "store/type/hash.h"

#include <stdio.h>

#include "store/mem/mem.h"
#include "tests/support/rng.h"
#include "tests/support/suite.h"
#include "tests/unit/store/type/hash_visits.h"

enum { FIELDS = 1000, ABSENT = -1 };

struct text {
    char data[160];
};

/* Every hundredth is too long for a small hash. */
static struct bytes field_of(struct text *text, int n)
{
    int len = snprintf(text->data, sizeof(text->data), "%0*d", n % 100 == 99 ? 90 : n % 12, n);
    return bytes_of(text->data, (size_t)len);
}

/* Value 0 is empty; several have the same length; the last is too long for a small hash. */
enum { VALUES = 50 };
static struct bytes value_of(struct text *text, int v)
{
    if (v == 0) return bytes_of(NULL, 0);
    int len =
        snprintf(text->data, sizeof(text->data), "=%0*d", v == VALUES - 1 ? 100 : v % 7 * 4, v);
    return bytes_of(text->data, (size_t)len);
}

/* Fields count with the sizes that the allocator gave, the table with the sizes requested. */
static void assert_bytes(size_t bytes, size_t held)
{
    ck_assert_uint_le(bytes, held);
    ck_assert_uint_le(held, bytes + bytes / 16 + 256);
}

/* ---- against a model ------------------------------------------------------------------------ */

struct model {
    int fields; /* the number of fields in use */
    int values[FIELDS];
    msec ats[FIELDS];
};

static void model_init(struct model *model, int fields)
{
    model->fields = fields;
    for (int n = 0; n < fields; n++)
        model->values[n] = ABSENT;
}

static void model_set(struct model *model, int n, int v, msec at)
{
    model->values[n] = v;
    model->ats[n] = v == ABSENT ? NEVER : at;
}

static bool model_has_expiry(const struct model *model, int n)
{
    return model->values[n] != ABSENT && model->ats[n] != NEVER;
}

static void assert_field(const struct hash *hash, const struct model *model, int n)
{
    struct text field, value;
    struct bytes found;
    msec at;
    bool has = model->values[n] != ABSENT;
    ck_assert_msg(hash_get(hash, field_of(&field, n), &found) == has, "field %d", n);
    ck_assert(hash_deadline(hash, field_of(&field, n), &at) == has);
    if (!has) return;
    ck_assert_msg(bytes_equal(found, value_of(&value, model->values[n])), "field %d", n);
    ck_assert_int_eq(at, model->ats[n]);
}

/* Compares the counts, the first deadline and the last one. */
static void assert_sums(const struct hash *hash, const struct model *model)
{
    size_t count = 0, expiring = 0;
    msec first = NEVER, latest = INT64_MIN, at, its;
    struct bytes field;
    hash_check(hash);
    for (int n = 0; n < model->fields; n++) {
        count += model->values[n] != ABSENT;
        if (!model_has_expiry(model, n)) continue;
        expiring++;
        if (model->ats[n] < first) first = model->ats[n];
        if (model->ats[n] > latest) latest = model->ats[n];
    }
    ck_assert_uint_eq(hash_count(hash), count);
    ck_assert_uint_eq(expiring_count(hash_expiring(hash)), expiring);
    ck_assert_int_eq(expiring_last(hash_expiring(hash)), latest);
    ck_assert(expiring_first(hash_expiring(hash), &field, &at) == (expiring > 0));
    if (expiring == 0) return;
    ck_assert_int_eq(at, first);
    ck_assert(hash_deadline(hash, field, &its));
    ck_assert_int_eq(its, first);
}

/* Every field, by key, by iterator and by deadline. */
static void assert_same(const struct hash *hash, const struct model *model, msec until)
{
    size_t seen = 0, due = 0;
    struct hash_iter iter;
    struct bytes field, value, its;
    msec at;
    for (int n = 0; n < model->fields; n++) {
        assert_field(hash, model, n);
        due += model_has_expiry(model, n) && model->ats[n] <= until;
    }
    ck_assert_uint_eq(seen_until(hash, until, SIZE_MAX), due);
    ck_assert_uint_eq(seen_until(hash, NEVER, SIZE_MAX), expiring_count(hash_expiring(hash)));
    hash_iter_begin(&iter, hash);
    for (; hash_iter_next(&iter, &field, &value); seen++) {
        ck_assert(hash_get(hash, field, &its) && bytes_equal(its, value));
        ck_assert(hash_deadline(hash, field, &at));
        ck_assert_int_eq(iter.at, at);
    }
    ck_assert_uint_eq(seen, hash_count(hash));
}

static msec some_at(struct rng *rng)
{
    return rng_chance(rng, 40) ? NEVER : rng_between(rng, -100, 100);
}

static void step(struct hash *hash, struct model *model, struct rng *rng, unsigned grow)
{
    struct text field, value;
    int n = (int)rng_below(rng, (uint64_t)model->fields), v = (int)rng_below(rng, VALUES);
    /* Rarely use the value that makes the hash large. */
    if (v == VALUES - 1 && rng_chance(rng, 90)) v = 1;
    msec at = some_at(rng);
    bool absent = model->values[n] == ABSENT;
    if (rng_chance(rng, 30)) {
        ck_assert(hash_expire(hash, field_of(&field, n), at) == !absent);
        model_set(model, n, model->values[n], at);
    } else if (rng_chance(rng, grow)) {
        ck_assert(hash_set(hash, field_of(&field, n), value_of(&value, v), at) == absent);
        model_set(model, n, v, at);
    } else {
        ck_assert(hash_remove(hash, field_of(&field, n)) == !absent);
        model_set(model, n, ABSENT, NEVER);
    }
    assert_field(hash, model, n);
}

START_TEST(random_steps_match_array)
{
    struct rng rng;
    struct model model;
    size_t base = mem_used();
    rng_init(&rng, test_seed());
    model_init(&model, FIELDS);
    struct hash *hash = hash_new();
    for (int i = 0; i < 6000; i++) {
        step(hash, &model, &rng, i / 1500 % 2 == 0 ? 80 : 20);
        assert_sums(hash, &model);
        assert_bytes(hash_bytes(hash), mem_used() - base);
        if (i % 200 == 0) assert_same(hash, &model, rng_between(&rng, -110, 110));
    }
    hash_free(hash);
    ck_assert_uint_eq(mem_used(), base);
}
END_TEST

START_TEST(growing_hash_matches_array)
{
    struct rng rng;
    struct model model;
    size_t base = mem_used();
    rng_init(&rng, test_seed() + 1);
    for (int round = 0; round < 40; round++) {
        struct hash *hash = hash_new();
        model_init(&model, (int)rng_between(&rng, 1, 99));
        for (int i = 0; i < 200; i++) {
            step(hash, &model, &rng, 90);
            assert_sums(hash, &model);
            assert_bytes(hash_bytes(hash), mem_used() - base);
            if (i % 20 == 0) assert_same(hash, &model, rng_between(&rng, -110, 110));
        }
        hash_free(hash);
        ck_assert_uint_eq(mem_used(), base);
    }
}
END_TEST

Suite *test_suite(void)
{
    const TTest *const tests[] = {
        random_steps_match_array,
        growing_hash_matches_array,
        NULL,
    };
    return suite_of("hash_random", tests);
}
