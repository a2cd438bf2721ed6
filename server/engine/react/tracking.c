/* tracking: see tracking.h. One table holds the sessions with tracking on; another holds the keys
 * that were read, each with the ids of its readers. The id of an ended session stays in the second
 * table, and is skipped when the key changes, so that ending a session need not search there. */
#include "server/engine/react/tracking.h"

#include <inttypes.h>
#include <stdlib.h>

#include "server/engine/react/tracking_state.h"
#include "store/base/ensure.h"
#include "store/mem/mem.h"

enum { FREED_PER_TURN = 2000 };

static struct bytes tracker_id(const void *element)
{
    return tracking_id(&((const struct tracker *)element)->id);
}

static struct bytes target_id(const void *element)
{
    return tracking_id(&((const struct target *)element)->id);
}

static struct bytes tracked_key(const void *element)
{
    const struct tracked *tracked = element;
    return bytes_of(tracked->key, tracked->key_len);
}

static struct bytes change_key(const void *element)
{
    const struct change *change = element;
    return bytes_of(change->key, change->key_len);
}

static const struct dict_type tracker_table = { .key = tracker_id };
static const struct dict_type target_table = { .key = target_id };
static const struct dict_type tracked_table = { .key = tracked_key };
static const struct dict_type change_table = { .key = change_key };

struct tracking *tracking_new(void)
{
    struct tracking *tracking = mem_zalloc(sizeof(*tracking));
    dict_init(&tracking->trackers, &tracker_table);
    dict_init(&tracking->targets, &target_table);
    dict_init(&tracking->keys, &tracked_table);
    TAILQ_INIT(&tracking->prefixes);
    SLIST_INIT(&tracking->forgotten);
    random_init(&tracking->random);
    return tracking;
}

static void tracked_free(struct tracked *tracked)
{
    mem_free(tracked->ids);
    mem_free(tracked);
}

/* Frees at most `most` forgotten keys. Returns true if some may be left. */
static bool free_forgotten(struct tracking *tracking, size_t most)
{
    struct forgotten *forgotten;
    while ((forgotten = SLIST_FIRST(&tracking->forgotten)) != NULL) {
        struct tracked *tracked;
        while ((tracked = dict_take(&forgotten->keys)) != NULL) {
            tracked_free(tracked);
            if (--most == 0) return true;
        }
        SLIST_REMOVE_HEAD(&tracking->forgotten, next);
        dict_drop(&forgotten->keys);
        mem_free(forgotten);
    }
    return false;
}

static void forget_keys(struct tracking *tracking)
{
    if (dict_count(&tracking->keys) == 0) return;
    struct forgotten *forgotten = mem_alloc(sizeof(*forgotten));
    forgotten->keys = tracking->keys;
    SLIST_INSERT_HEAD(&tracking->forgotten, forgotten, next);
    dict_init(&tracking->keys, &tracked_table);
    tracking->items = 0;
}

void tracking_free(struct tracking *tracking)
{
    ensure(dict_count(&tracking->trackers) == 0, "%zu sessions track",
           dict_count(&tracking->trackers));
    ensure(dict_count(&tracking->targets) == 0, "%zu targets are left",
           dict_count(&tracking->targets));
    forget_keys(tracking);
    free_forgotten(tracking, SIZE_MAX);
    dict_drop(&tracking->trackers);
    dict_drop(&tracking->targets);
    dict_drop(&tracking->keys);
    buffer_drop(&tracking->queue);
    mem_free(tracking);
}

/* ---- redirection ---------------------------------------------------------------------------- */

static void return_target(struct tracking *tracking, struct target *target)
{
    if (target == NULL || --target->trackers > 0) return;
    dict_remove(&tracking->targets, tracking_id(&target->id));
    mem_free(target);
}

/* ---- prefixes ------------------------------------------------------------------------------- */

static struct bytes prefix_text(const struct prefix *prefix)
{
    return bytes_of(prefix->text, prefix->len);
}

/* Finds the prefix with this text, or adds it. `before` is a prefix that sorts before the text,
 * from which the search starts, or NULL to start at the first prefix. */
static struct prefix *find_prefix(struct tracking *tracking, struct bytes text,
                                  struct prefix *before)
{
    struct prefix *prefix = before != NULL ? TAILQ_NEXT(before, next) : NULL;
    if (before == NULL) prefix = TAILQ_FIRST(&tracking->prefixes);
    for (; prefix != NULL; prefix = TAILQ_NEXT(prefix, next)) {
        int order = bytes_compare(prefix_text(prefix), text);
        if (order == 0) return prefix;
        if (order > 0) break;
        before = prefix;
    }
    prefix = mem_alloc(sizeof(*prefix) + text.len);
    LIST_INIT(&prefix->memberships);
    dict_init(&prefix->changes, &change_table);
    prefix->len = text.len;
    if (text.len > 0) memcpy(prefix->text, text.data, text.len);
    if (before != NULL)
        TAILQ_INSERT_AFTER(&tracking->prefixes, before, prefix, next);
    else
        TAILQ_INSERT_HEAD(&tracking->prefixes, prefix, next);
    return prefix;
}

/* Returns the tracker's membership in the prefix with this text, and adds it if needed. `before` is
 * where to start the search, as in find_prefix. */
static struct membership *add_membership(struct tracking *tracking, struct tracker *tracker,
                                         struct bytes text, struct membership *before)
{
    struct membership *other = before != NULL ? TAILQ_NEXT(before, of_tracker) : NULL;
    if (before == NULL) other = TAILQ_FIRST(&tracker->memberships);
    for (; other != NULL; other = TAILQ_NEXT(other, of_tracker)) {
        int order = bytes_compare(prefix_text(other->prefix), text);
        if (order == 0) return other;
        if (order > 0) break;
        before = other;
    }
    struct membership *membership = mem_alloc(sizeof(*membership));
    membership->tracker = tracker;
    tracker->bytes += sizeof(*membership) + sizeof(struct prefix) + text.len;
    membership->prefix = find_prefix(tracking, text, before != NULL ? before->prefix : NULL);
    LIST_INSERT_HEAD(&membership->prefix->memberships, membership, of_prefix);
    if (before != NULL)
        TAILQ_INSERT_AFTER(&tracker->memberships, before, membership, of_tracker);
    else
        TAILQ_INSERT_HEAD(&tracker->memberships, membership, of_tracker);
    return membership;
}

static int by_bytes(const void *a, const void *b)
{
    return bytes_compare(*(const struct bytes *)a, *(const struct bytes *)b);
}

void tracking_add_prefixes(struct tracking *tracking, struct session *session, struct bytes *texts,
                           size_t count)
{
    struct membership *before = NULL;
    if (count > 1) qsort(texts, count, sizeof(*texts), by_bytes);
    for (size_t i = 0; i < count; i++)
        if (i == 0 || by_bytes(&texts[i - 1], &texts[i]) != 0)
            before = add_membership(tracking, session->tracker, texts[i], before);
}

bool tracking_overlaps(const struct session *session, struct bytes prefix, struct bytes *other)
{
    if (session->tracker == NULL) return false;
    const struct membership *membership;
    TAILQ_FOREACH(membership, &session->tracker->memberships, of_tracker)
    {
        *other = prefix_text(membership->prefix);
        size_t len = other->len < prefix.len ? other->len : prefix.len;
        if (len == 0 || memcmp(other->data, prefix.data, len) == 0) return true;
    }
    return false;
}

void tracking_each_prefix(const struct session *session,
                          void (*visit)(void *ctx, struct bytes prefix), void *ctx)
{
    if (session->tracker == NULL) return;
    const struct membership *membership;
    TAILQ_FOREACH(membership, &session->tracker->memberships, of_tracker)
    visit(ctx, prefix_text(membership->prefix));
}

size_t tracking_bytes(const struct session *session)
{
    return session->tracker != NULL ? sizeof(*session->tracker) + session->tracker->bytes : 0;
}

/* ---- sessions ------------------------------------------------------------------------------- */

void tracking_on(struct tracking *tracking, struct session *session,
                 const struct tracking_mode *mode)
{
    struct tracker *tracker = session->tracker;
    if (tracker == NULL) {
        tracker = session->tracker = mem_zalloc(sizeof(*tracker));
        tracker->id = session->id;
        tracker->session = session;
        TAILQ_INIT(&tracker->memberships);
        dict_add(&tracking->trackers, tracker);
    }
    struct target *before = tracker->target, *target = NULL;
    if (mode->redirect != NULL) {
        target = dict_find(&tracking->targets, tracking_id(&mode->redirect->id));
        if (target == NULL) {
            target = mem_alloc(sizeof(*target));
            *target = (struct target){ .id = mode->redirect->id, .session = mode->redirect };
            dict_add(&tracking->targets, target);
        }
        target->trackers++;
    }
    tracker->target = target;
    return_target(tracking, before);
    tracker->mode = *mode;
    tracker->broken = false;
}

void tracking_off(struct tracking *tracking, struct session *session)
{
    struct tracker *tracker = session->tracker;
    if (tracker == NULL) return;
    struct membership *membership;
    while ((membership = TAILQ_FIRST(&tracker->memberships)) != NULL) {
        struct prefix *prefix = membership->prefix;
        LIST_REMOVE(membership, of_prefix);
        TAILQ_REMOVE(&tracker->memberships, membership, of_tracker);
        mem_free(membership);
        if (!LIST_EMPTY(&prefix->memberships)) continue;
        TAILQ_REMOVE(&tracking->prefixes, prefix, next);
        tracking_forget_changes(prefix);
        dict_drop(&prefix->changes);
        mem_free(prefix);
    }
    return_target(tracking, tracker->target);
    dict_remove(&tracking->trackers, tracking_id(&tracker->id));
    mem_free(tracker);
    session->tracker = NULL;
}

void tracking_forget(struct tracking *tracking, struct session *session)
{
    tracking_off(tracking, session);
    if (dict_count(&tracking->targets) > 0) {
        struct target *target = dict_find(&tracking->targets, tracking_id(&session->id));
        if (target != NULL) target->session = NULL;
    }
    /* While another session tracks, keep what this session has read, because it may turn tracking
     * on again. */
    if (dict_count(&tracking->trackers) == 0) forget_keys(tracking);
}

void tracking_set_caching(struct session *session)
{
    session->tracker->caching = true;
}

void tracking_end_caching(struct session *session)
{
    if (session->tracker != NULL) session->tracker->caching = false;
}

bool tracking_view(const struct session *session, struct tracking_view *view)
{
    const struct tracker *tracker = session->tracker;
    *view = (struct tracking_view){ 0 };
    if (tracker == NULL) return false;
    view->mode = tracker->mode;
    view->caching = tracker->caching;
    view->broken = tracker->broken;
    view->redirect_id = tracker->target != NULL ? tracker->target->id : 0;
    return true;
}

/* ---- keys that are read --------------------------------------------------------------------- */

bool tracking_active(const struct tracking *tracking)
{
    return dict_count(&tracking->trackers) > 0 || dict_count(&tracking->keys) > 0;
}

void tracking_begin_call(struct tracking *tracking)
{
    tracking->flushed = false;
}

bool tracking_wants_reads(const struct session *session)
{
    const struct tracker *tracker = session->tracker;
    if (tracker == NULL || tracker->mode.broadcast) return false;
    if (tracker->mode.opt_in) return tracker->caching;
    if (tracker->mode.opt_out) return !tracker->caching;
    return true;
}

void tracking_note_read(struct tracking *tracking, const struct session *session, struct bytes key)
{
    struct tracked *tracked = dict_find(&tracking->keys, key);
    if (tracked == NULL) {
        tracked = mem_alloc(sizeof(*tracked) + key.len);
        *tracked = (struct tracked){ .key_len = key.len };
        if (key.len > 0) memcpy(tracked->key, key.data, key.len);
        dict_add(&tracking->keys, tracked);
    }
    size_t index = 0, end = tracked->count; /* where the id is, or belongs */
    while (index < end) {
        size_t middle = index + (end - index) / 2;
        if (tracked->ids[middle] < session->id)
            index = middle + 1;
        else
            end = middle;
    }
    if (index < tracked->count && tracked->ids[index] == session->id) return;
    if (tracked->count == tracked->cap) {
        tracked->cap = tracked->cap > 0 ? 2 * tracked->cap : 1;
        tracked->ids = mem_realloc(tracked->ids, tracked->cap * sizeof(*tracked->ids));
    }
    memmove(tracked->ids + index + 1, tracked->ids + index,
            (tracked->count - index) * sizeof(*tracked->ids));
    tracked->ids[index] = session->id;
    tracked->count++;
    tracking->items++;
}

/* ---- keys that change ----------------------------------------------------------------------- */

/* Queues messages to the readers of the key, and forgets that they have read it. `own` is the id of
 * the session that changed the key. */
static void notify_readers(struct tracking *tracking, struct bytes key, uint64_t own)
{
    struct tracked *tracked = dict_remove(&tracking->keys, key);
    if (tracked == NULL) return;
    tracking->items -= tracked->count;
    for (size_t i = 0; i < tracked->count; i++) {
        const struct tracker *tracker =
            dict_find(&tracking->trackers, tracking_id(&tracked->ids[i]));
        if (tracker == NULL || tracker->mode.broadcast) continue;
        if (tracker->mode.no_loop && tracker->id == own) continue;
        tracking_queue(tracking, tracker->id, tracked_key(tracked), tracker->id == own);
    }
    tracked_free(tracked);
}

/* Queues messages about a key that changed. `by` is the id of the session that changed it, or 0. */
static void key_changed(struct tracking *tracking, struct bytes key, enum event event, uint64_t by)
{
    tracking_note_change(tracking, key, event == EVENT_EXPIRED ? 0 : by);
    notify_readers(tracking, key, by);
}

void tracking_effect(struct tracking *tracking, const struct effect *effect,
                     const struct session *caller)
{
    uint64_t by = caller != NULL ? caller->id : 0;
    const struct tracker *tracker;
    struct dict_iter iter;
    switch (effect->kind) {
    case EFFECT_NONE: return;
    case EFFECT_FLUSH:
    /* DIFFERS: Redis sends nothing for SWAPDB, which leaves caches wrong. (doc/differs.md) */
    case EFFECT_SWAP:
        /* FLUSHALL sends one message, however many databases it empties. */
        if (tracking->flushed) return;
        tracking->flushed = true;
        dict_iter_begin(&iter, &tracking->trackers);
        while ((tracker = dict_iter_next(&iter)) != NULL)
            tracking_queue(tracking, tracker->id, bytes_of(NULL, 0), tracker->id == by);
        forget_keys(tracking);
        return;
    case EFFECT_COPY: key_changed(tracking, effect->a, effect->event, by); return;
    case EFFECT_RENAME:
        key_changed(tracking, effect->key, effect->event, by);
        key_changed(tracking, effect->a, effect->event, by);
        return;
    default: key_changed(tracking, effect->key, effect->event, by); return;
    }
}

/* ---- limits --------------------------------------------------------------------------------- */

bool tracking_trim(struct tracking *tracking, size_t max, size_t most)
{
    if (max == 0 || dict_count(&tracking->keys) <= max) return false;
    for (; most > 0 && dict_count(&tracking->keys) > max; most--) {
        const struct tracked *tracked =
            dict_random(&tracking->keys, random_next, &tracking->random);
        notify_readers(tracking, tracked_key(tracked), 0);
    }
    tracking_flush(tracking);
    return true;
}

void tracking_limit(struct tracking *tracking, size_t max)
{
    enum { EFFORT = 100 };
    bool over = tracking_trim(tracking, max, EFFORT * ((size_t)tracking->late + 1));
    tracking->late = over ? tracking->late + 1 : 0;
}

void tracking_turn(struct tracking *tracking)
{
    tracking_notify_prefixes(tracking);
    free_forgotten(tracking, FREED_PER_TURN);
}

/* ---- totals and checks ---------------------------------------------------------------------- */

struct tracking_totals tracking_totals(const struct tracking *tracking)
{
    struct tracking_totals totals = { .sessions = dict_count(&tracking->trackers),
                                      .keys = dict_count(&tracking->keys),
                                      .items = tracking->items };
    const struct prefix *prefix;
    TAILQ_FOREACH(prefix, &tracking->prefixes, next)
    totals.prefixes++;
    return totals;
}

void tracking_check(const struct tracking *tracking)
{
    dict_check(&tracking->keys);
    struct dict_iter iter;
    const struct tracked *tracked;
    size_t items = 0;
    dict_iter_begin(&iter, &tracking->keys);
    while ((tracked = dict_iter_next(&iter)) != NULL) {
        ensure(tracked->count > 0, "a key of %zu bytes without readers", tracked->key_len);
        for (size_t i = 1; i < tracked->count; i++)
            ensure(tracked->ids[i - 1] < tracked->ids[i], "reader %" PRIu64 " is before %" PRIu64,
                   tracked->ids[i - 1], tracked->ids[i]);
        items += tracked->count;
    }
    ensure(items == tracking->items, "%zu readers of all keys, not %zu", items, tracking->items);

    const struct tracker *tracker;
    size_t redirected = 0, wanted = 0;
    dict_iter_begin(&iter, &tracking->trackers);
    while ((tracker = dict_iter_next(&iter)) != NULL) {
        ensure(tracker->session->tracker == tracker, "session %" PRIu64, tracker->id);
        redirected += tracker->target != NULL;
    }
    const struct target *target;
    dict_iter_begin(&iter, &tracking->targets);
    while ((target = dict_iter_next(&iter)) != NULL)
        wanted += target->trackers;
    ensure(redirected == wanted, "%zu sessions redirect, not %zu", redirected, wanted);
    const struct prefix *prefix;
    TAILQ_FOREACH(prefix, &tracking->prefixes, next)
    ensure(!LIST_EMPTY(&prefix->memberships), "a prefix without trackers: %.*s", (int)prefix->len,
           prefix->text);
}
