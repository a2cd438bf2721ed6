/* notify: the flags, the queue of events, and their two kinds of channels.
 * Knows event names and classes; refuses to know what caused an event. */
#include "server/notify.h"

#include <stdio.h>
#include <string.h>

#include "store/mem.h"

/* 'A' stands for the first ones. */
static const char letters[] = "g$lshzxetdnKEm";

enum {
    ALIAS_LETTERS = 10,
    ALIAS = (1 << ALIAS_LETTERS) - 1,
    NEW_KEYS = 1 << ALIAS_LETTERS,
    ON_KEYSPACE = NEW_KEYS << 1,
    ON_KEYEVENT = ON_KEYSPACE << 1,
    KEY_MISSES = ON_KEYEVENT << 1,
    KEPT_BUFFER = 64 * 1024, /* a buffer that has grown beyond is given back */
    PREFIX_SIZE = 32,        /* of "__keyspace@4294967295__:" */
};

struct buffer {
    char *data;
    size_t len, room;
};

/* In the queue, with the key behind it. */
struct record {
    enum event event;
    unsigned flags; /* on which channels, as it was wanted when it happened */
    unsigned db;
    size_t key_len;
};

struct notify {
    struct pubsub *pubsub;
    unsigned flags;
    bool wanted[EVENT_COUNT];
    struct buffer queue;   /* records */
    struct buffer channel; /* the name of the one being published to */
};

struct notify *notify_new(struct pubsub *pubsub)
{
    struct notify *notify = mem_zalloc(sizeof(*notify));
    notify->pubsub = pubsub;
    return notify;
}

void notify_free(struct notify *notify)
{
    mem_free(notify->queue.data);
    mem_free(notify->channel.data);
    mem_free(notify);
}

/* ---- flags ---------------------------------------------------------------------------------- */

static unsigned flag_of(char letter)
{
    if (letter == 'A') return ALIAS;
    const char *at = letter == '\0' ? NULL : strchr(letters, letter);
    return at == NULL ? 0 : 1U << (at - letters);
}

void notify_set_flags(struct notify *notify, const char *text)
{
    notify->flags = 0;
    for (; *text != '\0'; text++)
        notify->flags |= flag_of(*text);
    for (int event = 0; event < EVENT_COUNT; event++)
        notify->wanted[event] = (notify->flags & flag_of(event_class((enum event)event))) != 0;
}

bool notify_active(const struct notify *notify)
{
    return (notify->flags & (ON_KEYSPACE | ON_KEYEVENT)) &&
           (notify->flags & (ALIAS | NEW_KEYS | KEY_MISSES));
}

/* ---- the queue ------------------------------------------------------------------------------ */

static void append(struct buffer *buffer, const void *data, size_t len)
{
    if (len == 0) return;
    if (buffer->room - buffer->len < len) {
        size_t room = 2 * buffer->room;
        buffer->room = room < buffer->len + len ? buffer->len + len : room;
        buffer->data = mem_realloc(buffer->data, buffer->room);
    }
    memcpy(buffer->data + buffer->len, data, len);
    buffer->len += len;
}

static void empty(struct buffer *buffer)
{
    buffer->len = 0;
    if (buffer->room <= KEPT_BUFFER) return;
    mem_free(buffer->data);
    *buffer = (struct buffer){ 0 };
}

static bool somebody_listens(const struct notify *notify)
{
    return pubsub_channel_count(notify->pubsub) > 0 || pubsub_pattern_count(notify->pubsub) > 0;
}

void notify_effect(struct notify *notify, const struct effect *effect)
{
    if (!notify->wanted[effect->event] || !somebody_listens(notify)) return;
    struct record record = {
        .event = effect->event, .flags = notify->flags, .db = effect->db, .key_len = effect->key.len
    };
    append(&notify->queue, &record, sizeof(record));
    append(&notify->queue, effect->key.data, effect->key.len);
}

/* On "__keyspace@0__:topic" or "__keyevent@0__:topic". */
static void publish(struct notify *notify, const char *kind, unsigned db, struct bytes topic,
                    struct bytes message)
{
    char prefix[PREFIX_SIZE];
    int len = snprintf(prefix, sizeof(prefix), "__%s@%u__:", kind, db);
    notify->channel.len = 0;
    append(&notify->channel, prefix, (size_t)len);
    append(&notify->channel, topic.data, topic.len);
    pubsub_publish(notify->pubsub, bytes_of(notify->channel.data, notify->channel.len), message);
}

static void publish_event(struct notify *notify, const struct record *record, struct bytes key)
{
    const char *name = event_name(record->event);
    struct bytes event = bytes_of(name, strlen(name));
    if (record->flags & ON_KEYSPACE) publish(notify, "keyspace", record->db, key, event);
    if (record->flags & ON_KEYEVENT) publish(notify, "keyevent", record->db, event, key);
}

/* DIFFERS: Redis tells a session that listens to its own changes in the middle of its command,
 * ahead of the reply; here events wait for the commit and so follow it. (doc/differs.md) */
void notify_flush(struct notify *notify)
{
    if (notify->queue.len == 0) return;
    size_t at = 0;
    while (at < notify->queue.len) {
        struct record record;
        memcpy(&record, notify->queue.data + at, sizeof(record));
        at += sizeof(record);
        publish_event(notify, &record, bytes_of(notify->queue.data + at, record.key_len));
        at += record.key_len;
    }
    empty(&notify->queue);
    empty(&notify->channel);
}
