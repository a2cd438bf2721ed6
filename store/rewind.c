/* rewind: see rewind.h. */
#include "store/rewind.h"

#include "store/store.h"

struct visit {
    const struct rewind *rewind;
    struct keyspace *ks;
};

/* Makes the value announce again its elements that are later than the instant to which the clock
 * was set back. An element that was announced after the walk began may be announced twice. */
static void rewind_value(void *ctx, struct entry *entry)
{
    const struct visit *visit = ctx;
    const struct type_row *row = &type_rows[entry->object.type];
    if (row->rewind != NULL && row->rewind(&entry->object, visit->rewind->since))
        keyspace_rearm(visit->ks, entry);
}

bool rewind_run(struct store *store, msec now, unsigned budget)
{
    struct rewind *rewind = &store->rewind;
    if (now < rewind->announced) {
        msec since = rewind->running && rewind->since < now ? rewind->since : now;
        *rewind = (struct rewind){ .announced = now, .since = since, .running = true };
    }
    for (; rewind->running && budget > 0; budget--) {
        struct visit visit = { rewind, &store->databases[rewind->db] };
        rewind->cursor = keyspace_scan(visit.ks, rewind->cursor, rewind_value, &visit);
        if (rewind->cursor == 0 && ++rewind->db == store->database_count) rewind->running = false;
    }
    return rewind->running;
}

void rewind_swapped(struct rewind *rewind)
{
    rewind->db = 0;
    rewind->cursor = 0;
}

void rewind_entry(const struct rewind *rewind, struct keyspace *ks, struct entry *entry)
{
    struct visit visit = { rewind, ks };
    if (rewind->running) rewind_value(&visit, entry);
}
