/* effect: the record of one change that a mutator made. An effect is absolute and deterministic,
 * without relative times and randomness, so that a replay and replicas make exactly the same
 * change.
 *
 * A store has one listener. The store calls the listener for each effect that its event mask
 * selects, as the effect happens, unless a mutator appends it to `brief`. Unless the mask is 0, the
 * store also calls the listener once when the transaction commits. During a replay it calls
 * nothing. All data is borrowed: copy what must be kept. txn/effect_row.h describes how each kind
 * is written, and how its change is made in another store. */
#pragma once

#include "store/base/bytes.h"
#include "store/base/instant.h"
#include "store/event.h"
#include "store/type/dehydrator.h"
#include "store/type/stream/stream.h"
#include "store/type/stream/stream_group.h"
#include "store/type/stream/stream_packed.h"

struct policy;

enum effect_kind {
    EFFECT_NONE,      /* only an event: replay ignores it */
    EFFECT_SET,       /* key is set to string a with deadline `at` (NEVER for none) */
    EFFECT_APPEND,    /* a is appended to string key */
    EFFECT_WRITE,     /* a overwrites string key at offset `from`, padded with zeros up to there */
    EFFECT_DROP,      /* key is removed */
    EFFECT_EXPIRE,    /* key's deadline becomes `at` */
    EFFECT_PERSIST,   /* key loses its deadline */
    EFFECT_SOFT,      /* the soft deadline of string key becomes `at`; EFFECT_SET removes it */
    EFFECT_RENAME,    /* key is renamed to a, replacing a */
    EFFECT_COPY,      /* key is copied to a in database `to`, replacing a */
    EFFECT_MOVE,      /* key is moved to database `to` */
    EFFECT_SWAP,      /* the database is exchanged with database `to` */
    EFFECT_FLUSH,     /* the database is emptied */
    EFFECT_PUSH_HEAD, /* a is pushed to the head of list key */
    EFFECT_PUSH_TAIL, /* a is pushed to the tail of list key */
    EFFECT_POP_HEAD,  /* `from` elements are popped from the head of list key */
    EFFECT_POP_TAIL,  /* `from` elements are popped from the tail of list key */
    EFFECT_KEEP,      /* list key is trimmed to [from, to) */
    EFFECT_LIST_PUT,  /* the element of list key at index `from` becomes a */
    /* a is inserted into list key: before the first b (`to` is 0), after it (1), or at index `from`
     * (-1) */
    EFFECT_LIST_INSERT,
    EFFECT_LIST_DROP,   /* LREM key from a */
    EFFECT_SET_ADD,     /* a is added to set key with deadline `at` (NEVER for none) */
    EFFECT_SET_EXPIRE,  /* the deadline of member a of set key becomes `at` or NEVER */
    EFFECT_SET_DROP,    /* member a of set key is removed */
    EFFECT_HASH_PUT,    /* field a of hash key is set to b with deadline `at` (NEVER for none) */
    EFFECT_HASH_EXPIRE, /* the deadline of field a of hash key becomes `at`; b: value if NEVER */
    EFFECT_HASH_DROP,   /* field a of hash key is removed */
    EFFECT_ZSET_PUT,    /* member a of zset key is set to `score` with deadline `at` or NEVER */
    EFFECT_ZSET_EXPIRE, /* the deadline of member a of zset key becomes `at` or NEVER */
    EFFECT_ZSET_DROP,   /* member a of zset key is removed */
    EFFECT_ZSET_CUT,    /* ranks [from, to) of zset key are removed */
    EFFECT_REDE_PUSH,   /* element a with payload b and `stage` is added to dehydrator key */
    EFFECT_REDE_PUT,    /* the payload of element a of dehydrator key becomes b */
    EFFECT_REDE_MOVE,   /* the stage of element a of dehydrator key becomes `stage` */
    EFFECT_REDE_DROP,   /* element a of dehydrator key is removed, and its successor */
    /* the options of element a of dehydrator key become first (`from`), remember (`to`), every
     * (`at`) and phase (stage.at) */
    EFFECT_REDE_OPTIONS,
    /* element a of dehydrator key receives a successor: its payload is b, its options are as above,
     * and it is due at the phase */
    EFFECT_REDE_FOLLOW,
    /* the schedule of element a of dehydrator key (`from` is 0), or of its successor (1), becomes
     * b; its first instant is the phase (stage.at) */
    EFFECT_REDE_CRON,
    EFFECT_REDE_UNFOLLOW, /* element a of dehydrator key has no successor any more */
    EFFECT_REDE_REMEMBER, /* dehydrator key remembers the id a until `at` */
    EFFECT_REDE_FORGET,   /* dehydrator key forgets the id a */
    EFFECT_REDE_RATE,  /* dehydrator key delivers nothing before microsecond `from`; 0: no limit */
    EFFECT_REDE_PAUSE, /* dehydrator key is paused until `at`; 0 ends the pause */
    EFFECT_STREAM_ADD, /* entry `id` with the fields `texts` is added to stream key */
    EFFECT_STREAM_BLOCK,  /* a block of entries is added to stream key: see effect_of_packed */
    EFFECT_STREAM_DROP,   /* entry `id` of stream key is removed */
    EFFECT_STREAM_TRIM,   /* the entries of stream key before `id` are removed */
    EFFECT_STREAM_MARKS,  /* last ID, greatest deleted ID and count of stream key become `marks` */
    EFFECT_STREAM_RETAIN, /* the retention of stream key becomes `at`, a span, or 0 for none */
    EFFECT_GROUP_ADD,     /* group a is added to stream key at `position`; `to`: 1 if key is new */
    EFFECT_GROUP_SET,     /* the position of group a of stream key becomes `position` */
    EFFECT_GROUP_DROP,    /* group a of stream key is removed */
    EFFECT_CONSUMER_ADD,  /* consumer b is added to group a of stream key */
    EFFECT_CONSUMER_DROP, /* consumer b of group a is removed, with its pending entries */
    EFFECT_PENDING_PUT,   /* in group a of stream key, entry `id` is pending since `at`, after `to`
                           * deliveries, for consumer b, or for nobody if b has no data */
    EFFECT_PENDING_DROP,  /* in group a of stream key, entry `id` is no longer pending */
    EFFECT_REPEAT_LIMITS, /* stream key remembers the last `to` texts of each producer, for `from`
                           * seconds */
    EFFECT_REPEAT_PUT,    /* producer a of stream key has sent text b, which was added as `id` */
    EFFECT_REPEAT_COUNTS, /* `from` texts were added to stream key, and `to` were sent again */
    EFFECT_LEASE_TAKE,    /* owner a holds lease key with the token `from` until `at`; the key
                           * grants `to` permits */
    EFFECT_LEASE_EXTEND,  /* owner a holds lease key until `at` */
    EFFECT_LEASE_DROP,    /* owner a holds lease key no longer */
    EFFECT_POLICY_SET,    /* `policy` is set under the name `key` (a prefix and '*', or a key) */
    EFFECT_POLICY_DROP,   /* the policy named `key` is removed */
    EFFECT_LIBRARY_SET,   /* the code of the library of functions named `key` becomes a */
    EFFECT_LIBRARY_DROP,  /* the library named `key` is removed */
    EFFECT_TOKEN, /* the last fencing token of the data set is at least `from`; if `to` is 1, all
                   * tokens granted before are recorded before this effect */
    EFFECT_KINDS,
};

struct effect {
    enum effect_kind kind;
    enum event event; /* the keyspace event, or EVENT_NONE */
    bool again;       /* repeats an event that this call recorded for this key */
    bool is_part;     /* counts as one change together with the next effect */
    bool by_read;     /* a read moved a deadline (REFRESH of a policy); the value is unchanged */
    bool by_policy;   /* a member is put, and MEMBERTTL of a policy has chosen `at` */
    unsigned db;
    struct bytes key;
    struct bytes a, b; /* see enum effect_kind; EFFECT_NONE: a is the event's member, if any */
    msec at;
    int64_t from, to;
    double score;
    const struct policy *policy;
    struct stage stage;
    struct stream_id id;
    const struct bytes *texts; /* names and values in turn, text_count of them */
    size_t text_count;
    struct stream_marks marks;
    struct group_position position;
};

/* Convert the options of a push to the fields of EFFECT_REDE_OPTIONS or _FOLLOW, and back; without
 * the schedule, which has an effect of its own. */
static inline struct effect effect_of_options(enum effect_kind kind, struct bytes id,
                                              const struct push_options *options)
{
    return (struct effect){
        .kind = kind,
        .a = id,
        .from = options->first,
        .to = options->remember,
        .at = options->every,
        .stage.at = options->phase,
    };
}

static inline struct push_options effect_options(const struct effect *effect)
{
    return (struct push_options){ .first = effect->from,
                                  .remember = effect->to,
                                  .every = effect->at,
                                  .phase = effect->stage.at };
}

/* Returns the effect that sets the schedule of an element, or of its successor. */
static inline struct effect effect_of_cron(struct bytes id, bool of_successor,
                                           const struct push_options *options)
{
    return (struct effect){ .kind = EFFECT_REDE_CRON,
                            .a = id,
                            .b = options->cron,
                            .from = of_successor,
                            .stage.at = options->phase };
}

/* Convert the successor of a claimed element to the fields of EFFECT_REDE_FOLLOW, and back. The
 * phase in the effect is the instant at which the successor is due. */
static inline struct effect effect_of_successor(const struct successor *successor)
{
    struct effect effect =
        effect_of_options(EFFECT_REDE_FOLLOW, successor->id, &successor->options);
    effect.b = successor->payload;
    effect.stage.at = successor->at;
    return effect;
}

static inline struct successor effect_successor(const struct effect *effect)
{
    return (struct successor){ .id = effect->a,
                               .payload = effect->b,
                               .at = effect->stage.at,
                               .options = effect_options(effect) };
}

/* Convert a block of a stream to the fields of EFFECT_STREAM_BLOCK, and back:
 *
 *     a, b              names, entries
 *     id, marks.last    first and last ID
 *     marks.added       number of entries
 *     from              own_names
 *
 * The effect's command contains neither own_names nor the last ID; stream_packed_check computes
 * them. */
static inline struct effect effect_of_packed(const struct stream_packed *packed)
{
    return (struct effect){ .kind = EFFECT_STREAM_BLOCK,
                            .a = packed->names,
                            .b = packed->entries,
                            .id = packed->first,
                            .from = packed->own_names,
                            .marks = { .last = packed->last, .added = packed->count } };
}

static inline struct stream_packed effect_packed(const struct effect *effect)
{
    return (struct stream_packed){ .names = effect->a,
                                   .entries = effect->b,
                                   .count = (uint32_t)effect->marks.added,
                                   .first = effect->id,
                                   .last = effect->marks.last,
                                   .own_names = (uint32_t)effect->from };
}

/* Are `at` and `stage` of an effect from outside in range? */
bool effect_times_ok(const struct effect *effect);

struct txn;

/* The event mask: which effects the listener wants. */
enum {
    LISTEN_CHANGES = 1, /* effects of every kind but EFFECT_NONE */
    LISTEN_EVENTS = 2,  /* effects with an event that are not marked `again` */
    LISTEN_MEMBERS = 4, /* every effect with an event that names a member */
    LISTEN_BRIEF = 8,   /* with LISTEN_CHANGES alone: effects may be appended to `brief` */
};

struct brief_tail;

struct effect_listener {
    /* Returns the event mask until the next begin; NULL if the mask is constant. Called when the
     * first call of a transaction begins, and before each later call of a client's or a master's
     * transaction, because the call before may have added a WATCH or a subscription. */
    unsigned (*begin)(void *ctx, const struct txn *txn);
    void (*effect)(void *ctx, const struct txn *txn, const struct effect *effect);
    void (*commit)(void *ctx, const struct txn *txn);
    void *ctx;
    struct brief_tail *brief; /* not NULL with LISTEN_BRIEF (brief.h) */
};
