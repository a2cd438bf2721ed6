/* txn_policy: the length of collections by MAXLEN, and deadlines of members by MEMBERTTL. */
#include "tests/unit/store/txn/policy_world.h"

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

/* ---- MAXLEN ---- */

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
        txn_list_insert(txn, txn_find(txn, text("l")), index, text("X"), NULL);
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

/* ---- MEMBERTTL ---- */

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

Suite *test_suite(void)
{
    const TTest *const tests[] = {
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
        NULL,
    };
    return suite_of("txn_policy_member", tests);
}
