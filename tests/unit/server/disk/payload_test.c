/* Tests of payload: values are restored from their payloads, and changed payloads give a value or
 * an error. */
#include "server/disk/payload.h"

#include "proto/rdb/rdb_write.h"
#include "server/disk/effect/effect_text.h"
#include "store/base/ensure.h"
#include "store/mem/mem.h"
#include "store/txn/txn.h"
#include "store/type/stream/stream_group.h"
#include "store/walk.h"
#include "tests/support/rng.h"
#include "tests/support/store_text.h"
#include "tests/support/suite.h"
#include "tests/unit/proto/rdb/samples.h"
#include "tests/unit/proto/rdb/visited.h"

enum { NOW = 1000000, OWN_SAMPLES = 5, MUTATIONS = 100000 };

/* Of its two pending entries one was released. */
static void fill_stream(struct stream *stream)
{
    const struct bytes texts[] = { LIT("f"), LIT("v") };
    const struct group_position position = { .last = { 5, 1 }, .read = 1 };
    stream_append(stream, (struct stream_id){ 5, 1 }, texts, 2);
    stream_set_retention(stream, 77);
    struct stream_group *group = group_add(stream_groups(stream), LIT("g"));
    group_set_position(group, &position);
    struct pending pending = { .id = { 5, 1 }, .at = NOW, .deliveries = 2 };
    pending.consumer = consumer_add(group, LIT("c"), NOW);
    pending_put(group, &pending);
    pending_put(group, &(struct pending){ .id = { 4, 1 }, .at = NOW + 2, .deliveries = 3 });
}

/* A value that Redis can not hold, of each type that has such values. */
static struct object own_sample(int which)
{
    static const enum type types[] = { TYPE_SET,        TYPE_HASH,   TYPE_ZSET,
                                       TYPE_DEHYDRATOR, TYPE_STREAM, TYPE_LEASE };
    struct object object = object_new(types[which]);
    struct stage due = { .at = NOW + 1 },
                 claimed = { .at = NOW + 2, .deliveries = 3, .claimed = true };
    switch (which) {
    case 0:
        set_add(object.set, LIT("a"), NEVER);
        set_add(object.set, LIT("b"), NOW + 5);
        break;
    case 1:
        hash_set(object.hash, LIT("f"), LIT("v"), NOW + 5);
        hash_set(object.hash, LIT("g"), LIT(""), NEVER);
        break;
    case 2:
        zset_put(object.zset, LIT("a"), 1.5, NOW + 5);
        zset_put(object.zset, LIT("b"), -1.0 / 0.0, NEVER);
        break;
    case 4: fill_stream(object.stream); return object;
    case 5:
        lease_put(object.lease, &(struct holder){ LIT("o"), 7, NOW + 5 }, 3);
        lease_put(object.lease, &(struct holder){ LIT(""), TOKEN_MAX, NOW + 6 }, 3);
        break;
    default:
        dehydrator_push(object.dehydrator, LIT("id1"), LIT("one"), &due);
        dehydrator_push(object.dehydrator, LIT("id2"), LIT("two"), &claimed);
    }
    object.has_expiry = true;
    return object;
}

/* Restores the payload as key k of a store. */
static enum payload_status restore(struct store *store, struct bytes payload)
{
    struct object object;
    struct txn txn;
    enum payload_status status = payload_read(payload, &object);
    if (status != PAYLOAD_WHOLE) return status;
    txn_begin(&txn, store, NOW, FROM_CLIENT);
    txn_key_restore(&txn, LIT("k"), object, NEVER);
    txn_commit(&txn);
    return status;
}

/* Asserts that key k of a store, restored from its payload in another store, is the same. */
static void check_round(const struct store *store)
{
    struct store *other = store_new(1);
    struct entry *entry = keyspace_find(&store->databases[0], LIT("k"));
    struct payload *payload = payload_new(&entry->object);
    ck_assert_int_eq(restore(other, payload_bytes(payload)), PAYLOAD_WHOLE);
    store_check(other);
    other->tokens = store->tokens; /* another value may have had a token */
    struct digest a = store_digest(store, INT64_MIN), b = store_digest(other, INT64_MIN);
    ck_assert_msg(a.high == b.high && a.low == b.low, "not the same again");
    payload_free(payload);
    store_free(other);
}

static struct bytes made_view(const struct made *made)
{
    return bytes_of((const char *)made->at, made->len);
}

START_TEST(payloads_of_redis_are_restored_and_dumped_again)
{
    for (size_t i = 0; i < SAMPLES; i++) {
        struct store *store = store_new(1);
        struct made *made = payload_end(samples[i].add(payload(samples[i].type)), 12);
        bool unsupported = strncmp(samples[i].visited, "unsupported", 11) == 0;
        bool empty = samples[i].add == add_empty_dehydrator;
        ck_assert_int_eq(restore(store, made_view(made)),
                         unsupported || empty ? PAYLOAD_DAMAGED : PAYLOAD_WHOLE);
        if (!unsupported && !empty) check_round(store);
        free(made);
        store_free(store);
    }
}
END_TEST

/* Of the payload of this sample, restored and dumped. */
static const char *visit_again(const struct sample *sample, struct visited *visited)
{
    struct object object;
    struct rdb_error error;
    struct rdb_visitor visitor = visited_visitor(visited);
    struct made *made = payload_end(sample->add(payload(sample->type)), 12);
    ck_assert_int_eq(payload_read(made_view(made), &object), PAYLOAD_WHOLE);
    struct payload *again = payload_new(&object);
    struct bytes bytes = payload_bytes(again);
    ck_assert_int_eq(rdb_read_payload((struct bytes){ bytes.data, bytes.len }, &visitor, &error),
                     RDB_OK);
    payload_free(again);
    object_free(&object);
    free(made);
    return visited->text;
}

START_TEST(streams_keep_all_in_restore_and_dump)
{
    static struct visited visited;
    int streams = 0;
    for (size_t i = 0; i < SAMPLES; i++) {
        /* Type 21 has one instant more than the payloads that are written. */
        if (samples[i].type != 15 && samples[i].type != 19) continue;
        const char *wanted = strstr(samples[i].visited, ": ");
        ck_assert_str_eq(strstr(visit_again(&samples[i], &visited), ": "), wanted);
        streams++;
    }
    ck_assert_int_eq(streams, 3);
}
END_TEST

static void put_text(void *ctx, struct effect *effect)
{
    if (effect->kind == EFFECT_STREAM_RETAIN) return;
    effect->key = bytes_of("", 0);
    effect_writer_put(ctx, effect);
}

/* The payload that version 0.1 writes. */
static struct made *old_payload(const struct object *object)
{
    struct outbuf out;
    struct effect_writer writer;
    char text[1024];
    outbuf_init(&out);
    effect_writer_init(&writer, &out);
    writer.db = 0;
    walk_object(object, put_text, &writer);
    effect_writer_end(&writer);
    ck_assert_uint_le(out.len, sizeof(text));
    outbuf_copy(&out, text);
    struct made *made = raw(payload(RDB_OWN_TEXT), text, out.len);
    outbuf_drop(&out);
    return payload_end(made, 10);
}

START_TEST(member_deadlines_and_leases_survive_dump_and_restore)
{
    static const char *const wanted[OWN_SAMPLES] = {
        "0 SADD k a; 0 SADDEX k PXAT 1000005 MEMBERS 1 b; ",
        "0 HSET k g ; 0 HSETEX k PXAT 1000005 FIELDS 1 f v; ",
        "0 ZADD k -inf b; 0 ZADDEX k PXAT 1000005 1.5 a; ",
        "0 REDE.PUSHAT k 1000001 one id1; 0 X.REDE.PUSH k 1000002 3 CLAIMED two id2; ",
        /* Without the retention, which comes from the policy of a key. */
        "0 X.XNACK k g 1000002 3 4-1; 0 XADD k 5-1 f v; "
        "0 XCLAIM k g c 0 5-1 TIME 1000000 RETRYCOUNT 2 FORCE JUSTID; "
        "0 XGROUP CREATE k g 5-1 MKSTREAM ENTRIESREAD 1; 0 XGROUP CREATECONSUMER k g c; "
        "0 XSETID k 5-1 ENTRIESADDED 1 MAXDELETEDID 0-0; ",
    };
    for (int i = 0; i < OWN_SAMPLES; i++) {
        struct store *store = store_new(1);
        struct object object = own_sample(i);
        struct payload *payload = payload_new(&object);
        ck_assert_uint_eq((unsigned char)payload_bytes(payload).data[0], RDB_OWN_PACKED);
        ck_assert_int_eq(restore(store, payload_bytes(payload)), PAYLOAD_WHOLE);
        ck_assert_str_eq(store_text(store), wanted[i]);
        check_round(store);
        struct made *old = old_payload(&object);
        struct store *other = store_new(1);
        ck_assert_int_eq(restore(other, made_view(old)), PAYLOAD_WHOLE);
        ck_assert_str_eq(store_text(other), wanted[i]);
        free(old);
        store_free(other);
        payload_free(payload);
        object_free(&object);
        store_free(store);
    }
}
END_TEST

START_TEST(pending_entries_of_many_consumers_survive)
{
    enum { CONSUMERS = 300, ENTRIES = 5000 };
    struct store *store = store_new(1);
    struct txn txn;
    struct object object = object_new(TYPE_STREAM);
    struct stream_group *group = group_add(stream_groups(object.stream), LIT("g"));
    struct stream_consumer *consumers[CONSUMERS];
    char name[16];
    for (int i = 0; i < CONSUMERS; i++) {
        struct bytes text = bytes_of(name, (size_t)snprintf(name, sizeof(name), "c%d", i));
        consumers[i] = consumer_add(group, text, NOW + i);
    }
    for (unsigned i = 0; i < ENTRIES; i++)
        pending_put(group, &(struct pending){ .id = { 1 + i, 1 },
                                              .consumer = consumers[i * 7 % (CONSUMERS - 1)],
                                              .at = NOW + i,
                                              .deliveries = 1 });
    txn_begin(&txn, store, NOW, FROM_CLIENT);
    txn_key_restore(&txn, LIT("k"), object, NEVER);
    txn_commit(&txn);
    check_round(store);
    store_free(store);
}
END_TEST

START_TEST(stream_fails_to_dump_without_memory)
{
    struct object object = object_new(TYPE_STREAM);
    struct payload *payload = NULL;
    fill_stream(object.stream);
    pending_remove(group_find(stream_groups(object.stream), LIT("g")), (struct stream_id){ 4, 1 });
    int fails = 0;
    for (; payload == NULL; fails++) {
        mem_fail_try((uint64_t)fails + 1);
        payload = payload_new(&object);
        mem_fail_try(0);
    }
    ck_assert_int_gt(fails, 3);
    struct object again;
    ck_assert_int_eq(payload_read(payload_bytes(payload), &again), PAYLOAD_WHOLE);
    object_free(&again);
    payload_free(payload);
    object_free(&object);
}
END_TEST

START_TEST(large_values_survive_dump_and_restore)
{
    for (enum type type = TYPE_LIST; type <= TYPE_DEHYDRATOR; type++) {
        struct store *store = store_new(1);
        struct txn txn;
        char name[16];
        struct object object = object_new(type);
        for (int i = 0; i < 3000; i++) {
            struct bytes id = bytes_of(name, (size_t)snprintf(name, sizeof(name), "m%d", i));
            struct effect effect = { .a = id,
                                     .b = id,
                                     .at = i % 3 == 0 ? NOW + i : NEVER,
                                     .score = i % 7,
                                     .stage = { .at = i } };
            walk_put(&object, &effect);
        }
        object.has_expiry = !due_at_is_never(object_next_due(&object));
        txn_begin(&txn, store, NOW, FROM_CLIENT);
        txn_key_restore(&txn, LIT("k"), object, NEVER);
        txn_commit(&txn);
        check_round(store);
        store_free(store);
    }
}
END_TEST

static enum payload_status status_of(struct made *made, int version)
{
    struct object object;
    payload_end(made, version);
    enum payload_status status = payload_read(made_view(made), &object);
    if (status == PAYLOAD_WHOLE) object_free(&object);
    free(made);
    return status;
}

START_TEST(versions_beyond_the_known_are_foreign)
{
    static const int known[] = { 16, 80, 81 }, foreign[] = { 17, 79, 82 };
    for (int i = 0; i < 3; i++) {
        ck_assert_int_eq(status_of(text(payload(0), "v"), known[i]), PAYLOAD_WHOLE);
        ck_assert_int_eq(status_of(text(payload(0), "v"), foreign[i]), PAYLOAD_FOREIGN);
        ck_assert_int_eq(status_of(text(payload(RDB_OWN_TEXT), "v"), foreign[i]), PAYLOAD_FOREIGN);
    }
    struct object object;
    ck_assert_int_eq(payload_read(LIT(""), &object), PAYLOAD_FOREIGN);
    ck_assert_int_eq(payload_read(LIT("123456789"), &object), PAYLOAD_FOREIGN);
}
END_TEST

static struct made *own(const char *commands)
{
    return raw(payload(RDB_OWN_TEXT), commands, strlen(commands));
}

START_TEST(our_own_format_is_read_only_as_it_is_written)
{
    static const char *const bad[] = {
        "",
        "*3\r\n$4\r\nSADD\r\n$0\r\n\r\n$1\r\na",                            /* cut */
        "*3\r\n$4\r\nSADD\r\n$1\r\nk\r\n$1\r\na\r\n",                       /* of another key */
        "*4\r\n$4\r\nSADD\r\n$0\r\n\r\n$1\r\na\r\n$1\r\na\r\n",             /* twice */
        "*3\r\n$4\r\nSADD\r\n$0\r\n\r\n$1\r\na\r\n*1\r\n$7\r\nFLUSHDB\r\n", /* no value */
        "*2\r\n$3\r\nDEL\r\n$0\r\n\r\n",                                    /* no value */
        "*3\r\n$5\r\nRPUSH\r\n$0\r\n\r\n$1\r\na\r\n",                       /* Redis knows lists */
        "*2\r\n$6\r\nSELECT\r\n$1\r\n0\r\n",                                /* nothing */
        "*2\r\n$6\r\nSELECT\r\n$1\r\n1\r\n*3\r\n$4\r\nSADD\r\n$0\r\n\r\n$1\r\na\r\n",
        /* two types */
        ("*3\r\n$4\r\nSADD\r\n$0\r\n\r\n$1\r\na\r\n"
         "*4\r\n$4\r\nHSET\r\n$0\r\n\r\n$1\r\nb\r\n$0\r\n\r\n"),
        "*4\r\n$4\r\nZADD\r\n$0\r\n\r\n$3\r\nnan\r\n$1\r\na\r\n",
        "*3\r\n$4\r\nSREM\r\n$0\r\n\r\n$1\r\na\r\n",
        /* the largest token */
        ("*6\r\n$12\r\nX.LEASE.TAKE\r\n$0\r\n\r\n$1\r\no\r\n$16\r\n9007199254740991\r\n"
         "$13\r\n9999999999999\r\n$1\r\n1\r\n"),
        /* instants and spans that do not exist */
        "*4\r\n$15\r\nX.REDE.REMEMBER\r\n$0\r\n\r\n$1\r\n0\r\n$1\r\na\r\n",
        ("*5\r\n$11\r\nREDE.PUSHAT\r\n$0\r\n\r\n$1\r\n1\r\n$1\r\nx\r\n$1\r\na\r\n"
         "*7\r\n$14\r\nX.REDE.OPTIONS\r\n$0\r\n\r\n$1\r\n1\r\n$1\r\n0\r\n"
         "$19\r\n9223372036854775806\r\n$1\r\n1\r\n$1\r\na\r\n"),
    };
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        ck_assert_msg(status_of(own(bad[i]), 10) == PAYLOAD_DAMAGED, "%s", bad[i]);
    ck_assert_int_eq(status_of(own("*3\r\n$4\r\nSADD\r\n$0\r\n\r\n$1\r\na\r\n"), 10),
                     PAYLOAD_WHOLE);
}
END_TEST

/* Changes, removes or inserts a byte, and corrects the checksum. */
static void change(struct rng *rng, struct made *made)
{
    static const unsigned char odd[] = {
        0, 1, 0x3f, 0x40, 0x7f, 0x80, 0x81, 0xc0, 0xc3, 0xfe, 0xff
    };
    size_t at = rng_below(rng, made->len);
    unsigned char byte_of =
        rng_chance(rng, 50) ? odd[rng_below(rng, sizeof(odd))] : (unsigned char)rng_below(rng, 256);
    switch (rng_below(rng, 4)) {
    case 0: memmove(made->at + at, made->at + at + 1, --made->len - at); break;
    case 1:
        memmove(made->at + at + 1, made->at + at, made->len++ - at);
        made->at[at] = byte_of;
        break;
    default: made->at[at] = byte_of;
    }
}

static struct made *seed_of(size_t which)
{
    if (which < SAMPLES) return samples[which].add(payload(samples[which].type));
    struct object object = own_sample((int)(which - SAMPLES));
    struct payload *payload = payload_new(&object);
    struct bytes bytes = payload_bytes(payload);
    struct made *made = raw(made_new(), bytes.data, bytes.len - RDB_FOOTER);
    payload_free(payload);
    object_free(&object);
    return made;
}

START_TEST(a_changed_payload_becomes_a_value_or_is_refused)
{
    struct rng rng;
    size_t whole = 0;
    struct made *seeds[SAMPLES + OWN_SAMPLES], *made = made_new();
    struct store *store = store_new(1);
    rng_init(&rng, test_seed());
    for (size_t i = 0; i < SAMPLES + OWN_SAMPLES; i++)
        seeds[i] = seed_of(i);
    for (int i = 0; i < MUTATIONS; i++) {
        const struct made *seed = seeds[rng_below(&rng, SAMPLES + OWN_SAMPLES)];
        made->len = 0;
        raw(made, seed->at, seed->len);
        for (uint64_t changes = 1 + rng_below(&rng, 4); changes > 0 && made->len > 1; changes--)
            change(&rng, made);
        payload_end(made, 10);
        size_t before = dict_count(&store->databases[0].dict);
        enum payload_status status = restore(store, made_view(made));
        size_t after = dict_count(&store->databases[0].dict);
        ensure(status != PAYLOAD_FOREIGN, "a footer that is right");
        ensure(after == (status == PAYLOAD_WHOLE || before == 1), "%zu keys", after);
        if (status != PAYLOAD_WHOLE) continue;
        if (whole++ % 8 == 0) check_round(store);
    }
    store_check(store);
    ck_assert_uint_gt(whole, MUTATIONS / 20);
    ck_assert_uint_lt(whole, MUTATIONS);
    for (size_t i = 0; i < SAMPLES + OWN_SAMPLES; i++)
        free(seeds[i]);
    free(made);
    store_free(store);
}
END_TEST

START_TEST(a_payload_with_a_wrong_checksum_is_foreign)
{
    struct rng rng;
    struct made *made = payload_end(seed_of(16), 10);
    rng_init(&rng, test_seed());
    for (size_t i = 0; i < made->len; i++) {
        struct object object;
        unsigned char flip = (unsigned char)(1 + rng_below(&rng, 255));
        made->at[i] ^= flip;
        ck_assert_int_eq(payload_read(made_view(made), &object), PAYLOAD_FOREIGN);
        made->at[i] ^= flip;
    }
    free(made);
}
END_TEST

Suite *test_suite(void)
{
    const TTest *const tests[] = {
        payloads_of_redis_are_restored_and_dumped_again,
        streams_keep_all_in_restore_and_dump,
        member_deadlines_and_leases_survive_dump_and_restore,
        pending_entries_of_many_consumers_survive,
        stream_fails_to_dump_without_memory,
        large_values_survive_dump_and_restore,
        versions_beyond_the_known_are_foreign,
        our_own_format_is_read_only_as_it_is_written,
        a_changed_payload_becomes_a_value_or_is_refused,
        a_payload_with_a_wrong_checksum_is_foreign,
        NULL,
    };
    return suite_of("payload", tests);
}
