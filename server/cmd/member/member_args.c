/* member_args: see member_args.h. */
#include "server/cmd/member/member_args.h"

#include "store/base/number.h"

const struct member_words field_words = { "FIELDS", "fields", "numfields", "numFields" };
const struct member_words member_words = { "MEMBERS", "members", "nummembers", "numMembers" };

msec member_deadline_max(const struct call *call)
{
    enum { CLIENT_BITS = 46 };
    return txn_replays(call->txn) ? INSTANT_MAX : ((msec)1 << CLIENT_BITS) - 1;
}

bool arg_member_deadline(struct call *call, int i, enum ttl_unit unit, msec *at)
{
    int64_t number;
    bool in_seconds = unit == TTL_SECONDS || unit == TTL_UNIX_SECONDS,
         is_span = unit == TTL_SECONDS || unit == TTL_MSEC;
    if (!arg_int64(call, i, &number)) return false;
    if (number < 0) return fail(call, ERR_EXPIRE_NEGATIVE);
    msec base = is_span ? call->txn->now : 0;
    if ((!in_seconds || instant_from_seconds(number, &number)) &&
        number <= member_deadline_max(call) - base) {
        *at = base + number;
        return true;
    }
    return fail_named(call, ERR_BAD_EXPIRE);
}

bool arg_looks_like_number(const struct call *call, int i)
{
    if (i >= call->argc) return false;
    struct bytes arg = call->argv[i];
    size_t at = arg.len > 0 && arg.data[0] == '-' ? 1 : 0;
    return at < arg.len && arg.data[at] >= '0' && arg.data[at] <= '9';
}

bool arg_member_block(struct call *call, int i, const struct member_words *words,
                      enum error bad_count)
{
    int64_t count;
    if (!arg_is(call, i, words->keyword))
        failf(call, ERR_MEMBERS_KEYWORD, words->keyword);
    else if (i + 1 == call->argc)
        fail_named(call, ERR_ARITY);
    else if (!number_parse_int64(call->argv[i + 1].data, call->argv[i + 1].len, &count) ||
             count < 1)
        failf(call, bad_count, bad_count == ERR_MEMBERS_NONE ? words->counted : words->plural);
    else if (count != call->argc - i - 2)
        failf(call, ERR_MEMBERS_COUNT, words->count);
    else
        return true;
    return false;
}

int arg_member_count(const struct call *call, int i, const struct member_words *words)
{
    int64_t count;
    if (!arg_is(call, i, words->keyword) || i + 1 >= call->argc) return 0;
    if (!number_parse_int64(call->argv[i + 1].data, call->argv[i + 1].len, &count)) return 0;
    return count >= 1 && count <= call->argc - i - 2 ? (int)count : 0;
}

static enum arg_taken fail_contradiction(struct call *call, const struct member_life *life)
{
    fail(call, life->either_or ? ERR_ONE_LIFE : ERR_ONE_DEADLINE);
    return ARG_FAILED;
}

enum arg_taken arg_member_life(struct call *call, int *i, struct member_life *life)
{
    enum ttl_unit unit;
    if (arg_is(call, *i, "KEEPTTL")) {
        if (life->either_or && (life->is_given || life->keeps))
            return fail_contradiction(call, life);
        life->keeps = true;
        *i += 1;
        return ARG_TAKEN;
    }
    if (!arg_ttl_unit(call, *i, &unit)) return ARG_OTHER;
    if (life->is_given || (life->either_or && life->keeps)) return fail_contradiction(call, life);
    if (!arg_member_deadline(call, *i + 1, unit, &life->at)) return ARG_FAILED;
    life->is_given = true;
    *i += 2;
    return ARG_TAKEN;
}

bool arg_member_seconds(struct call *call, int i, struct member_life *life)
{
    if (!arg_member_deadline(call, i, TTL_SECONDS, &life->at)) return false;
    life->is_given = true;
    if (life->at > call->txn->now) return true;
    return fail_named(call, ERR_BAD_EXPIRE);
}

bool member_life_is_past(const struct call *call, const struct member_life *life)
{
    return life->is_given && life->at <= call->txn->now;
}

struct lifetime member_lifetime(const struct call *call, const struct member_life *life,
                                struct lifetime otherwise)
{
    if (!life->is_given) return life->keeps ? LIFE(KEEP) : otherwise;
    if (member_life_is_past(call, life)) return otherwise;
    return (struct lifetime){ life->keeps ? LIFE_SET_NEW : LIFE_SET, life->at };
}
