/* state_lists: see state_lists.h. Instants are Unix time in milliseconds. */
#include "server/http/state_lists.h"

#include <string.h>
#include <strings.h>

#include "server/engine/observe/observe.h"
#include "store/mem/blob.h"
#include "store/type/stream/stream_progress.h"

enum {
    MOST = 50,
    SLOW_CHARS = 160,  /* of an example */
    SLOW_CALLS = 1000, /* the newest that are looked at */
    NAME_SIZE = 128,   /* of a command */
};

/* ---- the entries with the largest weights ---------------------------------------------------- */

struct top {
    void *entries; /* MOST of them, the heaviest first */
    uint64_t weights[MOST];
    size_t size, count, total;
};

static void note(struct top *top, const void *entry, uint64_t weight)
{
    char *entries = top->entries;
    size_t place = top->count;
    top->total++;
    while (place > 0 && top->weights[place - 1] < weight)
        place--;
    if (place == MOST) return;
    if (top->count < MOST) top->count++;
    size_t behind = top->count - 1 - place;
    memmove(&top->weights[place + 1], &top->weights[place], behind * sizeof(weight));
    memmove(entries + (place + 1) * top->size, entries + place * top->size, behind * top->size);
    top->weights[place] = weight;
    memcpy(entries + place * top->size, entry, top->size);
}

/* ---- dehydrators and groups ------------------------------------------------------------------ */

static void note_dehydrator(void *ctx, const struct surveyed *dehydrator)
{
    note(ctx, dehydrator, dehydrator->due);
}

void state_write_dehydrators(struct state *state)
{
    struct json *json = &state->json;
    struct surveyed found[MOST];
    struct top top = { .entries = found, .size = sizeof(found[0]) };
    survey_dehydrators(state->survey, state->now, note_dehydrator, &top);
    json_integer(json, "dehydratorCount", (int64_t)(top.total + survey_omitted(state->survey)));
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

void state_write_groups(struct state *state)
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

/* ---- commands and errors --------------------------------------------------------------------- */

static void note_command(void *ctx, struct command_ref ref)
{
    if (ref.stats->calls > 0) note(ctx, &ref, ref.stats->usec);
}

void state_write_commands(struct state *state)
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

void state_write_errors(struct state *state)
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

/* ---- the slow log ---------------------------------------------------------------------------- */

struct slow_group {
    const struct slow_call *worst;
    int64_t last_sec;
    uint64_t calls;
};

static struct bytes name_of(const struct slow_call *slow)
{
    return slow->argc > 0 ? blob_view(slow->argv[0]) : LIT("");
}

static bool has_same_name(const struct slow_call *one, const struct slow_call *other)
{
    struct bytes a = name_of(one), b = name_of(other);
    return a.len == b.len && strncasecmp(a.data, b.data, a.len) == 0;
}

/* Adds the call to the group of its command, or begins one. The log is newest first. */
static void add_slow(struct slow_group *groups, size_t *count, const struct slow_call *slow)
{
    size_t i = 0;
    while (i < *count && !has_same_name(groups[i].worst, slow))
        i++;
    if (i == MOST) return;
    if (i == *count) groups[(*count)++] = (struct slow_group){ slow, slow->at_sec, 0 };
    groups[i].calls++;
    if (slow->usec > groups[i].worst->usec) groups[i].worst = slow;
}

/* The arguments as SLOWLOG shows them, without secrets, cut to a line. */
static void write_example(struct json *json, const struct slow_call *slow)
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
    json_text(json, "call", bytes_of(line, len));
}

void state_write_slow_calls(struct state *state)
{
    struct json *json = &state->json;
    struct slow_group groups[MOST], found[MOST];
    struct top top = { .entries = found, .size = sizeof(found[0]) };
    size_t count = 0;
    const struct slow_call *slow = slowlog_newest(state->context->observer->slowlog);
    for (int i = 0; slow != NULL && i < SLOW_CALLS; i++, slow = slow->older)
        add_slow(groups, &count, slow);
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
        write_example(json, one->worst);
        json_text(json, "peer", blob_view(one->worst->peer));
        json_close(json, '}');
    }
    json_close(json, ']');
}
