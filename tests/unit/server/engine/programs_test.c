/* Whole programs: for any requests, every request gets one well-formed reply, every structure
 * stays sound, and the recorded effects build the same data again. */
#include <stdio.h>
#include <stdlib.h>

#include "proto/resp/resp_reply.h"
#include "store/base/ensure.h"
#include "store/mem/mem.h"
#include "tests/support/program.h"
#include "tests/support/rng.h"
#include "tests/support/server_world.h"
#include "tests/support/suite.h"

enum { CALLERS = 3, LISTENER = CALLERS, JUDGE, DATABASES = 3, STEPS = 300, PROGRAMS = 150 };

struct run {
    struct rng rng;
    struct program_source source;
    struct program_rows rows;
    struct server_world world, plain;
    bool has_plain; /* the same program runs in `plain` too */
    struct program_call call;
};

static unsigned draw(void *ctx, unsigned limit)
{
    return (unsigned)rng_below(ctx, limit);
}

/* Sizes of allocations differ between two worlds. */
static bool is_repeatable(struct command_ref ref)
{
    return program_is_data(ref) && strcmp(ref.row->name, "USAGE") != 0;
}

/* ---- replies --------------------------------------------------------------------------------- */

static bool speaks(const struct resp_node *node, int version)
{
    switch (node->type) {
    case REPLY_DOUBLE:
    case REPLY_BOOL:
    case REPLY_VERBATIM:
    case REPLY_BIGNUM:
    case REPLY_MAP:
    case REPLY_SET:
    case REPLY_PUSH:
    case REPLY_ATTRIBUTE: return version >= 3;
    default: return true;
    }
}

/* The number of complete replies of this version in the text. */
static size_t count_replies(struct bytes text, int version, const char *what)
{
    struct resp_reply reply;
    size_t count = 0;
    resp_reply_init(&reply);
    for (size_t at = 0; at < text.len; at += reply.consumed, count++) {
        enum resp_reply_status status = resp_reply_parse(&reply, text.data + at, text.len - at);
        ensure(status == REPLY_WHOLE, "%s: reply %zu is not whole: %.*s", what, count,
               (int)text.len, text.data);
        for (size_t i = 0; i < reply.count; i++)
            ensure(speaks(&reply.nodes[i], version), "%s: not RESP%d: %.*s", what, version,
                   (int)text.len, text.data);
    }
    resp_reply_drop(&reply);
    return count;
}

static void check_reply(const struct session *session, struct bytes reply, const char *what)
{
    size_t count = count_replies(reply, session->out.version, what);
    ensure(count == 1, "%s: %zu replies: %.*s", what, count, (int)reply.len, reply.data);
}

/* ---- running one program --------------------------------------------------------------------- */

static void ask(struct run *run, unsigned caller, int argc, const struct bytes *argv,
                const char *what)
{
    if (getenv("PROGRAM_TRACE") != NULL)
        fprintf(stderr, "%lld %u: %s\n", (long long)run->world.world.now, caller, what);
    struct bytes reply = server_world_call(&run->world, caller, argc, argv);
    check_reply(server_world_session(&run->world, caller), reply, what);
    store_check(run->world.world.store);
    if (!run->has_plain) return;
    struct bytes other = server_world_call(&run->plain, caller, argc, argv);
    ensure(bytes_equal(reply, other), "%s: %.*s, unobserved %.*s", what, (int)reply.len, reply.data,
           (int)other.len, other.data);
}

static void say(struct run *run, unsigned caller, const char *line)
{
    struct bytes argv[8];
    int argc = 0;
    for (const char *word = line;; word++) {
        argv[argc] = bytes_of(word, strcspn(word, " "));
        word += argv[argc++].len;
        if (*word == '\0') break;
    }
    ask(run, caller, argc, argv, line);
}

static void call_data(struct run *run, unsigned caller)
{
    struct command_ref ref = run->rows.refs[rng_below(&run->rng, run->rows.count)];
    program_make(&run->call, ref, run->world.world.now, &run->source);
    if (rng_chance(&run->rng, 10)) program_spoil(&run->call, &run->source);
    ask(run, caller, run->call.argc, run->call.argv, program_text(&run->call));
}

static void call_other(struct run *run, unsigned caller)
{
    static const char *const lines[] = {
        "MULTI",
        "MULTI",
        "EXEC",
        "EXEC",
        "EXEC",
        "DISCARD",
        "WATCH string k",
        "WATCH list set",
        "UNWATCH",
        "SELECT 0",
        "SELECT 1",
        "SELECT 2",
        "SELECT 0",
        "SELECT 99",
        "HELLO 2",
        "HELLO 3",
        "PING",
        "NOSUCH a b",
        "EXEC extra",
        "RESET",
        "CLIENT NO-TOUCH ON",
        "GET",
        "WATCH hash",
    };
    enum { LINES = sizeof(lines) / sizeof(lines[0]) };
    const char *line = lines[rng_below(&run->rng, LINES)];
    /* Otherwise the reply of EXEC would mix both versions. */
    bool in_multi = server_world_session(&run->world, caller)->multi != NULL;
    if (in_multi && strncmp(line, "HELLO", 5) == 0) line = "EXEC";
    say(run, caller, line);
}

/* DBSIZE counts keys by the order of deadlines, and KEYS looks at each one: both must agree. */
static void check_counts(struct server_world *world)
{
    for (int db = 0; db < DATABASES; db++) {
        char select[32];
        snprintf(select, sizeof(select), "SELECT %d", db);
        server_world_send(world, JUDGE, select);
        struct bytes size = server_world_send(world, JUDGE, "DBSIZE");
        long counted = strtol(size.data + 1, NULL, 10);
        struct bytes keys = server_world_send(world, JUDGE, "KEYS *");
        ck_assert_int_eq(strtol(keys.data + 1, NULL, 10), counted);
    }
}

static void move_clock(struct run *run)
{
    msec now = run->world.world.now, due = store_next_due(run->world.world.store);
    msec to = now + rng_between(&run->rng, 0, 20);
    /* A key has expired at the instant when it is due, and is alive at its deadline, 1 ms before.
     */
    if (due != NEVER && due - now < 1000000000 && rng_chance(&run->rng, 70))
        to = due - rng_between(&run->rng, 0, 2);
    if (to < now) to = now;
    bool lazily = rng_chance(&run->rng, 50);
    (lazily ? server_world_hold : server_world_step)(&run->world, to);
    if (run->has_plain) (lazily ? server_world_hold : server_world_step)(&run->plain, to);
    if (!lazily)
        ensure(store_next_due(run->world.world.store) > to, "still due at %lld", (long long)to);
    if (getenv("PROGRAM_TRACE") != NULL)
        fprintf(stderr, "clock %lld%s\n", (long long)to, lazily ? "" : " and the timer");
    check_counts(&run->world);
    if (run->has_plain) check_counts(&run->plain);
}

/* The notifications that the listener has received. */
static void check_pushes(struct run *run)
{
    int version = server_world_session(&run->world, LISTENER)->out.version;
    struct bytes pushed = server_world_heard(&run->world, LISTENER);
    count_replies(pushed, version, "a notification");
    if (!run->has_plain) return;
    struct bytes other = server_world_heard(&run->plain, LISTENER);
    ensure(bytes_equal(pushed, other), "observed %.*s, unobserved %.*s", (int)pushed.len,
           pushed.data, (int)other.len, other.data);
}

static void check_replay(struct run *run)
{
    struct store *copy = world_replay(&run->world.world);
    /* The first instant, so that expired data that are not removed yet are included. */
    struct digest live = store_digest(run->world.world.store, INT64_MIN);
    struct digest replayed = store_digest(copy, INT64_MIN);
    ck_assert_uint_eq(live.high, replayed.high);
    ck_assert_uint_eq(live.low, replayed.low);
    store_free(copy);
    if (!run->has_plain) return;
    struct digest plain = store_digest(run->plain.world.store, INT64_MIN);
    ck_assert_uint_eq(live.high, plain.high);
    ck_assert_uint_eq(live.low, plain.low);
}

static void begin(struct run *run, uint64_t seed, bool has_plain)
{
    rng_init(&run->rng, seed);
    run->source = (struct program_source){ draw, &run->rng };
    run->has_plain = has_plain;
    server_world_init(&run->world, SERVER_WORLD_KEEPS);
    if (has_plain) server_world_init(&run->plain, SERVER_WORLD_PLAIN);
    program_rows(&run->rows, run->world.engine.commands,
                 has_plain ? is_repeatable : program_is_data);
    if (rng_chance(&run->rng, 50)) {
        say(run, LISTENER, "CONFIG SET notify-keyspace-events KEAmn");
        if (rng_chance(&run->rng, 50)) say(run, LISTENER, "HELLO 3");
        say(run, LISTENER, "PSUBSCRIBE __key*");
    }
    if (rng_chance(&run->rng, 50)) say(run, 1, "HELLO 3");
}

static void end(struct run *run)
{
    server_world_drop(&run->world);
    if (run->has_plain) server_world_drop(&run->plain);
}

/* data_percent of the steps are commands on data; the others are other commands and clock steps. */
static void run_program(struct run *run, unsigned steps, unsigned data_percent)
{
    for (unsigned i = 0; i < steps; i++) {
        unsigned caller = (unsigned)rng_below(&run->rng, CALLERS);
        if (rng_chance(&run->rng, data_percent))
            call_data(run, caller);
        else if (rng_chance(&run->rng, 50))
            call_other(run, caller);
        else
            move_clock(run);
        check_pushes(run);
    }
    check_replay(run);
}

static struct run *run_new(void)
{
    return mem_zalloc(sizeof(struct run));
}

/* ---- tests ----------------------------------------------------------------------------------- */

START_TEST(random_programs_get_complete_replies_and_can_be_replayed)
{
    struct run *run = run_new();
    for (unsigned i = 0; i < PROGRAMS; i++) {
        begin(run, test_seed() + i, false);
        run_program(run, STEPS, i % 3 == 0 ? 95 : 75);
        end(run);
    }
    mem_free(run);
}
END_TEST

START_TEST(listeners_do_not_change_how_a_program_runs)
{
    struct run *run = run_new();
    for (unsigned i = 0; i < PROGRAMS / 3; i++) {
        begin(run, test_seed() + i, true);
        run_program(run, STEPS, 75);
        end(run);
    }
    mem_free(run);
}
END_TEST

/* Keeps the rows of one group; those that make values grow are chosen more often. */
static void keep_group(struct program_rows *rows, const char *group)
{
    struct program_rows all = *rows;
    rows->count = 0;
    for (unsigned i = 0; i < all.count; i++) {
        if (strcmp(all.refs[i].group, group) != 0) continue;
        unsigned weight = all.refs[i].row->flags & GROWS ? 12 : 1;
        for (; weight > 0; weight--)
            rows->refs[rows->count++] = all.refs[i];
    }
    ck_assert_uint_gt(rows->count, 0);
}

/* Uses few keys, so that values grow large. */
START_TEST(programs_of_one_type_can_be_replayed)
{
    static const char *const groups[] = { "string",     "list",       "set",   "hash",
                                          "sorted-set", "dehydrator", "lease", "generic" };
    struct run *run = run_new();
    for (size_t g = 0; g < sizeof(groups) / sizeof(groups[0]); g++) {
        begin(run, test_seed() + g, false);
        keep_group(&run->rows, groups[g]);
        run_program(run, 5 * STEPS, 95);
        end(run);
    }
    mem_free(run);
}
END_TEST

START_TEST(key_expires_1_ms_after_its_deadline_whether_looked_up_or_not)
{
    struct run *run = run_new();
    begin(run, 1, false);
    struct server_world *world = &run->world;
    server_world_send(world, 0, "SET k v PX 100");
    server_world_send(world, 0, "SET other v PX 100");
    server_world_step(world, SERVER_WORLD_START + 100);
    ck_assert(bytes_equal(server_world_send(world, 0, "DBSIZE"), LIT(":2\r\n")));
    ck_assert(bytes_equal(server_world_send(world, 0, "GET k"), LIT("$1\r\nv\r\n")));
    ck_assert(bytes_equal(server_world_send(world, 0, "PTTL k"), LIT(":0\r\n")));
    server_world_hold(world, SERVER_WORLD_START + 101);
    ck_assert(bytes_equal(server_world_send(world, 0, "DBSIZE"), LIT(":0\r\n")));
    ck_assert(bytes_equal(server_world_send(world, 0, "GET k"), LIT("$-1\r\n")));
    ck_assert_uint_eq(dict_count(&world->world.store->databases[0].dict), 1);
    server_world_expire(world);
    ck_assert_uint_eq(dict_count(&world->world.store->databases[0].dict), 0);
    check_replay(run);
    end(run);
    mem_free(run);
}
END_TEST

START_TEST(a_watched_key_that_expires_breaks_the_transaction)
{
    struct run *run = run_new();
    for (int timer_first = 0; timer_first < 2; timer_first++) {
        begin(run, 1, false);
        struct server_world *world = &run->world;
        server_world_send(world, 0, "SET k v PX 100");
        server_world_send(world, 1, "HELLO 2");
        server_world_send(world, 1, "WATCH k");
        server_world_send(world, 1, "MULTI");
        server_world_send(world, 1, "SET k w");
        server_world_hold(world, SERVER_WORLD_START + 101);
        if (timer_first) server_world_expire(world);
        ck_assert(bytes_equal(server_world_send(world, 1, "EXEC"), LIT("*-1\r\n")));
        ck_assert(bytes_equal(server_world_send(world, 1, "GET k"), LIT("$-1\r\n")));
        check_replay(run);
        end(run);
    }
    mem_free(run);
}
END_TEST

Suite *test_suite(void)
{
    const TTest *const tests[] = {
        random_programs_get_complete_replies_and_can_be_replayed,
        listeners_do_not_change_how_a_program_runs,
        programs_of_one_type_can_be_replayed,
        key_expires_1_ms_after_its_deadline_whether_looked_up_or_not,
        a_watched_key_that_expires_breaks_the_transaction,
        NULL,
    };
    return suite_of("programs", tests);
}
