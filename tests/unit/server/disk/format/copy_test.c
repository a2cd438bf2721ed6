/* Tests of copy: a store that random programs have made is the same after a copy, and damage is
 * refused. The RDB for a stock Redis has what Redis can hold. */
#include "server/disk/format/copy.h"

#include <errno.h>
#include <semaphore.h>
#include <stdio.h>
#include <string.h>

#include "server/base/clock.h"
#include "server/disk/format/block.h"
#include "server/disk/format/crc32c.h"
#include "server/disk/import/import.h"
#include "server/disk/import/rdb_store.h"
#include "store/base/little_endian.h"
#include "store/mem/mem.h"
#include "tests/support/program.h"
#include "tests/support/rng.h"
#include "tests/support/server_world.h"
#include "tests/support/suite.h"

enum { DATABASES = 16, PROGRAMS = SANITIZED_TENTH(30), STEPS = 150, WHY = 256 };

/* A pipe in memory. */
static struct {
    char *data;
    size_t len, cap, at, piece;
} pipe_of;

static bool pipe_write(void *ctx, const void *data, size_t len)
{
    (void)ctx;
    if (pipe_of.len + len > pipe_of.cap) {
        pipe_of.cap = 2 * (pipe_of.len + len);
        pipe_of.data = mem_realloc(pipe_of.data, pipe_of.cap);
    }
    memcpy(pipe_of.data + pipe_of.len, data, len);
    pipe_of.len += len;
    return true;
}

static ssize_t pipe_read(void *ctx, void *to, size_t size)
{
    (void)ctx;
    size_t left = pipe_of.len - pipe_of.at;
    size_t len = left < size ? left : size;
    if (len > pipe_of.piece) len = pipe_of.piece;
    memcpy(to, pipe_of.data + pipe_of.at, len);
    pipe_of.at += len;
    return (ssize_t)len;
}

static const struct copy_sink sink = { .write = pipe_write };

/* At times no byte has arrived, although more will. */
static bool pipe_ready(void *ctx)
{
    return rng_below(ctx, 4) > 0;
}

static int start_thread(pthread_t *thread, void *(*run)(void *ctx), void *ctx)
{
    return pthread_create(thread, NULL, run, ctx);
}

static int refuse_thread(pthread_t *thread, void *(*run)(void *ctx), void *ctx)
{
    (void)thread;
    (void)run;
    (void)ctx;
    return EAGAIN;
}

/* Loads the bytes in one thread, in two, and where the second one can't be started, with the same
 * result. NULL, with the reason: they are refused. */
static struct store *load_copy(unsigned *db, char why[WHY])
{
    thread_starter *const starters[] = { refuse_thread, start_thread, NULL };
    struct store *store = NULL;
    struct digest digest = { 0 };
    struct rng rng;
    rng_init(&rng, pipe_of.len);
    for (size_t i = 0; i < sizeof(starters) / sizeof(starters[0]); i++) {
        struct copy_source source = { .read = pipe_read,
                                      .ready = pipe_ready,
                                      .mono_usec = clock_mono_usec,
                                      .start_thread = starters[i],
                                      .ctx = &rng };
        char other[WHY] = "";
        struct store *again = store_new(DATABASES);
        pipe_of.at = 0;
        bool good = copy_load(again, &source, 1, db, other, WHY);
        struct digest found = store_digest(again, INT64_MIN);
        if (good) store_check(again);
        if (i > 0) {
            ck_assert_int_eq(good, store != NULL);
            ck_assert_str_eq(other, why);
            ck_assert(!good || (found.high == digest.high && found.low == digest.low));
        }
        if (store != NULL) store_free(store);
        if (!good) store_free(again);
        store = good ? again : NULL;
        digest = found;
        memcpy(why, other, WHY);
    }
    return store;
}

static unsigned draw(void *ctx, unsigned limit)
{
    return (unsigned)rng_below(ctx, limit);
}

static void fill_world(struct server_world *world, uint64_t seed)
{
    struct rng rng;
    struct program_rows rows;
    struct program_call *call = mem_alloc(sizeof(*call));
    rng_init(&rng, seed);
    struct program_source of = { draw, &rng };
    server_world_init(world, 0);
    program_rows(&rows, world->engine.commands, program_is_data);
    for (int i = 0; i < STEPS; i++) {
        program_make(call, rows.refs[rng_below(&rng, rows.count)], world->world.now, &of);
        server_world_call(world, 0, call->argc, call->argv);
    }
    mem_free(call);
}

static void empty_pipe(size_t piece)
{
    pipe_of.len = pipe_of.at = 0;
    pipe_of.piece = piece;
}

static void expect_equal(const struct store *a, const struct store *b, msec now)
{
    struct digest one = store_digest(a, now), other = store_digest(b, now);
    ck_assert_uint_eq(one.high, other.high);
    ck_assert_uint_eq(one.low, other.low);
}

START_TEST(a_copy_has_the_same_data)
{
    struct server_world world;
    char why[WHY];
    unsigned db;
    uint64_t seed = test_seed();
    for (uint64_t i = 0; i < PROGRAMS; i++) {
        fill_world(&world, seed + i);
        empty_pipe(1 + i * 37);
        ck_assert(copy_write(world.world.store, 3, &sink));
        struct store *store = load_copy(&db, why);
        ck_assert_msg(store != NULL, "%s", why);
        ck_assert_uint_eq(db, 3);
        ck_assert_uint_eq(pipe_of.at, pipe_of.len);
        expect_equal(world.world.store, store, world.world.now);
        store_free(store);
        server_world_drop(&world);
    }
}
END_TEST

START_TEST(a_damaged_copy_is_refused)
{
    struct server_world world;
    char why[WHY];
    unsigned db;
    fill_world(&world, 1);
    empty_pipe(SIZE_MAX);
    ck_assert(copy_write(world.world.store, 3, &sink));
    size_t len = pipe_of.len;
    for (size_t at = 0; at < len; at += 1 + len / 300) {
        pipe_of.data[at] ^= 0x10;
        ck_assert_msg(load_copy(&db, why) == NULL, "a flip at byte %zu", at);
        pipe_of.data[at] ^= 0x10;
        pipe_of.len = at;
        ck_assert_msg(load_copy(&db, why) == NULL, "cut at byte %zu", at);
        pipe_of.len = len;
    }
    server_world_drop(&world);
}
END_TEST

START_TEST(a_copy_of_many_blocks_has_the_same_data)
{
    enum { STRINGS = 20000, LARGE = 3000000 };
    struct server_world world;
    char why[WHY], line[64];
    unsigned db;
    server_world_init(&world, 0);
    for (int i = 0; i < STRINGS; i++) {
        snprintf(line, sizeof(line), "SET key:%d a-value-of-some-length-%d", i, i * 7919);
        server_world_send(&world, 0, line);
        snprintf(line, sizeof(line), "ZADD z %d member:%d", i, i);
        server_world_send(&world, 0, line);
    }
    char *large = mem_alloc(LARGE);
    struct rng rng;
    rng_init(&rng, 1);
    for (size_t i = 0; i < LARGE; i++)
        large[i] = (char)rng_below(&rng, 256);
    struct bytes words[] = { LIT("SET"), LIT("large"), bytes_of(large, LARGE) };
    server_world_call(&world, 0, 3, words);
    mem_free(large);
    empty_pipe(8192);
    ck_assert(copy_write(world.world.store, 3, &sink));
    struct store *store = load_copy(&db, why);
    ck_assert_msg(store != NULL, "%s", why);
    expect_equal(world.world.store, store, world.world.now);
    store_free(store);

    /* Damage in a block is reported although the bytes end in a later one. */
    pipe_of.data[pipe_of.len / 4] ^= 0x10;
    pipe_of.len -= 100;
    ck_assert(load_copy(&db, why) == NULL);
    ck_assert_ptr_nonnull(strstr(why, "wrong checksum of the block"));
    server_world_drop(&world);
}
END_TEST

/* A thread that begins late, after this many calls of `between`. Until then the source has to be
 * asked whether it is ready, and is so every second time. */
enum { LATE = 24 };
static struct {
    void *(*run)(void *ctx);
    void *ctx;
    sem_t begins;
    const struct store *store;
    bool has_begun, is_ready;
    unsigned calls;    /* of `between` */
    size_t keys, most; /* keys at the last call, and the most that came between two calls */
} late;

static void *run_late(void *ctx)
{
    (void)ctx;
    while (sem_wait(&late.begins) != 0)
        ;
    return late.run(late.ctx);
}

static int start_late(pthread_t *thread, void *(*run)(void *ctx), void *ctx)
{
    late.run = run;
    late.ctx = ctx;
    return pthread_create(thread, NULL, run_late, NULL);
}

static bool late_ready(void *ctx)
{
    (void)ctx;
    late.is_ready = !late.is_ready;
    return late.is_ready;
}

static ssize_t late_read(void *ctx, void *to, size_t size)
{
    ck_assert(late.run == NULL || late.has_begun || late.is_ready);
    return pipe_read(ctx, to, size);
}

static void late_between(void *ctx)
{
    (void)ctx;
    size_t keys = store_count(late.store);
    if (keys - late.keys > late.most) late.most = keys - late.keys;
    late.keys = keys;
    if (++late.calls != LATE) return;
    late.has_begun = true;
    sem_post(&late.begins);
}

START_TEST(clients_are_served_while_a_thread_is_late)
{
    /* Many short strings, and 8 KiB of long ones at a time. */
    static const struct {
        unsigned keys, value, most;
    } cases[] = { { 20000, 30, 128 }, { 1500, 2000, 5 } };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct server_world world;
        char why[WHY], key[16], value[2000];
        unsigned db;
        server_world_init(&world, 0);
        memset(value, 'x', sizeof(value));
        for (unsigned j = 0; j < cases[i].keys; j++) {
            int len = snprintf(key, sizeof(key), "%u", 100000 + j);
            struct bytes words[] = { LIT("SET"), bytes_of(key, (size_t)len),
                                     bytes_of(value, cases[i].value) };
            server_world_call(&world, 0, 3, words);
        }
        empty_pipe(SIZE_MAX);
        ck_assert(copy_write(world.world.store, 3, &sink));
        struct store *store = store_new(DATABASES);
        memset(&late, 0, sizeof(late));
        ck_assert_int_eq(sem_init(&late.begins, 0, 0), 0);
        late.store = store;
        struct copy_source source = { .read = late_read,
                                      .ready = late_ready,
                                      .mono_usec = clock_mono_usec,
                                      .between = late_between,
                                      .start_thread = start_late };
        ck_assert_msg(copy_load(store, &source, 1, &db, why, WHY), "%s", why);
        expect_equal(world.world.store, store, world.world.now);
        ck_assert_uint_eq(late.keys, cases[i].keys);
        ck_assert_uint_le(late.most, cases[i].most);
        sem_destroy(&late.begins);
        store_free(store);
        server_world_drop(&world);
    }
}
END_TEST

static void write_block(struct block_packer *packer, const char *data, size_t len)
{
    block_fill(packer, data, len);
    pipe_write(NULL, packer->block, block_pack(packer));
}

/* Packed bytes that LZ4 can't unpack. */
static void write_bad_block(struct block_packer *packer)
{
    char block[BLOCK_HEADER + 8];
    memset(block, 0xff, sizeof(block));
    put_u32(block, 8);
    put_u32(block + 4, 100);
    packer->sum = crc32c(packer->sum, block, 8);
    packer->sum = crc32c(packer->sum, block + BLOCK_HEADER, 8);
    put_u32(block + 8, packer->sum);
    pipe_write(NULL, block, sizeof(block));
}

/* Blocks with these texts, and right checksums. The text "LZ4" stands for a bad block. */
static void write_made(const char *const texts[])
{
    struct block_packer *packer = mem_zalloc(sizeof(*packer));
    char header[20] = "EXPIRED-COPY";
    put_u32(header + 12, 1);
    put_u32(header + 16, 3);
    packer->sum = crc32c(0, header, sizeof(header));
    empty_pipe(SIZE_MAX);
    pipe_write(NULL, header, sizeof(header));
    for (; *texts != NULL; texts++) {
        if (strcmp(*texts, "LZ4") == 0)
            write_bad_block(packer);
        else
            write_block(packer, *texts, strlen(*texts));
    }
    write_block(packer, "", 0);
    mem_free(packer);
}

START_TEST(a_whole_copy_with_wrong_contents_is_refused)
{
#define SET_A "*3\r\n$3\r\nSET\r\n$1\r\na\r\n$1\r\n1\r\n"
    static const struct {
        const char *texts[4];
        const char *why; /* NULL: the copy is good */
    } cases[] = {
        { { SET_A }, NULL },
        { { "*3\r\n$3\r\nSE", "T\r\n$1\r\na\r", "\n$1\r\n1\r\n" }, NULL },
        { { "# a remark\n" SET_A }, NULL },
        { { NULL }, NULL },
        { { SET_A, "*3\r\n$3\r\nSET\r\n$1\r\na\r\n" }, "the last command is incomplete" },
        { { "*" }, "the last command is incomplete" },
        { { SET_A "# a remark" }, "the last command is incomplete" },
        { { "LZ4" }, "block is not valid LZ4" },
        { { SET_A, "LZ4", SET_A }, "block is not valid LZ4" },
        { { SET_A, "*x\r\n" }, "" },
        { { SET_A, "*2\r\n$4\r\nFLUX\r\n$1\r\na\r\n" }, "" },
        { { SET_A, "*3\r\n$4\r\nSADD\r\n$1\r\na\r\n$1\r\nm\r\n" }, "" },
        { { SET_A, "*2\r\n$6\r\nSELECT\r\n$2\r\n99\r\n" SET_A }, "" },
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char why[WHY];
        unsigned db;
        write_made(cases[i].texts);
        struct store *store = load_copy(&db, why);
        ck_assert_msg((store != NULL) == (cases[i].why == NULL), "case %zu: %s", i, why);
        if (store != NULL) store_free(store);
        if (cases[i].why != NULL)
            ck_assert_msg(strstr(why, cases[i].why) != NULL, "case %zu: %s", i, why);
    }
}
END_TEST

START_TEST(an_rdb_has_what_redis_can_hold)
{
    struct server_world world;
    server_world_init(&world, 0);
    server_world_send(&world, 0, "SET s 1");
    server_world_send(&world, 0, "SET t text PX 100000");
    server_world_send(&world, 0, "RPUSH l a b c");
    server_world_send(&world, 0, "SADDEX m PX 5000 MEMBERS 2 a b");
    server_world_send(&world, 0, "REDE.PUSH d 5 x id");
    server_world_send(&world, 0, "LEASE.TAKE lock owner 1000");
    server_world_send(&world, 0, "SELECT 3");
    server_world_send(&world, 0, "ZADD z 1.5 a");
    empty_pipe(7);
    ck_assert(rdb_store_write(world.world.store, RDB_FOR_REDIS_7, false, 3, &sink));
    struct import *import = mem_zalloc(sizeof(*import));
    import->store = store_new(DATABASES);
    import->now = world.world.now;
    ck_assert_msg(import_rdb(import, pipe_read, NULL), "%s", import->why);
    ck_assert_uint_eq(import->keys, 5);
    ck_assert_uint_eq(import->stream_db, 3);
    server_world_send(&world, 0, "SELECT 0");
    server_world_send(&world, 0, "DEL d lock");
    server_world_send(&world, 0, "SPERSIST m MEMBERS 2 a b");
    expect_equal(world.world.store, import->store, world.world.now);
    store_free(import->store);
    mem_free(import);
    server_world_drop(&world);
}
END_TEST

Suite *test_suite(void)
{
    const TTest *const tests[] = {
        a_copy_has_the_same_data,
        a_damaged_copy_is_refused,
        a_copy_of_many_blocks_has_the_same_data,
        clients_are_served_while_a_thread_is_late,
        a_whole_copy_with_wrong_contents_is_refused,
        an_rdb_has_what_redis_can_hold,
        NULL,
    };
    return suite_of("copy", tests);
}
