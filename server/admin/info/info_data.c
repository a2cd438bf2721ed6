/* info_data: INFO's sections about data and their deadlines: Expired, Expiry, Keyspace. */
#include "server/admin/info/report.h"

#include <inttypes.h>

#include "server/replica/replication.h"
#include "store/sweep/outlook.h"

void info_expired(struct report *report)
{
    const struct store *store = report->context->engine->store;
    const struct replication *replication = report->context->replication;
    msec next = store_next_due(store);
    size_t copied = 0; /* copied by the kernel while the last full copy for replicas was written */
    if (replication != NULL)
        copied = replicas_report(replication_replicas(replication)).copied_memory;
    const struct info_row rows[] = {
        NUMBER("next_due_msec", next == NEVER ? (msec)-1 : next),
        COUNT("reclaim_pending", reclaim_pending(&store->reclaim)),
        COUNT("replica_copy_cow_size", copied),
    };
    REPORT_ROWS(report, rows);
}

void info_expiry(struct report *report)
{
    const struct store *store = report->context->engine->store;
    struct overdue overdue = { 0 };
    size_t with_deadline = 0;
    for (unsigned db = 0; db < store->database_count; db++) {
        const struct keyspace *ks = store_database(store, db);
        outlook_overdue(ks, report->now, OVERDUE_MOST, &overdue);
        with_deadline += keyspace_count_expiring(ks);
    }
    msec next = store_next_due(store);
    if (next != NEVER) next = next > report->now ? next - report->now : 0;
    const struct info_row rows[] = {
        COUNT("expired_keys", store->stats.expired_keys),
        COUNT("expired_members", store->stats.expired_members),
        COUNT("keys_with_deadlines", with_deadline), /* of the key, or in its value */
        COUNT("overdue_keys", overdue.keys),
        COUNT("overdue_members", overdue.members),
        NUMBER("next_due_in_msec", next == NEVER ? (msec)-1 : next),
    };
    REPORT_ROWS(report, rows);
    const struct histogram *lag = &store->stats.lag;
    const struct stopwatch *pacing = &report->context->engine->stats->pacing;
    report_line(report,
                "lag_msec:p50=%" PRId64 ",p90=%" PRId64 ",p99=%" PRId64 ",p99.9=%" PRId64
                ",max=%" PRId64,
                histogram_percentile(lag, 50), histogram_percentile(lag, 90),
                histogram_percentile(lag, 99), histogram_percentile(lag, 99.9), lag->max);
    const struct info_row more[] = {
        COUNT("lag_count", store->stats.lag.total),
        NUMBER("paced_msec", stopwatch_total(pacing, report->mono_usec) / USEC_PER_MSEC),
        COUNT("policies", store->policies.count),
        COUNT("policies_pending", store->policies.pending),
        COUNT("expired_log_errors", store->stats.expired_log_errors),
        COUNT("dead_letter_errors", store->stats.dead_letter_errors),
    };
    REPORT_ROWS(report, more);
}

/* The section Keyspace. While data is being loaded nothing expires, so expired keys count too. */
void info_keyspace(struct report *report)
{
    enum { DRAWN = 16 };
    struct store *store = report->context->engine->store;
    msec now = report->persist.loading ? INT64_MIN : report->now;
    for (unsigned db = 0; db < store->database_count; db++) {
        const struct keyspace *ks = store_database(store, db);
        size_t keys = keyspace_count_alive(ks, now);
        if (keys == 0) continue;
        /* The mean of a random sample; Redis' value is an estimate, too. */
        msec mean = 0;
        for (int i = 0; i < DRAWN; i++) {
            const struct entry *entry = keyspace_random_volatile(ks, random_next, &store->random);
            if (entry == NULL) break; /* no key has a deadline */
            msec at = entry_expires_at(ks, entry);
            if (at > report->now) mean += (at - report->now) / DRAWN;
        }
        report_line(report, "db%u:keys=%zu,expires=%zu,avg_ttl=%" PRId64, db, keys,
                    keyspace_count_volatile_alive(ks, now), mean);
    }
}
