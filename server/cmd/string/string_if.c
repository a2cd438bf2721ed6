/* string_if: MSETEX, DELIFEQ and DELEX, which write or delete strings if a condition holds, and
 * DIGEST. Redis 7.0 has none of these four. SET with conditions is in string.c. */
#include "server/cmd/call/args.h"
#include "server/cmd/string/string.h"
#include "server/cmd/string/string_condition.h"

struct msetex {
    int first, end; /* arguments of the keys and values */
    bool only_new, only_present, keep_ttl;
    int ttl_arg; /* index of the argument with the time; 0 if none was given */
    enum ttl_unit unit;
};

enum { FIRST_KEY = 2 };

static int find_msetex_keys(int argc, const struct bytes *argv, int *positions)
{
    int count = command_count_keys(argv[1], argc);
    if (count < 1 || count > (argc - FIRST_KEY) / 2) return -1;
    for (int i = 0; i < count; i++)
        positions[i] = FIRST_KEY + 2 * i;
    return count;
}

/* As with SET, an option may be given twice; the last time counts. */
static bool take_option(const struct call *call, int *i, struct msetex *how)
{
    enum ttl_unit unit;
    if (arg_is(call, *i, "NX")) {
        how->only_new = true;
        return !how->only_present;
    }
    if (arg_is(call, *i, "XX")) {
        how->only_present = true;
        return !how->only_new;
    }
    if (arg_is(call, *i, "KEEPTTL")) {
        how->keep_ttl = true;
        return how->ttl_arg == 0;
    }
    if (how->keep_ttl || !arg_ttl_unit(call, *i, &unit)) return false;
    if (how->ttl_arg != 0 && how->unit != unit) return false;
    how->unit = unit;
    how->ttl_arg = ++*i;
    return *i < call->argc;
}

static void cmd_msetex(struct call *call)
{
    struct msetex how = { .first = FIRST_KEY };
    struct string_set set = { .at = NEVER, .event = EVENT_SET };
    int64_t count;
    if (!arg_range(call, 1, 1, INT32_MAX, &count, ERR_MSETEX_NUMKEYS)) return;
    bool fits = count <= (call->argc - FIRST_KEY) / 2;
    how.end = fits ? FIRST_KEY + 2 * (int)count : 0;
    for (int i = how.end; i < call->argc && fits; i++)
        fits = take_option(call, &i, &how);
    if (fail_if(call, !fits, ERR_SYNTAX)) return;
    if (how.ttl_arg != 0 && !arg_deadline(call, how.ttl_arg, how.unit, true, &set.at)) return;
    set.keep_ttl = how.keep_ttl;
    bool holds = true;
    for (int i = how.first; i < how.end && holds; i += 2) {
        if (how.only_new) holds = txn_find(call->txn, call->argv[i]) == NULL;
        if (how.only_present) holds = txn_find(call->txn, call->argv[i]) != NULL;
    }
    for (int i = how.first; i < how.end && holds; i += 2)
        txn_string_set(call->txn, call->argv[i], call->argv[i + 1], &set);
    resp_integer(call->out, holds);
}

static void cmd_delifeq(struct call *call)
{
    struct entry *entry;
    if (!find_typed(call, 1, TYPE_STRING, &entry)) return;
    bool equal = entry != NULL && bytes_equal(object_text(&entry->object), call->argv[2]);
    if (equal) txn_key_drop(call->txn, entry, EVENT_DEL);
    resp_integer(call->out, equal);
}

/* Returns how this DELEX uses its key. With a condition it also reads the value, because whether it
 * deletes the key reveals something about the value. */
static unsigned vary_delex_key(int argc, const struct bytes *argv)
{
    (void)argv;
    return argc == 2 ? KEY_RM | KEY_DELETE : KEY_RW | KEY_ACCESS | KEY_DELETE;
}

/* DELEX: deletes the key if the condition holds. As in Redis, the condition is not even parsed if
 * the key is missing. */
static void cmd_delex(struct call *call)
{
    bool holds = false;
    if (call->argc != 2 && call->argc != 4) {
        fail_named(call, ERR_ARITY);
        return;
    }
    struct entry *entry = txn_find(call->txn, call->argv[1]);
    if (entry != NULL) {
        struct string_condition condition = { .kind = IF_ANY };
        if (fail_if(call, call->argc > 2 && entry->object.type != TYPE_STRING, ERR_DELEX_TYPE))
            return;
        if (fail_if(call, call->argc > 2 && !arg_string_condition(call, 2, &condition),
                    ERR_DELEX_CONDITION))
            return;
        if (!string_condition_holds(call, &condition, entry, &holds)) return;
    }
    if (holds) txn_key_drop(call->txn, entry, EVENT_DEL);
    resp_integer(call->out, holds);
}

static void cmd_digest(struct call *call)
{
    struct entry *entry;
    char digits[STRING_DIGEST_CHARS];
    if (!find_typed_counted(call, 1, TYPE_STRING, &entry)) return;
    if (entry == NULL) {
        resp_null(call->out);
        return;
    }
    string_digest(object_text(&entry->object), digits);
    resp_bulk(call->out, digits, sizeof(digits));
}

static const struct command rows[] = {
    ROW("MSETEX", cmd_msetex, -4, WRITE | GROWS | MOVABLE_KEYS, .find_keys = find_msetex_keys,
        .specs = { { .flags = KEY_OW | KEY_UPDATE, .find = KEYS_COUNTED, .first = 1, .step = 2 } },
        .tips = "request_policy:multi_shard response_policy:all_succeeded", .since = "8.4.0",
        .replies = REPLIES("integer: 1 if all keys were set, 0 if none was, because NX or XX did "
                           "not hold for one of them"),
        .errors = ERRORS(ERR_SYNTAX, ERR_NOT_INTEGER, ERR_BAD_EXPIRE, ERR_MSETEX_NUMKEYS),
        .complexity = "O(N) where N is the number of keys.",
        .syntax = "numkeys key value [key value ...] [NX|XX] [EX seconds|PX milliseconds|EXAT "
                  "unix-time-seconds|PXAT unix-time-milliseconds|KEEPTTL]",
        .summary =
            "Sets the string values of one or more keys and optionally their expiration, with "
            "NX only if none of them exists, with XX only if all do."),
    ROW("DELIFEQ", cmd_delifeq, 3, WRITE | FAST, .keys = KEY_FIRST,
        .key_flags = KEY_RM | KEY_ACCESS | KEY_DELETE, .since = "9.0.0", .origin = "Valkey",
        .replies =
            REPLIES("integer: 1 if the key was deleted, 0 if it has another value or does not "
                    "exist"),
        .errors = ERRORS(ERR_WRONGTYPE), .complexity = "O(1)", .syntax = "key value",
        .summary = "Deletes a key if its string value is equal to the given one."),
    ROW("DELEX", cmd_delex, -2, WRITE | FAST, .keys = KEY_FIRST,
        .key_flags = KEY_RW | KEY_ACCESS | KEY_DELETE | KEY_VARIABLE, .vary_keys = vary_delex_key,
        .since = "8.4.0",
        .replies = REPLIES("integer: 1 if the key was deleted, 0 if the condition does not hold or "
                           "there is no such key"),
        .errors = ERRORS(ERR_DELEX_TYPE, ERR_DELEX_CONDITION, ERR_DIGEST_LENGTH),
        .complexity = "O(1), with IFDEQ and IFDNE O(N) where N is the length of the value.",
        .syntax = "key [IFEQ comparison-value|IFNE comparison-value|IFDEQ comparison-digest|IFDNE "
                  "comparison-digest]",
        .summary =
            "Deletes a key of any type, or, with a condition, a string whose value or digest "
            "is equal to the given one, or is not."),
    ROW("DIGEST", cmd_digest, 2, READONLY | FAST, .keys = KEY_FIRST, .since = "8.4.0",
        .replies = REPLIES("bulk: the digest, 16 hexadecimal digits", "null: there is no such key"),
        .errors = ERRORS(ERR_WRONGTYPE), .complexity = "O(N) where N is the length of the string.",
        .syntax = "key", .summary = "Returns the digest (XXH3, 64 bits) of a string value."),
};

const struct command_group string_if_commands = COMMAND_GROUP("string", rows);
