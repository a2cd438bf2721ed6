/* latency_commands: LATENCY: slow events, and the histograms of commands. Depends on observe.h. */
#include <inttypes.h>
#include <stdio.h>

#include "server/admin/admin.h"
#include "server/cmd/call/args.h"
#include "server/cmd/call/reply_text.h"

enum { COMMAND_NAME_MAX = 128 };

static const struct latency *latency_of(const struct call *call)
{
    return &((const struct admin_parts *)call->context)->observer->latency;
}

static void cmd_latency_latest(struct call *call)
{
    const struct latency *latency = latency_of(call);
    size_t seen = 0;
    for (unsigned event = 0; event < LATENCY_EVENTS; event++)
        seen += latency->series[event].count > 0;
    resp_array(call->out, seen);
    for (unsigned event = 0; event < LATENCY_EVENTS; event++) {
        const struct latency_series *series = &latency->series[event];
        if (series->count == 0) continue;
        const struct latency_sample *last = latency_sample(series, series->count - 1);
        resp_array(call->out, 4);
        resp_bulk_text(call->out, latency_name((enum latency_event)event));
        resp_integer(call->out, last->at_sec);
        resp_integer(call->out, last->msec);
        resp_integer(call->out, series->worst_msec);
    }
}

/* Returns the series that argument 2 names, or NULL if it is empty or unknown. */
static const struct latency_series *named_series(const struct call *call)
{
    enum latency_event event = latency_find(call->argv[2]);
    if (event == LATENCY_EVENTS || latency_of(call)->series[event].count == 0) return NULL;
    return &latency_of(call)->series[event];
}

static void cmd_latency_history(struct call *call)
{
    const struct latency_series *series = named_series(call);
    unsigned count = series != NULL ? series->count : 0;
    resp_array(call->out, count);
    for (unsigned i = 0; i < count; i++) {
        const struct latency_sample *sample = latency_sample(series, i);
        resp_array(call->out, 2);
        resp_integer(call->out, sample->at_sec);
        resp_integer(call->out, sample->msec);
    }
}

static void cmd_latency_reset(struct call *call)
{
    struct latency *latency = (struct latency *)latency_of(call);
    int64_t reset = 0;
    for (unsigned event = 0; event < LATENCY_EVENTS; event++) {
        bool wanted = call->argc == 2;
        for (int i = 2; i < call->argc && !wanted; i++)
            wanted = latency_find(call->argv[i]) == (enum latency_event)event;
        if (!wanted || latency->series[event].count == 0) continue;
        latency->series[event] = (struct latency_series){ .count = 0 };
        reset++;
    }
    resp_integer(call->out, reset);
}

/* ---- GRAPH and DOCTOR: the bounds of the samples; clients draw HISTORY themselves ---- */

static void append_summary(struct outbuf *text, enum latency_event event,
                           const struct latency_series *series)
{
    int64_t low = INT64_MAX, high = 0;
    char line[160];
    for (unsigned i = 0; i < series->count; i++) {
        int64_t taken = latency_sample(series, i)->msec;
        if (taken < low) low = taken;
        if (taken > high) high = taken;
    }
    int len =
        snprintf(line, sizeof(line),
                 "%s - high %" PRId64 " ms, low %" PRId64 " ms (all time high %" PRId64 " ms)\n",
                 latency_name(event), high, low, series->worst_msec);
    outbuf_append(text, line, (size_t)len);
}

static void cmd_latency_graph(struct call *call)
{
    const struct latency_series *series = named_series(call);
    if (series == NULL) {
        failf(call, ERR_LATENCY_NO_SAMPLES, arg_width(call, 2), call->argv[2].data);
        return;
    }
    struct outbuf text;
    outbuf_init(&text);
    append_summary(&text, latency_find(call->argv[2]), series);
    reply_text(call, &text);
}

static void cmd_latency_doctor(struct call *call)
{
    static const char none[] = "No event has reached latency-monitor-threshold.\n";
    const struct latency *latency = latency_of(call);
    struct outbuf text;
    outbuf_init(&text);
    for (unsigned event = 0; event < LATENCY_EVENTS; event++)
        if (latency->series[event].count > 0)
            append_summary(&text, (enum latency_event)event, &latency->series[event]);
    if (text.len == 0) outbuf_append(&text, none, sizeof(none) - 1);
    reply_text(call, &text);
}

/* ---- HISTOGRAM ------------------------------------------------------------------------------- */

enum { BUCKETS_MAX = 40 };

struct histograms {
    struct call *call;
    size_t count;
    bool reply; /* else only count */
};

static void visit_histogram(void *ctx, struct command_ref ref)
{
    struct histograms *all = ctx;
    const struct call *call = all->call;
    if (ref.stats->spans == NULL) return;

    /* A command that is requested by name includes its subcommands. */
    char name[COMMAND_NAME_MAX];
    struct bytes full = bytes_of(name, command_full_name(ref, name, sizeof(name)));
    const struct command *row = ref.parent != NULL ? ref.parent : ref.row;
    bool requested = call->argc == 2;
    for (int i = 2; i < call->argc && !requested; i++)
        requested = arg_is(call, i, row->name) || bytes_equal(call->argv[i], full);
    if (!requested) return;
    all->count++;

    if (all->reply) {
        const struct histogram *spans = ref.stats->spans;
        resp_bulk(call->out, full.data, full.len);
        resp_map(call->out, 2);
        resp_bulk_text(call->out, "calls");
        resp_integer(call->out, (int64_t)ref.stats->calls);
        resp_bulk_text(call->out, "histogram_usec");
        uint64_t bounds[BUCKETS_MAX], seen = 0;
        unsigned count = 0;
        for (unsigned i = 0; i < BUCKETS_MAX && seen < spans->total; i++) {
            uint64_t upto = histogram_up_to(spans, INT64_C(1) << i);
            if (upto == seen) continue;
            seen = upto;
            bounds[count++] = UINT64_C(1) << i;
        }
        resp_map(call->out, count);
        for (unsigned i = 0; i < count; i++) {
            resp_integer(call->out, (int64_t)bounds[i]);
            resp_integer(call->out, (int64_t)histogram_up_to(spans, (int64_t)bounds[i]));
        }
    }
}

static void cmd_latency_histogram(struct call *call)
{
    const struct admin_parts *context = call->context;
    struct histograms all = { .call = call };
    commands_each_stats(context->commands, visit_histogram, &all);
    resp_map(call->out, all.count);
    all.reply = true;
    commands_each_stats(context->commands, visit_histogram, &all);
}

enum { SYSTEM = ADMIN | NOSCRIPT | LOADING | STALE };

static const struct command subcommands[] = {
    ROW("DOCTOR", cmd_latency_doctor, 2, SYSTEM,
        .tips = "nondeterministic_output request_policy:all_nodes response_policy:special",
        .since = "2.8.13", .replies = REPLIES("verbatim: a line for each event that has samples"),
        .complexity = "O(1)", .syntax = "",
        .summary = "Returns the bounds of the samples of each event."),
    ROW("GRAPH", cmd_latency_graph, 3, SYSTEM,
        .tips = "nondeterministic_output request_policy:all_nodes response_policy:special",
        .since = "2.8.13", .replies = REPLIES("verbatim: one line"),
        .errors = ERRORS(ERR_LATENCY_NO_SAMPLES), .complexity = "O(1)", .syntax = "event",
        .summary = "Returns the bounds of the samples of an event."),
    ROW("HISTORY", cmd_latency_history, 3, SYSTEM,
        .tips = "nondeterministic_output request_policy:all_nodes response_policy:special",
        .since = "2.8.13",
        .replies = REPLIES("[[integer integer] ...]: Unix time in seconds and milliseconds of "
                           "latency of each sample"),
        .complexity = "O(1)", .syntax = "event", .summary = "Returns the samples of an event."),
    ROW("LATEST", cmd_latency_latest, 2, SYSTEM,
        .tips = "nondeterministic_output request_policy:all_nodes response_policy:special",
        .since = "2.8.13",
        .replies = REPLIES("[[bulk integer integer integer] ...]: event, Unix time in seconds, its "
                           "latency and the worst one in milliseconds"),
        .complexity = "O(1)", .syntax = "",
        .summary = "Returns the last and the worst sample of each event."),
    ROW("RESET", cmd_latency_reset, -2, SYSTEM,
        .tips = "request_policy:all_nodes response_policy:all_succeeded", .since = "2.8.13",
        .replies = REPLIES("integer: the number of events reset"), .complexity = "O(1)",
        .syntax = "[event [event ...]]", .summary = "Deletes the samples of some or all events."),
    ROW("HISTOGRAM", cmd_latency_histogram, -2, SYSTEM,
        .tips = "nondeterministic_output request_policy:all_nodes response_policy:special",
        .since = "7.0.0",
        .replies = REPLIES(
            "map[bulk map['calls' integer 'histogram_usec' map[integer integer ...]] ...]: by "
            "command: its calls, and for each bound in microseconds how many took at most that "
            "long"),
        .complexity = "O(N) where N is the number of commands.",
        .syntax = "[command [command ...]]",
        .summary = "Returns a histogram of the durations of calls, by command."),
    HELP_ROW(cmd_help, .since = "2.8.13"),
    { .name = NULL },
};

static const struct command rows[] = {
    PARENT_ROW("LATENCY", subcommands, "2.8.13", "Reports slow events."),
};

const struct command_group latency_commands = COMMAND_GROUP("server", rows);
