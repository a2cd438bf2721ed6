/* long_queries: see long_queries.h. */
#include "server/engine/long_queries.h"

#include "server/engine/unblock.h"
#include "store/base/ensure.h"
#include "store/mem/mem.h"

struct asked {
    TAILQ_ENTRY(asked) in_order;
    struct long_queries *queries;
    struct session *session;
    const struct long_query_kind *kind;
    void *question; /* the state of the query, for kind->work. Owned */
};

struct long_queries {
    TAILQ_HEAD(, asked) asked;
    const struct clock *clock;
    struct blocked *blocked;
};

struct long_queries *long_queries_new(const struct clock *clock, struct blocked *blocked)
{
    struct long_queries *queries = mem_zalloc(sizeof(*queries));
    TAILQ_INIT(&queries->asked);
    queries->clock = clock;
    queries->blocked = blocked;
    return queries;
}

void long_queries_free(struct long_queries *queries)
{
    if (queries == NULL) return;
    ensure(TAILQ_EMPTY(&queries->asked), "session %llu waits",
           (unsigned long long)TAILQ_FIRST(&queries->asked)->session->id);
    mem_free(queries);
}

static void forget_asked(void *ctx)
{
    struct asked *asked = ctx;
    TAILQ_REMOVE(&asked->queries->asked, asked, in_order);
    asked->kind->free(asked->question);
    mem_free(asked);
}

void long_queries_ask(struct long_queries *queries, struct session *session,
                      const struct long_query_kind *kind, void *question)
{
    struct asked *asked = mem_alloc(sizeof(*asked));
    *asked = (struct asked){
        .queries = queries, .session = session, .kind = kind, .question = question
    };
    TAILQ_INSERT_TAIL(&queries->asked, asked, in_order);
    blocked_wait(
        queries->blocked, session,
        &(struct blocked_wait){ .reason = WAIT_LONG_REPLY, .gone = forget_asked, .ctx = asked });
}

bool long_queries_run(void *ctx, size_t amount)
{
    (void)amount;
    struct long_queries *queries = ctx;
    const struct asked *asked = TAILQ_FIRST(&queries->asked);
    if (asked == NULL) return false;
    if (asked->kind->work(asked->question, clock_now(queries->clock))) {
        struct session *session = asked->session;
        asked->kind->answer(asked->question, clock_now(queries->clock), &session->out);
        unblock_answered(session);
    }
    return true;
}
