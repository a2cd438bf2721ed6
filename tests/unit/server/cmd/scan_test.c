/* The SCAN family: an iteration returns all elements that exist throughout and no deleted ones,
 * while the table grows and shrinks. */
#include <stdio.h>

#include "store/mem/mem.h"
#include "tests/support/items.h"
#include "tests/support/server_world.h"
#include "tests/support/suite.h"

enum { STAY = 600, NAMES = 5000, CHANGES = 2500, ITEMS = 4 * NAMES };
enum { ROUNDS = SANITIZED_STEP == 1 ? 4 : 1 };

/* The commands that scan and change a collection. The number in add and drop names the element. */
struct kind {
    const char *scan, *add, *drop;
    size_t width;  /* items of a reply for one element */
    size_t bounds; /* an upper bound of elements in one reply, above COUNT */
};

static const struct kind kinds[] = {
    { "SCAN %s COUNT %u", "SET m%1$u v", "DEL m%1$u", 1, 64 },
    { "SCAN %s COUNT %u", "SET m%1$u v", "PEXPIRE m%1$u 1", 1, 64 },
    { "SSCAN k %s COUNT %u", "SADD k m%1$u", "SREM k m%1$u", 1, 64 },
    { "HSCAN k %s COUNT %u", "HSET k m%1$u v%1$u", "HDEL k m%1$u", 2, 64 },
    { "ZSCAN k %s COUNT %u", "ZADD k %1$u m%1$u", "ZREM k m%1$u", 2, 64 },
};
enum { KINDS = sizeof(kinds) / sizeof(kinds[0]) };

struct run {
    struct server_world world;
    struct rng rng;
    const struct kind *kind;
    bool in[NAMES], seen[NAMES];
    char cursor[32];
    struct bytes items[ITEMS];
    size_t calls;
};

static void change(struct run *run, unsigned name, bool in)
{
    char line[64];
    snprintf(line, sizeof(line), in ? run->kind->add : run->kind->drop, name);
    struct bytes reply = server_world_send(&run->world, 0, line);
    ck_assert_msg(reply.data[0] != '-', "%s: %.*s", line, (int)reply.len, reply.data);
    run->in[name] = in;
}

static struct run *run_begin(const struct kind *kind, unsigned seed)
{
    struct run *run = mem_zalloc(sizeof(*run));
    rng_init(&run->rng, test_seed() + seed);
    server_world_init(&run->world, SERVER_WORLD_PLAIN);
    run->kind = kind;
    for (unsigned name = 0; name < STAY; name++)
        change(run, name, true);
    return run;
}

static void run_end(struct run *run)
{
    server_world_drop(&run->world);
    mem_free(run);
}

static void check_value(const struct run *run, struct bytes name, struct bytes value)
{
    char text[16];
    bool is_hash = run->kind->scan[0] == 'H';
    int len = snprintf(text, sizeof(text), is_hash ? "v%u" : "%u", item_number(name));
    ck_assert(bytes_equal(value, bytes_of(text, (size_t)len)));
}

/* Makes one call. Returns the number of elements in the reply. */
static size_t scan_once(struct run *run, unsigned count)
{
    char line[64];
    snprintf(line, sizeof(line), run->kind->scan, run->cursor, count);
    struct bytes reply = server_world_send(&run->world, 0, line);
    size_t items = items_of(reply, run->items, ITEMS), width = run->kind->width;
    ck_assert_uint_eq((items - 1) % width, 0);
    for (size_t i = 1; i < items; i += width) {
        unsigned name = item_number(run->items[i]);
        ck_assert_msg(run->in[name], "m%u is not there", name);
        run->seen[name] = true;
        if (width == 2) check_value(run, run->items[i], run->items[i + 1]);
    }
    ck_assert_uint_lt(run->items[0].len, sizeof(run->cursor));
    memcpy(run->cursor, run->items[0].data, run->items[0].len);
    run->cursor[run->items[0].len] = '\0';
    run->calls++;
    return (items - 1) / width;
}

/* Changes the size towards a random one, which changes now and then, so that the table grows and
 * shrinks much. */
static void change_some(struct run *run, unsigned *wanted)
{
    static const unsigned sizes[] = { 0, 0, 1000, 3000, NAMES, NAMES };
    if (rng_chance(&run->rng, 20)) *wanted = sizes[rng_below(&run->rng, 6)];
    for (unsigned i = 0; i < CHANGES; i++) {
        unsigned name = STAY + (unsigned)rng_below(&run->rng, NAMES - STAY);
        if (run->in[name] != (name < *wanted)) change(run, name, name < *wanted);
    }
    server_world_hold(&run->world, run->world.world.now + 2);
}

static void walk_while_it_changes(struct run *run)
{
    unsigned wanted = (unsigned)rng_below(&run->rng, NAMES);
    for (unsigned name = STAY; name < wanted; name++)
        if (!run->in[name]) change(run, name, true);
    memset(run->seen, 0, sizeof(run->seen));
    strcpy(run->cursor, "0");
    run->calls = 0;
    do {
        scan_once(run, 1 + (unsigned)rng_below(&run->rng, 60));
        change_some(run, &wanted);
        ck_assert_uint_lt(run->calls, 100 * NAMES);
    } while (strcmp(run->cursor, "0") != 0);
    for (unsigned name = 0; name < STAY; name++)
        ck_assert_msg(run->seen[name], "%s: m%u was not returned", run->kind->scan, name);
}

START_TEST(a_scan_returns_what_exists_throughout_and_no_deleted_element)
{
    for (unsigned k = 0; k < KINDS; k++) {
        struct run *run = run_begin(&kinds[k], k);
        for (unsigned round = 0; round < ROUNDS; round++)
            walk_while_it_changes(run);
        run_end(run);
    }
}
END_TEST

START_TEST(an_undisturbed_scan_returns_each_element_once)
{
    for (unsigned k = 0; k < KINDS; k++) {
        struct run *run = run_begin(&kinds[k], k);
        unsigned count = 1 + (unsigned)rng_below(&run->rng, 100);
        size_t given = 0;
        strcpy(run->cursor, "0");
        do {
            size_t some = scan_once(run, count);
            ck_assert_uint_le(some, count + run->kind->bounds);
            given += some;
        } while (strcmp(run->cursor, "0") != 0);
        ck_assert_uint_eq(given, STAY);
        run_end(run);
    }
}
END_TEST

START_TEST(a_shrunk_collection_is_still_scanned_in_several_calls)
{
    static const char *const empties[] = { "SREM k m%u", "HDEL k m%u", "ZREM k m%u" };
    for (unsigned k = 2; k < KINDS; k++) {
        struct run *run = run_begin(&kinds[k], k);
        char line[32];
        strcpy(run->cursor, "0");
        scan_once(run, 1);
        ck_assert_str_ne(run->cursor, "0");
        for (unsigned name = 10; name < STAY; name++) {
            snprintf(line, sizeof(line), empties[k - 2], name);
            server_world_send(&run->world, 0, line);
            run->in[name] = false;
        }
        while (strcmp(run->cursor, "0") != 0)
            scan_once(run, 1);
        for (unsigned name = 0; name < 10; name++)
            ck_assert(run->seen[name]);
        run_end(run);
    }
}
END_TEST

static void expect_whole(struct server_world *world, const char *scan, size_t elements)
{
    static const char *const options[] = { "0", "0 COUNT 1", "12345 COUNT 1", "7 MATCH *" };
    struct bytes items[1100];
    char line[64];
    for (size_t i = 0; i < sizeof(options) / sizeof(options[0]); i++) {
        snprintf(line, sizeof(line), "%s %s", scan, options[i]);
        size_t count = items_of(server_world_send(world, 0, line), items, 1100);
        ck_assert(bytes_equal(items[0], LIT("0")));
        ck_assert_uint_eq(count, 1 + elements);
    }
}

START_TEST(a_small_collection_is_returned_in_one_call)
{
    struct server_world *world = mem_zalloc(sizeof(*world));
    char line[64];
    server_world_init(world, SERVER_WORLD_PLAIN);
    for (int i = 0; i < 512; i++) {
        snprintf(line, sizeof(line), "SADD set %d", i * 7);
        server_world_send(world, 0, line);
        snprintf(line, sizeof(line), "HSET hash %d value", i);
        server_world_send(world, 0, line);
        if (i >= 128) continue;
        snprintf(line, sizeof(line), "ZADD zset %d %d", i, i);
        server_world_send(world, 0, line);
    }
    expect_whole(world, "SSCAN set", 512);
    expect_whole(world, "HSCAN hash", 2 * 512);
    expect_whole(world, "ZSCAN zset", 2 * 128);
    server_world_drop(world);
    mem_free(world);
}
END_TEST

Suite *test_suite(void)
{
    const TTest *const tests[] = {
        a_scan_returns_what_exists_throughout_and_no_deleted_element,
        an_undisturbed_scan_returns_each_element_once,
        a_shrunk_collection_is_still_scanned_in_several_calls,
        a_small_collection_is_returned_in_one_call,
        NULL,
    };
    return suite_of("scan", tests);
}
