/* Tests of replay: random programs become journals, and journals the same data again; cut, flipped
 * or overwritten, they never become anything but what some whole records had made. */
#include "server/persist/format/replay.h"

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "server/persist/format/crc32c.h"
#include "server/persist/format/record.h"
#include "store/base/ensure.h"
#include "store/mem/mem.h"
#include "tests/support/program.h"
#include "tests/support/server_world.h"
#include "tests/support/suite.h"

enum { UNITS_MAX = 4096, DATABASES = 16 };

/* A journal in memory, as a file, and what the data was behind each of its records. */
struct journal {
    int fd;
    uint64_t size;
    uint32_t sum;
    struct outbuf out;
    struct effect_writer writer;
    size_t records;
    uint64_t ends[UNITS_MAX + 1];         /* of the first line, and of each record */
    struct digest digests[UNITS_MAX + 1]; /* there */
};

static struct journal journal;
static struct replay_file result;

static void append(const void *data, size_t len)
{
    ensure(pwrite(journal.fd, data, len, (off_t)journal.size) == (ssize_t)len, "a write");
    journal.sum = crc32c(journal.sum, data, len);
    journal.size += len;
}

static void append_waiting(void)
{
    size_t len = journal.out.len;
    char *text = mem_alloc(len + 1);
    outbuf_copy(&journal.out, text);
    outbuf_consume(&journal.out, len);
    append(text, len);
    mem_free(text);
}

static void journal_begin(void)
{
    journal.fd = memfd_create("journal", 0);
    ensure(journal.fd >= 0, "no file");
    journal.size = journal.sum = 0;
    journal.records = 0;
    outbuf_init(&journal.out);
    effect_writer_init(&journal.writer, &journal.out);
    append(RECORD_FIRST_LINE, strlen(RECORD_FIRST_LINE));
    journal.ends[0] = journal.size;
    journal.digests[0] = (struct digest){ 0, 0 };
}

static void journal_end(void)
{
    outbuf_drop(&journal.out);
    close(journal.fd);
}

static void end_record(const struct store *store)
{
    char line[RECORD_SUM_LINE];
    effect_writer_end(&journal.writer);
    append_waiting();
    record_print_sum(line, journal.sum);
    append(line, sizeof(line));
    ensure(journal.records < UNITS_MAX, "%zu records", journal.records);
    journal.ends[++journal.records] = journal.size;
    if (store != NULL) journal.digests[journal.records] = store_digest(store, INT64_MIN);
}

/* One record of these bytes, whatever they are. */
static void add_text(const char *text)
{
    outbuf_append(&journal.out, text, strlen(text));
    end_record(NULL);
}

static void add_effect(const struct effect *effect)
{
    effect_writer_put(&journal.writer, effect);
    end_record(NULL);
}

/* ---- replaying ------------------------------------------------------------------------------- */

static struct store *replayed(void)
{
    struct store *store = store_new(DATABASES);
    struct replay replay;
    replay_init(&replay, store, 1);
    replay_records(&replay, journal.fd, NULL, &result);
    replay_drop(&replay);
    store_check(store);
    return store;
}

static bool same(struct digest a, struct digest b)
{
    return a.high == b.high && a.low == b.low;
}

/* Whatever the file is now: it is replayed up to some record's end, and the data is what it was
 * there.
 */
static void assert_whole_records(void)
{
    struct store *store = replayed();
    ck_assert_uint_le(result.records, journal.records);
    if (result.good > 0) ck_assert_uint_eq(result.good, journal.ends[result.records]);
    ck_assert_msg(same(store_digest(store, INT64_MIN), journal.digests[result.records]),
                  "after %zu records: %s", (size_t)result.records, result.reason);
    store_free(store);
}

static void assert_ends(enum replay_end end, size_t records)
{
    struct store *store = replayed();
    store_free(store);
    ck_assert_msg(result.end == end, "%d: %s", (int)result.end, result.reason);
    ck_assert_uint_eq(result.records, records);
    ck_assert_uint_eq(result.good, journal.ends[records]);
}

/* ---- random programs ------------------------------------------------------------------------- */

struct run {
    struct rng rng;
    struct program_source source;
    struct program_rows rows;
    struct server_world world;
    struct program_call call;
    size_t kept; /* effects that are in the journal */
};

static unsigned draw(void *ctx, unsigned limit)
{
    return (unsigned)rng_below(ctx, limit);
}

/* What the last step has changed is a record. */
static void keep_record(struct run *run)
{
    const struct world *world = &run->world.world;
    for (; run->kept < world->effect_count; run->kept++)
        effect_writer_put(&journal.writer, &world->effects[run->kept].effect);
    effect_writer_end(&journal.writer);
    if (journal.out.len > 0) end_record(world->store);
}

static void step(struct run *run)
{
    static const char *const lines[] = {
        "SELECT 0",
        "SELECT 1",
        "SELECT 2",
        "POLICY SET s* TTL 60 REFRESH WRITE JITTER 20 MEMBERTTL 30",
        "POLICY SET hash MEMBERTTL 20 MAXTTL 100",
        "POLICY SET list MAXLEN 5",
        "POLICY DEL s*",
        "FLUSHDB",
        "SWAPDB 0 2",
    };
    enum { LINES = sizeof(lines) / sizeof(lines[0]) };
    struct server_world *world = &run->world;
    unsigned way = (unsigned)rng_below(&run->rng, 100);
    if (way < 85) {
        program_make(&run->call, run->rows.refs[rng_below(&run->rng, run->rows.count)],
                     world->world.now, &run->source);
        server_world_call(world, 0, run->call.argc, run->call.argv);
    } else if (way < 95) {
        msec to = world->world.now + rng_between(&run->rng, 0, 20);
        (way < 90 ? server_world_step : server_world_hold)(world, to);
    } else {
        server_world_send(world, 0, lines[rng_below(&run->rng, LINES)]);
    }
    keep_record(run);
}

/* The journal of a random program; the world is the caller's to drop. */
static struct run *random_program(uint64_t seed, unsigned steps)
{
    struct run *run = mem_zalloc(sizeof(*run));
    rng_init(&run->rng, seed);
    run->source = (struct program_source){ draw, &run->rng };
    server_world_init(&run->world, SERVER_WORLD_KEEPS);
    program_rows(&run->rows, run->world.dispatch.commands, program_is_data);
    journal_begin();
    for (unsigned i = 0; i < steps; i++)
        step(run);
    return run;
}

static void drop_program(struct run *run)
{
    journal_end();
    server_world_drop(&run->world);
    mem_free(run);
}

START_TEST(random_programs_come_back_from_their_journals)
{
    for (unsigned i = 0; i < 60; i++) {
        struct run *run = random_program(test_seed() + i, 500);
        struct store *store = replayed(), *live = run->world.world.store;
        msec now = run->world.world.now;
        ck_assert_msg(result.end == REPLAY_WHOLE, "%s", result.reason);
        ck_assert_uint_eq(result.records, journal.records);
        ck_assert_uint_eq(result.good, journal.size);
        ck_assert_uint_eq(result.sum, journal.sum);
        ck_assert(same(store_digest(store, INT64_MIN), store_digest(live, INT64_MIN)));
        ck_assert(same(store_digest(store, now), store_digest(live, now)));
        store_free(store);
        drop_program(run);
    }
}
END_TEST

/* ---- a torn end ------------------------------------------------------------------------------ */

START_TEST(a_cut_journal_loads_as_a_prefix_of_complete_records)
{
    for (unsigned i = 0; i < 4; i++) {
        struct run *run = random_program(test_seed() + i, 150);
        uint64_t least = journal.ends[journal.records > 12 ? journal.records - 12 : 0];
        for (uint64_t size = journal.size; size-- > least;) {
            ensure(ftruncate(journal.fd, (off_t)size) == 0, "a cut");
            assert_whole_records();
            bool at_end = size == journal.ends[result.records];
            ck_assert_msg(result.end == (at_end ? REPLAY_WHOLE : REPLAY_TORN), "at %zu: %s",
                          (size_t)size, result.reason);
            ck_assert_uint_gt(journal.ends[result.records + 1], size);
        }
        drop_program(run);
    }
}
END_TEST

START_TEST(a_torn_first_line_is_torn_and_another_one_is_damage)
{
    static const struct {
        const char *text;
        enum replay_end end;
    } files[] = {
        { "", REPLAY_TORN },
        { "#", REPLAY_TORN },
        { "#EXPIRED-JOURNAL 1\r", REPLAY_TORN },
        { "#EXPIRED-JOURNAL 1\r\n", REPLAY_WHOLE },
        { "#EXPIRED-JOURNAL 2\r\n", REPLAY_DAMAGED },
        { "*1\r\n", REPLAY_DAMAGED },
        { "*2\r\n$6\r\nSELECT\r\n$1\r\n0\r\n", REPLAY_DAMAGED },
    };
    journal_begin();
    for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
        journal.size = 0;
        ensure(ftruncate(journal.fd, 0) == 0, "a cut");
        append(files[i].text, strlen(files[i].text));
        store_free(replayed());
        ck_assert_msg(result.end == files[i].end, "%s: %s", files[i].text, result.reason);
        ck_assert_uint_eq(result.good, result.end == REPLAY_WHOLE ? journal.size : 0);
    }
    journal_end();
}
END_TEST

static const struct effect push = { EFFECT_PUSH_TAIL, .key = LIT("l"), .a = LIT("element") };

START_TEST(a_journal_continues_after_its_cut)
{
    journal_begin();
    add_effect(&push);
    add_effect(&push);
    uint64_t size = journal.size - 3;
    ensure(ftruncate(journal.fd, (off_t)size) == 0, "a cut");
    assert_ends(REPLAY_TORN, 1);
    journal.size = result.good;
    journal.sum = result.sum;
    journal.records = 1;
    ensure(ftruncate(journal.fd, (off_t)result.good) == 0, "a cut");
    effect_writer_restart(&journal.writer);
    add_effect(&push);
    assert_ends(REPLAY_WHOLE, 2);
    struct store *store = replayed();
    ck_assert_uint_eq(list_count(keyspace_find(&store->databases[0], LIT("l"))->object.list), 2);
    store_free(store);
    journal_end();
}
END_TEST

START_TEST(a_bad_last_record_is_torn)
{
    journal_begin();
    add_effect(&push);
    add_effect(&push);
    ensure(pwrite(journal.fd, "E", 1, (off_t)journal.ends[2] - 20) == 1, "a write");
    assert_ends(REPLAY_TORN, 1);
    ck_assert_uint_eq(result.bad, journal.ends[2] - RECORD_SUM_LINE);
    /* And with the beginning of one more, or nothing but zeros, behind it. */
    append("*2\r\n$6\r\nSEL", 11);
    assert_ends(REPLAY_TORN, 1);
    static const char zeros[5000];
    journal.size = journal.ends[1];
    append(zeros, sizeof(zeros));
    assert_ends(REPLAY_TORN, 1);
    ck_assert_uint_eq(result.bad, journal.ends[1]);
    journal_end();
}
END_TEST

/* Values may say anything. */
START_TEST(checksum_lines_inside_a_torn_record_are_ignored)
{
    char text[2048];
    size_t len = 0;
    for (unsigned i = 0; i < 100; i++) {
        record_print_sum(text + len, i * 0x9e3779b1u);
        len += RECORD_SUM_LINE;
    }
    struct effect set = { EFFECT_SET, .key = LIT("k"), .a = bytes_of(text, len), .at = NEVER };
    journal_begin();
    add_effect(&push);
    add_effect(&set);
    assert_ends(REPLAY_WHOLE, 2);
    ensure(ftruncate(journal.fd, (off_t)journal.size - 1) == 0, "a cut");
    assert_ends(REPLAY_TORN, 1);
    ensure(pwrite(journal.fd, "\0\0\0", 3, (off_t)journal.ends[1]) == 3, "a write");
    assert_ends(REPLAY_TORN, 1);
    /* And they don't hide what is behind them. */
    journal.size = journal.ends[2];
    ensure(pwrite(journal.fd, "#", 1, (off_t)journal.ends[2] - RECORD_SUM_LINE) == 1, "a write");
    record_print_sum(text, crc32c(0, "", 0));
    add_effect(&push);
    add_effect(&push);
    assert_ends(REPLAY_DAMAGED, 1);
    journal_end();
}
END_TEST

enum { PAGE = 4096, LONG_UNITS = 6 };

/* Of a journal of long records, this much is zeros, or ones. */
static void write_over(uint64_t from, uint64_t size, char with)
{
    char text[4 * PAGE];
    ensure(size <= sizeof(text), "%zu bytes", (size_t)size);
    memset(text, with, size);
    ensure(pwrite(journal.fd, text, size, (off_t)from) == (ssize_t)size, "a write");
}

static void begin_long_records(void)
{
    char text[3 * PAGE];
    memset(text, 'x', sizeof(text));
    struct effect set = { EFFECT_SET, .key = LIT("k"), .a = bytes_of(text, sizeof(text)),
                          .at = NEVER };
    journal_begin();
    for (int i = 0; i < LONG_UNITS; i++)
        add_effect(&set);
}

static uint64_t page_in_record(size_t record)
{
    return (journal.ends[record - 1] + PAGE - 1) / PAGE * PAGE;
}

START_TEST(a_page_of_zeros_tears_the_journal)
{
    for (size_t record = 1; record <= LONG_UNITS; record++) {
        begin_long_records();
        write_over(page_in_record(record), PAGE, '\0');
        assert_ends(REPLAY_TORN, record - 1);
        journal_end();
    }
}
END_TEST

START_TEST(less_than_a_page_of_zeros_is_damage)
{
    begin_long_records();
    write_over(page_in_record(2), PAGE - 1, '\0');
    assert_ends(REPLAY_DAMAGED, 1);
    write_over(page_in_record(2), PAGE, 'y');
    assert_ends(REPLAY_DAMAGED, 1);
    /* A hole behind the next good record says nothing of this one. */
    write_over(page_in_record(5), PAGE, '\0');
    assert_ends(REPLAY_DAMAGED, 1);
    journal_end();
}
END_TEST

/* ---- damage ---------------------------------------------------------------------------------- */

static size_t record_at(uint64_t offset)
{
    size_t record = 0;
    while (journal.ends[record] <= offset)
        record++;
    return record;
}

START_TEST(a_flipped_bit_is_damage_and_applies_no_partial_record)
{
    struct run *run = random_program(test_seed(), 200);
    for (unsigned i = 0; i < 2000; i++) {
        uint64_t at = rng_below(&run->rng, journal.size);
        if (i % 4 == 0 && journal.size > 300) at = journal.size - 1 - rng_below(&run->rng, 300);
        char byte, flipped;
        ensure(pread(journal.fd, &byte, 1, (off_t)at) == 1, "a read");
        flipped = (char)(byte ^ 1 << rng_below(&run->rng, 8));
        ensure(pwrite(journal.fd, &flipped, 1, (off_t)at) == 1, "a write");
        assert_whole_records();
        size_t record = record_at(at);
        ck_assert_uint_eq(result.records, record > 0 ? record - 1 : 0);
        ck_assert(result.end == REPLAY_DAMAGED || result.end == REPLAY_TORN);
        if (record + 2 <= journal.records) ck_assert_int_eq(result.end, REPLAY_DAMAGED);
        if (record == journal.records) ck_assert_int_eq(result.end, REPLAY_TORN);
        ck_assert_uint_ge(result.bad, result.good);
        ensure(pwrite(journal.fd, &byte, 1, (off_t)at) == 1, "a write");
    }
    drop_program(run);
}
END_TEST

/* A block that is overwritten, is missing, or stands there twice. */
START_TEST(random_bytes_neither_crash_nor_apply_a_partial_record)
{
    struct run *run = random_program(test_seed(), 200);
    char *good = mem_alloc(journal.size), *bad = mem_alloc(2 * journal.size);
    ensure(pread(journal.fd, good, journal.size, 0) == (ssize_t)journal.size, "a read");
    for (unsigned i = 0; i < 1000; i++) {
        uint64_t from = rng_below(&run->rng, journal.size), size = journal.size;
        uint64_t len = rng_below(&run->rng, size - from) % 500 + 1;
        if (from + len > size) len = size - from;
        memcpy(bad, good, size);
        switch (rng_below(&run->rng, 4)) {
        case 0:
            for (uint64_t j = 0; j < len; j++)
                bad[from + j] = (char)rng_next(&run->rng);
            break;
        case 1: memset(bad + from, 0, len); break;
        case 2:
            memcpy(bad + from, good + from + len, size - from - len);
            size -= len;
            break;
        default: memcpy(bad + from + len, good + from, size - from); size += len;
        }
        ensure(ftruncate(journal.fd, 0) == 0, "a cut");
        ensure(pwrite(journal.fd, bad, size, 0) == (ssize_t)size, "a write");
        assert_whole_records();
    }
    mem_free(good);
    mem_free(bad);
    drop_program(run);
}
END_TEST

START_TEST(a_missing_repeated_or_moved_record_is_damage)
{
    journal_begin();
    for (int i = 0; i < 6; i++)
        add_effect(&push);
    size_t first = (size_t)journal.ends[2], len = (size_t)(journal.ends[3] - journal.ends[2]);
    size_t size = (size_t)journal.size;
    char text[2048];
    ensure(pread(journal.fd, text, size, 0) == (ssize_t)size, "a read");
    ensure(pwrite(journal.fd, text + first + len, size - first - len, (off_t)first) > 0, "a write");
    assert_ends(REPLAY_DAMAGED, 2);
    ensure(pwrite(journal.fd, text, size, 0) > 0, "a write");
    ensure(pwrite(journal.fd, text + first, size - first, (off_t)(first + len)) > 0, "a write");
    assert_ends(REPLAY_DAMAGED, 3);
    journal_end();
}
END_TEST

START_TEST(a_record_that_does_not_fit_the_data_is_damage)
{
    static const char *const texts[] = {
        "*2\r\n$3\r\nGET\r\n$1\r\nk\r\n",
        "*2\r\n$7\r\nPERSIST\r\n$1\r\nk\r\n",
        "*3\r\n$4\r\nLPOP\r\n$1\r\nl\r\n$1\r\n5\r\n",
        "*3\r\n$4\r\nSADD\r\n$1\r\nl\r\n$1\r\nm\r\n",
        "*2\r\n$6\r\nSELECT\r\n$2\r\n16\r\n*1\r\n$7\r\nFLUSHDB\r\n",
        "*2\r\n$3\r\n\x1b[2\r\n$1\r\nk\r\n",
    };
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        journal_begin();
        add_effect(&push);
        add_text(texts[i]);
        assert_ends(REPLAY_DAMAGED, 1);
        ck_assert_uint_ge(result.bad, result.good);
        for (const char *c = result.reason; *c != '\0'; c++)
            ck_assert(*c >= ' ' && *c <= '~');
        journal_end();
    }
}
END_TEST

START_TEST(a_length_beyond_all_bounds_costs_no_memory)
{
    journal_begin();
    add_effect(&push);
    uint64_t good = journal.size;
    append("*2\r\n$4294967295\r\nx", 19);
    size_t before = mem_used();
    mem_reset_peak();
    assert_ends(REPLAY_TORN, 1);
    ck_assert_uint_lt(mem_peak() - before, 4 << 20);
    journal.size = good;
    append("*1048577\r\n", 10);
    assert_ends(REPLAY_TORN, 1);
    journal_end();
}
END_TEST

START_TEST(a_read_error_is_not_reported_as_damage)
{
    journal_begin();
    struct replay replay;
    int ends[2];
    ensure(pipe(ends) == 0, "no pipe");
    replay_init(&replay, NULL, 1);
    close(ends[0]);
    replay_records(&replay, ends[0], NULL, &result);
    ck_assert_int_eq(result.end, REPLAY_UNREADABLE);
    ck_assert_str_eq(result.reason, "Bad file descriptor");
    close(ends[1]);
    replay_drop(&replay);
    journal_end();
}
END_TEST

/* Numbers from a file that means harm, or was written by a program that was wrong. */
static int64_t any_number(struct rng *rng)
{
    static const int64_t ends[] = { 0, 1, -1, 15, 16, INT32_MAX, UINT32_MAX, INT64_MAX, INT64_MIN };
    if (rng_chance(rng, 80)) return rng_between(rng, -1, 5);
    int64_t end = ends[rng_below(rng, sizeof(ends) / sizeof(ends[0]))];
    return end == INT64_MIN ? end + rng_between(rng, 0, 2) : end - rng_between(rng, 0, 2);
}

/* Of the kind's own type, mostly. */
static struct bytes any_key(struct rng *rng, enum effect_kind kind)
{
    static const char *const others[] = { "", "*", "l", "s", "h", "z", "d", "t", "new" };
    if (rng_chance(rng, 10)) return text(others[rng_below(rng, 9)]);
    if (kind <= EFFECT_WRITE) return text("t");
    if (kind >= EFFECT_POLICY_SET) return text("l*");
    if (kind < EFFECT_PUSH_HEAD) return text(others[rng_below(rng, 9)]);
    return text(kind < EFFECT_SET_ADD     ? "l"
                : kind < EFFECT_HASH_PUT  ? "s"
                : kind < EFFECT_ZSET_PUT  ? "h"
                : kind < EFFECT_REDE_PUSH ? "z"
                                          : "d");
}

static struct effect any_effect(struct rng *rng)
{
    static const char *const texts[] = { "a", "b", "c", "e", "f", "" };
    static const struct policy policy = { .ttl = 1, .max_len = 2 };
    struct effect effect = {
        .kind = (enum effect_kind)rng_between(rng, EFFECT_SET, EFFECT_POLICY_DROP),
        .db = (unsigned)rng_below(rng, 20) / 19,
        .a = text(texts[rng_below(rng, 6)]),
        .b = text(texts[rng_below(rng, 6)]),
        .at = rng_chance(rng, 50) ? NEVER : any_number(rng),
        .from = any_number(rng),
        .to = any_number(rng),
        .score = (double)any_number(rng),
        .policy = &policy,
    };
    effect.key = any_key(rng, effect.kind);
    effect.stage =
        (struct stage){ any_number(rng), (uint32_t)any_number(rng), rng_chance(rng, 50) };
    /* Zeros up to there would be memory well spent. */
    if (effect.kind == EFFECT_WRITE && effect.from > 1000 && effect.from < UINT32_MAX)
        effect.from = 1000;
    return effect;
}

static bool feed_effect(struct replay *replay, const struct effect *effect)
{
    static struct effect_writer writer;
    struct outbuf out;
    char command[1024];
    size_t consumed;
    outbuf_init(&out);
    effect_writer_init(&writer, &out);
    effect_writer_put(&writer, effect);
    effect_writer_end(&writer);
    size_t len = out.len;
    ensure(len <= sizeof(command), "%zu bytes", len);
    outbuf_copy(&out, command);
    outbuf_drop(&out);
    return replay_feed(replay, command, len, &consumed);
}

static void feed_some_of_each(struct replay *replay)
{
    static const char *const texts[] = { "a", "b", "c", "e", "f" };
    struct effect effects[] = {
        { EFFECT_SET, .key = LIT("t"), .at = NEVER },
        { EFFECT_PUSH_TAIL, .key = LIT("l") },
        { EFFECT_SET_ADD, .key = LIT("s"), .at = 5 },
        { EFFECT_HASH_PUT, .key = LIT("h"), .b = LIT("v"), .at = NEVER },
        { EFFECT_ZSET_PUT, .key = LIT("z"), .at = 7 },
        { EFFECT_REDE_PUSH, .key = LIT("d"), .b = LIT("v"), .stage = { 3, 1, true } },
    };
    for (size_t i = 0; i < sizeof(effects) / sizeof(effects[0]); i++)
        for (size_t j = 0; j < sizeof(texts) / sizeof(texts[0]); j++) {
            effects[i].a = text(texts[j]);
            ck_assert_msg(feed_effect(replay, &effects[i]), "%s", replay->error);
        }
}

START_TEST(invalid_effects_are_refused_without_harm)
{
    struct rng rng;
    rng_init(&rng, test_seed());
    uint64_t good = 0;
    for (unsigned i = 0; i < 5000; i++) {
        struct store *store = store_new(2);
        struct replay replay;
        struct effect effect;
        replay_init(&replay, store, 1);
        feed_some_of_each(&replay);
        do {
            effect = any_effect(&rng);
            good++;
        } while (feed_effect(&replay, &effect));
        store_digest(store, 0);
        replay_drop(&replay);
        store_free(store);
    }
    ck_assert_uint_gt(good, 5000);
}
END_TEST

/* ---- size and remarks ------------------------------------------------------------------------ */

struct invalidation {
    uint64_t last;
    unsigned times;
};

static void report_progress(void *ctx, uint64_t done)
{
    struct invalidation *reported = ctx;
    ck_assert_uint_ge(done, reported->last + 1024 * 1024);
    reported->last = done;
    reported->times++;
}

START_TEST(records_of_any_size_are_applied_with_progress_reports)
{
    enum { BIG = 3 * 1024 * 1024 + 17, MANY = 100000 };
    char *big = mem_alloc(BIG);
    memset(big, '#', BIG);
    journal_begin();
    struct effect set = { EFFECT_SET, .key = LIT("k"), .a = bytes_of(big, BIG), .at = NEVER };
    add_effect(&set);
    for (int i = 0; i < MANY; i++)
        effect_writer_put(&journal.writer, &push);
    end_record(NULL);
    for (int i = 0; i < 1000; i++) {
        set.a.len = (size_t)(i * 8);
        add_effect(&set);
    }
    struct store *store = store_new(1);
    struct replay replay;
    struct invalidation reported = { 0 };
    replay_init(&replay, store, 1);
    replay_records(&replay, journal.fd, &(struct replay_progress){ report_progress, &reported },
                   &result);
    ck_assert_msg(result.end == REPLAY_WHOLE, "%s", result.reason);
    ck_assert_uint_eq(result.records, journal.records);
    ck_assert_uint_eq(replay.effects, 1001 + MANY);
    ck_assert_uint_gt(reported.times, 3);
    struct entry *entry = keyspace_find(&store->databases[0], LIT("l"));
    ck_assert_uint_eq(list_count(entry->object.list), MANY);
    replay_drop(&replay);
    store_free(store);
    mem_free(big);
    journal_end();
}
END_TEST

START_TEST(comments_are_skipped)
{
    journal_begin();
    add_text("#TS:1700000000\r\n*2\r\n$3\r\nDEL\r\n$1\r\nk\r\n# 1234567\r\n");
    add_text("");
    add_effect(&push);
    assert_ends(REPLAY_WHOLE, 3);
    char line[2000] = "#";
    memset(line + 1, 'x', sizeof(line) - 2);
    line[sizeof(line) - 2] = '\n';
    line[sizeof(line) - 1] = '\0';
    add_text(line);
    assert_ends(REPLAY_TORN, 3);
    journal_end();
}
END_TEST

START_TEST(without_a_store_a_journal_is_only_checked)
{
    journal_begin();
    add_effect(&push);
    add_text("*3\r\n$4\r\nLPOP\r\n$1\r\nl\r\n$1\r\n5\r\n");
    struct replay replay;
    replay_init(&replay, NULL, 1);
    replay_records(&replay, journal.fd, NULL, &result);
    ck_assert_int_eq(result.end, REPLAY_WHOLE);
    ck_assert_uint_eq(result.records, 2);
    add_text("*2\r\n$3\r\nGET\r\n$1\r\nk\r\n");
    replay_records(&replay, journal.fd, NULL, &result);
    ck_assert_int_eq(result.end, REPLAY_DAMAGED);
    replay_drop(&replay);
    journal_end();
}
END_TEST

/* ---- a stream without records ------------------------------------------------------------------
 */

START_TEST(a_stream_is_fed_in_pieces_of_any_size)
{
    for (unsigned i = 0; i < 10; i++) {
        struct run *run = random_program(test_seed() + i, 300);
        char *text = mem_alloc(journal.size);
        ensure(pread(journal.fd, text, journal.size, 0) == (ssize_t)journal.size, "a read");
        struct store *store = store_new(DATABASES);
        struct replay replay;
        replay_init(&replay, store, 1);
        size_t start = 0, end = 0;
        while (start < journal.size) {
            end += 1 + rng_below(&run->rng, 1 << rng_below(&run->rng, 12));
            if (end > journal.size) end = journal.size;
            size_t consumed;
            ck_assert_msg(replay_feed(&replay, text + start, end - start, &consumed), "%s",
                          replay.error);
            ck_assert_uint_le(consumed, end - start);
            start += consumed;
            ck_assert(start == journal.size || end < journal.size);
        }
        store_check(store);
        ck_assert(
            same(store_digest(store, INT64_MIN), store_digest(run->world.world.store, INT64_MIN)));
        replay_drop(&replay);
        store_free(store);
        mem_free(text);
        drop_program(run);
    }
}
END_TEST

START_TEST(a_bad_command_in_a_stream_is_reported_with_its_place)
{
    static const char text[] = "*2\r\n$3\r\nDEL\r\n$1\r\nk\r\n*2\r\n$3\r\nGET\r\n$1\r\nk\r\n";
    struct store *store = store_new(1);
    struct replay replay;
    size_t consumed;
    replay_init(&replay, store, 1);
    ck_assert(!replay_feed(&replay, text, strlen(text), &consumed));
    ck_assert_uint_eq(consumed, strlen(text) / 2);
    ck_assert_str_eq(replay.error, "'GET' with 1 arguments is not a journal command");
    ck_assert(!replay_feed(&replay, "*1\r\n$x\r\n", 8, &consumed));
    ck_assert_uint_eq(consumed, 0);
    replay_drop(&replay);
    store_free(store);
}
END_TEST

Suite *test_suite(void)
{
    const TTest *const tests[] = {
        random_programs_come_back_from_their_journals,
        a_cut_journal_loads_as_a_prefix_of_complete_records,
        a_torn_first_line_is_torn_and_another_one_is_damage,
        a_journal_continues_after_its_cut,
        a_page_of_zeros_tears_the_journal,
        less_than_a_page_of_zeros_is_damage,
        a_bad_last_record_is_torn,
        checksum_lines_inside_a_torn_record_are_ignored,
        a_flipped_bit_is_damage_and_applies_no_partial_record,
        random_bytes_neither_crash_nor_apply_a_partial_record,
        a_missing_repeated_or_moved_record_is_damage,
        a_record_that_does_not_fit_the_data_is_damage,
        invalid_effects_are_refused_without_harm,
        a_length_beyond_all_bounds_costs_no_memory,
        a_read_error_is_not_reported_as_damage,
        records_of_any_size_are_applied_with_progress_reports,
        comments_are_skipped,
        without_a_store_a_journal_is_only_checked,
        a_stream_is_fed_in_pieces_of_any_size,
        a_bad_command_in_a_stream_is_reported_with_its_place,
        NULL,
    };
    return suite_of("replay", tests);
}
