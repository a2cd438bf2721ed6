/* set: commands that add, remove and read members of one set. set_algebra.c combines sets,
 * set_random.c draws members, set_ex.c adds members with a deadline. */
#include "store/type/set.h"
#include "server/cmd/call/args.h"
#include "server/cmd/call/call.h"
#include "server/cmd/call/error.h"
#include "server/cmd/set/set.h"
#include "store/txn/txn.h"

static void cmd_sadd(struct call *call)
{
    struct entry *entry;
    if (!find_typed(call, 1, TYPE_SET, &entry)) return;
    entry = entry_or_new(call, 1, entry, TYPE_SET);
    int64_t added = 0;
    for (int i = 2; i < call->argc; i++)
        added += txn_set_add(call->txn, entry, call->argv[i], LIFE(ADD));
    resp_integer(call->out, added);
}

static void cmd_srem(struct call *call)
{
    struct entry *entry;
    if (!find_typed(call, 1, TYPE_SET, &entry)) return;
    int64_t removed = 0;
    for (int i = 2; entry != NULL && i < call->argc; i++)
        removed += txn_set_remove(call->txn, entry, call->argv[i], EVENT_SREM);
    resp_integer(call->out, removed);
}

static void cmd_smembers(struct call *call)
{
    struct entry *entry;
    if (!find_typed_counted(call, 1, TYPE_SET, &entry)) return;
    resp_set(call->out, entry == NULL ? 0 : set_count(entry->object.set));
    if (entry == NULL) return;
    struct set_iter iter;
    struct bytes member;
    set_iter_begin(&iter, entry->object.set);
    while (set_iter_next(&iter, &member))
        reply_bytes(call, member);
}

static void reply_has(struct call *call, const struct entry *entry, struct bytes member)
{
    resp_integer(call->out, entry != NULL && set_has(entry->object.set, member));
}

static void cmd_sismember(struct call *call)
{
    struct entry *entry;
    if (!find_typed_counted(call, 1, TYPE_SET, &entry)) return;
    reply_has(call, entry, call->argv[2]);
}

static void cmd_smismember(struct call *call)
{
    struct entry *entry;
    if (!find_typed_counted(call, 1, TYPE_SET, &entry)) return;
    resp_array(call->out, (size_t)call->argc - 2);
    for (int i = 2; i < call->argc; i++)
        reply_has(call, entry, call->argv[i]);
}

static void cmd_scard(struct call *call)
{
    struct entry *entry;
    if (!find_typed_counted(call, 1, TYPE_SET, &entry)) return;
    resp_integer(call->out, entry == NULL ? 0 : (int64_t)set_count(entry->object.set));
}

static const struct command rows[] = {
    ROW("SADD", cmd_sadd, -3, WRITE | GROWS | FAST, .keys = KEY_FIRST,
        .key_flags = KEY_RW | KEY_INSERT, .since = "1.0.0",
        .replies = REPLIES("integer: the number of members added"), .errors = ERRORS(ERR_WRONGTYPE),
        .complexity = "O(N) where N is the number of members given.",
        .syntax = "key member [member ...]",
        .summary = "Adds one or more members to a set. Creates the key if it does not exist."),
    ROW("SREM", cmd_srem, -3, WRITE | FAST, .keys = KEY_FIRST, .key_flags = KEY_RW | KEY_DELETE,
        .since = "1.0.0", .replies = REPLIES("integer: the number of members removed"),
        .errors = ERRORS(ERR_WRONGTYPE),
        .complexity = "O(N) where N is the number of members given.",
        .syntax = "key member [member ...]", .summary = "Removes one or more members from a set."),
    ROW("SMEMBERS", cmd_smembers, 2, READONLY, .keys = KEY_FIRST,
        .tips = "nondeterministic_output_order", .since = "1.0.0",
        .replies = REPLIES("set[bulk ...]: the members"), .errors = ERRORS(ERR_WRONGTYPE),
        .complexity = "O(N) where N is the number of members in the set.", .syntax = "key",
        .summary = "Returns all members of a set."),
    ROW("SISMEMBER", cmd_sismember, 3, READONLY | FAST | NAMES_MEMBERS, .keys = KEY_FIRST,
        .key_flags = KEY_RO, .since = "1.0.0",
        .replies = REPLIES("integer: 1 if it is a member, else 0"), .errors = ERRORS(ERR_WRONGTYPE),
        .complexity = "O(1)", .syntax = "key member",
        .summary = "Returns whether a value is a member of a set."),
    ROW("SMISMEMBER", cmd_smismember, -3, READONLY | FAST | NAMES_MEMBERS, .keys = KEY_FIRST,
        .since = "6.2.0",
        .replies = REPLIES("[integer ...]: for each member given, 1 if it is in the set, else 0"),
        .errors = ERRORS(ERR_WRONGTYPE),
        .complexity = "O(N) where N is the number of members given.",
        .syntax = "key member [member ...]",
        .summary = "Returns for each of several values whether it is a member of a set."),
    ROW("SCARD", cmd_scard, 2, READONLY | FAST, .keys = KEY_FIRST, .key_flags = KEY_RO,
        .since = "1.0.0",
        .replies = REPLIES("integer: the number of members, 0 if there is no such key"),
        .errors = ERRORS(ERR_WRONGTYPE), .complexity = "O(1)", .syntax = "key",
        .summary = "Returns the number of members in a set."),
};

const struct command_group set_commands = COMMAND_GROUP("set", rows);
