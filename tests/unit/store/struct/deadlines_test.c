/* deadlines: compared with a plain array; memory only while there is a deadline. */
#include "store/struct/deadlines.h"

#include <stdlib.h>

#include "store/mem/mem.h"
#include "tests/support/rng.h"
#include "tests/support/suite.h"

struct member {
    struct deadline deadline;
    msec at;          /* NEVER: none */
    uint64_t arrival; /* order of arrival */
};

/* Each member is a block of its own, so that it can move. */
struct model {
    struct member **members;
    size_t count;
    uint64_t arrivals;
    msec latest;
    struct member **sorted; /* members with a deadline, in its order */
    size_t expiring;
};

static void model_init(struct model *model, size_t count)
{
    *model = (struct model){ .count = count, .latest = INT64_MIN };
    model->members = calloc(count, sizeof(*model->members));
    model->sorted = calloc(count, sizeof(*model->sorted));
    for (size_t i = 0; i < count; i++) {
        model->members[i] = malloc(sizeof(struct member));
        model->members[i]->at = NEVER;
        deadline_init(&model->members[i]->deadline);
    }
}

static void model_drop(struct model *model)
{
    for (size_t i = 0; i < model->count; i++)
        free(model->members[i]);
    free(model->members);
    free(model->sorted);
}

static int by_end(const void *a, const void *b)
{
    const struct member *one = *(struct member *const *)a, *other = *(struct member *const *)b;
    if (one->at != other->at) return one->at < other->at ? -1 : 1;
    return one->arrival < other->arrival ? -1 : one->arrival > other->arrival;
}

static void model_sort(struct model *model)
{
    model->expiring = 0;
    for (size_t i = 0; i < model->count; i++)
        if (model->members[i]->at != NEVER) model->sorted[model->expiring++] = model->members[i];
    qsort(model->sorted, model->expiring, sizeof(*model->sorted), by_end);
    if (model->expiring == 0) model->latest = INT64_MIN;
}

static void set(struct deadlines **deadlines, struct model *model, size_t i, msec at)
{
    deadlines_set(deadlines, &model->members[i]->deadline, at);
    model->members[i]->at = at;
    model->members[i]->arrival = model->arrivals++;
    if (at > model->latest) model->latest = at;
}

static void cancel(struct deadlines **deadlines, struct model *model, size_t i)
{
    deadlines_cancel(deadlines, &model->members[i]->deadline);
    model->members[i]->at = NEVER;
}

static void move(struct deadlines *deadlines, struct model *model, size_t i)
{
    struct member *now = malloc(sizeof(*now));
    *now = *model->members[i];
    deadlines_moved(deadlines, &now->deadline);
    free(model->members[i]);
    model->members[i] = now;
}

struct visits {
    size_t count;
    msec until;
};

static bool count_visit(void *ctx, struct deadline *d, msec at)
{
    struct visits *visits = ctx;
    const struct member *member = (const struct member *)(const void *)d;
    ck_assert_int_eq(member->at, at);
    ck_assert_int_le(at, visits->until);
    visits->count++;
    return true;
}

static size_t count_until(const struct deadlines *deadlines, msec until)
{
    struct visits visits = { 0, until };
    deadlines_each_until(deadlines, until, count_visit, &visits);
    return visits.count;
}

static void compare(struct deadlines *deadlines, struct model *model, msec until)
{
    msec at = 0;
    size_t due = 0;
    deadlines_check(deadlines);
    model_sort(model);
    ck_assert(model->expiring > 0 || deadlines == NULL);
    ck_assert_uint_eq(deadlines_count(deadlines), model->expiring);
    msec last = model->expiring > 0 ? model->sorted[model->expiring - 1]->at : INT64_MIN;
    if (deadlines != NULL) ck_assert_int_le(deadlines->latest, model->latest); /* may be exact */
    if (deadlines != NULL) ck_assert_int_ge(deadlines->latest, last);
    ck_assert_int_eq(deadlines_all_expired(deadlines, until), model->expiring == 0 || last < until);
    if (model->expiring > 0) ck_assert(deadlines_all_expired(deadlines, last + 1));
    if (model->expiring > 0) ck_assert(!deadlines_all_expired(deadlines, last));
    if (until % 2 == 0) ck_assert_int_eq(deadlines_last(deadlines), last);
    deadlines_check(deadlines);
    struct deadline *first = deadlines_first(deadlines, &at);
    if (model->expiring == 0) {
        ck_assert_ptr_null(first);
    } else {
        ck_assert_ptr_eq(first, &model->sorted[0]->deadline);
        ck_assert_int_eq(at, model->sorted[0]->at);
    }
    while (due < model->expiring && model->sorted[due]->at <= until)
        due++;
    ck_assert_uint_eq(count_until(deadlines, until), due);
    for (size_t i = 0; i < model->count; i++)
        ck_assert_int_eq(deadlines_at(deadlines, &model->members[i]->deadline),
                         model->members[i]->at);
}

START_TEST(no_deadline_no_allocation)
{
    struct deadlines *deadlines = NULL;
    struct deadline idle;
    msec at = 5;
    size_t work = 3;
    deadline_init(&idle);
    deadlines_cancel(&deadlines, &idle);
    deadlines_moved(deadlines, &idle);
    ck_assert_int_eq(deadlines_at(deadlines, &idle), NEVER);
    ck_assert_ptr_null(deadlines_first(deadlines, &at));
    ck_assert_uint_eq(deadlines_count(deadlines), 0);
    ck_assert_int_eq(deadlines_last(deadlines), INT64_MIN);
    ck_assert_uint_eq(count_until(deadlines, INT64_MAX), 0);
    ck_assert_uint_eq(deadlines_bytes(deadlines), 0);
    deadlines_check(deadlines);
    ck_assert(deadlines_free_some(&deadlines, &work));
    ck_assert_uint_eq(work, 3);
    ck_assert_ptr_null(deadlines);
    ck_assert_uint_eq(mem_used(), 0);
}
END_TEST

START_TEST(cancelling_last_deadline_frees_all)
{
    struct deadlines *deadlines = NULL;
    struct deadline one, other;
    deadline_init(&one);
    deadline_init(&other);
    deadlines_set(&deadlines, &one, 10);
    deadlines_set(&deadlines, &other, 20);
    deadlines_cancel(&deadlines, &other);
    deadlines_cancel(&deadlines, &other);
    ck_assert_int_eq(deadlines->latest, 20); /* an upper bound */
    deadlines_cancel(&deadlines, &one);
    ck_assert_ptr_null(deadlines);
    ck_assert_uint_eq(mem_used(), 0);
    deadlines_set(&deadlines, &one, 5);
    ck_assert_int_eq(deadlines->latest, 5);
    deadlines_cancel(&deadlines, &one);
    ck_assert_uint_eq(mem_used(), 0);
}
END_TEST

START_TEST(all_expired_follows_from_latest_deadline)
{
    enum { COUNT = 1000 };
    struct deadlines *deadlines = NULL;
    static struct deadline all[COUNT], last, later;
    for (int i = 0; i < COUNT; i++) {
        deadline_init(&all[i]);
        deadlines_set(&deadlines, &all[i], 10);
    }
    deadline_init(&last);
    deadline_init(&later);
    deadlines_set(&deadlines, &last, 20);
    deadlines_set(&deadlines, &later, 30);
    ck_assert(!deadlines_all_expired(deadlines, 11));
    deadlines_cancel(&deadlines, &later);
    ck_assert_int_eq(deadlines->latest, 30);
    ck_assert(!deadlines_all_expired(deadlines, 11)); /* searches for the latest one again */
    ck_assert_int_eq(deadlines->latest, 20);
    ck_assert_ptr_eq(deadlines->last, &last);
    deadlines_set(&deadlines, &last, 5);
    ck_assert(deadlines_all_expired(deadlines, 11));
    ck_assert(!deadlines_all_expired(deadlines, 10));
    ck_assert(!deadlines_all_expired(deadlines, INT64_MIN));
    deadlines_check(deadlines);
    for (int i = 0; i < COUNT; i++)
        deadlines_cancel(&deadlines, &all[i]);
    deadlines_cancel(&deadlines, &last);
    ck_assert_uint_eq(mem_used(), 0);
}
END_TEST

START_TEST(random_programs_match_model)
{
    enum { COUNT = 40, STEPS = 10000 };
    struct deadlines *deadlines = NULL;
    struct model model;
    struct rng rng;
    rng_init(&rng, test_seed());
    model_init(&model, COUNT);
    for (int i = 0; i < STEPS; i++) {
        size_t which = rng_below(&rng, COUNT);
        /* The number of deadlines rises, then falls to 0, in turns. */
        if (rng_chance(&rng, 10))
            move(deadlines, &model, which);
        else if (rng_chance(&rng, i / 500 % 2 == 0 ? 60 : 5))
            set(&deadlines, &model, which, rng_between(&rng, -2, 30));
        else
            cancel(&deadlines, &model, which);
        compare(deadlines, &model, rng_between(&rng, -3, 31));
    }
    for (size_t i = 0; i < COUNT; i++)
        cancel(&deadlines, &model, i);
    ck_assert_uint_eq(mem_used(), 0);
    model_drop(&model);
}
END_TEST

START_TEST(deadlines_pop_in_model_order)
{
    enum { COUNT = 3000 };
    struct deadlines *deadlines = NULL;
    struct model model;
    struct rng rng;
    rng_init(&rng, test_seed());
    model_init(&model, COUNT);
    for (size_t i = 0; i < 3 * COUNT; i++)
        set(&deadlines, &model, rng_below(&rng, COUNT), rng_between(&rng, 0, 100));
    compare(deadlines, &model, 50);
    for (size_t i = 0; i < model.expiring; i++) {
        msec at = 0;
        struct deadline *first = deadlines_first(deadlines, &at);
        ck_assert_ptr_eq(first, &model.sorted[i]->deadline);
        ck_assert_int_eq(at, model.sorted[i]->at);
        deadlines_cancel(&deadlines, first);
    }
    ck_assert_ptr_null(deadlines);
    ck_assert_uint_eq(mem_used(), 0);
    model_drop(&model);
}
END_TEST

START_TEST(deadline_costs_at_most_24_bytes)
{
    enum { COUNT = 20000 };
    static struct deadline members[COUNT];
    struct deadlines *deadlines = NULL;
    for (size_t i = 0; i < COUNT; i++) {
        deadline_init(&members[i]);
        deadlines_set(&deadlines, &members[i], (msec)(i * 7919 % COUNT));
        /* With few deadlines the struct itself adds to the average. */
        size_t bytes = deadlines_bytes(deadlines) + (i + 1) * sizeof(struct deadline);
        if (i >= 64) ck_assert_uint_le(bytes, 24 * (i + 1) + 120);
        if (i >= 512) ck_assert_uint_le(bytes, 23 * (i + 1));
    }
    size_t work = SIZE_MAX;
    ck_assert(deadlines_free_some(&deadlines, &work));
    ck_assert_uint_eq(mem_used(), 0);
}
END_TEST

START_TEST(deadlines_are_freed_in_slices)
{
    enum { COUNT = 50000 };
    static struct deadline members[COUNT];
    struct deadlines *deadlines = NULL;
    size_t slices = 0, work = 0;
    for (size_t i = 0; i < COUNT; i++) {
        deadline_init(&members[i]);
        deadlines_set(&deadlines, &members[i], (msec)i);
    }
    ck_assert(!deadlines_free_some(&deadlines, &work));
    ck_assert_uint_eq(deadlines_count(deadlines), COUNT);
    do {
        work = 2;
        slices++;
    } while (!deadlines_free_some(&deadlines, &work));
    ck_assert_uint_eq(slices, 49); /* 98 segments of 512 */
    ck_assert_ptr_null(deadlines);
    ck_assert_uint_eq(mem_used(), 0);
}
END_TEST

Suite *test_suite(void)
{
    const TTest *const tests[] = {
        no_deadline_no_allocation,
        cancelling_last_deadline_frees_all,
        all_expired_follows_from_latest_deadline,
        random_programs_match_model,
        deadlines_pop_in_model_order,
        deadline_costs_at_most_24_bytes,
        deadlines_are_freed_in_slices,
        NULL,
    };
    return suite_of("deadlines", tests);
}
