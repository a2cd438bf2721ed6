/* samples: a value of every type and encoding, and the visitor's calls for it. For the tests of
 * reading and of damage, and for the fuzzer. */
#pragma once

#include "tests/unit/proto/rdb/made.h"

struct sample {
    int type;
    const char *visited; /* the calls for a key named k */
    struct made *(*add)(struct made *to);
};

static inline struct made *add_text(struct made *to)
{
    return text(to, "value");
}

static inline struct made *add_int8(struct made *to)
{
    return byte(byte(to, 0xc0), -128);
}

static inline struct made *add_int16(struct made *to)
{
    return number(byte(to, 0xc1), 2, 32767);
}

static inline struct made *add_int32(struct made *to)
{
    return number(byte(to, 0xc2), 4, INT32_MIN);
}

static inline struct made *add_lzf(struct made *to)
{
    return raw(length(length(byte(to, 0xc3), 4), 8), "\x00x\xa0\x00", 4);
}

static inline struct made *add_texts(struct made *to)
{
    return text(text(text(length(to, 3), "a"), "b"), "c");
}

static inline struct made *add_pairs(struct made *to)
{
    return text(text(text(text(length(to, 2), "f"), "v"), "g"), "");
}

static inline struct made *add_text_scores(struct made *to)
{
    text(text(length(to, 4), "a"), "1.5");
    text(text(to, "b"), "-2e3");
    byte(text(to, "c"), 254);
    return byte(text(to, "d"), 255);
}

static inline struct made *add_scores(struct made *to)
{
    score(text(length(to, 2), "a"), 1.5);
    return score(text(to, "b"), -1e300);
}

static inline struct made *add_zipmap(struct made *to)
{
    return blob(to, raw(made_new(),
                        "\x02\x01"
                        "f\x01\x00v\x01"
                        "g\x00\x02__\xff",
                        13));
}

static inline struct made *add_zl_list(struct made *to)
{
    return blob(to, ZIPLIST("a", "b", "a"));
}

static inline struct made *add_intset(struct made *to)
{
    const int64_t integers[] = { -40000, 1, 2 };
    return blob(to, intset_of(4, integers, 3));
}

static inline struct made *add_zl_zset(struct made *to)
{
    struct made_ziplist zl = ziplist();
    zl_text(&zl, "a");
    zl_raw(&zl, "\xfe\xff", 2);
    zl_text(&zl, "b");
    zl_text(&zl, "0.25");
    zl_text(&zl, "c");
    zl_text(&zl, "inf");
    return blob(to, zl_end(&zl));
}

static inline struct made *add_zl_hash(struct made *to)
{
    return blob(to, ZIPLIST("f", "v", "g", "v"));
}

static inline struct made *add_quicklist(struct made *to)
{
    struct made_ziplist empty = ziplist();
    blob(blob(length(to, 3), ZIPLIST("a", "b")), zl_end(&empty));
    return blob(to, ZIPLIST("c"));
}

static inline struct made *add_lp_hash(struct made *to)
{
    return blob(to, LISTPACK("f", "v", "g", "v"));
}

static inline struct made *add_lp_zset(struct made *to)
{
    struct made *lp = lp_text(lp_int64(lp_text(listpack(), "a"), -1), "b");
    return blob(to, lp_end(lp_text(lp, "0.25"), 4));
}

static inline struct made *add_quicklist_2(struct made *to)
{
    blob(length(length(to, 3), 2), LISTPACK("a", "b"));
    text(length(to, 1), "plain");
    return blob(length(to, 2), LISTPACK("c"));
}

static inline struct made *add_lp_set(struct made *to)
{
    return blob(to, LISTPACK("a", "b", "c"));
}

static inline struct made *add_fields_with_times(struct made *to)
{
    text(text(length(length(to, 2), 0), "f"), "v");
    return text(text(length(to, 1000), "g"), "w");
}

static inline struct made *add_fields_with_distances(struct made *to)
{
    return add_fields_with_times(number(to, 8, INT64_C(1700000000000)));
}

static inline struct made *expiring_listpack(void)
{
    struct made *lp = lp_int64(lp_text(lp_text(listpack(), "f"), "v"), 1700000000123);
    return lp_end(lp_raw(lp_text(lp_text(lp, "g"), "w"), "\x00", 1), 6);
}

static inline struct made *add_expiring_listpack(struct made *to)
{
    return blob(to, expiring_listpack());
}

static inline struct made *add_expiring_listpack_with_earliest(struct made *to)
{
    return blob(number(to, 8, INT64_C(1700000000123)), expiring_listpack());
}

static inline struct made *add_dehydrator(struct made *to)
{
    module_number(module_text(module_id(to, "dehy-type", 0), "name"), 3);
    module_number(module_number(to, 5000), 2);
    module_text(module_text(module_number(to, 9000), "id1"), "one");
    module_text(module_text(module_number(to, 9001), "id2"), "");
    module_number(module_number(to, 70), 0);
    module_number(module_number(to, 8000), 1);
    module_text(module_text(module_number(to, 12000), "id3"), "three");
    return byte(to, 0);
}

static inline struct made *add_empty_dehydrator(struct made *to)
{
    return byte(module_number(module_text(module_id(to, "dehy-type", 0), "name"), 0), 0);
}

static inline struct made *add_module(struct made *to)
{
    module_number(module_id(to, "Other-_09", 1023), 7);
    number(byte(length(byte(to, 1), 9), 3), 4, 0);
    score(byte(to, 4), 2.5);
    return byte(module_text(to, "text"), 0);
}

static inline struct made *lp_small(struct made *to, int value)
{
    const unsigned char item = (unsigned char)value;
    return lp_raw(to, &item, 1);
}

static inline struct made *lp_smalls(struct made *to, int one, int two, int three)
{
    return lp_small(lp_small(lp_small(to, one), two), three);
}

static inline struct made *big_endian_id(struct made *to, int ms, int seq)
{
    for (int i = 0; i < 6; i++)
        byte(to, 0);
    byte(byte(to, ms >> 8), ms & 0xff);
    for (int i = 0; i < 7; i++)
        byte(to, 0);
    return byte(to, seq);
}

/* Of 1000-1: an entry with the node's names, a deleted one, and one with names of its own. */
static inline struct made *sample_node(void)
{
    struct made *lp = lp_small(lp_text(lp_smalls(listpack(), 2, 1, 1), "f"), 0);
    lp_small(lp_text(lp_smalls(lp, 2, 0, 0), "v"), 4);
    lp_small(lp_text(lp_smalls(lp, 3, 1, 0), "x"), 4);
    lp_raw(lp_small(lp_small(lp, 0), 5), "\xdf\xff", 2); /* -1 */
    lp_text(lp_text(lp_small(lp, 2), "g"), "w");
    lp_small(lp_int64(lp_text(lp, "f"), -7), 8);
    return lp_end(lp, 24);
}

static inline struct made *sample_consumer(struct made *to, const char *name, int type)
{
    number(text(to, name), 8, 77);
    return type >= 21 ? number(to, 8, -1) : to;
}

/* The group has three pending entries, of which the stream has one; the other group has none. */
static inline struct made *sample_groups(struct made *to, int type)
{
    length(length(text(length(to, 2), "group"), 1005), 0);
    if (type >= 19) length(to, 3);
    length(number(big_endian_id(length(to, 3), 1000, 1), 8, 99), 1);
    length(number(big_endian_id(to, 1001, 1), 8, 100), 200);
    length(number(big_endian_id(to, 1001, 2), 8, 0), 0);
    big_endian_id(length(sample_consumer(length(to, 2), "a", type), 1), 1001, 1);
    length(sample_consumer(to, "b", type), 2);
    big_endian_id(big_endian_id(to, 1000, 1), 1001, 2);
    length(length(text(to, "other"), 0), 0);
    if (type >= 19) number(byte(to, 0x81), 8, -1);
    return length(sample_consumer(length(length(to, 0), 1), "a", type), 0);
}

static inline struct made *add_stream_of(struct made *to, int type)
{
    blob(blob(length(to, 1), big_endian_id(made_new(), 1000, 1)), sample_node());
    length(length(length(to, 2), 2000), 0);
    if (type >= 19) length(length(length(length(length(to, 1000), 1), 1001), 1), 9);
    return sample_groups(to, type);
}

static inline struct made *add_stream(struct made *to)
{
    return add_stream_of(to, 15);
}

static inline struct made *add_stream_2(struct made *to)
{
    return add_stream_of(to, 19);
}

static inline struct made *add_stream_3(struct made *to)
{
    return add_stream_of(to, 21);
}

/* What follows the groups since Redis 8.6: one producer with two entries. */
static inline struct made *sample_idempotence(struct made *to)
{
    length(text(length(length(length(to, 100), 200), 1), "producer"), 2);
    length(length(text(to, "first"), 1000), 1);
    length(length(text(to, "second"), 1005), 0);
    return length(length(to, 2), 1);
}

static inline struct made *add_stream_4(struct made *to)
{
    return sample_idempotence(add_stream_of(to, 26));
}

/* One group; one of its three pending entries has a consumer. */
static inline struct made *add_stream_5(struct made *to)
{
    blob(blob(length(to, 1), big_endian_id(made_new(), 1000, 1)), sample_node());
    length(length(length(to, 2), 2000), 0);
    length(length(length(length(length(to, 1000), 1), 1001), 1), 9);
    length(length(length(text(length(to, 1), "group"), 1005), 0), 3);
    length(number(big_endian_id(length(to, 3), 1000, 1), 8, 99), 1);
    length(number(big_endian_id(to, 1001, 1), 8, 100), 200);
    length(number(big_endian_id(to, 1001, 2), 8, 0), 0);
    big_endian_id(length(sample_consumer(length(to, 1), "a", 27), 1), 1001, 1);
    big_endian_id(big_endian_id(length(to, 2), 1001, 2), 1000, 1);
    return length(length(length(length(length(to, 100), 100), 0), 0), 0);
}

/* Elements of every kind, and an index for the next insertion. */
static inline struct made *add_array(struct made *to)
{
    length(length(length(to, 4), 1), 49);
    number(length(length(to, 0), 1), 8, -5);
    score(length(length(to, 3), 2), 2.5);
    text(length(length(to, 70), 3), "short");
    return text(length(length(to, 300), 0), "long");
}

static inline struct made *add_empty_array(struct made *to)
{
    return length(length(to, 0), 0);
}

/* ---- hashes with templates ---- */

static inline struct made *packed_names(struct made *to)
{
    return blob(byte(to, 0), LISTPACK("f", "g"));
}

static inline struct made *names_as_strings(struct made *to)
{
    return text(text(length(byte(to, 1), 2), "f"), "g");
}

static inline struct made *packed_values(struct made *to, int id)
{
    struct made *lp = lp_int64(lp_text(lp_small(listpack(), id), "v"), -7);
    return blob(to, lp_end(lp, 3));
}

static inline struct made *values_as_strings(struct made *to)
{
    return byte(byte(text(to, "v"), 0xc0), -7);
}

static inline struct made *add_names_and_values_packed(struct made *to)
{
    return packed_values(packed_names(to), 99);
}

static inline struct made *add_values_packed(struct made *to)
{
    return packed_values(names_as_strings(to), 0);
}

static inline struct made *add_names_packed(struct made *to)
{
    return values_as_strings(packed_names(to));
}

static inline struct made *add_names_and_values(struct made *to)
{
    return values_as_strings(names_as_strings(to));
}

/* Two templates, for files. */
static inline struct made *add_templates(struct made *to)
{
    text(length(length(byte(to, 242), 70), 1), "other");
    return text(text(length(length(byte(to, 242), 5), 2), "f"), "g");
}

/* It remembers its last ID. */
static inline struct made *add_empty_stream(struct made *to)
{
    length(length(length(length(to, 0), 0), 5), 1);
    return length(length(length(length(length(length(to, 0), 0), 5), 1), 3), 0);
}

#define SAMPLE_ENTRIES "stream k: 1000-1(f=v) 1005-0(g=w f=-7) last 2000-0 "

static const struct sample samples[] = {
    { 0, "string k: value; ", add_text },
    { 0, "string k: -128; ", add_int8 },
    { 0, "string k: 32767; ", add_int16 },
    { 0, "string k: -2147483648; ", add_int32 },
    { 0, "string k: xxxxxxxx; ", add_lzf },
    { 1, "list k: a b c; ", add_texts },
    { 2, "set k: a b c; ", add_texts },
    { 3, "zset k: a=1.5 b=-2000 c=inf d=-inf; ", add_text_scores },
    { 4, "hash k: f=v g=; ", add_pairs },
    { 5, "zset k: a=1.5 b=-1.0000000000000001e+300; ", add_scores },
    { 9, "hash k: f=v g=; ", add_zipmap },
    { 10, "list k: a b a; ", add_zl_list },
    { 11, "set k: -40000 1 2; ", add_intset },
    { 12, "zset k: a=-1 b=0.25 c=inf; ", add_zl_zset },
    { 13, "hash k: f=v g=v; ", add_zl_hash },
    { 14, "list k: a b c; ", add_quicklist },
    { 16, "hash k: f=v g=v; ", add_lp_hash },
    { 17, "zset k: a=-1 b=0.25; ", add_lp_zset },
    { 18, "list k: a b plain c; ", add_quicklist_2 },
    { 20, "set k: a b c; ", add_lp_set },
    { 22, "hash k: f=v g=w@1000; ", add_fields_with_times },
    { 23, "hash k: f=v@1700000000123 g=w; ", add_expiring_listpack },
    { 24, "hash k: f=v g=w@1700000000999; ", add_fields_with_distances },
    { 25, "hash k: f=v@1700000000123 g=w; ", add_expiring_listpack_with_earliest },
    { 7,
      "dehydrator k: id1=one ttl 5000 at 9000 id2= ttl 5000 at 9001 id3=three ttl 8000 at 12000; ",
      add_dehydrator },
    { 7, "dehydrator k:; ", add_empty_dehydrator },
    { 7, "unsupported k module Other-_09 1023; ", add_module },
    { 15,
      SAMPLE_ENTRIES "deleted 0-0 added 2 group group 1005-0 -1 consumer a 77 77 1001-1@100*200 "
                     "consumer b 77 77 1000-1@99*1 1001-2@0*0 group other 0-0 0 consumer a 77 77; ",
      add_stream },
    { 19,
      SAMPLE_ENTRIES
      "deleted 1001-1 added 9 group group 1005-0 3 consumer a 77 77 1001-1@100*200 "
      "consumer b 77 77 1000-1@99*1 1001-2@0*0 group other 0-0 -1 consumer a 77 77; ",
      add_stream_2 },
    { 21,
      SAMPLE_ENTRIES
      "deleted 1001-1 added 9 group group 1005-0 3 consumer a 77 -1 1001-1@100*200 "
      "consumer b 77 -1 1000-1@99*1 1001-2@0*0 group other 0-0 -1 consumer a 77 -1; ",
      add_stream_3 },
    { 26,
      SAMPLE_ENTRIES "deleted 1001-1 added 9 group group 1005-0 3 consumer a 77 -1 1001-1@100*200 "
                     "consumer b 77 -1 1000-1@99*1 1001-2@0*0 group other 0-0 -1 consumer a 77 -1 "
                     "limits 100 200 producer first 1000-1 producer second 1005-0 counts 2 1; ",
      add_stream_4 },
    { 27,
      SAMPLE_ENTRIES "deleted 1001-1 added 9 group group 1005-0 3 consumer a 77 -1 1001-1@100*200 "
                     "released 1001-2@0*0 released 1000-1@99*1 limits 100 100 counts 0 0; ",
      add_stream_5 },
    { 19, "stream k: last 5-1 deleted 5-1 added 3; ", add_empty_stream },
    { 28, "unsupported k array  0; ", add_array },
    { 28, "unsupported k array  0; ", add_empty_array },
    { 29, "hash k: f=v g=-7; ", add_names_and_values_packed },
    { 29, "hash k: f=v g=-7; ", add_values_packed },
    { 31, "hash k: f=v g=-7; ", add_names_packed },
    { 31, "hash k: f=v g=-7; ", add_names_and_values },
};

enum { SAMPLES = sizeof(samples) / sizeof(samples[0]) };

/* Two fields; the type has this meaning in Valkey 9 only. */
static inline struct made *add_valkey_hash(struct made *to, int64_t at)
{
    number(text(text(length(to, 2), "f"), "v"), 8, at);
    return number(text(text(to, "g"), ""), 8, -1);
}

/* All samples in one file, with every other kind of record. */
static inline struct made *file_of_everything(void)
{
    struct made *to = file("0015");
    text(text(byte(to, 250), "redis-ver"), "7.4.0");
    module_number(module_number(module_id(byte(to, 247), "aux-types", 3), 1), 2);
    byte(module_text(to, "aux"), 0);
    text(byte(to, 245), "#!lua");
    text(byte(text(text(byte(to, 246), "name"), "lua"), 1), "described");
    text(to, "code");
    text(byte(text(text(byte(to, 246), "name"), "lua"), 0), "more");
    add_templates(to);
    length(byte(to, 254), 3);
    length(length(byte(to, 251), SAMPLES), 2);
    length(length(length(byte(to, 244), 1), 2), 3);
    byte(byte(number(byte(to, 252), 8, INT64_C(1700000000001)), 249), 200);
    for (int i = 0; i < SAMPLES; i++)
        samples[i].add(key(to, samples[i].type, "k"));
    packed_values(key(to, 30, "packed"), 5);
    values_as_strings(length(key(to, 32, "strings"), 5));
    length(byte(to, 254), 15);
    length(byte(number(byte(to, 253), 4, 1700000000), 248), 60);
    text(key(to, 0, "last"), "end");
    return file_end(to);
}
