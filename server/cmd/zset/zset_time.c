/* zset_time: commands that take members whose scores, Unix times in seconds with fractions, have
 * come, and block until one has. */
#include <math.h>

#include "server/call/args.h"
#include "server/cmd/blocking.h"
#include "server/cmd/cmd.h"
#include "server/cmd/zset/zset_span.h"

/* ---- scores as instants ---------------------------------------------------------------------- */

/* As the double that a client has for this instant: one that is written with milliseconds has come
 * in just that millisecond, though few of them are exact. */
static double seconds_of(msec at)
{
    return (double)at / 1000;
}

/* The first instant at which a score that is not past at `now` is; NEVER where none can be. */
static msec instant_of(double score, msec now)
{
    double about = ceil(score * 1000);
    if (about >= (double)INSTANT_MAX) return NEVER;
    msec at = (msec)about;
    if (seconds_of(at) < score) at++;                      /* the product was rounded down, or */
    if (at - 1 > now && seconds_of(at - 1) >= score) at--; /* up, to the next whole number */
    return instant_past(at, now) ? instant_next(now) : at;
}

/* The members that have come, lowest first, at most so many. O(log n) */
static struct span span_past(const struct zset *zset, msec now, int64_t most)
{
    struct span span = { .to = zset_below_score(zset, seconds_of(now), true) };
    return span_limited(span, 0, most);
}

static double first_score(const struct zset *zset)
{
    struct zset_iter iter;
    struct bytes member;
    double score = 0;
    zset_iter_at(&iter, zset, 0);
    zset_iter_next(&iter, &member, &score);
    return score;
}

/* ---- commands -------------------------------------------------------------------------------- */

struct take {
    int64_t most;
    msec until;
    struct entry *from;
    struct span span; /* of it: what is taken; empty: nothing has come yet */
};

/* key ... count timeout */
static bool arg_take(struct call *call, struct take *take)
{
    struct source source;
    int count = call->argc - 2;
    *take = (struct take){ 0 };
    if (!arg_range(call, count, 1, INT64_MAX, &take->most, ERR_COUNT_POSITIVE)) return false;
    if (!arg_timeout(call, count + 1, &take->until)) return false;
    if (!find_source(call, TYPE_ZSET, 1, 1, &source)) return false;
    take->from = source.entry;
    if (take->from != NULL)
        take->span = span_past(take->from->object.zset, call->txn->now, take->most);
    return true;
}

static bool has_come(const struct take *take)
{
    return span_count(&take->span) > 0;
}

static void wait_for_time(struct call *call, const struct take *take)
{
    struct block_request block = {
        .first = 1, .count = 1, .type = TYPE_ZSET, .until = take->until
    };
    block.again = take->from == NULL
                      ? NEVER
                      : instant_of(first_score(take->from->object.zset), call->txn->now);
    block_on(call, &block);
}

static void remove_taken(struct call *call, const struct take *take)
{
    txn_zset_remove_ranks(call->txn, take->from, take->span.from, take->span.to, EVENT_ZPOPMIN);
}

static void cmd_bztspop(struct call *call)
{
    struct take take;
    if (!arg_take(call, &take)) return;
    if (!has_come(&take)) {
        wait_for_time(call, &take);
        return;
    }
    span_reply(call, take.from->object.zset, &take.span, SCORES_PAIRED);
    remove_taken(call, &take);
}

/* To the tail of the list, in their order; each is replied. */
static void push_taken(struct call *call, const struct take *take, struct entry *to)
{
    struct zset_iter iter;
    struct bytes member;
    double score;
    size_t left = span_count(&take->span);
    resp_array(call->out, left);
    zset_iter_at(&iter, take->from->object.zset, take->span.from);
    for (; left > 0 && zset_iter_next(&iter, &member, &score); left--) {
        reply_bytes(call, member);
        txn_list_push(call->txn, to, LIST_TAIL, member);
    }
}

/* The type of the destination is checked only when a member is moved, as in BLMOVE. */
static void cmd_bztsmove(struct call *call)
{
    struct take take;
    struct entry *to;
    if (!arg_take(call, &take)) return;
    if (!has_come(&take)) {
        wait_for_time(call, &take);
        return;
    }
    if (!find_typed(call, 2, TYPE_LIST, &to)) return;
    push_taken(call, &take, entry_or_new(call, 2, to, TYPE_LIST));
    remove_taken(call, &take);
}

static const struct command rows[] = {
    { .name = "BZTSPOP",
      .run = cmd_bztspop,
      .arity = 4,
      .flags = WRITE | NOSCRIPT | BLOCKING | FAST,
      .keys = KEY_FIRST,
      .key_flags = KEY_RW | KEY_ACCESS | KEY_DELETE,
      .group = "sorted-set",
      .since = "0.1.0",
      .replies = REPLIES("RESP2 [bulk bulk ...]: members, each followed by its score",
                         "RESP3 [[bulk double] ...]: members with their scores",
                         "null-array: the timeout ended"),
      .errors = ERRORS(ERR_WRONGTYPE, ERR_TIMEOUT_NEGATIVE, ERR_TIMEOUT_FLOAT, ERR_COUNT_POSITIVE),
      .complexity = "O(log(N)+M), N members of the sorted set, M removed",
      .syntax = "key count timeout",
      .summary = "Takes the lowest members whose scores are times that have come, or waits until "
                 "the first one's has." },
    { .name = "BZTSMOVE",
      .run = cmd_bztsmove,
      .arity = 5,
      .flags = WRITE | GROWS | NOSCRIPT | BLOCKING,
      .keys = { .first = 1, .last = 2, .step = 1 },
      .specs = { KEY_AT(1, KEY_RW | KEY_ACCESS | KEY_DELETE), KEY_AT(2, KEY_RW | KEY_INSERT) },
      .group = "sorted-set",
      .since = "0.1.0",
      .replies =
          REPLIES("[bulk ...]: the members that were moved", "null-array: the timeout ended"),
      .errors = ERRORS(ERR_WRONGTYPE, ERR_TIMEOUT_NEGATIVE, ERR_TIMEOUT_FLOAT, ERR_COUNT_POSITIVE),
      .complexity = "O(log(N)+M), N members of the sorted set, M moved",
      .syntax = "key destination count timeout",
      .summary = "Moves the lowest members whose scores are times that have come to the tail of a "
                 "list, or waits until the first one's has." },
};

const struct command_group zset_time_commands = COMMAND_GROUP(rows);
