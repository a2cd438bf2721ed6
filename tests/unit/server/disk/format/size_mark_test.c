/* Tests of the marks that tell how much follows, and of a replay that makes tables as large as they
 * say. */
#include "server/disk/format/size_mark.h"

#include "server/disk/format/replay.h"
#include "store/mem/mem.h"
#include "tests/support/suite.h"

START_TEST(marks_are_read_as_they_were_written)
{
    static const struct store_size sizes[] = {
        { true, 0, 1 },
        { true, 15, 1000000 },
        { true, UINT32_MAX, INT64_MAX },
        { false, 0, 4096 },
    };
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        char line[SIZE_MARK_MAX];
        struct store_size size;
        ck_assert(size_mark_read(line, size_mark_print(&sizes[i], line), &size));
        ck_assert_int_eq(size.is_database, sizes[i].is_database);
        ck_assert_uint_eq(size.db, sizes[i].db);
        ck_assert_uint_eq(size.count, sizes[i].count);
    }
}
END_TEST

START_TEST(other_lines_are_no_marks_of_sizes)
{
    static const char *const lines[] = {
        "#KEYS 0 5\n",
        "#KEYS 0 5",
        "#KEYS 0\r\n",
        "#KEYS 5 \r\n",
        "#KEYS -1 5\r\n",
        "#KEYS 0 -5\r\n",
        "#KEYS 4294967296 5\r\n",
        "#KEYS 0 5 6\r\n",
        "#MEMBERS\r\n",
        "#MEMBERS x\r\n",
        "#MEMBERS 5\r\n\n",
        "#MEMBERS 9223372036854775808\r\n",
        "#members 5\r\n",
        "#",
        "#STREAM x\r\n",
    };
    for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
        struct store_size size;
        ck_assert_msg(!size_mark_read(lines[i], strlen(lines[i]), &size), "%s", lines[i]);
    }
}
END_TEST

/* Feeds the text to a store of two databases, which the caller frees. */
static struct store *fed(const char *text, uint64_t expects_most)
{
    struct store *store = store_new(2);
    struct replay *replay = mem_alloc(sizeof(*replay));
    size_t consumed;
    replay_init(replay, store, 1);
    replay->expects_most = expects_most;
    ck_assert_msg(replay_feed(replay, text, strlen(text), &consumed), "%s", replay->error);
    ck_assert_uint_eq(consumed, strlen(text));
    replay_drop(replay);
    mem_free(replay);
    store_check(store);
    return store;
}

#define SET_K "*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$1\r\nv\r\n"
#define ADD_K "*3\r\n$4\r\nSADD\r\n$1\r\nk\r\n$1\r\nm\r\n"

START_TEST(tables_are_made_as_large_as_the_marks_say)
{
    struct store *store = fed("#KEYS 1 7500\r\n*2\r\n$6\r\nSELECT\r\n$1\r\n1\r\n" SET_K, 7500);
    ck_assert_uint_eq(store->databases[1].dict.buckets, 1000);
    store_free(store);
    store = fed("#MEMBERS 7500\r\n" ADD_K SET_K, 7500); /* the SET replaces the set */
    ck_assert_uint_eq(store->databases[0].dict.buckets, 1);
    store_free(store);
    store = fed("#MEMBERS 7500\r\n" ADD_K, 7500);
    const struct entry *entry = keyspace_find(&store->databases[0], LIT("k"));
    ck_assert_uint_eq(object_hint(&entry->object)->buckets, 1000);
    store_free(store);
}
END_TEST

START_TEST(a_mark_makes_no_table_larger_than_the_text_may_fill)
{
    struct store *store = fed("#KEYS 0 9000000000000\r\n#KEYS 9 5\r\n" SET_K, 75);
    ck_assert_uint_eq(store->databases[0].dict.buckets, 10);
    store_free(store);
}
END_TEST

Suite *test_suite(void)
{
    const TTest *const tests[] = {
        marks_are_read_as_they_were_written,
        other_lines_are_no_marks_of_sizes,
        tables_are_made_as_large_as_the_marks_say,
        a_mark_makes_no_table_larger_than_the_text_may_fill,
        NULL,
    };
    return suite_of("size_mark", tests);
}
