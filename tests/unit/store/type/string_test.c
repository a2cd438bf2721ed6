/* The value of a string key, in the object or in a block of its own. */
#include "store/type/string.h"

#include "store/mem/blob.h"
#include "store/mem/mem.h"
#include "tests/support/rng.h"
#include "tests/support/suite.h"

static void assert_text(const struct object *object, struct bytes text)
{
    string_check(object);
    struct bytes got = object_text(object);
    ck_assert_msg(bytes_equal(got, text), "'%.*s', not '%.*s'", (int)got.len, got.data,
                  (int)text.len, text.data);
}

START_TEST(eight_bytes_are_stored_in_the_object)
{
    size_t base = mem_used();
    struct object object = string_new(LIT("12345678"));
    assert_text(&object, LIT("12345678"));
    ck_assert_uint_eq(mem_used(), base);
    ck_assert_uint_eq(string_bytes(&object), 0);
    string_set(&object, LIT("123456789"));
    assert_text(&object, LIT("123456789"));
    ck_assert_uint_eq(mem_used() - base, string_bytes(&object));
    ck_assert_uint_gt(string_bytes(&object), 9);
    string_set(&object, LIT(""));
    assert_text(&object, LIT(""));
    ck_assert_uint_eq(mem_used(), base);
    string_free(&object);
}
END_TEST

START_TEST(similar_size_reuses_the_block)
{
    char longer[100];
    memset(longer, 'x', sizeof(longer));
    struct object object = string_new(LIT("a value that has 27 bytes.."));
    const struct blob *blob = object.string;
    string_set(&object, LIT("another value with 26 bytes"));
    ck_assert_ptr_eq(object.string, blob);
    assert_text(&object, LIT("another value with 26 bytes"));
    string_set(&object, LIT("and one that has 25 bytes"));
    ck_assert_ptr_eq(object.string, blob);
    assert_text(&object, LIT("and one that has 25 bytes"));

    string_set(&object, bytes_of(longer, sizeof(longer)));
    assert_text(&object, bytes_of(longer, sizeof(longer)));
    size_t large = string_bytes(&object);
    string_set(&object, LIT("one of 19 bytes ..."));
    assert_text(&object, LIT("one of 19 bytes ..."));
    ck_assert_uint_lt(string_bytes(&object), large / 2);
    string_free(&object);
}
END_TEST

START_TEST(new_value_may_be_part_of_old_one)
{
    static const size_t lens[] = { 0, 3, 8, 9, 20, 40 };
    const struct bytes old = LIT("what is there: forty bytes, and not less");
    for (size_t had = 0; had < sizeof(lens) / sizeof(lens[0]); had++)
        for (size_t from = 0; from <= lens[had]; from++)
            for (size_t len = 0; len <= lens[had] - from; len++) {
                struct object object = string_new(bytes_of(old.data, lens[had]));
                string_set(&object, bytes_of(object_text(&object).data + from, len));
                assert_text(&object, bytes_of(old.data + from, len));
                string_free(&object);
            }
}
END_TEST

START_TEST(blob_is_kept_unless_short)
{
    size_t base = mem_used();
    struct blob *blob = blob_new(LIT("a text that is long"));
    struct object object = string_of_blob(blob);
    ck_assert_ptr_eq(object.string, blob);
    assert_text(&object, LIT("a text that is long"));
    string_free(&object);
    object = string_of_blob(blob_new(LIT("short")));
    assert_text(&object, LIT("short"));
    ck_assert_uint_eq(mem_used(), base);
    string_free(&object);
}
END_TEST

START_TEST(write_past_end_pads_with_zeros)
{
    struct object object = string_new(LIT("ab"));
    ck_assert(string_overwrite(&object, 4, LIT("c")));
    assert_text(&object, LIT("ab\0\0c"));
    ck_assert(string_overwrite(&object, 7, LIT("de")));
    assert_text(&object, LIT("ab\0\0c\0\0de"));
    ck_assert(string_overwrite(&object, 11, LIT("f")));
    assert_text(&object, LIT("ab\0\0c\0\0de\0\0f"));
    ck_assert(string_overwrite(&object, 0, LIT("x")));
    assert_text(&object, LIT("xb\0\0c\0\0de\0\0f"));
    string_free(&object);
}
END_TEST

START_TEST(regrown_text_is_padded_with_zeros)
{
    struct object object = string_new(LIT("12345678"));
    string_set(&object, LIT("1"));
    ck_assert(string_overwrite(&object, 6, LIT("7")));
    assert_text(&object, LIT("1\0\0\0\0\0"
                             "7"));
    string_free(&object);
}
END_TEST

START_TEST(failed_allocation_writes_nothing)
{
    struct object object = string_new(LIT("short"));
    mem_fail_try(1);
    ck_assert(!string_overwrite(&object, 5, LIT("and long")));
    assert_text(&object, LIT("short"));
    ck_assert(!string_overwrite(&object, UINT32_MAX, LIT("x")));
    assert_text(&object, LIT("short"));
    ck_assert(string_overwrite(&object, 5, LIT("and long")));
    mem_fail_try(1);
    ck_assert(!string_overwrite(&object, 40, LIT("and longer still")));
    assert_text(&object, LIT("shortand long"));
    string_free(&object);
}
END_TEST

START_TEST(random_writes_match_model)
{
    enum { STEPS = 20000, LONGEST = 64 };
    struct rng rng;
    rng_init(&rng, test_seed());
    char model[2 * LONGEST] = { 0 };
    size_t len = 0, base = mem_used();
    msec soft = NEVER;
    struct object object = string_new(LIT(""));
    for (int step = 0; step < STEPS; step++) {
        char data[LONGEST];
        size_t count = rng_below(&rng, rng_chance(&rng, 50) ? 10 : LONGEST);
        size_t offset = rng_below(&rng, rng_chance(&rng, 50) ? 10 : LONGEST);
        for (size_t i = 0; i < count; i++)
            data[i] = (char)rng_below(&rng, 256);
        if (rng_chance(&rng, 20)) {
            soft = rng_chance(&rng, 50) ? NEVER : (msec)rng_below(&rng, 1000);
            string_soften(&object, soft);
        }
        ck_assert_int_eq(string_soft_deadline(&object), soft);
        if (rng_chance(&rng, 30)) {
            string_set(&object, bytes_of(data, count));
            memcpy(model, data, len = count);
        } else {
            ck_assert(string_overwrite(&object, offset, bytes_of(data, count)));
            if (count > 0 || offset > len) {
                if (offset > len) memset(model + len, 0, offset - len);
                memcpy(model + offset, data, count);
            }
            if (offset + count > len) len = offset + count;
        }
        assert_text(&object, bytes_of(model, len));
        ck_assert_uint_eq(mem_used() - base, string_bytes(&object));
    }
    string_free(&object);
}
END_TEST

START_TEST(soft_deadline_changes_neither_text_nor_encoding)
{
    static const struct bytes texts[] = { LIT(""), LIT("17"), LIT("12345678"), LIT("nine long") };
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        size_t base = mem_used();
        struct object object = string_new(texts[i]), plain = string_new(texts[i]);
        string_soften(&object, 7);
        string_soften(&object, 9);
        ck_assert_int_eq(string_soft_deadline(&object), 9);
        ck_assert_int_eq(string_soft_deadline(&plain), NEVER);
        assert_text(&object, texts[i]);
        ck_assert_str_eq(string_encoding(&object), string_encoding(&plain));
        object.raw = true;
        string_soften(&object, NEVER);
        ck_assert_str_eq(string_encoding(&object), "raw");
        assert_text(&object, texts[i]);
        ck_assert_uint_eq(string_bytes(&object), string_bytes(&plain));
        string_soften(&object, 9);
        string_free(&object);
        string_free(&plain);
        ck_assert_uint_eq(mem_used(), base);
    }
}
END_TEST

START_TEST(shared_text_is_copied_before_it_changes)
{
    enum { LEN = BLOB_BIG };
    struct blob *blob = blob_try_new(LEN);
    ck_assert_ptr_nonnull(blob);
    memset(blob->data, 'x', LEN);
    struct object object = string_new(blob_view(blob)), again = string_new(blob_view(blob));
    ck_assert_ptr_eq(object.string, blob);
    ck_assert_ptr_eq(again.string, blob);
    ck_assert(string_overwrite(&object, LEN, LIT("end")));
    ck_assert_ptr_ne(object.string, blob);
    ck_assert_uint_eq(object_text(&object).len, LEN + 3);
    ck_assert_mem_eq(object_text(&object).data + LEN - 1, "xend", 4);
    ck_assert(string_overwrite(&again, 1, LIT("y")));
    ck_assert_mem_eq(object_text(&again).data, "xyx", 3);
    ck_assert_mem_eq(blob->data, "xxx", 3);
    ck_assert(!blob_is_shared(blob));
    mem_fail_try(1);
    struct object third = string_new(blob_view(blob));
    ck_assert(!string_overwrite(&third, 0, LIT("z")));
    ck_assert_ptr_eq(third.string, blob);
    ck_assert(string_overwrite(&third, LEN + 2, LIT("")));
    ck_assert_ptr_ne(third.string, blob);
    ck_assert_mem_eq(object_text(&third).data + LEN - 1, "x\0", 3);
    string_set(&third, blob_view(blob));
    ck_assert_ptr_eq(third.string, blob);
    string_set(&third, LIT("a text that is not short"));
    ck_assert(!blob_is_shared(blob));
    string_free(&object);
    string_free(&again);
    string_free(&third);
    blob_free(blob);
}
END_TEST

Suite *test_suite(void)
{
    const TTest *const tests[] = {
        soft_deadline_changes_neither_text_nor_encoding,
        eight_bytes_are_stored_in_the_object,
        similar_size_reuses_the_block,
        new_value_may_be_part_of_old_one,
        blob_is_kept_unless_short,
        write_past_end_pads_with_zeros,
        regrown_text_is_padded_with_zeros,
        failed_allocation_writes_nothing,
        random_writes_match_model,
        shared_text_is_copied_before_it_changes,
        NULL,
    };
    return suite_of("text", tests);
}
