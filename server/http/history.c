/* history: see history.h. */
#include "server/http/history.h"

#include "store/mem/mem.h"

static size_t slot_of_second(uint64_t second)
{
    return second % HISTORY_SECONDS;
}

void history_note(struct history *history, const struct stats *stats, const struct store *store)
{
    uint64_t second = history->count++;
    size_t at = slot_of_second(second);
    bool reset = stats->errors < history->errors_seen || second == 0;
    history->commands[at] = stats->commands_per_sec;
    history->errors[at] = reset ? 0 : (double)(stats->errors - history->errors_seen);
    history->memory[at] = (double)mem_used();
    history->errors_seen = stats->errors;
    if (second % HISTORY_LAG_SECONDS == 0)
        history->lags[second / HISTORY_LAG_SECONDS % HISTORY_LAGS] = store->stats.lag;
}

size_t history_length(const struct history *history)
{
    return history->count < HISTORY_SECONDS ? (size_t)history->count : HISTORY_SECONDS;
}

size_t history_slot(const struct history *history, size_t index)
{
    return slot_of_second(history->count - history_length(history) + index);
}

void history_minute(const struct history *history, const struct histogram *now,
                    struct histogram *minute)
{
    static const struct histogram none;
    uint64_t kept = (history->count + HISTORY_LAG_SECONDS - 1) / HISTORY_LAG_SECONDS;
    uint64_t oldest = kept < HISTORY_LAGS ? 0 : kept % HISTORY_LAGS;
    *minute = histogram_since(now, kept > 0 ? &history->lags[oldest] : &none);
}
