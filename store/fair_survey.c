/* fair_survey: see fair_survey.h. */
#include "store/fair_survey.h"

#include "store/delivery.h"

struct visit {
    struct fair_figures *figures;
    const struct keyspace *ks;
    const struct policies *policies;
    struct bytes prefix;
    msec now;
};

static void count_key(void *ctx, struct entry *entry)
{
    const struct visit *visit = ctx;
    struct fair_figures *figures = visit->figures;
    msec now = visit->now;
    if (!bytes_begin_with(entry_key(entry), visit->prefix) || entry_expired(visit->ks, entry, now))
        return;
    if (entry->object.type != TYPE_DEHYDRATOR) {
        figures->other_types++;
        return;
    }
    const struct dehydrator *dehydrator = entry->object.dehydrator;
    msec first = dehydrator_next(dehydrator);
    figures->keys++;
    figures->due += instant_due(delivery_next_at(visit->policies, entry, now, true), now);
    figures->due_elements += dehydrator_count_due(dehydrator, now);
    figures->claimed += dehydrator_count_claimed(dehydrator, now);
    if (instant_due(first, now) && first < figures->oldest) figures->oldest = first;
}

void fair_survey_begin(struct fair_survey *survey, bool again)
{
    if (survey->state == SURVEY_RUNNING || (survey->state == SURVEY_DONE && again)) return;
    *survey = (struct fair_survey){ .state = SURVEY_RUNNING, .figures = { .oldest = NEVER } };
}

bool fair_survey_run(struct fair_survey *survey, const struct keyspace *ks,
                     const struct policies *policies, struct bytes prefix, msec now, size_t *budget)
{
    struct visit visit = { &survey->figures, ks, policies, prefix, now };
    for (; *budget > 0 && survey->state == SURVEY_RUNNING; --*budget) {
        survey->cursor = keyspace_scan(ks, survey->cursor, count_key, &visit);
        if (survey->cursor > 0) continue;
        survey->state = SURVEY_DONE;
        --*budget;
        return true;
    }
    return false;
}

bool fair_survey_figures(const struct fair_survey *survey, struct fair_figures *figures)
{
    if (survey->state != SURVEY_DONE) return false;
    *figures = survey->figures;
    return true;
}
