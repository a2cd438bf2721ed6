/* effect_form: see effect_form.h. One row for each command. */
#include "server/disk/effect/effect_form.h"

#define MEMBERS LIT("MEMBERS")
#define FIELDS  LIT("FIELDS")

/* The rows of a kind with one form, and of a kind with two. */
#define FIRST(kind)  [2 * EFFECT_##kind]
#define SECOND(kind) [2 * EFFECT_##kind + 1]

static const struct effect_form forms[EFFECT_FORMS] = {
    FIRST(NONE) = { LIT("SELECT"), .head = "d" },
    FIRST(SET) = { LIT("SET"), .head = "kao" },
    FIRST(APPEND) = { LIT("APPEND"), .head = "ka" },
    FIRST(WRITE) = { LIT("SETRANGE"), .head = "kfa" },
    FIRST(DROP) = { LIT("DEL"), .head = "", .element = "k" },
    FIRST(EXPIRE) = { LIT("PEXPIREAT"), .head = "kt" },
    FIRST(PERSIST) = { LIT("PERSIST"), .head = "k" },
    FIRST(RENAME) = { LIT("RENAME"), .head = "ka" },
    FIRST(COPY) = { LIT("COPY"), .head = "kac" },
    FIRST(MOVE) = { LIT("MOVE"), .head = "kn" },
    FIRST(SWAP) = { LIT("SWAPDB"), .head = "dn" },
    FIRST(FLUSH) = { LIT("FLUSHDB"), .head = "" },
    FIRST(PUSH_HEAD) = { LIT("LPUSH"), .head = "k", .element = "a" },
    FIRST(PUSH_TAIL) = { LIT("RPUSH"), .head = "k", .element = "a" },
    FIRST(POP_HEAD) = { LIT("LPOP"), .head = "kf" },
    FIRST(POP_TAIL) = { LIT("RPOP"), .head = "kf" },
    FIRST(KEEP) = { LIT("LTRIM"), .head = "kr" },
    FIRST(LIST_PUT) = { LIT("LSET"), .head = "kfa" },
    FIRST(LIST_INSERT) = { LIT("LINSERT"), .head = "kyba" },
    SECOND(LIST_INSERT) = { LIT("X.LINSERT"), .head = "kfa", .own = true },
    FIRST(LIST_DROP) = { LIT("LREM"), .head = "kfa" },
    FIRST(SET_ADD) = { LIT("SADD"), .head = "k", .element = "a" },
    SECOND(SET_ADD) = { LIT("SADDEX"), .head = "kp", .counts = MEMBERS, .element = "a",
                        .own = true },
    FIRST(SET_EXPIRE) = { LIT("SPEXPIREAT"), .head = "kt", .counts = MEMBERS, .element = "a",
                          .own = true },
    SECOND(SET_EXPIRE) = { LIT("SPERSIST"), .head = "k", .counts = MEMBERS, .element = "a",
                           .own = true },
    FIRST(SET_DROP) = { LIT("SREM"), .head = "k", .element = "a" },
    FIRST(HASH_PUT) = { LIT("HSET"), .head = "k", .element = "ab" },
    SECOND(HASH_PUT) = { LIT("HSETEX"), .head = "kp", .counts = FIELDS, .element = "ab",
                         .own = true },
    FIRST(HASH_EXPIRE) = { LIT("HPEXPIREAT"), .head = "kt", .counts = FIELDS, .element = "a",
                           .own = true },
    SECOND(HASH_EXPIRE) = { LIT("HPERSIST"), .head = "k", .counts = FIELDS, .element = "a",
                            .own = true },
    FIRST(HASH_DROP) = { LIT("HDEL"), .head = "k", .element = "a" },
    FIRST(ZSET_PUT) = { LIT("ZADD"), .head = "k", .element = "sa" },
    SECOND(ZSET_PUT) = { LIT("ZADDEX"), .head = "kp", .element = "sa", .own = true },
    FIRST(ZSET_EXPIRE) = { LIT("ZPEXPIREAT"), .head = "kt", .counts = MEMBERS, .element = "a",
                           .own = true },
    SECOND(ZSET_EXPIRE) = { LIT("ZPERSIST"), .head = "k", .counts = MEMBERS, .element = "a",
                            .own = true },
    FIRST(ZSET_DROP) = { LIT("ZREM"), .head = "k", .element = "a" },
    FIRST(ZSET_CUT) = { LIT("ZREMRANGEBYRANK"), .head = "kr" },
    FIRST(REDE_PUSH) = { LIT("REDE.PUSHAT"), LIT("X.REDE.PUSHAT"), .head = "k", .element = "eba",
                         .own = true },
    SECOND(REDE_PUSH) = { LIT("X.REDE.PUSH"), .head = "kg", .element = "ba", .own = true },
    FIRST(REDE_PUT) = { LIT("REDE.UPDATE"), .head = "kab", .own = true },
    FIRST(REDE_MOVE) = { LIT("X.REDE.MOVE"), .head = "kg", .element = "a", .own = true },
    FIRST(REDE_DROP) = { LIT("REDE.PULL"), LIT("X.REDE.PULL"), .head = "k", .element = "a",
                         .own = true },
    FIRST(STREAM_ADD) = { LIT("XADD"), .head = "kiF" },
    FIRST(STREAM_DROP) = { LIT("XDEL"), .head = "k", .element = "i" },
    FIRST(STREAM_TRIM) = { LIT("XTRIM"), .head = "kx" },
    FIRST(STREAM_MARKS) = { LIT("XSETID"), .head = "km" },
    FIRST(STREAM_RETAIN) = { LIT("X.XRETAIN"), .head = "kt", .own = true },
    FIRST(GROUP_ADD) = { LIT("XGROUP"), .word = LIT("CREATE"), .head = "kaG" },
    FIRST(GROUP_SET) = { LIT("XGROUP"), .word = LIT("SETID"), .head = "kaq" },
    FIRST(GROUP_DROP) = { LIT("XGROUP"), .word = LIT("DESTROY"), .head = "ka" },
    FIRST(CONSUMER_ADD) = { LIT("XGROUP"), .word = LIT("CREATECONSUMER"), .head = "kab" },
    FIRST(CONSUMER_DROP) = { LIT("XGROUP"), .word = LIT("DELCONSUMER"), .head = "kab" },
    FIRST(PENDING_PUT) = { LIT("XCLAIM"), .head = "kabz", .element = "i", .tail = "C" },
    SECOND(PENDING_PUT) = { LIT("X.XNACK"), .head = "katw", .element = "i", .own = true },
    FIRST(PENDING_DROP) = { LIT("XACK"), .head = "ka", .element = "i" },
    FIRST(POLICY_SET) = { LIT("POLICY"), .word = LIT("SET"), .head = "kP", .own = true },
    FIRST(POLICY_DROP) = { LIT("POLICY"), .word = LIT("DEL"), .head = "k", .own = true },
    FIRST(LIBRARY_SET) = { LIT("FUNCTION"), .word = LIT("LOAD"), .head = "l" },
    FIRST(LIBRARY_DROP) = { LIT("FUNCTION"), .word = LIT("DELETE"), .head = "k" },
};

const struct effect_form *effect_form_at(unsigned index)
{
    return &forms[index];
}

static bool needs_second(const struct effect *effect)
{
    switch (effect->kind) {
    case EFFECT_SET_ADD:
    case EFFECT_HASH_PUT:
    case EFFECT_ZSET_PUT: return effect->at != NEVER;
    case EFFECT_SET_EXPIRE:
    case EFFECT_HASH_EXPIRE:
    case EFFECT_ZSET_EXPIRE: return effect->at == NEVER;
    case EFFECT_LIST_INSERT: return effect->to < 0;
    case EFFECT_REDE_PUSH: return effect->stage.claimed || effect->stage.deliveries > 0;
    case EFFECT_PENDING_PUT: return effect->b.data == NULL;
    default: return false;
    }
}

const struct effect_form *effect_form_of(const struct effect *effect)
{
    return &forms[2 * effect->kind + needs_second(effect)];
}
