/* key_scan: commands on a database as a whole: listing its keys, counting, emptying.
 * Knows filters and cursors; refuses to know how keys are stored. */
#include <limits.h>
#include <string.h>

#include "proto/number.h"
#include "server/args.h"
#include "server/cmd/cmd.h"
#include "store/mem.h"

/* What a listing wants, and the keys it found: an array is announced with its length, so they are
 * gathered first. */
struct listing {
    struct bytes pattern;
    enum type type; /* TYPE_COUNT: any */
    bool no_type;   /* TYPE named none that there is */
    size_t visited;
    const struct entry **found;
    size_t count, room;
};

static void visit(void *ctx, struct entry *entry)
{
    struct listing *listing = ctx;
    listing->visited++;
    if (listing->no_type) return;
    if (listing->type != TYPE_COUNT && entry->object.type != listing->type) return;
    if (!bytes_match(listing->pattern, entry_key(entry))) return;
    if (listing->count == listing->room) {
        listing->room = listing->room == 0 ? 16 : listing->room * 2;
        listing->found = mem_realloc(listing->found, listing->room * sizeof(*listing->found));
    }
    listing->found[listing->count++] = entry;
}

static void reply_found(struct call *call, struct listing *listing)
{
    resp_array(call->out, listing->count);
    for (size_t i = 0; i < listing->count; i++)
        reply_bytes(call, entry_key(listing->found[i]));
    mem_free(listing->found);
}

static void cmd_keys(struct call *call)
{
    struct listing listing = { .pattern = call->argv[1], .type = TYPE_COUNT };
    uint64_t cursor = 0;
    do
        cursor = txn_scan(call->txn, cursor, visit, &listing);
    while (cursor != 0);
    reply_found(call, &listing);
}

/* As strtoul reads it, which Redis does: an empty text is 0, a sign may lead, a NUL ends it. */
static bool read_cursor(struct bytes text, uint64_t *cursor)
{
    size_t len = strnlen(text.data, text.len);
    size_t digits = len > 0 && (text.data[0] == '-' || text.data[0] == '+');
    if (digits == 1 && len == 1) return false;
    uint64_t value = 0;
    for (size_t i = digits; i < len; i++) {
        if (text.data[i] < '0' || text.data[i] > '9') return false;
        if (__builtin_mul_overflow(value, (uint64_t)10, &value)) return false;
        if (__builtin_add_overflow(value, (uint64_t)(text.data[i] - '0'), &value)) return false;
    }
    *cursor = len > 0 && text.data[0] == '-' ? 0 - value : value;
    return true;
}

static void read_type(const struct call *call, int i, struct listing *listing)
{
    listing->type = TYPE_COUNT;
    for (unsigned t = 0; t < TYPE_COUNT; t++)
        if (arg_is(call, i, type_name((enum type)t))) listing->type = (enum type)t;
    listing->no_type = listing->type == TYPE_COUNT;
}

static bool read_scan_options(struct call *call, int first, struct listing *listing, int64_t *count)
{
    for (int i = first; i < call->argc; i += 2) {
        bool valued = i + 1 < call->argc;
        if (valued && arg_is(call, i, "COUNT")) {
            if (!arg_range(call, i + 1, LONG_MIN, LONG_MAX, count, ERR_NOT_INTEGER)) return false;
            if (*count >= 1) continue;
        } else if (valued && arg_is(call, i, "MATCH")) {
            listing->pattern = call->argv[i + 1];
            continue;
        } else if (valued && arg_is(call, i, "TYPE")) {
            read_type(call, i + 1, listing);
            continue;
        }
        fail(call, ERR_SYNTAX);
        return false;
    }
    return true;
}

/* COUNT bounds the keys visited, and ten times it the steps, many of which may be empty. */
static void cmd_scan(struct call *call)
{
    struct listing listing = { .pattern = LIT("*"), .type = TYPE_COUNT };
    uint64_t cursor;
    int64_t count = 10, steps;
    if (!read_cursor(call->argv[1], &cursor)) {
        fail(call, ERR_INVALID_CURSOR);
        return;
    }
    if (!read_scan_options(call, 2, &listing, &count)) return;

    if (__builtin_mul_overflow(count, (int64_t)10, &steps)) steps = INT64_MAX;
    do
        cursor = txn_scan(call->txn, cursor, visit, &listing);
    while (cursor != 0 && steps-- > 0 && listing.visited < (size_t)count);

    char text[sizeof("18446744073709551615")];
    resp_array(call->out, 2);
    resp_bulk(call->out, text, number_print_uint64(text, cursor));
    reply_found(call, &listing);
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

/* ASYNC and SYNC make no difference: the memory is always given back in slices. */
static bool read_flush_option(struct call *call)
{
    if (call->argc == 1) return true;
    if (call->argc == 2 && (arg_is(call, 1, "ASYNC") || arg_is(call, 1, "SYNC"))) return true;
    fail(call, ERR_SYNTAX);
    return false;
}

static void cmd_flushdb(struct call *call)
{
    if (!read_flush_option(call)) return;
    txn_flush(call->txn, call->txn->ks->db);
    reply_ok(call);
}

static void cmd_flushall(struct call *call)
{
    if (!read_flush_option(call)) return;
    for (unsigned db = 0; db < call->txn->store->database_count; db++)
        txn_flush(call->txn, db);
    reply_ok(call);
}

static const struct command rows[] = {
    { .name = "KEYS",
      .run = cmd_keys,
      .arity = 2,
      .flags = READONLY,
      .acl = ACL_KEYSPACE | ACL_DANGEROUS,
      .group = "generic",
      .since = "1.0.0",
      .complexity = "O(N) where N is the number of keys in the database.",
      .syntax = "pattern",
      .summary = "Lists every key whose name matches a pattern." },
    { .name = "SCAN",
      .run = cmd_scan,
      .arity = -2,
      .flags = READONLY,
      .acl = ACL_KEYSPACE,
      .group = "generic",
      .since = "2.8.0",
      .complexity = "O(1) for each call, O(N) for a whole walk over N keys.",
      .syntax = "cursor [MATCH pattern] [COUNT count] [TYPE type]",
      .summary = "Lists some keys, and a cursor to go on from; 0 begins and ends the walk." },
    { .name = "RANDOMKEY",
      .run = cmd_randomkey,
      .arity = 1,
      .flags = READONLY,
      .acl = ACL_KEYSPACE,
      .group = "generic",
      .since = "1.0.0",
      .complexity = "O(1)",
      .syntax = "",
      .summary = "Names a key drawn by lot." },
    { .name = "DBSIZE",
      .run = cmd_dbsize,
      .arity = 1,
      .flags = READONLY | FAST,
      .acl = ACL_KEYSPACE,
      .group = "server",
      .since = "1.0.0",
      .complexity = "O(1)",
      .syntax = "",
      .summary = "Counts the keys of the database." },
    { .name = "FLUSHDB",
      .run = cmd_flushdb,
      .arity = -1,
      .flags = WRITE,
      .acl = ACL_KEYSPACE | ACL_DANGEROUS,
      .group = "server",
      .since = "1.0.0",
      .complexity = "O(1); the memory is given back in the background.",
      .syntax = "[ASYNC|SYNC]",
      .summary = "Deletes every key of the database." },
    { .name = "FLUSHALL",
      .run = cmd_flushall,
      .arity = -1,
      .flags = WRITE,
      .acl = ACL_KEYSPACE | ACL_DANGEROUS,
      .group = "server",
      .since = "1.0.0",
      .complexity = "O(1) for each database; the memory is given back in the background.",
      .syntax = "[ASYNC|SYNC]",
      .summary = "Deletes every key of every database." },
};

const struct command_group key_scan_commands = COMMAND_GROUP(rows);
