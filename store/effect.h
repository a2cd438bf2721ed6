/* effect: what a mutator did, absolute and deterministic, and who is told.
 * Knows keys, values and instants; refuses to know commands, text and time-to-live.
 *
 * A store has one listener. It is told of each effect as it happens (everything borrowed: copy what
 * you keep) and once when the transaction commits. With no listener an effect costs a test of a
 * mask. apply() turns an effect into the same change of another store. */
#ifndef STORE_EFFECT_H
#define STORE_EFFECT_H

#include <stdbool.h>
#include <stdint.h>

#include "store/base/bytes.h"
#include "store/type/dehydrator.h"
#include "store/event.h"
#include "store/base/instant.h"

struct policy;

enum effect_kind {
    EFFECT_NONE,        /* only the event: nothing that replay needs */
    EFFECT_SET,         /* key is the string a, dies at `at` (NEVER: it does not) */
    EFFECT_APPEND,      /* string key grows by a */
    EFFECT_WRITE,       /* string key has a at offset `from`, zeros up to there */
    EFFECT_DROP,        /* key is gone */
    EFFECT_EXPIRE,      /* key dies at `at` */
    EFFECT_PERSIST,     /* key has no deadline */
    EFFECT_RENAME,      /* key is called a; what a was is gone */
    EFFECT_COPY,        /* what key is, is also at a in database `to`, replacing what was there */
    EFFECT_MOVE,        /* key is in database `to` instead */
    EFFECT_SWAP,        /* the database and database `to` have changed places */
    EFFECT_FLUSH,       /* the database is empty */
    EFFECT_PUSH_HEAD,   /* list key has a at its head */
    EFFECT_PUSH_TAIL,   /* ... at its tail */
    EFFECT_POP_HEAD,    /* `from` elements leave the head */
    EFFECT_POP_TAIL,    /* ... the tail */
    EFFECT_KEEP,        /* list keeps [from, to) */
    EFFECT_LIST_PUT,    /* the element at index `from` is a */
    EFFECT_LIST_INSERT, /* a stands at index `from`, what was there behind it */
    EFFECT_LIST_DROP,   /* as LREM key from a */
    EFFECT_SET_ADD,     /* set key has a, which dies at `at` (NEVER: it does not) */
    EFFECT_SET_EXPIRE,  /* its member a dies at `at` (NEVER: it does not) */
    EFFECT_SET_DROP,    /* it has no a */
    EFFECT_HASH_PUT,    /* hash key has field a with value b, which dies at `at` */
    EFFECT_HASH_EXPIRE, /* its field a dies at `at` */
    EFFECT_HASH_DROP,   /* it has no field a */
    EFFECT_ZSET_PUT,    /* zset key has a with score, which dies at `at` */
    EFFECT_ZSET_EXPIRE, /* its member a dies at `at` */
    EFFECT_ZSET_DROP,   /* it has no a */
    EFFECT_ZSET_CUT,    /* ranks [from, to) leave */
    EFFECT_REDE_PUSH,   /* dehydrator key has element a with payload b, in this stage */
    EFFECT_REDE_PUT,    /* element a has payload b */
    EFFECT_REDE_MOVE,   /* element a is in this stage */
    EFFECT_REDE_DROP,   /* element a is gone */
    EFFECT_POLICY_SET,  /* keys like `key` (prefix* or name) live by `policy` */
    EFFECT_POLICY_DROP, /* ... by none of that name */
};

struct effect {
    enum effect_kind kind;
    enum event event; /* EVENT_NONE: there is nothing to tell */
    bool again;       /* the event was told for this key and call already */
    bool is_part;     /* of the next effect: the two count as one change */
    bool by_read;     /* a deadline was moved by a mere read: what was read is as it was */
    unsigned db;
    struct bytes key;
    struct bytes a, b; /* of EFFECT_NONE: a is the member that the event is about, if any */
    msec at;
    int64_t from, to;
    double score;
    const struct policy *policy;
    struct stage stage;
};

/* Is the effect about one member of a collection, a? */
static inline bool effect_names_member(const struct effect *effect)
{
    return (effect->kind >= EFFECT_SET_ADD && effect->kind <= EFFECT_ZSET_DROP) ||
           (effect->kind == EFFECT_NONE && effect->a.data != NULL);
}

/* Does it change anything that a reader of its key could have seen? */
static inline bool effect_is_seen(const struct effect *effect)
{
    return effect->kind != EFFECT_NONE && effect->kind < EFFECT_POLICY_SET && !effect->by_read;
}

struct txn;

enum {
    LISTEN_CHANGES = 1, /* effects of every kind but EFFECT_NONE */
    LISTEN_EVENTS = 2,  /* the first effect with an event in a call */
    LISTEN_MEMBERS = 4, /* effects with an event that name a member, each of them */
};

struct effect_listener {
    void (*effect)(void *ctx, const struct effect *effect);
    void (*commit)(void *ctx, const struct txn *txn);
    void *ctx;
};

#endif
