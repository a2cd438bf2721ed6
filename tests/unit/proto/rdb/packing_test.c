/* Tests of packing: the four packings, every encoding of their items, and every wrong length or
 * count.
 */
#include <stdio.h>

#include "proto/rdb/packing.h"
#include "tests/support/rng.h"
#include "tests/support/suite.h"
#include "tests/unit/proto/rdb/made.h"

enum { ROOM = 4096 };

/* The items separated by spaces, or the error. The packing is in a block of its exact size. */
static const char *items_of(enum rdb_packing packing, struct bytes packed)
{
    static char text[ROOM];
    size_t len = 0;
    struct rdb_walk walk;
    struct rdb_item item;
    enum rdb_step step;
    char *block = malloc(packed.len + (packed.len == 0));
    if (packed.len > 0) memcpy(block, packed.data, packed.len);
    text[0] = '\0';
    rdb_walk_begin(&walk, packing, (struct bytes){ block, packed.len });
    while ((step = rdb_walk_next(&walk, &item)) == RDB_ITEM)
        if (len + item.text.len + 2 < ROOM)
            len += (size_t)sprintf(text + len, "%s%.*s", len > 0 ? " " : "", (int)item.text.len,
                                   item.text.data);
    if (step == RDB_BROKEN) snprintf(text, ROOM, "broken: %s", walk.wrong);
    free(block);
    return text;
}

static const char *items(enum rdb_packing packing, struct made *made)
{
    const char *text = items_of(packing, made_bytes(made));
    free(made);
    return text;
}

static void assert_begins(const char *text, const char *expected)
{
    ck_assert_msg(strncmp(text, expected, strlen(expected)) == 0, "%s instead of %s", text,
                  expected);
}

static void assert_broken(enum rdb_packing packing, struct made *made)
{
    const char *text = items(packing, made);
    assert_begins(text, "broken: ");
}

/* No packing is whole with an end missing, or with bytes behind it. */
static void assert_whole_only_at_full_length(enum rdb_packing packing, struct made *made)
{
    for (size_t len = 0; len < made->len; len++) {
        const char *text = items_of(packing, (struct bytes){ (const char *)made->at, len });
        assert_begins(text, "broken: ");
    }
    byte(made, 0xff);
    assert_broken(packing, made);
}

/* ---- listpack ---- */

static struct made *all_listpack_encodings(void)
{
    char long_text[300];
    struct made *to = listpack();
    memset(long_text, 'x', sizeof(long_text));
    lp_raw(to, "\x00", 1);
    lp_raw(to, "\x7f", 1);
    lp_raw(to, "\xdf\xff", 2);
    lp_raw(to, "\xcf\xff", 2);
    lp_raw(to, "\xd0\x00", 2);
    lp_raw(to, "\xf1\xff\x7f", 3);
    lp_raw(to, "\xf2\x00\x00\x80", 4);
    lp_raw(to, "\xf3\x00\x00\x00\x80", 5);
    lp_int64(to, INT64_MIN);
    lp_text(to, "text");
    lp_text(to, "");
    byte(raw(raw(to, "\xe1\x00", 2), long_text, 256), 258 >> 7);
    byte(to, (258 & 127) | 128);
    byte(raw(raw(to, "\xf0\x02\x00\x00\x00", 5), "hi", 2), 7);
    return lp_end(to, 13);
}

START_TEST(a_listpack_gives_its_items_of_every_encoding)
{
    const char *text = items(RDB_LISTPACK, all_listpack_encodings());
    assert_begins(text, "0 127 -1 4095 -4096 32767 -8388608 -2147483648 "
                        "-9223372036854775808 text  xxxx");
    ck_assert_str_eq(strrchr(text, ' '), " hi");
    ck_assert_str_eq(items(RDB_LISTPACK, lp_end(listpack(), 0)), "");
}
END_TEST

START_TEST(truncated_listpack_is_refused)
{
    assert_whole_only_at_full_length(RDB_LISTPACK, all_listpack_encodings());
    assert_whole_only_at_full_length(RDB_LISTPACK, lp_end(listpack(), 0));
}
END_TEST

START_TEST(inconsistent_listpack_is_refused)
{
    struct made *to = LISTPACK("a", "b");
    made_set(to, 4, 2, 1);
    assert_broken(RDB_LISTPACK, to);
    to = LISTPACK("a", "b");
    made_set(to, 4, 2, 3);
    assert_broken(RDB_LISTPACK, to);
    to = LISTPACK("a", "b");
    made_set(to, 0, 4, to->len + 1);
    assert_broken(RDB_LISTPACK, to);
    to = LISTPACK("ab", "b");
    to->at[9] = 2; /* backwards */
    assert_broken(RDB_LISTPACK, to);
    to = LISTPACK("ab", "b");
    to->at[6] = 0xff; /* an end in the middle */
    assert_broken(RDB_LISTPACK, to);
    for (int first = 0xf5; first < 0xff; first++) {
        to = LISTPACK("ab", "b");
        to->at[6] = (unsigned char)first;
        assert_broken(RDB_LISTPACK, to);
    }
    to = lp_end(raw(listpack(), "\xf0\xff\xff\xff\xff", 5), 1);
    assert_broken(RDB_LISTPACK, to);
}
END_TEST

START_TEST(listpack_count_may_be_unknown)
{
    struct made *to = LISTPACK("a", "b");
    made_set(to, 4, 2, 65535);
    ck_assert_str_eq(items(RDB_LISTPACK, to), "a b");
}
END_TEST

/* ---- ziplist ---- */

static struct made *all_ziplist_encodings(void)
{
    char long_text[300];
    struct made_ziplist to = ziplist();
    memset(long_text, 'x', sizeof(long_text));
    zl_raw(&to, "\xc0\x00\x80", 3);
    zl_raw(&to, "\xd0\xff\xff\xff\x7f", 5);
    zl_raw(&to, "\xe0\x00\x00\x00\x00\x00\x00\x00\x80", 9);
    zl_raw(&to, "\xf0\xff\xff\xff", 4);
    zl_raw(&to, "\xfe\x80", 2);
    zl_raw(&to, "\xf1", 1);
    zl_raw(&to, "\xfd", 1);
    zl_text(&to, "text");
    struct made *item = raw(raw(made_new(), "\x41\x00", 2), long_text, 256);
    zl_raw(&to, item->at, item->len);
    free(item);
    zl_raw(&to, "\x80\x00\x00\x00\x02hi", 7);
    return zl_end(&to);
}

START_TEST(a_ziplist_gives_its_items_of_every_encoding)
{
    const char *text = items(RDB_ZIPLIST, all_ziplist_encodings());
    assert_begins(text, "-32768 2147483647 -9223372036854775808 -1 -128 0 12 text xxxx");
    ck_assert_str_eq(strrchr(text, ' '), " hi");
    struct made_ziplist empty = ziplist();
    ck_assert_str_eq(items(RDB_ZIPLIST, zl_end(&empty)), "");
}
END_TEST

START_TEST(truncated_ziplist_is_refused)
{
    assert_whole_only_at_full_length(RDB_ZIPLIST, all_ziplist_encodings());
}
END_TEST

START_TEST(inconsistent_ziplist_is_refused)
{
    static const struct {
        size_t at, size;
        uint64_t value;
    } lies[] = {
        { 0, 4, 0 },     { 0, 4, UINT32_MAX }, { 4, 4, 10 },    { 4, 4, UINT32_MAX },
        { 8, 2, 1 },     { 8, 2, 3 },          { 10, 1, 1 }, /* something before the first */
        { 11, 1, 0x3f }, { 11, 1, 0xbf },      { 13, 1, 4 }, /* the length before the second */
        { 13, 1, 254 },  { 14, 1, 0xff },      { 14, 1, 0xc1 }, { 10, 1, 0xff },
    };
    for (size_t i = 0; i < sizeof(lies) / sizeof(lies[0]); i++) {
        struct made *to = ZIPLIST("a", "b");
        made_set(to, lies[i].at, lies[i].size, lies[i].value);
        assert_broken(RDB_ZIPLIST, to);
    }
}
END_TEST

START_TEST(ziplist_accepts_long_form_of_previous_length)
{
    struct made_ziplist to = ziplist();
    zl_text(&to, "a");
    raw(to.made, "\xfe\x03\x00\x00\x00\x01z", 7);
    to.previous = 7;
    to.count++;
    ck_assert_str_eq(items(RDB_ZIPLIST, zl_end(&to)), "a z");
}
END_TEST

/* ---- zipmap and intset ---- */

static struct made *zipmap(void)
{
    char long_text[254];
    struct made *to = raw(made_new(),
                          "\x02\x01"
                          "f\x02\x03"
                          "vw___",
                          10);
    memset(long_text, 'y', sizeof(long_text));
    number(byte(to, 254), 4, 254);
    raw(to, long_text, 254);
    return raw(to, "\x00\x00\xff", 3);
}

START_TEST(a_zipmap_gives_fields_and_values)
{
    const char *text = items(RDB_ZIPMAP, zipmap());
    assert_begins(text, "f vw yyyy");
    ck_assert_str_eq(items(RDB_ZIPMAP, raw(made_new(), "\xfe\x01x\x00\x00\xff", 6)), "x ");
    ck_assert_str_eq(items(RDB_ZIPMAP, raw(made_new(), "\x00\xff", 2)), "");
}
END_TEST

START_TEST(truncated_zipmap_is_refused)
{
    assert_whole_only_at_full_length(RDB_ZIPMAP, zipmap());
}
END_TEST

START_TEST(inconsistent_zipmap_is_refused)
{
    assert_broken(RDB_ZIPMAP, raw(made_new(), "\x02\x01x\x00\x00\xff", 6));
    assert_broken(RDB_ZIPMAP, raw(made_new(), "\x01\x01x\xff", 4));
    assert_broken(RDB_ZIPMAP, raw(made_new(), "\x01\x01x\x01\x01y\xff", 7));
    assert_broken(RDB_ZIPMAP, raw(made_new(), "\x01\xfe\x01\x00\x00\x00x\x00\x00\xff", 10));
}
END_TEST

START_TEST(an_intset_gives_its_integers_of_every_width)
{
    const int64_t small[] = { -32768, -1, 0, 32767 }, medium[] = { INT32_MIN, 5, INT32_MAX },
                  large[] = { INT64_MIN, INT64_MAX };
    ck_assert_str_eq(items(RDB_INTSET, intset_of(2, small, 4)), "-32768 -1 0 32767");
    ck_assert_str_eq(items(RDB_INTSET, intset_of(4, medium, 3)), "-2147483648 5 2147483647");
    ck_assert_str_eq(items(RDB_INTSET, intset_of(8, large, 2)),
                     "-9223372036854775808 9223372036854775807");
    assert_whole_only_at_full_length(RDB_INTSET, intset_of(4, medium, 3));
}
END_TEST

START_TEST(inconsistent_intset_is_refused)
{
    const int64_t unsorted[] = { 2, 1 }, twice[] = { 1, 1 };
    assert_broken(RDB_INTSET, intset_of(2, unsorted, 2));
    assert_broken(RDB_INTSET, intset_of(2, twice, 2));
    assert_broken(RDB_INTSET, intset_of(3, unsorted, 1));
    struct made *to = intset_of(2, twice, 1);
    made_set(to, 4, 4, 0x80000001); /* its size would overflow to the right one */
    assert_broken(RDB_INTSET, to);
}
END_TEST

/* ---- writing ---- */

START_TEST(listpack_items_round_trip)
{
    struct rng rng;
    struct buffer to = { 0 };
    static char text[70000];
    rng_init(&rng, test_seed());
    memset(text, 'q', sizeof(text));
    static const int64_t edges[] = { 0,       127,       128,       -1,        4095,     4096,
                                     -4096,   -4097,     32767,     -32768,    -32769,   8388607,
                                     8388608, INT32_MAX, INT32_MIN, INT64_MAX, INT64_MIN };
    static const size_t lens[] = { 0, 63, 64, 126, 127, 4095, 4096, 16377, 16378, 16379, 70000 };
    enum { EDGES = sizeof(edges) / sizeof(edges[0]), LENS = sizeof(lens) / sizeof(lens[0]) };
    ck_assert(rdb_listpack_start(&to));
    for (size_t i = 0; i < EDGES; i++) {
        char digits[NUMBER_INT64_MAX_CHARS];
        size_t len = number_print_int64(digits, edges[i]);
        ck_assert(rdb_listpack_append(&to, (struct bytes){ digits, len }));
    }
    for (size_t i = 0; i < LENS; i++)
        ck_assert(rdb_listpack_append(&to, (struct bytes){ text, lens[i] }));
    ck_assert(rdb_listpack_finish(&to, 0, EDGES + LENS));
    struct rdb_walk walk;
    struct rdb_item item;
    rdb_walk_begin(&walk, RDB_LISTPACK, buffer_bytes(&to));
    for (size_t i = 0; i < EDGES; i++) {
        ck_assert_int_eq(rdb_walk_next(&walk, &item), RDB_ITEM);
        ck_assert(item.is_integer);
        ck_assert_int_eq(item.integer, edges[i]);
    }
    for (size_t i = 0; i < LENS; i++) {
        ck_assert_int_eq(rdb_walk_next(&walk, &item), RDB_ITEM);
        ck_assert(!item.is_integer);
        ck_assert_uint_eq(item.text.len, lens[i]);
    }
    ck_assert_int_eq(rdb_walk_next(&walk, &item), RDB_END);
    buffer_drop(&to);
}
END_TEST

Suite *test_suite(void)
{
    const TTest *const tests[] = {
        a_listpack_gives_its_items_of_every_encoding,
        truncated_listpack_is_refused,
        inconsistent_listpack_is_refused,
        listpack_count_may_be_unknown,
        a_ziplist_gives_its_items_of_every_encoding,
        truncated_ziplist_is_refused,
        inconsistent_ziplist_is_refused,
        ziplist_accepts_long_form_of_previous_length,
        a_zipmap_gives_fields_and_values,
        truncated_zipmap_is_refused,
        inconsistent_zipmap_is_refused,
        an_intset_gives_its_integers_of_every_width,
        inconsistent_intset_is_refused,
        listpack_items_round_trip,
        NULL,
    };
    return suite_of("packing", tests);
}
