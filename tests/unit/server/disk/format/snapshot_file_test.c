/* Tests of snapshot_file: bytes are read back unchanged, and any change of the file is an error
 * with its place. */
#include "server/disk/format/snapshot_file.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server/disk/format/crc32c.h"
#include "store/base/little_endian.h"
#include "tests/support/disk_world.h"
#include "tests/support/rng.h"
#include "tests/support/suite.h"

static const struct snapshot_options usual = { .created = 1700000000123 };
static const struct snapshot_options plain = { .created = 1700000000123, .plain = true };
enum { KEYS = 12345 };

static void write_snapshot(const char *name, const struct snapshot_options *options,
                           const char *data, size_t len, size_t at_once)
{
    struct snapshot_writer *writer;
    ck_assert_int_eq(snapshot_create(disk_world_path(name), options, &writer), 0);
    for (size_t at = 0; at < len; at += at_once)
        ck_assert_int_eq(
            snapshot_append(writer, data + at, len - at < at_once ? len - at : at_once), 0);
    ck_assert_int_eq(snapshot_finish(writer, KEYS), 0);
}

/* True if the file is complete and holds exactly these bytes. */
static bool read_snapshot(const char *name, const char *expected, size_t len,
                          struct snapshot_fault *fault)
{
    const char *data;
    size_t got, at = 0;
    struct snapshot_reader *reader = snapshot_open(disk_world_path(name), fault);
    if (reader == NULL) return false;
    enum snapshot_got what;
    while ((what = snapshot_read(reader, &data, &got, fault)) == SNAPSHOT_BYTES) {
        ck_assert_uint_le(at + got, len);
        ck_assert(memcmp(expected + at, data, got) == 0);
        at += got;
    }
    if (what == SNAPSHOT_END) {
        ck_assert_uint_eq(at, len);
        ck_assert_uint_eq(snapshot_offset(reader), snapshot_info(reader)->length);
        ck_assert_int_eq(snapshot_read(reader, &data, &got, fault), SNAPSHOT_END);
    } else {
        ck_assert_int_eq(snapshot_read(reader, &data, &got, fault), SNAPSHOT_FAULT);
    }
    snapshot_close(reader);
    return what == SNAPSHOT_END;
}

static void assert_fault(const char *name, uint64_t offset, const char *reason)
{
    struct snapshot_fault fault;
    ck_assert(!read_snapshot(name, NULL, 0, &fault));
    ck_assert_str_eq(fault.reason, reason);
    ck_assert_uint_eq(fault.offset, offset);
}

static char *some_text(size_t len, bool random)
{
    struct rng rng;
    rng_init(&rng, test_seed());
    char *text = malloc(len + 1);
    for (size_t i = 0; i < len; i++)
        text[i] = random ? (char)rng_next(&rng) : "SET key:0001 value "[(i + i / 1000) % 19];
    return text;
}

START_TEST(a_written_file_reads_back)
{
    static const size_t lengths[] = {
        0, 1, 2, 100, SNAPSHOT_BLOCK - 1, SNAPSHOT_BLOCK, SNAPSHOT_BLOCK + 1, 3 * SNAPSHOT_BLOCK + 7
    };
    disk_world_begin();
    for (size_t i = 0; i < sizeof(lengths) / sizeof(*lengths); i++) {
        for (int random = 0; random < 2; random++) {
            char *text = some_text(lengths[i], random);
            struct snapshot_fault fault;
            write_snapshot("a", &usual, text, lengths[i], 1000);
            ck_assert_msg(read_snapshot("a", text, lengths[i], &fault), "%s", fault.reason);
            write_snapshot("a", &plain, text, lengths[i], 3 * SNAPSHOT_BLOCK);
            ck_assert_msg(read_snapshot("a", text, lengths[i], &fault), "%s", fault.reason);
            ck_assert(!disk_world_has("temp-a"));
            free(text);
        }
    }
    disk_world_end();
}
END_TEST

START_TEST(the_header_describes_the_contents)
{
    disk_world_begin();
    char *text = some_text(SNAPSHOT_BLOCK + 10, false);
    struct snapshot_fault fault;
    write_snapshot("a", &usual, text, SNAPSHOT_BLOCK + 10, 777);
    struct snapshot_reader *reader = snapshot_open(disk_world_path("a"), &fault);
    ck_assert_ptr_nonnull(reader);
    const struct snapshot_info *info = snapshot_info(reader);
    ck_assert_int_eq(info->created, usual.created);
    ck_assert_uint_eq(info->keys, KEYS);
    ck_assert_uint_eq(info->raw, SNAPSHOT_BLOCK + 10);
    ck_assert_uint_eq(info->blocks, 3);
    ck_assert_uint_eq(info->length, disk_world_size("a"));
    snapshot_close(reader);
    free(text);
    disk_world_end();
}
END_TEST

START_TEST(blocks_are_packed_where_that_makes_them_smaller)
{
    disk_world_begin();
    char *text = some_text(SNAPSHOT_BLOCK, false), *noise = some_text(SNAPSHOT_BLOCK, true);
    size_t bare = SNAPSHOT_HEADER + 2 * SNAPSHOT_BLOCK_HEADER + SNAPSHOT_BLOCK;
    write_snapshot("text", &usual, text, SNAPSHOT_BLOCK, 777);
    ck_assert_uint_lt(disk_world_size("text"), bare / 20);
    write_snapshot("noise", &usual, noise, SNAPSHOT_BLOCK, 777);
    ck_assert_uint_eq(disk_world_size("noise"), bare);
    write_snapshot("plain", &plain, text, SNAPSHOT_BLOCK, 777);
    ck_assert_uint_eq(disk_world_size("plain"), bare);
    free(text);
    free(noise);
    disk_world_end();
}
END_TEST

/* Makes a file of two blocks, the first one compressed, and reads it into *file. */
static size_t small_snapshot(char **file, char **text, size_t *text_len)
{
    size_t len;
    *text_len = SNAPSHOT_BLOCK + 40;
    *text = some_text(*text_len, false);
    write_snapshot("small", &usual, *text, *text_len, 10000);
    *file = disk_world_read("small", &len);
    ck_assert_uint_lt(len, 10000);
    return len;
}

START_TEST(a_file_cut_or_lengthened_anywhere_is_refused)
{
    char *file, *text;
    size_t text_len;
    struct snapshot_fault fault;
    disk_world_begin();
    size_t len = small_snapshot(&file, &text, &text_len);
    for (size_t cut = 0; cut < len; cut++) {
        disk_world_write("cut", file, cut);
        ck_assert(!read_snapshot("cut", text, text_len, &fault));
        ck_assert_int_eq(fault.error, 0);
        ck_assert_uint_eq(fault.offset, cut);
    }
    file[len] = '\0';
    disk_world_write("cut", file, len + 1);
    ck_assert(!read_snapshot("cut", text, text_len, &fault));
    ck_assert_uint_eq(fault.offset, len);
    free(file);
    free(text);
    disk_world_end();
}
END_TEST

START_TEST(a_bit_flipped_anywhere_is_an_error)
{
    char *file, *text;
    size_t text_len;
    struct snapshot_fault fault;
    disk_world_begin();
    size_t len = small_snapshot(&file, &text, &text_len);
    for (size_t bit = 0; bit < 8 * len; bit++) {
        file[bit / 8] = (char)(file[bit / 8] ^ 1 << bit % 8);
        disk_world_write("flipped", file, len);
        ck_assert_msg(!read_snapshot("flipped", text, text_len, &fault), "bit %zu", bit);
        ck_assert_int_eq(fault.error, 0);
        file[bit / 8] = (char)(file[bit / 8] ^ 1 << bit % 8);
    }
    free(file);
    free(text);
    disk_world_end();
}
END_TEST

/* The same, with the right checksum in the header. */
static void write_forged(const char *name, char *file, size_t len)
{
    put_u32(file + 68, crc32c(0, file, 68));
    disk_world_write(name, file, len);
}

START_TEST(an_error_names_the_fault_and_its_place)
{
    char *file, *text;
    size_t text_len;
    disk_world_begin();
    size_t len = small_snapshot(&file, &text, &text_len);
    disk_world_write("x", "", 0);
    assert_fault("x", 0, "not a snapshot");
    disk_world_write("x", "REDIS0011", 9);
    assert_fault("x", 0, "not a snapshot");
    disk_world_write("x", file, 71);
    assert_fault("x", 71, "file ends in its header");
    disk_world_write("x", file, len - 1);
    char reason[100];
    snprintf(reason, sizeof(reason), "file is shorter than its header says: %zu of %zu bytes",
             len - 1, len);
    assert_fault("x", len - 1, reason);
    file[16] = 2;
    write_forged("x", file, len);
    assert_fault("x", 16, "unsupported version 2 (supported: 1)");
    file[16] = 1;
    file[20] = 4;
    write_forged("x", file, len);
    assert_fault("x", 20, "unsupported flags 4");
    file[20] = 0;
    file[24] ^= 1;
    disk_world_write("x", file, len);
    assert_fault("x", 68, "wrong checksum of the header");
    free(file);
    free(text);
    disk_world_end();
}
END_TEST

START_TEST(a_file_that_is_not_there_is_an_error_of_the_system)
{
    struct snapshot_fault fault;
    disk_world_begin();
    ck_assert_ptr_null(snapshot_open(disk_world_path("none"), &fault));
    ck_assert_int_eq(fault.error, ENOENT);
    ck_assert_str_eq(fault.reason, strerror(ENOENT));
    ck_assert_ptr_null(snapshot_open(disk_world_dir(), &fault));
    ck_assert_int_eq(fault.error, EISDIR);
    disk_world_end();
}
END_TEST

START_TEST(a_block_that_is_missing_repeated_or_out_of_order_shows)
{
    enum { STEP = SNAPSHOT_BLOCK_HEADER + SNAPSHOT_BLOCK };
    static const char *const orders[] = { "ab", "abbc", "acb", "bac", "aabc" };
    struct snapshot_fault fault;
    disk_world_begin();
    char *text = some_text(3 * SNAPSHOT_BLOCK, true);
    size_t len;
    write_snapshot("a", &plain, text, 3 * SNAPSHOT_BLOCK, SNAPSHOT_BLOCK);
    char *file = disk_world_read("a", &len);
    for (size_t i = 0; i < sizeof(orders) / sizeof(*orders); i++) {
        size_t blocks = strlen(orders[i]), at = SNAPSHOT_HEADER;
        char *forged = malloc(len + STEP);
        memcpy(forged, file, SNAPSHOT_HEADER);
        for (size_t b = 0; b < blocks; b++, at += STEP)
            memcpy(forged + at, file + SNAPSHOT_HEADER + (orders[i][b] - 'a') * STEP, STEP);
        memcpy(forged + at, file + len - SNAPSHOT_BLOCK_HEADER, SNAPSHOT_BLOCK_HEADER);
        at += SNAPSHOT_BLOCK_HEADER;
        put_u64(forged + 32, at);
        put_u64(forged + 40, blocks * SNAPSHOT_BLOCK);
        put_u32(forged + 64, (uint32_t)blocks + 1);
        write_forged("forged", forged, at);
        /* Every order begins with what may come out: the error comes before anything else does. */
        ck_assert(!read_snapshot("forged", text, 3 * SNAPSHOT_BLOCK, &fault));
        ck_assert_str_eq(fault.reason, "wrong checksum of the block");
        free(forged);
    }
    free(file);
    free(text);
    disk_world_end();
}
END_TEST

/* Makes a file of a block with these sizes and the last block, with right checksums. */
static void forge_block(uint32_t stored, uint32_t raw, const char *data, size_t data_len)
{
    size_t len = SNAPSHOT_HEADER + 2 * SNAPSHOT_BLOCK_HEADER + data_len;
    char *file = calloc(1, len), *block = file + SNAPSHOT_HEADER;
    memcpy(file, SNAPSHOT_MAGIC, 16);
    put_u32(file + 16, SNAPSHOT_VERSION);
    put_u64(file + 32, len);
    put_u64(file + 40, raw);
    put_u32(file + 64, 2);
    put_u32(block, stored);
    put_u32(block + 4, raw);
    memcpy(block + SNAPSHOT_BLOCK_HEADER, data, data_len);
    uint32_t sum = crc32c(crc32c(0, block, 8), data, data_len);
    put_u32(block + 8, sum);
    char *last = block + SNAPSHOT_BLOCK_HEADER + data_len;
    put_u32(last + 8, crc32c(sum, last, 8));
    write_forged("forged", file, len);
    free(file);
}

START_TEST(impossible_sizes_are_refused_even_with_right_checksums)
{
    char data[64] = { 0 };
    disk_world_begin();
    forge_block(64, 63, data, 64);
    assert_fault("forged", 72, "impossible block size: 64 stored, 63 raw");
    forge_block(64, SNAPSHOT_BLOCK + 1, data, 64);
    assert_fault("forged", 72, "impossible block size: 64 stored, 262145 raw");
    forge_block(0, 64, data, 0);
    assert_fault("forged", 72, "impossible block size: 0 stored, 64 raw");
    forge_block(100, 200, data, 64);
    assert_fault("forged", 72, "impossible block size: 100 stored, 200 raw");
    forge_block(0xffffffff, 0xffffffff, data, 64);
    assert_fault("forged", 72, "impossible block size: 4294967295 stored, 4294967295 raw");
    disk_world_end();
}
END_TEST

START_TEST(invalid_lz4_is_refused_even_with_right_checksums)
{
    struct rng rng;
    struct snapshot_fault fault;
    rng_init(&rng, test_seed());
    disk_world_begin();
    for (int i = 0; i < 2000; i++) {
        char data[200];
        size_t len = 1 + rng_below(&rng, sizeof(data));
        for (size_t at = 0; at < len; at++)
            data[at] = (char)rng_next(&rng);
        uint32_t raw = (uint32_t)(len + 1 + rng_below(&rng, SNAPSHOT_BLOCK - len));
        forge_block((uint32_t)len, raw, data, len);
        struct snapshot_reader *reader = snapshot_open(disk_world_path("forged"), &fault);
        ck_assert_ptr_nonnull(reader);
        const char *bytes;
        size_t got;
        if (snapshot_read(reader, &bytes, &got, &fault) == SNAPSHOT_BYTES)
            ck_assert_uint_eq(got, raw); /* by chance, it is valid LZ4 */
        snapshot_close(reader);
    }
    disk_world_end();
}
END_TEST

START_TEST(a_failed_snapshot_leaves_the_old_one)
{
    char *text = some_text(3 * SNAPSHOT_BLOCK, true);
    bool ever_failed = true;
    for (unsigned nth = 1; ever_failed; nth++) {
        struct snapshot_fault fault;
        struct snapshot_writer *writer;
        disk_world_begin();
        write_snapshot("a", &usual, "before", 6, 6);
        disk_world_fail((struct disk_failure){ .nth = nth, .keep = 1000 });
        int error = snapshot_create(disk_world_path("a"), &usual, &writer);
        if (error == 0) {
            snapshot_append(writer, text, 3 * SNAPSHOT_BLOCK);
            error = snapshot_finish(writer, KEYS);
        }
        ever_failed = disk_world_failed();
        disk_world_heal();
        ck_assert_int_eq(error, ever_failed ? ENOSPC : 0);
        ck_assert(!disk_world_has("temp-a"));
        /* Calls: open, three blocks, the last one, the header, sync, rename. Then the file exists.
         */
        bool good = nth <= 8 ? read_snapshot("a", "before", 6, &fault)
                             : read_snapshot("a", text, 3 * SNAPSHOT_BLOCK, &fault);
        ck_assert_msg(good, "call %u: %s", nth, fault.reason);
        disk_world_end();
    }
    free(text);
}
END_TEST

START_TEST(a_long_file_is_synced_as_it_grows)
{
    struct snapshot_writer *writer;
    char *text = some_text(SNAPSHOT_BLOCK, true);
    disk_world_begin();
    ck_assert_int_eq(snapshot_create(disk_world_path("a"), &usual, &writer), 0);
    for (int i = 0; i < 100; i++) /* 25 MiB */
        ck_assert_int_eq(snapshot_append(writer, text, SNAPSHOT_BLOCK), 0);
    ck_assert_uint_eq(disk_world_calls(DISK_SYNC), 3);
    disk_world_fail((struct disk_failure){ .nth = 1, .calls = 1u << DISK_SYNC, .error = EIO });
    for (int i = 0; i < 40; i++)
        snapshot_append(writer, text, SNAPSHOT_BLOCK);
    ck_assert_int_eq(snapshot_finish(writer, KEYS), EIO);
    ck_assert(!disk_world_has("a"));
    free(text);
    disk_world_end();
}
END_TEST

START_TEST(after_an_error_nothing_more_is_written)
{
    struct snapshot_writer *writer;
    char *text = some_text(SNAPSHOT_BLOCK, true);
    disk_world_begin();
    ck_assert_int_eq(snapshot_create(disk_world_path("a"), &usual, &writer), 0);
    disk_world_fail((struct disk_failure){ .nth = 1, .calls = 1u << DISK_WRITE, .error = EIO });
    ck_assert_int_eq(snapshot_append(writer, text, SNAPSHOT_BLOCK), EIO);
    ck_assert_int_eq(snapshot_append(writer, text, SNAPSHOT_BLOCK), EIO);
    ck_assert_uint_eq(disk_world_calls(DISK_WRITE), 0);
    ck_assert_int_eq(snapshot_finish(writer, KEYS), EIO);
    ck_assert(!disk_world_has("a"));
    ck_assert(!disk_world_has("temp-a"));
    free(text);
    disk_world_end();
}
END_TEST

START_TEST(snapshot_never_replaces_a_file_that_is_none)
{
    static const char *const contents[] = { "REDIS0010", "port 6379\n", "", "EXPIRED-SNAP",
                                            "#EXPIRED-JOURNAL 1\r\n" };
    for (size_t i = 0; i < sizeof(contents) / sizeof(*contents); i++) {
        struct snapshot_writer *writer;
        size_t len = strlen(contents[i]);
        disk_world_begin();
        disk_world_write("a", contents[i], len);
        ck_assert_int_eq(snapshot_create(disk_world_path("a"), &usual, &writer), EEXIST);
        ck_assert_uint_eq(disk_world_size("a"), len);
        /* Even if the file appears while the snapshot is being written. */
        ck_assert_int_eq(snapshot_create(disk_world_path("b"), &usual, &writer), 0);
        disk_world_write("b", contents[i], len);
        ck_assert_int_eq(snapshot_finish(writer, KEYS), EEXIST);
        ck_assert_uint_eq(disk_world_size("b"), len);
        ck_assert(!disk_world_has("temp-b"));
        disk_world_end();
    }
}
END_TEST

START_TEST(snapshot_never_replaces_a_foreign_temporary)
{
    struct snapshot_writer *writer;
    disk_world_begin();
    disk_world_write("temp-a", "REDIS0010", 9);
    ck_assert_int_eq(snapshot_create(disk_world_path("a"), &usual, &writer), EEXIST);
    ck_assert_uint_eq(disk_world_size("temp-a"), 9);
    disk_world_write("temp-a", "\0\0\0\0\0\0\0\0\0",
                     9); /* left by a crash: the header is written last */
    ck_assert_int_eq(snapshot_create(disk_world_path("a"), &usual, &writer), 0);
    snapshot_abort(writer);
    disk_world_end();
}
END_TEST

START_TEST(an_aborted_snapshot_leaves_nothing)
{
    struct snapshot_writer *writer;
    disk_world_begin();
    ck_assert_int_eq(snapshot_create(disk_world_path("a"), &usual, &writer), 0);
    ck_assert(disk_world_has("temp-a"));
    snapshot_append(writer, "abc", 3);
    snapshot_abort(writer);
    snapshot_abort(NULL);
    ck_assert(!disk_world_has("a"));
    ck_assert(!disk_world_has("temp-a"));
    disk_world_end();
}
END_TEST

Suite *test_suite(void)
{
    const TTest *const tests[] = {
        a_written_file_reads_back,
        the_header_describes_the_contents,
        blocks_are_packed_where_that_makes_them_smaller,
        a_file_cut_or_lengthened_anywhere_is_refused,
        a_bit_flipped_anywhere_is_an_error,
        an_error_names_the_fault_and_its_place,
        a_file_that_is_not_there_is_an_error_of_the_system,
        a_block_that_is_missing_repeated_or_out_of_order_shows,
        impossible_sizes_are_refused_even_with_right_checksums,
        invalid_lz4_is_refused_even_with_right_checksums,
        a_failed_snapshot_leaves_the_old_one,
        a_long_file_is_synced_as_it_grows,
        after_an_error_nothing_more_is_written,
        an_aborted_snapshot_leaves_nothing,
        snapshot_never_replaces_a_file_that_is_none,
        snapshot_never_replaces_a_foreign_temporary,
        NULL,
    };
    return suite_of("snapshot_file", tests);
}
