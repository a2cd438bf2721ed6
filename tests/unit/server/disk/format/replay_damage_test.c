/* Tests of replay with damaged journals and invalid effects. No partial record is applied, except
 * one with a right checksum. */
#include "tests/unit/server/disk/format/journal_file.h"

static size_t record_at(uint64_t offset)
{
    size_t record = 0;
    while (journal.ends[record] <= offset)
        record++;
    return record;
}

START_TEST(a_flipped_bit_is_damage_and_applies_no_partial_record)
{
    struct random_run *run = random_program(test_seed(), 200);
    for (unsigned i = 0; i < SANITIZED_TENTH(2000); i++) {
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

static char read_byte(uint64_t at)
{
    char byte;
    ensure(pread(journal.fd, &byte, 1, (off_t)at) == 1, "a read");
    return byte;
}

static void write_byte(uint64_t at, unsigned byte)
{
    char written = (char)byte;
    ensure(pwrite(journal.fd, &written, 1, (off_t)at) == 1, "a write");
}

/* Records with effects in brief form, or in version 1 their commands. */
static void add_some_of_each(int version, unsigned records)
{
    char key[16], value[16];
    struct effect effects[] = {
        { EFFECT_SET, .at = NEVER },
        { EFFECT_SET, .at = 1234567890123 },
        { EFFECT_HASH_PUT, .b = LIT("value"), .at = NEVER },
        { EFFECT_ZSET_PUT, .at = NEVER, .score = 1.5 },
        { EFFECT_REDE_PUSH, .b = LIT("payload"), .stage = { .at = 1234567890123 } },
    };
    journal_begin_as(version);
    for (unsigned i = 0; i < records; i++) {
        unsigned kind = i % 5;
        effects[kind].key = bytes_of(key, (size_t)snprintf(key, sizeof(key), "key:%u:%u", kind, i));
        effects[kind].a = bytes_of(value, (size_t)snprintf(value, sizeof(value), "%u", 7 * i));
        bool repeats = i % 3 == 0 && effects[kind].kind != EFFECT_REDE_PUSH;
        if (repeats) effect_writer_put(&journal.writer, &effects[kind]);
        add_effect(&effects[kind]);
    }
}

START_TEST(any_other_byte_in_place_of_a_hash_is_damage_if_a_record_follows)
{
    for (int version = 1; version <= 2; version++) {
        add_some_of_each(version, 12);
        for (size_t record = 1; record < journal.records; record++) {
            uint64_t at = journal.ends[record] - RECORD_SUM_LINE;
            for (unsigned byte = (unsigned)record % SANITIZED_STEP; byte < 256;
                 byte += SANITIZED_STEP) {
                if (byte == '#') continue;
                write_byte(at, byte);
                assert_ends(REPLAY_DAMAGED, record - 1);
            }
            write_byte(at, '#');
        }
        journal_end();
    }
}
END_TEST

START_TEST(wrong_version_before_the_only_record_is_damage)
{
    uint64_t at = strlen(RECORD_MAGIC);
    for (int version = 1; version <= 2; version++) {
        add_some_of_each(version, 1);
        write_byte(at, version == 1 ? '2' : '1');
        store_free(replayed());
        ck_assert_int_eq(result.end, REPLAY_DAMAGED);
        ck_assert_uint_eq(result.bad, 0);
        ck_assert_uint_eq(result.records, 0);
        journal_end();
    }
}
END_TEST

/* The disk loses a bit, and then the power fails. */
START_TEST(flipped_bit_far_before_a_torn_end_is_damage)
{
    for (int version = 1; version <= 2; version++) {
        add_some_of_each(version, 130);
        ensure(journal.ends[130] - journal.ends[10] > BRIEF_HEAD + BRIEF_TEXTS_MAX,
               "too few records");
        ensure(ftruncate(journal.fd, (off_t)journal.size - 5) == 0, "a cut");
        assert_ends(REPLAY_TORN, 129);
        for (size_t record = 3; record <= 8; record++) {
            for (uint64_t at = journal.ends[record - 1]; at < journal.ends[record];
                 at += SANITIZED_STEP) {
                char byte = read_byte(at);
                for (unsigned bit = 0; bit < 8; bit++) {
                    write_byte(at, (unsigned char)byte ^ 1U << bit);
                    assert_ends(REPLAY_DAMAGED, record - 1);
                }
                write_byte(at, (unsigned char)byte);
            }
        }
        journal_end();
    }
}
END_TEST

/* A block of the file is overwritten, set to zero, removed or repeated. */
START_TEST(random_bytes_neither_crash_nor_apply_a_partial_record)
{
    struct random_run *run = random_program(test_seed(), 200);
    char *good = mem_alloc(journal.size), *bad = mem_alloc(2 * journal.size);
    ensure(pread(journal.fd, good, journal.size, 0) == (ssize_t)journal.size, "a read");
    for (unsigned i = 0; i < SANITIZED_TENTH(1000); i++) {
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
    struct replay replay;
    replay_init(&replay, NULL, 1);
    size_t before = mem_used();
    mem_reset_peak();
    replay_records(&replay, journal.fd, NULL, &result);
    ck_assert_uint_lt(mem_peak() - before, 4 << 20);
    replay_drop(&replay);
    assert_ends(REPLAY_TORN, 1);
    ck_assert_uint_lt(mem_peak() - before, 12 << 20); /* a thread has several buffers */
    journal.size = good;
    append("*1048577\r\n", 10);
    assert_ends(REPLAY_TORN, 1);
    journal_end();
}
END_TEST

#define SET_K "*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$1\r\nv\r\n"

/* A record, sectors of zeros, and two records, the second one with this mark. */
static void assert_hole_before_mark(enum replay_end end, const char *mark)
{
    static const char zeros[2048];
    char text[128];
    journal_begin();
    add_text(SET_K "#segment 0000abcd\r\n");
    append(zeros, sizeof(zeros));
    add_text(SET_K);
    snprintf(text, sizeof(text), SET_K "%s", mark);
    add_text(text);
    assert_ends(end, 1);
    journal_end();
}

START_TEST(a_hole_is_damage_if_its_segment_has_a_mark_behind_it)
{
    assert_hole_before_mark(REPLAY_TORN, "");
    assert_hole_before_mark(REPLAY_DAMAGED, "#synced 300 0000abcd\r\n");
    assert_hole_before_mark(REPLAY_TORN, "#synced 300 1234abcd\r\n"); /* of another segment */
    assert_hole_before_mark(REPLAY_TORN, "#synced 50 0000abcd\r\n");
    assert_hole_before_mark(REPLAY_TORN, "#synced 9999999 0000abcd\r\n");
    assert_hole_before_mark(REPLAY_TORN, "#synced 300 0000ABCD\r\n");
}
END_TEST

/* Replays the journal, of which `synced` bytes were synced, after a segment with this end. */
static void assert_ends_with(enum replay_end end, uint64_t synced, struct journal_end before)
{
    struct replay replay;
    replay_init(&replay, NULL, 1);
    replay.synced = synced;
    replay.before = before;
    replay_journal(&replay);
    replay_drop(&replay);
    ck_assert_msg(result.end == end, "%d: %s", (int)result.end, result.reason);
}

START_TEST(what_was_synced_is_never_torn)
{
    struct journal_end none = { 0 };
    journal_begin();
    add_text(SET_K);
    assert_ends_with(REPLAY_WHOLE, journal.size, none);
    assert_ends_with(REPLAY_DAMAGED, journal.size + 1, none);
    ck_assert_uint_eq(result.good, journal.size);
    uint64_t good = journal.size;
    append("*3\r\n", 4);
    assert_ends_with(REPLAY_TORN, good, none);
    assert_ends_with(REPLAY_DAMAGED, good + 1, none);
    ensure(ftruncate(journal.fd, 5) == 0, "a cut");
    assert_ends_with(REPLAY_TORN, 0, none);
    assert_ends_with(REPLAY_DAMAGED, 5, none);
    journal_end();
}
END_TEST

START_TEST(a_segment_that_continues_another_end_is_damage)
{
    struct journal_end before = { 1234, 0xabc, 0 };
    journal_begin();
    add_text(SET_K "#segment 0000abcd after 1234 00000abc\r\n");
    assert_ends_with(REPLAY_WHOLE, 0, before);
    ck_assert_uint_eq(result.id, 0xabcd);
    assert_ends_with(REPLAY_WHOLE, 0, (struct journal_end){ 0 });
    before.length--;
    assert_ends_with(REPLAY_DAMAGED, 0, before);
    before = (struct journal_end){ 1234, 0xabd, 0 };
    assert_ends_with(REPLAY_DAMAGED, 0, before);
    journal_end();
}
END_TEST

START_TEST(a_segment_with_another_id_than_listed_is_damage)
{
    struct replay replay;
    journal_begin();
    add_text(SET_K "#segment 0000abcd\r\n");
    for (uint32_t listed = 0xabcc; listed <= 0xabcd; listed++) {
        replay_init(&replay, NULL, 1);
        replay.listed = listed;
        replay_journal(&replay);
        replay_drop(&replay);
        ck_assert_uint_eq(result.id, 0xabcd);
        ck_assert_int_eq(result.end, listed == 0xabcd ? REPLAY_WHOLE : REPLAY_DAMAGED);
    }
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

/* Numbers that only a hostile file contains, or one that was written by a faulty program. */
static int64_t any_number(struct rng *rng)
{
    static const int64_t ends[] = { 0, 1, -1, 15, 16, INT32_MAX, UINT32_MAX, INT64_MAX, INT64_MIN };
    if (rng_chance(rng, 80)) return rng_between(rng, -1, 5);
    int64_t end = ends[rng_below(rng, sizeof(ends) / sizeof(ends[0]))];
    return end == INT64_MIN ? end + rng_between(rng, 0, 2) : end - rng_between(rng, 0, 2);
}

/* Mostly a key of the kind's type. */
static struct bytes any_key(struct rng *rng, enum effect_kind kind)
{
    static const char *const others[] = { "", "*", "l", "s", "h", "z", "d", "t", "new", "x" };
    static const char *const of_type[TYPE_COUNT] = {
        [TYPE_STRING] = "t", [TYPE_LIST] = "l",   [TYPE_SET] = "s",       [TYPE_HASH] = "h",
        [TYPE_ZSET] = "z",   [TYPE_STREAM] = "x", [TYPE_LEASE] = "lease", [TYPE_DEHYDRATOR] = "d",
    };
    const struct effect_row *row = &effect_rows[kind];
    if (rng_chance(rng, 10)) return text(others[rng_below(rng, 10)]);
    if (kind == EFFECT_LIBRARY_SET || kind == EFFECT_LIBRARY_DROP) return text("lib");
    if (kind == EFFECT_POLICY_SET || kind == EFFECT_POLICY_DROP) return text("l*");
    if (row->type == TYPE_ANY) return text(others[rng_below(rng, 9)]);
    return text(of_type[row->type]);
}

static struct stream_id any_id(struct rng *rng)
{
    return (struct stream_id){ (uint64_t)any_number(rng), (uint64_t)any_number(rng) };
}

static void set_stream_operands(struct rng *rng, struct effect *effect)
{
    static const struct bytes texts[] = { LIT("n"), LIT("v"), LIT(""), LIT("w") };
    effect->id = any_id(rng);
    if (effect->kind == EFFECT_STREAM_BLOCK) {
        effect->a = rng_chance(rng, 50) ? LIT("\x01\x01n") : LIT("");
        effect->b = rng_chance(rng, 50) ? LIT("\x08\x01v\x0a\x01w") : LIT("\x01\x01\x01n\x01v");
    }
    effect->texts = texts;
    effect->text_count = rng_below(rng, 5);
    effect->marks = (struct stream_marks){ any_id(rng), any_id(rng), rng_below(rng, 10) };
    effect->position = (struct group_position){ any_id(rng), any_number(rng) };
    if (effect->kind == EFFECT_PENDING_PUT && rng_chance(rng, 20)) effect->b = bytes_of(NULL, 0);
}

static struct effect any_effect(struct rng *rng)
{
    static const char *const texts[] = { "a", "b", "c", "e", "f", "" };
    static const struct policy policy = { .ttl = 1, .max_len = 2 };
    struct effect effect = {
        .kind = (enum effect_kind)rng_between(rng, EFFECT_SET, EFFECT_TOKEN),
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
    if (effect_rows[effect.kind].type == TYPE_STREAM) set_stream_operands(rng, &effect);
    if (effect.kind == EFFECT_LIBRARY_SET && rng_chance(rng, 80))
        effect.a = text("#!lua name=lib\n");
    effect.stage = (struct stage){ any_number(rng), (uint32_t)any_number(rng), rng_chance(rng, 50),
                                   rng_chance(rng, 50) ? any_number(rng) : 0 };
    /* Such an offset is valid, and would allocate zeros up to it. */
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
        { EFFECT_REDE_PUSH, .key = LIT("d"), .b = LIT("v"), .stage = { 3, 1, true, 0 } },
    };
    static const struct bytes pair[] = { LIT("n"), LIT("v") };
    const struct effect stream[] = {
        { EFFECT_STREAM_ADD, .key = LIT("x"), .id = { 1, 1 }, .texts = pair, .text_count = 2 },
        { EFFECT_STREAM_ADD, .key = LIT("x"), .id = { 3, 0 }, .texts = pair, .text_count = 2 },
        { EFFECT_STREAM_RETAIN, .key = LIT("x"), .at = 5 },
        { EFFECT_GROUP_ADD, .key = LIT("x"), .a = LIT("a") },
        { EFFECT_CONSUMER_ADD, .key = LIT("x"), .a = LIT("a"), .b = LIT("b") },
        { EFFECT_PENDING_PUT, .key = LIT("x"), .a = LIT("a"), .b = LIT("b"), .id = { 1, 1 } },
    };
    for (size_t i = 0; i < sizeof(effects) / sizeof(effects[0]); i++)
        for (size_t j = 0; j < sizeof(texts) / sizeof(texts[0]); j++) {
            effects[i].a = text(texts[j]);
            ck_assert_msg(feed_effect(replay, &effects[i]), "%s", replay->error);
        }
    for (size_t i = 0; i < sizeof(stream) / sizeof(stream[0]); i++)
        ck_assert_msg(feed_effect(replay, &stream[i]), "%s", replay->error);
}

START_TEST(invalid_effects_are_refused_without_harm)
{
    struct rng rng;
    rng_init(&rng, test_seed());
    uint64_t good = 0;
    for (unsigned i = 0; i < SANITIZED_TENTH(5000); i++) {
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
    ck_assert_uint_gt(good, SANITIZED_TENTH(5000));
}
END_TEST

Suite *test_suite(void)
{
    const TTest *const tests[] = {
        a_flipped_bit_is_damage_and_applies_no_partial_record,
        any_other_byte_in_place_of_a_hash_is_damage_if_a_record_follows,
        wrong_version_before_the_only_record_is_damage,
        flipped_bit_far_before_a_torn_end_is_damage,
        random_bytes_neither_crash_nor_apply_a_partial_record,
        a_missing_repeated_or_moved_record_is_damage,
        a_record_that_does_not_fit_the_data_is_damage,
        a_length_beyond_all_bounds_costs_no_memory,
        a_hole_is_damage_if_its_segment_has_a_mark_behind_it,
        what_was_synced_is_never_torn,
        a_segment_that_continues_another_end_is_damage,
        a_segment_with_another_id_than_listed_is_damage,
        a_read_error_is_not_reported_as_damage,
        invalid_effects_are_refused_without_harm,
        NULL,
    };
    return suite_of("replay_damage", tests);
}
