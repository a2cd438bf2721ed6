/* key: commands on keys of any type: deleting, counting, renaming. */
#include "server/cmd/key/key.h"
#include "server/cmd/call/args.h"

/* DEL and UNLINK: large values are always freed in slices. */
static void cmd_del(struct call *call)
{
    int64_t dropped = 0;
    for (int i = 1; i < call->argc; i++) {
        struct entry *entry = txn_find(call->txn, call->argv[i]);
        if (entry == NULL) {
            txn_refresh_give_up(call->txn, call->argv[i]);
            continue;
        }
        txn_key_drop(call->txn, entry, EVENT_DEL);
        dropped++;
    }
    resp_integer(call->out, dropped);
}

static void cmd_exists(struct call *call)
{
    int64_t present = 0;
    for (int i = 1; i < call->argc; i++)
        present += peek_key(call, i) != NULL;
    resp_integer(call->out, present);
}

/* TOUCH updates access times even with CLIENT NO-TOUCH. */
static void cmd_touch(struct call *call)
{
    bool before = call->txn->no_touch;
    call->txn->no_touch = false;
    int64_t present = 0;
    for (int i = 1; i < call->argc; i++)
        present += txn_find_counted(call->txn, call->argv[i]) != NULL;
    call->txn->no_touch = before;
    resp_integer(call->out, present);
}

static void cmd_type(struct call *call)
{
    const struct entry *entry = peek_key(call, 1);
    resp_status(call->out, entry == NULL ? "none" : type_name(entry->object.type));
}

/* Finds the keys of arguments 1 and 2; the second may be missing. Returns false after sending an
 * error. */
static bool find_rename_keys(struct call *call, struct entry **entry, struct entry **target)
{
    *entry = txn_find(call->txn, call->argv[1]);
    if (*entry == NULL) return fail(call, ERR_NO_KEY);
    *target = txn_find(call->txn, call->argv[2]);
    return true;
}

static void cmd_rename(struct call *call)
{
    struct entry *entry, *target;
    if (!find_rename_keys(call, &entry, &target)) return;
    if (entry != target) txn_key_rename(call->txn, entry, call->argv[2]);
    reply_ok(call);
}

static void cmd_renamenx(struct call *call)
{
    struct entry *entry, *target;
    if (!find_rename_keys(call, &entry, &target)) return;
    if (target == NULL) txn_key_rename(call->txn, entry, call->argv[2]);
    resp_integer(call->out, target == NULL);
}

static const struct command rows[] = {
    ROW("DEL", cmd_del, -2, WRITE, .acl = ACL_KEYSPACE,
        .keys = { .first = 1, .last = -1, .step = 1 }, .key_flags = KEY_RM | KEY_DELETE,
        .tips = "request_policy:multi_shard response_policy:agg_sum", .since = "1.0.0",
        .replies = REPLIES("integer: the number of keys deleted"),
        .complexity = "O(1) for each key; the memory of a large value is freed in the background.",
        .syntax = "key [key ...]", .summary = "Deletes one or more keys."),
    ROW("UNLINK", cmd_del, -2, WRITE | FAST, .acl = ACL_KEYSPACE,
        .keys = { .first = 1, .last = -1, .step = 1 }, .key_flags = KEY_RM | KEY_DELETE,
        .tips = "request_policy:multi_shard response_policy:agg_sum", .since = "4.0.0",
        .replies = REPLIES("integer: the number of keys deleted"),
        .complexity = "O(1) for each key; the memory of a large value is freed in the background.",
        .syntax = "key [key ...]", .summary = "Deletes one or more keys, as DEL does."),
    ROW("EXISTS", cmd_exists, -2, READONLY | FAST | NAMES_MEMBERS, .acl = ACL_KEYSPACE,
        .keys = { .first = 1, .last = -1, .step = 1 }, .key_flags = KEY_RO,
        .tips = "request_policy:multi_shard response_policy:agg_sum", .since = "1.0.0",
        .replies =
            REPLIES("integer: how many of the keys exist; one that is given twice counts twice"),
        .complexity = "O(N) where N is the number of keys given.", .syntax = "key [key ...]",
        .summary =
            "Returns how many of the given keys exist. A key that is given twice counts twice."),
    ROW("TOUCH", cmd_touch, -2, READONLY | FAST | NAMES_MEMBERS, .acl = ACL_KEYSPACE,
        .keys = { .first = 1, .last = -1, .step = 1 }, .key_flags = KEY_RO,
        .tips = "request_policy:multi_shard response_policy:agg_sum", .since = "3.2.1",
        .replies = REPLIES("integer: how many of the keys exist"),
        .complexity = "O(N) where N is the number of keys given.", .syntax = "key [key ...]",
        .summary = "Updates the access time of the given keys and returns how many of them exist."),
    ROW("TYPE", cmd_type, 2, READONLY | FAST | NAMES_MEMBERS, .acl = ACL_KEYSPACE,
        .keys = KEY_FIRST, .key_flags = KEY_RO, .since = "1.0.0",
        .replies = REPLIES(
            "simple: string, list, set, hash, zset or dehydrator; none if there is no such key"),
        .complexity = "O(1)", .syntax = "key",
        .summary = "Returns the type of the value at a key."),
    ROW("RENAME", cmd_rename, 3, WRITE, .acl = ACL_KEYSPACE,
        .keys = { .first = 1, .last = 2, .step = 1 },
        .specs = { KEY_AT(1, KEY_RW | KEY_ACCESS | KEY_DELETE), KEY_AT(2, KEY_OW | KEY_UPDATE) },
        .since = "1.0.0", .replies = REPLIES("OK: the key was renamed"),
        .errors = ERRORS(ERR_NO_KEY), .complexity = "O(1)", .syntax = "key newkey",
        .summary = "Renames a key and overwrites the destination."),
    ROW("RENAMENX", cmd_renamenx, 3, WRITE | FAST, .acl = ACL_KEYSPACE,
        .keys = { .first = 1, .last = 2, .step = 1 },
        .specs = { KEY_AT(1, KEY_RW | KEY_ACCESS | KEY_DELETE), KEY_AT(2, KEY_OW | KEY_INSERT) },
        .since = "1.0.0",
        .replies = REPLIES("integer: 1 if the key was renamed, 0 if the new name exists"),
        .errors = ERRORS(ERR_NO_KEY), .complexity = "O(1)", .syntax = "key newkey",
        .summary = "Renames a key, only if the new name does not exist."),
};

const struct command_group key_commands = COMMAND_GROUP("generic", rows);
