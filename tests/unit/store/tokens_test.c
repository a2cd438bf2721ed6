/* tokens: the counter of fencing tokens grows over starts, promotions and lost records, and is part
 * of the data set. */
#include "store/tokens.h"

#include "store/txn/apply.h"
#include "store/txn/txn_token.h"
#include "store/walk.h"
#include "tests/support/suite.h"
#include "tests/support/world.h"

static struct world world;

static int64_t grant(void)
{
    struct txn *txn = world_begin(&world);
    ck_assert(txn_token_reserve(txn, 1));
    int64_t token = txn_token_next(txn);
    world_commit(&world);
    return token;
}

START_TEST(each_token_is_one_larger_than_the_last)
{
    world_init(&world);
    int64_t first = grant();
    ck_assert_int_eq(first, world.now * TOKENS_PER_MSEC + 1);
    ck_assert_int_eq(grant(), first + 1);
    ck_assert_int_eq(grant(), first + 2);
    world_drop(&world);
}
END_TEST

START_TEST(the_first_grant_leaps_and_records_it)
{
    world_init(&world);
    grant();
    grant();
    ck_assert_uint_eq(world.effect_count, 1);
    ck_assert_int_eq(world.effects[0].effect.kind, EFFECT_TOKEN);
    ck_assert_int_eq(world.effects[0].effect.from, world.now * TOKENS_PER_MSEC);
    ck_assert(!effect_is_seen(&world.effects[0].effect));
    world_drop(&world);
}
END_TEST

START_TEST(a_start_with_lost_records_grants_larger_tokens)
{
    world_init(&world);
    int64_t kept = grant(), lost = grant();
    struct store *loaded = store_new(16);
    tokens_raise(&loaded->tokens, kept);
    store_replace(world.store, loaded);
    world.now += 1;
    ck_assert_int_gt(grant(), lost);
    store_replace(world.store, store_new(16)); /* all is lost */
    world.now += 1;
    ck_assert_int_eq(grant(), world.now * TOKENS_PER_MSEC + 1);
    world_drop(&world);
}
END_TEST

START_TEST(a_clock_that_was_set_back_is_not_relied_on)
{
    world_init(&world);
    int64_t last = grant();
    tokens_distrust(&world.store->tokens);
    world.now -= 500 * 1000;
    ck_assert_int_eq(grant(), last + TOKEN_DISTANCE + 1);
    world_drop(&world);
}
END_TEST

START_TEST(a_promotion_that_did_not_see_another_grants_larger_tokens)
{
    world_init(&world);
    struct tokens seen = { .last = grant() }, other = seen;
    tokens_distrust(&seen);
    tokens_distrust(&other);
    ck_assert(tokens_leap(&seen, world.now + 1));
    ck_assert(tokens_leap(&other, world.now + 2));
    ck_assert_int_eq(other.last - seen.last, TOKENS_PER_MSEC);
    world_drop(&world);
}
END_TEST

START_TEST(a_clock_centuries_ahead_does_not_use_up_the_tokens)
{
    world_init(&world);
    world.now = INSTANT_MAX;
    ck_assert_int_eq(grant(), TOKEN_DISTANCE + 1);
    world_drop(&world);
}
END_TEST

START_TEST(tokens_end_below_two_to_the_53)
{
    world_init(&world);
    grant();
    tokens_raise(&world.store->tokens, TOKEN_MAX - 2);
    ck_assert(!txn_token_reserve(world_begin(&world), 3));
    ck_assert_int_eq(txn_token_next(&world.txn), TOKEN_MAX - 1);
    ck_assert_int_eq(txn_token_next(&world.txn), TOKEN_MAX);
    ck_assert(!txn_token_reserve(&world.txn, 1));
    world_commit(&world);
    tokens_distrust(&world.store->tokens);
    ck_assert(!txn_token_reserve(world_begin(&world), 1));
    world_commit(&world);
    ck_assert_int_eq(world.store->tokens.last, TOKEN_MAX);
    world_drop(&world);
}
END_TEST

START_TEST(flushing_all_databases_keeps_the_counter)
{
    world_init(&world);
    int64_t token = grant();
    txn_flush_all(world_begin(&world));
    world_commit(&world);
    ck_assert_int_eq(grant(), token + 1);
    world_drop(&world);
}
END_TEST

static void apply_to_store(void *ctx, const struct effect *effect)
{
    struct txn *txn = ctx;
    ck_assert(apply_effect(txn, effect));
}

static bool key_done(void *ctx)
{
    (void)ctx;
    return true;
}

START_TEST(journal_and_snapshot_have_the_counter)
{
    world_init(&world);
    grant();
    struct store *replayed = world_replay(&world), *snapshot = store_new(16);
    struct txn txn;
    txn_begin(&txn, snapshot, world.now, FROM_REPLAY);
    walk_store(replayed, &(struct store_visitor){ apply_to_store, key_done, &txn, NULL, false });
    txn_commit(&txn);
    ck_assert_int_eq(replayed->tokens.last, world.now * TOKENS_PER_MSEC);
    ck_assert_int_eq(snapshot->tokens.last, world.now * TOKENS_PER_MSEC);
    struct digest a = store_digest(replayed, 0), b = store_digest(snapshot, 0);
    ck_assert(a.high == b.high && a.low == b.low && a.high != 0);
    store_free(replayed);
    store_free(snapshot);
    world_drop(&world);
}
END_TEST

START_TEST(a_recorded_token_never_lowers_the_counter)
{
    world_init(&world);
    struct effect effect = { .kind = EFFECT_TOKEN, .from = TOKEN_MAX };
    struct txn txn;
    txn_begin(&txn, world.store, world.now, FROM_REPLAY);
    ck_assert(apply_effect(&txn, &effect));
    effect.from = 5;
    ck_assert(apply_effect(&txn, &effect));
    ck_assert_int_eq(world.store->tokens.last, TOKEN_MAX);
    effect.from = TOKEN_MAX + 1;
    ck_assert(!apply_effect(&txn, &effect));
    effect.from = 0;
    ck_assert(!apply_effect(&txn, &effect));
    txn_commit(&txn);
    world_drop(&world);
}
END_TEST

Suite *test_suite(void)
{
    const TTest *const tests[] = {
        each_token_is_one_larger_than_the_last,
        the_first_grant_leaps_and_records_it,
        a_start_with_lost_records_grants_larger_tokens,
        a_clock_that_was_set_back_is_not_relied_on,
        a_promotion_that_did_not_see_another_grants_larger_tokens,
        a_clock_centuries_ahead_does_not_use_up_the_tokens,
        tokens_end_below_two_to_the_53,
        flushing_all_databases_keeps_the_counter,
        journal_and_snapshot_have_the_counter,
        a_recorded_token_never_lowers_the_counter,
        NULL,
    };
    return suite_of("tokens", tests);
}
