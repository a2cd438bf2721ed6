/* dehydrator_steps: shared by the tests of the dehydrators' commands: short names for common
 * replies, and the end of a test. */
#pragma once

#include "tests/support/lines.h"
#include "tests/support/suite.h"

#define OK   "+OK|"
#define NIL  "$-1|"
#define NONE "*0|"

/* Ends a test: a replay of its effects must give the same data. They are compared at the time of
 * the test, because at the time 0, which end() uses, nothing has expired yet. */
static void finish(void)
{
    struct store *copy = world_replay(&world.world);
    struct digest live = store_digest(world.world.store, world.world.now);
    struct digest replayed = store_digest(copy, world.world.now);
    ck_assert_uint_eq(live.high, replayed.high);
    ck_assert_uint_eq(live.low, replayed.low);
    store_free(copy);
    store_check(world.world.store);
    server_world_drop(&world);
}
