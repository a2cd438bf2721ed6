/* hash: commands that set, read, draw and remove fields of hashes. */
#include <math.h>

#include "server/cmd/call/args.h"
#include "server/cmd/hash/hash.h"
#include "server/cmd/member/member_args.h"
#include "server/cmd/sample.h"
#include "store/base/number.h"

/* HSET clears the field's deadline; HINCRBY and HINCRBYFLOAT keep it. */
static const struct hput set_put = { EVENT_HSET, { LIFE_CLEAR, NEVER } };
static const struct hput incrby_put = { EVENT_HINCRBY, { LIFE_KEEP, NEVER } };
static const struct hput incrbyfloat_put = { EVENT_HINCRBYFLOAT, { LIFE_KEEP, NEVER } };

static bool has_field(const struct entry *entry, struct bytes field)
{
    struct bytes value;
    return entry != NULL && hash_get(entry->object.hash, field, &value);
}

static void reply_field_value(struct call *call, const struct entry *entry, struct bytes field)
{
    struct bytes value;
    if (entry != NULL && hash_get(entry->object.hash, field, &value))
        reply_bytes(call, value);
    else
        resp_null(call->out);
}

/* HSET and HMSET, whose variant is true. */
static void cmd_hset(struct call *call)
{
    struct entry *entry;
    int64_t added = 0;
    if (call->argc % 2 != 0) {
        fail_named(call, ERR_ARITY);
        return;
    }
    if (!find_typed(call, 1, TYPE_HASH, &entry)) return;
    entry = entry_or_new(call, 1, entry, TYPE_HASH);
    for (int i = 2; i < call->argc; i += 2)
        added += txn_hash_put(call->txn, entry, call->argv[i], call->argv[i + 1], &set_put);
    if (call_variant(call))
        reply_ok(call);
    else
        resp_integer(call->out, added);
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

enum { FIELDS = 1, VALUES = 2 };

/* HGETALL, HKEYS and HVALS: the variant says whether to reply with FIELDS, with VALUES or with
 * both. */
static void cmd_hgetall(struct call *call)
{
    int parts = call_variant(call);
    struct entry *entry;
    struct hash_iter iter;
    struct bytes field, value;
    if (!find_typed_counted(call, 1, TYPE_HASH, &entry)) return;
    (parts == (FIELDS | VALUES) ? resp_map : resp_array)(call->out, count_fields(entry));
    if (entry == NULL) return;
    hash_iter_begin(&iter, entry->object.hash);
    while (hash_iter_next(&iter, &field, &value)) {
        if (parts & FIELDS) reply_bytes(call, field);
        if (parts & VALUES) reply_bytes(call, value);
    }
}

static void cmd_hrandfield(struct call *call)
{
    int64_t count = 0;
    struct entry *entry;
    struct bytes field, value;
    bool with_values = call->argc > 3;
    if (call->argc > 2 && !sample_read_count(call, 2, &count)) return;
    if (fail_if(call, call->argc > 4 || (with_values && !arg_is(call, 3, "WITHVALUES")),
                ERR_SYNTAX))
        return;
    if (fail_if(call, with_values && (count < -INT64_MAX / 2 || count > INT64_MAX / 2),
                ERR_OUT_OF_RANGE))
        return;
    if (!find_typed_counted(call, 1, TYPE_HASH, &entry)) return;
    if (call->argc == 2 && entry == NULL) {
        resp_null(call->out);
    } else if (call->argc == 2) {
        hash_random(entry->object.hash, random_next, &call->txn->store->random, &field, &value);
        reply_bytes(call, field);
    } else if (entry == NULL || count == 0) {
        resp_array(call->out, 0);
    } else if (count < -SAMPLE_DRAWS_MAX) {
        fail(call, ERR_OUT_OF_RANGE);
    } else {
        sample_reply(call, &entry->object, count, with_values);
    }
}

/* ---- HSETEX, HGETEX and HGETDEL -------------------------------------------------------------- */

/* These commands write, read or remove fields together with their deadlines.
 *
 * HSETEX has two forms. In Redis 8.0 a unit and FIELDS precede the fields; in Dragonfly a bare
 * number of seconds does:
 *
 *     HSETEX key EX 10 FIELDS 1 field value
 *     HSETEX key 10 field value */

struct hsetex {
    bool is_dragonfly;         /* Dragonfly's form, else Redis' */
    bool all_new, all_present; /* FNX, FXX */
    bool each_new;             /* NX, in Dragonfly's form: sets only the new fields */
    struct member_life life;
    int first; /* argument of the first field; pairs to the end */
};

static enum arg_taken take_hsetex_option(struct call *call, int *i, struct hsetex *how)
{
    bool all_new = arg_is(call, *i, "FNX"), all_present = arg_is(call, *i, "FXX"),
         each_new = how->is_dragonfly && arg_is(call, *i, "NX");
    if (!all_new && !all_present && !each_new) return arg_member_life(call, i, &how->life);
    if (how->all_new || how->all_present || how->each_new) {
        fail(call, how->is_dragonfly ? ERR_NX_FNX_FXX : ERR_FNX_FXX);
        return ARG_FAILED;
    }
    how->all_new = all_new;
    how->all_present = all_present;
    how->each_new = each_new;
    *i += 1;
    return ARG_TAKEN;
}

static void cmd_hsetex(struct call *call)
{
    struct hsetex how = { .first = 0 };
    struct entry *entry;
    /* In Dragonfly's form a number follows these options, in Redis' form a word. */
    int i = 2;
    while (arg_is(call, i, "NX") || arg_is(call, i, "FNX") || arg_is(call, i, "FXX") ||
           arg_is(call, i, "KEEPTTL"))
        i++;
    how.is_dragonfly = arg_looks_like_number(call, i);
    enum { REDIS_ARGC_MIN = 6 };
    int left = 0;           /* arguments from the first field on */
    int64_t count = 0;      /* numfields in Redis' form */
    if (how.is_dragonfly) { /* [NX|FNX|FXX] [KEEPTTL] seconds field value ... */
        int seconds = i;
        for (i = 2; i < seconds;)
            if (take_hsetex_option(call, &i, &how) != ARG_TAKEN) return;
        if (!arg_member_seconds(call, seconds, &how.life)) return;
        how.first = seconds + 1;
        left = call->argc - how.first;
    } else if (call->argc >= REDIS_ARGC_MIN) {
        /* [FNX|FXX] [EX seconds|...|KEEPTTL] FIELDS numfields field value ... */
        how.life.either_or = true;
        for (i = 2; i < call->argc && !arg_is(call, i, "FIELDS");) {
            enum arg_taken taken = take_hsetex_option(call, &i, &how);
            if (taken == ARG_OTHER)
                failf(call, ERR_UNKNOWN_ARGUMENT, arg_width(call, i), call->argv[i].data);
            if (taken != ARG_TAKEN) return;
        }
        how.first = i + 2;
        left = call->argc - how.first;
        if (left >= 2 && !arg_range(call, i + 1, 1, INT32_MAX, &count, ERR_FIELDS_NUMBER)) return;
    }
    if (left < 2 || left % 2 != 0 || (!how.is_dragonfly && count != left / 2)) {
        fail_named(call, ERR_ARITY);
        return;
    }
    if (!find_typed(call, 1, TYPE_HASH, &entry)) return;
    for (i = how.first; i < call->argc; i += 2) {
        bool present = has_field(entry, call->argv[i]);
        if (present ? how.all_new : how.all_present) {
            resp_integer(call->out, 0);
            return;
        }
    }
    int64_t added = 0;
    bool past = member_life_is_past(call, &how.life); /* the fields are then removed again */
    if (entry == NULL)
        entry = (past ? txn_create_uncounted : txn_create)(call->txn, call->argv[1], TYPE_HASH);
    const struct hput put = { EVENT_HSET, member_lifetime(call, &how.life, LIFE(CLEAR)) };
    for (i = how.first; i < call->argc; i += 2) {
        struct bytes field = call->argv[i];
        if (how.each_new && has_field(entry, field)) continue;
        added += txn_hash_put(call->txn, entry, field, call->argv[i + 1], &put);
        if (past) txn_member_expire(call->txn, entry, field, how.life.at);
    }
    resp_integer(call->out, how.is_dragonfly ? added : 1);
}

static void cmd_hgetex(struct call *call)
{
    struct entry *entry;
    enum ttl_unit unit;
    msec at = NEVER;
    if (!find_typed_counted(call, 1, TYPE_HASH, &entry)) return;
    bool sets = arg_ttl_unit(call, 2, &unit), persists = !sets && arg_is(call, 2, "PERSIST");
    if (sets && !arg_member_deadline(call, 3, unit, &at)) return;
    int block = sets ? 4 : persists ? 3 : 2; /* argument of FIELDS */
    if (!arg_member_block(call, block, &field_words, ERR_MEMBERS_POSITIVE)) return;
    int first = block + 2;
    resp_array(call->out, (size_t)(call->argc - first));
    for (int i = first; i < call->argc; i++) {
        struct bytes field = call->argv[i];
        reply_field_value(call, entry, field);
        if (entry == NULL) continue;
        if (sets) txn_member_expire(call->txn, entry, field, at);
        if (persists) txn_member_persist(call->txn, entry, field);
    }
}

static void cmd_hgetdel(struct call *call)
{
    enum { BLOCK = 2, FIRST = BLOCK + 2 };
    struct entry *entry;
    if (!find_typed(call, 1, TYPE_HASH, &entry)) return;
    if (!arg_member_block(call, BLOCK, &field_words, ERR_MEMBERS_POSITIVE)) return;
    resp_array(call->out, (size_t)(call->argc - FIRST));
    for (int i = FIRST; i < call->argc; i++) {
        reply_field_value(call, entry, call->argv[i]); /* before the mutator frees it */
        if (entry != NULL) txn_hash_remove(call->txn, entry, call->argv[i]);
    }
}

#define TIMES "EX seconds|PX milliseconds|EXAT unix-time-seconds|PXAT unix-time-milliseconds"

static const struct command rows[] = {
    ROW("HSET", cmd_hset, -4, WRITE | GROWS | FAST, .variant = false, .keys = KEY_FIRST,
        .since = "2.0.0", .replies = REPLIES("integer: the number of fields added"),
        .errors = ERRORS(ERR_WRONGTYPE),
        .complexity = "O(N) where N is the number of fields given.",
        .syntax = "key field value [field value ...]",
        .summary =
            "Sets the values of one or more fields of a hash. Creates the key if it does not "
            "exist."),
    ROW("HMSET", cmd_hset, -4, WRITE | GROWS | FAST, .variant = true, .keys = KEY_FIRST,
        .since = "2.0.0", .replies = REPLIES("OK: the fields were set"),
        .errors = ERRORS(ERR_WRONGTYPE),
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
    ROW("HGETALL", cmd_hgetall, 2, READONLY, .variant = FIELDS | VALUES, .keys = KEY_FIRST,
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
    ROW("HKEYS", cmd_hgetall, 2, READONLY, .variant = FIELDS, .keys = KEY_FIRST,
        .tips = "nondeterministic_output_order", .since = "2.0.0",
        .replies = REPLIES("[bulk ...]: the fields"), .errors = ERRORS(ERR_WRONGTYPE),
        .complexity = "O(N) where N is the number of fields in the hash.", .syntax = "key",
        .summary = "Returns all fields of a hash."),
    ROW("HVALS", cmd_hgetall, 2, READONLY, .variant = VALUES, .keys = KEY_FIRST,
        .tips = "nondeterministic_output_order", .since = "2.0.0",
        .replies = REPLIES("[bulk ...]: the values"), .errors = ERRORS(ERR_WRONGTYPE),
        .complexity = "O(N) where N is the number of fields in the hash.", .syntax = "key",
        .summary = "Returns all values of a hash."),
    ROW("HRANDFIELD", cmd_hrandfield, -2, READONLY, .keys = KEY_FIRST,
        .tips = "nondeterministic_output", .since = "6.2.0",
        .replies = REPLIES(
            "bulk: a field", "null: there is no such key",
            "[bulk ...]: with count: fields; if it is negative, one may occur more than once",
            "RESP2 [bulk bulk ...]: with WITHVALUES: fields, each followed by its value",
            "RESP3 [[bulk bulk] ...]: with WITHVALUES: fields with their values"),
        .errors =
            ERRORS(ERR_WRONGTYPE, ERR_SYNTAX, ERR_NOT_INTEGER, ERR_OUT_OF_RANGE, ERR_NOT_BETWEEN),
        .complexity = "O(N) where N is the number of fields given.",
        .syntax = "key [count [WITHVALUES]]",
        .summary =
            "Returns random fields of a hash: count distinct ones, or -count independent draws."),
    ROW("HSETEX", cmd_hsetex, -5, WRITE | GROWS | FAST, .keys = KEY_FIRST, .acl = ACL_EXPIRY,
        .since = "8.0.0",
        .replies = REPLIES("integer: 1 if the fields were set, 0 if FNX or FXX did not hold; with "
                           "seconds instead of FIELDS the number of fields added"),
        .errors = ERRORS(ERR_WRONGTYPE, ERR_NOT_INTEGER, ERR_BAD_EXPIRE, ERR_EXPIRE_NEGATIVE,
                         ERR_FIELDS_NUMBER, ERR_FNX_FXX, ERR_NX_FNX_FXX, ERR_ONE_LIFE,
                         ERR_UNKNOWN_ARGUMENT),
        .complexity =
            "O(M*log(N)) where M is the number of fields given and N the number that have "
            "a deadline.",
        .syntax = "key [FNX|FXX] [" TIMES "|KEEPTTL] <seconds field value [field value ...]|FIELDS "
                  "numfields field value [field value ...]>",
        .summary = "Sets the values and the deadlines of one or more fields of a hash."),
    ROW("HGETEX", cmd_hgetex, -5, WRITE | FAST, .keys = KEY_FIRST,
        .key_flags = KEY_RW | KEY_ACCESS | KEY_UPDATE, .acl = ACL_EXPIRY, .since = "8.0.0",
        .replies = REPLIES("[bulk|null ...]: the values; null where there is no such field"),
        .errors = ERRORS(ERR_WRONGTYPE, ERR_NOT_INTEGER, ERR_BAD_EXPIRE, ERR_EXPIRE_NEGATIVE,
                         ERR_MEMBERS_KEYWORD, ERR_MEMBERS_POSITIVE, ERR_MEMBERS_COUNT),
        .complexity =
            "O(M*log(N)) where M is the number of fields given and N the number that have "
            "a deadline.",
        .syntax = "key [" TIMES "|PERSIST] FIELDS numfields field [field ...]",
        .summary = "Returns the values of one or more fields of a hash and sets or removes their "
                   "deadlines."),
    ROW("HGETDEL", cmd_hgetdel, -5, WRITE | FAST, .keys = KEY_FIRST,
        .key_flags = KEY_RW | KEY_ACCESS | KEY_DELETE, .since = "8.0.0",
        .replies = REPLIES(
            "[bulk|null ...]: the values that were removed; null where there is no such field"),
        .errors =
            ERRORS(ERR_WRONGTYPE, ERR_MEMBERS_KEYWORD, ERR_MEMBERS_POSITIVE, ERR_MEMBERS_COUNT),
        .complexity = "O(N) where N is the number of fields given.",
        .syntax = "key FIELDS numfields field [field ...]",
        .summary = "Removes one or more fields from a hash and returns their values."),
};

const struct command_group hash_commands = COMMAND_GROUP("hash", rows);
