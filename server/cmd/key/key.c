/* key: commands on keys of any type: deleting, counting, renaming, copying, inspecting. */
#include "server/cmd/key/key.h"
#include "server/cmd/call/args.h"
#include "server/cmd/call/reply_text.h"
#include "store/access.h"

/* DEL and UNLINK: both free large values in slices. */
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

/* RENAME and RENAMENX, whose variant is true. */
static void cmd_rename(struct call *call)
{
    bool only_new = call_variant(call);
    struct entry *entry = txn_find(call->txn, call->argv[1]);
    if (fail_if(call, entry == NULL, ERR_NO_KEY)) return;
    const struct entry *target = txn_find(call->txn, call->argv[2]);
    if (only_new ? target == NULL : target != entry)
        txn_key_rename(call->txn, entry, call->argv[2]);
    if (only_new)
        resp_integer(call->out, target == NULL);
    else
        reply_ok(call);
}

static bool arg_database(struct call *call, int i, unsigned *db)
{
    int number;
    if (!arg_int(call, i, &number)) return false;
    *db = (unsigned)number;
    return (number >= 0 && *db < call->txn->store->database_count) || fail(call, ERR_DB_INDEX);
}

/* Keys and members keep their deadlines. */
static void cmd_copy(struct call *call)
{
    unsigned db = call->txn->ks->db;
    bool replace = false;
    struct bytes from = call->argv[1], to = call->argv[2];
    for (int i = 3; i < call->argc; i++) {
        if (arg_is(call, i, "REPLACE")) {
            replace = true;
        } else if (arg_is(call, i, "DB") && i + 1 < call->argc) {
            if (!arg_database(call, ++i, &db)) return;
        } else {
            fail(call, ERR_SYNTAX);
            return;
        }
    }
    if (fail_if(call, db == call->txn->ks->db && bytes_equal(from, to), ERR_SAME_OBJECT)) return;
    struct entry *entry = txn_find_counted(call->txn, from);
    bool copied = entry != NULL && (replace || !txn_exists_in(call->txn, db, to));
    if (copied) txn_key_copy(call->txn, entry, db, to);
    resp_integer(call->out, copied);
}

static void cmd_move(struct call *call)
{
    unsigned db;
    if (!arg_database(call, 2, &db)) return;
    if (fail_if(call, db == call->txn->ks->db, ERR_SAME_OBJECT)) return;
    struct entry *entry = txn_find(call->txn, call->argv[1]);
    resp_integer(call->out, entry != NULL && txn_key_move(call->txn, entry, db));
}

/* ---- OBJECT ---------------------------------------------------------------------------------- */

/* OBJECT inspects keys without counting a hit or an access. */

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
    ROW("RENAME", cmd_rename, 3, WRITE, .variant = false, .acl = ACL_KEYSPACE,
        .keys = { .first = 1, .last = 2, .step = 1 },
        .specs = { KEY_AT(1, KEY_RW | KEY_ACCESS | KEY_DELETE), KEY_AT(2, KEY_OW | KEY_UPDATE) },
        .since = "1.0.0", .replies = REPLIES("OK: the key was renamed"),
        .errors = ERRORS(ERR_NO_KEY), .complexity = "O(1)", .syntax = "key newkey",
        .summary = "Renames a key and overwrites the destination."),
    ROW("RENAMENX", cmd_rename, 3, WRITE | FAST, .variant = true, .acl = ACL_KEYSPACE,
        .keys = { .first = 1, .last = 2, .step = 1 },
        .specs = { KEY_AT(1, KEY_RW | KEY_ACCESS | KEY_DELETE), KEY_AT(2, KEY_OW | KEY_INSERT) },
        .since = "1.0.0",
        .replies = REPLIES("integer: 1 if the key was renamed, 0 if the new name exists"),
        .errors = ERRORS(ERR_NO_KEY), .complexity = "O(1)", .syntax = "key newkey",
        .summary = "Renames a key, only if the new name does not exist."),
    ROW("COPY", cmd_copy, -3, WRITE | GROWS | COPIES | OTHER_DATABASES, .acl = ACL_KEYSPACE,
        .keys = { .first = 1, .last = 2, .step = 1 },
        .specs = { KEY_AT(1, KEY_RO | KEY_ACCESS), KEY_AT(2, KEY_OW | KEY_UPDATE) },
        .since = "6.2.0",
        .replies = REPLIES(
            "integer: 1 if the key was copied, 0 if there is no source or the destination exists"),
        .errors = ERRORS(ERR_SYNTAX, ERR_NOT_INTEGER, ERR_SAME_OBJECT, ERR_INT_RANGE, ERR_DB_INDEX),
        .complexity = "O(N) where N is the number of elements in the value.",
        .syntax = "source destination [DB destination-db] [REPLACE]",
        .summary = "Copies a key, with its deadlines, to another name or database."),
    ROW("MOVE", cmd_move, 3, WRITE | FAST | OTHER_DATABASES, .acl = ACL_KEYSPACE, .keys = KEY_FIRST,
        .key_flags = KEY_RW | KEY_ACCESS | KEY_UPDATE, .since = "1.0.0",
        .replies = REPLIES("integer: 1 if the key was moved, 0 if there is none or the other "
                           "database has one of that name"),
        .errors = ERRORS(ERR_NOT_INTEGER, ERR_SAME_OBJECT, ERR_INT_RANGE, ERR_DB_INDEX),
        .complexity = "O(1)", .syntax = "key db",
        .summary = "Moves a key to another database, only if it does not exist there."),
    PARENT_ROW("OBJECT", object_rows, "2.2.3",
               "Container of commands that inspect the value of a key."),
};

const struct command_group key_commands = COMMAND_GROUP("generic", rows);
