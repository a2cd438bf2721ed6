/* guest: values that another owner lends to a store. */
#include "store/guest.h"
#include "store/mem/mem.h"
#include "store/sweep/expiry.h"
#include "store/txn/txn_dehydrator.h"
#include "tests/support/suite.h"

static struct object lent(msec at)
{
    struct object object = object_new(TYPE_DEHYDRATOR);
    dehydrator_push(object.dehydrator, LIT("id"), LIT("payload"), &(struct stage){ .at = at });
    return object;
}

START_TEST(a_value_comes_back_as_the_transaction_left_it)
{
    struct store *store = store_new(1);
    struct txn txn;
    struct object object;
    struct due_at next = guest_lend(store, LIT("k"), lent(5));
    ck_assert_int_eq(next.at, 5);
    txn_begin(&txn, store, 1, FROM_CLIENT);
    txn_rede_push(&txn, txn_find(&txn, LIT("k")), LIT("two"), LIT(""), &(struct stage){ .at = 3 });
    txn_commit(&txn);
    ck_assert(guest_take(store, LIT("k"), &object, &next));
    ck_assert_uint_eq(object_count(&object), 2);
    ck_assert_int_eq(object_next_due(&object).at, 3);
    ck_assert_int_eq(next.at, 3);
    ck_assert_uint_eq(store_count(store), 0);
    ck_assert_int_eq(store_next_due(store), NEVER);
    store_check(store);
    object_free(&object);
    store_free(store);
    ck_assert_uint_eq(mem_used(), 0);
}
END_TEST

START_TEST(a_value_that_was_removed_does_not_come_back)
{
    struct store *store = store_new(1);
    struct txn txn;
    struct object object;
    struct due_at next;
    guest_lend(store, LIT("k"), lent(5));
    txn_begin(&txn, store, 9, FROM_CLIENT);
    struct entry *entry = txn_find(&txn, LIT("k"));
    txn_rede_remove(&txn, entry, dehydrator_first(entry->object.dehydrator), EVENT_REDE_POLL);
    txn_commit(&txn);
    ck_assert(!guest_take(store, LIT("k"), &object, &next));
    store_free(store);
    ck_assert_uint_eq(mem_used(), 0);
}
END_TEST

START_TEST(what_falls_due_in_a_lent_value_is_announced_once)
{
    struct store *store = store_new(1);
    struct object object;
    struct due_at next;
    guest_lend(store, LIT("k"), lent(5));
    ck_assert_uint_eq(expiry_run(store, 4, 1), 0);
    ck_assert_uint_eq(expiry_run(store, 5, 1), 1);
    ck_assert(guest_take(store, LIT("k"), &object, &next));
    ck_assert(due_at_is_never(object_next_due(&object)));
    ck_assert(due_at_is_never(next));
    next = guest_lend(store, LIT("k"), object);
    ck_assert(due_at_is_never(next));
    ck_assert_uint_eq(expiry_run(store, 6, 1), 0);
    store_free(store);
    ck_assert_uint_eq(mem_used(), 0);
}
END_TEST

START_TEST(a_prepared_store_keeps_its_memory_between_two_guests)
{
    struct store *store = store_new(1);
    struct deadline never;
    struct object object;
    struct due_at next;
    guest_prepare(store, &never);
    size_t before = agenda_bytes(&store->databases[0].agendas[KEY_INNER_ONLY]);
    ck_assert_uint_gt(before, 0);
    for (msec at = 5; at < 9; at++) {
        next = guest_lend(store, LIT("k"), lent(at));
        ck_assert_int_eq(next.at, at);
        ck_assert(guest_take(store, LIT("k"), &object, &next));
        ck_assert_int_eq(next.at, at);
        object_free(&object);
        ck_assert_uint_eq(agenda_bytes(&store->databases[0].agendas[KEY_INNER_ONLY]), before);
        ck_assert_uint_eq(expiry_run(store, 10, 1), 0);
    }
    store_free(store);
    ck_assert_uint_eq(mem_used(), 0);
}
END_TEST

START_TEST(policies_of_guests_are_about_members_and_not_about_keys)
{
    struct store *store = store_new(1);
    struct policies policies = { 0 };
    struct txn txn;
    struct object object;
    struct due_at next;
    msec at;
    policies_set(&policies, LIT("k*"), &(struct policy){ .ttl = 50, .member_ttl = 20 });
    guest_use_policies(store, &policies);
    txn_begin(&txn, store, 1, FROM_CLIENT);
    struct entry *entry = txn_create(&txn, LIT("k"), TYPE_SET);
    txn_set_add(&txn, entry, LIT("m"), LIFE(ADD));
    txn_commit(&txn);
    ck_assert_int_eq(store_next_due(store), 22);
    ck_assert(guest_take(store, LIT("k"), &object, &next));
    ck_assert_int_eq(next.at, 22);
    ck_assert(object_member_deadline(&object, LIT("m"), &at));
    ck_assert_int_eq(at, 21);
    object_free(&object);
    policies_drop(&policies);
    guest_use_policies(store, &policies);
    ck_assert_uint_eq(store->policies.count, 0);
    store_free(store);
    ck_assert_uint_eq(mem_used(), 0);
}
END_TEST

Suite *test_suite(void)
{
    const TTest *const tests[] = { a_prepared_store_keeps_its_memory_between_two_guests,
                                   a_value_comes_back_as_the_transaction_left_it,
                                   a_value_that_was_removed_does_not_come_back,
                                   policies_of_guests_are_about_members_and_not_about_keys,
                                   what_falls_due_in_a_lent_value_is_announced_once,
                                   NULL };
    return suite_of("guest", tests);
}
