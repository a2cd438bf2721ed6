/* fresh: GETFRESH, STALE and SOFTTTL, the commands of soft deadlines. After its soft deadline a
 * value is stale: still returned, while one client at a time has the right to refresh it
 * (store/refreshers.h). SET with SOFT, which sets the deadline, is in string.c. */
#include "server/cmd/block.h"
#include "server/cmd/call/args.h"
#include "server/cmd/string/string.h"
#include "store/type/string.h"

enum { REFRESH_LEASE = 5000 }; /* milliseconds */

struct fresh_options {
    int64_t early, lease; /* milliseconds */
    int64_t wait;         /* milliseconds; 0 waits without a limit, -1 does not wait */
    msec right_until;     /* end of a right that begins now */
};

static bool read_fresh_options(struct call *call, struct fresh_options *how)
{
    msec longest = call->txn->store->leases.max_ttl;
    *how = (struct fresh_options){ .lease = REFRESH_LEASE, .wait = -1 };
    if (how->lease > longest) how->lease = longest;
    for (int i = 2; i < call->argc; i += 2) {
        bool is_lease = arg_is(call, i, "LEASE");
        int64_t *value = is_lease                   ? &how->lease
                         : arg_is(call, i, "EARLY") ? &how->early
                         : arg_is(call, i, "WAIT")  ? &how->wait
                                                    : NULL;
        if (value == NULL) return arg_refuse_option(call, i, ERR_OPTION_UNKNOWN);
        if (!arg_has_value(call, i)) return false;
        if (!arg_int64(call, i + 1, value)) return false;
        if (*value < is_lease) return fail(call, ERR_NOT_POSITIVE);
    }
    if (how->lease > longest) return failf(call, ERR_LEASE_TTL, (long long)longest);
    if (instant_after(call->txn->now, how->lease, &how->right_until)) return true;
    return fail_named(call, ERR_BAD_EXPIRE);
}

enum state { STATE_FRESH, STATE_STALE, STATE_REFRESH, STATE_FILL, STATE_MISSING };

static bool is_soft_due(const struct entry *entry, msec now, msec early)
{
    msec soft = entry != NULL ? string_soft_deadline(&entry->object) : NEVER;
    return soft != NEVER && instant_due(instant_moved(soft, -early), now);
}

static void cmd_getfresh(struct call *call)
{
    static const char *const names[] = { "fresh", "stale", "refresh", "fill", "missing" };
    struct fresh_options how;
    struct entry *entry;
    if (!read_fresh_options(call, &how)) return;
    if (!find_typed_counted(call, 1, TYPE_STRING, &entry)) return;

    /* Grant the client the right to refresh the value, if the value needs it and no other client
     * holds the right. A replica grants none, because its master does. */
    struct txn *txn = call->txn;
    enum state state = entry == NULL                     ? STATE_MISSING
                       : is_soft_due(entry, txn->now, 0) ? STATE_STALE
                                                         : STATE_FRESH;
    bool is_wanted = entry == NULL || is_soft_due(entry, txn->now, how.early);
    if (is_wanted && !txn->store->leases.granted_elsewhere &&
        txn_refresh_until(txn, call->argv[1]) == 0) {
        txn_refresh_begin(txn, call->argv[1], how.right_until);
        state = entry == NULL ? STATE_FILL : STATE_REFRESH;
    }

    if (state == STATE_MISSING && how.wait >= 0) {
        msec until = NEVER;
        if (how.wait > 0 && !instant_after(call->txn->now, how.wait, &until)) until = NEVER;
        block_on(call, &(struct block_request){
                           .first = 1,
                           .count = 1,
                           .type = TYPE_STRING,
                           .until = until,
                           .again = txn_refresh_until(call->txn, call->argv[1]),
                           .no_answer = ANSWER_MISSING,
                           .or_gone = true,
                       });
        return;
    }
    resp_array(call->out, 2);
    if (entry == NULL)
        resp_null(call->out);
    else
        reply_bytes(call, object_text(&entry->object));
    resp_bulk_text(call->out, names[state]);
}

static void cmd_stale(struct call *call)
{
    struct entry *entry;
    int64_t count = 0;
    for (int i = 1; i < call->argc; i++)
        if (!find_typed(call, i, TYPE_STRING, &entry)) return;
    for (int i = 1; i < call->argc; i++) {
        entry = txn_find(call->txn, call->argv[i]);
        if (entry == NULL) continue;
        if (!is_soft_due(entry, call->txn->now, 0))
            txn_string_soften(call->txn, entry, call->txn->now, EVENT_STALE);
        count++;
    }
    resp_integer(call->out, count);
}

static void cmd_softttl(struct call *call)
{
    const struct entry *entry = peek_key(call, 1);
    msec soft = entry != NULL ? string_soft_deadline(&entry->object) : NEVER;
    if (entry == NULL)
        resp_integer(call->out, -2);
    else if (soft == NEVER)
        resp_integer(call->out, -1);
    else
        resp_integer(call->out, soft > call->txn->now ? soft - call->txn->now : 0);
}

static const struct command rows[] = {
    ROW("GETFRESH", cmd_getfresh, -2, READONLY | FAST | BLOCKING, .keys = KEY_FIRST,
        .key_flags = KEY_RO | KEY_ACCESS, .since = "0.2.0",
        .replies = REPLIES(
            "[bulk|null bulk]: the string, null if there is none, and its state: 'fresh', 'stale', "
            "'refresh' (the caller should load a new one), 'fill' (there is none, and the caller "
            "should load it) or 'missing' (there is none, and another client is loading it)"),
        .errors = ERRORS(ERR_WRONGTYPE, ERR_OPTION_UNKNOWN, ERR_OPTION_NO_VALUE, ERR_NOT_INTEGER,
                         ERR_NOT_POSITIVE, ERR_LEASE_TTL, ERR_BAD_EXPIRE),
        .complexity = "O(1)",
        .syntax = "key [EARLY milliseconds] [LEASE milliseconds] [WAIT milliseconds]",
        .summary = "Returns a string and whether it is stale, and chooses one client to load a new "
                   "value."),
    ROW("STALE", cmd_stale, -2, WRITE | FAST, .keys = { .first = 1, .last = -1, .step = 1 },
        .key_flags = KEY_RW | KEY_UPDATE,
        .tips = "request_policy:multi_shard response_policy:agg_sum", .since = "0.2.0",
        .replies = REPLIES("integer: the number of keys that exist; all are stale now"),
        .errors = ERRORS(ERR_WRONGTYPE), .complexity = "O(N) where N is the number of keys.",
        .syntax = "key [key ...]", .summary = "Makes strings stale now, if they are not yet."),
    ROW("SOFTTTL", cmd_softttl, 2, READONLY | FAST, .keys = KEY_FIRST,
        .key_flags = KEY_RO | KEY_ACCESS, .since = "0.2.0",
        .replies = REPLIES("integer: milliseconds to the soft deadline, 0 after it; -1 if the key "
                           "has none, -2 if there is no such key"),
        .complexity = "O(1)", .syntax = "key",
        .summary = "Returns the time left until a string becomes stale, in milliseconds."),
};

const struct command_group fresh_commands = COMMAND_GROUP("string", rows);
