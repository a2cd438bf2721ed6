/* Tests of the gate of permissions: its place among the gates, and the calls that are asked about
 * again when they run. */

#include "server/engine/acl/acl.h"
#include "tests/support/server_world.h"
#include "tests/support/suite.h"

enum { ADMIN_CALLER, ANNA };

static struct server_world world;

#define KEY_TEXT                                                                                   \
    "NOPERM this user has no permissions to access one of the keys used as arguments\r\n"
#define AGAIN_TEXT                                                                                 \
    "-NOPERM ACLs rules changed between the moment the transaction was accumulated and the EXEC "  \
    "call. This command is no longer allowed for the following reason: "

static void answers(unsigned caller, const char *line, const char *reply)
{
    struct bytes heard = server_world_send(&world, caller, line);
    ck_assert_msg(heard.len == strlen(reply) && memcmp(heard.data, reply, heard.len) == 0,
                  "%s: %.*s", line, (int)heard.len, heard.data);
}

/* Anna has these rules. */
static void begin(const char *rules)
{
    char line[256];
    server_world_init(&world, SERVER_WORLD_PLAIN);
    snprintf(line, sizeof(line), "acl setuser anna on nopass %s", rules);
    answers(ADMIN_CALLER, line, "+OK\r\n");
    answers(ANNA, "auth anna x", "+OK\r\n");
}

static void end(void)
{
    server_world_drop(&world);
}

START_TEST(rights_come_after_arity_and_multi_and_before_memory)
{
    begin("~a +@all -watch");
    answers(ANNA, "get", "-ERR wrong number of arguments for 'get' command\r\n");
    answers(ANNA, "nosuch", "-ERR unknown command 'nosuch', with args beginning with: \r\n");
    world.conf.maxmemory = 1;
    answers(ANNA, "set b 1", "-" KEY_TEXT);
    answers(ANNA, "set a 1", "-OOM command not allowed when used memory > 'maxmemory'.\r\n");
    end();
}
END_TEST

START_TEST(a_refused_command_breaks_its_multi)
{
    begin("~a +@all");
    answers(ANNA, "multi", "+OK\r\n");
    answers(ANNA, "get b", "-" KEY_TEXT);
    answers(ANNA, "exec", "-EXECABORT Transaction discarded because of previous errors.\r\n");
    end();
}
END_TEST

START_TEST(a_refused_exec_ends_its_multi)
{
    begin("~a +@all -exec");
    answers(ANNA, "multi", "+OK\r\n");
    answers(ANNA, "exec",
            "-EXECABORT Transaction discarded because of: NOPERM this user has no permissions to "
            "run the 'exec' command\r\n");
    answers(ANNA, "discard", "-ERR DISCARD without MULTI\r\n");
    end();
}
END_TEST

START_TEST(exec_checks_each_command_again)
{
    begin("~* &* +@all");
    answers(ANNA, "multi", "+OK\r\n");
    answers(ANNA, "set a 1", "+QUEUED\r\n");
    answers(ANNA, "publish c m", "+QUEUED\r\n");
    answers(ANNA, "incr a", "+QUEUED\r\n");
    answers(ADMIN_CALLER, "acl setuser anna resetchannels -incr", "+OK\r\n");
    answers(ANNA, "exec",
            "*3\r\n+OK\r\n" AGAIN_TEXT
            "no permission to access one of the channels used as arguments\r\n" AGAIN_TEXT
            "no permission to execute the command or subcommand\r\n");
    ck_assert_uint_eq(world.stats.denied_channel, 1);
    ck_assert_uint_eq(world.stats.denied_command, 1);
    end();
}
END_TEST

START_TEST(a_blocked_client_is_asked_about_again)
{
    begin("~q +@all");
    answers(ANNA, "blpop q 0", "");
    answers(ADMIN_CALLER, "acl setuser anna resetkeys", "+OK\r\n");
    answers(ADMIN_CALLER, "rpush q 1", ":1\r\n");
    struct bytes heard = server_world_heard(&world, ANNA);
    ck_assert_int_eq((int)heard.len, (int)strlen("-" KEY_TEXT));
    ck_assert_ptr_null(server_world_session(&world, ANNA)->blocked);
    answers(ADMIN_CALLER, "llen q", ":1\r\n");
    end();
}
END_TEST

START_TEST(sort_follows_patterns_only_with_all_keys)
{
    begin("~l +@all");
    answers(ADMIN_CALLER, "rpush l 1", ":1\r\n");
    answers(ANNA, "sort l get v*",
            "-ERR GET option of SORT denied due to insufficient ACL permissions.\r\n");
    answers(ANNA, "sort l by nosort", "*1\r\n$1\r\n1\r\n");
    answers(ADMIN_CALLER, "acl setuser anna %R~*", "+OK\r\n");
    answers(ANNA, "sort l get v*", "*1\r\n$-1\r\n");
    end();
}
END_TEST

START_TEST(rights_are_asked_about_the_keys_that_a_call_uses)
{
    begin("~l ~streams ~a ~get ~store +@all");
    answers(ADMIN_CALLER, "xgroup create secret g 0 mkstream", "+OK\r\n");
    answers(ADMIN_CALLER, "geoadd l 1 1 m", ":1\r\n");
    answers(ANNA, "xreadgroup count 1 group g streams streams secret >", "-" KEY_TEXT);
    answers(ANNA, "xreadgroup noack count 1 group streams a streams secret >", "-" KEY_TEXT);
    answers(ANNA, "georadius l 1 1 9 m store a store secret2", "-" KEY_TEXT);
    answers(ANNA, "georadiusbymember l m 9 m storedist store store secret2", "-" KEY_TEXT);
    answers(ANNA, "sort l by nosort store get store secret2", "-" KEY_TEXT);
    answers(ADMIN_CALLER, "exists secret2", ":0\r\n");
    answers(ANNA, "georadius l 1 1 9 m store a", ":1\r\n");
    answers(ADMIN_CALLER, "acl setuser anna resetkeys %R~l %W~a", "+OK\r\n");
    answers(ANNA, "georadius l 1 1 9 m store b store a", "-" KEY_TEXT);
    answers(ANNA, "georadius l 1 1 9 m store a store a", ":1\r\n");
    answers(ADMIN_CALLER, "command getkeys georadius l 1 1 9 m storedist b store a",
            "*3\r\n$1\r\nl\r\n$1\r\na\r\n$1\r\nb\r\n");
    end();
}
END_TEST

START_TEST(a_session_of_a_deleted_user_has_no_rights)
{
    begin("~* +@all");
    answers(ADMIN_CALLER, "config set requirepass x", "+OK\r\n");
    answers(ANNA, "acl deluser anna", ":1\r\n");
    answers(ANNA, "ping", "-NOAUTH Authentication required.\r\n");
    answers(ADMIN_CALLER, "acl users", "*1\r\n$7\r\ndefault\r\n");
    end();
}
END_TEST

START_TEST(refusals_are_logged_with_their_object)
{
    begin("~a +@all -config");
    answers(ANNA, "auth anna2 x",
            "-WRONGPASS invalid username-password pair or user is disabled.\r\n");
    answers(ANNA, "mget a b c", "-" KEY_TEXT);
    answers(ANNA, "config get x",
            "-NOPERM this user has no permissions to run the 'config|get' command\r\n");
    const struct acl_log_entry *entry = TAILQ_FIRST(&world.engine.acl->log.entries);
    ck_assert(bytes_equal(blob_view(entry->object), LIT("config|get")));
    entry = TAILQ_NEXT(entry, next);
    ck_assert(bytes_equal(blob_view(entry->object), LIT("b")));
    entry = TAILQ_NEXT(entry, next);
    ck_assert(bytes_equal(blob_view(entry->object), LIT("auth")));
    ck_assert(bytes_equal(blob_view(entry->user_name), LIT("anna2")));
    ck_assert_uint_eq(world.stats.denied_auth, 1);
    end();
}
END_TEST

Suite *test_suite(void)
{
    const TTest *const tests[] = {
        rights_come_after_arity_and_multi_and_before_memory,
        a_refused_command_breaks_its_multi,
        a_refused_exec_ends_its_multi,
        exec_checks_each_command_again,
        a_blocked_client_is_asked_about_again,
        sort_follows_patterns_only_with_all_keys,
        rights_are_asked_about_the_keys_that_a_call_uses,
        a_session_of_a_deleted_user_has_no_rights,
        refusals_are_logged_with_their_object,
        NULL,
    };
    return suite_of("rights", tests);
}
