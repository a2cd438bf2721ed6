/* bytes: order, glob matching, blobs. */
#include "store/base/bytes.h"
#include "store/mem/blob.h"
#include "store/mem/mem.h"
#include "tests/support/rng.h"
#include "tests/support/suite.h"

START_TEST(bytes_are_equal_by_content_only)
{
    ck_assert(bytes_equal(LIT("a\0b"), LIT("a\0b")));
    ck_assert(!bytes_equal(LIT("a\0b"), LIT("a\0c")));
    ck_assert(!bytes_equal(LIT("a"), LIT("a\0")));
    ck_assert(bytes_equal(bytes_of(NULL, 0), LIT("")));
}
END_TEST

START_TEST(order_is_by_unsigned_bytes_then_by_length)
{
    static const struct bytes ordered[] = { LIT(""),  LIT("\0"),   LIT("\0\0"),
                                            LIT("a"), LIT("aa"),   LIT("ab"),
                                            LIT("b"), LIT("\x80"), LIT("\xff") };
    int count = sizeof(ordered) / sizeof(*ordered);
    for (int i = 0; i < count; i++) {
        for (int j = 0; j < count; j++) {
            int order = bytes_compare(ordered[i], ordered[j]);
            ck_assert_int_eq((order > 0) - (order < 0), (i > j) - (i < j));
        }
    }
    ck_assert_int_eq(bytes_compare(bytes_of(NULL, 0), LIT("")), 0);
}
END_TEST

static const struct {
    const char *pattern, *text;
    bool matches;
} globs[] = {
    { "", "", true },
    { "", "a", false },
    { "a", "", false },
    { "*", "", true },
    { "*", "anything", true },
    { "**", "x", true },
    { "abc", "abc", true },
    { "abc", "abcd", false },
    { "a*", "abcd", true },
    { "*d", "abcd", true },
    { "a*d", "abcd", true },
    { "a*c", "abcd", false },
    { "*b*c*", "abcd", true },
    { "a**d", "abcd", true },
    { "abc*", "abc", true },
    { "abc**", "abc", true },
    { "h?llo", "hello", true },
    { "h?llo", "hllo", false },
    { "?", "", false },
    { "h[ae]llo", "hello", true },
    { "h[ae]llo", "hillo", false },
    { "h[^e]llo", "hallo", true },
    { "h[^e]llo", "hello", false },
    { "h[a-c]llo", "hbllo", true },
    { "h[c-a]llo", "hbllo", true },
    { "h[a-c]llo", "hdllo", false },
    { "[a-c][x-z]", "by", true },
    { "[^a-c]", "b", false },
    { "[^a-c]", "d", true },
    { "\\*", "*", true },
    { "\\*", "a", false },
    { "a\\", "a\\", true },
    { "\\a", "a", true },
    { "[\\]]", "]", true },
    { "[\\]]", "\\", false },
    { "[a-]", "a", true }, /* a range up to ']' in a set that is not closed */
    { "[a-]", "_", true },
    { "[a-]", "-", false },
    { "[abc", "b", true }, /* not closed */
    { "[abc", "d", false },
    { "[", "[", false },
    { "[]", "]", false },
    { "[^", "x", true },
    { "[^]", "x", true },
    { "[]x", "x", false },
    { "[a\\", "\\", true }, /* the last backslash stands for itself */
    { "*[ab]", "xxb", true },
    { "*[ab]c", "abac", true },
    { "a*b?c", "aXbbYbZc", true },
};

START_TEST(glob_patterns_match_as_in_redis)
{
    for (size_t i = 0; i < sizeof(globs) / sizeof(*globs); i++) {
        struct bytes pattern = bytes_of(globs[i].pattern, strlen(globs[i].pattern));
        struct bytes text = bytes_of(globs[i].text, strlen(globs[i].text));
        ck_assert_msg(bytes_match(pattern, text) == globs[i].matches, "'%s' and '%s'",
                      globs[i].pattern, globs[i].text);
    }
}
END_TEST

START_TEST(globs_are_binary_safe)
{
    ck_assert(bytes_match(LIT("a\0*"), LIT("a\0b")));
    ck_assert(!bytes_match(LIT("a\0*"), LIT("ab")));
    ck_assert(bytes_match(LIT("[\0]"), LIT("\0")));
    ck_assert(!bytes_match(bytes_of("ab", 1), LIT("ab")));
}
END_TEST

START_TEST(many_stars_take_bounded_time)
{
    enum { LEN = 5000 };
    char pattern[101], text[LEN];
    for (size_t i = 0; i < 100; i += 2)
        memcpy(pattern + i, "*a", 2);
    pattern[100] = 'b';
    memset(text, 'a', LEN);
    ck_assert(!bytes_match(bytes_of(pattern, 101), bytes_of(text, LEN)));
    ck_assert(bytes_match(bytes_of(pattern, 100), bytes_of(text, LEN)));
}
END_TEST

/* A simple recursive matcher for patterns of letters, '?' and '*'. */
static bool match_naively(const char *p, const char *t)
{
    if (*p == '\0') return *t == '\0';
    if (*p == '*') return match_naively(p + 1, t) || (*t != '\0' && match_naively(p, t + 1));
    return *t != '\0' && (*p == '?' || *p == *t) && match_naively(p + 1, t + 1);
}

START_TEST(matching_agrees_with_the_naive_definition)
{
    struct rng rng;
    rng_init(&rng, test_seed());
    for (int round = 0; round < 100000; round++) {
        char pattern[8] = { 0 }, text[8] = { 0 };
        size_t pattern_len = rng_below(&rng, 7), text_len = 1 + rng_below(&rng, 7);
        for (size_t i = 0; i < pattern_len; i++)
            pattern[i] = "ab?*"[rng_below(&rng, 4)];
        for (size_t i = 0; i < text_len; i++)
            text[i] = "ab"[rng_below(&rng, 2)];
        ck_assert_msg(bytes_match(bytes_of(pattern, pattern_len), bytes_of(text, text_len)) ==
                          match_naively(pattern, text),
                      "'%s' and '%s'", pattern, text);
    }
}
END_TEST

START_TEST(a_blob_owns_a_copy)
{
    char source[] = { 'a', '\0', 'b' };
    struct blob *blob = blob_new(bytes_of(source, 3));
    source[0] = 'x';
    ck_assert(bytes_equal(blob_view(blob), LIT("a\0b")));
    blob_free(blob);
    blob = blob_new(bytes_of(NULL, 0));
    ck_assert(bytes_equal(blob_view(blob), LIT("")));
    blob_free(blob);
    blob_free(NULL);
    ck_assert_uint_eq(mem_used(), 0);
}
END_TEST

START_TEST(a_word_matches_in_any_case_and_completely)
{
    ck_assert(bytes_is_word(LIT("withscores"), "WITHSCORES"));
    ck_assert(bytes_is_word(LIT("NX"), "nx"));
    ck_assert(!bytes_is_word(LIT(""), "NX"));
    ck_assert(!bytes_is_word(LIT("N"), "NX"));
    ck_assert(!bytes_is_word(LIT("NXX"), "NX"));
    ck_assert(!bytes_is_word(LIT("N\0"), "NX"));
    ck_assert(!bytes_is_word(LIT("Nx "), "NX"));
}
END_TEST

Suite *test_suite(void)
{
    const TTest *const tests[] = {
        bytes_are_equal_by_content_only,
        a_word_matches_in_any_case_and_completely,
        order_is_by_unsigned_bytes_then_by_length,
        glob_patterns_match_as_in_redis,
        globs_are_binary_safe,
        many_stars_take_bounded_time,
        matching_agrees_with_the_naive_definition,
        a_blob_owns_a_copy,
        NULL,
    };
    return suite_of("bytes", tests);
}
