/* Entries: what they take, and that a deadline is what was set, wherever it is kept. */
#include "store/keyspace.h"

#include <stdio.h>

#include "store/mem.h"
#include "store/text.h"
#include "tests/support/rng.h"
#include "tests/support/suite.h"

static const msec instants[] = {
    INSTANT_MIN,     1,           (INT64_C(1) << 46) - 2, (INT64_C(1) << 46) - 1, INT64_C(1) << 46,
    INSTANT_MAX - 1, INSTANT_MAX,
};
enum { INSTANTS = sizeof(instants) / sizeof(instants[0]) };

static struct keyspace keys;

static void begin(void)
{
    keyspace_init(&keys, 0);
}

static void end(void)
{
    keyspace_check(&keys);
    keyspace_drop(&keys);
}

/* With a member that dies at `inside`, where the type has members. */
static struct object value_of(enum type type, msec inside)
{
    if (type == TYPE_STRING) return text_new(LIT("value"));
    struct object object = object_new(type);
    switch (type) {
    case TYPE_LIST: list_push(object.list, LIST_TAIL, LIT("element")); break;
    case TYPE_SET: set_add(object.set, LIT("member"), inside); break;
    case TYPE_HASH: hash_set(object.hash, LIT("field"), LIT("value"), inside); break;
    case TYPE_ZSET: zset_put(object.zset, LIT("member"), 1, inside); break;
    default: {
        struct stage stage = { .at = inside };
        dehydrator_push(object.dehydrator, LIT("id"), LIT("payload"), &stage);
    }
    }
    object.timed = object_moment(&object) != NEVER;
    return object;
}

static struct entry *add(enum type type, msec inside)
{
    return keyspace_add(&keys, LIT("key"), value_of(type, inside));
}

START_TEST(a_key_with_a_short_string_takes_24_bytes_and_its_own)
{
    begin();
    size_t base = mem_used();
    void *as_large = mem_alloc(24 + 16);
    size_t wanted = mem_used() - base;
    mem_free(as_large);
    struct entry *entry = keyspace_add(&keys, LIT("sixteen byte key"), text_new(LIT("12345678")));
    ck_assert_uint_eq(sizeof(struct entry), 24);
    ck_assert_uint_eq(entry_bytes(entry), wanted);
    end();
}
END_TEST

START_TEST(a_deadline_comes_back_as_it_was_set_for_every_type)
{
    for (int type = 0; type < TYPE_COUNT; type++)
        for (int i = 0; i < INSTANTS; i++) {
            begin();
            struct entry *entry = add((enum type)type, NEVER);
            ck_assert_int_eq(entry_expires_at(&keys, entry), NEVER);
            keyspace_set_deadline(&keys, entry, instants[i]);
            ck_assert_int_eq(entry_expires_at(&keys, entry), instants[i]);
            ck_assert_uint_eq(keys.count_volatile, 1);
            keyspace_check(&keys);
            keyspace_set_deadline(&keys, entry, NEVER);
            ck_assert_int_eq(entry_expires_at(&keys, entry), NEVER);
            ck_assert_uint_eq(keys.count_volatile, 0);
            ck_assert_int_eq(keyspace_next_due(&keys), object_moment(&entry->object));
            end();
        }
}
END_TEST

START_TEST(a_key_keeps_its_deadline_beside_those_of_its_members)
{
    for (int type = TYPE_SET; type < TYPE_COUNT; type++) {
        begin();
        struct entry *entry = add((enum type)type, 500);
        msec inside = object_moment(&entry->object);
        keyspace_set_deadline(&keys, entry, 1000);
        ck_assert_int_eq(keyspace_next_due(&keys), inside);
        ck_assert_int_eq(entry_expires_at(&keys, entry), 1000);
        keyspace_set_deadline(&keys, entry, 400);
        ck_assert_int_eq(keyspace_next_due(&keys), 401);
        ck_assert_int_eq(entry_expires_at(&keys, entry), 400);
        end();
    }
}
END_TEST

static void replace(enum type from, enum type to, msec at)
{
    begin();
    struct entry *entry = add(from, 500);
    keyspace_add(&keys, LIT("another"), text_new(LIT("value")));
    keyspace_set_deadline(&keys, entry, at);
    entry->accessed = 42;
    struct object old = entry->object;
    entry = keyspace_replace(&keys, entry, value_of(to, 300));
    object_free(&old);
    ck_assert_ptr_eq(keyspace_find(&keys, LIT("key")), entry);
    ck_assert_int_eq(entry->object.type, to);
    ck_assert_int_eq(entry_expires_at(&keys, entry), at);
    ck_assert_uint_eq(entry->accessed, 42);
    ck_assert_uint_eq(keys.count_volatile, at != NEVER);
    msec inside = object_moment(&entry->object), death = instant_of_death(at);
    ck_assert_int_eq(keyspace_next_due(&keys), inside < death ? inside : death);
    end();
}

START_TEST(whatever_a_value_becomes_its_key_keeps_the_deadline)
{
    for (int from = 0; from < TYPE_COUNT; from++)
        for (int to = 0; to < TYPE_COUNT; to++) {
            replace((enum type)from, (enum type)to, NEVER);
            replace((enum type)from, (enum type)to, 200);
            replace((enum type)from, (enum type)to, 400);
            replace((enum type)from, (enum type)to, 600);
        }
}
END_TEST

START_TEST(nothing_is_dead_before_the_next_that_is_due)
{
    begin();
    struct entry *entry = add(TYPE_STRING, NEVER);
    keyspace_set_deadline(&keys, entry, 100);
    ck_assert_int_eq(keyspace_next_due(&keys), 101);
    ck_assert(!entry_dead(&keys, entry, 100));
    ck_assert(entry_dead(&keys, entry, 101));
    struct object object = keyspace_remove(&keys, entry);
    object_free(&object);
    ck_assert_int_eq(keyspace_next_due(&keys), NEVER);
    end();
}
END_TEST

static uint64_t always(void *number)
{
    return *(uint64_t *)number;
}

START_TEST(the_search_for_a_volatile_key_has_an_end)
{
    enum { SETS = 3000 };
    begin();
    for (int n = 0; n < SETS; n++) {
        char name[16];
        size_t len = (size_t)snprintf(name, sizeof(name), "set%d", n);
        keyspace_add(&keys, bytes_of(name, len), value_of(TYPE_SET, n));
    }
    uint64_t lot = 0;
    ck_assert_ptr_null(keyspace_random_volatile(&keys, always, &lot));
    struct entry *last = add(TYPE_STRING, NEVER);
    keyspace_set_deadline(&keys, last, SETS);
    ck_assert_ptr_null(keyspace_random_volatile(&keys, always, &lot));
    ck_assert_ptr_null(keyspace_first_volatile(&keys));
    lot = SETS - 500;
    ck_assert_ptr_eq(keyspace_random_volatile(&keys, always, &lot), last);
    keyspace_set_deadline(&keys, last, 0);
    ck_assert_ptr_eq(keyspace_first_volatile(&keys), last);
    end();
}
END_TEST

Suite *test_suite(void)
{
    const TTest *const tests[] = {
        a_key_with_a_short_string_takes_24_bytes_and_its_own,
        a_deadline_comes_back_as_it_was_set_for_every_type,
        a_key_keeps_its_deadline_beside_those_of_its_members,
        whatever_a_value_becomes_its_key_keeps_the_deadline,
        nothing_is_dead_before_the_next_that_is_due,
        the_search_for_a_volatile_key_has_an_end,
        NULL,
    };
    return suite_of("keyspace", tests);
}
