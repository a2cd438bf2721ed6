/* args: see args.h. */
#include "server/cmd/call/args.h"

#include <limits.h>

#include "store/base/number.h"

int arg_word(const struct call *call, int i, const char *const *words, size_t count)
{
    for (size_t w = 0; w < count; w++)
        if (arg_is(call, i, words[w])) return (int)w;
    return -1;
}

bool arg_refuse_option(struct call *call, int i, enum error error)
{
    enum { SHOWN_MAX = 64 };
    int width = arg_width(call, i);
    return failf(call, error, width < SHOWN_MAX ? width : SHOWN_MAX, call->argv[i].data);
}

bool arg_has_value(struct call *call, int i)
{
    return i + 1 < call->argc || arg_refuse_option(call, i, ERR_OPTION_NO_VALUE);
}

bool fail_subcommand_if(struct call *call, bool wrong)
{
    const struct command *row = call->command.parent;
    if (row == NULL) row = call->command.row;
    return wrong &&
           !failf(call, ERR_SUBCOMMAND_OR_ARITY, arg_width(call, 1), call->argv[1].data, row->name);
}

int arg_width(const struct call *call, int i)
{
    size_t len = call->argv[i].len;
    return len < INT_MAX ? (int)len : INT_MAX;
}

bool arg_int64_or(struct call *call, int i, int64_t *value, enum error error)
{
    return number_parse_int64(call->argv[i].data, call->argv[i].len, value) || fail(call, error);
}

bool arg_int64(struct call *call, int i, int64_t *value)
{
    return arg_int64_or(call, i, value, ERR_NOT_INTEGER);
}

bool arg_int(struct call *call, int i, int *value)
{
    int64_t wide;
    if (!arg_int64(call, i, &wide)) return false;
    *value = (int)wide;
    return *value == wide || fail(call, ERR_INT_RANGE);
}

bool arg_range(struct call *call, int i, int64_t min, int64_t max, int64_t *value, enum error error)
{
    if (!arg_int64_or(call, i, value, error)) return false;
    return (*value >= min && *value <= max) || fail(call, error);
}

bool arg_double(struct call *call, int i, double *value)
{
    return number_parse_double(call->argv[i].data, call->argv[i].len, value) ||
           fail(call, ERR_NOT_FLOAT);
}

bool arg_ttl_unit(const struct call *call, int i, enum ttl_unit *unit)
{
    static const char *const words[] = {
        [TTL_SECONDS] = "EX",
        [TTL_MSEC] = "PX",
        [TTL_UNIX_SECONDS] = "EXAT",
        [TTL_UNIX_MSEC] = "PXAT",
    };
    int found =
        i + 1 < call->argc ? arg_word(call, i, words, sizeof(words) / sizeof(words[0])) : -1;
    if (found >= 0) *unit = (enum ttl_unit)found;
    return found >= 0;
}

/* DIFFERS: Redis accepts any int64 as PXAT. Here the two highest values are refused, because they
 * lie above INSTANT_MAX. (doc/differs.md) */
bool arg_deadline(struct call *call, int i, enum ttl_unit unit, bool must_be_positive, msec *at)
{
    if (!arg_int64(call, i, at)) return false;
    bool good = *at > 0 || !must_be_positive;
    if (good && (unit == TTL_SECONDS || unit == TTL_UNIX_SECONDS))
        good = instant_from_seconds(*at, at);
    if (unit == TTL_SECONDS || unit == TTL_MSEC)
        good = good && instant_after(call->txn->now, *at, at);
    else
        good = good && *at <= INSTANT_MAX;
    return good || fail_named(call, ERR_BAD_EXPIRE);
}

struct entry *peek_key(struct call *call, int i)
{
    bool before = call->txn->no_touch;
    call->txn->no_touch = true;
    struct entry *entry = txn_find_counted(call->txn, call->argv[i]);
    call->txn->no_touch = before;
    return entry;
}

static bool has_type(struct call *call, const struct entry *entry, enum type type)
{
    return entry == NULL || entry->object.type == type || fail(call, ERR_WRONGTYPE);
}

bool find_typed(struct call *call, int i, enum type type, struct entry **entry)
{
    *entry = txn_find(call->txn, call->argv[i]);
    return has_type(call, *entry, type);
}

bool find_typed_counted(struct call *call, int i, enum type type, struct entry **entry)
{
    *entry = txn_find_counted(call->txn, call->argv[i]);
    return has_type(call, *entry, type);
}

struct entry *entry_or_new(struct call *call, int i, struct entry *entry, enum type type)
{
    return entry != NULL ? entry : txn_create(call->txn, call->argv[i], type);
}

void clip_range(int64_t start, int64_t stop, size_t count, size_t *from, size_t *to)
{
    int64_t len = (int64_t)count;
    if (start < 0) start += len;
    if (start < 0) start = 0;
    if (stop < 0) stop += len;
    if (stop >= len) stop = len - 1;
    bool empty = start > stop || start >= len;
    *from = empty ? 0 : (size_t)start;
    *to = empty ? 0 : (size_t)stop + 1;
}
