/* due_keys: names and their instants, against plain arrays. */
#include <stdio.h>

#include "server/module/keys/due_keys.h"
#include "store/base/siphash.h"
#include "store/mem/mem.h"
#include "tests/support/aligned_memory.h"
#include "tests/support/rng.h"
#include "tests/support/suite.h"

static struct rng rng;

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

enum { DATABASES = 3, NAMES = 40, STEPS = 20000, INSTANTS = 10000 };

static struct bytes name_at(unsigned i)
{
    static char text[16];
    int len = snprintf(text, sizeof(text), "key:%u", i);
    return bytes_of(text, (size_t)len);
}

static struct due_key *put(struct due_keys *keys, unsigned db, unsigned i, msec at)
{
    struct due_key *key = due_keys_add(keys, db, name_at(i));
    due_keys_set(keys, db, key, (struct due_at){ at });
    return key;
}

START_TEST(without_names_nothing_is_due_and_no_memory_is_used)
{
    struct due_keys keys;
    unsigned db;
    due_keys_init(&keys);
    ck_assert(due_at_is_never(due_keys_next(&keys)));
    ck_assert_ptr_null(due_keys_first(&keys, INT64_MAX, &db));
    ck_assert_ptr_null(due_keys_find(&keys, 7, LIT("k")));
    ck_assert_uint_eq(due_keys_bytes(&keys), 0);
    due_keys_drop(&keys);
    ck_assert_uint_eq(mem_used(), 0);
}
END_TEST

START_TEST(the_earliest_name_of_all_databases_is_first)
{
    struct due_keys keys;
    unsigned db;
    due_keys_init(&keys);
    put(&keys, 0, 1, 30);
    put(&keys, 2, 2, 20);
    put(&keys, 1, 3, 25);
    ck_assert_ptr_null(due_keys_first(&keys, 19, &db));
    ck_assert_ptr_eq(due_keys_first(&keys, 20, &db), due_keys_find(&keys, 2, name_at(2)));
    ck_assert_uint_eq(db, 2);
    put(&keys, 2, 2, 40);
    ck_assert_int_eq(due_keys_next(&keys).at, 25);
    due_keys_drop(&keys);
    ck_assert_uint_eq(mem_used(), 0);
}
END_TEST

START_TEST(a_flush_ends_a_database_and_a_swap_moves_it)
{
    struct due_keys keys;
    unsigned db;
    due_keys_init(&keys);
    uint32_t zero = due_keys_database(&keys, 0), two = due_keys_database(&keys, 2);
    due_keys_swap(&keys, 0, 2);
    ck_assert(due_keys_has_database(&keys, zero, &db));
    ck_assert_uint_eq(db, 2);
    put(&keys, 0, 1, 5);
    due_keys_flush(&keys, -1); /* one with a name, one without */
    ck_assert(!due_keys_has_database(&keys, zero, &db));
    ck_assert(!due_keys_has_database(&keys, two, &db));
    ck_assert(due_keys_has_database(&keys, due_keys_database(&keys, 2), &db));
    ck_assert_uint_eq(db, 2);
    due_keys_drop(&keys);
    ck_assert_uint_eq(mem_used(), 0);
}
END_TEST

START_TEST(a_flushed_database_is_freed_in_slices)
{
    struct due_keys keys;
    due_keys_init(&keys);
    for (unsigned i = 0; i < 1000; i++)
        put(&keys, 1, i, 5);
    for (unsigned i = 0; i < 100; i++)
        due_keys_forget(&keys, 1, due_keys_find(&keys, 1, name_at(i)));
    put(&keys, 0, 1, 9);
    due_keys_flush(&keys, 1);
    ck_assert_uint_eq(due_keys_count(&keys), 1);
    ck_assert_int_eq(due_keys_next(&keys).at, 9);
    unsigned slices = 1;
    while (due_keys_reclaim(&keys, 100))
        slices++;
    ck_assert_uint_gt(slices, 8);
    due_keys_check(&keys);
    due_keys_drop(&keys);
    ck_assert_uint_eq(mem_used(), 0);
}
END_TEST

START_TEST(a_name_costs_about_39_bytes_plus_its_length)
{
    struct due_keys keys;
    enum { MANY = 100000 };
    size_t names = 0;
    mem_use(&aligned_memory);
    due_keys_init(&keys);
    for (unsigned i = 0; i < MANY; i++) {
        names += name_at(i).len;
        put(&keys, 0, i, 1000000 + i);
    }
    ck_assert_uint_le((due_keys_bytes(&keys) - names) / MANY, 40);
    due_keys_drop(&keys);
    mem_use(NULL);
}
END_TEST

START_TEST(names_have_any_length)
{
    static char text[70000];
    static const size_t lengths[] = { 0, 1, 254, 255, 256, sizeof(text) };
    struct due_keys keys;
    unsigned db;
    due_keys_init(&keys);
    memset(text, 'n', sizeof(text));
    for (size_t i = 0; i < COUNT(lengths); i++)
        due_keys_set(&keys, 0, due_keys_add(&keys, 0, bytes_of(text, lengths[i])),
                     (struct due_at){ (msec)i });
    for (size_t i = 0; i < COUNT(lengths); i++) {
        struct due_key *key = due_keys_first(&keys, 100, &db);
        ck_assert_ptr_eq(key, due_keys_find(&keys, 0, bytes_of(text, lengths[i])));
        ck_assert(bytes_equal(due_key_name(key), bytes_of(text, lengths[i])));
        due_keys_forget(&keys, 0, key);
    }
    ck_assert_ptr_null(due_keys_first(&keys, 100, &db));
    due_keys_drop(&keys);
}
END_TEST

START_TEST(advance_never_makes_an_instant_later)
{
    /* Around a border of the coarse instants, and around the end of their range. */
    static const msec starts[] = { 0, 5 * 1024, (msec)UINT32_MAX << 10 };
    for (size_t i = 0; i < COUNT(starts); i++)
        for (msec was = starts[i]; was < starts[i] + 2100; was += 50)
            for (msec at = starts[i]; at < starts[i] + 2100; at += 50) {
                struct due_keys keys;
                due_keys_init(&keys);
                struct due_key *key = put(&keys, 0, 1, was);
                due_keys_advance(&keys, 0, key, (struct due_at){ at });
                ck_assert_int_eq(due_keys_next(&keys).at, at < was ? at : was);
                due_keys_drop(&keys);
            }
}
END_TEST

/* ---- random steps ---------------------------------------------------------------------------- */

struct model {
    bool known[DATABASES][NAMES];
    msec at[DATABASES][NAMES]; /* NEVER: not set */
};

static void forget_all(struct model *model, unsigned db)
{
    for (unsigned i = 0; i < NAMES; i++)
        model->known[db][i] = false;
}

static void swap_databases(struct model *model, unsigned a, unsigned b)
{
    struct model kept = *model;
    memcpy(model->known[a], kept.known[b], sizeof(kept.known[b]));
    memcpy(model->known[b], kept.known[a], sizeof(kept.known[a]));
    memcpy(model->at[a], kept.at[b], sizeof(kept.at[b]));
    memcpy(model->at[b], kept.at[a], sizeof(kept.at[a]));
}

static void add_one(struct due_keys *keys, struct model *model, unsigned db, unsigned i)
{
    struct due_key *key = due_keys_add(keys, db, name_at(i));
    if (!model->known[db][i]) model->at[db][i] = NEVER;
    model->known[db][i] = true;
    if (rng_below(&rng, 2) == 0) return;
    msec at = (msec)rng_below(&rng, INSTANTS);
    bool advances = rng_below(&rng, 2) == 0;
    if (advances)
        due_keys_advance(keys, db, key, (struct due_at){ at });
    else
        due_keys_set(keys, db, key, (struct due_at){ at });
    if (!advances || at < model->at[db][i]) model->at[db][i] = at;
}

static void forget_one(struct due_keys *keys, struct model *model, unsigned db, unsigned i)
{
    struct due_key *key = due_keys_find(keys, db, name_at(i));
    ck_assert(model->known[db][i] == (key != NULL));
    if (key != NULL) due_keys_forget(keys, db, key);
    model->known[db][i] = false;
}

/* Looking ahead changes nothing, and finds the entry of the name or of another one. */
static void look_ahead(const struct due_keys *keys, unsigned db, unsigned i)
{
    struct due_hint hint = { .db = db, .name = name_at(i) };
    due_hint_table(keys, &hint);
    ck_assert_uint_eq(hint.hash, siphash(hint.name.data, hint.name.len));
    due_hint_key(keys, &hint);
    due_hint_instant(keys, &hint, (struct due_at){ (msec)rng_below(&rng, INSTANTS) });
}

static void random_step(struct due_keys *keys, struct model *model)
{
    unsigned db = (unsigned)rng_below(&rng, DATABASES), i = (unsigned)rng_below(&rng, NAMES);
    switch (rng_below(&rng, 40)) {
    case 0:
        due_keys_flush(keys, (int)db);
        forget_all(model, db);
        break;
    case 1:
        due_keys_swap(keys, db, (db + 1) % DATABASES);
        swap_databases(model, db, (db + 1) % DATABASES);
        break;
    case 2:
    case 3: due_keys_reclaim(keys, rng_below(&rng, 10)); break;
    default:
        if (rng_below(&rng, 3) == 0)
            forget_one(keys, model, db, i);
        else if (rng_below(&rng, 3) == 0)
            look_ahead(keys, db, i);
        else
            add_one(keys, model, db, i);
    }
}

static msec model_next(const struct model *model)
{
    msec next = NEVER;
    for (unsigned db = 0; db < DATABASES; db++)
        for (unsigned i = 0; i < NAMES; i++)
            if (model->known[db][i] && model->at[db][i] < next) next = model->at[db][i];
    return next;
}

START_TEST(random_steps_agree_with_a_model)
{
    struct due_keys keys;
    static struct model model;
    due_keys_init(&keys);
    rng_init(&rng, test_seed());
    for (int step = 0; step < STEPS; step++) {
        random_step(&keys, &model);
        ck_assert_int_eq(due_keys_next(&keys).at, model_next(&model));
        if (step % 64 == 0) due_keys_check(&keys);
    }
    due_keys_drop(&keys);
    ck_assert_uint_eq(mem_used(), 0);
}
END_TEST

Suite *test_suite(void)
{
    const TTest *const tests[] = { without_names_nothing_is_due_and_no_memory_is_used,
                                   the_earliest_name_of_all_databases_is_first,
                                   a_flush_ends_a_database_and_a_swap_moves_it,
                                   a_flushed_database_is_freed_in_slices,
                                   a_name_costs_about_39_bytes_plus_its_length,
                                   names_have_any_length,
                                   advance_never_makes_an_instant_later,
                                   random_steps_agree_with_a_model,
                                   NULL };
    return suite_of("due_keys", tests);
}
