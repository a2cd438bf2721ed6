#include "tools/bench/load/mix.h"

#include <stddef.h>
#include <string.h>

#define STRING "key:{k12}" /* 16 bytes */
#define MEMBER "member:{m9}"
#define FIELD  "field:{m10}"

/* Takes the job with the lowest score that is past, and puts it back after all others. */
#define TAKE_JOB(keys, args)                                                                       \
    "local job = redis.call('ZRANGEBYSCORE', " keys "[1], 0, " args "[1], 'LIMIT', 0, 1)[1]\n"     \
    "if not job then return false end\n"                                                           \
    "redis.call('ZREM', " keys "[1], job)\n"                                                       \
    "redis.call('ZADD', " keys "[1], " args "[2], job)\n"                                          \
    "return job"
/* Entries of streams: IDs that the mixes know, a name of 4 bytes and a value of 16. */
#define ENTRY_ID  "1{k12}-0"
#define ADD_ENTRY "XADD stream 1{n12}-0 name {n16}"
#define GROUP                                                                                      \
    "EVAL `redis.pcall('XGROUP', 'CREATE', 'stream', 'group', '0', 'MKSTREAM') return 1` 0"
/* For the hundred IDs of a round, with a text before and after each. */
#define TEN(a, tens, b)                                                                            \
    a tens "0" b a tens "1" b a tens "2" b a tens "3" b a tens "4" b a tens "5" b a tens           \
           "6" b a tens "7" b a tens "8" b a tens "9" b
#define HUNDRED(a, b)                                                                              \
    TEN(a, "1", b)                                                                                 \
    TEN(a, "2", b)                                                                                 \
    TEN(a, "3", b)                                                                                 \
    TEN(a, "4", b)                                                                                 \
    TEN(a, "5", b) TEN(a, "6", b) TEN(a, "7", b) TEN(a, "8", b) TEN(a, "9", b) TEN(a, "10", b)

#define RELEASE_LOCK                                                                               \
    "if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end return 0"
#define RELEASE_LOCK_SHA "6fbe84d1140fd2047394924af9d845b83c070bec"

#define MIX(NAME, ...)                                                                             \
    {                                                                                              \
        .name = (NAME), __VA_ARGS__                                                                \
    }

static const struct mix mixes[] = {
    MIX("ping", .recipe = "PING", .fill = "PING"),
    MIX("get", .recipe = "GET " STRING, .fill = "SET " STRING " {v}", .shrink = "DEL key:{k12}"),
    MIX("set", .recipe = "SET " STRING " {v}", .fill = "SET " STRING " {v}",
        .shrink = "DEL " STRING),
    MIX("setex", .recipe = "SETEX " STRING " {s4} {v}", .fill = "SETEX " STRING " {s4} {v}",
        .shrink = "DEL " STRING),
    MIX("set-ex", .recipe = "SET " STRING " {v} EX 3600", .fill = "SET " STRING " {v} EX 3600",
        .shrink = "DEL " STRING),
    /* Keys expire after a second, so that with -q as many keys expire as are set. */
    MIX("short-lived", .recipe = "SET " STRING " {v} PX 1000", .fill = "SET " STRING " {v} PX 1000",
        .shrink = "DEL " STRING),
    MIX("incr", .recipe = "INCR counter:{k8}", .fill = "SET counter:{k8} {s8}",
        .shrink = "DEL counter:{k8}"),
    MIX("expire", .recipe = "EXPIRE " STRING " {s4}", .fill = "SET " STRING " {v}",
        .shrink = "DEL " STRING),
    MIX("sadd", .recipe = "SADD set " MEMBER, .fill = "SADD set " MEMBER,
        .shrink = "SREM set " MEMBER),
    MIX("hset", .recipe = "HSET hash " FIELD " {v}", .fill = "HSET hash " FIELD " {v}",
        .shrink = "HDEL hash " FIELD),
    MIX("zadd", .recipe = "ZADD zset {s9} " MEMBER, .fill = "ZADD zset {s9} " MEMBER,
        .shrink = "ZREM zset " MEMBER),
    /* Deadlines from the year 2100 on. */
    MIX("saddex", .recipe = "SADDEX set PXAT 41{s11} MEMBERS 1 " MEMBER,
        .fill = "SADDEX set PXAT 41{s11} MEMBERS 1 " MEMBER, .shrink = "SREM set " MEMBER),
    MIX("hsetex", .recipe = "HSETEX hash PXAT 41{s11} FIELDS 1 " FIELD " {v}",
        .fill = "HSETEX hash PXAT 41{s11} FIELDS 1 " FIELD " {v}", .shrink = "HDEL hash " FIELD),
    MIX("zaddex", .recipe = "ZADDEX zset PXAT 41{s11} {s9} " MEMBER,
        .fill = "ZADDEX zset PXAT 41{s11} {s9} " MEMBER, .shrink = "ZREM zset " MEMBER),
    MIX("queue", .recipe = "RPUSH queue {v}\nLPOP queue", .fill = "RPUSH queue {v}",
        .shrink = "LPOP queue"),
    /* Each list holds its latest 30; every round adds one item and removes the oldest. */
    MIX("recency",
        .recipe = "ZADD recent:{k9} {t13} item:{n9}\n"
                  "ZREMRANGEBYRANK recent:{k9} 0 -31\n"
                  "EXPIRE recent:{k9} 604800\n"
                  "ZREVRANGE recent:{k9} 0 29",
        .fill = "ZADD recent:{k9} {t13} item:{n9}", .shrink = "DEL recent:{k9}", .fill_per_key = 30,
        .keys_divisor = 10),
    /* The same lists, to measure memory: the items are short numbers, the scores are in seconds. */
    MIX("recent", .recipe = "ZADD recent:{k9} {t10} {s6}\nZREMRANGEBYRANK recent:{k9} 0 -31",
        .fill = "ZADD recent:{k9} {t10} {s6}", .shrink = "DEL recent:{k9}", .fill_per_key = 30,
        .keys_divisor = 10),
    /* The same with ids of nine digits, and with names; the scores are in milliseconds. */
    MIX("recent-ids", .recipe = "ZADD recent:{k9} {t13} {s9}\nZREMRANGEBYRANK recent:{k9} 0 -31",
        .fill = "ZADD recent:{k9} {t13} {s9}", .shrink = "DEL recent:{k9}", .fill_per_key = 30,
        .keys_divisor = 10),
    MIX("recent-names",
        .recipe = "ZADD recent:{k9} {t13} item:{s7}\nZREMRANGEBYRANK recent:{k9} 0 -31",
        .fill = "ZADD recent:{k9} {t13} item:{s7}", .shrink = "DEL recent:{k9}", .fill_per_key = 30,
        .keys_divisor = 10),
    /* Each window holds ten hits; every round adds one and removes those that are too old. */
    MIX("window",
        .recipe = "ZADD window:{k9} {t13} hit:{n9}\n"
                  "ZREMRANGEBYSCORE window:{k9} 0 {o13}\n"
                  "ZCARD window:{k9}\n"
                  "EXPIRE window:{k9} 600",
        .fill = "ZADD window:{k9} {t13} hit:{n9}", .shrink = "DEL window:{k9}", .fill_per_key = 10,
        .keys_divisor = 10, .behind_per_key = 10),
    /* Jobs that wait, and the same as a sorted set, for servers without REDE.PUSH. */
    MIX("rede-push", .recipe = "REDE.PUSH jobs {s7} {v} job:{n12}",
        .fill = "REDE.PUSH jobs {s7} {v} job:{n12}", .shrink = "REDE.PULL jobs job:{k12}"),
    MIX("job-zadd-hset", .recipe = "ZADD jobs:at {s10} job:{n12}\nHSET jobs:data job:{n12} {v}",
        .fill = "ZADD jobs:at {s10} job:{n12}\nHSET jobs:data job:{n12} {v}",
        .shrink = "ZREM jobs:at job:{k12}\nHDEL jobs:data job:{k12}"),
    /* A job that is due at once is pushed and popped, while many others wait. */
    MIX("rede-cycle", .recipe = "REDE.PUSH jobs 0 {v} job:{n12}\nREDE.POLL jobs COUNT 1",
        .fill = "REDE.PUSH jobs {s7} {v} job:{n12}", .shrink = "REDE.PULL jobs job:{k12}"),
    MIX("claim-cycle",
        .recipe = "REDE.PUSH jobs 0 {v} {n12}\n"
                  "REDE.CLAIM jobs 30000 COUNT 1 TOKENS\n"
                  "REDE.ACK jobs {i12} {l16}",
        .fill = "REDE.PUSH jobs {s7} {v} {n12}"),
    MIX("job-cycle",
        .recipe = "ZADD jobs:at 1 job:{n12}\n"
                  "HSET jobs:data job:{n12} {v}\n"
                  "ZRANGEBYSCORE jobs:at 0 1 LIMIT 0 1\n"
                  "ZREM jobs:at job:{n12}\n"
                  "HDEL jobs:data job:{n12}",
        .fill = "ZADD jobs:at {s10} job:{n12}\nHSET jobs:data job:{n12} {v}",
        .shrink = "ZREM jobs:at job:{k12}\nHDEL jobs:data job:{k12}"),
    MIX("xadd", .recipe = "XADD stream MAXLEN ~ 1000000 * name {n16}",
        .fill = "XADD stream * name {n16}"),
    MIX("xrange", .recipe = "XRANGE stream " ENTRY_ID " + COUNT 100", .fill = ADD_ENTRY,
        .shrink = "XDEL stream " ENTRY_ID, .fill_in_order = true),
    /* With one connection and keys in turn, each round reads and acknowledges the next hundred. */
    MIX("xreadgroup", .setup = GROUP,
        .recipe = "XREADGROUP GROUP group consumer COUNT 100 STREAMS stream >\n"
                  "XACK stream group" HUNDRED(" 1{k10}-", ""),
        .fill = "PING" HUNDRED("\nXADD stream 1{n10}-", " name {n16}"), .keys_divisor = 100,
        .fill_in_order = true),
    MIX("pending", .setup = GROUP, .recipe = "XPENDING stream group",
        .fill = ADD_ENTRY "\nXREADGROUP GROUP group consumer COUNT 1 STREAMS stream >",
        .shrink = "XACK stream group " ENTRY_ID "\nXDEL stream " ENTRY_ID, .fill_in_order = true),
    MIX("eval-nothing", .recipe = "EVAL `return 1` 0", .fill = "PING"),
    /* A million jobs, half of which are due. After half a million rounds, the first jobs are due
     * again. */
    MIX("eval", .recipe = "EVAL `" TAKE_JOB("KEYS", "ARGV") "` 1 jobs {o13} {t13}",
        .fill = "ZADD jobs {t13} job:{n9}", .fill_per_key = 2, .keys_divisor = 2,
        .behind_per_key = 1),
    MIX("fcall",
        .setup = "FUNCTION LOAD REPLACE `#!lua name=bench\n"
                 "redis.register_function('take', function(keys, args)\n" TAKE_JOB(
                     "keys", "args") "\nend)`",
        .recipe = "FCALL take 1 jobs {o13} {t13}", .fill = "ZADD jobs {t13} job:{n9}",
        .fill_per_key = 2, .keys_divisor = 2, .behind_per_key = 1),
    MIX("lock", .setup = "SCRIPT LOAD `" RELEASE_LOCK "`",
        .recipe = "SET lock:{k9} {n12} NX PX 30000\n"
                  "EVALSHA " RELEASE_LOCK_SHA " 1 lock:{k9} {n12}",
        .fill = "DEL lock:{k9}"),
    MIX("lease", .recipe = "LEASE.TAKE lock:{k9} {n12} 30000\nLEASE.DROP lock:{k9} {r16}",
        .fill = "DEL lock:{k9}"),
    MIX("throttle", .recipe = "CL.THROTTLE limit:{k9} 29 30 60", .fill = "DEL limit:{k9}"),
    MIX("sliding", .recipe = "CL.WINDOW slide:{k9} 30 60000", .fill = "DEL slide:{k9}"),
};

enum { MIX_COUNT = sizeof(mixes) / sizeof(mixes[0]) };

const struct mix *mix_find(const char *name)
{
    for (size_t i = 0; i < MIX_COUNT; i++)
        if (strcmp(mixes[i].name, name) == 0) return &mixes[i];
    return NULL;
}

const char *mix_name(unsigned i)
{
    return i < MIX_COUNT ? mixes[i].name : NULL;
}

uint64_t mix_keys(const struct mix *mix, uint64_t key_space)
{
    uint64_t keys = mix->keys_divisor > 1 ? key_space / mix->keys_divisor : key_space;
    return keys > 0 ? keys : 1;
}
