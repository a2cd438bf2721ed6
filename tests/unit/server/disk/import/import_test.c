/* Tests of import: handmade files of Redis are loaded into a store, or give an error with its
 * place. */
#include "server/disk/import/import.h"

#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "store/base/ensure.h"
#include "store/mem/mem.h"
#include "tests/support/rng.h"
#include "tests/support/store_text.h"
#include "tests/support/suite.h"
#include "tests/unit/proto/rdb/samples.h"

enum { NOW = 1000000, DATABASES = 16 };

/* The import of a test, and the commands that it has run. */
static struct import import;
static char ran[4096];
static const char *refused; /* a command that fails */

static bool run(void *ctx, unsigned *db, int argc, const struct bytes *argv)
{
    size_t len = strlen(ran);
    (void)ctx;
    for (int i = 0; i < argc && len < sizeof(ran); i++)
        len += (size_t)snprintf(ran + len, sizeof(ran) - len, "%.*s%s", (int)argv[i].len,
                                argv[i].data, i + 1 < argc ? " " : "; ");
    if (bytes_equal(argv[0], LIT("SELECT"))) *db = (unsigned)(argv[1].data[0] - '0');
    return refused == NULL || !bytes_equal(argv[0], bytes_of(refused, strlen(refused)));
}

static void begin(void)
{
    import = (struct import){ .store = store_new(DATABASES), .now = NOW, .command = run };
    ran[0] = '\0';
    refused = NULL;
}

static void end(void)
{
    store_check(import.store);
    store_free(import.store);
}

static bool import_bytes(const void *data, size_t len)
{
    char path[64];
    int fd = memfd_create("file", 0);
    ensure(fd >= 0 && write(fd, data, len) == (ssize_t)len, "no file");
    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    bool good = import_file(&import, path);
    close(fd);
    return good;
}

static bool import_made(struct made *made)
{
    bool good = import_bytes(made->at, made->len);
    free(made);
    return good;
}

static bool import_text(const char *text)
{
    return import_bytes(text, strlen(text));
}

/* Converts "SET k v" to the text of an AOF. */
static struct made *command(struct made *to, const char *line)
{
    char head[32], copy[256];
    int words = 1;
    for (const char *at = line; *at != '\0'; at++)
        words += *at == ' ';
    raw(to, head, (size_t)snprintf(head, sizeof(head), "*%d\r\n", words));
    snprintf(copy, sizeof(copy), "%s", line);
    for (char *rest = copy, *word; (word = strsep(&rest, " ")) != NULL;) {
        raw(to, head, (size_t)snprintf(head, sizeof(head), "$%zu\r\n", strlen(word)));
        raw(raw(to, word, strlen(word)), "\r\n", 2);
    }
    return to;
}

/* ---- RDB ------------------------------------------------------------------------------------- */

static const struct {
    int type;
    const char *walk;
} expected[] = {
    { 0, "0 SET k value; " },
    { 0, "0 SET k -128; " },
    { 0, "0 SET k 32767; " },
    { 0, "0 SET k -2147483648; " },
    { 0, "0 SET k xxxxxxxx; " },
    { 1, "0 RPUSH k a; 0 RPUSH k b; 0 RPUSH k c; " },
    { 2, "0 SADD k a; 0 SADD k b; 0 SADD k c; " },
    { 3, "0 ZADD k -2000 b; 0 ZADD k -inf d; 0 ZADD k 1.5 a; 0 ZADD k inf c; " },
    { 4, "0 HSET k f v; 0 HSET k g ; " },
    { 5, "0 ZADD k -1.0000000000000001e+300 b; 0 ZADD k 1.5 a; " },
    { 9, "0 HSET k f v; 0 HSET k g ; " },
    { 10, "0 RPUSH k a; 0 RPUSH k a; 0 RPUSH k b; " },
    { 11, "0 SADD k -40000; 0 SADD k 1; 0 SADD k 2; " },
    { 12, "0 ZADD k -1 a; 0 ZADD k 0.25 b; 0 ZADD k inf c; " },
    { 13, "0 HSET k f v; 0 HSET k g v; " },
    { 14, "0 RPUSH k a; 0 RPUSH k b; 0 RPUSH k c; " },
    { 16, "0 HSET k f v; 0 HSET k g v; " },
    { 17, "0 ZADD k -1 a; 0 ZADD k 0.25 b; " },
    { 18, "0 RPUSH k a; 0 RPUSH k b; 0 RPUSH k c; 0 RPUSH k plain; " },
    { 20, "0 SADD k a; 0 SADD k b; 0 SADD k c; " },
    { 22, "0 HSET k f v; 0 HSETEX k PXAT 1000 FIELDS 1 g w; " },
    { 23, "0 HSET k g w; 0 HSETEX k PXAT 1700000000123 FIELDS 1 f v; " },
    { 24, "0 HSET k f v; 0 HSETEX k PXAT 1700000000999 FIELDS 1 g w; " },
    { 25, "0 HSET k g w; 0 HSETEX k PXAT 1700000000123 FIELDS 1 f v; " },
    { 7, "0 REDE.PUSHAT k 12000 three id3; 0 REDE.PUSHAT k 9000 one id1; "
         "0 REDE.PUSHAT k 9001  id2; " },
    { 7, "" },
};

START_TEST(a_value_of_every_type_and_encoding_arrives)
{
    for (size_t i = 0; i < sizeof(expected) / sizeof(expected[0]); i++) {
        begin();
        ck_assert_int_eq(samples[i].type, expected[i].type);
        ck_assert(import_made(file_end(samples[i].add(key(file("0012"), samples[i].type, "k")))));
        ck_assert_str_eq(store_text(import.store), expected[i].walk);
        ck_assert_uint_eq(import.keys, *expected[i].walk != '\0');
        end();
    }
}
END_TEST

START_TEST(deadlines_databases_and_expired_keys_are_imported)
{
    begin();
    struct made *made = file("0009");
    text(key(number(byte(made, 252), 8, NOW + 5), 0, "late"), "v");
    text(key(number(byte(made, 252), 8, NOW - 5), 0, "overdue"), "v");
    text(key(number(byte(made, 253), 4, 2000), 0, "seconds"), "v");
    text(key(number(byte(made, 252), 8, INT64_MAX - 1), 0, "far"), "v");
    text(key(number(byte(made, 252), 8, INT64_MIN), 0, "past"), "v");
    length(byte(made, 254), 15);
    text(key(made, 0, "late"), "w");
    ck_assert(import_made(file_end(made)));
    ck_assert_str_eq(store_text(import.store),
                     "0 SET far v PXAT 9223372036854775805; 0 SET late v PXAT 1000005; "
                     "0 SET overdue v PXAT 999995; 0 SET past v PXAT 0; "
                     "0 SET seconds v PXAT 2000000; 15 SET late w; ");
    ck_assert_uint_eq(import.keys, 6);
    ck_assert_int_eq(store_next_due(import.store), 1);
    end();
}
END_TEST

START_TEST(aux_fields_are_skipped)
{
    begin();
    struct made *made = text(text(byte(file("0010"), 250), "redis-ver"), "7.0.15");
    text(key(made, 0, "k"), "v");
    ck_assert(import_made(file_end(made)));
    ck_assert_str_eq(store_text(import.store), "0 SET k v; ");
    end();
}
END_TEST

START_TEST(the_counter_of_tokens_arrives_if_it_is_one)
{
    static const struct {
        const char *value;
        int64_t last;
    } cases[] = { { "7", 7 },
                  { "9007199254740991", TOKEN_MAX },
                  { "9007199254740992", 0 },
                  { "-1", 0 },
                  { "x", 0 } };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        begin();
        struct made *made = text(text(byte(file("0010"), 250), "expired-token"), cases[i].value);
        ck_assert(import_made(file_end(made)));
        ck_assert_int_eq(import.store->tokens.last, cases[i].last);
        end();
    }
}
END_TEST

/* ---- libraries of functions ------------------------------------------------------------------ */

START_TEST(libraries_of_functions_arrive)
{
    begin();
    struct made *made = text(byte(file("0010"), 245), "#!lua name=one\nreturn 1");
    text(byte(made, 245), "#!lua name=two\n");
    text(key(made, 0, "k"), "v");
    ck_assert(import_made(file_end(made)));
    ck_assert_uint_eq(import.libraries, 2);
    ck_assert_uint_eq(import.keys, 1);
    const struct library *one = libraries_find(&import.store->libraries, LIT("one"));
    ck_assert_ptr_nonnull(one);
    ck_assert(bytes_equal(library_code(one), LIT("#!lua name=one\nreturn 1")));
    ck_assert_ptr_nonnull(libraries_find(&import.store->libraries, LIT("two")));
    end();
}
END_TEST

START_TEST(a_library_without_a_name_or_with_a_known_one_is_an_error)
{
    begin();
    ck_assert(!import_made(file_end(text(byte(file("0010"), 245), "#!lua\n"))));
    ck_assert_str_eq(import.why, "at byte 17: a library of functions can't be loaded: Library name "
                                 "was not given");
    end();
    begin();
    struct made *made = text(byte(file("0010"), 245), "#!lua name=one\n");
    ck_assert(!import_made(file_end(text(byte(made, 245), "#!lua name=one\n"))));
    ck_assert_str_eq(import.why, "at byte 43: duplicate library 'one'");
    end();
}
END_TEST

START_TEST(functions_of_a_release_candidate_are_unsupported)
{
    begin();
    struct made *made = text(text(byte(file("0010"), 246), "old"), "lua");
    text(byte(made, 0), "code");
    ck_assert(!import_made(file_end(made)));
    ck_assert_ptr_nonnull(
        strstr(import.why, "'old' is of the unsupported type pre-release function"));
    end();
}
END_TEST

static struct made *file_with_modules(void)
{
    struct made *made = file("0010");
    text(key(made, 0, "before"), "v");
    add_module(key(made, 7, "first\n"));
    byte(module_number(module_id(key(made, 7, "m"), "Another-1", 1), 7), 0);
    add_module(key(made, 7, "second"));
    text(key(made, 0, "after"), "v");
    return file_end(made);
}

START_TEST(modules_end_the_import_with_an_error)
{
    begin();
    ck_assert(!import_made(file_with_modules()));
    ck_assert_ptr_nonnull(
        strstr(import.why, "'first?' is of the unsupported type module Other-_09"));
    ck_assert_uint_eq(import.kind_count, 1);
    ck_assert_str_eq(import.kinds[0].name, "module Other-_09");
    end();
}
END_TEST

START_TEST(modules_are_counted_where_they_are_to_be_skipped)
{
    begin();
    import.skip_unsupported = true;
    ck_assert(import_made(file_with_modules()));
    ck_assert_uint_eq(import.kind_count, 2);
    ck_assert_str_eq(import.kinds[0].name, "module Other-_09");
    ck_assert_str_eq(import.kinds[0].first_key, "first?");
    ck_assert_uint_eq(import.kinds[0].keys, 2);
    ck_assert_str_eq(import.kinds[1].name, "module Another-1");
    ck_assert_uint_eq(import.kinds[1].keys, 1);
    ck_assert_str_eq(store_text(import.store), "0 SET after v; 0 SET before v; ");
    end();
}
END_TEST

START_TEST(only_types_that_are_named_are_skipped)
{
    static const struct {
        const char *skip, *word; /* word: of the type that ends the import; NULL: none */
    } cases[] = {
        { "", "Other-_09" },
        { "array Another-1", "Other-_09" },
        { "other-_0 Other-_099", "Other-_09" },
        { "other-_09", "Another-1" },
        { "  ANOTHER-1   Other-_09 ", NULL },
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        begin();
        import.skip = cases[i].skip;
        ck_assert_int_eq(import_made(file_with_modules()), cases[i].word == NULL);
        if (cases[i].word != NULL) {
            char wanted[64];
            snprintf(wanted, sizeof(wanted), ". Use --import-skip %s to leave ", cases[i].word);
            ck_assert_msg(strstr(import.why, wanted) != NULL, "%s", import.why);
        }
        for (unsigned kind = 0; kind < import.kind_count; kind++)
            ck_assert_int_eq(import.kinds[kind].skipped,
                             cases[i].word == NULL || kind + 1 < import.kind_count);
        end();
    }
}
END_TEST

START_TEST(all_types_are_counted_before_an_import_ends)
{
    begin();
    import.counts_all = true;
    import.skip = "array";
    struct made *made = add_array(key(file("0015"), 28, "list"));
    text(key(made, 0, "k"), "v");
    add_module(key(made, 7, "m"));
    add_array(key(made, 28, "more"));
    add_lp_hash(key(made, 16, "h"));
    add_module(key(made, 7, "n"));
    byte(module_number(module_id(key(made, 7, "o"), "Another-1", 1), 7), 0);
    struct made *cut = raw(made_new(), made->at, made->len - 3);
    ck_assert(!import_made(file_end(made)));
    ck_assert_str_eq(import.why, "at byte 97: 'm' is of the unsupported type module Other-_09. Use "
                                 "--import-skip Other-_09 Another-1 to leave such keys out");
    ck_assert_uint_eq(import.kind_count, 3);
    ck_assert_uint_eq(import.kinds[0].keys, 2);
    ck_assert_uint_eq(import.kinds[1].keys, 2);
    ck_assert_uint_eq(import.kinds[2].keys, 1);
    ck_assert_str_eq(store_text(import.store), "0 SET k v; ");
    end();
    /* Damage behind it does not hide it. */
    begin();
    import.counts_all = true;
    import.skip = "array";
    ck_assert(!import_made(cut));
    ck_assert_ptr_nonnull(strstr(import.why, "Use --import-skip Other-_09 to leave"));
    end();
}
END_TEST

START_TEST(arrays_and_data_attached_to_keys_are_skipped_by_name)
{
    for (int skipped = 0; skipped < 2; skipped++) {
        begin();
        import.skip = skipped ? "array key-metadata" : "key-metadata";
        struct made *made = number(length(byte(file("0015"), 243), 1), 4, 77);
        byte(module_text(made, "attached"), 0);
        text(key(made, 0, "k"), "v");
        add_array(key(number(byte(made, 252), 8, NOW + 5), 28, "list"));
        text(key(made, 0, "l"), "w");
        ck_assert_int_eq(import_made(file_end(made)), skipped);
        ck_assert_str_eq(store_text(import.store),
                         skipped ? "0 SET k v; 0 SET l w; " : "0 SET k v; ");
        ck_assert_str_eq(import.kinds[1].first_key, "list");
        if (!skipped)
            ck_assert_ptr_nonnull(strstr(import.why, "'list' is of the unsupported type array. Use "
                                                     "--import-skip array to leave such keys out"));
        end();
    }
}
END_TEST

START_TEST(hashes_with_templates_arrive)
{
    begin();
    struct made *made = add_templates(file("0015"));
    packed_values(key(made, 30, "a"), 5);
    values_as_strings(length(key(made, 32, "b"), 5));
    add_names_and_values_packed(key(made, 29, "c"));
    ck_assert(import_made(file_end(add_names_and_values(key(made, 31, "d")))));
    ck_assert_str_eq(store_text(import.store),
                     "0 HSET a f v; 0 HSET a g -7; 0 HSET b f v; 0 HSET b g -7; "
                     "0 HSET c f v; 0 HSET c g -7; 0 HSET d f v; 0 HSET d g -7; ");
    end();
}
END_TEST

START_TEST(more_kinds_than_are_counted_are_others)
{
    begin();
    import.skip_unsupported = true;
    struct made *made = file("0010");
    for (int i = 0; i < 20; i++) {
        char name[] = "Module-aa";
        name[8] = (char)('a' + i);
        byte(module_id(key(made, 7, "m"), name, 1), 0);
    }
    ck_assert(import_made(file_end(made)));
    ck_assert_uint_eq(import.kind_count, IMPORT_KINDS);
    ck_assert_str_eq(import.kinds[IMPORT_KINDS - 1].name, "other");
    ck_assert_uint_eq(import.kinds[IMPORT_KINDS - 1].keys, 5);
    end();
}
END_TEST

START_TEST(part_of_a_value_that_comes_twice_is_damage)
{
    enum { SHAPES = 6 };
    for (int shape = 0; shape < SHAPES; shape++) {
        begin();
        struct made *made = text(key(file("0010"), 0, "before"), "v");
        switch (shape) {
        case 0: text(text(text(length(key(made, 2, "k"), 3), "a"), "b"), "a"); break;
        case 1: text(text(length(key(made, 2, "k"), 2), "5"), "5"); break; /* of an intset */
        case 2: text(text(text(text(length(key(made, 4, "k"), 2), "f"), "v"), "f"), "w"); break;
        case 3: score(text(score(text(length(key(made, 5, "k"), 2), "a"), 1), "a"), 2); break;
        case 4: score(text(score(text(length(key(made, 5, "k"), 2), "a"), 1), "a"), 1); break;
        case 5:
            blob(key(made, 16, "k"),
                 listpack_of((const char *const[]){ "f", "v", "f", "w", NULL }));
            break;
        }
        ck_assert(!import_made(file_end(made)));
        ck_assert_msg(strstr(import.why, "a duplicate part of a value") != NULL, "%d: %s", shape,
                      import.why);
        ck_assert_str_eq(store_text(import.store), "0 SET before v; ");
        end();
    }
}
END_TEST

START_TEST(large_values_are_checked_for_duplicates_too)
{
    enum { MEMBERS = 1000 };
    for (int twice = 0; twice < 2; twice++) {
        begin();
        struct made *made = length(key(file("0010"), 5, "k"), MEMBERS + 1);
        for (int i = MEMBERS; i >= 0; i--) {
            char member[16];
            snprintf(member, sizeof(member), "m%d", twice && i == 0 ? MEMBERS / 2 : i);
            score(text(made, member), i);
        }
        ck_assert(import_made(file_end(made)) == !twice);
        store_check(import.store);
        end();
    }
}
END_TEST

START_TEST(a_key_that_comes_twice_is_an_error_unless_elsewhere)
{
    begin();
    struct made *made = text(key(file("0010"), 0, "k"), "v");
    length(byte(made, 254), 1);
    text(key(made, 0, "k"), "w");
    text(key(made, 0, "k"), "x");
    ck_assert(!import_made(file_end(made)));
    ck_assert_ptr_nonnull(strstr(import.why, "duplicate key 'k' in database 1"));
    ck_assert_str_eq(store_text(import.store), "0 SET k v; 1 SET k w; ");
    end();
}
END_TEST

START_TEST(a_database_that_is_not_there_is_an_error)
{
    begin();
    struct made *made = length(byte(file("0010"), 254), DATABASES);
    ck_assert(!import_made(file_end(text(key(made, 0, "k"), "v"))));
    ck_assert_str_eq(import.why, "at byte 11: database 16 is out of range. Set a higher "
                                 "number of databases");
    end();
}
END_TEST

START_TEST(idle_time_and_frequency_arrive_where_they_are_kept)
{
    for (int counts = 0; counts < 2; counts++) {
        begin();
        import.store->counts_access = counts;
        import.now = INT64_C(1700000000000);
        struct made *made = number(byte(file("0010"), 249), 1, 200);
        text(key(made, 0, "often"), "v");
        text(key(length(byte(made, 248), 60), 0, "idle"), "v");
        ck_assert(import_made(file_end(made)));
        struct keyspace *ks = &import.store->databases[0];
        uint32_t often = keyspace_find(ks, LIT("often"))->accessed;
        uint32_t idle = keyspace_find(ks, LIT("idle"))->accessed;
        if (counts)
            ck_assert_uint_eq(often & 255, 200);
        else
            ck_assert_uint_eq(idle, 1700000000 - 60);
        end();
    }
}
END_TEST

START_TEST(a_cut_file_is_an_error_and_imports_no_partial_key)
{
    struct made *whole = file_end(add_texts(key(add_pairs(key(file("0010"), 4, "h")), 1, "l")));
    for (size_t len = 0; len < whole->len; len++) {
        begin();
        ck_assert_msg(!import_bytes(whole->at, len), "cut at %zu", len);
        ck_assert_str_ne(import.why, "");
        const char *text = store_text(import.store);
        bool hash = strcmp(text, "0 HSET h f v; 0 HSET h g ; ") == 0;
        bool both = strcmp(text, "0 HSET h f v; 0 HSET h g ; 0 RPUSH l a; 0 RPUSH l b; "
                                 "0 RPUSH l c; ") == 0;
        ck_assert_msg(*text == '\0' || hash || both, "cut at %zu: %s", len, text);
        end();
    }
    free(whole);
}
END_TEST

START_TEST(a_bad_byte_is_an_error_or_nothing)
{
    struct rng rng;
    rng_init(&rng, test_seed());
    for (int round = 0; round < 2000; round++) {
        begin();
        import.skip_unsupported = rng_chance(&rng, 50);
        struct made *made = file("0012");
        for (int i = 0; i < 6; i++) {
            size_t sample = rng_below(&rng, SAMPLES);
            char name[] = { (char)('a' + i), '\0' };
            samples[sample].add(key(made, samples[sample].type, name));
        }
        bool is_summed = rng_chance(&rng, 50);
        if (is_summed) file_end(made);
        size_t at = 9; /* each flip behind the last one, so that none undoes another */
        for (uint64_t flips = 1 + rng_below(&rng, 3); flips > 0 && at < made->len; flips--) {
            at += rng_below(&rng, made->len - at);
            made->at[at++] ^= (unsigned char)(1 + rng_below(&rng, 255));
        }
        if (!is_summed) file_end(made);
        bool good = import_made(made);
        ck_assert_msg(!good || !is_summed, "a wrong checksum was not seen");
        ck_assert_int_eq(good, import.why[0] == '\0');
        end();
    }
}
END_TEST

/* ---- AOF ------------------------------------------------------------------------------------- */

START_TEST(commands_run_in_order_and_comments_are_skipped)
{
    begin();
    struct made *made = command(raw(made_new(), "#TS:1700000000\r\n", 16), "SELECT 3");
    command(command(made, "SET k v"), "RPUSH l a b");
    raw(made, "#TS:1700000001\r\n", 16);
    ck_assert(import_made(command(made, "DEL k")));
    ck_assert_str_eq(ran, "SELECT 3; SET k v; RPUSH l a b; DEL k; ");
    ck_assert_uint_eq(import.commands, 4);
    ck_assert(!import.torn);
    end();
}
END_TEST

START_TEST(an_aof_may_begin_with_an_rdb)
{
    begin();
    struct made *made = file_end(text(key(file("0010"), 0, "k"), "v"));
    ck_assert(import_made(command(made, "DEL k")));
    ck_assert_str_eq(ran, "DEL k; ");
    ck_assert_str_eq(store_text(import.store), "0 SET k v; ");
    end();
}
END_TEST

START_TEST(a_transaction_runs_only_when_it_is_complete)
{
    struct made *made = command(command(made_new(), "SET a 1"), "MULTI");
    size_t before = made->len - strlen("*1\r\n$5\r\nMULTI\r\n");
    raw(command(made, "SET b 2"), "#TS:1\r\n", 7);
    command(command(command(made, "SET c 3"), "EXEC"), "SET d 4");
    size_t behind = made->len - strlen("*3\r\n$3\r\nSET\r\n$1\r\nd\r\n$1\r\n4\r\n");
    for (size_t len = before + 1; len <= made->len; len++) {
        begin();
        ck_assert_msg(import_bytes(made->at, len), "%s", import.why);
        bool all = len >= behind;
        ck_assert_str_eq(ran, len == made->len ? "SET a 1; SET b 2; SET c 3; SET d 4; "
                              : all            ? "SET a 1; SET b 2; SET c 3; "
                                               : "SET a 1; ");
        bool torn = len != behind && len != made->len;
        ck_assert_int_eq(import.torn, torn);
        ck_assert_uint_eq(import.good, torn ? (all ? behind : before) : len);
        ck_assert_uint_eq(import.torn_size, torn ? len - import.good : 0);
        end();
    }
    free(made);
}
END_TEST

START_TEST(a_malformed_command_is_an_error_with_its_byte)
{
    static const struct {
        const char *text, *why;
    } cases[] = {
        { "*1\r\n$4\r\nPINGxx*1\r\n", "at byte 12: malformed command" },
        { "*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$1\r\nv\r\nSET k v\r\n", "at byte 27: malformed command" },
        { "*0\r\n", "at byte 4: malformed command" },
        { "*1\r\n$4\r\nEXEC\r\n", "at byte 0: EXEC without MULTI" },
        { "*1\r\n$5\r\nMULTI\r\n*1\r\n$5\r\nmulti\r\n", "at byte 15: MULTI within a transaction" },
        { "SET k v\r\n", "at byte 0: not an RDB or AOF of Redis" },
        { "", "at byte 0: not an RDB or AOF of Redis" },
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        begin();
        ck_assert(!import_text(cases[i].text));
        ck_assert_str_eq(import.why, cases[i].why);
        end();
    }
}
END_TEST

START_TEST(a_command_that_fails_ends_the_import_and_is_named)
{
    begin();
    refused = "EVAL";
    struct made *made = command(command(made_new(), "SET k v"), "EVAL return 0");
    ck_assert(!import_made(command(made, "SET k w")));
    ck_assert_str_eq(import.why, "at byte 27: the command EVAL is unknown here, or it failed");
    ck_assert_str_eq(ran, "SET k v; EVAL return 0; ");
    end();
}
END_TEST

START_TEST(module_commands_are_counted_as_unsupported)
{
    begin();
    import.skip_unsupported = true;
    struct made *made = command(command(made_new(), "XADD s 1-1 f v"), "GRAPH.QUERY g x");
    command(command(made, "GRAPH.QUERY h y"), "FUNCTION FLUSH");
    ck_assert(import_made(command(made, "REDE.PUSHAT d 5 e i")));
    ck_assert_str_eq(ran, "XADD s 1-1 f v; FUNCTION FLUSH; REDE.PUSHAT d 5 e i; ");
    ck_assert_uint_eq(import.kind_count, 1);
    ck_assert_uint_eq(import.kinds[0].keys, 2);
    ck_assert_str_eq(import.kinds[0].name, "module command GRAPH.QUERY");
    end();

    begin();
    ck_assert(!import_made(command(made_new(), "graph.query g x")));
    ck_assert_ptr_nonnull(strstr(import.why, "at byte 0: 'g' is of the unsupported type module"));
    end();
}
END_TEST

START_TEST(commands_longer_than_the_buffer_are_read)
{
    static char value[5 << 20];
    char *data;
    size_t len;
    begin();
    memset(value, 'x', sizeof(value));
    FILE *to = open_memstream(&data, &len);
    for (int i = 0; i < 3; i++) {
        fprintf(to, "*3\r\n$6\r\nAPPEND\r\n$1\r\nk\r\n$%zu\r\n", sizeof(value));
        fwrite(value, sizeof(value), 1, to);
        fputs("\r\n", to);
    }
    fclose(to);
    ck_assert(import_bytes(data, len));
    ck_assert_uint_eq(import.commands, 3);
    free(data);
    end();
}
END_TEST

START_TEST(a_length_beyond_the_file_costs_no_memory_and_is_a_torn_end)
{
    begin();
    size_t before = mem_used();
    ck_assert(import_text("*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$4000000000\r\nshort"));
    ck_assert(import.torn);
    ck_assert_uint_le(mem_used(), before);
    end();
}
END_TEST

START_TEST(a_length_that_spans_other_commands_is_an_error)
{
    begin();
    struct made *made = command(made_new(), "SET a 1");
    size_t before = made->len;
    command(command(command(made, "SET b 2"), "SET c 3"), "SET d 4");
    made->at[before + strlen("*3\r\n$3\r\nSET\r\n$")] = '9';
    struct made *far = raw(made_new(), made->at, before);
    const char *torn = "*3\r\n$3\r\nSET\r\n$900000\r\nb\r\n$1\r\n2\r\n";
    raw(far, torn, strlen(torn));
    command(command(far, "SET c 3"), "SET d 4");
    ck_assert(!import_made(made));
    ck_assert_str_eq(import.why, "at byte 53: malformed command");
    end();
    begin();
    ck_assert(!import_made(far));
    ck_assert_str_eq(import.why, "at byte 27: wrong length: it spans other commands");
    ck_assert_str_eq(ran, "SET a 1; ");
    end();
}
END_TEST

START_TEST(a_file_that_is_not_there_is_an_error)
{
    begin();
    ck_assert(!import_file(&import, "/nowhere/dump.rdb"));
    ck_assert_str_eq(import.why, "can't open it: No such file or directory");
    end();
}
END_TEST

Suite *test_suite(void)
{
    const TTest *const tests[] = {
        a_value_of_every_type_and_encoding_arrives,
        deadlines_databases_and_expired_keys_are_imported,
        aux_fields_are_skipped,
        the_counter_of_tokens_arrives_if_it_is_one,
        libraries_of_functions_arrive,
        a_library_without_a_name_or_with_a_known_one_is_an_error,
        functions_of_a_release_candidate_are_unsupported,
        modules_end_the_import_with_an_error,
        modules_are_counted_where_they_are_to_be_skipped,
        only_types_that_are_named_are_skipped,
        all_types_are_counted_before_an_import_ends,
        arrays_and_data_attached_to_keys_are_skipped_by_name,
        hashes_with_templates_arrive,
        more_kinds_than_are_counted_are_others,
        part_of_a_value_that_comes_twice_is_damage,
        large_values_are_checked_for_duplicates_too,
        a_key_that_comes_twice_is_an_error_unless_elsewhere,
        a_database_that_is_not_there_is_an_error,
        idle_time_and_frequency_arrive_where_they_are_kept,
        a_cut_file_is_an_error_and_imports_no_partial_key,
        a_bad_byte_is_an_error_or_nothing,
        commands_run_in_order_and_comments_are_skipped,
        an_aof_may_begin_with_an_rdb,
        a_transaction_runs_only_when_it_is_complete,
        a_malformed_command_is_an_error_with_its_byte,
        a_command_that_fails_ends_the_import_and_is_named,
        module_commands_are_counted_as_unsupported,
        commands_longer_than_the_buffer_are_read,
        a_length_beyond_the_file_costs_no_memory_and_is_a_torn_end,
        a_length_that_spans_other_commands_is_an_error,
        a_file_that_is_not_there_is_an_error,
        NULL,
    };
    return suite_of("import", tests);
}
