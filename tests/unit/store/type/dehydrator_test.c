/* dehydrator: compared with a plain array of elements, sorted before each comparison. */
#include "store/type/dehydrator.h"

#include <stdio.h>
#include <stdlib.h>

#include "store/mem/mem.h"
#include "store/type/element.h"
#include "tests/support/rng.h"
#include "tests/support/suite.h"

enum { IDS = 300 };

struct text {
    char data[160];
};

static struct bytes id_of(struct text *text, int n)
{
    int len = snprintf(text->data, sizeof(text->data), "%0*d", n % 40 + 1, n);
    return bytes_of(text->data, (size_t)len);
}

static struct bytes payload_of(struct text *text, int v)
{
    if (v == 0) return bytes_of(NULL, 0);
    int len = snprintf(text->data, sizeof(text->data), "p%0*d", v % 6 * 20, v);
    return bytes_of(text->data, (size_t)len);
}

struct row {
    bool in;
    int id, payload;
    struct stage stage;
    int arrival;
};

static struct row model[IDS];
static struct row sorted[IDS];
static int arrivals;
static msec announced;

static int compare_rows(const void *left, const void *right)
{
    const struct row *a = left, *b = right;
    if (a->stage.at != b->stage.at) return a->stage.at < b->stage.at ? -1 : 1;
    return a->arrival - b->arrival;
}

static size_t sort_model(void)
{
    size_t count = 0;
    for (int n = 0; n < IDS; n++)
        if (model[n].in) sorted[count++] = model[n];
    qsort(sorted, count, sizeof(sorted[0]), compare_rows);
    return count;
}

/* Elements count with the sizes that the allocator gave, table and timelines with those
 * requested. */
static void assert_bytes(size_t bytes, size_t held)
{
    ck_assert_uint_le(bytes, held);
    ck_assert_uint_le(held, bytes + bytes / 16 + 128);
}

static void assert_row(const struct dehydrator *dehydrator, const struct row *row,
                       const struct element *element)
{
    struct text text;
    ck_assert_ptr_nonnull(element);
    ck_assert(bytes_equal(element_id(element), id_of(&text, row->id)));
    ck_assert(bytes_equal(element_payload(element), payload_of(&text, row->payload)));
    struct stage stage = dehydrator_stage(dehydrator, element);
    ck_assert_int_eq(stage.at, row->stage.at);
    ck_assert_uint_eq(stage.deliveries, row->stage.deliveries);
    ck_assert_int_eq(stage.claimed, row->stage.claimed);
}

static void assert_walk(const struct dehydrator *dehydrator, struct dehydrator_walk *walk,
                        size_t from, size_t count)
{
    msec at;
    for (size_t i = from; i < count; i++) {
        assert_row(dehydrator, &sorted[i], dehydrator_walk_next(walk, &at));
        ck_assert_int_eq(at, sorted[i].stage.at);
    }
    ck_assert_ptr_null(dehydrator_walk_next(walk, &at));
    dehydrator_walk_end(walk);
}

static void assert_same(const struct dehydrator *dehydrator)
{
    size_t count = sort_model();
    struct dehydrator_walk walk;
    ck_assert_uint_eq(dehydrator_count(dehydrator), count);
    ck_assert_int_eq(dehydrator_next(dehydrator), count > 0 ? sorted[0].stage.at : NEVER);
    if (count > 0)
        assert_row(dehydrator, &sorted[0], dehydrator_first(dehydrator));
    else
        ck_assert_ptr_null(dehydrator_first(dehydrator));
    dehydrator_walk_begin(&walk, dehydrator);
    assert_walk(dehydrator, &walk, 0, count);
}

/* Compares all results that depend on `now`. sorted[] must be up to date. */
static void assert_at(const struct dehydrator *dehydrator, size_t count, msec now)
{
    struct dehydrator_walk walk;
    size_t before = 0, due = 0, claimed = 0, deadlines = 0, later = 0;
    msec next_due = NEVER, next_after = NEVER, span = 40;
    for (size_t i = 0; i < count; i++) {
        const struct stage *stage = &sorted[i].stage;
        before += stage->at < now;
        due += stage_is_due(stage, now);
        claimed += stage_is_claimed(stage, now);
        deadlines += i == 0 || sorted[i - 1].stage.at != stage->at;
        if (stage->at > announced && next_due == NEVER) next_due = stage->at;
        if (stage->at > now && next_after == NEVER) next_after = stage->at;
        later += stage->at > now && stage->at <= now + span;
    }
    ck_assert_uint_eq(dehydrator_count_due(dehydrator, now), due);
    ck_assert_uint_eq(dehydrator_count_claimed(dehydrator, now), claimed);
    ck_assert_uint_eq(dehydrator_count_between(dehydrator, now, now + span), later);
    ck_assert_uint_eq(dehydrator_count_between(dehydrator, now, now), 0);
    ck_assert_int_eq(dehydrator_next_after(dehydrator, now), next_after);
    ck_assert_uint_eq(dehydrator_count_deadlines(dehydrator), deadlines);
    ck_assert_int_eq(dehydrator_next_due(dehydrator), next_due);
    dehydrator_walk_from(&walk, dehydrator, now);
    assert_walk(dehydrator, &walk, before, count);
}

static struct stage draw_stage(struct rng *rng)
{
    bool claimed = rng_chance(rng, 25);
    return (struct stage){
        .at = rng_between(rng, -20, 20),
        .deliveries = rng_chance(rng, 30) || claimed ? (uint32_t)rng_below(rng, 3) : 0,
        .claimed = claimed,
        .token = claimed && rng_chance(rng, 50) ? (int64_t)rng_below(rng, 1000) : 0,
    };
}

static void model_place(int n, const struct stage *stage)
{
    model[n].stage = *stage;
    model[n].arrival = arrivals++;
    if (stage->at <= announced) announced = stage->at - 1;
}

/* Steps the clock, and sets it back now and then. */
static void announce(struct rng *rng, struct dehydrator *dehydrator)
{
    msec now = rng_between(rng, -21, 21);
    if (rng_chance(rng, 30)) {
        ck_assert_int_eq(dehydrator_rewind(dehydrator, now), announced > now);
        if (announced > now) announced = now;
    } else {
        dehydrator_announce(dehydrator, now);
        if (now > announced) announced = now;
    }
}

static void push_or_move(struct rng *rng, struct dehydrator *dehydrator, int n)
{
    struct text id, payload;
    struct stage stage = draw_stage(rng);
    struct element *element = dehydrator_find(dehydrator, id_of(&id, n));
    if (element == NULL) {
        model[n] = (struct row){ .in = true, .id = n, .payload = (int)rng_below(rng, 40) };
        dehydrator_push(dehydrator, id_of(&id, n), payload_of(&payload, model[n].payload), &stage);
    } else {
        /* It goes after its equals, even at its old instant. */
        if (rng_chance(rng, 30)) stage.at = model[n].stage.at;
        element = dehydrator_move(dehydrator, element, &stage);
        ck_assert_ptr_eq(element, dehydrator_find(dehydrator, id_of(&id, n)));
    }
    model_place(n, &stage);
}

/* A step with one of the first `ids` ids. */
static void step(struct rng *rng, struct dehydrator *dehydrator, size_t ids, bool grow)
{
    struct text id, payload;
    int n = (int)rng_below(rng, ids), v = (int)rng_below(rng, 40);
    struct element *element = dehydrator_find(dehydrator, id_of(&id, n));
    ck_assert((element != NULL) == model[n].in);
    if (rng_chance(rng, 2)) {
        announce(rng, dehydrator);
    } else if (element == NULL || rng_chance(rng, 30)) {
        if (element != NULL || rng_chance(rng, grow ? 100 : 30)) push_or_move(rng, dehydrator, n);
    } else if (rng_chance(rng, grow ? 70 : 20)) {
        dehydrator_update(dehydrator, element, payload_of(&payload, v));
        model[n].payload = v;
    } else {
        dehydrator_remove(dehydrator, element);
        model[n].in = false;
    }
}

START_TEST(random_steps_match_sorted_array)
{
    struct rng rng;
    size_t base = mem_used();
    rng_init(&rng, test_seed());
    announced = INT64_MIN;
    struct dehydrator *dehydrator = dehydrator_new();
    for (int i = 0; i < 8000; i++) {
        step(&rng, dehydrator, IDS, i / 1000 % 2 == 0);
        dehydrator_check(dehydrator);
        assert_bytes(dehydrator_bytes(dehydrator), mem_used() - base);
        if (i % 20 != 0) continue;
        assert_same(dehydrator);
        assert_at(dehydrator, sort_model(), rng_between(&rng, -21, 21));
    }
    dehydrator_free(dehydrator);
    ck_assert_uint_eq(mem_used(), base);
}
END_TEST

/* Dehydrators that stay small, and some that outgrow the form for a few elements. */
START_TEST(few_elements_match_sorted_array)
{
    struct rng rng;
    size_t base = mem_used();
    rng_init(&rng, test_seed());
    for (int round = 0; round < 200; round++) {
        size_t ids = (size_t)rng_between(&rng, 1, ELEMENTS_FEW + 4);
        memset(model, 0, sizeof(model));
        announced = INT64_MIN;
        struct dehydrator *dehydrator = dehydrator_new();
        for (int i = 0; i < 100; i++) {
            step(&rng, dehydrator, ids, i / 25 % 2 == 0);
            dehydrator_check(dehydrator);
            /* As requested, and not as the allocator gave, are only tables and timelines. */
            size_t held = mem_used() - base;
            if (ids <= ELEMENTS_FEW)
                ck_assert_uint_eq(dehydrator_bytes(dehydrator), held);
            else
                assert_bytes(dehydrator_bytes(dehydrator), held);
            assert_same(dehydrator);
            assert_at(dehydrator, sort_model(), rng_between(&rng, -21, 21));
        }
        dehydrator_free(dehydrator);
        ck_assert_uint_eq(mem_used(), base);
    }
    memset(model, 0, sizeof(model));
}
END_TEST

static void push(struct dehydrator *dehydrator, struct bytes id, struct bytes payload, msec at)
{
    const struct stage stage = { .at = at };
    dehydrator_push(dehydrator, id, payload, &stage);
}

static msec deadline_of(const struct dehydrator *dehydrator, struct bytes id)
{
    return dehydrator_stage(dehydrator, dehydrator_find(dehydrator, id)).at;
}

START_TEST(equal_deadlines_keep_order_of_arrival)
{
    struct dehydrator *dehydrator = dehydrator_new();
    struct text id;
    for (int n = 0; n < 100; n++)
        push(dehydrator, id_of(&id, n), LIT("p"), 1000);
    push(dehydrator, LIT("earlier"), LIT("p"), 999);
    ck_assert(bytes_equal(element_id(dehydrator_first(dehydrator)), LIT("earlier")));
    dehydrator_remove(dehydrator, dehydrator_first(dehydrator));
    for (int n = 0; n < 100; n++) {
        struct element *first = dehydrator_first(dehydrator);
        ck_assert(bytes_equal(element_id(first), id_of(&id, n)));
        dehydrator_remove(dehydrator, first);
    }
    ck_assert_int_eq(dehydrator_next(dehydrator), NEVER);
    dehydrator_free(dehydrator);
}
END_TEST

START_TEST(update_keeps_deadline_and_position)
{
    struct dehydrator *dehydrator = dehydrator_new();
    struct text text;
    push(dehydrator, LIT("a"), LIT("old"), 5);
    push(dehydrator, LIT("b"), LIT("other"), 5);
    memset(text.data, 'x', sizeof(text.data));
    dehydrator_update(dehydrator, dehydrator_find(dehydrator, LIT("a")),
                      bytes_of(text.data, sizeof(text.data)));
    dehydrator_check(dehydrator);
    struct element *first = dehydrator_first(dehydrator);
    ck_assert(bytes_equal(element_id(first), LIT("a")));
    ck_assert_uint_eq(element_payload(first).len, sizeof(text.data));
    ck_assert_int_eq(deadline_of(dehydrator, LIT("a")), 5);
    struct bytes own = element_payload(first);
    dehydrator_update(dehydrator, first, bytes_of(own.data, 3));
    ck_assert(bytes_equal(element_payload(dehydrator_first(dehydrator)), LIT("xxx")));
    dehydrator_free(dehydrator);
}
END_TEST

START_TEST(ids_and_payloads_are_binary_safe)
{
    struct dehydrator *dehydrator = dehydrator_new();
    push(dehydrator, LIT("a\0b"), LIT("\0\r\n"), 1);
    push(dehydrator, LIT("a\0c"), LIT(""), 2);
    push(dehydrator, LIT(""), LIT("\0"), 3);
    ck_assert_uint_eq(dehydrator_count(dehydrator), 3);
    ck_assert_ptr_null(dehydrator_find(dehydrator, LIT("a")));
    struct element *element = dehydrator_find(dehydrator, LIT("a\0b"));
    ck_assert(bytes_equal(element_payload(element), LIT("\0\r\n")));
    ck_assert_ptr_nonnull(dehydrator_find(dehydrator, LIT("")));
    dehydrator_free(dehydrator);
}
END_TEST

START_TEST(move_to_same_instant_goes_after_equals)
{
    struct dehydrator *dehydrator = dehydrator_new();
    push(dehydrator, LIT("a"), LIT("pa"), 5);
    push(dehydrator, LIT("b"), LIT("pb"), 5);
    const struct stage stage = { .at = 5 };
    struct element *moved =
        dehydrator_move(dehydrator, dehydrator_find(dehydrator, LIT("a")), &stage);
    ck_assert(bytes_equal(element_payload(moved), LIT("pa")));
    ck_assert(bytes_equal(element_id(dehydrator_first(dehydrator)), LIT("b")));
    dehydrator_check(dehydrator);
    dehydrator_free(dehydrator);
}
END_TEST

START_TEST(clock_set_back_restores_ended_lease)
{
    struct dehydrator *dehydrator = dehydrator_new();
    push(dehydrator, LIT("a"), LIT("p"), 5);
    const struct stage claim = { .at = 100, .deliveries = 1, .claimed = true };
    struct element *element = dehydrator_move(dehydrator, dehydrator_first(dehydrator), &claim);
    ck_assert_uint_eq(dehydrator_count_due(dehydrator, 99), 0);
    ck_assert_uint_eq(dehydrator_count_claimed(dehydrator, 99), 1);
    ck_assert_uint_eq(dehydrator_count_due(dehydrator, 100), 1);
    ck_assert_uint_eq(dehydrator_count_claimed(dehydrator, 100), 0);
    dehydrator_announce(dehydrator, 100);
    ck_assert(dehydrator_stage(dehydrator, element).claimed);
    ck_assert_uint_eq(dehydrator_count_claimed(dehydrator, 99), 1);
    ck_assert_uint_eq(dehydrator_count_due(dehydrator, 99), 0);
    const struct stage given_back = { .at = 100, .deliveries = 1 };
    dehydrator_move(dehydrator, element, &given_back);
    ck_assert_uint_eq(dehydrator_count_claimed(dehydrator, 99), 0);
    dehydrator_check(dehydrator);
    dehydrator_free(dehydrator);
}
END_TEST

START_TEST(each_element_is_announced_once)
{
    struct dehydrator *dehydrator = dehydrator_new();
    ck_assert_int_eq(dehydrator_next_due(dehydrator), NEVER);
    push(dehydrator, LIT("a"), LIT("p"), 5);
    push(dehydrator, LIT("b"), LIT("p"), 7);
    ck_assert_int_eq(dehydrator_next_due(dehydrator), 5);
    dehydrator_announce(dehydrator, 6);
    ck_assert_int_eq(dehydrator_next_due(dehydrator), 7);
    dehydrator_announce(dehydrator, 7);
    ck_assert_int_eq(dehydrator_next_due(dehydrator), NEVER);
    ck_assert_int_eq(dehydrator_next(dehydrator), 5);
    push(dehydrator, LIT("late"), LIT("p"), 7);
    ck_assert_int_eq(dehydrator_next_due(dehydrator), 7);
    dehydrator_announce(dehydrator, 8);
    ck_assert_int_eq(dehydrator_next_due(dehydrator), NEVER);
    const struct stage again = { .at = 3 };
    dehydrator_move(dehydrator, dehydrator_find(dehydrator, LIT("b")), &again);
    ck_assert_int_eq(dehydrator_next_due(dehydrator), 3);
    dehydrator_free(dehydrator);
}
END_TEST

START_TEST(rewound_element_is_announced_again)
{
    struct dehydrator *dehydrator = dehydrator_new();
    push(dehydrator, LIT("a"), LIT("p"), 5);
    push(dehydrator, LIT("b"), LIT("p"), 7);
    dehydrator_announce(dehydrator, 10);
    ck_assert(!dehydrator_rewind(dehydrator, 10));
    ck_assert_int_eq(dehydrator_next_due(dehydrator), NEVER);
    ck_assert(dehydrator_rewind(dehydrator, 6));
    ck_assert_int_eq(dehydrator_next_due(dehydrator), 7);
    ck_assert(!dehydrator_rewind(dehydrator, 6));
    dehydrator_free(dehydrator);
}
END_TEST

START_TEST(extreme_instants_are_kept)
{
    struct dehydrator *dehydrator = dehydrator_new();
    push(dehydrator, LIT("last"), LIT("p"), INSTANT_MAX);
    push(dehydrator, LIT("zero"), LIT("p"), 0);
    ck_assert_int_eq(dehydrator_next_due(dehydrator), 0);
    dehydrator_announce(dehydrator, INSTANT_MAX - 1);
    ck_assert_int_eq(dehydrator_next_due(dehydrator), INSTANT_MAX);
    ck_assert_uint_eq(dehydrator_count_due(dehydrator, INSTANT_MAX - 1), 1);
    ck_assert_uint_eq(dehydrator_count_due(dehydrator, INT64_MAX), 2);
    dehydrator_announce(dehydrator, INSTANT_MAX);
    ck_assert_int_eq(dehydrator_next_due(dehydrator), NEVER);
    dehydrator_check(dehydrator);
    dehydrator_free(dehydrator);
}
END_TEST

START_TEST(distinct_deadlines_are_estimated_beyond_1000)
{
    enum { DEADLINES = 15000, EACH = 2 };
    struct dehydrator *dehydrator = dehydrator_new();
    struct text id;
    for (int n = 0; n < DEADLINES * EACH; n++) {
        push(dehydrator, id_of(&id, n), LIT("p"), n % DEADLINES);
        if (n == 9998) ck_assert_uint_eq(dehydrator_count_deadlines(dehydrator), 9999);
    }
    size_t estimate = dehydrator_count_deadlines(dehydrator);
    ck_assert_uint_ge(estimate, DEADLINES - 1);
    ck_assert_uint_le(estimate, DEADLINES + 1);
    dehydrator_free(dehydrator);
}
END_TEST

/* ---- scanning -------------------------------------------------------------------------------- */

static unsigned seen[1000];

static void note_seen(void *ctx, struct element *element)
{
    (void)ctx;
    seen[atoi(element_id(element).data)]++;
}

START_TEST(scan_visits_all_elements_that_stay)
{
    struct dehydrator *dehydrator = dehydrator_new();
    char id[8];
    for (int n = 0; n < 1000; n++)
        push(dehydrator, bytes_of(id, (size_t)snprintf(id, sizeof(id), "%d", n) + 1), LIT("p"), n);
    memset(seen, 0, sizeof(seen));
    uint64_t cursor = 0;
    int gone = 500;
    do {
        cursor = dehydrator_scan(dehydrator, cursor, note_seen, NULL);
        for (int i = 0; i < 5 && gone < 1000; i++, gone++) {
            size_t len = (size_t)snprintf(id, sizeof(id), "%d", gone) + 1;
            dehydrator_remove(dehydrator, dehydrator_find(dehydrator, bytes_of(id, len)));
        }
    } while (cursor != 0);
    for (int n = 0; n < 500; n++)
        ck_assert_uint_ge(seen[n], 1);
    dehydrator_check(dehydrator);
    dehydrator_free(dehydrator);
}
END_TEST

/* ---- memory ---------------------------------------------------------------------------------- */

static struct dehydrator *fill(int count)
{
    struct dehydrator *dehydrator = dehydrator_new();
    for (int i = 0; i < count; i++) {
        char id[16];
        snprintf(id, sizeof(id), "%08d", i);
        push(dehydrator, bytes_of(id, 8), LIT("sixteen bytes..."), i * 7919LL % 100003);
    }
    return dehydrator;
}

START_TEST(element_takes_at_most_80_bytes)
{
    enum { ELEMENTS = 100000 };
    struct dehydrator *dehydrator = dehydrator_new();
    size_t empty = dehydrator_bytes(dehydrator);
    dehydrator_free(dehydrator);
    dehydrator = fill(ELEMENTS);
    double each = (double)dehydrator_bytes(dehydrator) / ELEMENTS;
    printf("dehydrator: %.2f bytes for an id of 8 and a payload of 16\n", each);
    ck_assert_msg(each <= 80, "%.2f bytes", each);
    dehydrator_check(dehydrator);
    while (dehydrator_count(dehydrator) > 0)
        dehydrator_remove(dehydrator, dehydrator_first(dehydrator));
    dehydrator_check(dehydrator);
    ck_assert_uint_le(dehydrator_bytes(dehydrator), empty + 1024);
    dehydrator_free(dehydrator);
}
END_TEST

START_TEST(first_element_takes_at_most_128_bytes)
{
    struct dehydrator *dehydrator = dehydrator_new();
    push(dehydrator, LIT("8 bytes."), LIT("sixteen bytes..."), 1000);
    ck_assert_uint_le(dehydrator_bytes(dehydrator), 128);
    dehydrator_free(dehydrator);
}
END_TEST

/* A look-up in the array compares whole ids. */
START_TEST(long_ids_are_in_a_table)
{
    static char id[SHORT_ID + 1];
    struct dehydrator *dehydrator = dehydrator_new();
    push(dehydrator, LIT("a"), LIT("p"), 3);
    push(dehydrator, bytes_of(id, SHORT_ID), LIT("p"), 2);
    size_t held = dehydrator_bytes(dehydrator);
    push(dehydrator, bytes_of(id, sizeof(id)), LIT("p"), 1);
    ck_assert_uint_gt(dehydrator_bytes(dehydrator), held + sizeof(id) + 300);
    dehydrator_check(dehydrator);
    ck_assert_int_eq(deadline_of(dehydrator, LIT("a")), 3);
    ck_assert_int_eq(deadline_of(dehydrator, bytes_of(id, SHORT_ID)), 2);
    ck_assert_int_eq(deadline_of(dehydrator, bytes_of(id, sizeof(id))), 1);
    dehydrator_free(dehydrator);
}
END_TEST

START_TEST(freeing_in_slices_gives_all_memory_back)
{
    size_t base = mem_used(), slices = 0, work;
    struct dehydrator *dehydrator = fill(100000);
    do {
        work = 1000;
        slices++;
    } while (!dehydrator_free_some(dehydrator, &work));
    ck_assert_uint_ge(slices, 100);
    ck_assert_uint_le(slices, 110);
    ck_assert_uint_eq(mem_used(), base);
}
END_TEST

Suite *test_suite(void)
{
    const TTest *const tests[] = {
        random_steps_match_sorted_array,
        few_elements_match_sorted_array,
        equal_deadlines_keep_order_of_arrival,
        update_keeps_deadline_and_position,
        ids_and_payloads_are_binary_safe,
        move_to_same_instant_goes_after_equals,
        clock_set_back_restores_ended_lease,
        each_element_is_announced_once,
        rewound_element_is_announced_again,
        extreme_instants_are_kept,
        distinct_deadlines_are_estimated_beyond_1000,
        scan_visits_all_elements_that_stay,
        element_takes_at_most_80_bytes,
        first_element_takes_at_most_128_bytes,
        long_ids_are_in_a_table,
        freeing_in_slices_gives_all_memory_back,
        NULL,
    };
    return suite_of("dehydrator", tests);
}
