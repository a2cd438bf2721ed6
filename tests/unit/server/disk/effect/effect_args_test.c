/* Tests of effect_args: effects as vectors of arguments, which are the words of their text. */
#include "tests/unit/server/disk/effect/effect_samples.h"

/* Words as desk_words has them, and the arguments of the current command. */
static struct {
    char *argv[256];
    size_t lens[256], argc;
    struct outbuf words;
} vector;

static struct bytes keep_argument(void *ctx, size_t index, struct bytes text)
{
    ck_assert_ptr_eq(ctx, &vector);
    ck_assert_uint_le(index, vector.argc);
    if (index == vector.argc)
        vector.argc++;
    else
        mem_free(vector.argv[index]);
    vector.argv[index] = mem_alloc(text.len + 1);
    memcpy(vector.argv[index], text.data, text.len);
    vector.lens[index] = text.len;
    return bytes_of(vector.argv[index], text.len);
}

static void end_command(void *ctx, size_t argc)
{
    ck_assert_ptr_eq(ctx, &vector);
    ck_assert_uint_eq(argc, vector.argc);
    for (size_t i = 0; i < argc; i++) {
        outbuf_append(&vector.words, vector.argv[i], vector.lens[i]);
        outbuf_append(&vector.words, i + 1 < argc ? " " : "/", 1);
        mem_free(vector.argv[i]);
    }
    vector.argc = 0;
}

/* Writes the effects both ways. */
static void assert_same_words(const struct effect *effects, size_t count)
{
    static struct effect_args args;
    args = (struct effect_args){ .keep = keep_argument, .end = end_command, .ctx = &vector };
    desk_begin();
    desk.writer.db = 0;
    outbuf_init(&vector.words);
    for (size_t i = 0; i < count; i++) {
        effect_args_put(&args, &effects[i]);
        effect_writer_put(&desk.writer, &effects[i]);
    }
    effect_args_end(&args);
    desk_read();
    const char *words = desk_words();
    char *text = mem_alloc(vector.words.len);
    outbuf_copy(&vector.words, text);
    ck_assert_uint_eq(vector.words.len, strlen(words));
    ck_assert_mem_eq(text, words, vector.words.len);
    mem_free(text);
    outbuf_drop(&vector.words);
    desk_end();
}

START_TEST(arguments_are_the_words_of_the_text)
{
    struct rng rng;
    rng_init(&rng, test_seed());
    memset(pool, 'x', sizeof(pool));
    for (int round = 0; round < 2000; round++) {
        struct effect effects[30];
        size_t count = 1 + rng_below(&rng, 30);
        for (size_t i = 0; i < count; i++) {
            effects[i] = some_effect(&rng, i > 0 ? &effects[i - 1] : NULL);
            effects[i].db = 0;
            if (effects[i].key.len > 40) effects[i].key.len = 40;
            if (effects[i].a.len > 40) effects[i].a.len = 40;
            if (effects[i].b.len > 40) effects[i].b.len = 40;
        }
        assert_same_words(effects, count);
    }
}
END_TEST

START_TEST(argument_vectors_end_at_64_elements_and_at_16_kib)
{
    static const struct effect push = { EFFECT_REDE_DROP, .key = LIT("d"), .a = LIT("a") };
    static struct effect_args args;
    args = (struct effect_args){ .keep = keep_argument, .end = end_command, .ctx = &vector };
    outbuf_init(&vector.words);
    for (int i = 0; i < 64; i++)
        effect_args_put(&args, &push);
    ck_assert_uint_eq(vector.argc, 2 + 64);
    effect_args_put(&args, &push);
    ck_assert_uint_eq(vector.argc, 2 + 1);
    struct effect big = push;
    big.a = bytes_of(pool, EFFECT_RUN_BYTES);
    effect_args_put(&args, &big);
    ck_assert_uint_eq(vector.argc, 2 + 1);
    effect_args_end(&args);
    effect_args_end(&args);
    ck_assert_uint_eq(vector.argc, 0);
    outbuf_drop(&vector.words);
}
END_TEST

Suite *test_suite(void)
{
    const TTest *const tests[] = {
        arguments_are_the_words_of_the_text,
        argument_vectors_end_at_64_elements_and_at_16_kib,
        NULL,
    };
    return suite_of("effect_args", tests);
}
