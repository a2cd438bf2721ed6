/* long_queries: queries about the data that take longer than a turn. The session is blocked while
 * the background computes the answer. Queries are answered one at a time, in order of arrival,
 * because computing several together would finish none of them earlier. Queries that turn out to be
 * short are answered by the commands themselves. */
#pragma once

#include "proto/resp/resp_write.h"
#include "server/base/clock.h"
#include "server/cmd/call/session.h"
#include "server/engine/react/blocked.h"

struct long_query_kind {
    /* Continues to compute the answer for about 20 us. Returns true when it is ready. */
    bool (*work)(void *question, msec now);
    void (*answer)(void *question, msec now, struct resp_writer *out);
    void (*free)(void *question);
};

struct long_queries;

struct long_queries *long_queries_new(const struct clock *clock, struct blocked *blocked);
void long_queries_free(struct long_queries *queries); /* no session may be waiting */

/* Blocks the session until its query is answered. Takes ownership of the question, which is freed
 * after the answer, or earlier if the wait ends otherwise (CLIENT UNBLOCK, a closed connection). */
void long_queries_ask(struct long_queries *queries, struct session *session,
                      const struct long_query_kind *kind, void *question);
/* A slice of background work: calls `work` of the first query and, if its answer is ready, replies.
 * Returns false if no query waits. `amount` is ignored. */
bool long_queries_run(void *queries, size_t amount);
