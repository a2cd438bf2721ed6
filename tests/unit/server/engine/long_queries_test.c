/* Tests of long_queries: the order of work, answers, and queries that are cancelled. */
#include "server/engine/long_queries.h"

#include "server/engine/engine.h"
#include "server/engine/react/pubsub.h"
#include "server/engine/react/watch.h"
#include "server/engine/unblock.h"
#include "tests/support/caller.h"
#include "tests/support/suite.h"

enum { CALLERS = 3, NOW = 1000000 };

struct question {
    int pieces, worked; /* the pieces of work that the query needs, and those that are done */
    bool freed;
};

static struct clock wall;
static struct blocked *blocked;
static struct long_queries *queries;
static struct watch *watch;
static struct pubsub *pubsub;
static struct caller callers[CALLERS];
static struct question questions[CALLERS];

static bool work(void *ctx, msec now)
{
    struct question *question = ctx;
    ck_assert_int_eq(now, NOW);
    return ++question->worked >= question->pieces;
}

static void answer(void *ctx, msec now, struct resp_writer *out)
{
    const struct question *question = ctx;
    ck_assert_int_eq(now, NOW);
    resp_integer(out, question->worked);
}

static void forget(void *ctx)
{
    ((struct question *)ctx)->freed = true;
}

static const struct long_query_kind quick = { work, answer, forget };

static void begin(void)
{
    wall = (struct clock){ .now = NOW, .stepped = true };
    blocked = blocked_new();
    watch = watch_new();
    pubsub = pubsub_new();
    queries = long_queries_new(&wall, blocked);
    for (int i = 0; i < CALLERS; i++)
        caller_init(&callers[i]);
    memset(questions, 0, sizeof(questions));
}

static void end(void)
{
    blocked_check(blocked);
    for (int i = 0; i < CALLERS; i++)
        caller_drop(&callers[i], watch, pubsub);
    long_queries_free(queries);
    blocked_free(blocked);
    watch_free(watch);
    pubsub_free(pubsub);
}

static void ask(int i, const struct long_query_kind *kind, int pieces)
{
    questions[i].pieces = pieces;
    long_queries_ask(queries, &callers[i].session, kind, &questions[i]);
    ck_assert(callers[i].session.blocked != NULL);
}

#define waits(i) (callers[i].session.blocked != NULL)

START_TEST(a_session_is_answered_when_its_query_is_done)
{
    begin();
    ask(0, &quick, 3);
    for (int i = 0; i < 3; i++) {
        hears(&callers[0], "");
        ck_assert(long_queries_run(queries, 1));
    }
    ck_assert(!long_queries_run(queries, 1));
    hears(&callers[0], ":3|");
    ck_assert(!waits(0));
    ck_assert(questions[0].freed);
    ck_assert_uint_eq(callers[0].wakes, 1);
    ck_assert_uint_eq(blocked_count(blocked), 0);
    end();
}
END_TEST

START_TEST(queries_are_worked_on_in_order_of_arrival)
{
    begin();
    ask(0, &quick, 2);
    ask(1, &quick, 1);
    long_queries_run(queries, 1);
    ck_assert_int_eq(questions[0].worked, 1);
    ck_assert_int_eq(questions[1].worked, 0);
    long_queries_run(queries, 1);
    ck_assert(!waits(0));
    ck_assert(waits(1));
    long_queries_run(queries, 1);
    hears(&callers[0], ":2|");
    hears(&callers[1], ":1|");
    end();
}
END_TEST

START_TEST(unblocking_or_closing_a_session_resets_its_query)
{
    begin();
    for (int i = 0; i < CALLERS; i++)
        ask(i, &quick, 1);
    struct stats stats = { 0 };
    struct engine engine = { .stats = &stats };
    ck_assert(unblock_client(&engine, &callers[0].session, false));
    session_end(&callers[1].session);
    ck_assert(questions[0].freed);
    ck_assert(questions[1].freed);
    long_queries_run(queries, 1);
    hears(&callers[0], "*-1|");
    hears(&callers[1], "");
    hears(&callers[2], ":1|");
    ck_assert_int_eq(questions[0].worked + questions[1].worked, 0);
    end();
}
END_TEST

Suite *test_suite(void)
{
    const TTest *const tests[] = {
        a_session_is_answered_when_its_query_is_done,
        queries_are_worked_on_in_order_of_arrival,
        unblocking_or_closing_a_session_resets_its_query,
        NULL,
    };
    return suite_of("queries", tests);
}
