/* Tests of rdb_read: every type, the records between keys, and everything that is refused. */
#include "proto/rdb/rdb_read.h"
#include "tests/support/suite.h"
#include "tests/unit/proto/rdb/samples.h"
#include "tests/unit/proto/rdb/visited.h"

static struct visited visited;
static struct rdb_error error;

/* From a block of its own size, and consumed. */
static enum rdb_status read_made(struct made *made, bool is_payload)
{
    struct rdb_visitor visitor = visited_visitor(&visited);
    struct rdb_source source;
    enum rdb_status status;
    char *block = malloc(made->len + 1);
    memcpy(block, made->at, made->len);
    if (is_payload) {
        status = rdb_read_payload((struct bytes){ block, made->len }, &visitor, &error);
    } else {
        rdb_source_of_memory(&source, block, made->len);
        status = rdb_read(&source, &visitor, &error);
        if (status == RDB_OK) ck_assert_uint_eq(rdb_source_offset(&source), made->len);
        rdb_source_drop(&source);
    }
    visited_check(&visited, status, &error);
    free(block);
    free(made);
    return status;
}

static enum rdb_status read_file(struct made *made)
{
    return read_made(made, false);
}

static enum rdb_status read_payload(struct made *made)
{
    return read_made(payload_end(made, 12), true);
}

static void assert_damaged(struct made *body, const char *why)
{
    ck_assert_int_eq(read_payload(body), RDB_DAMAGED);
    ck_assert_str_eq(error.text, why);
}

START_TEST(every_type_is_read_from_a_file)
{
    for (int i = 0; i < SAMPLES; i++) {
        struct made *made = samples[i].add(key(file("0011"), samples[i].type, "k"));
        ck_assert_msg(read_file(file_end(made)) == RDB_OK, "%s: %s", samples[i].visited,
                      error.text);
        ck_assert_str_eq(visited.text, samples[i].visited);
    }
}
END_TEST

START_TEST(every_type_is_read_from_a_payload)
{
    for (int i = 0; i < SAMPLES; i++) {
        char *key = strstr(samples[i].visited, " k") + 1, text[400];
        ck_assert_msg(read_payload(samples[i].add(payload(samples[i].type))) == RDB_OK, "%s: %s",
                      samples[i].visited, error.text);
        /* There the key has no name. */
        snprintf(text, sizeof(text), "%.*s%s", (int)(key - samples[i].visited), samples[i].visited,
                 key + 1);
        ck_assert_str_eq(visited.text, text);
    }
}
END_TEST

START_TEST(records_between_keys_are_reported_or_skipped)
{
    ck_assert_int_eq(read_file(file_of_everything()), RDB_OK);
    const char *head = "aux redis-ver=7.4.0; module aux aux-types 3; function #!lua; "
                       "unsupported name pre-release function  0; "
                       "unsupported name pre-release function  0; db 3; sizes 39 2; "
                       "string k at 1700000000001 freq 200: value; string k: -128; ";
    const char *tail = "hash packed: f=v g=-7; hash strings: f=v g=-7; "
                       "db 15; string last at 1700000000000 idle 60: end; ";
    ck_assert_msg(strncmp(visited.text, head, strlen(head)) == 0, "%s", visited.text);
    ck_assert_str_eq(visited.text + visited.len - strlen(tail), tail);
}
END_TEST

static ssize_t read_piece(void *ctx, void *to, size_t size)
{
    return (ssize_t)fread(to, 1, size < 7 ? size : 7, ctx);
}

START_TEST(file_may_arrive_in_pieces_with_bytes_after_it)
{
    struct made *made = file_of_everything();
    struct rdb_visitor visitor = visited_visitor(&visited);
    struct rdb_source source;
    size_t len = made->len;
    text(made, "behind");
    FILE *stream = fmemopen(made->at, made->len, "r");
    rdb_source_of_reader(&source, read_piece, stream);
    ck_assert_int_eq(rdb_read(&source, &visitor, &error), RDB_OK);
    ck_assert_uint_eq(rdb_source_offset(&source), len);
    rdb_source_drop(&source);
    fclose(stream);
    char *all = strdup(visited.text);
    made->len = len;
    ck_assert_int_eq(read_file(made), RDB_OK);
    ck_assert_str_eq(visited.text, all);
    free(all);
}
END_TEST

static struct made *valkey_file(const char *version)
{
    return raw(raw(made_new(), "VALKEY", 6), version, 3);
}

START_TEST(versions_of_redis_and_valkey_are_known)
{
    static const char *const foreign[] = { "0000", "0017", "0080", "9999", "00 9", "abcd" };
    for (int version = 1; version <= 16; version++) {
        char digits[24];
        snprintf(digits, sizeof(digits), "%04d", version);
        struct made *made = add_text(key(file(digits), 0, "k"));
        /* Before version 5 there was no checksum. */
        ck_assert_int_eq(read_file(version < 5 ? byte(made, 255) : file_end(made)), RDB_OK);
        ck_assert_str_eq(visited.text, "string k: value; ");
    }
    for (size_t i = 0; i < sizeof(foreign) / sizeof(foreign[0]); i++)
        ck_assert_int_eq(read_file(file_end(file(foreign[i]))), RDB_FOREIGN);
    ck_assert_int_eq(read_file(file_end(file("0017"))), RDB_FOREIGN);
    ck_assert_str_eq(error.text, "unsupported RDB version 17 of Redis: versions 1 to 16 (up to "
                                 "Redis 8.10) can be read");
    ck_assert_int_eq(read_file(file_end(add_text(key(valkey_file("080"), 0, "k")))), RDB_OK);
    ck_assert_str_eq(visited.text, "string k: value; ");
    ck_assert_int_eq(read_file(file_end(valkey_file("081"))), RDB_OK);
    ck_assert_int_eq(read_file(file_end(valkey_file("082"))), RDB_FOREIGN);
    ck_assert_str_eq(error.text, "unsupported RDB version 82 of Valkey: versions 80 to 81 (up to "
                                 "Valkey 9.2) can be read");
    ck_assert_int_eq(read_file(file_end(valkey_file("079"))), RDB_FOREIGN);
    ck_assert_int_eq(read_file(file_end(valkey_file("0 0"))), RDB_FOREIGN);
    ck_assert_int_eq(read_file(raw(made_new(), "*1\r\n", 4)), RDB_FOREIGN);
    ck_assert_int_eq(read_file(made_new()), RDB_FOREIGN);
}
END_TEST

START_TEST(release_that_wrote_an_unsupported_version_is_named)
{
    struct made *made = text(text(byte(file("0099"), 250), "redis-ver"), "9.4.1\n");
    ck_assert_int_eq(read_file(file_end(made)), RDB_FOREIGN);
    ck_assert_str_eq(error.text, "unsupported RDB version 99 of Redis 9.4.1?: versions 1 to 16 (up "
                                 "to Redis 8.10) can be read");
    ck_assert_uint_eq(error.offset, 0);
    made = text(text(byte(valkey_file("100"), 250), "valkey-ver"), "10.1.0");
    ck_assert_int_eq(read_file(file_end(made)), RDB_FOREIGN);
    ck_assert_str_eq(error.text, "unsupported RDB version 100 of Valkey 10.1.0: versions 80 to 81 "
                                 "(up to Valkey 9.2) can be read");
    /* Without that record, and cut off within it. */
    made = text(text(byte(file("0099"), 250), "redis-bits"), "64");
    ck_assert_int_eq(read_file(made), RDB_FOREIGN);
    ck_assert_ptr_nonnull(strstr(error.text, "version 99 of Redis: "));
    ck_assert_int_eq(read_file(length(text(byte(file("0099"), 250), "redis-ver"), 5)), RDB_FOREIGN);
    ck_assert_ptr_nonnull(strstr(error.text, "version 99 of Redis: "));
}
END_TEST

START_TEST(type_22_of_valkey_has_a_deadline_after_each_value)
{
    struct made *made = add_valkey_hash(key(valkey_file("080"), 22, "k"), 1700000000999);
    ck_assert_int_eq(read_file(file_end(made)), RDB_OK);
    ck_assert_str_eq(visited.text, "hash k: f=v@1700000000999 g=; ");
    made = payload_end(add_valkey_hash(payload(22), 1700000000999), 80);
    ck_assert_int_eq(read_made(made, true), RDB_OK);
    ck_assert_str_eq(visited.text, "hash : f=v@1700000000999 g=; ");
    static const int64_t bad[] = { -2, INT64_MIN, INT64_MAX - 1 };
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        made = add_valkey_hash(payload(22), bad[i]);
        ck_assert_int_eq(read_made(payload_end(made, 80), true), RDB_DAMAGED);
        ck_assert_str_eq(error.text, "an invalid deadline of a field");
    }
}
END_TEST

START_TEST(types_of_redis_are_unknown_in_files_of_valkey)
{
    for (int i = 0; i < SAMPLES; i++) {
        int type = samples[i].type;
        struct made *made = samples[i].add(key(valkey_file("080"), type, "k"));
        if (type == 22)
            free(made);
        else
            ck_assert_int_eq(read_file(file_end(made)), type < 22 ? RDB_OK : RDB_DAMAGED);
    }
    ck_assert_int_eq(read_file(file_end(key(valkey_file("081"), 23, "paths\n"))), RDB_DAMAGED);
    ck_assert_str_eq(error.text,
                     "the key 'paths?' has the unknown type 23 (a path hash) of Valkey. "
                     "Delete it there, and save again");
}
END_TEST

START_TEST(metadata_of_a_key_is_reported_and_the_key_is_read)
{
    struct made *made = number(byte(file("0013"), 252), 8, 1700000000001);
    number(length(byte(made, 243), 1), 4, 77);
    byte(module_text(made, "attached"), 0);
    ck_assert_int_eq(read_file(file_end(add_text(key(made, 0, "k")))), RDB_OK);
    ck_assert_str_eq(visited.text,
                     "unsupported  key metadata  0; string k at 1700000000001: value; ");
}
END_TEST

START_TEST(slot_that_valkey_imports_is_refused)
{
    struct made *made = text(byte(valkey_file("080"), 243), "job");
    ck_assert_int_eq(read_file(file_end(length(length(length(made, 1), 0), 9))), RDB_FOREIGN);
    ck_assert_str_eq(error.text,
                     "written while slots were imported. Save again after the migration's end");
}
END_TEST

START_TEST(wrong_checksum_is_damage_missing_one_is_not)
{
    struct made *made = file_end(add_text(key(file("0009"), 0, "k")));
    made->at[made->len - 1] ^= 1;
    ck_assert_int_eq(read_file(made), RDB_DAMAGED);
    made = file_end(add_text(key(file("0009"), 0, "k")));
    made_set(made, made->len - 8, 8, 0);
    ck_assert_int_eq(read_file(made), RDB_OK);
    made = file_end(add_text(key(file("0009"), 0, "k")));
    made->len--;
    ck_assert_int_eq(read_file(made), RDB_DAMAGED);
}
END_TEST

START_TEST(a_payload_needs_a_right_footer)
{
    static const char *const why = "DUMP payload version or checksum are wrong";
    ck_assert_int_eq(read_made(payload_end(add_text(payload(0)), 17), true), RDB_FOREIGN);
    ck_assert_str_eq(error.text, why);
    for (size_t at = 0; at < 8; at++) {
        struct made *made = payload_end(add_int8(payload(0)), 9);
        made->at[at] ^= 0x10;
        ck_assert_int_eq(read_made(made, true), RDB_FOREIGN);
        ck_assert_str_eq(error.text, why);
        ck_assert_str_eq(visited.text, "");
    }
    ck_assert_int_eq(read_made(made_new(), true), RDB_FOREIGN);
    ck_assert_int_eq(read_made(payload_end(made_new(), 9), true), RDB_DAMAGED);
}
END_TEST

START_TEST(payload_of_redis_8_10_may_have_no_checksum)
{
    for (int version = 14; version <= 15; version++) {
        struct made *made = payload_end(add_text(payload(0)), version);
        made_set(made, made->len - 8, 8, 0);
        ck_assert_int_eq(read_made(made, true), version == 15 ? RDB_OK : RDB_FOREIGN);
    }
    struct made *made = payload_end(add_text(payload(0)), 80);
    made_set(made, made->len - 8, 8, 0);
    ck_assert_int_eq(read_made(made, true), RDB_FOREIGN);
}
END_TEST

START_TEST(bytes_after_a_payloads_value_fail_the_key)
{
    assert_damaged(byte(add_text(payload(0)), 0), "extra bytes after the value");
    ck_assert_str_eq(visited.text, "string : value failed; ");
}
END_TEST

START_TEST(an_unknown_type_is_refused)
{
    static const int types[] = { 8, 33, 100, 128, 243, 255 };
    for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
        ck_assert_int_eq(read_payload(add_text(payload(types[i]))), RDB_DAMAGED);
    ck_assert_int_eq(read_payload(add_text(payload(33))), RDB_DAMAGED);
    ck_assert_str_eq(error.text, "a value of unknown type 33 (a bitmap or a rate limit)");
    ck_assert_int_eq(read_file(file_end(add_text(key(file("0016"), 34, "k")))), RDB_DAMAGED);
    ck_assert_str_eq(error.text, "the key 'k' has the unknown type 34 of Redis. "
                                 "Delete it there, and save again");
    ck_assert_int_eq(read_file(file_end(byte(file("0016"), 241))), RDB_DAMAGED);
    ck_assert_str_eq(error.text, "an unknown record 241");
    ck_assert_int_eq(read_file(file_end(add_templates(valkey_file("081")))), RDB_DAMAGED);
    ck_assert_str_eq(error.text, "an unknown record 242");
}
END_TEST

START_TEST(a_broken_array_is_refused)
{
    assert_damaged(length(length(payload(28), 1), 2), "a broken array");
    assert_damaged(length(length(length(length(payload(28), 1), 0), 7), 4),
                   "an element of unknown kind");
    /* A million elements are announced. */
    struct made *made = number(byte(payload(28), 0x80), 4, 0x40420f00);
    assert_damaged(text(length(length(length(made, 0), 0), 3), "one"),
                   "unexpected end of the data");
}
END_TEST

START_TEST(an_empty_collection_is_refused)
{
    static const int counted[] = { 1, 2, 3, 4, 5, 14, 18, 22 };
    static const int listpacks[] = { 16, 17, 20, 23 }, ziplists[] = { 10, 12, 13 };
    const char *why = "an empty collection";
    struct made_ziplist empty;
    for (size_t i = 0; i < sizeof(counted) / sizeof(counted[0]); i++)
        assert_damaged(length(payload(counted[i]), 0), why);
    for (size_t i = 0; i < sizeof(listpacks) / sizeof(listpacks[0]); i++)
        assert_damaged(blob(payload(listpacks[i]), lp_end(listpack(), 0)), why);
    for (size_t i = 0; i < sizeof(ziplists) / sizeof(ziplists[0]); i++) {
        empty = ziplist();
        assert_damaged(blob(payload(ziplists[i]), zl_end(&empty)), why);
    }
    assert_damaged(blob(payload(11), intset_of(2, NULL, 0)), why);
    assert_damaged(blob(payload(9), raw(made_new(), "\x00\xff", 2)), why);
    empty = ziplist();
    assert_damaged(blob(length(payload(14), 1), zl_end(&empty)), why);
    assert_damaged(blob(length(length(payload(18), 1), 2), lp_end(listpack(), 0)), why);
    assert_damaged(length(number(payload(24), 8, 1), 0), why);
}
END_TEST

START_TEST(a_part_that_comes_twice_is_refused)
{
    const char *why = "a duplicate part of a value";
    struct made *lp = lp_text(lp_raw(listpack(), "\x07", 1), "7");
    assert_damaged(text(text(length(payload(2), 2), "a"), "a"), why);
    assert_damaged(byte(byte(text(length(payload(2), 2), "5"), 0xc0), 5), why);
    assert_damaged(add_texts(text(text(text(length(payload(4), 3), "a"), "1"), "a")), why);
    assert_damaged(score(text(score(text(length(payload(5), 2), "a"), 1), "a"), 2), why);
    assert_damaged(blob(payload(20), lp_end(lp, 2)), why);
    ck_assert_str_eq(visited.text, "set : failed; ");
    assert_damaged(blob(payload(16), LISTPACK("f", "v", "f", "w")), why);
    assert_damaged(blob(payload(17), LISTPACK("a", "1", "a", "2")), why);
    assert_damaged(blob(payload(13), ZIPLIST("f", "v", "f", "w")), why);
    assert_damaged(blob(payload(9), raw(made_new(),
                                        "\x02\x01"
                                        "f\x01\x00v\x01"
                                        "f\x00\x00\xff",
                                        11)),
                   why);
}
END_TEST

START_TEST(a_score_that_is_no_number_is_refused)
{
    static const char *const scores[] = { "nan", "", " 1", "1 ", "1x", "NaN", "-nan" };
    const char *why = "a score that is not a number";
    for (size_t i = 0; i < sizeof(scores) / sizeof(scores[0]); i++) {
        assert_damaged(blob(payload(17), LISTPACK("a", "1", "b", scores[i])), why);
        ck_assert_str_eq(visited.text, "zset : failed; ");
        assert_damaged(blob(payload(12), ZIPLIST("a", scores[i])), why);
        assert_damaged(text(text(length(payload(3), 1), "a"), scores[i]), why);
    }
    assert_damaged(byte(text(length(payload(3), 1), "a"), 253), why);
    assert_damaged(number(text(length(payload(5), 1), "a"), 8, INT64_C(0x7ff8000000000000)), why);
}
END_TEST

START_TEST(an_invalid_deadline_of_a_field_is_refused)
{
    const char *why = "an invalid deadline of a field";
    struct made *lp = lp_int64(lp_text(lp_text(listpack(), "f"), "v"), INT64_C(1) << 48);
    assert_damaged(blob(payload(23), lp_end(lp, 3)), why);
    lp = lp_int64(lp_text(lp_text(listpack(), "f"), "v"), -1);
    assert_damaged(blob(payload(23), lp_end(lp, 3)), why);
    assert_damaged(blob(payload(23), LISTPACK("f", "v", "soon")), why);
    assert_damaged(add_fields_with_times(number(payload(24), 8, INT64_C(1) << 48)), why);
    assert_damaged(add_fields_with_times(number(payload(24), 8, -1)), why);
}
END_TEST

START_TEST(packing_with_incomplete_pair_is_refused)
{
    const char *why = "a packing whose last part is incomplete";
    assert_damaged(blob(payload(16), LISTPACK("f", "v", "g")), why);
    ck_assert_str_eq(visited.text, "hash : failed; ");
    assert_damaged(blob(payload(17), LISTPACK("a")), why);
    assert_damaged(blob(payload(23), LISTPACK("f", "v")), why);
    assert_damaged(blob(payload(12), ZIPLIST("a")), why);
}
END_TEST

START_TEST(broken_packing_reports_no_items)
{
    struct made *lp = LISTPACK("a", "b");
    lp->at[lp->len - 2] = 9;
    assert_damaged(blob(payload(20), lp), "a listpack item with a wrong backward length");
    ck_assert_str_eq(visited.text, "set : failed; ");
    /* But the complete nodes before it are. */
    lp = LISTPACK("b");
    made_set(lp, 4, 2, 7);
    assert_damaged(blob(length(blob(length(length(payload(18), 2), 2), LISTPACK("a")), 2), lp),
                   "a number of items that differs from the header");
    ck_assert_str_eq(visited.text, "list : a failed; ");
}
END_TEST

START_TEST(wrong_lengths_are_refused)
{
    assert_damaged(raw(payload(0), "\x81\xff\xff\xff\xff\xff\xff\xff\xff", 9),
                   "unexpected end of the data");
    assert_damaged(raw(payload(2),
                       "\x81\xff\xff\xff\xff\xff\xff\xff\xff\x01"
                       "a",
                       11),
                   "unexpected end of the data");
    assert_damaged(raw(payload(0), "\x82\x00", 2), "broken length");
    assert_damaged(raw(payload(0), "\xc4\x00", 2), "a string with an unknown encoding");
    assert_damaged(raw(payload(1), "\xc0\x01", 2), "an encoding in place of a length");
    assert_damaged(raw(payload(0), "\xc3\x01\x80\xff\xff\xff\xff\x00", 8),
                   "a compressed string with an impossible length");
    assert_damaged(raw(payload(0), "\xc3\x03\x09\x00x\xa0\x00", 7), "a damaged compressed string");
}
END_TEST

START_TEST(a_string_longer_than_allowed_is_too_large)
{
    struct rdb_visitor visitor = visited_visitor(&visited);
    struct made *plain = payload_end(text(payload(0), "123456"), 9);
    struct made *packed = payload_end(add_lzf(payload(0)), 9);
    visitor.max_string = 5;
    ck_assert_int_eq(rdb_read_payload(made_bytes(plain), &visitor, &error), RDB_TOO_LARGE);
    ck_assert_int_eq(rdb_read_payload(made_bytes(packed), &visitor, &error), RDB_TOO_LARGE);
    visitor.max_string = 8;
    ck_assert_int_eq(rdb_read_payload(made_bytes(plain), &visitor, &error), RDB_OK);
    ck_assert_int_eq(rdb_read_payload(made_bytes(packed), &visitor, &error), RDB_OK);
    free(plain);
    free(packed);
}
END_TEST

START_TEST(a_deadline_without_a_key_is_refused)
{
    ck_assert_int_eq(read_file(file_end(number(byte(file("0009"), 252), 8, 5))), RDB_DAMAGED);
    struct made *made = length(byte(number(byte(file("0009"), 252), 8, 5), 254), 1);
    ck_assert_int_eq(read_file(file_end(add_text(key(made, 0, "k")))), RDB_DAMAGED);
    ck_assert_str_eq(error.text, "a deadline without a key");
}
END_TEST

START_TEST(unexpected_module_parts_are_refused)
{
    struct made *made = module_number(module_id(payload(7), "dehy-type", 0), 3);
    assert_damaged(made, "an unexpected part of a module's value");
    made = module_id(payload(7), "Other-_09", 0);
    assert_damaged(byte(made, 6), "an unknown part of a module's value");
    /* Another version of the module's type is not supported. */
    made = byte(module_text(module_id(payload(7), "dehy-type", 1), "name"), 0);
    ck_assert_int_eq(read_payload(made), RDB_OK);
    ck_assert_str_eq(visited.text, "unsupported  module dehy-type 1; ");
    made = module_number(module_text(module_id(payload(7), "dehy-type", 0), "name"), 1);
    module_number(module_number(made, 100), 2);
    module_text(module_text(module_number(made, 1), "id"), "x");
    module_text(module_text(module_number(made, 2), "id"), "y");
    assert_damaged(byte(made, 0), "a duplicate part of a value");
}
END_TEST

START_TEST(only_dehydrators_are_read_without_annotations)
{
    struct made *made = text(module_id(payload(6), "dehy-type", 0), "name");
    length(length(length(made, 1), 100), 1);
    ck_assert_int_eq(read_payload(text(text(length(made, 9), "id"), "x")), RDB_OK);
    ck_assert_str_eq(visited.text, "dehydrator : id=x ttl 100 at 9; ");
    ck_assert_int_eq(read_payload(module_id(payload(6), "Other-_09", 0)), RDB_FOREIGN);
}
END_TEST

START_TEST(a_queue_may_have_a_ttl_below_zero)
{
    struct made *made = module_number(module_text(module_id(payload(7), "dehy-type", 0), ""), 1);
    raw(byte(made, 2), "\x81\xff\xff\xff\xff\xff\xff\xff\xff", 9);
    module_text(module_text(module_number(module_number(made, 1), 5), "id"), "x");
    ck_assert_int_eq(read_payload(byte(made, 0)), RDB_OK);
    ck_assert_str_eq(visited.text, "dehydrator : id=x ttl -1 at 5; ");
}
END_TEST

/* A payload of one element with this deadline: 8 bytes, the highest first. */
static struct made *element_due(const char *at)
{
    struct made *made = module_number(module_text(module_id(payload(7), "dehy-type", 0), ""), 1);
    module_number(module_number(made, 100), 1);
    raw(raw(byte(made, 2), "\x81", 1), at, 8);
    return byte(module_text(module_text(made, "id"), "x"), 0);
}

START_TEST(the_latest_deadline_of_an_element_is_read_and_no_later_one)
{
    ck_assert_int_eq(read_payload(element_due("\x7f\xff\xff\xff\xff\xff\xff\xfd")), RDB_OK);
    ck_assert_str_eq(visited.text, "dehydrator : id=x ttl 100 at 9223372036854775805; ");
    assert_damaged(element_due("\x7f\xff\xff\xff\xff\xff\xff\xfe"),
                   "an invalid deadline of an element");
}
END_TEST

START_TEST(visitor_callbacks_are_optional)
{
    struct rdb_visitor visitor = { .ctx = NULL };
    struct rdb_source source;
    struct made *made = file_of_everything();
    rdb_source_of_memory(&source, made->at, made->len);
    ck_assert_int_eq(rdb_read(&source, &visitor, &error), RDB_OK);
    rdb_source_drop(&source);
    free(made);
}
END_TEST

static enum rdb_status read_functions(struct made *made)
{
    struct rdb_visitor visitor = visited_visitor(&visited);
    struct made *sealed = payload_end(made, 10);
    enum rdb_status status = rdb_read_functions(made_bytes(sealed), &visitor, &error);
    free(sealed);
    return status;
}

START_TEST(payloads_of_functions_have_nothing_else)
{
    ck_assert_int_eq(read_functions(text(byte(made_new(), 245), "code")), RDB_OK);
    ck_assert_str_eq(visited.text, "function code; ");
    ck_assert_int_eq(read_functions(text(byte(made_new(), 246), "name")), RDB_DAMAGED);
    ck_assert_str_eq(error.text, "Pre-GA function format not supported");
    ck_assert_int_eq(read_functions(text(byte(made_new(), 0), "value")), RDB_DAMAGED);
    ck_assert_str_eq(error.text, "given type is not a function");
    ck_assert_int_eq(read_functions(length(byte(made_new(), 245), 60)), RDB_DAMAGED);
    ck_assert_str_eq(error.text, "Failed loading library payload");
    ck_assert_int_eq(read_functions(byte(made_new(), 245)), RDB_DAMAGED);
    ck_assert_str_eq(error.text, "Failed loading library payload");
}
END_TEST

Suite *test_suite(void)
{
    const TTest *const tests[] = {
        every_type_is_read_from_a_file,
        every_type_is_read_from_a_payload,
        records_between_keys_are_reported_or_skipped,
        file_may_arrive_in_pieces_with_bytes_after_it,
        versions_of_redis_and_valkey_are_known,
        release_that_wrote_an_unsupported_version_is_named,
        type_22_of_valkey_has_a_deadline_after_each_value,
        types_of_redis_are_unknown_in_files_of_valkey,
        metadata_of_a_key_is_reported_and_the_key_is_read,
        slot_that_valkey_imports_is_refused,
        wrong_checksum_is_damage_missing_one_is_not,
        a_payload_needs_a_right_footer,
        payload_of_redis_8_10_may_have_no_checksum,
        bytes_after_a_payloads_value_fail_the_key,
        an_unknown_type_is_refused,
        a_broken_array_is_refused,
        an_empty_collection_is_refused,
        a_part_that_comes_twice_is_refused,
        a_score_that_is_no_number_is_refused,
        an_invalid_deadline_of_a_field_is_refused,
        packing_with_incomplete_pair_is_refused,
        broken_packing_reports_no_items,
        wrong_lengths_are_refused,
        a_string_longer_than_allowed_is_too_large,
        a_deadline_without_a_key_is_refused,
        unexpected_module_parts_are_refused,
        only_dehydrators_are_read_without_annotations,
        a_queue_may_have_a_ttl_below_zero,
        the_latest_deadline_of_an_element_is_read_and_no_later_one,
        visitor_callbacks_are_optional,
        payloads_of_functions_have_nothing_else,
        NULL,
    };
    return suite_of("rdb_read", tests);
}
