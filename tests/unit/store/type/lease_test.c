/* lease: holders by owner and by token, permits, and the index of many holders. */
#include "store/type/lease.h"

#include <stdio.h>

#include "store/mem/mem.h"
#include "tests/support/rng.h"
#include "tests/support/suite.h"

static bool put(struct lease *lease, const char *owner, int64_t token, msec end, uint32_t permits)
{
    struct holder holder = { bytes_of(owner, strlen(owner)), token, end };
    if (!lease_fits(lease, &holder, permits)) return false;
    lease_put(lease, &holder, permits);
    lease_check(lease);
    return true;
}

START_TEST(a_holder_is_found_by_owner_and_by_token)
{
    struct lease *lease = lease_new();
    struct holder holder;
    ck_assert_uint_eq(lease_permits(lease), 0);
    ck_assert(put(lease, "a", 7, 100, 2));
    ck_assert(put(lease, "", 8, 200, 2));
    ck_assert(lease_find_owner(lease, LIT("a"), &holder));
    ck_assert(holder.token == 7 && holder.end == 100);
    ck_assert(lease_find_token(lease, 8, &holder));
    ck_assert(holder.owner.len == 0 && holder.end == 200);
    ck_assert(!lease_find_token(lease, 9, &holder));
    ck_assert(!lease_find_owner(lease, LIT("b"), &holder));
    lease_free(lease);
}
END_TEST

START_TEST(only_as_many_holders_fit_as_permits)
{
    struct lease *lease = lease_new();
    ck_assert(put(lease, "a", 1, 10, 2));
    ck_assert(put(lease, "b", 2, 10, 2));
    ck_assert(!put(lease, "c", 3, 10, 2));
    ck_assert(!put(lease, "c", 3, 10, 3));
    ck_assert(!put(lease, "b", 1, 10, 2)); /* the token of another holder */
    ck_assert(put(lease, "b", 5, 20, 2));
    ck_assert(lease_remove(lease, LIT("a")));
    ck_assert(!lease_remove(lease, LIT("a")));
    ck_assert(put(lease, "c", 3, 10, 2));
    ck_assert_uint_eq(lease_count(lease), 2);
    lease_free(lease);
}
END_TEST

START_TEST(an_owner_found_by_token_can_be_removed)
{
    struct lease *lease = lease_new();
    char owner[16];
    for (int i = 0; i < 100; i++) {
        snprintf(owner, sizeof(owner), "o%d", i);
        ck_assert(put(lease, owner, i + 1, i, 100));
    }
    struct holder holder;
    for (int64_t token = 100; token > 0; token--) {
        ck_assert(lease_find_token(lease, token, &holder));
        ck_assert(lease_remove(lease, holder.owner));
        lease_check(lease);
    }
    ck_assert_uint_eq(lease_count(lease), 0);
    lease_free(lease);
}
END_TEST

START_TEST(memory_is_counted_and_comes_back)
{
    size_t before = mem_used();
    struct lease *lease = lease_new();
    char owner[100];
    for (int i = 0; i < 1000; i++) {
        snprintf(owner, sizeof(owner), "an owner with a name of more than some bytes %d", i);
        put(lease, owner, i + 1, i, 1000);
    }
    ck_assert_uint_eq(lease_bytes(lease), mem_used() - before);
    size_t work = 10, slices = 1;
    while (!lease_free_some(lease, &work)) {
        work = 10;
        slices++;
    }
    ck_assert_uint_gt(slices, 50);
    ck_assert_uint_eq(mem_used(), before);
}
END_TEST

START_TEST(a_long_owner_is_found_beside_short_ones)
{
    char owner[66] = { 0 };
    struct lease *lease = lease_new();
    struct holder holder;
    msec at;
    memset(owner, 'x', 65);
    ck_assert(put(lease, "a", 1, 10, 3));
    ck_assert(lease_expire(lease, LIT("a"), 30) && !lease_expire(lease, LIT("b"), 30));
    ck_assert(put(lease, owner, 2, 20, 3));
    lease_check(lease);
    ck_assert(lease_find_token(lease, 1, &holder));
    ck_assert(bytes_equal(holder.owner, LIT("a")) && holder.end == 30);
    ck_assert(lease_find_token(lease, 2, &holder) && holder.owner.len == 65);
    ck_assert(lease_expire(lease, holder.owner, 40));
    ck_assert(lease_deadline(lease, bytes_of(owner, 65), &at) && at == 40);
    ck_assert(put(lease, "a", 3, 50, 3) && !lease_find_token(lease, 1, &holder));
    lease_free(lease);
}
END_TEST

START_TEST(random_changes_agree_with_a_list)
{
    enum { OWNERS = 40, STEPS = 4000, PERMITS = 30 };
    int64_t tokens[OWNERS] = { 0 };
    size_t count = 0;
    struct rng rng;
    rng_init(&rng, test_seed());
    struct lease *lease = lease_new();
    for (int64_t step = 1; step <= STEPS; step++) {
        size_t i = rng_below(&rng, OWNERS);
        char name[8];
        struct bytes owner = bytes_of(name, (size_t)snprintf(name, sizeof(name), "o%zu", i));
        if (rng_chance(&rng, 45)) {
            ck_assert_int_eq(lease_remove(lease, owner), tokens[i] != 0);
            count -= tokens[i] != 0;
            tokens[i] = 0;
        } else {
            struct holder holder = { owner, step, step + 5 };
            bool fits = tokens[i] != 0 || count < PERMITS;
            ck_assert_int_eq(lease_fits(lease, &holder, PERMITS), fits);
            if (!fits) continue;
            count += tokens[i] == 0;
            tokens[i] = step;
            lease_put(lease, &holder, PERMITS);
        }
        ck_assert_uint_eq(lease_count(lease), count);
        lease_check(lease);
    }
    lease_free(lease);
}
END_TEST

Suite *test_suite(void)
{
    const TTest *const tests[] = {
        a_holder_is_found_by_owner_and_by_token,
        only_as_many_holders_fit_as_permits,
        an_owner_found_by_token_can_be_removed,
        memory_is_counted_and_comes_back,
        a_long_owner_is_found_beside_short_ones,
        random_changes_agree_with_a_list,
        NULL,
    };
    return suite_of("lease", tests);
}
