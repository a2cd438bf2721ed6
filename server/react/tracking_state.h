/* tracking_state: what tracking.c (who tracks, what was read) and tracking_tell.c (what is told)
 * share. Nobody else includes it. */
#ifndef SERVER_REACT_TRACKING_STATE_H
#define SERVER_REACT_TRACKING_STATE_H

#include <sys/queue.h>

#include "server/react/tracking.h"
#include "store/struct/dict.h"
#include "store/base/random.h"

/* Who others redirect to; without a session it has gone. */
struct target {
    uint64_t id;
    struct session *session;
    size_t trackers;
};

struct prefix;

/* One tracker and one prefix. */
struct membership {
    LIST_ENTRY(membership) of_prefix;
    TAILQ_ENTRY(membership) of_tracker; /* in order of the prefixes' bytes */
    struct prefix *prefix;
    struct tracker *tracker;
};

/* A session that tracks. */
struct tracker {
    uint64_t id;
    struct session *session;
    struct tracking_mode mode;
    struct target *target; /* NULL: it is told itself */
    bool caching, broken;
    TAILQ_HEAD(, membership) memberships;
};

/* A key that changed below a prefix in this turn. */
struct change {
    uint64_t by; /* the session that did so last; 0: the server */
    size_t key_len;
    char key[];
};

struct prefix {
    TAILQ_ENTRY(prefix) next; /* in order of their bytes */
    LIST_HEAD(, membership) memberships;
    struct dict changes;
    size_t len;
    char text[];
};

/* A key that somebody has read, with the ids of who did, ascending. Sessions may have gone or have
 * turned tracking off meanwhile: their ids mean nothing then. */
struct tracked {
    uint64_t *ids;
    size_t count, cap;
    size_t key_len;
    char key[];
};

/* Keys that a FLUSHALL forgot, freed bit by bit. */
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
    uint64_t caller; /* whose call it is; 0: the server's */
    bool flushed;    /* all keys were forgotten in this call already */
    unsigned late;   /* calls in a row that left too many keys */
    struct {
        char *data;
        size_t len, cap;
    } queue; /* who is to be told what after the commit */
    struct random random;
};

static inline struct bytes tracking_id(const uint64_t *id)
{
    return bytes_of((const char *)id, sizeof(*id));
}

/* tracking_tell.c. key.data NULL: everything has changed. */
void tracking_queue(struct tracking *tracking, uint64_t id, struct bytes key);
void tracking_note_change(struct tracking *tracking, struct bytes key, uint64_t by);
void tracking_forget_changes(struct prefix *prefix);
void tracking_tell_prefixes(struct tracking *tracking);

#endif
