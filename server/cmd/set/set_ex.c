/* set_ex: SADDEX, which adds members with a deadline to a set. It has two forms: a unit and MEMBERS
 * precede the members or, as in Dragonfly, a bare number of seconds does:
 *
 *     SADDEX key EX 10 MEMBERS 2 a b
 *     SADDEX key 10 a b
 *
 * With MNX or MXX, or without a deadline, the first form is Redis 8.12's, and replies 1 or 0 as
 * there. Otherwise the reply is the number of members added. */
#include "server/cmd/call/args.h"
#include "server/cmd/call/call.h"
#include "server/cmd/call/command.h"
#include "server/cmd/call/error.h"
#include "server/cmd/member/member_args.h"
#include "server/cmd/set/set.h"
#include "store/txn/txn.h"

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
    bool past = member_life_is_past(call, &how.life); /* the given members are then removed */
    struct lifetime life = member_lifetime(call, &how.life, past ? LIFE(KEEP) : LIFE(CLEAR));
    for (int i = how.first; i < how.end; i++) {
        bool is_new = txn_set_add(call->txn, entry, call->argv[i], life);
        added += is_new && !past;
        if (past && (is_new || !how.life.keeps))
            txn_member_expire(call->txn, entry, call->argv[i], how.life.at);
    }
    /* The forms that only Redis 8.12 has reply as it does. */
    resp_integer(call->out, is_conditional || !how.life.is_given ? 1 : added);
}

static const struct command rows[] = {
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

const struct command_group set_ex_commands = COMMAND_GROUP("set", rows);
