/* string_increx: INCREX, which adds to the number in a string within bounds, and sets the key's
 * deadline. */
#include <float.h>
#include <math.h>

#include "server/cmd/call/args.h"
#include "server/cmd/string/string.h"
#include "store/base/number.h"

struct increx {
    bool is_float;                  /* BYFLOAT */
    int by_arg, lower_arg, top_arg; /* arguments of BYINT or BYFLOAT, LBOUND, UBOUND; or 0 */
    bool saturates;
    int ttl_arg; /* index of the argument of EX, PX, EXAT or PXAT; 0 if not given */
    enum ttl_unit unit;
    bool persist, only_without_ttl; /* PERSIST, ENX */
    bool only_new, only_present;    /* NX, XX */
};

static bool take_flag(bool *flag)
{
    bool first = !*flag;
    *flag = true;
    return first;
}

static bool take_value(const struct call *call, int *i, int *arg)
{
    bool first = *arg == 0;
    *arg = ++*i;
    return first && *i < call->argc;
}

static bool take_increx_option(const struct call *call, int *i, struct increx *how)
{
    how->is_float |= arg_is(call, *i, "BYFLOAT");
    if (arg_is(call, *i, "BYFLOAT") || arg_is(call, *i, "BYINT"))
        return take_value(call, i, &how->by_arg);
    if (arg_is(call, *i, "LBOUND")) return take_value(call, i, &how->lower_arg);
    if (arg_is(call, *i, "UBOUND")) return take_value(call, i, &how->top_arg);
    if (arg_is(call, *i, "SATURATE")) return take_flag(&how->saturates);
    if (arg_is(call, *i, "ENX")) return take_flag(&how->only_without_ttl) && !how->persist;
    if (arg_is(call, *i, "NX")) return take_flag(&how->only_new) && !how->only_present;
    if (arg_is(call, *i, "XX")) return take_flag(&how->only_present) && !how->only_new;
    if (arg_is(call, *i, "PERSIST"))
        return take_flag(&how->persist) && how->ttl_arg == 0 && !how->only_without_ttl;
    return arg_ttl_unit(call, *i, &how->unit) && take_value(call, i, &how->ttl_arg) &&
           !how->persist;
}

/* The value before and after, the increment and the bounds: `whole` or `real`, as is_float says. */
struct sum {
    struct {
        int64_t old, by, lower, top, sum;
    } whole;
    struct {
        long double old, by, lower, top, sum;
    } real;
};

static bool parse_whole(struct call *call, struct bytes text, int64_t *value, enum error error)
{
    if (number_parse_int64(text.data, text.len, value)) return true;
    return fail(call, error);
}

static bool parse_real(struct call *call, struct bytes text, long double *value, enum error error)
{
    if (number_parse_long_double(text.data, text.len, value)) return true;
    return fail(call, error);
}

static bool read_whole(struct call *call, const struct increx *how, struct sum *sum)
{
    const struct bytes *argv = call->argv;
    sum->whole.by = 1;
    sum->whole.lower = INT64_MIN;
    sum->whole.top = INT64_MAX;
    return (how->by_arg == 0 ||
            parse_whole(call, argv[how->by_arg], &sum->whole.by, ERR_INCREX_BYINT)) &&
           (how->lower_arg == 0 ||
            parse_whole(call, argv[how->lower_arg], &sum->whole.lower, ERR_INCREX_LBOUND)) &&
           (how->top_arg == 0 ||
            parse_whole(call, argv[how->top_arg], &sum->whole.top, ERR_INCREX_UBOUND));
}

static bool read_real(struct call *call, const struct increx *how, struct sum *sum)
{
    const struct bytes *argv = call->argv;
    sum->real.lower = -LDBL_MAX;
    sum->real.top = LDBL_MAX;
    if (!parse_real(call, argv[how->by_arg], &sum->real.by, ERR_INCREX_BYFLOAT)) return false;
    if (isinf(sum->real.by)) return fail(call, ERR_INCREX_INFINITE_BY);
    return (how->lower_arg == 0 ||
            parse_real(call, argv[how->lower_arg], &sum->real.lower, ERR_INCREX_LBOUND_FLOAT)) &&
           (how->top_arg == 0 ||
            parse_real(call, argv[how->top_arg], &sum->real.top, ERR_INCREX_UBOUND_FLOAT));
}

/* Adds up, and moves a sum that is out of bounds to the bound. Returns whether the sum was within
 * bounds. */
static bool add_whole(struct sum *sum)
{
    int64_t top = sum->whole.top, lower = sum->whole.lower, *to = &sum->whole.sum;
    bool over = __builtin_add_overflow(sum->whole.old, sum->whole.by, to);
    if (over) *to = sum->whole.by > 0 ? INT64_MAX : INT64_MIN;
    if (!over && *to >= lower && *to <= top) return true;
    *to = *to > top ? top : *to < lower ? lower : *to;
    return false;
}

static bool add_real(struct sum *sum)
{
    long double top = sum->real.top, lower = sum->real.lower, *to = &sum->real.sum;
    *to = sum->real.old + sum->real.by;
    if (!isinf(*to) && *to >= lower && *to <= top) return true;
    *to = *to > top ? top : *to < lower ? lower : *to;
    return false;
}

/* Stores the sum and sets the deadline. If the deadline has passed, removes the key instead, as
 * EXPIRE does; "del" is then the only event. */
static void store_sum(struct call *call, struct entry *entry, const struct increx *how,
                      const struct sum *sum, msec at)
{
    struct txn *txn = call->txn;
    if (at != NEVER && instant_past(at, txn->now)) {
        if (entry != NULL) txn_key_drop(txn, entry, EVENT_DEL);
        return;
    }
    char text[NUMBER_FIXED_MAX_CHARS];
    size_t len = how->is_float ? number_print_long_double(text, sum->real.sum)
                               : number_print_int64(text, sum->whole.sum);
    const struct string_set set = {
        .at = at,
        .keep_ttl = at == NEVER,
        .continues = true,
        .soft = SOFT_KEPT,
        .text = how->is_float,
        .event = how->is_float ? EVENT_INCRBYFLOAT : EVENT_INCRBY,
    };
    txn_string_set_found(txn, call->argv[1], entry, bytes_of(text, len), &set);
    if (how->persist && entry != NULL) txn_key_persist(txn, entry);
}

static void reply_sum(struct call *call, const struct increx *how, const struct sum *sum)
{
    resp_array(call->out, 2);
    if (how->is_float) {
        resp_long_double(call->out, sum->real.sum);
        resp_long_double(call->out, sum->real.sum - sum->real.old);
    } else {
        resp_integer(call->out, sum->whole.sum);
        resp_integer(call->out, sum->whole.sum - sum->whole.old);
    }
}

static void cmd_increx(struct call *call)
{
    struct increx how = { .by_arg = 0 };
    struct sum sum = { .whole.old = 0 };
    struct entry *entry;
    msec at = NEVER;
    for (int i = 2; i < call->argc; i++)
        if (fail_if(call, !take_increx_option(call, &i, &how), ERR_SYNTAX)) return;
    if (fail_if(call, how.only_without_ttl && how.ttl_arg == 0, ERR_INCREX_ENX)) return;
    if (!(how.is_float ? read_real : read_whole)(call, &how, &sum)) return;
    if (fail_if(call,
                how.is_float ? sum.real.lower > sum.real.top : sum.whole.lower > sum.whole.top,
                ERR_INCREX_BOUNDS))
        return;
    if (how.ttl_arg != 0 && !arg_deadline(call, how.ttl_arg, how.unit, true, &at)) return;
    if (!find_typed(call, 1, TYPE_STRING, &entry)) return;
    if (entry != NULL) { /* a missing key counts as 0 */
        struct bytes text = object_text(&entry->object);
        if (!how.is_float) {
            if (!parse_whole(call, text, &sum.whole.old, ERR_NOT_INTEGER)) return;
        } else if (!parse_real(call, text, &sum.real.old, ERR_NOT_FLOAT)) {
            return;
        } else if (isinf(sum.real.old)) {
            fail(call, ERR_INCREX_INFINITE_VALUE);
            return;
        }
    }

    bool is_refused = entry == NULL ? how.only_present : how.only_new;
    bool is_within = (how.is_float ? add_real : add_whole)(&sum);
    if (is_refused || !(is_within || how.saturates)) {
        sum.whole.sum = sum.whole.old;
        sum.real.sum = sum.real.old;
        reply_sum(call, &how, &sum);
        return;
    }

    /* Does the applied increment fit into the reply? */
    int64_t applied;
    if (fail_if(call, how.is_float && !isfinite(sum.real.sum - sum.real.old),
                ERR_INCREX_INFINITE_APPLIED))
        return;
    if (fail_if(call,
                !how.is_float && __builtin_sub_overflow(sum.whole.sum, sum.whole.old, &applied),
                ERR_INCREX_APPLIED))
        return;
    if (how.only_without_ttl && entry != NULL && entry_expires_at(call->txn->ks, entry) != NEVER)
        at = NEVER;
    store_sum(call, entry, &how, &sum, at);
    reply_sum(call, &how, &sum);
}

static const struct command rows[] = {
    ROW("INCREX", cmd_increx, -2, WRITE | GROWS | FAST, .keys = KEY_FIRST,
        .key_flags = KEY_RW | KEY_ACCESS | KEY_UPDATE, .since = "8.8.0",
        .replies = REPLIES("[integer integer]: the value afterwards and the increment that was "
                           "applied, 0 if the sum is out of bounds or NX or XX does not hold",
                           "[double double]: the same with BYFLOAT"),
        .errors = ERRORS(ERR_WRONGTYPE, ERR_SYNTAX, ERR_NOT_INTEGER, ERR_NOT_FLOAT, ERR_BAD_EXPIRE,
                         ERR_INCREX_ENX, ERR_INCREX_BYINT, ERR_INCREX_BYFLOAT, ERR_INCREX_LBOUND,
                         ERR_INCREX_UBOUND, ERR_INCREX_LBOUND_FLOAT, ERR_INCREX_UBOUND_FLOAT,
                         ERR_INCREX_BOUNDS, ERR_INCREX_INFINITE_BY, ERR_INCREX_INFINITE_VALUE,
                         ERR_INCREX_APPLIED, ERR_INCREX_INFINITE_APPLIED),
        .complexity = "O(1)",
        .syntax =
            "key [BYINT increment|BYFLOAT float-increment] [LBOUND lowerbound] [UBOUND upperbound] "
            "[SATURATE] [NX|XX] [EX seconds|PX milliseconds|EXAT unix-time-seconds|PXAT "
            "unix-time-milliseconds|PERSIST] [ENX]",
        .summary = "Increments the number in a key by one or the given number, if the result stays "
                   "within the bounds, and optionally sets or removes the key's expiration."),
};

const struct command_group string_increx_commands = COMMAND_GROUP("string", rows);
