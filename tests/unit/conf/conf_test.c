/* Tests of conf: setting and showing values of every type, Redis' error messages, the table. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "conf/conf.h"
#include "store/mem/mem.h"
#include "tests/support/rng.h"
#include "tests/support/suite.h"

static struct conf conf;

static const char *set(const char *name, const char *value)
{
    const char *why = NULL;
    bool ok = conf_set(&conf, conf_find(name), value, &why);
    ck_assert_msg(ok == (why == NULL), "%s %s", name, value);
    return ok ? "ok" : why;
}

static const char *get(const char *name)
{
    static char *text;
    free(text);
    return text = conf_get(&conf, conf_find(name));
}

#define SET(name, value, outcome) ck_assert_str_eq(set(name, value), outcome)
#define IS(name, value)           ck_assert_str_eq(get(name), value)

START_TEST(defaults_match_redis_except_bind_and_save)
{
    conf_init(&conf);
    ck_assert_str_eq(conf.bind, "127.0.0.1 -::1");
    ck_assert_int_eq(conf.port, 6379);
    ck_assert_int_eq(conf.tcp_keepalive, 300);
    ck_assert_int_eq(conf.maxclients, 10000);
    ck_assert(conf.protected_mode);
    ck_assert_int_eq(conf.databases, 16);
    ck_assert_int_eq(conf.loglevel, 2);
    IS("proto-max-bulk-len", "536870912");
    IS("client-query-buffer-limit", "1073741824");
    IS("client-output-buffer-limit",
       "normal 0 0 0 slave 268435456 67108864 60 pubsub 33554432 8388608 60");
    IS("save", "");
    IS("appendonly", "yes");
    IS("enable-debug-command", "no");
    IS("unixsocketperm", "0");
    ck_assert_str_eq(conf.file, "");
    conf_drop(&conf);
}
END_TEST

START_TEST(every_option_accepts_its_own_output)
{
    conf_init(&conf);
    for (size_t i = 0; i < conf_option_count(); i++) {
        const struct conf_option *option = conf_option_at(i);
        char *shown = conf_get(&conf, option);
        ck_assert_str_eq(set(option->name, shown), "ok");
        ck_assert_str_eq(get(option->name), shown);
        ck_assert_ptr_eq(conf_find(option->name), option);
        ck_assert_ptr_nonnull(option->help);
        free(shown);
    }
    conf_drop(&conf);
}
END_TEST

START_TEST(an_alias_reads_and_writes_its_option)
{
    conf_init(&conf);
    for (size_t i = 0; i < conf_option_count(); i++) {
        const struct conf_option *alias = conf_option_at(i);
        if (alias->alias_of == NULL) continue;
        const struct conf_option *option = conf_find(alias->alias_of);
        ck_assert_ptr_nonnull(option);
        ck_assert_uint_eq(alias->offset, option->offset);
        ck_assert_int_eq(alias->type, option->type);
        ck_assert_str_eq(alias->preset, option->preset);
    }
    ck_assert_str_eq(set("lua-time-limit", "77"), "ok");
    ck_assert_str_eq(get("busy-reply-threshold"), "77");
    conf_drop(&conf);
}
END_TEST

START_TEST(option_names_ignore_case)
{
    ck_assert_ptr_eq(conf_find("TimeOut"), conf_find("timeout"));
    ck_assert_ptr_null(conf_find("timeou"));
    ck_assert_ptr_null(conf_find(""));
}
END_TEST

START_TEST(bool_accepts_only_yes_and_no)
{
    conf_init(&conf);
    SET("protected-mode", "NO", "ok");
    ck_assert(!conf.protected_mode);
    SET("protected-mode", "Yes", "ok");
    IS("protected-mode", "yes");
    SET("protected-mode", "1", "argument must be 'yes' or 'no'");
    SET("protected-mode", "", "argument must be 'yes' or 'no'");
    IS("protected-mode", "yes");
    conf_drop(&conf);
}
END_TEST

START_TEST(an_integer_is_plain_decimal_in_its_range)
{
    static const char *const not_integers[] = { "",   "abc",  "1x",  "007",
                                                "+5", " 5",   "5 ",  "-",
                                                "-0", "0x10", "1.0", "99999999999999999999",
                                                NULL };
    conf_init(&conf);
    for (int i = 0; not_integers[i] != NULL; i++)
        SET("timeout", not_integers[i], "argument couldn't be parsed into an integer");
    SET("timeout", "-1", "argument must be between 0 and 2147483647 inclusive");
    SET("timeout", "2147483648", "argument must be between 0 and 2147483647 inclusive");
    SET("port", "65536", "argument must be between 0 and 65535 inclusive");
    SET("maxclients", "0", "argument must be between 1 and 4294967295 inclusive");
    IS("timeout", "0");
    SET("timeout", "2147483647", "ok");
    IS("timeout", "2147483647");
    SET("port", "65535", "ok");
    SET("maxclients", "1", "ok");
    conf_drop(&conf);
}
END_TEST

START_TEST(a_memory_value_takes_units_in_any_case)
{
    static const char *const values[][2] = {
        { "1", "1" },
        { "1b", "1" },
        { "1k", "1000" },
        { "1kb", "1024" },
        { "1M", "1000000" },
        { "10mb", "10485760" },
        { "1g", "1000000000" },
        { "1gB", "1073741824" },
        { "0", "0" },
        { "", "0" },
        { "9223372036854775807", "9223372036854775807" },
    };
    static const char *const wrong[] = { "1xx", "-1", "10%", "1 gb", "1.5gb", "mb1", "+1" };
    conf_init(&conf);
    for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
        SET("maxmemory", values[i][0], "ok");
        IS("maxmemory", values[i][1]);
    }
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
        SET("maxmemory", wrong[i], "argument must be a memory value");
    conf_drop(&conf);
}
END_TEST

START_TEST(a_memory_value_beyond_64_bits_is_the_largest)
{
    conf_init(&conf);
    SET("maxmemory", "17179869184gb", "ok");
    IS("maxmemory", "9223372036854775807");
    SET("maxmemory", "99999999999999999999", "ok");
    IS("maxmemory", "9223372036854775807");
    SET("proto-max-bulk-len", "1048575",
        "argument must be between 1048576 and 2147483647 inclusive");
    SET("proto-max-bulk-len", "1mb", "ok");
    conf_drop(&conf);
}
END_TEST

START_TEST(error_for_choice_lists_the_choices)
{
    conf_init(&conf);
    SET("loglevel", "loud",
        "argument(s) must be one of the following: debug, verbose, notice, warning, nothing");
    SET("loglevel", "WARNING", "ok");
    ck_assert_int_eq(conf.loglevel, 3);
    IS("loglevel", "warning");
    SET("maxmemory-policy", "nosuch",
        "argument(s) must be one of the following: volatile-lru, volatile-lfu, volatile-random, "
        "volatile-ttl, allkeys-lru, allkeys-lfu, allkeys-random, noeviction");
    SET("supervised", "runit",
        "argument(s) must be one of the following: systemd, auto, no, upstart");
    SET("enable-debug-command", "local", "ok");
    ck_assert_int_eq(conf.enable_debug_command, CONF_ALLOW_LOCAL);
    conf_drop(&conf);
}
END_TEST

START_TEST(a_mode_is_octal)
{
    conf_init(&conf);
    SET("unixsocketperm", "770", "ok");
    ck_assert_int_eq(conf.unixsocketperm, 0770);
    IS("unixsocketperm", "770");
    SET("unixsocketperm", "999", "argument couldn't be parsed as an octal number");
    SET("unixsocketperm", "", "argument couldn't be parsed as an octal number");
    SET("unixsocketperm", "77777", "argument must be between 0 and 777 inclusive");
    IS("unixsocketperm", "770");
    conf_drop(&conf);
}
END_TEST

START_TEST(output_limits_change_only_the_classes_named)
{
    conf_init(&conf);
    SET("client-output-buffer-limit", "NORMAL 1mb 2kb 3", "ok");
    IS("client-output-buffer-limit",
       "normal 1048576 2048 3 slave 268435456 67108864 60 pubsub 33554432 8388608 60");
    SET("client-output-buffer-limit", "replica 1 2 3 pubsub 4 5 6", "ok");
    IS("client-output-buffer-limit", "normal 1048576 2048 3 slave 1 2 3 pubsub 4 5 6");
    SET("client-output-buffer-limit", "", "ok");
    IS("client-output-buffer-limit", "normal 1048576 2048 3 slave 1 2 3 pubsub 4 5 6");
    conf_drop(&conf);
}
END_TEST

START_TEST(wrong_output_limits_change_nothing)
{
    conf_init(&conf);
    char *before = conf_get(&conf, conf_find("client-output-buffer-limit"));
    SET("client-output-buffer-limit", "normal 0 0",
        "Wrong number of arguments in buffer limit configuration.");
    SET("client-output-buffer-limit", "normal 1 1 1 foo 1 2 3",
        "Invalid client class specified in buffer limit configuration.");
    SET("client-output-buffer-limit", "master 0 0 0",
        "Invalid client class specified in buffer limit configuration.");
    SET("client-output-buffer-limit", "pubsub 1 1 1 normal a 0 0",
        "Error in hard, soft or soft_seconds setting in buffer limit configuration.");
    SET("client-output-buffer-limit", "slave 32mb 8mb -1",
        "Error in hard, soft or soft_seconds setting in buffer limit configuration.");
    IS("client-output-buffer-limit", before);
    free(before);
    conf_drop(&conf);
}
END_TEST

START_TEST(event_classes_are_shown_in_redis_order)
{
    static const char *const values[][2] = {
        { "KEA", "AKE" },   { "AKEm", "AKEm" },   { "g$lshzxetdK", "AK" },    { "mK", "Km" },
        { "KEt", "tKE" },   { "g$nK", "g$nK" },   { "ExEx", "xE" },           { "Ag", "A" },
        { "nAKE", "AnKE" }, { "STIVh", "hSTIV" }, { "VITSmEKA", "AKEmSTIV" }, { "", "" },
    };
    conf_init(&conf);
    for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
        SET("notify-keyspace-events", values[i][0], "ok");
        IS("notify-keyspace-events", values[i][1]);
    }
    conf_drop(&conf);
}
END_TEST

START_TEST(unknown_event_classes_are_refused)
{
    static const char *const wrong[] = { "KEq", "KEAo", "STIVc", "i", "K E", "a" };
    conf_init(&conf);
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
        SET("notify-keyspace-events", wrong[i],
            "Invalid event class character. Use 'Ag$lshzxeKEtmdnSTIV'.");
    IS("notify-keyspace-events", "");
    conf_drop(&conf);
}
END_TEST

START_TEST(hz_is_limited_to_its_bounds)
{
    conf_init(&conf);
    SET("hz", "0", "ok");
    IS("hz", "1");
    SET("hz", "1000", "ok");
    IS("hz", "500");
    SET("hz", "20", "ok");
    IS("hz", "20");
    SET("hz", "-1", "argument must be between 0 and 2147483647 inclusive");
    conf_drop(&conf);
}
END_TEST

START_TEST(save_points_are_pairs_of_seconds_and_changes)
{
    conf_init(&conf);
    SET("save", "", "ok");
    SET("save", "900 1", "ok");
    SET("save", "  900  1 300 0", "ok");
    IS("save", "900 1 300 0");
    SET("save", "900", "Invalid save parameters");
    SET("save", "0 1", "Invalid save parameters");
    SET("save", "900 -1", "Invalid save parameters");
    SET("save", "900 x", "Invalid save parameters");
    SET("save", "99999999999999999999 1", "Invalid save parameters");
    IS("save", "900 1 300 0");
    conf_drop(&conf);
}
END_TEST

START_TEST(persistence_file_names_may_not_be_paths)
{
    conf_init(&conf);
    SET("dbfilename", "a.exp", "ok");
    SET("dbfilename", "a/b", "it can't be a path, just a name");
    SET("dbfilename", "", "it can't be a path, just a name");
    SET("dbfilename", "..", "it can't be a path, just a name");
    SET("appendonly", "YES", "ok");
    SET("appendonly", "maybe", "argument must be 'yes' or 'no'");
    conf_drop(&conf);
}
END_TEST

START_TEST(bind_is_normalized_and_bounded)
{
    conf_init(&conf);
    SET("bind", "  127.0.0.1   ::1 ", "ok");
    ck_assert_str_eq(conf.bind, "127.0.0.1 ::1");
    SET("bind", "1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16", "ok");
    SET("bind", "1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17", "Too many bind addresses specified.");
    SET("bind", "", "ok");
    ck_assert_str_eq(conf.bind, "");
    conf_drop(&conf);
}
END_TEST

START_TEST(replicaof_needs_a_host_and_a_port)
{
    conf_init(&conf);
    SET("replicaof", "7", "it needs a host and a port");
    SET("replicaof", " 7", "it needs a host and a port");
    SET("replicaof", "host 0", "Invalid master port");
    SET("replicaof", "  host  7", "ok");
    ck_assert_str_eq(conf.replicaof, "host 7");
    SET("replicaof", " no one", "ok");
    ck_assert_str_eq(conf.replicaof, "");
    conf_drop(&conf);
}
END_TEST

START_TEST(announced_hostname_can_be_a_word_of_cluster_nodes)
{
    const char *wrong = "Hostnames may only contain alphanumeric characters, hyphens or dots";
    char name[257];
    conf_init(&conf);
    SET("cluster-announce-hostname", "a.B-9", "ok");
    SET("cluster-announce-hostname", "a b", wrong);
    SET("cluster-announce-hostname", "a\n", wrong);
    SET("cluster-announce-hostname", "a:1", wrong);
    memset(name, 'a', sizeof(name) - 1);
    name[256] = '\0';
    SET("cluster-announce-hostname", name, "Hostnames must be less than 256 characters");
    SET("cluster-announce-hostname", name + 1, "ok");
    SET("cluster-announce-hostname", "", "ok");
    conf_drop(&conf);
}
END_TEST

START_TEST(random_values_are_refused_or_round_trip)
{
    static const char letters[] = "0179-+ aAgGkKmMbBeEx.$\"'\\ynos";
    struct rng rng;
    rng_init(&rng, test_seed());
    conf_init(&conf);
    for (int round = 0; round < 20000; round++) {
        const struct conf_option *option = conf_option_at(rng_below(&rng, conf_option_count()));
        char value[12] = "", *before = conf_get(&conf, option);
        for (size_t i = 0, len = rng_below(&rng, sizeof(value)); i < len; i++)
            value[i] = letters[rng_below(&rng, sizeof(letters) - 1)];
        if (strcmp(set(option->name, value), "ok") == 0) {
            char *shown = conf_get(&conf, option);
            ck_assert_msg(strcmp(set(option->name, shown), "ok") == 0, "%s %s", option->name,
                          shown);
            ck_assert_str_eq(get(option->name), shown);
            free(shown);
        } else {
            ck_assert_str_eq(get(option->name), before);
        }
        free(before);
    }
    conf_drop(&conf);
}
END_TEST

static unsigned times_short;

static void note_short(size_t wanted, bool ends)
{
    (void)wanted;
    if (ends) _exit(6);
    times_short++;
}

/* Within a limit to addresses, everything but the reserve is used up. */
static int set_option_without_memory(void)
{
    unsigned long pages = 0;
    FILE *statm = fopen("/proc/self/statm", "r");
    if (statm == NULL || fscanf(statm, "%lu", &pages) != 1) return 1;
    fclose(statm);
    mem_keep_reserve(true);
    mem_on_exhausted(note_short);
    rlim_t most = pages * (rlim_t)sysconf(_SC_PAGESIZE) + (64 << 20);
    if (setrlimit(RLIMIT_AS, &(struct rlimit){ most, most }) != 0) return 2;
    /* Of every small size, because the allocator keeps blocks of each apart. */
    for (size_t size = 1 << 20; size >= 16; size = size > 1024 ? size / 2 : size - 16)
        for (void *volatile p = malloc(size); p != NULL; p = malloc(size))
            ;
    const char *why;
    if (mem_is_short()) return 3;
    if (!conf_set(&conf, conf_find("dbfilename"), "name-of-thirty-two-characters.exp", &why))
        return 4;
    return times_short == 1 ? 0 : 5;
}

START_TEST(option_is_set_from_the_reserve_of_memory)
{
    void *small = mem_alloc(8);
    bool watched = mem_pool_waste() == 0; /* by a sanitizer, which needs all addresses */
    mem_free(small);
    if (watched) return;
    pid_t child = fork();
    if (child == 0) _exit(set_option_without_memory());
    int status = 0;
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_int_eq(status, 0);
}
END_TEST

Suite *test_suite(void)
{
    const TTest *const tests[] = {
        defaults_match_redis_except_bind_and_save,
        every_option_accepts_its_own_output,
        an_alias_reads_and_writes_its_option,
        option_names_ignore_case,
        bool_accepts_only_yes_and_no,
        an_integer_is_plain_decimal_in_its_range,
        a_memory_value_takes_units_in_any_case,
        a_memory_value_beyond_64_bits_is_the_largest,
        error_for_choice_lists_the_choices,
        a_mode_is_octal,
        output_limits_change_only_the_classes_named,
        wrong_output_limits_change_nothing,
        event_classes_are_shown_in_redis_order,
        unknown_event_classes_are_refused,
        hz_is_limited_to_its_bounds,
        save_points_are_pairs_of_seconds_and_changes,
        persistence_file_names_may_not_be_paths,
        bind_is_normalized_and_bounded,
        replicaof_needs_a_host_and_a_port,
        announced_hostname_can_be_a_word_of_cluster_nodes,
        random_values_are_refused_or_round_trip,
        option_is_set_from_the_reserve_of_memory,
        NULL,
    };
    return suite_of("conf", tests);
}
