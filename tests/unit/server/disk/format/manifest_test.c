/* Tests of manifest: reading, saving all or nothing, and removing only our own files. */
#include "server/disk/format/manifest.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "server/disk/format/snapshot_file.h"
#include "server/disk/journal.h"
#include "tests/support/disk_world.h"
#include "tests/support/suite.h"

#define PREFIX   "appendonly.aof"
#define MANIFEST PREFIX ".manifest"

enum { SEGMENT_ID = 0x5e9 };

static struct manifest manifest;
static char why[MANIFEST_WHY_MAX];

static void begin(const char *prefix)
{
    disk_world_begin();
    manifest_init(&manifest, disk_world_dir(), prefix);
}

static void end(void)
{
    manifest_drop(&manifest);
    disk_world_end();
}

/* The manifest on disk, abbreviated: "b2 h1 i4 i5". */
static const char *shown(void)
{
    static char text[MANIFEST_WHY_MAX + 64];
    struct manifest other;
    manifest_init(&other, disk_world_dir(), manifest.prefix);
    enum manifest_found found = manifest_load(&other, why);
    text[0] = '\0';
    if (found == MANIFEST_BAD) snprintf(text, sizeof(text), "bad: %s", why);
    for (size_t i = 0; i < other.count; i++) {
        size_t len = strlen(text);
        snprintf(text + len, sizeof(text) - len, "%s%c%llu", i > 0 ? " " : "",
                 (char)other.files[i].type, (unsigned long long)other.files[i].seq);
    }
    manifest_drop(&other);
    return text;
}

static enum manifest_found load(const char *text)
{
    manifest_drop(&manifest);
    manifest_init(&manifest, disk_world_dir(), PREFIX);
    disk_world_write(MANIFEST, text, strlen(text));
    why[0] = '\0';
    return manifest_load(&manifest, why);
}

static void make_segment(uint64_t expected)
{
    uint64_t seq;
    int fd;
    ck_assert_int_eq(manifest_make_segment(&manifest, journal_create, &seq, &fd), 0);
    ck_assert_uint_eq(seq, expected);
    disk_close(fd);
}

static void add_segment(uint64_t expected)
{
    make_segment(expected);
    ck_assert_int_eq(manifest_add_segment(&manifest, expected, SEGMENT_ID), 0);
}

static void put_base(uint64_t expected, uint64_t segment)
{
    char path[DISK_PATH_MAX];
    uint64_t seq;
    ck_assert_int_eq(manifest_base_path(&manifest, path, &seq), 0);
    ck_assert_uint_eq(seq, expected);
    ck_assert_int_eq(disk_write_file(path, SNAPSHOT_MAGIC, strlen(SNAPSHOT_MAGIC)), 0);
    ck_assert_int_eq(manifest_put_base(&manifest, seq, segment, SEGMENT_ID), 0);
}

START_TEST(a_first_start_finds_nothing_and_begins_with_a_segment)
{
    begin(PREFIX);
    ck_assert_int_eq(manifest_load(&manifest, why), MANIFEST_NONE);
    ck_assert_uint_eq(manifest_last_segment(&manifest), 0);
    ck_assert_ptr_null(manifest_base(&manifest));
    add_segment(1);
    ck_assert_str_eq(shown(), "i1");
    ck_assert(disk_world_has(PREFIX ".1.incr.aof"));
    ck_assert(!disk_world_has("temp-" MANIFEST));
    end();
}
END_TEST

START_TEST(a_folder_that_is_not_there_is_a_first_start)
{
    begin(PREFIX);
    struct manifest other;
    manifest_init(&other, disk_world_path("none"), PREFIX);
    ck_assert_int_eq(manifest_load(&other, why), MANIFEST_NONE);
    manifest_drop(&other);
    end();
}
END_TEST

START_TEST(a_rewrite_keeps_the_new_base_and_segments_since_it_began)
{
    begin(PREFIX);
    add_segment(1);
    add_segment(2);
    put_base(1, 2);
    ck_assert_str_eq(shown(), "b1 h1 i2");
    ck_assert(disk_world_has(PREFIX ".1.incr.aof"));
    ck_assert_int_eq(manifest_sweep(&manifest), 0);
    ck_assert_str_eq(shown(), "b1 i2");
    ck_assert(!disk_world_has(PREFIX ".1.incr.aof"));
    add_segment(3);
    put_base(2, 3);
    ck_assert_str_eq(shown(), "b2 h1 h2 i3");
    ck_assert_int_eq(manifest_sweep(&manifest), 0);
    ck_assert_str_eq(shown(), "b2 i3");
    ck_assert(!disk_world_has(PREFIX ".1.base.exp"));
    ck_assert(disk_world_has(PREFIX ".2.base.exp"));
    end();
}
END_TEST

START_TEST(a_base_may_come_with_a_segment_of_its_own)
{
    begin(PREFIX);
    add_segment(1);
    make_segment(2);
    put_base(1, 2);
    ck_assert_str_eq(shown(), "b1 h1 i2");
    end();
}
END_TEST

/* ---- kept files ---- */

/* A base with a header, as if made at that instant. */
static int put_real_base(uint64_t segment, msec made)
{
    char path[DISK_PATH_MAX];
    uint64_t seq;
    struct snapshot_writer *writer;
    struct snapshot_options options = { .created = made };
    int error = manifest_base_path(&manifest, path, &seq);
    if (error == 0) error = snapshot_create(path, &options, &writer);
    if (error == 0) error = snapshot_finish(writer, 0);
    return error != 0 ? error : manifest_put_base(&manifest, seq, segment, SEGMENT_ID);
}

/* Bases 1 to 3, made at 1000, 2000 and 3000, of which two are kept. */
static void make_kept(void)
{
    manifest.keep_from = 0;
    add_segment(1);
    ck_assert_int_eq(put_real_base(1, 1000), 0);
    add_segment(2);
    ck_assert_int_eq(put_real_base(2, 2000), 0);
    add_segment(3);
    ck_assert_int_eq(put_real_base(3, 3000), 0);
}

START_TEST(replaced_files_are_kept_in_the_order_of_their_data)
{
    begin(PREFIX);
    make_kept();
    ck_assert_str_eq(shown(), "b3 h1 h1 h2 h2 i3");
    struct manifest other;
    manifest_init(&other, disk_world_dir(), PREFIX);
    ck_assert_int_eq(manifest_load(&other, why), MANIFEST_LOADED);
    static const enum manifest_type kept[] = {
        MANIFEST_HISTORY, MANIFEST_BASE,    MANIFEST_SEGMENT,
        MANIFEST_BASE,    MANIFEST_SEGMENT, MANIFEST_HISTORY
    };
    for (size_t i = 0; i < other.count; i++)
        ck_assert_int_eq(other.files[i].kept, kept[i]);
    manifest_drop(&other);
    ck_assert_int_eq(manifest_sweep(&manifest), 0);
    ck_assert_uint_eq(manifest.kept.files, 4);
    ck_assert_int_eq(manifest.kept.since, 1000);
    ck_assert_int_eq(manifest.kept.next, 2000);
    end();
}
END_TEST

START_TEST(a_base_that_begins_anew_stays_marked)
{
    begin(PREFIX);
    make_kept();
    ck_assert_int_eq(manifest_put_anew(&manifest, 4, 4, SEGMENT_ID), 0);
    struct manifest other;
    manifest_init(&other, disk_world_dir(), PREFIX);
    ck_assert_int_eq(manifest_load(&other, why), MANIFEST_LOADED);
    for (size_t i = 0; i < other.count; i++)
        ck_assert_int_eq(other.files[i].anew, other.files[i].type == MANIFEST_BASE);
    manifest_drop(&other);
    end();
}
END_TEST

START_TEST(kept_files_go_once_a_later_base_reaches_the_first_instant)
{
    static const struct {
        msec from;
        const char *left;
    } steps[] = { { 1999, "b3 h1 h1 h2 h2 i3" },
                  { 2000, "b3 h2 h2 i3" },
                  { 2999, "b3 h2 h2 i3" },
                  { 3000, "b3 i3" } };
    begin(PREFIX);
    make_kept();
    for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
        manifest.keep_from = steps[i].from;
        ck_assert_int_eq(manifest_sweep(&manifest), 0);
        ck_assert_str_eq(shown(), steps[i].left);
    }
    ck_assert(!disk_world_has(PREFIX ".2.incr.aof"));
    ck_assert_int_eq(manifest.kept.since, 3000);
    ck_assert_int_eq(manifest.kept.next, -1);
    end();
}
END_TEST

START_TEST(lines_of_kept_files_that_a_crash_removed_go_too)
{
    begin(PREFIX);
    make_kept();
    ck_assert_int_eq(disk_remove(disk_world_path(PREFIX ".1.base.exp")), 0);
    ck_assert_int_eq(manifest_sweep(&manifest), 0);
    ck_assert_str_eq(shown(), "b3 h2 h2 i3");
    ck_assert(!disk_world_has(PREFIX ".1.incr.aof"));
    end();
}
END_TEST

START_TEST(names_with_spaces_and_quotes_are_read_back)
{
    static const char *const prefixes[] = { "my file.aof", "a\"b\\c",     "tab\there", "'",
                                            "#x",          "caf\xc3\xa9", "\xff\x01" };
    for (size_t i = 0; i < sizeof(prefixes) / sizeof(*prefixes); i++) {
        begin(prefixes[i]);
        add_segment(1);
        add_segment(2);
        put_base(1, 2);
        ck_assert_int_eq(manifest_sweep(&manifest), 0);
        ck_assert_str_eq(shown(), "b1 i2");
        struct manifest other;
        char path[DISK_PATH_MAX];
        manifest_init(&other, disk_world_dir(), prefixes[i]);
        ck_assert_int_eq(manifest_load(&other, why), MANIFEST_LOADED);
        ck_assert_int_eq(manifest_file_path(&other, manifest_base(&other), path), 0);
        ck_assert_int_eq(access(path, R_OK), 0);
        manifest_drop(&other);
        end();
    }
}
END_TEST

START_TEST(a_manifest_of_redis_is_read)
{
    begin(PREFIX);
    ck_assert_int_eq(load("file appendonly.aof.2.base.rdb seq 2 type b\n"
                          "file appendonly.aof.1.base.rdb seq 1 type h\n"
                          "file appendonly.aof.2.incr.aof seq 2 type i\n"
                          "file \"my \\\"fi le.3.incr.aof\" seq 7 type i\n"),
                     MANIFEST_FOREIGN);
    ck_assert_str_eq(manifest_base(&manifest)->name, "appendonly.aof.2.base.rdb");
    ck_assert_uint_eq(manifest_last_segment(&manifest), 7);
    ck_assert_str_eq(manifest.files[3].name, "my \"fi le.3.incr.aof");
    make_segment(8);
    end();
}
END_TEST

START_TEST(comments_other_pairs_and_any_order_of_words_are_read)
{
    begin(PREFIX);
    ck_assert_int_eq(load("# a comment\n"
                          "TYPE i SEQ 3 colour red FILE x\r\n"
                          "file y type b seq 1"),
                     MANIFEST_FOREIGN);
    ck_assert_uint_eq(manifest.count, 2);
    ck_assert_str_eq(manifest.files[0].name, "x");
    ck_assert_str_eq(manifest_base(&manifest)->name, "y");
    end();
}
END_TEST

START_TEST(an_invalid_manifest_is_refused_with_its_line)
{
#define REFUSED(name, after)                                                                       \
    "'" name "' continues a file that is not listed before it. Restore all files of the folder "   \
    "from one copy. To load the data without that file, remove 'after " after "'"
    static const struct {
        const char *text, *why;
    } bad[] = {
        { "", "the manifest lists no files" },
        { "# nothing\n", "the manifest lists no files" },
        { "file x seq 1 type b\n\n", "line 2: expected 'file NAME seq N type T'" },
        { "file x seq 1\n", "line 1: expected 'file NAME seq N type T'" },
        { "file x seq 1 type\n", "line 1: expected 'file NAME seq N type T'" },
        { "seq 1 type b\n", "line 1: expected 'file NAME seq N type T'" },
        { "file x type b\n", "line 1: expected 'file NAME seq N type T'" },
        { "file \"x seq 1 type b\n", "line 1: unbalanced quotes" },
        { "file \"x\\x00y\" seq 1 type b\n", "line 1: a zero byte in a value" },
        { "file a/b seq 1 type b\n", "line 1: 'a/b' is not a file name" },
        { "file \"\" seq 1 type b\n", "line 1: '' is not a file name" },
        { "file .. seq 1 type h\n", "line 1: '..' is not a file name" },
        { "file x seq 0 type b\n", "line 1: '0' is not a number" },
        { "file x seq -1 type b\n", "line 1: '-1' is not a number" },
        { "file x seq 1x type b\n", "line 1: '1x' is not a number" },
        { "file x seq 9999999999999999999 type b\n",
          "line 1: '9999999999999999999' is not a number" },
        { "file x seq 1 type q\n", "line 1: 'q' is not a file type" },
        { "file x seq 1 type bi\n", "line 1: 'bi' is not a file type" },
        { "file x seq 1 type b\nfile y seq 2 type b\n", "line 2: second base file 'y'" },
        { "file x seq 2 type i\nfile y seq 2 type i\n", "line 2: 'y' is out of order" },
        { "file x seq 2 type i\nfile y seq 1 type i\n", "line 2: 'y' is out of order" },
        { "file x seq 1 type i\nfile x seq 2 type i\n", "line 2: duplicate file 'x'" },
        { "file x seq 1 type i after 000000ab\n", REFUSED("x", "000000ab") },
        { "file b seq 1 type b header 000000ac\nfile x seq 1 type i after 000000ab\n",
          REFUSED("x", "000000ab") },
        { "file b seq 1 type b header 000000ab\nfile x seq 1 type i id 00000001 after 000000ab\n"
          "file z seq 3 type i after 00000002\n",
          REFUSED("z", "00000002") },
    };
    begin(PREFIX);
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
        ck_assert_int_eq(load(bad[i].text), MANIFEST_BAD);
        ck_assert_str_eq(why, bad[i].why);
        ck_assert_uint_eq(manifest.count, 0);
    }
    end();
}
END_TEST

START_TEST(each_segment_names_the_file_that_it_continues)
{
    begin(PREFIX);
    put_base(1, 1);
    make_segment(2);
    ck_assert_int_eq(manifest_add_segment(&manifest, 2, 0xab), 0);
    make_segment(3);
    ck_assert_int_eq(manifest_add_segment(&manifest, 3, 0xcd), 0);
    manifest_drop(&manifest);
    manifest_init(&manifest, disk_world_dir(), PREFIX);
    ck_assert_int_eq(manifest_load(&manifest, why), MANIFEST_LOADED);
    ck_assert_uint_eq(manifest.count, 4);
    ck_assert_uint_eq(manifest.files[1].id, SEGMENT_ID);
    ck_assert_uint_eq(manifest.files[2].id, 0xab);
    ck_assert_uint_eq(manifest.files[2].after, SEGMENT_ID);
    ck_assert_uint_eq(manifest.files[3].after, 0xab);
    put_base(2, 3); /* which the third segment continues now */
    ck_assert_int_eq(manifest_sweep(&manifest), 0);
    ck_assert_str_eq(shown(), "b2 i3");
    end();
}
END_TEST

START_TEST(files_without_an_id_are_not_checked)
{
    begin(PREFIX);
    ck_assert_int_eq(load("file appendonly.aof.1.base.exp seq 1 type b\n"
                          "file appendonly.aof.1.incr.aof seq 1 type i after 000000ab\n"
                          "file appendonly.aof.2.incr.aof seq 2 type i after 000000cd\n"),
                     MANIFEST_FOREIGN);
    end();
}
END_TEST

START_TEST(a_damaged_manifest_is_refused_or_read_without_crash)
{
    static const char text[] = "file appendonly.aof.2.base.exp seq 2 type b\n"
                               "file \"appendonly.aof.2.incr.aof\" seq 2 type i\n";
    begin(PREFIX);
    for (size_t at = 0; at < sizeof(text) - 1; at++) {
        char changed[sizeof(text)];
        for (int bit = 0; bit < 8; bit++) {
            memcpy(changed, text, sizeof(text));
            changed[at] = (char)(changed[at] ^ 1 << bit);
            ck_assert_int_ne(load(changed), MANIFEST_NONE);
        }
        memcpy(changed, text, sizeof(text));
        changed[at] = '\0';
        ck_assert_int_ne(load(changed), MANIFEST_NONE);
    }
    end();
}
END_TEST

START_TEST(our_manifest_is_refused_after_any_change)
{
    begin(PREFIX);
    put_base(1, 1);
    add_segment(2);
    size_t len;
    char *text = disk_world_read(MANIFEST, &len);
    for (size_t at = 0; at < len; at++) {
        for (int bit = 0; bit < 8; bit++) {
            text[at] = (char)(text[at] ^ 1 << bit);
            disk_world_write(MANIFEST, text, len);
            const char *found = shown();
            ck_assert_msg(strncmp(found, "bad:", 4) == 0, "byte %zu bit %d: %s", at, bit, found);
            text[at] = (char)(text[at] ^ 1 << bit);
        }
    }
    free(text);
    end();
}
END_TEST

START_TEST(data_files_without_a_manifest_are_an_error)
{
    static const char *const data[] = { PREFIX ".1.base.exp", PREFIX ".7.base.rdb",
                                        PREFIX ".12.incr.aof" };
    static const char *const none[] = { PREFIX, "temp-" MANIFEST, "temp-" PREFIX ".1.base.exp",
                                        "other.1.base.exp", PREFIX ".x.base.exp" };
    for (size_t i = 0; i < sizeof(data) / sizeof(*data); i++) {
        begin(PREFIX);
        disk_world_write(data[i], "some data that were not to be lost", 34);
        ck_assert_int_eq(manifest_load(&manifest, why), MANIFEST_BAD);
        ck_assert_ptr_nonnull(strstr(why, data[i]));
        end();
    }
    begin(PREFIX);
    for (size_t i = 0; i < sizeof(none) / sizeof(*none); i++)
        disk_world_write(none[i], "some data that are not ours to know", 34);
    make_segment(1); /* as after a first start that was interrupted */
    ck_assert_int_eq(manifest_load(&manifest, why), MANIFEST_NONE);
    end();
}
END_TEST

START_TEST(a_failed_change_leaves_the_old_or_the_new_manifest)
{
    for (unsigned nth = 1; nth < 8; nth++) {
        begin(PREFIX);
        add_segment(1);
        add_segment(2);
        unsigned syncs = disk_world_calls(DISK_SYNC_DIR);
        disk_world_fail((struct disk_failure){ .nth = nth, .forever = true, .keep = 20 });
        int error = manifest_put_base(&manifest, 1, 2, SEGMENT_ID);
        ck_assert_int_eq(error, nth <= 6 ? ENOSPC : 0);
        disk_world_heal();
        /* Calls: open of the base; open, write, sync, rename; then the folder's sync. */
        const char *now = nth <= 5 ? "i1 i2" : "b1 h1 i2";
        ck_assert_str_eq(shown(), now);
        ck_assert_uint_eq(manifest.count, nth <= 5 ? 2 : 3);
        ck_assert_int_eq(manifest.unsynced, nth == 6);
        if (nth >= 6) {
            ck_assert_int_eq(manifest_sweep(&manifest), 0);
            ck_assert_uint_gt(disk_world_calls(DISK_SYNC_DIR), syncs);
            ck_assert_str_eq(shown(), "b1 i2");
        }
        end();
    }
}
END_TEST

START_TEST(nothing_is_deleted_before_the_folder_is_synced)
{
    begin(PREFIX);
    add_segment(1);
    add_segment(2);
    disk_world_fail(
        (struct disk_failure){ .nth = 1, .calls = 1u << DISK_SYNC_DIR, .forever = true });
    ck_assert_int_eq(manifest_put_base(&manifest, 1, 2, SEGMENT_ID), ENOSPC);
    ck_assert_int_eq(manifest_sweep(&manifest), ENOSPC);
    ck_assert(disk_world_has(PREFIX ".1.incr.aof"));
    disk_world_heal();
    /* Neither by the next process, which finds the manifest but not whether it is safe. */
    manifest_drop(&manifest);
    manifest_init(&manifest, disk_world_dir(), PREFIX);
    ck_assert_int_eq(manifest_load(&manifest, why), MANIFEST_LOADED);
    unsigned syncs = disk_world_calls(DISK_SYNC_DIR);
    ck_assert_int_eq(manifest_sweep(&manifest), 0);
    ck_assert_uint_eq(disk_world_calls(DISK_SYNC_DIR), syncs + 2);
    ck_assert(!disk_world_has(PREFIX ".1.incr.aof"));
    end();
}
END_TEST

START_TEST(a_sweep_takes_leftovers_of_ours_and_nothing_else)
{
    static const char *const ours[] = {
        PREFIX ".9.base.exp", PREFIX ".1.incr.aof",         PREFIX ".3.incr.aof",
        "temp-" MANIFEST,     "temp-" PREFIX ".3.base.exp",
    };
    static const char *const others[] = {
        PREFIX,
        PREFIX ".1.base.rdb",
        PREFIX ".1.base.aof",
        PREFIX ".base.exp",
        PREFIX ".x1.base.exp",
        PREFIX ".1x.base.exp",
        PREFIX ".1.base.exp.bak",
        PREFIX ".1.incr.aof~",
        "my" PREFIX ".1.incr.aof",
        "temp-12.rdb",
        "temp-" PREFIX ".1.incr.aof",
        ("temp-" PREFIX),
        "dump.rdb",
        "appendonly.aof2.1.incr.aof",
        ".hidden",
    };
    static const char *const contents[] = { SNAPSHOT_MAGIC, RECORD_FIRST_LINE, "",
                                            MANIFEST_FIRST_LINE, "EXPIR" };
    enum { CONTENTS = sizeof(contents) / sizeof(*contents) };
    enum { OURS = sizeof(ours) / sizeof(*ours), OTHERS = sizeof(others) / sizeof(*others) };
    begin(PREFIX);
    add_segment(1);
    add_segment(2);
    put_base(1, 2);
    ck_assert_int_eq(manifest_sweep(&manifest), 0);
    for (int i = 0; i < OURS; i++)
        disk_world_write(ours[i], contents[i % CONTENTS], strlen(contents[i % CONTENTS]));
    for (int i = 0; i < OTHERS; i++)
        disk_world_write(others[i], "x", 1);
    ck_assert_int_eq(manifest_sweep(&manifest), 0);
    for (int i = 0; i < OURS; i++)
        ck_assert_msg(!disk_world_has(ours[i]), "%s", ours[i]);
    for (int i = 0; i < OTHERS; i++)
        ck_assert_msg(disk_world_has(others[i]), "%s", others[i]);
    ck_assert(disk_world_has(PREFIX ".1.base.exp"));
    ck_assert(disk_world_has(PREFIX ".2.incr.aof"));
    ck_assert_str_eq(shown(), "b1 i2");
    end();
}
END_TEST

static const char redis_list[] = "file " PREFIX ".1.base.rdb seq 1 type b\n"
                                 "file " PREFIX ".1.incr.aof seq 1 type i\n";
static const char redis_aof[] = "*2\r\n$6\r\nSELECT\r\n$1\r\n0\r\n";

START_TEST(sweep_leaves_files_of_others_under_our_names)
{
    static const char *const names[] = { PREFIX ".9.base.exp", PREFIX ".7.incr.aof",
                                         "temp-" PREFIX ".3.base.exp", "temp-" PREFIX ".first",
                                         "temp-" MANIFEST };
    static const char *const contents[] = { "REDIS0010", redis_aof, redis_list, "text" };
    enum {
        NAMES = sizeof(names) / sizeof(*names),
        CONTENTS = sizeof(contents) / sizeof(*contents)
    };
    for (int c = 0; c < CONTENTS; c++) {
        begin(PREFIX);
        put_base(1, 1);
        for (int i = 0; i < NAMES; i++)
            disk_world_write(names[i], contents[c], strlen(contents[c]));
        ck_assert_int_eq(manifest_sweep(&manifest), 0);
        for (int i = 0; i < NAMES; i++)
            ck_assert_uint_eq(disk_world_size(names[i]), strlen(contents[c]));
        end();
    }
}
END_TEST

START_TEST(history_of_another_program_is_forgotten_and_stays)
{
    begin(PREFIX);
    disk_world_write("x.rdb", "REDIS0010", 9);
    disk_world_write("x.exp", SNAPSHOT_MAGIC, strlen(SNAPSHOT_MAGIC));
    ck_assert_int_eq(load("file x.exp seq 3 type b\nfile x.rdb seq 1 type h\n"), MANIFEST_LOADED);
    ck_assert_int_eq(manifest_sweep(&manifest), 0);
    ck_assert_str_eq(shown(), "b3");
    ck_assert(disk_world_has("x.rdb"));
    end();
}
END_TEST

START_TEST(manifest_of_redis_is_never_replaced)
{
    static const char *const contents[] = { redis_list, "", "text" };
    for (size_t i = 0; i < sizeof(contents) / sizeof(*contents); i++) {
        begin(PREFIX);
        add_segment(1); /* then Redis writes into the folder */
        disk_world_write(MANIFEST, contents[i], strlen(contents[i]));
        make_segment(2);
        ck_assert_int_eq(manifest_add_segment(&manifest, 2, SEGMENT_ID), EEXIST);
        ck_assert_uint_eq(disk_world_size(MANIFEST), strlen(contents[i]));
        disk_world_write("temp-" MANIFEST, redis_list, strlen(redis_list));
        ck_assert_int_eq(unlink(disk_world_path(MANIFEST)), 0);
        ck_assert_int_eq(manifest_add_segment(&manifest, 2, SEGMENT_ID), EEXIST);
        ck_assert_uint_eq(disk_world_size("temp-" MANIFEST), strlen(redis_list));
        end();
    }
}
END_TEST

START_TEST(new_files_get_unused_numbers)
{
    char path[DISK_PATH_MAX];
    uint64_t seq;
    begin(PREFIX);
    disk_world_write(PREFIX ".1.incr.aof", redis_aof, strlen(redis_aof));
    disk_world_write(PREFIX ".2.incr.aof", "text", 4);
    disk_world_write(PREFIX ".1.base.exp", "text", 4);
    disk_world_write("temp-" PREFIX ".2.base.exp", redis_aof, strlen(redis_aof));
    make_segment(3);
    ck_assert_int_eq(manifest_base_path(&manifest, path, &seq), 0);
    ck_assert_uint_eq(seq, 3);
    ck_assert_uint_eq(disk_world_size(PREFIX ".1.incr.aof"), strlen(redis_aof));
    ck_assert_uint_eq(disk_world_size(PREFIX ".2.incr.aof"), 4);
    end();
}
END_TEST

START_TEST(manifest_is_ours_by_its_first_line_its_sum_or_its_files)
{
    static const char list[] = "file a seq 1 type b\nfile b seq 1 type i\n";
    static const char segments[] = "file b seq 1 type i\n";
    begin(PREFIX);
    ck_assert_int_eq(load(list), MANIFEST_FOREIGN);
    /* Its end with the checksum was cut off. */
    ck_assert_int_eq(load("# expired manifest 1\nfile a seq 1 type b\n"), MANIFEST_BAD);
    disk_world_write("b", redis_aof, strlen(redis_aof));
    ck_assert_int_eq(load(segments), MANIFEST_FOREIGN);
    disk_world_write("b", RECORD_FIRST_LINE, strlen(RECORD_FIRST_LINE));
    ck_assert_int_eq(load(segments), MANIFEST_LOADED);
    ck_assert_int_eq(load(list), MANIFEST_FOREIGN);
    disk_world_write("a", SNAPSHOT_MAGIC, strlen(SNAPSHOT_MAGIC));
    ck_assert_int_eq(load(list), MANIFEST_LOADED);
    end();
}
END_TEST

START_TEST(a_sweep_that_fails_is_made_good_by_the_next)
{
    for (unsigned nth = 1; nth < 9; nth++) {
        begin(PREFIX);
        add_segment(1);
        add_segment(2);
        put_base(1, 2);
        disk_world_write(PREFIX ".5.base.exp", SNAPSHOT_MAGIC, strlen(SNAPSHOT_MAGIC));
        disk_world_fail((struct disk_failure){ .nth = nth });
        int error = manifest_sweep(&manifest);
        ck_assert_int_eq(error != 0, disk_world_failed());
        disk_world_heal();
        ck_assert_int_eq(manifest_sweep(&manifest), 0);
        ck_assert_str_eq(shown(), "b1 i2");
        ck_assert(!disk_world_has(PREFIX ".1.incr.aof"));
        ck_assert(!disk_world_has(PREFIX ".5.base.exp"));
        end();
    }
}
END_TEST

/* What the manifest on disk says of the segment with this number. */
static uint64_t synced_of(uint64_t seq)
{
    struct manifest other;
    uint64_t synced = 0;
    manifest_init(&other, disk_world_dir(), PREFIX);
    ck_assert_int_eq(manifest_load(&other, why), MANIFEST_LOADED);
    for (size_t i = 0; i < other.count; i++)
        if (other.files[i].seq == seq) synced = other.files[i].synced;
    manifest_drop(&other);
    return synced;
}

START_TEST(lengths_that_were_synced_are_kept_until_files_are_cut)
{
    begin(PREFIX);
    add_segment(1);
    add_segment(2);
    ck_assert_uint_eq(synced_of(1), sizeof(RECORD_FIRST_LINE) - 1);
    disk_world_write(PREFIX ".2.incr.aof", RECORD_FIRST_LINE "text", 24);
    ck_assert_int_eq(manifest_note_synced(&manifest), 0);
    add_segment(3);
    put_base(1, 2);
    ck_assert_uint_eq(synced_of(2), 24);
    ck_assert_uint_eq(synced_of(3), sizeof(RECORD_FIRST_LINE) - 1);
    ck_assert_int_eq(manifest_lower_synced(&manifest, PREFIX ".2.incr.aof", 30), 0);
    ck_assert_uint_eq(synced_of(2), 24);
    ck_assert_int_eq(manifest_lower_synced(&manifest, PREFIX ".2.incr.aof", 20), 0);
    ck_assert_uint_eq(synced_of(2), 20);
    disk_world_fail((struct disk_failure){ .nth = 1, .calls = 1u << DISK_WRITE, .error = ENOSPC });
    ck_assert_int_eq(manifest_note_synced(&manifest), ENOSPC);
    ck_assert_uint_eq(synced_of(2), 20);
    end();
}
END_TEST

Suite *test_suite(void)
{
    const TTest *const tests[] = {
        a_first_start_finds_nothing_and_begins_with_a_segment,
        a_folder_that_is_not_there_is_a_first_start,
        a_rewrite_keeps_the_new_base_and_segments_since_it_began,
        a_base_may_come_with_a_segment_of_its_own,
        replaced_files_are_kept_in_the_order_of_their_data,
        a_base_that_begins_anew_stays_marked,
        kept_files_go_once_a_later_base_reaches_the_first_instant,
        lines_of_kept_files_that_a_crash_removed_go_too,
        names_with_spaces_and_quotes_are_read_back,
        a_manifest_of_redis_is_read,
        comments_other_pairs_and_any_order_of_words_are_read,
        an_invalid_manifest_is_refused_with_its_line,
        each_segment_names_the_file_that_it_continues,
        files_without_an_id_are_not_checked,
        a_damaged_manifest_is_refused_or_read_without_crash,
        our_manifest_is_refused_after_any_change,
        data_files_without_a_manifest_are_an_error,
        a_failed_change_leaves_the_old_or_the_new_manifest,
        nothing_is_deleted_before_the_folder_is_synced,
        a_sweep_takes_leftovers_of_ours_and_nothing_else,
        a_sweep_that_fails_is_made_good_by_the_next,
        sweep_leaves_files_of_others_under_our_names,
        history_of_another_program_is_forgotten_and_stays,
        manifest_of_redis_is_never_replaced,
        new_files_get_unused_numbers,
        manifest_is_ours_by_its_first_line_its_sum_or_its_files,
        lengths_that_were_synced_are_kept_until_files_are_cut,
        NULL,
    };
    return suite_of("manifest", tests);
}
