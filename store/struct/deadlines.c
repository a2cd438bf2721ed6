/* deadlines: see deadlines.h. */
#include "store/struct/deadlines.h"

#include "store/base/ensure.h"
#include "store/mem/mem.h"

void deadlines_set(struct deadlines **deadlines, struct deadline *d, msec at)
{
    ensure(at != NEVER, "deadline %lld: use deadlines_cancel", (long long)at);
    if (*deadlines == NULL) {
        *deadlines = mem_alloc(sizeof(**deadlines));
        agenda_init(&(*deadlines)->agenda);
        (*deadlines)->latest = INT64_MIN;
        (*deadlines)->last = NULL;
    }
    agenda_move(&(*deadlines)->agenda, d, at);
    if (at >= (*deadlines)->latest) {
        (*deadlines)->latest = at;
        (*deadlines)->last = d;
    } else if ((*deadlines)->last == d) {
        (*deadlines)->last = NULL;
    }
}

void deadlines_cancel(struct deadlines **deadlines, struct deadline *d)
{
    if (!deadline_armed(d)) return;
    ensure(*deadlines != NULL, "slot %u is armed, but there is no agenda", d->slot);
    agenda_cancel(&(*deadlines)->agenda, d);
    if ((*deadlines)->last == d) (*deadlines)->last = NULL;
    if (agenda_count(&(*deadlines)->agenda) > 0) return;
    mem_free(*deadlines); /* an empty agenda owns no memory */
    *deadlines = NULL;
}

void deadlines_moved(struct deadlines *deadlines, struct deadline *d)
{
    if (!deadline_armed(d)) return;
    agenda_moved(&deadlines->agenda, d);
    /* `last` may point to the old copy of d. If it points to another deadline at the latest instant
     * instead, d serves as well. */
    if (agenda_at(&deadlines->agenda, d) == deadlines->latest) deadlines->last = d;
}

void deadlines_relocate(struct deadlines **deadlines, struct relocation_cursor *cursor,
                        struct relocation *relocation)
{
    if (*deadlines == NULL) {
        cursor->at = 0;
        return;
    }
    if (cursor->at == 0) *deadlines = relocation_block(relocation, *deadlines);
    agenda_relocate(&(*deadlines)->agenda, cursor, relocation);
}

msec deadlines_at(const struct deadlines *deadlines, const struct deadline *d)
{
    return deadline_armed(d) ? agenda_at(&deadlines->agenda, d) : NEVER;
}

void deadlines_hint(const struct deadlines *deadlines, const struct deadline *d)
{
    if (deadlines != NULL) agenda_hint(&deadlines->agenda, d);
}

struct deadline *deadlines_first(const struct deadlines *deadlines, msec *at)
{
    if (deadlines == NULL) return NULL;
    *at = agenda_next(&deadlines->agenda);
    return agenda_first(&deadlines->agenda);
}

size_t deadlines_count(const struct deadlines *deadlines)
{
    return deadlines == NULL ? 0 : agenda_count(&deadlines->agenda);
}

enum { COUNT_LIMIT = 256 }; /* expired deadlines to count before searching for the latest one */

static bool count_to_limit(void *count, struct deadline *d, msec at)
{
    (void)d;
    (void)at;
    return ++*(uint32_t *)count < COUNT_LIMIT;
}

static void find_latest(struct deadlines *deadlines)
{
    const struct agenda *agenda = &deadlines->agenda;
    deadlines->latest = INT64_MIN;
    for (uint32_t i = 0; i < agenda_count(agenda); i++) {
        msec at = agenda_nth_at(agenda, i);
        if (at < deadlines->latest) continue;
        deadlines->latest = at;
        deadlines->last = agenda_nth(agenda, i);
    }
}

msec deadlines_last(struct deadlines *deadlines)
{
    if (deadlines == NULL) return INT64_MIN;
    if (deadlines->last == NULL) find_latest(deadlines);
    return deadlines->latest;
}

bool deadlines_all_expired(struct deadlines *deadlines, msec now)
{
    if (deadlines == NULL || instant_expired(deadlines->latest, now)) return true;
    if (deadlines->last != NULL || now == INT64_MIN) return false;
    uint32_t count = 0;
    agenda_each_until(&deadlines->agenda, instant_last_expired(now), count_to_limit, &count);
    if (count < COUNT_LIMIT) return count == agenda_count(&deadlines->agenda);
    find_latest(deadlines);
    return instant_expired(deadlines->latest, now);
}

void deadlines_each_until(const struct deadlines *deadlines, msec until,
                          bool (*visit)(void *ctx, struct deadline *d, msec at), void *ctx)
{
    if (deadlines != NULL) agenda_each_until(&deadlines->agenda, until, visit, ctx);
}

size_t deadlines_bytes(const struct deadlines *deadlines)
{
    return deadlines == NULL ? 0 : mem_size(deadlines) + agenda_bytes(&deadlines->agenda);
}

static bool check_not_after_latest(void *latest, struct deadline *d, msec at)
{
    ensure(at <= *(const msec *)latest, "slot %u at %lld is after the latest, %lld", d->slot,
           (long long)at, (long long)*(const msec *)latest);
    return true;
}

void deadlines_check(const struct deadlines *deadlines)
{
    if (deadlines == NULL) return;
    ensure(agenda_count(&deadlines->agenda) > 0, "%zu bytes, but no deadline",
           deadlines_bytes(deadlines));
    agenda_check(&deadlines->agenda);
    msec latest = deadlines->latest;
    if (deadlines->last != NULL)
        ensure(agenda_at(&deadlines->agenda, deadlines->last) == latest,
               "slot %u is not at the latest deadline", deadlines->last->slot);
    agenda_each_until(&deadlines->agenda, NEVER, check_not_after_latest, &latest);
}

bool deadlines_free_some(struct deadlines **deadlines, size_t *work)
{
    if (*deadlines == NULL) return true;
    (*deadlines)->last = NULL;
    if (!agenda_drop_some(&(*deadlines)->agenda, work)) return false;
    mem_free(*deadlines);
    *deadlines = NULL;
    return true;
}
