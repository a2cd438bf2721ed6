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
    case TYPE_LEASE: lease_put(object.lease, &(struct holder){ LIT("o"), 1, inside }, 1); break;
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

START_TEST(short_string_key_takes_20_bytes_plus_key)
{
    begin();
    size_t base = mem_used();
    void *as_large = mem_alloc_tight(20 + 16);
    size_t wanted = mem_used() - base;
    mem_free(as_large);
    struct entry *entry = keyspace_add(&keys, LIT("sixteen byte key"), string_new(LIT("12345678")));
    ck_assert_uint_eq(sizeof(struct entry), 20);
    ck_assert_uint_eq(entry_bytes(entry), wanted);
    end();
}
END_TEST

/* A key of 255 bytes or more has its length in front of it. */
START_TEST(keys_of_all_lengths_keep_their_deadlines)
{
    static char text[70000];
    const size_t lengths[] = { 0, 1, 16, 253, 254, 255, 256, 257, 1000, 65535, 65536, 70000 };
    begin();
    memset(text, 'k', sizeof(text));
    for (unsigned i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
        struct bytes key = bytes_of(text, lengths[i]);
        keyspace_set_deadline(&keys, keyspace_add(&keys, key, string_new(LIT("v"))), 1000 + i);
    }
    for (int type = 0; type < TYPE_LEASE; type++) {
        for (unsigned i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
            struct entry *entry = keyspace_find(&keys, bytes_of(text, lengths[i]));
            ck_assert_ptr_nonnull(entry);
            struct object old = entry->object;
            entry = keyspace_replace(&keys, entry, value_of((enum type)type, NEVER));
            object_free(&old);
            ck_assert_uint_eq(entry_key(entry).len, lengths[i]);
            ck_assert_int_eq(entry_expires_at(&keys, entry), 1000 + i);
        }
        keyspace_check(&keys);
    }
    end();
}
END_TEST

START_TEST(deadline_round_trips_for_every_type)
{
    for (int type = 0; type < TYPE_LEASE; type++)
        for (int i = 0; i < INSTANTS; i++) {
            begin();
            struct entry *entry = add((enum type)type, NEVER);
            ck_assert_int_eq(entry_expires_at(&keys, entry), NEVER);
            keyspace_set_deadline(&keys, entry, instants[i]);
            ck_assert_int_eq(entry_expires_at(&keys, entry), instants[i]);
            ck_assert_uint_eq(keyspace_count_volatile(&keys), 1);
            keyspace_check(&keys);
            keyspace_set_deadline(&keys, entry, NEVER);
            ck_assert_int_eq(entry_expires_at(&keys, entry), NEVER);
            ck_assert_uint_eq(keyspace_count_volatile(&keys), 0);
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
    ck_assert_uint_eq(keyspace_count_volatile(&keys), at != NEVER);
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
    ck_assert_uint_eq(keyspace_count_volatile(&keys), 1);
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

/* ---- hidden keys ---- */

static void add_overdue(int strings, int sets)
{
    for (int n = 0; n < strings; n++)
        keyspace_set_deadline(&keys, add_named(TYPE_STRING, n, NEVER), n % 40);
    for (int n = strings; n < strings + sets; n++) {
        struct entry *entry = add_named(TYPE_SET, n, n % 40);
        if (n % 2 == 0) set_add(entry->object.set, LIT("later"), 1000);
    }
}

static void ck_counts(msec now, size_t alive, size_t volatile_keys)
{
    ck_assert_uint_eq(keyspace_count_alive(&keys, now), alive);
    ck_assert_uint_eq(keyspace_count_volatile_alive(&keys, now), volatile_keys);
}

START_TEST(counts_visit_no_hidden_key)
{
    enum { STRINGS = 3000, SETS = 1000, ALL = STRINGS + SETS };
    begin();
    add_overdue(STRINGS, SETS);
    keyspace_set_deadline(&keys, add(TYPE_STRING, NEVER), 2000);
    ck_assert_uint_eq(keyspace_count_to_hide(&keys, 50, SIZE_MAX), ALL);
    ck_counts(50, SETS / 2 + 1, 1);
    ck_assert_uint_eq(keyspace_hide(&keys, 50, 100), 100);
    ck_counts(50, SETS / 2 + 1, 1);
    ck_assert_uint_eq(keyspace_count_to_hide(&keys, 50, SIZE_MAX), ALL - 100);
    ck_assert_uint_eq(keyspace_hide(&keys, 50, SIZE_MAX), ALL - 100);
    ck_assert_uint_eq(keyspace_count_to_hide(&keys, 50, SIZE_MAX), 0);
    ck_counts(50, SETS / 2 + 1, 1);
    ck_assert_uint_eq(keyspace_hide(&keys, 1001, SIZE_MAX), SETS / 2);
    ck_counts(1001, 1, 1);
    end();
}
END_TEST

START_TEST(a_walk_of_deadlines_passes_no_hidden_key)
{
    begin();
    add_overdue(3000, 1000);
    struct entry *next = add(TYPE_STRING, NEVER);
    keyspace_set_deadline(&keys, next, 2000);
    keyspace_hide(&keys, 50, SIZE_MAX);
    struct keyspace_walk walk;
    struct due_at due;
    keyspace_walk_begin(&walk, &keys);
    ck_assert_ptr_eq(keyspace_walk_next(&walk, &due), next);
    ck_assert_ptr_null(keyspace_walk_next(&walk, &due));
    keyspace_walk_end(&walk);
    end();
}
END_TEST

START_TEST(a_revealed_key_is_due_as_before)
{
    begin();
    add_overdue(300, 100);
    keyspace_hide(&keys, 50, SIZE_MAX);
    while (keyspace_reveal(&keys, 7) == 7)
        keyspace_check(&keys);
    msec before = 0;
    for (struct entry *entry; (entry = keyspace_first_due(&keys, 50)) != NULL;) {
        ck_assert_int_ge(keyspace_next_due(&keys).at, before);
        before = keyspace_next_due(&keys).at;
        struct object object = keyspace_remove(&keys, entry);
        object_free(&object);
    }
    ck_assert_uint_eq(keyspace_count(&keys), 0);
    end();
}
END_TEST

START_TEST(a_change_of_members_shows_a_hidden_key_again)
{
    begin();
    struct entry *entry = add(TYPE_SET, 10);
    keyspace_hide(&keys, 50, SIZE_MAX);
    ck_counts(50, 0, 0);
    set_add(entry->object.set, LIT("stays"), NEVER);
    keyspace_changed(&keys, LIT("key"));
    keyspace_check(&keys);
    ck_counts(50, 1, 0);
    keyspace_hide(&keys, 50, SIZE_MAX);
    ck_counts(50, 1, 0);
    set_remove(entry->object.set, LIT("stays"));
    keyspace_changed(&keys, LIT("key"));
    ck_counts(50, 0, 0);
    end();
}
END_TEST

static uint64_t draw(void *rng)
{
    return rng_next(rng);
}

START_TEST(random_alive_finds_each_of_a_few_keys)
{
    enum { OTHERS = 4 };
    struct rng rng;
    rng_init(&rng, test_seed());
    begin();
    add_overdue(3000, 0);
    keyspace_hide(&keys, 50, SIZE_MAX);
    ck_assert_ptr_null(keyspace_random_alive(&keys, 50, draw, &rng));
    struct entry *others[OTHERS];
    for (int n = 0; n < OTHERS; n++)
        others[n] = add_named(n < 2 ? TYPE_STRING : TYPE_SET, 5000 + n, n % 2 ? 100 : NEVER);
    keyspace_set_deadline(&keys, others[0], 100);
    for (unsigned seen = 0; seen != (1 << OTHERS) - 1;) {
        const struct entry *entry = keyspace_random_alive(&keys, 50, draw, &rng);
        int n = 0;
        while (n < OTHERS && others[n] != entry)
            n++;
        ck_assert_int_lt(n, OTHERS);
        seen |= 1u << n;
    }
    end();
}
END_TEST

struct model_counts {
    msec now, next;
    size_t alive, volatile_keys, expiring;
};

static bool model_count(void *ctx, const struct keyspace *ks, const struct entry *entry)
{
    struct model_counts *counts = ctx;
    msec own = entry_expires_at(ks, entry);
    struct due_at inside = object_next_due(&entry->object);
    msec due = due_at_before(inside, due_at_expiry(own)) ? inside.at : due_at_expiry(own).at;
    bool has_expired =
        instant_expired(own, counts->now) || object_all_expired(&entry->object, counts->now);
    counts->alive += !has_expired;
    counts->volatile_keys += !has_expired && own != NEVER;
    counts->expiring += due != NEVER;
    if (due > counts->now && due < counts->next) counts->next = due;
    return true;
}

static void ck_model(msec now)
{
    struct model_counts model = { .now = now, .next = NEVER };
    struct keyspace_walk walk;
    struct due_at due = DUE_AT_NEVER;
    keyspace_check(&keys);
    keyspace_each(&keys, model_count, &model);
    ck_counts(now, model.alive, model.volatile_keys);
    ck_assert_uint_eq(keyspace_count_expiring(&keys), model.expiring);
    if (keyspace_count_to_hide(&keys, now, 1) > 0) return;
    keyspace_walk_begin(&walk, &keys);
    keyspace_walk_next(&walk, &due);
    keyspace_walk_end(&walk);
    ck_assert_int_eq(due.at, model.next);
}

static void change_member(struct rng *rng, struct entry *entry)
{
    static const char *const names[] = { "member", "b", "c" };
    struct bytes name = bytes_of(names[rng_below(rng, 3)], 1);
    if (rng_chance(rng, 30) && set_count(entry->object.set) > 1) {
        set_remove(entry->object.set, name);
    } else {
        msec at = rng_chance(rng, 20) ? NEVER : (msec)rng_below(rng, 50);
        set_add(entry->object.set, name, NEVER);
        set_expire(entry->object.set, name, at);
    }
    keyspace_rearm(&keys, entry);
    keyspace_changed(&keys, entry_key(entry));
}

static void hide_or_reveal(struct rng *rng, msec *now)
{
    *now = rng_chance(rng, 10) ? (msec)rng_below(rng, 50) : *now + (msec)rng_below(rng, 3);
    size_t most = rng_chance(rng, 50) ? SIZE_MAX : (size_t)rng_below(rng, 10);
    if (rng_chance(rng, 20))
        keyspace_reveal(&keys, most);
    else
        keyspace_hide(&keys, *now, most);
}

START_TEST(counts_are_exact_whatever_is_hidden)
{
    enum { KEYS = 40, CHANGES = 5000 };
    struct rng rng;
    rng_init(&rng, test_seed());
    struct entry *entries[KEYS];
    msec now = 0;
    begin();
    for (int n = 0; n < KEYS; n++)
        entries[n] = add_named(n % 3 == 0 ? TYPE_STRING : TYPE_SET, n, NEVER);
    for (int i = 0; i < CHANGES; i++) {
        int n = (int)rng_below(&rng, KEYS);
        if (rng_chance(&rng, 5)) {
            struct object object = keyspace_remove(&keys, entries[n]);
            object_free(&object);
            entries[n] = add_named(n % 3 == 0 ? TYPE_STRING : TYPE_SET, n, NEVER);
        } else if (entries[n]->object.type == TYPE_SET && rng_chance(&rng, 50)) {
            change_member(&rng, entries[n]);
        } else {
            keyspace_set_deadline(&keys, entries[n],
                                  rng_chance(&rng, 30) ? NEVER : (msec)rng_below(&rng, 50));
        }
        if (rng_chance(&rng, 50)) hide_or_reveal(&rng, &now);
        ck_model(now);
    }
    end();
}
END_TEST

Suite *test_suite(void)
{
    const TTest *const tests[] = {
        short_string_key_takes_20_bytes_plus_key,
        keys_of_all_lengths_keep_their_deadlines,
        deadline_round_trips_for_every_type,
        key_deadline_coexists_with_member_deadlines,
        replacing_value_keeps_key_deadline,
        nothing_expires_before_next_due,
        volatile_key_is_found_among_many_others,
        random_volatile_key_may_be_any,
        first_volatile_has_earliest_own_deadline,
        every_key_is_in_the_agenda_of_its_kind,
        counts_visit_no_hidden_key,
        a_walk_of_deadlines_passes_no_hidden_key,
        a_revealed_key_is_due_as_before,
        a_change_of_members_shows_a_hidden_key_again,
        random_alive_finds_each_of_a_few_keys,
        counts_are_exact_whatever_is_hidden,
        NULL,
    };
    return suite_of("keyspace", tests);
}
