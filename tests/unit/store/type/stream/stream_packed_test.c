/* stream_packed: which blocks are passed over whole, and that bytes from a damaged file are refused
 * or make a stream that works. */
#include "store/type/stream/stream.h"

#include <stdlib.h>

#include "tests/support/rng.h"
#include "tests/support/suite.h"

static const struct bytes pair[] = { LIT("name"), LIT("value") };
static const struct bytes other[] = { LIT("n"), LIT(""), LIT("m"), LIT("w") };

static struct stream_id id_of(uint64_t ms, uint64_t seq)
{
    return (struct stream_id){ ms, seq };
}

static struct stream *stream_of(size_t count)
{
    struct stream *stream = stream_new();
    for (size_t i = 1; i <= count; i++)
        stream_append(stream, id_of(1, i), pair, 2);
    return stream;
}

/* ---- which blocks ---------------------------------------------------------------------------- */

/* How many blocks a walk passes over whole, and the entries between them. */
static size_t whole_blocks(const struct stream *stream, size_t *entries)
{
    struct stream_walk walk;
    struct stream_entry entry;
    struct stream_packed packed;
    size_t blocks = 0;
    stream_walk_up(&walk, stream, STREAM_ID_MIN);
    *entries = 0;
    for (;;) {
        if (stream_walk_packed(&walk, &packed))
            blocks++;
        else if (stream_walk_next(&walk, &entry))
            ++*entries;
        else
            return blocks;
    }
}

START_TEST(walk_passes_over_each_block)
{
    size_t entries;
    struct stream *stream = stream_of(250);
    ck_assert_uint_eq(whole_blocks(stream, &entries), 3);
    ck_assert_uint_eq(entries, 0);
    stream_free(stream);
    stream = stream_new();
    ck_assert_uint_eq(whole_blocks(stream, &entries), 0);
    ck_assert_uint_eq(entries, 0);
    stream_free(stream);
}
END_TEST

START_TEST(block_that_lost_most_entries_is_read_one_by_one)
{
    size_t entries;
    struct stream *stream = stream_of(300);
    for (size_t i = 110; i < 160; i++)
        ck_assert(stream_remove(stream, id_of(1, i)));
    ck_assert_uint_eq(whole_blocks(stream, &entries), 3);
    ck_assert(stream_remove(stream, id_of(1, 160)));
    ck_assert_uint_eq(whole_blocks(stream, &entries), 2);
    ck_assert_uint_eq(entries, 49);
    stream_cut(stream, 51);
    ck_assert_uint_eq(whole_blocks(stream, &entries), 1);
    ck_assert_uint_eq(entries, 49 + 49);
    stream_free(stream);
}
END_TEST

START_TEST(huge_entry_is_read_by_itself)
{
    size_t entries;
    struct stream *stream = stream_of(1);
    char *value = calloc(1, STREAM_PACKED_MAX);
    const struct bytes huge[] = { LIT("name"), bytes_of(value, STREAM_PACKED_MAX) };
    stream_append(stream, id_of(2, 0), huge, 2);
    stream_append(stream, id_of(2, 1), pair, 2);
    ck_assert_uint_eq(whole_blocks(stream, &entries), 2);
    ck_assert_uint_eq(entries, 1);
    stream_free(stream);
    free(value);
}
END_TEST

START_TEST(walk_inside_a_block_reads_to_its_end)
{
    struct stream *stream = stream_of(250);
    struct stream_walk walk;
    struct stream_entry entry;
    struct stream_packed packed;
    stream_walk_up(&walk, stream, id_of(1, 40));
    for (size_t i = 40; i <= 100; i++) {
        ck_assert(!stream_walk_packed(&walk, &packed));
        ck_assert(stream_walk_next(&walk, &entry));
    }
    ck_assert(stream_walk_packed(&walk, &packed));
    ck_assert(stream_id_equal(packed.first, id_of(1, 101)));
    ck_assert(stream_id_equal(packed.last, id_of(1, 200)));
    ck_assert(stream_walk_next(&walk, &entry));
    ck_assert(stream_id_equal(entry.id, id_of(1, 201)));
    stream_free(stream);
}
END_TEST

START_TEST(stream_grows_in_the_last_block_that_was_added)
{
    struct stream *from = stream_of(30), *to = stream_new();
    struct stream_walk walk;
    struct stream_packed packed;
    stream_cut(from, 5);
    stream_walk_up(&walk, from, STREAM_ID_MIN);
    ck_assert(stream_walk_packed(&walk, &packed));
    stream_append_packed(to, &packed);
    stream_append(to, id_of(1, 31), pair, 2);
    stream_check(to);
    ck_assert_uint_eq(stream_blocks(to), 1);
    ck_assert_uint_eq(stream_count(to), 26);
    ck_assert_uint_eq(stream_marks(to).added, 26);
    ck_assert(stream_id_equal(stream_marks(to).last, id_of(1, 31)));
    stream_free(from);
    stream_free(to);
}
END_TEST

/* ---- bytes from outside ---------------------------------------------------------------------- */

#define BYTES(literal)                                                                             \
    {                                                                                              \
        (literal), sizeof(literal) - 1                                                             \
    }

struct sample {
    const char *what;
    struct bytes names, entries;
    uint32_t count;
    struct stream_id first;
};

static const struct sample good[] = {
    { "one", BYTES(""), BYTES("\x01\x01\x01n\x01v"), 1, { 7, 1 } },
    { "next sequence number", BYTES(""), BYTES("\x01\x01\x01n\x01v\x00\x01v"), 2, { 7, 1 } },
    { "later time", BYTES("\x01\x01n"), BYTES("\x08\x01v\x0a\x01v"), 2, { 7, 1 } },
    { "other names", BYTES("\x01\x01n"), BYTES("\x08\x01v\x01\x02\x00\x00\x01v\x00"), 2, { 7, 1 } },
};

static const struct sample bad[] = {
    { "nothing", BYTES(""), BYTES(""), 0, { 7, 1 } },
    { "no entries", BYTES(""), BYTES("\x01\x01\x01n\x01v"), 0, { 7, 1 } },
    { "too few", BYTES(""), BYTES("\x01\x01\x01n\x01v"), 2, { 7, 1 } },
    { "too many", BYTES(""), BYTES("\x01\x01\x01n\x01v\x00\x01v"), 1, { 7, 1 } },
    { "no names", BYTES(""), BYTES("\x08\x01v"), 1, { 7, 1 } },
    { "an empty list of names", BYTES(""), BYTES("\x01\x00"), 1, { 7, 1 } },
    { "names without use", BYTES("\x01\x01n"), BYTES("\x01\x01\x01n\x01v"), 1, { 7, 1 } },
    { "names with a tail", BYTES("\x01\x01nn"), BYTES("\x08\x01v"), 1, { 7, 1 } },
    { "value beyond the end", BYTES(""), BYTES("\x01\x01\x01n\x02v"), 1, { 7, 1 } },
    { "name beyond the end", BYTES(""), BYTES("\x01\x01\x7fn\x01v"), 1, { 7, 1 } },
    { "names beyond the end", BYTES(""), BYTES("\x01\xff\xff\xff\x7f\x01n\x01v"), 1, { 7, 1 } },
    { "long varint", BYTES(""), BYTES("\x01\x01\x81\x00n\x01v"), 1, { 7, 1 } },
    { "endless varint",
      BYTES(""),
      BYTES("\x01\x01\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff"),
      1,
      { 7, 1 } },
    { "more than 64 bits",
      BYTES("\x01\x01n"),
      BYTES("\x08\x01v\xfa\xff\xff\xff\xff\xff\xff\xff\xff\xff\x03\x01v"),
      2,
      { 7, 1 } },
    { "same ID", BYTES("\x01\x01n"), BYTES("\x08\x01v\x04\x00\x01v"), 2, { 7, 1 } },
    { "no sequence number left",
      BYTES("\x01\x01n"),
      BYTES("\x08\x01v\x00\x01v"),
      2,
      { 7, UINT64_MAX } },
    { "no time left", BYTES("\x01\x01n"), BYTES("\x08\x01v\x0a\x01v"), 2, { UINT64_MAX, 1 } },
    { "time and next number", BYTES("\x01\x01n"), BYTES("\x08\x01v\x08\x01v"), 2, { 7, 1 } },
    { "zero, but given", BYTES("\x01\x01n"), BYTES("\x08\x01v\x0c\x00\x01v"), 2, { 7, 1 } },
    { "wide without need",
      BYTES("\x01\x01n"),
      BYTES("\x08\x01v\x0e\x01\x00\x00\x00\x00\x00\x00\x00\x01v"),
      2,
      { 7, 1 } },
    { "wide, cut", BYTES("\x01\x01n"), BYTES("\x08\x01v\x0e\x01\x00\x00"), 2, { 7, 1 } },
};

static struct stream_packed packed_of(const struct sample *sample)
{
    return (struct stream_packed){ .names = sample->names,
                                   .entries = sample->entries,
                                   .count = sample->count,
                                   .first = sample->first };
}

START_TEST(only_bytes_that_a_block_may_contain_are_accepted)
{
    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
        struct stream_packed packed = packed_of(&good[i]);
        ck_assert_msg(stream_packed_check(&packed), "%s", good[i].what);
    }
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct stream_packed packed = packed_of(&bad[i]);
        ck_assert_msg(!stream_packed_check(&packed), "%s", bad[i].what);
    }
}
END_TEST

START_TEST(block_of_more_bytes_than_any_is_refused)
{
    char *bytes = calloc(1, STREAM_PACKED_MAX + 8);
    memcpy(bytes, "\x01\x01\x01n\xf8\xff\x01", 7); /* a value of 32,760 bytes */
    struct stream_packed packed = { .entries = bytes_of(bytes, 7 + 32760), .count = 1 };
    ck_assert(stream_packed_check(&packed));
    memcpy(bytes, "\x01\x01\x01n\xfa\xff\x01", 7);
    packed.entries.len += 2;
    ck_assert(!stream_packed_check(&packed));
    free(bytes);
}
END_TEST

/* ---- damage ---------------------------------------------------------------------------------- */

/* A copy whose ends a sanitizer watches. */
static struct bytes copy_of(struct bytes from, size_t len)
{
    char *copy = malloc(len > 0 ? len : 1);
    memset(copy, 0, len);
    memcpy(copy, from.data, from.len < len ? from.len : len);
    return bytes_of(copy, len);
}

static void flip(struct rng *rng, struct bytes text)
{
    if (text.len > 0)
        ((char *)(uintptr_t)text.data)[rng_below(rng, text.len)] ^= (char)(1u << rng_below(rng, 8));
}

static struct stream_id random_id(struct rng *rng, struct stream_id id)
{
    switch (rng_below(rng, 5)) {
    case 0: return id_of(id.ms + 1 + rng_below(rng, 40), 0);
    case 1: return id_of(id.ms + 30 + rng_below(rng, 3000), rng_next(rng) >> rng_below(rng, 64));
    case 2:
        if (id.seq < UINT64_MAX / 2) return id_of(id.ms, id.seq + 1 + rng_below(rng, 300));
        return id_of(id.ms + 1, 5);
    default: stream_id_up(&id); return id;
    }
}

/* A stream with removed entries, whose first block begins with names. */
static struct stream *random_stream(struct rng *rng)
{
    struct stream *stream = stream_new();
    struct stream_id id = { 0, 0 }, ids[60];
    bool is_other = false;
    for (size_t i = 0; i < 60; i++) {
        ids[i] = id = random_id(rng, id);
        if (rng_chance(rng, 20)) is_other = !is_other;
        stream_append(stream, id, is_other ? other : pair, is_other ? 4 : 2);
    }
    stream_cut(stream, rng_below(rng, 10));
    for (size_t i = 0; i < 15; i++)
        stream_remove(stream, ids[rng_below(rng, 60)]);
    return stream;
}

/* The entries can be found, and removed in any order. */
static void use(struct rng *rng, const struct stream_packed *packed)
{
    struct stream *stream = stream_new();
    struct stream_walk walk;
    struct stream_entry entry;
    size_t count = 0;
    stream_append_packed(stream, packed);
    stream_check(stream);
    stream_walk_down(&walk, stream, STREAM_ID_MAX);
    while (stream_walk_next(&walk, &entry))
        count++;
    ck_assert_uint_eq(count, packed->count);
    for (; count > 0; count--) {
        struct stream_id id;
        ck_assert(stream_id_at(stream, rng_below(rng, count), &id));
        ck_assert(stream_remove(stream, id));
        stream_check(stream);
    }
    stream_free(stream);
}

START_TEST(damaged_block_is_refused_or_a_stream_that_works)
{
    struct rng rng;
    size_t accepted = 0, refused = 0;
    rng_init(&rng, test_seed());
    for (unsigned i = 0; i < SANITIZED_TENTH(3000); i++) {
        struct stream *stream = random_stream(&rng);
        struct stream_walk walk;
        struct stream_packed packed;
        stream_walk_up(&walk, stream, STREAM_ID_MIN);
        ck_assert(stream_walk_packed(&walk, &packed));
        for (unsigned way = 0; way < 8; way++) {
            size_t cut = way == 1 ? 1 + rng_below(&rng, packed.entries.len) : 0;
            struct stream_packed read = {
                .names = copy_of(packed.names, packed.names.len + (way == 2)),
                .entries = copy_of(packed.entries, packed.entries.len - cut + (way == 3)),
                .count = packed.count - (way == 4) + (way == 5),
                .first = packed.first,
            };
            if (way == 6) read.first = id_of(rng_next(&rng), rng_next(&rng));
            if (way == 7) flip(&rng, rng_chance(&rng, 10) ? read.names : read.entries);
            bool fits = stream_packed_check(&read);
            if (way == 0) {
                ck_assert(fits && stream_id_equal(read.last, packed.last));
                ck_assert_uint_eq(read.own_names, packed.own_names);
            }
            if (way > 0 && way < 6) ck_assert(!fits);
            accepted += fits;
            refused += !fits;
            if (fits) use(&rng, &read);
            free((void *)(uintptr_t)read.names.data);
            free((void *)(uintptr_t)read.entries.data);
        }
        stream_free(stream);
    }
    ck_assert_uint_gt(accepted, SANITIZED_TENTH(3000));
    ck_assert_uint_gt(refused, SANITIZED_TENTH(3000) * 5);
}
END_TEST

Suite *test_suite(void)
{
    const TTest *const tests[] = {
        walk_passes_over_each_block,
        block_that_lost_most_entries_is_read_one_by_one,
        huge_entry_is_read_by_itself,
        walk_inside_a_block_reads_to_its_end,
        stream_grows_in_the_last_block_that_was_added,
        only_bytes_that_a_block_may_contain_are_accepted,
        block_of_more_bytes_than_any_is_refused,
        damaged_block_is_refused_or_a_stream_that_works,
        NULL,
    };
    return suite_of("stream_packed", tests);
}
