/* stream: random programs, compared with a plain array of entries. */
#include "store/type/stream/stream.h"

#include "store/base/encoding_limits.h"
#include "store/mem/mem.h"
#include "tests/support/rng.h"
#include "tests/support/suite.h"

enum { MODEL_MAX = 4000, PAIRS_MAX = 300, INK = 20000 };

/* An entry's fields follow from its shape. */
struct row {
    struct stream_id id;
    unsigned shape;
};

static struct row rows[MODEL_MAX];
static size_t row_count;
static struct stream *stream;
static struct stream_marks marks;
static struct rng rng;
static struct encoding_limits usual_limits;
static char ink[INK];

/* Shape: fields 1, 2, 7 or 300; a few names; values of many lengths. */
static size_t parts_of(unsigned shape, struct bytes texts[2 * PAIRS_MAX])
{
    static const size_t counts[] = { 1, 1, 1, 2, 2, 7, 1, 1 };
    static const size_t lengths[] = { 0, 1, 16, 16, 30, 127, 128, 200, 16, 5000, 16, 3 };
    size_t pairs = shape % 512 == 511 ? PAIRS_MAX : counts[shape % 8];
    for (size_t i = 0; i < pairs; i++) {
        size_t len = lengths[(shape / 8 + i) % 12];
        if (len == 5000 && (shape % 64 != 1 || i > 0)) len = 20;
        texts[2 * i] = bytes_of(ink + shape / 16 % 3 + i, (shape / 32 % 3) * 5);
        texts[2 * i + 1] = bytes_of(ink + shape % 100 + i, len);
    }
    return 2 * pairs;
}

static void assert_entry(struct stream_entry entry, const struct row *row)
{
    struct bytes texts[2 * PAIRS_MAX], name, value;
    size_t count = parts_of(row->shape, texts);
    ck_assert(stream_id_equal(entry.id, row->id));
    ck_assert_uint_eq(entry.count, count / 2);
    for (size_t i = 0; i < count; i += 2) {
        ck_assert(stream_entry_next(&entry, &name, &value));
        ck_assert(bytes_equal(name, texts[i]));
        ck_assert(bytes_equal(value, texts[i + 1]));
    }
    ck_assert(!stream_entry_next(&entry, &name, &value));
}

static void assert_up(size_t from, struct stream_id id, size_t most)
{
    struct stream_walk walk;
    struct stream_entry entry;
    stream_walk_up(&walk, stream, id);
    for (; from < row_count && most > 0; from++, most--) {
        ck_assert(stream_walk_next(&walk, &entry));
        assert_entry(entry, &rows[from]);
    }
    if (most == 0) return;
    ck_assert(!stream_walk_next(&walk, &entry));
    ck_assert(!stream_walk_next(&walk, &entry));
}

/* `count`: the number of entries that are not after `id`. */
static void assert_down(size_t count, struct stream_id id, size_t most)
{
    struct stream_walk walk;
    struct stream_entry entry;
    stream_walk_down(&walk, stream, id);
    for (; count > 0 && most > 0; most--) {
        ck_assert(stream_walk_next(&walk, &entry));
        assert_entry(entry, &rows[--count]);
    }
    if (most == 0) return;
    ck_assert(!stream_walk_next(&walk, &entry));
    ck_assert(!stream_walk_next(&walk, &entry));
}

static size_t model_rank(struct stream_id id)
{
    size_t rank = 0;
    while (rank < row_count && stream_id_before(rows[rank].id, id))
        rank++;
    return rank;
}

static void assert_found(struct stream_id id, size_t most)
{
    struct stream_id found;
    size_t rank = model_rank(id);
    bool has = rank < row_count && stream_id_equal(rows[rank].id, id);
    ck_assert_uint_eq(stream_rank(stream, id), rank);
    ck_assert_int_eq(stream_has(stream, id), has);
    ck_assert_int_eq(stream_id_at(stream, rank, &found), rank < row_count);
    if (rank < row_count) ck_assert(stream_id_equal(found, rows[rank].id));
    assert_up(rank, id, most);
    assert_down(rank + has, id, most);
}

/* At, before and after the entry with this number. */
static void assert_around(size_t number, size_t most)
{
    struct stream_id id = rows[number].id;
    assert_found(id, most);
    if (stream_id_down(&id)) assert_found(id, most);
    id = rows[number].id;
    if (stream_id_up(&id)) assert_found(id, most);
}

static void assert_expired(size_t base)
{
    msec now = (msec)rng_below(&rng, 200000);
    size_t expired = 0;
    stream_set_retention(stream, 1 + (msec)rng_below(&rng, 100000));
    for (size_t i = 0; i < row_count; i++) {
        msec at;
        bool ends = instant_after(stream_id_instant(rows[i].id), stream_retention(stream), &at);
        expired += ends && instant_expired(at, now);
        if (i == 0) ck_assert_int_eq(stream_next_deadline(stream), ends ? at : NEVER);
    }
    ck_assert_uint_eq(stream_count_expired(stream, now), expired);
    ck_assert_uint_eq(stream_bytes(stream), mem_used() - base);
}

static void assert_same(size_t base)
{
    struct stream_id first, last;
    struct stream_marks have = stream_marks(stream);
    stream_check(stream);
    ck_assert_uint_eq(stream_count(stream), row_count);
    ck_assert_int_eq(stream_first(stream, &first), row_count > 0);
    ck_assert_int_eq(stream_final(stream, &last), row_count > 0);
    ck_assert(stream_id_equal(have.last, marks.last));
    ck_assert(stream_id_equal(have.max_deleted, marks.max_deleted));
    ck_assert_uint_eq(have.added, marks.added);
    assert_expired(base);
    assert_found(STREAM_ID_MIN, 5);
    assert_found(STREAM_ID_MAX, 5);
    if (row_count == 0) return;
    ck_assert(stream_id_equal(first, rows[0].id));
    ck_assert(stream_id_equal(last, rows[row_count - 1].id));
    assert_around(rng_below(&rng, row_count), 100);
    assert_around(row_count - 1, 3);
}

/* ---- steps ---------------------------------------------------------------------------------- */

static struct stream_id next_id(unsigned kind)
{
    struct stream_id id = marks.last;
    switch (kind) {
    case 0: stream_id_up(&id); return id;
    case 1: return (struct stream_id){ id.ms + 1 + rng_below(&rng, 3), 0 };
    case 2: return (struct stream_id){ id.ms + rng_below(&rng, 200), id.seq + 1 };
    case 3: return (struct stream_id){ id.ms + 1 + rng_below(&rng, 50), rng_below(&rng, 9) };
    case 4: return (struct stream_id){ id.ms, id.seq + 1 + rng_below(&rng, 1000000) };
    default: return (struct stream_id){ id.ms + 28 + rng_below(&rng, 8), rng_next(&rng) >> 1 };
    }
}

static void append(struct stream_id id, unsigned shape)
{
    struct bytes texts[2 * PAIRS_MAX];
    size_t count = parts_of(shape, texts);
    stream_append(stream, id, texts, count);
    rows[row_count++] = (struct row){ id, shape };
    marks.last = id;
    marks.added++;
}

static void step_append(void)
{
    size_t run = 1 + rng_below(&rng, rng_chance(&rng, 10) ? 400 : 4);
    unsigned kind = (unsigned)rng_below(&rng, 6), shape = (unsigned)rng_next(&rng);
    bool same = rng_chance(&rng, 60);
    for (; run > 0 && row_count < MODEL_MAX; run--) {
        append(next_id(kind), shape);
        if (!same) shape = (unsigned)rng_next(&rng);
        if (!same) kind = (unsigned)rng_below(&rng, 6);
    }
}

static void model_remove(size_t from, size_t count)
{
    memmove(rows + from, rows + from + count, (row_count - from - count) * sizeof(rows[0]));
    row_count -= count;
}

static void step_remove(void)
{
    size_t run = 1 + rng_below(&rng, rng_chance(&rng, 20) ? 150 : 3);
    for (; run > 0 && row_count > 0; run--) {
        size_t at = rng_below(&rng, row_count);
        if (rng_chance(&rng, 10)) at = row_count - 1;
        if (rng_chance(&rng, 10)) at = 0;
        struct stream_id id = rows[at].id;
        ck_assert(stream_remove(stream, id));
        ck_assert(!stream_remove(stream, id));
        model_remove(at, 1);
        if (stream_id_before(marks.max_deleted, id)) marks.max_deleted = id;
    }
}

/* Leaves gaps, so that inner nodes become sparse. */
static void step_thin_out(void)
{
    size_t from = row_count / 4, to = row_count - row_count / 4;
    for (size_t i = to; i > from; i--) {
        if (i % 97 == 0) continue;
        ck_assert(stream_remove(stream, rows[i - 1].id));
        if (stream_id_before(marks.max_deleted, rows[i - 1].id)) marks.max_deleted = rows[i - 1].id;
        model_remove(i - 1, 1);
    }
}

static void step_cut(void)
{
    size_t most = rng_below(&rng, rng_chance(&rng, 10) ? row_count + 1 : row_count / 8 + 1);
    size_t whole = stream_whole_blocks(stream, most);
    ck_assert_uint_le(whole, most);
    size_t cut = rng_chance(&rng, 50) ? whole : most, blocks = stream_blocks(stream);
    stream_cut(stream, cut);
    model_remove(0, cut);
    if (cut == whole && cut > 0) ck_assert_uint_lt(stream_blocks(stream), blocks);
}

static void step_relocate(void)
{
    struct relocation_cursor cursor = { 0 };
    mem_all_sparse(true);
    do {
        struct relocation relocation = { .left = 1 + rng_below(&rng, 200) };
        stream = stream_relocate(stream, &cursor, &relocation);
    } while (!relocation_begins(&cursor));
    mem_all_sparse(false);
}

/* Copies the stream in whole blocks, as a start from a snapshot does, and goes on with the copy. */
static void step_reload(void)
{
    struct stream *loaded = stream_new();
    struct stream_walk walk;
    struct stream_entry entry;
    struct stream_packed packed;
    struct bytes texts[2 * PAIRS_MAX];
    size_t at = 0;
    for (stream_walk_up(&walk, stream, STREAM_ID_MIN);;) {
        if (stream_walk_packed(&walk, &packed)) {
            struct stream_packed read = packed;
            read.last = STREAM_ID_MIN;
            read.own_names = 0;
            ck_assert(stream_packed_check(&read));
            ck_assert(stream_id_equal(read.last, packed.last));
            ck_assert_uint_eq(read.own_names, packed.own_names);
            stream_append_packed(loaded, &read);
            at += read.count;
        } else if (stream_walk_next(&walk, &entry)) {
            stream_append(loaded, entry.id, texts, parts_of(rows[at++].shape, texts));
        } else {
            break;
        }
    }
    ck_assert_uint_eq(at, row_count);
    stream_set_marks(loaded, &marks);
    stream_free(stream);
    stream = loaded;
}

static void step(void)
{
    uint64_t die = rng_below(&rng, 100);
    if (die < 50)
        step_append();
    else if (die < 70)
        step_remove();
    else if (die < 91)
        step_cut();
    else if (die < 94)
        step_reload();
    else if (die < 97)
        step_relocate();
    else
        step_thin_out();
}

static void begin(void)
{
    rng_init(&rng, test_seed());
    for (int i = 0; i < INK; i++)
        ink[i] = (char)(i * 7 + i / 64);
    usual_limits = encoding_limits;
    row_count = 0;
    marks = (struct stream_marks){ .added = 0 };
    stream = stream_new();
}

static void end(size_t base)
{
    encoding_limits = usual_limits;
    stream_free(stream);
    ck_assert_uint_eq(mem_used(), base);
}

START_TEST(random_steps_match_array)
{
    size_t base = mem_used();
    begin();
    for (int i = 0; i < 700; i++) {
        if (i % 100 == 0) encoding_limits.stream_entries = rng_below(&rng, 3) * 50;
        if (i % 100 == 0) encoding_limits.stream_bytes = rng_below(&rng, 4) * 1500;
        step();
        assert_same(base);
    }
    end(base);
}
END_TEST

/* Blocks of two entries, so that few entries make a tree of several levels. */
START_TEST(deep_tree_matches_array)
{
    size_t base = mem_used();
    begin();
    encoding_limits.stream_entries = 2;
    while (row_count < MODEL_MAX)
        append(next_id(0), 16);
    assert_same(base);
    for (int i = 0; i < 60; i++) {
        step_remove();
        if (i % 10 == 9) step_thin_out();
        step_relocate();
        assert_same(base);
        step_append();
        assert_same(base);
    }
    for (size_t i = 0; i < row_count; i += 7)
        assert_around(i, 3);
    while (row_count > 0) {
        step_cut();
        assert_same(base);
    }
    end(base);
}
END_TEST

START_TEST(every_bound_of_every_walk_matches_array)
{
    size_t base = mem_used();
    begin();
    while (row_count < 700)
        step_append();
    for (int i = 0; i < 30; i++)
        step_remove();
    for (size_t i = 0; i < row_count; i++)
        assert_around(i, 120);
    assert_up(0, STREAM_ID_MIN, SIZE_MAX);
    assert_down(row_count, STREAM_ID_MAX, SIZE_MAX);
    end(base);
}
END_TEST

Suite *test_suite(void)
{
    const TTest *const tests[] = {
        random_steps_match_array,
        deep_tree_matches_array,
        every_bound_of_every_walk_matches_array,
        NULL,
    };
    return suite_of("stream_random", tests);
}
