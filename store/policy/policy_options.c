/* policy_options: computes deadlines, delays and rates from the options of a policy (policy.h). */
#include "store/policy/policy_rows.h"

bool policy_name_ok(struct bytes name)
{
    if (name.len == 0 || name.len > POLICY_NAME_MAX) return false;
    const char *star = memchr(name.data, '*', name.len);
    return star == NULL || star == name.data + name.len - 1;
}

bool policy_changes_keys(const struct policy *policy, const struct policy *old)
{
    static const struct policy none = { .ttl = 0 };
    if (old == NULL) old = &none;
    for (unsigned option = 0; option < POLICY_OPTIONS; option++) {
        const struct policy_part *first = &policy_rows[option].parts[0];
        if (policy_rows[option].changes_keys && policy_has(policy, option) &&
            policy_number(policy, first) != policy_number(old, first))
            return true;
    }
    return false;
}

/* ---- deadlines ------------------------------------------------------------------------------- */

static uint64_t reach_of(msec span, unsigned percent)
{
    return (uint64_t)(span / 100 * percent + span % 100 * percent / 100);
}

msec policy_spread(const struct policy *policy, msec span, msec now, struct random *random)
{
    uint64_t reach = reach_of(span, policy->jitter);
    if (reach == 0) return instant_moved(now, span);
    uint64_t lot = random_next(random) % (2 * reach + 1);
    msec least = instant_moved(now, span - (msec)reach), at;
    if (__builtin_add_overflow(least, (msec)lot, &at) || at > INSTANT_MAX) return INSTANT_MAX;
    return !instant_past(at, now) || at == INSTANT_MAX ? at : instant_next(now);
}

msec policy_ttl_deadline(const struct policy *policy, const struct policy_use *use,
                         struct random *random)
{
    if (policy->ttl == 0 || use->expiry_set) return use->at;
    if (use->created ? use->at != NEVER : use->at == NEVER || !use->refreshed) return use->at;
    msec anew = policy_spread(policy, policy->ttl, use->now, random);
    return use->created || anew > use->at ? anew : use->at;
}

msec policy_limit(const struct policy *policy, msec at, msec now)
{
    if (policy->max_ttl == 0) return at;
    msec latest = instant_moved(now, policy->max_ttl);
    return at > latest ? latest : at;
}

msec policy_backoff(const struct policy *policy, uint64_t failures, struct random *random)
{
    msec delay = policy->backoff, most = policy->backoff_max;
    if (failures == 0 || delay == 0) return 0;
    for (; failures > 1 && delay < most; failures--)
        delay = delay > most / 2 ? most : 2 * delay;
    uint64_t reach = reach_of(delay, policy->backoff_jitter);
    if (reach > 0) delay += (msec)(random_next(random) % (2 * reach + 1)) - (msec)reach;
    return delay < most ? delay : most;
}

/* ---- rates ----------------------------------------------------------------------------------- */

static int64_t usec_between(const struct policy *policy)
{
    int64_t span = policy->rate_span * USEC_PER_MSEC, rate = (int64_t)policy->rate;
    return (span + rate - 1) / rate;
}

uint64_t policy_rate_allows(const struct policy *policy, int64_t *next, msec now)
{
    int64_t begin, end, between = usec_between(policy);
    if (__builtin_mul_overflow(now, USEC_PER_MSEC, &begin) ||
        __builtin_add_overflow(begin, USEC_PER_MSEC, &end) || end > INT64_MAX - between)
        return 0;
    if (*next < begin || *next > end + between) *next = begin;
    return *next >= end ? 0 : (uint64_t)((end - *next + between - 1) / between);
}

int64_t policy_rate_after(const struct policy *policy, int64_t next, uint64_t deliveries)
{
    return next + (int64_t)deliveries * usec_between(policy);
}
