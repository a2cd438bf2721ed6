/* Tests of the ACL: words of rules, selectors, patterns, passwords, several users at once. */
#include <stdlib.h>

#include "server/engine/acl/acl.h"
#include "store/mem/mem.h"
#include "tests/support/server_world.h"
#include "tests/support/suite.h"

/* With work that is quadratic in MANY a test takes longer than the suite's limit of two minutes,
 * several times over; with linear work about a second. */
#ifdef __SANITIZE_ADDRESS__
enum { MANY = 30000 }; /* a sanitizer finds the same in fewer; quadratic time shows without it */
#else
enum { MANY = 300000 };
#endif
enum { WORDS = 32, MANY_LEN = 24 };

static struct server_world world;
static struct acl *acl;
static char described[8192];

static void begin(void)
{
    server_world_init(&world, SERVER_WORLD_PLAIN);
    acl = world.engine.acl;
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
    struct acl_users users;
    struct outbuf faults;
    outbuf_init(&faults);
    acl_users_init(&users);
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

START_TEST(adopted_users_keep_their_sessions)
{
    begin();
    struct acl_users users;
    struct outbuf faults;
    struct session *session = server_world_session(&world, 0);
    outbuf_init(&faults);
    acl_users_init(&users);
    set("old", "on nopass");
    struct acl_user *old = acl_user_retain(acl_find(acl, LIT("old")));
    set("stays", "on nopass +get ~*");
    ck_assert(acl_log_in(acl, session, LIT("stays"), LIT("")));
    acl_read_file(acl, LIT("user stays on >new +set ~*\nuser more"), "f", &users, &faults);
    ck_assert_uint_eq(faults.len, 0);
    acl_adopt(acl, &users);
    ck_assert(old->is_deleted);
    acl_user_release(old);
    ck_assert_uint_eq(acl_count(acl), 3);
    ck_assert(!session->user->is_deleted);
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

/* ---- many rules ----------------------------------------------------------------------------- */

/* MANY words for one ACL SETUSER. The i-th one is made of i, and of the format that is its turn. */
static struct bytes *many_words(const char *const *formats, unsigned count)
{
    struct bytes *words = mem_alloc(MANY * sizeof(*words));
    char *text = mem_alloc((size_t)MANY * MANY_LEN);
    for (int i = 0; i < MANY; i++, text += MANY_LEN) {
        const char *format = formats[(unsigned)i * (size_t)count / MANY];
        int len = snprintf(text, MANY_LEN, format, i % (MANY / (int)count));
        words[i] = bytes_of(text, (size_t)len);
    }
    return words;
}

/* Each format is used for an equal share of the words. */
static void set_many(const char *const *formats, unsigned count)
{
    struct bytes *words = many_words(formats, count), refused;
    struct acl_words joined = { .at = words, .count = MANY };
    ck_assert_int_eq(acl_set_user(acl, LIT("r"), &joined, &refused), ACL_NO_FAULT);
    mem_free((char *)words[0].data);
    mem_free(words);
}

#define SET_MANY(...)                                                                              \
    set_many((const char *const[]){ __VA_ARGS__ },                                                 \
             sizeof((const char *const[]){ __VA_ARGS__ }) / sizeof(const char *))

static const struct acl_selector *root(void)
{
    return &acl_find(acl, LIT("r"))->selectors[0];
}

START_TEST(first_arguments_take_linear_time)
{
    begin();
    SET_MANY("+get|%d", "+set|%d", "+xread|%d");
    ck_assert_uint_eq(root()->rules.items.count, MANY);
    assert_may("get 7", 'k');
    assert_may("get x", 'c');
    end();
}
END_TEST

START_TEST(rules_behind_first_arguments_take_linear_time)
{
    begin();
    set("r", "~* +set|a +set -set");
    SET_MANY("+get|%d", "+get|%d");
    for (int i = 0; i < 3; i++) {
        static const char *const rules[] = { "+set|a", "+set", "-@write", "-@read", "+get|x" };
        struct bytes words[MANY / 10];
        for (int j = 0; j < MANY / 10; j++)
            words[j] = bytes_of(rules[j % 5], strlen(rules[j % 5]));
        struct acl_words joined = { .at = words, .count = MANY / 10 };
        struct bytes refused;
        ck_assert_int_eq(acl_set_user(acl, LIT("r"), &joined, &refused), ACL_NO_FAULT);
    }
    assert_may("get x", 'y');
    assert_may("get 7", 'c');
    ck_assert_int_eq(set("r", "+get")[0], '\0');
    ck_assert_str_eq(shown("r"), "user r off ~* resetchannels -@all +set -@write -@read +get");
    end();
}
END_TEST

START_TEST(passwords_take_linear_time)
{
    begin();
    SET_MANY(">%d", "<%d");
    ck_assert_str_eq(shown("r"), "user r off resetchannels -@all");
    end();
}
END_TEST

START_TEST(patterns_and_selectors_take_linear_time)
{
    begin();
    SET_MANY("~%d", "%%R~%d", "&%d");
    ck_assert_uint_eq(root()->keys.count, MANY / 3);
    ck_assert_uint_eq(root()->channels.count, MANY / 3);
    SET_MANY("(&%d)", "(&%d ~x)");
    struct acl_user *user = acl_find(acl, LIT("r")), *before = acl_user_copy(user);
    ck_assert(!acl_user_lost_channels(user, before));
    acl_user_release(before);
    end();
}
END_TEST

START_TEST(users_take_linear_time)
{
    begin();
    struct acl_users users;
    struct outbuf faults;
    char *file = mem_alloc((size_t)MANY * MANY_LEN), *to = file;
    for (int i = MANY; i > 0; i--)
        to += snprintf(to, MANY_LEN, "user u%06d +get\n", i);
    outbuf_init(&faults);
    for (int i = 0; i < 2; i++) {
        acl_users_init(&users);
        acl_read_file(acl, bytes_of(file, (size_t)(to - file)), "f", &users, &faults);
        acl_adopt(acl, &users);
    }
    ck_assert_uint_eq(acl_count(acl), MANY + 1);
    struct acl_user **sorted = acl_sorted(acl);
    ck_assert(bytes_equal(blob_view(sorted[1]->name), LIT("u000001")));
    for (size_t i = 1; i <= MANY; i++)
        ck_assert(acl_delete_user(acl, blob_view(sorted[i]->name)));
    mem_free(sorted);
    mem_free(file);
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
        first_arguments_take_linear_time,
        rules_behind_first_arguments_take_linear_time,
        passwords_take_linear_time,
        patterns_and_selectors_take_linear_time,
        users_take_linear_time,
        refusals_of_one_kind_are_one_entry,
        NULL,
    };
    return suite_of("acl", tests);
}
