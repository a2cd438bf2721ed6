/* defrag: moving blocks keeps the data and frees memory. */
#include "store/sweep/defrag.h"

#include <stdio.h>

#include "store/mem/mem.h"
#include "store/sweep/expiry.h"
#include "store/txn/txn_dehydrator.h"
#include "tests/support/random_call.h"
#include "tests/support/suite.h"
#include "tests/support/world.h"

static struct world world;
static struct defrag defrag;
static struct rng rng;

static void begin(void)
{
    world_init(&world);
    defrag_init(&defrag, world.store);
}

static void end(void)
{
    mem_all_sparse(false);
    defrag_drop(&defrag);
    world_drop(&world);
}

static void run_and_check(size_t work)
{
    struct digest before = store_digest(world.store, world.now);
    size_t used = mem_used();
    if (!defrag.running) defrag_force(&defrag);
    defrag_run(&defrag, work);
    store_check(world.store);
    struct digest after = store_digest(world.store, world.now);
    ck_assert(before.high == after.high && before.low == after.low);
    if (defrag.value_cap == 0) ck_assert_uint_le(mem_used(), used);
}

static void random_program(uint64_t seed, int steps)
{
    rng_init(&rng, seed);
    begin();
    mem_all_sparse(true);
    for (int i = 0; i < steps; i++) {
        struct txn *txn = world_begin(&world);
        for (uint64_t calls = 1 + rng_below(&rng, 4); calls > 0; calls--)
            random_call(txn, &rng);
        world_commit(&world);
        world.now += rng_between(&rng, 0, 3);
        run_and_check(rng_below(&rng, 200));
        if (rng_chance(&rng, 30)) expiry_run(world.store, world.now, 3);
    }
    ck_assert_uint_gt(defrag.keys_moved, 0);
    expiry_run(world.store, world.now, SIZE_MAX);
    struct store *copy = world_replay(&world);
    struct digest live = store_digest(world.store, world.now);
    struct digest replayed = store_digest(copy, world.now);
    ck_assert_msg(live.high == replayed.high && live.low == replayed.low, "seed %llu differs",
                  (unsigned long long)seed);
    store_free(copy);
    end();
}

START_TEST(moving_all_blocks_does_not_change_data)
{
    uint64_t seed = test_seed();
    for (int i = 0; i < 20; i++)
        random_program(seed + (uint64_t)i, 300);
}
END_TEST

/* ---- large collections ----------------------------------------------------------------------- */

enum { LARGE = 3000 };

static struct bytes numbered(const char *prefix, unsigned number)
{
    static char to[32];
    return bytes_of(to, (size_t)snprintf(to, sizeof(to), "%s%u", prefix, number));
}

/* Every third has a deadline, some beyond what an agenda keeps in its slots. */
static msec deadline_for(unsigned i)
{
    if (i % 3 != 0) return NEVER;
    return i % 2 == 0 ? world.now + i + 1 : INSTANT_MAX - (msec)i;
}

static struct lifetime life_for(unsigned i)
{
    msec at = deadline_for(i);
    return at == NEVER ? LIFE(ADD) : (struct lifetime){ LIFE_SET, at };
}

static void put_one(struct txn *txn, unsigned i)
{
    struct entry *set = txn_find(txn, text("set"));
    if (set == NULL) set = txn_create(txn, text("set"), TYPE_SET);
    txn_set_add(txn, set, numbered("member", i), life_for(i));
    struct entry *hash = txn_find(txn, text("hash"));
    if (hash == NULL) hash = txn_create(txn, text("hash"), TYPE_HASH);
    txn_hash_put(txn, hash, numbered("field", i), text("value"),
                 &(struct hput){ EVENT_HSET, life_for(i) });
    struct entry *zset = txn_find(txn, text("zset"));
    if (zset == NULL) zset = txn_create(txn, text("zset"), TYPE_ZSET);
    double score = (double)(i * 7919 % LARGE / 2);
    txn_zset_put(txn, zset, numbered("member", i), &score,
                 &(struct zput){ .event = EVENT_ZADD, .life = life_for(i) });
    struct entry *list = txn_find(txn, text("list"));
    if (list == NULL) list = txn_create(txn, text("list"), TYPE_LIST);
    txn_list_push(txn, list, i % 2 == 0 ? LIST_HEAD : LIST_TAIL, numbered("an element ", i));
    struct entry *rede = txn_find(txn, text("rede"));
    if (rede == NULL) rede = txn_create(txn, text("rede"), TYPE_DEHYDRATOR);
    struct stage stage = { .at = world.now + i * 31 % 1000, .claimed = i % 5 == 0 };
    stage.deliveries = stage.claimed;
    txn_rede_push(txn, rede, numbered("id", i), text("payload"), &stage);
}

static void put_all(void)
{
    for (unsigned i = 0; i < LARGE; i++) {
        txn_begin(&world.txn, world.store, world.now, FROM_CLIENT);
        txn_call(&world.txn, 0);
        put_one(&world.txn, i);
        txn_commit(&world.txn);
    }
    char key[32];
    for (unsigned i = 0; i < LARGE; i++) {
        snprintf(key, sizeof(key), "key:%u", i);
        struct string_set how = { .at = deadline_for(i), .event = EVENT_SET };
        txn_begin(&world.txn, world.store, world.now, FROM_CLIENT);
        txn_call(&world.txn, 0);
        txn_string_set(&world.txn, text(key), text("a value of some length"), &how);
        txn_commit(&world.txn);
    }
}

START_TEST(large_collections_are_moved_in_small_steps)
{
    begin();
    put_all();
    mem_all_sparse(true);
    size_t steps = 0;
    struct digest before = store_digest(world.store, world.now);
    defrag_force(&defrag);
    uint64_t moved = 0, most = 0;
    while (defrag_run(&defrag, 100) && !defrag.trimming && steps < 100000) {
        if (defrag.relocation.moved - moved > most) most = defrag.relocation.moved - moved;
        moved = defrag.relocation.moved;
        if (steps++ % 64 == 0) store_check(world.store);
    }
    store_check(world.store);
    struct digest after = store_digest(world.store, world.now);
    ck_assert(before.high == after.high && before.low == after.low);
    ck_assert_uint_gt(steps, 6 * LARGE / 100);
    ck_assert_uint_lt(most, 600);
    end();
}
END_TEST

START_TEST(a_forced_run_starts_again_at_the_first_key)
{
    begin();
    put_all();
    mem_all_sparse(true);
    defrag_force(&defrag);
    while (defrag.value_count == 0)
        ck_assert(defrag_run(&defrag, 10));
    defrag_force(&defrag);
    ck_assert_uint_eq(defrag.value_count, 0);
    defrag.trimming = true;
    defrag_force(&defrag);
    uint64_t moved = defrag.relocation.moved;
    ck_assert(defrag_run(&defrag, 100));
    ck_assert_uint_gt(defrag.relocation.moved, moved);
    store_check(world.store);
    end();
}
END_TEST

/* ---- memory ---------------------------------------------------------------------------------- */

enum { MANY = 60000, UNUSED_MAX = 6 << 20 };

static void put_many(void)
{
    char key[32];
    txn_begin(&world.txn, world.store, world.now, FROM_CLIENT);
    txn_call(&world.txn, 0);
    for (unsigned i = 0; i < MANY; i++) {
        struct string_set how = { .at = deadline_for(i), .event = EVENT_SET };
        snprintf(key, sizeof(key), "key:%u", i);
        txn_string_set(&world.txn, text(key), text("a value that is in a block of its own"), &how);
        put_one(&world.txn, i);
    }
    txn_commit(&world.txn);
}

static void remove_one(struct txn *txn, unsigned i)
{
    char key[32];
    snprintf(key, sizeof(key), "key:%u", i);
    txn_key_drop(txn, txn_find(txn, text(key)), EVENT_DEL);
    txn_set_remove(txn, txn_find(txn, text("set")), numbered("member", i), EVENT_SREM);
    txn_hash_remove(txn, txn_find(txn, text("hash")), numbered("field", i));
    txn_zset_remove(txn, txn_find(txn, text("zset")), numbered("member", i));
    struct entry *rede = txn_find(txn, text("rede"));
    txn_rede_remove(txn, rede, dehydrator_find(rede->object.dehydrator, numbered("id", i)),
                    EVENT_REDE_PULL);
}

static void remove_half(void)
{
    txn_begin(&world.txn, world.store, world.now, FROM_CLIENT);
    txn_call(&world.txn, 0);
    for (unsigned i = 0; i < MANY; i++)
        if (rng_chance(&rng, 50)) remove_one(&world.txn, i);
    txn_commit(&world.txn);
}

START_TEST(memory_is_freed_after_random_deletes)
{
    begin();
    rng_init(&rng, test_seed());
    store_listen(world.store, 0,
                 NULL); /* effects that the world keeps would count as used memory */
    put_many();
    remove_half();
    if (mem_pool_waste() > 0) { /* 0: there is no pool */
        ck_assert_uint_gt(mem_pool_waste(), 10 << 20);
        defrag_begin(&defrag); /* the first call only sees that the data grew */
        ck_assert(defrag_begin(&defrag));
        size_t steps = 0;
        while (defrag_run(&defrag, 1000))
            ck_assert_uint_lt(steps++, 100000);
        ck_assert_uint_lt(mem_pool_waste(), UNUSED_MAX);
        ck_assert(!defrag_begin(&defrag)); /* too little is unused now */
    }
    store_check(world.store);
    end();
}
END_TEST

Suite *test_suite(void)
{
    const TTest *const tests[] = {
        moving_all_blocks_does_not_change_data,
        large_collections_are_moved_in_small_steps,
        a_forced_run_starts_again_at_the_first_key,
        memory_is_freed_after_random_deletes,
        NULL,
    };
    return suite_of("defrag", tests);
}
