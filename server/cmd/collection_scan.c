/* collection_scan: SSCAN, HSCAN and ZSCAN. */
#include "server/cmd/call/args.h"
#include "server/cmd/cmd.h"
#include "server/cmd/scan.h"

struct collection {
    struct scan scan;
    const struct object *object;
};

static void visit_member(void *ctx, struct bytes member)
{
    struct scan *scan = ctx;
    if (scan_visit(scan, member)) scan_give(scan, member);
}

static void visit_field(void *ctx, struct bytes field, struct bytes value)
{
    struct scan *scan = ctx;
    if (!scan_visit(scan, field)) return;
    scan_give(scan, field);
    if (!scan->names_only) scan_give(scan, value);
}

static void visit_score(void *ctx, struct bytes member, double score)
{
    struct scan *scan = ctx;
    if (!scan_visit(scan, member)) return;
    scan_give(scan, member);
    if (!scan->names_only) scan_give_double(scan, score);
}

static uint64_t step(void *ctx, uint64_t cursor)
{
    struct collection *collection = ctx;
    const struct object *object = collection->object;
    if (object->type == TYPE_HASH)
        return hash_scan(object->hash, cursor, visit_field, &collection->scan);
    if (object->type == TYPE_ZSET)
        return zset_scan(object->zset, cursor, visit_score, &collection->scan);
    return set_scan(object->set, cursor, visit_member, &collection->scan);
}

/* The variant is the type. As in Redis, options are parsed only if the key exists: with a missing
 * key even nonsense is accepted. */
static void cmd_scan(struct call *call)
{
    enum type type = (enum type)call_variant(call);
    const char *names_word = type == TYPE_HASH ? "NOVALUES" : type == TYPE_ZSET ? "NOSCORES" : NULL;
    struct collection collection;
    struct scan *scan = &collection.scan;
    struct entry *entry;
    scan_begin(scan, call);
    if (!scan_read_cursor(scan, 2) || !find_typed_counted(call, 1, type, &entry)) return;
    if (entry == NULL) {
        scan->cursor = 0;
    } else {
        if (!scan_read_options(scan, 3, NULL, names_word)) return;
        collection.object = &entry->object;
        scan_run(scan, step, &collection);
    }
    scan_reply(scan);
}

static const struct command set_rows[] = {
    ROW("SSCAN", cmd_scan, -3, READONLY, .variant = TYPE_SET, .keys = KEY_FIRST,
        .tips = "nondeterministic_output", .since = "2.8.0",
        .replies = REPLIES("[bulk [bulk ...]]: the next cursor, 0 at the end; the members"),
        .errors = ERRORS(ERR_WRONGTYPE, ERR_SYNTAX, ERR_NOT_INTEGER, ERR_INVALID_CURSOR),
        .complexity =
            "O(1) for each call. O(N) for a complete iteration, where N is the number of members.",
        .syntax = "key cursor [MATCH pattern] [COUNT count]",
        .summary =
            "Returns some members of a set and the cursor for the next call. Begin with cursor 0."),
};

static const struct command hash_rows[] = {
    ROW("HSCAN", cmd_scan, -3, READONLY, .variant = TYPE_HASH, .keys = KEY_FIRST,
        .tips = "nondeterministic_output", .since = "2.8.0",
        .replies = REPLIES(
            "[bulk [bulk bulk ...]]: the next cursor, 0 at the end; fields, each with its value",
            "[bulk [bulk ...]]: with NOVALUES: the next cursor; fields"),
        .errors = ERRORS(ERR_WRONGTYPE, ERR_SYNTAX, ERR_NOT_INTEGER, ERR_INVALID_CURSOR),
        .complexity =
            "O(1) for each call. O(N) for a complete iteration, where N is the number of fields.",
        .syntax = "key cursor [MATCH pattern] [COUNT count] [NOVALUES]",
        .summary =
            "Returns some fields and values of a hash and the cursor for the next call. Begin "
            "with cursor 0."),
};

static const struct command zset_rows[] = {
    ROW("ZSCAN", cmd_scan, -3, READONLY, .variant = TYPE_ZSET, .keys = KEY_FIRST,
        .tips = "nondeterministic_output", .since = "2.8.0",
        .replies = REPLIES(
            "[bulk [bulk bulk ...]]: the next cursor, 0 at the end; members, each with its score",
            "[bulk [bulk ...]]: with NOSCORES: the next cursor; members"),
        .errors = ERRORS(ERR_WRONGTYPE, ERR_SYNTAX, ERR_NOT_INTEGER, ERR_INVALID_CURSOR),
        .complexity =
            "O(1) for each call. O(N) for a complete iteration, where N is the number of members.",
        .syntax = "key cursor [MATCH pattern] [COUNT count] [NOSCORES]",
        .summary = "Returns some members and scores of a sorted set and the cursor for the next "
                   "call. Begin with cursor 0."),
};

const struct command_group set_scan_commands = COMMAND_GROUP("set", set_rows);
const struct command_group hash_scan_commands = COMMAND_GROUP("hash", hash_rows);
const struct command_group zset_scan_commands = COMMAND_GROUP("sorted-set", zset_rows);
