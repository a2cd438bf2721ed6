/* key_scan: commands on whole databases: listing, counting and deleting all keys, and swapping. */
#include <limits.h>

#include "server/cmd/call/args.h"
#include "server/cmd/key/key.h"
#include "server/cmd/scan.h"

struct listing {
    struct scan scan;
    enum type type; /* list only keys of this type; TYPE_COUNT lists all */
    bool no_type;   /* the type's name is unknown: list no keys */
};

static void visit_key(void *ctx, struct entry *entry)
{
    struct listing *listing = ctx;
    bool matches = scan_visit(&listing->scan, entry_key(entry));
    if (!matches || listing->no_type) return;
    if (listing->type == TYPE_COUNT || entry->object.type == listing->type)
        scan_give(&listing->scan, entry_key(entry));
}

static uint64_t step_keys(void *ctx, uint64_t cursor)
{
    struct listing *listing = ctx;
    return txn_scan(listing->scan.call->txn, cursor, visit_key, listing);
}

static void cmd_keys(struct call *call)
{
    struct listing listing = { .type = TYPE_COUNT };
    scan_begin(&listing.scan, call);
    listing.scan.pattern = call->argv[1];
    listing.scan.count = INT64_MAX;
    scan_run(&listing.scan, step_keys, &listing);
    scan_reply_items(&listing.scan);
}

static void cmd_scan(struct call *call)
{
    struct listing listing = { .type = TYPE_COUNT };
    int type_at;
    scan_begin(&listing.scan, call);
    if (!scan_read_cursor(&listing.scan, 1)) return;
    if (!scan_read_options(&listing.scan, 2, &type_at, NULL)) return;
    /* "dehy-type" is the type's name in the ReDe module. */
    if (type_at > 0 && arg_is(call, type_at, "dehy-type")) listing.type = TYPE_DEHYDRATOR;
    for (unsigned t = 0; type_at > 0 && t < TYPE_COUNT; t++)
        if (arg_is(call, type_at, type_name((enum type)t))) listing.type = (enum type)t;
    listing.no_type = type_at > 0 && listing.type == TYPE_COUNT;
    scan_run(&listing.scan, step_keys, &listing);
    scan_reply(&listing.scan);
}

static void cmd_randomkey(struct call *call)
{
    const struct entry *entry = txn_random(call->txn);
    if (entry == NULL)
        resp_null(call->out);
    else
        reply_bytes(call, entry_key(entry));
}

static void cmd_dbsize(struct call *call)
{
    resp_integer(call->out, (int64_t)txn_count(call->txn));
}

/* FLUSHDB and FLUSHALL, whose variant is true. ASYNC and SYNC make no difference: both free the
 * memory in slices. */
static void cmd_flush(struct call *call)
{
    bool known = call->argc == 1 || arg_is(call, 1, "ASYNC") || arg_is(call, 1, "SYNC");
    if (fail_if(call, !known || call->argc > 2, ERR_SYNTAX)) return;
    if (call_variant(call))
        txn_flush_all(call->txn);
    else
        txn_flush(call->txn, call->txn->ks->db);
    reply_ok(call);
}

static void cmd_swapdb(struct call *call)
{
    int64_t a, b, databases = call->txn->store->database_count;
    if (!arg_range(call, 1, INT_MIN, INT_MAX, &a, ERR_FIRST_DB)) return;
    if (!arg_range(call, 2, INT_MIN, INT_MAX, &b, ERR_SECOND_DB)) return;
    if (fail_if(call, a < 0 || a >= databases || b < 0 || b >= databases, ERR_DB_INDEX)) return;
    txn_swap(call->txn, (unsigned)a, (unsigned)b);
    reply_ok(call);
}

static const struct command key_rows[] = {
    ROW("KEYS", cmd_keys, 2, READONLY, .acl = ACL_KEYSPACE | ACL_DANGEROUS,
        .tips = "request_policy:all_shards nondeterministic_output_order", .since = "1.0.0",
        .replies = REPLIES("[bulk ...]: the names of the keys"),
        .complexity = "O(N) where N is the number of keys in the database.", .syntax = "pattern",
        .summary = "Returns the names of all keys that match a pattern."),
    ROW("SCAN", cmd_scan, -2, READONLY, .acl = ACL_KEYSPACE,
        .tips = "nondeterministic_output request_policy:special", .since = "2.8.0",
        .replies = REPLIES("[bulk [bulk ...]]: the next cursor, 0 at the end; names of keys"),
        .errors = ERRORS(ERR_SYNTAX, ERR_NOT_INTEGER, ERR_INVALID_CURSOR),
        .complexity =
            "O(1) for each call. O(N) for a complete iteration, where N is the number of keys.",
        .syntax = "cursor [MATCH pattern] [COUNT count] [TYPE type]",
        .summary = "Returns some key names of the database and the cursor for the next call. Begin "
                   "with cursor 0."),
    ROW("RANDOMKEY", cmd_randomkey, 1, READONLY | COUNTS_KEYS, .acl = ACL_KEYSPACE,
        .tips = "request_policy:all_shards nondeterministic_output", .since = "1.0.0",
        .replies = REPLIES("bulk: the name of a key", "null: the database is empty"),
        .complexity = "O(1)", .syntax = "",
        .summary = "Returns the name of a random key of the database."),
};

static const struct command database_rows[] = {
    ROW("DBSIZE", cmd_dbsize, 1, READONLY | FAST | COUNTS_KEYS, .acl = ACL_KEYSPACE,
        .tips = "request_policy:all_shards response_policy:agg_sum", .since = "1.0.0",
        .replies = REPLIES("integer: the number of keys"), .complexity = "O(1)", .syntax = "",
        .summary = "Returns the number of keys in the database."),
    ROW("FLUSHDB", cmd_flush, -1, WRITE, .variant = false, .acl = ACL_KEYSPACE | ACL_DANGEROUS,
        .tips = "request_policy:all_shards response_policy:all_succeeded", .since = "1.0.0",
        .replies = REPLIES("OK: the keys were deleted"), .errors = ERRORS(ERR_SYNTAX),
        .complexity = "O(1); the memory is freed in the background.", .syntax = "[ASYNC|SYNC]",
        .summary = "Deletes all keys of the current database."),
    ROW("FLUSHALL", cmd_flush, -1, WRITE, .variant = true, .acl = ACL_KEYSPACE | ACL_DANGEROUS,
        .tips = "request_policy:all_shards response_policy:all_succeeded", .since = "1.0.0",
        .replies = REPLIES("OK: the keys were deleted"), .errors = ERRORS(ERR_SYNTAX),
        .complexity = "O(1) for each database; the memory is freed in the background.",
        .syntax = "[ASYNC|SYNC]", .summary = "Deletes all keys of all databases."),
    ROW("SWAPDB", cmd_swapdb, 3, WRITE | FAST | OTHER_DATABASES,
        .acl = ACL_KEYSPACE | ACL_DANGEROUS, .since = "4.0.0",
        .replies = REPLIES("OK: the databases were swapped"),
        .errors = ERRORS(ERR_FIRST_DB, ERR_SECOND_DB, ERR_DB_INDEX),
        .complexity = "O(N) where N is the number of keys that are watched in both databases.",
        .syntax = "index1 index2", .summary = "Swaps two databases."),
};

const struct command_group key_scan_commands = COMMAND_GROUP("generic", key_rows);
const struct command_group database_commands = COMMAND_GROUP("server", database_rows);
