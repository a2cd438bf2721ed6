/* What follows from policies when a call ends. */
#include <stdio.h>

#include "tests/support/rng.h"
#include "tests/support/suite.h"
#include "tests/support/world.h"

static struct world world;

static void setup(void)
{
    world_init(&world);
}

/* Replay knows the effects alone, and comes to the same. */
static void done(void)
{
    struct store *copy = world_replay(&world);
    struct digest live = store_digest(world.store, world.now);
    struct digest replayed = store_digest(copy, world.now);
    ck_assert_uint_eq(live.high, replayed.high);
    ck_assert_uint_eq(live.low, replayed.low);
    store_free(copy);
    world_drop(&world);
}

/* The policy must outlive the world: its effects are kept. */
static void rule(const char *name, const struct policy *policy)
{
    txn_policy_set(world_begin(&world), text(name), policy);
    world_commit(&world);
}

#define RULE(name, ...)                                                                            \
    do {                                                                                           \
        static const struct policy policy_ = { __VA_ARGS__ };                                      \
        rule(name, &policy_);                                                                      \
    } while (0)

static struct entry *at_key(const char *key)
{
    return keyspace_find(&world.store->databases[0], text(key));
}

static msec deadline_in(const struct keyspace *ks, const char *key)
{
    const struct entry *entry = keyspace_find(ks, text(key));
    ck_assert_ptr_nonnull(entry);
    return entry_expires_at(ks, entry);
}

static msec deadline(const char *key)
{
    return deadline_in(&world.store->databases[0], key);
}

static const char *events(void)
{
    const char *line = world_events(&world);
    world_forget(&world);
    return line;
}

static void read_key(const char *key)
{
    txn_read(world_begin(&world), text(key));
    world_commit(&world);
}

static void expire(const char *key, msec at)
{
    struct txn *txn = world_begin(&world);
    txn_key_expire(txn, txn_find(txn, text(key)), at);
    world_commit(&world);
}

static void persist(const char *key)
{
    struct txn *txn = world_begin(&world);
    txn_key_persist(txn, txn_find(txn, text(key)));
    world_commit(&world);
}

static void append(const char *key)
{
    struct txn *txn = world_begin(&world);
    txn_string_append(txn, txn_find(txn, text(key)), text("x"));
    world_commit(&world);
}

static void set_keep_ttl(const char *key)
{
    struct string_set how = { .keep_ttl = true, .event = EVENT_INCRBY };
    txn_string_set(world_begin(&world), text(key), text("1"), &how);
    world_commit(&world);
}

static void zadd_range(const char *key, int from, int to)
{
    struct txn *txn = world_begin(&world);
    struct entry *entry = txn_find(txn, text(key));
    if (entry == NULL) entry = txn_create(txn, text(key), TYPE_ZSET);
    struct zput how = { .event = EVENT_ZADD, .life = LIFE(ADD) };
    for (int i = from; i < to; i++) {
        char member[16];
        snprintf(member, sizeof(member), "m%d", i);
        double score = i;
        txn_zset_put(txn, entry, text(member), &score, &how);
    }
    world_commit(&world);
}

static struct entry *list_at_key(struct txn *txn, const char *key)
{
    struct entry *entry = txn_find(txn, text(key));
    return entry != NULL ? entry : txn_create(txn, text(key), TYPE_LIST);
}

/* Each letter is an element; '<' pushes what follows at the head, '>' at the tail. */
static void push(const char *key, const char *letters)
{
    struct txn *txn = world_begin(&world);
    struct entry *entry = list_at_key(txn, key);
    enum list_end end = LIST_TAIL;
    for (; *letters != '\0'; letters++) {
        if (*letters == '<' || *letters == '>')
            end = *letters == '<' ? LIST_HEAD : LIST_TAIL;
        else
            txn_list_push(txn, entry, end, bytes_of(letters, 1));
    }
    world_commit(&world);
}

static const char *list_text(const char *key)
{
    static char line[64];
    size_t len = 0;
    struct list_iter iter;
    struct bytes element;
    list_iter_at(&iter, at_key(key)->object.list, 0);
    while (list_iter_next(&iter, &element))
        line[len++] = element.data[0];
    line[len] = '\0';
    return line;
}

/* ---- TTL ------------------------------------------------------------------------------------- */

START_TEST(a_key_created_without_a_deadline_gets_the_ttl)
{
    setup();
    RULE("s:*", .ttl = 500);
    world_set(&world, "s:1", "v", NEVER);
    ck_assert_int_eq(deadline("s:1"), world.now + 500);
    world_set(&world, "other", "v", NEVER);
    ck_assert_int_eq(deadline("other"), NEVER);
    ck_assert_str_eq(world_events(&world), "new:s:1 set:s:1 expire:s:1 new:other set:other ");
    done();
}
END_TEST

START_TEST(a_key_created_with_a_deadline_keeps_it)
{
    setup();
    RULE("s:*", .ttl = 500, .refresh = REFRESH_WRITE);
    world_set(&world, "s:1", "v", world.now + 9000);
    ck_assert_int_eq(deadline("s:1"), world.now + 9000);
    world_set(&world, "s:1", "v", world.now + 9000);
    ck_assert_int_eq(deadline("s:1"), world.now + 9000);
    done();
}
END_TEST

START_TEST(a_key_overwritten_as_a_whole_is_created_anew)
{
    setup();
    world_set(&world, "s:1", "v", NEVER);
    RULE("s:*", .ttl = 500);
    append("s:1");
    ck_assert_int_eq(deadline("s:1"), NEVER);
    world.now += 10;
    world_set(&world, "s:1", "v", NEVER);
    ck_assert_int_eq(deadline("s:1"), world.now + 500);
    done();
}
END_TEST

START_TEST(never_refreshed_is_the_default)
{
    setup();
    RULE("s:*", .ttl = 500);
    world_set(&world, "s:1", "v", NEVER);
    msec at = deadline("s:1");
    world.now += 100;
    append("s:1");
    set_keep_ttl("s:1");
    read_key("s:1");
    ck_assert_int_eq(deadline("s:1"), at);
    persist("s:1");
    append("s:1");
    set_keep_ttl("s:1");
    ck_assert_int_eq(deadline("s:1"), NEVER);
    done();
}
END_TEST

START_TEST(a_write_refreshes_and_a_read_does_not)
{
    setup();
    RULE("s:*", .ttl = 500, .refresh = REFRESH_WRITE);
    world_set(&world, "s:1", "1", NEVER);
    msec at = deadline("s:1");
    world.now += 100;
    read_key("s:1");
    ck_assert_int_eq(deadline("s:1"), at);
    append("s:1");
    ck_assert_int_eq(deadline("s:1"), world.now + 500);
    world.now += 100;
    set_keep_ttl("s:1");
    ck_assert_int_eq(deadline("s:1"), world.now + 500);
    done();
}
END_TEST

START_TEST(a_read_refreshes_without_a_change_that_watchers_see)
{
    setup();
    RULE("s:*", .ttl = 500, .refresh = REFRESH_ACCESS);
    world_set(&world, "s:1", "1", NEVER);
    world.now += 100;
    size_t before = world.effect_count;
    read_key("s:1");
    ck_assert_int_eq(deadline("s:1"), world.now + 500);
    ck_assert_uint_eq(world.effect_count, before + 1);
    ck_assert(world.effects[before].effect.by_read);
    ck_assert_int_eq(world.effects[before].effect.kind, EFFECT_EXPIRE);
    world.now += 100;
    append("s:1");
    ck_assert_int_eq(deadline("s:1"), world.now + 500);
    ck_assert(!world.effects[world.effect_count - 1].effect.by_read);
    done();
}
END_TEST

START_TEST(ttl_and_exists_do_not_refresh)
{
    setup();
    RULE("s:*", .ttl = 500, .refresh = REFRESH_ACCESS);
    world_set(&world, "s:1", "1", NEVER);
    msec at = deadline("s:1");
    world.now += 100;
    struct txn *txn = world_begin(&world);
    txn->no_touch = true;
    txn_read(txn, text("s:1"));
    world_commit(&world);
    txn = world_begin(&world);
    txn->no_expiry = true;
    txn_read(txn, text("s:1"));
    world_commit(&world);
    txn_peek(world_begin(&world), text("s:1"));
    world_commit(&world);
    ck_assert_int_eq(deadline("s:1"), at);
    done();
}
END_TEST

START_TEST(a_deadline_set_by_the_command_overrides_the_ttl)
{
    setup();
    RULE("s:*", .ttl = 500, .refresh = REFRESH_ACCESS);
    world_set(&world, "s:1", "1", NEVER);
    expire("s:1", world.now + 7);
    ck_assert_int_eq(deadline("s:1"), world.now + 7);
    expire("s:1", world.now + 7);
    ck_assert_int_eq(deadline("s:1"), world.now + 7);
    persist("s:1");
    ck_assert_int_eq(deadline("s:1"), NEVER);
    append("s:1");
    read_key("s:1");
    ck_assert_int_eq(deadline("s:1"), NEVER);
    done();
}
END_TEST

START_TEST(a_refresh_never_brings_a_deadline_nearer)
{
    setup();
    RULE("s:*", .ttl = 500, .refresh = REFRESH_ACCESS);
    msec own = world.now + 9000;
    world_set(&world, "s:1", "1", own);
    read_key("s:1");
    append("s:1");
    set_keep_ttl("s:1");
    ck_assert_int_eq(deadline("s:1"), own);
    world.now = own - 499;
    read_key("s:1");
    ck_assert_int_eq(deadline("s:1"), world.now + 500);
    done();
}
END_TEST

START_TEST(a_refresh_with_jitter_never_brings_a_deadline_nearer)
{
    setup();
    RULE("s:*", .ttl = 500, .jitter = 50, .refresh = REFRESH_ACCESS);
    world_set(&world, "s:1", "1", NEVER);
    for (int i = 0; i < 100; i++) {
        msec before = deadline("s:1");
        read_key("s:1");
        ck_assert_int_ge(deadline("s:1"), before);
        ck_assert_int_le(deadline("s:1"), world.now + 750);
        world.now++;
    }
    done();
}
END_TEST

START_TEST(a_refresh_that_changes_nothing_records_nothing)
{
    setup();
    RULE("s:*", .ttl = 500, .refresh = REFRESH_WRITE);
    world_set(&world, "s:1", "1", NEVER);
    size_t before = world.effect_count;
    append("s:1");
    ck_assert_uint_eq(world.effect_count, before + 1);
    done();
}
END_TEST

/* ---- MAXTTL, JITTER ----------------------------------------------------------------------------
 */

START_TEST(no_deadline_is_later_than_max_ttl)
{
    setup();
    RULE("s:*", .max_ttl = 1000);
    world_set(&world, "s:1", "v", NEVER);
    ck_assert_int_eq(deadline("s:1"), world.now + 1000);
    world_set(&world, "s:2", "v", world.now + 5000);
    ck_assert_int_eq(deadline("s:2"), world.now + 1000);
    world_set(&world, "s:3", "v", world.now + 50);
    ck_assert_int_eq(deadline("s:3"), world.now + 50);
    expire("s:3", world.now + 1001);
    ck_assert_int_eq(deadline("s:3"), world.now + 1000);
    persist("s:3");
    ck_assert_int_eq(deadline("s:3"), world.now + 1000);
    world.now += 300;
    append("s:3");
    ck_assert_int_eq(deadline("s:3"), world.now + 700);
    done();
}
END_TEST

START_TEST(max_ttl_holds_for_old_keys_from_their_next_write_on)
{
    setup();
    world_set(&world, "s:1", "v", NEVER);
    world_set(&world, "s:2", "v", world.now + 5000);
    RULE("s:*", .max_ttl = 1000);
    read_key("s:1");
    ck_assert_int_eq(deadline("s:1"), NEVER);
    append("s:1");
    append("s:2");
    ck_assert_int_eq(deadline("s:1"), world.now + 1000);
    ck_assert_int_eq(deadline("s:2"), world.now + 1000);
    done();
}
END_TEST

START_TEST(jitter_spreads_deadlines_evenly_on_both_sides)
{
    enum { KEYS = 4000 };
    setup();
    RULE("s:*", .ttl = 1000, .jitter = 20);
    int below = 0;
    msec least = INT64_MAX, most = 0;
    for (int i = 0; i < KEYS; i++) {
        char key[16];
        snprintf(key, sizeof(key), "s:%d", i);
        struct string_set how = { .at = NEVER };
        struct txn txn;
        txn_begin(&txn, world.store, world.now, FROM_CLIENT);
        txn_string_set(&txn, text(key), text("v"), &how);
        txn_commit(&txn);
        msec ttl = deadline(key) - world.now;
        below += ttl < 1000;
        if (ttl < least) least = ttl;
        if (ttl > most) most = ttl;
    }
    ck_assert_int_ge(least, 800);
    ck_assert_int_le(least, 805);
    ck_assert_int_le(most, 1200);
    ck_assert_int_ge(most, 1195);
    ck_assert_int_gt(below, KEYS * 4 / 10);
    ck_assert_int_lt(below, KEYS * 6 / 10);
    done();
}
END_TEST

START_TEST(spread_deadlines_stay_in_the_future_and_below_max_ttl)
{
    setup();
    RULE("s:*", .ttl = 2, .jitter = 100);
    RULE("m:*", .ttl = 1000, .max_ttl = 1000, .jitter = 50);
    for (int i = 0; i < 200; i++) {
        world_set(&world, "s:1", "v", NEVER);
        ck_assert_int_gt(deadline("s:1"), world.now);
        ck_assert_int_le(deadline("s:1"), world.now + 4);
        world_set(&world, "m:1", "v", NEVER);
        ck_assert_int_le(deadline("m:1"), world.now + 1000);
    }
    done();
}
END_TEST

START_TEST(the_longest_spans_overflow_nothing)
{
    setup();
    RULE("s:*", .ttl = POLICY_SPAN_MAX, .jitter = 100);
    RULE("m:*", .max_ttl = POLICY_SPAN_MAX, .member_ttl = POLICY_SPAN_MAX, .jitter = 100);
    world.now = POLICY_SPAN_MAX;
    for (int i = 0; i < 50; i++) {
        world_set(&world, "s:1", "v", NEVER);
        ck_assert_int_gt(deadline("s:1"), world.now);
        ck_assert_int_le(deadline("s:1"), INSTANT_MAX);
        zadd_range("m:1", i, i + 1);
    }
    done();
}
END_TEST

/* ---- MAXLEN ---------------------------------------------------------------------------------- */

START_TEST(a_sorted_set_keeps_its_highest)
{
    setup();
    RULE("z", .max_len = 3);
    zadd_range("z", 0, 5);
    size_t rank;
    ck_assert_uint_eq(object_count(&at_key("z")->object), 3);
    ck_assert(!zset_rank(at_key("z")->object.zset, text("m1"), &rank));
    ck_assert(zset_rank(at_key("z")->object.zset, text("m2"), &rank));
    ck_assert_str_eq(world_events(&world), "new:z zadd:z zremrangebyrank:z ");
    done();
}
END_TEST

START_TEST(a_sorted_set_keeps_its_lowest)
{
    setup();
    RULE("z", .max_len = 3, .keep_low = true);
    zadd_range("z", 0, 5);
    size_t rank;
    ck_assert_uint_eq(object_count(&at_key("z")->object), 3);
    ck_assert(zset_rank(at_key("z")->object.zset, text("m2"), &rank));
    ck_assert(!zset_rank(at_key("z")->object.zset, text("m3"), &rank));
    done();
}
END_TEST

START_TEST(a_sorted_set_is_cut_only_when_it_grows)
{
    setup();
    zadd_range("z", 0, 6);
    RULE("z", .max_len = 3);
    struct txn *txn = world_begin(&world);
    txn_zset_remove(txn, txn_find(txn, text("z")), text("m5"));
    world_commit(&world);
    double score = 77;
    struct zput how = { .event = EVENT_ZADD, .life = LIFE(ADD) };
    txn = world_begin(&world);
    txn_zset_put(txn, txn_find(txn, text("z")), text("m1"), &score, &how);
    world_commit(&world);
    ck_assert_uint_eq(object_count(&at_key("z")->object), 5);
    zadd_range("z", 8, 9);
    ck_assert_uint_eq(object_count(&at_key("z")->object), 3);
    done();
}
END_TEST

START_TEST(a_list_keeps_the_elements_pushed_last)
{
    setup();
    RULE("l*", .max_len = 3);
    push("l1", "<abcde");
    ck_assert_str_eq(list_text("l1"), "edc");
    push("l2", ">abcde");
    ck_assert_str_eq(list_text("l2"), "cde");
    push("l2", "<x");
    ck_assert_str_eq(list_text("l2"), "xcd");
    push("l3", "<ab>cd");
    ck_assert_str_eq(list_text("l3"), "acd");
    push("l4", ">ab<cd");
    ck_assert_str_eq(list_text("l4"), "dca");
    done();
}
END_TEST

START_TEST(an_inserted_element_stays_and_the_far_end_is_cut)
{
    setup();
    RULE("l", .max_len = 4);
    push("l", ">abcd");
    for (size_t index = 0; index <= 4; index++) {
        struct txn *txn = world_begin(&world);
        txn_list_insert(txn, txn_find(txn, text("l")), index, text("X"));
        world_commit(&world);
        ck_assert_uint_eq(list_count(at_key("l")->object.list), 4);
        ck_assert_ptr_nonnull(strchr(list_text("l"), 'X'));
        txn = world_begin(&world);
        txn_key_drop(txn, txn_find(txn, text("l")), EVENT_DEL);
        world_commit(&world);
        push("l", ">abcd");
    }
    done();
}
END_TEST

START_TEST(a_stored_list_keeps_its_tail)
{
    setup();
    push("long", ">abcdef");
    RULE("l", .max_len = 2);
    struct txn *txn = world_begin(&world);
    txn_key_copy(txn, txn_find(txn, text("long")), 0, text("l"));
    world_commit(&world);
    ck_assert_str_eq(list_text("l"), "ef");
    ck_assert_str_eq(list_text("long"), "abcdef");
    done();
}
END_TEST

START_TEST(maxlen_does_not_apply_to_other_types)
{
    setup();
    RULE("*", .max_len = 1);
    struct txn *txn = world_begin(&world);
    struct entry *entry = txn_create(txn, text("s"), TYPE_SET);
    txn_set_add(txn, entry, text("a"), LIFE(ADD));
    txn_set_add(txn, entry, text("b"), LIFE(ADD));
    world_commit(&world);
    world_set(&world, "str", "abc", NEVER);
    ck_assert_uint_eq(object_count(&at_key("s")->object), 2);
    done();
}
END_TEST

/* ---- MEMBERTTL ------------------------------------------------------------------------------- */

static msec member_at(const char *key, const char *member)
{
    msec at;
    ck_assert(object_member_deadline(&at_key(key)->object, text(member), &at));
    return at;
}

static void sadd(const char *key, const char *member, struct lifetime life)
{
    struct txn *txn = world_begin(&world);
    struct entry *entry = txn_find(txn, text(key));
    if (entry == NULL) entry = txn_create(txn, text(key), TYPE_SET);
    txn_set_add(txn, entry, text(member), life);
    world_commit(&world);
}

static void hset(const char *key, const char *field, struct lifetime life)
{
    struct txn *txn = world_begin(&world);
    struct entry *entry = txn_find(txn, text(key));
    if (entry == NULL) entry = txn_create(txn, text(key), TYPE_HASH);
    struct hput how = { .event = EVENT_HSET, .life = life };
    txn_hash_put(txn, entry, text(field), text("v"), &how);
    world_commit(&world);
}

START_TEST(members_get_deadlines_when_added_and_added_again)
{
    setup();
    RULE("k*", .member_ttl = 100);
    sadd("k1", "a", LIFE(ADD));
    zadd_range("k2", 0, 2);
    hset("k3", "f", LIFE(CLEAR));
    ck_assert_int_eq(member_at("k1", "a"), world.now + 100);
    ck_assert_int_eq(member_at("k2", "m1"), world.now + 100);
    ck_assert_int_eq(member_at("k3", "f"), world.now + 100);
    ck_assert_int_eq(deadline("k1"), NEVER);
    world.now += 60;
    sadd("k1", "b", LIFE(ADD));
    sadd("k1", "a", LIFE(ADD));
    hset("k3", "f", LIFE(CLEAR));
    zadd_range("k2", 1, 2);
    ck_assert_int_eq(member_at("k1", "a"), world.now + 100);
    ck_assert_int_eq(member_at("k3", "f"), world.now + 100);
    ck_assert_int_eq(member_at("k2", "m0"), world.now + 40);
    ck_assert_int_eq(member_at("k2", "m1"), world.now + 100);
    world.now += 101;
    ck_assert(!world_has(&world, "k1"));
    ck_assert(!world_has(&world, "k2"));
    ck_assert(!world_has(&world, "k3"));
    done();
}
END_TEST

START_TEST(memberttl_does_not_override_a_given_deadline_or_arithmetic)
{
    setup();
    RULE("k*", .member_ttl = 100);
    sadd("k1", "a", (struct lifetime){ LIFE_SET, world.now + 7 });
    ck_assert_int_eq(member_at("k1", "a"), world.now + 7);
    sadd("k1", "b", (struct lifetime){ LIFE_SET_NEW, world.now + 8 });
    ck_assert_int_eq(member_at("k1", "b"), world.now + 8);
    hset("k3", "f", LIFE(KEEP));
    ck_assert_int_eq(member_at("k3", "f"), world.now + 100);
    world.now += 5;
    hset("k3", "f", LIFE(KEEP));
    ck_assert_int_eq(member_at("k3", "f"), world.now + 95);
    sadd("k1", "a", (struct lifetime){ LIFE_SET_NEW, world.now + 8 });
    ck_assert_int_eq(member_at("k1", "a"), world.now + 2);
    done();
}
END_TEST

START_TEST(without_a_policy_the_life_rule_decides)
{
    setup();
    sadd("k", "a", LIFE(ADD));
    ck_assert_int_eq(member_at("k", "a"), NEVER);
    sadd("k", "b", (struct lifetime){ LIFE_SET, world.now + 7 });
    RULE("other", .member_ttl = 100);
    sadd("k", "b", LIFE(ADD));
    ck_assert_int_eq(member_at("k", "b"), world.now + 7);
    hset("h", "f", (struct lifetime){ LIFE_SET, world.now + 7 });
    hset("h", "f", LIFE(CLEAR));
    ck_assert_int_eq(member_at("h", "f"), NEVER);
    done();
}
END_TEST

START_TEST(members_of_a_stored_result_get_memberttl)
{
    setup();
    RULE("k*", .member_ttl = 100, .ttl = 500);
    for (enum type type = TYPE_SET; type <= TYPE_ZSET; type++) {
        struct object object = object_new(type);
        if (type == TYPE_SET) set_add(object.set, text("a"), NEVER);
        if (type == TYPE_HASH) hash_set(object.hash, text("a"), text("v"), NEVER);
        if (type == TYPE_ZSET) zset_put(object.zset, text("a"), 1, NEVER);
        txn_key_store(world_begin(&world), text("k"), object, EVENT_SUNIONSTORE);
        world_commit(&world);
        ck_assert_int_eq(member_at("k", "a"), world.now + 100);
        ck_assert_int_eq(deadline("k"), world.now + 500);
    }
    struct object list = object_new(TYPE_LIST);
    list_push(list.list, LIST_TAIL, text("a"));
    txn_key_store(world_begin(&world), text("k"), list, EVENT_SORTSTORE);
    world_commit(&world);
    ck_assert_int_eq(deadline("k"), world.now + 500);
    done();
}
END_TEST

/* ---- notes -------------------------------------------------------------------------------------
 */

START_TEST(a_call_of_many_keys_gives_each_its_deadline_once)
{
    enum { KEYS = 3000 };
    setup();
    RULE("s:*", .ttl = 500, .refresh = REFRESH_WRITE);
    struct txn *txn = world_begin(&world);
    struct string_set how = { .at = NEVER, .event = EVENT_SET };
    for (int i = 0; i < 2 * KEYS; i++) {
        char key[16];
        snprintf(key, sizeof(key), "s:%d", i % KEYS);
        txn_string_set(txn, text(key), text("v"), &how);
    }
    world_commit(&world);
    size_t given = 0;
    for (size_t i = 0; i < world.effect_count; i++)
        given += world.effects[i].effect.kind == EFFECT_EXPIRE;
    ck_assert_uint_eq(given, KEYS);
    done();
}
END_TEST

START_TEST(keys_dropped_within_their_call_are_forgotten)
{
    setup();
    RULE("*", .ttl = 500, .max_len = 2, .refresh = REFRESH_ACCESS);
    for (int round = 0; round < 3; round++) {
        struct txn *txn = world_begin(&world);
        struct string_set how = { .at = NEVER };
        for (int i = 0; i < 100; i++) {
            char key[16];
            snprintf(key, sizeof(key), "%d", i);
            txn_string_set(txn, text(key), text("v"), &how);
            if (i % 3 == round) txn_key_drop(txn, txn_read(txn, text(key)), EVENT_DEL);
        }
        world_commit(&world);
    }
    ck_assert_int_eq(deadline("0"), world.now + 500);
    ck_assert_ptr_null(at_key("2"));
    done();
}
END_TEST

START_TEST(a_key_created_after_a_drop_gets_its_own_policy)
{
    /* Of one size that nothing else has, so that an allocator hands out the same block again. */
    static char a[200] = "a:", b[200] = "b:";
    memset(a + 2, 'x', sizeof(a) - 3);
    memset(b + 2, 'x', sizeof(b) - 3);
    setup();
    RULE("b:*", .member_ttl = 100);
    struct txn *txn = world_begin(&world);
    for (int round = 0; round < 3; round++) {
        const char *key = round % 2 == 0 ? a : b;
        struct entry *entry = txn_create(txn, text(key), TYPE_SET);
        txn_set_add(txn, entry, text("m"), LIFE(ADD));
        ck_assert_int_eq(member_at(key, "m"), key == a ? NEVER : world.now + 100);
        txn_set_remove_all(txn, entry, EVENT_SPOP);
    }
    world_commit(&world);
    done();
}
END_TEST

START_TEST(an_emptied_key_is_dropped_without_a_new_deadline)
{
    setup();
    RULE("*", .ttl = 500, .refresh = REFRESH_WRITE);
    zadd_range("z", 0, 1);
    events();
    struct txn *txn = world_begin(&world);
    txn_zset_remove(txn, txn_find(txn, text("z")), text("m0"));
    world_commit(&world);
    ck_assert_str_eq(events(), "zrem:z del:z ");
    world_drop(&world);
}
END_TEST

START_TEST(copied_and_moved_keys_follow_the_policy_of_the_new_name)
{
    setup();
    RULE("s:*", .ttl = 500);
    world_set(&world, "a", "v", NEVER);
    world_set(&world, "b", "v", world.now + 42);
    world_set(&world, "s:m", "v", world.now + 42);
    persist("s:m");
    struct txn *txn = world_begin(&world);
    txn_key_copy(txn, txn_find(txn, text("a")), 3, text("s:a"));
    txn_key_rename(txn, txn_find(txn, text("b")), text("s:b"));
    txn_key_move(txn, txn_find(txn, text("s:m")), 2);
    world_commit(&world);
    struct keyspace *databases = world.store->databases;
    ck_assert_int_eq(deadline_in(&databases[3], "s:a"), world.now + 500);
    ck_assert_int_eq(deadline("s:b"), world.now + 42);
    ck_assert_int_eq(deadline_in(&databases[2], "s:m"), world.now + 500);
    done();
}
END_TEST

START_TEST(a_flush_leaves_policies_and_forgets_notes)
{
    setup();
    RULE("s:*", .ttl = 500);
    struct txn *txn = world_begin(&world);
    struct string_set how = { .at = NEVER };
    txn_string_set(txn, text("s:1"), text("v"), &how);
    txn_flush(txn, 0);
    txn_string_set(txn, text("s:2"), text("v"), &how);
    world_commit(&world);
    ck_assert_uint_eq(world.store->policies.count, 1);
    ck_assert_int_eq(deadline("s:2"), world.now + 500);
    done();
}
END_TEST

START_TEST(a_policy_set_within_a_call_applies_to_later_writes)
{
    static const struct policy policy = { .ttl = 500, .refresh = REFRESH_WRITE };
    setup();
    RULE("s:1", .ttl = 100);
    struct txn *txn = world_begin(&world);
    struct string_set how = { .at = NEVER };
    txn_string_set(txn, text("s:1"), text("v"), &how);
    txn_policy_drop(txn, text("s:1"));
    txn_policy_set(txn, text("s:*"), &policy);
    txn_string_set(txn, text("s:2"), text("v"), &how);
    world_commit(&world);
    ck_assert_int_eq(deadline("s:1"), world.now + 100);
    ck_assert_int_eq(deadline("s:2"), world.now + 500);
    ck_assert(!txn_policy_drop(world_begin(&world), text("s:1")));
    ck_assert(txn_policy_drop(&world.txn, text("s:*")));
    world_commit(&world);
    world_set(&world, "s:2", "v", NEVER);
    ck_assert_int_eq(deadline("s:2"), NEVER);
    done();
}
END_TEST

START_TEST(keys_without_a_policy_are_not_noted)
{
    setup();
    RULE("s:*", .ttl = 500);
    RULE("m:*", .member_ttl = 500);
    world_set(&world, "s:1", "v", NEVER);
    struct txn *txn = world_begin(&world);
    struct string_set how = { .at = NEVER };
    txn_string_set(txn, text("other"), text("v"), &how);
    txn_set_add(txn, txn_create(txn, text("m:1"), TYPE_SET), text("a"), LIFE(ADD));
    txn_string_append(txn, txn_read(txn, text("s:1")), text("x"));
    ck_assert_ptr_null(txn->notes);
    world_commit(&world);
    done();
}
END_TEST

START_TEST(policies_apply_to_calls_of_clients_only)
{
    setup();
    RULE("*", .ttl = 500, .member_ttl = 5);
    struct txn txn;
    struct string_set how = { .at = NEVER };
    txn_begin(&txn, world.store, world.now, FROM_REPLAY);
    txn_call(&txn, 0);
    txn_string_set(&txn, text("k"), text("v"), &how);
    txn_set_add(&txn, txn_create(&txn, text("s"), TYPE_SET), text("a"), LIFE(ADD));
    txn_commit(&txn);
    ck_assert_int_eq(deadline("k"), NEVER);
    ck_assert_int_eq(member_at("s", "a"), NEVER);
    world_drop(&world);
}
END_TEST

/* ---- against a model of deadlines --------------------------------------------------------------
 */

enum op { OP_SET, OP_SET_AT, OP_SET_KEEP, OP_APPEND, OP_EXPIRE, OP_PERSIST, OP_READ, OP_COUNT };
enum { ROUNDS = 20000 };

static struct {
    bool present;
    msec at;
} model;

/* The deadline that the command alone leaves. */
static msec plain(enum op op, msec at)
{
    switch (op) {
    case OP_SET:
    case OP_PERSIST: return NEVER;
    case OP_SET_AT:
    case OP_EXPIRE: return at;
    default: return model.at;
    }
}

static bool is_given_anew(const struct policy *policy, enum op op, bool was_there)
{
    if (policy->ttl == 0) return false;
    if (op == OP_SET || (op == OP_SET_KEEP && !was_there)) return true;
    bool refreshed = op == OP_SET_KEEP || op == OP_APPEND
                         ? policy->refresh != REFRESH_NEVER
                         : op == OP_READ && policy->refresh == REFRESH_ACCESS;
    return refreshed && model.at < world.now + policy->ttl;
}

static void model_run(const struct policy *policy, enum op op, msec at)
{
    bool was_there = model.present;
    bool makes = op == OP_SET || op == OP_SET_AT || op == OP_SET_KEEP;
    if (!was_there && !makes) return;
    bool changed = op != OP_READ && !(op == OP_PERSIST && model.at == NEVER);
    if (!was_there) model.at = NEVER;
    model.present = true;
    model.at = plain(op, at);
    bool anew = is_given_anew(policy, op, was_there);
    if (anew) model.at = world.now + policy->ttl;
    if (policy->max_ttl > 0 && (anew || changed) && model.at > world.now + policy->max_ttl)
        model.at = world.now + policy->max_ttl;
}

static void run(enum op op, msec at)
{
    switch (op) {
    case OP_SET: world_set(&world, "k", "1", NEVER); return;
    case OP_SET_AT: world_set(&world, "k", "1", at); return;
    case OP_SET_KEEP: set_keep_ttl("k"); return;
    case OP_READ: read_key("k"); return;
    default: break;
    }
    if (!world_has(&world, "k")) return;
    if (op == OP_APPEND) append("k");
    if (op == OP_EXPIRE) expire("k", at);
    if (op == OP_PERSIST) persist("k");
}

START_TEST(random_commands_leave_the_deadline_of_the_model)
{
    static struct policy policies[50];
    struct rng rng;
    rng_init(&rng, test_seed());
    setup();
    const struct policy *policy = &policies[0];
    rule("k", policy);
    for (int round = 0; round < ROUNDS; round++) {
        if (round % (ROUNDS / 50) == 0) {
            struct policy *next = &policies[round / (ROUNDS / 50)];
            if (rng_chance(&rng, 70)) next->ttl = rng_between(&rng, 1, 100);
            if (next->ttl > 0) next->refresh = (enum policy_refresh)rng_below(&rng, 3);
            if (rng_chance(&rng, 50)) next->max_ttl = rng_between(&rng, 50, 200);
            rule("k", policy = next);
        }
        world.now += rng_between(&rng, 0, 20);
        if (instant_expired(model.at, world.now)) model.present = false;
        enum op op = (enum op)rng_below(&rng, OP_COUNT);
        msec at = world.now + rng_between(&rng, 1, 300);
        run(op, at);
        model_run(policy, op, at);
        ck_assert(world_has(&world, "k") == model.present);
        if (model.present) ck_assert_int_eq(deadline("k"), model.at);
    }
    done();
}
END_TEST

Suite *test_suite(void)
{
    const TTest *const tests[] = {
        a_key_created_without_a_deadline_gets_the_ttl,
        a_key_created_with_a_deadline_keeps_it,
        a_key_overwritten_as_a_whole_is_created_anew,
        never_refreshed_is_the_default,
        a_write_refreshes_and_a_read_does_not,
        a_read_refreshes_without_a_change_that_watchers_see,
        ttl_and_exists_do_not_refresh,
        a_deadline_set_by_the_command_overrides_the_ttl,
        a_refresh_never_brings_a_deadline_nearer,
        a_refresh_with_jitter_never_brings_a_deadline_nearer,
        a_refresh_that_changes_nothing_records_nothing,
        no_deadline_is_later_than_max_ttl,
        max_ttl_holds_for_old_keys_from_their_next_write_on,
        jitter_spreads_deadlines_evenly_on_both_sides,
        spread_deadlines_stay_in_the_future_and_below_max_ttl,
        the_longest_spans_overflow_nothing,
        a_sorted_set_keeps_its_highest,
        a_sorted_set_keeps_its_lowest,
        a_sorted_set_is_cut_only_when_it_grows,
        a_list_keeps_the_elements_pushed_last,
        an_inserted_element_stays_and_the_far_end_is_cut,
        a_stored_list_keeps_its_tail,
        maxlen_does_not_apply_to_other_types,
        members_get_deadlines_when_added_and_added_again,
        memberttl_does_not_override_a_given_deadline_or_arithmetic,
        without_a_policy_the_life_rule_decides,
        members_of_a_stored_result_get_memberttl,
        a_call_of_many_keys_gives_each_its_deadline_once,
        keys_dropped_within_their_call_are_forgotten,
        a_key_created_after_a_drop_gets_its_own_policy,
        an_emptied_key_is_dropped_without_a_new_deadline,
        copied_and_moved_keys_follow_the_policy_of_the_new_name,
        a_flush_leaves_policies_and_forgets_notes,
        a_policy_set_within_a_call_applies_to_later_writes,
        keys_without_a_policy_are_not_noted,
        policies_apply_to_calls_of_clients_only,
        random_commands_leave_the_deadline_of_the_model,
        NULL,
    };
    return suite_of("txn_policy", tests);
}
