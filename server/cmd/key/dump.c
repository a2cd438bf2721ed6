/* dump: DUMP and RESTORE. server/disk/payload defines the format. */
#include "server/cmd/call/args.h"
#include "server/cmd/key/key.h"
#include "server/disk/payload.h"

static void cmd_dump(struct call *call)
{
    const struct entry *entry = txn_find_counted(call->txn, call->argv[1]);
    if (entry == NULL) {
        resp_null(call->out);
        return;
    }
    struct payload *payload = payload_new(&entry->object);
    if (fail_if(call, payload == NULL, ERR_PAYLOAD_MEMORY)) return;
    reply_bytes(call, payload_bytes(payload));
    payload_free(payload);
}

/* DIFFERS: in Redis a TTL that is too large overflows, and the key is lost. (doc/differs.md) */
static void cmd_restore(struct call *call)
{
    int64_t ttl, idle = -1, frequency = -1; /* idle, frequency: -1 if not given */
    bool replace = false, is_instant = false;
    struct object object;
    for (int i = 4; i < call->argc; i++) { /* only one of IDLETIME and FREQ may be given */
        bool has_value = i + 1 < call->argc;
        if (arg_is(call, i, "REPLACE")) {
            replace = true;
        } else if (arg_is(call, i, "ABSTTL")) {
            is_instant = true;
        } else if (arg_is(call, i, "IDLETIME") && has_value && frequency == -1) {
            if (!arg_int64(call, ++i, &idle)) return;
            if (fail_if(call, idle < 0, ERR_RESTORE_IDLE)) return;
        } else if (arg_is(call, i, "FREQ") && has_value && idle == -1) {
            if (!arg_int64(call, ++i, &frequency)) return;
            if (fail_if(call, frequency < 0 || frequency > 255, ERR_RESTORE_FREQ)) return;
        } else {
            fail(call, ERR_SYNTAX);
            return;
        }
    }
    if (fail_if(call, !replace && txn_find(call->txn, call->argv[1]) != NULL, ERR_BUSYKEY)) return;
    if (!arg_int64(call, 2, &ttl) || fail_if(call, ttl < 0, ERR_RESTORE_TTL)) return;

    enum payload_status status = payload_read(call->argv[3], &object);
    call->txn->store->stats.payloads++;
    if (status != PAYLOAD_WHOLE) {
        fail(call, status == PAYLOAD_FOREIGN ? ERR_PAYLOAD_FOREIGN : ERR_PAYLOAD_DAMAGED);
        return;
    }
    msec at = ttl == 0 ? NEVER : ttl;
    if (ttl > 0 && !(is_instant ? at <= INSTANT_MAX : instant_after(call->txn->now, ttl, &at))) {
        fail_named(call, ERR_BAD_EXPIRE);
        object_free(&object);
        return;
    }
    if (!call_has_room(object_bytes(&object))) { /* the payload may be compressed */
        object_free(&object);
        fail(call, ERR_OOM);
        return;
    }

    /* If the deadline has passed, RESTORE creates no key, and deletes the one that it would
     * replace. On a replica it creates the key and ends it at once. During a replay no deadline
     * counts as passed. */
    struct txn *txn = call->txn;
    bool is_over = instant_past(at, txn->now) && !txn_replays(txn);
    if (is_over && !txn->on_replica) {
        struct entry *old = txn_find(txn, call->argv[1]);
        object_free(&object);
        if (old != NULL) txn_key_drop(txn, old, EVENT_DEL);
    } else {
        struct entry *entry = txn_key_restore(txn, call->argv[1], object, at);
        txn_key_accessed(txn, entry, idle, (int)frequency);
        if (is_over) txn_key_end(txn, entry);
    }
    reply_ok(call);
}

static const struct command rows[] = {
    ROW("DUMP", cmd_dump, 2, READONLY | COPIES, .acl = ACL_KEYSPACE, .keys = KEY_FIRST,
        .key_flags = KEY_RO | KEY_ACCESS, .tips = "nondeterministic_output", .since = "2.6.0",
        .replies = REPLIES("bulk: the payload, for RESTORE", "null: there is no such key"),
        .errors = ERRORS(ERR_PAYLOAD_MEMORY),
        .complexity = "O(N) where N is the size of the value.", .syntax = "key",
        .summary = "Returns the serialized value of a key, with the deadlines of its members."),
    ROW("RESTORE", cmd_restore, -4, WRITE | GROWS, .acl = ACL_KEYSPACE | ACL_DANGEROUS,
        .keys = KEY_FIRST, .key_flags = KEY_OW | KEY_UPDATE, .since = "2.6.0",
        .replies = REPLIES("OK: the key was created"),
        .errors = ERRORS(ERR_SYNTAX, ERR_NOT_INTEGER, ERR_BUSYKEY, ERR_RESTORE_TTL,
                         ERR_RESTORE_IDLE, ERR_RESTORE_FREQ, ERR_PAYLOAD_FOREIGN,
                         ERR_PAYLOAD_DAMAGED, ERR_PAYLOAD_MEMORY, ERR_BAD_EXPIRE),
        .complexity = "O(N) where N is the size of the value; O(N*log(N)) for a sorted set.",
        .syntax = "key ttl serialized-value [REPLACE] [ABSTTL] [IDLETIME seconds] [FREQ frequency]",
        .summary =
            "Creates a key from a value that was serialized by DUMP, here or on a Redis server."),
};

const struct command_group dump_commands = COMMAND_GROUP("generic", rows);
