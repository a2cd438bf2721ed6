/* dehydrator_args: see dehydrator_args.h. */
#include "server/cmd/dehydrator/dehydrator_args.h"

#include "store/base/number.h"

static bool refuse(struct call *call, const char *name)
{
    return failf(call, ERR_BAD_MSEC, name);
}

static bool arg_msec(const struct call *call, int i, msec *value)
{
    return number_parse_int64(call->argv[i].data, call->argv[i].len, value);
}

bool arg_from_now(struct call *call, int i, const char *name, msec *at)
{
    msec ttl;
    if (!arg_msec(call, i, &ttl)) return refuse(call, name);
    if (ttl < 0) ttl = 0;
    return instant_after(call->txn->now, ttl, at) || refuse(call, name);
}

bool arg_lease(struct call *call, int i, msec *at)
{
    msec lease;
    if (!arg_msec(call, i, &lease) || lease < 1) return refuse(call, "lease");
    return instant_after(call->txn->now, lease, at) || refuse(call, "lease");
}

bool arg_prefix(struct call *call, int i, struct bytes *prefix)
{
    struct bytes name = call->argv[i];
    if (!fair_prefix_ok(name)) return fail(call, ERR_PREFIX);
    *prefix = bytes_of(name.data, name.len - 1);
    return true;
}

bool arg_instant(struct call *call, int i, msec *at)
{
    if (arg_msec(call, i, at) && *at >= 0 && *at <= INSTANT_MAX) return true;
    return refuse(call, "unix-ms");
}

struct element *find_element(const struct entry *entry, struct bytes id)
{
    return entry == NULL ? NULL : dehydrator_find(entry->object.dehydrator, id);
}

size_t count_due(const struct call *call, const struct entry *entry, int64_t limit)
{
    if (entry == NULL || dehydrator_paused(entry->object.dehydrator, call->txn->now) != 0) return 0;
    size_t due = dehydrator_count_due(entry->object.dehydrator, call->txn->now);
    return (uint64_t)limit < due ? (size_t)limit : due;
}

const struct policy *find_backoff(const struct call *call, struct bytes key)
{
    const struct policy *policy = policies_with(&call->txn->store->policies, key, POLICY_BACKOFF);
    return policy != NULL && policy->backoff > 0 ? policy : NULL;
}

msec claimed_until(struct call *call, const struct policy *backoff, msec lease_end,
                   uint32_t deliveries)
{
    if (backoff == NULL) return lease_end;
    msec delay = policy_backoff(backoff, deliveries, &call->txn->store->random);
    return instant_moved(lease_end, delay);
}

bool is_full(const struct call *call, const struct entry *entry, size_t added)
{
    const struct policy *policy =
        policies_with(&call->txn->store->policies, call->argv[1], POLICY_MAXLEN);
    size_t count = entry == NULL ? 0 : dehydrator_count(entry->object.dehydrator);
    /* There may be more already, if the limit is new. */
    return added > 0 && policy != NULL && policy->max_len > 0 && count + added > policy->max_len;
}

const struct schedule *find_schedule(struct call *call, struct bytes text, struct bytes zone,
                                     msec after, msec *at)
{
    char fault[CALENDAR_FAULT_MAX];
    const struct schedule *schedule = calendar_find(call->txn->store->calendar, text, zone, fault);
    if (schedule == NULL) {
        failf(call, ERR_CRON, fault);
        return NULL;
    }
    *at = calendar_next(schedule, after);
    if (*at != NEVER) return schedule;
    fail(call, ERR_CRON_NEVER);
    return NULL;
}
