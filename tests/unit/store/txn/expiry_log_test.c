/* expiry_log: what expires under a policy with EXPIRED TO is in the log, once, with its value. */
#include "store/sweep/expiry.h"
#include "store/txn/txn_dehydrator.h"
#include "store/txn/txn_settle.h"
#include "store/txn/txn_stream.h"
#include "store/type/string.h"
#include "tests/unit/store/txn/policy_world.h"

#define LOG(name) .expired_to = { name, sizeof(name) - 1 }, .value_max = POLICY_VALUE_MAX
#define VALUES(name, max)                                                                          \
    .expired_to = { name, sizeof(name) - 1 }, .log_value = true, .value_max = (max)

/* "1000011-0 key a at 5 type string;" for each entry. */
static const char *entries_in(unsigned db, const char *key)
{
    static char line[1 << 16];
    size_t len = 0;
    const struct entry *entry = keyspace_find(&world.store->databases[db], text(key));
    line[0] = '\0';
    if (entry == NULL) return line;
    struct stream_walk walk;
    struct stream_entry item;
    stream_walk_up(&walk, entry->object.stream, STREAM_ID_MIN);
    while (stream_walk_next(&walk, &item)) {
        struct bytes name, value;
        len += (size_t)sprintf(line + len, "%d-%d", (int)item.id.ms, (int)item.id.seq);
        while (stream_entry_next(&item, &name, &value))
            len += (size_t)sprintf(line + len, " %.*s %.*s", (int)name.len, name.data,
                                   (int)value.len, value.data);
        len += (size_t)sprintf(line + len, ";");
        ck_assert_uint_lt(len, sizeof(line) - 1000);
    }
    return line;
}

static const char *entries(const char *key)
{
    return entries_in(0, key);
}

static void sweep(void)
{
    while (expiry_run(world.store, world.now, 10) > 0)
        store_check(world.store);
}

static void hset(const char *key, const char *field, const char *value, msec at)
{
    struct txn *txn = world_begin(&world);
    struct entry *entry = txn_find(txn, text(key));
    if (entry == NULL) entry = txn_create(txn, text(key), TYPE_HASH);
    struct hput how = { .event = EVENT_HSET, .life = { LIFE_SET, at } };
    txn_hash_put(txn, entry, text(field), text(value), &how);
    world_commit(&world);
}

static void sadd(const char *key, const char *member, msec at)
{
    struct txn *txn = world_begin(&world);
    struct entry *entry = txn_find(txn, text(key));
    if (entry == NULL) entry = txn_create(txn, text(key), TYPE_SET);
    txn_set_add(txn, entry, text(member), (struct lifetime){ LIFE_SET, at });
    world_commit(&world);
}

START_TEST(expired_keys_are_logged_in_order_of_deadlines)
{
    setup();
    RULE("s:*", LOG("log"));
    world_set(&world, "s:b", "v", world.now + 20);
    world_set(&world, "s:a", "v", world.now + 10);
    world_set(&world, "other", "v", world.now + 10);
    world.now += 50;
    sweep();
    ck_assert_str_eq(entries("log"), "1000050-0 key s:a at 1000010 type string;"
                                     "1000050-1 key s:b at 1000020 type string;");
    done();
}
END_TEST

START_TEST(key_found_expired_is_logged_in_the_transaction_of_the_call)
{
    setup();
    RULE("s:*", LOG("log"));
    world_set(&world, "s:a", "v", world.now + 10);
    world.now += 11;
    size_t commits = world.commits;
    struct txn *txn = world_begin(&world);
    ck_assert_ptr_null(txn_find(txn, text("s:a")));
    ck_assert_ptr_null(txn_find(txn, text("log"))); /* not before the call ends */
    txn_call(txn, 0);
    ck_assert_ptr_nonnull(txn_find(txn, text("log")));
    world_commit(&world);
    ck_assert_uint_eq(world.commits, commits + 1);
    ck_assert_str_eq(entries("log"), "1000011-0 key s:a at 1000010 type string;");
    done();
}
END_TEST

START_TEST(values_are_logged_by_type)
{
    setup();
    RULE("*", VALUES("log", 100));
    world_set(&world, "str", "a longer text", world.now + 1);
    hset("hash", "f", "1", NEVER);
    hset("hash", "g", "", NEVER);
    expire("hash", world.now + 2);
    sadd("set", "m", NEVER);
    expire("set", world.now + 3);
    world.now += 10;
    sweep();
    const char *line = entries("log");
    ck_assert_ptr_nonnull(
        strstr(line, "1000010-0 key str at 1000001 type string value a longer text;"));
    ck_assert_ptr_nonnull(strstr(line, " key hash at 1000002 type hash field:f 1 field:g ;"));
    /* No front end gave the store a function that makes payloads. */
    ck_assert_ptr_nonnull(strstr(line, " key set at 1000003 type set size "));
    done();
}
END_TEST

static void dump_count(const struct object *object, void (*take)(void *ctx, struct bytes payload),
                       void *ctx)
{
    char payload[64];
    take(ctx, bytes_of(payload, (size_t)sprintf(payload, "<%zu>", object_count(object))));
}

START_TEST(other_types_are_logged_as_a_payload)
{
    setup();
    world.store->value_format.dump = dump_count;
    RULE("*", VALUES("log", 3));
    RULE("r:*", VALUES("log", 2));
    world_zadd(&world, "z", 1, "m");
    world_zadd(&world, "z", 1, "n");
    expire("z", world.now + 3);
    sadd("r:set", "m", NEVER);
    expire("r:set", world.now + 3);
    world.now += 10;
    sweep();
    const char *line = entries("log");
    ck_assert_ptr_nonnull(strstr(line, " key z at 1000003 type zset dump <2>;"));
    ck_assert_ptr_nonnull(strstr(line, " key r:set at 1000003 type set size "));
    done();
}
END_TEST

START_TEST(members_are_logged_with_value_or_score)
{
    setup();
    RULE("*", VALUES("log", 4));
    hset("h", "f", "1234", world.now + 1);
    hset("h", "g", "12345", world.now + 2);
    hset("h", "stays", "1", NEVER);
    sadd("s", "m", world.now + 3); /* the last member: its key goes too */
    struct txn *txn = world_begin(&world);
    struct entry *entry = txn_create(txn, text("z"), TYPE_ZSET);
    struct zput how = { .event = EVENT_ZADD, .life = { LIFE_SET, world.now + 4 } };
    double score = 2.5;
    txn_zset_put(txn, entry, text("n"), &score, &how);
    world_commit(&world);
    world.now += 10;
    sweep();
    ck_assert_str_eq(entries("log"), "1000010-0 key h at 1000001 type hash member f value 1234;"
                                     "1000010-1 key h at 1000002 type hash member g size 5;"
                                     "1000010-2 key s at 1000003 type set member m;"
                                     "1000010-3 key z at 1000004 type zset member n score 2.5;");
    ck_assert_ptr_null(at_key("s"));
    done();
}
END_TEST

START_TEST(members_that_a_command_finds_expired_are_logged)
{
    setup();
    RULE("*", LOG("log"));
    sadd("s", "a", world.now + 1);
    sadd("s", "b", world.now + 2);
    hset("h", "f", "v", world.now + 3);
    hset("h", "g", "v", NEVER);
    expire("h", world.now + 5);
    world.now += 10;
    read_key("s");
    read_key("h");
    ck_assert_str_eq(entries("log"), "1000010-0 key s at 1000001 type set member a;"
                                     "1000010-1 key s at 1000002 type set member b;"
                                     "1000010-2 key h at 1000003 type hash member f;"
                                     "1000010-3 key h at 1000005 type hash;");
    done();
}
END_TEST

START_TEST(overwritten_keys_are_logged_only_if_they_had_expired)
{
    setup();
    RULE("*", LOG("log"));
    world_set(&world, "old", "v", world.now + 5);
    world_set(&world, "alive", "v", world.now + 50);
    sadd("s", "gone", world.now + 5);
    sadd("s", "alive", world.now + 50);
    world_set(&world, "from", "v", NEVER);
    world.now += 10;
    static const char *const targets[] = { "old", "alive", "s" };
    for (int i = 0; i < 3; i++) {
        struct txn *txn = world_begin(&world);
        txn_key_copy(txn, txn_find(txn, text("from")), 0, text(targets[i]));
        world_commit(&world);
    }
    ck_assert_str_eq(entries("log"), "1000010-0 key old at 1000005 type string;"
                                     "1000010-1 key s at 1000005 type set member gone;");
    done();
}
END_TEST

START_TEST(deleted_keys_are_not_logged)
{
    setup();
    RULE("*", LOG("log"));
    world_set(&world, "a", "v", NEVER);
    world_set(&world, "b", "v", NEVER);
    struct txn *txn = world_begin(&world);
    txn_key_drop(txn, txn_find(txn, text("a")), EVENT_EVICTED);
    txn_key_expire(txn, txn_find(txn, text("b")), world.now - 5);
    world_commit(&world);
    ck_assert_str_eq(entries("log"), "");
    done();
}
END_TEST

START_TEST(logs_never_log_their_own_expiry)
{
    setup();
    RULE("*", LOG("a"));
    RULE("a", LOG("b"));
    RULE("x", LOG("a"), .ttl = 5);
    world_set(&world, "x", "v", world.now + 1);
    world.now += 2;
    sweep();
    expire("a", world.now + 5);
    world.now += 10;
    sweep();
    ck_assert_ptr_null(at_key("a"));
    ck_assert_ptr_null(at_key("b"));
    world_set(&world, "b", "text", world.now + 1);
    world.now += 2;
    sweep();
    ck_assert_ptr_null(at_key("a"));
    done();
}
END_TEST

START_TEST(log_that_expired_itself_begins_anew)
{
    setup();
    RULE("s:*", LOG("log"));
    world_set(&world, "s:1", "v", world.now + 1);
    world.now += 2;
    sweep();
    expire("log", world.now + 10);
    world_set(&world, "s:2", "v", world.now + 5);
    world.now += 11;
    read_key("s:2"); /* before the sweep has removed the log */
    ck_assert_str_eq(entries("log"), "1000013-0 key s:2 at 1000007 type string;");
    done();
}
END_TEST

START_TEST(each_database_has_a_log_of_its_own)
{
    setup();
    RULE("s:*", LOG("log"));
    for (unsigned db = 0; db < 3; db += 2) {
        struct txn *txn = world_begin(&world);
        txn_call(txn, db);
        struct string_set how = { .at = world.now + 1 + db, .event = EVENT_SET };
        txn_string_set(txn, text("s:1"), text("v"), &how);
        world_commit(&world);
    }
    world.now += 10;
    sweep();
    ck_assert_str_eq(entries_in(0, "log"), "1000010-0 key s:1 at 1000001 type string;");
    ck_assert_str_eq(entries_in(2, "log"), "1000010-0 key s:1 at 1000003 type string;");
    done();
}
END_TEST

START_TEST(log_of_another_type_is_left_alone_and_counted)
{
    setup();
    RULE("s:*", VALUES("log", 100));
    world_set(&world, "log", "text", NEVER);
    world_set(&world, "s:1", "v", world.now + 1);
    sadd("s:2", "m", world.now + 1);
    world.now += 2;
    sweep();
    ck_assert_uint_eq(world.store->stats.expired_log_errors, 2);
    ck_assert_ptr_null(at_key("s:1"));
    ck_assert(bytes_equal(object_text(&at_key("log")->object), LIT("text")));
    done();
}
END_TEST

START_TEST(log_whose_last_id_is_the_greatest_takes_no_more)
{
    setup();
    RULE("s:*", LOG("log"));
    struct txn *txn = world_begin(&world);
    struct entry *entry = txn_create(txn, text("log"), TYPE_STREAM);
    txn_stream_append(txn, entry, STREAM_ID_MAX, (struct bytes[]){ LIT("a"), LIT("b") }, 2);
    world_commit(&world);
    world_set(&world, "s:1", "v", world.now + 1);
    world.now += 2;
    sweep();
    ck_assert_uint_eq(world.store->stats.expired_log_errors, 1);
    ck_assert_uint_eq(object_count(&at_key("log")->object), 1);
    done();
}
END_TEST

START_TEST(policy_of_the_log_applies_to_it)
{
    setup();
    RULE("s:*", LOG("log"));
    RULE("log", .ttl = 1000, .max_len = 2);
    for (int i = 0; i < 5; i++) {
        char key[16];
        snprintf(key, sizeof(key), "s:%d", i);
        world_set(&world, key, "v", world.now + 1 + i);
    }
    world.now += 10;
    sweep();
    ck_assert_str_eq(entries("log"), "1000010-3 key s:3 at 1000004 type string;"
                                     "1000010-4 key s:4 at 1000005 type string;");
    ck_assert_int_eq(deadline("log"), world.now + 1000);
    done();
}
END_TEST

/* "id=payload " in order. */
static const char *elements(const char *key)
{
    static char line[4096];
    size_t len = 0;
    struct dehydrator_walk walk;
    msec at;
    dehydrator_walk_begin(&walk, at_key(key)->object.dehydrator);
    for (struct element *element; (element = dehydrator_walk_next(&walk, &at)) != NULL;) {
        struct bytes id = element_id(element), payload = element_payload(element);
        ck_assert_int_le(at, world.now);
        for (size_t i = 0; i < id.len; i++)
            line[len++] = id.data[i] != '\0' ? id.data[i] : '+';
        len += (size_t)sprintf(line + len, "=%.*s ", (int)payload.len, payload.data);
    }
    dehydrator_walk_end(&walk);
    return line;
}

static void push(const char *key, const char *id)
{
    struct txn *txn = world_begin(&world);
    struct entry *entry = txn_create(txn, text(key), TYPE_DEHYDRATOR);
    struct stage stage = { .at = world.now + 100, .deliveries = 3, .claimed = true };
    txn_rede_push(txn, entry, text(id), text("old"), &stage);
    world_commit(&world);
}

START_TEST(dehydrator_gets_elements_that_are_due_at_once)
{
    setup();
    world.store->value_format.dump = dump_count;
    RULE("*", VALUES("deh", 5));
    push("deh", "b");
    world_set(&world, "a", "12345", world.now + 1);
    world_set(&world, "b", "new", world.now + 2);
    world_set(&world, "long", "123456", world.now + 3);
    hset("h", "f", "1", world.now + 4);
    hset("i", "f", "1", NEVER);
    expire("i", world.now + 5);
    world.now += 10;
    sweep();
    ck_assert_str_eq(elements("deh"), "a=12345 b=new long= h+f=1 i=<1> ");
    struct dehydrator *deh = at_key("deh")->object.dehydrator;
    struct stage stage = dehydrator_stage(deh, dehydrator_find(deh, text("b")));
    ck_assert_uint_eq(stage.deliveries, 0);
    ck_assert(!stage.claimed);
    done();
}
END_TEST

START_TEST(policy_that_changes_later_in_the_call_logs_first)
{
    setup();
    RULE("s:*", LOG("log"));
    world_set(&world, "s:1", "v", world.now + 1);
    world.now += 5;
    struct txn *txn = world_begin(&world);
    txn_find(txn, text("s:1"));
    ck_assert(txn_policy_drop(txn, text("s:*")));
    world_commit(&world);
    ck_assert_str_eq(entries("log"), "1000005-0 key s:1 at 1000001 type string;");
    done();
}
END_TEST

START_TEST(collection_that_expired_whole_is_logged_in_slices)
{
    enum { MEMBERS = 3 * SETTLE_AT_ONCE };
    setup();
    RULE("big", LOG("log"));
    struct txn *txn = world_begin(&world);
    struct entry *entry = txn_create(txn, text("big"), TYPE_SET);
    for (int i = 0; i < MEMBERS; i++) {
        char member[16];
        snprintf(member, sizeof(member), "%d", i);
        txn_set_add(txn, entry, text(member), (struct lifetime){ LIFE_SET, world.now + 1 });
    }
    world_commit(&world);
    world.now += 5;
    txn = world_begin(&world);
    ck_assert(txn_settles_slowly(txn, at_key("big")));
    world_commit(&world);
    size_t slices = 0;
    for (size_t done; (done = expiry_run(world.store, world.now, 200)) > 0; slices++)
        ck_assert_uint_le(done, 300);
    ck_assert_uint_ge(slices, MEMBERS / 300);
    ck_assert_ptr_null(at_key("big"));
    ck_assert_uint_eq(object_count(&at_key("log")->object), MEMBERS);
    done();
}
END_TEST

Suite *test_suite(void)
{
    const TTest *const tests[] = {
        expired_keys_are_logged_in_order_of_deadlines,
        key_found_expired_is_logged_in_the_transaction_of_the_call,
        values_are_logged_by_type,
        other_types_are_logged_as_a_payload,
        members_are_logged_with_value_or_score,
        members_that_a_command_finds_expired_are_logged,
        overwritten_keys_are_logged_only_if_they_had_expired,
        deleted_keys_are_not_logged,
        logs_never_log_their_own_expiry,
        log_that_expired_itself_begins_anew,
        each_database_has_a_log_of_its_own,
        log_of_another_type_is_left_alone_and_counted,
        log_whose_last_id_is_the_greatest_takes_no_more,
        policy_of_the_log_applies_to_it,
        dehydrator_gets_elements_that_are_due_at_once,
        policy_that_changes_later_in_the_call_logs_first,
        collection_that_expired_whole_is_logged_in_slices,
        NULL,
    };
    return suite_of("expiry_log", tests);
}
