/* set_random: SPOP and SRANDMEMBER. SPOP's effects name the removed members, so that a replay or a
 * replica removes the same ones. */
#include "server/cmd/call/args.h"
#include "server/cmd/sample.h"
#include "server/cmd/set/set.h"

static void pop_random_member(struct call *call, struct entry *entry)
{
    struct bytes member = set_random(entry->object.set, random_next, &call->txn->store->random);
    reply_bytes(call, member); /* before the mutator frees it */
    txn_set_remove(call->txn, entry, member, EVENT_SPOP);
}

static void cmd_spop(struct call *call)
{
    struct entry *entry;
    int64_t wanted = 1;
    bool counted = call->argc == 3;
    if (fail_if(call, call->argc > 3, ERR_SYNTAX)) return;
    if (counted && !arg_range(call, 2, 0, INT64_MAX, &wanted, ERR_NOT_POSITIVE)) return;
    if (!find_typed(call, 1, TYPE_SET, &entry)) return;
    if (!counted && entry == NULL) {
        resp_null(call->out);
    } else if (!counted) {
        pop_random_member(call, entry);
    } else if (entry == NULL || wanted == 0) {
        resp_set(call->out, 0);
    } else if ((uint64_t)wanted >= set_count(entry->object.set)) {
        struct set_iter iter;
        struct bytes member;
        resp_set(call->out, set_count(entry->object.set));
        set_iter_begin(&iter, entry->object.set);
        while (set_iter_next(&iter, &member))
            reply_bytes(call, member);
        txn_set_remove_all(call->txn, entry, EVENT_SPOP);
    } else {
        resp_set(call->out, (size_t)wanted);
        for (; wanted > 0; wanted--)
            pop_random_member(call, entry);
    }
}

static void cmd_srandmember(struct call *call)
{
    struct entry *entry;
    int64_t count = 1;
    bool counted = call->argc == 3;
    if (fail_if(call, call->argc > 3, ERR_SYNTAX)) return;
    if (counted && !sample_read_count(call, 2, &count)) return;
    if (!find_typed_counted(call, 1, TYPE_SET, &entry)) return;
    if (!counted && entry == NULL)
        resp_null(call->out);
    else if (!counted)
        reply_bytes(call, set_random(entry->object.set, random_next, &call->txn->store->random));
    else if (entry == NULL || count == 0)
        resp_array(call->out, 0);
    else if (count < -SAMPLE_DRAWS_MAX)
        fail(call, ERR_OUT_OF_RANGE);
    else
        sample_reply(call, &entry->object, count, false);
}

static const struct command rows[] = {
    ROW("SPOP", cmd_spop, -2, WRITE | FAST, .keys = KEY_FIRST,
        .key_flags = KEY_RW | KEY_ACCESS | KEY_DELETE, .tips = "nondeterministic_output",
        .since = "1.0.0",
        .replies = REPLIES("bulk: the member", "null: there is no such key",
                           "set[bulk ...]: with count: the members"),
        .errors = ERRORS(ERR_WRONGTYPE, ERR_SYNTAX, ERR_NOT_POSITIVE),
        .complexity = "O(N) where N is the number of members removed.", .syntax = "key [count]",
        .summary = "Removes and returns one or more random members of a set."),
    ROW("SRANDMEMBER", cmd_srandmember, -2, READONLY, .keys = KEY_FIRST,
        .tips = "nondeterministic_output", .since = "1.0.0",
        .replies = REPLIES(
            "bulk: a member", "null: there is no such key",
            "[bulk ...]: with count: members; if it is negative, one may occur more than once"),
        .errors = ERRORS(ERR_WRONGTYPE, ERR_SYNTAX, ERR_NOT_INTEGER, ERR_NOT_BETWEEN),
        .complexity = "O(N) where N is the number of members given.", .syntax = "key [count]",
        .summary =
            "Returns random members of a set: count distinct ones, or -count independent draws."),
};

const struct command_group set_random_commands = COMMAND_GROUP("set", rows);
