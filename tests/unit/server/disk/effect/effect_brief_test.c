/* Tests of effect_brief: its bytes are those that the header lists, effects are read back, and what
 * nobody writes is refused. */
#include "server/disk/effect/effect_brief.h"

#include <stdlib.h>

#include "tests/support/random_call.h"
#include "tests/support/world.h"
#include "tests/unit/server/disk/effect/effect_samples.h"

#define K .key = LIT("k")
#define A .a = LIT("a")
#define B .b = LIT("b")

static char bytes[BRIEF_TEXTS_MAX + BRIEF_HEAD];
static struct bytes last;

/* Prints the effect as the first one of a record. */
static size_t print_first(const struct effect *effect)
{
    last = (struct bytes){ 0 };
    return effect_brief_print(bytes, effect, &last);
}

static enum request_status read_first(const char *data, size_t len, struct effect *effect,
                                      size_t *size)
{
    struct bytes none = { 0 };
    *effect = (struct effect){ .db = 5 };
    return effect_brief_read(data, len, &none, effect, size);
}

START_TEST(layout_is_the_one_in_the_header)
{
#define STAGE_AT .stage.at = 0x0102030405
    static const struct {
        struct effect effect;
        struct bytes bytes;
    } layouts[] = {
        { { EFFECT_SET, K, .a = LIT("value"), .at = NEVER }, LIT("\x80\1\5\0kvalue") },
        { { EFFECT_SET, K, A, .at = 0x0102030405 }, LIT("\x81\1\1\0\5\4\3\2\1\0\0\0ka") },
        { { EFFECT_DROP, K }, LIT("\x82\1k") },
        { { EFFECT_EXPIRE, K, .at = 7 }, LIT("\x83\1\7\0\0\0\0\0\0\0k") },
        { { EFFECT_HASH_PUT, K, A, B, .at = NEVER }, LIT("\x84\1\1\0\1\0kab") },
        { { EFFECT_ZSET_PUT, K, A, .score = 1.5, .at = NEVER },
          LIT("\x85\1\1\0\0\0\0\0\0\0\xf8\x3fka") },
        { { EFFECT_REDE_PUSH, K, A, B, STAGE_AT }, LIT("\x86\1\1\0\1\0\5\4\3\2\1\0\0\0kab") },
        { { EFFECT_REDE_MOVE, K, A, STAGE_AT, .stage.deliveries = 3, .stage.claimed = true,
            .stage.token = 258 },
          LIT("\x87\1\1\0\5\4\3\2\1\0\0\0\3\0\0\0\2\1\0\0\0\0\0\0ka") },
        { { EFFECT_REDE_MOVE, K, A, STAGE_AT },
          LIT("\x87\1\1\0\5\4\3\2\1\0\0\0\0\0\0\0\xff\xff\xff\xff\xff\xff\xff\xff"
              "ka") },
        { { EFFECT_REDE_DROP, K, A }, LIT("\x88\1\1\0ka") },
    };
    for (size_t i = 0; i < sizeof(layouts) / sizeof(layouts[0]); i++) {
        const struct bytes *wanted = &layouts[i].bytes;
        ck_assert_uint_eq(print_first(&layouts[i].effect), wanted->len);
        ck_assert_mem_eq(bytes, wanted->data, wanted->len);
    }
}
END_TEST

/* Alone, and after an effect of the same key and of another one. */
START_TEST(effects_of_every_kind_are_read_back)
{
    static const struct effect before[] = { { EFFECT_DROP, .key = LIT("k") },
                                            { EFFECT_DROP, .key = LIT("") } };
    unsigned kinds = 0;
    for (size_t i = 0; i < 2 * SAMPLES; i++) {
        struct effect effect = samples[i / 2].effect, got = { .db = effect.db };
        if (print_first(&effect) == 0) continue;
        kinds++;
        size_t first = print_first(&before[i % 2]), size;
        size_t len = effect_brief_print(bytes + first, &effect, &last);
        ck_assert(bytes_equal(last, effect.key));
        struct bytes key = { 0 };
        struct effect other = { 0 };
        ck_assert_int_eq(effect_brief_read(bytes, first, &key, &other, &size), REQUEST_WHOLE);
        ck_assert_int_eq(effect_brief_read(bytes + first, len, &key, &got, &size), REQUEST_WHOLE);
        ck_assert_uint_eq(size, len);
        ck_assert(same_effect(&effect, &got));

        print_first(&effect);
        ck_assert_int_eq(read_first(bytes, sizeof(bytes), &got, &size), REQUEST_WHOLE);
        ck_assert_uint_eq(got.db, 5);
    }
    ck_assert_uint_ge(kinds, 2 * 10);
}
END_TEST

START_TEST(beginning_of_an_effect_is_partial)
{
    for (size_t i = 0; i < SAMPLES; i++) {
        size_t len = print_first(&samples[i].effect), size;
        struct effect got;
        for (size_t cut = 1; cut < len; cut++) {
            char *part = malloc(cut); /* so that a sanitizer sees what is read behind it */
            memcpy(part, bytes, cut);
            ck_assert_int_eq(read_first(part, cut, &got, &size), REQUEST_PARTIAL);
            ck_assert(size > cut && size <= len);
            ck_assert_int_eq(effect_brief_measure(part, cut, &size), REQUEST_PARTIAL);
            free(part);
        }
        if (len == 0) continue;
        ck_assert_int_eq(effect_brief_measure(bytes, len, &size), REQUEST_WHOLE);
        ck_assert_uint_eq(size, len);
    }
}
END_TEST

START_TEST(effects_that_nobody_writes_are_malformed)
{
    static const struct bytes malformed[] = {
        LIT("\x89\1k"), /* no such kind */
        LIT("\xbf\1k"),
        LIT("\xc2"), /* the key of which effect? */
        LIT("\x83\1\xff\xff\xff\xff\xff\xff\xff\xffk"),
        LIT("\x83\1\xff\xff\xff\xff\xff\xff\xff\x7fk"),
        LIT("\x81\1\1\0\xff\xff\xff\xff\xff\xff\xff\x7fka"),
        LIT("\x85\1\1\0\0\0\0\0\0\0\xf8\x7fka"), /* not a number */
        LIT("\x86\1\1\0\1\0\xff\xff\xff\xff\xff\xff\xff\xffkab"),
        LIT("\x87\1\1\0\5\4\3\2\1\0\0\0\0\0\0\0\xfe\xff\xff\xff\xff\xff\xff\xff"
            "ka"),
        LIT("\x87\1\1\0\5\4\3\2\1\0\0\0\0\0\0\0\xff\xff\xff\xff\xff\xff\xff\x7f"
            "ka"),
        LIT("\x80\1\xa0\x0fk"), /* with the key more texts than an effect in brief form has */
        LIT("\x84\1\xff\xff\xff\xffk"),
    };
    for (size_t i = 0; i < sizeof(malformed) / sizeof(malformed[0]); i++) {
        struct effect got;
        size_t size;
        ck_assert_int_eq(read_first(malformed[i].data, malformed[i].len, &got, &size),
                         REQUEST_MALFORMED);
        ck_assert_uint_eq(size, 0);
    }
}
END_TEST

START_TEST(random_bytes_are_never_read_beyond_their_end)
{
    struct rng rng;
    rng_init(&rng, test_seed());
    for (int i = 0; i < 100000; i++) {
        size_t len = 1 + rng_below(&rng, 40), size, measured;
        char *some = malloc(len); /* so that a sanitizer sees what is read behind it */
        for (size_t at = 0; at < len; at++)
            some[at] = (char)(rng_chance(&rng, 70) ? rng_below(&rng, 6) : rng_below(&rng, 256));
        some[0] = (char)(BRIEF_MARK | rng_below(&rng, 12) | (rng_chance(&rng, 50) ? 0x40u : 0u));
        struct bytes key = rng_chance(&rng, 50) ? LIT("key") : (struct bytes){ 0 };
        struct effect got = { 0 };
        enum request_status status = effect_brief_read(some, len, &key, &got, &size);
        enum request_status rough = effect_brief_measure(some, len, &measured);
        if (status == REQUEST_WHOLE) {
            ck_assert_uint_le(size, len);
            ck_assert(effect_times_ok(&got));
            ck_assert(bytes_equal(key, got.key));
        }
        if (status != REQUEST_MALFORMED) ck_assert(status == rough && size == measured);
        free(some);
    }
}
END_TEST

/* These are written as commands. */
START_TEST(other_effects_have_no_brief_form)
{
    static char key[256];
    const struct effect others[] = {
        { EFFECT_SET, .key = bytes_of(key, 256), A, .at = NEVER },
        { EFFECT_ZSET_PUT, K, A, .at = 9 },
        { EFFECT_HASH_PUT, K, A, B, .at = 9 },
        { EFFECT_REDE_PUSH, K, A, B, .stage.deliveries = 1 },
        { EFFECT_REDE_PUSH, K, A, B, .stage.claimed = true },
        { EFFECT_APPEND, K, A },
    };
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
        ck_assert_uint_eq(print_first(&others[i]), 0);
    struct effect longest = { EFFECT_SET, .key = bytes_of(key, 255), A, .at = NEVER }, got;
    size_t size, len = print_first(&longest);
    ck_assert_uint_gt(len, 255);
    ck_assert_int_eq(read_first(bytes, len, &got, &size), REQUEST_WHOLE);
    ck_assert(bytes_equal(got.key, longest.key));
}
END_TEST

/* Commands and brief effects in turn, in several databases, texts of any length. */
START_TEST(writer_prefers_the_brief_form)
{
    static char value[BRIEF_TEXTS_MAX + 1];
    struct effect set = { EFFECT_SET, K, .a = bytes_of(value, sizeof(value) - 2), .at = NEVER };
    struct effect append = { EFFECT_APPEND, K, A };
    desk_begin();
    desk.writer.is_brief = true;
    effect_writer_put(&desk.writer, &set); /* after SELECT */
    size_t selected = strlen("*2\r\n$6\r\nSELECT\r\n$1\r\n0\r\n");
    ck_assert_uint_eq(desk.out.len, selected + 4 + 1 + set.a.len);
    effect_writer_put(&desk.writer, &set);
    ck_assert_uint_eq(desk.out.len, selected + 2 * (4 + 1 + set.a.len)); /* SET states its key */
    size_t before = desk.out.len;
    effect_writer_put(&desk.writer, &append);
    ck_assert_uint_gt(desk.out.len, before + 10);
    effect_writer_end_record(&desk.writer);
    before = desk.out.len;
    set.a.len = 1;
    effect_writer_put(&desk.writer, &set); /* a new record names the key */
    ck_assert_uint_eq(desk.out.len, before + 6);
    before = desk.out.len;
    set.a.len = sizeof(value);
    effect_writer_put(&desk.writer, &set);
    ck_assert_uint_gt(desk.out.len, before + 20 + sizeof(value));
    ck_assert_uint_eq(desk.writer.commands, 3);
    desk_end();
}
END_TEST

static size_t passed_on;

static void write_effect(void *ctx, const struct txn *txn, const struct effect *effect)
{
    (void)txn;
    /* Random texts are no libraries, so no reader would accept them. */
    if (effect->kind == EFFECT_LIBRARY_SET || effect->kind == EFFECT_LIBRARY_DROP) {
        world_keep(ctx, effect);
        return;
    }
    passed_on += effect->kind != EFFECT_NONE;
    effect_writer_put(&desk.writer, effect);
}

static void end_unit(void *ctx, const struct txn *txn)
{
    (void)ctx;
    effect_writer_end(&desk.writer);
    if (txn->now % 3 == 0) effect_writer_end_record(&desk.writer);
}

static bool keep_in_world(void *world, const struct effect *effect)
{
    world_keep(world, effect);
    return true;
}

/* Keeps the effects that were written in the world, and returns how many. */
static size_t keep_written(struct world *world)
{
    size_t before = world->effect_count, size;
    struct request request;
    struct effect_reader reader;
    struct bytes key = { 0 };
    request_init(&request);
    effect_reader_init(&reader);
    outbuf_check(&desk.out);
    char *written = desk.text = mem_alloc(desk.out.len);
    outbuf_copy(&desk.out, written);
    for (size_t at = 0, len = desk.out.len; at < len; at += size) {
        struct effect effect = { .db = reader.db };
        if (effect_brief_begins(written[at])) {
            ck_assert_int_eq(effect_brief_read(written + at, len - at, &key, &effect, &size),
                             REQUEST_WHOLE);
            world_keep(world, &effect);
            continue;
        }
        ck_assert_int_eq(request_read(&request, written + at, len - at, &size), REQUEST_WHOLE);
        ck_assert(effect_text_read(request.argc, request.argv, &reader, keep_in_world, world));
    }
    request_drop(&request);
    return world->effect_count - before;
}

/* Runs random mutators that append to the writer's buffer, or pass effects to the writer. What they
 * wrote must rebuild their data. Returns how many effects were appended. */
static size_t run_mutators(uint64_t seed)
{
    struct world world;
    struct rng rng;
    rng_init(&rng, seed);
    world_init(&world);
    desk_begin();
    desk.writer.is_brief = true;
    passed_on = 0;
    struct effect_listener listener = {
        .effect = write_effect, .commit = end_unit, .ctx = &world, .brief = &desk.writer.brief
    };
    store_listen(world.store, LISTEN_CHANGES | LISTEN_BRIEF, &listener);
    for (int i = 0; i < 300; i++, world.now += rng_between(&rng, 0, 3)) {
        struct txn *txn = world_begin(&world);
        for (uint64_t calls = 1 + rng_below(&rng, 4); calls > 0; calls--)
            random_call(txn, &rng);
        world_commit(&world);
        if (rng_chance(&rng, 10)) store_hide(world.store, world.now, 3);
    }
    size_t appended = keep_written(&world) - passed_on;
    struct store *copy = world_replay(&world);
    struct digest live = store_digest(world.store, world.now);
    struct digest read = store_digest(copy, world.now);
    ck_assert_msg(live.high == read.high && live.low == read.low, "seed %llu differs",
                  (unsigned long long)seed);
    store_free(copy);
    desk_end();
    world_drop(&world);
    return appended;
}

START_TEST(mutators_and_the_writer_share_a_buffer)
{
    uint64_t seed = test_seed();
    size_t appended = 0;
    for (unsigned i = 0; i < 40; i++)
        appended += run_mutators(seed + i);
    ck_assert_uint_gt(appended, 40);
}
END_TEST

Suite *test_suite(void)
{
    const TTest *const tests[] = {
        layout_is_the_one_in_the_header,
        effects_of_every_kind_are_read_back,
        beginning_of_an_effect_is_partial,
        effects_that_nobody_writes_are_malformed,
        random_bytes_are_never_read_beyond_their_end,
        other_effects_have_no_brief_form,
        writer_prefers_the_brief_form,
        mutators_and_the_writer_share_a_buffer,
        NULL,
    };
    return suite_of("effect_brief", tests);
}
