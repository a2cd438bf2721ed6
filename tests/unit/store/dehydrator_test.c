/* dehydrator: against a plain array of elements, the earliest found by looking at all. */
#include "store/dehydrator.h"

#include <stdio.h>
#include <stdlib.h>

#include "store/mem.h"
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
    msec at;
    int arrival;
};

static struct row model[IDS];
static struct row sorted[IDS];
static int arrivals;

static int compare_rows(const void *left, const void *right)
{
    const struct row *a = left, *b = right;
    if (a->at != b->at) return a->at < b->at ? -1 : 1;
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

/* Elements are counted by what the allocator gave, the table and the agenda by what was asked for.
 */
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
    ck_assert_int_eq(dehydrator_at(dehydrator, element), row->at);
}

static void assert_same(const struct dehydrator *dehydrator)
{
    size_t count = sort_model();
    struct dehydrator_walk walk;
    msec at;
    ck_assert_uint_eq(dehydrator_count(dehydrator), count);
    ck_assert_int_eq(dehydrator_next(dehydrator), count > 0 ? sorted[0].at : NEVER);
    if (count > 0)
        assert_row(dehydrator, &sorted[0], dehydrator_first(dehydrator));
    else
        ck_assert_ptr_null(dehydrator_first(dehydrator));
    dehydrator_walk_begin(&walk, dehydrator);
    for (size_t i = 0; i < count; i++) {
        assert_row(dehydrator, &sorted[i], dehydrator_walk_next(&walk, &at));
        ck_assert_int_eq(at, sorted[i].at);
    }
    ck_assert_ptr_null(dehydrator_walk_next(&walk, &at));
    dehydrator_walk_end(&walk);
}

static void step(struct rng *rng, struct dehydrator *dehydrator, bool grow)
{
    struct text id, payload;
    int n = (int)rng_below(rng, IDS), v = (int)rng_below(rng, 40);
    struct element *element = dehydrator_find(dehydrator, id_of(&id, n));
    ck_assert((element != NULL) == model[n].in);
    if (element == NULL && rng_chance(rng, grow ? 100 : 30)) {
        msec at = rng_between(rng, -20, 20);
        dehydrator_push(dehydrator, id_of(&id, n), payload_of(&payload, v), at);
        model[n] = (struct row){ true, n, v, at, arrivals++ };
    } else if (element != NULL && rng_chance(rng, grow ? 70 : 20)) {
        dehydrator_update(dehydrator, element, payload_of(&payload, v));
        model[n].payload = v;
    } else if (element != NULL) {
        dehydrator_remove(dehydrator, element);
        model[n].in = false;
    }
}

START_TEST(a_dehydrator_is_what_a_sorted_array_says_after_any_random_steps)
{
    struct rng rng;
    size_t base = mem_used();
    rng_init(&rng, test_seed());
    struct dehydrator *dehydrator = dehydrator_new();
    for (int i = 0; i < 8000; i++) {
        step(&rng, dehydrator, i / 1000 % 2 == 0);
        dehydrator_check(dehydrator);
        assert_bytes(dehydrator_bytes(dehydrator), mem_used() - base);
        if (i % 20 == 0) assert_same(dehydrator);
    }
    dehydrator_free(dehydrator);
    ck_assert_uint_eq(mem_used(), base);
}
END_TEST

START_TEST(elements_of_one_deadline_come_in_the_order_of_arrival)
{
    struct dehydrator *dehydrator = dehydrator_new();
    struct text id;
    for (int n = 0; n < 100; n++)
        dehydrator_push(dehydrator, id_of(&id, n), LIT("p"), 1000);
    dehydrator_push(dehydrator, LIT("earlier"), LIT("p"), 999);
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

START_TEST(an_update_keeps_deadline_and_place)
{
    struct dehydrator *dehydrator = dehydrator_new();
    struct text text;
    dehydrator_push(dehydrator, LIT("a"), LIT("old"), 5);
    dehydrator_push(dehydrator, LIT("b"), LIT("other"), 5);
    memset(text.data, 'x', sizeof(text.data));
    dehydrator_update(dehydrator, dehydrator_find(dehydrator, LIT("a")),
                      bytes_of(text.data, sizeof(text.data)));
    dehydrator_check(dehydrator);
    struct element *first = dehydrator_first(dehydrator);
    ck_assert(bytes_equal(element_id(first), LIT("a")));
    ck_assert_uint_eq(element_payload(first).len, sizeof(text.data));
    ck_assert_int_eq(dehydrator_at(dehydrator, first), 5);
    struct bytes own = element_payload(first);
    dehydrator_update(dehydrator, first, bytes_of(own.data, 3));
    ck_assert(bytes_equal(element_payload(dehydrator_first(dehydrator)), LIT("xxx")));
    dehydrator_free(dehydrator);
}
END_TEST

START_TEST(ids_and_payloads_are_binary_safe)
{
    struct dehydrator *dehydrator = dehydrator_new();
    dehydrator_push(dehydrator, LIT("a\0b"), LIT("\0\r\n"), 1);
    dehydrator_push(dehydrator, LIT("a\0c"), LIT(""), 2);
    dehydrator_push(dehydrator, LIT(""), LIT("\0"), 3);
    ck_assert_uint_eq(dehydrator_count(dehydrator), 3);
    ck_assert_ptr_null(dehydrator_find(dehydrator, LIT("a")));
    struct element *element = dehydrator_find(dehydrator, LIT("a\0b"));
    ck_assert(bytes_equal(element_payload(element), LIT("\0\r\n")));
    ck_assert_ptr_nonnull(dehydrator_find(dehydrator, LIT("")));
    dehydrator_free(dehydrator);
}
END_TEST

START_TEST(freeing_in_slices_gives_all_memory_back)
{
    size_t base = mem_used(), slices = 0, work;
    struct dehydrator *dehydrator = dehydrator_new();
    for (int i = 0; i < 100000; i++) {
        char id[16];
        snprintf(id, sizeof(id), "%08d", i);
        dehydrator_push(dehydrator, bytes_of(id, 8), LIT("sixteen bytes..."), i * 7919 % 100003);
    }
    dehydrator_check(dehydrator);
    printf("dehydrator: %.2f bytes for an id of 8 and a payload of 16\n",
           (double)dehydrator_bytes(dehydrator) / 100000);
    do {
        work = 1000;
        slices++;
    } while (!dehydrator_free_some(dehydrator, &work));
    ck_assert_uint_ge(slices, 100);
    ck_assert_uint_le(slices, 101);
    ck_assert_uint_eq(mem_used(), base);
}
END_TEST

Suite *test_suite(void)
{
    const TTest *const tests[] = {
        a_dehydrator_is_what_a_sorted_array_says_after_any_random_steps,
        elements_of_one_deadline_come_in_the_order_of_arrival,
        an_update_keeps_deadline_and_place,
        ids_and_payloads_are_binary_safe,
        freeing_in_slices_gives_all_memory_back,
        NULL,
    };
    return suite_of("dehydrator", tests);
}
