/* dehydrator_extras: see dehydrator_extras.h. */
#include "store/type/dehydrator_extras.h"

#include "store/base/ensure.h"
#include "store/mem/mem.h"
#include "store/struct/dict.h"
#include "store/struct/timeline.h"
#include "store/type/schedules.h"

/* A record of either table. A successor uses all fields but `end`; a remembered id uses only `end`,
 * `at` and the id. */
struct note {
    struct timeline_node end; /* when the id is no longer remembered */
    size_t id_len, payload_len;
    msec at;
    struct push_options options; /* without the text of a schedule */
    size_t cron_len;
    char data[]; /* the id, the payload, the text of the schedule */
};

struct extras {
    struct dict successors, remembered;
    struct timeline ends;        /* remembered ids, by when they are forgotten */
    size_t bytes;                /* memory of the notes and of this struct */
    msec paused;                 /* the end of the pause; 0 if there is none */
    int64_t next_usec;           /* earliest time of the next delivery; 0 if not limited */
    struct schedules *schedules; /* NULL until first needed */
};

static struct bytes note_id(const void *note)
{
    const struct note *of = note;
    return bytes_of(of->data, of->id_len);
}

static const struct dict_type notes_type = { .key = note_id };

static struct note *note_of(struct timeline_node *end)
{
    return (struct note *)(void *)((char *)end - offsetof(struct note, end));
}

static struct note *note_new(struct extras *extras, const struct successor *from)
{
    struct bytes cron = from->options.cron;
    struct note *note = mem_alloc(sizeof(*note) + from->id.len + from->payload.len + cron.len);
    timeline_node_init(&note->end);
    note->id_len = from->id.len;
    note->payload_len = from->payload.len;
    note->at = from->at;
    note->options = from->options;
    note->cron_len = cron.len;
    if (from->id.len > 0) memcpy(note->data, from->id.data, from->id.len);
    if (from->payload.len > 0)
        memcpy(note->data + from->id.len, from->payload.data, from->payload.len);
    if (cron.len > 0) memcpy(note->data + from->id.len + from->payload.len, cron.data, cron.len);
    extras->bytes += mem_size(note);
    return note;
}

static bool drop_note(struct extras *extras, struct dict *from, struct bytes id)
{
    struct note *note = dict_remove(from, id);
    if (note == NULL) return false;
    timeline_cancel(&extras->ends, &note->end);
    extras->bytes -= mem_size(note);
    mem_free(note);
    return true;
}

struct extras *extras_new(void)
{
    struct extras *extras = mem_alloc(sizeof(*extras));
    dict_init(&extras->successors, &notes_type);
    dict_init(&extras->remembered, &notes_type);
    timeline_init(&extras->ends);
    extras->bytes = mem_size(extras);
    extras->paused = 0;
    extras->next_usec = 0;
    extras->schedules = NULL;
    return extras;
}

static bool free_notes_some(struct dict *dict, size_t *work)
{
    for (; *work > 0 && dict_count(dict) > 0; --*work)
        mem_free(dict_take(dict));
    return dict_count(dict) == 0;
}

bool extras_free_some(struct extras *extras, size_t *work)
{
    if (extras == NULL) return true;
    if (!free_notes_some(&extras->successors, work)) return false;
    if (!free_notes_some(&extras->remembered, work)) return false;
    if (!timeline_drop_some(&extras->ends, work)) return false;
    dict_drop(&extras->successors);
    dict_drop(&extras->remembered);
    schedules_free(extras->schedules);
    mem_free(extras);
    return true;
}

size_t extras_count(const struct extras *extras)
{
    return dict_count(&extras->successors) + dict_count(&extras->remembered);
}

bool extras_are_empty(const struct extras *extras)
{
    return dict_count(&extras->successors) == 0 && dict_count(&extras->remembered) == 0 &&
           extras->paused == 0 && extras->next_usec == 0;
}

static msec later(msec a, msec b)
{
    return a > b ? a : b;
}

msec extras_over_at(const struct extras *extras)
{
    const struct timeline *ends = &extras->ends;
    uint32_t count = timeline_count(ends);
    msec at = extras->paused;
    if (dict_count(&extras->successors) > 0 || at == INSTANT_MAX) return NEVER;
    if (count > 0) at = later(at, timeline_at(ends, timeline_nth(ends, count - 1)));
    return extras->next_usec != 0 ? later(at, extras_rate_end(extras)) : at;
}

size_t extras_bytes(const struct extras *extras)
{
    return extras->bytes + dict_bytes(&extras->successors) + dict_bytes(&extras->remembered) +
           timeline_bytes(&extras->ends) + schedules_bytes(extras->schedules);
}

static size_t check_notes(const struct dict *notes, bool have_ends)
{
    struct dict_iter iter;
    const struct note *note;
    size_t bytes = 0;
    dict_check(notes);
    dict_iter_begin(&iter, notes);
    while ((note = dict_iter_next(&iter)) != NULL) {
        ensure(timeline_node_armed(&note->end) == have_ends, "a note of %zu bytes",
               note->payload_len);
        bytes += mem_size(note);
    }
    return bytes;
}

void extras_check(const struct extras *extras)
{
    timeline_check(&extras->ends);
    size_t bytes = mem_size(extras) + check_notes(&extras->successors, false) +
                   check_notes(&extras->remembered, true);
    ensure(bytes == extras->bytes, "%zu bytes, counted %zu", bytes, extras->bytes);
    ensure(timeline_count(&extras->ends) == dict_count(&extras->remembered), "%u ends",
           timeline_count(&extras->ends));
}

/* ---- successors ------------------------------------------------------------------------------ */

static struct successor show(const struct note *note)
{
    struct successor successor = { .id = note_id(note),
                                   .payload =
                                       bytes_of(note->data + note->id_len, note->payload_len),
                                   .at = note->at,
                                   .options = note->options };
    successor.options.cron =
        bytes_of(note->data + note->id_len + note->payload_len, note->cron_len);
    return successor;
}

void extras_follow(struct extras *extras, const struct successor *successor)
{
    struct note *note = note_new(extras, successor);
    drop_note(extras, &extras->successors, successor->id);
    dict_add(&extras->successors, note);
}

bool extras_successor(const struct extras *extras, struct bytes id, struct successor *successor)
{
    const struct note *note = dict_find(&extras->successors, id);
    if (note != NULL) *successor = show(note);
    return note != NULL;
}

bool extras_unfollow(struct extras *extras, struct bytes id)
{
    return drop_note(extras, &extras->successors, id);
}

void extras_each_successor(const struct extras *extras,
                           void (*visit)(void *ctx, const struct successor *successor), void *ctx)
{
    struct dict_iter iter;
    const struct note *note;
    dict_iter_begin(&iter, &extras->successors);
    while ((note = dict_iter_next(&iter)) != NULL) {
        struct successor successor = show(note);
        visit(ctx, &successor);
    }
}

/* ---- schedules ------------------------------------------------------------------------------- */

struct schedules *extras_schedules(const struct extras *extras)
{
    return extras->schedules;
}

struct schedules *extras_schedules_made(struct extras *extras)
{
    if (extras->schedules == NULL) extras->schedules = schedules_new();
    return extras->schedules;
}

/* ---- remembered ids -------------------------------------------------------------------------- */

void extras_remember(struct extras *extras, struct bytes id, msec until)
{
    struct note *note = note_new(extras, &(struct successor){ .id = id, .at = until });
    drop_note(extras, &extras->remembered, id);
    dict_add(&extras->remembered, note);
    timeline_add(&extras->ends, &note->end, until);
}

msec extras_remembered_until(const struct extras *extras, struct bytes id)
{
    const struct note *note = dict_find(&extras->remembered, id);
    return note == NULL ? 0 : note->at;
}

bool extras_forget(struct extras *extras, struct bytes id)
{
    return drop_note(extras, &extras->remembered, id);
}

void extras_pause(struct extras *extras, msec until)
{
    extras->paused = until;
}

msec extras_paused(const struct extras *extras)
{
    return extras->paused;
}

void extras_set_next_usec(struct extras *extras, int64_t next)
{
    extras->next_usec = next;
}

int64_t extras_next_usec(const struct extras *extras)
{
    return extras->next_usec;
}

msec extras_rate_end(const struct extras *extras)
{
    return extras->next_usec == 0 ? NEVER : extras->next_usec / USEC_PER_MSEC + 1;
}

msec extras_next_due(const struct extras *extras, bool has_elements)
{
    struct bytes id;
    msec first = extras_next_end(extras, &id);
    msec rate = has_elements ? NEVER : extras_rate_end(extras);
    bool pause_ends = extras->paused != 0 && extras->paused < INSTANT_MAX;
    if (pause_ends && extras->paused < first) first = extras->paused;
    return rate < first ? rate : first;
}

msec extras_next_due_after(const struct extras *extras, bool has_elements, msec now)
{
    msec first = NEVER, rate = has_elements ? NEVER : extras_rate_end(extras);
    if (timeline_after(&extras->ends, now, &first) == NULL) first = NEVER;
    if (extras->paused > now && extras->paused < INSTANT_MAX && extras->paused < first)
        first = extras->paused;
    return rate > now && rate < first ? rate : first;
}

msec extras_next_end(const struct extras *extras, struct bytes *id)
{
    if (timeline_count(&extras->ends) > 0 && id != NULL)
        *id = note_id(note_of(timeline_first(&extras->ends)));
    return timeline_next(&extras->ends);
}

void extras_each_remembered(const struct extras *extras,
                            void (*visit)(void *ctx, struct bytes id, msec until), void *ctx)
{
    struct timeline_walk walk;
    struct timeline_node *node;
    msec until;
    timeline_walk_begin(&walk, &extras->ends);
    while ((node = timeline_walk_next(&walk, &until)) != NULL)
        visit(ctx, note_id(note_of(node)), until);
    timeline_walk_end(&walk);
}
