/* stream_group: random programs compared with plain arrays, searches with all filters, freeing in
 * slices, relocation, memory. */
#include "store/type/stream/stream_group.h"

#include <stdio.h>
#include <stdlib.h>

#include "store/mem/mem.h"
#include "tests/support/rng.h"
#include "tests/support/suite.h"

enum { ENTRIES = 400, NAMES = 300 };

struct text {
    char data[64];
};

static struct bytes name_of(struct text *text, unsigned n)
{
    int len = snprintf(text->data, sizeof(text->data), "%0*u", (int)(n % 30) + 1, n);
    return bytes_of(text->data, (size_t)len);
}

/* An entry of the model; in the order of IDs. `consumer`: an index of its names, or -1. */
struct row {
    struct stream_id id;
    int consumer;
    msec at;
    uint64_t deliveries;
    bool in;
};

struct model {
    struct rng rng;
    struct stream_groups *groups;
    struct stream_group *group;
    struct stream_consumer *consumers[NAMES];
    unsigned names; /* how many of them are used */
    struct row rows[ENTRIES];
};

/* Trees by name count the sizes that they requested, the rest the sizes that the allocator gave. */
static void assert_bytes(const struct stream_groups *groups)
{
    size_t bytes = stream_groups_bytes(groups);
    ck_assert_uint_le(bytes, mem_used());
    ck_assert_uint_le(mem_used(), bytes + bytes / 16 + 128);
}

static int compare_rows(const void *a, const void *b)
{
    return stream_id_compare(((const struct row *)a)->id, ((const struct row *)b)->id);
}

/* Kinds of IDs: rising, far apart, with great sequence numbers, anywhere. */
static struct stream_id id_number(struct rng *rng, unsigned kind, unsigned i)
{
    const struct stream_id ids[] = {
        { UINT64_C(1700000000000) + i / 3, i % 3 },
        { i * (UINT64_MAX / ENTRIES), i % 2 * UINT64_MAX },
        { 5, UINT64_C(0xffffff00) + i },
        { rng_next(rng) >> rng_below(rng, 64), rng_next(rng) >> rng_below(rng, 64) },
        { i < ENTRIES / 2 ? 0 : UINT64_MAX, i < ENTRIES / 2 ? i : UINT64_MAX - i },
        { UINT64_C(1) << 40, i },
    };
    return ids[kind % (sizeof(ids) / sizeof(*ids))];
}

static void model_begin(struct model *model, unsigned kind, unsigned names)
{
    memset(model, 0, sizeof(*model));
    rng_init(&model->rng, test_seed() + kind);
    model->groups = stream_groups_new();
    model->group = group_add(model->groups, LIT("group"));
    model->names = names;
    for (unsigned i = 0; i < ENTRIES; i++)
        model->rows[i].id = id_number(&model->rng, kind, i);
    qsort(model->rows, ENTRIES, sizeof(struct row), compare_rows);
    for (struct row *row = model->rows + 1; row < model->rows + ENTRIES; row++) {
        if (stream_id_before(row[-1].id, row->id)) continue;
        row->id = row[-1].id;
        ck_assert(stream_id_up(&row->id));
    }
}

static void free_groups(struct stream_groups *groups)
{
    size_t work = SIZE_MAX;
    ck_assert(stream_groups_free_some(groups, &work));
}

static void model_end(struct model *model)
{
    free_groups(model->groups);
    ck_assert_uint_eq(mem_used(), 0);
}

static msec random_at(struct rng *rng)
{
    const msec ats[] = { rng_between(rng, 0, 50), rng_between(rng, 0, INSTANT_MAX),
                         INSTANT_MAX - (msec)rng_below(rng, 9), INSTANT_MIN,
                         UINT32_MAX + rng_between(rng, -3, 3) };
    return rng_chance(rng, 80) ? ats[0] : ats[rng_below(rng, sizeof(ats) / sizeof(*ats))];
}

static uint64_t random_deliveries(struct rng *rng)
{
    if (rng_chance(rng, 90)) return rng_below(rng, 4);
    return rng_chance(rng, 50) ? rng_next(rng) >> rng_below(rng, 64)
                               : UINT64_MAX - rng_below(rng, 2);
}

static struct stream_consumer *model_consumer(struct model *model, int n)
{
    struct text text;
    if (n < 0) return NULL;
    if (model->consumers[n] == NULL)
        model->consumers[n] = consumer_add(model->group, name_of(&text, (unsigned)n), n);
    return model->consumers[n];
}

static void put(struct model *model, struct row *row)
{
    row->consumer = rng_chance(&model->rng, 10) ? -1 : (int)rng_below(&model->rng, model->names);
    row->at = random_at(&model->rng);
    row->deliveries = random_deliveries(&model->rng);
    pending_put(model->group, &(struct pending){ row->id, model_consumer(model, row->consumer),
                                                 row->at, row->deliveries });
    row->in = true;
}

static void take(struct model *model, struct row *row)
{
    ck_assert_int_eq(pending_remove(model->group, row->id), row->in);
    row->in = false;
}

/* As XGROUP DELCONSUMER. */
static void remove_consumer(struct model *model, int n)
{
    if (model->consumers[n] == NULL) return;
    consumer_clear(model->group, model->consumers[n]);
    ck_assert_uint_eq(consumer_pending(model->consumers[n]), 0);
    stream_groups_check(model->groups);
    for (unsigned i = 0; i < ENTRIES; i++)
        if (model->rows[i].consumer == n) model->rows[i].in = false;
    consumer_remove(model->group, model->consumers[n]);
    model->consumers[n] = NULL;
}

static void assert_pending(const struct model *model, const struct row *row,
                           const struct pending *pending)
{
    ck_assert(stream_id_equal(pending->id, row->id));
    ck_assert_ptr_eq(pending->consumer, row->consumer < 0 ? NULL : model->consumers[row->consumer]);
    ck_assert_int_eq(pending->at, row->at);
    ck_assert_uint_eq(pending->deliveries, row->deliveries);
}

static bool passes(const struct model *model, const struct row *row,
                   const struct pending_filter *filter)
{
    if (!row->in || stream_id_before(row->id, filter->from) ||
        stream_id_before(filter->to, row->id))
        return false;
    if (filter->consumer != NULL &&
        (row->consumer < 0 || model->consumers[row->consumer] != filter->consumer))
        return false;
    return !filter->by_time ||
           row->at <= (row->consumer < 0 ? filter->until_released : filter->until);
}

/* All results of a search, one after the other. */
static void assert_search(const struct model *model, struct pending_filter filter)
{
    struct pending pending;
    for (unsigned i = 0; i < ENTRIES; i++) {
        if (!passes(model, &model->rows[i], &filter)) continue;
        ck_assert(pending_next(model->group, &filter, &pending));
        assert_pending(model, &model->rows[i], &pending);
        filter.from = pending.id;
        if (!stream_id_up(&filter.from)) return;
    }
    ck_assert(!pending_next(model->group, &filter, &pending));
}

static struct stream_id random_bound(struct model *model)
{
    struct stream_id id = model->rows[rng_below(&model->rng, ENTRIES)].id;
    if (rng_chance(&model->rng, 10))
        return rng_chance(&model->rng, 50) ? STREAM_ID_MIN : STREAM_ID_MAX;
    if (rng_chance(&model->rng, 30)) stream_id_up(&id);
    if (rng_chance(&model->rng, 30)) stream_id_down(&id);
    return id;
}

static void assert_random_search(struct model *model)
{
    struct pending_filter filter = {
        .from = random_bound(model),
        .to = rng_chance(&model->rng, 50) ? STREAM_ID_MAX : random_bound(model),
        .by_time = rng_chance(&model->rng, 50),
        .until = random_at(&model->rng),
        .until_released = random_at(&model->rng),
    };
    if (rng_chance(&model->rng, 50))
        filter.consumer = model->consumers[rng_below(&model->rng, model->names)];
    assert_search(model, filter);
}

static void assert_consumers(const struct model *model)
{
    size_t present = 0, pending[NAMES] = { 0 };
    struct text text;
    for (unsigned i = 0; i < ENTRIES; i++)
        if (model->rows[i].in && model->rows[i].consumer >= 0) pending[model->rows[i].consumer]++;
    for (unsigned n = 0; n < model->names; n++) {
        const struct stream_consumer *consumer = model->consumers[n];
        ck_assert_ptr_eq(consumer_find(model->group, name_of(&text, n)), consumer);
        if (consumer == NULL) continue;
        present++;
        ck_assert(bytes_equal(consumer_name(consumer), name_of(&text, n)));
        ck_assert_uint_eq(consumer_pending(consumer), pending[n]);
    }
    ck_assert_uint_eq(group_count_consumers(model->group), present);
    const struct stream_consumer *last = NULL, *next;
    for (; (next = consumer_next(model->group, last)) != NULL; last = next, present--)
        ck_assert(last == NULL || bytes_compare(consumer_name(last), consumer_name(next)) < 0);
    ck_assert_uint_eq(present, 0);
}

static void assert_totals(const struct model *model)
{
    size_t count = 0, released = 0;
    msec first_delivered = NEVER, first_released = NEVER;
    const struct row *first = NULL, *final = NULL;
    struct stream_id id;
    for (unsigned i = 0; i < ENTRIES; i++) {
        const struct row *row = &model->rows[i];
        struct pending pending;
        ck_assert_int_eq(pending_find(model->group, row->id, &pending), row->in);
        if (!row->in) continue;
        assert_pending(model, row, &pending);
        msec *earliest = row->consumer < 0 ? &first_released : &first_delivered;
        if (row->at < *earliest) *earliest = row->at;
        count++;
        released += row->consumer < 0;
        if (first == NULL) first = row;
        final = row;
    }
    ck_assert_uint_eq(group_count_pending(model->group), count);
    ck_assert_uint_eq(group_count_released(model->group), released);
    ck_assert_int_eq(group_first_delivered(model->group), first_delivered);
    ck_assert_int_eq(group_first_released(model->group), first_released);
    ck_assert_int_eq(pending_first(model->group, &id), first != NULL);
    if (first != NULL) ck_assert(stream_id_equal(id, first->id));
    ck_assert_int_eq(pending_final(model->group, &id), final != NULL);
    if (final != NULL) ck_assert(stream_id_equal(id, final->id));
}

static void assert_same(struct model *model)
{
    stream_groups_check(model->groups);
    assert_totals(model);
    assert_consumers(model);
    for (int i = 0; i < 5; i++)
        assert_random_search(model);
    assert_bytes(model->groups);
}

static struct row *random_row(struct model *model)
{
    return &model->rows[rng_below(&model->rng, ENTRIES)];
}

static void step(struct model *model, unsigned puts)
{
    if (rng_chance(&model->rng, 1))
        remove_consumer(model, (int)rng_below(&model->rng, model->names));
    else if (rng_chance(&model->rng, puts))
        put(model, random_row(model));
    else
        take(model, random_row(model));
}

START_TEST(random_programs_match_model)
{
    static struct model model;
    model_begin(&model, (unsigned)_i, _i % 2 == 0 ? 7 : NAMES);
    for (int i = 0; i < 3000; i++) {
        /* Rises, falls to nearly nothing, and rises again. */
        step(&model, i / 700 % 2 == 0 ? 85 : 15);
        stream_groups_check(model.groups);
        if (i % 10 == 0) assert_same(&model);
    }
    assert_same(&model);
    model_end(&model);
}
END_TEST

START_TEST(names_are_found_and_walked_in_order)
{
    struct stream_groups *groups = stream_groups_new(), *removed = stream_groups_new();
    struct text text;
    for (unsigned n = 0; n < NAMES; n++) {
        struct stream_group *group = group_add(groups, name_of(&text, n * 7 % NAMES));
        group_set_position(group, &(struct group_position){ { n, 1 }, GROUP_READ_UNKNOWN });
    }
    group_add(groups, bytes_of(NULL, 0));
    stream_groups_check(groups);
    ck_assert_uint_eq(stream_groups_count(groups), NAMES + 1);
    const struct stream_group *last = NULL, *next;
    for (; (next = group_next(groups, last)) != NULL; last = next)
        ck_assert(last == NULL || bytes_compare(group_name(last), group_name(next)) < 0);
    for (unsigned n = 0; n < NAMES; n++) {
        struct stream_group *group = group_find(groups, name_of(&text, n * 7 % NAMES));
        ck_assert_uint_eq(group_position(group).last.ms, n);
        ck_assert_int_eq(group_position(group).read, GROUP_READ_UNKNOWN);
        group_move(group, removed);
        ck_assert_ptr_null(group_find(groups, name_of(&text, n * 7 % NAMES)));
    }
    free_groups(removed);
    ck_assert_uint_eq(group_name(group_next(groups, NULL)).len, 0);
    stream_groups_check(groups);
    assert_bytes(groups);
    free_groups(groups);
    ck_assert_uint_eq(mem_used(), 0);
}
END_TEST

START_TEST(consumer_knows_when_it_was_seen)
{
    struct stream_groups *groups = stream_groups_new();
    struct stream_group *group = group_add(groups, LIT("g"));
    struct stream_consumer *consumer = consumer_add(group, LIT("c"), 5);
    ck_assert_int_eq(consumer_seen_at(consumer), 5);
    consumer_saw(consumer, 7);
    ck_assert_int_eq(consumer_seen_at(consumer), 7);
    free_groups(groups);
}
END_TEST

static void deliver(struct stream_group *group, struct stream_consumer *consumer, unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        pending_put(group,
                    &(struct pending){
                        { 1700000000000 + i / 8, i % 8 }, consumer, 1700000000000 + i / 16, 1 });
}

START_TEST(cleared_consumer_has_nothing_and_others_keep_theirs)
{
    enum { COUNT = 50000 };
    struct stream_groups *groups = stream_groups_new();
    struct stream_group *group = group_add(groups, LIT("g"));
    struct stream_consumer *gone = consumer_add(group, LIT("gone"), 0);
    struct stream_consumer *stays = consumer_add(group, LIT("stays"), 0);
    deliver(group, gone, COUNT);
    deliver(group, stays, COUNT / 2);
    for (unsigned i = 0; i < COUNT; i += 100)
        pending_put(group, &(struct pending){ { 1700000000000 + i / 8, i % 8 }, stays, 0, 1 });
    size_t kept = consumer_pending(stays);
    consumer_clear(group, gone);
    stream_groups_check(groups);
    ck_assert_uint_eq(consumer_pending(gone), 0);
    ck_assert_uint_eq(consumer_pending(stays), kept);
    ck_assert_uint_eq(group_count_pending(group), kept);
    consumer_clear(group, gone);
    consumer_remove(group, gone);
    consumer_clear(group, stays);
    ck_assert_uint_eq(group_count_pending(group), 0);
    ck_assert_int_eq(group_first_delivered(group), NEVER);
    deliver(group, stays, 3);
    stream_groups_check(groups);
    free_groups(groups);
    ck_assert_uint_eq(mem_used(), 0);
}
END_TEST

START_TEST(moved_group_takes_everything_along)
{
    struct stream_groups *from = stream_groups_new(), *to = stream_groups_new();
    struct stream_group *group = group_add(from, LIT("g"));
    group_add(from, LIT("other"));
    group_add(to, LIT("another"));
    deliver(group, consumer_add(group, LIT("c"), 0), 1000);
    group_move(group, to);
    stream_groups_check(from);
    stream_groups_check(to);
    ck_assert_ptr_null(group_find(from, LIT("g")));
    ck_assert_ptr_eq(group_find(to, LIT("g")), group);
    free_groups(from);
    ck_assert_uint_eq(consumer_pending(consumer_find(group, LIT("c"))), 1000);
    free_groups(to);
    ck_assert_uint_eq(mem_used(), 0);
}
END_TEST

START_TEST(number_of_removed_consumer_is_used_again)
{
    struct stream_groups *groups = stream_groups_new();
    struct stream_group *group = group_add(groups, LIT("g"));
    struct text text;
    size_t empty = stream_groups_bytes(groups);
    for (unsigned n = 0; n < 1000; n++)
        consumer_add(group, name_of(&text, n), 0);
    size_t bytes = stream_groups_bytes(groups);
    for (unsigned n = 1; n < 1000; n++)
        consumer_remove(group, consumer_find(group, name_of(&text, n)));
    for (unsigned n = 1; n < 1000; n++)
        deliver(group, consumer_add(group, name_of(&text, n), 0), 1);
    stream_groups_check(groups);
    ck_assert_uint_eq(consumer_pending(consumer_find(group, name_of(&text, 999))), 1);
    consumer_clear(group, consumer_find(group, name_of(&text, 999)));
    ck_assert_uint_eq(stream_groups_bytes(groups), bytes);
    for (unsigned n = 0; n < 1000; n++) {
        consumer_clear(group, consumer_find(group, name_of(&text, n)));
        consumer_remove(group, consumer_find(group, name_of(&text, n)));
    }
    ck_assert_uint_eq(stream_groups_bytes(groups), empty);
    stream_groups_check(groups);
    free_groups(groups);
}
END_TEST

START_TEST(pending_entry_takes_at_most_24_bytes_in_order)
{
    enum { COUNT = 200000 };
    struct stream_groups *groups = stream_groups_new();
    struct stream_group *group = group_add(groups, LIT("g"));
    deliver(group, consumer_add(group, LIT("c"), 0), COUNT);
    stream_groups_check(groups);
    assert_bytes(groups);
    ck_assert_uint_le(stream_groups_bytes(groups), COUNT * 24);
    for (unsigned i = 0; i < COUNT; i++) {
        ck_assert(pending_remove(group, (struct stream_id){ 1700000000000 + i / 8, i % 8 }));
        if (i % 1000 == 0) ck_assert_uint_le(stream_groups_bytes(groups), (COUNT - i) * 24 + 4096);
    }
    stream_groups_check(groups);
    ck_assert_uint_lt(stream_groups_bytes(groups), 1024);
    free_groups(groups);
}
END_TEST

START_TEST(freeing_in_slices_respects_the_work)
{
    struct stream_groups *groups = stream_groups_new();
    for (unsigned n = 0; n < 50; n++) {
        struct text text;
        struct stream_group *group = group_add(groups, name_of(&text, n));
        for (unsigned c = 0; c < 40; c++)
            deliver(group, consumer_add(group, name_of(&text, c), 0), n * 20);
    }
    size_t slices = 0, work = 10, used = mem_used();
    for (; !stream_groups_free_some(groups, &work); slices++) {
        ck_assert_uint_eq(work, 0);
        ck_assert_uint_le(used - mem_used(), 10 * 4096);
        ck_assert_uint_le(stream_groups_bytes(groups), mem_used());
        used = mem_used();
        work = 10;
    }
    ck_assert_uint_ge(slices, 50 * 41 / 10);
    ck_assert_uint_eq(mem_used(), 0);
}
END_TEST

/* Relocates in slices, and returns the number of blocks that moved. */
static uint64_t relocate_all(struct model *model, size_t slice)
{
    struct relocation relocation = { 0 };
    struct relocation_cursor cursor = { 0 };
    mem_all_sparse(true);
    do {
        relocation.left = slice;
        model->groups = stream_groups_relocate(model->groups, &cursor, &relocation);
    } while (cursor.at != 0);
    mem_all_sparse(false);
    ck_assert_uint_eq(cursor.phase, 0);
    ck_assert_uint_eq(relocation.kept, 0);
    model->group = group_find(model->groups, LIT("group"));
    for (unsigned n = 0; n < model->names; n++) {
        struct text text;
        const struct stream_consumer *old = model->consumers[n];
        model->consumers[n] = consumer_find(model->group, name_of(&text, n));
        ck_assert(old == NULL || model->consumers[n] != old);
    }
    return relocation.moved;
}

START_TEST(relocation_moves_every_block_and_changes_nothing)
{
    static struct model model;
    struct text text;
    model_begin(&model, (unsigned)_i, NAMES);
    struct row *rows = model.rows;
    for (unsigned n = 0; n < NAMES; n++) {
        struct stream_group *other = group_add(model.groups, name_of(&text, n));
        if (n % 3 == 0) consumer_add(other, name_of(&text, n), 0);
        if (n % 2 == 0) pending_put(other, &(struct pending){ rows[n].id, NULL, 1, 1 });
    }
    for (unsigned i = 0; i < ENTRIES; i++)
        put(&model, random_row(&model));
    assert_same(&model);
    uint64_t moved = relocate_all(&model, 1);
    ck_assert_uint_gt(moved, 2 * NAMES);
    assert_same(&model);
    ck_assert_uint_eq(relocate_all(&model, SIZE_MAX), moved);
    assert_same(&model);
    for (int i = 0; i < 300; i++)
        step(&model, 50);
    assert_same(&model);
    model_end(&model);
}
END_TEST

Suite *test_suite(void)
{
    Suite *suite = suite_create("stream_group");
    TCase *tcase = tcase_create("stream_group");
    const TTest *const loops[] = { random_programs_match_model,
                                   relocation_moves_every_block_and_changes_nothing };
    const TTest *const tests[] = {
        names_are_found_and_walked_in_order,
        consumer_knows_when_it_was_seen,
        cleared_consumer_has_nothing_and_others_keep_theirs,
        moved_group_takes_everything_along,
        number_of_removed_consumer_is_used_again,
        pending_entry_takes_at_most_24_bytes_in_order,
        freeing_in_slices_respects_the_work,
    };
    tcase_set_timeout(tcase, 120);
    for (size_t i = 0; i < sizeof(loops) / sizeof(*loops); i++)
        if (!suite_skips(loops[i]->name)) tcase_add_loop_test(tcase, loops[i], 0, 6);
    for (size_t i = 0; i < sizeof(tests) / sizeof(*tests); i++)
        if (!suite_skips(tests[i]->name)) tcase_add_test(tcase, tests[i]);
    suite_add_tcase(suite, tcase);
    return suite;
}
