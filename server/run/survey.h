/* survey: queries about the data that take longer than a turn. The asking session is blocked while
 * the answer is computed in the background, one query at a time in order of arrival; a query that
 * needs no work of its own is answered at once. */
#ifndef SERVER_RUN_SURVEY_H
#define SERVER_RUN_SURVEY_H

#include "proto/resp/resp_write.h"
#include "server/base/clock.h"
#include "server/call/session.h"
#include "server/react/blocked.h"

enum survey_state {
    SURVEY_DONE, /* it can be answered */
    SURVEY_BUSY, /* there is more to do */
    SURVEY_IDLE, /* nothing to do now: it needs time to pass, or other work to be done */
};

struct survey_kind {
    enum survey_state (*work)(void *question, msec now); /* does about 20 us of work */
    void (*answer)(void *question, msec now, struct resp_writer *out);
    void (*free)(void *question);
};

struct survey;

struct survey *survey_new(const struct clock *clock, struct blocked *blocked);
void survey_free(struct survey *survey); /* no session may be waiting */

/* Blocks the session until its query is answered. The question becomes survey's. */
void survey_ask(struct survey *survey, struct session *session, const struct survey_kind *kind,
                void *question);
/* Background work: does a piece for the first query that needs work. False: none does. */
bool survey_run(void *survey, size_t amount);

#endif
