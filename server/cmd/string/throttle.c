/* throttle: CL.THROTTLE and CL.THROTTLEMS: a rate limit by the generic cell rate algorithm (GCRA),
 * as in redis-cell.
 *
 * The limit is a bucket of actions that fills up at a steady rate. Its whole state is one integer
 * in a string: the instant, in nanoseconds, at which the bucket is full again (the theoretical
 * arrival time, TAT). Each action moves the TAT by the interval between two actions of the rate. An
 * action is refused if that would move the TAT more than a burst ahead of the clock. A full bucket
 * needs no state, so the key expires at the TAT.
 *
 * redis-cell stores the same integer, so its keys continue to work here. It rounds times down, so a
 * client that waits as told may be refused again; here times are rounded up. */
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

static int64_t round_up(int64_t ns, int64_t unit)
{
    return ns < 0 ? -1 : ns / unit + (ns % unit != 0);
}

static void throttle(struct call *call)
{
    int64_t unit = call_variant(call);
    struct rate rate;
    struct entry *entry;
    if (!read_rate(call, unit, &rate)) return;
    if (!find_typed(call, 1, TYPE_STRING, &entry)) return;

    int64_t tat = INT64_MIN, now, latest;
    if (fail_if(call,
                __builtin_mul_overflow(call->txn->now, NS_PER_MS, &now) ||
                    __builtin_add_overflow(now, rate.burst, &latest),
                ERR_RATE_SPAN))
        return;
    if (entry != NULL) {
        struct bytes text = object_text(&entry->object);
        if (fail_if(call, !number_parse_int64(text.data, text.len, &tat), ERR_NOT_INTEGER)) return;
    }

    int64_t full = tat > now ? tat : now, retry_after = -1;
    bool is_limited = true;
    if (rate.quantity <= rate.limit) {
        int64_t ahead = full - now, span = rate.interval * rate.quantity, slack = rate.burst - span;
        is_limited = ahead > slack;
        if (is_limited)
            retry_after = ahead - slack;
        else
            full += span; /* at most `latest`, which fits */
    }
    int64_t reset_after = full - now;

    if (!is_limited && rate.quantity > 0) {
        char text[NUMBER_INT64_MAX_CHARS];
        const struct string_set how = { .at = round_up(full, NS_PER_MS),
                                        .continues = true,
                                        .event = EVENT_SET };
        struct bytes value = bytes_of(text, number_print_int64(text, full));
        txn_string_set_found(call->txn, call->argv[1], entry, value, &how);
    }

    resp_array(call->out, 5);
    resp_integer(call->out, is_limited);
    resp_integer(call->out, rate.limit);
    resp_integer(call->out,
                 reset_after < rate.burst ? (rate.burst - reset_after) / rate.interval : 0);
    resp_integer(call->out, round_up(retry_after, unit));
    resp_integer(call->out, round_up(reset_after, unit));
}

#define THROTTLE_ROW                                                                               \
    .keys = KEY_FIRST, .key_flags = KEY_RW | KEY_ACCESS | KEY_UPDATE, .since = "0.2.0",            \
    .errors = ERRORS(ERR_WRONGTYPE, ERR_NOT_INTEGER, ERR_NOT_POSITIVE, ERR_ARITY, ERR_ZERO_RATE,   \
                     ERR_RATE_SPAN),                                                               \
    .complexity = "O(1)"

static const struct command rows[] = {
    ROW("CL.THROTTLE", throttle, -5, WRITE | GROWS | FAST, .variant = 1000 * NS_PER_MS,
        .origin = "redis-cell",
        .replies =
            REPLIES("[integer integer integer integer integer]: 1 if the actions are refused, "
                    "else 0; the most actions at once; how many are left; seconds until the "
                    "same call is allowed, -1 if it was allowed or never will be; seconds "
                    "until all are available again"),
        .syntax = "key max-burst count period-seconds [quantity]",
        .summary = "Limits the rate of actions: after a burst, count actions per period, evenly "
                   "spaced. A quantity of 0 changes nothing.",
        THROTTLE_ROW),
    ROW("CL.THROTTLEMS", throttle, -5, WRITE | GROWS | FAST, .variant = NS_PER_MS,
        .replies =
            REPLIES("[integer integer integer integer integer]: as CL.THROTTLE, with times in "
                    "milliseconds"),
        .syntax = "key max-burst count period-milliseconds [quantity]",
        .summary = "Limits the rate of actions as CL.THROTTLE does, with times in milliseconds.",
        THROTTLE_ROW),
};

const struct command_group throttle_commands = COMMAND_GROUP("string", rows);
