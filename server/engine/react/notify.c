/* notify: see notify.h. */
#include "server/engine/react/notify.h"

#include <stdio.h>

#include "conf/conf.h"
#include "store/base/number.h"
#include "store/mem/buffer.h"
#include "store/mem/mem.h"
#include "store/txn/effect_row.h"

static const char letters[] = CONF_EVENT_LETTERS;

/* A bit for each letter, in their order; those of the classes in "A" come first. */
enum {
    ALIAS = (1 << CONF_EVENTS_OF_ALL) - 1,
    NEW_KEYS = ALIAS + 1,
    ON_KEYSPACE = NEW_KEYS << 1,
    ON_KEYEVENT = ON_KEYSPACE << 1,
    KEY_MISSES = ON_KEYEVENT << 1,
    ON_SUBKEYSPACE = KEY_MISSES << 1,
    ON_SUBKEYEVENT = ON_SUBKEYSPACE << 1,
    ON_SUBKEYSPACEITEM = ON_SUBKEYEVENT << 1,
    ON_SUBKEYSPACEEVENT = ON_SUBKEYSPACEITEM << 1,

    CLASSES = ALIAS | NEW_KEYS | KEY_MISSES,
    KEY_CHANNELS = ON_KEYSPACE | ON_KEYEVENT,
    SUBKEY_CHANNELS = ON_SUBKEYSPACE | ON_SUBKEYEVENT | ON_SUBKEYSPACEITEM | ON_SUBKEYSPACEEVENT,

    KEPT_BUFFER = 64 * 1024,    /* larger buffers are freed after use */
    PREFIX_SIZE = 48,           /* size of "__subkeyspaceevent@4294967295__:" */
    SUBKEYS_MAX = 1000,         /* subkeys in one message */
    SUBKEYS_ENOUGH = 64 * 1024, /* bytes in one message; the subkey that reaches this is its last */
};

_Static_assert(ON_SUBKEYSPACEEVENT == 1 << (sizeof(letters) - 2), "each letter has its bit");

#define NOWHERE SIZE_MAX

/* One event of one key in `queue`. The key's bytes follow. */
struct record {
    enum event event;
    unsigned flags; /* the channels that were turned on when the event happened */
    unsigned db;
    size_t key_len;
    size_t first, last; /* offsets of its subkeys, or NOWHERE */
};

/* A subkey, followed by its bytes. The subkeys of different records are interleaved in the buffer,
 * so those of one record are linked to a list. */
struct subkey {
    size_t next; /* the next of the same record, or NOWHERE */
    size_t len;
};

struct notify {
    struct pubsub *pubsub;
    unsigned flags;
    unsigned wants; /* LISTEN_*: what the flags ask for */
    bool wanted[EVENT_COUNT];
    size_t latest[EVENT_COUNT]; /* last record of each event, or NOWHERE */
    struct buffer queue;        /* struct record and key, one after another */
    struct buffer subkeys;
    struct buffer channel, message; /* the parts of the message being published */
    struct buffer list;             /* subkeys of the message being published */
};

struct notify *notify_new(struct pubsub *pubsub)
{
    struct notify *notify = mem_zalloc(sizeof(*notify));
    notify->pubsub = pubsub;
    for (int event = 0; event < EVENT_COUNT; event++)
        notify->latest[event] = NOWHERE;
    return notify;
}

void notify_free(struct notify *notify)
{
    buffer_drop(&notify->queue);
    buffer_drop(&notify->subkeys);
    buffer_drop(&notify->channel);
    buffer_drop(&notify->message);
    buffer_drop(&notify->list);
    mem_free(notify);
}

static unsigned flag_of(char letter)
{
    if (letter == 'A') return ALIAS;
    const char *at = letter == '\0' ? NULL : strchr(letters, letter);
    return at == NULL ? 0 : 1U << (at - letters);
}

void notify_set_flags(struct notify *notify, const char *text)
{
    /* g: holders of leases. */
    unsigned with_members = flag_of('s') | flag_of('h') | flag_of('z') | flag_of('g');
    notify->flags = notify->wants = 0;
    for (; *text != '\0'; text++)
        notify->flags |= flag_of(*text);
    for (int event = 0; event < EVENT_COUNT; event++)
        notify->wanted[event] = (notify->flags & flag_of(event_class((enum event)event))) != 0;
    if ((notify->flags & KEY_CHANNELS) && (notify->flags & CLASSES)) notify->wants = LISTEN_EVENTS;
    if ((notify->flags & SUBKEY_CHANNELS) && (notify->flags & with_members))
        notify->wants |= LISTEN_MEMBERS;
}

static bool has_subscribers(const struct notify *notify)
{
    return pubsub_count(notify->pubsub, PUBSUB_CHANNEL) > 0 ||
           pubsub_count(notify->pubsub, PUBSUB_PATTERN) > 0;
}

/* For events of members the store must visit each member, even where it could remove many at once.
 * So these are requested only while there are subscribers. Events of keys cost little: SET and
 * EXPIRE only lose the shortcut of brief.h, which they have while the journal alone listens. */
unsigned notify_wants(const struct notify *notify)
{
    bool asks_members = notify->wants & LISTEN_MEMBERS;
    return asks_members && !has_subscribers(notify) ? notify->wants & ~(unsigned)LISTEN_MEMBERS
                                                    : notify->wants;
}

static void append_bytes(struct buffer *buffer, struct bytes bytes)
{
    buffer_append(buffer, bytes.data, bytes.len);
}

/* Appends <length>:<bytes>. */
static void append_measured(struct buffer *buffer, struct bytes bytes)
{
    char digits[NUMBER_INT64_MAX_CHARS];
    buffer_append(buffer, digits, number_print_uint64(digits, bytes.len));
    buffer_append(buffer, ":", 1);
    append_bytes(buffer, bytes);
}

static void empty_buffer(struct buffer *buffer)
{
    buffer->len = 0;
    if (buffer->cap > KEPT_BUFFER) buffer_drop(buffer);
}

/* Records in a buffer may be unaligned, so they are copied. */
static struct record record_at(const struct notify *notify, size_t at, struct bytes *key)
{
    struct record record;
    memcpy(&record, notify->queue.data + at, sizeof(record));
    *key = bytes_of(notify->queue.data + at + sizeof(record), record.key_len);
    return record;
}

static struct subkey subkey_at(const struct notify *notify, size_t at, struct bytes *name)
{
    struct subkey subkey;
    memcpy(&subkey, notify->subkeys.data + at, sizeof(subkey));
    *name = bytes_of(notify->subkeys.data + at + sizeof(subkey), subkey.len);
    return subkey;
}

void notify_effect(struct notify *notify, const struct effect *effect)
{
    bool publishes = (notify->flags & KEY_CHANNELS) && !effect->again;
    bool names = (notify->flags & SUBKEY_CHANNELS) && effect_names_member(effect);
    if (!notify->wanted[effect->event] || !(publishes || names) || !has_subscribers(notify)) return;
    /* Members of one call share the record of its event, if that is the last one of this kind. */
    struct bytes key;
    size_t at = effect->again ? notify->latest[effect->event] : NOWHERE;
    if (at != NOWHERE) {
        struct record before = record_at(notify, at, &key);
        if (before.db != effect->db || !bytes_equal(key, effect->key)) at = NOWHERE;
    }
    if (at == NOWHERE) {
        at = notify->queue.len;
        unsigned published = effect->again ? KEY_CHANNELS : 0;
        struct record record = { .event = effect->event,
                                 .flags = notify->flags & ~published,
                                 .db = effect->db,
                                 .key_len = effect->key.len,
                                 .first = NOWHERE,
                                 .last = NOWHERE };
        buffer_append(&notify->queue, &record, sizeof(record));
        append_bytes(&notify->queue, effect->key);
        notify->latest[effect->event] = at;
    }
    if (!names) return;

    struct record record = record_at(notify, at, &key);
    struct subkey subkey = { .next = NOWHERE, .len = effect->a.len };
    size_t added = notify->subkeys.len;
    buffer_append(&notify->subkeys, &subkey, sizeof(subkey));
    append_bytes(&notify->subkeys, effect->a);
    if (record.first == NOWHERE)
        record.first = added;
    else
        memcpy(notify->subkeys.data + record.last + offsetof(struct subkey, next), &added,
               sizeof(added));
    record.last = added;
    memcpy(notify->queue.data + at, &record, sizeof(record));
}

struct publication {
    struct record record;
    struct bytes key, event;
};

/* Sets the channel to "__keyspace@0__:topic" and the like. */
static void open_channel(struct notify *notify, const char *kind,
                         const struct publication *publication, struct bytes topic)
{
    char prefix[PREFIX_SIZE];
    int len = snprintf(prefix, sizeof(prefix), "__%s@%u__:", kind, publication->record.db);
    notify->channel.len = 0;
    buffer_append(&notify->channel, prefix, (size_t)len);
    append_bytes(&notify->channel, topic);
}

static void publish_message(struct notify *notify, struct bytes message)
{
    pubsub_publish(notify->pubsub, buffer_bytes(&notify->channel), message);
}

static void publish_list(struct notify *notify)
{
    buffer_append(&notify->message, "|", 1);
    append_bytes(&notify->message, buffer_bytes(&notify->list));
    publish_message(notify, buffer_bytes(&notify->message));
}

/* Publishes the messages about members (S, T, I, V). Redis leaves out S and V for events whose name
 * contains "|"; none of our events does. */
static void publish_subkeys(struct notify *notify, const struct publication *publication)
{
    unsigned flags = publication->record.flags;
    for (size_t from = publication->record.first, to; from != NOWHERE; from = to) {
        /* As many subkeys as fit into one message. */
        notify->list.len = 0;
        to = from;
        for (int count = 0; to != NOWHERE; count++) {
            if (count == SUBKEYS_MAX || notify->list.len >= SUBKEYS_ENOUGH) break;
            struct bytes name;
            struct subkey subkey = subkey_at(notify, to, &name);
            if (count > 0) buffer_append(&notify->list, ",", 1);
            append_measured(&notify->list, name);
            to = subkey.next;
        }
        if (flags & ON_SUBKEYSPACE) {
            open_channel(notify, "subkeyspace", publication, publication->key);
            notify->message.len = 0;
            append_bytes(&notify->message, publication->event);
            publish_list(notify);
        }
        if (flags & ON_SUBKEYEVENT) {
            open_channel(notify, "subkeyevent", publication, publication->event);
            notify->message.len = 0;
            append_measured(&notify->message, publication->key);
            publish_list(notify);
        }
        if ((flags & ON_SUBKEYSPACEITEM) &&
            memchr(publication->key.data, '\n', publication->key.len) == NULL) {
            open_channel(notify, "subkeyspaceitem", publication, publication->key);
            buffer_append(&notify->channel, "\n", 1);
            size_t stem = notify->channel.len;
            for (size_t at = from; at != to;) {
                struct bytes name;
                struct subkey subkey = subkey_at(notify, at, &name);
                notify->channel.len = stem;
                append_bytes(&notify->channel, name);
                publish_message(notify, publication->event);
                at = subkey.next;
            }
        }
        if (flags & ON_SUBKEYSPACEEVENT) {
            open_channel(notify, "subkeyspaceevent", publication, publication->event);
            buffer_append(&notify->channel, "|", 1);
            append_bytes(&notify->channel, publication->key);
            publish_message(notify, buffer_bytes(&notify->list));
        }
    }
}

/* DIFFERS: Redis sends a session the events of its own changes before the reply to the command.
 * Here events are published after the commit, and so follow the reply. (doc/differs.md) */
void notify_flush(struct notify *notify)
{
    if (notify->queue.len == 0) return;
    size_t at = 0;
    while (at < notify->queue.len) {
        struct publication publication;
        publication.record = record_at(notify, at, &publication.key);
        const char *name = event_name(publication.record.event);
        publication.event = bytes_of(name, strlen(name));
        if (publication.record.flags & ON_KEYSPACE) {
            open_channel(notify, "keyspace", &publication, publication.key);
            publish_message(notify, publication.event);
        }
        if (publication.record.flags & ON_KEYEVENT) {
            open_channel(notify, "keyevent", &publication, publication.event);
            publish_message(notify, publication.key);
        }
        publish_subkeys(notify, &publication);
        notify->latest[publication.record.event] = NOWHERE;
        at += sizeof(publication.record) + publication.key.len;
    }
    empty_buffer(&notify->queue);
    empty_buffer(&notify->subkeys);
    empty_buffer(&notify->channel);
    empty_buffer(&notify->message);
    empty_buffer(&notify->list);
}
