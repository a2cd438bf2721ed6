/* Tests of base: the data of random programs is restored from a snapshot, and from a snapshot in
 * the middle of a program and the effects after it. Damage is reported. */
#include "server/disk/format/base.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "store/mem/buffer.h"
#include "store/mem/mem.h"
#include "tests/support/disk_world.h"
#include "tests/support/program.h"
#include "tests/support/server_world.h"
#include "tests/support/suite.h"

enum { DATABASES = 16 };

static const struct snapshot_options plain = { .created = 1, .plain = true },
                                     packed = { .created = 1 };

struct run {
    struct rng rng;
    struct program_source source;
    struct program_rows rows;
    struct server_world world;
    struct program_call call;
};

static unsigned draw(void *ctx, unsigned limit)
{
    return (unsigned)rng_below(ctx, limit);
}

static struct run *run_new(uint64_t seed)
{
    struct run *run = mem_zalloc(sizeof(*run));
    rng_init(&run->rng, seed);
    run->source = (struct program_source){ draw, &run->rng };
    server_world_init(&run->world, SERVER_WORLD_KEEPS);
    program_rows(&run->rows, run->world.engine.commands, program_is_data);
    return run;
}

static void run_free(struct run *run)
{
    server_world_drop(&run->world);
    mem_free(run);
}

static void step(struct run *run)
{
    static const char *const lines[] = {
        "SELECT 0",
        "SELECT 1",
        "POLICY SET s* TTL 60 REFRESH WRITE JITTER 20 MEMBERTTL 30",
        "POLICY SET list MAXLEN 5",
        "POLICY DEL s*",
        "SWAPDB 0 1",
    };
    enum { LINES = sizeof(lines) / sizeof(lines[0]) };
    struct server_world *world = &run->world;
    unsigned way = (unsigned)rng_below(&run->rng, 100);
    if (way < 88) {
        program_make(&run->call, run->rows.refs[rng_below(&run->rng, run->rows.count)],
                     world->world.now, &run->source);
        server_world_call(world, 0, run->call.argc, run->call.argv);
    } else if (way < 96) {
        msec to = world->world.now + rng_between(&run->rng, 0, 20);
        (way < 92 ? server_world_step : server_world_hold)(world, to);
    } else {
        server_world_send(world, 0, lines[rng_below(&run->rng, LINES)]);
    }
}

static void steps(struct run *run, unsigned count)
{
    while (count-- > 0)
        step(run);
}

/* ---- files and back -------------------------------------------------------------------------- */

static void write_base(const struct run *run, const struct snapshot_options *options)
{
    struct base_size size;
    const char *path = disk_world_path("base");
    ck_assert_int_eq(base_write(run->world.world.store, path, options, &size), 0);
    ck_assert_uint_eq(size.bytes, disk_world_size("base"));
}

static int start_thread(pthread_t *thread, void *(*run)(void *ctx), void *ctx)
{
    return pthread_create(thread, NULL, run, ctx);
}

static bool load_into(struct store *store, bool ahead, struct base_load *load)
{
    *load = (struct base_load){ .start_thread = ahead ? start_thread : NULL };
    return base_load(store, disk_world_path("base"), 1, load);
}

/* Loads the file in one thread and in two, with the same result, and returns the store of the
 * latter; NULL: both failed. */
static struct store *try_load_base(struct base_load *load)
{
    struct store *alone = store_new(DATABASES), *ahead = store_new(DATABASES);
    struct base_load other;
    bool good = load_into(alone, false, &other);
    ck_assert_msg(load_into(ahead, true, load) == good, "%s%s", load->why, other.why);
    struct digest a = store_digest(alone, INT64_MIN), b = store_digest(ahead, INT64_MIN);
    ck_assert_str_eq(load->why, other.why);
    ck_assert_uint_eq(load->bad, other.bad);
    ck_assert_int_eq(load->marks.known, other.marks.known);
    if (good) {
        ck_assert_uint_eq(load->commands, other.commands);
        ck_assert_uint_eq(load->effects, other.effects);
        ck_assert(a.high == b.high && a.low == b.low);
        store_check(ahead);
    }
    store_free(alone);
    if (good) return ahead;
    store_free(ahead);
    return NULL;
}

static struct store *load_base(void)
{
    struct base_load load;
    struct store *store = try_load_base(&load);
    ck_assert_msg(store != NULL, "%s", load.why);
    return store;
}

/* Applies the effects from the n-th on, as a segment would. */
static void replay_from(const struct run *run, size_t from, struct store *store)
{
    const struct world *world = &run->world.world;
    struct outbuf out;
    struct effect_writer writer;
    outbuf_init(&out);
    effect_writer_init(&writer, &out);
    for (; from < world->effect_count; from++)
        effect_writer_put(&writer, &world->effects[from].effect);
    effect_writer_end(&writer);
    size_t len = out.len, consumed;
    char *text = mem_alloc(len + 1);
    outbuf_copy(&out, text);
    struct replay *replay = mem_alloc(sizeof(*replay));
    replay_init(replay, store, 1);
    ck_assert_msg(replay_feed(replay, text, len, &consumed), "%s", replay->error);
    ck_assert_uint_eq(consumed, len);
    replay_drop(replay);
    mem_free(replay);
    mem_free(text);
    outbuf_drop(&out);
    store_check(store);
}

/* With overdue data, and without. */
static void assert_same(const struct run *run, const struct store *store)
{
    const msec instants[] = { INT64_MIN, run->world.world.now };
    for (size_t i = 0; i < sizeof(instants) / sizeof(instants[0]); i++) {
        struct digest live = store_digest(run->world.world.store, instants[i]);
        struct digest other = store_digest(store, instants[i]);
        ck_assert_msg(live.high == other.high && live.low == other.low, "at %lld",
                      (long long)instants[i]);
    }
}

START_TEST(data_of_random_programs_are_restored_from_a_base)
{
    disk_world_begin();
    for (unsigned i = 0; i < 40; i++) {
        struct run *run = run_new(test_seed() + i);
        steps(run, 400);
        write_base(run, i % 2 == 0 ? &plain : &packed);
        struct store *store = load_base();
        assert_same(run, store);
        store_free(store);
        run_free(run);
    }
    disk_world_end();
}
END_TEST

/* The text is written while it grows, also within a value of a single member. */
START_TEST(large_data_are_restored_from_a_base)
{
    disk_world_begin();
    struct run *run = run_new(1);
    char line[64];
    for (int i = 0; i < 10000; i++) {
        snprintf(line, sizeof(line), "ZADD z %d member:%09d", i, i);
        server_world_send(&run->world, 0, line);
        snprintf(line, sizeof(line), "SADD s%d member:%09d", i, i);
        server_world_send(&run->world, 0, line);
    }
    write_base(run, &plain);
    struct store *store = load_base();
    assert_same(run, store);
    store_free(store);
    run_free(run);
    disk_world_end();
}
END_TEST

START_TEST(entries_of_a_stream_are_in_a_base_as_blocks)
{
    disk_world_begin();
    struct run *run = run_new(1);
    struct base_load load;
    char line[64];
    for (int i = 1; i <= 1000; i++) {
        snprintf(line, sizeof(line), "XADD s %d-%d name value", i, i);
        server_world_send(&run->world, 0, line);
    }
    server_world_send(&run->world, 0, "XDEL s 150-150");
    write_base(run, &plain);
    struct store *store = try_load_base(&load);
    ck_assert_msg(store != NULL, "%s", load.why);
    assert_same(run, store);
    ck_assert_uint_eq(load.effects, 1000 / 100 + 1); /* and the marks */
    store_free(store);
    run_free(run);
    disk_world_end();
}
END_TEST

START_TEST(a_base_and_the_segment_after_it_are_the_data)
{
    disk_world_begin();
    for (unsigned i = 0; i < 40; i++) {
        struct run *run = run_new(test_seed() + i);
        steps(run, (unsigned)rng_below(&run->rng, 400));
        size_t from = run->world.world.effect_count;
        write_base(run, &packed);
        steps(run, (unsigned)rng_below(&run->rng, 400));
        struct store *store = load_base();
        replay_from(run, from, store);
        assert_same(run, store);
        store_free(store);
        run_free(run);
    }
    disk_world_end();
}
END_TEST

START_TEST(base_with_a_flipped_bit_is_refused_with_its_offset)
{
    disk_world_begin();
    struct run *run = run_new(test_seed());
    steps(run, 300);
    write_base(run, &packed);
    size_t len;
    char *text = disk_world_read("base", &len);
    for (unsigned i = 0; i < 500; i++) {
        size_t at = i < len && i < 100 ? i : rng_below(&run->rng, len);
        char bit = (char)(1 << rng_below(&run->rng, 8));
        text[at] = (char)(text[at] ^ bit);
        disk_world_write("base", text, len);
        text[at] = (char)(text[at] ^ bit);
        struct base_load load;
        ck_assert_msg(try_load_base(&load) == NULL, "bit at %zu", at);
        ck_assert_msg(strstr(load.why, "byte ") != NULL, "%s", load.why);
    }
    mem_free(text);
    run_free(run);
    disk_world_end();
}
END_TEST

START_TEST(base_has_the_place_of_its_data)
{
    const struct stream_position position = {
        .history = { .id = "0123456789012345678901234567890123456789",
                     .old_id = "0000000000000000000000000000000000000000" },
        .offset = 77,
        .db = 2
    };
    struct snapshot_options options = packed;
    disk_world_begin();
    struct run *run = run_new(test_seed());
    steps(run, 50);
    for (unsigned known = 0; known < 2; known++) {
        options.position = known ? &position : NULL;
        write_base(run, &options);
        struct base_load load;
        struct store *store = try_load_base(&load);
        ck_assert_msg(store != NULL, "%s", load.why);
        assert_same(run, store);
        ck_assert_int_eq(load.marks.known, known);
        if (known) ck_assert_uint_eq(load.marks.last.offset, 77);
        store_free(store);
    }
    run_free(run);
    disk_world_end();
}
END_TEST

START_TEST(failed_base_leaves_the_previous_one)
{
    disk_world_begin();
    struct run *run = run_new(test_seed());
    steps(run, 200);
    write_base(run, &packed);
    struct base_size size;
    size_t len = disk_world_size("base");
    for (unsigned nth = 1; nth <= 4; nth++) {
        disk_world_fail((struct disk_failure){ .nth = nth, .forever = true });
        ck_assert_int_ne(
            base_write(run->world.world.store, disk_world_path("base"), &packed, &size), 0);
        disk_world_heal();
        ck_assert_uint_eq(disk_world_size("base"), len);
        struct store *store = load_base();
        assert_same(run, store);
        store_free(store);
    }
    run_free(run);
    disk_world_end();
}
END_TEST

/* ---- texts that no store writes -------------------------------------------------------------- */

static void append(struct buffer *text, const char *format, ...)
{
    char line[256];
    va_list args;
    va_start(args, format);
    int len = vsnprintf(line, sizeof(line), format, args);
    va_end(args);
    buffer_append(text, line, (size_t)len);
}

static void append_filler(struct buffer *text, char of, size_t len)
{
    ck_assert(buffer_try_reserve(text, len));
    memset(text->data + text->len, of, len);
    text->len += len;
}

static void append_set(struct buffer *text, unsigned key, size_t len)
{
    append(text, "*3\r\n$3\r\nSET\r\n$7\r\nk%06u\r\n$%zu\r\n", key, len);
    append_filler(text, (char)('a' + key % 26), len);
    append(text, "\r\n");
}

/* An entry with this many fields; its ID has six digits. */
static void append_entry(struct buffer *text, unsigned id, unsigned fields)
{
    append(text, "*%u\r\n$4\r\nXADD\r\n$6\r\nstream\r\n$8\r\n%u-1\r\n", 3 + 2 * fields, id);
    for (unsigned i = 0; i < fields; i++)
        append(text, "$4\r\nname\r\n$5\r\n%05u\r\n", i);
}

static void append_pushes(struct buffer *text, unsigned elements)
{
    append(text, "*%u\r\n$5\r\nRPUSH\r\n$4\r\nlist\r\n", 2 + elements);
    for (unsigned i = 0; i < elements; i++)
        append(text, "$5\r\n%05u\r\n", i);
}

/* Writes the text as a base, and empties it. */
static void write_text(struct buffer *text, const struct snapshot_options *options)
{
    struct snapshot_writer *file;
    ck_assert_int_eq(snapshot_create(disk_world_path("base"), options, &file), 0);
    ck_assert_int_eq(snapshot_append(file, text->data, text->len), 0);
    ck_assert_int_eq(snapshot_finish(file, 0), 0);
    buffer_clear(text);
}

/* Longer than a text of ahead, longer than what it keeps, and longer than its array of words;
 * more effects than its array. */
START_TEST(commands_of_any_size_are_read_ahead)
{
    const size_t sizes[] = { 10, 300000, 3000000, 20, 9000000, 5000000, 1 };
    struct buffer text = { 0 };
    disk_world_begin();
    for (unsigned round = 0, key = 0, id = 100000; round < 3; round++) {
        for (unsigned i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
            append_set(&text, key++, sizes[i]);
            append(&text, "#a comment of %u\r\n", i);
            append_entry(&text, id++, 1 + i);
            append_entry(&text, id++, i == 3 ? 60000 : 700);
            append_pushes(&text, i == 4 ? 20000 : 500);
            for (unsigned n = 0; n < 2000; n++)
                append_set(&text, key++, n % 50);
        }
    }
    write_text(&text, &packed);
    struct store *store = load_base();
    ck_assert_uint_eq(store_count(store), 3 * 7 * 2001 + 2);
    store_free(store);
    buffer_drop(&text);
    disk_world_end();
}
END_TEST

/* Beside the data, a start needs the text of the longest value, which grows by copying. */
START_TEST(only_one_large_command_is_in_memory)
{
    const size_t longest = 16 << 20, fixed = 8 << 20;
    struct buffer text = { 0 };
    struct base_load load;
    disk_world_begin();
    for (unsigned key = 0; key < 8; key++)
        append_set(&text, key, longest - key);
    write_text(&text, &packed);
    buffer_drop(&text);
    struct store *store = store_new(DATABASES);
    mem_reset_peak();
    ck_assert(load_into(store, true, &load));
    ck_assert_uint_eq(store_count(store), 8);
    ck_assert_uint_lt(mem_peak(), mem_used() + 2 * longest + fixed);
    store_free(store);
    disk_world_end();
}
END_TEST

#define BLOCK(key, count)                                                                          \
    "*6\r\n$8\r\nX.XBLOCK\r\n$7\r\n" key "\r\n$3\r\n7-1\r\n$1\r\n" count                           \
    "\r\n$3\r\n\x01\x01n\r\n$3\r\n\x08\x01v\r\n"

START_TEST(errors_behind_good_commands_are_the_same_ahead)
{
    static const char *const ends[] = {
        "*2\r\n$3\r\nGET\r\n$1\r\na\r\n",                   /* no command of a file */
        "*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$x\r\n",             /* malformed */
        "*3\r\n$3\r\nSET\r\n$1\r\nk\r\n",                   /* incomplete */
        "#without an end",                                  /* incomplete, or a part of it */
        "*3\r\n$4\r\nSADD\r\n$7\r\nk000001\r\n$1\r\nm\r\n", /* a string is there */
        BLOCK("k000001", "1"),                              /* a string is there */
        BLOCK("streams", "2"),                              /* has one entry */
        BLOCK("streams", "1") BLOCK("streams", "1"),        /* has its last ID */
        "*2\r\n$6\r\nSELECT\r\n$2\r\n99\r\n*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$1\r\nv\r\n",
    };
    struct buffer text = { 0 };
    disk_world_begin();
    for (unsigned i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
        for (unsigned behind = 0; behind < 2; behind++) {
            struct base_load load;
            for (unsigned key = 0; key < 20000; key++)
                append_set(&text, key, key == 10000 ? 700000 : 20);
            append(&text, "%s", ends[i]);
            for (unsigned key = 0; key < 20000 * behind; key++)
                append_set(&text, key, 100);
            write_text(&text, &packed);
            ck_assert_ptr_null(try_load_base(&load));
        }
    }
    buffer_drop(&text);
    disk_world_end();
}
END_TEST

Suite *test_suite(void)
{
    const TTest *const tests[] = { data_of_random_programs_are_restored_from_a_base,
                                   large_data_are_restored_from_a_base,
                                   entries_of_a_stream_are_in_a_base_as_blocks,
                                   commands_of_any_size_are_read_ahead,
                                   only_one_large_command_is_in_memory,
                                   errors_behind_good_commands_are_the_same_ahead,
                                   a_base_and_the_segment_after_it_are_the_data,
                                   base_with_a_flipped_bit_is_refused_with_its_offset,
                                   base_has_the_place_of_its_data,
                                   failed_base_leaves_the_previous_one,
                                   NULL };
    return suite_of("base", tests);
}
