/* other_servers: commands of other servers that set and read deadlines of members: KeyDB's
 * EXPIREMEMBER, for sets, hashes and sorted sets, and Dragonfly's FIELDEXPIRE, for sets and
 * hashes. */
#include "server/cmd/call/args.h"
#include "server/cmd/member/member.h"
#include "server/cmd/member/member_args.h"

/* EXPIREMEMBER, EXPIREMEMBERAT and PEXPIREMEMBERAT: the variant is the unit, which EXPIREMEMBER can
 * change by an argument. */
static void cmd_expiremember(struct call *call)
{
    enum { DELAY = 3, UNIT };
    enum ttl_unit unit = (enum ttl_unit)call_variant(call);
    int64_t delay;
    msec at;
    if (call->argc > UNIT + 1) {
        fail_named(call, ERR_ARITY);
        return;
    }
    if (!arg_int64(call, DELAY, &delay)) return;
    if (arg_is(call, UNIT, "ms")) unit = TTL_MSEC;
    if (fail_if(call, call->argc > UNIT && unit != TTL_MSEC && !arg_is(call, UNIT, "s"),
                ERR_MEMBER_UNIT))
        return;
    if (!arg_deadline(call, DELAY, unit, false, &at)) return;
    /* A past instant, such as that of a negative delay, is accepted, and the member expires at
     * once. An instant before 1970 is refused. */
    if (at < 0 || at > member_deadline_max(call)) {
        fail_named(call, ERR_BAD_EXPIRE);
        return;
    }
    struct entry *entry = txn_find(call->txn, call->argv[1]);
    if (fail_if(call, entry != NULL && !type_has_members(entry->object.type), ERR_WRONGTYPE))
        return;
    resp_integer(call->out, entry != NULL && txn_member_expire(call->txn, entry, call->argv[2],
                                                               at) != MEMBER_MISSING);
}

static bool has_fields(struct call *call, const struct entry *entry)
{
    if (entry == NULL || entry->object.type == TYPE_HASH || entry->object.type == TYPE_SET)
        return true;
    return fail(call, ERR_WRONGTYPE);
}

static void cmd_fieldexpire(struct call *call)
{
    static const int codes[] = {
        [MEMBER_MISSING] = -2, [MEMBER_EXPIRY_SET] = 1, [MEMBER_REMOVED] = 2
    };
    enum { FIRST = 3 };
    msec at;
    if (!arg_member_deadline(call, 2, TTL_SECONDS, &at)) return;
    struct entry *entry = txn_find(call->txn, call->argv[1]);
    if (!has_fields(call, entry)) return;
    resp_array(call->out, (size_t)(call->argc - FIRST));
    for (int i = FIRST; i < call->argc; i++) {
        enum member_fate fate = MEMBER_MISSING;
        if (entry != NULL) fate = txn_member_expire(call->txn, entry, call->argv[i], at);
        resp_integer(call->out, codes[fate]);
    }
}

static void cmd_fieldttl(struct call *call)
{
    enum { NO_FIELD = -3, NO_KEY = -2, NO_DEADLINE = -1 };
    msec at;
    struct entry *entry = txn_find_counted(call->txn, call->argv[1]);
    if (!has_fields(call, entry)) return;
    if (entry == NULL)
        resp_integer(call->out, NO_KEY);
    else if (!object_member_deadline(&entry->object, call->argv[2], &at))
        resp_integer(call->out, NO_FIELD);
    else
        resp_integer(call->out,
                     at == NEVER ? NO_DEADLINE : instant_to_seconds(at - call->txn->now));
}

#define ROW_COMMON .acl = ACL_KEYSPACE, .keys = KEY_FIRST, .since = "0.1.0"
#define COST_ONE   "O(log(N)) where N is the number of members that have a deadline."
#define COST_EXPIRE                                                                                \
    "O(M*log(N)) where M is the number of members given and N the number that have a deadline."

static const struct command rows[] = {
    ROW("EXPIREMEMBER", cmd_expiremember, -4, WRITE | GROWS | FAST, .variant = TTL_SECONDS,
        ROW_COMMON, .origin = "KeyDB",
        .replies =
            REPLIES("integer: 1 if the deadline was set, 0 if there is no such key or member"),
        .errors = ERRORS(ERR_WRONGTYPE, ERR_NOT_INTEGER, ERR_BAD_EXPIRE, ERR_MEMBER_UNIT),
        .complexity = COST_ONE, .syntax = "key member delay [unit]",
        .summary =
            "Sets the time to live of a member of a set, hash or sorted set, in seconds (unit "
            "s) or milliseconds (ms)."),
    ROW("EXPIREMEMBERAT", cmd_expiremember, 4, WRITE | GROWS | FAST, .variant = TTL_UNIX_SECONDS,
        ROW_COMMON, .origin = "KeyDB",
        .replies =
            REPLIES("integer: 1 if the deadline was set, 0 if there is no such key or member"),
        .errors = ERRORS(ERR_WRONGTYPE, ERR_NOT_INTEGER, ERR_BAD_EXPIRE), .complexity = COST_ONE,
        .syntax = "key member unix-time-seconds",
        .summary = "Sets the deadline of a member of a set, hash or sorted set to a Unix time in "
                   "seconds."),
    ROW("PEXPIREMEMBERAT", cmd_expiremember, 4, WRITE | GROWS | FAST, .variant = TTL_UNIX_MSEC,
        ROW_COMMON, .origin = "KeyDB",
        .replies =
            REPLIES("integer: 1 if the deadline was set, 0 if there is no such key or member"),
        .errors = ERRORS(ERR_WRONGTYPE, ERR_NOT_INTEGER, ERR_BAD_EXPIRE), .complexity = COST_ONE,
        .syntax = "key member unix-time-milliseconds",
        .summary = "Sets the deadline of a member of a set, hash or sorted set to a Unix time in "
                   "milliseconds."),
    ROW("FIELDEXPIRE", cmd_fieldexpire, -4, WRITE | GROWS | FAST, ROW_COMMON, .origin = "Dragonfly",
        .replies = REPLIES("[integer ...]: for each field, 1 if the deadline was set, -2 if there "
                           "is no such key or "
                           "field"),
        .errors = ERRORS(ERR_WRONGTYPE, ERR_NOT_INTEGER, ERR_BAD_EXPIRE, ERR_EXPIRE_NEGATIVE),
        .complexity = COST_EXPIRE, .syntax = "key seconds field [field ...]",
        .summary = "Sets the time to live of fields of a hash or members of a set in seconds."),
    ROW("FIELDTTL", cmd_fieldttl, 3, READONLY | FAST | NAMES_MEMBERS, ROW_COMMON,
        .origin = "Dragonfly",
        .replies =
            REPLIES("integer: the seconds left; -1 without a deadline, -2 if there is no such "
                    "key, -3 if there is no such field"),
        .errors = ERRORS(ERR_WRONGTYPE), .complexity = "O(1)", .syntax = "key field",
        .summary =
            "Returns the remaining time to live of a field of a hash or a member of a set in "
            "seconds."),
};

const struct command_group other_servers_commands = COMMAND_GROUP("generic", rows);
