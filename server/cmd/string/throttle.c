/* throttle: CL.THROTTLE and CL.THROTTLEMS: the generic cell rate algorithm (GCRA), as in
 * redis-cell.
 *
 * The state is a string with one integer: the theoretical arrival time (TAT) in nanoseconds, at
 * which the bucket is full again. The key expires at that time. Each action moves the TAT by the
 * interval between two actions of the rate; an action is refused if that would move the TAT more
 * than a burst ahead of the clock. redis-cell stores the same integer, so its keys can be taken
 * over. It rounds times below a millisecond down, so that a client that waits may be refused again;
 * here times are rounded up. */
#include "server/cmd/call/args.h"
#include "server/cmd/string/string.h"
#include "store/base/number.h"

#define NS_PER_MS INT64_C(1000000)

struct rate {
    int64_t limit;    /* most actions at once */
    int64_t interval; /* nanoseconds between two actions */
    int64_t burst;    /* limit intervals */
    int64_t quantity; /* actions of this call */
};

/* Times in nanoseconds; `full` is the TAT, or now if that is later. */
struct bucket {
    int64_t now, full;
};

struct verdict {
    bool is_limited;
    int64_t remaining;
    int64_t retry_after, reset_after; /* nanoseconds; -1: never, or not needed */
};

static bool read_rate(struct call *call, int64_t unit, struct rate *rate)
{
    int64_t most, count, period, period_ns;
    rate->quantity = 1;
    if (call->argc > 6) return fail_named(call, ERR_ARITY);
    if (!arg_range(call, 2, 0, INT64_MAX - 1, &most, ERR_NOT_POSITIVE)) return false;
    if (!arg_int64(call, 3, &count) || !arg_int64(call, 4, &period)) return false;
    if (call->argc > 5 && !arg_range(call, 5, 0, INT64_MAX, &rate->quantity, ERR_NOT_POSITIVE))
        return false;
    if (count <= 0 || period <= 0) return fail(call, ERR_ZERO_RATE);
    bool fits = !__builtin_mul_overflow(period, unit, &period_ns);
    rate->limit = most + 1;
    rate->interval = fits ? period_ns / count : 0;
    fits = fits && !__builtin_mul_overflow(rate->interval, rate->limit, &rate->burst);
    if (!fits)
        fail(call, ERR_RATE_SPAN);
    else if (rate->interval == 0)
        fail(call, ERR_ZERO_RATE);
    return fits && rate->interval > 0;
}

static bool read_bucket(struct call *call, const struct rate *rate, const struct entry *entry,
                        struct bucket *bucket)
{
    int64_t tat = INT64_MIN, latest;
    if (__builtin_mul_overflow(call->txn->now, NS_PER_MS, &bucket->now) ||
        __builtin_add_overflow(bucket->now, rate->burst, &latest))
        return fail(call, ERR_RATE_SPAN);
    if (entry != NULL) {
        struct bytes text = object_text(&entry->object);
        if (!number_parse_int64(text.data, text.len, &tat)) return fail(call, ERR_NOT_INTEGER);
    }
    bucket->full = tat > bucket->now ? tat : bucket->now;
    return true;
}

/* Takes the actions from the bucket if they are allowed, and moves `full`. */
static struct verdict take(const struct rate *rate, struct bucket *bucket)
{
    struct verdict verdict = { .is_limited = true, .retry_after = -1 };
    if (rate->quantity <= rate->limit) {
        int64_t ahead = bucket->full - bucket->now;
        int64_t span = rate->interval * rate->quantity, slack = rate->burst - span;
        verdict.is_limited = ahead > slack;
        if (verdict.is_limited)
            verdict.retry_after = ahead - slack;
        else
            bucket->full += span; /* at most now + burst, which fits */
    }
    verdict.reset_after = bucket->full - bucket->now;
    if (verdict.reset_after < rate->burst)
        verdict.remaining = (rate->burst - verdict.reset_after) / rate->interval;
    return verdict;
}

static int64_t round_up(int64_t ns, int64_t unit)
{
    return ns < 0 ? -1 : ns / unit + (ns % unit != 0);
}

static void throttle(struct call *call, int64_t unit)
{
    struct rate rate;
    struct bucket bucket;
    struct entry *entry;
    if (!read_rate(call, unit, &rate)) return;
    if (!find_typed(call, 1, TYPE_STRING, &entry) || !read_bucket(call, &rate, entry, &bucket))
        return;

    struct verdict verdict = take(&rate, &bucket);

    if (!verdict.is_limited && rate.quantity > 0) {
        char text[NUMBER_INT64_MAX_CHARS];
        const struct string_set how = {
            .at = round_up(bucket.full, NS_PER_MS),
            .event = EVENT_SET,
        };
        struct bytes value = bytes_of(text, number_print_int64(text, bucket.full));
        txn_string_set_found(call->txn, call->argv[1], entry, value, &how);
    }

    resp_array(call->out, 5);
    resp_integer(call->out, verdict.is_limited);
    resp_integer(call->out, rate.limit);
    resp_integer(call->out, verdict.remaining);
    resp_integer(call->out, round_up(verdict.retry_after, unit));
    resp_integer(call->out, round_up(verdict.reset_after, unit));
}

static void cmd_throttle(struct call *call)
{
    throttle(call, 1000 * NS_PER_MS);
}

static void cmd_throttlems(struct call *call)
{
    throttle(call, NS_PER_MS);
}

#define THROTTLE_ROW                                                                               \
    .arity = -5, .flags = WRITE | GROWS | FAST, .keys = KEY_FIRST,                                 \
    .key_flags = KEY_RW | KEY_ACCESS | KEY_UPDATE, .since = "0.2.0",                               \
    .errors = ERRORS(ERR_WRONGTYPE, ERR_NOT_INTEGER, ERR_NOT_POSITIVE, ERR_ARITY, ERR_ZERO_RATE,   \
                     ERR_RATE_SPAN),                                                               \
    .complexity = "O(1)"

static const struct command rows[] = {
    { .name = "CL.THROTTLE",
      .run = cmd_throttle,
      .origin = "redis-cell",
      .replies = REPLIES("[integer integer integer integer integer]: 1 if the actions are refused, "
                         "else 0; the most actions at once; how many are left; seconds until the "
                         "same call is allowed, -1 if it was allowed or never will be; seconds "
                         "until all are available again"),
      .syntax = "key max-burst count period-seconds [quantity]",
      .summary = "Limits the rate of actions: after a burst, count actions per period, evenly "
                 "spaced. A quantity of 0 changes nothing.",
      THROTTLE_ROW },
    { .name = "CL.THROTTLEMS",
      .run = cmd_throttlems,
      .replies = REPLIES("[integer integer integer integer integer]: as CL.THROTTLE, with times in "
                         "milliseconds"),
      .syntax = "key max-burst count period-milliseconds [quantity]",
      .summary = "Limits the rate of actions as CL.THROTTLE does, with times in milliseconds.",
      THROTTLE_ROW },
};

const struct command_group throttle_commands = COMMAND_GROUP("string", rows);
