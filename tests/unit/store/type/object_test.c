/* object: what every type can do, for every type. */
#include "store/type/object.h"

#include <stdio.h>

#include "store/base/random.h"
#include "store/mem/mem.h"
#include "store/type/string.h"
#include "store/walk.h"
#include "tests/support/suite.h"

static void add(struct object *object, int n)
{
    char text[16];
    struct bytes item = bytes_of(text, (size_t)snprintf(text, sizeof(text), "item-%d", n));
    switch (object->type) {
    case TYPE_LIST: list_push(object->list, LIST_TAIL, item); break;
    case TYPE_SET: set_add(object->set, item, NEVER); break;
    case TYPE_HASH: hash_set(object->hash, item, item, NEVER); break;
    case TYPE_ZSET: zset_put(object->zset, item, n, NEVER); break;
    case TYPE_DEHYDRATOR:
        dehydrator_push(object->dehydrator, item, item, &(struct stage){ .at = n });
        break;
    case TYPE_STREAM:
        stream_append(object->stream, (struct stream_id){ 1, (uint64_t)n + 1 },
                      (const struct bytes[]){ LIT("name"), item }, 2);
        break;
    case TYPE_LEASE:
        lease_put(object->lease, &(struct holder){ item, n + 1, n }, 1000 * 1000);
        break;
    default: ck_abort_msg("type %u", (unsigned)object->type);
    }
}

static struct object filled(enum type type, int count)
{
    struct object object = object_new(type);
    for (int i = 0; i < count; i++)
        add(&object, i);
    return object;
}

/* Elements count with the sizes that the allocator gave, tables with the sizes requested. */
static void assert_bytes(size_t bytes, size_t held)
{
    ck_assert_uint_le(bytes, held);
    ck_assert_uint_le(held, bytes + bytes / 16 + 128);
}

START_TEST(every_collection_counts_elements_and_bytes)
{
    for (int type = TYPE_LIST; type < TYPE_COUNT; type++) {
        size_t base = mem_used();
        struct object object = object_new((enum type)type);
        ck_assert_uint_eq(object_count(&object), 0);
        object_check(&object);
        for (int i = 1; i <= 1000; i++) {
            add(&object, i);
            ck_assert_uint_eq(object_count(&object), (size_t)i);
            assert_bytes(object_bytes(&object), mem_used() - base);
        }
        object_check(&object);
        object_free(&object);
        ck_assert_uint_eq(mem_used(), base);
    }
}
END_TEST

START_TEST(every_collection_can_be_freed_in_slices)
{
    for (int type = TYPE_LIST; type < TYPE_COUNT; type++) {
        size_t base = mem_used(), work, slices = 0;
        struct object object = filled((enum type)type, 10000);
        do {
            work = 100;
            slices++;
        } while (!object_free_some(&object, &work));
        ck_assert_msg(slices >= 10, "%s in %zu slices", type_name((enum type)type), slices);
        ck_assert_uint_eq(mem_used(), base);
    }
}
END_TEST

START_TEST(freeing_small_value_leaves_budget)
{
    for (int type = TYPE_LIST; type < TYPE_COUNT; type++) {
        size_t work = 1000;
        struct object object = filled((enum type)type, 100);
        ck_assert(object_free_some(&object, &work));
        ck_assert_uint_ge(work, type == TYPE_LEASE ? 700 : 800); /* which has an index */
        ck_assert_uint_le(work, 900);
    }
}
END_TEST

START_TEST(freeing_with_zero_budget_frees_nothing)
{
    for (int type = TYPE_LIST; type < TYPE_COUNT; type++) {
        size_t work = 0;
        struct object object = filled((enum type)type, 10);
        ck_assert(!object_free_some(&object, &work));
        ck_assert_uint_eq(object_count(&object), 10);
        object_check(&object);
        object_free(&object);
    }
}
END_TEST

START_TEST(string_counts_as_one_element)
{
    size_t base = mem_used(), work = 5;
    struct object object = string_new(LIT("hello"));
    ck_assert_uint_eq(object_count(&object), 1);
    ck_assert_uint_eq(object_bytes(&object), mem_used() - base);
    object_check(&object);
    ck_assert(object_free_some(&object, &work));
    ck_assert_uint_eq(work, 4);
    ck_assert_uint_eq(mem_used(), base);
}
END_TEST

START_TEST(type_names_are_those_of_TYPE)
{
    ck_assert_str_eq(type_name(TYPE_STRING), "string");
    ck_assert_str_eq(type_name(TYPE_LIST), "list");
    ck_assert_str_eq(type_name(TYPE_SET), "set");
    ck_assert_str_eq(type_name(TYPE_HASH), "hash");
    ck_assert_str_eq(type_name(TYPE_ZSET), "zset");
    ck_assert_str_eq(type_name(TYPE_DEHYDRATOR), "dehydrator");
    ck_assert_str_eq(type_name(TYPE_STREAM), "stream");
    ck_assert_str_eq(type_name(TYPE_LEASE), "lease");
}
END_TEST

START_TEST(new_collections_have_small_encoding)
{
    static const char *const names[TYPE_COUNT] = {
        [TYPE_LIST] = "quicklist", [TYPE_SET] = "intset",     [TYPE_HASH] = "listpack",
        [TYPE_ZSET] = "listpack",  [TYPE_DEHYDRATOR] = "raw", [TYPE_STREAM] = "stream",
        [TYPE_LEASE] = "raw",
    };
    for (int type = TYPE_LIST; type < TYPE_COUNT; type++) {
        struct object object = object_new((enum type)type);
        ck_assert_str_eq(object_encoding(&object), names[type]);
        object_free(&object);
    }
}
END_TEST

static void assert_encoding(struct bytes text, bool raw, const char *name)
{
    struct object object = string_new(text);
    object.raw = raw;
    ck_assert_msg(strcmp(object_encoding(&object), name) == 0, "%.*s is %s", (int)text.len,
                  text.data, object_encoding(&object));
    object_free(&object);
}

START_TEST(string_encodings_match_redis)
{
    char text[45];
    memset(text, '1', sizeof(text));
    assert_encoding(LIT("0"), false, "int");
    assert_encoding(LIT("-1"), false, "int");
    assert_encoding(LIT("9223372036854775807"), false, "int");
    assert_encoding(LIT("-9223372036854775808"), false, "int");
    assert_encoding(LIT("9223372036854775808"), false, "embstr");
    assert_encoding(LIT("-0"), false, "embstr");
    assert_encoding(LIT("01"), false, "embstr");
    assert_encoding(LIT("+1"), false, "embstr");
    assert_encoding(LIT(""), false, "embstr");
    assert_encoding(bytes_of(text, 44), false, "embstr");
    assert_encoding(bytes_of(text, 45), false, "raw");
    assert_encoding(LIT("12"), true, "raw");
    assert_encoding(LIT("short"), true, "raw");
}
END_TEST

START_TEST(text_flag_prevents_int_encoding)
{
    struct object object = string_new(LIT("12"));
    object.text = true;
    ck_assert_str_eq(object_encoding(&object), "embstr");
    object_free(&object);
}
END_TEST

START_TEST(widened_collection_has_large_encoding)
{
    static const char *const names[TYPE_COUNT] = {
        [TYPE_LIST] = "quicklist", [TYPE_SET] = "hashtable",  [TYPE_HASH] = "hashtable",
        [TYPE_ZSET] = "skiplist",  [TYPE_DEHYDRATOR] = "raw", [TYPE_STREAM] = "stream",
        [TYPE_LEASE] = "raw",
    };
    for (int type = TYPE_LIST; type < TYPE_COUNT; type++) {
        struct object object = object_new((enum type)type);
        object_widen(&object);
        ck_assert_str_eq(object_encoding(&object), names[type]);
        object_check(&object);
        object_free(&object);
    }
}
END_TEST

static void assert_copy_keeps_encoding(struct object *object)
{
    struct object copy = walk_copy(object);
    ck_assert_str_eq(object_encoding(&copy), object_encoding(object));
    object_check(&copy);
    object_free(&copy);
    object_free(object);
}

START_TEST(copy_keeps_encoding)
{
    for (int raw = 0; raw < 2; raw++)
        for (int text = 0; text < 2; text++) {
            struct object string = string_new(LIT("12"));
            string.raw = raw;
            string.text = text;
            assert_copy_keeps_encoding(&string);
        }
    for (int type = TYPE_LIST; type < TYPE_COUNT; type++)
        for (int wide = 0; wide < 2; wide++) {
            struct object object = object_new((enum type)type);
            if (type == TYPE_SET)
                set_add(object.set, LIT("1"), NEVER);
            else
                add(&object, 1);
            if (wide) object_widen(&object);
            assert_copy_keeps_encoding(&object);
        }
}
END_TEST

START_TEST(random_numbers_differ_across_pool_refill)
{
    struct random random;
    uint64_t drawn[200];
    random_init(&random);
    for (int i = 0; i < 200; i++) {
        drawn[i] = random_next(&random);
        for (int j = 0; j < i; j++)
            ck_assert(drawn[i] != drawn[j]);
    }
}
END_TEST

Suite *test_suite(void)
{
    const TTest *const tests[] = {
        every_collection_counts_elements_and_bytes,
        every_collection_can_be_freed_in_slices,
        freeing_small_value_leaves_budget,
        freeing_with_zero_budget_frees_nothing,
        string_counts_as_one_element,
        type_names_are_those_of_TYPE,
        new_collections_have_small_encoding,
        string_encodings_match_redis,
        text_flag_prevents_int_encoding,
        widened_collection_has_large_encoding,
        copy_keeps_encoding,
        random_numbers_differ_across_pool_refill,
        NULL,
    };
    return suite_of("object", tests);
}
