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

static void refresh(uint64_t hash, enum trail_by by, unsigned author, msec at)
{
    const struct trail_event event = {
        .what = TRAIL_SET,
        .by = by,
        .option = by == TRAIL_BY_POLICY ? 1 : 0,
        .at = at,
        .deadline = at + 5000,
        .before = TRAIL_UNKNOWN,
        .author = (uint16_t)author,
    };
    trail_set(trail, hash, 0, &event);
}

static enum trail_what newest(uint64_t hash)
{
    struct trail_event events[TRAIL_FOUND_MAX];
    return find(hash, events) > 0 ? events[0].what : TRAIL_NONE;
}

static uint64_t name_of(uint64_t i)
{
    return (i + 1) * UINT64_C(0x9e3779b97f4a7c15);
}

START_TEST(refreshes_by_a_pool_keep_the_ends_of_others)
{
    enum { POOL = 16, NAMES = 500 };
    begin();
    uint16_t owners[POOL];
    for (unsigned i = 0; i < POOL; i++)
        trail_add_author(trail, &owners[i], 5 + i, LIT("web"), LIT("default"), 1000);
    for (uint64_t i = 0; i < 10; i++)
        add(name_of(NAMES + i), TRAIL_DELETED, 1001, NEVER);
    for (unsigned round = 0; round < 20; round++)
        for (uint64_t i = 0; i < NAMES; i++)
            trail_set_by(trail, name_of(i), 0, 1002 + round, 9000,
                         (uint32_t)owners[(round + i) % POOL] << 16 | 42);
    for (uint64_t i = 0; i < 10; i++)
        ck_assert_int_eq(newest(name_of(NAMES + i)), TRAIL_DELETED);
    end();
}
END_TEST

START_TEST(setters_that_take_turns_keep_the_ends_of_others)
{
    enum { NAMES = 500 };
    begin();
    for (uint64_t i = 0; i < 10; i++)
        add(name_of(NAMES + i), TRAIL_DELETED, 1001, NEVER);
    for (unsigned round = 0; round < 20; round++)
        for (uint64_t i = 0; i < NAMES; i++) {
            refresh(name_of(i), round % 2 ? TRAIL_BY_POLICY : TRAIL_BY_COMMAND, 0, 1002 + round);
            const struct trail_event over = { .what = TRAIL_OVERWRITTEN, .at = 1002 + round };
            trail_add(trail, name_of(i), &over);
        }
    for (uint64_t i = 0; i < 10; i++)
        ck_assert_int_eq(newest(name_of(NAMES + i)), TRAIL_DELETED);
    end();
}
END_TEST

START_TEST(refreshes_by_the_master_overwrite_one_record)
{
    struct trail_event events[TRAIL_FOUND_MAX];
    begin();
    for (msec i = 0; i < 10; i++)
        refresh(7, TRAIL_BY_MASTER, 0, 1000 + i);
    ck_assert_uint_eq(find(7, events), 1);
    end();
}
END_TEST

START_TEST(three_setters_of_a_name_are_kept_in_a_full_ring)
{
    struct trail_event events[TRAIL_FOUND_MAX];
    begin();
    for (msec i = 0; i < 20; i++)
        add(7, TRAIL_DELETED, 1000 + i, NEVER);
    for (uint32_t i = 0; i < 5; i++)
        trail_set_by(trail, 7, 0, 1100 + i, 9000, 3 << 16 | i);
    ck_assert_uint_ge(find(7, events), 4);
    for (unsigned i = 0; i < 4; i++)
        ck_assert_uint_eq(events[i].command, 4 - i);
    end();
}
END_TEST

START_TEST(since_is_later_than_a_record_that_lost_its_place)
{
    struct trail_event events[TRAIL_FOUND_MAX];
    msec since;
    bool shared;
    begin();
    uint64_t other = 7 + trail->last_mask + 32;
    trail_set_by(trail, 7, 0, 1010, 9000, 3 << 16 | 1);
    trail_set_by(trail, other, 0, 1020, 9000, 3 << 16 | 1);
    trail_set_by(trail, 7, 0, 1030, 9000, 3 << 16 | 1);
    ck_assert_uint_eq(trail_find(trail, 7, 0, events, &since, &shared), 1);
    ck_assert_int_gt(since, 1020);
    end();
}
END_TEST

START_TEST(since_is_later_than_a_deadline_that_left_the_ring)
{
    struct trail_event events[TRAIL_FOUND_MAX];
    msec since;
    bool shared;
    begin();
    trail_set_by(trail, 7, 0, 5000, 9000, 3 << 16 | 1);
    add(7, TRAIL_DELETED, 6000, 9000);
    for (unsigned i = 0; i < TRAIL_RING; i++)
        add(7, TRAIL_DELETED, 2000, 9000);
    trail_find(trail, 7, 0, events, &since, &shared);
    ck_assert_int_eq(since, 6001);
    end();
}
END_TEST

static void flush(unsigned db, msec at)
{
    const struct trail_event event = { .what = TRAIL_FLUSHED, .at = at, .deadline = NEVER };
    trail_add_whole(trail, db, &event);
}

START_TEST(flushes_of_another_database_keep_the_flush_of_this_one)
{
    struct trail_event events[TRAIL_FOUND_MAX];
    msec since;
    bool shared;
    begin();
    trail_set_by(trail, 7, 0, 1001, 9000, 3 << 16 | 1);
    flush(0, 1002);
    for (msec i = 0; i < 1000; i++)
        flush(1, 1003 + i);
    ck_assert_int_eq(newest(7), TRAIL_FLUSHED);
    ck_assert_int_eq(trail_end_of(trail, 7, 0), TRAIL_FLUSHED);
    trail_find(trail, 7, 0, events, &since, &shared);
    ck_assert_int_eq(since, 1000);
    trail_find(trail, 7, 1, events, &since, &shared);
    ck_assert_int_eq(events[0].at, 2002);
    ck_assert_int_gt(since, 1003);
    ck_assert_int_le(since, 2002);
    end();
}
END_TEST

START_TEST(flush_that_was_dropped_raises_since)
{
    struct trail_event events[TRAIL_FOUND_MAX];
    msec since;
    bool shared;
    begin();
    trail_set_by(trail, 7, 0, 1001, 9000, 3 << 16 | 1);
    flush(0, 1002);
    for (unsigned db = 1; db < 100; db++)
        flush(db, 1003);
    trail_find(trail, 7, 0, events, &since, &shared);
    ck_assert_int_ge(since, 1003);
    trail_set_by(trail, 7, 0, 2000, 9000, 3 << 16 | 1);
    find(7, events);
    ck_assert_int_eq(events[0].before, TRAIL_UNKNOWN);
    end();
}
END_TEST

START_TEST(one_name_in_several_databases_has_several_records)
{
    unsigned found = 0;
    begin();
    for (unsigned db = 0; db < 16; db++)
        trail_set_by(trail, trail_hash(7, db), db, 1000, 9000, 3 << 16 | 1);
    for (unsigned db = 0; db < 16; db++)
        found += newest(trail_hash(7, db)) == TRAIL_SET;
    ck_assert_uint_ge(found, 14);
    end();
}
END_TEST

START_TEST(author_before_the_clock_went_back_is_not_another)
{
    uint16_t first = 0, other = 0;
    begin();
    struct trail_event event = { .what = TRAIL_DELETED, .at = 9000 };
    event.author = trail_add_author(trail, &first, 5, LIT("culprit"), LIT("ann"), 9000);
    for (uint32_t i = 0; i < trail->author_count; i++) {
        trail_add_author(trail, &other, 6 + i, LIT("innocent"), LIT("bob"), 2000);
        struct trail_event own = { .what = TRAIL_DELETED, .at = 2000, .author = other };
        ck_assert_str_eq(trail_author(trail, &own)->name, "innocent");
        trail_leave(trail, &other);
    }
    ck_assert_ptr_null(trail_author(trail, &event));
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
        refreshes_by_a_pool_keep_the_ends_of_others,
        setters_that_take_turns_keep_the_ends_of_others,
        refreshes_by_the_master_overwrite_one_record,
        three_setters_of_a_name_are_kept_in_a_full_ring,
        since_is_later_than_a_record_that_lost_its_place,
        since_is_later_than_a_deadline_that_left_the_ring,
        flushes_of_another_database_keep_the_flush_of_this_one,
        flush_that_was_dropped_raises_since,
        one_name_in_several_databases_has_several_records,
        author_before_the_clock_went_back_is_not_another,
        NULL,
    };
    return suite_of("trail", tests);
}
