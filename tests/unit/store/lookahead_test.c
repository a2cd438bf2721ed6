/* Tests of reading ahead: what it finds, and that it skips requests that name no key. */
#include "store/lookahead.h"

#include <stdio.h>

#include "store/store.h"
#include "store/txn/txn.h"
#include "store/txn/txn_dehydrator.h"
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
    lookahead(NULL, all, 3);
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
    lookahead(NULL, &one, 1);
    ck_assert(!one.hashed);
    store_free(store);
}
END_TEST

/* An id is hashed once, for the prefetch and for the push. A push of a client has its id anywhere.
 */
START_TEST(an_id_of_a_large_dehydrator_is_hashed)
{
    enum { LARGE = 5000 };
    struct txn txn;
    begin(0);
    txn_begin(&txn, store, 1000000, FROM_CLIENT);
    txn_call(&txn, 0);
    struct entry *entry = txn_create(&txn, LIT("d"), TYPE_DEHYDRATOR);
    for (int i = 0; i < LARGE; i++) {
        char id[32];
        size_t len = (size_t)snprintf(id, sizeof(id), "id:%d", i);
        txn_rede_push(&txn, entry, bytes_of(id, len), LIT("payload"), &(struct stage){ .at = i });
    }
    txn_commit(&txn);
    struct bytes ack[] = { LIT("d"), LIT("id:3") }, push[] = { LIT("d"), LIT("10"), LIT("text") };
    struct prefetch all[] = {
        { .ks = store_database(store, 0), .args = ack, .count = 2 },
        { .ks = store_database(store, 0), .args = push, .count = 3 },
    };
    lookahead(NULL, all, 2);
    ck_assert(all[0].member_hashed && all[0].table != NULL);
    ck_assert(all[1].hashed && !all[1].member_hashed);
    store_free(store);
}
END_TEST

Suite *test_suite(void)
{
    const TTest *const tests[] = {
        requests_without_a_key_are_skipped,
        an_empty_database_is_skipped,
        an_id_of_a_large_dehydrator_is_hashed,
        NULL,
    };
    return suite_of("lookahead", tests);
}
