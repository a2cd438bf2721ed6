/* survey: see survey.h. A queue of queries. */
#include "server/run/survey.h"

#include <sys/queue.h>

#include "server/run/serve.h"
#include "store/base/ensure.h"
#include "store/mem/mem.h"

struct asked {
    TAILQ_ENTRY(asked) in_order;
    struct survey *survey;
    struct session *session;
    const struct survey_kind *kind;
    void *question; /* owned */
};

struct survey {
    TAILQ_HEAD(, asked) asked;
    const struct clock *clock;
    struct blocked *blocked;
};

struct survey *survey_new(const struct clock *clock, struct blocked *blocked)
{
    struct survey *survey = mem_zalloc(sizeof(*survey));
    TAILQ_INIT(&survey->asked);
    survey->clock = clock;
    survey->blocked = blocked;
    return survey;
}

void survey_free(struct survey *survey)
{
    if (survey == NULL) return;
    ensure(TAILQ_EMPTY(&survey->asked), "session %llu waits",
           (unsigned long long)TAILQ_FIRST(&survey->asked)->session->id);
    mem_free(survey);
}

/* The session has its answer, or is gone. */
static void forget(void *ctx)
{
    struct asked *asked = ctx;
    TAILQ_REMOVE(&asked->survey->asked, asked, in_order);
    asked->kind->free(asked->question);
    mem_free(asked);
}

void survey_ask(struct survey *survey, struct session *session, const struct survey_kind *kind,
                void *question)
{
    struct asked *asked = mem_alloc(sizeof(*asked));
    *asked =
        (struct asked){ .survey = survey, .session = session, .kind = kind, .question = question };
    TAILQ_INSERT_TAIL(&survey->asked, asked, in_order);
    blocked_hold(survey->blocked, session, forget, asked);
}

static void answer(struct asked *asked)
{
    struct session *session = asked->session;
    asked->kind->answer(asked->question, clock_now(asked->survey->clock), &session->out);
    serve_answered(session);
}

bool survey_run(void *ctx, size_t amount)
{
    (void)amount;
    struct survey *survey = ctx;
    struct asked *asked;
    TAILQ_FOREACH(asked, &survey->asked, in_order)
    {
        enum survey_state state = asked->kind->work(asked->question, clock_now(survey->clock));
        if (state == SURVEY_IDLE) continue;
        if (state == SURVEY_DONE) answer(asked);
        return true;
    }
    return false;
}
