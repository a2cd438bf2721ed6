/* cron: parses the text of a schedule, as in a crontab, and finds the local times that match it.
 * Knows neither zones nor instants: a local time is the number of seconds since 1970-01-01 00:00 on
 * a clock that is never changed.
 *
 *     [second] minute hour day-of-month month day-of-week
 *     @yearly @annually @monthly @weekly @daily @midnight @hourly
 *
 * As in Vixie's cron, a day matches if its day of the month or its day of the week matches. But if
 * one of these two fields begins with '*', both must match. */
#pragma once

#include "store/base/bytes.h"

enum {
    CRON_TEXT_MAX = 1024, /* a longer text is refused */
    CRON_FAULT_MAX = 120, /* with a NUL */
};

#define LOCAL_NEVER INT64_MAX

struct cron {
    uint64_t seconds, minutes; /* bit n: the value n matches */
    uint32_t hours, days, months;
    uint32_t weekdays;    /* 0 is Sunday */
    bool last_day;        /* of the month: L */
    bool either_day;      /* match the day of the month or the day of the week; otherwise both */
    bool follows_elapsed; /* hours with '*' or a step: see schedule.h */
};

/* Returns false, and the reason in `fault`, if the text is no schedule or no date ever matches. */
bool cron_parse(struct bytes text, struct cron *cron, char fault[CRON_FAULT_MAX]);

/* Returns the first local time after `local` that matches, or LOCAL_NEVER if there is none within
 * 41 years, which cron_parse rules out. Skips whole months, days and hours that do not match, so
 * that a call takes about a microsecond. */
int64_t cron_next_local(const struct cron *cron, int64_t local);
