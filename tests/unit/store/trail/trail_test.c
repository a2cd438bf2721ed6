/* trail: records, what is kept of them, and who wrote them. */
#include "store/trail/trail.h"

#include <string.h>

#include "store/mem/mem.h"
#include "tests/support/suite.h"

static struct trail *trail;

static void begin(void)
{
    trail = trail_new(TRAIL_MIN_BYTES, 1000);
}

static void end(void)
{
    trail_free(trail);
}

static size_t find(uint64_t hash, struct trail_event *events)
{
    msec since;
    bool shared;
    return trail_find(trail, hash, 0, events, &since, &shared);
}

static void add(uint64_t hash, enum trail_what what, msec at, msec deadline)
{
    const struct trail_event event = { .what = what, .at = at, .deadline = deadline };
    trail_add(trail, hash, &event);
}

START_TEST(memory_stays_within_the_option)
{
    begin();
    ck_assert_uint_le(mem_size(trail->last), TRAIL_MIN_BYTES + TRAIL_MIN_BYTES / 8);
    size_t before = mem_used();
    for (uint64_t i = 0; i < 1000000; i++) {
        add(i * UINT64_C(0x9e3779b97f4a7c15), TRAIL_EXPIRED, 1000 + (msec)i, (msec)i);
        trail_set_by(trail, i * UINT64_C(0x9e3779b97f4a7c15), 0, 1000, 5000, 1 << 16);
    }
    ck_assert_uint_eq(mem_used(), before);
    end();
}
END_TEST

START_TEST(refreshing_a_deadline_overwrites_one_record)
{
    begin();
    struct trail_event events[TRAIL_FOUND_MAX];
    for (msec i = 0; i < 100; i++)
        trail_set_by(trail, 7, 0, 1000 + i, 5000 + i, 3 << 16 | 42);
    ck_assert_uint_eq(find(7, events), 1);
    ck_assert_int_eq(events[0].at, 1099);
    ck_assert_int_eq(events[0].deadline, 5099);
    ck_assert_int_eq(events[0].before, 5098);
    ck_assert_uint_eq(events[0].author, 3);
    ck_assert_uint_eq(events[0].command, 42);
    end();
}
END_TEST

START_TEST(another_command_keeps_the_record_before)
{
    begin();
    struct trail_event events[TRAIL_FOUND_MAX];
    trail_set_by(trail, 7, 0, 1000, 5000, 3 << 16 | 42);
    trail_set_by(trail, 7, 0, 1001, 6000, 3 << 16 | 43);
    ck_assert_uint_eq(find(7, events), 2);
    ck_assert_int_eq(events[0].before, 5000);
    ck_assert_int_eq(events[1].deadline, 5000);
    ck_assert_int_eq(events[1].before, TRAIL_UNKNOWN);
    end();
}
END_TEST

START_TEST(deadline_after_an_end_comes_after_none)
{
    begin();
    struct trail_event events[TRAIL_FOUND_MAX];
    trail_set_by(trail, 7, 0, 1000, 5000, 3 << 16 | 42);
    add(7, TRAIL_DELETED, 1001, 5000);
    trail_set_by(trail, 7, 0, 1002, 6000, 3 << 16 | 42);
    ck_assert_uint_eq(find(7, events), 3);
    ck_assert_int_eq(events[0].before, NEVER);
    ck_assert_int_eq(events[1].what, TRAIL_DELETED);
    end();
}
END_TEST

START_TEST(flush_ends_all_deadlines_of_its_database)
{
    begin();
    struct trail_event events[TRAIL_FOUND_MAX];
    const struct trail_event flush = { .what = TRAIL_FLUSHED, .at = 1001, .deadline = NEVER };
    trail_set_by(trail, 7, 0, 1000, 5000, 3 << 16 | 42);
    ck_assert_int_eq(trail_end_of(trail, 7, 0), TRAIL_NONE);
    trail_add_whole(trail, 0, &flush);
    ck_assert_int_eq(trail_end_of(trail, 7, 0), TRAIL_FLUSHED);
    trail_set_by(trail, 7, 0, 1002, 6000, 3 << 16 | 42);
    ck_assert_uint_eq(find(7, events), 3);
    ck_assert_int_eq(events[0].before, NEVER);
    ck_assert_int_eq(events[1].what, TRAIL_FLUSHED);
    ck_assert_int_eq(trail_end_of(trail, 7, 0), TRAIL_NONE);
    end();
}
END_TEST

START_TEST(copy_of_the_master_ends_what_was_known)
{
    struct trail_event events[TRAIL_FOUND_MAX];
    begin();
    trail_set_by(trail, 7, 3, 1000, 5000, 3 << 16 | 42);
    trail_replaced(trail, 1001);
    trail_set_by(trail, 7, 3, 1002, 6000, 3 << 16 | 42);
    ck_assert_uint_eq(find(7, events), 3);
    ck_assert_int_eq(events[0].before, TRAIL_UNKNOWN);
    ck_assert_int_eq(events[1].what, TRAIL_REPLACED);
    end();
}
END_TEST

START_TEST(ring_keeps_the_newest_and_says_since_when)
{
    begin();
    struct trail_event events[TRAIL_FOUND_MAX];
    msec since;
    bool shared;
    for (msec i = 0; i < 20; i++)
        add(7, TRAIL_DELETED, 1000 + i, NEVER);
    ck_assert_uint_eq(trail_find(trail, 7, 0, events, &since, &shared), TRAIL_RING);
    ck_assert_int_eq(events[0].at, 1019);
    ck_assert_int_eq(events[TRAIL_RING - 1].at, 1012);
    ck_assert_int_eq(since, 1012);
    ck_assert(!shared);
    trail_find(trail, UINT64_C(7) << 60, 0, events, &since, &shared);
    ck_assert_int_eq(since, 1000);
    end();
}
END_TEST

START_TEST(names_with_one_half_hash_are_told_apart)
{
    begin();
    struct trail_event events[TRAIL_FOUND_MAX];
    msec since;
    bool shared;
    add(UINT64_C(1) << 32 | 7, TRAIL_DELETED, 1000, NEVER);
    ck_assert_uint_eq(trail_find(trail, UINT64_C(2) << 32 | 7, 0, events, &since, &shared), 0);
    ck_assert(shared);
    end();
}
END_TEST

START_TEST(late_deadlines_count_as_none)
{
    begin();
    struct trail_event events[TRAIL_FOUND_MAX];
    trail_set_by(trail, 7, 0, 1000, INSTANT_MAX, 1 << 16);
    ck_assert_uint_eq(find(7, events), 1);
    ck_assert_int_eq(events[0].deadline, NEVER);
    end();
}
END_TEST

START_TEST(author_is_forgotten_when_its_slot_is_needed)
{
    begin();
    uint16_t first = 0, other = 0;
    struct trail_event event = { .what = TRAIL_DELETED, .at = 1000 };
    trail_add_author(trail, &first, 5, LIT("shop"), LIT("ann"), 1000);
    event.author = first;
    ck_assert_str_eq(trail_author(trail, &event)->name, "shop");
    ck_assert_str_eq(trail_author(trail, &event)->user, "ann");
    for (uint32_t i = 0; i < trail->author_count; i++) {
        ck_assert_uint_ne(first, 0);
        trail_add_author(trail, &other, 6 + i, LIT(""), LIT("bob"), 1001);
        trail_leave(trail, &other);
    }
    ck_assert_uint_eq(first, 0);
    ck_assert_ptr_null(trail_author(trail, &event));
    end();
}
END_TEST

START_TEST(long_names_are_cut)
{
    begin();
    static const char name[] =
        "0123456789012345678901234567890123456789012345678901234567890123456789";
    uint16_t owner = 0;
    struct trail_event event = { .what = TRAIL_DELETED, .at = 1000 };
    event.author = trail_add_author(trail, &owner, 5, LIT(name), LIT(name), 1000);
    ck_assert_uint_eq(strlen(trail_author(trail, &event)->name), TRAIL_NAME_MAX);
    ck_assert_uint_eq(strlen(trail_author(trail, &event)->user), TRAIL_USER_MAX);
    end();
}
END_TEST

START_TEST(trail_without_memory_is_none)
{
    begin();
    mem_fail_try(1);
    ck_assert_ptr_null(trail_new(TRAIL_MIN_BYTES, 1000));
    end();
}
END_TEST

Suite *test_suite(void)
{
    const TTest *const tests[] = {
        memory_stays_within_the_option,
        refreshing_a_deadline_overwrites_one_record,
        another_command_keeps_the_record_before,
        deadline_after_an_end_comes_after_none,
        flush_ends_all_deadlines_of_its_database,
        copy_of_the_master_ends_what_was_known,
        ring_keeps_the_newest_and_says_since_when,
        names_with_one_half_hash_are_told_apart,
        late_deadlines_count_as_none,
        author_is_forgotten_when_its_slot_is_needed,
        long_names_are_cut,
        trail_without_memory_is_none,
        NULL,
    };
    return suite_of("trail", tests);
}
