/* rewind: see rewind.h. */
#include "store/rewind.h"

#include "store/keyspace.h"
#include "store/type/type_row.h"

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

void rewind_init(struct rewind *rewind, struct keyspace *databases, unsigned count)
{
    *rewind = (struct rewind){ .databases = databases, .database_count = count };
}

bool rewind_run(struct rewind *rewind, msec now, unsigned budget)
{
    if (now < rewind->announced) {
        msec since = rewind->running && rewind->since < now ? rewind->since : now;
        rewind->announced = now;
        rewind->since = since;
        rewind->running = true;
        rewind_swapped(rewind);
    }
    for (; rewind->running && budget > 0; budget--) {
        struct visit visit = { rewind, &rewind->databases[rewind->db] };
        rewind->cursor = keyspace_scan(visit.ks, rewind->cursor, rewind_value, &visit);
        if (rewind->cursor == 0 && ++rewind->db == rewind->database_count) rewind->running = false;
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
