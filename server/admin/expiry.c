/* expiry: EXPIRY: the next deadlines, how many fall due in which span, and how late expiry was. The
 * context is struct long_queries, which answers queries that take longer than a turn; if it is
 * NULL, the command answers all of them itself. */
#include "server/admin/admin.h"
#include "server/admin/expiry_why.h"
#include "server/cmd/call/args.h"
#include "server/cmd/call/reply_text.h"
#include "store/mem/mem.h"
#include "store/sweep/outlook.h"
#include "store/sweep/upcoming.h"

enum {
    SHOWN = 10,
    SHOWN_MAX = 1000,
    SETTLED_AT_ONCE = 1000, /* keys and members, in less than a millisecond */
    COUNTED_AT_ONCE = 5000,
    COUNTED_AT_A_TIME = 256,
};

/* May the call block until the background has the answer? Not inside MULTI or a script. */
static bool may_wait(const struct call *call)
{
    return call->block != NULL && call->context != NULL;
}

struct next_question {
    const struct keyspace *ks;
    size_t count;
    struct upcoming *upcoming; /* the search if something is overdue, or NULL */
};

static void reply_next_deadlines(struct resp_writer *out, const struct next_question *question,
                                 msec now)
{
    struct due *due = mem_alloc(question->count * sizeof(*due));
    size_t count = question->upcoming != NULL
                       ? upcoming_list(question->upcoming, due)
                       : outlook_next(question->ks, now, due, question->count);
    resp_array(out, count);
    for (size_t i = 0; i < count; i++) {
        resp_array(out, 3);
        resp_bulk(out, due[i].key.data, due[i].key.len);
        resp_integer(out, due[i].at);
        resp_bulk_text(out, due[i].what);
    }
    mem_free(due);
}

static bool next_work(void *ctx, msec now)
{
    const struct next_question *question = ctx;
    return upcoming_run(question->upcoming, now, COUNTED_AT_A_TIME);
}

static void next_answer(void *ctx, msec now, struct resp_writer *out)
{
    reply_next_deadlines(out, ctx, now);
}

static void next_free(void *ctx)
{
    struct next_question *question = ctx;
    upcoming_free(question->upcoming);
    mem_free(question);
}

static const struct long_query_kind next_kind = { next_work, next_answer, next_free };

static void cmd_expiry_next(struct call *call)
{
    int64_t count = SHOWN;
    if (fail_subcommand_if(call, call->argc > 3)) return;
    if (call->argc == 3 && !arg_range(call, 2, 1, SHOWN_MAX, &count, ERR_EXPIRY_COUNT)) return;
    struct txn *txn = call->txn;
    struct next_question question = { .ks = txn->ks, .count = (size_t)count };
    bool waits = may_wait(call);
    bool done = outlook_remove_overdue(txn, waits ? SETTLED_AT_ONCE : SIZE_MAX);
    /* Overdue data may stay for long: on a replica, during a pause, for a slow subscriber. */
    if (!done) {
        question.upcoming = upcoming_new(txn->ks, question.count);
        done = upcoming_run(question.upcoming, txn->now, waits ? COUNTED_AT_ONCE : SIZE_MAX);
    }
    if (!done) {
        struct next_question *asked = mem_alloc(sizeof(*asked));
        *asked = question;
        long_queries_ask(call->context, call->session, &next_kind, asked);
        return;
    }
    reply_next_deadlines(call->out, &question, txn->now);
    upcoming_free(question.upcoming);
}

static void reply_forecast(struct resp_writer *out, const struct outlook *outlook, msec now)
{
    struct outlook_count counts[OUTLOOK_BANDS];
    outlook_counts(outlook, now, counts);
    resp_array(out, OUTLOOK_BANDS);
    for (unsigned band = 0; band < OUTLOOK_BANDS; band++) {
        resp_array(out, 1 + OUTLOOK_KINDS);
        resp_bulk_text(out, outlook_band_name((enum outlook_band)band));
        for (unsigned kind = 0; kind < OUTLOOK_KINDS; kind++)
            resp_integer(out, (int64_t)counts[band].of[kind]);
    }
}

static bool forecast_work(void *ctx, msec now)
{
    (void)now;
    return outlook_run(ctx, COUNTED_AT_A_TIME);
}

static void forecast_answer(void *ctx, msec now, struct resp_writer *out)
{
    reply_forecast(out, ctx, now);
}

static void forecast_free(void *ctx)
{
    outlook_free(ctx);
}

static const struct long_query_kind forecast_kind = { forecast_work, forecast_answer,
                                                      forecast_free };

static void cmd_expiry_forecast(struct call *call)
{
    struct outlook *outlook = outlook_new(call->txn->ks, call->txn->now);
    if (!outlook_run(outlook, may_wait(call) ? COUNTED_AT_ONCE : SIZE_MAX)) {
        long_queries_ask(call->context, call->session, &forecast_kind, outlook);
        return;
    }
    reply_forecast(call->out, outlook, call->txn->now);
    outlook_free(outlook);
}

static void cmd_expiry_lag(struct call *call)
{
    static const struct {
        const char *name;
        double percent;
    } percentiles[] = { { "p50", 50 }, { "p90", 90 }, { "p99", 99 }, { "p99.9", 99.9 } };
    enum { PERCENTILES = sizeof(percentiles) / sizeof(percentiles[0]) };
    const struct histogram *lag = &call->txn->store->stats.lag;
    resp_map(call->out, PERCENTILES + 2);
    for (unsigned i = 0; i < PERCENTILES; i++) {
        resp_bulk_text(call->out, percentiles[i].name);
        resp_integer(call->out, histogram_percentile(lag, percentiles[i].percent));
    }
    resp_bulk_text(call->out, "max");
    resp_integer(call->out, lag->max);
    resp_bulk_text(call->out, "count");
    resp_integer(call->out, (int64_t)lag->total);
}

static const struct command subcommands[] = {
    ROW("NEXT", cmd_expiry_next, -2, READONLY | BLOCKING | COUNTS_KEYS, .acl = ACL_KEYSPACE,
        .tips = "nondeterministic_output request_policy:all_shards response_policy:special",
        .since = "0.1.0",
        .replies = REPLIES(
            "[[bulk integer 'key'|'member'|'field'|'element'|'entry'|'holder'] ...]: key, deadline "
            "as Unix time in milliseconds, and what is due"),
        .errors = ERRORS(ERR_SUBCOMMAND_OR_ARITY, ERR_EXPIRY_COUNT),
        .complexity =
            "O(N*log(N)) where N is the number of deadlines returned. Where overdue data stays (on "
            "a replica, during CLIENT PAUSE) also O(M) where M is the number of keys and of "
            "overdue "
            "members, in slices between other calls.",
        .syntax = "[count]",
        .summary = "Returns the next deadlines of the selected database, one for each key."),
    ROW("FORECAST", cmd_expiry_forecast, 2, READONLY | BLOCKING, .acl = ACL_KEYSPACE,
        .tips = "nondeterministic_output request_policy:all_shards response_policy:special",
        .since = "0.1.0",
        .replies =
            REPLIES("[[bulk integer integer integer] ...]: for each span (1s, 10s, 1m, 10m, "
                    "1h, 1d, later, never) its name, and how many keys, members and elements "
                    "of dehydrators are due in it and in no shorter one"),
        .complexity =
            "O(N) where N is the number of keys, of members with deadlines, and of instants "
            "at which elements are due, in slices between other calls.",
        .syntax = "",
        .summary =
            "Counts the keys, members and elements of the selected database by the time left "
            "to their deadlines."),
    ROW("LAG", cmd_expiry_lag, 2, LOADING | STALE | FAST,
        .tips = "nondeterministic_output request_policy:all_nodes response_policy:special",
        .since = "0.1.0",
        .replies = REPLIES("map['p50' integer 'p90' integer 'p99' integer 'p99.9' integer 'max' "
                           "integer 'count' integer]: percentiles of the time between deadline and "
                           "removal, the maximum, and the number of removals"),
        .complexity = "O(1)", .syntax = "",
        .summary = "Returns how late expired data was removed: percentiles in milliseconds."),
    ROW("WHY", cmd_expiry_why, -3, READONLY, .acl = ACL_KEYSPACE, .keys = KEY_SECOND,
        .key_flags = KEY_RO | KEY_ACCESS, .tips = "nondeterministic_output", .since = "0.2.0",
        .replies = REPLIES(EXPIRY_WHY_REPLY),
        .errors = ERRORS(ERR_EXPIRY_WHY_OPTION, ERR_EXPIRY_WHY_OFF),
        .complexity =
            "O(N*(P+C)) where N is the number of records, P is the number of policies and "
            "C is the number of commands.",
        .syntax = "key [MEMBER member]",
        .summary = "Tells who set the deadline of a key or member, or what ended it."),
    HELP_ROW(cmd_help, .since = "0.1.0"),
    { .name = NULL },
};

static const struct command rows[] = {
    PARENT_ROW("EXPIRY", subcommands, "0.1.0",
               "Reports the next deadlines, and how late expiry was."),
};

const struct command_group expiry_commands = COMMAND_GROUP("server", rows);
