/* Tests of server/replica/stream/backlog. */
#include "server/replica/stream/backlog.h"

#include "store/mem/mem.h"
#include "tests/support/suite.h"

enum { SPAN = 1 << 20 };

static unsigned char byte_at(uint64_t offset)
{
    return (unsigned char)(offset * 131 >> 3);
}

static void append_until(struct backlog *backlog, uint64_t end)
{
    char text[5000];
    while (backlog_end(backlog) < end) {
        size_t len = 1 + (size_t)(backlog_end(backlog) % sizeof(text));
        if (len > end - backlog_end(backlog)) len = (size_t)(end - backlog_end(backlog));
        for (size_t i = 0; i < len; i++)
            text[i] = (char)byte_at(backlog_end(backlog) + i);
        backlog_append(backlog, text, len);
        backlog_check(backlog);
    }
}

static void expect_bytes_from(const struct backlog *backlog, uint64_t offset)
{
    struct bytes view;
    while ((view = backlog_view(backlog, offset)).len > 0) {
        size_t wrong = 0;
        for (size_t i = 0; i < view.len; i++)
            wrong += (unsigned char)view.data[i] != byte_at(offset + i);
        ck_assert_uint_eq(wrong, 0);
        offset += view.len;
    }
    ck_assert_uint_eq(offset, backlog_end(backlog));
}

START_TEST(bytes_are_found_by_their_offset)
{
    struct backlog *backlog = backlog_new();
    backlog_restart(backlog, 4711);
    append_until(backlog, 4711 + SPAN);
    expect_bytes_from(backlog, 4711);
    expect_bytes_from(backlog, 4711 + 65536);
    expect_bytes_from(backlog, 4711 + 65535);
    expect_bytes_from(backlog, 4711 + SPAN);
    backlog_free(backlog);
}
END_TEST

START_TEST(reserved_bytes_are_appended_as_far_as_they_are_used)
{
    struct backlog *backlog = backlog_new();
    backlog_restart(backlog, 7);
    while (backlog_end(backlog) < SPAN) {
        uint64_t end = backlog_end(backlog);
        size_t room, used = (size_t)(end % 3 == 0 ? 0 : end % 700);
        char *to = backlog_reserve(backlog, &room);
        ck_assert_uint_ge(room, 1);
        ck_assert_uint_eq(room, 65536 - (end - 7) % 65536);
        if (used > room) used = room;
        for (size_t i = 0; i < used; i++)
            to[i] = (char)byte_at(end + i);
        if (room > used) to[used] = '?';
        backlog_commit(backlog, used);
        backlog_check(backlog);
        ck_assert_uint_eq(backlog_end(backlog), end + used);
        append_until(backlog, backlog_end(backlog) + 1);
    }
    expect_bytes_from(backlog, 7);
    backlog_free(backlog);
}
END_TEST

START_TEST(trim_forgets_whole_chunks_before_the_offset)
{
    struct backlog *backlog = backlog_new();
    backlog_restart(backlog, 1);
    for (uint64_t end = SPAN; end < 20 * SPAN; end += SPAN) {
        append_until(backlog, end);
        backlog_trim(backlog, end - SPAN / 2);
        backlog_check(backlog);
        ck_assert_uint_le(backlog_begin(backlog), end - SPAN / 2);
        ck_assert_uint_gt(backlog_begin(backlog), end - SPAN / 2 - 65536);
        expect_bytes_from(backlog, backlog_begin(backlog));
        ck_assert_uint_lt(backlog_bytes(backlog), SPAN + 100 * 1024);
    }
    backlog_trim(backlog, UINT64_MAX);
    backlog_check(backlog);
    append_until(backlog, backlog_end(backlog) + 100);
    expect_bytes_from(backlog, backlog_end(backlog) - 100);
    backlog_free(backlog);
}
END_TEST

START_TEST(restart_frees_everything)
{
    size_t before = mem_used();
    struct backlog *backlog = backlog_new();
    append_until(backlog, SPAN);
    backlog_restart(backlog, 99);
    backlog_check(backlog);
    ck_assert_uint_eq(backlog_begin(backlog), 99);
    ck_assert_uint_eq(backlog_end(backlog), 99);
    ck_assert_uint_eq(backlog_view(backlog, 99).len, 0);
    backlog_free(backlog);
    ck_assert_uint_eq(mem_used(), before);
}
END_TEST

Suite *test_suite(void)
{
    const TTest *const tests[] = {
        bytes_are_found_by_their_offset,
        reserved_bytes_are_appended_as_far_as_they_are_used,
        trim_forgets_whole_chunks_before_the_offset,
        restart_frees_everything,
        NULL,
    };
    return suite_of("backlog", tests);
}
