/* survey: a queue of questions, and a timer of no time that brings the next turn. */
#include "server/survey.h"

#include <sys/queue.h>

#include "server/serve.h"
#include "store/ensure.h"
#include "store/mem.h"

enum { SLICE_USEC = 300 };

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
    struct waiters *waiters;
    struct loop_timer *again; /* the next turn comes without waiting */
};

/* The turn by itself is all that is wanted. */
static void on_again(void *ctx)
{
    (void)ctx;
}

struct survey *survey_new(struct loop *loop, const struct clock *clock, struct waiters *waiters)
{
    struct survey *survey = mem_zalloc(sizeof(*survey));
    TAILQ_INIT(&survey->asked);
    survey->clock = clock;
    survey->waiters = waiters;
    survey->again = loop_timer_new(loop, on_again, survey);
    return survey;
}

void survey_free(struct survey *survey)
{
    if (survey == NULL) return;
    ensure(TAILQ_EMPTY(&survey->asked), "session %llu waits",
           (unsigned long long)TAILQ_FIRST(&survey->asked)->session->id);
    loop_timer_free(survey->again);
    mem_free(survey);
}

/* Its session has the answer, or does not want it any more. */
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
    waiters_hold(survey->waiters, session, forget, asked);
}

/* At least one piece of work, so that every slice gets on. */
static enum survey_state work_until(struct asked *asked, int64_t end)
{
    enum survey_state state;
    do {
        state = asked->kind->work(asked->question, clock_now(asked->survey->clock));
    } while (state == SURVEY_BUSY && clock_mono_usec() < end);
    return state;
}

void survey_turn(void *ctx)
{
    struct survey *survey = ctx;
    struct asked *asked = TAILQ_FIRST(&survey->asked), *next;
    if (asked == NULL) return;
    int64_t end = clock_mono_usec() + SLICE_USEC;
    for (; asked != NULL; asked = next) {
        next = TAILQ_NEXT(asked, in_order);
        enum survey_state state = work_until(asked, end);
        if (state == SURVEY_IDLE) continue;
        if (state == SURVEY_DONE) {
            struct session *session = asked->session;
            asked->kind->answer(asked->question, clock_now(survey->clock), &session->out);
            serve_answered(session);
        }
        /* What was answered is written out in the next turn, which has to come for that too. */
        loop_timer_set(survey->again, 0);
        if (clock_mono_usec() >= end) break;
    }
}
