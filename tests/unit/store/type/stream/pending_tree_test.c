/* pending_tree: deep trees compared with a plain array, in which a record's index tells its ID. */
#include "store/type/stream/pending_tree.h"

#include <string.h>

#include "store/mem/mem.h"
#include "tests/support/rng.h"
#include "tests/support/suite.h"

enum { COUNT = 40000, CONSUMERS = 200, DEEP = 3 };

struct model {
    struct rng rng;
    struct pending_tree tree;
    struct pending_record records[COUNT];
    bool in[COUNT];
    size_t count;
};

static struct model model;

static void no_visit(void *ctx, const struct pending_record *record)
{
    (void)ctx;
    (void)record;
}

static struct stream_id id_of(size_t i)
{
    return (struct stream_id){ 1000 + i / 5, i % 5 * 7 };
}

static size_t index_of(struct stream_id id)
{
    return (id.ms - 1000) * 5 + id.seq / 7;
}

static void model_begin(void)
{
    memset(&model, 0, sizeof(model));
    rng_init(&model.rng, test_seed());
    pending_tree_init(&model.tree);
}

static void model_end(void)
{
    pending_tree_drop(&model.tree);
    ck_assert_uint_eq(mem_used(), 0);
}

static void put(size_t i)
{
    struct pending_record old;
    struct pending_record record = { id_of(i), (msec)rng_below(&model.rng, COUNT), 1,
                                     (uint32_t)rng_below(&model.rng, CONSUMERS) };
    bool replaces = pending_tree_put(&model.tree, &record, &old);
    ck_assert_int_eq(replaces, model.in[i]);
    if (replaces) ck_assert_int_eq(old.at, model.records[i].at);
    model.records[i] = record;
    model.count += !model.in[i];
    model.in[i] = true;
}

static void take(size_t i)
{
    struct pending_record removed;
    bool found = pending_tree_remove(&model.tree, id_of(i), &removed);
    ck_assert_int_eq(found, model.in[i]);
    if (found) ck_assert_int_eq(removed.at, model.records[i].at);
    model.count -= model.in[i];
    model.in[i] = false;
}

static bool passes(size_t i, const struct pending_query *query)
{
    const struct pending_record *record = &model.records[i];
    if (!model.in[i] || stream_id_before(query->to, record->id)) return false;
    if (query->consumer != 0 && record->consumer != query->consumer) return false;
    return !query->by_time || record->at <= query->until[pending_kind(record)];
}

static void assert_next(const struct pending_query *query)
{
    struct pending_record found;
    size_t i = index_of(query->from);
    while (i < COUNT && !passes(i, query))
        i++;
    ck_assert_int_eq(pending_tree_next(&model.tree, query, &found), i < COUNT);
    if (i < COUNT) ck_assert_uint_eq(index_of(found.id), i);
}

static void assert_same(void)
{
    struct pending_record found;
    size_t rank = 0;
    pending_tree_check(&model.tree, no_visit, NULL);
    ck_assert_uint_eq(model.tree.count, model.count);
    ck_assert_uint_eq(pending_tree_bytes(&model.tree), mem_used());
    for (size_t i = 0; i < COUNT; i++) {
        ck_assert_int_eq(pending_tree_find(&model.tree, id_of(i), &found), model.in[i]);
        if (!model.in[i]) continue;
        ck_assert_int_eq(found.at, model.records[i].at);
        ck_assert(pending_tree_at(&model.tree, rank++, &found));
        ck_assert_uint_eq(index_of(found.id), i);
    }
    ck_assert(!pending_tree_at(&model.tree, rank, &found));
    for (int i = 0; i < 50; i++) {
        msec until = (msec)rng_below(&model.rng, COUNT) / (rng_chance(&model.rng, 50) ? 1 : 500);
        assert_next(&(struct pending_query){
            .from = id_of(rng_below(&model.rng, COUNT)),
            .to = rng_chance(&model.rng, 50) ? STREAM_ID_MAX : id_of(rng_below(&model.rng, COUNT)),
            .consumer = (uint32_t)rng_below(&model.rng, CONSUMERS) * (uint32_t)(i % 2),
            .by_time = rng_chance(&model.rng, 50),
            .until = { until, until / 2 },
        });
    }
}

START_TEST(random_steps_in_deep_tree_match_model)
{
    model_begin();
    /* Percent of steps that put: grows to a deep tree, shrinks to few records, grows again. */
    static const unsigned puts[] = { 90, 90, 50, 10, 2, 50 };
    for (size_t phase = 0; phase < sizeof(puts) / sizeof(*puts); phase++) {
        for (int i = 0; i < 2 * COUNT; i++) {
            size_t at = rng_below(&model.rng, COUNT);
            if (rng_chance(&model.rng, puts[phase]))
                put(at);
            else
                take(at);
            if (i % 10000 == 0) pending_tree_check(&model.tree, no_visit, NULL);
        }
        assert_same();
    }
    model_end();
}
END_TEST

START_TEST(runs_of_ids_are_added_and_removed)
{
    model_begin();
    for (int round = 0; round < 300; round++) {
        size_t from = rng_below(&model.rng, COUNT), length = rng_below(&model.rng, COUNT / 10);
        bool adds = rng_chance(&model.rng, round < 100 ? 70 : 35),
             down = rng_chance(&model.rng, 50);
        for (size_t n = 0; n < length && from + length <= COUNT; n++) {
            size_t i = from + (down ? length - 1 - n : n);
            if (adds)
                put(i);
            else
                take(i);
        }
        pending_tree_check(&model.tree, no_visit, NULL);
        if (round % 30 == 0) assert_same();
    }
    model_end();
}
END_TEST

START_TEST(window_that_moves_stays_small)
{
    enum { WINDOW = 5000 };
    model_begin();
    size_t most = 0;
    for (size_t i = 0; i < COUNT; i++) {
        put(i);
        if (i >= WINDOW) take(i - WINDOW);
        if (pending_tree_bytes(&model.tree) > most) most = pending_tree_bytes(&model.tree);
        if (i % 1000 == 0) pending_tree_check(&model.tree, no_visit, NULL);
    }
    ck_assert_uint_le(most, WINDOW * 20);
    assert_same();
    for (size_t i = COUNT - WINDOW; i < COUNT; i++)
        take(i);
    ck_assert_uint_eq(mem_used(), 0);
}
END_TEST

static void fill(void)
{
    for (size_t i = 0; i < COUNT; i++)
        put(i);
    ck_assert_uint_ge(model.tree.nodes.height, DEEP - 1);
}

START_TEST(removed_records_leave_memory_in_proportion)
{
    model_begin();
    fill();
    for (size_t i = 0; i < COUNT; i++)
        if (i % 40 != 0) take(i);
    assert_same();
    ck_assert_uint_le(pending_tree_bytes(&model.tree), COUNT / 40 * 40);
    model_end();
}
END_TEST

START_TEST(forgotten_consumers_leave_the_others)
{
    model_begin();
    fill();
    for (uint32_t consumer = 1; consumer < CONSUMERS; consumer += 1 + consumer % 3) {
        struct pending_query query = { .to = STREAM_ID_MAX, .consumer = consumer };
        pending_tree_forget(&model.tree, &query);
        for (size_t i = 0; i < COUNT; i++) {
            if (!model.in[i] || model.records[i].consumer != consumer) continue;
            model.in[i] = false;
            model.count--;
        }
        pending_tree_check(&model.tree, no_visit, NULL);
        ck_assert_uint_eq(model.tree.count, model.count);
    }
    assert_same();
    model_end();
}
END_TEST

START_TEST(dropping_in_slices_respects_the_work)
{
    model_begin();
    fill();
    size_t slices = 0, work = 3;
    for (; !pending_tree_drop_some(&model.tree, &work); slices++) {
        ck_assert_uint_eq(work, 0);
        ck_assert_uint_eq(pending_tree_bytes(&model.tree), mem_used());
        work = 3;
    }
    ck_assert_uint_ge(slices, COUNT / PENDING_LEAF_MAX / 3);
    ck_assert_uint_eq(mem_used(), 0);
    pending_tree_check(&model.tree, no_visit, NULL);
}
END_TEST

START_TEST(relocation_moves_each_node_once)
{
    model_begin();
    fill();
    struct relocation relocation = { .left = SIZE_MAX };
    size_t rank = 0, leaves = 0;
    mem_all_sparse(true);
    do {
        rank = pending_tree_relocate(&model.tree, rank, &relocation);
        leaves++;
    } while (rank > 0);
    mem_all_sparse(false);
    ck_assert_uint_eq(leaves, (COUNT + PENDING_LEAF_MAX - 1) / PENDING_LEAF_MAX);
    ck_assert_uint_eq(relocation.kept, 0);
    ck_assert_uint_gt(relocation.moved, leaves + 1);
    ck_assert_uint_lt(relocation.moved, leaves + leaves / 8);
    assert_same();
    ck_assert_uint_eq(pending_tree_relocate(&model.tree, COUNT, &relocation), 0);
    model_end();
}
END_TEST

Suite *test_suite(void)
{
    const TTest *const tests[] = {
        random_steps_in_deep_tree_match_model, runs_of_ids_are_added_and_removed,
        window_that_moves_stays_small,         removed_records_leave_memory_in_proportion,
        forgotten_consumers_leave_the_others,  dropping_in_slices_respects_the_work,
        relocation_moves_each_node_once,       NULL,
    };
    return suite_of("pending_tree", tests);
}
