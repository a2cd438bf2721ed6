/* hash_visits: counts the fields that expiring_each_until visits, and checks their deadlines. */
#pragma once

#include "store/type/hash.h"
#include "tests/support/suite.h"

struct until {
    const struct hash *hash;
    msec until;
    size_t seen, stop;
};

static inline bool count_until(void *ctx, struct bytes field, msec at)
{
    struct until *until = ctx;
    msec its;
    ck_assert(hash_deadline(until->hash, field, &its));
    ck_assert_int_eq(its, at);
    ck_assert_int_le(at, until->until);
    return ++until->seen < until->stop;
}

/* Visits fields with a deadline up to `at`, and stops after `stop` of them. */
static inline size_t seen_until(const struct hash *hash, msec at, size_t stop)
{
    struct until until = { hash, at, 0, stop };
    expiring_each_until(hash_expiring(hash), at, count_until, &until);
    return until.seen;
}
