/* dehydrator_pause: REDE.PAUSE and REDE.RESUME, which stop and continue the deliveries of a
 * dehydrator. While paused, a dehydrator still accepts pushes and acknowledgements, and its leases
 * end as usual. It stays paused when it becomes empty: a queue is often paused for a deployment
 * just after its workers have emptied it. */
#include "server/cmd/dehydrator/dehydrator.h"
#include "server/cmd/dehydrator/dehydrator_args.h"
#include "store/txn/txn_dehydrator.h"

static void cmd_rede_pause(struct call *call)
{
    msec until = INSTANT_MAX;
    struct entry *entry;
    bool ends = arg_is(call, 2, "UNTIL");
    if (ends && !arg_has_value(call, 2)) return;
    if (call->argc > (ends ? 4 : 2)) {
        arg_refuse_option(call, ends ? 4 : 2, ERR_OPTION_UNKNOWN);
        return;
    }
    if (ends && !arg_instant(call, 3, &until)) return;
    if (fail_if(call, instant_due(until, call->txn->now), ERR_PAUSE_PAST)) return;
    if (!find_typed(call, 1, TYPE_DEHYDRATOR, &entry)) return;
    txn_rede_pause(call->txn, entry_or_new(call, 1, entry, TYPE_DEHYDRATOR), until);
    reply_ok(call);
}

static void cmd_rede_resume(struct call *call)
{
    struct entry *entry;
    if (!find_typed(call, 1, TYPE_DEHYDRATOR, &entry)) return;
    if (entry != NULL && dehydrator_paused(entry->object.dehydrator, call->txn->now) != 0)
        txn_rede_pause(call->txn, entry, 0);
    reply_ok(call);
}

static const struct command rows[] = {
    ROW("REDE.PAUSE", cmd_rede_pause, -2, WRITE | GROWS | FAST, .keys = KEY_FIRST,
        .key_flags = KEY_RW | KEY_UPDATE, .since = "0.2.0",
        .replies = REPLIES("OK: it delivers nothing from now on"),
        .errors = ERRORS(ERR_WRONGTYPE, ERR_OPTION_UNKNOWN, ERR_OPTION_NO_VALUE, ERR_BAD_MSEC,
                         ERR_PAUSE_PAST),
        .complexity = "O(1)", .syntax = "key [UNTIL unix-time-milliseconds]",
        .summary =
            "Stops the deliveries of a dehydrator, until a Unix time in milliseconds or until "
            "REDE.RESUME. Pushes and acknowledgements continue."),
    ROW("REDE.RESUME", cmd_rede_resume, 2, WRITE | FAST, .keys = KEY_FIRST,
        .key_flags = KEY_RW | KEY_UPDATE, .since = "0.2.0",
        .replies = REPLIES("OK: it is not paused"), .errors = ERRORS(ERR_WRONGTYPE),
        .complexity = "O(1)", .syntax = "key",
        .summary = "Ends the pause of a dehydrator and serves clients that wait for its elements."),
};

const struct command_group dehydrator_pause_commands = COMMAND_GROUP("dehydrator", rows);
