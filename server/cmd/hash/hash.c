/* hash: commands that set, read and remove fields of hashes. hash_ex.c implements those that also
 * set deadlines of fields, hash_random.c implements HRANDFIELD. */
#include <math.h>

#include "server/cmd/call/args.h"
#include "server/cmd/call/call.h"
#include "server/cmd/call/error.h"
#include "server/cmd/hash/hash.h"
#include "server/cmd/hash/hash_field.h"
#include "store/base/number.h"
#include "store/txn/txn.h"
#include "store/type/hash.h"

/* HSET clears the field's deadline; HINCRBY and HINCRBYFLOAT keep it. */
static const struct hput set_put = { EVENT_HSET, { LIFE_CLEAR, NEVER } };
static const struct hput incrby_put = { EVENT_HINCRBY, { LIFE_KEEP, NEVER } };
static const struct hput incrbyfloat_put = { EVENT_HINCRBYFLOAT, { LIFE_KEEP, NEVER } };

static bool put_pairs(struct call *call, int64_t *added)
{
    struct entry *entry;
    *added = 0;
    if (call->argc % 2 != 0) return fail_named(call, ERR_ARITY);
    if (!find_typed(call, 1, TYPE_HASH, &entry)) return false;
    entry = entry_or_new(call, 1, entry, TYPE_HASH);
    for (int i = 2; i < call->argc; i += 2)
        *added += txn_hash_put(call->txn, entry, call->argv[i], call->argv[i + 1], &set_put);
    return true;
}

static void cmd_hset(struct call *call)
{
    int64_t added;
    if (put_pairs(call, &added)) resp_integer(call->out, added);
}

static void cmd_hmset(struct call *call)
{
    int64_t added;
    if (put_pairs(call, &added)) reply_ok(call);
}

static void cmd_hsetnx(struct call *call)
{
    struct entry *entry;
    if (!find_typed(call, 1, TYPE_HASH, &entry)) return;
    bool is_new = !has_field(entry, call->argv[2]);
    resp_integer(call->out, is_new);
    if (!is_new) return;
    entry = entry_or_new(call, 1, entry, TYPE_HASH);
    txn_hash_put(call->txn, entry, call->argv[2], call->argv[3], &set_put);
}

static void cmd_hget(struct call *call)
{
    struct entry *entry;
    if (!find_typed_counted(call, 1, TYPE_HASH, &entry)) return;
    reply_field_value(call, entry, call->argv[2]);
}

static void cmd_hmget(struct call *call)
{
    struct entry *entry;
    if (!find_typed_counted(call, 1, TYPE_HASH, &entry)) return;
    resp_array(call->out, (size_t)call->argc - 2);
    for (int i = 2; i < call->argc; i++)
        reply_field_value(call, entry, call->argv[i]);
}

static void cmd_hdel(struct call *call)
{
    struct entry *entry;
    if (!find_typed(call, 1, TYPE_HASH, &entry)) return;
    int64_t removed = 0;
    for (int i = 2; entry != NULL && i < call->argc; i++)
        removed += txn_hash_remove(call->txn, entry, call->argv[i]);
    resp_integer(call->out, removed);
}

static size_t count_fields(const struct entry *entry)
{
    return entry == NULL ? 0 : hash_count(entry->object.hash);
}

static void cmd_hlen(struct call *call)
{
    struct entry *entry;
    if (!find_typed_counted(call, 1, TYPE_HASH, &entry)) return;
    resp_integer(call->out, (int64_t)count_fields(entry));
}

static void cmd_hexists(struct call *call)
{
    struct entry *entry;
    if (!find_typed_counted(call, 1, TYPE_HASH, &entry)) return;
    resp_integer(call->out, has_field(entry, call->argv[2]));
}

static void cmd_hstrlen(struct call *call)
{
    struct entry *entry;
    struct bytes value = { NULL, 0 };
    if (!find_typed_counted(call, 1, TYPE_HASH, &entry)) return;
    if (entry != NULL) hash_get(entry->object.hash, call->argv[2], &value);
    resp_integer(call->out, (int64_t)value.len);
}

static void cmd_hincrby(struct call *call)
{
    int64_t by, value = 0;
    if (!arg_int64(call, 3, &by)) return;
    struct entry *entry;
    if (!find_typed(call, 1, TYPE_HASH, &entry)) return;

    struct bytes old;
    if (fail_if(call,
                entry != NULL && hash_get(entry->object.hash, call->argv[2], &old) &&
                    !number_parse_int64(old.data, old.len, &value),
                ERR_HASH_NOT_INTEGER))
        return;
    if (fail_if(call, __builtin_add_overflow(value, by, &value), ERR_INCR_OVERFLOW)) return;
    char text[NUMBER_INT64_MAX_CHARS];
    struct bytes sum = bytes_of(text, number_print_int64(text, value));
    entry = entry_or_new(call, 1, entry, TYPE_HASH);
    txn_hash_put(call->txn, entry, call->argv[2], sum, &incrby_put);
    resp_integer(call->out, value);
}

static void cmd_hincrbyfloat(struct call *call)
{
    struct entry *entry;
    struct bytes old;
    long double by, value = 0;
    if (fail_if(call, !number_parse_long_double(call->argv[3].data, call->argv[3].len, &by),
                ERR_NOT_FLOAT))
        return;
    if (fail_if(call, !isfinite(by), ERR_NAN_OR_INFINITY)) return;
    if (!find_typed(call, 1, TYPE_HASH, &entry)) return;
    if (fail_if(call,
                entry != NULL && hash_get(entry->object.hash, call->argv[2], &old) &&
                    !number_parse_long_double(old.data, old.len, &value),
                ERR_HASH_NOT_FLOAT))
        return;
    value += by;
    if (fail_if(call, !isfinite(value), ERR_INCR_NAN)) return;
    char text[NUMBER_FIXED_MAX_CHARS];
    struct bytes sum = bytes_of(text, number_print_long_double(text, value));
    entry = entry_or_new(call, 1, entry, TYPE_HASH);
    txn_hash_put(call->txn, entry, call->argv[2], sum, &incrbyfloat_put);
    reply_bytes(call, sum);
}

static void reply_fields(struct call *call, const struct entry *entry, bool fields, bool values)
{
    if (entry == NULL) return;
    struct hash_iter iter;
    struct bytes field, value;
    hash_iter_begin(&iter, entry->object.hash);
    while (hash_iter_next(&iter, &field, &value)) {
        if (fields) reply_bytes(call, field);
        if (values) reply_bytes(call, value);
    }
}

static void cmd_hgetall(struct call *call)
{
    struct entry *entry;
    if (!find_typed_counted(call, 1, TYPE_HASH, &entry)) return;
    resp_map(call->out, count_fields(entry));
    reply_fields(call, entry, true, true);
}

static void cmd_hkeys(struct call *call)
{
    struct entry *entry;
    if (!find_typed_counted(call, 1, TYPE_HASH, &entry)) return;
    resp_array(call->out, count_fields(entry));
    reply_fields(call, entry, true, false);
}

static void cmd_hvals(struct call *call)
{
    struct entry *entry;
    if (!find_typed_counted(call, 1, TYPE_HASH, &entry)) return;
    resp_array(call->out, count_fields(entry));
    reply_fields(call, entry, false, true);
}

static const struct command rows[] = {
    ROW("HSET", cmd_hset, -4, WRITE | GROWS | FAST, .keys = KEY_FIRST, .since = "2.0.0",
        .replies = REPLIES("integer: the number of fields added"), .errors = ERRORS(ERR_WRONGTYPE),
        .complexity = "O(N) where N is the number of fields given.",
        .syntax = "key field value [field value ...]",
        .summary =
            "Sets the values of one or more fields of a hash. Creates the key if it does not "
            "exist."),
    ROW("HMSET", cmd_hmset, -4, WRITE | GROWS | FAST, .keys = KEY_FIRST, .since = "2.0.0",
        .replies = REPLIES("OK: the fields were set"), .errors = ERRORS(ERR_WRONGTYPE),
        .complexity = "O(N) where N is the number of fields given.",
        .syntax = "key field value [field value ...]",
        .summary =
            "Sets the values of one or more fields of a hash, as HSET does, but returns OK."),
    ROW("HSETNX", cmd_hsetnx, 4, WRITE | GROWS | FAST, .keys = KEY_FIRST,
        .key_flags = KEY_RW | KEY_INSERT, .since = "2.0.0",
        .replies = REPLIES("integer: 1 if the field was set, 0 if it existed"),
        .errors = ERRORS(ERR_WRONGTYPE), .complexity = "O(1)", .syntax = "key field value",
        .summary = "Sets the value of a field of a hash, only if the field does not exist."),
    ROW("HGET", cmd_hget, 3, READONLY | FAST | NAMES_MEMBERS, .keys = KEY_FIRST, .since = "2.0.0",
        .replies = REPLIES("bulk: the value", "null: there is no such key or field"),
        .errors = ERRORS(ERR_WRONGTYPE), .complexity = "O(1)", .syntax = "key field",
        .summary = "Returns the value of a field of a hash."),
    ROW("HMGET", cmd_hmget, -3, READONLY | FAST | NAMES_MEMBERS, .keys = KEY_FIRST,
        .since = "2.0.0",
        .replies = REPLIES("[bulk|null ...]: the values; null where there is no such field"),
        .errors = ERRORS(ERR_WRONGTYPE),
        .complexity = "O(N) where N is the number of fields given.",
        .syntax = "key field [field ...]",
        .summary = "Returns the values of one or more fields of a hash."),
    ROW("HDEL", cmd_hdel, -3, WRITE | FAST, .keys = KEY_FIRST, .key_flags = KEY_RW | KEY_DELETE,
        .since = "2.0.0", .replies = REPLIES("integer: the number of fields removed"),
        .errors = ERRORS(ERR_WRONGTYPE),
        .complexity = "O(N) where N is the number of fields given.",
        .syntax = "key field [field ...]", .summary = "Removes one or more fields from a hash."),
    ROW("HGETALL", cmd_hgetall, 2, READONLY, .keys = KEY_FIRST,
        .tips = "nondeterministic_output_order", .since = "2.0.0",
        .replies = REPLIES("map[bulk bulk ...]: fields and their values"),
        .errors = ERRORS(ERR_WRONGTYPE),
        .complexity = "O(N) where N is the number of fields in the hash.", .syntax = "key",
        .summary = "Returns all fields of a hash and their values."),
    ROW("HLEN", cmd_hlen, 2, READONLY | FAST, .keys = KEY_FIRST, .key_flags = KEY_RO,
        .since = "2.0.0",
        .replies = REPLIES("integer: the number of fields, 0 if there is no such key"),
        .errors = ERRORS(ERR_WRONGTYPE), .complexity = "O(1)", .syntax = "key",
        .summary = "Returns the number of fields in a hash."),
    ROW("HEXISTS", cmd_hexists, 3, READONLY | FAST | NAMES_MEMBERS, .keys = KEY_FIRST,
        .key_flags = KEY_RO, .since = "2.0.0",
        .replies = REPLIES("integer: 1 if the field exists, else 0"),
        .errors = ERRORS(ERR_WRONGTYPE), .complexity = "O(1)", .syntax = "key field",
        .summary = "Returns whether a field exists in a hash."),
    ROW("HINCRBY", cmd_hincrby, 4, WRITE | GROWS | FAST, .keys = KEY_FIRST,
        .key_flags = KEY_RW | KEY_ACCESS | KEY_UPDATE, .since = "2.0.0",
        .replies = REPLIES("integer: the new value"),
        .errors = ERRORS(ERR_WRONGTYPE, ERR_NOT_INTEGER, ERR_INCR_OVERFLOW, ERR_HASH_NOT_INTEGER),
        .complexity = "O(1)", .syntax = "key field increment",
        .summary = "Increments the integer value of a field of a hash by a number. A missing field "
                   "counts as 0."),
    ROW("HINCRBYFLOAT", cmd_hincrbyfloat, 4, WRITE | GROWS | FAST, .keys = KEY_FIRST,
        .key_flags = KEY_RW | KEY_ACCESS | KEY_UPDATE, .since = "2.6.0",
        .replies = REPLIES("bulk: the new value"),
        .errors = ERRORS(ERR_WRONGTYPE, ERR_NOT_FLOAT, ERR_INCR_NAN, ERR_HASH_NOT_FLOAT,
                         ERR_NAN_OR_INFINITY),
        .complexity = "O(1)", .syntax = "key field increment",
        .summary =
            "Increments the floating-point value of a field of a hash by a number. A missing "
            "field counts as 0."),
    ROW("HSTRLEN", cmd_hstrlen, 3, READONLY | FAST | NAMES_MEMBERS, .keys = KEY_FIRST,
        .key_flags = KEY_RO, .since = "3.2.0",
        .replies = REPLIES("integer: the length of the value in bytes, 0 if there is none"),
        .errors = ERRORS(ERR_WRONGTYPE), .complexity = "O(1)", .syntax = "key field",
        .summary = "Returns the length of the value of a field of a hash in bytes."),
    ROW("HKEYS", cmd_hkeys, 2, READONLY, .keys = KEY_FIRST, .tips = "nondeterministic_output_order",
        .since = "2.0.0", .replies = REPLIES("[bulk ...]: the fields"),
        .errors = ERRORS(ERR_WRONGTYPE),
        .complexity = "O(N) where N is the number of fields in the hash.", .syntax = "key",
        .summary = "Returns all fields of a hash."),
    ROW("HVALS", cmd_hvals, 2, READONLY, .keys = KEY_FIRST, .tips = "nondeterministic_output_order",
        .since = "2.0.0", .replies = REPLIES("[bulk ...]: the values"),
        .errors = ERRORS(ERR_WRONGTYPE),
        .complexity = "O(N) where N is the number of fields in the hash.", .syntax = "key",
        .summary = "Returns all values of a hash."),
};

const struct command_group hash_commands = COMMAND_GROUP("hash", rows);
