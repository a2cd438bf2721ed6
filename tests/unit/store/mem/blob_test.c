/* Tests of blob: big ones with several owners. */
#include "store/mem/blob.h"

#include "store/mem/mem.h"
#include "tests/support/suite.h"

enum { BIG = BLOB_BIG + 100 };

static struct blob *big_blob(void)
{
    struct blob *blob = blob_try_new(BIG);
    ck_assert_ptr_nonnull(blob);
    memset(blob->data, 'x', BIG);
    return blob;
}

START_TEST(the_last_owner_frees_a_big_blob)
{
    size_t base = mem_used();
    struct blob *blob = big_blob();
    ck_assert(!blob_is_shared(blob));
    ck_assert_ptr_eq(blob_share(blob_view(blob)), blob);
    ck_assert_ptr_eq(blob_share(blob_view(blob)), blob);
    blob_free(blob);
    ck_assert(blob_is_shared(blob));
    blob_free(blob);
    ck_assert(!blob_is_shared(blob));
    ck_assert_uint_gt(mem_used(), base + BIG);
    ck_assert_int_eq(blob->data[BIG - 1], 'x');
    blob_free(blob);
    ck_assert_uint_eq(mem_used(), base);
}
END_TEST

START_TEST(only_the_whole_content_of_a_big_blob_is_shared)
{
    struct blob *blob = big_blob(), *small = blob_new(LIT("small"));
    struct bytes all = blob_view(blob);
    ck_assert_ptr_null(blob_share(bytes_of(all.data, all.len - 1)));
    ck_assert_ptr_null(blob_share(bytes_of(all.data + 1, all.len - 1)));
    ck_assert_ptr_null(blob_share(blob_view(small)));
    ck_assert(!blob_is_shared(small));
    ck_assert(!blob_is_shared(blob));
    blob_free(blob);
    blob_free(small);
}
END_TEST

START_TEST(blobs_are_found_after_they_became_big_and_small)
{
    static const size_t sizes[] = { 10, BIG, 3 * BIG, BLOB_BIG, BLOB_BIG - 1, 2 * BIG };
    size_t base = mem_used();
    struct blob *blob = NULL;
    for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
        blob = blob_try_resize(blob, sizes[i]);
        ck_assert_ptr_nonnull(blob);
        ck_assert_uint_eq(blob->len, sizes[i]);
        struct blob *shared = blob_share(blob_view(blob));
        ck_assert_ptr_eq(shared, sizes[i] >= BLOB_BIG ? blob : NULL);
        if (shared != NULL) blob_free(shared);
    }
    blob_free(blob);
    ck_assert_uint_eq(mem_used(), base);
}
END_TEST

START_TEST(failed_resize_leaves_the_blob)
{
    struct blob *blob = big_blob();
    mem_fail_try(1);
    ck_assert_ptr_null(blob_try_resize(blob, 2 * BIG));
    ck_assert_ptr_null(blob_try_resize(blob, (size_t)UINT32_MAX + 1));
    ck_assert_uint_eq(blob->len, BIG);
    blob_free(blob_share(blob_view(blob)));
    blob_free(blob);
}
END_TEST

START_TEST(many_big_blobs_are_distinguished)
{
    enum { MANY = 3000 };
    static struct blob *blobs[MANY];
    for (int i = 0; i < MANY; i++)
        blobs[i] = blob_try_new(BLOB_BIG); /* never written to, so that they take no memory */
    for (int i = 0; i < MANY; i += 2)
        ck_assert_ptr_eq(blob_share(blob_view(blobs[i])), blobs[i]);
    for (int i = 0; i < MANY; i++) {
        ck_assert_int_eq(blob_is_shared(blobs[i]), i % 2 == 0);
        if (i % 2 == 0) blob_free(blobs[i]);
        blob_free(blobs[i]);
    }
}
END_TEST

Suite *test_suite(void)
{
    const TTest *const tests[] = {
        the_last_owner_frees_a_big_blob,
        only_the_whole_content_of_a_big_blob_is_shared,
        blobs_are_found_after_they_became_big_and_small,
        failed_resize_leaves_the_blob,
        many_big_blobs_are_distinguished,
        NULL,
    };
    return suite_of("blob", tests);
}
