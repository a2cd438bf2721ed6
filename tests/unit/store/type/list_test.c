/* list: compared with a plain array of numbers; each number stands for a fixed text. */
#include "store/type/list.h"

#include <stdio.h>
#include <stdlib.h>

#include "store/mem/mem.h"
#include "tests/support/rng.h"
#include "tests/support/suite.h"

enum { TEXTS = 64, TEXT_MAX = 20000, MODEL_MAX = 3000 };

static char ink[TEXT_MAX + TEXTS];

/* Text n: lengths around all the limits of the packing, mostly short; all different. */
static struct bytes text_of(int n)
{
    static const size_t lengths[] = {
        1, 127, 128, 300, 4080, 4100, 8130, 8158, 9000, 16384, 20000
    };
    for (int i = 0; ink[0] == 0 && i < (int)sizeof(ink); i++)
        ink[i] = (char)(1 + (i * 7 + i / 64) % 120);
    size_t count = sizeof(lengths) / sizeof(lengths[0]);
    size_t len = n == 0 ? 0 : n <= (int)count ? lengths[n - 1] : 2 + (size_t)n % 19;
    return bytes_of(ink + n, len);
}

/* Big texts are rare, so that lists of small ones have many elements in a node. */
static int draw_text(struct rng *rng)
{
    return (int)(rng_chance(rng, 3) ? rng_below(rng, 12) : 12 + rng_below(rng, TEXTS - 12));
}

struct model {
    int texts[MODEL_MAX];
    int count;
};

static void model_cut(struct model *model, int from, int count)
{
    memmove(model->texts + from, model->texts + from + count,
            sizeof(int) * (size_t)(model->count - from - count));
    model->count -= count;
}

static void model_insert(struct model *model, int at, int text)
{
    memmove(model->texts + at + 1, model->texts + at, sizeof(int) * (size_t)(model->count - at));
    model->texts[at] = text;
    model->count++;
}

static void model_push(struct model *model, enum list_end end, int text)
{
    model_insert(model, end == LIST_HEAD ? 0 : model->count, text);
}

static size_t model_remove(struct model *model, int64_t count, int text)
{
    size_t gone = 0, limit = count == 0 ? SIZE_MAX : (size_t)llabs(count);
    int step = count < 0 ? -1 : 1;
    for (int i = count < 0 ? model->count - 1 : 0; i >= 0 && i < model->count && gone < limit;) {
        bool match = bytes_equal(text_of(model->texts[i]), text_of(text));
        if (match) model_cut(model, i, 1);
        if (match) gone++;
        i += match && step > 0 ? 0 : step;
    }
    return gone;
}

static void assert_text(struct bytes element, int text)
{
    ck_assert_msg(bytes_equal(element, text_of(text)), "%zu bytes, not text %d", element.len, text);
}

static void assert_same(const struct list *list, const struct model *model)
{
    struct list_iter iter;
    struct bytes element;
    list_check(list);
    ck_assert_uint_eq(list_count(list), (size_t)model->count);
    list_iter_at(&iter, list, 0);
    for (int i = 0; i < model->count; i++) {
        ck_assert(list_iter_next(&iter, &element));
        assert_text(element, model->texts[i]);
    }
    ck_assert(!list_iter_next(&iter, &element));
    ck_assert(!list_iter_prev(&iter, &element));
}

static void assert_same_backward(const struct list *list, const struct model *model)
{
    struct list_iter iter;
    struct bytes element;
    list_iter_at(&iter, list, (size_t)model->count - (model->count > 0));
    for (int i = model->count - 1; i >= 0; i--) {
        ck_assert(list_iter_prev(&iter, &element));
        assert_text(element, model->texts[i]);
    }
    ck_assert(!list_iter_prev(&iter, &element));
    for (int i = 0; i < model->count; i += 7)
        assert_text(list_at(list, (size_t)i), model->texts[i]);
}

static void step_push(struct rng *rng, struct list *list, struct model *model)
{
    enum list_end end = rng_chance(rng, 50) ? LIST_HEAD : LIST_TAIL;
    int run = (int)rng_between(rng, 1, rng_chance(rng, 10) ? 200 : 5);
    for (int text; run > 0 && model->count < MODEL_MAX; run--) {
        text = draw_text(rng);
        list_push(list, end, text_of(text));
        model_push(model, end, text);
    }
}

static void step_pop(struct rng *rng, struct list *list, struct model *model)
{
    enum list_end end = rng_chance(rng, 50) ? LIST_HEAD : LIST_TAIL;
    int count = (int)rng_between(rng, 0, rng_chance(rng, 10) ? model->count : 5);
    if (count > model->count) count = model->count;
    list_pop(list, end, (size_t)count);
    model_cut(model, end == LIST_HEAD ? 0 : model->count - count, count);
}

static void step_remove(struct rng *rng, struct list *list, struct model *model)
{
    int text = draw_text(rng);
    int64_t count = rng_chance(rng, 30) ? 0 : rng_between(rng, -4, 4);
    size_t expected = model_remove(model, count, text);
    ck_assert_uint_eq(list_remove(list, count, text_of(text)), expected);
}

static void step_keep(struct rng *rng, struct list *list, struct model *model)
{
    int from = (int)rng_below(rng, (uint64_t)model->count / 8 + 1);
    int to = model->count - (int)rng_below(rng, (uint64_t)model->count / 8 + 1);
    if (rng_chance(rng, 5)) to = from;
    list_keep(list, (size_t)from, (size_t)to);
    model_cut(model, to, model->count - to);
    model_cut(model, 0, from);
}

/* Often near the same index, as in a list that is kept sorted. */
static int draw_index(struct rng *rng, int count)
{
    int middle = count / 3 + (int)rng_below(rng, 3);
    return rng_chance(rng, 50) && middle < count ? middle : (int)rng_below(rng, (uint64_t)count);
}

static void step_insert(struct rng *rng, struct list *list, struct model *model)
{
    int run = (int)rng_between(rng, 1, rng_chance(rng, 10) ? 100 : 4);
    for (; run > 0 && model->count < MODEL_MAX; run--) {
        int at = draw_index(rng, model->count + 1), text = draw_text(rng);
        list_insert(list, (size_t)at, text_of(text));
        model_insert(model, at, text);
    }
}

static void step_put(struct rng *rng, struct list *list, struct model *model)
{
    if (model->count == 0) return;
    int at = draw_index(rng, model->count), text = draw_text(rng);
    if (rng_chance(rng, 20)) text = model->texts[at];
    list_put(list, (size_t)at, text_of(text));
    model->texts[at] = text;
}

START_TEST(random_steps_match_array)
{
    struct rng rng;
    rng_init(&rng, test_seed());
    static struct model model;
    size_t base = mem_used();
    struct list *list = list_new();
    for (int i = 0; i < 1500; i++) {
        uint64_t die = rng_below(&rng, 100);
        if (die < 35)
            step_push(&rng, list, &model);
        else if (die < 50)
            step_insert(&rng, list, &model);
        else if (die < 60)
            step_put(&rng, list, &model);
        else if (die < 90)
            step_pop(&rng, list, &model);
        else if (die < 97)
            step_remove(&rng, list, &model);
        else
            step_keep(&rng, list, &model);
        assert_same(list, &model);
        if (i % 16 == 0) assert_same_backward(list, &model);
        ck_assert_uint_eq(list_bytes(list), mem_used() - base);
    }
    list_free(list);
    ck_assert_uint_eq(mem_used(), base);
}
END_TEST

static struct list *list_of_numbers(int count, enum list_end end)
{
    struct list *list = list_new();
    for (int i = 0; i < count; i++) {
        char text[32];
        snprintf(text, sizeof(text), "%08d", i);
        list_push(list, end, bytes_of(text, 8));
    }
    return list;
}

START_TEST(short_elements_cost_little_overhead)
{
    for (int end = LIST_HEAD; end <= LIST_TAIL; end++) {
        struct list *list = list_of_numbers(100000, (enum list_end)end);
        list_check(list);
        double each = (double)list_bytes(list) / 100000;
        printf("list: %.2f bytes for an element of 8\n", each);
        ck_assert(each < 10.5);
        list_free(list);
    }
}
END_TEST

START_TEST(short_queue_stays_small)
{
    struct list *list = list_of_numbers(4, LIST_TAIL);
    size_t bytes = list_bytes(list);
    for (int i = 0; i < 100000; i++) {
        list_push(list, LIST_TAIL, LIT("12345678"));
        list_pop(list, LIST_HEAD, 1);
        ck_assert_uint_le(list_bytes(list), 2 * bytes);
    }
    ck_assert_uint_eq(list_count(list), 4);
    list_check(list);
    list_free(list);
}
END_TEST

START_TEST(shrunk_list_frees_memory)
{
    struct list *list = list_of_numbers(100000, LIST_TAIL);
    list_pop(list, LIST_HEAD, 50000);
    list_pop(list, LIST_TAIL, 49999);
    ck_assert_uint_le(list_bytes(list), 256);
    ck_assert(bytes_equal(list_at(list, 0), LIT("00050000")));
    list_check(list);
    list_free(list);
}
END_TEST

START_TEST(removing_nearly_all_leaves_no_sparse_nodes)
{
    struct list *list = list_new();
    for (int i = 0; i < 50000; i++)
        list_push(list, LIST_TAIL, i % 100 == 0 ? LIT("stays") : LIT("goes"));
    ck_assert_uint_eq(list_remove(list, -24750, LIT("goes")), 24750);
    list_check(list);
    ck_assert_uint_eq(list_remove(list, 0, LIT("goes")), 24750);
    list_check(list);
    ck_assert_uint_eq(list_count(list), 500);
    ck_assert_uint_le(list_bytes(list), 500 * 7 + 1024);
    list_free(list);
}
END_TEST

START_TEST(sign_of_remove_count_selects_end)
{
    struct list *list = list_new();
    for (const char *c = "abacada"; *c != 0; c++)
        list_push(list, LIST_TAIL, bytes_of(c, 1));
    ck_assert_uint_eq(list_remove(list, 1, LIT("a")), 1);
    ck_assert(bytes_equal(list_at(list, 0), LIT("b")));
    ck_assert_uint_eq(list_remove(list, -2, LIT("a")), 2);
    ck_assert(bytes_equal(list_at(list, 3), LIT("d")));
    ck_assert_uint_eq(list_remove(list, INT64_MIN, LIT("a")), 1);
    ck_assert_uint_eq(list_remove(list, INT64_MAX, LIT("a")), 0);
    ck_assert_uint_eq(list_count(list), 3);
    list_free(list);
}
END_TEST

START_TEST(own_element_can_be_pushed)
{
    for (int end = LIST_HEAD; end <= LIST_TAIL; end++) {
        struct list *list = list_new();
        list_push(list, LIST_TAIL, LIT("round and round it goes"));
        for (int i = 0; i < 2000; i++) {
            list_push(list, (enum list_end)end, list_at(list, 0));
            list_check(list);
        }
        struct list_iter iter;
        struct bytes element;
        list_iter_at(&iter, list, 0);
        while (list_iter_next(&iter, &element))
            ck_assert(bytes_equal(element, LIT("round and round it goes")));
        list_free(list);
    }
}
END_TEST

START_TEST(inserting_in_middle_costs_little_overhead)
{
    struct list *list = list_of_numbers(2, LIST_TAIL);
    for (int i = 0; i < 20000; i++)
        list_insert(list, list_count(list) / 2, LIT("12345678"));
    list_check(list);
    ck_assert_uint_le(list_bytes(list), 20000 * 10 * 2);
    ck_assert(bytes_equal(list_at(list, 20001), LIT("00000001")));
    list_free(list);
}
END_TEST

START_TEST(an_element_can_be_replaced_by_one_of_any_length)
{
    struct list *list = list_of_numbers(1000, LIST_TAIL);
    for (int n = 0; n < TEXTS; n++)
        list_put(list, (size_t)n * 15, text_of(n));
    list_check(list);
    for (int n = 0; n < TEXTS; n++)
        assert_text(list_at(list, (size_t)n * 15), n);
    ck_assert(bytes_equal(list_at(list, 1), LIT("00000001")));
    ck_assert_uint_eq(list_count(list), 1000);
    list_free(list);
}
END_TEST

START_TEST(keeping_an_empty_range_empties_the_list)
{
    struct list *list = list_of_numbers(10, LIST_TAIL);
    list_keep(list, 7, 3);
    ck_assert_uint_eq(list_count(list), 0);
    list_check(list);
    list_push(list, LIST_HEAD, LIT("again"));
    list_keep(list, 0, 99);
    ck_assert_uint_eq(list_count(list), 1);
    list_free(list);
}
END_TEST

START_TEST(an_iterator_past_the_end_gives_nothing)
{
    struct list *list = list_of_numbers(10, LIST_TAIL);
    struct list_iter iter;
    struct bytes element;
    list_iter_at(&iter, list, 10);
    ck_assert(!list_iter_next(&iter, &element));
    ck_assert(!list_iter_prev(&iter, &element));
    list_free(list);
}
END_TEST

START_TEST(freeing_in_slices_gives_all_memory_back)
{
    size_t base = mem_used(), slices = 0, work;
    struct list *list = list_of_numbers(20000, LIST_TAIL);
    do {
        work = 1000;
        slices++;
    } while (!list_free_some(list, &work));
    ck_assert_uint_ge(slices, 10);
    ck_assert_uint_le(slices, 30);
    ck_assert_uint_eq(mem_used(), base);
}
END_TEST

Suite *test_suite(void)
{
    const TTest *const tests[] = {
        random_steps_match_array,
        short_elements_cost_little_overhead,
        short_queue_stays_small,
        shrunk_list_frees_memory,
        removing_nearly_all_leaves_no_sparse_nodes,
        sign_of_remove_count_selects_end,
        own_element_can_be_pushed,
        inserting_in_middle_costs_little_overhead,
        an_element_can_be_replaced_by_one_of_any_length,
        keeping_an_empty_range_empties_the_list,
        an_iterator_past_the_end_gives_nothing,
        freeing_in_slices_gives_all_memory_back,
        NULL,
    };
    return suite_of("list", tests);
}
