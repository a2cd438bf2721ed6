/* fair: whose turn it is among the dehydrators of a prefix. */
#include "store/fair.h"

#include <stdio.h>

#include "store/delivery.h"
#include "store/txn/txn_dehydrator.h"
#include "tests/support/rng.h"
#include "tests/support/suite.h"
#include "tests/support/world.h"

static struct world world;

static void push(const char *key, const char *id, msec at)
{
    struct txn *txn = world_begin(&world);
    struct entry *entry = txn_find(txn, text(key));
    if (entry == NULL) entry = txn_create(txn, text(key), TYPE_DEHYDRATOR);
    txn_rede_push(txn, entry, text(id), text("p"), &(struct stage){ .at = at });
    world_commit(&world);
}

/* Keys k0, k1, ... with an element each, in one transaction: a commit checks the whole store. */
static void push_keys(int count, msec at)
{
    char key[32];
    struct txn *txn = world_begin(&world);
    for (int i = 0; i < count; i++) {
        snprintf(key, sizeof(key), "k%d", i);
        struct entry *entry = txn_create(txn, text(key), TYPE_DEHYDRATOR);
        txn_rede_push(txn, entry, text("1"), text("p"), &(struct stage){ .at = at });
    }
    world_commit(&world);
}

static void drop(const char *key)
{
    struct txn *txn = world_begin(&world);
    struct entry *entry = txn_find(txn, text(key));
    if (entry != NULL) txn_key_drop(txn, entry, EVENT_DEL);
    world_commit(&world);
}

static struct fair_index *use(const char *prefix)
{
    struct fair_index *index = fair_use(&world.store->fair, 0, text(prefix), world.now);
    fair_build(index, world.now, SIZE_MAX);
    return index;
}

/* Takes up to `most` elements in turn: "a.1 b.1 ". Valid until the next call. */
static const char *take(const char *prefix, int most)
{
    static char taken[1000];
    size_t len = 0;
    taken[0] = '\0';
    for (; most > 0; most--) {
        struct bytes key;
        struct txn *txn = world_begin(&world);
        struct fair_index *index = use(prefix);
        if (fair_next(index, world.now, &key)) {
            struct entry *entry = txn_find(txn, key);
            struct element *element = dehydrator_first(entry->object.dehydrator);
            struct bytes id = element_id(element);
            len += (size_t)snprintf(taken + len, sizeof(taken) - len, "%.*s.%.*s ", (int)key.len,
                                    key.data, (int)id.len, id.data);
            txn_rede_remove(txn, entry, element, EVENT_REDE_POLL);
            fair_turned(index, world.now);
        }
        world_commit(&world);
    }
    return taken;
}

START_TEST(keys_take_turns)
{
    world_init(&world);
    push("a", "1", 0);
    push("a", "2", 0);
    push("a", "3", 0);
    push("b", "1", 0);
    use("");
    push("c", "1", 0);
    push("c", "2", 0);
    const char *taken = take("", 9);
    ck_assert_msg(strcmp(taken, "a.1 b.1 c.1 a.2 c.2 a.3 ") == 0 ||
                      strcmp(taken, "b.1 a.1 c.1 a.2 c.2 a.3 ") == 0,
                  "%s", taken);
    world_drop(&world);
}
END_TEST

START_TEST(a_key_joins_at_its_instant)
{
    world_init(&world);
    use("");
    push("b", "1", world.now + 5);
    ck_assert_int_eq(fair_next_at(use(""), world.now), world.now + 5);
    push("a", "1", world.now);
    push("a", "2", world.now);
    ck_assert_int_eq(fair_next_at(use(""), world.now), world.now);
    world.now += 4;
    ck_assert_str_eq(take("", 1), "a.1 ");
    world.now++;
    push("c", "1", world.now);
    ck_assert_str_eq(take("", 9), "a.2 b.1 c.1 ");
    world_drop(&world);
}
END_TEST

START_TEST(an_index_follows_its_prefix_only)
{
    world_init(&world);
    use("a:");
    push("a:1", "1", 0);
    push("a", "1", 0);
    push("b:1", "1", 0);
    ck_assert_str_eq(take("a:", 9), "a:1.1 ");
    world_drop(&world);
}
END_TEST

START_TEST(a_scan_in_slices_finds_all_keys)
{
    enum { KEYS = 5000 };
    char key[32];
    world_init(&world);
    push_keys(KEYS, 0);
    struct fair_index *index = fair_use(&world.store->fair, 0, text("k"), world.now);
    ck_assert_int_eq(fair_build(index, world.now, 10), FAIR_SCANNING);
    int slices = 0, turns = 0;
    struct bytes next;
    while (fair_run(&world.store->fair, world.now, 50)) {
        snprintf(key, sizeof(key), "k%d", slices++);
        drop(key);
        snprintf(key, sizeof(key), "k-new%d", slices);
        push(key, "1", 0);
    }
    ck_assert_int_gt(slices, 3);
    ck_assert_int_eq(fair_build(index, world.now, 0), FAIR_COMPLETE);
    world_begin(&world);
    for (; fair_next(index, world.now, &next); turns++) {
        if (turns == KEYS) break;
        fair_turned(index, world.now);
    }
    fair_turned(index, world.now);
    world_commit(&world);
    world_drop(&world);
}
END_TEST

START_TEST(an_unused_index_is_dropped)
{
    world_init(&world);
    push("a", "1", 0);
    use("");
    world.now += FAIR_KEEP - 1;
    fair_run(&world.store->fair, world.now, 10);
    ck_assert_uint_eq(world.store->fair.count, 1);
    world.now++;
    fair_run(&world.store->fair, world.now, 10);
    ck_assert_uint_eq(world.store->fair.count, 0);
    ck_assert(!fair_run(&world.store->fair, world.now, 10));

    struct txn *txn = world_begin(&world);
    txn_policy_set(txn, text("*"), &(struct policy){ .fair = true });
    world_commit(&world);
    use("");
    use("a");
    world.now += FAIR_KEEP;
    fair_run(&world.store->fair, world.now, 10);
    ck_assert_uint_eq(world.store->fair.count, 1);
    world_drop(&world);
}
END_TEST

START_TEST(few_indexes_are_kept_for_nobody)
{
    char prefix[32];
    world_init(&world);
    for (int i = 0; i < 3 * FAIR_MOST; i++) {
        snprintf(prefix, sizeof(prefix), "%d", i);
        use(prefix);
    }
    ck_assert_uint_eq(world.store->fair.count, FAIR_MOST);
    world_drop(&world);
}
END_TEST

START_TEST(a_flush_empties_an_index)
{
    world_init(&world);
    use("");
    push("a", "1", 0);
    push("b", "1", world.now + 1);
    struct txn *txn = world_begin(&world);
    txn_flush_all(txn);
    world_commit(&world);
    ck_assert_str_eq(take("", 9), "");
    push("c", "1", 0);
    ck_assert_str_eq(take("", 9), "c.1 ");
    while (fair_run(&world.store->fair, world.now, 1))
        continue;
    world_drop(&world);
}
END_TEST

static void set_fair(enum origin origin, const char *name)
{
    struct txn *txn = world_begin(&world);
    txn->origin = origin;
    txn_policy_set(txn, text(name), &(struct policy){ .fair = true });
    world_commit(&world);
}

START_TEST(a_policy_builds_its_index_between_calls)
{
    world_init(&world);
    push_keys(3000, world.now + 1);
    set_fair(FROM_CLIENT, "k*");
    set_fair(FROM_CLIENT, "k1");
    ck_assert_uint_eq(world.store->fair.count, 1);
    while (fair_run(&world.store->fair, world.now, 10))
        continue;
    struct fair_index *index = fair_use(&world.store->fair, 0, text("k"), world.now);
    ck_assert_int_eq(fair_build(index, world.now, 0), FAIR_COMPLETE);

    set_fair(FROM_REPLAY, "k2*");
    ck_assert_uint_eq(world.store->fair.count, 1);
    fair_keep_all(&world.store->fair, world.now);
    ck_assert_uint_eq(world.store->fair.count, 2);
    world_drop(&world);
}
END_TEST

/* Otherwise a client that keeps setting policies would delay all others. */
START_TEST(a_scan_ends_while_policies_change)
{
    enum { KEYS = 3000, SLICES = 2000 };
    world_init(&world);
    push_keys(KEYS, world.now + 1);
    struct fair_index *index = fair_use(&world.store->fair, 0, text("k"), world.now);
    unsigned most = 1;
    int slices = 0;
    while (fair_build(index, world.now, 1) < FAIR_CHECKING && slices++ < SLICES) {
        struct txn *txn = world_begin(&world);
        txn_policy_set(txn, text("k*"), &(struct policy){ .max_claimed = most++ });
        world_commit(&world);
    }
    ck_assert_int_lt(slices, SLICES);
    ck_assert_int_eq(fair_build(index, world.now, 0), FAIR_CHECKING);
    ck_assert_int_eq(fair_build(index, world.now, SIZE_MAX), FAIR_COMPLETE);
    struct txn *txn = world_begin(&world);
    txn_policy_set(txn, text("elsewhere*"), &(struct policy){ .max_claimed = 1 });
    txn_policy_set(txn, text("k1"), &(struct policy){ .max_claimed = 1 });
    world_commit(&world);
    ck_assert_int_eq(fair_build(index, world.now, 0), FAIR_COMPLETE);
    world_drop(&world);
}
END_TEST

START_TEST(a_survey_needs_no_nodes)
{
    struct fair_figures figures;
    world_init(&world);
    for (char key[] = "a"; key[0] <= 'z'; key[0]++)
        push(key, "1", 0);
    struct fair_index *index = fair_use(&world.store->fair, 0, text(""), world.now);
    size_t before = fair_bytes(&world.store->fair);
    ck_assert(fair_survey(index, false, world.now, SIZE_MAX, &figures));
    ck_assert_uint_eq(figures.keys, 26);
    ck_assert(!fair_run(&world.store->fair, world.now, SIZE_MAX));
    push("new", "1", 0);
    ck_assert_uint_eq(fair_bytes(&world.store->fair), before);
    ck_assert_str_eq(take("n", 1), "new.1 ");
    world_drop(&world);
}
END_TEST

START_TEST(prefixes_are_names_with_a_star_at_the_end)
{
    ck_assert(fair_prefix_ok(text("*")));
    ck_assert(fair_prefix_ok(text("a*")));
    ck_assert(!fair_prefix_ok(text("")));
    ck_assert(!fair_prefix_ok(text("a")));
    ck_assert(!fair_prefix_ok(text("a*b")));
    ck_assert(!fair_prefix_ok(text("a**")));
}
END_TEST

static void count_done(void *ctx, unsigned db, struct bytes prefix)
{
    ck_assert_uint_eq(db, 0);
    ck_assert_uint_eq(prefix.len, 0);
    ++*(unsigned *)ctx;
}

START_TEST(the_end_of_a_scan_is_told_whoever_ends_it)
{
    unsigned done = 0;
    struct fair_figures figures;
    world_init(&world);
    world.store->fair.hooks = (struct fair_hooks){ .done = count_done, .ctx = &done };
    push_keys(100, 0);
    struct fair_index *index = fair_use(&world.store->fair, 0, text(""), world.now);
    ck_assert_int_eq(fair_build(index, world.now, 1), FAIR_SCANNING);
    ck_assert_uint_eq(done, 0);
    ck_assert_int_eq(fair_build(index, world.now, SIZE_MAX), FAIR_COMPLETE);
    ck_assert_uint_eq(done, 1);
    ck_assert(!fair_survey(index, false, world.now, 1, &figures));
    ck_assert(fair_survey(index, false, world.now, SIZE_MAX, &figures));
    ck_assert_uint_eq(figures.keys, 100);
    ck_assert_uint_eq(done, 2);

    ck_assert(!fair_survey(index, false, world.now, 1, &figures));
    struct txn *txn = world_begin(&world);
    txn_flush(txn, 0);
    world_commit(&world);
    ck_assert_uint_eq(done, 3);
    index = fair_use(&world.store->fair, 0, text(""), world.now);
    ck_assert(fair_survey(index, true, world.now, SIZE_MAX, &figures));
    ck_assert_uint_eq(figures.keys, 0);
    ck_assert_int_eq(figures.oldest, NEVER);
    world.store->fair.hooks = (struct fair_hooks){ 0 };
    world_drop(&world);
}
END_TEST

enum { KEYS = 30 };

/* Takes one element. `waited` counts, for each key, the turns for which it has been claimable. */
static void take_one(unsigned waited[KEYS])
{
    bool due[KEYS];
    for (unsigned i = 0; i < KEYS; i++) {
        char one[32];
        snprintf(one, sizeof(one), "k%u", i);
        struct entry *entry = keyspace_find(&world.store->databases[0], text(one));
        due[i] = delivery_count(&world.store->policies, entry, world.now, 1, true) > 0;
        if (!due[i]) waited[i] = 0;
        waited[i] += due[i];
        ck_assert_uint_le(waited[i], KEYS);
    }
    const char *taken = take("k", 1);
    unsigned claimable = 0;
    for (unsigned i = 0; i < KEYS; i++)
        claimable += due[i];
    ck_assert_msg((taken[0] != '\0') == (claimable > 0), "%u claimable, took '%s'", claimable,
                  taken);
    for (unsigned i = 0; i < KEYS; i++) {
        char start[32];
        size_t len = (size_t)snprintf(start, sizeof(start), "k%u.", i);
        if (strncmp(taken, start, len) == 0) waited[i] = 0;
    }
}

/* Each claimable key is served once in each round, whatever happens to others. */
START_TEST(random_changes_keep_the_rounds)
{
    enum { STEPS = 4000 };
    struct rng rng;
    rng_init(&rng, test_seed());
    world_init(&world);
    use("k");
    unsigned waited[KEYS] = { 0 };
    for (int step = 0; step < STEPS; step++) {
        char key[32], id[32];
        unsigned number = (unsigned)rng_below(&rng, KEYS);
        snprintf(key, sizeof(key), "%c%u", rng_below(&rng, 10) == 0 ? 'x' : 'k', number);
        snprintf(id, sizeof(id), "%d", step);
        switch (rng_below(&rng, 8)) {
        case 0:
        case 1: push(key, id, world.now + (msec)rng_below(&rng, 20)); break;
        case 2: world.now += (msec)rng_below(&rng, 5); break;
        case 3: {
            struct txn *txn = world_begin(&world);
            struct entry *entry = txn_find(txn, text(key));
            if (entry != NULL && entry->object.type == TYPE_DEHYDRATOR)
                txn_rede_pause(txn, entry, rng_below(&rng, 2) == 0 ? 0 : world.now + 7);
            world_commit(&world);
            break;
        }
        case 4:
            if (rng_below(&rng, 10) == 0) drop(key);
            break;
        case 5:
            if (rng_below(&rng, 50) == 0) {
                struct txn *txn = world_begin(&world);
                txn_flush(txn, 0);
                world_commit(&world);
            } else {
                fair_run(&world.store->fair, world.now, 3);
            }
            break;
        default: take_one(waited);
        }
    }
    world_drop(&world);
}
END_TEST

Suite *test_suite(void)
{
    const TTest *const tests[] = {
        keys_take_turns,
        a_key_joins_at_its_instant,
        an_index_follows_its_prefix_only,
        a_scan_in_slices_finds_all_keys,
        an_unused_index_is_dropped,
        few_indexes_are_kept_for_nobody,
        a_flush_empties_an_index,
        a_policy_builds_its_index_between_calls,
        a_scan_ends_while_policies_change,
        a_survey_needs_no_nodes,
        prefixes_are_names_with_a_star_at_the_end,
        the_end_of_a_scan_is_told_whoever_ends_it,
        random_changes_keep_the_rounds,
        NULL,
    };
    return suite_of("fair", tests);
}
