/* tracking_notify: sends the messages of tracking. Messages to readers of a key are queued until
 * the commit; changes that match prefixes are collected until the end of the turn. */
#include <stdlib.h>
#include <string.h>

#include "server/engine/react/tracking_state.h"
#include "store/mem/mem.h"

enum { KEPT_QUEUE = 64 * 1024 };

static const char CHANNEL[] = "__redis__:invalidate";

/* The content of a message. Without views, all keys changed. */
struct invalidation {
    struct bytes *keys;
    size_t count;
};

/* DIFFERS: "all keys" is written as a null. If a session redirects its messages to one with another
 * protocol version, Redis writes the null of the wrong version; here it is that of the receiver.
 * (doc/differs.md) */
static void notify_tracker(struct tracker *tracker, const struct invalidation *message)
{
    bool redirected = tracker->target != NULL;
    struct session *to = redirected ? tracker->target->session : tracker->session;
    bool broken = redirected && to == NULL;
    if (broken) to = tracker->session;
    /* Sent even with CLIENT REPLY OFF, which suppresses replies only. */
    struct resp_writer out = { .out = session_push_out(to), .version = to->out.version };
    if (broken) {
        tracker->broken = true;
        if (!resp_has_push(&out)) return;
        resp_push(&out, 2);
        resp_bulk_text(&out, "tracking-redir-broken");
        resp_integer(&out, (int64_t)tracker->target->id);
        session_notify(to);
        return;
    }
    if (resp_has_push(&out)) {
        resp_push(&out, 2);
        resp_bulk_text(&out, "invalidate");
    } else if (redirected && session_subscriptions(to) > 0) {
        resp_push(&out, 3);
        resp_bulk_text(&out, "message");
        resp_bulk_text(&out, CHANNEL);
    } else {
        return; /* RESP2 has no pushes: only a subscriber can be notified */
    }
    if (message->keys == NULL) resp_null(&out);
    if (message->keys != NULL) resp_array(&out, message->count);
    for (size_t i = 0; i < message->count; i++)
        resp_bulk(&out, message->keys[i].data, message->keys[i].len);
    session_notify(to);
}

/* One message in the queue. The key's bytes follow. */
struct record {
    uint64_t id;
    bool everything, own;
    size_t key_len;
};

void tracking_queue(struct tracking *tracking, uint64_t id, struct bytes key, bool own)
{
    struct record record = {
        .id = id, .everything = key.data == NULL, .own = own, .key_len = key.len
    };
    tracking->queued_own |= own;
    buffer_append(&tracking->queue, &record, sizeof(record));
    if (key.data != NULL) buffer_append(&tracking->queue, key.data, key.len);
}

static void send_queued(struct tracking *tracking, bool own)
{
    for (size_t at = 0; at < tracking->queue.len;) {
        struct record record;
        memcpy(&record, tracking->queue.data + at, sizeof(record));
        at += sizeof(record);
        struct bytes key = bytes_of(tracking->queue.data + at, record.key_len);
        at += record.key_len;
        if (record.own != own) continue;
        struct tracker *tracker = dict_find(&tracking->trackers, tracking_id(&record.id));
        if (tracker == NULL) continue;
        struct invalidation message = { 0 };
        if (!record.everything) message = (struct invalidation){ .keys = &key, .count = 1 };
        notify_tracker(tracker, &message);
    }
}

/* As in Redis, messages about a session's own changes are sent last. The order is visible if a
 * session redirects its messages to a session that also receives those of others. */
void tracking_flush(struct tracking *tracking)
{
    send_queued(tracking, false);
    if (tracking->queued_own) send_queued(tracking, true);
    tracking->queued_own = false;
    tracking->queue.len = 0;
    if (tracking->queue.cap > KEPT_QUEUE) buffer_drop(&tracking->queue);
}

void tracking_note_change(struct tracking *tracking, struct bytes key, uint64_t by)
{
    struct prefix *prefix;
    TAILQ_FOREACH(prefix, &tracking->prefixes, next)
    {
        if (prefix->len > key.len) continue;
        if (prefix->len > 0 && memcmp(prefix->text, key.data, prefix->len) != 0) continue;
        struct change *change = dict_find(&prefix->changes, key);
        if (change == NULL) {
            change = mem_alloc(sizeof(*change) + key.len);
            change->key_len = key.len;
            if (key.len > 0) memcpy(change->key, key.data, key.len);
            dict_add(&prefix->changes, change);
        }
        change->by = by;
    }
}

void tracking_forget_changes(struct prefix *prefix)
{
    struct change *change;
    while ((change = dict_take(&prefix->changes)) != NULL)
        mem_free(change);
}

static int by_key(const void *a, const void *b)
{
    const struct change *const *one = a, *const *other = b;
    return bytes_compare(bytes_of((*one)->key, (*one)->key_len),
                         bytes_of((*other)->key, (*other)->key_len));
}

static void notify_prefix(struct prefix *prefix)
{
    size_t count = dict_count(&prefix->changes), at = 0;
    const struct change **changes = mem_alloc(count * sizeof(*changes));
    struct dict_iter iter;
    dict_iter_begin(&iter, &prefix->changes);
    while (at < count)
        changes[at++] = dict_iter_next(&iter);
    qsort(changes, count, sizeof(*changes), by_key);
    struct invalidation message = { .keys = mem_alloc(count * sizeof(*message.keys)) };
    struct membership *membership;
    LIST_FOREACH(membership, &prefix->memberships, of_prefix)
    {
        struct tracker *tracker = membership->tracker;
        message.count = 0;
        for (size_t i = 0; i < count; i++)
            if (!tracker->mode.no_loop || changes[i]->by != tracker->id)
                message.keys[message.count++] = bytes_of(changes[i]->key, changes[i]->key_len);
        if (message.count > 0) notify_tracker(tracker, &message);
    }
    mem_free(message.keys);
    mem_free(changes);
    tracking_forget_changes(prefix);
}

void tracking_notify_prefixes(struct tracking *tracking)
{
    struct prefix *prefix;
    TAILQ_FOREACH(prefix, &tracking->prefixes, next)
    if (dict_count(&prefix->changes) > 0) notify_prefix(prefix);
}
