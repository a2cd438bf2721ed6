/* state: see state.h. Instants are Unix time in milliseconds, sizes bytes, rates per second. */
#include "server/http/state.h"

#include <string.h>
#include <unistd.h>

#include "server/base/version.h"
#include "server/http/json.h"
#include "server/http/state_lists.h"
#include "store/mem/mem.h"

enum { HOST_SIZE = 256 };

/* Under which name and port clients find the server. */
static void write_place(struct state *state)
{
    const struct conf *conf = state->context->conf;
    char host[HOST_SIZE] = "";
    if (gethostname(host, sizeof(host) - 1) != 0) host[0] = '\0';
    json_text(&state->json, "host", bytes_of(host, strlen(host)));
    json_integer(&state->json, "port", conf->port != 0 ? conf->port : conf->tls_port);
}

static void write_server(struct state *state, const struct figures *figures)
{
    struct json *json = &state->json;
    json_text(json, "version", LIT(EXPIRED_VERSION));
    json_text(json, "run", bytes_of(state->context->run_id, strlen(state->context->run_id)));
    write_place(state);
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

static void write_lag(struct json *json, const char *name, const struct lag *lag)
{
    json_open(json, name, '{');
    json_integer(json, "p50", lag_percentile(lag, 50));
    json_integer(json, "p90", lag_percentile(lag, 90));
    json_integer(json, "p99", lag_percentile(lag, 99));
    json_integer(json, "p999", lag_percentile(lag, 99.9));
    json_integer(json, "max", lag->max);
    json_real(json, "count", (double)lag->total);
    json_close(json, '}');
}

static void write_line(struct state *state, const char *name, const double *values)
{
    json_open(&state->json, name, '[');
    for (size_t i = 0; i < history_length(state->history); i++)
        json_integer(&state->json, NULL, (int64_t)values[history_place(state->history, i)]);
    json_close(&state->json, ']');
}

/* One value for each of the last seconds. */
static void write_history(struct state *state)
{
    json_open(&state->json, "history", '{');
    write_line(state, "commands", state->history->commands);
    write_line(state, "errors", state->history->errors);
    write_line(state, "memory", state->history->memory);
    json_close(&state->json, '}');
}

static void write_expiry(struct state *state, const struct figures *figures)
{
    struct json *json = &state->json;
    const struct lag *lag = &state->context->store->stats.lag;
    json_open(json, "expiry", '{');
    json_real(json, "keys", (double)store_count(state->context->store));
    json_real(json, "withDeadline", figures->with_deadline);
    json_real(json, "expiredKeys", figures->expired_keys);
    json_real(json, "expiredMembers", figures->expired_members);
    json_real(json, "evictedKeys", figures->evicted_keys);
    json_real(json, "overdue", figures->overdue_keys + figures->overdue_members);
    json_real(json, "nextSeconds", figures->next_deadline); /* null: there is none */
    json_close(json, '}');
    struct lag minute;
    history_minute(state->history, lag, &minute);
    write_lag(json, "lag", lag);
    write_lag(json, "lagOfMinute", &minute);
}

static void write_journal(struct state *state, const struct figures *figures)
{
    struct json *json = &state->json;
    json_open(json, "journal", '{');
    json_bool(json, "on", figures->journal != 0);
    json_bool(json, "failing", figures->journal_failing != 0);
    json_bool(json, "keeps", figures->keeps != 0);
    json_real(json, "bytes", figures->journal_bytes);
    json_real(json, "syncSeconds", figures->journal_sync);
    json_close(json, '}');
}

static void write_replication(struct state *state, const struct figures *figures)
{
    struct json *json = &state->json;
    json_open(json, "replication", '{');
    json_bool(json, "follows", figures->replica != 0);
    json_bool(json, "linkUp", figures->link_up != 0);
    json_real(json, "replicas", figures->replicas);
    json_real(json, "online", figures->replicas_online);
    json_real(json, "lagBytes", figures->lag_bytes);
    json_close(json, '}');
}

/* Null until the first survey is complete. Spans without deadlines at the end are left out. */
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
    while (used > 0 && hour->spans[used - 1].keys + hour->spans[used - 1].members == 0)
        used--;
    json_open(json, "hour", '{');
    json_integer(json, "begin", hour->begin);
    json_integer(json, "span", OUTLOOK_SPAN);
    json_integer(json, "counted", survey_began(state->survey));
    json_open(json, "keys", '[');
    for (size_t i = 0; i < used; i++)
        json_real(json, NULL, (double)hour->spans[i].keys);
    json_close(json, ']');
    json_open(json, "members", '[');
    for (size_t i = 0; i < used; i++)
        json_real(json, NULL, (double)hour->spans[i].members);
    json_close(json, ']');
    json_close(json, '}');
    mem_free(hour);
}

void state_write(struct outbuf *out, const struct server_context *context,
                 const struct figures_http *http, const struct survey *survey,
                 const struct history *history)
{
    struct state state = { .json = { .out = out },
                           .context = context,
                           .survey = survey,
                           .history = history,
                           .now = clock_now(context->clock) };
    struct figures figures;
    figures_read(&figures, context, http);
    json_open(&state.json, NULL, '{');
    write_server(&state, &figures);
    write_traffic(&state, &figures);
    write_history(&state);
    if (figures.loading == 0) {
        json_bool(&state.json, "busy", figures.busy != 0);
        write_expiry(&state, &figures);
        write_journal(&state, &figures);
        write_replication(&state, &figures);
        write_hour(&state);
        state_write_dehydrators(&state);
        state_write_groups(&state);
        state_write_commands(&state);
        state_write_errors(&state);
        state_write_slow_calls(&state);
    }
    json_close(&state.json, '}');
}
