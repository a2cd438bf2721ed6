/* survey: questions about the data whose answers take longer than a turn. Who asks waits, while the
 * answer is worked out in the background: first come first served, all others as soon as they need
 * no work of their own. Knows who waits; refuses to know what is asked. */
#ifndef SERVER_RUN_SURVEY_H
#define SERVER_RUN_SURVEY_H

#include "proto/resp/resp_write.h"
#include "server/base/clock.h"
#include "server/call/session.h"
#include "server/react/waiters.h"

enum survey_state {
    SURVEY_DONE, /* it can be answered */
    SURVEY_BUSY, /* there is more to do */
    SURVEY_IDLE, /* nothing to do: time has to pass, or others have to do something */
};

struct survey_kind {
    enum survey_state (*work)(void *question, msec now); /* some 20 us of it */
    void (*answer)(void *question, msec now, struct resp_writer *out);
    void (*free)(void *question);
};

struct survey;

struct survey *survey_new(const struct clock *clock, struct waiters *waiters);
void survey_free(struct survey *survey); /* nobody may wait any more */

/* The session waits from now on for the answer to its question, which is handed over. */
void survey_ask(struct survey *survey, struct session *session, const struct survey_kind *kind,
                void *question);
/* A piece of background work for the first question that needs any. False: none does. */
bool survey_run(void *survey, size_t amount);

#endif
