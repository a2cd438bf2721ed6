/* object: OBJECT, which inspects keys without counting a hit or an access. */
#include "server/cmd/call/args.h"
#include "server/cmd/call/reply_text.h"
#include "server/cmd/key/key.h"
#include "store/access.h"

/* Finds the key of argument 2. If it is missing, replies null and returns NULL. */
static struct entry *find_or_null(struct call *call)
{
    struct entry *entry = txn_find_without_lru(call->txn, call->argv[2]);
    if (entry == NULL) resp_null(call->out);
    return entry;
}

static void cmd_object_encoding(struct call *call)
{
    const struct entry *entry = find_or_null(call);
    if (entry != NULL) resp_bulk_text(call->out, object_encoding(&entry->object));
}

static void cmd_object_freq(struct call *call)
{
    const struct entry *entry = find_or_null(call);
    if (entry == NULL) return;
    if (call->txn->store->counts_access)
        resp_integer(call->out, access_frequency(call->txn->store, entry, call->txn->now));
    else
        fail(call, ERR_NO_LFU);
}

static void cmd_object_idletime(struct call *call)
{
    const struct entry *entry = find_or_null(call);
    if (entry == NULL) return;
    if (call->txn->store->counts_access)
        fail(call, ERR_NO_LRU);
    else
        resp_integer(call->out, access_idle_seconds(entry, call->txn->now));
}

/* DIFFERS: Redis shares the strings 0 to 9999 and replies 2147483647 for them. (doc/differs.md) */
static void cmd_object_refcount(struct call *call)
{
    if (find_or_null(call) != NULL) resp_integer(call->out, 1);
}

static const struct command object_rows[] = {
    ROW("ENCODING", cmd_object_encoding, 3, READONLY, .acl = ACL_KEYSPACE, .keys = KEY_SECOND,
        .key_flags = KEY_RO, .tips = "nondeterministic_output", .since = "2.2.3",
        .replies = REPLIES("bulk: the encoding, in Redis' words", "null: there is no such key"),
        .complexity = "O(1)", .syntax = "key",
        .summary = "Returns the encoding of the value of a key, with Redis' names."),
    ROW("FREQ", cmd_object_freq, 3, READONLY, .acl = ACL_KEYSPACE, .keys = KEY_SECOND,
        .key_flags = KEY_RO, .tips = "nondeterministic_output", .since = "4.0.0",
        .replies = REPLIES("integer: the logarithmic access counter", "null: there is no such key"),
        .errors = ERRORS(ERR_NO_LFU), .complexity = "O(1)", .syntax = "key",
        .summary = "Returns the logarithmic access counter of a key. Needs an LFU policy."),
    ROW("IDLETIME", cmd_object_idletime, 3, READONLY, .acl = ACL_KEYSPACE, .keys = KEY_SECOND,
        .key_flags = KEY_RO, .tips = "nondeterministic_output", .since = "2.2.3",
        .replies =
            REPLIES("integer: the seconds since the last access", "null: there is no such key"),
        .errors = ERRORS(ERR_NO_LRU), .complexity = "O(1)", .syntax = "key",
        .summary = "Returns the seconds since the last access to a key."),
    ROW("REFCOUNT", cmd_object_refcount, 3, READONLY, .acl = ACL_KEYSPACE, .keys = KEY_SECOND,
        .key_flags = KEY_RO, .tips = "nondeterministic_output", .since = "2.2.3",
        .replies = REPLIES("integer: 1", "null: there is no such key"), .complexity = "O(1)",
        .syntax = "key", .summary = "Returns the reference count of the value of a key: always 1."),
    HELP_ROW(cmd_help, .acl = ACL_KEYSPACE, .since = "6.2.0"),
    { .name = NULL },
};

static const struct command rows[] = {
    PARENT_ROW("OBJECT", object_rows, "2.2.3",
               "Container of commands that inspect the value of a key."),
};

const struct command_group object_commands = COMMAND_GROUP("generic", rows);
