/* Tests of damage: files and payloads cut and changed anywhere give a status, and nothing else: no
 * read too far, no key that is left open, no memory that is kept. */
#include <stdio.h>

#include "proto/rdb/rdb_read.h"
#include "proto/rdb/rdb_write.h"
#include "store/mem/mem.h"
#include "tests/support/rng.h"
#include "tests/support/suite.h"
#include "tests/unit/proto/rdb/samples.h"
#include "tests/unit/proto/rdb/visited.h"

static struct visited visited;
static struct rdb_error error;

/* Reads from a block of the exact size. */
static enum rdb_status read_bytes(const struct rdb_visitor *visitor, struct bytes bytes,
                                  bool is_payload)
{
    struct rdb_source source;
    enum rdb_status status;
    char *block = malloc(bytes.len + (bytes.len == 0));
    memcpy(block, bytes.data, bytes.len);
    if (is_payload) {
        status = rdb_read_payload((struct bytes){ block, bytes.len }, visitor, &error);
    } else {
        rdb_source_of_memory(&source, block, bytes.len);
        status = rdb_read(&source, visitor, &error);
        rdb_source_drop(&source);
    }
    free(block);
    visited_check(&visited, status, &error);
    return status;
}

static enum rdb_status read_again(struct bytes bytes, bool is_payload)
{
    struct rdb_visitor visitor = visited_visitor(&visited);
    visitor.max_string = 1 << 20;
    return read_bytes(&visitor, bytes, is_payload);
}

START_TEST(truncated_file_is_damaged)
{
    struct made *made = file_of_everything();
    struct bytes bytes = made_bytes(made);
    ck_assert_int_eq(read_again(bytes, false), RDB_OK);
    for (bytes.len = 0; bytes.len < made->len; bytes.len++)
        ck_assert_int_eq(read_again(bytes, false), bytes.len < 9 ? RDB_FOREIGN : RDB_DAMAGED);
    free(made);
}
END_TEST

START_TEST(truncated_value_is_damaged)
{
    for (int i = 0; i < SAMPLES; i++) {
        struct made *value = samples[i].add(payload(samples[i].type));
        for (size_t len = 0; len < value->len; len++) {
            struct made *cut = payload_end(raw(made_new(), value->at, len), 10);
            ck_assert_int_eq(read_again(made_bytes(cut), true), RDB_DAMAGED);
            ck_assert_uint_le(error.offset, len);
            free(cut);
        }
        free(value);
    }
}
END_TEST

START_TEST(truncated_hash_of_valkey_is_damaged)
{
    struct made *value = add_valkey_hash(payload(22), 1700000000999);
    for (size_t len = 0; len <= value->len; len++) {
        struct made *cut = payload_end(raw(made_new(), value->at, len), 80);
        ck_assert_int_eq(read_again(made_bytes(cut), true),
                         len == value->len ? RDB_OK : RDB_DAMAGED);
        free(cut);
    }
    free(value);
}
END_TEST

static unsigned char edge_byte(struct rng *rng)
{
    static const unsigned char edges[] = { 0,   1,   2,   63,  64,  127, 128,
                                           129, 192, 195, 240, 253, 254, 255 };
    return rng_chance(rng, 50) ? edges[rng_below(rng, sizeof(edges))]
                               : (unsigned char)rng_next(rng);
}

/* One to four changes: a byte, a bit, a byte more, a byte less. Never the first `head` ones. */
static void mutate(struct made *made, size_t head, struct rng *rng)
{
    for (uint64_t changes = 1 + rng_below(rng, 4); changes > 0 && made->len > head; changes--) {
        size_t at = head + rng_below(rng, made->len - head);
        switch (rng_below(rng, 5)) {
        case 0: made->at[at] ^= (unsigned char)(1 << rng_below(rng, 8)); break;
        case 1:
            memmove(made->at + at + 1, made->at + at, made->len++ - at);
            made->at[at] = edge_byte(rng);
            break;
        case 2: memmove(made->at + at, made->at + at + 1, --made->len - at); break;
        default: made->at[at] = edge_byte(rng); break;
        }
    }
}

START_TEST(changed_payloads_are_read_completely_or_rejected)
{
    struct rng rng;
    int whole = 0;
    rng_init(&rng, test_seed());
    struct made *made = made_new();
    for (int round = 0; round < 100000; round++) {
        const struct sample *sample = &samples[rng_below(&rng, SAMPLES)];
        made->len = 0;
        bool valkey = rng_chance(&rng, 20);
        if (valkey)
            add_valkey_hash(byte(made, 22), 1700000000999);
        else
            sample->add(byte(made, sample->type));
        mutate(made, rng_chance(&rng, 90) ? 1 : 0, &rng);
        payload_end(made, valkey ? 80 : 12);
        enum rdb_status status = read_again(made_bytes(made), true);
        /* A changed letter is no damage. */
        ck_assert(status == RDB_OK || status == RDB_DAMAGED || status == RDB_TOO_LARGE ||
                  status == RDB_FOREIGN);
        whole += status == RDB_OK;
    }
    free(made);
    ck_assert_int_gt(whole, 1000);
    ck_assert_int_lt(whole, 60000);
}
END_TEST

START_TEST(changed_files_have_an_outcome)
{
    struct rng rng;
    rng_init(&rng, test_seed());
    struct made *all = file_of_everything(), *made = made_new();
    for (int round = 0; round < 3000; round++) {
        made->len = 0;
        raw(made, all->at, all->len - 9);
        mutate(made, 9, &rng);
        file_end(made);
        enum rdb_status status = read_again(made_bytes(made), false);
        ck_assert(status != RDB_STOPPED && status != RDB_UNREADABLE);
    }
    free(all);
    free(made);
}
END_TEST

START_TEST(a_visitor_stops_the_reading_at_any_call)
{
    struct made *made = file_of_everything();
    struct rdb_visitor visitor = visited_visitor(&visited);
    ck_assert_int_eq(read_bytes(&visitor, made_bytes(made), false), RDB_OK);
    int calls = visited.calls;
    for (int left = 0; left < calls; left++) {
        visitor = visited_visitor(&visited);
        visited.left = left;
        ck_assert_int_eq(read_bytes(&visitor, made_bytes(made), false), RDB_STOPPED);
        ck_assert_str_eq(error.text, "stopped");
        ck_assert_int_eq(visited.calls, left + 1);
    }
    free(made);
}
END_TEST

/* ---- memory ---- */

static ssize_t read_stream(void *ctx, void *to, size_t size)
{
    return (ssize_t)fread(to, 1, size, ctx);
}

static enum rdb_status read_in_pieces(struct made *made)
{
    struct rdb_visitor visitor = visited_visitor(&visited);
    struct rdb_source source;
    FILE *stream = fmemopen(made->at, made->len, "r");
    rdb_source_of_reader(&source, read_stream, stream);
    enum rdb_status status = rdb_read(&source, &visitor, &error);
    rdb_source_drop(&source);
    fclose(stream);
    visited_check(&visited, status, &error);
    return status;
}

START_TEST(without_memory_reading_fails_and_keeps_none)
{
    enum { MEMBERS = 5000 };
    struct made *made = length(key(file("0009"), 2, "k"), MEMBERS);
    enum rdb_status status = RDB_TOO_LARGE;
    int round = 0;
    size_t before = mem_used();
    for (int i = 0; i < MEMBERS; i++)
        number(byte(made, 0xc1), 2, i);
    add_pairs(key(made, 4, "hash"));
    add_templates(made);
    for (int i = 0; i < 40; i++)
        text(length(length(byte(made, 242), 100 + (size_t)i), 1), "name");
    values_as_strings(length(key(made, 32, "strings"), 5));
    add_names_packed(key(made, 31, "own names"));
    file_end(add_stream_2(key(made, 19, "stream")));
    for (; status != RDB_OK; round++) {
        mem_fail_try((uint64_t)round + 1);
        status = read_in_pieces(made);
        ck_assert(status == RDB_OK || status == RDB_TOO_LARGE);
        ck_assert_uint_eq(mem_used(), before);
    }
    ck_assert_int_gt(round, 10);
    free(made);
}
END_TEST

static void write_group(struct rdb_writer *writer, const char *name)
{
    const struct bytes text = { name, 1 };
    const struct rdb_pending pending = { { 1, 0 }, 0, 1 };
    rdb_writer_group(writer, &(struct rdb_group){ .name = text }, 1);
    rdb_writer_pending(writer, &pending);
    rdb_writer_consumers(writer, 1);
    rdb_writer_consumer(writer, &(struct rdb_consumer){ .name = text }, 1);
    rdb_writer_owned(writer, pending.id);
}

static bool write_stream(struct rdb_writer *writer, uint64_t count)
{
    struct bytes payload, texts[] = { { "name", 4 }, { "value", 5 } };
    const struct rdb_stream_marks marks = { { count, 0 }, { 0, 0 }, count };
    struct rdb_stream_entry entry = { .texts = texts, .count = 2 };
    rdb_writer_begin(writer, RDB_STREAM, count);
    while (entry.id.ms++ < count)
        rdb_writer_entry(writer, &entry);
    rdb_writer_marks(writer, &marks, 2);
    write_group(writer, "a");
    write_group(writer, "b");
    return rdb_writer_end(writer, &payload);
}

static bool write_some(struct rdb_writer *writer, enum rdb_type type, uint64_t count)
{
    struct bytes payload, text = { "text", 4 };
    char number[24];
    if (type == RDB_STREAM) return write_stream(writer, count);
    rdb_writer_begin(writer, type, count);
    for (uint64_t i = 0; i < count; i++) {
        struct bytes one = { number, (size_t)sprintf(number, "%d", (int)i) };
        switch (type) {
        case RDB_STRING: rdb_writer_string(writer, text); break;
        case RDB_LIST: rdb_writer_element(writer, text); break;
        case RDB_SET: rdb_writer_member(writer, one); break;
        case RDB_HASH: rdb_writer_field(writer, one, text); break;
        default: rdb_writer_scored(writer, one, (double)i); break;
        }
    }
    return rdb_writer_end(writer, &payload);
}

START_TEST(without_memory_writing_fails_and_keeps_none)
{
    size_t before = mem_used();
    for (enum rdb_type type = RDB_STRING; type <= RDB_STREAM; type++)
        for (uint64_t count = 1; count <= 3000; count = type == RDB_STRING ? 9999 : count * 50) {
            bool ok = type == RDB_DEHYDRATOR; /* there are no payloads for these */
            for (int round = 0; !ok; round++) {
                struct rdb_writer writer;
                rdb_writer_init(&writer, RDB_VERSION_7);
                mem_fail_try((uint64_t)round + 1);
                ok = write_some(&writer, type, count);
                rdb_writer_drop(&writer);
                ck_assert_uint_eq(mem_used(), before);
            }
        }
}
END_TEST

Suite *test_suite(void)
{
    const TTest *const tests[] = {
        truncated_file_is_damaged,
        truncated_value_is_damaged,
        truncated_hash_of_valkey_is_damaged,
        changed_payloads_are_read_completely_or_rejected,
        changed_files_have_an_outcome,
        a_visitor_stops_the_reading_at_any_call,
        without_memory_reading_fails_and_keeps_none,
        without_memory_writing_fails_and_keeps_none,
        NULL,
    };
    return suite_of("rdb_damage", tests);
}
