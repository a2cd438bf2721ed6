/* Tests of reading ahead: what it finds, and that it skips requests that name no key. */
#include "store/lookahead.h"

#include <stdio.h>

#include "store/store.h"
#include "store/txn/txn.h"
#include "tests/support/suite.h"

static struct store *store;

static void begin(int keys)
{
    struct txn txn;
    store = store_new(1);
    txn_begin(&txn, store, 1000000, FROM_CLIENT);
    txn_call(&txn, 0);
    for (int i = 0; i < keys; i++) {
        char key[32];
        size_t len = (size_t)snprintf(key, sizeof(key), "k%d", i);
        txn_string_set(&txn, bytes_of(key, len), LIT("value"), &(struct string_set){ .at = NEVER });
    }
    txn_commit(&txn);
}

START_TEST(requests_without_a_key_are_skipped)
{
    begin(10);
    struct bytes args[] = { LIT("k1"), LIT("none") };
    struct prefetch all[] = {
        { .args = NULL },
        { .ks = store_database(store, 0), .args = &args[0], .count = 1 },
        { .ks = store_database(store, 0), .args = &args[1], .count = 1 },
    };
    lookahead(all, 3);
    ck_assert(!all[0].hashed && all[0].entry == NULL);
    ck_assert(all[1].hashed && all[1].entry != NULL);
    ck_assert(all[2].hashed);
    store_free(store);
}
END_TEST

START_TEST(an_empty_database_is_skipped)
{
    begin(0);
    struct bytes key = LIT("k1");
    struct prefetch one = { .ks = store_database(store, 0), .args = &key, .count = 1 };
    lookahead(&one, 1);
    ck_assert(!one.hashed);
    store_free(store);
}
END_TEST

Suite *test_suite(void)
{
    const TTest *const tests[] = {
        requests_without_a_key_are_skipped,
        an_empty_database_is_skipped,
        NULL,
    };
    return suite_of("lookahead", tests);
}
