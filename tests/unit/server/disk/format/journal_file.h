/* journal_file: a journal in memory for the tests of replay, made by hand or by a random program,
 * and assertions about replaying it. */
#pragma once

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "server/disk/format/crc32c.h"
#include "server/disk/format/record.h"
#include "server/disk/format/replay.h"
#include "store/base/ensure.h"
#include "store/mem/mem.h"
#include "tests/support/program.h"
#include "tests/support/server_world.h"
#include "tests/support/suite.h"

enum { RECORDS_MAX = 4096, DATABASES = 16 };

/* A journal in a file in memory, and the digest of the data after each of its records. */
struct journal {
    int fd;
    uint64_t size;
    uint32_t sum;
    struct outbuf out;
    struct effect_writer writer;
    size_t records;
    uint64_t ends[RECORDS_MAX + 1];         /* of the first line, and of each record */
    struct digest digests[RECORDS_MAX + 1]; /* of the data at each of these ends */
};

static struct journal journal;
static struct replay_file result;

static inline void append(const void *data, size_t len)
{
    ensure(pwrite(journal.fd, data, len, (off_t)journal.size) == (ssize_t)len, "a write");
    journal.sum = crc32c(journal.sum, data, len);
    journal.size += len;
}

static inline void append_waiting(void)
{
    size_t len = journal.out.len;
    char *text = mem_alloc(len + 1);
    outbuf_copy(&journal.out, text);
    outbuf_consume(&journal.out, len);
    append(text, len);
    mem_free(text);
}

/* Version 1 has commands only, as 0.1 wrote them. */
static inline void journal_begin_as(int version)
{
    const char *first_line = version > 1 ? RECORD_FIRST_LINE : RECORD_FIRST_LINE_1;
    journal.fd = memfd_create("journal", 0);
    ensure(journal.fd >= 0, "no file");
    journal.size = journal.sum = 0;
    journal.records = 0;
    outbuf_init(&journal.out);
    effect_writer_init(&journal.writer, &journal.out);
    journal.writer.is_brief = version > 1;
    append(first_line, strlen(first_line));
    journal.ends[0] = journal.size;
    journal.digests[0] = (struct digest){ 0, 0 };
}

static inline void journal_begin(void)
{
    journal_begin_as(RECORD_VERSION);
}

static inline void journal_end(void)
{
    outbuf_drop(&journal.out);
    close(journal.fd);
}

static inline void end_record(const struct store *store)
{
    char line[RECORD_SUM_LINE];
    effect_writer_end_record(&journal.writer);
    append_waiting();
    record_print_sum(line, journal.sum);
    append(line, sizeof(line));
    ensure(journal.records < RECORDS_MAX, "%zu records", journal.records);
    journal.ends[++journal.records] = journal.size;
    if (store != NULL) journal.digests[journal.records] = store_digest(store, INT64_MIN);
}

/* Adds a record of these bytes, which may be malformed. */
static inline void add_text(const char *text)
{
    outbuf_append(&journal.out, text, strlen(text));
    end_record(NULL);
}

static inline void add_effect(const struct effect *effect)
{
    effect_writer_put(&journal.writer, effect);
    end_record(NULL);
}

/* ---- replaying ------------------------------------------------------------------------------- */

static inline int start_thread(pthread_t *thread, void *(*run)(void *ctx), void *ctx)
{
    return pthread_create(thread, NULL, run, ctx);
}

static inline bool digests_equal(struct digest a, struct digest b)
{
    return a.high == b.high && a.low == b.low;
}

/* Replays the file, and again into another store with a thread that reads ahead: the result is the
 * same. */
static inline void replay_journal(struct replay *replay)
{
    struct store *store = replay->store;
    struct replay_file ahead;
    struct replay *other = mem_alloc(sizeof(*other));
    replay_init(other, store != NULL ? store_new(store->database_count) : NULL, 1);
    other->marks = replay->marks;
    other->synced = replay->synced;
    other->before = replay->before;
    other->listed = replay->listed;
    other->until = replay->until;
    other->start_thread = start_thread;
    other->ahead_from = 0;
    replay_records(replay, journal.fd, NULL, &result);
    replay_records(other, journal.fd, NULL, &ahead);
    ck_assert_msg(ahead.end == result.end, "%d, not %d: %s%s", (int)ahead.end, (int)result.end,
                  ahead.reason, result.reason);
    ck_assert_str_eq(ahead.reason, result.reason);
    ck_assert(ahead.size == result.size && ahead.good == result.good && ahead.bad == result.bad);
    ck_assert(ahead.sum == result.sum && ahead.id == result.id);
    ck_assert(ahead.records == result.records && ahead.undated == result.undated);
    ck_assert(ahead.first == result.first && ahead.last == result.last);
    ck_assert(ahead.set_back == result.set_back);
    if (result.end == REPLAY_STOPPED) ck_assert_int_eq(ahead.beyond, result.beyond);
    ck_assert(other->marks.known == replay->marks.known);
    if (result.end != REPLAY_DAMAGED) {
        ck_assert_uint_eq(other->commands, replay->commands);
        ck_assert_uint_eq(other->effects, replay->effects);
    }
    if (store != NULL) {
        store_check(other->store);
        ck_assert(
            digests_equal(store_digest(other->store, INT64_MIN), store_digest(store, INT64_MIN)));
        store_free(other->store);
    }
    replay_drop(other);
    mem_free(other);
}

static inline struct store *replayed(void)
{
    struct store *store = store_new(DATABASES);
    struct replay replay;
    replay_init(&replay, store, 1);
    replay_journal(&replay);
    replay_drop(&replay);
    store_check(store);
    return store;
}

/* Asserts that the file, which may be damaged, is replayed up to the end of some record, and that
 * the data is as it was there. */
static inline void assert_whole_records(void)
{
    struct store *store = replayed();
    ck_assert_uint_le(result.records, journal.records);
    if (result.good > 0) ck_assert_uint_eq(result.good, journal.ends[result.records]);
    ck_assert_msg(digests_equal(store_digest(store, INT64_MIN), journal.digests[result.records]),
                  "after %zu records: %s", (size_t)result.records, result.reason);
    store_free(store);
}

static inline void assert_ends(enum replay_end end, size_t records)
{
    struct store *store = replayed();
    store_free(store);
    ck_assert_msg(result.end == end, "%d: %s", (int)result.end, result.reason);
    ck_assert_uint_eq(result.records, records);
    ck_assert_uint_eq(result.good, journal.ends[records]);
}

/* ---- random programs ------------------------------------------------------------------------- */

struct random_run {
    struct rng rng;
    struct program_source source;
    struct program_rows rows;
    struct server_world world;
    struct program_call call;
    size_t kept; /* number of effects in the journal */
};

static inline unsigned draw(void *ctx, unsigned limit)
{
    return (unsigned)rng_below(ctx, limit);
}

/* Writes the changes of the last step as a record. */
static inline void keep_record(struct random_run *run)
{
    const struct world *world = &run->world.world;
    for (; run->kept < world->effect_count; run->kept++)
        effect_writer_put(&journal.writer, &world->effects[run->kept].effect);
    effect_writer_end(&journal.writer);
    if (journal.out.len > 0) end_record(world->store);
}

static inline void random_step(struct random_run *run)
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

/* Runs a random program and writes its journal. Drop it with drop_program. */
static inline struct random_run *random_program_as(int version, uint64_t seed, unsigned steps)
{
    struct random_run *run = mem_zalloc(sizeof(*run));
    rng_init(&run->rng, seed);
    run->source = (struct program_source){ draw, &run->rng };
    server_world_init(&run->world, SERVER_WORLD_KEEPS);
    program_rows(&run->rows, run->world.engine.commands, program_is_data);
    journal_begin_as(version);
    for (unsigned i = 0; i < steps; i++)
        random_step(run);
    return run;
}

/* The same; the version depends on the seed. */
static inline struct random_run *random_program(uint64_t seed, unsigned steps)
{
    return random_program_as(seed % 4 == 0 ? 1 : RECORD_VERSION, seed, steps);
}

static inline void drop_program(struct random_run *run)
{
    journal_end();
    server_world_drop(&run->world);
    mem_free(run);
}

static const struct effect push = { EFFECT_PUSH_TAIL, .key = LIT("l"), .a = LIT("element") };
