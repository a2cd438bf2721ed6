/* policy_world: a world with policies, and commands on its keys, for the tests of txn_policy. */
#pragma once

#include <stdio.h>

#include "tests/support/suite.h"
#include "tests/support/world.h"

static struct world world;

static inline void setup(void)
{
    world_init(&world);
}

/* Ends a test: a replay of the effects must give the same data. */
static inline void done(void)
{
    struct store *copy = world_replay(&world);
    struct digest live = store_digest(world.store, world.now);
    struct digest replayed = store_digest(copy, world.now);
    ck_assert_uint_eq(live.high, replayed.high);
    ck_assert_uint_eq(live.low, replayed.low);
    store_free(copy);
    world_drop(&world);
}

/* Sets a policy. It must outlive the world, which keeps effects that point to it. */
static inline void rule(const char *name, const struct policy *policy)
{
    txn_policy_set(world_begin(&world), text(name), policy);
    world_commit(&world);
}

#define RULE(name, ...)                                                                            \
    do {                                                                                           \
        static const struct policy policy_ = { __VA_ARGS__ };                                      \
        rule(name, &policy_);                                                                      \
    } while (0)

static inline struct entry *at_key(const char *key)
{
    return keyspace_find(&world.store->databases[0], text(key));
}

static inline msec deadline_in(const struct keyspace *ks, const char *key)
{
    const struct entry *entry = keyspace_find(ks, text(key));
    ck_assert_ptr_nonnull(entry);
    return entry_expires_at(ks, entry);
}

static inline msec deadline(const char *key)
{
    return deadline_in(&world.store->databases[0], key);
}

static inline const char *events(void)
{
    const char *line = world_events(&world);
    world_forget(&world);
    return line;
}

static inline void read_key(const char *key)
{
    txn_find_counted(world_begin(&world), text(key));
    world_commit(&world);
}

static inline void expire(const char *key, msec at)
{
    struct txn *txn = world_begin(&world);
    txn_key_expire(txn, txn_find(txn, text(key)), at);
    world_commit(&world);
}

static inline void persist(const char *key)
{
    struct txn *txn = world_begin(&world);
    txn_key_persist(txn, txn_find(txn, text(key)));
    world_commit(&world);
}

static inline void append(const char *key)
{
    struct txn *txn = world_begin(&world);
    txn_string_append(txn, txn_find(txn, text(key)), text("x"));
    world_commit(&world);
}

static inline void set_keep_ttl(const char *key)
{
    struct string_set how = { .keep_ttl = true, .event = EVENT_INCRBY };
    txn_string_set(world_begin(&world), text(key), text("1"), &how);
    world_commit(&world);
}

static inline void zadd_range(const char *key, int from, int to)
{
    struct txn *txn = world_begin(&world);
    struct entry *entry = txn_find(txn, text(key));
    if (entry == NULL) entry = txn_create(txn, text(key), TYPE_ZSET);
    struct zput how = { .event = EVENT_ZADD, .life = LIFE(ADD) };
    for (int i = from; i < to; i++) {
        char member[16];
        snprintf(member, sizeof(member), "m%d", i);
        double score = i;
        txn_zset_put(txn, entry, text(member), &score, &how);
    }
    world_commit(&world);
}

static inline msec member_at(const char *key, const char *member)
{
    msec at;
    ck_assert(object_member_deadline(&at_key(key)->object, text(member), &at));
    return at;
}
