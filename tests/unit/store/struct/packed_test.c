/* packed: compared with a plain array of records. */
#include "store/struct/packed.h"

#include <stdio.h>

#include "store/mem/mem.h"
#include "tests/support/rng.h"
#include "tests/support/suite.h"

/* ---- the model ---- */

struct text {
    char data[PACKED_MAX_TEXT];
    size_t len;
};

struct item {
    struct text member, value;
    msec at;
};

struct model {
    struct item items[PACKED_MAX_COUNT];
    unsigned count;
};

static struct bytes view_of(const struct text *text)
{
    return bytes_of(text->data, text->len);
}

static struct packed_record record_of(const struct item *item)
{
    return (struct packed_record){ view_of(&item->member), view_of(&item->value), item->at };
}

static int model_find(const struct model *model, struct bytes member)
{
    for (unsigned i = 0; i < model->count; i++)
        if (bytes_equal(view_of(&model->items[i].member), member)) return (int)i;
    return -1;
}

static int model_first(const struct model *model)
{
    int first = -1;
    for (int i = 0; i < (int)model->count; i++)
        if (model->items[i].at != NEVER &&
            (first < 0 || model->items[i].at < model->items[first].at))
            first = i;
    return first;
}

static void assert_record(const struct packed_record *record, const struct item *item)
{
    ck_assert(bytes_equal(record->member, view_of(&item->member)));
    ck_assert(bytes_equal(record->value, view_of(&item->value)));
    ck_assert_int_eq(record->at, item->at);
}

struct visits {
    const struct model *model;
    msec until;
    unsigned next, left; /* the first item to search; visits until the visitor stops */
};

/* Expects each record whose deadline has come by then, in order. */
static bool visit_next(void *ctx, struct bytes member, msec at)
{
    struct visits *visits = ctx;
    const struct item *items = visits->model->items;
    while (items[visits->next].at == NEVER || items[visits->next].at > visits->until)
        visits->next++;
    ck_assert_uint_lt(visits->next, visits->model->count);
    ck_assert(bytes_equal(member, view_of(&items[visits->next].member)));
    ck_assert_int_eq(at, items[visits->next].at);
    visits->next++;
    return --visits->left > 0;
}

static void assert_visits(const struct packed *packed, const struct model *model, msec until)
{
    unsigned due = 0;
    for (unsigned i = 0; i < model->count; i++)
        due += model->items[i].at != NEVER && model->items[i].at <= until;
    struct visits all = { model, until, 0, due + 1 }, half = { model, until, 0, due / 2 + 1 };
    packed_each_until(packed, until, visit_next, &all);
    ck_assert_uint_eq(all.left, 1);
    packed_each_until(packed, until, visit_next, &half);
    ck_assert_uint_eq(half.left, due == 0);
}

static void assert_deadlines(const struct packed *packed, const struct model *model)
{
    struct bytes member;
    msec at = 0, latest = INT64_MIN;
    int first = model_first(model);
    ck_assert(packed_earliest(packed, &member, &at) == (first >= 0));
    if (first >= 0) {
        ck_assert(bytes_equal(member, view_of(&model->items[first].member)));
        ck_assert_int_eq(at, model->items[first].at);
    }
    for (unsigned i = 0; i < model->count; i++)
        if (model->items[i].at != NEVER && model->items[i].at > latest) latest = model->items[i].at;
    ck_assert_int_eq(packed_latest(packed), latest);
    assert_visits(packed, model, 9);
    assert_visits(packed, model, INSTANT_MAX);
}

static void assert_same(const struct packed *packed, const struct model *model)
{
    uint32_t offset = 0;
    packed_check(packed);
    ck_assert_uint_eq(packed->count, model->count);
    for (unsigned i = 0; i < model->count; i++) {
        struct packed_record record;
        ck_assert_uint_eq(packed_nth(packed, i), offset);
        ck_assert_uint_eq(packed_find(packed, view_of(&model->items[i].member)), offset);
        if (i + 1 == model->count) ck_assert_uint_eq(packed->last, offset);
        offset = packed_get(packed, offset, &record);
        assert_record(&record, &model->items[i]);
        ck_assert(packed_lookup(packed, view_of(&model->items[i].member), &record));
        assert_record(&record, &model->items[i]);
    }
    ck_assert_uint_eq(offset, packed->len);
    assert_deadlines(packed, model);
}

/* ---- random steps ---- */

static void draw_text(struct rng *rng, struct text *text)
{
    text->len = rng_chance(rng, 85) ? rng_below(rng, 4) : rng_below(rng, PACKED_MAX_TEXT + 1);
    for (size_t i = 0; i < text->len; i++)
        text->data[i] = (char)rng_below(rng, rng_chance(rng, 90) ? 3 : 256);
}

static msec draw_deadline(struct rng *rng)
{
    static const msec edges[] = { 0, -1, INT64_MIN, INSTANT_MAX, 1 };
    if (rng_chance(rng, 50)) return NEVER;
    if (rng_chance(rng, 80)) return rng_between(rng, 0, 20);
    return edges[rng_below(rng, sizeof(edges) / sizeof(edges[0]))];
}

static void draw_item(struct rng *rng, struct item *item)
{
    draw_text(rng, &item->member);
    draw_text(rng, &item->value);
    item->at = draw_deadline(rng);
}

static void step_insert(struct rng *rng, struct packed *packed, struct model *model)
{
    struct item item;
    draw_item(rng, &item);
    struct packed_record record = record_of(&item);
    if (model_find(model, record.member) >= 0 || !packed_fits(packed, &record)) return;
    unsigned i = (unsigned)rng_below(rng, model->count + 1);
    packed_insert(packed, i < model->count ? packed_nth(packed, i) : packed->len, &record);
    memmove(&model->items[i + 1], &model->items[i], (model->count - i) * sizeof(item));
    model->items[i] = item;
    model->count++;
}

static void step_remove(struct rng *rng, struct packed *packed, struct model *model)
{
    if (model->count == 0) return;
    unsigned i = (unsigned)rng_below(rng, model->count);
    packed_remove(packed, packed_nth(packed, i));
    model->count--;
    memmove(&model->items[i], &model->items[i + 1], (model->count - i) * sizeof(model->items[i]));
}

/* Often replaces a record by parts of itself. */
static void step_replace(struct rng *rng, struct packed *packed, struct model *model)
{
    if (model->count == 0) return;
    unsigned i = (unsigned)rng_below(rng, model->count);
    uint32_t offset = packed_nth(packed, i);
    struct item item;
    struct packed_record record, old;
    draw_item(rng, &item);
    record = record_of(&item);
    packed_get(packed, offset, &old);
    if (rng_chance(rng, 70) || model_find(model, record.member) >= 0) {
        item.member = model->items[i].member;
        record.member = old.member;
    }
    if (rng_chance(rng, 50)) {
        size_t skip = rng_below(rng, old.value.len + 1);
        item.value.len = old.value.len - skip;
        memcpy(item.value.data, old.value.data + skip, item.value.len);
        record.value = bytes_of(old.value.data + skip, item.value.len);
    }
    if (!packed_fits_instead(packed, offset, &record)) return;
    packed_replace(packed, offset, &record);
    model->items[i] = item;
}

START_TEST(random_steps_match_array)
{
    struct rng rng;
    rng_init(&rng, test_seed());
    size_t base = mem_used();
    struct packed packed;
    static struct model model;
    unsigned fullest = 0;
    packed_init(&packed);
    model.count = 0;
    for (int i = 0; i < 9000; i++) {
        unsigned draw = (unsigned)rng_below(&rng, 100), grow = i / 1500 % 2 == 0 ? 65 : 25;
        if (draw < grow)
            step_insert(&rng, &packed, &model);
        else if (draw < 70)
            step_remove(&rng, &packed, &model);
        else
            step_replace(&rng, &packed, &model);
        assert_same(&packed, &model);
        ck_assert_uint_eq(mem_used() - base, packed_bytes(&packed));
        if (model.count > fullest) fullest = model.count;
    }
    ck_assert_uint_ge(fullest, PACKED_MAX_COUNT - 8);
    packed_drop(&packed);
    ck_assert_uint_eq(mem_used(), base);
}
END_TEST

/* ---- single cases ---- */

static void append(struct packed *packed, struct bytes member, struct bytes value, msec at)
{
    struct packed_record record = { member, value, at };
    ck_assert(packed_fits(packed, &record));
    packed_insert(packed, packed->len, &record);
    packed_check(packed);
}

static void append_number(struct packed *packed, int n, const char *format, msec at)
{
    char text[PACKED_MAX_TEXT + 1];
    int len = snprintf(text, sizeof(text), format, n);
    append(packed, bytes_of(text, (size_t)len), LIT(""), at);
}

START_TEST(empty_packed_finds_nothing_and_has_no_memory)
{
    size_t base = mem_used();
    struct packed packed;
    struct packed_record record;
    struct bytes member;
    msec at;
    packed_init(&packed);
    packed_check(&packed);
    ck_assert_uint_eq(packed_find(&packed, LIT("")), packed.len);
    ck_assert_uint_eq(packed_find(&packed, LIT("a")), packed.len);
    ck_assert(!packed_earliest(&packed, &member, &at));
    ck_assert(!packed_lookup(&packed, LIT(""), &record));
    append(&packed, LIT(""), LIT(""), NEVER);
    ck_assert_uint_eq(packed_find(&packed, LIT("")), 0);
    packed_remove(&packed, 0);
    ck_assert_uint_eq(packed_bytes(&packed), 0);
    ck_assert_uint_eq(mem_used(), base);
}
END_TEST

START_TEST(limits_of_count_length_and_bytes_hold)
{
    static const char text[PACKED_MAX_TEXT + 1];
    const struct bytes most = bytes_of(text, PACKED_MAX_TEXT);
    const struct bytes more = bytes_of(text, PACKED_MAX_TEXT + 1);
    struct packed packed;
    packed_init(&packed);
    ck_assert(packed_fits(&packed, &(struct packed_record){ most, most, 0 }));
    ck_assert(!packed_fits(&packed, &(struct packed_record){ more, LIT(""), NEVER }));
    ck_assert(!packed_fits(&packed, &(struct packed_record){ LIT(""), more, NEVER }));
    for (int i = 0; i < PACKED_MAX_COUNT; i++)
        append_number(&packed, i, "%d", NEVER);
    ck_assert(!packed_fits(&packed, &(struct packed_record){ LIT("x"), LIT(""), NEVER }));
    ck_assert(packed_fits_instead(&packed, 0, &(struct packed_record){ LIT("x"), LIT(""), 1 }));
    ck_assert(!packed_fits_instead(&packed, 0, &(struct packed_record){ more, LIT(""), 1 }));
    packed_drop(&packed);
    while (packed_fits(&packed, &(struct packed_record){ most, LIT(""), NEVER }))
        append_number(&packed, packed.count, "%064d", NEVER);
    ck_assert_uint_eq(packed.count, PACKED_MAX_BYTES / (PACKED_MAX_TEXT + 2));
    while (packed_fits(&packed, &(struct packed_record){ LIT("1"), LIT(""), NEVER }))
        append_number(&packed, packed.count - 30, "%d", NEVER);
    ck_assert(!packed_fits_instead(&packed, 0, &(struct packed_record){ most, LIT(""), 1 }));
    packed_drop(&packed);
}
END_TEST

START_TEST(deadline_costs_at_most_nine_bytes)
{
    struct packed packed;
    struct packed_record record;
    packed_init(&packed);
    append(&packed, LIT("member"), LIT("value"), NEVER);
    uint32_t len = packed.len;
    ck_assert_uint_eq(len, 1 + 6 + 5);
    packed_get(&packed, 0, &record);
    record.at = 1700000000000;
    packed_replace(&packed, 0, &record);
    ck_assert_uint_eq(packed.len, len + 1 + 8);
    ck_assert_uint_eq(packed.count_expiring, 1);
    packed_get(&packed, 0, &record);
    ck_assert_int_eq(record.at, 1700000000000);
    record.at = NEVER;
    packed_replace(&packed, 0, &record);
    packed_check(&packed);
    ck_assert_uint_eq(packed.len, len);
    ck_assert_uint_eq(packed.count_expiring, 0);
    packed_drop(&packed);
}
END_TEST

/* The bytes of one record. */
static uint32_t bytes_of_record(size_t member_len, size_t value_len, msec at)
{
    static const char text[PACKED_MAX_TEXT];
    struct packed packed;
    packed_init(&packed);
    append(&packed, bytes_of(text, member_len), bytes_of(text, value_len), at);
    uint32_t len = packed.len;
    packed_drop(&packed);
    return len;
}

START_TEST(head_takes_one_byte_if_short_else_two)
{
    ck_assert_uint_eq(bytes_of_record(0, 0, NEVER), 1);
    ck_assert_uint_eq(bytes_of_record(15, 0, NEVER), 1 + 15);
    ck_assert_uint_eq(bytes_of_record(15, 7, NEVER), 1 + 15 + 7);
    ck_assert_uint_eq(bytes_of_record(16, 7, NEVER), 2 + 16 + 7);
    ck_assert_uint_eq(bytes_of_record(15, 8, NEVER), 2 + 15 + 8);
    ck_assert_uint_eq(bytes_of_record(64, 64, NEVER), 2 + 64 + 64);
    ck_assert_uint_eq(bytes_of_record(0, 0, 5), 2 + 8);
    ck_assert_uint_eq(bytes_of_record(64, 64, 5), 2 + 8 + 64 + 64);
}
END_TEST

/* Members of each length that differ in one byte, at each position. */
START_TEST(find_distinguishes_members_by_one_byte)
{
    for (size_t len = 1; len <= PACKED_MAX_TEXT; len++) {
        char text[PACKED_MAX_TEXT];
        struct packed packed;
        packed_init(&packed);
        memset(text, 'a', len);
        append(&packed, bytes_of(text, len), LIT("v"), NEVER);
        for (size_t i = 0; i < len; i++) {
            text[i] = 'b';
            ck_assert_uint_eq(packed_find(&packed, bytes_of(text, len)), packed.len);
            text[i] = 'a';
        }
        ck_assert_uint_eq(packed_find(&packed, bytes_of(text, len)), 0);
        ck_assert_uint_eq(packed_find(&packed, bytes_of(text, len - 1)), packed.len);
        packed_drop(&packed);
    }
}
END_TEST

START_TEST(first_of_equal_deadlines_is_first_in_memory)
{
    struct packed packed;
    struct bytes member;
    msec at;
    packed_init(&packed);
    append(&packed, LIT("a"), LIT(""), 7);
    append(&packed, LIT("b"), LIT(""), 5);
    append(&packed, LIT("c"), LIT(""), NEVER);
    append(&packed, LIT("d"), LIT(""), 5);
    ck_assert(packed_earliest(&packed, &member, &at));
    ck_assert(bytes_equal(member, LIT("b")));
    ck_assert_int_eq(at, 5);
    packed_remove(&packed, packed_find(&packed, LIT("b")));
    ck_assert(packed_earliest(&packed, &member, &at));
    ck_assert(bytes_equal(member, LIT("d")));
    packed_drop(&packed);
}
END_TEST

START_TEST(offset_survives_changes_after_it)
{
    struct packed packed;
    packed_init(&packed);
    append(&packed, LIT("a"), LIT("1"), NEVER);
    append(&packed, LIT("b"), LIT("2"), 9);
    uint32_t offset = packed_find(&packed, LIT("b"));
    append(&packed, LIT("c"), LIT("3"), NEVER);
    ck_assert_uint_eq(packed_find(&packed, LIT("b")), offset);
    packed_remove(&packed, packed_find(&packed, LIT("c")));
    ck_assert_uint_eq(packed_find(&packed, LIT("b")), offset);
    packed_drop(&packed);
}
END_TEST

static void assert_offsets(const struct packed *packed)
{
    uint16_t offsets[PACKED_MAX_COUNT];
    packed_offsets(packed, offsets);
    for (unsigned i = 0; i < packed->count; i++)
        ck_assert_uint_eq(offsets[i], packed_nth(packed, i));
}

START_TEST(offsets_list_records_with_equal_heads)
{
    static const char text[PACKED_MAX_TEXT];
    struct packed packed;
    packed_init(&packed);
    assert_offsets(&packed);
    /* The heads of long members have equal first bytes; only the second bytes differ. */
    for (size_t i = 0; i < 3; i++) {
        char member[PACKED_MAX_TEXT] = { (char)i };
        append(&packed, bytes_of(member, sizeof(member)), bytes_of(text, 10 * i), NEVER);
    }
    for (int i = 0; i < 20; i++)
        append_number(&packed, i * i, "%d", i % 3 == 0 ? 5 : NEVER);
    assert_offsets(&packed);
    packed_drop(&packed);
}
END_TEST

START_TEST(several_records_are_removed_at_once)
{
    struct packed packed;
    packed_init(&packed);
    for (int i = 0; i < 20; i++)
        append_number(&packed, i, "%d", i % 2 == 0 ? 5 : NEVER);
    packed_remove_some(&packed, packed_find(&packed, LIT("5")), 6);
    packed_check(&packed);
    ck_assert_uint_eq(packed.count, 14);
    ck_assert_uint_eq(packed.count_expiring, 7);
    ck_assert_uint_eq(packed_nth(&packed, 5), packed_find(&packed, LIT("11")));
    packed_remove_some(&packed, 0, 14);
    packed_check(&packed);
    ck_assert_uint_eq(packed_bytes(&packed), 0);
}
END_TEST

START_TEST(memory_shrinks_with_records)
{
    struct packed packed;
    packed_init(&packed);
    for (int i = 0; i < PACKED_MAX_COUNT; i++)
        append_number(&packed, i, "%030d", NEVER);
    ck_assert_uint_ge(packed_bytes(&packed), PACKED_MAX_COUNT * 32);
    while (packed.count > 1)
        packed_remove(&packed, packed_nth(&packed, packed.count / 2));
    ck_assert_uint_le(packed_bytes(&packed), 2u * packed.len + 32);
    packed_check(&packed);
    packed_drop(&packed);
}
END_TEST

Suite *test_suite(void)
{
    const TTest *const tests[] = {
        random_steps_match_array,
        empty_packed_finds_nothing_and_has_no_memory,
        limits_of_count_length_and_bytes_hold,
        deadline_costs_at_most_nine_bytes,
        head_takes_one_byte_if_short_else_two,
        find_distinguishes_members_by_one_byte,
        first_of_equal_deadlines_is_first_in_memory,
        offset_survives_changes_after_it,
        offsets_list_records_with_equal_heads,
        several_records_are_removed_at_once,
        memory_shrinks_with_records,
        NULL,
    };
    return suite_of("packed", tests);
}
