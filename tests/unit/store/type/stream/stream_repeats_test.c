/* stream_repeats: random programs compared with plain arrays, walks, freeing in slices, memory. */
#include "store/type/stream/stream_repeats.h"

#include <stdio.h>
#include <stdlib.h>

#include "store/mem/mem.h"
#include "tests/support/rng.h"
#include "tests/support/suite.h"

enum { PRODUCERS = 5, TEXTS = 30, PUTS = 4000 };

struct put {
    unsigned producer, text;
    struct stream_id id;
};

struct model {
    struct rng rng;
    struct stream_repeats *repeats;
    struct repeat_limits limits;
    struct put puts[PUTS]; /* since the limits were set */
    unsigned count;
};

struct text {
    char data[16];
};

static struct bytes name_of(struct text *text, unsigned n)
{
    return bytes_of(text->data, (size_t)snprintf(text->data, sizeof(text->data), "%u", n));
}

/* By the model: the last put of the text, if it is among the last of its producer and young enough.
 */
static bool is_known(const struct model *model, unsigned producer, unsigned text, msec now,
                     struct stream_id *id)
{
    int64_t after = 0;
    for (unsigned i = model->count; i-- > 0;) {
        const struct put *put = &model->puts[i];
        if (put->producer != producer) continue;
        *id = put->id;
        if (put->text == text)
            return after < model->limits.texts &&
                   (msec)put->id.ms + model->limits.seconds * 1000 >= now;
        after++;
    }
    return false;
}

static void compare(const struct model *model, msec now)
{
    struct repeat_tally tally = repeat_tally(model->repeats, now);
    size_t producers = 0, texts = 0;
    for (unsigned p = 0; p < PRODUCERS; p++) {
        size_t before = texts;
        for (unsigned t = 0; t < TEXTS; t++) {
            struct text name, text;
            struct stream_id got = STREAM_ID_MIN, wanted;
            bool known = is_known(model, p, t, now, &wanted);
            ck_assert_int_eq(
                repeat_find(model->repeats, name_of(&name, p), name_of(&text, t), now, &got),
                known);
            if (known) ck_assert(stream_id_equal(got, wanted));
            texts += known;
        }
        producers += texts > before;
    }
    ck_assert_uint_eq(tally.producers, producers);
    ck_assert_uint_eq(tally.texts, texts);
    ck_assert_int_eq(repeat_counts(model->repeats).added, model->count);
}

/* A copy by the walk knows the same. */
static void compare_copy(struct model *model, msec now)
{
    struct stream_repeats *original = model->repeats;
    struct repeat_walk walk;
    size_t work = SIZE_MAX;
    model->repeats = stream_repeats_new();
    repeat_set_limits(model->repeats, repeat_limits(original));
    repeat_walk_begin(&walk, original);
    while (repeat_walk_next(&walk))
        repeat_put(model->repeats, walk.producer, walk.text, walk.id);
    repeat_set_counts(model->repeats, repeat_counts(original));
    stream_repeats_check(model->repeats);
    compare(model, now);
    stream_repeats_free_some(model->repeats, &work);
    model->repeats = original;
}

static void put(struct model *model, unsigned producer, unsigned text, struct stream_id id)
{
    struct text name, said;
    ck_assert(repeat_fits(model->repeats, name_of(&name, producer), id));
    repeat_put(model->repeats, name_of(&name, producer), name_of(&said, text), id);
    ck_assert(!repeat_fits(model->repeats, name_of(&name, producer), id));
    model->puts[model->count++] = (struct put){ producer, text, id };
}

static void run(struct model *model)
{
    msec now = 1000;
    for (unsigned i = 0; i < PUTS / 2; i++) {
        struct stream_id id;
        now += (msec)rng_below(&model->rng, 3) * (msec)rng_below(&model->rng, 400);
        unsigned producer = (unsigned)rng_below(&model->rng, PRODUCERS);
        unsigned text = (unsigned)rng_below(&model->rng, TEXTS);
        if (!is_known(model, producer, text, now, &id))
            put(model, producer, text, (struct stream_id){ (uint64_t)now, i });
        stream_repeats_check(model->repeats);
        if (i % 50 == 0) compare(model, now + rng_between(&model->rng, 0, 3000));
        if (i % 100 == 0) compare_copy(model, now);
        ck_assert_uint_eq(stream_repeats_bytes(model->repeats), mem_used());
        if (!rng_chance(&model->rng, 1)) continue;
        model->limits = (struct repeat_limits){ rng_between(&model->rng, 1, 9),
                                                rng_between(&model->rng, 1, 12) };
        repeat_set_limits(model->repeats, model->limits);
        repeat_set_counts(model->repeats, (struct repeat_counts){ 0 });
        model->count = 0;
        compare(model, now);
    }
}

START_TEST(random_programs_agree_with_the_model)
{
    struct model *model = calloc(1, sizeof(*model));
    rng_init(&model->rng, (uint64_t)_i + 1);
    model->repeats = stream_repeats_new();
    model->limits = (struct repeat_limits){ REPEAT_SECONDS, REPEAT_TEXTS };
    run(model);
    for (bool done = false; !done;) {
        size_t work = 7;
        done = stream_repeats_free_some(model->repeats, &work);
        if (!done) stream_repeats_check(model->repeats);
    }
    ck_assert_uint_eq(mem_used(), 0);
    free(model);
}
END_TEST

START_TEST(equal_limits_forget_nothing)
{
    struct stream_repeats *repeats = stream_repeats_new();
    struct stream_id id;
    size_t work = SIZE_MAX;
    repeat_put(repeats, LIT("p"), LIT(""), (struct stream_id){ 5, 1 });
    repeat_set_limits(repeats, (struct repeat_limits){ REPEAT_SECONDS, REPEAT_TEXTS });
    ck_assert(repeat_find(repeats, LIT("p"), LIT(""), 100005, &id));
    ck_assert(!repeat_find(repeats, LIT("p"), LIT(""), 100006, &id));
    repeat_set_limits(repeats, (struct repeat_limits){ REPEAT_SECONDS, 1 });
    ck_assert(!repeat_find(repeats, LIT("p"), LIT(""), 5, &id));
    stream_repeats_free_some(repeats, &work);
}
END_TEST

Suite *test_suite(void)
{
    Suite *suite = suite_create("stream_repeats");
    TCase *tcase = tcase_create("stream_repeats");
    if (!suite_skips(random_programs_agree_with_the_model->name))
        tcase_add_loop_test(tcase, random_programs_agree_with_the_model, 0, 6);
    if (!suite_skips(equal_limits_forget_nothing->name))
        tcase_add_test(tcase, equal_limits_forget_nothing);
    tcase_set_timeout(tcase, 60);
    suite_add_tcase(suite, tcase);
    return suite;
}
