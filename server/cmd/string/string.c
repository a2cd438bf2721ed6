/* string: commands that set, read and change strings and their parts. */
#include "server/cmd/string/string.h"
#include "server/cmd/call/args.h"

enum { DEFAULT_LIMIT = 512 << 20 };

size_t string_limit(const struct call *call)
{
    const int64_t *limit = call->context;
    return limit != NULL ? (size_t)*limit : DEFAULT_LIMIT;
}

void string_clip(int64_t start, int64_t end, size_t len, size_t *from, size_t *to)
{
    int64_t count = (int64_t)len;
    if (start < 0) start += count;
    if (end < 0) end += count;
    if (start < 0) start = 0;
    if (end < 0) end = 0;
    if (end >= count) end = count - 1;
    bool empty = start > end;
    *from = empty ? 0 : (size_t)start;
    *to = empty ? 0 : (size_t)end + 1;
}

bool string_write(struct call *call, int i, struct entry *entry, size_t offset, struct bytes data,
                  enum event event)
{
    if (txn_string_write(call->txn, call->argv[i], entry, offset, data, event) >= 0) return true;
    return fail(call, ERR_OOM);
}

/* The options of SET and GETEX. Both accept EX, PX, EXAT and PXAT; each other option belongs to one
 * of the two commands. */
struct options {
    bool only_new, only_present, give_old, keep_ttl; /* NX XX GET KEEPTTL: SET */
    struct string_condition condition;               /* SET */
    bool persist;                                    /* GETEX */
    int ttl_arg; /* index of the argument with the time; 0 if none was given */
    enum ttl_unit unit;
    int soft_arg; /* SET: index of the argument of SOFT; 0 if none was given */
};

/* Parses EX, PX, EXAT or PXAT. As in Redis, the same unit may be given several times, and the last
 * value counts; two different units are an error. */
static bool take_ttl(const struct call *call, int *i, struct options *options)
{
    enum ttl_unit unit;
    if (options->keep_ttl || options->persist) return false;
    if (!arg_ttl_unit(call, *i, &unit)) return false;
    if (options->ttl_arg != 0 && options->unit != unit) return false;
    options->unit = unit;
    options->ttl_arg = ++*i;
    return true;
}

static bool take_set_option(const struct call *call, int *i, struct options *options)
{
    bool has_condition = options->condition.kind != IF_ANY;
    if (arg_is(call, *i, "NX")) {
        options->only_new = true;
        return !options->only_present && !has_condition;
    }
    if (arg_is(call, *i, "XX")) {
        options->only_present = true;
        return !options->only_new && !has_condition;
    }
    if (arg_string_condition(call, *i, &options->condition)) {
        ++*i;
        return !has_condition && !options->only_new && !options->only_present && *i < call->argc;
    }
    if (arg_is(call, *i, "KEEPTTL")) {
        options->keep_ttl = true;
        return options->ttl_arg == 0;
    }
    if (arg_is(call, *i, "GET")) {
        options->give_old = true;
        return true;
    }
    if (arg_is(call, *i, "SOFT")) {
        options->soft_arg = ++*i;
        return *i < call->argc;
    }
    return take_ttl(call, i, options);
}

static bool take_getex_option(const struct call *call, int *i, struct options *options)
{
    if (arg_is(call, *i, "PERSIST")) {
        options->persist = true;
        return options->ttl_arg == 0;
    }
    return take_ttl(call, i, options);
}

typedef bool take_string_option(const struct call *call, int *i, struct options *options);

static bool read_string_options(struct call *call, int first, take_string_option *take,
                                struct options *options)
{
    *options = (struct options){ .ttl_arg = 0 };
    for (int i = first; i < call->argc; i++) {
        if (take(call, &i, options)) continue;
        return fail(call, ERR_SYNTAX);
    }
    return true;
}

static void reply_string(struct call *call, const struct entry *entry)
{
    if (entry == NULL)
        resp_null(call->out);
    else
        reply_bytes(call, object_text(&entry->object));
}

/* Sets the key of argument `key`, whose entry (NULL if missing) was found, to argument `value`. */
static void set_plain(struct call *call, int key, struct entry *entry, int value)
{
    const struct string_set how = { .at = NEVER, .event = EVENT_SET };
    txn_string_set_found(call->txn, call->argv[key], entry, call->argv[value], &how);
}

static void cmd_set(struct call *call)
{
    struct options options;
    struct string_set how = { .at = NEVER, .event = EVENT_SET };
    if (!read_string_options(call, 3, take_set_option, &options)) return;
    how.keep_ttl = options.keep_ttl;
    if (options.ttl_arg != 0 && !arg_deadline(call, options.ttl_arg, options.unit, true, &how.at))
        return;
    if (options.soft_arg != 0 && !arg_deadline(call, options.soft_arg, TTL_MSEC, true, &how.soft))
        return;

    struct entry *entry;
    if (options.give_old) {
        if (!find_typed_counted(call, 1, TYPE_STRING, &entry)) return;
    } else if (options.condition.kind != IF_ANY) {
        if (!find_typed(call, 1, TYPE_STRING, &entry)) return;
    } else {
        entry = txn_find(call->txn, call->argv[1]);
    }
    msec at = how.at;
    if (how.keep_ttl && entry != NULL) at = entry_expires_at(call->txn->ks, entry);
    if (how.soft > at) { /* the value would never be stale */
        fail(call, ERR_SOFT_LATE);
        return;
    }
    bool holds;
    if (!string_condition_holds(call, &options.condition, entry, &holds)) return;
    bool refused = !holds || (entry == NULL ? options.only_present : options.only_new);
    if (options.give_old) reply_string(call, entry); /* before the mutator overwrites it */
    if (!refused) txn_string_set_found(call->txn, call->argv[1], entry, call->argv[2], &how);
    if (options.give_old) return;
    if (refused)
        resp_null(call->out);
    else
        reply_ok(call);
}

/* Returns how this SET uses its key: it reads the old value only with GET or a condition on it. */
static unsigned vary_set_key(int argc, const struct bytes *argv)
{
    const struct call call = { .argc = argc, .argv = argv };
    struct string_condition condition;
    for (int i = 3; i < argc; i++)
        if (arg_is(&call, i, "GET") || arg_string_condition(&call, i, &condition))
            return KEY_RW | KEY_ACCESS | KEY_UPDATE;
    return KEY_OW | KEY_UPDATE;
}

static void cmd_setnx(struct call *call)
{
    bool taken = txn_find(call->txn, call->argv[1]) != NULL;
    if (!taken) set_plain(call, 1, NULL, 2);
    resp_integer(call->out, !taken);
}

static void set_with_ttl(struct call *call)
{
    enum ttl_unit unit = (enum ttl_unit)call_variant(call);
    struct string_set how = { .event = EVENT_SET };
    if (!arg_deadline(call, 2, unit, true, &how.at)) return;
    txn_string_set(call->txn, call->argv[1], call->argv[3], &how);
    reply_ok(call);
}

static void cmd_get(struct call *call)
{
    struct entry *entry;
    if (find_typed_counted(call, 1, TYPE_STRING, &entry)) reply_string(call, entry);
}

static void cmd_getset(struct call *call)
{
    struct entry *entry;
    if (!find_typed_counted(call, 1, TYPE_STRING, &entry)) return;
    reply_string(call, entry);
    set_plain(call, 1, entry, 2);
}

static void cmd_getdel(struct call *call)
{
    struct entry *entry;
    if (!find_typed_counted(call, 1, TYPE_STRING, &entry)) return;
    reply_string(call, entry);
    if (entry != NULL) txn_key_drop(call->txn, entry, EVENT_DEL);
}

static void cmd_getex(struct call *call)
{
    struct options options;
    struct entry *entry;
    msec at;
    if (!read_string_options(call, 2, take_getex_option, &options)) return;
    if (!find_typed_counted(call, 1, TYPE_STRING, &entry)) return;
    if (entry == NULL) {
        resp_null(call->out); /* even if the number is invalid */
        return;
    }
    if (options.ttl_arg != 0 && !arg_deadline(call, options.ttl_arg, options.unit, true, &at))
        return;

    reply_string(call, entry);
    if (options.ttl_arg != 0)
        txn_key_expire(call->txn, entry, at);
    else if (options.persist)
        txn_key_persist(call->txn, entry);
}

static void cmd_mget(struct call *call)
{
    resp_array(call->out, (size_t)call->argc - 1);
    for (int i = 1; i < call->argc; i++) {
        const struct entry *entry = txn_find_counted(call->txn, call->argv[i]);
        bool is_string = entry != NULL && entry->object.type == TYPE_STRING;
        reply_string(call, is_string ? entry : NULL);
    }
}

/* MSET and MSETNX. */
static void cmd_mset(struct call *call)
{
    bool only_new = call_variant(call), taken = false;
    if (call->argc % 2 == 0) {
        fail_named(call, ERR_ARITY);
        return;
    }
    for (int i = 1; i < call->argc && only_new && !taken; i += 2)
        taken = txn_find(call->txn, call->argv[i]) != NULL;
    for (int i = 1; i < call->argc && !taken; i += 2)
        set_plain(call, i, txn_find(call->txn, call->argv[i]), i + 1);
    if (only_new)
        resp_integer(call->out, !taken);
    else
        reply_ok(call);
}

static void cmd_append(struct call *call)
{
    struct entry *entry;
    if (!find_typed(call, 1, TYPE_STRING, &entry)) return;
    if (entry == NULL) {
        const struct string_set how = { .at = NEVER, .event = EVENT_APPEND };
        txn_string_set_found(call->txn, call->argv[1], NULL, call->argv[2], &how);
        resp_integer(call->out, (int64_t)call->argv[2].len);
        return;
    }
    if (fail_if(call, object_text(&entry->object).len + call->argv[2].len > string_limit(call),
                ERR_STRING_TOO_BIG))
        return;
    int64_t len = txn_string_append(call->txn, entry, call->argv[2]);
    if (len < 0)
        fail(call, ERR_OOM);
    else
        resp_integer(call->out, len);
}

static void cmd_strlen(struct call *call)
{
    struct entry *entry;
    if (!find_typed_counted(call, 1, TYPE_STRING, &entry)) return;
    resp_integer(call->out, entry == NULL ? 0 : (int64_t)object_text(&entry->object).len);
}

static void cmd_setrange(struct call *call)
{
    int64_t offset;
    struct entry *entry;
    struct bytes data = call->argv[3];
    if (!arg_int64(call, 2, &offset)) return;
    if (fail_if(call, offset < 0, ERR_OFFSET)) return;
    if (!find_typed(call, 1, TYPE_STRING, &entry)) return;
    size_t old_len = entry != NULL ? object_text(&entry->object).len : 0;
    if (data.len == 0) {
        resp_integer(call->out, (int64_t)old_len);
        return;
    }
    size_t end = (size_t)offset + data.len, limit = string_limit(call);
    if (fail_if(call, end > limit, ERR_STRING_TOO_BIG)) return;
    if (string_write(call, 1, entry, (size_t)offset, data, EVENT_SETRANGE))
        resp_integer(call->out, (int64_t)(end > old_len ? end : old_len));
}

static void cmd_getrange(struct call *call)
{
    int64_t start, end;
    struct entry *entry;
    size_t from = 0, to = 0;
    if (!arg_int64(call, 2, &start) || !arg_int64(call, 3, &end)) return;
    if (!find_typed_counted(call, 1, TYPE_STRING, &entry)) return;
    bool backwards = start < 0 && end < 0 && start > end;
    struct bytes text = entry != NULL ? object_text(&entry->object) : LIT("");
    if (!backwards) string_clip(start, end, text.len, &from, &to);
    resp_bulk(call->out, text.data + from, to - from);
}

static const struct command rows[] = {
    ROW("SET", cmd_set, -3, WRITE | GROWS, .keys = KEY_FIRST,
        .key_flags = KEY_RW | KEY_ACCESS | KEY_UPDATE | KEY_VARIABLE, .vary_keys = vary_set_key,
        .since = "1.0.0",
        .replies =
            REPLIES("OK: the key was set", "null: it was not, because the condition did not hold",
                    "bulk|null: with GET: the old string, null if there was none"),
        .errors = ERRORS(ERR_WRONGTYPE, ERR_SYNTAX, ERR_NOT_INTEGER, ERR_BAD_EXPIRE, ERR_SOFT_LATE,
                         ERR_DIGEST_LENGTH),
        .complexity = "O(1), with IFDEQ and IFDNE O(N) where N is the length of the old value.",
        .syntax =
            "key value [NX|XX|IFEQ comparison-value|IFNE comparison-value|IFDEQ "
            "comparison-digest|IFDNE comparison-digest] [GET] [EX seconds|PX milliseconds|EXAT "
            "unix-time-seconds|PXAT unix-time-milliseconds|KEEPTTL] [SOFT milliseconds]",
        .summary = "Sets the string value of a key, whatever its type was, and optionally its "
                   "expiration."),
    ROW("GET", cmd_get, 2, READONLY | FAST, .keys = KEY_FIRST, .since = "1.0.0",
        .replies = REPLIES("bulk: the string", "null: there is no such key"),
        .errors = ERRORS(ERR_WRONGTYPE), .complexity = "O(1)", .syntax = "key",
        .summary = "Returns the string value of a key."),
    ROW("GETSET", cmd_getset, 3, WRITE | GROWS | FAST, .keys = KEY_FIRST,
        .key_flags = KEY_RW | KEY_ACCESS | KEY_UPDATE, .since = "1.0.0",
        .replies = REPLIES("bulk: the old string", "null: there was none"),
        .errors = ERRORS(ERR_WRONGTYPE), .complexity = "O(1)", .syntax = "key value",
        .summary = "Sets the string value of a key and returns its previous value."),
    ROW("GETDEL", cmd_getdel, 2, WRITE | FAST, .keys = KEY_FIRST,
        .key_flags = KEY_RW | KEY_ACCESS | KEY_DELETE, .since = "6.2.0",
        .replies = REPLIES("bulk: the string that was deleted", "null: there was none"),
        .errors = ERRORS(ERR_WRONGTYPE), .complexity = "O(1)", .syntax = "key",
        .summary = "Returns the string value of a key and deletes the key."),
    ROW("GETEX", cmd_getex, -2, WRITE | FAST, .keys = KEY_FIRST,
        .key_flags = KEY_RW | KEY_ACCESS | KEY_UPDATE, .since = "6.2.0",
        .replies = REPLIES("bulk: the string", "null: there is no such key"),
        .errors = ERRORS(ERR_WRONGTYPE, ERR_SYNTAX, ERR_NOT_INTEGER, ERR_BAD_EXPIRE),
        .complexity = "O(1)",
        .syntax = "key [EX seconds|PX milliseconds|EXAT unix-time-seconds|PXAT "
                  "unix-time-milliseconds|PERSIST]",
        .summary = "Returns the string value of a key and sets or removes its expiration."),
    ROW("MGET", cmd_mget, -2, READONLY | FAST, .keys = { .first = 1, .last = -1, .step = 1 },
        .tips = "request_policy:multi_shard", .since = "1.0.0",
        .replies =
            REPLIES("[bulk|null ...]: the string at each key; null where there is none or the "
                    "key has another type"),
        .complexity = "O(N) where N is the number of keys.", .syntax = "key [key ...]",
        .summary = "Returns the string values of one or more keys."),
    ROW("MSET", cmd_mset, -3, WRITE | GROWS, .keys = { .first = 1, .last = -1, .step = 2 },
        .key_flags = KEY_OW | KEY_UPDATE,
        .tips = "request_policy:multi_shard response_policy:all_succeeded", .since = "1.0.1",
        .replies = REPLIES("OK: all keys were set"),
        .complexity = "O(N) where N is the number of keys.", .syntax = "key value [key value ...]",
        .summary = "Sets the string values of one or more keys atomically."),
    ROW("MSETNX", cmd_mset, -3, WRITE | GROWS, .variant = true,
        .keys = { .first = 1, .last = -1, .step = 2 }, .key_flags = KEY_OW | KEY_INSERT,
        .tips = "request_policy:multi_shard response_policy:agg_min", .since = "1.0.1",
        .replies =
            REPLIES("integer: 1 if all keys were set, 0 if one of them existed and none was set"),
        .complexity = "O(N) where N is the number of keys.", .syntax = "key value [key value ...]",
        .summary = "Sets the string values of one or more keys, only if none of the keys exists."),
    ROW("SETNX", cmd_setnx, 3, WRITE | GROWS | FAST, .keys = KEY_FIRST,
        .key_flags = KEY_OW | KEY_INSERT, .since = "1.0.0",
        .replies = REPLIES("integer: 1 if the key was set, 0 if it existed"), .complexity = "O(1)",
        .syntax = "key value",
        .summary = "Sets the string value of a key, only if the key does not exist."),
    ROW("SETEX", set_with_ttl, 4, WRITE | GROWS, .variant = TTL_SECONDS, .keys = KEY_FIRST,
        .key_flags = KEY_OW | KEY_UPDATE, .since = "2.0.0",
        .replies = REPLIES("OK: the key was set"),
        .errors = ERRORS(ERR_NOT_INTEGER, ERR_BAD_EXPIRE), .complexity = "O(1)",
        .syntax = "key seconds value",
        .summary = "Sets the string value of a key and its time to live in seconds."),
    ROW("PSETEX", set_with_ttl, 4, WRITE | GROWS, .variant = TTL_MSEC, .keys = KEY_FIRST,
        .key_flags = KEY_OW | KEY_UPDATE, .since = "2.6.0",
        .replies = REPLIES("OK: the key was set"),
        .errors = ERRORS(ERR_NOT_INTEGER, ERR_BAD_EXPIRE), .complexity = "O(1)",
        .syntax = "key milliseconds value",
        .summary = "Sets the string value of a key and its time to live in milliseconds."),
    ROW("APPEND", cmd_append, 3, WRITE | GROWS | FAST, .keys = KEY_FIRST,
        .key_flags = KEY_RW | KEY_INSERT, .since = "2.0.0",
        .replies = REPLIES("integer: the length of the string, in bytes"),
        .errors = ERRORS(ERR_WRONGTYPE, ERR_STRING_TOO_BIG),
        .complexity = "O(1), amortized over many appends.", .syntax = "key value",
        .summary = "Appends a string to the value of a key. Creates the key if it does not exist."),
    ROW("STRLEN", cmd_strlen, 2, READONLY | FAST, .keys = KEY_FIRST, .key_flags = KEY_RO,
        .since = "2.2.0",
        .replies = REPLIES("integer: the length of the string in bytes, 0 if there is none"),
        .errors = ERRORS(ERR_WRONGTYPE), .complexity = "O(1)", .syntax = "key",
        .summary = "Returns the length of a string value in bytes."),
    ROW("SETRANGE", cmd_setrange, 4, WRITE | GROWS, .keys = KEY_FIRST, .since = "2.2.0",
        .replies = REPLIES("integer: the length of the string, in bytes"),
        .errors = ERRORS(ERR_WRONGTYPE, ERR_NOT_INTEGER, ERR_STRING_TOO_BIG, ERR_OFFSET),
        .complexity = "O(M) where M is the length of the value and of the padding before it.",
        .syntax = "key offset value",
        .summary = "Overwrites a part of a string value, starting at an offset. Pads a shorter "
                   "string with zero bytes."),
    ROW("GETRANGE", cmd_getrange, 4, READONLY, .keys = KEY_FIRST, .since = "2.4.0",
        .replies = REPLIES("bulk: this part of the string, empty if there is none"),
        .errors = ERRORS(ERR_WRONGTYPE, ERR_NOT_INTEGER),
        .complexity = "O(N) where N is the number of bytes returned.", .syntax = "key start end",
        .summary = "Returns the part of a string value between two offsets."),
    ROW("SUBSTR", cmd_getrange, 4, READONLY, .keys = KEY_FIRST, .since = "1.0.0",
        .replies = REPLIES("bulk: this part of the string, empty if there is none"),
        .errors = ERRORS(ERR_WRONGTYPE, ERR_NOT_INTEGER),
        .complexity = "O(N) where N is the number of bytes returned.", .syntax = "key start end",
        .summary = "Returns the part of a string value between two offsets, as GETRANGE does."),
};

const struct command_group string_commands = COMMAND_GROUP("string", rows);
