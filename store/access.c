/* access: see access.h. */
#include "store/access.h"

enum {
    COUNTER_BITS = 8,
    COUNTER_MAX = 255,
    COUNTER_START = 5, /* above 0, so that a new key is not evicted first */
    MINUTE = 60 * 1000,
    MINUTES_MASK = (1 << 24) - 1,
};

static uint32_t minutes_of(msec now)
{
    return (uint32_t)(now / MINUTE) & MINUTES_MASK;
}

static uint32_t counter_at(msec now, unsigned counter)
{
    return minutes_of(now) << COUNTER_BITS | counter;
}

unsigned access_frequency(const struct store *store, const struct entry *entry, msec now)
{
    unsigned counter = entry->accessed & COUNTER_MAX;
    uint32_t passed = (minutes_of(now) - (entry->accessed >> COUNTER_BITS)) & MINUTES_MASK;
    if (store->access_decay_minutes == 0) return counter;
    passed /= store->access_decay_minutes;
    return passed < counter ? counter - passed : 0;
}

void access_begin(const struct store *store, struct entry *entry, msec now)
{
    entry->accessed =
        store->counts_access ? counter_at(now, COUNTER_START) : (uint32_t)(now / 1000);
}

void access_note(struct store *store, struct entry *entry, msec now)
{
    if (!store->counts_access) {
        entry->accessed = (uint32_t)(now / 1000);
        return;
    }
    unsigned counter = access_frequency(store, entry, now);
    /* As in Redis, the counter rises with the probability
     *
     *     1 / ((counter - COUNTER_START) * access_log_factor + 1) */
    unsigned above = counter > COUNTER_START ? counter - COUNTER_START : 0;
    bool rises =
        counter < COUNTER_MAX &&
        random_next(&store->random) % ((uint64_t)above * store->access_log_factor + 1) == 0;
    entry->accessed = counter_at(now, counter + rises);
}

void access_set(const struct store *store, struct entry *entry, msec now, int64_t idle_seconds,
                int frequency)
{
    if (store->counts_access && frequency >= 0) {
        entry->accessed = counter_at(now, (unsigned)frequency);
    } else if (!store->counts_access && idle_seconds >= 0) {
        int64_t seconds = now / 1000;
        entry->accessed = idle_seconds < seconds ? (uint32_t)(seconds - idle_seconds) : 0;
    }
}

int64_t access_idle_seconds(const struct entry *entry, msec now)
{
    int64_t idle = now / 1000 - entry->accessed;
    return idle > 0 ? idle : 0; /* the clock may have been set back */
}
