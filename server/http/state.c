/* state: see state.h. Instants are Unix time in milliseconds, sizes bytes, rates per second. */
#include "server/http/state.h"

#include "server/base/version.h"
#include "server/http/json.h"
#include "server/observe/observe.h"
#include "store/mem/blob.h"
#include "store/mem/mem.h"

enum { SLOW_SHOWN = 20, SLOW_CHARS = 240, BACKLOG_SHOWN = 50 };

struct state {
    struct json json;
    const struct server_context *context;
    const struct survey *survey;
    msec now;
};

static void write_server(struct state *state, const struct figures *figures)
{
    struct json *json = &state->json;
    json_text(json, "version", LIT(EXPIRED_VERSION));
    json_text(json, "run", bytes_of(state->context->run_id, strlen(state->context->run_id)));
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
    json_open(json, "lag", '{');
    json_integer(json, "p50", lag_percentile(lag, 50));
    json_integer(json, "p90", lag_percentile(lag, 90));
    json_integer(json, "p99", lag_percentile(lag, 99));
    json_integer(json, "p999", lag_percentile(lag, 99.9));
    json_integer(json, "max", lag->max);
    json_real(json, "count", (double)lag->total);
    json_close(json, '}');
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

/* ---- dehydrators: those with the largest backlog --------------------------------------------- */

struct backlog {
    struct surveyed most[BACKLOG_SHOWN]; /* the most elements due first */
    size_t count, total;
};

static void note_backlog(void *ctx, const struct surveyed *dehydrator)
{
    struct backlog *backlog = ctx;
    backlog->total++;
    size_t place = backlog->count;
    while (place > 0 && backlog->most[place - 1].due < dehydrator->due)
        place--;
    if (place == BACKLOG_SHOWN) return;
    if (backlog->count < BACKLOG_SHOWN) backlog->count++;
    memmove(&backlog->most[place + 1], &backlog->most[place],
            (backlog->count - 1 - place) * sizeof(backlog->most[0]));
    backlog->most[place] = *dehydrator;
}

static void write_dehydrators(struct state *state)
{
    struct json *json = &state->json;
    struct backlog backlog = { .count = 0 };
    survey_dehydrators(state->survey, state->now, note_backlog, &backlog);
    json_integer(json, "dehydratorCount", (int64_t)(backlog.total + survey_omitted(state->survey)));
    json_open(json, "dehydrators", '[');
    for (size_t i = 0; i < backlog.count; i++) {
        const struct surveyed *one = &backlog.most[i];
        json_open(json, NULL, '{');
        json_integer(json, "db", one->db);
        json_text(json, "key", one->key);
        json_integer(json, "length", (int64_t)one->length);
        json_integer(json, "due", (int64_t)one->due);
        json_integer(json, "claimed", (int64_t)one->claimed);
        json_integer(json, "redelivered", (int64_t)one->redelivered);
        if (one->next == NEVER)
            json_null(json, "next");
        else
            json_integer(json, "next", one->next);
        json_close(json, '}');
    }
    json_close(json, ']');
}

/* ---- the slow log ---------------------------------------------------------------------------- */

/* The arguments as SLOWLOG shows them, without secrets, cut to a line. */
static void write_slow_arguments(struct state *state, const struct slow_call *slow)
{
    char line[SLOW_CHARS];
    size_t len = 0;
    for (int i = 0; i < slow->argc && len < sizeof(line); i++) {
        struct bytes arg = blob_view(slow->argv[i]);
        if (len > 0) line[len++] = ' ';
        size_t fits = sizeof(line) - len;
        if (fits > arg.len) fits = arg.len;
        if (fits > 0) memcpy(line + len, arg.data, fits);
        len += fits;
    }
    json_text(&state->json, "call", bytes_of(line, len));
}

static void write_slowlog(struct state *state)
{
    struct json *json = &state->json;
    const struct slow_call *slow = slowlog_newest(state->context->observer->slowlog);
    json_open(json, "slowlog", '[');
    for (int shown = 0; slow != NULL && shown < SLOW_SHOWN; shown++, slow = slow->older) {
        json_open(json, NULL, '{');
        json_integer(json, "id", (int64_t)slow->id);
        json_integer(json, "at", slow->at_sec * 1000);
        json_integer(json, "usec", slow->usec);
        json_integer(json, "blockedUsec", slow->blocked_usec);
        write_slow_arguments(state, slow);
        json_text(json, "peer", blob_view(slow->peer));
        json_close(json, '}');
    }
    json_close(json, ']');
}

void state_write(struct outbuf *out, const struct server_context *context,
                 const struct figures_http *http, const struct survey *survey)
{
    struct state state = { .json = { .out = out },
                           .context = context,
                           .survey = survey,
                           .now = clock_now(context->clock) };
    struct figures figures;
    figures_read(&figures, context, http);
    json_open(&state.json, NULL, '{');
    write_server(&state, &figures);
    write_traffic(&state, &figures);
    if (figures.loading == 0) {
        json_bool(&state.json, "busy", figures.busy != 0);
        write_expiry(&state, &figures);
        write_journal(&state, &figures);
        write_replication(&state, &figures);
        write_hour(&state);
        write_dehydrators(&state);
        write_slowlog(&state);
    }
    json_close(&state.json, '}');
}
