/* Tests of effect_pack: commands are read back, are short, and damage is found. */
#include "server/disk/effect/effect_pack.h"

#include <stdio.h>
#include <stdlib.h>

#include "tests/support/rng.h"
#include "tests/support/suite.h"
#include "tests/unit/server/disk/effect/effect_samples.h"

static struct buffer packed;
static struct effect_packer packer;
static char words[4096];

static struct bytes of(const char *text)
{
    return bytes_of(text, strlen(text));
}

static void begin(void)
{
    buffer_clear(&packed);
    effect_packer_init(&packer, &packed);
}

static void put(struct effect effect)
{
    effect_packer_put(&packer, &effect);
}

/* Reads all; `words` has the commands, a space between words and ';' after each. False: damage. */
static bool unpack(struct bytes bytes)
{
    struct effect_unpacker unpacker;
    bool good = true;
    size_t len = 0;
    effect_unpacker_init(&unpacker, bytes);
    words[0] = '\0';
    while (good && effect_unpacker_more(&unpacker)) {
        good = effect_unpacker_next(&unpacker);
        for (int i = 0; good && i < unpacker.argc && len < sizeof(words) - 64; i++)
            len += (size_t)snprintf(words + len, sizeof(words) - len, "%s%.*s", i > 0 ? " " : "",
                                    (int)unpacker.argv[i].len, unpacker.argv[i].data);
        if (good && len < sizeof(words) - 64)
            len += (size_t)snprintf(words + len, sizeof(words) - len, ";");
    }
    effect_unpacker_drop(&unpacker);
    return good;
}

static void check_words(const char *expected)
{
    ck_assert(effect_packer_end(&packer));
    ck_assert(unpack(buffer_bytes(&packed)));
    ck_assert_str_eq(words, expected);
}

START_TEST(every_kind_of_effect_is_packed_as_its_command)
{
    for (size_t i = 0; i < SAMPLES; i++) {
        char expected[256];
        begin();
        put(samples[i].effect);
        put(samples[i].effect);
        snprintf(expected, sizeof(expected), "%s;%s;", samples[i].words, samples[i].words);
        check_words(expected);
    }
    buffer_drop(&packed);
}
END_TEST

START_TEST(only_what_differs_from_the_previous_command_takes_bytes)
{
    begin();
    put((struct effect){ EFFECT_HASH_PUT, .a = LIT("f1"), .b = LIT("x"), .at = 1000000000000 });
    size_t first = packed.len;
    put((struct effect){ EFFECT_HASH_PUT, .a = LIT("f2"), .b = LIT("x"), .at = 1000000000003 });
    /* Name, key and PXAT; the deadline; FIELDS 1; f2; x; the end. */
    ck_assert_uint_eq(packed.len - first, 1 + 1 + 1 + 3 + 1 + 1);
    check_words("HSETEX  PXAT 1000000000000 FIELDS 1 f1 x;"
                "HSETEX  PXAT 1000000000003 FIELDS 1 f2 x;");
    buffer_drop(&packed);
}
END_TEST

START_TEST(numbers_of_any_size_are_read_back)
{
    static const char *const texts[] = { "0",
                                         "-1",
                                         "01",
                                         "-0",
                                         "",
                                         "9223372036854775807",
                                         "-9223372036854775808",
                                         "9223372036854775808",
                                         "1152921504606846975",
                                         "-1152921504606846976",
                                         "5" };
    enum { TEXTS = sizeof(texts) / sizeof(texts[0]) };
    for (int i = 0; i < TEXTS; i++)
        for (int j = 0; j < TEXTS; j++) {
            char expected[128];
            begin();
            put((struct effect){ EFFECT_SET_ADD, .a = of(texts[i]), .at = NEVER });
            put((struct effect){ EFFECT_SET_ADD, .a = of(texts[j]), .at = NEVER });
            snprintf(expected, sizeof(expected), "SADD  %s;SADD  %s;", texts[i], texts[j]);
            check_words(expected);
        }
    buffer_drop(&packed);
}
END_TEST

START_TEST(entries_with_many_fields_are_read_back)
{
    struct bytes texts[80];
    char expected[4096];
    size_t len = 0;
    begin();
    for (int round = 0; round < 2; round++) {
        len += (size_t)snprintf(expected + len, sizeof(expected) - len, "XADD  %d-1", 7 + round);
        for (size_t i = 0; i < 80; i++) {
            texts[i] = i % 2 == 0 ? LIT("field") : LIT("17");
            len += (size_t)snprintf(expected + len, sizeof(expected) - len, " %s",
                                    i % 2 == 0 ? "field" : "17");
        }
        len += (size_t)snprintf(expected + len, sizeof(expected) - len, ";");
        put((struct effect){ EFFECT_STREAM_ADD, .id = { 7 + (uint64_t)round, 1 }, .texts = texts,
                             .text_count = 80 });
    }
    check_words(expected);
    buffer_drop(&packed);
}
END_TEST

START_TEST(damaged_bytes_are_refused)
{
    static const struct bytes bad[] = {
        { "\x07", 1 },                                          /* a text without its bytes */
        { "\x03", 1 },                                          /* the same */
        { "\x03s", 2 },                                         /* no end */
        { "\x04", 1 },                                          /* nothing to repeat */
        { "\x03s\x00\x08\x00", 5 },                             /* too many to repeat */
        { "\x03s\x00\xc4\x00\x00", 6 },                         /* more than ever */
        { "\x80", 1 },                                          /* an unfinished varint */
        { "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02", 10 },     /* one of 65 bits */
        { "\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x00", 11 }, /* and of 77 */
    };
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        ck_assert_msg(!unpack(bad[i]), "%zu", i);
    /* Repeated words beyond the limit. */
    begin();
    struct bytes texts[] = { LIT("a"), LIT("b"), LIT("c"), LIT("d"), LIT("e"), LIT("f"), LIT("g"),
                             LIT("h"), LIT("i"), LIT("j"), LIT("k"), LIT("l"), LIT("m"), LIT("n") };
    put((struct effect){ EFFECT_STREAM_ADD, .id = { 7, 1 }, .texts = texts,
                         .text_count = 14 }); /* 17 words */
    buffer_append(&packed, "\x40\x00", 2);
    ck_assert(unpack(buffer_bytes(&packed)));
    packed.data[packed.len - 2] = 0x44;
    ck_assert(!unpack(buffer_bytes(&packed)));
    buffer_drop(&packed);
}
END_TEST

START_TEST(random_bytes_never_read_beyond_their_end)
{
    struct rng rng;
    rng_init(&rng, test_seed());
    for (int i = 0; i < 100000; i++) {
        size_t len = rng_below(&rng, 40);
        char *bytes = malloc(len + 1);
        for (size_t at = 0; at < len; at++)
            bytes[at] = (char)(rng_chance(&rng, 50) ? rng_below(&rng, 12) : rng_below(&rng, 256));
        unpack(bytes_of(bytes, len));
        free(bytes);
    }
}
END_TEST

Suite *test_suite(void)
{
    const TTest *const tests[] = {
        every_kind_of_effect_is_packed_as_its_command,
        only_what_differs_from_the_previous_command_takes_bytes,
        numbers_of_any_size_are_read_back,
        entries_with_many_fields_are_read_back,
        damaged_bytes_are_refused,
        random_bytes_never_read_beyond_their_end,
        NULL,
    };
    return suite_of("effect_pack", tests);
}
