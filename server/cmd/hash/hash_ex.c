/* hash_ex: HSETEX, HGETEX and HGETDEL, which write, read or remove fields together with their
 * deadlines.
 *
 * HSETEX has two forms. In Redis 8.0 a unit and FIELDS precede the fields; in Dragonfly a bare
 * number of seconds does:
 *
 *     HSETEX key EX 10 FIELDS 1 field value
 *     HSETEX key 10 field value */
#include "server/cmd/call/args.h"
#include "server/cmd/call/call.h"
#include "server/cmd/call/command.h"
#include "server/cmd/call/error.h"
#include "server/cmd/hash/hash.h"
#include "server/cmd/hash/hash_field.h"
#include "server/cmd/member/member_args.h"
#include "store/txn/txn.h"
#include "store/type/hash.h"

struct hsetex {
    bool is_dragonfly;         /* Dragonfly's form, else Redis' */
    bool all_new, all_present; /* FNX, FXX */
    bool each_new;             /* NX, in Dragonfly's form: sets only the new fields */
    struct member_life life;
    int first; /* argument of the first field; pairs to the end */
};

static enum arg_taken take_hsetex_option(struct call *call, int *i, struct hsetex *how)
{
    bool all_new = arg_is(call, *i, "FNX"), all_present = arg_is(call, *i, "FXX"),
         each_new = how->is_dragonfly && arg_is(call, *i, "NX");
    if (!all_new && !all_present && !each_new) return arg_member_life(call, i, &how->life);
    if (how->all_new || how->all_present || how->each_new) {
        fail(call, how->is_dragonfly ? ERR_NX_FNX_FXX : ERR_FNX_FXX);
        return ARG_FAILED;
    }
    how->all_new = all_new;
    how->all_present = all_present;
    how->each_new = each_new;
    *i += 1;
    return ARG_TAKEN;
}

/* Parses "[FNX|FXX] [EX seconds|...|KEEPTTL] FIELDS numfields field value ..." */
static bool parse_hsetex_fields(struct call *call, struct hsetex *how)
{
    enum { ARGC_MIN = 6 };
    int i = 2;
    how->life.either_or = true;
    while (call->argc >= ARGC_MIN && i < call->argc && !arg_is(call, i, "FIELDS")) {
        enum arg_taken taken = take_hsetex_option(call, &i, how);
        if (taken == ARG_OTHER)
            failf(call, ERR_UNKNOWN_ARGUMENT, arg_width(call, i), call->argv[i].data);
        if (taken != ARG_TAKEN) return false;
    }
    int64_t count = 0;
    how->first = i + 2;
    int left = call->argc >= ARGC_MIN ? call->argc - how->first : 0;
    if (left >= 2 && !arg_range(call, i + 1, 1, INT32_MAX, &count, ERR_FIELDS_NUMBER)) return false;
    if (left >= 2 && left % 2 == 0 && count == left / 2) return true;
    return fail_named(call, ERR_ARITY);
}

/* Parses "[NX|FNX|FXX] [KEEPTTL] seconds field value ..." */
static bool parse_hsetex_seconds(struct call *call, int seconds, struct hsetex *how)
{
    for (int i = 2; i < seconds;)
        if (take_hsetex_option(call, &i, how) != ARG_TAKEN) return false;
    if (!arg_member_seconds(call, seconds, &how->life)) return false;
    how->first = seconds + 1;
    int left = call->argc - how->first;
    if (left >= 2 && left % 2 == 0) return true;
    return fail_named(call, ERR_ARITY);
}

static void cmd_hsetex(struct call *call)
{
    struct hsetex how = { .first = 0 };
    struct entry *entry;
    /* In Dragonfly's form a number follows these options, in Redis' form FIELDS does. */
    int i = 2;
    while (arg_is(call, i, "NX") || arg_is(call, i, "FNX") || arg_is(call, i, "FXX") ||
           arg_is(call, i, "KEEPTTL"))
        i++;
    how.is_dragonfly = arg_looks_like_number(call, i);
    bool parsed =
        how.is_dragonfly ? parse_hsetex_seconds(call, i, &how) : parse_hsetex_fields(call, &how);
    if (!parsed || !find_typed(call, 1, TYPE_HASH, &entry)) return;
    for (i = how.first; i < call->argc; i += 2) {
        bool present = has_field(entry, call->argv[i]);
        if (present ? how.all_new : how.all_present) {
            resp_integer(call->out, 0);
            return;
        }
    }
    int64_t added = 0;
    bool past = member_life_is_past(call, &how.life); /* the fields are then removed again */
    if (entry == NULL)
        entry = (past ? txn_create_uncounted : txn_create)(call->txn, call->argv[1], TYPE_HASH);
    const struct hput put = { EVENT_HSET, member_lifetime(call, &how.life, LIFE(CLEAR)) };
    for (i = how.first; i < call->argc; i += 2) {
        struct bytes field = call->argv[i];
        if (how.each_new && has_field(entry, field)) continue;
        added += txn_hash_put(call->txn, entry, field, call->argv[i + 1], &put);
        if (past) txn_member_expire(call->txn, entry, field, how.life.at);
    }
    resp_integer(call->out, how.is_dragonfly ? added : 1);
}

static void cmd_hgetex(struct call *call)
{
    struct entry *entry;
    enum ttl_unit unit;
    msec at = NEVER;
    if (!find_typed_counted(call, 1, TYPE_HASH, &entry)) return;
    bool sets = arg_ttl_unit(call, 2, &unit), persists = !sets && arg_is(call, 2, "PERSIST");
    if (sets && !arg_member_deadline(call, 3, unit, &at)) return;
    int block = sets ? 4 : persists ? 3 : 2; /* argument of FIELDS */
    if (!arg_member_block(call, block, &field_words, ERR_MEMBERS_POSITIVE)) return;
    int first = block + 2;
    resp_array(call->out, (size_t)(call->argc - first));
    for (int i = first; i < call->argc; i++) {
        struct bytes field = call->argv[i];
        reply_field_value(call, entry, field);
        if (entry == NULL) continue;
        if (sets) txn_member_expire(call->txn, entry, field, at);
        if (persists) txn_member_persist(call->txn, entry, field);
    }
}

static void cmd_hgetdel(struct call *call)
{
    enum { BLOCK = 2, FIRST = BLOCK + 2 };
    struct entry *entry;
    if (!find_typed(call, 1, TYPE_HASH, &entry)) return;
    if (!arg_member_block(call, BLOCK, &field_words, ERR_MEMBERS_POSITIVE)) return;
    resp_array(call->out, (size_t)(call->argc - FIRST));
    for (int i = FIRST; i < call->argc; i++) {
        reply_field_value(call, entry, call->argv[i]); /* before the mutator frees it */
        if (entry != NULL) txn_hash_remove(call->txn, entry, call->argv[i]);
    }
}

#define TIMES "EX seconds|PX milliseconds|EXAT unix-time-seconds|PXAT unix-time-milliseconds"

static const struct command rows[] = {
    ROW("HSETEX", cmd_hsetex, -5, WRITE | GROWS | FAST, .keys = KEY_FIRST, .acl = ACL_EXPIRY,
        .since = "8.0.0",
        .replies = REPLIES("integer: 1 if the fields were set, 0 if FNX or FXX did not hold; with "
                           "seconds instead of FIELDS the number of fields added"),
        .errors = ERRORS(ERR_WRONGTYPE, ERR_NOT_INTEGER, ERR_BAD_EXPIRE, ERR_EXPIRE_NEGATIVE,
                         ERR_FIELDS_NUMBER, ERR_FNX_FXX, ERR_NX_FNX_FXX, ERR_ONE_LIFE,
                         ERR_UNKNOWN_ARGUMENT),
        .complexity =
            "O(M*log(N)) where M is the number of fields given and N the number that have "
            "a deadline.",
        .syntax = "key [FNX|FXX] [" TIMES "|KEEPTTL] <seconds field value [field value ...]|FIELDS "
                  "numfields field value [field value ...]>",
        .summary = "Sets the values and the deadlines of one or more fields of a hash."),
    ROW("HGETEX", cmd_hgetex, -5, WRITE | FAST, .keys = KEY_FIRST,
        .key_flags = KEY_RW | KEY_ACCESS | KEY_UPDATE, .acl = ACL_EXPIRY, .since = "8.0.0",
        .replies = REPLIES("[bulk|null ...]: the values; null where there is no such field"),
        .errors = ERRORS(ERR_WRONGTYPE, ERR_NOT_INTEGER, ERR_BAD_EXPIRE, ERR_EXPIRE_NEGATIVE,
                         ERR_MEMBERS_KEYWORD, ERR_MEMBERS_POSITIVE, ERR_MEMBERS_COUNT),
        .complexity =
            "O(M*log(N)) where M is the number of fields given and N the number that have "
            "a deadline.",
        .syntax = "key [" TIMES "|PERSIST] FIELDS numfields field [field ...]",
        .summary = "Returns the values of one or more fields of a hash and sets or removes their "
                   "deadlines."),
    ROW("HGETDEL", cmd_hgetdel, -5, WRITE | FAST, .keys = KEY_FIRST,
        .key_flags = KEY_RW | KEY_ACCESS | KEY_DELETE, .since = "8.0.0",
        .replies = REPLIES(
            "[bulk|null ...]: the values that were removed; null where there is no such field"),
        .errors =
            ERRORS(ERR_WRONGTYPE, ERR_MEMBERS_KEYWORD, ERR_MEMBERS_POSITIVE, ERR_MEMBERS_COUNT),
        .complexity = "O(N) where N is the number of fields given.",
        .syntax = "key FIELDS numfields field [field ...]",
        .summary = "Removes one or more fields from a hash and returns their values."),
};

const struct command_group hash_ex_commands = COMMAND_GROUP("hash", rows);
