/* Every command with the first, second, third ... allocation that may fail failing: called
 * directly, in a transaction, from a script, and while a client waits for the key. The call gets
 * complete replies, an error has changed nothing, every structure stays sound, and the recorded
 * effects build the same data again.
 *
 * tests/unit/server/script/no_memory_test.c does this for the ways into Lua. */
#include <stdlib.h>
#include <string.h>

#include "proto/resp/resp_reply.h"
#include "store/base/ensure.h"
#include "store/mem/mem.h"
#include "tests/support/program.h"
#include "tests/support/rng.h"
#include "tests/support/server_world.h"
#include "tests/support/suite.h"

enum { CALLER, WAITER, CALLS = 10, TRIES_MOST = 100 };

static struct server_world world;
static struct program_rows rows;
static struct program_call call;

/* How a call reaches its command. */
enum door { DIRECT, IN_MULTI, IN_SCRIPT, DOORS };

struct way {
    enum door door;
    bool large; /* there is a value for whose copy the system is asked for room */
};

static unsigned draw(void *ctx, unsigned limit)
{
    return (unsigned)rng_below(ctx, limit);
}

/* SHUTDOWN writes to the log, CLIENT REPLY mutes replies, the others need files. */
static bool is_wanted(struct command_ref ref)
{
    static const char *const unwanted[] = { "SHUTDOWN",     "SAVE",     "BGSAVE",
                                            "BGREWRITEAOF", "LASTSAVE", "REPLY" };
    for (size_t i = 0; i < sizeof(unwanted) / sizeof(unwanted[0]); i++)
        if (strcmp(ref.row->name, unwanted[i]) == 0) return false;
    return true;
}

/* Keys of program.h's names, of every type. */
static void begin(bool large)
{
    static const char *const setup[] = {
        "SET string 0123456789012345678901234567890123456789012345678901234567890123456789",
        "RPUSH list a b c 1",
        "SADD set a b c",
        "EXPIREMEMBER set a 100",
        "HSET hash a 1 b 2 c long",
        "ZADD sorted-set 1 a 2 b 3.5 c",
        "REDE.MPUSH dehydrator 5 a b 7 c d",
        "XADD stream 1-1 a b",
        "XADD stream 1-2 a c",
        "XGROUP CREATE stream g 0",
        "XREADGROUP GROUP g c COUNT 1 STREAMS stream >",
        "POLICY SET s* MAXTTL 1000000",
    };
    server_world_init(&world, SERVER_WORLD_KEEPS);
    for (size_t i = 0; i < sizeof(setup) / sizeof(setup[0]); i++) {
        struct bytes reply = server_world_send(&world, CALLER, setup[i]);
        ensure(reply.data[0] != '-', "%s: %.*s", setup[i], (int)reply.len, reply.data);
    }
    if (large) server_world_send(&world, CALLER, "SETRANGE k 1100000 x");
    server_world_send(&world, WAITER, "BLMPOP 0 2 k list2 LEFT");
}

/* ---- checks ---------------------------------------------------------------------------------- */

static struct digest digest_of(const struct store *store)
{
    /* The first instant, so that expired data that are not removed yet are included. */
    return store_digest(store, INT64_MIN);
}

static bool same_digest(struct digest a, struct digest b)
{
    return a.high == b.high && a.low == b.low;
}

static void check_data(const char *what)
{
    store_check(world.world.store);
    struct store *copy = world_replay(&world.world);
    ensure(same_digest(digest_of(world.world.store), digest_of(copy)), "%s: not its effects", what);
    store_free(copy);
}

static void check_whole(struct bytes text, const char *what)
{
    struct resp_reply reply;
    resp_reply_init(&reply);
    for (size_t at = 0; at < text.len; at += reply.consumed)
        ensure(resp_reply_parse(&reply, text.data + at, text.len - at) == REPLY_WHOLE,
               "%s: not whole: %.*s", what, (int)text.len, text.data);
    resp_reply_drop(&reply);
}

/* ---- one call -------------------------------------------------------------------------------- */

static struct bytes enter(enum door door)
{
    struct bytes words[PROGRAM_ARGS_MAX + 3] = { LIT("EVAL"),
                                                 LIT("return redis.call(unpack(ARGV))"), LIT("0") };
    if (door != IN_SCRIPT) return server_world_call(&world, CALLER, call.argc, call.argv);
    memcpy(words + 3, call.argv, (size_t)call.argc * sizeof(words[0]));
    return server_world_call(&world, CALLER, call.argc + 3, words);
}

/* Runs the call with the nth allocation failing. False: it made fewer. */
static bool fails_nth(struct way way, uint64_t nth, bool writes)
{
    static char what[4096];
    enum door door = way.door;
    snprintf(what, sizeof(what), "door %d, allocation %llu of %s", door, (unsigned long long)nth,
             program_text(&call));
    begin(way.large);
    if (door == IN_MULTI) server_world_send(&world, CALLER, "MULTI");
    if (door == IN_SCRIPT) enter(IN_SCRIPT); /* compiles it */
    struct digest before = digest_of(world.world.store);
    mem_fail_try(nth);
    struct bytes reply = enter(door);
    bool failed = mem_fail_left() == 0;
    check_whole(reply, what);
    if (failed && door == DIRECT && writes && reply.len > 0 && reply.data[0] == '-')
        ensure(same_digest(before, digest_of(world.world.store)), "%s: %.*s, but data changed",
               what, (int)reply.len, reply.data);
    if (door == IN_MULTI) check_whole(server_world_send(&world, CALLER, "EXEC"), what);
    server_world_expire(&world);
    failed = mem_fail_left() == 0;
    mem_fail_try(0);
    for (unsigned i = 0; i < SERVER_WORLD_CALLERS; i++)
        check_whole(server_world_heard(&world, i), what);
    check_data(what);
    server_world_drop(&world);
    return failed;
}

/* The number of allocations that failed. */
static uint64_t sweep(struct way way, bool writes)
{
    uint64_t nth = 1;
    while (nth <= TRIES_MOST && fails_nth(way, nth, writes))
        nth++;
    return nth - 1;
}

/* How many calls of each command: CALLS_N, fewer in the core of the tests. */
static unsigned calls_wanted(void)
{
    const char *given = getenv("CALLS_N");
    return given != NULL ? (unsigned)strtoul(given, NULL, 10) : CALLS;
}

START_TEST(commands_survive_each_failing_allocation)
{
    struct rng rng;
    rng_init(&rng, test_seed());
    const struct program_source source = { draw, &rng };
    uint64_t failures = 0;
    begin(false);
    program_rows(&rows, world.engine.commands, is_wanted);
    server_world_drop(&world);
    for (unsigned i = 0; i < rows.count; i++) {
        for (unsigned n = 0; n < calls_wanted(); n++) {
            program_make(&call, rows.refs[i], SERVER_WORLD_START, &source);
            struct way way = { (enum door)rng_below(&rng, DOORS), rng_chance(&rng, 10) };
            failures += sweep(way, (rows.refs[i].row->flags & WRITE) != 0);
        }
    }
    ck_assert_uint_gt(failures, rows.count);
}
END_TEST

Suite *test_suite(void)
{
    const TTest *const tests[] = { commands_survive_each_failing_allocation, NULL };
    return suite_of("no_memory", tests);
}
