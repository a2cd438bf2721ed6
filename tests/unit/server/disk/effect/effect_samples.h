/* effect_samples: effects of every kind with their words, and random ones made from them. */
#pragma once

#include <math.h>

#include "store/tokens.h"
#include "tests/support/rng.h"
#include "tests/unit/server/disk/effect/effect_desk.h"

static const struct bytes pairs[] = { LIT("n"), LIT("v"), LIT("m"), LIT("w") };
static const struct bytes pair[] = { LIT("n"), LIT("v") };

static const struct {
    struct effect effect;
    const char *words;
} samples[] = {
#define K  .key = LIT("k")
#define A  .a = LIT("a")
#define B  .b = LIT("b")
#define ID .id = { 7, 1 }
    { { EFFECT_SET, K, A, .at = NEVER }, "SET k a" },
    { { EFFECT_SET, K, A, .at = 1700000000123 }, "SET k a PXAT 1700000000123" },
    { { EFFECT_SET, K, A, .at = INSTANT_MIN }, "SET k a PXAT 0" },
    { { EFFECT_APPEND, K, A }, "APPEND k a" },
    { { EFFECT_WRITE, K, A, .from = 7 }, "SETRANGE k 7 a" },
    { { EFFECT_DROP, K }, "DEL k" },
    { { EFFECT_EXPIRE, K, .at = INSTANT_MAX }, "PEXPIREAT k 9223372036854775805" },
    { { EFFECT_PERSIST, K }, "PERSIST k" },
    { { EFFECT_SOFT, K, .at = 1700000000123 }, "X.SOFT k 1700000000123" },
    { { EFFECT_RENAME, K, A }, "RENAME k a" },
    { { EFFECT_COPY, K, A, .to = 3 }, "COPY k a DB 3 REPLACE" },
    { { EFFECT_MOVE, K, .to = 3 }, "MOVE k 3" },
    { { .kind = EFFECT_FLUSH }, "FLUSHDB" },
    { { EFFECT_PUSH_HEAD, K, A }, "LPUSH k a" },
    { { EFFECT_PUSH_TAIL, K, A }, "RPUSH k a" },
    { { EFFECT_POP_HEAD, K, .from = 2 }, "LPOP k 2" },
    { { EFFECT_POP_TAIL, K, .from = 2 }, "RPOP k 2" },
    { { EFFECT_KEEP, K, .from = 1, .to = 4 }, "LTRIM k 1 3" },
    { { EFFECT_KEEP, K, .from = 0, .to = 1 }, "LTRIM k 0 0" },
    { { EFFECT_KEEP, K, .from = 0, .to = 0 }, "LTRIM k 1 0" },
    { { EFFECT_LIST_PUT, K, A, .from = 2 }, "LSET k 2 a" },
    { { EFFECT_LIST_INSERT, K, A, .from = 2, .to = -1 }, "X.LINSERT k 2 a" },
    { { EFFECT_LIST_INSERT, K, A, B }, "LINSERT k BEFORE b a" },
    { { EFFECT_LIST_INSERT, K, A, B, .to = 1 }, "LINSERT k AFTER b a" },
    { { EFFECT_LIST_DROP, K, A, .from = -2 }, "LREM k -2 a" },
    { { EFFECT_SET_ADD, K, A, .at = NEVER }, "SADD k a" },
    { { EFFECT_SET_ADD, K, A, .at = 9 }, "SADDEX k PXAT 9 MEMBERS 1 a" },
    { { EFFECT_SET_EXPIRE, K, A, .at = 9 }, "SPEXPIREAT k 9 MEMBERS 1 a" },
    { { EFFECT_SET_EXPIRE, K, A, .at = NEVER }, "SPERSIST k MEMBERS 1 a" },
    { { EFFECT_SET_DROP, K, A }, "SREM k a" },
    { { EFFECT_HASH_PUT, K, A, B, .at = NEVER }, "HSET k a b" },
    { { EFFECT_HASH_PUT, K, A, B, .at = 9 }, "HSETEX k PXAT 9 FIELDS 1 a b" },
    { { EFFECT_HASH_EXPIRE, K, A, .at = 9 }, "HPEXPIREAT k 9 FIELDS 1 a" },
    { { EFFECT_HASH_EXPIRE, K, A, .at = NEVER }, "HPERSIST k FIELDS 1 a" },
    { { EFFECT_HASH_DROP, K, A }, "HDEL k a" },
    { { EFFECT_ZSET_PUT, K, A, .score = 1.5, .at = NEVER }, "ZADD k 1.5 a" },
    { { EFFECT_ZSET_PUT, K, A, .score = -0.0, .at = NEVER }, "ZADD k -0 a" },
    { { EFFECT_ZSET_PUT, K, A, .score = -HUGE_VAL, .at = 9 }, "ZADDEX k PXAT 9 -inf a" },
    { { EFFECT_ZSET_EXPIRE, K, A, .at = 9 }, "ZPEXPIREAT k 9 MEMBERS 1 a" },
    { { EFFECT_ZSET_EXPIRE, K, A, .at = NEVER }, "ZPERSIST k MEMBERS 1 a" },
    { { EFFECT_ZSET_DROP, K, A }, "ZREM k a" },
    { { EFFECT_ZSET_CUT, K, .from = 0, .to = 5 }, "ZREMRANGEBYRANK k 0 4" },
    { { EFFECT_REDE_PUSH, K, A, B, .stage = { .at = 9 } }, "REDE.PUSHAT k 9 b a" },
    { { EFFECT_REDE_PUSH, K, A, B, .stage = { 9, 1, true, 0 } }, "X.REDE.PUSH k 9 1 CLAIMED b a" },
    { { EFFECT_REDE_PUSH, K, A, B, .stage = { 9, UINT32_MAX, false, 0 } },
      "X.REDE.PUSH k 9 4294967295 WAITING b a" },
    { { EFFECT_REDE_PUSH, K, A, B, .stage = { 9, 1, true, TOKEN_MAX } },
      "X.REDE.PUSH k 9 1 9007199254740991 b a" },
    { { EFFECT_REDE_PUT, K, A, B }, "REDE.UPDATE k a b" },
    { { EFFECT_REDE_MOVE, K, A, .stage = { 9, 2, true, 0 } }, "X.REDE.MOVE k 9 2 CLAIMED a" },
    { { EFFECT_REDE_MOVE, K, A, .stage = { 9, 2, true, 7 } }, "X.REDE.MOVE k 9 2 7 a" },
    { { EFFECT_REDE_MOVE, K, A, .stage = { 9, 0, false, 0 } }, "X.REDE.MOVE k 9 0 WAITING a" },
    { { EFFECT_REDE_DROP, K, A }, "REDE.PULL k a" },
    { { EFFECT_REDE_OPTIONS, K, A, .from = 5, .to = 6, .at = 7, .stage.at = 9 },
      "X.REDE.OPTIONS k 5 6 7 9 a" },
    { { EFFECT_REDE_OPTIONS, K, A, .at = 0 }, "X.REDE.OPTIONS k 0 0 0 0 a" },
    { { EFFECT_REDE_FOLLOW, K, A, B, .to = 6, .at = 0, .stage.at = 9 },
      "X.REDE.FOLLOW k 0 6 0 9 b a" },
    { { EFFECT_REDE_CRON, K, A, B, .from = 0, .stage.at = 9 }, "X.REDE.CRON k 0 9 b a" },
    { { EFFECT_REDE_CRON, K, A, B, .from = 1, .stage.at = 9 }, "X.REDE.CRON k 1 9 b a" },
    { { EFFECT_REDE_UNFOLLOW, K, A }, "X.REDE.UNFOLLOW k a" },
    { { EFFECT_REDE_REMEMBER, K, A, .at = 9 }, "X.REDE.REMEMBER k 9 a" },
    { { EFFECT_REDE_PAUSE, K, .at = 9 }, "X.REDE.PAUSE k 9" },
    { { EFFECT_REDE_RATE, K, .from = 9 }, "X.REDE.RATE k 9" },
    { { EFFECT_REDE_FORGET, K, A }, "X.REDE.FORGET k a" },
    { { EFFECT_LEASE_TAKE, K, A, .from = 7, .at = 9, .to = 2 }, "X.LEASE.TAKE k a 7 9 2" },
    { { EFFECT_LEASE_EXTEND, K, A, .at = 9 }, "X.LEASE.EXTEND k a 9" },
    { { EFFECT_LEASE_DROP, K, A }, "X.LEASE.DROP k a" },
    { { EFFECT_STREAM_ADD, K, ID, .texts = pair, .text_count = 2 }, "XADD k 7-1 n v" },
    { { EFFECT_STREAM_ADD, K, .id = { 0, 1 }, .texts = pairs, .text_count = 4 },
      "XADD k 0-1 n v m w" },
    { { EFFECT_STREAM_BLOCK, K, .a = LIT("\x01\x01n"), .b = LIT("\x08\x01v\x0a\x01w"), ID,
        .marks = { .last = { 8, 0 }, .added = 2 } },
      "X.XBLOCK k 7-1 2 \x01\x01n \x08\x01v\x0a\x01w" },
    { { EFFECT_STREAM_DROP, K, ID }, "XDEL k 7-1" },
    { { EFFECT_STREAM_TRIM, K, .id = { UINT64_MAX, UINT64_MAX } },
      "XTRIM k MINID = 18446744073709551615-18446744073709551615" },
    { { EFFECT_STREAM_MARKS, K, .marks = { { 9, 3 }, { 7, 0 }, 5 } },
      "XSETID k 9-3 ENTRIESADDED 5 MAXDELETEDID 7-0" },
    { { EFFECT_STREAM_RETAIN, K, .at = 60000 }, "X.XRETAIN k 60000" },
    { { EFFECT_STREAM_RETAIN, K }, "X.XRETAIN k 0" },
    { { EFFECT_GROUP_ADD, K, A, .position = { { 7, 1 }, 2 } },
      "XGROUP CREATE k a 7-1 MKSTREAM ENTRIESREAD 2" },
    { { EFFECT_GROUP_SET, K, A, .position = { { 7, 1 }, GROUP_READ_UNKNOWN } },
      "XGROUP SETID k a 7-1 ENTRIESREAD -1" },
    { { EFFECT_GROUP_DROP, K, A }, "XGROUP DESTROY k a" },
    { { EFFECT_CONSUMER_ADD, K, A, B }, "XGROUP CREATECONSUMER k a b" },
    { { EFFECT_CONSUMER_DROP, K, A, B }, "XGROUP DELCONSUMER k a b" },
    { { EFFECT_PENDING_PUT, K, A, B, ID, .at = 5, .to = 2 },
      "XCLAIM k a b 0 7-1 TIME 5 RETRYCOUNT 2 FORCE JUSTID" },
    { { EFFECT_PENDING_PUT, K, A, ID, .at = 5, .to = 2 }, "X.XNACK k a 5 2 7-1" },
    { { EFFECT_PENDING_DROP, K, A, ID }, "XACK k a 7-1" },
    { { EFFECT_REPEAT_LIMITS, K, .from = 86400, .to = 1 },
      "XCFGSET k IDMP-DURATION 86400 IDMP-MAXSIZE 1" },
    { { EFFECT_REPEAT_PUT, K, A, B, ID }, "XIDMPRECORD k a b 7-1" },
    { { EFFECT_REPEAT_COUNTS, K, .from = 3, .to = 2 }, "X.XIDMPCOUNTS k 3 2" },
#undef B
#undef A
#undef K
#undef ID
};

enum { SAMPLES = sizeof(samples) / sizeof(samples[0]) };

/* What random effects are made of. */
static char pool[100000];

static inline struct bytes some_bytes(struct rng *rng)
{
    size_t len = rng_chance(rng, 90) ? rng_below(rng, 30) : rng_below(rng, 1 << rng_below(rng, 16));
    return bytes_of(pool + rng_below(rng, sizeof(pool) - len), len);
}

static inline struct effect some_effect(struct rng *rng, const struct effect *before)
{
    struct effect effect = samples[rng_below(rng, SAMPLES)].effect;
    /* Mostly an effect that can continue the current run. */
    if (before != NULL && rng_chance(rng, 60)) effect = *before;
    if (rng_chance(rng, 10)) effect.db = (unsigned)rng_below(rng, 16);
    if (effect.kind != EFFECT_FLUSH && rng_chance(rng, 10)) effect.key = some_bytes(rng);
    if (effect.kind == EFFECT_STREAM_BLOCK) return effect; /* the rest depends on its entries */
    if (effect.a.data != NULL) effect.a = some_bytes(rng);
    if (effect.b.data != NULL) effect.b = some_bytes(rng);
    if (has_deadline(effect.kind) && rng_chance(rng, 10)) {
        effect.at = (msec)(rng_next(rng) >> rng_between(rng, 1, 63));
        if (effect.at > INSTANT_MAX) effect.at = 1;
        enum type type = effect_rows[effect.kind].type;
        bool may_lack = effect.kind != EFFECT_EXPIRE && effect.kind != EFFECT_SOFT &&
                        type != TYPE_LEASE && type != TYPE_STREAM;
        if (may_lack && rng_chance(rng, 50)) effect.at = NEVER;
    }
    if (effect.kind == EFFECT_ZSET_PUT) {
        uint64_t bits = rng_next(rng);
        memcpy(&effect.score, &bits, sizeof(bits));
        if (isnan(effect.score)) effect.score = HUGE_VAL;
    }
    if (effect_rows[effect.kind].type == TYPE_STREAM &&
        !stream_id_equal(effect.id, STREAM_ID_MIN) && rng_chance(rng, 50))
        effect.id = (struct stream_id){ rng_next(rng), rng_next(rng) };
    if (effect.kind == EFFECT_PENDING_PUT && rng_chance(rng, 10))
        effect.to = rng_between(rng, 0, INT64_MAX - 1);
    if (has_stage(effect.kind) && rng_chance(rng, 30))
        effect.stage = (struct stage){ rng_between(rng, INSTANT_MIN, INSTANT_MAX / 2),
                                       (uint32_t)rng_next(rng), rng_chance(rng, 50), 0 };
    if (has_stage(effect.kind) && effect.stage.claimed && rng_chance(rng, 50))
        effect.stage.token = rng_between(rng, 1, TOKEN_MAX);
    return effect;
}
