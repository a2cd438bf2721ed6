/* effect: what a mutator did, absolute and deterministic, and who is told.
 * Knows keys, values and instants; refuses to know commands, text and time-to-live.
 *
 * A store has one listener. It is told of each effect as it happens (everything borrowed: copy what
 * you keep) and once when the transaction commits. With no listener an effect costs a test of a
 * mask. apply() turns an effect into the same change of another store. */
#ifndef STORE_EFFECT_H
#define STORE_EFFECT_H

#include <stdint.h>

#include "store/bytes.h"
#include "store/event.h"
#include "store/instant.h"

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
    EFFECT_SET_ADD,     /* set key has a */
    EFFECT_SET_DROP,    /* ... has not */
    EFFECT_HASH_PUT,    /* hash key has field a with value b */
    EFFECT_HASH_DROP,   /* ... has no field a */
    EFFECT_ZSET_PUT,    /* zset key has a with score */
    EFFECT_ZSET_DROP,   /* ... has not a */
    EFFECT_ZSET_CUT,    /* ranks [from, to) leave */
    EFFECT_REDE_PUSH,   /* dehydrator key has element a with payload b, due at `at` */
    EFFECT_REDE_PUT,    /* element a has payload b */
    EFFECT_REDE_DROP,   /* element a is gone */
};

struct effect {
    enum effect_kind kind;
    enum event event; /* EVENT_NONE: already told for this call */
    unsigned db;
    struct bytes key;
    struct bytes a, b;
    msec at;
    int64_t from, to;
    double score;
};

struct txn;

enum {
    LISTEN_CHANGES = 1, /* effects of every kind but EFFECT_NONE */
    LISTEN_EVENTS = 2,  /* effects with an event */
};

struct effect_listener {
    void (*effect)(void *ctx, const struct effect *effect);
    void (*commit)(void *ctx, const struct txn *txn);
    void *ctx;
};

#endif
