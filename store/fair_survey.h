/* fair_survey: counts the dehydrators of a prefix for REDE.FAIRINFO, in a scan of all keys in
 * slices. A survey needs no index (fair.h), and does not know its prefix: the caller names it at
 * each step. fair.c runs surveys, and tells waiting calls when one ends. */
#pragma once

#include "store/base/bytes.h"
#include "store/base/instant.h"

struct keyspace;
struct policies;

struct fair_figures {
    size_t keys;         /* dehydrators */
    size_t due;          /* dehydrators with an element that may be claimed */
    size_t claimed;      /* elements claimed by consumers */
    size_t due_elements; /* elements due, even if a policy or pause holds them back */
    size_t other_types;  /* keys under the prefix that are no dehydrators */
    msec oldest;         /* the earliest deadline of a due element, or NEVER */
};

/* The states of a survey:
 *
 *     SURVEY_NONE
 *          | fair_survey_begin
 *          v
 *     SURVEY_RUNNING        calls wait
 *          | fair_survey_run: the last slice
 *          v
 *     SURVEY_DONE           the figures are complete; fair_survey_begin leads back
 */
enum survey_state { SURVEY_NONE, SURVEY_RUNNING, SURVEY_DONE };

/* All zero before the first survey. */
struct fair_survey {
    enum survey_state state;
    uint64_t cursor;
    struct fair_figures figures;
};

/* Begins a survey unless one is running or, with `again`, one is done. */
void fair_survey_begin(struct fair_survey *survey, bool again);
/* Visits at most *budget buckets of a running survey and subtracts them from *budget. Returns true
 * if the survey has ended in this call. */
bool fair_survey_run(struct fair_survey *survey, const struct keyspace *ks,
                     const struct policies *policies, struct bytes prefix, msec now,
                     size_t *budget);
static inline bool fair_survey_runs(const struct fair_survey *survey)
{
    return survey->state == SURVEY_RUNNING;
}
/* Copies the figures of a survey that is done; returns false in other states. */
bool fair_survey_figures(const struct fair_survey *survey, struct fair_figures *figures);
