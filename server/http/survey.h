/* survey: counts all keys for the metrics port: the forecast of each database, and the names of the
 * dehydrators and streams to report. Background work visits every key for this, in slices. Depends
 * on the store and the clock, not on HTTP.
 *
 * A survey begins on demand, but only when the last one has been over for a second, and for twenty
 * times as long as it worked. So surveys take at most a twentieth of the server's time, however
 * many keys there are. The last complete result stays until the next survey is complete. */
#pragma once

#include "conf/conf.h"
#include "server/base/clock.h"
#include "store/store.h"
#include "store/sweep/outlook.h"

struct survey;

struct survey *survey_new(const struct store *store, const struct conf *conf,
                          const struct clock *clock);
void survey_free(struct survey *survey);

/* Begins a survey if one is due, and works on it for a fraction of a millisecond, which completes a
 * survey of a few thousand keys at once. For whoever reads the result: without this call no survey
 * begins. */
void survey_ask(struct survey *survey);
/* The functions of a struct background_work. survey_run makes some steps, and returns false if no
 * survey runs; survey_took adds the time that they took. */
bool survey_run(void *survey, size_t amount);
void survey_took(void *survey, int64_t usec);

/* Is a survey complete? Before the first there is no result. */
bool survey_ready(const struct survey *survey);
/* Returns when the result's survey began, on the wall clock. */
msec survey_began(const struct survey *survey);
/* Computes the forecast of a database as of now. Returns false if it had no keys, or if no survey
 * is complete. */
bool survey_forecast(const struct survey *survey, unsigned db, msec now,
                     struct outlook_count counts[OUTLOOK_BANDS]);
/* Counts the deadlines of the coming hour in all databases. */
void survey_hour(const struct survey *survey, struct outlook_hour *hour);

/* A dehydrator as it is now. */
struct surveyed {
    unsigned db;
    struct bytes key; /* UTF-8; borrowed from the survey */
    uint64_t length, due, claimed, redelivered, pushed;
    msec next;       /* the earliest deadline; NEVER if it is empty */
    msec oldest_due; /* how long the first due element has waited, or 0 if none is due */
    msec paused;     /* the end of its pause; 0 if it is not paused */
    struct delivery_counts counts; /* borrowed; all 0 until a first delivery */
};
/* Visits at most metrics-dehydrators-max dehydrators that match metrics-dehydrators: first those
 * that exist, in the order of their names, then those that have become empty and whose tally is
 * kept (drained.h). */
void survey_dehydrators(const struct survey *survey, msec now,
                        void (*visit)(void *ctx, const struct surveyed *dehydrator), void *ctx);

/* A survey also keeps, of all dehydrators that match metrics-dehydrators, the SURVEY_LONGEST whose
 * first due element has waited longest. Visits these, the longest wait first, but not those in
 * which nothing is due any more. With `others`, leaves out those that survey_dehydrators visits. */
enum { SURVEY_LONGEST = 10 };
void survey_longest(const struct survey *survey, msec now, bool others,
                    void (*visit)(void *ctx, const struct surveyed *dehydrator), void *ctx);

/* A consumer group as it is now. */
struct surveyed_group {
    unsigned db;
    struct bytes key, name; /* borrowed; the key is UTF-8 */
    uint64_t consumers, pending;
    int64_t lag; /* entries not delivered yet; STREAM_LAG_UNKNOWN */
};
/* Visits consumer groups, at most SURVEY_GROUPS_MAX, of streams whose keys match
 * metrics-dehydrators, at most metrics-dehydrators-max streams. */
enum { SURVEY_GROUPS_MAX = 1000 };
void survey_groups(const struct survey *survey, msec now,
                   void (*visit)(void *ctx, const struct surveyed_group *group), void *ctx);

/* Returns how many dehydrators existed and match metrics-dehydrators, but are left out: those
 * beyond metrics-dehydrators-max, and those whose names are not UTF-8 or are longer than
 * SURVEY_NAME_MAX bytes. */
size_t survey_omitted(const struct survey *survey);
