/* txn_settle: which keys have many overdue members, and their removal in slices. */
#include "store/txn/txn_settle.h"

#include <stdio.h>

#include "store/txn/txn_dehydrator.h"
#include "tests/support/suite.h"
#include "tests/support/world.h"

enum { MANY = 3 * SETTLE_AT_ONCE, START = 1000000 };

static struct world world;

static struct entry *at_key(const char *key)
{
    return keyspace_find(&world.store->databases[0], text(key));
}

static const char *events(void)
{
    const char *line = world_events(&world);
    world_forget(&world);
    return line;
}

static struct bytes member(int i)
{
    static char name[16];
    return bytes_of(name, (size_t)snprintf(name, sizeof(name), "m%d", i));
}

static void sadd(const char *key, int from, int to, msec at)
{
    struct txn *txn = world_begin(&world);
    struct entry *entry = txn_find(txn, text(key));
    if (entry == NULL) entry = txn_create(txn, text(key), TYPE_SET);
    struct lifetime life = { at == NEVER ? LIFE_CLEAR : LIFE_SET, at };
    for (int i = from; i < to; i++)
        txn_set_add(txn, entry, member(i), life);
    world_commit(&world);
}

static void zadd(const char *key, int from, int to, msec at)
{
    struct txn *txn = world_begin(&world);
    struct entry *entry = txn_find(txn, text(key));
    if (entry == NULL) entry = txn_create(txn, text(key), TYPE_ZSET);
    struct zput how = { .event = EVENT_ZADD, .life = { at == NEVER ? LIFE_CLEAR : LIFE_SET, at } };
    for (int i = from; i < to; i++) {
        double score = i;
        txn_zset_put(txn, entry, member(i), &score, &how);
    }
    world_commit(&world);
}

static void expire(const char *key, msec at)
{
    struct txn *txn = world_begin(&world);
    txn_key_expire(txn, txn_find(txn, text(key)), at);
    world_commit(&world);
}

static void max_len(uint64_t most, bool keep_low)
{
    txn_policy_set(world_begin(&world), text("z*"),
                   &(struct policy){ .max_len = most, .keep_low = keep_low });
    world_commit(&world);
}

static bool is_slow(const char *key)
{
    struct txn *txn = world_begin(&world);
    return txn_settles_slowly(txn, at_key(key));
}

static bool is_slow_in_pause(const char *key)
{
    struct txn *txn = world_begin(&world);
    txn->no_expiry = true;
    return txn_settles_slowly(txn, at_key(key));
}

/* Settles in slices of `limit` members, as server/engine/settle.c does. */
static size_t settle(const char *key, size_t limit)
{
    txn_begin(&world.txn, world.store, world.now, FROM_EXPIRY);
    txn_call(&world.txn, 0);
    struct entry *entry = at_key(key);
    size_t done = entry != NULL ? txn_settle_some(&world.txn, &entry, limit) : 0;
    ck_assert_ptr_eq(entry, at_key(key));
    world_commit(&world);
    return done;
}

static void listen_to_members(void)
{
    struct effect_listener listener = world.store->listener;
    store_listen(world.store, LISTEN_CHANGES | LISTEN_EVENTS | LISTEN_MEMBERS, &listener);
}

/* Ends a test: a replay of the effects must give the same data. */
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

/* ---- expired members ---- */

START_TEST(many_expired_members_and_a_live_one_settle_slowly)
{
    world_init(&world);
    sadd("s", 0, MANY, START + 5);
    sadd("s", MANY, MANY + 1, NEVER);
    world.now = START + 5;
    ck_assert(!is_slow("s"));
    world.now++;
    ck_assert(is_slow("s"));
    ck_assert(is_slow_in_pause("s")); /* a read must not return them */
    done();
}
END_TEST

START_TEST(a_few_expired_members_do_not_settle_slowly)
{
    world_init(&world);
    sadd("s", 0, SETTLE_AT_ONCE - 1, START + 5);
    sadd("s", MANY, 2 * MANY, START + 10);
    world.now = START + 6;
    ck_assert(!is_slow("s"));
    done();
}
END_TEST

START_TEST(a_fully_expired_set_is_slow_only_with_member_events)
{
    world_init(&world);
    sadd("s", 0, MANY, START + 5);
    sadd("t", 0, MANY, START + 5);
    sadd("t", MANY, MANY + 1, NEVER);
    expire("t", START + 7);
    world.now = START + 8;
    ck_assert(!is_slow("s"));
    ck_assert(!is_slow("t"));
    ck_assert(!is_slow_in_pause("s"));
    listen_to_members();
    ck_assert(is_slow("s"));
    ck_assert(is_slow("t"));
    ck_assert(!is_slow_in_pause("s")); /* it is hidden, but not removed */
    done();
}
END_TEST

START_TEST(expired_members_leave_in_slices_and_are_never_seen)
{
    world_init(&world);
    sadd("s", 0, MANY, START + 5);
    sadd("s", MANY, MANY + 1, NEVER);
    world.now = START + 6;
    for (int left = MANY; left > 0; left -= 100) {
        ck_assert_uint_eq(settle("s", 100), 100);
        ck_assert_uint_eq(object_count(&at_key("s")->object), (size_t)left - 100 + 1);
    }
    ck_assert_uint_eq(settle("s", 100), 0);
    ck_assert_uint_eq(world.store->stats.expired_members, MANY);
    done();
}
END_TEST

START_TEST(the_key_is_dropped_with_its_last_expired_member)
{
    world_init(&world);
    listen_to_members();
    sadd("s", 0, 150, START + 5);
    world.now = START + 6;
    world_forget(&world);
    ck_assert_uint_eq(settle("s", 100), 100);
    ck_assert_str_eq(events(), "sexpired:s ");
    ck_assert_uint_eq(settle("s", 100), 50);
    ck_assert_str_eq(events(), "sexpired:s del:s ");
    ck_assert_ptr_null(at_key("s"));
    world_drop(&world);
}
END_TEST

START_TEST(an_expired_key_loses_only_members_that_expired_before_it)
{
    world_init(&world);
    listen_to_members();
    sadd("s", 0, 10, START + 5);
    sadd("s", 10, 30, START + 8);
    expire("s", START + 7);
    world.now = START + 20;
    ck_assert_uint_eq(settle("s", 100), 10);
    ck_assert_uint_eq(settle("s", 100), 0);
    ck_assert_uint_eq(object_count(&at_key("s")->object), 20);
    world_drop(&world);
}
END_TEST

/* ---- whole keys ------------------------------------------------------------------------------ */

START_TEST(an_expired_key_is_dropped_with_its_expired_members)
{
    world_init(&world);
    sadd("s", 0, MANY, START + 5);
    sadd("s", MANY, MANY + 1, NEVER);
    expire("s", START + 7);
    world.now = START + 8;
    world_forget(&world);
    ck_assert(!world_has(&world, "s"));
    ck_assert_uint_eq(world.effect_count, 2); /* not one for each member */
    ck_assert_str_eq(events(), "sexpired:s expired:s ");
    world_drop(&world);
}
END_TEST

START_TEST(an_overwritten_key_is_dropped_with_its_expired_members)
{
    world_init(&world);
    world_set(&world, "a", "x", NEVER);
    sadd("s", 0, MANY, START + 5);
    sadd("s", MANY, MANY + 1, NEVER);
    world.now = START + 6;
    size_t before = world.effect_count;
    struct txn *txn = world_begin(&world);
    txn_key_copy(txn, txn_find(txn, text("a")), 0, text("s"));
    world_commit(&world);
    ck_assert_uint_lt(world.effect_count - before, 8);
    ck_assert_int_eq(at_key("s")->object.type, TYPE_STRING);
    done();
}
END_TEST

START_TEST(an_expired_key_does_not_prevent_a_move)
{
    world_init(&world);
    sadd("s", 0, 5, START + 5);
    struct txn *txn = world_begin(&world);
    ck_assert(txn_key_move(txn, txn_find(txn, text("s")), 1));
    world_commit(&world);
    world_set(&world, "s", "x", NEVER);
    txn = world_begin(&world);
    ck_assert(!txn_key_move(txn, txn_find(txn, text("s")), 1));
    world_commit(&world);
    world.now = START + 6;
    txn = world_begin(&world);
    ck_assert(!txn_exists_in(txn, 1, text("s")));
    ck_assert(txn_key_move(txn, txn_find(txn, text("s")), 1));
    ck_assert(txn_exists_in(txn, 1, text("s")));
    world_commit(&world);
    done();
}
END_TEST

START_TEST(a_glance_removes_nothing_and_hides_expired_data)
{
    world_init(&world);
    sadd("s", 0, 3, START + 5);
    sadd("s", 3, 5, NEVER);
    sadd("t", 0, 3, START + 5);
    world.now = START + 6;
    world_forget(&world);
    struct txn *txn = world_begin(&world);
    const struct entry *entry = txn_find_unsettled(txn, text("s"));
    ck_assert(!txn_member_lives(txn, entry, text("m1")));
    ck_assert(txn_member_lives(txn, entry, text("m4")));
    ck_assert(!txn_member_lives(txn, entry, text("m7")));
    ck_assert_ptr_null(txn_find_unsettled(txn, text("t")));
    ck_assert_ptr_null(txn_find_unsettled(txn, text("u")));
    world_commit(&world);
    ck_assert_uint_eq(world.store->stats.hits, 1);
    ck_assert_uint_eq(world.store->stats.misses, 2);
    ck_assert_str_eq(events(), "keymiss:t keymiss:u ");
    ck_assert_uint_eq(object_count(&at_key("s")->object), 5);
    world_drop(&world);
}
END_TEST

/* ---- MAXLEN ---------------------------------------------------------------------------------- */

START_TEST(far_beyond_maxlen_is_slow_only_if_many_members_move)
{
    world_init(&world);
    zadd("z", 0, 2 * MANY, NEVER);
    ck_assert(!is_slow("z"));
    max_len(30, false);
    ck_assert(!is_slow("z")); /* copying the 30 that stay is little work */
    max_len(2 * MANY - 10, false);
    ck_assert(!is_slow("z"));
    max_len(MANY, false);
    ck_assert(is_slow("z"));
    ck_assert(!is_slow_in_pause("z")); /* because nothing may be changed */
    done();
}
END_TEST

START_TEST(a_long_sorted_set_is_cut_in_slices_from_the_right_end)
{
    for (int keep_low = 0; keep_low <= 1; keep_low++) {
        world_init(&world);
        zadd("z", 0, 2 * MANY, NEVER);
        max_len(MANY, keep_low);
        uint32_t accessed = at_key("z")->accessed;
        for (int done = 0; done < MANY; done += 300)
            ck_assert_uint_eq(settle("z", 300), 300);
        ck_assert_uint_eq(settle("z", 300), 0);
        ck_assert_uint_eq(at_key("z")->accessed, accessed);
        size_t rank;
        ck_assert(zset_rank(at_key("z")->object.zset, member(keep_low ? 0 : MANY), &rank));
        ck_assert_uint_eq(rank, 0);
        done();
    }
}
END_TEST

START_TEST(dropping_or_changing_a_policy_stops_the_cutting)
{
    world_init(&world);
    zadd("z", 0, 2 * MANY, NEVER);
    max_len(MANY, false);
    ck_assert_uint_eq(settle("z", 300), 300);
    max_len(2 * MANY - 500, false);
    ck_assert_uint_eq(settle("z", 300), 200);
    ck_assert_uint_eq(settle("z", 300), 0);
    max_len(MANY, false);
    ck_assert_uint_eq(settle("z", 300), 300);
    txn_policy_drop(world_begin(&world), text("z*"));
    world_commit(&world);
    ck_assert_uint_eq(settle("z", 300), 0);
    ck_assert_uint_eq(object_count(&at_key("z")->object), 2 * MANY - 800);
    done();
}
END_TEST

START_TEST(remaining_members_keep_scores_order_and_deadlines)
{
    world_init(&world);
    zadd("z", 0, MANY, NEVER);
    zadd("z", MANY - 20, MANY - 10, START + 50);
    zadd("z", 5, 10, START + 5);
    max_len(30, false);
    ck_assert_uint_eq(settle("z", 64), 30);
    const struct zset *zset = at_key("z")->object.zset;
    ck_assert_uint_eq(zset_count(zset), 30);
    ck_assert_str_eq(object_encoding(&at_key("z")->object), "skiplist");
    struct zset_iter iter;
    struct bytes name;
    double score;
    zset_iter_at(&iter, zset, 0);
    for (int i = MANY - 30; i < MANY; i++) {
        ck_assert(zset_iter_next(&iter, &name, &score));
        ck_assert(bytes_equal(name, member(i)));
        ck_assert(score == i);
        ck_assert_int_eq(iter.at, i >= MANY - 20 && i < MANY - 10 ? START + 50 : NEVER);
    }
    ck_assert_int_eq(keyspace_next_due(&world.store->databases[0]).at, START + 51);
    done();
}
END_TEST

START_TEST(removing_all_ranks_drops_the_key)
{
    world_init(&world);
    zadd("z", 0, MANY, START + 50);
    world_forget(&world);
    struct txn *txn = world_begin(&world);
    txn_zset_remove_ranks(txn, txn_find(txn, text("z")), 0, MANY, EVENT_ZREMRANGEBYRANK);
    world_commit(&world);
    ck_assert_ptr_null(at_key("z"));
    ck_assert_str_eq(events(), "zremrangebyrank:z del:z ");
    ck_assert_int_eq(keyspace_next_due(&world.store->databases[0]).at, NEVER);
    world_drop(&world);
}
END_TEST

/* A dehydrator that remembers MANY ids until `until`. */
static struct entry *remember_many(struct txn *txn, const char *key, msec until)
{
    struct entry *entry = txn_create(txn, text(key), TYPE_DEHYDRATOR);
    for (int i = 0; i < MANY; i++)
        txn_rede_remember(txn, entry, member(i), until);
    return entry;
}

START_TEST(many_remembered_ids_are_forgotten_in_slices)
{
    world_init(&world);
    const struct stage stage = { .at = START + 100 };
    struct txn *txn = world_begin(&world);
    txn_rede_push(txn, remember_many(txn, "d", START + 5), text("a"), text("p"), &stage);
    world_commit(&world);
    world.now = START + 5;
    for (size_t left = MANY; left > 0; left -= SETTLE_AT_ONCE) {
        struct extras *extras = dehydrator_extras(at_key("d")->object.dehydrator);
        ck_assert_uint_eq(extras_count(extras), left);
        ck_assert(world_has(&world, "d"));
    }
    ck_assert_uint_eq(extras_count(dehydrator_extras(at_key("d")->object.dehydrator)), 0);
    done();
}
END_TEST

START_TEST(a_dehydrator_is_gone_when_its_last_remembered_id_is_due)
{
    world_init(&world);
    struct txn *txn = world_begin(&world);
    txn_rede_remember(txn, remember_many(txn, "d", START + 5), text("last"), START + 6);
    remember_many(txn, "paused", START + 5);
    txn_rede_pause(txn, txn_find(txn, text("paused")), START + 50);
    world_commit(&world);
    world.now = START + 5;
    ck_assert(world_has(&world, "d"));
    world.now = START + 6;
    ck_assert(!world_has(&world, "d"));
    ck_assert_int_eq(world.effects[world.effect_count - 1].effect.event, EVENT_DEL);
    ck_assert(world_has(&world, "paused"));
    done();
}
END_TEST

Suite *test_suite(void)
{
    const TTest *const tests[] = {
        many_expired_members_and_a_live_one_settle_slowly,
        a_few_expired_members_do_not_settle_slowly,
        a_fully_expired_set_is_slow_only_with_member_events,
        expired_members_leave_in_slices_and_are_never_seen,
        the_key_is_dropped_with_its_last_expired_member,
        an_expired_key_loses_only_members_that_expired_before_it,
        an_expired_key_is_dropped_with_its_expired_members,
        an_overwritten_key_is_dropped_with_its_expired_members,
        an_expired_key_does_not_prevent_a_move,
        a_glance_removes_nothing_and_hides_expired_data,
        far_beyond_maxlen_is_slow_only_if_many_members_move,
        a_long_sorted_set_is_cut_in_slices_from_the_right_end,
        dropping_or_changing_a_policy_stops_the_cutting,
        remaining_members_keep_scores_order_and_deadlines,
        removing_all_ranks_drops_the_key,
        many_remembered_ids_are_forgotten_in_slices,
        a_dehydrator_is_gone_when_its_last_remembered_id_is_due,
        NULL,
    };
    return suite_of("txn_settle", tests);
}
