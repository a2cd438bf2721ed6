/* delivery: see delivery.h. */
#include "store/delivery.h"

/* Returns how many deliveries RATE allows now; UINT64_MAX if the key has no RATE. If it has one,
 * sets *next to the earliest microsecond of the next delivery. */
static uint64_t rate_allows(const struct policies *policies, const struct entry *entry, msec now,
                            int64_t *next)
{
    const struct policy *policy = policies_with(policies, entry_key(entry), POLICY_RATE);
    const struct extras *extras = dehydrator_extras(entry->object.dehydrator);
    *next = extras == NULL ? 0 : extras_next_usec(extras);
    bool has_rate = policy != NULL && policy->rate > 0;
    return has_rate ? policy_rate_allows(policy, next, now) : UINT64_MAX;
}

uint64_t delivery_claims_left(const struct policies *policies, const struct entry *entry, msec now)
{
    if (entry == NULL) return UINT64_MAX;
    const struct policy *policy = policies_with(policies, entry_key(entry), POLICY_CLAIMED);
    if (policy == NULL || policy->max_claimed == 0) return UINT64_MAX;
    uint64_t claimed = dehydrator_count_claimed(entry->object.dehydrator, now);
    return claimed < policy->max_claimed ? policy->max_claimed - claimed : 0;
}

size_t delivery_count(const struct policies *policies, const struct entry *entry, msec now,
                      int64_t limit, bool claims)
{
    int64_t next;
    if (entry == NULL || dehydrator_paused(entry->object.dehydrator, now) != 0) return 0;
    const struct dehydrator *dehydrator = entry->object.dehydrator;
    /* Counting takes a search, and most calls want one element. */
    uint64_t count = limit == 1 ? instant_due(dehydrator_next(dehydrator), now)
                                : dehydrator_count_due(dehydrator, now);
    if ((uint64_t)limit < count) count = (uint64_t)limit;
    uint64_t allowed = count == 0 ? 0 : rate_allows(policies, entry, now, &next);
    if (allowed < count) count = allowed;
    uint64_t left = count == 0 || !claims ? count : delivery_claims_left(policies, entry, now);
    return (size_t)(left < count ? left : count);
}

msec delivery_next_at(const struct policies *policies, const struct entry *entry, msec now,
                      bool claims)
{
    if (entry == NULL) return NEVER;
    const struct dehydrator *dehydrator = entry->object.dehydrator;
    msec at = dehydrator_next(dehydrator), paused = dehydrator_paused(dehydrator, now);
    if (at == NEVER) return NEVER;
    if (paused > at) at = paused;
    int64_t next;
    bool waits = rate_allows(policies, entry, now, &next) == 0;
    if (waits && next / USEC_PER_MSEC > at) at = next / USEC_PER_MSEC;
    if (claims && delivery_claims_left(policies, entry, now) == 0) {
        msec end = dehydrator_next_lease_end(dehydrator, now);
        if (end > at) at = end;
    }
    return at;
}

bool delivery_rate_after(const struct policies *policies, const struct entry *entry, msec now,
                         size_t count, int64_t *next)
{
    const struct policy *policy = policies_with(policies, entry_key(entry), POLICY_RATE);
    if (policy == NULL || policy->rate == 0) return false;
    rate_allows(policies, entry, now, next);
    *next = policy_rate_after(policy, *next, count);
    return true;
}
