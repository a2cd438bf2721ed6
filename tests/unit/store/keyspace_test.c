/* keyspace: memory of entries, and deadlines in every place where they are stored. */
#include "store/keyspace.h"

#include <stdio.h>

#include "store/mem/mem.h"
#include "store/type/string.h"
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

/* A value with one element; if the type has members or entries, its deadline is `inside`. */
static struct object value_of(enum type type, msec inside)
{
    if (type == TYPE_STRING) return string_new(LIT("value"));
    struct object object = object_new(type);
    switch (type) {
    case TYPE_LIST: list_push(object.list, LIST_TAIL, LIT("element")); break;
    case TYPE_SET: set_add(object.set, LIT("member"), inside); break;
    case TYPE_HASH: hash_set(object.hash, LIT("field"), LIT("value"), inside); break;
    case TYPE_ZSET: zset_put(object.zset, LIT("member"), 1, inside); break;
    case TYPE_STREAM: {
        struct stream_id id = { inside == NEVER ? 1 : (uint64_t)inside - 1, 0 };
        stream_append(object.stream, id, (const struct bytes[]){ LIT("name"), LIT("value") }, 2);
        stream_set_retention(object.stream, inside == NEVER ? 0 : 1);
        break;
    }
    default: {
        struct stage stage = { .at = inside };
        dehydrator_push(object.dehydrator, LIT("id"), LIT("payload"), &stage);
    }
    }
    object.has_expiry = !due_at_is_never(object_next_due(&object));
    return object;
}

static struct entry *add(enum type type, msec inside)
{
    return keyspace_add(&keys, LIT("key"), value_of(type, inside));
}

START_TEST(short_string_key_takes_24_bytes_plus_key)
{
    begin();
    size_t base = mem_used();
    void *as_large = mem_alloc(24 + 16);
    size_t wanted = mem_used() - base;
    mem_free(as_large);
    struct entry *entry = keyspace_add(&keys, LIT("sixteen byte key"), string_new(LIT("12345678")));
    ck_assert_uint_eq(sizeof(struct entry), 24);
    ck_assert_uint_eq(entry_bytes(entry), wanted);
    end();
}
END_TEST

START_TEST(deadline_round_trips_for_every_type)
{
    for (int type = 0; type < TYPE_COUNT; type++)
        for (int i = 0; i < INSTANTS; i++) {
            begin();
            struct entry *entry = add((enum type)type, NEVER);
            ck_assert_int_eq(entry_expires_at(&keys, entry), NEVER);
            keyspace_set_deadline(&keys, entry, instants[i]);
            ck_assert_int_eq(entry_expires_at(&keys, entry), instants[i]);
            ck_assert_uint_eq(keyspace_volatile(&keys), 1);
            keyspace_check(&keys);
            keyspace_set_deadline(&keys, entry, NEVER);
            ck_assert_int_eq(entry_expires_at(&keys, entry), NEVER);
            ck_assert_uint_eq(keyspace_volatile(&keys), 0);
            ck_assert_int_eq(keyspace_next_due(&keys).at, object_next_due(&entry->object).at);
            end();
        }
}
END_TEST

START_TEST(key_deadline_coexists_with_member_deadlines)
{
    for (int type = TYPE_SET; type < TYPE_COUNT; type++) {
        begin();
        struct entry *entry = add((enum type)type, 500);
        msec inside = object_next_due(&entry->object).at;
        keyspace_set_deadline(&keys, entry, 1000);
        ck_assert_int_eq(keyspace_next_due(&keys).at, inside);
        ck_assert_int_eq(entry_expires_at(&keys, entry), 1000);
        keyspace_set_deadline(&keys, entry, 400);
        ck_assert_int_eq(keyspace_next_due(&keys).at, 401);
        ck_assert_int_eq(entry_expires_at(&keys, entry), 400);
        end();
    }
}
END_TEST

static void replace(enum type from, enum type to, msec at)
{
    begin();
    struct entry *entry = add(from, 500);
    keyspace_add(&keys, LIT("another"), string_new(LIT("value")));
    keyspace_set_deadline(&keys, entry, at);
    entry->accessed = 42;
    struct object old = entry->object;
    entry = keyspace_replace(&keys, entry, value_of(to, 300));
    object_free(&old);
    ck_assert_ptr_eq(keyspace_find(&keys, LIT("key")), entry);
    ck_assert_int_eq(entry->object.type, to);
    ck_assert_int_eq(entry_expires_at(&keys, entry), at);
    ck_assert_uint_eq(entry->accessed, 42);
    ck_assert_uint_eq(keyspace_volatile(&keys), at != NEVER);
    msec inside = object_next_due(&entry->object).at, death = due_at_expiry(at).at;
    ck_assert_int_eq(keyspace_next_due(&keys).at, inside < death ? inside : death);
    end();
}

START_TEST(replacing_value_keeps_key_deadline)
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

START_TEST(nothing_expires_before_next_due)
{
    begin();
    struct entry *entry = add(TYPE_STRING, NEVER);
    keyspace_set_deadline(&keys, entry, 100);
    ck_assert_int_eq(keyspace_next_due(&keys).at, 101);
    ck_assert(!entry_expired(&keys, entry, 100));
    ck_assert(entry_expired(&keys, entry, 101));
    struct object object = keyspace_remove(&keys, entry);
    object_free(&object);
    ck_assert_int_eq(keyspace_next_due(&keys).at, NEVER);
    end();
}
END_TEST

static uint64_t always(void *number)
{
    return *(uint64_t *)number;
}

static struct entry *add_named(enum type type, int number, msec inside)
{
    char name[24];
    size_t len = (size_t)snprintf(name, sizeof(name), "key%d", number);
    return keyspace_add(&keys, bytes_of(name, len), value_of(type, inside));
}

START_TEST(volatile_key_is_found_among_many_others)
{
    enum { SETS = 3000 };
    begin();
    for (int n = 0; n < SETS; n++)
        add_named(TYPE_SET, n, n);
    uint64_t lot = 7;
    ck_assert_ptr_null(keyspace_random_volatile(&keys, always, &lot));
    ck_assert_ptr_null(keyspace_first_volatile(&keys));
    struct entry *only = add(TYPE_STRING, NEVER);
    keyspace_set_deadline(&keys, only, SETS);
    ck_assert_ptr_eq(keyspace_random_volatile(&keys, always, &lot), only);
    ck_assert_ptr_eq(keyspace_first_volatile(&keys), only);
    ck_assert_uint_eq(keyspace_volatile(&keys), 1);
    ck_assert_uint_eq(keyspace_count_expiring(&keys), SETS + 1);
    end();
}
END_TEST

START_TEST(random_volatile_key_may_be_any)
{
    begin();
    struct entry *entries[] = { add_named(TYPE_STRING, 0, NEVER), add_named(TYPE_ZSET, 1, 10),
                                add_named(TYPE_LIST, 2, NEVER), add_named(TYPE_SET, 3, 20) };
    add_named(TYPE_HASH, 4, 5);
    for (unsigned i = 0; i < 4; i++)
        keyspace_set_deadline(&keys, entries[i], 100 + i);
    unsigned seen = 0;
    for (uint64_t lot = 0; lot < 4; lot++)
        for (unsigned i = 0; i < 4; i++)
            if (keyspace_random_volatile(&keys, always, &lot) == entries[i]) seen |= 1u << i;
    ck_assert_uint_eq(seen, 0xf);
    end();
}
END_TEST

START_TEST(first_volatile_has_earliest_own_deadline)
{
    enum { SETS = 3000 };
    begin();
    for (int n = 0; n < SETS; n++)
        keyspace_set_deadline(&keys, add_named(TYPE_SET, n, n), 100000 + n);
    struct entry *string = add(TYPE_STRING, NEVER);
    keyspace_set_deadline(&keys, string, 50000);
    ck_assert_ptr_eq(keyspace_first_volatile(&keys), string);
    struct entry *set = keyspace_find(&keys, LIT("key5"));
    keyspace_set_deadline(&keys, set, 40000);
    ck_assert_ptr_eq(keyspace_first_volatile(&keys), set);
    end();
}
END_TEST

/* Sets or removes the key's own deadline or one inside, at random. */
static void change_one(struct rng *rng, struct entry *entry)
{
    msec at = rng_chance(rng, 30) ? NEVER : (msec)rng_below(rng, 50);
    if (rng_chance(rng, 50) || entry->object.type != TYPE_SET) {
        keyspace_set_deadline(&keys, entry, at);
        return;
    }
    set_expire(entry->object.set, LIT("member"), at);
    keyspace_rearm(&keys, entry);
}

static void ck_walk_is_in_order(void)
{
    struct keyspace_walk walk;
    struct due_at due, before = due_at_instant(INT64_MIN);
    size_t count = 0;
    keyspace_walk_begin(&walk, &keys);
    for (; keyspace_walk_next(&walk, &due) != NULL; count++) {
        if (count == 0) ck_assert_int_eq(due.at, keyspace_next_due(&keys).at);
        ck_assert(!due_at_before(due, before));
        before = due;
    }
    keyspace_walk_end(&walk);
    ck_assert_uint_eq(count, keyspace_count_expiring(&keys));
}

START_TEST(every_key_is_in_the_agenda_of_its_kind)
{
    enum { KEYS = 40, CHANGES = 3000 };
    struct rng rng;
    rng_init(&rng, test_seed());
    struct entry *entries[KEYS];
    begin();
    for (int n = 0; n < KEYS; n++)
        entries[n] = add_named(n % 3 == 0 ? TYPE_STRING : TYPE_SET, n, NEVER);
    for (int i = 0; i < CHANGES; i++) {
        change_one(&rng, entries[rng_below(&rng, KEYS)]);
        keyspace_check(&keys);
        ck_walk_is_in_order();
        struct entry *due = keyspace_first_due(&keys, 50);
        if (due != NULL) ck_assert_int_le(keyspace_next_due(&keys).at, 50);
    }
    end();
}
END_TEST

Suite *test_suite(void)
{
    const TTest *const tests[] = {
        short_string_key_takes_24_bytes_plus_key,
        deadline_round_trips_for_every_type,
        key_deadline_coexists_with_member_deadlines,
        replacing_value_keeps_key_deadline,
        nothing_expires_before_next_due,
        volatile_key_is_found_among_many_others,
        random_volatile_key_may_be_any,
        first_volatile_has_earliest_own_deadline,
        every_key_is_in_the_agenda_of_its_kind,
        NULL,
    };
    return suite_of("keyspace", tests);
}
