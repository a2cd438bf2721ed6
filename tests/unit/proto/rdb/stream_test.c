/* Tests of streams: written byte for byte as redis-server 7.0.15 DUMPs them (with rdbcompression
 * no), read back as they were, and each inconsistency is damage. */
#include "proto/rdb/rdb_write.h"
#include "tests/support/rng.h"
#include "tests/support/suite.h"
#include "tests/unit/proto/rdb/samples.h"
#include "tests/unit/proto/rdb/visited.h"

#include <string.h>

static struct visited visited;
static struct rdb_error error;

static struct bytes of(const char *text)
{
    return (struct bytes){ text, strlen(text) };
}

static enum rdb_status read_payload(struct bytes payload)
{
    struct rdb_visitor visitor = visited_visitor(&visited);
    enum rdb_status status = rdb_read_payload(payload, &visitor, &error);
    visited_check(&visited, status, &error);
    return status;
}

static struct bytes end(struct rdb_writer *writer)
{
    struct bytes payload;
    ck_assert(rdb_writer_end(writer, &payload));
    ck_assert_int_eq(read_payload(payload), RDB_OK);
    return payload;
}

static void add_entry(struct rdb_writer *writer, uint64_t ms, uint64_t seq,
                      const char *const *words)
{
    struct bytes texts[8];
    struct rdb_stream_entry entry = { .id = { ms, seq }, .texts = texts };
    for (; words[entry.count] != NULL; entry.count++)
        texts[entry.count] = of(words[entry.count]);
    rdb_writer_entry(writer, &entry);
}

#define ENTRY(writer, ms, seq, ...)                                                                \
    add_entry(writer, ms, seq, (const char *const[]){ __VA_ARGS__, NULL })

static void add_two_groups(struct rdb_writer *writer)
{
    struct rdb_pending pending = { { 1000, 5 }, 1700000000000, 3 };
    const struct rdb_group g = { of("g"), { 1000, 6 }, 2 }, numbered = { of("17"), { 9, 9 }, -1 };
    const struct rdb_consumer a = { of("a"), 0x01a2058758bd, 0 }, b = { of("b"), a.seen_at, 0 };
    rdb_writer_group(writer, &numbered, 0);
    rdb_writer_consumers(writer, 0);
    rdb_writer_group(writer, &g, 2);
    rdb_writer_pending(writer, &pending);
    pending.id.seq = 6;
    rdb_writer_pending(writer, &pending);
    rdb_writer_consumers(writer, 2);
    rdb_writer_consumer(writer, &a, 0);
    rdb_writer_consumer(writer, &b, 2);
    rdb_writer_owned(writer, (struct rdb_stream_id){ 1000, 5 });
    rdb_writer_owned(writer, (struct rdb_stream_id){ 1000, 6 });
}

static struct rdb_writer small_stream(int version)
{
    const struct rdb_stream_marks marks = { { 1002, 0 }, { 0, 0 }, 4 };
    struct rdb_writer writer;
    rdb_writer_init(&writer, version);
    rdb_writer_begin(&writer, RDB_STREAM, 4);
    ENTRY(&writer, 1000, 5, "f", "v", "n", "12");
    ENTRY(&writer, 1000, 6, "f", "w", "n", "-70000");
    ENTRY(&writer, 1001, 0, "g", "");
    ENTRY(&writer, 1002, 0, "f", "x");
    rdb_writer_marks(&writer, &marks, 2);
    add_two_groups(&writer);
    return writer;
}

/* ---- writing ---- */

#define NODE_BYTES                                                                                 \
    "\x01\x10\x00\x00\x00\x00\x00\x00\x03\xe8\x00\x00\x00\x00\x00\x00\x00\x05\x40\x53\x53\x00\x00" \
    "\x00\x20\x00\x04\x01\x00\x01\x02\x01\x81\x66\x02\x81\x6e\x02\x00\x01\x02\x01\x00\x01\x00\x01" \
    "\x81\x76\x02\x0c\x01\x05\x01\x02\x01\x00\x01\x01\x01\x81\x77\x02\xf2\x90\xee\xfe\x04\x05\x01" \
    "\x00\x01\x01\x01\xdf\xfb\x02\x01\x01\x81\x67\x02\x80\x01\x06\x01\x00\x01\x02\x01\xdf\xfb\x02" \
    "\x01\x01\x81\x66\x02\x81\x78\x02\x06\x01\xff\x04\x43\xea\x00"
#define PENDING_BYTES                                                                              \
    "\x02\x00\x00\x00\x00\x00\x00\x03\xe8\x00\x00\x00\x00\x00\x00\x00\x05\x00\x68\xe5\xcf\x8b\x01" \
    "\x00\x00\x03\x00\x00\x00\x00\x00\x00\x03\xe8\x00\x00\x00\x00\x00\x00\x00\x06\x00\x68\xe5\xcf" \
    "\x8b\x01\x00\x00\x03\x02\x01\x61\xbd\x58\x87\x05\xa2\x01\x00\x00\x00\x01\x62\xbd\x58\x87\x05" \
    "\xa2\x01\x00\x00\x02\x00\x00\x00\x00\x00\x00\x03\xe8\x00\x00\x00\x00\x00\x00\x00\x05\x00\x00" \
    "\x00\x00\x00\x00\x03\xe8\x00\x00\x00\x00\x00\x00\x00\x06"
#define ENTRIES_READ "1000-5(f=v n=12) 1000-6(f=w n=-70000) 1001-0(g=) 1002-0(f=x) "
#define CONSUMERS_READ                                                                             \
    "consumer a 1795389085885 1795389085885 consumer b 1795389085885 1795389085885 "               \
    "1000-5@1700000000000*3 1000-6@1700000000000*3; "

START_TEST(streams_are_written_as_by_redis)
{
    static const char wanted[] =
        "\x13" NODE_BYTES "\x43\xe8\x05\x00\x00\x04\x02\xc0\x11\x09\x09\x81\xff\xff\xff\xff"
        "\xff\xff\xff\xff\x00\x00\x01\x67\x43\xe8\x06\x02" PENDING_BYTES
        "\x0a\x00\x00\xdc\x04\x5c\x57\xe4\x7d\xb9";
    struct rdb_writer writer = small_stream(RDB_VERSION_7);
    struct bytes payload = end(&writer);
    ck_assert_uint_eq(payload.len, sizeof(wanted) - 1);
    ck_assert_mem_eq(payload.data, wanted, payload.len);
    ck_assert_str_eq(visited.text, "stream : " ENTRIES_READ "last 1002-0 deleted 0-0 added 4 "
                                   "group 17 9-9 -1 group g 1000-6 2 " CONSUMERS_READ);
    rdb_writer_drop(&writer);
}
END_TEST

START_TEST(version_9_leaves_out_what_redis_5_does_not_know)
{
    static const char wanted[] = "\x0f" NODE_BYTES "\x02\xc0\x11\x09\x09\x00\x00"
                                 "\x01\x67\x43\xe8\x06" PENDING_BYTES "\x09\x00";
    struct rdb_writer writer = small_stream(RDB_VERSION_5);
    struct bytes payload = end(&writer);
    ck_assert_uint_eq(payload.len, sizeof(wanted) - 1 + 8);
    ck_assert_mem_eq(payload.data, wanted, sizeof(wanted) - 1);
    ck_assert_str_eq(visited.text, "stream : " ENTRIES_READ "last 1002-0 deleted 0-0 added 4 "
                                   "group 17 9-9 0 group g 1000-6 -1 " CONSUMERS_READ);
    rdb_writer_drop(&writer);
}
END_TEST

START_TEST(empty_streams_are_written_as_by_redis)
{
    static const char wanted[] = "\x13\x00\x00\x01\x01\x00\x00\x01\x01\x01\x00\x0a\x00\xcd\xa1\x62"
                                 "\x12\xd3\x4b\xf3\x96";
    const struct rdb_stream_marks marks = { { 1, 1 }, { 1, 1 }, 1 };
    struct rdb_writer writer;
    rdb_writer_init(&writer, RDB_VERSION_7);
    rdb_writer_begin(&writer, RDB_STREAM, 0);
    rdb_writer_marks(&writer, &marks, 0);
    struct bytes payload = end(&writer);
    ck_assert_uint_eq(payload.len, sizeof(wanted) - 1);
    ck_assert_mem_eq(payload.data, wanted, payload.len);
    rdb_writer_drop(&writer);
}
END_TEST

/* Leaves out, or adds, the part of this number; 0 changes nothing. */
static bool write_with_fault(struct rdb_writer *writer, int fault)
{
    const struct rdb_stream_marks marks = { { fault == 1 ? 1 : 5, 0 }, { 0, 0 }, 1 };
    const struct rdb_pending pending = { { 2, 0 }, 0, 1 };
    const struct rdb_group group = { of("g"), { 2, 0 }, 1 };
    const struct rdb_consumer consumer = { of("c"), 0, 0 };
    struct bytes payload;
    rdb_writer_begin(writer, RDB_STREAM, 1);
    if (fault == 2) ENTRY(writer, 2, 0, "without a value");
    if (fault == 3) rdb_writer_marks(writer, &marks, 1);
    if (fault != 4) ENTRY(writer, 2, 0, "f", "v");
    if (fault == 5) ENTRY(writer, 2, 0, "f", "v");
    if (fault != 6) rdb_writer_marks(writer, &marks, 1);
    if (fault == 7) rdb_writer_consumers(writer, 1);
    if (fault != 8) rdb_writer_group(writer, &group, 1);
    if (fault != 9) rdb_writer_pending(writer, &pending);
    if (fault == 10) rdb_writer_pending(writer, &pending);
    if (fault != 11) rdb_writer_consumers(writer, 1);
    if (fault != 12) rdb_writer_consumer(writer, &consumer, 1);
    if (fault != 13) rdb_writer_owned(writer, pending.id);
    if (fault == 14) rdb_writer_owned(writer, pending.id);
    if (fault == 15) rdb_writer_consumer(writer, &consumer, 0);
    if (fault == 16) rdb_writer_group(writer, &group, 0);
    if (fault == 17) rdb_writer_member(writer, of("m"));
    return rdb_writer_end(writer, &payload);
}

START_TEST(parts_out_of_place_give_no_payload)
{
    struct rdb_writer writer;
    rdb_writer_init(&writer, RDB_VERSION_7);
    ck_assert(write_with_fault(&writer, 0));
    for (int fault = 1; fault <= 17; fault++)
        ck_assert_msg(!write_with_fault(&writer, fault), "fault %d", fault);
    ck_assert(write_with_fault(&writer, 0));
    rdb_writer_drop(&writer);
}
END_TEST

/* ---- what is written comes back ---- */

enum { MAX_TEXTS = 12, MAX_TEXT = 300 };

struct seen {
    uint64_t hash, entries;
};

static void fold(struct seen *seen, const void *data, size_t len)
{
    const unsigned char *at = data;
    for (size_t i = 0; i < len; i++)
        seen->hash = (seen->hash ^ at[i]) * UINT64_C(1099511628211);
    seen->hash = (seen->hash ^ len) * UINT64_C(1099511628211);
}

static bool see_entry(void *ctx, const struct rdb_stream_entry *entry)
{
    fold(ctx, &entry->id, sizeof(entry->id));
    for (size_t i = 0; i < entry->count; i++)
        fold(ctx, entry->texts[i].data, entry->texts[i].len);
    ((struct seen *)ctx)->entries++;
    return true;
}

static struct bytes random_field(struct rng *rng, char *to, bool is_name)
{
    size_t len = rng_below(rng, rng_chance(rng, 5) ? MAX_TEXT : 9);
    if (is_name) return (struct bytes){ to, (size_t)sprintf(to, "%d", (int)(len % 3) - 1) };
    if (rng_chance(rng, 40)) {
        int64_t value = (int64_t)(rng_next(rng) >> rng_below(rng, 64));
        return (struct bytes){ to, (size_t)sprintf(to, "%lld", (long long)value) };
    }
    for (size_t i = 0; i < len; i++)
        to[i] = (char)rng_next(rng);
    return (struct bytes){ to, len };
}

static void add_random_entry(struct rdb_writer *writer, struct rng *rng, struct rdb_stream_id *id,
                             struct seen *wanted)
{
    char to[MAX_TEXTS][MAX_TEXT + 32];
    struct bytes texts[MAX_TEXTS];
    struct rdb_stream_entry entry = { .texts = texts, .count = 2 + 2 * rng_below(rng, 5) };
    for (size_t i = 0; i < entry.count; i++)
        texts[i] = random_field(rng, to[i], i % 2 == 0);
    if (rng_chance(rng, 60))
        id->seq += 1 + rng_below(rng, 300);
    else
        *id = (struct rdb_stream_id){ id->ms + 1 + (rng_next(rng) >> (5 + rng_below(rng, 58))),
                                      rng_next(rng) >> (1 + rng_below(rng, 63)) };
    entry.id = *id;
    rdb_writer_entry(writer, &entry);
    see_entry(wanted, &entry);
}

START_TEST(random_streams_round_trip)
{
    struct rng rng;
    struct rdb_writer writer;
    struct bytes payload;
    rng_init(&rng, test_seed());
    for (int round = 0; round < 600; round++) {
        uint64_t count = rng_below(&rng, rng_chance(&rng, 10) ? 1000 : 30);
        struct rdb_stream_marks marks = { { 0, 0 }, { 0, 0 }, count };
        struct seen wanted = { 0, 0 }, found = { 0, 0 };
        struct rdb_visitor visitor = { .ctx = &found, .stream_entry = see_entry };
        rdb_writer_init(&writer, round % 2 == 0 ? RDB_VERSION_5 : RDB_VERSION_7);
        rdb_writer_begin(&writer, RDB_STREAM, count);
        for (uint64_t i = 0; i < count; i++)
            add_random_entry(&writer, &rng, &marks.last, &wanted);
        rdb_writer_marks(&writer, &marks, 0);
        ck_assert(rdb_writer_end(&writer, &payload));
        ck_assert_msg(rdb_read_payload(payload, &visitor, &error) == RDB_OK, "%s", error.text);
        ck_assert_uint_eq(found.entries, count);
        ck_assert_uint_eq(found.hash, wanted.hash);
        rdb_writer_drop(&writer);
    }
}
END_TEST

/* ---- damage ---- */

/* Faults in the bytes of a stream with one entry 1000-1, and a deleted one 1001-2. Those without a
 * text below are none. */
enum fault {
    NONE,
    LAST_BELOW_DELETED, /* no fault: XSETID set it back */
    MORE_ENTRIES,
    FEWER_ENTRIES,
    MORE_DELETED,
    NEGATIVE_COUNT,
    NO_END_OF_NAMES,
    UNKNOWN_FLAG,
    TEXT_FOR_NUMBER,
    WRONG_ITEMS,
    NO_FIELDS,
    NOT_IN_ORDER,
    ITEMS_BEHIND,
    SHORT_ID,
    NODES_NOT_IN_ORDER,
    WRONG_LENGTH,
    LAST_TOO_LOW,
    ADDED_TOO_FEW,
    NEGATIVE_READ,
    TWO_GROUPS,
    PENDING_NOT_IN_ORDER,
    PENDING_UNKNOWN,
    PENDING_OF_TWO,
    PENDING_OF_NOBODY,
    TWO_CONSUMERS,
    FAULTS
};

static const char *const texts_of_faults[FAULTS] = {
    [MORE_ENTRIES] = "a stream node that ends within an entry",
    [FEWER_ENTRIES] = "a stream node with more entries than its header counts",
    [MORE_DELETED] = "a stream node that ends within an entry",
    [NEGATIVE_COUNT] = "a stream node with a negative count",
    [NO_END_OF_NAMES] = "a stream node without the end of its names",
    [UNKNOWN_FLAG] = "a stream entry with an unknown flag",
    [TEXT_FOR_NUMBER] = "a stream node with text in place of a number",
    [WRONG_ITEMS] = "a stream entry with a wrong number of items",
    [NO_FIELDS] = "a stream entry without fields",
    [NOT_IN_ORDER] = "stream entries that are not in order",
    [ITEMS_BEHIND] = "items after the last entry of a stream node",
    [SHORT_ID] = "a stream node without an ID",
    [NODES_NOT_IN_ORDER] = "stream entries that are not in order",
    [WRONG_LENGTH] = "a stream with a wrong number of entries",
    [LAST_TOO_LOW] = "a stream whose last ID is below that of an entry",
    [ADDED_TOO_FEW] = "a stream with more entries than were added",
    [NEGATIVE_READ] = "a group with a negative number of entries read",
    [TWO_GROUPS] = "a duplicate part of a value",
    [PENDING_NOT_IN_ORDER] = "a group's pending entries that are not in order",
    [PENDING_UNKNOWN] = "a consumer's pending entry that its group does not have",
    [PENDING_OF_TWO] = "a pending entry of two consumers",
    [PENDING_OF_NOBODY] = "a pending entry without a consumer",
    [TWO_CONSUMERS] = "a duplicate part of a value",
};

static struct made *node_with(enum fault fault)
{
    struct made *lp = lp_small(listpack(), 1 + (fault == MORE_ENTRIES || fault == NOT_IN_ORDER) -
                                               (fault == FEWER_ENTRIES));
    unsigned count = 15;
    if (fault == NEGATIVE_COUNT)
        lp_int64(lp, -1);
    else
        lp_small(lp, 1 + (fault == MORE_DELETED) - (fault == NOT_IN_ORDER));
    lp_small(lp_text(lp_small(lp, 1), "f"), fault == NO_END_OF_NAMES);
    if (fault == TEXT_FOR_NUMBER)
        lp_text(lp, "2");
    else
        lp_small(lp, fault == UNKNOWN_FLAG ? 6 : fault == NO_FIELDS ? 0 : 2);
    lp_small(lp_small(lp, 0), fault == NOT_IN_ORDER ? 9 : 0);
    if (fault == NO_FIELDS)
        lp_small(lp, 0);
    else
        lp_text(lp, "v");
    lp_small(lp, fault == WRONG_ITEMS ? 5 : 4);
    lp_smalls(lp, fault == NOT_IN_ORDER ? 2 : 3, fault == NOT_IN_ORDER ? 0 : 1, 1);
    lp_small(lp_text(lp, "x"), 4);
    if (fault == ITEMS_BEHIND) lp_small(lp, (int)count++);
    return lp_end(lp, count);
}

static struct made *nodes_with(struct made *to, enum fault fault)
{
    struct made *id = big_endian_id(made_new(), 1000, 1);
    if (fault == SHORT_ID) id->len--;
    length(to, fault == NODES_NOT_IN_ORDER ? 2 : 1);
    blob(blob(to, id), node_with(fault));
    if (fault == NODES_NOT_IN_ORDER)
        blob(blob(to, big_endian_id(made_new(), 1000, 1)), node_with(NONE));
    length(to, fault == WRONG_LENGTH ? 2 : 1);
    length(length(to, fault == LAST_BELOW_DELETED ? 1000 : fault == LAST_TOO_LOW ? 999 : 1001), 2);
    length(length(length(length(to, 1000), 1), 1001), 2);
    return length(to, fault == ADDED_TOO_FEW ? 0 : 2);
}

static struct made *stream_with(enum fault fault)
{
    struct made *to = nodes_with(payload(19), fault);
    text(length(to, fault == TWO_GROUPS ? 2 : 1), "group");
    length(length(to, 1), 0);
    if (fault == NEGATIVE_READ)
        number(byte(to, 0x81), 8, -2);
    else
        length(to, 0);
    length(number(big_endian_id(length(to, 2), 1000, 1), 8, 99), 1);
    length(number(big_endian_id(to, 1000, fault == PENDING_NOT_IN_ORDER ? 1 : 2), 8, 99), 1);
    sample_consumer(length(to, 2), "a", 19);
    big_endian_id(length(to, 1), 1000, fault == PENDING_UNKNOWN ? 3 : 1);
    sample_consumer(to, fault == TWO_CONSUMERS ? "a" : "b", 19);
    length(to, fault != PENDING_OF_NOBODY);
    if (fault != PENDING_OF_NOBODY) big_endian_id(to, 1000, fault == PENDING_OF_TWO ? 1 : 2);
    if (fault == TWO_GROUPS) length(length(length(text(to, "group"), 1), 0), 0);
    if (fault == TWO_GROUPS) length(length(to, 0), 0);
    return payload_end(to, 12);
}

START_TEST(stream_that_contradicts_itself_is_damaged)
{
    for (enum fault fault = NONE; fault < FAULTS; fault++) {
        struct made *made = stream_with(fault);
        enum rdb_status status = read_payload(made_bytes(made));
        const char *wrong = texts_of_faults[fault];
        ck_assert_msg(status == (wrong == NULL ? RDB_OK : RDB_DAMAGED), "fault %d", (int)fault);
        ck_assert_str_eq(error.text, wrong == NULL ? "" : wrong);
        free(made);
    }
}
END_TEST

Suite *test_suite(void)
{
    const TTest *const tests[] = {
        streams_are_written_as_by_redis,
        version_9_leaves_out_what_redis_5_does_not_know,
        empty_streams_are_written_as_by_redis,
        parts_out_of_place_give_no_payload,
        random_streams_round_trip,
        stream_that_contradicts_itself_is_damaged,
        NULL,
    };
    return suite_of("rdb_stream", tests);
}
