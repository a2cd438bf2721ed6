/* Tests of the ACL: words of rules, selectors, patterns, passwords, several users at once. */
#include <stdlib.h>

#include "server/engine/acl/acl.h"
#include "store/mem/mem.h"
#include "tests/support/server_world.h"
#include "tests/support/suite.h"

enum { WORDS = 32 };

static struct server_world world;
static struct acl *acl;
static char described[8192];

static void begin(void)
{
    server_world_init(&world, SERVER_WORLD_PLAIN);
    acl = world.dispatch.acl;
}

static void end(void)
{
    server_world_drop(&world);
}

static int split(const char *line, struct bytes *words)
{
    int count = 0;
    while (*line != '\0' && count < WORDS) {
        size_t len = strcspn(line, " ");
        words[count++] = bytes_of(line, len);
        line += len + (line[len] == ' ');
    }
    return count;
}

static const char *text_of(struct outbuf *out)
{
    ck_assert_uint_lt(out->len, sizeof(described));
    described[out->len] = '\0';
    outbuf_copy(out, described);
    outbuf_drop(out);
    return described;
}

/* Applies the words to the user: "" or the fault. */
static const char *set(const char *name, const char *line)
{
    struct bytes words[WORDS], refused;
    struct acl_words joined;
    size_t count = (size_t)split(line, words);
    ck_assert_uint_eq(acl_words_join(&joined, words, count), count);
    enum acl_fault fault = acl_set_user(acl, bytes_of(name, strlen(name)), &joined, &refused);
    acl_words_drop(&joined);
    return acl_fault_text(fault);
}

static const char *shown(const char *name)
{
    struct outbuf out;
    outbuf_init(&out);
    acl_user_describe(acl_find(acl, bytes_of(name, strlen(name))), &out);
    return text_of(&out);
}

#define assert_rules(line, expected)                                                               \
    do {                                                                                           \
        ck_assert_str_eq(set("r", "reset"), "");                                                   \
        ck_assert_str_eq(set("r", line), "");                                                      \
        ck_assert_str_eq(shown("r"), "user r off sanitize-payload " expected);                     \
    } while (0)

#define assert_refused(line, why) ck_assert_str_eq(set("r", line), why)

/* The verdict about a call, as a letter: y, c(ommand), k(ey), p(ubsub channel). */
static char may(const char *name, const char *line)
{
    struct bytes words[WORDS];
    int count = split(line, words), at;
    const struct acl_user *user = acl_find(acl, bytes_of(name, strlen(name)));
    struct command_ref ref = commands_match(acl->commands, count, words);
    ck_assert_ptr_nonnull(ref.row);
    return "yckp"[acl_user_check(user, ref, count, words, &at)];
}

#define assert_may(line, verdict) ck_assert_int_eq(may("r", line), verdict)

#define UNKNOWN "Unknown command or category name in ACL"
#define SYNTAX  "Syntax error"

START_TEST(a_new_user_may_do_nothing)
{
    begin();
    ck_assert_str_eq(set("r", ""), "");
    ck_assert_str_eq(shown("r"), "user r off resetchannels -@all");
    assert_may("get k", 'c');
    assert_may("auth x", 'y');
    end();
}
END_TEST

START_TEST(words_are_shown_as_rules)
{
    begin();
    assert_rules("+GET +config|GET -@Write", "resetchannels -@all +get +config|get -@write");
    assert_rules("+get +get -get", "resetchannels -@all");
    assert_rules("+@read -get", "resetchannels -@all +@read -get");
    assert_rules("+@all +config -config -config|get", "resetchannels +@all -config");
    assert_rules("+@all +@read +get -set +@read", "resetchannels +@all -set +@read");
    assert_rules("+config -config|get", "resetchannels -@all +config -config|get");
    assert_rules("+config|get +config|set +config", "resetchannels -@all +config");
    assert_rules("allcommands -debug allkeys allchannels", "~* &* +@all -debug");
    assert_rules("+@all -@all +@read", "resetchannels -@all +@read");
    assert_rules("~a %R~b %W~c %RW~d %r~c", "~a %R~b ~c ~d resetchannels -@all");
    assert_rules("&a &b &a", "resetchannels &a &b -@all");
    assert_rules("(~a +get) ( &x )", "resetchannels -@all (~a resetchannels -@all +get) "
                                     "(resetchannels &x -@all)");
    assert_rules("(~a) clearselectors", "resetchannels -@all");
    assert_rules("+select|0 +select|1", "resetchannels -@all +select|0 +select|1");
    assert_rules("+select|0 +select|1 -select", "resetchannels -@all");
    end();
}
END_TEST

START_TEST(a_wrong_word_is_refused_with_its_reason)
{
    begin();
    assert_refused("foo", SYNTAX);
    assert_refused("%X~a", SYNTAX);
    assert_refused("%~a", SYNTAX);
    assert_refused("%RR~a", SYNTAX);
    assert_refused("+config|", SYNTAX);
    assert_refused("(on)", SYNTAX);
    assert_refused("+nosuch", UNKNOWN);
    assert_refused("-get|x", UNKNOWN);
    assert_refused("+get|a|b", UNKNOWN);
    assert_refused("+", UNKNOWN);
    assert_refused("+@nosuch", UNKNOWN);
    assert_refused("+config|nosuch", UNKNOWN);
    assert_refused("+config|get|x", "Allowing first-arg of a subcommand is not supported");
    assert_refused("#abc", "The password hash must be exactly 64 characters and contain only "
                           "lowercase hexadecimal characters");
    assert_refused("<abc", "The password you are trying to remove from the user does not exist");
    ck_assert_ptr_null(acl_find(acl, LIT("r")));
    end();
}
END_TEST

START_TEST(a_refused_word_changes_nothing)
{
    begin();
    set("r", "on ~a +get >pw");
    char before[512];
    snprintf(before, sizeof(before), "%s", shown("r"));
    ck_assert_str_ne(set("r", "off resetkeys nopass -get (+set) foo"), "");
    ck_assert_str_eq(shown("r"), before);
    end();
}
END_TEST

START_TEST(the_last_rule_about_a_command_decides)
{
    begin();
    set("r", "+@all -@dangerous +keys ~*");
    assert_may("keys *", 'y');
    assert_may("flushall", 'c');
    set("r", "+@dangerous -config +config|get");
    assert_may("flushall", 'y');
    assert_may("config get x", 'y');
    assert_may("config set x y", 'c');
    set("r", "-@all +select|0");
    assert_may("select 0", 'y');
    assert_may("select 1", 'c');
    end();
}
END_TEST

START_TEST(a_key_needs_the_rights_that_the_command_uses)
{
    begin();
    set("r", "+@all %R~r* %W~w* ~b*");
    assert_may("get r1", 'y');
    assert_may("get w1", 'k');
    assert_may("set w1 x", 'y');
    assert_may("set r1 x", 'k');
    assert_may("set w1 x get", 'k');
    assert_may("set b1 x get", 'y');
    assert_may("copy r1 w1", 'y');
    assert_may("copy w1 r1", 'k');
    assert_may("exists r1 w1 b1", 'y');
    assert_may("exists x", 'k');
    assert_may("mget r1 b1 x", 'k');
    assert_may("rede.bpoll b1 0", 'y');
    assert_may("rede.bpoll w1 0", 'k');
    assert_may("rede.push w1 10 x y", 'y');
    end();
}
END_TEST

START_TEST(one_selector_must_allow_the_whole_call)
{
    begin();
    set("r", "+get ~a (+set ~b) (+get ~c)");
    assert_may("get a", 'y');
    assert_may("get c", 'y');
    assert_may("get b", 'k');
    assert_may("set b x", 'y');
    assert_may("set a x", 'k');
    assert_may("del a", 'c');
    end();
}
END_TEST

START_TEST(a_subscribed_pattern_must_be_the_rule_itself)
{
    begin();
    set("r", "+@all &news.* &chat");
    assert_may("subscribe news.a chat", 'y');
    assert_may("subscribe news.a x", 'p');
    assert_may("psubscribe news.*", 'y');
    assert_may("psubscribe news.a", 'p');
    assert_may("publish news.a x", 'y');
    assert_may("spublish x news.a", 'p');
    assert_may("ssubscribe chat", 'y');
    assert_may("unsubscribe x", 'y');
    end();
}
END_TEST

START_TEST(own_commands_are_in_the_category_expiry)
{
    begin();
    set("r", "+@expiry ~*");
    assert_may("hexpire h 10 fields 1 f", 'y');
    assert_may("saddex s 10 m", 'y');
    assert_may("rede.push d 10 x y", 'y');
    assert_may("policy set x ttl 10", 'y');
    assert_may("expiry next", 'y');
    assert_may("expire k 10", 'c');
    assert_may("sadd s m", 'c');
    set("r", "-@all +@set +@write");
    assert_may("saddex s 10 m", 'y');
    end();
}
END_TEST

START_TEST(only_a_user_with_all_rights_is_unrestricted)
{
    begin();
    ck_assert(acl->main_user->unrestricted);
    set("default", "-debug");
    ck_assert(!acl->main_user->unrestricted);
    set("default", "+@all");
    ck_assert(acl->main_user->unrestricted);
    set("default", "resetchannels");
    ck_assert(!acl->main_user->unrestricted);
    set("default", "(~* &* +@all)");
    ck_assert(acl->main_user->unrestricted);
    end();
}
END_TEST

START_TEST(passwords_are_kept_as_hashes)
{
    begin();
    const struct acl_user *user;
    set("r", "on >one >two >one");
    user = acl_find(acl, LIT("r"));
    ck_assert_uint_eq(user->hashes.count, 2);
    ck_assert_ptr_null(strstr(shown("r"), "one"));
    ck_assert(acl_user_admits(user, LIT("one")));
    ck_assert(acl_user_admits(user, LIT("two")));
    ck_assert(!acl_user_admits(user, LIT("on")));
    set("r", "<one");
    ck_assert(!acl_user_admits(user, LIT("one")));
    set("r", "off");
    ck_assert(!acl_user_admits(user, LIT("two")));
    set("r", "on nopass");
    ck_assert(acl_user_admits(user, LIT("any")));
    set("r", "resetpass");
    ck_assert(!acl_user_admits(user, LIT("")));
    end();
}
END_TEST

START_TEST(a_file_names_all_its_faults)
{
    begin();
    struct acl_users users = { 0 };
    struct outbuf faults;
    outbuf_init(&faults);
    acl_read_file(
        acl,
        LIT("user a on +get\n# comment\n\nuser b foo bar\nuser a on\nuser c +nosuch (+get)\n"
            "nobody\nuser d (+get\nuser e ~* ~x"),
        "f", &users, &faults);
    ck_assert_str_eq(
        text_of(&faults),
        "f:4: Syntax error. WARNING: Duplicate user 'a' found on line 5. f:6: Error in applying "
        "operation '+nosuch': " UNKNOWN ". f:7 should start with user keyword followed by the "
        "username. f:8: Unmatched parenthesis in selector definition. f:9: Error in applying "
        "operation '~x': Adding a pattern after the * pattern (or the 'allkeys' flag) is not "
        "valid and does not have any effect. Try 'resetkeys' to start with an empty list of "
        "patterns. ");
    acl_users_drop(&users);
    end();
}
END_TEST

static unsigned gone;

static void count_gone(void *ctx, struct acl_user *user)
{
    (void)ctx;
    ck_assert(bytes_equal(blob_view(user->name), LIT("old")));
    gone++;
}

START_TEST(adopted_users_keep_their_sessions)
{
    begin();
    struct acl_users users = { 0 };
    struct outbuf faults;
    struct session *session = server_world_session(&world, 0);
    outbuf_init(&faults);
    set("old", "on nopass");
    set("stays", "on nopass +get ~*");
    ck_assert(acl_log_in(acl, session, LIT("stays"), LIT("")));
    acl_read_file(acl, LIT("user stays on >new +set ~*\nuser more"), "f", &users, &faults);
    ck_assert_uint_eq(faults.len, 0);
    gone = 0;
    acl_adopt(acl, &users, count_gone, NULL);
    ck_assert_uint_eq(gone, 1);
    ck_assert_uint_eq(acl->users.count, 3);
    ck_assert_ptr_eq(acl_find(acl, LIT("stays")), session->user);
    ck_assert_int_eq(may("stays", "set k v"), 'y');
    ck_assert_int_eq(may("stays", "get k"), 'c');
    ck_assert(acl->main_user->unrestricted);
    end();
}
END_TEST

START_TEST(a_description_makes_the_same_user)
{
    begin();
    set("r", "on >a >b ~x* %R~y &c* +@all -@dangerous +select|0 -select +config|get "
             "(%W~z +@write -set) (+@all ~* &*)");
    char first[2048], line[2048];
    snprintf(first, sizeof(first), "%s", shown("r"));
    snprintf(line, sizeof(line), "reset %s", first + strlen("user r "));
    ck_assert_str_eq(set("r", line), "");
    ck_assert_ptr_nonnull(strstr(shown("r"), "+@all -@dangerous -select +config|get"));
    end();
}
END_TEST

START_TEST(channels_of_new_users_follow_the_option)
{
    begin();
    world.conf.acl_pubsub_default = 1;
    set("r", "on");
    ck_assert_str_eq(shown("r"), "user r on &* -@all");
    end();
}
END_TEST

START_TEST(lines_for_the_configuration_leave_out_a_plain_default)
{
    begin();
    char *lines = acl_option_lines(acl);
    ck_assert_str_eq(lines, "");
    free(lines);
    set("r", "on ~\"q +get");
    lines = acl_option_lines(acl);
    ck_assert_str_eq(lines, "r on \"~\\\"q\" resetchannels -@all +get\n");
    free(lines);
    set("default", "-debug");
    lines = acl_option_lines(acl);
    ck_assert_str_eq(lines, "default on nopass \"~*\" \"&*\" +@all -debug\n"
                            "r on \"~\\\"q\" resetchannels -@all +get\n");
    free(lines);
    end();
}
END_TEST

START_TEST(refusals_of_one_kind_are_one_entry)
{
    begin();
    struct acl_refusal refusal = { .reason = ACL_LOG_KEY,
                                   .object = LIT("k"),
                                   .user_name = LIT("u"),
                                   .session = server_world_session(&world, 0),
                                   .now = 1000 };
    acl_log_add(&acl->log, &refusal, 3);
    refusal.now = 61000;
    acl_log_add(&acl->log, &refusal, 3);
    ck_assert_uint_eq(acl->log.count, 1);
    ck_assert_uint_eq(TAILQ_FIRST(&acl->log.entries)->count, 2);
    refusal.now = 200000;
    acl_log_add(&acl->log, &refusal, 3);
    ck_assert_uint_eq(acl->log.count, 2);
    for (char i = '0'; i < '9'; i++) {
        refusal.object = bytes_of(&i, 1);
        acl_log_add(&acl->log, &refusal, 3);
    }
    ck_assert_uint_eq(acl->log.count, 3);
    end();
}
END_TEST

Suite *test_suite(void)
{
    const TTest *const tests[] = {
        a_new_user_may_do_nothing,
        words_are_shown_as_rules,
        a_wrong_word_is_refused_with_its_reason,
        a_refused_word_changes_nothing,
        the_last_rule_about_a_command_decides,
        a_key_needs_the_rights_that_the_command_uses,
        one_selector_must_allow_the_whole_call,
        a_subscribed_pattern_must_be_the_rule_itself,
        own_commands_are_in_the_category_expiry,
        only_a_user_with_all_rights_is_unrestricted,
        passwords_are_kept_as_hashes,
        a_file_names_all_its_faults,
        adopted_users_keep_their_sessions,
        a_description_makes_the_same_user,
        channels_of_new_users_follow_the_option,
        lines_for_the_configuration_leave_out_a_plain_default,
        refusals_of_one_kind_are_one_entry,
        NULL,
    };
    return suite_of("acl", tests);
}
