/* expired_log_watch: see expired_log_watch.h. */
#include "server/engine/expired_log_watch.h"

#include <inttypes.h>

#include "server/base/log.h"
#include "store/txn/txn.h"

enum {
    PERIOD_SECONDS = 60,
    NAMED_MAX = 10, /* keys per report */
    SHOWN_MAX = 128 /* bytes of a key */
};

struct naming {
    const struct store *store;
    unsigned named;
};

static void name_targets(void *ctx, struct bytes name, const struct policy *policy)
{
    struct naming *naming = ctx;
    if (policy->expired_to.len == 0) return;
    struct bytes target = policy->expired_to;
    for (unsigned db = 0; db < naming->store->database_count; db++) {
        const struct entry *entry = keyspace_find(store_database(naming->store, db), target);
        if (entry == NULL || naming->named == NAMED_MAX) continue;
        if (expiry_type_is_target(entry->object.type)) continue;
        naming->named++;
        log_line(LOG_WARNING,
                 "Policy '%.*s' can't log expired keys: key '%.*s' in database %u is a %s. Rename "
                 "it, or use POLICY SET with another key after EXPIRED TO",
                 (int)(name.len < SHOWN_MAX ? name.len : SHOWN_MAX), name.data,
                 (int)(target.len < SHOWN_MAX ? target.len : SHOWN_MAX), target.data, db,
                 type_name(entry->object.type));
    }
}

void expired_log_watch_second(struct expired_log_watch *watch, const struct store *store)
{
    uint64_t errors = store->stats.expired_log_errors;
    if (watch->seconds > 0) watch->seconds--;
    if (errors < watch->seen) watch->seen = 0; /* after CONFIG RESETSTAT */
    if (errors == watch->seen || watch->seconds > 0) return;
    log_line(LOG_WARNING, "%" PRIu64 " expired keys or members could not be logged",
             errors - watch->seen);
    struct naming naming = { .store = store };
    policies_each(&store->policies, name_targets, &naming);
    watch->seen = errors;
    watch->seconds = PERIOD_SECONDS;
}
