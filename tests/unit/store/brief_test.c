/* Tests of brief: SET and EXPIRE append their effects to the journal's buffer while the journal
 * alone listens, and otherwise pass them to the listener. */
#include "store/brief.h"

#include "store/refreshers.h"
#include "tests/support/suite.h"
#include "tests/support/world.h"

enum { FUTURE = 0x0102030405 };

static struct world world;
static struct outbuf out;
static struct brief_tail tail;

/* Adds a chunk to the buffer with room for many effects. */
static void make_room(void)
{
    outbuf_append(&out, "#", 1);
    ck_assert_ptr_nonnull(outbuf_tail(&out, 500));
}

static void begin(void)
{
    world_init(&world);
    outbuf_init(&out);
    tail = (struct brief_tail){ .out = &out };
    make_room();
    world.store->event_mask = LISTEN_CHANGES | LISTEN_BRIEF;
    world.store->listener.brief = &tail;
}

static void end(void)
{
    world_drop(&world);
    outbuf_drop(&out);
}

/* Are these the appended bytes, and was no effect passed on? */
static bool appended(struct bytes wanted)
{
    char text[1024];
    ck_assert_uint_le(out.len, sizeof(text));
    outbuf_check(&out);
    outbuf_copy(&out, text);
    return world.effect_count == 0 && bytes_equal(bytes_of(text + 1, out.len - 1), wanted);
}

static bool passed_on(void)
{
    bool passed = out.len == 1 && world.effect_count == 1;
    world_forget(&world);
    return passed;
}

static void expire(const char *key, msec at)
{
    struct txn *txn = world_begin(&world);
    txn_key_expire(txn, txn_find(txn, text(key)), at);
    world_commit(&world);
}

START_TEST(set_and_expire_append_their_effects)
{
    begin();
    world_set(&world, "k", "value", NEVER);
    ck_assert(appended(LIT("\x80\1\5\0kvalue")));
    world_set(&world, "l", "", FUTURE);
    expire("l", FUTURE + 1);
    ck_assert(appended(LIT("\x80\1\5\0kvalue\x81\1\0\0\5\4\3\2\1\0\0\0l\xc3\6\4\3\2\1\0\0\0")));
    ck_assert_uint_eq(world.store->changes, 3);
    end();
}
END_TEST

START_TEST(deadline_that_is_kept_is_appended)
{
    begin();
    world_set(&world, "k", "a", FUTURE);
    struct txn *txn = world_begin(&world);
    const struct string_set how = { .keep_ttl = true, .event = EVENT_SET };
    txn_string_set(txn, text("k"), text("b"), &how);
    world_commit(&world);
    ck_assert(appended(LIT("\x81\1\1\0\5\4\3\2\1\0\0\0ka\x81\1\1\0\5\4\3\2\1\0\0\0kb")));
    end();
}
END_TEST

START_TEST(value_that_points_into_the_old_one_is_appended)
{
    begin();
    world_set(&world, "k", "0123456789abcdef", NEVER);
    outbuf_drop(&out);
    make_room();
    struct txn *txn = world_begin(&world);
    struct bytes old = object_text(&txn_find(txn, text("k"))->object);
    const struct string_set how = { .at = NEVER, .event = EVENT_SET };
    txn_string_set(txn, text("k"), bytes_of(old.data + 2, 12), &how); /* stays in its block */
    world_commit(&world);
    ck_assert(appended(LIT("\x80\1\14\0k23456789abcd")));
    end();
}
END_TEST

START_TEST(effects_that_do_not_fit_are_passed_on)
{
    begin();
    static char big[BRIEF_TEXTS_MAX + 1];
    memset(big, 'x', sizeof(big) - 1);
    world_set(&world, "k", big, NEVER);
    ck_assert(passed_on());
    big[UINT8_MAX + 1] = '\0';
    world_set(&world, big, "v", NEVER);
    ck_assert(passed_on());

    tail.db = 1; /* another database, or none, may be appended */
    world_set(&world, "k", "v", NEVER);
    ck_assert(passed_on());
    tail.db = -1;
    expire("k", FUTURE);
    ck_assert(passed_on());

    tail.db = 0;
    outbuf_drop(&out); /* no chunk: no room */
    world_set(&world, "k", "v", NEVER);
    ck_assert_uint_eq(world.effect_count, 1);
    ck_assert_uint_eq(out.len, 0);
    end();
}
END_TEST

START_TEST(effects_that_others_need_are_passed_on)
{
    begin();
    world.store->event_mask = LISTEN_CHANGES;
    world_set(&world, "k", "v", NEVER);
    ck_assert(passed_on());
    world.store->event_mask |= LISTEN_BRIEF;

    struct txn txn;
    txn_begin(&txn, world.store, world.now, FROM_CLIENT);
    txn_call(&txn, 0);
    txn_refresh_begin(&txn, text("k"), FUTURE); /* this right ends when the value is set */
    txn_commit(&txn);
    world_set(&world, "k", "w", NEVER);
    ck_assert(passed_on());
    ck_assert_int_eq(refresher_until(&world.store->databases[0], text("k"), world.now), 0);
    end();
}
END_TEST

START_TEST(replay_inside_a_transaction_appends_nothing)
{
    begin();
    struct txn txn;
    txn_begin(&txn, world.store, world.now, FROM_REPLAY);
    txn_call(&txn, 0);
    const struct string_set how = { .at = NEVER };
    txn_string_set(&txn, text("k"), text("v"), &how);
    txn_key_expire(&txn, txn_find(&txn, text("k")), FUTURE);
    txn_commit(&txn);
    ck_assert(appended(LIT("")));
    end();
}
END_TEST

Suite *test_suite(void)
{
    const TTest *const tests[] = {
        set_and_expire_append_their_effects,
        deadline_that_is_kept_is_appended,
        value_that_points_into_the_old_one_is_appended,
        effects_that_do_not_fit_are_passed_on,
        effects_that_others_need_are_passed_on,
        replay_inside_a_transaction_appends_nothing,
        NULL,
    };
    return suite_of("brief", tests);
}
