#include "server/notify.h"

#include "server/watch.h"
#include "tests/support/suite.h"
#include "tests/unit/server/caller.h"

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

START_TEST(nothing_is_active_without_a_class_and_a_kind_of_channel)
{
    static const char *const idle[] = { "", "A", "K", "E", "KE", "nm" };
    static const char *const busy[] = { "KA", "Ex", "Kn", "Em" };
    for (size_t i = 0; i < sizeof(idle) / sizeof(idle[0]); i++) {
        notify_set_flags(notify, idle[i]);
        ck_assert(!notify_active(notify));
    }
    for (size_t i = 0; i < sizeof(busy) / sizeof(busy[0]); i++) {
        notify_set_flags(notify, busy[i]);
        ck_assert(notify_active(notify));
    }
}
END_TEST

START_TEST(events_wait_for_the_flush_and_keep_their_order)
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

START_TEST(the_keyspace_channel_hears_before_the_keyevent_channel)
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

START_TEST(only_the_classes_that_are_on_are_told)
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

Suite *test_suite(void)
{
    const TTest *const tests[] = {
        nothing_is_active_without_a_class_and_a_kind_of_channel,
        events_wait_for_the_flush_and_keep_their_order,
        the_keyspace_channel_hears_before_the_keyevent_channel,
        only_the_classes_that_are_on_are_told,
        all_leaves_out_misses_and_new_keys,
        keys_are_copied_binary_and_of_any_length,
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
