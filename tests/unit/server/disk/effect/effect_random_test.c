/* Tests of effect_text with effects of any bytes and any size, written and printed. */
#include "tests/unit/server/disk/effect/effect_samples.h"

START_TEST(an_entry_of_any_size_is_read_back)
{
    static const size_t sizes[] = { 0, 1, 50, 3500, 4096, 16384, 90000 };
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        const struct bytes texts[] = { LIT("a"), bytes_of(pool, sizes[i]), bytes_of(pool, 0),
                                       bytes_of(pool, sizes[i]) };
        const struct effect effects[] = {
            { EFFECT_STREAM_ADD, .key = LIT("s"), .id = { i, 1 }, .texts = texts, .text_count = 2 },
            { EFFECT_STREAM_ADD, .key = LIT("s"), .id = { i, 2 }, .texts = texts, .text_count = 4 },
        };
        assert_returns(effects, 2);
    }
}
END_TEST

START_TEST(random_effects_of_any_bytes_are_read_back_in_order)
{
    struct rng rng;
    rng_init(&rng, test_seed());
    for (size_t i = 0; i < sizeof(pool); i++)
        pool[i] = (char)rng_next(&rng);
    for (int round = 0; round < 200; round++) {
        static struct effect effects[300];
        size_t count = 1 + rng_below(&rng, 300);
        for (size_t i = 0; i < count; i++)
            effects[i] = some_effect(&rng, i > 0 ? &effects[i - 1] : NULL);
        assert_returns(effects, count);
    }
}
END_TEST

/* Prints the effect into this room, and checks it against the writer's text. False: 0. */
static bool prints(const struct effect *effect, char *to, size_t room)
{
    memset(to, '?', EFFECT_PRINT_MAX + 1);
    desk_begin();
    desk.writer.db = 0;
    size_t len = effect_writer_print(&desk.writer, effect, to, room);
    ck_assert_uint_le(len, room);
    size_t touched = 0;
    for (size_t i = room; i <= EFFECT_PRINT_MAX; i++)
        touched += to[i] != '?';
    ck_assert_uint_eq(touched, 0);
    effect_writer_put(&desk.writer, effect);
    if (len > 0) {
        char *text = mem_alloc(desk.out.len);
        outbuf_copy(&desk.out, text);
        ck_assert_uint_eq(len, desk.out.len);
        ck_assert_mem_eq(to, text, len);
        mem_free(text);
    }
    desk_end();
    return len > 0;
}

START_TEST(printed_commands_are_those_that_are_written)
{
    struct rng rng;
    char to[EFFECT_PRINT_MAX + 1];
    unsigned printed = 0;
    rng_init(&rng, test_seed());
    for (size_t i = 0; i < sizeof(pool); i++)
        pool[i] = (char)rng_next(&rng);
    for (int round = 0; round < 20000; round++) {
        struct effect effect = some_effect(&rng, NULL);
        size_t room = rng_chance(&rng, 50) ? EFFECT_PRINT_MAX : rng_below(&rng, 600);
        printed += prints(&effect, to, room);
    }
    ck_assert_uint_gt(printed, 1000);
}
END_TEST

START_TEST(no_command_is_printed_that_may_continue_or_needs_select)
{
    char to[EFFECT_PRINT_MAX];
    struct effect set = { EFFECT_SET, .key = LIT("k"), .a = LIT("v"), .at = NEVER };
    struct effect add = { EFFECT_SET_ADD, .key = LIT("k"), .a = LIT("v"), .at = NEVER };
    desk_begin();
    ck_assert_uint_eq(effect_writer_print(&desk.writer, &set, to, sizeof(to)), 0);
    effect_writer_put(&desk.writer, &set);
    ck_assert_uint_gt(effect_writer_print(&desk.writer, &set, to, sizeof(to)), 0);
    ck_assert_uint_eq(effect_writer_print(&desk.writer, &add, to, sizeof(to)), 0);
    effect_writer_put(&desk.writer, &add);
    ck_assert_uint_eq(effect_writer_print(&desk.writer, &set, to, sizeof(to)), 0);
    effect_writer_end(&desk.writer);
    set.db = 1;
    ck_assert_uint_eq(effect_writer_print(&desk.writer, &set, to, sizeof(to)), 0);
    desk_end();
}
END_TEST

Suite *test_suite(void)
{
    const TTest *const tests[] = {
        an_entry_of_any_size_is_read_back,
        random_effects_of_any_bytes_are_read_back_in_order,
        printed_commands_are_those_that_are_written,
        no_command_is_printed_that_may_continue_or_needs_select,
        NULL,
    };
    return suite_of("effect_random", tests);
}
