/* long_queries: queries about the data that take longer than a turn. The asking session is blocked
 * while the answer is computed in the background, one query at a time in order of arrival; a query
 * that needs no work of its own is answered at once. */
#ifndef SERVER_ENGINE_LONG_QUERIES_H
#define SERVER_ENGINE_LONG_QUERIES_H

#include "proto/resp/resp_write.h"
#include "server/base/clock.h"
#include "server/cmd/call/session.h"
#include "server/engine/react/blocked.h"

enum long_query_state {
    LONG_QUERY_DONE, /* it can be answered */
    LONG_QUERY_BUSY, /* there is more to do */
    LONG_QUERY_IDLE, /* nothing to do now: it needs time to pass, or other work to be done */
};

struct long_query_kind {
    enum long_query_state (*work)(void *question, msec now); /* does about 20 us of work */
    void (*answer)(void *question, msec now, struct resp_writer *out);
    void (*free)(void *question);
};

struct long_queries;

struct long_queries *long_queries_new(const struct clock *clock, struct blocked *blocked);
void long_queries_free(struct long_queries *queries); /* no session may be waiting */

/* Blocks the session until its query is answered. The question becomes long_queries'. */
void long_queries_ask(struct long_queries *queries, struct session *session,
                      const struct long_query_kind *kind, void *question);
/* Background work: does a piece for the first query that needs work. False: none does. */
bool long_queries_run(void *queries, size_t amount);

#endif
