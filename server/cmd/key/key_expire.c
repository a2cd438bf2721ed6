/* key_expire: commands that set, read and remove the deadlines of keys. TTL, PTTL and PERSIST also
 * accept a member of the key, as in KeyDB. */
#include "server/cmd/call/args.h"
#include "server/cmd/key/key.h"

static void expire_key(struct call *call)
{
    enum ttl_unit unit = (enum ttl_unit)call_variant(call);
    bool none_yet = false, present = false, later = false, earlier = false;
    msec at;
    for (int i = 3; i < call->argc; i++) {
        bool *condition = arg_is(call, i, "NX")   ? &none_yet
                          : arg_is(call, i, "XX") ? &present
                          : arg_is(call, i, "GT") ? &later
                          : arg_is(call, i, "LT") ? &earlier
                                                  : NULL;
        if (condition == NULL) {
            failf(call, ERR_EXPIRE_OPTION, arg_width(call, i), call->argv[i].data);
            return;
        }
        *condition = true;
    }
    if (fail_if(call, none_yet && (present || later || earlier), ERR_NX_XX_GT_LT)) return;
    if (fail_if(call, later && earlier, ERR_EXPIRE_GT_LT)) return;
    if (!arg_deadline(call, 2, unit, false, &at)) return;
    if (at < INSTANT_MIN) at = INSTANT_MIN; /* both have passed */

    struct entry *entry = txn_find(call->txn, call->argv[1]);
    bool moves = entry != NULL;
    if (moves && call->argc > 3) {
        /* NEVER is the latest instant, so a missing deadline compares as infinite. */
        msec old = entry_expires_at(call->txn->ks, entry);
        moves = !(none_yet && old != NEVER) && !(present && old == NEVER) &&
                !(later && at <= old) && !(earlier && at >= old);
    }
    if (moves) txn_key_expire(call->txn, entry, at);
    resp_integer(call->out, moves);
}

/* Checks that the arguments are "key [member]". Returns false after sending an error.
 * DIFFERS: Redis accepts no member here, KeyDB does. (doc/differs.md) */
static bool has_key_or_member(struct call *call)
{
    if (call->argc <= 3) return true;
    return fail_named(call, ERR_ARITY);
}

static void cmd_persist(struct call *call)
{
    if (!has_key_or_member(call)) return;
    struct entry *entry = txn_find(call->txn, call->argv[1]);
    bool removed = false;
    if (entry != NULL && call->argc == 2)
        removed = txn_key_persist(call->txn, entry);
    else if (entry != NULL && type_has_members(entry->object.type))
        removed = txn_member_persist(call->txn, entry, call->argv[2]);
    resp_integer(call->out, removed);
}

/* TTL, PTTL, EXPIRETIME and PEXPIRETIME. */
static void reply_deadline(struct call *call)
{
    enum { NO_KEY = -2, NO_DEADLINE = -1 };
    enum ttl_unit unit = (enum ttl_unit)call_variant(call);
    msec at = NEVER, of_member;
    if (!has_key_or_member(call)) return;
    const struct entry *entry = peek_key(call, 1);
    if (entry != NULL && call->argc == 2)
        at = entry_expires_at(call->txn->ks, entry);
    else if (entry != NULL && type_has_members(entry->object.type) &&
             object_member_deadline(&entry->object, call->argv[2], &of_member))
        at = of_member;
    if (at == NEVER) {
        resp_integer(call->out, entry == NULL ? NO_KEY : NO_DEADLINE);
        return;
    }
    if (unit == TTL_SECONDS || unit == TTL_MSEC) at -= call->txn->now;
    /* Round to the nearest second. Adding 500 first could overflow. */
    if (unit == TTL_SECONDS || unit == TTL_UNIX_SECONDS) at = at / 1000 + (at % 1000 >= 500);
    resp_integer(call->out, at);
}

#define EXPIRE_REPLIES                                                                             \
    REPLIES("integer: 1 if the deadline was set or the key was deleted because the deadline is "   \
            "past, 0 if there is no such key or the condition did not hold")
#define EXPIRE_ERRORS                                                                              \
    ERRORS(ERR_NOT_INTEGER, ERR_BAD_EXPIRE, ERR_NX_XX_GT_LT, ERR_EXPIRE_GT_LT, ERR_EXPIRE_OPTION)
#define COST_DEADLINE "O(log(N)) where N is the number of keys that have a deadline."

static const struct command rows[] = {
    ROW("EXPIRE", expire_key, -3, WRITE | FAST, .variant = TTL_SECONDS, .acl = ACL_KEYSPACE,
        .keys = KEY_FIRST, .since = "1.0.0", .replies = EXPIRE_REPLIES, .errors = EXPIRE_ERRORS,
        .complexity = COST_DEADLINE, .syntax = "key seconds [NX|XX|GT|LT]",
        .summary = "Sets the time to live of a key in seconds."),
    ROW("PEXPIRE", expire_key, -3, WRITE | FAST, .variant = TTL_MSEC, .acl = ACL_KEYSPACE,
        .keys = KEY_FIRST, .since = "2.6.0", .replies = EXPIRE_REPLIES, .errors = EXPIRE_ERRORS,
        .complexity = COST_DEADLINE, .syntax = "key milliseconds [NX|XX|GT|LT]",
        .summary = "Sets the time to live of a key in milliseconds."),
    ROW("EXPIREAT", expire_key, -3, WRITE | FAST, .variant = TTL_UNIX_SECONDS, .acl = ACL_KEYSPACE,
        .keys = KEY_FIRST, .since = "1.2.0", .replies = EXPIRE_REPLIES, .errors = EXPIRE_ERRORS,
        .complexity = COST_DEADLINE, .syntax = "key unix-time-seconds [NX|XX|GT|LT]",
        .summary = "Sets the deadline of a key to a Unix time in seconds."),
    ROW("PEXPIREAT", expire_key, -3, WRITE | FAST, .variant = TTL_UNIX_MSEC, .acl = ACL_KEYSPACE,
        .keys = KEY_FIRST, .since = "2.6.0", .replies = EXPIRE_REPLIES, .errors = EXPIRE_ERRORS,
        .complexity = COST_DEADLINE, .syntax = "key unix-time-milliseconds [NX|XX|GT|LT]",
        .summary = "Sets the deadline of a key to a Unix time in milliseconds."),
    ROW("PERSIST", cmd_persist, -2, WRITE | FAST, .acl = ACL_KEYSPACE, .keys = KEY_FIRST,
        .since = "2.2.0",
        .replies = REPLIES("integer: 1 if a deadline was removed, 0 if there was none; with member "
                           "(as KeyDB) of that member"),
        .complexity = COST_DEADLINE, .syntax = "key [member]",
        .summary = "Removes the deadline of a key, or of one of its members."),
    ROW("TTL", reply_deadline, -2, READONLY | FAST | NAMES_MEMBERS, .variant = TTL_SECONDS,
        .acl = ACL_KEYSPACE, .keys = KEY_FIRST, .tips = "nondeterministic_output", .since = "1.0.0",
        .replies = REPLIES(
            "integer: the seconds left, rounded; -1 without a deadline, -2 if there is no "
            "such key; with member (as KeyDB) the time of that member, -1 if the key has no "
            "such member"),
        .complexity = "O(1)", .syntax = "key [member]",
        .summary =
            "Returns the remaining time to live of a key, or of one of its members, in seconds."),
    ROW("PTTL", reply_deadline, -2, READONLY | FAST | NAMES_MEMBERS, .variant = TTL_MSEC,
        .acl = ACL_KEYSPACE, .keys = KEY_FIRST, .tips = "nondeterministic_output", .since = "2.6.0",
        .replies =
            REPLIES("integer: the milliseconds left; -1 without a deadline, -2 if there is no "
                    "such key; with member (as KeyDB) the time of that member, -1 if the key "
                    "has no such member"),
        .complexity = "O(1)", .syntax = "key [member]",
        .summary = "Returns the remaining time to live of a key, or of one of its members, in "
                   "milliseconds."),
    ROW("EXPIRETIME", reply_deadline, 2, READONLY | FAST | NAMES_MEMBERS,
        .variant = TTL_UNIX_SECONDS, .acl = ACL_KEYSPACE, .keys = KEY_FIRST, .since = "7.0.0",
        .replies =
            REPLIES("integer: the deadline as Unix time in seconds, rounded; -1 without one, "
                    "-2 if there is no such key"),
        .complexity = "O(1)", .syntax = "key",
        .summary = "Returns the deadline of a key as a Unix time in seconds."),
    ROW("PEXPIRETIME", reply_deadline, 2, READONLY | FAST | NAMES_MEMBERS, .variant = TTL_UNIX_MSEC,
        .acl = ACL_KEYSPACE, .keys = KEY_FIRST, .since = "7.0.0",
        .replies = REPLIES("integer: the deadline as Unix time in milliseconds; -1 without one, -2 "
                           "if there is no such key"),
        .complexity = "O(1)", .syntax = "key",
        .summary = "Returns the deadline of a key as a Unix time in milliseconds."),
};

const struct command_group key_expire_commands = COMMAND_GROUP("generic", rows);
