/* Intersections, unions and differences of random numbers of sets of random sizes, compared with
 * arrays of membership. Both algorithms must give the same result. */
#include <stdio.h>

#include "store/mem/mem.h"
#include "tests/support/items.h"
#include "tests/support/server_world.h"
#include "tests/support/suite.h"

enum { SETS = 40, NAMES = 400, STEPS = SANITIZED_TENTH(300), LINE = 8 * SETS };

struct run {
    struct server_world world;
    struct rng rng;
    bool in[SETS][NAMES];
    unsigned keys[SETS], key_count; /* of the call */
    char names[LINE];               /* the same, as arguments */
    bool wanted[NAMES];
    unsigned wanted_count;
};

/* Adds few or many members, so that both algorithms are used. */
static void fill(struct run *run, unsigned set)
{
    unsigned share = rng_chance(&run->rng, 50) ? 3 : (unsigned)rng_below(&run->rng, 100);
    char line[32];
    for (unsigned name = 0; name < NAMES; name++) {
        run->in[set][name] = rng_chance(&run->rng, share);
        snprintf(line, sizeof(line), "%s s%u m%u", run->in[set][name] ? "SADD" : "SREM", set, name);
        server_world_send(&run->world, 0, line);
    }
}

static void draw_keys(struct run *run)
{
    size_t len = 0;
    unsigned most = rng_chance(&run->rng, 70) ? 4 : SETS;
    run->key_count = 1 + (unsigned)rng_below(&run->rng, most);
    for (unsigned i = 0; i < run->key_count; i++) {
        run->keys[i] = (unsigned)rng_below(&run->rng, SETS);
        len += (size_t)snprintf(run->names + len, sizeof(run->names) - len, " s%u", run->keys[i]);
    }
}

static bool belongs(const struct run *run, char operation, unsigned name)
{
    unsigned others = 0;
    bool first = run->in[run->keys[0]][name];
    for (unsigned i = 1; i < run->key_count; i++)
        others += run->in[run->keys[i]][name];
    if (operation == 'I') return first && others == run->key_count - 1;
    return operation == 'U' ? first || others > 0 : first && others == 0;
}

static void expect_members(struct run *run, const char *line)
{
    struct bytes items[NAMES];
    bool seen[NAMES] = { false };
    size_t count = items_of(server_world_send(&run->world, 0, line), items, NAMES);
    for (size_t i = 0; i < count; i++) {
        unsigned name = item_number(items[i]);
        ck_assert_msg(run->wanted[name] && !seen[name], "%s: m%u", line, name);
        seen[name] = true;
    }
    ck_assert_msg(count == run->wanted_count, "%s: %zu, not %u", line, count, run->wanted_count);
}

static void expect_number(struct run *run, const char *line, unsigned number)
{
    char wanted[16];
    size_t len = (size_t)snprintf(wanted, sizeof(wanted), ":%u\r\n", number);
    struct bytes reply = server_world_send(&run->world, 0, line);
    ck_assert_msg(bytes_equal(reply, bytes_of(wanted, len)), "%s: %.*s", line, (int)reply.len,
                  reply.data);
}

static void expect(struct run *run, const char *operation)
{
    char line[LINE + 64];
    run->wanted_count = 0;
    for (unsigned name = 0; name < NAMES; name++)
        run->wanted_count += run->wanted[name] = belongs(run, operation[1], name);

    snprintf(line, sizeof(line), "%s%s", operation, run->names);
    expect_members(run, line);
    snprintf(line, sizeof(line), "%sSTORE stored%s", operation, run->names);
    expect_number(run, line, run->wanted_count);
    expect_members(run, "SMEMBERS stored");
    unsigned limit = (unsigned)rng_below(&run->rng, rng_chance(&run->rng, 50) ? 20 : 2 * NAMES);
    bool limited = limit > 0 && limit < run->wanted_count;
    const char *approx = operation[1] == 'U' ? " APPROX" : "";
    snprintf(line, sizeof(line), "%sCARD %u%s%s LIMIT %u", operation, run->key_count, run->names,
             approx, limit);
    expect_number(run, line, limited ? limit : run->wanted_count);
    snprintf(line, sizeof(line), "%sCARD %u%s", operation, run->key_count, run->names);
    expect_number(run, line, run->wanted_count);
}

START_TEST(sets_are_combined_as_in_arrays)
{
    struct run *run = mem_zalloc(sizeof(*run));
    rng_init(&run->rng, test_seed());
    server_world_init(&run->world, SERVER_WORLD_PLAIN);
    for (unsigned set = 0; set < SETS; set++)
        fill(run, set);
    for (unsigned step = 0; step < STEPS; step++) {
        if (rng_chance(&run->rng, 10)) fill(run, (unsigned)rng_below(&run->rng, SETS));
        draw_keys(run);
        expect(run, "SINTER");
        expect(run, "SUNION");
        expect(run, "SDIFF");
        store_check(run->world.world.store);
    }
    server_world_drop(&run->world);
    mem_free(run);
}
END_TEST

START_TEST(a_result_may_be_stored_over_its_own_operands)
{
    struct server_world *world = mem_zalloc(sizeof(*world));
    server_world_init(world, SERVER_WORLD_KEEPS);
    server_world_send(world, 0, "SADD a 1 2 3 x");
    server_world_send(world, 0, "SADD b 2 3 4");
    server_world_send(world, 0, "EXPIRE a 100");
    ck_assert(bytes_equal(server_world_send(world, 0, "SUNIONSTORE a a b"), LIT(":5\r\n")));
    ck_assert(bytes_equal(server_world_send(world, 0, "TTL a"), LIT(":-1\r\n")));
    ck_assert(bytes_equal(server_world_send(world, 0, "SINTERSTORE b a b"), LIT(":3\r\n")));
    ck_assert(bytes_equal(server_world_send(world, 0, "SDIFFSTORE a a b"), LIT(":2\r\n")));
    ck_assert(bytes_equal(server_world_send(world, 0, "SDIFFSTORE a a a"), LIT(":0\r\n")));
    ck_assert(bytes_equal(server_world_send(world, 0, "EXISTS a b"), LIT(":1\r\n")));
    struct store *copy = world_replay(&world->world);
    struct digest live = store_digest(world->world.store, 0), replayed = store_digest(copy, 0);
    ck_assert(live.high == replayed.high && live.low == replayed.low);
    store_free(copy);
    server_world_drop(world);
    mem_free(world);
}
END_TEST

Suite *test_suite(void)
{
    const TTest *const tests[] = {
        sets_are_combined_as_in_arrays,
        a_result_may_be_stored_over_its_own_operands,
        NULL,
    };
    return suite_of("set_algebra", tests);
}
