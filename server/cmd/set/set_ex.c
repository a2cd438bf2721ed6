/* set_ex: SADDEX: adds members with a deadline to a set.
 *
 * It has two forms: the members follow either MEMBERS and their number, or a number of seconds, as
 * in Dragonfly. */
#include "server/cmd/call/args.h"
#include "server/cmd/call/call.h"
#include "server/cmd/cmd.h"
#include "server/cmd/member/member_args.h"
#include "server/cmd/call/command.h"
#include "server/cmd/call/error.h"
#include "store/txn/txn.h"

struct saddex {
    struct member_life life;
    int first; /* argument of the first member */
};

/* "[KEEPTTL] seconds member ..." */
static bool parse_saddex_seconds(struct call *call, int seconds, struct saddex *how)
{
    how->life.keeps = seconds > 2;
    how->first = seconds + 1;
    if (!arg_member_seconds(call, seconds, &how->life)) return false;
    if (how->first < call->argc) return true;
    fail_named(call, ERR_ARITY);
    return false;
}

/* "EX seconds [KEEPTTL] MEMBERS nummembers member ...", the options in any order */
static bool parse_saddex_members(struct call *call, struct saddex *how)
{
    int i = 2;
    while (i < call->argc && !arg_is(call, i, member_words.keyword)) {
        enum arg_taken taken = arg_member_life(call, &i, &how->life);
        if (taken == ARG_OTHER)
            failf(call, ERR_SADDEX_ARGUMENT, arg_width(call, i), call->argv[i].data);
        if (taken != ARG_TAKEN) return false;
    }
    how->first = i + 2;
    if (!arg_member_block(call, i, &member_words, ERR_MEMBERS_POSITIVE)) return false;
    if (how->life.is_given) return true;
    fail(call, ERR_NO_DEADLINE);
    return false;
}

static void cmd_saddex(struct call *call)
{
    struct saddex how = { .first = 0 };
    struct entry *entry;
    int seconds = arg_is(call, 2, "KEEPTTL") ? 3 : 2;
    bool parsed = arg_looks_like_number(call, seconds) ? parse_saddex_seconds(call, seconds, &how)
                                                       : parse_saddex_members(call, &how);
    if (!parsed || !find_typed(call, 1, TYPE_SET, &entry)) return;
    entry = entry_or_new(call, 1, entry, TYPE_SET);
    int64_t added = 0;
    bool past = member_life_is_past(call, &how.life); /* the given members are then removed */
    struct lifetime life = member_lifetime(call, &how.life, LIFE(KEEP));
    for (int i = how.first; i < call->argc; i++) {
        bool is_new = txn_set_add(call->txn, entry, call->argv[i], life);
        added += is_new && !past;
        if (past && (is_new || !how.life.keeps))
            txn_member_expire(call->txn, entry, call->argv[i], how.life.at);
    }
    resp_integer(call->out, added);
}

static const struct command rows[] = {
    { .name = "SADDEX",
      .run = cmd_saddex,
      .arity = -4,
      .flags = WRITE | GROWS | FAST,
      .keys = KEY_FIRST,
      .group = "set",
      .since = "0.1.0",
      .origin = "Dragonfly",
      .replies = REPLIES("integer: the number of members added"),
      .errors = ERRORS(ERR_WRONGTYPE, ERR_NOT_INTEGER, ERR_BAD_EXPIRE, ERR_EXPIRE_NEGATIVE,
                       ERR_MEMBERS_POSITIVE, ERR_MEMBERS_COUNT, ERR_ONE_DEADLINE, ERR_NO_DEADLINE,
                       ERR_SADDEX_ARGUMENT),
      .complexity = "O(M*log(N)) where M is the number of members given and N the number that have "
                    "a deadline.",
      .syntax = "key [EX seconds|PX milliseconds|EXAT unix-time-seconds|PXAT "
                "unix-time-milliseconds] [KEEPTTL] <seconds member [member ...]|MEMBERS nummembers "
                "member [member ...]>",
      .summary = "Adds members with a deadline to a set. Existing members get it too, unless "
                 "KEEPTTL is given." },
};

const struct command_group set_ex_commands = COMMAND_GROUP(rows);
