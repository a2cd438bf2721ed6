/* tracking_state: the structs behind tracking.h. Only for tracking.c, which keeps the sessions and
 * the remembered keys, and tracking_notify.c, which sends the messages. */
#pragma once

#include <sys/queue.h>

#include "server/engine/react/tracking.h"
#include "store/base/random.h"
#include "store/mem/buffer.h"
#include "store/struct/dict.h"

/* A session that others redirect to; `session` is NULL after it has ended. */
struct target {
    uint64_t id;
    struct session *session;
    size_t trackers;
};

struct prefix;

/* Links one tracker and one of its prefixes. */
struct membership {
    LIST_ENTRY(membership) of_prefix;
    TAILQ_ENTRY(membership) of_tracker; /* sorted by bytes of the prefix */
    struct prefix *prefix;
    struct tracker *tracker;
};

/* A session with tracking on. */
struct tracker {
    uint64_t id;
    struct session *session;
    struct tracking_mode mode;
    struct target *target; /* NULL if messages go to the session itself */
    bool caching, broken;
    TAILQ_HEAD(, membership) memberships;
    size_t bytes; /* memory of its prefixes */
};

/* A key that begins with a prefix and has changed in this turn. */
struct change {
    uint64_t by; /* the session that changed it last; 0 for the server */
    size_t key_len;
    char key[];
};

struct prefix {
    TAILQ_ENTRY(prefix) next; /* sorted by bytes */
    LIST_HEAD(, membership) memberships;
    struct dict changes;
    size_t len;
    char text[];
};

/* A key that was read, with the ids of its readers in ascending order. Some ids may be those of
 * sessions that have ended or turned tracking off; they are ignored. */
struct tracked {
    uint64_t *ids;
    size_t count, cap;
    size_t key_len;
    char key[];
};

/* Keys forgotten by FLUSHALL, freed in steps. */
struct forgotten {
    SLIST_ENTRY(forgotten) next;
    struct dict keys;
};

struct tracking {
    struct dict trackers; /* by id */
    struct dict targets;  /* by id */
    struct dict keys;     /* struct tracked */
    size_t items;         /* ids in all keys */
    TAILQ_HEAD(, prefix) prefixes;
    SLIST_HEAD(, forgotten) forgotten;
    bool flushed;        /* this call has already invalidated all keys */
    unsigned late;       /* calls in a row that found too many keys */
    struct buffer queue; /* messages to send after the commit */
    bool queued_own;     /* one of them is for the session that made the change */
    struct random random;
};

static inline struct bytes tracking_id(const uint64_t *id)
{
    return bytes_of((const char *)id, sizeof(*id));
}

/* tracking_notify.c. Queues a message that the key has changed, for the tracker with this id;
 * key.data is NULL if all keys changed. `own` says that the tracker's session made the change
 * itself. tracking_flush sends it. */
void tracking_queue(struct tracking *tracking, uint64_t id, struct bytes key, bool own);
/* Notes the change for the prefixes with which the key begins. `by` as in struct change. */
void tracking_note_change(struct tracking *tracking, struct bytes key, uint64_t by);
/* Drops the changes of a prefix without sending them. */
void tracking_forget_changes(struct prefix *prefix);
/* Sends the changes of each prefix to its trackers, and drops them. */
void tracking_notify_prefixes(struct tracking *tracking);
