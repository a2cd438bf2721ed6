/* Hash flooding: names that were chosen to collide under one hash key do not collide under another,
 * and names that look alike are spread like random ones. All tables of names that clients choose
 * are dicts: keys, fields, members, channels, patterns, watched and tracked keys, scripts. Counts
 * what the fullest bucket holds, because a search looks at one bucket. */
#include <stdio.h>
#include <stdlib.h>

#include "store/base/siphash.h"
#include "store/struct/dict.h"
#include "tests/support/rng.h"
#include "tests/support/suite.h"

enum {
    NAME = 40, /* bytes of the longest name */
    /* A bucket holds 7.5 on average, 15 just before it is split. With random hashes that one of a
     * million holds 64 has a probability of about 1 in 10^15. */
    FULLEST = 64,
};

struct name {
    uint8_t len;
    char text[NAME];
};

static struct bytes name_text(const void *element)
{
    const struct name *name = element;
    return bytes_of(name->text, name->len);
}

static const struct dict_type name_type = { .key = name_text };

static void use_key(uint64_t number)
{
    struct rng rng;
    uint8_t key[16];
    rng_init(&rng, number);
    for (size_t i = 0; i < sizeof(key); i++)
        key[i] = (uint8_t)rng_next(&rng);
    siphash_seed(key);
}

/* The most elements of a bucket when these names are in one dict. */
static uint32_t fullest_with(struct name *names, size_t count)
{
    struct dict dict;
    dict_init(&dict, &name_type);
    for (size_t i = 0; i < count; i++)
        dict_add(&dict, &names[i]);
    dict_check(&dict);
    for (size_t i = 0; i < count; i++)
        ck_assert_ptr_eq(dict_find(&dict, name_text(&names[i])), &names[i]);
    uint32_t longest = dict.longest;
    dict_drop(&dict);
    return longest;
}

/* Names whose hashes end with the same bits under the key in use, found by trying. */
static void choose_colliding(struct name *names, size_t count, uint64_t bits)
{
    char text[NAME];
    size_t found = 0;
    for (unsigned long tried = 0; found < count; tried++) {
        int len = snprintf(text, sizeof(text), "user:%lu", tried);
        if ((siphash(text, (size_t)len) & bits) != 0) continue;
        names[found].len = (uint8_t)len;
        memcpy(names[found++].text, text, (size_t)len);
    }
}

START_TEST(names_that_collide_under_one_key_do_not_under_others)
{
    enum { COUNT = 200 };
    struct name *names = calloc(COUNT, sizeof(*names));
    uint64_t seed = test_seed();
    use_key(seed);
    choose_colliding(names, COUNT, 0xfff);
    ck_assert_uint_eq(fullest_with(names, COUNT), COUNT); /* the attack works if the key is known */
    for (uint64_t other = 1; other <= 100; other++) {
        use_key(seed + other);
        ck_assert_uint_lt(fullest_with(names, COUNT), FULLEST);
    }
    free(names);
}
END_TEST

/* ---- names that look alike ---- */

static void counter(struct name *name, unsigned i)
{
    name->len = (uint8_t)snprintf(name->text, NAME, "%u", i);
}

static void long_prefix(struct name *name, unsigned i)
{
    memset(name->text, 'a', NAME);
    memcpy(name->text + NAME - sizeof(i), &i, sizeof(i));
    name->len = NAME;
}

static void long_suffix(struct name *name, unsigned i)
{
    memset(name->text, 'a', NAME);
    memcpy(name->text, &i, sizeof(i));
    name->len = NAME;
}

/* Bytes of which only two differ, anywhere. */
static void two_bits(struct name *name, unsigned i)
{
    memset(name->text, 0, NAME);
    name->len = NAME;
    unsigned first = i % (8 * NAME), second = i / (8 * NAME);
    name->text[first / 8] = (char)(name->text[first / 8] ^ 1 << first % 8);
    name->text[second / 8] = (char)(name->text[second / 8] ^ 1 << second % 8);
    name->text[NAME - 1] = (char)(second <= first); /* each pair once */
}

/* Little-endian words with equal low halves, which a plain sum or product would keep apart badly.
 */
static void equal_low_words(struct name *name, unsigned i)
{
    uint64_t words[4] = { (uint64_t)i << 32, (uint64_t)i << 40, 7, 7 };
    memcpy(name->text, words, sizeof(words));
    name->len = sizeof(words);
}

/* Anagrams: the same words, in another order. */
static void swapped_words(struct name *name, unsigned i)
{
    uint64_t words[4] = { i, 0, ~(uint64_t)i, 1 };
    uint64_t first = words[i % 4];
    words[i % 4] = words[3];
    words[3] = first;
    memcpy(name->text, words, sizeof(words));
    name->len = sizeof(words);
}

START_TEST(names_that_look_alike_are_spread_evenly)
{
    enum { COUNT = 20000 };
    static void (*const makers[])(struct name * name, unsigned i) = {
        counter, long_prefix, long_suffix, two_bits, equal_low_words, swapped_words,
    };
    struct name *names = calloc(COUNT, sizeof(*names));
    use_key(test_seed());
    for (size_t maker = 0; maker < sizeof(makers) / sizeof(makers[0]); maker++) {
        struct dict seen;
        unsigned count = 0;
        dict_init(&seen, &name_type);
        for (unsigned i = 0; i < COUNT; i++) {
            makers[maker](&names[count], i);
            if (dict_find(&seen, name_text(&names[count])) == NULL)
                dict_add(&seen, &names[count++]);
        }
        dict_drop(&seen);
        ck_assert_uint_gt(count, COUNT / 3);
        uint32_t fullest = fullest_with(names, count);
        ck_assert_msg(fullest < FULLEST, "maker %zu: %u in a bucket", maker, fullest);
    }
    free(names);
}
END_TEST

START_TEST(the_fullest_bucket_stays_as_a_table_grows)
{
    enum { MOST = 200000 };
    struct name *names = calloc(MOST, sizeof(*names));
    use_key(test_seed());
    for (unsigned i = 0; i < MOST; i++)
        long_prefix(&names[i], i);
    for (size_t count = 2000; count <= MOST; count *= 10)
        ck_assert_uint_lt(fullest_with(names, count), FULLEST);
    free(names);
}
END_TEST

Suite *test_suite(void)
{
    const TTest *const tests[] = {
        names_that_collide_under_one_key_do_not_under_others,
        names_that_look_alike_are_spread_evenly,
        the_fullest_bucket_stays_as_a_table_grows,
        NULL,
    };
    return suite_of("flood", tests);
}
