/* member_expire: commands that set, read and remove the deadlines of members of hashes, sets and
 * sorted sets. HEXPIRE and its family are those of Redis 7.4. SEXPIRE and ZEXPIRE, with their
 * families, do the same for members of sets and sorted sets, with the word MEMBERS in place of
 * FIELDS. */
#include "server/cmd/call/args.h"
#include "server/cmd/member/member.h"
#include "server/cmd/member/member_args.h"

/* The variant of a row: the type of the collection and, except for PERSIST, the unit of time. */
enum { UNITS = TTL_UNIX_MSEC + 1 };
#define VARIANT(type, unit) ((type)*UNITS + (unit))

static enum type type_of(const struct call *call)
{
    return (enum type)(call_variant(call) / UNITS);
}

static enum ttl_unit unit_of(const struct call *call)
{
    return (enum ttl_unit)(call_variant(call) % UNITS);
}

static const struct member_words *words_of(const struct call *call)
{
    return type_of(call) == TYPE_HASH ? &field_words : &member_words;
}

/* The reply for one member. */
enum { NO_MEMBER = -2, NO_DEADLINE = -1, NOT_MET = 0, DONE = 1, REMOVED = 2 };

static bool find_deadline(const struct entry *entry, struct bytes member, msec *at)
{
    return entry != NULL && object_member_deadline(&entry->object, member, at);
}

enum condition { ALWAYS, NX, XX, GT, LT };
static const char *const conditions[] = { "NX", "XX", "GT", "LT" };

static enum condition condition_at(const struct call *call, int i)
{
    return (enum condition)(1 + arg_word(call, i, conditions, LT));
}

/* HEXPIRE and its family: sets the deadlines of members. The condition may precede FIELDS, or
 * follow the last member; numfields tells whether the last argument is a condition or a member. */
static void expire_members(struct call *call)
{
    const struct member_words *words = words_of(call);
    struct entry *entry;
    msec at;
    if (!find_typed(call, 1, type_of(call), &entry)) return;
    if (!arg_member_deadline(call, 2, unit_of(call), &at)) return;
    enum condition when = condition_at(call, 3), after = ALWAYS;
    int block = when == ALWAYS ? 3 : 4, first = block + 2, last = call->argc - 1;
    if (when == ALWAYS && arg_member_count(call, block, words) == last - first)
        after = condition_at(call, last);
    if (after != ALWAYS)
        when = after;
    else if (!arg_member_block(call, block, words, ERR_MEMBERS_NONE))
        return;

    int end = after != ALWAYS ? last : call->argc;
    resp_array(call->out, (size_t)(end - first));
    for (int i = first; i < end; i++) {
        msec old = NEVER;
        bool exists = find_deadline(entry, call->argv[i], &old), holds = true;
        switch (when) { /* NEVER is the latest instant: a missing deadline compares as infinite */
        case ALWAYS: break;
        case NX: holds = old == NEVER; break;
        case XX: holds = old != NEVER; break;
        case GT: holds = at > old; break;
        case LT: holds = at < old; break;
        }
        int reply = !exists ? NO_MEMBER : !holds ? NOT_MET : DONE;
        if (reply == DONE &&
            txn_member_expire(call->txn, entry, call->argv[i], at) == MEMBER_REMOVED)
            reply = REMOVED;
        resp_integer(call->out, reply);
    }
}

enum {
    BLOCK = 2,
    FIRST = BLOCK + 2
}; /* arguments of TTL and PERSIST: FIELDS, and the first member */

static void reply_ttl(struct call *call)
{
    enum ttl_unit unit = unit_of(call);
    struct entry *entry;
    msec at;
    bool in_msec = unit == TTL_MSEC || unit == TTL_UNIX_MSEC;
    if (!find_typed_counted(call, 1, type_of(call), &entry)) return;
    if (!arg_member_block(call, BLOCK, words_of(call), ERR_MEMBERS_POSITIVE)) return;
    resp_array(call->out, (size_t)(call->argc - FIRST));
    for (int i = FIRST; i < call->argc; i++) {
        if (!find_deadline(entry, call->argv[i], &at)) {
            resp_integer(call->out, NO_MEMBER);
        } else if (at == NEVER) {
            resp_integer(call->out, NO_DEADLINE);
        } else {
            /* Seconds are rounded up, so that a member has at least one until it expires. */
            if (unit == TTL_SECONDS || unit == TTL_MSEC) at -= call->txn->now;
            resp_integer(call->out, in_msec ? at : instant_to_seconds(at));
        }
    }
}

static void persist_members(struct call *call)
{
    struct entry *entry;
    msec at;
    if (!find_typed(call, 1, type_of(call), &entry)) return;
    if (!arg_member_block(call, BLOCK, words_of(call), ERR_MEMBERS_POSITIVE)) return;
    resp_array(call->out, (size_t)(call->argc - FIRST));
    for (int i = FIRST; i < call->argc; i++)
        if (!find_deadline(entry, call->argv[i], &at))
            resp_integer(call->out, NO_MEMBER);
        else
            resp_integer(call->out,
                         txn_member_persist(call->txn, entry, call->argv[i]) ? DONE : NO_DEADLINE);
}

#define ROW_COMMON                                                                                 \
    .keys = KEY_FIRST,                                                                             \
    .complexity = "O(M*log(N)) where M is the number of members given and N the number that have " \
                  "a deadline."
#define EXPIRE_ROW(NAME, per, time, how, unit, OF)                                                 \
    {                                                                                              \
        .name = NAME, .run = expire_members, .variant = VARIANT(TYPE_##OF, per), .arity = -6,      \
        .flags = WRITE | GROWS | FAST, .syntax = "key " time " [NX|XX|GT|LT] " OF##_BLOCK,         \
        .summary = "Sets the " how " of " OF##_WHAT " " unit ".", OF##_ROW, ROW_COMMON,            \
        .replies = REPLIES("[integer ...]: for each " OF##_ONE                                     \
                           ", 1 if the deadline was set, 2 if it is past "                         \
                           "and the " OF##_ONE " was removed, 0 if the condition did not hold, "   \
                                               "-2 if there is no such key or " OF##_ONE),         \
        .errors = ERRORS(ERR_WRONGTYPE, ERR_NOT_INTEGER, ERR_BAD_EXPIRE, ERR_EXPIRE_NEGATIVE,      \
                         ERR_MEMBERS_KEYWORD, ERR_MEMBERS_NONE, ERR_MEMBERS_COUNT)                 \
    }
#define TTL_ROW(NAME, per, how, unit, reply, OF)                                                   \
    {                                                                                              \
        .name = NAME, .run = reply_ttl, .variant = VARIANT(TYPE_##OF, per), .arity = -5,           \
        .flags = READONLY | NAMES_MEMBERS | FAST, .syntax = "key " OF##_BLOCK,                     \
        .summary = "Returns the " how " of " OF##_WHAT " " unit ".", OF##_ROW, .keys = KEY_FIRST,  \
        .complexity = "O(M) where M is the number of members given.",                              \
        .replies = REPLIES("[integer ...]: for each " OF##_ONE                                     \
                           ", " reply                                                              \
                           "; -1 without a deadline, -2 if there is no such key or " OF##_ONE),    \
        .errors =                                                                                  \
            ERRORS(ERR_WRONGTYPE, ERR_MEMBERS_KEYWORD, ERR_MEMBERS_POSITIVE, ERR_MEMBERS_COUNT)    \
    }
#define PERSIST_ROW(NAME, OF)                                                                      \
    {                                                                                              \
        .name = NAME, .run = persist_members, .variant = VARIANT(TYPE_##OF, 0), .arity = -5,       \
        .flags = WRITE | FAST, .syntax = "key " OF##_BLOCK,                                        \
        .summary = "Removes the deadlines of " OF##_WHAT ".", OF##_ROW, ROW_COMMON,                \
        .replies = REPLIES("[integer ...]: for each " OF##_ONE                                     \
                           ", 1 if a deadline was removed, -1 if there was "                       \
                           "none, -2 if there is no such key or " OF##_ONE),                       \
        .errors =                                                                                  \
            ERRORS(ERR_WRONGTYPE, ERR_MEMBERS_KEYWORD, ERR_MEMBERS_POSITIVE, ERR_MEMBERS_COUNT)    \
    }
#define ROWS(X, OF)                                                                                \
    EXPIRE_ROW(X "EXPIRE", TTL_SECONDS, "seconds", "time to live", "in seconds", OF),              \
        EXPIRE_ROW(X "PEXPIRE", TTL_MSEC, "milliseconds", "time to live", "in milliseconds", OF),  \
        EXPIRE_ROW(X "EXPIREAT", TTL_UNIX_SECONDS, "unix-time-seconds", "deadline",                \
                   "to a Unix time in seconds", OF),                                               \
        EXPIRE_ROW(X "PEXPIREAT", TTL_UNIX_MSEC, "unix-time-milliseconds", "deadline",             \
                   "to a Unix time in milliseconds", OF),                                          \
        TTL_ROW(X "TTL", TTL_SECONDS, "remaining time to live", "in seconds",                      \
                "the seconds left, rounded up", OF),                                               \
        TTL_ROW(X "PTTL", TTL_MSEC, "remaining time to live", "in milliseconds",                   \
                "the milliseconds left", OF),                                                      \
        TTL_ROW(X "EXPIRETIME", TTL_UNIX_SECONDS, "deadlines", "as Unix times in seconds",         \
                "its deadline as a Unix time in seconds, rounded up", OF),                         \
        TTL_ROW(X "PEXPIRETIME", TTL_UNIX_MSEC, "deadlines", "as Unix times in milliseconds",      \
                "its deadline as a Unix time in milliseconds", OF),                                \
        PERSIST_ROW(X "PERSIST", OF)

#define HASH_ROW   .acl = ACL_EXPIRY, .since = "7.4.0"
#define HASH_BLOCK "FIELDS numfields field [field ...]"
#define HASH_ONE   "field"
#define HASH_WHAT  "fields of a hash"
#define SET_ROW    .since = "0.1.0"
#define SET_BLOCK  "MEMBERS nummembers member [member ...]"
#define SET_ONE    "member"
#define SET_WHAT   "members of a set"
#define ZSET_ROW   .since = "0.1.0"
#define ZSET_BLOCK SET_BLOCK
#define ZSET_ONE   "member"
#define ZSET_WHAT  "members of a sorted set"

static const struct command hash_rows[] = {
    ROWS("H", HASH),
};

static const struct command set_rows[] = {
    ROWS("S", SET),
};

static const struct command zset_rows[] = {
    ROWS("Z", ZSET),
};

const struct command_group hash_expire_commands = COMMAND_GROUP("hash", hash_rows);
const struct command_group set_expire_commands = COMMAND_GROUP("set", set_rows);
const struct command_group zset_expire_commands = COMMAND_GROUP("sorted-set", zset_rows);
