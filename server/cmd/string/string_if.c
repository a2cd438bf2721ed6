/* string_if: the conditions of SET and DELEX on the old value; MSETEX, DELIFEQ and DELEX, which
 * write or delete strings if a condition holds; and DIGEST. The digest is libxxhash's XXH3. The
 * library's header contains the whole function (XXH_INLINE_ALL), so nothing is linked. */
#define XXH_INLINE_ALL
#include <xxhash.h>

#include "server/cmd/call/args.h"
#include "server/cmd/string/string.h"

/* ---- conditions ------------------------------------------------------------------------------ */

enum { STRING_DIGEST_CHARS = 16 };
static void string_digest(struct bytes value, char digits[STRING_DIGEST_CHARS])
{
    XXH64_hash_t hash = XXH3_64bits(value.data, value.len);
    for (int i = STRING_DIGEST_CHARS - 1; i >= 0; i--) {
        digits[i] = "0123456789abcdef"[hash & 15];
        hash >>= 4;
    }
}

bool arg_string_condition(const struct call *call, int i, struct string_condition *condition)
{
    static const char *const words[] = { "IFEQ", "IFNE", "IFDEQ", "IFDNE" };
    int found = arg_word(call, i, words, sizeof(words) / sizeof(words[0]));
    if (found < 0) return false;
    *condition = (struct string_condition){ .kind = IF_EQUAL + (unsigned)found, .arg = i + 1 };
    return true;
}

bool string_condition_holds(struct call *call, const struct string_condition *condition,
                            const struct entry *entry, bool *holds)
{
    bool if_equal = condition->kind == IF_EQUAL || condition->kind == IF_DIGEST_EQUAL;
    bool by_digest = condition->kind == IF_DIGEST_EQUAL || condition->kind == IF_DIGEST_DIFFERENT;
    *holds = !if_equal;
    if (entry == NULL || condition->kind == IF_ANY) return true;
    struct bytes value = object_text(&entry->object), wanted = call->argv[condition->arg];
    if (!by_digest) {
        *holds = bytes_equal(value, wanted) == if_equal;
        return true;
    }
    /* As in Redis, only the length of the digest is checked. */
    char digits[STRING_DIGEST_CHARS];
    if (wanted.len != STRING_DIGEST_CHARS) return fail(call, ERR_DIGEST_LENGTH);
    string_digest(value, digits);
    *holds = (strncasecmp(digits, wanted.data, STRING_DIGEST_CHARS) == 0) == if_equal;
    return true;
}

/* ---- commands -------------------------------------------------------------------------------- */

enum { FIRST_KEY = 2 };

static void cmd_msetex(struct call *call)
{
    struct string_set set = { .at = NEVER, .event = EVENT_SET };
    bool only_new = false, only_present = false, holds = true;
    int ttl_arg = 0; /* index of the argument with the time; 0 if none was given */
    enum ttl_unit unit = TTL_SECONDS, last_unit = TTL_SECONDS;
    int64_t count;
    if (!arg_range(call, 1, 1, INT32_MAX, &count, ERR_MSETEX_NUMKEYS)) return;
    if (fail_if(call, count > (call->argc - FIRST_KEY) / 2, ERR_SYNTAX)) return;
    int end = FIRST_KEY + 2 * (int)count;
    for (int i = end; i < call->argc; i++) {
        if (arg_is(call, i, "NX")) {
            only_new = true;
        } else if (arg_is(call, i, "XX")) {
            only_present = true;
        } else if (arg_is(call, i, "KEEPTTL")) {
            set.keep_ttl = true;
        } else { /* As with SET, the same unit may be given several times; the last value counts. */
            bool is_ttl = arg_ttl_unit(call, i, &unit);
            if (fail_if(call, !is_ttl || (ttl_arg != 0 && unit != last_unit), ERR_SYNTAX)) return;
            last_unit = unit;
            ttl_arg = ++i;
        }
    }
    if (fail_if(call, (only_new && only_present) || (set.keep_ttl && ttl_arg != 0), ERR_SYNTAX))
        return;
    if (ttl_arg != 0 && !arg_deadline(call, ttl_arg, unit, true, &set.at)) return;
    for (int i = FIRST_KEY; i < end && holds; i += 2) {
        if (only_new) holds = txn_find(call->txn, call->argv[i]) == NULL;
        if (only_present) holds = txn_find(call->txn, call->argv[i]) != NULL;
    }
    for (int i = FIRST_KEY; i < end && holds; i += 2)
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

/* As in Redis, the condition is not even parsed if the key is missing. */
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
    ROW("MSETEX", cmd_msetex, -4, WRITE | GROWS | MOVABLE_KEYS,
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
