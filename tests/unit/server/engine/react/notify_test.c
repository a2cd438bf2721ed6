/* Tests of keyspace notifications. */
#include "server/engine/react/notify.h"

#include <stdio.h>
#include <stdlib.h>

#include "server/engine/react/watch.h"
#include "tests/support/caller.h"
#include "tests/support/rng.h"
#include "tests/support/suite.h"

static struct pubsub *pubsub;
static struct watch *watch;
static struct notify *notify;
static struct caller listener;

static void begin(void)
{
    pubsub = pubsub_new();
    watch = watch_new();
    notify = notify_new(pubsub);
    caller_init(&listener);
    pubsub_subscribe(pubsub, &listener.session, PUBSUB_CHANNEL, LIT("__keyspace@0__:k"));
    pubsub_subscribe(pubsub, &listener.session, PUBSUB_CHANNEL, LIT("__keyevent@3__:expired"));
}

static void end(void)
{
    caller_drop(&listener, watch, pubsub);
    notify_free(notify);
    watch_free(watch);
    pubsub_free(pubsub);
}

static void happens(enum event event, unsigned db, struct bytes key)
{
    struct effect effect = { .kind = EFFECT_DROP, .event = event, .db = db, .key = key };
    notify_effect(notify, &effect);
}

/* Reports this event of a member of key k, as the store does within a call. */
static void member(enum event event, bool again, struct bytes name)
{
    struct effect effect = {
        .kind = EFFECT_SET_ADD, .event = event, .again = again, .key = LIT("k"), .a = name
    };
    notify_effect(notify, &effect);
}

/* Sets the flags, and subscribes the listener to this pattern only. */
static void listen(const char *flags, struct bytes pattern)
{
    notify_set_flags(notify, flags);
    pubsub_forget(pubsub, &listener.session);
    pubsub_subscribe(pubsub, &listener.session, PUBSUB_PATTERN, pattern);
}

/* The messages it got since the last time: each message as "channel message", one a line, without
 * the lengths of RESP. Valid until the next call. */
static const char *messages(void)
{
    static char raw[1 << 21], received[1 << 21];
    ck_assert_uint_lt(listener.out.len, sizeof(raw));
    size_t len = listener.out.len, to = 0;
    outbuf_copy(&listener.out, raw);
    outbuf_consume(&listener.out, len);
    for (const char *at = raw; at < raw + len;) {
        size_t elements = strtoul(at + 1, NULL, 10);
        at = strchr(at, '\n') + 1;
        for (size_t i = 0; i < elements; i++) {
            size_t size = strtoul(at + 1, NULL, 10);
            at = strchr(at, '\n') + 1;
            if (i + 2 >= elements) {
                memcpy(received + to, at, size);
                to += size;
                received[to++] = i + 1 < elements ? ' ' : '\n';
            }
            at += size + 2;
        }
    }
    received[to] = '\0';
    return received;
}

#define expect_messages(text)                                                                      \
    do {                                                                                           \
        notify_flush(notify);                                                                      \
        ck_assert_str_eq(messages(), text);                                                        \
    } while (0)

START_TEST(events_are_wanted_only_with_a_class_and_a_channel_kind)
{
    static const struct {
        const char *flags;
        unsigned mask;
    } cases[] = {
        { "", 0 },
        { "A", 0 },
        { "KE", 0 },
        { "nm", 0 },
        { "STIV", 0 },
        { "KA", LISTEN_EVENTS },
        { "Ex", LISTEN_EVENTS },
        { "Kn", LISTEN_EVENTS },
        { "Em", LISTEN_EVENTS },
        { "S$lxetdnm", 0 },
        { "Sg", LISTEN_MEMBERS },
        { "Sh", LISTEN_MEMBERS },
        { "Ts", LISTEN_MEMBERS },
        { "Iz", LISTEN_MEMBERS },
        { "VA", LISTEN_MEMBERS },
        { "KExS", LISTEN_EVENTS },
        { "KEAV", LISTEN_EVENTS | LISTEN_MEMBERS },
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        notify_set_flags(notify, cases[i].flags);
        ck_assert_msg(notify_wants(notify) == cases[i].mask, "flags %s: %u", cases[i].flags,
                      notify_wants(notify));
    }
}
END_TEST

START_TEST(events_are_published_by_the_flush_in_order)
{
    notify_set_flags(notify, "KEA");
    happens(EVENT_SET, 0, LIT("k"));
    happens(EVENT_EXPIRED, 3, LIT("other"));
    happens(EVENT_DEL, 0, LIT("k"));
    hears(&listener, "");
    notify_flush(notify);
    hears(&listener, "*3|$7|message|$16|__keyspace@0__:k|$3|set|"
                     "*3|$7|message|$22|__keyevent@3__:expired|$5|other|"
                     "*3|$7|message|$16|__keyspace@0__:k|$3|del|");
    notify_flush(notify);
    hears(&listener, "");
}
END_TEST

START_TEST(the_keyspace_channel_comes_before_the_keyevent_channel)
{
    pubsub_forget(pubsub, &listener.session);
    pubsub_subscribe(pubsub, &listener.session, PUBSUB_PATTERN, LIT("__key*"));
    notify_set_flags(notify, "KEA");
    happens(EVENT_DEL, 15, LIT("k"));
    notify_flush(notify);
    hears(&listener, "*4|$8|pmessage|$6|__key*|$17|__keyspace@15__:k|$3|del|"
                     "*4|$8|pmessage|$6|__key*|$19|__keyevent@15__:del|$1|k|");
}
END_TEST

START_TEST(only_enabled_event_classes_are_published)
{
    notify_set_flags(notify, "K$");
    happens(EVENT_DEL, 0, LIT("k"));
    happens(EVENT_SET, 0, LIT("k"));
    happens(EVENT_NEW, 0, LIT("k"));
    happens(EVENT_KEYMISS, 0, LIT("k"));
    notify_flush(notify);
    hears(&listener, "*3|$7|message|$16|__keyspace@0__:k|$3|set|");
}
END_TEST

START_TEST(all_leaves_out_misses_and_new_keys)
{
    notify_set_flags(notify, "KA");
    happens(EVENT_NEW, 0, LIT("k"));
    happens(EVENT_KEYMISS, 0, LIT("k"));
    notify_flush(notify);
    hears(&listener, "");
    notify_set_flags(notify, "KAnm");
    happens(EVENT_NEW, 0, LIT("k"));
    happens(EVENT_KEYMISS, 0, LIT("k"));
    notify_flush(notify);
    hears(&listener, "*3|$7|message|$16|__keyspace@0__:k|$3|new|"
                     "*3|$7|message|$16|__keyspace@0__:k|$7|keymiss|");
}
END_TEST

START_TEST(keys_are_copied_binary_and_of_any_length)
{
    static char big[200000];
    memset(big, 'x', sizeof(big));
    notify_set_flags(notify, "KEA");
    for (int i = 0; i < 3; i++)
        happens(EVENT_SET, 0, bytes_of(big, sizeof(big)));
    char key[1] = "k";
    happens(EVENT_SET, 0, bytes_of(key, 1));
    key[0] = 'z';
    happens(EVENT_SET, 0, LIT(""));
    happens(EVENT_EXPIRED, 3, LIT("a\0b"));
    notify_flush(notify);
    static char text[256];
    ck_assert_uint_lt(listener.out.len, sizeof(text));
    size_t len = listener.out.len;
    outbuf_copy(&listener.out, text);
    ck_assert_ptr_nonnull(memmem(text, len, "__keyspace@0__:k\r\n$3\r\nset", 25));
    ck_assert_ptr_nonnull(memmem(text, len, "$3\r\na\0b\r\n", 9));
}
END_TEST

START_TEST(the_members_of_one_event_are_one_message_on_each_channel)
{
    listen("STIVA", LIT("*"));
    member(EVENT_ZADD, false, LIT("a"));
    member(EVENT_ZADD, true, LIT("bcd"));
    hears(&listener, "");
    expect_messages("__subkeyspace@0__:k zadd|1:a,3:bcd\n"
                    "__subkeyevent@0__:zadd 1:k|1:a,3:bcd\n"
                    "__subkeyspaceitem@0__:k\na zadd\n"
                    "__subkeyspaceitem@0__:k\nbcd zadd\n"
                    "__subkeyspaceevent@0__:zadd|k 1:a,3:bcd\n");
    expect_messages("");
}
END_TEST

START_TEST(each_letter_is_a_channel_of_its_own)
{
    static const char *const cases[][2] = {
        { "KA", "__keyspace@0__:k sadd\n" },
        { "EA", "__keyevent@0__:sadd k\n" },
        { "SA", "__subkeyspace@0__:k sadd|1:a\n" },
        { "TA", "__subkeyevent@0__:sadd 1:k|1:a\n" },
        { "IA", "__subkeyspaceitem@0__:k\na sadd\n" },
        { "VA", "__subkeyspaceevent@0__:sadd|k 1:a\n" },
        { "ESh", "" },
        { "Ss", "__subkeyspace@0__:k sadd|1:a\n" },
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        listen(cases[i][0], LIT("*"));
        member(EVENT_SADD, false, LIT("a"));
        expect_messages(cases[i][1]);
    }
}
END_TEST

START_TEST(members_follow_their_event_and_the_key_is_sent_once)
{
    listen("KSA", LIT("*"));
    member(EVENT_SADD, false, LIT("a"));
    member(EVENT_SEXPIRE, false, LIT("a"));
    member(EVENT_SADD, true, LIT("b"));
    member(EVENT_SEXPIRE, true, LIT("b"));
    happens(EVENT_DEL, 0, LIT("k"));
    member(EVENT_SEXPIRE, true, LIT("c"));
    expect_messages("__keyspace@0__:k sadd\n"
                    "__subkeyspace@0__:k sadd|1:a,1:b\n"
                    "__keyspace@0__:k sexpire\n"
                    "__subkeyspace@0__:k sexpire|1:a,1:b,1:c\n"
                    "__keyspace@0__:k del\n");
}
END_TEST

START_TEST(without_subkey_channels_an_event_is_sent_once)
{
    listen("KEA", LIT("*"));
    member(EVENT_SADD, false, LIT("a"));
    member(EVENT_SADD, true, LIT("b"));
    expect_messages("__keyspace@0__:k sadd\n"
                    "__keyevent@0__:sadd k\n");
}
END_TEST

START_TEST(a_repeated_event_begins_a_new_message)
{
    listen("SA", LIT("*"));
    member(EVENT_SADD, false, LIT("a"));
    member(EVENT_SADD, false, LIT("b"));
    member(EVENT_SADD, true, LIT("c"));
    expect_messages("__subkeyspace@0__:k sadd|1:a\n"
                    "__subkeyspace@0__:k sadd|1:b,1:c\n");
}
END_TEST

START_TEST(a_flush_begins_new_messages)
{
    listen("KSA", LIT("*"));
    member(EVENT_SADD, false, LIT("a"));
    expect_messages("__keyspace@0__:k sadd\n"
                    "__subkeyspace@0__:k sadd|1:a\n");
    member(EVENT_SADD, true, LIT("b"));
    member(EVENT_SADD, true, LIT("c"));
    expect_messages("__subkeyspace@0__:k sadd|1:b,1:c\n");
}
END_TEST

START_TEST(members_of_another_key_or_database_are_another_message)
{
    static const struct {
        unsigned db;
        struct bytes key;
    } homes[] = { { 0, { "k", 1 } }, { 0, { "kk", 2 } }, { 7, { "kk", 2 } }, { 0, { "k", 1 } } };
    listen("SA", LIT("*"));
    for (size_t i = 0; i < sizeof(homes) / sizeof(homes[0]); i++) {
        struct effect effect = { .kind = EFFECT_HASH_PUT,
                                 .event = EVENT_HSET,
                                 .again = true,
                                 .db = homes[i].db,
                                 .key = homes[i].key,
                                 .a = LIT("f") };
        notify_effect(notify, &effect);
        notify_effect(notify, &effect);
    }
    expect_messages("__subkeyspace@0__:k hset|1:f,1:f\n"
                    "__subkeyspace@0__:kk hset|1:f,1:f\n"
                    "__subkeyspace@7__:kk hset|1:f,1:f\n"
                    "__subkeyspace@0__:k hset|1:f,1:f\n");
}
END_TEST

START_TEST(removing_a_range_publishes_all_its_members)
{
    struct effect cut = {
        .kind = EFFECT_ZSET_CUT, .event = EVENT_ZREMRANGEBYRANK, .key = LIT("k"), .to = 2
    };
    struct effect gone = { .kind = EFFECT_NONE,
                           .event = EVENT_ZREMRANGEBYRANK,
                           .again = true,
                           .key = LIT("k"),
                           .a = LIT("m") };
    listen("KSA", LIT("*"));
    notify_effect(notify, &cut);
    notify_effect(notify, &gone);
    notify_effect(notify, &gone);
    expect_messages("__keyspace@0__:k zremrangebyrank\n"
                    "__subkeyspace@0__:k zremrangebyrank|1:m,1:m\n");
    gone.again = false;
    notify_effect(notify, &gone);
    gone.again = cut.again = true;
    notify_effect(notify, &gone);
    notify_effect(notify, &cut);
    expect_messages("__keyspace@0__:k zremrangebyrank\n"
                    "__subkeyspace@0__:k zremrangebyrank|1:m,1:m\n");
}
END_TEST

START_TEST(events_of_whole_keys_have_no_channels_of_members)
{
    listen("STIVA", LIT("*"));
    happens(EVENT_DEL, 0, LIT("k"));
    struct effect miss = { .kind = EFFECT_NONE, .event = EVENT_SUNIONSTORE, .key = LIT("k") };
    notify_effect(notify, &miss);
    expect_messages("");
}
END_TEST

START_TEST(names_may_hold_any_bytes)
{
    listen("STVA", LIT("*"));
    member(EVENT_HSET, false, LIT("a|b,1:c"));
    member(EVENT_HSET, true, LIT(""));
    member(EVENT_HSET, true, LIT("x\ny"));
    expect_messages("__subkeyspace@0__:k hset|7:a|b,1:c,0:,3:x\ny\n"
                    "__subkeyevent@0__:hset 1:k|7:a|b,1:c,0:,3:x\ny\n"
                    "__subkeyspaceevent@0__:hset|k 7:a|b,1:c,0:,3:x\ny\n");
    struct effect binary = {
        .kind = EFFECT_HASH_PUT, .event = EVENT_HSET, .key = LIT("\0|"), .a = LIT("\0\xff")
    };
    notify_set_flags(notify, "Th");
    notify_effect(notify, &binary);
    notify_flush(notify);
    char text[256];
    size_t len = listener.out.len;
    ck_assert_uint_lt(len, sizeof(text));
    outbuf_copy(&listener.out, text);
    ck_assert_ptr_nonnull(memmem(text, len, "\r\n2:\0|", 6));
    ck_assert_ptr_nonnull(memmem(text, len, "|2:\0\xff\r\n", 7));
}
END_TEST

START_TEST(a_key_with_a_newline_has_no_channel_for_each_member)
{
    listen("SIA", LIT("*"));
    struct effect effect = {
        .kind = EFFECT_SET_ADD, .event = EVENT_SADD, .key = LIT("k\n"), .a = LIT("a")
    };
    notify_effect(notify, &effect);
    member(EVENT_SREM, false, LIT("a\n"));
    expect_messages("__subkeyspace@0__:k\n sadd|1:a\n"
                    "__subkeyspace@0__:k srem|2:a\n\n"
                    "__subkeyspaceitem@0__:k\na\n srem\n");
}
END_TEST

START_TEST(no_event_holds_the_separator_of_events_and_members)
{
    for (int event = 0; event < EVENT_COUNT; event++)
        ck_assert_ptr_null(strpbrk(event_name((enum event)event), "|\n"));
}
END_TEST

/* The message at *text; *text moves behind it. How many members it names, counted up from *next in
 * decimal. */
static unsigned members_notified(const char **text, const char *channel, unsigned *next)
{
    ck_assert_msg(strncmp(*text, channel, strlen(channel)) == 0, "%.60s", *text);
    const char *at = *text + strlen(channel);
    unsigned count = 0;
    do {
        unsigned len, name;
        int read;
        ck_assert_int_eq(sscanf(at, "%u:%u%n", &len, &name, &read), 2);
        ck_assert_uint_eq(name, (*next)++);
        count++;
        at += read;
    } while (*at++ == ',');
    *text = at;
    return count;
}

START_TEST(a_message_ends_with_its_thousandth_member)
{
    enum { MEMBERS = 2500 };
    static const unsigned sizes[] = { 1000, 1000, 500 };
    listen("KSA", LIT("*"));
    for (unsigned i = 0; i < MEMBERS; i++) {
        char name[16];
        int len = snprintf(name, sizeof(name), "%u", i);
        member(EVENT_SEXPIRED, i > 0, bytes_of(name, (size_t)len));
    }
    notify_flush(notify);
    const char *text = messages(), *first = "__keyspace@0__:k sexpired\n";
    ck_assert_int_eq(strncmp(text, first, strlen(first)), 0);
    text += strlen(first);
    unsigned next = 0;
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
        ck_assert_uint_eq(members_notified(&text, "__subkeyspace@0__:k sexpired|", &next),
                          sizes[i]);
    ck_assert_str_eq(text, "");
}
END_TEST

START_TEST(a_message_ends_with_the_member_that_makes_it_64_KiB)
{
    static char big[60000], text[400000];
    static const size_t sizes[] = { 2 * (6 + sizeof(big)) + 1, 6 + sizeof(big) };
    memset(big, 'x', sizeof(big));
    listen("VA", LIT("*"));
    for (int i = 0; i < 3; i++)
        member(EVENT_HDEL, i > 0, bytes_of(big, sizeof(big)));
    notify_flush(notify);
    size_t len = listener.out.len, count = 0;
    ck_assert_uint_lt(len, sizeof(text));
    outbuf_copy(&listener.out, text);
    for (const char *at = text; (at = memmem(at, len - (size_t)(at - text), "hdel|k\r\n$", 9));) {
        at += 9;
        ck_assert_uint_lt(count, 2);
        ck_assert_uint_eq(strtoul(at, NULL, 10), sizes[count++]);
    }
    ck_assert_uint_eq(count, 2);
}
END_TEST

START_TEST(any_order_of_members_gives_each_event_its_own)
{
    enum { EVENTS = 4, ROUNDS = 300, EFFECTS_MAX = 60 };
    static const enum event events[EVENTS] = { EVENT_HSET, EVENT_HEXPIRE, EVENT_HDEL,
                                               EVENT_HPERSIST };
    struct rng rng;
    rng_init(&rng, test_seed());
    listen("VA", LIT("*"));
    for (int round = 0; round < ROUNDS; round++) {
        char received[EVENTS][EFFECTS_MAX * 6], wanted[EVENTS * sizeof(received[0])];
        size_t len[EVENTS] = { 0 }, order[EVENTS], seen = 0, end = 0;
        for (uint64_t i = 1 + rng_below(&rng, EFFECTS_MAX - 1); i > 0; i--) {
            size_t which = rng_below(&rng, EVENTS);
            char name = (char)('a' + rng_below(&rng, 26));
            member(events[which], len[which] > 0, bytes_of(&name, 1));
            if (len[which] == 0) order[seen++] = which;
            len[which] += (size_t)sprintf(received[which] + len[which], "%s1:%c",
                                          len[which] > 0 ? "," : "", name);
        }
        for (size_t i = 0; i < seen; i++)
            end += (size_t)sprintf(wanted + end, "__subkeyspaceevent@0__:%s|k %s\n",
                                   event_name(events[order[i]]), received[order[i]]);
        expect_messages(wanted);
    }
}
END_TEST

START_TEST(members_are_not_collected_without_subscribers)
{
    notify_set_flags(notify, "KESTIVA");
    pubsub_forget(pubsub, &listener.session);
    ck_assert_uint_eq(notify_wants(notify), LISTEN_EVENTS);
    member(EVENT_SADD, false, LIT("a"));
    pubsub_subscribe(pubsub, &listener.session, PUBSUB_PATTERN, LIT("*"));
    expect_messages("");
}
END_TEST

Suite *test_suite(void)
{
    const TTest *const tests[] = {
        events_are_wanted_only_with_a_class_and_a_channel_kind,
        events_are_published_by_the_flush_in_order,
        the_keyspace_channel_comes_before_the_keyevent_channel,
        only_enabled_event_classes_are_published,
        all_leaves_out_misses_and_new_keys,
        keys_are_copied_binary_and_of_any_length,
        the_members_of_one_event_are_one_message_on_each_channel,
        each_letter_is_a_channel_of_its_own,
        members_follow_their_event_and_the_key_is_sent_once,
        without_subkey_channels_an_event_is_sent_once,
        a_repeated_event_begins_a_new_message,
        a_flush_begins_new_messages,
        members_of_another_key_or_database_are_another_message,
        removing_a_range_publishes_all_its_members,
        events_of_whole_keys_have_no_channels_of_members,
        names_may_hold_any_bytes,
        a_key_with_a_newline_has_no_channel_for_each_member,
        no_event_holds_the_separator_of_events_and_members,
        a_message_ends_with_its_thousandth_member,
        a_message_ends_with_the_member_that_makes_it_64_KiB,
        any_order_of_members_gives_each_event_its_own,
        members_are_not_collected_without_subscribers,
        NULL,
    };
    Suite *suite = suite_create("notify");
    TCase *tcase = tcase_create("notify");
    tcase_add_checked_fixture(tcase, begin, end);
    for (size_t i = 0; tests[i] != NULL; i++)
        tcase_add_test(tcase, tests[i]);
    suite_add_tcase(suite, tcase);
    return suite;
}
