/* state: see state.h. Instants are Unix time in milliseconds, sizes bytes, rates per second. */
#include "server/http/state.h"

#include <unistd.h>

#include "server/base/version.h"
#include "server/http/json.h"
#include "store/mem/mem.h"
#include "store/type/stream/stream_progress.h"

enum {
    HOST_SIZE = 256,
    MOST = 50,         /* entries of a list: the most important ones */
    SLOW_CHARS = 160,  /* of a call that is shown */
    SLOW_CALLS = 1000, /* the newest calls examined */
    NAME_SIZE = 128,   /* of a command */
};

struct state {
    struct json json;
    const struct admin_parts *context;
    const struct survey *survey;
    const struct history *history;
    msec now;
};

struct top {
    void *entries; /* MOST of them, the heaviest first */
    uint64_t weights[MOST];
    size_t size, count, total;
};

static void note(struct top *top, const void *entry, uint64_t weight)
{
    char *entries = top->entries;
    size_t rank = top->count;
    top->total++;
    while (rank > 0 && top->weights[rank - 1] < weight)
        rank--;
    if (rank == MOST) return;
    if (top->count < MOST) top->count++;
    size_t behind = top->count - 1 - rank;
    memmove(&top->weights[rank + 1], &top->weights[rank], behind * sizeof(weight));
    memmove(entries + (rank + 1) * top->size, entries + rank * top->size, behind * top->size);
    top->weights[rank] = weight;
    memcpy(entries + rank * top->size, entry, top->size);
}

static void write_lag(struct json *json, const char *name, const struct histogram *lag)
{
    json_open(json, name, '{');
    json_integer(json, "p50", histogram_percentile(lag, 50));
    json_integer(json, "p90", histogram_percentile(lag, 90));
    json_integer(json, "p99", histogram_percentile(lag, 99));
    json_integer(json, "p999", histogram_percentile(lag, 99.9));
    json_integer(json, "max", lag->max);
    json_real(json, "count", (double)lag->total);
    json_close(json, '}');
}

static void note_dehydrator(void *ctx, const struct surveyed *dehydrator)
{
    note(ctx, dehydrator, dehydrator->due > 0 ? (uint64_t)dehydrator->oldest_due + 1 : 0);
}

static void list_dehydrators(struct state *state)
{
    struct json *json = &state->json;
    struct surveyed found[MOST];
    struct top top = { .entries = found, .size = sizeof(found[0]) };
    survey_dehydrators(state->survey, state->now, note_dehydrator, &top);
    size_t total = top.total + survey_omitted(state->survey);
    survey_longest(state->survey, state->now, true, note_dehydrator, &top);
    json_integer(json, "dehydratorCount", (int64_t)total);
    json_open(json, "dehydrators", '[');
    for (size_t i = 0; i < top.count; i++) {
        const struct surveyed *one = &found[i];
        json_open(json, NULL, '{');
        json_integer(json, "db", one->db);
        json_text(json, "key", one->key);
        json_integer(json, "length", (int64_t)one->length);
        json_integer(json, "due", (int64_t)one->due);
        json_integer(json, "claimed", (int64_t)one->claimed);
        json_integer(json, "redelivered", (int64_t)one->redelivered);
        json_integer(json, "pushed", (int64_t)one->pushed);
        json_integer(json, "delivered", (int64_t)one->counts.delivered);
        json_integer(json, "acked", (int64_t)one->counts.acked);
        json_integer(json, "retried", (int64_t)one->counts.retried);
        json_integer(json, "dead", (int64_t)one->counts.dead);
        json_bool(json, "paused", one->paused != 0);
        const struct histogram lateness = delivery_lateness(&one->counts);
        write_lag(json, "lateness", &lateness);
        if (one->next == NEVER)
            json_null(json, "next");
        else
            json_integer(json, "next", one->next);
        json_close(json, '}');
    }
    json_close(json, ']');
}

static void note_group(void *ctx, const struct surveyed_group *group)
{
    uint64_t lag = group->lag > 0 ? (uint64_t)group->lag : 0;
    note(ctx, group, group->pending + lag);
}

static void list_groups(struct state *state)
{
    struct json *json = &state->json;
    struct surveyed_group found[MOST];
    struct top top = { .entries = found, .size = sizeof(found[0]) };
    survey_groups(state->survey, state->now, note_group, &top);
    json_integer(json, "groupCount", (int64_t)top.total);
    json_open(json, "groups", '[');
    for (size_t i = 0; i < top.count; i++) {
        const struct surveyed_group *one = &found[i];
        json_open(json, NULL, '{');
        json_integer(json, "db", one->db);
        json_text(json, "key", one->key);
        json_text(json, "name", one->name);
        json_integer(json, "consumers", (int64_t)one->consumers);
        json_integer(json, "pending", (int64_t)one->pending);
        if (one->lag == STREAM_LAG_UNKNOWN)
            json_null(json, "lag");
        else
            json_integer(json, "lag", one->lag);
        json_close(json, '}');
    }
    json_close(json, ']');
}

struct named_policy {
    struct bytes name;
    struct policy_stats stats;
};

static void note_policy(void *ctx, struct bytes name, const struct policy *policy)
{
    struct named_policy one = { name, *policy->stats };
    note(ctx, &one, one.stats.expired_unread + one.stats.expired_read);
}

static void list_policies(struct state *state)
{
    struct json *json = &state->json;
    struct named_policy found[MOST];
    struct top top = { .entries = found, .size = sizeof(found[0]) };
    policies_each(&state->context->engine->store->policies, note_policy, &top);
    json_integer(json, "policyCount", (int64_t)top.total);
    json_open(json, "policies", '[');
    for (size_t i = 0; i < top.count; i++) {
        json_open(json, NULL, '{');
        json_text(json, "name", found[i].name);
        json_integer(json, "set", (int64_t)found[i].stats.set);
        json_integer(json, "expiredUnread", (int64_t)found[i].stats.expired_unread);
        json_integer(json, "expiredRead", (int64_t)found[i].stats.expired_read);
        json_integer(json, "expiredMisses", (int64_t)found[i].stats.expired_misses);
        json_close(json, '}');
    }
    json_close(json, ']');
}

static void note_command(void *ctx, struct command_ref ref)
{
    if (ref.stats->calls > 0) note(ctx, &ref, ref.stats->usec);
}

static void list_commands(struct state *state)
{
    struct json *json = &state->json;
    struct command_ref found[MOST];
    struct top top = { .entries = found, .size = sizeof(found[0]) };
    commands_each_stats(state->context->commands, note_command, &top);
    json_open(json, "commands", '[');
    for (size_t i = 0; i < top.count; i++) {
        char name[NAME_SIZE];
        size_t len = command_full_name(found[i], name, sizeof(name));
        json_open(json, NULL, '{');
        json_text(json, "name", bytes_of(name, len));
        json_integer(json, "calls", (int64_t)found[i].stats->calls);
        json_integer(json, "usec", (int64_t)found[i].stats->usec);
        json_integer(json, "failed", (int64_t)(found[i].stats->failed + found[i].stats->rejected));
        json_close(json, '}');
    }
    json_close(json, ']');
}

static void list_errors(struct state *state)
{
    struct json *json = &state->json;
    const struct error_count *found[MOST], *error;
    struct top top = { .entries = found, .size = sizeof(found[0]) };
    struct dict_iter iter;
    dict_iter_begin(&iter, &state->context->observer->errors);
    while ((error = dict_iter_next(&iter)) != NULL)
        note(&top, &error, error->count);
    json_open(json, "errors", '[');
    for (size_t i = 0; i < top.count; i++) {
        json_open(json, NULL, '{');
        json_text(json, "code", blob_view(found[i]->code));
        json_integer(json, "count", (int64_t)found[i]->count);
        json_close(json, '}');
    }
    json_close(json, ']');
}

struct slow_group {
    const struct slow_call *worst;
    int64_t last_sec;
    uint64_t calls;
};

static struct bytes name_of(const struct slow_call *slow)
{
    return slow->argc > 0 ? blob_view(slow->argv[0]) : LIT("");
}

static void list_slow_calls(struct state *state)
{
    struct json *json = &state->json;
    struct slow_group groups[MOST], found[MOST];
    struct top top = { .entries = found, .size = sizeof(found[0]) };
    size_t count = 0;
    const struct slow_call *slow = slowlog_newest(state->context->observer->slowlog);
    for (int calls = 0; slow != NULL && calls < SLOW_CALLS; calls++, slow = slow->older) {
        struct bytes name = name_of(slow);
        size_t i = 0;
        for (; i < count; i++) {
            struct bytes other = name_of(groups[i].worst);
            if (other.len == name.len && strncasecmp(other.data, name.data, name.len) == 0) break;
        }
        if (i == MOST) continue;
        /* The log is newest first. */
        if (i == count) groups[count++] = (struct slow_group){ slow, slow->at_sec, 0 };
        groups[i].calls++;
        if (slow->usec > groups[i].worst->usec) groups[i].worst = slow;
    }
    for (size_t i = 0; i < count; i++)
        note(&top, &groups[i], (uint64_t)groups[i].worst->usec);
    json_open(json, "slow", '[');
    for (size_t i = 0; i < top.count; i++) {
        const struct slow_group *one = &found[i];
        json_open(json, NULL, '{');
        json_text(json, "name", name_of(one->worst));
        json_integer(json, "calls", (int64_t)one->calls);
        json_integer(json, "at", one->last_sec * 1000);
        json_integer(json, "usec", one->worst->usec);
        json_integer(json, "blockedUsec", one->worst->blocked_usec);
        /* The arguments as SLOWLOG shows them, without secrets, cut to a line. */
        char line[SLOW_CHARS];
        size_t len = 0;
        for (int j = 0; j < one->worst->argc && len < sizeof(line); j++) {
            struct bytes arg = blob_view(one->worst->argv[j]);
            if (len > 0) line[len++] = ' ';
            size_t fits = sizeof(line) - len;
            if (fits > arg.len) fits = arg.len;
            if (fits > 0) memcpy(line + len, arg.data, fits);
            len += fits;
        }
        json_text(json, "call", bytes_of(line, len));
        json_text(json, "peer", blob_view(one->worst->peer));
        json_close(json, '}');
    }
    json_close(json, ']');
}

static void write_server(struct state *state, const struct figures *figures)
{
    struct json *json = &state->json;
    const struct conf *conf = state->context->conf;
    char host[HOST_SIZE] = "";
    if (gethostname(host, sizeof(host) - 1) != 0) host[0] = '\0';
    json_text(json, "version", LIT(EXPIRED_VERSION));
    json_text(json, "run", bytes_of(state->context->run_id, strlen(state->context->run_id)));
    json_text(json, "host", bytes_of(host, strlen(host)));
    json_integer(json, "port", conf->port != 0 ? conf->port : conf->tls_port);
    json_integer(json, "now", state->now);
    json_real(json, "uptime", figures->uptime);
    json_bool(json, "loading", figures->loading != 0);
    if (figures->loading == 0) return;
    json_real(json, "loadedBytes", figures->loading_bytes);
    json_real(json, "loadBytes", figures->loading_bytes_total);
    json_real(json, "loadSeconds", figures->loading_left);
}

static void write_traffic(struct state *state, const struct figures *figures)
{
    struct json *json = &state->json;
    json_open(json, "traffic", '{');
    json_real(json, "commandsPerSecond", figures->commands_rate);
    json_real(json, "bytesInPerSecond", figures->bytes_in_rate);
    json_real(json, "bytesOutPerSecond", figures->bytes_out_rate);
    json_real(json, "commands", figures->commands);
    json_real(json, "errors", figures->error_replies);
    json_real(json, "clients", figures->clients);
    json_real(json, "blocked", figures->clients_blocked);
    json_real(json, "hits", figures->hits);
    json_real(json, "misses", figures->misses);
    json_close(json, '}');
    json_open(json, "memory", '{');
    json_real(json, "used", figures->memory);
    json_real(json, "peak", figures->memory_peak);
    json_real(json, "resident", figures->memory_resident);
    json_real(json, "limit", figures->memory_limit);
    json_close(json, '}');
}

static void write_line(struct state *state, const char *name, const double *values)
{
    json_open(&state->json, name, '[');
    for (size_t i = 0; i < history_length(state->history); i++)
        json_integer(&state->json, NULL, (int64_t)values[history_slot(state->history, i)]);
    json_close(&state->json, ']');
}

/* Writes null until the first survey is complete. Leaves out spans without deadlines at the end. */
static void write_hour(struct state *state)
{
    struct json *json = &state->json;
    if (!survey_ready(state->survey)) {
        json_null(json, "hour");
        return;
    }
    struct outlook_hour *hour = mem_alloc(sizeof(*hour));
    survey_hour(state->survey, hour);
    size_t used = OUTLOOK_SPANS;
    while (used > 0 && !outlook_count_any(&hour->spans[used - 1]))
        used--;
    json_open(json, "hour", '{');
    json_integer(json, "begin", hour->begin);
    json_integer(json, "span", OUTLOOK_SPAN);
    json_integer(json, "counted", survey_began(state->survey));
    for (unsigned kind = 0; kind < OUTLOOK_KINDS; kind++) {
        json_open(json, outlook_kind_name(kind), '[');
        for (size_t i = 0; i < used; i++)
            json_real(json, NULL, (double)hour->spans[i].of[kind]);
        json_close(json, ']');
    }
    json_close(json, '}');
    mem_free(hour);
}

void state_write(struct outbuf *out, const struct admin_parts *context,
                 const struct figures_http *http, const struct survey *survey,
                 const struct history *history)
{
    struct state state = { .json = { .out = out },
                           .context = context,
                           .survey = survey,
                           .history = history,
                           .now = clock_now(context->clock) };
    struct json *json = &state.json;
    struct figures figures;
    figures_read(&figures, context, http);
    json_open(json, NULL, '{');
    write_server(&state, &figures);
    write_traffic(&state, &figures);
    json_open(json, "history", '{'); /* one value for each of the last seconds */
    write_line(&state, "commands", history->commands);
    write_line(&state, "errors", history->errors);
    write_line(&state, "memory", history->memory);
    json_close(json, '}');
    if (figures.loading == 0) {
        json_bool(json, "busy", figures.busy != 0);
        json_open(json, "expiry", '{');
        json_real(json, "keys", (double)store_count(context->engine->store));
        json_real(json, "withDeadline", figures.with_deadline);
        json_real(json, "expiredKeys", figures.expired_keys);
        json_real(json, "expiredMembers", figures.expired_members);
        json_real(json, "evictedKeys", figures.evicted_keys);
        json_real(json, "overdue", figures.overdue_keys + figures.overdue_members);
        json_real(json, "nextSeconds", figures.next_deadline); /* null: no deadline */
        json_close(json, '}');
        const struct histogram *lag = &context->engine->store->stats.lag;
        struct histogram minute;
        history_minute(history, lag, &minute);
        write_lag(json, "lag", lag);
        write_lag(json, "lagOfMinute", &minute);
        json_open(json, "journal", '{');
        json_bool(json, "on", figures.journal != 0);
        json_bool(json, "failing", figures.journal_failing != 0);
        json_bool(json, "keeps", figures.keeps != 0);
        json_real(json, "bytes", figures.journal_bytes);
        json_real(json, "syncSeconds", figures.journal_sync);
        json_close(json, '}');
        json_open(json, "replication", '{');
        json_bool(json, "follows", figures.replica != 0);
        json_bool(json, "linkUp", figures.link_up != 0);
        json_real(json, "replicas", figures.replicas);
        json_real(json, "online", figures.replicas_online);
        json_real(json, "lagBytes", figures.lag_bytes);
        json_close(json, '}');
        write_hour(&state);
        list_dehydrators(&state);
        list_groups(&state);
        list_policies(&state);
        list_commands(&state);
        list_errors(&state);
        list_slow_calls(&state);
    }
    json_close(json, '}');
}
