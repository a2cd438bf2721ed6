/* set: commands that add, remove, read and draw members of one set. set_algebra.c combines sets. */
#include "server/cmd/set/set.h"
#include "server/cmd/call/args.h"
#include "server/cmd/member/member_args.h"
#include "server/cmd/sample.h"

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

/* ---- SPOP and SRANDMEMBER -------------------------------------------------------------------- */

/* SPOP's effects name the removed members, so that a replay or a replica removes the same ones. */
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

/* ---- SADDEX ---------------------------------------------------------------------------------- */

/* SADDEX, which adds members with a deadline, has two forms: a unit and MEMBERS precede the members
 * or, as in Dragonfly, a bare number of seconds does:
 *
 *     SADDEX key EX 10 MEMBERS 2 a b
 *     SADDEX key 10 a b
 *
 * With MNX or MXX, or without a deadline, the first form is Redis 8.12's, and replies 1 or 0 as
 * there. Otherwise the reply is the number of members added. */
struct saddex {
    struct member_life life;
    bool only_new, only_present; /* MNX, MXX */
    int first, end;              /* arguments of the members; first is 0 before any */
};

/* Parses "[MNX|MXX] [EX seconds] [KEEPTTL] MEMBERS nummembers member ...", in any order */
static bool parse_saddex_members(struct call *call, struct saddex *how)
{
    for (int i = 2; i < call->argc;) {
        if (arg_is(call, i, member_words.keyword)) {
            if (how->first != 0) return fail(call, ERR_MEMBERS_TWICE);
            int block = i, count = arg_member_count(call, block, &member_words);
            how->first = block + 2;
            how->end = i = how->first + count;
            if (!(count > 0 || arg_member_block(call, block, &member_words, ERR_MEMBERS_POSITIVE)))
                return false;
            continue;
        }
        if (arg_is(call, i, "MNX") || arg_is(call, i, "MXX")) {
            if (how->only_new || how->only_present) return fail(call, ERR_MNX_MXX);
            how->only_new = arg_is(call, i, "MNX");
            how->only_present = !how->only_new;
            i++;
            continue;
        }
        enum arg_taken taken = arg_member_life(call, &i, &how->life);
        if (taken == ARG_OTHER) {
            if (how->first != 0 && i == how->end) /* probably one more member */
                return failf(call, ERR_MEMBERS_COUNT, member_words.count);
            return failf(call, ERR_SADDEX_ARGUMENT, arg_width(call, i), call->argv[i].data);
        }
        if (taken != ARG_TAKEN) return false;
    }
    return how->first != 0 || failf(call, ERR_MEMBERS_KEYWORD, member_words.keyword);
}

static void cmd_saddex(struct call *call)
{
    struct saddex how = { .first = 0 };
    struct entry *entry;
    int seconds = arg_is(call, 2, "KEEPTTL") ? 3 : 2;
    bool parsed;
    if (arg_looks_like_number(call, seconds)) { /* "[KEEPTTL] seconds member ..." */
        how.life.keeps = seconds > 2;
        how.first = seconds + 1;
        how.end = call->argc;
        parsed = arg_member_seconds(call, seconds, &how.life) &&
                 (how.first < call->argc || fail_named(call, ERR_ARITY));
    } else {
        parsed = parse_saddex_members(call, &how);
    }
    if (!parsed || !find_typed(call, 1, TYPE_SET, &entry)) return;
    bool is_conditional = how.only_new || how.only_present;
    for (int i = how.first; is_conditional && i < how.end; i++) {
        bool present = entry != NULL && set_has(entry->object.set, call->argv[i]);
        if (present ? how.only_new : how.only_present) {
            resp_integer(call->out, 0);
            return;
        }
    }

    entry = entry_or_new(call, 1, entry, TYPE_SET);
    int64_t added = 0;
    bool past = member_life_is_past(call, &how.life);
    struct lifetime life = member_lifetime(call, &how.life, past ? LIFE(KEEP) : LIFE(CLEAR));
    for (int i = how.first; i < how.end; i++) {
        bool is_new = txn_set_add(call->txn, entry, call->argv[i], life);
        added += is_new && !past;
        if (past && (is_new || !how.life.keeps))
            txn_member_expire(call->txn, entry, call->argv[i], how.life.at);
    }
    resp_integer(call->out, is_conditional || !how.life.is_given ? 1 : added);
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
    ROW("SADDEX", cmd_saddex, -4, WRITE | GROWS | FAST, .keys = KEY_FIRST, .since = "0.1.0",
        .origin = "Dragonfly",
        .replies = REPLIES("integer: the number of members added",
                           "integer: with MNX or MXX, or without a deadline: 1 if the members were "
                           "set, 0 if the condition does not hold"),
        .errors = ERRORS(ERR_WRONGTYPE, ERR_NOT_INTEGER, ERR_BAD_EXPIRE, ERR_EXPIRE_NEGATIVE,
                         ERR_MEMBERS_POSITIVE, ERR_MEMBERS_COUNT, ERR_MEMBERS_KEYWORD,
                         ERR_MEMBERS_TWICE, ERR_MNX_MXX, ERR_ONE_DEADLINE, ERR_SADDEX_ARGUMENT),
        .complexity =
            "O(M*log(N)) where M is the number of members given and N the number that have "
            "a deadline.",
        .syntax =
            "key [MNX|MXX] [EX seconds|PX milliseconds|EXAT unix-time-seconds|PXAT "
            "unix-time-milliseconds] [KEEPTTL] <seconds member [member ...]|MEMBERS nummembers "
            "member [member ...]>",
        .summary = "Adds members to a set, with a deadline. MNX adds them only if all are new, MXX "
                   "only if all exist. Existing members receive the deadline too. Without a "
                   "deadline they lose theirs, unless KEEPTTL is given."),
};

const struct command_group set_commands = COMMAND_GROUP("set", rows);
