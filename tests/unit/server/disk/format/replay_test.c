/* Tests of replay: a journal builds the same data again, one with a torn end builds a prefix of it,
 * and a stream may be fed in pieces. Damage is in replay_damage_test.c. */
#include "tests/unit/server/disk/format/journal_file.h"

START_TEST(random_programs_are_restored_from_their_journals)
{
    for (unsigned i = 0; i < 60; i++) {
        struct random_run *run = random_program(test_seed() + i, 500);
        struct store *store = replayed(), *live = run->world.world.store;
        msec now = run->world.world.now;
        ck_assert_msg(result.end == REPLAY_WHOLE, "%s", result.reason);
        ck_assert_uint_eq(result.records, journal.records);
        ck_assert_uint_eq(result.good, journal.size);
        ck_assert_uint_eq(result.sum, journal.sum);
        ck_assert(digests_equal(store_digest(store, INT64_MIN), store_digest(live, INT64_MIN)));
        ck_assert(digests_equal(store_digest(store, now), store_digest(live, now)));
        store_free(store);
        drop_program(run);
    }
}
END_TEST

/* A file of version 1 that has it is damaged. */
START_TEST(brief_effects_are_read_in_version_2_only)
{
    const struct effect set = { EFFECT_SET, .key = LIT("k"), .a = LIT("value"), .at = NEVER };
    for (int version = 1; version <= 2; version++) {
        journal_begin_as(version);
        add_effect(&push);
        journal.writer.is_brief = true;
        add_effect(&set);
        assert_ends(version == 1 ? REPLAY_TORN : REPLAY_WHOLE, version == 1 ? 1 : 2);
        ck_assert_int_eq(result.version, version);
        add_effect(&push);
        assert_ends(version == 1 ? REPLAY_DAMAGED : REPLAY_WHOLE, version == 1 ? 1 : 3);
        journal_end();
    }
}
END_TEST

/* A record that leaves out its first key has a correct checksum, and is refused as a whole. */
START_TEST(key_is_left_out_only_after_one_in_the_record)
{
    static const char drop[] = "\x82\x01k", again[] = "\xc2";
    journal_begin();
    outbuf_append(&journal.out, drop, strlen(drop));
    add_text(again);
    assert_ends(REPLAY_WHOLE, 1);
    add_text(again);
    assert_ends(REPLAY_DAMAGED, 1);
    ck_assert_str_eq(result.reason, "command is malformed 0 bytes after its start");
    journal_end();
}
END_TEST

/* ---- a torn end ------------------------------------------------------------------------------ */

START_TEST(a_cut_journal_loads_as_a_prefix_of_complete_records)
{
    for (unsigned i = 0; i < 4; i++) {
        struct random_run *run = random_program(test_seed() + i, 150);
        uint64_t least = journal.ends[journal.records > 12 ? journal.records - 12 : 0];
        for (uint64_t size = journal.size - 1; size >= least; size -= SANITIZED_STEP) {
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
        { "#EXPIRED-JOURNAL 2", REPLAY_TORN },
        { "#EXPIRED-JOURNAL 2\r\n", REPLAY_WHOLE },
        { "#EXPIRED-JOURNAL 3\r\n", REPLAY_DAMAGED },
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
    /* Even if the beginning of a record, or only zeros, follow it. */
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

/* A value may contain lines that look like checksums. */
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
    /* Good records after them are found. */
    journal.size = journal.ends[2];
    ensure(pwrite(journal.fd, "#", 1, (off_t)journal.ends[2] - RECORD_SUM_LINE) == 1, "a write");
    record_print_sum(text, crc32c(0, "", 0));
    add_effect(&push);
    add_effect(&push);
    assert_ends(REPLAY_DAMAGED, 1);
    journal_end();
}
END_TEST

enum { SECTOR = 512, LONG_RECORDS = 6 };

/* Overwrites `size` bytes of the file. */
static void write_over(uint64_t from, uint64_t size, char with)
{
    char text[2 * SECTOR];
    ensure(size <= sizeof(text), "%zu bytes", (size_t)size);
    memset(text, with, size);
    ensure(pwrite(journal.fd, text, size, (off_t)from) == (ssize_t)size, "a write");
}

static void begin_long_records(void)
{
    char text[20 * SECTOR];
    memset(text, 'x', sizeof(text));
    struct effect set = { EFFECT_SET, .key = LIT("k"), .a = bytes_of(text, sizeof(text)),
                          .at = NEVER };
    journal_begin();
    for (int i = 0; i < LONG_RECORDS; i++)
        add_effect(&set);
}

static uint64_t sector_in_record(size_t record)
{
    return (journal.ends[record - 1] + SECTOR - 1) / SECTOR * SECTOR;
}

START_TEST(a_sector_of_zeros_tears_the_journal)
{
    for (size_t record = 1; record <= LONG_RECORDS; record++) {
        begin_long_records();
        write_over(sector_in_record(record), SECTOR, '\0');
        assert_ends(REPLAY_TORN, record - 1);
        journal_end();
    }
}
END_TEST

START_TEST(zeros_from_a_record_to_its_sectors_end_tear_the_journal)
{
    begin_long_records();
    uint64_t end = sector_in_record(3);
    ensure(end > journal.ends[2], "no record ends within a sector");
    write_over(journal.ends[2], end - journal.ends[2], '\0');
    assert_ends(REPLAY_TORN, 2);
    write_over(end - 1, 1, 'y');
    assert_ends(REPLAY_DAMAGED, 2);
    journal_end();
}
END_TEST

START_TEST(less_than_a_sector_of_zeros_is_damage)
{
    begin_long_records();
    write_over(sector_in_record(2), SECTOR - 1, '\0');
    assert_ends(REPLAY_DAMAGED, 1);
    write_over(sector_in_record(2), SECTOR, 'y');
    assert_ends(REPLAY_DAMAGED, 1);
    /* A sector of zeros after the next good record does not matter. */
    write_over(sector_in_record(5), SECTOR, '\0');
    assert_ends(REPLAY_DAMAGED, 1);
    journal_end();
}
END_TEST

/* ---- size and comments ----------------------------------------------------------------------- */

struct reports {
    uint64_t last;   /* bytes of complete records */
    uint64_t inside; /* the last one within a record */
    unsigned times, times_inside;
};

/* The same number again while a big record is being read. */
static void check_progress(void *ctx, uint64_t done)
{
    struct reports *reported = ctx;
    ck_assert_uint_ge(done, reported->last);
    ck_assert(done == reported->last || done > reported->inside);
    if (done >= reported->last + 1024 * 1024) reported->times++;
    reported->last = done;
}

static void check_inside(void *ctx, uint64_t done)
{
    struct reports *reported = ctx;
    ck_assert_uint_gt(done, reported->last);
    ck_assert_uint_gt(done, reported->inside);
    reported->inside = done;
    reported->times_inside++;
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
    struct reports reported = { 0 };
    replay_init(&replay, store, 1);
    const struct replay_progress progress = { check_progress, check_inside, &reported };
    replay_records(&replay, journal.fd, &progress, &result);
    ck_assert_msg(result.end == REPLAY_WHOLE, "%s", result.reason);
    ck_assert_uint_eq(result.records, journal.records);
    ck_assert_uint_eq(replay.effects, 1001 + MANY);
    ck_assert_uint_gt(reported.times, 3);
    ck_assert_uint_gt(reported.times_inside, 3);
    struct entry *entry = keyspace_find(&store->databases[0], LIT("l"));
    ck_assert_uint_eq(list_count(entry->object.list), MANY);
    replay_drop(&replay);
    store_free(store);
    store_free(replayed());
    mem_free(big);
    journal_end();
}
END_TEST

/* Records of one command, and of nearly as many as a thread takes, and of more. */
START_TEST(records_of_all_lengths_are_read_ahead)
{
    const unsigned lengths[] = { 1, 900, 1, 5000, 0, 1, 1024, 1025, 30 };
    struct rng rng;
    rng_init(&rng, test_seed());
    journal_begin();
    for (unsigned i = 0; i < 300; i++) {
        unsigned many = i % 10 == 0 ? lengths[rng_below(&rng, 9)] : (unsigned)rng_below(&rng, 3);
        for (unsigned n = 0; n < many; n++) {
            char key[32];
            struct effect set = { EFFECT_SET, .a = LIT("value"), .at = NEVER };
            set.db = (unsigned)rng_below(&rng, 2);
            set.key = bytes_of(key, (size_t)snprintf(key, sizeof(key), "key:%u", i * 7 % 100 + n));
            effect_writer_put(&journal.writer, &set);
        }
        end_record(NULL);
    }
    struct store *store = replayed();
    ck_assert_int_eq(result.end, REPLAY_WHOLE);
    ck_assert_uint_eq(result.records, 300);
    store_free(store);
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
    replay_journal(&replay);
    ck_assert_int_eq(result.end, REPLAY_WHOLE);
    ck_assert_uint_eq(result.records, 2);
    add_text("*2\r\n$3\r\nGET\r\n$1\r\nk\r\n");
    replay_journal(&replay);
    ck_assert_int_eq(result.end, REPLAY_DAMAGED);
    replay_drop(&replay);
    journal_end();
}
END_TEST

/* ---- a stream without records ---------------------------------------------------------------- */

START_TEST(a_stream_is_fed_in_pieces_of_any_size)
{
    for (unsigned i = 0; i < 10; i++) {
        struct random_run *run = random_program_as(1, test_seed() + i, 300);
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
        ck_assert(digests_equal(store_digest(store, INT64_MIN),
                                store_digest(run->world.world.store, INT64_MIN)));
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

/* Effects are applied some at a time. Those before the bad one must be there, and none after it. */
START_TEST(a_command_that_does_not_fit_is_reported_with_its_place)
{
    enum { BEFORE = 2 * REPLAY_WINDOW + 3, TEXT_MAX = 8192 };
    for (unsigned before = 0; before <= BEFORE; before++) {
        char text[TEXT_MAX];
        size_t len = 0, consumed;
        for (unsigned i = 0; i < before; i++)
            len += (size_t)snprintf(text + len, sizeof(text) - len,
                                    "*3\r\n$3\r\nSET\r\n$2\r\n%02u\r\n$1\r\nv\r\n", i);
        size_t bad = len;
        len += (size_t)snprintf(text + len, sizeof(text) - len,
                                "*3\r\n$6\r\nAPPEND\r\n$2\r\nno\r\n$1\r\nv\r\n"
                                "*3\r\n$3\r\nSET\r\n$5\r\nafter\r\n$1\r\nv\r\n");
        struct store *store = store_new(1);
        struct replay *replay = mem_alloc(sizeof(*replay));
        replay_init(replay, store, 1);
        ck_assert(!replay_feed(replay, text, len, &consumed));
        ck_assert_str_eq(replay->error, "command 'APPEND' does not fit the data before it");
        ck_assert_uint_eq(consumed, bad);
        ck_assert_uint_eq(keyspace_count(&store->databases[0]), before);
        replay_drop(replay);
        mem_free(replay);
        store_free(store);
    }
}
END_TEST

START_TEST(a_database_that_is_missing_is_named)
{
    static const char text[] = "*2\r\n$6\r\nSELECT\r\n$1\r\n5\r\n"
                               "*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$1\r\nv\r\n";
    struct store *store = store_new(1);
    struct replay *replay = mem_alloc(sizeof(*replay));
    size_t consumed;
    replay_init(replay, store, 1);
    ck_assert(!replay_feed(replay, text, strlen(text), &consumed));
    ck_assert_str_eq(replay->error, "the data has database 5, but `databases` is 1");
    replay_drop(replay);
    mem_free(replay);
    store_free(store);
}
END_TEST

Suite *test_suite(void)
{
    const TTest *const tests[] = {
        random_programs_are_restored_from_their_journals,
        a_cut_journal_loads_as_a_prefix_of_complete_records,
        a_torn_first_line_is_torn_and_another_one_is_damage,
        brief_effects_are_read_in_version_2_only,
        key_is_left_out_only_after_one_in_the_record,
        a_journal_continues_after_its_cut,
        a_bad_last_record_is_torn,
        checksum_lines_inside_a_torn_record_are_ignored,
        a_sector_of_zeros_tears_the_journal,
        zeros_from_a_record_to_its_sectors_end_tear_the_journal,
        less_than_a_sector_of_zeros_is_damage,
        records_of_any_size_are_applied_with_progress_reports,
        comments_are_skipped,
        records_of_all_lengths_are_read_ahead,
        without_a_store_a_journal_is_only_checked,
        a_stream_is_fed_in_pieces_of_any_size,
        a_bad_command_in_a_stream_is_reported_with_its_place,
        a_command_that_does_not_fit_is_reported_with_its_place,
        a_database_that_is_missing_is_named,
        NULL,
    };
    return suite_of("replay", tests);
}
